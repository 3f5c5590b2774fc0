"""The need that storage is sized for: from a `bw` question, requirement lines or plain numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.engine.messages import Message
from ingest.engine.registry import check_value, solve, unit_of
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError
from ingest.requirement import PRIORITIES, Conditions, Requirement
from ingest.sizing.bandwidth import Estimate
from ingest.sizing.decoding import decoding_of, encoding_chosen
from ingest.sizing.evidence_ladder import from_fields
from ingest.units import display, parse

#: quantities that a need can include, in the order of the results
REQUIRABLE = (
    "read_bandwidth_needed",
    "node_read_bandwidth_needed",
    "write_bandwidth_needed",
    "required_usable_bytes",
    "opens_per_second_needed",
    "creates_per_second_needed",
    "files_needed",
)
#: need -> the result of `bw` that it is
FROM_BW = {"read_bandwidth_needed": "ingest_bandwidth_per_job", "opens_per_second_needed": "file_opens_per_second_per_job"}
#: option of `fit` -> the quantity that it sets
PLAIN = {
    "--read-bandwidth": "read_bandwidth_needed",
    "--write-bandwidth": "write_bandwidth_needed",
    "--capacity": "required_usable_bytes",
    "--opens": "opens_per_second_needed",
    "--creates": "creates_per_second_needed",
    "--files": "files_needed",
    "--io-size": "io_bytes",
}


class Listed(NamedTuple):
    """An item of `storage.existing` as it is written, its place for messages, and the folder of the site file."""

    place: str
    item: Any
    folder: Path = Path()


@dataclass(frozen=True)
class Need:
    """Read, write, capacity and metadata needs, and the machine that has them.

    Attributes:
        title: what has the need, in a few words.
        given: input quantities, those of `REQUIRABLE` among them.
        computed: quantities of `REQUIRABLE` that a formula yields, and its name.
        high: the high end of a need whose range is known.
        model: id of the model whose data set is read as published, for ceilings measured with it.
        words: options that are words, for the answer's inputs.
        notes: what was left out or combined.
        pattern: `random` or `sequential` reads; empty where nothing says so.
        lines: the requirement lines that the need was read from.
        existing: storage that is in place, as the site file lists it.
    """

    title: str
    given: Mapping[str, Input]
    computed: Mapping[str, str] = field(default_factory=dict)
    high: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    words: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    pattern: str = ""
    lines: tuple[Requirement, ...] = ()
    existing: tuple[Listed, ...] = ()

    def requires(self, name: str) -> bool:
        """Whether the need includes a quantity."""
        return name in self.computed or (name in self.given and self.given[name].value > 0)

    def merged(self, plain: Mapping[str, Input]) -> Need:
        """The need with further or replaced quantities.

        Raises:
            UsageError: a quantity that the model yields already.
        """
        refuse_twice(plain.keys() & self.computed.keys(), "model")
        return replace(self, given={**self.given, **plain})


def refuse_twice(names: Collection[str], source: str) -> None:
    """Refuse an option for a need that the model or the plan sets already.

    Raises:
        UsageError: the first such option.
    """
    for option, name in PLAIN.items():
        if name in names:
            raise UsageError(f"{option}: the {source} sets this already; expected one of the two")


def from_numbers(**written: str | float | None) -> dict[str, Input]:
    """Needs given as plain numbers with units, by quantity.

    Args:
        written: the options of `PLAIN`, as keywords.

    >>> from_numbers(read_bandwidth="500 GB/s")["read_bandwidth_needed"].value
    500000000000

    Raises:
        UsageError: not a number, another unit, or out of range.
    """
    options = {f"--{name.replace('_', '-')}": value for name, value in written.items() if value is not None}
    return {
        name: Input(check_value(name, parse(options[option], unit_of(name), option), option), origin="user")
        for option, name in PLAIN.items()
        if option in options
    }


def from_estimate(answer: Estimate) -> Need:
    """The need of a `bw` answer: reads and opens of one job on its machine.

    Raises:
        IngestError: the read bandwidth is unknown; with what to supply.
    """
    # A rate of samples may stay unknown where the user sets the read bandwidth.
    if FROM_BW["read_bandwidth_needed"] not in answer.results:
        raise IngestError(answer.incomplete or answer.unknown[FROM_BW["read_bandwidth_needed"]])
    computed = {name: source for name, source in FROM_BW.items() if source in answer.results}
    high = {name: end for name, source in computed.items() if (end := answer.results[source].high) is not None}
    gpus = answer.results["gpus"].value
    card, model = answer.gpu.name if answer.gpu else "GPU", answer.model.name if answer.model else "your model"
    read = answer.results["ingest_bandwidth_per_job"]
    title = f"{model} on {gpus:,.0f} × {card}, {display(answer.nodes, 'node')}, {answer.basis}: {read.display}"
    machine = from_fields({"host_link_bandwidth_per_gpu": answer.gpu.host_link_bandwidth if answer.gpu else None})
    given = {**machine, **_decoded(answer), **answer.given}
    words = {name: item for name, item in answer.inputs.items() if "unit" not in item}
    # A training job reads its samples in random order.
    return Need(title, given, computed, high, _data_set(answer), words, answer.warnings, "random")


def _data_set(answer: Estimate) -> str:
    """The model whose data set is read as published; no ceilings are measured with another encoding or size."""
    model = answer.model
    if model is None or answer.given.get("sample_bytes", Input(0)).origin == "user":
        return ""
    usual = next(iter(model.encodings), "")
    return model.id if answer.job.encoding in (None, "stored", usual, f"{usual}/stored") else ""


def _decoded(answer: Estimate) -> dict[str, Input]:
    """Decoded size, rates of decoding and bytes of the data set, where the catalog has them."""
    if answer.model is None:
        return {}
    chosen = encoding_chosen(answer.model, answer.job.encoding)
    found = {
        "dataset_bytes": answer.model.dataset_bytes if _data_set(answer) else None,
        "decoded_sample_bytes": chosen.decoded if chosen else None,
    }
    return {**from_fields(found), **decoding_of(chosen, None, answer.catalog)}


#: (operation, unit) of a requirement line -> need
BY_OPERATION = {
    ("read", "B/s"): "read_bandwidth_needed",
    ("read", "B/s/node"): "node_read_bandwidth_needed",
    ("write", "B/s"): "write_bandwidth_needed",
    ("hold", "B"): "required_usable_bytes",
    ("open", "file/s"): "opens_per_second_needed",
    ("create", "file/s"): "creates_per_second_needed",
    ("hold", "file"): "files_needed",
}
#: Metric of the line that holds the capacity to buy: data and reserve ÷ fill limit.
TO_BUY = "site_capacity_to_buy"
#: Why a line of `plan` sets no need of the current system.
NOT_A_NEED = {
    "site_raw_bytes": "raw capacity follows from usable capacity",
    "site_grown_read_bandwidth": "growth is a later need",
    "site_mixed_bandwidth": "reads and writes are evaluated separately",
    "site_node_local_bytes": "local drives are evaluated by the bytes staged on them",
    "site_media_bytes_per_day": "endurance is not evaluated",
    **dict.fromkeys(("site_nvme_read_bandwidth", "site_nvme_write_bandwidth"), "drives in the nodes are not the storage"),
}
OTHERWISE = "`fit` has no layer for it"


def from_requirements(lines: Iterable[Requirement], title: str = "requirement lines", priority: str = "mandatory") -> Need:
    """The need of requirement lines; of several lines for one quantity the largest counts.

    Lines are totals of the site under their own conditions, so they are not added up: a plan has a line of its own
    for concurrent needs.

    Args:
        lines: of a plan.
        title: what has the need.
        priority: the lowest that counts: `mandatory`, `target` or `information`.

    Raises:
        UsageError: no line that counts requires bandwidth, capacity, opens or creates.
    """
    counting: list[Requirement] = []
    too_low: list[Requirement] = []
    for line in lines:
        (counting if PRIORITIES.index(line.priority) <= PRIORITIES.index(priority) else too_low).append(line)
    largest: dict[str, Requirement] = {}
    for line in counting:
        name = need_in(line)
        if name and (name not in largest or _outranks(line, largest[name])):
            largest[name] = line
    if not largest:
        known = ", ".join(f"{operation} in {unit}" for operation, unit in BY_OPERATION)
        raise UsageError(f"{title}: no {priority} line sets a storage need, expected at least one of {known}")
    given = {
        name: Input(check_value(name, line.value, line.id), high=line.high, origin="user", note=f"{line.id}: {line.statement}")
        for name, line in largest.items()
    }
    high = {name: line.high for name, line in largest.items() if line.high is not None}
    if largest.get("required_usable_bytes", counting[0]).metric == TO_BUY:
        given["fill_limit"] = Input(1, origin="user", note=f"{largest['required_usable_bytes'].id} includes the fill limit")
    notes = (*_not_judged(counting), *_too_low(too_low, priority))
    conditions, pattern = _conditions(counting)
    return Need(title, {**conditions, **given}, high=high, notes=notes, pattern=pattern, lines=tuple(counting))


def _outranks(line: Requirement, other: Requirement) -> bool:
    """Whether a line sets the need instead of another one: the capacity to buy before the data held, else the larger."""
    if TO_BUY in (line.metric, other.metric) and line.metric != other.metric:
        return line.metric == TO_BUY
    return line.value > other.value


def need_in(line: Requirement) -> str:
    """The quantity that a line requires; empty where `fit` has no layer for it."""
    if line.metric in NOT_A_NEED:
        return ""
    return BY_OPERATION.get((line.conditions.operation, line.unit), "")


def _not_judged(counting: Sequence[Requirement]) -> tuple[str, ...]:
    """The lines that count and set no need, by reason."""
    reasons: dict[str, list[str]] = {}
    for line in counting:
        if not need_in(line):
            reasons.setdefault(NOT_A_NEED.get(line.metric, OTHERWISE), []).append(line.id)
    found = "; ".join(f"{', '.join(ids)} ({why})" for why, ids in reasons.items())
    return (f"lines that `fit` does not evaluate: {found}",) if found else ()


def _too_low(lines: Sequence[Requirement], priority: str) -> tuple[str, ...]:
    """The lines that would set a need if their priority counted."""
    left_out = [line.id for line in lines if need_in(line)]
    if not left_out:
        return ()
    return (Message(f"lines below the priority {priority} do not count: {', '.join(left_out)}", supply=("priority",)),)


def _conditions(counting: Sequence[Requirement]) -> tuple[dict[str, Input], str]:
    """Clients, I/O size and threads of the largest read line with clients, else of the largest write line; its pattern."""
    for name in ("read_bandwidth_needed", "write_bandwidth_needed"):
        lines = [line for line in counting if need_in(line) == name and line.conditions.clients]
        if not lines:
            continue
        line = max(lines, key=lambda line: line.value)
        reads = name == "read_bandwidth_needed"
        found = {
            "nodes": line.conditions.clients,
            # The size of writes says nothing about reads.
            "io_bytes": _io_size(line.conditions) if reads else None,
            "requests_in_flight_per_node": _in_flight(line.conditions),
        }
        given = {
            name: Input(check_value(name, value, f"{line.id}: {name}"), origin="user", note=f"a condition of {line.id}")
            for name, value in found.items()
            if value is not None
        }
        return given, _pattern(line.conditions) if reads else ""
    return {}, ""


def _io_size(conditions: Conditions) -> float | None:
    """Bytes of one read; of several patterns the mean over their requests."""
    reads = [part for part in conditions.mix if part.operation == "read"]
    if not reads:
        return conditions.io_size
    shares = [part.share for part in reads]
    parts = [
        solve("requests_of_part", {"part_share": solve("share_of_load", given), "read_request_bytes": one.io_size})
        for one in reads
        for given in [{"part_bandwidth": one.share, "parts_bandwidth": shares}]
    ]
    return float(solve("request_bytes_of_mix", {"requests_per_byte": parts}))


def _in_flight(conditions: Conditions) -> float | None:
    """Queue depth of one client: its threads, each with the outstanding I/Os that the line allows."""
    if conditions.queue_depth is None or not conditions.clients:
        return conditions.threads
    given = {"line_queue_depth": conditions.queue_depth, "line_clients": conditions.clients}
    return float(solve("queue_depth_of_client", given))


def _pattern(conditions: Conditions) -> str:
    """`random` where any part of the reads is."""
    parts = [part.pattern for part in conditions.mix if part.operation == "read"] or [conditions.pattern]
    return "random" if "random" in parts else parts[0]
