"""The requirement lines: id, quantity and wording; and the value of each with the quantities behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ingest.engine.derivation_graph import nearest_below
from ingest.engine.registry import Step


class Floor(NamedTuple):
    """What the guidance holds a line up to."""

    workload: str  # the quantity that the workload needs
    guidance: str  # the quantity of the guidance
    column: str = ""  # for a single run, the column of the guidance for each run; its largest entry names the run
    with_tiers: str = ""  # what the workload needs where states or caches lie below GPU memory


class Beside(NamedTuple):
    """A second column of a line, where it has the largest entry."""

    column: str  # its name
    within: str  # the time that its jobs allow, by its quantity; the load lasts as long


class RequirementTemplate(NamedTuple):
    """The id, the quantity and the wording of one requirement line."""

    id: str  # stable
    metric: str  # the quantity, by name
    priority: str  # unless the jobs behind it say otherwise
    operation: str  # of `Conditions`
    says: str  # the sentence after *shall* or *should*; `{…}` are the value and its conditions
    column: str = ""  # the column whose largest entry names the job that sets the conditions; empty for none
    clients: str = ""  # who takes part, a key of `CLIENTS`; empty where the conditions of a rate do not apply
    streams: bool = False  # whether it is read in large blocks, whatever the samples
    within: str = ""  # the time that a job allows, by its quantity; empty where no time is behind the value
    phase: str = ""  # how long the load of a job lasts, by its quantity; empty for a load without an end
    floor: Floor | None = None  # what the guidance holds the line up to; None where the workload alone counts
    at_any_size: bool = False  # whether it stays a requirement below the reporting threshold
    inspected: str = "the vendor's documents"  # what shows at acceptance that it is met, where no performance test does
    beside: Beside | None = None  # a second column, whose largest entry may name the job instead; None for none


class Rationale(NamedTuple):
    """Why a line is required: its theme, a key of `THEMES`, and one sentence for the Vendor."""

    theme: str
    sentence: str


#: the sentence of a line whose value the guidance decides
GUIDED = (
    "The reference architecture of the GPU vendor gives this rate for a cluster of this size, or for the largest that it"
    " lists; later uses may need it."
)
#: the sentence of a total of several kinds
MOVED_TOGETHER = "{kinds} are {moved} at the same time; below this rate, what runs concurrently waits for them."
#: the kind of load of a column, by how its name begins; any other holds the load that its line is named for
COLUMN_KINDS = {
    **dict.fromkeys(("job_offload_read", "job_offload_mean", "job_offload_write"), "model states"),
    "nvme_t": "model states",
    "kv_": "key-value caches",
    "local_kv_": "key-value caches",
}
#: the column of writes that end a load of reads and writes, and the operation of such a load
SAVING, MIXED = "job_write_bandwidth_of_jobs", "read and write"
#: what a total consists of, by a word in the name of its column
HELD = {
    "dataset_bytes_held": "data sets and their versions",
    "dataset_files_held": "the data sets",
    "dataset_bytes_added": "the first load of the data sets and their growth",
    "dataset_bytes_written": "new versions of the data sets",
    "landing": "data that arrive and wait",
    "landed": "data that arrive",
    "scratch": "intermediate files of preparation",
    "checkpoint": "checkpoints",
    "offload": "model states off the GPUs",
    "kv_": "key-value caches",
    **dict.fromkeys(("weights_of_runs", "job_versions"), "versions of weights"),
    **dict.fromkeys(("traces_of_runs", "job_traces"), "rollout traces"),
    "indexed_bytes": "vector indexes",
    "index_bytes_per_day": "rebuilt indexes",
    "served_weights": "weights of served models",
    "start_bytes": "software environments",
    "evaluation_bytes": "data of evaluations",
    "export_bytes": "exported models",
}
#: what loads consist of, likewise
LOADED = {
    "dataset_load": "first load of the data sets",
    "dataset_refresh": "new versions of the data sets",
    "export": "exported models",
}
#: why each line is required, without figures of the buyer's own
RATIONALES = {
    "R-READ-01": Rationale("reading", "Training jobs read their data sets epoch after epoch; this load lasts all day."),
    "R-READ-02": Rationale("reading", "The most demanding run must not wait for data, even if no other job reads."),
    "R-READ-03": Rationale("reading", "All jobs that fit the nodes read concurrently; below this rate, GPUs wait for data."),
    "R-READ-04": Rationale("reading", "The nodes of a run advance in step, so that each single node needs its full rate."),
    "R-READ-05": Rationale("reading", "In the first epoch nothing is cached, and every byte comes from the system."),
    "R-READ-06": Rationale("reading", "Evidence disagrees about these jobs: the higher rate is welcome, not required."),
    "R-WRITE-01": Rationale("checkpoints", "Checkpoints of several runs coincide, and all must be on storage before the next "
                            "ones start."),
    "R-WRITE-02": Rationale("checkpoints", "The work of the largest run since its last checkpoint is lost in a failure until "
                            "the new one is on storage."),
    "R-WRITE-03": Rationale("checkpoints", "The average over time describes the load of links and media."),
    "R-MIX-01": Rationale("checkpoints", "Reads go on during {writes}; neither load may starve the other."),
    "R-RESTART-01": Rationale("checkpoints", "After a failure, all GPUs of the run wait until its checkpoint has been read."),
    "R-RESTART-02": Rationale("checkpoints", "After an outage of the site, all runs restore concurrently, and all GPUs wait."),
    "R-LOAD-01": Rationale("loading", "Data are loaded and renewed while the system is in use."),
    "R-LOAD-02": Rationale("loading", "Existing data move to the new system before the old one is switched off."),
    "R-LAND-01": Rationale("loading", "What an instrument delivers and nobody takes is lost."),
    "R-LAND-02": Rationale("loading", "Data go on arriving while the way to their data set is closed."),
    "R-LAND-03": Rationale("loading", "Landed data make room for what arrives next."),
    "R-PREP-01": Rationale("loading", "Data sets are made from raw data on the same system, before they are needed."),
    "R-PREP-02": Rationale("loading", "Preparation writes its results while the system is in use."),
    "R-START-01": Rationale("loading", "All nodes of a job read its {started}, and GPUs wait."),
    "R-START-02": Rationale("loading", "A software environment is thousands of small files, which all nodes of a job open at "
                            "its start."),
    "R-STAGE-01": Rationale("loading", "Runs that train from local NVMe start when their data set has arrived there."),
    "R-STAGE-02": Rationale("loading", "What stays on the nodes needs room there."),
    "R-OFFLOAD-01": Rationale("loading", "Model states that do not fit the memory of the nodes are read in each step, and GPUs "
                              "wait for them."),
    "R-OFFLOAD-02": Rationale("loading", "The optimizer writes the states that do not fit the memory of the nodes in each "
                              "step, while it reads them."),
    "R-OFFLOAD-03": Rationale("loading", "The nodes read {kinds} from their own NVMe; shared storage serves none of them."),
    "R-OFFLOAD-04": Rationale("loading", "The nodes write {kinds} to their own NVMe; shared storage takes none of them."),
    "R-OFFLOAD-05": Rationale("media", "Drives in the nodes wear with each write."),
    "R-KV-01": Rationale("serving", "Users wait for the first token of an answer while the context of their session is read."),
    "R-KV-02": Rationale("serving", "The cache of a turn must be written before the next turn of its user reads it."),
    "R-KV-03": Rationale("capacity", "A session whose cache is lost has to be computed again."),
    "R-KV-04": Rationale("serving", "Below this rate a cache that is read costs more time than one that is computed again."),
    "R-SERVE-01": Rationale("serving", "A served model answers nobody before its weights have been read: at its start, after "
                            "an outage and when replicas are added."),
    "R-SYNC-01": Rationale("loading", "Rollout hosts wait for new weights until the trainer has written them."),
    "R-SYNC-02": Rationale("loading", "All rollout hosts read the same new files at the same moment; until then they generate "
                           "with old weights, or wait."),
    "R-SYNC-03": Rationale("loading", "After an outage all rollout hosts read the anchor and what was published since."),
    "R-TRACE-01": Rationale("loading", "Rollouts are written while they are generated; what is lost cannot be repeated."),
    "R-VEC-01": Rationale("serving", "A query expands one node after the other, and its user waits for each read."),
    "R-VEC-02": Rationale("serving", "A copy of an index answers no query before it has read what it holds in memory."),
    "R-VEC-03": Rationale("serving", "Rebuilds and compaction write the whole index while queries read the one before."),
    "R-VEC-04": Rationale("capacity", "An index that is lost has to be built again from its source."),
    "R-META-01": Rationale("metadata", "Data loaders open files while they train, and a slow open delays a whole step."),
    "R-META-02": Rationale("metadata", "All ranks of a run create their checkpoint files at the same moment."),
    "R-META-03": Rationale("metadata", "All files of {held} must fit the metadata of the file system."),
    "R-CAP-01": Rationale("capacity", "In the peak year {held} must fit at a time."),
    "R-CAP-02": Rationale("capacity", "Raw capacity is for orientation: the protection scheme is the choice of the Vendor."),
    "R-CAP-03": Rationale("capacity", "File systems slow down when they are full, so that part of the capacity stays free."),
    "R-ARC-01": Rationale("capacity", "Data that no job reads are kept on a tier without performance terms."),
    "R-ARC-02": Rationale("loading", "Data sets on the archive tier are written while the system is in use."),
    "R-ARC-03": Rationale("loading", "Data sets for training are made from archived ones."),
    "R-END-01": Rationale("media", "Flash media wear with each write; they must last for the whole period."),
    "R-GROW-01": Rationale("capacity", "Models and data sets grow during the period, and the system should grow with them."),
    "R-GUIDE-01": Rationale("guidance", GUIDED),
    "R-GUIDE-02": Rationale("guidance", GUIDED),
    "R-GUIDE-03": Rationale("guidance", GUIDED),
    "R-GROW-02": Rationale("checkpoints", "Models grow during the period, and their checkpoints with them."),
    "R-GROW-03": Rationale("checkpoints", "Models grow during the period, and what their runs restore with them."),
}  # fmt: skip


class Clients(NamedTuple):
    """Who takes part in a line: of the job that sets the conditions, or of the site where no job or workload has the load."""

    how_many: str  # nodes
    limit: str  # what they draw, above which no line asks for anything
    #: the nodes of a cluster that move data; all that run jobs where jobs and workloads cause the load
    of_cluster: str = "cluster_clients"


CLIENTS = {
    "site": Clients("site_clients", "site_drawable_bandwidth"),
    "moving": Clients("moving_clients", "site_moving_drawable_bandwidth", of_cluster="cluster_moving_clients"),
    "loading": Clients("loading_clients", "site_loading_drawable_bandwidth", of_cluster="cluster_loading_clients"),
    "job": Clients("nodes_at_once", "job_drawable_bandwidth"),
    "run": Clients("nodes", "run_drawable_bandwidth"),
    "one": Clients("single_node", "node_drawable_bandwidth"),
}
_READS = "of uncached {reads} from {clients} {depth} for {duration} at {fill} fill"
_WRITES = "of {saves} from {clients} for {duration} at {fill} fill"
_SUSTAIN = "sustain at least {value} "
_PULLS = "of sequential {io} reads of the same new files, by each of {clients} {depth} so that "
_RESTARTS = "of uncached sequential {io} checkpoint reads ({readers}) from {clients} {depth} so that "

LINES = (
    RequirementTemplate("R-READ-01", "site_sustained_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (aggregate of {who}, averaged over time{parts})", "job_sustained_read_bandwidth_of_jobs",
         "site"),
    RequirementTemplate("R-READ-02", "site_largest_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (the single run with the highest read rate{filling})",
         "run_read_bandwidth_of_jobs", "run", phase="read_phase_seconds",
         floor=Floor("workload_largest_read_bandwidth", "largest_read_floor", "run_read_floor_of_jobs")),
    RequirementTemplate("R-READ-03", "site_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " (aggregate of {who} that can run concurrently{parts}{filling})",
         "job_read_bandwidth_of_jobs", "site", phase="read_phase_seconds",
         floor=Floor("workload_read_bandwidth", "site_read_floor"), at_any_size=True),
    RequirementTemplate("R-READ-04", "site_node_read_bandwidth", "mandatory", "read",
         "deliver at least {value} of uncached {reads} to any one client that reads alone, {depth} for {duration}{filling}",
         "node_read_bandwidth_of_jobs", "one", phase="read_phase_seconds",
         floor=Floor("workload_node_read_bandwidth", "largest_node_floor")),
    RequirementTemplate("R-READ-05", "site_cold_read_bandwidth", "target", "read",
         _SUSTAIN + _READS + " (aggregate of all jobs that can run concurrently, first epoch, nothing cached)",
         "job_cold_read_bandwidth_of_jobs", "site", phase="cold_phase_seconds"),
    RequirementTemplate("R-READ-06", "site_suggested_read_bandwidth", "target", "read",
         _SUSTAIN + _READS + " (aggregate of all jobs that can run concurrently, at the highest rate of any evidence: "
         "{disputed})", "job_suggested_read_bandwidth_of_jobs", "site", phase="read_phase_seconds"),
    RequirementTemplate("R-WRITE-01", "site_write_bandwidth", "mandatory", "write",
         _SUSTAIN + _WRITES + " ({overlap}{parts})", "job_write_bandwidth_of_jobs", "site", phase="checkpoint_dump_seconds",
         floor=Floor("workload_write_bandwidth", "site_write_floor", with_tiers="workload_writes_with_tiers"),
         at_any_size=True),
    RequirementTemplate("R-WRITE-02", "site_largest_write_bandwidth", "mandatory", "write",
         _SUSTAIN + _WRITES + " (the single run with the highest write rate)", "run_write_bandwidth_of_jobs", "run",
         phase="checkpoint_dump_seconds",
         floor=Floor("workload_largest_write_bandwidth", "largest_write_floor", "run_write_floor_of_jobs")),
    RequirementTemplate("R-WRITE-03", "site_sustained_write_bandwidth", "information", "write",
         _SUSTAIN + _WRITES + " (aggregate of all jobs, averaged over time)", "job_sustained_write_bandwidth_of_jobs",
         "site"),
    RequirementTemplate("R-MIX-01", "site_mixed_bandwidth", "mandatory", "read and write",
         "sustain concurrent reads and {writes}, {value} in total, of which {written} are {written_kind} and the "
         "rest reads ({mixed}), from {clients} {depth} for {duration} at {fill} fill",
         "job_read_bandwidth_of_jobs", "site", phase="checkpoint_dump_seconds"),
    RequirementTemplate("R-RESTART-01", "site_largest_restart_bandwidth", "mandatory", "read",
         _SUSTAIN + _RESTARTS + "a single run has read its checkpoint {within}",
         "run_restart_bandwidth_of_jobs", "run", streams=True, within="restart_seconds",
         phase="restart_seconds",
         floor=Floor("workload_largest_restart_bandwidth", "largest_restart_floor", "run_restart_floor_of_jobs")),
    RequirementTemplate("R-RESTART-02", "site_restart_bandwidth", "mandatory", "read",
         _SUSTAIN + _RESTARTS + "all runs finish restoring concurrently, {within} after an outage",
         "job_restart_bandwidth_of_jobs", "site", streams=True, within="outage_restart_seconds",
         phase="outage_restart_seconds", floor=Floor("workload_restart_bandwidth", "site_read_floor"), at_any_size=True),
    RequirementTemplate("R-LOAD-01", "site_load_bandwidth", "mandatory", "write",
         _SUSTAIN + "of sequential {io} writes from {clients} for {duration} at {fill} fill ({loaded})",
         "dataset_load_bandwidth_of_datasets", "loading"),
    RequirementTemplate("R-LOAD-02", "site_migration_bandwidth", "mandatory", "write",
         _SUSTAIN + "of sequential {io} writes from {clients} for {duration} at {fill} fill, so that {migrated}; the Vendor "
         "states how the data are moved and how their integrity is verified", "", "moving"),
    RequirementTemplate("R-LAND-01", "site_landing_bandwidth", "mandatory", "write",
         _SUSTAIN + "of sequential {io} writes from {clients} for {duration} at {fill} fill (data that arrive, and what drains "
         "into their data sets)", "dataset_landing_bandwidth_of_datasets", "moving"),
    RequirementTemplate("R-LAND-02", "site_landing_bytes", "mandatory", "hold",
         "hold at least {value} of data that have arrived and wait, which R-CAP-01 includes, without data reduction",
         "dataset_landing_bytes_of_datasets", inspected="the usable capacity that the file system itself reports for them"),
    RequirementTemplate("R-LAND-03", "site_drain_bandwidth", "mandatory", "read",
         _SUSTAIN + "of uncached sequential {io} reads from {clients} {depth} so that data that waited are in their data sets "
         "{within}", "dataset_drain_bandwidth_of_datasets", "moving", streams=True, within="landing_drain_seconds"),
    RequirementTemplate("R-PREP-01", "site_preparation_bandwidth", "mandatory", "read",
         _SUSTAIN + "of uncached sequential {io} reads from {clients} {depth} so that data sets are made from their origins "
         "{within}", "dataset_preparation_bandwidth_of_datasets", "moving", streams=True, within="preparation_seconds"),
    RequirementTemplate("R-PREP-02", "site_preparation_write_bandwidth", "mandatory", "write",
         _SUSTAIN + "of sequential {io} writes from {clients} for {duration} at {fill} fill, so that data sets are made from "
         "their origins {within}", "dataset_preparation_write_bandwidth_of_datasets", "moving", within="preparation_seconds"),
    RequirementTemplate("R-START-01", "site_start_bandwidth", "mandatory", "read",
         _SUSTAIN + "of uncached sequential {io} reads from {clients} {depth} so that all runs of a job {starting} "
         "{within}", "job_start_bandwidth_of_jobs", "job", streams=True, within="start_seconds", phase="start_seconds",
         beside=Beside("job_evaluation_bandwidth_of_jobs", "evaluation_seconds")),
    RequirementTemplate("R-START-02", "site_start_opens", "mandatory", "open",
         "open at least {value} for reading from {clients} with {threads} each, so that all runs of a job start {within}",
         "job_start_opens_of_jobs", "job", within="start_seconds", phase="start_seconds"),
    RequirementTemplate("R-STAGE-01", "site_staging_bandwidth", "mandatory", "read",
         _SUSTAIN + "of uncached sequential {io} reads from {clients} {depth} so that all staged data sets are on their nodes "
         "{within}", "job_staging_bandwidth_of_jobs", "site", streams=True, within="staging_seconds_allowed",
         phase="staging_seconds_allowed"),
    RequirementTemplate("R-STAGE-02", "site_node_local_bytes", "information", "hold",
         "take at least {value} of the NVMe of each node for {kept}",
         "node_kept_bytes_of_jobs",
         inspected="the free space on the NVMe that the operating system of a node reports"),
    RequirementTemplate("R-OFFLOAD-01", "site_offload_read_bandwidth", "mandatory", "read",
         "deliver at least {value} of uncached {reads} to each of {clients} that read concurrently, {depth} for {duration} at "
         "{fill} fill (model states of training jobs)", "storage_tier_read_bandwidth_per_node_of_jobs", "job", streams=True,
         phase="update_seconds_allowed"),
    RequirementTemplate("R-OFFLOAD-02", "site_offload_write_bandwidth", "mandatory", "write",
         "take at least {value} of sequential {io} writes, one file per process, from each of {clients} that write "
         "concurrently, for {duration} at {fill} fill (model states of training jobs)",
         "storage_tier_write_bandwidth_per_node_of_jobs", "job", phase="update_seconds_allowed"),
    RequirementTemplate("R-OFFLOAD-03", "site_nvme_read_bandwidth", "information", "read",
         "leave at least {value} of reads to the NVMe of each node ({kinds})",
         "nvme_tier_read_bandwidth_per_node_of_jobs"),
    RequirementTemplate("R-OFFLOAD-04", "site_nvme_write_bandwidth", "information", "write",
         "leave at least {value} of writes to the NVMe of each node ({kinds})",
         "nvme_tier_write_bandwidth_per_node_of_jobs"),
    RequirementTemplate("R-OFFLOAD-05", "site_nvme_bytes_per_day", "information", "write",
         "leave {value} of writes on each day to the NVMe of each node ({kinds}), which its drives have to "
         "endure{node_writes}", "nvme_target_bytes_per_day_of_jobs",
         inspected="the rated endurance of the drives in a node (drive writes per day × capacity)"),
    RequirementTemplate("R-KV-01", "site_kv_read_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + ", so that the turns of users who ask independently read their context within {first_token} for "
         "99 % of the time ({turns} at a time, one block after the other)", "kv_peak_read_bandwidth_of_serving", "site"),
    RequirementTemplate("R-KV-02", "site_kv_write_bandwidth", "mandatory", "write",
         _SUSTAIN + "of random {io} writes to shared files that are written over and over, from {clients} for {duration} at "
         "{fill} fill (key-value caches of new context)",
         "kv_write_bandwidth_of_serving", "site"),
    RequirementTemplate("R-KV-03", "site_kv_bytes", "mandatory", "hold",
         "hold at least {value} of key-value caches, which R-CAP-01 includes, without data reduction",
         "kv_held_bytes_of_serving", inspected="the usable capacity that the file system itself reports for them"),
    RequirementTemplate("R-KV-04", "site_kv_recompute_bandwidth", "information", "read",
         "read key-value caches at {value} at least, so that a session is read no later than the GPUs compute it again",
         "kv_recompute_bandwidth_of_serving"),
    RequirementTemplate("R-SERVE-01", "site_weights_bandwidth", "mandatory", "read",
         _SUSTAIN + "of uncached sequential {io} reads from {clients} {depth} so that all replicas of served models that start "
         "have read their weights {within}", "weights_load_bandwidth_of_serving", "site", streams=True,
         within="weights_load_seconds", phase="weights_load_seconds"),
    RequirementTemplate("R-SYNC-01", "site_publish_bandwidth", "mandatory", "write",
         _SUSTAIN + "of sequential {io} writes, one file per process, from {clients} for {duration} at {fill} fill, so that a "
         "new version of the weights is written {within}", "job_publish_bandwidth_of_jobs", "site", within="publish_seconds",
         phase="publish_seconds"),
    RequirementTemplate("R-SYNC-02", "site_pull_bandwidth", "mandatory", "read",
         _SUSTAIN + _PULLS + "all rollout hosts have read a new version of the weights {within}, and anchors in the time "
         "allowed for them",
         "job_pull_bandwidth_of_jobs", "site", streams=True, within="pull_seconds", phase="pull_seconds"),
    RequirementTemplate("R-SYNC-03", "site_join_bandwidth", "mandatory", "read",
         _SUSTAIN + _PULLS + "all rollout hosts that join at once have read anchor and deltas {within}",
         "job_join_bandwidth_of_jobs", "site", streams=True, within="join_seconds", phase="join_seconds"),
    RequirementTemplate("R-TRACE-01", "site_trace_bandwidth", "mandatory", "write",
         _SUSTAIN + "of sequential {io} writes, one file per process, from {clients} for {duration} at {fill} fill (rollout "
         "traces)", "job_trace_bandwidth_of_jobs", "site"),
    RequirementTemplate("R-VEC-01", "site_query_bandwidth", "mandatory", "read",
         _SUSTAIN + _READS + " ({requests}, by queries of vector indexes)", "job_query_bandwidth_of_jobs", "site",
         at_any_size=True),
    RequirementTemplate("R-VEC-02", "site_index_load_bandwidth", "mandatory", "read",
         _SUSTAIN + "of uncached sequential {io} reads from {clients} {depth} so that all copies of vector indexes that start "
         "have read what they hold in memory {within}", "job_index_load_bandwidth_of_jobs", "site", streams=True,
         within="index_load_seconds", phase="index_load_seconds"),
    RequirementTemplate("R-VEC-03", "site_rebuild_bandwidth", "mandatory", "write",
         _SUSTAIN + "of sequential {io} writes, one file per process, from {clients} for {duration} at {fill} fill (rebuilds "
         "and compaction of vector indexes, averaged over the day)", "job_rebuild_bandwidth_of_jobs", "site"),
    RequirementTemplate("R-VEC-04", "site_index_bytes", "mandatory", "hold",
         "hold at least {value} of vector indexes, their source and room for a build, which R-CAP-01 includes, without data "
         "reduction", "indexed_bytes_held_of_jobs",
         inspected="the usable capacity that the file system itself reports for them"),
    RequirementTemplate("R-META-01", "site_file_opens", "mandatory", "open",
         "open at least {value} for reading from {clients} with {threads} each for {duration}", "job_file_opens_of_jobs",
         "site"),
    RequirementTemplate("R-META-02", "site_file_creates", "mandatory", "create",
         "create at least {value} from {clients}, so that a run has created all files of its checkpoint {within}",
         "run_file_creates_of_jobs", "run", within="create_seconds", phase="create_seconds"),
    RequirementTemplate("R-META-03", "site_files", "mandatory", "hold", "hold at least {value} in the peak year",
         inspected="the largest number of files that the file system itself reports"),
    RequirementTemplate("R-CAP-01", "site_usable_bytes", "mandatory", "hold",
         "hold at least {value} of data, without data reduction, while no more than {fill} of its usable capacity is in use, "
         "in the peak year",
         inspected="the usable capacity that the file system itself reports, times the fill limit of the requirement, without "
         "data reduction"),
    RequirementTemplate("R-CAP-02", "site_raw_bytes", "information", "hold",
         "have about {value} of raw capacity, without data reduction, with the protection and fill limit of its derivation; "
         "R-CAP-03 is binding"),
    RequirementTemplate("R-CAP-03", "site_capacity_to_buy", "mandatory", "hold",
         "provide at least {value} of usable capacity, without data reduction, of which the data of R-CAP-01{reserve} take "
         "{fill}, in the peak year",
         inspected="the usable capacity that the file system itself reports, without data reduction"),
    RequirementTemplate("R-ARC-01", "site_archive_bytes", "mandatory", "hold",
         "hold at least {value} of data on an archive tier, without data reduction, in the peak year, beside the capacity of "
         "R-CAP-01; the rates and latencies of the other lines do not apply to it",
         inspected="the usable capacity that the archive tier itself reports"),
    RequirementTemplate("R-ARC-02", "site_archive_write_bandwidth", "mandatory", "write",
         "take at least {value} of sequential writes to the archive tier (first load of its data sets and their new versions)",
         "dataset_load_bandwidth_of_archived"),
    RequirementTemplate("R-ARC-03", "site_archive_read_bandwidth", "mandatory", "read",
         "return at least {value} of sequential reads from the archive tier, so that data sets are made from archived ones "
         "{within}", "dataset_preparation_bandwidth_of_recalled", within="preparation_seconds"),
    RequirementTemplate("R-END-01", "site_media_bytes_per_day", "mandatory", "write",
         "endure {value} written to its media on each day of a warranty of {warranty}, replicas and parity "
         "included{drive_writes}: {held}, in the year with the most writes",
         inspected="the rated endurance of all media together (drive writes per day × capacity) over that period"),
    RequirementTemplate("R-GROW-01", "site_grown_read_bandwidth", "target", "read",
         "be expandable to {value} " + _READS + " (aggregate of {who} that can run concurrently, in the last year of "
         "the plan{nodes})", "job_read_bandwidth_of_jobs", "site"),
    RequirementTemplate("R-GUIDE-01", "asked_read_floor", "target", "read",
         _SUSTAIN + _READS + " ({asked})", clients="site", streams=True,
         floor=Floor("site_read_bandwidth", "site_read_floor", with_tiers="workload_read_bandwidth")),
    RequirementTemplate("R-GUIDE-02", "asked_write_floor", "target", "write",
         _SUSTAIN + "of {puts} from {clients} for {duration} at {fill} fill ({asked})",
         clients="site", floor=Floor("site_write_bandwidth", "site_write_floor",
         with_tiers="workload_write_bandwidth")),
    RequirementTemplate("R-GUIDE-03", "asked_node_floor", "target", "read",
         "deliver at least {value} of uncached {reads} to any one client that reads alone, {depth} for {duration} ({asked})",
         clients="one", streams=True, floor=Floor("site_node_read_bandwidth", "largest_node_floor",
         with_tiers="workload_node_read_bandwidth")),
    RequirementTemplate("R-GROW-02", "site_grown_write_bandwidth", "target", "write",
         "be expandable to {value} " + _WRITES + " ({overlap}, in the last year of the plan, as the models grow)",
         "job_write_bandwidth_of_jobs", "site", phase="checkpoint_dump_seconds"),
    RequirementTemplate("R-GROW-03", "site_grown_restart_bandwidth", "target", "read",
         "be expandable to {value} " + _RESTARTS + "all runs finish restoring concurrently, {within} after an outage, in the "
         "last year of the plan, as the models grow", "job_restart_bandwidth_of_jobs", "site", streams=True,
         within="outage_restart_seconds", phase="outage_restart_seconds"),
)  # fmt: skip


#: lines that a minimum of the buyer may hold up -> what they say where it does
STATED = {
    "R-READ-03": _SUSTAIN + _READS + " (aggregate of all clients)",
    "R-WRITE-01": _SUSTAIN + "of {puts} from {clients} for {duration} at {fill} fill (aggregate of all clients)",
    "R-CAP-02": "provide at least {value} of raw capacity, without data reduction",
    "R-CAP-03": "provide at least {value} of usable capacity, without data reduction",
}


def kind_of_column(name: str, own: str) -> str:
    """The kind of load of a column; `own` is that of its line.

    >>> kind_of_column("kv_write_bandwidth_of_serving", "checkpoint writes"), kind_of_column(SAVING, "checkpoint writes")
    ('key-value caches', 'checkpoint writes')
    """
    return next((kind for start, kind in COLUMN_KINDS.items() if name.startswith(start)), own)


@dataclass(frozen=True)
class RequirementValue:
    """The value of a requirement line, and the quantities behind it."""

    line: RequirementTemplate  # the line
    step: Step  # the value
    columns: list[Step]  # the columns that it rests on, the topmost first
    assumed: frozenset[str]  # the names of the assumed inputs that it rests on
    #: by job, how hard its load is for storage: of equal rates the hardest decides, whatever its name
    hardness: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @cached_property
    def compared(self) -> tuple[Step, Step] | None:
        """What the workload needs and what the guidance asks for; None where the workload alone counts."""
        if self.line.floor is None:
            return None
        floor = self.line.floor
        workload, guidance = nearest_below(self.step, (floor.with_tiers, floor.workload), (floor.guidance,))
        return workload, guidance

    @cached_property
    def by_buyer(self) -> tuple[Step, Step | None] | None:
        """The minimum that the buyer states, and what the plan needs where it is known; None where nothing is stated."""
        if self.step.formula is None or not self.step.inputs or self.line.id not in STATED:
            return None
        held = self.step.inputs[0]
        if held.name.startswith("stated_"):
            return held, None
        if not held.name.endswith("_at_least"):
            return None
        needed, stated = held.inputs
        return stated, needed

    @property
    def by_guidance(self) -> bool:
        """Whether the guidance decides, because the workload needs less."""
        if self.compared is None or (self.by_buyer is not None and float(self.by_buyer[0].value) >= float(self.step.value)):
            return False
        workload, guidance = (float(one.value) for one in self.compared)
        return workload < guidance <= float(self.step.value)

    @cached_property
    def column(self) -> Step | None:
        """The column that holds the entry of each job."""
        single = self.line.floor.column if self.line.floor is not None and self.by_guidance else ""
        beside = self.line.beside.column if self.line.beside is not None else ""
        found = []
        for name in (single or self.line.column, beside):
            named = [part for part in self.columns if part.name == name]
            found += [max(named, key=lambda part: len(part.inputs))] if named else []
        return max(found, key=lambda part: max((float(entry.value) for entry in part.inputs), default=0.0), default=None)

    @cached_property
    def held(self) -> dict[str, Step]:
        """The columns of its loads, by name: that of its jobs or workloads, and what a total includes besides."""
        line = self.line
        if not line.column:
            return {}
        named = (line.column, *((SAVING,) if line.operation == MIXED else ()))
        found: dict[str, Step] = {}
        for part in self.columns:
            if part.name in named or part.name.startswith(tuple(COLUMN_KINDS)):
                entries = {entry.owner: entry for entry in (*found.get(part.name, part).inputs, *part.inputs)}
                found[part.name] = part._replace(inputs=tuple(entries.values()))
        return found

    @property
    def timed(self) -> Sequence[Step]:
        """What the jobs need, in the times that they allow."""
        name = self.line.column if self.line.beside is None or self.column is None else self.column.name
        return [entry for part in self.columns if part.name == name for entry in part.inputs]

    @property
    def within(self) -> str:
        """The time that a job allows, by its quantity; empty where no time is behind the value."""
        beside = self.line.beside
        return self.line.within if beside is None or self.column is None or self.column.name != beside.column else beside.within

    @property
    def phase(self) -> str:
        """How long the load of a job lasts, by its quantity; empty for a load without an end."""
        return self.line.phase if self.line.beside is None else self.within

    @property
    def entries(self) -> Sequence[Step]:
        """The entries of the jobs."""
        return () if self.column is None else self.column.inputs

    @cached_property
    def largest(self) -> Step | None:
        """The largest entry of a job; of equal ones that of the hardest load."""

        def rank(entry: Step) -> tuple[float, tuple[float, ...], str]:
            return float(entry.value), self.hardness.get(entry.owner, ()), entry.owner

        return max(self.entries, key=rank, default=None)

    @property
    def job(self) -> str:
        """The job with the largest entry: its I/O sets the conditions; empty where there is none."""
        return self.largest.owner if self.largest is not None and self.line.column.endswith("_of_jobs") else ""

    @cached_property
    def guided_job(self) -> str:
        """The job whose GPUs the guidance asks the most for, of a line that rests on guidance; empty for any other."""
        entries = [] if self.compared is None else [one for part in self.compared[1].inputs for one in part.inputs]
        return min(entries, key=lambda one: (-float(one.value), one.owner)).owner if entries else ""

    @cached_property
    def jobs(self) -> set[str]:
        """All jobs with an entry in a column below the value."""
        columns = (part for part in self.columns if part.name.endswith("_of_jobs"))
        return {entry.owner for part in columns for entry in part.inputs if entry.owner}
