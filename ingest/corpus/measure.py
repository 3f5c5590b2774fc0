"""`ingest measure`: bytes per token, tokens and sizes of a corpus, exactly or from a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

from ingest.catalog.store import Catalog
from ingest.corpus.files.names import FORMAT_NAMES
from ingest.corpus.measurement import CorpusMeasurement, CorpusPart
from ingest.corpus.types import Progress
from ingest.engine.question import filled, option
from ingest.engine.value import revised
from ingest.errors import UsageError
from ingest.units import parse_share, parse_whole

#: A corpus that takes longer to count is sampled unless `--exact` is set.
EXACT_SECONDS = 30.0


class Interrupted(KeyboardInterrupt):
    """Counting was interrupted; `known` is the measurement of the part counted so far."""

    def __init__(self, known: CorpusMeasurement) -> None:
        super().__init__("interrupted")
        self.known = known


class MeasureOptions(TypedDict, total=False):
    """The options of `measure`."""

    tokenizer: Annotated[
        str | None, option("Vocabulary id, tokenizer.json, .tiktoken, SentencePiece model, or train:32000.", "ID|FILE")
    ]
    exact: Annotated[
        bool | None,
        option(
            f"True counts everything, False draws a sample; by default corpora that take up to about {EXACT_SECONDS:g} s are "
            "counted."
        ),
    ]
    tolerance: Annotated[
        str | float, option("Relative half-width of the confidence interval that a sample must reach.", "F", default=0.005)
    ]
    confidence: Annotated[str | float, option("Confidence level of that interval.", "F", default=0.95)]
    seed: Annotated[str | int | None, option("Of the sample, random by default and printed; equal seeds give equal results.")]
    text_field: Annotated[
        str | Sequence[str],
        option(
            "Field or column that holds the text, such as text or meta.body; several, as text,content, count where a file has "
            "them, the first of them alone.",
            "NAME",
            many=True,
            default=(),
        ),
    ]
    input_format: Annotated[
        str | None,
        option("Format of every file, where file names do not tell it: text, jsonl, …", "NAME", choices=FORMAT_NAMES),
    ]
    include: Annotated[Sequence[str], option("Globs of files to include; repeatable.", "GLOB", many=True, default=())]
    exclude: Annotated[
        Sequence[str], option("Globs of files and folders to exclude; repeatable.", "GLOB", many=True, default=())
    ]
    resume: Annotated[
        str | Path | None, option("Ledger file, from which an interrupted run resumes; counts everything.", "FILE")
    ]
    scheduler: Annotated[str | None, option("Address of a Dask scheduler whose workers count; counts everything.", "ADDRESS")]
    samples: Annotated[bool, option("Measure sizes of samples (images, records, files) instead of tokens.", default=False)]
    part: Annotated[
        str | None, option("Measure part i of n alone, for --merge; equal corpora have equal parts. Needs -o.", "i/n")
    ]
    merge: Annotated[bool, option("Add up parts: PATH… are the files that --part wrote, one of each part.", default=False)]
    strict: Annotated[
        bool, option("Fail if a file or document was skipped: unmet lists them, and the command exits with 1.", default=False)
    ]
    threads: Annotated[str | int | None, option("Threads or processes that count; one per core by default.")]
    progress: Annotated[Progress | None, option("Receives the progress; none by default.")]
    catalogs: Annotated[
        Sequence[str | Path],
        option("Folder with entries of your own; repeatable, the last one overrides.", "DIR", many=True, default=()),
    ]


def measure(*paths: str | Path | CorpusPart, **options: Unpack[MeasureOptions]) -> CorpusMeasurement:
    """Measure bytes per token, tokens and sizes of a corpus.

    Args:
        paths: folders, files, globs, URLs, `@list.txt`, or `-` for standard input. With `merge` the files of parts, or the
            results with `part`, which are a `CorpusPart` with a method `write`.

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
    from ingest.corpus.measurement import measured_samples
    from ingest.corpus.parts import OpenCorpus, Share, TooLong, merged, part_of_sizes

    asked: dict[str, Any] = {**filled(MeasureOptions, options, "measure")}
    shown, catalog, exact = asked["progress"] or Progress(None), Catalog(asked["catalogs"]), asked["exact"]
    scheduler, resume, seed, threads = (asked[name] for name in ("scheduler", "resume", "seed", "threads"))
    named = [path for path in paths if not isinstance(path, CorpusPart)]
    share = None if asked["part"] is None else Share.of(asked["part"])
    if share is not None:
        refuse_options(
            "--part", {"--merge": asked["merge"], "--strict": asked["strict"], "standard input": "-" in map(str, named)}
        )
    if asked["merge"]:
        usual = filled(MeasureOptions, {}, "measure")
        own = {name: asked[name] not in (default, str(default), []) for name, default in usual.items()}
        refuse_options("--merge", {f"--{name.replace('_', '-')}": own[name] for name in usual if name not in WITH_MERGE})
        answer = merged(paths, catalog)
    elif asked["samples"] and share is not None:
        return part_of_sizes(named, share, asked["include"], asked["exclude"], catalog, shown)
    elif asked["samples"]:
        answer = measured_samples(named, asked["include"], asked["exclude"], catalog, shown)
    else:
        needs = {"--resume": resume is not None, "--scheduler": scheduler is not None, "standard input": "-" in map(str, named)}
        counts_all = next((name for name, is_there in needs.items() if is_there), "")
        refuse_sample(exact, counts_all)
        width, level = (parse_share(asked[name], f"--{name}") for name in ("tolerance", "confidence"))
        start = None if seed is None else parse_whole(seed, "--seed", 0)
        workers = None if threads is None else parse_whole(threads, "--threads", 1)
        corpus = OpenCorpus(named, asked, workers, catalog)
        if share is not None and exact is False:
            return corpus.part_of_sample(share, width, level, start, shown)
        if share is not None:
            return corpus.part(share, scheduler, shown)
        if corpus.listing.has_standard_input:
            counts_all = "standard input"
            refuse_sample(exact, counts_all)
        try:
            if exact is False:
                raise TooLong
            answer = corpus.counted(None if exact or counts_all else EXACT_SECONDS, scheduler, shown)
        except TooLong:
            answer = corpus.sampled(width, level, start, shown)
    if asked["strict"] and answer.left_out:
        answer = revised(answer, unmet=f"--strict: {answer.left_out}")
    if answer.partial:
        raise Interrupted(answer)
    return answer


#: options that decide how the sum of parts is shown; all others were set with the parts
WITH_MERGE = ("merge", "strict", "progress", "catalogs")


def refuse_options(option: str, given: Mapping[str, object]) -> None:
    """Refuse what cannot be given with an option. Raises UsageError: some of it is."""
    for name, value in given.items():
        if value:
            raise UsageError(f"{name}: found with {option}, expected one of them")


def refuse_sample(exact: bool | None, counts_all: str) -> None:
    """Refuse a sample of an input, or with an option, that counts everything. Raises UsageError: it was asked for."""
    if exact is False and counts_all:
        raise UsageError(f"--sample: found with {counts_all}, which counts everything; expected one of them")
