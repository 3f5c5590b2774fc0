"""`tests.json`, read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ingest.acceptance.harmless import checked_id
from ingest.acceptance.outputs.numbers import number, rows, table
from ingest.acceptance.records import AcceptanceTest, Load
from ingest.errors import IngestError

NAMES = tuple(part.name for part in fields(AcceptanceTest))
LOAD_NAMES = tuple(part.name for part in fields(Load))


def tests_in(manifest: Mapping[str, Any], where: str) -> list[AcceptanceTest]:
    """The tests of a manifest.

    Raises:
        IngestError: it is none that `ingest accept` writes.
    """
    return [
        _test(row, f"{where}: tests[{position}]") for position, row in enumerate(rows(manifest.get("tests"), f"{where}: tests"))
    ]


def _test(row: Mapping[str, Any], where: str) -> AcceptanceTest:
    _complete(row, NAMES, where)
    files = {str(name): str(value) for name, value in table(row["files"], f"{where}: files").items()}
    if any(name.startswith("/") or ".." in name.split("/") for name in files):
        raise IngestError(f"{where}: files: found a path that leaves the folder, expected what `ingest accept` writes")
    number(row["repeats"], f"{where}: repeats")
    number(row["allowed_deviation"], f"{where}: allowed_deviation")
    loads = tuple(_load(load, f"{where}: loads") for load in rows(row["loads"], f"{where}: loads"))
    if not loads:
        raise IngestError(f"{where}: found no loads, expected at least one")
    checked_id(row["id"], f"{where}: id")
    return AcceptanceTest(**{**{name: row[name] for name in NAMES}, "loads": loads, "files": files})


def _load(row: Mapping[str, Any], where: str) -> Load:
    _complete(row, LOAD_NAMES, where)
    if number(row["threshold"], f"{where}: threshold") == 0:
        raise IngestError(f"{where}: threshold: found 0, expected a number above 0")
    for name in ("io_bytes", "clients", "threads", "seconds", "dataset_bytes"):
        if row[name] is not None:
            number(row[name], f"{where}: {name}")
    return Load(**{name: row[name] for name in LOAD_NAMES})


def _complete(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    missing = [name for name in names if name not in row]
    if missing:
        raise IngestError(f"{where}: found no {', '.join(missing)}, expected what `ingest accept` writes")
