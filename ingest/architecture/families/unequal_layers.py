"""Decoders whose layers differ from one another by lists in the config: blocks found by search, sparse layers, gated heads."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from ingest.architecture.families.moe import dense_first
from ingest.architecture.families.vision_language import joined, text_width
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    biased,
    encoder_attention,
    head_width,
    kv_group_count,
    linear,
    norm,
    plain_mlp,
    prediction,
    sizes,
)
from ingest.architecture.registry import class_suffix, family
from ingest.architecture.weight_table import Attention, TableRow, Weight, times

#: The inner widths of Nemotron-NAS are multiples of this.
_MULTIPLE = 256


@family("nemotron-nas")
def nemotron_nas(config: ModelConfig) -> Iterator[TableRow]:
    """Bercovich et al. 2024 (Puzzle): LLaMA whose layers keep, thin or leave out attention and network, one by one."""
    hidden, layers = config.size("hidden_size", 8192), config.size("num_hidden_layers", 80, high=MAX_LAYERS)
    heads, words = config.size("num_attention_heads", 64), config.size("vocab_size", 128256)
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
        for part in (mixer, network):
            part.only("sparsify")
        for key in ("window_length", "num_sink_tokens"):
            mixer.only(key)
        mixer.only("unshifted_sink", False)
        mixer.only("use_prefill_window_in_sink_attention", False)
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


def _listed(config: ModelConfig, kinds: str, flags: str, layers: int, names: tuple[str, str], place: ModelConfig) -> int:
    """How many layers are of the second kind: by the list of kinds, or by a list of 0 and 1; none where neither is there."""
    listed = config.texts(kinds, layers, choices=names)
    numbers = place.integers(flags, layers, low=0, high=1)
    if listed is not None:
        return listed.count(names[1])
    return sum(numbers or ())


@family("minimax_m3", "minimax_m3_vl_text")
def minimax_m3(config: ModelConfig) -> Iterator[TableRow]:
    """MiniMax-M3: layers that attend to blocks which a light indexer selects; experts and a shared one."""
    s = sizes(config, 6144, 3072, 60, 64, 200064, kv_heads=4, width=128)
    sparse = config.part("sparse_attention_config") or ModelConfig({}, config.path)
    sparse.ignore("use_sparse_attention", "sparse_disable_index_value", "sparse_score_type", "sparse_init_block")
    sparse.ignore("sparse_local_block")
    config.only("attention_output_gate", False)
    config.only("qk_norm_type", "per_head")
    config.only("use_qk_norm", True)
    config.only("n_shared_experts", 1)
    config.only("moe_intermediate_size", s.inner)
    config.ignore("use_gemma_norm", "use_routing_bias", "first_k_dense_replace", "index_local_blocks")
    names = ("full_attention", "minimax_m3_sparse")
    chosen_layers = _listed(config, "layer_types", "sparse_attention_freq", s.layers, names, sparse)
    given = {"mlp_layer_types", "moe_layer_freq"} & {key for key, value in config.data.items() if value is not None}
    with_experts = (
        _listed(config, "mlp_layer_types", "moe_layer_freq", s.layers, ("dense", "sparse"), config) if given else s.layers
    )
    sizes_of = {
        key: sparse.integer(old, config.integer(key, default))
        for key, old, default in (
            ("index_n_heads", "sparse_num_index_heads", 4),
            ("index_head_dim", "sparse_index_dim", 128),
            ("index_block_size", "sparse_block_size", 128),
            ("index_topk_blocks", "sparse_topk_blocks", 16),
        )
    }
    indexers, narrow = sizes_of["index_n_heads"], sizes_of["index_head_dim"]
    indexer: list[TableRow] = [
        *linear("indexer.q", indexers * narrow, s.hidden, kind="attention"),
        *linear("indexer.k", narrow, s.hidden, kind="attention"),
        *norm("indexer.norm", narrow, number=2),
        Attention("indexer", indexers, narrow, 0, 1, narrow),
    ]
    reach = sizes_of["index_block_size"] * sizes_of["index_topk_blocks"]
    mixer, ends = [*s.attention()], [*s.head_norms(), *s.norms(2)]
    seen = [row._replace(window=reach) if isinstance(row, Attention) else row for row in mixer]
    dense = s.gated(config.integer("dense_intermediate_size", 12288))
    number, each = config.integer("num_local_experts", 128), config.integer("num_experts_per_tok", 4)
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

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        squeezed = (wrapper.part("img_token_compression_config"), vision.part("img_token_compression_config"))
        for part in squeezed:
            if part:
                part.only("image_token_compression_method", "patch_merge")
                part.only("spatial_merge_size", vision.integer("spatial_merge_size", 2))
                part.only("temporal_patch_size", vision.integer("temporal_patch_size", 2))
        hidden, inner = vision.integer("hidden_size", 1280), vision.integer("intermediate_size", 5120)
        layers, heads = vision.integer("num_hidden_layers", 32, high=MAX_LAYERS), vision.integer("num_attention_heads", 16)
        patch, time = vision.integer("patch_size", 14), vision.integer("temporal_patch_size", 2)
        vision.ignore("model_type", "image_size", "projection_dim", "position_embedding_type", "vision_segment_max_frames")
        vision.ignore("vocab_size", "rope_mode")
        mixer = encoder_attention(hidden, heads, head_width(vision, hidden, heads, name="-"), True)
        yield Weight("patches", (hidden, vision.integer("num_channels", 3), time, patch, patch), "vision")
        yield from norm("first_norm", hidden, True)
        yield from times(layers, [*mixer, *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)])
        text, wide = text_width(wrapper), wrapper.integer("projector_hidden_size", 6144)
        merged = text * vision.integer("spatial_merge_size", 2) ** 2
        for name, into in (("projector", hidden), ("merger", merged)):
            yield from linear(f"{name}.1", wide, into, True)
            yield from linear(f"{name}.2", text, wide, True)

    config.only("multimodal_projector_bias", True)
    config.only("vision_feature_layer", -1)
    config.only("num_reward_heads", 0)
    config.ignore("process_image_mode")
    text = config.data.get("text_config") or {}
    config.data = {**config.data, "text_config": {**text, "model_type": "minimax_m3_vl_text"}}
    yield from joined(config, "minimax_m3_vl_text", False, rows, either=True)


@family("step3p7_text", "step3p5")
def step3p7_text(config: ModelConfig) -> Iterator[TableRow]:
    """Step-3.5 and 3.7 Flash: windows with more heads than full attention, a gate per head, the first layers dense."""
    hidden, layers = config.size("hidden_size", 4096), config.size("num_hidden_layers", 45, high=MAX_LAYERS)
    heads, words = config.size("num_attention_heads", 64), config.size("vocab_size", 128815)
    groups = kv_group_count(config, heads, 8, "num_key_value_heads|num_attention_groups")
    width = config.integer("head_dim", 128)
    s = DecoderSizes(config, hidden, 0, layers, heads, groups, width, words)
    further = config.optional_integer("num_nextn_predict_layers", 0, high=MAX_LAYERS) or 0
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    kinds = _per_layer(config, "layer_types", layers, further, ("full_attention", "sliding_attention"))
    networks = _per_layer(config, "mlp_layer_types", layers, further, ("dense", "sparse"))
    config.ignore("swiglu_limits", "swiglu_limits_shared", "mtp_layer_types", "mtp_mlp_layer_types", "per_layer_config")
    config.ignore("partial_rotary_factors", "use_moe_router_bias")
    setting = config.part("attention_other_setting")
    other = heads if setting is None else setting.integer("num_attention_heads", heads)
    if setting is not None:
        setting.only("attention_type", "sliding_attention")
        setting.only("num_attention_groups", groups)
        setting.only("num_key_value_heads", groups)
        setting.only("head_dim", width)
    narrow = s._replace(heads=config.integer("num_sliding_attention_heads", other))
    if narrow.heads % groups:
        raise config.refuse("num_sliding_attention_heads", narrow.heads, f"a multiple of the {groups:,} key and value heads")
    short = (kinds or []).count("sliding_attention")
    window = config.integer("sliding_window", 0, low=0)

    def mixer(one: DecoderSizes, reach: int) -> list[TableRow]:
        rows = [row._replace(window=reach) if isinstance(row, Attention) else row for row in one.attention(bias)]
        return [*rows, *one.head_norms(), *linear("attention.gate", one.heads, hidden, kind="attention")]

    sparse = networks.count("sparse") if networks is not None else _expert_layers(config, layers)
    number, chosen = (
        config.integer("n_routed_experts|moe_num_experts|num_experts", 288),
        config.integer("num_experts_per_tok|moe_top_k", 8),
    )
    inner, shared = config.integer("moe_intermediate_size", 1280), config.integer("share_expert_dim", 1280)
    config.only("n_shared_experts", 1)
    config.ignore("num_local_experts", "moe_router_scaling_factor")
    experts = [*s.experts(number, chosen, inner, shared=shared, shared_bias=mlp_bias)]
    yield from s.frame([
        *times(short, mixer(narrow, window)),
        *times(layers - short, mixer(s, 0)),
        *times(layers - sparse, s.gated(config.integer("intermediate_size", 11264), mlp_bias)),
        *times(sparse, experts),
        *times(layers, s.norms(2)),
    ])  # fmt: skip
    # The modules are dense: the layers with experts that a file lists end before them.
    own = s.gated(config.integer("intermediate_size", 11264), mlp_bias)
    yield from prediction(hidden, further, [*mixer(s, 0), *own, *s.norms(2)])


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

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        hidden, layers = (
            vision.integer("width|hidden_size", 1536),
            vision.integer("layers|num_hidden_layers", 47, high=MAX_LAYERS),
        )
        heads, inner = vision.integer("heads|num_attention_heads", 16), int(hidden * vision.number("mlp_ratio", 8960 / 1536))
        patch, side = vision.integer("patch_size", 14), vision.integer("image_size", 728)
        vision.ignore(
            "intermediate_size", "layer_scale_init_value", "ls_init_value", "use_cls_token", "output_dim", "model_type"
        )
        vision.ignore("hidden_size", "num_hidden_layers", "num_attention_heads", "use_ln_pre", "use_ln_post", "use_abs_posemb")
        vision.ignore("use_rope2d", "pool_type", "max_position_embeddings")
        mixer = encoder_attention(hidden, heads, head_width(vision, hidden, heads, name="-"), True)
        layer: list[TableRow] = [
            *mixer,
            *plain_mlp(hidden, inner),
            *norm("norm", hidden, True, 2),
            *norm("scale", hidden, number=2),
        ]
        yield Weight("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision")
        yield Weight("places", ((side // patch) ** 2, hidden), "vision")
        yield from norm("first_norm", hidden, True)
        yield from times(layers, layer)
        yield from biased("halve.1", (2 * hidden, hidden, 3, 3), "vision")
        yield from biased("halve.2", (4 * hidden, 2 * hidden, 3, 3), "vision")
        yield from linear("projector", text_width(wrapper), 4 * hidden, wrapper.flag("projector_bias", False))

    if "text_config" not in config.data and "num_hidden_layers" in config.data:
        class_suffix(config, "ForCausalLM")
        yield from step3p7_text(config)
        return
    config.ignore(
        "understand_projector_stride", "im_end_token", "im_patch_token", "im_start_token", "image_token_len", "patch_token_len"
    )
    text = config.data.get("text_config") or {}
    config.data = {**config.data, "text_config": {**text, "model_type": "step3p7_text"}}
    yield from joined(config, "step3p7_text", False, rows)
