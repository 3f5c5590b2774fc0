"""Staging on local drives, caching, prefetching, bandwidth after a failure, preparation and decoding."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities

input_quantities(__file__)

computed_quantity("degraded_read_bandwidth",
    "unit_read_bandwidth * maximum(units - failed_units, 0) * (1 - rebuild_share)", "B/s",
    "Read bandwidth with one failure domain down while the rest rebuilds.",
    example="round(degraded_read_bandwidth(90e9, 6, 1, 0.3) / 1e9), round(degraded_read_bandwidth(90e9, 6, 0.5, 0.3) / 1e9)"
        " -> (315, 346)")  # fmt: skip
computed_quantity("degraded_read_bandwidth_needed", "read_bandwidth_needed * degraded_share", "B/s",
    "Read bandwidth that is needed with one failure domain down.")  # fmt: skip
computed_quantity("units_for_degraded",
    "ceil(degraded_read_bandwidth_needed / (unit_read_bandwidth * (1 - rebuild_share)) + failed_units)", "1",
    "Units that deliver the degraded reads with one failure domain down and the rest rebuilding.", whole=True,
    example="units_for_degraded(500e9, 90e9, 0.3, 1), units_for_degraded(350e9, 90e9, 0.3, 1) -> (9, 7)")  # fmt: skip
computed_quantity("cache_hit_needed", "maximum(0, 1 - read_bandwidth_available / read_bandwidth_needed)", "1",
    "Cache hit share on the nodes at which the available read bandwidth suffices.", high=1,
    needs="read_bandwidth_needed read_bandwidth_available",
    example="round(cache_hit_needed(18.2e9, 3e9), 3), cache_hit_needed(2e9, 3e9) -> (0.835, 0)")  # fmt: skip
computed_quantity("cache_hit_reachable", "minimum(1, cache_bytes_per_node * nodes / (dataset_bytes * copies_cached))", "1",
    "Share of the data set that the caches of all nodes hold; each sample as often as it is cached.", high=1,
    example="round(cache_hit_reachable(512e9, 4, 1.7e12, 4), 3) -> 0.301")  # fmt: skip
computed_quantity("stage_bytes", "dataset_bytes * copies_staged", "B",
    "Bytes copied to local drives: the data set once where the nodes share it, else once for each node.")  # fmt: skip
computed_quantity("stage_seconds", "stage_bytes / read_bandwidth_available", "s",
    "Time to stage the data set.", label="time to stage the data set")  # fmt: skip
computed_quantity("local_read_seconds", "local_request_seconds + sample_bytes / local_stream_bandwidth", "s/sample",
    "Mean time of a worker to read one sample from the drives of its node.", label="time to read a sample from a local drive",
    above=False, example="local_read_seconds(1e-4, 1e6, 2e9) -> 0.0006")  # fmt: skip
computed_quantity("local_drives_load", "unstalled_bandwidth_per_gpu * gpus_per_node / nvme_read_bandwidth_per_node", "1",
    "Reads of a node whose GPUs never wait, over the read bandwidth of its drives.", label="load of the local drives",
    above=False)  # fmt: skip
computed_quantity("fed_epoch_seconds", "epoch_seconds / accelerator_utilization", "s",
    "Duration of an epoch whose GPUs wait for shared storage.", label="duration of an epoch with its loader")  # fmt: skip
computed_quantity("staged_epoch_seconds", "epoch_seconds / staged_utilization", "s",
    "Duration of an epoch whose data are on the drives of the nodes.",
    label="duration of an epoch with staged data")  # fmt: skip
computed_quantity("gain_of_staging", "staged_utilization / accelerator_utilization - 1", "1",
    "Share by which epochs that read shared storage last longer than those with staged data.",
    needs="accelerator_utilization staged_utilization", example="gain_of_staging(0.5, 1) -> 1.0")  # fmt: skip
computed_quantity("staging_break_even_epochs", "stage_seconds / (staged_epoch_seconds * staging_gain)", "1",
    "Epochs after which the shorter epochs have made up for the time of staging.",
    label="epochs from which staging pays")  # fmt: skip
computed_quantity("staged_read_bandwidth", "stage_bytes / (stage_seconds + job_epochs * staged_epoch_seconds)", "B/s",
    "Mean read bandwidth of a job on shared storage that stages its data and then reads its own drives.",
    example="staged_read_bandwidth(100e9, 1250, 10, 625) -> 13333333.3...")  # fmt: skip
computed_quantity("dataset_share_per_node", "dataset_bytes / nodes", "B/node",
    "Bytes of the data set on one node where the nodes share it.")  # fmt: skip
computed_quantity("bytes_in_flight_per_node", "ingest_bandwidth_per_node * stall_bridged_seconds", "B/node",
    "Stored bytes that a node must have in flight or buffered to bridge a pause of the storage.")  # fmt: skip
computed_quantity("samples_to_prefetch_per_gpu", "samples_per_second_per_gpu * stall_bridged_seconds", "sample/GPU",
    "Samples that must be buffered for each GPU to bridge a pause of the storage.")  # fmt: skip
computed_quantity("prefetch_bytes_per_node", "samples_to_prefetch_per_gpu * decoded_sample_bytes * gpus_per_node", "B/node",
    "Host memory that prefetched, decoded samples occupy.")  # fmt: skip

computed_quantity("rate_of_core", "prepared_bytes / prepared_seconds / preparation_workers", "B/s",
    "Bytes that one of several processes went through in a second.", label="rate of one core")  # fmt: skip
computed_quantity("document_pass_seconds", "preparation_documents / document_rate / preparation_workers", "s",
    "Time of one pass over the documents, where a rate is known in documents.")  # fmt: skip
computed_quantity("signature_bytes", "preparation_documents * dedup_hashes * dedup_hash_bytes", "B",
    "Signatures that a deduplication keeps while it runs.", label="signatures of the documents")  # fmt: skip
computed_quantity("preparation_scratch_bytes", "origin_bytes * intermediate_share + signature_bytes", "B",
    "Scratch space that a preparation fills: intermediate files, and signatures for deduplication.",
    label="scratch space of a preparation",
    example="preparation_scratch_bytes(100e12, 1, 44.8e12) / 1e12 -> 144.8")  # fmt: skip
computed_quantity("dataset_passes_bandwidth",
    "(origin_bytes * preparation_passes + preparation_scratch_bytes) * origin_growth * present / preparation_seconds", "B/s",
    "Read bandwidth of a preparation: each pass over the origin, and the scratch space once.",
    label="reads of a preparation in several passes",
    example="dataset_passes_bandwidth(302.4e12, 2, 0, 1, 1, 604_800) -> 1000000000.0")  # fmt: skip
computed_quantity("dataset_preparation_write_bandwidth",
    "(data_bytes * prepared_copies * capacity_growth + preparation_scratch_bytes * origin_growth)"
    " * present / preparation_seconds", "B/s",
    "Write bandwidth of a preparation: all copies of its result, and the scratch space once.",
    label="preparation writes of a data set",
    example="dataset_preparation_write_bandwidth(30.24e12, 1, 1, 302.4e12, 1, 1, 604_800) -> 550000000.0")  # fmt: skip
computed_quantity("dataset_scratch_bytes_held", "preparation_scratch_bytes * origin_growth * present", "B",
    "Scratch space of a preparation in a year.", label="scratch space held")  # fmt: skip
computed_quantity("dataset_scratch_added_per_day",
    "maximum(dataset_scratch_bytes_held - dataset_scratch_bytes_held_before, 0) * seconds_per_day / seconds_per_year", "B",
    "Scratch space that the first preparation of a data set and that of its growth write, spread evenly over the year.",
    example="dataset_scratch_added_per_day(1_461e9, 0, 86_400, 31_557_600) -> 4000000000.0")  # fmt: skip
computed_quantity("dataset_scratch_written_per_day", "dataset_scratch_bytes_held * seconds_per_day / refresh_seconds", "B",
    "Scratch space that the preparation of new versions of a data set writes in a day.")  # fmt: skip
computed_quantity("preparation_cores", "ceil(origin_bytes * preparation_passes / preparation_rate / preparation_seconds)", "1",
    "Cores that prepare a data set in the time allowed, at the start of the plan.", label="cores of a preparation", whole=True,
    example="preparation_cores(1.5e12, 1, 1.05e6, 29_940) -> 48")  # fmt: skip
computed_quantity("preparation_core_hours", "origin_bytes * preparation_passes / preparation_rate / seconds_per_hour", "1",
    "Core-hours that the preparation of a data set takes, at the start of the plan.",
    label="core-hours of a preparation")  # fmt: skip
computed_quantity("dataset_result_bandwidth", "data_bytes * data_copies * capacity_growth * present / preparation_seconds",
    "B/s", "Write bandwidth of a data set that is made without intermediate files.", label="writes of a data set as it is made",
    of="dataset_preparation_write_bandwidth", when="made_in_one_pass")  # fmt: skip
computed_quantity("year_preparation_write_bandwidth",
    "minimum(total(dataset_preparation_write_bandwidth_of_datasets) * (1 + performance_headroom),"
    " site_moving_drawable_bandwidth)", "B/s",
    "Write bandwidth of one year that makes data sets from their origins, at most what the nodes draw that prepare.",
    label="preparation writes of a year",
    example="year_preparation_write_bandwidth([0.5e9, 1e9], 0.2, 360e9) -> 1800000000.0")  # fmt: skip
computed_quantity("site_preparation_write_bandwidth", "largest(year_preparation_write_bandwidth_of_years)", "B/s",
    "Write bandwidth that makes data sets from their origins in the most demanding year.",
    label="preparation write bandwidth")  # fmt: skip
computed_quantity("year_bytes_with_scratch",
    "total(dataset_bytes_held_of_datasets) + total(job_checkpoint_bytes_held_of_jobs)"
    " + total(dataset_scratch_bytes_held_of_datasets)", "B",
    "Data held in one year while data sets are prepared: data sets, retained checkpoints and scratch space.",
    label="data held with scratch space",
    example="year_bytes_with_scratch([1e12, 2e12], [5e12], [1e12]) -> 9000000000000.0")  # fmt: skip
computed_quantity("year_writes_with_scratch",
    "total(job_checkpoint_bytes_per_day_of_jobs) + total(dataset_bytes_written_per_day_of_datasets)"
    " + total(dataset_bytes_added_per_day_of_datasets) + total(dataset_scratch_added_per_day_of_datasets)"
    " + total(dataset_scratch_written_per_day_of_datasets)", "B",
    "Bytes per day that clients write in one year in which data sets are prepared, scratch space included.",
    label="writes per day with scratch space",
    example="year_writes_with_scratch([500e12], [1e12], [2e12], [4e12], [3e12]) -> 510000000000000.0")  # fmt: skip

computed_quantity("decode_cores_per_node", "samples_per_second_per_gpu * gpus_per_node / decode_samples_per_second_per_core",
    "1/node", "CPU cores that decode the samples of the GPUs of one node.")  # fmt: skip
computed_quantity("decode_rate_in_loader", "thread_decode_rate * decode_scaling", "sample/s",
    "Samples that each worker of a full loader decodes: less than one thread alone, which has caches and clocks for itself.",
    source="imread-benchmark", where="one thread and the DataLoader's peak")  # fmt: skip
computed_quantity("decode_share_of_worker", "loader_decode_rate / decode_workers / thread_decode_rate", "1",
    "Share of the rate of one thread alone that each worker of a full loader keeps.", source="imread-benchmark",
    where="the DataLoader's peak and one thread", high=1)  # fmt: skip
computed_quantity("loader_decode_rate", "decode_rate_in_loader * decode_workers", "sample/s",
    "Samples that the workers of a loader decode each second.")  # fmt: skip
computed_quantity("decode_rate_of_images", "decode_rate_in_loader / (images_per_sample * single_sample)", "sample/s",
    "Samples of several images that each worker of a full loader decodes.")  # fmt: skip
computed_quantity("gpu_decode_load", "unstalled_samples_per_second_per_gpu / gpu_decode_rate", "1",
    "Samples that a GPU trains on without waiting, over those that it decodes.", label="load of the GPU's decoder",
    above=False)  # fmt: skip

alternative("gpu_decode_load", "gpu_decode_load_of_images", when="several_images")

computed_quantity("gpu_decode_load_of_images",
    "unstalled_samples_per_second_per_gpu * images_per_sample * single_sample / gpu_decode_rate", "1",
    "Images that a GPU trains on without waiting, over those that it decodes.", above=False)  # fmt: skip
