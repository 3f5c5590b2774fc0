"""The answer of `ingest plan`: requirement lines, the rows they come from, and how each came about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ingest.catalog.store import Catalog
from ingest.engine.ranges import Tree
from ingest.engine.result import envelope, places_of, scenarios, sources_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import UsageError, nearest
from ingest.formula import LEAVES, Step, unit_of
from ingest.messages import Message, in_site_words
from ingest.question import Question
from ingest.requirement import Requirement
from ingest.rules import Finding
from ingest.site.derivation import Teller, owners
from ingest.site.expecting import Expectation
from ingest.site.montecarlo import Effect, effects
from ingest.site.reading import Site
from ingest.site.requirements import FLOORS, THREADS, THREADS_ASSUMED
from ingest.site.sheet import Row, is_column, steps_below
from ingest.site.tables import tables_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Plan:
    """What a site needs of its storage.

    Attributes:
        site: the file, checked.
        catalog: where entries and sources come from.
        years: planned for after the start.
        known: the site's own quantities; every total follows from it, its columns are steps over the rows.
        rows: rows by table: `jobs`, `clusters`, `datasets`, `holdings` (each data set in each year), `years`.
        steps: how each requirement's value came about, by id: one tree down to what was given.
        given: what each given step was given as, by the identity of the step.
        requirements: the requirement lines.
        absent: why a line is not there, by id, with the keys that supply it as data.
        warnings: plain words.
        chosen: what `set` said of this scenario, by path.
        tree: all steps in order, to run them again with other values.
        conditions: the quantities that the conditions of each requirement name, by id.
        expectations: the assertions of the file, held against the requirements.
        questions: what was asked of `bw` for each job, by its name.
        kept: holds every step alive: `given` knows them by identity, which a step that is gone would pass on to a new one.
        findings: the rules held against the site; where an outcome turns, the site is to be planned again.
    """

    site: Site
    catalog: Catalog
    years: int
    known: Quantities
    rows: Mapping[str, list[Row]]
    steps: Mapping[str, Step]
    given: Mapping[int, Input]
    requirements: tuple[Requirement, ...]
    absent: Mapping[str, str]
    warnings: tuple[str, ...]
    chosen: Mapping[str, Any]
    tree: Tree
    expectations: tuple[Expectation, ...]
    conditions: Mapping[str, tuple[Step, ...]]
    questions: Mapping[str, Question]
    kept: tuple[Quantities, ...] = ()
    findings: tuple[Finding, ...] = ()

    command = "plan"

    @cached_property
    def results(self) -> dict[str, Quantity]:
        """The requirements' values by id."""
        return {one.id: Quantity(one.value, one.unit, one.low, one.high) for one in self.requirements}

    @cached_property
    def missing(self) -> dict[str, str]:
        """Why a line is not there, by id, in the words of a site file."""
        return {name: in_site_words(why) for name, why in self.absent.items()}

    def requirement(self, name: str) -> Requirement:
        """A requirement by id, or by the name of its quantity.

        Raises:
            UsageError: there is none, with the nearest one.
        """
        for one in self.requirements:
            if name in (one.id, one.metric, one.metric.removeprefix("site_")):
                return one
        known = [one.id for one in self.requirements] + [one.metric.removeprefix("site_") for one in self.requirements]
        missing = f": {self.missing[name]}" if name in self.missing else nearest(name, known)
        raise UsageError(f"there is no requirement '{name}' here, expected one of {', '.join(known)}{missing}")

    @property
    def floors(self) -> dict[str, Step]:
        """The rate that each line stays below which is too small to be asked for, by id."""
        return {name: step for name, steps in self.conditions.items() for step in steps if step.name in FLOORS.values()}

    @property
    def unmet(self) -> str:
        """The assertions that are not met, in one line; empty where all are."""
        return "; ".join(one.message for one in self.expectations if not one.met)

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Jobs, data sets, capacity by year, checkpoints, metadata, placement: rows in base units."""
        return tables_of(self)

    @cached_property
    def used(self) -> list[Step]:
        """The given quantities that the requirements rest on."""
        told: set[int] = set()
        # The I/O of every job: which of them sets the conditions may change where no I/O does.
        asked = [step for row in self.rows["jobs"] if (step := row.step("read_request_bytes")) is not None]
        tested = [*asked, *(step for steps in self.conditions.values() for step in steps)]
        below = [part for step in [*self.steps.values(), *tested] for part in steps_below(step, told)]
        return [part for part in below if part.formula is None]

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """What went in, and where from; what the site file says stands under its path."""
        found: dict[str, Any] = {}
        for step in self.used:
            item = self.given.get(id(step))
            if item is not None:
                spread = {"low": item.low, "high": item.high} if item.low is not None else {}
                found[self._called(step, item)] = {
                    "value": item.value, **spread, "unit": unit_of(step.name), "from": item.origin,
                }  # fmt: skip
        return dict(sorted(found.items()))

    def _called(self, step: Step, item: Input) -> str:
        """A given quantity by its path in the file; else by its name and the rows that it belongs to."""
        if item.origin == "user" and item.where:
            return item.where
        owner = self._owners.get(id(step))
        return f"{owner}: {step.name}" if owner else step.name

    @cached_property
    def _owners(self) -> dict[int, str]:
        return owners(self.rows)

    def below(self, name: str) -> list[str]:
        """The inputs that a requirement rests on, as `inputs` calls them."""
        given = ((step, self.given.get(id(step))) for step in steps_below(self.steps[name]) if step.formula is None)
        return sorted({self._called(step, item) for step, item in given if item is not None})

    @property
    def input_hash(self) -> str:
        """SHA-256 of what the site file says, `--set` included, whatever its layout and comments."""
        written = json.dumps(self.site.written, sort_keys=True, ensure_ascii=True, default=str)
        return f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"

    @cached_property
    def assumptions(self) -> list[dict[str, Any]]:
        """What nobody measured and the user did not say, each once; `why` names the key of the site file that sets it."""
        return [{**one, "why": in_site_words(one["why"])} for one in self.assumed]

    @cached_property
    def assumed(self) -> list[dict[str, Any]]:
        """The assumptions, whose `why` holds the keys of the site file as data."""
        found: dict[tuple[str, float], dict[str, Any]] = {}
        for step in self.used:
            item = self.given.get(id(step))
            if item is None or item.origin == "user":
                continue
            parts = [f"{part.what}: {part.where}" for part in item.parts if part.grade == "assumed"]
            if item.origin == "default" or item.grade == "assumed" or parts:
                why = item.note or item.where or "; ".join(parts) or self._recalled(item)
                entry = {"name": step.name, "value": item.value, "unit": unit_of(step.name), "grade": "assumed", "why": why}
                found.setdefault((step.name, item.value), entry)
        if any(THREADS_ASSUMED in one.assumptions for one in self.requirements):
            why = Message(f"{THREADS} reading threads on each client", supply=("threads",))
            entry = {"name": THREADS_ASSUMED, "value": THREADS, "unit": "1", "grade": "assumed", "why": why}
            found[THREADS_ASSUMED, THREADS] = entry
        return list(found.values())

    def _recalled(self, item: Input) -> str:
        """Why a catalog value without a note of its own is an assumption."""
        return self.catalog.source(item.source).title if item.source else "usual practice, to be confirmed"

    @cached_property
    def sources(self) -> list[dict[str, str]]:
        """The sources of values and formulas, with the places within them."""
        return sources_of(places_of(self._citations()), self.catalog.source)

    def _citations(self) -> Iterator[tuple[str, str]]:
        told: set[int] = set()
        for step in (part for one in self.steps.values() for part in steps_below(one, told)):
            item = self.given.get(id(step))
            if step.formula is not None and not is_column(step):
                yield step.formula.source, step.formula.where
            if item is not None:
                yield item.source, item.where
                yield from ((part.source, part.where) for part in item.parts)
            if item is None and step.formula is None and LEAVES[step.name].source:
                yield LEAVES[step.name].source, ""

    def sensitivity(self, name: str) -> list[Effect]:
        """What moves a requirement most, one quantity at a time between its low and its high end.

        Raises:
            UsageError: no such requirement.
        """
        return effects(self.tree, self.requirement(name).id, self._owners)

    def explain(self, name: str) -> list[str]:
        """The whole derivation of a requirement: every row of every column.

        Raises:
            UsageError: no such requirement.
        """
        step = self.steps[self.requirement(name).id]
        everything = max(map(len, self.rows.values()))
        return Teller(self.given, self._owners, self.catalog, everything, everything).lines(step)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON."""
        body = {
            "site": self.site.name,
            "input_hash": self.input_hash,
            "years": self.years,
            "inputs": self.inputs,
            "written": dict(_flattened(self.site.written)),
            "requirements": [{**one.to_dict(), "inputs": self.below(one.id)} for one in self.requirements],
            "missing": dict(self.missing),
            "expectations": [one._asdict() for one in self.expectations],
            "tables": self.tables,
        }
        return envelope(
            self.command,
            body,
            catalog=self.catalog,
            assumptions=self.assumptions,
            sources=self.sources,
            warnings=self.warnings,
        )

    def to_frame(self) -> pandas.DataFrame:
        """One row per requirement: id, priority, metric, value, low, high, unit."""
        import pandas

        names = ["id", "priority", "metric", "value", "low", "high", "unit"]
        rows = [[getattr(one, name) for name in names] for one in self.requirements]
        return pandas.DataFrame(rows, columns=names).set_index("id")


