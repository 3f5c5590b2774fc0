"""Checkpoints: size, files, bytes read by a restore, retention."""

from ingest.engine.registry import computed_quantity

computed_quantity("trainable_parameters", "parameters * trainable_share", "parameter",
    "Parameters that training changes: all of them, or the adapters of a LoRA.")  # fmt: skip
computed_quantity("saved_parameters",
    "trainable_parameters + tensor_replicated_parameters * tensor_replicas_saved", "parameter",
    "Parameters in the files: those trained, and further copies of those that tensor parallelism replicates.",
    source="mlperf-storage-v2", where="dlio_benchmark checkpointing: norms are written by each tensor rank",
    example="saved_parameters(405_853_388_800, 4_145_152, 7) -> 405882404864")  # fmt: skip
computed_quantity("optimizer_bytes_per_parameter",
    "master_bytes_per_parameter + momentum_bytes_per_parameter + variance_bytes_per_parameter * second_moment_share",
    "B/parameter", "Bytes of optimizer state for each parameter trained; AdamW in mixed precision keeps 4 + 4 + 4.",
    source="zero2020", where="sec. 3.1: master copy, momentum and variance of mixed-precision Adam",
    example="optimizer_bytes_per_parameter(4, 4, 4, 1) -> 12")  # fmt: skip
computed_quantity("checkpoint_weights_bytes", "saved_parameters * weight_bytes_per_parameter", "B",
    "Weights in one checkpoint.")  # fmt: skip
computed_quantity("checkpoint_optimizer_bytes", "trainable_parameters * optimizer_bytes_per_parameter", "B",
    "Optimizer states in one checkpoint, the master copy of the weights included.")  # fmt: skip
computed_quantity("checkpoint_extra_bytes", "extra_bytes_per_rank * gpus", "B",
    "Bytes that all ranks add: buffers, random-number and data-loader state, padding.")  # fmt: skip
computed_quantity("checkpoint_bytes", "checkpoint_weights_bytes + checkpoint_optimizer_bytes + checkpoint_extra_bytes", "B",
    "One whole checkpoint; gradients are never saved.", label="checkpoint size",
    example="checkpoint_bytes(16_060_522_496, 96_363_134_976, 1_966_080) / 2**30 -> 104.7045...")  # fmt: skip
computed_quantity("checkpoint_bytes_per_rank_max",
    "(checkpoint_weights_bytes / ranks_writing_weights + checkpoint_optimizer_bytes / ranks_writing_optimizer)"
    " * largest_stage_factor + extra_bytes_per_rank", "B/GPU",
    "Most bytes that one rank writes: its share of the weights and of the optimizer states.", source="mlperf-storage-v2",
    where="dlio_benchmark checkpointing: who writes weights, who writes optimizer states",
    example="checkpoint_bytes_per_rank_max(756.01, 256, 4536.23, 512, 1, 0) -> 11.81299...")  # fmt: skip
computed_quantity("checkpoint_bytes_per_rank", "checkpoint_bytes / gpus", "B/GPU",
    "Mean bytes of a checkpoint per GPU, as each copies to its host where the states are sharded over all GPUs.")  # fmt: skip
computed_quantity("checkpoint_files", "total(file_counts)", "file",
    "Files of one checkpoint: the sum over the rows of its layout.", label="files per checkpoint", whole=True)  # fmt: skip
computed_quantity("files_of_ranks", "files_per_rank * gpus + files_beside", "file",
    "Files of one checkpoint that all ranks write, with their indexes.", of="checkpoint_files", when="written_by_every_rank",
    whole=True, example="files_of_ranks(2, 1024, 3) -> 2051")  # fmt: skip
computed_quantity("safetensors_shards", "ceil(checkpoint_weights_bytes / shard_bytes_max)", "file",
    "Shards of a release: each is filled up to the largest size.", source="huggingface-hub",
    where="serialization, split_torch_state_dict_into_shards", whole=True,
    example="safetensors_shards(137_953_296_384, 5_000_000_000) -> 28")  # fmt: skip
