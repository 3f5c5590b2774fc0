"""`ingest calibrate`: estimate beside observation, why they differ, what several show together, and entries that carry them."""

from __future__ import annotations

import csv
import getpass
import io
import json
import math
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

from ingest.catalog.commands import check
from ingest.catalog.records import LOWER_BOUND, PRECISIONS, SIZES, Model
from ingest.catalog.store import CATALOGS
from ingest.configuration import shipped_folder, user_folder
from ingest.corpus.estimators import student_quantile
from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import filled, option
from ingest.engine.registry import solve, unit_of
from ingest.engine.result import envelope
from ingest.engine.value import Quantity
from ingest.errors import IngestError, UsageError, brief, expected_one_of
from ingest.files import read_bytes, read_json_object, sha256, write_all, write_whole
from ingest.observation.observation import DATA, DEVICES, EXPECTED, MOST_BYTES, Figure, Observation, bundle_of, read_observation
from ingest.sizing.bandwidth import Estimate, bw
from ingest.sizing.job import LEVELS, PRECISION
from ingest.units import parse_share

PROTOCOL = "own"
#: The encoding of a model's entry that carries an observation; that of a bundle has the id of its source.
OWN = re.compile(rf"^  {PROTOCOL}(?:-[0-9a-f]+)?:\n(?:    .*\n)+", re.MULTILINE)
SOURCES = "sources.yaml"
BUNDLE = "the JSON of `ingest calibrate … --bundle FILE --licence ID --source TEXT`"
#: An id, or a precision.
WORD = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
RATE = "samples_per_second_per_gpu"
COLUMNS = ("gpu", "precision", RATE, "achieved_flops_per_gpu", "gpus", "nodes", "protocol", "round",
           "source", "where", "grade", "note")  # fmt: skip
#: A rate that a user typed is only recalled.
GRADES = {"measured": "measured", "given": "assumed"}
#: Figures within this share of an estimate without a range agree with it.
AGREES_WITHIN = 0.05
#: Licences, by their SPDX ids, under which anyone may use contributed figures and pass them on.
LICENCES = ("CC0-1.0", "CC-BY-4.0", "CDLA-Permissive-2.0", "ODC-By-1.0", "PDDL-1.0")
#: What the text of a source may hold: words, no path, no address.
SOURCE = re.compile(r"(?:\w|[ ,;:()'&+-]|(?<=\d)\.(?=\d)){3,120}")
ADDRESS = re.compile(r"\d+\.\d+\.\d|\w:\w")
#: Sources of entries that carry observations: `own-` and the start of the file's SHA-256.
IDENTITY = re.compile(r"own-[0-9a-f]{12}")
RATES = ("demanded_samples_per_second_per_gpu", RATE)
#: quantity of the estimate -> the figures of an observation that it is held against, the best first
HELD_AGAINST = {
    RATE: RATES,
    "bytes_read_per_sample": ("bytes_read_per_sample",),
    "ingest_bandwidth_per_job": ("demanded_read_bandwidth", "read_bandwidth"),
    "bytes_per_file_open": ("read_bytes_per_open",),
}
#: A line through fewer points leaves no interval.
LEAST_OBSERVATIONS = 3
#: An observation further from the line of the others, as a share of its rate, is of another job.
CONTRADICTS_BEYOND = 0.1
#: Rates that grow faster than the GPUs by this much are of two jobs.
SUPERLINEAR_FROM = 1.05
#: Of jobs that wait for longer, the wait is that for reads.
MOST_STALL = 0.1
CONFIDENCE = 0.95


class Comparison(NamedTuple):
    """One quantity, estimated and observed."""

    quantity: str
    estimated: Quantity | None  # None where the catalogs do not know it
    observed: Figure
    ratio: float | None  # observed over estimated
    inside: bool | None  # whether the observed value is within the range of the estimate; None where one of both is missing
    why: str  # what explains the difference
    place: str = ""  # the file of the observation, where there are several

    def to_dict(self) -> dict[str, Any]:
        """The comparison in JSON."""
        estimated = self.estimated.to_dict() if self.estimated else None
        row = {**self._asdict(), "estimated": estimated, "observed": self.observed.to_dict()}
        place = row.pop("place")
        return {"observation": place, **row} if place else row


