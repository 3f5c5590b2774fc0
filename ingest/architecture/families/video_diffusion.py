"""Transformers of diffusion models of 2025 for images and video, in the form of the diffusers library.

Only parameters, as in `ingest.architecture.families.diffusion`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ingest.architecture.families.diffusion import WAVES, embedded, square, stream_sizes, uncomputed
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import biased, gated_mlp, linear, norm, plain_mlp
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, Weight, times


def _patch(config: ModelConfig) -> tuple[int, ...]:
    """Frames, rows and columns of a patch."""
    return tuple(config.integers("patch_size", 3, low=1) or (1, 2, 2))


@family("WanTransformer3DModel")
def wan(config: ModelConfig) -> Iterator[TableRow]:
    """Wan 2.1 and 2.2: layers that attend to the video, then to the text, and to an image where there is one."""
    return uncomputed(_wan(config))


def _wan(config: ModelConfig) -> Iterator[TableRow]:
    layers, wide = stream_sizes(config, 40, 40, 128)
    patch, channels = _patch(config), config.integer("in_channels", 16)
    inner, text = config.integer("ffn_dim", 13824), config.integer("text_dim", 4096)
    config.only("qk_norm", "rms_norm_across_heads")
    config.ignore("rope_max_seq_len")
    image, added = config.optional_integer("image_dim"), config.optional_integer("added_kv_proj_dim")
    places = config.optional_integer("pos_embed_seq_len")
    yield from biased("patches", (wide, channels, *patch), "vision")
    yield from [*embedded("time", config.integer("freq_dim", WAVES), wide), *linear("time.modulation", 6 * wide, wide, True)]
    yield from embedded("text", text, wide)
    if image is not None:
        yield Weight("image.places", (places or 0, image), "position")
        yield from [*norm("image.norm", image, True), *linear("image.1", image, image, True)]
        yield from [*linear("image.2", wide, image, True), *norm("image.norm", wide, True)]
    layer: list[TableRow] = [Weight("modulation", (6, wide), "other"), *norm("qk_norm", wide, number=4)]
    layer += [*square("self", wide, "q", "k", "v", "o"), *square("cross", wide, "q", "k", "v", "o")]
    layer += norm("norm", wide, True) if config.flag("cross_attn_norm", True) else ()
    if added is not None:
        layer += [*linear("cross.image", 2 * wide, added, True, "attention"), *norm("qk_norm", wide)]
    yield from times(layers, [*layer, *plain_mlp(wide, inner)])
    yield Weight("out.modulation", (2, wide), "other")
    yield from linear("out", config.integer("out_channels", 16) * prod(patch), wide, True)


@family("QwenImageTransformer2DModel")
def qwen_image(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen-Image: layers with a stream of the image and one of the text, joined in each attention."""
    return uncomputed(_qwen_image(config))


def _qwen_image(config: ModelConfig) -> Iterator[TableRow]:
    layers, wide = stream_sizes(config, 60, 24, 128)
    heads, text = config.integer("attention_head_dim", 128), config.integer("joint_attention_dim", 3584)
    config.ignore("axes_dims_rope", "guidance_embeds", "zero_cond_t", "use_layer3d_rope")
    config.only("use_additional_t_cond", False)
    yield from embedded("time", WAVES, wide)
    yield from linear("patches", wide, config.integer("in_channels", 64), True)
    yield from [*norm("text.norm", text), *linear("text", wide, text, True)]
    for stream in ("image", "text"):
        layer: list[TableRow] = [*square(stream, wide, "q", "k", "v", "o"), *plain_mlp(wide, 4 * wide, prefix=f"{stream}.mlp")]
        layer += [*linear(f"{stream}.modulation", 6 * wide, wide, True), *norm(f"{stream}.qk_norm", heads, number=2)]
        yield from times(layers, layer)
    yield from linear("out.modulation", 2 * wide, wide, True)
    yield from linear("out", config.integer("patch_size", 2) ** 2 * config.integer("out_channels", 16), wide, True)


@family("MiniMaxH3Transformer3DModel")
def minimax_h3(config: ModelConfig) -> Iterator[TableRow]:
    """MiniMax-H3: video, audio and text in one stream; each of the three has a modulation of its own."""
    return uncomputed(_minimax_h3(config))


def _minimax_h3(config: ModelConfig) -> Iterator[TableRow]:
    layers, heads = stream_sizes(config, 50, 56, 128)
    wide, head = config.integer("hidden_size", 5376), config.integer("attention_head_dim", 128)
    inner, time = config.integer("ffn_dim", 14336), config.integer("time_embed_dim", 2688)
    video, audio = config.integer("in_channels", 24) * prod(_patch(config)), config.integer("audio_in_channels", 32)
    middle = config.integer("time_embed_hidden_dim", 5376)
    config.ignore("rope_freq_dim", "rope_theta")
    layer: list[TableRow] = [*linear("attention.qkv", 3 * heads, wide, kind="attention")]
    layer += [*linear("attention.o", wide, heads, kind="attention"), *norm("qk_norm", head, number=2)]
    layer += [*gated_mlp(wide, inner), *norm("norm", wide, number=2)]
    yield from linear("text", wide, config.integer("text_dim", 5120), True)
    yield from [*linear("time.1", middle, config.integer("freq_dim", WAVES), True), *linear("time.2", time, middle, True)]
    yield from [*times(config.integer("num_refiner_layers", 2, low=0, high=MAX_LAYERS), layer), *norm("refiner.norm", wide)]
    yield from times(layers, [*layer, *linear("modulation", 18 * wide, time, True)])
    yield from [*norm("final_norm", wide), *linear("out.modulation", 2 * wide, time, True)]
    for name, channels in (("video", video), ("audio", audio)):
        yield from [*linear(f"{name}.in", wide, channels, True), *linear(f"{name}.out", channels, wide, True)]
