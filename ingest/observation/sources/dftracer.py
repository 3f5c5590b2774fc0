"""DFTracer traces (`.pfw`, `.pfw.gz`) of one job, merged: reads, opens, sizes, time line."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from ingest.errors import IngestError, brief
from ingest.files import open_regular
from ingest.observation.observation import CountSource, Reading, SizeBin, is_number
from ingest.observation.read_totals import GAP, ReadTotals, place_of, refuse_gaps, totals_reading

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


def trace_reading(paths: Sequence[Path], path: str | None) -> Reading:
    """Reads of the job that wrote the traces, of files below a path or of every file.

    Raises IngestError: all traces are empty, one is damaged or of another job, or none shows reads of data, with what to do.
    """
    traces = [_trace(one) for one in paths]
    known = [one for one in traces if one.events]
    place = place_of(paths, "traces")
    if not any(one.reads or one.mapped for one in known):
        raise IngestError(
            f"{place}: no event of a file, expected reads: set DFTRACER_DATA_DIR=all and DFTRACER_INC_METADATA=1, and run again"
        )
    ordered = sorted(known, key=lambda one: one.first)
    for one, other in pairwise(ordered):
        if all(getattr(one, name) == getattr(other, name) for name in ("first", "last", "events", "seconds", "reads")):
            raise IngestError(f"{one.path.name} and {other.path.name} are one trace, expected each once; leave the copy out")
    # The processes of one job overlap.
    refuse_gaps([(one.path.name, one.first, one.last) for one in ordered], "traces", "between them")
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
    counted = {"traces": len(known), "readers": sum(map(bool, data)), "events": sum(one.events for one in known)}
    return totals_reading(totals, SOURCES[0].kind, path, place, counted)


class _Trace:
    """The reads of one file of events, by the hash of the file that was read."""

    def __init__(self, path: Path) -> None:
        self.path, self.events = path, 0
        self.ended = False  # whether the trace says that its process ended
        self.names: dict[str, str] = {}
        self.reads: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))  # by size
        self.opens, self.mapped = Counter[str](), Counter[str]()
        self.seconds: dict[str, float] = defaultdict(float)
        self.times: dict[str, list[float]] = {}
        # Plain counts: a Counter's own methods take twice as long, and there are a million events.
        self.sequential: dict[str, int] = defaultdict(int)
        self.bins: dict[int, int] = defaultdict(int)
        self.first = self.last = 0.0  # the earliest start and the latest end of an event, in seconds
        self._next: dict[tuple[str, str], int] = {}
        self._latest: dict[str, float] = {}
        self._before: dict[str, tuple[str, int, float, float]] = {}

    def add_to(self, totals: ReadTotals, path: str | None) -> set[str]:
        """Add the trace to the totals of the job, and return the files of the data path that it read."""
        read = set()
        inside = None if path is None else path.rstrip("/") + "/"
        for file in sorted({*self.reads, *self.opens, *self.mapped}):  # one order of the sum in every process
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
        """Count one event; refuse one without a time, a negative one or one behind the trace's end, a read without a result."""
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

        Refused: it begins before an earlier read of its thread, or is that read again.
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
        span = self.times.setdefault(file, [begin, end])
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
    """The events of one file; refuses one that cannot be read, is cut off, or unpacks to more than a trace does."""
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


SOURCES = (CountSource("DFTracer trace", trace_reading, (".pfw", ".pfw.gz"), "traces"),)
