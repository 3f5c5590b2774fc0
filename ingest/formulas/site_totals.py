"""Totals of a site: sums and maxima over the columns of its jobs, clusters, data sets and years.

An input `…_of_jobs`, `…_of_clusters`, `…_of_datasets` or `…_of_years` is the column of that quantity in that table.
"""

from ingest.engine.expression import Num, largest, maximum, minimum, total
from ingest.engine.registry import formula, input_quantity

MODEL = "ingest-site-model"

# The storage to be bought
input_quantity("performance_headroom", "1", "Share by which rates exceed the need.", above=False, high=10, default=0)
input_quantity("replicas", "1", "Whole copies that protect each byte.", whole=True)
input_quantity("storage_units", "1", "Servers or enclosures that share the data.", whole=True, default=1)

# How a requirement is tested
input_quantity("test_seconds", "s", "Time for which a rate must hold.", default=1800, label="test duration")
input_quantity("write_request_bytes", "B", "Size of one checkpoint write.", default=1_048_576, label="write request size")

input_quantity("smallest_bandwidth_asked", "B/s", "Reporting threshold of bandwidths: one drive delivers less.",
    above=False, default=1e8, label="reporting threshold of bandwidths")  # fmt: skip
input_quantity("smallest_file_rate_asked", "file/s", "Reporting threshold of file rates.",
    above=False, default=100, label="reporting threshold of file rates")  # fmt: skip

input_quantity("writes_at_once", "B/s", "Write bandwidth of concurrent checkpoints: of all jobs, or of one.",
    above=False, label="write bandwidth of concurrent checkpoints")  # fmt: skip
input_quantity("site_grown_read_bandwidth", "B/s", "Aggregate read bandwidth of concurrent jobs in the last year of the plan.",
    above=False, label="aggregate read bandwidth in the last year")  # fmt: skip


def columns(table: str, **units: str) -> None:
    """Declare columns of a table of the site: an input for each quantity, with its unit."""
    for name, unit in units.items():
        input_quantity(f"{name}_of_{table}", unit, f"Column {name} of all {table} of the site.", above=False)


