"""A running job under observation: the process tree, the mount of its data with its counters, and the figures that follow."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.observation.observation import Figure, Reading, Window, figure_of
from ingest.observation.processes import ProcessTree, Sample, watch
from ingest.observation.read_totals import told_of_cut
from ingest.observation.steady_window import LONG_SHARE, Steady, parts_cut, steady_part

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
#: File systems whose reads a block device of this machine serves: `/proc/PID/io` counts them.
BLOCK_BACKED = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "overlay", "jfs", "vfat", "exfat", "iso9660")
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs", "hugetlbfs")
#: where control groups are mounted
GROUPS = Path("/sys/fs/cgroup")
#: counters of a line of `llite.*.stats`: name, samples, unit, and for sizes least, most and sum
_LLITE = re.compile(r"^(\w+)\s+(\d+)\s+samples\s+\[(\w+)\](?:\s+(\d+)\s+(\d+)\s+(\d+))?", re.MULTILINE)


class Mount(NamedTuple):
    """A mounted file system: where it is mounted, its type and its source."""

    point: str
    kind: str
    source: str


class MountCounters(NamedTuple):
    """Running totals of a mount; None for what it does not count."""

    bytes_read: int  # bytes that the server sent
    bytes_requested: int | None  # bytes that programs asked for with read calls
    reads: int  # read requests to the server, or of programs where the mount counts those alone
    opens: int | None  # files opened
    read_seconds: float | None = None  # time of all read requests together, waiting included
    served: bool = True  # whether the bytes are those that the server sent; else those asked for, caches included

    def precedes(self, after: MountCounters) -> bool:
        """Whether no counter is lower later on: a mount that was made anew starts from 0."""
        counted = zip(self[:5], after[:5], strict=True)
        return self.served == after.served and all((mine or 0) <= (its or 0) for mine, its in counted)


def mounts(proc: Path) -> list[Mount]:
    """The mounts that this machine reports, from `/proc/self/mountinfo`."""
    found = []
    for line in (proc / "self" / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if len(fields) >= 5 and len(kinds) >= 2:
            found.append(Mount(_unescaped(fields[4]), kinds[0], _unescaped(kinds[1])))
    return found


def _unescaped(text: str) -> str:
    """A field of `mountinfo`, where blanks are octal numbers.

    >>> _unescaped("/mnt/my" + chr(92) + "040data")
    '/mnt/my data'
    """
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def mount_of(path: str, known: list[Mount]) -> Mount | None:
    """The mount that holds a path: the longest mount point above it, the last one mounted where there are several.

    >>> mount_of("/database", [Mount("/", "ext4", "/dev/vda"), Mount("/data", "nfs4", "server:/x")]).kind
    'ext4'
    """
    above = [one for one in known if one.point == "/" or path == one.point or path.startswith(one.point.rstrip("/") + "/")]
    return max(reversed(above), key=lambda one: len(one.point), default=None)


def refuse_unseen(mount: Mount, path: str) -> None:
    """Refuse a path on memory, in user space, or on a network without counters: those of processes do not show its reads."""
    why = "/proc/PID/io does not count its reads, expected a block device, NFS, Lustre, or a Darshan log of the job"
    if mount.kind in IN_MEMORY:
        why = "these files are in memory, expected a path on storage"
    elif mount.kind.startswith("fuse"):
        why = "/proc/PID/io does not count what a user-space file system moves, expected a Darshan log of the job"
    raise IngestError(f"--path: {path} is on {mount.kind} ({mount.point}): {why}")


def nfs_counters(text: str, point: str) -> MountCounters | None:
    """Counters of an NFS mount, from the text of `/proc/self/mountstats`; None where it does not list the mount.

    `bytes:` has eight numbers: read and written by normal calls, by direct calls, from and to the server, and in pages.
    `READ:` begins with operations, transmissions and timeouts.
    """
    # The last mount at one point hides those below it.
    for block in reversed(re.split(r"^(?=device )", text, flags=re.MULTILINE)):
        head = re.match(r"device .+ mounted on (.+) with fstype nfs", block)
        if head is None or _unescaped(head[1]) != point:
            continue
        sizes = re.search(r"^\s*bytes:\s+(\d+(?:\s\d+){7,})\s*$", block, re.MULTILINE)
        # Operations, transmissions, timeouts, bytes sent and received, milliseconds in the queue, of the reply, and in all.
        calls = re.search(r"^\s*READ:\s+(\d+(?: \d+){7,})", block, re.MULTILINE)
        opened = [int(one) for one in re.findall(r"^\s*OPEN(?:_NOATTR)?:\s+(\d+)", block, re.MULTILINE)]
        numbers = [int(one) for one in sizes[1].split()] if sizes else []
        if not numbers or calls is None:
            return None
        read = [int(one) for one in calls[1].split()]
        return MountCounters(numbers[4], numbers[0] + numbers[2], read[0], sum(opened) if opened else None, read[7] / 1000)
    return None


def lustre_counters(text: str, servers: Sequence[str] = ()) -> MountCounters | None:
    """Counters of a Lustre client, from the text of `llite.*.stats`; None where it counts no reads.

    Those are what programs asked for; `servers` are texts of `osc.*.stats`, one for each target: what the servers sent.

    >>> lustre_counters("read_bytes 500 samples [bytes] 4096 1048576 209715200",
    ...                 ["read_bytes 100 samples [bytes] 4096 1048576 104857600"])[:3]
    (104857600, 209715200, 100)
    """
    # Samples and sum of each counter, of the client and then of the servers.
    found, *sides = (
        {name: (int(count), int(total or 0)) for name, count, _, _, _, total in _LLITE.findall(one)} for one in (text, *servers)
    )
    if "read_bytes" not in found:
        return None
    count, requested = found["read_bytes"]
    opens = found["open"][0] if "open" in found else None
    sent = [one["read_bytes"] for one in sides if "read_bytes" in one]
    sent = sent or ([found["osc_read"]] if "osc_read" in found else [])
    if not sent:
        return MountCounters(requested, requested, count, opens, served=False)
    return MountCounters(sum(total for _, total in sent), requested, sum(calls for calls, _ in sent), opens)


def mount_counters(mount: Mount, proc: Path) -> MountCounters | None:
    """The counters of a network mount; None for a file system without counters of its own that this user may read."""
    with suppress(OSError):
        if mount.kind.startswith("nfs"):
            return nfs_counters((proc / "self" / "mountstats").read_text(encoding="utf-8", errors="replace"), mount.point)
        if mount.kind == "lustre":
            name = mount.source.rpartition("/")[2]
            for place in sorted((proc / "fs" / "lustre" / "llite").glob(f"{name}-*/stats")):
                client = place.parent.name.rpartition("-")[2]
                targets = sorted((proc / "fs" / "lustre" / "osc").glob(f"{name}-OST*-osc-{client}/stats"))
                text, *servers = (one.read_text(encoding="utf-8", errors="replace") for one in (place, *targets))
                return lustre_counters(text, servers)
    return None


def group_bytes_read(pid: int, proc: Path = Path("/proc"), groups: Path = GROUPS) -> int | None:
    """Bytes that the control group of a process has read; None for the group of the whole machine, and where none counts.

    Groups are those of version 2 or, by controller, of version 1.
    """
    try:
        lines = (proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = ([*line.split(":", 2), "", ""])[:3]
        if path in ("", "/") or ".." in path.split("/"):
            continue
        inside = path.lstrip("/")
        if controllers == "":
            place, pattern = groups / inside / "io.stat", r"\brbytes=(\d+)"
        elif "blkio" in controllers.split(","):
            place, pattern = groups / "blkio" / inside / "blkio.throttle.io_service_bytes_recursive", r"\bRead (\d+)"
        else:
            continue
        with suppress(OSError):
            # The sum over all devices; a group that counts no I/O has none.
            if found := re.findall(pattern, place.read_text(encoding="ascii", errors="replace")):
                return sum(map(int, found))
    return None


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

    The path of its data is absolute and without links, as the kernel names open files; None takes all reads. Raises
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
    # Counters of the mount, seconds in which every task of this machine waited for I/O, bytes of the control group.
    def now(pid: int) -> tuple[MountCounters | None, float | None, int | None]:
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
    """The steady part of the reads of a tree; refuses one without reads, with reads from memory, or without one rate."""
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
    times, totals = [one.seconds for one in seen.samples], [float(one.total.read_bytes) for one in seen.samples]
    within = total.read_bytes / (totals[-1] - totals[0])
    warnings += tuple(told_of_cut("live job", "read", "B", window.seconds, within, parts_cut(times, totals, steady)))
    given: dict[str, float] = {"bytes_read": total.read_bytes, "bytes_requested": total.rchar, "reads": total.syscr,
                               "window_seconds": window.seconds}  # fmt: skip
    share, reason = None, "no --path tells data from imports and checkpoints; direction and the steady window do"
    if path is not None and readers.read_bytes > 0:
        seen_open = {"explained_bytes": readers.read_bytes, "bytes_read": total.read_bytes}
        # The window covers its own part of what was read, and of that the processes that read the data.
        share = min(1.0, float(solve("coverage", seen_open))) * min(1.0, within)
        given["coverage"] = share
    else:
        unknown["coverage"] = reason if path is None else NO_COVERAGE
    calls = "all read calls of the tree, pipes between its processes included"
    notes = {"bytes_read": "moved by block devices", "read_bandwidth": "", "window_seconds": ""}
    notes |= {} if share is None else {"coverage": "processes that had files of --path open, over the whole tree"}
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
