"""Parts of a measurement, each made by a process of its own, and their sum; and the corpus that is counted.

The shards of the listing are shared out by their stored bytes, so that equal listings give equal parts. The file of a part is a
ledger of its shards. Sizes of samples have shards too, and one more for the folders that are one data set. A sample is not
divided: what it draws next depends on all that it has read, and it reads little; the first part draws it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.store import Catalog
from ingest.corpus.counting.exact import DocumentCounter
from ingest.corpus.counting.ledger import (
    FORM,
    IDENTITY,
    Kept,
    Ledger,
    Shards,
    Totals,
    counted_in,
    difference_between,
    entry_in,
    entry_line,
    entry_of,
)
from ingest.corpus.counting.runners import ClusterRunner, CountingTask, ExactCount, Runner, TooLong, cores, local_runner
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.files.names import short_title
from ingest.corpus.formats.documents import can_divide
from ingest.corpus.measurement import (
    QUESTION,
    CorpusMeasurement,
    CorpusPart,
    SampleSizes,
    SizeShards,
    answered,
    counted_exactly,
    measured_by_sample,
    measured_sizes,
    nothing_counted,
)
from ingest.corpus.sample import sample_corpus
from ingest.corpus.tokenizers.engines import CHECKED_FILES, TRAINING_FILES, beginnings, select_engine, split_rule_for
from ingest.corpus.tokenizers.vocabulary import vocabulary_of
from ingest.corpus.types import Progress, SkippedFile, Vocabulary, root_of
from ingest.engine.messages import Message, rule_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, revised
from ingest.errors import IngestError, UsageError, brief
from ingest.files import read_bytes
from ingest.units import display
from ingest.version import __version__

#: what is divided: the shards of an exact count, those of sizes of samples, or the one sample
EXACT, SIZES, SAMPLE = "exact", "samples", "sample"
#: of a part of twenty thousand shards that each have all the folders that a shard can have
MOST_BYTES = 2**31
MOST_PARTS = 100_000
#: parts that a refusal names
MOST_NAMED = 10
EXPECTED = "a part that `ingest measure --part` wrote"


class Share(NamedTuple):
    """The part `number` of `parts`, counted from 1."""

    number: int
    parts: int

    @classmethod
    def of(cls, written: str) -> Share:
        """As an option has it.

        >>> Share.of("3/8")
        Share(number=3, parts=8)

        Raises UsageError: not i/n, or i is not one of 1 to n.
        """
        found = re.fullmatch(r"\s*([0-9]{1,6})\s*/\s*([0-9]{1,6})\s*", str(written))
        share = cls(*map(int, found.groups())) if found else None
        if share is None or not 1 <= share.number <= share.parts <= MOST_PARTS:
            raise UsageError(f"--part: found {brief(written)}, expected i/n with i from 1 to n, such as 1/8")
        return share

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"

    def shards_of(self, sizes: Sequence[int]) -> list[int]:
        """The numbers of the shards of this part, of shards of these bytes: the largest first, each to the part with least.

        >>> [Share(number, 3).shards_of([5, 9, 1, 4]) for number in (1, 2, 3)]
        [[1], [0], [2, 3]]
        """
        loads = [(0, 0, number) for number in range(1, self.parts + 1)]
        heapify(loads)
        own = []
        for shard in sorted(range(len(sizes)), key=lambda shard: (-sizes[shard], shard)):
            load, shards, number = loads[0]
            heapreplace(loads, (load + sizes[shard], shards + 1, number))
            if number == self.number:
                own.append(shard)
        return sorted(own)


class Divided(NamedTuple):
    """A measurement that is divided: its kind, the shards in all, and what the sum of its parts says about it."""

    kind: str
    shards: int
    identity: Mapping[str, Any]  # as in the header of a ledger
    named: str  # the corpus, in titles
    catalog: Catalog
    engine: str = ""
    notes: Sequence[str] = ()
    vocabulary: Vocabulary | None = None
    skipped: Sequence[SkippedFile] = ()  # what could not be listed

    def part(self, share: Share, numbers: Sequence[int], entries: Iterable[Mapping[str, Any]], size: int) -> CorpusPart:
        """The part that has these shards, with their entries and their stored bytes."""
        record = self.vocabulary and {name: getattr(self.vocabulary, name) for name in RECORDED}
        header = {
            "ledger": FORM,
            **self.identity,
            "part": str(share),
            "kind": self.kind,
            "shards": self.shards,
            "numbers": list(numbers),
            "named": self.named,
            "engine": self.engine,
            "notes": told(self.notes),
            "tokenizer": record,
            "left_out": self.skipped if share.number == 1 else (),
        }
        ledger = b"".join(map(entry_line, (header, *entries)))
        what = f"{len(numbers):,} of {self.shards:,} shards, {display(size, 'B', binary=False)}"
        what = ("the sample" if numbers else "nothing, the first part draws the sample") if self.kind == SAMPLE else what
        title = f"{self.named}: part {share}, {what}"
        manifest = self.identity["manifest"]
        return CorpusPart(
            QUESTION, title, {}, Quantities({}), {}, {}, {}, (), self.catalog,
            part=str(share), ledger=ledger, manifest_hash=manifest, partial=f"part {share}",
        )  # fmt: skip


def part_of_sizes(
    paths: Sequence[str | Path],
    share: Share,
    include: Sequence[str],
    exclude: Sequence[str],
    catalog: Catalog,
    progress: Progress,
) -> CorpusPart:
    """Measure the sizes of the samples of a part."""
    listing = list_inputs([str(path) for path in paths], include, exclude)
    shards = SizeShards(listing, listing.sizes)
    sizes = list(map(shards.stored_bytes, range(len(shards))))
    numbers = share.shards_of(sizes)
    size = sum(sizes[number] for number in numbers)
    progress.begin(size, 0)
    entries = [{"shard": number, **shards.sizes_of(number, progress.moved).to_entry()} for number in numbers]
    progress.clear()
    identity = dict(zip(IDENTITY, (listing.manifest_hash(), "", "samples", __version__), strict=True))
    divided = Divided(SIZES, len(shards), identity, short_title(paths), catalog, skipped=listing.skipped)
    return divided.part(share, numbers, entries, size)


#: of a vocabulary, what a result names
RECORDED = ("name", "kind", "size", "sha256", "source", "license")


def told(notes: Iterable[str]) -> list[tuple[str, str]]:
    """Lines with the rules that they come from."""
    return [(str(note), rule_of(note)) for note in notes]


class PartFile(NamedTuple):
    """A part as it was written; `place` names it in messages."""

    place: str
    header: dict[str, Any]
    entries: dict[int, dict[str, Any]]

    @classmethod
    def of(cls, source: str | Path | CorpusPart) -> PartFile:
        """A part, or that in a file. Raises IngestError: it is no part, or is not as it was written."""
        if isinstance(source, CorpusPart):
            place, raw = f"part {source.part}", source.ledger
        else:
            place = f"'{source}'"
            raw = read_bytes(source, EXPECTED, place=f"--merge: {place}", most=MOST_BYTES)
        header: dict[str, Any] = {}
        entries: dict[int, dict[str, Any]] = {}
        for number, line in enumerate(raw.splitlines(keepends=True), start=1):
            try:
                entry = entry_in(line, number == 1, f"--merge: {place}", f"{EXPECTED}, expected one")
                if number == 1:
                    header = entry
                    if "part" not in header:
                        raise IngestError(f"--merge: {place} is the ledger of a run, expected {EXPECTED}")
                elif entry["shard"] in entries or entry["shard"] not in header["numbers"]:
                    raise ValueError(entry["shard"])
                else:
                    entries[entry["shard"]] = entry
            except (ValueError, KeyError, TypeError, AttributeError):
                if number == 1:
                    raise IngestError(f"--merge: {place} is not {EXPECTED}, expected one") from None
                raise IngestError(f"--merge: {place} line {number} is damaged: make this part again") from None
        if not header:
            raise IngestError(f"--merge: {place} is empty, expected {EXPECTED}")
        if missing := len(header["numbers"]) - len(entries):
            raise IngestError(f"--merge: {place} lacks {missing:,} of its shards: make this part again")
        return cls(place, header, entries)

    @property
    def share(self) -> Share:
        return Share.of(self.header["part"])


def merged(sources: Sequence[str | Path | CorpusPart], catalog: Catalog) -> CorpusMeasurement:
    """The measurement that its parts add up to, equal to a single one.

    Raises IngestError: a part is missing, doubled, of another measurement or not as it was written; or nothing was counted.
    """
    parts = [PartFile.of(source) for source in sources]
    if not parts:
        raise UsageError("--merge: found no part, expected the files that `ingest measure --part` wrote")
    first = parts[0]
    by_number: dict[int, PartFile] = {}
    for part in parts:
        if difference := difference_between(part.header, first.header):
            raise IngestError(f"--merge: {part.place} belongs to {difference}, as in {first.place}")
        for key, what in (("kind", "another measurement"), ("shards", "another division")):
            if part.header[key] != first.header[key]:
                found = f"(found {part.header[key]}, expected {first.header[key]})"
                raise IngestError(f"--merge: {part.place} belongs to {what} {found}, as in {first.place}")
        if part.share.parts != first.share.parts:
            raise IngestError(
                f"--merge: {part.place} is part {part.share}, expected one of {first.share.parts} parts, as in {first.place}"
            )
        if (other := by_number.setdefault(part.share.number, part)) is not part:
            raise IngestError(f"--merge: part {part.share} is in {other.place} and in {part.place}, expected it once")
    missing = [str(Share(number, first.share.parts)) for number in range(1, first.share.parts + 1) if number not in by_number]
    if missing:
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        raise IngestError(
            f"--merge: found {len(by_number):,} of {first.share.parts:,} parts, expected all: no part "
            f"{', '.join(missing[:MOST_NAMED])}{more}"
        )
    in_order = [by_number[number] for number in sorted(by_number)]
    entries: dict[int, dict[str, Any]] = {}
    for part in in_order:
        if twice := entries.keys() & part.entries.keys():
            raise IngestError(f"--merge: {part.place} holds shard {min(twice)} of another part: make it again")
        entries |= part.entries
    if len(entries) != first.header["shards"]:
        raise IngestError(f"--merge: found {len(entries):,} of {first.header['shards']:,} shards: make the parts again")
    try:
        return _sum(in_order, [entries[number] for number in sorted(entries)], catalog)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise IngestError(f"--merge: {first.place} or another part is damaged: make the parts again") from None


def _sum(parts: Sequence[PartFile], entries: Sequence[dict[str, Any]], catalog: Catalog) -> CorpusMeasurement:
    header = parts[0].header
    kind, named = header["kind"], header["named"]
    skipped = [SkippedFile(*row) for row in header["left_out"]]
    if kind == SIZES:
        sizes = SampleSizes()
        sizes.skipped.note(*skipped)
        for entry in entries:
            sizes.merge(SampleSizes.from_entry(entry))
        return measured_sizes(sizes, named, header["manifest"], catalog)
    vocabulary = Vocabulary(**header["tokenizer"], tokenizer_json=b"")
    notes = dict.fromkeys(worded(note) for part in parts for note in part.header["notes"])
    about = {
        "catalog": catalog,
        "engine": ", ".join(dict.fromkeys(part.header["engine"] for part in parts)),
        "manifest_hash": header["manifest"],
    }
    if kind == EXACT:
        totals = Totals()
        totals.skipped.note(*skipped)
        for entry in entries:
            totals.add(counted_in(entry))
        return counted_exactly(totals, named, vocabulary, tuple(notes), **about)
    (sample,) = entries
    given = {name: Input(value, low, high, "measured") for name, (value, low, high) in sample["given"].items()}
    told = {"title": sample["title"], "design": sample["design"], "warnings": tuple(map(worded, sample["warnings"]))}
    return answered(given, sample["names"], sample["tables"], vocabulary, **{**about, "engine": header["engine"], **told})


def worded(note: Sequence[str]) -> str:
    """A line from a file, with its rule."""
    text, rule = note
    return Message(text, rule=rule) if rule else text


__all__ = ["OpenCorpus", "TooLong"]


class OpenCorpus:
    """A corpus listed by the options of `measure`; the engine counts as the reference does. Raises IngestError: no file."""

    def __init__(self, paths: Sequence[str | Path], asked: Mapping[str, Any], threads: int | None, catalog: Catalog) -> None:
        self.named, self.threads, self.catalog = short_title(paths), threads or cores(), catalog
        self.ledger = asked["resume"]  # from which an interrupted run resumes; no file of the corpus
        self.text_field = asked["text_field"] if isinstance(asked["text_field"], str) else ",".join(asked["text_field"] or ())
        names, self.input_format = [str(path) for path in paths], asked["input_format"] or ""
        self.listing = list_inputs(names, asked["include"], asked["exclude"], self.input_format, self.ledger)
        self.vocabulary = vocabulary_of(asked["tokenizer"], lambda: beginnings(self.listing, self.text_field, TRAINING_FILES))
        if not len(self.listing):
            raise IngestError(nothing_counted(self.named, self.listing.skipped))
        # the texts on which the engine is checked
        self.proof = tuple(beginnings(self.listing, self.text_field, CHECKED_FILES))
        self.engine, self.notes = select_engine(self.vocabulary, self.proof, self.threads)
        if number := self.listing.repeated:
            files = "a file was" if number == 1 else f"{number:,} files were"
            self.notes.append(f"{files} listed more than once, through links or overlapping arguments; each counts once")
        rule = split_rule_for(self.vocabulary, self.engine, self.proof)
        self.counter = DocumentCounter(self.text_field, self.engine, rule)

    def counted(self, limit: float | None, scheduler: str | None, progress: Progress) -> CorpusMeasurement:
        """Count everything. Raises TooLong: that would take longer than the limit."""
        shards = Shards(self.listing, self.listing.sizes, can_divide)
        runner = self._runner(shards, scheduler)
        counting = ExactCount(self.listing, shards, progress, limit)
        partial = counting.run(runner, self._ledger())
        answer = self._exactly(counting.totals, partial)
        text = counting.totals.total.text_bytes
        if scheduler or partial or progress.taken_up or not text:
            return answer
        return revised(answer, speed={"bytes": text, "seconds": progress.seconds, "workers": runner.processes})

    def part(self, share: Share, scheduler: str | None, progress: Progress) -> CorpusPart:
        """Count a part exactly. Raises KeyboardInterrupt: interrupted; the ledger, if there is one, has what is done."""
        shards, counted = Shards(self.listing, self.listing.sizes, can_divide), Kept()
        sizes = list(map(shards.stored_bytes, range(len(shards))))
        numbers = share.shards_of(sizes)
        counting = ExactCount(self.listing, shards, progress, None, numbers, counted)
        if counting.run(self._runner(shards, scheduler), self._ledger()):
            raise KeyboardInterrupt
        size = sum(sizes[number] for number in numbers)
        return self._divided(EXACT, len(shards)).part(share, numbers, map(entry_of, counted.shards), size)

    def part_of_sample(
        self, share: Share, tolerance: float, confidence: float, seed: int | None, progress: Progress
    ) -> CorpusPart:
        """Draw the sample, if this is the first part. Raises KeyboardInterrupt: interrupted."""
        entries: list[Mapping[str, Any]] = []
        if numbers := share.shards_of([1]):
            answer = self.sampled(tolerance, confidence, seed, progress)
            if answer.partial:
                raise KeyboardInterrupt
            given = answer.known.given.items()
            entry = {
                "shard": 0,
                "given": {name: (one.value, one.low, one.high) for name, one in given if name != "vocabulary"},
                "names": [*answer.results, *answer.unknown],
                "tables": dict(answer.tables),
                "title": answer.title,
                "design": dict(answer.design),
                "warnings": told(answer.warnings),
            }
            entries.append(entry)
        drawn = f"tolerance={tolerance!r} confidence={confidence!r} seed={seed!r}"
        return self._divided(SAMPLE, 1, drawn).part(share, numbers, entries, 0)

    def _divided(self, kind: str, shards: int, *options: str) -> Divided:
        identity = self._identity(*options)
        about = f"{self.engine.name} {self.engine.version}", self.notes, self.vocabulary, self.listing.skipped
        return Divided(kind, shards, identity, self.named, self.catalog, *about)

    def _identity(self, *options: str) -> dict[str, Any]:
        asked = " ".join((f"text_field={self.text_field!r} input_format={self.input_format!r}", *options))
        return dict(zip(IDENTITY, (self.listing.manifest_hash(), self.vocabulary.sha256, asked, __version__), strict=True))

    def _ledger(self) -> Ledger | None:
        return None if self.ledger is None else Ledger(self.ledger, self._identity())

    def _runner(self, shards: Shards, scheduler: str | None) -> Runner:
        listing = self.listing
        root = root_of(listing[0].path, listing[-1].path)
        if scheduler:
            return ClusterRunner(CountingTask(self.vocabulary, self.text_field, root, self.proof), shards, scheduler)
        return local_runner(self.counter, shards, root, self.threads, listing.has_standard_input)

    def sampled(self, tolerance: float, confidence: float, seed: int | None, progress: Progress) -> CorpusMeasurement:
        """Estimate from a sample; from exact counts where a sample would read most of the corpus."""
        sampled = sample_corpus(self.listing, self.counter, tolerance, confidence, seed, progress.moved)
        progress.clear()
        if (everything := sampled.everything) is not None:
            everything.skipped.note(*self.listing.skipped)
            return self._exactly(everything, "", ", because a sample would have read most of it")
        unmet = (
            f"the tolerance of {tolerance:.3g} at {confidence:.3g} was not reached: see the intervals, or count with --exact"
        )
        title = f"{self.named}: a sample counted with {self.vocabulary.name}, seed {sampled.seed}"
        warnings = (*self.notes, *(() if sampled.met else (unmet,)))
        return measured_by_sample(
            sampled, self.listing.skipped, self.vocabulary, title=title, warnings=warnings, **self._about()
        )

    def _exactly(self, totals: Totals, partial: str, why: str = "") -> CorpusMeasurement:
        return counted_exactly(totals, self.named, self.vocabulary, tuple(self.notes), partial, why, **self._about())

    def _about(self) -> dict[str, Any]:
        engine = f"{self.engine.name} {self.engine.version}"
        return {"catalog": self.catalog, "engine": engine, "manifest_hash": self.listing.manifest_hash()}
