"""`ingest sweep`: many scenarios in one call, with formulas on NumPy arrays."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Any, Unpack

import numpy

from ingest.architecture.structure import Numbers
from ingest.catalog.records import Scaling
from ingest.catalog.store import Catalog, opened
from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import each_stated_once, filled, option
from ingest.engine.registry import OUT_OF_RANGE, check_value, comes_whole, derive, is_quantity, solve, unit_of
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.engine.value import revised
from ingest.errors import MissingQuantity, UsageError, brief
from ingest.files import write_whole
from ingest.sizing import evidence_ladder
from ingest.sizing.bandwidth import QUESTION, Estimate, estimate, sized
from ingest.sizing.evidence_choice import disputed, rate_basis_of
from ingest.sizing.evidence_ladder import RATE
from ingest.sizing.job import (
    CLIENTS,
    GPU,
    MAX_POINTS,
    MODEL,
    SAMPLE_BYTES,
    CommonOptions,
    Job,
    Many,
    NodeOptions,
    NodesOptions,
    ServedOptions,
    job_of,
    names_of,
    on_nodes,
    parse_axis,
    settings_of,
)

Array = numpy.ndarray[Any, Any]
#: Sizes of a job at which a sweep looks a rate up.
MOST_SIZES = 500


@dataclass(frozen=True)
class ScenarioGrid:
    """The scenarios of one model on one GPU; axes and results are arrays that broadcast against each other."""

    estimate: Estimate
    axes: Mapping[str, Array]
    results: Mapping[str, Array]

    @property
    def rows(self) -> int:
        """Scenarios."""
        return math.prod(numpy.broadcast_shapes(*(axis.shape for axis in self.axes.values())))

    def columns(self) -> dict[str, Array]:
        """Model, GPU, basis, axes and results as flat columns, one row per scenario.

        To be read only, since one value may stand for many rows.
        """
        shape = numpy.broadcast_shapes(*(axis.shape for axis in self.axes.values()))
        entries = {"model": self.estimate.model, "gpu": self.estimate.gpu}
        labels = {name: entry.id if entry else "" for name, entry in entries.items()} | {"basis": self.estimate.basis}
        named = {name: numpy.array(label, dtype=object) for name, label in labels.items()} | {**self.axes, **self.results}
        repeated = [name for name, array in named.items() if 1 < array.size < self.rows]
        # One block: the system hands out large pages for it, which takes half the time of many arrays.
        block = dict(zip(repeated, numpy.empty((len(repeated), *shape)), strict=True))
        for name, rows in block.items():
            rows[...] = named[name]
        whole = {**named, **block}
        return {
            name: numpy.broadcast_to(array.ravel(), self.rows) if array.size == 1 else array.ravel()
            for name, array in whole.items()
        }


@dataclass(frozen=True, repr=False, eq=False)
class Sweep(InteractiveResult):
    """The result of `sweep`: one grid per model and GPU."""

    grids: tuple[ScenarioGrid, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all grids, each once."""
        lines = (line for grid in self.grids for line in grid.estimate.warnings if "changes nothing here" not in line)
        return tuple(dict.fromkeys(lines))

    @property
    def incomplete(self) -> str | None:
        """The first reason why a model has no read bandwidth; None where all have one."""
        return next((grid.estimate.incomplete for grid in self.grids if grid.estimate.incomplete), None)

    @property
    def results(self) -> dict[str, Any]:
        """Arrays by name, of the first model and GPU."""
        return dict(self.grids[0].results)

    @property
    def rows(self) -> int:
        """Scenarios of all models and GPUs."""
        return sum(grid.rows for grid in self.grids)

    @cached_property
    def columns(self) -> dict[str, Array]:
        """The scenarios as flat columns in base units, to be read only; NaN where a model has no such result."""
        parts = [grid.columns() for grid in self.grids]
        if len(parts) == 1:
            return parts[0]
        absent = [numpy.broadcast_to(numpy.nan, grid.rows) for grid in self.grids]
        names = dict.fromkeys(name for part in parts for name in part)
        return {
            name: numpy.concatenate([part.get(name, gap) for part, gap in zip(parts, absent, strict=True)]) for name in names
        }

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The columns that hold one value, with it."""
        return {name: column[0] for name, column in self.columns.items() if (column == column[0]).all()}

    def records(self) -> Iterable[tuple[Any, ...]]:
        """The scenarios row by row."""
        return zip(*(column.tolist() for column in self.columns.values()), strict=True)

    def to_frame(self) -> DataFrame:
        """One row per scenario, in base units; needs the extra `frames`."""
        return frame_of(self.columns)

    def to_csv(self) -> str:
        """The scenarios as CSV, in base units."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        # NaN, the only value that differs from itself, leaves its cell empty.
        writer.writerows(["" if cell != cell else cell for cell in row] for row in self.records())
        return text.getvalue()

    def unit(self, name: str) -> str:
        """The unit of a column; empty for text."""
        return "" if name in ("model", "gpu", "basis") else unit_of(name)

    def to_dict(self) -> dict[str, Any]:
        """As JSON: columns of numbers in base units."""
        units = {name: self.unit(name) for name in self.columns if self.unit(name)}
        columns = {name: [None if cell != cell else cell for cell in column.tolist()] for name, column in self.columns.items()}
        body = {"units": units, "columns": columns}
        return envelope("sweep", body, catalog=self.grids[0].estimate.catalog, warnings=self.warnings)

    def to_parquet(self) -> bytes:
        """All scenarios as a Parquet file."""
        import pyarrow.parquet

        buffer = io.BytesIO()
        table = pyarrow.table({name: numpy.ascontiguousarray(column) for name, column in self.columns.items()})
        pyarrow.parquet.write_table(table, buffer)
        return buffer.getvalue()

    def write(self, path: str | Path) -> None:
        """Write all scenarios as CSV or Parquet, atomically."""
        write_whole(path, self.to_parquet() if str(path).lower().endswith(".parquet") else self.to_csv())


