"""Input quantities: given by a catalog or the user, never computed."""

from ingest.engine.registry import alternative, input_quantity

# The machine
input_quantity("nodes", "node", "Nodes of the job.", whole=True)
input_quantity("gpus_per_node", "GPU/node", "GPUs in one node.", whole=True)
input_quantity("peak_flops_per_gpu", "FLOP/s/GPU", "Dense peak rate at the chosen precision; never a sparse figure.")
input_quantity("memory_bandwidth_per_gpu", "B/s/GPU", "Bandwidth of the GPU's own memory.")
input_quantity("storage_nic_bandwidth_per_node", "B/s/node", "Bandwidth of the NICs on the storage path of one node.")

# The model and its data
input_quantity("flops_per_sample", "FLOP/sample", "Forward and backward pass of one sample.", label="FLOP per sample")
input_quantity("sample_bytes", "B/sample", "Bytes of one sample in the chosen encoding, as stored by default.",
    low=1, above=False, label="sample size")  # fmt: skip
alternative("sample_bytes", "sample_bytes_of_parts", when="sample_of_parts")
alternative("sample_bytes", "mean_sample_bytes", when="samples_measured")
input_quantity("samples_per_file", "sample/file", "Samples that one file holds.")
alternative("samples_per_file", "mean_samples_per_file", when="samples_measured")
input_quantity("dataset_samples", "sample", "Samples of one epoch.")
input_quantity("training_tokens", "token", "Tokens of the whole training run.")

input_quantity("elements_per_sample", "1/sample", "Numbers in the decoded tensor of one sample.")
input_quantity("bytes_per_element", "B", "Width of one number of the tensor.")

# A benchmark whose accelerators are emulated
input_quantity("samples_per_step", "sample/GPU", "Batch size of one accelerator.", whole=True)
alternative("samples_per_step", "usual_samples_per_step", when="batch_of_usual_operations")
input_quantity("computation_seconds_per_step", "s", "Time that an emulated accelerator sleeps for one batch.")
input_quantity("sustained_flops_per_job", "FLOP/s", "Floating-point rate of a whole job.")

# How the job runs
input_quantity("model_flops_utilization", "1", "MFU: achieved share of the dense peak.", high=1)
input_quantity("accelerator_utilization", "1", "AU: share of the time in which a GPU computes.", high=1, default=1)
input_quantity("scaling_efficiency", "1", "Rate per GPU at the size of the job, over the rate on one or a few nodes.",
    high=2, default=1)  # fmt: skip
input_quantity("cache_hit_fraction", "1", "Share of reads served by a cache on the node.", above=False, high=1, default=0)

# What a vendor's reference architecture asks of storage
input_quantity("guidance_read_bandwidth", "B/s", "Read bandwidth of one scalable unit at the highest level.")
input_quantity("guidance_gpus", "GPU", "GPUs of that scalable unit.", whole=True)

# What one client reaches
input_quantity("client_bandwidth_per_node", "B/s/node", "Bandwidth of one storage client into a node.")

# Local drives are their own client.
alternative("client_bandwidth_per_node", "nvme_bandwidth_of_drives", when="local_drives_judged", optional=True)
alternative("client_bandwidth_per_node", "client_bandwidth_of_gpus", "client_bandwidth_of_nics",
    when="path_judged", optional=True)  # fmt: skip

# Another GPU, from which a rate is transferred
input_quantity("published_samples_per_second_per_gpu", "sample/s/GPU", "Rate measured at another size of the job.")
input_quantity("published_gpus", "GPU", "GPUs of the runs that are published.", whole=True)
input_quantity("step_samples", "sample/GPU", "Samples of one GPU in one step: the global batch over the GPUs.")
input_quantity("published_step_samples", "sample/GPU", "Samples of one GPU in one step of the runs that are published.")
input_quantity("half_speed_samples", "sample/GPU", "Samples of one GPU for which the fixed part of a step takes half of it.",
    above=False)  # fmt: skip
input_quantity("size_loss", "1", "Exponent of the loss of runs with as many samples per GPU and step, with their size.",
    above=False, high=1, default=0.02, source="ingest-rates")  # fmt: skip
input_quantity("whole_run_goodput", "1", "Share of the GPU-hours of a whole run in which it made progress.",
    high=1, default=0.9, source="llama3-herd")  # fmt: skip
