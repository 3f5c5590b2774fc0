"""A running job under observation: the process tree, the mount of its data, pressure, and the figures that follow."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.observation.mounts import (
    BLOCK_BACKED,
    Mount,
    MountCounters,
    group_bytes_read,
    mount_counters,
    mount_of,
    mounts,
    refuse_unseen,
)
from ingest.observation.observation import Figure, Reading, Window, figure_of
from ingest.observation.processes import ProcessTree, Sample, watch
from ingest.observation.steady_window import LONG_SHARE, Steady, steady_part

PROC = Path("/proc")
SOURCE = "processes"
STANDARD_ERROR = 2
#: Blocks moved beyond this share of the bytes asked for were not asked for with read calls: mapped files.
MAPPED_BEYOND = 1.5
#: A smaller share of reads from memory is within what read-ahead shifts.
CACHE_SHARE = 0.05
#: A control group that read more than this many times what the processes read holds others.
GROUP_BEYOND = 1.05
#: Fewer bytes are logs and imports, not data.
LEAST_BYTES = 1_000_000
NO_OPENS = "the kernel counts no opens of a process; a Darshan log or a DFTracer trace of the job does"
NO_COVERAGE = "no process was seen with files of --path open: they are open for shorter than a sample; a Darshan log has them"


class _Seen(NamedTuple):
    """What a window shows: samples, counters of the mount at both ends, seconds stalled on I/O, bytes of the control group."""

    samples: list[Sample]
    mount: list[MountCounters]
    stalled: float | None
    group: int | None


@contextmanager
def _started(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A job that writes to standard error, so that standard output carries the observation alone; ended with its context."""
    try:
        job = subprocess.Popen([*command], stdout=STANDARD_ERROR)
    except OSError as error:
        raise IngestError(f"--command: '{command[0]}' cannot be started: {error.strerror}, expected a program") from None
    try:
        yield job
    finally:
        if job.poll() is None:
            job.terminate()
            try:
                job.wait(10)
            except subprocess.TimeoutExpired:
                job.kill()
                job.wait()


def observe_job(pid: int | None, command: Sequence[str], path: str | None, seconds: float | None) -> Reading:
    """Watch a running job for a window of seconds, or start one and watch it to its end or for a window that ends it.

    The path of its data is absolute and without links, as the kernel names open files; None takes all reads.

    Raises:
        IngestError: there is no such process or program, it belongs to another user, or what it reads cannot be seen.
    """
    mount = None if path is None else mount_of(path, mounts(PROC))
    if path is not None and mount is not None and mount.kind not in BLOCK_BACKED and mount_counters(mount, PROC) is None:
        refuse_unseen(mount, path)
    if pid is not None:
        return _reading(_watched(ProcessTree(pid, path), mount, seconds, lambda: False), path, mount, ())
    with _started(command) as job:
        seen = _watched(ProcessTree(job.pid, path), mount, seconds, lambda: job.poll() is not None)
        failed = job.poll()
    return _reading(seen, path, mount, (f"the job ended with exit code {failed}",) if failed else ())


def _watched(tree: ProcessTree, mount: Mount | None, seconds: float | None, ended: Callable[[], bool]) -> _Seen:
    def now(pid: int) -> tuple[MountCounters | None, float | None, int | None]:
        """Counters of the mount, seconds in which every task of this machine waited for I/O, bytes of the control group."""
        counted = None if mount is None else mount_counters(mount, PROC)
        try:
            lines = (PROC / "pressure" / "io").read_text(encoding="ascii").splitlines()
        except OSError:
            lines = []
        stalled = next((int(line.rpartition("total=")[2]) / 1e6 for line in lines if line.startswith("full ")), None)
        return counted, stalled, group_bytes_read(pid)

    before, stalled, group = now(tree.pid)
    # The group of a job that ends may be removed with it: the last count is of this process's own group where both share it.
    member = os.getpid() if group_bytes_read(os.getpid()) == group else tree.pid
    samples = watch(tree, seconds, ended)
    after, stalled_last, group_last = now(member)
    return _Seen(
        samples,
        [one for one in (before, after) if one],
        None if stalled is None or stalled_last is None else stalled_last - stalled,
        None if group is None or group_last is None else group_last - group,
    )


