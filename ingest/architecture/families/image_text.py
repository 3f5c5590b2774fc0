"""Further models that read images or sound and text: an encoder, a projection, and a text model of another family."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families import vision_encoders
from ingest.architecture.families.audio_encoders import whisper_encoder
from ingest.architecture.families.decoders import Decoder, Experts, register
from ingest.architecture.families.moe import CHOSEN, ROUTED, WIDTH, first_dense
from ingest.architecture.families.vision_language import joined, text_width, two_products
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    attention,
    biased,
    embedding,
    encoder_attention,
    gated_mlp,
    head,
    head_width,
    linear,
    norm,
    plain_mlp,
    sizes,
)
from ingest.architecture.registry import class_suffix, families, family
from ingest.architecture.weight_table import TableRow, Weight, relabelled, times

# fmt: off
register(
    __name__,
    Decoder("glm4v_text", "The text part of GLM-4.1V: GLM-4 with norms after each part.",
            4096, 13696, 40, 32, 151552, kv_heads=2, bias=True, o_bias=False, norms=4),
    Decoder("glm4v_moe_text", "The text part of GLM-4.5V: GLM-4.5 without head norms.",
            4096, 10944, 46, 96, 151424, kv_heads=8, bias=("attention_bias", True), o_bias=False,
            ignore=("use_qk_norm", "num_nextn_predict_layers"),
            experts=Experts((ROUTED, 128), (CHOSEN, 8), (WIDTH, 1408), ("n_shared_experts", 1, 0), dense=first_dense(1))),
)
# fmt: on


def _internvl_tower(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """InternViT: a class token, learned places and a learned scale after each part."""
    hidden, inner = config.integer("hidden_size", 1024), config.integer("intermediate_size", 4096)
    layers, heads = config.integer("num_hidden_layers", 24, high=MAX_LAYERS), config.integer("num_attention_heads", 16)
    patch, image = config.repeated("patch_size", 14), config.repeated("image_size", 448)
    with_bias = config.text("norm_type", "layer_norm", choices=("layer_norm", "rms_norm")) == "layer_norm"
    bias, normed = config.flag("attention_bias|qkv_bias", False), config.flag("use_qk_norm|qk_normalization", False)
    width = head_width(config, hidden, heads, name="-")
    config.ignore("layer_scale_init_value", "initializer_factor", "projection_dropout")
    mixer = attention(hidden, heads, heads, width, bias=bias, o_bias=True, causal=False)
    layer: list[TableRow] = [*mixer, *plain_mlp(hidden, inner), *norm("norm", hidden, with_bias, 2)]
    layer += [*norm("qk_norm", hidden, number=2 * normed), *norm("scale", hidden, number=2)]
    rows: list[TableRow] = [
        Weight("class", (hidden,), "vision"),
        *([Weight("mask", (hidden,), "vision")] if config.flag("use_mask_token", False) else []),
        *biased("patches", (hidden, config.integer("num_channels", 3), patch, patch), "vision"),
        *times(layers, layer),
    ]
    if config.flag("use_absolute_position_embeddings", True):
        rows.append(Weight("places", ((image // patch) ** 2 + 1, hidden), "vision"))
    if not config.flag("use_mean_pooling", True):
        rows += norm("final_norm", hidden, True)
    return hidden, rows


def _shuffled(wrapper: ModelConfig, width: int) -> int:
    """The width of patches that are joined by a pixel shuffle of the given ratio."""
    return width * int(1 / wrapper.number("downsample_ratio", 0.5)) ** 2


@family("internvl", "internvl_chat")
def internvl(config: ModelConfig) -> Iterator[TableRow]:
    """InternVL 2 to 3.5: InternViT, a pixel shuffle, a norm and two matrices; `internvl_chat` is the form of the release."""
    released = config.data["model_type"] == "internvl_chat"

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        if released:
            # The code of the release has biases unless the file says otherwise, and no table of pooling.
            vision.data = {"attention_bias": vision.flag("qkv_bias", True), **vision.data}
            vision.ignore("architectures", "drop_path_rate", "use_flash_attn")
            wrapper.only("select_layer", -1)
        width, tower = _internvl_tower(vision)
        yield from tower
        joint, text = _shuffled(wrapper, width), text_width(wrapper)
        yield from norm("projector.norm", joint, True)
        yield from linear("projector.1", text, joint, True)
        yield from linear("projector.2", text, text, True)

    config.ignore("ps_version", "template", "dynamic_image_size", "use_thumbnail", "min_dynamic_patch", "max_dynamic_patch")
    config.ignore("use_backbone_lora", "use_llm_lora", "force_image_size", "image_fold", "system_message", "hidden_size")
    config.only("vision_feature_layer", -1)
    yield from joined(config, "qwen2", not released, rows, either=released, classes=("Model",) if released else ())


def _glm_tower(config: ModelConfig) -> list[TableRow]:
    """GLM-4.1V's encoder: gated networks, patches merged by a convolution, and a gated merger."""
    hidden, layers = config.integer("hidden_size", 1536), config.integer("depth", 24, high=MAX_LAYERS)
    heads, out = config.integer("num_heads", 12), config.integer("out_hidden_size", 4096)
    inner, merge = config.integer("intermediate_size", 13696), config.integer("spatial_merge_size", 2)
    patch, image = config.integer("patch_size", 14), config.repeated("image_size", 336)
    time, channels = config.integer("temporal_patch_size", 2), config.integer("in_channels", 3)
    mixer = attention(
        hidden, heads, heads, head_width(config, hidden, heads, name="-"),
        bias=config.flag("attention_bias", False), o_bias=False, causal=False,
    )  # fmt: skip
    return [
        *biased("patches", (hidden, channels, time, patch, patch), "vision"),
        Weight("places", ((image // patch) ** 2, hidden), "vision"),
        *times(layers, [*mixer, *gated_mlp(hidden, out), *norm("norm", hidden, number=2)]),
        *norm("outer_norm", hidden, number=2),
        *biased("downsample", (out, hidden, merge, merge), "vision"),
        *linear("merger.in", out, out),
        *norm("merger.norm", out, True),
        *gated_mlp(out, inner, prefix="merger"),
    ]


@family("glm4v", "glm4v_moe", "glm46v")
def glm4v(config: ModelConfig) -> Iterator[TableRow]:
    """GLM-4.1V, GLM-4.5V and GLM-4.6V."""
    text = "glm4v_moe_text" if config.data["model_type"] == "glm4v_moe" else "glm4v_text"
    yield from joined(config, text, False, lambda wrapper: _glm_tower(wrapper.table_or_defaults("vision_config")))


@family("smolvlm", "idefics3")
def smolvlm(config: ModelConfig) -> Iterator[TableRow]:
    """SmolVLM and Idefics 3: SigLIP without pooling, a pixel shuffle and one matrix."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        vision.data = {"hidden_size": 1152, "num_attention_heads": 16, "patch_size": 32, **vision.data}
        vision.data |= {"vision_use_head": False}
        vision.ignore("size", "max_image_size", "tie_word_embeddings")
        width, tower = vision_encoders.siglip(vision)
        yield from tower
        yield from linear("projector", text_width(wrapper), width * wrapper.integer("scale_factor", 2) ** 2)

    yield from joined(config, "llama", False, rows)


@family("lfm2_vl")
def lfm2_vl(config: ModelConfig) -> Iterator[TableRow]:
    """LFM2-VL: SigLIP 2 with patches of any grid, a pixel unshuffle, a norm by switch and two matrices."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        width, tower = _naflex(vision)
        yield from tower
        joint, wide = width * wrapper.integer("downsample_factor", 2) ** 2, wrapper.integer("projector_hidden_size", 2560)
        bias = wrapper.flag("projector_bias", True)
        if wrapper.flag("projector_use_layernorm", True):
            yield from norm("projector.norm", joint, True)
        yield from linear("projector.1", wide, joint, bias)
        yield from linear("projector.2", text_width(wrapper), wide, bias)

    config.ignore("do_image_splitting", "encoder_patch_size", "max_image_tokens", "min_image_tokens", "max_num_patches")
    config.ignore("max_tiles", "min_tiles", "tile_size", "max_pixels_tolerance", "use_image_special_tokens", "use_thumbnail")
    config.ignore("vision_feature_layer")
    yield from joined(config, "lfm2", True, rows)


def _naflex(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """SigLIP 2 with native ratios: patches come as rows of pixels, and their places are interpolated."""
    number, channels = config.integer("num_patches", 256), config.integer("num_channels", 3)
    patch = config.integer("patch_size", 16)
    side = int(number**0.5)
    config.data = {**config.data, "image_size": side * patch}
    hidden, rows = vision_encoders.siglip(config)
    unfolded = [*biased("patches", (hidden, channels * patch**2), "vision"), Weight("places", (number, hidden), "vision")]
    return hidden, [*unfolded, *(row for row in rows if not row.name.startswith(("patches", "places")))]


@family("llava_onevision")
def llava_onevision(config: ModelConfig) -> Iterator[TableRow]:
    """LLaVA-OneVision: SigLIP without its last layer and pooling, two matrices and a learned end of line."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        sizes = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 26, "num_attention_heads": 16}
        vision = wrapper.table_or_defaults("vision_config")
        if not vision.data:
            vision.data = {**sizes, "image_size": 384, "patch_size": 14, "vision_use_head": False}
        width, tower = vision_encoders.siglip(vision)
        yield from tower
        text = text_width(wrapper)
        yield from two_products(wrapper, width, text, wrapper.flag("multimodal_projector_bias", True))
        yield Weight("newline", (text,), "vision")

    config.ignore("vision_aspect_ratio")
    yield from joined(config, "qwen2", False, rows)


@family("exaone4_5")
def exaone4_5(config: ModelConfig) -> Iterator[TableRow]:
    """EXAONE 4.5: the encoder of Qwen2.5-VL with grouped heads."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        hidden, heads = vision.integer("hidden_size", 3584), vision.integer("num_heads", 16)
        groups, width = vision.integer("num_key_value_heads", 8), head_width(vision, hidden, heads, name="-")
        layers = vision.integer("depth", 32, high=MAX_LAYERS)
        mixer = attention(hidden, heads, groups, width, bias=True, causal=False)
        tower = vision_encoders.qwen2_5_vl(vision)
        named = {row.name for row in encoder_attention(hidden, heads, width, True)}
        yield from times(layers, mixer)
        yield from (row for row in tower if row.name not in named)

    config.ignore("num_nextn_predict_layers")
    yield from joined(config, "exaone4", False, rows, either=True)


@family("cohere2_vision")
def cohere2_vision(config: ModelConfig) -> Iterator[TableRow]:
    """Command A Vision: SigLIP, a pixel shuffle and a gated pair of matrices; the class always ties the head."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        if not vision.data:
            vision.data = {"hidden_size": 1152, "num_hidden_layers": 27, "num_attention_heads": 12, "image_size": 512}
        width, tower = vision_encoders.siglip(vision)
        yield from tower
        wide = wrapper.integer("alignment_intermediate_size", 36864)
        yield from linear("projector.1", wide, width * wrapper.integer("downsample_factor", 2) ** 2, True)
        yield from linear("projector.2", text_width(wrapper), wide // 2, True)

    yield from joined(config, "cohere2", True, rows)


#: Defaults of Voxtral's text part that are not LLaMA's.
_VOXTRAL_TEXT = {
    "vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 30, "num_key_value_heads": 8,
    "head_dim": 128,
}  # fmt: skip


@family("voxtral")
def voxtral(config: ModelConfig) -> Iterator[TableRow]:
    """Voxtral: the encoder of Whisper, four frames joined, and two matrices; the class never ties the head."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        audio = wrapper.table_or_defaults("audio_config")
        inner, tower = whisper_encoder(audio)
        yield from tower
        text = text_width(wrapper)
        yield from linear("projector.1", text, inner)
        yield from linear("projector.2", text, text)

    config.ignore("hidden_size")
    text, _ = config.get("text_config")
    config.data = {**config.data, text: {**_VOXTRAL_TEXT, **(config.data.get(text) or {})}}
    config.only("tie_word_embeddings", False)
    yield from joined(config, "llama", False, rows, never_tied=True)


@family("mllama_text_model")
def mllama_text(config: ModelConfig) -> Iterator[TableRow]:
    """The text part of Llama 3.2 Vision: some layers attend to the image alone, behind gates; eight more words."""
    s = sizes(config, 4096, 14336, 40, 32, 128256, kv_heads=8)
    listed = config.integers("cross_attention_layers", low=0, high=s.layers - 1)
    crossing = len({*(range(3, 39, 5) if listed is None else listed)})
    look = [row for row in s.attention() if isinstance(row, Weight)]
    gates = Weight("cross.gates", (1,), "other", 2, 2)
    rows: list[TableRow] = [
        *times(s.layers - crossing, s.attention()),
        *times(crossing, [*relabelled(look, "cross"), *norm("cross.qk_norm", s.width, number=2), gates]),
        *times(s.layers, [*s.gated(), *s.norms(2)]),
    ]
    yield embedding(s.vocabulary + 8, s.hidden)
    yield from [*rows, *norm("final_norm", s.hidden)]
    yield from head(s.vocabulary, s.hidden, False)


@family("mllama")
def mllama(config: ModelConfig) -> Iterator[TableRow]:
    """Llama 3.2 Vision: local and global layers over tiles of an image; the text looks at them in layers of its own."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        hidden, inner = vision.integer("hidden_size", 1280), vision.integer("intermediate_size", 5120)
        layers, deep = (
            vision.integer("num_hidden_layers", 32, high=MAX_LAYERS),
            vision.integer("num_global_layers", 8, high=MAX_LAYERS),
        )
        heads, patch = vision.integer("attention_heads", 16), vision.integer("patch_size", 14)
        places, tiles = (vision.integer("image_size", 448) // patch) ** 2 + 1, vision.integer("max_num_tiles", 4)
        _, ratios = vision.get("supported_aspect_ratios")
        shapes = (len(ratios) if isinstance(ratios, list) else 8) + 1
        vision.ignore("intermediate_layers_indices", "hidden_act", "max_aspect_ratio_id", "tie_word_embeddings")
        mixer = encoder_attention(hidden, heads, head_width(vision, hidden, heads, name="-"), False)
        layer: list[TableRow] = [*mixer, *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)]
        yield Weight("class", (hidden,), "vision")
        yield Weight("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision")
        yield Weight("places", (places, hidden), "vision")
        yield Weight("tile_places", (shapes, tiles * places * hidden), "vision")
        yield Weight("tiles", (shapes, tiles * hidden), "vision", 2, 2)
        yield Weight("gates", (1,), "vision", 3, 3)
        yield from times(layers + deep, layer)
        yield Weight("global.gates", (1,), "vision", 2 * deep, 2 * deep)
        yield from norm("outer_norm", hidden, True, 2)
        yield from linear("projector", text_width(wrapper), vision.integer("vision_output_dim", 7680), True)

    config.only("tie_word_embeddings", False)
    yield from joined(config, "mllama_text_model", False, rows, never_tied=True)


#: The text family of each version of MiniCPM-V whose code is described.
_MINICPMV_TEXTS = {2.6: "qwen2", 4.0: "llama"}


@family("minicpmv")
def minicpmv(config: ModelConfig) -> Iterator[TableRow]:
    """MiniCPM-V 2.6 and 4.0: SigLIP without pooling, and learned queries that read its patches; the version tells the text."""
    class_suffix(config, "")
    version = config.number("version")
    if version not in _MINICPMV_TEXTS:
        raise config.refuse("version", version, f"one of {', '.join(map(str, _MINICPMV_TEXTS))}; no other code is described")
    config.ignore(
        "image_size", "patch_size", "slice_config", "slice_mode", "use_image_id", "vision_batch_size", "max_window_layers"
    )
    config.ignore("batch_vision_input", "version")
    vision = config.table_or_defaults("vision_config")
    defaults = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
                "image_size": 980, "patch_size": 14}  # fmt: skip
    vision.data = {**defaults, **vision.data, "vision_use_head": False}
    vision.data["num_hidden_layers"] = vision.integer("num_hidden_layers") - config.flag("drop_vision_last_layer", True)
    vision.ignore("model_type")
    width, tower = vision_encoders.siglip(vision)
    hidden, queries = config.integer("hidden_size"), config.integer("query_num", 64)
    reader: list[TableRow] = [
        Weight("queries", (queries, hidden), "vision"),
        *(linear("reader.kv", hidden, width) if width != hidden else ()),
        *times(4, linear("reader.qkv and o", hidden, hidden, True)),
        *norm("reader.norm", hidden, True, 3),
        *linear("projector", hidden, hidden),
    ]
    yield from families()[_MINICPMV_TEXTS[version]](config)
    yield from relabelled([*tower, *reader], "vision", "vision", computed=False)


@family("minicpmv4_6")
def minicpmv4_6(config: ModelConfig) -> Iterator[TableRow]:
    """MiniCPM-V 4.6: SigLIP with a merger of windows on the way, Qwen3.5 for the text, and mergers at the end."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        vision.data = {**vision.data, "vision_use_head": False}
        hidden, tower = vision_encoders.siglip(vision)
        heads, inner = vision.integer("num_attention_heads", 12), vision.integer("intermediate_size", 3072)
        patches = vision.integers("window_kernel_size", 2, low=1) or [2, 2]
        times_wide = patches[0] * patches[1]
        merged = wrapper.integers("merge_kernel_size", 2, low=1) or [2, 2]
        wide, rounds = merged[0] * merged[1] * hidden, wrapper.integer("merger_times", 1)
        vision.ignore("insert_layer_id", "model_type")
        yield from tower
        yield from encoder_attention(hidden, heads, head_width(vision, hidden, heads, name="-"))
        yield from norm("merger.norm", hidden, True)
        yield from norm("merger.window_norm", times_wide * hidden, True)
        yield from linear("merger.1", times_wide * inner, times_wide * hidden, True)
        yield from linear("merger.2", hidden, times_wide * inner, True)
        yield from norm("projector.norm", wide, True, rounds)
        yield from times(rounds, linear("projector.1", wide, wide, True))
        yield from times(rounds - 1, linear("projector.again", hidden, wide, True))
        yield from linear("projector.2", text_width(wrapper), wide, True)

    config.only("drop_vision_last_layer", False)
    config.ignore("insert_layer_id", "downsample_mode", "image_size", "patch_size")
    yield from joined(config, "qwen3_5_text", False, rows)


@family("fuyu")
def fuyu(config: ModelConfig) -> Iterator[TableRow]:
    """Fuyu: Persimmon, which reads patches of the image through one product; its keys lie beside `text_config`."""
    class_suffix(config, "ForCausalLM")
    patch, channels = config.integer("patch_size", 30), config.integer("num_channels", 3)
    config.ignore("image_size")
    text = config.part("text_config")
    if text is not None:
        text.text("model_type", "persimmon", choices=("persimmon",))
        for key in text.data:
            if key in config.data and key != "model_type":
                text.only(key, config.data[key])
    yield from families()["persimmon"](config)
    hidden = config.integer("hidden_size", 4096)
    yield from relabelled(linear("patches", hidden, patch * patch * channels, True), "vision", "vision", computed=False)
