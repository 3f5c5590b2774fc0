"""Training whose states lie below GPU memory: bytes by class and tier, traffic per step, efficiency, bandwidth, wear.

Four classes of bytes (weights, gradients, optimizer states, activation checkpoints) lie in four tiers (GPU memory, host
memory, NVMe of the nodes, shared storage). The shares of each class in a tier are inputs (`ingest.sizing.offload`); each
tier, and each group of tiers, has the same formulas, `level_…`.
"""

from ingest.engine.registry import alternative, computed_quantity, input_quantity

INFINITY = "zero-infinity2021"

input_quantity("sequences_per_gpu", "1/GPU", "Sequences that one GPU trains in one step.", whole=True)
input_quantity("operator_share_per_gpu", "1/GPU", "Share of the largest operator that a GPU holds at a time: 1 unless tiled.",
    high=1, default=1, source=INFINITY)  # fmt: skip
input_quantity("attention_heads", "1", "Attention heads of one block.", whole=True)
input_quantity("weight_reads_per_step", "1", "Reads of the weights in one step: forward, backward, and recomputing.",
    default=3, source=INFINITY, whole=True)  # fmt: skip
input_quantity("update_gradient_bytes", "B/parameter", "Width in which the optimizer on the host takes a gradient.",
    default=4, source=INFINITY)  # fmt: skip
input_quantity("tier_utilization", "1", "Share of host memory or NVMe that offloaded bytes may fill.", high=1)
input_quantity("nvme_write_bandwidth_per_node", "B/s/node", "Aggregate write bandwidth of the local drives of one node.")
alternative("nvme_write_bandwidth_per_node", "nvme_write_bandwidth_from_reads", when="tiers_of_nodes", optional=True)
input_quantity("nvme_delivery", "1", "Share of the datasheet bandwidth that reads and writes of tensors reach.", high=1)
input_quantity("nvme_write_share", "1", "Write over read bandwidth of the local drives.", high=2)
input_quantity("host_link_delivery", "1", "Share of the host link that copies between host and GPU reach.", high=1)
input_quantity("host_uplink_bandwidth_per_node", "B/s/node", "Copies between host and GPUs of a node, measured with all GPUs.")
alternative("host_uplink_bandwidth_per_node", "host_links_of_node", when="tiers_of_nodes", optional=True)
input_quantity("host_optimizer_rate_per_node", "parameter/s/node", "Parameters that the host CPUs of a node update per second.")
alternative("host_optimizer_rate_per_node", "host_optimizer_rate_of_memory", when="host_memory_limits")
input_quantity("storage_room_bytes", "B", "Usable bytes of the shared storage system.")
input_quantity("offload_storage_units", "1", "Drives of each node, or units of the shared system.", whole=True)
input_quantity("host_memory_bandwidth_per_node", "B/s/node", "Nominal bandwidth of host memory, all sockets and channels.")
input_quantity("host_memory_delivery", "1", "Share of the bandwidth of host memory that an optimizer on the CPUs reaches.",
    high=1)  # fmt: skip
input_quantity("update_traffic_bytes", "B/parameter", "Memory that the update of one parameter reads and writes.",
    default=30, source="arithmetic")  # fmt: skip
input_quantity("system_write_bandwidth", "B/s", "Write bandwidth of a whole storage system.")
input_quantity("offload_target", "1", "Efficiency wanted: compute time over step time.", high=0.999)
for _class in ("weights", "gradients", "optimizer", "activations"):
    input_quantity(f"level_{_class}_share", "1", f"Share of the {_class} that lies in the tier.", above=False, high=1)
input_quantity("level_read_bandwidth", "B/s", "Read bandwidth of the tier for the whole job.")
input_quantity("level_write_bandwidth", "B/s", "Write bandwidth of the tier for the whole job.")
for _tier, _place in (("gpu", "GPU memory"), ("cpu", "host memory"), ("nvme", "NVMe"),
                      ("storage", "shared storage")):  # fmt: skip
    input_quantity(f"{_tier}_tier_bytes", "B", f"Bytes in {_place}, of all nodes.", above=False, label=f"held in {_place}")
for _tier in ("nvme", "storage"):
    input_quantity(f"{_tier}_pass_seconds", "s", "Transfers of this tier during forward and backward pass.", above=False)
    input_quantity(f"{_tier}_update_seconds", "s", "Transfers of this tier while the optimizer runs.", above=False)
    _named = {"nvme": "NVMe", "storage": "shared storage"}[_tier]
    input_quantity(f"{_tier}_tier_read_bandwidth_per_node", "B/s/node", f"Reads from {_named} at the efficiency wanted.",
        above=False, label=f"reads from {_named} per node")  # fmt: skip
    input_quantity(f"{_tier}_tier_write_bandwidth_per_node", "B/s/node", f"Writes to {_named} at the efficiency wanted.",
        above=False, label=f"writes to {_named} per node")  # fmt: skip
