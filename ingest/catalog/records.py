"""The records of a catalog: their fields, and how each field is read from YAML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

GRADES = ("measured", "published", "vendor", "derived", "assumed")
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4")
SIZES = ("stored", "decoded", "touched")


class Value(NamedTuple):
    """A sourced value in base units: source, place, grade, and its range if known."""

    value: float
    unit: str
    source: str
    grade: str
    where: str = ""
    low: float | None = None
    high: float | None = None
    note: str = ""


class Statement(NamedTuple):
    """A property of a system in words, with its source; a user's own entry may give the words alone."""

    text: str
    source: str = ""
    grade: str = ""
    where: str = ""


class Shape(NamedTuple):
    """How a field is read from YAML: its form, unit, keys of a table, default, and whether it is required.

    Of a table, `names` are the forms of its keys, with N for a number, `needs` is the key that it must have, and `alike` is
    another table with the same keys.
    """

    form: str
    default: Any
    unit: str = ""
    keys: tuple[str, ...] = ()
    required: bool = False
    zero: bool = False
    names: tuple[str, ...] = ()
    needs: str = ""
    alike: str = ""


_EMPTY: Mapping[str, Any] = MappingProxyType({})
#: Fields of text, a list of text, notes on fields by their names, sourced words, encodings and tiers by their names.
TEXT: Any = Shape("text", "")
REQUIRED_TEXT: Any = TEXT._replace(required=True)
TEXTS: Any = Shape("texts", ())
NOTES: Any = Shape("notes", _EMPTY)
STATEMENT: Any = Shape("statement", None)
ENCODINGS: Any = Shape("encodings", _EMPTY)
TIERS: Any = Shape("tiers", _EMPTY)


def value(unit: str, required: bool = False, zero: bool = False) -> Any:
    """A field that holds one sourced value; `zero` allows 0."""
    return Shape("value", None, unit=unit, required=required, zero=zero)


def values(unit: str, keys: tuple[str, ...] = ()) -> Any:
    """A field that holds a table of sourced values; `keys` are the names allowed, empty for any."""
    return Shape("values", _EMPTY, unit=unit, keys=keys)


class Record:
    """A frozen record; its class attributes define how its fields are read.

    Plain attributes instead of generated code keep start-up fast.
    """

    shapes: ClassVar[Mapping[str, Shape]] = {}

    def __init_subclass__(cls) -> None:
        own = {name: shape for name, shape in vars(cls).items() if isinstance(shape, Shape)}
        cls.shapes = {**cls.shapes, **own}

    def __init__(self, **fields: Any) -> None:
        for name, shape in self.shapes.items():
            self.__dict__[name] = fields.get(name, shape.default)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: '{name}' cannot be set")

    def __repr__(self) -> str:
        given = {name: item for name, item in self.__dict__.items() if item}
        return f"{type(self).__name__}({', '.join(f'{name}={item!r}' for name, item in given.items())})"


class Entry(Record):
    """An entry of the catalog; its id is the stem of the file."""

    kind: ClassVar[str] = ""
    either: ClassVar[tuple[str, ...]] = ()  # fields of which an entry has at least one
    id: str
    path: Path
    name: str = REQUIRED_TEXT
    notes: tuple[str, ...] = TEXTS
    missing: Mapping[str, str] = NOTES

    def __init__(self, id: str, path: Path, **fields: Any) -> None:
        super().__init__(**fields)
        self.__dict__.update(id=id, path=path)


AnyEntry = TypeVar("AnyEntry", bound=Entry)


def changed(entry: AnyEntry, **fields: Any) -> AnyEntry:
    """An entry with other fields."""
    return type(entry)(**{**vars(entry), **fields})


class Encoding(Record):
    """An encoding of a data set on storage, with three sizes of a sample."""

    stored: Value | None = value("B/sample")  # bytes read from storage for one sample
    decoded: Value | None = value("B/sample")  # bytes that the host passes to the GPU
    touched: Value | None = value("B/sample")  # bytes read if a whole file is read for a crop
    samples_per_file: Value | None = value("sample/file")  # samples in one file
    #: samples that one CPU thread decodes each second, where it is known of these samples themselves
    decode_rate: Value | None = value("sample/s")
    decoder: str = TEXT  # id of the decoder whose images these are like; its rates hold without `decode_rate`
    format: str = TEXT  # id of the file format, which says how the files are read
    note: str = TEXT


