"""What a vendor fills in: the open columns of the response sheet, and what each of them takes."""

from __future__ import annotations

from typing import NamedTuple

CHOICE, NUMBER, COUNT, TEXT = "choice", "number", "count", "text"
COMPLY, AS_IS, OPTIMIZED, REMARKS = "Comply", "As-is value", "Optimized value", "Remarks"
BASIS, NODES = "Measured or projected", "Client nodes"
YES, NO, PARTIAL = "yes", "no", "partial"
MEASURED, PROJECTED = "measured", "projected"


class Field(NamedTuple):
    """One open column.

    Attributes:
        head: its heading.
        kind: `choice`, `number` in the unit of the line, `count` or `text`.
        choices: the words that a choice takes.
    """

    head: str
    kind: str
    choices: tuple[str, ...] = ()


FIELDS = (
    Field(COMPLY, CHOICE, (YES, NO, PARTIAL)),
    Field(AS_IS, NUMBER),
    Field(OPTIMIZED, NUMBER),
    Field(BASIS, CHOICE, (MEASURED, PROJECTED)),
    Field(NODES, COUNT),
    Field("Memory of each client", TEXT),
    Field("Software and version", TEXT),
    Field("Log file", TEXT),
    Field(REMARKS, TEXT),
)
OPEN = frozenset(field.head for field in FIELDS)
