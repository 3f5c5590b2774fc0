"""The response form of an RFP workbook: sheets, headings, the columns that a vendor fills in, and the units of its lines.

`reports` writes this form and `response` reads it back.
"""

from __future__ import annotations

from typing import NamedTuple

from ingest.errors import UsageError, brief
from ingest.units import BINARY, COUNTED, DECIMAL, SCALED, scale_of, unit_factor

#: The sheet that states the requirements, and the one that the vendor fills in.
REQUIREMENTS_SHEET, RESPONSE_SHEET = "Requirements", "Vendor response"
#: The sheet whose blank cells the vendor may fill in or leave.
PRICES_SHEET = "Prices"
#: Headings of the sheet of requirements.
ID, PRIORITY, STATEMENT, VALUE, UNIT, CLIENTS = "Id", "Priority", "Statement", "Value", "Unit", "Clients"
CONDITIONS = "Conditions"
#: Of the response form: the requests that an offered rate is of. The conditions begin with them; older forms lack them.
REQUESTS = "Requests"
#: What is required: the value, rounded; on both sheets. Forms of format 1 have it on the response form alone, not rounded.
#: Its unit is a base unit on a buyer's sheet of requirements and on forms of formats 1 and 2, else one that people use.
REQUIRED = "Required"
#: Heading of the response form that repeats the statement.
REQUIREMENT = "Requirement"
#: The property of a workbook that holds the format of its form.
FORMAT_PROPERTY = "ingest_format"
#: Kinds of field.
CHOICE, NUMBER, COUNT, TEXT, A_UNIT = "choice", "number", "count", "text", "unit"
COMPLY, AS_IS, OPTIMIZED, REMARKS = "Comply", "As-is value", "Optimized value", "Remarks"
#: The unit of both values, where a vendor picks another one; forms of formats 1 and 2 lack it.
OFFERED_UNIT = "Unit of the values"
BASIS, NODES, CLIENT_MEMORY = "Measured or projected", "Client nodes", "Memory of each client"
LOG = "Log file"
YES, NO, PARTIAL = "yes", "no", "partial"
MEASURED, PROJECTED = "measured", "projected"


class FormField(NamedTuple):
    """A column that the vendor fills in."""

    head: str  # its heading
    kind: str  # `choice`, `number` in the unit that the line offers, that `unit`, `count` or `text`
    choices: tuple[str, ...] = ()  # the words that a choice takes


FIELDS = (
    FormField(COMPLY, CHOICE, (YES, NO, PARTIAL)),
    FormField(AS_IS, NUMBER),
    FormField(OPTIMIZED, NUMBER),
    FormField(OFFERED_UNIT, A_UNIT),
    FormField(BASIS, CHOICE, (MEASURED, PROJECTED)),
    FormField(NODES, COUNT),
    FormField(CLIENT_MEMORY, TEXT),
    FormField("Software and version", TEXT),
    FormField(LOG, TEXT),
    FormField(REMARKS, TEXT),
)
#: The headings that each sheet must have; a sheet of requirements has `Value`, `Required`, or both.
HEADS = {
    REQUIREMENTS_SHEET: (ID, PRIORITY, STATEMENT, UNIT),
    RESPONSE_SHEET: (ID, PRIORITY, REQUIREMENT, REQUIRED, UNIT, *(field.head for field in FIELDS if field.kind != A_UNIT)),
}
#: Headings whose cells may hold a formula, which a spreadsheet program must have calculated.
CALCULATED = {REQUIREMENTS_SHEET: (STATEMENT, VALUE, REQUIRED), RESPONSE_SHEET: (REQUIREMENT, REQUIRED)}
#: Prefixes in order, each a thousand times the one before; the first is none.
PREFIXES = ("", "k", "M", "G", "T", "P", "E")
#: Prefixes of counts, as people write them, and as `units` reads them.
COUNTS = {"": "", "thousand ": "k", "million ": "M"}
#: Units of a time, the shortest first.
TIMES = ("ms", "s", "min", "h", "days")


class ResponseUnit(NamedTuple):
    """A unit of a response form."""

    name: str  # as the form writes it
    factor: float  # base units in one of it
    base: str  # its base unit

    @property
    def binary(self) -> bool:
        """Whether it is one of 1,024s."""
        return self.name.startswith(tuple(BINARY))

    @property
    def power(self) -> int:
        """How many steps of a thousand, or of 1,024, its prefix is above none.

        >>> read_unit("TB").power, read_unit("MiB/s").power, read_unit("files").power
        (4, 2, 0)
        """
        steps = enumerate(zip(BINARY, PREFIXES[1:], strict=True), start=1)
        return next((step for step, (binary, decimal) in steps if self.name.startswith((binary, f"{decimal}B"))), 0)


def read_unit(written: str) -> ResponseUnit:
    """The unit that a cell of a form names; an older form has base units. Raises UsageError: an unknown unit."""
    text = " ".join(written.split())
    for words, prefix in COUNTS.items():
        if words and text.startswith(words):
            text = prefix + text.removeprefix(words)
    if not text:
        raise UsageError(f"unknown unit {brief(written)}")
    factor, base = unit_factor(text)
    return ResponseUnit(written, factor, base)


def response_unit(value: float, unit: str) -> ResponseUnit:
    """The unit in which a required value reads well: 1 to 999 bytes of some prefix; counts in full, as statements print them.

    >>> response_unit(491e9, "B/s").name, response_unit(37.8e15, "B").name, response_unit(4e9, "B/s/node").name
    ('GB/s', 'PB', 'GB/s')
    >>> response_unit(38_400, "file/s").name, response_unit(0.0005, "s").name, response_unit(0.9, "1").name
    ('files/s', 'ms', '1')
    """
    head, *per = unit.split("/")
    if head == "s" and not per:
        factor, name = (1e-3, "ms") if 0 < value < 1 else scale_of(value, unit, binary=False)
        return ResponseUnit(name or "s", factor or 1, unit)
    if head in SCALED:
        factor, name = scale_of(value, unit, binary=False)
        return ResponseUnit(name, factor, unit)
    return ResponseUnit("/".join([f"{head}s", *per]) if head in COUNTED else unit, 1, unit)


def units_offered(unit: ResponseUnit) -> tuple[str, ...]:
    """The units from which a vendor may pick: a prefix less and a prefix more, then binary ones; counts by the thousand.

    >>> units_offered(response_unit(491e9, "B/s"))
    ('MB/s', 'GB/s', 'TB/s', 'MiB/s', 'GiB/s', 'TiB/s')
    >>> units_offered(response_unit(38_400, "file/s")), units_offered(response_unit(0.0005, "s"))
    (('files/s', 'thousand files/s', 'million files/s'), ('ms', 's', 'min', 'h', 'days'))
    """
    head, *per = unit.base.split("/")[:1] + unit.name.split("/")[1:]
    if unit.base == "s":
        return TIMES
    if head in SCALED:
        place = next(step for step, prefix in enumerate(PREFIXES) if (DECIMAL[prefix] if prefix else 1) == unit.factor)
        near = PREFIXES[max(place - 1, 0) : place + 2]
        binary = [f"{prefix.capitalize()}i" for prefix in near if prefix and head == "B"]
        return tuple("/".join([f"{prefix}{head}", *per]) for prefix in (*near, *binary))
    return tuple(f"{words}{unit.name}" for words in COUNTS) if head in COUNTED else (unit.name,)
