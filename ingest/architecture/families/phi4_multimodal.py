"""Phi-4-multimodal: a text model with adapters for images and for sound, SigLIP, and a conformer over the spectrum."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families import vision_encoders
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import biased, encoder_attention, head_width, linear, norm
from ingest.architecture.registry import class_suffix, families, family
from ingest.architecture.weight_table import TableRow, Weight, relabelled, times

#: The encoder of images, of which the file of the release says the size of its pictures alone.
_SIGLIP = {
    "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16, "patch_size": 14,
    "image_size": 448,
}  # fmt: skip


def conformer(config: ModelConfig, channels: int, reach: int) -> tuple[int, list[TableRow]]:
    """The encoder of sound: halved three times, then networks around attention and a convolution. Returns its width.

    Args:
        config: its keys.
        channels: of the convolutions that halve.
        reach: places before and behind that attention tells apart.
    """
    width, inner = config.integer("attention_dim|hidden_size", 1024), config.integer("linear_units|intermediate_size", 1536)
    layers, heads = config.integer("num_blocks", 24, high=MAX_LAYERS), config.integer("attention_heads|num_attention_heads", 16)
    reduced, taps = config.integer("input_size", 80) // config.integer("time_reduction", 8), config.integer("kernel_size", 3)
    for key in ("ext_pw_out_channel", "depthwise_seperable_out_channel", "depthwise_separable_out_channel"):
        config.only(key, width)
    config.only("depthwise_multiplier", 1)
    config.ignore("conv_activation", "conv_glu_type", "left_chunk", "chunk_size", "feature_layer", "downsample_rate", "causal")
    network: list[TableRow] = [
        *norm("network.norm", width, True),
        *linear("network.in", 2 * inner, width, True),
        *linear("network.out", width, inner, True),
    ]
    layer: list[TableRow] = [
        *times(2, network),
        *encoder_attention(width, heads, head_width(config, width, heads, name="-"), True),
        *norm("norm", width, True, 3),
        Weight("conv.gate", (1, width, 1), "audio", 2, 2),
        *biased("conv.in", (2 * width, width, 1), "audio", 1),
        *biased("conv.taps", (width, 1, taps), "audio", 1),
        *times(2, biased("conv.out", (width, width, 1), "audio", 1)),
    ]
    rows: list[TableRow] = [
        *times(3, biased("halve.taps", (channels, 1, 3, 3), "audio", 1)),
        *times(2, biased("halve.mix", (channels, channels, 1, 1), "audio", 1)),
        *linear("features", width, channels * reduced, True),
        Weight("places", (2 * reach, heads), "audio"),
        *times(layers, layer),
    ]
    return width, rows


def _towers(image: ModelConfig, sound: tuple[int, list[TableRow]], hidden: int) -> Iterator[TableRow]:
    """Both encoders with their projections; that of sound has one for sound alone and one beside images."""
    image.data = {**_SIGLIP, **image.data}
    wide, tower = vision_encoders.siglip(image)
    tower += [Weight("marks", (wide,), "vision", 2, 2), *linear("projector.in", hidden, wide, True)]
    tower += linear("projector.out", hidden, hidden, True)
    yield from relabelled(tower, "vision", "vision", computed=False)
    wide, tower = sound
    tower += times(2, [*linear("projector.in", hidden, wide, True), *linear("projector.out", hidden, hidden, True)])
    yield from relabelled(tower, "audio", "audio", computed=False)


@family("phi4mm")
def phi4mm(config: ModelConfig) -> Iterator[TableRow]:
    """Phi-4-multimodal as released: Phi-4-mini with an adapter for images and one for sound on every product."""
    config.ignore("full_attn_mod", "interpolate_factor")
    config.only("img_processor")
    for key in ("mlp_bias", "lm_head_bias", "attention_bias"):
        config.only(key, False)
    class_suffix(config, "ForCausalLM")
    hidden, inner = config.size("hidden_size", 3072), config.size("intermediate_size", 8192)
    layers, heads = config.size("num_hidden_layers", 32, high=MAX_LAYERS), config.size("num_attention_heads", 24)
    yield from families()["phi3"](config)
    groups, width = config.integer("num_key_value_heads", heads), head_width(config, hidden, heads)
    qkv, wide = (heads + 2 * groups) * width, heads * width
    products = {"qkv": hidden + qkv, "o": wide + hidden, "gate_up": hidden + 2 * inner, "down": inner + hidden}
    for name in ("vision", "speech"):
        adapter = config.part(f"{name}_lora")
        if adapter is None:
            continue
        adapter.ignore("dp", "lora_alpha", "layer")
        rank = adapter.integer("r")
        for product, both in products.items():
            pair = [Weight(f"{name}_adapter.{product}", (rank, both), "other", passes=0)]
            yield from relabelled(times(layers, pair), "adapters", "other", computed=False)
    embedded = config.table_or_defaults("embd_layer")
    embedded.only("embedding_cls", "image_audio")
    image, heard = (embedded.table_or_defaults(f"{name}_embd_layer") for name in ("image", "audio"))
    for part, switch, on in ((image, "use_hd_transform", True), (image, "with_learnable_separator", True),
                             (heard, "use_qformer", False), (heard, "use_conv_downsample", False)):  # fmt: skip
        part.only(switch, on)
    for part in (image, heard):
        part.only("projection_cls", "mlp")
        part.ignore("embedding_cls", "enable_gradient_checkpointing")
    image.ignore("hd_transform_order", "image_token_compression_cls")
    heard.ignore("compression_rate", "downsample_rate")
    side = image.integer("crop_size", 448)
    yield from _towers(ModelConfig({"image_size": side}, config.path), _released_sound(config), hidden)


def _released_sound(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """The encoder of sound with the keys of the release."""
    processor = config.table_or_defaults("audio_processor")
    processor.only("name", "cascades")
    sound = processor.table_or_defaults("config")
    for key, value in (("batch_norm", False), ("bias_in_glu", True), ("cnn_layer_norm", True), ("ext_pw_kernel_size", 1),
                       ("input_layer", "nemo_conv")):  # fmt: skip
        sound.only(key, value)
    sound.ignore("encoder_embedding_config", "activation_checkpointing")
    relative = sound.table_or_defaults("relative_attention_bias_args")
    relative.only("type", "t5")
    halving = sound.table_or_defaults("nemo_conv_settings")
    return conformer(sound, halving.integer("conv_channels", 1024), relative.integer("t5_bias_max_distance", 1000))


@family("phi4_multimodal")
def phi4_multimodal(config: ModelConfig) -> Iterator[TableRow]:
    """Phi-4-multimodal in the library's own form: the adapters are files beside the model."""
    class_suffix(config, "ForCausalLM")
    image, sound = config.table_or_defaults("vision_config"), config.table_or_defaults("audio_config")
    hidden = config.size("hidden_size", 3072)
    yield from families()["phi3"](config)
    image.ignore("crop_size", "feature_layer")
    sound.only("bias_symmetric", False)
    sound.ignore("nemo_activation", "nemo_final_size", "audio_token_id")
    channels, reach = sound.integer("nemo_conv_channels", 1024), sound.integer("bias_max_distance", 1000)
    yield from _towers(image, conformer(sound, channels, reach), hidden)
