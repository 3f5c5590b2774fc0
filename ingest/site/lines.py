"""Which requirement lines there are: id, quantity, wording. Structure only; the values come from the formulas."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One requirement line.

    Attributes:
        id: stable.
        metric: the quantity, by name.
        priority: unless the jobs behind it or the file's `overlap` say otherwise.
        operation: of `Conditions`.
        says: the sentence after *shall* or *should*; `{…}` are the value and its conditions.
        column: the column whose largest entry names the job that sets the conditions; empty for none.
        capacity: whether the conditions of a rate do not apply.
    """

    id: str
    metric: str
    priority: str
    operation: str
    says: str
    column: str = ""
    capacity: bool = False


_READS = "of uncached {pattern} {io} reads from {clients} with {threads} each for {duration} at {fill} fill"
_WRITES = "of sequential {io} checkpoint writes, one file per process, from {clients} for {duration} at {fill} fill"
_SUSTAIN = "sustain at least {value} "

LINES = (
    Line("R-READ-01", "site_sustained_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (all jobs in sum, averaged over time)", "job_sustained_read_bandwidth_of_jobs"),
    Line("R-READ-02", "site_largest_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (the hungriest single run, in its first pass)", "run_read_bandwidth_of_jobs"),
    Line("R-READ-03", "site_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (all that can run at once, in its first pass)", "job_read_bandwidth_of_jobs"),
    Line("R-READ-04", "site_node_read_bandwidth", "mandatory", "read",
         "deliver at least {value} of uncached {pattern} {io} reads to each single client with {threads} for {duration}",
         "node_read_bandwidth_of_jobs"),
    Line("R-WRITE-01", "site_write_bandwidth", "target", "write",
         _SUSTAIN + _WRITES + " (all jobs in sum, at once)", "job_write_bandwidth_of_jobs"),
    Line("R-WRITE-02", "site_largest_write_bandwidth", "mandatory", "write",
         _SUSTAIN + _WRITES + " (the single run that writes fastest)", "checkpoint_write_bandwidth_of_jobs"),
    Line("R-WRITE-03", "site_sustained_write_bandwidth", "information", "write",
         _SUSTAIN + _WRITES + " (all jobs in sum, averaged over time)", "job_sustained_write_bandwidth_of_jobs"),
    Line("R-MIX-01", "site_mixed_bandwidth", "information", "read",
         "sustain reads and checkpoint writes at once, {value} together, at the conditions of R-READ-03 and {writes}",
         "job_read_bandwidth_of_jobs"),
    Line("R-MIX-02", "site_alternating_bandwidth", "information", "read",
         "sustain reads and checkpoint writes in turn, {value} being the larger, at the conditions of R-READ-03 and {writes}",
         "job_read_bandwidth_of_jobs"),
    Line("R-RESTART-01", "site_largest_restart_bandwidth", "mandatory", "read",
         _SUSTAIN + "of uncached sequential checkpoint reads from {clients}, so that a single run restarts in time",
         "restart_read_bandwidth_of_jobs"),
    Line("R-RESTART-02", "site_restart_bandwidth", "target", "read",
         _SUSTAIN + "of uncached sequential checkpoint reads from {clients}, so that all runs restart in time together",
         "job_restart_bandwidth_of_jobs"),
    Line("R-STAGE-01", "site_staging_bandwidth", "mandatory", "read",
         _SUSTAIN + "of sequential reads from {clients}, so that all staged data sets reach their nodes in time",
         "job_staging_bandwidth_of_jobs"),
    Line("R-STAGE-02", "site_node_local_bytes", "mandatory", "hold",
         "leave at least {value} on the NVMe of each node to staged and cached data", "node_local_bytes_of_jobs", True),
    Line("R-META-01", "site_file_opens", "mandatory", "open",
         "open at least {value} for reading from {clients} with {threads} each for {duration}", "job_file_opens_of_jobs"),
    Line("R-META-02", "site_file_creates", "target", "create",
         "create at least {value} from {clients} while checkpoints are written", "job_file_creates_of_jobs"),
    Line("R-META-03", "site_files", "mandatory", "hold",
         "hold at least {value} in the year that has most", capacity=True),
    Line("R-CAP-01", "site_usable_bytes", "mandatory", "hold",
         "hold at least {value} of data below a fill of {fill} in the year that needs most", capacity=True),
    Line("R-CAP-02", "site_raw_bytes", "information", "hold",
         "have about {value} of raw capacity, by the protection scheme and fill limit named here; usable capacity decides",
         capacity=True),
    Line("R-END-01", "site_media_bytes_per_day", "mandatory", "write",
         "endure {value} written to its media each day, replicas and parity included, for the years of the plan",
         capacity=True),
    Line("R-GROW-01", "site_grown_read_bandwidth", "target", "read",
         "be expandable to {value} of uncached {pattern} {io} reads by the last year of the plan", capacity=True),
)  # fmt: skip
