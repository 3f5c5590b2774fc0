"""Numbers of a site file: how each may be written, for the schema, and what it is in base units, for the reader."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ingest.formula import LEAVES, Leaf, check_value, unit_of
from ingest.units import parse, physical

WORDS = ("typical", "low", "high")
#: A number in text, without a sign: no quantity of a site is below zero.
_DIGITS = r"^\s*\+?(?=\.?\d)[\d_,]*(\.\d*)?([eE][+-]?\d+)?\s*"
_PREFIX = "[kKMGTPEZ]?"
#: What may stand behind the number, by the physical part of the base unit.
_SUFFIXES = {
    "s": rf"({_PREFIX}|[muµn]s|[muµn]sec|s|secs?|mins?|h|hours?|d|days?|weeks?|years?)",
    "B": rf"({_PREFIX}|{_PREFIX}i?B[\w/ ]*)",
    "FLOP": rf"({_PREFIX}|{_PREFIX}FLOP[\w/ ]*)",
    "1": rf"(%|{_PREFIX}\s*(1|samples?|tokens?|GPUs?|nodes?|files?|parameters?)?([/ ]\s*\w+)*)",
}


def number(value: object, name: str, word: str = "typical") -> float:
    """A number of a site file in base units.

    Args:
        value: as written.
        name: the quantity.
        word: which number of its range.

    >>> number("2 days", "retention_seconds")
    172800.0

    Raises:
        UsageError: no number, of another unit, or out of range.
    """
    what = name if word == "typical" else f"{word} of {name}"
    return float(check_value(name, parse(value, unit_of(name), what), what))


def with_limits(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node of the schema that holds a quantity, with what the quantity may be and how it may be written."""
    limits = limits_of(node["x-quantity"])
    words = {word: {"type": ["number", "string"], "x-quantity": node["x-quantity"], "x-word": word, **limits} for word in WORDS}
    return {**node, **limits, "properties": words}


def limits_of(name: str) -> dict[str, Any]:
    """The keywords of JSON Schema for a quantity: each looks at numbers alone, or at text alone.

    >>> limits_of("fill_limit")["exclusiveMinimum"], limits_of("fill_limit")["maximum"]
    (0, 1)
    """
    leaf = LEAVES.get(name, Leaf(name, unit_of(name), ""))
    found: dict[str, Any] = {"pattern": _DIGITS + _SUFFIXES[physical(leaf.unit).split("/")[0]] + r"\s*$"}
    found["exclusiveMinimum" if leaf.above else "minimum"] = leaf.low
    return found if math.isinf(leaf.high) else {**found, "maximum": leaf.high}
