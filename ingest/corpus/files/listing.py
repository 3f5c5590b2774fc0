"""Listing the inputs (paths, globs, `@list` files, URLs): every file once, in path order, in little memory.

Links are followed, loops detected.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import stat
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, overload

from ingest.corpus.files import saved_datasets
from ingest.corpus.files.file_kind import FORMAT_NAMES, kind_of, printable
from ingest.corpus.files.globs import fixed_part, folder_filter, gitignore_filter, glob_filter, has_magic
from ingest.corpus.files.object_store import list_remote
from ingest.corpus.files.saved_datasets import Complain, without_bookkeeping
from ingest.corpus.files.source import STANDARD_INPUT, is_remote, system_reason
from ingest.corpus.types import CorpusFile, SkippedFile
from ingest.errors import UsageError, nearest, one_of
from ingest.files import Identity, identity_of, read_bytes, refuse_output

LOOP = "a link back to a folder that it lies in"
BROKEN_LINK = "a link to nothing"
_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
#: answers whether a folder's path, as bytes, is to be entered
Enter = Callable[[bytes], bool]


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


def walk(root: bytes, complain: Complain, enter: Enter = lambda _: True) -> Iterator[FileEntry]:
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
                complain(path, LOOP)
            elif name not in folder.links or level.identity not in entered_by_link:
                entered_by_link |= {level.identity} if name in folder.links else set()
                levels.append(level)


def see(path: bytes, linked: bool, complain: Complain) -> FileEntry | None:
    """Return a regular file; None, with a complaint, for anything else."""
    try:
        status = os.stat(path)
    except OSError as error:
        complain(path, _why_not(path, error))
        return None
    if not stat.S_ISREG(status.st_mode):
        complain(path, _SPECIAL.get(stat.S_IFMT(status.st_mode), "no regular file"))
        return None
    return FileEntry(path, status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino), linked)


def _why_not(path: bytes, error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "a link to itself"
    return BROKEN_LINK if isinstance(error, FileNotFoundError) and os.path.islink(path) else system_reason(error)


def _open_level(path: bytes, linked: bool, complain: Complain) -> _Level | None:
    """Open a folder; names of folders end with `/`, so that they sort as the paths of their files."""
    links = set()
    names = []
    try:
        status = os.stat(path)
        with os.scandir(path) as entries:
            for entry in entries:
                name = entry.name + b"/" if _is_folder(entry) else entry.name
                names.append(name)
                if entry.is_symlink():
                    links.add(name)
    except OSError as error:
        complain(path, system_reason(error))
        return None
    names = without_bookkeeping(path, names, complain)
    names.sort(reverse=True)
    return _Level(os.path.join(path, b""), names, frozenset(links), (status.st_dev, status.st_ino), linked)


def _is_folder(entry: os.DirEntry[bytes]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link to itself, reported by `see`


def as_shown(path: bytes) -> str:
    """Return a local path in printable form."""
    return printable(os.fsdecode(path))


NOT_THERE = "not there"


class CorpusRoot(NamedTuple):
    """A local folder or file where listing starts; `glob`, if any, selects files below it."""

    path: bytes
    is_folder: bool
    glob: str


def _below(path: bytes, folder: bytes) -> str:
    return os.fsdecode(path[len(folder) :]).lstrip("/")


def named_paths(arguments: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the arguments, with the lines of `@list` files in their place, and whether a list names them.

    Raises:
        IngestError: a list cannot be read.
    """
    for argument in arguments:
        is_list = argument.startswith("@") and not os.path.lexists(argument)
        for path in _lines(argument[1:]) if is_list else [argument]:
            yield path.removeprefix("file://"), is_list


def _lines(name: str) -> list[str]:
    """Return the lines of a list; NULs separate names that may contain line feeds."""
    if name == STANDARD_INPUT and sys.stdin is None:
        raise UsageError("'@-': standard input is closed, expected a list there")
    content = sys.stdin.buffer.read() if name == STANDARD_INPUT else read_bytes(name, "a list of paths", place=f"@{name}")
    lines = content.split(b"\0") if b"\0" in content else content.splitlines()
    return [os.fsdecode(line) for line in lines if line]