class Model(Entry):
    """A model and the data set it is trained on."""

    kind: ClassVar[str] = "models"
    sample: str = REQUIRED_TEXT  # one sample, in words
    sample_unit: str = TEXT  # what one sample is, as a noun: image, record, sequence, token, window
    tokens_per_sample: Value | None = value("token/sample")  # of a model that is trained on text
    sequence_length: Value | None = value("token")  # tokens over which attention looks, if a sample is not one sequence
    family: str = REQUIRED_TEXT  # class of models that share efficiency and scaling behaviour
    flops_per_sample: Value | None = value("FLOP/sample")  # forward and backward pass
    dataset: str = TEXT
    dataset_samples: Value | None = value("sample")
    dataset_bytes: Value | None = value("B")
    parameters: Value | None = value("parameter")
    parameters_active: Value | None = value("parameter")
    recurrent_layers: Value | None = value("1")  # state-space and linear layers of a language model
    #: tensor_parallel, pipeline_parallel, expert_parallel: parallel sizes of published training runs, by number of GPUs
    tensor_parallel: Mapping[str, Value] = values("GPU")
    pipeline_parallel: Mapping[str, Value] = values("1")
    expert_parallel: Mapping[str, Value] = values("GPU")
    #: optimizer, precision: what its published training run saves, as `checkpoint` takes them; AdamW and bf16 if empty
    optimizer: str = TEXT
    precision: str = TEXT
    recipe: str = TEXT  # what that run keeps per parameter, as `memory` takes it; mixed-precision Adam if empty
    structure: str = TEXT  # id of the table of weights of a model that is a run of another one, such as a fine-tuning
    adapter_rank: Value | None = value("1")  # of a run that trains adapters; that of its optimizer if empty
    adapter_targets: str = TEXT  # matrices that have them, as `checkpoint` takes them; all linear layers if empty
    encodings: Mapping[str, Encoding] = ENCODINGS  # encodings of the data set; the first one is the default
    #: embedding tables, or classes of rows that are read about equally often: their rows, and the lookups of a sample in them
    embedding_rows: Mapping[str, Value] = values("1")
    embedding_lookups: Mapping[str, Value] = values("1/sample")
    embedding_dimension: Value | None = value("1")
    embedding_element_bytes: Value | None = value("B")

    @property
    def efficiency_class(self) -> str:
        """The id of the class of models that reach a like share of the peak."""
        sizes = (self.parameters, self.parameters_active, self.recurrent_layers)
        return efficiency_class(self.family, *(one and one.value for one in sizes))


SMALL_MODEL = 2e9  # Parameters below which launches, the head and exchanges weigh more than the layers


def efficiency_class(family: str, parameters: float | None, active: float | None, recurrent: float | None = None) -> str:
    """Return the class that shares efficiency: the family, but a class of language models by what a token passes through.

    Tokens of experts pass by smaller matrices and an exchange among GPUs in each layer, those of recurrent layers by scans,
    and those of small models by matrices that leave a GPU idle.

    >>> efficiency_class("llm", 46.7e9, 12.9e9), efficiency_class("llm", 7.3e9, 7.3e9, 64), efficiency_class("llm", 8e9, 8e9)
    ('llm-experts', 'llm-recurrent', 'llm')
    >>> efficiency_class("llm", 1.1e9, 1.1e9), efficiency_class("speech", 1e8, None)
    ('llm-small', 'speech')
    """
    if family != "llm":
        return family
    if active is not None and (parameters is None or active < parameters):
        return "llm-experts"
    if recurrent:
        return "llm-recurrent"
    return "llm-small" if parameters is not None and parameters < SMALL_MODEL else family


