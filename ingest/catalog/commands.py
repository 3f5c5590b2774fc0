"""`ingest catalog`: list, show and check entries, the folders in use, templates for entries of your own."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ingest.catalog import checked_by
from ingest.catalog.records import (
    KINDS,
    STORAGE_CLASSES,
    Decoder,
    Encoding,
    Entry,
    Model,
    Statement,
    Storage,
    Structure,
    Tier,
    Value,
)
from ingest.catalog.releases import Release, words
from ingest.catalog.schema import read_sources
from ingest.catalog.store import CATALOGS, Catalog, opened
from ingest.catalog.yaml_reader import read_yaml
from ingest.configuration import configuration, configuration_file, shipped_folder
from ingest.engine.interactive import InteractiveResult
from ingest.engine.messages import fact_of
from ingest.engine.question import option
from ingest.engine.registry import check_value, is_quantity, read_value, solve, unit_of
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.errors import IngestError, UsageError, brief, expected_one_of, nearest
from ingest.files import table_beside, write_whole
from ingest.text import grouped
from ingest.units import display, parse_whole

Folders = Annotated[Sequence[str | Path], CATALOGS]
#: every kind that can be listed and shown: the records, and the architectures
LISTED: dict[str, type[Entry]] = {**KINDS, Structure.kind: Structure}
_WRITTEN = table_beside(__file__, "commands.yaml")
#: kind -> its fields that name entries, and the kinds of these
REFERENCES: Mapping[str, Mapping[str, str]] = _WRITTEN["references"]
#: protocols and rounds of 2019 to 2021: DeepLearningExamples, Lambda's benchmarks, MLPerf before v1
OLDER = re.compile(r"dle-|lambda-|\S+ v0\.")
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, repr=False, eq=False)
class CatalogListing(InteractiveResult):
    """The entries of one kind, or of all kinds."""

    kind: str
    entries: tuple[Entry, ...]
    releases: tuple[Release, ...] = ()  # structures that are known by name
    older: tuple[str, ...] = ()  # models that are evidence of benchmarks of 2019 to 2021 alone
    matching: str = ""  # the words that were asked for

    @property
    def results(self) -> dict[str, str]:
        """Names by id."""
        return {entry.id: entry.name for entry in self.entries}

    @property
    def classes(self) -> dict[str, Sequence[str]]:
        """GPUs by what they are, the everyday ones first; none where words choose them."""
        forms = {} if self.matching else _WRITTEN["classes"].get(self.kind, {})
        found = grouped(
            (next(name for name, form in forms.items() if re.search(form, one)), one) for one in self.results if forms
        )
        return {name: found[name] for name in forms if name in found}

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        listed = [
            {"kind": entry.kind, "id": entry.id, "name": entry.name, "missing": {**entry.missing}} for entry in self.entries
        ]
        named = [
            {"kind": Structure.kind, "id": one.id, "name": one.hub or one.id, "missing": {}, "family": one.model_type,
             "parameters": one.parameters, "also": [*one.also]}
            for one in self.releases
        ]  # fmt: skip
        return envelope("catalog list", {"entries": listed + named}, versioned=False)

    def to_frame(self) -> DataFrame:
        """One row per entry."""
        return frame_of(self.to_dict()["entries"])


@dataclass(frozen=True, repr=False, eq=False)
class CatalogEntry(InteractiveResult):
    """One entry with its values, flat: `peak_flops.bf16` and so on."""

    entry: Entry
    catalog: Catalog

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.entry.id

    @property
    def results(self) -> dict[str, Value]:
        """The values by name, without advice for the commands that use them."""
        flat = (pair for name in self.entry.shapes for pair in _flat(name, getattr(self.entry, name)).items())
        return {name: value._replace(note=fact_of(value.note)) for name, value in flat}

    @property
    def words(self) -> dict[str, str]:
        """The text fields by name."""
        named = {name: getattr(self.entry, name) for name in self.entry.shapes if name != "name"}
        listed = {"protections": ", ".join(self.entry.protections)} if isinstance(self.entry, Storage) else {}
        told = {name: item.text if isinstance(item, Statement) else item for name, item in {**named, **listed}.items()}
        return {name: item for name, item in told.items() if isinstance(item, str) and item}

    @property
    def statements(self) -> dict[str, Statement]:
        """The properties in words that have a source, by name."""
        named = {name: getattr(self.entry, name) for name in self.entry.shapes}
        return {name: item for name, item in named.items() if isinstance(item, Statement) and item.source}

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON, values in base units."""
        values = {name: value._asdict() for name, value in self.results.items()}
        rates = [rate._asdict() for rate in self.catalog.rates(self.entry)] if isinstance(self.entry, Model) else []
        head = {"kind": self.entry.kind, "id": self.id, "name": self.entry.name}
        stated = {"statements": {name: item._asdict() for name, item in self.statements.items()}} if self.statements else {}
        tail = {"rates": rates, "missing": {**self.entry.missing}, "notes": [*self.entry.notes]}
        return envelope("catalog show", {**head, **self.words, "values": values, **stated, **tail}, versioned=False)

    def to_frame(self) -> DataFrame:
        """One row per value."""
        return frame_of([{"name": name, **value._asdict()} for name, value in self.results.items()])