class Contribution(NamedTuple):
    """What a bundle states beside its numbers."""

    model: str  # ids
    gpu: str
    nodes: int
    precision: str
    licence: str
    source: str  # where the figures come from, in a few words


class Scaling(NamedTuple):
    """What several observations show together, by name."""

    results: Mapping[str, Quantity]  # `scaling_exponent` and `handover_seconds`, with their 95 % intervals, where determined
    unknown: Mapping[str, str]  # the reason why one is missing
    points: Mapping[str, int]  # number of the observations behind each


@dataclass(frozen=True, repr=False, eq=False)
class Calibration(InteractiveResult):
    """An observation against the estimate of the same job, and the entries that it makes."""

    model: str  # ids
    gpu: str
    rows: tuple[Comparison, ...]  # one per quantity that both know, or that was observed
    files: Mapping[str, str]  # path inside the overlay -> content
    folder: str  # where the overlay was written; empty where it was not
    warnings: tuple[str, ...]
    answer: Estimate
    unmet: str = ""  # the quantity that differs by more than the tolerance
    scaling: Scaling | None = None  # what several observations show together; None for one

    @property
    def results(self) -> Mapping[str, Quantity]:
        """What was observed, by the name of the estimate, and what several observations show together."""
        own = {one.quantity: one.observed.quantity for one in self.rows}
        return own if self.scaling is None else dict(self.scaling.results)

    def to_dict(self) -> dict[str, Any]:
        """The calibration as JSON."""
        inputs = {name: {"value": value, "from": "user"} for name, value in (("model", self.model), ("gpu", self.gpu))}
        together = {} if self.scaling is None else {"unknown": dict(self.scaling.unknown)}
        written = {"folder": self.folder, "files": [*self.files]}
        body = {**together, "comparison": [one.to_dict() for one in self.rows], "overlay": written}
        told, catalog = [*self.warnings], self.answer.catalog
        return envelope("calibrate", body, catalog=catalog, inputs=inputs, results=self.results, warnings=told)


MODEL = option("Id, alias or YAML file of the model that was trained.", "ID")
GPU = option("Id, alias or YAML file of the GPU that it ran on.", "ID")
FOLDER = option("Folder of the entries. [default: your own catalogs]", "DIR")
NODES = option("Nodes of the job; by default those of its GPUs where it states them, else one.")


class CalibrateOptions(TypedDict, total=False):
    """The options of `calibrate`."""

    output: Annotated[str | Path | None, option("Folder for entries of your own, which --catalogs takes.", "DIR")]
    nodes: Annotated[int | str | None, NODES]
    basis: Annotated[str, option("Evidence level of the estimate: {choices}.", "LEVEL", default=LEVELS[0], choices=LEVELS)]
    protocol: Annotated[str | None, option("Measurement protocol of the estimate.", "ID")]
    encoding: Annotated[str | None, option("Encoding of the data set of the estimate.", "ID", choices=SIZES)]
    precision: Annotated[str | None, PRECISION]
    tolerance: Annotated[
        float | str | None, option("Share by which the samples per second may differ before the command exits with 3.", "F")
    ]
    bundle: Annotated[
        str | Path | None,
        option("File for the numbers, the model and the GPU alone, for others: needs --licence and --source.", "FILE"),
    ]
    licence: Annotated[str | None, option("Licence of a bundle: {choices}.", "ID", choices=LICENCES)]
    source: Annotated[
        str | None, option("Where the figures of a bundle come from, without names of people and machines.", "TEXT")
    ]
    catalogs: Annotated[Sequence[str | Path], CATALOGS]


