"""Models of flash-linear-attention: gated linear attention, RWKV-7, and its plain transformer."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.linear_attention import DELTA_CHUNK
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import DecoderSizes, kv_group_count, linear, norm, plain_mlp
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, Weight, recurrent, times

#: Kernels that compute the same.
_KERNELS = ("attn_mode", "fuse_norm", "fuse_swiglu", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp")


def _sizes(config: ModelConfig, heads: int) -> DecoderSizes:
    config.ignore(*_KERNELS)
    config.only("attn", None)
    hidden = config.size("hidden_size", 2048)
    return DecoderSizes(
        config=config,
        hidden=hidden,
        inner=0,
        layers=config.size("num_hidden_layers", 24, high=MAX_LAYERS),
        heads=heads,
        kv_heads=kv_group_count(config, heads, None, "num_kv_heads"),
        width=hidden // heads,
        vocabulary=config.size("vocab_size", 32000),
    )


def _inner(config: ModelConfig, hidden: int) -> int:
    """The width of the gated network: two thirds of a multiple of the hidden size, in steps of 256."""
    ratio = config.integer("hidden_ratio", 4)
    return config.optional_integer("intermediate_size") or -(-int(hidden * ratio * 2 / 3) // 256) * 256


@family("transformer")
def transformer(config: ModelConfig) -> Iterator[TableRow]:
    """Transformer++ of flash-linear-attention: LLaMA with keys of its own."""
    s = _sizes(config, config.integer("num_heads", 32))
    config.only("attention_bias", False)
    layer = [*s.attention(config.flag("qkv_bias", False), False)]
    layer += s.head_norms() if config.flag("qk_norm", False) else ()
    layer += [*s.gated(_inner(config, s.hidden)), *s.norms(2)]
    yield from s.frame(times(s.layers, layer))


@family("gla")
def gla(config: ModelConfig) -> Iterator[TableRow]:
    """Yang et al. 2023, gated linear attention: a decay of low rank for each key, and a gate on the output."""
    s = _sizes(config, config.integer("num_heads", 4))
    keys = int(s.hidden * config.number("expand_k", 0.5))
    values = int(s.hidden * config.number("expand_v", 1.0))
    for key, value in (("use_short_conv", False), ("elementwise_affine", True), ("use_gv", False)):
        config.only(key, value)
    config.ignore("use_gk", "feature_map", "clamp_min", "conv_size")
    groups, rank = s.heads // s.kv_heads, 16
    layer: list[TableRow] = [
        *linear("gla.q", keys, s.hidden, kind="ssm"),
        *linear("gla.k", keys // groups, s.hidden, kind="ssm"),
        *linear("gla.v", values // groups, s.hidden, kind="ssm"),
        *(linear("gla.gate", values, s.hidden, kind="ssm") if config.flag("use_output_gate", True) else ()),
        *linear("gla.decay.1", rank, s.hidden, kind="ssm"),
        *linear("gla.decay.2", keys // groups, rank, True, "ssm"),
        # Within a chunk a product of keys and one of values for each pair of tokens; two with the state.
        Weight("gla.chunk (work, no weights)", (DELTA_CHUNK, keys + values), "ssm", 0, 0, 1),
        Weight("gla.state (work, no weights)", (2, values, keys // s.heads), "ssm", 0, 0, 1),
        *norm("gla.norm", values // s.heads),
        *linear("gla.out", s.hidden, values, kind="ssm"),
        recurrent(values * keys // s.heads, 0),
        *s.gated(_inner(config, s.hidden)),
        *s.norms(2),
    ]
    yield from s.frame(times(s.layers, layer))


def _low_rank(name: str, out: int, into: int, rank: int, bias: bool = True) -> Iterator[TableRow]:
    yield from linear(f"{name}.1", rank, into, kind="recurrent")
    yield from linear(f"{name}.2", out, rank, bias, "recurrent")


@family("rwkv7")
def rwkv7(config: ModelConfig) -> Iterator[TableRow]:
    """Peng et al. 2025, RWKV-7: a state that each token decays, corrects and adds to; four gates of low rank."""
    hidden = config.size("hidden_size", 2048)
    head = config.optional_integer("head_dim") or hidden // config.integer("num_heads")
    s = _sizes(config, hidden // head)
    config.only("num_heads", s.heads)
    config.only("value_dim", hidden, [hidden] * s.layers)
    bias, first = config.flag("norm_bias", True), config.flag("norm_first", True)
    step = (hidden**0.5) / 32
    ranks = {
        name: config.integer(f"{name}_low_rank_dim", max(32, round(scale * step * (head / 64 if name != "gate" else 1)) * 32))
        for name, scale in (("decay", 2.5), ("a", 2.5), ("v", 1.7), ("gate", 5.0))
    }
    ratio = config.number("hidden_ratio", 4)
    inner = config.optional_integer("intermediate_size") or -(-int(hidden * ratio) // 32) * 32
    layer: list[TableRow] = [
        Weight("mixing", (hidden,), "recurrent", 6, 6),
        Weight("key_scales", (hidden,), "recurrent", 3, 3),
    ]
    for name in ("receptance", "key", "value", "output"):
        layer += linear(name, hidden, hidden, kind="recurrent")
    layer += _low_rank("decay", hidden, hidden, ranks["decay"])
    layer += _low_rank("correction", hidden, hidden, ranks["a"])
    layer += _low_rank("gate", hidden, hidden, ranks["gate"], bias=False)
    layer += [
        *norm("heads_norm", hidden, True),
        # Each token: the state times the correction, two outer products, and the state times the receptance.
        Weight("state (work, no weights)", (4, hidden, head), "recurrent", 0, 0, 1),
        recurrent(hidden * head, 2 * hidden),
        Weight("mlp.mixing", (hidden,), "recurrent"),
        *plain_mlp(hidden, inner, bias=False),
        *s.norms(2, bias),
    ]
    # The first layer makes the values that the later ones mix in.
    later = times(s.layers - 1, _low_rank("values", hidden, hidden, ranks["v"]))
    rows = [*times(s.layers, layer), *later, *norm("first_norm", hidden, bias, int(first))]
    yield from s.frame(rows, norm_bias=bias)
