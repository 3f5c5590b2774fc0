"""Totals of a site: sums and maxima over the columns of its jobs, clusters, data sets and years.

An input `…_of_jobs`, `…_of_clusters`, `…_of_datasets` or `…_of_years` is the column of that quantity in that table.
"""

from ingest.engine.registry import alternative, computed_quantity, input_quantity

MODEL = "ingest-site-model"

# The storage to be bought
input_quantity("performance_headroom", "1", "Share by which rates exceed the need.", above=False, high=1, default=0)
input_quantity("replicas", "1", "Whole copies that protect each byte.", whole=True)
input_quantity("storage_units", "1", "Servers or enclosures that share the data.", whole=True, default=1)

# How a requirement is tested
input_quantity("create_seconds", "s", "Time within which a run creates all files of a checkpoint.",
    label="time to create files")  # fmt: skip
input_quantity("test_seconds", "s", "Time for which a rate must hold.", default=1800, label="test duration")
input_quantity("shortest_test_seconds", "s", "Shortest valid duration of a test.", default=300, label="shortest test")
input_quantity("stream_request_bytes", "B", "Size of one read of a large file, such as one that is restored or copied.",
    default=1_048_576, label="read size of large files")  # fmt: skip
input_quantity("write_request_bytes", "B", "Size of one write of a large file.", default=1_048_576, label="write request size")

input_quantity("smallest_bandwidth_asked", "B/s", "Reporting threshold of bandwidths: one drive delivers less.",
    above=False, default=1e8, label="reporting threshold of bandwidths")  # fmt: skip
input_quantity("smallest_file_rate_asked", "file/s", "Reporting threshold of file rates.",
    above=False, default=100, label="reporting threshold of file rates")  # fmt: skip

input_quantity("grown_read_bandwidth", "B/s", "Aggregate read bandwidth of concurrent jobs in the last year of the plan.",
    above=False, label="aggregate read bandwidth of the workload in the last year")  # fmt: skip

# What totals follow from where the site has more than training on cold data
alternative("site_node_local_bytes", "node_local_with_caches", when="caches_on_nodes")
alternative("cluster_clients", "clients_with_serving", when="cluster_serves")
alternative("cluster_clients", "cluster_nodes", when="cluster_prepares")
alternative("cluster_allocation", "allocation_with_serving", when="cluster_serves")
alternative("workload_read_bandwidth", "workload_reads_with_tiers", when="tiers_shared")
alternative("site_sustained_read_bandwidth", "sustained_reads_with_tiers", when="tiers_shared")
alternative("site_write_bandwidth", "site_writes_with_tiers", when="tiers_shared")


def columns(table: str, unit: str, names: str) -> None:
    """Declare columns of a table of the site: an input for each of the quantities of a unit."""
    for name in names.split():
        input_quantity(f"{name}_of_{table}", unit, f"Column {name} of all {table} of the site.", above=False)


columns("jobs", "B/s",
    "job_read_bandwidth job_suggested_read_bandwidth run_read_bandwidth job_cold_read_bandwidth "
    "job_sustained_read_bandwidth job_write_bandwidth run_write_bandwidth job_sustained_write_bandwidth "
    "run_restart_bandwidth job_restart_bandwidth job_staging_bandwidth run_read_floor run_write_floor "
    "run_restart_floor job_stopped_read_bandwidth job_export_bandwidth job_start_bandwidth "
    "job_evaluation_bandwidth job_publish_bandwidth job_pull_bandwidth job_join_bandwidth job_trace_bandwidth "
    "job_query_bandwidth job_index_load_bandwidth job_rebuild_bandwidth")  # fmt: skip
columns("jobs", "B/s/node", "node_read_bandwidth node_cold_read_bandwidth node_read_floor")
columns("jobs", "file/s", "job_file_opens run_file_creates job_start_opens")
columns("jobs", "B/node", "node_kept_bytes")
columns("jobs", "B", "job_checkpoint_bytes_held job_checkpoint_bytes_per_day indexed_bytes_held")
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

computed_quantity("cluster_read_bandwidth",
    "minimum(total(job_read_bandwidth_of_jobs), largest(node_read_bandwidth_of_jobs) * cluster_nodes)", "B/s",
    "Aggregate read bandwidth of a cluster; jobs that alternate on the same nodes do not read concurrently.", source=MODEL,
    where="at most all jobs concurrently, at most all nodes with the most demanding job", label="read bandwidth of the cluster",
    example="cluster_read_bandwidth([100e9, 60e9], [2e9, 1e9], 64) -> 128000000000.0")  # fmt: skip
computed_quantity("cluster_clients", "minimum(total(nodes_at_once_of_jobs), cluster_nodes)", "node",
    "Nodes of a cluster that read concurrently.", label="nodes that read concurrently", whole=True,
    example="cluster_clients([100, 60], 128) -> 128")  # fmt: skip
