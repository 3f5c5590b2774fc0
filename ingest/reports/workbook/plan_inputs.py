"""The inputs of a site's workbook: the unit in which people enter each, the ones to turn first, and the sheet Inputs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ingest.engine.messages import Message, in_site_words
from ingest.engine.registry import InputQuantity, Step, unit_of
from ingest.reports.labels import capitalised, is_share, plain, unit_word
from ingest.reports.workbook.derivation_cells import ALSO, SHARED, SITE, PlanCells, limits_of, meaning_of, values_of
from ingest.reports.workbook.sheet import (
    CellContent,
    CellFormula,
    EntryCell,
    NumberCell,
    SheetWriter,
    range_short,
    style_of,
    validation,
)
from ingest.site.influence import KEYS, influences
from ingest.site.plan import Plan
from ingest.units import BINARY, COUNTED, exact, scale_of

#: Seconds of the units of time that people enter, the longest first.
TIMES = ((31_557_600, "years"), (86_400, "days"), (3_600, "h"), (60, "min"), (0.1, "s"), (0, "ms"))
FACTORS = {"s": 1, "ms": 0.001}
#: Prefixes of large counts, such as of tokens; smaller ones are read in full.
COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
#: Digits of a number that is short, and of one that is still read.
SHORT, LONG = 6, 10
#: Doubles next to a quotient that are tried, so that the product is the very number.
NEIGHBOURS = 3
#: Figures behind one input that are named.
MOST_PARTS = 6


class PeopleUnit(NamedTuple):
    """A unit for people, which converts back to the very number that the calculation uses."""

    factor: float  # base units in one of it
    unit: str  # its name; `%` for a share, whose cell holds the share itself
    style: str = "number"  # how a number in it is shown

    def entered(self, value: float) -> float:
        """The number to enter for a value in base units.

        >>> PeopleUnit(60, "min").entered(1800), PeopleUnit(1, "%", "share").entered(0.85)
        (30.0, 0.85)
        """
        found = float(value) / self.factor
        for _ in range(NEIGHBOURS):
            if found * self.factor == value:
                break
            found = math.nextafter(found, math.inf if found * self.factor < value else -math.inf)
        return found


def people_unit(name: str, values: Sequence[float], unit: str) -> PeopleUnit:
    """The unit in which people enter a quantity: the largest that leaves short numbers and is exact.

    >>> people_unit("test_seconds", [1800], "s"), people_unit("read_request_bytes", [2**20], "B")
    (PeopleUnit(factor=60, unit='min', style='number'), PeopleUnit(factor=1048576, unit='MiB', style='number'))
    >>> people_unit("data_tokens", [15.6e12], "token").unit, people_unit("nodes", [64], "node").unit
    ('T tokens', 'nodes')
    """
    if is_share(name, unit):
        return PeopleUnit(1, "%", "share")
    known = [value for value in values if value]
    largest = max(map(abs, known), default=0.0)
    # Longer numbers are better read in a large unit than in full.
    for digits in (SHORT, LONG) if largest >= 1e9 else (SHORT,):
        for found in _candidates(largest, unit) if known else ():
            entered = [found.entered(value) for value in known]
            exactly = all(one * found.factor == value for one, value in zip(entered, known, strict=True))
            if exactly and all(float(f"{one:.{digits}g}") == one for one in entered):
                return found
    if unit in COUNTED or unit == "1":
        return PeopleUnit(1, f"{unit}s" if unit in COUNTED else "")
    parts = unit.split("/")
    # The name of the quantity has the rest: a rate per GPU.
    return PeopleUnit(1, unit_word(name, "/".join(parts[:2]) if len(parts) > 2 and parts[1] == "s" else unit))


def _candidates(largest: float, unit: str) -> Iterator[PeopleUnit]:
    if unit == "s":
        yield from (PeopleUnit(FACTORS.get(name, least), name) for least, name in TIMES if largest >= least)
    if unit == "B" and largest % 1024 == 0:
        binary = [(factor, f"{prefix}B") for prefix, factor in BINARY.items() if largest % factor == 0 and largest < 2**40]
        yield from (PeopleUnit(factor, name) for factor, name in reversed(binary))
    factor, name = scale_of(largest, unit, binary=False) if unit != "s" else (0, "")
    while factor > 1:
        yield PeopleUnit(factor, name)
        factor, name = scale_of(factor / 1000, unit, binary=False)
    if unit in COUNTED and largest >= COUNTS[-1][0]:
        yield from (PeopleUnit(factor, f"{prefix} {unit}s") for factor, prefix in COUNTS if largest >= factor)


class PeopleInput(NamedTuple):
    """How people enter an input: in which unit, and what it may be in that unit."""

    unit: PeopleUnit
    limits: InputQuantity

    @classmethod
    def of(cls, step: Step) -> PeopleInput:
        """How people enter a step that is given."""
        unit, limits = people_unit(step.name, values_of(step), unit_of(step.name)), limits_of(step)
        if unit.factor != 1:
            limits = limits._replace(low=limits.low / unit.factor, high=limits.high / unit.factor, whole=False)
        return cls(unit, limits)

    def cell(self, value: float) -> EntryCell:
        """The cell that people change."""
        return EntryCell(self.unit.entered(value), validation(self.limits), "input share" if self.unit.unit == "%" else "input")


#: Knobs of a workbook, and those among them of one quantity; requirements that a knob is shown to move.
MOST, MOST_ALIKE, MOST_MOVED = 15, 3, 3
#: Quantities of which the most effective input is a knob, whatever it moves.
ALWAYS = (("nodes",), ("cluster_nodes",), ("performance_headroom",), ("capacity_growth_factor",), ("keep_last",),
          ("checkpoint_interval", "longest_interval"), ("fill_limit",))  # fmt: skip


class Knob(NamedTuple):
    """An input to turn: the step of its cell, what it is and whose, its key of the site file, what it moves most."""

    step: Step
    name: str
    key: str
    moves: str


def knobs_of(plan: Plan, cells: PlanCells) -> list[Knob]:
    """The inputs that a buyer turns first: those that move the requirements most, and those that every buyer asks about."""
    jobs = plan.site.section("jobs")
    keys = {step: key_of(step, cells, jobs) for step in cells.sharing if not hasattr(step.value, "__len__")}
    single = (steps for step, steps in cells.sharing.items() if keys.get(step))
    found = influences(plan, single)
    names = [one.steps[0].name for one in found]
    always = [next((place for place, name in enumerate(names) if name in wanted), None) for wanted in ALWAYS]
    kept = [place for place in always if place is not None]
    alike = Counter(names[place] for place in kept)
    left, first = MOST - len(kept), {*kept}
    for place, name in enumerate(names):
        if place not in first and left > 0 and alike[name] < MOST_ALIKE:
            alike[name] += 1
            left -= 1
            kept.append(place)
    knobs = []
    for one in (found[place] for place in sorted({*kept})):
        step = one.steps[0]
        owner = cells.owner(step)
        whose = "" if owner in (SITE, *SHARED) else f", {owner}"
        moved = ", ".join([*one.moved][:MOST_MOVED])
        knobs.append(Knob(step, capitalised(plain(step.name)) + whose, key_of(step, cells, jobs), moved))
    return knobs


def key_of(step: Step, cells: PlanCells, jobs: Collection[str]) -> str:
    """The key of the site file that sets an input: its own, else the one that replaces its default; empty where none does.

    `jobs` are their names: what a served model has of the catalogs, no key replaces.
    """
    owner, _, more = cells.owner(step).partition(ALSO)
    if known := cells.key(step):
        return known
    note = step.source.note if step.source is not None else ""
    path = note.supply[0].in_site_file if isinstance(note, Message) and note.supply else ""
    if not path and step.name in KEYS:
        path = KEYS[step.name].format(owner)
    elif path and path.partition(".")[0] not in (*SHARED, "datasets"):
        path = f"jobs.{owner}.{path}"
    path = path.replace("datasets.*", f"datasets.{owner}")
    path = "" if path.startswith(f"jobs.{owner}.") and owner not in jobs else path
    # `scaling: strong` takes a word.
    return "" if not path or " " in path else path + (f"{ALSO}{more}" if more else "")


def write_plan_inputs(sheet: SheetWriter, cells: PlanCells, turned: Mapping[Step, str]) -> None:
    """Write the sheet Inputs: a line for each value; every other sheet follows its column Value, in base units.

    `turned` are the cells elsewhere in which people enter an input, by its step.
    """
    column = sheet.layout.letter("Setting")
    for step in cells.inputs:
        one, base, key = PeopleInput.of(step), unit_of(step.name), cells.key(step)
        item, factor, style = step.source, one.unit.factor, one.unit.style
        ends: tuple[CellContent, ...] = (None, None)
        # Evidence level, source and place.
        behind: list[CellContent] = ["definition", "", ""]
        if item is not None:
            low, high = (None if end is None else NumberCell(one.unit.entered(end), style) for end in (item.low, item.high))
            ends = (low, high)
            parts = item.parts if len(item.parts) > 1 else ()
            figures = [f"{part.what}: {exact(part.value)} ({part.source}, {part.grade})" for part in parts[:MOST_PARTS]]
            figures += [f"and {len(parts) - MOST_PARTS} more"] if len(parts) > MOST_PARTS else []
            note = "; ".join(filter(None, ("" if key else item.where, in_site_words(item.note), *figures)))
            source = item.source or ", ".join(dict.fromkeys(part.source for part in item.parts))
            behind = [item.grade or item.origin, source, note]
        before: list[CellContent] = [cells.owner(step), step.name]
        middle: list[CellContent] = [one.unit.unit, *ends, range_short(one.limits), key, meaning_of(step.name)]
        last: list[CellContent] = [unit_word(step.name, base), cells.names[step]]
        for value in values_of(step):
            place = f"{column}{sheet.next + 1}"
            number = one.cell(value)
            setting = CellFormula(f"={turned[step]}", number.value, style) if step in turned else number
            live = CellFormula(f"={place}" if factor == 1 else f"={place} * {factor!r}", value, style_of(step.name, base))
            delivered = NumberCell(value, style_of(step.name, base))
            sheet.row(*before, setting, *middle, *behind, live, *last, delivered)
            for part in (before, middle, behind, last):
                part[:] = [None] * len(part)
    sheet.close()
