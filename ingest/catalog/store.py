"""Look-up of entries in the shipped catalogs and the overlays of the user; each entry is read on demand."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

from ingest.catalog.device_names import Meaning, Pattern, labelled, meaning, patterns_of, plain, told_in, unwrapped, words_of
from ingest.catalog.records import KINDS, AnyEntry, Entry, Gpu, Node, Rate
from ingest.catalog.releases import FILE, Releases, releases_in, words
from ingest.catalog.schema import Reader, read_rates, read_sources
from ingest.catalog.yaml_reader import ABSENT, Stamp, hash_of, line_of, prepared, read_yaml, stamp_of, state_of
from ingest.configuration import Overlay, overlays_in_force, shipped_folder
from ingest.engine.question import option
from ingest.engine.value import Source
from ingest.errors import CatalogError, UsageError, brief, in_width, listed, nearest, unknown

Made = TypeVar("Made")

#: The option by which every command takes folders of entries.
CATALOGS = option("Folder with entries of your own; repeatable, the last one overrides.", "DIR", many=True, default=())
#: Kinds whose names carry a generation or a size, and how many figures of it a slip leaves.
FIGURES = {"gpus": 2, "nodes": 2, "models": 1}
#: kind -> what an entry is that stands where another kind is expected, and what to do with it
INSTEAD = {
    "nodes": ("node type", "give --node {}"), "gpus": ("GPU", "give --gpu {}"), "models": ("model", "give --model {}"),
    "storage": ("storage system", "`ingest fit --storage {}`"), "corpora": ("data set", "`ingest dataset {}` sizes it"),
}  # fmt: skip
#: Kinds whose names stand in the lines and labels of tools, or in addresses of hubs.
UNWRAPPED = ("gpus", "nodes", "corpora")
#: The rates of every model by GPU, written by `docs/generate.py`.
TABLE = "rates-by-gpu.csv"
MAX_NAME = 250  # Longer than any id or path; file systems refuse such names with various messages


def opened(catalogs: Catalog | str | Path | Sequence[str | Path]) -> Catalog:
    """Return an open catalog as it is, or a catalog with these folders on top: what this thread has read is not read again.

    It begins with what the last one of these folders has read, unless they changed. Each call has a catalog of its own: it
    looks once at each file that it needs, and entries and sources that it brings in files of its own hold for it alone.
    """
    if isinstance(catalogs, Catalog):
        return catalogs
    overlays = tuple(overlays_in_force(catalogs))
    known: dict[tuple[Overlay, ...], Catalog] = _THREAD.__dict__.setdefault("catalogs", {})
    base = known.get(overlays)
    if base is None or [*map(stamp_of, base._frame)] != [*base._frame.values()]:
        while len(known) >= MOST_KEPT:
            known.pop(next(iter(known)))
        base = known[overlays] = Catalog.__new__(Catalog)
        base._open(overlays)
    while len(base.memory) > MOST_REMEMBERED:
        del base.memory[next(iter(base.memory))]
    made = Catalog.__new__(Catalog)
    made.__dict__.update(base.__dict__)
    made._base, made._named, made._own_sources, made._checked, made._resting = base, {}, {}, set(), {}
    return made


#: The catalogs that each thread keeps, the results that one of them remembers, and of folders their state when they were read.
MOST_KEPT, MOST_REMEMBERED = 4, 2000
_THREAD = local()


class ShippedSources(dict[str, Any]):
    """The shipped sources, each read when it is first asked for: there are hundreds, and an answer cites few, often."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__((block.partition(":")[0], block) for block in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:])
        self.path = path
        # What was read with these sources, by its file: the content of the file, and what was made of it.
        self.cited: dict[tuple[object, Path], tuple[Any, Any]] = {}

    def __getitem__(self, name: str) -> Source:
        found: str | Source = super().__getitem__(name)
        if isinstance(found, str):
            content = prepared(found, self.path)
            if content is ABSENT:
                import yaml

                content = yaml.load(found, Loader=yaml.CSafeLoader)
            found = self[name] = read_sources(self.path, content)[name]
        return found

    def once(self, kind: object, path: Path, content: Any, read: Callable[[], Made]) -> Made:
        """What is made of a file, made once per process as long as the file has this content."""
        known = self.cited.get((kind, path))
        if known is None or known[0] is not content:
            known = self.cited[kind, path] = content, read()
        return known[1]


#: The shipped sources of a content, once per process.
shipped_sources = lru_cache(maxsize=2)(ShippedSources)


class FromFolders(cached_property[Made]):
    """What follows from the folders alone: it is kept for later catalogs of them."""

    if not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            return super().__get__(instance and (instance._base or instance), owner)