input_quantity("offload_bytes_per_node", "B/node", "Bytes off the GPU for each node.",
    above=False, label="offloaded bytes per node")  # fmt: skip
input_quantity("offload_read_bandwidth_per_node", "B/s/node", "Reads from the tiers off the GPU at the efficiency wanted.",
    above=False, label="offload read bandwidth per node")  # fmt: skip
input_quantity("offload_write_bandwidth_per_node", "B/s/node", "Writes to the tiers off the GPU at the efficiency wanted.",
    above=False, label="offload write bandwidth per node")  # fmt: skip
input_quantity("drive_tier_bytes_per_node", "B/node", "Bytes on NVMe and shared storage for each node.",
    above=False, label="bytes on drives per node")  # fmt: skip
input_quantity("drive_tier_read_bandwidth_per_node", "B/s/node", "Reads from NVMe and shared storage at the efficiency wanted.",
    above=False, label="reads from drives per node")  # fmt: skip
input_quantity("drive_tier_write_bandwidth_per_node", "B/s/node", "Writes to NVMe and shared storage at the efficiency wanted.",
    above=False, label="writes to drives per node")  # fmt: skip
input_quantity("nvme_step_write_bytes", "B", "Bytes written to the NVMe of all nodes in one step.", above=False)
input_quantity("storage_step_write_bytes", "B", "Bytes written to shared storage in one step.", above=False)
input_quantity("storage_update_read_bytes", "B", "Bytes that the optimizer reads from shared storage in one step.", above=False)
input_quantity("storage_step_read_bytes", "B", "Bytes read from shared storage in one step.", above=False)

computed_quantity("block_parameters", "block_parameter_factor * layers * hidden_size * hidden_size", "parameter",
    "Parameters of a transformer by its layers and width, embeddings left out.", source=INFINITY,
    where="eq. 1: 12·nl·hd²")  # fmt: skip
computed_quantity("gpus_of_one_node", "gpus_per_node * single_node", "GPU", "GPUs of a job on one node.", whole=True)
computed_quantity("host_links_of_node", "host_link_bandwidth_per_gpu * gpus_per_node * host_link_delivery", "B/s/node",
    "Copies between host and GPUs of a node whose GPUs share no uplink, in one direction.")  # fmt: skip
computed_quantity("step_sequences", "sequences_per_gpu * gpus", "1", "Sequences of one step over all GPUs.")
computed_quantity("step_tokens", "step_sequences * sequence_length", "token", "Tokens of one step over all GPUs.")
computed_quantity("step_flops", "flops_per_token_6n * step_tokens", "FLOP",
    "Compute of one step.", source=INFINITY, where="sec. 4: 2·4·bsz·seq·parameters with recomputed activations")  # fmt: skip
computed_quantity("step_compute_seconds", "step_flops / (achieved_flops_per_gpu * gpus)", "s",
    "Time of one step if nothing waits for a transfer.", label="compute of a step")  # fmt: skip
computed_quantity("held_weights_bytes", "parameters * weight_bytes_per_parameter", "B",
    "Weights of the whole model, once.", source="zero2020", where="sec. 3.1", label="weights")  # fmt: skip
computed_quantity("held_gradients_bytes", "parameters * gradient_bytes_per_parameter", "B",
    "Gradients of the whole model, once.", source="zero2020", where="sec. 3.1", label="gradients")  # fmt: skip
computed_quantity("held_optimizer_bytes", "parameters * optimizer_bytes_per_parameter", "B",
    "Optimizer states of the whole model, once.", source="zero2020", where="sec. 3.1", label="optimizer states")  # fmt: skip
computed_quantity("held_activations_bytes",
    "activation_bytes * step_sequences * sequence_elements * hidden_size * layers / blocks_per_checkpoint", "B",
    "Activation checkpoints of one step over all GPUs.", source=INFINITY, where="eq. 3: 2·bsz·seq·hd·nl/ci",
    label="kept activations")  # fmt: skip

