"""The leaves: quantities that are given by a catalog or by the user, never computed."""

from ingest.formula import leaf

# The machine
leaf("nodes", "node", "Nodes of the job.", whole=True)
leaf("gpus_per_node", "GPU/node", "GPUs in one node.", whole=True)
leaf("peak_flops_per_gpu", "FLOP/s/GPU", "Dense peak rate at the precision asked for; never a sparse figure.")
leaf("memory_bandwidth_per_gpu", "B/s/GPU", "Bandwidth of the GPU's own memory.")
leaf("storage_nic_bandwidth_per_node", "B/s/node", "Bandwidth of the NICs on the storage path of one node.")

# The model and its data
leaf("flops_per_sample", "FLOP/sample", "Forward and backward pass of one sample.")
leaf("sample_bytes", "B/sample", "Bytes of one sample in the chosen encoding; stored unless said otherwise.")
leaf("samples_per_file", "sample/file", "Samples that one file holds.")
leaf("dataset_samples", "sample", "Samples of one pass over the data set.")
leaf("training_tokens", "token", "Tokens seen in the whole training.")

leaf("elements_per_sample", "1/sample", "Numbers in the decoded tensor of one sample.")
leaf("bytes_per_element", "B", "Width of one number of the tensor.")

# A benchmark whose accelerators are emulated
leaf("samples_per_step", "sample/GPU", "Batch size of one accelerator.", whole=True)
leaf("computation_seconds_per_step", "s", "Time that an emulated accelerator sleeps for one batch.")
leaf("sustained_flops_per_job", "FLOP/s", "Floating-point rate of a whole job.")

# How the job runs
leaf("model_flops_utilization", "1", "MFU: achieved share of the dense peak.", high=1)
leaf("accelerator_utilization", "1", "AU: share of the time in which a GPU computes.", high=1, default=1)
leaf("scaling_efficiency", "1", "Rate per GPU at the asked size, over the rate on one to a few nodes.", high=2, default=1)
leaf("cache_hit_fraction", "1", "Share of reads served by a cache on the node.", above=False, high=1, default=0)

# What one client reaches
leaf("client_bandwidth_per_node", "B/s/node", "Bandwidth of one storage client into a node.")

# Another GPU, from which a rate is transferred
leaf("source_samples_per_second_per_gpu", "sample/s/GPU", "Rate measured on the other GPU.")
leaf("source_peak_flops_per_gpu", "FLOP/s/GPU", "Dense peak of the other GPU at the same precision.")
leaf("source_memory_bandwidth_per_gpu", "B/s/GPU", "Memory bandwidth of the other GPU.")

# A system whose bandwidth is shared
leaf("system_read_bandwidth", "B/s", "Read bandwidth of a whole storage system.")
leaf(
    "flops_per_parameter_and_token",
    "FLOP/parameter/token",
    "Two for the forward and four for the backward pass: the 6 in 6·N·D.",
    default=6,
    source="kaplan2020",
)

# A transformer: columns of its tables of weights and attention, and how it is run
leaf("weight_parameters", "parameter", "Parameters of each row of weights.")
leaf("active_weight_parameters", "parameter", "Parameters of each row that one token passes through.")
leaf("embedding_weight_parameters", "parameter", "Parameters of each token embedding table.")
leaf("multiply_adds_per_token", "1/token", "Products of one token with each row of weights.")
leaf("multiply_adds_per_token_pair", "1/token/token", "Products for one query and one key token, per kind of attention.")
leaf("pair_multiply_adds", "1/token/token", "Multiply-adds of one kind of attention for one pair of tokens.")
leaf("causal_attention_flops", "FLOP/token", "Attention over the tokens in sight, per kind of attention.")
leaf("cached_elements_per_token", "1/token", "Numbers kept per token while generating, per kind of attention.", above=False)
leaf("sequence_length", "token", "Tokens of one sequence.", high=1e10, whole=True)
leaf("attention_window", "token", "Tokens that a query can look back on.")
leaf("bytes_per_parameter", "B/parameter", "Width of one parameter as stored.")
leaf("bytes_per_cached_element", "B", "Width of one number of the key-value cache.")
leaf("flops_per_multiply_add", "FLOP", "A multiplication and an addition.", default=2)
leaf(
    "training_passes",
    "1",
    "Training over forward pass: the backward pass multiplies twice, for weights and for inputs.",
    default=3,
    source="kaplan2020",
)

