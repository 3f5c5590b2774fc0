"""Training whose states lie below GPU memory: bytes by class and tier, traffic per step, efficiency, bandwidth, wear.

Four classes of bytes (weights, gradients, optimizer states, activation checkpoints) lie in four tiers (GPU memory, host
memory, NVMe of the nodes, shared storage). The shares of each class in a tier are inputs (`ingest.sizing.offload`); each
tier, and each group of tiers, has the same formulas, `level_…`.
"""

from ingest.engine.registry import alternative, computed_quantities, input_quantities

input_quantities(__file__)

INFINITY = "zero-infinity2021"

computed_quantities(__file__)

alternative("offload_working_bytes_per_gpu", "streamed_bytes_per_gpu", when="weights_streamed")
alternative("host_update_seconds", "interleaved_update_seconds", when="updates_interleaved")

alternative("step_seconds", "step_seconds_serial", when="transfers_waited_for", optional=True)