class Catalog:
    """All entries, the nearest overlay first: `overlays`, INGEST_CATALOGS, the user's configuration and folder, then shipped.

    Files are read on demand, one per entry. Overlays are folders laid out like the shipped one; a later one overrides an
    earlier one.

    >>> from ingest.catalog.records import Gpu
    >>> Catalog().get(Gpu, "h100").id
    'h100-sxm'
    """

    def __init__(self, overlays: str | Path | Sequence[str | Path] = ()) -> None:
        self._open(overlays_in_force(overlays))

    def _open(self, overlays: Sequence[Overlay]) -> None:
        #: The folders of the user, the nearest first.
        self.overlays = tuple(overlays)
        self.folders: list[Path] = [*(one.folder for one in overlays), shipped_folder()]
        self._entries: dict[tuple[str, str], Entry] = {}
        self._rates: dict[str, tuple[tuple[Rate, ...], list[str]]] = {}
        self._ids: dict[str, tuple[str, ...]] = {}
        #: results that follow from the entries alone, computed once, and the files on which each rests
        self.memory: dict[object, tuple[Any, frozenset[str]]] = {}
        #: the states of the files that were read, as they were before
        self._states: dict[str, Stamp] = {}
        # The catalog that keeps what this one reads, for later ones.
        self._base: Catalog | None = None
        # Of this call alone: entries by names that may be others to the next one, sources in files of its own, the files that
        # it has looked at, and those on which each result rests that is being made.
        self._named: dict[tuple[str, str], Entry] = {}
        self._own_sources: dict[str, Source] = {}
        self._checked: set[str] = set()
        self._resting: dict[int, set[str]] = {}
        #: the states of folders of entries, and of tables of all of them, on which more rests than one entry
        self._frame: dict[str, Stamp] = {}

    def _rests_on(self, *places: str) -> None:
        """Note the state of places of the folders before they are read: if it changes, later catalogs begin anew."""
        for name in (f"{folder}/{place}" for folder in self.folders for place in places):
            if name not in self._frame:
                self._frame[name] = state_of(name)

    def looked_at(self, path: str | Path) -> bool:
        """Whether a file of the folders is as it was read: each call looks once; if it changed, all but earlier answers forget.

        A file that was not read before is; its state is noted, and what is being made rests on it.
        """
        name = str(path)
        for files in [*self._resting.values()] if self._resting else ():
            files.add(name)
        if name in self._checked:
            return True
        self._checked.add(name)
        if name not in self._states:
            self._states[name] = state_of(name)
        elif stamp_of(name) != self._states[name]:
            fresh: dict[str, Any] = {"_entries": {}, "_rates": {}, "memory": {}}
            for one in (self, self._base or self):
                one.__dict__.update(fresh)
            self._states[name] = state_of(name)
            return False
        return True

    def once(self, key: object, make: Callable[[], Made]) -> Made:
        """What follows from a key and the entries alone: made again only where one of them changed on which it rests."""
        known = self.memory.pop(key, None)
        unseen: set[str] | frozenset[str] = set() if known is None else known[1] - self._checked
        if as_read := [*map(stamp_of, unseen)] == [*map(self._states.get, unseen)]:  # one by one only where one differs
            self._checked |= unseen
        if known is not None and (as_read or all(map(self.looked_at, unseen))):
            for files in [*self._resting.values()]:
                files.update(known[1])
            self.memory[key] = known  # what is asked for again and again is forgotten last
            return known[0]  # type: ignore[no-any-return]
        files = set[str]()
        self._resting[id(files)] = files
        try:
            made = make()
        finally:
            del self._resting[id(files)]
        self.memory[key] = made, frozenset(files)
        return made

    def _part(self) -> None:
        """Share nothing with later catalogs: entries of a call's own, and their sources, hold for this one alone."""
        if self._base is not None:
            self._entries, self._rates, self._states = {**self._entries}, {**self._rates}, {**self._states}
            self._base, self.memory = None, {**self.memory}

    def __getstate__(self) -> dict[str, Any]:
        """The folders, and the sources of entries given by file: everything else is read again."""
        return {"overlays": self.overlays, "own_sources": self._own_sources}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._open(state["overlays"])
        self._own_sources = state["own_sources"]

    def get(self, record: type[AnyEntry], name: str) -> AnyEntry:
        """Return an entry by id, alias or YAML file.

        Raises UsageError: an unknown entry; names the nearest one; CatalogError: the entry's file is broken.
        """
        if not isinstance(name, str) or len(name) > MAX_NAME:
            raise UsageError(f"{record.kind}: found {brief(name)}, expected an id or a YAML file")
        key = (record.kind, name)
        known = self._entries.get(key) or self._named.get(key)
        if known is None or not self.looked_at(known.path):
            path = self._find(record.kind, name)
            if path.parent.parent not in self.folders:
                self._part()
            self.looked_at(path)
            known = self._load(record, path)
            # Other names may be files in the folder of another call.
            lasts = name in self.ids(record.kind) or name.lower() in self.aliases.get(record.kind, {})
            (self._entries if lasts else self._named)[key] = known
        return known  # type: ignore[return-value]

    def referred(self, record: type[AnyEntry], name: str, by: Path) -> AnyEntry:
        """Return an entry that another file names. Raises CatalogError: an unknown entry; names the file that refers to it."""
        try:
            return self.get(record, name)
        except UsageError as error:
            raise CatalogError(f"{by}: {error}") from None

    def _find(self, kind: str, name: str) -> Path:
        self._rests_on(kind)
        if kind == "models":
            name = self.model_id(name)
            if name not in self.ids(kind) and name.lower() not in self.aliases.get(kind, {}) and name in self.releases.rows:
                raise UsageError(f"model: {name} is known by its structure alone, and has no measured rates and no data set")
        as_path = name.endswith((".yaml", ".yml")) or "/" in name or os.sep in name
        if as_path and Path(name).is_file():
            return Path(name)
        hub = self.releases.hint(name) if kind == "models" and as_path and not Path(name).exists() else ""
        if "hf://" in hub:
            raise UsageError(hub)
        typed = () if as_path else (name.lower(), self.aliases.get(kind, {}).get(name.lower(), ""))
        meant = next((Meaning(one) for one in typed if one in self.ids(kind)), None) or self.meaning(kind, name)
        for folder in self.folders if meant.entry else ():
            if os.path.lexists(path := folder / kind / f"{meant.entry}.yaml"):  # reading refuses a pipe, and a link to nothing
                return path
        raise UsageError(self._unknown(kind, name, meant, as_path))

    def meaning(self, kind: str, name: str) -> Meaning:
        """What a name of a kind means that is neither an id nor an alias: another spelling, or what a tool prints."""
        if not name.replace("\t", " ").isprintable() or name.endswith((".yaml", ".yml")):
            return Meaning()
        wanted = plain(unwrapped(name) if kind in UNWRAPPED else name)
        known = (*zip(self.ids(kind), self.ids(kind), strict=True), *self.aliases.get(kind, {}).items())
        spelt = self.once(("plain", kind), lambda: [(plain(written), entry) for written, entry in known])
        same = [*dict.fromkeys(entry for written, entry in spelt if written == wanted)]
        return meaning(name, self.patterns.get(kind, ()), same)

    @FromFolders
    def patterns(self) -> dict[str, list[Pattern]]:
        """The words of the entries that tools print, by kind."""
        return {kind: patterns_of(names) for kind, names in self.names.items() if kind != "series"}

    @FromFolders
    def names(self) -> dict[str, dict[str, dict[str, str]]]:
        """The shipped table of names that tools print: `{kind: {words of the vendor: {entry: words}}}`."""
        self._rests_on("names.yaml")
        return read_yaml(self.folders[-1] / "names.yaml")  # type: ignore[no-any-return]

    def device(self, name: str, kind: str) -> str:
        """What to say of the name of an entry of another kind than the expected one; empty for any other."""
        for other, (what, instead) in INSTEAD.items():
            found = self.meaning(other, name).entry or self.canonical(other, name)
            if other != kind and found in self.ids(other):
                carried = ""
                if (other, kind) == (Gpu.kind, Node.kind):  # a site file names nodes alone, the usual one of a GPU first
                    usual = self.get(Gpu, found).usual_node
                    nodes = [one for one in self.ids(Node.kind) if self.get(Node, one).gpu == found]
                    held = sorted(nodes, key=lambda one: one != usual)[:3]
                    carried = f"; in a site file {', '.join([*held, 'or your YAML file of a node'])}"
                return f"is a {what}, expected a {kind.removesuffix('s')}: {instead.format(found)}{carried}"
        return ""

    def _unknown(self, kind: str, name: str, meant: Meaning, as_path: bool) -> str:
        """Why a name is no entry: what it could be, or what is near."""
        singular = {"families": "family", "corpora": "corpus"}.get(kind, kind.removesuffix("s"))
        shown = f"'{name}'" if name.isprintable() else brief(name)
        if meant.slice and kind in ("nodes", "gpus"):
            return f"{shown} is a slice of a GPU, expected the whole GPU: {listed(meant.possible or meant.near or ['an id'])}"
        if kind in ("nodes", "gpus", "models", "storage") and (device := self.device(name, kind)):
            return f"{shown} {device}"
        if kind in ("nodes", "gpus") and name.isdecimal():
            return f"{singular} {shown} is a number, expected an id; `{kind}` takes how many there are"
        said = {*words_of(unwrapped(name))}
        outside = [one for one in self.patterns["outside"] if one.needed <= said]
        if kind in (Gpu.kind, Node.kind) and not outside and (not meant.possible or (kind == Node.kind and labelled(name))):
            told = self.meaning(Gpu.kind, told_in(name, self.patterns[Gpu.kind], kind == Node.kind))
            if held := (told.entry,) if told.entry else told.possible:
                ways = (f"{shown} is no listed node; give --gpu {listed(held, most)}" for most in range(len(held), 0, -1))
                return in_width(ways)
        if meant.possible and not (outside and len(meant.possible) == 1):
            others = ", or one not listed" if len(meant.possible) == 1 else ""
            return f"{singular} {shown} could be {listed(meant.possible)}{others}: name one"
        if outside and kind in self.patterns:
            return f"{shown} {max(outside, key=lambda one: len(one.needed)).entry}"
        if kind == "corpora" and re.fullmatch(r"\w[\w.-]*/\w[\w.-]*|[0-9.]+[kmbt]?", unwrapped(name)):
            return f"the data set {shown} is not in the catalogs: give --tokens, or --samples and --sample-bytes"
        spelt = " ".join(re.findall(r"[a-z0-9]+|\.\.\.", f"{name} {unwrapped(name)}".lower()))
        forms = self.names["series"]["all"].items() if kind in (Gpu.kind, Node.kind) else ()
        if what := next((what for what, form in forms if re.search(form, spelt)), ""):
            same = [one for one in self.patterns[Gpu.kind] if one.entry in meant.near[:1] and one.needed <= {*words_of(name)}]
            rest = f"nearest {same[0].entry}" if same else "`ingest catalog new gpu NAME` writes a file"
            return f"{shown} {what}" + ("" if ";" in what else f"; {rest}")
        if as_path and not meant.near and plain(unwrapped(name)) == plain(name):
            found = f"{shown} is not a regular file" if Path(name).exists() else f"no such file: {shown}"
            return f"{kind}: {found}, expected an id or a YAML file"
        # The entries in whose names it occurs whole, as of a vendor or of a data set: those whose ids hold it first.
        sought, of_kind = f" {words(name)} ", () if kind == "models" or not words(name).strip() else self.ids(kind)
        holding = [one for one in of_kind if sought in f" {words(one)} # {words(self.get(KINDS[kind], one).name)} "]
        if holding := sorted(holding, key=lambda one: (sought not in f" {words(one)} ", len(one), one)):
            return in_width(f"unknown {singular} {shown}; with that name: {listed(holding, most)}" for most in range(5, 0, -1))
        known = [*self.ids(kind), *self.aliases.get(kind, {}), *(self.ids("architectures") if kind == "models" else [])]
        three = self.releases.hint(name) if kind == "models" else ""
        slip = nearest(name, known, FIGURES.get(kind, 0))
        if three and (not slip or re.search(r"\d|/", name)):
            return three
        if meant.near and not slip:
            return unknown(f"{singular} {shown}", meant.near, "a YAML file", "a file")
        lists = f"; `ingest catalog list {kind}` lists them"
        return in_width(f"unknown {singular} {shown}{slip or way}" for way in (f"{lists}, or give a YAML file", lists))

    def _load(self, record: type[Entry], path: Path) -> Entry:
        data = read_yaml(path)
        if isinstance(data, dict) and "sources" in data:
            self._part()
            self._own_sources.update(read_sources(path, data["sources"]))
        elif path.parent.parent == self.folders[-1]:
            return self._shipped_sources.once(record, path, data, lambda: self._reader(path).entry(record, data))
        return self._reader(path).entry(record, data)

    def _reader(self, path: Path) -> Reader:
        return Reader(path, ChainMap(self._own_sources, self.sources))

    def rates(self, model: Entry) -> tuple[Rate, ...]:
        """Return the measured rates of a model: the CSV next to its file, and those of its id in every overlay."""
        key = str(model.path)
        found, files = self._rates.get(key, ((), []))
        if not files or not all(map(self.looked_at, files)):
            own = model.path.with_suffix(".csv")
            overlaid = [folder / model.kind / own.name for folder in self.folders]
            # A file given by its path is a model of its own, whatever its name.
            paths = overlaid if own in overlaid else [own]
            found = tuple(rate for path in paths if path.exists() for _, rate in self.numbered_rates(path))
            self._rates[key] = found, [*map(str, paths)]
        return found

    def numbered_rates(self, path: Path) -> tuple[tuple[int, Rate], ...]:
        """Return the rates of one CSV with their line numbers, aliases resolved."""
        self.looked_at(path)
        return tuple(
            (line, rate._replace(gpu=self.canonical("gpus", rate.gpu), protocol=self.canonical("protocols", rate.protocol)))
            for line, rate in read_rates(path, self._reader(path))
        )

    def canonical(self, kind: str, name: str) -> str:
        """Return the id of an alias; any other name as it is."""
        return self.aliases.get(kind, {}).get(name.lower(), name)

    def ids(self, kind: str) -> tuple[str, ...]:
        """Return the ids of one kind, sorted, without reading the entries."""
        if kind not in self._ids:
            self._rests_on(kind)
            self._ids[kind] = tuple(sorted({path.stem for folder in self.folders for path in (folder / kind).glob("*.yaml")}))
        return self._ids[kind]

    @FromFolders
    def releases(self) -> Releases:
        """The structures that are known by name, and the names of models and structures with an entry of their own."""
        self._rests_on(f"architectures/{FILE}")
        aliases = self.aliases.get("models", {})
        entries = {name: name for kind in ("architectures", "models") for name in self.ids(kind)}
        return Releases(releases_in(self.folders), {**aliases, **entries})

    def model_id(self, written: str) -> str:
        """The id of the model that a name stands for, as people and machines write it; a file, and an unknown name, as it is.

        >>> Catalog().model_id("meta-llama/Llama-3.1-8B-Instruct")
        'llama3-8b'

        Raises UsageError: a name that stands for several models.
        """
        if not isinstance(written, str) or written.endswith((".json", ".yaml", ".yml", "/")) or len(written) > MAX_NAME:
            return written
        wanted = written.lower()
        if wanted in self.ids("models") or wanted in self.ids("architectures") or wanted in self.aliases.get("models", {}):
            return written
        if os.path.lexists(written) or ("://" in written and not written.startswith("hf://")):
            return written
        return self.once(
            ("named", written), lambda: self.releases.named(written) or self.meaning("models", written).entry or written
        )

    def all(self, record: type[AnyEntry]) -> list[AnyEntry]:
        """Return every entry of one kind."""
        return [self.get(record, name) for name in self.ids(record.kind)]

    @FromFolders
    def sources(self) -> ChainMap[str, Source]:
        """All sources by id; those of a nearer folder override the others."""
        self._rests_on("sources.yaml")
        *paths, _ = [path for folder in self.folders if (path := folder / "sources.yaml").exists()]
        return ChainMap(*(read_sources(path, read_yaml(path)) for path in paths), self._shipped_sources)

    @FromFolders
    def _shipped_sources(self) -> ShippedSources:
        self._rests_on("sources.yaml")
        path = self.folders[-1] / "sources.yaml"
        return shipped_sources(path, path.read_text(encoding="utf-8"))

    def source(self, name: str) -> Source:
        """Return a source by id, also one from the file of an entry. Raises KeyError: an unknown source."""
        return self._own_sources.get(name) or self.sources[name]

    @FromFolders
    def aliases(self) -> dict[str, dict[str, str]]:
        """Aliases by kind: `h100` for `h100-sxm`."""
        self._rests_on("aliases.yaml")
        merged: dict[str, dict[str, str]] = {}
        for folder in reversed(self.folders):
            if not (path := folder / "aliases.yaml").exists():
                continue
            data = read_yaml(path)
            if not isinstance(data, dict):
                raise CatalogError(f"{path}:1: expected keys and values, a table per kind: {', '.join(KINDS)}")
            for kind, names in data.items():
                if kind not in KINDS or not isinstance(names, dict):
                    line = line_of(path, (kind,))
                    raise CatalogError(f"{path}:{line}: found '{kind}', expected a table of names under {', '.join(KINDS)}")
                merged.setdefault(kind, {}).update({alias.lower(): str(name) for alias, name in names.items()})
        return merged

    def overlays_listed(self) -> list[dict[str, str]]:
        """Return the user's own folders, the nearest first, and where each comes from, as JSON."""
        return [{"folder": str(one.folder), "from": one.origin} for one in self.overlays]

    def content_hash(self) -> str:
        """Return the SHA-256 over all catalog files in use, so that a result can be traced to its evidence."""
        return hash_of(self.folders, ("", "architectures/", *(f"{kind}/" for kind in KINDS)))
