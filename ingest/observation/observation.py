"""An observation: figures with their evidence level, window and coverage; its JSON form, read back and without its texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeGuard, TypeVar

from ingest.catalog.records import PRECISIONS
from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import Question
from ingest.engine.registry import is_quantity, load_modules, solve, unit_of
from ingest.engine.result import envelope
from ingest.engine.value import Quantity
from ingest.errors import IngestError, brief
from ingest.files import read_json_object

SCHEMA = "ingest/observation/1"
EXPECTED = "the JSON of `ingest observe`"
MOST_BYTES = 64 * 2**20
#: No job has more bytes, samples or seconds: what follows from two of them stays a number.
MOST_NUMBER = 1e30
#: Bytes, samples and microseconds that a program counts are below.
MOST_COUNTED = 1e18
BASES = ("measured", "given")
#: the kinds of sources, beside those of the table, that a bundle may name: all other words could name a place or a person
SOURCES = ("processes", "training log", "nfs mount", "nfs4 mount", "lustre mount", "user")
PATTERNS = ("sequential", "random")
NUMBERS = ("readers", "events", "steps", "checkpoints", "restarts", "gpus", "processes_most", "io_pressure_full", "host_cores",
           "host_memory_bytes", "accelerator_memory_bytes")  # fmt: skip
#: what a job computed on, and data that stand for no data set
DEVICES, DATA = ("cuda", "cpu"), ("generated",)


class Window(NamedTuple):
    """The part of an observation that its rates rest on."""

    seconds: float  # its length
    cut_before: float = 0  # seconds that were cut at its start
    cut_after: float = 0
    note: str = ""  # why it was cut there

    def to_dict(self) -> dict[str, Any]:
        """The window in JSON, in seconds."""
        cut = {"cut_before": round(self.cut_before, 6), "cut_after": round(self.cut_after, 6)}
        return {"seconds": round(self.seconds, 6), **cut, "note": self.note}


class Figure(NamedTuple):
    """One observed quantity."""

    value: float  # in base units
    unit: str
    source: str  # the kind of source: `processes`, `training log`, `Darshan log`, …
    window: Window | None = None  # the part of the observation that it rests on
    coverage: float | None = None  # share of what was seen that belongs to the data path; None where it is unknown
    basis: str = "measured"  # evidence level; `given` for a rate that the user typed
    low: float | None = None  # 10th and 90th percentile, where a spread is known
    high: float | None = None
    lower_bound: bool = False  # the value is at least this
    note: str = ""  # how it was counted

    @property
    def quantity(self) -> Quantity:
        """The value with its unit and its spread."""
        return Quantity(self.value, self.unit, self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """The figure in JSON; `window` and `coverage` are null where they are unknown."""
        own = {name: getattr(self, name) for name in ("basis", "source", "window", "coverage", "lower_bound", "note")}
        return {**self.quantity.to_dict(), **own, "window": self.window.to_dict() if self.window else None}


def is_number(found: object) -> TypeGuard[float]:
    """Whether something read from a log is a number that a run can have."""
    return isinstance(found, (int, float)) and not isinstance(found, bool) and abs(found) < MOST_COUNTED


def figure_of(
    name: str, given: Mapping[str, float], source: str, window: Window | None = None, coverage: float | None = None, **more: Any
) -> Figure:
    """An observed quantity in its own unit: the counted value, else what its formula makes of the values given by name."""
    value = given[name] if name in given else float(solve(name, given))
    return Figure(value, unit_of(name), source, window, coverage, **more)


class SizeBin(NamedTuple):
    """Read requests of sizes from `low` up to and without `below`, in bytes."""

    low: float
    below: float
    requests: float


@dataclass(frozen=True)
class Reading:
    """What one source shows."""

    source: str  # its kind
    figures: Mapping[str, Figure]  # by name of the quantity
    unknown: Mapping[str, str] = field(default_factory=dict)  # the reason why a quantity is missing
    warnings: tuple[str, ...] = ()
    sizes: tuple[SizeBin, ...] = ()  # read requests
    facts: Mapping[str, Any] = field(default_factory=dict)  # more words and numbers about the job: files, pattern, readers


class Job(NamedTuple):
    """What the options of `observe` state of a job, for what its log leaves open; workers load for one GPU."""

    gpus: int | None = None
    samples_per_step: float | None = None
    tokens_per_sample: float | None = None
    workers: int | None = None


class LogSource(NamedTuple):
    """Logs of a program, each read as one text."""

    program: str  # as messages and facts name it; a bundle may
    read: Callable[[str, str, Job], Reading | None]  # a text at a path; None for a text that another program wrote
    names: tuple[str, ...] = ()  # as refusals list it; the program by default
    help: str = ""  # as the help of `observe` lists it; empty for what the help passes over
    #: logs are tried in this order: 0 summaries of profilers, 1 marks that stand among lines of other programs, 2 lines,
    #: 3 whole files with a mark of their own, 4 any table
    rank: int = 3
    kind: str = "training log"  # of its figures


class CountSource(NamedTuple):
    """Files that count the reads of a job, which may have one for each process."""

    kind: str  # of its figures; its plural names the files
    read: Callable[[Sequence[Path], str | None], Reading]  # the files of one job: of what lies below a path, or of everything
    suffixes: tuple[str, ...]  # of its files; a folder stands for those in it
    fact: str  # the number of its files, as facts name it; a bundle may hold it
    begins: Callable[[bytes], bool] | None = None  # whether first bytes are those of such a file; None where its name decides


Kind = TypeVar("Kind", LogSource, CountSource)


def declared_sources(kind: type[Kind]) -> list[Kind]:
    """What the modules of `ingest/observation/sources/` declare in `SOURCES`, in the order of their names."""
    declared = (one for module in load_modules("ingest.observation.sources") for one in module.SOURCES)
    return [one for one in declared if isinstance(one, kind)]


#: What `observe` answers: the figures that its sources show.
QUESTION = Question(
    "observe",
    (),
    (
        ("Reads", {"read_bandwidth": "{}", "samples_per_second_per_gpu": "{} per GPU", "stall_fraction": "{} stalled"}),
        ("Runs at", {"samples_per_second_per_gpu": "{} per GPU", "stall_fraction": "{} stalled"}),
        ("Reads", {"bytes_read": "{}", "reads": "{} requests"}),
    ),
)


@dataclass(frozen=True, repr=False, eq=False)
class Observation(InteractiveResult):
    """What is known of one job from its own run: the figures, reasons, warnings, sizes and facts of its readings."""

    question: ClassVar[Question] = QUESTION
    title: str  # one line
    inputs: Mapping[str, Any]  # what was asked for: sources, paths, GPUs
    figures: Mapping[str, Figure]
    unknown: Mapping[str, str]
    warnings: tuple[str, ...]
    sizes: tuple[SizeBin, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def results(self) -> Mapping[str, Quantity]:
        """The figures as plain results."""
        return {name: one.quantity for name, one in self.figures.items()}

    def to_dict(self) -> dict[str, Any]:
        """The observation in JSON, schema `ingest/observation/1`."""
        body = {
            "results": {name: one.to_dict() for name, one in self.figures.items()},
            "unknown": dict(self.unknown),
            "read_sizes": [one._asdict() for one in self.sizes],
            "facts": dict(self.facts),
        }
        return {**envelope("observe", body, inputs=self.inputs, warnings=self.warnings), "schema": SCHEMA}


def bundle_of(seen: Observation) -> dict[str, Any]:
    """The numbers of an observation, and none of its texts, to give away: what is not known to be harmless is left out."""
    logs, counted = declared_sources(LogSource), declared_sources(CountSource)
    kinds = {*SOURCES, *(one.kind for one in logs), *(one.kind for one in counted)}
    programs = [one.program for one in logs]
    words = {"pattern": PATTERNS, "program": programs, "device": DEVICES, "data": DATA, "precision": PRECISIONS}
    figures = {}
    for name, one in seen.figures.items():
        source, window = one.source if one.source in kinds else "", one.window and one.window._replace(note="")
        figures[name] = one._replace(source=source, window=window, note="")
    numbers = ("files", *(one.fact for one in counted), *NUMBERS)
    facts = {name: seen.facts[name] for name in numbers if is_number(seen.facts.get(name))}
    facts |= {name: seen.facts[name] for name, known in words.items() if seen.facts.get(name) in known}
    sizes = seen.facts.get("common_read_sizes")
    listed = sizes.items() if isinstance(sizes, Mapping) else ()
    common = {size: count for size, count in listed if str(size).isascii() and str(size).isdigit() and is_number(count)}
    plain = Observation("", {}, figures, {}, (), seen.sizes, facts | ({"common_read_sizes": common} if common else {}))
    return {**plain.to_dict(), "bundle": True}


def read_observation(path: str | Path) -> Observation:
    """Read the JSON file that `ingest observe -o` wrote; every number is checked, because it may come from anywhere.

    Raises IngestError: the file is unreadable, another result, or holds what no observation holds.
    """
    data = read_json_object(path, EXPECTED, most=MOST_BYTES)
    if data.get("schema") != SCHEMA:
        raise IngestError(f"{path}: found schema {brief(data.get('schema'))}, expected {SCHEMA}: {EXPECTED}")
    results = data.get("results")
    if not isinstance(results, dict) or not results:
        raise IngestError(f"{path}: found results {brief(results)}, expected a table of figures: {EXPECTED}")
    figures = {name: _figure(one, f"{path}: results.{brief(name)}", name) for name, one in results.items()}
    facts, rows, warnings, sizes = data.get("facts"), data.get("read_sizes", []), data.get("warnings", []), []
    for row in rows if isinstance(rows, list) else [rows]:
        if not isinstance(row, dict):
            raise IngestError(f"{path}: read_sizes: found {brief(row)}, expected rows with low, below and requests")
        sizes.append(SizeBin(*(_number(row.get(name), f"{path}: read_sizes.{name}") for name in SizeBin._fields)))
    told = tuple(map(str, warnings)) if isinstance(warnings, list) else ()
    return Observation(Path(path).name, {}, figures, {}, told, tuple(sizes), facts if isinstance(facts, dict) else {})


def _figure(found: Any, place: str, name: str) -> Figure:
    if not is_quantity(name):
        raise IngestError(f"{place}: no quantity has this name, expected {EXPECTED}")
    if not isinstance(found, dict):
        raise IngestError(f"{place}: found {brief(found)}, expected a value with its unit")
    unit, basis = found.get("unit"), found.get("basis")
    if unit != unit_of(name):
        raise IngestError(f"{place}: found unit {brief(unit)}, expected {unit_of(name)}")
    if basis not in BASES:
        raise IngestError(f"{place}: found basis {brief(basis)}, expected one of {', '.join(BASES)}")
    value = _number(found.get("value"), f"{place}.value")
    low, high = (None if found.get(end) is None else _number(found[end], f"{place}.{end}") for end in ("low", "high"))
    coverage = None if found.get("coverage") is None else _number(found["coverage"], f"{place}.coverage")
    if not (low if low is not None else value) <= value <= (high if high is not None else value) or (coverage or 0) > 1:
        raise IngestError(f"{place}: found {brief(found)}, expected low ≤ value ≤ high and a coverage up to 1")
    window, frame = None, found.get("window")
    if isinstance(frame, dict):
        names = ("seconds", "cut_before", "cut_after")
        seconds, before, after = (_number(frame.get(one, 0), f"{place}.window.{one}") for one in names)
        window = Window(seconds, before, after, str(frame.get("note", "")))
    lower_bound = found.get("lower_bound") is True
    source, note = str(found.get("source", "")), str(found.get("note", ""))
    return Figure(value, unit, source, window, coverage, basis, low, high, lower_bound, note)


def _number(found: Any, place: str) -> float:
    """A number from 0, below any that a job can have."""
    if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 <= found < MOST_NUMBER:
        return found
    raise IngestError(f"{place}: found {brief(found)}, expected a number from 0 to {MOST_NUMBER:g}")
