"""The tables of a plan: rows of plain values in base units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingest.formula import unit_of

if TYPE_CHECKING:
    from ingest.site.montecarlo import Effect
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
    "holdings": ("holdings", ("dataset_bytes_held", "dataset_files_held", "dataset_bytes_written_per_day",
                               "dataset_bytes_added_per_day")),
    "capacity": ("years", ("year_usable_bytes", "year_raw_bytes", "year_files", "year_bytes_written_per_day")),
    "metadata": ("jobs", ("job_file_opens", "job_file_creates", "job_checkpoint_files_held")),
    "placement": (
        "jobs",
        ("job_dataset_bytes", "ingest_bandwidth_per_job", "staged_bytes", "staging_seconds", "node_bytes_shared",
         "node_bytes_whole", "node_nvme_bytes", "cache_hit_possible"),
    ),
}  # fmt: skip
#: the requirements whose tornado every plan carries, and its bars
TORNADO = ("R-READ-01", "R-READ-03", "R-WRITE-01", "R-CAP-01")
MOST_BARS = 10
MOST_ROWS = 4
#: what a row must know to stand in a table
NEEDED = {"checkpoints": "checkpoint_bytes", "placement": "job_dataset_bytes"}


def tables_of(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """The tables that have rows."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table, (whose, columns) in TABLES.items():
        needed = NEEDED.get(table)
        rows = [row for row in plan.rows[whose] if needed is None or row.step(needed) is not None]
        if rows:
            found[table] = [row.values(columns) for row in rows]
    moved = [_bar(name, one) for name in TORNADO if name in plan.steps for one in plan.sensitivity(name)[:MOST_BARS]]
    return {**found, "sensitivity": moved} if moved else found


def _bar(name: str, one: Effect) -> dict[str, Any]:
    """One bar of a tornado."""
    shown = (*one.rows[:MOST_ROWS], "…") if len(one.rows) > MOST_ROWS else one.rows
    found = {"name": name, "quantity": one.name, "of": ", ".join(shown), "unit": unit_of(one.name)}
    return {**found, "typical": one.value, "low": one.low, "high": one.high, "at_low": one.at_low, "at_high": one.at_high}
