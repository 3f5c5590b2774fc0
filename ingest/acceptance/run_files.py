"""Result files of acceptance tests: which runs they hold, and which of them count.

Settings that a result does not show make it invalid, and so do those that differ from the test's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.acceptance.judgement import MOST_RUNS
from ingest.acceptance.test_spec import DATA, AcceptanceTest, Load, Observed, Run
from ingest.acceptance.tools import COMPANIONS, runs_in
from ingest.errors import IngestError, cannot_be_read
from ingest.files import read_bytes, read_text, sha256
from ingest.units import display

#: Files in which scripts write the hash of their list of tests, next to results.
MANIFEST_SUFFIX = ".tests.sha256"
WRITTEN_BY_SCRIPTS = "a file of its scripts"
#: Share of the duration that a clock, ramp or stonewall may cut off.
SHORT = 0.05
#: Share by which the mean size of queued requests may differ: they count as they start, and their bytes as they end.
QUEUED = 0.01
#: Share of the data that whole requests in whole files may leave out.
ROUNDING = 0.001
#: settings that results of the tools in REPORTING show for reads and writes
STATED = ("clients", "threads", "io_bytes", "seconds", "direct")
REPORTING = ("fio", "ior", "elbencho")
#: Parameters that results may omit: some versions of DLIO set the record length to 1.
OPTIONAL = {"dlio": ("record_length_bytes",)}


class CountedRuns(NamedTuple):
    """The runs that count by test id, in the order of their start; why a file, and a test's first invalid run, do not."""

    runs: Mapping[str, list[Run]]
    refused: Mapping[str, str]
    reasons: Mapping[str, str]


def counted_runs(
    paths: Sequence[str | Path], tests: Sequence[AcceptanceTest], manifest_hash: str, read: dict[str, Path]
) -> CountedRuns:
    """The runs of all tests of one folder, whose list has a sha256, in result files, or folders of them.

    `read` has the sha256 of each file that was read, with its path; this call adds to it, so that no file counts twice.

    Raises IngestError: a folder of results of another list of tests or without a result, a named file that is no result.
    """
    for given in filter(Path.is_dir, map(Path, paths)):
        for path in sorted(given.rglob(f"*{MANIFEST_SUFFIX}")):
            hashes = read_text(path, WRITTEN_BY_SCRIPTS).split()[:1]
            if hashes != [manifest_hash]:
                raise IngestError(
                    f"{given}: {path.name}: results of another plan (tests.json {''.join(hashes)[:12] or 'none'}…)"
                    f", expected {manifest_hash[:12]}…"
                )
    found, refused = _gathered(paths, read)
    runs: dict[str, list[Run]] = {test.id: [] for test in tests}
    by_id = {test.id: test for test in tests}
    reasons: dict[str, str] = {}
    for run in sorted(found, key=_start):
        if why := _refusal(run, by_id, runs):
            refused[run.file] = why
            reasons.setdefault(run.test, why)
        else:
            runs[run.test].append(run)
    return CountedRuns(runs, refused, reasons)


def _start(run: Run) -> tuple[float, tuple[tuple[int, str], ...]]:
    """Sorts runs by their start where the tool writes it as a number, then by file: run 2 before run 10."""
    parts = re.split(r"(\d{1,9})", run.file)
    return float(run.began) if run.began.isdigit() else 0, tuple((int(part) if part.isdigit() else -1, part) for part in parts)


def _gathered(paths: Iterable[str | Path], read: dict[str, Path]) -> tuple[list[Run], dict[str, str]]:
    """The runs in files and folders, and the files of folders that are not results; a named file must be a result."""

    def refuse(error: OSError) -> None:
        raise IngestError(cannot_be_read(error.filename, error.strerror, "a folder of results"))

    runs: list[Run] = []
    refused: dict[str, str] = {}
    for given in map(Path, paths):
        files, named = [given], not given.is_dir()
        if not named:
            walked = sorted(Path(folder, name) for folder, _, names in os.walk(given, onerror=refuse) for name in names)
            # Neither hidden files nor those that tools write next to their results.
            shown = [path for path in walked if not any(part.startswith(".") for part in path.relative_to(given).parts)]
            files = [path for path in shown if not COMPANIONS.fullmatch(path.name)]
        if not files:
            raise IngestError(f"{given}: found no result, expected a folder that the test scripts wrote (RESULTS)")
        for path in files:
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