input_quantity("scaling_exponent", "1", "Exponent of the total rate over the number of GPUs.", above=False, high=1)
input_quantity("seen_ratios_product", "1", "Product of the speed ratios that other models showed on both GPUs.")
input_quantity("seen_models", "1", "Other models that were measured on both GPUs.", above=False)
input_quantity("source_samples_per_second_per_gpu", "sample/s/GPU", "Rate measured on the other GPU.")
input_quantity("source_peak_flops_per_gpu", "FLOP/s/GPU", "Dense peak of the other GPU at the same precision.")
input_quantity("source_memory_bandwidth_per_gpu", "B/s/GPU", "Memory bandwidth of the other GPU.")

# A system whose bandwidth is shared
input_quantity("system_read_bandwidth", "B/s", "Read bandwidth of a whole storage system.")
input_quantity("flops_per_parameter_and_token", "FLOP/parameter/token",
    "Two for the forward and four for the backward pass: the 6 in 6·N·D.", default=6, source="kaplan2020")  # fmt: skip

# A transformer: columns of its tables of weights and attention, and how it is run
input_quantity("weight_parameters", "parameter", "Parameters of each row of weights.")
input_quantity("active_weight_parameters", "parameter", "Parameters of each row that one token passes through.")
input_quantity("embedding_weight_parameters", "parameter", "Parameters of each token embedding table.")
input_quantity("mtp_weight_parameters", "parameter", "Parameters of each row of modules that predict tokens further on.",
    above=False, default=0)  # fmt: skip
input_quantity("released_row_bytes", "B", "Bytes of each row of weights as a release stores it.", above=False)
input_quantity("multiply_adds_per_token", "1/token", "Products of one token with each row of weights.")
input_quantity("multiply_adds_per_token_pair", "1/token/token",
    "Products for one query and one key token, per kind of attention.")  # fmt: skip
input_quantity("pair_multiply_adds", "1/token/token", "Multiply-adds of one kind of attention for one pair of tokens.")
input_quantity("causal_attention_flops", "FLOP/token", "Attention over the tokens in sight, per kind of attention.")
input_quantity("cached_elements_per_token", "1/token", "Numbers kept per token while generating, per kind of attention.",
    above=False)  # fmt: skip
input_quantity("sequence_length", "token", "Tokens of one sequence.", high=1e10, whole=True)
input_quantity("attention_window", "token", "Tokens that a query attends to: the sliding window.")
input_quantity("bytes_per_parameter", "B/parameter", "Width of one parameter as stored.")
input_quantity("bytes_per_cached_element", "B", "Width of one number of the key-value cache.")
input_quantity("flops_per_multiply_add", "FLOP", "A multiplication and an addition.", default=2)
input_quantity("training_passes", "1",
    "Training over forward pass: the backward pass multiplies twice, for weights and for inputs.", default=3,
    source="kaplan2020")  # fmt: skip

# What training keeps for each parameter, and what of it a checkpoint saves
input_quantity("trainable_share", "1", "Share of the parameters that training changes.", high=1, default=1)
input_quantity("weight_bytes_per_parameter", "B/parameter", "Width of a weight while training; 2 in 16-bit precision.")
alternative("weight_bytes_per_parameter", "quantized_bytes_per_parameter", when="weights_quantized")
input_quantity("frozen_models", "1", "Models beside the trained ones whose weights are only read: reference, reward.",
    above=False, whole=True, default=0)  # fmt: skip
input_quantity("gradient_bytes_per_parameter", "B/parameter", "Width of a gradient; 0 if only the checkpoint is sized.",
    above=False)  # fmt: skip
input_quantity("master_bytes_per_parameter", "B/parameter", "Width of the master copy in full precision.",
    above=False, label="bytes of the master copy per parameter")  # fmt: skip
input_quantity("momentum_bytes_per_parameter", "B/parameter", "Width of the first moment.", above=False)
input_quantity("variance_bytes_per_parameter", "B/parameter", "Width of the second moment.", above=False)
input_quantity("second_moment_share", "1", "Second-moment values per parameter; few where factored.",
    above=False, default=1, high=1)  # fmt: skip
