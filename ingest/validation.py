"""`ingest validate`: published results by the formulas and the commands, the errors, and whether each set meets its bar."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, overload

import numpy

from ingest.catalog.records import Decoder, Model, Protocol, Rate, Storage, Tier
from ingest.catalog.store import CATALOGS, Catalog, opened
from ingest.catalog.yaml_reader import read_yaml
from ingest.configuration import shipped_folder
from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import option
from ingest.engine.registry import is_quantity, solve, unit_of
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.errors import CatalogError, UsageError, brief, expected_one_of, nearest
from ingest.loader.feed import feed
from ingest.sizing import evidence_ladder
from ingest.sizing.bandwidth import bw
from ingest.sizing.checkpoint import checkpoint
from ingest.sizing.dataset import dataset
from ingest.sizing.decoding import decode_share
from ingest.sizing.evidence_ladder import KINDS, PastError, past_errors
from ingest.sizing.goodput import goodput
from ingest.sizing.memory import memory
from ingest.sizing.model import model as model_command
from ingest.sizing.offload import offload
from ingest.sizing.post_training import rl
from ingest.sizing.published_rates import (
    PublishedRates,
    before_round,
    beyond,
    measured_models,
    published,
    samples_of,
    steps_of,
    submissions,
    typical,
)
from ingest.sizing.train import train
from ingest.sizing.transfer import transferred
from ingest.sizing.vectors import vectors
from ingest.text import grouped
from ingest.units import display, parse

SET_KEYS = {"title", "source", "bar", "cases", "runs", "study", "note"}
#: Commands that a case may run instead of a formula.
COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__: command
    for command in (bw, model_command, checkpoint, memory, train, dataset, offload, goodput, feed, rl, vectors)
}
CASE_KEYS = {"id", "statement", "source", "where", "quantity", "given", "tier", "published", "expected", "tolerance", "remark",
             "published_up_to", "ends", "threshold", "fits"}  # fmt: skip
#: The benchmark whose rounds judge the rates of the earlier ones, and the first that does.
ROUNDS_OF, FIRST_ROUND = "mlperf-training", "v2.1"
#: What JSON tells of a set, and what JSON and CSV tell of a case.
FIGURES = ("title", "cases", "within_tolerance", "median_absolute_error")
DETAILS = ("id", "unit", "published", "ours", "expected", "error", "tolerance", "within", "source", "where", "remark", "bound")
#: Percentiles of the errors, and all that a bar may limit.
PERCENTILES = {"p80": 0.8, "p90": 0.9, "p95": 0.95}
BARS = ("tolerance", "median", *PERCENTILES, "coverage_low", "coverage_high", "sides", "width")


@dataclass(frozen=True)
class Case:
    """A published figure and the computed one."""

    id: str
    unit: str
    published: float  # as in the source, in base units
    ours: float  # computed from the published inputs
    expected: float  # the published figure; computed by hand from the published inputs where these contradict it
    tolerance: float  # largest difference of `ours` from `expected`, relative
    source: str
    where: str
    remark: str = ""
    width: float = 1.0  # high end over low end of the predicted range; 1 where none is predicted
    bound: bool = False  # whether the published figure is a lower bound: the run waited for its data

    @property
    def judged(self) -> bool:
        """Whether the case tells an error: a lower bound contradicts only what lies below it."""
        return not self.bound or self.ours < self.published

    @property
    def error(self) -> float:
        """The difference from the published figure, relative."""
        return self.ours / self.published - 1

    @property
    def within(self) -> bool:
        """Whether the computed figure is within the tolerance."""
        return math.isclose(self.ours, self.expected, rel_tol=self.tolerance)

    @property
    def texts(self) -> tuple[str, ...]:
        """The figures with their unit, as printed: published, expected if it is another one, ours; and the error in percent."""
        published, expected, ours = (
            display(item, self.unit, binary=False) for item in (self.published, self.expected, self.ours)
        )
        missed = " MISS" if self.judged and not self.within else ""
        other = expected if self.contradicted else ""
        return (
            self.id,
            f"≥ {published}" if self.bound else published,
            other,
            ours,
            f"{self.error * 100:+.2f} %{missed}",
            self.remark,
        )

    @property
    def contradicted(self) -> bool:
        """Whether the published inputs give another figure than the published one."""
        return not math.isclose(self.published, self.expected, rel_tol=self.tolerance)

    def _called(self, rightly: bool, remark: str) -> Case:
        """The case, within where it is called rightly, whatever its error."""
        tolerance = abs(self.ours / self.published - 1) * 1.0000001 if rightly else 0.0
        return replace(self, tolerance=tolerance, remark=remark.strip())

    def ranged(self, ends: Sequence[float], most: float | None = None, what: str = "published") -> Case:
        """Within where the published figure, or a part of its range up to `most`, lies between the ends computed for it."""
        low, high = min(ends), max(ends)
        inside = low <= (self.published if most is None else most) and self.published <= high
        shown = "; ".join(filter(None, (self.remark, f"{what} {'inside' if inside else 'OUTSIDE'} the range")))
        return replace(self._called(inside, shown), width=high / low)

    def fitting(self, fits: bool, found: bool) -> Case:
        """Within where a layout is called as it was found: it fits the room, or runs out of it.

        The error printed is the distance from a full GPU; that of the set counts the layouts that are called wrongly.
        """
        shown = f"{self.remark} {'Ran' if found else 'Out of memory'}; called {'fitting' if fits else 'too large'}."
        return replace(self._called(fits == found, shown), expected=self.ours if fits == found else self.published)

    def sided(self, threshold: float) -> Case:
        """Within where the published and the computed figure lie on the same side of a threshold."""
        passes = self.published >= threshold
        shown = f"{self.remark} {'Passes' if passes else 'Fails'} {display(threshold, self.unit, binary=False)}."
        return self._called((self.ours >= threshold) == passes, shown)


@dataclass(frozen=True)
class ValidatedSet:
    """A set of published figures and its bar."""

    name: str
    title: str
    results: tuple[Case, ...]
    bar: Mapping[str, float]

    @property
    def cases(self) -> int:
        """The number of figures."""
        return len(self.results)

    @property
    def within_tolerance(self) -> int:
        """The number of figures within their tolerance."""
        return sum(case.within for case in self.results)

    @property
    def judged(self) -> tuple[Case, ...]:
        """The figures that tell an error: all but the lower bounds that the computed figures do not fall below."""
        return tuple(case for case in self.results if case.judged)

    @property
    def bounds_as_rates(self) -> ValidatedSet:
        """The set with its lower bounds counted as the rates of runs that never wait."""
        return replace(self, results=tuple(replace(case, bound=False) for case in self.results))

    @property
    def median_absolute_error(self) -> float:
        """Median of the errors against the expected figures."""
        return evidence_ladder.median(self._errors)

    @property
    def percentiles(self) -> dict[str, float]:
        """Percentiles of the errors (nearest rank), by name."""
        errors = sorted(self._errors)
        return {name: errors[math.ceil(share * len(errors)) - 1] for name, share in PERCENTILES.items()}

    @property
    def covered(self) -> float:
        """Share of the figures that tell an error within their tolerance or range."""
        return sum(case.within for case in self.judged) / len(self.judged)

    @property
    def median_width(self) -> float:
        """Median of the widths of the predicted ranges."""
        return evidence_ladder.median(case.width for case in self.judged)

    @property
    def _errors(self) -> list[float]:
        return [abs(case.ours / case.expected - 1) for case in self.judged]

    @property
    def passed(self) -> bool:
        """Whether the set meets its bar."""
        covered = self.covered
        held = {
            "tolerance": covered == 1.0,
            "median": self.median_absolute_error <= self.bar.get("median", 0),
            **{name: error <= self.bar.get(name, 0) for name, error in self.percentiles.items()},
            "coverage_low": covered >= self.bar.get("coverage_low", 0),
            "coverage_high": covered <= self.bar.get("coverage_high", 1),
            "sides": covered >= self.bar.get("sides", 0),
            "width": self.median_width <= self.bar.get("width", 0),
        }
        return all(held[name] for name in self.bar)

    @property
    def bar_text(self) -> str:
        """The bar in words."""
        words = {
            "tolerance": "every case within its tolerance",
            "median": "median error at most {:.3g} %",
            **{name: f"{name[1:]}th percentile at most {{:.3g}} %" for name in PERCENTILES},
            "coverage_low": "at least {:.3g} % within the range",
            "coverage_high": "at most {:.3g} %",
            "sides": "at least {:.3g} % on the published side of the threshold",
        }
        limits = [words[name].format(limit * 100) for name, limit in self.bar.items() if name in words]
        return ", ".join(
            [*limits, *([f"ranges of a median width of at most ×{self.bar['width']:g}"] if "width" in self.bar else [])]
        )

    @property
    def prediction_text(self) -> str:
        """How good the predictions of a set with ranges are; empty for any other."""
        if "width" not in self.bar:
            return ""
        bounds = sum(case.bound for case in self.results)
        more = f"; without {bounds} lower bounds, {self.cases - len(self.judged)} of them not contradicted; as rates: "
        return (
            f"median error {self.median_absolute_error:.1%}, 80th percentile {self.percentiles['p80']:.1%}, "
            f"{self.covered:.1%} inside ranges of a median width of ×{self.median_width:.2f}"
        ).replace("%", " %") + (more + self.bounds_as_rates.prediction_text if bounds else "")

    def shown_cases(self, all_of_them: bool, most: int = 60) -> list[Case]:
        """The cases to print: all of a small set, the largest errors of a large one, or only the misses."""
        if not all_of_them:
            return [case for case in self.judged if not case.within] if "tolerance" in self.bar else []
        if self.cases <= most:
            return list(self.results)
        return sorted(self.results, key=lambda case: -abs(case.error))[:most]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        details = [{key: getattr(case, key) for key in DETAILS} for case in self.results]
        figures = {key: getattr(self, key) for key in FIGURES}
        figures |= {f"{name}_absolute_error": error for name, error in self.percentiles.items()}
        figures |= {"median_width": self.median_width, "lower_bounds": sum(case.bound for case in self.results)}
        figures |= {"lower_bounds_contradicted": sum(case.bound for case in self.judged), "passed": self.passed}
        return {"set": self.name, **figures, "bar": dict(self.bar), "details": details}


@dataclass(frozen=True, repr=False, eq=False)
class Validation(InteractiveResult):
    """The result of `validate`."""

    sets: tuple[ValidatedSet, ...]

    @property
    def results(self) -> dict[str, ValidatedSet]:
        """The sets by name."""
        return {one.name: one for one in self.sets}

    @property
    def unmet(self) -> str:
        """The sets that miss their bar; empty where none does."""
        missed = [one.name for one in self.sets if not one.passed]
        return f"validate: missed the bar: {', '.join(missed)}" if missed else ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return envelope("validate", {"sets": [one.to_dict() for one in self.sets]})

    def to_frame(self) -> DataFrame:
        """One row per case."""
        return frame_of([{"set": one["set"], **case} for one in self.to_dict()["sets"] for case in one["details"]])


@dataclass(frozen=True, repr=False, eq=False)
class History(InteractiveResult):
    """The result of `validate --history`: errors before and after the product held the figures."""

    rows: tuple[PastError, ...]

    @property
    def results(self) -> dict[str, float]:
        """The median error on figures that the product had not seen, by evidence level."""
        pools = {one.level: one.median_error for one in self.rows if one.is_pooled and one.kind == "before"}
        return {level: pools[level] or 0.0 for level in evidence_ladder.BASES if level in pools}

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return envelope("validate", {"kinds": KINDS, "history": [one._asdict() for one in self.rows]})

    def to_frame(self) -> DataFrame:
        """One row per group of figures."""
        return frame_of([one._asdict() for one in self.rows])


def _read(path: Path, catalog: Catalog) -> ValidatedSet:
    data = read_yaml(path)
    _known_keys(path, data, SET_KEYS)
    _known_keys(path, data["bar"], set(BARS))
    found: Iterator[Case]
    if "study" in data:
        found = STUDIES[data["study"]](catalog)
    elif "runs" in data:
        found = _runs(path.with_suffix(".csv"), data)
    else:
        found = (_case(path, data, case, catalog) for case in data["cases"])
    return ValidatedSet(path.stem, data["title"], tuple(found), data["bar"])


def _known_keys(path: Path, found: Mapping[str, Any], known: set[str]) -> None:
    for key in found:
        if key not in known:
            raise CatalogError(f"{path}: unknown key '{key}', {expected_one_of(key, sorted(known))}")


def _case(path: Path, data: Mapping[str, Any], case: Mapping[str, Any], catalog: Catalog) -> Case:
    _known_keys(path, case, CASE_KEYS | set(COMMANDS))
    name, place = case["quantity"], f"{path.name} {case['id']}"
    unit = unit_of(name)
    published = parse(case["published"], unit, place)
    command = next((key for key in COMMANDS if key in case), None)
    if command is not None:
        answer = COMMANDS[command](**located(path, case[command]), catalogs=catalog)
        found = answer.results[name]
        ours = float(found.value)
    else:
        given = {
            key: numpy.array([parse(one, unit_of(key), place) for one in item])
            if isinstance(item, list)
            else parse(item, unit_of(key), place)
            for key, item in case.get("given", {}).items()
        }
        ours = float(solve(name, {**_of_tier(case.get("tier", ""), catalog), **given}))
    source, where = case.get("source", data.get("source", "")), case.get("where", "")
    if source not in catalog.sources:
        raise CatalogError(f"{path}: case {case['id']}: unknown source '{source}'{nearest(source, catalog.sources)}")
    remark = " ".join(filter(None, (case.get("statement", ""), case.get("remark", ""))))
    found_case = Case(str(case["id"]), unit, published, ours, published, 0.0, source, where, remark)
    if command is not None and "fits" in case:
        return found_case.fitting(not answer.unmet, case["fits"])
    if "threshold" in case:
        return found_case.sided(parse(case["threshold"], unit, place))
    if command is not None and ("ends" in case or "tolerance" not in case):
        ends = [float(found.low or ours), float(found.high or ours)]
        if "ends" in case:
            answers = (COMMANDS[command](**{**case[command], **end}, catalogs=catalog) for end in case["ends"])
            ends = [float(one.results[name].value) for one in answers]
        return found_case.ranged(ends, parse(case.get("published_up_to", case["published"]), unit, place))
    expected = parse(case.get("expected", case["published"]), unit, place)
    return replace(found_case, expected=expected, tolerance=case["tolerance"])


def located(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command, with a model that lies beside the set found there."""
    model = options.get("model")
    return {**options, **({"model": str(path.parent / model)} if model and model.endswith(".yaml") else {})}


