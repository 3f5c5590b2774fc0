"""Bytes of jobs from elsewhere than the scheduler: Darshan logs by job id, and snapshots of Lustre's `jobstats`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ingest.accounting.ledger import Ledger, digest, key_of
from ingest.errors import IngestError, brief

#: A log of Darshan has the job id in its name: user_program_id12345-6789_….
_LOG = re.compile(r"_id(\d+)(?:-\d+)?_")
_JOB = re.compile(r"\s*-?\s*job_id:\s*\"?([^\"\s]+)")
_BYTES = re.compile(r"\s*(read|write)_bytes:.*?sum:\s*(\d+)")
_TARGET = re.compile(r"\s*(\S+)\.job_stats=")
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
    ledger.moved(key_of(found[1]), digest(path.name), read, written)


def is_jobstats(line: str) -> bool:
    """Whether a line begins a snapshot of `lctl get_param *.*.job_stats`."""
    return line.strip().startswith("job_stats:") or ".job_stats=" in line


def read_jobstats(lines: Iterable[str], place: str, ledger: Ledger) -> None:
    """Read snapshots of Lustre's `jobstats`: counts of a job grow, so that of those of one target the largest holds.

    The job is the number in `job_id`, as `jobid_var=SLURM_JOB_ID` writes it; ids without one belong to no job. Snapshots whose
    targets have no name are taken for those of different targets.
    """
    key, source, unnamed, counts = None, digest(place), 0, {"read": 0.0, "write": 0.0}

    def close() -> None:
        if key is not None:
            ledger.moved(key, source, counts["read"], counts["write"])
        counts.update(read=0.0, write=0.0)

    named = False
    for line in lines:
        target, job, moved = _TARGET.match(line), _JOB.match(line), _BYTES.match(line)
        if target is not None or line.strip().startswith("job_stats:"):
            close()
            key = None
            if target is not None:
                source = digest(target[1])
            elif not named:
                unnamed += 1
                source = digest(f"{place}:{unnamed}")
            named = target is not None
        elif job is not None:
            close()
            number = _NUMBER.search(job[1].partition("@")[0].rpartition(".")[2])
            key = key_of(number[1]) if number else None
        elif moved is not None:
            counts[moved[1]] = float(moved[2])
        named = named and target is not None
    close()
