"""The leaves: quantities that are given by a catalog or by the user, never computed."""

from ingest.formula import leaf

# The machine
leaf("nodes", "node", "Nodes of the job.", whole=True)
leaf("gpus_per_node", "GPU/node", "GPUs in one node.", whole=True)
leaf("peak_flops_per_gpu", "FLOP/s/GPU", "Dense peak rate at the precision asked for; never a sparse figure.")
leaf("memory_bandwidth_per_gpu", "B/s/GPU", "Bandwidth of the GPU's own memory.")
leaf("storage_nic_bandwidth_per_node", "B/s/node", "What the NICs on the storage path carry into one node.")

# The model and its data
leaf("flops_per_sample", "FLOP/sample", "Forward and backward pass of one sample.")
leaf("sample_bytes", "B/sample", "Bytes of one sample in the chosen encoding; stored unless said otherwise.")
leaf("samples_per_file", "sample/file", "Samples that one file holds.")
leaf("dataset_samples", "sample", "Samples of one pass over the data set.")
leaf("training_tokens", "token", "Tokens seen in the whole training.")

leaf("elements_per_sample", "1/sample", "Numbers in the decoded tensor of one sample.")
leaf("bytes_per_element", "B", "Width of one number of the tensor.")
leaf("dataset_bytes", "B", "Stored bytes of the whole data set.")

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
leaf("client_bandwidth_per_node", "B/s/node", "What one storage client moves into a node.")

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
leaf("pair_multiply_adds", "1/token/token", "The same for one kind of attention.")
leaf("causal_attention_flops", "FLOP/token", "Attention over the tokens in sight, per kind of attention.")
leaf("cached_elements_per_token", "1/token", "Numbers kept per token while generating, per kind of attention.", above=False)
leaf("sequence_length", "token", "Tokens of one sequence.", whole=True)
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
