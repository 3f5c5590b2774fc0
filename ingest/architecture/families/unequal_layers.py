"""Decoders whose layers differ from one another: by lists in the config, by search, by windows, by compressed keys."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from ingest.architecture.families.decoders import dense_first
from ingest.architecture.families.vision_language import text_part, text_width
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    attention,
    biased,
    encoder_layer,
    head_width,
    kv_group_count,
    linear,
    norm,
    prediction,
    products,
    sizes,
    tower_sizes,
    windowed,
)
from ingest.architecture.registry import class_suffix, family
from ingest.architecture.weight_table import CHOSEN, Attention, TableRow, Weight, aside, times, work

_MULTIPLE = 256  # The inner widths of Nemotron-NAS are multiples of this


@family("nemotron-nas")
def nemotron_nas(config: ModelConfig) -> Iterator[TableRow]:
    """Bercovich et al. 2024 (Puzzle): LLaMA whose layers keep, thin or leave out attention and network, one by one."""
    hidden, layers = config.stated(hidden_size=8192, num_hidden_layers=80)
    heads, words = config.stated(num_attention_heads=64, vocab_size=128256)
    width = head_width(config, hidden, heads)
    s = DecoderSizes(config, hidden, 0, layers, heads, heads, width, words)
    config.only("intermediate_size")
    config.only("num_key_value_heads")
    blocks = config.tables("block_configs")
    if len(blocks) != layers:
        raise config.refuse("block_configs", len(blocks), f"an entry for each of {layers:,} layers")
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    rows: list[TableRow] = []
    for block in blocks:
        mixer, network = block.table("attention"), block.table("ffn")
        mixer.only("sparsify")
        network.only("sparsify")
        mixer.only("window_length")
        mixer.only("num_sink_tokens")
        mixer.fixed(unshifted_sink=False, use_prefill_window_in_sink_attention=False)
        if not mixer.flag("no_op", False):
            rows += s.norms(1)
            if mixer.flag("replace_with_linear", False):
                rows += linear("attention.linear", hidden, hidden, kind="attention")
            else:
                each = mixer.integer("n_heads_in_group")
                if heads % each:
                    raise mixer.refuse("n_heads_in_group", each, f"a divisor of the {heads:,} query heads")
                rows += s._replace(kv_heads=heads // each).attention(bias)
        if not network.flag("no_op", False):
            rows += s.norms(1)
            if network.flag("replace_with_linear", False):
                rows += linear("mlp.linear", hidden, hidden)
            else:
                wide = int(2 * network.number("ffn_mult") * hidden / 3)
                rows += s.gated(ceil(wide / _MULTIPLE) * _MULTIPLE, mlp_bias)
        mixer.ignore("n_heads_in_group", "replace_with_linear")
        network.ignore("ffn_mult", "replace_with_linear")
    yield from s.frame(rows)


@family("minimax_m3", "minimax_m3_vl_text")
def minimax_m3(config: ModelConfig) -> Iterator[TableRow]:
    """MiniMax-M3: layers that attend to blocks which a light indexer selects; experts and a shared one."""
    s = sizes(config, 6144, 3072, 60, 64, 200064, kv_heads=4, width=128)
    sparse = config.part("sparse_attention_config") or ModelConfig({}, config.path)
    sparse.ignore("use_sparse_attention", "sparse_disable_index_value", "sparse_score_type", "sparse_init_block")
    sparse.ignore("sparse_local_block")
    config.fixed(attention_output_gate=False, qk_norm_type="per_head", use_qk_norm=True, n_shared_experts=1)
    config.only("moe_intermediate_size", s.inner)
    config.ignore("use_gemma_norm", "use_routing_bias", "first_k_dense_replace", "index_local_blocks")
    kinds = config.texts("layer_types", s.layers, choices=("full_attention", "minimax_m3_sparse"))
    flags = sparse.integers("sparse_attention_freq", s.layers, low=0, high=1)
    chosen_layers = kinds.count("minimax_m3_sparse") if kinds is not None else sum(flags or ())
    networks = config.texts("mlp_layer_types", s.layers, choices=("dense", "sparse"))
    ones = config.integers("moe_layer_freq", s.layers, low=0, high=1)
    with_experts = s.layers if ones is None else sum(ones)
    with_experts = with_experts if networks is None else networks.count("sparse")
    indexers, narrow, block, blocks = (
        sparse.integer(old, config.integer(key, default))
        for key, old, default in (
            ("index_n_heads", "sparse_num_index_heads", 4), ("index_head_dim", "sparse_index_dim", 128),
            ("index_block_size", "sparse_block_size", 128), ("index_topk_blocks", "sparse_topk_blocks", 16),
        )
    )  # fmt: skip
    indexer: list[TableRow] = [
        *linear("indexer.q", indexers * narrow, s.hidden, kind="attention"),
        *linear("indexer.k", narrow, s.hidden, kind="attention"),
        *norm("indexer.norm", narrow, number=2),
        Attention("indexer", indexers, narrow, 0, 1, narrow),
    ]
    mixer, ends = [*s.attention()], [*s.head_norms(), *s.norms(2)]
    seen = windowed(mixer, 1, block * blocks, CHOSEN)
    dense = s.gated(config.integer("dense_intermediate_size", 12288))
    number, each = config.whole(num_local_experts=128, num_experts_per_tok=4)
    experts = [*s.experts(number, each, s.inner, shared=config.integer("shared_intermediate_size", 3072))]
    yield from s.frame([
        *times(chosen_layers, [*seen, *indexer]),
        *times(s.layers - chosen_layers, mixer),
        *times(s.layers, ends),
        *times(s.layers - with_experts, dense),
        *times(with_experts, experts),
    ])  # fmt: skip
    further = config.optional_integer("num_nextn_predict_layers|num_mtp_modules", 0, high=MAX_LAYERS) or 0
    config.ignore("num_mtp_modules")
    yield from prediction(s.hidden, further, [*mixer, *ends, *experts])


@family("minimax_m3_vl")
def minimax_m3_vl(config: ModelConfig) -> Iterator[TableRow]:
    """MiniMax-M3 with images: patches over space and time, rotary positions, two products before and two after merging."""
    config.fixed(multimodal_projector_bias=True, vision_feature_layer=-1, num_reward_heads=0)
    config.ignore("process_image_mode")
    config.complete("text_config", {}, model_type="minimax_m3_vl_text")
    text = yield from text_part(config, "minimax_m3_vl_text", False, either=True)
    vision = config.table_or_defaults("vision_config")
    for part in (config.part("img_token_compression_config"), vision.part("img_token_compression_config")):
        if part:
            part.fixed(image_token_compression_method="patch_merge", spatial_merge_size=vision.integer("spatial_merge_size", 2))
            part.only("temporal_patch_size", vision.integer("temporal_patch_size", 2))
    hidden, inner, layers, heads = tower_sizes(vision, 1280, 5120, 32, 16)
    patch, time = vision.whole(patch_size=14, temporal_patch_size=2)
    vision.ignore("image_size", "projection_dim", "position_embedding_type", "vision_segment_max_frames", "vocab_size")
    patches = Weight("patches", (hidden, vision.integer("num_channels", 3), time, patch, patch), "vision")
    rows = [patches, *norm("first_norm", hidden, True), *times(layers, encoder_layer(vision, hidden, inner, heads))]
    wide, joint = text_width(text), config.integer("projector_hidden_size", 6144)
    merged = wide * vision.integer("spatial_merge_size", 2) ** 2
    yield from aside([*rows, *products("projector", hidden, joint, wide), *products("merger", merged, joint, wide)])


@family("step3p7_text", "step3p5")
def step3p7_text(config: ModelConfig) -> Iterator[TableRow]:
    """Step-3.5 and 3.7 Flash: windows with more heads than full attention, a gate per head, the first layers dense."""
    hidden, layers = config.stated(hidden_size=4096, num_hidden_layers=45)
    heads, words = config.stated(num_attention_heads=64, vocab_size=128815)
    groups = kv_group_count(config, heads, 8, "num_key_value_heads|num_attention_groups")
    width = config.integer("head_dim", 128)
    s = DecoderSizes(config, hidden, 0, layers, heads, groups, width, words)
    further = config.optional_integer("num_nextn_predict_layers", 0, high=MAX_LAYERS) or 0
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    kinds = _per_layer(config, "layer_types", layers, further, ("full_attention", "sliding_attention"))
    networks = _per_layer(config, "mlp_layer_types", layers, further, ("dense", "sparse"))
    config.ignore("swiglu_limits", "swiglu_limits_shared", "mtp_layer_types", "mtp_mlp_layer_types", "per_layer_config")
    config.ignore("partial_rotary_factors", "use_moe_router_bias")
    other = heads
    if setting := config.part("attention_other_setting"):
        other = setting.integer("num_attention_heads", heads)
        setting.fixed(attention_type="sliding_attention", num_attention_groups=groups)
        setting.fixed(num_key_value_heads=groups, head_dim=width)
    narrow = s._replace(heads=config.integer("num_sliding_attention_heads", other))
    if narrow.heads % groups:
        raise config.refuse("num_sliding_attention_heads", narrow.heads, f"a multiple of the {groups:,} key and value heads")
    short = (kinds or []).count("sliding_attention")
    window = config.integer("sliding_window", 0, low=0)

    near, full = (
        [*one.attention(bias), *one.head_norms(), *linear("attention.gate", one.heads, hidden, kind="attention")]
        for one in (narrow, s)
    )
    sparse = networks.count("sparse") if networks is not None else _expert_layers(config, layers)
    number = config.integer("n_routed_experts|moe_num_experts|num_experts", 288)
    chosen = config.integer("num_experts_per_tok|moe_top_k", 8)
    inner, shared = config.whole(moe_intermediate_size=1280, share_expert_dim=1280)
    config.only("n_shared_experts", 1)
    config.ignore("num_local_experts", "moe_router_scaling_factor")
    experts = [*s.experts(number, chosen, inner, shared=shared, shared_bias=mlp_bias)]
    dense = [*s.gated(config.integer("intermediate_size", 11264), mlp_bias)]
    yield from s.frame([
        *times(short, windowed(near, 1, window)),
        *times(layers - short, full),
        *times(layers - sparse, dense),
        *times(sparse, experts),
        *times(layers, s.norms(2)),
    ])  # fmt: skip
    # The modules are dense: the layers with experts that a file lists end before them.
    yield from prediction(hidden, further, [*full, *dense, *s.norms(2)])


def _per_layer(config: ModelConfig, key: str, layers: int, further: int, names: tuple[str, str]) -> list[str] | None:
    """A list of kinds, without those of the prediction modules that follow the layers in files of releases."""
    listed = config.texts(key, choices=names)
    if listed is not None and len(listed) not in (layers, layers + further):
        raise config.refuse(key, len(listed), f"a kind for each of {layers:,} layers")
    return listed if listed is None else listed[:layers]


def _expert_layers(config: ModelConfig, layers: int) -> int:
    """Layers with experts: those that a text of numbers lists, or all from the fourth on."""
    _, found = config.get("moe_layers_enum")
    if found is None:
        return layers - dense_first(config, layers, 3)
    listed = found.split(",") if isinstance(found, str) else found
    if not isinstance(listed, list) or not all(str(item).strip().isdecimal() and len(str(item)) < 6 for item in listed):
        raise config.refuse("moe_layers_enum", found, "numbers of layers, separated by commas")
    return sum(number < layers for number in {int(item) for item in listed})


@family("step3p7")
def step3p7(config: ModelConfig) -> Iterator[TableRow]:
    """Step-3.7 Flash: an encoder of images with rotary positions and a learned scale after each part, halved twice."""
    if "text_config" not in config.data and "num_hidden_layers" in config.data:
        class_suffix(config, "ForCausalLM")
        yield from step3p7_text(config)
        return
    config.ignore("understand_projector_stride", "image_token_len", "patch_token_len")
    config.complete("text_config", {}, model_type="step3p7_text")
    text = yield from text_part(config, "step3p7_text", False)
    vision = config.table_or_defaults("vision_config")
    hidden = vision.integer("width|hidden_size", 1536)
    layers = vision.integer("layers|num_hidden_layers", 47, high=MAX_LAYERS)
    heads, inner = vision.integer("heads|num_attention_heads", 16), int(hidden * vision.number("mlp_ratio", 8960 / 1536))
    patch, side = vision.whole(patch_size=14, image_size=728)
    vision.ignore("intermediate_size", "layer_scale_init_value", "ls_init_value", "output_dim", "hidden_size")
    vision.ignore("num_hidden_layers", "num_attention_heads", "use_ln_pre", "use_ln_post", "use_abs_posemb", "use_rope2d")
    vision.ignore("pool_type")
    layer = [*encoder_layer(vision, hidden, inner, heads), *norm("scale", hidden, number=2)]
    yield from aside([
        Weight("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision"),
        Weight("places", ((side // patch) ** 2, hidden), "vision"),
        *norm("first_norm", hidden, True),
        *times(layers, layer),
        *biased("halve.1", (2 * hidden, hidden, 3, 3), "vision"),
        *biased("halve.2", (4 * hidden, 2 * hidden, 3, 3), "vision"),
        *linear("projector", text_width(text), 4 * hidden, config.flag("projector_bias", False)),
    ])  # fmt: skip


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


@family("deepseek_v4")
def deepseek_v4(config: ModelConfig) -> Iterator[TableRow]:
    """DeepSeek-V4: one latent key for all heads, older tokens compressed by 4 or by 128, several residual streams."""
    hidden, layers, heads = config.stated(hidden_size=4096, num_hidden_layers=43, num_attention_heads=64)
    width = config.integer("head_dim", 512)
    s = DecoderSizes(config, hidden, 0, layers, heads, 1, width, config.size("vocab_size", 129280))
    config.fixed(num_key_value_heads=1, attention_bias=False, n_shared_experts=1)
    config.ignore("num_hash_layers", "hc_sinkhorn_iters", "qk_rope_head_dim")
    q_rank, o_rank, groups = (config.integer(key, default) for key, default in
                              (("q_lora_rank", 1024), ("o_lora_rank", 1024), ("o_groups", 8)))  # fmt: skip
    if heads * width % groups:
        raise config.refuse("o_groups", groups, f"a divisor of heads × head_dim = {heads * width:,}")
    window, streams = config.whole(sliding_window=128, hc_mult=4)
    indexers, narrow, chosen = config.whole(index_n_heads=64, index_head_dim=128, index_topk=512)
    kinds, (few, many) = _ratios(config, layers), (_SPARSE, _HEAVY)
    # Tokens that the two kinds of compression make one of.
    if rates := config.part("compress_rates"):
        few, many = rates.integer("compressed_sparse_attention"), rates.integer("heavily_compressed_attention")
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
    number, each = config.whole(n_routed_experts=256, num_experts_per_tok=6)
    experts = [*s.experts(number, each, inner, shared=inner)]
    mixed = (2 + streams) * streams
    residual: list[TableRow] = [
        *linear("residual.mix", mixed, streams * hidden, kind="other"),
        Weight("residual.base", (mixed,), "other"),
        Weight("residual.scale", (3,), "other"),
        # Each part mixes the streams with each other.
        work("residual.streams", streams, streams, hidden, kind="other"),
    ]
    layer = [*mixer, *experts, *times(2, residual), *s.norms(2)]
    rows: list[TableRow] = [*times(layers, layer)]
    rows += times(sparse, _compressor("compressor", few, 2 * width, width, hidden))
    rows += times(sparse, _compressor("indexer", few, 2 * narrow, narrow, hidden))
    rows += times(sparse, linear("indexer.q", indexers * narrow, q_rank, kind="attention"))
    rows += times(sparse, linear("indexer.weights", indexers, hidden, kind="attention"))
    rows += times(heavy, _compressor("compressor", many, width, width, hidden))
    # Of a token in no entry yet, values and weights are kept; the sparse kind computes both twice, and half is read once more.
    for name, number, ratio, kept, reach in (
        ("sparse", sparse, few, width + narrow, chosen * few), ("heavy", heavy, many, width, 0)
    ):  # fmt: skip
        if number:
            one = width / ratio  # of an entry, the share of one token
            twice, again = (2, 0.5) if reach else (1, 0)
            rows.append(Attention(name, heads, one, one, number, kept / ratio, reach, reach=CHOSEN,
                                  block=ratio, raw=2 * twice * kept, overlap=again))  # fmt: skip
    if sparse:
        rows.append(Attention("indexer", indexers, narrow / few, 0, sparse))
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
    """MiMo-V2-Flash: windows with sinks and twice the key heads beside full attention; values narrower than keys."""
    hidden, layers, heads = config.stated(hidden_size=4096, num_hidden_layers=48, num_attention_heads=64)
    s = DecoderSizes(config, hidden, 0, layers, heads, 0, 0, config.size("vocab_size", 152576))
    config.only("attention_bias", False)
    config.ignore("attention_chunk_size", "attention_value_scale", "layer_types")
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
    config.fixed(n_shared_experts=0, add_full_attention_sink_bias=False, add_swa_attention_sink_bias=True)
    # The size counts the tokens before the query, and stands before the window.
    window, before = config.integer("sliding_window", 129), config.integer("sliding_window_size", 0, low=0)
    window = before + 1 if before else window
    groups = kv_group_count(config, heads, None)
    key, value = config.integer("head_dim", 192), config.integer("v_head_dim", 128)
    # The class takes twice the key heads in windows, and all else as in full attention.
    config.fixed(swa_num_attention_heads=heads, swa_num_key_value_heads=2 * groups, swa_head_dim=key, swa_v_head_dim=value)
    full = attention(hidden, heads, groups, key, value=value)
    near = [*windowed(attention(hidden, heads, 2 * groups, key, value=value), 1, window)]
    near.append(Weight("attention.sinks", (heads,), "attention"))
    rows = [row for number, layer in zip(map(kinds.count, (0, 1)), (full, near), strict=True) for row in times(number, layer)]
    inner = config.size("intermediate_size", 16384)
    width, number, each = config.whole(moe_intermediate_size=2048, n_routed_experts=256, num_experts_per_tok=8)
    for count, network in ((sparse.count(0), s.gated(inner)), (sparse.count(1), s.experts(number, each, width))):
        rows += times(count, network) if count else ()
    yield from s.frame([*rows, *times(layers, s.norms(2))])
