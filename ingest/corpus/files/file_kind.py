"""Format and compression of a file, by name or first bytes."""

from __future__ import annotations

from collections.abc import Sequence

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".xz": "xz", ".bz2": "bz2"}
FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".tar": "tar",
    ".warc": "warc",
    ".wet": "warc",
}
#: suffixes of format and compression
BOTH = {".tgz": ("tar", "gzip"), ".tbz2": ("tar", "bz2"), ".txz": ("tar", "xz"), ".tzst": ("tar", "zstd")}
_TELLING = frozenset(suffix[1:] for suffix in (*COMPRESSIONS, *FORMATS, *BOTH))
#: the formats that `--input-format` may name
FORMAT_NAMES = ("text", *sorted(set(FORMATS.values())))

#: first bytes of a compressed file
MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ\x00", "bz2": b"BZh"}
_FORMAT_MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1\x00\x00"}
#: most names in a title
MOST_NAMES = 3
#: offset of the magic of a tar archive
_TAR_MAGIC_AT = 257


def suffix_of(name: str) -> str:
    """Return the last suffix, lower case, with its dot; nothing for `README` and `.bashrc`.

    >>> suffix_of("data/A.TXT"), suffix_of("README"), suffix_of(".bashrc")
    ('.txt', '', '')
    """
    stem, dot, suffix = name.rpartition("/")[2].rpartition(".")
    return f".{suffix.lower()}" if dot and stem else ""


def kind_of(name: str) -> tuple[str, str]:
    """Return format and compression by name; unknown names are text until read.

    >>> kind_of("c4-train.00001.json.gz"), kind_of("a/b.tgz"), kind_of("CC.warc.wet.gz"), kind_of("README")
    (('json', 'gzip'), ('tar', 'gzip'), ('warc', 'gzip'), ('text', ''))
    """
    if name[name.rfind(".") + 1 :].lower() not in _TELLING:
        return "text", ""
    suffix = suffix_of(name)
    if suffix in BOTH:
        return BOTH[suffix]
    compression = COMPRESSIONS.get(suffix, "")
    inner = suffix_of(name[: -len(suffix)]) if compression else suffix
    return FORMATS.get(inner, "text"), compression


def kind_by_magic(head: bytes) -> tuple[str, str] | None:
    """Return format and compression by the first bytes; None where they are ambiguous.

    >>> kind_by_magic(bytes([0x1F, 0x8B, 8])), kind_by_magic(b"plain")
    (('text', 'gzip'), None)
    """
    for compression, magic in MAGIC.items():
        if head.startswith(magic):
            return "text", compression
    for form, magic in _FORMAT_MAGIC.items():
        if head.startswith(magic):
            return form, ""
    return ("tar", "") if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar" else None


def short_title(names: Sequence[object]) -> str:
    """Return the inputs as a title: a glob that the shell expands can be a hundred thousand names.

    >>> short_title(["books", "web"]), short_title(["a.txt", "b.txt", "c.txt", "d.txt"])
    ('books web', 'a.txt and 3 more')
    """
    few = names if len(names) <= MOST_NAMES else names[:1]
    more = f" and {len(names) - 1:,} more" if len(names) > MOST_NAMES else ""
    return " ".join(printable(str(name)) for name in few) + more


def printable(name: str) -> str:
    r"""Return a name for one printed line: control characters and invalid bytes are escaped.

    >>> printable("a\nb"), printable("schön 🙂"), printable(b"\xff.txt".decode("utf-8", "surrogateescape"))
    ('a\\nb', 'schön 🙂', '\\xff.txt')
    """
    if name.isprintable():
        return name
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in name)


def _escaped(letter: str) -> str:
    stray_byte = 0xDC80 <= ord(letter) <= 0xDCFF
    return f"\\x{ord(letter) - 0xDC00:02x}" if stray_byte else letter.encode("unicode_escape").decode("ascii")


def first_line(error: BaseException) -> str:
    """Return the first line of an error of a library as one printed line; the name of its class without a message."""
    lines = str(error).strip().splitlines()
    return printable(lines[0][:200]) if lines else type(error).__name__
