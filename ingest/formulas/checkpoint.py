"""Checkpoints: size, files, bytes read by a restore, retention; their interval, overhead, and the bandwidth that limits it.

M is the job's mean time to interrupt, δ the time of one dump or drain, τ the interval (computing between two checkpoints),
k the number of checkpoints per persistent one, b the stall for staging, s the share of training that stops while a
checkpoint is written (1 where GPUs wait for the dump), w the overhead (share of time lost).
"""

from ingest.engine.registry import computed_quantities

computed_quantities(__file__)

MODEL = "ingest-checkpoint-model"
