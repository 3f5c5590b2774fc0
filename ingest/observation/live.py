"""A running job under observation: the process tree, the mount of its data, pressure, and the figures that follow."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.observation.control_groups import group_bytes_read
from ingest.observation.mounts import (
    BLOCK_BACKED,
    Mount,
    MountCounters,
    mount_counters,
    mount_of,
    mounts,
    refuse_unseen,
)
from ingest.observation.observation import Figure, Reading, Window
from ingest.observation.processes import Counters, ProcessTree, Sample, watch
from ingest.observation.steady_window import LONG_SHARE, Steady, steady_part

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


def observe_command(command: Sequence[str], path: str | None, seconds: float | None) -> Reading:
    """Start a job and watch it to its end, or for a window after which it is ended.

    Args:
        command: program and arguments.
        path: what counts as data; None takes all reads.
        seconds: the window; None for the whole job.

    Raises:
        IngestError: the program cannot be started, or what it reads cannot be seen.
    """
    mount = _mount(path)
    with _started(command) as job:
        seen = _watched(ProcessTree(job.pid, path), mount, seconds, lambda: job.poll() is not None)
        failed = job.poll()
    warnings = (f"the job ended with exit code {failed}",) if failed else ()
    return _reading(seen, path, mount, warnings)


def observe_process(pid: int, path: str | None, seconds: float) -> Reading:
    """Watch a running job for a window.

    Raises:
        IngestError: there is no such process, it belongs to another user, or what it reads cannot be seen.
    """
    mount = _mount(path)
    return _reading(_watched(ProcessTree(pid, path), mount, seconds, lambda: False), path, mount, ())


def _mount(path: str | None) -> Mount | None:
    if path is None:
        return None
    mount = mount_of(path, mounts(Path("/proc")))
    if mount is not None and mount.kind not in BLOCK_BACKED and mount_counters(mount, Path("/proc")) is None:
        refuse_unseen(mount, path)
    return mount


def _watched(tree: ProcessTree, mount: Mount | None, seconds: float | None, ended: Callable[[], bool]) -> _Seen:
    counted, stalled, group = [_counters(mount)], _stalled(), group_bytes_read(tree.pid)
    # The group of a job that ends may be removed with it: the last count is of this process's own group where both share it.
    member = os.getpid() if group_bytes_read(os.getpid()) == group else tree.pid
    samples = watch(tree, seconds, ended)
    counted.append(_counters(mount))
    after, last = _stalled(), group_bytes_read(member)
    return _Seen(
        samples,
        [one for one in counted if one],
        None if stalled is None or after is None else after - stalled,
        None if group is None or last is None else last - group,
    )


def _counters(mount: Mount | None) -> MountCounters | None:
    return None if mount is None else mount_counters(mount, Path("/proc"))


def _stalled() -> float | None:
    """Seconds in which every task of this machine waited for I/O, since it started; None where the kernel does not count."""
    try:
        lines = Path("/proc/pressure/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.rpartition("total=")[2]) / 1e6 for line in lines if line.startswith("full ")), None)


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
    figures = {
        "bytes_read": Figure(moved, "B", source, window),
        "reads": Figure(reads, "1", source, window, note="requests to the server" if after.served else "read calls"),
        "read_bytes_mean": Figure(float(solve("read_bytes_mean", given)), "B", source, window),
        "read_bandwidth": Figure(float(solve("read_bandwidth", given)), "B/s", source, window),
        "window_seconds": Figure(seconds, "s", source, window),
    }
    if after.read_seconds is not None and reads:
        given["read_seconds"] = after.read_seconds - (before.read_seconds or 0)
        each = float(solve("read_seconds_mean", given))
        figures["read_seconds_mean"] = Figure(
            each, "s", source, window, note="from request to reply, waiting in the queue included"
        )
    requested = (after.bytes_requested or 0) - (before.bytes_requested or 0)
    if after.served and requested:
        figures["bytes_requested"] = Figure(requested, "B", source, window)
        hit = float(solve("observed_cache_fraction", {"bytes_requested": requested, "bytes_read": moved}))
        if hit > CACHE_SHARE:
            figures["observed_cache_fraction"] = Figure(hit, "1", source, window, note="bytes asked for that no server sent")
            warnings += (f"memory served {hit:.0%} of the requested bytes: a cold first epoch reads more from storage",)
    unknown = {"coverage": "the mount counts the reads of every program on this node"}
    if after.opens is None or before.opens is None:
        unknown["opens"] = NO_OPENS
    else:
        figures["opens"] = Figure(after.opens - before.opens, "file", source, window)
    return Reading(source, figures, unknown, warnings)


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
    return _of_one_manner(samples, found)


def _of_one_manner(samples: Sequence[Sample], found: Steady) -> Steady:
    """The steady part without ends in which calls come at another rate: a program that starts reads its modules from memory."""
    within = samples[found.first : found.last + 1]
    calls = steady_part([one.seconds for one in within], [float(one.total.syscr) for one in within])
    if calls is None or calls.window.seconds < LONG_SHARE * found.window.seconds:
        return found
    first, last = found.first + calls.first, found.first + calls.last
    before, after = found.window.cut_before + calls.window.cut_before, found.window.cut_after + calls.window.cut_after
    return Steady(first, last, found.window._replace(seconds=calls.window.seconds, cut_before=before, cut_after=after))


def _of_processes(seen: _Seen, path: str | None, warnings: tuple[str, ...]) -> Reading:
    steady = steady_samples(seen.samples)
    first, last = seen.samples[steady.first], seen.samples[steady.last]
    total, readers = _difference(first.total, last.total), _difference(first.readers, last.readers)
    window, unknown = steady.window, {"opens": NO_OPENS}
    share = None
    if path is not None and readers.read_bytes > 0:
        share = min(1.0, float(solve("coverage", {"explained_bytes": readers.read_bytes, "bytes_read": total.read_bytes})))
    elif path is not None:
        unknown["coverage"] = NO_COVERAGE
    else:
        unknown["coverage"] = "no --path tells data from imports and checkpoints; direction and the steady window do"
    given = {"bytes_read": total.read_bytes, "bytes_requested": total.rchar, "reads": total.syscr,
             "window_seconds": window.seconds}  # fmt: skip

    def figure(value: float, unit: str, note: str = "") -> Figure:
        return Figure(value, unit, SOURCE, window, share, note=note)

    figures = {
        "bytes_read": figure(total.read_bytes, "B", "moved by block devices"),
        "read_bandwidth": figure(float(solve("read_bandwidth", given)), "B/s"),
        "window_seconds": figure(window.seconds, "s"),
    }
    if share is not None:
        figures["coverage"] = figure(share, "1", "processes that had files of --path open, over the whole tree")
    if total.read_bytes > MAPPED_BEYOND * total.rchar:
        mapped = "most bytes were read through mapped files, which make no read calls"
        unknown |= {"reads": mapped, "read_bytes_mean": mapped}
    else:
        note = "all read calls of the tree, pipes between its processes included"
        figures["reads"] = figure(total.syscr, "1", note)
        figures["bytes_requested"] = figure(total.rchar, "B", note)
        figures["read_bytes_mean"] = figure(float(solve("read_bytes_mean", given)), "B", note)
        hit = float(solve("observed_cache_fraction", given))
        if hit > CACHE_SHARE:
            figures["observed_cache_fraction"] = figure(hit, "1", "bytes asked for that no block device moved")
            warnings += (f"memory served {hit:.0%} of the requested bytes: a cold first epoch reads more from storage",)
    warnings += tuple(_beyond(seen))
    if seen.stalled is not None:
        whole = seen.samples[-1].seconds - seen.samples[0].seconds
        facts: Mapping[str, float] = {"io_pressure_full": min(1.0, seen.stalled / whole)}
    else:
        facts = {}
    return Reading(SOURCE, figures, unknown, warnings, facts={**facts, "processes_most": _most(seen.samples)})


def _beyond(seen: _Seen) -> Iterator[str]:
    """The warning that the control group of the job read more than its processes."""
    moved = seen.samples[-1].total.read_bytes - seen.samples[0].total.read_bytes
    if seen.group is not None and seen.group > GROUP_BEYOND * moved:
        yield (
            f"the control group read {seen.group:,} bytes, the watched processes {moved:,}: others run in it, or workers ended "
            "between two samples"
        )


def _difference(first: Counters, last: Counters) -> Counters:
    return Counters(*(after - before for before, after in zip(first, last, strict=True)))


def _most(samples: Sequence[Sample]) -> int:
    return max(one.processes for one in samples)


def data_path(path: str) -> str:
    """An absolute path without links, as the kernel names open files.

    Raises:
        IngestError: there is no such file or folder.
    """
    found = os.path.realpath(path)
    if not os.path.exists(found):
        raise IngestError(f"--path: there is no '{path}', expected a file or folder of the job's data")
    return found
