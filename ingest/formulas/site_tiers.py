"""Model states and key-value caches of a site below GPU memory: their part in reads, writes, capacity and endurance."""

from ingest.engine.registry import computed_quantity, input_quantities
from ingest.formulas.site_totals import MODEL, columns, signed, with_headroom

input_quantities(__file__)

columns("jobs", "B/s",
    "job_offload_read_bandwidth job_offload_write_bandwidth job_offload_mean_read_bandwidth "
    "job_offload_stopped_bandwidth")  # fmt: skip
columns("jobs", "B/s/node",
    "storage_tier_read_bandwidth_per_node storage_tier_write_bandwidth_per_node "
    "nvme_tier_read_bandwidth_per_node nvme_tier_write_bandwidth_per_node")  # fmt: skip
columns("jobs", "B", "job_offload_bytes job_offload_bytes_per_day")
columns("jobs", "B/node", "nvme_target_bytes_per_day")
columns("jobs", "1", "nvme_writes_per_day")
columns("serving", "B/s",
    "kv_peak_read_bandwidth kv_read_bandwidth kv_write_bandwidth kv_recompute_bandwidth weights_load_bandwidth "
    "serving_nodes_bandwidth")  # fmt: skip
columns("serving", "B", "kv_held_bytes kv_bytes_written_per_day served_weights_bytes")
columns("serving", "node", "serving_nodes")
columns("serving", "B/s/node", "local_kv_read_bandwidth_per_node local_kv_write_bandwidth_per_node")
columns("serving", "B/node", "local_kv_bytes_per_node local_kv_bytes_per_day")

for _way, _words, _place in (("read", "Reads", "from"), ("write", "Writes", "to")):
    _moved, _nvme = _words.lower(), f"{_place} the NVMe of"
    computed_quantity(f"job_offload_{_way}_bandwidth",
        f"minimum(storage_tier_{_way}_bandwidth_per_node, node_drawable_bandwidth) * nodes_at_once", "B/s",
        f"{_words} of offloaded states by all runs of a job while they move them.", label=f"offload {_moved} of the job",
        example=f"job_offload_{_way}_bandwidth(56e9, 72e9, 4), "
            f"job_offload_{_way}_bandwidth(90e9, 72e9, 4) -> (224000000000.0, 288000000000.0)")  # fmt: skip
    computed_quantity(f"site_offload_{_way}_bandwidth",
        f"largest(storage_tier_{_way}_bandwidth_per_node_of_jobs) * (1 + performance_headroom)", "B/s/node",
        f"{_words} of offloaded states of one node, of the most demanding job.", label=f"offload {_moved} of one node",
        example=f"site_offload_{_way}_bandwidth([40e9, 10e9], 0) -> 40000000000.0")  # fmt: skip
    computed_quantity(f"site_nvme_{_way}_bandwidth", f"maximum(maximum(largest(nvme_tier_{_way}_bandwidth_per_node_of_jobs),"
        f" largest(local_index_{_way}_bandwidth_of_jobs)), largest(local_kv_{_way}_bandwidth_per_node_of_serving))", "B/s/node",
        f"{_words} of states, caches or indexes {_nvme} a node, of the most demanding job or workload.",
        label=f"{_moved} {_nvme} one node",
        example=f"site_nvme_{_way}_bandwidth([40e9, 10e9], [2e9], [5e9]) -> 40000000000.0")  # fmt: skip
    computed_quantity(f"local_kv_{_way}_bandwidth_per_node", f"local_kv_{_way}_bandwidth / serving_nodes", "B/s/node",
        f"{_words} of key-value caches {_nvme} one node.", label=f"{_moved} of key-value caches {_nvme} a node")  # fmt: skip
computed_quantity("job_offload_mean_read_bandwidth",
    "storage_step_read_bytes / step_seconds_at_target * concurrent_runs * share_of_time", "B/s",
    "Reads of offloaded states by all runs of a job, averaged over time.", label="mean offload reads of the job")  # fmt: skip
computed_quantity("job_offload_stopped_bandwidth", "job_offload_read_bandwidth * offload_stops", "B/s",
    "Reads of offloaded states that stop while the runs of a job save a checkpoint.",
    label="offload reads that a save stops")  # fmt: skip
computed_quantity("job_offload_bytes", "storage_tier_bytes * concurrent_runs", "B",
    "Offloaded states of all runs of a job on shared storage.", label="states of the job on shared storage")  # fmt: skip
