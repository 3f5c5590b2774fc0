"""Memory of training: model states per parameter, their place, and the GPUs that hold them.

ZeRO spreads parts of the states over the replicas; offload moves parts off the GPU. Both are tables of shares
(`ingest.sizing.memory`): a part is replicated (on every GPU of its model shard), partitioned over the replicas, or not
on the GPU.
"""

from ingest.engine.registry import computed_quantities

ZERO = "zero2020"

computed_quantities(__file__)
