"""Model states and key-value caches of a site below GPU memory: their part in reads, writes, capacity and endurance."""

from ingest.engine.registry import computed_quantities, computed_quantity, input_quantities
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
computed_quantities(__file__)
with_headroom("site_kv_read_bandwidth", "total(kv_peak_read_bandwidth_of_serving)", "B/s",
    "Reads of key-value caches by all workloads, each at its 99th percentile of concurrent turns.",
    label="reads of key-value caches")  # fmt: skip
with_headroom("site_kv_write_bandwidth", "total(kv_write_bandwidth_of_serving)", "B/s",
    "Writes of key-value caches by all workloads: each turn is written before the next turn of its user.",
    label="writes of key-value caches")  # fmt: skip
with_headroom("site_weights_bandwidth", "total(weights_load_bandwidth_of_serving)", "B/s",
    "Reads of weights when all serving workloads start.", source=MODEL, where="all workloads start together after an outage",
    label="reads of weights at a start")  # fmt: skip
for _name, _table, _words in (
    ("workload_reads", "cluster_read_bandwidth", ""), ("cold_reads", "cluster_cold_read_bandwidth", ", while nothing is cached")
):  # fmt: skip
    computed_quantity(f"{_name}_with_tiers",
        f"total({_table}_of_clusters) * (1 + performance_headroom) + beyond_memory_read_bandwidth", "B/s",
        f"Aggregate read bandwidth of jobs, serving workloads and index queries that run concurrently{_words}.", source=MODEL,
        where="data, offloaded states, key-value caches and indexes are read at the same time",
        example=f"{_name}_with_tiers([30e9], 0, 371e9) -> 401000000000.0")  # fmt: skip
signed("site_writes_with_tiers", "workload_writes_with_tiers", "site_write_floor", "B/s",
    "Aggregate write bandwidth required: checkpoints, offloaded states and key-value caches; at least the guidance, where the "
    "buyer signs it.")  # fmt: skip
