"""The requirements that offers are judged by: as a workbook states them, or as a plan does."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ingest.errors import IngestError, UsageError, brief
from ingest.files import read_json_object
from ingest.requirement import ANSWER, PRIORITIES, least_accepted, lines_for_vendors
from ingest.rfp import response_form as form
from ingest.rfp.response_units import ResponseUnit, read_unit
from ingest.rfp.workbook_reader import Sheet
from ingest.text import checked_id, one_line
from ingest.version import newer

#: A plan of a thousand jobs is a few megabytes; what is larger is something else.
MOST_BYTES = 64 * 2**20
MANDATORY, TARGET = PRIORITIES[:2]
#: The status of a term that the buyer has not decided, which vendors do not receive.
UNDECIDED = "open"
#: The numbers of requirements and offers, in any unit.
SMALLEST, LARGEST = 1e-100, 1e100
#: Digits of a number whose last ones are the noise of a change of unit.
DIGITS = 15


@dataclass(frozen=True)
class RequirementLine:
    """One requirement, or one term of the service.

    Attributes:
        id: of the requirement.
        priority: `mandatory`, `target` or `information`; `answer` for a term to which the vendor states the value.
        value: in `unit`; None for a term in words, which the vendor accepts or not.
        unit: a base unit.
        clients: number of client nodes that its test takes; None where that is open.
        rounded: whether the value is the number that its statement prints; forms of format 1 print other ones.
        statement: its sentence.
        bound: of a term, such as `at least 99.9 %`; empty where a word is the answer.
    """

    id: str
    priority: str
    value: float | None
    unit: str
    clients: float | None = None
    rounded: bool = True
    statement: str = ""
    bound: str = ""

    @property
    def least(self) -> float:
        """The lowest offer that meets it."""
        required = self.value or 0
        return required if self.rounded else least_accepted(required, self.unit)


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

    Raises:
        IngestError: a line without a priority, or without a value in a known unit.
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
        statement = str(line.stored.get(form.STATEMENT) or "")
        # Of an id that is listed twice the first line counts; the second one is reported as a difference.
        found.setdefault(name, RequirementLine(name, str(priority), value, base, known, head == form.REQUIRED, statement))
    return list(found.values())


def required_in(sheet: Sheet) -> str:
    """The heading below which a sheet of requirements has what an offer must reach.

    Raises:
        IngestError: it has none.
    """
    for head in (form.REQUIRED, form.VALUE):
        if head in sheet.heads:
            return head
    raise IngestError(f"{sheet.path}: sheet '{sheet.name}' lacks the heading '{form.REQUIRED}', expected it or '{form.VALUE}'")


def visible_word(found: object) -> str:
    """A cell from outside as a message shows it, in few characters."""
    return brief(str(found))[1:-1]


def terms_on(form_sheet: Sheet, known: Container[str]) -> list[RequirementLine]:
    """The terms of the service on a response form: lines without a unit whose id the sheet of requirements does not have."""
    found: dict[str, RequirementLine] = {}
    for line in form_sheet.lines:
        name, priority = str(line.stored[form.ID]), line.stored.get(form.PRIORITY)
        if name not in known and priority in (*PRIORITIES, ANSWER) and not line.stored.get(form.UNIT):
            statement, bound = (str(line.stored.get(head) or "") for head in (form.REQUIREMENT, form.REQUIRED))
            found.setdefault(name, RequirementLine(name, str(priority), None, "", None, True, statement, bound))
    return list(found.values())


def planned_lines(path: Path) -> list[RequirementLine]:
    """The requirements and the terms of a plan, as `ingest plan` and `ingest report` write them in JSON.

    Raises:
        IngestError: not such a file, or a line that lacks a part.
    """
    data = read_json_object(path, "the plan that you sent, as `ingest plan` writes it in JSON", most=MOST_BYTES)
    if why := newer(data.get("format")):
        raise IngestError(f"{path}: {why}")
    lines, terms = data.get("requirements"), data.get("service") or []
    if not isinstance(lines, list) or not isinstance(terms, list) or not lines:
        raise IngestError(f"{path}: found no list 'requirements', expected the plan of one site, as `ingest plan` writes it")
    found = [*lines_for_vendors(list(_planned(path, lines, True))), *_planned(path, terms, False)]
    seen: set[str] = set()
    for one in found:
        if one.id in seen:
            raise IngestError(f"{path}: found the id '{one.id}' twice, expected one line for each id")
        seen.add(one.id)
    return found


def _planned(path: Path, lines: Iterable[Any], valued: bool) -> Iterable[RequirementLine]:
    for number, line in enumerate(lines, start=1):
        place = f"{path}: {'requirement' if valued else 'term'} {number}"
        if not isinstance(line, Mapping):
            raise IngestError(f"{place}: found {brief(line)}, expected an object")
        ident = checked_id(line.get("id"), f"{place}: id")
        if valued:
            yield _required(ident, line, place)
        elif line.get("status") != UNDECIDED:
            text, bound = (one_line(line.get(name) or "") for name in ("text", "bound"))
            yield term_line(ident, line.get("value"), text, bound)


def _required(ident: str, line: Mapping[str, Any], place: str) -> RequirementLine:
    # A buyer may leave a value open: then nothing is required.
    value, unit, priority = line.get("value") or 0, line.get("unit"), line.get("priority")
    if priority not in PRIORITIES or not is_value(value) or not isinstance(unit, str) or not unit:
        shown = f"{brief(priority)} {brief(value)} {brief(unit)}"
        raise IngestError(f"{place}: found {shown}, expected one of {', '.join(PRIORITIES)}, a number from 0 and its unit")
    conditions = line.get("conditions")
    clients = conditions.get("clients") if isinstance(conditions, Mapping) else None
    known = float(clients) if is_value(clients) else None
    return RequirementLine(ident, str(priority), float(value), unit, known, True, one_line(line.get("statement") or ""))


def term_line(ident: str, value: object, text: str, bound: str) -> RequirementLine:
    """A term of the service: mandatory where the buyer has set a value, else the vendor states one."""
    return RequirementLine(ident, ANSWER if value is None else MANDATORY, None, "", None, True, text, bound)