computed_quantity("job_offload_bytes_per_day",
    "storage_step_write_bytes / step_seconds_at_target * seconds_per_day * concurrent_runs * share_of_time", "B",
    "Offloaded states that all runs of a job write to shared storage in a day.",
    label="states written to shared storage per day")  # fmt: skip
computed_quantity("nvme_target_bytes_per_day",
    "nvme_step_write_bytes / step_seconds_at_target * seconds_per_day / nodes * share_of_time", "B/node",
    "Offloaded states that a job writes to the drives of one node in a day, if they reach the efficiency wanted.",
    label="states written to the NVMe of a node per day")  # fmt: skip
computed_quantity("site_nvme_bytes_per_day",
    "maximum(maximum(largest(nvme_target_bytes_per_day_of_jobs), largest(local_index_bytes_per_day_of_jobs)),"
    " largest(local_kv_bytes_per_day_of_serving))", "B/node",
    "States, caches or indexes that the NVMe of a node takes in a day, of the most demanding job or workload.",
    label="writes per day to the NVMe of one node",
    example="site_nvme_bytes_per_day([864e12], [], []) -> 864000000000000.0")  # fmt: skip
computed_quantity("node_kept_with_states", "node_other_bytes + nvme_tier_bytes / nodes", "B/node",
    "NVMe of a node for data, checkpoints and model states.",
    example="node_kept_with_states(1e12, 16e12, 8) -> 3000000000000.0")  # fmt: skip
computed_quantity("node_states_bytes", "nvme_tier_bytes / nodes", "B/node",
    "NVMe of a node for its share of the model states.", label="model states on the NVMe of a node")  # fmt: skip
computed_quantity("local_kv_bytes_per_node", "local_kv_bytes / serving_nodes", "B/node",
    "Key-value caches on the NVMe of one node.", label="key-value caches on the NVMe of a node")  # fmt: skip
computed_quantity("local_kv_bytes_per_day", "local_kv_written_per_day / serving_nodes", "B/node",
    "Key-value caches that the NVMe of one node takes in a day.",
    label="key-value caches written to the NVMe of a node per day")  # fmt: skip
computed_quantity("node_local_with_caches",
    "maximum(largest(node_kept_bytes_of_jobs), largest(local_kv_bytes_per_node_of_serving))", "B/node",
    "NVMe capacity of a node for data, checkpoints, model states or key-value caches, for what needs the most.",
    example="node_local_with_caches([1e12], [2e12]) -> 2000000000000.0")  # fmt: skip
computed_quantity("site_nvme_writes_per_day", "largest(nvme_writes_per_day_of_jobs)", "1",
    "Drive writes per day of the NVMe of a node, of the most demanding job.",
    label="drive writes per day in a node")  # fmt: skip
with_headroom("site_kv_read_bandwidth", "total(kv_peak_read_bandwidth_of_serving)", "B/s",
    "Reads of key-value caches by all workloads, each at its 99th percentile of concurrent turns.",
    label="reads of key-value caches")  # fmt: skip
with_headroom("site_kv_write_bandwidth", "total(kv_write_bandwidth_of_serving)", "B/s",
    "Writes of key-value caches by all workloads: each turn is written before the next turn of its user.",
    label="writes of key-value caches")  # fmt: skip
computed_quantity("site_kv_recompute_bandwidth", "total(kv_recompute_bandwidth_of_serving)", "B/s",
    "Reads of key-value caches below which the GPUs compute them again sooner.",
    label="reads of key-value caches at which recomputing is as fast")  # fmt: skip
computed_quantity("replica_weights_bytes", "parameters * weight_bits / bits_per_byte", "B",
    "Weights that a replica of a served model reads when it starts.", label="weights of a replica")  # fmt: skip
computed_quantity("weights_load_bandwidth",
    "minimum(serving_replicas * replica_weights_bytes * weight_readers / weights_load_seconds, serving_nodes_bandwidth)", "B/s",
    "Reads of weights while the replicas of a served model start, each of which reads all of them.",
    label="reads of weights by replicas that start",
    example="weights_load_bandwidth(8, 141e9, 1, 60, 576e9), "
        "weights_load_bandwidth(8, 141e9, 8, 1, 576e9) -> (18800000000.0, 576000000000.0)")  # fmt: skip
