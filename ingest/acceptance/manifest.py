"""Reader of `tests.json`, which may have been edited since `ingest accept` wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ingest.acceptance.test_spec import DATA, METADATA, SCALES, TOOLS, AcceptanceTest, Load
from ingest.acceptance.tools.parsing import number, rows, table
from ingest.errors import IngestError, brief, expected_one_of
from ingest.requirement import PRIORITIES
from ingest.text import checked_id, one_line

NAMES = tuple(part.name for part in fields(AcceptanceTest))
LOAD_NAMES = tuple(part.name for part in fields(Load))
#: keys whose values come from a list
TEST_WORDS = {"tool": TOOLS, "scale": SCALES, "priority": PRIORITIES}
LOAD_WORDS = {"operation": (*DATA, *METADATA), "unit": ("B/s", "file/s"), "pattern": ("random", "sequential", "")}
MOST_REPEATS = 100


@dataclass(frozen=True)
class ManifestLine:
    """A requirement line of the manifest; `value` is None where the plan leaves it open."""

    id: str
    priority: str
    value: float | None
    unit: str


@dataclass(frozen=True)
class Manifest:
    """The tests and requirement lines that `ingest accept` wrote.

    Attributes:
        site: name of the site.
        scale: one of `SCALES`.
        tests: all of them.
        lines: all requirement lines of the plan.
        untested: requirement id -> why it has no test.
        warnings: of `accept`, on limits of the tests.
    """

    site: str
    scale: str
    tests: tuple[AcceptanceTest, ...]
    lines: tuple[ManifestLine, ...]
    untested: Mapping[str, str]
    warnings: tuple[str, ...]


def manifest_of(found: Mapping[str, Any], where: str) -> Manifest:
    """The manifest in a JSON object.

    Raises:
        IngestError: not a manifest of `ingest accept`; with the key.
    """
    numbered = enumerate(rows(found.get("tests"), f"{where}: tests"))
    tests = tuple(_test(row, f"{where}: tests[{position}]") for position, row in numbered)
    lines = tuple(_line(row, f"{where}: requirements") for row in rows(found.get("requirements"), f"{where}: requirements"))
    untested = table(found.get("untested", {}), f"{where}: untested")
    return Manifest(
        one_line(found.get("site", "")),
        one_line(found.get("scale", "")),
        tests,
        lines,
        {name: _word(why, f"{where}: untested: {name}") for name, why in untested.items()},
        _lines(found.get("warnings", []), f"{where}: warnings"),
    )


def _line(row: Mapping[str, Any], where: str) -> ManifestLine:
    ident, value = checked_id(row.get("id"), f"{where}: id"), row.get("value")
    return ManifestLine(
        ident,
        _one_of(row.get("priority"), PRIORITIES, f"{where}: {ident}: priority"),
        None if value is None else number(value, f"{where}: {ident}: value"),
        _word(row.get("unit"), f"{where}: {ident}: unit"),
    )


def _test(row: Mapping[str, Any], where: str) -> AcceptanceTest:
    _complete(row, NAMES, where)
    notes = _lines(row["notes"], f"{where}: notes")
    files = {str(name): str(value) for name, value in table(row["files"], f"{where}: files").items()}
    if any(name.startswith("/") or ".." in name.split("/") for name in files):
        raise IngestError(f"{where}: files: found a path that leaves the folder, expected what `ingest accept` writes")
    for name in ("id", "requirement"):
        checked_id(row[name], f"{where}: {name}")
    for name, known in TEST_WORDS.items():
        _one_of(row[name], known, f"{where}: {name}")
    for name in ("statement", "version"):
        _word(row[name], f"{where}: {name}")
    for name in ("parameters", "implied", "assumed", "also"):
        for key, value in table(row[name], f"{where}: {name}").items():
            _plain_number(value, f"{where}: {name}: {key}")
    _plain_number(row["repeats"], f"{where}: repeats", MOST_REPEATS)
    _plain_number(row["allowed_deviation"], f"{where}: allowed_deviation", 0.5)
    loads = tuple(_load(load, f"{where}: loads") for load in rows(row["loads"], f"{where}: loads"))
    if not loads:
        raise IngestError(f"{where}: found no loads, expected at least one")
    return AcceptanceTest(**{**{name: row[name] for name in NAMES}, "loads": loads, "files": files, "notes": notes})


def _load(row: Mapping[str, Any], where: str) -> Load:
    _complete(row, LOAD_NAMES, where)
    for name, known in LOAD_WORDS.items():
        _one_of(row[name], known, f"{where}: {name}")
    for name in ("name", "files"):
        _word(row[name], f"{where}: {name}")
    for name in ("threshold", "clients", "threads"):
        if _plain_number(row[name], f"{where}: {name}") == 0:
            raise IngestError(f"{where}: {name}: found 0, expected a number above 0")
    for name in ("io_bytes", "seconds", "dataset_bytes", "handled"):
        if row[name] is not None:
            _plain_number(row[name], f"{where}: {name}")
    return Load(**{name: row[name] for name in LOAD_NAMES})


def _complete(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    missing = [name for name in names if name not in row]
    if missing:
        raise IngestError(f"{where}: found no {', '.join(missing)}, expected what `ingest accept` writes")


def _lines(found: object, where: str) -> tuple[str, ...]:
    if not isinstance(found, list):
        raise IngestError(f"{where}: found {brief(found)}, expected a list")
    return tuple(map(one_line, found))


def _word(found: object, where: str) -> str:
    if not isinstance(found, str):
        raise IngestError(f"{where}: found {brief(found)}, expected text")
    return found


def _one_of(found: object, known: tuple[str, ...], where: str) -> str:
    if _word(found, where) not in known:
        raise IngestError(f"{where}: found {brief(found)}, {expected_one_of(found, filter(None, known))}")
    return str(found)


def _plain_number(found: object, where: str, most: float = 1e30) -> float:
    """A number that is not written as text."""
    if isinstance(found, str) or number(found, where) > most:
        raise IngestError(f"{where}: found {brief(found)}, expected a number up to {most:g}")
    return number(found, where)
