"""What every answer beside `bw` is: results with their derivations, assumptions and sources, in the form of CONTRACT."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ingest.catalog.store import Catalog
from ingest.errors import MissingQuantity, UsageError
from ingest.estimate import Quantity
from ingest.formula import Formula, Step, derive, unchanged, unit_of
from ingest.ladder import Given
from ingest.messages import message_of

if TYPE_CHECKING:
    import pandas


class Known:
    """Given quantities, and the choices made among formulas; everything else follows from them."""

    def __init__(self, given: Mapping[str, Given]) -> None:
        self.given = dict(given)
        self.steps: dict[str, Step] = {}

    def choose(self, name: str, formula: str) -> None:
        """Let a quantity be what one of several formulas yields; a value given by the user still wins.

        Raises:
            MissingQuantity: the formula cannot be computed.
        """
        if name in self.given:
            return
        step = self.step(formula)
        self.steps[name] = Step(
            name, step.value, Formula(name, unchanged, (formula,), unit_of(name), "definition", ""), (step,)
        )

    def step(self, name: str) -> Step:
        """A quantity and how it came about.

        Raises:
            MissingQuantity: it cannot be computed from what is known.
            UsageError: it is beyond what a number can hold.
        """
        try:
            found = self.steps.get(name) or derive(name, {key: item.value for key, item in self.given.items()}, self.steps)
            finite = math.isfinite(found.value) if isinstance(found.value, (int, float)) else True
        except (OverflowError, ZeroDivisionError):
            finite = False
        if not finite:
            raise UsageError(f"{name} is beyond what a number can hold: expected other inputs")
        return found

    def value(self, name: str) -> float:
        """The value of a quantity."""
        return float(self.step(name).value)

    def results(self, names: Sequence[str]) -> tuple[dict[str, Quantity], dict[str, str]]:
        """The quantities that can be computed, and for the others what is missing."""
        found: dict[str, Quantity] = {}
        unknown: dict[str, str] = {}
        for name in names:
            try:
                step = self.step(name)
                found[name] = Quantity(step.value, unit_of(name))
            except MissingQuantity as error:
                unknown[name] = message_of(error)
        return found, unknown


@dataclass(frozen=True)
class Answer:
    """Results of one question.

    Attributes:
        command: which command it answers.
        title: one line.
        chosen: options that are words, with where they come from.
        known: what went in.
        results: quantities by name.
        unknown: why a result is not there.
        tables: further tables, each with a title: rows of plain values by column name.
        warnings: plain words.
        unmet: a stated requirement that is not met.
        catalog: where entries and sources come from.
        cited: sources of the tables, as (id, where, what is assumed or empty).
    """

    command: str
    title: str
    chosen: Mapping[str, Mapping[str, Any]]
    known: Known
    results: Mapping[str, Quantity]
    unknown: Mapping[str, str]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    warnings: tuple[str, ...]
    catalog: Catalog
    unmet: str = ""
    cited: tuple[tuple[str, str, str], ...] = ()

    @property
    def given(self) -> Mapping[str, Given]:
        """What was known, for explanations."""
        return self.known.given

    def derivation(self, name: str) -> Step:
        """How a quantity came about.

        Raises:
            UsageError: no such quantity.
            MissingQuantity: it cannot be computed from what is known.
        """
        unit_of(name)
        return self.known.step(name)

    def known_for(self, name: str) -> Mapping[str, Given]:  # noqa: ARG002  an estimate answers by name
        """What a quantity is computed from."""
        return self.given

    @cached_property
    def used(self) -> Mapping[str, Given]:
        """The given quantities that the results rest on."""
        names: dict[str, None] = {}
        for name in self.results:
            names.update(dict.fromkeys(step.name for step in self.derivation(name).leaves()))
        return {name: self.given[name] for name in names if name in self.given}

    @property
    def assumptions(self) -> list[dict[str, Any]]:
        """What nobody measured: values graded `assumed`, and defaults that a user may contest."""
        found = [
            {"name": name, "value": item.value, "unit": unit_of(name), "grade": "assumed", "why": item.note or item.where}
            for name, item in self.used.items()
            if item.origin == "default" or (item.grade == "assumed" and item.origin != "user")
        ]
        layout = self.chosen.get("layout", {}).get("value", "")
        rules = [
            {"name": "layout", "value": layout, "unit": "", "grade": "assumed", "why": why} for *_, why in self.cited if why
        ]
        return [*found, *rules]

    @property
    def sources(self) -> list[dict[str, str]]:
        """The sources of values, formulas and tables, with the places."""
        places: dict[str, dict[str, None]] = {}
        for source, where in self._citations():
            if source and source != "definition":
                places.setdefault(source, {})[where] = None
        listed = []
        for name, found in places.items():
            cited = self.catalog.source(name)
            listed.append({"id": name, "title": cited.title, "where": "; ".join(filter(None, found)), "url": cited.url})
        return listed

    def _citations(self) -> Iterator[tuple[str, str]]:
        for item in self.used.values():
            yield item.source, item.where
        for name in self.results:
            yield from _formulas(self.derivation(name))
        for source, where, _ in self.cited:
            yield source, where

    @property
    def inputs(self) -> dict[str, Any]:
        """What went in, and where from."""
        values = {
            name: {"value": item.value, "unit": unit_of(name), "from": item.origin}
            for name, item in self.used.items()
            if isinstance(item.value, (int, float))
        }
        return {**self.chosen, **values}

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of CONTRACT, `ingest/1`."""
        from ingest import __version__

        return {
            "schema": "ingest/1",
            "command": self.command,
            "version": __version__,
            "catalog_hash": self.catalog.content_hash(),
            "inputs": self.inputs,
            "results": {name: quantity.to_dict() for name, quantity in self.results.items()},
            "unknown": dict(self.unknown),
            "tables": {name: [dict(row) for row in rows] for name, rows in self.tables.items()},
            "assumptions": self.assumptions,
            "sources": self.sources,
            "warnings": [*self.warnings, *([self.unmet] if self.unmet else [])],
        }

    def to_frame(self) -> pandas.DataFrame:
        """One row per result: name, value, unit."""
        import pandas

        rows = [(name, item.value, item.unit) for name, item in self.results.items()]
        return pandas.DataFrame(rows, columns=["name", "value", "unit"]).set_index("name")


def _formulas(step: Step) -> Iterator[tuple[str, str]]:
    if step.formula is not None:
        yield step.formula.source, step.formula.where
    for part in step.inputs:
        yield from _formulas(part)
