"""Diffusion models and their autoencoders, in the form of the diffusers library; `_class_name` names them.

Only parameters: FLOPs depend on the size of an image, the text that goes with it and the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from math import prod

from ingest.architecture.hf_config import MAX_BLOCKS, MAX_LAYERS, MAX_NUMBER, ModelConfig
from ingest.architecture.layers import biased, gated_mlp, linear, norm, plain_mlp, products
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, Weight, times

WAVES = 256  # Widths of the waves that encode a time step


def _stream_sizes(config: ModelConfig, layers: int, heads: int, width: int) -> tuple[int, int]:
    """Layers and the width of the stream."""
    depth = config.integer("num_layers", layers, high=MAX_LAYERS)
    return depth, config.integer("num_attention_heads", heads) * config.integer("attention_head_dim", width)


def _square(name: str, wide: int, *parts: str, bias: bool = True) -> Iterator[TableRow]:
    """Products that keep the width, such as Q, K, V and O."""
    for part in parts:
        yield from linear(f"{name}.{part}", wide, wide, bias, "attention")


def _out(wide: int, channels: int) -> Iterator[TableRow]:
    """The way out of the stream: a norm that the time step scales and shifts, and a product."""
    yield from linear("out.modulation", 2 * wide, wide, True)
    yield from linear("out", channels, wide, True)


def diffuser(name: str) -> Callable[[Callable[[ModelConfig], Iterator[TableRow]]], object]:
    """Register a function as the description of this class, without FLOPs."""

    def register(describing: Callable[[ModelConfig], Iterator[TableRow]]) -> object:
        @wraps(describing)
        def uncomputed(config: ModelConfig) -> Iterator[TableRow]:
            return (row._replace(passes=0) for row in describing(config) if isinstance(row, Weight))

        return family(name)(uncomputed)

    return register


@diffuser("DiTTransformer2DModel")
def dit(config: ModelConfig) -> Iterator[TableRow]:
    """Peebles and Xie 2022, DiT: layers whose norms follow the time step and the class of the image."""
    layers, wide = _stream_sizes(config, 28, 16, 72)
    patch, channels = config.whole(patch_size=2, in_channels=4)
    classes, out = config.integer("num_embeds_ada_norm", 1000), config.optional_integer("out_channels") or channels
    config.fixed(norm_type="ada_norm_zero", norm_elementwise_affine=False, activation_fn="gelu-approximate")
    config.ignore("sample_size", "norm_num_groups", "upcast_attention")
    yield from biased("patches", (wide, channels, patch, patch), "vision")
    bias = config.flag("attention_bias", True)
    layer: list[TableRow] = [
        *products("time", WAVES, wide, wide),
        Weight("classes", (classes + 1, wide), "other"),
        *linear("modulation", 6 * wide, wide, True),
        *_square("attention", wide, "q", "k", "v", bias=bias),
        *_square("attention", wide, "o"),
        *plain_mlp(wide, 4 * wide),
    ]
    yield from [*times(layers, layer), *_out(wide, patch**2 * out)]


@diffuser("SD3Transformer2DModel")
def sd3(config: ModelConfig) -> Iterator[TableRow]:
    """Esser et al. 2024, Stable Diffusion 3: a stream of the image and one of the text, joined in each attention."""
    layers, wide = _stream_sizes(config, 18, 18, 64)
    patch, channels = config.whole(patch_size=2, in_channels=16)
    out = config.optional_integer("out_channels") or channels
    text = config.integer("caption_projection_dim", 1152)
    if text != wide:
        raise config.refuse("caption_projection_dim", text, f"the width of the image's stream, {wide:,}")
    config.ignore("sample_size", "pos_embed_max_size")
    normed = config.text("qk_norm", "none", choices=("none", "rms_norm")) == "rms_norm"
    heads = config.integer("attention_head_dim", 64)
    dual = {*(config.integers("dual_attention_layers", low=0, high=layers - 1) or ())}
    yield from biased("patches", (wide, channels, patch, patch), "vision")
    yield from products("time", WAVES, wide, wide)
    yield from products("pooled_text", config.integer("pooled_projection_dim", 2048), wide, wide)
    yield from linear("text", wide, config.integer("joint_attention_dim", 4096), True)
    image: list[TableRow] = [*_square("attention", wide, "q", "k", "v", "o"), *plain_mlp(wide, 4 * wide)]
    image += [*linear("modulation", 6 * wide, wide, True), *norm("qk_norm", heads, number=2 * normed)]
    second = [*linear("modulation.second", 3 * wide, wide, True), *_square("second", wide, "q", "k", "v", "o")]
    yield from times(layers, image)
    yield from times(len(dual), [*second, *norm("qk_norm", heads, number=2 * normed)])
    yield from times(layers, [*_square("text.attention", wide, "q", "k", "v"), *norm("qk_norm", heads, number=2 * normed)])
    # The last layer reads the text and does not write it.
    written = [*_square("text.attention", wide, "o"), *plain_mlp(wide, 4 * wide, prefix="text.mlp")]
    yield from times(layers - 1, [*written, *linear("text.modulation", 6 * wide, wide, True)])
    yield from [*linear("text.out.modulation", 2 * wide, wide, True), *_out(wide, patch**2 * out)]


def _two_streams(layers: int, wide: int, heads: int) -> Iterator[TableRow]:
    """Layers with a stream of the image and one of the text, each with its own products, joined in attention."""
    for stream in ("image", "text"):
        layer: list[TableRow] = [*_square(stream, wide, "q", "k", "v", "o"), *plain_mlp(wide, 4 * wide, prefix=f"{stream}.mlp")]
        layer += [*linear(f"{stream}.modulation", 6 * wide, wide, True), *norm(f"{stream}.qk_norm", heads, number=2)]
        yield from times(layers, layer)


@diffuser("FluxTransformer2DModel")
def flux(config: ModelConfig) -> Iterator[TableRow]:
    """FLUX.1: layers with two streams, then layers with one in which attention and network run side by side."""
    layers, wide = _stream_sizes(config, 19, 24, 128)
    single, heads, channels, patch = config.whole(num_single_layers=38, attention_head_dim=128, in_channels=64, patch_size=1)
    out = config.optional_integer("out_channels") or channels
    config.ignore("axes_dims_rope")
    yield from linear("patches", wide, channels, True)
    yield from products("time", WAVES, wide, wide)
    yield from products("pooled_text", config.integer("pooled_projection_dim", 768), wide, wide)
    if config.flag("guidance_embeds", False):
        yield from products("guidance", WAVES, wide, wide)
    yield from linear("text", wide, config.integer("joint_attention_dim", 4096), True)
    yield from _two_streams(layers, wide, heads)
    joint: list[TableRow] = [*_square("single", wide, "q", "k", "v"), *norm("single.qk_norm", heads, number=2)]
    joint += [*linear("single.up", 4 * wide, wide, True), *linear("single.down", wide, 5 * wide, True)]
    yield from times(single, [*joint, *linear("single.modulation", 3 * wide, wide, True)])
    yield from _out(wide, patch**2 * out)


def _convolution(name: str, out: int, into: int, width: int = 3) -> Iterator[TableRow]:
    yield from biased(name, (out, into, width, width), "conv")


def _residual(into: int, out: int, time: int) -> Iterator[TableRow]:
    """Two convolutions, between which the time step is added where it has a width; a third one where the channels change."""
    yield from norm("norm", into, True)
    yield from _convolution("conv1", out, into)
    yield from linear("time", out, time, True) if time else ()
    yield from norm("norm", out, True)
    yield from _convolution("conv2", out, out)
    yield from _convolution("shortcut", out, into, 1) if into != out else ()


def _attending(wide: int, text: int, depth: int) -> Iterator[TableRow]:
    """Layers that attend to the image and to the text, between two products."""
    layer: list[TableRow] = [*_square("self", wide, "q", "k", "v", bias=False), *_square("self", wide, "o")]
    layer += [*_square("cross", wide, "q", bias=False), *_square("cross", wide, "o")]
    layer += [*linear("cross.kv", 2 * wide, text, kind="attention"), *norm("norm", wide, True, 3)]
    layer += [*linear("mlp.in", 8 * wide, wide, True), *linear("mlp.out", wide, 4 * wide, True)]
    yield from [*norm("attention.norm", wide, True), *_square("attention", wide, "in", "out"), *times(depth, layer)]


def _per_level(config: ModelConfig, key: str, default: int, levels: int, high: int = MAX_NUMBER) -> list[int]:
    """A number for each level, or one for all of them."""
    _, found = config.get(key)
    if isinstance(found, list):
        return config.listed(key, [], levels, high=high)
    return [config.integer(key, default, high=high)] * levels


#: Keys that must not change the structure, and the values at which they do not.
_PLAIN = {
    "dual_cross_attention": False, "only_cross_attention": False, "class_embeddings_concat": False,
    "center_input_sample": False, "resnet_time_scale_shift": "default", "time_embedding_type": "positional",
    "attention_type": "default", "conv_in_kernel": 3, "conv_out_kernel": 3, "mid_block_type": "UNetMidBlock2DCrossAttn",
    "resnet_skip_time_act": False, "mid_block_only_cross_attention": False,
}  # fmt: skip
#: Keys that must be absent.
_ABSENT = (
    "encoder_hid_dim", "encoder_hid_dim_type", "class_embed_type", "num_class_embeds",
    "time_embedding_dim", "reverse_transformer_layers_per_block", "cross_attention_norm", "num_attention_heads",
)  # fmt: skip


@diffuser("UNet2DConditionModel")
def unet(config: ModelConfig) -> Iterator[TableRow]:
    """Rombach et al. 2022: the U-Net of Stable Diffusion 1, 2 and XL."""
    config.fixed(**_PLAIN)
    for key in _ABSENT:
        config.only(key)
    config.ignore("sample_size", "flip_sin_to_cos", "freq_shift", "downsample_padding", "mid_block_scale_factor")
    config.ignore("norm_num_groups", "attention_head_dim", "use_linear_projection", "upcast_attention", "timestep_post_act")
    config.ignore("resnet_out_scale_factor", "time_embedding_act_fn", "addition_time_embed_dim")
    config.ignore("addition_embed_type_num_heads")
    channels = config.listed("block_out_channels", [320, 640, 1280, 1280])
    levels, first = len(channels), channels[0]
    down = config.texts("down_block_types", levels, ("CrossAttnDownBlock2D", "DownBlock2D"))
    up = config.texts("up_block_types", levels, ("CrossAttnUpBlock2D", "UpBlock2D"))
    reads = [name.startswith("Cross") for name in down] if down else [True] * (levels - 1) + [False]
    writes = [name.startswith("Cross") for name in up] if up else [False] + [True] * (levels - 1)
    number = _per_level(config, "layers_per_block", 2, levels, MAX_BLOCKS)
    depths = _per_level(config, "transformer_layers_per_block", 1, levels, MAX_LAYERS)
    texts = _per_level(config, "cross_attention_dim", 1280, levels)
    time = 4 * first
    yield from _convolution("first", first, config.integer("in_channels", 4))
    yield from products("time", first, time, time)
    guided = config.optional_integer("time_cond_proj_dim")
    if guided is not None:
        yield from linear("time.guidance", first, guided)
    if config.text("addition_embed_type", "none", choices=("none", "text_time")) == "text_time":
        yield from products("added", config.integer("projection_class_embeddings_input_dim"), time, time)
    else:
        config.only("projection_class_embeddings_input_dim")
    into = first
    for level, wide in enumerate(channels):
        yield from [*_residual(into, wide, time), *times(number[level] - 1, _residual(wide, wide, time))]
        yield from times(number[level] if reads[level] else 0, _attending(wide, texts[level], depths[level]))
        yield from _convolution("down", wide, wide) if level < levels - 1 else ()
        into = wide
    yield from [*times(2, _residual(into, into, time)), *_attending(into, texts[-1], depths[-1])]
    before = channels[-1]
    for level in reversed(range(levels)):
        wide, below = channels[level], channels[max(level - 1, 0)]
        for place in range(number[level] + 1):
            skipped = below if place == number[level] else wide
            yield from _residual((before if place == 0 else wide) + skipped, wide, time)
        yield from times(number[level] + 1 if writes[levels - 1 - level] else 0, _attending(wide, texts[level], depths[level]))
        yield from _convolution("up", wide, wide) if level else ()
        before = wide
    yield from [*norm("final_norm", first, True), *_convolution("last", config.integer("out_channels", 4), first)]


@diffuser("WanTransformer3DModel")
def wan(config: ModelConfig) -> Iterator[TableRow]:
    """Wan 2.1 and 2.2: layers that attend to the video, then to the text, and to an image where there is one."""
    layers, wide = _stream_sizes(config, 40, 40, 128)
    patch, channels = config.listed("patch_size", [1, 2, 2], 3), config.integer("in_channels", 16)
    inner, text = config.whole(ffn_dim=13824, text_dim=4096)
    config.only("qk_norm", "rms_norm_across_heads")
    image, added = config.optional_integer("image_dim"), config.optional_integer("added_kv_proj_dim")
    places = config.optional_integer("pos_embed_seq_len")
    yield from biased("patches", (wide, channels, *patch), "vision")
    yield from products("time", config.integer("freq_dim", WAVES), wide, wide)
    yield from linear("time.modulation", 6 * wide, wide, True)
    yield from products("text", text, wide, wide)
    if image is not None:
        yield Weight("image.places", (places or 0, image), "position")
        yield from [*norm("image.norm", image, True), *linear("image.1", image, image, True)]
        yield from [*linear("image.2", wide, image, True), *norm("image.norm", wide, True)]
    layer: list[TableRow] = [Weight("modulation", (6, wide), "other"), *norm("qk_norm", wide, number=4)]
    layer += [*_square("self", wide, "q", "k", "v", "o"), *_square("cross", wide, "q", "k", "v", "o")]
    layer += norm("norm", wide, True) if config.flag("cross_attn_norm", True) else ()
    if added is not None:
        layer += [*linear("cross.image", 2 * wide, added, True, "attention"), *norm("qk_norm", wide)]
    yield from times(layers, [*layer, *plain_mlp(wide, inner)])
    yield Weight("out.modulation", (2, wide), "other")
    yield from linear("out", config.integer("out_channels", 16) * prod(patch), wide, True)


@diffuser("QwenImageTransformer2DModel")
def qwen_image(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen-Image: layers with a stream of the image and one of the text, joined in each attention."""
    layers, wide = _stream_sizes(config, 60, 24, 128)
    heads, text = config.whole(attention_head_dim=128, joint_attention_dim=3584)
    config.ignore("axes_dims_rope", "guidance_embeds", "zero_cond_t", "use_layer3d_rope")
    config.only("use_additional_t_cond", False)
    yield from products("time", WAVES, wide, wide)
    yield from linear("patches", wide, config.integer("in_channels", 64), True)
    yield from [*norm("text.norm", text), *linear("text", wide, text, True)]
    yield from _two_streams(layers, wide, heads)
    yield from _out(wide, config.integer("patch_size", 2) ** 2 * config.integer("out_channels", 16))


