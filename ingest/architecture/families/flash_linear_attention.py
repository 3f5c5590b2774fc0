"""Recurrent decoders of the library flash-linear-attention: gated linear attention and RWKV-7."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.linear_attention import DELTA_CHUNK
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import embedding, gated_mlp, head, linear, norm, plain_mlp
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, Weight, recurrent, times


def _fused(config: ModelConfig) -> None:
    """Keys of the library's kernels; layers of full attention between the recurrent ones are not described."""
    config.only("attn")
    config.ignore("attn_mode", "fuse_norm", "fuse_swiglu", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp")
    config.ignore("max_position_embeddings")


def _up_to(multiple: int, width: int) -> int:
    return -(-width // multiple) * multiple


def _wide(config: ModelConfig, hidden: int, key: str, default: float) -> int:
    """A width as a share of the hidden size, cut to a whole number as the library does."""
    return int(hidden * config.number(key, default))


@family("gla")
def gla(config: ModelConfig) -> Iterator[TableRow]:
    """Yang et al. 2023: linear attention whose state fades by a gate per channel, of low rank."""
    _fused(config)
    for key, value in (("elementwise_affine", True), ("use_gk", True), ("use_gv", False)):
        config.only(key, value)
    config.only("attnres_block_size")
    config.ignore("feature_map", "gate_fn", "clamp_min", "share_conv_kernel")
    hidden, heads = config.size("hidden_size", 2048), config.size("num_heads", 4)
    keys, values = _wide(config, hidden, "expand_k", 0.5), _wide(config, hidden, "expand_v", 1.0)
    shared = config.optional_integer("num_kv_heads") or heads
    for width, name in ((heads, "num_heads"), (shared, "num_kv_heads")):
        if keys % heads or values % heads or heads % shared:
            raise config.refuse(name, width, f"a divisor of the {keys:,} keys, the {values:,} values and the heads")
    few_keys, few_values = keys * shared // heads, values * shared // heads
    inner = config.optional_integer("intermediate_size")
    ratio = config.number("hidden_ratio", 4.0)
    layer: list[TableRow] = [
        *linear("gla.q", keys, hidden, kind="ssm"),
        *linear("gla.k", few_keys, hidden, kind="ssm"),
        *linear("gla.v", few_values, hidden, kind="ssm"),
        *linear("gla.fade.down", 16, hidden, kind="ssm"),
        *linear("gla.fade.up", few_keys, 16, True, "ssm"),
        *linear("gla.o", hidden, values, kind="ssm"),
        *norm("gla.norm", values // heads),
        *norm("norm", hidden, number=2),
        *gated_mlp(hidden, inner or _up_to(256, int(hidden * ratio * 2 / 3))),
        # Within a chunk the scores of pairs and their values; between chunks the state is read and written.
        Weight("gla.chunk (work, no weights)", (DELTA_CHUNK, keys + values), "ssm", 0, 0, 1),
        Weight("gla.state (work, no weights)", (2, keys, values // heads), "ssm", 0, 0, 1),
    ]
    taps = config.integer("conv_size", 4)
    short = config.flag("use_short_conv", False)
    if config.flag("use_output_gate", True):
        layer += linear("gla.gate", values, hidden, kind="ssm")
    if short:
        layer += [Weight("gla.conv", (keys + few_keys + few_values, 1, taps), "ssm", passes=1)]
    window = (keys + few_keys + few_values) * (taps - 1) if short else 0
    yield from _decoder(config, hidden, [*layer, recurrent(keys * values // heads, window)])


def _decoder(config: ModelConfig, hidden: int, layer: list[TableRow], bias: bool = False) -> Iterator[TableRow]:
    deep, words = config.size("num_hidden_layers", 24, high=MAX_LAYERS), config.size("vocab_size", 32000)
    yield embedding(words, hidden)
    yield from times(deep, layer)
    yield from norm("final_norm", hidden, bias)
    yield from head(words, hidden, config.flag("tie_word_embeddings", False))


@family("rwkv7")
def rwkv7(config: ModelConfig) -> Iterator[TableRow]:
    """Peng et al. 2025: a state per head that a delta rule of its own writes; decay, strength and gates of low rank."""
    _fused(config)
    hidden, width = config.size("hidden_size", 2048), config.integer("head_dim", 64)
    if hidden % width:
        raise config.refuse("head_dim", width, f"a divisor of the hidden size {hidden:,}")
    config.only("num_heads", hidden // width)
    config.only("value_dim", hidden, [hidden] * config.size("num_hidden_layers", 32, high=MAX_LAYERS))
    bias, first = config.flag("norm_bias", True), config.flag("norm_first", True)
    inner = config.optional_integer("intermediate_size")
    ratio = config.number("hidden_ratio", 4.0)
    ranks = {
        name: config.integer(f"{name}_low_rank_dim", default)
        for name, default in (("decay", 64), ("gate", 128), ("a", 64), ("v", 16))
    }

    def low_rank(name: str, shifted: bool = True) -> Iterator[TableRow]:
        yield from linear(f"time.{name}.down", ranks[name], hidden, kind="ssm")
        yield from linear(f"time.{name}.up", hidden, ranks[name], shifted, "ssm")

    layer: list[TableRow] = [
        Weight("time.mix", (hidden,), "ssm", 6, 6),
        Weight("time.scales", (hidden,), "ssm", 3, 3),
        *times(4, linear("time.r, k, v and o", hidden, hidden, kind="ssm")),
        *low_rank("decay"),
        *low_rank("a"),
        *low_rank("gate", shifted=False),
        *norm("time.norm", hidden, True),
        *norm("norm", hidden, bias, 2),
        Weight("channel.mix", (hidden,), "mlp"),
        *plain_mlp(hidden, inner or _up_to(32, int(hidden * ratio)), bias=False),
        # The state is read by two vectors and written by two products for each token.
        Weight("time.state (work, no weights)", (4, hidden, width), "ssm", 0, 0, 1),
        recurrent(hidden * width, 2 * hidden),
    ]
    deep = config.size("num_hidden_layers", 32, high=MAX_LAYERS)
    yield from _decoder(config, hidden, layer, bias)
    yield from times(deep - 1, low_rank("v"))
    yield from norm("first_norm", hidden, bias, 1 if first else 0)
