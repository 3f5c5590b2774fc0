"""What a cell accepts, and the formulas on the sheet Checks that say whether it does."""

from __future__ import annotations

from typing import Any

from ingest.formula import Leaf


def validation(limits: Leaf) -> dict[str, Any]:
    """What a cell accepts; a message names the range."""
    if limits.whole and not limits.above and (limits.low, limits.high) == (0, 1):
        return {"validate": "list", "source": [0, 1], "error_title": limits.name[:32], "error_message": "0 (no) or 1 (yes)"}
    kind = "integer" if limits.whole else "decimal"
    top = min(limits.high, 2**31 - 1 if limits.whole else 1e300)
    message = {"error_title": limits.name[:32], "error_message": range_words(limits)[:255]}
    if limits.above and not limits.whole:
        # A spreadsheet's own test knows no open end: the smallest number of a double stands for "above".
        return {"validate": kind, "criteria": "between", "minimum": limits.low or 1e-300, "maximum": top, **message}
    low = limits.low + (1 if limits.above else 0)
    return {"validate": kind, "criteria": "between", "minimum": low, "maximum": top, **message}


def range_words(limits: Leaf) -> str:
    """The allowed range in words."""
    kind = "a whole number" if limits.whole else "a number"
    end = f" up to {limits.high:g}" if limits.high < float("inf") else ""
    return f"{kind} {'above' if limits.above else 'from'} {limits.low:g}{end}"


def range_short(limits: Leaf) -> str:
    """The allowed range in the fewest words.

    >>> range_short(Leaf("fill_limit", "1", "", high=1)), range_short(Leaf("nodes", "node", "", whole=True))
    ('above 0 up to 1', 'whole, above 0')
    """
    return range_words(limits).replace("a whole number", "whole,").removeprefix("a number ")


def range_check(area: str, limits: Leaf, count: int, among: str = "") -> tuple[str, str]:
    """What is expected of an input, and the formula that tests each of its cells.

    Args:
        area: the cells.
        limits: their range.
        count: how many there are.
        among: cells beside a larger area, of which those that name the quantity count.
    """
    sign = ">" if limits.above else ">="
    named = f'{among}, "{limits.name}", ' if among else ""
    low = f'COUNTIFS({named}{area}, "{sign}{limits.low!r}") = {count}'
    bounded = f', COUNTIFS({named}{area}, ">{limits.high!r}") = 0' if limits.high < float("inf") else ""
    counted = f'({among} = "{limits.name}")' if among else "1"
    whole = f", SUMPRODUCT({counted} * (INT({area}) <> {area})) = 0" if limits.whole else ""
    return range_words(limits), f'=IF(AND({low}{bounded}{whole}), "ok", "fails")'


def number_check(place: str, signed: bool = False) -> tuple[str, str]:
    """What is expected of a result, and the formula that tests it; `signed` ones may be below zero."""
    if signed:
        return "a number", f'=IF(ISNUMBER({place}), "ok", "fails")'
    return "a number, not below zero", f'=IF(ISNUMBER({place}), IF({place} >= 0, "ok", "fails"), "fails")'