@diffuser("MiniMaxH3Transformer3DModel")
def minimax_h3(config: ModelConfig) -> Iterator[TableRow]:
    """MiniMax-H3: video, audio and text in one stream; each of the three has a modulation of its own."""
    layers, heads = _stream_sizes(config, 50, 56, 128)
    wide, head, inner, time = config.whole(hidden_size=5376, attention_head_dim=128, ffn_dim=14336, time_embed_dim=2688)
    video, patch = config.integer("in_channels", 24), config.listed("patch_size", [1, 2, 2], 3)
    audio, middle = config.whole(audio_in_channels=32, time_embed_hidden_dim=5376)
    layer: list[TableRow] = [*linear("attention.qkv", 3 * heads, wide, kind="attention")]
    layer += [*linear("attention.o", wide, heads, kind="attention"), *norm("qk_norm", head, number=2)]
    layer += [*gated_mlp(wide, inner), *norm("norm", wide, number=2)]
    yield from linear("text", wide, config.integer("text_dim", 5120), True)
    yield from products("time", config.integer("freq_dim", WAVES), middle, time)
    yield from [*times(config.integer("num_refiner_layers", 2, low=0, high=MAX_LAYERS), layer), *norm("refiner.norm", wide)]
    yield from times(layers, [*layer, *linear("modulation", 18 * wide, time, True)])
    yield from [*norm("final_norm", wide), *linear("out.modulation", 2 * wide, time, True)]
    for name, channels in (("video", video * prod(patch)), ("audio", audio)):
        yield from [*linear(f"{name}.in", wide, channels, True), *linear(f"{name}.out", channels, wide, True)]


