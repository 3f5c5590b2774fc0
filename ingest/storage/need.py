"""What is asked of storage, from whichever side it comes: a `bw` question, requirement lines, or plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.engine.registry import check_value, unit_of
from ingest.engine.value import Input
from ingest.errors import UsageError
from ingest.requirement import PRIORITIES, Requirement
from ingest.sizing.bandwidth import Estimate
from ingest.units import display, parse

#: quantities that may be asked of storage, in the order in which people name them
ASKED = (
    "read_bandwidth_needed",
    "node_read_bandwidth_needed",
    "write_bandwidth_needed",
    "required_usable_bytes",
    "opens_per_second_needed",
    "creates_per_second_needed",
    "files_needed",
)
#: what `bw` computes, and what it is called here
FROM_BW = {"read_bandwidth_needed": "ingest_bandwidth_per_job", "opens_per_second_needed": "file_opens_per_second_per_job"}
#: option of `fit`, and the quantity that it gives
OPTIONS = {
    "read_bandwidth": "read_bandwidth_needed",
    "write_bandwidth": "write_bandwidth_needed",
    "capacity": "required_usable_bytes",
    "opens": "opens_per_second_needed",
    "creates": "creates_per_second_needed",
    "files": "files_needed",
}


@dataclass(frozen=True)
class Need:
    """What is asked of storage.

    Attributes:
        title: who asks, in a few words.
        given: known quantities, with where they come from; the quantities of `ASKED` among them, or computable.
        computed: quantities of `ASKED` that a formula yields, and which.
        high: the high end of a need whose range is known.
        model: id of the model whose data set is read as published, for ceilings measured with it.
        words: options that are words, for the answer's inputs.
        notes: what was left out or taken together.
        shared: a whole site asks, whose nodes share what is stored.
    """

    title: str
    given: Mapping[str, Input]
    computed: Mapping[str, str] = field(default_factory=dict)
    high: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    words: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    shared: bool = False

    def asks(self, name: str) -> bool:
        """Whether a quantity is asked for."""
        return name in self.computed or (name in self.given and self.given[name].value > 0)

    def merged(self, plain: Mapping[str, Input]) -> Need:
        """The same need with further or replaced quantities.

        Raises:
            UsageError: a read bandwidth beside a model that already asks for one.
        """
        twice = [name for name in plain if name in self.computed]
        if twice:
            option = next(option for option, name in OPTIONS.items() if name == twice[0])
            raise UsageError(f"--{option.replace('_', '-')}: the model asks for this already; expected one of the two")
        return replace(self, given={**self.given, **plain})


def from_numbers(options: Mapping[str, Any]) -> dict[str, Input]:
    """Plain numbers as a person writes them, by option.

    >>> from_numbers({"read_bandwidth": "500 GB/s", "capacity": None})["read_bandwidth_needed"].value
    500000000000

    Raises:
        UsageError: no number, another unit, or out of range.
    """
    found = {}
    for option, name in OPTIONS.items():
        if options.get(option) is not None:
            shown = f"--{option.replace('_', '-')}"
            value = check_value(name, parse(options[option], unit_of(name), shown), shown)
            found[name] = Input(value, origin="user")
    return found


def from_estimate(answer: Estimate) -> Need:
    """The need of a `bw` answer: reads and opens of one job on its machine.

    Raises:
        IngestError: what is read is not known, and what to supply.
    """
    from ingest.errors import IngestError

    # A rate of samples may stay unknown where the user sets what is read.
    if FROM_BW["read_bandwidth_needed"] not in answer.results:
        raise IngestError(answer.incomplete or answer.unknown[FROM_BW["read_bandwidth_needed"]])
    computed = {name: source for name, source in FROM_BW.items() if source in answer.results}
    high = {name: answer.results[source].high for name, source in computed.items() if answer.results[source].high is not None}
    gpus = answer.results["gpus"].value
    card, model = answer.gpu.name if answer.gpu else "GPU", answer.model.name if answer.model else "your model"
    read = answer.results["ingest_bandwidth_per_job"]
    title = f"{model} on {gpus:,.0f} × {card}, {display(answer.nodes, 'node')}, {answer.basis}: {read.display}"
    machine = {} if answer.gpu is None or answer.gpu.host_link_bandwidth is None else _host_link(answer)
    given = {**machine, **_decoded(answer), **answer.given}
    words = {name: item for name, item in answer.inputs.items() if "unit" not in item}
    return Need(
        title,
        given,
        computed,
        {name: end for name, end in high.items() if end is not None},
        _data_set(answer),
        words,
        answer.warnings,
    )


def _data_set(answer: Estimate) -> str:
    """The model whose data set is read as it is published; another encoding or size has no measured ceilings."""
    model = answer.model
    if model is None or answer.given.get("sample_bytes", Input(0)).origin == "user":
        return ""
    usual = next(iter(model.encodings), "")
    return model.id if answer.job.encoding in (None, "stored", usual, f"{usual}/stored") else ""


def _host_link(answer: Estimate) -> dict[str, Input]:
    from ingest.sizing.evidence_ladder import from_catalog

    assert answer.gpu is not None
    assert answer.gpu.host_link_bandwidth is not None
    return {"host_link_bandwidth_per_gpu": from_catalog(answer.gpu.host_link_bandwidth)}


def _decoded(answer: Estimate) -> dict[str, Input]:
    """Decoded size and bytes of the data set, where the catalog has them."""
    from ingest.sizing.evidence_ladder import from_catalog

    if answer.model is None:
        return {}
    asked = (answer.job.encoding or "").partition("/")[0]
    encodings = answer.model.encodings
    chosen = encodings.get(asked) or next(iter(encodings.values()), None)
    found = {
        "dataset_bytes": answer.model.dataset_bytes if _data_set(answer) else None,
        "decoded_sample_bytes": chosen.decoded if chosen else None,
        "decode_samples_per_second_per_core": chosen.decode_rate if chosen else None,
    }
    return {name: from_catalog(value) for name, value in found.items() if value is not None}


#: What a line asks for, by its metric.
BY_METRIC = {
    "site_sustained_read_bandwidth": "read_bandwidth_needed",
    "site_largest_read_bandwidth": "read_bandwidth_needed",
    "site_read_bandwidth": "read_bandwidth_needed",
    "site_largest_restart_bandwidth": "read_bandwidth_needed",
    "site_restart_bandwidth": "read_bandwidth_needed",
    "site_staging_bandwidth": "read_bandwidth_needed",
    "site_node_read_bandwidth": "node_read_bandwidth_needed",
    "site_write_bandwidth": "write_bandwidth_needed",
    "site_largest_write_bandwidth": "write_bandwidth_needed",
    "site_sustained_write_bandwidth": "write_bandwidth_needed",
    "site_usable_bytes": "required_usable_bytes",
    "site_files": "files_needed",
    "site_file_opens": "opens_per_second_needed",
    "site_file_creates": "creates_per_second_needed",
}
#: What a line of somebody else's asks for, by operation and unit.
BY_OPERATION = {
    ("read", "B/s"): "read_bandwidth_needed",
    ("write", "B/s"): "write_bandwidth_needed",
    ("hold", "B"): "required_usable_bytes",
    ("open", "file/s"): "opens_per_second_needed",
    ("create", "file/s"): "creates_per_second_needed",
    ("hold", "file"): "files_needed",
}
#: Why a line of `plan` sets no need of today.
NOT_A_NEED = {
    "site_raw_bytes": "raw capacity follows from the usable one",
    "site_grown_read_bandwidth": "growth is no need of today",
    "site_mixed_bandwidth": "reads and writes are judged each by its own",
    "site_alternating_bandwidth": "reads and writes are judged each by its own",
    "site_node_local_bytes": "local drives are judged by what is staged on them",
    "site_media_bytes_per_day": "endurance is not judged",
}
OTHERWISE = "nothing here is held against it"


def from_requirements(lines: Iterable[Requirement], title: str = "requirement lines", priority: str = "mandatory") -> Need:
    """The need of requirement lines: of several lines that ask for the same, the largest counts.

    Lines are totals of the site, each under its own conditions, so that they are not added up: whether they
    happen at once is for the plan to say, with a line of its own.

    Args:
        lines: of a plan.
        title: who asks.
        priority: the lowest that counts: `mandatory`, `target` or `information`.

    Raises:
        UsageError: no such priority, or no line that counts asks for bandwidth, capacity, opens or creates.
    """
    everything = list(lines)
    counting = [line for line in everything if _counts(line, priority)]
    asking = {line.id: (asked_by(line), line) for line in counting}
    largest: dict[str, Requirement] = {}
    for name, line in asking.values():
        if name and (name not in largest or line.value > largest[name].value):
            largest[name] = line
    if not largest:
        known = ", ".join(f"{operation} in {unit}" for operation, unit in BY_OPERATION)
        raise UsageError(f"{title}: no {priority} line can be held against storage, expected one that asks for {known}")
    given = {
        name: Input(check_value(name, line.value, line.id), high=line.high, origin="user", note=f"{line.id}: {line.statement}")
        for name, line in largest.items()
    }
    high = {name: line.high for name, line in largest.items() if line.high is not None}
    notes = (*_not_judged(counting), *_too_low(everything, priority))
    return Need(title, {**_conditions(counting), **given}, high=high, notes=notes, shared=True)


def asked_by(line: Requirement) -> str:
    """The quantity that a line asks for; empty where `fit` judges nothing of the kind."""
    if line.metric in NOT_A_NEED:
        return ""
    return BY_METRIC.get(line.metric) or BY_OPERATION.get((line.conditions.operation, line.unit), "")


def _counts(line: Requirement, priority: str) -> bool:
    if priority not in PRIORITIES:
        raise UsageError(f"--priority: found '{priority}', expected one of {', '.join(PRIORITIES)}")
    return PRIORITIES.index(line.priority) <= PRIORITIES.index(priority)


def _not_judged(counting: Sequence[Requirement]) -> tuple[str, ...]:
    """The lines that count and set no need, with the reason; each reason once."""
    reasons: dict[str, list[str]] = {}
    for line in counting:
        if not asked_by(line):
            reasons.setdefault(NOT_A_NEED.get(line.metric, OTHERWISE), []).append(line.id)
    found = "; ".join(f"{', '.join(ids)} ({why})" for why, ids in reasons.items())
    return (f"lines that are not judged here: {found}",) if found else ()


def _too_low(lines: Sequence[Requirement], priority: str) -> tuple[str, ...]:
    """The lines that would ask for something if their priority counted."""
    left_out = [line.id for line in lines if asked_by(line) and not _counts(line, priority)]
    if not left_out:
        return ()
    return (f"lines below the priority {priority} do not count: {', '.join(left_out)}; --priority takes them in",)


def _conditions(counting: Sequence[Requirement]) -> dict[str, Input]:
    """Clients, request size and threads of the largest line about reads that names clients, else about writes."""
    for asked in ("read_bandwidth_needed", "write_bandwidth_needed"):
        named = [line for line in counting if asked_by(line) == asked and line.conditions.clients]
        if named:
            return _conditions_of(max(named, key=lambda line: line.value), asked)
    return {}


def _conditions_of(line: Requirement, asked: str) -> dict[str, Input]:
    found: Mapping[str, int | None] = {
        "nodes": line.conditions.clients,
        # The size of writes says nothing about reads.
        "io_bytes": line.conditions.io_size if asked == "read_bandwidth_needed" else None,
        "requests_in_flight_per_node": line.conditions.threads,
    }
    return {
        name: Input(check_value(name, value, f"{line.id}: {name}"), origin="user", note=f"a condition of {line.id}")
        for name, value in found.items()
        if value is not None
    }
