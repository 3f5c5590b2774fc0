"""Checked values from result files, which may contain anything."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from ingest.errors import IngestError, brief

#: Least share of the time that threads wait for their requests: the rest is their own work, such as new contents for writes.
WAITING = {"read": 0.25, "write": 0.05}


def named_test(text: str, suffix: str) -> str:
    """The last test id with one of these suffixes in a text; empty where there is none."""
    ids = re.findall(rf"(?<![\w-])T-[A-Za-z0-9_-]+-(?:{suffix})\b", text)
    return ids[-1] if ids else ""


def number(found: object, where: str) -> float:
    """A finite number from 0; an IngestError for anything else."""
    try:
        value = float(found) if isinstance(found, (int, float, str)) and not isinstance(found, bool) else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise IngestError(f"{where}: found {brief(found)}, expected a number from 0")
    return value


def errors_in(text: str, pattern: re.Pattern[str]) -> str:
    """The number of errors among a tool's output, in words; empty without any."""
    count = len(pattern.findall(text))
    return f"{count} errors" if count else ""


def group(pattern: str, text: str) -> str:
    """The first group of a pattern where it first matches a line of a text; empty where it does not."""
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


def parsed(text: str, start: int, path: str, whose: str) -> tuple[Any, int]:
    """The JSON value at a position of a text, and the position after it; an IngestError where it is cut off or too deep."""
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        raise IngestError(f"{path}: found {whose} cut off, expected all of it") from None


def table(found: object, where: str) -> Mapping[str, Any]:
    """A JSON object; an IngestError for anything else."""
    if not isinstance(found, dict):
        raise IngestError(f"{where}: found {brief(found)}, expected a JSON object")
    return found


def rows(found: object, where: str) -> list[Mapping[str, Any]]:
    """A JSON list of objects; an IngestError for anything else."""
    if not isinstance(found, list):
        raise IngestError(f"{where}: found {brief(found)}, expected a list")
    return [table(item, f"{where}[{position}]") for position, item in enumerate(found)]
