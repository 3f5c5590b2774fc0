"""The first sheet of a site's workbook: what the site needs, the inputs to turn, each result line, and three charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from ingest.reports.labels import label
from ingest.reports.workbook.change_banner import banner, strike_columns
from ingest.reports.workbook.knobs import Knob
from ingest.reports.workbook.plan_cells import PlanCells
from ingest.reports.workbook.plan_inputs import PeopleInput
from ingest.reports.workbook.results_charts import add_charts
from ingest.reports.workbook.sheet import CellContent, CellFormula, DisplayUnit, SheetWriter, display_unit, seen
from ingest.reports.workbook.styles import column_of
from ingest.reports.workbook.table_sheets import TableSheet
from ingest.reports.workbook.workbook_writer import TITLE, WorkbookWriter, checks_outcome
from ingest.rfp import response_form as form

if TYPE_CHECKING:
    from ingest.engine.registry import Step
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan

#: The sheet, and the rows of its tiles, of its banner, and of the headings, counted from zero.
RESULTS = "Results"
TILE_NAMES, TILE_VALUES, BANNER, HEADINGS = 1, 2, 3, 4
#: Tiles: their names, the requirements of which the largest is shown, and their first and last column.
TILES = (
    ("Usable capacity to buy", ("R-CAP-03",), 0, 1),
    ("Read", ("R-READ-03", "R-READ-01"), 2, 3),
    ("Write", ("R-WRITE-01", "R-WRITE-02"), 4, 5),
    ("Restore", ("R-RESTART-01", "R-RESTART-02"), 7, 7),
)
#: The columns of the tile that shows the outcome of the checks.
OUTCOME = (8, 10)
#: Rows that one printed page shows in letters that can be read.
ROWS_OF_PAGE = 52
#: Height of the value of a tile, in points.
TILE = 34.0
LOW, HIGH = "Low (P10)", "High (P90)"


class ResultsSheet:
    """Writes the sheet Results.

    Args:
        plan: of the site.
        book: to write to.
        cells: of the workbook.
        knobs: the inputs to turn.
    """

    def __init__(self, plan: Plan, book: WorkbookWriter, cells: PlanCells, knobs: Sequence[Knob]) -> None:
        self.plan, self.book, self.cells, self.knobs = plan, book, cells, knobs
        layout = book.layouts[RESULTS]
        self.sheet = SheetWriter(book.sheets[RESULTS], book.styles, layout, HEADINGS)
        self.value = layout.letter("Setting")

    @property
    def turned(self) -> Mapping[Step, str]:
        """The cell of each knob, by its input."""
        return {knob.step: f"{RESULTS}!${self.value}${HEADINGS + 2 + place}" for place, knob in enumerate(self.knobs)}

    def write(self, tables: Mapping[str, TableSheet], lines: Mapping[str, int], checks: int) -> None:
        """Write it, with the tables that charts show, the rows of the requirements, and the number of checks."""
        sheet, rows = self.sheet, (self._line(one, lines) for one in self.plan.requirements)
        for line, knob in zip_longest(rows, self.knobs):
            sheet.row(*(line or [None] * 6), None, *(self._knob(knob) if knob is not None else ()), text="line")
        for place in self.turned.values():
            name, _, at = place.partition("!")
            self.book.book.define_name(f"knob_{at.rpartition('$')[2]}", f"={name}!{at}")
        strike_columns(sheet, LOW, HIGH)
        self._top(lines, checks)
        further = add_charts(self.plan, tables, self.book, sheet, self.cells)
        sheet.close(further)
        if sheet.next + further <= ROWS_OF_PAGE:
            sheet.sheet.fit_to_pages(1, 1)

    def _line(self, one: Requirement, lines: Mapping[str, int]) -> list[CellContent]:
        """A requirement in the unit in which people read it."""
        shown = display_unit(one.metric, one.value, one.unit)
        assert shown is not None
        low, high = (column_of("model", form.REQUIREMENTS_SHEET, head) for head in (LOW, HIGH))
        ends = ((low, one.low), (high, one.high))
        spread = (
            None if end is None else shown.cell(f"{column}{lines[one.id]}", end)._replace(style=range_style(end / shown.factor))
            for column, end in ends
        )
        return [one.id, label(one.metric), self._live(one, shown, lines), shown.unit, *spread]

    def _live(self, one: Requirement, shown: DisplayUnit, lines: Mapping[str, int], style: str = "strong") -> CellFormula:
        place = f"{column_of('model', form.REQUIREMENTS_SHEET, form.REQUIRED)}{lines[one.id]}"
        return shown.cell(place, one.value)._replace(style=style)

    def _knob(self, knob: Knob) -> Iterator[CellContent]:
        entered = PeopleInput.of(knob.step)
        yield from (knob.name, entered.cell(float(knob.step.value)), entered.unit.unit, knob.key, knob.moves)

    def _top(self, lines: Mapping[str, int], checks: int) -> None:
        """The title, the tiles and the banner above the headings."""
        page, styles = self.sheet.sheet, self.sheet.styles
        last = len(self.sheet.layout.widths) - 2
        title = f"Storage requirements of {self.plan.site.name}"
        page.merge_range(0, 0, 0, last, seen(title), styles["title"])
        page.set_row(0, TITLE)
        page.set_row(TILE_VALUES, TILE)
        known = {one.id: one for one in self.plan.requirements}
        for name, ids, first, end in TILES:
            found = [known[one] for one in ids if one in known and known[one].priority == "mandatory"]
            if found:
                self._tile(name, max(found, key=lambda one: one.value), lines, first, end)
        self._merged(TILE_NAMES, *OUTCOME, "tile name", "Checks")
        self._merged(TILE_VALUES, *OUTCOME, "tile outcome", checks_outcome(checks))
        failing = {"type": "text", "criteria": "begins with", "value": "A check fails", "format": styles["bad"]}
        page.conditional_format(TILE_VALUES, OUTCOME[0], TILE_VALUES, OUTCOME[0], failing)
        self._merged(BANNER, 0, last, "warning", banner())

    def _tile(self, name: str, one: Requirement, lines: Mapping[str, int], first: int, last: int) -> None:
        shown = display_unit(one.metric, one.value, one.unit)
        assert shown is not None
        self._merged(TILE_NAMES, first, last, "tile name", f"{name} ({one.id})")
        look = {**TILE_LOOK, "num_format": f'[>=1000]#,##0" {shown.unit}";General" {shown.unit}"'}
        self._merged(TILE_VALUES, first, last, look, self._live(one, shown, lines))

    def _merged(self, row: int, first: int, last: int, style: str | Mapping[str, object], item: str | CellFormula) -> None:
        """Write a text or a formula across columns."""
        page = self.sheet.sheet
        made = self.sheet.styles[style] if isinstance(style, str) else self.book.book.add_format(dict(style))
        if last > first:
            page.merge_range(row, first, row, last, "", made)
        if isinstance(item, str):
            page.write_string(row, first, item, made)
        else:
            page.write_formula(row, first, item.written, made, item.value)


def range_style(end: float) -> str:
    """How an end of a range is shown in a narrow column: with three digits or so.

    >>> range_style(29_300_000), range_style(622.3), range_style(14.9), range_style(0.0375)
    ('range large', 'range whole', 'range', 'range small')
    """
    return "range large" if end >= 1e6 else "range whole" if end >= 100 else "range" if end >= 1 else "range small"


#: How the value of a tile looks.
TILE_LOOK = {"bold": True, "font_size": 20, "font_color": "#1F3864", "align": "left", "indent": 1, "valign": "vcenter"}
