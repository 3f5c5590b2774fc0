"""The form of a rule: a row of the table of rules, and the comparisons that it may make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, gt, le, lt
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from ingest.engine.messages import Option

#: Two durations that differ by more than this share of the longer one contradict each other.
SAME_TIME = 0.2


def place_of_largest(entries: Sequence[float]) -> int:
    """The place of the largest entry of a column, counted from one.

    >>> place_of_largest([1, 4, 4])
    2
    """
    return list(entries).index(max(entries)) + 1


class Valued(Protocol):
    """A result, or the step of a derivation."""

    @property
    def value(self) -> Any:
        """In base units."""


class Sign(NamedTuple):
    """A comparison, in Python and as a spreadsheet writes it, and its contrary."""

    holds: Callable[[Any, float], bool]
    written: str
    contrary: str


SIGNS: Mapping[str, Sign] = {
    "<": Sign(lt, "{0} < {1}", "{0} >= {1}"),
    "<=": Sign(le, "{0} <= {1}", "{0} > {1}"),
    ">": Sign(gt, "{0} > {1}", "{0} <= {1}"),
    ">=": Sign(ge, "{0} >= {1}", "{0} < {1}"),
    "=": Sign(eq, "{0} = {1}", "{0} <> {1}"),
    "differs": Sign(
        lambda one, other: abs(one - other) > SAME_TIME * max(one, other),
        f"ABS({{0}} - {{1}}) > {SAME_TIME} * MAX({{0}}, {{1}})",
        f"ABS({{0}} - {{1}}) <= {SAME_TIME} * MAX({{0}}, {{1}})",
    ),
    "multiple": Sign(
        lambda one, other: one % other == 0, "ROUND({0} / {1}, 0) * {1} = {0}", "ROUND({0} / {1}, 0) * {1} <> {0}"
    ),
    "largest": Sign(
        lambda entries, place: place_of_largest(entries) == place,
        "MATCH(MAX({0}), {0}, 0) = {1}",
        "MATCH(MAX({0}), {0}, 0) <> {1}",
    ),
}


class Rule(NamedTuple):
    """One row: `quantity` `sign` `limit` × `factor`, wherever the words of a job are among `words`."""

    id: str  # `W…` warns, `E…` refuses, `C…` is a choice of the plan; stable, and never given to another rule
    #: severity; lines are printed in this order, the most severe first: refusals below 7, 7 and 8 for what no hardware does, 9
    #: for guidance that hides the need of the workload, then the rest
    rank: int
    quantity: str  # name of a quantity; empty where the words decide alone
    sign: str  # a key of `SIGNS`
    limit: float | str  # a number, or the name of a quantity
    #: the line; `{value}`, `{limit}` are numbers, `{shown}`, `{at_most}` the same with units, `{percent}`, `{most_percent}` the
    #: same in percent; further names are facts of the case
    text: str = ""
    what: str = ""  # what a check calls the comparison; empty where no workbook tests it
    factor: float = 1.0  # of the limit
    words: Mapping[str, Sequence[str]] = MappingProxyType({})  # for each word of a job, those for which the rule applies
    subject: str = ""  # the option that the line begins with
    supply: tuple[str | Option, ...] = ()  # the options that cure it, and the keys of a site file
    unknown: bool = False  # whether the rule applies too where its quantity is unknown
    at_high_end: bool = False  # whether the high end of the quantity is compared, where it has one
    of_job: bool = False  # whether each job of a site has a check of its own
    tender: str = ""  # the beginnings of the ids of the lines that wait for a decision of the buyer; empty for none

    @property
    def kind(self) -> Literal["warning", "refusal", "choice"]:
        """What a case of it leads to."""
        kinds: dict[str, Literal["warning", "refusal", "choice"]] = {"W": "warning", "E": "refusal", "C": "choice"}
        return kinds[self.id[0]]

    def compares(self, value: Any, limit: float) -> bool:
        """Whether the comparison is true of two numbers; the factor of the limit included."""
        return SIGNS[self.sign].holds(value, limit * self.factor)
