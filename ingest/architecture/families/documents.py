"""Small models that read documents: HunyuanOCR, GLM-OCR and PaddleOCR-VL."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families import vision_encoders
from ingest.architecture.families.decoders import ATTENTION_BIAS, Decoder, register
from ingest.architecture.families.vision_language import joined, text_width
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import biased, encoder_attention, gated_mlp, head_width, linear, norm, plain_mlp
from ingest.architecture.registry import class_suffix, families, family
from ingest.architecture.weight_table import TableRow, Weight, relabelled, times

# fmt: off
register(
    __name__,
    Decoder("hunyuan_vl_text", "The text part of HunyuanOCR: Hunyuan dense with other defaults.",
            4096, 11008, 32, 32, 290943, bias=ATTENTION_BIAS, qk_norm="heads", tied=True, ignore=("use_qk_norm",)),
    Decoder("glm_ocr_text", "The text part of GLM-OCR: GLM-4 with norms after each part and no biases.",
            1024, 4096, 16, 16, 59392, kv_heads=8, norms=4, ignore=("attention_bias",)),
    Decoder("paddleocr_vl_text", "The text part of PaddleOCR-VL: ERNIE 4.5 with other defaults.",
            1024, 3072, 18, 16, 103424, kv_heads=2, head_width=128, bias=("use_bias", False), mlp_bias=("use_bias", False),
            tied=True),
)
# fmt: on


@family("hunyuan_vl")
def hunyuan_vl(config: ModelConfig) -> Iterator[TableRow]:
    """HunyuanOCR: places that are learned and interpolated; two convolutions and a matrix merge the patches."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision, text = wrapper.table_or_defaults("vision_config"), text_width(wrapper)
        hidden, inner = vision.integer("hidden_size", 1152), vision.integer("intermediate_size", 4304)
        heads, layers = vision.integer("num_attention_heads", 16), vision.integer("num_hidden_layers", 27, high=MAX_LAYERS)
        patch, merge = vision.integer("patch_size", 16), vision.integer("spatial_merge_size", 2)
        image, out = vision.integer("max_image_size", 2048), vision.integer("text_hidden_size", 3072)
        if out != text:
            raise vision.refuse("text_hidden_size", out, f"the width of the text, {text:,}")
        vision.only("num_key_value_heads", heads)
        vision.ignore("out_hidden_size", "img_max_token_num", "min_image_size", "max_vit_seq_len", "temporal_patch_size")
        layer = [*encoder_attention(hidden, heads, head_width(vision, hidden, heads, name="-")), *plain_mlp(hidden, inner)]
        yield from biased("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision")
        yield Weight("places", ((image // patch) ** 2 + 1, hidden), "vision")
        yield from times(layers, [*layer, *norm("norm", hidden, True, 2)])
        yield from norm("merger.norm", hidden)
        yield from biased("merger.1", (2 * hidden, hidden, merge, merge), "vision")
        yield from linear("merger.2", 4 * hidden, 2 * hidden, True)
        yield from linear("merger.3", text, 4 * hidden, True)
        yield Weight("newline", (4 * hidden,), "vision")
        yield Weight("marks", (text,), "vision", 3, 3)
        yield from norm("final_norm", text)

    config.ignore("im_start_id", "im_end_id", "im_newline_id")
    yield from joined(config, "hunyuan_vl_text", True, rows)


@family("glm_ocr")
def glm_ocr(config: ModelConfig) -> Iterator[TableRow]:
    """GLM-OCR: the encoder of GLM-4.1V with biases and norms on the heads, without learned places."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        hidden, inner = vision.integer("hidden_size", 1024), vision.integer("intermediate_size", 4096)
        layers, heads = vision.integer("depth", 24, high=MAX_LAYERS), vision.integer("num_heads", 16)
        out, merge = vision.integer("out_hidden_size", 1536), vision.integer("spatial_merge_size", 2)
        patch, time = vision.integer("patch_size", 14), vision.integer("temporal_patch_size", 2)
        bias, width = vision.flag("attention_bias", True), head_width(vision, hidden, heads, name="-")
        wide = out * vision.integer("in_channels", 3)
        vision.ignore("image_size")
        layer = [
            *encoder_attention(hidden, heads, width, bias),
            *gated_mlp(hidden, inner, bias),
            *norm("norm", hidden, number=2),
        ]
        yield from biased("patches", (hidden, wide // out, time, patch, patch), "vision")
        yield from times(layers, [*layer, *norm("qk_norm", width, number=2)])
        yield from norm("final_norm", hidden)
        yield from biased("downsample", (out, hidden, merge, merge), "vision")
        yield from linear("merger.in", out, out)
        yield from norm("merger.norm", out, True)
        yield from gated_mlp(out, wide, prefix="merger")

    yield from joined(config, "glm_ocr_text", False, rows)


@family("paddleocr_vl")
def paddleocr_vl(config: ModelConfig) -> Iterator[TableRow]:
    """PaddleOCR-VL: SigLIP without its pool, and two products over merged patches; the release keeps text keys beside."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        defaults = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
        vision.data = {**defaults, "patch_size": 14, "image_size": 384, **vision.data, "vision_use_head": False}
        merge = vision.integer("spatial_merge_size", 2)
        vision.ignore("temporal_patch_size", "tokens_per_second")
        width, tower = vision_encoders.siglip(vision)
        merged = width * merge**2
        yield from tower
        yield from norm("projector.norm", width, True)
        yield from linear("projector.in", merged, merged, True)
        yield from linear("projector.out", wide(wrapper), merged, True)

    def wide(wrapper: ModelConfig) -> int:
        return text_width(wrapper) if "text_config" in wrapper.data else wrapper.integer("hidden_size", 1024)

    if "text_config" in config.data:
        yield from joined(config, "paddleocr_vl_text", True, rows)
        return
    class_suffix(config, "ForConditionalGeneration")
    config.ignore("compression_ratio", "max_sequence_length", "weight_share_add_bias", "ignored_index", "use_3d_rope")
    yield from families()["paddleocr_vl_text"](config)
    yield from relabelled(rows(config), "vision", "vision", computed=False)
