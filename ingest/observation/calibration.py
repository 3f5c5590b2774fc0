"""`ingest calibrate`: estimate beside observation, why they differ, and entries of your own that carry the observation on."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Model
from ingest.catalog.store import Catalog
from ingest.engine.interactive import InteractiveResult
from ingest.engine.registry import solve, unit_of
from ingest.engine.result import envelope
from ingest.engine.value import Quantity
from ingest.errors import IngestError, UsageError
from ingest.files import check_target, sha256, write_all
from ingest.observation.observation import Figure, Observation
from ingest.observation.observation_file import read_observation
from ingest.observation.scaling import Scaling, scaling_of
from ingest.sizing.bandwidth import Estimate, bw
from ingest.sizing.catalog_commands import check
from ingest.sizing.published_rates import LOWER_BOUND
from ingest.units import parse_share

PROTOCOL = "own"
COLUMNS = ("gpu", "precision", "samples_per_second_per_gpu", "achieved_flops_per_gpu", "gpus", "nodes", "protocol", "round",
           "source", "where", "grade", "note")  # fmt: skip
#: A rate that a user typed is only recalled.
GRADES = {"measured": "measured", "given": "assumed"}
#: Figures within this share of an estimate without a range agree with it.
AGREES_WITHIN = 0.05
#: quantity of the estimate -> the figures of an observation that it is held against, the best first
HELD_AGAINST = {
    "samples_per_second_per_gpu": ("demanded_samples_per_second_per_gpu", "samples_per_second_per_gpu"),
    "bytes_read_per_sample": ("bytes_read_per_sample",),
    "ingest_bandwidth_per_job": ("demanded_read_bandwidth", "read_bandwidth"),
    "bytes_per_file_open": ("read_bytes_per_open",),
}


class Comparison(NamedTuple):
    """One quantity, estimated and observed.

    Attributes:
        estimated: None where the catalogs do not know it.
        ratio: observed over estimated.
        inside: whether the observed value is within the range of the estimate; None where one of both is missing.
        why: what explains the difference.
        place: the file of the observation, where there are several.
    """

    quantity: str
    estimated: Quantity | None
    observed: Figure
    ratio: float | None
    inside: bool | None
    why: str
    place: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The comparison in JSON."""
        return {
            **({"observation": self.place} if self.place else {}),
            "quantity": self.quantity,
            "estimated": self.estimated.to_dict() if self.estimated else None,
            "observed": self.observed.to_dict(),
            "ratio": self.ratio,
            "inside": self.inside,
            "why": self.why,
        }


@dataclass(frozen=True, repr=False, eq=False)
class Calibration(InteractiveResult):
    """An observation against the estimate of the same job, and the entries that it makes.

    Attributes:
        model, gpu: ids.
        rows: one per quantity that both know, or that was observed.
        files: path inside the overlay -> content.
        folder: where the overlay was written; empty where it was not.
        warnings: one line each.
        unmet: the quantity that differs by more than the tolerance; empty otherwise.
        scaling: what several observations show together; None for one.
    """

    model: str
    gpu: str
    rows: tuple[Comparison, ...]
    files: Mapping[str, str]
    folder: str
    warnings: tuple[str, ...]
    catalog: Catalog
    unmet: str = ""
    scaling: Scaling | None = None

    @property
    def results(self) -> Mapping[str, Quantity]:
        """What was observed, by the name of the estimate, and what several observations show together."""
        own = {one.quantity: one.observed.quantity for one in self.rows}
        return own if self.scaling is None else dict(self.scaling.results)

    def to_dict(self) -> dict[str, Any]:
        """The calibration as JSON."""
        inputs = {name: {"value": value, "from": "user"} for name, value in (("model", self.model), ("gpu", self.gpu))}
        together = {} if self.scaling is None else {"unknown": dict(self.scaling.unknown)}
        body = {
            **together,
            "comparison": [one.to_dict() for one in self.rows],
            "overlay": {"folder": self.folder, "files": [*self.files]},
        }
        return envelope("calibrate", body, catalog=self.catalog, inputs=inputs, results=self.results, warnings=[*self.warnings])


