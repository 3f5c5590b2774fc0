"""Rows, and columns of rows: how tables of a site and formulas over them hang together as one tree of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest.engine.expression import Num
from ingest.engine.registry import LEAVES, Formula, Step, in_order, marks_of, unchanged, unit_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import MissingQuantity

#: where a step says that it gathers a column
COLUMN = "column"


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Attributes:
        name: of the job, data set, cluster or year.
        words: what is no quantity: the model, the cluster, the mode.
        known: what is given for this row; everything else follows.
        kept: what is known beside the row's own, such as the answer of `bw` that the row takes values from.
        absent: quantities that were asked for and cannot be computed.
    """

    name: str
    words: Mapping[str, Any]
    known: Quantities
    kept: tuple[Quantities, ...] = field(default=())
    absent: set[str] = field(default_factory=set)

    def step(self, name: str) -> Step | None:
        """A quantity of the row and how it came about; None where it cannot be computed."""
        if name in self.known.steps:
            return self.known.steps[name]
        if name in self.absent:
            return None
        try:
            return self.known.step(name)
        except MissingQuantity:
            self.absent.add(name)
            return None

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """The row as plain values in base units; what is not known is left out."""
        found = ((name, self.step(name)) for name in names)
        return {"name": self.name, **self.words, **{name: step.value for name, step in found if step is not None}}


def gather(*entries: Num) -> list[Num]:
    """A column from its entries."""
    return list(entries)


def column(table: str, quantity: str, rows: Sequence[Row]) -> Step:
    """The column `QUANTITY_of_TABLE`: one entry for each row that knows the quantity."""
    entries = tuple(step for row in rows if (step := row.step(quantity)) is not None)
    name = f"{quantity}_of_{table}"
    made = Formula(name, gather, tuple(entry.name for entry in entries), unit_of(name), "definition", COLUMN)
    return Step(name, [entry.value for entry in entries], made, entries)


def is_column(step: Step) -> bool:
    """Whether a step gathers a column instead of computing a formula."""
    return step.formula is not None and step.formula.function is gather


def link(name: str, step: Step) -> Step:
    """A quantity of one row that is a quantity of another one, under a name of its own."""
    return Step(name, step.value, Formula(name, unchanged, (step.name,), unit_of(name), "definition", ""), (step,))


def replaced(step: Step, by: Mapping[str, Step], done: dict[int, Step]) -> Step:
    """The same derivation with other steps for given quantities, by name: what stood beside them now follows from them."""
    if id(step) not in done:
        if step.formula is None:
            done[id(step)] = by.get(step.name, step)
        else:
            inputs = tuple(replaced(part, by, done) for part in step.inputs)
            changed = any(new is not old for new, old in zip(inputs, step.inputs, strict=True))
            done[id(step)] = step._replace(inputs=inputs) if changed else step
    return done[id(step)]


def columns_of(table: str, rows: Sequence[Row]) -> dict[str, Step]:
    """Every column that a formula may ask of a table, by name."""
    ending = f"_of_{table}"
    names = [name.removesuffix(ending) for name in LEAVES if name.endswith(ending)]
    return {f"{name}{ending}": column(table, name, rows) for name in names}


def origins(all_known: Iterable[Quantities]) -> dict[int, Input]:
    """What each given step was given as, by the identity of the step."""
    found: dict[int, Input] = {}
    for known in all_known:
        for name, step in known.steps.items():
            if step.formula is None and name in known.given:
                found.setdefault(id(step), known.given[name])
    return found


def all_below(roots: Mapping[str, Step], wanted: Callable[[Step], bool]) -> dict[str, list[Step]]:
    """What each root rests on, the topmost first, of the steps that are wanted."""
    order = in_order(roots.values())
    marks = marks_of([*roots.values()], order)
    marked = [(step, marks[id(step)]) for step in reversed(order) if wanted(step)]
    return {name: [step for step, mark in marked if mark >> place & 1] for place, name in enumerate(roots)}


def steps_below(step: Step, told: set[int] | None = None) -> list[Step]:
    """A step and all that it rests on, each once.

    Args:
        step: the topmost one.
        told: identities of steps to leave out; those found are added.
    """
    seen = set() if told is None else told
    found: list[Step] = []
    waiting = [step]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            found.append(one)
            if one.inputs:
                waiting.extend(one.inputs[::-1])
    return found
