"""An adaptive sample and its result: draw, estimate the variance, draw more until the tolerance is met."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ingest.corpus.counting.exact import DocumentCounter
from ingest.corpus.counting.ledger import SHARD_FILES, Shard, Totals
from ingest.corpus.sampling.estimators import FEWEST_DRAWS, Estimand, RatioEstimate, StratumPart, remainder
from ingest.corpus.sampling.strata import Strata, Stratum, UnitReader
from ingest.corpus.types import CorpusFile, SkippedFile, Tally
from ingest.errors import IngestError
from ingest.formulas import sampling as formulas

#: draws of the pilot, enough to estimate the variance: of blocks; of files, fewest and most
FIRST_BLOCKS = 800
FIRST_FILES = (FEWEST_DRAWS, 200)
FIRST_BYTES = 2**30
#: allowance for the uncertainty of the pilot's variance
MARGIN = 1.2
ROUNDS = 6
SEEDS = 2**32
#: share of a stratum from which reading all of it replaces the sample
WORTH_SAMPLING = 0.5
#: figures whose intervals must meet the tolerance: totals, and ratios of totals
PROMISED = (("tokens",), ("text_bytes", "tokens"))


class GroupEstimate(NamedTuple):
    """The figures of a folder or an extension, with intervals; None with too few draws."""

    name: str
    files: int  # as listed
    stored_bytes: int  # as listed
    draws: int  # in it
    tokens: RatioEstimate | None = None
    corpus_bytes: RatioEstimate | None = None
    bytes_per_token: RatioEstimate | None = None

    @property
    def note(self) -> str:
        """Why figures are missing; otherwise empty."""
        return "" if self.tokens else f"fewer than {FEWEST_DRAWS} draws fell into it"


@dataclass
class Survey:
    """An adaptive sample, and the figures that it yields."""

    reader: UnitReader  # of the corpus; has the bytes read, and what does not count
    seed: int  # equal seeds draw equal samples
    tolerance: float  # of the intervals of tokens and of bytes per token
    confidence: float  # of these intervals
    drawn: list[Stratum] = field(default_factory=list)  # strata that are sampled
    complete: list[Stratum] = field(default_factory=list)  # counted exactly, because sampling would save little
    totals: Totals = field(default_factory=Totals)  # the counts of these
    met: bool = False  # whether the tolerance is met
    partial: str = ""  # the share of the corpus, where the run was interrupted

    @cached_property
    def strata(self) -> Strata:
        return Strata(self.reader.listing)

    def run(self, strata: Iterable[Stratum]) -> None:
        """Draw until the tolerance is met.

        The pilot only plans the draws, and is then dropped: a sample that underestimates its variance would be kept more often
        than one that overestimates it, which is a bias where large values vary most.
        """
        for stratum in strata:
            if stratum.frame.bytes:
                self.grow(stratum, pilot_draws(stratum))
            else:
                self.count_stratum(stratum)  # files without a byte: there is nothing to draw
        for stratum, draws in self.planned(self.estimand()):
            if stratum.bytes_for(len(stratum.drawn)) <= FIRST_BYTES:
                stratum.pilot, stratum.drawn = stratum.drawn, []
            self.grow(stratum, max(draws, pilot_draws(stratum)))
        for _ in range(ROUNDS):
            estimand = self.estimand()
            self.met = self.width(estimand) <= self.tolerance
            if self.met or not self.drawn:
                return
            for stratum, draws in self.planned(estimand):
                self.grow(stratum, draws)
        self.met = self.width(self.estimand()) <= self.tolerance

    def grow(self, stratum: Stratum, draws: float) -> None:
        """Bring a stratum to so many draws, or count all of it where that costs little more."""
        if stratum.bytes_for(draws) > WORTH_SAMPLING * stratum.frame.bytes:
            self.count_stratum(stratum)
            return
        if stratum not in self.drawn:
            self.drawn.append(stratum)
        missing = math.ceil((draws - len(stratum.drawn)) / 2)  # pairs
        if missing > 0:
            stratum.extend(missing, str(self.seed), self.reader)

    def count_stratum(self, stratum: Stratum) -> None:
        """Count a stratum exactly, instead of its draws."""
        reader = self.reader
        for member in stratum.files:
            reader.skipped.pop(member, None)
        shards = (
            Shard(start, [reader.listing[member] for member in stratum.files[start : start + SHARD_FILES]])
            for start in range(0, len(stratum.files), SHARD_FILES)
        )
        for counted in list(reader.count(shards, self.strata.root)):  # an interruption leaves nothing of a stratum
            self.totals.merge(counted)
        self.drawn = [other for other in self.drawn if other is not stratum]
        self.complete.append(stratum)

    def interrupted(self) -> str:
        """Keep the strata with draws; return which share of the corpus they are, or an empty text without any."""
        for stratum in self.drawn:
            stratum.drawn = stratum.drawn or stratum.pilot
        self.drawn = [stratum for stratum in self.drawn if stratum.drawn]
        if not self.all_strata:
            return ""
        files, kinds = sum(len(stratum.files) for stratum in self.all_strata), len(self.all_strata)
        draws = sum(len(stratum.drawn) for stratum in self.drawn)
        self.met = self.width(self.estimand()) <= self.tolerance
        of_all = f"{files:,} of {len(self.reader.listing):,} files, in {kinds} of {len(self.strata.by_name)} strata"
        return f"interrupted after {draws:,} draws: all results are of {of_all}"

    def estimand(self) -> Estimand:
        """The whole corpus, from the draws so far."""
        samples = [stratum.sample(self.reader) for stratum in self.drawn]
        total = self.totals.total
        files_in_blocks = sum(len(stratum.files) for stratum in self.drawn if stratum.blocks)
        exact = {
            "tokens": total.tokens,
            "text_bytes": total.text_bytes,
            "documents": total.documents + files_in_blocks,
            "lost_bytes": sum(stratum.stored_bytes for stratum in self.complete) - total.stored_bytes,
            "lost_files": sum(len(stratum.files) for stratum in self.complete) - total.files,
        }
        return Estimand([StratumPart(sample, sample.frame_bytes) for sample in samples], exact, self.confidence)

    def width(self, estimand: Estimand) -> float:
        """The widest relative half width of the promised intervals; 0 for a value of 0."""
        found = (estimand.estimate(*figure) for figure in PROMISED)
        return max(float(formulas.relative_half_width(one.high - one.value, one.value)) if one.value else 0.0 for one in found)

    def planned(self, estimand: Estimand) -> Iterator[tuple[Stratum, float]]:
        """Total draws of each stratum that would meet the tolerance: most where the variance per cost of a draw is largest."""
        if not self.drawn:
            return
        costs = [stratum.cost_per_draw() for stratum in self.drawn]
        most = [0.0] * len(costs)
        for figure in PROMISED:
            value = estimand.value(*figure)
            pairs = estimand.variances(*figure) if value else []
            if not any(column.any() for column in pairs):
                continue
            allowed = formulas.variance_allowed(self.tolerance, value, estimand.quantile(pairs))
            drawn = zip(self.drawn, pairs, strict=True)
            spreads = [len(stratum.drawn) * formulas.sampling_variance(column) for stratum, column in drawn]
            rooted = list(map(formulas.rooted_cost, spreads, costs))
            for place, (spread, cost) in enumerate(zip(spreads, costs, strict=True)):
                most[place] = max(most[place], float(formulas.draws_planned(MARGIN, spread, cost, rooted, allowed)))
        yield from zip(list(self.drawn), most, strict=True)

    @property
    def all_strata(self) -> list[Stratum]:
        """The sampled strata, then the complete ones."""
        return [*self.drawn, *self.complete]

    @property
    def design(self) -> list[dict[str, Any]]:
        """How each stratum was read."""
        rows = []
        for stratum in self.all_strata:
            whole = stratum in self.complete
            drawn = [] if whole else stratum.drawn
            unit = "whole" if whole else "block" if stratum.blocks else "part" if stratum.parts else "file"
            row = {"files_of": stratum.name, "unit": unit, "files": len(stratum.files)}
            rows.append({**row, "stored_bytes": stratum.stored_bytes, "draws": len(drawn), "distinct": len(set(drawn))})
        return rows

    @cached_property
    def figures(self) -> dict[str, RatioEstimate]:
        """The figures of the readable files, and `unreadable_bytes`; an interval without width means an exact figure."""
        estimand, strata = self.estimand(), self.all_strata
        lost = estimand.estimate("lost_bytes")
        if lost.high <= lost.low:  # no draw met an unreadable file: the upper end covers those that may have been missed
            risk = 1 - estimand.confidence
            missed = sum(part.bytes * formulas.unseen_share_high(risk, part.draws) for part in estimand.parts if part.draws)
            lost = lost._replace(high=lost.high + float(missed))
        return {
            "tokens": estimand.estimate("tokens"),
            "corpus_bytes": estimand.estimate("text_bytes"),
            "bytes_per_token": estimand.estimate("text_bytes", "tokens"),
            "stored_bytes": remainder(sum(stratum.stored_bytes for stratum in strata), lost),
            "files": remainder(sum(len(stratum.files) for stratum in strata), estimand.estimate("lost_files")),
            "documents": estimand.estimate("documents"),
            "unreadable_bytes": lost,
        }

    def groups(self, kind: str) -> list[GroupEstimate]:
        """The figures of each of the `folders` or `extensions`, the largest first."""
        import numpy

        files, sizes = Counter[str](), Counter[str]()
        for stratum in self.all_strata:
            for name, (count, size, _) in stratum.breakdown[kind].rows.items():
                files[name] += count
                sizes[name] += size
        parts: dict[str, list[StratumPart]] = {}
        nowhere = numpy.zeros(0, dtype=int)
        for stratum in self.drawn:
            sample, members = stratum.sample(self.reader), stratum.frame.members
            names = {unit: self.strata.name_of(self.reader.listing[members[unit]], kind) for unit, _ in stratum.drawn}
            owners = numpy.array([names[unit] for unit, _ in stratum.drawn])
            order = numpy.argsort(owners, kind="stable")
            found, starts = numpy.unique(owners[order], return_index=True)
            places = dict(zip(found.tolist(), numpy.split(order, starts[1:]), strict=True))
            for name, (_, _, size) in stratum.breakdown[kind].rows.items():
                if size:
                    parts.setdefault(name, []).append(StratumPart(sample, size, places.get(name, nowhere)))
        tallies = getattr(self.totals, kind).tallies()
        rows = []
        for name in sorted(files, key=lambda name: (-sizes[name], name)):
            tally = tallies.get(name, Tally())
            exact = {"tokens": tally.tokens, "text_bytes": tally.text_bytes}
            estimand = Estimand(parts.get(name, []), exact, self.confidence)
            row = GroupEstimate(name, files[name], sizes[name], sum(part.draws for part in estimand.parts))
            if estimand.enough():
                totals = estimand.estimate("tokens"), estimand.estimate("text_bytes")
                row = GroupEstimate(*row[:4], *totals, estimand.estimate("text_bytes", "tokens"))
            rows.append(row)
        return rows

    @property
    def skipped(self) -> list[SkippedFile]:
        """Files that were read and do not count."""
        return [*self.totals.skipped.named, *self.reader.skipped.values()]

    @property
    def parts(self) -> list[SkippedFile]:
        """Lines, rows and members that do not count, of files that do."""
        return [*self.totals.parts.named, *self.reader.parts.named]

    @property
    def everything(self) -> Totals | None:
        """Exact totals, where every stratum was counted instead of sampled."""
        if self.drawn or self.partial:
            return None
        self.totals.total = self.totals.total._replace(bytes_read=self.reader.bytes_read)
        return self.totals


def pilot_draws(stratum: Stratum) -> float:
    """Draws of the pilot; fewer where each costs more."""
    fewest, most = FIRST_FILES
    return FIRST_BLOCKS if stratum.blocks else max(fewest, min(most, FIRST_BYTES / stratum.cost_per_draw()))


def sample_corpus(
    listing: Sequence[CorpusFile],
    counter: DocumentCounter,
    tolerance: float = 0.005,
    confidence: float = 0.95,
    seed: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Survey:
    """Estimate the tokens and bytes per token of a corpus, listed in path order, from blocks and files drawn at random.

    The tolerance is half the width of the intervals of tokens and of bytes per token, over their values; the confidence is the
    share of samples whose interval contains the true value. Equal seeds give equal results; the seed is random by default.
    `progress` is called with the stored bytes read since the last call.

    Raises IngestError: the listing is empty; KeyboardInterrupt: interrupted before the first results.
    """
    if not len(listing):
        raise IngestError("nothing to sample: found no file, expected at least one that holds text")
    chosen = random.SystemRandom().randrange(SEEDS) if seed is None else seed
    reader = UnitReader(listing, counter, progress or (lambda _: None))
    survey = Survey(reader, chosen, tolerance, confidence)
    try:
        survey.run(survey.strata.by_name.values())
    except KeyboardInterrupt:
        survey.partial = survey.interrupted()
        if not survey.partial:
            raise
    return survey
