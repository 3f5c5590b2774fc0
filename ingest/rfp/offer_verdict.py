"""The verdict on a vendor's offer: one word, counts, and what a reader has to know besides."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingest.engine.interactive import InteractiveResult
from ingest.engine.result import envelope, frame_of
from ingest.errors import listed
from ingest.requirement import ANSWER
from ingest.rfp.compliance import MET, MISSED, PARTLY, SLIP, UNANSWERED, UNASKED, UNPROVEN, LineVerdict
from ingest.rfp.differences import RequirementDifference
from ingest.rfp.requirement_lines import MANDATORY, TARGET
from ingest.rfp.response_form import REQUIREMENTS_SHEET

if TYPE_CHECKING:
    import pandas

#: What a verdict without `--sent` rests on.
ALONE = (
    "the requirements are read from the vendor's own file, which may have been changed:"
    " pass the workbook or the plan that you sent as --sent FILE"
)
#: Ids that one warning lists.
MOST_LISTED = 5
#: The verdict on an offer.
COMPLIES, DEVIATES, INCOMPLETE = "COMPLIES", "DOES NOT COMPLY", "INCOMPLETE"
#: Why a mandatory requirement is not met, with the words of a count: the vendor deviates, or has yet to answer.
DEVIATING = {MISSED: "missed", PARTLY: "partly met"}
PENDING = {UNANSWERED: "not answered", UNPROVEN: "answered yes without a value", SLIP: "with a unit slip to confirm"}


@dataclass(frozen=True, repr=False, eq=False)
class Response(InteractiveResult):
    """The verdict on a vendor's offer.

    Attributes:
        path: the file.
        lines: one per requirement.
        differences: requirements of the returned workbook that differ from those that were sent; an offer with any does
            not comply.
        optimized: whether tuned values count.
        sent: the workbook or the plan that was sent; empty where the requirements come from the returned workbook.
    """

    path: str
    lines: tuple[LineVerdict, ...]
    differences: tuple[RequirementDifference, ...]
    optimized: bool
    sent: str = ""

    @property
    def results(self) -> dict[str, str]:
        """The verdict by id."""
        return {line.requirement.id: line.verdict for line in self.lines}

    @property
    def changes(self) -> tuple[str, ...]:
        """The differences as text."""
        return tuple(map(str, self.differences))

    def of(self, priority: str) -> list[LineVerdict]:
        """The lines of a priority."""
        return [line for line in self.lines if line.requirement.priority == priority]

    @property
    def verdict(self) -> str:
        """`COMPLIES`, `DOES NOT COMPLY`, or `INCOMPLETE` where answers are outstanding and nothing deviates."""
        found = {line.verdict for line in self.of(MANDATORY)}
        if self.differences or found & DEVIATING.keys():
            return DEVIATES
        return INCOMPLETE if found - {MET, UNASKED} else COMPLIES

    @property
    def summary(self) -> str:
        """The verdict with its counts."""
        return f"{self.verdict}: {self.counts}"

    @property
    def counts(self) -> str:
        """How many mandatory requirements are met, and why others are not; targets; changed requirements."""
        lines, targets = self.of(MANDATORY), self.of(TARGET)
        counted = Counter(line.verdict for line in lines)
        parts = [f"{counted[MET]} of {len(lines)} mandatory requirements met"]
        parts += [f"{counted[verdict]} {words}" for verdict, words in (DEVIATING | PENDING).items() if counted[verdict]]
        if asked := self.of(ANSWER):
            parts.append(f"{sum(line.answered for line in asked)} of {len(asked)} questions answered")
        if targets:
            parts.append(f"{sum(line.verdict == MET for line in targets)} of {len(targets)} targets met")
        if self.differences:
            ids = {one.id for one in self.differences}
            parts.append(f"{len(ids)} line{'' if len(ids) == 1 else 's'} changed from what was sent")
        return ", ".join(parts)

    @property
    def unmet(self) -> str:
        """Why the offer does not comply; empty where it does."""
        missed = [line.requirement.id for line in self.of(MANDATORY) if line.verdict != MET]
        reasons = [self._differing] if self.differences else []
        reasons += [f"mandatory requirements are not met: {listed(missed, MOST_LISTED)}"] if missed else []
        return f"{self.path}: {'; '.join(reasons)}" if reasons else ""

    @property
    def _differing(self) -> str:
        ids = list(dict.fromkeys(one.id for one in self.differences))
        sent = self.sent or f"its sheet '{REQUIREMENTS_SHEET}'"
        return f"requirements differ from {sent}: {listed(ids, MOST_LISTED)}"

    @property
    def slips(self) -> tuple[LineVerdict, ...]:
        """The lines whose value fits in another unit only."""
        return tuple(line for line in self.lines if line.verdict == SLIP)

    @property
    def reserved(self) -> tuple[str, ...]:
        """The lines with reservations."""
        return tuple(line.requirement.id for line in self.lines if line.reservations)

    @property
    def reservations(self) -> str:
        """How many answers carry reservations; empty where none does."""
        if not self.reserved:
            return ""
        answered = sum(line.answered for line in self.lines)
        return f"{len(self.reserved)} of {answered} answers carr{'y' if len(self.reserved) > 1 else 'ies'} reservations"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the verdict rests on, and that requirements differ; each note stands on the page, next to its line."""
        alone = () if self.sent else (ALONE,)
        return (*alone, *((f"{self.path}: {self._differing}",) if self.differences else ()))

    def to_dict(self) -> dict[str, Any]:
        """The verdicts as JSON."""
        return envelope("response", self.body(), warnings=self.warnings)

    def body(self) -> dict[str, Any]:
        """The verdicts as values."""
        return {
            "file": self.path,
            "optimized": self.optimized,
            "verdict": self.verdict,
            "complies": self.verdict == COMPLIES,
            "requirements": [line.to_dict() for line in self.lines],
            "changes": list(self.changes),
        }

    def to_frame(self) -> pandas.DataFrame:
        """One row per requirement."""
        return frame_of([{key: item for key, item in line.to_dict().items() if key != "said"} for line in self.lines])
