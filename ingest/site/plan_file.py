"""The requirement lines of a site: planned from its site file, or read from the JSON that `ingest plan` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.catalog.store import Catalog
from ingest.engine.result import SCHEMA
from ingest.errors import IngestError, brief, nearest
from ingest.requirement import PRIORITIES, Conditions, Requirement
from ingest.site.plan import Plan
from ingest.site.planner import plan
from ingest.text import checked_id, one_line

#: Folders with entries of the user's own, or a catalog that is open already.
Folders = Catalog | str | Path | Sequence[str | Path]
#: A plan of a thousand jobs is a few megabytes; what is larger is something else.
MOST_BYTES = 64 * 2**20
SITE_SUFFIXES = (".yaml", ".yml")
WORDS = ("id", "priority", "statement", "metric", "unit")
WHOLE = ("clients", "threads", "io_size")
NUMBERS = (*WHOLE, "duration", "fill")


def plan_data(path: str | Path, catalogs: Folders = ()) -> Mapping[str, Any]:
    """The plan of a site as data, whichever form it comes in."""
    if Path(path).suffix.lower() not in SITE_SUFFIXES:
        return read_object(Path(path))
    return plan_of_site(path, catalogs).to_dict()


def plan_of_site(path: str | Path, catalogs: Folders = ()) -> Plan:
    """The plan of a site file."""
    planned = plan(path, samples=0, catalogs=catalogs)
    assert isinstance(planned, Plan), "several scenarios come from `set` only"
    return planned


def lines_of(path: Path, data: Mapping[str, Any]) -> list[Requirement]:
    """The requirement lines of a plan as data."""
    if "scenarios" in data:
        raise IngestError(f"{path}: found several scenarios, expected the plan of one")
    found = data.get("requirements")
    if not isinstance(found, list) or not found or data.get("schema") != SCHEMA:
        keys = brief(", ".join(list(data)[:4]))
        raise IngestError(
            f"{path}: found {keys}, expected schema '{SCHEMA}' and a list 'requirements', as `ingest plan` writes"
        )
    lines = [_line(path, number, item) for number, item in enumerate(found, start=1)]
    seen: set[str] = set()
    for line in lines:
        # A test is named after its line without `R-`, and some file systems do not tell cases apart.
        name = line.id.lower().removeprefix("r-")
        if name in seen:
            raise IngestError(f"{path}: found the id '{line.id}' twice, expected one line for each id")
        seen.add(name)
    return lines


def site_name(path: str | Path, data: Mapping[str, Any]) -> str:
    """What the plan calls the site; the file's own name where it does not."""
    name = data.get("site")
    return one_line(name) if isinstance(name, str) and name.strip() else one_line(Path(path).stem)


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object in a file.

    Raises:
        IngestError: no such file, a device, too large, not JSON, or no object.
    """
    if path.exists() and not path.is_file():
        raise IngestError(f"{path}: not a regular file, expected the JSON of `ingest plan`")
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise IngestError(f"{path}: larger than {MOST_BYTES:,} bytes, expected a JSON object")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise IngestError(f"{path}:{line}: no whole JSON ({brief(str(error))}), expected a JSON object") from None
    if not isinstance(found, dict):
        raise IngestError(f"{path}: found {brief(found)}, expected a JSON object")
    return found


def _line(path: Path, number: int, line: Any) -> Requirement:
    place = f"{path}: requirement {number}"
    if not isinstance(line, dict):
        raise IngestError(f"{place}: found {brief(line)}, expected id, metric, value, unit and conditions")
    checked_id(line.get("id"), f"{place}: id")
    for name in WORDS:
        if not isinstance(line.get(name), str):
            raise IngestError(f"{place}: {name}: found {brief(line.get(name))}, expected text")
    place = f"{path}: {line['id']}"
    if line["priority"] not in PRIORITIES:
        raise IngestError(f"{place}: priority: found {brief(line['priority'])}, expected one of {', '.join(PRIORITIES)}")
    low, high = (_number(line.get(name), f"{place}: {name}") for name in ("low", "high"))
    # A buyer may leave a value open: then nothing is required.
    value = _number(line.get("value"), f"{place}: value") or 0
    ident, priority, statement, metric, unit = (one_line(line[name]) for name in WORDS)
    conditions = _conditions(line.get("conditions"), place)
    return Requirement(ident, priority, statement, metric, value, unit, conditions, low=low, high=high)


def _number(found: Any, place: str) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < float("inf"):
        raise IngestError(f"{place}: found {brief(found)}, expected a number from 0 in base units")
    return found


def _conditions(found: Any, place: str) -> Conditions:
    if not isinstance(found, dict):
        raise IngestError(f"{place}: conditions: found {brief(found)}, expected an operation, such as read")
    known = Conditions.__dataclass_fields__
    values: dict[str, Any] = {}
    for name, item in found.items():
        where = f"{place}: conditions: {name}"
        if name not in known:
            hint = nearest(name, known)
            raise IngestError(f"{place}: conditions: unknown '{one_line(name)}', expected one of {', '.join(known)}{hint}")
        if name in NUMBERS:
            values[name] = _positive(item, where)
        elif item is not None:
            values[name] = one_line(item)
    if "operation" not in values:
        raise IngestError(f"{place}: conditions: found {brief(found)}, expected an operation, such as read")
    return Conditions(**values)


def _positive(item: Any, where: str) -> float | None:
    number = _number(item, where)
    if number == 0:
        raise IngestError(f"{where}: found 0, expected a number above 0")
    if number is not None and where.endswith(WHOLE):
        if number != int(number):
            raise IngestError(f"{where}: found {item}, expected a whole number")
        return int(number)
    return number
