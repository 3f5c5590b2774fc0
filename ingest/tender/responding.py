"""`ingest response`: what a vendor offers against what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError, UsageError
from ingest.tender.filled import SAME, Answered, Asked, read_filled

if TYPE_CHECKING:
    import pandas

#: What a line can come to.
MET, MISSED, UNANSWERED, UNPROVEN = "met", "missed", "no answer", "yes without a value"
FIELDS = ("Comply", "As-is value", "Optimized value", "Measured or projected", "Log file", "Remarks")


@dataclass(frozen=True)
class Judged:
    """One line of an offer.

    Attributes:
        asked: the requirement.
        verdict: `met`, `missed`, `no answer` or `yes without a value`.
        offered: the value that counts, in the unit of the line; the tuned one only where it was asked for.
        margin: offered over required, less one.
        said: the other fields, as text.
        note: what does not fit together.
    """

    asked: Asked
    verdict: str
    offered: float | None
    margin: float | None
    said: Mapping[str, str]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        asked = {"id": self.asked.id, "priority": self.asked.priority, "required": self.asked.value, "unit": self.asked.unit}
        return {**asked, "result": self.verdict, "offered": self.offered, "margin": self.margin, "said": dict(self.said),
                "note": self.note}  # fmt: skip


@dataclass(frozen=True)
class Response:
    """A vendor's offer, judged.

    Attributes:
        path: the file.
        lines: one per requirement.
        changes: requirement cells that were changed; an offer with any is not judged as compliant.
        optimized: whether tuned values count.
    """

    path: str
    lines: tuple[Judged, ...]
    changes: tuple[str, ...]
    optimized: bool

    @property
    def results(self) -> dict[str, str]:
        """The verdict by id."""
        return {line.asked.id: line.verdict for line in self.lines}

    @property
    def unmet(self) -> str:
        """Why the offer does not comply; empty where it does."""
        missed = [line.asked.id for line in self.lines if line.asked.priority == "mandatory" and line.verdict != MET]
        count = f"{len(self.changes)} requirement cell{'s were' if len(self.changes) > 1 else ' was'} changed"
        reasons = [count] if self.changes else []
        reasons += [f"mandatory requirements are not met: {', '.join(missed)}"] if missed else []
        return f"{self.path}: {'; '.join(reasons)}" if reasons else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was changed, and what does not fit together."""
        notes = (f"{line.asked.id}: {line.note}" for line in self.lines if line.note)
        return (*(f"changed: {change}" for change in self.changes), *notes)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of CONTRACT, `ingest/1`."""
        from ingest import __version__

        return {
            "schema": "ingest/1",
            "command": "response",
            "version": __version__,
            "file": self.path,
            "optimized": self.optimized,
            "complies": not self.unmet,
            "requirements": [line.to_dict() for line in self.lines],
            "changes": list(self.changes),
            "warnings": list(self.warnings),
        }

    def to_frame(self) -> pandas.DataFrame:
        """One row per requirement."""
        import pandas

        return pandas.DataFrame([{key: item for key, item in line.to_dict().items() if key != "said"} for line in self.lines])


def response(filled: str | Path, *, sent: str | Path | None = None, optimized: bool = False) -> Response:
    """Judge a vendor's filled workbook.

    Args:
        filled: a workbook that `ingest report` made, filled in on its sheet Vendor response.
        sent: the workbook as you sent it out; notices a key that was forged as a whole.
        optimized: whether tuned values count; as delivered only, where not.

    Raises:
        IngestError: no workbook of ours, or one whose key was changed.
    """
    path = Path(filled)
    original = None if sent is None else Path(sent)
    for name, one in (("FILLED", path), ("--sent", original)):
        if one is not None and one.suffix.lower() != ".xlsx":
            raise UsageError(f"{name}: found '{one}', expected a file that ends in .xlsx")
    asked, answered, changes = read_filled(path, original)
    by_id = {one.id: one for one in answered}
    lines = tuple(_judged(one, by_id.get(one.id), optimized) for one in asked)
    return Response(str(path), lines, tuple(changes), optimized)


def _judged(asked: Asked, found: Answered | None, optimized: bool) -> Judged:
    cells = found.found if found is not None else {}
    said = {name: str(cells.get(name) if cells.get(name) is not None else "") for name in FIELDS}
    comply = said["Comply"].strip().lower()
    as_is, tuned = (_number(asked.id, name, cells.get(name)) for name in ("As-is value", "Optimized value"))
    values = [value for value in (as_is, tuned if optimized else None) if value is not None]
    if not values:
        verdict = UNPROVEN if comply == "yes" else MISSED if comply in ("no", "partial") else UNANSWERED
        note = "only a tuned value was given; --optimized counts it" if tuned is not None else ""
        return Judged(asked, verdict, None, None, said, note)
    offered = max(values)
    margin = offered / asked.value - 1 if asked.value else None
    met = offered >= asked.value * (1 - SAME)
    note = ""
    if met and comply in ("no", "partial"):
        note = f"says '{comply}', but its value meets the requirement"
    elif not met and comply == "yes":
        note = "says 'yes', but its value misses the requirement"
    return Judged(asked, MET if met and comply != "no" else MISSED, offered, margin, said, note)


def _number(name: str, field: str, value: Any) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise IngestError(f"{name}: '{field}' is {str(value)[:60]!r}, expected a number from 0 in the unit of the line")
    return float(value)
