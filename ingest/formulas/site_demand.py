"""What the consumers of a site can draw: each load is the smaller of what its jobs need and what their nodes take."""

from ingest.engine.registry import alternative, computed_quantity, input_quantity

MODEL = "ingest-site-model"

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
input_quantity("taking_nodes_of_loads", "node", "Nodes of each job or workload that causes the load of a requirement line.",
    above=False)  # fmt: skip
computed_quantity("cluster_taking_clients", "minimum(total(taking_nodes_of_loads), cluster_clients)", "node",
    "Nodes of a cluster that take part in a requirement line.", whole=True,
    example="cluster_taking_clients([3, 2], 4) -> 4")  # fmt: skip
computed_quantity("cluster_taking_bandwidth", "node_drawable_bandwidth * cluster_taking_clients", "B/s",
    "Most that those nodes of a cluster draw that take part in a requirement line.")  # fmt: skip
# Data sets are loaded, made and moved by nodes that are kept for it, whatever the jobs occupy.
input_quantity("cluster_moving_clients", "node", "Nodes of a cluster that load, prepare and move data sets.", above=False,
    whole=True, default=0, label="nodes that move data")  # fmt: skip
alternative("cluster_moving_clients", "cluster_nodes", when="cluster_moves")
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
input_quantity("taking_bandwidth_of_loads", "B/s", "Bandwidth of each load of a requirement line on one cluster.", above=False)
computed_quantity("cluster_taken_bandwidth",
    "minimum(total(taking_bandwidth_of_loads) * (1 + performance_headroom), cluster_taking_bandwidth)", "B/s",
    "Loads of a requirement line on one cluster, at most what its nodes draw.", source=MODEL,
    where="a load is the smaller of what its job needs and what its nodes draw",
    label="what the loads of a cluster draw",
    example="cluster_taken_bandwidth([30e9, 50e9], 0.2, 72e9) -> 72000000000.0")  # fmt: skip
computed_quantity("taken_bandwidth", "total(cluster_taken_bandwidth_of_clusters)", "B/s",
    "Loads of a requirement line, on each cluster at most what its nodes draw.")  # fmt: skip
computed_quantity("taking_bandwidth", "total(cluster_taking_bandwidth_of_clusters)", "B/s",
    "Most that all nodes draw that take part in a requirement line.")  # fmt: skip
input_quantity("suggested_ratio", "1", "Highest rate that one kind of evidence suggests, over the one that all support.", low=1,
    above=False, default=1, label="disputed rate over the supported one")  # fmt: skip

input_quantity("stated_sample_bytes", "B/sample", "Bytes of a sample of the data set, as stated.")
input_quantity("suggested_rate", "sample/s/GPU", "Highest rate of a GPU that one kind of evidence suggests.")
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
input_quantity("stated_users", "1", "Sessions of users of a served model, as stated.", whole=True, label="users")
input_quantity("stated_replicas", "1", "Replicas of a served model that start at once, as stated.", whole=True)
input_quantity("weight_versions", "1", "Versions of the weights of a served model that storage keeps.", whole=True)
input_quantity("single_reader", "1", "A single reader of the weights.", low=1, high=1, above=False, default=1)
input_quantity("weight_readers", "1", "Times that a replica reads all its weights when it starts.")
alternative("weight_readers", "nodes_that_read_weights", when="weights_read_by_nodes")
alternative("weight_readers", "single_reader", when="weights_read_once")
alternative("served_users", "stated_users", when="generation_unknown")
alternative("serving_replicas", "stated_replicas", when="replicas_stated")
input_quantity("replica_nodes", "node", "Nodes of one replica of a served model.")
input_quantity("replica_room_bytes", "B", "Room on the GPUs of a replica for its weights and caches.", above=False,
    label="room on the GPUs of a replica")  # fmt: skip
input_quantity("sequences_of_replica", "1", "Sequences that a replica computes at a time.", whole=True)
computed_quantity("serving_replicas", "ceil(nodes / replica_nodes)", "1", "Replicas of a served model that its nodes hold.",
    label="replicas", whole=True, example="serving_replicas(16, 1), serving_replicas(7, 2) -> (16, 4)")  # fmt: skip
computed_quantity("nodes_that_read_weights", "ceil(replica_nodes / single_node)", "1",
    "Nodes of a replica, each of which reads all weights into its page cache.",
    example="nodes_that_read_weights(2.625, 1), nodes_that_read_weights(0.5, 1) -> (3, 1)")  # fmt: skip
computed_quantity("ranks_that_read_weights", "ceil(replica_nodes * gpus_per_node / single_gpu)", "1",
    "Tensor-parallel ranks of a replica, each of which reads all weights.", of="weight_readers", when="weights_read_by_ranks",
    example="ranks_that_read_weights(2, 8, 1), ranks_that_read_weights(0.5, 8, 1) -> (16, 4)")  # fmt: skip