def _flattened(written: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What the site file says, by path."""
    if isinstance(written, Mapping):
        for key, value in written.items():
            yield from _flattened(value, f"{path}.{key}" if path else key)
    elif isinstance(written, list):
        for number, value in enumerate(written):
            yield from _flattened(value, f"{path}.{number}")
    else:
        yield path, written


def _said(chosen: Mapping[str, Any]) -> str:
    """A scenario in words."""
    return ", ".join(f"{path} = {value}" for path, value in chosen.items())


@dataclass(frozen=True)
class Plans:
    """Several plans, where several scenarios were asked for."""

    plans: tuple[Plan, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all scenarios, each once."""
        return tuple(dict.fromkeys(line for one in self.plans for line in one.warnings))

    @property
    def results(self) -> list[dict[str, Quantity]]:
        """The requirements' values of each scenario."""
        return [one.results for one in self.plans]

    @property
    def unmet(self) -> str:
        """The assertions that are not met in any scenario, in one line; empty where all are."""
        return "; ".join(f"{_said(one.chosen)}: {one.unmet}" for one in self.plans if one.unmet)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of several scenarios."""
        return scenarios({**one.to_dict(), "set": dict(one.chosen)} for one in self.plans)

    def to_frame(self) -> pandas.DataFrame:
        """One row per scenario: what was set, then each requirement by id."""
        import pandas

        return pandas.DataFrame([{**one.chosen, **{i: q.value for i, q in one.results.items()}} for one in self.plans])
