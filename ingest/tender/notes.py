"""What an offeror wrote where the form has no place for it: it is no answer, and nobody should overlook it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice

from ingest.tender.asked import Terms
from ingest.tender.book import Book, Sheet
from ingest.tender.differing import BY_LINE
from ingest.tender.found import Found
from ingest.text import visible

#: Notes that are shown, and characters of each.
MOST_NOTES, MOST_TEXT = 20, 200


def notes_of(terms: Terms, book: Book, sheets: Mapping[str, Sheet], sent: Book | None) -> tuple[str, ...]:
    """The notes outside the form, sheet by sheet.

    Args:
        terms: what was asked.
        book: what came back.
        sheets: its sheets with lines.
        sent: the workbook as it was sent out; what stands there already is the buyer's.
    """
    before, carried = ({}, ()) if sent is None else (sent.found, sent.beside)
    notes = chain((one for one in book.beside if one not in carried), _notes(terms, book.found, sheets, before))
    shown = [f"{note[:MOST_TEXT]}…" if len(note) > MOST_TEXT else note for note in map(visible, islice(notes, MOST_NOTES))]
    more = sum(1 for _ in notes)
    return (*shown, *([f"and {more:,} more notes outside the form"] if more else ()))


def _notes(terms: Terms, found: Mapping[str, Found], sheets: Mapping[str, Sheet], before: Mapping[str, Found]) -> Iterator[str]:
    for name, sheet in found.items():
        old = before.get(name)
        if name not in terms.whole.sheets:
            if old is None:
                yield f"{name}: a sheet that was not sent"
            continue
        yield from _beside(name, sheet, old)
        if terms.whole.sheets[name]:
            form = _places(sheets[name], terms, name) if name in BY_LINE else set(terms.whole.sheets[name])
            yield from (
                f"note outside the form, {name}!{place}: {item}"
                for place, item in sheet.cells.items()
                if place not in form and str(item).strip() and (old is None or old.cells.get(place) != item)
            )


def _beside(name: str, sheet: Found, old: Found | None) -> Iterator[str]:
    """Comments, what stands beside the cells, and what is hidden."""
    yield from (
        f"comment, {name}!{place}: {said}"
        for place, said in sheet.comments.items()
        if old is None or old.comments.get(place) != said
    )
    yield from (f"outside the form, {name}: {one}" for one in sheet.beside if old is None or one not in old.beside)
    if sheet.hidden and (old is None or sheet.hidden != old.hidden):
        yield f"{name}: rows or columns are hidden"


def _places(sheet: Sheet, terms: Terms, name: str) -> set[str]:
    """The heading and all cells of the lines of a form."""
    heads = {str(item) for place, item in terms.whole.sheets[name].items() if place.rstrip("0123456789") + "1" == place}
    known = [head for head in sheet.heads if head in heads]
    lines = {sheet.place(head, line) for head in known for line in sheet.lines}
    return lines | {sheet.heading(head) for head in known}
