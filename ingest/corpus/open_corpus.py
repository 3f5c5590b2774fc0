"""A corpus with the vocabulary and the engine that count it: counted exactly, or sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.catalog.store import Catalog
from ingest.corpus.counting.exact import DocumentCounter
from ingest.corpus.counting.ledger import Ledger, Shards, Totals
from ingest.corpus.counting.runners import ClusterRunner, CountingTask, ExactCount, Runner, TooLong, cores, local_runner
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.files.names import short_title
from ingest.corpus.measurement import CorpusMeasurement, measured_by_sample, measured_exactly
from ingest.corpus.sample import sample_corpus
from ingest.corpus.tokenizers.engines import CHECKED_FILES, TRAINING_FILES, beginnings, select_engine
from ingest.corpus.tokenizers.splitter import split_rule_for
from ingest.corpus.tokenizers.vocabulary import vocabulary_of
from ingest.corpus.types import Progress, SkippedFile, root_of
from ingest.engine.frozen import revised
from ingest.errors import IngestError
from ingest.version import __version__

__all__ = ["OpenCorpus", "TooLong"]


class OpenCorpus:
    """A corpus listed by the options of `measure`; the engine counts as the reference does. Raises IngestError: no file."""

    def __init__(self, paths: Sequence[str | Path], asked: Mapping[str, Any], threads: int | None, catalog: Catalog) -> None:
        self.named, self.threads, self.catalog = short_title(paths), threads or cores(), catalog
        self.ledger = asked["resume"]  # from which an interrupted run resumes; no file of the corpus
        self.text_field = asked["text_field"] or ""
        names, form = [str(path) for path in paths], asked["input_format"] or ""
        self.listing = list_inputs(names, asked["include"], asked["exclude"], form, self.ledger)
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
        listing = self.listing
        root, shards = root_of(listing[0].path, listing[-1].path), Shards(listing, listing.sizes)
        identity = {
            "manifest": listing.manifest_hash(),
            "vocabulary": self.vocabulary.sha256,
            "options": f"text_field={self.text_field!r}",
            "version": __version__,
        }
        ledger = None if self.ledger is None else Ledger(self.ledger, identity)
        counting = ExactCount(listing, shards, progress, limit)
        if scheduler:
            task = CountingTask(self.vocabulary, self.text_field, root, self.proof)
            runner: Runner = ClusterRunner(task, shards, scheduler)
        else:
            runner = local_runner(self.counter, shards, root, self.threads, listing.has_standard_input)
        partial = counting.run(runner, ledger)
        answer = self._exactly(counting.totals, partial)
        text = counting.totals.total.text_bytes
        if scheduler or partial or progress.taken_up or not text:
            return answer
        return revised(answer, speed={"bytes": text, "seconds": progress.seconds, "workers": runner.processes})

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
        if not totals.total.files and not partial:
            raise IngestError(nothing_counted(self.named, totals.skipped.named))
        title = f"{self.named}: counted exactly with {self.vocabulary.name}{why}"
        about = {**self._about(), "design": {"design": "exact"}, "partial": partial}
        return measured_exactly(totals, self.vocabulary, title=title, warnings=tuple(self.notes), **about)

    def _about(self) -> dict[str, Any]:
        engine = f"{self.engine.name} {self.engine.version}"
        return {"catalog": self.catalog, "engine": engine, "manifest_hash": self.listing.manifest_hash()}


def nothing_counted(named: str, skipped: Sequence[SkippedFile]) -> str:
    """Return the message for a corpus in which no file counts."""
    if not skipped:
        return f"{named}: found no file, expected at least one"
    first = skipped[0]
    return f"{named}: nothing could be counted: {len(skipped):,} skipped, the first is {first.path}: {first.reason}"
