"""The adaptive loop of a sample: draw, estimate the variance, draw more until the tolerance is met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ingest.corpus.counting.ledger import Totals
from ingest.corpus.sampling.estimators import FEWEST_DRAWS, Estimand, StratumPart, half_width
from ingest.corpus.sampling.strata import Strata, Stratum, UnitReader, pairs_for, shards_of
from ingest.formulas import sampling as formulas

#: draws of the pilot, enough to estimate the variance: of blocks; of files, fewest and most
FIRST_BLOCKS = 800
FIRST_FILES = (FEWEST_DRAWS, 200)
FIRST_BYTES = 2**30
#: allowance for the uncertainty of the pilot's variance
MARGIN = 1.2
ROUNDS = 6
#: share of a stratum from which reading all of it replaces the sample
WORTH_SAMPLING = 0.5
#: figures whose intervals must meet the tolerance: totals, and ratios of totals
PROMISED = (("tokens", ""), ("text_bytes", "tokens"))


@dataclass
class Survey:
    """An adaptive sample.

    Attributes:
        reader: of the corpus.
        seed: of the draws.
        tolerance, confidence: of the intervals.
        drawn: strata that are sampled.
        complete: strata that are counted exactly, because sampling would save little.
        totals: the counts of these.
        met: whether the tolerance is met.
    """

    reader: UnitReader
    seed: str
    tolerance: float
    confidence: float
    drawn: list[Stratum] = field(default_factory=list)
    complete: list[Stratum] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    met: bool = False

    @cached_property
    def strata(self) -> Strata:
        """The strata of the listing."""
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
                stratum.drop_pilot()
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
        missing = pairs_for(draws - len(stratum.drawn))
        if missing > 0:
            stratum.extend(missing, self.seed, self.reader)

    def count_stratum(self, stratum: Stratum) -> None:
        """Count a stratum exactly, instead of its draws."""
        reader = self.reader
        for member in stratum.files:
            reader.skipped.pop(member, None)
        shards = shards_of(reader.listing, stratum.files)
        for counted in list(reader.count(shards, self.strata.root)):  # an interruption leaves nothing of a stratum
            self.totals.merge(counted)
        self.drawn = [other for other in self.drawn if other is not stratum]
        self.complete.append(stratum)

    def interrupted(self) -> str:
        """Keep the strata with draws; return which share of the corpus they are, or an empty text without any."""
        self.drawn = [stratum for stratum in self.drawn if stratum.restore_pilot()]
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
        """The widest relative half width of the promised intervals."""
        return max(half_width(estimand.ratio(top, bottom) if bottom else estimand.total(top)) for top, bottom in PROMISED)

    def planned(self, estimand: Estimand) -> Iterator[tuple[Stratum, float]]:
        """Total draws of each stratum that would meet the tolerance."""
        if not self.drawn:
            return
        plans = [self.plan(estimand, top, bottom) for top, bottom in PROMISED]
        yield from zip(list(self.drawn), map(max, zip(*plans, strict=True)), strict=True)

    def plan(self, estimand: Estimand, top: str, bottom: str) -> list[float]:
        """Draws of each stratum for one promised figure: most where the variance per cost of a draw is largest."""
        base = estimand.value(bottom) if bottom else 0
        value = estimand.value(top) / base if base else estimand.value(top)
        pairs = estimand.variances_of_ratio(top, bottom) if bottom and value else estimand.variances_of_total(top)
        if not value or not any(column.any() for column in pairs):
            return [0.0] * len(self.drawn)
        allowed = formulas.variance_allowed(self.tolerance, value, estimand.quantile(pairs))
        spreads = [
            len(stratum.drawn) * formulas.sampling_variance(column) for stratum, column in zip(self.drawn, pairs, strict=True)
        ]
        costs = [stratum.cost_per_draw() for stratum in self.drawn]
        rooted = [formulas.rooted_cost(spread, cost) for spread, cost in zip(spreads, costs, strict=True)]
        return [
            float(formulas.draws_planned(MARGIN, spread, cost, rooted, allowed))
            for spread, cost in zip(spreads, costs, strict=True)
        ]

    @property
    def all_strata(self) -> list[Stratum]:
        """The sampled strata, then the complete ones."""
        return [*self.drawn, *self.complete]

    def design(self) -> list[Mapping[str, Any]]:
        """How each stratum was read."""
        return [
            {
                "files_of": stratum.name,
                "unit": "whole" if stratum in self.complete else stratum.unit,
                "files": len(stratum.files),
                "stored_bytes": stratum.stored_bytes,
                "draws": 0 if stratum in self.complete else len(stratum.drawn),
                "distinct": 0 if stratum in self.complete else len(set(stratum.drawn)),
            }
            for stratum in self.all_strata
        ]


def pilot_draws(stratum: Stratum) -> float:
    """Draws of the pilot; fewer where each costs more."""
    fewest, most = FIRST_FILES
    return FIRST_BLOCKS if stratum.blocks else max(fewest, min(most, FIRST_BYTES / stratum.cost_per_draw()))
