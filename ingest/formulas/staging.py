"""Staging on local drives, caching, prefetching, bandwidth after a failure, preparation and decoding."""

from ingest.engine.registry import alternative, computed_quantities, input_quantities

input_quantities(__file__)
computed_quantities(__file__)

alternative("gpu_decode_load", "gpu_decode_load_of_images", when="several_images")
