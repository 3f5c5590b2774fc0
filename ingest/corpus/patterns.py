"""Globs: `*` and `?` stay within a name, `**` crosses folders, and what matches a folder takes all below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ingest.errors import UsageError

_MAGIC = re.compile(r"[*?[]")
#: answers whether a path below the root, with `/`, is wanted
Wanted = Callable[[str], bool]


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
    head = glob[: _MAGIC.search(glob).start()] if has_magic(glob) else glob  # type: ignore[union-attr]
    folder, slash, _ = head.rpartition("/")
    return folder or slash, glob[len(folder) + len(slash) :]


def expression(glob: str) -> str:
    r"""Return a glob as a regular expression without anchors.

    >>> expression("a?/*.[ch]"), expression("**/x")
    ('a[^/]/[^/]*\\.[ch]', '(?:[^/]+/)*x')
    """
    return "".join(_part(part) for part in re.findall(r"\*\*/?|\[!?\]?[^\]/]*\]|.", glob, re.DOTALL))


def _part(part: str) -> str:
    if part.startswith("**"):
        return "(?:[^/]+/)*" if part.endswith("/") else ".*"
    if len(part) > 1:
        inside = part[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    return {"*": "[^/]*", "?": "[^/]"}.get(part) or re.escape(part)


def _compiled(pattern: str, glob: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise UsageError(f"'{glob}' is no glob: {error}") from None


def below(glob: str) -> Wanted:
    """Return what matches a glob, or lies in a folder that does.

    As in a shell, a wildcard at the start of a name does not match a leading dot.

    >>> wanted = below("2024-*/*.txt")
    >>> wanted("2024-01/a.txt"), wanted("2024-01/b/a.txt"), wanted("2024-01/.a.txt")
    (True, False, False)
    >>> below("2024-*")("2024-01/b/a.txt")
    True
    """
    visible = re.sub(r"(^|/)(?=[*?\[])(?!\*\*)", "\\1\0", glob)
    pattern = expression(visible).replace(re.escape("\0"), r"(?!\.)")
    match = _compiled(f"(?:{pattern})(?:/.*)?", glob).fullmatch
    return lambda path: match(path) is not None


def may_hold(glob: str) -> Wanted:
    """Return which folders may hold, at any depth, what matches a glob.

    >>> holds = may_hold("2024-*/en/*.txt")
    >>> [holds(folder) for folder in ("2024-01", "2023-01", "2024-01/de", "2024-01/en", "2024-01/en/a.txt")]
    [True, False, False, True, True]
    """
    pattern = ".*"
    for name in reversed(glob.split("/")):
        pattern = ".*" if "**" in name else f"{expression(name)}(?:/{pattern})?"
    match = _compiled(pattern, glob).fullmatch
    return lambda path: match(path) is not None


def anywhere(globs: Sequence[str]) -> Wanted | None:
    """Return what matches any of some globs at any depth, or lies in a folder that does; nothing without globs.

    A glob that begins with `/` is tied to the top.

    >>> wanted = anywhere(["*.txt", "docs", "/build/*.log"])
    >>> [wanted(path) for path in ("a/b.txt", "x/docs/y.c", "build/a.log", "x/build/a.log")]
    [True, True, True, False]
    """
    if not globs:
        return None
    parts = [
        expression(glob.strip("/")) if glob.startswith("/") else f"(?:.*/)?{expression(glob.rstrip('/'))}" for glob in globs
    ]
    match = _compiled(f"(?:{'|'.join(parts)})(?:/.*)?", ", ".join(globs)).fullmatch
    return lambda path: match(path) is not None
