"""Capacity of a site, the writes that its media endure year by year, and the floor of a reference architecture."""

from ingest.engine.expression import Num, largest, maximum, minimum, total
from ingest.engine.registry import alternative, formula, input_quantity

MODEL = "ingest-site-model"

# What is kept besides training data
input_quantity("snapshot_share", "1", "Snapshots, as a share of the data held.", above=False, high=1, default=0)
input_quantity("rebuild_spare_share", "1", "Spare for rebuilds, as a share of the data held.", above=False, high=1, default=0)
input_quantity("replica_share", "1", "Replicas of other sites, as a share of the data held.", above=False, high=1, default=0)
input_quantity("home_bytes", "B", "Home and project directories.", above=False, default=0)
input_quantity("container_bytes", "B", "Container images and software environments.", above=False, default=0)
input_quantity("log_bytes", "B", "Logs, profiles and results of evaluations.", above=False, default=0)
input_quantity("warranty_seconds", "s", "Period over which the media must endure the writes.", label="warranty period")

# What the bytes of a year follow from where the site keeps more than data sets and checkpoints
alternative("year_usable_bytes", "year_bytes_with_tiers", when="tiers_shared")
alternative("year_usable_bytes", "year_bytes_with_scratch", when="data_prepared")
alternative("year_bytes_written_per_day", "year_writes_with_tiers", when="tiers_shared")
alternative("year_bytes_written_per_day", "year_writes_with_scratch", when="data_prepared")


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
    """Data held in the most demanding year."""
    return largest(year_usable_bytes_of_years)


@formula(unit="file", source="definition", label="files held")
def site_files(year_files_of_years: Num) -> Num:
    """Files held in the most demanding year."""
    return largest(year_files_of_years)


@formula(unit="1", source="definition")
def further_copies(replicas: Num) -> Num:
    """Copies of each byte beyond the first."""
    return replicas - 1


@formula(unit="1", source="definition", whole=True)
def working_units(storage_units: Num, failed_servers: Num) -> Num:
    """Servers or enclosures that work while some are down: at least one.

    >>> working_units(20, 1)
    19
    """
    return maximum(storage_units - failed_servers, 1)


@formula(unit="B", source="definition", label="reserve")
def year_reserve_bytes(
    year_usable_bytes: Num,
    snapshot_share: Num,
    rebuild_spare_share: Num,
    replica_share: Num,
    home_bytes: Num,
    container_bytes: Num,
    log_bytes: Num,
) -> Num:
    """Capacity of one year for what is not training data: shares of the data held, and bytes.

    >>> year_reserve_bytes(100e12, 0.1, 0.05, 0, 5e12, 2e12, 1e12)
    23000000000000.0
    """
    return year_usable_bytes * (snapshot_share + rebuild_spare_share + replica_share) + home_bytes + container_bytes + log_bytes


@formula(unit="B", source="definition", label="data held and reserve")
def year_planned_bytes(year_usable_bytes: Num, year_reserve_bytes: Num) -> Num:
    """Bytes that the storage has to hold in one year: training data, and what is not."""
    return year_usable_bytes + year_reserve_bytes


@formula(unit="B", source="definition", label="data held and reserve")
def site_planned_bytes(year_planned_bytes_of_years: Num) -> Num:
    """Bytes that the storage has to hold in the most demanding year."""
    return largest(year_planned_bytes_of_years)


@formula(unit="B", source="definition", label="usable capacity to buy")
def site_capacity_to_buy(site_planned_bytes: Num, fill_limit: Num) -> Num:
    """Usable capacity of which the data held and the reserve fill no more than the fill limit."""
    return site_planned_bytes / fill_limit


@formula(unit="B", source="definition", label="usable capacity")
def year_capacity_to_buy(year_planned_bytes: Num, fill_limit: Num) -> Num:
    """Usable capacity of which data and reserve of one year fill no more than the fill limit."""
    return year_planned_bytes / fill_limit


@formula(unit="B", source="definition", label="raw capacity")
def year_raw_bytes(year_planned_bytes: Num, usable_share: Num) -> Num:
    """Raw capacity for data and reserve, with protection, file system, fill limit and failed units."""
    return year_planned_bytes / usable_share


@formula(unit="B", source="definition", label="raw capacity")
def site_raw_bytes(site_planned_bytes: Num, usable_share: Num) -> Num:
    """Raw capacity for the most demanding year."""
    return site_planned_bytes / usable_share


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
    """Bytes per day that clients write in the most demanding year."""
    return largest(year_bytes_written_per_day_of_years)


