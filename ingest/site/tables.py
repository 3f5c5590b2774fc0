"""The tables of a plan: rows of plain values in base units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.site.plans import Plan

#: table -> (whose rows, columns)
TABLES = {
    "jobs": (
        "jobs",
        ("nodes", "gpus", "concurrent_runs", "share_of_time", "samples_per_second_per_gpu", "sample_bytes",
         "run_read_bandwidth", "job_read_bandwidth", "job_sustained_read_bandwidth", "node_read_bandwidth",
         "training_samples", "run_seconds"),
    ),
    "clusters": ("clusters", ("cluster_nodes", "cluster_allocation", "cluster_clients", "cluster_read_bandwidth")),
    "checkpoints": (
        "jobs",
        ("checkpoint_bytes", "checkpoint_files", "job_mean_time_to_interrupt", "checkpoint_interval",
         "checkpoint_dump_seconds", "checkpoint_stall_fraction", "checkpoint_write_bandwidth", "job_write_bandwidth",
         "job_sustained_write_bandwidth", "restart_read_bandwidth", "checkpoints_retained", "job_checkpoint_bytes_held"),
    ),
    "datasets": ("datasets", ("data_bytes", "data_files", "data_copies", "versions_held")),
    "capacity": ("years", ("year_usable_bytes", "raw_bytes_for", "year_files", "year_bytes_written_per_day")),
    "metadata": ("jobs", ("job_file_opens", "job_file_creates", "job_checkpoint_files_held")),
    "placement": (
        "jobs",
        ("job_dataset_bytes", "run_read_bandwidth", "staged_bytes", "staging_seconds", "node_bytes_shared",
         "node_bytes_whole", "node_nvme_bytes", "cache_hit_possible"),
    ),
}  # fmt: skip
#: what a row must know to stand in a table
NEEDED = {"checkpoints": "checkpoint_bytes", "placement": "job_dataset_bytes"}


def tables_of(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """The tables that have rows."""
    found = {}
    for table, (whose, columns) in TABLES.items():
        needed = NEEDED.get(table)
        rows = [row for row in plan.rows[whose] if needed is None or row.step(needed) is not None]
        if rows:
            found[table] = [row.values(columns) for row in rows]
    return found
