"""Memory of training: model states per parameter, their place, and the GPUs that hold them.

ZeRO spreads parts of the states over the replicas; offload moves parts off the GPU. Both are tables of shares
(`ingest.sizing.memory`): a part is replicated (on every GPU of its model shard), partitioned over the replicas, or not
on the GPU.
"""

from ingest.engine.registry import computed_quantity

ZERO = "zero2020"


computed_quantity("model_state_bytes_per_parameter",
    "held_weight_bytes_per_parameter + gradient_bytes_per_parameter + optimizer_bytes_per_parameter", "B/parameter",
    "Weights, gradients and optimizer states of one parameter.", source=ZERO, where="sec. 3.1: (2 + 2 + K)·Ψ",
    example="model_state_bytes_per_parameter(2, 2, 12) -> 16")  # fmt: skip
computed_quantity("held_weight_bytes_per_parameter", "weight_bytes_per_parameter * (1 + frozen_models)", "B/parameter",
    "Weights of the trained model and of those beside it that are only read, by parameter of one.",
    example="held_weight_bytes_per_parameter(2, 1) -> 4")  # fmt: skip
computed_quantity("model_state_bytes", "parameters * model_state_bytes_per_parameter", "B",
    "Weights, gradients and optimizer states of the whole model, once.", source=ZERO, where="sec. 3.1")  # fmt: skip
computed_quantity("replicated_bytes_per_parameter",
    "held_weight_bytes_per_parameter * weights_replicated + gradient_bytes_per_parameter * gradients_replicated"
    " + optimizer_bytes_per_parameter * optimizer_replicated", "B/parameter",
    "Bytes of one parameter that every replica holds in full.", source=ZERO, where="sec. 5, figure 1",
    example="replicated_bytes_per_parameter(2, 1, 2, 1, 12, 0) -> 4")  # fmt: skip
computed_quantity("partitioned_bytes_per_parameter",
    "held_weight_bytes_per_parameter * weights_partitioned + gradient_bytes_per_parameter * gradients_partitioned"
    " + optimizer_bytes_per_parameter * optimizer_partitioned", "B/parameter",
    "Bytes of one parameter that the replicas share.", source=ZERO, where="sec. 5, figure 1",
    example="partitioned_bytes_per_parameter(2, 0, 2, 1, 12, 1) -> 14")  # fmt: skip
computed_quantity("parameters_per_gpu",
    "parameters / (tensor_parallel * pipeline_parallel) * largest_stage_factor", "parameter/GPU",
    "Parameters of the largest model shard: the model over its ranks, and the largest stage over the mean one.")  # fmt: skip
computed_quantity("partition_ranks", "minimum(data_parallel, shard_group)", "1",
    "Replicas that share the partitioned states: all of them, or those of one group in hybrid sharding.", source="fsdp2023",
    where="sec. 3.2.2: sharding factor")  # fmt: skip
# Experts may be divided among other ranks of a pipeline stage than the tensor ranks of the layers.
computed_quantity("resident_parameters_per_gpu",
    "parameters_per_gpu * (1 - expert_share + expert_share * tensor_parallel / (expert_parallel * expert_tensor_parallel))",
    "parameter/GPU", "Parameters whose replicated states one GPU holds: its shard, with its share of the experts.",
    needs="parameters_per_gpu expert_share expert_parallel expert_tensor_parallel tensor_parallel",
    example="resident_parameters_per_gpu(10e9, 1, 8, 4, 4), resident_parameters_per_gpu(10e9, 0.5, 8, 1, 4)"
    " -> (1250000000.0, 7500000000.0)")  # fmt: skip
computed_quantity("model_state_bytes_per_gpu",
    "resident_parameters_per_gpu * replicated_bytes_per_parameter"
    " + parameters_per_gpu * partitioned_bytes_per_parameter / partition_ranks", "B/GPU",
    "Model states on one GPU.", source=ZERO, where="sec. 5, figure 1",
    example="model_state_bytes_per_gpu(7.5e9, 2, 7.5e9, 14, 64) -> 16640625000.0")  # fmt: skip
