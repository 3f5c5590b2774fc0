"""`ingest response`: what a vendor offers against what was asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError, UsageError
from ingest.tender.answers import answers_of
from ingest.tender.asked import (
    HEADS,
    KEY_SHEET,
    REQUIREMENTS_SHEET,
    RESPONSE_SHEET,
    Terms,
    check_calculated,
    sheets_of,
    terms_of_key,
    terms_of_sheets,
)
from ingest.tender.book import Book, read_book
from ingest.tender.checks import warning_of
from ingest.tender.comparing import changes_of, restated
from ingest.tender.differing import differences
from ingest.tender.judged import MET, Judged, judge
from ingest.tender.notes import notes_of
from ingest.tender.reserved import clients_of
from ingest.text import visible
from ingest.version import __version__

if TYPE_CHECKING:
    import pandas

#: What an offer rests on that is judged alone.
ALONE = (
    "what was asked is read from the key in the offeror's own file, which has no secret:"
    " judge with --sent SENT.xlsx, the workbook as you sent it out"
)
#: What helps where the buyer changed inputs before the workbook went out.
SENT = "where the buyer changed Inputs before sending, judge with --sent SENT.xlsx"

#: The sheet whose cells the buyer may change.
INPUTS_SHEET = "Inputs"
#: Lines that one warning names.
MOST_NAMED = 5


@dataclass(frozen=True)
class Response:
    """A vendor's offer, judged.

    Attributes:
        path: the file.
        lines: one per requirement.
        changes: what the buyer wrote and somebody changed; an offer with any is not judged as compliant.
        optimized: whether tuned values count.
        against_sent: whether what was asked was read from the workbook as it was sent out.
        notes: what the offeror wrote outside the form.
        unsealed: sheets that are too large for the key, and were not compared.
        failing: what to know of the workbook's own checks: of the one that was sent, where it was given.
    """

    path: str
    lines: tuple[Judged, ...]
    changes: tuple[str, ...]
    optimized: bool
    against_sent: bool = False
    notes: tuple[str, ...] = ()
    unsealed: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()

    @property
    def results(self) -> dict[str, str]:
        """The verdict by id."""
        return {line.asked.id: line.verdict for line in self.lines}

    @property
    def unmet(self) -> str:
        """Why the offer does not comply; empty where it does."""
        missed = [line.asked.id for line in self.lines if line.asked.priority == "mandatory" and line.verdict != MET]
        reasons = [self._changed] if self.changes else []
        reasons += [f"mandatory requirements are not met: {', '.join(missed)}"] if missed else []
        return f"{self.path}: {'; '.join(reasons)}" if reasons else ""

    @property
    def _changed(self) -> str:
        count = f"what the buyer wrote was changed in {len(self.changes)} place{'s' if len(self.changes) > 1 else ''}"
        valued = (": the required value is ", f"{INPUTS_SHEET}: ")
        return f"{count} ({SENT})" if not self.against_sent and _any_says(self.changes, valued) else count

    @property
    def reserved(self) -> tuple[str, ...]:
        """The lines with reservations."""
        return tuple(line.asked.id for line in self.lines if line.reservations)

    @property
    def reservations(self) -> str:
        """How many answers carry reservations; empty where none does."""
        if not self.reserved:
            return ""
        answered = sum(line.answered for line in self.lines)
        return f"{len(self.reserved)} of {answered} answers carr{'y' if len(self.reserved) > 1 else 'ies'} reservations"

    @property
    def _reserved(self) -> tuple[str, ...]:
        if not self.reserved:
            return ()
        named = f"{', '.join(self.reserved[:MOST_NAMED])}{', …' if len(self.reserved) > MOST_NAMED else ''}"
        return (f"{self.reservations} that move no verdict ({named}): read their notes before you rely on them",)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the verdict rests on, what was changed, what does not fit together, and what stands outside the form."""
        alone: tuple[str, ...] = () if self.against_sent else (ALONE,)
        if self.unsealed:
            alone += (f"not compared, as too large for the key: {', '.join(self.unsealed)}; --sent compares all sheets",)
        alone += self.failing
        apart = (f"{line.asked.id}: {line.note}" for line in self.lines if line.note)
        return (*alone, *(f"changed: {change}" for change in self.changes), *apart, *self._reserved, *self.notes)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of CONTRACT, `ingest/1`."""
        return {
            "schema": "ingest/1",
            "command": "response",
            "version": __version__,
            "file": self.path,
            "optimized": self.optimized,
            "complies": not self.unmet,
            "requirements": [line.to_dict() for line in self.lines],
            "changes": list(self.changes),
            "notes": list(self.notes),
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
        sent: the workbook as you sent it out: what was asked is read from its sheets, with the inputs that you changed.
        optimized: whether tuned values count; as delivered only, where not.

    Raises:
        IngestError: no workbook of ours, one whose key was changed, cells that cannot be read, formulas without values.
    """
    path = Path(filled)
    original = None if sent is None else Path(sent)
    for name, one in (("FILLED", path), ("--sent", original)):
        if one is not None and one.suffix.lower() != ".xlsx":
            raise UsageError(f"{name}: found '{one}', expected a file that ends in .xlsx")
    book = _opened(path)
    before = None if original is None else _opened(original)
    terms, keys = _terms(book, before)
    sheets = sheets_of(book)
    answers = {one.id: one for one in answers_of(book, sheets[RESPONSE_SHEET])}
    for sheet in sheets.values():
        check_calculated(book, sheet)
    asked = sheets if before is None else sheets_of(before)
    clients = clients_of(asked[REQUIREMENTS_SHEET])
    lines = tuple(judge(one, answers.get(one.id), optimized, clients.get(one.id)) for one in terms.lines)
    changes = (*keys, *changes_of(terms, sheets), *differences(terms.whole, book.found, book.names))
    # Where an input was changed, sentences follow it: that is named already.
    changes = changes or tuple(restated(asked, sheets))
    unsealed = tuple(visible(name) for name, cells in terms.whole.sheets.items() if not cells)
    notes = notes_of(terms, book, sheets, before)
    judged_by = before or book
    failing = warning_of(judged_by.path, judged_by.failing)
    return Response(str(path), lines, changes, optimized, original is not None, notes, unsealed, failing)


def _any_says(changes: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(word in change for change in changes for word in words)


def _opened(path: Path) -> Book:
    return read_book(path, (KEY_SHEET, *HEADS))


def _terms(book: Book, sent: Book | None) -> tuple[Terms, tuple[str, ...]]:
    """What was asked, and which lines of the key are not as they were sent out."""
    found = terms_of_key(book)
    if sent is None:
        return found, ()
    before = terms_of_key(sent)
    if before.tender != found.tender:
        expected = f"expected {_named(before)}, as {sent.path} has it"
        raise IngestError(f"{book.path}: answers another tender, {_named(found)}; {expected}")
    forged = sorted({one.id for one in set(before.lines) ^ set(found.lines)})
    keys = tuple(f"{name}: its key is not as it was sent out" for name in forged)
    if (before.cells, before.whole) != (found.cells, found.whole) and not keys:
        keys = (f"sheet '{KEY_SHEET}': not as it was sent out",)
    return terms_of_sheets(sent, before), keys


def _named(terms: Terms) -> str:
    name, made_from = terms.tender
    return visible(f"'{name[:60]}' (site file {made_from[:19]}…)")
