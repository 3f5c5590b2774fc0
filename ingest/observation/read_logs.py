"""Darshan logs and DFTracer traces (`.pfw`, `.pfw.gz`) of one job, merged: reads, opens, sizes, time line."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zlib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from ingest.errors import IngestError, brief
from ingest.files import open_regular
from ingest.observation import darshan_records
from ingest.observation.observation import Reading, SizeBin, is_number
from ingest.observation.read_totals import ReadTotals, totals_reading

DARSHAN, DFTRACER = "Darshan log", "DFTracer trace"
#: Seconds between the logs of one job: two of its processes start within the life of one of them, their clocks agree to the
#: second, and old logs of Darshan state whole seconds.
GAP = 2.0
#: Upper ends of Darshan's bins of sizes are counted in: 100 B falls below 101.
LIMITS_OF_DARSHAN = (0, 101, 1025, 10_241, 102_401, 1_048_577, 4_194_305, 10_485_761, 104_857_601, 1_073_741_825, 2**63)
#: No log of a real job takes longer to read than so many seconds.
TIME_LIMIT = 300
#: programs that a framework starts for its workers
WORKERS = ("multiprocessing", "torch.distributed", "torchrun", "resource_tracker", "forkserver")
#: what no two processes of a job have in common: two logs that do are copies
SAME = ("uid", "jobid", "began", "seconds", "exe", "all_bytes", "read_seconds", "first", "last")
MORE_RECORDS = (
    "write 'MAX_RECORDS 100000 POSIX,STDIO' and 'MODMEM 1024' to a file, name it in DARSHAN_CONFIG_PATH, and run again"
)
READS = {"read", "pread", "pread64", "readv", "preadv", "preadv64", "fread"}
OPENS = {"open", "open64", "openat", "openat64", "fopen", "fopen64"}
MAPS = {"mmap", "mmap64"}
#: seconds of a bin of the time line
WIDTH = 0.1
#: No event takes a longer line, and none of the traces of a job unpacks to so many times its size.
LONGEST_LINE, MOST_UNPACKED = 2**20, 200
#: Smaller traces may repeat themselves as much as they like.
SMALL = 2**23
#: Sizes of requests are binned by powers of two, up to 1 TiB.
LIMITS = (0, *(2**power for power in range(41)))
#: Clocks count microseconds: a thread can begin two shorter reads in one of them, but no longer ones.
SURELY_LONG = 5e-6
WRITES_ONLY = 1  # O_WRONLY
#: Numbers of events have fewer digits.
LONGEST_NUMBER = 19
#: marks of the events that count, as they stand in a line; all others are only counted
_MARKS = tuple(f'"name":"{name}"'.encode() for name in (*READS, *OPENS, *MAPS, "FH", "start", "end"))
#: an event of a read as DFTracer writes it: five times as fast as JSON; any other form goes through JSON
_READ = re.compile(
    rb'\{"id":\d+,"name":"(?:read|pread|pread64|readv)","cat":"\w+",(?:"type":\d+,)?"pid":\d+,"tid":(\d+),"ts":(\d{1,17}),'
    rb'"dur":(\d{1,17}),"ph":(?:1|"X"),"args":\{"hhash":"\w+","ret":(\d{1,17})(?:,"offset":(\d{1,17}))?(?:,"\w+":\d+)*,'
    rb'"fhash":"(\w+)"\}\}\s*$'
)


def is_darshan_log(path: Path, head: bytes) -> bool:
    """Whether a file is a Darshan log, by its name or its first bytes."""
    return path.suffix == ".darshan" or (head[:2] in (b"3.", b"2.") and b"\0" in head[3:8])


def is_trace(path: Path) -> bool:
    """Whether a file is a DFTracer trace, by its name."""
    return path.name.endswith((".pfw", ".pfw.gz"))


def darshan_reading(paths: Sequence[Path], path: str | None) -> Reading:
    """Reads of the job that wrote the logs, of files below a path or of every file.

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
        for name in ("all_bytes", "bytes", "reads", "opens", "unread", "sequential"):
            setattr(totals, name, getattr(totals, name) + log[name])
        totals.seconds += log["read_seconds"]
        if log["first"] is not None:
            totals.span(log["began"] + log["first"], log["began"] + log["last"])
        counts = [mine + its for mine, its in zip(counts, log["sizes"], strict=True)]
        totals.common.update(dict(log["common"]))
    totals.files = len({one for log in logs for one in log["files"]})
    if any(counts):
        totals.sizes = tuple(map(SizeBin, LIMITS_OF_DARSHAN, LIMITS_OF_DARSHAN[1:], counts))
    # The heat maps are joined on one clock; a log that read and has none leaves the job without.
    timed = [log for log in logs if log["heat"].get("width")]
    if timed and not any(log["all_bytes"] and log not in timed for log in logs):
        totals.width = max(log["heat"]["width"] for log in timed)
        for log in timed:
            for place, moved in log["heat"]["bins"]:
                # The middle of a narrow bin says into which wide one it falls.
                moment = log["began"] - began + (place + 0.5) * log["heat"]["width"]
                totals.bins[int(moment / totals.width)] += moved
    place = str(paths[0]) if len(paths) == 1 else f"{paths[0].parent} ({len(paths)} logs)"
    made = totals_reading(totals, DARSHAN, path, place)
    readers = max(sum(1 for log in logs if log["reads"]), *(log["nprocs"] for log in logs))
    return replace(made, facts={**made.facts, "logs": len(logs), "readers": readers})


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

    def two_jobs(one: Mapping[str, Any], other: Mapping[str, Any], why: str) -> IngestError:
        names = " and ".join(Path(log["path"]).name for log in (one, other))
        return IngestError(f"{names} are of two jobs: {why}; expected the logs of one job, name them one by one")

    ordered = sorted(logs, key=lambda log: float(log["began"]))
    until = ordered[0]["began"]
    for log in ordered:
        if log["began"] > until + GAP:
            raise two_jobs(ordered[0], log, f"{log['began'] - until:.0f} s lie between them")
        until = max(until, log["ended"], log["began"] + log["seconds"])
    for log, other in pairwise(ordered):
        if all(log[name] == other[name] for name in SAME):
            names = " and ".join(Path(one["path"]).name for one in (log, other))
            raise IngestError(f"{names} are one log, expected each once; leave the copy out")
    first, *rest = [log for log in ordered if log["reads"]] or ordered
    for log in rest:
        if log["uid"] != first["uid"]:
            raise two_jobs(first, log, "two users")
        if log["jobid"] != first["jobid"] and max(log["nprocs"], first["nprocs"]) > 1:
            raise two_jobs(first, log, f"job ids {first['jobid']} and {log['jobid']}")
    programs = [log for log in (first, *rest) if not any(word in log["exe"] for word in WORKERS)]
    for log in programs[1:]:
        if log["exe"].strip() != programs[0]["exe"].strip():
            raise two_jobs(programs[0], log, "two command lines")


