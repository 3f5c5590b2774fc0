"""Assertions of a site file: `read_bandwidth <= 2 TB/s`."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ingest.errors import UsageError, nearest
from ingest.formula import unit_of
from ingest.requirement import Requirement
from ingest.site.lines import LINES
from ingest.site.reading import Site
from ingest.units import display, parse

_FORM = re.compile(r"\s*([A-Za-z][\w-]*)\s*(<=|>=|<|>)\s*(.+?)\s*")
_HOLDS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


class Expectation(NamedTuple):
    """One assertion, held against the plan.

    Attributes:
        text: as the file says.
        id: of the requirement that it speaks of.
        met: whether it holds; False too where the plan has no such requirement.
        found: the value, in words.
    """

    text: str
    id: str
    met: bool
    found: str

    @property
    def message(self) -> str:
        """Why it is not met, in one line."""
        return f"expected {self.text}, found {self.found}"


def expectations(site: Site, requirements: Sequence[Requirement]) -> tuple[Expectation, ...]:
    """Hold every assertion of the file against the plan.

    Raises:
        IngestError: an assertion that is none, with its line.
    """
    by_id = {one.id: one for one in requirements}
    found = []
    for number, text in enumerate(site.data.get("expect") or ()):
        try:
            found.append(_held(text, by_id))
        except UsageError as error:
            site.refuse(("expect", str(number)), str(error))
    return tuple(found)


def _held(text: str, by_id: Mapping[str, Requirement]) -> Expectation:
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"found '{text}', expected NAME <= VALUE, such as read_bandwidth <= 2 TB/s")
    name, sign, written = match.groups()
    lines = {name: line for line in LINES for name in (line.id, line.metric, line.metric.removeprefix("site_"))}
    if name not in lines:
        known = [line.metric.removeprefix("site_") for line in LINES]
        raise UsageError(f"unknown quantity '{name}', expected one of {', '.join(known)}{nearest(name, lines)}")
    line = lines[name]
    limit = parse(written, unit_of(line.metric), name)
    one = by_id.get(line.id)
    if one is None:
        return Expectation(text, line.id, False, "no such requirement")
    return Expectation(text, line.id, _HOLDS[sign](one.value, limit), display(one.value, one.unit))
