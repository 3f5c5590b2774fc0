"""Requirement lines, read from what `ingest plan` writes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ingest.acceptance.harmless import checked_id, one_line
from ingest.errors import IngestError, brief, nearest
from ingest.requirement import PRIORITIES, Conditions, Requirement

KEYS = tuple(part.name for part in fields(Requirement))
CONDITIONS = {part.name: part for part in fields(Conditions)}
WHOLE = ("clients", "threads", "io_size")
NUMBERS = (*WHOLE, "duration", "fill")
MOST_BYTES = 64 * 2**20


def requirements_of(path: str | Path) -> list[Requirement]:
    """The requirement lines of a plan.

    Args:
        path: JSON that `ingest plan SITE.yaml -o plan.json` writes, or any JSON object with `requirements`.

    Raises:
        IngestError: no such file, no JSON, no requirements in it, or a line that cannot be understood.
    """
    plan = _planned(Path(path))
    if "scenarios" in plan:
        raise IngestError(f"{path}: found several scenarios, expected the plan of one")
    found = plan.get("requirements")
    if not isinstance(found, list) or not found:
        raise IngestError(f"{path}: found no 'requirements', expected what `ingest plan SITE.yaml -o plan.json` writes")
    lines = [_line(item, f"{path}: requirements[{number}]") for number, item in enumerate(found)]
    seen: set[str] = set()
    for line in lines:
        # A test is named after its line without `R-`, and some file systems do not tell cases apart.
        name = line.id.lower().removeprefix("r-")
        if name in seen:
            raise IngestError(f"{path}: found the id '{line.id}' twice, expected one line for each id")
        seen.add(name)
    return lines


def site_name(path: str | Path) -> str:
    """What the plan calls the site; the file's own name where it does not."""
    site = _planned(Path(path)).get("site")
    name = site.get("name") if isinstance(site, dict) else site
    return one_line(name) if isinstance(name, str) and name.strip() else one_line(Path(path).stem)


def _planned(path: Path) -> Mapping[str, Any]:
    """The plan as JSON. A site file in YAML is planned first."""
    if path.suffix.lower() in (".yaml", ".yml"):
        raise IngestError(
            f"{path}: found a site file, expected its plan: `ingest plan {path.name} -o plan.json`, then accept that"
        )
    return read_object(path)


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object in a file.

    Raises:
        IngestError: no such file, too large, not JSON, or no object.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise IngestError(f"{path}: found {path.stat().st_size:,} bytes, expected at most {MOST_BYTES:,}")
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, RecursionError):
        raise IngestError(f"{path}: found no text, expected a JSON object") from None
    except ValueError as error:
        raise IngestError(f"{path}: found no JSON ({one_line(error)}), expected a JSON object") from None
    if not isinstance(found, dict):
        raise IngestError(f"{path}: found {brief(found)}, expected a JSON object")
    return found


def _line(item: object, where: str) -> Requirement:
    if not isinstance(item, dict):
        raise IngestError(f"{where}: found {brief(item)}, expected an object with id, metric, value and unit")
    ident = checked_id(item.get("id"), f"{where}: id")
    where = f"{where} ({ident})"
    missing = [name for name in ("priority", "statement", "metric", "value", "unit") if name not in item]
    if missing:
        raise IngestError(f"{where}: found no {', '.join(missing)}, expected every one of {', '.join(KEYS[:6])}")
    if item["priority"] not in PRIORITIES:
        raise IngestError(f"{where}: priority: found {brief(item['priority'])}, expected one of {', '.join(PRIORITIES)}")
    return Requirement(
        id=ident,
        priority=str(item["priority"]),
        statement=one_line(item["statement"]),
        metric=one_line(item["metric"]),
        value=_value(item["value"], f"{where}: value"),
        unit=one_line(item["unit"]),
        conditions=_conditions(item.get("conditions") or {}, f"{where}: conditions"),
    )


def _conditions(item: object, where: str) -> Conditions:
    if not isinstance(item, dict):
        raise IngestError(f"{where}: found {brief(item)}, expected an object with operation, clients, threads, io_size, …")
    for name in item:
        if name not in CONDITIONS:
            raise IngestError(f"{where}: found '{one_line(name)}', expected {', '.join(CONDITIONS)}{nearest(name, CONDITIONS)}")
    values: dict[str, Any] = {"operation": ""}
    for name, value in item.items():
        if value is None:
            continue
        values[name] = _positive(value, f"{where}: {name}") if name in NUMBERS else one_line(value)
        if name in WHOLE and values[name] != int(values[name]):
            raise IngestError(f"{where}: {name}: found {value}, expected a whole number")
        if name in WHOLE:
            values[name] = int(values[name])
    return Conditions(**values)


def _value(value: object, where: str) -> float:
    """The value to be shown; nothing for what a buyer still has to set."""
    return 0 if value is None or value == 0 else _positive(value, where)


def _positive(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise IngestError(f"{where}: found {brief(value)}, expected a number above 0 in base units")
    return value