def trace_reading(paths: Sequence[Path], path: str | None) -> Reading:
    """Reads of the job that wrote the traces, of files below a path or of every file.

    Raises:
        IngestError: all traces are empty, one is damaged or of another job, or none shows reads of data, with what to do.
    """
    traces = [_trace(one) for one in paths]
    known = [one for one in traces if one.events]
    place = str(paths[0]) if len(paths) == 1 else f"{paths[0].parent} ({len(paths)} traces)"
    if not any(one.reads or one.mapped for one in known):
        raise IngestError(
            f"{place}: no event of a file, expected reads: set DFTRACER_DATA_DIR=all and DFTRACER_INC_METADATA=1, and run again"
        )
    ordered = sorted(known, key=lambda one: one.first)
    for one, other in pairwise(ordered):
        if all(getattr(one, name) == getattr(other, name) for name in ("first", "last", "events", "seconds", "reads")):
            raise IngestError(f"{one.path.name} and {other.path.name} are one trace, expected each once; leave the copy out")
    until = ordered[0].last
    for one in ordered[1:]:
        # The processes of one job overlap.
        if one.first > until + GAP:
            raise IngestError(
                f"{ordered[0].path.name} and {one.path.name} are of two jobs: {one.first - until:.0f} s between them; "
                "expected the traces of one job, name them one by one"
            )
        until = max(until, one.last)
    totals = ReadTotals(width=WIDTH)
    data = [one.add_to(totals, path) for one in known]
    totals.files = len(set().union(*data))
    counts = [0] * len(LIMITS)
    for size, count in totals.common.items():
        counts[min(bisect_right(LIMITS, size) - 1, len(LIMITS) - 2)] += count
    totals.sizes = tuple(map(SizeBin, LIMITS, LIMITS[1:], counts))
    empty, open_ended = len(traces) - len(known), sum(not one.ended for one in known)
    for count, what in ((empty, "are empty"), (open_ended, "do not end")):
        if count:
            totals.lower_bound = True
            totals.warnings += (
                f"{place}: {count} of {len(traces)} traces {what}: reads of a process that a signal ended are missing; "
                "let workers end by themselves",
            )
    made = totals_reading(totals, DFTRACER, path, place)
    counted = {"traces": len(known), "readers": sum(map(bool, data)), "events": sum(one.events for one in known)}
    return replace(made, facts={**made.facts, **counted})