def _flat(name: str, item: Any) -> dict[str, Value]:
    if isinstance(item, Value):
        return {name: item}
    if isinstance(item, (Encoding, Tier)):
        item = {part: getattr(item, part) for part in item.shapes}
    if isinstance(item, dict):
        return {inner: value for key, part in item.items() for inner, value in _flat(f"{name}.{key}", part).items()}
    return {}


#: kind -> what people call it besides
CALLED: Mapping[str, str] = _WRITTEN["called"]


def kind_of(word: str) -> type[Entry]:
    """Return the kind of a name in the singular or plural. Raises UsageError: an unknown kind."""
    called = next((kind for kind, names in CALLED.items() if word.lower() in names.split()), "")
    for name in (word.lower(), word.lower() + "s", called, called + "s"):
        if name in LISTED:
            return LISTED[name]
    raise UsageError(f"unknown kind '{word}', {expected_one_of(word, LISTED)}")


def _entry(catalog: Catalog, kind: type[Entry], name: str) -> Entry:
    """An entry whose values are all in the range of their quantities. Raises IngestError: one is not, with its file."""
    entry: Entry = checked_by["structure"]().structure(name, catalog) if kind is Structure else catalog.get(kind, name)
    for quantity, found in CatalogEntry(entry, catalog).results.items():
        if is_quantity(quantity) and unit_of(quantity) == found.unit:
            try:
                check_value(quantity, found.value)
            except UsageError as error:
                raise IngestError(f"{entry.path}: {error}") from None
    return entry


def list(kind: str | None = None, matching: str = "", *, catalogs: Folders = ()) -> CatalogListing:
    """List the entries of a kind whose names have these words; of every kind, and every entry, by default.

    >>> "h100-sxm" in list("gpus").results, [one.id for one in list("models", "kimi-k2").releases][:2]
    (True, ['kimi-k2', 'kimi-k2.5'])

    Raises UsageError: an unknown kind, or no entry whose names have these words.
    """
    catalog = Catalog(catalogs)
    kinds = [kind_of(kind)] if kind else [*LISTED.values()]
    if kinds[0] is Model and matching:
        kinds.append(Structure)
    wanted = words(matching)

    def fits(*names: str) -> bool:
        return any(matching.lower() in name.lower() or f" {wanted} " in f" {words(name)} " for name in names)

    found = {(one, name): _entry(catalog, one, name) for one in kinds for name in catalog.ids(one.kind)}
    entries = tuple(entry for (_, name), entry in found.items() if fits(name, entry.name))
    if kind and matching and not entries:  # a name as tools print it
        meant = catalog.meaning(kinds[0].kind, matching)
        entries = tuple(entry for (_, name), entry in found.items() if name in (meant.entry, *meant.possible))
    rows = catalog.releases.rows.values() if Structure in kinds else ()
    releases = tuple(row for row in rows if row.model_type and fits(row.model_type, *row.names))
    first = kinds[0].kind
    if matching and not entries and not releases:
        if wanted.rstrip("s") == "tokenizer":
            lists = "`ingest measure --help` names the tokenizers that are there, and any other is a file"
        elif not kind:
            lists = f"kinds of entries are {', '.join(LISTED)}"
        else:
            lists = f"`ingest catalog list {first}` lists them"
        raise UsageError(f"no {first if kind else 'entries'} with {brief(matching)} in a name; {lists}")
    unasked = () if matching or not kind else (one for one in entries if isinstance(one, Model))
    rounds = ((one.id, [f"{rate.protocol} {rate.round}" for rate in catalog.rates(one)]) for one in unasked)
    older = tuple(name for name, found in rounds if found and all(map(OLDER.match, found)))
    return CatalogListing(first if kind else "entries", entries, releases, older, matching)


