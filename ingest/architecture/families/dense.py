"""Dense decoders with rotary positions: LLaMA and those that follow it."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.blocks import attention, embedding, gated_mlp, head, norm
from ingest.architecture.config import MAX_LAYERS, Config
from ingest.architecture.registry import family
from ingest.architecture.table import Row, times


def head_width(config: Config, hidden: int, heads: int) -> int:
    """Width of a head: as stated, or the hidden size shared among the heads.

    Raises:
        IngestError: the heads do not divide the hidden size.
    """
    key, stated = config.get("head_dim")
    if stated is not None:
        return config.whole("head_dim")
    if hidden % heads:
        raise config.refuse("num_attention_heads", heads, f"a divisor of hidden_size {hidden:,} (or {key})")
    return hidden // heads


@family("llama")
def llama(config: Config) -> Iterator[Row]:
    """Touvron et al. 2023: RMSNorm before each part, rotary positions, SwiGLU; grouped-query attention since Llama 2."""
    hidden = config.size("hidden_size", 4096)
    layers = config.size("num_hidden_layers", 32, high=MAX_LAYERS)
    heads = config.size("num_attention_heads", 32)
    kv_heads = config.whole("num_key_value_heads", heads)
    width = head_width(config, hidden, heads)
    bias = config.flag("attention_bias", False)
    vocabulary = config.size("vocab_size", 32000)
    yield embedding(vocabulary, hidden)
    yield from times(
        layers,
        [
            *attention(hidden, heads, kv_heads, width, q_bias=bias, kv_bias=bias, o_bias=bias),
            *gated_mlp(hidden, config.size("intermediate_size", 11008), config.flag("mlp_bias", False)),
            *norm("norm", hidden, number=2),
        ],
    )
    yield from norm("final_norm", hidden)
    yield from head(vocabulary, hidden, config.flag("tie_word_embeddings", False))
