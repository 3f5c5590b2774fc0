"""One function per family: config -> rows of weights. Importing this package registers them all."""

from ingest.architecture.families import (
    classic,
    dense,
    encoders,
    latent,
    moe,
    moe_variants,
    multimodal,
    recurrent,
    seq2seq,
    statespace,
)

__all__ = ["classic", "dense", "encoders", "latent", "moe", "moe_variants", "multimodal", "recurrent", "seq2seq", "statespace"]