computed_quantity("served_weights_bytes", "replica_weights_bytes * weight_versions", "B",
    "Weights of a served model on storage: all versions that are kept.",
    label="weights of served models on storage")  # fmt: skip
computed_quantity("earlier_tokens", "(session_turns - 1) / 2 * (prompt_tokens + generated_tokens)", "token",
    "Tokens of the earlier turns of its session that a mean turn reads as it decodes.", above=False,
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
input_quantity("required_read_bandwidth", "B/s", "Largest aggregate read bandwidth that a site requires.")
computed_quantity("read_density", "required_read_bandwidth / required_usable_bytes", "1/s",
    "Reads per second of each usable byte: how fast the medium has to be for its size. 0.001/s is 1 GB/s for each TB.",
    label="read bandwidth for each usable byte")  # fmt: skip
input_quantity("waste_goal", "1", "Checkpoint overhead allowed, as stated, where it is out of reach.", high=1)
input_quantity("least_waste_reached", "1", "Checkpoint overhead at any bandwidth.", above=False, high=1)
input_quantity("floor_signed", "1", "Whether the buyer signs the guidance as a requirement of its own.", above=False, high=1,
    whole=True, default=0)  # fmt: skip
computed_quantity("signed_read_floor", "site_read_floor * floor_signed", "B/s",
    "Read bandwidth of the guidance that the buyer requires whatever the workload needs.",
    label="signed reads of the guidance")  # fmt: skip
computed_quantity("asked_read_floor",
    "where(site_read_floor > site_read_bandwidth, minimum(site_read_floor, site_drawable_bandwidth), 0)", "B/s",
    "Reads of the guidance, at most what the clients draw; none where as much is required.",
    label="aggregate reads that the guidance asks for",
    example="asked_read_floor(30e9, 5e9, 80e9), asked_read_floor(30e9, 40e9, 80e9) -> (30000000000.0, 0)")  # fmt: skip
computed_quantity("asked_write_floor",
    "where(site_write_floor > site_write_bandwidth, minimum(site_write_floor, site_drawable_bandwidth), 0)", "B/s",
    "Writes of the guidance, at most what the clients draw; none where as much is required.",
    label="aggregate writes that the guidance asks for",
    example="asked_write_floor(14e9, 5e9, 80e9), asked_write_floor(14e9, 20e9, 80e9) -> (14000000000.0, 0)")  # fmt: skip
computed_quantity("asked_node_floor", "where(largest_node_floor > site_node_read_bandwidth, largest_node_floor, 0)",
    "B/s/node", "Reads of one node by the guidance; none where as much is required.",
    label="reads of one node that the guidance asks for",
    example="asked_node_floor(4e9, 1e9), asked_node_floor(4e9, 6e9) -> (4000000000.0, 0)")  # fmt: skip
computed_quantity("node_reads_with_tiers", "maximum(site_node_read_bandwidth, site_offload_read_bandwidth)", "B/s/node",
    "Largest read bandwidth required of one node: of data, or of offloaded states.")  # fmt: skip
computed_quantity("node_floor_with_tiers", "where(largest_node_floor > node_reads_with_tiers, largest_node_floor, 0)",
    "B/s/node", "Reads of one node by the guidance; none where data or offloaded states require as much.",
    of="asked_node_floor", when="tiers_shared",
    example="node_floor_with_tiers(4e9, 1e9), node_floor_with_tiers(4e9, 56e9) -> (4000000000.0, 0)")  # fmt: skip
# Where no job reads or saves, no line of its own carries what the guidance asks for, signed or not.
computed_quantity("reads_of_guidance_alone",
    "where(site_read_floor > workload_read_bandwidth, minimum(site_read_floor, site_drawable_bandwidth), 0)", "B/s",
    "Reads of the guidance, where no line of a job asks for reads.", of="asked_read_floor", when="no_job_reads",
    example="reads_of_guidance_alone(30e9, 0, 80e9) -> 30000000000.0")  # fmt: skip
computed_quantity("writes_of_guidance_alone",
    "where(site_write_floor > workload_write_bandwidth, minimum(site_write_floor, site_drawable_bandwidth), 0)", "B/s",
    "Writes of the guidance, where no line of a job asks for writes.", of="asked_write_floor", when="no_job_saves",
    example="writes_of_guidance_alone(14e9, 0, 8e9) -> 8000000000.0")  # fmt: skip
computed_quantity("node_reads_of_guidance_alone",
    "where(largest_node_floor > workload_node_read_bandwidth, largest_node_floor, 0)", "B/s/node",
    "Reads of one node by the guidance, where no line of a job asks for reads.", of="asked_node_floor",
    when="no_job_reads",
    example="node_reads_of_guidance_alone(4e9, 0) -> 4000000000.0")  # fmt: skip
