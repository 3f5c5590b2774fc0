"""Compliance of an offer, line by line: what is required, what the vendor filled in, slips of its units, and the verdict."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ingest.engine.registry import solve
from ingest.errors import UsageError, brief, expected_one_of
from ingest.requirement import ANSWER, FIGURE, INFORMATION, least_accepted
from ingest.rfp import response_form as form
from ingest.rfp import vendor_words
from ingest.rfp.requirement_lines import MANDATORY, RequirementLine, in_base_units, is_value
from ingest.rfp.response_form import ResponseUnit, read_unit, response_unit, units_offered
from ingest.rfp.vendor_words import REFERENCES, WORDS, WRITTEN, Counted, in_notation, limiting, limits, more_than, read_value
from ingest.rfp.workbook_reader import INVISIBLE, NUMBER, SAME, Sheet, SheetLine, is_formula, number_in
from ingest.text import visible
from ingest.units import display, physical

#: Characters of one text.
MOST_TEXT = 4_000
#: Verdicts.
MET, MISSED, PARTLY = "met", "missed", "partly"
UNANSWERED, UNPROVEN, UNASKED, SLIP = "no answer", "yes without a value", "for information", "unit slip"
ANSWERED, RESERVED, UNREADABLE, REJECTED = "answered", "with reservations", "not readable", "rejected"
#: What a verdict comes to, in the word of the JSON; a line that nobody must answer complies.
OUTCOMES = {MET: "complies", ANSWERED: "complies", RESERVED: "reservation", MISSED: "fails", PARTLY: "fails",
            REJECTED: "fails"}  # fmt: skip
#: What a person decides of a reservation.
ACCEPT, REJECT = "accept", "reject"
#: Where an offered value is taken as written, in multiples of the required one. Of 165 bandwidths and capacities of catalog
#: systems sized for the example sites, all are above the lower end and three quarters below the upper one; three of them would
#: be taken for slips (decision 0091). The ends are less than a thousand times apart, so that one power of ten fits at most.
PLAUSIBLE_FROM, PLAUSIBLE_TO = 1 / 3, 10
#: From how many times the required value on the number is named: bits that are written as bytes are eight.
NAMED_FROM, FAR = 8, "times what is required: confirm"
#: Powers of ten between a value and what is meant.
POWERS = range(3, 31, 3)
#: Relative difference from a power of 1.024: what rounding to three digits, as documents print binary numbers, can make.
OF_BINARY = 0.005
#: Relative difference of two values that printing each with three digits can make.
OF_PRINTING = 0.01
#: Words of consent and denial that people write instead of those of the form, words for no value, seconds of a duration by the
#: beginning of its noun, and nouns that no requirement counts.
SYNONYMS, NO_VALUE, DURATIONS = (WRITTEN[name] for name in ("synonyms", "no_value", "durations"))
NEUTRAL = (*WRITTEN["neutral"],)
DAY = 86_400
YEAR = DURATIONS["year"]
#: Years for which a system is usually planned: a promise for as many limits no rate.
USUAL_YEARS = 5
#: Nouns of which fewer make a value harder to reach.
CLIENTS = ("client", "node", "host", "compute")
FEWER_IS_HARDER = (CLIENTS, ("thread", "job", "process", "stream", "outstanding"))
KNOWN = (*CLIENTS, *FEWER_IS_HARDER[1], "failure")
#: The largest request of a test, in bytes.
LARGEST_REQUEST = 2**26
#: Years that a remark may name: they have passed.
FIRST_YEAR = 1990
#: The lines that are held against each other: all reads, all writes, both at once, data held, usable capacity, and the term
#: on the latency of a small read.
READS, WRITES, MIXED, HELD, USABLE, SMALL_READ = "R-READ-03", "R-WRITE-01", "R-MIX-01", "R-CAP-01", "R-CAP-03", "S-LAT-01"


@dataclass(frozen=True)
class OfferLine:
    """One line of the response form as the vendor filled it in."""

    id: str  # of the requirement
    comply: str  # `yes`, `no`, `partial` or empty
    as_is: float | None  # the value as delivered, in base units
    optimized: float | None  # the tuned value, in base units
    stated: Mapping[str, str]  # all fields as text, by heading
    unit: ResponseUnit | None = None  # in which the values are written; None on a line without one
    beside: tuple[str, ...] = ()  # what cells say beside their word or value, and comments on them
    faults: tuple[str, ...] = ()  # its cells that cannot be read, and what was expected
    noted: tuple[str, ...] = ()  # those that decide nothing


@dataclass(frozen=True)
class LineVerdict:
    """The verdict on one line of an offer."""

    requirement: RequirementLine  # the requirement
    #: `met`, `with reservations` where a person has to decide what a remark takes back, `missed`, `partly` (as the vendor
    #: states, which does not meet a mandatory requirement), `no answer`, `not readable`, `yes without a value`, `unit slip`
    #: where the value fits in another unit only, `answered` where the buyer sets no value, or `for information` where nothing
    #: is required or answered
    verdict: str
    offered: float | None  # the value that counts, in base units
    margin: float | None  # offered over required, less one
    stated: Mapping[str, str]  # all fields as text, by heading
    note: str = ""  # a slip of the unit, a contradiction of word and value, or what a partial answer remarks
    reservations: tuple[str, ...] = ()  # what qualifies the answer

    @property
    def answered(self) -> bool:
        """Whether the vendor filled in anything."""
        return self.verdict not in (UNANSWERED, UNASKED, UNREADABLE) or bool(self.reservations)

    @property
    def outcome(self) -> str:
        """`complies`, `reservation`, `fails` or `unanswered`."""
        return OUTCOMES.get(self.verdict, "unanswered")

    @property
    def notes(self) -> str:
        """The note and the reservations."""
        return "; ".join(filter(None, (self.note, *self.reservations)))

    def in_short(self) -> dict[str, Any]:
        """The outcome as JSON."""
        one, remark = self.requirement, self.stated.get(form.REMARKS, "")
        required = one.bound if one.value is None else one.value
        return {"id": one.id, "result": self.outcome, "offered": self.offered, "required": required, "remark": remark}

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        one = self.requirement
        required = {"id": one.id, "priority": one.priority, "required": one.value, "unit": one.unit}
        return {**required, "result": self.verdict, "offered": self.offered, "margin": self.margin,
                "said": dict(self.stated), "note": self.note, "reservations": list(self.reservations)}  # fmt: skip


def offer_lines(sheet: Sheet) -> list[OfferLine]:
    """The vendor's answers on the response form; a cell that cannot be read costs its line."""
    return [_offer_line(sheet, line) for line in sheet.lines]


