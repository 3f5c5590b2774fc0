"""Totals of a site: sums and maxima over the columns of its jobs, clusters, data sets and years.

An input `…_of_jobs`, `…_of_clusters`, `…_of_datasets` or `…_of_years` is the column of that quantity in that table.
"""

from ingest.engine.expression import Num, ceil, largest, maximum, minimum, total, where
from ingest.engine.registry import alternative, formula, input_quantity

MODEL = "ingest-site-model"

# The storage to be bought
input_quantity("performance_headroom", "1", "Share by which rates exceed the need.", above=False, high=1, default=0)
input_quantity("replicas", "1", "Whole copies that protect each byte.", whole=True)
input_quantity("storage_units", "1", "Servers or enclosures that share the data.", whole=True, default=1)


# How a requirement is tested
input_quantity(
    "create_seconds", "s", "Time within which a run creates all files of a checkpoint.", label="time to create files"
)
input_quantity("test_seconds", "s", "Time for which a rate must hold.", default=1800, label="test duration")
input_quantity("shortest_test_seconds", "s", "Shortest valid duration of a test.", default=300, label="shortest test")
input_quantity("stream_request_bytes", "B", "Size of one read where files are restored or copied.", default=1_048_576,
    label="read size of restores and copies")  # fmt: skip
input_quantity("write_request_bytes", "B", "Size of one checkpoint write.", default=1_048_576, label="write request size")

input_quantity("smallest_bandwidth_asked", "B/s", "Reporting threshold of bandwidths: one drive delivers less.",
    above=False, default=1e8, label="reporting threshold of bandwidths")  # fmt: skip
input_quantity("smallest_file_rate_asked", "file/s", "Reporting threshold of file rates.",
    above=False, default=100, label="reporting threshold of file rates")  # fmt: skip

input_quantity("grown_read_bandwidth", "B/s", "Aggregate read bandwidth of concurrent jobs in the last year of the plan.",
    above=False, label="aggregate read bandwidth of the workload in the last year")  # fmt: skip

# What totals follow from where the site has more than training on cold data
alternative("site_grown_read_bandwidth", "grown_read_bandwidth", when="nics_unknown")
alternative("site_cold_read_bandwidth", "site_cold_reads", when="data_cached")
alternative("site_node_local_bytes", "node_local_with_caches", when="caches_on_nodes")
alternative("cluster_clients", "clients_with_serving", when="cluster_serves")
alternative("cluster_allocation", "allocation_with_serving", when="cluster_serves")
alternative("workload_read_bandwidth", "workload_reads_with_tiers", when="tiers_shared")
alternative("site_sustained_read_bandwidth", "sustained_reads_with_tiers", when="tiers_shared")
alternative("site_write_bandwidth", "site_writes_with_tiers", when="tiers_shared")
alternative("writing_clients", "site_clients", when="tiers_shared")


def columns(table: str, **units: str) -> None:
    """Declare columns of a table of the site: an input for each quantity, with its unit."""
    for name, unit in units.items():
        input_quantity(f"{name}_of_{table}", unit, f"Column {name} of all {table} of the site.", above=False)


columns(
    "jobs",
    job_read_bandwidth="B/s",
    node_read_bandwidth="B/s/node",
    run_read_bandwidth="B/s",
    job_cold_read_bandwidth="B/s",
    node_cold_read_bandwidth="B/s/node",
    job_sustained_read_bandwidth="B/s",
    job_write_bandwidth="B/s",
    checkpoint_write_bandwidth="B/s",
    job_sustained_write_bandwidth="B/s",
    restart_read_bandwidth="B/s",
    job_restart_bandwidth="B/s",
    job_file_opens="file/s",
    run_file_creates="file/s",
    job_staging_bandwidth="B/s",
    node_kept_bytes="B/node",
    job_checkpoint_bytes_held="B",
    job_checkpoint_files_held="file",
    job_checkpoint_bytes_per_day="B",
    run_read_floor="B/s",
    node_read_floor="B/s/node",
    run_write_floor="B/s",
    run_restart_floor="B/s",
    runs_writing="1",
    write_variance="B^2/s^2",
    write_third_moment="B^3/s^3",
    job_stopped_read_bandwidth="B/s",
    job_export_bandwidth="B/s",
    job_start_bandwidth="B/s",
    job_start_opens="file/s",
    job_evaluation_bandwidth="B/s",
    nodes_at_once="node",
    nodes_on_average="node",
    staging_nodes="node",
    writing_nodes="node",
)
columns(
    "clusters",
    cluster_read_bandwidth="B/s",
    cluster_cold_read_bandwidth="B/s",
    cluster_clients="node",
    cluster_nodes="node",
    cluster_gpus="GPU",
    cluster_nic_bandwidth="B/s",
    cluster_client_nics="B/s",
    cluster_read_floor="B/s",
    cluster_write_floor="B/s",
)
columns(
    "datasets",
    dataset_bytes_held="B",
    dataset_files_held="file",
    dataset_bytes_written_per_day="B",
    dataset_bytes_added_per_day="B",
    dataset_load_bandwidth="B/s",
    dataset_refresh_bandwidth="B/s",
    dataset_preparation_bandwidth="B/s",
    dataset_preparation_write_bandwidth="B/s",
    dataset_scratch_bytes_held="B",
    dataset_scratch_added_per_day="B",
    dataset_scratch_written_per_day="B",
)
columns(
    "years",
    year_bytes_written_per_day="B",
    year_usable_bytes="B",
    year_planned_bytes="B",
    year_files="file",
    year_load_bandwidth="B/s",
    year_preparation_bandwidth="B/s",
    year_preparation_write_bandwidth="B/s",
)


