"""The inputs of the page: options of the commands, with the words of their help and the choices of the catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ingest.engine.question import helps_in
from ingest.engine.registry import unit_of
from ingest.reports.labels import capitalised, helps_of, plain
from ingest.sizing.bandwidth import bw
from ingest.sizing.checkpoint import QUANTITIES, READERS, checkpoint
from ingest.sizing.checkpoint_files import LAYOUTS
from ingest.sizing.checkpoint_schedule import MODES, USUAL_MODE
from ingest.sizing.dataset import dataset
from ingest.sizing.evidence_ladder import BASES, FAMILIES
from ingest.sizing.job import QUANTITIES as QUANTITIES_OF_JOB
from ingest.sizing.optimizer_states import WIDTHS
from ingest.storage.fit import fit


class Field(NamedTuple):
    """One input.

    Attributes:
        name: the option of the command.
        start: the value that the page begins with.
        usual: the value that the command takes where the option is not given.
        kind: `choice`, `number`, `quantity` or `text`.
        source: the kind of entries to choose from.
        choices: the words to choose from.
        optional: what the choice of no entry is called, and `optional_value` its value.
        more: whether it stands under the further inputs.
        label: in place of the label of its quantity.
        place: whether the command takes it by its place, without the name of the option.
        flag: whether the option has no value.
        among: the classes of the entries to choose from.
    """

    name: str
    start: str = ""
    usual: str = ""
    kind: str = "quantity"
    source: str = ""
    choices: tuple[str, ...] = ()
    optional: str = ""
    optional_value: str = ""
    more: bool = False
    label: str = ""
    placeholder: str = ""
    place: bool = False
    flag: bool = False
    among: tuple[str, ...] = ()

    def described(self, helps: Mapping[str, str], quantities: Mapping[str, str]) -> dict[str, Any]:
        """The field as the page reads it."""
        quantity = quantities.get(self.name, "")
        label = self.label or capitalised(plain(quantity or self.name))
        found = {"name": self.name, "label": label, "kind": self.kind, "default": self.start, "usual": self.usual}
        found["help"] = helps.get(self.name, "")
        if quantity and self.kind == "number":
            found["unit"] = {"1": ""}.get(unit_of(quantity), "")
        optional = {
            "list": self.source,
            "optional": self.optional,
            "none": self.optional_value,
            "more": self.more,
            "placeholder": self.placeholder,
        }
        optional |= {"choices": [{"value": word, "label": word} for word in self.choices], "place": self.place}
        optional |= {"flag": self.flag, "among": self.among}
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
_CHECKPOINT = (
    Field("model", "llama3-405b", kind="choice", source="models", label="Model", place=True),
    Field("gpus", "1024", kind="number", label="GPUs"),
    Field("gpu", kind="choice", source="gpus", label="GPU", optional="H100, for its memory"),
    Field("mode", USUAL_MODE, USUAL_MODE, kind="choice", choices=MODES, label="Mode"),
    Field("waste", kind="number", placeholder="5%"),
    Field("interval", placeholder="by the least overhead"),
    Field("mtti", placeholder="from the failure rate", label="Mean time to interrupt"),
    Field("write_bandwidth", placeholder="for example 300 GB/s"),
    Field("optimizer", kind="choice", source="optimizers", optional="as published, else AdamW", label="Optimizer", more=True),
    Field("precision", kind="choice", choices=("", *WIDTHS), label="Precision", more=True),
    Field("layout", kind="choice", choices=("", *LAYOUTS), label="Layout", more=True),
    Field("zero_stage", kind="choice", choices=("", "0", "1", "2", "3"), label="ZeRO stage", more=True),
    Field("tensor_parallel", kind="number", more=True),
    Field("pipeline_parallel", kind="number", more=True),
    Field("expert_parallel", kind="number", more=True),
    Field(
        "failures", kind="choice", source="failures", optional="of jobs of the nearest size", label="Failure rate", more=True
    ),
    Field("drain_fraction", kind="number", placeholder="0.1", more=True),
    Field("drain_time", placeholder="2 min", more=True),
    Field("slow_down", kind="number", placeholder="0.5", more=True),
    Field("persistent_every", kind="number", placeholder="1", more=True),
    Field("restart_time", placeholder="2 min", more=True),
    Field("reschedule_time", placeholder="10 min", more=True),
    Field("readers", "unique", "unique", kind="choice", choices=tuple(READERS), label="Readers of a restore", more=True),
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
    Field("holds", kind="choice", choices=("", "tokens", "text", "samples"), label="Contents", more=True),
    Field("sizes", "varied", "varied", kind="choice", choices=("varied", "equal"), label="Sizes of samples", more=True),
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
    Field("storage", "ddn-ai400x2", "all", kind="choice", source="storage", among=OFFERED, optional_value="all",
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
    Field("degraded", kind="choice", choices=("", "yes"), flag=True, label="Whole rate with a part down", more=True),
    Field("no_spare", kind="choice", choices=("", "yes"), flag=True, label="Without a spare", more=True),
    Field("sites", kind="choice", choices=("", "yes"), flag=True, label="Installations that exist once", more=True),
)  # fmt: skip
_SITE = (
    Field("name", "My site", kind="text", label="Name"),
    Field("model", "llama3-8b", kind="choice", source="models", label="Model"),
    Field("node", "dgx-h100", kind="choice", source="nodes", label="Node type"),
    Field("nodes", "64", kind="number", label="Nodes"),
    Field("mode", USUAL_MODE, kind="choice", choices=MODES, label="Checkpoint mode"),
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
    helps = {tab: {**helps_of(function), **helps_in(function)} for tab, (function, *_) in FORMS.items()}
    # The tab of `bw` tells about the job.
    helps["fit"] = {name: text for name, text in helps["fit"].items() if name not in helps["bw"]}
    return {
        tab: [field.described(helps[tab], quantities) for field in fields] for tab, (_, fields, quantities) in FORMS.items()
    }
