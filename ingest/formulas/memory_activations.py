"""Memory of a training step besides the model states: activations, scores, gathered layers, and what the framework takes.

Numbers per token come from the table of weights (`ingest.sizing.memory_inputs`), added up over all layers: what a
matrix reads is kept once, what it yields is kept where a function that is not linear follows.
"""

from ingest.engine.registry import alternative, computed_quantities, input_quantities

input_quantities(__file__)

KORTHIKANTI = "korthikanti2022"

computed_quantities(__file__)

alternative("kept_activation_bytes", "partly_recomputed_bytes", when="some_layers_recomputed")
alternative("kept_activation_bytes", "layer_input_bytes", when="all_layers_recomputed")
alternative("recomputed_layer_bytes", "recomputed_part_bytes", when="parts_recomputed")
