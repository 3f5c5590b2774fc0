"""An adaptive sample and its result: draw, estimate the variance, draw more until the tolerance is met.

A stratum has the files that are drawn alike: blocks of plain text, parts of Parquet and Arrow files, or whole files.
"""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ingest.corpus.counting.exact import DocumentCounter, ShardTally, count
from ingest.corpus.counting.ledger import OTHER, SHARD_FILES, GroupTallies, Shard, ShardCount, Totals
from ingest.corpus.estimators import (
    BLOCK_BYTES,
    FEWEST_DRAWS,
    FEWEST_PER_PART,
    DrawnSample,
    Estimand,
    RatioEstimate,
    SamplingFrame,
    StratumPart,
    block_at,
    draw,
    remainder,
    whole_characters,
)
from ingest.corpus.files.names import AS_TEXT
from ingest.corpus.files.source import Unreadable
from ingest.corpus.formats import HEAD_BYTES
from ingest.corpus.formats.documents import can_seek, parts_of, read_block
from ingest.corpus.formats.rows import json_form, not_text_reason
from ingest.corpus.types import CorpusFile, LeftOut, SkippedFile, Tally, extension_of, folder_of, root_of
from ingest.errors import IngestError
from ingest.formulas import corpus as formulas

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
#: blocks per call of the engine
BATCH_BLOCKS = 512
#: a drawn unit: its position in the frame, and the start of the block within it
UnitKey = tuple[int, int]
#: lines, rows and members that are named
NAMED = 1000
#: tokens, text bytes, documents (for blocks: less the lost files), and unreadable bytes and files
FIGURES = ("tokens", "text_bytes", "documents", "lost_bytes", "lost_files")
#: folders, and extensions, with figures of their own
MOST_NAMES = 1000
#: formats whose parts can be read alone, and the most files that are opened to list their parts
PARTED = ("parquet", "arrow")
MOST_OPENED = 1000
KINDS = ("folders", "extensions")


class DrawnUnit(NamedTuple):
    """Stored bytes and counts of a drawn block, file or part of a file; a block has no documents."""

    size: int
    tokens: int = 0
    text_bytes: int = 0
    documents: int = 0


@dataclass
class UnitReader:
    """Reads drawn units of a corpus."""

    listing: Sequence[CorpusFile]
    counter: DocumentCounter
    moved: Callable[[int], object]  # called with the stored bytes read since the last call
    bytes_read: int = 0
    skipped: dict[int, SkippedFile] = field(default_factory=dict)  # files that do not count, by position in the listing
    parts: LeftOut = field(default_factory=lambda: LeftOut(NAMED))  # what does not count of files that do
    _rows: dict[int, bool] = field(default_factory=dict)  # of the files with drawn blocks, by position: whether they hold rows

    def holds_rows(self, member: int) -> bool:
        """Whether a file that is named as text begins as JSON does, so that it counts by row."""
        if member not in self._rows:
            file = self.listing[member]
            self._rows[member] = file.format != AS_TEXT and bool(json_form(read_block(file, 0, HEAD_BYTES)))
        return self._rows[member]

    def count(self, shards: Iterable[Shard], root: str = "") -> Iterator[ShardCount]:
        for counted in count(shards, self.counter, ShardTally(root), self.moved):
            self.bytes_read += counted.total.bytes_read
            yield counted


