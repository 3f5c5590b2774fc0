"""`--set` over a site: one value per path, or a list or range for several scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from ingest.axes import parse_axis
from ingest.errors import UsageError, brief
from ingest.formula import unit_of
from ingest.site.schema import node_at

#: Each is a whole plan.
MOST_SCENARIOS = 1000


def scenarios_of(given: Mapping[str, Any] | Sequence[str] | None) -> list[dict[str, Any]]:
    """Every combination of what was set.

    >>> scenarios_of(["clusters.main.count=128,256"])
    [{'clusters.main.count': 128}, {'clusters.main.count': 256}]
    >>> scenarios_of({"jobs.a.model": "resnet50", "years": 3})
    [{'jobs.a.model': 'resnet50', 'years': 3}]

    Raises:
        UsageError: no `PATH=VALUE`, an unknown path, a path twice, or too many scenarios.
    """
    written = dict(given) if isinstance(given, Mapping) else _split(given or ())
    axes = {path: _values(path, value) for path, value in written.items()}
    count = prod(map(len, axes.values()))
    if count > MOST_SCENARIOS:
        raise UsageError(f"--set: {count:,} scenarios, expected at most {MOST_SCENARIOS:,}")
    return [dict(zip(axes, chosen, strict=True)) for chosen in product(*axes.values())]


def _split(settings: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in settings:
        path, equals, value = text.partition("=")
        path = path.strip()
        if not equals or not path:
            raise UsageError(f"--set: found '{text}', expected PATH=VALUE, such as clusters.main.count=256")
        if path in found:
            raise UsageError(f"--set: {path} is given more than once, expected it once")
        found[path] = value.strip()
    return found


def _range(path: str, text: str) -> Mapping[str, Any]:
    """Keys and values as a site file writes them, such as `{low: 1 TB, typical: 2 TB, high: 4 TB}`."""
    import yaml

    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        found = None
    if not isinstance(found, Mapping):
        expected = "a range such as {low: 1 TB, typical: 2 TB, high: 4 TB}"
        raise UsageError(f"--set {path}: found {brief(text)}, expected {expected}")
    return found


def _values(path: str, value: Any) -> list[Any]:
    """The values of one path: several where a list or a range is written."""
    if isinstance(value, (list, tuple)):
        if not value:
            raise UsageError(f"--set {path}: found an empty list, expected at least one value")
        return list(value)
    node = node_at(path.split("."), f"--set {path}")
    if isinstance(value, str) and value.startswith("{"):
        return [_range(path, value)]
    if not isinstance(value, str) or not ("," in value or ".." in value):
        return [value]
    if "x-quantity" in node:
        return parse_axis(value, unit_of(node["x-quantity"]), f"--set {path}")
    if node.get("type") == "integer":
        return parse_axis(value, "1", f"--set {path}")
    # A policy such as last=3,every=10 is one value; a list of words is several.
    return [value] if "=" in value else value.split(",")
