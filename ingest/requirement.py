"""A line of a storage requirement: what `plan` derives, `report` prints, `accept` tests and `verdict` judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

from ingest.configuration import decimal_units
from ingest.files import table_beside
from ingest.units import as_printed, display, request_size, stated

PRIORITIES = ("mandatory", "target", "information")
#: The priority of lines that describe the workload and are not required.
INFORMATION = PRIORITIES[-1]
#: The priority of a term on a vendor's form for which the buyer sets no value: an answer is required and is scored.
ANSWER = "answer"
#: What a question requires whose answer has to have one.
FIGURE = "a figure"
#: what a buyer reads first: operation -> unit of its lines
HEADLINES: Mapping[str, str] = {"read": "B/s", "write": "B/s", "hold": "B"}
_WRITTEN = table_beside(__file__, "requirement_kinds.yaml")
#: the themes of a tender with their titles, in order
THEMES: Mapping[str, str] = _WRITTEN["themes"]
#: the kinds of load by the theme in the id of a line, and those that other lines show by their id
LOADS: Mapping[str, str] = _WRITTEN["loads"]
SHOWN_BY: Mapping[str, str] = _WRITTEN["shown_by"]
#: what several kinds have in common
GROUPS: Mapping[str, Sequence[str]] = _WRITTEN["groups"]
#: the parts of the title of a theme that name a kind, and its title without any of them
TITLES: Mapping[str, Mapping[str, Any]] = _WRITTEN["titles"]
#: what a site has where a later year asks for more than the first
GROWTH = "growth"
#: what a site has where a line holds loads of several kinds
TOGETHER = "all loads"
#: kinds that say by themselves whether they read or write
SPOKEN = ("training reads", "checkpoint writes", "reads and writes", "restores", "data loads")


class StatedLine(Protocol):
    """What a line says, wherever it is read from."""

    @property
    def id(self) -> str:
        """Of the requirement."""

    @property
    def priority(self) -> str:
        """One of `PRIORITIES`."""

    @property
    def statement(self) -> str:
        """Its sentence."""


Line = TypeVar("Line", bound=StatedLine)


def lines_for_vendors(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines that bind a vendor, and the information that one of them names by its id.

    Other information would show a vendor how far the requirements exceed what the workload needs.
    """
    named = " ".join(one.statement for one in lines if one.priority != INFORMATION)
    return tuple(one for one in lines if one.priority != INFORMATION or one.id in named)


def headline(lines: Sequence[Requirement]) -> dict[str, Requirement]:
    """The largest mandatory line of each kind of demand: aggregate reads, aggregate writes and capacity."""
    found: dict[str, Requirement] = {}
    for operation, unit in HEADLINES.items():
        asked = [one for one in lines if one.conditions.operation == operation and one.unit == unit]
        asked = [one for one in asked if one.priority == PRIORITIES[0]]
        if asked:
            found[operation] = max(asked, key=lambda one: one.value)
    return found


def kind_of_line(name: str) -> str:
    """The kind of load that the lines of a theme ask for, by an id; empty for a line of no load.

    >>> kind_of_line("R-STAGE-01"), kind_of_line("R-STAGE-02"), kind_of_line("R-CAP-01")
    ('staging', 'room on the nodes', '')
    """
    theme = name.removeprefix("R-")
    return LOADS.get(theme) or LOADS.get(theme.split("-")[0], "")


def kinds_of(lines: Sequence[Requirement], grows: bool = False) -> frozenset[str]:
    """The kinds of load that a site has, and the groups that they belong to: no document names any other.

    Of all lines of its plan, and of whether it `grows`: a later year asks for more than the first.
    """
    found = {SHOWN_BY.get(one.id, one.kind) for one in lines} | ({GROWTH} if grows else set())
    found |= {part.kind for one in lines for part in one.loads} | ({TOGETHER} if any(one.loads for one in lines) else set())
    return frozenset({*filter(None, found), *(name for name, kinds in GROUPS.items() if not found.isdisjoint(kinds))})


def is_of(needed: str | Sequence[str], kinds: frozenset[str]) -> bool:
    """Whether words that concern kinds of load, or everything where they name none, belong to a site of such kinds."""
    named = (needed,) if isinstance(needed, str) else needed
    return not needed or not kinds.isdisjoint(named)


def said_of(text: str | Sequence[str | Mapping[str, Any]], kinds: frozenset[str]) -> str:
    """A text without the parts that concern kinds of load of which a site has none.

    Of a part, `of` names the kinds, `without` those with which it is left out.

    >>> said_of(["Reads.", {"of": "restores", "text": "Restores."}], frozenset({"training reads"}))
    'Reads.'
    """
    if isinstance(text, str):
        return text
    parts = ({"text": part} if isinstance(part, str) else part for part in text)
    return " ".join(
        one["text"].strip()
        for one in parts
        if is_of(one.get("of", ""), kinds) and ("without" not in one or not is_of(one["without"], kinds))
    )


