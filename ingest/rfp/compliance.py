"""Compliance of an offer, line by line: what is required, what the vendor filled in, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.engine.registry import solve
from ingest.errors import IngestError, UsageError, brief, expected_one_of
from ingest.requirement import ANSWER, INFORMATION
from ingest.rfp import response_form as form
from ingest.rfp.requirement_lines import MANDATORY, RequirementLine, in_base_units, is_value
from ingest.rfp.response_units import ResponseUnit, read_unit, units_offered
from ingest.rfp.term_bounds import bound_kept
from ingest.rfp.unit_slips import binary_note, slip_note
from ingest.rfp.workbook_reader import SAME, Sheet, SheetLine, is_formula
from ingest.text import visible
from ingest.units import parse, physical

#: Cells that one refusal names, characters of one text, and characters of a remark that are shown.
MOST_NAMED, MOST_TEXT, MOST_REMARK = 3, 4_000, 200
#: Verdicts.
MET, MISSED, PARTLY = "met", "missed", "partly"
UNANSWERED, UNPROVEN, UNASKED, SLIP = "no answer", "yes without a value", "for information", "unit slip"
ANSWERED = "answered"


@dataclass(frozen=True)
class OfferLine:
    """One line of the response form as the vendor filled it in.

    Attributes:
        id: of the requirement.
        comply: `yes`, `no`, `partial` or empty.
        as_is: the value as delivered, in base units.
        optimized: the tuned value, in base units.
        stated: all fields as text, by heading.
        unit: in which the values are written; None on a line without one.
    """

    id: str
    comply: str
    as_is: float | None
    optimized: float | None
    stated: Mapping[str, str]
    unit: ResponseUnit | None = None


@dataclass(frozen=True)
class LineVerdict:
    """The verdict on one line of an offer.

    Attributes:
        requirement: the requirement.
        verdict: `met`, `missed`, `partly` (as the vendor states, which does not meet a mandatory requirement),
            `no answer`, `yes without a value`, `unit slip` where the value fits in another unit only, `answered` where the
            buyer sets no value, or `for information` where nothing is required or answered.
        offered: the value that counts, in base units.
        margin: offered over required, less one.
        stated: all fields as text, by heading.
        note: a slip of the unit, a contradiction of word and value, or what a partial answer remarks.
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


class _Unfit(Exception):
    """A cell whose content does not fit its field."""


def offer_lines(sheet: Sheet) -> list[OfferLine]:
    """The vendor's answers on the response form.

    Raises:
        IngestError: cells that cannot be read; up to three of them, which one line holds.
    """
    bad = [f"{area} is one merged cell, expected a cell for each answer" for area in sheet.merged]
    lines = []
    for line in sheet.lines:
        found: dict[str, Any] = {}
        unit = None
        try:
            unit = _unit(line)
        except _Unfit as why:
            head = form.OFFERED_UNIT if line.stored.get(form.OFFERED_UNIT) else form.UNIT
            bad.append(f"{sheet.place(head, line)} ({line.stored[form.ID]}, '{head}'): {why}")
        for field in form.FIELDS:
            try:
                found[field.head] = _read(field, line, unit)
            except _Unfit as why:
                bad.append(f"{sheet.place(field.head, line)} ({line.stored[form.ID]}, '{field.head}'): {why}")
        stated = {head: "" if value is None else str(value) for head, value in found.items()}
        values = (found.get(head) for head in (form.AS_IS, form.OPTIMIZED))
        as_is, tuned = (in_base_units(one, unit) if unit and isinstance(one, float) else None for one in values)
        lines.append(OfferLine(str(line.stored[form.ID]), stated.get(form.COMPLY, ""), as_is, tuned, stated, unit))
    if bad:
        more = f"; and {len(bad) - MOST_NAMED:,} more cells" if len(bad) > MOST_NAMED else ""
        raise IngestError(f"{sheet.path}: sheet '{sheet.name}': {'; '.join(bad[:MOST_NAMED])}{more}")
    return lines


def _unit(line: SheetLine) -> ResponseUnit | None:
    """The unit of the values of a line: the one that the vendor picked, else that of the line; None on a line in words."""
    own, picked = line.stored.get(form.UNIT), line.stored.get(form.OFFERED_UNIT)
    if not own and not picked:
        return None
    try:
        asked = read_unit(str(own or picked))
        unit = read_unit(str(picked)) if picked else asked
    except UsageError as error:
        raise _Unfit(str(error)) from None
    if physical(unit.base) != physical(asked.base):
        raise _Unfit(f"found {brief(picked)}, expected one of {', '.join(units_offered(asked))}")
    return unit


def _read(field: form.FormField, line: SheetLine, unit: ResponseUnit | None) -> Any:
    """The value of a cell of the vendor's: a word, a number, text, or nothing."""
    stored, live = line.stored.get(field.head), line.live.get(field.head)
    if is_formula(live):
        raise _Unfit(f"found the formula {brief(str(live))}, expected {_expected(field, unit)}")
    if stored is None or (isinstance(stored, str) and not stored.strip()):
        return None
    if field.kind == form.CHOICE:
        return _choice(field, stored)
    if field.kind == form.COUNT or (field.kind == form.NUMBER and unit is not None):
        return _number(field, unit, stored)
    if len(str(stored)) > MOST_TEXT:
        raise _Unfit(f"found {len(str(stored)):,} characters, expected at most {MOST_TEXT:,}")
    return " ".join(str(stored).split())