computed_quantity("data_parallel", "gpus / (tensor_parallel * pipeline_parallel)", "1",
    "Replicas of the model: GPUs over those that one replica takes.")  # fmt: skip
computed_quantity("restart_bytes_unique", "checkpoint_bytes * 1", "B",
    "Bytes of a restore that reads each byte once and distributes it between the GPUs.",
    label="bytes of a restore without replicas")  # fmt: skip
computed_quantity("restart_bytes_replicated",
    "checkpoint_weights_bytes * data_parallel + checkpoint_optimizer_bytes + checkpoint_extra_bytes", "B",
    "Bytes of a restore in which every replica reads the weights, and each GPU its own optimizer states.",
    source="ingest-checkpoint-model", where="naive ZeRO-1: W·DP + O", label="bytes of a restore with replicated weights",
    example="restart_bytes_replicated(0.8117e12, 128, 4.8703e12, 0) -> 108767900000000.0")  # fmt: skip
computed_quantity("restart_bytes_all", "checkpoint_bytes * data_parallel", "B",
    "Bytes of a restore in which every replica reads the whole checkpoint.", source="ingest-checkpoint-model",
    where="worst case: S·DP", label="bytes of a restore by every replica")  # fmt: skip
computed_quantity("restart_read_bandwidth", "restart_read_bytes / restart_seconds", "B/s",
    "Read bandwidth that restores a checkpoint within the time allowed.", label="restore read bandwidth")  # fmt: skip
computed_quantity("checkpoints_written", "ceil(training_seconds / checkpoint_interval)", "1",
    "Checkpoints written in the whole training run.", whole=True,
    example="checkpoints_written(54 * 86_400, 900) -> 5184")  # fmt: skip
computed_quantity("checkpoints_kept_forever", "ceil(checkpoints_written / keep_every)", "1",
    "Checkpoints kept for good: every m-th, rounded up.", label="checkpoints kept for good", whole=True,
    example="checkpoints_kept_forever(5184, 100) -> 52")  # fmt: skip
computed_quantity("checkpoints_retained", "keep_last + checkpoints_kept_forever + keep_final", "1",
    "Checkpoints on storage at the end of the training run.", label="checkpoints kept", whole=True,
    example="checkpoints_retained(3, 52, 1) -> 56")  # fmt: skip
computed_quantity("checkpoint_retained_bytes", "checkpoint_bytes * checkpoints_retained", "B",
    "Bytes of the checkpoints that are kept.")  # fmt: skip
computed_quantity("checkpoint_bytes_written_per_day",
    "checkpoint_bytes / persistent_every * seconds_per_day / (checkpoint_interval + checkpoint_stall_seconds)", "B",
    "Checkpoint bytes that reach shared storage in one day.",
    needs="checkpoint_bytes persistent_every checkpoint_interval checkpoint_stall_seconds seconds_per_day",
    example="checkpoint_bytes_written_per_day(5.682e12, 1, 900, 0, 86_400) -> 545472000000000.0")  # fmt: skip
computed_quantity("drive_writes_per_day", "checkpoint_bytes_written_per_day / checkpoint_tier_bytes", "1",
    "Drive writes per day (DWPD) of the checkpoint tier: bytes written per day over its capacity.",
    label="drive writes per day")  # fmt: skip
computed_quantity("checkpoint_bytes_per_node_max", "checkpoint_bytes_per_rank_max * gpus / nodes_in_job", "B/node",
    "Bytes of one checkpoint in the memory or on the NVMe of a node, by the busiest rank.")  # fmt: skip
computed_quantity("checkpoint_bytes_per_node", "checkpoint_bytes / nodes_in_job", "B/node",
    "Mean bytes of a checkpoint per node.")  # fmt: skip
computed_quantity("staging_bandwidth", "staging_bandwidth_per_gpu * gpus", "B/s",
    "Aggregate rate at which all GPUs copy a checkpoint into host memory.")  # fmt: skip
computed_quantity("node_tier_bandwidth", "checkpoint_bytes / checkpoint_interval", "B/s",
    "Aggregate rate at which all nodes drain every checkpoint to their own NVMe within an interval.")  # fmt: skip
