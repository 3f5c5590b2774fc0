"""What qualifies an answer and changes no verdict: a remark, a projection, too few clients, a word that is missing."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.tender.answers import Answer
from ingest.tender.asked import ID, Asked
from ingest.tender.book import Sheet
from ingest.tender.fields import BASIS, COMPLY, NODES, PARTIAL, PROJECTED, REMARKS
from ingest.text import visible

#: Characters of a remark that are shown.
MOST_REMARK = 200
#: Heading of the condition from how many clients a value holds.
CLIENTS = "Clients"


def clients_of(requirements: Sheet) -> dict[str, float]:
    """From how many clients each requirement is measured; those that leave it open are absent."""
    found = {str(line.stored[ID]): line.stored.get(CLIENTS) for line in requirements.lines}
    return {name: float(clients) for name, clients in found.items() if isinstance(clients, (int, float))}


def reservations_of(asked: Asked, answer: Answer, clients: float | None) -> Iterator[str]:
    """What to read beside the verdict on an answer, a phrase each.

    Args:
        asked: the requirement.
        answer: to it.
        clients: from which a test must measure; None where that is open.
    """
    if asked.priority == "mandatory" and not answer.comply and _has_value(answer):
        yield f"{COMPLY} is blank"
    if answer.said.get(BASIS) == PROJECTED:
        yield PROJECTED
    nodes = answer.said.get(NODES)
    if nodes and clients is not None and int(nodes) < clients:
        yield f"tested with {int(nodes):,} of {clients:,.0f} clients"
    if answer.comply != PARTIAL and (remark := remark_of(answer)):
        yield f"remark: {remark}"


def remark_of(answer: Answer) -> str:
    """The remark on an answer, as much of it as is shown."""
    remark = visible(answer.said.get(REMARKS, ""))
    return f"{remark[:MOST_REMARK]}…" if len(remark) > MOST_REMARK else remark


def _has_value(answer: Answer) -> bool:
    return answer.as_is is not None or answer.optimized is not None
