"""Listing the inputs (paths, globs, `@list` files, URLs): every file once, in path order, in little memory.

Links are followed, loops detected. Of data sets of the library `datasets`, the data files of saved and cached ones are listed,
and the splits of local builders.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import stat
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ingest.corpus.files.names import (
    AS_TEXT,
    FORMAT_NAMES,
    WILDCARD,
    first_line,
    fixed_part,
    folder_filter,
    gitignore_filter,
    glob_filter,
    kind_of,
    printable,
)
from ingest.corpus.files.source import STANDARD_INPUT, is_remote, list_remote, system_reason
from ingest.corpus.types import CorpusFile, SkippedFile
from ingest.errors import IngestError, UsageError, nearest, one_of
from ingest.files import Identity, identity_of, read_bytes, refuse_output

_SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
#: called with the path of what is missing or broken, and the reason
Complain = Callable[[bytes, str], None]


class FileEntry(NamedTuple):
    """A file of the walk; `linked` if reached through a link, so that it may be listed again under its own name."""

    path: bytes
    size: int
    modified_ns: int
    identity: Identity
    linked: bool


class _Level(NamedTuple):
    """A folder of the walk: the prefix of its paths, and the remaining names in reverse order."""

    prefix: bytes
    names: list[bytes]
    links: frozenset[bytes]
    identity: Identity
    linked: bool


def walk(root: bytes, complain: Complain, enter: Callable[[bytes], bool]) -> Iterator[FileEntry]:
    """Yield the files of a folder in the byte order of their paths; report what cannot be read."""
    entered_by_link: set[Identity] = set()
    levels = [level] if (level := _open_level(root, False, complain)) else []
    while levels:
        folder = levels[-1]
        if not folder.names:
            levels.pop()
            continue
        name = folder.names.pop()
        linked = folder.linked or name in folder.links
        if not name.endswith(b"/"):
            if seen := see(folder.prefix + name, linked, complain):
                yield seen
            continue
        path = folder.prefix + name.rstrip(b"/")
        if enter(path) and (level := _open_level(path, linked, complain)):
            if any(level.identity == above.identity for above in levels):
                complain(path, "a link back to a folder that it lies in")
            elif name not in folder.links or level.identity not in entered_by_link:
                entered_by_link |= {level.identity} if name in folder.links else set()
                levels.append(level)


def see(path: bytes, linked: bool, complain: Complain) -> FileEntry | None:
    """Return a regular file; None, with a complaint, for anything else."""
    try:
        status = os.stat(path)
    except OSError as error:
        is_broken_link = isinstance(error, FileNotFoundError) and os.path.islink(path)
        reason = "a link to nothing" if is_broken_link else system_reason(error)
        complain(path, "a link to itself" if error.errno == errno.ELOOP else reason)
        return None
    if not stat.S_ISREG(status.st_mode):
        complain(path, _SPECIAL.get(stat.S_IFMT(status.st_mode), "no regular file"))
        return None
    return FileEntry(path, status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino), linked)


def _open_level(path: bytes, linked: bool, complain: Complain) -> _Level | None:
    """Open a folder; names of folders end with `/`, so that they sort as the paths of their files."""
    links = set()
    names = []
    try:
        status = os.stat(path)
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    name = entry.name + b"/" if entry.is_dir() else entry.name
                except OSError:  # a link to itself, reported by `see`
                    name = entry.name
                names.append(name)
                if entry.is_symlink():
                    links.add(name)
    except OSError as error:
        complain(path, system_reason(error))
        return None
    names = without_bookkeeping(path, names, complain)
    names.sort(reverse=True)
    return _Level(os.path.join(path, b""), names, frozenset(links), (status.st_dev, status.st_ino), linked)


#: scheme of folders that `load_dataset` reads; the split follows a `#`
SCHEME = "datasets://"
DATASETS = "datasets"
#: metadata of a saved or cached data set; the last lists the splits of a saved one
_STATE, _INFO, _SPLITS = b"state.json", b"dataset_info.json", b"dataset_dict.json"
_DATA = b".arrow"
#: prefix of cached results of `map` and `filter`
_DERIVED = b"cache-"
#: what Delta Lake and Hudi keep the versions of a table in
_TABLE_LOGS = frozenset((b"_delta_log/", b".hoodie/"))
_LOCKS = (b"_builder.lock", b".incomplete_info.lock")


def without_bookkeeping(folder: bytes, names: list[bytes], complain: Complain) -> list[bytes]:
    """Return the names in a folder without the metadata files and caches of `datasets`.

    Shards and splits that are listed but missing are reported. Other folders keep all names.
    """

    def listed_in(file: bytes, names_in: Callable[[Any], list[str]]) -> list[bytes]:
        path = os.path.join(folder, file)
        try:
            with open(path, "rb") as content:
                return [os.fsencode(name) for name in names_in(json.load(content))]
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            complain(path, "broken: it does not list the files of the data set that `datasets` saved here")
            return []

    def report(missing: Iterable[bytes], file: bytes) -> None:
        for name in missing:
            complain(os.path.join(folder, name), f"missing: listed in {file.decode()}")

    names = without_blobs(folder, names, complain)
    for log in _TABLE_LOGS.intersection(names):
        complain(os.path.join(folder, log), "the log of a table: files of its older versions count until they are vacuumed")
    if _SPLITS in names:
        present = {name.rstrip(b"/") for name in names}
        report([name for name in listed_in(_SPLITS, lambda noted: noted["splits"]) if name not in present], _SPLITS)
        names = [name for name in names if name != _SPLITS]
    if _INFO not in names:
        return names
    if _STATE in names:
        listed = listed_in(_STATE, lambda noted: [entry["filename"] for entry in noted["_data_files"]])
        report([name for name in listed if name not in names], _STATE)
        return [name for name in names if name not in (_STATE, _INFO) and (not name.endswith(_DATA) or name in listed)]
    if any(name.endswith(_DATA) for name in names):
        kept = [name for name in names if name != _INFO and not name.startswith(_DERIVED) and not name.endswith(_LOCKS)]
        stems = listed_in(
            _INFO,
            lambda noted: [f"{one['dataset_name']}-{one['name']}" for one in noted["splits"].values() if one["num_examples"]],
        )
        report([stem for stem in stems if not any(name.startswith(stem) for name in kept)], _INFO)
        return kept
    return names


#: of a repository in the cache of huggingface_hub: files by their hash, commits by name, and links to files by commit and name
_BLOBS, _REFS, _SNAPSHOTS = b"blobs/", b"refs/", b"snapshots/"
_UNSEEN = (_BLOBS, _REFS, b".no_exist/")


def without_blobs(folder: bytes, names: list[bytes], complain: Complain) -> list[bytes]:
    """Return the names in a folder of the cache of huggingface_hub that lead to one snapshot; other folders keep all names."""
    if _SNAPSHOTS in names and _BLOBS in names:
        return [name for name in names if name not in _UNSEEN]
    above = os.path.dirname(folder)
    if os.path.basename(folder) == _SNAPSHOTS[:-1] and len(names) > 1 and os.path.isdir(os.path.join(above, _BLOBS)):
        with contextlib.suppress(OSError), open(os.path.join(above, _REFS, b"main"), "rb") as file:
            newest = file.read(MOST_COMMIT).strip() + b"/"
            for name in names if newest in names else ():
                if name != newest:
                    complain(os.path.join(folder, name), "another snapshot than that of refs/main: name it to count it")
            return [newest] if newest in names else names
    return [name for name in names if not (name == b".locks/" and any(b"--" in other for other in names))]


#: characters of a commit
MOST_COMMIT = 64


def list_splits(url: str) -> Iterator[tuple[str, int, str]]:
    """Yield URL, stored bytes and version of each split that `load_dataset` finds in a folder.

    Raises UsageError: no such folder or split; IngestError: `datasets` cannot load the folder.
    """
    folder, _, wanted = url.removeprefix(SCHEME).partition("#")
    folder = os.path.abspath(folder)
    if not os.path.isdir(folder):
        raise UsageError(f"'{printable(url)}': no such folder; `datasets` loads local folders only")
    import datasets

    try:
        files = datasets.load_dataset_builder(folder).config.data_files
    except Exception as error:
        # builders raise any exception, and none may end in a traceback
        raise IngestError(
            f"'{printable(url)}' cannot be loaded by `datasets`: {first_line(error.__cause__ or error)}"
        ) from None
    splits = {str(split): list(map(str, paths)) for split, paths in (files or {}).items()}
    if wanted and wanted not in splits:
        raise UsageError(
            f"'{printable(url)}': no split '{printable(wanted)}', it has {', '.join(splits)}{nearest(wanted, list(splits))}"
        )
    for split in sorted(splits):
        if split == (wanted or split):
            digest, size = hashlib.sha256(), 0
            for path in splits[split]:
                status = os.stat(path)
                size += status.st_size
                digest.update(b"%s\0%d\0%d\0" % (os.fsencode(path), status.st_size, status.st_mtime_ns))
            yield f"{SCHEME}{folder}#{split}", size, digest.hexdigest()


class CorpusRoot(NamedTuple):
    """A local folder or file where listing starts; `glob`, if any, selects files below it."""

    path: bytes
    is_folder: bool
    glob: str


def named_paths(arguments: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the arguments, with the lines of `@list` files in their place, and whether a list names them.

    NULs separate the names of a list that may contain line feeds.
    """
    for argument in arguments:
        is_list, name = argument.startswith("@") and not os.path.lexists(argument), argument[1:]
        paths = [argument]
        if is_list:
            from_input = name == STANDARD_INPUT
            if from_input and sys.stdin is None:
                raise UsageError("'@-': standard input is closed, expected a list there")
            content = sys.stdin.buffer.read() if from_input else read_bytes(name, "a list of paths", place=f"@{name}")
            lines = content.split(b"\0") if b"\0" in content else content.splitlines()
            paths = [os.fsdecode(line) for line in lines if line]
        for path in paths:
            yield path.removeprefix("file://"), is_list