def show(name: str, *, kind: str | None = None, catalogs: Folders = ()) -> CatalogEntry:
    """Show one entry; without a kind, the first entry with that id or alias.

    >>> show("cosmoflow").results["encodings.tfrecord-gzip.stored"].value
    2828486

    Raises UsageError: an unknown entry; names the nearest one.
    """
    catalog = opened(catalogs)
    if kind:
        return CatalogEntry(_entry(catalog, kind_of(kind), name), catalog)
    if name.lower() in LISTED or name.lower() + "s" in LISTED:
        raise UsageError(f"'{name}' is a kind, expected an id after it (`ingest catalog list {kind_of(name).kind}`)")
    if found := held(name, catalog):
        return CatalogEntry(_entry(catalog, *found), catalog)
    known = [item for one in LISTED for item in (*catalog.ids(one), *catalog.aliases.get(one, {}))]
    slip, said = nearest(name, known), catalog.releases.hint(name, "entry")
    if not slip and any(name.lower() in one for one in known):
        said = f"unknown entry {brief(name)}; `ingest catalog list {name}` lists those with that word"
    raise UsageError(said if said and not slip else f"unknown entry {brief(name)}{slip}")


def held(name: str, catalog: Catalog) -> tuple[type[Entry], str] | None:
    """The kind and the name of the entry that a name means; None for any other. Raises UsageError: it may be several."""
    for one in LISTED.values():
        if name.lower() in catalog.ids(one.kind) or name.lower() in catalog.aliases.get(one.kind, {}):
            if one is not Model:
                try:
                    catalog.releases.named(name)
                except UsageError as several:
                    raise UsageError(f"{several}; or `ingest catalog show {one.kind} {name}`") from None
            return one, name
    if meant := next((one for one in LISTED.values() if catalog.meaning(one.kind, name).entry), None):
        return meant, name
    return (Structure, row) if (row := catalog.releases.named(name, structure=True)) is not None else None


def kind_held(name: str) -> str:
    """The kind of the entry that a name means, without what its file has; empty for any other, and for one of several."""
    catalog = opened(())
    with suppress(UsageError):
        found = catalog.once(("held", name), lambda: held(name, catalog))
        return found[0].kind if found else ""
    return ""


#: attribute of a storage entry as it is compared -> its fields
COMPARED: Mapping[str, Sequence[str]] = _WRITTEN["compared"]
OPTIONAL = ("verdict",)  # Attributes without which nothing is unknown of a system: most systems need no verdict
UNKNOWN = "unknown"


class Fact(NamedTuple):
    """What the catalog says of one system under one attribute, with its source."""

    attribute: str
    id: str
    text: str
    grade: str = ""
    source: str = ""


class Budget(NamedTuple):
    """Small reads at a latency: what threads reach that wait for each read."""

    id: str  # an entry, or the user's own budget
    #: latency, per_thread, of_threads: None where no latency is known
    latency: float | None
    per_thread: float | None
    threads: int
    of_threads: float | None
    source: str = ""
    shares: Mapping[str, float] = {}  # parts of the latency by name, where it was given by parts