with_headroom("site_weights_bandwidth", "total(weights_load_bandwidth_of_serving)", "B/s",
    "Reads of weights when all serving workloads start.", source=MODEL, where="all workloads start together after an outage",
    label="reads of weights at a start")  # fmt: skip
computed_quantity("site_kv_bytes", "total(kv_held_bytes_of_serving)", "B",
    "Key-value caches of all sessions that shared storage holds.", label="key-value caches held")  # fmt: skip
computed_quantity("beyond_memory_read_bandwidth",
    "(total(job_offload_read_bandwidth_of_jobs) + total(kv_peak_read_bandwidth_of_serving)"
    " + total(job_query_bandwidth_of_jobs)) * (1 + performance_headroom)", "B/s",
    "Reads of offloaded states, key-value caches and indexes by all jobs and serving workloads.", above=False,
    label="reads of offloaded states and caches and indexes",
    example="beyond_memory_read_bandwidth([320e9], [50e9], [1e9], 0) -> 371000000000.0")  # fmt: skip
for _name, _table, _words in (
    ("workload_reads", "cluster_read_bandwidth", ""), ("cold_reads", "cluster_cold_read_bandwidth", ", while nothing is cached")
):  # fmt: skip
    computed_quantity(f"{_name}_with_tiers",
        f"total({_table}_of_clusters) * (1 + performance_headroom) + beyond_memory_read_bandwidth", "B/s",
        f"Aggregate read bandwidth of jobs, serving workloads and index queries that run concurrently{_words}.", source=MODEL,
        where="data, offloaded states, key-value caches and indexes are read at the same time",
        example=f"{_name}_with_tiers([30e9], 0, 371e9) -> 401000000000.0")  # fmt: skip
computed_quantity("suggested_reads_with_tiers",
    "minimum(total(job_suggested_read_bandwidth_of_jobs) * (1 + performance_headroom) + beyond_memory_read_bandwidth,"
    " site_drawable_bandwidth)", "B/s",
    "Aggregate read bandwidth at the highest rates that any evidence suggests, with serving workloads and index queries.",
    needs="job_suggested_read_bandwidth_of_jobs beyond_memory_read_bandwidth site_drawable_bandwidth performance_headroom",
    example="suggested_reads_with_tiers([432e9], 1e9, 1.4e12, 0) -> 433000000000.0")  # fmt: skip
computed_quantity("sustained_reads_with_tiers",
    "(total(job_sustained_read_bandwidth_of_jobs) + total(job_offload_mean_read_bandwidth_of_jobs)"
    " + total(kv_read_bandwidth_of_serving) + total(job_query_bandwidth_of_jobs)) * (1 + performance_headroom)", "B/s",
    "Sustained read bandwidth of jobs, serving workloads and index queries, averaged over time.",
    example="sustained_reads_with_tiers([10e9], [20e9], [5e9], [1e9], 0) -> 36000000000.0")  # fmt: skip
computed_quantity("beyond_memory_write_bandwidth",
    "(total(job_offload_write_bandwidth_of_jobs) + total(kv_write_bandwidth_of_serving) + total(job_rebuild_bandwidth_of_jobs))"
    " * (1 + performance_headroom)", "B/s",
    "Writes of offloaded states, key-value caches and rebuilt indexes by all jobs and serving workloads.",
    label="writes of offloaded states and caches and indexes",
    example="beyond_memory_write_bandwidth([280e9], [5e9], [1e9], 0) -> 286000000000.0")  # fmt: skip
computed_quantity("workload_writes_with_tiers", "workload_write_bandwidth + beyond_memory_write_bandwidth", "B/s",
    "Aggregate write bandwidth of checkpoints, offloaded states and key-value caches.", source=MODEL,
    where="checkpoints are written while states and caches are")  # fmt: skip
signed("site_writes_with_tiers", "workload_writes_with_tiers", "site_write_floor", "B/s",
    "Aggregate write bandwidth required: checkpoints, offloaded states and key-value caches; at least the guidance, where the "
    "buyer signs it.")  # fmt: skip
