"""Models that cut an image into segments: an image encoder over patches, and a small decoder of masks that prompts steer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import biased, even_width, linear, norm, plain_mlp
from ingest.architecture.registry import class_suffix, family
from ingest.architecture.weight_table import Attention, TableRow, Weight, times, work

#: Tokens of one prompt: a point and its padding.
_PROMPT = 2


def _padded(side: int, window: int) -> int:
    """Positions along one side after padding to whole windows.

    >>> _padded(64, 14), _padded(64, 0)
    (70, 64)
    """
    return -(-side // window) * window if window else side


def _at(positions: int, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """Rows that so many positions of an image pass; the attention among them keeps its own numbers."""
    return (row._replace(positions=positions) if isinstance(row, Weight) else row for row in rows)


def _prompts(config: ModelConfig) -> tuple[int, int, list[TableRow]]:
    """The encoder of prompts: points, boxes and masks. Returns its width, the side of its grid and its rows."""
    hidden, wide = config.integer("hidden_size", 256), config.integer("mask_input_channels", 16)
    points = config.integer("num_point_embeddings", 4)
    config.ignore("image_embedding_size")
    side = config.repeated("image_size", 1024) // config.repeated("patch_size", 16)
    narrow = wide // 4
    return hidden, side, [
        *biased("prompt.mask.1", (narrow, 1, 2, 2), "vision"),
        *biased("prompt.mask.2", (wide, narrow, 2, 2), "vision"),
        *biased("prompt.mask.3", (hidden, wide, 1, 1), "vision"),
        *norm("prompt.norm.1", narrow, True),
        *norm("prompt.norm.2", wide, True),
        Weight("prompt.points", (points + 2, hidden), "vision"),
    ]  # fmt: skip


def _perceptron(name: str, into: int, hidden: int, out: int, depth: int) -> Iterator[TableRow]:
    yield from linear(f"{name}.in", hidden, into, True)
    yield from times(depth - 2, linear(f"{name}.between", hidden, hidden, True))
    yield from linear(f"{name}.out", out, hidden, True)


def _look(name: str, hidden: int, inner: int, queries: int, keys: int, heads: int) -> Iterator[TableRow]:
    """Attention of some positions to others, each with its own matrices, over `inner` numbers."""
    yield from _at(queries, linear(f"{name}.q", inner, hidden, True, "attention"))
    yield from _at(keys, linear(f"{name}.k", inner, hidden, True, "attention"))
    yield from _at(keys, linear(f"{name}.v", inner, hidden, True, "attention"))
    yield from _at(queries, linear(f"{name}.o", hidden, inner, True, "attention"))
    width = inner // heads
    yield Attention(name, heads, width, width, causal=False, queries=queries, keys=keys)


def _masks(config: ModelConfig, side: int, objects: bool) -> Iterator[TableRow]:
    """The decoder of masks: tokens and image look at each other in turn; then masks grow by four in each direction."""
    hidden, inner = config.integer("hidden_size", 256), config.integer("mlp_dim", 2048)
    layers, heads = config.integer("num_hidden_layers", 2, high=MAX_LAYERS), config.integer("num_attention_heads", 8)
    narrow = hidden // config.integer("attention_downsample_rate", 2)
    masks = config.integer("num_multimask_outputs", 3) + 1
    deep, wide = config.integer("iou_head_depth", 3, low=2), config.integer("iou_head_hidden_dim", 256)
    config.ignore("dynamic_multimask_via_stability", "dynamic_multimask_stability_delta", "dynamic_multimask_stability_thresh")
    if narrow % heads:
        raise config.refuse(
            "num_attention_heads", heads, f"a divisor of hidden_size over attention_downsample_rate, {narrow:,}"
        )
    image, own = side * side, 1 + masks + objects
    asked = own + _PROMPT
    layer: list[TableRow] = [
        *_look("mask.self", hidden, hidden, asked, asked, heads),
        *_look("mask.cross", hidden, narrow, asked, image, heads),
        *_look("mask.back", hidden, narrow, image, asked, heads),
        *_at(asked, plain_mlp(hidden, inner, prefix="mask.mlp")),
        *norm("mask.norm", hidden, True, 4),
    ]
    if objects:
        # As the class has it: as deep as the decoder has layers.
        layer += _at(asked, times(max(layers - 2, 0), linear("mask.mlp.between", inner, inner, True)))
        yield work("position_features", 2, hidden // 2, kind="position", positions=image)
    yield Weight("mask.tokens", (own, hidden), "vision")
    yield from times(layers, layer)
    yield from _look("mask.cross", hidden, narrow, asked, image, heads)
    yield from norm("mask.norm", hidden, True)
    grown, last = hidden // 4, hidden // 8
    # A transposed convolution has its inputs first, and a bias per output.
    yield Weight("mask.grow.1", (hidden, grown, 2, 2), "vision", passes=1, positions=image)
    yield Weight("mask.grow.2", (grown, last, 2, 2), "vision", passes=1, positions=4 * image)
    yield Weight("mask.grow.bias", (grown + last,), "vision")
    yield work("mask.product", masks, last, kind="vision", positions=16 * image)
    yield from norm("mask.grow.norm", grown, True)
    yield from _at(1, times(masks, _perceptron("mask.weights", hidden, hidden, last, 3)))
    yield from _at(1, _perceptron("mask.quality", hidden, wide, masks, deep))
    if objects:
        yield from _at(16 * image, biased("mask.fine.1", (last, hidden, 1, 1), "vision", 1))
        yield from _at(4 * image, biased("mask.fine.2", (grown, hidden, 1, 1), "vision", 1))
        yield from _at(1, _perceptron("mask.object", hidden, hidden, 1, 3))


@family("sam")
def sam(config: ModelConfig) -> Iterator[TableRow]:
    """Kirillov et al. 2023: ViT with places relative to each other, most layers within windows of 14 by 14 patches."""
    class_suffix(config, "Model")
    config.ignore("tie_word_embeddings")
    parts = [config.table_or_defaults(f"{name}_config") for name in ("vision", "prompt_encoder", "mask_decoder")]
    for part in parts:
        part.ignore("tie_word_embeddings")
    vision, prompts, masks = parts
    hidden, out = vision.integer("hidden_size", 768), vision.integer("output_channels", 256)
    layers, heads = vision.integer("num_hidden_layers", 12, high=MAX_LAYERS), vision.integer("num_attention_heads", 12)
    patch, side = vision.repeated("patch_size", 16), vision.repeated("image_size", 1024)
    window, features = vision.integer("window_size", 14), vision.integer("num_pos_feats", 128)
    inner = vision.optional_integer("mlp_dim") or int(hidden * vision.number("mlp_ratio", 4.0))
    vision.ignore("mlp_ratio")
    side //= patch
    listed = vision.integers("global_attn_indexes", low=0)
    everywhere = sum(layer < layers for layer in {*([2, 5, 8, 11] if listed is None else listed)})
    bias, relative = vision.flag("qkv_bias", True), vision.flag("use_rel_pos", True)
    width = even_width(vision, hidden, heads)
    grid = side * side
    yield Weight("position_features", (2, features), "position", passes=1, positions=grid)
    yield from _at(grid, biased("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision", 1))
    if vision.flag("use_abs_pos", True):
        yield Weight("places", (grid, hidden), "vision")
    for number, reach in ((everywhere, side), (layers - everywhere, window)):
        seen = _padded(side, reach) ** 2
        mixer = [*linear("attention.qkv", 3 * hidden, hidden, bias, "attention"), *linear("attention.o", hidden, hidden, True)]
        attending = Attention("self", heads, width, width, causal=False, queries=seen, keys=reach * reach)
        layer: list[TableRow] = [*_at(seen, mixer), attending, *_at(grid, plain_mlp(hidden, inner))]
        if relative:
            layer += [Weight("attention.relative", (2 * (2 * reach - 1), width), "position")]
            layer += [work("attention.relative", 2 * reach, hidden, kind="attention", positions=seen)]
        yield from times(number, [*layer, *norm("norm", hidden, True, 2)]) if number else ()
    yield from _at(grid, biased("neck.1", (out, hidden, 1, 1), "vision", 1, False))
    yield from _at(grid, biased("neck.2", (out, out, 3, 3), "vision", 1, False))
    yield from norm("neck.norm", out, True, 2)
    asked, grown, rows = _prompts(prompts)
    _agree(masks, out, asked, side, grown)
    yield from rows
    yield from _masks(masks, side, objects=False)


def _agree(masks: ModelConfig, out: int, asked: int, side: int, grown: int) -> None:
    """Refuse parts of other widths or grids than the decoder of masks has."""
    hidden = masks.integer("hidden_size", 256)
    if {out, asked} != {hidden} or side != grown:
        raise masks.refuse("hidden_size", hidden, f"the width of image and prompts, {out:,} and {asked:,}, over one grid")


_STAGES = {
    "blocks_per_stage": [1, 2, 7, 2],
    "embed_dim_per_stage": [96, 192, 384, 768],
    "num_attention_heads_per_stage": [1, 2, 4, 8],
    "window_size_per_stage": [8, 4, 14, 7],
}


def _hiera(config: ModelConfig) -> tuple[list[int], int, list[TableRow]]:
    """Hiera: four stages, each with a quarter of the positions of the one before. Returns widths, first side and rows."""
    listed = [config.integers(key, low=1) or default for key, default in _STAGES.items()]
    if len({len(items) for items in listed}) != 1:
        raise config.refuse("blocks_per_stage", listed[0], "as many stages as the other lists have")
    blocks, widths, heads, windows = listed
    config.only("num_attention_heads", heads[0])
    hidden, pooled = config.integer("hidden_size", 96), config.integer("num_query_pool_stages", 3, low=0)
    kernel, stride = config.repeated("patch_kernel_size", 7), config.repeated("patch_stride", 4)
    config.repeated("query_stride", 2)
    config.only("query_stride", [2, 2])
    config.ignore("patch_padding")
    ground = config.integers("window_positional_embedding_background_size", 2, low=1) or [7, 7]
    everywhere = {*(config.integers("global_attention_blocks", low=0) or [5, 7, 9])}
    side = first = config.repeated("image_size", 1024) // stride
    ratio = config.number("mlp_ratio", 4.0)
    rows: list[TableRow] = [
        *_at(side * side, biased("patches", (hidden, config.integer("num_channels", 3), kernel, kernel), "vision", 1)),
        Weight("places", (hidden, *ground), "vision"),
        Weight("window_places", (hidden, windows[0], windows[0]), "vision"),
    ]
    number, before = 0, hidden
    for stage, (count, out) in enumerate(zip(blocks, widths, strict=True)):
        for block in range(count):
            begins = stage > 0 and block == 0
            into, reach = (before if block == 0 else out), windows[stage - 1] if begins else windows[stage]
            reach = 0 if number in everywhere else reach
            halved = 2 if begins and stage <= pooled else 1
            seen = _padded(side, reach)
            keys = reach or side
            width = out // heads[stage]
            asked = (seen // halved) ** 2
            attending = Attention("self", heads[stage], width, width, causal=False, queries=asked, keys=keys * keys)
            rows += [*_at(seen**2, linear("attention.qkv", 3 * out, into, True, "attention")), attending]
            rows += _at(asked, linear("attention.o", out, out, True, "attention"))
            rows += [*norm("norm", into, True), *norm("norm", out, True)]
            if into != out:
                rows += _at(side**2, linear("widen", out, into, True))
            side //= halved
            rows += _at(side**2, plain_mlp(out, int(out * ratio)))
            number += 1
        before = out
    return widths, first, rows


@family("sam2")
def sam2(config: ModelConfig) -> Iterator[TableRow]:
    """Ravi et al. 2024, for images: Hiera, a pyramid of its four stages, and the decoder of masks; without memory of video."""
    class_suffix(config, "Model")
    parts = [config.table_or_defaults(f"{name}_config") for name in ("vision", "prompt_encoder", "mask_decoder")]
    for part in parts:
        part.ignore("tie_word_embeddings", "scale")
    vision, prompts, masks = parts
    backbone = vision.table_or_defaults("backbone_config")
    backbone.ignore("tie_word_embeddings")
    widths, side, rows = _hiera(backbone)
    out, kernel = vision.integer("fpn_hidden_size", 256), vision.integer("fpn_kernel_size", 1)
    channels = vision.integers("backbone_channel_list", low=1) or [768, 384, 192, 96]
    if sorted(channels) != sorted(widths):
        raise vision.refuse("backbone_channel_list", channels, f"the widths of the stages, {widths[::-1]}")
    vision.ignore("backbone_feature_sizes", "fpn_top_down_levels", "fpn_stride", "fpn_padding", "num_feature_levels")
    yield Weight("no_memory", (out,), "vision")
    yield from rows
    for level, width in enumerate(widths):
        positions = (side >> level) ** 2
        yield from _at(positions, biased("pyramid", (out, width, kernel, kernel), "vision", 1))
    asked, grown, further = _prompts(prompts)
    _agree(masks, out, asked, side // 4, grown)
    yield from further
    yield from _masks(masks, grown, objects=True)