class Gpu(Entry):
    """An accelerator as the operating system lists it; every peak is dense."""

    kind: ClassVar[str] = "gpus"
    vendor: str = REQUIRED_TEXT
    form: str = TEXT
    peak_flops: Mapping[str, Value] = values("FLOP/s/GPU", keys=PRECISIONS)  # dense peak by precision
    memory_bytes: Value | None = value("B/GPU")
    memory_bandwidth: Value | None = value("B/s/GPU")
    host_link: str = TEXT
    host_link_bandwidth: Value | None = value("B/s/GPU")
    power: Value | None = value("W/GPU")
    measured_matmul_flops: Value | None = value("FLOP/s/GPU")
    usual_node: str = TEXT  # id of the usual node of the GPU
    guidance: str = TEXT  # id of the highest level of the vendor's reference architecture for its storage
    guidance_levels: tuple[str, ...] = TEXTS  # ids of the levels that may be the floor of a site, the lowest first
    guidance_like: str = TEXT  # id of the GPU whose guidance holds per GPU where none is published for this one
    gpus_per_node: Value | None = value("GPU/node")  # if the catalog has no such node
    untrained: str = TEXT  # why nothing is trained on it, of an accelerator for inference


#: the node type of a cluster without GPUs, which loads and prepares data
WITHOUT_GPUS = "cpu"


class Node(Entry):
    """A server with GPUs; the storage NICs are separate from the compute NICs."""

    kind: ClassVar[str] = "nodes"
    gpu: str = REQUIRED_TEXT
    gpus_per_node: Value = value("GPU/node", required=True)
    host_memory_bytes: Value | None = value("B/node")
    host_memory_bandwidth: Value | None = value("B/s/node")  # nominal, all sockets and channels
    #: copies between host and GPUs, one direction, as measured where GPUs share uplinks
    host_uplink_bandwidth: Value | None = value("B/s/node")
    compute_nics: str = TEXT
    compute_nic_bandwidth: Value | None = value("B/s/node")
    storage_nics: str = TEXT
    storage_nic_bandwidth: Value | None = value("B/s/node")
    nvme_drives: Value | None = value("1", zero=True)
    nvme_bytes: Value | None = value("B/node", zero=True)
    nvme_read_bandwidth: Value | None = value("B/s/node", zero=True)
    nvme_write_bandwidth: Value | None = value("B/s/node", zero=True)
    power: Value | None = value("W/node")


class Tier(Record):
    """A tier of a service: the sizes it is sold in and what each byte provisioned buys.

    A size is `capacity_min` and whole steps of `capacity_step` above it. A tier whose step changes at a threshold is
    two tiers. Rates are those that last; bursts on credit stay in the note.
    """

    capacity_min: Value | None = value("B")
    capacity_step: Value | None = value("B")
    capacity_max: Value | None = value("B")
    #: read_bandwidth_per_byte, write_bandwidth_per_byte: throughput that each byte provisioned buys
    read_bandwidth_per_byte: Value | None = value("B/s/B")
    write_bandwidth_per_byte: Value | None = value("B/s/B")
    shared: str = TEXT  # `yes` where reads and writes draw on one limit
    disks: str = TEXT  # `yes` where hard disks hold the data
    network_bandwidth_per_byte: Value | None = value("B/s/B")  # bound of reads that the memory of the servers holds
    #: read_bandwidth_max, write_bandwidth_max: of one file system, volume or bucket
    read_bandwidth_max: Value | None = value("B/s")
    write_bandwidth_max: Value | None = value("B/s")
    bandwidth_step: Value | None = value("B/s")  # throughput bought in steps of its own, whatever the capacity
    #: client_read_bandwidth, client_write_bandwidth: the most that one client reaches
    client_read_bandwidth: Value | None = value("B/s")
    client_write_bandwidth: Value | None = value("B/s")
    io_per_second_per_byte: Value | None = value("1/s/B")
    write_io_per_second_per_byte: Value | None = value("1/s/B")
    io_per_second_max: Value | None = value("1/s")
    write_io_per_second_max: Value | None = value("1/s")
    metadata_per_second_max: Value | None = value("1/s")  # metadata operations that one file system can be given
    note: str = TEXT


#: Classes of storage entries: what one can buy, rent, run on servers of one's own; the path; parts; what only exists once.
STORAGE_CLASSES = ("system", "service", "software", "client", "drive", "enclosure", "protection", "guidance", "site")