@formula(
    unit="B/s",
    source=MODEL,
    where="at most all jobs concurrently, at most all nodes with the most demanding job",
    label="read bandwidth of the cluster",
)
def cluster_read_bandwidth(job_read_bandwidth_of_jobs: Num, node_read_bandwidth_of_jobs: Num, cluster_nodes: Num) -> Num:
    """Aggregate read bandwidth of a cluster; jobs that alternate on the same nodes do not read concurrently.

    >>> cluster_read_bandwidth([100e9, 60e9], [2e9, 1e9], 64)
    128000000000.0
    """
    return minimum(total(job_read_bandwidth_of_jobs), largest(node_read_bandwidth_of_jobs) * cluster_nodes)


@formula(unit="node", source="definition", label="nodes that read concurrently", whole=True)
def cluster_clients(nodes_at_once_of_jobs: Num, cluster_nodes: Num) -> Num:
    """Nodes of a cluster that read concurrently.

    >>> cluster_clients([100, 60], 128)
    128
    """
    return minimum(total(nodes_at_once_of_jobs), cluster_nodes)


@formula(unit="node", source="definition", whole=True)
def site_clients(cluster_clients_of_clusters: Num) -> Num:
    """Nodes of the site that read concurrently."""
    return total(cluster_clients_of_clusters)


@formula(unit="node", source="definition", whole=True)
def staging_clients(staging_nodes_of_jobs: Num, site_clients: Num) -> Num:
    """Nodes of the site that stage their data concurrently.

    >>> staging_clients([8], 64)
    8
    """
    return minimum(total(staging_nodes_of_jobs), site_clients)


@formula(unit="node", source="definition", whole=True)
def writing_clients(writing_nodes_of_jobs: Num, site_clients: Num) -> Num:
    """Nodes of the site that write and restore checkpoints concurrently.

    >>> writing_clients([8, 16], 64)
    24
    """
    return minimum(total(writing_nodes_of_jobs), site_clients)


@formula(unit="1", source="definition", label="share of nodes in use")
def cluster_allocation(nodes_on_average_of_jobs: Num, cluster_nodes: Num) -> Num:
    """Share of a cluster that its jobs take, averaged over time; above 1 it cannot be.

    >>> cluster_allocation([100, 60], 128)
    1.25
    """
    return total(nodes_on_average_of_jobs) / cluster_nodes


@formula(unit="B/s", source="definition", label="sustained read bandwidth")
def site_sustained_read_bandwidth(job_sustained_read_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Sustained read bandwidth of the site: all jobs, averaged over time.

    >>> site_sustained_read_bandwidth([10e9, 20e9], 0.2)
    36000000000.0
    """
    return total(job_sustained_read_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="read bandwidth of the workload's most demanding run")
def workload_largest_read_bandwidth(run_read_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Read bandwidth of the most demanding single run.

    >>> workload_largest_read_bandwidth([10e9, 20e9], 0.2)
    24000000000.0
    """
    return largest(run_read_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="read bandwidth of the most demanding run")
def site_largest_read_bandwidth(workload_largest_read_bandwidth: Num, largest_read_floor: Num) -> Num:
    """Read bandwidth required of a single run: that of the workload, at least that of the guidance for its GPUs."""
    return maximum(workload_largest_read_bandwidth, largest_read_floor)


@formula(unit="B/s", source="definition", label="aggregate read bandwidth of the workload")
def workload_read_bandwidth(cluster_read_bandwidth_of_clusters: Num, performance_headroom: Num) -> Num:
    """Aggregate read bandwidth of all jobs that can run concurrently.

    >>> workload_read_bandwidth([10e9, 20e9], 0)
    30000000000.0
    """
    return total(cluster_read_bandwidth_of_clusters) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="aggregate read bandwidth of concurrent jobs")
