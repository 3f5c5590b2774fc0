"""What every answer beside `bw` is: results with their derivations, assumptions and sources, in one form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ingest.catalog.store import Catalog
from ingest.engine.registry import Step, unit_of
from ingest.engine.result import assumption, assumptions_of, envelope, inputs_of, places_of, sources_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity

if TYPE_CHECKING:
    import pandas


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
    known: Quantities
    results: Mapping[str, Quantity]
    unknown: Mapping[str, str]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    warnings: tuple[str, ...]
    catalog: Catalog
    unmet: str = ""
    cited: tuple[tuple[str, str, str], ...] = ()

    def __post_init__(self) -> None:
        self.known.freeze()

    @property
    def given(self) -> Mapping[str, Input]:
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

    def known_for(self, name: str) -> Mapping[str, Input]:  # noqa: ARG002  an estimate answers by name
        """What a quantity is computed from."""
        return self.given

    @cached_property
    def used(self) -> Mapping[str, Input]:
        """The given quantities that the results rest on."""
        names: dict[str, None] = {}
        for name in self.results:
            names.update(dict.fromkeys(step.name for step in self.derivation(name).leaves()))
        return {name: self.given[name] for name in names if name in self.given}

    @property
    def assumptions(self) -> list[dict[str, Any]]:
        """What nobody measured: values graded `assumed`, and defaults that a user may contest."""
        layout = self.chosen.get("layout", {}).get("value", "")
        return [*assumptions_of(self.used), *(assumption("layout", layout, "", why) for *_, why in self.cited if why)]

    @property
    def sources(self) -> list[dict[str, str]]:
        """The sources of values, formulas and tables, with the places."""
        return sources_of(places_of(self._citations()), self.catalog.source)

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
        return {**self.chosen, **inputs_of(self.used)}

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        tables = {name: [dict(row) for row in rows] for name, rows in self.tables.items()}
        return envelope(
            self.command,
            {"unknown": dict(self.unknown), "tables": tables},
            catalog=self.catalog,
            inputs=self.inputs,
            results=self.results,
            assumptions=self.assumptions,
            sources=self.sources,
            warnings=[*self.warnings, *([self.unmet] if self.unmet else [])],
        )

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