class Storage(Entry):
    """A system one can buy, a service one can rent, storage software, a client, a drive, an enclosure of drives without
    servers and software, a protection scheme, a vendor's guidance, or a site that exists once.
    """

    kind: ClassVar[str] = "storage"
    family: str = REQUIRED_TEXT  # the class, one of `STORAGE_CLASSES`
    scaling_unit: str = REQUIRED_TEXT  # the unit in which it grows: a client, an appliance, a server, a drive
    fixed: str = TEXT  # `yes` for a single installation that cannot be bought in units
    technology: str = TEXT  # id of the software that it runs and whose latency and small reads it shares
    #: consistency, failure_tolerance, failover, metadata: behaviour of the system, in words
    consistency: Statement | None = STATEMENT
    failure_tolerance: Statement | None = STATEMENT
    failover: Statement | None = STATEMENT
    metadata: Statement | None = STATEMENT
    verdict: Statement | None = STATEMENT  # in words, where it cannot serve training data or no rate can settle it
    protections: tuple[str, ...] = TEXTS  # ids of its protection schemes; the first one is the default
    #: the most that one client node reaches; `..._shown` as observed in a run with many clients, `gpu_read_bandwidth` if each
    #: GPU has its own path, `nic_efficiency` if the client reaches a known share of its NICs
    client_read_bandwidth: Value | None = value("B/s")
    client_read_bandwidth_shown: Value | None = value("B/s")
    client_write_bandwidth: Value | None = value("B/s")
    client_read_bandwidth_by_model: Mapping[str, Value] = values("B/s")
    gpu_read_bandwidth: Value | None = value("B/s")
    nic_efficiency: Value | None = value("1")
    #: of one unit, large sequential requests; `..._by_model` as measured with that model's data set
    read_bandwidth: Value | None = value("B/s")
    write_bandwidth: Value | None = value("B/s")
    read_bandwidth_by_model: Mapping[str, Value] = values("B/s")
    random_read_bandwidth: Value | None = value("B/s")  # of one drive, random reads of 1 MiB
    #: io_per_second, write_io_per_second: small random reads and writes of one unit
    io_per_second: Value | None = value("1/s")
    write_io_per_second: Value | None = value("1/s")
    opens_per_second: Value | None = value("1/s")
    opens_per_second_shown: Value | None = value("1/s")  # observed in a run with another aim; more may be possible
    creates_per_second: Value | None = value("1/s")
    request_latency: Value | None = value("s")  # mean of a small read
    reference_io_bytes: Value | None = value("B")  # size of the requests at which the bandwidths were measured
    raw_bytes: Value | None = value("B")
    usable_bytes: Value | None = value("B")
    usable_fraction: Value | None = value("1")
    #: of one unit; `drive` is the id of its kind, `drive_bytes` the size for which raw and usable bytes hold, `drive_choices`
    #: the sizes on offer, `usable_by_drive` and `files_by_drive` what is published for them
    drives: Value | None = value("1")
    drive: str = TEXT
    drive_bytes: Value | None = value("B")
    drive_choices: Mapping[str, Value] = values("B")
    usable_by_drive: Mapping[str, Value] = values("B")
    files_by_drive: Mapping[str, Value] = values("1")
    #: units_min, units_max: units of one system; `units_shown` those of the largest installation that is published
    units_min: Value | None = value("1")
    units_max: Value | None = value("1")
    units_shown: Value | None = value("1")
    spare_unit: str = TEXT  # the smallest part that fails: controller, server, enclosure; `failure_domains` of one unit
    failure_domains: Value | None = value("1")
    filesystem_efficiency: Value | None = value("1")
    fill_limit: Value | None = value("1")
    #: data_units, redundancy_units: k and m of k+m; copies are 1+m
    data_units: Value | None = value("1")
    redundancy_units: Value | None = value("1")
    tolerated_failures: Value | None = value("1", zero=True)
    files_max: Value | None = value("1")  # of one metadata server
    metadata_servers_max: Value | None = value("1")
    creates_per_metadata_server: Value | None = value("1/s")
    opens_per_metadata_server: Value | None = value("1/s")
    link_bandwidth: Value | None = value("B/s")
    drive_writes_per_day: Value | None = value("1")  # of a drive, as it is rated for its warranty
    gpus_per_unit: Value | None = value("GPU")  # of a vendor's guidance, the GPUs of one scalable unit
    published_units: Value | None = value("1")  # of a vendor's guidance, the scalable units up to which it is published
    level: str = TEXT  # of a vendor's guidance, its name of the level
    confirmed: str = TEXT  # `no` for a vendor's guidance whose figures were not confirmed: it is never the floor of a site
    power: Value | None = value("W")
    rack_units: Value | None = value("1")
    tiers: Mapping[str, Tier] = TIERS  # of a service