def _axis(name: str, values: Any) -> Array:
    unit = unit_of(name)
    numbers = parse_axis(values, unit, name, comes_whole(name) or None) if isinstance(values, str) else values
    refusal = UsageError(f"{name}: found {brief(values)}, expected a list of finite numbers ({unit})")
    try:
        array = numpy.atleast_1d(numpy.asarray(numbers, dtype=numpy.float64))
    except (TypeError, ValueError):
        raise refusal from None
    if array.ndim != 1 or array.size == 0 or not numpy.isfinite(array).all():
        raise refusal
    return numpy.asarray(check_value(name, array))


def _grid(job: Job, axes: Mapping[str, Array], catalog: Catalog) -> ScenarioGrid:
    # The job at the first value of each axis, for evidence and warnings.
    first = {name: float(values[0]) for name, values in axes.items()}
    if "gpus" in axes and (both := {"nodes", "gpus_per_node"} & axes.keys()):
        raise UsageError(f"sweep: gpus and {min(both)} are given as ranges, expected one of them")
    job_there = sized(on_nodes(job, first.pop("nodes", None)), first.pop("gpus", None), catalog)
    if SAMPLE_BYTES in axes:
        largest = {**first, SAMPLE_BYTES: float(axes[SAMPLE_BYTES].max())}
        rate_basis_of(revised(job_there, settings={**job.settings, **largest}), catalog)
    base = estimate(revised(job_there, settings={**job.settings, **first}), catalog)
    shaped = dict(zip(axes, numpy.ix_(*axes.values()), strict=True))
    known: dict[str, Any] = {name: float(item.value) for name, item in base.given.items()} | shaped
    if "gpus" in axes:
        nodes = [sized(job, size, catalog).numbers["nodes"] for size in axes["gpus"].tolist()]
        known["nodes"] = numpy.asarray(nodes).reshape(shaped["gpus"].shape)
        known["gpus_per_node"] = shaped["gpus"] / known["nodes"]
    if job.scaling in ("weak", "strong"):
        sizes = numpy.asarray(solve("gpus", known))
        factor = partial(evidence_ladder.scaling_factor, catalog.get(Scaling, job.scaling))
        factors = [1.0 if size <= evidence_ladder.BASE_GPUS else factor(size).value for size in sizes.flat]
        known["scaling_efficiency"] = numpy.asarray(factors).reshape(sizes.shape)
    cases = set(base.known.cases)
    if (
        RATE in base.levels[0][0].given
        and base.basis != "given"
        and any(level.is_sized for level, *_ in base.levels)
        and {"nodes", "gpus", "gpus_per_node"} & axes.keys()
    ):
        known[RATE], known["supported_rate"] = _rates(job, base.basis, solve("gpus", known), catalog)
        # Evidence that agrees at one size may not at another.
        cases -= {"rates_agree"}
        if "evidence_weighed" not in cases:
            cases = cases - {"evidence_supports_estimate"} | {"evidence_weighed", "samples_alike"}
    results = {}
    for name in QUESTION.names:
        if name in CLIENTS:
            continue
        try:
            results[name] = numpy.asarray(derive(name, known, cases=cases).value)
        except MissingQuantity:
            continue
        if not numpy.isfinite(results[name]).all():
            raise UsageError(OUT_OF_RANGE.format(name))
    return ScenarioGrid(base, shaped, {name: array for name, array in results.items() if name not in shaped})


