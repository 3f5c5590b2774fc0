"""YAML of unknown origin to plain data: no tags, no anchors, no duplicate keys, nothing executed, every line known.

Scalars follow one rule: numbers as Python writes them (`989.4e12` is a number, `1:30` and `012` are text), `true`, `false`
and `null`; everything else is text.

The shipped catalogs also stand in `prepared.jsonl` as JSON, each content beside the checksum of its YAML text: what starts fast
reads no YAML. A file that was edited has another checksum and is read as YAML, as are files anywhere else;
`docs/generate.py` writes the lines anew.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from time import time_ns
from typing import Any, NamedTuple

from ingest import files
from ingest.configuration import shipped_folder
from ingest.errors import CatalogError, IngestError, brief
from ingest.text import visible
from ingest.units import POINTED

MAX_BYTES = 2_000_000  # Far above the size of any catalog file; a larger one is a mistake or an attack
MAX_DEPTH = 20
MAX_BRACKETS = 5_000
MAX_DIGITS = 40
MOST_KEPT = 50_000  # Letters of the longest text whose content is kept

_NUMBER = re.compile(r"[+-]?(\d[\d_]*)(\.\d*)?([eE][+-]?\d+)?|[+-]?\.(?:inf|nan)|[+-]?\.\d+", re.IGNORECASE)
_INLINE_NESTING = re.compile(r"(?:[-?:][ \t]+){30}")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))
NAME = "prepared.jsonl"  # The file of the shipped catalogs as JSON, one line per text: its key, a tab, its content
ABSENT = object()  # What no text contains: `None` is the content of an empty one


class Kind(NamedTuple):
    """The kind of a file, for messages, and the command that writes a template of it, or whose help tells of it."""

    name: str
    template: str


ENTRY = Kind("a catalog entry", "ingest catalog new")


def read_yaml(path: Path, kind: Kind = ENTRY) -> Any:
    """Return the content of a YAML file as dicts, lists, numbers and text; not to be changed, since equal texts share it.

    Raises CatalogError: unreadable, too large, not YAML, or with tags, anchors or duplicate keys; with the line.
    """
    text = read_text(path, kind)
    return (_kept if len(text) <= MOST_KEPT else _content)(text, path, kind)


def _content(text: str, path: Path, kind: Kind) -> Any:
    found = prepared(text, path)
    return parsed(text, path, kind) if found is ABSENT else found


def parsed(text: str, path: Path, kind: Kind = ENTRY) -> Any:
    """Return the content of a YAML text, as `read_yaml` does."""
    return _build(_compose(text, path, kind), path, set(), kind)


#: The content of texts read before: a session opens the same entries again and again.
_kept = lru_cache(maxsize=1024)(_content)


def read_text(path: Path, kind: Kind = ENTRY) -> str:
    """Return the text of a catalog file, or of one of another kind.

    Raises CatalogError: unreadable, too large, or not UTF-8.
    """
    try:
        return files.read_text(path, f"{kind.name} (`{kind.template}` writes one)", most=MAX_BYTES)
    except IngestError as error:
        raise CatalogError(str(error)) from None


def line_of(path: Path, keys: tuple[str, ...]) -> int:
    """Return the line of a nested key, for messages; the line of the deepest key that exists.

    The keys go from the top down, in a file that `read_yaml` can read.
    """
    found = path.stat()
    node = _composed(path, (found.st_ctime_ns, found.st_mtime_ns, found.st_size))
    line = 1
    for key in keys:
        if node.id == "mapping":
            named = [(name, value) for name, value in node.value if name.value == key]
            if not named:
                break
            line, node = named[0][0].start_mark.line + 1, named[0][1]
        elif node.id == "sequence" and key.isdigit() and int(key) < len(node.value):
            node = node.value[int(key)]
            line = node.start_mark.line + 1
        else:
            break
    return int(line)


@lru_cache(maxsize=1)
def _composed(path: Path, _changed: tuple[int, int, int]) -> Any:
    """The nodes of a file with their lines, cached until it changes: messages of a large site name hundreds of lines."""
    return _compose(read_text(path), path)


@lru_cache(maxsize=1)
def _loader() -> Any:
    """The loader without resolvers, which all tag a node by its kind here."""
    import yaml

    tags = {
        node: f"tag:yaml.org,2002:{kind}"
        for node, kind in zip((yaml.ScalarNode, yaml.SequenceNode, yaml.MappingNode), ("str", "seq", "map"), strict=True)
    }

    class Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]
        def resolve(self, kind: type, _value: object, _implicit: object) -> str:
            return tags[kind]

    return Loader


def _compose(text: str, path: Path, kind: Kind = ENTRY) -> Any:
    import yaml

    # The C parser recurses once per level and crashes at a hundred thousand.
    if text.count("[") + text.count("{") > MAX_BRACKETS or _INLINE_NESTING.search(text):
        raise CatalogError(f"{path}:1: nested too deeply or too often, expected {kind.name}")
    try:
        node = yaml.compose(text, Loader=_loader())
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else text.count("\n", 0, getattr(error, "position", 0)) + 1
        problem = getattr(error, "problem", None) or "nested too deeply, or a control character"
        raise CatalogError(f"{path}:{line}: not readable as YAML: {problem}, expected {kind.name}") from None
    if node is None:
        how = "names them" if kind.template.endswith("--help") else "writes a template"
        raise CatalogError(f"{path}: empty, expected {kind.name} (`{kind.template}` {how})")
    return node


def _build(node: Any, path: Path, seen: set[int], kind: Kind, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise _refused(path, node, f"nested more than {MAX_DEPTH} deep, expected {kind.name}")
    if id(node) in seen:
        raise _refused(path, node, "anchors and aliases are not allowed, expected each value written out")
    seen.add(id(node))
    if node.tag not in _PLAIN_TAGS:
        raise _refused(path, node, f"tag '{node.tag}' is not allowed, expected plain values")
    if node.id == "scalar":
        if node.style == '"' and "\ufffd" in visible(node.value):
            raise _refused(path, node, f"found {brief(node.value)}, expected text without control characters")
        return _scalar(node.value) if node.style in (None, "") else node.value
    if node.id == "sequence":
        return [_build(item, path, seen, kind, depth + 1) for item in node.value]
    mapping: dict[str, Any] = {}
    for key, value in node.value:
        if key.id != "scalar":
            raise _refused(path, node, "a key is not text, expected a name")
        if key.value in mapping:
            raise _refused(path, key, f"duplicate key '{key.value}', expected it once")
        _build(key, path, seen, kind, depth + 1)
        mapping[key.value] = _build(value, path, seen, kind, depth + 1)
    return mapping


def _refused(path: Path, node: Any, why: str) -> CatalogError:
    return CatalogError(f"{path}:{node.start_mark.line + 1}: {why}")


def _scalar(text: str) -> Any:
    if len(text) <= 5 and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not (text[0] in "+-." or text[0].isdecimal()) or not _NUMBER.fullmatch(text):
        return text
    plain = text.replace("_", "").lower()
    if len(plain) > MAX_DIGITS:
        return text
    if plain.lstrip("+-").isdigit():
        # A leading zero may be an id or an octal number: it stays text.
        return text if plain.lstrip("+-").startswith("0") and len(plain.lstrip("+-")) > 1 else int(plain)
    return Pointed(text) if POINTED.fullmatch(text) else float(plain.replace(".inf", "inf").replace(".nan", "nan"))


class Pointed(float):
    """A number whose point may group thousands: its representation is the text in the file, in which readers of counts look."""

    def __repr__(self) -> str:
        return f"{self:.3f}"


def key_of(text: str) -> str:
    """Checksum and length of a YAML text.

    >>> key_of("name: NVIDIA H100\\n")
    'a6f57151-18'
    """
    written = text.encode()
    return f"{zlib.crc32(written):08x}-{len(written)}"


def prepared(text: str, path: Path) -> Any:
    """The content of a YAML text of the shipped catalogs; `ABSENT` if it is another text, or lies elsewhere."""
    folder = shipped_folder()
    if folder not in (path.parent, path.parent.parent):
        return ABSENT
    lines = _lines(folder)
    key = f"\n{key_of(text)}\t".encode()
    start = lines.find(key)
    if start < 0:
        return ABSENT
    import json

    return json.loads(lines[start + len(key) : lines.index(b"\n", start + 1)])


@lru_cache(maxsize=1)
def _lines(folder: Path) -> bytes:
    try:
        return b"\n" + (folder / NAME).read_bytes()
    except FileNotFoundError:
        return b""


#: longer than the step in which file systems keep times
STEP_NS = 100_000_000
Stamp = tuple[int, int, int, int] | None


def stamp_of(path: Path | str) -> Stamp:
    """What changes with a file or a folder; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    # An editor or `cp -p` may keep the time of the content; that of the last change of the file no program sets.
    return found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino


