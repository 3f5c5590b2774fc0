"""The need that storage is sized for: from a `bw` question, requirement lines or plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

from ingest.catalog.records import Decoder
from ingest.engine.messages import Message
from ingest.engine.question import option, quantities_in
from ingest.engine.registry import check_value, solve, unit_of
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError
from ingest.requirement import PRIORITIES, Conditions, Requirement
from ingest.sizing.bandwidth import Estimate
from ingest.sizing.decoding import decoding_of, encoding_chosen
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Written
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
#: need -> the quantity of a `bw` answer that it is: at the rate that all evidence supports
FROM_BW = {"read_bandwidth_needed": "run_needed_read_bandwidth", "opens_per_second_needed": "supported_opens_per_second"}


class NeedOptions(TypedDict, total=False):
    """Needs as plain numbers, for what a model or a plan leaves open."""

    read_bandwidth: Annotated[Written | None, option("Read rate, without a model.", "RATE", quantity="read_bandwidth_needed")]
    write_bandwidth: Annotated[
        Written | None, option("Write rate, such as that of checkpoints.", "RATE", quantity="write_bandwidth_needed")
    ]
    capacity: Annotated[Written | None, option("Bytes to hold.", "SIZE", quantity="required_usable_bytes")]
    opens: Annotated[Written | None, option("Files opened each second.", quantity="opens_per_second_needed")]
    creates: Annotated[Written | None, option("Files created each second.", quantity="creates_per_second_needed")]
    files: Annotated[Written | None, option("Files to hold.", quantity="files_needed")]
    io_size: Annotated[
        Written | None, option("Bytes of one read request; by default the file, at most 1 MiB.", "SIZE", quantity="io_bytes")
    ]


PLAIN = quantities_in(NeedOptions)  # option of `fit` -> the quantity that it sets
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
TO_BUY = "site_capacity_to_buy"  # Metric of the line that holds the capacity to buy: data and reserve ÷ fill limit
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


class Listed(NamedTuple):
    """An item of `storage.existing` as it is written, its place for messages, and the folder of the site file."""

    place: str
    item: Any
    folder: Path = Path()


@dataclass(frozen=True)
class Need:
    """Read, write, capacity and metadata needs, and the machine that has them."""

    title: str  # what has the need, in a few words
    given: Mapping[str, Input]  # input quantities, those of `REQUIRABLE` among them
    computed: Mapping[str, str] = field(default_factory=dict)  # quantities of `REQUIRABLE` that a formula yields, and its name
    cases: tuple[str, ...] = ()  # cases of the question that the formulas follow
    high: Mapping[str, float] = field(default_factory=dict)  # the high end of a need whose range is known
    model: str = ""  # id of the model whose data set is read as published, for ceilings measured with it
    words: Mapping[str, Any] = field(default_factory=dict)  # options that are words, for the answer's inputs
    notes: tuple[str, ...] = ()  # what was left out or combined
    pattern: str = ""  # `random` or `sequential` reads; empty where nothing says so
    lines: tuple[Requirement, ...] = ()
    existing: tuple[Listed, ...] = ()  # storage that is in place, as the site file lists it

    def requires(self, name: str) -> bool:
        """Whether the need includes a quantity."""
        return name in self.computed or (name in self.given and self.given[name].value > 0)


def from_numbers(**written: str | float | None) -> dict[str, Input]:
    """Needs given as plain numbers with units, by quantity. Raises UsageError: not a number, another unit, or out of range."""
    found = {}
    for one, name in PLAIN.items():
        text, shown = written.get(one), f"--{one.replace('_', '-')}"
        if text is not None:
            found[name] = Input(check_value(name, parse(text, unit_of(name), shown), shown), origin="user")
    return found


def from_estimate(answer: Estimate) -> Need:
    """The need of a `bw` answer: reads and opens of one job on its machine.

    Raises IngestError: the read bandwidth is unknown; with what to supply.
    """
    # A rate of samples may stay unknown where the user sets the read bandwidth.
    found, unknown = answer.known.results([*FROM_BW.values()], ranged=True)
    if FROM_BW["read_bandwidth_needed"] not in found:
        raise IngestError(answer.incomplete or unknown[FROM_BW["read_bandwidth_needed"]])
    computed = {name: source for name, source in FROM_BW.items() if source in found}
    high = {name: end for name, source in computed.items() if (end := found[source].high) is not None}
    gpus = answer.results["gpus"].value
    card, model = answer.gpu.name if answer.gpu else "GPU", answer.model.name if answer.model else "your model"
    read = found[FROM_BW["read_bandwidth_needed"]]
    title = f"{model} on {gpus:,.0f} × {card}, {display(answer.nodes, 'node')}, {answer.basis}: {read.display}"
    given = from_fields({"host_link_bandwidth_per_gpu": answer.gpu.host_link_bandwidth if answer.gpu else None})
    data_set = ""
    if answer.model is not None:
        usual, chosen = next(iter(answer.model.encodings), ""), encoding_chosen(answer.model, answer.job.encoding)
        own_size = answer.given.get("sample_bytes", Input(0)).origin == "user"
        if not own_size and answer.job.encoding in (None, "stored", usual, f"{usual}/stored"):
            # It is read as published; no ceilings are measured with another encoding or size.
            data_set = answer.model.id
        given |= from_fields(
            {
                "dataset_bytes": answer.model.dataset_bytes if data_set else None,
                "decoded_sample_bytes": chosen.decoded if chosen else None,
            }
        )
        given |= decoding_of(chosen, None, lambda name: answer.catalog.get(Decoder, name))
    words = {name: item for name, item in answer.inputs.items() if "unit" not in item}
    # A training job reads its samples in random order.
    cases = answer.known.cases
    return Need(title, {**given, **answer.given}, computed, cases, high, data_set, words, answer.warnings, "random")


def from_requirements(lines: Iterable[Requirement], title: str = "requirement lines", priority: str = "mandatory") -> Need:
    """The need of requirement lines; of several lines for one quantity the largest counts.

    Lines are totals of the site under their own conditions, so they are not added up: a plan has a line of its own
    for concurrent needs. Lines below the priority do not count.

    Raises UsageError: no line that counts requires bandwidth, capacity, opens or creates.
    """
    counting: list[Requirement] = []
    too_low: list[Requirement] = []
    for line in lines:
        counts = PRIORITIES.index(line.priority) <= PRIORITIES.index(priority)
        if counts or need_in(line):
            (counting if counts else too_low).append(line)
    largest: dict[str, Requirement] = {}
    left_out: dict[str, list[str]] = {}
    for line in counting:
        name = need_in(line)
        if not name:
            left_out.setdefault(NOT_A_NEED.get(line.metric, OTHERWISE), []).append(line.id)
        else:
            # The capacity to buy counts before the data held, else the larger value.
            largest[name] = max(largest.get(name, line), line, key=lambda one: (one.metric == TO_BUY, one.value))
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
    notes: list[str] = []
    if left_out:
        reasons = "; ".join(f"{', '.join(ids)} ({why})" for why, ids in left_out.items())
        notes.append(f"lines that `fit` does not evaluate: {reasons}")
    if too_low:
        ids = ", ".join(line.id for line in too_low)
        notes.append(Message(f"lines below the priority {priority} do not count: {ids}", supply=("priority",)))
    conditions, pattern = _conditions(counting)
    return Need(title, {**conditions, **given}, high=high, notes=tuple(notes), pattern=pattern, lines=tuple(counting))


def need_in(line: Requirement) -> str:
    """The quantity that a line requires; empty where `fit` has no layer for it."""
    return "" if line.metric in NOT_A_NEED else BY_OPERATION.get((line.conditions.operation, line.unit), "")


def _conditions(counting: Sequence[Requirement]) -> tuple[dict[str, Input], str]:
    """Clients, I/O size and threads of the largest read line with clients, else of the largest write line; its pattern."""
    for need in ("read_bandwidth_needed", "write_bandwidth_needed"):
        lines = [line for line in counting if need_in(line) == need and line.conditions.clients]
        if not lines:
            continue
        line = max(lines, key=lambda line: line.value)
        conditions, reads = line.conditions, need == "read_bandwidth_needed"
        in_flight: float | None = conditions.threads
        if conditions.queue_depth is not None and conditions.clients:
            # Of one client: its threads, each with the outstanding I/Os that the line allows.
            depth = {"line_queue_depth": conditions.queue_depth, "line_clients": conditions.clients}
            in_flight = float(solve("queue_depth_of_client", depth))
        found = {
            "nodes": conditions.clients,
            # The size of writes says nothing about reads.
            "io_bytes": io_size_of(conditions) if reads else None,
            "requests_in_flight_per_node": in_flight,
        }
        given = {
            name: Input(check_value(name, value, f"{line.id}: {name}"), origin="user", note=f"a condition of {line.id}")
            for name, value in found.items()
            if value is not None
        }
        # Random where any part of the reads is.
        parts = [part.pattern for part in conditions.mix if part.operation == "read"] or [conditions.pattern]
        pattern = "random" if "random" in parts else parts[0]
        return given, pattern if reads else ""
    return {}, ""


def io_size_of(conditions: Conditions) -> float | None:
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
