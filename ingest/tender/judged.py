"""One line of an offer, held against what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.formula import solve
from ingest.requirement import least_accepted
from ingest.tender.answers import Answer
from ingest.tender.asked import Asked
from ingest.tender.comparing import SAME
from ingest.tender.fields import FIELDS, NO, PARTIAL, YES
from ingest.tender.reserved import remark_of, reservations_of

#: What a line can come to.
MET, MISSED, PARTLY = "met", "missed", "partly"
UNANSWERED, UNPROVEN, UNASKED = "no answer", "yes without a value", "for information"


@dataclass(frozen=True)
class Judged:
    """One line of an offer.

    Attributes:
        asked: the requirement.
        verdict: `met`, `missed`, `partly` (it says so, which meets nothing mandatory), `no answer`, `yes without a value`,
            or `for information` where nothing is asked or answered.
        offered: the value that counts, in the unit of the line; the tuned one only where it was asked for.
        margin: offered over required, less one.
        said: the other fields, as text.
        note: what does not fit together.
        reservations: what qualifies the answer, and does not change the verdict.
    """

    asked: Asked
    verdict: str
    offered: float | None
    margin: float | None
    said: Mapping[str, str]
    note: str = ""
    reservations: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether the vendor said anything."""
        return self.verdict not in (UNANSWERED, UNASKED) or bool(self.reservations)

    @property
    def notes(self) -> str:
        """All that is to be read beside the verdict."""
        return "; ".join(filter(None, (self.note, *self.reservations)))

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        asked = {"id": self.asked.id, "priority": self.asked.priority, "required": self.asked.value, "unit": self.asked.unit}
        return {**asked, "result": self.verdict, "offered": self.offered, "margin": self.margin, "said": dict(self.said),
                "note": self.note, "reservations": list(self.reservations)}  # fmt: skip


def judge(asked: Asked, answer: Answer | None, optimized: bool, clients: float | None = None) -> Judged:
    """Hold the value that counts against the requirement.

    Args:
        asked: the requirement.
        answer: the line of the vendor; None where it is gone.
        optimized: whether tuned values count.
        clients: from which a test must measure; None where that is open.
    """
    found = answer or Answer(asked.id, "", None, None, {field.head: "" for field in FIELDS})
    reserved = tuple(reservations_of(asked, found, clients))
    values = [value for value in (found.as_is, found.optimized if optimized else None) if value is not None]
    if not values:
        note = "only a tuned value was given; --optimized counts it" if found.optimized is not None else ""
        return Judged(asked, _without_value(asked, found.comply), None, None, found.said, _partly(found) or note, reserved)
    offered = max(values)
    margin = solve("acceptance_margin", {"measured_rate": offered, "required_rate": asked.value}) if asked.value else None
    met = offered >= least_accepted(asked.value, asked.unit) * (1 - SAME)
    verdict = _verdict(met, found.comply)
    note = _partly(found) or _note(met, found.comply)
    return Judged(asked, verdict, offered, None if margin is None else float(margin), found.said, note, reserved)


def _verdict(met: bool, comply: str) -> str:
    if not met or comply == NO:
        return MISSED
    return PARTLY if comply == PARTIAL else MET


def _partly(answer: Answer) -> str:
    """What a vendor says who complies in part."""
    if answer.comply != PARTIAL:
        return ""
    remark = remark_of(answer)
    return f"says '{PARTIAL}': {remark}" if remark else f"says '{PARTIAL}', without a remark"


def _without_value(asked: Asked, comply: str) -> str:
    silent = UNASKED if asked.priority == "information" else UNANSWERED
    return {YES: UNPROVEN, NO: MISSED, PARTIAL: PARTLY}.get(comply, silent)


def _note(met: bool, comply: str) -> str:
    """Where word and value of an answer do not fit together."""
    if met and comply == NO:
        return f"says '{comply}', but its value meets the requirement"
    return "says 'yes', but its value misses the requirement" if comply == YES and not met else ""
