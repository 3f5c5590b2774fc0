"""Decoders with a mixture of experts in place of the feed-forward network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.hf_config import MAX_LAYERS, Config
from ingest.architecture.layers import (
    Sizes,
    experts,
    gated_mlp,
    head_width,
    kv_group_count,
    layers_of,
    linear,
    sizes,
    sliding,
    windowed,
)
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Attention, Row, Weight, routed, times


def dense_first(config: Config, layers: int, default: int, names: str = "first_k_dense_replace") -> tuple[int, int]:
    """How many layers are dense and how many sparse: from the list of types, or the first k."""
    first = min(config.whole(names, default, low=0), layers)
    listed = layers_of(config, "mlp_layer_types", layers, ("dense", "sparse"))
    return (listed["dense"], listed["sparse"]) if listed else (first, layers - first)


def mixture(s: Sizes, mixer: Iterable[Row], dense: int, dense_rows: Iterable[Row], expert_rows: Iterable[Row]) -> Iterator[Row]:
    """Every layer mixes tokens; `dense` of them have a feed-forward network, the others experts."""
    yield from times(s.layers, mixer)
    yield from times(dense, dense_rows)
    yield from times(s.layers - dense, expert_rows)


@family("mixtral")
def mixtral(config: Config) -> Iterator[Row]:
    """Jiang et al. 2024: Mistral with eight experts per layer, two of them visited."""
    s = sizes(config, 4096, 14336, 32, 32, 32000, kv_heads=8)
    short, window = sliding(config, s.layers, every=1)
    number = config.whole("num_local_experts|num_experts", 8)
    parts = s.experts(number, config.whole("num_experts_per_tok", 2), s.inner)
    yield from s.frame(windowed(times(s.layers, [*s.attention(), *s.norms(2), *parts]), short, window))


@family("phimoe")
def phimoe(config: Config) -> Iterator[Row]:
    """Phi-3.5-MoE: Mixtral with LayerNorm and a switch for biases."""
    s = sizes(config, 4096, 6400, 32, 32, 32064, kv_heads=8)
    short, window = sliding(config, s.layers, every=1)
    bias, head_bias = config.flag("attention_bias", False), config.flag("lm_head_bias", False)
    parts = s.experts(config.whole("num_local_experts", 16), config.whole("num_experts_per_tok", 2), s.inner)
    rows = windowed(times(s.layers, [*s.attention(bias), *s.norms(2, bias=True), *parts]), short, window)
    yield from s.frame(rows, norm_bias=True, head_bias=head_bias)


@family("qwen2_moe")
def qwen2_moe(config: Config) -> Iterator[Row]:
    """Qwen1.5-MoE and Qwen2-57B: fine experts, and a shared one behind a gate of its own."""
    s = sizes(config, 2048, 5632, 24, 16, 151936, kv_heads=16)
    config.ignore("use_sliding_window", "sliding_window", "max_window_layers", "layer_types")
    sparse = qwen_sparse(config, s.layers)
    shared = config.whole("shared_expert_intermediate_size", 5632)
    parts = s.experts(
        config.whole("num_experts", 60),
        config.whole("num_experts_per_tok", 4),
        config.whole("moe_intermediate_size", 1408),
        shared=shared,
    )
    gate = linear("shared_expert_gate", 1, s.hidden, kind="router")
    mixer = [*s.attention(config.flag("qkv_bias", True), o_bias=False), *s.norms(2)]
    yield from s.frame(mixture(s, mixer, s.layers - sparse, s.gated(), [*parts, *gate]))


@family("qwen3_moe")
def qwen3_moe(config: Config) -> Iterator[Row]:
    """Qwen3-30B-A3B and 235B-A22B: norms on the heads of Q and K, no shared expert."""
    s = sizes(config, 2048, 6144, 24, 32, 151936, kv_heads=4)
    config.ignore("use_sliding_window", "sliding_window", "max_window_layers", "layer_types")
    sparse = qwen_sparse(config, s.layers)
    parts = s.experts(
        config.whole("num_local_experts|num_experts", 128),
        config.whole("num_experts_per_tok", 8),
        config.whole("moe_intermediate_size", 768),
    )
    mixer = [*s.attention(config.flag("attention_bias", False)), *s.head_norms(), *s.norms(2)]
    yield from s.frame(mixture(s, mixer, s.layers - sparse, s.gated(), parts))


def qwen_sparse(config: Config, layers: int) -> int:
    """Layers with experts: every `decoder_sparse_step`-th, without those listed as dense."""
    step = config.whole("decoder_sparse_step", 1)
    listed = set(config.wholes("mlp_only_layers") or ())
    return sum((layer + 1) % step == 0 and layer not in listed for layer in range(layers))


@family("olmoe")
def olmoe(config: Config) -> Iterator[Row]:
    """Muennighoff et al. 2024: OLMo's norms over all of Q and K, 64 experts, eight visited."""
    s = sizes(config, 2048, 2048, 16, 16, 50304)
    parts = s.experts(config.whole("num_local_experts|num_experts", 64), config.whole("num_experts_per_tok", 8), s.inner)
    mixer = [*s.attention(config.flag("attention_bias", False)), *s.flat_norms(), *s.norms(2)]
    yield from s.frame(times(s.layers, [*mixer, *parts]))


