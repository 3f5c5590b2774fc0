"""Capacity of a site and the writes that its media endure, year by year."""

from ingest.engine.expression import Num, largest, maximum, total
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
