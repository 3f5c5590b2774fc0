"""Bytes of jobs from elsewhere than the scheduler: Darshan logs by job id, and snapshots of Lustre's `jobstats`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ingest.accounting.ledger import Ledger, digest, key_of
from ingest.corpus.native_calls import no_panic_message
from ingest.errors import IngestError

#: A log of Darshan has the job id in its name: user_program_id12345-6789_….
_LOG = re.compile(r"_id(\d+)(?:-\d+)?_")
_JOB = re.compile(r"\s*-?\s*job_id:\s*\"?([^\"\s]+)")
_BYTES = re.compile(r"\s*(read|write)_bytes:.*?sum:\s*(\d+)")
_TARGET = re.compile(r"\s*(\S+)\.job_stats=")
#: The number of a job comes first: that of `name.number`, Lustre's default, is the user's.
_NUMBER = re.compile(r"(\d{1,18})(?![0-9A-Za-z])")


def read_darshan(path: Path, ledger: Ledger) -> None:
    """Add the bytes of one log of Darshan to its job.

    Raises:
        IngestError: the log has no job id or is damaged.
        ModuleNotFoundError: the package darshan is not installed.
    """
    found = _LOG.search(path.name)
    if found is None:
        raise IngestError(f"{path.parent}: a Darshan log without a job id in its name, expected …_id12345-…")
    import darshan

    why = ""
    with no_panic_message():  # the library prints its own errors, at the end of the report too
        try:
            report = darshan.DarshanReport(str(path), read_all=False)
            read, written = (sum(counts) for counts in zip((0.0, 0.0), *_moved(report), strict=True))
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            why = type(error).__name__
    if why:
        raise IngestError(f"{path.parent}: a Darshan log of job {found[1]} is damaged ({why}), expected a whole one")
    if any(one.get("partial_flag") for one in report.modules.values()):
        ledger.notes["Darshan log that lacks records: bytes of its run are too low"] += 1
    ledger.kinds["Darshan"] += 1
    ledger.moved(key_of(found[1]), digest(path.name), read, written)


def _moved(report: Any) -> Iterator[tuple[float, float]]:
    """Bytes read and written of each file, by the modules that count calls of programs."""
    for module in ("POSIX", "STDIO"):
        if module in report.modules:
            report.mod_read_all_records(module, dtype="numpy")
            names = report.counters[module]["counters"]
            read, written = (names.index(f"{module}_BYTES_{way}") for way in ("READ", "WRITTEN"))
            for record in report.records[module]:
                yield float(record["counters"][read]), float(record["counters"][written])


def read_jobstats(lines: Iterable[str], place: str, ledger: Ledger) -> None:
    """Read snapshots of Lustre's `jobstats`: counts of a job grow, so that of those of one target the largest holds.

    The job is the number that `job_id` begins with, as `jobid_var=SLURM_JOB_ID` writes it. Snapshots whose targets have no name
    are taken for those of different targets.
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
            number = _NUMBER.match(job[1])
            key = key_of(number[1]) if number else None
            if key is None:
                ledger.notes["entry of job_stats without the number of a job: its bytes count for none"] += 1
        elif moved is not None:
            counts[moved[1]] = float(moved[2])
        named = named and target is not None
    close()
