"""The response form of an RFP workbook: its sheets, their headings, and the columns that a vendor fills in.

`reports` writes this form and `response` reads it back.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

#: The sheet that states the requirements, and the one that the vendor fills in.
REQUIREMENTS_SHEET, RESPONSE_SHEET = "Requirements", "Vendor response"
#: The sheet whose blank cells the vendor may fill in or leave.
PRICES_SHEET = "Prices"
#: Headings of the sheet of requirements.
ID, PRIORITY, STATEMENT, VALUE, UNIT, CLIENTS = "Id", "Priority", "Statement", "Value", "Unit", "Clients"
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
YES, NO, PARTIAL = "yes", "no", "partial"
MEASURED, PROJECTED = "measured", "projected"


class FormField(NamedTuple):
    """A column that the vendor fills in.

    Attributes:
        head: its heading.
        kind: `choice`, `number` in the unit that the line offers, that `unit`, `count` or `text`.
        choices: the words that a choice takes.
    """

    head: str
    kind: str
    choices: tuple[str, ...] = ()


FIELDS = (
    FormField(COMPLY, CHOICE, (YES, NO, PARTIAL)),
    FormField(AS_IS, NUMBER),
    FormField(OPTIMIZED, NUMBER),
    FormField(OFFERED_UNIT, A_UNIT),
    FormField(BASIS, CHOICE, (MEASURED, PROJECTED)),
    FormField(NODES, COUNT),
    FormField(CLIENT_MEMORY, TEXT),
    FormField("Software and version", TEXT),
    FormField("Log file", TEXT),
    FormField(REMARKS, TEXT),
)
#: The headings that each sheet must have; a sheet of requirements has `Value`, `Required`, or both.
HEADS = {
    REQUIREMENTS_SHEET: (ID, PRIORITY, STATEMENT, UNIT),
    RESPONSE_SHEET: (ID, PRIORITY, REQUIREMENT, REQUIRED, UNIT, *(field.head for field in FIELDS if field.kind != A_UNIT)),
}
#: Headings whose cells may hold a formula, which a spreadsheet program must have calculated.
CALCULATED = {REQUIREMENTS_SHEET: (STATEMENT, VALUE, REQUIRED), RESPONSE_SHEET: (REQUIREMENT, REQUIRED)}


def required_in(heads: Container[str]) -> str:
    """The heading of a sheet of requirements below which an offer finds what is required of it."""
    return REQUIRED if REQUIRED in heads else VALUE
