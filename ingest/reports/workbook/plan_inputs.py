"""The sheet Inputs of a site: each value in the unit in which people enter it, the base value beside it, its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ingest.engine.messages import in_site_words
from ingest.engine.registry import InputQuantity, Step, unit_of
from ingest.engine.value import Input
from ingest.reports.labels import unit_word
from ingest.reports.workbook.derivation_cells import limits_of, meaning_of, values_of
from ingest.reports.workbook.people_units import PeopleUnit, people_unit
from ingest.reports.workbook.plan_cells import PlanCells
from ingest.reports.workbook.sheet import CellContent, CellFormula, EntryCell, NumberCell, SheetWriter, style_of
from ingest.reports.workbook.styles import range_short, validation
from ingest.units import exact

#: Figures behind one input that are named.
MOST_PARTS = 6


class PeopleInput(NamedTuple):
    """How people enter an input.

    Attributes:
        unit: in which they do.
        limits: what it may be, in that unit.
    """

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

    def number(self, value: float | None) -> NumberCell | None:
        """A cell that they do not change."""
        return None if value is None else NumberCell(self.unit.entered(value), self.unit.style)


def write_plan_inputs(sheet: SheetWriter, cells: PlanCells, turned: Mapping[Step, str]) -> None:
    """Write the sheet Inputs: a line for each value; every other sheet follows its column Value, in base units.

    Args:
        sheet: the sheet.
        cells: of the workbook.
        turned: the cell elsewhere in which people enter an input, by its step.
    """
    entered = sheet.layout.letter("Setting")
    for step in cells.inputs:
        one, base = PeopleInput.of(step), unit_of(step.name)
        item, factor = step.source, one.unit.factor
        ends = (None, None) if item is None else (one.number(item.low), one.number(item.high))
        before: list[CellContent] = [cells.owner(step), step.name]
        middle: list[CellContent] = [one.unit.unit, *ends, range_short(one.limits), cells.key(step), meaning_of(step.name)]
        behind: list[CellContent] = [*_origin(item, cells.key(step))]
        last: list[CellContent] = [unit_word(step.name, base), cells.names[step]]
        for value in values_of(step):
            place = f"{entered}{sheet.next + 1}"
            number = one.cell(value)
            setting = CellFormula(f"={turned[step]}", number.value, one.unit.style) if step in turned else number
            live = CellFormula(f"={place}" if factor == 1 else f"={place} * {factor!r}", value, style_of(step.name, base))
            delivered = NumberCell(value, style_of(step.name, base))
            sheet.row(*before, setting, *middle, *behind, live, *last, delivered)
            for part in (before, middle, behind, last):
                part[:] = [None] * len(part)
    sheet.close()


def _origin(item: Input | None, key: str) -> tuple[str, str, str]:
    """Evidence level, source and place of an input."""
    if item is None:
        return "definition", "", ""
    note = "; ".join(filter(None, ("" if key else item.where, in_site_words(item.note), *evidence(item))))
    return item.grade or item.origin, item.source or ", ".join(dict.fromkeys(part.source for part in item.parts)), note


def evidence(item: Input) -> list[str]:
    """The figures behind a value, where there are several."""
    parts = item.parts if len(item.parts) > 1 else ()
    shown = [f"{part.what}: {exact(part.value)} ({part.source}, {part.grade})" for part in parts[:MOST_PARTS]]
    return [*shown, *([f"and {len(parts) - MOST_PARTS} more"] if len(parts) > MOST_PARTS else [])]