@diffuser("AutoencoderKL")
def autoencoder_kl(config: ModelConfig) -> Iterator[TableRow]:
    """Rombach et al. 2022: the autoencoder of Stable Diffusion 1 to 3, XL and FLUX."""
    config.ignore("sample_size", "norm_num_groups", "scaling_factor", "shift_factor", "latents_mean", "force_upcast")
    channels = config.listed("block_out_channels", [64])
    levels, number = len(channels), config.integer("layers_per_block", 1)
    config.texts("down_block_types", levels, ("DownEncoderBlock2D",))
    config.texts("up_block_types", levels, ("UpDecoderBlock2D",))
    attends, latent = config.flag("mid_block_add_attention", True), config.integer("latent_channels", 4)
    into = channels[0]
    yield from _convolution("encoder.first", into, config.integer("in_channels", 3))
    for level, wide in enumerate(channels):
        yield from [*_residual(into, wide, 0), *times(number - 1, _residual(wide, wide, 0))]
        yield from _convolution("down", wide, wide) if level < levels - 1 else ()
        into = wide
    middle: list[TableRow] = [*times(2, _residual(into, into, 0))]
    if attends:
        middle += [*norm("attention.norm", into, True), *_square("attention", into, "q", "k", "v", "o")]
    yield from [*middle, *norm("encoder.norm", into, True), *_convolution("encoder.last", 2 * latent, into)]
    yield from [*_convolution("decoder.first", into, latent), *middle]
    for level in reversed(range(levels)):
        wide = channels[level]
        yield from [*_residual(into, wide, 0), *times(number, _residual(wide, wide, 0))]
        yield from _convolution("up", wide, wide) if level else ()
        into = wide
    yield from [*norm("decoder.norm", into, True), *_convolution("decoder.last", config.integer("out_channels", 3), into)]
    yield from _convolution("quantized", 2 * latent, 2 * latent, 1) if config.flag("use_quant_conv", True) else ()
    yield from _convolution("restored", latent, latent, 1) if config.flag("use_post_quant_conv", True) else ()
