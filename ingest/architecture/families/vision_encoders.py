"""Vision encoders of models that read images and text. Text tokens do not pass through them."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import attention, biased, encoder_attention, gated_mlp, head_width, linear, norm, plain_mlp
from ingest.architecture.weight_table import Attention, TableRow, Weight, over, times


def _sizes(config: ModelConfig, hidden: int, inner: int, layers: int, heads: int) -> tuple[int, int, int, int]:
    return (
        config.size("hidden_size", hidden),
        config.integer("intermediate_size", inner),
        config.integer("num_hidden_layers|depth", layers, high=MAX_LAYERS),
        config.integer("num_attention_heads|num_heads", heads),
    )


def pixtral(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """Pixtral: rotary positions, gated networks, RMSNorm. Returns its width and rows."""
    hidden, inner, layers, heads = _sizes(config, 1024, 4096, 24, 16)
    width, patch = head_width(config, hidden, heads, name="-"), config.repeated("patch_size", 16)
    if config.optional_integer("head_dim") not in (None, width):
        raise config.refuse(
            "head_dim", config.data["head_dim"], f"{width:,}, hidden_size over num_attention_heads, as the class has it"
        )
    config.ignore("image_size", "projection_dim", "vocab_size")
    layer = [*encoder_attention(hidden, heads, width, False), *gated_mlp(hidden, inner), *norm("norm", hidden, number=2)]
    patches = Weight("patches", (hidden, config.integer("num_channels", 3), patch, patch), "vision")
    return hidden, [patches, *norm("first_norm", hidden), *times(layers, layer)]


def _classic(config: ModelConfig, hidden: int, inner: int, layers: int, heads: int) -> Iterator[TableRow]:
    """Layers of multi-head attention, plain network and LayerNorms, with biases."""
    width = head_width(config, hidden, heads, name="-")
    layer = [*encoder_attention(hidden, heads, width, True), *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)]
    return times(layers, layer)


def siglip(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """SigLIP: learned places, LayerNorm; at the end a pooling query, unless switched off."""
    hidden, inner, layers, heads = _sizes(config, 768, 3072, 12, 12)
    patch, image = config.repeated("patch_size", 16), config.repeated("image_size", 224)
    config.ignore("projection_dim", "vocab_size", "num_image_tokens", "num_positions", "max_image_size")
    rows: list[TableRow] = [
        *biased("patches", (hidden, config.integer("num_channels", 3), patch, patch), "vision"),
        Weight("places", ((image // patch) ** 2, hidden), "vision"),
        *_classic(config, hidden, inner, layers, heads),
        *norm("final_norm", hidden, True),
    ]
    if config.flag("vision_use_head", True):
        number, width = (image // patch) ** 2, head_width(config, hidden, heads, name="-")
        once: list[TableRow] = [*linear("pool.q", hidden, hidden, True), *linear("pool.o", hidden, hidden, True)]
        once += [*norm("pool.norm", hidden, True), *plain_mlp(hidden, inner, prefix="pool.mlp")]
        rows += [Weight("pool.query", (1, 1, hidden), "vision"), *linear("pool.kv", 2 * hidden, hidden, True), *over(1, once)]
        rows += [Attention("pool", heads, width, width, causal=False, queries=1, keys=number)]
    return hidden, rows


def naflex(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """SigLIP 2 with native ratios: patches come as rows of pixels, and their places are interpolated."""
    number, channels = config.integer("num_patches", 256), config.integer("num_channels", 3)
    patch = config.integer("patch_size", 16)
    side = int(number**0.5)
    config.data = {**config.data, "image_size": side * patch}
    hidden, rows = siglip(config)
    unfolded = [*biased("patches", (hidden, channels * patch**2), "vision"), Weight("places", (number, hidden), "vision")]
    return hidden, [*unfolded, *(row for row in rows if not row.name.startswith(("patches", "places")))]


def clip(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """CLIP: a class token, learned places, norms before and after the layers."""
    hidden, inner, layers, heads = _sizes(config, 768, 3072, 12, 12)
    patch, image = config.repeated("patch_size", 32), config.repeated("image_size", 224)
    config.ignore("projection_dim", "vocab_size")
    return hidden, [
        Weight("class", (hidden,), "vision"),
        Weight("patches", (hidden, config.integer("num_channels", 3), patch, patch), "vision"),
        Weight("places", ((image // patch) ** 2 + 1, hidden), "vision"),
        *_classic(config, hidden, inner, layers, heads),
        *norm("outer_norm", hidden, True, 2),
    ]


def _patches(config: ModelConfig, hidden: int, patch: int, bias: bool) -> Iterator[TableRow]:
    """Patches over space and time."""
    time = config.integer("temporal_patch_size", 2)
    channels = config.integer("in_channels|in_chans", 3)
    return biased("patches", (hidden, channels, time, patch, patch), "vision", bias=bias)


def _merger(merged: int, out: int) -> Iterator[TableRow]:
    """Two products over merged patches."""
    yield from linear("merger.1", merged, merged, True)
    yield from linear("merger.2", out, merged, True)


def qwen2_vl(config: ModelConfig) -> list[TableRow]:
    """Qwen2-VL: plain networks, LayerNorm, a merger of two by two patches."""
    hidden, out = config.size("embed_dim", 1280), config.integer("hidden_size", 3584)
    layers, heads = config.integer("depth", 32, high=MAX_LAYERS), config.integer("num_heads", 16)
    config.ignore("spatial_patch_size", "window_size", "fullatt_block_indexes")
    inner = hidden * config.integer("mlp_ratio", 4)
    merged = hidden * config.integer("spatial_merge_size", 2) ** 2
    patch = _patches(config, hidden, config.integer("patch_size", 14), False)
    layer = _classic(config, hidden, inner, layers, heads)
    return [*patch, *layer, *norm("merger.norm", hidden, True), *_merger(merged, out)]


def qwen2_5_vl(config: ModelConfig) -> list[TableRow]:
    """Qwen2.5-VL: gated networks with biases, RMSNorm, most layers within windows."""
    hidden, inner, layers, heads = _sizes(config, 3584, 3420, 32, 16)
    out = config.integer("out_hidden_size", 3584)
    config.ignore("spatial_patch_size", "window_size", "fullatt_block_indexes")
    merged = hidden * config.integer("spatial_merge_size", 2) ** 2
    mixer = encoder_attention(hidden, heads, head_width(config, hidden, heads, name="-"), True)
    layer = [*mixer, *gated_mlp(hidden, inner, True), *norm("norm", hidden, number=2)]
    patch = _patches(config, hidden, config.integer("patch_size", 14), False)
    return [*patch, *times(layers, layer), *norm("merger.norm", hidden), *_merger(merged, out)]


def qwen3_vl(config: ModelConfig, deepstack: bool = True) -> list[TableRow]:
    """Qwen3-VL: learned places; mergers at the end and, where listed, on the way (deepstack)."""
    hidden, inner, layers, heads = _sizes(config, 1152, 4304, 27, 16)
    out, merged = config.integer("out_hidden_size", 3584), hidden * config.integer("spatial_merge_size", 2) ** 2
    stops = config.integers("deepstack_visual_indexes")
    number = (3 if stops is None else len(stops)) if deepstack else 0
    return [
        *_patches(config, hidden, config.integer("patch_size", 16), True),
        Weight("places", (config.integer("num_position_embeddings", 2304), hidden), "vision"),
        *_classic(config, hidden, inner, layers, heads),
        *norm("merger.norm", hidden, True),
        *_merger(merged, out),
        *times(number, [*norm("deep.norm", merged, True), *_merger(merged, out)]),
    ]


def gemma4(config: ModelConfig, text: int) -> list[TableRow]:
    """Gemma 4: norms around each part and on the heads, two tables of places, one product into the text."""
    hidden, inner, layers, heads = _sizes(config, 768, 3072, 16, 12)
    groups, width = config.integer("num_key_value_heads", heads), config.integer("head_dim", 64)
    patch, places = config.integer("patch_size", 16), config.integer("position_embedding_size", 10240)
    # Limits of clipped products are buffers.
    config.ignore("global_head_dim", "pooling_kernel_size", "num_channels", "use_clipped_linears")
    config.only("attention_bias", False)
    mixer = attention(hidden, heads, groups, width, causal=False)
    layer = [*mixer, *norm("qk_norm", width, number=2), *gated_mlp(hidden, inner), *norm("norm", hidden, number=4)]
    patches = Weight("patches", (hidden, 3 * patch**2), "vision")
    tables = Weight("places", (2, places, hidden), "vision")
    return [patches, tables, *times(layers, layer), *linear("projector", text, hidden)]


def llama4(config: ModelConfig, text: int) -> list[TableRow]:
    """Llama 4: a class token, patches unfolded, pixel shuffle and two products."""
    hidden, inner, layers, heads = _sizes(config, 768, 5632, 34, 16)
    patch, image = config.integer("patch_size", 14), config.integer("image_size", 448)
    channels, out = config.integer("num_channels", 3), config.integer("vision_output_dim", 7680)
    into, wide = config.integer("projector_input_dim", 4096), config.integer("projector_output_dim", 4096)
    config.ignore("pixel_shuffle_ratio", "vision_feature_layer", "num_key_value_heads")
    config.only("multi_modal_projector_bias", False)
    config.only("vision_output_dim", out)
    return [
        *linear("patches", hidden, channels * patch**2),
        Weight("class", (hidden,), "vision"),
        Weight("places", ((image // patch) ** 2 + 1, hidden), "vision"),
        *norm("outer_norm", hidden, True, 2),
        *_classic(config, hidden, inner, layers, heads),
        *linear("adapter.1", into, inner),
        *linear("adapter.2", wide, wide),
        *linear("projector", text, out),
    ]


def moonvit(config: ModelConfig, text: int, joint: int) -> list[TableRow]:
    """Kimi K2.5: a grid of learned places, a norm and two products over merged patches."""
    hidden, inner, layers, heads = _sizes(config, 1152, 4304, 27, 16)
    patch = config.integer("patch_size", 14)
    config.ignore("pos_emb_time", "init_pos_emb_time", "pos_emb_type")
    repeated = {"hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads}
    for key, size in repeated.items():
        config.only(f"vt_{key}", size)
    merge = config.integers("merge_kernel_size", low=1) or [2, 2]
    high = config.integer("pos_emb_height|init_pos_emb_height", 64)
    wide = config.integer("pos_emb_width|init_pos_emb_width", 64)
    merged = hidden * merge[0] * merge[-1]
    return [
        *biased("patches", (hidden, 3, patch, patch), "vision"),
        Weight("places", (high, wide, hidden), "vision"),
        *_classic(config, hidden, inner, layers, heads),
        *norm("final_norm", hidden, True),
        *norm("projector.norm", joint, True),
        *linear("projector.in", merged, merged, True),
        *linear("projector.out", text, merged, True),
    ]
