"""Pages of `response`: the verdict on one offer, and several offers next to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from string import ascii_uppercase
from typing import Any

from ingest.errors import listed
from ingest.reports.answer_line import titled
from ingest.reports.page import Page, Section, page_of
from ingest.requirement import INFORMATION
from ingest.rfp.compliance import ANSWERED, MET, PARTLY, SLIP, UNASKED, LineVerdict
from ingest.rfp.offer_verdict import MOST_LISTED, Comparison, Response, credit
from ingest.rfp.requirement_lines import TARGET, RequirementLine
from ingest.units import display

#: Margins above this share are shown as "over".
MOST_MARGIN = 10
#: Columns of offers in one table: more do not fit into a terminal.
MOST_COLUMNS = 7
FLAT = ("id", "priority", "required", "unit", "offered", "margin", "result")


def response_page(answer: Response, verbose: bool = False) -> Page:
    """The verdict on an offer, and the lines that matter for it: not met, or with a note; `verbose` shows all of them."""
    shown = [line for line in answer.lines if verbose or _matters(line)]
    hidden = len(answer.lines) - len(shown)
    heads = ("id", "priority", "required", "offered", "margin", "result")
    more = (f"{hidden} more: met, or for information, without a note (--verbose)",) if hidden else ()
    rows = tuple((line.requirement.id, line.requirement.priority, *_answer(line)) for line in shown)
    sections = [
        Section("", ("", ""), (), (_basis(answer),)),
        Section("Lines that matter" if hidden else "Lines", heads, rows, more),
        Section("Notes", lines=tuple(grouped_notes(shown))),
        Section("Differences from the requirements sent", lines=answer.changes),
    ]
    flat = [(*(line.to_dict()[column] for column in FLAT), line.notes) for line in answer.lines]
    return page_of(answer.summary, sections, ((*FLAT, "note"), *flat), titled(answer.summary, len(answer.warnings)))


def _basis(answer: Response) -> str:
    """The file, which values count, and what they are compared with."""
    counted = "tuned values count" if answer.optimized else "values as delivered count"
    return "; ".join(filter(None, (answer.path, counted, answer.sent and f"sent: {answer.sent}", answer.reservations)))


def _matters(line: LineVerdict) -> bool:
    return line.verdict not in (MET, ANSWERED, UNASKED) or bool(line.notes)


def _answer(line: LineVerdict) -> tuple[str, ...]:
    offered = "" if line.offered is None else display(line.offered, line.requirement.unit, binary=False)
    return (required_text(line.requirement), offered, margin_text(line), line.verdict)


def grouped_notes(lines: Iterable[LineVerdict]) -> Iterator[str]:
    """Each note with the ids of its lines."""
    found: dict[str, list[str]] = {}
    for line in lines:
        found.setdefault(line.notes, []).append(line.requirement.id)
    yield from (f"{listed(ids, MOST_LISTED)}: {note}" for note, ids in found.items() if note)


def required_text(one: RequirementLine) -> str:
    """The required value in the unit in which people read it; nothing for a term without one."""
    return one.bound if one.value is None else display(one.value, one.unit, binary=False)


def margin_text(line: LineVerdict) -> str:
    """`+10.0 %`; what meets a requirement as it is printed is never below it, what misses it never looks even."""
    if line.margin is None:
        return ""
    if line.margin > MOST_MARGIN:
        return f"over {MOST_MARGIN * 100:,} %"
    share = max(line.margin, 0.0) if line.verdict in (MET, PARTLY) else line.margin
    percent = f"{share * 100:+.1f}"
    if percent.strip("+-0.") == "":
        percent = "0.0" if share >= 0 else f"{share * 100:.1g}"
    return f"{percent} %"


def comparison_page(found: Comparison, verbose: bool = False) -> Page:
    """Several offers: a verdict each, then compliance and margins line by line, targets with their weights, notes, differences.

    Args:
        found: the comparison.
        verbose: whether lines that are for information, or that every offer meets, are shown too.
    """
    letters = letters_of(len(found.offers))
    places = [place for place in range(len(found.requirements)) if verbose or _tells(found, place)]
    hidden = len(found.requirements) - len(places)
    more = (f"{hidden} more: met by all, or for information (--verbose)",) if hidden else ()
    heads = ("", "offer", "verdict", "mandatory", "targets", "score", "changed", "notes")
    sections = [
        Section("", heads, tuple((letter, *row) for letter, row in zip(letters, summary_rows(found), strict=True))),
        *_blocks("Compliance", found, places, lambda line: line.verdict, more),
        *_blocks("Margins", found, [place for place in places if _has_margin(found, place)], margin_text),
        *_targets(found),
        Section("Notes", lines=tuple(_notes(found, letters))),
        Section("Differences from the requirements sent", lines=tuple(_changes(found, letters))),
    ]
    flat = [
        (name, *(line.to_dict()[column] for column in FLAT), line.notes)
        for name, one in zip(found.names, found.offers, strict=True)
        for line in one.lines
    ]
    title = comparison_title(found)
    return page_of(title, sections, (("offer", *FLAT, "note"), *flat), titled(title, len(found.warnings)))


def comparison_title(found: Comparison) -> str:
    """How many offers comply, and which."""
    named = f": {', '.join(found.complying)}" if found.complying else ""
    counted = "tuned values count" if found.offers[0].optimized else "values as delivered count"
    return f"{len(found.complying)} of {len(found.offers)} offers comply{named}; {counted}"


def letters_of(number: int) -> tuple[str, ...]:
    """Short names of offers, as columns of a spreadsheet.

    >>> letters_of(3), letters_of(28)[-2:]
    (('A', 'B', 'C'), ('AA', 'AB'))
    """
    one = tuple(ascii_uppercase)
    return (*one, *(f"{first}{second}" for first in one for second in one))[:number]


def summary_rows(found: Comparison) -> Iterator[tuple[str, ...]]:
    """A row for each offer: its name, verdict, counts and score."""
    for name, one, score in zip(found.names, found.offers, found.scores, strict=True):
        met = [
            f"{sum(line.verdict == MET for line in lines)} of {len(lines)}" for lines in (one.of("mandatory"), one.of(TARGET))
        ]
        shown = "" if score is None else f"{score * 100:.1f} %"
        changed = len({change.id for change in one.differences})
        yield (name, one.verdict, *met, shown, str(changed or ""), str(sum(bool(line.notes) for line in one.lines) or ""))


def _tells(found: Comparison, place: int) -> bool:
    """Whether a line distinguishes offers, or keeps one from complying."""
    lines = found.row(place)
    return lines[0].requirement.priority != INFORMATION and any(line.verdict not in (MET, ANSWERED) for line in lines)


def _has_margin(found: Comparison, place: int) -> bool:
    return any(line.margin is not None for line in found.row(place))


def _blocks(title: str, found: Comparison, places: Sequence[int], text: Any, more: tuple[str, ...] = ()) -> Iterator[Section]:
    """A table with a column for each offer, in parts that a terminal is wide enough for."""
    letters = letters_of(len(found.offers))
    for first in range(0, len(letters), MOST_COLUMNS):
        part = slice(first, first + MOST_COLUMNS)
        named = title if len(letters) <= MOST_COLUMNS else f"{title}, {letters[part][0]} to {letters[part][-1]}"
        rows = tuple((found.requirements[place].id, *(text(line) for line in found.row(place)[part])) for place in places)
        yield Section(named, ("id", *letters[part]), rows, more if part.stop >= len(letters) else ())


def _targets(found: Comparison) -> Iterator[Section]:
    """Each target with its weight and what each offer earns."""
    places = [place for place, one in enumerate(found.requirements) if one.priority == TARGET]
    letters = letters_of(len(found.offers))
    for first in range(0, len(letters), MOST_COLUMNS):
        part = slice(first, first + MOST_COLUMNS)
        rows = [
            (one.id, f"{found.weights[one.id]:g}", *(f"{credit(line) * 100:.1f} %" for line in found.row(place)[part]))
            for place, one in ((place, found.requirements[place]) for place in places)
        ]
        scores = tuple("" if score is None else f"{score * 100:.1f} %" for score in found.scores[part])
        if rows:
            named = "Targets" if len(letters) <= MOST_COLUMNS else f"Targets, {letters[part][0]} to {letters[part][-1]}"
            yield Section(named, ("id", "weight", *letters[part]), (*rows, ("score", "", *scores)))


def _notes(found: Comparison, letters: Sequence[str]) -> Iterator[str]:
    """The notes of all offers: slips of units first, since they decide."""
    for slips in (True, False):
        for letter, one in zip(letters, found.offers, strict=True):
            lines = [line for line in one.lines if (line.verdict == SLIP) == slips]
            yield from (f"{letter} {note}" for note in grouped_notes(lines))


def _changes(found: Comparison, letters: Sequence[str]) -> Iterator[str]:
    for letter, one in zip(letters, found.offers, strict=True):
        yield from (f"{letter} {change}" for change in one.changes)
