"""Reads of a whole job, counted file by file: totals, sizes and time line, and the figures that follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from ingest.engine.registry import solve
from ingest.engine.value import EMPTY
from ingest.errors import IngestError
from ingest.observation.observation import Figure, Reading, SizeBin, Window, figure_of
from ingest.observation.steady_window import LEAST_OF_MEAN, parts_cut, steady_part
from ingest.units import display

#: Seconds between the files of one job: two of its processes start within the life of one of them, their clocks agree to the
#: second, and old logs of Darshan state whole seconds.
GAP = 2.0
#: More of the opened files than this share were never read: they were mapped, and their reads are not counted.
UNREAD_SHARE = 0.05
#: A job whose reads continue where the last one ended for at least this share reads in sequence.
SEQUENTIAL_SHARE = 0.5
#: Reads within a shorter time show a burst, not a rate.
LEAST_SECONDS = 1.0
#: No job reads for a longer time, in seconds: a year.
LONGEST_JOB = 366 * 86_400
#: how a rate begins that no steady part shows: pauses lower it
MEAN = "mean from the first to the last read, pauses included"
#: what reads that were not recorded would raise
COUNTS = ("bytes_read", "reads", "opens")
#: A time line of more bins is a clock that jumps, not a job.
MOST_TIME_BINS = 10_000_000


def place_of(paths: Sequence[Path], what: str) -> str:
    """The files of one job as messages name them."""
    return str(paths[0]) if len(paths) == 1 else f"{paths[0].parent} ({len(paths)} {what})"


def two_jobs(one: str, other: str, what: str, why: str) -> IngestError:
    """The refusal of two files that one job cannot have written."""
    return IngestError(f"{one} and {other} are of two jobs: {why}; expected the {what} of one job, name them one by one")


def refuse_gaps(spans: Sequence[tuple[str, float, float]], what: str, lie: str) -> None:
    """Refuse files with a gap in time between them; of each its name, first and last second, by the first.

    Raises IngestError: the job of the first files had ended before others began.
    """
    until = spans[0][1]
    for name, first, last in spans:
        if first > until + GAP:
            raise two_jobs(spans[0][0], name, what, f"{first - until:.0f} s {lie}")
        until = max(until, last)


@dataclass
class ReadTotals:
    """Reads of the data path, and of everything."""

    all_bytes: int = 0  # read from any file; all counts below but `bins` are of the data path
    bytes: int = 0
    reads: int = 0
    opens: int = 0
    files: int = 0
    unread: int = 0  # files that were opened and never read
    mapped: int = 0  # files that were mapped, where the source tells
    seconds: float = 0  # time of all reads together
    sequential: int = 0  # reads that continue where the last one of the file ended
    began: float | None = None  # first and last read, seconds on one clock
    ended: float | None = None
    sizes: tuple[SizeBin, ...] = ()  # reads by size
    common: Counter[int] = field(default_factory=Counter)  # the commonest sizes of reads, with their counts
    width: float = 0  # seconds of a bin of `bins`
    bins: Counter[int] = field(default_factory=Counter)  # bytes read from any file, by time
    lower_bound: bool = False  # some of the job's reads were not recorded
    warnings: tuple[str, ...] = ()

    def span(self, first: float, last: float) -> None:
        """Widen the time of the reads."""
        self.began = first if self.began is None else min(self.began, first)
        self.ended = last if self.ended is None else max(self.ended, last)


def totals_reading(
    totals: ReadTotals, source: str, path: str | None, place: str, counted: Mapping[str, int] = EMPTY
) -> Reading:
    """Figures of the reads of a job below a path, or of every file; the place names the sources in messages.

    Facts are what was `counted` beside the totals: files of the source, processes that read.

    Raises IngestError: nothing was read, or the data path was mapped.
    """
    below = "" if path is None else f" below --path {path}"
    if totals.mapped or (path is not None and totals.unread > UNREAD_SHARE * (totals.files + totals.unread)):
        count = max(totals.mapped, totals.unread)
        raise IngestError(
            f"{place}: {count:,} of {totals.files + count:,} files{below} were opened and not read: mapped "
            "files make no read calls. Observe the running job with --pid instead, which counts their pages"
        )
    if not totals.all_bytes:
        raise IngestError(f"{place}: the job made no reads, expected one that reads its data; --pid counts mapped files")
    if not totals.bytes:
        raise IngestError(
            f"{place}: no reads{below} among {totals.all_bytes:,} bytes read, expected the folder of the data in --path; "
            "files that are mapped make no read calls, --pid counts their pages"
        )
    if totals.began is not None and (totals.ended or 0) - totals.began > LONGEST_JOB:
        years = ((totals.ended or 0) - totals.began) / LONGEST_JOB
        raise IngestError(f"{place}: the reads span {years:.3g} years, expected the clock of one job")
    window, rate_bytes, cut = _window(totals, source, path)
    coverage = float(solve("coverage", {"explained_bytes": totals.bytes, "bytes_read": totals.all_bytes}))
    share = coverage if path is not None else None
    whole = Window((totals.ended or 0) - (totals.began or 0), note="first to last read")
    given = {"bytes_read": totals.bytes, "reads": totals.reads, "opens": totals.opens, "bytes_requested": totals.bytes,
             "read_seconds": totals.seconds}  # fmt: skip
    names = ["bytes_read", "reads", "opens", "read_bytes_mean"]
    names += ["read_bytes_per_open"] * bool(totals.opens) + ["read_seconds_mean"] * bool(totals.seconds)
    figures = {
        name: figure_of(name, given, source, whole, share, lower_bound=totals.lower_bound and name in COUNTS) for name in names
    }
    figures["bytes_read"] = figures["bytes_read"]._replace(note="bytes that read calls returned, caches included")
    warnings = list(totals.warnings)
    unknown = {}
    if window is None or window.seconds < LEAST_SECONDS:
        unknown["read_bandwidth"] = f"the reads last less than {LEAST_SECONDS:g} s, too short for a rate"
    else:
        moved = float(solve("explained_window_bytes", {"window_bytes": rate_bytes, "coverage": coverage}))
        rate = float(solve("read_bandwidth", {"bytes_read": moved, "window_seconds": window.seconds}))
        is_mean = window.note.startswith(MEAN)
        warnings += [f"{place}: {window.note}"] if is_mean else []
        warnings += told_of_cut(place, "read", "B", window.seconds, rate_bytes / totals.all_bytes, cut)
        # What was cut is not covered, on the data path or off it.
        within = min(1.0, float(solve("coverage", {"explained_bytes": moved, "bytes_read": totals.all_bytes})))
        seen = None if share is None else within
        figures["read_bandwidth"] = Figure(rate, "B/s", source, window, seen, lower_bound=totals.lower_bound or is_mean)
        figures["window_seconds"] = Figure(window.seconds, "s", source, window, seen)
    if share is not None:
        figures["coverage"] = Figure(share, "1", source, whole, share, note="bytes read below --path, over all bytes read")
    else:
        unknown["coverage"] = "no --path tells data from imports and checkpoints; all files that were read count"
    pattern = "sequential" if totals.sequential >= SEQUENTIAL_SHARE * totals.reads else "random"
    facts: dict[str, Any] = {"files": totals.files, "pattern": pattern}
    if totals.common:
        common = sorted(totals.common.items(), key=lambda one: (-one[1], one[0]))[:16]  # of equal numbers, the smaller first
        facts["common_read_sizes"] = {str(size): count for size, count in common if count}
    return Reading(source, figures, unknown, tuple(warnings), totals.sizes, {**facts, **counted})


def told_of_cut(
    place: str, verb: str, unit: str, seconds: float, share: float, cut: Sequence[tuple[str, float, float]]
) -> list[str]:
    """The warning that names what a steady part leaves out: each part with its rate and its share of all that was done."""
    if not cut:
        return []
    parts = [f"{display(rate, f'{unit}/s', binary=False)} {which} it ({part:.1%})" for which, rate, part in cut]
    return [
        f"{place}: the rate is that of {display(seconds, 's')} in which the job {verb} {share:.1%} of all: it was cut to its "
        f"fastest sustained part from {' and '.join(parts)}"
    ]


def _window(totals: ReadTotals, source: str, path: str | None) -> tuple[Window | None, float, list[tuple[str, float, float]]]:
    """The steady window with the bytes within it and the parts around it; from the first to the last read where the source has
    no time line.
    """
    bins, note = totals.bins, f"{MEAN}: the {source} shows no steady part"
    if totals.width and bins:
        first, last = min(bins), max(bins)
        if last - first < MOST_TIME_BINS:
            times = [totals.width * place for place in range(first, last + 2)]
            amounts = [*accumulate((bins.get(place, 0) for place in range(first, last + 1)), initial=0.0)]
            if (found := steady_part(times, amounts)) is not None:
                return found.window, amounts[found.last] - amounts[found.first], parts_cut(times, amounts, found)
            if not path:
                # Bins of more than a tenth of the mean, from the first to the last: imports are no reads of data.
                least = LEAST_OF_MEAN * amounts[-1] / (times[-1] - times[0])
                busy = [
                    at for at in range(len(times) - 1) if amounts[at + 1] - amounts[at] > least * (times[at + 1] - times[at])
                ]
                first, last = busy[0], busy[-1] + 1
                window = Window(times[last] - times[first], times[first] - times[0], times[-1] - times[last], note)
                return window, amounts[last] - amounts[first], []
    if totals.began is None or totals.ended is None or totals.ended <= totals.began:
        return None, 0, []
    return Window(totals.ended - totals.began, note=note), totals.all_bytes, []