@dataclass
class Stratum:
    """Files that are drawn alike."""

    name: str  # the format and compression, or `plain text`
    blocks: bool  # whether blocks of files are drawn; otherwise whole files or parts
    parts: array[int] = field(default_factory=lambda: array("q"))  # of each unit, where parts of files are drawn
    files: array[int] = field(default_factory=lambda: array("q"))  # positions in the listing, including empty files
    stored_bytes: int = 0  # of all files
    #: files, stored bytes and bytes of the frame, by folder and by extension
    breakdown: dict[str, GroupTallies] = field(default_factory=lambda: {kind: GroupTallies(MOST_NAMES + 1) for kind in KINDS})
    frame: SamplingFrame = field(default_factory=SamplingFrame)  # the units that can be drawn
    drawn: list[UnitKey] = field(default_factory=list)  # the draws so far, in pairs
    pilot: list[UnitKey] = field(default_factory=list)  # dropped draws, which count only if there are no others
    units: dict[UnitKey, DrawnUnit] = field(default_factory=dict)  # drawn, the pilot's included: no unit is read twice
    file_units: dict[int, DrawnUnit] = field(default_factory=dict)  # units whose whole file was read
    checked: set[int] = field(default_factory=set)  # files read because nothing in a drawn part counts
    rounds: int = 0  # number of times that draws were added

    def add(self, member: int, size: int) -> None:
        self.files.append(member)
        self.stored_bytes += size
        self.frame.add(member, size)

    def cost_per_draw(self) -> float:
        """Mean stored bytes that a draw reads."""
        sizes = self.frame.column()
        read = sizes.clip(max=BLOCK_BYTES) if self.blocks else sizes
        return float((sizes / self.frame.bytes * read).sum())

    def pilot_draws(self) -> float:
        """Draws of the pilot; fewer where each costs more."""
        fewest, most = FIRST_FILES
        return FIRST_BLOCKS if self.blocks else max(fewest, min(most, FIRST_BYTES / self.cost_per_draw()))

    def bytes_for(self, draws: float) -> float:
        """Stored bytes that so many draws read; a unit drawn twice is read once."""
        if self.blocks:
            return min(draws * self.cost_per_draw(), self.frame.bytes)
        sizes = self.frame.column()
        return float((sizes * (1 - (1 - sizes / self.frame.bytes) ** draws)).sum())

    def extend(self, pairs: int, seed: str, reader: UnitReader) -> None:
        """Draw two units in each of so many runs of bytes, and count those that are new."""
        places = self.frame.locate(draw(self.frame.bytes, pairs, f"{seed} {self.name} {self.rounds}"))
        self.rounds += 1
        keys = [(unit, block_at(offset, self.frame.sizes[unit])[0] if self.blocks else 0) for unit, offset in places]
        new = sorted(set(keys) - self.units.keys())
        self.units.update(self.fetch(new, reader))
        self.drawn += keys

    def fetch(self, keys: Sequence[UnitKey], reader: UnitReader) -> Iterator[tuple[UnitKey, DrawnUnit]]:
        if self.parts:
            yield from self._count_parts(keys, reader)
            return
        if not self.blocks:
            yield from self._count_files(keys, reader)
            return
        refused: list[UnitKey] = []
        for start in range(0, len(keys), BATCH_BLOCKS):
            texts, sizes = [], {}
            for unit, begin in keys[start : start + BATCH_BLOCKS]:
                size = block_at(begin, self.frame.sizes[unit])[1]
                text = None
                with suppress(Unreadable):
                    raw = read_block(reader.listing[self.frame.members[unit]], begin, size + 3)
                    reader.bytes_read += len(raw)
                    reader.moved(len(raw))
                    text = whole_characters(raw, size, first=begin == 0)
                    text = None if reader.holds_rows(self.frame.members[unit]) else text
                if text is None or not_text_reason(text, begin):
                    refused.append((unit, begin))  # the whole file must be read to detect its format
                else:
                    sizes[unit, begin] = size
                    texts.append(text)
            counts = reader.counter.engine.count(texts)
            yield from ((key, DrawnUnit(size, tokens, size)) for (key, size), tokens in zip(sizes.items(), counts, strict=True))
        yield from self._count_files(refused, reader)

    def _count_files(self, keys: Sequence[UnitKey], reader: UnitReader) -> Iterator[tuple[UnitKey, DrawnUnit]]:
        """Count whole files as an exact count does, each once; their content decides the format."""
        units = sorted({unit for unit, _ in keys} - self.file_units.keys())
        shards = (Shard(place, [reader.listing[self.frame.members[unit]]]) for place, unit in enumerate(units))
        for counted in reader.count(shards):
            unit, total = units[counted.number], counted.total
            documents = total.documents - self.blocks * total.files
            if counted.skipped:
                reader.skipped[self.frame.members[unit]] = counted.skipped[0]
            reader.parts.note(*counted.parts)
            self.file_units[unit] = DrawnUnit(self.frame.sizes[unit], total.tokens, total.text_bytes, documents)
        yield from ((key, self.file_units[key[0]]) for key in keys)

    def _count_parts(self, keys: Sequence[UnitKey], reader: UnitReader) -> Iterator[tuple[UnitKey, DrawnUnit]]:
        """Count row groups or record batches."""
        members, sizes = self.frame.members, self.frame.sizes
        shards = (
            Shard(place, [reader.listing[members[unit]]._replace(stored_bytes=sizes[unit])], [self.parts[unit]])
            for place, (unit, _) in enumerate(keys)
        )
        for key, counted in zip(keys, list(reader.count(shards)), strict=True):
            member, total = members[key[0]], counted.total
            if counted.skipped:
                reader.skipped[member] = counted.skipped[0]
            elif total.documents:
                reader.parts.note(*counted.parts)
            elif counted.parts and member not in self.checked:
                self.checked.add(member)
                list(self._count_files([key], reader))  # sees whether anything in the whole file counts
            yield key, DrawnUnit(sizes[key[0]], total.tokens, total.text_bytes, total.documents)

    def sample(self, reader: UnitReader) -> DrawnSample:
        """The amounts of each draw per stored byte; a file that is unreadable in one place is lost everywhere."""
        import numpy

        rows: list[tuple[float, ...]] = []
        for key in self.drawn:
            drawn, unit = self.units[key], key[0]
            member = self.frame.members[unit]
            if member in reader.skipped:
                one_file = 1 / (reader.listing[member].stored_bytes if self.parts else self.frame.sizes[unit])
                rows.append((0, 0, -one_file if self.blocks else 0, 1, one_file))
            else:
                rows.append((drawn.tokens / drawn.size, drawn.text_bytes / drawn.size, drawn.documents / drawn.size, 0, 0))
        table = numpy.array(rows, dtype=float).reshape(len(rows), len(FIGURES))
        return DrawnSample({name: table[:, place] for place, name in enumerate(FIGURES)}, self.frame.bytes)


