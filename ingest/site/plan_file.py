"""The requirement lines of a site: planned from its site file, or read from JSON; and two plans compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.store import Catalog
from ingest.engine.interactive import InteractiveResult
from ingest.engine.registry import solve
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.errors import IngestError
from ingest.files import read_json_object
from ingest.requirement import ClientGroup, Conditions, HeldLoad, MixPart, Requirement
from ingest.site.plan import Plan
from ingest.site.planner import plan
from ingest.site.schema import inlined, problems
from ingest.text import checked_id, one_line
from ingest.units import display
from ingest.version import newer

#: Folders with entries of the user's own, or a catalog that is open already.
Folders = Catalog | str | Path | Sequence[str | Path]
#: A plan of a thousand jobs is a few megabytes; what is larger is something else.
MOST_BYTES = 64 * 2**20
PLAN_SCHEMA_FILE = Path(__file__).parent / "plan.schema.json"
SITE_SUFFIXES = (".yaml", ".yml")
COUNTS = {"clients", "threads", "queue_depth", "io_size"}


def plan_data(path: str | Path, catalogs: Folders = (), root: str | Path | None = None) -> Mapping[str, Any]:
    """The plan of a site as data, whichever form it comes in."""
    if Path(path).suffix.lower() not in SITE_SUFFIXES:
        return read_object(Path(path))
    return plan_of_site(path, catalogs, root=root).to_dict()


def plan_of_site(path: str | Path, catalogs: Folders = (), years: int | None = None, root: str | Path | None = None) -> Plan:
    """The plan of a site file, for the years that it names if none are given."""
    planned = plan(path, samples=0, catalogs=catalogs, years=years, root=root)
    assert isinstance(planned, Plan), "several scenarios come from `set` only"
    return planned


def planned_again(planned: Plan, settings: Mapping[str, float]) -> Plan | None:
    """A site planned again with other settings; None where it is refused."""
    try:
        again = plan(planned.site.written, set=settings, samples=0, years=planned.years, catalogs=planned.catalog)
    except IngestError:
        return None
    assert isinstance(again, Plan), "several scenarios come from lists only"
    return again


def lines_of(path: str | Path, data: Mapping[str, Any]) -> list[Requirement]:
    """The requirement lines of a plan as data.

    Raises IngestError: not the plan of one site, as `ingest plan` writes it, with the key; or a format not known yet.
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


def read_object(path: Path, expected: str = "the JSON of `ingest plan SITE.yaml -o plan.json`") -> dict[str, Any]:
    """The JSON object in a file that `ingest` wrote. Raises IngestError: no such file, too large, or no JSON object."""
    return read_json_object(path, expected, most=MOST_BYTES)


def check_object(data: Mapping[str, Any], against: Path, what: object) -> None:
    """Refuse the JSON object of a command, in the file `what`, that breaks the schema in another file.

    Raises IngestError: the first violation, with its keys; an entry of a list by its id, where it has one.
    """
    for keys, problem, _ in problems(data, inlined(against)):
        place = keys
        if len(keys) > 1 and isinstance(rows := data[keys[0]], list):
            row = rows[int(keys[1])]
            known = isinstance(row, dict) and isinstance(row.get("id"), str)
            place = (row["id"] if known else f"{keys[0].removesuffix('s')} {int(keys[1]) + 1}", *keys[2:])
        raise IngestError(f"{what}: {''.join(f'{one_line(key)}: ' for key in place)}{problem}")


#: Numbers closer than this are the same: the last digit of a sum.
SAME = 1e-12
#: A value with its unit, and the one of a name that only the other plan has.
Valued = tuple[Any, str]
NOT_THERE: Valued = (None, "")
#: What two plans may be made with, by its key in a plan; a plan without a format has format 1.
STATES = {"format": "two formats of plans", "version": "two versions of ingest", "catalog_hash": "two states of the catalogs"}


class Change(NamedTuple):
    """One thing that differs; None where it is not there."""

    name: str  # id of the requirement, path in the site file, or name of the input
    #: before, after: values in base units, or as written
    before: Any
    after: Any
    unit: str = ""  # of both
    why: tuple[str, ...] = ()  # the changed inputs that it rests on

    @property
    def ratio(self) -> float | None:
        """After over before, where both are numbers."""
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (self.before, self.after))
        if not numbers or not self.before:
            return None
        return float(solve("change_ratio", {"value_before": self.before, "value_after": self.after}))