computed_quantity("site_clients", "total(cluster_clients_of_clusters)", "node",
    "Nodes of the site that read concurrently.", whole=True)  # fmt: skip
computed_quantity("taking_clients", "total(cluster_taking_clients_of_clusters)", "node",
    "Nodes of the site that take part in a requirement line.", whole=True)  # fmt: skip
computed_quantity("cluster_allocation", "total(nodes_on_average_of_jobs) / cluster_nodes", "1",
    "Share of a cluster that its jobs take, averaged over time; above 1 it cannot be.", label="share of nodes in use",
    example="cluster_allocation([100, 60], 128) -> 1.25")  # fmt: skip
computed_quantity("site_sustained_read_bandwidth",
    "total(job_sustained_read_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s",
    "Sustained read bandwidth of the site: all jobs, averaged over time.", label="sustained read bandwidth",
    example="site_sustained_read_bandwidth([10e9, 20e9], 0.2) -> 36000000000.0")  # fmt: skip
computed_quantity("workload_largest_read_bandwidth", "largest(run_read_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s",
    "Read bandwidth of the most demanding single run.", label="read bandwidth of the workload's most demanding run",
    example="workload_largest_read_bandwidth([10e9, 20e9], 0.2) -> 24000000000.0")  # fmt: skip
computed_quantity("site_largest_read_bandwidth",
    "maximum(workload_largest_read_bandwidth, largest_read_floor * floor_signed)", "B/s",
    "Read bandwidth required of a single run: that of the workload, where the buyer signs it at least the guidance.",
    label="read bandwidth of the most demanding run",
    example="site_largest_read_bandwidth(5e9, 30e9, 1), "
        "site_largest_read_bandwidth(5e9, 30e9, 0) -> (30000000000.0, 5000000000.0)")  # fmt: skip
computed_quantity("workload_read_bandwidth", "total(cluster_read_bandwidth_of_clusters) * (1 + performance_headroom)", "B/s",
    "Aggregate read bandwidth of all jobs that can run concurrently.", label="aggregate read bandwidth of the workload",
    example="workload_read_bandwidth([10e9, 20e9], 0) -> 30000000000.0")  # fmt: skip
computed_quantity("site_read_bandwidth", "maximum(workload_read_bandwidth, signed_read_floor)", "B/s",
    "Aggregate read bandwidth required: that of the workload, where the buyer signs it at least the guidance.",
    label="aggregate read bandwidth of concurrent jobs")  # fmt: skip
computed_quantity("workload_node_read_bandwidth",
    "largest(node_read_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s/node",
    "Read bandwidth of one node of the most demanding job.", label="read bandwidth of one node of the workload",
    example="workload_node_read_bandwidth([1e9, 6.4e9], 0) -> 6400000000.0")  # fmt: skip
computed_quantity("site_node_read_bandwidth",
    "maximum(workload_node_read_bandwidth, largest_node_floor * floor_signed)", "B/s/node",
    "Read bandwidth required of one node: that of the workload, where the buyer signs it at least the guidance.",
    label="read bandwidth of one node",
    example="site_node_read_bandwidth(1e9, 4e9, 1), "
        "site_node_read_bandwidth(1e9, 4e9, 0) -> (4000000000.0, 1000000000.0)")  # fmt: skip
computed_quantity("workload_largest_write_bandwidth",
    "largest(run_write_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s",
    "Checkpoint write bandwidth of the most demanding single run.",
    label="write bandwidth of the workload's most demanding run",
    example="workload_largest_write_bandwidth([10e9, 20e9], 0) -> 20000000000.0")  # fmt: skip
computed_quantity("site_largest_write_bandwidth",
    "maximum(workload_largest_write_bandwidth, largest_write_floor * floor_signed)", "B/s",
    "Checkpoint write bandwidth required of a single run: of the workload, at least the guidance where the buyer signs it.",
    label="write bandwidth of the most demanding run",
    example="site_largest_write_bandwidth(2e9, 14e9, 1), "
        "site_largest_write_bandwidth(2e9, 14e9, 0) -> (14000000000.0, 2000000000.0)")  # fmt: skip
computed_quantity("site_write_bandwidth", "maximum(workload_write_bandwidth, site_write_floor * floor_signed)", "B/s",
    "Aggregate write bandwidth required: that of the workload, where the buyer signs it at least the guidance.",
    label="aggregate write bandwidth of concurrent jobs",
    example="site_write_bandwidth(2e9, 14e9, 1), "
        "site_write_bandwidth(2e9, 14e9, 0) -> (14000000000.0, 2000000000.0)")  # fmt: skip
computed_quantity("site_sustained_write_bandwidth",
    "total(job_sustained_write_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s",
    "Sustained checkpoint write bandwidth of the site: all jobs, averaged over time.", label="sustained write bandwidth",
    example="site_sustained_write_bandwidth([1e9, 2e9], 0) -> 3000000000.0")  # fmt: skip
