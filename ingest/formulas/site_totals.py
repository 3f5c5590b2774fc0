"""Totals of a site: sums and maxima over the columns of its jobs, clusters, data sets and years; what consumers can draw.

An input `…_of_jobs`, `…_of_clusters`, `…_of_datasets` or `…_of_years` is the column of that quantity in that table.
"""

from typing import Any

from ingest.engine.registry import alternative, computed_quantity, input_quantities, input_quantity

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
computed_quantity("site_read_bandwidth", "maximum(workload_read_bandwidth, signed_read_floor)", "B/s",
    "Aggregate read bandwidth required: that of the workload, where the buyer signs it at least the guidance.",
    label="aggregate read bandwidth of concurrent jobs")  # fmt: skip
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
computed_quantity("site_restart_bandwidth",
    "where(workload_restart_bandwidth > 0, maximum(workload_restart_bandwidth, signed_read_floor), 0)", "B/s",
    "Aggregate restore bandwidth required: where the buyer signs them at least the reads of the guidance.",
    label="aggregate restore bandwidth of concurrent runs",
    example="site_restart_bandwidth(10e9, 30e9), site_restart_bandwidth(0, 30e9) -> (30000000000.0, 0)")  # fmt: skip
with_headroom("site_file_opens", "total(job_file_opens_of_jobs)", "file/s", "File opens per second of the site.",
    label="aggregate file opens")  # fmt: skip
with_headroom("site_file_creates", "largest(run_file_creates_of_jobs)", "file/s",
    "File creates per second as a run starts its checkpoint: of the run that creates the most.",
    label="file creates as a checkpoint starts")  # fmt: skip
with_headroom("site_staging_bandwidth", "total(job_staging_bandwidth_of_jobs)", "B/s",
    "Read bandwidth that stages all data sets on their nodes within the time allowed.", label="staging bandwidth")  # fmt: skip
computed_quantity("site_node_local_bytes", "largest(node_kept_bytes_of_jobs)", "B/node",
    "NVMe capacity of a node for staged and cached data and checkpoints, for the most demanding job.",
    label="node-local capacity")  # fmt: skip


computed_quantity("cluster_cold_read_bandwidth",
    "minimum(total(job_cold_read_bandwidth_of_jobs), largest(node_cold_read_bandwidth_of_jobs) * cluster_nodes)", "B/s",
    "Aggregate read bandwidth of a cluster while nothing is cached.", source=MODEL,
    where="at most all jobs concurrently, at most all nodes with the most demanding job",
    label="cold read bandwidth of the cluster",
    example="cluster_cold_read_bandwidth([100e9, 60e9], [2e9, 1e9], 64) -> 128000000000.0")  # fmt: skip
with_headroom("site_cold_reads", "total(cluster_cold_read_bandwidth_of_clusters)", "B/s",
    "Aggregate read bandwidth of all jobs that can run concurrently while nothing is cached.", of="site_cold_read_bandwidth",
    when="data_cached")  # fmt: skip
computed_quantity("site_grown_read_bandwidth", "minimum(grown_read_bandwidth, site_drawable_bandwidth)", "B/s",
    "Read bandwidth in the last year of the plan: that of the grown workload, at most what the clients draw.",
    source=MODEL, where="at most what the nodes can take", label="aggregate read bandwidth in the last year")  # fmt: skip
computed_quantity("nodes_for_growth", "ceil(grown_read_bandwidth / site_drawable_bandwidth * site_clients)", "node",
    "Nodes of the present types that draw the reads of the last year.", label="nodes for the growth", whole=True,
    example="nodes_for_growth(8.178e12, 5.12e12, 64) -> 103")  # fmt: skip

# What the consumers of a site can draw: the smaller of what its jobs need and what their nodes take
computed_quantity("job_drawable_bandwidth", "node_drawable_bandwidth * nodes_at_once", "B/s",
    "Most that the nodes of all concurrent runs of a job draw from shared storage.",
    label="what the nodes of all runs draw")  # fmt: skip
computed_quantity("node_needed_read_bandwidth", "run_needed_read_bandwidth / nodes", "B/s/node",
    "Read bandwidth of one node at which none of its GPUs waits.", label="reads that one node needs")  # fmt: skip
