"""Where a file belongs in the breakdown: its folder, and its extension."""

from __future__ import annotations

COMPRESSED = ("gz", "gzip", "zst", "zstd", "xz", "bz2")
NONE = "(none)"
#: What is longer is no extension but the end of a name with a dot in it.
LONGEST = 12


def root_of(first: str, last: str) -> str:
    """The folder that all paths share, from the first and the last in order.

    >>> root_of("s3://bucket/web/a.txt", "s3://bucket/web/b/c.txt"), root_of("a.txt", "b/c.txt")
    ('s3://bucket/web/', '')
    """
    shared = 0
    for one, two in zip(first, last, strict=False):
        if one != two:
            break
        shared += 1
    return first[: first.rfind("/", 0, shared) + 1]


def folder_of(path: str, root: str) -> str:
    """The folder below the shared one; `.` for a file that lies right in it.

    >>> folder_of("data/web/x/y.txt", "data/"), folder_of("data/y.txt", "data/")
    ('web', '.')
    """
    start = len(root) if path.startswith(root) else 0
    end = path.find("/", start)
    return path[start:end] if end > 0 else "."


def extension_of(path: str) -> str:
    """The extension, with that of its compression.

    >>> extension_of("a/b.jsonl.gz"), extension_of("a/README"), extension_of("a/.profile"), extension_of("b.TXT")
    ('.jsonl.gz', '(none)', '(none)', '.txt')
    """
    name = path[path.rfind("/") + 1 :].lower().lstrip(".")
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix) > LONGEST:
        return NONE
    if suffix in COMPRESSED:
        inner = stem.rpartition(".")[2] if "." in stem else ""
        return f".{inner}.{suffix}" if 0 < len(inner) <= LONGEST else f".{suffix}"
    return f".{suffix}"
