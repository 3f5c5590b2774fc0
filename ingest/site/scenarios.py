"""`--set` over a site: one value per path, or a list or range for several scenarios."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.yaml_reader import parsed
from ingest.engine.messages import each_once
from ingest.engine.registry import comes_whole, unit_of
from ingest.errors import CatalogError, UsageError, brief, nearest
from ingest.requirement import Requirement
from ingest.site.requirement_wording import LINES
from ingest.site.schema import node_at
from ingest.site.site_file import Site
from ingest.sizing.job import parse_axis
from ingest.units import parse, written_in_file

#: Each is a whole plan.
MOST_SCENARIOS = 1000


def scenarios_of(given: Mapping[str, Any] | Sequence[str] | None) -> list[dict[str, Any]]:
    """Every combination of what was set.

    >>> scenarios_of(["clusters.main.count=128,256"])
    [{'clusters.main.count': 128}, {'clusters.main.count': 256}]
    >>> scenarios_of({"jobs.a.model": "resnet50", "years": 3})
    [{'jobs.a.model': 'resnet50', 'years': 3}]

    Raises UsageError: no `PATH=VALUE`, an unknown path, a path twice, or too many scenarios.
    """

    def setting(text: str) -> tuple[str, str]:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise UsageError(f"--set: found '{text}', expected PATH=VALUE, such as clusters.main.count=256")
        return path.strip(), value.strip()

    written = dict(given) if isinstance(given, Mapping) else each_once("set", map(setting, given or ()))
    axes = {path: _values(path, value) for path, value in written.items()}
    count = prod(map(len, axes.values()))
    if count > MOST_SCENARIOS:
        raise UsageError(f"--set: {count:,} scenarios, expected at most {MOST_SCENARIOS:,}")
    return [dict(zip(axes, chosen, strict=True)) for chosen in product(*axes.values())]


def _values(path: str, value: Any) -> list[Any]:
    """The values of one path: several where a list or a range is written."""
    if isinstance(value, (list, tuple)):
        if not value:
            raise UsageError(f"--set {path}: found an empty list, expected at least one value")
        return list(value)
    node = node_at(path.split("."), f"--set {path}")
    if not isinstance(value, str):
        return [value]
    if value.startswith("{"):
        # Keys and values as a site file writes them, such as `{low: 1 TB, typical: 2 TB, high: 4 TB}`.
        found = None
        with suppress(CatalogError):
            found = parsed(value, Path())
        if not isinstance(found, Mapping):
            expected = "a range such as {low: 1 TB, typical: 2 TB, high: 4 TB}"
            raise UsageError(f"--set {path}: found {brief(value)}, expected {expected}")
        return [written_in_file(found)]
    if not ("," in value or ".." in value):
        return [value]
    if "x-quantity" in node:
        return parse_axis(value, unit_of(node["x-quantity"]), f"--set {path}", comes_whole(node["x-quantity"]) or None)
    if node.get("type") == "integer":
        return parse_axis(value, "1", f"--set {path}")
    # A policy such as last=3,every=10 is one value; a list of words is several.
    return [value] if "=" in value else value.split(",")


_FORM = re.compile(r"([A-Za-z][\w-]*)\s*(<=|>=|<|>)\s*(\S.*)")
_HOLDS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


class Expectation(NamedTuple):
    """One assertion, held against the plan."""

    text: str  # as the file says
    id: str  # of the requirement that it speaks of
    met: bool  # whether it holds; False too where the plan has no such requirement
    found: str  # the value, in words

    @property
    def message(self) -> str:
        """Why it is not met, in one line."""
        return f"expected {self.text}, found {self.found}"


def expectations(site: Site, requirements: Sequence[Requirement]) -> tuple[Expectation, ...]:
    """Hold every assertion of the file against the plan. Raises IngestError: an assertion that is none, with its line."""
    by_id = {one.id: one for one in requirements}
    found = []
    for number, text in enumerate(site.data.get("expect") or ()):
        try:
            found.append(_held(text, by_id))
        except UsageError as error:
            site.refuse(("expect", str(number)), str(error))
    return tuple(found)


def _held(text: str, by_id: Mapping[str, Requirement]) -> Expectation:
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"found {brief(text)}, expected NAME <= VALUE, such as read_bandwidth <= 2 TB/s")
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
    return Expectation(text, line.id, _HOLDS[sign](one.value, limit), one.display)
