"""Training whose states lie below GPU memory: bytes by class and tier, traffic per step, efficiency, bandwidth, wear.

Four classes of bytes (weights, gradients, optimizer states, activation checkpoints) lie in four tiers (GPU memory, host
memory, NVMe of the nodes, shared storage). The shares of each class in a tier are inputs (`ingest.sizing.offload`); each
tier, and each group of tiers, has the same formulas, `level_…`.
"""

from ingest.engine.registry import alternative, computed_quantity, input_quantities

input_quantities(__file__)

INFINITY = "zero-infinity2021"


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
computed_quantity("stored_activations_bytes", "activation_bytes * step_sequences * sequence_elements * layers"
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
computed_quantity("level_bytes", "held_weights_bytes * level_weights_share + held_gradients_bytes * level_gradients_share"
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

computed_quantity("link_up_bytes",
    "held_weights_bytes * (level_weights_share * weight_reads_per_step + (1 - level_weights_share) * level_optimizer_share)"
    " + held_activations_bytes * level_activations_share", "B",
    "Bytes from the hosts to the GPUs in one step; weights that stay on the GPU come back new from an optimizer off the GPU.",
    example="link_up_bytes(26e9, 0, 3, 1, 1e9, 0), link_up_bytes(26e9, 1, 3, 1, 1e9, 1)"
        " -> (26000000000.0, 79000000000.0)")  # fmt: skip
computed_quantity("link_down_bytes", "moved_gradients_bytes * maximum(level_gradients_share, level_optimizer_share)"
    " + held_activations_bytes * level_activations_share", "B",
    "Bytes from the GPUs to the hosts in one step: gradients to where they or their optimizer lie, activation checkpoints.",
    example="link_down_bytes(26e9, 0, 1, 1e9, 1) -> 27000000000.0")  # fmt: skip
computed_quantity("link_pass_seconds", "maximum(link_up_bytes, link_down_bytes) / host_link_bandwidth_of_job", "s",
    "Copies between hosts and GPUs in one step; both directions run at once.",
    example="link_pass_seconds(6e12, 4e12, 48e9) -> 125.0")  # fmt: skip
computed_quantity("host_update_seconds", "parameters * level_optimizer_share / (host_optimizer_rate_per_node * nodes_in_job)",
    "s", "Time in which the CPUs update the parameters whose optimizer states lie off the GPU.",
    label="optimizer on the host")  # fmt: skip

alternative("host_update_seconds", "interleaved_update_seconds", when="updates_interleaved")

computed_quantity("pass_transfer_seconds", "maximum(maximum(link_pass_seconds, nvme_pass_seconds), storage_pass_seconds)", "s",
    "Transfers in forward and backward pass: the tiers work at once, the slowest counts.", label="transfers of the passes",
    example="pass_transfer_seconds(125, 500, 0) -> 500")  # fmt: skip
computed_quantity("update_seconds", "maximum(maximum(host_update_seconds, nvme_update_seconds), storage_update_seconds)", "s",
    "Time of the optimizer step off the GPU: its transfers and its update overlap each other, but no compute.", source=INFINITY,
    where="sec. 5: reads, update and writes of parts of the states overlap", label="optimizer step",
    example="update_seconds(250, 1000, 0) -> 1000")  # fmt: skip
computed_quantity("step_seconds_overlapped", "maximum(step_compute_seconds, pass_transfer_seconds) + update_seconds", "s",
    "Time of one step where transfers overlap compute; the optimizer step follows the backward pass.",
    label="step where transfers overlap compute", example="step_seconds_overlapped(600, 500, 1000) -> 1600")  # fmt: skip
computed_quantity("step_seconds_serial", "step_compute_seconds + pass_transfer_seconds + update_seconds", "s",
    "Time of one step where compute waits for every transfer.", source=INFINITY, where="sec. 4, efficiency without overlap",
    label="step without overlap", example="step_seconds_serial(600, 500, 1000) -> 2100")  # fmt: skip
computed_quantity("step_seconds", "step_seconds_overlapped", "s", "Time of one step.", label="step")

alternative("step_seconds", "step_seconds_serial", when="transfers_waited_for", optional=True)

computed_quantity("offload_efficiency", "step_compute_seconds / step_seconds", "1", "Compute time over step time.", high=1)
computed_quantity("offload_flops_per_gpu", "achieved_flops_per_gpu * offload_efficiency", "FLOP/s/GPU",
    "Compute of a step over its time, for each GPU; recomputed activations count.",
    label="compute rate with all transfers")  # fmt: skip
computed_quantity("weights_intensity", "step_flops / (held_weights_bytes * (weight_reads_per_step + 1))", "FLOP/B",
    "Compute per byte of weights moved: each read of them, and one write of as many bytes.", source=INFINITY,
    where="sec. 4: bsz·seq for weights and gradients",
    example="weights_intensity(8 * 1024 * 1e12, 2e12, 3) -> 1024.0")  # fmt: skip
computed_quantity("optimizer_intensity", "step_flops / (2 * (held_optimizer_bytes + moved_gradients_bytes))", "FLOP/B",
    "Compute per byte of optimizer states and gradients moved, each read and written once.", source=INFINITY,
    where="sec. 4: bsz·seq/4 for the optimizer",
    example="optimizer_intensity(8 * 1024 * 1e12, 12e12, 4e12) -> 256.0")  # fmt: skip
computed_quantity("activations_intensity", "step_flops / (2 * held_activations_bytes)", "FLOP/B",
    "Compute per byte of activation checkpoints moved, each written and read once.", source=INFINITY,
    where="sec. 4: 24·hd·ci for activation checkpoints",
    example="activations_intensity(8 * 1024 * 12 * 128 * 25_600**2, 2 * 1024 * 25_600 * 128) -> 614400.0")  # fmt: skip

computed_quantity("transfer_efficiency", "arithmetic_intensity * transfer_bandwidth_per_gpu"
    " / (arithmetic_intensity * transfer_bandwidth_per_gpu + achieved_flops_per_gpu)", "1",
    "Compute time over the sum of compute and transfers, for one class of bytes and without overlap.", source=INFINITY,
    where="sec. 4: ait·bw/(ait·bw + peak)", high=1,
    example="round(transfer_efficiency(1024, 70e9, 70e12), 3) -> 0.506")  # fmt: skip
computed_quantity("bandwidth_for_target",
    "achieved_flops_per_gpu * offload_target / ((1 - offload_target) * arithmetic_intensity)", "B/s/GPU",
    "Bandwidth for each GPU at which one class of bytes leaves the efficiency wanted.", source=INFINITY,
    where="sec. 4, solved for the bandwidth", label="bandwidth of each GPU at the efficiency wanted",
    example="round(bandwidth_for_target(70e12, 0.5, 256) / 1e9, 1) -> 273.4")  # fmt: skip
computed_quantity("update_seconds_allowed", "step_compute_seconds / offload_target - step_compute_seconds", "s",
    "Time beyond compute that the efficiency wanted leaves in one step.",
    example="update_seconds_allowed(900, 0.9) -> 100.0")  # fmt: skip
computed_quantity("step_seconds_of_nics",
    "step_compute_seconds + storage_update_read_bytes / (storage_nic_bandwidth_per_node * nodes_in_job)", "s",
    "Least time of one step whose optimizer states come over the storage NICs, however fast the storage is.",
    example="step_seconds_of_nics(1.5, 800e9, 80e9, 1) -> 11.5")  # fmt: skip
computed_quantity("step_seconds_at_target", "step_compute_seconds / offload_target", "s",
    "Time of one step at the efficiency wanted.", label="step at the efficiency wanted")  # fmt: skip
computed_quantity("level_read_bandwidth_overlapped",
    "maximum(level_pass_read_bytes / step_compute_seconds, level_update_read_bytes / update_seconds_allowed) / nodes_in_job",
    "B/s/node", "Read bandwidth for the efficiency wanted: the passes read while they compute, the optimizer in the time left.",
    example="level_read_bandwidth_overlapped(6e12, 600, 16e12, 100, 4) -> 40000000000.0")  # fmt: skip
computed_quantity("level_write_bandwidth_overlapped",
    "maximum(level_pass_write_bytes / step_compute_seconds, level_update_write_bytes / update_seconds_allowed) / nodes_in_job",
    "B/s/node", "Write bandwidth for the efficiency wanted, at the same time as the reads.",
    example="level_write_bandwidth_overlapped(4e12, 600, 14e12, 100, 4) -> 35000000000.0")  # fmt: skip
computed_quantity("level_read_bandwidth_serial", "level_step_read_bytes / update_seconds_allowed / nodes_in_job", "B/s/node",
    "Read bandwidth for the efficiency wanted where compute waits for every transfer.")  # fmt: skip
computed_quantity("level_write_bandwidth_serial", "level_step_write_bytes / update_seconds_allowed / nodes_in_job", "B/s/node",
    "Write bandwidth for the efficiency wanted where compute waits for every transfer.")  # fmt: skip
computed_quantity("shared_read_bandwidth", "drive_tier_read_bandwidth_per_node * nodes_in_job", "B/s",
    "Read bandwidth of a shared system that takes the place of all drives.", label="reads if drives are shared")  # fmt: skip
computed_quantity("shared_write_bandwidth", "drive_tier_write_bandwidth_per_node * nodes_in_job", "B/s",
    "Write bandwidth of a shared system that takes the place of all drives.", label="writes if drives are shared")  # fmt: skip
computed_quantity("nvme_bytes_written_per_day", "nvme_step_write_bytes / step_seconds * seconds_per_day / nodes_in_job",
    "B/node", "Bytes that training writes to the drives of one node in a day.", label="written to NVMe per day")  # fmt: skip
computed_quantity("nvme_writes_per_day", "nvme_bytes_written_per_day / nvme_bytes_per_node", "1",
    "Drive writes per day (DWPD) of the NVMe of a node.", label="drive writes per day of the NVMe")  # fmt: skip
computed_quantity("nvme_endurance_bytes", "nvme_bytes_written_per_day / rated_writes_per_day", "B/node",
    "Drives of one node that take the writes of training as often as they are rated for.",
    label="NVMe of a node that outlasts these writes")  # fmt: skip
computed_quantity("storage_bytes_written_per_day", "storage_step_write_bytes / step_seconds * seconds_per_day", "B",
    "Bytes that training writes to shared storage in a day.", label="written to shared storage per day")  # fmt: skip
computed_quantity("offload_states_bytes", "held_weights_bytes + held_gradients_bytes + held_optimizer_bytes", "B",
    "Model states: all that is placed but activation checkpoints.", label="states of the model",
    example="offload_states_bytes(2e12, 6e12, 12e12) -> 20000000000000.0")  # fmt: skip
computed_quantity("states_room_per_node",
    "(gpu_room_bytes + cpu_room_bytes + nvme_room_bytes - held_activations_bytes) / nodes_in_job", "B/node",
    "Room of one node for model states: its three tiers without its own activation checkpoints.",
    example="states_room_per_node(0.2e12, 1.4e12, 27.6e12, 0.2e12, 1) -> 29000000000000.0")  # fmt: skip
computed_quantity("offload_nodes_to_hold", "ceil(offload_states_bytes / states_room_per_node)", "node",
    "Nodes whose GPU memory, host memory and NVMe hold the model states.", label="nodes that hold all", whole=True,
    example="offload_nodes_to_hold(640e12, 29e12) -> 23")  # fmt: skip

computed_quantity("update_parameters", "parameters * level_optimizer_share", "parameter",
    "Parameters whose optimizer states lie off the GPU.")  # fmt: skip
computed_quantity("interleaved_update_seconds",
    "update_parameters / interleave_every * maximum((interleave_every - 1) / (host_optimizer_rate_per_node * nodes_in_job), "
    "maximum((optimizer_bytes_per_parameter + (interleave_every - 1) * weight_bytes_per_parameter)"
    " / host_link_bandwidth_of_job, update_traffic_bytes / (memory_bandwidth_per_gpu * gpus)))", "s",
    "Time of the optimizer step where each k-th part moves to the GPU and back while the CPUs update the others.",
    source="deep-optimizer-states2024", where="derived: CPU path, link, update on the GPU", label="interleaved optimizer step",
    example="round(interleaved_update_seconds(12.58e9, 2, 3.34e9, 1, 12, 2, 100e9, 30, 1.555e12, 4), 3) -> 1.883")  # fmt: skip
computed_quantity("interleaved_up_bytes",
    "update_parameters * (optimizer_bytes_per_parameter + (interleave_every - 1) * weight_bytes_per_parameter)"
    " / interleave_every", "B",
    "Bytes from the hosts to the GPUs in an interleaved optimizer step.", source="deep-optimizer-states2024",
    where="derived: states of each k-th part, 16-bit weights of the others", label="from host to GPU in the optimizer step",
    needs="update_parameters interleave_every optimizer_bytes_per_parameter weight_bytes_per_parameter",
    example="interleaved_up_bytes(10e9, 2, 12, 2) -> 70000000000.0")  # fmt: skip
computed_quantity("interleaved_down_bytes", "update_parameters * optimizer_bytes_per_parameter / interleave_every", "B",
    "Bytes from the GPUs to the hosts in an interleaved optimizer step, gradients left out.",
    source="deep-optimizer-states2024", where="derived: states of each k-th part",
    label="from GPU to host in the optimizer step",
    needs="update_parameters interleave_every optimizer_bytes_per_parameter")  # fmt: skip

computed_quantity("plain_step_seconds", "step_compute_seconds + pass_transfer_seconds"
    " + maximum(maximum(plain_update_seconds, nvme_update_seconds), storage_update_seconds)", "s",
    "Time of one step where compute waits for every transfer and the CPUs alone update the states.",
    source="deep-optimizer-states2024", where="flush_async0, opt_gaps0: neither flush nor interleaving",
    label="step without overlap or interleaving",
    example="plain_step_seconds(0.4, 3.0, 3.8, 0, 0) -> 7.199999999999999")  # fmt: skip
computed_quantity("interleaving_speedup", "plain_step_seconds / step_seconds", "1",
    "Time of a step without overlap or interleaving over its time with both.",
    label="speed-up over neither overlap nor interleaving")  # fmt: skip
