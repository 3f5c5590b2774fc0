"""Names of files: format and compression by name or first bytes, globs, and how a name is printed.

Globs of arguments work as in a shell, those of `--include` and `--exclude` as in a .gitignore file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ingest.errors import UsageError
from ingest.files import table_beside

#: What names tell, by suffix and stem.
KNOWN: Mapping[str, Any] = table_beside(__file__, "names.yaml")
COMPRESSIONS, FORMATS, TARRED = (
    {suffix: name for name, suffixes in KNOWN[table].items() for suffix in suffixes}
    for table in ("compressions", "formats", "tarred")  # the last are suffixes of compressed tar archives
)
#: suffixes of compressed files and archives that nothing here opens
FOREIGN = tuple(KNOWN["foreign"])
_TELLING = frozenset(suffix[1:] for suffix in (*COMPRESSIONS, *FORMATS, *TARRED))
#: the format of files that are counted as they are: `--input-format text`
AS_TEXT = "text as it is"
#: the formats that `--input-format` may name
FORMAT_NAMES = ("text", *sorted(set(FORMATS.values())))

#: first bytes of a compressed file
MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ\x00", "bz2": b"BZh"}
_KINDS = {magic: ("text", compression) for compression, magic in MAGIC.items()}
_KINDS |= {b"PAR1": ("parquet", ""), b"ARROW1\x00\x00": ("arrow", "")}
#: Files that hold one sample each: texts and code; pictures, sounds, clips, volumes, clouds of points.
TEXTS, MEDIA = frozenset(KNOWN["texts"]), frozenset(KNOWN["media"])
WHOLE = TEXTS | MEDIA
#: Files whose tags, headers or keys count with their text.
MARKUP = frozenset(KNOWN["markup"])
#: Files that describe, index or check others: by suffix; by the name before its first dot, if one of these suffixes follows; by
#: their folder.
_ASIDE_SUFFIXES, _ASIDE_STEMS = tuple(KNOWN["aside_suffixes"]), frozenset(KNOWN["aside_stems"])
_ASIDE_TEXTS, _ASIDE_FOLDERS = frozenset(KNOWN["aside_texts"]), frozenset(KNOWN["aside_folders"])
#: offset of the magic of a tar archive
_TAR_MAGIC_AT = 257
#: most names in a title
MOST_NAMES = 3

#: what makes a path a glob
WILDCARD = re.compile(r"[*?[]")
#: tells whether a path below the root, with `/`, is selected
PathFilter = Callable[[str], bool]


def suffix_of(name: str) -> str:
    """Return the last suffix, lower case, with its dot; nothing for `README` and `.bashrc`."""
    stem, dot, suffix = name.rpartition("/")[2].rpartition(".")
    return f".{suffix.lower()}" if dot and stem else ""


def kind_of(name: str) -> tuple[str, str]:
    """Return format and compression by name; unknown names are text until read."""
    if name[name.rfind(".") + 1 :].lower() not in _TELLING:
        return "text", ""
    suffix = suffix_of(name)
    return FORMATS.get(content_suffix(name), "text"), COMPRESSIONS.get(suffix, "") or TARRED.get(suffix, "")


def content_suffix(name: str) -> str:
    """Return the suffix without that of a compression."""
    suffix = suffix_of(name)
    if suffix in TARRED:
        return ".tar"
    return suffix_of(name[: -len(suffix)]) if suffix in COMPRESSIONS else suffix


def is_aside(path: str) -> bool:
    """Whether a file below the root is hidden, or describes, indexes or checks other files: it holds no sample."""
    *folders, name = path.lower().rpartition("://")[2].split("/")
    name = name.removesuffix(suffix_of(name)) if suffix_of(name) in COMPRESSIONS else name
    stem, dot, suffixes = name.partition(".")
    return (
        not stem
        or name.endswith(_ASIDE_SUFFIXES)
        or (stem in _ASIDE_STEMS and dot + suffixes in _ASIDE_TEXTS)
        or any(folder in _ASIDE_FOLDERS or (folder.startswith(".") and folder.strip(".")) for folder in folders)
    )


def kind_by_magic(head: bytes) -> tuple[str, str] | None:
    """Return format and compression by the first bytes; None where they are ambiguous."""
    known = next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)
    return known or (("tar", "") if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar" else None)


def short_title(names: Sequence[object]) -> str:
    """Return the inputs as a title: a glob that the shell expands can be a hundred thousand names."""
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
    shown = []
    for letter in name:
        if letter.isprintable():
            shown.append(letter)
        elif 0xDC80 <= ord(letter) <= 0xDCFF:  # a stray byte
            shown.append(f"\\x{ord(letter) - 0xDC00:02x}")
        else:
            shown.append(letter.encode("unicode_escape").decode("ascii"))
    return "".join(shown)


def first_line(error: BaseException) -> str:
    """Return the first line of an error of a library as one printed line; the name of its class without a message."""
    lines = str(error).strip().splitlines()
    return printable(lines[0][:200]) if lines else type(error).__name__


def fixed_part(glob: str) -> tuple[str, str]:
    """Split a glob into the folder before its first wildcard and the rest."""
    folder, slash, _ = WILDCARD.split(glob, maxsplit=1)[0].rpartition("/")
    return folder or slash, glob[len(folder) + len(slash) :]


def glob_filter(glob: str) -> PathFilter:
    """Return a filter for paths that match a glob or lie in a folder that does; `**` crosses folders.

    As in a shell, a wildcard at the start of a name does not match a leading dot.
    """

    def matches(names: list[str], globs: list[str]) -> bool:
        if not globs:
            return True
        if globs[0] == "**":
            return matches(names, globs[1:]) or (bool(names) and matches(names[1:], globs))
        return bool(names) and _name_matches(names[0], globs[0]) and matches(names[1:], globs[1:])

    wanted = glob.split("/")
    return lambda path: matches(path.split("/"), wanted)


def _name_matches(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) and not (name.startswith(".") and glob[:1] in ("*", "?", "["))


def folder_filter(glob: str) -> PathFilter:
    """Return a filter for folders that may hold a match of a glob at any depth."""
    fixed_depth = glob.split("/**")[0].split("/") if not glob.startswith("**") else []
    return lambda folder: all(map(_name_matches, folder.split("/"), fixed_depth))


def gitignore_filter(globs: Sequence[str]) -> PathFilter | None:
    """Return a filter for paths that match any glob at any depth, or lie in a folder that does; None without globs.

    A glob that begins with `/` matches from the top only.

    Raises UsageError: an invalid glob.
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
