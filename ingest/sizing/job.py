"""A training job: the options of `bw` in base units, checked, and the inputs that follow from them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from ingest.architecture.structure import Numbers, numbers_in
from ingest.catalog.records import SIZES, Encoding, Gpu, Model, Node, Scaling, Storage, Value
from ingest.catalog.store import CATALOGS, Catalog
from ingest.corpus.measurement_file import RowClass, Sizes, bytes_per_token_of, row_reads_of, sample_sizes_in, sizes_of
from ingest.engine.messages import Message, Option, Setting, each_once, option_error
from ingest.engine.question import option, quantities_in
from ingest.engine.ranges import ranged
from ingest.engine.registry import check_value, comes_whole, default_of, read_value, solve, unit_of
from ingest.engine.value import EMPTY, Frozen, Input, revised
from ingest.errors import IngestError, UsageError, brief, expected_one_of, nearest, one_of
from ingest.sizing import evidence_ladder
from ingest.sizing.evidence_ladder import BASES, RATE, USUAL_PRECISIONS, from_catalog, from_fields
from ingest.units import display, parse

Written = str | float
Many = Written | Sequence[Written]
#: A number with its unit, where one is given.
Amount = Written | None
#: Quantities by name, as `--set` takes them.
Settings = Mapping[str, Written] | str | Sequence[str] | None
Catalogs = Catalog | str | Path | Sequence[str | Path]

#: The size of the data set that a job reads, and of one of its samples.
SAMPLES, BYTES, SAMPLE_BYTES = "dataset_samples", "dataset_bytes", "sample_bytes"
#: Units without parts.
WHOLE = ("sample", "token", "document", "file", "GPU")
#: What follows the zero of thousands in a list, where commas separate: 024 in 1,024.
DIGITS = tuple("0123456789")
#: GPUs in a node where neither the node type nor the GPU names them.
USUAL_GPUS_PER_NODE = 8
#: The evidence to rest on.
LEVELS = ("auto", *BASES)
#: How the rate per GPU changes with the size of the job.
SCALINGS = {"published": "as the runs at that size show", "linear": "", "weak": "", "strong": ""}
#: The global batch of a run, which the user may set.
BATCH = "run_batch_tokens"
#: Ends of the global batch over the usual one: P10 and P90 of published runs.
BATCH_ENDS = (0.35, 2.4)
#: The length of a run in tokens.
TOKENS = "training_tokens"
#: Options that give the rate itself, instead of evidence from the catalogs.
RATE_OPTIONS = ("samples_per_second", "achieved", "efficiency")


class CommonOptions(TypedDict, total=False):
    """Options of every command that computes."""

    set: Annotated[Settings, option("Set any quantity; repeatable.", "NAME=VALUE", many=True)]
    catalogs: Annotated[Catalogs, CATALOGS]


MODEL = option("Id, alias or YAML file of a model; a list, or text with commas, for several scenarios.", "ID")
GPU = option("Id, alias or YAML file of a GPU; a list, or text with commas, for several scenarios.", "ID")
#: Those of a question about one job.
ONE_MODEL = option("Id, alias or YAML file of the model.", "ID")
CARD = option("Id, alias or YAML file of the GPU.", "ID")
#: The GPU of a question about memory that names none.
USUAL_GPU = "h100-sxm"
#: Options of questions about memory.
SIZED_MODEL = option('Catalog id, config.json or YAML file; may be left out with `set={"parameters": N}`.', "ID")
ONE_GPU = option("Id or YAML file of the GPU; {default} by default.", "ID", usual=USUAL_GPU)
NODE = option("Id or YAML file of a node type; sets the GPU too.", "ID", sets="gpus_per_node")
NODES = option("Nodes of the GPUs instead.", sets="gpus nodes")


PRECISION = option("{choices}; that of the best evidence on the GPU by default.", "P", choices=USUAL_PRECISIONS)


class EvidenceOptions(TypedDict, total=False):
    """The evidence for the rate of a job."""

    basis: Annotated[str, option("Evidence level of the rate: {choices}.", "LEVEL", default=LEVELS[0], choices=LEVELS)]
    protocol: Annotated[str | None, option("Measurement protocol: mlperf-training, mlperf-storage, …", "ID")]
    precision: Annotated[str | None, PRECISION]
    efficiency: Annotated[
        Amount, option("Model FLOPs utilization, a share of the dense peak.", "F", quantity="model_flops_utilization")
    ]
    achieved: Annotated[
        Amount, option("Achieved FLOP/s per GPU, such as '35 TFLOP/s'.", "RATE", quantity="achieved_flops_per_gpu")
    ]
    samples_per_second: Annotated[Amount, option(
        "Samples/s per GPU from your own measurement.", quantity=RATE,
        sets="samples_per_second samples_per_second_per_gpu")]  # fmt: skip
    sequence_length: Annotated[Amount, option(
        "Tokens of one sequence of a language model, such as 131072; the FLOPs of attention grow with it.",
        quantity="sequence_length")]  # fmt: skip


class RateOptions(EvidenceOptions, total=False):
    """The rate of a job, and what one sample is."""

    encoding: Annotated[
        str | None,
        option("Encoding of the data set, or stored, decoded, touched, or ID/SIZE.", "ID", choices=SIZES, sets=SAMPLE_BYTES),
    ]
    sample_bytes: Annotated[Amount, option(
        "Bytes of one sample, such as '2.83 MB', or the JSON file of `ingest measure --samples`.", "SIZE",
        quantity=SAMPLE_BYTES)]  # fmt: skip
    flops_per_sample: Annotated[
        Amount, option("FLOPs of one sample, forward and backward, such as '247 GFLOP'.", "FLOP", quantity="flops_per_sample")
    ]
    bytes_per_token: Annotated[Written | Path | None, option(
        "If the job reads text instead of token ids: a number, or the JSON file of `ingest measure`.", "N|FILE",
        sets="bytes_per_token sample_bytes")]  # fmt: skip
    scaling: Annotated[str, option(
        "How the rate per GPU changes with the size of the job: {choices}.", "HOW", default="published",
        choices=SCALINGS)]  # fmt: skip


class ServedOptions(RateOptions, total=False):
    """The rate of a job, the utilization that is accepted, and what caches serve."""

    utilization: Annotated[
        Amount, option("Accelerator utilization to accept, such as 0.9.", "F", quantity="accelerator_utilization")
    ]
    cache_hit: Annotated[Amount, option(
        "Share of reads served by a cache on the node.", "F", quantity="cache_hit_fraction",
        sets="cache_hit_fraction node_cache_hit")]  # fmt: skip


class NodesOptions(TypedDict, total=False):
    """The size of a job, or several sizes."""

    nodes: Annotated[Many | None, option(
        "Number of nodes, one by default: 128, or 1,8,128, or 1..1024*2.", quantity="nodes", sets="gpus nodes")]  # fmt: skip


class GpusOptions(TypedDict, total=False):
    """The size of a job by its GPUs."""

    gpus: Annotated[Many | None, option("Number of GPUs instead: full nodes, or part of one.", sets="gpus nodes")]


class NodeOptions(TypedDict, total=False):
    """The nodes of a job."""

    gpus_per_node: Annotated[
        Amount, option("GPUs in a node; that of the GPU's usual node by default.", quantity="gpus_per_node")
    ]
    node: Annotated[str | None, NODE]


class ReadOptions(ServedOptions, total=False):
    """What a job reads at which rate, and the rows of its embeddings."""

    hot_embeddings: Annotated[Amount, option(
        "Memory for the embedding rows of a recommender that are read most; the others are read from a tier below.", "SIZE",
        quantity="embedding_hot_bytes")]  # fmt: skip
    zipf: Annotated[Amount, option(
        "Exponent with which reads of embedding rows fall with their rank; by default as published for the model.",
        quantity="zipf_exponent")]  # fmt: skip
    row_reads: Annotated[str | Path | None, option(
        "Reads of embedding rows as counted: a file with a row id per line, or a histogram under the line `reads,rows`.",
        "FILE")]  # fmt: skip
    sizes: Annotated[str | Path | None, option(
        "Sizes of samples that differ: p10=SIZE,p50=SIZE,max=SIZE, or the JSON file of `ingest measure --samples`.",
        "SIZES", sets=SAMPLE_BYTES)]  # fmt: skip


class SizeOptions(GpusOptions, total=False):
    """The size of a job of one size."""

    nodes: Annotated[Many | None, option("Number of nodes, one by default.", quantity="nodes", sets="gpus nodes")]


class OneJobOptions(SizeOptions, NodeOptions, ReadOptions, CommonOptions, total=False):
    """The options of a job of one size."""


class BandwidthOptions(NodesOptions, GpusOptions, NodeOptions, ReadOptions, CommonOptions, total=False):
    """The options of `bw`."""


#: option -> the quantity that it sets
QUANTITIES = quantities_in(BandwidthOptions)


class Job(Frozen):
    """The options of `bw` for one job."""

    model: str | None = None
    gpu: str | None = None
    node: str | None = None
    basis: str = "auto"
    protocol: str | None = None
    encoding: str | None = None
    precision: str | None = None
    numbers: Mapping[str, float] = EMPTY  # the options that set a quantity, in base units, as far as they are given
    sample_sizes: Mapping[str, Input] = EMPTY  # of samples that were measured
    sizes: Sizes | None = None  # the mix of them
    row_reads: tuple[RowClass, ...] = ()  # embedding rows by their reads in a trace, the hottest first
    bytes_per_token: Input | None = None
    batch_tokens: Input | None = None  # tokens of one step of a whole run; None where a benchmark's batch is as good
    scaling: str = "published"
    settings: Mapping[str, float] = EMPTY  # values of quantities by name; they override everything else

    def checked(self) -> Job:
        """Return the job after checking its options, with the model that numbers among its settings describe.

        Raises UsageError: a value out of range, a misspelt choice, or two options that exclude each other.
        """
        for one, name in QUANTITIES.items():
            if one in self.numbers:
                check_value(name, self.numbers[one], Option(one))
        for name, value in self.settings.items():
            check_value(name, value, Setting(name))
        for word, choices in (("basis", LEVELS), ("scaling", SCALINGS)):
            one_of(f"--{word}", getattr(self, word), choices)
        if self.precision is not None:
            evidence_ladder.family_of(self.precision)
        own = [one for one in RATE_OPTIONS if one in self.numbers or QUANTITIES[one] in self.settings]
        if len(own) > 1 or (own and self.basis != "auto" and (own[0] == "samples_per_second" or self.basis != "efficiency")):
            first, *others = map(Option, own)
            named = [first, *(part for other in others for part in (", ", other))]
            raise UsageError(Message(*named, ": sets the rate already, expected no other rate and no ", Option("basis")))
        if self.model is None and not {"samples_per_second", "flops_per_sample"} & self.numbers.keys() and not self.settings:
            raise UsageError("--model is missing; expected an id (`ingest catalog list models`), or --samples-per-second")
        return self.named()

    def named(self) -> Job:
        """The job with the model that numbers among its settings describe, where neither a name nor a rate is given."""
        if {"samples_per_second", "flops_per_sample"} & self.numbers.keys():
            return self
        model, settings = model_by_numbers(self.model, self.settings, alone=True)
        return self if model == self.model else revised(self, model=model, settings=settings)


def job_of(*, set: Settings = None, **options: Any) -> Job:
    """Return the job that options of `bw` describe; sizes and rates take units, such as `16 MiB`.

    Raises UsageError: a value that is not a number, or in another unit.
    """
    if options.get("bytes_per_token") is not None:
        options["bytes_per_token"] = bytes_per_token_of(options["bytes_per_token"])
    if options.get("sizes") is not None:
        if options.get(SAMPLE_BYTES) is not None:
            raise option_error("sizes", ": found with --sample-bytes, expected one of them: both set the mean of a sample")
        sizes = options["sizes"] = sizes_of(options["sizes"], "--sizes")
        options["sample_sizes"] = {name: item for name, item in sizes.given.items() if name != SAMPLES}
        options[SAMPLE_BYTES] = sizes.given[SAMPLE_BYTES].value
    elif str(options.get(SAMPLE_BYTES)).endswith(".json"):
        options["sample_sizes"] = sample_sizes_in(Path(options[SAMPLE_BYTES]))
        options[SAMPLE_BYTES] = options["sample_sizes"][SAMPLE_BYTES].value
    if options.get("row_reads") is not None:
        if options.get("hot_embeddings") is None or options.get("zipf") is not None:
            raise option_error("row_reads", ": found without --hot-embeddings or with --zipf, expected the first alone")
        options["row_reads"] = row_reads_of(options["row_reads"], "--row-reads")
    numbers = {
        one: read_value(name, written, f"--{one.replace('_', '-')}")
        for one, name in QUANTITIES.items()
        if (written := options.pop(one, None)) is not None
    }
    settings = settings_of(set)
    if "sequence_length" in settings:
        # The FLOPs follow from it, however it is given.
        numbers["sequence_length"] = settings.pop("sequence_length")
    given = {word: value for word, value in options.items() if value is not None}
    return Job(**given, numbers=numbers, settings=settings)


def batch_of(stated: Mapping[str, float]) -> Input | None:
    """The global batch of a run, as it is stated or as runs of so many tokens take; None where neither is known."""
    if BATCH in stated:
        return Input(stated[BATCH], origin="user")
    value = float(solve(BATCH, {TOKENS: stated[TOKENS]})) if stated.get(TOKENS) else 0
    return Input(value, low=value * BATCH_ENDS[0], high=value * BATCH_ENDS[1]) if value else None


def quantities_of(names: Mapping[str, str], written: Mapping[str, Written | None]) -> dict[str, float]:
    """Return the options that are given, in base units, by the name of their quantity; `names` has those that differ.

    Raises UsageError: not a number, another unit, or out of range.
    """
    found = {}
    for one, text in written.items():
        if text is None:
            continue
        name, shown = names.get(one, one), f"--{one.replace('_', '-')}"
        unit, value = unit_of(name), float(read_value(name, text, shown))
        if unit in WHOLE and comes_whole(name) and (value % 1 or (value == 0 and default_of(name) != 0)):
            kind = "a whole number" if value % 1 else "a number above 0"
            raise UsageError(f"{shown}: found {text}, expected {kind} ({unit})")
        found[name] = value
    return found


def by_option(names: Mapping[str, str], why: str) -> str:
    """A reason whose advice names the option of a quantity in place of `--set`; `names` has the quantities by option."""
    if not isinstance(why, Message):
        return why
    named = {f"set.{name}": Option(one) for one, name in names.items()}
    return Message(*why.parts, supply=tuple(named.get(way.path, way) for way in why.supply))


def model_by_numbers(
    model: str | None, settings: Mapping[str, float], alone: bool = False
) -> tuple[str | None, dict[str, float]]:
    """The model of a question, and the settings that are left: without a name, its layers, width and parameters name it.

    >>> model_by_numbers(None, {"layers": 32, "hidden_size": 4096, "nodes": 2})
    ('layers=32 hidden_size=4096', {'nodes': 2})
    """
    described = numbers_in(settings, alone) if model is None else ""
    if not described:
        return model, dict(settings)
    return described, shape_in(settings)[1]


def shape_in(settings: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """The numbers of a model among settings, and the others."""
    shape = {name: value for name, value in settings.items() if name in Numbers._fields}
    return shape, {name: value for name, value in settings.items() if name not in shape}


def settings_of(given: Settings) -> dict[str, float]:
    """Return quantities by name from `{"name": value}` or `["name=value"]`.

    Raises UsageError: no such quantity, one given twice, a value in another unit, or out of range.
    """
    written = [given] if isinstance(given, str) else given or {}
    pairs = written if isinstance(written, Mapping) else each_once("set", map(split_setting, written))
    return {name: read_value(name, value, f"--set {name}") for name, value in pairs.items()}


def counts_of(option: str, written: Written | None, names: Mapping[str, str], *, usual: str, expected: str) -> dict[str, float]:
    """Return the numbers of an option such as `3` or `raw=1,dataset=3` by quantity; `usual` is the word of a number alone.

    Raises UsageError: an unknown word, a word given twice, or not a number.
    """

    def count(part: str) -> tuple[str, float]:
        word, equals, number = part.partition("=")
        word = word.strip() if equals else usual
        if word not in names:
            raise option_error(option, f": found '{part}', expected {expected}{nearest(word, names)}")
        shown = f"--{option}"
        try:
            return word, float(read_value(names[word], number if equals else part, shown))
        except UsageError as error:
            raise option_error(option, str(error).removeprefix(shown)) from None

    counts = each_once(option, map(count, str(written).split(",") if written is not None else ()))
    return {names[word]: value for word, value in counts.items()}


def split_setting(text: str) -> tuple[str, str]:
    """Return the name and the text of the value in `NAME=VALUE`.

    >>> split_setting("sample_bytes=16 MiB")
    ('sample_bytes', '16 MiB')

    Raises UsageError: no `=`.
    """
    name, equals, written = text.partition("=")
    if not equals:
        raise option_error("set", f": found '{text}', expected NAME=VALUE")
    return name.strip(), written


#: Storage clients with which the reads of a node are compared, by the name of the result.
CLIENTS = {"nfs_tcp_client_share": "nfs-tcp", "nfs_nconnect_client_share": "nfs-nconnect"}


def by_user(values: Mapping[str, float]) -> dict[str, Input]:
    """Return quantities that the user sets as inputs."""
    return {name: Input(value, origin="user") for name, value in values.items()}


_NEVER_WAITS = "the GPU never waits; MLPerf Storage accepts 0.9 (UNet3D, ResNet-50) and 0.7 (CosmoFlow)"
#: Inputs that nobody has to give.
DEFAULTS = {
    "nodes": Input(1).by_default("one node", "nodes"),
    "scaling_efficiency": Input(1).by_default("no scaling loss beyond that in the rates", Option("scaling", "strong")),
    "accelerator_utilization": Input(1).by_default(_NEVER_WAITS),
}


def known_quantities(
    job: Job,  # the options
    # model, gpu, node: the entries that they name or imply
    model: Model | None,
    gpu: Gpu | None,
    node: Node | None,
    guidance: Storage | None,  # what the vendor's reference architecture asks of storage for this GPU, at its highest level
    scaling: Scaling | None,  # the factors of `--scaling`, where it is weak or strong
) -> dict[str, Input]:
    """Return the inputs that are the same at every evidence level; a later source overrides an earlier one.

    Raises UsageError: an encoding that the model does not have, or bytes that no sample of it can have.
    """
    options = {name: job.numbers[one] for one, name in QUANTITIES.items() if one in job.numbers and one not in RATE_OPTIONS}
    known = {**DEFAULTS, **gpus_in_node(gpu, node, *(["node", "gpus_per_node"] if job.node is None else []))}
    known |= from_fields({"storage_nic_bandwidth_per_node": node.storage_nic_bandwidth if node is not None else None})
    if guidance is not None and guidance.read_bandwidth is not None and guidance.gpus_per_unit is not None:
        known |= from_fields({"guidance_read_bandwidth": guidance.read_bandwidth, "guidance_gpus": guidance.gpus_per_unit})
    if model is not None:
        named = {name: getattr(model, name) for name in ("flops_per_sample", "tokens_per_sample", SAMPLES)}
        if BYTES in job.settings:  # its samples follow from it
            del named[SAMPLES]
        known |= from_fields({**named, **encoding_of(model, job.encoding)})
    if model is not None and model.embedding_rows and "embedding_hot_bytes" in {**options, **job.settings}:
        known |= from_fields({name: getattr(model, name) for name in ("embedding_dimension", "embedding_element_bytes")})
    check_sample(job, model, node)
    known |= {**by_user(options), **job.sample_sizes, **_of_text(job, model)}
    if scaling is not None:
        gpus = solve("gpus", {name: item.value for name, item in {**known, **by_user(job.settings)}.items()})
        if gpus > evidence_ladder.BASE_GPUS:
            known["scaling_efficiency"] = from_catalog(evidence_ladder.scaling_factor(scaling, gpus))
        else:
            why = f"no scaling loss is assumed up to {evidence_ladder.BASE_GPUS} GPUs"
            known["scaling_efficiency"] = Input(1).by_default(why)
    return known


def gpus_in_node(gpu: Gpu | None, node: Node | None, *supply: str) -> dict[str, Input]:
    """Return the GPUs in a node: of the node type, else of the GPU; `supply` names what sets a type that nobody named."""
    if node is None:
        return from_fields({"gpus_per_node": gpu.gpus_per_node if gpu is not None else None})
    found = from_catalog(node.gpus_per_node)
    return {"gpus_per_node": found.by_default(f"as in {node.name}", *supply) if supply else found}


#: Bytes that no token takes: ids take up to 8, text about 4, and 28 × 28 pixels of a JPEG up to 200; and how much larger images
#: in a sequence may be stored than they are looked at.
MOST_TOKEN_BYTES, LARGER = 256, 256


def check_sample(job: Job, model: Model | None, node: Node | None) -> None:
    """Refuse bytes that no sample of the job can have.

    Raises UsageError: more than its tokens take, or than the memory of its node.
    """
    size = job.settings.get(SAMPLE_BYTES, job.numbers.get(SAMPLE_BYTES, 0))
    tokens = model.tokens_per_sample if model is not None else None
    if model is not None and (tokens is not None or model.sample_unit == "token"):
        length = job.settings.get("tokens_per_sample", tokens.value if tokens is not None else 1)
        most = MOST_TOKEN_BYTES * length * (1 if length == 1 else LARGER)
        if size > most:
            one = "one token" if length == 1 else f"{length:,.0f} tokens, up to {display(most, 'B', binary=False)}"
            what = f": found {size:,.0f} B, but one sample of {model.id} is {one}"
            raise option_error(SAMPLE_BYTES, Message(what, supply=("bytes_per_token",)))
    memory = node.host_memory_bytes if node is not None else None
    if memory is not None and size > memory.value:
        found, held = (display(each, "B", binary=False) for each in (size, memory.value))
        raise option_error(SAMPLE_BYTES, f": found {found}, expected one sample in the memory of a node, {held}")


def _of_text(job: Job, model: Model | None) -> dict[str, Input]:
    """Bytes of one sample that is read as text."""
    ratio, given = job.bytes_per_token, job.settings.get("tokens_per_sample")
    stored = model.tokens_per_sample if model is not None else None
    if model is not None and stored is not None and given not in (None, stored.value):
        held = "is one token" if stored.value == 1 else f"has {stored.value:,.0f} tokens"
        what = f": found {given:,.0f}, but one sample of {model.id} {held}"
        raise option_error("set.tokens_per_sample", Message(what, supply=("sequence_length",)))
    if ratio is None:
        return {}
    if SAMPLE_BYTES in job.numbers or job.encoding is not None:
        other = "--sample-bytes" if SAMPLE_BYTES in job.numbers else "--encoding"
        raise option_error("bytes_per_token", f": found with {other}, expected one of them: both set the bytes of a sample")
    length = given or (stored.value if stored else None if model is not None else 1)
    if length is None:
        what = f"a sample of {model.id} is '{model.sample}'" if model is not None else "a sample is not a token"
        raise option_error("bytes_per_token", f": {what}, expected its number of tokens: --set tokens_per_sample=8192")
    found = ranged("text_sample_bytes", {"bytes_per_token": ratio, "tokens_per_sample": Input(length)})
    return {SAMPLE_BYTES: found._replace(origin="user", note=ratio.note or "the job reads text, as set by the user")}


def encoding_of(model: Model, asked: str | None) -> dict[str, Value | None]:
    """Return bytes per sample and samples per file of an encoding of the data set."""
    name, _, size = (asked or "").partition("/")
    if asked in SIZES:
        name, size = "", asked
    name, size = name or next(iter(model.encodings), ""), size or "stored"
    if name not in model.encodings:
        if asked is None:
            return {}
        raise option_error("encoding", f": found {brief(asked)}, {expected_one_of(asked, [*model.encodings, *SIZES])}")
    if size not in SIZES:
        raise option_error("encoding", f": found '{size}', {expected_one_of(size, SIZES)}")
    encoding = model.encodings[name]
    value = getattr(encoding, size)
    if value is None and asked is not None:
        there = ", ".join(item for item in SIZES if getattr(encoding, item) is not None)
        why = f": {model.id} has no {size} bytes for {name} (known: {there})"
        raise IngestError(Message(Option("encoding"), why, supply=(SAMPLE_BYTES,)))
    return {SAMPLE_BYTES: value, "samples_per_file": encoding.samples_per_file}


def encoding_in(model: Model | None, asked: str | None) -> Encoding | None:
    """The encoding of a model's data set that a job or a data set names, by default the first; None where none is known."""
    encodings = model.encodings if model is not None else {}
    return encodings.get((asked or "").partition("/")[0], next(iter(encodings.values()), None))


