"""Checkpoints: size, files, bytes read by a restore, retention."""

from ingest.engine.expression import Num, ceil, total
from ingest.engine.registry import formula


@formula(unit="parameter", source="definition")
def trainable_parameters(parameters: Num, trainable_share: Num) -> Num:
    """Parameters that training changes: all of them, or the adapters of a LoRA."""
    return parameters * trainable_share


@formula(
    unit="parameter", source="mlperf-storage-v2", where="dlio_benchmark checkpointing: norms are written by each tensor rank"
)
def saved_parameters(trainable_parameters: Num, tensor_replicated_parameters: Num, tensor_replicas_saved: Num) -> Num:
    """Parameters in the files: those trained, and further copies of those that tensor parallelism replicates.

    >>> saved_parameters(405_853_388_800, 4_145_152, 7)
    405882404864
    """
    return trainable_parameters + tensor_replicated_parameters * tensor_replicas_saved


@formula(unit="B/parameter", source="zero2020", where="sec. 3.1: master copy, momentum and variance of mixed-precision Adam")
def optimizer_bytes_per_parameter(
    master_bytes_per_parameter: Num,
    momentum_bytes_per_parameter: Num,
    variance_bytes_per_parameter: Num,
    second_moment_share: Num,
) -> Num:
    """Bytes of optimizer state for each parameter trained; AdamW in mixed precision keeps 4 + 4 + 4.

    >>> optimizer_bytes_per_parameter(4, 4, 4, 1)
    12
    """
    return master_bytes_per_parameter + momentum_bytes_per_parameter + variance_bytes_per_parameter * second_moment_share


@formula(unit="B", source="definition")
def checkpoint_weights_bytes(saved_parameters: Num, weight_bytes_per_parameter: Num) -> Num:
    """Weights in one checkpoint."""
    return saved_parameters * weight_bytes_per_parameter


@formula(unit="B", source="definition")
def checkpoint_optimizer_bytes(trainable_parameters: Num, optimizer_bytes_per_parameter: Num) -> Num:
    """Optimizer states in one checkpoint, the master copy of the weights included."""
    return trainable_parameters * optimizer_bytes_per_parameter


@formula(unit="B", source="definition")
def checkpoint_extra_bytes(extra_bytes_per_rank: Num, gpus: Num) -> Num:
    """Bytes that all ranks add: buffers, random-number and data-loader state, padding."""
    return extra_bytes_per_rank * gpus


@formula(unit="B", source="definition", label="checkpoint size")
def checkpoint_bytes(checkpoint_weights_bytes: Num, checkpoint_optimizer_bytes: Num, checkpoint_extra_bytes: Num) -> Num:
    """One whole checkpoint; gradients are never saved.

    >>> checkpoint_bytes(16_060_522_496, 96_363_134_976, 1_966_080) / 2**30
    104.7045...
    """
    return checkpoint_weights_bytes + checkpoint_optimizer_bytes + checkpoint_extra_bytes


@formula(
    unit="B/GPU",
    source="mlperf-storage-v2",
    where="dlio_benchmark checkpointing: who writes weights, who writes optimizer states",
)
def checkpoint_bytes_per_rank_max(
    checkpoint_weights_bytes: Num,
    ranks_writing_weights: Num,
    checkpoint_optimizer_bytes: Num,
    ranks_writing_optimizer: Num,
    largest_stage_factor: Num,
    extra_bytes_per_rank: Num,
) -> Num:
    """Most bytes that one rank writes: its share of the weights and of the optimizer states.

    >>> checkpoint_bytes_per_rank_max(756.01, 256, 4536.23, 512, 1, 0)
    11.81299...
    """
    return (
        checkpoint_weights_bytes / ranks_writing_weights + checkpoint_optimizer_bytes / ranks_writing_optimizer
    ) * largest_stage_factor + extra_bytes_per_rank


@formula(unit="B/GPU", source="definition")
def checkpoint_bytes_per_rank(checkpoint_bytes: Num, gpus: Num) -> Num:
    """Mean bytes of a checkpoint per GPU, as each copies to its host where the states are sharded over all GPUs."""
    return checkpoint_bytes / gpus


@formula(unit="file", source="definition", label="files per checkpoint", whole=True)
def checkpoint_files(file_counts: Num) -> Num:
    """Files of one checkpoint: the sum over the rows of its layout."""
    return total(file_counts)


@formula(unit="file", source="definition", whole=True, of="checkpoint_files", when="written_by_every_rank")
def files_of_ranks(files_per_rank: Num, gpus: Num, files_beside: Num) -> Num:
    """Files of one checkpoint that all ranks write, with their indexes.

    >>> files_of_ranks(2, 1024, 3)
    2051
    """
    return files_per_rank * gpus + files_beside


@formula(unit="file", source="huggingface-hub", where="serialization, split_torch_state_dict_into_shards", whole=True)
def safetensors_shards(checkpoint_weights_bytes: Num, shard_bytes_max: Num) -> Num:
    """Shards of a release: each is filled up to the largest size.

    >>> safetensors_shards(137_953_296_384, 5_000_000_000)
    28
    """
    return ceil(checkpoint_weights_bytes / shard_bytes_max)