def _rates(job: Job, basis: str, gpus: Any, catalog: Catalog) -> tuple[Array, Array]:
    """The rate at every size, since what was published depends on it, and the one that all evidence supports.

    Both are interpolated where there are very many sizes, between those at which a run was published.
    """
    sizes = numpy.unique(numpy.asarray(gpus))
    several = len(sizes) > MOST_SIZES
    one = revised(job, numbers={**job.numbers, "gpus_per_node": 1.0}, basis=basis)
    asked = sizes
    if several:
        known = rate_basis_of(on_nodes(one, float(sizes[0])), catalog).rates
        bends = [size - before for size in {row.gpus for row in known.rows} for before in (0, 1)] if known is not None else []
        spaced = numpy.geomspace(sizes[0], sizes[-1], MOST_SIZES).round()
        asked = numpy.unique(numpy.concatenate((spaced, numpy.clip(bends, sizes[0], sizes[-1]))))
    found = [rate_basis_of(on_nodes(one, float(size)), catalog) for size in asked]
    rates = [each.known[RATE].value for each in found]
    disputes = [disputed(each.level, each.others) for each in found]
    supported = [rate if each is None else each.supported.value for rate, each in zip(rates, disputes, strict=True)]

    def spread(values: list[float]) -> Array:
        """The values at every size; between two sizes a rate is a power of the size."""
        if not several:
            return numpy.asarray(numpy.asarray(values)[numpy.searchsorted(asked, gpus)])
        return numpy.asarray(numpy.exp(numpy.interp(numpy.log(gpus), numpy.log(asked), numpy.log(values))))

    return spread(rates), spread(supported)


class SweepOptions(NodesOptions, NodeOptions, ServedOptions, CommonOptions, total=False):
    """The options of `sweep`: those of `bw` without the GPUs, which follow from the nodes."""


def sweep(
    axes: Annotated[
        Mapping[str, Any] | Sequence[str],
        option('Quantity to list, range text or array: `{"nodes": "1..1024*2"}` or `["nodes=1..1024*2"]`.'),
    ],
    model: Annotated[Many | None, MODEL] = None,
    gpu: Annotated[Many | None, GPU] = None,
    **options: Unpack[SweepOptions],
) -> Sweep:
    """Many scenarios in one vectorised call.

    >>> sweep(model="cosmoflow", gpu="h100", axes={"nodes": [1, 2]}).to_frame()["gpus"].tolist()
    [8.0, 16.0]

    Raises UsageError: no axis, an unknown quantity, or an invalid range; IngestError: there is no evidence for a model on a
    GPU.
    """
    asked: dict[str, Any] = {**filled(SweepOptions, options, "sweep")}
    catalogs, nodes = asked.pop("catalogs"), asked.pop("nodes")
    written: dict[str, Any] = {**axes} if isinstance(axes, Mapping) else {}
    for axis, after in () if isinstance(axes, Mapping) else pairwise([*axes, ""]):
        name, equals, values = axis.partition("=")
        if not equals:
            meant = f"; did you mean '{axis}={after}'?" if is_quantity(axis) else f", and options such as --model {axis}"
            raise UsageError(f"sweep: found '{axis}', expected NAME=from..to*k or NAME=a,b,c{meant}")
        if name.strip() in {"model", "gpu", *SweepOptions.__annotations__} and not is_quantity(name.strip()):
            raise UsageError(f"sweep: found '{axis}', which is an option: --{name.strip().replace('_', '-')} {values}")
        if name.strip() in written:
            raise UsageError(f"sweep: {name.strip()} is given more than once, expected one range")
        written[name.strip()] = values
    each_stated_once(SweepOptions, {**asked, "nodes": nodes}, written, "a range of")
    for name in written.keys() & settings_of(asked["set"]):
        raise UsageError(f"sweep: {name} is given as a range and as a value, expected one of them")
    for name in written.keys() & {*Numbers._fields} if model is None else ():
        # One evidence answers a sweep, and each size of a model has its own.
        raise UsageError(f"sweep: {name} describes the model, expected the models instead: --model '{name}=… …,{name}=… …'")
    if isinstance(nodes, (str, list, tuple)):
        written["nodes"], nodes = nodes, None
    numbers = {name: _axis(name, values) for name, values in written.items()}
    if all(values.size == 1 for values in numbers.values()):
        raise UsageError("sweep: expected at least one range of several values, such as nodes=1..1024*2")
    count = math.prod(values.size for values in numbers.values())
    if count > MAX_POINTS:
        raise UsageError(f"sweep: {count:,} scenarios, expected at most {MAX_POINTS:,}")
    catalog = opened(catalogs)
    job = job_of(nodes=nodes, **asked)
    choices = product(names_of(model), names_of(gpu))
    return Sweep(tuple(_grid(revised(job, model=one, gpu=other), numbers, catalog) for one, other in choices))