@dataclass(frozen=True, repr=False, eq=False)
class CatalogComparison(InteractiveResult):
    """Storage systems side by side."""

    entries: tuple[Storage, ...]  # in the order in which they were named, each once
    facts: tuple[Fact, ...]  # by attribute; `unknown` where the catalog has none of a system
    budgets: tuple[Budget, ...]  # latency of small reads, and the IOPS that follow from it
    catalog: Catalog

    @property
    def results(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """What is known, by system and attribute."""
        found: dict[str, dict[str, tuple[str, ...]]] = {entry.id: {} for entry in self.entries}
        for fact in self.facts:
            own = found[fact.id]
            own[fact.attribute] = (*own.get(fact.attribute, ()), fact.text)
        return found

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources cited, each once."""
        named = (*(one.source for one in self.facts), *(one.source for one in self.budgets))
        cited = map(self.catalog.source, dict.fromkeys(filter(None, named)))
        return tuple(f"{source.id}: {source.title}" for source in cited)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        body = {
            "systems": {entry.id: entry.name for entry in self.entries},
            "facts": [fact._asdict() for fact in self.facts],
            "latency": [{**one._asdict(), "shares": {**one.shares}} for one in self.budgets],
        }
        return envelope("catalog compare", body, versioned=False)

    def to_frame(self) -> DataFrame:
        """One row per fact."""
        return frame_of([fact._asdict() for fact in self.facts])


def compare(
    names: Sequence[str],
    *,
    latency: Annotated[
        str | None, option("A latency budget of your own, as one time or by parts: driver=9us,block=6us,device=13us.", "TIME")
    ] = None,
    threads: Annotated[int | str, option("Threads that wait for each small read.")] = 256,
    catalogs: Folders = (),
) -> CatalogComparison:
    """Compare storage systems: consistency, failures, recovery, metadata, protection and rates, with sources.

    `names` are ids of storage entries or YAML files.

    >>> compare(["hdfs", "ceph"]).results["hdfs"]["consistency"]
    ('one writer per file, append only; readers see what was flushed',)
    >>> round(compare(["hdfs"], latency="28 us").budgets[0].of_threads)
    9142857

    Raises UsageError: no name, an unknown entry, or a latency that is no time.
    """
    if not names:
        raise UsageError("no system is named, expected ids such as lustre ceph hdfs")
    catalog = Catalog(catalogs)
    by_id: dict[str, Storage] = {}
    for name in names:
        entry = catalog.get(Storage, name)
        known = by_id.setdefault(entry.id, entry)
        if known.path != entry.path:  # nobody could tell apart the facts of two files of one id
            raise UsageError(f"{entry.path}: its id {entry.id} is that of {known.path}, expected another name of the file")
    entries = tuple(by_id.values())
    facts: dict[tuple[str, str], Sequence[Fact]] = {}
    for attribute in (*COMPARED, "protection"):
        usual = () if attribute in OPTIONAL else (UNKNOWN,)
        for entry in entries:
            told = [*_facts(attribute, entry)] if attribute in COMPARED else [*_protection(entry, catalog)]
            facts[attribute, entry.id] = told or [Fact(attribute, entry.id, text) for text in usual]
    count = parse_whole(threads, "--threads", 1)
    budgets = [_budget(entry, catalog, count) for entry in entries]
    own = [] if latency is None else [_own_budget(latency, count)]
    return CatalogComparison(entries, tuple(chain.from_iterable(facts.values())), (*own, *budgets), catalog)


def _facts(attribute: str, entry: Storage) -> Iterator[Fact]:
    """The facts of an entry under an attribute, or why one is missing."""
    for field in COMPARED[attribute]:
        item = getattr(entry, field)
        if isinstance(item, Statement):
            yield Fact(attribute, entry.id, item.text, item.grade, item.source)
        elif isinstance(item, Value):
            of = f" of one {entry.scaling_unit}" if field in ("read_bandwidth", "write_bandwidth", "io_per_second") else ""
            shown = f"{display(item.value, item.unit, binary=False)}{of}"
            yield Fact(attribute, entry.id, shown if of else f"{field.replace('_', ' ')}: {shown}", item.grade, item.source)
        elif field in entry.missing:
            yield Fact(attribute, entry.id, f"unknown: {entry.missing[field]}")


def _protection(entry: Storage, catalog: Catalog) -> Iterator[Fact]:
    """The share of raw capacity that each protection scheme of an entry leaves."""
    schemes = (catalog.referred(Storage, name, by=entry.path) for name in entry.protections)
    for one, named in [*((scheme, f"{scheme.name}: ") for scheme in schemes), (entry, "")]:
        if (share := one.usable_fraction) is not None:
            text, survived = f"{share.value * 100:.3g} % of raw capacity usable", one.tolerated_failures
            lost = f", survives {survived.value:g}" if named and survived is not None else ""
            yield Fact("protection", entry.id, f"{named}{text}{lost}", share.grade, share.source)


def _budget(entry: Storage, catalog: Catalog, threads: int) -> Budget:
    """The small reads of an entry, or of the software that it runs."""
    software = catalog.referred(Storage, entry.technology, by=entry.path) if entry.technology else entry
    item = entry.request_latency or software.request_latency
    if item is None:
        return Budget(entry.id, None, None, threads, None)
    own = entry.io_per_second if entry.family == "drive" else None
    return _of_latency(entry.id, item.value, threads, item.source, {"unit_drive_io_per_second": own.value} if own else {})


def _own_budget(written: str, threads: int) -> Budget:
    parts = {}
    for part in written.split(","):
        name, sign, amount = part.rpartition("=")
        if (name in parts) or (sign and not name):
            raise UsageError(f"--latency: found '{part}', expected parts such as driver=9us,device=13us")
        parts[name] = read_value("request_seconds", amount, "--latency")
    total = float(solve("latency_of_parts", {"parts_seconds": [*parts.values()]}))
    given = ({"part_seconds": amount, "latency_of_parts": total} for amount in parts.values())
    shares = dict(zip(parts, (float(solve("share_of_latency", one)) for one in given), strict=True))
    return _of_latency("your budget", total, threads)._replace(shares=shares if len(shares) > 1 else {})


def _of_latency(name: str, seconds: float, threads: int, source: str = "", drive: Mapping[str, float] = {}) -> Budget:
    """The requests of one thread and of all; those of a drive are at most its own."""
    formula = "requests_of_drive" if drive else "requests_of_threads"
    each, all_ = (
        float(solve(formula, {**drive, "requesting_threads": count, "request_seconds": seconds})) for count in (1, threads)
    )
    return Budget(name, seconds, each, threads, all_, source)


@dataclass(frozen=True)
class CatalogCheck:
    """The result of `check`."""

    files: int  # how many were checked
    problems: tuple[str, ...]  # one line each
    grades: Mapping[str, Counter[str]]  # how many values of each kind of entry have each grade


def check(folder: str | Path | None = None, *, catalogs: Folders = ()) -> CatalogCheck:
    """Validate every file of a folder, or of all catalogs in use.

    >>> check().problems
    ()

    Raises UsageError: the folder does not exist.
    """
    catalog = Catalog((*catalogs, folder) if folder else catalogs)
    folders = [Path(folder)] if folder else catalog.folders
    problems: dict[str, None] = {}
    grades: dict[str, Counter[str]] = {}
    files = 0
    for place in folders:
        rates_only = [path for path in place.glob("models/*.csv") if not path.with_suffix(".yaml").is_file()]
        # Folders inside it that cannot be listed, or vanish meanwhile, are left out.
        entries = [Path(where, name) for where, _, names in os.walk(place) for name in names if name.endswith(".yaml")]
        for path in sorted([*entries, *rates_only]):
            files += 1 + (path.suffix == ".yaml" and path.with_suffix(".csv").is_file())
            try:
                _check_file(catalog, place, path)
                if (kind := path.parent.name) in KINDS and path.suffix == ".yaml":
                    entry = CatalogEntry(catalog.get(KINDS[kind], str(path)), catalog)
                    grades.setdefault(kind, Counter()).update(value.grade for value in entry.results.values())
            except IngestError as error:
                problems |= dict.fromkeys(str(error).split("\n"))
    return CatalogCheck(files, tuple(problems), grades)


def _check_file(catalog: Catalog, folder: Path, path: Path) -> None:
    inside = path.relative_to(folder).parts
    if path.suffix == ".csv":
        # Rates of a model that another folder describes.
        checked_by["check_rates"]().check_rates(catalog, catalog.referred(Model, path.stem, by=path), path)
        return
    if inside == ("sources.yaml",):
        read_sources(path, read_yaml(path))
    elif inside == ("aliases.yaml",):
        for kind, names in catalog.aliases.items():
            for name in names.values():
                catalog.referred(KINDS[kind], name, by=path)
    elif inside == ("names.yaml",) and folder == catalog.folders[-1]:
        for kind in KINDS.keys() & read_yaml(path):
            for pattern in catalog.patterns[kind]:
                catalog.referred(KINDS[kind], pattern.entry, by=path)
    elif len(inside) == 2 and inside[0] == Structure.kind:
        checked_by["structure"]().structure(str(path), catalog)
    elif len(inside) == 2 and inside[0] in KINDS:
        if not ID.fullmatch(path.stem):
            raise IngestError(f"{path}: '{path.stem}' is not an id, expected lower-case letters, digits and hyphens")
        _check_references(catalog, _entry(catalog, KINDS[inside[0]], str(path)))
    elif inside[0] != "published":
        raise IngestError(f"{path}: unknown place, expected a folder {', '.join(LISTED)}, sources.yaml or aliases.yaml")


def _check_references(catalog: Catalog, entry: Entry) -> None:
    for field, kind in REFERENCES.get(entry.kind, {}).items():
        named = getattr(entry, field)
        for name in [named] if named and isinstance(named, str) else named:
            catalog.referred(KINDS[kind], name, by=entry.path)
    if isinstance(entry, Model):
        for encoding in entry.encodings.values():
            if encoding.decoder:
                catalog.referred(Decoder, encoding.decoder, by=entry.path)
        if (rates := entry.path.with_suffix(".csv")).is_file():
            checked_by["check_rates"]().check_rates(catalog, entry, rates)
    elif isinstance(entry, Storage):
        if entry.family not in STORAGE_CLASSES:
            raise IngestError(f"{entry.path}: family: found '{entry.family}', {expected_one_of(entry.family, STORAGE_CLASSES)}")
        parts = {"protection": entry.protections, "software": (entry.technology,), "drive": (entry.drive,)}
        for family, names in parts.items():
            for name in filter(None, names):
                if (found := catalog.referred(Storage, name, by=entry.path).family) != family:
                    raise IngestError(f"{entry.path}: {name} is of the class {found}, expected {family}")
        for field in ("usable_by_drive", "files_by_drive"):
            for name in getattr(entry, field):
                if name not in entry.drive_choices:
                    expected = expected_one_of(name, entry.drive_choices)
                    raise IngestError(f"{entry.path}: {field}: {name} is no size of drive on offer, {expected}")


def path(*, catalogs: Folders = ()) -> tuple[Path, ...]:
    """Return the folders in use, the nearest overlay first."""
    return tuple(Catalog(catalogs).folders)


class Settings(NamedTuple):
    """The settings in force."""

    file: Path  # the configuration file
    present: bool  # whether there is one
    folders: tuple[tuple[Path, str], ...]  # the folders of the catalogs, the nearest first, and where each comes from
    values: Mapping[str, tuple[str, str]]  # units and currency, and where each comes from


def settings(*, catalogs: Folders = ()) -> Settings:
    """Return the settings in force, and where each comes from: options, the environment, or the configuration file."""
    found = configuration()
    values = {name: (getattr(found, name), found.origins.get(name, "default")) for name in ("units", "currency")}
    overlays = ((one.folder, one.origin) for one in Catalog(catalogs).overlays)
    return Settings(configuration_file(), configuration_file().is_file(), (*overlays, (shipped_folder(), "shipped")), values)


_BODIES = Path(__file__).parent / "starters"  # what all begin with, and a file per kind: its fields with examples and comments
#: kind -> the command and the option that take an entry of it
_OPTIONS: Mapping[str, Sequence[str]] = _WRITTEN["options"]


def template(record: type[Entry], name: str) -> str:
    """Return a commented template that loads without changes. Raises UsageError: a kind without a template."""
    kind = record.kind
    if kind not in _OPTIONS:
        raise UsageError(f"there is no template for {kind}, {expected_one_of(kind, _OPTIONS)}")
    command, option = _OPTIONS[kind]
    head, body = ((_BODIES / file).read_text(encoding="utf-8") for file in ("head.txt", f"{kind}.yaml"))
    return head.format(name=name, thing=option, command=command, option=option, kind=kind) + body


def new(kind: str, name: str, output: str | Path | None = None) -> Path:
    """Write a commented template for an entry of your own, and return its path.

    Raises UsageError: an unknown kind, a name that is not an id, or a file that exists.
    """
    record = kind_of(kind)
    if not ID.fullmatch(name):
        raise UsageError(f"'{name}' is not an id, expected lower-case letters, digits, hyphens, such as my-{record.kind[:-1]}")
    target = Path(f"{name}.yaml" if output is None else output)
    text = template(record, name)
    if target.suffix not in (".yaml", ".yml"):
        raise UsageError(f"-o: found '{target}', expected a file that ends in .yaml")
    if target.exists():
        raise UsageError(f"'{target}' exists already, expected a new file (-o FILE)")
    write_whole(target, text)
    return target