@family("flex_olmo")
def flex_olmo(config: Config) -> Iterator[Row]:
    """FlexOlmo: OLMo 2 with experts trained apart."""
    s = sizes(config, 4096, 11008, 32, 32, 100352)
    parts = s.experts(config.whole("num_local_experts|num_experts", 7), config.whole("num_experts_per_tok", 5), s.inner)
    mixer = [*s.attention(config.flag("attention_bias", False)), *s.flat_norms(), *s.norms(2)]
    yield from s.frame(times(s.layers, [*mixer, *parts]))


@family("granitemoe", "granitemoeshared")
def granitemoe(config: Config) -> Iterator[Row]:
    """Granite 3 MoE: LLaMA with experts; a shared one beside them where its width is given."""
    s = sizes(config, 4096, 11008, 32, 32, 32000)
    shared = config.whole("shared_intermediate_size", 0, low=0) if config.data["model_type"] == "granitemoeshared" else 0
    parts = s.experts(config.whole("num_local_experts", 8), config.whole("num_experts_per_tok", 2), s.inner, shared=shared)
    mixer = [*s.attention(config.flag("attention_bias", False)), *s.norms(2)]
    yield from s.frame(times(s.layers, [*mixer, *parts]))


@family("gpt_oss")
def gpt_oss(config: Config) -> Iterator[Row]:
    """gpt-oss: biases everywhere, the experts' too; one learned attention sink per head."""
    s = sizes(config, 2880, 2880, 36, 64, 201088, kv_heads=8, width=64)
    config.ignore("experts_per_token")
    short, window = sliding(config, s.layers, 128, every=2)
    parts = s.experts(
        config.whole("num_local_experts|num_experts", 128),
        config.whole("num_experts_per_tok", 4),
        s.inner,
        router_bias=True,
        bias=True,
    )
    mixer = [*s.attention(config.flag("attention_bias", True)), Weight("attention.sinks", (s.heads,), "attention")]
    yield from s.frame(windowed(times(s.layers, [*mixer, *s.norms(2), *parts]), short, window))


@family("minimax_m2")
def minimax_m2(config: Config) -> Iterator[Row]:
    """MiniMax-M2: norms over all of Q and K, 256 experts; the prediction modules of the release are not part of it."""
    s = sizes(config, 3072, 1536, 62, 48, 200064, kv_heads=8, width=128)
    config.only("use_qk_norm", True)
    config.ignore("use_routing_bias")
    config.only("qk_norm_type", "per_layer")
    config.only("shared_intermediate_size", 0)
    config.ignore("mtp_transformer_layers", "num_mtp_modules", "use_mtp", "attn_type_list")
    number = config.whole("num_local_experts|num_experts", 256)
    parts = s.experts(number, config.whole("num_experts_per_tok", 8), s.inner)
    yield from s.frame(times(s.layers, [*s.attention(), *s.flat_norms(), *s.norms(2), *parts]))


@family("glm4_moe")
def glm4_moe(config: Config) -> Iterator[Row]:
    """GLM-4.5 to 4.7: the first layers dense, then 128 or 160 experts and a shared one; norms on heads by switch."""
    s = sizes(config, 4096, 10944, 46, 96, 151552, kv_heads=8)
    config.ignore("num_nextn_predict_layers")
    dense, _ = dense_first(config, s.layers, 1)
    inner = config.whole("moe_intermediate_size", 1408)
    parts = s.experts(
        config.whole("n_routed_experts|num_local_experts", 128),
        config.whole("num_experts_per_tok", 8),
        inner,
        shared=inner * config.whole("n_shared_experts", 1, low=0),
    )
    mixer = [*s.attention(config.flag("attention_bias", False), o_bias=False), *s.norms(2)]
    if config.flag("use_qk_norm", False):
        mixer += s.head_norms()
    yield from s.frame(mixture(s, mixer, dense, s.gated(), parts))


