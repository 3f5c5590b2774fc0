"""Decoders with a mixture of experts in place of the feed-forward network."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.decoders import ATTENTION_BIAS, MLP_BIAS, Decoder, Experts, listed_dense, rows_if, slide
from ingest.architecture.hf_config import REQUIRED, ModelConfig
from ingest.architecture.layers import DecoderSizes, kv_group_count, linear, multi_head_sizes, sizes, sliding, windowed
from ingest.architecture.registry import family, register
from ingest.architecture.weight_table import CHUNK, Attention, TableRow, Weight, routed, times

#: Keys of Qwen's sliding window, which its classes with experts do not use.
QWEN_WINDOW = ("use_sliding_window", "sliding_window", "max_window_layers", "layer_types")


def qwen_dense(config: ModelConfig, layers: int) -> int:
    """Return the layers of a Qwen model without experts: those listed, and all but every `decoder_sparse_step`-th."""
    step = config.integer("decoder_sparse_step", 1)
    listed = set(config.integers("mlp_only_layers") or ())
    return sum((layer + 1) % step > 0 or layer in listed for layer in range(layers))


def _ernie_dense(config: ModelConfig, layers: int) -> int:
    """Return how many layers of ERNIE are dense: those without experts, which every n-th has between two layer numbers."""
    start, last = config.integer("moe_layer_start_index", 1, low=0), config.optional_integer("moe_layer_end_index", -1, low=0)
    if last is None:
        last = layers - 1 if config.lenient or "moe_layer_end_index" in config.data else 27
    step = config.integer("moe_layer_interval", 1)
    return layers - sum((layer + 1) % step == 0 and start <= layer <= last for layer in range(layers))


def _cohere_window(config: ModelConfig, layers: int) -> tuple[int, int]:
    """Layers of a window where no list names them: patterns of their own for the first, dense layers and for the others."""
    dense, first = min(config.integer("first_k_dense_replace", 0, low=0), layers), "prefix_dense_sliding_window_pattern"
    short, window = sliding(config, layers, 4096, 1)
    every, each = config.integer("sliding_window_pattern", 4), config.integer(first, 1)
    rest = layers - dense
    return (short if "layer_types" in config.data else layers - dense // each - rest // every), window


#: Keys of the number of experts, by the name that the class prefers.
LOCAL, PLAIN, ROUTED = "num_local_experts|num_experts", "num_experts|num_local_experts", "n_routed_experts|num_local_experts"
CHOSEN, WIDTH = "num_experts_per_tok", "moe_intermediate_size"
USE_BIAS = ("use_bias", False)
SHARED_WIDTH = ("shared_expert_intermediate_size", 512)  # Key and default of the width of Qwen's shared expert

register(
    __name__,
    Decoder("mixtral", "Jiang et al. 2024: Mistral with eight experts per layer, of which a token visits two.",
            4096, 14336, 32, 32, 32000, kv_heads=8, window=slide(), only=(("moe_frequency", 1),),
            experts=Experts((LOCAL, 8), (CHOSEN, 2))),
    Decoder("phimoe", "Phi-3.5-MoE: Mixtral with LayerNorm and a switch for biases.",
            4096, 6400, 32, 32, 32064, kv_heads=8, window=slide(), bias=ATTENTION_BIAS, norm_bias=True,
            head_bias=("lm_head_bias", False), experts=Experts(("num_local_experts", 16), (CHOSEN, 2))),
    Decoder("cohere2_moe", "Command A+ and North: Command A with experts, and dense layers of another width before them.",
            8192, 22528, 40, 64, 256000, head_width=128, bias=ATTENTION_BIAS, norms=1, tied=True, window=_cohere_window,
            only=(("use_qk_norm", False), ("layer_norm_bias", False)),
            ignore=("use_parallel_block", "shared_expert_combination_strategy", "expert_selection_fn"),
            experts=Experts((LOCAL, 8), (CHOSEN, 2), shared=("num_shared_experts", 0, 0), dense=0,
                            dense_width="prefix_dense_intermediate_size")),
    Decoder("qwen2_moe", "Qwen1.5-MoE and Qwen2-57B: fine experts, and a shared one behind a gate of its own.",
            2048, 5632, 24, 16, 151936, kv_heads=16, bias=("qkv_bias", True), o_bias=False, ignore=QWEN_WINDOW,
            experts=Experts(("num_experts", 60), (CHOSEN, 4), (WIDTH, 1408), dense=qwen_dense, gate=True,
                            shared_width=("shared_expert_intermediate_size", 5632))),
    Decoder("qwen3_moe", "Qwen3-30B-A3B and 235B-A22B: norms on the heads of Q and K, no shared expert.",
            2048, 6144, 24, 32, 151936, kv_heads=4, bias=ATTENTION_BIAS, qk_norm="heads", ignore=QWEN_WINDOW,
            experts=Experts((LOCAL, 128), (CHOSEN, 8), (WIDTH, 768), dense=qwen_dense)),
    Decoder("olmoe", "Muennighoff et al. 2024: OLMo's norms over all of Q and K; of 64 experts a token visits eight.",
            2048, 2048, 16, 16, 50304, bias=ATTENTION_BIAS, qk_norm="flat", experts=Experts((LOCAL, 64), (CHOSEN, 8))),
    Decoder("flex_olmo", "FlexOlmo: OLMo 2 with experts that were trained separately.",
            4096, 11008, 32, 32, 100352, bias=ATTENTION_BIAS, qk_norm="flat", experts=Experts((LOCAL, 7), (CHOSEN, 5))),
    Decoder("granitemoe", "Granite 3 MoE: LLaMA with experts.",
            4096, 11008, 32, 32, 32000, bias=ATTENTION_BIAS, experts=Experts(("num_local_experts", 8), (CHOSEN, 2))),
    Decoder("granitemoe_swa", "Granite MoE with windows in three of four layers, sinks, and a shared expert by its width.",
            4096, 11008, 32, 32, 32000, bias=ATTENTION_BIAS, window=slide(128, 4),
            sinks=True,
            experts=Experts(("num_local_experts", 8), (CHOSEN, 2), shared_width=("shared_intermediate_size", 0, 0))),
    Decoder("mellum", "Mellum 2: norms on the heads of Q and K, 64 fine experts.",
            2304, 7168, 28, 32, 98304, kv_heads=4, head_width=128, bias=ATTENTION_BIAS, qk_norm="heads", window=slide(1024, 0),
            only=(("num_nextn_predict_layers", 0),), ignore=("mtp_layer_types", "mtp_mlp_layer_types"),
            experts=Experts((LOCAL, 64), (CHOSEN, 8), (WIDTH, 896),
                            dense=lambda config, layers: listed_dense(config, layers, 0))),
    Decoder("granitemoeshared", "Granite 3 MoE with a shared expert where its width is given.",
            4096, 11008, 32, 32, 32000, bias=ATTENTION_BIAS,
            experts=Experts(("num_local_experts", 8), (CHOSEN, 2), shared_width=("shared_intermediate_size", 0, 0))),
    Decoder("gpt_oss", "gpt-oss: biases on all matrices, also of the experts; one learned attention sink per head.",
            2880, 2880, 36, 64, 201088, kv_heads=8, head_width=64, bias=("attention_bias", True), window=slide(128, 2),
            sinks=True, experts=Experts((LOCAL, 128), (CHOSEN, 4), router_bias=True, bias=True)),
    Decoder("minimax_m2", "MiniMax-M2: norms over all of Q and K, 256 experts; without the prediction modules of the release.",
            3072, 1536, 62, 48, 200064, kv_heads=8, head_width=128, qk_norm="flat", experts=Experts((LOCAL, 256), (CHOSEN, 8)),
            only=(("use_qk_norm", True), ("qk_norm_type", "per_layer"), ("shared_intermediate_size", 0)),
            ignore=("use_routing_bias", "mtp_transformer_layers", "num_mtp_modules", "use_mtp", "attn_type_list")),
    Decoder("glm4_moe", "GLM-4.5 to 4.7: first layers dense, then 128 or 160 experts and a shared one; head norms by switch.",
            4096, 10944, 46, 96, 151552, kv_heads=8, bias=ATTENTION_BIAS, o_bias=False, mtp="num_nextn_predict_layers",
            extra=rows_if("use_qk_norm", False, DecoderSizes.head_norms),
            experts=Experts((ROUTED, 128), (CHOSEN, 8), (WIDTH, 1408), ("n_shared_experts", 1, 0), dense=1)),
    Decoder("sarvam_moe", "Sarvam-30B: GLM-4.5 with head norms unless switched off.",
            4096, 8192, 19, 64, 262144, kv_heads=4, head_width=64, bias=("attention_bias|use_qkv_bias", False), o_bias=False,
            mtp="num_nextn_predict_layers", extra=rows_if("use_qk_norm", True, DecoderSizes.head_norms),
            experts=Experts(("n_routed_experts|num_experts", 128), (CHOSEN, 6), (WIDTH, 1024),
                            ("n_shared_experts|num_shared_experts", 1, 0), dense=1)),
    Decoder("kolibri1", "Kolibri 1: norms before and after each part and on the heads of Q and K, a shared expert.",
            2560, None, 50, 48, 128000, kv_heads=4, head_width=128, qk_norm="heads", norms=4, window=slide(513, 5),
            experts=Experts((LOCAL, 384), (CHOSEN, 6), (WIDTH, 512), shared_width=SHARED_WIDTH)),
    Decoder("dots1", "dots.llm1: norms on the heads of Q and K, the first layers dense, shared experts.",
            4608, 10944, 62, 32, 152064, kv_heads=32, bias=ATTENTION_BIAS, qk_norm="heads", window=slide(4096, 0),
            experts=Experts((ROUTED, REQUIRED), (CHOSEN, REQUIRED), (WIDTH, 1408), ("n_shared_experts", REQUIRED),
                            dense=0)),
    Decoder("deepseek", "DeepSeekMoE 16B: the first layer dense, shared experts.",
            4096, 11008, 30, 32, 102400, kv_heads=32, bias=ATTENTION_BIAS, only=(("moe_layer_freq", 1),),
            experts=Experts((ROUTED, REQUIRED), (CHOSEN, REQUIRED), (WIDTH, 1407), ("n_shared_experts", REQUIRED), dense=0)),
    Decoder("exaone_moe", "K-EXAONE: norms on the heads of Q and K, the first layer dense, a shared expert.",
            4096, 16384, 32, 32, 102400, kv_heads=32, qk_norm="heads", window=slide(4096, 4),
            ignore=("sliding_window_pattern",), mtp="num_nextn_predict_layers", mtp_dense=True,
            experts=Experts((PLAIN, 64), (CHOSEN, 8), (WIDTH, 1024), ("num_shared_experts", 1, 0), dense=1)),
    Decoder("solar_open", "Solar Open: experts in every layer, and a shared one.",
            4096, None, 48, 64, 196608, kv_heads=8, head_width=128, bias=ATTENTION_BIAS, o_bias=False,
            ignore=("intermediate_size", "use_qk_norm"),
            experts=Experts((ROUTED, 128), (CHOSEN, 8), (WIDTH, 1280), ("n_shared_experts", 1, 0))),
    Decoder("afmoe", "Arcee Trinity: a gate on attention's output, norms before and after each part, a correction per expert.",
            2048, 6144, 32, 16, 200192, head_width=128, bias=ATTENTION_BIAS, qk_norm="heads", norms=4,
            window=slide(1024, ("global_attn_every_n_layers", 4)),
            after_attention=lambda s: linear("attention.gate", s.heads * s.width, s.hidden, kind="attention"),
            ignore=("num_expert_groups", "num_limited_groups"),
            experts=Experts((PLAIN, 64), (CHOSEN, 6), (WIDTH, 1408), ("num_shared_experts", 2, 0),
                            dense=lambda config, layers: min(config.integer("num_dense_layers", 1, low=0), layers),
                            corrected=1)),
    Decoder("hy_v3", "Hunyuan 3: norms on the heads of Q and K, the first layer dense, a shared expert.",
            4096, 13312, 80, 64, 120832, kv_heads=8, head_width=128, bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS, qk_norm="heads",
            ignore=("num_nextn_predict_layers",),
            experts=Experts((PLAIN, 192), (CHOSEN, 8), (WIDTH, 1536), ("num_shared_experts", 1), shared_bias=MLP_BIAS,
                            dense=lambda config, layers: listed_dense(config, layers, 1))),
    Decoder("ernie4_5_moe", "ERNIE 4.5 MoE: experts between two layer numbers, shared ones, a stored correction per expert.",
            2560, 12288, 28, 20, 103424, kv_heads=4, bias=USE_BIAS, mlp_bias=USE_BIAS, tied=True, head_bias=USE_BIAS,
            ignore=("moe_capacity", "moe_gate", "moe_use_aux_free", "use_moe", "moe_layer_type"),
            mtp="num_nextn_predict_layers", mtp_plain=True,
            experts=Experts(("moe_num_experts|num_experts", 64), ("moe_k|num_experts_per_tok", 6), (WIDTH, 1536),
                            ("moe_num_shared_experts", 2, 0), dense=_ernie_dense, shared_bias=USE_BIAS, corrected=2)),
)  # fmt: skip


@family("bailing_moe", "bailing_moe_v2")
def bailing_moe(config: ModelConfig) -> Iterator[TableRow]:
    """Ling and Ring: shared experts; the second generation has norms on the heads of Q and K and a correction per expert."""
    config.only("norm_head", False)
    second, corrected = config.flag("use_qk_norm", False), config.flag("moe_router_enable_expert_bias", False)
    shared = ("num_shared_experts", 0, 0)
    experts = Experts((PLAIN, REQUIRED), (CHOSEN, REQUIRED), (WIDTH, REQUIRED), shared, dense=0, corrected=int(corrected))
    yield from Decoder(
        "bailing_moe", "", 2048, 5632, 28, 16, 126464, kv_heads=4, bias=("use_qkv_bias", False), o_bias=USE_BIAS,
        mlp_bias=USE_BIAS, qk_norm="heads" if second else "", experts=experts, mtp="num_nextn_predict_layers",
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