def is_settled(stamp: Stamp) -> bool:
    """Whether the next edit cannot have the times of the last one, which file systems keep in steps."""
    return stamp is None or all(abs(time_ns() - time) >= STEP_NS for time in stamp[:2])


def state_of(path: str) -> Stamp:
    """The state of what will be read, by which it is read again once it changes."""
    found = stamp_of(path)
    return found if is_settled(found) else (0, 0, 0, 0)


def hash_of(folders: Sequence[Path], places: Sequence[str]) -> str:
    """The SHA-256 over all catalog files in these places of folders, made again only where one of them changed."""
    import hashlib

    found = [(folder, [*_files(folder, places)]) for folder in folders]
    stamps = [(name, stamp_of(f"{folder}/{name}")) for folder, names in found for name in names]
    known = _HASHED.get("last")
    if known is not None and known[:2] == (folders, stamps):
        return known[2]
    digest = hashlib.sha256()
    for folder, names in found:
        for name in names:
            digest.update(f"{name}\0".encode())
            # Not `open`, whose further system calls for each file double the time over all of them.
            file = os.open(f"{folder}/{name}", os.O_RDONLY)
            try:
                while part := os.read(file, 1 << 20):
                    digest.update(part)
            finally:
                os.close(file)
    made = f"sha256:{digest.hexdigest()}"
    if all(is_settled(stamp) for _, stamp in stamps):
        _HASHED["last"] = folders, stamps, made
    return made


#: the folders that were hashed last, the states of their files, and their hash
_HASHED: dict[str, tuple[Sequence[Path], list[tuple[str, Stamp]], str]] = {}


def _files(folder: Path, places: Iterable[str]) -> Iterator[str]:
    """The names of all catalog files, sorted; plain strings, because each JSON answer looks at all of them."""
    for place in places:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(f"{folder}/{place}") as entries:
            yield from sorted(place + one.name for one in entries if one.name.endswith((".yaml", ".csv")) and one.is_file())