@formula(unit="B", source=MODEL, where="written bytes ÷ η: replicas and parity are written too", label="media writes per day")
def site_media_bytes_per_day(site_bytes_written_per_day: Num, protection_efficiency: Num) -> Num:
    """Bytes per day written to the media, replicas and parity included; amplification inside the drives is left out."""
    return site_bytes_written_per_day / protection_efficiency


@formula(unit="1", source="definition", label="drive writes per day of the raw capacity")
def site_drive_writes_per_day(site_media_bytes_per_day: Num, site_raw_bytes: Num) -> Num:
    """Media writes per day, over the raw capacity."""
    return site_media_bytes_per_day / site_raw_bytes


@formula(unit="s", source="definition", label="time to fill the storage")
def site_fill_seconds(site_planned_bytes: Num, site_write_bandwidth: Num, site_load_bandwidth: Num) -> Num:
    """Time to write all that the storage holds, at the largest of its required write bandwidths.

    >>> site_fill_seconds(8.64e15, 100e9, 6e9)
    86400.0
    """
    return site_planned_bytes / maximum(site_write_bandwidth, site_load_bandwidth)


@formula(unit="1", source="definition", label="warranty period in years")
def warranty_years(warranty_seconds: Num, seconds_per_year: Num) -> Num:
    """Years over which the media must endure the writes."""
    return warranty_seconds / seconds_per_year


input_quantity("guidance_write_bandwidth", "B/s", "Write bandwidth of one scalable unit at a level of the guidance.")
input_quantity("guidance_units", "1", "Scalable units up to which the guidance is published.", default=1, whole=True)
input_quantity("guidance_request_bytes", "B", "Size of one read where the guidance decides.", label="read size of the guidance")
input_quantity("guidance_client_read_bandwidth", "B/s/node", "Read bandwidth of a single node at a level of the guidance.")
input_quantity("guidance_client_write_bandwidth", "B/s/node", "Write bandwidth of a single node at a level of the guidance.")


@formula(unit="B/s/GPU", source="definition", label="write bandwidth per GPU of the guidance")
def guidance_write_bandwidth_per_gpu(guidance_write_bandwidth: Num, guidance_gpus: Num) -> Num:
    """Write bandwidth per GPU that a level asks for."""
    return guidance_write_bandwidth / guidance_gpus


@formula(unit="GPU", source="definition", label="published scale of the guidance", whole=True)
def guidance_scale(guidance_gpus: Num, guidance_units: Num) -> Num:
    """GPUs up to which the guidance is published; beyond them it asks for no more."""
    return guidance_gpus * guidance_units


@formula(unit="GPU", source="definition", label="GPUs of the cluster", whole=True)
def cluster_gpus(cluster_nodes: Num, gpus_per_node: Num) -> Num:
    """GPUs of a cluster."""
    return cluster_nodes * gpus_per_node


@formula(unit="B/s", source="definition", label="reads of the guidance for a cluster")
def cluster_read_floor(cluster_gpus: Num, guidance_scale: Num, guidance_read_bandwidth_per_gpu: Num) -> Num:
    """Read bandwidth that the guidance asks for, for the GPUs of a cluster, up to its published scale.

    >>> cluster_read_floor(512, 1024, 15e9 / 256), cluster_read_floor(16_384, 1024, 15e9 / 256)
    (30000000000.0, 60000000000.0)
    """
    return minimum(cluster_gpus, guidance_scale) * guidance_read_bandwidth_per_gpu


@formula(unit="B/s", source="definition", label="writes of the guidance for a cluster")
def cluster_write_floor(cluster_gpus: Num, guidance_scale: Num, guidance_write_bandwidth_per_gpu: Num) -> Num:
    """Write bandwidth that the guidance asks for, for the GPUs of a cluster, up to its published scale.

    >>> cluster_write_floor(512, 1024, 7e9 / 256)
    14000000000.0
    """
    return minimum(cluster_gpus, guidance_scale) * guidance_write_bandwidth_per_gpu


@formula(unit="B/s", source="definition", label="reads of the guidance")
def site_read_floor(cluster_read_floor_of_clusters: Num) -> Num:
    """Read bandwidth that the guidance asks for, for all clusters of the site."""
    return total(cluster_read_floor_of_clusters)


@formula(unit="B/s", source="definition", label="writes of the guidance")
def site_write_floor(cluster_write_floor_of_clusters: Num) -> Num:
    """Write bandwidth that the guidance asks for, for all clusters of the site."""
    return total(cluster_write_floor_of_clusters)