def _offer_line(sheet: Sheet, line: SheetLine) -> OfferLine:
    """One line of the form."""
    found: dict[str, Any] = {}
    merged = [(area, [int(row) for row in re.findall(r"\d+", area)]) for area in sheet.merged]
    faults = [f"{area} is one merged cell, expected a cell for each answer"
              for area, rows in merged if rows[0] <= line.row <= rows[-1]]  # fmt: skip
    beside = [sheet.comments[line.row]] if line.row in sheet.comments else []
    noted: list[str] = []
    unit = None
    try:
        unit = _unit(line)
    except UsageError as why:
        head = form.OFFERED_UNIT if line.stored.get(form.OFFERED_UNIT) else form.UNIT
        faults.append(f"{sheet.place(head, line)} ('{head}'): {why}")
    for field in form.FIELDS:
        try:
            found[field.head], words = _answer(field, line, unit)
            beside += [words] if words else []
            if isinstance(live := line.live.get(field.head), str) and INVISIBLE.search(live):
                beside.append(f"characters of '{field.head}' that are not shown")
        except UsageError as why:
            fault = f"{sheet.place(field.head, line)} ('{field.head}'): {why}"
            # A cell that decides nothing is noted; the value as delivered and the word are the answer.
            (faults if field.head in (form.COMPLY, form.AS_IS, form.REMARKS) else noted).append(visible(fault))
    stated = {head: "" if value is None else str(value) for head, value in found.items()}
    values = (found.get(head) for head in (form.AS_IS, form.OPTIMIZED))
    as_is, tuned = (in_base_units(one, unit) if unit and isinstance(one, float) else None for one in values)
    ident = str(line.stored[form.ID])
    return OfferLine(
        ident, stated.get(form.COMPLY, ""), as_is, tuned, stated, unit, tuple(beside), tuple(map(visible, faults)), tuple(noted)
    )


