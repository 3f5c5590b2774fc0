"""Size and compute of a transformer: totals over the columns of its weights and attention, and the training run."""

from ingest.engine.registry import alternative, computed_quantities

computed_quantities(__file__)

alternative("parameters", "block_parameters", when="equal_blocks")
alternative("weights_bytes", "released_weights_bytes", when="as_released")

alternative("training_seconds", "wall_clock_seconds", when="duration_of_gpu_hours")
