"""Compliance of an offer, line by line: what is required, what the vendor filled in, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from ingest.engine.registry import solve
from ingest.errors import IngestError, UsageError, brief, expected_one_of
from ingest.requirement import PRIORITIES, least_accepted
from ingest.rfp import response_form as form
from ingest.rfp.workbook_reader import SAME, Sheet, SheetLine, is_formula
from ingest.text import visible
from ingest.units import parse

#: Cells that one refusal names, characters of one text, and characters of a remark that are shown.
MOST_NAMED, MOST_TEXT, MOST_REMARK = 20, 4_000, 200
#: Verdicts.
MET, MISSED, PARTLY = "met", "missed", "partly"
UNANSWERED, UNPROVEN, UNASKED = "no answer", "yes without a value", "for information"


@dataclass(frozen=True)
class RequirementLine:
    """One requirement as the workbook states it.

    Attributes:
        id: of the requirement.
        priority: `mandatory`, `target` or `information`.
        value: in `unit`, a base unit.
        clients: number of client nodes that its test takes; None where that is open.
        rounded: whether the value is the number that its statement prints; forms of format 1 print other ones.
    """

    id: str
    priority: str
    value: float
    unit: str
    clients: float | None = None
    rounded: bool = True

    @property
    def least(self) -> float:
        """The lowest offer that meets it."""
        return self.value if self.rounded else least_accepted(self.value, self.unit)


@dataclass(frozen=True)
class OfferLine:
    """One line of the response form as the vendor filled it in.

    Attributes:
        id: of the requirement.
        comply: `yes`, `no`, `partial` or empty.
        as_is: the value as delivered, in the unit of the line.
        optimized: the tuned value.
        stated: all fields as text, by heading.
    """

    id: str
    comply: str
    as_is: float | None
    optimized: float | None
    stated: Mapping[str, str]


@dataclass(frozen=True)
class LineVerdict:
    """The verdict on one line of an offer.

    Attributes:
        requirement: the requirement.
        verdict: `met`, `missed`, `partly` (as the vendor states, which does not meet a mandatory requirement),
            `no answer`, `yes without a value`, or `for information` where nothing is required or answered.
        offered: the value that counts, in the unit of the line.
        margin: offered over required, less one.
        stated: all fields as text, by heading.
        note: where word and value of an answer contradict each other, or the answer is partial.
        reservations: what qualifies the answer without changing the verdict.
    """

    requirement: RequirementLine
    verdict: str
    offered: float | None
    margin: float | None
    stated: Mapping[str, str]
    note: str = ""
    reservations: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether the vendor filled in anything."""
        return self.verdict not in (UNANSWERED, UNASKED) or bool(self.reservations)

    @property
    def notes(self) -> str:
        """The note and the reservations."""
        return "; ".join(filter(None, (self.note, *self.reservations)))

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        one = self.requirement
        required = {"id": one.id, "priority": one.priority, "required": one.value, "unit": one.unit}
        return {**required, "result": self.verdict, "offered": self.offered, "margin": self.margin,
                "said": dict(self.stated), "note": self.note, "reservations": list(self.reservations)}  # fmt: skip


def requirement_wording(sheet: Sheet) -> list[RequirementLine]:
    """The requirements on the sheet of requirements.

    Raises:
        IngestError: a line without a priority or a value.
    """
    found: dict[str, RequirementLine] = {}
    head = form.required_in(sheet.heads)
    for line in sheet.lines:
        name, priority, value = str(line.stored[form.ID]), line.stored.get(form.PRIORITY), line.stored.get(head)
        if priority not in PRIORITIES or not _is_value(value):
            expected = f"one of {', '.join(PRIORITIES)} and a number from 0"
            raise IngestError(f"{sheet.path}: sheet '{sheet.name}': {name}: found {priority} {value}, expected {expected}")
        clients = line.stored.get(form.CLIENTS)
        known = float(clients) if _is_value(clients) else None
        # Of an id that is listed twice the first line counts; the second one is reported as a difference.
        unit, rounded = str(line.stored.get(form.UNIT)), head == form.REQUIRED
        found.setdefault(name, RequirementLine(name, str(priority), float(value), unit, known, rounded))
    return list(found.values())


def _is_value(stored: Any) -> TypeGuard[float]:
    return isinstance(stored, (int, float)) and not isinstance(stored, bool) and 0 <= stored < float("inf")


class _Unfit(Exception):
    """A cell whose content does not fit its field."""


def offer_lines(sheet: Sheet) -> list[OfferLine]:
    """The vendor's answers on the response form.

    Raises:
        IngestError: cells that cannot be read; up to twenty of them, in one line.
    """
    bad = [f"{area} is one merged cell, expected a cell for each answer" for area in sheet.merged]
    lines = []
    for line in sheet.lines:
        found: dict[str, Any] = {}
        for field in form.FIELDS:
            try:
                found[field.head] = _read(field, line)
            except _Unfit as why:
                bad.append(f"{sheet.place(field.head, line)} ({line.stored[form.ID]}, '{field.head}'): {why}")
        stated = {head: "" if value is None else str(value) for head, value in found.items()}
        values = (found.get(form.AS_IS), found.get(form.OPTIMIZED))
        lines.append(OfferLine(str(line.stored[form.ID]), stated.get(form.COMPLY, ""), *values, stated))
    if bad:
        more = f"; and {len(bad) - MOST_NAMED:,} more cells" if len(bad) > MOST_NAMED else ""
        raise IngestError(f"{sheet.path}: sheet '{sheet.name}': {'; '.join(bad[:MOST_NAMED])}{more}")
    return lines