def _unit(line: SheetLine) -> ResponseUnit | None:
    """The unit of the values of a line: the one that the vendor picked, else that of the line; None on a line in words."""
    own, picked = line.stored.get(form.UNIT), line.stored.get(form.OFFERED_UNIT)
    if not own and not picked:
        return None
    asked = read_unit(str(own or picked))
    unit = read_unit(in_notation(str(picked))) if picked else asked
    if physical(unit.base) != physical(asked.base):
        raise UsageError(f"found {brief(picked)}, expected one of {', '.join(units_offered(asked))}")
    return unit


def _answer(field: form.FormField, line: SheetLine, unit: ResponseUnit | None) -> tuple[Any, str]:
    """The content of a cell of the vendor's: a word, a number, text, or None; and what the cell says beside it.

    Raises UsageError: it does not fit its field.
    """
    stored, live = line.stored.get(field.head), line.live.get(field.head)
    is_number = field.kind == form.NUMBER and unit is not None
    expected = {form.CHOICE: f"one of {', '.join(field.choices)}", form.COUNT: "a whole number from 1"}.get(field.kind, "text")
    if is_number and unit is not None:
        expected = f"a number from 0 in {unit.name}"
    if is_formula(live):
        raise UsageError(f"found the formula {brief(str(live))}, expected {expected}")
    if stored is None or (isinstance(stored, str) and not stored.strip()):
        return None, ""
    shown = brief(stored.isoformat() if hasattr(stored, "isoformat") else stored)
    text = " ".join(str(stored).split())
    if len(text) > MOST_TEXT:
        raise UsageError(f"found {len(text):,} characters, expected at most {MOST_TEXT:,}")
    if field.kind == form.CHOICE:
        word = text.split(" ")[0].strip(".,;:!").lower()
        chosen = SYNONYMS.get(word, word)
        if chosen not in field.choices:
            raise UsageError(f"found {shown}, {expected_one_of(text.lower(), field.choices)}")
        return chosen, text[len(word) :].strip(" .,;:!–-")
    if field.kind != form.COUNT and not is_number:
        return text, ""
    number, beside = stored, ""
    if isinstance(stored, str) and field.head != form.AS_IS and text.lower() in NO_VALUE:
        return None, ""
    if field.kind == form.COUNT and isinstance(stored, str):
        number = number_in(stored)
    if unit is not None and isinstance(stored, str):
        required = line.stored.get(form.REQUIRED)
        asked = read_unit(str(line.stored.get(form.UNIT) or unit.name)).factor * required if is_value(required) else 0.0
        read = read_value(
            text,
            lambda written: vendor_words.parsed(written, unit.base),
            lambda value: not asked or PLAUSIBLE_FROM * asked <= value <= PLAUSIBLE_TO * asked,
            lambda value: in_base_units(value, unit),
        )
        if read.value is None:
            raise UsageError(f"found {shown}, expected {expected}: {read.why}")
        # Words beside a value are told about as a sentence with it.
        number, beside = read.value / unit.factor, text if read.beside else ""
    whole = field.kind != form.COUNT or (is_value(number) and number >= 1 and number == int(number))
    if not is_value(number) or not whole or (unit is not None and not is_value(number * unit.factor)):
        raise UsageError(f"found {shown}, expected {expected}")
    return (int(number) if field.kind == form.COUNT else float(number)), beside


def judge(
    requirement: RequirementLine,
    offer: OfferLine | None,
    optimized: bool,
    confirmed: bool = False,
    contradictions: Sequence[str] = (),
    decided: tuple[str, str] | None = None,
) -> LineVerdict:
    """The verdict on one line of an offer, of which the form may have none; `optimized` counts tuned values too.

    Args:
        confirmed: whether the vendor has confirmed a value that looks like a slip of its unit.
        contradictions: what the line says against other lines of the offer.
        decided: what a person has decided, `accept` of its reservations, or `reject` of the line, and why.

    Raises UsageError: an acceptance of a line without reservations.
    """
    found = _judged(requirement, offer, optimized, confirmed)
    limits = [*contradictions, *(_limits(requirement, offer) if offer is not None else ())]
    if found.margin is not None and found.margin + 1 >= vendor_words.ASKED_FROM:
        limits += [one for one in found.reservations if FAR in one]
    found = replace(found, reservations=(*found.reservations, *contradictions))
    word, why = decided or ("", "")
    if word == REJECT:
        return replace(found, verdict=REJECTED, reservations=(*found.reservations, f"rejected: {why}"))
    if found.verdict not in (MET, ANSWERED) or not limits or requirement.priority == INFORMATION:
        if word:
            raise UsageError(f"--decisions: {requirement.id}: found a line without reservations, expected one with some")
        return found
    if word:
        return replace(found, reservations=(*found.reservations, f"accepted: {why}"))
    told = [one for one in limits if one not in found.reservations]
    return replace(found, verdict=RESERVED, reservations=(*found.reservations, *told))