computed_quantity("moved_gradients_bytes", "parameters * minimum(gradient_bytes_per_parameter, update_gradient_bytes)", "B",
    "Gradients that move to the optimizer in one step: at most as wide as the optimizer takes them.", source=INFINITY,
    where="sec. 4: 2·16·parameters of optimizer traffic, a gradient of 4 B among them",
    example="moved_gradients_bytes(1e12, 6, 4), moved_gradients_bytes(1e12, 2, 4)"
        " -> (4000000000000.0, 2000000000000.0)")  # fmt: skip
computed_quantity("offload_total_bytes",
    "held_weights_bytes + held_gradients_bytes + held_optimizer_bytes + held_activations_bytes", "B",
    "All that is placed: model states and activation checkpoints.", label="states and kept activations",
    example="offload_total_bytes(2e12, 6e12, 12e12, 1e11) -> 20100000000000.0")  # fmt: skip
computed_quantity("activation_working_memory",
    "activation_bytes * sequences_per_gpu * sequence_elements * blocks_per_checkpoint"
    " * (16 * hidden_size + 2 * attention_heads * sequence_elements)", "B/GPU",
    "Activations between two checkpoints, which a GPU holds while it recomputes them; scores of attention in full.",
    source=INFINITY, where="eq. 5: bsz·seq·ci·(16·hd + 2·heads·seq) numbers",
    example="round(activation_working_memory(2, 2, 1024, 1, 25_600, 256) / 2**30, 2) -> 3.56")  # fmt: skip
computed_quantity("stored_activations_bytes",
    "activation_bytes * step_sequences * sequence_elements * layers"
    " * (16 * hidden_size + 2 * attention_heads * sequence_elements)", "B",
    "Activations of one step over all GPUs if none is recomputed; scores of attention in full.", source=INFINITY,
    where="figure 2a: eq. 5 over all layers", of="held_activations_bytes", when="activations_stored",
    example="round(stored_activations_bytes(2, 32, 1024, 128, 25_600, 256) / 2**40, 2) -> 7.13")  # fmt: skip
computed_quantity("offload_working_bytes_per_gpu",
    "model_state_working_memory * operator_share_per_gpu + activation_working_memory + residual_bytes_per_gpu", "B/GPU",
    "Memory that one GPU needs besides what is placed: a tile of the largest operator, activations in work, buffers.",
    label="working memory per GPU", example="offload_working_bytes_per_gpu(10.5e9, 1, 3.8e9, 0) -> 14300000000.0")  # fmt: skip

alternative("offload_working_bytes_per_gpu", "streamed_bytes_per_gpu", when="weights_streamed")

computed_quantity("gpu_room_bytes",
    "maximum(memory_bytes_per_gpu * memory_utilization - offload_working_bytes_per_gpu, 0.0) * gpus", "B",
    "GPU memory of the job that placed bytes may fill; none where working memory fills it.",
    example="gpu_room_bytes(80e9, 0.9, 12e9, 8), gpu_room_bytes(80e9, 0.9, 75e9, 8) -> (480000000000.0, 0.0)")  # fmt: skip
computed_quantity("cpu_room_bytes", "host_memory_per_node * tier_utilization * nodes_in_job", "B",
    "Host memory of the job that placed bytes may fill.")  # fmt: skip
computed_quantity("nvme_room_bytes", "nvme_bytes_per_node * tier_utilization * nodes_in_job", "B",
    "NVMe of the job that placed bytes may fill.")  # fmt: skip
computed_quantity("nvme_write_bandwidth_from_reads", "nvme_read_bandwidth_per_node * nvme_write_share", "B/s/node",
    "Write bandwidth of drives whose read bandwidth alone is known.")  # fmt: skip
computed_quantity("nvme_read_bandwidth_of_job", "nvme_read_bandwidth_per_node * nvme_delivery * nodes_in_job", "B/s",
    "Reads of tensors from the NVMe of all nodes.")  # fmt: skip
computed_quantity("nvme_write_bandwidth_of_job", "nvme_write_bandwidth_per_node * nvme_delivery * nodes_in_job", "B/s",
    "Writes of tensors to the NVMe of all nodes.")  # fmt: skip
computed_quantity("storage_read_bandwidth_of_job",
    "minimum(system_read_bandwidth, storage_nic_bandwidth_per_node * nodes_in_job)", "B/s",
    "Reads from shared storage: what the system gives, or what the storage NICs of the nodes take.",
    example="storage_read_bandwidth_of_job(90e9, 50e9, 1) -> 50000000000.0")  # fmt: skip