computed_quantity("stopped_share_with_tiers",
    "(total(job_stopped_read_bandwidth_of_jobs) + total(job_offload_stopped_bandwidth_of_jobs))"
    " / maximum(total(job_read_bandwidth_of_jobs) + total(job_offload_read_bandwidth_of_jobs)"
    " + total(kv_peak_read_bandwidth_of_serving) + total(job_query_bandwidth_of_jobs), least_bandwidth)", "1",
    "Share of the reads whose runs wait while they save synchronously; serving and queries never wait.", high=1,
    example="stopped_share_with_tiers([10e9], [20e9], [10e9], [20e9], [25e9], [5e9], 1) -> 0.5")  # fmt: skip
computed_quantity("site_mixed_with_tiers",
    "beyond_memory_write_bandwidth + maximum(workload_read_bandwidth, workload_write_bandwidth + workload_read_bandwidth"
    " * (1 - stopped_read_share * workload_write_bandwidth / maximum(simultaneous_write_bandwidth, least_bandwidth)))", "B/s",
    "Aggregate bandwidth of all reads and writes that coincide, those of states and caches among them.",
    needs="workload_read_bandwidth stopped_read_share workload_write_bandwidth simultaneous_write_bandwidth "
    "beyond_memory_write_bandwidth least_bandwidth", source=MODEL,
    where="states and caches are written while data are read and checkpoints are written",
    example="site_mixed_with_tiers(30e9, 0, 10e9, 40e9, 5e9, 1), site_mixed_with_tiers(30e9, 0, 0, 0, 5e9, 1) -> "
    "(45000000000.0, 35000000000.0)")  # fmt: skip
computed_quantity("site_alternating_with_tiers",
    "beyond_memory_write_bandwidth + maximum(workload_read_bandwidth, workload_write_bandwidth)", "B/s",
    "Aggregate bandwidth of reads or checkpoints, whichever is more, and of the writes of states and caches.", source=MODEL,
    where="no job reads while a checkpoint is written",
    needs="workload_read_bandwidth workload_write_bandwidth beyond_memory_write_bandwidth",
    example="site_alternating_with_tiers(30e9, 10e9, 5e9) -> 35000000000.0")  # fmt: skip
computed_quantity("write_share_with_tiers",
    "minimum((workload_write_bandwidth + beyond_memory_write_bandwidth) / site_mixed_bandwidth, 1)", "1",
    "Share of writes in the bytes of all that coincides.", high=1,
    example="write_share_with_tiers(10e9, 5e9, 45e9) -> 0.3333333333333333")  # fmt: skip
computed_quantity("year_bytes_with_tiers",
    "total(dataset_bytes_held_of_datasets) + total(job_checkpoint_bytes_held_of_jobs)"
    " + total(dataset_scratch_bytes_held_of_datasets) + total(job_offload_bytes_of_jobs) + total(kv_held_bytes_of_serving)"
    " + total(served_weights_bytes_of_serving)", "B",
    "Data held in one year: data sets, scratch space, checkpoints, offloaded states, key-value caches and served weights.",
    example="year_bytes_with_tiers([1e12], [5e12], [], [20e12], [4e12], [0.3e12]) -> 30300000000000.0")  # fmt: skip
computed_quantity("year_writes_with_tiers",
    "total(job_checkpoint_bytes_per_day_of_jobs) + total(dataset_bytes_written_per_day_of_datasets)"
    " + total(dataset_bytes_added_per_day_of_datasets) + total(dataset_scratch_added_per_day_of_datasets)"
    " + total(dataset_scratch_written_per_day_of_datasets) + total(job_offload_bytes_per_day_of_jobs)"
    " + total(kv_bytes_written_per_day_of_serving)", "B",
    "Bytes per day that clients write in one year; scratch space, offloaded states and key-value caches among them.",
    example="year_writes_with_tiers([500e12], [1e12], [2e12], [], [], [700e12], [97e12]) -> 1300000000000000.0")  # fmt: skip
computed_quantity("clients_with_serving",
    "minimum(total(nodes_at_once_of_jobs) + total(serving_nodes_of_serving), cluster_nodes)", "node",
    "Nodes of a cluster that train or serve concurrently.", whole=True,
    example="clients_with_serving([100], [16], 128) -> 116")  # fmt: skip
computed_quantity("allocation_with_serving",
    "(total(nodes_on_average_of_jobs) + total(serving_nodes_of_serving)) / cluster_nodes", "1",
    "Share of a cluster that its jobs and serving workloads take, averaged over time.",
    example="allocation_with_serving([96], [16], 128) -> 0.875")  # fmt: skip