@family("dots1")
def dots1(config: Config) -> Iterator[Row]:
    """dots.llm1: norms on the heads of Q and K, the first layers dense, shared experts."""
    s = sizes(config, 4608, 10944, 62, 32, 152064, kv_heads=32)
    short, window = sliding(config, s.layers, 4096)
    config.ignore("max_window_layers")
    dense, _ = dense_first(config, s.layers, 0)
    inner = config.whole("moe_intermediate_size", 1408)
    parts = s.experts(
        config.whole("n_routed_experts|num_local_experts"),
        config.whole("num_experts_per_tok"),
        inner,
        shared=inner * config.whole("n_shared_experts", low=1),
    )
    mixer = [*s.attention(config.flag("attention_bias", False)), *s.head_norms(), *s.norms(2)]
    yield from s.frame(windowed(mixture(s, mixer, dense, s.gated(), parts), short, window))


@family("exaone_moe")
def exaone_moe(config: Config) -> Iterator[Row]:
    """K-EXAONE: norms on the heads of Q and K, the first layer dense, a shared expert."""
    s = sizes(config, 4096, 16384, 32, 32, 102400, kv_heads=32)
    config.ignore("sliding_window_pattern", "num_nextn_predict_layers")
    short, window = sliding(config, s.layers, 4096, every=4)
    dense, _ = dense_first(config, s.layers, 1)
    inner = config.whole("moe_intermediate_size", 1024)
    parts = s.experts(
        config.whole("num_experts|num_local_experts", 64),
        config.whole("num_experts_per_tok", 8),
        inner,
        shared=inner * config.whole("num_shared_experts", 1, low=0),
    )
    mixer = [*s.attention(), *s.head_norms(), *s.norms(2)]
    yield from s.frame(windowed(mixture(s, mixer, dense, s.gated(), parts), short, window))


@family("solar_open")
def solar_open(config: Config) -> Iterator[Row]:
    """Solar Open: experts in every layer, and a shared one."""
    s = sizes(config, 4096, None, 48, 64, 196608, kv_heads=8, width=128)
    config.ignore("intermediate_size", "first_k_dense_replace", "use_qk_norm")
    inner = config.whole("moe_intermediate_size", 1280)
    parts = s.experts(
        config.whole("n_routed_experts|num_local_experts", 128),
        config.whole("num_experts_per_tok", 8),
        inner,
        shared=inner * config.whole("n_shared_experts", 1, low=0),
    )
    mixer = [*s.attention(config.flag("attention_bias", False), o_bias=False), *s.norms(2)]
    yield from s.frame(times(s.layers, [*mixer, *parts]))


@family("hy_v3")
def hy_v3(config: Config) -> Iterator[Row]:
    """Hunyuan 3: norms on the heads of Q and K, the first layer dense, a shared expert."""
    s = sizes(config, 4096, 13312, 80, 64, 120832, kv_heads=8, width=128)
    config.ignore("num_nextn_predict_layers")
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    listed = layers_of(config, "mlp_layer_types", s.layers, ("dense", "sparse"))
    inner = config.whole("moe_intermediate_size", 1536)
    parts = s.experts(config.whole("num_experts|num_local_experts", 192), config.whole("num_experts_per_tok", 8), inner)
    shared = gated_mlp(s.hidden, inner * config.whole("num_shared_experts", 1), mlp_bias, prefix="shared_expert")
    mixer = [*s.attention(bias), *s.head_norms(), *s.norms(2)]
    dense = listed["dense"] if listed else 1
    yield from s.frame(mixture(s, mixer, dense, s.gated(bias=mlp_bias), [*parts, *shared]))


@family("afmoe")
def afmoe(config: Config) -> Iterator[Row]:
    """Arcee Trinity: a gate on attention's output, norms before and after each part, a stored correction per expert."""
    s = sizes(config, 2048, 6144, 32, 16, 200192, width=128)
    every = config.whole("global_attn_every_n_layers", 4)
    short, window = sliding(config, s.layers, 1024, every=every)
    config.ignore("score_func", "num_expert_groups", "num_limited_groups", "n_group", "topk_group")
    bias = config.flag("attention_bias", False)
    dense = min(config.whole("num_dense_layers", 1, low=0), s.layers)
    inner, number = config.whole("moe_intermediate_size", 1408), config.whole("num_experts|num_local_experts", 64)
    parts = [
        *s.experts(
            number,
            config.whole("num_experts_per_tok", 6),
            inner,
            shared=inner * config.whole("num_shared_experts", 2, low=0),
        ),
        Weight("expert_bias", (number,), "router"),
    ]
    gate = linear("attention.gate", s.heads * s.width, s.hidden, kind="attention")
    mixer = [*s.attention(bias), *gate, *s.head_norms(), *s.norms(4)]
    yield from s.frame(windowed(mixture(s, mixer, dense, s.gated(), parts), short, window))