class Strata:
    """The strata of a listing, with a breakdown by folder and by extension."""

    def __init__(self, listing: Sequence[CorpusFile]) -> None:
        self.root = root_of(listing[0].path, listing[-1].path)  # the folder that all files share
        self.names: dict[str, set[str]] = {kind: set() for kind in KINDS}  # with figures of their own; others are added up
        self.by_name: dict[str, Stratum] = {}
        for member, found in enumerate(listing):
            blocks = can_seek(found)
            name = "plain text" if blocks else " ".join(filter(None, (found.format, found.compression)))
            if not (found.stored_bytes or blocks):
                name = f"{name}, empty"
            stratum = self.by_name.setdefault(name, Stratum(name, blocks))
            stratum.add(member, found.stored_bytes)
            for kind in KINDS:
                stratum.breakdown[kind].add(self.name_of(found, kind), (1, found.stored_bytes, found.stored_bytes))
        for stratum in self.by_name.values():
            if stratum.name in PARTED and len(stratum.files) <= MOST_OPENED:
                self._divide(stratum, listing)

    def _divide(self, stratum: Stratum, listing: Sequence[CorpusFile]) -> None:
        """Draw parts of files."""
        stratum.frame = SamplingFrame()
        for rows in stratum.breakdown.values():
            for row in rows.rows.values():
                row[2] = 0
        for member in stratum.files:
            sizes = [listing[member].stored_bytes]
            with suppress(Unreadable):  # a broken file is one part, which is refused when it is read
                sizes = parts_of(listing[member]) or sizes
            for part, size in enumerate(sizes):
                stratum.frame.add(member, size)
                stratum.parts.append(part)
                for kind in KINDS:
                    stratum.breakdown[kind].add(self.name_of(listing[member], kind), (0, 0, size))

    def name_of(self, found: CorpusFile, kind: str) -> str:
        """The folder or extension of a file in the breakdown; those beyond the first are added up."""
        name = folder_of(found.path, self.root) if kind == "folders" else extension_of(found.path)
        if len(self.names[kind]) < MOST_NAMES:
            self.names[kind].add(name)
        return name if name in self.names[kind] else OTHER


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
                self.grow(stratum, stratum.pilot_draws())
            else:
                self.count_stratum(stratum)  # files without a byte: there is nothing to draw
        for stratum, draws in self.planned(self.estimand()):
            if stratum.bytes_for(len(stratum.drawn)) <= FIRST_BYTES:
                stratum.pilot, stratum.drawn = stratum.drawn, []
            self.grow(stratum, max(draws, stratum.pilot_draws()))
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
            unit, drawn = "block" if stratum.blocks else "part" if stratum.parts else "file", stratum.drawn
            unit, drawn = ("whole", []) if stratum in self.complete else (unit, drawn)
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
            for name, (number, size, _) in stratum.breakdown[kind].rows.items():
                files[name] += number
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
            draws = [part.draws for part in estimand.parts]
            row = GroupEstimate(name, files[name], sizes[name], sum(draws))
            # There are enough draws for an interval, in total and in each part.
            if not draws or (sum(draws) >= FEWEST_DRAWS and min(draws) >= FEWEST_PER_PART):
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
    def documents_drawn(self) -> int:
        """Documents that were read and count."""
        return self.totals.total.documents + sum(unit.documents for one in self.drawn for unit in one.units.values())

    @property
    def everything(self) -> Totals | None:
        """Exact totals, where every stratum was counted instead of sampled."""
        if self.drawn or self.partial:
            return None
        self.totals.total = self.totals.total._replace(bytes_read=self.reader.bytes_read)
        return self.totals


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