def local_roots(named: Iterable[tuple[str, bool]]) -> tuple[list[CorpusRoot], list[SkippedFile]]:
    """Return the local roots in path order, and the missing files of lists. Raises UsageError: an argument matches nothing."""
    roots: list[CorpusRoot] = []
    skipped: list[SkippedFile] = []
    for path, from_list in named:
        if is_remote(path) or path == STANDARD_INPUT:
            continue
        if os.path.lexists(path):
            roots.append(CorpusRoot(_canonical(path), os.path.isdir(path), ""))
        elif WILDCARD.search(path) and os.path.isdir(fixed_part(path)[0] or "."):
            folder, glob = fixed_part(path)
            roots.append(CorpusRoot(_canonical(folder or "."), True, glob))
        elif from_list:
            skipped.append(SkippedFile(printable(path), "not there"))
        else:
            folder, name = os.path.split(path)
            similar = ""
            with contextlib.suppress(OSError):
                similar = nearest(name, os.listdir(folder or "."))
            raise UsageError(f"'{path}': no such file or folder{similar}")
    return sorted(set(roots), key=lambda root: (root.path + b"/" if root.is_folder else root.path, root.glob)), skipped


def _canonical(path: str) -> bytes:
    """Return the absolute path, with links resolved except a link to a file, which keeps its name."""
    raw = os.fsencode(path)
    if os.path.isdir(raw):
        return os.path.realpath(raw)
    folder, name = os.path.split(os.path.abspath(raw) if b".." not in raw else raw)
    return os.path.join(_real_folder(folder or b"."), name)


