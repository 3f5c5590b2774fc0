"""What chosen systems and offers carry of each line, and a site planned again to confirm what its recorded formulas say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy

from ingest.engine.ranges import Tree
from ingest.engine.registry import Step, steps_below
from ingest.requirement import PRIORITIES, Requirement
from ingest.site.influence import SiteInput
from ingest.site.plan import Plan
from ingest.site.plan_file import planned_again
from ingest.sizing.job import Job
from ingest.storage.data_path import INSTALLED, ROUNDING, Layer, LayerVerdict
from ingest.storage.fit_result import LINE_FAILS, LINE_HOLDS, LINE_OPEN, Fit, Flip, Offer, Withstood
from ingest.storage.need import REQUIRABLE, Need, need_in, need_of

#: What judges a system as it is chosen, for any need.
Judge: TypeAlias = Callable[[Need], Fit]
#: What the recorded formulas say that each line requires with a value of an input, by id, and the conditions of the need.
RequiredAt: TypeAlias = Callable[..., Mapping[str, float]]
#: Digits of a value that is not rounded: two that differ are one where they are rounded as requirements are.
EXACT = 15
#: Relative distance from a flip at which the site is planned again.
NEAR = 0.005
#: Relative difference of two values of a line that are one.
SAME = 1e-9
READ_NEED, NODE_READ_NEED, WRITE_NEED = "read_bandwidth_needed", "node_read_bandwidth_needed", "write_bandwidth_needed"
#: Conditions of the need that those of the largest read line are: clients, and bytes of a request; clients of the largest write
#: line.
CONDITIONS = ("nodes", "io_bytes", "writing_nodes")
#: What decides the verdict on a line of an offer.
AS_OFFERED = LayerVerdict(Layer("offered value", "", ""), 0.0, None, None)
#: What the lines set beside the needs.
OF_LINES = frozenset((*CONDITIONS, "requests_in_flight_per_node", "fill_limit"))


class Required(NamedTuple):
    """What the lines require for many values of an input.

    Attributes:
        lines: a row for each line, a column for each value.
        clients, sizes: of the largest read line for each value: its clients, and the mean size of their requests.
        writers: the clients of the largest write line for each value.
    """

    lines: Any
    clients: Any
    sizes: Any
    writers: Any


class Carried:
    """What a system carries of each line."""

    def __init__(self, system: Fit, needs: Sequence[str]) -> None:
        known, self.name, self.needs = system.answer.known, system.entry.id, numpy.array(needs)
        layers = [*layers_of(system)]
        self.tree = Tree({f"{place} {end}": step for place, (_, *pair) in enumerate(layers) for end, step in enumerate(pair)})
        leaves = ((name, known.find(name)) for name in (*dict.fromkeys(needs), *CONDITIONS))
        self.leaves = {name: step for name, step in leaves if step is not None and step.formula is None}
        self.above = self.tree.above(self.leaves.values())
        resting = {name: {leaf, *self.tree.above([leaf])} for name, leaf in self.leaves.items()}
        #: The layers that carry a line: need, ceiling, and the lines whose needs they carry.
        self.layers = [
            (layer, need, ceiling, numpy.array([need in resting.get(of, ()) for of in needs]))
            for layer, need, ceiling in layers
        ]
        #: The lines that a known ceiling of the system decides.
        self.decides = sum((rows for *_, rows in self.layers), numpy.zeros(len(needs), bool)).astype(bool)

    def moved(self, needed: Required) -> Any:
        """The lines whose verdict may turn among many values of an input: required more of, or needed on other conditions."""
        found = numpy.ptp(needed.lines, axis=1) > 0
        for conditions, need in zip(needed[1:], (READ_NEED, READ_NEED, WRITE_NEED), strict=True):
            if len(conditions) and numpy.ptp(conditions) > 0:
                found |= self.needs == need
        return found

    def verdicts(self, needed: Required) -> Iterator[tuple[LayerVerdict, Any]]:
        """Each layer, and of each line whether the layer carries it."""
        required, *conditions = needed
        shape, needs = required.shape, self.needs
        given = {name: item for name, item in zip(CONDITIONS, conditions, strict=True) if name in self.leaves and len(item)}
        for name in self.leaves.keys() - {*CONDITIONS}:
            own = needs == name
            # Of several lines for one need the largest counts, but each is judged as if it were alone.
            given[name] = numpy.where(own[:, None], required, required[own].max(axis=0))
        if NODE_READ_NEED in given and READ_NEED in given:
            # One node reads no more than all of them.
            given[NODE_READ_NEED] = numpy.minimum(given[NODE_READ_NEED], given[READ_NEED])
        values = self.tree.again({self.leaves[name]: item for name, item in given.items()}, self.above)
        for layer, need, ceiling, rows in self.layers:
            least, most = (numpy.asarray(values.get(step, step.value)) for step in (need, ceiling))
            yield layer, numpy.broadcast_to(~(least > most * (1 + ROUNDING)), shape) | ~rows[:, None]

    def carried(self, required: Required) -> Any:
        """Whether all layers carry each line, a row for each line."""
        return numpy.logical_and.reduce([holds for _, holds in self.verdicts(required)])


class Offered(Carried):
    """What an offer carries of each line: the value that its vendor states, with nothing else to limit it."""

    def __init__(self, offer: Offer, names: Sequence[str]) -> None:
        self.name, self.offered = offer.name, numpy.array([[offer.values.get(name, math.nan)] for name in names])
        self.needs, self.decides = numpy.array([""] * len(names)), ~numpy.isnan(self.offered[:, 0])

    def verdicts(self, needed: Required) -> Iterator[tuple[LayerVerdict, Any]]:
        """Of each line whether the offer meets it."""
        yield AS_OFFERED, meets(self.offered, needed.lines)

    def withstands(self, names: Sequence[str], needed: Required) -> Withstood:
        """In which of many draws the offer meets the lines that its values decide."""
        missed = ~self.carried(needed) & self.decides[:, None]
        falling = sorted(zip(missed.mean(axis=1).tolist(), names, strict=True), key=lambda pair: -pair[0])
        shares = {name: share for share, name in falling if share}
        return Withstood(self.name, float(1 - missed.any(axis=0).mean()), shares)


def meets(offered: Any, required: Any) -> Any:
    """Whether offered values meet required ones."""
    return offered >= required * (1 - SAME)


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


class Again:
    """A site planned again with another value of an input, and what its systems are there."""

    def __init__(
        self, plan: Plan, need: Need, judges: Mapping[str, Judge], priority: str, offers: Sequence[Offer] = ()
    ) -> None:
        self.plan, self.need, self.judges, self.priority = plan, need, judges, priority
        self.offers = {one.name: one.values for one in offers}
        self.needs = {one.requirement.id: need_in(one.requirement) for one in plan.lines}
        self.planned: dict[tuple[str, float], tuple[Need, dict[str, Requirement]] | None] = {}

    def unlike(self, suspects: Sequence[Suspect], required: RequiredAt) -> list[Suspect]:
        """The flips that planning again does not show.

        On each side of an input the farthest flips come first: a line that has the value of its formulas there has it up to
        there, so that its nearer flips need no plan of their own.
        """
        found, alike = list[Suspect](), dict[tuple[str, bool], set[str]]()
        machine = dict[tuple[str, bool], Need]()
        for row in sorted(suspects, key=lambda row: -abs(row.behind - row.flip.value)):
            side = row.flip.input, row.flip.flips_at > row.flip.value
            known, line = alike.setdefault(side, set()), row.flip.requirement
            if line not in known and (again := self.at(row.one, row.behind)) is not None:
                far, given = required(row.one, row.behind, EXACT), again[0].given
                # Another job may set the clients or the requests of the largest line, whose value is that of its formulas.
                if all(name not in given or same(given[name].value, far[name]) for name in CONDITIONS if name in far):
                    known |= {one.id for one in again[1].values() if one.id in far and same(one.computed or 0, far[one.id])}
                machine[side] = again[0]
            # Other nodes that planning chooses may have a layer that decides and that those of today lack, such as a known NIC.
            is_alike = line in known and (
                _of_machine(machine[side]) == _of_machine(self.need)
                or all(
                    self._judged(row.flip, machine[side], required(row.one, value)[line]) == expected
                    for value, expected in ((row.behind, row.flip.then), (row.before, row.flip.verdict))
                )
            )
            if not is_alike and not self.confirms(row):
                found.append(row)
        return found

    def at(self, one: SiteInput, value: float) -> tuple[Need, dict[str, Requirement]] | None:
        """The need and the lines with another value of an input; None where the site is refused, or no key sets the input."""
        key = one.name, value
        if key not in self.planned:
            again = planned_again(self.plan, dict.fromkeys(one.keys, value)) if one.keys else None
            self.planned[key] = None
            if again is not None:
                counted = PRIORITIES[: PRIORITIES.index(self.priority) + 1]
                lines = {one.id: one for one in again.requirements if one.priority in counted}
                self.planned[key] = need_of(again, {}, Job(), self.plan.catalog, self.priority), lines
        return self.planned[key]

    def confirms(self, one: Suspect) -> bool:
        """Whether a system has the verdict of a flip on both sides of it, judged as if its line were alone."""
        for value, expected in ((one.behind, one.flip.then), (one.before, one.flip.verdict)):
            if (found := self.at(one.one, value)) is None:
                return False
            line = found[1].get(one.flip.requirement)
            if expected != (LINE_HOLDS if line is None else self._judged(one.flip, found[0], line.value)):
                return False
        return True

    def _judged(self, flip: Flip, need: Need, value: float) -> str:
        """The verdict on the line of a flip with a value as if it were alone."""
        if flip.system in self.offers:
            return LINE_HOLDS if meets(self.offers[flip.system][flip.requirement], value) else LINE_FAILS
        of = self.needs[flip.requirement]
        given = {**need.given, of: need.given.get(of, self.need.given[of])._replace(value=value)}
        if NODE_READ_NEED in given and READ_NEED in given and given[NODE_READ_NEED].value > given[READ_NEED].value:
            given[NODE_READ_NEED] = given[READ_NEED]
        system = self.judges[flip.system](replace(need, given=given))
        of_line = system.answer.known.step(of)
        judged = [
            (layer, not need.value > ceiling.value * (1 + ROUNDING))
            for layer, need, ceiling in layers_of(system)
            if of_line in steps_below([need])
        ]
        return verdict_of(judged)


def _of_machine(need: Need) -> dict[str, float]:
    """What the nodes and their links are, which no line sets."""
    return {name: item.value for name, item in need.given.items() if name not in REQUIRABLE and name not in OF_LINES}


def same(one: float, other: float) -> bool:
    """Whether two values of a line are one."""
    return math.isclose(one, other, rel_tol=SAME)


def layers_of(system: Fit) -> Iterator[tuple[LayerVerdict, Step, Step]]:
    """The layers of a system that know their ceiling, with need and ceiling.

    What the outstanding reads of the lines limit is left out: planning sets them anew for each value.
    """
    known = system.answer.known
    for one in system.layers:
        if one.ceiling and not one.unsure and one.layer != INSTALLED:
            ends = known.step(one.layer.need), known.step(one.layer.ceiling)
            if not waits(ends):
                yield one, *ends


def verdict_of(layers: Sequence[tuple[LayerVerdict, bool]]) -> str:
    """The verdict on a line: what is above a rate that was only demonstrated, or below a bound, is not known."""
    if any(not holds and not layer.at_least for layer, holds in layers):
        return LINE_FAILS
    return LINE_OPEN if any(layer.at_most or not holds for layer, holds in layers) else LINE_HOLDS


def waits(ends: Iterable[Step]) -> bool:
    """Whether a need or a ceiling rests on the outstanding reads of a client."""
    return any(step.name == "requests_in_flight_per_node" for step in steps_below(ends))
