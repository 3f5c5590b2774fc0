"""Reader of `tests.json`, which may have been edited since `ingest accept` wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ingest.acceptance.service_limits import MandatoryTerm, ServiceLimit, limits_of, terms_of
from ingest.acceptance.test_spec import AcceptanceTest, Load
from ingest.errors import IngestError
from ingest.site.plan_file import check_object
from ingest.text import checked_id, one_line

NAMES = tuple(part.name for part in fields(AcceptanceTest))
LOAD_NAMES = tuple(part.name for part in fields(Load))
SCHEMA_FILE = Path(__file__).parent / "tests.schema.json"


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
        service: limits that the service terms of the plan set.
        terms: all mandatory service terms of the plan; empty in manifests of earlier versions.
    """

    site: str
    scale: str
    tests: tuple[AcceptanceTest, ...]
    lines: tuple[ManifestLine, ...]
    untested: Mapping[str, str]
    warnings: tuple[str, ...]
    service: tuple[ServiceLimit, ...] = ()
    terms: tuple[MandatoryTerm, ...] = ()


def manifest_of(found: Mapping[str, Any], where: str) -> Manifest:
    """The manifest in a JSON object.

    Raises:
        IngestError: not a manifest of `ingest accept`; with the key.
    """
    check_object(found, SCHEMA_FILE, where)
    return Manifest(
        one_line(found.get("site", "")),
        one_line(found.get("scale", "")),
        tuple(_test(row, f"{where}: {one_line(row['id'])}") for row in found["tests"]),
        tuple(_line(row, where) for row in found["requirements"]),
        found.get("untested", {}),
        tuple(map(one_line, found.get("warnings", ()))),
        limits_of(found.get("service") or (), where),
        terms_of(found.get("terms") or (), where),
    )


def _line(row: Mapping[str, Any], where: str) -> ManifestLine:
    value = None if row.get("value") is None else float(row["value"])
    return ManifestLine(checked_id(row["id"], f"{where}: id"), row["priority"], value, row["unit"])


def _test(row: Mapping[str, Any], where: str) -> AcceptanceTest:
    for name in ("id", "requirement"):
        checked_id(row[name], f"{where}: {name}")
    if any(name.startswith("/") or ".." in name.split("/") for name in row["files"]):
        raise IngestError(f"{where}: files: found a path that leaves the folder, expected what `ingest accept` writes")
    loads = tuple(Load(**{name: load[name] for name in LOAD_NAMES if name in load}) for load in row["loads"])
    read = {name: row[name] for name in NAMES}
    return AcceptanceTest(**{**read, "loads": loads, "notes": tuple(map(one_line, row["notes"]))})