#: of the folders of files that are named one by one
_real_folder = functools.lru_cache(maxsize=1024)(os.path.realpath)


def _below(path: bytes, folder: bytes) -> str:
    return os.fsdecode(path[len(folder) :]).lstrip("/")


class FileListing(Sequence[CorpusFile]):
    """The files of a corpus in path order; a million files take about 100 MB."""

    def __init__(self, base: bytes, form: str, include: Sequence[str], exclude: Sequence[str], ledger: Identity | None) -> None:
        self.skipped: list[SkippedFile] = []  # what could not be listed, with the reason
        self.repeated = 0  # listed more than once, through links or overlapping arguments; each counts once
        self.has_standard_input = False  # only this process can read it, and only once
        self.sizes = array("Q")  # stored bytes of each file
        self._base, self._root = base, os.path.join(os.fsdecode(base), "")
        self._form, self._ledger = AS_TEXT if form == "text" else form, ledger
        self._included, self._excluded = gitignore_filter(include), gitignore_filter(exclude)
        # concatenated: each path below the base; or a URL and the object's version, separated by NUL
        self._names, self._last_name, self._in_order = bytearray(), b"", True
        self._ends, self._stamps, self._identities = array("Q"), array("q"), array("Q")
        self._linked: dict[int, Identity] = {}

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: Any) -> Any:
        places = range(len(self))[index]
        return [self._found(place) for place in places] if isinstance(index, slice) else self._found(places)

    def __iter__(self) -> Iterator[CorpusFile]:
        return map(self._found, range(len(self)))

    def manifest_hash(self) -> str:
        """Return the SHA-256 of path, size and stamp of every file, which identifies the corpus."""
        digest = hashlib.sha256()
        for place in range(len(self)):
            digest.update(b"%s\0%d\0%d\0" % (self._raw(place), self.sizes[place], self._stamps[place]))
        return f"sha256:{digest.hexdigest()}"

    def _raw(self, place: int) -> bytes:
        start = self._ends[place - 1] if place else 0
        return bytes(self._names[start : self._ends[place]])

    def _found(self, place: int) -> CorpusFile:
        raw, nul, version = self._raw(place).partition(b"\0")
        name = os.fsdecode(raw)
        form, compression = kind_of(name)
        if nul and name.startswith(SCHEME):
            return CorpusFile(printable(name), name, self.sizes[place], version.decode(), DATASETS, "")
        location, stamp = (name, version.decode()) if nul else (self._root + name, str(self._stamps[place]))
        return CorpusFile(printable(name), location, self.sizes[place], stamp, self._form or form, compression)

    def add_local(self, root: CorpusRoot) -> None:
        """Add a local file, or the files below a folder.

        Raises UsageError: nothing matches the root's glob, or the command would replace a file that it counts.
        """
        wanted, may_hold = (glob_filter(root.glob), folder_filter(root.glob)) if root.glob else (None, None)

        def enters(folder: bytes) -> bool:
            if may_hold is not None and not may_hold(_below(folder, root.path)):
                return False
            return self._excluded is None or not self._excluded(_below(folder, self._base))

        def skip(path: bytes, reason: str) -> None:
            self.skipped.append(SkippedFile(printable(_below(path, self._base) or os.fsdecode(path)), reason))

        matched = False
        one = [] if root.is_folder else [see(root.path, os.path.islink(root.path), skip)]
        for seen in walk(root.path, skip, enters) if root.is_folder else filter(None, one):
            if wanted is not None and not wanted(_below(seen.path, root.path)):
                continue
            matched, name = True, _below(seen.path, self._base)
            if self._passes(name) and seen.identity != self._ledger:
                refuse_output(seen.identity)
                if seen.linked:
                    self._linked[len(self)] = seen.identity
                self._add(os.fsencode(name), seen.size, seen.modified_ns, seen.identity)
        if root.glob and not matched:
            raise UsageError(f"'{printable(os.path.join(os.fsdecode(root.path), root.glob))}' matches no file")

    def _passes(self, path: str) -> bool:
        return (self._included is None or self._included(path)) and (self._excluded is None or not self._excluded(path))

    def _add(self, name: bytes, size: int, stamp: int, identity: Identity = (0, 0)) -> None:
        self._identities.extend(identity)
        if name <= self._last_name:
            self._in_order = False
        self._last_name = name
        self._names += name
        self._ends.append(len(self._names))
        self.sizes.append(size)
        self._stamps.append(stamp)

    def fill(self, paths: set[str], roots: Sequence[CorpusRoot]) -> None:
        """Add what the paths name and the files of the local roots, sort them and drop repeated ones.

        Raises UsageError: nothing matches a URL or glob, or the command would replace a file that it counts.
        """
        if STANDARD_INPUT in paths:  # a file of unknown size
            with contextlib.suppress(OSError):  # closed
                refuse_output(identity_of(os.fstat(0)))
            self._add(STANDARD_INPUT.encode() + b"\0", 0, 0)
            self.has_standard_input = True
        for root in roots:
            self.add_local(root)
        for url in sorted(filter(is_remote, paths)):
            is_dataset = url.startswith(SCHEME)
            for name, size, version in list_splits(url) if is_dataset else list_remote(url, self.skipped):
                if is_dataset or self._passes(name.partition("://")[2]):
                    self._add(f"{name}\0{version}".encode("utf-8", "surrogateescape"), size, 0)
        self._drop_repeated()
        self._linked.clear()
        self._identities = array("Q")
        self._included = self._excluded = None  # these functions cannot be pickled for other processes

    def _drop_repeated(self) -> None:
        """Sort the files and drop repeated ones: linked files may be listed under another name too."""
        wanted = set(self._linked.values())
        unlinked = (place for place in range(len(self) if wanted else 0) if place not in self._linked)
        met = wanted.intersection((self._identities[2 * place], self._identities[2 * place + 1]) for place in unlinked)
        dropped = set()
        for place, identity in self._linked.items():
            if identity in met:
                dropped.add(place)
            met.add(identity)
        if dropped or not self._in_order:
            names, ends, sizes, stamps = bytearray(), array("Q"), array("Q"), array("q")
            last = b""
            for place in sorted(range(len(self)), key=self._raw) if not self._in_order else range(len(self)):
                name = self._raw(place)
                if place in dropped or name == last:
                    self.repeated += 1
                else:
                    names += name
                    ends.append(len(names))
                    sizes.append(self.sizes[place])
                    stamps.append(self._stamps[place])
                last = name
            self._names, self._ends, self.sizes, self._stamps = names, ends, sizes, stamps


def list_inputs(
    paths: Sequence[str],
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    input_format: str = "",
    ledger: str | Path | None = None,
) -> FileListing:
    """List files, folder trees, globs, URLs of these, `@list` files and `-` for standard input.

    Paths are shown relative to the deepest folder that holds all files. Globs of `include` select files at any depth, all files
    if there are none; those of `exclude` leave out files and folders. `input_format` is that of every file, where names do not
    tell it. The ledger of this run is no file of the corpus, wherever it lies.

    Raises UsageError: a path does not exist, a glob matches nothing, or the command would replace a file that it counts.
    """
    if input_format:
        one_of("--input-format", input_format, FORMAT_NAMES)
    named = list(named_paths(paths))
    roots, missing = local_roots(named)
    own = identity_of(os.stat(ledger)) if ledger is not None and os.path.exists(ledger) else None
    folders = [root.path if root.is_folder else os.path.dirname(root.path) for root in roots]
    listing = FileListing(os.path.commonpath(folders) if folders else b"/", input_format, include, exclude, own)
    listing.skipped += missing
    listing.fill({path for path, _ in named}, roots)
    return listing