def _judged(requirement: RequirementLine, offer: OfferLine | None, optimized: bool, confirmed: bool) -> LineVerdict:
    """The verdict on one line, as if nothing in it were reserved."""
    found = offer or OfferLine(requirement.id, "", None, None, {field.head: "" for field in form.FIELDS})
    comply, stated, remark = found.comply, found.stated, visible(found.stated.get(form.REMARKS, ""))
    if found.faults:
        return LineVerdict(requirement, UNREADABLE, None, None, stated, "; ".join(found.faults))
    reserved = tuple(_reservations(requirement, found, remark))
    partial = "" if comply != form.PARTIAL else f"says '{form.PARTIAL}'" + (f": {remark}" if remark else ", without a remark")
    silent = UNASKED if requirement.priority == INFORMATION else UNANSWERED
    words = {form.YES: MET, form.NO: MISSED, form.PARTIAL: PARTLY}

    def by_value(met: bool) -> tuple[str, str]:
        """The verdict on a value and its note: what is partial, or where word and value contradict each other."""
        if met and comply == form.NO:
            return MISSED, f"says '{comply}', but its value meets the requirement"
        if not met:
            return MISSED, partial or ("says 'yes', but its value misses the requirement" if comply == form.YES else "")
        return PARTLY if comply == form.PARTIAL else MET, partial

    if requirement.value is None:
        written = stated.get(form.AS_IS, "")
        if requirement.priority == ANSWER:
            said = [one for one in (comply, written, remark) if one.lower().strip(" .") not in ("", *NO_VALUE)]
            empty = bool(said) and requirement.bound == FIGURE and not any(map(str.isdigit, " ".join(said)))
            note = "states no figure" if empty else ""
            # A 'yes' beside `n/a` says nothing.
            empty = empty or not said or (said == [form.YES] and any(map(str.isalpha, written + remark)))
            return LineVerdict(requirement, UNANSWERED if empty else ANSWERED, None, None, stated, note, reserved)
        # A value against the bound of the term, else the word.
        kept = vendor_words.bound_kept(requirement.bound, written)
        verdict, note = (words.get(comply, silent), partial) if kept is None else by_value(kept)
        return LineVerdict(requirement, verdict, None, None, stated, note, reserved)
    values = [value for value in (found.as_is, found.optimized if optimized else None) if value is not None]
    if not values or found.unit is None or physical(found.unit.base) != physical(requirement.unit):
        note = "only a tuned value was given; --optimized counts it" if found.optimized is not None else ""
        if values and found.unit is not None:
            note = f"offered in {found.unit.name}, required in {requirement.unit}"
        verdict = (words | {form.YES: UNPROVEN}).get(comply, silent)
        return LineVerdict(requirement, verdict, None, None, stated, partial or note, reserved)
    offered, required = max(values), requirement.value
    margin = float(solve("acceptance_margin", {"measured_rate": offered, "required_rate": required})) if required else None
    slip, meant = "", meant_instead(offered, required, found.unit)
    if meant is not None and confirmed:
        reserved = (*reserved, "confirmed as written")
    elif meant is not None:
        shown, asked, near = (display(value, found.unit.base, binary=False) for value in (offered, required, meant))
        slip = f"unit slip? {shown} is offered, {asked} is required: confirm whether {near} is meant"
    if slip and comply != form.NO:
        note = "; ".join(filter(None, (slip, partial)))
        return LineVerdict(requirement, SLIP, offered, margin, stated, note, reserved)
    least = required if requirement.rounded else least_accepted(required, requirement.unit)
    verdict, note = by_value(offered >= least * (1 - SAME))
    noted = (*reserved, *filter(None, (slip, "" if confirmed else ratio_note(offered, required, found.unit))))
    return LineVerdict(requirement, verdict, offered, margin, stated, note, noted)


