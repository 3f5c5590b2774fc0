"""Bytes that a control group read from block devices: the processes of a job that have ended included."""

from __future__ import annotations

import re
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


def group_bytes_read(pid: int, proc: Path = Path("/proc"), groups: Path = GROUPS) -> int | None:
    """Bytes that the control group of a process has read; None for the group of the whole machine, and where none counts.

    Args:
        pid: the process.
        proc: the folder of the kernel's process files.
        groups: where control groups are mounted, version 2 or, by controller, version 1.
    """
    try:
        lines = (proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = ([*line.split(":", 2), "", ""])[:3]
        if path in ("", "/") or ".." in path.split("/"):
            continue
        if controllers == "":
            found = _read(groups / path.lstrip("/") / "io.stat", r"\brbytes=(\d+)")
        elif "blkio" in controllers.split(","):
            folder = groups / "blkio" / path.lstrip("/")
            found = _read(folder / "blkio.throttle.io_service_bytes_recursive", r"\bRead (\d+)")
        else:
            continue
        if found is not None:
            return found
    return None


def _read(path: Path, pattern: str) -> int | None:
    """The sum over all devices; None where the group counts no I/O."""
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.findall(pattern, text)
    return sum(map(int, found)) if found else None
