"""Input quantities: given by a catalog or the user, never computed."""

from ingest.engine.registry import alternative, input_quantities, input_quantity

input_quantities(__file__)

# The model and its data
input_quantity("sample_bytes", "B/sample", "Bytes of one sample in the chosen encoding, as stored by default.",
    low=1, above=False, label="sample size")  # fmt: skip
alternative("sample_bytes", "sample_bytes_of_parts", when="sample_of_parts")
alternative("sample_bytes", "mean_sample_bytes", when="samples_measured")
input_quantity("samples_per_file", "sample/file", "Samples that one file holds.")
alternative("samples_per_file", "mean_samples_per_file", when="samples_measured")
input_quantity("dataset_samples", "sample", "Samples of one epoch.")

# A benchmark whose accelerators are emulated
input_quantity("samples_per_step", "sample/GPU", "Batch size of one accelerator.", whole=True)
alternative("samples_per_step", "usual_samples_per_step", when="batch_of_usual_operations")

# What one client reaches
input_quantity("client_bandwidth_per_node", "B/s/node", "Bandwidth of one storage client into a node.")

# Local drives are their own client.
alternative("client_bandwidth_per_node", "nvme_bandwidth_of_drives", when="local_drives_judged", optional=True)
alternative("client_bandwidth_per_node", "client_bandwidth_of_gpus", "client_bandwidth_of_nics",
    when="path_judged", optional=True)  # fmt: skip

# What training keeps for each parameter, and what of it a checkpoint saves
input_quantity("weight_bytes_per_parameter", "B/parameter", "Width of a weight while training; 2 in 16-bit precision.")
alternative("weight_bytes_per_parameter", "quantized_bytes_per_parameter", when="weights_quantized")

# How the job is laid out, and who writes
input_quantity("ranks_writing_weights", "GPU", "Ranks that share in writing the weights.", whole=True)
input_quantity("ranks_writing_optimizer", "GPU", "Ranks that share in writing the optimizer states.", whole=True)
alternative("ranks_writing_weights", "gpus", when="written_by_every_rank")
alternative("ranks_writing_optimizer", "gpus", when="written_by_every_rank")

# Failures, intervals and rates
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
input_quantity("checkpoint_stall_seconds", "s", "Stall per checkpoint: time in which GPUs wait.", above=False)
alternative("checkpoint_stall_seconds", "checkpoint_staging_seconds", when="asynchronous")
alternative("checkpoint_stall_seconds", "checkpoint_dump_seconds", when="synchronous")
input_quantity("dump_seconds_allowed", "s", "Time that one dump or drain may take.")
alternative("dump_seconds_allowed", "drain_window_for_waste", when="drained_within_overhead")
alternative("dump_seconds_allowed", "dump_seconds_for_waste", when="overhead_kept")
alternative("dump_seconds_allowed", "drain_window", when="drain_awaited")
alternative("dump_seconds_allowed", "drain_window", when="saved_as_practised")
input_quantity("stopped_share", "1", "Share of training that stops while a checkpoint is written: 1 where GPUs wait for it.",
    above=False, high=1)  # fmt: skip
alternative("stopped_share", "slow_down", when="slowed_by_drains")
input_quantity("restart_read_bytes", "B", "Bytes that a restore reads.", label="bytes read by a restore")
alternative("restart_read_bytes", "restart_bytes_unique", when="unique_readers", optional=True)
alternative("restart_read_bytes", "restart_bytes_replicated", when="replicated_readers", optional=True)
alternative("restart_read_bytes", "restart_bytes_all", when="all_readers", optional=True)
input_quantity("restart_seconds", "s", "Restore time: time within which a restart reads its checkpoint.", label="restore time")
alternative("restart_seconds", "restore_seconds", when="restore_bandwidth_bought")

# Memory of the GPUs
input_quantity("offload_nodes", "node", "Nodes that hold the offloaded states.", whole=True)
alternative("offload_nodes", "nodes_in_job", when="states_offloaded")
input_quantity("residual_bytes_per_gpu", "B/GPU", "Activations, buffers and fragments on one GPU.", above=False, default=0)
alternative("residual_bytes_per_gpu", "step_bytes_per_gpu", when="step_counted")

# Caches
input_quantity("data_sample_bytes", "B/sample", "Stored bytes of one sample.", label="stored sample size")
