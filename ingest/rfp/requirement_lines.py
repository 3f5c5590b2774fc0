"""The requirements that offers are judged by, as a workbook or a plan states them, and where a returned workbook differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from ingest.errors import IngestError, UsageError, brief, listed
from ingest.files import read_json_object
from ingest.requirement import ANSWER, FIGURE, PRIORITIES, lines_for_vendors, term_in_words
from ingest.rfp import response_form as form
from ingest.rfp.response_form import ResponseUnit, read_unit, response_unit
from ingest.rfp.workbook_reader import Rows, Sheet, SheetLine, same
from ingest.text import checked_id, one_line, visible
from ingest.units import parse, physical
from ingest.version import newer

#: A plan of a thousand jobs is a few megabytes; what is larger is something else.
MOST_BYTES = 64 * 2**20
MANDATORY, TARGET = PRIORITIES[:2]
#: How a term begins that an offered value is compared with.
BOUNDS = ("at least ", "at most ")
#: The status of a term that the buyer has not decided, which vendors do not receive.
UNDECIDED = "open"
#: The numbers of requirements and offers, in any unit.
SMALLEST, LARGEST = 1e-100, 1e100
#: Digits of a number whose last ones are the noise of a change of unit.
DIGITS = 15
#: Cells of an added sheet that are shown.
MOST_CELLS = 5
#: Characters of a long text that are shown before its first difference.
BEFORE = 20


@dataclass(frozen=True)
class RequirementLine:
    """One requirement, or one term of the service."""

    id: str  # of the requirement
    priority: str  # `mandatory`, `target` or `information`; `answer` for a term to which the vendor states the value
    value: float | None  # in `unit`; None for a term in words, which the vendor accepts or not
    unit: str  # a base unit
    clients: float | None = None  # number of client nodes that its test takes; None where that is open
    rounded: bool = True  # whether the value is the number that its statement prints; forms of format 1 print other ones
    statement: str = ""  # its sentence
    bound: str = ""  # of a term, such as `at least 99.9 %`; empty where a word is the answer
    conditions: str = ""  # of its test, in words
    fill: float | None = None  # share of the capacity in use
    outstanding: float | None = None  # bytes of the requests that are outstanding at a time
    required: str = ""  # of a term, as its form prints it: the bound, or the word


def is_value(stored: Any) -> TypeGuard[float]:
    """Whether a cell holds a number that a requirement or an offer can have: zero, or one whose ratio to another is finite."""
    number = isinstance(stored, (int, float)) and not isinstance(stored, bool)
    return number and (stored == 0 or SMALLEST <= stored <= LARGEST)


def in_base_units(number: float, unit: ResponseUnit) -> float:
    """A number of a form in base units, without the noise of the product.

    >>> in_base_units(37.8, read_unit("PB")), in_base_units(0.7, read_unit("GB/s"))
    (37800000000000000.0, 700000000.0)
    """
    return number if unit.factor == 1 else float(f"{number * unit.factor:.{DIGITS}g}")


def requirement_lines(sheet: Sheet) -> list[RequirementLine]:
    """The requirements on the sheet of requirements, each in the unit next to it.

    Raises IngestError: a line without a priority, or without a value in a known unit.
    """
    found: dict[str, RequirementLine] = {}
    head = required_in(sheet)
    for line in sheet.lines:
        name, priority, stored = str(line.stored[form.ID]), line.stored.get(form.PRIORITY), line.stored.get(head)
        shown = f"{sheet.path}: sheet '{sheet.name}': {visible_word(name)}"
        value, base = None, ""
        if stored is not None or line.stored.get(form.UNIT):
            try:
                unit = read_unit(str(line.stored.get(form.UNIT) or ""))
            except UsageError as error:
                raise IngestError(f"{shown}: {error}") from None
            base = unit.base
            value = in_base_units(stored, unit) if is_value(stored) else None
        if priority not in PRIORITIES or (base and not is_value(value)):
            expected = f"one of {', '.join(PRIORITIES)} and a number from 0"
            raise IngestError(f"{shown}: found {visible_word(priority)} {visible_word(stored)}, expected {expected}")
        clients = line.stored.get(form.CLIENTS)
        known = float(clients) if is_value(clients) else None
        statement, words = (str(line.stored.get(one) or "") for one in (form.STATEMENT, form.CONDITIONS))
        # Of an id that is listed twice the first line counts; the second one is reported as a difference.
        rounded = head == form.REQUIRED
        one = RequirementLine(name, str(priority), value, base, known, rounded, statement, "", words, *_tested(words))
        found.setdefault(name, one)
    return list(found.values())


_FILL = re.compile(r"\bat ([\d.]+) % fill")
_OUTSTANDING = re.compile(r"(?:sequential|random) ([\d.]+ [KM]iB)\b.*?at most ([\d,]+) outstanding requests")


def _tested(conditions: str) -> tuple[float | None, float | None]:
    """The fill and the bytes outstanding of a test, from its conditions in words.

    >>> _tested("sequential 1 MiB read; 32 threads per client; at most 512 outstanding requests in all; at 85 % fill")
    (0.85, 536870912.0)
    """
    fill, waiting = _FILL.search(conditions), _OUTSTANDING.search(conditions)
    depth = float(waiting[2].replace(",", "")) if waiting else 0.0
    return float(fill[1]) / 100 if fill else None, depth * parse(waiting[1], "B", "requests") if waiting else None


def required_in(sheet: Sheet) -> str:
    """The heading below which a sheet of requirements has what an offer must reach. Raises IngestError: it has none."""
    for head in (form.REQUIRED, form.VALUE):
        if head in sheet.heads:
            return head
    raise IngestError(f"{sheet.path}: sheet '{sheet.name}' lacks the heading '{form.REQUIRED}', expected it or '{form.VALUE}'")


def visible_word(found: object) -> str:
    """A cell from outside as a message shows it, in few characters."""
    return brief(str(found))[1:-1]


def stated_lines(sheets: Mapping[str, Sheet]) -> list[RequirementLine]:
    """The requirements of a workbook: those on their sheet, and the terms of the service that the form alone has."""
    lines = requirement_lines(sheets[form.REQUIREMENTS_SHEET])
    found, known = dict[str, RequirementLine](), {one.id for one in lines}
    for line in sheets[form.RESPONSE_SHEET].lines:
        name, priority = str(line.stored[form.ID]), line.stored.get(form.PRIORITY)
        if name not in known and priority in (*PRIORITIES, ANSWER) and not line.stored.get(form.UNIT):
            statement, bound = (str(line.stored.get(head) or "") for head in (form.REQUIREMENT, form.REQUIRED))
            # Other words than a bound repeat what the statement says.
            told = bound if bound == FIGURE or bound.startswith(BOUNDS) else ""
            found.setdefault(name, RequirementLine(name, str(priority), None, "", None, True, statement, told, required=bound))
    return [*lines, *found.values()]


def planned_lines(path: Path) -> tuple[list[RequirementLine], Rows]:
    """The requirements and the terms of a plan, and the rows of its award, as `ingest plan` and `ingest report` write them.

    Raises IngestError: not such a file, or a line that lacks a part.
    """
    data = read_json_object(path, "the plan that you sent, as `ingest plan` writes it in JSON", most=MOST_BYTES)
    if why := newer(data.get("format")):
        raise IngestError(f"{path}: {why}")
    lines, terms = data.get("requirements"), data.get("service") or []
    if not isinstance(lines, list) or not isinstance(terms, list) or not lines:
        raise IngestError(f"{path}: found no list 'requirements', expected the plan of one site, as `ingest plan` writes it")
    valued = [_planned(path, number, line, True) for number, line in enumerate(lines, start=1)]
    stated = [_planned(path, number, line, False) for number, line in enumerate(terms, start=1)]
    found = [*lines_for_vendors([one for one in valued if one]), *(one for one in stated if one)]
    if twice := [ident for ident, times in Counter(one.id for one in found).items() if times > 1]:
        raise IngestError(f"{path}: found the id '{twice[0]}' twice, expected one line for each id")
    award = data.get("award")
    years = [("years", data["years"])] if is_value(data.get("years")) else []
    return found, [*years, *(award.items() if isinstance(award, Mapping) else ())]


def _planned(path: Path, number: int, line: Any, valued: bool) -> RequirementLine | None:
    """A requirement of a plan, or a term of its service; None for a term that the buyer has not decided."""
    place = f"{path}: {'requirement' if valued else 'term'} {number}"
    if not isinstance(line, Mapping):
        raise IngestError(f"{place}: found {brief(line)}, expected an object")
    ident = checked_id(line.get("id"), f"{place}: id")
    if not valued:
        text, bound = (one_line(line.get(name) or "") for name in ("text", "bound"))
        value, words = line.get("value"), one_line(term_in_words(line.get("value"), line.get("type"), bound))
        return None if line.get("status") == UNDECIDED else term_line(ident, value, text, bound, words)
    # A buyer may leave a value open: then nothing is required.
    value, unit, priority = line.get("value") or 0, line.get("unit"), line.get("priority")
    if priority not in PRIORITIES or not is_value(value) or not isinstance(unit, str) or not unit:
        shown = f"{brief(priority)} {brief(value)} {brief(unit)}"
        raise IngestError(f"{place}: found {shown}, expected one of {', '.join(PRIORITIES)}, a number from 0 and its unit")
    conditions = line.get("conditions")
    named = conditions if isinstance(conditions, Mapping) else {}
    held = (named.get(name) for name in ("clients", "fill", "queue_depth", "io_size"))
    clients, fill, depth, size = (float(one) if is_value(one) else None for one in held)
    waiting = None if depth is None or size is None else depth * size
    words = "; ".join(filter(None, (one_line(line.get("requests") or ""), f"at {fill * 100:.4g} % fill" if fill else "")))
    stated = one_line(line.get("statement") or "")
    return RequirementLine(ident, str(priority), float(value), unit, clients, True, stated, "", words, fill, waiting)


def term_line(ident: str, value: object, text: str, bound: str, words: str) -> RequirementLine:
    """A term of the service: mandatory where the buyer has set a value, else the vendor states one."""
    priority = ANSWER if value is None else MANDATORY
    return RequirementLine(ident, priority, None, "", None, True, text, bound, required=bound or words)


class RequirementDifference(NamedTuple):
    """Where the returned workbook states another requirement than was sent."""

    id: str
    text: str

    def __str__(self) -> str:
        return f"{self.id}: {self.text}"


def differences(
    sent: Sequence[RequirementLine], returned: Mapping[str, Sheet], stated: Sheet | None = None
) -> Iterator[RequirementDifference]:
    """Where ids, values and texts of the returned sheets differ from the requirements that were sent.

    The `returned` are the sheet of requirements and the response form. The sheet that was sent, `stated`, is compared cell by
    cell with one of its kind; there is none where a plan was sent.
    """
    required = {one.id: one for one in sent}
    for name, sheet in returned.items():
        present = [str(line.stored[form.ID]) for line in sheet.lines]
        # A sheet of requirements may leave the terms of the service to another sheet.
        expected = [one.id for one in sent if name == form.RESPONSE_SHEET or one.value is not None]
        where = f"the line of sheet '{name}'"
        yield from (RequirementDifference(one, f"{where} was removed") for one in expected if one not in present)
        repeated = {one: n for one in required if (n := present.count(one)) > 1}
        yield from (RequirementDifference(one, f"{where} appears {n} times") for one, n in repeated.items())
        added = (one for one in dict.fromkeys(present) if one not in required)
        yield from (RequirementDifference(visible_word(one), f"{where} was added") for one in added)
        cells: dict[str, SheetLine] = {}
        # Both are buyer's sheets, or both are vendor's, which lack the computed value.
        if stated and name == form.REQUIREMENTS_SHEET and (form.VALUE in stated.heads) == (form.VALUE in sheet.heads):
            cells = {str(line.stored[form.ID]): line for line in reversed(stated.lines)}
        for line in sheet.lines:
            one = required.get(str(line.stored[form.ID]))
            if one is not None:
                for head, change in _changes(one, sheet, line, stated, cells.get(one.id)):
                    yield RequirementDifference(one.id, visible(f"'{head}' of sheet '{name}' {change}"))


def sheet_differences(sent: Mapping[str, Rows], returned: Mapping[str, Rows]) -> Iterator[RequirementDifference]:
    """Where the other sheets of the returned workbook, such as the terms, differ from those that were sent, cell by cell.

    >>> sent, returned = {"Terms": [("Delay", "0.5 %")], "Prices": [("Support", None)]}, {"Terms": [("Delay", "0.1 %")]}
    >>> [str(one) for one in sheet_differences(sent, {**returned, "Prices": [("Support", 9)]})]
    ["Terms!B1: is '0.1 %', was '0.5 %'"]
    """
    from openpyxl.utils import get_column_letter

    for name, rows in returned.items():
        if name not in sent:
            words = listed([one_line(str(cell)) for row in rows for cell in row if cell is not None], MOST_CELLS)
            yield RequirementDifference(visible_word(name), visible(f"the sheet was added: {words}"))
    for name, rows in sent.items():
        if name not in returned:
            yield RequirementDifference(visible_word(name), "the sheet was removed")
            continue
        for number, (was, found) in enumerate(zip_longest(rows, returned[name], fillvalue=()), start=1):
            for column, (before, after) in enumerate(zip_longest(was, found), start=1):
                # The vendor fills in the blank cells of the prices.
                if not same(after, before) and not (before is None and name == form.PRICES_SHEET):
                    place = f"{name}!{get_column_letter(column)}{number}"
                    shown = "blank" if before is None else _excerpt(before, after)
                    yield RequirementDifference(place, visible(f"is {_excerpt(after, before)}, was {shown}"))


def _changes(
    one: RequirementLine, sheet: Sheet, line: SheetLine, stated: Sheet | None, own: SheetLine | None
) -> Iterator[tuple[str, str]]:
    """What a line states otherwise than the requirement, by heading.

    Against its own line on the sheet that was sent every cell; else priority, text, clients, and the value in whatever unit.
    """
    at_response = sheet.name == form.RESPONSE_SHEET
    statement = form.REQUIREMENT if at_response else form.STATEMENT
    pairs = [(form.PRIORITY, one.priority), (statement, one.statement), (form.CLIENTS, one.clients)]
    if own is not None and stated is not None:
        pairs = [(head, own.stored.get(head)) for head in stated.heads if head not in ("", form.ID)]
    for head, was in pairs:
        found = line.stored.get(head)
        if (own is not None or head in sheet.heads) and not same(found, was):
            yield head, f"is {_excerpt(found, was)}, was {_excerpt(was, found)}"
    if own is not None:
        return
    requests = str(line.stored.get(form.REQUESTS) or "")
    if requests and not f"{one.conditions};".startswith(f"{requests};"):
        yield form.REQUESTS, f"is {_excerpt(requests, one.conditions)}, was {_excerpt(one.conditions, requests)}"
    head = form.REQUIRED if at_response else required_in(sheet)
    found, written = line.stored.get(head), line.stored.get(form.UNIT)
    if one.value is None:
        # Older forms leave a word blank that the statement says.
        if not same(found, one.bound) and not same(found, one.required):
            yield head, f"is {_excerpt(found, one.required)}, was {_excerpt(one.required, found) if one.required else 'blank'}"
        return
    unit = None
    with suppress(UsageError):
        unit = read_unit(str(written or ""))
    if unit is None or physical(unit.base) != physical(one.unit):
        yield form.UNIT, f"is {brief(written)}, was {response_unit(one.value, one.unit).name!r}"
    elif not (is_value(found) and same(found * unit.factor, one.value)):
        shown = f"{found:.12g} {unit.name}" if is_value(found) else _excerpt(found, "")
        yield head, f"is {shown}, was {one.value / unit.factor:.12g} {unit.name}"


def _excerpt(text: Any, other: Any) -> str:
    """A cell in few words: of a long text, from shortly before the first difference."""
    if not isinstance(text, str) or not isinstance(other, str):
        return brief(text)
    first = next((place for place, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), 0)
    start = max(first - BEFORE, 0)
    return brief(f"…{text[start:]}" if start else text)
