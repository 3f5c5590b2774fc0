"""Checkpoints: size, files, bytes read by a restore, retention; their interval, overhead, and the bandwidth that limits it.

M is the job's mean time to interrupt, δ the time of one dump or drain, τ the interval (computing between two checkpoints),
k the number of checkpoints per persistent one, b the stall for staging, s the share of training that stops while a
checkpoint is written (1 where GPUs wait for the dump), w the overhead (share of time lost).
"""

from ingest.engine.registry import computed_quantity

computed_quantity("trainable_parameters", "parameters * trainable_share", "parameter",
    "Parameters that training changes: all of them, or the adapters of a LoRA.")  # fmt: skip
computed_quantity("saved_parameters", "trainable_parameters + tensor_replicated_parameters * tensor_replicas_saved",
    "parameter", "Parameters in the files: those trained, and further copies of those that tensor parallelism replicates.",
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


MODEL = "ingest-checkpoint-model"


computed_quantity("nodes_in_job", "ceil(gpus / gpus_per_node)", "node",
    "Nodes that the job's GPUs fill.", whole=True, example="nodes_in_job(16_384, 8) -> 2048")  # fmt: skip
computed_quantity("failures_per_node_second", "observed_interrupts / observed_seconds / observed_nodes", "1/s/node",
    "Failure rate of one node, from interrupts counted on a cluster.", label="failure rate of a node")  # fmt: skip
computed_quantity("failures_per_thousand_node_days", "failures_per_node_second * seconds_per_day * 1000", "1/node",
    "Failures of one node in 1,000 days, as studies of failures print them.", label="failures per thousand node-days",
    example="failures_per_thousand_node_days(0.0065 / 86_400, 86_400) -> 6.5")  # fmt: skip
computed_quantity("observed_mean_time_to_interrupt", "observed_seconds / observed_interrupts", "s",
    "Mean time to interrupt (MTTI) that the counted interrupts show.", label="observed mean time to interrupt")  # fmt: skip
computed_quantity("interrupts_share", "interrupts_of_cause / observed_interrupts", "1",
    "Share of the interrupts that one cause accounts for.", high=1)  # fmt: skip
computed_quantity("failures_per_gpu_second", "observed_interrupts / observed_seconds / observed_gpus", "1/s/GPU",
    "Failure rate of one GPU with its share of the node.")  # fmt: skip
computed_quantity("observed_gpus", "observed_nodes * gpus_per_node", "GPU", "GPUs of the observed cluster.", whole=True)
computed_quantity("gpus_per_counted_node", "gpus_per_node", "GPU/node",
    "GPUs of a node as its failures are counted: those of the source of the rate, whatever box the job runs in.",
    whole=True)  # fmt: skip
computed_quantity("counted_nodes", "ceil(gpus / gpus_per_counted_node)", "node",
    "Nodes of a job as its failures are counted: failures belong to GPUs and hosts, not to boxes.", whole=True,
    label="nodes as failures are counted", example="counted_nodes(256, 8) -> 32")  # fmt: skip
computed_quantity("job_mean_time_to_interrupt", "1 / (counted_nodes * failures_per_node_second)", "s",
    "Mean time to interrupt (MTTI) of a job that stops when any of its nodes fails.", source=MODEL,
    where="nodes in series: 1/(n·λ)", label="mean time to interrupt",
    example="job_mean_time_to_interrupt(2048, 0.0065 / 86_400) / 3600 -> 1.8028...")  # fmt: skip
computed_quantity("interrupt_growth",
    "log(larger_job_interrupt_rate / smaller_job_interrupt_rate) / log(larger_job_gpus / smaller_job_gpus)", "1",
    "Power of its GPUs with which interrupts of a job grow between two published sizes.", source="arithmetic",
    where="the slope of a straight line on logarithmic axes", above=False,
    example="interrupt_growth(4.0, 2.0, 4000, 1000) -> 0.5")  # fmt: skip
computed_quantity("failures_between_sizes",
    "smaller_job_interrupt_rate * (gpus / smaller_job_gpus) ** interrupt_growth / counted_nodes", "1/s/node",
    "Failure rate of a node of a job between two published sizes: the interrupts of a job grow from one to the other as a power"
    " of its GPUs.", label="failure rate of a node between published sizes", source="arithmetic",
    where="a straight line between the two on logarithmic axes",
    example="failures_between_sizes(2.0, 4000, 1000, 0.5, 500) -> 0.008")  # fmt: skip
computed_quantity("repair_seconds_allowed", "job_mean_time_to_interrupt * (1 - uptime_share) / uptime_share", "s",
    "Longest repair time, restart included, that still leaves the required uptime.", source="limelead-quartz",
    where="note on availability", example="repair_seconds_allowed(2.5 * 3600, 0.9) / 60 -> 16.666...")  # fmt: skip
computed_quantity("checkpoint_dump_seconds", "checkpoint_bytes / checkpoint_write_bandwidth", "s",
    "Time to write one checkpoint: δ.", label="time to write a checkpoint")  # fmt: skip
computed_quantity("young_interval", "(2 * checkpoint_dump_seconds * job_mean_time_to_interrupt) ** 0.5", "s",
    "Optimal checkpoint interval, to first order: √(2δM).", source="young1974", where="eq. 4",
    example="round(young_interval(300, 3600), 2) -> 1469.69")  # fmt: skip
computed_quantity("daly_interval",
    "where(checkpoint_dump_seconds < 2 * job_mean_time_to_interrupt,"
    " (2 * checkpoint_dump_seconds * job_mean_time_to_interrupt) ** 0.5"
    " * (1 + (checkpoint_dump_seconds / (2 * job_mean_time_to_interrupt)) ** 0.5 / 3"
    " + checkpoint_dump_seconds / (2 * job_mean_time_to_interrupt) / 9) - checkpoint_dump_seconds,"
    " job_mean_time_to_interrupt)", "s",
    "Optimal checkpoint interval, to higher order; M itself where a dump takes 2M or longer.", source="daly2006",
    where="eq. 37", example="round(daly_interval(300, 3600), 2), daly_interval(7200, 3600) -> (1276.5, 3600)")  # fmt: skip
computed_quantity("least_waste", "(2 * checkpoint_dump_seconds / job_mean_time_to_interrupt) ** 0.5", "1",
    "Checkpoint overhead (share of time lost) at the optimal interval: √(2δ/M).", source="young1974",
    where="the overhead at Young's interval, without restarts", label="least checkpoint overhead", high=1,
    example="round(least_waste(11.364, 3.093 * 3600), 4) -> 0.0452")  # fmt: skip
computed_quantity("practised_interval", "minimum(longest_interval, interval_share * job_mean_time_to_interrupt)", "s",
    "Interval of asynchronous checkpoints as practised: a share of the mean time to interrupt, and at most an hour.",
    source=MODEL, where="min(1 h, M/10)", label="checkpoint interval as practised",
    example="practised_interval(3600, 0.1, 11_134) -> 1113.4")  # fmt: skip
computed_quantity("least_overhead_interval",
    "minimum(longest_interval, (2 * (stopped_share * checkpoint_dump_seconds + persistent_every * checkpoint_staging_seconds)"
    " * job_mean_time_to_interrupt) ** 0.5 / persistent_every)", "s",
    "Interval at which a given dump time loses least, and at most an hour.", source="young1974",
    where="√(2(s·δ + k·b)·M)/k, at most an hour", label="interval of least overhead",
    example="round(least_overhead_interval(3600, 1, 11.364, 1, 0, 3.093 * 3600), 1) -> 503.1")  # fmt: skip
computed_quantity("drained_interval",
    "maximum(practised_interval, checkpoint_dump_seconds / (drain_fraction * persistent_every))", "s",
    "Practised interval, or a longer one where a given bandwidth takes longer to drain a checkpoint.", source=MODEL,
    where="the longest of the practised interval and S/(x·k·B)", label="interval that the drain allows",
    example="drained_interval(1113.4, 2000, 1, 1) -> 2000.0")  # fmt: skip
computed_quantity("waste_left_after_restores", "maximum(waste_allowed - restart_waste, waste_allowed / 10)", "1",
    "Allowed overhead that remains for checkpoints and repeated work: a tenth at ends of ranges where restores take more.",
    source=MODEL, where="w − R/M", label="overhead left beside restores", high=1,
    example="waste_left_after_restores(0.05, 0.01), waste_left_after_restores(0.05, 0.06) -> (0.04, 0.005)")  # fmt: skip
computed_quantity("interval_for_waste",
    "minimum(longest_interval, job_mean_time_to_interrupt"
    " * ((stopped_share * stopped_share + 2 * (waste_left_after_restores * stopped_share"
    " + persistent_every * checkpoint_staging_seconds / job_mean_time_to_interrupt)) ** 0.5 - stopped_share)"
    " / persistent_every)", "s",
    "Interval at which the allowed overhead takes the least write bandwidth, and at most an hour.", source=MODEL,
    where="M·(√(s² + 2(W·s + k·b/M)) − s)/k, which takes the least bandwidth for the overhead W; at most an hour",
    label="interval for the allowed overhead",
    needs="longest_interval stopped_share waste_left_after_restores persistent_every checkpoint_staging_seconds "
    "job_mean_time_to_interrupt",
    example="round(interval_for_waste(3600, 1, 0.05, 1, 0, 11_134), 1) -> 543.4")  # fmt: skip
computed_quantity("overhead_without_writing", "checkpoint_staging_seconds / checkpoint_interval"
    " + persistent_every * checkpoint_interval / (2 * job_mean_time_to_interrupt) + restart_waste", "1",
    "Share of time that an interval loses at any bandwidth: staging, half an interval of repeated work, and restores.",
    source=MODEL, where="b/τ + k·τ/2M + R/M", label="overhead without writing", high=1,
    example="round(overhead_without_writing(0, 900, 1, 3.093 * 3600, 0.01), 4) -> 0.0504")  # fmt: skip
computed_quantity("least_overhead_without_writing",
    "restart_waste + (2 * persistent_every * checkpoint_staging_seconds / job_mean_time_to_interrupt) ** 0.5", "1",
    "Share of time that staging, repeated work and restores take at any interval.", source=MODEL,
    where="R/M + √(2·k·b/M), at the best interval", label="least overhead without writing", high=1,
    example="round(least_overhead_without_writing(0.01, 1, 1.8, 3600), 4) -> 0.0416")  # fmt: skip
computed_quantity("waste_left_for_dumps", "waste_left_after_restores + restart_waste - overhead_without_writing", "1",
    "Allowed overhead that remains for writing at an interval; at zero or below no bandwidth suffices.", source=MODEL,
    where="w − b/τ − k·τ/2M − R/M", label="overhead left for writing", high=1,
    example="round(waste_left_for_dumps(0.04, 0.01, 0.03), 4) -> 0.02")  # fmt: skip
computed_quantity("longest_interval_for_waste", "2 * waste_left_after_restores * job_mean_time_to_interrupt / persistent_every",
    "s", "Interval whose repeated work alone takes the allowed overhead.", source=MODEL, where="2·W·M/k",
    label="longest interval for the allowed overhead",
    example="longest_interval_for_waste(0.05, 10_000, 1) -> 1000.0")  # fmt: skip
computed_quantity("dump_seconds_for_waste",
    "waste_left_for_dumps / (stopped_share / (persistent_every * checkpoint_interval) + 1 / job_mean_time_to_interrupt)", "s",
    "Time that writing a checkpoint may take within the allowed overhead.", source=MODEL,
    where="(W − b/τ − k·τ/2M)/(s/(k·τ) + 1/M)", label="time to write for the allowed overhead",
    example="round(dump_seconds_for_waste(0.0096, 1, 1, 900, 3.093 * 3600), 2) -> 7.99")  # fmt: skip
computed_quantity("drain_window", "minimum(drain_fraction * persistent_every * checkpoint_interval, drain_time)", "s",
    "Time in which an asynchronous checkpoint drains: a share of its interval, and at most the time allowed.", source=MODEL,
    where="min(x·k·τ, t)", label="drain window",
    example="drain_window(0.1, 1, 3600, 120), drain_window(0.1, 1, 600, 120) -> (120, 60.0)")  # fmt: skip
computed_quantity("drain_share_of_interval", "drain_fraction * persistent_every * checkpoint_interval", "s",
    "Share of the interval in which an asynchronous checkpoint drains.", source=MODEL, where="x·k·τ",
    label="share of the interval for the drain", of="drain_window", when="drained_within_share")  # fmt: skip
computed_quantity("drain_window_for_waste", "minimum(dump_seconds_for_waste, drain_window)", "s",
    "Drain window that keeps the allowed overhead and ends in time.",
    label="drain window for the allowed overhead")  # fmt: skip
computed_quantity("bandwidth_for_dump", "checkpoint_bytes / dump_seconds_allowed", "B/s",
    "Write bandwidth that writes a checkpoint within the time allowed.",
    label="write bandwidth of the dump or drain time allowed")  # fmt: skip
computed_quantity("checkpoint_staging_seconds",
    "staging_fixed_seconds + checkpoint_bytes_per_rank_max / staging_bandwidth_per_gpu", "s",
    "Stall per asynchronous checkpoint: time in which GPUs wait for its copy into host memory.", source=MODEL,
    where="fixed part + bytes per GPU ÷ staging rate", label="time to stage a checkpoint",
    example="round(checkpoint_staging_seconds(0.5, 988e9 / 1_856, 1.7e9), 2) -> 0.81")  # fmt: skip
computed_quantity("seconds_to_copy_memory",
    "staging_fixed_seconds + minimum(checkpoint_bytes_per_rank_max, memory_bytes_per_gpu) / staging_bandwidth_per_gpu", "s",
    "Stall per asynchronous checkpoint whose GPUs are known: states beyond the memory of a GPU are in host memory already.",
    source=MODEL, where="fixed part + bytes per GPU, at most its memory, ÷ staging rate", label="time to stage what GPUs hold",
    of="checkpoint_staging_seconds", when="copied_from_gpus",
    example="round(seconds_to_copy_memory(0.5, 709e9, 80e9, 1.7e9), 2) -> 47.56")  # fmt: skip
computed_quantity("staging_overhead", "checkpoint_staging_seconds / checkpoint_interval", "1",
    "Share of time in which GPUs wait for the copy of an asynchronous checkpoint into host memory.",
    label="training time lost to staging", high=1)  # fmt: skip
computed_quantity("writing_overhead", "stopped_share * checkpoint_dump_seconds / (persistent_every * checkpoint_interval)", "1",
    "Share of time lost while checkpoints are written: the slow-down of a drain, or all of a dump.", source=MODEL,
    where="s·δ/(k·τ)", label="training time lost while checkpoints are written", high=1)  # fmt: skip
computed_quantity("lost_work_overhead",
    "(persistent_every * checkpoint_interval / 2 + checkpoint_dump_seconds) / job_mean_time_to_interrupt", "1",
    "Share of time spent again on work since the last checkpoint: half an interval, and the dump or drain.", source="young1974",
    where="(k·τ/2 + δ)/M", label="work repeated after interrupts", high=1,
    example="round(lost_work_overhead(1, 1113.4, 111.34, 11_134), 4) -> 0.06")  # fmt: skip
computed_quantity("restart_waste", "restart_seconds / job_mean_time_to_interrupt", "1",
    "Goodput loss from restores: share of time that the job spends reading checkpoints after interrupts.",
    label="goodput loss from restores", high=1)  # fmt: skip
computed_quantity("checkpoint_overhead", "staging_overhead + writing_overhead + lost_work_overhead + restart_waste", "1",
    "Storage's part of the time lost: staging, writing, repeated work and restores.", source=MODEL,
    where="b/τ + s·δ/(k·τ) + (k·τ/2 + δ)/M + R/M", label="checkpoint overhead", high=1,
    example="round(checkpoint_overhead(0.001, 0.05, 0.06, 0.01), 3) -> 0.121")  # fmt: skip
computed_quantity("restart_overhead", "(restart_seconds + reschedule_seconds) / job_mean_time_to_interrupt", "1",
    "Share of time that restarts take: detection, new nodes and start of the job, and the restore.", source="kokolis2024",
    where="u0 of E[ETTR], and the restore", label="time lost to restarts", high=1,
    example="round(restart_overhead(120, 600, 11_134), 4) -> 0.0647")  # fmt: skip
computed_quantity("total_overhead", "checkpoint_overhead + reschedule_seconds / job_mean_time_to_interrupt", "1",
    "Share of time lost: storage's part, and detection, new nodes and start of the job after each interrupt.",
    source="kokolis2024", where="1 − E[ETTR]", label="total overhead with restarts", high=1,
    example="round(total_overhead(0.12, 600, 11_134), 4) -> 0.1739")  # fmt: skip
computed_quantity("checkpoint_stall_fraction", "checkpoint_stall_seconds / (checkpoint_interval + checkpoint_stall_seconds)",
    "1", "Share of time in which GPUs wait for checkpoints.", label="checkpoint stall fraction", high=1,
    example="round(checkpoint_stall_fraction(11.364, 495.5), 4) -> 0.0224")  # fmt: skip
computed_quantity("drain_duty",
    "checkpoint_dump_seconds / (persistent_every * (checkpoint_interval + checkpoint_stall_seconds))", "1",
    "Share of time in which a run writes checkpoints to shared storage.", where="δ/(k·(τ + stall))",
    label="share of time in which a run writes checkpoints", high=1,
    example="round(drain_duty(111.34, 1, 1113.4, 0.704), 4) -> 0.0999")  # fmt: skip