def site_read_bandwidth(workload_read_bandwidth: Num, site_read_floor: Num) -> Num:
    """Aggregate read bandwidth required: that of the workload, at least that of the guidance for the GPUs of the site."""
    return maximum(workload_read_bandwidth, site_read_floor)


@formula(unit="B/s/node", source="definition", label="read bandwidth of one node of the workload")
def workload_node_read_bandwidth(node_read_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Read bandwidth of one node of the most demanding job.

    >>> workload_node_read_bandwidth([1e9, 6.4e9], 0)
    6400000000.0
    """
    return largest(node_read_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s/node", source="definition", label="read bandwidth of one node")
def site_node_read_bandwidth(workload_node_read_bandwidth: Num, largest_node_floor: Num) -> Num:
    """Read bandwidth required of one node: that of the workload, at least that of the guidance."""
    return maximum(workload_node_read_bandwidth, largest_node_floor)


@formula(unit="B/s", source="definition", label="write bandwidth of the workload's most demanding run")
def workload_largest_write_bandwidth(checkpoint_write_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Checkpoint write bandwidth of the most demanding single run.

    >>> workload_largest_write_bandwidth([10e9, 20e9], 0)
    20000000000.0
    """
    return largest(checkpoint_write_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="write bandwidth of the most demanding run")
def site_largest_write_bandwidth(workload_largest_write_bandwidth: Num, largest_write_floor: Num) -> Num:
    """Checkpoint write bandwidth required of a single run: that of the workload, at least that of the guidance."""
    return maximum(workload_largest_write_bandwidth, largest_write_floor)


@formula(unit="B/s", source="definition", label="aggregate write bandwidth of concurrent checkpoints")
def site_write_bandwidth(workload_write_bandwidth: Num, site_write_floor: Num) -> Num:
    """Aggregate write bandwidth required: that of the workload, at least that of the guidance for the GPUs of the site."""
    return maximum(workload_write_bandwidth, site_write_floor)


@formula(unit="B/s", source="definition", label="sustained write bandwidth")
def site_sustained_write_bandwidth(job_sustained_write_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Sustained checkpoint write bandwidth of the site: all jobs, averaged over time.

    >>> site_sustained_write_bandwidth([1e9, 2e9], 0)
    3000000000.0
    """
    return total(job_sustained_write_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="restore bandwidth of the workload's most demanding run")
def workload_largest_restart_bandwidth(restart_read_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Restore bandwidth of the most demanding single run.

    >>> workload_largest_restart_bandwidth([1e9, 9e9], 0)
    9000000000.0
    """
    return largest(restart_read_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="restore bandwidth of the most demanding run")
def site_largest_restart_bandwidth(workload_largest_restart_bandwidth: Num, largest_restart_floor: Num) -> Num:
    """Restore bandwidth required of a single run: that of the workload, at least that of the guidance for its GPUs."""
    return maximum(workload_largest_restart_bandwidth, largest_restart_floor)


@formula(unit="B/s", source="definition", label="aggregate restore bandwidth of the workload")
def workload_restart_bandwidth(job_restart_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Aggregate restore bandwidth of all jobs, as after an outage of the whole site.

    >>> workload_restart_bandwidth([1e9, 9e9], 0)
    10000000000.0
    """
    return total(job_restart_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="aggregate restore bandwidth of concurrent runs")
def site_restart_bandwidth(workload_restart_bandwidth: Num, site_read_floor: Num) -> Num:
    """Aggregate restore bandwidth required: at least the reads of the guidance, where any run restores a checkpoint.

    >>> site_restart_bandwidth(10e9, 30e9), site_restart_bandwidth(0, 30e9)
    (30000000000.0, 0)
    """
    return where(workload_restart_bandwidth > 0, maximum(workload_restart_bandwidth, site_read_floor), 0)


@formula(unit="file/s", source="definition", label="aggregate file opens")
def site_file_opens(job_file_opens_of_jobs: Num, performance_headroom: Num) -> Num:
    """File opens per second of the site.

    >>> site_file_opens([100.0, 50.0], 0)
    150.0
    """
    return total(job_file_opens_of_jobs) * (1 + performance_headroom)


@formula(unit="file/s", source="definition", label="file creates as a checkpoint starts")
def site_file_creates(run_file_creates_of_jobs: Num, performance_headroom: Num) -> Num:
    """File creates per second as a run starts its checkpoint: of the run that creates the most.

    >>> site_file_creates([3277.1, 50.0], 0)
    3277.1
    """
    return largest(run_file_creates_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="staging bandwidth")
def site_staging_bandwidth(job_staging_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Read bandwidth that stages all data sets on their nodes within the time allowed.

    >>> site_staging_bandwidth([1e9, 2e9], 0)
    3000000000.0
    """
    return total(job_staging_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/node", source="definition", label="node-local capacity")
def site_node_local_bytes(node_kept_bytes_of_jobs: Num) -> Num:
    """NVMe capacity of a node for staged and cached data and checkpoints, for the most demanding job."""
    return largest(node_kept_bytes_of_jobs)


input_quantity("site_cold_read_bandwidth", "B/s", "Aggregate read bandwidth of concurrent jobs while nothing is cached.",
    above=False, label="aggregate cold read bandwidth")  # fmt: skip


@formula(
    unit="B/s",
    source=MODEL,
    where="at most all jobs concurrently, at most all nodes with the most demanding job",
    label="cold read bandwidth of the cluster",
)
def cluster_cold_read_bandwidth(
    job_cold_read_bandwidth_of_jobs: Num, node_cold_read_bandwidth_of_jobs: Num, cluster_nodes: Num
) -> Num:
    """Aggregate read bandwidth of a cluster while nothing is cached.

    >>> cluster_cold_read_bandwidth([100e9, 60e9], [2e9, 1e9], 64)
    128000000000.0
    """
    return minimum(total(job_cold_read_bandwidth_of_jobs), largest(node_cold_read_bandwidth_of_jobs) * cluster_nodes)


@formula(unit="B/s", source="definition")
def site_cold_reads(cluster_cold_read_bandwidth_of_clusters: Num, performance_headroom: Num) -> Num:
    """Aggregate read bandwidth of all jobs that can run concurrently while nothing is cached.

    >>> site_cold_reads([10e9, 20e9], 0)
    30000000000.0
    """
    return total(cluster_cold_read_bandwidth_of_clusters) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="storage NICs of a cluster's nodes")
def cluster_nic_bandwidth(cluster_nodes: Num, storage_nic_bandwidth_per_node: Num) -> Num:
    """Bandwidth of the storage NICs of all nodes of a cluster."""
    return cluster_nodes * storage_nic_bandwidth_per_node


@formula(unit="B/s", source="definition", label="storage NICs of a cluster's clients")
def cluster_client_nics(cluster_clients: Num, storage_nic_bandwidth_per_node: Num) -> Num:
    """Bandwidth of the storage NICs of those nodes of a cluster that read concurrently."""
    return cluster_clients * storage_nic_bandwidth_per_node


@formula(unit="B/s", source="definition", label="storage NICs of all clients")
def site_client_nics(cluster_client_nics_of_clusters: Num) -> Num:
    """Bandwidth of the storage NICs of all nodes that read concurrently."""
    return total(cluster_client_nics_of_clusters)


@formula(unit="B/s", source="definition", label="storage NICs of all nodes")
def site_nic_bandwidth(cluster_nic_bandwidth_of_clusters: Num) -> Num:
    """Bandwidth of the storage NICs of all nodes of the site."""
    return total(cluster_nic_bandwidth_of_clusters)


@formula(unit="B/s", source=MODEL, where="at most what the nodes can take", label="aggregate read bandwidth in the last year")
def site_grown_read_bandwidth(grown_read_bandwidth: Num, site_nic_bandwidth: Num) -> Num:
    """Read bandwidth in the last year of the plan: that of the grown workload, at most that of the nodes' storage NICs."""
    return minimum(grown_read_bandwidth, site_nic_bandwidth)


@formula(unit="node", source="definition", label="nodes for the growth", whole=True)
def nodes_for_growth(grown_read_bandwidth: Num, site_nic_bandwidth: Num, cluster_nodes_of_clusters: Num) -> Num:
    """Nodes of the present types whose storage NICs take the reads of the last year.

    >>> nodes_for_growth(8.178e12, 5.12e12, [64])
    103
    """
    return ceil(grown_read_bandwidth / site_nic_bandwidth * total(cluster_nodes_of_clusters))