def _reading(seen: _Seen, path: str | None, mount: Mount | None, warnings: tuple[str, ...]) -> Reading:
    if len(seen.mount) == 2:
        return _of_mount(seen, path or "", mount, warnings)
    if mount is not None and mount.kind not in BLOCK_BACKED:
        raise IngestError(
            f"--path: {path}: the {mount.kind} mount was unmounted within the window, expected one that stays; observe again"
        )
    return _of_processes(seen, path, warnings)


def _of_mount(seen: _Seen, path: str, mount: Mount | None, warnings: tuple[str, ...]) -> Reading:
    """Figures of a network mount: its own counters, over the whole window."""
    before, after = seen.mount
    seconds = seen.samples[-1].seconds - seen.samples[0].seconds
    kind = mount.kind if mount else "network"
    if not before.precedes(after):
        raise IngestError(
            f"--path: {path}: the counters of the {kind} mount run backwards: it was mounted anew within the window, observe "
            "again"
        )
    moved, reads = after.bytes_read - before.bytes_read, after.reads - before.reads
    if moved < LEAST_BYTES:
        raise IngestError(
            f"--path: {path}: the {kind} mount moved {moved:,} bytes within the window: a cache in memory served the job, "
            "expected a cold first epoch or a longer --window"
        )
    source, window = f"{kind} mount", Window(seconds, note="counters of the mount over the whole window; no edge was cut")
    given = {"bytes_read": moved, "reads": reads, "window_seconds": seconds, "bytes_requested": moved}
    if not after.served:
        warnings += (
            f"the {kind} mount shows what programs asked for, caches included: what its servers sent is for root alone",
        )
    names = ["bytes_read", "reads", "read_bytes_mean", "read_bandwidth", "window_seconds"]
    notes = {"reads": "requests to the server" if after.served else "read calls"}
    if after.read_seconds is not None and reads:
        given["read_seconds"] = after.read_seconds - (before.read_seconds or 0)
        names.append("read_seconds_mean")
        notes["read_seconds_mean"] = "from request to reply, waiting in the queue included"
    figures = {name: figure_of(name, given, source, window, note=notes.get(name, "")) for name in names}
    requested = (after.bytes_requested or 0) - (before.bytes_requested or 0)
    if after.served and requested:
        given = {"bytes_requested": requested, "bytes_read": moved}
        figures["bytes_requested"] = figure_of("bytes_requested", given, source, window)
        note = "bytes asked for that no server sent"
        warnings += _cached(figures, figure_of("observed_cache_fraction", given, source, window, note=note))
    unknown = {"coverage": "the mount counts the reads of every program on this node"}
    if after.opens is None or before.opens is None:
        unknown["opens"] = NO_OPENS
    else:
        figures["opens"] = Figure(after.opens - before.opens, "file", source, window)
    return Reading(source, figures, unknown, warnings)


def _cached(figures: dict[str, Figure], share: Figure) -> tuple[str, ...]:
    """Add the share that memory served to the figures of a job, with a warning; nothing where read-ahead explains it."""
    if share.value <= CACHE_SHARE:
        return ()
    figures["observed_cache_fraction"] = share
    return (f"memory served {share.value:.0%} of the requested bytes: a cold first epoch reads more from storage",)