def _reservations(requirement: RequirementLine, offer: OfferLine, remark: str) -> Iterator[str]:
    """What to read next to the verdict on an answer, a phrase each."""
    if requirement.value is None and (value := offer.stated.get(form.AS_IS) or offer.stated.get(form.OPTIMIZED)):
        yield f"states {visible(value)}"
    if offer.stated.get(form.BASIS) == form.PROJECTED:
        yield form.PROJECTED
    yield from (f"beside the answer: {visible(words)}" for words in offer.beside)
    yield from (f"not read: {fault}" for fault in offer.noted)
    if offer.comply != form.PARTIAL and remark:
        yield f"remark: {remark}"


def _limits(requirement: RequirementLine, offer: OfferLine) -> Iterator[str]:
    """Why a person has to decide on an answer, a phrase each."""
    has_value = offer.as_is is not None or offer.optimized is not None
    if requirement.priority == MANDATORY and not offer.comply and has_value:
        yield f"{form.COMPLY} is blank"
    nodes = offer.stated.get(form.NODES)
    if nodes and requirement.clients is not None and int(nodes) != requirement.clients:
        verb = "needs" if int(nodes) > requirement.clients else "is of"
        yield f"{verb} {int(nodes):,} clients, where the requirement has {requirement.clients:,.0f}"
    texts, written = [offer.stated.get(form.REMARKS, ""), *offer.beside], offer.stated.get(form.AS_IS, "")
    if requirement.priority == ANSWER:  # its words are the answer, unless they put it off
        put_off = map(WORDS["postpones"].search, (*texts, written))
        yield from (f"postpones: '{visible(found[0].lower())}'" for found in put_off if found)
        return
    if requirement.value is None and vendor_words.bound_kept(requirement.bound, written) is None:
        if (unit := requirement.bound.rpartition(" ")[2]) and NUMBER.fullmatch(written):
            yield f"states {visible(written)} without its unit, such as '{unit}', where the requirement has {requirement.bound}"
        else:
            texts.append(written)
    elif requirement.value is None and vendor_words.is_far(requirement.bound, written):
        yield f"states {visible(written)}, where the requirement has {requirement.bound}: confirm the unit"

    required = f"{requirement.statement} {requirement.bound} {requirement.conditions}"
    yield from (visible(why) for text in texts if text and (why := limits(text, partial(unasked, requirement), required)))
    for field in form.FIELDS:
        text = offer.stated.get(field.head, "")
        if field.kind != form.TEXT or field.head == form.REMARKS:
            continue
        # Names of products and files are of any words: those that limit tell, and beside the names of files all others.
        text = REFERENCES.sub(" ", text)
        if word := limiting(text) or (field.head == form.LOG and more_than(re.sub(r"\S*[./_\\]\S*", " ", text))):
            yield f"{field.head}: {visible(offer.stated[field.head])}; {word}"
    if any(f"'{form.BASIS}'" in fault for fault in offer.noted):
        yield f"{form.BASIS}: not known"


