"""`ingest vectors`: what a vector index asks of storage and memory, from its vectors or from the text behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

from ingest.catalog.records import Family, Gpu, Layout
from ingest.catalog.store import Catalog, opened
from ingest.corpus.measurement_file import is_file_name, read_measurement
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import Question, Shown, filled, option, quantities_in, shown
from ingest.engine.registry import needs_below, solve, unit_of
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, derived
from ingest.errors import MissingQuantity, UsageError, one_of
from ingest.sizing import USUAL
from ingest.sizing.dataset import USUAL_BYTES_PER_TOKEN, USUAL_TOKENS_PER_DOCUMENT
from ingest.sizing.evidence_ladder import from_catalog, from_fields, peak_of
from ingest.sizing.job import ONE_GPU, USUAL_GPU, Amount, CommonOptions, by_option, by_user, quantities_of, settings_of
from ingest.sizing.resolve import model_structure
from ingest.sizing.rules import finding, messages, on_settings, unused
from ingest.units import display

#: index -> the layout that is meant where none is named
USUAL_LAYOUTS = {"flat": "faiss", "hnsw": "faiss", "ivf-flat": "faiss", "ivf-pq": "faiss", "diskann": "diskann"}
#: type of a number of a vector -> its width
WIDTHS = {"float32": 4, "float16": 2, "int8": 1}
#: what a record of a layout is -> the cases that it states
CASES = {
    "vectors": ("records_kept", "vectors_kept"),
    "graph": ("records_kept", "vectors_kept", "graph_kept"),
    "codes": ("records_kept", "codes_kept"),
    "sectors": ("nodes_in_sectors", "index_on_storage"),
    "graph in pages": ("graph_in_pages",),
    "lists in pages": ("lists_in_pages",),
}
#: What a text is given by.
TEXT = ("documents", "tokens")
#: The class of models that embed text.
EMBEDS, PRECISION = "bert-translation", "bf16"
USUAL_CHUNK = Input(512).by_default("chunks of 512 tokens, as most embedding models read", "chunk")
DEFAULTS = USUAL["vectors"]
#: What the name of a limit of a layout ends with.
BOUNDS = ("_min", "_max")
#: index -> neighbours of a node
USUAL_DEGREES = {
    "hnsw": Input(16, source="hnswlib", where="README.md: M=16 by default", grade="published").by_default(
        "16 links, the default of hnswlib", "degree"
    ),
    "diskann": Input(64, source="mlperf-storage-vectordb", where="DiskANN of MLPerf Storage 3.0: max_degree 64").by_default(
        "64 neighbours, as in MLPerf Storage 3.0", "degree"
    ),
}
#: what an index of lists stores -> the quantity of its usual lists, its source, the place there, and the note
USUAL_LISTS = {
    "vectors": ("usual_lists", "faiss", "guidelines: 4 to 16 √n lists", "4 √vectors lists"),
    "lists in pages": ("usual_lists_in_pages", "pgvector", "README.md: rows / 1000, or √rows beyond 1M rows",
                       "a list for 1,000 vectors, √vectors lists beyond a million"),
}  # fmt: skip
CODE_BUDGET = "knowhere.DISKANN.build.pq_code_budget_gb_ratio: 0.125 of the vectors"
#: Results that no query moves.
OF_LOAD = ("load_seconds", "index_load_bandwidth", "rebuild_write_bandwidth", "ingest_vectors_per_second")
#: Results of queries that read storage, and those that are zero of queries that memory answers.
OF_READS, OF_RATES = ("request_bytes", "latency_budget"), ("read_requests_per_second", "read_bandwidth")
#: Parts of the answer in one line, of any index.
HELD = {"usable_bytes": "{} held", "memory_bytes": "{} of memory", "index_load_bandwidth": "{} to load"}
#: What `vectors` answers.
QUESTION = Question(
    "vectors",
    (
        *shown("vectors", "index_bytes"),
        Shown("navigation_bytes", main=False),
        *shown("memory_bytes", "build_scratch_bytes", "source_bytes"),
        Shown("usable_bytes", label="data held"),
        *shown("reads_per_query", "read_requests_per_second"),
        Shown("request_bytes", label="mean size of a read"),
        *shown("read_bandwidth", "latency_budget"),
        Shown("load_seconds", label="time to load all copies"),
        *shown(*OF_LOAD[1:]),
    ),
    (("Needs", {"read_requests_per_second": "{} random reads/s", **HELD}), ("Needs", HELD)),
)
#: result -> why it is missing, and how to supply it
NOT_KNOWN = {
    **dict.fromkeys(OF_RATES, Message("the rate of queries is not known", supply=("qps",))),
    "latency_budget": Message("the time that a query may wait for storage is not known", supply=("latency",)),
}


class IndexedOptions(TypedDict, total=False):
    """The vectors, or the text behind them."""

    vectors: Annotated[Amount, option("Vectors of the index, such as 100M.", quantity="vectors")]
    dimensions: Annotated[Amount, option("Numbers of one vector.", quantity="vector_dimensions")]
    documents: Annotated[
        Amount | Path,
        option(
            "Documents of the text, or the JSON file of `ingest measure`; without them, one for each {tokens_per_document} "
            "tokens.",
            "N|FILE",
            quantity="documents",
            usual={"tokens_per_document": USUAL_TOKENS_PER_DOCUMENT},
        ),
    ]
    tokens: Annotated[Amount, option("Tokens of the text.", quantity="tokens")]
    chunk: Annotated[
        Amount, option("Tokens of a chunk; {default} by default.", quantity="chunk_tokens", usual={"chunk_tokens": USUAL_CHUNK})
    ]
    overlap: Annotated[Amount, option("Tokens that chunks share; {default} by default.", quantity="chunk_overlap_tokens")]
    embedding: Annotated[
        str | None, option("Embedding model: catalog id, config.json or folder; gives dimensions and FLOPs.", "ID")
    ]
    gpu: Annotated[str | None, ONE_GPU]
    gpus: Annotated[Amount, option("GPUs that embed.", quantity="gpus")]
    efficiency: Annotated[Amount, option("Model FLOPs utilization of embedding.", "F", quantity="model_flops_utilization")]
    metadata_bytes: Annotated[
        Amount, option("Fields beside each vector; {default} by default.", "SIZE", quantity="metadata_bytes_per_vector")
    ]


class IndexOptions(TypedDict, total=False):
    """The index."""

    index: Annotated[str | None, option("{choices}.", "KIND", choices=USUAL_LAYOUTS)]
    layout: Annotated[
        str | None, option("Library or product that writes it (`ingest catalog list layouts`); Faiss, or DiskANN.", "ID")
    ]
    dtype: Annotated[str | None, option("Numbers of a vector: {choices}; those of the layout.", "TYPE", choices=WIDTHS)]
    degree: Annotated[Amount, option("Neighbours of a node: M of HNSW, R of DiskANN.", quantity="index_degree")]
    lists: Annotated[Amount, option("Lists of each shard; as the library advises by default.", quantity="index_lists")]
    code_bytes: Annotated[Amount, option("Bytes of the code of a vector, 8 bits for each part.", quantity="code_parts")]
    replicas: Annotated[Amount, option("Copies that answer queries; {default} by default.", quantity="index_replicas")]
    shards: Annotated[Amount, option("Parts, each over its own vectors; {default} by default.", quantity="index_shards")]


class QueryOptions(TypedDict, total=False):
    """Queries, restarts and rebuilds."""

    qps: Annotated[Amount, option("Queries in a second.", quantity="queries_per_second")]
    search_list: Annotated[Amount, option("Candidates of a search of DiskANN.", quantity="search_list")]
    beam: Annotated[Amount, option("Outstanding reads of a query in a shard; {default} by default.", quantity="beam_width")]
    cached_share: Annotated[
        Amount, option("Share of the reads that memory answers; {default} by default.", "F", quantity="cached_read_share")
    ]
    cached_nodes: Annotated[Amount, option("Nodes of DiskANN held in memory; none by default.", quantity="cached_nodes")]
    probes: Annotated[Amount, option("Lists that a query reads.", quantity="probed_lists")]
    top_k: Annotated[Amount, option("Records that a query fetches from storage; none by default.", quantity="fetched_records")]
    latency: Annotated[Amount, option("Time in which a query may wait for storage.", "TIME", quantity="query_latency")]
    recall: Annotated[Amount, option("Recall that you measured with these settings; it is printed, never derived.", "F")]
    load_time: Annotated[
        Amount, option("Time to load all copies; {default} by default.", "TIME", quantity="index_load_seconds", usual=DEFAULTS)
    ]
    load_bandwidth: Annotated[Amount, option("Read bandwidth of the load instead.", "RATE", quantity="index_load_bandwidth")]
    rebuilds_per_day: Annotated[
        Amount,
        option("Times a day that the index is written; {default} by default.", quantity="rebuilds_per_day", usual=DEFAULTS),
    ]


class VectorsOptions(IndexedOptions, IndexOptions, QueryOptions, CommonOptions, total=False):
    """The options of `vectors`."""


#: what a plan takes of an index, and besides where its queries read storage
INDEXED = ("vectors", "index_bytes", "memory_bytes", "indexed_bytes_held", "index_load_seconds", "index_load_bandwidth",
           "rebuild_write_bandwidth")  # fmt: skip
QUERIED = ("read_requests_per_second", "query_block_bytes")
#: what the drives of its nodes hold and answer, of which storage has one copy and no reads
ON_NODES = ("index_copy_bytes", "index_replicas", "rebuilds_per_day", "missed_index_reads")
LOCAL_READS = ("queries_per_second", "index_request_bytes")
#: what tells the time and the number of the reads that queries wait for
WAITED = ("queries_per_second", "query_latency", "beam_width", "latency_budget", "stored_index_reads", "index_shards")
ONE_COPY, OWN_DRIVES = Input(1, note="nodes copy the index of storage"), Input(0, note="drives of the nodes answer queries")
#: option -> the quantity that it sets
QUANTITIES = quantities_in(VectorsOptions)
#: quantity that a layout limits -> its option
LIMITED = {**{name: key for key, name in QUANTITIES.items()}, "stored_vector_bytes": "dimensions"}


def vectors(**options: Unpack[VectorsOptions]) -> Answer:
    """Bytes of a vector index on disk and in memory, reads of its queries, load and rebuild.

    >>> answer = vectors(vectors=10_000, dimensions=128, index="diskann", degree=32)
    >>> answer.results["index_bytes"].value
    6832128

    Raises UsageError: an option is out of range, unknown or contradicts another one, or a layout that was not held against
    files; IngestError: an input is missing; names what to supply.
    """
    asked: dict[str, Any] = {**filled(VectorsOptions, options, "vectors")}
    catalog, settings = opened(asked["catalogs"]), settings_of(asked["set"])
    numbers = quantities_of(QUANTITIES, {name: asked[name] for name in QUANTITIES if not _is_file(name, asked)})
    layout, dtype, known, of_text = indexed(asked, by_user({**numbers, **settings}), catalog)
    if recall := asked["recall"]:
        # Recall has no quantity: nothing follows from it, and it follows from nothing.
        recall = quantities_of({"recall": "accelerator_utilization"}, {"recall": recall})["accelerator_utilization"]
    reads = known.find("reads_per_query")
    in_memory = reads is not None and not reads.value
    left_out = {*(OF_READS if in_memory else ()), *(OF_RATES if in_memory and asked["qps"] is None else ()),
                *(() if asked["embedding"] else ("ingest_vectors_per_second",)),
                *(() if layout.stores == "sectors" else ("navigation_bytes",))}  # fmt: skip
    results, missing = known.results([name for name in QUESTION.names if name not in left_out], ranged=True)
    missing = {name: by_option(QUANTITIES, why) for name, why in missing.items()}
    unknown = {name: NOT_KNOWN.get(name, why) for name, why in missing.items()}
    if (why := missing.get("reads_per_query")) is not None:
        # What is not known of one query is not known of all.
        unknown |= {name: why for name in missing if name not in OF_LOAD}
    words = {"index": layout.index, "layout": layout.layout, "held_against": layout.held_against, "dtype": dtype,
             "embedding": asked["embedding"], "recall": recall}  # fmt: skip

    def cautions(answer: Answer) -> Iterator[str]:
        yield from (*_warnings(known, of_text), *on_settings(answer, settings))
        used = {*answer.used, *(TEXT if of_text else ()), *needs_below(unknown)}
        yield from (unused(Option(one)) for one, name in QUANTITIES.items() if name in numbers and name not in used)
        if asked["gpu"] and not asked["embedding"]:
            yield unused(Option("gpu"))

    return Answer(
        QUESTION,
        f"{layout.name}: {known.value('vectors'):,.0f} vectors of {known.value('vector_dimensions'):,.0f} dimensions",
        {name: {"value": word, "from": "user" if asked.get(name) else "default"} for name, word in words.items() if word},
        known,
        results,
        unknown,
        {},
        cautions,
        catalog,
    )


class Indexed(NamedTuple):
    """A vector index."""

    layout: Layout
    dtype: str  # type of its numbers
    known: Quantities
    of_text: bool  # whether its vectors follow from a text


def indexed(asked: Mapping[str, Any], stated: Mapping[str, Input], catalog: Catalog, owner: str = "") -> Indexed:
    """The quantities of an index, by options of `vectors` as they were written and the inputs that they give.

    Raises UsageError: options that contradict each other; IngestError: an input of the size of the index is missing.
    """
    of_file = _text_of_file(asked, stated)
    layout, dtype = _layout(asked, catalog)
    given = {
        **DEFAULTS,
        **of_file,
        **_embedded(asked, catalog, stated),
        **from_fields({name: getattr(layout, name) for name in layout.shapes if not name.endswith(BOUNDS)}),
        "vector_element_bytes": derived(WIDTHS[dtype], dtype),
        **stated,
    }
    if layout.index in USUAL_DEGREES:
        given.setdefault("index_degree", USUAL_DEGREES[layout.index])
    try:
        return Indexed(layout, dtype, *_built(given, layout, asked, owner))
    except MissingQuantity as error:
        error.args = tuple(by_option(QUANTITIES, why) for why in error.args)
        raise


def planned(known: Quantities, *, on_nodes: bool) -> Iterator[str]:
    """What a plan takes of an index: its loads, rebuilds and bytes, and its queries where they read storage or own drives."""
    if on_nodes:
        known.give({"stored_copies": ONE_COPY, "stored_index_reads": OWN_DRIVES})
        known.link("loaded_index_bytes", known.step("index_copy_bytes"))
    yield from INDEXED
    if known.value("reads_per_query") > 0:
        yield from QUERIED
    if on_nodes:
        yield from (*ON_NODES, *(LOCAL_READS if known.value("missed_index_reads") else ()))


def _is_file(name: str, asked: Mapping[str, Any]) -> bool:
    """Whether an option names a measurement in place of a number."""
    return name == "documents" and asked.get(name) is not None and is_file_name(asked[name])


def _text_of_file(asked: Mapping[str, Any], stated: Mapping[str, Input]) -> dict[str, Input]:
    """The text that a measurement names in place of a number of documents; with `--tokens` its ratios alone.

    Raises UsageError: nothing to index, or vectors and the text that they follow from.
    """
    key = "measured" if "measured" in asked else "documents"
    text = [key if one == "documents" else one for one in TEXT if asked.get(one) is not None]
    if asked.get("vectors") is not None and text:
        why = ", expected one of them: both give the number of vectors"
        raise UsageError(Message(Option("vectors"), ": found with ", Option(text[0]), why))
    if not text and "vectors" not in stated:
        why = ": expected it, or the text behind the vectors: "
        raise UsageError(Message(Option("vectors"), why, Option("documents"), ", ", Option("tokens")))
    if not _is_file("documents", asked):
        return {}
    file = read_measurement(Path(asked["documents"]), key if key == "measured" else "--documents")
    found = {name: file.needed(name) for name in TEXT}
    if asked.get("tokens") is not None:
        mean = float(solve("tokens_per_document", {name: item.value for name, item in found.items()}))
        found = {"tokens_per_document": found["documents"]._replace(value=mean, low=None, high=None)}
    ratio = file.quantity("bytes_per_token")
    return found if ratio is None else {**found, "bytes_per_token": ratio}


def _layout(asked: Mapping[str, Any], catalog: Catalog) -> tuple[Layout, str]:
    """The layout of an index, and the type of its numbers.

    Raises UsageError: no index, or a layout or a type whose files were not counted.
    """
    index, library = asked.get("index"), asked.get("layout")
    if library and (library in catalog.ids(Layout.kind) or library.endswith((".yaml", ".yml"))):
        found = catalog.get(Layout, library)
        if index not in (None, found.index):
            raise option_error("layout", f": found {found.id}, which is {found.index}, expected a layout of {index}")
    else:
        if index is None:
            raise option_error("index", f": expected one of {', '.join(USUAL_LAYOUTS)}")
        one_of("--index", index, USUAL_LAYOUTS)
        known = [one for one in catalog.all(Layout) if one.index == index]
        wanted = library or USUAL_LAYOUTS[index]
        checked = {one.layout: one for one in reversed(known)}
        if wanted not in checked:
            expected = f"expected {', '.join(sorted(one.layout for one in known))}, or a YAML file of your own counts"
            raise option_error("layout", f": no {index} files of '{wanted}' were counted; {expected}")
        found = checked[wanted]
    dtype = asked.get("dtype") or found.dtypes[0]
    one_of("--dtype", dtype, WIDTHS)
    if dtype not in found.dtypes:
        raise option_error("dtype", f": no files of {found.name} in {dtype} were counted, expected {', '.join(found.dtypes)}")
    return found, dtype


def _embedded(asked: Mapping[str, Any], catalog: Catalog, stated: Mapping[str, Input]) -> dict[str, Input]:
    """Dimensions and rate of an embedding model."""
    if asked.get("embedding") is None:
        return {}
    made = model_structure(asked["embedding"], catalog)
    where = f"rows of {made.id}"
    length = stated.get("chunk_tokens", USUAL_CHUNK).value
    if made.longest and length > made.longest:
        expected = f"expected at most {made.longest:,.0f}, as far as the positions of {made.id} reach"
        raise option_error("chunk", f": found {length:,.0f}, {expected}")
    columns = {name: derived(column, where) for name, column in made.quantities(length).items()}
    model = Quantities({**columns, "sequence_length": Input(length)})
    found = {"embedding_flops_per_token": derived(model.value("forward_flops_per_token_full_attention"), where)}
    if made.hidden:
        found["vector_dimensions"] = derived(made.hidden, f"hidden size of {made.id}")
    found["gpus"] = Input(1).by_default("one GPU embeds", "gpus")
    share = catalog.get(Family, EMBEDS).efficiency
    if share is not None:
        found["model_flops_utilization"] = from_catalog(share).by_default("of training runs of encoders", "efficiency")
    card = catalog.get(Gpu, asked.get("gpu") or USUAL_GPU)
    peak = peak_of(card, PRECISION)
    return found if peak is None else {**found, "peak_flops_per_gpu": peak}


def _built(given: dict[str, Input], layout: Layout, asked: Mapping[str, Any], owner: str) -> tuple[Quantities, bool]:
    """The quantities of an index, and whether its vectors follow from a text.

    Raises UsageError: options that contradict each other; MissingQuantity: an input of the size of the index is missing.
    """
    stated = "vectors" not in given
    cases = ["vectors_indexed", *CASES[layout.stores]]
    if layout.reads_per_list is not None:
        cases += ["lists_on_storage", "index_on_storage"]
    elif "index_on_storage" not in cases:
        cases.append("index_in_memory")
        given["index_reads_per_query"] = Input(0, origin="rule", note="memory holds the index")
    if "index_load_bandwidth" in given:
        if asked.get("load_time") is not None:
            raise option_error("load_bandwidth", ": found with --load-time, expected one of them: each gives the other")
        given.pop("index_load_seconds")
        cases.append("index_load_rate_known")
    else:
        cases.append("index_load_time_known")
    if stated or "embedding_flops_per_token" in given:
        given.setdefault("chunk_tokens", USUAL_CHUNK)
    if stated:
        cases.append("text_embedded")
        given.setdefault("bytes_per_token", USUAL_BYTES_PER_TOKEN)
        if "documents" not in given and "tokens" in given:
            given.setdefault("tokens_per_document", USUAL_TOKENS_PER_DOCUMENT)
            cases.append("length_of_documents_known")
    overlap, chunk = (given.get(name, Input(0)).value for name in ("chunk_overlap_tokens", "chunk_tokens"))
    if overlap and overlap >= chunk:
        raise option_error("overlap", f": found {overlap:,.0f}, expected less than the {chunk:,.0f} tokens of a chunk")
    in_lists = layout.index.startswith("ivf")
    if not in_lists:
        given.pop("index_lists", None)
    known = Quantities(given, owner)
    known.state(*cases)
    if in_lists:
        name, source, where, note = USUAL_LISTS.get(layout.stores, USUAL_LISTS["vectors"])
        usual = float(solve(name, {"shard_vectors": known.value("shard_vectors")}))
        item = Input(usual, source=source, where=where, grade="published")
        known.give_default("index_lists", item.by_default(note, "lists"))
    if layout.stores == "sectors":
        # A code has as many parts as its budget has bytes, at most one for each dimension.
        size = min(known.value("usual_code_parts"), getattr(layout.code_parts_max, "value", math.inf))
        known.give_default("code_parts", Input(size, source="milvus-knowhere", where=CODE_BUDGET, grade="published")
                           .by_default("an eighth of the vector, as Milvus builds DiskANN", "code_bytes"))  # fmt: skip
    _check(known, layout)
    known.step("vectors")
    known.step("index_bytes")
    return known, stated


def _check(known: Quantities, layout: Layout) -> None:
    """Refuse sizes that no index of this layout has.

    Raises UsageError: more of something than that of which it is a part, beyond a limit of the layout, or a code that no vector
    of these dimensions has.
    """
    count, lists, codebook = (known.value(name) for name in ("shard_vectors", "index_lists", "codebook_entries"))
    vectors, dimensions, shards = (known.value(name) for name in ("vectors", "vector_dimensions", "index_shards"))
    if layout.index.startswith("ivf") and not lists:
        raise option_error("lists", ": found 0, expected at least 1")
    searched = known.given.get("search_list")
    for key, most, of in (
        ("shards", vectors, "vectors"),
        ("lists", count, "vectors of a shard"),
        ("lists", known.value("filled_lists") if layout.filled_pages else math.inf, "that are long enough to count"),
        ("search_list", count if layout.stores == "sectors" else math.inf, "vectors of a shard"),
        ("top_k", vectors, "vectors of the index"),
        ("top_k", searched.value * shards if searched else math.inf, "candidates of a search"),
        ("cached_nodes", vectors, "vectors"),
        ("probes", lists or math.inf, "lists of a shard"),
        ("code_bytes", dimensions, "dimensions"),
        ("documents", known.value("tokens") if "tokens" in known.given else math.inf, "tokens of the text"),
    ):
        one = known.given.get(QUANTITIES[key])
        if one is not None and one.value > most:
            raise option_error(key, f": found {one.value:,.0f}, expected at most the {most:,.0f} {of}")
    for bound in layout.shapes:
        limit, name, least = getattr(layout, bound), bound[:-4], bound.endswith("_min")
        if limit is None or not bound.endswith(BOUNDS):
            continue
        value = known.value(name)
        if value < limit.value if least else value > limit.value:
            found, end = (display(float(one), unit_of(name), binary=False) for one in (value, limit.value))
            why = f": found {found}, expected at {'least' if least else 'most'} {end} in {layout.name}"
            raise option_error(LIMITED[name], why)
    if codebook > count:
        entries = f"{codebook:,.0f}, which a codebook has entries"
        raise option_error("vectors", f": found {count:,.0f} of a shard, expected at least {entries}")
    code = known.given.get("code_parts")
    if layout.stores == "codes" and code is not None and dimensions % code.value:
        raise option_error("code_bytes", f": found {code.value:,.0f}, expected a divisor of the {dimensions:,.0f} dimensions")


def _warnings(known: Quantities, stated: bool) -> Iterator[str]:
    found = []
    if stated and known.value("documents") > 1:
        ends = {name: float(known.value(name)) for name in ("vectors_at_least", "vectors_at_most")}
        found.append(finding("W112", {"vectors_at_least": ends["vectors_at_least"], "vectors": known.value("vectors_at_most")},
                             {"vectors": "of documents"}, **{name: f"{end:,.0f}" for name, end in ends.items()}))  # fmt: skip
    if not stated and "source_text_bytes" not in known.given:
        found.append(finding("W113", {}, {"source": "without text"}))
    yield from messages(found)
