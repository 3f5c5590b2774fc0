"""Command arguments: globs, `@list` files, and the roots where listing starts."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.corpus.files.globs import fixed_part, folder_filter, glob_filter, has_magic
from ingest.corpus.files.source import STANDARD_INPUT, is_remote
from ingest.corpus.files.walk import as_shown
from ingest.corpus.types import SkippedFile
from ingest.errors import UsageError, nearest

NOT_THERE = "not there"


class NamedInput(NamedTuple):
    """An argument, or a line of the list that an argument names."""

    path: str
    from_list: bool


class CorpusRoot(NamedTuple):
    """A local folder or file where listing starts; `glob`, if any, selects files below it."""

    path: bytes
    is_folder: bool
    glob: str

    def wants(self, path: bytes) -> bool:
        """Whether a file below the root is selected."""
        return not self.glob or _matcher(self.glob)(self._within(path))

    def may_hold(self, path: bytes) -> bool:
        """Whether a folder below the root may hold selected files."""
        return not self.glob or _holder(self.glob)(self._within(path))

    def _within(self, path: bytes) -> str:
        return os.fsdecode(path[len(self.path) :]).lstrip("/")


_matcher = functools.lru_cache(glob_filter)
_holder = functools.lru_cache(folder_filter)


def named_paths(arguments: Sequence[str]) -> Iterator[NamedInput]:
    """Yield the arguments, with the lines of `@list` files in their place.

    Raises:
        UsageError: a list cannot be read.
    """
    for argument in arguments:
        is_list = argument.startswith("@") and not os.path.lexists(argument)
        for path in _lines(argument[1:]) if is_list else [argument]:
            yield NamedInput(path.removeprefix("file://"), is_list)


def _lines(name: str) -> list[str]:
    """Return the lines of a list; NULs separate names that may contain line feeds."""
    try:
        if name == STANDARD_INPUT and sys.stdin is None:
            raise UsageError("'@-': standard input is closed, expected a list there")
        content = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"'@{name}': the list cannot be read: {(error.strerror or '').lower()}") from None
    lines = content.split(b"\0") if b"\0" in content else content.splitlines()
    return [os.fsdecode(line) for line in lines if line]


def local_roots(named: Iterable[NamedInput]) -> tuple[list[CorpusRoot], list[SkippedFile]]:
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
