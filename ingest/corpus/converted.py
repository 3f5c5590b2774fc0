"""What vocabularies were turned into is kept in the user's cache folder, because turning a large one takes seconds."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ingest.errors import IngestError
from ingest.files import write_whole

#: entries that are kept, those that were used last; each takes about 10 MB
MOST_ENTRIES = 16


class Converted(NamedTuple):
    """What is derived from the file of a vocabulary.

    Attributes:
        size: number of ids.
        outline: the `tokenizer.json` without its model.
        tokenizer_json: what every engine loads.
    """

    size: int
    outline: bytes
    tokenizer_json: bytes

    def packed(self) -> bytes:
        """As it is kept: a line that describes it, then the `tokenizer.json`."""
        head = json.dumps({"size": self.size, "outline": self.outline.decode()})
        return head.encode() + b"\n" + self.tokenizer_json

    @classmethod
    def unpacked(cls, content: bytes) -> Converted:
        """From what was kept."""
        head, _, tokenizer_json = content.partition(b"\n")
        described = json.loads(head)
        return cls(described["size"], described["outline"].encode(), tokenizer_json)


def converted(key: str, convert: Callable[[], Converted]) -> Converted:
    """What `convert` returns, from the cache where it is there whole."""
    return Converted.unpacked(cached(key, lambda: convert().packed()))


def cached(key: str, convert: Callable[[], bytes]) -> bytes:
    """What `convert` returns, from the cache where it is there whole.

    An entry begins with the SHA-256 of the rest, so that a damaged one is noticed and made again. A folder that cannot be
    written costs time, not the answer.
    """
    path = cache_folder() / f"{key}.json"
    kept = read_entry(path)
    if kept is not None:
        return kept
    content = convert()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        forget_oldest(path.parent)
    except (OSError, IngestError):
        return content
    return content


def read_entry(path: Path) -> bytes | None:
    """An entry of the cache, or nothing where it is missing or damaged."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest().encode() != digest:
        return None
    with suppress(OSError):  # the time of its last use, which a cache that cannot be written does not keep
        os.utime(path)
    return content


def forget_oldest(folder: Path) -> None:
    """Keep the cache bounded: entries that have not been used for the longest time go."""
    entries = sorted(folder.glob("*.json"), key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
    for entry in entries[MOST_ENTRIES:]:
        entry.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Where conversions are kept: `ingest/vocabularies` in the user's cache folder."""
    if os.name == "nt":
        root = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "ingest" / "vocabularies"
