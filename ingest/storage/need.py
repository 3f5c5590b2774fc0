"""What is asked of storage, from whichever side it comes: a `bw` question, requirement lines, or plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.engine.value import Input
from ingest.errors import UsageError
from ingest.estimate import Estimate
from ingest.formula import check_value, unit_of
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
    return model.id if answer.question.encoding in (None, "stored", usual, f"{usual}/stored") else ""


def _host_link(answer: Estimate) -> dict[str, Input]:
    from ingest.ladder import from_catalog

    assert answer.gpu is not None
    assert answer.gpu.host_link_bandwidth is not None
    return {"host_link_bandwidth_per_gpu": from_catalog(answer.gpu.host_link_bandwidth)}


def _decoded(answer: Estimate) -> dict[str, Input]:
    """Decoded size and bytes of the data set, where the catalog has them."""
    from ingest.ladder import from_catalog

    if answer.model is None:
        return {}
    asked = (answer.question.encoding or "").partition("/")[0]
    encodings = answer.model.encodings
    chosen = encodings.get(asked) or next(iter(encodings.values()), None)
    found = {
        "dataset_bytes": answer.model.dataset_bytes if _data_set(answer) else None,
        "decoded_sample_bytes": chosen.decoded if chosen else None,
        "decode_samples_per_second_per_core": chosen.decode_rate if chosen else None,
    }
    return {name: from_catalog(value) for name, value in found.items() if value is not None}
