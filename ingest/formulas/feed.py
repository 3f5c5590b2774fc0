"""From storage to the step of a GPU: loaders, readers, caches, shuffling, the host link, samples of several parts."""

from ingest.engine.registry import alternative, computed_quantities, input_quantities

input_quantities(__file__)
computed_quantities(__file__)

alternative("host_link_load", "stored_link_load", when="decoded_by_gpu", optional=True)
