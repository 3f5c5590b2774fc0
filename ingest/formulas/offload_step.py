"""Time of a training step whose states lie below GPU memory: transfers, efficiency, bandwidth for a target, wear of drives."""

from ingest.engine.registry import alternative, computed_quantity, input_quantity

INFINITY = "zero-infinity2021"


computed_quantity("link_up_bytes",
    "held_weights_bytes * (level_weights_share * weight_reads_per_step + (1 - level_weights_share) * level_optimizer_share)"
    " + held_activations_bytes * level_activations_share", "B",
    "Bytes from the hosts to the GPUs in one step; weights that stay on the GPU come back new from an optimizer off the GPU.",
    example="link_up_bytes(26e9, 0, 3, 1, 1e9, 0), link_up_bytes(26e9, 1, 3, 1, 1e9, 1)"
        " -> (26000000000.0, 79000000000.0)")  # fmt: skip
computed_quantity("link_down_bytes",
    "moved_gradients_bytes * maximum(level_gradients_share, level_optimizer_share)"
    " + held_activations_bytes * level_activations_share", "B",
    "Bytes from the GPUs to the hosts in one step: gradients to where they or their optimizer lie, activation checkpoints.",
    example="link_down_bytes(26e9, 0, 1, 1e9, 1) -> 27000000000.0")  # fmt: skip
computed_quantity("link_pass_seconds", "maximum(link_up_bytes, link_down_bytes) / host_link_bandwidth_of_job", "s",
    "Copies between hosts and GPUs in one step; both directions run at once.",
    example="link_pass_seconds(6e12, 4e12, 48e9) -> 125.0")  # fmt: skip
computed_quantity("host_update_seconds",
    "parameters * level_optimizer_share / (host_optimizer_rate_per_node * nodes_in_job)", "s",
    "Time in which the CPUs update the parameters whose optimizer states lie off the GPU.",
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

input_quantity("arithmetic_intensity", "FLOP/B", "Compute per byte that moves.")
input_quantity("transfer_bandwidth_per_gpu", "B/s/GPU", "Bandwidth of transfers for each GPU.")

computed_quantity("transfer_efficiency",
    "arithmetic_intensity * transfer_bandwidth_per_gpu"
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
computed_quantity("nvme_bytes_written_per_day",
    "nvme_step_write_bytes / step_seconds * seconds_per_day / nodes_in_job", "B/node",
    "Bytes that training writes to the drives of one node in a day.", label="written to NVMe per day")  # fmt: skip
computed_quantity("nvme_writes_per_day", "nvme_bytes_written_per_day / nvme_bytes_per_node", "1",
    "Drive writes per day (DWPD) of the NVMe of a node.", label="drive writes per day of the NVMe")  # fmt: skip
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

input_quantity("interleave_every", "1", "Each k-th part of the optimizer states is updated on the GPU.",
    low=2, above=False, whole=True, label="parts per part on the GPU")  # fmt: skip

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

input_quantity("plain_update_seconds", "s", "Time in which the CPUs alone update all states off the GPU.", above=False)

computed_quantity("plain_step_seconds",
    "step_compute_seconds + pass_transfer_seconds"
    " + maximum(maximum(plain_update_seconds, nvme_update_seconds), storage_update_seconds)", "s",
    "Time of one step where compute waits for every transfer and the CPUs alone update the states.",
    source="deep-optimizer-states2024", where="flush_async0, opt_gaps0: neither flush nor interleaving",
    label="step without overlap or interleaving",
    example="plain_step_seconds(0.4, 3.0, 3.8, 0, 0) -> 7.199999999999999")  # fmt: skip
computed_quantity("interleaving_speedup", "plain_step_seconds / step_seconds", "1",
    "Time of a step without overlap or interleaving over its time with both.",
    label="speed-up over neither overlap nor interleaving")  # fmt: skip
