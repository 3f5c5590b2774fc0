"""Rows of quantities and their columns: tables of a site as parts of one derivation."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ingest.engine.expression import Num
from ingest.engine.registry import INPUTS, Formula, Step, new_step, unit_of
from ingest.engine.solver import Quantities

#: the place in a formula that marks a column
COLUMN = "column"


@dataclass(frozen=True)
class QuantityRow:
    """One row of a table: a job, data set, cluster or year."""

    name: str  # of the job, data set, cluster or year
    words: Mapping[str, Any]  # the model, the cluster, the mode and other texts
    known: Quantities  # its quantities
    checkpoints: Quantities | None = None  # the quantities of its checkpoints, where the row is a job that saves any
    absent: set[str] = field(default_factory=set)  # requested quantities that cannot be computed

    def step(self, name: str) -> Step | None:
        """A quantity of the row and how it came about; None where it cannot be computed."""
        known = self.known.steps.get(name)
        if known is not None or name in self.absent:
            return known
        found = self.known.find(name)
        if found is None:
            self.absent.add(name)
        return found

    def find_all(self, names: Iterable[str]) -> None:
        """Derive what the row has of some quantities; the others are absent."""
        known, absent = self.known.steps, self.absent
        asked = tuple([name for name in names if name not in known and name not in absent])
        if asked:
            found = self.known.find_all(asked)
            absent.update([name for name in asked if name not in found])

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """The row as plain values in base units; unknown ones are left out."""
        found = ((name, self.step(name)) for name in names)
        return {"name": self.name, **self.words, **{name: step.value for name, step in found if step is not None}}


def gather(*entries: Num) -> list[Num]:
    """A column from its entries."""
    return list(entries)


def column(name: str, entries: tuple[Step, ...], owner: str = "") -> Step:
    """The column `QUANTITY_of_TABLE`: one entry for each row whose quantity is known."""
    made = Formula(name, gather, tuple(entry.name for entry in entries), unit_of(name), "definition", COLUMN)
    return Step(name, [entry.value for entry in entries], made, entries, None, owner)


def is_column(step: Step) -> bool:
    """Whether a step gathers a column instead of computing a formula."""
    return step.formula is not None and step.formula.function is gather


def replaced(step: Step, by: Mapping[str, Step], done: dict[Step, Step], owner: str = "", own: Container[str] = ()) -> Step:
    """Copy a derivation with other steps for given quantities, and the owner of its own; `done` holds the copies so far."""
    if step in done:
        return done[step]
    if step.formula is None:
        copy = by.get(step.name, step)
        inputs = copy.inputs
    else:
        copy = step
        inputs = tuple([done.get(part) or replaced(part, by, done, owner, own) for part in step.inputs])
    whose = owner if copy.name in own else copy.owner
    if whose != copy.owner or inputs != copy.inputs:
        copy = new_step((copy.name, copy.value, copy.formula, inputs, copy.source, whose))
    done[step] = copy
    return copy


def columns_of(table: str, rows: Sequence[QuantityRow], owner: str = "") -> dict[str, Step]:
    """Every column of a table that a formula needs, by name."""
    columns = _needed(f"_of_{table}")
    for row in rows:
        row.find_all(columns.values())
    known = [row.known.steps for row in rows]
    return {
        name: column(name, tuple([steps[quantity] for steps in known if quantity in steps]), owner)
        for name, quantity in columns.items()
    }


@cache
def _needed(ending: str) -> dict[str, str]:
    """The columns of a table, which end alike, each with the quantity of its rows; each year of a site asks for them."""
    return {name: name.removesuffix(ending) for name in INPUTS if name.endswith(ending)}


def nearest_below(root: Step, *names: Sequence[str]) -> tuple[Step, ...]:
    """Of each group of names the quantity that a step rests on, the nearest to it.

    Raises KeyError: it rests on none of a group.
    """
    found: dict[Sequence[str], Step] = {}
    level, seen = [root], {root}
    while level and len(found) < len(names):
        for step in level:
            for group in names:
                if step.name in group:
                    found.setdefault(group, step)
        level = [part for step in level for part in step.inputs if part not in seen and not seen.add(part)]  # type: ignore[func-returns-value]
    return tuple(found[group] for group in names)