computed_quantity("drawn_share", "run_drawn_read_bandwidth / run_needed_read_bandwidth", "1",
    "Share of the time in which the GPUs of a run compute, where its nodes draw less than they need.",
    label="utilization that the nodes' reads allow", high=1)  # fmt: skip
computed_quantity("run_write_bandwidth", "minimum(checkpoint_write_bandwidth, run_drawable_bandwidth)", "B/s",
    "Write bandwidth of the checkpoints of one run, at most what its nodes draw.", source=MODEL,
    where="a load is the smaller of what its job needs and what its nodes draw",
    label="checkpoint write bandwidth of one run")  # fmt: skip
computed_quantity("run_restart_bandwidth", "minimum(restart_read_bandwidth, run_drawable_bandwidth)", "B/s",
    "Read bandwidth at which one run restores its checkpoint, at most what its nodes draw.", source=MODEL,
    where="a load is the smaller of what its job needs and what its nodes draw",
    label="restore bandwidth of one run")  # fmt: skip
computed_quantity("cluster_taking_clients", "minimum(total(taking_nodes_of_loads), cluster_clients)", "node",
    "Nodes of a cluster that take part in a requirement line.", whole=True,
    example="cluster_taking_clients([3, 2], 4) -> 4")  # fmt: skip
computed_quantity("cluster_taking_bandwidth", "node_drawable_bandwidth * cluster_taking_clients", "B/s",
    "Most that those nodes of a cluster draw that take part in a requirement line.")  # fmt: skip
computed_quantity("moving_clients", "total(cluster_moving_clients_of_clusters)", "node",
    "Nodes of the site that load, prepare and move data sets.", whole=True)  # fmt: skip
computed_quantity("cluster_moving_drawable_bandwidth", "node_drawable_bandwidth * cluster_moving_clients", "B/s",
    "Most that the nodes of a cluster draw that load, prepare and move data sets.",
    label="what the nodes that move data draw")  # fmt: skip
computed_quantity("site_moving_drawable_bandwidth", "total(cluster_moving_drawable_bandwidth_of_clusters)", "B/s",
    "Most that all nodes draw that load, prepare and move data sets.", label="what all nodes that move data draw")  # fmt: skip
computed_quantity("cluster_loading_clients",
    "maximum(cluster_moving_clients, minimum(total(exporting_nodes_of_jobs), cluster_clients))", "node",
    "Nodes of a cluster that load data sets, or whose jobs export models meanwhile.", whole=True,
    example="cluster_loading_clients(0, [4, 8], 8) -> 8")  # fmt: skip
computed_quantity("loading_clients", "total(cluster_loading_clients_of_clusters)", "node",
    "Nodes of the site that load data sets or export models.", whole=True)  # fmt: skip
computed_quantity("cluster_loading_drawable_bandwidth", "node_drawable_bandwidth * cluster_loading_clients", "B/s",
    "Most that the nodes of a cluster draw that load data sets or export models.")  # fmt: skip
computed_quantity("site_loading_drawable_bandwidth", "total(cluster_loading_drawable_bandwidth_of_clusters)", "B/s",
    "Most that all nodes draw that load data sets or export models.",
    label="what all nodes that move data or export models draw")  # fmt: skip
computed_quantity("serving_nodes_bandwidth", "node_drawable_bandwidth * serving_nodes", "B/s",
    "Most that the nodes of a serving workload draw.", label="what the nodes that serve draw")  # fmt: skip
computed_quantity("cluster_drawable_bandwidth", "node_drawable_bandwidth * cluster_clients", "B/s",
    "Most that those nodes of a cluster draw that run at the same time.",
    label="what the clients of a cluster draw")  # fmt: skip
computed_quantity("site_drawable_bandwidth", "total(cluster_drawable_bandwidth_of_clusters)", "B/s",
    "Most that all nodes of the site draw that run at the same time.", label="what all clients draw")  # fmt: skip
