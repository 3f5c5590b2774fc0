"""The response form of an RFP workbook: its sheets, their headings, and the columns that a vendor fills in.

`reports` writes this form and `response` reads it back.
"""

from __future__ import annotations

from typing import NamedTuple

#: The sheet that states the requirements, and the one that the vendor fills in.
REQUIREMENTS_SHEET, RESPONSE_SHEET = "Requirements", "Vendor response"
#: For the buyer alone, who deletes it before the workbook is sent.
BUYER_SHEET = "For the buyer"
#: Headings of the sheet of requirements.
ID, PRIORITY, STATEMENT, VALUE, UNIT, CLIENTS = "Id", "Priority", "Statement", "Value", "Unit", "Clients"
#: Headings of the response form that show a requirement.
REQUIREMENT, REQUIRED = "Requirement", "Required"
#: Kinds of field.
CHOICE, NUMBER, COUNT, TEXT = "choice", "number", "count", "text"
COMPLY, AS_IS, OPTIMIZED, REMARKS = "Comply", "As-is value", "Optimized value", "Remarks"
BASIS, NODES = "Measured or projected", "Client nodes"
YES, NO, PARTIAL = "yes", "no", "partial"
MEASURED, PROJECTED = "measured", "projected"


class FormField(NamedTuple):
    """A column that the vendor fills in.

    Attributes:
        head: its heading.
        kind: `choice`, `number` in the unit of the line, `count` or `text`.
        choices: the words that a choice takes.
    """

    head: str
    kind: str
    choices: tuple[str, ...] = ()


FIELDS = (
    FormField(COMPLY, CHOICE, (YES, NO, PARTIAL)),
    FormField(AS_IS, NUMBER),
    FormField(OPTIMIZED, NUMBER),
    FormField(BASIS, CHOICE, (MEASURED, PROJECTED)),
    FormField(NODES, COUNT),
    FormField("Memory of each client", TEXT),
    FormField("Software and version", TEXT),
    FormField("Log file", TEXT),
    FormField(REMARKS, TEXT),
)
#: The headings that each sheet must have.
HEADS = {
    REQUIREMENTS_SHEET: (ID, PRIORITY, STATEMENT, VALUE, UNIT),
    RESPONSE_SHEET: (ID, PRIORITY, REQUIREMENT, REQUIRED, UNIT, *(field.head for field in FIELDS)),
}
#: Headings of the response form, and the heading of the sheet of requirements that each repeats.
REPEATED = {PRIORITY: PRIORITY, REQUIREMENT: STATEMENT, REQUIRED: VALUE, UNIT: UNIT}
#: Headings whose cells may hold a formula, which a spreadsheet program must have calculated.
CALCULATED = {REQUIREMENTS_SHEET: (STATEMENT, VALUE), RESPONSE_SHEET: (REQUIREMENT, REQUIRED)}
