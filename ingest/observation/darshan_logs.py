"""Darshan logs of one job, read by PyDarshan and merged: reads, opens, sizes, time line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from ingest.errors import IngestError, brief
from ingest.observation import darshan_records
from ingest.observation.observation import Reading
from ingest.observation.read_totals import ReadTotals, size_bins, totals_reading

SOURCE = "Darshan log"
#: Upper ends of Darshan's bins of sizes are counted in: 100 B falls below 101.
LIMITS = (0, 101, 1025, 10_241, 102_401, 1_048_577, 4_194_305, 10_485_761, 104_857_601, 1_073_741_825, 2**63)
#: Seconds between the logs of one job: Darshan states whole seconds in old logs.
GAP = 2.0
#: No log of a real job takes longer to read than so many seconds.
TIME_LIMIT = 300
#: programs that a framework starts for its workers
WORKERS = ("multiprocessing", "torch.distributed", "torchrun", "resource_tracker", "forkserver")
#: what no two processes of a job have in common: two logs that do are copies
SAME = ("uid", "jobid", "began", "seconds", "exe", "all_bytes", "read_seconds", "first", "last")
MORE_RECORDS = (
    "write 'MAX_RECORDS 100000 POSIX,STDIO' and 'MODMEM 1024' to a file, name it in DARSHAN_CONFIG_PATH, and run again"
)


def is_darshan_log(path: Path, head: bytes) -> bool:
    """Whether a file is a Darshan log, by its name or its first bytes."""
    return path.suffix == ".darshan" or (head[:2] in (b"3.", b"2.") and b"\0" in head[3:8])


def darshan_reading(paths: Sequence[Path], path: str | None) -> Reading:
    """Reads of the job that wrote the logs.

    Args:
        paths: all logs of one job: one, or one of each process.
        path: what counts as data; None for every file.

    Raises:
        IngestError: a log is damaged, incomplete, of another job, or shows no reads, with what to do.
        ModuleNotFoundError: the package darshan is not installed.
    """
    logs = _read(paths, path or "")
    for log in logs:
        _refuse_incomplete(log)
    _refuse_two_jobs(logs)
    totals, counts, began = ReadTotals(), [0] * len(darshan_records.BINS), min(log["began"] for log in logs)
    for log in logs:
        totals.all_bytes += log["all_bytes"]
        for name in ("bytes", "reads", "opens", "unread", "sequential"):
            setattr(totals, name, getattr(totals, name) + log[name])
        totals.seconds += log["read_seconds"]
        if log["first"] is not None:
            totals.span(log["began"] + log["first"], log["began"] + log["last"])
        counts = [mine + its for mine, its in zip(counts, log["sizes"], strict=True)]
        totals.common.update(dict(log["common"]))
    totals.files = len({one for log in logs for one in log["files"]})
    totals.sizes = size_bins(LIMITS, counts) if any(counts) else ()
    _add_time_lines(totals, logs, began)
    place = str(paths[0]) if len(paths) == 1 else f"{paths[0].parent} ({len(paths)} logs)"
    made = totals_reading(totals, SOURCE, path, place)
    readers = sum(1 for log in logs if log["reads"])
    ranks = max(log["nprocs"] for log in logs)
    return Reading(made.source, made.figures, made.unknown, made.warnings, made.sizes,
                   {**made.facts, "logs": len(logs), "readers": max(readers, ranks)})  # fmt: skip


def _read(paths: Sequence[Path], prefix: str) -> list[dict[str, Any]]:
    """The logs as plain numbers, from a process of its own."""
    if find_spec("darshan") is None:
        raise ModuleNotFoundError("No module named 'darshan'", name="darshan")
    words = [sys.executable, "-P", darshan_records.__file__, prefix, *map(str, paths)]
    try:
        done = subprocess.run(words, capture_output=True, timeout=TIME_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise IngestError(f"{paths[0]}: PyDarshan does not finish within {TIME_LIMIT} s, expected a log of a job") from None
    except OSError as error:
        raise IngestError(f"{paths[0].parent}: {len(paths):,} logs: {error.strerror}, expected fewer at a time") from None
    found = [json.loads(line) for line in done.stdout.decode("utf-8", "replace").splitlines()]
    logs = [one for one in found if "path" in one]
    if (failed := next((one for one in found if "missing" in one), None)) is not None:
        raise IngestError(f"PyDarshan cannot be used: it needs the package {brief(failed['missing'])}")
    complaint = next((line for line in done.stderr.decode("utf-8", "replace").splitlines() if "rror" in line), "")
    if len(logs) < len(paths) or complaint:
        why = next((one["error"] for one in found if "error" in one), complaint or f"PyDarshan ended with {done.returncode}")
        bad = paths[min(len(logs), len(paths) - 1)] if len(logs) < len(paths) else _first_bad(paths, prefix)
        raise IngestError(
            f"{bad}: the log is cut off or damaged ({brief(why)}), expected a whole one; the job must end by itself"
        )
    return logs


def _first_bad(paths: Sequence[Path], prefix: str) -> Path:
    """The first of several logs about which the library complains."""
    for path in paths[:-1]:
        words = [sys.executable, "-P", darshan_records.__file__, prefix, str(path)]
        if subprocess.run(words, capture_output=True, timeout=TIME_LIMIT, check=False).stderr:
            return path
    return paths[-1]


def _refuse_incomplete(log: Mapping[str, Any]) -> None:
    place = log["path"]
    if log["partial"]:
        raise IngestError(
            f"{place}: Darshan ran out of records ({', '.join(log['partial'])}), files are missing; {MORE_RECORDS}"
        )
    if log["negative"]:
        raise IngestError(
            f"{place}: a negative counter of reads ({brief(log['negative'])}), expected a log that no tool has changed"
        )
    if log["seconds"] < 0 or log["ended"] < log["began"] - 1:
        raise IngestError(f"{place}: the job ends before it begins, expected a clock that runs forwards")
    for what in ("first", "last"):
        # Old logs round the run to whole seconds.
        if log[what] is not None and not -GAP <= log[what] <= log["seconds"] + GAP:
            raise IngestError(f"{place}: a read at {log[what]:.3g} s of a run of {log['seconds']:.3g} s, expected one clock")


def _refuse_two_jobs(logs: Sequence[Mapping[str, Any]]) -> None:
    """Refuse logs of several users, MPI jobs or programs, logs with a gap in time between them, and one log given twice."""
    ordered = sorted(logs, key=lambda log: float(log["began"]))
    until = ordered[0]["began"]
    first = ordered[0]
    for log in ordered:
        if log["began"] > until + GAP:
            raise _two_jobs(first, log, f"{log['began'] - until:.0f} s lie between them")
        until = max(until, log["ended"], log["began"] + log["seconds"])
    for log, other in pairwise(ordered):
        if all(log[name] == other[name] for name in SAME):
            names = " and ".join(Path(one["path"]).name for one in (log, other))
            raise IngestError(f"{names} are one log, expected each once; leave the copy out")
    reading = [log for log in ordered if log["reads"]] or ordered
    for log in reading[1:]:
        if log["uid"] != reading[0]["uid"]:
            raise _two_jobs(reading[0], log, "two users")
        if log["jobid"] != reading[0]["jobid"] and max(log["nprocs"], reading[0]["nprocs"]) > 1:
            raise _two_jobs(reading[0], log, f"job ids {reading[0]['jobid']} and {log['jobid']}")
    programs = [log for log in reading if not any(word in log["exe"] for word in WORKERS)]
    for log in programs[1:]:
        if log["exe"].strip() != programs[0]["exe"].strip():
            raise _two_jobs(programs[0], log, "two command lines")


def _two_jobs(one: Mapping[str, Any], other: Mapping[str, Any], why: str) -> IngestError:
    names = " and ".join(Path(log["path"]).name for log in (one, other))
    return IngestError(f"{names} are of two jobs: {why}; expected the logs of one job, name them one by one")


def _add_time_lines(totals: ReadTotals, logs: Sequence[Mapping[str, Any]], began: float) -> None:
    """Join the heat maps of the logs on one clock; a log that read and has none leaves the job without."""
    timed = [log for log in logs if log["heat"].get("width")]
    if any(log["all_bytes"] and log not in timed for log in logs) or not timed:
        return
    totals.width = max(log["heat"]["width"] for log in timed)
    for log in timed:
        for place, moved in log["heat"]["bins"]:
            # The middle of a narrow bin says into which wide one it falls.
            moment = log["began"] - began + (place + 0.5) * log["heat"]["width"]
            totals.bins[int(moment / totals.width)] += moved