def calibrate(
    observation: str | Path,
    *others: str | Path,
    model: Annotated[str, MODEL],
    gpu: Annotated[str, GPU],
    **options: Unpack[CalibrateOptions],
) -> Calibration:
    """Hold an observation against the estimate of the same job, and write entries of your own that carry it on.

    `observation` is the JSON file of `ingest observe`; observations of the job at other sizes or batches give the scaling
    exponent and the time of a hand-over.

    Raises UsageError: an option is out of range or unknown; IngestError: the file is no observation, or has nothing to compare.
    """
    asked: dict[str, Any] = {**filled(CalibrateOptions, options, "calibrate"), "model": model, "gpu": gpu}
    bundle, licence, source = (asked.pop(name) for name in ("bundle", "licence", "source"))
    if bundle is None and (licence, source) != (None, None):
        raise UsageError("--licence and --source: no bundle is written, expected --bundle FILE with them")
    if bundle is not None and others:
        raise UsageError("--bundle: found several observations, expected one")
    if bundle is not None:
        _check_terms(licence, source, "--")
    if not others:
        answer = _one(observation, **asked)
        if bundle is not None:
            # The numbers of the observation, with what they are of, for others.
            read, found = read_observation(observation), answer.answer
            overlay(read, found, PROTOCOL)  # refuses what makes no entry
            stated = Contribution(answer.model, answer.gpu, max(1, round(found.nodes)), found.precision, licence, source)
            write_whole(Path(bundle), json.dumps({**bundle_of(read), "contribution": stated._asdict()}, indent=1) + "\n")
        return answer
    if asked["nodes"] is not None:
        raise UsageError("--nodes: each of several observations states its GPUs, expected none")
    places = (observation, *others)
    if len(set(map(str, places))) < len(places):
        raise UsageError("an observation is given twice, expected each once")
    seen = [(str(place), read_observation(place)) for place in places]
    scaling = scaling_of(seen)
    # Each beside the estimate of its size.
    made = [_one(place, **asked) for place, _ in seen]
    rows = tuple(row._replace(place=place) for (place, _), one in zip(seen, made, strict=True) for row in one.rows)
    warnings = tuple(dict.fromkeys(line for one in made for line in one.warnings))
    unmet = next((one.unmet for one in made if one.unmet), "")
    return replace(made[0], rows=rows, warnings=warnings, unmet=unmet, scaling=scaling)


def _one(observation: str | Path, *, output: str | Path | None, tolerance: float | str | None,
         catalogs: Sequence[str | Path], encoding_id: str = PROTOCOL, **options: Any) -> Calibration:  # fmt: skip
    allowed = None if tolerance is None else parse_share(tolerance, "--tolerance")
    seen = read_observation(observation)
    stated, gpus = seen.facts.get("precision"), seen.facts.get("gpus")
    if stated in PRECISIONS and options["precision"] not in (None, stated):
        raise UsageError(f"--precision: found {options['precision']}, expected the {stated} that {observation} states, or none")
    options["precision"] = stated if stated in PRECISIONS else options["precision"]
    if seen.facts.get("device") == "cpu":
        # Of a CPU the catalogs know nothing: what follows is of its own rate.
        options["samples_per_second"] = next((seen.figures[name].value for name in RATES if name in seen.figures), None)
    observed = gpus if options["nodes"] is None and type(gpus) is int and gpus > 0 else None
    answer = bw(gpus=observed, catalogs=catalogs, **options)
    if not isinstance(answer, Estimate) or answer.model is None or answer.gpu is None:
        raise UsageError("calibrate: found several models, GPUs or sizes, expected the one job that was observed")
    # A CPU says nothing of a GPU, nor a GPU of a CPU, whose entry has this form.
    if (ran := seen.facts.get("device")) in DEVICES and (ran == "cpu") != (answer.gpu.form == "CPU"):
        expected = f"expected an entry {'' if ran == 'cpu' else 'not '}of form CPU"
        raise UsageError(f"--gpu: found {answer.gpu.id}, {expected}: {observation} ran on {ran}")
    rows = tuple(_compared(answer, seen))
    if not rows:
        known = ", ".join(sorted({name for names in HELD_AGAINST.values() for name in names}))
        raise IngestError(f"{observation}: nothing to compare, expected one of {known}")
    files = overlay(seen, answer, identity_of(observation), encoding_id) if output is not None else {}
    if output is not None:
        write_entries(Path(output), files)
    warnings = list(_warnings(seen, rows, answer))
    # Every command that reads the entries will refuse the first problem of those that were written.
    problems = () if output is None else check(output, catalogs=catalogs).problems
    if written := [one for one in problems if any(name in one for name in files)]:
        warnings.append(f"the entries do not pass the check of catalogs, and no command takes them: {written[0]}")
    unmet = ""
    ratio = next((one.ratio for one in rows if one.quantity == RATE), None)
    if allowed is not None and ratio is not None and abs(ratio - 1) > allowed:
        unmet = f"the observed rate is {ratio:.3g} times the estimate, more than {allowed:.0%} off"
    return Calibration(answer.model.id, answer.gpu.id, rows, files, str(output or ""), tuple(warnings), answer, unmet)