def _of_tier(words: str, catalog: Catalog) -> dict[str, float]:
    """The limits of a tier, named by its service and itself, as inputs."""
    if not words:
        return {}
    service, name = words.split()
    tier = catalog.get(Storage, service).tiers[name]
    limits = {field: getattr(tier, field) for field in Tier.shapes}
    limits["client_bandwidth"] = tier.client_read_bandwidth
    return {f"tier_{field}": item.value for field, item in limits.items() if item and is_quantity(f"tier_{field}")}


def _runs(path: Path, data: Mapping[str, Any]) -> Iterator[Case]:
    """One case per row of the CSV that has a published figure: `runs` maps quantities to columns."""
    quantity, columns = data["runs"]["quantity"], data["runs"]["given"]
    unit = unit_of(quantity)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in filter(lambda row: row["published"], csv.DictReader(lines)):
            given = {name: float(row[column]) for name, column in columns.items()}  # in base units, as their header says
            ours, published = float(solve(quantity, given)), float(row["published"])
            source = row.get("source", data["source"])
            yield Case(row["id"], unit, published, ours, published, data["bar"]["p95"], source, row["where"])


def every_model(catalog: Catalog) -> Iterator[PublishedRates]:
    """The published rates of every model."""
    return (PublishedRates(model, catalog) for model in catalog.all(Model))