computed_quantity("storage_write_bandwidth_of_job",
    "minimum(system_write_bandwidth, storage_nic_bandwidth_per_node * nodes_in_job)", "B/s",
    "Writes to shared storage: what the system takes, or what the storage NICs of the nodes give.",
    example="storage_write_bandwidth_of_job(65e9, 50e9, 1) -> 50000000000.0")  # fmt: skip
computed_quantity("host_link_bandwidth_of_job",
    "minimum(host_link_bandwidth_per_gpu * gpus * host_link_delivery, host_uplink_bandwidth_per_node * nodes_in_job)", "B/s",
    "Copies between host and GPUs in one direction, all GPUs at once; shared uplinks are measured and deliver all of it.",
    example="host_link_bandwidth_of_job(15.75e9, 16, 0.5, 48e9, 1), host_link_bandwidth_of_job(15.75e9, 4, 0.5, 48e9, 1)"
        " -> (48000000000.0, 31500000000.0)")  # fmt: skip
computed_quantity("level_bytes",
    "held_weights_bytes * level_weights_share + held_gradients_bytes * level_gradients_share"
    " + held_optimizer_bytes * level_optimizer_share + held_activations_bytes * level_activations_share", "B",
    "Bytes that lie in a tier.", example="level_bytes(2e12, 1, 6e12, 1, 12e12, 0.5, 1e11, 0) -> 14000000000000.0")  # fmt: skip
computed_quantity("level_bytes_per_node", "level_bytes / nodes_in_job", "B/node", "Bytes of a tier for each node.")
computed_quantity("level_pass_read_bytes",
    "held_weights_bytes * level_weights_share * weight_reads_per_step + held_activations_bytes * level_activations_share", "B",
    "Bytes that forward and backward pass read from a tier.", source=INFINITY,
    where="sec. 4: weights for forward, backward and recomputing; activations once",
    example="level_pass_read_bytes(2e12, 1, 3, 1e11, 1) -> 6100000000000.0")  # fmt: skip
computed_quantity("level_pass_write_bytes",
    "moved_gradients_bytes * level_gradients_share + held_activations_bytes * level_activations_share", "B",
    "Bytes that forward and backward pass write to a tier.", source=INFINITY, where="sec. 4: gradients once, activations once",
    example="level_pass_write_bytes(4e12, 1, 1e11, 1) -> 4100000000000.0")  # fmt: skip
computed_quantity("level_update_read_bytes",
    "moved_gradients_bytes * level_gradients_share + held_optimizer_bytes * level_optimizer_share", "B",
    "Bytes that the optimizer reads from a tier.", source=INFINITY, where="sec. 4: optimizer states and gradients once",
    example="level_update_read_bytes(4e12, 1, 12e12, 1) -> 16000000000000.0")  # fmt: skip
computed_quantity("level_update_write_bytes",
    "held_optimizer_bytes * level_optimizer_share + held_weights_bytes * level_weights_share", "B",
    "Bytes that the optimizer writes to a tier.", source=INFINITY, where="sec. 4: optimizer states once, and the new weights",
    example="level_update_write_bytes(12e12, 1, 2e12, 1) -> 14000000000000.0")  # fmt: skip
computed_quantity("level_step_read_bytes", "level_pass_read_bytes + level_update_read_bytes", "B",
    "Bytes read from a tier in one step.", label="read per step by the whole job")  # fmt: skip
computed_quantity("level_step_write_bytes", "level_pass_write_bytes + level_update_write_bytes", "B",
    "Bytes written to a tier in one step.", label="written per step by the whole job")  # fmt: skip
computed_quantity("level_pass_seconds",
    "level_pass_read_bytes / level_read_bandwidth + level_pass_write_bytes / level_write_bandwidth", "s",
    "Transfers of a tier in forward and backward pass; reads and writes share the drives.",
    example="level_pass_seconds(6e12, 24e9, 4e12, 16e9) -> 500.0")  # fmt: skip
computed_quantity("level_update_seconds",
    "level_update_read_bytes / level_read_bandwidth + level_update_write_bytes / level_write_bandwidth", "s",
    "Transfers of a tier while the optimizer runs; reads and writes share the drives.",
    example="level_update_seconds(16e12, 32e9, 14e12, 28e9) -> 1000.0")  # fmt: skip
computed_quantity("host_optimizer_rate_of_memory",
    "host_memory_bandwidth_per_node * host_memory_delivery / update_traffic_bytes", "parameter/s/node",
    "Parameters that the CPUs of a node update per second: 12 B of states and 4 B of gradient read, 14 B written.",
    source="deep-optimizer-states2024", where="derived: host memory bounds the update on CPUs")  # fmt: skip
