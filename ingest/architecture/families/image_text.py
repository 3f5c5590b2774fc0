"""Models that read images, sound and text in ways of their own: pages, tiles, patches without an encoder; Gemma 3n and 4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.families.decoders import dense_first
from ingest.architecture.families.vision_encoders import SO400M, TOWER_NAMES, siglip_tower
from ingest.architecture.families.vision_language import text_part, text_width
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    attention,
    biased,
    embedding,
    encoder_attention,
    encoder_layer,
    even_width,
    gated_mlp,
    head,
    linear,
    norm,
    plain_mlp,
    products,
    sizes,
    sliding,
    tower_sizes,
    windowed,
)
from ingest.architecture.registry import class_suffix, families, family
from ingest.architecture.weight_table import HOW, Attention, TableRow, Weight, aside, relabelled, times, without, work


@family("mllama_text_model")
def mllama_text(config: ModelConfig) -> Iterator[TableRow]:
    """The text part of Llama 3.2 Vision: some layers attend to the image alone, behind gates; eight more words."""
    s = sizes(config, 4096, 14336, 40, 32, 128256, kv_heads=8)
    listed = config.integers("cross_attention_layers", low=0, high=s.layers - 1)
    crossing = len({*(range(3, 39, 5) if listed is None else listed)})
    look = [row for row in s.attention() if isinstance(row, Weight)]
    gates = Weight("cross.gates", (1,), "other", 2, 2)
    yield embedding(s.vocabulary + 8, s.hidden)
    yield from times(s.layers - crossing, s.attention())
    yield from times(crossing, [*relabelled(look, "cross"), *norm("cross.qk_norm", s.width, number=2), gates])
    yield from times(s.layers, [*s.gated(), *s.norms(2)])
    yield from norm("final_norm", s.hidden)
    yield from head(s.vocabulary, s.hidden, False)


@family("mllama")
def mllama(config: ModelConfig) -> Iterator[TableRow]:
    """Llama 3.2 Vision: local and global layers over tiles of an image; the text looks at them in layers of its own."""
    text = yield from text_part(config, "mllama_text_model", False, never_tied=True)
    vision = config.table_or_defaults("vision_config")
    hidden, inner = vision.whole(hidden_size=1280, intermediate_size=5120)
    layers, deep, heads, patch = vision.whole(num_hidden_layers=32, num_global_layers=8, attention_heads=16, patch_size=14)
    places, tiles = (vision.integer("image_size", 448) // patch) ** 2 + 1, vision.integer("max_num_tiles", 4)
    _, ratios = vision.get("supported_aspect_ratios")
    shapes = (len(ratios) if isinstance(ratios, list) else 8) + 1
    vision.ignore("intermediate_layers_indices", "max_aspect_ratio_id", "tie_word_embeddings")
    mixer = encoder_attention(vision, hidden, heads, False)
    yield from aside([
        Weight("class", (hidden,), "vision"),
        Weight("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision"),
        Weight("places", (places, hidden), "vision"),
        Weight("tile_places", (shapes, tiles * places * hidden), "vision"),
        Weight("tiles", (shapes, tiles * hidden), "vision", 2, 2),
        Weight("gates", (1,), "vision", 3, 3),
        *times(layers + deep, [*mixer, *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)]),
        Weight("global.gates", (1,), "vision", 2 * deep, 2 * deep),
        *norm("outer_norm", hidden, True, 2),
        *linear("projector", text_width(text), vision.integer("vision_output_dim", 7680), True),
    ])  # fmt: skip


#: What the class of Persimmon takes where a file states no more.
PERSIMMON = {"hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 36, "num_attention_heads": 64,
             "vocab_size": 262144, "qk_layernorm": True}  # fmt: skip


@family("fuyu")
def fuyu(config: ModelConfig) -> Iterator[TableRow]:
    """Fuyu: Persimmon, which reads patches of the image through one product; its keys lie beside `text_config`."""
    class_suffix(config, "ForCausalLM")
    patch, channels = config.whole(patch_size=30, num_channels=3)
    config.ignore("image_size")
    text = config.part("text_config")
    if text is not None:
        text.text("model_type", "persimmon", choices=("persimmon",))
        # The class reads the sizes there, or takes its defaults.
        config.fixed(**{key: text.data.get(key, usual) for key, usual in PERSIMMON.items()})
        text.ignore(*PERSIMMON)
    yield from families()["persimmon"](config)
    yield from aside(linear("patches", config.integer("hidden_size", 4096), patch * patch * channels, True))


@family("hunyuan_vl", "hy_v4_vl")
def hunyuan_vl(config: ModelConfig) -> Iterator[TableRow]:
    """HunyuanOCR: learned, interpolated places; two convolutions and a matrix merge the patches. Hunyuan 4: no matrix."""
    ocr = config.data["model_type"] == "hunyuan_vl"
    config.ignore(*(["im_start_id", "im_end_id", "im_newline_id"] if ocr else []))
    text = yield from text_part(config, "hunyuan_vl_text" if ocr else "hy_v4_vl_text", ocr)
    vision = config.table_or_defaults("vision_config")
    hidden, inner, layers, heads = tower_sizes(vision, *((1152, 4304, 27, 16) if ocr else (1536, 6144, 40, 16)))
    patch, merge, image = vision.whole(patch_size=16, spatial_merge_size=2, max_image_size=2048)
    vision.only("num_key_value_heads", heads)
    out = vision.integer("text_hidden_size", 3072) if ocr else vision.integer("out_hidden_size", 6144)
    if ocr:
        if out != (width := text_width(text)):
            raise vision.refuse("text_hidden_size", out, f"the width of the text, {width:,}")
        # The width of the text decides in Transformers; vLLM builds the merger from this key.
        vision.ignore(*(["out_hidden_size"] if vision.data.get("out_hidden_size") == out else []))
        vision.ignore("img_max_token_num", "min_image_size", "max_vit_seq_len", "temporal_patch_size")
        merger: list[TableRow] = [
            *biased("merger.1", (2 * hidden, hidden, merge, merge), "vision"),
            *linear("merger.2", 4 * hidden, 2 * hidden, True),
            *linear("merger.3", out, 4 * hidden, True),
            Weight("newline", (4 * hidden,), "vision"),
            Weight("marks", (out,), "vision", 3, 3),
            *norm("final_norm", out),
        ]
    else:
        vision.ignore("interpolate_mode")
        wide = hidden * merge**2
        merger = [*products("merger", wide, wide, out), Weight("newline", (out,), "vision")]
    yield from aside([
        *biased("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision"),
        Weight("places", ((image // patch) ** 2 + 1, hidden), "vision"),
        *times(layers, encoder_layer(vision, hidden, inner, heads)),
        *norm("merger.norm", hidden),
        *merger,
    ])  # fmt: skip


@family("paddleocr_vl")
def paddleocr_vl(config: ModelConfig) -> Iterator[TableRow]:
    """PaddleOCR-VL: SigLIP without its pool, and two products over merged patches; the release keeps text keys beside."""
    text = None
    if "text_config" in config.data:
        text = yield from text_part(config, "paddleocr_vl_text", True)
    else:
        class_suffix(config, "ForConditionalGeneration")
        config.ignore("compression_ratio", "weight_share_add_bias", "ignored_index", "use_3d_rope")
        yield from families()["paddleocr_vl_text"](config)
    vision = config.table_or_defaults("vision_config")
    vision.data = {**SO400M, "patch_size": 14, "image_size": 384, **vision.data, "vision_use_head": False}
    merge = vision.integer("spatial_merge_size", 2)
    vision.ignore("temporal_patch_size")
    width, tower = siglip_tower(vision)
    merged = width * merge**2
    wide = text_width(text) if text else config.integer("hidden_size", 1024)
    tower += [*norm("projector.norm", width, True), *linear("projector.in", merged, merged, True)]
    yield from aside([*tower, *linear("projector.out", wide, merged, True)])


#: What a file of DeepSeek-OCR says of the encoder; the code builds these sizes whatever it says.
_SAM = {"downsample_channels": [512, 1024], "global_attn_indexes": [2, 5, 8, 11], "heads": 12, "layers": 12, "width": 768}
_CLIP = {"heads": 16, "image_size": 224, "layers": 24, "patch_size": 14, "width": 1024}
_ENCODERS = {
    "DeepseekOCRForCausalLM": {"clip-l-14-224": _CLIP, "sam_vit_b": _SAM},
    "DeepseekOCR2ForCausalLM": {"qwen2-0-5b": {"dim": 896}, "sam_vit_b": _SAM},
}


@family("DeepseekOCR", "deepseek_vl_v2")
def deepseek_ocr(config: ModelConfig) -> Iterator[TableRow]:
    """Wei et al. 2025: SAM and CLIP for pages (OCR 2: SAM and Qwen2), DeepSeek-V2's experts behind plain attention."""
    classes = config.texts("architectures") or ["none"]
    if len(classes) != 1 or classes[0] not in _ENCODERS:
        raise config.refuse("architectures", ", ".join(classes), f"one of {', '.join(_ENCODERS)}; for another class {HOW}")
    second = classes[0] == "DeepseekOCR2ForCausalLM"
    for key, *values in (
        ("use_mla", False), ("lm_head", True), ("rm_head", False), ("tie_word_embeddings", False), ("kv_lora_rank",),
        ("q_lora_rank",), ("qk_nope_head_dim", 0), ("qk_rope_head_dim", 0), ("v_head_dim", 0), ("moe_layer_freq", 1),
        ("attention_bias", False), ("tile_tag", "2D"),
    ):  # fmt: skip
        config.only(key, *values)
    config.ignore("candidate_resolutions", "global_view_pos")
    hidden, heads = config.stated(hidden_size=1280, num_attention_heads=10)
    config.only("num_key_value_heads", heads)
    out = 896 if second else 2048
    _check_parts(config, classes[0], out, hidden)
    deep = config.size("num_hidden_layers", 12, high=MAX_LAYERS)
    dense = dense_first(config, deep, 1)
    s = DecoderSizes(config, hidden, 0, deep, heads, heads, hidden // heads, config.size("vocab_size", 129280))
    width = config.integer("moe_intermediate_size", 896)
    shared = width * config.integer("n_shared_experts", 2, low=0)
    number, chosen = config.whole(n_routed_experts=64, num_experts_per_tok=6)
    yield from s.frame([
        *times(deep, [*s.attention(), *s.norms(2)]),
        *times(dense, s.gated(config.size("intermediate_size", 6848))),
        *times(deep - dense, s.experts(number, chosen, width, shared=shared)),
    ])  # fmt: skip
    yield from aside([*_pages(config, second), *linear("projector", hidden, out, True)])
    yield Weight("vision.ends of lines and views", (hidden,), "vision", 1 if second else 2, 1 if second else 2)


def _check_parts(config: ModelConfig, name: str, out: int, hidden: int) -> None:
    """Refuse an encoder of other sizes than the code builds, and a text part that contradicts the file's own keys."""
    vision, projector, text = (config.part(f"{part}_config") for part in ("vision", "projector", "language"))
    if vision is not None:
        vision.only("width", _ENCODERS[name])
        vision.only("image_size", 1024)
        vision.ignore("mlp_ratio", "model_name")
    if projector is not None:
        projector.fixed(projector_type="linear", input_dim=out, n_embed=hidden)
    if text is not None:
        for key, value in text.data.items():
            if key in config.data and key not in ("architectures", "auto_map", "torch_dtype"):
                text.only(key, config.data[key])
            elif value is not None:
                text.get(key)


def _pages(config: ModelConfig, second: bool) -> Iterator[TableRow]:
    """The base encoder of Segment Anything on pages of 1,024 by 1,024 pixels, two convolutions that halve the sides, and more.

    DeepSeek-OCR goes on with CLIP's large encoder, without a norm at its end; the second version with the layers of Qwen2-0.5B
    over the patches and learned queries, without words.
    """
    wide, narrow, side, window = 768, 256, 64, 14
    yield from biased("patches", (wide, 3, 16, 16), "vision")
    yield Weight("places", (side * side, wide), "vision")
    yield from times(12, encoder_layer(config, wide, 4 * wide, 12))
    for number, reach in ((4, side), (8, window)):
        yield Weight("relative_places", (2 * reach - 1, wide // 12), "vision", 2 * number, 2 * number)
    yield Weight("neck.1", (narrow, wide), "vision")
    yield Weight("neck.2", (narrow, narrow, 3, 3), "vision")
    yield from norm("neck.norm", narrow, True, 2)
    wide = 896 if second else 1024
    yield Weight("halve.1", (512, narrow, 3, 3), "vision")
    yield Weight("halve.2", (wide, 512, 3, 3), "vision")
    if second:
        mixer = attention(wide, 14, 2, 64, bias=True, o_bias=False, causal=False)
        yield from times(24, [*mixer, *gated_mlp(wide, 4864), *norm("norm", wide, number=2)])
        yield from [*norm("final_norm", wide), Weight("queries", (144 + 256, wide), "vision")]
    else:
        yield Weight("class", (wide,), "vision")
        yield Weight("clip_patches", (wide, 3, 14, 14), "vision")
        yield Weight("clip_places", (257, wide), "vision")
        yield from [*norm("first_norm", wide, True), *times(24, encoder_layer(config, wide, 4 * wide, 16))]


#: Parameters of MobileNet-V5 300M, whose sizes no config states: counted on the class of timm.
_MOBILENET = 294_126_912


def _reusing(rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """The rows of a layer that reads the keys and values of an earlier one: it makes and keeps none."""
    for row in without(rows, "attention.k", "attention.k.bias", "attention.v", "attention.v.bias", "k_norm"):
        yield row._replace(cached=0) if isinstance(row, Attention) else row


@family("gemma3n_text")
def gemma3n_text(config: ModelConfig) -> Iterator[TableRow]:
    """The text part: streams (AltUp), a low-rank bypass of attention (LAuReL), shared keys and values in the last layers."""
    s = sizes(config, 2048, None, 35, 8, 262400, kv_heads=2, width=256)
    _, stated = config.get("intermediate_size")
    listed = config.integers("intermediate_size", s.layers, low=1) if isinstance(stated, list) else None
    inner = listed or [config.integer("intermediate_size", 16384)] * s.layers
    kinds = config.texts("layer_types", s.layers, choices=("full_attention", "sliding_attention"))
    short, window = sliding(config, s.layers, 512, every=5)
    reused = config.integer("num_kv_shared_layers", 15, low=0)
    if reused >= s.layers:
        raise config.refuse("num_kv_shared_layers", reused, f"fewer than the {s.layers:,} layers")
    here = kinds or ["full_attention" if (layer + 1) % 5 == 0 else "sliding_attention" for layer in range(s.layers)]
    near = here[: s.layers - reused].count("sliding_attention")
    bias = config.flag("attention_bias", False)
    streams, rank = config.whole(altup_num_inputs=4, laurel_rank=64)
    config.integer("altup_active_idx", 0, low=0, high=streams - 1)
    config.flag("altup_correct_scale", True)
    config.ignore("altup_coef_clip", "altup_lr_multiplier")
    narrow, words = config.whole(hidden_size_per_layer_input=256, vocab_size_per_layer_input=262144)
    mixer = [*s.attention(bias), *norm("q_norm", s.width), *norm("k_norm", s.width)]
    rows = [*windowed(times(s.layers - reused, mixer), near, window)]
    if reused:
        rows += windowed(times(reused, _reusing(mixer)), short - near, window)
    rows += times(s.layers, [
        Weight("altup.scale", (s.hidden,), "other"),
        *linear("altup.correct", streams, streams),
        *linear("altup.predict", streams**2, streams),
        Weight("altup.router", (streams, s.hidden), "mlp", passes=2),
        work("altup.mix", streams, streams, s.hidden, kind="other"),
        *linear("laurel.down", rank, s.hidden),
        *linear("laurel.up", s.hidden, rank),
        *linear("layer_input.gate", narrow, s.hidden),
        *linear("layer_input.out", s.hidden, narrow),
        *s.norms(7),
    ])  # fmt: skip
    for wide in inner:
        rows += gated_mlp(s.hidden, wide)
    rows += [Weight("layer_embedding", (words, s.layers * narrow), "other")]
    rows += [*linear("layer_input.in", s.layers * narrow, s.hidden), *norm("layer_input.norm", narrow)]
    rows += times(2 * (streams - 1), linear("altup.stream", s.hidden, s.hidden))
    yield from s.frame(rows, tied=True)


def _embedder(part: ModelConfig, hidden: int, text: int) -> Iterator[TableRow]:
    """The way from an encoder into the text: a table of its special words, two norms and a product."""
    part.ignore("vocab_offset")
    yield Weight("words", (part.integer("vocab_size", 128), hidden), "vision")
    yield from norm("words.norm", hidden, number=2)
    yield from linear("projector", text, hidden)


def _conformer(
    config: ModelConfig, hidden: int, layers: int, heads: int, taps: int, bands: int, channels: list[int]
) -> Iterator[TableRow]:
    """The encoder of sound: two convolutions, then layers of network, attention, convolution and network.

    `taps` are those of the convolution in each layer, `bands` the frequencies of the spectrum, `channels` those of both
    convolutions at the beginning.
    """
    for _ in range(2):
        bands = (bands + 2 - 3) // 2 + 1
    network: list[TableRow] = [*linear("network.up", 4 * hidden, hidden), *linear("network.down", hidden, 4 * hidden)]
    layer: list[TableRow] = [
        *times(2, [*network, *norm("norm", hidden, number=2)]),
        *times(5, linear("attention.qkv and places, o", hidden, hidden)),
        Weight("attention.scale", (even_width(config, hidden, heads),), "other"),
        *norm("norm", hidden, number=2),
        *linear("convolution.in", 2 * hidden, hidden),
        Weight("convolution", (hidden, 1, taps), "conv"),
        *linear("convolution.out", hidden, hidden),
        *norm("norm", hidden, number=3),
    ]
    yield Weight("sound.1", (channels[0], 1, 3, 3), "conv")
    yield Weight("sound.2", (channels[1], channels[0], 3, 3), "conv")
    yield from norm("sound.norm.1", channels[0])
    yield from norm("sound.norm.2", channels[1])
    yield from linear("sound.in", hidden, channels[1] * bands)
    yield from times(layers, layer)


@family("gemma3n")
def gemma3n(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 3n with its encoders of images, MobileNet-V5, and of sound, a conformer."""
    config.ignore("audio_soft_tokens_per_image")
    text = yield from text_part(config, "gemma3n_text", True)
    vision, audio = config.table_or_defaults("vision_config"), config.table_or_defaults("audio_config")
    vision.fixed(architecture="mobilenetv5_300m_enc", hidden_size=2048)
    vision.only("model_args")
    vision.ignore("do_pooling", "num_classes", "label_names")
    wide = text_width(text)
    seen = [Weight("mobilenet", (_MOBILENET,), "vision"), *_embedder(vision, 2048, wide)]
    hidden, layers = audio.whole(hidden_size=1536, conf_num_hidden_layers=12)
    heads, taps = audio.whole(conf_num_attention_heads=8, conf_conv_kernel_size=5)
    channels = audio.listed("sscp_conv_channel_size", [128, 32], 2)
    audio.only("sscp_conv_kernel_size", [[3, 3], [3, 3]])
    audio.only("sscp_conv_stride_size", [[2, 2], [2, 2]])
    audio.ignore("conf_attention_chunk_size", "conf_attention_context_left", "conf_attention_context_right")
    audio.ignore("conf_attention_logit_cap", "conf_reduction_factor", "conf_residual_weight", "gradient_clipping")
    heard = _conformer(audio, hidden, layers, heads, taps, audio.integer("input_feat_size", 128), channels)
    yield from aside([*seen, *heard, *_embedder(audio, hidden, wide)])


@family("gemma4_text")
def gemma4_text(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4: wide heads in the layers with full attention, experts and inputs per layer where the file has them."""
    yield from _gemma4(config, 512, 256)


@family("gemma4_unified_text")
def gemma4_unified_text(config: ModelConfig) -> Iterator[TableRow]:
    """The text part of a Gemma 4 without encoders: its class has no inputs per layer."""
    config.only("hidden_size_per_layer_input", 0)
    yield from _gemma4(config, 1024, 0)


def _gemma4(config: ModelConfig, near_tokens: int, side_width: int) -> Iterator[TableRow]:
    s = sizes(config, 2304, 9216, 30, 8, 262144, kv_heads=4, width=256)
    kinds = config.texts("layer_types", s.layers)
    short, window = sliding(config, s.layers, near_tokens, every=6)
    if (kinds is not None and kinds[-1] != "full_attention") or (kinds is None and s.layers % 6):
        raise config.refuse("layer_types", kinds and kinds[-1], "full_attention in the last layer")
    near = [kind == "sliding_attention" for kind in kinds] if kinds else [(layer + 1) % 6 > 0 for layer in range(s.layers)]
    reused = config.integer("num_kv_shared_layers", 0, low=0, high=s.layers - 1)
    double = 2 if config.flag("use_double_wide_mlp", False) else 1
    config.only("use_bidirectional_attention", "vision")
    bias, same = config.flag("attention_bias", False), config.flag("attention_k_eq_v", False)
    wide, groups = _global_heads(config, s, kinds, same)
    everywhere = s._replace(kv_heads=groups, width=wide)
    full = without(everywhere.attention(bias), *(("attention.v", "attention.v.bias") if same else ()))
    again = sum(near[s.layers - reused :])
    if (again and again == short) or (reused > again and reused - again == s.layers - short):
        raise config.refuse("num_kv_shared_layers", reused, "a layer of each type before those that reuse its keys and values")
    local, wider = [*s.attention(bias), *s.head_norms()], [*full, *everywhere.head_norms()]
    # A layer without keys of its own has the norm of Q alone.
    late, later = (
        [*without(_reusing(rows), "qk_norm"), *norm("qk_norm", one.width)] for one, rows in ((s, local), (everywhere, wider))
    )
    rows: list[TableRow] = [
        *windowed(times(short - again, local), short - again, window),
        *windowed(times(again, late), again, window),
        *times(s.layers - short - (reused - again), wider),
        *times(reused - again, later),
        *times(s.layers - reused, s.gated()),
        *times(reused, s.gated(double * s.inner)),
        *times(s.layers, s.norms(4)),
    ]
    if config.flag("enable_moe_block", False):
        number, chosen = config.integer("num_experts"), config.integer("top_k_experts")
        parts = [*s.experts(number, chosen, config.integer("moe_intermediate_size")), *s.norms(3)]
        scales = [Weight("router.scale", (s.hidden,), "router"), Weight("expert.scale", (number,), "router")]
        rows += times(s.layers, [*parts, *scales])
    config.ignore("num_experts", "top_k_experts", "moe_intermediate_size")
    config.ignore("vocab_size_per_layer_input")
    if narrow := side_width and config.integer("hidden_size_per_layer_input", side_width, low=0):
        words = config.integer("vocab_size_per_layer_input", 262144)
        side = [*linear("layer_input.gate", narrow, s.hidden), *linear("layer_input.out", s.hidden, narrow), *s.norms(1)]
        rows += times(s.layers, side)
        rows += [Weight("layer_embedding", (words, s.layers * narrow), "other")]
        rows += [*linear("layer_input.in", s.layers * narrow, s.hidden), *norm("layer_input.norm", narrow)]
    yield from s.frame(rows, tied=True)


def _global_heads(config: ModelConfig, s: DecoderSizes, kinds: list[str] | None, same: bool) -> tuple[int, int]:
    """Width and key-value heads of the layers with full attention: by keys of their own, or layer by layer."""
    wide = config.integer("global_head_dim", 512)
    groups = config.integer("num_global_key_value_heads", s.kv_heads) if same else s.kv_heads
    config.ignore("num_global_key_value_heads")
    listed = config.part("per_layer_config")
    if listed is None:
        return wide, groups
    full = {number for number in range(s.layers) if (kinds[number] == "full_attention" if kinds else (number + 1) % 6 == 0)}
    inside = [listed.table(key) for key in listed.data]
    found = {(part.integer("head_dim", s.width), part.integer("num_key_value_heads", s.kv_heads)) for part in inside}
    if {int(key) if key.isdecimal() and len(key) < 9 else -1 for key in listed.data} != full or len(found) != 1:
        raise config.refuse("per_layer_config", listed.data, "the same entry for each layer with full attention, and no other")
    return found.pop()


@family("gemma4")
def gemma4(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4 with the encoders that the file has: of images, of sound, both or none.

    That of images has norms around each part and on the heads, two tables of places, and one product into the text; that of
    sound is the conformer of Gemma 3n at other sizes, a product with a bias, and one into the text.
    """
    text = text_width((yield from text_part(config, "gemma4_text", True)))
    if vision := config.part("vision_config"):
        hidden, inner, layers, heads = tower_sizes(vision, 768, 3072, 16, 12, TOWER_NAMES)
        groups, width = vision.whole(num_key_value_heads=heads, head_dim=64)
        patch, places = vision.whole(patch_size=16, position_embedding_size=10240)
        # Limits of clipped products are buffers.
        vision.ignore("global_head_dim", "pooling_kernel_size", "num_channels", "use_clipped_linears")
        vision.only("attention_bias", False)
        mixer = [*attention(hidden, heads, groups, width, causal=False), *norm("qk_norm", width, number=2)]
        tables = [Weight("patches", (hidden, 3 * patch**2), "vision"), Weight("places", (2, places, hidden), "vision")]
        layer = times(layers, [*mixer, *gated_mlp(hidden, inner), *norm("norm", hidden, number=4)])
        yield from aside([*tables, *layer, *linear("projector", text, hidden)])
    if audio := config.part("audio_config"):
        hidden, layers = audio.whole(hidden_size=1024, num_hidden_layers=12)
        heads, taps = audio.whole(num_attention_heads=8, conv_kernel_size=5)
        channels = audio.listed("subsampling_conv_channels", [128, 32], 2)
        out = audio.integer("output_proj_dims", 1536)
        audio.ignore("attention_chunk_size", "attention_context_left", "attention_context_right")
        audio.ignore("attention_invalid_logits_value", "attention_logit_cap", "gradient_clipping", "residual_weight")
        audio.ignore("use_clipped_linears")
        heard = _conformer(audio, hidden, layers, heads, taps, 128, channels)
        yield from aside([*heard, *biased("sound.out", (out, hidden), "audio", 1), *linear("sound.projector", text, out)])


@family("gemma4_unified")
def gemma4_unified(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4 without encoders: patches of pixels and frames of sound go into the text by a product each."""
    text = text_width((yield from text_part(config, "gemma4_unified_text", True)))
    rows: list[TableRow] = []
    if vision := config.part("vision_config"):
        wide, places = vision.whole(mm_embed_dim=3840, mm_posemb_size=1120)
        side = vision.integer("patch_size", 16) * vision.integer("pooling_kernel_size", 3)
        vision.fixed(model_patch_size=side, output_proj_dims=wide)
        vision.ignore("num_soft_tokens")
        rows += [Weight("places", (places, 2, wide), "vision"), *biased("patches", (wide, 3 * side**2), "vision", 1)]
        rows += [*norm("patches.norm", 3 * side**2, True), *norm("norm", wide, True, 2), *linear("projector", text, wide)]
    if audio := config.part("audio_config"):
        wide = audio.integer("audio_embed_dim", 640)
        audio.fixed(output_proj_dims=wide, hidden_size=wide)
        rows += linear("sound.projector", text, wide)
    yield from aside(rows)
