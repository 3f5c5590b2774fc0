"""Decoders of 2026 whose layers attend in different ways: windows beside full attention of other sizes, compressed keys."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import DecoderSizes, kv_group_count, linear, norm, prediction
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Attention, TableRow, Weight, times

#: What `compress_ratios` says of a layer: a window alone, every four tokens as one with an indexer, or every 128.
_WINDOW, _SPARSE, _HEAVY = 0, 4, 128
#: The same as the library has named them since version 5.
_LAYER_TYPES = {"sliding_attention": _WINDOW, "compressed_sparse_attention": _SPARSE, "heavily_compressed_attention": _HEAVY}


def _ratios(config: ModelConfig, layers: int) -> list[int]:
    """Which compression each layer has: by name, by ratio, or two heavy ones and then both in turn."""
    ratios, named = config.integers("compress_ratios", low=0), config.texts("layer_types", layers, (*_LAYER_TYPES,))
    if named is not None:
        return [_LAYER_TYPES[kind] for kind in named]
    if ratios is None:
        return [_SPARSE if layer > 2 and layer % 2 else _HEAVY for layer in range(layers)]
    if len(ratios) < layers or {*ratios} - {_WINDOW, _SPARSE, _HEAVY}:
        raise config.refuse("compress_ratios", ratios, f"a list of {_WINDOW}, {_SPARSE} or {_HEAVY} for each layer")
    return ratios[:layers]


def _rates(config: ModelConfig) -> tuple[int, int]:
    """Tokens that the two kinds of compression make one of."""
    stated = config.part("compress_rates")
    if stated is None:
        return _SPARSE, _HEAVY
    return stated.integer("compressed_sparse_attention"), stated.integer("heavily_compressed_attention")


@family("deepseek_v4")
def deepseek_v4(config: ModelConfig) -> Iterator[TableRow]:
    """DeepSeek-V4: one latent key for all heads, older tokens compressed by 4 or by 128, several residual streams."""
    hidden, layers = config.size("hidden_size", 4096), config.size("num_hidden_layers", 43, high=MAX_LAYERS)
    heads, width = config.size("num_attention_heads", 64), config.integer("head_dim", 512)
    s = DecoderSizes(config, hidden, 0, layers, heads, 1, width, config.size("vocab_size", 129280))
    config.only("num_key_value_heads", 1)
    config.only("attention_bias", False)
    config.only("n_shared_experts", 1)
    config.ignore("num_hash_layers", "hc_sinkhorn_iters", "qk_rope_head_dim", "expert_dtype")
    config.ignore("compress_rope_theta")
    q_rank, o_rank, groups = (config.integer(key, default) for key, default in
                              (("q_lora_rank", 1024), ("o_lora_rank", 1024), ("o_groups", 8)))  # fmt: skip
    if heads * width % groups:
        raise config.refuse("o_groups", groups, f"a divisor of heads × head_dim = {heads * width:,}")
    window, streams = config.integer("sliding_window", 128), config.integer("hc_mult", 4)
    indexers, narrow = config.integer("index_n_heads", 64), config.integer("index_head_dim", 128)
    chosen = config.integer("index_topk", 512)
    kinds, (few, many) = _ratios(config, layers), _rates(config)
    sparse, heavy = kinds.count(_SPARSE), kinds.count(_HEAVY)
    inner = config.integer("moe_intermediate_size", 2048)
    mixer: list[TableRow] = [
        Weight("attention.sinks", (heads,), "attention"),
        *linear("attention.q_down", q_rank, hidden, kind="attention"),
        *norm("q_norm", q_rank),
        *linear("attention.q_up", heads * width, q_rank, kind="attention"),
        *linear("attention.kv", width, hidden, kind="attention"),
        *norm("kv_norm", width),
        *linear("attention.o_down", groups * o_rank, heads * width // groups, kind="attention"),
        *linear("attention.o_up", hidden, groups * o_rank, kind="attention"),
        Attention("self", heads, width, width, 1, width, window),
    ]
    number, each = config.integer("n_routed_experts", 256), config.integer("num_experts_per_tok", 6)
    experts = [*s.experts(number, each, inner, shared=inner)]
    mixed = (2 + streams) * streams
    residual: list[TableRow] = [
        *linear("residual.mix", mixed, streams * hidden, kind="other"),
        Weight("residual.base", (mixed,), "other"),
        Weight("residual.scale", (3,), "other"),
        # Each part mixes the streams with each other.
        Weight("residual.streams (work, no weights)", (streams, streams, hidden), "other", 0, 0, 1),
    ]
    layer = [*mixer, *experts, *times(2, residual), *s.norms(2)]
    rows: list[TableRow] = [*times(layers, layer)]
    rows += times(sparse, _compressor("compressor", few, 2 * width, width, hidden))
    rows += times(sparse, _compressor("indexer", few, 2 * narrow, narrow, hidden))
    rows += times(sparse, linear("indexer.q", indexers * narrow, q_rank, kind="attention"))
    rows += times(sparse, linear("indexer.weights", indexers, hidden, kind="attention"))
    rows += times(heavy, _compressor("compressor", many, width, width, hidden))
    for name, number, ratio, reach in (("sparse", sparse, few, chosen * few), ("heavy", heavy, many, 0)):
        if number:
            one = width // ratio
            rows.append(Attention(name, heads, one, one, number, one + (narrow // ratio if reach else 0), reach))
    if sparse:
        rows.append(Attention("indexer", indexers, narrow // few, 0, sparse))
    last: list[TableRow] = [*linear("residual.head", streams, streams * hidden, kind="other")]
    last += [Weight("residual.head.base", (streams,), "other"), Weight("residual.head.scale", (1,), "other")]
    yield from s.frame([*rows, *last])
    further = config.optional_integer("num_nextn_predict_layers", 0, high=MAX_LAYERS) or 0
    ratios = config.integers("compress_ratios", low=0) or []
    # The list goes on with the modules that predict further tokens; those with a window alone are described.
    if further and ratios[layers:] == [_WINDOW] * further:
        yield from prediction(hidden, further, [*layer, *last])


def _compressor(name: str, ratio: int, out: int, width: int, hidden: int) -> Iterator[TableRow]:
    """Weighted means over so many tokens: values, weights, a place for each token, a norm."""
    yield Weight(f"{name}.places", (ratio, out), "position")
    yield from linear(f"{name}.kv", out, hidden, kind="attention")
    yield from linear(f"{name}.gate", out, hidden, kind="attention")
    yield from norm(f"{name}.norm", width)


@family("mimo_v2_flash")
def mimo_v2_flash(config: ModelConfig) -> Iterator[TableRow]:
    """MiMo-V2-Flash: windows with sinks and key heads of their own beside full attention; values narrower than keys."""
    hidden, layers = config.size("hidden_size", 4096), config.size("num_hidden_layers", 48, high=MAX_LAYERS)
    heads = config.size("num_attention_heads", 64)
    s = DecoderSizes(config, hidden, 0, layers, heads, 0, 0, config.size("vocab_size", 152576))
    config.only("attention_bias", False)
    config.ignore("attention_chunk_size", "attention_value_scale", "sliding_window_size", "layer_types")
    kinds = config.integers("hybrid_layer_pattern", layers, low=0, high=1)
    sparse = config.integers("moe_layer_freq", layers, low=0, high=1)
    if kinds is None or sparse is None:
        missing = "hybrid_layer_pattern" if kinds is None else "moe_layer_freq"
        raise config.refuse(missing, None, "a list of 0 and 1 for each layer")
    # The class knows this one pattern.
    if kinds != [int(layer > 0 and (layer + 1) % 6 > 0) for layer in range(layers)]:
        raise config.refuse("hybrid_layer_pattern", kinds, "full attention in the first layer and in every sixth")
    if sparse != [int(layer > 0) for layer in range(layers)]:
        raise config.refuse("moe_layer_freq", sparse, "experts in all layers but the first")
    config.only("n_shared_experts", 0)
    config.only("add_full_attention_sink_bias", False)
    config.only("add_swa_attention_sink_bias", True)
    window = config.integer("sliding_window", 128)
    rows: list[TableRow] = []
    for prefix, number, sinks, reach in (
        ("", kinds.count(0), "add_full_attention_sink_bias", 0),
        ("swa_", kinds.count(1), "add_swa_attention_sink_bias", window),
    ):
        count = config.integer(f"{prefix}num_attention_heads", heads)
        groups = kv_group_count(config, count, None, f"{prefix}num_key_value_heads")
        key, value = config.integer(f"{prefix}head_dim", 192), config.integer(f"{prefix}v_head_dim", 128)
        layer: list[TableRow] = [
            *linear("attention.q", count * key, hidden, kind="attention"),
            *linear("attention.k", groups * key, hidden, kind="attention"),
            *linear("attention.v", groups * value, hidden, kind="attention"),
            *linear("attention.o", hidden, count * value, kind="attention"),
            Attention("self", count, key, value, 1, groups * (key + value), reach),
        ]
        if config.flag(sinks, False):
            layer.append(Weight("attention.sinks", (count,), "attention"))
        rows += times(number, layer) if number else ()
    inner, width = config.size("intermediate_size", 16384), config.integer("moe_intermediate_size", 2048)
    number, each = config.integer("n_routed_experts", 256), config.integer("num_experts_per_tok", 8)
    rows += times(sparse.count(0), s.gated(inner)) if sparse.count(0) else ()
    rows += times(sparse.count(1), s.experts(number, each, width)) if sparse.count(1) else ()
    yield from s.frame([*rows, *times(layers, s.norms(2))])
