"""Encoders of images by themselves, where a token is a patch, and pairs of an image and a text encoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.families import vision_encoders
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    attention,
    biased,
    embedding,
    encoder_attention,
    gated_mlp,
    head_width,
    linear,
    norm,
    plain_mlp,
    positions,
)
from ingest.architecture.registry import class_suffix, family, labels
from ingest.architecture.weight_table import TableRow, Weight, relabelled, times, without


def _layers(config: ModelConfig, hidden: int, inner: int, layers: int, heads: int, qkv_bias: bool = True) -> Iterator[TableRow]:
    """Layers of multi-head attention and a plain network, with biases and LayerNorms."""
    width = head_width(config, hidden, heads, name="-")
    mixer = attention(hidden, heads, heads, width, bias=qkv_bias, o_bias=True, causal=False)
    return times(layers, [*mixer, *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)])


def _sizes(config: ModelConfig) -> tuple[int, int, int]:
    return (
        config.size("hidden_size", 768),
        config.size("num_hidden_layers", 12, high=MAX_LAYERS),
        config.integer("num_attention_heads", 12),
    )


def _patches(config: ModelConfig, hidden: int, patch: int, image: int) -> tuple[list[TableRow], int]:
    """Patches with a bias, and how many there are."""
    side, whole = config.repeated("patch_size", patch), config.repeated("image_size", image)
    number = (whole // side) ** 2
    return [*_passing(number, biased("patches", (hidden, config.integer("num_channels", 3), side, side), "vision", 1))], number


def _passing(positions: int, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """Rows that so many positions of a sequence pass: its patches, or the first token alone."""
    return (row._replace(positions=positions) for row in rows if isinstance(row, Weight))


@family("vit")
def vit(config: ModelConfig) -> Iterator[TableRow]:
    """Dosovitskiy et al. 2020: a class token, learned places, norms before each part."""
    hidden, layers, heads = _sizes(config)
    inner = config.integer("intermediate_size", 3072)
    patches, number = _patches(config, hidden, 16, 224)
    bias = config.flag("qkv_bias", True)
    config.only("pooler_output_size", hidden)
    config.ignore("encoder_stride", "pooler_act")
    yield Weight("class", (hidden,), "vision")
    yield from patches
    yield Weight("places", (number + 1, hidden), "vision")
    yield from _layers(config, hidden, inner, layers, heads, bias)
    yield from norm("final_norm", hidden, True)
    if class_suffix(config, "Model", "ForImageClassification") == "Model":
        yield from _passing(1, biased("pooler", (hidden, hidden), "head", 1))
    else:
        yield from _passing(1, biased("classifier", (labels(config), hidden), "head", 1))


@family("deit")
def deit(config: ModelConfig) -> Iterator[TableRow]:
    """Touvron et al. 2020: ViT with a second token that learns from a teacher."""
    hidden, layers, heads = _sizes(config)
    inner = config.integer("intermediate_size", 3072)
    patches, number = _patches(config, hidden, 16, 224)
    bias = config.flag("qkv_bias", True)
    config.only("pooler_output_size", hidden)
    config.ignore("encoder_stride", "pooler_act")
    yield Weight("class", (hidden,), "vision", 2, 2)
    yield from patches
    yield Weight("places", (number + 2, hidden), "vision")
    yield from _layers(config, hidden, inner, layers, heads, bias)
    yield from norm("final_norm", hidden, True)
    end = class_suffix(config, "Model", "ForImageClassification", "ForImageClassificationWithTeacher")
    if end == "Model":
        yield from _passing(1, biased("pooler", (hidden, hidden), "head", 1))
    else:
        rows = biased("classifier", (labels(config), hidden), "head", 1)
        yield from _passing(1, times(2 if end.endswith("Teacher") else 1, rows))


@family("audio-spectrogram-transformer")
def spectrogram(config: ModelConfig) -> Iterator[TableRow]:
    """Gong et al. 2021: DeiT over a spectrum, whose patches overlap."""
    hidden, layers, heads = _sizes(config)
    inner, side = config.integer("intermediate_size", 3072), config.integer("patch_size", 16)
    high, long = (
        (config.integer(key, whole) - side) // config.integer(stride, 10) + 1
        for key, whole, stride in (("num_mel_bins", 128, "frequency_stride"), ("max_length", 1024, "time_stride"))
    )
    yield Weight("class", (hidden,), "audio", 2, 2)
    yield from _passing(high * long, biased("patches", (hidden, 1, side, side), "audio", 1))
    yield Weight("places", (high * long + 2, hidden), "audio")
    yield from _layers(config, hidden, inner, layers, heads, config.flag("qkv_bias", True))
    yield from norm("final_norm", hidden, True)
    if class_suffix(config, "Model", "ForAudioClassification") != "Model":
        yield from norm("classifier.norm", hidden, True)
        yield from _passing(1, biased("classifier", (labels(config), hidden), "head", 1))


@family("dinov2", "dinov2_with_registers")
def dinov2(config: ModelConfig) -> Iterator[TableRow]:
    """Oquab et al. 2023: ViT with a mask token and a learned scale after each part; with registers, Darcet et al. 2023."""
    hidden, layers, heads = _sizes(config)
    registers = config.data["model_type"] == "dinov2_with_registers"
    config.ignore("layerscale_value", "reshape_hidden_states", "interpolate_antialias", "interpolate_offset")
    config.ignore("out_features", "out_indices", "stage_names", "apply_layernorm")
    patches, number = _patches(config, hidden, 16 if registers else 14, 224)
    if registers:
        config.only("use_mask_token", True)
        yield Weight("registers", (config.integer("num_register_tokens", 4, low=0), hidden), "vision")
    config.only("use_swiglu_ffn", False)
    bias, mask = config.flag("qkv_bias", True), config.flag("use_mask_token", True)
    yield Weight("class", (hidden,), "vision")
    yield from [Weight("mask", (hidden,), "vision")] if mask else []
    yield from patches
    yield Weight("places", (number + 1, hidden), "vision")
    yield from _layers(config, hidden, hidden * config.integer("mlp_ratio", 4), layers, heads, bias)
    yield Weight("scale", (hidden,), "norm", 2 * layers, 2 * layers)
    yield from norm("final_norm", hidden, True)
    if class_suffix(config, "Model", "ForImageClassification") != "Model":
        yield from _passing(1, biased("classifier", (labels(config), 2 * hidden), "head", 1))


@family("dinov3_vit")
def dinov3(config: ModelConfig) -> Iterator[TableRow]:
    """Siméoni et al. 2025: rotary positions, register tokens, a learned scale after each part, a gate by switch."""
    hidden, layers, heads = config.size("hidden_size", 384), config.size("num_hidden_layers", 12, high=MAX_LAYERS), 6
    heads, inner = config.integer("num_attention_heads", heads), config.integer("intermediate_size", 1536)
    patches, _number = _patches(config, hidden, 16, 224)
    config.ignore("layerscale_value", "reshape_hidden_states", "drop_path_rate", "rope_theta", "return_class_token")
    config.ignore("pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale", "apply_layernorm")
    config.ignore("out_features", "out_indices", "stage_names")
    class_suffix(config, "Model")
    defaults = {"query": True, "key": False, "value": True, "proj": True}
    biases = {
        f"attention.{name[0] if name != 'proj' else 'o'}.bias": config.flag(f"{name}_bias", on) for name, on in defaults.items()
    }
    mixer = attention(hidden, heads, heads, head_width(config, hidden, heads, name="-"), bias=True, o_bias=True, causal=False)
    network = gated_mlp if config.flag("use_gated_mlp", False) else plain_mlp
    mlp = network(hidden, inner, bias=config.flag("mlp_bias", True))
    yield Weight("class", (hidden,), "vision")
    yield Weight("mask", (hidden,), "vision")
    yield Weight("registers", (config.integer("num_register_tokens", 0, low=0), hidden), "vision")
    yield from patches
    mixed = without(mixer, *(name for name, on in biases.items() if not on))
    yield from times(layers, [*mixed, *mlp, *norm("norm", hidden, True, 2), *norm("scale", hidden, number=2)])
    yield from norm("final_norm", hidden, True)


def _alone(rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """The rows of a tower whose patches are the tokens: each passes the product that makes it, the first one the pooler."""
    table = list(rows)
    classes = sum(row.name == "class" for row in table)
    places = next(row.shape[0] for row in table if isinstance(row, Weight) and row.name == "places")
    for row in table:
        if isinstance(row, Weight) and row.name == "patches":
            yield row._replace(passes=1, positions=places - classes)
        elif isinstance(row, Weight) and row.name == "projection":
            yield row._replace(positions=1)
        else:
            yield row


@family("clip_vision_model")
def clip_vision(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2021: the image encoder of CLIP."""
    hidden, rows = vision_encoders.clip(config)
    if class_suffix(config, "Model", "ModelWithProjection") != "Model":
        rows += linear("projection", config.integer("projection_dim", 512), hidden)
    yield from _alone(rows)