#: A range with more points than this is a typing error.
MAX_POINTS = 10_000_000


def names_of(given: Any) -> list[Any]:
    """Return the ids of a list, or of text with commas; anything else as a list of one.

    The index of a device and its memory, between which a driver prints its name, are parts of that name.

    >>> names_of("h100,a100"), names_of(["h100"]), names_of(None), names_of("0, NVIDIA H200, 143771 MiB,a100")
    (['h100', 'a100'], ['h100'], [None], ['0, NVIDIA H200, 143771 MiB', 'a100'])
    """
    if isinstance(given, str):
        return re.split(r"(?<!^\d)(?<!^\d\d),(?! *\d+ ?[MG]i?B\b)", given)
    return list(given) if isinstance(given, (list, tuple)) else [given]


def parse_axis(written: str, unit: str, what: str, whole: bool | None = None) -> list[float]:
    """Return the numbers of a list or range, in base units.

    `from..to*k` multiplies, `from..to+k` adds, `from..to` counts by one; lists are separated by commas, so that a comma does
    not group thousands as it does where one number is expected.

    Raises UsageError: a number in another unit, an empty or endless range, or thousands grouped by commas.
    """
    ends = [end.partition("*")[0].strip() for part in written.split(",") for end in part.split("..")]
    if len({number[-1:].isalpha() or number[-1:] == "%" for number in ends}) > 1:
        # Some numbers have a unit or a prefix and others have none: `1,500 MB` may mean 1500 MB.
        joined = f", or {written.replace(',', '')} without commas" if "," in written else ""
        raise UsageError(f"{what}: found {brief(written)}, expected a unit at each number{joined}")
    numbers: list[float] = []
    for place, part in enumerate(written.split(",")):
        if place and part[:1] == "0" and part[1:2] in DIGITS:
            joined = f"expected a list such as 1,8,128, or {written.replace(',', '')} without commas"
            raise UsageError(f"{what}: found {brief(written)}, {joined}")
        start, dots, rest = part.partition("..")
        if not dots:
            numbers.append(parse(part, unit, what, whole))
            continue
        times, plus = rest.partition("*"), rest.partition("+")
        first, last = (parse(end, unit, what, whole) for end in (start, times[0] if times[1] else plus[0]))
        if times[1]:
            factor = parse(times[2], "1", what)
            rising = first > 0 and last >= first and factor > 1 and last / first < math.inf
            steps = math.log(last / first) / math.log(factor) if rising else MAX_POINTS
            form = "from..to*k with from > 0, to ≥ from, k > 1"
        else:
            step = parse(plus[2], unit, what, whole) if plus[1] else 1
            steps = (last - first) / step if last >= first and step > 0 else MAX_POINTS
            form = "from..to+k with to ≥ from, k > 0"
        if steps >= MAX_POINTS:
            raise UsageError(f"{what}: expected {form}, and fewer than {MAX_POINTS:,} points")
        counts = range(math.floor(steps + 1e-9) + 1)
        if times[1]:
            points = [first * factor**count for count in counts]
            numbers += [round(point) if point == round(point) else point for point in points]
        else:
            numbers += [first + step * count for count in counts]
    return numbers