def identity_of(observation: str | Path, expected: str = EXPECTED) -> str:
    """The source of the entries that carry an observation."""
    return f"own-{sha256(read_bytes(observation, expected, most=MOST_BYTES))[:12]}"


def _compared(answer: Estimate, seen: Observation) -> Iterator[Comparison]:
    for quantity, names in HELD_AGAINST.items():
        held = next((name for name in names if name in seen.figures), None)
        if held is None:
            continue
        figure = seen.figures[held]
        estimated = answer.results.get(quantity)
        if estimated is None and quantity in ("bytes_read_per_sample", "bytes_per_file_open"):
            with suppress(IngestError):
                estimated = Quantity(float(answer.known.value(quantity)), unit_of(quantity))
        if answer.basis == "given" and quantity in (RATE, "ingest_bandwidth_per_job"):
            estimated = None  # it was made of the observed rate
        if estimated is None or not estimated.value:
            yield Comparison(quantity, None, figure, None, None, "the catalogs do not know it")
            continue
        ratio = float(solve("change_ratio", {"value_before": estimated.value, "value_after": figure.value}))
        if estimated.low is None or estimated.high is None:
            inside = abs(ratio - 1) <= AGREES_WITHIN
        else:
            inside = estimated.low <= figure.value <= estimated.high
        why = _why(quantity, answer, figure, ratio, inside)
        if held.startswith("demanded_") and not figure.lower_bound:
            why += "; the stalls of the job are taken out of the observed rate"
        yield Comparison(quantity, estimated, figure, ratio, inside, why)


def _why(quantity: str, answer: Estimate, figure: Figure, ratio: float, inside: bool) -> str:
    """What explains the difference of one quantity."""
    if inside:
        return "within the range of the estimate"
    if figure.lower_bound and ratio < 1:
        return "the observed value is a lower bound: the job may have waited for data; --synthetic tells"
    if quantity == RATE:
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
    if any(one.quantity == RATE and one.observed.basis == "given" for one in rows):
        yield "the observed rate was typed and not measured: give it with --samples-per-second, entries carry it as assumed"
    gpus = seen.facts.get("gpus")
    if isinstance(gpus, int) and gpus != answer.known.value("gpus"):
        yield f"the observed job had {gpus:,} GPUs, the estimate is of {answer.known.value('gpus'):,.0f}: set --nodes"


def overlay(seen: Observation, answer: Estimate, identity: str, encoding: str = PROTOCOL) -> dict[str, str]:
    """Entries that carry an observation, by path: a row of rates, its bytes per sample, the protocol and the source.

    Raises IngestError: the observation has neither a rate per GPU nor bytes per sample.
    """
    assert answer.model is not None and answer.gpu is not None  # noqa: PT018
    rate = next((seen.figures[name] for name in RATES if name in seen.figures), None)
    # Generated data have the size of no data set.
    size = seen.figures.get("bytes_read_per_sample") if seen.facts.get("data") not in DATA else None
    if rate is None and size is None:
        raise IngestError(
            "the observation has neither samples per second per GPU nor bytes per sample, expected one for an entry"
        )
    model = answer.model

    def where(figure: Figure) -> str:
        return f"window of {figure.window.seconds:.6g} s" if figure.window else "window of the whole run"

    files = {
        SOURCES: f'{identity}:\n  title: "Observation of a job of one\'s own"\n  kind: measurement\n',
        f"protocols/{PROTOCOL}.yaml": "name: Observed on a job of one's own\nform: training-log\n"
        'advice: "The job as it ran: stalls taken out where a rate on synthetic data is known, else a lower bound."\n',
    }
    if rate is not None:
        gpus = seen.facts.get("gpus")
        count = gpus if isinstance(gpus, int) and gpus > 0 else round(answer.known.value("gpus"))
        nodes = max(1, round(count / answer.known.value("gpus_per_node")))
        note = f"{LOWER_BOUND}: the stall is unknown" if rate.lower_bound else "stalls taken out"
        row = (answer.gpu.id, answer.precision, rate.value, "", count, nodes, PROTOCOL, "", identity, where(rate),
               GRADES[rate.basis], note)  # fmt: skip
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, row])
        files[f"models/{model.id}.csv"] = text.getvalue()
    if size is not None:
        places = f'source: {identity}, where: "{where(size)}", grade: {GRADES[size.basis]}'
        files[f"models/{model.id}.yaml"] = _with_encoding(
            model, encoding, size, seen.figures.get("read_bytes_per_open"), places
        )
    return files