@family("clip_text_model")
def clip_text(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2021: the text encoder of CLIP, which diffusion models read their text with."""
    wide, rows = _text(config, 512, 49408, 77, 8, causal=True)
    if class_suffix(config, "Model", "ModelWithProjection") != "Model":
        rows += _passing(1, linear("projection", config.integer("projection_dim", 512), wide))
    config.ignore("projection_dim")
    yield from rows


@family("siglip_vision_model")
def siglip_vision(config: ModelConfig) -> Iterator[TableRow]:
    """Zhai et al. 2023: the image encoder of SigLIP."""
    class_suffix(config, "Model")
    yield from _alone(vision_encoders.siglip(config)[1])


@family("pixtral")
def pixtral(config: ModelConfig) -> Iterator[TableRow]:
    """Agrawal et al. 2024: the image encoder of Pixtral, with rotary positions in two directions."""
    class_suffix(config, "VisionModel")
    patches = (config.repeated("image_size", 1024) // config.repeated("patch_size", 16)) ** 2
    for row in vision_encoders.pixtral(config)[1]:
        yield row._replace(passes=1, positions=patches) if isinstance(row, Weight) and row.name == "patches" else row


def _text(config: ModelConfig, hidden: int, words: int, places: int, heads: int, causal: bool) -> tuple[int, list[TableRow]]:
    """The text encoder of a pair: learned places, a norm at the end. Returns its width and rows."""
    wide, inner = config.integer("hidden_size", hidden), config.integer("intermediate_size", 4 * hidden)
    layers, count = config.integer("num_hidden_layers", 12, high=MAX_LAYERS), config.integer("num_attention_heads", heads)
    width = head_width(config, wide, count, name="-")
    mixer = attention(wide, count, count, width, bias=True, causal=causal) if causal else encoder_attention(wide, count, width)
    return wide, [
        embedding(config.integer("vocab_size", words), wide),
        positions(config.integer("max_position_embeddings", places), wide),
        *times(layers, [*mixer, *plain_mlp(wide, inner), *norm("norm", wide, True, 2)]),
        *norm("final_norm", wide, True),
    ]


@family("clip")
def clip(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2021: an image and a text encoder, each with a projection into a common space."""
    class_suffix(config, "Model")
    out = config.integer("projection_dim", 512)
    text, vision = config.table_or_defaults("text_config"), config.table_or_defaults("vision_config")
    for part in (text, vision):
        part.ignore("projection_dim", "model_type", "architectures", "tie_word_embeddings")
    config.ignore("text_config_dict", "vision_config_dict", "logit_scale_init_value")
    wide, rows = _text(text, 512, 49408, 77, 8, causal=True)
    yield from rows
    yield from linear("text_projection", out, wide)
    hidden, tower = vision_encoders.clip(vision)
    yield from relabelled([*tower, *linear("projection", out, hidden)], "vision", "vision", computed=False)
    yield Weight("logit_scale", (1,), "other")


@family("siglip2_vision_model")
def siglip2_vision(config: ModelConfig) -> Iterator[TableRow]:
    """Tschannen et al. 2025: the image encoder of SigLIP 2 with native ratios."""
    class_suffix(config, "Model")
    config.ignore("projection_dim")
    yield from _alone(vision_encoders.naflex(config)[1])


@family("siglip", "siglip2")
def siglip(config: ModelConfig) -> Iterator[TableRow]:
    """Zhai et al. 2023: CLIP with a sigmoid loss; a projection behind the text alone. SigLIP 2: Tschannen et al. 2025."""
    class_suffix(config, "Model")
    tower = vision_encoders.naflex if config.data["model_type"] == "siglip2" else vision_encoders.siglip
    text, vision = config.table_or_defaults("text_config"), config.table_or_defaults("vision_config")
    for part in (text, vision):
        part.ignore("model_type", "architectures")
    wide, rows = _text(text, 768, 32000, 64, 12, causal=False)
    yield from rows
    yield from linear("text_projection", text.integer("projection_size", wide), wide, True)
    yield from relabelled(tower(vision)[1], "vision", "vision", computed=False)
    yield Weight("logits", (1,), "other", 2, 2)