input_quantity("tensor_replicated_parameters", "parameter", "Norms and other vectors that tensor ranks replicate.",
    above=False, default=0)  # fmt: skip
input_quantity("tensor_replicas_saved", "1", "Copies, beyond the first, of the tensors that tensor parallelism replicates.",
    above=False, default=0)  # fmt: skip
input_quantity("extra_bytes_per_rank", "B/GPU", "Buffers, random-number and data-loader state of each rank.",
    above=False, default=0)  # fmt: skip

# How the job is laid out, and who writes
input_quantity("tensor_parallel", "GPU", "GPUs that share each layer.", whole=True, default=1)
input_quantity("context_parallel", "1", "Ranks that share the tokens of a sequence.", whole=True, default=1)
input_quantity("single_gpu", "GPU", "One GPU.", low=1, high=1, above=False, default=1)
input_quantity("seconds_per_hour", "s", "An hour.", low=3600, high=3600, above=False, default=3600)
input_quantity("pipeline_parallel", "1", "Stages that the layers are cut into.", whole=True, default=1)
input_quantity("expert_parallel", "1", "Ranks that share the experts of a layer.", whole=True, default=1)
input_quantity("expert_tensor_parallel", "GPU", "GPUs that share each matrix of an expert.", whole=True, default=1)
input_quantity("expert_share", "1", "Share of the parameters that lie in experts.", above=False, high=1, default=0)
input_quantity("ranks_writing_weights", "GPU", "Ranks that share in writing the weights.", whole=True)
input_quantity("ranks_writing_optimizer", "GPU", "Ranks that share in writing the optimizer states.", whole=True)
alternative("ranks_writing_weights", "gpus", when="written_by_every_rank")
alternative("ranks_writing_optimizer", "gpus", when="written_by_every_rank")
input_quantity("largest_stage_factor", "1", "Largest pipeline stage over the mean one.", low=1, above=False, default=1)
input_quantity("shard_bytes_max", "B/file", "Largest shard of a release.", default=5_000_000_000, source="huggingface-hub")
input_quantity("files_per_rank", "file/GPU", "Files that each rank writes of one checkpoint.", whole=True)
input_quantity("files_beside", "file", "Index files and the like, in addition to the files of the ranks.",
    above=False, whole=True, label="index files")  # fmt: skip
input_quantity("file_counts", "file", "Files of each kind in one checkpoint.", above=False)

# Failures, intervals and rates
input_quantity("observed_interrupts", "1", "Interrupts counted.", whole=True)
input_quantity("interrupts_of_cause", "1", "Interrupts that one cause has.", whole=True)
input_quantity("observed_seconds", "s", "Observation period of the counted interrupts.", label="observation period")
input_quantity("observed_nodes", "node", "Nodes of the observed cluster.", whole=True)
input_quantity("gpus_of_failures", "GPU", "GPUs of the jobs whose failure rate was published.",
    whole=True, label="GPUs observed")  # fmt: skip
input_quantity("smaller_job_gpus", "GPU", "GPUs of the next smaller jobs whose interrupts were published.",
    whole=True)  # fmt: skip
input_quantity("smaller_job_interrupt_rate", "1/s", "Interrupts per time of the next smaller published jobs.")
input_quantity("larger_job_gpus", "GPU", "GPUs of the next larger jobs whose interrupts were published.", whole=True)
input_quantity("larger_job_interrupt_rate", "1/s", "Interrupts per time of the next larger published jobs.")
input_quantity("uptime_share", "1", "Uptime: share of the time in which the job makes progress.", high=1)
input_quantity("checkpoint_interval", "s", "Checkpoint interval: computing between two checkpoints.",
    label="checkpoint interval")  # fmt: skip