@formula(unit="1", source="definition")
def data_parallel(gpus: Num, tensor_parallel: Num, pipeline_parallel: Num) -> Num:
    """Replicas of the model: GPUs over those that one replica takes."""
    return gpus / (tensor_parallel * pipeline_parallel)


@formula(unit="B", source="definition", label="bytes of a restore without replicas")
def restart_bytes_unique(checkpoint_bytes: Num) -> Num:
    """Bytes of a restore that reads each byte once and distributes it between the GPUs."""
    return checkpoint_bytes * 1


@formula(
    unit="B",
    source="ingest-checkpoint-model",
    where="naive ZeRO-1: W·DP + O",
    label="bytes of a restore with replicated weights",
)
def restart_bytes_replicated(
    checkpoint_weights_bytes: Num, data_parallel: Num, checkpoint_optimizer_bytes: Num, checkpoint_extra_bytes: Num
) -> Num:
    """Bytes of a restore in which every replica reads the weights, and each GPU its own optimizer states.

    >>> restart_bytes_replicated(0.8117e12, 128, 4.8703e12, 0)
    108767900000000.0
    """
    return checkpoint_weights_bytes * data_parallel + checkpoint_optimizer_bytes + checkpoint_extra_bytes


@formula(unit="B", source="ingest-checkpoint-model", where="worst case: S·DP", label="bytes of a restore by every replica")
def restart_bytes_all(checkpoint_bytes: Num, data_parallel: Num) -> Num:
    """Bytes of a restore in which every replica reads the whole checkpoint."""
    return checkpoint_bytes * data_parallel


@formula(unit="B/s", source="definition", label="restore read bandwidth")
def restart_read_bandwidth(restart_read_bytes: Num, restart_seconds: Num) -> Num:
    """Read bandwidth that restores a checkpoint within the time allowed."""
    return restart_read_bytes / restart_seconds


@formula(unit="1", source="definition", whole=True)
def checkpoints_written(training_seconds: Num, checkpoint_interval: Num) -> Num:
    """Checkpoints written in the whole training run.

    >>> checkpoints_written(54 * 86_400, 900)
    5184
    """
    return ceil(training_seconds / checkpoint_interval)


@formula(unit="1", source="definition", label="checkpoints kept for good", whole=True)
def checkpoints_kept_forever(checkpoints_written: Num, keep_every: Num) -> Num:
    """Checkpoints kept for good: every m-th, rounded up.

    >>> checkpoints_kept_forever(5184, 100)
    52
    """
    return ceil(checkpoints_written / keep_every)


@formula(unit="1", source="definition", label="checkpoints kept", whole=True)
def checkpoints_retained(keep_last: Num, checkpoints_kept_forever: Num, keep_final: Num) -> Num:
    """Checkpoints on storage at the end of the training run.

    >>> checkpoints_retained(3, 52, 1)
    56
    """
    return keep_last + checkpoints_kept_forever + keep_final


@formula(unit="B", source="definition")
def checkpoint_retained_bytes(checkpoint_bytes: Num, checkpoints_retained: Num) -> Num:
    """Bytes of the checkpoints that are kept."""
    return checkpoint_bytes * checkpoints_retained


@formula(unit="B", source="definition")
def checkpoint_bytes_written_per_day(
    checkpoint_bytes: Num,
    persistent_every: Num,
    checkpoint_interval: Num,
    checkpoint_stall_seconds: Num,
    seconds_per_day: Num,
) -> Num:
    """Checkpoint bytes that reach shared storage in one day.

    >>> checkpoint_bytes_written_per_day(5.682e12, 1, 900, 0, 86_400)
    545472000000000.0
    """
    return checkpoint_bytes / persistent_every * seconds_per_day / (checkpoint_interval + checkpoint_stall_seconds)


@formula(unit="1", source="definition", label="drive writes per day")
def drive_writes_per_day(checkpoint_bytes_written_per_day: Num, checkpoint_tier_bytes: Num) -> Num:
    """Drive writes per day (DWPD) of the checkpoint tier: bytes written per day over its capacity."""
    return checkpoint_bytes_written_per_day / checkpoint_tier_bytes


@formula(unit="B/node", source="definition")
def checkpoint_bytes_per_node_max(checkpoint_bytes_per_rank_max: Num, gpus: Num, nodes_in_job: Num) -> Num:
    """Bytes of one checkpoint in the memory or on the NVMe of a node, by the busiest rank."""
    return checkpoint_bytes_per_rank_max * gpus / nodes_in_job


@formula(unit="B/node", source="definition")
def checkpoint_bytes_per_node(checkpoint_bytes: Num, nodes_in_job: Num) -> Num:
    """Mean bytes of a checkpoint per node."""
    return checkpoint_bytes / nodes_in_job


@formula(unit="B/s", source="definition")
def staging_bandwidth(staging_bandwidth_per_gpu: Num, gpus: Num) -> Num:
    """Aggregate rate at which all GPUs copy a checkpoint into host memory."""
    return staging_bandwidth_per_gpu * gpus


@formula(unit="B/s", source="definition")
def node_tier_bandwidth(checkpoint_bytes: Num, checkpoint_interval: Num) -> Num:
    """Aggregate rate at which all nodes drain every checkpoint to their own NVMe within an interval."""
    return checkpoint_bytes / checkpoint_interval
