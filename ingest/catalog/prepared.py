"""The shipped catalogs as JSON: what starts fast reads no YAML. Each content stands beside the checksum of its YAML text.

A file that was edited has another checksum and is read as YAML, as are files anywhere else; `docs/generate.py` writes the
lines anew.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from ingest.catalog.folders import shipped_folder

#: One line per text: its key, a tab, its content.
NAME = "prepared.jsonl"
#: What no text contains: `None` is the content of an empty one.
ABSENT = object()


def key_of(text: str) -> str:
    """Checksum and length of a YAML text.

    >>> key_of("name: NVIDIA H100\\n")
    'a6f57151-18'
    """
    written = text.encode()
    return f"{zlib.crc32(written):08x}-{len(written)}"


def prepared(text: str, path: Path) -> Any:
    """The content of a YAML text of the shipped catalogs; `ABSENT` if it is another text, or lies elsewhere.

    Args:
        text: the YAML.
        path: its file.
    """
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
