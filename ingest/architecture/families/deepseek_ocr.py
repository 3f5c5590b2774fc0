"""DeepSeek-OCR: an encoder of pages whose sizes the code fixes, and a small decoder with fine experts."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.moe import dense_first
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import DecoderSizes, attention, biased, encoder_attention, gated_mlp, linear, norm, plain_mlp
from ingest.architecture.registry import family
from ingest.architecture.weight_table import HOW, TableRow, Weight, relabelled, times

#: What a file says of the encoder; the code builds these sizes whatever it says.
_SAM = {"downsample_channels": [512, 1024], "global_attn_indexes": [2, 5, 8, 11], "heads": 12, "layers": 12, "width": 768}
_CLIP = {"heads": 16, "image_size": 224, "layers": 24, "patch_size": 14, "width": 1024}
_ENCODERS = {
    "DeepseekOCRForCausalLM": {"clip-l-14-224": _CLIP, "sam_vit_b": _SAM},
    "DeepseekOCR2ForCausalLM": {"qwen2-0-5b": {"dim": 896}, "sam_vit_b": _SAM},
}


def _sam(out: int) -> Iterator[TableRow]:
    """The base encoder of Segment Anything on pages of 1,024 by 1,024 pixels, and two convolutions that halve the sides."""
    wide, narrow, side, window = 768, 256, 64, 14
    layer: list[TableRow] = [
        *encoder_attention(wide, 12, wide // 12), *plain_mlp(wide, 4 * wide), *norm("norm", wide, True, 2),
    ]  # fmt: skip
    yield from biased("patches", (wide, 3, 16, 16), "vision")
    yield Weight("places", (side * side, wide), "vision")
    yield from times(12, layer)
    for number, reach in ((4, side), (8, window)):
        yield Weight("relative_places", (2 * reach - 1, wide // 12), "vision", 2 * number, 2 * number)
    yield Weight("neck.1", (narrow, wide), "vision")
    yield Weight("neck.2", (narrow, narrow, 3, 3), "vision")
    yield from norm("neck.norm", narrow, True, 2)
    yield Weight("halve.1", (512, narrow, 3, 3), "vision")
    yield Weight("halve.2", (out, 512, 3, 3), "vision")


def _clip() -> Iterator[TableRow]:
    """CLIP's large encoder, without a norm at its end."""
    wide = 1024
    yield Weight("class", (wide,), "vision")
    yield Weight("clip_patches", (wide, 3, 14, 14), "vision")
    yield Weight("clip_places", (257, wide), "vision")
    yield from norm("first_norm", wide, True)
    layer: list[TableRow] = [
        *encoder_attention(wide, 16, wide // 16), *plain_mlp(wide, 4 * wide), *norm("norm", wide, True, 2),
    ]  # fmt: skip
    yield from times(24, layer)


def _qwen() -> Iterator[TableRow]:
    """The layers of Qwen2-0.5B over the patches and learned queries, without words."""
    wide = 896
    layer: list[TableRow] = [
        *attention(wide, 14, 2, 64, bias=True, o_bias=False, causal=False),
        *gated_mlp(wide, 4864),
        *norm("norm", wide, number=2),
    ]
    yield from times(24, layer)
    yield from norm("final_norm", wide)
    yield Weight("queries", (144 + 256, wide), "vision")


@family("DeepseekOCR", "deepseek_vl_v2")
def deepseek_ocr(config: ModelConfig) -> Iterator[TableRow]:
    """Wei et al. 2025: SAM and CLIP for pages (OCR 2: SAM and Qwen2), DeepSeek-V2's experts behind plain attention."""
    classes = config.texts("architectures") or ["none"]
    if len(classes) != 1 or classes[0] not in _ENCODERS:
        raise config.refuse("architectures", ", ".join(classes), f"one of {', '.join(_ENCODERS)}; for another class {HOW}")
    second = classes[0] == "DeepseekOCR2ForCausalLM"
    for key, value in (("use_mla", False), ("lm_head", True), ("rm_head", False), ("tie_word_embeddings", False)):
        config.only(key, value)
    for key in ("kv_lora_rank", "q_lora_rank"):
        config.only(key)
    for key in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"):
        config.only(key, 0)
    config.only("moe_layer_freq", 1)
    config.only("attention_bias", False)
    config.only("tile_tag", "2D")
    config.ignore("candidate_resolutions", "global_view_pos", "max_position_embeddings")
    hidden, heads = config.size("hidden_size", 1280), config.size("num_attention_heads", 10)
    config.only("num_key_value_heads", heads)
    _check_parts(config, classes[0], hidden)
    deep = config.size("num_hidden_layers", 12, high=MAX_LAYERS)
    dense = dense_first(config, deep, 1)
    s = DecoderSizes(config, hidden, 0, deep, heads, heads, hidden // heads, config.size("vocab_size", 129280))
    width = config.integer("moe_intermediate_size", 896)
    shared = width * config.integer("n_shared_experts", 2, low=0)
    number, chosen = config.integer("n_routed_experts", 64), config.integer("num_experts_per_tok", 6)
    yield from s.frame([
        *times(deep, [*s.attention(), *s.norms(2)]),
        *times(dense, s.gated(config.size("intermediate_size", 6848))),
        *times(deep - dense, s.experts(number, chosen, width, shared=shared)),
    ])  # fmt: skip
    tower = [*_sam(896 if second else 1024), *(_qwen() if second else _clip())]
    yield from relabelled(
        [*tower, *linear("projector", hidden, 896 if second else 2048, True)], "vision", "vision", computed=False
    )
    yield Weight("vision.ends of lines and views", (hidden,), "vision", 1 if second else 2, 1 if second else 2)


def _check_parts(config: ModelConfig, name: str, hidden: int) -> None:
    """Refuse an encoder of other sizes than the code builds, and a text part that contradicts the file's own keys."""
    vision, projector, text = (config.part(f"{part}_config") for part in ("vision", "projector", "language"))
    if vision is not None:
        vision.only("width", _ENCODERS[name])
        vision.only("image_size", 1024)
        vision.ignore("mlp_ratio", "model_name", "model_type")
    if projector is not None:
        projector.only("projector_type", "linear")
        projector.only("input_dim", 896 if name == "DeepseekOCR2ForCausalLM" else 2048)
        projector.only("n_embed", hidden)
        projector.ignore("model_type")
    for key, value in text.data.items() if text is not None else ():
        if key in config.data and key not in ("architectures", "auto_map", "torch_dtype"):
            text.only(key, config.data[key]) if text is not None else None
        elif text is not None and value is not None:
            text.get(key)
