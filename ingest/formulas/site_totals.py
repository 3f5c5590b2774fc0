"""Totals of a site: sums and maxima over the columns of its jobs, clusters, data sets and years; what consumers can draw.

An input `…_of_jobs`, `…_of_clusters`, `…_of_datasets` or `…_of_years` is the column of that quantity in that table.
"""

from typing import Any

from ingest.engine.registry import alternative, computed_quantities, computed_quantity, input_quantities, input_quantity

input_quantities(__file__)

MODEL = "ingest-site-model"

# What totals follow from where the site has more than training on cold data
alternative("site_node_local_bytes", "node_local_with_caches", when="caches_on_nodes")
alternative("cluster_clients", "clients_with_serving", when="cluster_serves")
alternative("cluster_clients", "cluster_nodes", when="cluster_prepares")
alternative("cluster_allocation", "allocation_with_serving", when="cluster_serves")
alternative("workload_read_bandwidth", "workload_reads_with_tiers", when="tiers_shared")
alternative("site_suggested_read_bandwidth", "suggested_reads_with_tiers", when="tiers_shared")
alternative("site_sustained_read_bandwidth", "sustained_reads_with_tiers", when="tiers_shared")
alternative("site_write_bandwidth", "site_writes_with_tiers", when="tiers_shared")


def columns(table: str, unit: str, names: str) -> None:
    """Declare columns of a table of the site: an input for each of the quantities of a unit."""
    for name in names.split():
        input_quantity(f"{name}_of_{table}", unit, f"Column {name} of all {table} of the site.", above=False)


#: Why the load of a job is no more than its nodes draw.
DRAWN = "a load is the smaller of what its job needs and what its nodes draw"


def with_headroom(name: str, folded: str, unit: str, meaning: str, **declared: Any) -> None:
    """Declare what is asked for of a column: its sum or its largest entry, and the share by which rates exceed the need."""
    computed_quantity(name, f"{folded} * (1 + performance_headroom)", unit, meaning,
        example=f"{name}([10e9], 0.2) -> 12000000000.0", **declared)  # fmt: skip


def signed(name: str, workload: str, floor: str, unit: str, meaning: str, **declared: Any) -> None:
    """Declare a rate that the buyer requires: that of the workload, at least the guidance where the buyer signs it."""
    computed_quantity(name, f"maximum({workload}, {floor} * floor_signed)", unit, meaning,
        example=f"{name}(5e9, 30e9, 1), {name}(5e9, 30e9, 0) -> (30000000000.0, 5000000000.0)", **declared)  # fmt: skip


def totals(**meanings: str) -> None:
    """Declare the bandwidths of the site that are sums over its jobs, by what each is."""
    for name, meaning in meanings.items():
        with_headroom(f"site_{name}_bandwidth", f"total(job_{name}_bandwidth_of_jobs)", "B/s", f"{meaning}, of all jobs.",
            above=False, label=f"{meaning[0].lower()}{meaning[1:]}")  # fmt: skip


columns("jobs", "B/s",
    "job_read_bandwidth job_suggested_read_bandwidth run_read_bandwidth job_cold_read_bandwidth "
    "job_sustained_read_bandwidth job_write_bandwidth run_write_bandwidth job_sustained_write_bandwidth "
    "run_restart_bandwidth job_restart_bandwidth job_staging_bandwidth run_read_floor run_write_floor "
    "run_restart_floor job_stopped_read_bandwidth job_export_bandwidth job_start_bandwidth "
    "job_evaluation_bandwidth job_publish_bandwidth job_pull_bandwidth job_join_bandwidth job_trace_bandwidth "
    "job_query_bandwidth job_index_load_bandwidth job_rebuild_bandwidth")  # fmt: skip
columns("jobs", "B/s/node", "node_read_bandwidth node_cold_read_bandwidth node_read_floor local_index_read_bandwidth "
    "local_index_write_bandwidth")  # fmt: skip
columns("jobs", "file/s", "job_file_opens run_file_creates job_start_opens")
columns("jobs", "B/node", "node_kept_bytes local_index_bytes_per_day")
columns("jobs", "B", "job_checkpoint_bytes_held job_checkpoint_bytes_per_day job_index_bytes")
columns("jobs", "file", "job_checkpoint_files_held")
columns("jobs", "1", "runs_writing")
columns("jobs", "B^2/s^2", "write_variance")
columns("jobs", "B^3/s^3", "write_third_moment")
columns("jobs", "node", "nodes_at_once nodes_on_average exporting_nodes")
columns("clusters", "B/s",
    "cluster_read_bandwidth cluster_cold_read_bandwidth cluster_read_floor cluster_write_floor "
    "cluster_drawable_bandwidth cluster_taking_bandwidth cluster_taken_bandwidth "
    "cluster_moving_drawable_bandwidth cluster_loading_drawable_bandwidth")  # fmt: skip
columns("clusters", "node",
    "cluster_clients cluster_nodes cluster_taking_clients cluster_moving_clients cluster_loading_clients")  # fmt: skip
columns("clusters", "GPU", "cluster_gpus")
columns("datasets", "B",
    "dataset_bytes_held dataset_bytes_written_per_day dataset_bytes_added_per_day dataset_scratch_bytes_held "
    "dataset_scratch_added_per_day dataset_scratch_written_per_day")  # fmt: skip
