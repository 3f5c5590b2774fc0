"""Walking a local folder in path order; links are followed, loops detected."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ingest.corpus.files.file_kind import printable
from ingest.corpus.files.saved_datasets import without_bookkeeping
from ingest.corpus.files.source import system_reason

LOOP = "a link back to a folder that it lies in"
BROKEN_LINK = "a link to nothing"
_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
#: called with the path, as bytes, of what cannot be listed, and the reason
Complain = Callable[[bytes, str], None]
#: answers whether a folder's path, as bytes, is to be entered
Enter = Callable[[bytes], bool]
_Identity = tuple[int, int]


class FileEntry(NamedTuple):
    """A file of the walk; `linked` if reached through a link, so that it may be listed again under its own name."""

    path: bytes
    size: int
    modified_ns: int
    identity: _Identity
    linked: bool


class _Level(NamedTuple):
    """A folder of the walk: the prefix of its paths, and the remaining names in reverse order."""

    prefix: bytes
    names: list[bytes]
    links: frozenset[bytes]
    identity: _Identity
    linked: bool


def walk(root: bytes, complain: Complain, enter: Enter = lambda _: True) -> Iterator[FileEntry]:
    """Yield the files of a folder in the byte order of their paths; report what cannot be read."""
    entered_by_link: set[_Identity] = set()
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
