"""How a requirement came about, as lines: formula, numbers, the rows of each column, down to catalog values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import Row, is_column
from ingest.engine.expression import prose
from ingest.engine.messages import fact_of
from ingest.engine.registry import LEAVES, Step, unit_of
from ingest.engine.value import Input
from ingest.units import display, exact

#: Rows of a column that a requirement lists; `--explain` lists all.
SHORT = 8


@dataclass
class Teller:
    """Tells derivations.

    Attributes:
        given: what each given step was given as, by the identity of the step.
        owners: whose row a step belongs to, by the identity of the step.
        catalog: for the titles of sources.
        most: rows of a column that are listed; the largest first.
        deep: rows of a column that are told down to the datasheet.
    """

    given: Mapping[int, Input]
    owners: Mapping[int, str]
    catalog: Catalog
    most: int = SHORT
    deep: int = 1
    _told: set[int] = field(default_factory=set)

    def lines(self, step: Step) -> list[str]:
        """One quantity; each line can be recomputed by hand from the lines below it."""
        self._told.clear()
        return list(self._lines(step, ""))

    def _lines(self, step: Step, indent: str) -> Iterator[str]:
        if is_column(step):
            yield from self._column(step, indent)
            return
        again = "  (see above)" if id(step) in self._told and step.formula else ""
        yield f"{indent}{step.name} = {shown(step)}{again}"
        if again:
            return
        self._told.add(id(step))
        inner = indent + "  "
        if step.formula is None:
            yield f"{inner}{self._origin(step)}"
            yield from (f"{inner}{line}" for line in self._evidence(step))
            return
        yield f"{inner}= {prose(step.formula.tree())}"
        if not any(is_column(part) for part in step.inputs):
            values = {part.name: exact(part.value) for part in step.inputs}
            yield f"{inner}= {prose(step.formula.tree(), lambda name: values[name])}"
        if step.formula.source != "definition":
            yield f"{inner}formula: {self._cited(step.formula.source, step.formula.where)}"
        for part in step.inputs:
            yield from self._lines(part, inner)

    def _column(self, step: Step, indent: str) -> Iterator[str]:
        """The entries of a column, the largest first; those beyond the limits in brief."""
        yield f"{indent}{step.name}: {len(step.inputs):,} entr{'y' if len(step.inputs) == 1 else 'ies'}"
        ordered = sorted(step.inputs, key=lambda part: -float(part.value))
        for part in ordered[: self.most]:
            yield f"{indent}  {self.owners.get(id(part), 'row')}: {shown(part)}"
        if len(ordered) > self.most:
            yield f"{indent}  and {len(ordered) - self.most:,} smaller ones"
        for part in ordered[: self.deep]:
            if part.formula is not None:
                yield f"{indent}  of {self.owners.get(id(part), 'row')}:"
                yield from self._lines(part, indent + "    ")

    def _origin(self, step: Step) -> str:
        item = self.given.get(id(step))
        if item is None:
            declared = LEAVES[step.name]
            return f"by definition: {declared.meaning}"
        words = {"user": "given by the site file", "default": "assumed", "catalog": item.grade or "by definition"}
        why = fact_of(item.note) or (item.where if item.origin == "user" else "")
        note = f": {why}" if why else ""
        source = f"; {self._cited(item.source, item.where)}" if item.source else ""
        return words.get(item.origin, f"by {item.origin}") + note + source

    def _evidence(self, step: Step) -> Iterator[str]:
        """What a value was made from, where that is more than one figure."""
        item = self.given.get(id(step))
        parts = item.parts if item is not None and len(item.parts) > 1 else ()
        for part in parts[: self.most]:
            yield f"- {part.what}: {exact(part.value)}, {part.grade}; {self._cited(part.source, part.where)}"
        if len(parts) > self.most:
            yield f"- and {len(parts) - self.most:,} more"

    def _cited(self, source: str, where: str) -> str:
        return f"[{source}] {self.catalog.source(source).title}" + (f", {where}" if where else "")


def shown(step: Step) -> str:
    """A quantity for people, and exactly."""
    unit = unit_of(step.name)
    text, exactly = display(float(step.value), unit), f"{exact(step.value)} {unit}".removesuffix(" 1")
    return text + (f"  [{exactly}]" if exactly != text else "")


def owners(tables: Mapping[str, list[Row]]) -> dict[int, str]:
    """Whose row each step is, by the identity of the step; what is given for a year is given for the site."""
    return {
        id(step): row.name
        for table, rows in tables.items()
        for row in rows
        for step in row.known.steps.values()
        if table != "years" or step.formula is not None
    }