def _transfers(catalog: Catalog, pairs: bool = False) -> Iterator[Case]:
    """Each measured rate, predicted from the other GPUs under its protocol (leave one pair out).

    `pairs`: each pair of model and GPU instead, predicted as in `bw`: the typical rate over protocols.
    """
    for rates, precision, found in measured_models(every_model(catalog)):
        for gpu, protocol in dict.fromkeys((rate.gpu, None if pairs else rate.protocol) for rate in found):
            own = [rate for rate in found if rate.gpu == gpu and protocol in (None, rate.protocol)]
            level = transferred(rates, rates.gpu(gpu), precision, protocol)
            if level is not None and not any("across vendors" in warning or not pairs for warning in level.warnings):
                middle, _ = typical(rates, {rate.protocol: rate.value for rate in own})
                name = ", ".join(filter(None, (f"{rates.model.id} on {gpu}", precision, protocol)))
                yield _transfer_case(name, middle, own[0].rows[0], level)


def _transfer_case(name: str, measured: float, row: Rate, level: evidence_ladder.EvidenceLevel) -> Case:
    predicted = level.given[evidence_ladder.RATE]
    low, high = predicted.low or predicted.value, predicted.high or predicted.value
    one = Case(name, unit_of(evidence_ladder.RATE), measured, predicted.value, measured, 0.0, row.source, row.where, level.note)
    return one.ranged((low, high), what="measured")