alternative("checkpoint_interval", "least_overhead_interval", when="least_overhead_sought")
alternative("checkpoint_interval", "drained_interval", when="drain_awaited")
alternative("checkpoint_interval", "interval_for_waste", when="overhead_kept")
alternative("checkpoint_interval", "practised_interval", when="saved_as_practised")
input_quantity("checkpoint_write_bandwidth", "B/s", "Write bandwidth of checkpoints.", label="checkpoint write bandwidth")
alternative("checkpoint_write_bandwidth", "write_bandwidth", when="write_bandwidth_bought")
alternative("checkpoint_write_bandwidth", "bandwidth_for_dump", when="overhead_kept")
alternative("checkpoint_write_bandwidth", "bandwidth_for_dump", when="saved_as_practised")
input_quantity("write_bandwidth", "B/s", "Write bandwidth of the storage that is available for checkpoints.")
input_quantity("checkpoint_stall_seconds", "s", "Stall per checkpoint: time in which GPUs wait.", above=False)
alternative("checkpoint_stall_seconds", "checkpoint_staging_seconds", when="asynchronous")
alternative("checkpoint_stall_seconds", "checkpoint_dump_seconds", when="synchronous")
input_quantity("waste_allowed", "1", "Checkpoint overhead allowed: share of time for checkpoints, lost work and restores.",
    high=0.25, label="checkpoint overhead allowed")  # fmt: skip
input_quantity("longest_interval", "s", "Longest checkpoint interval.")
input_quantity("interval_share", "1", "Interval of asynchronous checkpoints as a share of the mean time to interrupt.", high=1)
input_quantity("dump_seconds_allowed", "s", "Time that one dump or drain may take.")
alternative("dump_seconds_allowed", "drain_window_for_waste", when="drained_within_overhead")
alternative("dump_seconds_allowed", "dump_seconds_for_waste", when="overhead_kept")
alternative("dump_seconds_allowed", "drain_window", when="drain_awaited")
alternative("dump_seconds_allowed", "drain_window", when="saved_as_practised")
input_quantity("drain_time", "s", "Longest time in which an asynchronous checkpoint drains.", label="longest drain")
input_quantity("slow_down", "1", "Share of training that is lost while an asynchronous checkpoint drains.",
    above=False, high=1, label="slow-down while a checkpoint drains")  # fmt: skip
input_quantity("stopped_share", "1", "Share of training that stops while a checkpoint is written: 1 where GPUs wait for it.",
    above=False, high=1)  # fmt: skip
alternative("stopped_share", "slow_down", when="slowed_by_drains")
input_quantity("staging_fixed_seconds", "s", "Fixed part of the copy of a checkpoint into host memory.", above=False)
input_quantity("staging_bandwidth_per_gpu", "B/s/GPU", "Rate at which one GPU copies a checkpoint into host memory.")
input_quantity("reschedule_seconds", "s", "Time from an interrupt to the start of the restore.",
    above=False, label="reschedule time")  # fmt: skip
input_quantity("drain_fraction", "1", "Drain window: share of the interval in which a checkpoint drains to storage.",
    high=1, label="drain window as a share of the interval")  # fmt: skip
input_quantity("persistent_every", "1", "Every k-th checkpoint goes to shared storage.",
    whole=True, default=1, label="checkpoints per persistent checkpoint")  # fmt: skip
input_quantity("restart_read_bytes", "B", "Bytes that a restore reads.", label="bytes read by a restore")
alternative("restart_read_bytes", "restart_bytes_unique", when="unique_readers", optional=True)
alternative("restart_read_bytes", "restart_bytes_replicated", when="replicated_readers", optional=True)
alternative("restart_read_bytes", "restart_bytes_all", when="all_readers", optional=True)
input_quantity("restart_seconds", "s", "Restore time: time within which a restart reads its checkpoint.", label="restore time")
alternative("restart_seconds", "restore_seconds", when="restore_bandwidth_bought")
input_quantity("keep_last", "1", "Newest checkpoints that are kept.", whole=True)
input_quantity("keep_every", "1", "Every m-th checkpoint is kept for good.", whole=True)
input_quantity("keep_final", "1", "Copies of the final checkpoint that are kept.", above=False, whole=True, default=0)
input_quantity("checkpoint_tier_bytes", "B", "Capacity of the tier that takes the checkpoints.")
input_quantity("seconds_per_day", "s", "A day.", low=86400, high=86400, above=False, default=86400)