def calibrate(
    observation: str | Path,
    *others: str | Path,
    model: str,
    gpu: str,
    nodes: int | str | None = None,
    basis: str = "auto",
    protocol: str | None = None,
    encoding: str | None = None,
    precision: str | None = None,
    output: str | Path | None = None,
    tolerance: float | str | None = None,
    catalogs: Sequence[str | Path] = (),
) -> Calibration:
    """Hold an observation against the estimate of the same job, and write entries of your own that carry it on.

    Args:
        observation: the JSON file of `ingest observe`.
        others: observations of the job at other sizes or batches: they give the scaling exponent and the time of a hand-over.
        model: id, alias or YAML file of the model that was trained.
        gpu: id, alias or YAML file of the GPU that it ran on.
        nodes: nodes of the job, one by default.
        basis: evidence level of the estimate: `auto`, `measured`, `emulated`, `transferred`, `efficiency` or `peak`.
        protocol: measurement protocol of the estimate.
        encoding: encoding of the data set of the estimate.
        precision: `bf16`, `fp16`, `tf32`, `fp32`, `fp8` or `fp4`; that of the best evidence on the GPU by default.
        output: new or existing folder for the entries; `--catalogs` takes it.
        tolerance: share by which the samples per second may differ before the command exits with 3.
        catalogs: folders with entries of your own.

    Raises:
        UsageError: an option is out of range or unknown.
        IngestError: the file is no observation, or has nothing to compare.
    """
    options: dict[str, Any] = {"model": model, "gpu": gpu, "basis": basis, "protocol": protocol, "encoding": encoding,
               "precision": precision, "output": output, "tolerance": tolerance, "catalogs": catalogs}  # fmt: skip
    if not others:
        return _one(observation, None, nodes=nodes, **options)
    if nodes is not None:
        raise UsageError("--nodes: each of several observations states its GPUs, expected none")
    return _together((observation, *others), options)


def _together(places: Sequence[str | Path], options: Mapping[str, Any]) -> Calibration:
    """Several observations of one job: each beside the estimate of its size, and what they show together."""
    if len(set(map(str, places))) < len(places):
        raise UsageError("an observation is given twice, expected each once")
    seen = [(str(place), read_observation(place)) for place in places]
    scaling = scaling_of(seen)
    made = [_one(place, one.facts.get("gpus"), nodes=None, **options) for place, one in seen]
    rows = tuple(row._replace(place=place) for (place, _), one in zip(seen, made, strict=True) for row in one.rows)
    warnings = tuple(dict.fromkeys(line for one in made for line in one.warnings))
    unmet = next((one.unmet for one in made if one.unmet), "")
    return replace(made[0], rows=rows, warnings=warnings, unmet=unmet, scaling=scaling)


def _one(observation: str | Path, gpus: int | None, *, output: str | Path | None, tolerance: float | str | None,
         catalogs: Sequence[str | Path], **options: Any) -> Calibration:  # fmt: skip
    allowed = None if tolerance is None else parse_share(tolerance, "--tolerance")
    seen = read_observation(observation)
    answer = bw(gpus=gpus, catalogs=catalogs, **options)
    if not isinstance(answer, Estimate) or answer.model is None or answer.gpu is None:
        raise UsageError("calibrate: found several models, GPUs or sizes, expected the one job that was observed")
    rows = tuple(_compared(answer, seen))
    if not rows:
        known = ", ".join(sorted({name for names in HELD_AGAINST.values() for name in names}))
        raise IngestError(f"{observation}: nothing to compare, expected one of {known}")
    identity = "own-" + sha256(Path(observation).read_bytes())[:12]
    files = overlay(seen, answer, identity) if output is not None else {}
    if output is not None:
        write_entries(Path(output), files)
    warnings = (*_warnings(seen, rows, answer), *_refused(output, files, catalogs))
    unmet = _unmet(rows, allowed)
    return Calibration(answer.model.id, answer.gpu.id, rows, files, str(output or ""), warnings, Catalog(catalogs), unmet)