def _with_encoding(model: Model, name: str, size: Figure, per_open: Figure | None, places: str) -> str:
    """The entry of a model with the observed bytes per sample as its first encoding, which is the default."""
    lines = [f"  {name}:", f"    stored: {{value: {size.value!r}, unit: B/sample, {places}}}"]
    if per_open is not None and per_open.value > 0:
        given = {"read_bytes_per_open": per_open.value, "observed_bytes_per_sample": size.value}
        each = float(solve("observed_samples_per_file", given))
        if each >= 1:
            lines.append(
                f"    samples_per_file: {{value: {each!r}, unit: sample/file, {places.replace('measured', 'derived')}}}"
            )
    # An entry that carries an observation under this name already gets this one in its place.
    text = OWN.sub(lambda found: found[0] * (not found[0].startswith(lines[0])), model.path.read_text(encoding="utf-8"))
    if "\nencodings:\n" not in text:
        return text.rstrip("\n") + "\nencodings:\n" + "\n".join(lines) + "\n"
    return text.replace("\nencodings:\n", "\nencodings:\n" + "\n".join(lines) + "\n", 1)


def write_entries(folder: Path, files: Mapping[str, str]) -> None:
    """Write the entries; a folder that holds rates or sources of other observations keeps them."""
    if folder.exists() and not folder.is_dir():
        raise IngestError(f"-o: '{folder}' is a file, expected a folder")
    targets = {folder / name: content for name, content in files.items()}
    for path in targets:
        path.parent.mkdir(parents=True, exist_ok=True)
    for path, content in targets.items():
        if not path.is_file() or (path.name != SOURCES and path.suffix != ".csv"):
            continue
        kept, lines = path.read_text(encoding="utf-8"), content.splitlines()
        # Of a table the row is new, of the sources the whole entry below its first line.
        own, added = (lines[1], f"{lines[1]}\n") if path.suffix == ".csv" else (lines[0], content)
        targets[path] = kept if own in kept.splitlines() else kept.rstrip("\n") + "\n" + added
    write_all(targets)


def _check_terms(licence: object, source: object, place: str) -> None:
    """Refuse a licence that others cannot use, and a source that may name a place, or names this machine or its user."""
    if licence not in LICENCES:
        raise UsageError(f"{place}licence: found {brief(licence or '')}, {expected_one_of(str(licence), LICENCES)}")
    text = source if isinstance(source, str) and SOURCE.fullmatch(source) and not ADDRESS.search(source) else ""
    own = {socket.gethostname().partition(".")[0].lower(), getpass.getuser().lower()}
    if not text.strip() or own & set(re.findall(r"[\w-]+", text.lower())):
        expected = "expected 3 to 120 letters, digits and spaces: no path, no address, no name of this machine or its user"
        raise UsageError(f"{place}source: found {brief(source or '')}, {expected}")


def read_bundle(bundle: str | Path) -> Contribution:
    """What a bundle states, after all of it has been checked.

    Raises IngestError: it has another key, text or figure than `calibrate --bundle` writes, or no licence or source.
    """
    data = read_json_object(bundle, BUNDLE, most=MOST_BYTES)
    stated = data.get("contribution")
    if data.get("bundle") is not True or not isinstance(stated, dict) or set(stated) != set(Contribution._fields):
        raise IngestError(f"{bundle}: states no licence and source, expected {BUNDLE}")
    plain = bundle_of(read_observation(bundle))
    for key in dict.fromkeys((*plain, *data)):
        if key not in ("contribution", "version") and data.get(key) != plain.get(key):
            raise IngestError(f"{bundle}: {brief(key)}: found {brief(data.get(key))}, which no bundle holds, expected {BUNDLE}")
    found = Contribution(**stated)
    try:
        _check_terms(found.licence, found.source, f"{bundle}: ")
    except UsageError as error:
        raise IngestError(str(error)) from None
    words = (found.model, found.gpu, found.precision)
    named = all(isinstance(word, str) and WORD.fullmatch(word) for word in words)
    if not named or type(found.nodes) is not int or found.nodes < 1:
        stated = brief((*words, found.nodes))
        raise IngestError(f"{bundle}: found {stated}, expected ids of a model and a GPU, a precision, nodes")
    return found