def local_roots(named: Iterable[tuple[str, bool]]) -> tuple[list[CorpusRoot], list[SkippedFile]]:
    """Return the local roots in path order, and the missing files of lists.

    Raises:
        UsageError: an argument matches nothing.
    """
    roots: list[CorpusRoot] = []
    skipped: list[SkippedFile] = []
    for path, from_list in named:
        if is_remote(path) or path == STANDARD_INPUT:
            continue
        if os.path.lexists(path):
            roots.append(CorpusRoot(_canonical(path), os.path.isdir(path), ""))
        elif has_magic(path) and os.path.isdir(fixed_part(path)[0] or "."):
            folder, glob = fixed_part(path)
            roots.append(CorpusRoot(_canonical(folder or "."), True, glob))
        elif from_list:
            skipped.append(SkippedFile(as_shown(os.fsencode(path)), NOT_THERE))
        else:
            raise UsageError(f"'{path}': no such file or folder{_neighbour(path)}")
    return sorted(set(roots), key=lambda root: (root.path + b"/" if root.is_folder else root.path, root.glob)), skipped


def common_folder(roots: Sequence[CorpusRoot]) -> bytes:
    """Return the deepest folder that holds all roots.

    >>> common_folder([CorpusRoot(b"/data/a", True, ""), CorpusRoot(b"/data/b.txt", False, "")])
    b'/data'
    """
    folders = [root.path if root.is_folder else os.path.dirname(root.path) for root in roots]
    return os.path.commonpath(folders) if folders else b"/"


def _canonical(path: str) -> bytes:
    """Return the absolute path, with links resolved except a link to a file, which keeps its name."""
    raw = os.fsencode(path)
    if os.path.isdir(raw):
        return os.path.realpath(raw)
    folder, name = os.path.split(os.path.abspath(raw) if b".." not in raw else raw)
    return os.path.join(_real_folder(folder), name)


@functools.lru_cache(maxsize=1024)
def _real_folder(folder: bytes) -> bytes:
    return os.path.realpath(folder or b".")


