"""A corpus with the vocabulary and the engine that count it: counted exactly, or sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.catalog.store import Catalog
from ingest.corpus.counting.exact import DocumentCounter
from ingest.corpus.counting.ledger import Kept, Ledger, Shards, Totals, entry_of
from ingest.corpus.counting.runners import ClusterRunner, CountingTask, ExactCount, Runner, TooLong, cores, local_runner
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.files.names import short_title
from ingest.corpus.formats.documents import can_divide
from ingest.corpus.measurement import CorpusMeasurement, CorpusPart, counted_exactly, measured_by_sample, nothing_counted
from ingest.corpus.parts import EXACT, SAMPLE, Divided, Share, sample_entry
from ingest.corpus.sample import sample_corpus
from ingest.corpus.tokenizers.engines import CHECKED_FILES, TRAINING_FILES, beginnings, select_engine, split_rule_for
from ingest.corpus.tokenizers.vocabulary import vocabulary_of
from ingest.corpus.types import Progress, root_of
from ingest.engine.value import revised
from ingest.errors import IngestError
from ingest.version import __version__

__all__ = ["OpenCorpus", "TooLong"]


class OpenCorpus:
    """A corpus listed by the options of `measure`; the engine counts as the reference does. Raises IngestError: no file."""

    def __init__(self, paths: Sequence[str | Path], asked: Mapping[str, Any], threads: int | None, catalog: Catalog) -> None:
        self.named, self.threads, self.catalog = short_title(paths), threads or cores(), catalog
        self.ledger = asked["resume"]  # from which an interrupted run resumes; no file of the corpus
        self.text_field = asked["text_field"] or ""
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
        shards = self._shards()
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
        shards, counted = self._shards(), Kept()
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
        entries = []
        if numbers := share.shards_of([1]):
            answer = self.sampled(tolerance, confidence, seed, progress)
            if answer.partial:
                raise KeyboardInterrupt
            entries = [sample_entry(answer)]
        drawn = f"tolerance={tolerance!r} confidence={confidence!r} seed={seed!r}"
        return self._divided(SAMPLE, 1, drawn).part(share, numbers, entries, 0)

    def _divided(self, kind: str, shards: int, *options: str) -> Divided:
        identity = self._identity(*options)
        about = f"{self.engine.name} {self.engine.version}", self.notes, self.vocabulary, self.listing.skipped
        return Divided(kind, shards, identity, self.named, self.catalog, *about)

    def _identity(self, *options: str) -> dict[str, Any]:
        return {
            "manifest": self.listing.manifest_hash(),
            "vocabulary": self.vocabulary.sha256,
            "options": " ".join((f"text_field={self.text_field!r} input_format={self.input_format!r}", *options)),
            "version": __version__,
        }

    def _ledger(self) -> Ledger | None:
        return None if self.ledger is None else Ledger(self.ledger, self._identity())

    def _shards(self) -> Shards:
        return Shards(self.listing, self.listing.sizes, can_divide)

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
