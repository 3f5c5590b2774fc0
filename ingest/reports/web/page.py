"""The page in one file: its inputs, the modules that answer its questions in JavaScript, catalogs as data, user interface."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ingest.engine.question import Argument, arguments_of, option
from ingest.engine.registry import unit_of
from ingest.errors import UsageError
from ingest.files import as_bytes, write_whole
from ingest.reports.labels import capitalised, plain
from ingest.reports.web.modules import Program
from ingest.sizing.bandwidth import bw
from ingest.sizing.checkpoint import checkpoint
from ingest.sizing.checkpoint_schedule import USUAL_MODE
from ingest.sizing.dataset import dataset
from ingest.sizing.page_data import Catalogs, page_data
from ingest.sizing.post_training import rl
from ingest.sizing.vectors import vectors
from ingest.storage.fit import fit
from ingest.units import display
from ingest.version import __version__


class Field(NamedTuple):
    """One input."""

    name: str  # the option of the command
    start: str = ""  # the value that the page begins with
    kind: str = "quantity"  # `choice`, `number`, `quantity` or `text`
    source: str = ""  # the kind of entries to choose from, in place of the words that the option declares
    optional: str = ""  # what the choice of no entry is called, and `optional_value` its value
    optional_value: str = ""
    more: bool = False  # whether it stands under the further inputs
    label: str = ""  # in place of the label of its quantity
    placeholder: str = ""
    place: bool = False  # whether the command takes it by its place, without the name of the option
    among: tuple[str, ...] = ()  # the classes of the entries to choose from
    stated: bool = False  # whether it is told even where it is as the command has it by default

    def described(self, argument: Argument | None) -> dict[str, Any]:
        """The field as the page reads it; the option of the command is None for a key of a site file that no option is."""
        declared = argument.declared if argument is not None else None
        quantity = declared.quantity if declared is not None else ""
        label = self.label or capitalised(plain(quantity or self.name))
        usual, words = (declared.default, declared.choices) if declared is not None else (None, ())
        flag = usual is False
        # The value in force where the box is empty, as help states it.
        is_stated = declared is not None and "{default}" in declared.help and self.kind != "choice"
        choices = ("", "yes") if flag else (*([] if self.start else [""]), *words) if words else ()
        found = {
            "name": self.name,
            "label": label,
            "kind": self.kind,
            "default": self.start,
            "usual": str(usual) if usual and not self.stated else "",
            "help": _first_clause(declared.text, label) if declared is not None and self.kind != "choice" else "",
        }
        if quantity and self.kind == "number":
            found["unit"] = {"1": ""}.get(unit_of(quantity), "")
        optional = {
            "list": self.source,
            "optional": self.optional,
            "none": self.optional_value,
            "more": self.more,
            "placeholder": self.placeholder or (declared.default_text if declared is not None and is_stated else ""),
            "choices": [
                {"value": str(word), "label": str(word) or self.optional or ("no" if flag else "by default")}
                for word in choices
                if self.kind == "choice"
            ],
            "place": self.place,
            "flag": flag,
            "among": self.among,
        }
        return {**found, **{name: item for name, item in optional.items() if item}}


def _first_clause(text: str, label: str) -> str:
    """What help says first; nothing where it repeats the label."""
    first = re.split(r"[;:]|, or (?:the JSON|a YAML)", text)[0].removesuffix(".") + "."
    repeats = first.lower().startswith(label.lower()) and len(first) < len(label) + 16
    return "" if repeats or first == "." else first


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
    Field("cache_hit", kind="number", placeholder="from the nodes' memory", more=True),
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
    Field("waste", kind="number", placeholder="sizes the write rate, such as 5%"),
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
    Field("drain_fraction", kind="number", more=True),
    Field("drain_time", more=True),
    Field("slow_down", kind="number", more=True),
    Field("persistent_every", kind="number", more=True),
    Field("restart_time", more=True),
    Field("reschedule_time", more=True),
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
    Field("vocabulary", kind="number", label="Vocabulary", more=True),
    Field("sequence_length", kind="number", more=True, label="Sequence length"),
    Field("shard_size", placeholder="as the format has it", more=True, label="Size of a shard"),
    Field("epochs", kind="number", more=True, label="Epochs"),
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
_VECTORS = (
    Field("vectors", "100M", label="Vectors"),
    Field("dimensions", "768", kind="number", label="Dimensions"),
    Field("index", "diskann", kind="choice", label="Index"),
    Field("layout", kind="choice", source="layouts", optional="Faiss, or DiskANN", label="Library"),
    Field("dtype", kind="choice", optional="that of the layout", label="Type of the numbers"),
    Field("qps", "1000", kind="number", label="Queries per second"),
    Field("search_list", "100", kind="number", label="Search list"),
    Field("latency", placeholder="for example 10 ms", label="Wait of a query for storage"),
    Field("documents", placeholder="in place of vectors", more=True, label="Documents"),
    Field("tokens", placeholder="in place of vectors", more=True, label="Tokens"),
    Field("chunk", kind="number", more=True, label="Tokens of a chunk"),
    Field("overlap", kind="number", more=True, label="Tokens that chunks share"),
    Field("metadata_bytes", more=True, label="Fields beside a vector"),
    Field("degree", kind="number", placeholder="as the layout has it", more=True, label="Neighbours of a node"),
    Field("lists", kind="number", placeholder="4 √vectors", more=True, label="Lists of a shard"),
    Field("code_bytes", kind="number", more=True, label="Bytes of a code"),
    Field("replicas", kind="number", more=True, label="Copies that answer"),
    Field("shards", kind="number", more=True, label="Shards"),
    Field("beam", kind="number", more=True, label="Reads outstanding"),
    Field("cached_share", kind="number", more=True, label="Share of reads from memory"),
    Field("cached_nodes", kind="number", placeholder="0", more=True, label="Nodes in memory"),
    Field("probes", kind="number", more=True, label="Lists that a query reads"),
    Field("top_k", kind="number", placeholder="0", more=True, label="Records fetched"),
    Field("load_time", more=True, label="Time to load all copies"),
    Field("load_bandwidth", placeholder="in place of the time", more=True, label="Read bandwidth of the load"),
    Field("rebuilds_per_day", kind="number", more=True, label="Rebuilds per day"),
)
_RL = (
    Field("model", "llama3-8b", kind="choice", source="models", label="Model", place=True),
    Field("rollout_hosts", "16", kind="number", label="Rollout hosts"),
    Field("step_time", "2 min", label="Time of a step"),
    Field("publish", "full", kind="choice", label="Versions"),
    Field("changed_share", kind="text", label="Share that changes"),
    Field("pull_within", placeholder="half of the time between", label="Time to pull"),
    Field("rollouts", "512", kind="number", label="Rollouts of a step"),
    Field("tokens", "4000", label="Tokens of a rollout"),
    Field("algorithm", "grpo", kind="choice", label="Algorithm", more=True),
    Field("every", kind="number", label="Steps between versions", more=True),
    Field("encoding", kind="choice", label="Encoding of a delta", more=True),
    Field("precision", "bf16", kind="choice", label="Precision", more=True),
    Field("anchor_every", kind="number", label="Versions between anchors", more=True),
    Field("keep", kind="number", label="Versions kept", more=True),
    Field("rollout_replicas", kind="number", placeholder="in place of hosts", label="Rollout engines", more=True),
    Field("tokens_per_second", kind="number", placeholder="in place of the time", label="Tokens/s of a host", more=True),
    Field("publish_within", placeholder="half of the time between", label="Time to write a version", more=True),
    Field("pause", placeholder="none", label="Pause of rollouts", more=True),
    Field("join_within", label="Time to join", more=True),
    Field("write_bandwidth", placeholder="of the storage", label="Write bandwidth", more=True),
    Field("read_bandwidth", placeholder="of the storage", label="Read bandwidth", more=True),
    Field("network_bandwidth", label="Rate of a broadcast", more=True),
    Field("trace", kind="text", placeholder="ids,logprobs,text", label="Parts of a trace", more=True),
    Field("trace_format", "json", kind="choice", label="Format of traces", more=True),
    Field("trace_retention", label="Traces kept for", more=True),
    Field("sandbox_image", placeholder="no sandboxes", label="Image of a sandbox", more=True),
    Field("sandbox_images", kind="number", label="Images on storage", more=True),
    Field("sandbox_within", label="Time to read an image", more=True),
    Field("trainer_gpus", kind="number", placeholder="for checkpoints", label="GPUs that train", more=True),
    Field("optimizer", kind="choice", source="optimizers", optional="as published, else AdamW", label="Optimizer", more=True),
    Field("interval", placeholder="by the least overhead", label="Checkpoint interval", more=True),
)
_SITE = (
    Field("name", "My site", kind="text", label="Name"),
    Field("model", "llama3-8b", kind="choice", source="models", label="Model"),
    Field("node", "dgx-h100", kind="choice", source="nodes", label="Node type"),
    Field("nodes", "64", kind="number", label="Nodes"),
    Field("mode", USUAL_MODE, kind="choice", label="Checkpoint mode", stated=True),
    Field("keep", "3", kind="text", label="Checkpoints kept"),
    Field("tokens", "1T", kind="quantity", label="Tokens of the data"),
    Field("copies", "1", kind="number", label="Copies of the data"),
    Field("storage", kind="choice", source="storage", among=OFFERED, optional="none", label="Storage"),
    Field("units", kind="number", placeholder="as required today", label="Units of it"),
)
#: The function of each question, whose options its inputs are.
FORMS: Mapping[str, tuple[Callable[..., Any], tuple[Field, ...]]] = {
    "bw": (bw, _BANDWIDTH),
    "checkpoint": (checkpoint, _CHECKPOINT),
    "dataset": (dataset, _DATASET),
    "fit": (fit, _FIT),
    "vectors": (vectors, _VECTORS),
    "rl": (rl, _RL),
    "plan": (checkpoint, _SITE),
}


def forms() -> dict[str, list[dict[str, Any]]]:
    """The inputs of each question.

    >>> [field["name"] for field in forms()["bw"]][:3]
    ['model', 'gpu', 'nodes']
    """
    found = {}
    for tab, (function, fields) in FORMS.items():
        arguments = arguments_of(function)
        found[tab] = [field.described(arguments.get(field.name)) for field in fields]
    # The tab of `bw` tells about the job.
    told = arguments_of(bw)
    for field in found["fit"]:
        field["help"] = "" if field["name"] in told else field["help"]
    return found


#: How the data are packed; `$.unpacked` reads streams of these `lc`, `lp` and `pb` alone.
PACKING = {"id": lzma.FILTER_LZMA1, "dict_size": 1 << 22, "lc": 4, "lp": 0, "pb": 0, "nice_len": 273, "mf": lzma.MF_BT4}
ASSETS = Path(__file__).parent / "assets"
#: What the page calls, by module.
ROOTS: Mapping[str, tuple[str, ...]] = {
    "ingest.sizing.bandwidth": ("bw", "Scenarios"),
    "ingest.sizing.checkpoint": ("checkpoint",),
    "ingest.sizing.dataset": ("dataset",),
    "ingest.sizing.vectors": ("vectors",),
    "ingest.sizing.post_training": ("rl",),
    "ingest.storage.fit": ("fit", "chosen", "ONE_SPARE"),
    "ingest.storage.need": ("need_of", "from_numbers"),
    "ingest.sizing.job": ("Job",),
    "ingest.reports.pages.storage": ("fits_page", "fits_title", "_row"),
    "ingest.architecture.structure": ("Architecture",),
    "ingest.architecture.weight_table": ("Weight", "Attention"),
    "ingest.reports.pages.sizing": ("_value_row", "_rate_of", "_answer_table", "own_labels"),
    "ingest.sizing.evidence_ladder": ("blind_words",),
    "ingest.reports.labels": ("plain", "capitalised"),
    "ingest.reports.page": ("value_text", "range_text", "headline", "unknown_section"),
    "ingest.engine.expression": ("prose", "record"),
    "ingest.engine.registry": ("unit_of", "INPUTS"),
    "ingest.engine.messages": ("fact_of",),
    "ingest.catalog.store": ("Catalog", "Meaning", "meaning", "patterns_of", "plain", "unwrapped"),
    "ingest.catalog.releases": ("Releases",),
    "ingest.catalog.records": ("KINDS", "Gpu", "Node", "Value", "Statement", "Encoding", "Tier", "Rate"),
    "ingest.engine.value": ("Source",),
    "ingest.errors": ("IngestError", "UsageError", "listed", "nearest", "shortened"),
    "ingest.units": ("display", "exact"),
}
#: Fields of formulas that no question of the page is about.
BESIDE = (
    "acceptance", "feed", "load_conditions", "memory_activations", "mlperf_storage", "observation", "offload",
    "offload_inference", "site_capacity", "site_datasets", "site_demand", "site_jobs", "site_tiers", "site_totals",
    "site_transfers", "training",
)  # fmt: skip
#: The questions of the page, in order.
QUESTIONS = ("yaml.js", "arithmetic.js")
#: The user interface, in order.
VIEWS = ("charts.js", "view.js")
#: Operators of an expression, whose methods Python makes from a table.
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}
_EXPRESSION = "class Expression extends $.Plain {{\n{}\n}}".format(
    "\n".join(
        f'__{name}__(other) {{ return new Operation("{sign}", [this, _node(other)]); }}\n'
        f'__r{name}__(other) {{ return new Operation("{sign}", [_node(other), this]); }}'
        for name, sign in OPERATORS.items()
    )
    + "\n"
    + "\n".join(
        f'__{name}__(other) {{ return new Operation("{sign}", [this, _node(other)]); }}'
        for name, sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items()
    )
    + '\n__neg__() { return new Operation("-", [_node(0), this]); }'
)
#: A record, whose fields are those of its classes that hold a shape.
_RECORD = """class Record extends $.Plain {
__init__(...given) {
const words = $.keywords(given);
for (const [name, shape] of this.shapes.entries()) this[name] = name in words ? words[name] : shape.default;
}
get shapes() { return this.constructor.shapes; }
static get shapes() {
const classes = [];
for (let one = this; one !== Record; one = Object.getPrototypeOf(one)) classes.unshift(one);
const fields = classes.flatMap((one) => Object.getOwnPropertyNames(one).map((name) => [name, one[name]]));
return new $.Dict(fields.filter(([, item]) => item instanceof Shape));
}
}"""
_ENTRY = """class Entry extends Record {
static {
const fields = [["name", REQUIRED_TEXT], ["notes", TEXTS], ["missing", NOTES]];
for (const [name, shape] of fields) $.setattr(this, name, shape);
}
__init__(...given) {
const words = $.keywords(given), { id = given[0], path = given[1], ...fields } = words;
super.__init__(new $.Keywords(fields));
this.id = id;
this.path = path;
}
}"""
#: Definitions that a page has in another form: what reads files, and what JavaScript has no word for.
WRITTEN: Mapping[str, str] = {
    "ingest.engine.expression:Expression": _EXPRESSION,
    "ingest.engine.question:options_in": (
        "(table) => [...table.entries()].map(([name, declared]) => new Argument(name, null, declared, declared.default))"
    ),
    "ingest.engine.value:Frozen": "class Frozen extends $.Plain {}",
    "ingest.engine.value:revised": '$.library("dataclasses").replace',
    "ingest.engine.messages:Message": "$.message((...given) => _worded(...given), (path) => new Option(path))",
    "ingest.engine.registry:new_step": "(fields) => new Step(...fields)",
    "ingest.engine.registry:value_of": "(step) => step.value",
    "ingest.configuration:binary_first": "() => false",
    "ingest.configuration:configuration": '() => ({ currency: "" })',
    "ingest.catalog.store:Catalog": "$.Catalog",
    "ingest.catalog.store:opened": "(catalogs) => catalogs",
    "ingest.catalog.store:shipped_folder": "() => new $.Path('')",
    "ingest.catalog.records:Record": _RECORD,
    "ingest.catalog.records:changed": (
        "Object.assign($.fn((entry, { given }) => Object.assign(Object.create(Object.getPrototypeOf(entry)), entry, given), "
        '"changed"), { $p: null })'
    ),
    "ingest.catalog.records:Entry": _ENTRY,
    "ingest.sizing.evidence_ladder:past_errors": "() => $.data.blind.map((row) => new PastError(...row))",
    "ingest.sizing.published_rates:seen_rates": "(catalog) => catalog.seen",
    "ingest.sizing.published_rates:check_own_rates": "() => null",
    "ingest.architecture.catalog_entries:at_length": (
        "(model, length) => length === null ? model : $.beyond('another sequence length needs the table of weights')"
    ),
    "ingest.architecture.catalog_entries:_describes_structure": "(source, catalog) => catalog.describes(source)",
    "ingest.architecture.structure:Numbers": "Object.assign(class Numbers extends $.Plain {}, { _fields: [] })",
    "ingest.architecture.structure:numbers_in": "() => ''",
    "ingest.architecture.model_description:of_numbers": "() => $.beyond('a model by numbers needs the package')",
    "ingest.sizing.memory_search:largest_model": "() => $.beyond('the largest model needs the package')",
    "ingest.architecture.model_description:describe": "(source, catalog) => _named($.str(source), catalog)",
    "ingest.architecture.model_description:of_id": "(name, catalog) => catalog.architecture(name)",
    "ingest.sizing.resolve:model_structure": "(source, catalog) => architecture.describe(source, catalog)",
    "ingest.sizing.resolve:_is_architecture": "(source, catalog) => catalog.isArchitecture(source)",
    "ingest.engine.interactive:InteractiveResult": "class InteractiveResult extends $.Plain {}",
    "ingest.site.plan:Plan": "class Plan extends $.Plain {}",
    "ingest.site.plan_file:plan_of_site": "() => $.beyond('the page reads no files')",
    "ingest.storage.fit:_site_of": "() => $.beyond('the page reads no files')",
    "ingest.storage.flips:flips_of": "() => $.beyond('the page reads no files')",
    "ingest.storage.need:_of_site": "() => $.beyond('the page reads no files')",
    "ingest.storage.system_quantities:read_prices": "() => $.beyond('the page reads no files')",
    "ingest.storage.existing:stock_of": "() => []",
    "ingest.storage.existing:measured_entry": "() => $.beyond('the page reads no files')",
    "ingest.corpus.measurement_file:is_file_name": "(written) => /[.]json$|[/](?!token|s$)/.test(written)",
    "ingest.corpus.measurement_file:read_measurement": "() => $.beyond('the page reads no files')",
    "ingest.corpus.measurement_file:sizes_of": "() => $.beyond('a mix of sizes needs the package')",
    "ingest.corpus.measurement_file:Sizes": "class Sizes extends $.Plain {}",
    "ingest.corpus.measurement_file:sample_sizes_in": "() => $.beyond('the page reads no files')",
}


@cache
def script() -> str:
    """The script of the page without its user interface: the runtime, the modules, the questions."""
    program = Program(ROOTS, WRITTEN, BESIDE, ("ingest.sizing.rules:ROWS",))
    program.collect()
    return "\n".join([_asset("runtime.js"), _asset("catalog.js"), program.printed(), *map(_asset, QUESTIONS)])


def assembled(catalogs: Catalogs = ()) -> str:
    """The page as one HTML file."""
    code, style = script(), _asset("page.css")
    # What the script reads: the catalogs, of which it names the fields and cites the sources, and the inputs of each question.
    # The notes of an entry are for `catalog show`.
    read = (frozenset(re.findall(r"[A-Za-z_]\w*", code)) | frozenset(re.findall(r'"([a-z0-9-]+)"', code))) - {"notes"}
    content = {**page_data(catalogs, read), "forms": forms(), "edition": f"ingest {__version__}"}
    data = as_bytes(json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    packed = base64.b64encode(lzma.compress(data, lzma.FORMAT_RAW, filters=[PACKING])).decode()
    code = "\n".join([code, *(_asset(name) for name in VIEWS)]).replace("</script", "<\\/script")
    policy = f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; img-src data:"
    parts = {
        "<!--POLICY-->": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "/*STYLE*/": style,
        "<!--DATA-->": f'<script type="text/plain" id="data" data-bytes="{len(data)}">{packed}</script>',
        "/*SCRIPT*/": code,
    }
    page = _asset("template.html")
    for place, text in parts.items():
        first, found, rest = page.partition(place)
        assert found, place
        page = first + text + rest
    return page


def _asset(name: str) -> str:
    """A file of the page; scripts and styles without indentation and without comments on lines of their own."""
    text = (ASSETS / name).read_text(encoding="utf-8")
    if not name.endswith((".js", ".css")):
        return text
    bare = re.sub(r"^[ ]*/[*].*?[*]/[ ]*\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(line.lstrip() for line in bare.splitlines(keepends=True) if line.strip())


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(as_bytes(text)).digest()).decode()}"


@dataclass(frozen=True)
class WrittenPage:
    """The file that `page` wrote, and its size."""

    path: Path
    bytes_written: int

    @property
    def size(self) -> str:
        """Its size, as people read it."""
        return display(self.bytes_written, "B", binary=False)


def page(
    *,
    output: Annotated[str | Path, option("The file to write or replace.", "FILE.html")] = "calc.html",
    catalogs: Catalogs = (),
) -> WrittenPage:
    """One page that computes in a browser, without a network.

    Raises:
        UsageError: another suffix.
        IngestError: a broken entry, or a file that cannot be written.
    """
    path = Path(output)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--output: '{output}' ends in '{path.suffix}', expected .html")
    content = assembled(catalogs)
    write_whole(str(output), content)
    return WrittenPage(path, len(as_bytes(content)))