def _choice(field: form.FormField, stored: Any) -> str:
    word = str(stored).strip().lower()
    if word not in field.choices:
        raise _Unfit(f"found {brief(_shown(stored))}, {expected_one_of(word, field.choices)}")
    return word


def _number(field: form.FormField, unit: ResponseUnit | None, stored: Any) -> float | int:
    if field.kind == form.NUMBER and unit is not None and isinstance(stored, str):
        stored = _with_unit(stored, unit)
    good = is_value(stored)
    if good and field.kind == form.COUNT:
        good = stored >= 1 and stored == int(stored)
    if not good or (unit is not None and not is_value(stored * unit.factor)):
        raise _Unfit(f"found {brief(_shown(stored))}, expected {_expected(field, unit)}")
    return int(stored) if field.kind == form.COUNT else float(stored)


def _shown(stored: Any) -> Any:
    """A date as people write it."""
    return stored.isoformat() if hasattr(stored, "isoformat") else stored


def _expected(field: form.FormField, unit: ResponseUnit | None) -> str:
    if field.kind == form.NUMBER and unit is not None:
        return f"a number from 0 in {unit.name}"
    return {form.CHOICE: f"one of {', '.join(field.choices)}", form.COUNT: "a whole number from 1"}.get(field.kind, "text")


def _with_unit(written: str, unit: ResponseUnit) -> float | str:
    """A text that has a unit of its own, such as `109 GB/s`, as a number in the unit of the cell; any other text as it is."""
    if not any(mark.isalpha() for mark in written):
        return written
    try:
        return parse(written, unit.base, "the value") / unit.factor
    except UsageError:
        return written


def judge(requirement: RequirementLine, offer: OfferLine | None, optimized: bool, confirmed: bool = False) -> LineVerdict:
    """The verdict on one line of an offer.

    Args:
        requirement: the requirement.
        offer: the vendor's line; None where the form has none.
        optimized: whether tuned values count.
        confirmed: whether the vendor has confirmed a value that looks like a slip of its unit.
    """
    found = offer or OfferLine(requirement.id, "", None, None, {field.head: "" for field in form.FIELDS})
    reserved = tuple(_reservations(requirement, found))
    if requirement.value is None:
        verdict, note = _of_term(requirement, found)
        return LineVerdict(requirement, verdict, None, None, found.stated, note, reserved)
    values = [value for value in (found.as_is, found.optimized if optimized else None) if value is not None]
    if not values or found.unit is None or physical(found.unit.base) != physical(requirement.unit):
        note = "only a tuned value was given; --optimized counts it" if found.optimized is not None else ""
        if values and found.unit is not None:
            note = f"offered in {found.unit.name}, required in {requirement.unit}"
        verdict = _without_value(requirement, found.comply)
        return LineVerdict(requirement, verdict, None, None, found.stated, _partial(found) or note, reserved)
    offered, required = max(values), requirement.value
    margin = float(solve("acceptance_margin", {"measured_rate": offered, "required_rate": required})) if required else None
    met = offered >= requirement.least * (1 - SAME)
    slip = slip_note(offered, required, found.unit)
    if slip and confirmed:
        reserved, slip = (*reserved, "confirmed as written"), ""
    if slip and found.comply != form.NO:
        note = "; ".join(filter(None, (slip, _partial(found))))
        return LineVerdict(requirement, SLIP, offered, margin, found.stated, note, reserved)
    binary = binary_note(offered, required, found.unit)
    note = _partial(found) or _contradiction(met, found.comply)
    noted = (*reserved, *filter(None, (slip, binary)))
    return LineVerdict(requirement, _verdict(met, found.comply), offered, margin, found.stated, note, noted)


def _verdict(met: bool, comply: str) -> str:
    if not met or comply == form.NO:
        return MISSED
    return PARTLY if comply == form.PARTIAL else MET


def _of_term(requirement: RequirementLine, offer: OfferLine) -> tuple[str, str]:
    """The verdict on a term and its note: a value against the bound of the term, else the word."""
    stated = offer.stated.get(form.AS_IS, "")
    if requirement.priority == ANSWER:
        return (ANSWERED if any((offer.comply, stated, _remark(offer))) else UNANSWERED), ""
    kept = bound_kept(requirement.bound, stated)
    word = {form.YES: MET, form.NO: MISSED, form.PARTIAL: PARTLY}.get(offer.comply, _silent(requirement))
    if kept is None:
        return word, _partial(offer)
    return _verdict(kept, offer.comply), _partial(offer) or _contradiction(kept, offer.comply)


def _without_value(requirement: RequirementLine, comply: str) -> str:
    return {form.YES: UNPROVEN, form.NO: MISSED, form.PARTIAL: PARTLY}.get(comply, _silent(requirement))


def _silent(requirement: RequirementLine) -> str:
    return UNASKED if requirement.priority == INFORMATION else UNANSWERED


def _partial(offer: OfferLine) -> str:
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
    if requirement.priority == MANDATORY and not offer.comply and has_value:
        yield f"{form.COMPLY} is blank"
    if requirement.value is None and (value := offer.stated.get(form.AS_IS) or offer.stated.get(form.OPTIMIZED)):
        yield f"states {visible(value)[:MOST_REMARK]}"
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
