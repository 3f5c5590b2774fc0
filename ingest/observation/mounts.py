"""Mounts of a path, and counters beside those of processes: of network file systems and of control groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ingest.errors import IngestError

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
    """Running totals of a mount.

    Attributes:
        bytes_read: bytes that the server sent.
        bytes_requested: bytes that programs asked for with read calls; None where the mount does not count them.
        reads: read requests to the server, or of programs where the mount counts those alone.
        opens: files opened; None where the mount does not count them.
        read_seconds: time of all read requests together, waiting included; None where the mount does not count it.
        served: whether the bytes are those that the server sent; else those that programs asked for, caches included.
    """

    bytes_read: int
    bytes_requested: int | None
    reads: int
    opens: int | None
    read_seconds: float | None = None
    served: bool = True

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
    """Refuse a path whose reads the counters of processes do not show.

    Raises:
        IngestError: the file system is in memory, in user space, or on a network without counters that this reads.
    """
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
    found = _of_lustre(text)
    if "read_bytes" not in found:
        return None
    count, requested = found["read_bytes"]
    opens = found["open"][0] if "open" in found else None
    sent = [one["read_bytes"] for one in map(_of_lustre, servers) if "read_bytes" in one]
    sent = sent or ([found["osc_read"]] if "osc_read" in found else [])
    if not sent:
        return MountCounters(requested, requested, count, opens, served=False)
    return MountCounters(sum(total for _, total in sent), requested, sum(calls for calls, _ in sent), opens)


def _of_lustre(text: str) -> dict[str, tuple[int, int]]:
    """Samples and sum of each counter."""
    return {name: (int(count), int(total) if total else 0) for name, count, _, _, _, total in _LLITE.findall(text)}


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
