"""The page of `ingest fit`: one line per system, then the layers of each where few are compared."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.engine.registry import unit_of
from ingest.reports.labels import capitalised, plain
from ingest.reports.page import Page, Section, assumptions_section, page_of, sources_section
from ingest.storage.fit_result import SO_FAR, UNKNOWN, VERDICTS
from ingest.units import display

if TYPE_CHECKING:
    from ingest.sizing.catalog_commands import CatalogComparison, Fact
    from ingest.storage.data_path import LayerVerdict
    from ingest.storage.existing import LineStock
    from ingest.storage.fit_result import Fit, Fits

HOLDS = {True: "yes", None: "unknown", False: "NO"}
#: Layers are shown for at most this many systems.
MOST_IN_FULL = 4
COLUMNS = ("storage", "headroom", "bottleneck", "units", "one down", "per month", "reads", "writes", "known", "class")
#: of these columns, those that a narrow terminal leaves out
SPARE = ("reads", "writes", "known", "class")
#: Factor from which tenths are omitted.
MANY = 20
TITLES = {SO_FAR: "Fits as far as known", UNKNOWN: "Ask these: no figures that decide are published"}
#: Rates of storage, of which an unknown one is shown as such.
NEEDS = {"read_bandwidth_available": "read_bandwidth_needed", "write_bandwidth_available": "write_bandwidth_needed"}


def fits_page(found: Fits) -> Page:
    """The comparison of all systems, by verdict; layers and results of each where few were asked for."""
    needed = tuple((plain(name), display(item.value, item.unit)) for name, item in found.needed.items())
    sections = [Section("Needed", ("", ""), needed), _in_place(found), *_by_verdict(found)]
    if len(found.systems) <= MOST_IN_FULL:
        for one in found.systems:
            sections += _in_full(one)
    return page_of(f"Storage for {found.need.title}", sections, _table(found))


def _in_place(found: Fits) -> Section:
    """Need, have and missing of each requirement line, where storage is in place."""

    def shown(number: float | None, unit: str, at_least: bool = False) -> str:
        if number is None:
            return "unknown"
        least = "at least " if at_least else ""
        return least + ("nothing" if number == 0 else display(number, unit, binary=False))

    rows = tuple(
        (one.id, one.priority, shown(one.need, one.unit), shown(one.have, one.unit, one.at_least), _missing(one, shown))
        for one in found.lines
    )
    return Section("Storage in place", ("line", "priority", "need", "have", "missing"), rows)


def _missing(one: LineStock, shown: Callable[[float | None, str], str]) -> str:
    """What is missing of a line; at most that where more may be in place."""
    text = shown(one.missing, one.unit)
    return f"at most {text}" if one.at_least and one.missing else text


def _by_verdict(found: Fits) -> Iterator[Section]:
    for verdict in VERDICTS:
        alike = [one for one in found.systems if one.verdict == verdict]
        if not alike:
            continue
        title = f"{TITLES.get(verdict, verdict[0].upper() + verdict[1:])} ({len(alike)})"
        ranked = [one for one in alike if not one.ruled_out]
        columns, rows = ((), ()) if verdict == UNKNOWN else _filled(COLUMNS, [_row(one) for one in ranked])
        spare = sum(name in SPARE for name in columns)
        asked = _questions(alike)
        out = (*_sized_apart(alike), *(f"{one.entry.id}: {one.ruled_out}" for one in alike if one.ruled_out))
        yield Section(title, columns, rows, () if rows else asked + out, spare)
        if rows:
            yield Section("", lines=out)
            yield Section("The one question to ask", lines=asked)


def _sized_apart(alike: Sequence[Fit]) -> Iterator[str]:
    """Systems that take more units than anybody has published, and services that take several file systems."""
    beyond = [f"{one.entry.id} ({one.units_beyond:,})" for one in alike if one.units_beyond]
    split = [f"{one.entry.id} ({one.file_systems:,} × {one.label})" for one in alike if one.split]
    if beyond:
        yield f"Beyond any published installation (units): {', '.join(beyond)}"
    if split:
        yield f"Only as several file systems that share the need: {', '.join(split)}"


def _questions(alike: Sequence[Fit]) -> tuple[str, ...]:
    """The question to ask of each; of many systems those with the same one share a line."""
    asked = [one for one in alike if one.question]
    if len(alike) <= MOST_IN_FULL:
        return tuple(f"{one.entry.id}: {one.question}" for one in asked)
    shared: dict[str, list[str]] = {}
    for one in asked:
        assert one.asked is not None
        what = "latency of small reads" if one.asked.waits else one.asked.layer.name
        shared.setdefault(what, []).append(one.entry.id)
    return tuple(f"{what}: {', '.join(ids)}" for what, ids in shared.items())


def _filled(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The columns that are not empty."""
    kept = [number for number in range(len(columns)) if any(row[number] for row in rows)]
    return tuple(columns[number] for number in kept), tuple(tuple(row[number] for number in kept) for row in rows)


def _row(one: Fit) -> tuple[str, ...]:
    rates = (_rate(one, name) for name in NEEDS)
    known = "" if one.fits is not None else f"{one.share_known * 100:.0f} %"
    cost = "" if one.cost is None else f"{one.cost:,.0f}"
    numbers = (_units(one), _one_down(one), cost, *rates, known)
    return (one.entry.id, _room(one.narrow), one.bottleneck, *numbers, one.entry.family)


