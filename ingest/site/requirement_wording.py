"""The requirement lines: id, quantity and wording. Their values come from the formulas."""

from __future__ import annotations

from typing import NamedTuple


class RequirementTemplate(NamedTuple):
    """The id, the quantity and the wording of one requirement line.

    Attributes:
        id: stable.
        metric: the quantity, by name.
        priority: unless the jobs behind it or the file's `overlap` say otherwise.
        operation: of `Conditions`.
        says: the sentence after *shall* or *should*; `{…}` are the value and its conditions.
        column: the column whose largest entry names the job that sets the conditions; empty for none.
        clients: who takes part, a key of `CLIENTS`; empty where the conditions of a rate do not apply.
        streams: whether it is read in large blocks, whatever the samples.
        raised_by: the key of `overlap` that makes the line mandatory.
        within: the time that a job allows, by its quantity; empty where no time is behind the value.
        inspected: what shows at acceptance that it is met, where no performance test does.
    """

    id: str
    metric: str
    priority: str
    operation: str
    says: str
    column: str = ""
    clients: str = ""
    streams: bool = False
    raised_by: str = ""
    within: str = ""
    inspected: str = "the vendor's documents"


#: who takes part in a test -> the quantity that says how many: of the site, or of the job that sets the conditions
CLIENTS = {
    "site": "site_clients",
    "staging": "staging_clients",
    "writing": "writing_clients",
    "run": "nodes",
    "one": "single_node",
}
_READS = "of uncached {pattern} {io} reads from {clients} with {threads} each for {duration} at {fill} fill"
_WRITES = "of sequential {io} checkpoint writes, one file per process, from {clients} for {duration} at {fill} fill"
_SUSTAIN = "sustain at least {value} "
_RESTARTS = "of uncached sequential checkpoint reads from {clients}, so that "

LINES = (
    RequirementTemplate("R-READ-01", "site_sustained_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (aggregate of all jobs, averaged over time{whose})", "job_sustained_read_bandwidth_of_jobs",
         "site"),
    RequirementTemplate("R-READ-02", "site_largest_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (the single run with the highest read rate, first epoch, cold cache)",
         "run_read_bandwidth_of_jobs", "run"),
    RequirementTemplate("R-READ-03", "site_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (aggregate of all jobs that can run concurrently, first epoch, cold cache{whose})",
         "job_read_bandwidth_of_jobs", "site"),
    RequirementTemplate("R-READ-04", "site_node_read_bandwidth", "mandatory", "read",
         "deliver at least {value} of uncached {pattern} {io} reads to any one client that reads alone, "
         "with {threads} for {duration}",
         "node_read_bandwidth_of_jobs", "one"),
    RequirementTemplate("R-WRITE-01", "site_write_bandwidth", "target", "write",
         _SUSTAIN + _WRITES + " (aggregate of all jobs that write concurrently)", "job_write_bandwidth_of_jobs", "writing",
         raised_by="checkpoints"),
    RequirementTemplate("R-WRITE-02", "site_largest_write_bandwidth", "mandatory", "write",
         _SUSTAIN + _WRITES + " (the single run with the highest write rate)", "checkpoint_write_bandwidth_of_jobs", "run"),
    RequirementTemplate("R-WRITE-03", "site_sustained_write_bandwidth", "mandatory", "write",
         _SUSTAIN + _WRITES + " (aggregate of all jobs, averaged over time)", "job_sustained_write_bandwidth_of_jobs",
         "writing"),
    RequirementTemplate("R-MIX-01", "site_mixed_bandwidth", "information", "read and write",
         "sustain concurrent reads and checkpoint writes, {value} in total, under the conditions of R-READ-03 and {writes}",
         "job_read_bandwidth_of_jobs", "site", raised_by="reads_and_checkpoints"),
    RequirementTemplate("R-MIX-02", "site_alternating_bandwidth", "information", "read or write",
         "sustain reads and checkpoint writes alternately, at the larger of the two rates, {value}, under the conditions of "
         "R-READ-03 and {writes}", "job_read_bandwidth_of_jobs", "site"),
    RequirementTemplate("R-RESTART-01", "site_largest_restart_bandwidth", "mandatory", "read",
         _SUSTAIN + _RESTARTS + "a single run has read its checkpoint {within}",
         "restart_read_bandwidth_of_jobs", "run", streams=True, within="restart_seconds"),
    RequirementTemplate("R-RESTART-02", "site_restart_bandwidth", "target", "read",
         _SUSTAIN + _RESTARTS + "all runs finish restoring concurrently, {within}",
         "job_restart_bandwidth_of_jobs", "writing", streams=True, within="restart_seconds"),
    RequirementTemplate("R-STAGE-01", "site_staging_bandwidth", "mandatory", "read",
         _SUSTAIN + "of sequential reads from {clients}, so that all staged data sets are on their nodes {within}",
         "job_staging_bandwidth_of_jobs", "staging", streams=True, within="staging_seconds_allowed"),
    RequirementTemplate("R-STAGE-02", "site_node_local_bytes", "mandatory", "hold",
         "leave at least {value} on the NVMe of each node for staged and cached data", "node_local_bytes_of_jobs",
         inspected="the free space on the NVMe that the operating system of a node reports"),
    RequirementTemplate("R-META-01", "site_file_opens", "mandatory", "open",
         "open at least {value} for reading from {clients} with {threads} each for {duration}", "job_file_opens_of_jobs",
         "site"),
    RequirementTemplate("R-META-02", "site_file_creates", "target", "create",
         "create at least {value} from {clients} while checkpoints are written", "job_file_creates_of_jobs", "writing"),
    RequirementTemplate("R-META-03", "site_files", "mandatory", "hold", "hold at least {value} in the peak year",
         inspected="the largest number of files that the file system itself reports"),
    RequirementTemplate("R-CAP-01", "site_usable_bytes", "mandatory", "hold",
         "hold at least {value} of data while no more than {fill} of its usable capacity is in use, in the peak year",
         inspected="the usable capacity that the file system itself reports, times the fill limit of the requirement"),
    RequirementTemplate("R-CAP-02", "site_raw_bytes", "information", "hold",
         "have about {value} of raw capacity, with the protection and fill limit of its derivation; R-CAP-01 is binding"),
    RequirementTemplate("R-END-01", "site_media_bytes_per_day", "mandatory", "write",
         "endure {value} written to its media on each day of the warranty, replicas and parity included: checkpoints, the "
         "first load of the data sets, their growth and new versions, in the year with the most writes",
         inspected="the rated endurance of all media together (drive writes per day × capacity) over the warranty"),
    RequirementTemplate("R-GROW-01", "site_grown_read_bandwidth", "target", "read",
         "be expandable to {value} " + _READS + " (aggregate of all jobs that can run concurrently, in the last year of "
         "the plan{whose})", "job_read_bandwidth_of_jobs", "site"),
)  # fmt: skip
