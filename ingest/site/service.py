"""Terms of a tender that the workload does not determine: availability, durability, interfaces, support and so on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.catalog.store import Catalog
from ingest.engine.solver import Quantities
from ingest.errors import UsageError
from ingest.site.service_records import NONE, OPEN, OTHERS, STATED, UNITS, TermRecord, records
from ingest.site.site_file import Site
from ingest.text import one_line


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
        bound: the value as a bound that an offered value is compared with, such as `at least 99.9 %`; empty for none.
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
    bound: str = ""
    status: str = "set"
    grade: str = "assumed"
    source: str = ""
    question: str = ""
    rank: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The term as JSON."""
        return dict(vars(self))


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
        bound=f"{record.sense} {value}" if record.sense and number is not None else "",
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
        if step is not None:
            return record.shown(float(step.value)), float(step.value)
    if record.type == "fixed":
        return record.value, None
    if given in (STATED, OPEN):
        return None, None
    if record.type in UNITS:
        number = record.number(given)
        return record.shown(number), number
    return ("required" if given is True else one_line(given)), None
