"""The sentence of a requirement in pieces: words, and the numbers that follow a quantity wherever it is changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import NamedTuple

from ingest.formula import Formula, Step
from ingest.site.sheet import COLUMN, gather
from ingest.units import display

#: what stands before the only time, before the shortest, before the longest
BEFORE = ("within ", "each within its own time, from ", " to ")


class Amount(NamedTuple):
    """A number within a sentence.

    Attributes:
        step: the quantity that it tells; a column where it tells one end of it.
        unit: in which it is shown, as `display` knows it.
        end: `least` or `most` of a column; empty for a plain quantity.
        whole: whether fractions are left away.
    """

    step: Step
    unit: str
    end: str = ""
    whole: bool = False

    @property
    def value(self) -> float:
        """What is shown, in base units."""
        ends = {"least": min, "most": max}
        found = float(ends[self.end](self.step.value) if self.end else self.step.value)
        return float(int(found)) if self.whole else found

    @property
    def text(self) -> str:
        """The number with its unit."""
        return display(self.value, self.unit)


class Times(NamedTuple):
    """The time that several jobs allow: one where they agree, the ends where they do not."""

    least: Amount
    most: Amount

    @property
    def text(self) -> str:
        """The words with the times."""
        alone, first, last = BEFORE
        same = self.least.value == self.most.value
        return alone + self.least.text if same else first + self.least.text + last + self.most.text


Piece = str | Amount | Times
Phrase = tuple[Piece, ...]


def phrase_of(template: str, fields: Mapping[str, str | Phrase | Amount | Times]) -> Phrase:
    """A template with its fields filled in; words that meet are one piece, with single spaces.

    >>> phrase_of("hold  {what} in {year}.", {"what": "data", "year": "each year"})
    ('hold data in each year.',)
    """
    pieces: list[Piece] = []
    for words, field, _, _ in Formatter().parse(template):
        found = fields[field] if field is not None else ()
        inner: Phrase = (found,) if isinstance(found, (str, Amount, Times)) else found
        for piece in (words, *inner):
            if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += piece
            elif piece:
                pieces.append(piece)
    return tuple(re.sub(r"\s+", " ", piece) if isinstance(piece, str) else piece for piece in pieces)


def text_of(phrase: Phrase) -> str:
    """The sentence as it is read today."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in phrase).strip()


def amounts_of(phrase: Phrase) -> list[Amount]:
    """The numbers of a sentence, in order."""
    return [
        one
        for piece in phrase
        if not isinstance(piece, str)
        for one in ((piece.least, piece.most) if isinstance(piece, Times) else (piece,))
    ]


def times_of(steps: Sequence[Step], name: str) -> str | Phrase:
    """The time that jobs allow, in words.

    Args:
        steps: the time of each job, each step once.
        name: of the column that gathers them.
    """
    if not steps:
        return "in time"
    if len(steps) == 1:
        return (BEFORE[0], Amount(steps[0], "s"))
    made = Formula(name, gather, tuple(one.name for one in steps), "s", "definition", COLUMN)
    column = Step(name, [one.value for one in steps], made, tuple(steps))
    return (Times(Amount(column, "s", "least"), Amount(column, "s", "most")),)