def nodes_of(gpus: float, nodes: float | None, gpus_per_node: float) -> dict[str, float]:
    """The nodes of a job that states its GPUs, and their GPUs where it fills less than one node.

    >>> nodes_of(1024, None, 8), nodes_of(4, None, 8)
    ({'nodes': 128}, {'nodes': 1, 'gpus_per_node': 4})

    Raises UsageError: a node that is not full, or nodes with other GPUs.
    """
    if nodes is not None:
        check_size(gpus, nodes, gpus_per_node)
        return {"nodes": nodes}
    if gpus < gpus_per_node:
        return {"nodes": 1, "gpus_per_node": gpus}
    if gpus % gpus_per_node:
        raise UsageError(f"--gpus: found {gpus:,.10g}, expected a multiple of {gpus_per_node:g}, the GPUs of a node, or fewer")
    return {"nodes": solve("nodes_in_job", {"gpus": gpus, "gpus_per_node": gpus_per_node})}


def check_size(gpus: float, nodes: float, gpus_per_node: float) -> None:
    """Refuse GPUs and nodes that contradict each other. Raises UsageError: the nodes have other GPUs."""
    counted = solve("gpus", {"nodes": nodes, "gpus_per_node": gpus_per_node})
    if gpus != counted:
        what = f"found {gpus:,.10g} with --nodes {nodes:,.10g}"
        raise UsageError(f"--gpus: {what}, expected {counted:,.10g}: {gpus_per_node:g} in each node, or one of the two")


def on_nodes(job: Job, nodes: float | None) -> Job:
    """The job on so many nodes; as it is where they are not given."""
    return job if nodes is None else revised(job, numbers={**job.numbers, "nodes": nodes})
