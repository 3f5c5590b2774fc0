"""`ingest measure`: bytes per token, tokens and sizes of a corpus, exactly or from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.store import Catalog
from ingest.corpus.counting.ledger import Shards, Totals
from ingest.corpus.counting.runners import ClusterRunner, CountingTask, ExactCount, TooLong, cores, local_runner, open_ledger
from ingest.corpus.files.file_kind import short_title
from ingest.corpus.files.listing import FileListing, list_inputs
from ingest.corpus.formats.documents import Reading
from ingest.corpus.measurement import CorpusMeasurement, measured_by_sample, measured_exactly
from ingest.corpus.progress import Progress
from ingest.corpus.sample_sizes import measured_samples
from ingest.corpus.sampling.sample import SampledMeasurement, sample_corpus
from ingest.corpus.tokenizers.engine_choice import Engine, proof_of, select_engine, training_text
from ingest.corpus.tokenizers.split_points import SplitRule
from ingest.corpus.tokenizers.splitter import split_rule_for
from ingest.corpus.tokenizers.vocabulary import vocabulary_of
from ingest.corpus.types import SkippedFile, Vocabulary, root_of
from ingest.errors import IngestError, UsageError
from ingest.units import parse, parse_whole

#: A corpus that takes longer to count is sampled unless `--exact` is set.
EXACT_SECONDS = 30.0


class MeasureOptions(NamedTuple):
    """Options of exact counting and sampling.

    Attributes:
        counts: whether to try exact counting first.
        limit: time limit of exact counting in seconds, after which a sample is drawn instead; None for no limit.
        tolerance: relative half-width of the confidence interval that a sample must reach.
        confidence: confidence level of that interval.
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
    """Check the options as written by the user.

    Args:
        exact: True to count everything, False to sample, None to count only what takes up to 30 s.
        tolerance: relative half-width of the interval.
        confidence: confidence level.
        seed: of the sample.
        needs_exact: another option that requires exact counting, or nothing.

    >>> measure_options(None, "1%", "95%", None, "").limit
    30.0

    Raises:
        UsageError: a value out of range, or a sample together with an option that requires exact counting.
    """
    if exact is False and needs_exact:
        raise UsageError(f"--sample: found it with {needs_exact}, which counts everything; expected one of them")
    return MeasureOptions(
        counts=exact is not False,
        limit=None if exact or needs_exact else EXACT_SECONDS,
        tolerance=_share(tolerance, "--tolerance"),
        confidence=_share(confidence, "--confidence"),
        seed=None if seed is None else parse_whole(seed, "--seed", 0),
    )


def _share(written: str | float, option: str) -> float:
    share = parse(written, "1", option)
    if not 0 < share < 1:
        raise UsageError(f"{option}: found {written}, expected a share above 0 and below 1, such as 0.5% or 0.95")
    return float(share)


class Interrupted(KeyboardInterrupt):
    """Counting was interrupted; `known` is the measurement of the part counted so far."""

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
    """Measure bytes per token, tokens and sizes of a corpus.

    Args:
        paths: folders, files, globs, URLs, `@list.txt`, or `-` for standard input.
        tokenizer: vocabulary id, tokenizer.json, .tiktoken, SentencePiece model, or `train:32000`.
        exact: True counts everything, False draws a sample; by default corpora that take up to about 30 s are counted.
        tolerance: relative half-width of the confidence interval that a sample must reach.
        confidence: confidence level of that interval.
        seed: of the sample, random by default and printed; equal seeds give equal results.
        text_field: field or column that holds the text, such as `text` or `meta.body`.
        input_format: format of every file, where file names do not tell it: `text`, `jsonl`, …
        include: globs of files to include; repeatable.
        exclude: globs of files and folders to exclude; repeatable.
        resume: ledger file, from which an interrupted run resumes; counts everything.
        scheduler: address of a Dask scheduler whose workers count; counts everything.
        samples: measure sizes of samples (images, records, files) instead of tokens.
        strict: fail if a file or document was skipped: `unmet` lists them, and the command exits with 1.
        threads: threads or processes that count; one per core by default.
        progress: receives the progress; none by default.
        catalogs: folders with user entries.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("the quick brown fox", encoding="utf-8")
    ...     measure(folder).results["tokens"].value
    4

    Raises:
        UsageError: an invalid option.
        IngestError: nothing could be counted.
        Interrupted: a KeyboardInterrupt, with the measurement so far.
    """
    shown, catalog = progress or Progress(None), Catalog(catalogs)
    if samples:
        return _flagged(_by_sizes(paths, list_inputs([str(path) for path in paths], include, exclude), shown, catalog), strict)
    options = measure_options(exact, tolerance, confidence, seed, _needs_exact(paths, resume, scheduler))
    corpus = open_corpus(paths, tokenizer, Reading(text_field or ""), include, exclude, input_format, threads)
    if corpus.listing.has_standard_input:
        options = measure_options(exact, tolerance, confidence, seed, "standard input")
    try:
        if not options.counts:
            raise TooLong
        answer = _by_counting(corpus, options, shown, catalog, resume, scheduler)
    except TooLong:
        answer = _by_sampling(corpus, options, shown, catalog)
    answer = _flagged(answer, strict)
    if answer.partial:
        raise Interrupted(answer)
    return answer