def _rate(one: Fit, name: str) -> str:
    """A rate of the storage, in place of which no rate of the clients' network is shown."""
    item = one.results.get(name)
    if item is None:
        needed = one.answer.known.find(NEEDS[name])
        return "unknown" if needed is not None and needed.value else ""
    return display(item.value, item.unit, binary=False)


def _one_down(one: Fit) -> str:
    """The reads with one failure domain down, as a share of the need."""
    degraded, needed = one.results.get("degraded_read_bandwidth"), one.answer.known.find("read_bandwidth_needed")
    if degraded is None or needed is None or not needed.value:
        return ""
    share = degraded.value / needed.value
    return f"{share * 100:.0f} %" if share < MANY else "ample"


def _units(one: Fit) -> str:
    """The units required, next to those available where they differ; of a service the tier and its capacity."""
    capacity, units = one.results.get("tier_capacity"), one.results.get("units_required")
    if capacity is not None:
        return f"{display(capacity.value, 'B', binary=False)} of {one.label}"
    if units is None:
        return ""
    least = "≥ " if any(line.startswith("units_required") for line in one.answer.warnings) else ""
    at_hand = one.results.get("units")
    drives = f", {one.label}" if one.label else ""
    required = f"{least}{display(units.value, '1')}"
    if at_hand is None or at_hand.value == units.value:
        return f"{required} × {one.entry.scaling_unit}{drives}"
    available = display(at_hand.value, "1")
    if at_hand.value > units.value:
        return f"{required} of {available} × {one.entry.scaling_unit}{drives}"
    return f"{required} × {one.entry.scaling_unit}{drives}, {available} available"


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
    what = (one.decided and f"{one.decided}.", one.question, one.ruled_out, one.beyond_installed, one.split)
    return [
        Section(f"{one.entry.name}, layer by layer", ("layer", "needed", "ceiling", "headroom", "holds", ""), tuple(layers)),
        Section("", ("", ""), numbers, tuple(filter(None, what))),
        _tiers(one),
        _ways(one),
        Section("Not known", lines=unknown),
        assumptions_section(one.answer.assumptions),
        sources_section(one.answer.sources),
    ]


def _tiers(one: Fit) -> Section:
    """The tiers of a service that suffice, each with the capacity that the need takes of it."""
    rows = tuple(
        (
            str(row["tier"]) + (" (chosen)" if row["tier"] == one.label else ""),
            display(row["capacity"], "B"),
            f"{row['cost']:,.0f}" if "cost" in row else "",
        )
        for row in one.tiers
    )
    of = f" ({one.priced})" if one.priced else ""
    return Section(f"Tiers that suffice{of}", ("tier", "capacity", "per month"), rows)


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
    header = ("storage", "class", "fits", "verdict", "bottleneck", *found.RESULTS, "question")
    rows: list[tuple[object, ...]] = []
    for one in found.systems:
        known = (one.results.get(name) for name in found.RESULTS)
        values = (None if item is None else item.value for item in known)
        rows.append((one.entry.id, one.entry.family, HOLDS[one.fits], one.verdict, one.bottleneck, *values, one.question))
    return (header, *rows)


#: Letters of a text in one row of a comparison, also where it is not printed on a terminal.
MOST_LETTERS = 100


def _fact_rows(fact: Fact) -> list[tuple[str, ...]]:
    """A fact as a row, and further rows for the rest of a long text."""
    first, *rest = textwrap.wrap(fact.text, MOST_LETTERS, break_on_hyphens=False)
    return [(fact.id, first, fact.grade, fact.source), *(("", line, "", "") for line in rest)]


def comparison_page(found: CatalogComparison) -> Page:
    """The page of `ingest catalog compare`: a table per attribute, then the latency of small reads."""
    named = Section("", ("id", "name", "class"), tuple((one.id, one.name, one.family) for one in found.entries))
    attributes = dict.fromkeys(fact.attribute for fact in found.facts)
    tables = [
        Section(
            capitalised(attribute),
            ("id", "", "grade", "source"),
            tuple(row for one in found.facts if one.attribute == attribute for row in _fact_rows(one)),
        )
        for attribute in attributes
    ]

    def shown(number: float | None, unit: str) -> str:
        return "unknown" if number is None else display(number, unit)

    rows = tuple(
        (one.id, shown(one.latency, "s"), shown(one.per_thread, "1"), shown(one.of_threads, "1"), one.source)
        for one in found.budgets
    )
    parts = tuple(f"{name}: {share * 100:.3g} % of your budget" for one in found.budgets for name, share in one.shares.items())
    threads = found.budgets[0].threads if found.budgets else 0
    heads = ("id", "latency", "IOPS, 1 thread", f"IOPS, {threads} threads", "source")
    latency = Section("Small reads by latency: threads that wait for each read", heads, rows, parts)
    header = ("attribute", "id", "text", "grade", "source")
    table = (header, *(tuple(fact) for fact in found.facts))
    sources = Section("Sources", lines=found.sources)
    return page_of(f"{len(found.entries)} storage systems side by side", [named, *tables, latency, sources], table)