# Memory of the GPUs
input_quantity("weights_replicated", "1", "1 where every replica holds the weights.", above=False, high=1, default=1)
input_quantity("weights_partitioned", "1", "1 where the replicas share the weights.", above=False, high=1, default=0)
input_quantity("weights_offloaded", "1", "1 where the weights are offloaded from the GPU.", above=False, high=1, default=0)
input_quantity("gradients_replicated", "1", "1 where every replica holds the gradients.", above=False, high=1, default=1)
input_quantity("gradients_partitioned", "1", "1 where the replicas share the gradients.", above=False, high=1, default=0)
input_quantity("optimizer_replicated", "1", "1 where every replica holds the optimizer states.", above=False, high=1, default=1)
input_quantity("optimizer_partitioned", "1", "1 where the replicas share the optimizer states.", above=False, high=1, default=0)
input_quantity("optimizer_offloaded", "1", "1 where the optimizer states are offloaded from the GPU.",
    above=False, high=1, default=0)  # fmt: skip
input_quantity("gradients_offloaded", "1", "1 where the gradients are offloaded from the GPU.", above=False, high=1, default=0)
input_quantity("shard_group", "1", "Replicas that share partitioned states, in hybrid sharding.", whole=True, default=1e9)
input_quantity("replica_group", "1", "Replicas that come together: they share experts or sequences.", whole=True, default=1)
input_quantity("offload_nodes", "node", "Nodes that hold the offloaded states.", whole=True)
alternative("offload_nodes", "nodes_in_job", when="states_offloaded")
input_quantity("memory_bytes_per_gpu", "B/GPU", "Memory of one GPU.")
input_quantity("memory_utilization", "1", "Share of the memory that model states may fill.", high=1)
input_quantity("residual_bytes_per_gpu", "B/GPU", "Activations, buffers and fragments on one GPU.", above=False, default=0)
alternative("residual_bytes_per_gpu", "step_bytes_per_gpu", when="step_counted")

# A transformer by rule of thumb, as founding papers count it
input_quantity("layers", "1", "Transformer blocks.", whole=True)
input_quantity("hidden_size", "1", "Width of the hidden state.", whole=True)
input_quantity("key_value_heads", "1", "Heads of keys and values of one block.", whole=True)
input_quantity("experts", "1", "Experts of one block.", whole=True)
input_quantity("experts_per_token", "1", "Experts of a block that one token visits.", whole=True)
input_quantity("block_parameter_factor", "parameter", "Parameters of one block over the squared width: the 12 in 12·nl·hd².",
    default=12)  # fmt: skip
input_quantity("vector_parameter_factor", "parameter", "Biases and norms of one block over the width.", default=13)
input_quantity("embeddings", "parameter", "Embedding tables: 1 where input and output share one.", whole=True)
input_quantity("vocabulary_size", "1", "Tokens in the vocabulary.", whole=True)
input_quantity("zero_infinity_bytes", "B/parameter", "Model states per parameter in ZeRO-Infinity.",
    default=20, source="zero-infinity2021")  # fmt: skip
input_quantity("activation_bytes", "B", "Width of one activation.", default=2)
input_quantity("batch_sequences", "1", "Sequences in a batch.", whole=True)
input_quantity("sequence_elements", "1", "Positions of one sequence.", whole=True)
input_quantity("blocks_per_checkpoint", "1", "Blocks between two checkpointed activations.", whole=True, default=1)
input_quantity("working_bytes", "B", "Weight and gradient of one parameter while an operator runs.", default=4)
input_quantity("feed_forward_ratio", "1", "Width of the feed-forward layer over the hidden width.", default=4)

# Tokens on storage
input_quantity("tokens_per_sample", "token/sample", "Tokens of one training sample.", whole=True)
input_quantity("vocabulary", "1", "Different token ids of the model.", whole=True)
input_quantity("narrow_vocabulary", "1", "Largest vocabulary whose ids fit into two bytes.", whole=True, default=65_536)
input_quantity("narrow_id_bytes", "B/token", "Width of an id that fits into two bytes.", default=2)
input_quantity("wide_id_bytes", "B/token", "Width of any other id.", default=4)

# Caches
input_quantity("single_node", "node", "One node.", low=1, high=1, above=False, default=1)
input_quantity("warm_up_seconds", "s", "Time within which a run has filled its caches.", label="warm-up time")
input_quantity("host_memory_per_node", "B/node", "Host memory of one node.")
input_quantity("cache_memory_share", "1", "Share of the host memory that caches the data set.", high=1)
input_quantity("data_sample_bytes", "B/sample", "Stored bytes of one sample.", label="stored sample size")
