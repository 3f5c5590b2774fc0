"""The steps that a `tokenizer.json` describes."""

from __future__ import annotations

import json
from typing import Any


def outline_of(described: dict[str, Any]) -> bytes:
    """All but the model, which alone can take a hundred megabytes once it is parsed.

    >>> outline_of({"normalizer": None, "model": {"type": "BPE"}})
    b'{"normalizer": null}'
    """
    return json.dumps({name: value for name, value in described.items() if name != "model"}).encode()


def members(step: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """The steps of a sequence, sequences within it included.

    >>> members({"type": "Sequence", "normalizers": [{"type": "NFC"}]}, "normalizers")
    [{'type': 'NFC'}]
    """
    if not step:
        return []
    if kind(step) != "Sequence":
        return [step]
    return [inner for outer in step.get(name) or [] for inner in members(outer, name)]


def kind(step: dict[str, Any]) -> str:
    """What a step is called."""
    return str(step.get("type"))
