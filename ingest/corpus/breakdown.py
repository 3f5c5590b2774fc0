"""Folders and extensions, from the same draws as the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.corpus.estimating import FEWEST_DRAWS, Estimated, Part, Whole
from ingest.corpus.survey import Survey
from ingest.corpus.terms import Tally

TOO_FEW = f"fewer than {FEWEST_DRAWS} draws fell into it"


@dataclass(frozen=True)
class Row:
    """A folder or an extension.

    Attributes:
        name: of it.
        files, stored_bytes: as listed.
        draws: that fell into it.
        tokens, corpus_bytes, bytes_per_token: with intervals; None where too few draws fell into it.
        note: why there are no figures, or nothing.
    """

    name: str
    files: int
    stored_bytes: int
    draws: int
    tokens: Estimated | None
    corpus_bytes: Estimated | None
    bytes_per_token: Estimated | None
    note: str = ""


def rows_of(survey: Survey, kind: str) -> list[Row]:
    """One row for each folder or each extension, the largest first."""
    files: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for group in survey.groups:
        for name, (count, size, _) in group.breakdown[kind].items():
            files[name] = files.get(name, 0) + count
            sizes[name] = sizes.get(name, 0) + size
    wholes = wholes_of(survey, kind)
    return [row(name, files[name], sizes[name], wholes[name]) for name in sorted(files, key=lambda name: (-sizes[name], name))]


def row(name: str, files: int, stored_bytes: int, whole: Whole) -> Row:
    """A row with what its draws are worth."""
    draws = sum(part.draws for part in whole.parts)
    if not whole.enough():
        return Row(name, files, stored_bytes, draws, None, None, None, TOO_FEW)
    figures = whole.total("tokens"), whole.total("text_bytes"), whole.ratio("text_bytes", "tokens")
    return Row(name, files, stored_bytes, draws, *figures)


def wholes_of(survey: Survey, kind: str) -> dict[str, Whole]:
    """For each name what was drawn and what was counted of it."""
    counted = getattr(survey.counted, kind).tallies()
    parts: dict[str, list[Part]] = {}
    for name, part in drawn_parts(survey, kind):
        parts.setdefault(name, []).append(part)
    names = {name for group in survey.groups for name in group.breakdown[kind]}
    return {name: Whole(parts.get(name, []), known(counted.get(name, Tally())), survey.confidence) for name in names}


def known(tally: Tally) -> dict[str, float]:
    """What was counted, by figure."""
    return {"tokens": tally.tokens, "text_bytes": tally.text_bytes}


def drawn_parts(survey: Survey, kind: str) -> Iterator[tuple[str, Part]]:
    """What each name has of each group that was drawn."""
    import numpy

    listing, grouping = survey.reader.listing, survey.grouping
    for group in survey.drawn:
        column = group.columns(survey.reader)
        names = {unit: grouping.part_of(listing[group.frame.members[unit]], kind) for unit, _ in group.drawn}
        owners = numpy.array([names[unit] for unit, _ in group.drawn])
        order = numpy.argsort(owners, kind="stable")
        found, starts = numpy.unique(owners[order], return_index=True)
        places = dict(zip(found.tolist(), numpy.split(order, starts[1:]), strict=True))
        nowhere = numpy.zeros(0, dtype=int)
        for name, (_, _, size) in group.breakdown[kind].items():
            if size:
                yield name, Part(column, size, places.get(name, nowhere))