def _compared(answer: Estimate, seen: Observation) -> Iterator[Comparison]:
    for quantity, names in HELD_AGAINST.items():
        held = next((name for name in names if name in seen.figures), None)
        if held is None:
            continue
        figure = seen.figures[held]
        estimated = answer.results.get(quantity)
        if estimated is None and quantity in ("bytes_read_per_sample", "bytes_per_file_open"):
            estimated = _computed(answer, quantity)
        if estimated is None or not estimated.value:
            yield Comparison(quantity, None, figure, None, None, "the catalogs do not know it")
            continue
        given = {"value_before": estimated.value, "value_after": figure.value}
        ratio = float(solve("change_ratio", given))
        inside = _inside(estimated, figure, ratio)
        why = _why(quantity, answer, figure, ratio, inside)
        if held.startswith("demanded_") and not figure.lower_bound:
            why += "; the stalls of the job are taken out of the observed rate"
        yield Comparison(quantity, estimated, figure, ratio, inside, why)


def _computed(answer: Estimate, quantity: str) -> Quantity | None:
    try:
        return Quantity(float(answer.known.value(quantity)), unit_of(quantity))
    except IngestError:
        return None


def _inside(estimated: Quantity, figure: Figure, ratio: float) -> bool:
    if estimated.low is None or estimated.high is None:
        return abs(ratio - 1) <= AGREES_WITHIN
    return estimated.low <= figure.value <= estimated.high


def _why(quantity: str, answer: Estimate, figure: Figure, ratio: float, inside: bool) -> str:
    """What explains the difference of one quantity."""
    if inside:
        return "within the range of the estimate"
    if figure.lower_bound and ratio < 1:
        return "the observed value is a lower bound: the job may have waited for data; --synthetic tells"
    if quantity == "samples_per_second_per_gpu":
        way = "slower" if ratio < 1 else "faster"
        return f"the job is {way} than the {answer.basis} rate: other batch, software, precision or number of GPUs"
    if quantity == "bytes_read_per_sample":
        if ratio < 1:
            return "fewer bytes than one stored sample: another encoding, a cache on the node, or a part of each sample"
        return "more bytes than one stored sample: another encoding, read-ahead, or whole blocks read for a part"
    if quantity == "bytes_per_file_open":
        return "another number of samples per file, or files that stay open" if ratio > 1 else "files are opened several times"
    return "follows from the rate and the bytes per sample"


def _warnings(seen: Observation, rows: Sequence[Comparison], answer: Estimate) -> Iterator[str]:
    if any(one.observed.lower_bound for one in rows):
        yield "the stall of the observed job is unknown: its rates are lower bounds, and so are requirements that rest on them"
    if any(one.quantity == "samples_per_second_per_gpu" and one.observed.basis == "given" for one in rows):
        yield "the observed rate was typed and not measured: give it with --samples-per-second, entries carry it as assumed"
    gpus = seen.facts.get("gpus")
    if isinstance(gpus, int) and gpus != answer.known.value("gpus"):
        yield f"the observed job had {gpus:,} GPUs, the estimate is of {answer.known.value('gpus'):,.0f}: set --nodes"


def _refused(output: str | Path | None, files: Mapping[str, str], catalogs: Sequence[str | Path]) -> Iterator[str]:
    """The first problem of the entries that were written, which every command that reads them will refuse."""
    problems = () if output is None else check(output, catalogs=catalogs).problems
    written = [one for one in problems if any(name in one for name in files)]
    if written:
        yield f"the entries do not pass the check of catalogs, and no command takes them: {written[0]}"


def _unmet(rows: Sequence[Comparison], allowed: float | None) -> str:
    for one in rows:
        judged = allowed is not None and one.quantity == "samples_per_second_per_gpu" and one.ratio is not None
        if judged and abs((one.ratio or 0) - 1) > (allowed or 0):
            return f"the observed rate is {one.ratio:.3g} times the estimate, more than {allowed:.0%} off"
    return ""