computed_quantity("cluster_taken_bandwidth",
    "minimum(total(taking_bandwidth_of_loads) * (1 + performance_headroom), cluster_taking_bandwidth)", "B/s",
    "Loads of a requirement line on one cluster, at most what its nodes draw.", source=MODEL,
    where="a load is the smaller of what its job needs and what its nodes draw", label="what the loads of a cluster draw",
    example="cluster_taken_bandwidth([30e9, 50e9], 0.2, 72e9) -> 72000000000.0")  # fmt: skip
computed_quantity("taken_bandwidth", "total(cluster_taken_bandwidth_of_clusters)", "B/s",
    "Loads of a requirement line, on each cluster at most what its nodes draw.")  # fmt: skip
computed_quantity("taking_bandwidth", "total(cluster_taking_bandwidth_of_clusters)", "B/s",
    "Most that all nodes draw that take part in a requirement line.")  # fmt: skip

computed_quantity("ratio_of_suggested_rate", "maximum(suggested_rate / unstalled_samples_per_second_per_gpu, 1)", "1",
    "Highest rate that one kind of evidence suggests, over the one that counts.", of="suggested_ratio", when="rate_disputed",
    example="round(ratio_of_suggested_rate(60.84, 21.67), 2), ratio_of_suggested_rate(20, 21.67) -> (2.81, 1)")  # fmt: skip
computed_quantity("job_suggested_read_bandwidth", "minimum(job_read_bandwidth * suggested_ratio, job_drawable_bandwidth)",
    "B/s", "Read bandwidth of all concurrent runs of a job at the highest rate that any evidence suggests.", source=MODEL,
    where="what one kind of evidence suggests is a target", label="read bandwidth suggested",
    example="job_suggested_read_bandwidth(158e9, 2.8, 432e9) -> 432000000000.0")  # fmt: skip
computed_quantity("site_suggested_read_bandwidth",
    "minimum(total(job_suggested_read_bandwidth_of_jobs) * (1 + performance_headroom), site_drawable_bandwidth)", "B/s",
    "Aggregate read bandwidth at the highest rates that any evidence suggests.",
    label="aggregate read bandwidth by the fastest evidence",
    needs="job_suggested_read_bandwidth_of_jobs site_drawable_bandwidth performance_headroom",
    example="site_suggested_read_bandwidth([432e9], 1.4e12, 0) -> 432000000000.0")  # fmt: skip
alternative("served_users", "stated_users", when="generation_unknown")
alternative("serving_replicas", "stated_replicas", when="replicas_stated")
computed_quantity("serving_replicas", "ceil(nodes / replica_nodes)", "1", "Replicas of a served model that its nodes hold.",
    label="replicas", whole=True, example="serving_replicas(16, 1), serving_replicas(7, 2) -> (16, 4)")  # fmt: skip
computed_quantity("nodes_that_read_weights", "ceil(replica_nodes / single_node)", "1",
    "Nodes of a replica, each of which reads all weights into its page cache.",
    example="nodes_that_read_weights(2.625, 1), nodes_that_read_weights(0.5, 1) -> (3, 1)")  # fmt: skip
computed_quantity("ranks_that_read_weights", "ceil(replica_nodes * gpus_per_node / single_gpu)", "1",
    "Tensor-parallel ranks of a replica, each of which reads all weights.",
    example="ranks_that_read_weights(2, 8, 1), ranks_that_read_weights(0.5, 8, 1) -> (16, 4)")  # fmt: skip
computed_quantity("served_weights_bytes", "replica_weights_bytes * weight_versions", "B",
    "Weights of a served model on storage: all versions that are kept.",
    label="weights of served models on storage")  # fmt: skip
computed_quantity("earlier_tokens", "(session_turns - 1) / 2 * (prompt_tokens + generated_tokens)", "token",
    "Tokens of the earlier turns of its session that a mean turn reads as it decodes.", above=False, mean=True,
    example="earlier_tokens(8, 1500, 500) -> 7000.0")  # fmt: skip
computed_quantity("computed_turn_rate", "nodes / replica_nodes * sequences_of_replica / generation_seconds", "1/s",
    "Turns per second that all replicas of a served model prefill and decode.",
    label="turns that the GPUs compute per second")  # fmt: skip
