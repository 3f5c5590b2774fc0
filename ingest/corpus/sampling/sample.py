"""What a sample says about a corpus: figures with intervals, the breakdown, what was left out, and how it was drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.corpus.counting import exact
from ingest.corpus.counting.ledger import Totals
from ingest.corpus.formats.documents import Reading
from ingest.corpus.sampling.adaptive import Survey
from ingest.corpus.sampling.estimators import FEWEST_DRAWS, Estimand, RatioEstimate, StratumPart, fewer, more
from ingest.corpus.sampling.strata import Stratum, UnitReader
from ingest.corpus.tokenizers.split_points import SplitRule
from ingest.corpus.types import CorpusFile, SkippedFile, Tally
from ingest.errors import IngestError
from ingest.formulas import sampling as formulas

TOO_FEW = f"fewer than {FEWEST_DRAWS} draws fell into it"


@dataclass(frozen=True)
class GroupEstimate:
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
    tokens: RatioEstimate | None
    corpus_bytes: RatioEstimate | None
    bytes_per_token: RatioEstimate | None
    note: str = ""


def rows_of(survey: Survey, kind: str) -> list[GroupEstimate]:
    """One row for each folder or each extension, the largest first."""
    files: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for group in survey.groups:
        for name, (count, size, _) in group.breakdown[kind].items():
            files[name] = files.get(name, 0) + count
            sizes[name] = sizes.get(name, 0) + size
    wholes = wholes_of(survey, kind)
    return [row(name, files[name], sizes[name], wholes[name]) for name in sorted(files, key=lambda name: (-sizes[name], name))]


def row(name: str, files: int, stored_bytes: int, whole: Estimand) -> GroupEstimate:
    """A row with what its draws are worth."""
    draws = sum(part.draws for part in whole.parts)
    if not whole.enough():
        return GroupEstimate(name, files, stored_bytes, draws, None, None, None, TOO_FEW)
    figures = whole.total("tokens"), whole.total("text_bytes"), whole.ratio("text_bytes", "tokens")
    return GroupEstimate(name, files, stored_bytes, draws, *figures)


def wholes_of(survey: Survey, kind: str) -> dict[str, Estimand]:
    """For each name what was drawn and what was counted of it."""
    counted = getattr(survey.counted, kind).tallies()
    parts: dict[str, list[StratumPart]] = {}
    for name, part in drawn_parts(survey, kind):
        parts.setdefault(name, []).append(part)
    names = {name for group in survey.groups for name in group.breakdown[kind]}
    return {name: Estimand(parts.get(name, []), known(counted.get(name, Tally())), survey.confidence) for name in names}


def known(tally: Tally) -> dict[str, float]:
    """What was counted, by figure."""
    return {"tokens": tally.tokens, "text_bytes": tally.text_bytes}


def drawn_parts(survey: Survey, kind: str) -> Iterator[tuple[str, StratumPart]]:
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
                yield name, StratumPart(column, size, places.get(name, nowhere))


SEEDS = 2**32


@dataclass(frozen=True)
class SampledMeasurement:
    """A corpus as a sample shows it.

    Attributes:
        figures: `tokens`, `corpus_bytes`, `bytes_per_token`, `stored_bytes`, `files`, `documents`, `text_per_stored_byte`,
            of what is readable, and `unreadable_bytes`; where an interval has no width the figure is exact.
        folders, extensions: the same figures for parts of the corpus.
        skipped: files that turned out not to be readable among those that were looked at.
        parts: lines, rows and members that were left out of files that count.
        bytes_read: what was moved from storage.
        seed: the same seed draws the same sample.
        confidence, tolerance: as asked for.
        met: whether the intervals of tokens and of bytes per token are as narrow as asked for.
        design: for each kind of file how it was read.
        partial: how much of the corpus this is, where it was interrupted.
        everything: what was counted, where drawing would not have saved anything and nothing was left to chance.
    """

    figures: Mapping[str, RatioEstimate]
    folders: Sequence[GroupEstimate]
    extensions: Sequence[GroupEstimate]
    skipped: Sequence[SkippedFile]
    parts: Sequence[SkippedFile]
    bytes_read: int
    seed: int
    confidence: float
    tolerance: float
    met: bool
    design: Sequence[Mapping[str, Any]]
    partial: str = ""
    everything: Totals | None = None


def sample_corpus(
    listing: Sequence[CorpusFile],
    reading: Reading,
    engine: exact.Counter,
    rule: SplitRule | None,
    tolerance: float = 0.005,
    confidence: float = 0.95,
    seed: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> SampledMeasurement:
    """Estimate tokens and bytes per token of a corpus from blocks and files drawn at random.

    Args:
        listing: the files, in path order.
        reading: how documents are found in files.
        engine: counts tokens.
        rule: where texts may be split.
        tolerance: half the width of the intervals of tokens and of bytes per token, over the estimate.
        confidence: share of samples whose interval holds the true value.
        seed: the same seed gives the same answer; random by default.
        progress: called with the stored bytes read since the last call.

    Raises:
        IngestError: there is nothing to read.
        KeyboardInterrupt: interrupted before anything was known.
    """
    if not len(listing):
        raise IngestError("nothing to sample: found no file, expected at least one that holds text")
    chosen = random.SystemRandom().randrange(SEEDS) if seed is None else seed
    reader = UnitReader(listing, reading, engine, rule, progress or (lambda _: None))
    survey = Survey(reader, str(chosen), tolerance, confidence)
    partial = ""
    try:
        survey.run(survey.grouping.groups.values())
    except KeyboardInterrupt:
        partial = survey.interrupted()
        if not partial:
            raise
    return SampledMeasurement(
        figures=figures_of(survey.everything(), survey.groups),
        folders=rows_of(survey, "folders"),
        extensions=rows_of(survey, "extensions"),
        skipped=[*survey.counted.skipped, *reader.skipped.values()],
        parts=[*survey.counted.parts, *reader.parts],
        bytes_read=reader.bytes_read,
        seed=chosen,
        confidence=confidence,
        tolerance=tolerance,
        met=survey.met,
        design=survey.design(),
        partial=partial,
        everything=None if survey.drawn or partial else survey.counted.with_bytes_read(reader.bytes_read),
    )


def figures_of(state: Estimand, groups: Sequence[Stratum]) -> dict[str, RatioEstimate]:
    """The figures of the whole corpus."""
    lost = unreadable(state)
    stored_bytes = sum(group.stored_bytes for group in groups)
    files = sum(len(group.files) for group in groups)
    return {
        "tokens": state.total("tokens"),
        "corpus_bytes": state.total("text_bytes"),
        "bytes_per_token": state.ratio("text_bytes", "tokens"),
        "stored_bytes": fewer(stored_bytes, lost),
        "files": fewer(files, state.total("lost_files")),
        "documents": state.total("documents"),
        "unreadable_bytes": lost,
    }


def unreadable(state: Estimand) -> RatioEstimate:
    """Stored bytes that are not readable; where no draw has shown any, as many as could still have stayed unseen."""
    found = state.total("lost_bytes")
    risk = 1 - state.confidence
    unseen = sum(part.bytes * formulas.unseen_share_high(risk, part.draws) for part in state.parts if part.draws)
    return found if found.high > found.low else more(found, float(unseen))
