"""The workbook of a comparison of storage systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.reports.workbook.derivation_cells import Calculation
from ingest.reports.workbook.sheet import CellContent, CellFormula, SheetWriter, display_unit
from ingest.reports.workbook.small_workbooks import SizingWorkbook
from ingest.storage.data_path import headroom_of

if TYPE_CHECKING:
    from ingest.storage.data_path import LayerVerdict
    from ingest.storage.fit_result import Fit, Fits

HEADS = ("System", "Layer", "Needed", "Unit", "Ceiling", "Unit", "Head-room", "Holds", "As delivered", "Why not known")
WIDTHS = (20, 24, 16, 10, 16, 10, 11, 12, 23, 26)

HOLDS = HEADS.index("Holds")


def fit_workbook(compared: Fits) -> bytes:
    """The workbook of a comparison."""
    return FitWorkbook(compared).content()


class LayerRow(NamedTuple):
    """A layer of a system, and the names of its cells; None where there is no headroom to compute."""

    system: Fit
    judged: LayerVerdict
    need: str
    ceiling: str | None
    headroom: str | None


class FitWorkbook(SizingWorkbook):
    """Writes the sheets of a comparison; a quantity that all systems share is one cell."""

    result_heads, result_widths = HEADS, WIDTHS

    def __init__(self, found: Fits) -> None:
        self.found, self.title = found, f"Storage for {found.need.title}"
        self.catalog, self.warnings = found.catalog, found.warnings
        self.cells, self.places, self.owners = Calculation(), {}, {}
        self.rows = [row for one in found.systems for row in self._rows(one)]
        self.results = {name: name for row in self.rows for name in (row.need, row.ceiling, row.headroom) if name}
        self.signed = frozenset(row.headroom for row in self.rows if row.headroom)

    @property
    def assumptions(self) -> list[dict[str, Any]]:
        """Those of all systems, each once."""
        listed = (item for one in self.found.systems for item in one.answer.assumptions)
        return list({(item["name"], item["value"], item["why"]): item for item in listed}.values())

    @property
    def sources(self) -> list[dict[str, str]]:
        """Those of all systems, each once."""
        return list({item["id"]: item for one in self.found.systems for item in one.answer.sources}.values())

    def _rows(self, one: Fit) -> Iterator[LayerRow]:
        known = one.answer.known
        before = len(self.cells.names())
        for judged in one.layers:
            need = self.cells.add(known.step(judged.layer.need))
            if judged.headroom is None:
                yield LayerRow(one, judged, need, None, None)
                continue
            ceiling = self.cells.add(known.step(judged.layer.ceiling))
            yield LayerRow(one, judged, need, ceiling, self.cells.add(headroom_of(known, judged.layer)))
        new = self.cells.names()[before:]
        self.owners |= dict.fromkeys(new, one.entry.id)

    def _results(self, grid: SheetWriter) -> None:
        for row in self.rows:
            grid.row(row.system.entry.id, row.judged.layer.name, *self._layer(row), row.system.verdict, row.judged.why)
        failing = {"type": "cell", "criteria": "==", "value": '"NO"', "format": grid.styles["bad"]}
        grid.sheet.conditional_format(1, HOLDS, grid.next - 1, HOLDS, failing)
        grid.close()

    def _layer(self, row: LayerRow) -> Iterator[CellContent]:
        """Need, ceiling, headroom and verdict of a layer, as live formulas."""
        judged = row.judged
        shown = display_unit(judged.layer.need, judged.need, judged.unit)
        assert shown is not None
        yield from (shown.cell(row.need, judged.need), shown.unit)
        if row.ceiling is None or row.headroom is None or judged.ceiling is None:
            yield from ("", "", "", "NO" if judged.holds is False else "not known")
            return
        carried = display_unit(judged.layer.ceiling, judged.ceiling, judged.unit)
        assert carried is not None
        missed = "not known" if judged.at_least else "NO"
        yield from (carried.cell(row.ceiling, judged.ceiling, strong=True), carried.unit)
        yield CellFormula(f"={row.headroom}", judged.headroom, "share")
        holds = "yes" if judged.headroom is not None and judged.headroom >= 0 else missed
        yield CellFormula(f'=IF({row.headroom} >= 0, "yes", "{missed}")', holds, "text")
