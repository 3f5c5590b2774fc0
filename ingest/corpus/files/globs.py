"""Globs of paths: those of arguments as in a shell, those of `--include` and `--exclude` as in a .gitignore file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ingest.errors import UsageError

_MAGIC = re.compile(r"[*?[]")
#: tells whether a path below the root, with `/`, is selected
PathFilter = Callable[[str], bool]


def has_magic(path: str) -> bool:
    """Whether a path is a glob.

    >>> has_magic("a/*.txt"), has_magic("a/b.txt")
    (True, False)
    """
    return _MAGIC.search(path) is not None


def fixed_part(glob: str) -> tuple[str, str]:
    """Split a glob into the folder before its first wildcard and the rest.

    >>> fixed_part("/data/2024-*/x.txt"), fixed_part("*.txt")
    (('/data', '2024-*/x.txt'), ('', '*.txt'))
    """
    folder, slash, _ = _MAGIC.split(glob, maxsplit=1)[0].rpartition("/")
    return folder or slash, glob[len(folder) + len(slash) :]


def glob_filter(glob: str) -> PathFilter:
    """Return a filter for paths that match a glob or lie in a folder that does; `**` crosses folders.

    As in a shell, a wildcard at the start of a name does not match a leading dot.

    >>> wanted = glob_filter("2024-*/*.txt")
    >>> wanted("2024-01/a.txt"), wanted("2024-01/b/a.txt"), wanted("2024-01/.a.txt")
    (True, False, False)
    >>> glob_filter("2024-*")("2024-01/b/a.txt"), glob_filter("**/b/*.txt")("2024-01/.git/b/a.txt")
    (True, True)
    """
    globs = glob.split("/")
    return lambda path: _matches(path.split("/"), globs)


def _matches(names: list[str], globs: list[str]) -> bool:
    if not globs:
        return True
    if globs[0] == "**":
        return _matches(names, globs[1:]) or (bool(names) and _matches(names[1:], globs))
    return bool(names) and _name_matches(names[0], globs[0]) and _matches(names[1:], globs[1:])


def _name_matches(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) and not (name.startswith(".") and glob[:1] in ("*", "?", "["))


def folder_filter(glob: str) -> PathFilter:
    """Return a filter for folders that may hold a match of a glob at any depth.

    >>> holds = folder_filter("2024-*/en/*.txt")
    >>> [holds(folder) for folder in ("2024-01", "2023-01", "2024-01/de", "2024-01/en", "2024-01/en/a.txt")]
    [True, False, False, True, True]
    """
    fixed_depth = glob.split("/**")[0].split("/") if not glob.startswith("**") else []
    return lambda folder: all(map(_name_matches, folder.split("/"), fixed_depth))


def gitignore_filter(globs: Sequence[str]) -> PathFilter | None:
    """Return a filter for paths that match any glob at any depth, or lie in a folder that does; None without globs.

    A glob that begins with `/` matches from the top only.

    >>> wanted = gitignore_filter(["*.txt", "docs", "/build/*.log"])
    >>> [wanted(path) for path in ("a/b.txt", "x/docs/y.c", "build/a.log", "x/build/a.log")]
    [True, True, True, False]

    Raises:
        UsageError: an invalid glob.
    """
    if not globs:
        return None
    from pathspec import GitIgnoreSpec

    patterns: list[Any] = []
    for glob in globs:
        inner = glob.rstrip("/")
        try:
            with warnings.catch_warnings(action="ignore", category=FutureWarning):  # a `[` inside brackets is meant
                patterns += GitIgnoreSpec.from_lines([inner if inner.startswith("/") else f"**/{inner}"]).patterns
        except (ValueError, re.error) as error:
            raise UsageError(f"'{glob}' is not a glob: {str(error).splitlines()[0]}") from None
        if not inner:
            raise UsageError(f"'{glob}' is not a glob: it matches no name")
    matches = GitIgnoreSpec(patterns).match_file
    # a folder may have a line feed in its name, at which `**/` would stop
    return lambda path: matches(path.replace("\n", "\r"))
