"""The page of `ingest fit`: one line per system, then the layers of a system that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ingest.formula import unit_of
from ingest.reports.page import Page, Section
from ingest.units import display

if TYPE_CHECKING:
    from ingest.storage.outcome import Fit, Fits

FITS = {True: "yes", None: "not known", False: "NO"}
#: A page with layers for more systems than these is no longer read.
MOST_IN_FULL = 4
COLUMNS = ("storage", "class", "fits", "bottleneck", "head-room", "reads", "writes", "units", "raw")


def fits_page(found: Fits) -> Page:
    """The comparison of all systems; layers and results of each where few were asked for."""
    needed = tuple((name.replace("_", " "), display(item.value, item.unit)) for name, item in found.needed.items())
    sections = [Section("Needed", ("", ""), needed), Section("Systems", COLUMNS, tuple(map(_row, found.systems)))]
    if len(found.systems) <= MOST_IN_FULL:
        for one in found.systems:
            sections += _in_full(one)
    shown = tuple(section for section in sections if section.rows or section.lines)
    return Page(f"Storage for {found.need.title}", shown, _table(found))


def _row(one: Fit) -> tuple[str, ...]:
    def shown(name: str) -> str:
        item = one.results.get(name)
        return "" if item is None else display(item.value, item.unit, binary=False)

    units = one.results.get("units_required")
    least = "at least " if any(line.startswith("units_required") for line in one.answer.warnings) else ""
    counted = "" if units is None else f"{least}{display(units.value, '1')} × {one.entry.scaling_unit}"
    rates = (shown("read_bandwidth_available"), shown("write_bandwidth_available"), counted, shown("raw_bytes"))
    return (one.entry.id, one.entry.family, FITS[one.fits], one.bottleneck, _percent(one.headroom), *rates)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.3g} %"


def _in_full(one: Fit) -> list[Section]:
    layers = tuple(
        (
            judged.layer.name,
            display(judged.need, judged.unit, binary=False),
            judged.shown,
            _percent(judged.headroom),
            FITS[judged.holds],
            judged.why,
        )
        for judged in one.layers
    )
    numbers = tuple((name.replace("_", " "), display(item.value, item.unit)) for name, item in one.results.items())
    unknown = tuple(f"{name.replace('_', ' ')}: {why}" for name, why in one.unknown.items())
    assumed = tuple(map(_assumption, one.answer.assumptions))
    cited = tuple(f"{item['id']}: {item['title']}" for item in one.answer.sources)
    return [
        Section(f"{one.entry.name}, layer by layer", ("layer", "needed", "ceiling", "head-room", "holds", ""), layers),
        Section("", ("", ""), numbers),
        *_ways(one),
        Section("Not known", lines=unknown),
        Section(f"Assumptions ({len(assumed)})", lines=assumed),
        Section("Sources", lines=cited),
    ]


def _ways(one: Fit) -> list[Section]:
    """Streaming, staging and caching, and what each takes."""
    rows = one.answer.tables.get("ways", ())
    shown = tuple(
        (
            str(row["way"]),
            FITS[row["holds"]],
            ", ".join(
                f"{name.replace('_', ' ')} {display(value, unit_of(name), binary=False)}"
                for name, value in row.items()
                if name not in ("way", "holds")
            ),
        )
        for row in rows
    )
    return [Section("Ways to feed the GPUs", ("way", "holds", "takes"), shown)] if shown else []


def _assumption(item: Mapping[str, Any]) -> str:
    return f"{item['name']} = {display(item['value'], item['unit'], binary=False)}: {item['why'] or 'recalled, not read again'}"


def _table(found: Fits) -> tuple[tuple[object, ...], ...]:
    """One row per system in base units."""
    header = ("storage", "class", "fits", "bottleneck", *found.RESULTS)
    rows = [
        (
            one.entry.id,
            one.entry.family,
            FITS[one.fits],
            one.bottleneck,
            *(one.results[name].value if name in one.results else None for name in found.RESULTS),
        )
        for one in found.systems
    ]
    return (header, *rows)