@dataclass(frozen=True, repr=False, eq=False)
class PlanDiff(InteractiveResult):
    """What changed between two plans."""

    requirements: tuple[Change, ...]  # lines that changed, came or went
    written: tuple[Change, ...]  # changed values of the site files, by path
    inputs: tuple[Change, ...]  # quantities that went in with other values, by name: the catalogs' included
    notes: tuple[str, ...]  # other catalogs, versions or formats, and the defaults that changed with them

    command = "diff"
    warnings: tuple[str, ...] = ()

    @property
    def results(self) -> dict[str, Change]:
        """The changed requirements by id."""
        return {one.name: one for one in self.requirements}

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""

        def rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
            return [{**one._asdict(), "ratio": one.ratio, "why": list(one.why)} for one in changes]

        found = {name: rows(getattr(self, name)) for name in ("requirements", "written", "inputs")}
        return envelope(self.command, found, warnings=self.notes)

    def to_frame(self) -> DataFrame:
        """One row per change."""
        rows = [
            (kind, one.name, one.before, one.after, one.ratio, one.unit)
            for kind in ("requirements", "written", "inputs")
            for one in getattr(self, kind)
        ]
        return frame_of(rows, columns=["kind", "name", "before", "after", "ratio", "unit"])


def diff(before: str | Path | Mapping[str, Any], after: str | Path | Mapping[str, Any]) -> PlanDiff:
    """What changed between two plans.

    Args:
        before: the JSON of a plan: a file, or the object itself.
        after: likewise.

    Raises IngestError: no such file, or not a plan.
    """
    old, new = plans = _plan(before, "BEFORE"), _plan(after, "AFTER")
    inputs = tuple(_changes(_values(old["inputs"]), _values(new["inputs"])))
    written = tuple(_changes(*({name: (value, "") for name, value in one["written"].items()} for one in plans)))
    requirements = tuple(_lines(plans, {one.name for one in inputs}))
    differing = {what: [one.get(key, 1) for one in plans] for key, what in STATES.items()}
    notes = [f"{what}: found {one} and {other}" for what, (one, other) in differing.items() if one != other]
    if 1 in (formats := differing[STATES["format"]]) and formats != [1, 1]:
        notes.append("plans of format 1 state values that are not rounded: a small change may be the rounding alone")
    if any(one != other for what, (one, other) in differing.items() if what != STATES["catalog_hash"]):
        notes += _changed_defaults(old["inputs"], new["inputs"])
    return PlanDiff(requirements, written, inputs, tuple(notes))


def _changed_defaults(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The defaults whose values differ, each once however many rows use it, with the key that sets another value."""
    lines: dict[str, None] = {}
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name], new[name]
        origins = {before.get("from"), after.get("from")}
        if "default" in origins and "user" not in origins and not _same(before["value"], after["value"]):
            was, now = (display(one["value"], one["unit"], binary=False) for one in (before, after))
            key = f" ({one_line(after['key'])})" if isinstance(after.get("key"), str) else ""
            lines[f"default changed: {one_line(name.rpartition(': ')[2])} {was} → {now}{key}"] = None
    yield from lines


def _plan(source: str | Path | Mapping[str, Any], what: str) -> Mapping[str, Any]:
    shown = "data" if isinstance(source, Mapping) else f"'{source}'"
    data = source if isinstance(source, Mapping) else read_object(Path(source))
    needed = ("requirements", "inputs", "written", "version", "catalog_hash")
    if data.get("command") != "plan" or any(key not in data for key in needed):
        raise IngestError(f"{what}: {shown} is not a plan, expected the output of `ingest plan SITE.yaml --format json`")
    lines_of(f"{what}: {shown}", data)
    return data


def _values(quantities: Mapping[str, Mapping[str, Any]]) -> dict[str, Valued]:
    """Values with their units; one that the buyer left open is not there."""
    return {name: (item["value"], item["unit"]) for name, item in quantities.items() if item.get("value") is not None}


def _changes(old: Mapping[str, Valued], new: Mapping[str, Valued]) -> Iterator[Change]:
    for name in sorted({*old, *new}):
        (before, unit), (after, unit_after) = old.get(name, NOT_THERE), new.get(name, NOT_THERE)
        if unit and unit_after and unit != unit_after:
            # Values in different units have no ratio.
            yield Change(name, f"{before:g} {unit}", f"{after:g} {unit_after}")
        elif not _same(before, after):
            yield Change(name, before, after, unit_after or unit)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, (int, float)):
        return abs(one - other) <= SAME * abs(one)
    return bool(one == other)


def _lines(plans: Sequence[Mapping[str, Any]], changed: set[str]) -> Iterator[Change]:
    """Requirements that differ, each with the changed inputs below it; those of the later plan first."""
    old, new = ({one["id"]: one for one in found["requirements"]} for found in plans)
    changes = {one.name: one for one in _changes(_values(old), _values(new))}
    for name in [*new, *(name for name in old if name not in new)]:
        if name in changes:
            below = {str(input) for lines in (old, new) for input in lines.get(name, {}).get("inputs", ())}
            yield changes[name]._replace(why=tuple(sorted(below & changed)))