class Protocol(Entry):
    """A measurement protocol: the software and its rules."""

    kind: ClassVar[str] = "protocols"
    form: str = REQUIRED_TEXT  # training-log, vendor-table, benchmark-table or emulation
    benchmark: str = TEXT  # name that the editions of one benchmark share; they count once
    rounds: tuple[str, ...] = TEXTS  # those that were published, the oldest first; empty if it has none
    advice: str = REQUIRED_TEXT  # for a buyer who requires its rate


class Family(Entry):
    """A class of models: the share of the dense peak that its members reach, and how small their steps may become."""

    kind: ClassVar[str] = "families"
    efficiency: Value | None = value("1")
    efficiency_by_generation: Mapping[str, Value] = values("1")  # where GPUs of a vendor and fastest precision differ from it
    #: samples of a GPU at which the fixed part of a step takes half of its time, over those of the smaller of two runs
    step_floor: Value | None = value("1")
    gain_by_precision: Mapping[str, Value] = values("1")  # rate in so few bits over that at 16 bits, of one stack


class Scaling(Entry):
    """Rate per GPU of larger jobs, over the rate on one to a few nodes; `up-to-N` names the largest size of a row."""

    kind: ClassVar[str] = "scaling"
    factors: Mapping[str, Value] = values("1")._replace(names=("up-to-N", "more"), needs="more")


class Optimizer(Entry):
    """Bytes that an optimizer keeps per trained parameter, in mixed precision."""

    kind: ClassVar[str] = "optimizers"
    #: `matrices` if the second moment of a matrix is its rows and columns, `rest` if hidden matrices have none; empty if every
    #: parameter has one
    factored: str = TEXT
    paged: str = TEXT  # where moments lie while the GPU is full; empty if they stay on it
    adapters: str = TEXT  # `low-rank` if adapters are trained instead of the model
    rank: Value | None = value("1")  # of these adapters
    #: of the parameters in a checkpoint, where they follow from the optimizer instead of the precision
    weights: Value | None = value("B/parameter", zero=True)
    master: Value = value("B/parameter", required=True, zero=True)
    momentum: Value = value("B/parameter", required=True, zero=True)
    variance: Value = value("B/parameter", required=True, zero=True)
    #: numbers of second moment per parameter, if the weights of the model are unknown
    second_moment_share: Value | None = value("1")


class Recipe(Entry):
    """Bytes that training keeps per parameter: weights, gradients, and optimizer states."""

    kind: ClassVar[str] = "recipes"
    optimizer: str = REQUIRED_TEXT
    weights: Value = value("B/parameter", required=True, zero=True)
    gradients: Value = value("B/parameter", required=True, zero=True)
    #: widest optimizer state where the weights are their own master copy and give states their width, whatever the optimizer
    states: Value | None = value("B/parameter")
    rest: Value | None = value("B/parameter")  # width of embedding, head and norms where it is not that of the weights


class Failures(Entry):
    """Failure rate of nodes: interrupts counted on a cluster, or a rate per node."""

    kind: ClassVar[str] = "failures"
    counts: str = TEXT  # what was counted; `interruptions of jobs` with `gpus` take part in the choice by the size of a job
    gpus: Value | None = value("GPU")  # size of the jobs at which the rate was observed
    interrupts: Value | None = value("1")
    period: Value | None = value("s")
    nodes: Value | None = value("node")
    rate: Value | None = value("1/s/node")
    gpus_per_node: Value = value("GPU/node", required=True)  # of a node as the source counts it


HOLDINGS = ("tokens", "text", "samples")  # contents of a data set


