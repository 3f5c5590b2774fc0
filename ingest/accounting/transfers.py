"""Bytes of jobs from elsewhere than the scheduler: Darshan logs by job id, and snapshots of Lustre's `jobstats`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ingest.accounting.ledger import Ledger, key_of
from ingest.errors import IngestError, brief

#: A log of Darshan has the job id in its name: user_program_id12345-6789_….
_LOG = re.compile(r"_id(\d+)(?:-\d+)?_")
_JOB = re.compile(r"\s*-?\s*job_id:\s*\"?([^\"\s]+)")
_BYTES = re.compile(r"\s*(read|write)_bytes:.*?sum:\s*(\d+)")
_NUMBER = re.compile(r"(?:^|[^0-9])(\d{1,18})(?![0-9])")


def read_darshan(path: Path, ledger: Ledger) -> None:
    """Add the bytes of one log of Darshan to its job.

    Raises:
        IngestError: the log has no job id or is damaged.
        ModuleNotFoundError: the package darshan is not installed.
    """
    found = _LOG.search(path.name)
    if found is None:
        raise IngestError(f"{path}: no job id in the name of this Darshan log, expected …_id12345-…")
    import darshan

    try:
        report = darshan.DarshanReport(str(path), read_all=False)
        read = written = 0.0
        for module in ("POSIX", "STDIO"):
            if module in report.modules:
                report.mod_read_all_records(module, dtype="numpy")
                names = report.counters[module]["counters"]
                at = [names.index(f"{module}_BYTES_{way}") for way in ("READ", "WRITTEN")]
                sums = [sum(float(record["counters"][place]) for record in report.records[module]) for place in at]
                read, written = read + sums[0], written + sums[1]
    except (RuntimeError, OSError, ValueError, KeyError) as error:
        raise IngestError(f"{path}: a damaged Darshan log ({brief(str(error))}), expected a whole one") from None
    ledger.kinds["Darshan"] += 1
    ledger.moved(key_of(found[1]), read, written)


def is_jobstats(line: str) -> bool:
    """Whether a line begins a snapshot of `lctl get_param *.*.job_stats`."""
    return line.strip().startswith("job_stats:") or ".job_stats=" in line


def read_jobstats(lines: Iterable[str], ledger: Ledger) -> None:
    """Read snapshots of Lustre's `jobstats`, one for each target: counts grow until the job is cleared.

    The job is the number in `job_id`, as `jobid_var=SLURM_JOB_ID` writes it; ids without one belong to no job.
    """
    key, targets, target = None, dict[tuple[int, int, str], float](), 0
    for line in lines:
        if is_jobstats(line):
            target += 1
            key = None
            continue
        job = _JOB.match(line)
        if job is not None:
            number = _NUMBER.search(job[1].partition("@")[0].rpartition(".")[2])
            key = key_of(number[1]) if number else None
            continue
        moved = _BYTES.match(line)
        if moved is not None and key is not None:
            at = (target, key, moved[1])
            targets[at] = max(targets.get(at, 0.0), float(moved[2]))
    sums: dict[int, dict[str, float]] = {}
    for (_, one, way), amount in targets.items():
        found = sums.setdefault(one, {"read": 0.0, "write": 0.0})
        found[way] += amount
    for one, found in sums.items():
        ledger.moved(one, found["read"], found["write"])