# What training keeps for each parameter, and what of it a checkpoint saves
leaf("trainable_share", "1", "Share of the parameters that training changes.", high=1, default=1)
leaf("weight_bytes_per_parameter", "B/parameter", "Width of a weight while training; 2 in 16-bit precision.")
leaf("gradient_bytes_per_parameter", "B/parameter", "Width of a gradient; none while only saving.", above=False)
leaf("master_bytes_per_parameter", "B/parameter", "Width of the master copy in full precision.", above=False)
leaf("momentum_bytes_per_parameter", "B/parameter", "Width of the first moment.", above=False)
leaf("variance_bytes_per_parameter", "B/parameter", "Width of the second moment.", above=False)
leaf("second_moment_share", "1", "Numbers of second moment per parameter; few where factored.", above=False, default=1)
leaf(
    "tensor_replicated_parameters", "parameter", "Norms and other vectors that tensor ranks replicate.", above=False, default=0
)
leaf(
    "tensor_replicas_saved",
    "1",
    "Copies, beyond the first, of the tensors that tensor parallelism replicates.",
    above=False,
    default=0,
)
leaf("extra_bytes_per_rank", "B/GPU", "Buffers, random-number and data-loader state of each rank.", above=False, default=0)

# How the job is laid out, and who writes
leaf("tensor_parallel", "GPU", "GPUs that share each layer.", whole=True, default=1)
leaf("pipeline_parallel", "1", "Stages that the layers are cut into.", whole=True, default=1)
leaf("ranks_writing_weights", "GPU", "Ranks that share in writing the weights.", whole=True)
leaf("ranks_writing_optimizer", "GPU", "Ranks that share in writing the optimizer states.", whole=True)
leaf("largest_stage_factor", "1", "Largest pipeline stage over the mean one.", low=1, above=False, default=1)
leaf("shard_bytes_max", "B/file", "Largest shard of a release.", default=5_000_000_000, source="huggingface-hub")
leaf("files_per_rank", "file/GPU", "Files that each rank writes of one checkpoint.", whole=True)
leaf("files_beside", "file", "Indexes and similar files next to those of the ranks.", above=False, whole=True)
leaf("file_counts", "file", "Files of each kind in one checkpoint.", above=False)

# Failures, intervals and rates
leaf("observed_interrupts", "1", "Interrupts counted.", whole=True)
leaf("interrupts_of_cause", "1", "Interrupts that one cause has.", whole=True)
leaf("observed_seconds", "s", "Time over which they were counted.")
leaf("observed_nodes", "node", "Nodes that were watched.", whole=True)
leaf("common_failures_per_second", "1/s", "Failures that strike all nodes at once.", above=False, default=0)
leaf("uptime_share", "1", "Share of the time in which the job works.", high=1)
leaf("checkpoint_interval", "s", "Computing between two checkpoints.")
leaf("checkpoint_write_bandwidth", "B/s", "Rate at which checkpoints are written.")
leaf("write_bandwidth", "B/s", "Rate at which the storage at hand takes checkpoints.")
leaf("checkpoint_stall_seconds", "s", "Time for which GPUs wait per checkpoint.", above=False)
leaf("waste_allowed", "1", "Share of time that checkpoints and lost work may cost.", high=0.25)
leaf("waste_from", "1", "Low end of the waste shown.", high=0.99, default=0.01)
leaf("waste_to", "1", "High end of the waste shown.", high=0.99, default=0.2)
leaf("dump_seconds_allowed", "s", "Time that one dump may take.")
leaf("drain_fraction", "1", "Share of the interval in which a checkpoint drains to storage.", high=1, default=1)
leaf("persistent_every", "1", "Every k-th checkpoint goes to shared storage.", whole=True, default=1)
leaf("device_to_host_bandwidth", "B/s/GPU", "Rate at which one GPU copies into host memory.")
leaf("restart_read_bytes", "B", "Bytes that a restore reads.")
leaf("restart_seconds", "s", "Time in which a restart must have read its checkpoint.")
leaf("keep_last", "1", "Newest checkpoints that are kept.", whole=True)
leaf("keep_every", "1", "Every m-th checkpoint is kept for good.", whole=True)
leaf("keep_final", "1", "Copies kept of the final checkpoint, beside the others.", above=False, whole=True, default=0)
leaf("checkpoint_tier_bytes", "B", "Capacity of the tier that takes the checkpoints.")
leaf("seconds_per_day", "s", "A day.", low=86400, high=86400, above=False, default=86400)

