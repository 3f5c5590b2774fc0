"""The cell of each quantity in a site's workbook: inputs, calculated values and columns have a sheet each."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ingest.engine.derivation_graph import is_column
from ingest.engine.expression import cell, prose
from ingest.engine.registry import INPUTS, Formula, Step, unit_of
from ingest.reports.labels import label
from ingest.reports.workbook.sheet import CellFormula, SheetWriter, style_of, width_of, width_of_words
from ingest.site.plan import NEEDED, TABLES, Plan

if TYPE_CHECKING:
    from ingest.engine.derivation_graph import QuantityRow
    from ingest.site.plan import Plan


#: Text between the first of several rows and the number of further ones.
ALSO = " and "
#: Rows up to which each has its own cells and checks for its default values.
MOST_ALONE = 50


class InputGroups:
    """Groups the given quantities of a site: each group is one cell.

    Args:
        labels: the owner of each step.
    """

    def __init__(self, labels: Mapping[Step, str]) -> None:
        self._labels = labels

    def groups(self, steps: Iterable[Step]) -> list[list[Step]]:
        """Steps that share a cell, in the order of the first of each.

        These do: a key of the site file, however often it is used; a fact of the catalogs, whoever needs it; the
        default values of one row; and the equal default values of more rows than a reader would look at.
        """
        given = list(steps)
        takers: dict[Hashable, set[str]] = {}
        for step in given:
            takers.setdefault(self._same(step), set()).add(self._labels.get(step, ""))
        found: dict[Hashable, list[Step]] = {}
        for step in given:
            same = self._same(step)
            common = self._is_fact(step) or len(takers[same]) > MOST_ALONE
            found.setdefault(self.key(step) or (same if common else self._own(step)), []).append(step)
        return list(found.values())

    def key(self, step: Step) -> str:
        """The key of the site file of an input; empty where it has none."""
        item = step.source
        return item.where if item is not None and item.origin == "user" else ""

    def _same(self, step: Step) -> Hashable:
        """A key that is equal for equal inputs; the step itself where a user gave it, or many values."""
        item = step.source
        alone = hasattr(step.value, "__len__") or (item is not None and item.origin == "user")
        return step if alone else (step.name, step.value, item)

    def _is_fact(self, step: Step) -> bool:
        """Whether it is a sourced value of the catalogs, or a constant."""
        item = step.source
        return is_constant(step.name) if item is None else item.origin == "catalog" and bool(item.source or item.parts)

    def _own(self, step: Step) -> Hashable:
        """A key that is equal for equal definitions of one row; the step itself where it was given."""
        label = self._labels.get(step, "")
        return (label, self._same(step)) if label and step.source is None else step


def shared_label(owners: Sequence[str]) -> str:
    """Whose a cell is that several rows use.

    >>> shared_label(["a"]), shared_label(["a", "b", "a"]), shared_label(["a", "b", "c"])
    ('a', 'a and 1 more', 'a and 2 more')
    """
    first, *others = dict.fromkeys(owners)
    return f"{first}{ALSO}{len(others)} more" if others else first


def is_constant(name: str) -> bool:
    """Whether a quantity can have one value only, such as the length of a day."""
    found = INPUTS.get(name)
    return found is not None and found.low == found.high


#: The columns of a value, by sheet.
INPUT, CALCULATED, LISTED = "D", "D", "C"
#: The column that names the quantity of an input.
QUANTITY = "B"
#: The column of the inputs as delivered.
DELIVERED = "N"
#: Whose cells those are that concern several rows.
SITE = "site"
#: Groups of the site file whose values belong to no row.
SHARED = ("storage", "test", "overlap")
#: The first row below the heading, as sheets count.
FIRST = 2


class PlanCells:
    """The cells of a site's workbook.

    A step is one cell; `InputGroups` lists the inputs that share one. Low and high ends are draws, not cells.

    Attributes:
        inputs, formulas, columns: the steps on each sheet, in order; a step comes after its inputs.
    """

    def __init__(self, roots: Iterable[Step]) -> None:
        self.inputs: list[Step] = []
        self.formulas: list[Step] = []
        self.columns: list[Step] = []
        self._places: dict[Step, str] = {}
        self._placed: list[Step] = []
        self._next = {"Inputs": FIRST, "Calculation": FIRST, "Columns": FIRST}
        self._named: set[str] = set()
        for root in roots:
            self._add(root)
        self._labels = labels_of(self._placed)
        self._groups = InputGroups(self._labels)
        self._place_inputs()

    @staticmethod
    def of(plan: Plan, further: Iterable[Step]) -> PlanCells:
        """The cells of a plan: what its requirements rest on, and further steps that sheets show."""
        return PlanCells([*plan.steps.values(), *further])

    def place(self, step: Step) -> str:
        """The cell or the range of a step, from any sheet."""
        return self._places[step]

    def formula(self, step: Step) -> str:
        """The live formula of a computed step."""
        assert step.formula is not None
        cells = {need: self.place(part) for need, part in zip(step.formula.needs, step.inputs, strict=True)}
        return template(step.formula).format(**cells)

    def owner(self, step: Step) -> str:
        """Whose row a step belongs to; `site` for what concerns all of it or is shared."""
        group, _, rest = self.key(step).partition(".")
        return group if rest and group in SHARED else self._labels.get(step, SITE)

    def key(self, step: Step) -> str:
        """The key of the site file of an input; empty where it has none."""
        return self._groups.key(step)

    def name(self, step: Step) -> str:
        """A defined name for an input, each once: by its key in the site file, or by owner and quantity."""
        words = self.key(step) or f"{self.owner(step).partition(ALSO)[0]}_{step.name}"
        plain = re.sub(r"\W", "_", words, flags=re.ASCII)[:200]
        name = f"in_{plain}"
        number = 2
        while name.lower() in self._named:
            name, number = f"in_{plain}_{number}", number + 1
        self._named.add(name.lower())
        return name

    def _add(self, root: Step) -> None:
        """Place a step after all that it needs; a site is deeper than Python's stack when it has many jobs."""
        pending = [(root, False)]
        while pending:
            step, ready = pending.pop()
            if step in self._places:
                continue
            if ready or step.formula is None:
                self._put(step)
            else:
                pending.append((step, True))
                pending.extend((part, False) for part in reversed(step.inputs))

    def _put(self, step: Step) -> None:
        self._placed.append(step)
        if step.formula is None:
            self._places[step] = ""
        elif is_column(step):
            rows = len(step.inputs)
            place = self._reserve("Columns", LISTED, rows, self.columns, step)
            # A column without entries is nothing: SUM(0) and MAX(0).
            self._places[step] = place if rows else "0"
        else:
            self._places[step] = self._reserve("Calculation", CALCULATED, 1, self.formulas, step)

    def _place_inputs(self) -> None:
        """Inputs of the site file first, grouped by their keys; then those of catalogs and definitions."""
        members = self._groups.groups(step for step in self._placed if step.formula is None)
        groups = list(dict.fromkeys(self.key(steps[0]).partition(".")[0] for steps in members))
        rank = {group: place if group else len(groups) for place, group in enumerate(groups)}
        for steps in sorted(members, key=lambda steps: rank[self.key(steps[0]).partition(".")[0]]):
            place = self._reserve("Inputs", INPUT, size_of(steps[0]), self.inputs, steps[0])
            self._places.update(dict.fromkeys(steps, place))
            self._labels[steps[0]] = shared_label([self.owner(step) for step in steps])

    def _reserve(self, sheet: str, letter: str, rows: int, steps: list[Step], step: Step) -> str:
        first = self._next[sheet]
        self._next[sheet] += rows
        steps.append(step)
        start = f"{sheet}!${letter}${first}"
        return f"{start}:${letter}${first + rows - 1}" if rows > 1 or hasattr(step.value, "__len__") else start


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


def size_of(step: Step) -> int:
    """How many cells a given quantity takes."""
    return len(step.value) if hasattr(step.value, "__len__") else 1


def values_of(step: Step) -> list[float]:
    """The values of a given quantity."""
    return [float(value) for value in step.value] if hasattr(step.value, "__len__") else [float(step.value)]


@lru_cache(maxsize=4096)
def template(made: Formula) -> str:
    """The live formula with the names of quantities where its cells go: a site has few formulas and many cells."""
    return cell(made.tree(), "{{{}}}".format)


@lru_cache(maxsize=4096)
def in_words(made: Formula) -> str:
    """The formula in words."""
    return prose(made.tree(), str)


#: The defined name of the cell that counts the inputs that differ from those of the plan.
CHANGED = "inputs_changed"
BANNER = "texts and rounded values are those of the plan; run `ingest plan` again"


def count(last: int) -> CellFormula:
    """How many inputs differ from those of the plan; `last` is the last row of the sheet Inputs."""
    here, before = (f"Inputs!${letter}${FIRST}:${letter}${last}" for letter in (INPUT, DELIVERED))
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