@formula(unit="B/s", source="definition", label="reads of the guidance for a run")
def run_read_floor(gpus: Num, guidance_scale: Num, guidance_read_bandwidth_per_gpu: Num) -> Num:
    """Read bandwidth that the guidance asks for, for the GPUs of one run.

    >>> run_read_floor(128, 1024, 15e9 / 256)
    7500000000.0
    """
    return minimum(gpus, guidance_scale) * guidance_read_bandwidth_per_gpu


@formula(unit="B/s", source="definition", label="writes of the guidance for a run")
def run_guidance_writes(gpus: Num, guidance_scale: Num, guidance_write_bandwidth_per_gpu: Num) -> Num:
    """Write bandwidth that the guidance asks for, for the GPUs of one run.

    >>> run_guidance_writes(128, 1024, 7e9 / 256)
    3500000000.0
    """
    return minimum(gpus, guidance_scale) * guidance_write_bandwidth_per_gpu


input_quantity("run_write_floor", "B/s", "Writes of the guidance for a run that saves checkpoints.",
    above=False, label="writes of the guidance for a run that saves")  # fmt: skip
alternative("run_write_floor", "run_guidance_writes", when="guided_saves")
input_quantity("run_restart_floor", "B/s", "Reads of the guidance for a run that restores checkpoints.",
    above=False, label="reads of the guidance for a run that restores")  # fmt: skip
alternative("run_restart_floor", "run_read_floor", when="guided_saves")


@formula(unit="B/s/node", source="definition", label="reads of the guidance for one node")
def node_read_floor(guidance_client_read_bandwidth: Num, storage_nic_bandwidth_per_node: Num) -> Num:
    """Read bandwidth that the guidance asks for, for a single node; at most what its storage NICs take."""
    return minimum(guidance_client_read_bandwidth, storage_nic_bandwidth_per_node)


@formula(unit="B/s", source="definition", label="reads of the guidance for the largest run")
def largest_read_floor(run_read_floor_of_jobs: Num) -> Num:
    """Read bandwidth that the guidance asks for, for the largest run."""
    return largest(run_read_floor_of_jobs)


@formula(unit="B/s/node", source="definition", label="reads of the guidance for any node")
def largest_node_floor(node_read_floor_of_jobs: Num) -> Num:
    """Read bandwidth that the guidance asks for, for a node of any cluster."""
    return largest(node_read_floor_of_jobs)


@formula(unit="B/s", source="definition", label="writes of the guidance for the largest run")
def largest_write_floor(run_write_floor_of_jobs: Num) -> Num:
    """Write bandwidth that the guidance asks for, for the largest run that saves checkpoints."""
    return largest(run_write_floor_of_jobs)


@formula(unit="B/s", source="definition", label="reads of the guidance for the largest run that restores")
def largest_restart_floor(run_restart_floor_of_jobs: Num) -> Num:
    """Read bandwidth that the guidance asks for, for the largest run that restores a checkpoint."""
    return largest(run_restart_floor_of_jobs)


input_quantity("practice_least_per_gpu", "B/s/GPU", "Least checkpoint write bandwidth per GPU observed in large runs.")
input_quantity("practice_most_per_gpu", "B/s/GPU", "Most checkpoint write bandwidth per GPU observed in large runs.")


@formula(unit="B/s", source="definition", label="least writes in practice")
def practice_least_writes(cluster_gpus: Num, practice_least_per_gpu: Num) -> Num:
    """Least checkpoint write bandwidth observed in large runs, for so many GPUs."""
    return cluster_gpus * practice_least_per_gpu


@formula(unit="B/s", source="definition", label="most writes in practice")
def practice_most_writes(cluster_gpus: Num, practice_most_per_gpu: Num) -> Num:
    """Most checkpoint write bandwidth observed in large runs, for so many GPUs."""
    return cluster_gpus * practice_most_per_gpu


# The columns of the table that compares guidance, workload and practice
input_quantity("compared_reads", "B/s", "Aggregate reads of a level, of the workload, or of practice.",
    above=False, label="reads")  # fmt: skip
input_quantity("compared_writes", "B/s", "Aggregate writes of a level, of the workload, or of practice.",
    above=False, label="writes")  # fmt: skip
input_quantity("compared_node_reads", "B/s/node", "Reads of one node at a level or of the workload.",
    above=False, label="reads of one node")  # fmt: skip
input_quantity("compared_node_writes", "B/s/node", "Writes of one node at a level.", above=False, label="writes of one node")
