"""Observations read back from their JSON; every number is checked, because the file may come from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ingest.engine.registry import is_quantity, unit_of
from ingest.errors import IngestError, brief
from ingest.files import read_json_object
from ingest.observation.observation import SCHEMA, Figure, Observation, SizeBin, Window

EXPECTED = "the JSON of `ingest observe`"
MOST_BYTES = 64 * 2**20
#: No job has more bytes, samples or seconds: what follows from two of them stays a number.
MOST_NUMBER = 1e30
BASES = ("measured", "given")


def read_observation(path: str | Path) -> Observation:
    """Read the JSON file that `ingest observe -o` wrote.

    Raises:
        IngestError: the file is unreadable, another result, or holds what no observation holds.
    """
    data = read_json_object(path, EXPECTED, most=MOST_BYTES)
    if data.get("schema") != SCHEMA:
        raise IngestError(f"{path}: found schema {brief(data.get('schema'))}, expected {SCHEMA}: {EXPECTED}")
    results = data.get("results")
    if not isinstance(results, dict) or not results:
        raise IngestError(f"{path}: found results {brief(results)}, expected a table of figures: {EXPECTED}")
    figures = {name: _figure(one, f"{path}: results.{brief(name)}", name) for name, one in results.items()}
    facts = data.get("facts")
    rows = data.get("read_sizes", [])
    sizes = tuple(_bin(row, f"{path}: read_sizes") for row in (rows if isinstance(rows, list) else [rows]))
    warnings = data.get("warnings", [])
    lines = tuple(str(line) for line in warnings) if isinstance(warnings, list) else ()
    return Observation(
        title=Path(path).name,
        inputs={},
        figures=figures,
        unknown={},
        warnings=lines,
        sizes=sizes,
        facts=facts if isinstance(facts, dict) else {},
    )


def _figure(found: Any, place: str, name: str) -> Figure:
    if not is_quantity(name):
        raise IngestError(f"{place}: no quantity has this name, expected {EXPECTED}")
    if not isinstance(found, dict):
        raise IngestError(f"{place}: found {brief(found)}, expected a value with its unit")
    unit, basis = found.get("unit"), found.get("basis")
    if unit != unit_of(name):
        raise IngestError(f"{place}: found unit {brief(unit)}, expected {unit_of(name)}")
    if basis not in BASES:
        raise IngestError(f"{place}: found basis {brief(basis)}, expected one of {', '.join(BASES)}")
    value = number_of(found.get("value"), f"{place}.value")
    low, high = (None if found.get(end) is None else number_of(found[end], f"{place}.{end}") for end in ("low", "high"))
    coverage = None if found.get("coverage") is None else number_of(found["coverage"], f"{place}.coverage")
    if not (low if low is not None else value) <= value <= (high if high is not None else value) or (coverage or 0) > 1:
        raise IngestError(f"{place}: found {brief(found)}, expected low ≤ value ≤ high and a coverage up to 1")
    return Figure(
        value,
        unit,
        str(found.get("source", "")),
        _window(found.get("window"), place),
        coverage,
        basis,
        low,
        high,
        found.get("lower_bound") is True,
        str(found.get("note", "")),
    )


def _window(found: Any, place: str) -> Window | None:
    if not isinstance(found, dict):
        return None
    seconds, before, after = (
        number_of(found.get(name, 0), f"{place}.window.{name}") for name in ("seconds", "cut_before", "cut_after")
    )
    return Window(seconds, before, after, str(found.get("note", "")))


def _bin(found: Any, place: str) -> SizeBin:
    if not isinstance(found, dict):
        raise IngestError(f"{place}: found {brief(found)}, expected rows with low, below and requests")
    return SizeBin(*(number_of(found.get(name), f"{place}.{name}") for name in SizeBin._fields))


def number_of(found: Any, place: str) -> float:
    """A number from 0, below any that a job can have.

    Raises:
        IngestError: anything else.
    """
    if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 <= found < MOST_NUMBER:
        return found
    raise IngestError(f"{place}: found {brief(found)}, expected a number from 0 to {MOST_NUMBER:g}")
