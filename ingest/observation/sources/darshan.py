"""Darshan logs of one job, merged: reads, opens, sizes, time line."""

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
from ingest.observation.observation import CountSource, Reading, SizeBin
from ingest.observation.read_totals import GAP, ReadTotals, place_of, refuse_gaps, totals_reading, two_jobs

#: Upper ends of Darshan's bins of sizes are counted in: 100 B falls below 101.
LIMITS = (0, 101, 1025, 10_241, 102_401, 1_048_577, 4_194_305, 10_485_761, 104_857_601, 1_073_741_825, 2**63)
#: No log of a real job takes longer to read than so many seconds.
TIME_LIMIT = 300
#: programs that a framework starts for its workers
WORKERS = ("multiprocessing", "torch.distributed", "torchrun", "resource_tracker", "forkserver")
#: what no two processes of a job have in common: two logs that do are copies
SAME = ("uid", "jobid", "began", "seconds", "exe", "all_bytes", "read_seconds", "first", "last")
MORE_RECORDS = (
    "write 'MAX_RECORDS 100000 POSIX,STDIO' and 'MODMEM 1024' to a file, name it in DARSHAN_CONFIG_PATH, and run again"
)


def darshan_reading(paths: Sequence[Path], path: str | None) -> Reading:
    """Reads of the job that wrote the logs, of files below a path or of every file.

    Raises IngestError: a log is damaged, incomplete, of another job, or shows no reads, with what to do; ModuleNotFoundError:
    the package darshan is not installed.
    """
    logs = _read(paths, path or "")
    for log in logs:
        _refuse_incomplete(log)
    _refuse_two_jobs(logs)
    totals, counts, began = ReadTotals(), [0] * len(darshan_records.BINS), min(log["began"] for log in logs)
    for log in logs:
        for name in ("all_bytes", "bytes", "reads", "opens", "unread", "sequential"):
            setattr(totals, name, getattr(totals, name) + log[name])
        totals.seconds += log["read_seconds"]
        if log["first"] is not None:
            totals.span(log["began"] + log["first"], log["began"] + log["last"])
        counts = [mine + its for mine, its in zip(counts, log["sizes"], strict=True)]
        totals.common.update(dict(log["common"]))
    totals.files = len({one for log in logs for one in log["files"]})
    if any(counts):
        totals.sizes = tuple(map(SizeBin, LIMITS, LIMITS[1:], counts))
    # The heat maps are joined on one clock; a log that read and has none leaves the job without.
    timed = [log for log in logs if log["heat"].get("width")]
    if timed and not any(log["all_bytes"] and log not in timed for log in logs):
        totals.width = max(log["heat"]["width"] for log in timed)
        for log in timed:
            for place, moved in log["heat"]["bins"]:
                # The middle of a narrow bin says into which wide one it falls.
                moment = log["began"] - began + (place + 0.5) * log["heat"]["width"]
                totals.bins[int(moment / totals.width)] += moved
    readers = max(sum(1 for log in logs if log["reads"]), *(log["nprocs"] for log in logs))
    return totals_reading(totals, SOURCES[0].kind, path, place_of(paths, "logs"), {"logs": len(logs), "readers": readers})


def _read(paths: Sequence[Path], prefix: str) -> list[dict[str, Any]]:
    """The logs as plain numbers, from a process of its own."""
    if find_spec("darshan") is None:
        raise ModuleNotFoundError("No module named 'darshan'", name="darshan")

    def read(places: Sequence[Path]) -> subprocess.CompletedProcess[bytes]:
        words = [sys.executable, "-P", darshan_records.__file__, prefix, *map(str, places)]
        return subprocess.run(words, capture_output=True, timeout=TIME_LIMIT, check=False)

    try:
        done = read(paths)
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
        if len(logs) < len(paths):
            bad = paths[len(logs)]
        else:
            # The first of several logs about which the library complains.
            bad = next((path for path in paths[:-1] if read([path]).stderr), paths[-1])
        raise IngestError(
            f"{bad}: the log is cut off or damaged ({brief(why)}), expected a whole one; the job must end by itself"
        )
    return logs


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
    spans = [(Path(log["path"]).name, log["began"], max(log["ended"], log["began"] + log["seconds"])) for log in ordered]
    refuse_gaps(spans, "logs", "lie between them")
    for log, other in pairwise(ordered):
        if all(log[name] == other[name] for name in SAME):
            names = " and ".join(Path(one["path"]).name for one in (log, other))
            raise IngestError(f"{names} are one log, expected each once; leave the copy out")
    first, *rest = [log for log in ordered if log["reads"]] or ordered
    pairs = [
        (first, log, "two users" if log["uid"] != first["uid"] else f"job ids {first['jobid']} and {log['jobid']}")
        for log in rest
        if log["uid"] != first["uid"] or (log["jobid"] != first["jobid"] and max(log["nprocs"], first["nprocs"]) > 1)
    ]
    programs = [log for log in (first, *rest) if not any(word in log["exe"] for word in WORKERS)]
    others = [log for log in programs[1:] if log["exe"].strip() != programs[0]["exe"].strip()]
    pairs += [(programs[0], log, "two command lines") for log in others]
    for one, other, why in pairs[:1]:
        raise two_jobs(Path(one["path"]).name, Path(other["path"]).name, "logs", why)


#: Logs begin with their version, and a NUL after it.
SOURCES = (
    CountSource("Darshan log", darshan_reading, (".darshan",), "logs", lambda b: b[:2] in (b"3.", b"2.") and b"\0" in b[3:8]),
)
