"""Terms of a tender that the workload does not determine: availability, durability, interfaces, support and so on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.catalog.yaml_reader import Kind, read_yaml
from ingest.errors import UsageError, brief
from ingest.text import one_line
from ingest.units import display, parse

if TYPE_CHECKING:
    from ingest.catalog.store import Catalog
    from ingest.engine.solver import Quantities
    from ingest.site.site_file import Site

TERMS_FILE = Path(__file__).parent / "service.yaml"
#: The key that sets all terms that no key of their own sets.
OTHERS = "others"
#: the themes of a tender, in order, with their titles; each requirement and each term belongs to one
THEMES: Mapping[str, str] = {
    "reading": "Reading of training data",
    "checkpoints": "Writing and restoring of checkpoints",
    "loading": "Loading and preparation of data, start of jobs",
    "metadata": "Metadata operations",
    "latency": "Latency and steadiness",
    "capacity": "Capacity and growth",
    "availability": "Availability, degraded operation and rebuild",
    "durability": "Durability and integrity",
    "media": "Warranty and endurance",
    "interfaces": "Interfaces",
    "clients": "Clients",
    "tenancy": "Multi-tenancy and quality of service",
    "security": "Security",
    "copies": "Snapshots and replication",
    "operation": "Management and monitoring",
    "facility": "Network, power and space",
    "support": "Support, spares and training",
    "commercial": "Delivery, acceptance, prices and remedies",
}
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
    """One record of `service.yaml`.

    Attributes:
        id: stable, such as `S-AVAIL-01`.
        type: share, time, rate, power, number, text, choice, yes, or fixed.
        theme: a key of `THEMES`.
        name: a few words.
        suggested: as a site file writes it.
        reason: of the suggestion.
        verification: the evidence at acceptance or in operation.
        grade: of the suggestion: published or assumed.
        source: its id in the catalogs.
        key: below `service`; empty for a term that is always stated, or set elsewhere.
        of: the key that sets the value, where it is not below `service`.
        quantity: of the plan that holds the value of `of`.
        value: of a fixed term.
        unit: behind a number.
        low, high: limits of a number, in base units.
        options: the clause by choice.
        text: the clause with `{value}`.
        states: what the Vendor states where no value is set.
        question: to the buyer, where the term is important.
        rank: of the question; 0 for none.
    """

    id: str
    type: str
    theme: str
    name: str
    suggested: Any
    reason: str
    verification: str
    grade: str
    source: str = ""
    key: str = ""
    of: str = ""
    quantity: str = ""
    value: str = ""
    unit: str = ""
    low: float = 0
    high: float = float("inf")
    options: Mapping[str, str] | None = None
    text: str = ""
    states: str = ""
    question: str = ""
    rank: int = 0

    @property
    def path(self) -> str:
        """The key of a site file that sets the term; empty where none does."""
        return self.of or (f"service.{self.key}" if self.key else "")

    def number(self, written: object) -> float:
        """A number as written, in base units.

        >>> [one.number("99.9 %") for one in records() if one.key == "availability"]
        [0.999]

        Raises:
            UsageError: not a number, of another unit, a time without its unit, or out of range.
        """
        if self.type == "time" and not any(mark.isalpha() for mark in str(written)):
            raise UsageError(f"found {brief(written)}, expected a time with its unit, such as '{self.suggested}'")
        found = float(f"{parse(written, UNITS[self.type], self.name):.12g}")
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


@dataclass(frozen=True)
class ServiceTerm:
    """One term of a tender.

    Attributes:
        id: stable, such as `S-AVAIL-01`.
        key: of the site file that sets it, such as `service.availability`; empty for a term that is always stated.
        theme: a key of `THEMES`.
        name: a few words.
        text: the mandatory clause, with the value where it is set; else the request that the Vendor states a value.
        value: as people read it; None where the buyer has not set one.
        suggested: the suggested value.
        reason: of the suggestion.
        verification: the evidence at acceptance or in operation.
        type: share, time, rate, power, number, text, choice, yes or fixed.
        quantity: the value in base units; None for words.
        unit: of the quantity.
        status: `set`; `stated` where the Vendor states the value; `open` where the buyer has not decided.
        grade: of the suggestion: published or assumed.
        source: the title of its source.
        question: to the buyer, where the term is important.
        rank: of the question; 0 for none.
    """

    id: str
    key: str
    theme: str
    name: str
    text: str
    value: str | None
    suggested: str
    reason: str
    verification: str
    type: str = "text"
    quantity: float | None = None
    unit: str = ""
    status: str = "set"
    grade: str = "assumed"
    source: str = ""
    question: str = ""
    rank: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The term as JSON."""
        return dict(vars(self))


@cache
def records() -> tuple[TermRecord, ...]:
    """The records of `service.yaml`, in the order of a document."""
    content = read_yaml(TERMS_FILE, Kind("the terms of a service", "ingest plan --new"))
    return tuple(TermRecord(**one) for one in content["terms"])


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


def service_terms(site: Site, known: Quantities, catalog: Catalog) -> tuple[ServiceTerm, ...]:
    """The terms of a site: set, to be stated by the Vendor, or open.

    Args:
        site: the site file; its section `service` is `suggested`, or keys and values.
        known: the quantities of the storage, for terms whose value another section holds.
        catalog: with the sources of suggestions.

    Raises:
        IngestError: a value of another unit, or out of range, with the line.
    """
    section = site.data.get("service") or {}
    written = {OTHERS: section} if isinstance(section, str) else section
    return tuple(_terms(site, written, known, catalog))


def _terms(site: Site, written: Mapping[str, Any], known: Quantities, catalog: Catalog) -> Iterator[ServiceTerm]:
    for record in records():
        given = _given(record, written)
        if given in (NONE, False):
            continue
        try:
            yield _term(record, given, known, catalog)
        except UsageError as error:
            site.refuse(("service", record.key), str(error).removeprefix(f"{record.name}: "))


def _given(record: TermRecord, written: Mapping[str, Any]) -> Any:
    """The value of a term as the site file gives it."""
    if not record.key:
        return None
    found = written.get(record.key)
    if found is not None:
        return found
    others = written.get(OTHERS, OPEN)
    return record.suggested if others == "suggested" else others


def _term(record: TermRecord, given: Any, known: Quantities, catalog: Catalog) -> ServiceTerm:
    value, number = _value(record, given, known)
    status = "set" if value is not None else STATED if given == STATED else OPEN
    if value is None:
        text = f"The Vendor shall state {record.states}."
    else:
        text = (record.options or {}).get(str(given)) or record.text.format(value=value)
    return ServiceTerm(
        id=record.id,
        key=record.path,
        theme=record.theme,
        name=record.name,
        text=text,
        value=value,
        suggested=record.suggestion,
        reason=record.reason,
        verification=record.verification,
        type=record.type,
        quantity=number,
        unit=(record.unit or UNITS[record.type]) if record.type in UNITS else "",
        status=status,
        grade=record.grade,
        source=catalog.source(record.source).title if record.source else "",
        question=record.question,
        rank=record.rank,
    )


def _value(record: TermRecord, given: Any, known: Quantities) -> tuple[str | None, float | None]:
    """The value of a term in words, and in base units where it is a number."""
    if record.quantity:
        step = known.find(record.quantity)
        number = None if step is None else float(step.value)
        return (None, None) if number is None else (record.shown(number), number)
    if record.type == "fixed":
        return record.value, None
    if given in (STATED, OPEN):
        return None, None
    if record.type in UNITS:
        number = record.number(given)
        return record.shown(number), number
    return ("required" if given is True else one_line(given)), None