class Corpus(Entry):
    """A published data set for training."""

    kind: ClassVar[str] = "corpora"
    holds: str = REQUIRED_TEXT  # tokens (of text) or samples
    refers_to: str = TEXT  # what its entries name by URL and do not hold, such as `images`; empty where it holds its data
    tokenizer: str = TEXT  # name of the tokenizer that counted the tokens
    pipeline: str = TEXT  # id of the pipeline that produced it
    tokens: Value | None = value("token")
    raw_bytes: Value | None = value("B")  # input of the pipeline; the note tells whether compressed
    clean_bytes: Value | None = value("B")  # uncompressed text
    stored_bytes: Value | None = value("B")  # the published files; the note names their compression
    tokenized_bytes: Value | None = value("B")  # as published; usually computed instead
    documents: Value | None = value("document")
    samples: Value | None = value("sample")
    sample_bytes: Value | None = value("B/sample")
    bytes_per_token: Value | None = value("B/token")
    vocabulary: Value | None = value("1")  # ids of the tokenizer
    objects_per_document: Value | None = value("1/document")  # what it refers to, in one document of text
    object_bytes: Value | None = value("B")  # of one of these, as it is downloaded


class Pipeline(Entry):
    """A pipeline from raw to clean data; shares of bytes, documents and tokens differ, so each has a field."""

    kind: ClassVar[str] = "pipelines"
    #: input, output: in words
    input: str = REQUIRED_TEXT
    output: str = REQUIRED_TEXT
    #: input_form, output_form: how the bytes of both were counted: `plain`, `gzip`, `zstd`, …
    input_form: str = TEXT
    output_form: str = TEXT
    steps: tuple[str, ...] = TEXTS
    input_bytes: Value | None = value("B")
    output_bytes: Value | None = value("B")
    input_documents: Value | None = value("document")
    output_documents: Value | None = value("document")
    input_tokens: Value | None = value("token")
    output_tokens: Value | None = value("token")
    bytes_kept: Value | None = value("1")  # bytes out over bytes in, each in its form
    documents_kept: Value | None = value("1")
    tokens_kept: Value | None = value("1")
    extracted_share: Value | None = value("1")  # extracted text over raw input, each as stored
    pipeline_output_share: Value | None = value("1")  # stored over plain bytes of the output, if its form is compressed
    dedup_hashes: Value | None = value("1/document")  # hash values that fuzzy deduplication keeps for each document
    dedup_hash_bytes: Value | None = value("B")
    preparation_passes: Value | None = value("1")  # times that the pipeline reads its input


READ_PATTERNS = ("whole files", "shards", "row groups", "random records")  # how the samples of a format are read


class Format(Entry):
    """A file format, its overhead and how it is read; each value sets the quantity of its name."""

    kind: ClassVar[str] = "formats"
    holds: tuple[str, ...] = TEXTS  # tokens, text, samples
    record: str = REQUIRED_TEXT  # document, sequence or sample
    ids: str = TEXT  # `packed` if token ids take as few bits as they need; else their width follows from the vocabulary
    stored_id_bytes: Value | None = value("B/token")
    format_narrow_vocabulary: Value | None = value("1")
    encoding_factor: Value | None = value("1")
    compressed_shares: Mapping[str, Value] = values("1", keys=HOLDINGS)  # stored over written bytes, by content; 1 by default
    container_bytes_per_record: Value | None = value("B/sample", zero=True)
    index_bytes_per_record: Value | None = value("B/sample", zero=True)
    members_per_record: Value | None = value("1/sample")
    member_header_bytes: Value | None = value("B", zero=True)
    member_quantum: Value | None = value("B")
    group_bytes: Value | None = value("B", zero=True)
    records_per_group: Value | None = value("sample")
    shard_fixed_bytes: Value | None = value("B/file", zero=True)
    index_bytes_per_shard: Value | None = value("B/file", zero=True)
    shard_quantum: Value | None = value("B/file")
    shard_bytes: Value | None = value("B/file")
    records_per_shard: Value | None = value("sample/file")
    files_per_shard: Value | None = value("1")
    read_pattern: str = TEXT  # one of `READ_PATTERNS`
    request_bytes: Value | None = value("B")  # the largest read that reaches storage
    readers_per_gpu: Value | None = value("1/GPU")  # concurrent reads that a loader issues for one GPU