class _Trace:
    """The reads of one file of events.

    Attributes:
        reads: per file hash, reads by size.
        first, last: the earliest start and the latest end of an event, in seconds.
        ended: whether the trace says that its process ended.
        events: all events of the trace.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.events, self.ended = path, 0, False
        self.names: dict[str, str] = {}
        self.reads: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.opens, self.mapped = Counter[str](), Counter[str]()
        self.seconds: dict[str, float] = defaultdict(float)
        self.times: dict[str, list[float]] = {}
        # Plain counts: a Counter's own methods take twice as long, and there are a million events.
        self.sequential: dict[str, int] = defaultdict(int)
        self.bins: dict[int, int] = defaultdict(int)
        self.first = self.last = 0.0
        self._next: dict[tuple[str, str], int] = {}
        self._latest: dict[str, float] = {}
        self._before: dict[str, tuple[str, int, float, float]] = {}

    def add_to(self, totals: ReadTotals, path: str | None) -> set[str]:
        """Add the trace to the totals of the job, and return the files of the data path that it read."""
        read = set()
        inside = None if path is None else path.rstrip("/") + "/"
        for file in {*self.reads, *self.opens, *self.mapped}:
            counts, name = self.reads.get(file, {}), self.names.get(file, file)
            moved = sum(size * count for size, count in counts.items())
            totals.all_bytes += moved
            if inside is not None and name != path and not name.startswith(inside):
                continue
            totals.mapped += inside is not None and not moved and file in self.mapped
            if not counts:
                continue
            totals.bytes += moved
            totals.reads += sum(counts.values())
            totals.opens += self.opens[file]
            read.add(name)
            totals.seconds += self.seconds[file]
            totals.sequential += self.sequential[file]
            totals.span(*self.times[file])
            totals.common.update(counts)
        totals.bins.update(self.bins)
        return read

    def add(self, event: dict[str, Any], line: int) -> None:
        """Count one event.

        Raises:
            IngestError: it has no time, a negative one, or one behind the end of the trace, or it is a read without a result.
        """
        args, name, place = event.get("args"), event.get("name"), f"{self.path}:{line}"
        args, name = args if isinstance(args, dict) else {}, name if isinstance(name, str) else ""
        if event.get("ph") in (4, "M"):
            if name == "FH":
                self.names[str(args.get("value"))] = str(args.get("name"))
            return
        start, length = _unquoted(event.get("ts")), _unquoted(event.get("dur", 0))
        if not is_number(start) or not is_number(length):
            raise IngestError(f"{place}: found ts {brief(start)}, dur {brief(length)}, expected microseconds")
        if length < 0 or start < 0:
            raise IngestError(f"{place}: found ts {start}, dur {length}, expected a clock that runs forwards")
        begin, seconds = start / 1e6, length / 1e6
        self.events += 1
        self.first, self.last = min(self.first or begin, begin), max(self.last, begin + seconds)
        file = str(args.get("fhash", args.get("fname", "")))
        if event.get("cat") == "dftracer":
            self.ended = self.ended or name == "end"
            if name == "end" and begin < self.last - GAP:
                raise IngestError(
                    f"{place}: the trace ends {self.last - begin:.3g} s before its last event, expected one clock"
                )
        elif name in READS:
            returned = _unquoted(args.get("ret", args.get("size")))
            each = args.get("size", 1) if name == "fread" and "ret" in args else 1
            if not is_number(returned) or not is_number(each):
                raise IngestError(f"{place}: a read without its result, expected a trace with DFTRACER_INC_METADATA=1")
            if returned < -1:
                raise IngestError(f"{place}: found a read of {returned} bytes, expected a number from 0")
            if returned >= 0:
                offset, thread = args.get("offset"), str(event.get("tid"))
                known = int(offset) if is_number(offset) else None
                self.count(file, int(returned) * int(each), begin, seconds, known, thread, line)
        elif name in OPENS and not (is_number(args.get("ret")) and args["ret"] < 0):
            writes = is_number(args.get("flags")) and int(args["flags"]) & WRITES_ONLY
            if not writes and "w" not in str(args.get("mode", "")):
                self.opens[file] += 1
        elif name in MAPS and args.get("fhash", args.get("fname")) is not None:
            self.mapped[file] += 1

    def count(self, file: str, size: int, begin: float, seconds: float, offset: int | None, thread: str, line: int) -> None:
        """Count one read of a file: seconds on the clock of the trace, and the offset where it states one.

        Raises:
            IngestError: it begins before an earlier read of its thread, or is that read again.
        """
        before = self._latest.get(thread, begin)
        if begin < before - GAP:
            raise IngestError(
                f"{self.path}:{line}: a read begins {before - begin:.3g} s before an earlier one of its thread, expected a "
                "clock that runs forwards"
            )
        self._latest[thread] = max(begin, before)
        this = (file, size, begin, seconds)
        if seconds >= SURELY_LONG and self._before.get(thread) == this:
            raise IngestError(
                f"{self.path}:{line}: a thread makes one read twice at one time, expected each event once; leave the copies out"
            )
        self._before[thread] = this
        self.reads[file][size] += 1
        self.seconds[file] += seconds
        end = begin + seconds
        span = self.times.get(file)
        if span is None:
            self.times[file] = [begin, end]
        else:
            span[:] = min(begin, span[0]), max(end, span[1])
        self.bins[int(begin / WIDTH)] += size
        if offset is None:
            self.sequential[file] += 1
            return
        place = (file, thread)
        self.sequential[file] += self._next.get(place) == offset
        self._next[place] = offset + size


def _unquoted(found: object) -> object:
    """A number of an event, which traces of the first versions quote."""
    return int(found) if isinstance(found, str) and found.isdecimal() and len(found) < LONGEST_NUMBER else found


def _trace(path: Path) -> _Trace:
    """The events of one file.

    Raises:
        IngestError: the file cannot be read, is cut off, or unpacks to more than a trace does.
    """
    found = _Trace(path)
    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0, 2)
            size = raw.tell()
            raw.seek(0)
            source: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            seen, number = 0, 0
            while line := source.readline(LONGEST_LINE):
                number += 1
                seen += len(line)
                if len(line) == LONGEST_LINE or (seen > SMALL and seen > MOST_UNPACKED * size):
                    raise IngestError(
                        f"{path}:{number}: no trace unpacks to such lines or {seen:,} bytes, expected an event per line"
                    )
                _take(found, line, number)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise IngestError(
            f"{path}: the trace is cut off or damaged ({brief(str(error))}), expected a whole one; leave it out"
        ) from None
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}, expected a DFTracer trace") from None
    return found


def _take(trace: _Trace, line: bytes, number: int) -> None:
    if (read := _READ.match(line)) is not None:
        thread, start, length, size, offset, file = read.groups()
        begin = int(start) / 1e6
        seconds = int(length) / 1e6
        trace.events += 1
        trace.first, trace.last = min(trace.first or begin, begin), max(trace.last, begin + seconds)
        trace.count(file.decode(), int(size), begin, seconds, None if offset is None else int(offset), thread.decode(), number)
        return
    text = line.strip().rstrip(b",")
    if text in (b"", b"[", b"]"):
        return
    if not text.endswith(b"}"):
        raise IngestError(
            f"{trace.path}:{number}: the last event is cut off, expected a whole trace; let the job end by itself"
        )
    name_at = text.find(b'"name":"', 0, 64)
    if name_at >= 0 and not text.startswith(_MARKS, name_at):
        # An event that is none of reading: its place on the clock does not matter.
        trace.events += 1
        return
    expected = "expected a JSON object per line, as DFTracer writes it"
    try:
        event = json.loads(text)
    except ValueError:
        raise IngestError(f"{trace.path}:{number}: found no event, {expected}") from None
    if not isinstance(event, dict):
        raise IngestError(f"{trace.path}:{number}: found {brief(event)}, {expected}")
    trace.add(event, number)