@family("ernie4_5_moe")
def ernie4_5_moe(config: Config) -> Iterator[Row]:
    """ERNIE 4.5 MoE: experts between two layer numbers, shared ones, and a stored correction per expert."""
    s = sizes(config, 2560, 12288, 28, 20, 103424, kv_heads=4)
    config.ignore("moe_capacity", "moe_gate", "moe_use_aux_free", "num_nextn_predict_layers", "use_moe", "moe_layer_type")
    bias = config.flag("use_bias", False)
    start, last = config.whole("moe_layer_start_index", 1, low=0), config.maybe("moe_layer_end_index", -1, low=0)
    if last is None:
        last = s.layers - 1 if config.lenient or "moe_layer_end_index" in config.data else 27
    step = config.whole("moe_layer_interval", 1)
    sparse = sum((layer + 1) % step == 0 and start <= layer <= last for layer in range(s.layers))
    inner = config.whole("moe_intermediate_size", 1536)
    number = config.whole("moe_num_experts|num_experts", 64)
    shared = config.whole("moe_num_shared_experts", 2, low=0) * inner
    parts = [
        *s.experts(number, config.whole("moe_k|num_experts_per_tok", 6), inner),
        *(gated_mlp(s.hidden, shared, bias, prefix="shared_expert") if shared else ()),
        Weight("expert_bias", (1, number), "router"),
    ]
    rows = mixture(s, [*s.attention(bias), *s.norms(2)], s.layers - sparse, s.gated(bias=bias), parts)
    yield from s.frame(rows, tied=True, head_bias=bias)


@family("hunyuan_v1_moe")
def hunyuan_moe(config: Config) -> Iterator[Row]:
    """Hunyuan MoE (A13B): norms on the heads of Q and K; one shared expert as wide as the others."""
    s = sizes(config, 4096, 11008, 32, 32, 290943)
    config.ignore("use_qk_norm", "use_cla", "cla_share_factor", "mlp_bias", "norm_type", "moe_layer_num_skipped")
    config.ignore("attention_head_dim", "moe_drop_tokens", "use_mixed_mlp_moe", "moe_random_routing_dropped_token")
    number = _alike(config, "num_experts|num_local_experts", 1)
    chosen = _alike(config, "moe_topk|num_experts_per_tok", 1)
    for key in ("num_shared_expert", "moe_intermediate_size"):
        _, stated = config.get(key)
        wanted = 1 if key == "num_shared_expert" else s.inner
        listed = config.wholes(key) if isinstance(stated, list) else [config.whole(key, wanted)]
        if any(item != wanted for item in listed or ()):
            raise config.refuse(key, stated, f"{wanted:,} in every layer")
    parts = s.experts(number, chosen, s.inner, shared=s.inner)
    mixer = [*s.attention(config.flag("attention_bias", False)), *s.head_norms(), *s.norms(2)]
    yield from s.frame(times(s.layers, [*mixer, *parts]))


def _alike(config: Config, names: str, default: int) -> int:
    """A whole number, or a list of the same number for every layer."""
    key, stated = config.get(names)
    if isinstance(stated, list):
        listed = config.wholes(names, low=1) or [default]
        if len(set(listed)) != 1:
            raise config.refuse(key, stated, "the same number for every layer")
        return listed[0]
    return config.whole(names, default)


@family("llama4_text")
def llama4(config: Config) -> Iterator[Row]:
    """Llama 4: one expert of many, and a shared one; in every layer (Scout) or every other (Maverick)."""
    s = sizes(config, 5120, 8192, 48, 40, 202048, kv_heads=8, width=128)
    config.ignore("no_rope_layers", "no_rope_layer_interval", "use_qk_norm", "for_llm_compressor", "layer_types")
    config.ignore("attention_chunk_size")
    bias = config.flag("attention_bias", False)
    step = config.whole("interleave_moe_layer_step", 1)
    listed = config.wholes("moe_layers", low=0)
    sparse = len({layer for layer in listed if layer < s.layers}) if listed is not None else s.layers // step
    number = config.whole("num_local_experts", 16)
    parts = s.experts(number, config.whole("num_experts_per_tok", 1), s.inner, shared=s.inner)
    dense = s.gated(config.whole("intermediate_size_mlp", 16384))
    yield from s.frame(mixture(s, [*s.attention(bias), *s.norms(2)], s.layers - sparse, dense, parts))


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
