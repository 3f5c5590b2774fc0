"""The page of `ingest fit`: one line per system, then the layers of each where few are compared."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ingest.engine.registry import unit_of
from ingest.reports.labels import capitalised, counted, joined_ends, plain
from ingest.reports.page import Page, Section, assumptions_section, fits_line, of_several, page_of, sources_section, value_text
from ingest.storage.fit_result import BEYOND, LEAST_MOVED, LINE_FAILS, MISFIT, OPEN, SO_FAR, UNKNOWN, VERDICTS
from ingest.storage.system_quantities import UNIT_COUNT
from ingest.text import grouped
from ingest.units import display, scale_of

if TYPE_CHECKING:
    from ingest.catalog.commands import CatalogComparison
    from ingest.storage.data_path import LayerVerdict
    from ingest.storage.fit_result import Fit, Fits, Flip, Flips

HOLDS = {True: "yes", None: "unknown", False: "NO"}
#: Layers are shown for at most this many systems, unless details are asked for.
MOST_IN_FULL = 4
#: Systems of one verdict that are shown as rows unless details are asked for, and of which the question is written out.
MOST_ROWS, MOST_ASKED = 15, 5
#: place of a verdict -> rows shown unless details are asked for, where they are many and say little of each
MOST_OF = {VERDICTS.index(SO_FAR): MOST_ROWS, VERDICTS.index(BEYOND): 4, OPEN: 4}
COLUMNS = ("#", "system", "units", "usable", "reads", "writes", "with", "decides", "1 down", "per month", "ask")
#: of these columns, those that a narrow terminal shows below each row
FOLDED = ("with", "decides", "1 down", "per month", "ask")
#: Systems of the best verdict that a short page shows.
MOST_FIRST = 5
LAYERS = ("layer", "needed", "ceiling", "headroom", "holds", "")
#: Factor from which tenths are omitted.
MANY = 20
#: Shares below this one are shown as such.
LEAST_SHARE = 1e-4
#: Inputs that turn the verdict on a system which a short page shows.
MOST_FLIPS = 5
#: Inputs whose share in the variance a page shows, and the least of these shares.
MOST_EFFECTS, LEAST_EFFECT = 3, 0.01
FLIP_COLUMNS = ("line", "turns at", "today", "range", "by")
UNDECIDED = ": undecided"
TITLES = {UNKNOWN: "What nobody has published: ask these"}
UNITS_OPEN = "fits as far as known, number of units open"
ORDER = "Order: share of the ceilings known, published before recalled, headroom"
RECALLED = "* recalled or from vendor material, not verified"


def fits_title(found: Fits) -> str:
    """The title of a comparison, as the page in a browser shows it too."""
    return f"Storage for {found.need.title}"


def fits_page(found: Fits, in_full: bool = False) -> Page:
    """The comparison of all systems, by verdict; layers and results of each where few were asked for, or all in full."""
    needed = tuple((plain(name), display(item.value, item.unit)) for name, item in found.needed.items())
    # A reader who has to choose finds first what decides; one who chooses between offers buys nothing else.
    offers = [one for one in turned(found.flips, ()) if not found.systems or found.compared]
    listed = [] if offers else _by_verdict(found, in_full)
    sections = [*deciding(found), Section("Needed", ("", ""), needed), _in_place(found), *listed]
    if in_full or len(found.systems) <= MOST_IN_FULL:
        for one in found.systems:
            sections += _in_full(one, alone=len(found.systems) == 1)
    # Of each system or offer the inputs that turn the verdict on it, the nearest first, all in full.
    for turn in turned(found.flips, found.systems):
        main = None if in_full else tuple(at for at, flip in enumerate(turn.flips) if flip in turn.nearest)
        sections.append(Section(turn.title, FLIP_COLUMNS, tuple(map(flip_row, turn.flips)), tuple(turn.notes), 1, main=main))
    left_out = tuple(f"{name}: {why}" for name, why in found.flips.refused.items()) if found.flips is not None else ()
    sections.append(Section("Not turned: plan again with other values", lines=left_out, detail="input"))
    first = found.systems[0] if found.systems else None
    decided = (_failing(first) or _units(first) or first.question) if first is not None else ""
    # One row per system in base units; a column that was added later stands behind the others.
    *older, last = found.RESULTS
    table: list[tuple[object, ...]] = [("storage", "class", "fits", "verdict", "bottleneck", *older, "question", last)]
    for one in found.systems:
        known = (one.results.get(name) for name in found.RESULTS)
        *values, least = (None if item is None else item.value for item in known)
        table.append(
            (one.entry.id, one.entry.family, HOLDS[one.fits], one.verdict, one.bottleneck, *values, one.question, least)
        )
    answer = fits_line(found, decided, _counts(found), _amount(first), [f"{one.name}: {one.state}" for one in offers])
    return page_of(fits_title(found), sections, table, answer)


def fit_page(found: Fit) -> Page:
    """The page of one system: its layers and its results."""
    return page_of(f"{found.entry.name}: {found.verdict}", _in_full(found, alone=True))


def _in_place(found: Fits) -> Section:
    """Need, have and missing of each requirement line, where storage is in place."""

    def shown(number: float | None, unit: str, at_least: bool = False) -> str:
        if number is None:
            return "unknown"
        least = "at least " if at_least else ""
        return least + ("nothing" if number == 0 else display(number, unit, binary=False))

    rows = []
    for one in found.lines:
        missing = shown(one.missing, one.unit)
        # Where more may be in place, at most that is missing.
        missing = f"at most {missing}" if one.at_least and one.missing else missing
        have = shown(one.have, one.unit, one.at_least)
        rows.append((one.id, one.priority, shown(one.need, one.unit), have, missing))
    said = (found.nothing_missing,) if found.nothing_missing else ()
    return Section("Storage in place", ("line", "priority", "need", "have", "missing"), tuple(rows), said)


class Turned(NamedTuple):
    """A system or an offer whose lines were turned."""

    name: str
    title: str
    state: str  # of the verdict today
    first: str  # whether the inputs decide the verdict, and which line turns first, by which input, at which value
    flips: Sequence[Flip]  # the first to turn the verdict before all others
    notes: Sequence[str]  # what moves the amount to buy; the lines that no value decides

    @property
    def nearest(self) -> list[Flip]:
        """The flips that a short page shows: of each input and side the nearest."""
        nearest = {(flip.input, flip.flips_at > flip.value): flip for flip in reversed(self.flips)}
        return [flip for flip in self.flips if nearest[flip.input, flip.flips_at > flip.value] is flip][:MOST_FLIPS]


def deciding(found: Fits) -> Iterator[Section]:
    """What turns the verdict on each chosen system or offer first, and what to measure first."""
    yield Section("What would change the verdicts", lines=tuple(one.first for one in turned(found.flips, found.systems)))
    title, *measured = measured_first(found.flips) or [""]
    yield Section(title, lines=tuple(measured))


def turned(flips: Flips | None, systems: Sequence[Fit]) -> list[Turned]:
    """The chosen systems and the offers whose inputs were turned, those whose verdict no input turns among them."""
    if flips is None:
        return []
    chosen, rows = {one.system for one in flips.flips} | {one.system for one in flips.steady}, list[Turned]()
    for one in systems:
        name, bought = one.entry.id, "capacity" if one.entry.tiers else "units"
        effects = [effect for effect in flips.effects if effect.system == name and effect.share >= LEAST_EFFECT]
        shares = ", ".join(f"{effect.share * 100:.0f} % by {effect.input}" for effect in effects[:MOST_EFFECTS])
        notes = [f"Variance of the {bought} to buy: {shares}"] if shares else []
        if name in flips.unmoved:
            notes = [f"No input moves the {bought} to buy in more than {LEAST_MOVED * 100:g} % of draws"]
        # Inputs decide nothing about a ceiling that nobody has published.
        outside = "decided" if one.fits is not None else "; ask ".join(filter(None, (_named(one), _asked(one))))
        if name in chosen:
            # A system as its flips hold it: so many units with their drives; a tier, whose capacity follows the need.
            held = f"{_amount(one)}{f' with {one.label}' if one.label else ''}"
            if "tier_capacity" in one.results:
                held = f"{', '.join(filter(None, (one.entry.id, one.label)))}, as large as needed ({_units(one)} today)"
            rows.append(Turned(name, held, *_turned_first(flips, name, _named(one), outside), notes))
    for offer in flips.offers:
        verdict, notes = offer.verdict.lower(), [f"No value decides {', '.join(offer.open)}"] if offer.open else []
        state, first, own = _turned_first(flips, offer.name, verdict, verdict)
        for drawn in (found for found in flips.withstood if found.offer == offer.name):
            missed = [f"{line} in {share * 100:.1f} %" for line, share in [*drawn.misses.items()][:MOST_EFFECTS]]
            lines = "the lines that a value decides" if offer.open else "all lines"
            first += f". It meets {lines} in {drawn.share * 100:.1f} % of draws; it misses {', '.join(missed) or 'none'}"
        rows.append(Turned(offer.name, f"Offer {offer.name}: {verdict} today", state, first, own, notes))
    return rows


def measured_first(flips: Flips | None) -> list[str]:
    """The observation to make first: it, its command, and what it narrows; nothing where none helps."""
    first = None if flips is None else flips.observation
    if first is None:
        return []
    narrowed = f"It narrows {first.narrows} of {counted(first.undecided, 'undecided verdict')} on single lines."
    return [f"Measure first: {first.what}", first.command, narrowed]


def _turned_first(flips: Flips, name: str, verdict: str, outside: str) -> tuple[str, str, list[Flip]]:
    """The state of a verdict, what turns it first, and all flips; its state is another one outside the ranges of the inputs."""
    own = [flip for flip in flips.flips if flip.system == name]
    if not own:
        inputs = {row.input for row in flips.steady if row.system == name}
        tried = f" at both ends of {counted(len(inputs), 'input')}" if inputs else ""
        return verdict, f"{name}: {verdict}{tried}", own
    line, turns, today, span, key = flip_row(own[0])
    # What fails a line already is not in doubt because it may fail another.
    in_doubt = own[0].inside_range and (own[0].verdict == LINE_FAILS or all(flip.verdict != LINE_FAILS for flip in own))
    known = f"range {span.removesuffix(UNDECIDED)}" if span else "no range"
    state = "undecided" if in_doubt else outside
    return state, f"{name}: {state}. {line} first, where {key} {turns} (today {today}; {known})", own


def flip_row(flip: Flip) -> tuple[str, str, str, str, str]:
    """A flip as people read it: the line and its verdict there, where it turns, the input today, its range, and its name."""
    *_, third = [*flip.unit.split("/"), "", ""][:3]
    per = f" per {third}" if third else ""  # `display` leaves it to the name of the quantity
    ends = [flip.flips_at, flip.value, *(end for end in (flip.low, flip.high) if end is not None)]
    # As many digits as tell the flip from today.
    shown = [[_short(end, flip, digits) for end in ends] for digits in range(3, 17)]
    turns, today, *ends_shown = next((row for row in shown if row[0] != row[1]), shown[-1])
    unit = turns.partition(" ")[2]
    span = joined_ends(ends_shown[0], ends_shown[-1], " – ") if len(ends_shown) == 2 else ""
    span = span.removesuffix(f" {unit}") if span and ends_shown[0].endswith(f" {unit}") else span
    today = today.removesuffix(f" {unit}") if unit else today
    state = UNDECIDED if flip.inside_range else ""
    return f"{flip.requirement} {flip.then}", f"{flip.sign} {turns}{per}", today, span + state, flip.input


def _short(value: float, flip: Flip, digits: int) -> str:
    """A value of an input; parameters by the letter that names of models have."""
    if flip.unit != "parameter":
        # A count without a larger unit keeps as many digits, too.
        counted_in_full = not flip.whole and not scale_of(value, flip.unit, binary=False)[0]
        return display(float(f"{value:.{digits}g}") if counted_in_full else value, flip.unit, binary=False, digits=digits)
    factor, name = scale_of(value, "B", binary=False)
    letter = name.removesuffix("B").replace("G", "B")
    return f"{display(value / factor, '1', digits=digits)}{letter} parameters"


def _named(one: Fit) -> str:
    """The verdict, and whether the number of units is open."""
    return UNITS_OPEN if one.standing == OPEN else one.verdict


def _counts(found: Fits) -> dict[str, int]:
    """How many systems have each verdict, the best first."""
    named = [_named(one) for one in sorted(found.systems, key=lambda one: one.standing)]
    return {name: named.count(name) for name in dict.fromkeys(named)}


def _by_verdict(found: Fits, in_full: bool) -> Iterator[Section]:
    """A table of each verdict, with the same columns in all; unknown systems as a list of their questions."""
    ranks = {one.entry.id: str(number) for number, one in enumerate(found.systems, 1) if one.verdict not in (UNKNOWN, MISFIT)}
    shown = {one.entry.id: (ranks.get(one.entry.id, "–"), *_row(one)) for one in found.systems}
    used = [number for number, name in enumerate(COLUMNS) if name not in FOLDED or any(row[number] for row in shown.values())]
    columns = tuple(COLUMNS[number] for number in used)
    many = len(found.systems) > MOST_IN_FULL
    for number, standing in enumerate(sorted({one.standing for one in found.systems})):
        further = "table" if many and number else ""
        alike = [one for one in found.systems if one.standing == standing]
        verdict = alike[0].verdict
        called = TITLES.get(verdict, capitalised(_named(alike[0])))
        title = f"{called} ({len(alike)})"
        if verdict == UNKNOWN:
            yield Section(title, lines=_questions(alike, in_full), detail=further)
            continue
        ranked = [one for one in alike if not one.ruled_out]
        most = len(ranked) if in_full else MOST_OF.get(standing, len(ranked))
        rows = [shown[one.entry.id] for one in ranked[:most]]
        table = tuple(tuple(row[number] for number in used) for row in rows)
        first = tuple(range(min(MOST_FIRST, len(table))))
        yield Section(title, columns, table, folded=sum(name in FOLDED for name in columns), detail=further, main=first)
        if many and not number:
            others = [of_several(name, count) for name, count in [*_counts(found).items()][1:]]
            yield Section("", lines=(ORDER, *([f"Of the others {', '.join(others)}"] if others else [])))
        if any("*" in cell for row in rows for cell in row):
            yield Section("", lines=(RECALLED,), detail="table" if many else "")
        if verdict == SO_FAR:
            asked = alike if in_full else alike[: min(most, MOST_ASKED)]
            if standing != OPEN:
                questions = tuple(f"{one.entry.id}: {one.question}" for one in asked)
                yield Section("The one question to ask", lines=questions, detail="question" if many else "")
            more = f"{len(ranked[most:])} more, by the question to ask"
            yield Section(more, lines=_questions(ranked[most:], False), detail="question")
        # Systems that take more units than anybody has published, services that take several file systems, and the others.
        sized = alike if verdict == MISFIT else alike[most:]
        beyond = [f"{one.entry.id} ({one.units_beyond:,})" for one in sized if one.units_beyond]
        split = [f"{one.entry.id} ({one.file_systems:,} × {one.label})" for one in sized if one.split]
        apart = [f"Beyond any published installation (units): {', '.join(beyond)}"] if beyond else []
        apart += [f"Only as several file systems that share the need: {', '.join(split)}"] if split else []
        apart += [f"{one.entry.id}: {one.ruled_out}" for one in alike if one.ruled_out]
        yield Section("", lines=tuple(apart), detail="table" if many else "")


def _questions(alike: Sequence[Fit], in_full: bool) -> tuple[str, ...]:
    """The question to ask of each; of many systems those with the same one share a line."""
    asked = [one for one in alike if one.question]
    if in_full or len(alike) <= MOST_IN_FULL:
        return tuple(f"{one.entry.id}: {one.question}" for one in asked)
    shared = grouped((_asked(one), one.entry.id) for one in asked)
    return tuple(f"{capitalised(what)}: {', '.join(ids)}" for what, ids in shared.items())


def _asked(one: Fit) -> str:
    """The question in few words."""
    if one.asked is None or not one.question:
        return ""
    if one.asked.waits:
        return "latency of small reads"
    if one.asked.unsure:
        return "largest size on sale"
    asked = one.asked.layer.asked.removeprefix("Sustained ")
    return asked if asked.isupper() else asked[0].lower() + asked[1:]


def _row(one: Fit) -> tuple[str, ...]:
    decided = one.decided.partition(":")[0].removesuffix(" decides").removesuffix(" decide") or one.bottleneck
    cost = "" if one.cost is None else f"{one.cost:,.0f} {one.priced.partition(',')[0]}"
    figures = []
    for figure in one.figures.values():
        # With its mark: a bound, or a value that is only recalled.
        mark, recalled = "≤" if figure.at_most else "", "*" if figure.recalled else ""
        absent = f"≥{figure.links}" if figure.links else "unknown" if figure.needed else "–"
        value = figure.value
        figures.append(absent if value is None else f"{mark}{display(value, figure.unit, binary=False, digits=3)}{recalled}")
    if one.figures["usable"].value is None and not one.figures["usable"].needed:
        figures[0] = "not asked"
    # The reads with one failure domain down, as a share of the need.
    share = one.degraded_share
    down = "" if share is None else f"{share * 100:,.0f} %" if share < MANY else "ample"
    return (one.entry.id, _units(one), *figures, one.label, _failing(one) or decided, down, cost, _asked(one))


def _failing(one: Fit) -> str:
    """The layer that does not hold, with what it provides and what is needed."""
    if one.fits is not False or one.narrow is None:
        return ""
    return f"{one.bottleneck}: {one.narrow.shown} of {one.narrow.needed}"


def _amount(one: Fit | None) -> str:
    """A system and how much of it the need takes, where it may fit; of a service its capacity."""
    if one is None:
        return ""
    units = one.results.get("units_required")
    if one.verdict in (UNKNOWN, MISFIT) or not _units(one):
        return one.entry.id
    if units is None or "tier_capacity" in one.results:
        return f"{_units(one)} of {one.entry.id}"
    return f"{'≥' if _is_least(one) else ''}{display(units.value, '1')} × {one.entry.id}"


def _is_least(one: Fit) -> bool:
    """Whether more units than those counted may be required."""
    return any(line.startswith(UNIT_COUNT) for line in one.answer.warnings)


def _units(one: Fit) -> str:
    """The units required, next to those available where they differ; of a service its capacity."""
    capacity, units = one.results.get("tier_capacity"), one.results.get("units_required")
    if capacity is not None:
        return display(capacity.value, "B", binary=False, digits=3)
    if units is None:
        return ""
    least = "≥" if _is_least(one) else ""
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
    if 0 < abs(judged.headroom) < LEAST_SHARE:
        return "below 0.01 %" if judged.headroom > 0 else "just too small"
    return f"{judged.headroom * 100:.3g} %"


def _in_full(one: Fit, alone: bool) -> list[Section]:
    """The layers, results, tiers and sources of a system; `alone` where it is the only one."""
    further = "" if alone else "table"
    layers = []
    for judged in one.layers:
        need = display(judged.need, judged.unit, binary=False)
        layers.append((judged.layer.name, need, judged.shown, _room(judged), HOLDS[judged.holds], judged.why))
    numbers = tuple((plain(name), value_text(name, item.value, item.unit)) for name, item in one.results.items())
    unknown = tuple(f"{name.replace('_', ' ')}: {why}" for name, why in one.unknown.items())
    what = (one.decided and f"{one.decided}.", one.question, one.ruled_out, one.beyond_installed, one.split)
    # The tiers of a service that suffice, each with the capacity that the need takes of it.
    tiers = []
    for row in one.tiers:
        chosen = " (chosen)" if row["tier"] == one.label else ""
        cost = f"{row['cost']:,.0f}" if "cost" in row else ""
        tiers.append((str(row["tier"]) + chosen, display(row["capacity"], "B"), cost))
    # Streaming, staging and caching, and what each takes.
    ways = []
    for row in one.answer.tables.get("ways", ()):
        taken = {name: value for name, value in row.items() if name not in ("way", "holds")}
        words = (f"{name.replace('_', ' ')} {display(value, unit_of(name), binary=False)}" for name, value in taken.items())
        ways.append((str(row["way"]), HOLDS[row["holds"]], ", ".join(words)))
    of = f" ({one.priced})" if one.priced else ""
    return [
        Section(f"{one.entry.name}, layer by layer", LAYERS, tuple(layers), detail=further),
        Section("", ("", ""), numbers, tuple(filter(None, what)), detail="table"),
        Section(f"Tiers that suffice{of}", ("tier", "capacity", "per month"), tuple(tiers), detail="table"),
        Section("Ways to feed the GPUs", ("way", "holds", "takes"), tuple(ways), detail="table"),
        Section("Not known", lines=unknown, detail=further),
        assumptions_section(one.answer.assumptions),
        sources_section(one.answer.sources),
    ]


#: Letters of a text in one row of a comparison, also where it is not printed on a terminal.
MOST_LETTERS = 100


def comparison_page(found: CatalogComparison) -> Page:
    """The page of `ingest catalog compare`: a table per attribute, then the latency of small reads."""
    named = Section("", ("id", "name", "class"), tuple((one.id, one.name, one.family) for one in found.entries))
    tables: dict[str, list[tuple[str, ...]]] = {}
    for fact in found.facts:
        # A row, and further ones for the rest of a long text.
        first, *rest = textwrap.wrap(fact.text, MOST_LETTERS, break_on_hyphens=False)
        rows = tables.setdefault(fact.attribute, [])
        rows += [(fact.id, first, fact.grade, fact.source), *(("", line, "", "") for line in rest)]
    by_attribute = [Section(capitalised(name), ("id", "", "grade", "source"), tuple(rows)) for name, rows in tables.items()]

    def shown(number: float | None, unit: str) -> str:
        return "unknown" if number is None else display(number, unit)

    reads = tuple(
        (one.id, shown(one.latency, "s"), shown(one.per_thread, "1"), shown(one.of_threads, "1"), one.source)
        for one in found.budgets
    )
    parts = tuple(f"{name}: {share * 100:.3g} % of your budget" for one in found.budgets for name, share in one.shares.items())
    threads = found.budgets[0].threads if found.budgets else 0
    heads = ("id", "latency", "IOPS, 1 thread", f"IOPS, {threads} threads", "source")
    latency = Section("Small reads by latency: threads that wait for each read", heads, reads, parts)
    header = ("attribute", "id", "text", "grade", "source")
    table = (header, *(tuple(fact) for fact in found.facts))
    sources = Section("Sources", lines=found.sources, detail="source")
    return page_of(f"{len(found.entries)} storage systems side by side", [named, *by_attribute, latency, sources], table)