def theme_title(theme: str, kinds: frozenset[str]) -> str:
    """The title of a theme for a site of such kinds.

    >>> theme_title("loading", frozenset({"data loads", "staging"})), theme_title("media", frozenset())
    ('Loading of data and staging of data', 'Warranty and endurance')
    """
    if theme not in TITLES:
        return THEMES[theme]
    title = TITLES[theme]
    parts = [words for kind, words in title["parts"].items() if kind in kinds] or [title["other"]]
    text = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return text[0].upper() + text[1:]


def term_in_words(value: object, kind: object, bound: str) -> str:
    """What a term requires: the clause of a choice says it, as its key in the site file says it to the buyer alone."""
    return "required" if value and kind == "choice" else str(value or bound)


def loads_in_words(loads: Sequence[HeldLoad]) -> str:
    """What each kind of load adds to a line.

    >>> loads_in_words([HeldLoad("model states", 452e9), HeldLoad("key-value caches", 99.9e9)])
    '452 GB/s of model states, 99.9 GB/s of key-value caches'
    """
    return ", ".join(f"{display(one.value, 'B/s', binary=False)} of {one.kind}" for one in loads)


def least_accepted(value: float, unit: str) -> float:
    """Return what meets a required value in base units: the value itself or what is printed of it, whichever is lower.

    The two are one number since values are rounded; plans and forms of before state others than they print.

    >>> least_accepted(265_245_076_866.5, "B/s"), least_accepted(984_496_892_142.8, "B/s")
    (265200000000, 984496892142.8)
    >>> least_accepted(302_000_000_000, "B/s")
    302000000000
    """
    return min(value, as_printed(value, unit))


class MixPart(NamedTuple):
    """One part of a load of several access patterns."""

    share: float  # of the bytes per second of the line, or of the files that it opens
    operation: str  # `read`, `write` or `open`
    io_size: int  # bytes of one request; of an opened file what its largest read takes of it
    pattern: str  # `random` or `sequential`; empty for opens

    @property
    def requests(self) -> str:
        """Its share, pattern and request size in words.

        >>> MixPart(0.979, "read", 1_048_576, "sequential").requests
        '97.9 % sequential 1 MiB'
        """
        return f"{self.share * 100:.4g} % {self.pattern or 'of'} {request_size(self.io_size)}"

    @property
    def words(self) -> str:
        """Its requests with their operation."""
        return f"{self.requests} {self.operation}s" if self.pattern else self.requests


class HeldLoad(NamedTuple):
    """What one kind of load adds to a line that holds several."""

    kind: str  # a value of `LOADS`
    value: float  # its part of the value of the line, in base units


class ClientGroup(NamedTuple):
    """The clients of a line on one cluster."""

    cluster: str  # its name
    node: str  # their node type
    clients: int  # how many take part
    #: B/s of all of them together, where an equal share is more than one of them draws; else None
    bandwidth: float | None = None

    def words(self, node: str = "") -> str:
        """How many of which cluster, and at which rate.

        >>> ClientGroup("main", "dgx-h100", 4).words(), ClientGroup("main", "dgx-h100", 4, 40e9).words(" (dgx-h100)")
        ('4 of main', '4 of main (dgx-h100) at 40 GB/s in all')
        """
        rate = "" if self.bandwidth is None else f" at {display(self.bandwidth, 'B/s', binary=False)} in all"
        return f"{self.clients:,} of {self.cluster}{node}{rate}"

    def to_dict(self) -> dict[str, Any]:
        """The group as JSON."""
        return {name: part for name, part in self._asdict().items() if part is not None}


@dataclass(frozen=True)
class Conditions:
    """Under which a value holds; a bare number of bytes per second cannot be tested."""

    #: `read`, `write`, `open`, `create` or `hold`, for capacity; `read and write` concurrently, or `read or write` alternately,
    #: each with the requests of the lines that the statement names
    operation: str
    clients: int | None = None  # nodes that take part concurrently
    threads: int | None = None  # of each client
    queue_depth: int | None = None  # most outstanding requests of all clients together
    implied_latency: float | None = None  # mean latency in seconds at which that queue depth yields the value
    latency_99: float | None = None  # seconds within which 99 % of the requests are to be answered
    io_size: int | None = None  # bytes of one request
    pattern: str = ""  # `random` or `sequential`
    #: the parts of a load of several patterns, by share of its bytes; empty where `io_size` and `pattern` say it all
    mix: tuple[MixPart, ...] = ()
    files: str = ""  # `file per process` or `shared`
    duration: float | None = None  # seconds
    fill: float | None = None  # share of the capacity that is in use meanwhile
    cache: str = ""  # the rule about caches, in words
    client_groups: tuple[ClientGroup, ...] = ()  # the clients of each cluster

    @property
    def groups_in_words(self) -> str:
        """The clients of each cluster."""
        return ", ".join(one.words(f" ({one.node})") for one in self.client_groups)

    @property
    def mix_in_words(self) -> str:
        """The mix, part by part; empty where `io_size` and `pattern` say it all."""
        counted = "files:" if self.operation == "open" else "by bytes"
        return f"{counted} {', '.join(part.words for part in self.mix)}" if self.mix else ""


