"""`ingest measure`: bytes per token, tokens and sizes of a corpus, exactly or from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.catalog.store import Catalog
from ingest.corpus.counting import Counting, TooLong, open_ledger, proof_of
from ingest.corpus.cutting import cuts_for
from ingest.corpus.engines import engine_for
from ingest.corpus.groups import root_of
from ingest.corpus.listing import list_inputs
from ingest.corpus.measured import Measured, measured_exactly
from ingest.corpus.progress import Progress
from ingest.corpus.reading import Reading
from ingest.corpus.spread import Local, OnCluster, Task, cores
from ingest.corpus.vocabulary import vocabulary_of
from ingest.errors import IngestError, UsageError
from ingest.units import parse

if TYPE_CHECKING:
    from ingest.corpus.listing import Listing
    from ingest.corpus.terms import Skipped

#: Counting that is estimated to take longer is left to a sample, unless everything is asked for.
EXACT_SECONDS = 30.0


class Interrupted(KeyboardInterrupt):
    """Counting was interrupted; `known` is what had been counted until then, and says so."""

    def __init__(self, known: Measured) -> None:
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
) -> Measured:
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
        threads: of the engine; all cores by default.
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
    reading, told = Reading(text_field=text_field or ""), progress or Progress(None)
    with ThreadPoolExecutor(1) as loading:
        loaded = loading.submit(vocabulary_of, tokenizer)
        listing = list_inputs([str(path) for path in paths], include, exclude, input_format or "")
        vocabulary = loaded.result()
    if not len(listing):
        raise IngestError(_nothing(paths, listing.skipped))
    proof = proof_of(listing, reading)
    engine, notes = engine_for(vocabulary, proof, _threads(threads))
    task = Task(vocabulary, reading, root_of(listing[0].path, listing[-1].path), proof)
    counting = Counting(listing, told, None)
    runner = OnCluster(task, scheduler) if scheduler else Local(task, engine, cuts_for(vocabulary, engine, proof))
    ledger = open_ledger(resume, listing, task)
    partial = ""
    try:
        counting.run(runner, ledger)
    except KeyboardInterrupt:
        partial = counting.interrupted(runner)
    finally:
        if ledger is not None:
            ledger.close()
    if not counting.totals.total.files and not partial:
        raise IngestError(_nothing(paths, counting.totals.skipped))
    answer = measured_exactly(
        counting.totals,
        vocabulary,
        Catalog(catalogs),
        f"{' '.join(map(str, paths))}: counted exactly with {vocabulary.name}",
        notes,
        engine=engine.name,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        design={"design": "exact"},
        manifest_hash=listing.manifest_hash(),
        partial=partial,
    )
    if partial:
        raise Interrupted(answer)
    return answer


def _nothing(paths: Sequence[str | Path], skipped: Sequence[Skipped]) -> str:
    """Why there is nothing to say."""
    named = " ".join(map(str, paths))
    if not skipped:
        return f"{named}: found no file, expected at least one"
    first = skipped[0]
    return f"{named}: nothing could be counted: {len(skipped):,} files were skipped, the first is {first.path}: {first.reason}"


def _threads(asked: str | int | None) -> int:
    if asked is None:
        return cores()
    found = parse(asked, "1", "--threads")
    if found < 1 or found % 1:
        raise UsageError(f"--threads: found {asked}, expected a whole number above 0")
    return int(found)
