"""`ingest response`: a vendor's offer against the requirements that were sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.engine.result import envelope
from ingest.errors import UsageError, brief, listed
from ingest.rfp.compliance import MET, LineVerdict, judge, offer_lines, requirement_wording
from ingest.rfp.response_form import ID, REQUIREMENTS_SHEET, RESPONSE_SHEET, repeated
from ingest.rfp.workbook_reader import Sheet, read_sheets, same
from ingest.text import visible

if TYPE_CHECKING:
    import pandas

#: What a verdict without `--sent` rests on.
ALONE = (
    "the requirements are read from the vendor's own file, which may have been changed:"
    " pass the workbook that you sent as --sent SENT.xlsx"
)
#: Ids that one warning lists.
MOST_LISTED = 5
#: Characters of a long text that are shown before the first difference.
BEFORE = 20


class RequirementDifference(NamedTuple):
    """Where the returned workbook states another requirement than was sent."""

    id: str
    text: str

    def __str__(self) -> str:
        return f"{self.id}: {self.text}"


@dataclass(frozen=True)
class Response:
    """The verdict on a vendor's offer.

    Attributes:
        path: the file.
        lines: one per requirement.
        differences: requirements of the returned workbook that differ from those that were sent; an offer with any does
            not comply.
        optimized: whether tuned values count.
        sent: the workbook that was sent; empty where the requirements come from the returned one.
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

    @property
    def unmet(self) -> str:
        """Why the offer does not comply; empty where it does."""
        mandatory = [line for line in self.lines if line.requirement.priority == "mandatory"]
        missed = [line.requirement.id for line in mandatory if line.verdict != MET]
        reasons = [self._differing] if self.differences else []
        reasons += [f"mandatory requirements are not met: {', '.join(missed)}"] if missed else []
        return f"{self.path}: {'; '.join(reasons)}" if reasons else ""

    @property
    def _differing(self) -> str:
        ids = list(dict.fromkeys(one.id for one in self.differences))
        sent = self.sent or f"its sheet '{REQUIREMENTS_SHEET}'"
        return f"requirements differ from {sent}: {listed(ids, MOST_LISTED)}"

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
        """What the verdict rests on, which requirements differ, contradictions and reservations."""
        alone = () if self.sent else (ALONE,)
        differing = (f"{self.path}: {self._differing}",) if self.differences else ()
        notes = (f"{line.requirement.id}: {line.note}" for line in self.lines if line.note)
        advice = (
            f"that do not change the verdict ({listed(self.reserved, MOST_LISTED)}): read their notes before you rely on them"
        )
        reserved = (f"{self.reservations} {advice}",) if self.reserved else ()
        return (*alone, *differing, *notes, *reserved)

    def to_dict(self) -> dict[str, Any]:
        """The verdicts as JSON."""
        body = {
            "file": self.path,
            "optimized": self.optimized,
            "complies": not self.unmet,
            "requirements": [line.to_dict() for line in self.lines],
            "changes": list(self.changes),
        }
        return envelope("response", body, warnings=self.warnings)

    def to_frame(self) -> pandas.DataFrame:
        """One row per requirement."""
        import pandas

        return pandas.DataFrame([{key: item for key, item in line.to_dict().items() if key != "said"} for line in self.lines])


def response(filled: str | Path, *, sent: str | Path | None = None, optimized: bool = False) -> Response:
    """Judge a vendor's filled workbook.

    Args:
        filled: a workbook that `ingest report` made, filled in on its sheet Vendor response.
        sent: the workbook as you sent it: the requirements are read from its sheet Requirements, with the inputs that you
            changed. Without it they are read from `filled`, with a warning.
        optimized: whether tuned values count besides those as delivered.

    Raises:
        IngestError: a workbook of another kind, cells that cannot be read, formulas without values.
    """
    path = Path(filled)
    original = None if sent is None else Path(sent)
    for name, one in (("FILLED", path), ("--sent", original)):
        if one is not None and one.suffix.lower() != ".xlsx":
            raise UsageError(f"{name}: found '{one}', expected a file that ends in .xlsx")
    returned = read_sheets(path)
    before = returned if original is None else read_sheets(original)
    offers = {one.id: one for one in offer_lines(returned[RESPONSE_SHEET])}
    required = requirement_wording(before[REQUIREMENTS_SHEET])
    lines = tuple(judge(one, offers.get(one.id), optimized) for one in required)
    differing = tuple(differences(before[REQUIREMENTS_SHEET], returned))
    return Response(str(path), lines, differing, optimized, "" if original is None else str(original))


def differences(sent: Sheet, returned: Mapping[str, Sheet]) -> Iterator[RequirementDifference]:
    """Where ids, values and texts of the returned sheets differ from the requirements that were sent.

    Args:
        sent: the sheet of requirements of the workbook that was sent.
        returned: the sheet of requirements and the response form of the returned workbook.
    """
    required = {str(line.stored[ID]): line.stored for line in reversed(sent.lines)}
    ids = list(dict.fromkeys(str(line.stored[ID]) for line in sent.lines))
    own = {head: head for head in sent.heads if head not in ("", ID)}
    headings = {REQUIREMENTS_SHEET: own, RESPONSE_SHEET: repeated(sent.heads)}
    for name, sheet in returned.items():
        present = [str(line.stored[ID]) for line in sheet.lines]
        where = f"the line of sheet '{name}'"
        yield from (RequirementDifference(one, f"{where} was removed") for one in ids if one not in present)
        yield from (RequirementDifference(one, f"{where} appears {n} times") for one in ids if (n := present.count(one)) > 1)
        yield from (
            RequirementDifference(brief(one)[1:-1], f"{where} was added") for one in dict.fromkeys(present) if one not in ids
        )
        for line in sheet.lines:
            one = str(line.stored[ID])
            for head, source in headings[name].items():
                found, was = line.stored.get(head), required.get(one, {}).get(source)
                if one in required and not same(found, was):
                    shown = f"is {_excerpt(found, was)}, was {_excerpt(was, found)}"
                    yield RequirementDifference(one, visible(f"'{head}' of sheet '{name}' {shown}"))


def _excerpt(text: Any, other: Any) -> str:
    """A cell in few words: of a long text, from shortly before the first difference."""
    if not isinstance(text, str) or not isinstance(other, str):
        return brief(text)
    first = next((place for place, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), 0)
    start = max(first - BEFORE, 0)
    return brief(f"…{text[start:]}" if start else text)