@dataclass(frozen=True)
class Requirement:
    """One requirement line."""

    id: str  # stable, such as `R-READ-01`; the same in every document and file
    priority: str  # one of `PRIORITIES`
    statement: str  # a sentence with *shall* or *should*
    metric: str  # the quantity, by name
    value: float  # in base units, rounded towards the stricter side; the threshold of its test
    unit: str  # its base unit
    conditions: Conditions  # under which it holds
    #: writes the derivation when it is first read: a plan has many, of which few are
    derive: Callable[[], Sequence[str]] = field(default=tuple, compare=False, repr=False)
    assumptions: tuple[str, ...] = ()  # names of the assumed quantities that it rests on
    #: low, high: the range of what was computed, where one is known
    low: float | None = None
    high: float | None = None
    computed: float | None = None  # the value before rounding; None in plans of before
    digits: int = 3  # significant digits of the value
    rationale: str = ""  # one sentence for the Vendor: why it is required
    theme: str = ""  # a key of `THEMES`
    remark: str = ""  # for the Buyer alone: which guidance decides the value, and what the workload needs
    kind: str = ""  # of its load, such as `restores`, a value of `LOADS`; of several the largest, empty for none
    limited_by: str = ""  # what its consumers can draw, where that is less than they need; empty where it is not
    loads: tuple[HeldLoad, ...] = ()  # the part of each kind, the largest first, where it holds several
    within: str = ""  # the time in which its load is moved, in words; empty where none is behind the value

    @cached_property
    def derivation(self) -> Sequence[str]:
        """Lines from the formula down to the given values."""
        with decimal_units():
            return tuple(self.derive())

    @property
    def load(self) -> str:
        """What a rate is of, in words, such as `reads of key-value caches`; empty for a line of no load."""
        if self.loads:
            return f"{self.conditions.operation}s ({loads_in_words(self.loads)})"
        return self.kind if self.kind in ("", *SPOKEN) else f"{self.conditions.operation}s of {self.kind}"

    @property
    def requests(self) -> str:
        """The requests of its load, random ones with their rate: whoever moves as many bytes in larger requests falls short."""
        of = self.conditions
        size = request_size(of.io_size) if of.io_size else ""
        words = of.mix_in_words or " ".join(filter(None, (of.pattern, size, of.operation if of.operation != "hold" else "")))
        parts = of.mix or ((MixPart(1.0, of.operation, of.io_size, of.pattern),) if of.io_size else ())
        if self.unit != "B/s" or not any(part.pattern == "random" for part in parts):
            return words
        rate = sum(part.share / part.io_size for part in parts) * (self.computed or self.value)
        return f"{words}, {display(rate, '1/s').replace(' 1/s', ' requests/s')}"

    @property
    def display(self) -> str:
        """The value as its statement prints it."""
        return stated(self.value, self.unit, self.digits)

    def to_dict(self) -> dict[str, Any]:
        """The requirement as JSON; conditions that were not set are left out."""
        conditions = {name: part for name, part in vars(self.conditions).items() if part not in (None, "", ())}
        if self.conditions.mix:
            conditions["mix"] = [part._asdict() for part in self.conditions.mix]
        if self.conditions.client_groups:
            conditions["client_groups"] = [group.to_dict() for group in self.conditions.client_groups]
        numbers = (("computed", self.computed), ("low", self.low), ("high", self.high))
        spread = {name: part for name, part in numbers if part is not None}
        words = ("id", "priority", "statement", "metric", "value", "unit")
        return {
            **{name: getattr(self, name) for name in words},
            **spread,
            "display": self.display,
            "rationale": self.rationale,
            "theme": self.theme,
            "remark": self.remark,
            "kind": self.kind,
            **({"loads": [part._asdict() for part in self.loads]} if self.loads else {}),
            "limited_by": self.limited_by,
            "requests": self.requests,
            "conditions": conditions,
            "derivation": list(self.derivation),
            "assumptions": list(self.assumptions),
        }
