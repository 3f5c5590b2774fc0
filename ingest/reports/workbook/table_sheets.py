"""The sheets of a plan's workbook that show its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ingest.engine.registry import Step, unit_of
from ingest.reports.labels import label
from ingest.reports.workbook.derivation_cells import PlanCells
from ingest.reports.workbook.sheet import DisplayUnit, display_unit, width_of, width_of_words
from ingest.reports.workbook.workbook_writer import WorkbookWriter, strike
from ingest.site.guidance import guidance_rows
from ingest.site.plan import COLUMN_KINDS, NEEDED, TABLES, Plan

if TYPE_CHECKING:
    from ingest.engine.derivation_graph import QuantityRow

#: sheet -> table of the plan
TABLE_SHEETS = {
    "Workloads": "jobs",
    "Clusters": "clusters",
    "Data sets": "datasets",
    "Capacity by year": "capacity",
    "Checkpoints": "checkpoints",
    "Metadata": "metadata",
    "Placement": "placement",
    "Offload": "offload",
    "Post-training": "post_training",
    "Serving": "serving",
    "Loaders": "loaders",
}
#: Columns of text of a sheet, where it does not show all that the rows have.
WORDS: Mapping[str, Sequence[str]] = {
    "Workloads": ("cluster", "model", "data", "basis", "gpu"),
    "Checkpoints": ("model", "mode"),
    "Metadata": ("model",),
    "Placement": ("model", "data"),
    "Offload": ("model",),
    "Post-training": ("cluster", "model"),
    "Loaders": ("model", "data"),
}


class TableSheet(NamedTuple):
    """A sheet that shows a table of the plan."""

    name: str  # of the sheet
    quantities: Sequence[str]  # of its columns of numbers
    rows: Sequence[QuantityRow]  # those of the plan
    steps: Sequence[Sequence[Step | None]]  # of each row, by column; None where the row lacks the quantity

    @property
    def words(self) -> list[str]:
        """The columns of text: those in which any row has one."""
        filled = dict.fromkeys(word for row in self.rows for word, text in row.words.items() if str(text))
        return [word for word in filled if word in WORDS.get(self.name, filled)]

    @property
    def units(self) -> dict[str, DisplayUnit]:
        """The unit in which people read each column: one for all columns of bytes, so that they compare at a glance."""
        largest: dict[str, float] = {}
        alike = {one: unit_of(one) if unit_of(one).startswith("B") else one for one in self.quantities}
        for quantity, group in alike.items():
            values = [abs(float(step.value)) for step in self.entries(quantity) if step is not None]
            largest[group] = max(largest.get(group, 0.0), *values, 0.0)
        found = {}
        for quantity, group in alike.items():
            unit = display_unit(quantity, largest[group], unit_of(quantity))
            assert unit is not None
            found[quantity] = unit._replace(style="large unit") if unit.style == "scaled" else unit
        return found

    def column(self, quantity: str) -> int:
        """The column of a quantity, counted from zero."""
        return 1 + len(self.words) + self.quantities.index(quantity)

    def entries(self, quantity: str) -> list[Step | None]:
        """The steps of one column."""
        place = self.quantities.index(quantity)
        return [steps[place] for steps in self.steps]


def table_sheets(plan: Plan) -> dict[str, TableSheet]:
    """The sheets of the tables that have rows, by name."""
    found = {}
    for name, table in TABLE_SHEETS.items():
        whose, quantities = TABLES[table]
        needed = NEEDED.get(table)
        rows = [row for row in plan.rows[whose] if needed is None or row.step(needed) is not None]
        kept = [
            one
            for one in quantities
            if COLUMN_KINDS.get(one, "") in ("", *plan.kinds) and any(row.step(one) is not None for row in rows)
        ]
        if rows:
            found[name] = TableSheet(name, kept, rows, [[row.step(one) for one in kept] for row in rows])
    return found


def write_table(table: TableSheet, cells: PlanCells, book: WorkbookWriter) -> None:
    """Write the sheet of a table."""
    words, units = table.words, table.units
    heads = [quantity_head(quantity, unit) for quantity, unit in units.items()]
    numbers = [
        [float(step.value) / unit.factor for step in table.entries(quantity) if step is not None]
        for quantity, unit in units.items()
    ]
    texts = [width_of_words(label(word), (str(row.words.get(word, "")) for row in table.rows)) for word in words]
    widths = [width_of_words("Name", (row.name for row in table.rows)), *texts, *map(width_of, heads, numbers)]
    sheet = book.sheet(table.name, ["Name", *map(label, words), *heads], widths)
    for row, steps in zip(table.rows, table.steps, strict=True):
        live = (
            None if step is None else unit.cell(cells.place(step), float(step.value))
            for step, unit in zip(steps, units.values(), strict=True)
        )
        sheet.row(row.name, *(str(row.words.get(word, "")) for word in words), *live)
    sheet.close()


#: Columns of the sheet Guidance.
GUIDANCE = ("name", "cluster", "floor", "cluster_gpus", "compared_reads", "compared_writes", "compared_node_reads",
            "compared_node_writes")  # fmt: skip


def write_guidance(plan: Plan, book: WorkbookWriter) -> None:
    """Write the sheet that compares the workload, as planned, with the guidance and with practice."""
    sheet = book.sheet("Guidance")
    for row in guidance_rows(plan.guidance, plan.rows["clusters"], plan.known):
        sheet.row(*(row.get(column) for column in GUIDANCE))
    strike(sheet, "Level", "Writes of one node (B/s/node)")
    sheet.close()


def quantity_head(quantity: str, unit: DisplayUnit) -> str:
    """The heading of a column of numbers, with its unit where the label does not name it.

    >>> quantity_head("nodes", DisplayUnit(1, "node", "")), quantity_head("year_raw_bytes", DisplayUnit(10**15, "PB", ""))
    ('Nodes', 'Raw capacity (PB)')
    """
    shown = label(quantity)
    return shown if unit_of(quantity) == "1" or unit.unit.lower() in shown.lower() else f"{shown} ({unit.unit})"