def add_bundle(
    bundle: str | Path,
    *,
    output: Annotated[str | Path | None, FOLDER] = None,
    catalogs: Annotated[Sequence[str | Path], CATALOGS] = (),
) -> Calibration:
    """Take a bundle, the JSON of `ingest calibrate --bundle`, into the catalogs, after its entries have been checked.

    Raises IngestError: the file is no bundle, has no licence or source, or its entries do not pass `catalog check`.
    """
    *asked, licence, source = read_bundle(bundle)
    folder, identity = Path(output) if output is not None else user_folder(), identity_of(bundle)
    known = (*catalogs, folder) if folder.is_dir() and output is not None else tuple(catalogs)
    with tempfile.TemporaryDirectory() as trial:
        options = dict(zip(Contribution._fields, asked, strict=False))
        made = _one(bundle, output=trial, tolerance=None, catalogs=known, encoding_id=identity, **options)
        problems = check(trial, catalogs=known).problems
    if problems:
        raise IngestError(f"{bundle}: its entries do not pass the check of catalogs: {problems[0].removeprefix(f'{trial}/')}")
    title = f'{identity}:\n  title: "{source}"\n  kind: measurement\n  note: "licence {licence}"\n'
    write_entries(folder, {**made.files, SOURCES: title})
    return made


def remove_bundle(bundle: str, *, output: Annotated[str | Path | None, FOLDER] = None) -> tuple[Path, ...]:
    """Take the entries of a bundle, or of an observation, out of the catalogs; returns the files that changed.

    `bundle` is the file that was added, or the id of its source, such as `own-0123456789ab`.

    Raises IngestError: the folder has no entry of it.
    """
    folder = Path(output) if output is not None else user_folder()
    identity = bundle if IDENTITY.fullmatch(bundle) else identity_of(bundle, "a bundle, or an id such as own-0123456789ab")
    texts = {path: path.read_text(encoding="utf-8") for path in [*folder.glob(SOURCES), *sorted(folder.glob("models/*.*"))]}
    left = {path: _without(identity, path, text) for path, text in texts.items()}
    changed = {path: text for path, text in left.items() if text != texts[path]}
    if not changed:
        raise IngestError(f"'{folder}' has no entry of {identity}")
    protocol = folder / "protocols" / f"{PROTOCOL}.yaml"
    if protocol.is_file() and not IDENTITY.search(left.get(folder / SOURCES, "")):
        changed[protocol] = ""
    write_all({path: text for path, text in changed.items() if text})
    for path in [path for path, text in changed.items() if not text]:
        path.unlink()
        with suppress(OSError):  # other entries are kept there
            path.parent.rmdir()
            folder.rmdir()
    return tuple(changed)


def _without(identity: str, path: Path, text: str) -> str:
    """A file of entries without those of a source; empty where nothing of the user's own is left."""
    if path.name == SOURCES:
        return re.sub(rf"^{identity}:\n(?:  .*\n)+", "", text, flags=re.MULTILINE)
    if path.suffix == ".csv":
        rows = [line for line in text.splitlines(keepends=True) if f",{identity}," not in line]
        return "".join(rows) if len(rows) > 1 else ""
    left = OWN.sub(lambda found: "" if f"source: {identity}," in found[0] else found[0], text)
    shipped = shipped_folder() / path.parent.name / path.name
    same = shipped.is_file() and left.removesuffix("\nencodings:\n").rstrip() == shipped.read_text(encoding="utf-8").rstrip()
    return "" if left != text and same else left


class Point(NamedTuple):
    """One observation: samples per second per GPU, its size, and where known its batch per GPU and its stall."""

    place: str
    rate: float
    gpus: int
    batch: float | None
    stall: float | None


