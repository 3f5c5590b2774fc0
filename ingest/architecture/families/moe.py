"""Decoders with a mixture of experts in place of the feed-forward network."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.decoders import Decoder, Experts, listed_dense
from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.layers import kv_group_count, linear, multi_head_sizes, sizes, sliding, windowed
from ingest.architecture.registry import family
from ingest.architecture.weight_table import CHUNK, Attention, TableRow, Weight, routed, times

#: Keys of Qwen's sliding window, which its classes with experts do not use.
QWEN_WINDOW = ("use_sliding_window", "sliding_window", "max_window_layers", "layer_types")


#: Keys of the number of experts, by the name that the class prefers.
LOCAL, PLAIN = "num_local_experts|num_experts", "num_experts|num_local_experts"
CHOSEN, WIDTH = "num_experts_per_tok", "moe_intermediate_size"
SHARED_WIDTH = ("shared_expert_intermediate_size", 512)  # Key and default of the width of Qwen's shared expert


@family("bailing_moe", "bailing_moe_v2")
def bailing_moe(config: ModelConfig) -> Iterator[TableRow]:
    """Ling and Ring: shared experts; the second generation has norms on the heads of Q and K and a correction per expert."""
    config.only("norm_head", False)
    second, corrected = config.flag("use_qk_norm", False), config.flag("moe_router_enable_expert_bias", False)
    shared = ("num_shared_experts", 0, 0)
    experts = Experts((PLAIN,), (CHOSEN,), (WIDTH,), shared, dense="dense_first(0)", corrected=int(corrected))
    yield from Decoder(
        "bailing_moe", "", (2048, 5632, 28, 16, 126464), kv_heads=4, bias=("use_qkv_bias", False), o_bias=("use_bias", False),
        mlp_bias=("use_bias", False), qk_norm="heads" if second else "", experts=experts, mtp="num_nextn_predict_layers",
    ).rows(config)  # fmt: skip


@family("hunyuan_v1_moe")
def hunyuan_moe(config: ModelConfig) -> Iterator[TableRow]:
    """Hunyuan MoE (A13B): norms on the heads of Q and K; one shared expert as wide as the others."""
    s = sizes(config, 4096, 11008, 32, 32, 290943)
    config.ignore("use_qk_norm", "mlp_bias", "norm_type", "moe_layer_num_skipped", "attention_head_dim", "moe_drop_tokens")
    config.ignore("use_mixed_mlp_moe")
    config.fixed(add_classification_head=False, use_cla=False)
    config.only("vit_path")
    config.only("vit_type")
    if config.get("use_cla")[1] is False:
        config.ignore("cla_share_factor")
    config.ignore("dense_list", "num_media_embeds", "org_vocab_size", "pool_type", "use_rotary_pos_emb")
    config.ignore(
        "anyres_pooling_size", "position_embedding_xdrope", "vit_input_resolution", "vit_mapping_type", "vit_norm_type"
    )
    config.ignore("vit_patch", "vit_remove_prenorm", "vit_used_rms_norm", "vit_add_patchemb_bias")
    alike = "the same number for every layer"
    number = config.repeated("num_experts|num_local_experts", 1, alike)
    chosen = config.repeated("moe_topk|num_experts_per_tok", 1, alike)
    for key in ("num_shared_expert", "moe_intermediate_size"):
        _, stated = config.get(key)
        wanted = 1 if key == "num_shared_expert" else s.inner
        listed = config.integers(key) if isinstance(stated, list) else [config.integer(key, wanted)]
        if any(item != wanted for item in listed or ()):
            raise config.refuse(key, stated, f"{wanted:,} in every layer")
    parts = s.experts(number, chosen, s.inner, shared=s.inner)
    mixer = [*s.attention(config.flag("attention_bias", False)), *s.head_norms(), *s.norms(2)]
    yield from s.frame(times(s.layers, [*mixer, *parts]))


@family("llama4_text")
def llama4(config: ModelConfig) -> Iterator[TableRow]:
    """Llama 4: one expert of many, and a shared one; in every layer (Scout) or every other (Maverick)."""
    s = sizes(config, 5120, 8192, 48, 40, 202048, kv_heads=8, width=128)
    config.ignore("use_qk_norm")
    # Rotary positions and chunks go together: layers without them attend to all tokens.
    kinds = config.texts("layer_types", s.layers, choices=("full_attention", "chunked_attention"))
    rotary = config.integers("no_rope_layers", low=0, high=1)
    if rotary and len(rotary) != s.layers:
        raise config.refuse("no_rope_layers", len(rotary), f"0 or 1 for each of {s.layers:,} layers")
    every = config.integer("no_rope_layer_interval", 4)
    near = sum(rotary) if rotary else s.layers - s.layers // every
    near = near if kinds is None else kinds.count("chunked_attention")
    whole = config.data.get("attention_chunk_size", 0) is None
    chunk = 0 if whole else config.integer("attention_chunk_size", 8192)
    bias = config.flag("attention_bias", False)
    step = config.integer("interleave_moe_layer_step", 1)
    listed = config.integers("moe_layers", low=0)
    sparse = len({layer for layer in listed if layer < s.layers}) if listed is not None else s.layers // step
    number = config.integer("num_local_experts", 16)
    parts = s.experts(number, config.integer("num_experts_per_tok", 1), s.inner, shared=s.inner)
    dense = s.gated(config.integer("intermediate_size_mlp", 16384))
    mixer = windowed(times(s.layers, [*s.attention(bias), *s.norms(2)]), near, chunk, CHUNK)
    yield from s.frame([*mixer, *times(s.layers - sparse, dense), *times(sparse, parts)])


@family("dbrx")
def dbrx(config: ModelConfig) -> Iterator[TableRow]:
    """DBRX: LayerNorm without bias, sixteen experts, four visited."""
    names = ("d_model|hidden_size", "n_layers|num_hidden_layers", "n_heads|num_attention_heads")
    s = multi_head_sizes(config, 2048, 24, 16, 32000, names)
    inside, feed = config.table("attn_config"), config.table("ffn_config")
    feed.ignore("moe_normalize_expert_weights", "uniform_expert_assignment")
    feed.only("hidden_size", s.hidden)
    s = s._replace(kv_heads=kv_group_count(inside, s.heads, 1, "kv_n_heads"))
    inner = feed.integer("ffn_hidden_size", 3584)
    config.ignore("num_key_value_heads")
    parts = s.experts(feed.integer("moe_num_experts", 4), feed.integer("moe_top_k", 1), inner)
    yield from s.frame(times(s.layers, [*s.attention(), *s.norms(2), *parts]))


@family("jetmoe")
def jetmoe(config: ModelConfig) -> Iterator[TableRow]:
    """JetMoE: experts for Q and O of attention too; K and V are shared among them."""
    s = multi_head_sizes(config, 2048, 12, None, 32000)
    groups, width = config.whole(num_key_value_heads=16, kv_channels=128)
    inner = config.size("intermediate_size", 5632)
    number, chosen = config.whole(num_local_experts=8, num_experts_per_tok=2)
    config.ignore("num_attention_heads", "head_dim")
    wide = groups * width
    layer: list[TableRow] = [
        *linear("attention.kv", 2 * wide, s.hidden, kind="attention"),
        *linear("attention.router", number, s.hidden, kind="router"),
        *routed(number, chosen, [*linear("attention.q", wide, s.hidden), *linear("attention.o", s.hidden, wide)]),
        Weight("attention.bias", (s.hidden,), "attention"),
        Attention("self", groups * chosen, width, width, 1, 2 * wide),
        *s.experts(number, chosen, inner),
        Weight("expert.bias", (s.hidden,), "mlp"),
        *s.norms(2),
    ]
    yield from s.frame(times(s.layers, layer), tied=True)


@family("laguna")
def laguna(config: ModelConfig) -> Iterator[TableRow]:
    """Laguna: a gate per head, heads in a number of their own per layer, the first layer dense, a shared expert."""
    s = sizes(config, 2048, 8192, 40, 48, 100352, kv_heads=8, width=128)
    counts = config.integers("num_attention_heads_per_layer", s.layers, low=1) or [s.heads] * s.layers
    short, window = sliding(config, s.layers, 512)
    bias = config.flag("attention_bias", False)
    key, gating = config.get("gating")
    if gating is not None and not isinstance(gating, (bool, str)):
        raise config.refuse(key, gating, "true, false, per-head or per-element")
    config.only("gating", True, False, "per-head", "per-element")
    dense = listed_dense(config, s.layers, 1)
    experts = Experts((PLAIN, 256), (CHOSEN, 8), (WIDTH, 512), shared_width=SHARED_WIDTH, corrected=1)
    rows: list[TableRow] = []
    for heads in counts:
        layer = s._replace(heads=heads)
        wide = heads if gating in (None, True, "per-head") else heads * s.width
        gate = linear("attention.gate", wide, s.hidden, kind="attention")
        rows += [*layer.attention(bias), *gate, *layer.head_norms(), *layer.norms(2)]
    rows += [*times(dense, s.gated()), *times(s.layers - dense, experts.rows(s))]
    yield from s.frame(windowed(rows, short, window) if len(set(counts)) == 1 else rows)