columns("datasets", "file", "dataset_files_held")
columns("datasets", "B/s",
    "dataset_load_bandwidth dataset_refresh_bandwidth dataset_preparation_bandwidth "
    "dataset_preparation_write_bandwidth")  # fmt: skip
columns("years", "B", "year_bytes_written_per_day year_usable_bytes year_planned_bytes")
columns("years", "file", "year_files")
columns("years", "B/s", "year_load_bandwidth year_preparation_bandwidth year_preparation_write_bandwidth")

computed_quantities(__file__)
with_headroom("site_sustained_read_bandwidth", "total(job_sustained_read_bandwidth_of_jobs)", "B/s",
    "Sustained read bandwidth of the site: all jobs, averaged over time.", label="sustained read bandwidth")  # fmt: skip
for _way, _made, _word in (("read", "Read", "read"), ("write", "Checkpoint write", "write"), ("restart", "Restore", "restore")):
    with_headroom(f"workload_largest_{_way}_bandwidth", f"largest(run_{_way}_bandwidth_of_jobs)", "B/s",
        f"{_made} bandwidth of the most demanding single run.",
        label=f"{_word} bandwidth of the workload's most demanding run")  # fmt: skip
    signed(f"site_largest_{_way}_bandwidth", f"workload_largest_{_way}_bandwidth", f"largest_{_way}_floor", "B/s",
        f"{_made} bandwidth required of a single run: that of the workload, where the buyer signs it at least the guidance.",
        label=f"{_word} bandwidth of the most demanding run")  # fmt: skip
with_headroom("workload_read_bandwidth", "total(cluster_read_bandwidth_of_clusters)", "B/s",
    "Aggregate read bandwidth of all jobs that can run concurrently.",
    label="aggregate read bandwidth of the workload")  # fmt: skip
with_headroom("workload_node_read_bandwidth", "largest(node_read_bandwidth_of_jobs)", "B/s/node",
    "Read bandwidth of one node of the most demanding job.", label="read bandwidth of one node of the workload")  # fmt: skip
signed("site_node_read_bandwidth", "workload_node_read_bandwidth", "largest_node_floor", "B/s/node",
    "Read bandwidth required of one node: that of the workload, where the buyer signs it at least the guidance.",
    label="read bandwidth of one node")  # fmt: skip
signed("site_write_bandwidth", "workload_write_bandwidth", "site_write_floor", "B/s",
    "Aggregate write bandwidth required: that of the workload, where the buyer signs it at least the guidance.",
    label="aggregate write bandwidth of concurrent jobs")  # fmt: skip
with_headroom("site_sustained_write_bandwidth", "total(job_sustained_write_bandwidth_of_jobs)", "B/s",
    "Sustained checkpoint write bandwidth of the site: all jobs, averaged over time.",
    label="sustained write bandwidth")  # fmt: skip
with_headroom("workload_restart_bandwidth", "total(job_restart_bandwidth_of_jobs)", "B/s",
    "Aggregate restore bandwidth of all jobs, as after an outage of the whole site.",
    label="aggregate restore bandwidth of the workload")  # fmt: skip
with_headroom("site_file_opens", "total(job_file_opens_of_jobs)", "file/s", "File opens per second of the site.",
    label="aggregate file opens")  # fmt: skip
with_headroom("site_file_creates", "largest(run_file_creates_of_jobs)", "file/s",
    "File creates per second as a run starts its checkpoint: of the run that creates the most.",
    label="file creates as a checkpoint starts")  # fmt: skip
with_headroom("site_staging_bandwidth", "total(job_staging_bandwidth_of_jobs)", "B/s",
    "Read bandwidth that stages all data sets on their nodes within the time allowed.", label="staging bandwidth")  # fmt: skip

with_headroom("site_cold_reads", "total(cluster_cold_read_bandwidth_of_clusters)", "B/s",
    "Aggregate read bandwidth of all jobs that can run concurrently while nothing is cached.", of="site_cold_read_bandwidth",
    when="data_cached")  # fmt: skip

alternative("served_users", "stated_users", when="generation_unknown")
alternative("serving_replicas", "stated_replicas", when="replicas_stated")
for _way, _made in (("read", "Reads"), ("write", "Writes")):
    computed_quantity(f"asked_{_way}_floor",
        f"where(site_{_way}_floor > site_{_way}_bandwidth, minimum(site_{_way}_floor, site_drawable_bandwidth), 0)", "B/s",
        f"{_made} of the guidance, at most what the clients draw; none where as much is required.",
        label=f"aggregate {_way}s that the guidance asks for",
        example=f"asked_{_way}_floor(30e9, 5e9, 80e9), asked_{_way}_floor(30e9, 40e9, 80e9) -> (30000000000.0, 0)")  # fmt: skip
# Where no job reads or saves, no line of its own carries what the guidance asks for, signed or not.
for _way, _made, _case in (("read", "Reads", "no_job_reads"), ("write", "Writes", "no_job_saves")):
    computed_quantity(f"{_way}s_of_guidance_alone",
        f"where(site_{_way}_floor > workload_{_way}_bandwidth, minimum(site_{_way}_floor, site_drawable_bandwidth), 0)", "B/s",
        f"{_made} of the guidance, where no line of a job asks for {_way}s.", of=f"asked_{_way}_floor", when=_case,
        example=f"{_way}s_of_guidance_alone(14e9, 0, 8e9) -> 8000000000.0")  # fmt: skip
