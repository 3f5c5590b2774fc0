"""Models that read images and text in ways of their own: pages of documents, tiles, patches without an encoder."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.decoders import ATTENTION_BIAS, Decoder, dense_first
from ingest.architecture.families.vision_encoders import SO400M, siglip_tower
from ingest.architecture.families.vision_language import text_part, text_width
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    attention,
    biased,
    embedding,
    encoder_attention,
    encoder_layer,
    gated_mlp,
    head,
    linear,
    norm,
    plain_mlp,
    products,
    sizes,
    tower_sizes,
)
from ingest.architecture.registry import class_suffix, families, family, register
from ingest.architecture.weight_table import HOW, TableRow, Weight, aside, relabelled, times

register(
    __name__,
    Decoder("hunyuan_vl_text", "The text part of HunyuanOCR: Hunyuan dense with other defaults.",
            4096, 11008, 32, 32, 290943, bias=ATTENTION_BIAS, qk_norm="heads", tied=True, ignore=("use_qk_norm",)),
    Decoder("glm_ocr_text", "The text part of GLM-OCR: GLM-4 with norms after each part and no biases.",
            1024, 4096, 16, 16, 59392, kv_heads=8, norms=4, ignore=("attention_bias",)),
    Decoder("paddleocr_vl_text", "The text part of PaddleOCR-VL: ERNIE 4.5 with other defaults.",
            1024, 3072, 18, 16, 103424, kv_heads=2, head_width=128, bias=("use_bias", False), mlp_bias=("use_bias", False),
            tied=True),
)  # fmt: skip


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


@family("fuyu")
def fuyu(config: ModelConfig) -> Iterator[TableRow]:
    """Fuyu: Persimmon, which reads patches of the image through one product; its keys lie beside `text_config`."""
    class_suffix(config, "ForCausalLM")
    patch, channels = config.whole(patch_size=30, num_channels=3)
    config.ignore("image_size")
    text = config.part("text_config")
    if text is not None:
        text.text("model_type", "persimmon", choices=("persimmon",))
        for key in text.data:
            if key in config.data and key != "model_type":
                text.only(key, config.data[key])
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