def overlay(seen: Observation, answer: Estimate, identity: str) -> dict[str, str]:
    """Entries that carry an observation: a row of the model's rates, its bytes per sample, the protocol and the source.

    Args:
        seen: the observation.
        answer: the estimate of the same job, for model, GPU and precision.
        identity: id of the source.

    Returns:
        Path inside the folder -> content.

    Raises:
        IngestError: the observation has neither a rate per GPU nor bytes per sample.
    """
    assert answer.model is not None and answer.gpu is not None  # noqa: PT018
    rate = next((seen.figures[name] for name in HELD_AGAINST["samples_per_second_per_gpu"] if name in seen.figures), None)
    size = seen.figures.get("bytes_read_per_sample")
    if rate is None and size is None:
        raise IngestError(
            "the observation has neither samples per second per GPU nor bytes per sample, expected one for an entry"
        )
    model = answer.model
    files = {
        "sources.yaml": f'{identity}:\n  title: "Observation of a job of one\'s own"\n  kind: measurement\n',
        f"protocols/{PROTOCOL}.yaml": "name: Observed on a job of one's own\nform: training-log\n"
        'advice: "The job as it ran: stalls taken out where a rate on synthetic data is known, else a lower bound."\n',
    }
    if rate is not None:
        files[f"models/{model.id}.csv"] = _rates(rate, seen, answer, identity)
    if size is not None:
        files[f"models/{model.id}.yaml"] = _with_encoding(model, size, seen, identity)
    return files


def _rates(rate: Figure, seen: Observation, answer: Estimate, identity: str) -> str:
    gpus = seen.facts.get("gpus")
    count = gpus if isinstance(gpus, int) and gpus > 0 else round(answer.known.value("gpus"))
    nodes = max(1, round(count / answer.known.value("gpus_per_node")))
    assert answer.gpu is not None
    note = f"{LOWER_BOUND}: the stall is unknown" if rate.lower_bound else "stalls taken out"
    row = (answer.gpu.id, answer.precision, rate.value, "", count, nodes, PROTOCOL, "", identity, f"window of {_seconds(rate)}",
           GRADES[rate.basis], note)  # fmt: skip
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, row])
    return text.getvalue()


def _seconds(figure: Figure) -> str:
    return f"{figure.window.seconds:.6g} s" if figure.window else "the whole run"


def _with_encoding(model: Model, size: Figure, seen: Observation, identity: str) -> str:
    """The entry of a model with the observed bytes per sample as its first encoding, which is the default."""
    places = f'source: {identity}, where: "window of {_seconds(size)}", grade: {GRADES[size.basis]}'
    lines = [f"  {PROTOCOL}:", f"    stored: {{value: {size.value!r}, unit: B/sample, {places}}}"]
    per_open = seen.figures.get("read_bytes_per_open")
    if per_open is not None and per_open.value > 0:
        given = {"read_bytes_per_open": per_open.value, "observed_bytes_per_sample": size.value}
        each = float(solve("observed_samples_per_file", given))
        if each >= 1:
            lines.append(
                f"    samples_per_file: {{value: {each!r}, unit: sample/file, {places.replace('measured', 'derived')}}}"
            )
    # An entry that carries another observation already gets this one in its place.
    text = re.sub(rf"\n  {PROTOCOL}:\n(?:    .*\n)+", "\n", model.path.read_text(encoding="utf-8"))
    if "\nencodings:\n" not in text:
        return text.rstrip("\n") + "\nencodings:\n" + "\n".join(lines) + "\n"
    return text.replace("\nencodings:\n", "\nencodings:\n" + "\n".join(lines) + "\n", 1)


def write_entries(folder: Path, files: Mapping[str, str]) -> None:
    """Write the entries; a folder that holds rates of other observations keeps them."""
    if folder.exists() and not folder.is_dir():
        raise IngestError(f"-o: '{folder}' is a file, expected a folder")
    targets = {folder / name: content for name, content in files.items()}
    for path in targets:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_target(path)
    write_all({path: _joined(path, content) for path, content in targets.items()})


def _joined(path: Path, content: str) -> str:
    """A table of rates or of sources with the rows that the folder has already."""
    if not path.is_file() or (path.name != "sources.yaml" and path.suffix != ".csv"):
        return content
    kept = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        row = content.splitlines()[1]
        return kept if row in kept.splitlines() else kept.rstrip("\n") + f"\n{row}\n"
    head = content.splitlines()[0]
    return kept if head in kept.splitlines() else kept.rstrip("\n") + "\n" + content