def _neighbour(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        return nearest(name, os.listdir(folder or "."))
    except OSError:
        return ""


class FileListing(Sequence[CorpusFile]):
    """The files of a corpus in path order; a million files take about 100 MB.

    Attributes:
        skipped: files that could not be listed, with the reason.
        repeated: files listed more than once, through links or overlapping arguments; each counts once.
        sizes: stored bytes of each file.
        has_standard_input: whether standard input is among the files; only this process can read it, and only once.
    """

    def __init__(
        self, base: bytes, form: str, include: Sequence[str], exclude: Sequence[str], ledger: Identity | None = None
    ) -> None:
        self.skipped: list[SkippedFile] = []
        self.repeated = 0
        self.has_standard_input = False
        self.sizes = array("Q")
        self._base = base
        self._root = os.path.join(os.fsdecode(base), "")
        self._form = form
        self._ledger = ledger
        self._included, self._excluded = gitignore_filter(include), gitignore_filter(exclude)
        # concatenated: each path below the base; or a URL and the object's version, separated by NUL
        self._names = bytearray()
        self._ends = array("Q")
        self._stamps = array("q")
        self._identities = array("Q")
        self._linked: dict[int, tuple[int, int]] = {}
        self._last_name = b""
        self._in_order = True

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> CorpusFile: ...
    @overload
    def __getitem__(self, index: slice) -> list[CorpusFile]: ...
    def __getitem__(self, index: int | slice) -> CorpusFile | list[CorpusFile]:
        if isinstance(index, slice):
            return [self._found(place) for place in range(*index.indices(len(self)))]
        return self._found(range(len(self))[index])

    def __iter__(self) -> Iterator[CorpusFile]:
        return map(self._found, range(len(self)))

    @property
    def total_bytes(self) -> int:
        """Stored bytes of all files, in B."""
        return sum(self.sizes)

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
        if nul and name.startswith(saved_datasets.SCHEME):
            return CorpusFile(printable(name), name, self.sizes[place], version.decode(), saved_datasets.FORMAT, "")
        location, stamp = (name, version.decode()) if nul else (self._root + name, str(self._stamps[place]))
        return CorpusFile(printable(name), location, self.sizes[place], stamp, self._form or form, compression)

    def add_standard_input(self) -> None:
        """Add standard input as a file of unknown size."""
        with contextlib.suppress(OSError):  # closed
            refuse_output(identity_of(os.fstat(0)))
        self._add(STANDARD_INPUT.encode() + b"\0", 0, 0)
        self.has_standard_input = True

    def add_local(self, root: CorpusRoot) -> None:
        """Add a local file, or the files below a folder.

        Raises:
            UsageError: nothing matches the root's glob, or the command would replace a file that it counts.
        """
        wanted, may_hold = (glob_filter(root.glob), folder_filter(root.glob)) if root.glob else (None, None)

        def enters(folder: bytes) -> bool:
            return (may_hold is None or may_hold(_below(folder, root.path))) and self._enters(_below(folder, self._base))

        matched = False
        for seen in walk(root.path, self._skip, enters) if root.is_folder else self._see(root.path):
            if wanted is None or wanted(_below(seen.path, root.path)):
                matched = True
                name = _below(seen.path, self._base)
                if self._passes(name) and seen.identity != self._ledger:
                    refuse_output(seen.identity)
                    if seen.linked:
                        self._linked[len(self)] = seen.identity
                    self._add(os.fsencode(name), seen.size, seen.modified_ns, seen.identity)
        if root.glob and not matched:
            raise UsageError(f"'{as_shown(os.path.join(root.path, os.fsencode(root.glob)))}' matches no file")

    def _see(self, path: bytes) -> Iterator[FileEntry]:
        if seen := see(path, os.path.islink(path), self._skip):
            yield seen

    def _passes(self, path: str) -> bool:
        return (self._included is None or self._included(path)) and self._enters(path)

    def _enters(self, folder: str) -> bool:
        return self._excluded is None or not self._excluded(folder)

    def add_remote(self, url: str) -> None:
        """Add an object, the objects below a prefix, or the splits of a data set.

        Raises:
            UsageError: nothing matches the URL.
        """
        is_dataset = url.startswith(saved_datasets.SCHEME)
        for name, size, version in saved_datasets.list_splits(url) if is_dataset else list_remote(url, self.skipped):
            if is_dataset or self._passes(name.partition("://")[2]):
                self._add(f"{name}\0{version}".encode("utf-8", "surrogateescape"), size, 0)

    def _add(self, name: bytes, size: int, stamp: int, identity: tuple[int, int] = (0, 0)) -> None:
        self._identities.extend(identity)
        if name <= self._last_name:
            self._in_order = False
        self._last_name = name
        self._names += name
        self._ends.append(len(self._names))
        self.sizes.append(size)
        self._stamps.append(stamp)

    def _skip(self, path: bytes, reason: str) -> None:
        self.skipped.append(SkippedFile(printable(_below(path, self._base) or os.fsdecode(path)), reason))

    def finish(self) -> None:
        """Sort the files and drop repeated ones."""
        dropped = self._met_through_links()
        if dropped or not self._in_order:
            names, ends, sizes, stamps = bytearray(), array("Q"), array("Q"), array("q")
            for place in self._order_without(dropped):
                names += self._raw(place)
                ends.append(len(names))
                sizes.append(self.sizes[place])
                stamps.append(self._stamps[place])
            self._names, self._ends, self.sizes, self._stamps = names, ends, sizes, stamps
        self._linked.clear()
        self._identities = array("Q")
        self._included = self._excluded = None  # these functions cannot be pickled for other processes

    def _met_through_links(self) -> set[int]:
        """Return the places of linked files that are listed under another name too."""
        wanted = set(self._linked.values())
        if not wanted:
            return set()
        unlinked = (self._identity(place) for place in range(len(self)) if place not in self._linked)
        met = wanted.intersection(unlinked)
        dropped = set()
        for place, identity in self._linked.items():
            if identity in met:
                dropped.add(place)
            met.add(identity)
        return dropped

    def _identity(self, place: int) -> tuple[int, int]:
        return self._identities[2 * place], self._identities[2 * place + 1]

    def _order_without(self, dropped: set[int]) -> Iterator[int]:
        order = sorted(range(len(self)), key=self._raw) if not self._in_order else range(len(self))
        last = b""
        for place in order:
            name = self._raw(place)
            if place in dropped or name == last:
                self.repeated += 1
            else:
                yield place
            last = name


def list_inputs(
    paths: Sequence[str],
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    input_format: str = "",
    ledger: str | Path | None = None,
) -> FileListing:
    """List files, folder trees, globs, URLs of these, `@list` files and `-` for standard input.

    Paths are shown relative to the deepest folder that holds all files.

    Args:
        paths: the inputs.
        include: globs, at any depth, of files to include; all files if empty.
        exclude: globs of files and folders to exclude.
        input_format: format of every file, where file names do not tell it.
        ledger: of this run; no file of the corpus, wherever it lies.

    Raises:
        UsageError: a path does not exist, a glob matches nothing, or the command would replace a file that it counts.
    """
    if input_format:
        one_of("--input-format", input_format, FORMAT_NAMES)
    named = list(named_paths(paths))
    roots, missing = local_roots(named)
    own = identity_of(os.stat(ledger)) if ledger is not None and os.path.exists(ledger) else None
    listing = FileListing(common_folder(roots), input_format, include, exclude, own)
    listing.skipped += missing
    if any(path == STANDARD_INPUT for path, _ in named):
        listing.add_standard_input()
    for root in roots:
        listing.add_local(root)
    for url in sorted({path for path, _ in named if is_remote(path)}):
        listing.add_remote(url)
    listing.finish()
    return listing