def unasked(requirement: RequirementLine, found: Counted, beside_value: bool) -> str | None:
    """What is wrong with a number of a remark; empty where it is as the requirement asks, None where none of its business."""
    agrees = "" if requirement.value is None else None  # a count or a time that is asked for, of a term in words
    number, noun = found.number, re.sub(r"[^\w%/].*$", "", " ".join(found.after.split()[:1])).lower()
    shown = f"{number:.12g} {' '.join(found.after.split()[:1]).strip('.,;:()')}".strip()
    words = f"{requirement.statement} {requirement.bound} {requirement.conditions}"
    stated = WORDS["spelled"].sub(lambda word: str(WRITTEN["numbers"][word[1].lower()]), words)
    if not (noun or found.before or requirement.bound) and len(only := _counts(stated)) == 1:
        noun = only[0][1]  # a number alone is the one that the sentence has
    value = number if requirement.unit == "file" and not noun else _in_unit(requirement, found)
    if value is not None:
        least = least_accepted(requirement.value or 0.0, requirement.unit) * (1 - SAME)
        if value < least and any(WORDS["part"].search(side) for side in (found.before, found.after)):
            return None  # that of one of several
        enough = value >= least or any(WORDS[name].search(found.before) for name in ("scatter", "exceeded"))
        return "" if enough else f"states {shown}, below what is required"
    seconds = _seconds(number, noun)
    written = re.sub(r"(?<=\d)(?=[^\W\d])", " ", in_notation(shown)) if seconds is None else f"{seconds} s"
    if noun == "%" and WORDS["lost"].search(found.before):
        written = f"{100 - number:.12g} %"
    # Neither a fill nor how long a test lasts is what a sentence bounds, nor what stands in brackets.
    bounded = not (WORDS["lasting"].search(found.before) or WORDS["fill"].match(found.after))
    own = WORDS["bounds"].finditer(in_notation(re.sub(r"\(.*?\)", "", requirement.statement))) if bounded else ()
    sides = (vendor_words.AT_MOST, vendor_words.AT_LEAST)
    bounds = (in_notation(requirement.bound), *(f"{sides[bool(one['least'])]} {one['value']}" for one in own))
    slowest = seconds and WORDS["percentile"].search(f"{found.before} | {found.after}")  # which the mean does not bound
    # A number alone in a sentence is no share.
    for bound in (one for one in bounds if not slowest and (noun or one[-1:] != "%")):
        kept = vendor_words.bound_kept(bound.removesuffix(" times"), written.removesuffix(" times"))
        # Years are not held against hours, nor minutes against a latency, but for a time that keeps a ceiling, or of a term.
        ceiling = bound.startswith(vendor_words.AT_MOST) and (kept or bound == requirement.bound)
        limit = None if ceiling or seconds is None else vendor_words.parsed(bound.split(" ", 2)[-1], "s")
        if kept is not None and (not seconds or not limit or (seconds > DAY, seconds < 1) == (limit > DAY, limit < 1)):
            part = WORDS["kinds"].match(found.after)
            if kept and part and not WORDS["kinds"].search(stated):
                kept, shown = False, f"{number:g} {part[0]}"
            elif kept and vendor_words.adds_up(bound, found):
                kept, shown = False, f"{shown} as one of several"
            kept = kept and not vendor_words.is_far(bound, written)
            return "" if kept else f"states {shown}, where the requirement has {bound}"
    if WORDS["whole_share"].search(f"{found.before} {shown}") or (seconds is not None and WORDS["often"].search(found.before)):
        return None  # all of what was tested, and how often something is done
    if noun.startswith("%") or noun in ("per", "percent"):
        return _unasked_share(found, stated, shown)
    if seconds is not None:
        if re.match(r"\w+\W+(?:response|reaction|recovery|replacement|delivery|on-?site)\b", found.after):
            return None
        asked = [time for one, word in _counts(stated) if (time := _seconds(one, word)) is not None]
        if seconds < 1 and (waits := [time for time in asked if time < 1]):
            # Latencies: the mean has its own ceiling, the lowest one.
            mean = not slowest and re.search(r"\b(?:mean|average)\b", found.before, re.IGNORECASE)
            longest = min(waits) if mean else max(waits)
            return agrees if seconds <= longest * (1 + SAME) else f"states {shown}, more than is asked for"
        # Years are no duration of a test, nor minutes a warranty.
        if not asked or ((seconds > DAY) != (max(asked) > DAY) and max(asked) != DAY) or seconds < 1 <= max(asked):
            # Of the service, or as long as a system is usually used.
            planned = requirement.value is not None or "years of the plan" in stated
            beside = WORDS["service"].search(found.before) or (planned and seconds >= USUAL_YEARS * YEAR)
            return None if beside else f"states {shown}, which is not asked for"
        return agrees if seconds >= max(asked) * (1 - SAME) else f"states {shown}, less than is asked for"
    if modified := re.match(rf"(?:(?!per\b)[\w-]+[\s-]+){{,2}}({'|'.join((*KNOWN, *NEUTRAL))})\w*", found.after, re.IGNORECASE):
        noun = re.split(r"[\s-]+", modified[0])[-1].lower()
    for nouns in FEWER_IS_HARDER:
        if noun.startswith(nouns):
            counts = [one for one, word in _counts(stated) if word.startswith(nouns)]
            most = requirement.clients if nouns is CLIENTS and requirement.clients else max(counts, default=None)
            if most is not None and number > most:
                return f"states {shown}, where the requirement has {most:g}"
            return None if number in {most, *counts} or most is None or beside_value else f"states {shown}, without a value"
    # A drive write per day, and a failure that the parity survives.
    failing = {"drive": "failure", "drives": "failure"} if "failures of drives" in stated else {"dwpd": "drive"}
    counted = {"parity": "failure", **failing}.get(noun, noun).rstrip("s")
    counts = [one for one, word in _counts(stated) if counted and word.rstrip("s") == counted]
    if counts:
        return agrees if number >= max(counts) else f"states {shown}, where the requirement has {max(counts):g}"
    is_year = FIRST_YEAR <= number <= datetime.date.today().year and not noun[:1].isalpha()
    size = vendor_words.parsed(f"{number!r} {found.after.split()[0].strip('.,;:()')}", "B") if found.after else None
    if size is not None and size <= LARGEST_REQUEST:
        requests = {vendor_words.parsed(one, "B") for one in re.findall(r"\d[\d.]* [KM]iB", stated)}
        # A term in words asks for no size of requests.
        sized = requirement.value is None and re.match(r"\w+\s+(?:requests?|reads?|writes?|transfers?|I/Os?)\b", found.after)
        return None if size in requests or not (requests or sized) else f"states {shown}, which is not asked for"
    # A term in words asks for the numbers of its own sentence alone.
    worded = requirement.value is None and not requirement.bound and noun.isalpha() and size is None
    alone = requirement.value is None and not found.before and WORDS["amount_alone"].match(found.after)
    neutral = not alone and (worded or noun.startswith(NEUTRAL) or (size is not None and requirement.unit != "B"))
    return None if is_year or neutral or WORDS["exceeded"].search(found.before) else f"states {shown}, which is not asked for"


