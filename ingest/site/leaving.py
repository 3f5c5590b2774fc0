"""What a sum leaves out, so that no partial total looks whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingest.site.sheet import Row

#: names that a warning lists
MOST = 5


def left_out(jobs: Sequence[Row], data: Mapping[str, Row]) -> list[str]:
    """Warnings about jobs and data sets that a requirement should count and cannot."""
    opens = [row.name for row in jobs if row.step("job_read_bandwidth") is not None and row.step("job_file_opens") is None]
    files = [row.name for row in data.values() if row.step("data_files") is None]
    local = [row.name for row in jobs if _too_large(row)]
    found = (
        (opens, "R-META-01 leaves out {}: the samples in a file are not known; say samples_per_file or file_bytes of its data"),
        (files, "R-META-03 leaves out {}: how many files they are is not known; say files, file_bytes or samples_per_file"),
        (local, "R-STAGE-02: the NVMe of a node cannot hold what {} keep there; choose another placement or node type"),
    )
    return [line.format(_named(names)) for names, line in found if names]


def _too_large(row: Row) -> bool:
    need, have = row.step("node_local_bytes"), row.step("node_nvme_bytes")
    return need is not None and have is not None and need.value > have.value


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST:,} more" if len(names) > MOST else "")