computed_quantity("workload_largest_restart_bandwidth",
    "largest(run_restart_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s",
    "Restore bandwidth of the most demanding single run.", label="restore bandwidth of the workload's most demanding run",
    example="workload_largest_restart_bandwidth([1e9, 9e9], 0) -> 9000000000.0")  # fmt: skip
computed_quantity("site_largest_restart_bandwidth",
    "maximum(workload_largest_restart_bandwidth, largest_restart_floor * floor_signed)", "B/s",
    "Restore bandwidth required of a single run: that of the workload, where the buyer signs it at least the guidance.",
    label="restore bandwidth of the most demanding run",
    example="site_largest_restart_bandwidth(8e9, 30e9, 1), "
        "site_largest_restart_bandwidth(8e9, 30e9, 0) -> (30000000000.0, 8000000000.0)")  # fmt: skip
computed_quantity("workload_restart_bandwidth", "total(job_restart_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s",
    "Aggregate restore bandwidth of all jobs, as after an outage of the whole site.",
    label="aggregate restore bandwidth of the workload",
    example="workload_restart_bandwidth([1e9, 9e9], 0) -> 10000000000.0")  # fmt: skip
computed_quantity("site_restart_bandwidth",
    "where(workload_restart_bandwidth > 0, maximum(workload_restart_bandwidth, signed_read_floor), 0)", "B/s",
    "Aggregate restore bandwidth required: where the buyer signs them at least the reads of the guidance.",
    label="aggregate restore bandwidth of concurrent runs",
    example="site_restart_bandwidth(10e9, 30e9), site_restart_bandwidth(0, 30e9) -> (30000000000.0, 0)")  # fmt: skip
computed_quantity("site_file_opens", "total(job_file_opens_of_jobs) * (1 + performance_headroom)", "file/s",
    "File opens per second of the site.", label="aggregate file opens",
    example="site_file_opens([100.0, 50.0], 0) -> 150.0")  # fmt: skip
computed_quantity("site_file_creates", "largest(run_file_creates_of_jobs) * (1 + performance_headroom)", "file/s",
    "File creates per second as a run starts its checkpoint: of the run that creates the most.",
    label="file creates as a checkpoint starts", example="site_file_creates([3277.1, 50.0], 0) -> 3277.1")  # fmt: skip
computed_quantity("site_staging_bandwidth", "total(job_staging_bandwidth_of_jobs) * (1 + performance_headroom)", "B/s",
    "Read bandwidth that stages all data sets on their nodes within the time allowed.", label="staging bandwidth",
    example="site_staging_bandwidth([1e9, 2e9], 0) -> 3000000000.0")  # fmt: skip
computed_quantity("site_node_local_bytes", "largest(node_kept_bytes_of_jobs)", "B/node",
    "NVMe capacity of a node for staged and cached data and checkpoints, for the most demanding job.",
    label="node-local capacity")  # fmt: skip

input_quantity("site_cold_read_bandwidth", "B/s", "Aggregate read bandwidth of concurrent jobs while nothing is cached.",
    above=False, label="aggregate cold read bandwidth")  # fmt: skip

computed_quantity("cluster_cold_read_bandwidth",
    "minimum(total(job_cold_read_bandwidth_of_jobs), largest(node_cold_read_bandwidth_of_jobs) * cluster_nodes)", "B/s",
    "Aggregate read bandwidth of a cluster while nothing is cached.", source=MODEL,
    where="at most all jobs concurrently, at most all nodes with the most demanding job",
    label="cold read bandwidth of the cluster",
    example="cluster_cold_read_bandwidth([100e9, 60e9], [2e9, 1e9], 64) -> 128000000000.0")  # fmt: skip
computed_quantity("site_cold_reads", "total(cluster_cold_read_bandwidth_of_clusters) * (1 + performance_headroom)", "B/s",
    "Aggregate read bandwidth of all jobs that can run concurrently while nothing is cached.", of="site_cold_read_bandwidth",
    when="data_cached", example="site_cold_reads([10e9, 20e9], 0) -> 30000000000.0")  # fmt: skip
computed_quantity("site_grown_read_bandwidth", "minimum(grown_read_bandwidth, site_drawable_bandwidth)", "B/s",
    "Read bandwidth in the last year of the plan: that of the grown workload, at most what the clients draw.",
    source=MODEL, where="at most what the nodes can take", label="aggregate read bandwidth in the last year")  # fmt: skip
computed_quantity("nodes_for_growth",
    "ceil(grown_read_bandwidth / site_drawable_bandwidth * site_clients)", "node",
    "Nodes of the present types that draw the reads of the last year.", label="nodes for the growth", whole=True,
    example="nodes_for_growth(8.178e12, 5.12e12, 64) -> 103")  # fmt: skip
