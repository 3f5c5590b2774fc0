"""The cell of each quantity in a site's workbook: inputs, calculated values and columns have a sheet each."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple

from ingest.engine.derivation_graph import is_column
from ingest.engine.registry import INPUTS, Step, in_order, unit_of
from ingest.reports.labels import label
from ingest.reports.workbook.derivation_cells import FIRST, Cells
from ingest.reports.workbook.sheet import CellFormula, SheetWriter, style_of, width_of, width_of_words
from ingest.site.plan import NEEDED, TABLES, Plan

if TYPE_CHECKING:
    from ingest.engine.derivation_graph import QuantityRow
    from ingest.site.plan import Plan


#: Text between the first of several rows and the number of further ones.
ALSO = " and "
#: Rows up to which each has its own cells and checks for its default values.
MOST_ALONE = 50


def shared_label(owners: Sequence[str]) -> str:
    """Whose a cell is that several rows use.

    >>> shared_label(["a"]), shared_label(["a", "b", "a"]), shared_label(["a", "b", "c"])
    ('a', 'a and 1 more', 'a and 2 more')
    """
    first, *others = dict.fromkeys(owners)
    return f"{first}{ALSO}{len(others)} more" if others else first


#: The columns of a value, by sheet.
LETTERS = {"Inputs": "D", "Calculation": "D", "Columns": "C"}
#: The column that names the quantity of an input.
QUANTITY = "B"
#: The column of the inputs as delivered.
DELIVERED = "N"
#: Whose cells those are that concern several rows.
SITE = "site"
#: Groups of the site file whose values belong to no row.
SHARED = ("storage", "test", "overlap")


class PlanCells(Cells):
    """The cells of a site's workbook; low and high ends are draws, not cells.

    These inputs share a cell: a key of the site file, however often it is used; a fact of the catalogs, whoever needs it; the
    default values of one row; and the equal default values of more rows than a reader would look at. Each cell of inputs has
    a name: its key in the site file, or its owner and its quantity.

    Args:
        roots: what the requirements rest on, and further steps that sheets show.
    """

    def __init__(self, roots: Iterable[Step]) -> None:
        placed = in_order(roots)
        self._labels = labels_of(placed)
        inputs = self._shared([step for step in placed if step.formula is None])
        super().__init__([*inputs, *([step] for step in placed if step.formula is not None)], LETTERS)
        taken: set[str] = set()
        for step, *others in inputs:
            self._labels[step] = shared_label([self.owner(one) for one in (step, *others)])
            words = self.key(step) or f"{self.owner(step).partition(ALSO)[0]}_{step.name}"
            plain = "in_" + re.sub(r"\W", "_", words, flags=re.ASCII)[:200]
            numbered = (f"{plain}_{number}" for number in count(2))
            self.names[step] = next(name for name in chain([plain], numbered) if name.lower() not in taken)
            taken.add(self.names[step].lower())

    def owner(self, step: Step) -> str:
        """Whose row a step belongs to; `site` for what concerns all of it or is shared."""
        group, _, rest = self.key(step).partition(".")
        return group if rest and group in SHARED else self._labels.get(step, SITE)

    def key(self, step: Step) -> str:
        """The key of the site file of an input; empty where it has none."""
        item = step.source
        return item.where if item is not None and item.origin == "user" else ""

    def _shared(self, inputs: Sequence[Step]) -> list[list[Step]]:
        """Inputs by cell: those of the site file first, grouped by their keys; then those of catalogs and definitions."""
        takers: dict[Hashable, set[str]] = {}
        for step in inputs:
            takers.setdefault(self._same(step), set()).add(self._labels.get(step, ""))
        found: dict[Hashable, list[Step]] = {}
        for step in inputs:
            same = self._same(step)
            common = self._is_fact(step) or len(takers[same]) > MOST_ALONE
            found.setdefault(self.key(step) or (same if common else self._own(step)), []).append(step)
        groups = {cell: self.key(steps[0]).partition(".")[0] for cell, steps in found.items()}
        rank = {group: place if group else len(groups) for place, group in enumerate(dict.fromkeys(groups.values()))}
        return [found[cell] for cell in sorted(found, key=lambda cell: rank[groups[cell]])]

    def _same(self, step: Step) -> Hashable:
        """A key that is equal for equal inputs; the step itself where a user gave it, or many values."""
        item = step.source
        alone = hasattr(step.value, "__len__") or (item is not None and item.origin == "user")
        return step if alone else (step.name, step.value, item)

    def _is_fact(self, step: Step) -> bool:
        """Whether it is a sourced value of the catalogs, or a constant, such as the length of a day."""
        item = step.source
        if item is not None:
            return item.origin == "catalog" and bool(item.source or item.parts)
        return step.name in INPUTS and INPUTS[step.name].low == INPUTS[step.name].high

    def _own(self, step: Step) -> Hashable:
        """A key that is equal for equal definitions of one row; the step itself where it was given."""
        label = self._labels.get(step, "")
        return (label, self._same(step)) if label and step.source is None else step


def labels_of(placed: Sequence[Step]) -> dict[Step, str]:
    """The owner of each step: its own, else the only one of what it rests on, else the only one of its users.

    Args:
        placed: steps, each after all that it rests on.
    """
    labels = {step: step.owner for step in placed if step.owner}
    for step in placed:
        below = {labels[part] for part in step.inputs if part in labels}
        if step not in labels and len(below) == 1 and not any(is_column(one) for one in (step, *step.inputs)):
            labels[step] = below.pop()
    users: dict[Step, set[str]] = {}
    for step in reversed(placed):
        above = users.get(step, set())
        if step not in labels and len(above) == 1 and "" not in above:
            labels[step] = next(iter(above))
        for part in step.inputs:
            users.setdefault(part, set()).add(labels.get(step, ""))
    return labels


#: The defined name of the cell that counts the inputs that differ from those of the plan.
CHANGED = "inputs_changed"
BANNER = "texts and rounded values are those of the plan; run `ingest plan` again"


def changed_inputs(last: int) -> CellFormula:
    """How many inputs differ from those of the plan; `last` is the last row of the sheet Inputs."""
    here, before = (f"Inputs!${letter}${FIRST}:${letter}${last}" for letter in (LETTERS["Inputs"], DELIVERED))
    return CellFormula(f"=SUMPRODUCT(--({here} <> {before}))", 0)


def banner() -> CellFormula:
    """One line that stays empty while every input is that of the plan."""
    return CellFormula(f'=IF({CHANGED} = 0, "", "Inputs changed (" & {CHANGED} & "): {BANNER}")', "", "warning")


def add_banner(sheet: SheetWriter) -> None:
    """Write the banner below the lines of a sheet; the first column stays empty, which marks it as not a requirement line."""
    sheet.row("", banner())


def strike_columns(sheet: SheetWriter, first: str, last: str = "") -> None:
    """Strike out the columns between two headings, or one column, once an input differs from that of the plan."""
    left = sheet.heads.index(first)
    right = sheet.heads.index(last) if last else left
    sheet.sheet.conditional_format(1, left, max(sheet.next - 1, 1), right, _rule(sheet))


def strike_rows(sheet: SheetWriter, first: int, last: int) -> None:
    """Strike out the lines between two rows once an input differs from that of the plan."""
    sheet.sheet.conditional_format(first - 1, 0, last - 1, 0, _rule(sheet))


def _rule(sheet: SheetWriter) -> dict[str, object]:
    return {"type": "formula", "criteria": f"={CHANGED}>0", "format": sheet.styles["stale"]}


#: sheet -> table of the plan
TABLE_SHEETS = {
    "Workloads": "jobs",
    "Clusters": "clusters",
    "Data sets": "datasets",
    "Capacity by year": "capacity",
    "Checkpoints": "checkpoints",
    "Metadata": "metadata",
    "Placement": "placement",
}
#: Columns of text of a sheet, where it does not show all that the rows have.
WORDS: Mapping[str, Sequence[str]] = {
    "Workloads": ("cluster", "model", "data", "basis", "gpu"),
    "Checkpoints": ("model", "mode"),
    "Metadata": ("model",),
    "Placement": ("model", "data"),
}


class TableSheet(NamedTuple):
    """A sheet that shows a table of the plan.

    Attributes:
        name: of the sheet.
        quantities: of its columns of numbers.
        rows: those of the plan.
        steps: of each row, by column; None where the row lacks the quantity.
    """

    name: str
    quantities: Sequence[str]
    rows: Sequence[QuantityRow]
    steps: Sequence[Sequence[Step | None]]

    @property
    def words(self) -> list[str]:
        """The columns of text: those in which any row has one."""
        filled = dict.fromkeys(word for row in self.rows for word, text in row.words.items() if str(text))
        return [word for word in filled if word in WORDS.get(self.name, filled)]

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
        if rows:
            found[name] = TableSheet(name, quantities, rows, [[row.step(one) for one in quantities] for row in rows])
    return found


def write_table(table: TableSheet, cells: PlanCells, sheet_writer: Callable[..., SheetWriter]) -> None:
    """Write the sheet of a table."""
    words, quantities = table.words, table.quantities
    heads = [quantity_head(quantity) for quantity in quantities]
    numbers = [[float(step.value) for step in column if step is not None] for column in zip(*table.steps, strict=True)]
    texts = [width_of_words(label(word), (str(row.words.get(word, "")) for row in table.rows)) for word in words]
    widths = [width_of_words("Name", (row.name for row in table.rows)), *texts, *map(width_of, heads, numbers)]
    styles = [style_of(quantity, unit_of(quantity)) for quantity in quantities]
    sheet = sheet_writer(table.name, ["Name", *map(label, words), *heads], widths)
    for row, steps in zip(table.rows, table.steps, strict=True):
        live = (
            None if step is None else CellFormula(f"={cells.place(step)}", float(step.value), style)
            for step, style in zip(steps, styles, strict=True)
        )
        sheet.row(row.name, *(str(row.words.get(word, "")) for word in words), *live)
    sheet.close()


def quantity_head(quantity: str) -> str:
    """The heading of a column of numbers."""
    unit = unit_of(quantity)
    return label(quantity) if unit == "1" else f"{label(quantity)} ({unit})"
