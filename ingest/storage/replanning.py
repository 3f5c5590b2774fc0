"""A site planned again with other values of its inputs, to confirm what its recorded formulas say of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from ingest.engine.registry import Step, steps_below
from ingest.requirement import PRIORITIES, Requirement
from ingest.site.influence import SiteInput
from ingest.site.plan import Plan
from ingest.site.plan_file import planned_again
from ingest.sizing.job import Job
from ingest.storage.data_path import INSTALLED, ROUNDING, LayerVerdict
from ingest.storage.fit_result import LINE_FAILS, LINE_HOLDS, LINE_OPEN, Fit, Flip
from ingest.storage.need import REQUIRABLE, Need, need_in, need_of
from ingest.units import display

#: What judges a system as it is chosen, for any need.
Judge: TypeAlias = Callable[[Need], Fit]
#: What the recorded formulas say that each line requires with a value of an input, by id.
Required: TypeAlias = Callable[[SiteInput, float], Mapping[str, float]]
#: Relative distance from a flip at which the site is planned again.
NEAR = 0.005
#: Relative difference of two values of a line that are one.
SAME = 1e-9
READ_NEED, NODE_READ_NEED = "read_bandwidth_needed", "node_read_bandwidth_needed"
#: Conditions of the need that those of the largest read line are: clients, and bytes of a request.
CONDITIONS = ("nodes", "io_bytes")
#: What the lines set beside the needs.
OF_LINES = frozenset((*CONDITIONS, "requests_in_flight_per_node", "fill_limit"))


class Suspect(NamedTuple):
    """A flip behind which planning may choose otherwise than today, so that it has to be planned again."""

    one: SiteInput
    flip: Flip
    before: float
    behind: float


def sides_of(kept: float, turned: float, whole: bool) -> tuple[float, float]:
    """Values just before a flip and just behind it."""
    if whole:
        return kept, turned
    return (turned * (1 - NEAR), turned * (1 + NEAR)) if turned > kept else (turned * (1 + NEAR), turned * (1 - NEAR))


def beyond(flip: Flip) -> str:
    """From where on an input is not turned, as a flip is not confirmed there."""
    side = "above" if flip.flips_at > flip.value else "below"
    return (
        f"{side} {display(flip.flips_at, flip.unit, binary=False, digits=3)} a new plan shows no such flip, or none can be made"
    )


class Again:
    """A site planned again with another value of an input, and what its systems are there."""

    def __init__(self, plan: Plan, need: Need, judges: Mapping[str, Judge], priority: str) -> None:
        self.plan, self.need, self.judges, self.priority = plan, need, judges, priority
        self.needs = {one.requirement.id: need_in(one.requirement) for one in plan.lines}
        self.planned: dict[tuple[str, float], tuple[Need, dict[str, Requirement]] | None] = {}

    def unlike(self, suspects: Sequence[Suspect], required: Required) -> list[Suspect]:
        """The flips that planning again does not show.

        On each side of an input the farthest flips come first: a line that has the value of its formulas there has it up to
        there, so that its nearer flips need no plan of their own.
        """
        found, alike = list[Suspect](), dict[tuple[str, bool], set[str]]()
        machine = dict[tuple[str, bool], Need]()
        for row in sorted(suspects, key=lambda row: -row.flip.distance):
            side = row.flip.input, row.flip.flips_at > row.flip.value
            known, line = alike.setdefault(side, set()), row.flip.requirement
            if line not in known and (again := self.at(row.one, row.behind)) is not None:
                far = required(row.one, row.behind)
                known |= {name for name, item in far.items() if name in again[1] and same(again[1][name].value, item)}
                machine[side] = again[0]
            if (line not in known or not self._carried_alike(row, machine[side], required)) and not self.confirms(row):
                found.append(row)
        return found

    def _carried_alike(self, row: Suspect, need: Need, required: Required) -> bool:
        """Whether a system has the verdict of a flip on both sides of it on the nodes that planning chooses, too.

        Other nodes may have a layer that decides and that those of today lack, such as a NIC that is known.
        """
        line = row.flip.requirement
        return _of_machine(need) == _of_machine(self.need) or all(
            self._judged(row.flip, need, required(row.one, value)[line]) == expected
            for value, expected in ((row.behind, row.flip.then), (row.before, row.flip.verdict))
        )

    def at(self, one: SiteInput, value: float) -> tuple[Need, dict[str, Requirement]] | None:
        """The need and the lines with another value of an input; None where the site is refused, or no key sets the input."""
        key = one.name, value
        if key not in self.planned:
            self.planned[key] = self._need(dict.fromkeys(one.keys, value)) if one.keys else None
        return self.planned[key]

    def confirms(self, one: Suspect) -> bool:
        """Whether a system has the verdict of a flip on both sides of it."""
        return all(
            self.verdict(one, value) == expected
            for value, expected in ((one.behind, one.flip.then), (one.before, one.flip.verdict))
        )

    def verdict(self, one: Suspect, value: float) -> str:
        """The verdict on the line of a flip as if it were alone; empty where the site is refused, or no key sets the input."""
        found = self.at(one.one, value)
        if found is None:
            return ""
        need, lines = found
        line = lines.get(one.flip.requirement)
        if line is None:
            return LINE_HOLDS
        return self._judged(one.flip, need, line.value)

    def _judged(self, flip: Flip, need: Need, value: float) -> str:
        """The verdict on the line of a flip with a value as if it were alone."""
        of = self.needs[flip.requirement]
        given = {**need.given, of: need.given.get(of, self.need.given[of])._replace(value=value)}
        if NODE_READ_NEED in given and READ_NEED in given and given[NODE_READ_NEED].value > given[READ_NEED].value:
            given[NODE_READ_NEED] = given[READ_NEED]
        system = self.judges[flip.system](replace(need, given=given))
        return verdict_of([(layer, not least > most * (1 + ROUNDING)) for layer, least, most in judged_layers(system, of)])

    def _need(self, settings: Mapping[str, float]) -> tuple[Need, dict[str, Requirement]] | None:
        again = planned_again(self.plan, settings)
        if again is None:
            return None
        counted = PRIORITIES[: PRIORITIES.index(self.priority) + 1]
        lines = {one.id: one for one in again.requirements if one.priority in counted}
        return need_of(again, {}, Job(), self.plan.catalog, self.priority), lines


def _of_machine(need: Need) -> dict[str, float]:
    """What the nodes and their links are, which no line sets."""
    return {name: item.value for name, item in need.given.items() if name not in REQUIRABLE and name not in OF_LINES}


def same(one: float, other: float) -> bool:
    """Whether two values of a line are one."""
    return math.isclose(one, other, rel_tol=SAME)


def judged_layers(system: Fit, of: str) -> Iterator[tuple[LayerVerdict, float, float]]:
    """The layers of a system that carry a need and know their ceiling, with both."""
    known = system.answer.known
    for one in system.layers:
        if one.ceiling and not one.unsure and one.layer != INSTALLED:
            ends = known.step(one.layer.need), known.step(one.layer.ceiling)
            if not waits(ends) and known.step(of) in steps_below(ends[:1]):
                yield one, float(ends[0].value), float(ends[1].value)


def verdict_of(layers: Sequence[tuple[LayerVerdict, bool]]) -> str:
    """The verdict on a line: what is above a rate that was only demonstrated, or below a bound, is not known."""
    if any(not holds and not layer.at_least for layer, holds in layers):
        return LINE_FAILS
    return LINE_OPEN if any(layer.at_most or not holds for layer, holds in layers) else LINE_HOLDS


def waits(ends: Iterable[Step]) -> bool:
    """Whether a need or a ceiling rests on the outstanding reads of a client."""
    return any(step.name == "requests_in_flight_per_node" for step in steps_below(ends))
