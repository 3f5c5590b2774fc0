"""Conversions are kept in the user's cache folder, because a large one takes seconds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from ingest.errors import IngestError
from ingest.files import write_whole


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
    except (OSError, IngestError):
        return content
    return content


def read_entry(path: Path) -> bytes | None:
    """An entry of the cache, or nothing where it is missing or damaged."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest().encode() == digest else None


def cache_folder() -> Path:
    """Where conversions are kept: `ingest/vocabularies` in the user's cache folder."""
    if os.name == "nt":
        root = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "ingest" / "vocabularies"
