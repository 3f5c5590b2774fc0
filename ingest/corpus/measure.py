"""`ingest measure`: bytes per token, tokens and sizes of a corpus, exactly or from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ingest.catalog.store import Catalog
from ingest.corpus.measurement import CorpusMeasurement
from ingest.corpus.types import Progress
from ingest.engine.frozen import revised
from ingest.errors import UsageError
from ingest.units import parse_share, parse_whole

#: A corpus that takes longer to count is sampled unless `--exact` is set.
EXACT_SECONDS = 30.0


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
    from ingest.corpus.open_corpus import OpenCorpus, TooLong
    from ingest.corpus.sample_sizes import measured_samples

    shown, catalog = progress or Progress(None), Catalog(catalogs)
    if samples:
        answer = measured_samples(paths, include, exclude, catalog, shown)
    else:
        needs = {"--resume": resume is not None, "--scheduler": scheduler is not None, "standard input": "-" in map(str, paths)}
        counts_all = next((name for name, is_there in needs.items() if is_there), "")
        refuse_sample(exact, counts_all)
        width, level = parse_share(tolerance, "--tolerance"), parse_share(confidence, "--confidence")
        start = None if seed is None else parse_whole(seed, "--seed", 0)
        workers = None if threads is None else parse_whole(threads, "--threads", 1)
        corpus = OpenCorpus(paths, include, exclude, input_format or "", tokenizer, text_field or "", workers, catalog, resume)
        if corpus.listing.has_standard_input:
            counts_all = "standard input"
            refuse_sample(exact, counts_all)
        try:
            if exact is False:
                raise TooLong
            answer = corpus.counted(None if exact or counts_all else EXACT_SECONDS, scheduler, shown)
        except TooLong:
            answer = corpus.sampled(width, level, start, shown)
    if strict and answer.left_out:
        answer = revised(answer, unmet=f"--strict: {answer.left_out}")
    if answer.partial:
        raise Interrupted(answer)
    return answer


def refuse_sample(exact: bool | None, counts_all: str) -> None:
    """Refuse a sample of an input, or with an option, that counts everything. Raises UsageError: it was asked for."""
    if exact is False and counts_all:
        raise UsageError(f"--sample: found with {counts_all}, which counts everything; expected one of them")