def _read(field: form.FormField, line: SheetLine) -> Any:
    """The value of a cell of the vendor's: a word, a number, text, or nothing."""
    stored, live = line.stored.get(field.head), line.live.get(field.head)
    if is_formula(live):
        raise _Unfit(f"found the formula {brief(str(live))}, expected {_expected(field, line)}")
    if stored is None or (isinstance(stored, str) and not stored.strip()):
        return None
    if field.kind == form.CHOICE:
        return _choice(field, stored)
    if field.kind in (form.NUMBER, form.COUNT):
        return _number(field, line, stored)
    if len(str(stored)) > MOST_TEXT:
        raise _Unfit(f"found {len(str(stored)):,} characters, expected at most {MOST_TEXT:,}")
    return " ".join(str(stored).split())


def _choice(field: form.FormField, stored: Any) -> str:
    word = str(stored).strip().lower()
    if word not in field.choices:
        raise _Unfit(f"found {brief(_shown(stored))}, {expected_one_of(word, field.choices)}")
    return word


def _number(field: form.FormField, line: SheetLine, stored: Any) -> float | int:
    good = _is_value(stored)
    if good and field.kind == form.COUNT:
        good = stored >= 1 and stored == int(stored)
    if not good:
        raise _Unfit(f"found {_shown(stored)!r:.60}, expected {_expected(field, line)}{_hint(field, line, stored)}")
    return int(stored) if field.kind == form.COUNT else float(stored)


def _shown(stored: Any) -> Any:
    """A date as people write it."""
    return stored.isoformat() if hasattr(stored, "isoformat") else stored


def _expected(field: form.FormField, line: SheetLine) -> str:
    if field.kind == form.NUMBER:
        return f"a number from 0 in {line.stored.get(form.UNIT)}"
    return {form.CHOICE: f"one of {', '.join(field.choices)}", form.COUNT: "a whole number from 1"}.get(field.kind, "text")


def _hint(field: form.FormField, line: SheetLine, stored: Any) -> str:
    """A text with a unit as a number, as a suggestion."""
    if field.kind != form.NUMBER or not isinstance(stored, str):
        return ""
    try:
        return f", such as {parse(stored, str(line.stored.get(form.UNIT)), field.head):.15g}"
    except (UsageError, IngestError):
        return ""


def judge(requirement: RequirementLine, offer: OfferLine | None, optimized: bool) -> LineVerdict:
    """The verdict on one line of an offer.

    Args:
        requirement: the requirement.
        offer: the vendor's line; None where the form has none.
        optimized: whether tuned values count.
    """
    found = offer or OfferLine(requirement.id, "", None, None, {field.head: "" for field in form.FIELDS})
    reserved = tuple(_reservations(requirement, found))
    values = [value for value in (found.as_is, found.optimized if optimized else None) if value is not None]
    if not values:
        note = "only a tuned value was given; --optimized counts it" if found.optimized is not None else ""
        verdict = _without_value(requirement, found.comply)
        return LineVerdict(requirement, verdict, None, None, found.stated, _partial_note(found) or note, reserved)
    offered, required = max(values), requirement.value
    margin = float(solve("acceptance_margin", {"measured_rate": offered, "required_rate": required})) if required else None
    met = offered >= requirement.least * (1 - SAME)
    note = _partial_note(found) or _contradiction(met, found.comply)
    return LineVerdict(requirement, _verdict(met, found.comply), offered, margin, found.stated, note, reserved)


def _verdict(met: bool, comply: str) -> str:
    if not met or comply == form.NO:
        return MISSED
    return PARTLY if comply == form.PARTIAL else MET


def _without_value(requirement: RequirementLine, comply: str) -> str:
    silent = UNASKED if requirement.priority == "information" else UNANSWERED
    return {form.YES: UNPROVEN, form.NO: MISSED, form.PARTIAL: PARTLY}.get(comply, silent)


def _partial_note(offer: OfferLine) -> str:
    """The remark of a vendor who complies in part."""
    if offer.comply != form.PARTIAL:
        return ""
    remark = _remark(offer)
    return f"says '{form.PARTIAL}': {remark}" if remark else f"says '{form.PARTIAL}', without a remark"


def _contradiction(met: bool, comply: str) -> str:
    """Where word and value of an answer contradict each other."""
    if met and comply == form.NO:
        return f"says '{comply}', but its value meets the requirement"
    return "says 'yes', but its value misses the requirement" if comply == form.YES and not met else ""


def _reservations(requirement: RequirementLine, offer: OfferLine) -> Iterator[str]:
    """What to read next to the verdict on an answer, a phrase each."""
    has_value = offer.as_is is not None or offer.optimized is not None
    if requirement.priority == "mandatory" and not offer.comply and has_value:
        yield f"{form.COMPLY} is blank"
    if offer.stated.get(form.BASIS) == form.PROJECTED:
        yield form.PROJECTED
    nodes = offer.stated.get(form.NODES)
    if nodes and requirement.clients is not None and int(nodes) < requirement.clients:
        yield f"tested with {int(nodes):,} of {requirement.clients:,.0f} clients"
    if offer.comply != form.PARTIAL and (remark := _remark(offer)):
        yield f"remark: {remark}"


def _remark(offer: OfferLine) -> str:
    remark = visible(offer.stated.get(form.REMARKS, ""))
    return f"{remark[:MOST_REMARK]}…" if len(remark) > MOST_REMARK else remark
