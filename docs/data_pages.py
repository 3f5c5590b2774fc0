"""The reference pages about data and storage: corpora, pipelines, file formats, storage by class, and the site file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from common import CATALOG, GRADES, SHOW, aliases_part, entry_rows, limits, missing_part, notes_part, page, shown, table

from ingest.catalog.records import STORAGE_CLASSES, Corpus, Format, Layout, Pipeline, Storage
from ingest.engine.registry import unit_of
from ingest.site.schema import TYPES, resolved, schema

BLANK = "`dataset --{option} ID` selects one."


def corpora_page() -> str:
    """Published data sets."""
    found = CATALOG.all(Corpus)
    text = [one for one in found if one.holds == "tokens"]
    samples = [one for one in found if one.holds == "samples"]
    sizes = ("tokens", "documents", "raw_bytes", "clean_bytes", "stored_bytes", "bytes_per_token")
    columns = ("id", "corpus", "tokens", "documents", "raw", "clean text", "as published", "text per token")
    return page(
        "Corpora",
        f"{len(found)} published data sets. {BLANK.format(option='corpus')} {GRADES} {SHOW.format(kind='corpus')}",
        "*Clean text* is without compression, *as published* is the size of the download, mostly compressed.",
        "## Text",
        table(columns, entry_rows(text, "name", *sizes)),
        "## Tokenizer and pipeline",
        table(
            ("id", "tokenizer", "pipeline", "vocabulary"),
            entry_rows(text, "tokenizer", lambda one: one.pipeline and f"`{one.pipeline}`", "vocabulary"),
        ),
        "## Samples",
        table(
            ("id", "data set", "samples", "sample size", "clean", "as published"),
            entry_rows(samples, "name", "samples", "sample_bytes", "clean_bytes", "stored_bytes"),
        ),
        missing_part(found),
        notes_part(found),
        aliases_part("corpora"),
    )


def pipelines_page() -> str:
    """Pipelines and the share of the input that they keep."""
    found = CATALOG.all(Pipeline)
    kept = entry_rows(
        found,
        "input",
        "output",
        *(partial(_kept, what) for what in ("bytes", "documents", "tokens")),
        lambda one: f"{one.input_form} → {one.output_form}" if one.input_form else "",
    )
    signatures = [one for one in found if one.dedup_hashes is not None]
    return page(
        "Pipelines",
        f"{len(found)} pipelines from raw input to clean text. {BLANK.format(option='pipeline')} {GRADES} "
        f"{SHOW.format(kind='pipeline')}",
        "Shares of bytes, documents and tokens differ, so each has a column. A share of bytes depends on the compression of "
        "both sides, which the last column states. If no share is published, the table shows input and output.",
        table(("id", "from", "to", "bytes", "documents", "tokens", "counted as"), kept),
        "## Signatures of fuzzy deduplication",
        table(("id", "hashes per document", "bytes of a hash"), entry_rows(signatures, "dedup_hashes", "dedup_hash_bytes")),
        missing_part(found),
        notes_part(found),
    )


def _kept(what: str, one: Pipeline) -> str:
    """The published share of bytes, documents or tokens, or input and output."""
    share, before, after = (getattr(one, name) for name in (f"{what}_kept", f"input_{what}", f"output_{what}"))
    if share:
        return f"{share.value * 100:.3g}\u00a0%\u00a0{share.grade[0]}"
    return f"{shown(before)} → {shown(after)}" if before and after else ""


def formats_page() -> str:
    """File formats and their overhead."""
    found = CATALOG.all(Format)
    holds = ("name", lambda one: ", ".join(one.holds), "record")
    records = entry_rows(found, *holds, "container_bytes_per_record", "index_bytes_per_record", "member_header_bytes")
    shard = ("shard_fixed_bytes", "index_bytes_per_shard", "shard_quantum", "shard_bytes", "records_per_shard")
    shards = entry_rows(found, *shard, "files_per_shard")
    reads = entry_rows(
        [one for one in found if one.read_pattern],
        "read_pattern",
        "request_bytes",
        "readers_per_gpu",
        lambda one: limits(one.readers_per_gpu),
    )
    compressed = [
        (f"`{one.id}`", holding, shown(share), limits(share))
        for one in found
        for holding, share in one.compressed_shares.items()
    ]
    return page(
        "File formats",
        f"{len(found)} formats with their overhead. `dataset --format ID` selects one. {GRADES} {SHOW.format(kind='format')}",
        "## Per record",
        table(("id", "format", "holds", "record", "bytes in the file", "bytes in the index", "member header"), records),
        "## Per shard",
        table(("id", "fixed", "index", "padded to", "shard size", "records", "files"), shards),
        "## How training reads it\n\nWhole files and shards are read in sequence, random records at random; row groups in "
        "sequence where a request is 1 MiB or larger. The request is at most a file, a group or a record. `io_size`, `pattern` "
        "and `readers` of a job change what `plan` takes.",
        table(("id", "read pattern", "largest request", "readers per GPU", "range of readers"), reads),
        "## Vector indexes\n\n`vectors --index KIND --layout LIBRARY` selects a layout. Versions are those whose files were "
        "counted; what no row has is refused.",
        table(
            ("id", "index", "held against", "numbers", "beside a record", "beside a list", "header"),
            entry_rows(
                CATALOG.all(Layout),
                "index",
                "held_against",
                lambda one: ", ".join(one.dtypes),
                "entry_overhead_bytes",
                "list_overhead_bytes",
                "index_header_bytes",
            ),
        ),
        "## Compression\n\nStored bytes ÷ written bytes, by content.",
        table(("id", "holds", "typical", "range"), compressed),
        missing_part(found),
        notes_part(found),
    )


class Class(NamedTuple):
    """A class of storage: its heading, its meaning, and the columns of its entries."""

    title: str
    answers: str
    columns: Mapping[str, str]


_RATES = {"read_bandwidth": "read", "write_bandwidth": "write"}
CLASSES = {
    "client": Class(
        "Clients",
        "The rate of one client node, whatever system serves it; `fit --client ID` combines a client with a system.",
        {
            "client_read_bandwidth": "read, one client",
            "client_write_bandwidth": "write, one client",
            "gpu_read_bandwidth": "read, one GPU",
            "nic_efficiency": "share of its NICs",
            "reference_io_bytes": "request size",
        },
    ),
    "enclosure": Class(
        "Enclosures of drives",
        "Drives behind a network, without servers and software: `fit` ranks none and gives the reason where one is named.",
        {"read_bandwidth": "read", "drives": "drives", "rack_units": "rack units"},
    ),
    "system": Class(
        "Systems one can buy",
        "Rates, capacities, power and rack units are those of one unit, with drives of the size given.",
        {
            **_RATES,
            "io_per_second": "IOPS",
            "drive_bytes": "drive",
            "raw_bytes": "raw",
            "usable_bytes": "usable",
            "usable_fraction": "usable share",
            "power": "power",
            "rack_units": "rack units",
        },
    ),
    "service": Class(
        "Services one can rent",
        "Rates of services that are sold by the volume or request; those sold by the TiB are under *Tiers of services*.",
        {**_RATES, "client_read_bandwidth": "read, one client", "io_per_second": "IOPS", "opens_per_second": "opens"},
    ),
    "site": Class(
        "Sites",
        "Installations that exist once, for comparison; nobody sells them.",
        {**_RATES, "raw_bytes": "raw", "usable_bytes": "usable", "usable_fraction": "usable share"},
    ),
    "software": Class(
        "Software",
        "File systems and object stores for your own servers; the first protection scheme is the default.",
        {
            **_RATES,
            "filesystem_efficiency": "file-system efficiency",
            "fill_limit": "fill limit",
            "metadata_servers_max": "maximum metadata servers",
        },
    ),
    "drive": Class(
        "Drives",
        "Local drives, for staging and caching; sequential rates, and small random requests.",
        {**_RATES, "io_per_second": "random reads", "write_io_per_second": "random writes", "drive_bytes": "size"},
    ),
    "protection": Class(
        "Protection schemes",
        "`fit --protection ID` and `protection` in a site file select one: k+m stripes, or copies.",
        {
            "data_units": "k",
            "redundancy_units": "m",
            "tolerated_failures": "tolerated failures",
            "usable_fraction": "usable share",
        },
    ),
    "guidance": Class(
        "Guidance of vendors",
        "Rates that a vendor recommends, for comparison; not a system.",
        {"client_read_bandwidth": "one client", **_RATES},
    ),
}

TIER_COLUMNS = {
    "capacity_min": "smallest",
    "capacity_step": "step",
    "capacity_max": "largest",
    "read_bandwidth_per_byte": "read",
    "write_bandwidth_per_byte": "write",
    "read_bandwidth_max": "read at most",
    "client_read_bandwidth": "read, one client",
}


def storage_page() -> str:
    """Storage, a table for each class."""
    found = CATALOG.all(Storage)
    parts = []
    for name in STORAGE_CLASSES:
        made = CLASSES[name]
        entries = [one for one in found if one.family == name]
        rows = entry_rows(entries, "name", "scaling_unit", *made.columns)
        parts += [f"## {made.title}\n\n{made.answers}", table(("id", "name", "unit", *made.columns.values()), rows)]
    behaviour = ("consistency", "failure_tolerance", "failover", "metadata", "verdict")
    offered = [
        (f"`{one.id}`", ", ".join(f"`{name}`" for name in one.protections), *(said.text if said else "" for said in words))
        for one in found
        if any(words := [getattr(one, name) for name in behaviour]) or one.protections
    ]
    tiers = [
        (f"`{one.id}`", name, *(shown(getattr(tier, field)) for field in TIER_COLUMNS))
        for one in found
        for name, tier in one.tiers.items()
    ]
    return page(
        "Storage",
        f"{len(found)} entries in {len(CLASSES)} classes of `ingest fit`. {GRADES} {SHOW.format(kind='storage')}",
        *parts,
        "## Tiers of services\n\nWhat each TiB provisioned buys, the sizes on sale, and the limits of one file system.",
        table(("id", "tier", *TIER_COLUMNS.values()), tiers),
        "## Behaviour",
        table(("id", "protection schemes", *(name.replace("_", " ") for name in behaviour)), offered),
        "## Rates by data set\n\n"
        "If a system or client was measured with the data set of the model, that rate replaces the general one.",
        table(("id", "model", "of", "rate"), _by_model(found)),
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
            parts += [f"## `{title}`\n\n{made['description']}", table(("key", "meaning", "form", "unit"), rows)]
    head = [_row(key, node) for key, node in whole["properties"].items()]
    return page(
        "The site file",
        "The site file is the input of `ingest plan`. `ingest plan --new` writes a starter file, `ingest plan --schema` the "
        "JSON Schema for editors, from which this page is generated. [How to plan a site](../howto/plan-a-site.md) "
        "has an example.",
        "A quantity is a number of things or text such as `2.5 GB/s`; an uncertain quantity may be a range: "
        "`{low: 1 PB, typical: 2 PB, high: 4 PB}`. A time needs its unit (`30 min`), and a key that is not listed here is "
        "refused.",
        f"Required: {' and '.join(f'`{name}`' for name in whole['required'])}. All other keys are optional.",
        table(("key", "meaning", "form", "unit"), head),
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
    meaning = made["description"] + (" Required." if needed else "")
    if "x-quantity" in made:
        name = made["x-quantity"]
        return f"`{key}`", meaning, "quantity or range", f"`{unit_of(name)}`"
    if "x-term" in made:
        return f"`{key}`", meaning, "quantity", f"`{made['x-term']}`"
    return f"`{key}`", meaning, _form(made), ""


def _form(made: Mapping[str, Any]) -> str:
    if "enum" in made:
        return ", ".join(f"`{str(word).lower() if isinstance(word, bool) else word}`" for word in made["enum"])
    if made.get("x-date"):
        return "year or date"
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
