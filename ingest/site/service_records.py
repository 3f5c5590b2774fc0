"""The terms that a tender may have besides what the workload determines: the records of `service.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.yaml_reader import Kind, read_yaml
from ingest.errors import UsageError, brief
from ingest.units import display, parse, written_in_file

TERMS_FILE = Path(__file__).parent / "service.yaml"
#: The key that sets all terms that no key of their own sets.
OTHERS = "others"
#: words for any term: the Vendor states a value; the buyer has not decided; the term is left out
STATED, OPEN, NONE = "stated", "open", "none"
#: types of terms that are numbers -> the base unit
UNITS = {"share": "1", "time": "s", "rate": "B/s", "power": "W", "number": "1"}
#: whole times are shown in these units: from how many seconds on, seconds of one, and the name
TIMES = ((31_557_600, 31_557_600, "year"), (172_800, 86_400, "day"), (3600, 3600, "h"))
#: Most characters of a text of a site file.
LONGEST_TEXT = 300


@dataclass(frozen=True)
class TermRecord:
    """One record of `service.yaml`."""

    id: str  # stable, such as `S-AVAIL-01`
    type: str  # share, time, rate, power, number, text, choice, yes, or fixed
    theme: str  # a key of `THEMES`
    name: str  # a few words
    suggested: Any  # as a site file writes it
    reason: str  # of the suggestion
    verification: str  # the evidence at acceptance or in operation
    grade: str  # of the suggestion: published or assumed
    source: str = ""  # its id in the catalogs
    key: str = ""  # below `service`; empty for a term that is always stated, or set elsewhere
    of: str = ""  # the key that sets the value, where it is not below `service`
    quantity: str = ""  # of the plan that holds the value of `of`
    value: str = ""  # of a fixed term
    unit: str = ""  # behind a number
    #: low, high: limits of a number, in base units
    low: float = 0
    high: float = float("inf")
    sense: str = ""  # `at least` or `at most`, where an offered value can be compared with the number
    options: Mapping[str, str] | None = None  # the clause by choice
    text: str = ""  # the clause with `{value}`
    states: str = ""  # what the Vendor states where no value is set
    figure: bool = False  # whether its answer has a figure although its value has no unit
    question: str = ""  # to the buyer, where the term is important
    rank: int = 0  # of the question; 0 for none
    small: Any = None  # the suggestion for a small site, where it is another; a proposal of ours
    unless: str = ""  # the key of `service` whose value of the buyer keeps the suggestion of large sites
    kinds: str | tuple[str, ...] = ()  # of load that it is about; empty for a term of any site
    optional: bool = False  # a term only where its own key is in the site file, or by suggestion where `beside` is
    beside: str = ""  # the key of `service` of buyers who need the optional term too

    @property
    def path(self) -> str:
        """The key of a site file that sets the term; empty where none does."""
        return self.of or (f"service.{self.key}" if self.key else "")

    def number(self, written: object) -> float:
        """A number as written, in base units.

        Raises UsageError: not a number, of another unit, a time without its unit, or out of range.
        """
        counts = False if self.type == "number" else None
        found = float(f"{parse(written_in_file(written), UNITS[self.type], self.name, counts):.12g}")
        above = self.type in ("time", "rate", "power")
        if found > self.high or found < self.low or (above and found == self.low):
            upto = "" if self.high == float("inf") else f" to {self.shown(self.high)}"
            start = "above" if above else "from"
            raise UsageError(f"found {brief(written)}, expected a value {start} {self.shown(self.low)}{upto}")
        return found

    def shown(self, number: float) -> str:
        """A number in base units as people read it.

        >>> [one.shown(0.99999) for one in records() if one.key == "durability"]
        ['99.999 %']
        """
        if self.type == "share":
            return f"{number * 100:.10g} %"
        if self.type == "time":
            for least, seconds, name in TIMES:
                if number >= least and number % seconds == 0:
                    return f"{number / seconds:,.0f} {name}{'s' if number > seconds and name != 'h' else ''}"
        if self.type != "number":
            return display(number, UNITS[self.type], binary=False)
        unit = self.unit.removesuffix("s") if number == 1 and "/" not in self.unit else self.unit
        return f"{number:,.10g} {unit}"

    @property
    def suggestion(self) -> str:
        """The suggested value as people read it."""
        if self.type in UNITS and self.suggested != STATED:
            return self.shown(self.number(self.suggested))
        return {True: "required", STATED: "to be stated by the Vendor"}.get(self.suggested, str(self.suggested))


class DefaultRecord(NamedTuple):
    """A default of the plan that the buyer may know better."""

    quantity: str  # its name
    key: str  # that sets it
    question: str  # to the buyer
    reason: str  # the effect of another value
    rank: int  # of the question
    shows: str = ""  # the quantity whose value the question shows; `quantity` where empty


@cache
def _content() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_yaml(TERMS_FILE, Kind("the terms of a service", "ingest plan --new"))
    return found


@cache
def records() -> tuple[TermRecord, ...]:
    """The records of `service.yaml`, in the order of a document."""
    return tuple(TermRecord(**one) for one in _content()["terms"])


@cache
def default_records() -> tuple[DefaultRecord, ...]:
    """The defaults of `service.yaml` that a buyer may know better."""
    return tuple(DefaultRecord(**one) for one in _content()["defaults"])


def service_schema() -> dict[str, Any]:
    """The keys of `service` for the schema of a site file."""
    others = {"enum": ["suggested", STATED, OPEN], "description": f"Terms that no key of their own sets; `{OPEN}` by default."}
    return {
        "type": ["string", "object"],
        "pattern": "^suggested$",
        "description": "Terms of the tender that the workload does not determine: `suggested` sets each to its suggestion. "
        f"Every key also takes `{STATED}` (the Vendor states a value), `{OPEN}` (not decided yet) and `{NONE}` (left out).",
        "additionalProperties": False,
        "properties": {OTHERS: others, **{one.key: _node(one) for one in records() if one.key}},
    }


def _node(record: TermRecord) -> dict[str, Any]:
    why = f"{record.name}. Suggested: {record.suggestion} ({record.reason})."
    node: dict[str, Any] = {"description": " ".join(why.split())}
    if record.type == "text":
        return {**node, "type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f]*$", "maxLength": LONGEST_TEXT}
    if record.type == "choice":
        return {**node, "enum": [*(record.options or {}), STATED, OPEN, NONE]}
    if record.type == "yes":
        return {**node, "type": ["boolean", "string"], "enum": [True, False, STATED, OPEN, NONE]}
    return {**node, "type": ["number", "string"], "x-term": UNITS[record.type]}