def _flagged(answer: CorpusMeasurement, strict: bool) -> CorpusMeasurement:
    return replace(answer, unmet=f"--strict: {answer.left_out}") if strict and answer.left_out else answer


def _by_sizes(paths: Sequence[str | Path], listing: FileListing, progress: Progress, catalog: Catalog) -> CorpusMeasurement:
    progress.begin(listing.total_bytes, 0)
    about = {"date": _now(), "manifest_hash": listing.manifest_hash()}
    answer = measured_samples(short_title(paths), listing, listing.skipped, catalog, progress.moved, **about)
    progress.clear()
    return answer


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class OpenCorpus(NamedTuple):
    """A listed corpus, with the vocabulary and engine that count it.

    Attributes:
        named: the inputs as a title.
        listing: the files.
        reading: how documents are found in the files.
        vocabulary: of the tokenizer.
        engine: the engine that counts tokens.
        split_rule: where the texts of long documents may be split.
        proof: the texts on which the engine was checked.
        threads: number of threads or processes.
        notes: warnings for the user.
    """

    named: str
    listing: FileListing
    reading: Reading
    vocabulary: Vocabulary
    engine: Engine
    split_rule: SplitRule | None
    proof: tuple[bytes, ...]
    threads: int
    notes: tuple[str, ...]

    def about(self, catalog: Catalog) -> dict[str, Any]:
        """Return the provenance fields of the result."""
        return {
            "catalog": catalog,
            "engine": f"{self.engine.name} {self.engine.version}",
            "manifest_hash": self.listing.manifest_hash(),
            "date": _now(),
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
        IngestError: no file was found.
    """
    named, used = short_title(paths), cores() if threads is None else parse_whole(threads, "--threads", 1)
    listing = list_inputs([str(path) for path in paths], include, exclude, input_format or "")
    vocabulary = vocabulary_of(tokenizer, lambda: training_text(listing, reading))
    if not len(listing):
        raise IngestError(nothing_counted(named, listing.skipped))
    proof = proof_of(listing, reading)
    engine, notes = select_engine(vocabulary, proof, used)
    if listing.repeated:
        files = "a file was" if listing.repeated == 1 else f"{listing.repeated:,} files were"
        notes.append(f"{files} listed more than once, through links or overlapping arguments; each counts once")
    rule = split_rule_for(vocabulary, engine, proof)
    return OpenCorpus(named, listing, reading, vocabulary, engine, rule, proof, used, tuple(notes))


def _by_counting(
    corpus: OpenCorpus,
    options: MeasureOptions,
    progress: Progress,
    catalog: Catalog,
    resume: str | Path | None,
    scheduler: str | None,
) -> CorpusMeasurement:
    listing = corpus.listing
    task = CountingTask(corpus.vocabulary, corpus.reading, root_of(listing[0].path, listing[-1].path), corpus.proof)
    shards = Shards(listing, listing.sizes)
    ledger = open_ledger(resume, listing, task)
    counting = ExactCount(listing, shards, progress, options.limit)
    runner = (
        ClusterRunner(task, shards, scheduler)
        if scheduler
        else local_runner(task, shards, corpus.engine, corpus.split_rule, corpus.threads, listing.has_standard_input)
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


def _by_sampling(corpus: OpenCorpus, options: MeasureOptions, progress: Progress, catalog: Catalog) -> CorpusMeasurement:
    sampled = sample_corpus(
        corpus.listing,
        corpus.reading,
        corpus.engine,
        corpus.split_rule,
        options.tolerance,
        options.confidence,
        options.seed,
        progress.moved,
    )
    progress.clear()
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


def _unmet(sampled: SampledMeasurement) -> tuple[str, ...]:
    if sampled.met:
        return ()
    target = f"the tolerance of {sampled.tolerance:.3g} at {sampled.confidence:.3g}"
    return (f"{target} was not reached: see the intervals, or count with --exact",)


def _needs_exact(paths: Sequence[str | Path], resume: str | Path | None, scheduler: str | None) -> str:
    """Return the first input or option that requires exact counting."""
    needs = {"--resume": resume is not None, "--scheduler": scheduler is not None, "standard input": "-" in map(str, paths)}
    return next((name for name, is_there in needs.items() if is_there), "")


def nothing_counted(named: str, skipped: Sequence[SkippedFile]) -> str:
    """Return the message for a corpus in which no file counts.

    >>> nothing_counted("books", [])
    'books: found no file, expected at least one'
    """
    if not skipped:
        return f"{named}: found no file, expected at least one"
    first = skipped[0]
    return f"{named}: nothing could be counted: {len(skipped):,} skipped, the first is {first.path}: {first.reason}"
