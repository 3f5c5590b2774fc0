"""The inputs of the page: options of the commands, with the words of their help and the choices of the catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ingest.engine.registry import unit_of
from ingest.reports.labels import capitalised, helps_of, plain
from ingest.sizing.bandwidth import bw
from ingest.sizing.evidence_ladder import BASES, FAMILIES
from ingest.sizing.job import Job


class Field(NamedTuple):
    """One input.

    Attributes:
        name: the option of the command.
        start: the value that the page begins with.
        usual: the value that the command takes where the option is not given.
        kind: `choice`, `number`, `quantity` or `text`.
        source: the kind of entries to choose from.
        choices: the words to choose from.
        optional: what an empty choice is called.
        more: whether it stands under the further inputs.
        label: in place of the label of its quantity.
        place: whether the command takes it by its place, without the name of the option.
    """

    name: str
    start: str = ""
    usual: str = ""
    kind: str = "quantity"
    source: str = ""
    choices: tuple[str, ...] = ()
    optional: str = ""
    more: bool = False
    label: str = ""
    placeholder: str = ""
    place: bool = False

    def described(self, helps: Mapping[str, str], quantities: Mapping[str, str]) -> dict[str, Any]:
        """The field as the page reads it."""
        quantity = quantities.get(self.name, "")
        label = self.label or capitalised(plain(quantity or self.name))
        found = {"name": self.name, "label": label, "kind": self.kind, "default": self.start, "usual": self.usual}
        found["help"] = helps.get(self.name, "")
        if quantity and self.kind == "number":
            found["unit"] = {"1": ""}.get(unit_of(quantity), "")
        optional = {"list": self.source, "optional": self.optional, "more": self.more, "placeholder": self.placeholder}
        optional |= {"choices": [{"value": word, "label": word} for word in self.choices], "place": self.place}
        return {**found, **{name: item for name, item in optional.items() if item}}


_BANDWIDTH = (
    Field("model", "cosmoflow", kind="choice", source="models", label="Model"),
    Field("gpu", "h100-sxm", kind="choice", source="gpus", label="GPU", optional="that of the node type"),
    Field("nodes", "128", kind="number", label="Nodes"),
    Field("node", kind="choice", source="nodes", optional="usual node of the GPU", label="Node type"),
    Field("basis", "auto", "auto", kind="choice", choices=("auto", *BASES), label="Evidence level"),
    Field("precision", kind="choice", choices=("", *sum(FAMILIES[:4], ())), label="Precision", more=True),
    Field("scaling", "published", "published", kind="choice", choices=("published", "linear", "weak", "strong"), more=True),
    Field("gpus_per_node", kind="number", placeholder="as in the node type", more=True),
    Field("utilization", kind="number", placeholder="1", more=True),
    Field("cache_hit", kind="number", placeholder="0", more=True),
    Field("encoding", kind="text", placeholder="stored", label="Encoding", more=True),
    Field("sample_bytes", placeholder="as stored", more=True),
    Field("samples_per_second", kind="number", placeholder="your own measurement", more=True),
    Field("achieved", placeholder="for example 35 TFLOP/s", more=True, label="Achieved FLOP/s per GPU"),
    Field("efficiency", kind="number", placeholder="for example 0.4", more=True),
    Field("flops_per_sample", placeholder="as in the catalogs", more=True),
)
#: The inputs of each question, and the function whose options they are.
FORMS: Mapping[str, tuple[Callable[..., Any], tuple[Field, ...], Mapping[str, str]]] = {"bw": (bw, _BANDWIDTH, Job.QUANTITIES)}


def forms() -> dict[str, list[dict[str, Any]]]:
    """The inputs of each question.

    >>> [field["name"] for field in forms()["bw"]][:3]
    ['model', 'gpu', 'nodes']
    """
    return {
        tab: [field.described(helps_of(function), quantities) for field in fields]
        for tab, (function, fields, quantities) in FORMS.items()
    }
