"""The reference pages about data and storage: corpora, pipelines, file formats, storage by class, and the site file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from common import CATALOG, GRADES, SHOW, aliases_part, limits, missing_part, notes_part, page, shown, table

from ingest.catalog.dataset_records import Corpus, Format, Pipeline
from ingest.catalog.records import STORAGE_CLASSES, Storage, Value
from ingest.engine.registry import unit_of
from ingest.site.schema import TYPES, resolved, schema

BLANK = "`dataset --{option} ID` takes it by name."


def corpora_page() -> str:
    """Published data sets."""
    found = CATALOG.all(Corpus)
    text = [one for one in found if one.holds == "tokens"]
    sizes = [
        (
            f"`{one.id}`",
            one.name,
            *map(shown, (one.tokens, one.documents, one.raw_bytes, one.clean_bytes, one.stored_bytes, one.bytes_per_token)),
        )
        for one in text
    ]
    made = [(f"`{one.id}`", one.tokenizer, one.pipeline and f"`{one.pipeline}`", shown(one.vocabulary)) for one in text]
    samples = [
        (f"`{one.id}`", one.name, *map(shown, (one.samples, one.sample_bytes, one.clean_bytes, one.stored_bytes)))
        for one in found
        if one.holds == "samples"
    ]
    columns = ("id", "corpus", "tokens", "documents", "raw", "clean text", "as published", "text per token")
    return page(
        "Corpora",
        f"{len(found)} data sets as they were published. {BLANK.format(option='corpus')} {GRADES} {SHOW.format(kind='corpus')}",
        "*Clean text* is counted without compression, *as published* is what one downloads, mostly compressed.",
        "## Text",
        table(columns, sizes),
        "## Whose tokens, and what made the text",
        table(("id", "tokenizer", "pipeline", "vocabulary"), made),
        "## Samples",
        table(("id", "data set", "samples", "bytes of a sample", "clean", "as published"), samples),
        missing_part(found),
        notes_part(found),
        aliases_part("corpora"),
    )


def pipelines_page() -> str:
    """What was left of the input."""
    found = CATALOG.all(Pipeline)
    kept = [
        (
            f"`{one.id}`",
            one.input,
            one.output,
            _kept(one.bytes_kept, one.input_bytes, one.output_bytes),
            _kept(one.documents_kept, one.input_documents, one.output_documents),
            _kept(one.tokens_kept, one.input_tokens, one.output_tokens),
            f"{one.input_form} → {one.output_form}" if one.input_form else "",
        )
        for one in found
    ]
    signatures = [
        (f"`{one.id}`", *map(shown, (one.dedup_hashes, one.dedup_hash_bytes))) for one in found if one.dedup_hashes is not None
    ]
    return page(
        "Pipelines",
        f"{len(found)} ways from raw input to clean text. {BLANK.format(option='pipeline')} {GRADES} "
        f"{SHOW.format(kind='pipeline')}",
        "Shares of bytes, of documents and of tokens differ, so they stand apart. A share of bytes depends on how both sides "
        "were compressed, which the last column tells. Where no share was published, both ends of it stand here.",
        table(("id", "from", "to", "bytes", "documents", "tokens", "counted as"), kept),
        "## Signatures of fuzzy deduplication",
        table(("id", "hashes per document", "bytes of a hash"), signatures),
        missing_part(found),
        notes_part(found),
    )


def _kept(share: Value | None, before: Value | None, after: Value | None) -> str:
    """What was published: the share, or both ends of it."""
    if share:
        return f"{share.value * 100:.3g}\u00a0%\u00a0{share.grade[0]}"
    return f"{shown(before)} → {shown(after)}" if before and after else ""


def formats_page() -> str:
    """File formats and what they add."""
    found = CATALOG.all(Format)
    records = [
        (
            f"`{one.id}`",
            one.name,
            ", ".join(one.holds),
            one.record,
            *map(shown, (one.container_bytes_per_record, one.index_bytes_per_record, one.member_header_bytes)),
        )
        for one in found
    ]
    shards = [
        (
            f"`{one.id}`",
            *map(shown, (one.shard_fixed_bytes, one.index_bytes_per_shard, one.shard_quantum, one.shard_bytes)),
            *map(shown, (one.records_per_shard, one.files_per_shard)),
        )
        for one in found
    ]
    compressed = [
        (f"`{one.id}`", holding, shown(share), limits(share))
        for one in found
        for holding, share in one.compressed_shares.items()
    ]
    return page(
        "File formats",
        f"{len(found)} formats and what each adds to the data in it. `dataset --format ID` takes it by name. {GRADES} "
        f"{SHOW.format(kind='format')}",
        "## For each record",
        table(("id", "format", "holds", "record", "in the file", "in the index", "header of a member"), records),
        "## For each shard",
        table(("id", "fixed", "index", "padded to", "closed at", "records", "files"), shards),
        "## Compression\n\nStored bytes over written bytes, by what is held.",
        table(("id", "holds", "typical", "range"), compressed),
        missing_part(found),
        notes_part(found),
    )


class Class(NamedTuple):
    """A class of storage: its heading, what it answers, and the columns that its entries fill."""

    title: str
    answers: str
    columns: Mapping[str, str]


_RATES = {"read_bandwidth": "reads", "write_bandwidth": "writes"}
CLASSES = {
    "client": Class(
        "Clients",
        "What one client node reaches, whatever stands behind it; `fit --client ID` joins one to a system.",
        {
            "client_read_bandwidth": "one client reads",
            "client_write_bandwidth": "one client writes",
            "gpu_read_bandwidth": "one GPU reads",
            "nic_efficiency": "share of its NICs",
            "reference_io_bytes": "at requests of",
        },
    ),
    "system": Class(
        "Systems",
        "Appliances, services and whole sites. Rates and capacities are those of one unit.",
        {
            **_RATES,
            "io_per_second": "requests/s",
            "raw_bytes": "raw",
            "usable_bytes": "usable",
            "usable_fraction": "usable share",
        },
    ),
    "software": Class(
        "Software",
        "File systems and object stores on servers of one's own; the first protection scheme is the default.",
        {
            **_RATES,
            "filesystem_efficiency": "kept by the file system",
            "fill_limit": "fill limit",
            "metadata_servers_max": "metadata servers, at most",
        },
    ),
    "drive": Class("Drives", "Local drives, for staging and caching.", {**_RATES, "io_per_second": "requests/s"}),
    "protection": Class(
        "Protection schemes",
        "`fit --protection ID` and `protection` in a site file take these by name; k+m stripes, or copies.",
        {
            "data_units": "k",
            "redundancy_units": "m",
            "tolerated_failures": "failures survived",
            "usable_fraction": "usable share",
        },
    ),
    "guidance": Class(
        "Guidance of vendors",
        "What a vendor recommends to provide, for comparison; it is no system.",
        {"client_read_bandwidth": "one client", **_RATES},
    ),
}


def storage_page() -> str:
    """Storage, a table for each class."""
    found = CATALOG.all(Storage)
    parts = []
    for name in STORAGE_CLASSES:
        made = CLASSES[name]
        entries = [one for one in found if one.family == name]
        rows = [
            (f"`{one.id}`", one.name, one.scaling_unit, *(shown(getattr(one, field)) for field in made.columns))
            for one in entries
        ]
        parts += [f"## {made.title}\n\n{made.answers}", table(("id", "name", "unit", *made.columns.values()), rows)]
    offered = [
        (f"`{one.id}`", ", ".join(f"`{name}`" for name in one.protections), one.consistency, one.failover, one.metadata)
        for one in found
        if one.protections or one.consistency or one.failover or one.metadata
    ]
    return page(
        "Storage",
        f"{len(found)} entries in {len(CLASSES)} classes; each class answers another question of `ingest fit`. {GRADES} "
        f"{SHOW.format(kind='storage')}",
        *parts,
        "## How they behave",
        table(("id", "protection schemes", "consistency", "failover", "metadata"), offered),
        "## Rates of one model's data set\n\nWhere a system or client was measured with the very data set, that rate wins.",
        table(("id", "model", "whose", "rate"), _by_model(found)),
        missing_part(found),
        notes_part(found),
        aliases_part("storage"),
    )


def _by_model(found: Sequence[Storage]) -> Iterator[tuple[str, ...]]:
    for one in found:
        for whose, rates in (("client", one.client_read_bandwidth_by_model), ("unit", one.read_bandwidth_by_model)):
            yield from ((f"`{one.id}`", f"`{model}`", whose, shown(rate)) for model, rate in rates.items())


# The site file


def site_page() -> str:
    """Every key of a site file, from its schema."""
    whole = schema()
    parts = []
    for key, node in whole["properties"].items():
        made = resolved(node)
        inner = made.get("additionalProperties")
        rows = [*_keys(resolved(inner) if isinstance(inner, Mapping) else made)]
        if rows:
            title = f"{key}.NAME" if isinstance(inner, Mapping) else key
            parts += [f"## `{title}`\n\n{made['description']}", table(("key", "what it is", "written as", "unit"), rows)]
    head = [_row(key, node) for key, node in whole["properties"].items()]
    return page(
        "The site file",
        "What `ingest plan` reads. `ingest plan --new` writes one to start from, `ingest plan --schema` the JSON Schema that "
        "this page is made from, for editors. [How to plan a site](../howto/plan-a-site.md) shows it at work.",
        "A quantity is a number in base units or text such as `2.5 GB/s`; where it is not certain, its range: "
        "`{low: 1 PB, typical: 2 PB, high: 4 PB}`. A key that is not listed here is refused.",
        f"Needed are {' and '.join(f'`{name}`' for name in whole['required'])}; all else may be left out.",
        table(("key", "what it is", "written as", "unit"), head),
        *parts,
    )


def _keys(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, ...]]:
    """A row for each key below a node; nested keys with dots, except those of a quantity."""
    needed = node.get("required", ())
    for key, item in node.get("properties", {}).items():
        made = resolved(item)
        yield _row(f"{prefix}{key}", item, key in needed)
        if "x-quantity" not in made:
            yield from _keys(made, f"{prefix}{key}.")


def _row(key: str, item: Mapping[str, Any], needed: bool = False) -> tuple[str, ...]:
    made = resolved(item)
    meaning = made["description"] + (" Needed." if needed else "")
    if "x-quantity" in made:
        name = made["x-quantity"]
        return f"`{key}`", meaning, "a quantity or its range", f"`{unit_of(name)}`"
    return f"`{key}`", meaning, _form(made), ""


def _form(made: Mapping[str, Any]) -> str:
    if "enum" in made:
        return ", ".join(f"`{word}`" for word in made["enum"])
    if made.get("x-date"):
        return "a year, or a date"
    types = [made["type"]] if isinstance(made["type"], str) else made["type"]
    words = " or ".join(TYPES[name] for name in types)
    if "minimum" in made:
        words += f", {made['minimum']} to {made['maximum']}" if "maximum" in made else f" from {made['minimum']}"
    return words


PAGES: dict[str, Callable[[], str]] = {
    "reference/corpora.md": corpora_page,
    "reference/pipelines.md": pipelines_page,
    "reference/formats.md": formats_page,
    "reference/storage.md": storage_page,
    "reference/site-file.md": site_page,
}