columns(
    "jobs",
    job_read_bandwidth="B/s",
    node_read_bandwidth="B/s/node",
    run_read_bandwidth="B/s",
    job_sustained_read_bandwidth="B/s",
    job_write_bandwidth="B/s",
    checkpoint_write_bandwidth="B/s",
    job_sustained_write_bandwidth="B/s",
    restart_read_bandwidth="B/s",
    job_restart_bandwidth="B/s",
    job_file_opens="file/s",
    job_file_creates="file/s",
    job_staging_bandwidth="B/s",
    node_local_bytes="B/node",
    job_checkpoint_bytes_held="B",
    job_checkpoint_files_held="file",
    job_checkpoint_bytes_per_day="B",
    nodes_at_once="node",
    nodes_on_average="node",
    staging_nodes="node",
    writing_nodes="node",
)
columns(
    "clusters",
    cluster_read_bandwidth="B/s",
    cluster_clients="node",
)
columns(
    "datasets",
    dataset_bytes_held="B",
    dataset_files_held="file",
    dataset_bytes_written_per_day="B",
    dataset_bytes_added_per_day="B",
)
columns(
    "years",
    year_bytes_written_per_day="B",
    year_usable_bytes="B",
    year_files="file",
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


@formula(unit="node", source="definition", label="nodes that read concurrently")
def cluster_clients(nodes_at_once_of_jobs: Num, cluster_nodes: Num) -> Num:
    """Nodes of a cluster that read concurrently.

    >>> cluster_clients([100, 60], 128)
    128
    """
    return minimum(total(nodes_at_once_of_jobs), cluster_nodes)


@formula(unit="node", source="definition")
def site_clients(cluster_clients_of_clusters: Num) -> Num:
    """Nodes of the site that read concurrently.

    >>> site_clients([128, 16])
    144
    """
    return total(cluster_clients_of_clusters)


@formula(unit="node", source="definition")
def staging_clients(staging_nodes_of_jobs: Num, site_clients: Num) -> Num:
    """Nodes of the site that stage their data concurrently.

    >>> staging_clients([8], 64)
    8
    """
    return minimum(total(staging_nodes_of_jobs), site_clients)


@formula(unit="node", source="definition")
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


@formula(unit="B/s", source="definition", label="read bandwidth of the most demanding run")
def site_largest_read_bandwidth(run_read_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Read bandwidth of the most demanding single run.

    >>> site_largest_read_bandwidth([10e9, 20e9], 0.2)
    24000000000.0
    """
    return largest(run_read_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="aggregate read bandwidth of concurrent jobs")
def site_read_bandwidth(cluster_read_bandwidth_of_clusters: Num, performance_headroom: Num) -> Num:
    """Aggregate read bandwidth of all jobs that can run concurrently, first epoch (cold cache).

    >>> site_read_bandwidth([10e9, 20e9], 0)
    30000000000.0
    """
    return total(cluster_read_bandwidth_of_clusters) * (1 + performance_headroom)


@formula(unit="B/s/node", source="definition", label="read bandwidth of one node")
def site_node_read_bandwidth(node_read_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Read bandwidth of one node of the most demanding job.

    >>> site_node_read_bandwidth([1e9, 6.4e9], 0)
    6400000000.0
    """
    return largest(node_read_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="aggregate write bandwidth of concurrent checkpoints")
def site_write_bandwidth(job_write_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Aggregate checkpoint write bandwidth of the site, all jobs concurrently.

    >>> site_write_bandwidth([10e9, 20e9], 0)
    30000000000.0
    """
    return total(job_write_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="write bandwidth of the most demanding run")
def site_largest_write_bandwidth(checkpoint_write_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Checkpoint write bandwidth of the most demanding single run.

    >>> site_largest_write_bandwidth([10e9, 20e9], 0)
    20000000000.0
    """
    return largest(checkpoint_write_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="sustained write bandwidth")
def site_sustained_write_bandwidth(job_sustained_write_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Sustained checkpoint write bandwidth of the site: all jobs, averaged over time.

    >>> site_sustained_write_bandwidth([1e9, 2e9], 0)
    3000000000.0
    """
    return total(job_sustained_write_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(
    unit="B/s",
    source=MODEL,
    where="a single run, but never less than what all of them write on average",
    label="write bandwidth of alternating checkpoints",
)
def site_writes_in_turn(site_largest_write_bandwidth: Num, site_sustained_write_bandwidth: Num) -> Num:
    """Checkpoint write bandwidth where runs alternate: asynchronous checkpoints may drain without a pause.

    >>> site_writes_in_turn(19e9, 20e9)
    20000000000.0
    """
    return maximum(site_largest_write_bandwidth, site_sustained_write_bandwidth)


@formula(unit="B/s", source="definition", label="aggregate bandwidth of concurrent reads and checkpoints")
def site_mixed_bandwidth(site_read_bandwidth: Num, writes_at_once: Num) -> Num:
    """Aggregate bandwidth of concurrent reads and checkpoint writes.

    >>> site_mixed_bandwidth(30e9, 10e9)
    40000000000.0
    """
    return site_read_bandwidth + writes_at_once


@formula(unit="B/s", source="definition", label="bandwidth of alternating reads and checkpoints")
def site_alternating_bandwidth(site_read_bandwidth: Num, writes_at_once: Num) -> Num:
    """Bandwidth of alternating reads and checkpoint writes: the larger of both.

    >>> site_alternating_bandwidth(30e9, 10e9)
    30000000000.0
    """
    return maximum(site_read_bandwidth, writes_at_once)


@formula(unit="B/s", source="definition", label="restore bandwidth of the most demanding run")
def site_largest_restart_bandwidth(restart_read_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Restore bandwidth of the most demanding single run.

    >>> site_largest_restart_bandwidth([1e9, 9e9], 0)
    9000000000.0
    """
    return largest(restart_read_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="aggregate restore bandwidth of concurrent runs")
def site_restart_bandwidth(job_restart_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Aggregate restore bandwidth of all jobs, as after an outage of the whole site.

    >>> site_restart_bandwidth([1e9, 9e9], 0)
    10000000000.0
    """
    return total(job_restart_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="file/s", source="definition", label="aggregate file opens")
def site_file_opens(job_file_opens_of_jobs: Num, performance_headroom: Num) -> Num:
    """File opens per second of the site.

    >>> site_file_opens([100.0, 50.0], 0)
    150.0
    """
    return total(job_file_opens_of_jobs) * (1 + performance_headroom)


@formula(unit="file/s", source="definition", label="aggregate file creates")
def site_file_creates(job_file_creates_of_jobs: Num, performance_headroom: Num) -> Num:
    """File creates per second of the site while all checkpoints are written.

    >>> site_file_creates([100.0, 50.0], 0)
    150.0
    """
    return total(job_file_creates_of_jobs) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="staging bandwidth")
def site_staging_bandwidth(job_staging_bandwidth_of_jobs: Num, performance_headroom: Num) -> Num:
    """Read bandwidth that stages all data sets on their nodes within the time allowed.

    >>> site_staging_bandwidth([1e9, 2e9], 0)
    3000000000.0
    """
    return total(job_staging_bandwidth_of_jobs) * (1 + performance_headroom)


@formula(unit="B/node", source="definition", label="node-local capacity")
def site_node_local_bytes(node_local_bytes_of_jobs: Num) -> Num:
    """NVMe capacity of a node for staging or caching, for the most demanding job.

    >>> site_node_local_bytes([1e12, 2e12])
    2000000000000.0
    """
    return largest(node_local_bytes_of_jobs)


@formula(unit="B", source="definition", label="data held")
def year_usable_bytes(dataset_bytes_held_of_datasets: Num, job_checkpoint_bytes_held_of_jobs: Num) -> Num:
    """Data held in one year: data sets and retained checkpoints.

    >>> year_usable_bytes([1e12, 2e12], [5e12])
    8000000000000.0
    """
    return total(dataset_bytes_held_of_datasets) + total(job_checkpoint_bytes_held_of_jobs)


@formula(unit="file", source="definition", label="files held")
def year_files(dataset_files_held_of_datasets: Num, job_checkpoint_files_held_of_jobs: Num) -> Num:
    """Files held in one year: of data sets and of retained checkpoints.

    >>> year_files([100, 200], [5])
    305
    """
    return total(dataset_files_held_of_datasets) + total(job_checkpoint_files_held_of_jobs)


@formula(unit="B", source="definition", label="data held")
def site_usable_bytes(year_usable_bytes_of_years: Num) -> Num:
    """Data held in the most demanding year.

    >>> site_usable_bytes([8e12, 9e12])
    9000000000000.0
    """
    return largest(year_usable_bytes_of_years)


@formula(unit="file", source="definition", label="files held")
def site_files(year_files_of_years: Num) -> Num:
    """Files held in the most demanding year.

    >>> site_files([800, 900])
    900
    """
    return largest(year_files_of_years)


@formula(unit="1", source="definition")
def further_copies(replicas: Num) -> Num:
    """Copies of each byte beyond the first.

    >>> further_copies(3)
    2
    """
    return replicas - 1


@formula(unit="1", source="definition")
def working_units(storage_units: Num, failed_servers: Num) -> Num:
    """Servers or enclosures that work while some are down: at least one.

    >>> working_units(20, 1)
    19
    """
    return maximum(storage_units - failed_servers, 1)


@formula(unit="B", source="definition", label="raw capacity")
def year_raw_bytes(year_usable_bytes: Num, usable_share: Num) -> Num:
    """Raw capacity for the data held, with protection, file system, fill limit and failed units.

    >>> round(year_raw_bytes(10e15, 8 / 11 * 0.85) / 1e15, 2)
    16.18
    """
    return year_usable_bytes / usable_share


@formula(unit="B", source="definition", label="raw capacity")
def site_raw_bytes(site_usable_bytes: Num, usable_share: Num) -> Num:
    """Raw capacity for the most demanding year.

    >>> round(site_raw_bytes(10e15, 0.85 / 3) / 1e15, 2)
    35.29
    """
    return site_usable_bytes / usable_share


@formula(unit="B", source="definition", label="writes per day")
def year_bytes_written_per_day(
    job_checkpoint_bytes_per_day_of_jobs: Num,
    dataset_bytes_written_per_day_of_datasets: Num,
    dataset_bytes_added_per_day_of_datasets: Num,
) -> Num:
    """Bytes per day that clients write in one year: checkpoints, new versions of data sets, first loads and growth.

    >>> year_bytes_written_per_day([500e12], [1e12], [2e12])
    503000000000000.0
    """
    return (
        total(job_checkpoint_bytes_per_day_of_jobs)
        + total(dataset_bytes_written_per_day_of_datasets)
        + total(dataset_bytes_added_per_day_of_datasets)
    )


@formula(unit="B", source="definition")
def site_bytes_written_per_day(year_bytes_written_per_day_of_years: Num) -> Num:
    """Bytes per day that clients write in the most demanding year.

    >>> site_bytes_written_per_day([500e12, 600e12])
    600000000000000.0
    """
    return largest(year_bytes_written_per_day_of_years)


@formula(unit="B", source=MODEL, where="written bytes ÷ η: replicas and parity are written too", label="media writes per day")
def site_media_bytes_per_day(site_bytes_written_per_day: Num, protection_efficiency: Num) -> Num:
    """Bytes per day written to the media, replicas and parity included; amplification inside the drives is left out.

    >>> site_media_bytes_per_day(400e12, 0.8)
    500000000000000.0
    """
    return site_bytes_written_per_day / protection_efficiency
