"""Flips: the value of each input of a site at which a chosen system no longer meets a requirement line, or begins to.

A system is held as it is chosen today: so many units, or the tier of a service, whose capacity follows the need. The lines
are computed again from the recorded formulas for many values of one input at a time, and compared with the ceilings of the
system; between the last value with the verdict of today and the first with another one, bisection finds the flip. Nothing here
assumes that a line rises or falls throughout, or that it has no jumps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy

from ingest.catalog.records import WITHOUT_GPUS, Node
from ingest.engine.derivation_graph import is_column
from ingest.engine.monte_carlo import draw
from ingest.engine.ranges import Tree
from ingest.engine.registry import FORMULAS, INPUTS, Step, unit_of
from ingest.requirement import PRIORITIES
from ingest.site.influence import DRAIN, FAILURES, SiteInput, site_inputs
from ingest.site.load_conditions import LoadPart, mean_request, mix_of
from ingest.site.plan import Plan
from ingest.site.plan_file import planned_again
from ingest.storage.fit_result import LEAST_MOVED, LINE_FAILS, Fit, Flip, Flips, InputEffect, Observation, Offer, Steady
from ingest.storage.need import NODES, READS, TO_BUY, Need, io_size_of, link_of, most_demanding, need_in
from ingest.storage.replanning import (
    CONDITIONS,
    READ_NEED,
    WRITE_NEED,
    Again,
    Carried,
    Judge,
    Offered,
    Required,
    Suspect,
    same,
    sides_of,
    verdict_of,
)
from ingest.units import display

#: Systems of which flips are shown where none is named.
MOST_SYSTEMS = 5
#: How many times the value of today, and what part of it, is searched, within the limits of the input.
FAR = 100.0
#: Values on each side of that of today; between neighbours the verdict is taken to change once.
POINTS = 48
#: Why an input is not turned where setting its key to the value of today already moves a line.
OTHER_FORMULAS = "setting it moves a line even to the value of today"
#: Relative distance of the last value with one verdict from the first with the other.
CLOSE = 1e-6
#: Inputs that decide more than the recorded formulas hold, such as which run of a benchmark is the evidence: they are planned
#: again instead.
STRUCTURAL = frozenset((
    "nodes", "cluster_nodes", "significant_digits", "session_turns", "prompt_tokens", "generated_tokens", "sequences_per_gpu",
    "sequence_length",
))  # fmt: skip
#: Parts into which a bracket is split at a time.
PARTS = 16
HELD = "required_usable_bytes"
#: Needs whose lines follow no choice of clients, nodes or limits.
STORED = frozenset((HELD, "files_needed"))
#: Draws behind the share of an input in the variance, and their seed.
DRAWS, SEED = 32_768, 0
#: What observes a quantity, and the command; the braces take the job or the data set.
A_JOB = ("an hour of {}", "ingest observe --pid PID --path DATA --window 1h -o {}.json")
A_SAMPLE = ("a sample of the data of {}", "ingest measure PATH --samples -o {}.json")
A_SCAN = ("a scan of the data of {}", "ingest measure PATH -o {}.json")
A_PATH = ("a fio run on the storage in use", "ingest measure-storage PATH -o path.json")
A_HISTORY = ("the accounting records of the cluster", "ingest site --from HISTORY -o usage.yaml")
OBSERVED: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("unstalled_samples_per_second_per_gpu", "model_flops_utilization", "request_bytes", "readers_per_gpu",
                     "staging_bandwidth_per_gpu", "staging_fixed_seconds", DRAIN, "restart_seconds"), A_JOB),
    **dict.fromkeys(("sample_bytes", "data_sample_bytes", "data_bytes_per_token"), A_SAMPLE),
    "data_bytes": A_SCAN,
    "client_latency": A_PATH,
    **dict.fromkeys(FAILURES, A_HISTORY),
}  # fmt: skip


def flips_of(
    plan: Plan, systems: Sequence[Fit], judges: Sequence[Judge], need: Need, priority: str, offers: Sequence[Offer] = ()
) -> Flips:
    """The flips of systems over the inputs of a site, the effects of its uncertain inputs, and what to observe first.

    Systems are given as their units are counted, with what judges each with these units fixed; `offers` are judged instead, by
    the values that they state for any line. Lines below the priority do not count.
    """
    lines, refused, unmoved = _Lines(plan, priority, every=bool(offers)), dict[str, str](), list[str]()
    inputs = list[SiteInput]()
    for one in site_inputs(plan):
        if lines.reached(one):
            why = _refusal(one, lines)
            if why:
                refused[one.name] = why
            else:
                inputs.append(one)
    # Inputs of one quantity stand together, as what chooses other formulas is mostly one quantity.
    checked = _checked(plan, sorted(inputs, key=lambda one: one.steps[0].name), lines, refused)
    inputs = sorted(checked, key=lambda one: one.name)
    offered = [Offered(one, lines.names) for one in offers]
    carried = [*(Carried(judge(need), lines.needs) for judge in judges), *offered]
    judged = {one.entry.id: judge for one, judge in zip(systems, judges, strict=True)}
    again = Again(plan, need, judged, priority, offers)
    with numpy.errstate(all="ignore"):
        found = [row for one in inputs for row in _turned(one, lines, carried)]
        suspects = [row for row in found if isinstance(row, Suspect)]
        unlike = again.unlike(suspects, lines.required_at)
        for flip in sorted((row.flip for row in unlike), key=lambda flip: -flip.distance):
            side, end = "above" if flip.flips_at > flip.value else "below", display(flip.flips_at, flip.unit, False, 3)
            refused[flip.input] = f"{side} {end} a new plan shows no such flip, or none can be made"
        ranged = [one for one in inputs if one.low is not None]
        effects = tuple(_effects(ranged, lines, systems, unmoved))
        drawn = {step: draw(one.uncertain, DRAWS, SEED) for one in ranged if offers for step in one.steps}
        required = Required(lines.all_of(lines.tree.again(drawn, lines.tree.above(drawn)), DRAWS if drawn else 1), (), (), ())
        withstood = tuple(one.withstands(lines.names, required) for one in offered if drawn and one.decides.any())
    flips = [row for row in found if isinstance(row, Flip)]
    flips += [row.flip for row in suspects if row not in unlike]
    # What fails a line today changes its verdict first where the line holds.
    failing = {one.system for one in flips if one.verdict == LINE_FAILS}
    flips.sort(key=lambda one: (not one.inside_range, (one.then == LINE_FAILS) == (one.system in failing), one.distance))
    steady = tuple(row for row in found if isinstance(row, Steady))
    observation = _observation(inputs, flips, effects)
    return Flips(tuple(flips), steady, refused, effects, observation, tuple(offers), tuple(unmoved), withstood)


def _checked(plan: Plan, inputs: Sequence[SiteInput], lines: _Lines, refused: dict[str, str]) -> list[SiteInput]:
    """The inputs whose key, set to the value of today, leaves the lines as they are when the site is planned again.

    Where it does not, setting the key chooses other formulas than those recorded. All keys are set at once, and their halves
    only where a line differs, as planning takes longer than all else.
    """
    settings = {key: one.value for one in inputs for key in one.keys}
    if not settings or lines.unmoved_by(plan, settings):
        return [*inputs]
    if len(inputs) == 1:
        refused[inputs[0].name] = OTHER_FORMULAS
        return []
    half = len(inputs) // 2
    return [one for part in (inputs[:half], inputs[half:]) for one in _checked(plan, part, lines, refused)]


def _effects(inputs: Sequence[SiteInput], lines: _Lines, systems: Sequence[Fit], unmoved: list[str]) -> Iterator[InputEffect]:
    """The total effect of each uncertain input on how much of each system is bought, by Jansen's estimator.

    A system that hardly any draw moves joins the `unmoved`.
    """
    draws = [[draw(one.uncertain, DRAWS, SEED + turn) for one in inputs] for turn in (0, 1)]
    steps = [step for one in inputs for step in one.steps]
    base = {step: drawn for one, drawn in zip(inputs, draws[0], strict=True) for step in one.steps}
    base = lines.tree.again(base, lines.tree.above(steps))
    above = [lines.tree.above(one.steps) for one in inputs]
    again = [
        lines.all_of(lines.tree.again({**base, **dict.fromkeys(one.steps, other)}, over), DRAWS)
        for one, other, over in zip(inputs, draws[1], above, strict=True)
    ]
    ends = [
        lines.all_of(lines.tree.again(dict.fromkeys(one.steps, numpy.array([one.low, one.high])), over), 2)
        for one, over in zip(inputs, above, strict=True)
    ]
    for system in systems:
        step = system.answer.known.find("tier_capacity" if system.entry.tiers else "units_required")
        if step is None:  # a client without a known rate is counted by nobody
            continue
        amount = _Amount(system, step, lines)
        drawn, found = amount.of(lines.all_of(base, DRAWS)), list[InputEffect]()
        if (drawn != numpy.median(drawn)).mean() < LEAST_MOVED:
            unmoved.append(system.entry.id)
            continue
        for one, other, pair in zip(inputs, map(amount.of, again), ends, strict=True):
            # Both halves have the whole variance: what is rare in one is not held against the other.
            share = float(((drawn - other) ** 2).mean() / 2 / numpy.var([drawn, other]))
            found.append(InputEffect(system.entry.id, one.name, min(share, 1.0), *map(float, amount.of(pair))))
        yield from sorted((one for one in found if one.share), key=lambda one: -one.share)


class _Amount:
    """How much of a system the lines take: its units, or the capacity of a service."""

    def __init__(self, system: Fit, step: Step, lines: _Lines) -> None:
        known, self.needs, self.step = system.answer.known, lines.needs, step
        leaves = ((name, known.find(name)) for name in dict.fromkeys(lines.needs))
        self.leaves = {name: step for name, step in leaves if step is not None and step.formula is None}
        tree = Tree({"": self.step})
        self.tree, self.above = tree, tree.above(self.leaves.values())

    def of(self, required: Any) -> Any:
        """For each draw of the lines."""
        given = {step: required[numpy.array(self.needs) == name].max(axis=0) for name, step in self.leaves.items()}
        return numpy.zeros(required.shape[1:]) + self.tree.again(given, self.above).get(self.step, self.step.value)


def _observation(inputs: Sequence[SiteInput], flips: Sequence[Flip], effects: Sequence[InputEffect]) -> Observation | None:
    """The observation that narrows most of the undecided verdicts; of several the one whose inputs have the most effect."""
    open_ = [one for one in flips if one.inside_range]
    shares: dict[str, float] = {}
    for effect in effects:
        shares[effect.input] = shares.get(effect.input, 0) + effect.share
    ways: dict[tuple[str, str], list[str]] = {}
    for one in inputs:
        first = one.steps[0]
        if first.name in OBSERVED:
            what, command = OBSERVED[first.name]
            way = what.format(one.owner or "a job"), command.format(one.owner or "job")
            ways.setdefault(way, []).append(one.name)
    found = [
        Observation(*way, tuple(names), len({one[:2] for one in open_ if one.input in names}), len({one[:2] for one in open_}))
        for way, names in ways.items()
    ]
    return max(
        (one for one in found if one.narrows),
        key=lambda one: (one.narrows, sum(shares.get(name, 0) for name in one.inputs)),
        default=None,
    )


class _Lines:
    """The requirement lines that set a need, or every line, as functions of the inputs of the site."""

    def __init__(self, plan: Plan, priority: str, every: bool = False) -> None:
        counted = PRIORITIES[: PRIORITIES.index(priority) + 1]
        able = [one for one in plan.lines if (every or need_in(one.requirement)) and one.priority in counted]
        buys = not every and any(one.requirement.metric == TO_BUY for one in able)
        # Where capacity to buy is a line, the data held set no need.
        self.lines = [one for one in able if not buys or need_in(one.requirement) != HELD or one.requirement.metric == TO_BUY]
        self.names = [one.requirement.id for one in self.lines]
        self.needs = [need_in(one.requirement) for one in self.lines]
        self.digits = plan.known.value("significant_digits")
        #: Jobs whose model decides what a sample of another size is worth.
        self.modelled = {row.name for row in plan.rows["jobs"] if row.words.get("model")}
        #: The rules by which a site is refused: a value and its limit.
        refusals = (one for one in plan.findings if one.rule.kind == "refusal" and isinstance(one.value, Step))
        self.rules: list[tuple[Any, Any, Any]] = [(one.rule, one.value, one.limit) for one in refusals]
        #: The rules by which planning chooses: a value, or a column whose largest entry counts, and a limit. The lines hold the
        #: reporting threshold themselves.
        self.choices: list[tuple[Any, Any, Any]] = [
            (one.rule, one.value, one.limit)
            for one in plan.findings
            if one.is_checked and one.rule.kind == "choice" and one.rule.id != "C08"
        ]
        rows = [row for row in plan.rows["clusters"] if row.words["node"] != WITHOUT_GPUS]
        #: Nodes, reads and links of each cluster by whose nodes a system may be judged.
        self.clusters = {
            row.name: (float(row.known.value(NODES)), row.step(READS), link_of(plan.catalog.get(Node, row.words["node"])))
            for row in rows
        }
        #: The lines of which the largest has the clients and the requests of the need, by number; those of what writes.
        self.reading, self.writing = (
            [place for place, one in enumerate(self.lines) if self.needs[place] == need and one.requirement.conditions.clients]
            for need in (READ_NEED, WRITE_NEED)
        )
        #: Rates of several clusters, none of which needs more today than its nodes draw: once one does, that limits the line.
        unlimited = {place for place, one in enumerate(self.lines) if one.most is None or one.most.name == "taking_bandwidth"}
        rates = {place for place in unlimited if self.lines[place].requirement.unit == "B/s"}
        self.shared = rates if len(plan.rows["clusters"]) > 1 else set[int]()
        self.sizes = {place: io_size_of(self.lines[place].requirement.conditions) or math.nan for place in self.reading}
        reads = (read[:2] for place in self.reading for read in self.lines[place].reads)
        ends = [
            *map(_ends, self.lines),
            *(rule[1:] for rule in (*self.rules, *self.choices)),
            *reads,
            [one[1] for one in self.clusters.values()],
        ]
        steps = (step for pair in ends for step in pair if isinstance(step, Step))
        self.tree = Tree({str(place): step for place, step in enumerate(steps)})
        # What a simulation found from its inputs follows no formula.
        self.simulated = {
            part for step in self.tree.order if step.formula is None and step.inputs for part in Tree({"": step}).order
        }
        self.today = self._required(numpy.array([[float(one.step.value)] for one in self.lines]), {}, slice(None))

    def unmoved_by(self, plan: Plan, settings: Mapping[str, float]) -> bool:
        """Whether the site, planned again with other settings, has these lines with the values and conditions of today."""
        again = planned_again(plan, settings)
        if again is None:
            return False
        found = {one.id: one for one in again.requirements}
        pairs = [(one.requirement, found.get(one.requirement.id)) for one in self.lines]
        return all(
            other is not None
            and same(one.value, other.value)
            and (one.priority, one.conditions.clients) == (other.priority, other.conditions.clients)
            for one, other in pairs
        )

    def reached(self, one: SiteInput) -> list[int]:
        """The lines that rest on an input, by number."""
        above = {*one.steps, *self.tree.above(one.steps)}
        sized = not above.isdisjoint({read[1] for place in self.reading for read in self.lines[place].reads})
        return [
            place
            for place, line in enumerate(self.lines)
            if not above.isdisjoint(_ends(line)) or (sized and self.needs[place] == READ_NEED)
        ]

    def at(
        self, one: SiteInput, values: Any, above: Sequence[Step], moving: Sequence[int], digits: float | None = None
    ) -> Required:
        """What each line requires where an input has many values; rounded as in the plan, or to so many digits."""
        known: dict[Step, Any] = self.tree.again(dict.fromkeys(one.steps, values), above)
        found = numpy.tile(self.today, (1, len(values)))
        computed = numpy.empty((len(moving), len(values)))
        for row, place in enumerate(moving):
            step = self.lines[place].step
            computed[row] = known.get(step, step.value)
        found[moving] = self._required(computed, known, moving, digits)
        largest, writes = (numpy.array(of)[found[of].argmax(axis=0)] if of else [] for of in (self.reading, self.writing))
        clients, writers = (
            numpy.array([float(self.lines[place].requirement.conditions.clients) for place in of]) for of in (largest, writes)
        )
        means = {place: self._mean_requests(place, known, len(values)) for place in {*largest}}
        return Required(found, clients, numpy.array([means[place][column] for column, place in enumerate(largest)]), writers)

    def required_at(self, one: SiteInput, value: float, digits: float | None = None) -> dict[str, float]:
        """What each line requires with a value of an input, by id, and the conditions of the largest read line, by name."""
        found = self.at(one, numpy.array([value]), self.tree.above(one.steps), self.reached(one), digits)
        conditions = {name: float(item[0]) for name, item in zip(CONDITIONS, found[1:], strict=True) if len(item)}
        return {**dict(zip(self.names, found.lines[:, 0].tolist(), strict=True)), **conditions}

    def _mean_requests(self, place: int, known: Mapping[Step, Any], count: int) -> list[float]:
        """The mean size of the reads of a line, as its mix states it, for each of so many values of an input."""
        line = self.lines[place]
        if all(step not in known for read in line.reads for step in read[:2]):
            return [self.sizes[place]] * count
        reads = [(*(_entries(known, end, count)[0].tolist() for end in read[:2]), [read[2]] * count) for read in line.reads]
        return [_mean_request(column) for column in zip(*(zip(*read, strict=True) for read in reads), strict=True)]

    def all_of(self, known: Mapping[Step, Any], count: int) -> Any:
        """What each line requires, a row for each, for so many values of the steps that are known."""
        computed = [numpy.broadcast_to(known.get(one.step, one.step.value), count) for one in self.lines]
        return self._required(numpy.array(computed, float), known, slice(None))

    def refused(self, one: SiteInput, values: Any, above: Sequence[Step]) -> Any:
        """Whether the site would be refused, for each value of an input."""
        known, found = self.tree.again(dict.fromkeys(one.steps, values), above), numpy.zeros(len(values), bool)
        for rule, *ends in self.rules:
            value, limit = (known.get(end, end.value) if isinstance(end, Step) else end for end in ends)
            found |= rule.compares(value, limit)
        return found

    def chosen_otherwise(self, one: SiteInput, values: Any, above: Sequence[Step], moving: Sequence[int]) -> Any:
        """Whether planning may choose otherwise than today, for each value of an input: for what is stored, and for rates.

        It chooses by the rules of the plan; for rates by what the nodes of a cluster draw, too, by the cluster whose nodes read
        most, and by whether the line that reads most has most requests.
        """
        tried = numpy.array([one.value, *values])
        known = self.tree.again(dict.fromkeys(one.steps, tried), above)
        required, clients, *_ = self.at(one, tried, above, moving)
        # Whether a line of fewer bytes has more requests than the one that reads most, for each value.
        reads = required[self.reading]
        sizes = numpy.array([self._mean_requests(place, known, reads.shape[1]) for place in self.reading])
        requests = numpy.nan_to_num(reads / sizes.reshape(reads.shape))
        largest = requests[reads.argmax(axis=0), range(reads.shape[1])] if len(reads) else 0.0
        apart = (requests > largest).any(axis=0)
        stored, rates = numpy.zeros(len(tried), bool), apart != apart[0]
        for rule, *ends in self.choices:
            value, limit = (_entries(known, end, len(tried)) for end in ends)
            deciding = rule.sign == "largest"  # the entry with the conditions of a line, whose value is that of its formula
            outcome = value.argmax(axis=0) if deciding else rule.compares(value[0], limit[0])
            rates |= outcome != outcome[0]
            stored |= ~numpy.array(deciding) & (outcome != outcome[0])
        for place in moving:
            if (most := self.lines[place].most) is not None and most.inputs:
                least = _entries(known, most.inputs[0], len(tried)).min(axis=0)
                more = _entries(known, self.lines[place].step, len(tried))[0] > least
                rates |= more != more[0]
        if len(self.clusters) < 2:
            return numpy.array([stored, rates])[:, 1:]
        reads = {
            name: _entries(known, 0.0 if step is None else step, len(tried))[0] for name, (_, step, _) in self.clusters.items()
        }
        judged = [
            most_demanding(
                {name: (nodes, float(reads[name][at]), link) for name, (nodes, _, link) in self.clusters.items()},
                float(clients[at]) if len(clients) else 0,
            )
            for at in range(len(tried))
        ]
        return numpy.array([stored, rates | (numpy.array(judged) != judged[0])])[:, 1:]

    def _required(self, computed: Any, known: Mapping[Step, Any], moving: Any, digits: float | None = None) -> Any:
        """The values of lines, rounded and limited; nothing where a line is for information only."""
        rounded = FORMULAS["rounded_requirement"].function(computed, digits or self.digits)
        found = numpy.where(computed > 0, rounded, 0.0)
        for row, line in enumerate(numpy.array(self.lines, object)[moving]):
            if line.most is not None:
                found[row] = numpy.minimum(found[row], known.get(line.most, line.most.value))
            if line.below is not None:
                found[row] = numpy.where(computed[row] < known.get(line.below, line.below.value), 0.0, found[row])
        return found


@lru_cache(maxsize=4096)
def _mean_request(reads: tuple[tuple[float, float, str], ...]) -> float:
    """The mean size of reads of so many bytes/s, of so many bytes each, in a pattern; the same are asked for several times."""
    finite = all(math.isfinite(rate) and math.isfinite(size) for rate, size, _ in reads)
    mix = mix_of([LoadPart("", *read) for read in reads]) if finite else ()
    return mean_request(mix) if mix else math.nan


def _entries(known: Mapping[Step, Any], end: Any, count: int) -> Any:
    """A value, or the entries of a column, a row each, for so many values of an input."""
    steps = end.inputs if isinstance(end, Step) and is_column(end) else (end,)
    return numpy.array(
        [numpy.broadcast_to(known.get(one, one.value) if isinstance(one, Step) else one, count) for one in steps]
    )


def _ends(line: Any) -> tuple[Any, ...]:
    """What decides the value of a line: itself, the most that it may be, and what it has to reach."""
    return line.step, line.most, line.below


def _refusal(one: SiteInput, lines: _Lines) -> str:
    """Why an input is not turned; empty where it is."""
    names = {step.name for step in one.steps}
    of_model = any(step.name == "sample_bytes" and step.owner in lines.modelled for step in one.steps)
    if of_model or not STRUCTURAL.isdisjoint(names):
        return "it decides more than its formulas"
    if not lines.simulated.isdisjoint(one.steps):
        return "a simulation follows from it"
    if not one.value and _limits(one)[1] == float("inf"):
        return "it is 0 today"
    return ""


def _limits(one: SiteInput) -> tuple[float, float, bool]:
    """The smallest and the largest value that an input may have, and whether it is whole."""
    found = [INPUTS.get(step.name) or FORMULAS[step.name] for step in one.steps]
    whole = any(item.whole for item in found)
    return max(item.low + (whole and item.above) for item in found), min(item.high for item in found), whole


def _values(one: SiteInput) -> Any:
    """The values of an input that are tried, in order; that of today among them."""
    low, high, whole = _limits(one)
    low, high = max(low, one.value / FAR), min(high, max(one.value * FAR, one.value or high))
    spaced = numpy.geomspace if one.value and low > 0 else numpy.linspace
    ends = [end for end in (one.low, one.high) if end is not None]
    values = numpy.concatenate([spaced(low, one.value, POINTS + 1), spaced(one.value, high, POINTS + 1), ends])
    values[[0, POINTS, POINTS + 1, 2 * POINTS + 1]] = low, one.value, one.value, high
    return numpy.unique(numpy.round(values) if whole else values)


def _allowed(values: Any, today: float, refused: Callable[[Any], Any], whole: bool) -> Any:
    """The values around that of today up to the first on each side at which the site is refused, and the last before it."""
    kept = [today]
    for side in (values[values > today], values[values < today][::-1]):
        wrong = numpy.flatnonzero(refused(side))
        kept += side[: wrong[0] if len(wrong) else None].tolist()
        if len(wrong):
            last, first = (side[wrong[0] - 1] if wrong[0] else today), side[wrong[0]]
            while not _close(last, first, whole):
                parts = _split(last, first, whole)
                at = int(numpy.flatnonzero(refused(parts))[0])
                last, first = parts[at - 1], parts[at]
            kept.append(float(last))
    return numpy.unique(kept)


def _close(kept: float, turned: float, whole: bool) -> bool:
    """Whether nothing is left between two values."""
    apart = abs(turned - kept)
    return apart <= 1 if whole else apart <= CLOSE * max(abs(turned), abs(kept))


def _split(kept: float, turned: float, whole: bool) -> Any:
    """Values from one to the other, both included."""
    spaced = numpy.geomspace if kept * turned > 0 else numpy.linspace
    values = spaced(kept, turned, PARTS + 1)
    values[[0, -1]] = kept, turned
    return numpy.round(values) if whole else values


class _Bracket(NamedTuple):
    """Two values between which the verdict of a system on a line turns: the one with the verdict of today first."""

    system: Carried
    line: int
    kept: float
    turned: float


def _turned(one: SiteInput, lines: _Lines, held: Sequence[Carried]) -> Iterator[Flip | Steady | Suspect]:
    """The nearest flip of each system and line above and below the value of today; the ends where there is none."""
    above, moving, whole = lines.tree.above(one.steps), lines.reached(one), _limits(one)[2]
    values = _allowed(_values(one), one.value, partial(lines.refused, one, above=above), whole)
    today = int(numpy.flatnonzero(values == one.value)[0])
    required = lines.at(one, values, above, moving)
    brackets = list[_Bracket]()
    # Where planning may choose otherwise, the recorded formulas say nothing.
    alike = [
        values[max(at[at < today], default=-1) + 1 : min(at[at > today], default=len(values))]
        for at in map(numpy.flatnonzero, lines.chosen_otherwise(one, values, above, moving))
    ]
    for system in held:
        holds = system.carried(required)
        for place in numpy.flatnonzero(system.moved(required) & system.decides).tolist():
            other = numpy.flatnonzero(holds[place] != holds[place, today])
            near = [*other[other > today][:1], *other[other < today][-1:]]
            brackets += [_Bracket(system, place, *map(float, values[[at - 1 if at > today else at + 1, at]])) for at in near]
            if not near:
                tried = alike[lines.needs[place] not in STORED]
                if len(tried) > 1:
                    yield Steady(system.name, lines.names[place], one.name, float(tried[0]), float(tried[-1]))
    while any(not _close(item.kept, item.turned, whole) for item in brackets):
        parts = [_split(item.kept, item.turned, whole) for item in brackets]
        required = lines.at(one, numpy.concatenate(parts), above, moving)
        verdicts = {system: system.carried(required) for system in {item.system for item in brackets}}
        for at, (item, values) in enumerate(zip(brackets, parts, strict=True)):
            holds = verdicts[item.system][item.line, at * (PARTS + 1) : (at + 1) * (PARTS + 1)]
            first = int(numpy.flatnonzero(holds != holds[0])[0])
            brackets[at] = item._replace(kept=float(values[first - 1]), turned=float(values[first]))
    if brackets:
        required = lines.at(one, numpy.array([end for item in brackets for end in item[2:]]), above, moving)
        sides = [sides_of(item.kept, item.turned, whole) for item in brackets]
        suspect = lines.chosen_otherwise(one, numpy.array([behind for _, behind in sides]), above, moving)
    for at, item in enumerate(brackets):
        rows = [(layer, *holds[item.line, 2 * at : 2 * at + 2].tolist()) for layer, holds in item.system.verdicts(required)]
        before, after = (verdict_of([(row[0], row[end]) for row in rows]) for end in (1, 2))
        layer = next(layer for layer, kept, turned in rows if kept != turned)
        name = item.system.name, lines.names[item.line], layer.layer.name, one.name, unit_of(one.steps[0].name)
        flip = Flip(*name, one.value, item.turned, whole, before, after, one.low, one.high)
        if suspect[int(lines.needs[item.line] not in STORED)][at] or item.line in lines.shared:
            yield Suspect(one, flip, *sides[at])
        else:
            yield flip
