"""Transformers of diffusion models, in the form of the diffusers library; `_class_name` names them.

Only parameters: FLOPs depend on the size of an image, the text that goes with it and the number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import biased, linear, norm, plain_mlp
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, Weight, times

#: Widths of the waves that encode a time step.
WAVES = 256


def stream_sizes(config: ModelConfig, layers: int, heads: int, width: int) -> tuple[int, int]:
    """Layers and the width of the stream."""
    depth = config.integer("num_layers", layers, high=MAX_LAYERS)
    return depth, config.integer("num_attention_heads", heads) * config.integer("attention_head_dim", width)


def square(name: str, wide: int, *parts: str, bias: bool = True) -> Iterator[TableRow]:
    """Products that keep the width, such as Q, K, V and O."""
    for part in parts:
        yield from linear(f"{name}.{part}", wide, wide, bias, "attention")


def embedded(name: str, into: int, wide: int) -> Iterator[TableRow]:
    """Two products that encode a time step, a strength or a text as a whole."""
    yield from linear(f"{name}.1", wide, into, True)
    yield from linear(f"{name}.2", wide, wide, True)


def uncomputed(rows: Iterator[TableRow]) -> Iterator[TableRow]:
    """The rows without their FLOPs."""
    return (row._replace(passes=0) for row in rows if isinstance(row, Weight))


@family("DiTTransformer2DModel")
def dit(config: ModelConfig) -> Iterator[TableRow]:
    """Peebles and Xie 2022, DiT: layers whose norms follow the time step and the class of the image."""
    return uncomputed(_dit(config))


def _dit(config: ModelConfig) -> Iterator[TableRow]:
    layers, wide = stream_sizes(config, 28, 16, 72)
    patch, channels = config.integer("patch_size", 2), config.integer("in_channels", 4)
    classes, out = config.integer("num_embeds_ada_norm", 1000), config.optional_integer("out_channels") or channels
    config.only("norm_type", "ada_norm_zero")
    config.only("norm_elementwise_affine", False)
    config.only("activation_fn", "gelu-approximate")
    config.ignore("sample_size", "norm_num_groups", "upcast_attention")
    yield from biased("patches", (wide, channels, patch, patch), "vision")
    bias = config.flag("attention_bias", True)
    layer: list[TableRow] = [
        *embedded("time", WAVES, wide),
        Weight("classes", (classes + 1, wide), "other"),
        *linear("modulation", 6 * wide, wide, True),
        *square("attention", wide, "q", "k", "v", bias=bias),
        *square("attention", wide, "o"),
        *plain_mlp(wide, 4 * wide),
    ]
    yield from times(layers, layer)
    yield from linear("out.modulation", 2 * wide, wide, True)
    yield from linear("out", patch**2 * out, wide, True)


@family("SD3Transformer2DModel")
def sd3(config: ModelConfig) -> Iterator[TableRow]:
    """Esser et al. 2024, Stable Diffusion 3: a stream of the image and one of the text, joined in each attention."""
    return uncomputed(_sd3(config))


def _sd3(config: ModelConfig) -> Iterator[TableRow]:
    layers, wide = stream_sizes(config, 18, 18, 64)
    patch, channels = config.integer("patch_size", 2), config.integer("in_channels", 16)
    out = config.optional_integer("out_channels") or channels
    text = config.integer("caption_projection_dim", 1152)
    if text != wide:
        raise config.refuse("caption_projection_dim", text, f"the width of the image's stream, {wide:,}")
    config.ignore("sample_size", "pos_embed_max_size")
    normed = config.text("qk_norm", "none", choices=("none", "rms_norm")) == "rms_norm"
    heads = config.integer("attention_head_dim", 64)
    dual = {*(config.integers("dual_attention_layers", low=0, high=layers - 1) or ())}
    yield from biased("patches", (wide, channels, patch, patch), "vision")
    yield from embedded("time", WAVES, wide)
    yield from embedded("pooled_text", config.integer("pooled_projection_dim", 2048), wide)
    yield from linear("text", wide, config.integer("joint_attention_dim", 4096), True)
    image: list[TableRow] = [*square("attention", wide, "q", "k", "v", "o"), *plain_mlp(wide, 4 * wide)]
    image += [*linear("modulation", 6 * wide, wide, True), *norm("qk_norm", heads, number=2 * normed)]
    second = [*linear("modulation.second", 3 * wide, wide, True), *square("second", wide, "q", "k", "v", "o")]
    yield from times(layers, image)
    yield from times(len(dual), [*second, *norm("qk_norm", heads, number=2 * normed)])
    yield from times(layers, [*square("text.attention", wide, "q", "k", "v"), *norm("qk_norm", heads, number=2 * normed)])
    # The last layer reads the text and does not write it.
    written = [*square("text.attention", wide, "o"), *plain_mlp(wide, 4 * wide, prefix="text.mlp")]
    yield from times(layers - 1, [*written, *linear("text.modulation", 6 * wide, wide, True)])
    yield from linear("text.out.modulation", 2 * wide, wide, True)
    yield from linear("out.modulation", 2 * wide, wide, True)
    yield from linear("out", patch**2 * out, wide, True)


@family("FluxTransformer2DModel")
def flux(config: ModelConfig) -> Iterator[TableRow]:
    """FLUX.1: layers with two streams, then layers with one in which attention and network run side by side."""
    return uncomputed(_flux(config))


def _flux(config: ModelConfig) -> Iterator[TableRow]:
    layers, wide = stream_sizes(config, 19, 24, 128)
    single, heads = config.integer("num_single_layers", 38, high=MAX_LAYERS), config.integer("attention_head_dim", 128)
    channels, patch = config.integer("in_channels", 64), config.integer("patch_size", 1)
    out = config.optional_integer("out_channels") or channels
    config.ignore("axes_dims_rope")
    yield from linear("patches", wide, channels, True)
    yield from embedded("time", WAVES, wide)
    yield from embedded("pooled_text", config.integer("pooled_projection_dim", 768), wide)
    if config.flag("guidance_embeds", False):
        yield from embedded("guidance", WAVES, wide)
    yield from linear("text", wide, config.integer("joint_attention_dim", 4096), True)
    for stream in ("image", "text"):
        layer: list[TableRow] = [*square(stream, wide, "q", "k", "v", "o"), *plain_mlp(wide, 4 * wide, prefix=f"{stream}.mlp")]
        layer += [*linear(f"{stream}.modulation", 6 * wide, wide, True), *norm(f"{stream}.qk_norm", heads, number=2)]
        yield from times(layers, layer)
    joint: list[TableRow] = [*square("single", wide, "q", "k", "v"), *norm("single.qk_norm", heads, number=2)]
    joint += [*linear("single.up", 4 * wide, wide, True), *linear("single.down", wide, 5 * wide, True)]
    yield from times(single, [*joint, *linear("single.modulation", 3 * wide, wide, True)])
    yield from linear("out.modulation", 2 * wide, wide, True)
    yield from linear("out", patch**2 * out, wide, True)


def convolution(name: str, out: int, into: int, width: int = 3) -> Iterator[TableRow]:
    yield from biased(name, (out, into, width, width), "conv")


def residual(into: int, out: int, time: int) -> Iterator[TableRow]:
    """Two convolutions, between which the time step is added where it has a width; a third one where the channels change."""
    yield from norm("norm", into, True)
    yield from convolution("conv1", out, into)
    yield from linear("time", out, time, True) if time else ()
    yield from norm("norm", out, True)
    yield from convolution("conv2", out, out)
    yield from convolution("shortcut", out, into, 1) if into != out else ()


def _attending(wide: int, text: int, depth: int) -> Iterator[TableRow]:
    """Layers that attend to the image and to the text, between two products."""
    layer: list[TableRow] = [*square("self", wide, "q", "k", "v", bias=False), *square("self", wide, "o")]
    layer += [*square("cross", wide, "q", bias=False), *square("cross", wide, "o")]
    layer += [*linear("cross.kv", 2 * wide, text, kind="attention"), *norm("norm", wide, True, 3)]
    layer += [*linear("mlp.in", 8 * wide, wide, True), *linear("mlp.out", wide, 4 * wide, True)]
    yield from [*norm("attention.norm", wide, True), *square("attention", wide, "in", "out"), *times(depth, layer)]


def _per_level(config: ModelConfig, key: str, default: int, levels: int) -> list[int]:
    """A number for each level, or one for all of them."""
    _, found = config.get(key)
    if isinstance(found, list):
        return config.integers(key, levels, low=1) or []
    return [config.integer(key, default)] * levels


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


@family("UNet2DConditionModel")
def unet(config: ModelConfig) -> Iterator[TableRow]:
    """Rombach et al. 2022: the U-Net of Stable Diffusion 1, 2 and XL."""
    return uncomputed(_unet(config))


def _unet(config: ModelConfig) -> Iterator[TableRow]:
    for key, value in _PLAIN.items():
        config.only(key, value)
    for key in _ABSENT:
        config.only(key)
    config.ignore("sample_size", "flip_sin_to_cos", "freq_shift", "downsample_padding", "mid_block_scale_factor", "act_fn")
    config.ignore("norm_num_groups", "attention_head_dim", "use_linear_projection", "upcast_attention", "timestep_post_act")
    config.ignore(
        "resnet_out_scale_factor", "time_embedding_act_fn", "addition_time_embed_dim", "addition_embed_type_num_heads"
    )
    channels = config.integers("block_out_channels", low=1) or [320, 640, 1280, 1280]
    levels, first = len(channels), channels[0]
    down = config.texts("down_block_types", levels, ("CrossAttnDownBlock2D", "DownBlock2D"))
    up = config.texts("up_block_types", levels, ("CrossAttnUpBlock2D", "UpBlock2D"))
    reads = [name.startswith("Cross") for name in down] if down else [True] * (levels - 1) + [False]
    writes = [name.startswith("Cross") for name in up] if up else [False] + [True] * (levels - 1)
    number, depths = (
        _per_level(config, "layers_per_block", 2, levels),
        _per_level(config, "transformer_layers_per_block", 1, levels),
    )
    texts, time = _per_level(config, "cross_attention_dim", 1280, levels), 4 * first
    yield from convolution("first", first, config.integer("in_channels", 4))
    yield from embedded("time", first, time)
    guided = config.optional_integer("time_cond_proj_dim")
    if guided is not None:
        yield from linear("time.guidance", first, guided)
    if config.text("addition_embed_type", "none", choices=("none", "text_time")) == "text_time":
        yield from embedded("added", config.integer("projection_class_embeddings_input_dim"), time)
    else:
        config.only("projection_class_embeddings_input_dim")
    into = first
    for level, wide in enumerate(channels):
        yield from [*residual(into, wide, time), *times(number[level] - 1, residual(wide, wide, time))]
        yield from times(number[level] if reads[level] else 0, _attending(wide, texts[level], depths[level]))
        yield from convolution("down", wide, wide) if level < levels - 1 else ()
        into = wide
    yield from [*times(2, residual(into, into, time)), *_attending(into, texts[-1], depths[-1])]
    before = channels[-1]
    for level in reversed(range(levels)):
        wide, below = channels[level], channels[max(level - 1, 0)]
        for place in range(number[level] + 1):
            skipped = below if place == number[level] else wide
            yield from residual((before if place == 0 else wide) + skipped, wide, time)
        yield from times(number[level] + 1 if writes[levels - 1 - level] else 0, _attending(wide, texts[level], depths[level]))
        yield from convolution("up", wide, wide) if level else ()
        before = wide
    yield from [*norm("final_norm", first, True), *convolution("last", config.integer("out_channels", 4), first)]
