"""The adaptive loop: draw, look how sure that is, draw what is missing, until the tolerance is met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ingest.corpus.counting.ledger import Totals
from ingest.corpus.sampling.estimators import FEWEST_DRAWS, Estimand, StratumPart, half_width
from ingest.corpus.sampling.strata import Strata, Stratum, UnitReader, pairs_for, shards_of
from ingest.formulas import sampling as formulas

#: draws of the first look, enough to know the spread: of blocks; of files, where they are large and where they are not
FIRST_BLOCKS = 800
FIRST_FILES = (FEWEST_DRAWS, 200)
FIRST_BYTES = 2**30
#: the spread that the first look shows is itself uncertain
MARGIN = 1.2
ROUNDS = 6
#: where a sample would read more of a group than this, all of it is read
WORTH_SAMPLING = 0.5
#: what must be as sure as asked for: totals, and ratios of totals
PROMISED = (("tokens", ""), ("text_bytes", "tokens"))


@dataclass
class Survey:
    """One sample on its way.

    Attributes:
        reader: of the corpus.
        seed: of the draws.
        tolerance, confidence: as asked for.
        drawn: groups of files that are drawn.
        whole: groups that are read whole, because drawing would not have saved much.
        counted: what these hold.
        met: whether the tolerance is met.
    """

    reader: UnitReader
    seed: str
    tolerance: float
    confidence: float
    drawn: list[Stratum] = field(default_factory=list)
    whole: list[Stratum] = field(default_factory=list)
    counted: Totals = field(default_factory=Totals)
    met: bool = False

    @cached_property
    def grouping(self) -> Strata:
        """The files, by how they can be drawn."""
        return Strata(self.reader.listing)

    def run(self, groups: Iterable[Stratum]) -> None:
        """Draw until the tolerance is met.

        The first look only says how much to draw, and is then forgotten: a sample that looks surer than it is would be kept
        more often than one that looks less sure, and where large values spread most that is a bias.
        """
        for group in groups:
            if group.frame.bytes:
                self.grow(group, first_look(group))
            else:
                self.read_whole(group)  # files without a byte: there is nothing to draw
        for group, draws in self.planned(self.everything()):
            if group.bytes_for(len(group.drawn)) <= FIRST_BYTES:
                group.forget()
            self.grow(group, max(draws, first_look(group)))
        for _ in range(ROUNDS):
            state = self.everything()
            self.met = self.width(state) <= self.tolerance
            if self.met or not self.drawn:
                return
            for group, draws in self.planned(state):
                self.grow(group, draws)
        self.met = self.width(self.everything()) <= self.tolerance

    def grow(self, group: Stratum, draws: float) -> None:
        """Have so many draws of a group, or read it whole where that costs little more."""
        if group.bytes_for(draws) > WORTH_SAMPLING * group.frame.bytes:
            self.read_whole(group)
            return
        if group not in self.drawn:
            self.drawn.append(group)
        missing = pairs_for(draws - len(group.drawn))
        if missing > 0:
            group.extend(missing, self.seed, self.reader)

    def read_whole(self, group: Stratum) -> None:
        """Count a group exactly; what was drawn of it before is of no more use."""
        reader = self.reader
        for member in group.files:
            reader.skipped.pop(member, None)
        shards = shards_of(reader.listing, group.files)
        for counted in list(reader.count(shards, self.grouping.root)):  # an interruption leaves nothing of a group
            self.counted.merge(counted)
        self.drawn = [other for other in self.drawn if other is not group]
        self.whole.append(group)

    def interrupted(self) -> str:
        """Keep what is known; return how much of the corpus that is, or nothing where nothing is known."""
        self.drawn = [group for group in self.drawn if group.remember()]
        if not self.groups:
            return ""
        files, kinds = sum(len(group.files) for group in self.groups), len(self.groups)
        draws = sum(len(group.drawn) for group in self.drawn)
        self.met = self.width(self.everything()) <= self.tolerance
        of_all = f"{files:,} of {len(self.reader.listing):,} files, in {kinds} of {len(self.grouping.groups)} groups"
        return f"interrupted after {draws:,} draws: everything here is of {of_all}"

    def everything(self) -> Estimand:
        """The whole corpus as the draws so far show it."""
        columns = [group.columns(self.reader) for group in self.drawn]
        total = self.counted.total
        files_in_blocks = sum(len(group.files) for group in self.drawn if group.blocks)
        known = {
            "tokens": total.tokens,
            "text_bytes": total.text_bytes,
            "documents": total.documents + files_in_blocks,
            "lost_bytes": sum(group.stored_bytes for group in self.whole) - total.stored_bytes,
            "lost_files": sum(len(group.files) for group in self.whole) - total.files,
        }
        return Estimand([StratumPart(column, column.frame_bytes) for column in columns], known, self.confidence)

    def width(self, state: Estimand) -> float:
        """The widest of the promised intervals, over its figure."""
        return max(half_width(state.ratio(top, bottom) if bottom else state.total(top)) for top, bottom in PROMISED)

    def planned(self, state: Estimand) -> Iterator[tuple[Stratum, float]]:
        """Draws of each group, in all, that would meet the tolerance."""
        if not self.drawn:
            return
        plans = [self.plan(state, top, bottom) for top, bottom in PROMISED]
        yield from zip(list(self.drawn), map(max, zip(*plans, strict=True)), strict=True)

    def plan(self, state: Estimand, top: str, bottom: str) -> list[float]:
        """The same for one promised figure: most draws where files vary most for what a draw costs."""
        value = state.value(top) / state.value(bottom) if bottom and state.value(bottom) else state.value(top)
        pairs = state.variances_of_ratio(top, bottom) if bottom and value else state.variances_of_total(top)
        if not value or not any(column.any() for column in pairs):
            return [0.0] * len(self.drawn)
        allowed = formulas.variance_allowed(self.tolerance, value, state.quantile(pairs))
        spreads = [
            len(group.drawn) * formulas.sampling_variance(column) for group, column in zip(self.drawn, pairs, strict=True)
        ]
        costs = [group.cost_per_draw() for group in self.drawn]
        rooted = [formulas.rooted_cost(spread, cost) for spread, cost in zip(spreads, costs, strict=True)]
        return [
            float(formulas.draws_planned(MARGIN, spread, cost, rooted, allowed))
            for spread, cost in zip(spreads, costs, strict=True)
        ]

    @property
    def groups(self) -> list[Stratum]:
        """All groups."""
        return [*self.drawn, *self.whole]

    def design(self) -> list[Mapping[str, Any]]:
        """How each group was read."""
        return [
            {
                "files_of": group.name,
                "unit": "whole" if group in self.whole else group.unit,
                "files": len(group.files),
                "stored_bytes": group.stored_bytes,
                "draws": 0 if group in self.whole else len(group.drawn),
                "distinct": 0 if group in self.whole else len(set(group.drawn)),
            }
            for group in self.groups
        ]


def first_look(group: Stratum) -> float:
    """Draws that show how much a group varies; fewer where each is dear."""
    fewest, most = FIRST_FILES
    return FIRST_BLOCKS if group.blocks else max(fewest, min(most, FIRST_BYTES / group.cost_per_draw()))
