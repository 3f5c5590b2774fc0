"""The result of a sample: figures with intervals, by folder and extension, files that do not count, and the design."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.corpus.counting.exact import Counter
from ingest.corpus.counting.ledger import Totals
from ingest.corpus.formats.documents import Reading
from ingest.corpus.sampling.adaptive import Survey
from ingest.corpus.sampling.estimators import FEWEST_DRAWS, Estimand, RatioEstimate, StratumPart, remainder
from ingest.corpus.sampling.strata import Stratum, UnitReader
from ingest.corpus.tokenizers.split_points import SplitRule
from ingest.corpus.types import CorpusFile, SkippedFile, Tally
from ingest.errors import IngestError
from ingest.formulas import sampling as formulas

TOO_FEW = f"fewer than {FEWEST_DRAWS} draws fell into it"


@dataclass(frozen=True)
class GroupEstimate:
    """The figures of a folder or an extension.

    Attributes:
        name: the folder or extension.
        files, stored_bytes: as listed.
        draws: number of draws in it.
        tokens, corpus_bytes, bytes_per_token: with intervals; None with too few draws.
        note: why figures are missing; otherwise empty.
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
    """The figures of each folder or of each extension, the largest first."""
    files: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for stratum in survey.all_strata:
        for name, (count, size, _) in stratum.breakdown[kind].items():
            files[name] = files.get(name, 0) + count
            sizes[name] = sizes.get(name, 0) + size
    parts: dict[str, list[StratumPart]] = {}
    for name, part in drawn_parts(survey, kind):
        parts.setdefault(name, []).append(part)
    tallies = getattr(survey.totals, kind).tallies()
    rows = []
    for name in sorted(files, key=lambda name: (-sizes[name], name)):
        tally = tallies.get(name, Tally())
        exact = {"tokens": tally.tokens, "text_bytes": tally.text_bytes}
        rows.append(row(name, files[name], sizes[name], Estimand(parts.get(name, []), exact, survey.confidence)))
    return rows


def row(name: str, files: int, stored_bytes: int, estimand: Estimand) -> GroupEstimate:
    """The figures of a folder or extension; none with too few draws."""
    draws = sum(part.draws for part in estimand.parts)
    if not estimand.enough():
        return GroupEstimate(name, files, stored_bytes, draws, None, None, None, TOO_FEW)
    figures = estimand.total("tokens"), estimand.total("text_bytes"), estimand.ratio("text_bytes", "tokens")
    return GroupEstimate(name, files, stored_bytes, draws, *figures)


def drawn_parts(survey: Survey, kind: str) -> Iterator[tuple[str, StratumPart]]:
    """The part of each sampled stratum in each folder, or with each extension."""
    import numpy

    listing = survey.reader.listing
    for stratum in survey.drawn:
        sample = stratum.sample(survey.reader)
        names = {unit: survey.strata.name_of(listing[stratum.frame.members[unit]], kind) for unit, _ in stratum.drawn}
        owners = numpy.array([names[unit] for unit, _ in stratum.drawn])
        order = numpy.argsort(owners, kind="stable")
        found, starts = numpy.unique(owners[order], return_index=True)
        places = dict(zip(found.tolist(), numpy.split(order, starts[1:]), strict=True))
        nowhere = numpy.zeros(0, dtype=int)
        for name, (_, _, size) in stratum.breakdown[kind].items():
            if size:
                yield name, StratumPart(sample, size, places.get(name, nowhere))


SEEDS = 2**32


@dataclass(frozen=True)
class SampledMeasurement:
    """A corpus measured by a sample.

    Attributes:
        figures: `tokens`, `corpus_bytes`, `bytes_per_token`, `stored_bytes`, `files` and `documents` of the readable files, and
            `unreadable_bytes`; an interval without width means an exact figure.
        folders, extensions: by folder and by extension.
        skipped: files that were read and do not count.
        parts: lines, rows and members that do not count, of files that do.
        bytes_read: bytes read from storage.
        seed: equal seeds draw equal samples.
        confidence, tolerance: of the intervals.
        met: whether the intervals of tokens and of bytes per token meet the tolerance.
        design: how each stratum was read.
        partial: the share of the corpus, where the run was interrupted.
        everything: exact totals, where every stratum was counted instead of sampled.
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
    engine: Counter,
    rule: SplitRule | None,
    tolerance: float = 0.005,
    confidence: float = 0.95,
    seed: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> SampledMeasurement:
    """Estimate the tokens and bytes per token of a corpus from blocks and files drawn at random.

    Args:
        listing: the files, in path order.
        reading: how documents are found in files.
        engine: counts tokens.
        rule: where texts may be split.
        tolerance: half the width of the intervals of tokens and of bytes per token, over their values.
        confidence: share of samples whose interval contains the true value.
        seed: equal seeds give equal results; random by default.
        progress: called with the stored bytes read since the last call.

    Raises:
        IngestError: the listing is empty.
        KeyboardInterrupt: interrupted before the first results.
    """
    if not len(listing):
        raise IngestError("nothing to sample: found no file, expected at least one that holds text")
    chosen = random.SystemRandom().randrange(SEEDS) if seed is None else seed
    reader = UnitReader(listing, reading, engine, rule, progress or (lambda _: None))
    survey = Survey(reader, str(chosen), tolerance, confidence)
    partial = ""
    try:
        survey.run(survey.strata.by_name.values())
    except KeyboardInterrupt:
        partial = survey.interrupted()
        if not partial:
            raise
    return SampledMeasurement(
        figures=figures_of(survey.estimand(), survey.all_strata),
        folders=rows_of(survey, "folders"),
        extensions=rows_of(survey, "extensions"),
        skipped=[*survey.totals.skipped, *reader.skipped.values()],
        parts=[*survey.totals.parts, *reader.parts],
        bytes_read=reader.bytes_read,
        seed=chosen,
        confidence=confidence,
        tolerance=tolerance,
        met=survey.met,
        design=survey.design(),
        partial=partial,
        everything=None if survey.drawn or partial else survey.totals.with_bytes_read(reader.bytes_read),
    )


def figures_of(estimand: Estimand, strata: Sequence[Stratum]) -> dict[str, RatioEstimate]:
    """The figures of the corpus."""
    lost = unreadable(estimand)
    return {
        "tokens": estimand.total("tokens"),
        "corpus_bytes": estimand.total("text_bytes"),
        "bytes_per_token": estimand.ratio("text_bytes", "tokens"),
        "stored_bytes": remainder(sum(stratum.stored_bytes for stratum in strata), lost),
        "files": remainder(sum(len(stratum.files) for stratum in strata), estimand.total("lost_files")),
        "documents": estimand.total("documents"),
        "unreadable_bytes": lost,
    }


def unreadable(estimand: Estimand) -> RatioEstimate:
    """Stored bytes of unreadable files; where no draw met one, the upper end covers those that may have been missed."""
    lost = estimand.total("lost_bytes")
    if lost.high > lost.low:
        return lost
    risk = 1 - estimand.confidence
    missed = sum(part.bytes * formulas.unseen_share_high(risk, part.draws) for part in estimand.parts if part.draws)
    return lost._replace(high=lost.high + float(missed))