computed_quantity("memory_left_for_partitions",
    "memory_bytes_per_gpu * memory_utilization"
    " - resident_parameters_per_gpu * replicated_bytes_per_parameter - residual_bytes_per_gpu", "B/GPU",
    "Memory of one GPU that partitioned states may fill; at zero or below no number of GPUs holds the model.",
    source="ingest-checkpoint-model", where="M·u − replicated − residual",
    example="memory_left_for_partitions(80e9, 0.9, 17e9, 0, 0) -> 72000000000.0")  # fmt: skip
computed_quantity("gpus_to_hold",
    "maximum(ceil(parameters * largest_stage_factor * partitioned_bytes_per_parameter / memory_left_for_partitions"
    " / (tensor_parallel * pipeline_parallel * replica_group)), 1) * tensor_parallel * pipeline_parallel * replica_group",
    "GPU",
    "GPUs that hold the model; whole replicas of tensor × pipeline GPUs, in whole groups that share experts or sequences.",
    needs="parameters partitioned_bytes_per_parameter memory_left_for_partitions tensor_parallel pipeline_parallel "
    "largest_stage_factor replica_group", source="ingest-checkpoint-model",
    where="the smallest N with replicated + partitioned/N within the memory", whole=True,
    example="gpus_to_hold(17e9, 16, 72e9, 1, 1, 1, 1) -> 4")  # fmt: skip
computed_quantity("nodes_to_hold", "ceil(gpus_to_hold / gpus_per_node)", "node",
    "Nodes that these GPUs fill.", whole=True, example="nodes_to_hold(4, 8) -> 1")  # fmt: skip
computed_quantity("offloaded_bytes",
    "parameters * (held_weight_bytes_per_parameter * weights_offloaded"
    " + gradient_bytes_per_parameter * gradients_offloaded + optimizer_bytes_per_parameter * optimizer_offloaded)", "B",
    "Model states in host memory or on NVMe instead of GPU memory.", source="zero-infinity2021",
    where="sec. 3; ZeRO-Offload for the optimizer states on the host",
    example="offloaded_bytes(13e9, 2, 0, 4, 1, 12, 1) -> 208000000000.0")  # fmt: skip
computed_quantity("offloaded_bytes_per_node", "offloaded_bytes / offload_nodes", "B/node", "Offloaded states in one node.")
computed_quantity("zero_infinity_state_bytes",
    "block_parameter_factor * layers * hidden_size * hidden_size * zero_infinity_bytes", "B",
    "Model states of a transformer by the ZeRO-Infinity rule, embeddings left out.", source="zero-infinity2021",
    where="eq. 1 and 2: 12·nl·hd² parameters, 20 B each")  # fmt: skip
computed_quantity("activation_checkpoint_bytes",
    "activation_bytes * batch_sequences * sequence_elements * hidden_size * layers / blocks_per_checkpoint", "B",
    "Activations kept between checkpointed blocks, for the whole batch.", source="zero-infinity2021",
    where="eq. 3: 2·bsz·seq·hd·nl/ci")  # fmt: skip
computed_quantity("model_state_working_memory", "working_bytes * hidden_size * feed_forward_ratio * hidden_size", "B",
    "Weights and gradients of the largest operator, which a GPU must hold together.", source="zero-infinity2021",
    where="eq. 4: 4·hd·4hd")  # fmt: skip
computed_quantity("bloom_parameters",
    "(block_parameter_factor * hidden_size + vector_parameter_factor) * layers * hidden_size"
    " + embeddings * vocabulary_size * hidden_size", "parameter",
    "Parameters of the BLOOM family; one embedding where input and output share it, two where not.", source="bigscience-bloom",
    where="12·nl·hd² + e·V·hd + 13·nl·hd",
    needs="layers hidden_size block_parameter_factor vector_parameter_factor embeddings vocabulary_size",
    example="bloom_parameters(70, 14_336, 12, 13, 1, 250_880) -> 176247214080")  # fmt: skip