def _scaled_pairs(catalog: Catalog) -> Iterator[Case]:
    """Each run of a submission that never waits, predicted from its smaller ones and the others (leave one submission out)."""
    unit = unit_of(evidence_ladder.RATE)
    for rates in every_model(catalog):
        found = submissions(rates.model, [row for row in rates.of_runs() if not row.waits])
        for key, runs in [(key, runs) for key, runs in found.items() if len(runs) > 1]:
            others = {one: sizes for one, sizes in found.items() if one != key}
            steps = steps_of(others, rates.steps.floor)
            for small, large in combinations(runs, 2):
                value, low, factor = beyond(small, large.gpus, steps, steps.exponent(key.protocol, key.gpu))
                name = f"{rates.model.id} on {key.gpu}, {key.precision}: {small.gpus:,} to {large.gpus:,} GPUs"
                where = " ".join(filter(None, (key.protocol, key.round, key.submitter)))
                case = Case(name, unit, large.rate, value, large.rate, 0.0, "ingest-rates", where, factor())
                yield case.ranged((low, value, small.rate))


def _rounds(catalog: Catalog) -> Iterator[Case]:
    """Each cell of a round of MLPerf Training from the earlier rounds alone; those of runs that all waited are lower bounds."""
    protocol = catalog.get(Protocol, ROUNDS_OF)
    for name in protocol.rounds[protocol.rounds.index(FIRST_ROUND) :]:
        for rates in before_round(catalog, name):
            of_round = (row for row in catalog.rates(rates.model) if (row.protocol, row.round) == (protocol.id, name))
            usable = (row for row in of_round if samples_of(rates.model, row) is not None)
            cells = grouped(((row.gpu, evidence_ladder.family_of(row.precision)[0], row.gpus), row) for row in usable)
            for (gpu, precision, gpus), rows in cells.items():
                asked = (rates, rates.gpu(gpu), precision, protocol.id, gpus)
                level = published("measured", *asked) or transferred(*asked)
                if level is not None:
                    judges = [row for row in rows if not row.waits] or rows
                    measured = evidence_ladder.median(samples_of(rates.model, row) or 0 for row in judges)
                    words = f"{name} {rates.model.id} on {gpu}, {precision}, {gpus:,} GPUs: {level.basis}"
                    case = _transfer_case(words, measured, judges[0], level)
                    yield replace(case, bound=judges[0].waits)


