"""The requirement lines of a site: planned from its site file, or read from the JSON that `ingest plan` wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.catalog.store import Catalog
from ingest.errors import IngestError
from ingest.files import read_json_object
from ingest.requirement import ClientGroup, Conditions, HeldLoad, MixPart, Requirement
from ingest.site.plan import Plan
from ingest.site.planner import plan
from ingest.site.schema import problems, schema_in
from ingest.text import checked_id, one_line
from ingest.version import newer

#: Folders with entries of the user's own, or a catalog that is open already.
Folders = Catalog | str | Path | Sequence[str | Path]
#: A plan of a thousand jobs is a few megabytes; what is larger is something else.
MOST_BYTES = 64 * 2**20
PLAN_SCHEMA_FILE = Path(__file__).parent / "plan.schema.json"
SITE_SUFFIXES = (".yaml", ".yml")
COUNTS = {"clients", "threads", "queue_depth", "io_size"}


def plan_data(path: str | Path, catalogs: Folders = ()) -> Mapping[str, Any]:
    """The plan of a site as data, whichever form it comes in."""
    if Path(path).suffix.lower() not in SITE_SUFFIXES:
        return read_object(Path(path))
    return plan_of_site(path, catalogs).to_dict()


def plan_of_site(
    path: str | Path, catalogs: Folders = (), years: int | None = None, changed: Mapping[str, Any] | None = None
) -> Plan:
    """The plan of a site file, for the years that it names if none are given, with other values at some of its keys."""
    planned = plan(path, samples=0, catalogs=catalogs, years=years, set=changed)
    assert isinstance(planned, Plan), "several scenarios come from `set` only"
    return planned


def lines_of(path: str | Path, data: Mapping[str, Any]) -> list[Requirement]:
    """The requirement lines of a plan as data.

    Raises:
        IngestError: not the plan of one site, as `ingest plan` writes it, with the key; or a format not known yet.
    """
    if "scenarios" in data:
        raise IngestError(f"{path}: found several scenarios, expected the plan of one")
    if why := newer(data.get("format")):
        raise IngestError(f"{path}: {why}")
    check_object(data, PLAN_SCHEMA_FILE, path)
    lines = []
    for number, line in enumerate(data["requirements"], start=1):
        ident = checked_id(line["id"], f"{path}: requirement {number}: id")
        priority, statement, metric, unit = (one_line(line[name]) for name in ("priority", "statement", "metric", "unit"))
        given = {name: item for name, item in line["conditions"].items() if item is not None}
        words = {name: one_line(item) for name, item in given.items() if isinstance(item, str)}
        counts = {name: int(given[name]) for name in COUNTS & given.keys()}
        mix = tuple(MixPart(**part) for part in given.pop("mix", ()))
        groups = tuple(ClientGroup(**part) for part in given.pop("client_groups", ()))
        conditions = Conditions(**{**given, **words, **counts}, mix=mix, client_groups=groups)
        # A buyer may leave a value open: then nothing is required.
        value = line.get("value") or 0
        ends: dict[str, Any] = {name: line.get(name) for name in ("low", "high", "computed")}
        ends |= {name: one_line(line.get(name, "")) for name in ("rationale", "theme", "remark", "kind", "limited_by")}
        ends["loads"] = tuple(HeldLoad(**part) for part in line.get("loads", ()))
        lines.append(Requirement(ident, priority, statement, metric, value, unit, conditions, **ends))
    seen: set[str] = set()
    for one in lines:
        # A test is named after its line without `R-`, and some file systems do not tell cases apart.
        name = one.id.lower().removeprefix("r-")
        if name in seen:
            raise IngestError(f"{path}: found the id '{one.id}' twice, expected one line for each id")
        seen.add(name)
    return lines


def site_name(path: str | Path, data: Mapping[str, Any]) -> str:
    """What the plan calls the site; the file's own name where it does not."""
    name = data.get("site")
    return one_line(name) if isinstance(name, str) and name.strip() else one_line(Path(path).stem)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file that `ingest` wrote.

    Raises:
        IngestError: no such file, too large, or no JSON object.
    """
    return read_json_object(path, "a JSON object", most=MOST_BYTES)


def check_object(data: Mapping[str, Any], against: Path, what: object) -> None:
    """Refuse the JSON of a command that breaks its schema.

    Args:
        data: the JSON object.
        against: the file of the schema.
        what: the file that holds the object.

    Raises:
        IngestError: the first violation, with its keys; an entry of a list by its id, where it has one.
    """
    for keys, problem, _ in problems(data, schema_in(against)):
        place = keys
        if len(keys) > 1 and isinstance(rows := data[keys[0]], list):
            row = rows[int(keys[1])]
            known = isinstance(row, dict) and isinstance(row.get("id"), str)
            place = (row["id"] if known else f"{keys[0].removesuffix('s')} {int(keys[1]) + 1}", *keys[2:])
        raise IngestError(f"{what}: {''.join(f'{one_line(key)}: ' for key in place)}{problem}")