def differences(test: AcceptanceTest, run: Run) -> list[str]:
    """Why a run does not count for a test: found and expected values; empty where it counts."""
    if run.tool != test.tool:
        return [f"ran {run.tool}, expected {test.tool}"]
    found = {load.name: load for load in run.loads}
    # `4.1.0+dev` counts as [4, 1, 0].
    numbers = [re.findall(r"\d{1,9}", version.partition("+")[0]) for version in (run.version, test.version)]
    old = not run.version or [int(part) for part in numbers[0]] < [int(part) for part in numbers[1]]
    reasons = (
        [f"version: found {run.version or 'none'}, expected {test.version} or newer"] if old and test.tool != "dlio" else []
    )
    for load in test.loads:
        if load.name not in found:
            reasons.append(f"job '{load.name}' did not run")
            continue
        seen = found[load.name]
        if load.handled and seen.handled is None:
            reasons.append("files: not in the result, expected their number")
        if test.tool in REPORTING and load.operation in DATA:
            # Some drivers of fio drop the options of all jobs but the first.
            reads = ("pattern", "dataset_bytes") if load.on_data and load is test.loads[0] else ()
            absent = (name.replace("_", " ") for name in (*STATED, *reads) if getattr(seen, name) is None)
            reasons += [f"{name}: not in the result, expected a value" for name in absent]
        reasons += _differences(load, seen)
        memory = seen.memory_bytes
        if test.scale == "full" and load.dataset_bytes and memory and load.dataset_bytes < memory:
            held, data = display(memory, "B"), display(load.dataset_bytes, "B")
            reasons.append(f"caches: the clients have {held} of memory, expected less than the {data} of data")
    names = [load.name for load in test.loads]
    reasons += [f"{job} ran too, expected only {', '.join(names)}" for job in sorted({*found} - {*names})]
    for name, expected in test.parameters.items():
        if name in run.shown and run.shown[name] != expected:
            reasons.append(f"{name}: found {run.shown[name]}, expected {expected}")
        elif name not in run.shown and name not in OPTIONAL.get(test.tool, ()):
            reasons.append(f"{name}: not in the result, expected {expected}")
    return reasons


def _differences(load: Load, seen: Observed) -> Iterator[str]:
    if seen.errors:
        yield f"{seen.errors}, expected none"
    yield from _unlike("operation", seen.operation, load.operation)
    yield from _unlike("pattern", seen.pattern or load.pattern, load.pattern)
    if seen.io_bytes is not None and load.io_bytes is not None:
        one = load.depth == 1
        alike = round(seen.io_bytes) == load.io_bytes if one else abs(seen.io_bytes / load.io_bytes - 1) <= QUEUED
        if not alike:
            yield f"block size: found {seen.io_bytes:,.0f} B, expected {load.io_bytes:,} B"
    yield from _unlike("clients", seen.clients, load.clients)
    yield from _unlike("threads in all", seen.threads, load.clients * load.threads)
    yield from _unlike("queue depth of a thread", seen.depth, load.depth)
    if seen.seconds is not None and load.seconds is not None and seen.seconds < load.seconds * (1 - SHORT):
        yield f"duration: found {display(seen.seconds, 's')}, expected at least {display(load.seconds, 's')}"
    if seen.handled is not None and load.handled is not None and seen.handled < load.handled:
        yield f"files: found {seen.handled:,.0f}, expected at least {load.handled:,}"
    if load.operation not in DATA:
        return
    if load.dataset_bytes and seen.dataset_bytes is not None and seen.dataset_bytes < load.dataset_bytes * (1 - ROUNDING):
        found, expected = display(seen.dataset_bytes, "B"), display(load.dataset_bytes, "B")
        yield f"caches: found {found} of data, expected at least {expected}, which exceeds caches"
    if seen.direct is False and not seen.cold:
        yield "caches: found buffered I/O (direct=0), expected direct I/O"


def _unlike(what: str, found: object, expected: object) -> Iterator[str]:
    if found is not None and expected and found != expected:
        yield f"{what}: found {found}, expected {expected}"