def steady_samples(samples: Sequence[Sample]) -> Steady:
    """The steady part of the reads of a tree.

    Raises:
        IngestError: nothing was read, memory served all reads, or the rate never settled.
    """
    first, last = samples[0].total, samples[-1].total
    asked, moved = last.rchar - first.rchar, last.read_bytes - first.read_bytes
    watched = samples[-1].seconds - samples[0].seconds
    if max(asked, moved) < LEAST_BYTES:
        raise IngestError(
            f"the job read {max(asked, moved):,} bytes in {watched:.3g} s, expected reads of data: a longer --window, "
            "or the process that has the data loader below it"
        )
    cached = moved < CACHE_SHARE * asked
    rates = [] if cached and moved < LEAST_BYTES else samples
    found = steady_part([one.seconds for one in rates], [float(one.total.read_bytes) for one in rates]) if rates else None
    if found is None and cached:  # what moved without a rate of its own is the start of the program
        raise IngestError(
            f"read_bytes is {moved:,} where the job asked for {asked:,} bytes: the page cache served them. Observe a cold "
            "first epoch, or data larger than memory; files on FUSE or a network need --path"
        )
    if found is None:
        raise IngestError(
            f"no steady reads in {watched:.3g} s ({len(samples)} samples), expected one rate for a quarter of the time: "
            "a longer --window"
        )
    # Ends in which calls come at another rate are cut: a program that starts reads its modules from memory.
    within, window = samples[found.first : found.last + 1], found.window
    calls = steady_part([one.seconds for one in within], [float(one.total.syscr) for one in within])
    if calls is None or calls.window.seconds < LONG_SHARE * window.seconds:
        return found
    before, after = window.cut_before + calls.window.cut_before, window.cut_after + calls.window.cut_after
    window = window._replace(seconds=calls.window.seconds, cut_before=before, cut_after=after)
    return Steady(found.first + calls.first, found.first + calls.last, window)


def _of_processes(seen: _Seen, path: str | None, warnings: tuple[str, ...]) -> Reading:
    steady = steady_samples(seen.samples)
    first, last = seen.samples[steady.first], seen.samples[steady.last]
    total, readers = last.total.minus(first.total), last.readers.minus(first.readers)
    window, unknown = steady.window, {"opens": NO_OPENS}
    given: dict[str, float] = {"bytes_read": total.read_bytes, "bytes_requested": total.rchar, "reads": total.syscr,
                               "window_seconds": window.seconds}  # fmt: skip
    share = None
    if path is not None and readers.read_bytes > 0:
        seen_open = {"explained_bytes": readers.read_bytes, "bytes_read": total.read_bytes}
        share = given["coverage"] = min(1.0, float(solve("coverage", seen_open)))
    elif path is not None:
        unknown["coverage"] = NO_COVERAGE
    else:
        unknown["coverage"] = "no --path tells data from imports and checkpoints; direction and the steady window do"
    calls = "all read calls of the tree, pipes between its processes included"
    notes = {
        "bytes_read": "moved by block devices",
        "read_bandwidth": "",
        "window_seconds": "",
        **({} if share is None else {"coverage": "processes that had files of --path open, over the whole tree"}),
    }
    mapped = total.read_bytes > MAPPED_BEYOND * total.rchar
    if mapped:
        why = "most bytes were read through mapped files, which make no read calls"
        unknown |= {"reads": why, "read_bytes_mean": why}
    else:
        notes |= {"reads": calls, "bytes_requested": calls, "read_bytes_mean": calls}
    figures = {name: figure_of(name, given, SOURCE, window, share, note=note) for name, note in notes.items()}
    if not mapped:
        note = "bytes asked for that no block device moved"
        warnings += _cached(figures, figure_of("observed_cache_fraction", given, SOURCE, window, share, note=note))
    moved = seen.samples[-1].total.read_bytes - seen.samples[0].total.read_bytes
    if seen.group is not None and seen.group > GROUP_BEYOND * moved:
        warnings += (
            f"the control group read {seen.group:,} bytes, the watched processes {moved:,}: others run in it, or workers ended "
            "between two samples",
        )
    facts: dict[str, float] = {}
    if seen.stalled is not None:
        facts["io_pressure_full"] = min(1.0, seen.stalled / (seen.samples[-1].seconds - seen.samples[0].seconds))
    facts["processes_most"] = max(one.processes for one in seen.samples)
    return Reading(SOURCE, figures, unknown, warnings, facts=facts)
