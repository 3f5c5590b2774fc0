"""Mixtures of experts with layers of a shape of their own."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.blocks import experts, gated_mlp, linear
from ingest.architecture.config import MAX_LAYERS, Config
from ingest.architecture.registry import family
from ingest.architecture.sizes import Sizes, head_width, kv_group_count, layers_of, sizes, sliding, windowed
from ingest.architecture.table import Attention, Row, Weight, routed, times


@family("dbrx")
def dbrx(config: Config) -> Iterator[Row]:
    """DBRX: LayerNorm without bias, sixteen experts, four visited."""
    hidden = config.size("d_model|hidden_size", 2048)
    layers = config.size("n_layers|num_hidden_layers", 24, high=MAX_LAYERS)
    heads = config.size("n_heads|num_attention_heads", 16)
    words = config.size("vocab_size", 32000)
    inside, feed = config.table("attn_config"), config.table("ffn_config")
    inside.ignore("clip_qkv", "rope_theta", "attn_pdrop")
    feed.ignore("ffn_act_fn", "moe_loss_weight", "moe_jitter_eps", "moe_normalize_expert_weights", "uniform_expert_assignment")
    feed.only("hidden_size", hidden)
    width = head_width(config, hidden, heads, name="-")
    groups = kv_group_count(inside, heads, 1, "kv_n_heads")
    s = Sizes(config, hidden, feed.whole("ffn_hidden_size", 3584), layers, heads, groups, width, words)
    config.ignore("num_key_value_heads")
    parts = s.experts(feed.whole("moe_num_experts", 4), feed.whole("moe_top_k", 1), s.inner)
    yield from s.frame(times(layers, [*s.attention(), *s.norms(2), *parts]))


@family("jetmoe")
def jetmoe(config: Config) -> Iterator[Row]:
    """JetMoE: experts for Q and O of attention too; K and V are shared among them."""
    hidden = config.size("hidden_size", 2048)
    layers = config.size("num_hidden_layers", 12, high=MAX_LAYERS)
    groups = config.whole("num_key_value_heads", 16)
    width, inner = config.whole("kv_channels", 128), config.size("intermediate_size", 5632)
    number, chosen = config.whole("num_local_experts", 8), config.whole("num_experts_per_tok", 2)
    words = config.size("vocab_size", 32000)
    config.ignore("num_attention_heads", "head_dim")
    s = Sizes(config, hidden, inner, layers, groups * chosen, groups, width, words)
    wide = groups * width
    layer: list[Row] = [
        *linear("attention.kv", 2 * wide, hidden, kind="attention"),
        *linear("attention.router", number, hidden, kind="router"),
        *routed(number, chosen, [*linear("attention.q", wide, hidden), *linear("attention.o", hidden, wide)]),
        Weight("attention.bias", (hidden,), "attention"),
        Attention("self", s.heads, width, width, 1, 2 * wide),
        *experts(hidden, number, chosen, gated_mlp(hidden, inner, prefix="expert")),
        Weight("expert.bias", (hidden,), "mlp"),
        *s.norms(2),
    ]
    yield from s.frame(times(layers, layer), tied=True)


@family("laguna")
def laguna(config: Config) -> Iterator[Row]:
    """Laguna: a gate per head, heads in a number of their own per layer, the first layer dense, a shared expert."""
    s = sizes(config, 2048, 8192, 40, 48, 100352, kv_heads=8, width=128)
    counts = config.wholes("num_attention_heads_per_layer", s.layers, low=1) or [s.heads] * s.layers
    short, window = sliding(config, s.layers, 512)
    bias = config.flag("attention_bias", False)
    key, gating = config.get("gating")
    if gating is not None and not isinstance(gating, (bool, str)):
        raise config.refuse(key, gating, "true, false, per-head or per-element")
    config.only("gating", True, False, "per-head", "per-element")
    listed = layers_of(config, "mlp_layer_types", s.layers, ("dense", "sparse"))
    dense = listed["dense"] if listed else 1
    number, inner = config.whole("num_experts|num_local_experts", 256), config.whole("moe_intermediate_size", 512)
    parts = [
        *s.experts(
            number,
            config.whole("num_experts_per_tok", 8),
            inner,
            shared=config.whole("shared_expert_intermediate_size", 512),
        ),
        Weight("expert_bias", (number,), "router"),
    ]
    rows: list[Row] = []
    for heads in counts:
        layer = Sizes(config, s.hidden, s.inner, 1, heads, s.kv_heads, s.width, s.vocabulary)
        wide = heads if gating in (None, True, "per-head") else heads * s.width
        gate = linear("attention.gate", wide, s.hidden, kind="attention")
        rows += [*layer.attention(bias), *gate, *layer.head_norms(), *layer.norms(2)]
    rows += [*times(dense, s.gated()), *times(s.layers - dense, parts)]
    yield from s.frame(windowed(rows, short, window) if len(set(counts)) == 1 else rows)
