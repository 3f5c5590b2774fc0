"""The inputs of the page: options of the commands, with the words of their help and the choices of the catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ingest.engine.question import Argument, arguments_of
from ingest.engine.registry import unit_of
from ingest.reports.labels import capitalised, plain
from ingest.sizing.bandwidth import bw
from ingest.sizing.checkpoint import QUANTITIES, checkpoint
from ingest.sizing.checkpoint_schedule import USUAL_MODE
from ingest.sizing.dataset import dataset
from ingest.sizing.job import QUANTITIES as QUANTITIES_OF_JOB
from ingest.storage.fit import fit


class Field(NamedTuple):
    """One input.

    Attributes:
        name: the option of the command.
        start: the value that the page begins with.
        kind: `choice`, `number`, `quantity` or `text`.
        source: the kind of entries to choose from, in place of the words that the option declares.
        optional: what the choice of no entry is called, and `optional_value` its value.
        more: whether it stands under the further inputs.
        label: in place of the label of its quantity.
        place: whether the command takes it by its place, without the name of the option.
        among: the classes of the entries to choose from.
        stated: whether it is told even where it is as the command has it by default.
    """

    name: str
    start: str = ""
    kind: str = "quantity"
    source: str = ""
    optional: str = ""
    optional_value: str = ""
    more: bool = False
    label: str = ""
    placeholder: str = ""
    place: bool = False
    among: tuple[str, ...] = ()
    stated: bool = False

    def described(self, argument: Argument | None, quantity: str) -> dict[str, Any]:
        """The field as the page reads it.

        Args:
            argument: the option of the command; None for a key of a site file that no option is.
            quantity: the quantity whose label and unit it has; empty where it has its own.
        """
        declared = argument.declared if argument is not None else None
        usual, words = (declared.default, declared.choices) if declared is not None else (None, ())
        flag = usual is False
        choices = ("", "yes") if flag else (*([] if self.start else [""]), *words) if words else ()
        found = {
            "name": self.name,
            "label": self.label or capitalised(plain(quantity or self.name)),
            "kind": self.kind,
            "default": self.start,
            "usual": str(usual) if usual and not self.stated else "",
            "help": declared.text if declared is not None else "",
        }
        if quantity and self.kind == "number":
            found["unit"] = {"1": ""}.get(unit_of(quantity), "")
        optional = {
            "list": self.source,
            "optional": self.optional,
            "none": self.optional_value,
            "more": self.more,
            "placeholder": self.placeholder,
            "choices": [{"value": str(word), "label": str(word)} for word in choices if self.kind == "choice"],
            "place": self.place,
            "flag": flag,
            "among": self.among,
        }
        return {**found, **{name: item for name, item in optional.items() if item}}


_BANDWIDTH = (
    Field("model", "cosmoflow", kind="choice", source="models", label="Model"),
    Field("gpu", "h100-sxm", kind="choice", source="gpus", label="GPU", optional="that of the node type"),
    Field("nodes", "128", kind="number", label="Nodes"),
    Field("node", kind="choice", source="nodes", optional="usual node of the GPU", label="Node type"),
    Field("basis", "auto", kind="choice", label="Evidence level"),
    Field("precision", kind="choice", label="Precision", more=True),
    Field("scaling", "published", kind="choice", more=True),
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
_CHECKPOINT = (
    Field("model", "llama3-405b", kind="choice", source="models", label="Model", place=True),
    Field("gpus", "1024", kind="number", label="GPUs"),
    Field("gpu", kind="choice", source="gpus", label="GPU", optional="H100, for its memory"),
    Field("mode", USUAL_MODE, kind="choice", label="Mode"),
    Field("waste", kind="number", placeholder="5%"),
    Field("interval", placeholder="by the least overhead"),
    Field("mtti", placeholder="from the failure rate", label="Mean time to interrupt"),
    Field("write_bandwidth", placeholder="for example 300 GB/s"),
    Field("optimizer", kind="choice", source="optimizers", optional="as published, else AdamW", label="Optimizer", more=True),
    Field("precision", kind="choice", label="Precision", more=True),
    Field("layout", kind="choice", label="Layout", more=True),
    Field("zero_stage", kind="choice", label="ZeRO stage", more=True),
    Field("tensor_parallel", kind="number", more=True),
    Field("pipeline_parallel", kind="number", more=True),
    Field("expert_parallel", kind="number", more=True),
    Field("failures", kind="choice", source="failures", optional="of jobs of the next sizes", label="Failure rate", more=True),
    Field("drain_fraction", kind="number", placeholder="0.1", more=True),
    Field("drain_time", placeholder="2 min", more=True),
    Field("slow_down", kind="number", placeholder="0.5", more=True),
    Field("persistent_every", kind="number", placeholder="1", more=True),
    Field("restart_time", placeholder="2 min", more=True),
    Field("reschedule_time", placeholder="10 min", more=True),
    Field("readers", "unique", kind="choice", label="Readers of a restore", more=True),
    Field("keep", kind="text", placeholder="3", label="Checkpoints kept", more=True),
    Field("duration", placeholder="for example 60 days", label="Duration of the job", more=True),
    Field("tier_capacity", placeholder="for example 2 PB", more=True),
)
_DATASET = (
    Field("tokens", "15T", kind="quantity", label="Tokens"),
    Field("bytes_per_token", kind="number", placeholder="as in the corpus", label="Bytes per token"),
    Field("corpus", kind="choice", source="corpora", optional="none", label="Corpus"),
    Field("pipeline", kind="choice", source="pipelines", optional="none", label="Pipeline"),
    Field("format", kind="choice", source="formats", optional="Megatron, or a file per sample", label="Format"),
    Field("copies", kind="text", placeholder="1, or raw=1,clean=1,dataset=3", label="Copies"),
    Field("samples", kind="quantity", placeholder="of data that is not text", label="Samples"),
    Field("sample_bytes", placeholder="of one encoded sample"),
    Field("raw_bytes", placeholder="instead of tokens", more=True, label="Raw input"),
    Field("documents", kind="quantity", placeholder="600 tokens each", more=True, label="Documents"),
    Field("holds", kind="choice", label="Contents", more=True),
    Field("sizes", "varied", kind="choice", label="Sizes of samples", more=True),
    Field("vocabulary", kind="number", placeholder="128,256", label="Vocabulary", more=True),
    Field("sequence_length", kind="number", more=True, label="Sequence length"),
    Field("shard_size", placeholder="as the format has it", more=True, label="Size of a shard"),
    Field("epochs", kind="number", placeholder="1", more=True, label="Epochs"),
)
#: Classes of storage that a need is compared with.
OFFERED = ("system", "service", "software", "drive", "client", "enclosure", "site")
_FIT = (
    Field("read_bandwidth", "500 GB/s", label="Read bandwidth needed"),
    Field("write_bandwidth", "300 GB/s", label="Write bandwidth needed"),
    Field("capacity", "1 PB", label="Capacity needed"),
    Field("storage", "ddn-ai400x2", kind="choice", source="storage", among=OFFERED, optional_value="all",
          optional="all systems", label="Storage"),
    Field("model", kind="choice", source="models", optional="none: the rates above", label="Model"),
    Field("gpu", kind="choice", source="gpus", optional="none", label="GPU"),
    Field("nodes", kind="number", label="Nodes"),
    Field("node", kind="choice", source="nodes", optional="usual node of the GPU", label="Node type", more=True),
    Field("client", kind="choice", source="storage", among=("client",), optional="that of the system", label="Client",
          more=True),
    Field("protection", kind="choice", source="storage", among=("protection",), optional="that of the system",
          label="Protection", more=True),
    Field("units", kind="number", placeholder="as required", label="Units available", more=True),
    Field("opens", kind="number", label="File opens per second", more=True),
    Field("creates", kind="number", label="File creates per second", more=True),
    Field("files", kind="number", label="Files held", more=True),
    Field("io_size", placeholder="the file, at most 1 MiB", label="Size of a read", more=True),
    Field("degraded", kind="choice", label="Whole rate with a part down", more=True),
    Field("no_spare", kind="choice", label="Without a spare", more=True),
    Field("sites", kind="choice", label="Installations that exist once", more=True),
)  # fmt: skip
_SITE = (
    Field("name", "My site", kind="text", label="Name"),
    Field("model", "llama3-8b", kind="choice", source="models", label="Model"),
    Field("node", "dgx-h100", kind="choice", source="nodes", label="Node type"),
    Field("nodes", "64", kind="number", label="Nodes"),
    Field("mode", USUAL_MODE, kind="choice", label="Checkpoint mode", stated=True),
    Field("keep", "3", kind="text", label="Checkpoints kept"),
    Field("tokens", "1T", kind="quantity", label="Tokens of the data"),
    Field("copies", "1", kind="number", label="Copies of the data"),
)
#: The inputs of each question, and the function whose options they are.
FORMS: Mapping[str, tuple[Callable[..., Any], tuple[Field, ...], Mapping[str, str]]] = {
    "bw": (bw, _BANDWIDTH, QUANTITIES_OF_JOB),
    "checkpoint": (checkpoint, _CHECKPOINT, QUANTITIES),
    "dataset": (dataset, _DATASET, {}),
    "fit": (fit, _FIT, {}),
    "plan": (checkpoint, _SITE, {}),
}


def forms() -> dict[str, list[dict[str, Any]]]:
    """The inputs of each question.

    >>> [field["name"] for field in forms()["bw"]][:3]
    ['model', 'gpu', 'nodes']
    """
    found = {}
    for tab, (function, fields, quantities) in FORMS.items():
        arguments = arguments_of(function)
        found[tab] = [field.described(arguments.get(field.name), quantities.get(field.name, "")) for field in fields]
    # The tab of `bw` tells about the job.
    told = arguments_of(bw)
    for field in found["fit"]:
        field["help"] = "" if field["name"] in told else field["help"]
    return found
