"""The sheet Wording: every number of a sentence, in the unit in which it is read, and sentences as live formulas of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ingest.reports.workbook.fitting import looked_up, reached
from ingest.reports.workbook.grid import Formula, Grid
from ingest.reports.workbook.site_cells import DELIVERED, FIRST, INPUT
from ingest.site.phrases import BEFORE, Amount, Phrase, Times, amounts_of, text_of
from ingest.units import KIB, REQUEST, Figured, Ladder, ladders

if TYPE_CHECKING:
    from ingest.formula import Step
    from ingest.reports.workbook.site_book import SiteBook

SHEET = "Wording"
#: Where the value in base units, the shown number, its digits and decimals, and the text of a number stand.
BASE, FACTOR, SHOWN, DIGITS, DECIMALS, TEXT = "B", "D", "E", "F", "G", "H"
#: Digits that a sentence shows, as `display` does.
SIGNIFICANT = 4
#: A text in a formula may not be longer.
MOST_TEXT = 250
#: The name of the cell that counts the inputs that are no longer as delivered.
CHANGED = "inputs_changed"
STALE = (
    "Inputs were changed: low, high, warnings and the sheet Sensitivity are those of the inputs as delivered (see the last"
    " column of Inputs) and are struck out; plan again for theirs."
)
ENDS = {"least": "MIN", "most": "MAX"}


class Words:
    """The numbers of all sentences, each once, and where their texts stand.

    Attributes:
        changed: where it stands how many inputs are no longer as delivered.
        note: what that means, for the first page; empty as delivered.
    """

    def __init__(self, book: SiteBook, grid: Callable[..., Grid], inputs: int) -> None:
        self.book = book
        self._texts: dict[tuple[int, str, str, bool], list[str]] = {}
        heads = ("Quantity", "Value", "Unit", "One unit is", "As shown", "Digits", "Decimals", "Text")
        sheet = grid(SHEET, heads, (42, 24, 13, 22, 22, 9, 10, 26))
        for wording in book.plan.wordings.values():
            for one in amounts_of(wording.phrase):
                if _key(one) not in self._texts:
                    self._texts[_key(one)] = self._told(sheet, one)
        here, before = (f"Inputs!${letter}${FIRST}:${letter}${inputs + 1}" for letter in (INPUT, DELIVERED))
        self.changed = f"{SHEET}!${BASE}${sheet.next + 1}"
        sheet.row("inputs changed since the workbook was made", Formula(f"=SUMPRODUCT(--({here} <> {before}))", 0))
        self.note = Formula(f'=IF({self.changed} = 0, "", {" & ".join(quoted(STALE))})', "", "text")
        sheet.close()

    def sentence(self, phrase: Phrase) -> Formula:
        """A sentence that follows the cells of its numbers."""
        return Formula("=" + " & ".join(part for piece in phrase for part in self._parts(piece)), text_of(phrase), "text")

    def _parts(self, piece: str | Amount | Times) -> list[str]:
        if isinstance(piece, str):
            return quoted(piece)
        if isinstance(piece, Amount):
            return self._texts[_key(piece)]
        least, most = (" & ".join(self._parts(end)) for end in piece)
        alone, first, last = (quoted(words)[0] for words in BEFORE)
        return [f"IF({self._same(piece.least.step)}, {alone} & {least}, {first} & {least} & {last} & {most})"]

    def _same(self, column: Step) -> str:
        place = self.book.cells.place(column)
        return f"MIN({place}) = MAX({place})"

    def _told(self, sheet: Grid, one: Amount) -> list[str]:
        """Write the numbers of a quantity; returns what tells it, wherever its value goes."""
        if one.unit != REQUEST:
            return [self._row(sheet, one, ladder) for ladder in ladders(one.unit)]
        whole, *other = (self._row(sheet, one, ladder) for unit in (KIB, "B") for ladder in ladders(unit))
        base = f"{SHEET}!${BASE}${sheet.next}"
        return [f"IF(INT({base} / 1024) * 1024 = {base}, {whole}, {' & '.join(other)})"]

    def _row(self, sheet: Grid, one: Amount, ladder: Ladder) -> str:
        """Write one number, in the unit that suits its value; returns where its text stands."""
        row, value = sheet.next + 1, one.value
        base, shown = f"{BASE}{row}", f"{SHOWN}{row}"
        starts, units = zip(*ladder, strict=True)
        names, factors = [unit.behind.strip(" ()") for unit in units], [unit.factor for unit in units]
        factor, written = reached(value, starts, factors), [unit.text(value) for unit in units]
        text = reached(value, starts, written) if value >= starts[0] else ""
        number = value / factor
        digits, decimals = decimals_of(reached(value, starts, [_number(unit, value) for unit in units]), number)
        behind, of_one = (
            looked_up(base, starts, found) for found in ([one.behind for one in units], [one.of_one for one in units])
        )
        words = behind if behind == of_one else f"IF({shown} = 1, {of_one}, {behind})"
        told = f"FIXED({shown}, {DECIMALS}{row}) & {words}"
        sheet.row(
            f"{one.step.name} {one.end}".strip(),
            Formula(f"={self._value(one)}", value, "base"),
            live(looked_up(base, starts, names), reached(value, starts, names), "text"),
            live(looked_up(base, starts, factors), factor, "number"),
            Formula(f"={base} / {FACTOR}{row}", number, "base"),
            Formula(f"=IF({shown} > 0, MAX(0, {SIGNIFICANT - 1} - INT(LOG10({shown}))), 0)", digits),
            Formula(f"=MAX(0, {DIGITS}{row} - {' - '.join(_noughts(row))})", decimals),
            Formula(f'=IF({base} < {starts[0]}, "", {told})' if starts[0] else f"={told}", text, "text"),
        )
        return f"{SHEET}!${TEXT}${row}"

    def _value(self, one: Amount) -> str:
        place = self.book.cells.place(one.step)
        found = f"{ENDS[one.end]}({place})" if one.end else place
        return f"INT({found})" if one.whole else found


def _number(unit: Figured, value: float) -> str:
    """A number without the words behind it."""
    return unit.text(value).removesuffix(unit.of_one).removesuffix(unit.behind)


def live(formula: str, value: str | float, style: str) -> Formula | str | float:
    """A formula, or no more than its value where it is a literal."""
    return Formula(f"={formula}", value, style) if "(" in formula else value


def _key(one: Amount) -> tuple[int, str, str, bool]:
    return id(one.step), one.unit, one.end, one.whole


def _noughts(row: int) -> Iterator[str]:
    """Which of the last digits are noughts, and left away: each a condition that counts one."""
    for fewer in range(1, SIGNIFICANT):
        yield f"(ROUND({SHOWN}{row}, {DIGITS}{row}) = ROUND({SHOWN}{row}, {DIGITS}{row} - {fewer}))"


def decimals_of(written: str, number: float) -> tuple[int, int]:
    """The decimals that four digits take, and those that are left without noughts at the end.

    >>> decimals_of("808.1", 808.098), decimals_of("8", 8.0), decimals_of("0.0385", 0.0385013), decimals_of("0", 0.0)
    ((1, 1), (3, 0), (5, 4), (0, 0))
    """
    import math

    digits = max(0, SIGNIFICANT - 1 - math.floor(math.log10(number))) if number > 0 else 0
    return digits, len(written.partition(".")[2])


def stale(sheet: Grid, first: str, last: str) -> None:
    """Strike out what was drawn with the inputs as delivered, in the columns between two headings, after a change."""
    left, right = sheet.heads.index(first), sheet.heads.index(last)
    rule = {"type": "formula", "criteria": f"={CHANGED}>0", "format": sheet.styles["stale"]}
    sheet.sheet.conditional_format(1, left, max(sheet.next - 1, 1), right, rule)


def stale_rows(sheet: Grid, first: int, last: int) -> None:
    """Strike out the lines between two rows after a change."""
    rule = {"type": "formula", "criteria": f"={CHANGED}>0", "format": sheet.styles["stale"]}
    sheet.sheet.conditional_format(first - 1, 0, last - 1, 0, rule)


def quoted(text: str) -> list[str]:
    """Text as literals of a formula, none too long."""
    pieces = [text[start : start + MOST_TEXT] for start in range(0, len(text), MOST_TEXT)]
    return ['"' + piece.replace('"', '""') + '"' for piece in pieces]
