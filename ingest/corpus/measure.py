"""`ingest measure`: bytes per token, tokens and sizes of a corpus, exactly or from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.catalog.store import Catalog
from ingest.corpus.counting.ledger import Shards
from ingest.corpus.counting.run import Counting, TooLong, open_ledger
from ingest.corpus.counting.runners import OnCluster, Task, cores, local_runner
from ingest.corpus.files.file_kind import short_title
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.formats.documents import Reading
from ingest.corpus.measurement import CorpusMeasurement, measured_by_sample, measured_exactly
from ingest.corpus.progress import Progress
from ingest.corpus.sample_sizes import measured_samples
from ingest.corpus.sampling.sample import Sampled, sample_corpus
from ingest.corpus.tokenizers.engine_choice import proof_of, select_engine, training_text
from ingest.corpus.tokenizers.splitter import cuts_for
from ingest.corpus.tokenizers.vocabulary import vocabulary_of
from ingest.corpus.types import root_of
from ingest.errors import IngestError, UsageError
from ingest.units import parse

if TYPE_CHECKING:
    from ingest.corpus.counting.ledger import Totals
    from ingest.corpus.files.listing import FileListing
    from ingest.corpus.tokenizers.engine_choice import Engine
    from ingest.corpus.tokenizers.splitter import Cuts
    from ingest.corpus.tokenizers.vocabulary import Vocabulary
    from ingest.corpus.types import SkippedFile


#: Counting that is estimated to take longer is left to a sample, unless everything is asked for.
EXACT_SECONDS = 30.0


class MeasureOptions(NamedTuple):
    """How surely, and at what cost.

    Attributes:
        counts: whether counting everything is tried.
        limit: seconds that this may take before a sample takes its place; None for any time.
        tolerance: half the width of the interval that a sample must reach, over its value.
        confidence: of that interval.
        seed: of the sample; None for a random one.
    """

    counts: bool
    limit: float | None
    tolerance: float
    confidence: float
    seed: int | None


def measure_options(
    exact: bool | None, tolerance: str | float, confidence: str | float, seed: str | int | None, needs_exact: str
) -> MeasureOptions:
    """Check what was asked for.

    Args:
        exact: True for everything, False for a sample, None for what takes little time.
        tolerance: as written.
        confidence: as written.
        seed: as written.
        needs_exact: what else was asked for that only counting everything can do, or nothing.

    >>> measure_options(None, "1%", "95%", None, "").limit
    30.0

    Raises:
        UsageError: a value out of range, or a sample and what needs everything.
    """
    if exact is False and needs_exact:
        raise UsageError(f"--sample: found it with {needs_exact}, which counts everything; expected one of them")
    return MeasureOptions(
        counts=exact is not False,
        limit=None if exact or needs_exact else EXACT_SECONDS,
        tolerance=_share(tolerance, "--tolerance"),
        confidence=_share(confidence, "--confidence"),
        seed=None if seed is None else whole_number(seed, "--seed", 0),
    )


def _share(written: str | float, option: str) -> float:
    found = parse(written, "1", option)
    if not 0 < found < 1:
        raise UsageError(f"{option}: found {written}, expected a share above 0 and below 1, such as 0.5% or 0.95")
    return float(found)


def whole_number(written: str | int, option: str, least: int) -> int:
    """A whole number.

    >>> whole_number("8", "--threads", 1)
    8
    """
    found = parse(written, "1", option)
    if found % 1 or found < least:
        raise UsageError(f"{option}: found {written}, expected a whole number from {least}")
    return int(found)


class Interrupted(KeyboardInterrupt):
    """Counting was interrupted; `known` is what had been counted until then, and says so."""

    def __init__(self, known: CorpusMeasurement) -> None:
        super().__init__("interrupted")
        self.known = known


def measure(
    *paths: str | Path,
    tokenizer: str | None = None,
    exact: bool | None = None,
    tolerance: str | float = 0.005,
    confidence: str | float = 0.95,
    seed: str | int | None = None,
    text_field: str | None = None,
    input_format: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    resume: str | Path | None = None,
    scheduler: str | None = None,
    samples: bool = False,
    strict: bool = False,
    threads: str | int | None = None,
    progress: Progress | None = None,
    catalogs: Sequence[str | Path] = (),
) -> CorpusMeasurement:
    """Bytes per token, tokens and sizes of a corpus.

    Args:
        paths: folders, files, globs, URLs, `@list.txt`, or `-` for standard input.
        tokenizer: id, file, or `train:32000`.
        exact: True counts everything, False draws a sample; by default everything where that takes up to about 30 s.
        tolerance: half the width of the interval that a sample must reach, over its value.
        confidence: of that interval.
        seed: of the sample; the same seed gives the same answer.
        text_field: field or column that holds the text.
        input_format: format of every file, where the names do not say it.
        include: globs of the files that are taken.
        exclude: globs of the files that are left out.
        resume: ledger file; a run that died is taken up where it was.
        scheduler: address of a Dask scheduler whose workers count.
        samples: sizes of samples instead of tokens.
        strict: say in `unmet` where anything had to be left out.
        threads: or processes that count; one per core by default.
        progress: where progress is told; nowhere by default.
        catalogs: folders with entries of your own.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("the quick brown fox", encoding="utf-8")
    ...     measure(folder).results["tokens"].value
    4

    Raises:
        UsageError: a question that cannot be asked.
        IngestError: nothing could be counted.
        Interrupted: a KeyboardInterrupt, with what was known.
    """
    if samples:
        return _by_sizes(
            paths, list_inputs([str(path) for path in paths], include, exclude), strict, progress, Catalog(catalogs)
        )
    asked = measure_options(exact, tolerance, confidence, seed, _needs_exact(paths, resume, scheduler))
    corpus = open_corpus(paths, tokenizer, Reading(text_field or ""), include, exclude, input_format, threads)
    if corpus.listing.has_standard_input:
        asked = measure_options(exact, tolerance, confidence, seed, "standard input")
    told, catalog = progress or Progress(None), Catalog(catalogs)
    try:
        if not asked.counts:
            raise TooLong
        answer = _by_counting(corpus, asked, told, catalog, resume, scheduler)
    except TooLong:
        answer = _by_sampling(corpus, asked, told, catalog)
    if strict and answer.left_out:
        answer = replace(answer, unmet=f"--strict: {answer.left_out}")
    if answer.partial:
        raise Interrupted(answer)
    return answer


def _by_sizes(
    paths: Sequence[str | Path], listing: FileListing, strict: bool, progress: Progress | None, catalog: Catalog
) -> CorpusMeasurement:
    named, told = short_title(paths), progress or Progress(None)
    told.begin(listing.total_bytes, 0)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    answer = measured_samples(
        named, listing, listing.skipped, catalog, told.moved, date=date, manifest_hash=listing.manifest_hash()
    )
    told.clear()
    return replace(answer, unmet=f"--strict: {answer.left_out}") if strict and answer.left_out else answer


class OpenCorpus(NamedTuple):
    """What is measured, and with what.

    Attributes:
        named: as the user named it.
        listing: its files.
        reading: how documents are found in them.
        vocabulary: what they are counted with.
        engine: what counts.
        cuts: where it lets long documents be cut.
        proof: the text on which it was checked.
        threads: or processes, that count at a time.
        notes: what the user should know of all this.
    """

    named: str
    listing: FileListing
    reading: Reading
    vocabulary: Vocabulary
    engine: Engine
    cuts: Cuts | None
    proof: tuple[bytes, ...]
    threads: int
    notes: tuple[str, ...]

    def about(self, catalog: Catalog) -> dict[str, Any]:
        """What every answer says of it."""
        return {
            "catalog": catalog,
            "engine": f"{self.engine.name} {self.engine.version}",
            "manifest_hash": self.listing.manifest_hash(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        }


def open_corpus(
    paths: Sequence[str | Path],
    tokenizer: str | None,
    reading: Reading,
    include: Sequence[str],
    exclude: Sequence[str],
    input_format: str | None,
    threads: str | int | None,
) -> OpenCorpus:
    """List the files, load the vocabulary and select the engine that counts as the reference does.

    Raises:
        IngestError: there is no file.
    """
    named, used = short_title(paths), cores() if threads is None else whole_number(threads, "--threads", 1)
    listing = list_inputs([str(path) for path in paths], include, exclude, input_format or "")
    vocabulary = vocabulary_of(tokenizer, lambda: training_text(listing, reading))
    if not len(listing):
        raise IngestError(nothing_counted(named, listing.skipped))
    proof = proof_of(listing, reading)
    engine, notes = select_engine(vocabulary, proof, used)
    if listing.repeated:
        times = "a file was" if listing.repeated == 1 else f"{listing.repeated:,} files were"
        notes.append(f"{times} met again, through links or arguments that overlap; each counts once")
    cuts = cuts_for(vocabulary, engine, proof)
    return OpenCorpus(named, listing, reading, vocabulary, engine, cuts, proof, used, tuple(notes))


def _by_counting(
    corpus: OpenCorpus,
    asked: MeasureOptions,
    told: Progress,
    catalog: Catalog,
    resume: str | Path | None,
    scheduler: str | None,
) -> CorpusMeasurement:
    listing = corpus.listing
    task = Task(corpus.vocabulary, corpus.reading, root_of(listing[0].path, listing[-1].path), corpus.proof)
    shards = Shards(listing, listing.sizes)
    ledger = open_ledger(resume, listing, task)
    counting = Counting(listing, shards, told, asked.limit)
    runner = (
        OnCluster(task, shards, scheduler)
        if scheduler
        else local_runner(task, shards, corpus.engine, corpus.cuts, corpus.threads, listing.has_standard_input)
    )
    partial = counting.run(runner, ledger)
    return _exactly(corpus, counting.totals, partial, catalog)


def _exactly(corpus: OpenCorpus, totals: Totals, partial: str, catalog: Catalog, why: str = "") -> CorpusMeasurement:
    if not totals.total.files and not partial:
        raise IngestError(nothing_counted(corpus.named, totals.skipped))
    return measured_exactly(
        totals,
        corpus.vocabulary,
        title=f"{corpus.named}: counted exactly with {corpus.vocabulary.name}{why}",
        warnings=corpus.notes,
        design={"design": "exact"},
        partial=partial,
        **corpus.about(catalog),
    )


def _by_sampling(corpus: OpenCorpus, asked: MeasureOptions, told: Progress, catalog: Catalog) -> CorpusMeasurement:
    sampled = sample_corpus(
        corpus.listing, corpus.reading, corpus.engine, corpus.cuts, asked.tolerance, asked.confidence, asked.seed, told.moved
    )
    told.clear()
    if sampled.everything is not None:
        sampled.everything.skip(corpus.listing.skipped)
        return _exactly(corpus, sampled.everything, "", catalog, ", because a sample would have read most of it")
    return measured_by_sample(
        sampled,
        corpus.listing.skipped,
        corpus.vocabulary,
        title=f"{corpus.named}: a sample counted with {corpus.vocabulary.name}, seed {sampled.seed}",
        warnings=(*corpus.notes, *_unmet(sampled)),
        **corpus.about(catalog),
    )


def _unmet(sampled: Sampled) -> tuple[str, ...]:
    """A tolerance that was not reached is said."""
    asked = f"the tolerance of {sampled.tolerance:.3g} at {sampled.confidence:.3g}"
    return () if sampled.met else (f"{asked} was not reached: look at the intervals, or count with --exact",)


def _needs_exact(paths: Sequence[str | Path], resume: str | Path | None, scheduler: str | None) -> str:
    """What was asked for that only counting everything can do."""
    needs = {"--resume": resume is not None, "--scheduler": scheduler is not None, "standard input": "-" in map(str, paths)}
    return next((name for name, is_there in needs.items() if is_there), "")


def nothing_counted(named: str, skipped: Sequence[SkippedFile]) -> str:
    """Why there is nothing to say.

    >>> nothing_counted("books", [])
    'books: found no file, expected at least one'
    """
    if not skipped:
        return f"{named}: found no file, expected at least one"
    first = skipped[0]
    return f"{named}: nothing could be counted: {len(skipped):,} skipped, the first is {first.path}: {first.reason}"