def _in_unit(requirement: RequirementLine, found: Counted) -> float | None:
    """A number of a remark in the unit of the requirement, or in that of its bound; None where it is another."""
    words = [word.strip(".,;:()") for word in found.after.split()[:4]]
    if requirement.value is None:
        return None
    for unit in (" ".join(words[:many]) for many in range(len(words), 0, -1)):
        written = in_notation(unit)
        # A bare `per second` counts what the requirement counts.
        written = requirement.unit if written[:1] == "/" and requirement.unit.endswith(written) else written
        if unit and (value := vendor_words.parsed(f"{found.number!r} {written}", requirement.unit)) is not None:
            return value
    return None


def _unasked_share(found: Counted, stated: str, shown: str) -> str | None:
    """What is wrong with a percentage: a fill below that of the requirement, or a part of something."""
    rest = re.sub(r"^(?:%|per\s?cent)\s*", "", found.after)
    if WORDS["exceeding"].match(rest) or WORDS["exceeded"].search(found.before):
        return ""
    fill = re.search(r"([\d.]+) % (?:fill|of its usable)", stated)
    if fill and WORDS["fill"].match(found.after):
        emptier = "no more than" in stated[: fill.start()][-15:]  # of a capacity: held at any fill below
        return None if emptier or found.number >= float(fill[1]) else f"states {shown}, less than is asked for"
    asked = {one for one, word in _counts(stated) if word.startswith("%")}
    part = rest.startswith("of") and f"{found.number:g} % of" not in stated
    return None if found.number in asked and not part else f"states {shown}, which is not asked for"


def _seconds(number: float, noun: str) -> float | None:
    """A duration in words; None for another noun."""
    whole = noun.removesuffix("s") if noun not in ("ms", "s") else noun
    return next(
        (number * time for stem, time in DURATIONS.items() if whole == stem or (stem[3:] and noun.startswith(stem))), None
    )


def _counts(text: str) -> list[tuple[float, str]]:
    """The numbers of a sentence of our own, whose commas group, each with the word after it."""
    found = re.findall(r"(\d[\d,]*(?:\.\d+)?)\s*(%|[a-z]+)?", text)
    return [(float(number.replace(",", "")), word) for number, word in found]