# Memory of the GPUs
leaf("weights_replicated", "1", "1 where every replica holds the weights.", above=False, high=1, default=1)
leaf("weights_partitioned", "1", "1 where the replicas share the weights.", above=False, high=1, default=0)
leaf("weights_offloaded", "1", "1 where the weights lie off the GPU.", above=False, high=1, default=0)
leaf("gradients_replicated", "1", "1 where every replica holds the gradients.", above=False, high=1, default=1)
leaf("gradients_partitioned", "1", "1 where the replicas share the gradients.", above=False, high=1, default=0)
leaf("optimizer_replicated", "1", "1 where every replica holds the optimizer states.", above=False, high=1, default=1)
leaf("optimizer_partitioned", "1", "1 where the replicas share the optimizer states.", above=False, high=1, default=0)
leaf("optimizer_offloaded", "1", "1 where the optimizer states lie off the GPU.", above=False, high=1, default=0)
leaf("offloaded_gradient_bytes_per_parameter", "B/parameter", "Gradients kept off the GPU.", above=False, default=0)
leaf("offload_nodes", "node", "Nodes that hold the offloaded states.", whole=True)
leaf("memory_bytes_per_gpu", "B/GPU", "Memory of one GPU.")
leaf("memory_utilization", "1", "Share of the memory that model states may fill.", high=1)
leaf("residual_bytes_per_gpu", "B/GPU", "Activations, buffers and fragments on one GPU.", above=False, default=0)

# A transformer by rule of thumb, as founding papers count it
leaf("layers", "1", "Transformer blocks.", whole=True)
leaf("hidden_size", "1", "Width of the hidden state.", whole=True)
leaf("block_parameter_factor", "parameter", "Parameters of one block over the squared width: the 12 in 12·nl·hd².", default=12)
leaf("vector_parameter_factor", "parameter", "Biases and norms of one block over the width.", default=13)
leaf("embeddings", "parameter", "Embedding tables: 1 where input and output share one.", whole=True)
leaf("vocabulary_size", "1", "Tokens in the vocabulary.", whole=True)
leaf(
    "zero_infinity_bytes", "B/parameter", "Model states per parameter in ZeRO-Infinity.", default=20, source="zero-infinity2021"
)
leaf("activation_bytes", "B", "Width of one activation.", default=2)
leaf("batch_sequences", "1", "Sequences in a batch.", whole=True)
leaf("sequence_elements", "1", "Positions of one sequence.", whole=True)
leaf("blocks_per_checkpoint", "1", "Blocks between two checkpointed activations.", whole=True, default=1)
leaf("working_bytes", "B", "Weight and gradient of one parameter while an operator runs.", default=4)
leaf("feed_forward_ratio", "1", "Width of the feed-forward layer over the hidden width.", default=4)

# Tokens on storage
leaf("vocabulary", "1", "Different token ids of the model.", whole=True)
leaf("narrow_vocabulary", "1", "Ids that two bytes can tell apart.", whole=True, default=65_536)
leaf("narrow_id_bytes", "B/token", "Width of an id that fits into two bytes.", default=2)
leaf("wide_id_bytes", "B/token", "Width of any other id.", default=4)
