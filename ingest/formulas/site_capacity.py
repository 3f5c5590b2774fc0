"""Capacity of a site, the writes that its media endure year by year, and the floor of a reference architecture."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities
from ingest.formulas.site_totals import MODEL, columns

input_quantities(__file__)

computed_quantity("homes_of_users", "home_users * home_quota", "B", "Home directories, if every user fills the quota.",
    of="home_bytes", when="homes_have_quotas")  # fmt: skip

# What the buyer requires, whatever the workload needs
computed_quantity("capacity_at_least", "maximum(needed_bytes, stated_bytes)", "B",
    "Capacity that is required: what the plan needs, at least what the buyer states.",
    label="capacity with the buyer's minimum")  # fmt: skip
computed_quantity("rate_at_least", "maximum(needed_rate, stated_rate)", "B/s",
    "Bandwidth that is required: what the plan needs, at least what the buyer states.",
    label="bandwidth with the buyer's minimum")  # fmt: skip

# Existing data that move to the new storage
computed_quantity("planned_or_migrated_bytes", "maximum(year_usable_bytes + year_reserve_bytes, migrated_bytes)", "B",
    "Bytes that the storage has to hold in one year: at least the existing data that move to it.",
    label="data held or migrated", of="year_planned_bytes", when="data_migrated",
    example="planned_or_migrated_bytes(1e12, 0, 3e12) -> 3000000000000.0")  # fmt: skip
computed_quantity("site_migration_bandwidth",
    "minimum(migrated_bytes / migration_seconds * (1 + performance_headroom), site_moving_drawable_bandwidth)", "B/s",
    "Write bandwidth that takes the existing data in the time allowed, at most what the nodes draw that move them.",
    label="migration bandwidth",
    example="site_migration_bandwidth(2.592e15, 2_592_000, 0.5, 360e9) -> 1500000000.0")  # fmt: skip

# The archive tier
columns("archived", "B", "dataset_bytes_held")
columns("archived", "B/s", "dataset_load_bandwidth dataset_refresh_bandwidth dataset_preparation_write_bandwidth")
columns("recalled", "B/s", "dataset_preparation_bandwidth")
columns("years", "B", "year_archive_bytes")
columns("years", "B/s", "year_archive_write_bandwidth year_archive_read_bandwidth")
computed_quantity("year_archive_bytes", "total(dataset_bytes_held_of_archived) + archive_reserve_bytes", "B",
    "Bytes that the archive tier has to hold in one year.", label="archived data",
    example="year_archive_bytes([1e15, 2e15], 5e14) -> 3500000000000000.0")  # fmt: skip
computed_quantity("year_archive_write_bandwidth",
    "minimum((maximum(total(dataset_load_bandwidth_of_archived), total(dataset_refresh_bandwidth_of_archived))"
    " + total(dataset_preparation_write_bandwidth_of_archived)) * (1 + performance_headroom), site_moving_drawable_bandwidth)",
    "B/s", "Write bandwidth of the archive tier in one year: loads or later versions, and what is prepared for it.",
    label="writes of the archive tier",
    example="year_archive_write_bandwidth([1e9], [2e9], [5e8], 0, 360e9) -> 2500000000.0")  # fmt: skip
computed_quantity("year_archive_read_bandwidth",
    "minimum(total(dataset_preparation_bandwidth_of_recalled) * (1 + performance_headroom), site_moving_drawable_bandwidth)",
    "B/s", "Read bandwidth of the archive tier in one year: data sets that are made from archived ones.",
    label="reads of the archive tier", example="year_archive_read_bandwidth([1e9], 0.2, 360e9) -> 1200000000.0")  # fmt: skip
computed_quantity("site_archive_bytes", "largest(year_archive_bytes_of_years)", "B",
    "Bytes that the archive tier has to hold in the most demanding year.", label="archive capacity")  # fmt: skip
computed_quantity("site_archive_write_bandwidth", "largest(year_archive_write_bandwidth_of_years)", "B/s",
    "Write bandwidth of the archive tier in the most demanding year.", label="archive write bandwidth")  # fmt: skip
computed_quantity("site_archive_read_bandwidth", "largest(year_archive_read_bandwidth_of_years)", "B/s",
    "Read bandwidth of the archive tier in the most demanding year.", label="archive read bandwidth")  # fmt: skip

# Checkpoints that grow with the parameters of the models
computed_quantity("parameter_growth", "parameter_growth_factor ** (elapsed_seconds / growth_period_seconds)", "1",
    "Parameters of a model now, over those at the start of the plan.", where="the factor, compounded over the periods",
    label="growth of the parameters", example="parameter_growth(2, 3 * 31_557_600, 31_557_600) -> 8.0")  # fmt: skip
computed_quantity("grown_parameters", "start_parameters * parameter_growth", "parameter",
    "Parameters of the model of a job in a year of the plan.", label="parameters of the grown model")  # fmt: skip
computed_quantity("grown_weights_bytes", "grown_parameters * released_bytes_per_parameter", "B",
    "Weights of the grown model as they are released and served.", label="weights of the grown model")  # fmt: skip
computed_quantity("grown_bytes_of_job", "start_bytes_of_job * parameter_growth", "B",
    "Bytes of a job now: checkpoints grow as its parameters do.", source=MODEL, where="bytes per parameter stay",
    label="bytes of the grown model")  # fmt: skip
computed_quantity("grown_index_bytes", "start_bytes_of_job * capacity_growth", "B",
    "Bytes of an index now: they grow as its vectors do.", source=MODEL, where="bytes per vector stay")  # fmt: skip
computed_quantity("grown_rate_of_job", "start_rate_of_job * parameter_growth", "B/s",
    "Bandwidth of a job now: checkpoints grow as its parameters do, and the times that it allows stay.", source=MODEL,
    where="bytes per parameter and times stay", label="bandwidth of the grown model")  # fmt: skip
computed_quantity("site_grown_write_bandwidth", "grown_write_bandwidth", "B/s",
    "Checkpoint write bandwidth in the last year of the plan.", label="write bandwidth in the last year")  # fmt: skip
computed_quantity("site_grown_restart_bandwidth", "grown_restart_bandwidth", "B/s",
    "Restore bandwidth of all runs in the last year of the plan.", label="restore bandwidth in the last year")  # fmt: skip

# What the bytes of a year follow from where the site keeps more than data sets and checkpoints
alternative("year_usable_bytes", "year_bytes_with_tiers", when="tiers_shared")
alternative("year_usable_bytes", "year_bytes_with_scratch", when="data_prepared")
alternative("year_bytes_written_per_day", "year_writes_with_tiers", when="tiers_shared")
alternative("year_bytes_written_per_day", "year_writes_with_scratch", when="data_prepared")

computed_quantity("year_usable_bytes", "total(dataset_bytes_held_of_datasets) + total(job_checkpoint_bytes_held_of_jobs)", "B",
    "Data held in one year: data sets and retained checkpoints.", label="data held",
    example="year_usable_bytes([1e12, 2e12], [5e12]) -> 8000000000000.0")  # fmt: skip
computed_quantity("year_files", "total(dataset_files_held_of_datasets) + total(job_checkpoint_files_held_of_jobs)", "file",
    "Files held in one year: of data sets and of retained checkpoints.", label="files held",
    example="year_files([100, 200], [5]) -> 305")  # fmt: skip
computed_quantity("site_usable_bytes", "largest(year_usable_bytes_of_years)", "B",
    "Data held in the most demanding year.", label="data held")  # fmt: skip
computed_quantity("site_files", "largest(year_files_of_years)", "file",
    "Files held in the most demanding year.", label="files held")  # fmt: skip
computed_quantity("further_copies", "replicas - 1", "1", "Copies of each byte beyond the first.")
computed_quantity("working_units", "maximum(storage_units - failed_servers, 1)", "1",
    "Servers or enclosures that work while some are down: at least one.", whole=True,
    example="working_units(20, 1) -> 19")  # fmt: skip
computed_quantity("year_reserve_bytes",
    "year_usable_bytes * (snapshot_share + rebuild_spare_share + replica_share) + home_bytes + scratch_bytes"
    " + container_bytes + log_bytes", "B",
    "Capacity of one year for what is not training data: shares of the data held, and bytes.", label="reserve",
    example="year_reserve_bytes(100e12, 0.1, 0.05, 0, 5e12, 4e12, 2e12, 1e12) -> 27000000000000.0")  # fmt: skip
computed_quantity("year_planned_bytes", "year_usable_bytes + year_reserve_bytes", "B",
    "Bytes that the storage has to hold in one year: training data, and what is not.",
    label="data held and reserve")  # fmt: skip
computed_quantity("site_planned_bytes", "largest(year_planned_bytes_of_years)", "B",
    "Bytes that the storage has to hold in the most demanding year.", label="data held and reserve")  # fmt: skip
computed_quantity("site_capacity_to_buy", "site_planned_bytes / fill_limit", "B",
    "Usable capacity of which the data held and the reserve fill no more than the fill limit.",
    label="usable capacity to buy")  # fmt: skip
computed_quantity("year_capacity_to_buy", "year_planned_bytes / fill_limit", "B",
    "Usable capacity of which data and reserve of one year fill no more than the fill limit.",
    label="usable capacity")  # fmt: skip
computed_quantity("year_raw_bytes", "year_planned_bytes / usable_share", "B",
    "Raw capacity for data and reserve, with protection, file system, fill limit and failed units.",
    label="raw capacity")  # fmt: skip
computed_quantity("site_raw_bytes", "site_planned_bytes / usable_share", "B",
    "Raw capacity for the most demanding year.", label="raw capacity")  # fmt: skip
computed_quantity("year_bytes_written_per_day",
    "total(job_checkpoint_bytes_per_day_of_jobs) + total(dataset_bytes_written_per_day_of_datasets)"
    " + total(dataset_bytes_added_per_day_of_datasets)", "B",
    "Bytes per day that clients write in one year: checkpoints, new versions of data sets, first loads and growth.",
    label="writes per day", example="year_bytes_written_per_day([500e12], [1e12], [2e12]) -> 503000000000000.0")  # fmt: skip
computed_quantity("site_bytes_written_per_day", "largest(year_bytes_written_per_day_of_years)", "B",
    "Bytes per day that clients write in the most demanding year.")  # fmt: skip
computed_quantity("site_media_bytes_per_day", "site_bytes_written_per_day / protection_efficiency", "B",
    "Bytes per day written to the media, replicas and parity included; amplification inside the drives is left out.",
    source=MODEL, where="written bytes ÷ η: replicas and parity are written too", label="media writes per day")  # fmt: skip
computed_quantity("site_drive_writes_per_day", "site_media_bytes_per_day / site_raw_bytes", "1",
    "Media writes per day, over the raw capacity.", label="drive writes per day of the raw capacity")  # fmt: skip
computed_quantity("smallest_media_bytes_asked", "smallest_drive_writes_asked * site_raw_bytes", "B",
    "Reporting threshold of media writes per day.", label="reporting threshold of media writes per day")  # fmt: skip
computed_quantity("site_fill_seconds",
    "site_planned_bytes / maximum(maximum(site_write_bandwidth, site_load_bandwidth),"
    " maximum(site_preparation_write_bandwidth, site_landing_bandwidth))", "s",
    "Time to write all that the storage holds, at the largest of its required write bandwidths.",
    label="time to fill the storage", example="site_fill_seconds(8.64e15, 100e9, 6e9, 4e9, 0) -> 86400.0")  # fmt: skip
computed_quantity("warranty_years", "warranty_seconds / seconds_per_year", "1",
    "Years over which the media must endure the writes.", label="warranty period in years")  # fmt: skip

computed_quantity("guidance_write_bandwidth_per_gpu", "guidance_write_bandwidth / guidance_gpus", "B/s/GPU",
    "Write bandwidth per GPU that a level asks for.", label="write bandwidth per GPU of the guidance")  # fmt: skip
computed_quantity("guidance_scale", "guidance_gpus * guidance_units", "GPU",
    "GPUs up to which the guidance is published; beyond them it asks for no more.", label="published scale of the guidance",
    whole=True)  # fmt: skip
computed_quantity("cluster_gpus", "cluster_nodes * gpus_per_node", "GPU",
    "GPUs of a cluster.", label="GPUs of the cluster", whole=True)  # fmt: skip
for _way, _made in (("read", "Read"), ("write", "Write")):
    computed_quantity(f"cluster_{_way}_floor",
        f"minimum(cluster_gpus, guidance_scale) * guidance_{_way}_bandwidth_per_gpu", "B/s",
        f"{_made} bandwidth that the guidance asks for, for the GPUs of a cluster, up to its published scale.",
        label=f"{_way}s of the guidance for a cluster",
        example=f"cluster_{_way}_floor(512, 1024, 15e9 / 256), cluster_{_way}_floor(16_384, 1024, 15e9 / 256)"
            " -> (30000000000.0, 60000000000.0)")  # fmt: skip
    computed_quantity(f"site_{_way}_floor", f"total(cluster_{_way}_floor_of_clusters)", "B/s",
        f"{_made} bandwidth that the guidance asks for, for all clusters of the site.",
        label=f"{_way}s of the guidance")  # fmt: skip
computed_quantity("run_read_floor", "minimum(gpus, guidance_scale) * guidance_read_bandwidth_per_gpu", "B/s",
    "Read bandwidth that the guidance asks for, for the GPUs of one run.", label="reads of the guidance for a run",
    of="run_restart_floor", when="guided_saves", example="run_read_floor(128, 1024, 15e9 / 256) -> 7500000000.0")  # fmt: skip
computed_quantity("run_guidance_writes", "minimum(gpus, guidance_scale) * guidance_write_bandwidth_per_gpu", "B/s",
    "Write bandwidth that the guidance asks for, for the GPUs of one run.", label="writes of the guidance for a run",
    of="run_write_floor", when="guided_saves", example="run_guidance_writes(128, 1024, 7e9 / 256) -> 3500000000.0")  # fmt: skip


computed_quantity("node_read_floor", "minimum(guidance_client_read_bandwidth, node_drawable_bandwidth)", "B/s/node",
    "Read bandwidth that the guidance asks for, for a single node; at most what it draws.",
    label="reads of the guidance for one node")  # fmt: skip
computed_quantity("largest_read_floor", "largest(run_read_floor_of_jobs)", "B/s",
    "Read bandwidth that the guidance asks for, for the largest run.",
    label="reads of the guidance for the largest run")  # fmt: skip
computed_quantity("largest_node_floor", "largest(node_read_floor_of_jobs)", "B/s/node",
    "Read bandwidth that the guidance asks for, for a node of any cluster.",
    label="reads of the guidance for any node")  # fmt: skip
computed_quantity("largest_write_floor", "largest(run_write_floor_of_jobs)", "B/s",
    "Write bandwidth that the guidance asks for, for the largest run that saves checkpoints.",
    label="writes of the guidance for the largest run")  # fmt: skip
computed_quantity("largest_restart_floor", "largest(run_restart_floor_of_jobs)", "B/s",
    "Read bandwidth that the guidance asks for, for the largest run that restores a checkpoint.",
    label="reads of the guidance for the largest run that restores")  # fmt: skip

for _end, _most in (("least", "Least"), ("most", "Most")):
    computed_quantity(f"practice_{_end}_writes", f"cluster_gpus * practice_{_end}_per_gpu", "B/s",
        f"{_most} checkpoint write bandwidth observed in large runs, for so many GPUs.",
        label=f"{_end} writes in practice")  # fmt: skip
