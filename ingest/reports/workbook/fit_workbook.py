"""The workbook of a comparison of storage systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ingest.configuration import decimal_units
from ingest.reports.workbook.sheet import CellContent, CellFormula, SheetWriter, display_unit
from ingest.reports.workbook.small_workbooks import SizingWorkbook
from ingest.storage.data_path import headroom_of

if TYPE_CHECKING:
    from ingest.engine.registry import Step
    from ingest.storage.data_path import LayerVerdict
    from ingest.storage.fit_result import Fit, Fits


@decimal_units()
def fit_workbook(compared: Fits) -> bytes:
    """The workbook of a comparison."""
    return FitWorkbook(compared).content()


class LayerRow(NamedTuple):
    """A layer of a system, and its quantities; None where there is no headroom to compute."""

    system: Fit
    judged: LayerVerdict
    need: Step
    ceiling: Step | None = None
    headroom: Step | None = None


class FitWorkbook(SizingWorkbook):
    """Writes the sheets of a comparison; a quantity that all systems share is one cell."""

    kind = "fit"

    def __init__(self, found: Fits) -> None:
        self.title, self.catalog, self.warnings = f"Storage for {found.need.title}", found.catalog, found.warnings
        answers = [one.answer for one in found.systems]
        assumptions = (item for answer in answers for item in answer.assumptions)
        self.assumptions = list({(item["name"], item["value"], item["why"]): item for item in assumptions}.values())
        self.sources = list({item["id"]: item for answer in answers for item in answer.sources}.values())
        self.rows = [_row(one, judged) for one in found.systems for judged in one.layers]
        shown: dict[str, list[Step]] = {}
        for row in self.rows:
            steps = (row.need, row.ceiling, row.headroom)
            shown.setdefault(row.system.entry.id, []).extend(step for step in steps if step is not None)
        self.place(shown)
        self.signed = {self.cells.first(row.headroom) for row in self.rows if row.headroom is not None}

    def results(self, sheet: SheetWriter) -> None:
        """Write the sheet Results: a line for each layer of each system."""
        for row in self.rows:
            sheet.row(row.system.entry.id, row.judged.layer.name, *self._layer(row), row.system.verdict, row.judged.why)
        failing = {"type": "cell", "criteria": "==", "value": '"NO"', "format": sheet.styles["bad"]}
        holds = sheet.layout.heads.index("Holds")
        sheet.sheet.conditional_format(1, holds, sheet.next - 1, holds, failing)
        sheet.close()

    def _layer(self, row: LayerRow) -> Iterator[CellContent]:
        """Need, ceiling, headroom and verdict of a layer, as live formulas."""
        judged = row.judged
        shown = display_unit(judged.layer.need, judged.need, judged.unit)
        assert shown is not None
        yield from (shown.cell(self.cells.place(row.need), judged.need), shown.unit)
        if row.ceiling is None or row.headroom is None or judged.ceiling is None:
            yield from ("unknown", "", "", "NO" if judged.holds is False else "unknown")
            return
        carried = display_unit(judged.layer.ceiling, judged.ceiling, judged.unit)
        assert carried is not None
        missed = "unknown" if judged.at_least or judged.unsure else "NO"
        held = "unknown" if judged.at_most or judged.unsure else "yes"
        yield from (carried.cell(self.cells.place(row.ceiling), judged.ceiling, strong=True), carried.unit)
        headroom = self.cells.place(row.headroom)
        yield CellFormula(f"={headroom}", judged.headroom, "share")
        holds = held if judged.headroom is not None and judged.headroom >= 0 else missed
        yield CellFormula(f'=IF({headroom} >= 0, "{held}", "{missed}")', holds, "text")


def _row(one: Fit, judged: LayerVerdict) -> LayerRow:
    known = one.answer.known
    need = known.step(judged.layer.need)
    if judged.headroom is None:
        return LayerRow(one, judged, need)
    return LayerRow(one, judged, need, known.step(judged.layer.ceiling), headroom_of(known, judged.layer))