computed_quantity("served_users", "minimum(stated_users, ceil(computed_turn_rate * turn_seconds))", "1",
    "Users whose turns the replicas compute, one after the other in the time between two turns.", source=MODEL,
    where="no turn reads a cache that no GPU computes on", label="users that the GPUs serve", whole=True,
    example="served_users(20_000, 160.6, 60), served_users(2_000, 160.6, 60) -> (9636, 2000)")  # fmt: skip
computed_quantity("stated_turn_rate", "stated_users / turn_seconds", "1/s",
    "Turns per second of all users, whether the GPUs compute them or not.",
    label="turns that users ask for per second")  # fmt: skip
computed_quantity("missing_serving_gpus", "ceil(gpus * maximum(stated_turn_rate / computed_turn_rate - 1, 0))", "GPU",
    "GPUs of the present kind that the users need beyond those that serve.", label="GPUs that are missing for the users",
    whole=True, example="missing_serving_gpus(128, 333.3, 160.6) -> 138")  # fmt: skip
computed_quantity("read_density", "required_read_bandwidth / required_usable_bytes", "1/s",
    "Reads per second of each usable byte: how fast the medium has to be for its size. 0.001/s is 1 GB/s for each TB.",
    label="read bandwidth for each usable byte")  # fmt: skip
computed_quantity("signed_read_floor", "site_read_floor * floor_signed", "B/s",
    "Read bandwidth of the guidance that the buyer requires whatever the workload needs.",
    label="signed reads of the guidance")  # fmt: skip
for _way, _made in (("read", "Reads"), ("write", "Writes")):
    computed_quantity(f"asked_{_way}_floor",
        f"where(site_{_way}_floor > site_{_way}_bandwidth, minimum(site_{_way}_floor, site_drawable_bandwidth), 0)", "B/s",
        f"{_made} of the guidance, at most what the clients draw; none where as much is required.",
        label=f"aggregate {_way}s that the guidance asks for",
        example=f"asked_{_way}_floor(30e9, 5e9, 80e9), asked_{_way}_floor(30e9, 40e9, 80e9) -> (30000000000.0, 0)")  # fmt: skip
computed_quantity("asked_node_floor", "where(largest_node_floor > site_node_read_bandwidth, largest_node_floor, 0)", "B/s/node",
    "Reads of one node by the guidance; none where as much is required.", label="reads of one node that the guidance asks for",
    example="asked_node_floor(4e9, 1e9), asked_node_floor(4e9, 6e9) -> (4000000000.0, 0)")  # fmt: skip
computed_quantity("node_reads_with_tiers", "maximum(site_node_read_bandwidth, site_offload_read_bandwidth)", "B/s/node",
    "Largest read bandwidth required of one node: of data, or of offloaded states.")  # fmt: skip
computed_quantity("node_floor_with_tiers", "where(largest_node_floor > node_reads_with_tiers, largest_node_floor, 0)",
    "B/s/node", "Reads of one node by the guidance; none where data or offloaded states require as much.",
    of="asked_node_floor", when="tiers_shared",
    example="node_floor_with_tiers(4e9, 1e9), node_floor_with_tiers(4e9, 56e9) -> (4000000000.0, 0)")  # fmt: skip
# Where no job reads or saves, no line of its own carries what the guidance asks for, signed or not.
for _way, _made, _case in (("read", "Reads", "no_job_reads"), ("write", "Writes", "no_job_saves")):
    computed_quantity(f"{_way}s_of_guidance_alone",
        f"where(site_{_way}_floor > workload_{_way}_bandwidth, minimum(site_{_way}_floor, site_drawable_bandwidth), 0)", "B/s",
        f"{_made} of the guidance, where no line of a job asks for {_way}s.", of=f"asked_{_way}_floor", when=_case,
        example=f"{_way}s_of_guidance_alone(14e9, 0, 8e9) -> 8000000000.0")  # fmt: skip
computed_quantity("node_reads_of_guidance_alone",
    "where(largest_node_floor > workload_node_read_bandwidth, largest_node_floor, 0)", "B/s/node",
    "Reads of one node by the guidance, where no line of a job asks for reads.", of="asked_node_floor", when="no_job_reads",
    example="node_reads_of_guidance_alone(4e9, 0) -> 4000000000.0")  # fmt: skip
