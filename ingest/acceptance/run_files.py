"""Result files of acceptance tests: which runs they hold, and which of them count."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.acceptance.run_interval import MOST_RUNS
from ingest.acceptance.run_validity import differences
from ingest.acceptance.test_spec import AcceptanceTest, Run
from ingest.acceptance.tools import is_companion, runs_in
from ingest.errors import IngestError, cannot_be_read
from ingest.files import read_bytes, read_text, sha256

#: Files in which scripts write the hash of their list of tests, next to results.
MANIFEST_SUFFIX = ".tests.sha256"
WRITTEN_BY_SCRIPTS = "a file of its scripts"


class CountedRuns(NamedTuple):
    """The runs in result files.

    Attributes:
        runs: test id -> its runs that count, in the order of their start.
        refused: file -> why it does not count.
        reasons: test id -> why its first run that does not count does not.
    """

    runs: Mapping[str, list[Run]]
    refused: Mapping[str, str]
    reasons: Mapping[str, str]


def counted_runs(
    paths: Sequence[str | Path], tests: Sequence[AcceptanceTest], manifest_hash: str, read: dict[str, Path]
) -> CountedRuns:
    """The runs of tests in result files.

    Args:
        paths: result files, or folders of them.
        tests: all of one folder.
        manifest_hash: sha256 of its list of tests.
        read: sha256 of a file that was read -> its path; this call adds to it, so that no file counts twice.

    Raises:
        IngestError: a folder of results of another list of tests or without a result, a named file that is no result.
    """
    _refuse_foreign(paths, manifest_hash)
    found, refused = _gathered(paths, read)
    runs: dict[str, list[Run]] = {test.id: [] for test in tests}
    by_id = {test.id: test for test in tests}
    reasons: dict[str, str] = {}
    for run in sorted(found, key=_start):
        why = _refusal(run, by_id, runs)
        if why:
            refused[run.file] = why
            reasons.setdefault(run.test, why)
        else:
            runs[run.test].append(run)
    return CountedRuns(runs, refused, reasons)


def _start(run: Run) -> tuple[float, tuple[tuple[int, str], ...]]:
    """Sorts runs by their start where the tool writes it as a number, then by file: run 2 before run 10."""
    parts = re.split(r"(\d{1,9})", run.file)
    return float(run.began) if run.began.isdigit() else 0, tuple((int(part) if part.isdigit() else -1, part) for part in parts)


def _refuse_foreign(paths: Sequence[str | Path], manifest_hash: str) -> None:
    """Reject folders of results whose scripts belong to another list of tests.

    Raises:
        IngestError: the folder, with both hashes.
    """
    for given in filter(Path.is_dir, map(Path, paths)):
        for path in sorted(given.rglob(f"*{MANIFEST_SUFFIX}")):
            found = read_text(path, WRITTEN_BY_SCRIPTS).split()[:1]
            if found != [manifest_hash]:
                raise IngestError(
                    f"{given}: {path.name}: results of another plan (tests.json {''.join(found)[:12] or 'none'}…)"
                    f", expected {manifest_hash[:12]}…"
                )


def _gathered(paths: Iterable[str | Path], read: dict[str, Path]) -> tuple[list[Run], dict[str, str]]:
    """The runs in files and folders, and the files of folders that are not results; a named file must be a result."""
    runs: list[Run] = []
    refused: dict[str, str] = {}
    for path, named in _result_files(paths):
        try:
            found, content = runs_in(path), sha256(read_bytes(path, "a result"))
        except IngestError as error:
            if named:
                raise
            refused[str(path)] = str(error).removeprefix(f"{path}: ")
            continue
        if content in read:
            refused[f"{path} (again)" if path == read[content] else str(path)] = f"duplicate of {read[content]}"
            continue
        read[content] = path
        runs += found
    return runs, refused


def _result_files(paths: Iterable[str | Path]) -> Iterator[tuple[Path, bool]]:
    """Every file, and whether the user named it."""
    for given in map(Path, paths):
        if not given.is_dir():
            yield given, True
            continue
        walked = os.walk(given, onerror=_refuse_folder)
        found = sorted(Path(folder, name) for folder, _, names in walked for name in names)
        results = [path for path in found if not is_companion(path.relative_to(given))]
        if not results:
            raise IngestError(f"{given}: found no result, expected a folder that the test scripts wrote (RESULTS)")
        yield from ((path, False) for path in results)


def _refuse_folder(error: OSError) -> None:
    raise IngestError(cannot_be_read(error.filename, error.strerror, "a folder of results"))


def _refusal(run: Run, tests: Mapping[str, AcceptanceTest], counting: Mapping[str, list[Run]]) -> str:
    """Why a run does not count for any test of this folder; runs of one test have different start times."""
    if run.test not in tests:
        named = f"of {run.test}" if run.test else "without the id of a test"
        return f"a result {named}, expected one of {', '.join(tests) or 'none: the folder has no tests'}"
    if reasons := differences(tests[run.test], run):
        return "; ".join(reasons)
    twins = (one.file for one in counting[run.test] if run.began and one.began == run.began and one.file != run.file)
    twin = next(twins, "")
    if twin:
        return f"duplicate of {twin}: both runs have the same start time"
    return f"{MOST_RUNS} runs came before it, which decide" if len(counting[run.test]) >= MOST_RUNS else ""
