"""The page of `ingest fit`: one line per system, then the layers of each where few are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.engine.registry import unit_of
from ingest.reports.labels import plain
from ingest.reports.page import Page, Section, assumptions_section, page_of, sources_section
from ingest.storage.fit_result import UNKNOWN, VERDICTS
from ingest.units import display

if TYPE_CHECKING:
    from ingest.storage.data_path import LayerVerdict
    from ingest.storage.fit_result import Fit, Fits

HOLDS = {True: "yes", None: "not known", False: "NO"}
#: Layers are shown for at most this many systems.
MOST_IN_FULL = 4
COLUMNS = ("storage", "headroom", "bottleneck", "units", "one unit down", "reads", "writes", "raw", "class")
#: of these columns, those that a narrow terminal leaves out
SPARE = ("reads", "writes", "raw", "class")
#: Longer lists of names are only counted.
MOST_NAMES = 6
#: Factor from which tenths are omitted.
MANY = 20
ONE_DOWN = {True: "yes", False: "NO", None: ""}


def fits_page(found: Fits) -> Page:
    """The comparison of all systems, by verdict; layers and results of each where few were asked for."""
    needed = tuple((plain(name), display(item.value, item.unit)) for name, item in found.needed.items())
    sections = [Section("Needed", ("", ""), needed), *_by_verdict(found)]
    if len(found.systems) <= MOST_IN_FULL:
        for one in found.systems:
            sections += _in_full(one)
    return page_of(f"Storage for {found.need.title}", sections, _table(found))


def _by_verdict(found: Fits) -> Iterator[Section]:
    for verdict in VERDICTS:
        alike = [one for one in found.systems if one.verdict == verdict]
        if not alike:
            continue
        columns, rows = ((), ()) if verdict == UNKNOWN else _filled(COLUMNS, [_row(one) for one in alike])
        spare = sum(name in SPARE for name in columns)
        title = f"{verdict[0].upper()}{verdict[1:]} ({len(alike)})"
        names = () if rows else (", ".join(one.entry.id for one in alike),)
        yield Section(title, columns, rows, (*names, *_not_known(alike)), spare)


def _filled(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The columns that are not empty."""
    kept = [number for number in range(len(columns)) if any(row[number] for row in rows)]
    return tuple(columns[number] for number in kept), tuple(tuple(row[number] for number in kept) for row in rows)


def _not_known(alike: Sequence[Fit]) -> tuple[str, ...]:
    """The layers with an unknown verdict; those unknown for the same systems share a line."""
    missing: dict[str, list[str]] = {}
    for one in alike:
        for name in one.not_known if one.fits is None else ():
            missing.setdefault(name, []).append(one.entry.id)
    layers: dict[str, list[str]] = {}
    for name, ids in missing.items():
        layers.setdefault(_of_these(ids, [one.entry.id for one in alike]), []).append(name)
    return tuple(f"not known{whose}: {'; '.join(names)}" for whose, names in layers.items())


def _of_these(ids: Sequence[str], everyone: Sequence[str]) -> str:
    """Some of the systems in as few words as there are."""
    others = [name for name in everyone if name not in ids]
    if not others:
        return "" if len(ids) == 1 else " of all of them"
    if min(len(others), len(ids)) > MOST_NAMES:
        return f" of {len(ids)} of them"
    if len(others) < len(ids):
        return f" of all but {', '.join(others)}"
    return f" of {', '.join(ids)}"


def _row(one: Fit) -> tuple[str, ...]:
    rates = (_shown(one, "read_bandwidth_available"), _shown(one, "write_bandwidth_available"), _shown(one, "raw_bytes"))
    return (one.entry.id, _room(one.narrow), one.bottleneck, _units(one), ONE_DOWN[one.one_down], *rates, one.entry.family)


def _shown(one: Fit, name: str) -> str:
    item = one.results.get(name)
    return "" if item is None else display(item.value, item.unit, binary=False)


def _units(one: Fit) -> str:
    """The units required, next to those available where they differ."""
    units = one.results.get("units_required")
    if units is None:
        return ""
    least = "≥ " if any(line.startswith("units_required") for line in one.answer.warnings) else ""
    at_hand = one.results.get("units")
    required = f"{least}{display(units.value, '1')}"
    if at_hand is None or at_hand.value == units.value:
        return f"{required} × {one.entry.scaling_unit}"
    available = display(at_hand.value, "1")
    if at_hand.value > units.value:
        return f"{required} of {available} × {one.entry.scaling_unit}"
    return f"{required} × {one.entry.scaling_unit}, {available} available"


def _room(judged: LayerVerdict | None) -> str:
    """Head-room as people read it; what is too small by far as a multiple."""
    if judged is None or judged.headroom is None:
        return ""
    if judged.headroom < -1:
        return f"{judged.times:,.{0 if judged.headroom < -MANY else 1}f}× too small"
    return f"{judged.headroom * 100:.3g} %"


def _in_full(one: Fit) -> list[Section]:
    layers = []
    for judged in one.layers:
        need = display(judged.need, judged.unit, binary=False)
        layers.append((judged.layer.name, need, judged.shown, _room(judged), HOLDS[judged.holds], judged.why))
    numbers = tuple((plain(name), display(item.value, item.unit)) for name, item in one.results.items())
    unknown = tuple(f"{name.replace('_', ' ')}: {why}" for name, why in one.unknown.items())
    return [
        Section(f"{one.entry.name}, layer by layer", ("layer", "needed", "ceiling", "headroom", "holds", ""), tuple(layers)),
        Section("", ("", ""), numbers),
        _ways(one),
        Section("Not known", lines=unknown),
        assumptions_section(one.answer.assumptions),
        sources_section(one.answer.sources),
    ]


def _ways(one: Fit) -> Section:
    """Streaming, staging and caching, and what each takes."""
    shown = []
    for row in one.answer.tables.get("ways", ()):
        numbers = {name: value for name, value in row.items() if name not in ("way", "holds")}
        taken = (f"{name.replace('_', ' ')} {display(value, unit_of(name), binary=False)}" for name, value in numbers.items())
        shown.append((str(row["way"]), HOLDS[row["holds"]], ", ".join(taken)))
    return Section("Ways to feed the GPUs", ("way", "holds", "takes"), tuple(shown))


def _table(found: Fits) -> tuple[tuple[object, ...], ...]:
    """One row per system in base units."""
    header = ("storage", "class", "fits", "verdict", "bottleneck", *found.RESULTS)
    rows: list[tuple[object, ...]] = []
    for one in found.systems:
        known = (one.results.get(name) for name in found.RESULTS)
        values = (None if item is None else item.value for item in known)
        rows.append((one.entry.id, one.entry.family, HOLDS[one.fits], one.verdict, one.bottleneck, *values))
    return (header, *rows)
