"""The influence of each input on the requirements: which of them a buyer turns first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from ingest.engine.derivation_graph import is_column
from ingest.engine.messages import Message
from ingest.engine.monte_carlo import Uses
from ingest.engine.ranges import Uncertain, uncertain
from ingest.engine.registry import INPUTS, Step, unit_of
from ingest.errors import UsageError
from ingest.site.plan import Plan
from ingest.site.schema import node_at
from ingest.text import grouped

#: By how much an input without a range is changed, as a share of its value; a count changes by one at least.
CHANGE = 0.1
#: Relative change of a requirement below which it counts as none: the noise of differences between large numbers.
SMALLEST = 1e-6
#: Numbers held at a time.
MOST_NUMBERS = 3_000_000
#: Turns of a column that are summed at a time.
AT_A_TIME = 128
#: Keys of the site file that replace a value of the catalogs, by quantity; the owner goes into the braces.
KEYS = {
    "accelerator_utilization": "jobs.{}.utilization",
    "capacity_growth_factor": "datasets.{}.growth.capacity",
    "concurrent_runs": "jobs.{}.runs",
    "data_copies": "datasets.{}.copies",
    "fill_limit": "storage.fill_limit",
    "growth_period_seconds": "datasets.{}.growth.every",
    "parameters": "jobs.{}.checkpoint.parameters",
    "performance_headroom": "storage.headroom",
    "unstalled_samples_per_second_per_gpu": "jobs.{}.samples_per_second",
}
#: Rates of failure, by their quantity: the key of a site file is a mean time to interrupt.
FAILURES = ("failures_per_node_second", "observed_interrupts")
DRAIN = "drain_time"
#: Defaults of which the key says more than the value: that no other limit holds.
ALONE = frozenset((DRAIN, "drain_fraction"))
#: What a job sets among the further quantities of its checkpoints, as the keys for it choose another formula.
SET = frozenset((DRAIN, *FAILURES))
#: Sections of a site file whose keys need no owner; any other key is one of a job.
OF_THE_SITE = ("clusters", "growth", "indexes", "jobs", "outage", "overlap", "reserve", "serving", "storage", "test")


class Influence(NamedTuple):
    """What one input does to the requirements that bind."""

    steps: tuple[Step, ...]  # of the input: one value, wherever it is used
    moved: Mapping[str, float]  # the relative change of each requirement that it changes, by id, the largest first

    @property
    def weight(self) -> float:
        """The sum of the changes; no requirement counts more than twice its value."""
        return sum(min(change, 1.0) for change in self.moved.values())


class SiteInput(NamedTuple):
    """An input of a site that may turn out otherwise: one value, wherever it is used.

    Attributes:
        name: the key of the site file that sets it; its quantity and whose it is where no key does.
        steps: all that have the value.
        keys: every key that sets it; empty where none does.
        low, high: its range; None where it has none.
    """

    name: str
    steps: tuple[Step, ...]
    keys: tuple[str, ...]
    low: float | None = None
    high: float | None = None

    @property
    def owner(self) -> str:
        """The job or the data set that it belongs to, the first of several; empty where it belongs to none."""
        several = self.keys[0].split(".")[1] if self.keys else self.name.rpartition(": ")[0].partition(",")[0]
        return self.steps[0].owner or several

    @property
    def uncertain(self) -> Uncertain:
        """The input as one with a range.

        Raises:
            ValueError: it has none.
        """
        found = uncertain(self.steps[0].name, self.steps[0].source)
        if found is None:
            raise ValueError(f"{self.name} has no range")
        return found

    @property
    def value(self) -> float:
        """Its value today."""
        return float(self.steps[0].value)


def site_inputs(plan: Plan) -> list[SiteInput]:
    """The inputs behind the requirements that a key of the site file sets, or that have a range.

    A value that several jobs take from one source is one input; so is a key, whatever quantities it sets.
    """
    alike: dict[tuple[Any, ...], list[Step]] = {}
    for step in plan.used:
        item = step.source
        if item is not None and isinstance(step.value, (int, float)):
            user = item.origin == "user" and bool(item.where)
            key = (item.where,) if user else (step.name, step.value, item.low, item.high, item.source, item.where)
            alike.setdefault(key, []).append(step)
    found = []
    for steps in alike.values():
        first, known = steps[0], uncertain(steps[0].name, steps[0].source)
        keys = tuple(dict.fromkeys(key for step in steps for key in _keys_of(step, plan)))
        if keys or known is not None:
            # What several jobs take from one source belongs to those that rest on it.
            resting = () if keys else steps if any(step.owner for step in steps) else plan.tree.above(steps)
            owners = sorted({step.owner for step in resting} & ({*plan.site.section("jobs")} | {first.owner}) - {""})
            if not keys and first.name in SET:
                having = [owner for owner in owners if "checkpoint" in plan.site.section("jobs").get(owner, {})]
                keys = tuple(f"jobs.{owner}.checkpoint.set.{first.name}" for owner in having)
            name = called(keys, plan) if keys else ": ".join(filter(None, (", ".join(owners), first.name)))
            found.append(SiteInput(name, tuple(steps), keys, *((known.low, known.high) if known is not None else ())))
    return sorted(found, key=lambda one: one.name)


def called(keys: Iterable[str], plan: Plan) -> str:
    """Keys by one name that says what all of them are; an asterisk is every entry of a section.

    Keys that differ in their owner alone are `jobs.{climate, cosmology}.warm_up`.
    """
    parts = ([*key.split(".", 2), "", ""][:3] for key in keys)
    owners = grouped(((section, rest), owner) for section, owner, rest in parts)
    names = []
    for (section, rest), found in owners.items():
        every = len(found) > 1 and {*found} == {*plan.site.section(section)}
        middle = "*" if every else found[0] if len(found) == 1 else f"{{{', '.join(sorted(found))}}}"
        names.append(".".join(filter(None, (section, middle, rest))))
    return ", ".join(names)


def _keys_of(step: Step, plan: Plan) -> Iterator[str]:
    """The keys of the site file that set a step to a number of its unit."""
    item = step.source
    assert item is not None
    if item.origin == "user":
        paths = [item.where] if item.where else []
    else:
        ways = item.note.supply if isinstance(item.note, Message) else ()
        path = (KEYS.get(step.name, "") if item.origin == "default" or item.low is not None else "") or (
            ways[0].in_site_file if ways and step.name not in ALONE else ""
        )
        jobs = plan.site.section("jobs")
        # A key chooses another formula for a job that does not take the value that several share.
        resting = {step.owner} if step.owner else {one.owner for one in plan.tree.above([step])}
        owners = [name for name, job in jobs.items() if name in resting and (step.owner or path.partition(".")[0] in job)]
        path = path.replace("datasets.*", "datasets.{}")
        if "{}" in path or path.partition(".")[0] in OF_THE_SITE:
            paths = [path.format(step.owner)] if step.owner or "{}" not in path else []
        else:
            paths = [f"jobs.{owner}.{path}" for owner in owners if path and owner in jobs]
    for path in paths:
        *_, last = parts = path.split(".")
        try:
            sets = node_at(parts, path).get("x-quantity") or (last if last == step.name else "")
        except UsageError:
            continue
        known = item.origin == "user" or sets == step.name or path == KEYS.get(step.name, "").format(step.owner)
        if sets and known and unit_of(sets) == unit_of(step.name):
            yield path


def influences(plan: Plan, inputs: Iterable[Sequence[Step]]) -> list[Influence]:
    """The influence of inputs, the largest first: each at the end of its range that moves a requirement further, or changed by
    a tenth. The steps of an input all have one value; a column is none.
    """
    tree, given = TurnedTree(plan), [tuple(steps) for steps in inputs]
    size = max(1, MOST_NUMBERS // max(len(tree.shared), 1))
    with numpy.errstate(all="ignore"):
        parts = (given[start : start + size] for start in range(0, len(given), size))
        found = [Influence(steps, moved) for part in parts for steps, moved in zip(part, tree.moved(part), strict=True)]
    # Inputs of equal influence keep their order.
    return sorted((one for one in found if one.moved), key=lambda one: -one.weight)


class Entries:
    """A column as formulas take it, in many turns of inputs: its sum and its largest entry in each, computed once.

    Args:
        values: the entries.
        changed: the turns, the rows and the values of the entries that a turn changes.
        turns: how many there are; none where no turn changes the column: one number holds for all.
    """

    ndim = 1

    def __init__(self, values: Any, changed: Sequence[Any] = (), turns: int = 0) -> None:
        self.values, self.changed, self.turns = values, changed, turns
        self._known: dict[Callable[..., Any], Any] = {}

    def sum(self) -> Any:
        """The sum."""
        return self._each(numpy.sum)

    def max(self) -> Any:
        """The largest entry."""
        return self._each(numpy.max)

    def _each(self, reduced: Callable[..., Any]) -> Any:
        if reduced in self._known:
            return self._known[reduced]
        found = self._known[reduced] = reduced(self.values, axis=-1)
        if not self.turns:
            return found
        found = self._known[reduced] = numpy.full(self.turns, found)
        turns, rows, values = self.changed
        changing, places = numpy.unique(turns, return_inverse=True)
        for start in range(0, len(changing), AT_A_TIME):
            own = changing[start : start + AT_A_TIME]
            table = numpy.tile(self.values, (len(own), 1))
            here = (places >= start) & (places < start + AT_A_TIME)
            table[places[here] - start, rows[here]] = values[here]
            found[own] = reduced(table, axis=-1)
        return found


class Turned(NamedTuple):
    """The steps that belong to single jobs, where inputs change them."""

    inputs: Any  # the input of each
    positions: Any  # the step
    values: Any  # its values, with the input at both ends


class TurnedTree:
    """The requirements of a plan where inputs are turned one at a time, each to two values.

    What belongs to single jobs is computed where an input changes it; what rests on columns, all jobs share: it is computed for
    every turn. Either way, one call of a formula serves all steps and turns.

    Attributes:
        shared: the positions of the columns and of what rests on them, in order.
        lines: the requirements that bind.
    """

    def __init__(self, plan: Plan) -> None:
        self.tree = tree = plan.tree
        columns = [place for place, step in enumerate(tree.order) if is_column(step) and step.inputs]
        self.columns = {place: Entries(numpy.array(tree.order[place].value, float)) for place in columns}
        shared = tree.resting_on(columns)
        self.shared = numpy.flatnonzero(shared).tolist()
        self._own = Uses(tree, numpy.flatnonzero(tree.computed[tree.users] & ~shared[tree.users]))
        self._entries = Uses(tree, numpy.flatnonzero(numpy.isin(tree.users, columns)))
        self.lines = {one.id: tree.places[plan.steps[one.id]] for one in plan.requirements if one.priority != "information"}

    def moved(self, inputs: Sequence[Sequence[Step]]) -> list[dict[str, float]]:
        """The relative change of each requirement that an input changes, the largest first, for each input."""
        steps = [self.tree.placed(step for step in own if step in self.tree.places) for own in inputs]
        turned = self._turned(
            numpy.repeat(numpy.arange(len(steps)), [len(own) for own in steps]),
            numpy.concatenate([numpy.empty(0, numpy.int64), *steps]),
            numpy.array([[*_others(own[0]), *[float(own[0].value)] * 2][:2] for own in inputs], float),
        )
        found: list[dict[str, float]] = [{} for _ in inputs]
        for name, after in self._lines(turned, 2 * len(inputs)).items():
            before = float(self.tree.order[self.lines[name]].value)
            changes = (
                numpy.where(after < numpy.inf, abs(after - before) / before, 0.0) if before > 0 else numpy.zeros(len(after))
            )
            most = changes.reshape(-1, 2).max(axis=1)
            for place in numpy.flatnonzero(most > SMALLEST).tolist():
                found[place][name] = float(most[place])
        return [dict(sorted(most.items(), key=lambda item: -item[1])) for most in found]

    def _turned(self, inputs: Any, positions: Any, ends: Any) -> Turned:
        """The steps that are not shared, where inputs change them; infinite where no number holds one.

        An input has a number, the positions of its steps, and two values, its ends.
        """
        size = len(self.tree.order)
        given = inputs * size + positions
        # What is computed from the steps of inputs and is not shared, one level after the other.
        levels = [given]
        while len(levels[-1]):
            inputs, positions = numpy.divmod(levels[-1], size)
            used, pairs = self._own.of(positions)
            levels.append(_distinct(inputs[used] * size + self.tree.users[pairs]))
        keys = _distinct(numpy.concatenate(levels))
        inputs, positions = numpy.divmod(keys, size)
        result = Turned(inputs, positions, numpy.empty((len(keys), 2)))
        own = numpy.searchsorted(keys, given)
        result.values[own] = ends[inputs[own]]
        further = numpy.delete(numpy.arange(len(keys)), own)
        for function, alike in self.tree.alike(positions[further]):
            here = further[alike]
            arguments = []
            for part in self.tree.inputs_of(positions[here]).T:
                wanted = inputs[here] * size + part
                at = numpy.searchsorted(keys, wanted).clip(max=len(keys) - 1)
                changes, typical = (keys[at] == wanted)[:, None], self.tree.numbers[part][:, None]
                arguments.append(numpy.where(changes, result.values[at], typical))
            result.values[here] = function(*arguments)
        return result

    def _lines(self, turned: Turned, turns: int) -> dict[str, Any]:
        """The requirements that any turn changes, in each of them: two turns of each input, one after the other."""
        tree = self.tree
        values: dict[int, Any] = {}
        inputs = {place: tree.inputs_of(numpy.array([place]))[0].tolist() for place in self.shared}
        used = {part for place in self.shared if place not in self.columns for part in inputs[place]} | {*self.lines.values()}
        here = numpy.isin(turned.positions, list(used))
        for place in _distinct(turned.positions[here]).tolist():
            own = turned.positions == place
            values[place] = numpy.full(turns, tree.numbers[place])
            values[place].reshape(-1, 2)[turned.inputs[own]] = turned.values[own]
        which, pairs = self._entries.of(turned.positions)
        for place in self.shared:
            if place in self.columns:
                own = tree.users[pairs] == place
                rows, changing = pairs[own] - tree.firsts[place], which[own]
                changed = [(2 * turned.inputs[changing] + end, rows, turned.values[changing, end]) for end in (0, 1)]
                changed += [
                    (at, numpy.full(len(at), row), values[part][at])
                    for row, part in enumerate(inputs[place])
                    if part in values and len(at := numpy.flatnonzero(values[part] != tree.numbers[part]))
                ]
                if sum(len(one) for one, *_ in changed):
                    entries = [numpy.concatenate(part) for part in zip(*changed, strict=True)]
                    values[place] = Entries(self.columns[place].values, entries, turns)
            elif not values.keys().isdisjoint(inputs[place]):
                given = [
                    values[part] if part in values else self.columns.get(part, tree.order[part].value) for part in inputs[place]
                ]
                formula = tree.formulas[place]
                assert formula is not None
                values[place] = numpy.broadcast_to(formula.function(*given), turns)
        return {name: values[place] for name, place in self.lines.items() if place in values}


def _distinct(keys: Any) -> Any:
    """Keys in order, each once; NumPy's own takes many times longer for numbers that are so regular."""
    keys = numpy.sort(keys)
    return keys[numpy.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def _others(step: Step) -> list[float]:
    """The values to try instead: the ends of a range, else a tenth more and a tenth less, within what the input may be."""
    given, limits = float(step.value), INPUTS.get(step.name)
    known = uncertain(step.name, step.source)
    if known is not None:
        return [known.low, known.high]
    if limits is not None and limits.whole:
        least = max(1.0, float(round(given * CHANGE)))
        around = [given - least, given + least]
    else:
        around = [given * (1 - CHANGE), given * (1 + CHANGE)]
    low, high = (0.0, float("inf")) if limits is None else (limits.low, limits.high)
    return [value for value in around if low < value <= high]