def scaling_of(observations: Sequence[tuple[str, Observation]]) -> Scaling:
    """The exponent of the total rate over the GPUs, and the time in which a batch is handed over, from runs of one job by file.

    Raises IngestError: they contradict each other, or determine neither.
    """
    points = []
    for place, seen in observations:
        rate = next((seen.figures[name].value for name in RATES if name in seen.figures), None)
        gpus = seen.facts.get("gpus")
        if rate is None or not isinstance(gpus, int) or isinstance(gpus, bool) or gpus < 1:
            raise IngestError(
                f"{place}: no rate per GPU, or no number of GPUs, expected an observation with both: observe LOG --gpus N"
            )
        batch, stall = seen.figures.get("samples_per_step"), seen.figures.get("stall_fraction")
        points.append(Point(place, rate, gpus, batch.value if batch else None, stall.value if stall else None))
    results: dict[str, Quantity] = {}
    unknown: dict[str, str] = {}
    counts: dict[str, int] = {}
    for name, found in (("scaling_exponent", _exponent), ("handover_seconds", _handover)):
        made = found(points)
        if isinstance(made, str):
            unknown[name] = made
        else:
            results[name], counts[name] = made
    if not results:
        lines = "; ".join(f"{name.replace('_', ' ')}: {why}" for name, why in unknown.items())
        raise IngestError(f"{len(points)} observations determine nothing together: {lines}")
    return Scaling(results, unknown, counts)


def _exponent(points: Sequence[Point]) -> tuple[Quantity, int] | str:
    """The slope of the logarithm of the total rate over that of the GPUs, at one batch per GPU, or what would determine it."""
    if len({one.gpus for one in points}) < 2:
        return f"all have {points[0].gpus:,} GPUs, expected two sizes or more"
    if len({one.batch for one in points if one.batch is not None}) > 1:
        return "the batch per GPU changes with the size, expected one batch"
    if len(points) < LEAST_OBSERVATIONS:
        return f"two observations leave no interval, expected {LEAST_OBSERVATIONS} or more"
    logs = [(math.log(one.gpus), math.log(one.gpus * one.rate)) for one in points]
    slope, height = line_through(logs)
    for one, (across, up) in zip(points, logs, strict=True):
        off = math.expm1(up - height.value - slope.value * across)
        if abs(off) > CONTRADICTS_BEYOND:
            raise IngestError(
                f"{one.place}: {one.rate:.4g} sample/s per GPU on {one.gpus:,} GPUs is {off:+.0%} off the line of the others: "
                "another job, or a disturbed one; leave it out"
            )
    if slope.value > SUPERLINEAR_FROM:
        raise IngestError(
            f"{points[0].place}: the total rate grows with GPUs^{slope.value:.3g}, faster than the GPUs: expected observations "
            "of one job, with stalls taken out (--synthetic)"
        )
    low, value, high = (min(1.0, max(0.0, one or 0.0)) for one in (slope.low, slope.value, slope.high))
    return Quantity(value, "1", low, high), len(points)


def _handover(points: Sequence[Point]) -> tuple[Quantity, int] | str:
    """The wait of each step that does not grow with the batch, of jobs whose loader keeps up, or what would determine it."""
    usable = [one for one in points if one.batch and one.stall is not None and one.stall <= MOST_STALL]
    if len(usable) < LEAST_OBSERVATIONS or len({one.batch for one in usable}) < 2:
        return (
            f"expected {LEAST_OBSERVATIONS} observations or more, at two batches or more, with stalls up to {MOST_STALL:.0%} "
            "(--synthetic)"
        )
    waits = []
    for one in usable:
        given = {
            "samples_per_step": one.batch or 0,
            "demanded_samples_per_second_per_gpu": one.rate,
            "stall_fraction": one.stall or 0,
        }
        waits.append((one.batch or 0.0, float(solve("observed_wait_seconds", given))))
    _, found = line_through(waits)
    if (found.low or 0) <= 0:
        return f"within the spread of the observations, at most {max(found.high or 0, 0):.2g} s"
    return found, len(usable)


def line_through(points: Sequence[tuple[float, float]]) -> tuple[Quantity, Quantity]:
    """Slope and height at 0 of the line of least squares through three points or more, with their 95 % intervals."""
    slope, height = linear_regression(*zip(*points, strict=True))
    middle = fmean(across for across, _ in points)
    spread = sum((across - middle) ** 2 for across, _ in points)
    degrees = len(points) - 2
    variance = sum((up - height - slope * across) ** 2 for across, up in points) / degrees
    factor = student_quantile(CONFIDENCE, degrees)
    slope_width = factor * (variance / spread) ** 0.5
    width = factor * (variance * (1 / len(points) + middle**2 / spread)) ** 0.5
    return Quantity(slope, "1", slope - slope_width, slope + slope_width), Quantity(height, "s", height - width, height + width)