class Decoder(Entry):
    """A decoder of images, measured on CPUs or on GPUs."""

    either: ClassVar[tuple[str, ...]] = ("thread_rates", "gpu_rates")
    kind: ClassVar[str] = "decoders"
    codec: str = REQUIRED_TEXT
    #: thread_rates, loader_rates, loader_workers: by CPU, what one thread decodes, a loader at its peak, its workers there
    thread_rates: Mapping[str, Value] = values("sample/s")
    loader_rates: Mapping[str, Value] = values("sample/s")._replace(alike="thread_rates")
    loader_workers: Mapping[str, Value] = values("1")._replace(alike="thread_rates")
    gpu_rates: Mapping[str, Value] = values("sample/s")  # by id of the GPU


class Layout(Entry):
    """The files of a vector index as a library writes them; each value sets the quantity of its name."""

    kind: ClassVar[str] = "layouts"
    layout: str = REQUIRED_TEXT  # the library or product
    index: str = REQUIRED_TEXT  # flat, hnsw, ivf-flat, ivf-pq, diskann
    held_against: str = REQUIRED_TEXT  # the version whose files were counted
    dtypes: tuple[str, ...] = TEXTS  # types of the numbers of a vector, the usual one first
    stores: str = REQUIRED_TEXT  # one of `STORES`
    entry_overhead_bytes: Value | None = value("B")
    link_bytes: Value | None = value("B")
    level_counts: Value | None = value("1")
    list_overhead_bytes: Value | None = value("B")
    list_overrun_bytes: Value | None = value("B")
    codebook_entries: Value | None = value("1")
    index_header_bytes: Value | None = value("B")
    bytes_per_id_digit: Value | None = value("B")
    code_parts_max: Value | None = value("1")
    index_degree_min: Value | None = value("1")
    index_degree_max: Value | None = value("1")
    index_lists_max: Value | None = value("1")
    filled_pages: Value | None = value("1")  # that a list of several has to fill for its size to be known
    stored_vector_bytes_max: Value | None = value("B")
    reads_per_list: Value | None = value("1")  # of an index whose lists stay on storage
    reads_per_candidate: Value | None = value("1")  # of an index whose nodes stay on storage


#: what a record of an index is: a vector, a vector with links, a code, a node in a sector, or one of these in pages
STORES = ("vectors", "graph", "codes", "sectors", "graph in pages", "lists in pages")


class Structure(Entry):
    """A model described by the keys of its own `config.json`; `hyper_parameters` has them with their values, as in the file."""

    kind: ClassVar[str] = "architectures"
    model_type: str = TEXT
    hyper_parameters: str = TEXT
    parameters: Value | None = value("parameter")
    parameters_active: Value | None = value("parameter")


#: how the note of a rate begins whose job may have waited for its data
LOWER_BOUND = "lower bound"


class Rate(NamedTuple):
    """One measured rate of a model on a GPU: a row of the model's CSV."""

    gpu: str
    precision: str
    samples_per_second_per_gpu: float | None  # in samples of the model; None if only FLOP/s are published
    achieved_flops_per_gpu: float | None  # None if no FLOP/s are published
    gpus: int
    nodes: int
    protocol: str
    round: str
    source: str
    where: str
    grade: str
    note: str
    batch: float | None = None  # samples of one step of the whole job; None if it is not published
    run_mean: float | None = None  # samples/s per GPU over all steps, where the rate is of the fast first ones

    @property
    def waits(self) -> bool:
        """Whether its job may have waited for its data: the rate is a lower bound of what the GPUs consume."""
        return self.note.startswith(LOWER_BOUND)


_RECORDS = (Model, Gpu, Node, Storage, Protocol, Family, Scaling, Optimizer, Recipe, Failures, Corpus, Pipeline, Format,
    Decoder, Layout)  # fmt: skip
#: Every record of the catalogs by its kind, which is the name of its folder.
KINDS: dict[str, type[Entry]] = {record.kind: record for record in _RECORDS}
