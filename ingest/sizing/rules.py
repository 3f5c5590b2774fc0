"""The table of rules: what is implausible, what is refused, and what a plan chose by comparing two numbers.

Each rule is one row of `rules.json`, from which come the warning, the refusal, the live check of a workbook, and the reason.
Never compare elsewhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.engine.messages import Message, Option, Setting, rule_of
from ingest.engine.registry import Step, is_quantity, solve, unit_of
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.sizing.rule import SIGNS, Rule, Valued
from ingest.units import display, percent

#: Below this share of the storage NIC, reading tokens does not size the storage of a language model.
NEGLIGIBLE_SHARE = 0.01
#: The page cache holds a data set up to this share of a node's memory; processes, pinned buffers and the rest need theirs.
PAGE_CACHE = 0.5
#: The caches of a run fill within this time, in which its GPUs may wait for storage.
WARM_UP_SECONDS = 600.0
#: Model families that see each sample once, unless a job says otherwise: what they have read they do not read again.
ONE_EPOCH = ("llm", "recsys")
#: An epoch shorter than this starts and ends all the time: its first reads and its shuffling count, not the mean rate.
SHORT_EPOCH = 60.0
#: A rate at another precision is worth a warning where it exceeds the rate of the answer this many times.
FASTER = 1.1
#: Read requests per second and node, about what one PCIe 4 NVMe drive serves on the node itself.
MOST_READS = 1_000_000
#: Training runs of language models are published up to this share of the dense peak.
MOST_UTILIZATION = 0.6
#: What a node draws at most through the slowest NIC that storage is attached to, 10 Gb/s Ethernet: less needs no question.
SLOWEST_STORAGE_NIC = 1.125e9
#: A mixed load with less than this share of reads, or of writes, is the other one alone.
SMALLEST_PART = 0.01
#: Requests from this size on are as good as sequential: the read-ahead of a parallel file system asks for no more.
LARGE_REQUEST = 1_048_576
#: Reads of each usable byte per second that flash systems are sold with, 2 GB/s for each TB: three of the catalog reach it.
MOST_DENSE = 0.002
#: Drive writes per day for which mixed-use NVMe drives are usually specified.
MOST_WRITES = 3.0
#: Decode steps that read less of the weights rest on an estimate of the routing.
MOST_READ = 0.99
#: A step of less than so many hand-overs loses more than 5 % of its time to them.
HAND_OVERS = 20.0
#: A job that loses more of its time than this needs a remedy before storage of the size that its checkpoints ask for.
HARDLY_PROGRESSES = 0.5
#: Restarts that take more of the time than this deserve a look at spares, detection and the restore.
MUCH_RESTARTING = 0.1
#: How far a rate may exceed its limit by rounding, and a checkpoint overhead its limit by the approximations.
ROUNDED, APPROXIMATE = 1.000001, 1.005
#: Tests fill a system before they start: a week of filling delays acceptance.
MOST_FILL = 604_800.0
#: A warm-up beyond this share of a run delays the run itself.
LONGEST_WARM_UP = 0.1
#: Times that people read as equal.
NEARLY = 1.01
#: Growth that doubles faster than once a month outgrows all storage within two years: its period or its factor is a slip.
SHORTEST_DOUBLING = 30 * 86_400.0
#: Less than this of homes, logs or data is the number of a capacity without its unit.
SMALLEST_CAPACITY = 1e6
#: Readers of one data set agree about its samples where their figures differ by less than this.
ALIKE = 1.05
#: A rounding error of shares such as 1/3 is no overlap.
ROUNDING = 1e-9
#: Rank of a line that comes from no rule: most tell what the evidence is.
OWN_RANK = 10
#: A result that is set this many times above or below what its formula gives contradicts the other inputs.
MOST_DEPARTURE = 10
#: A warning gets a check where its quantity lies within this many times of the limit: only there a small change turns it.
NEAR = 10


#: What a rounding error does not reach, and what one part of a mixed load reaches beside a smallest one.
BEYOND_ROUNDING, LARGEST_PART = 1 + ROUNDING, 1 - SMALLEST_PART


def _rule(name: str, row: Mapping[str, Any]) -> Rule:
    """A row of `rules.json`: `if` is `quantity sign limit`, with a factor before the limit, where words alone do not decide.

    Numbers may be constants of this module. Why it matters, and where a threshold comes from, is for `ingest explain`.

    >>> _rule("W0", {"rank": 9, "if": "nodes > ROUNDED * cluster_nodes"})[1:5]
    (9, 'nodes', '>', 'cluster_nodes')
    """

    def read(written: str) -> float | str:
        return globals()[written] if written.isupper() else written if written[0].isalpha() else float(written)

    parts = row.get("if", "").split()
    quantity, sign, *factor, limit = parts or ("", "", "0")
    fields = {field: row[field] for field in Rule._fields if field in row}
    fields |= {"factor": read(factor[0])} if factor else {}
    words = {of: (word,) if isinstance(word, str) else (*word,) for of, word in row.get("words", {}).items()}
    ways = tuple(Option.of(way) if "=" in way else way for way in row.get("supply", ()))
    return Rule(name, quantity=quantity, sign=sign, limit=read(limit), **{**fields, "words": words, "supply": ways})


#: The rows of the table by id, under the headings of its parts: refusals, warnings, choices.
WRITTEN: Mapping[str, Mapping[str, Any]] = {
    name: row
    for rows in json.loads((Path(__file__).parent / "rules.json").read_text(encoding="utf-8")).values()
    for name, row in rows.items()
}
ROWS = tuple(_rule(name, row) for name, row in WRITTEN.items())
#: Ids of rules that were removed: no other rule gets one.
RETIRED = ("W21", "E03", "C10", "W18", "W47", "W49")
#: The rules by id.
RULES: Mapping[str, Rule] = {rule.id: rule for rule in ROWS}


class Finding(NamedTuple):
    """A rule applied to a job, a site or a requirement line."""

    rule: Rule
    owner: str  # the job, cluster or requirement line; empty for a single job
    value: Valued | None = None  # what was compared: a result or a step; None where the words decided
    limit: Valued | float = 0.0  # what it was compared with, without the factor
    true: bool = True  # whether the comparison is true, so that the rule applies
    facts: Mapping[str, Any] = MappingProxyType({})  # further values that the texts of the rule name

    @property
    def what(self) -> str:
        """The name of its check.

        >>> finding("C01", {"samples_per_file": 4.0}, owner="vision").what
        'vision: how samples are read, by their number in a file'
        """
        return f"{self.owner}: {self.rule.what.format(**self.facts)}"

    @property
    def is_checked(self) -> bool:
        """Whether a workbook tests it: a comparison of cells, and for a warning one that is near its limit."""
        if not self.rule.what or not isinstance(self.value, Step):
            return False
        if self.rule.kind != "warning":
            return True
        value, limit = float(self.value.value), _number(self.limit) * self.rule.factor
        return limit / NEAR <= value <= limit * NEAR

    def condition(self, place: Callable[[Step], str]) -> str:
        """The condition, as a spreadsheet writes it, under which the outcome stays; `place` gives the cell of a step."""
        assert isinstance(self.value, Step)
        other = place(self.limit) if isinstance(self.limit, Step) else f"{_number(self.limit) * self.rule.factor!r}"
        if isinstance(self.limit, Step) and self.rule.factor != 1:
            other += f" * {self.rule.factor!r}"
        sign = SIGNS[self.rule.sign]
        return (sign.written if self.true else sign.contrary).format(place(self.value), other)

    def message(self, subject: Option | None = None, **facts: Any) -> Message:
        """The line; the subject is the option that it begins with, where the row names none, and facts are further values."""
        rule = self.rule
        named = {**self.facts, **_numbers(self), **facts}
        first = subject if subject is not None or not rule.subject else Option(rule.subject)
        text = rule.text.format(**named)
        ways = (way if isinstance(way, str) else Option(way.path, way.value.format(**named)) for way in rule.supply)
        return Message(*(() if first is None else (first,)), text, supply=tuple(ways), rule=rule.id)


def finding(
    rule: str,  # its id
    # the quantities by name, or how to look one up; what is None or missing is unknown
    quantities: Mapping[str, Valued | float | None] | Callable[[str], Valued | float | None] = MappingProxyType({}),
    words: Mapping[str, str] = MappingProxyType({}),  # facts that are not quantities: the mode, the basis
    owner: str = "",  # the job, cluster or requirement line
    **facts: Any,  # values that the texts of the rule name besides the numbers
) -> Finding | None:
    """Apply a rule to a case; None if the rule does not apply: other words, or an unknown quantity."""
    row = RULES[rule]
    if row.words and any(words.get(name) not in allowed for name, allowed in row.words.items()):
        return None
    if not row.quantity:
        return Finding(row, owner, facts=facts)
    found = quantities if callable(quantities) else quantities.get
    value, limit = found(row.quantity), found(row.limit) if isinstance(row.limit, str) else row.limit
    if limit is None or (value is None and not row.unknown):
        return None
    if value is None:
        return Finding(row, owner, None, limit, facts=facts)
    item = value if not isinstance(value, (int, float)) else Input(float(value))
    end = getattr(value, "high", None) if row.at_high_end else None
    compared = end or item.value
    return Finding(row, owner, item, limit, row.compares(compared, _number(limit)), facts)


def applying(found: Iterable[Finding | None]) -> list[Finding]:
    """Return the findings that apply, by rank."""
    return sorted((one for one in found if one is not None and one.true), key=lambda one: one.rule.rank)


def messages(found: Iterable[Finding | None]) -> list[Message]:
    """The lines of the findings that apply, by rank."""
    return [one.message() for one in applying(found)]


def ranked(lines: Iterable[str]) -> list[str]:
    """Return warnings by the rank of their rule, the most severe first; lines of no rule as what says that a rate misleads.

    >>> late = finding("W51", words={"reserve": "none"}).message()
    >>> [rule_of(line) for line in ranked([late, finding("W01", words={"basis": "peak"}).message()])]
    ['W01', 'W51']
    """
    return sorted(lines, key=lambda line: RULES[rule_of(line)].rank if rule_of(line) in RULES else OWN_RANK)


def told(rule: str, subject: Option | None = None, **facts: Any) -> Message:
    """The line of a rule that the words of a case decide alone."""
    return Finding(RULES[rule], "", facts=facts).message(subject)


def refusal(found: Finding | None) -> str:
    """Return the line of a refusal that applies; empty otherwise."""
    return found.message() if found is not None and found.true else ""


def unused(option: Option) -> Message:
    """The warning that no result depends on an option."""
    return told("W13", option)


def without_unit(capacities: Mapping[str, Input | None]) -> Iterator[Message]:
    """The warnings about capacities, by the option that states them, that are so small that their unit must be missing."""
    for option, item in capacities.items():
        stated = Quantity(item.value, "B") if item is not None and item.value else None
        for one in applying([finding("W42", {"stated_capacity": stated})]):
            yield Message(Option(option), ": ", one.message())


def on_settings(answer: Answer, settings: Iterable[str]) -> Iterator[Message]:
    """The warnings about quantities that the user set and no result rests on, or that contradict the others."""
    yield from (unused(Option(f"set.{name}")) for name in settings if name not in answer.used)
    yield from contradictions(answer.known, settings)


def contradictions(known: Quantities, settings: Iterable[str]) -> Iterator[Message]:
    """The warnings about results that the user sets far from what the other inputs give."""
    for name in settings:
        given, other = known.given.get(name), known.otherwise(name)
        if given is None or other is None or not (given.value and other.value):
            continue
        found, computed = (display(item.value, unit_of(name), binary=False) for item in (given, other))
        results = {"stated_result": given.value, "computed_result": other.value}
        departure = float(solve("departure", results)) if (given.value > 0) == (other.value > 0) else math.inf
        for one in applying([finding("W28", {"departure": departure}, found=found, computed=computed)]):
            yield one.message(Setting(name))


def _number(item: Valued | float) -> float:
    return float(item) if isinstance(item, (int, float)) else float(item.value)


def _numbers(one: Finding) -> dict[str, Any]:
    """What a text may name of the two sides of a comparison; limits without their tolerance."""
    if one.value is None or not isinstance(one.value.value, (int, float)):
        return {}
    value, limit = float(one.value.value), _number(one.limit)
    quantity = getattr(one.value, "name", one.rule.quantity)
    unit = one.value.unit if hasattr(one.value, "unit") else unit_of(quantity) if is_quantity(quantity) else ""
    shown, at_most = ((display(item, unit, binary=False) if unit and math.isfinite(item) else "") for item in (value, limit))
    return {"value": value, "limit": limit, "shown": shown, "at_most": at_most,
            "percent": percent(value), "most_percent": percent(limit)}  # fmt: skip