def _decoding_peaks(catalog: Catalog) -> Iterator[Case]:
    """The peak of each loader, from one thread on its CPU and the share that workers keep on the other CPUs."""
    measured = [(one, cpu) for one in catalog.all(Decoder) for cpu in one.loader_rates]
    for one, cpu in measured:
        elsewhere = [decode_share(other, place) for other, place in measured if place != cpu]
        given = {"thread_decode_rate": one.thread_rates[cpu].value, "decode_workers": one.loader_workers[cpu].value}
        ours = float(solve("loader_decode_rate", {**given, "decode_scaling": evidence_ladder.median(elsewhere)}))
        peak = one.loader_rates[cpu]
        unit = unit_of("loader_decode_rate")
        yield Case(f"{one.id}-{cpu}", unit, peak.value, ours, peak.value, 0.5, peak.source, peak.where)


#: Sets computed from the catalogs, by the name of their `study`.
STUDIES: dict[str, Callable[[Catalog], Iterator[Case]]] = {
    "transfer": _transfers,
    "transfer-pairs": partial(_transfers, pairs=True),
    "scaling": _scaled_pairs,
    "rounds": _rounds,
    "decoding": _decoding_peaks,
}


HISTORY_OPTION = option("Print the errors over time instead: before the product held the figures, and after.")


@overload
def validate(
    name: str | None = None, *, history: Literal[False] = False, catalogs: Sequence[str | Path] | Catalog = ()
) -> Validation: ...


@overload
def validate(
    name: str | None = None, *, history: bool, catalogs: Sequence[str | Path] | Catalog = ()
) -> Validation | History: ...


def validate(
    name: str | None = None,
    *,
    history: Annotated[bool, HISTORY_OPTION] = False,
    catalogs: Annotated[Sequence[str | Path] | Catalog, CATALOGS] = (),
) -> Validation | History:
    """Reproduce published results: published, ours, error.

    Args:
        name: a set, for example `ibrahim`; all sets by default.
        history: the errors over time instead, by set, round and evidence level.

    >>> validate("ibrahim").results["ibrahim"].passed
    True

    Raises UsageError: an unknown set.
    """
    catalog = opened(catalogs)
    known = {path.stem: path for path in sorted((shipped_folder() / "published").glob("*.yaml"))}
    if name is not None and name not in known:
        if name.endswith((".yaml", ".yml", ".json")):
            raise UsageError(
                f"found {brief(name)}, expected a set of published results; `ingest plan --check` reads a site file"
            )
        raise UsageError(f"unknown set '{name}', {expected_one_of(name, known)}")
    if history:
        return History(tuple(one for one in past_errors() if name in (None, one.set)))
    return Validation(tuple(_read(path, catalog) for stem, path in known.items() if name in (None, stem)))