def contradictions(requirements: Sequence[RequirementLine], offers: Mapping[str, OfferLine]) -> dict[str, list[str]]:
    """Where values of one offer cannot hold together, by requirement.

    One node draws no more than all of them do; a mix is no more than its parts; data held are no more than the fill allows of
    what is usable; and a rate is no more than the outstanding requests over the latency that is offered for a small read.
    """
    found: dict[str, list[str]] = {}
    read = ((one.id, offers[one.id]) for one in requirements if one.id in offers)
    values = {ident: offer.as_is for ident, offer in read if offer.as_is is not None and not offer.faults}
    unit = {one.id: physical(one.unit) for one in requirements}

    def over(ident: str, most: float, why: str) -> None:
        if values[ident] > most * (1 + OF_PRINTING):
            shown = (display(value, unit[ident], binary=False) for value in (values[ident], most))
            found.setdefault(ident, []).append("{} is more than {}, {}".format(*shown, why))

    time = offers[SMALL_READ].stated.get(form.AS_IS, "") if SMALL_READ in offers else ""
    small_read = vendor_words.parsed(time, "s") if any(mark.isalpha() for mark in time) else None
    for one in requirements:
        if one.id not in values:
            continue
        kind = one.id.rsplit("-", 1)[0]
        many = [value for other in requirements if other.id.startswith(kind) and other.clients != 1
                and (value := values.get(other.id)) is not None and unit[other.id] == unit[one.id]]  # fmt: skip
        if one.clients == 1 and unit[one.id] == "B/s" and many:
            over(one.id, max(many), "the most that is offered for all clients together")
        if one.id == MIXED and {READS, WRITES} <= values.keys():
            over(one.id, values[READS] + values[WRITES], f"{READS} and {WRITES} together")
        if one.id == HELD and USABLE in values:
            over(one.id, values[USABLE] * (one.fill or 1), f"the fill limit of {USABLE}")
        if small_read and one.outstanding and unit[one.id] == "B/s":
            over(one.id, one.outstanding / small_read, f"what the outstanding requests reach at the latency of {SMALL_READ}")
    return found


def meant_instead(offered: float, required: float, unit: ResponseUnit) -> float | None:
    """The value that an answer was probably meant to be; None where the answer is plausible, or no power of ten makes it so.

    Both values are in base units, the unit is that of the answer. A system may hold thousands of times the files that are
    required; somebody who writes a plain count has no prefix to mistake.
    """
    low, high = PLAUSIBLE_FROM * required, PLAUSIBLE_TO * required
    if not required or low <= offered <= high:
        return None
    for power in POWERS:
        if low <= offered * 10.0**power <= high:
            return offered * 10.0**power
        most = high if power == POWERS[0] else low * 10 ** POWERS[0]  # nothing is a million times what is required
        if low <= offered / 10.0**power <= most and (power > POWERS[0] or unit.factor > 1 or "/" in unit.base):
            return offered / 10.0**power
    return None


def ratio_note(offered: float, required: float, unit: ResponseUnit) -> str:
    """A remark on an answer that is many times the required one, or whose number is it in GiB instead of GB, or the reverse.

    Empty for others, and for many times the files, which a system just holds. An answer in a decimal unit that is above the
    requirement by the ratio of GiB to GB is right in both readings.
    """
    ratio, is_bytes = offered / required if required else 0.0, unit.base.split("/")[0] == "B"
    if ratio >= NAMED_FROM and unit.base != "file":
        return f"{ratio:.3g} {FAR} {'that bytes are meant, not bits' if is_bytes and ratio < PLAUSIBLE_TO else 'the value'}"
    named = unit if unit.power else response_unit(required, unit.base)
    if not named.power or not is_bytes:
        return ""
    step = 1.024**named.power
    decimal = named.name.replace("i", "", 1) if named.binary else named.name
    binary = f"{decimal[0].upper()}i{decimal[1:]}"
    pair, expected = (f"{binary} to {decimal}", step) if unit.binary else (f"{decimal} to {binary}", 1 / step)
    told = f"offered / required is {ratio:.3f}, the ratio of {pair}: confirm the unit"
    return told if abs(ratio / expected - 1) <= OF_BINARY else ""
