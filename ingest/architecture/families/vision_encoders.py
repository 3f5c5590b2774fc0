"""Encoders of images: before a text model, by themselves, where a token is a patch, and in pairs with an encoder of text.

Those of Segment Anything stand before a small decoder of masks that prompts steer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ingest.architecture.hf_config import MAX_BLOCKS, MAX_NUMBER, ModelConfig
from ingest.architecture.layers import (
    attention,
    biased,
    embedding,
    encoder_attention,
    encoder_layer,
    even_width,
    gated_mlp,
    linear,
    norm,
    plain_mlp,
    positions,
    products,
    tower_sizes,
    up_to,
)
from ingest.architecture.registry import class_suffix, family, labels
from ingest.architecture.weight_table import Attention, TableRow, Weight, over, times, without, work

#: The sizes of SigLIP's largest encoder, "so400m", which a file may leave out.
SO400M = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
#: Keys of the sizes of most encoders.
TOWER_NAMES = ("hidden_size", "intermediate_size", "num_hidden_layers|depth", "num_attention_heads|num_heads")


def pixtral_tower(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """Pixtral: rotary positions, gated networks, RMSNorm. Returns its width and rows."""
    hidden, inner, layers, heads = tower_sizes(config, 1024, 4096, 24, 16, TOWER_NAMES)
    width, patch = even_width(config, hidden, heads), config.repeated("patch_size", 16)
    if config.optional_integer("head_dim") not in (None, width):
        why = f"{width:,}, hidden_size over num_attention_heads, as the class has it"
        raise config.refuse("head_dim", config.data["head_dim"], why)
    config.ignore("image_size", "projection_dim", "vocab_size")
    layer = [*encoder_attention(config, hidden, heads, False), *gated_mlp(hidden, inner), *norm("norm", hidden, number=2)]
    patches = Weight("patches", (hidden, config.integer("num_channels", 3), patch, patch), "vision")
    return hidden, [patches, *norm("first_norm", hidden), *times(layers, layer)]


def siglip_tower(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """SigLIP: learned places, LayerNorm; at the end a pooling query, unless switched off."""
    hidden, inner, layers, heads = tower_sizes(config, 768, 3072, 12, 12, TOWER_NAMES)
    patch, image = config.repeated("patch_size", 16), config.repeated("image_size", 224)
    number = (image // patch) ** 2
    config.ignore("projection_dim", "vocab_size", "num_image_tokens", "num_positions")
    rows: list[TableRow] = [
        *biased("patches", (hidden, config.integer("num_channels", 3), patch, patch), "vision"),
        Weight("places", (number, hidden), "vision"),
        *times(layers, encoder_layer(config, hidden, inner, heads)),
        *norm("final_norm", hidden, True),
    ]
    if config.flag("vision_use_head", True):
        width = hidden // heads
        once: list[TableRow] = [*linear("pool.q", hidden, hidden, True), *linear("pool.o", hidden, hidden, True)]
        once += [*norm("pool.norm", hidden, True), *plain_mlp(hidden, inner, prefix="pool.mlp")]
        rows += [Weight("pool.query", (1, 1, hidden), "vision"), *linear("pool.kv", 2 * hidden, hidden, True), *over(1, once)]
        rows += [Attention("pool", heads, width, width, causal=False, queries=1, keys=number)]
    return hidden, rows


def naflex_tower(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """SigLIP 2 with native ratios: patches come as rows of pixels, and their places are interpolated."""
    number, channels, patch = config.whole(num_patches=256, num_channels=3, patch_size=16)
    config.data = {**config.data, "image_size": int(number**0.5) * patch}
    hidden, rows = siglip_tower(config)
    unfolded = [*biased("patches", (hidden, channels * patch**2), "vision"), Weight("places", (number, hidden), "vision")]
    return hidden, [*unfolded, *(row for row in rows if not row.name.startswith(("patches", "places")))]


def clip_tower(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """CLIP: a class token, learned places, norms before and after the layers."""
    hidden, inner, layers, heads = tower_sizes(config, 768, 3072, 12, 12, TOWER_NAMES)
    patch, image = config.repeated("patch_size", 32), config.repeated("image_size", 224)
    config.ignore("projection_dim", "vocab_size")
    return hidden, [
        Weight("class", (hidden,), "vision"),
        Weight("patches", (hidden, config.integer("num_channels", 3), patch, patch), "vision"),
        Weight("places", ((image // patch) ** 2 + 1, hidden), "vision"),
        *times(layers, encoder_layer(config, hidden, inner, heads)),
        *norm("outer_norm", hidden, True, 2),
    ]


def _space_and_time(config: ModelConfig, hidden: int, patch: int, bias: bool = False) -> Iterator[TableRow]:
    """Patches over space and time."""
    patch, time = config.whole(patch_size=patch, temporal_patch_size=2)
    channels = config.integer("in_channels|in_chans", 3)
    return biased("patches", (hidden, channels, time, patch, patch), "vision", bias=bias)


def qwen2_vl_tower(config: ModelConfig) -> list[TableRow]:
    """Qwen2-VL: plain networks, LayerNorm, a merger of two by two patches."""
    hidden = config.size("embed_dim", 1280)
    out, layers, heads = config.whole(hidden_size=3584, depth=32, num_heads=16)
    config.ignore("spatial_patch_size", "window_size", "fullatt_block_indexes")
    inner = hidden * config.integer("mlp_ratio", 4)
    merged = hidden * config.integer("spatial_merge_size", 2) ** 2
    patches = _space_and_time(config, hidden, 14)
    layer = times(layers, encoder_layer(config, hidden, inner, heads))
    return [*patches, *layer, *norm("merger.norm", hidden, True), *products("merger", merged, merged, out)]


def qwen2_5_vl_tower(config: ModelConfig) -> list[TableRow]:
    """Qwen2.5-VL: gated networks with biases, RMSNorm, most layers within windows."""
    hidden, inner, layers, heads = tower_sizes(config, 3584, 3420, 32, 16, TOWER_NAMES)
    out = config.integer("out_hidden_size", 3584)
    config.ignore("spatial_patch_size", "window_size", "fullatt_block_indexes")
    merged = hidden * config.integer("spatial_merge_size", 2) ** 2
    layer = [*encoder_attention(config, hidden, heads), *gated_mlp(hidden, inner, True), *norm("norm", hidden, number=2)]
    patches = _space_and_time(config, hidden, 14)
    return [*patches, *times(layers, layer), *norm("merger.norm", hidden), *products("merger", merged, merged, out)]


def qwen3_vl_tower(config: ModelConfig, deepstack: bool = True) -> list[TableRow]:
    """Qwen3-VL: learned places; mergers at the end and, where listed, on the way (deepstack)."""
    hidden, inner, layers, heads = tower_sizes(config, 1152, 4304, 27, 16, TOWER_NAMES)
    out, merged = config.integer("out_hidden_size", 3584), hidden * config.integer("spatial_merge_size", 2) ** 2
    stops = config.integers("deepstack_visual_indexes")
    number = (3 if stops is None else len(stops)) if deepstack else 0
    return [
        *_space_and_time(config, hidden, 16, True),
        Weight("places", (config.integer("num_position_embeddings", 2304), hidden), "vision"),
        *times(layers, encoder_layer(config, hidden, inner, heads)),
        *norm("merger.norm", hidden, True),
        *products("merger", merged, merged, out),
        *times(number, [*norm("deep.norm", merged, True), *products("merger", merged, merged, out)]),
    ]


def _sizes(config: ModelConfig) -> tuple[int, int, int]:
    """Width, depth and heads of an encoder by itself."""
    hidden, layers = config.stated(hidden_size=768, num_hidden_layers=12)
    return hidden, layers, config.integer("num_attention_heads", 12)


def _patches(config: ModelConfig, hidden: int, patch: int = 16) -> tuple[list[TableRow], int]:
    """Patches with a bias, and how many there are."""
    side, whole = config.repeated("patch_size", patch), config.repeated("image_size", 224)
    number = (whole // side) ** 2
    return [*over(number, biased("patches", (hidden, config.integer("num_channels", 3), side, side), "vision", 1))], number


def _first(name: str, out: int, width: int) -> Iterator[TableRow]:
    """A product with a bias that the first token alone passes."""
    return over(1, biased(name, (out, width), "head", 1))


@family("vit", "deit")
def vit(config: ModelConfig) -> Iterator[TableRow]:
    """Dosovitskiy et al. 2020: a class token, learned places, norms before each part.

    DeiT, Touvron et al. 2020, has a second token that learns from a teacher.
    """
    hidden, layers, heads = _sizes(config)
    inner = config.integer("intermediate_size", 3072)
    patches, number = _patches(config, hidden)
    bias, tokens = config.flag("qkv_bias", True), 2 if config.data["model_type"] == "deit" else 1
    config.only("pooler_output_size", hidden)
    config.ignore("encoder_stride", "pooler_act")
    yield Weight("class", (hidden,), "vision", tokens, tokens)
    yield from patches
    yield Weight("places", (number + tokens, hidden), "vision")
    yield from times(layers, encoder_layer(config, hidden, inner, heads, bias))
    yield from norm("final_norm", hidden, True)
    taught = ("ForImageClassificationWithTeacher",) if tokens == 2 else ()
    end = class_suffix(config, "Model", "ForImageClassification", *taught)
    if end == "Model":
        yield from _first("pooler", hidden, hidden)
    else:
        yield from times(2 if end in taught else 1, _first("classifier", labels(config), hidden))


@family("audio-spectrogram-transformer")
def spectrogram(config: ModelConfig) -> Iterator[TableRow]:
    """Gong et al. 2021: DeiT over a spectrum, whose patches overlap."""
    hidden, layers, heads = _sizes(config)
    inner, side = config.whole(intermediate_size=3072, patch_size=16)
    high, long = (
        (config.integer(key, whole) - side) // config.integer(stride, 10) + 1
        for key, whole, stride in (("num_mel_bins", 128, "frequency_stride"), ("max_length", 1024, "time_stride"))
    )
    yield Weight("class", (hidden,), "audio", 2, 2)
    yield from over(high * long, biased("patches", (hidden, 1, side, side), "audio", 1))
    yield Weight("places", (high * long + 2, hidden), "audio")
    yield from times(layers, encoder_layer(config, hidden, inner, heads, config.flag("qkv_bias", True)))
    yield from norm("final_norm", hidden, True)
    if class_suffix(config, "Model", "ForAudioClassification") != "Model":
        yield from norm("classifier.norm", hidden, True)
        yield from _first("classifier", labels(config), hidden)


@family("dinov2", "dinov2_with_registers")
def dinov2(config: ModelConfig) -> Iterator[TableRow]:
    """Oquab et al. 2023: ViT with a mask token and a learned scale after each part; with registers, Darcet et al. 2023."""
    hidden, layers, heads = _sizes(config)
    registers = config.data["model_type"] == "dinov2_with_registers"
    config.ignore("layerscale_value", "reshape_hidden_states", "interpolate_antialias", "interpolate_offset", "out_features")
    config.ignore("out_indices", "stage_names", "apply_layernorm")
    patches, number = _patches(config, hidden, 16 if registers else 14)
    if registers:
        config.only("use_mask_token", True)
        yield Weight("registers", (config.integer("num_register_tokens", 4, low=0), hidden), "vision")
    config.only("use_swiglu_ffn", False)
    bias, mask = config.flag("qkv_bias", True), config.flag("use_mask_token", True)
    yield Weight("class", (hidden,), "vision")
    yield from [Weight("mask", (hidden,), "vision")] if mask else []
    yield from patches
    yield Weight("places", (number + 1, hidden), "vision")
    yield from times(layers, encoder_layer(config, hidden, hidden * config.integer("mlp_ratio", 4), heads, bias))
    yield Weight("scale", (hidden,), "norm", 2 * layers, 2 * layers)
    yield from norm("final_norm", hidden, True)
    if class_suffix(config, "Model", "ForImageClassification") != "Model":
        yield from _first("classifier", labels(config), 2 * hidden)


@family("dinov3_vit")
def dinov3(config: ModelConfig) -> Iterator[TableRow]:
    """Siméoni et al. 2025: rotary positions, register tokens, a learned scale after each part, a gate by switch."""
    hidden, layers = config.stated(hidden_size=384, num_hidden_layers=12)
    heads, inner = config.whole(num_attention_heads=6, intermediate_size=1536)
    patches, _number = _patches(config, hidden)
    config.ignore("layerscale_value", "reshape_hidden_states", "drop_path_rate", "pos_embed_shift", "pos_embed_jitter")
    config.ignore("pos_embed_rescale", "apply_layernorm", "out_features", "out_indices", "stage_names")
    class_suffix(config, "Model")
    switches = (("q", "query", True), ("k", "key", False), ("v", "value", True), ("o", "proj", True))
    plain = [f"attention.{part}.bias" for part, key, default in switches if not config.flag(f"{key}_bias", default)]
    mixer = without(encoder_attention(config, hidden, heads), *plain)
    network = gated_mlp if config.flag("use_gated_mlp", False) else plain_mlp
    mlp = network(hidden, inner, bias=config.flag("mlp_bias", True))
    yield Weight("class", (hidden,), "vision")
    yield Weight("mask", (hidden,), "vision")
    if registers := config.integer("num_register_tokens", 0, low=0):
        yield Weight("registers", (registers, hidden), "vision")
    yield from patches
    yield from times(layers, [*mixer, *mlp, *norm("norm", hidden, True, 2), *norm("scale", hidden, number=2)])
    yield from norm("final_norm", hidden, True)


def _alone(rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """The rows of a tower whose patches are the tokens: each passes the product that makes it, the first one the pooler."""
    table = list(rows)
    classes = sum(row.name == "class" for row in table)
    places = next(row.shape[0] for row in table if isinstance(row, Weight) and row.name == "places")
    changed: dict[str, Any] = {"patches": {"passes": 1, "positions": places - classes}, "projection": {"positions": 1}}
    for row in table:
        yield row._replace(**changed.get(row.name, {}))


def _beside(rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """The rows of a tower that reads one image for each text: all its positions, whatever the tokens of the text."""
    table = list(_alone(rows))
    places = next(row.shape[0] for row in table if isinstance(row, Weight) and row.name == "places")
    for row in table:
        read, asked = (row.positions, 0) if isinstance(row, Weight) else (row.queries, row.keys)
        if isinstance(row, Weight):
            yield row._replace(positions=read or places, name=f"vision.{row.name}", kind="vision")
        else:
            yield row._replace(queries=read or places, keys=asked or places, name=f"vision.{row.name}")


@family("siglip_vision_model", "siglip2_vision_model")
def siglip_vision(config: ModelConfig) -> Iterator[TableRow]:
    """Zhai et al. 2023: the image encoder of SigLIP; Tschannen et al. 2025: that of SigLIP 2 with native ratios."""
    class_suffix(config, "Model")
    tower = naflex_tower if config.data["model_type"] == "siglip2_vision_model" else siglip_tower
    yield from _alone(tower(config)[1])


@family("pixtral")
def pixtral(config: ModelConfig) -> Iterator[TableRow]:
    """Agrawal et al. 2024: the image encoder of Pixtral, with rotary positions in two directions."""
    class_suffix(config, "VisionModel")
    patches = (config.repeated("image_size", 1024) // config.repeated("patch_size", 16)) ** 2
    for row in pixtral_tower(config)[1]:
        yield row._replace(passes=1, positions=patches) if isinstance(row, Weight) and row.name == "patches" else row


def _text(config: ModelConfig, hidden: int, words: int, places: int, heads: int, causal: bool) -> tuple[int, list[TableRow]]:
    """The text encoder of a pair: learned places, a norm at the end. Returns its width and rows."""
    wide, inner = config.whole(hidden_size=hidden, intermediate_size=4 * hidden)
    layers, count = config.whole(num_hidden_layers=12, num_attention_heads=heads)
    mixer = attention(wide, count, count, even_width(config, wide, count), bias=True, causal=causal)
    return wide, [
        embedding(config.integer("vocab_size", words), wide),
        positions(config.integer("max_position_embeddings", places), wide),
        *times(layers, [*mixer, *plain_mlp(wide, inner), *norm("norm", wide, True, 2)]),
        *norm("final_norm", wide, True),
    ]


@family("clip_vision_model", "clip_text_model")
def clip_part(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2021: the image encoder of CLIP, or its text encoder, which diffusion models read their text with."""
    seen = config.data["model_type"] == "clip_vision_model"
    wide, rows = clip_tower(config) if seen else _text(config, 512, 49408, 77, 8, causal=True)
    if class_suffix(config, "Model", "ModelWithProjection") != "Model":
        rows += over(1, linear("projection", config.integer("projection_dim", 512), wide))
    config.ignore("projection_dim")
    yield from _alone(rows) if seen else rows


@family("clip")
def clip(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2021: an image and a text encoder, each with a projection into a common space."""
    class_suffix(config, "Model")
    out = config.integer("projection_dim", 512)
    text, vision = config.table_or_defaults("text_config"), config.table_or_defaults("vision_config")
    for part in (text, vision):
        part.ignore("projection_dim", "tie_word_embeddings")
    config.ignore("text_config_dict", "vision_config_dict", "logit_scale_init_value")
    wide, rows = _text(text, 512, 49408, 77, 8, causal=True)
    yield from rows
    yield from over(1, linear("text_projection", out, wide))
    hidden, tower = clip_tower(vision)
    yield from _beside([*tower, *linear("projection", out, hidden)])
    yield Weight("logit_scale", (1,), "other")


@family("siglip", "siglip2")
def siglip(config: ModelConfig) -> Iterator[TableRow]:
    """Zhai et al. 2023: CLIP with a sigmoid loss; a projection behind the text alone. SigLIP 2: Tschannen et al. 2025."""
    class_suffix(config, "Model")
    tower = naflex_tower if config.data["model_type"] == "siglip2" else siglip_tower
    text, vision = config.table_or_defaults("text_config"), config.table_or_defaults("vision_config")
    wide, rows = _text(text, 768, 32000, 64, 12, causal=False)
    yield from rows
    yield from over(1, linear("text_projection", text.integer("projection_size", wide), wide, True))
    yield from _beside(tower(vision)[1])
    yield Weight("logits", (1,), "other", 2, 2)


_PROMPT = 2  # Tokens of one prompt: a point and its padding


def _perceptron(name: str, into: int, hidden: int, out: int, depth: int) -> Iterator[TableRow]:
    yield from linear(f"{name}.in", hidden, into, True)
    yield from times(depth - 2, linear(f"{name}.between", hidden, hidden, True))
    yield from linear(f"{name}.out", out, hidden, True)


def _look(name: str, hidden: int, inner: int, queries: int, keys: int, heads: int) -> Iterator[TableRow]:
    """Attention of some positions to others, each with its own matrices, over `inner` numbers."""
    yield from over(queries, linear(f"{name}.q", inner, hidden, True, "attention"))
    yield from over(keys, linear(f"{name}.k", inner, hidden, True, "attention"))
    yield from over(keys, linear(f"{name}.v", inner, hidden, True, "attention"))
    yield from over(queries, linear(f"{name}.o", hidden, inner, True, "attention"))
    width = inner // heads
    yield Attention(name, heads, width, width, causal=False, queries=queries, keys=keys)


def _masks(config: ModelConfig, prompts: ModelConfig, out: int, side: int, objects: bool) -> Iterator[TableRow]:
    """The encoder of prompts (points, boxes and masks), and the decoder of masks.

    In the decoder tokens and image look at each other in turn; then masks grow by four in each direction. `out` and `side` are
    the width of the encoded image and its positions along one side; `objects`: the decoder says if there is one, as in SAM 2.

    Raises IngestError: parts of other widths or grids than the decoder of masks has.
    """
    asked, wide = prompts.whole(hidden_size=256, mask_input_channels=16)
    points, narrow = prompts.integer("num_point_embeddings", 4), wide // 4
    prompts.ignore("image_embedding_size")
    grown = prompts.repeated("image_size", 1024) // prompts.repeated("patch_size", 16)
    hidden = config.integer("hidden_size", 256)
    if {out, asked} != {hidden} or side != grown:
        raise config.refuse("hidden_size", hidden, f"the width of image and prompts, {out:,} and {asked:,}, over one grid")
    yield from biased("prompt.mask.1", (narrow, 1, 2, 2), "vision")
    yield from biased("prompt.mask.2", (wide, narrow, 2, 2), "vision")
    yield from biased("prompt.mask.3", (hidden, wide, 1, 1), "vision")
    yield from norm("prompt.norm.1", narrow, True)
    yield from norm("prompt.norm.2", wide, True)
    yield Weight("prompt.points", (points + 2, hidden), "vision")
    inner, layers, heads = config.whole(mlp_dim=2048, num_hidden_layers=2, num_attention_heads=8)
    narrow = hidden // config.integer("attention_downsample_rate", 2)
    masks = config.integer("num_multimask_outputs", 3) + 1
    deep, wide = config.integer("iou_head_depth", 3, low=2), config.integer("iou_head_hidden_dim", 256)
    config.ignore("dynamic_multimask_via_stability", "dynamic_multimask_stability_delta", "dynamic_multimask_stability_thresh")
    if narrow % heads:
        why = f"a divisor of hidden_size over attention_downsample_rate, {narrow:,}"
        raise config.refuse("num_attention_heads", heads, why)
    within = narrow if objects else hidden // 2  # the layers of the first SAM know no rate
    image, own = side * side, 1 + masks + objects
    asked = own + _PROMPT
    layer: list[TableRow] = [
        *_look("mask.self", hidden, hidden, asked, asked, heads),
        *_look("mask.cross", hidden, within, asked, image, heads),
        *_look("mask.back", hidden, within, image, asked, heads),
        *over(asked, plain_mlp(hidden, inner, prefix="mask.mlp")),
        *norm("mask.norm", hidden, True, 4),
    ]
    if objects:
        # As the class has it: as deep as the decoder has layers.
        layer += over(asked, times(max(layers - 2, 0), linear("mask.mlp.between", inner, inner, True)))
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
    yield from over(1, times(masks, _perceptron("mask.weights", hidden, hidden, last, 3)))
    yield from over(1, _perceptron("mask.quality", hidden, wide, masks, deep))
    if objects:
        yield from over(16 * image, biased("mask.fine.1", (last, hidden, 1, 1), "vision", 1))
        yield from over(4 * image, biased("mask.fine.2", (grown, hidden, 1, 1), "vision", 1))
        yield from over(1, _perceptron("mask.object", hidden, hidden, 1, 3))


@family("sam")
def sam(config: ModelConfig) -> Iterator[TableRow]:
    """Kirillov et al. 2023: ViT with places relative to each other, most layers within windows of 14 by 14 patches."""
    class_suffix(config, "Model")
    config.ignore("tie_word_embeddings")
    parts = [config.table_or_defaults(f"{name}_config") for name in ("vision", "prompt_encoder", "mask_decoder")]
    for part in parts:
        part.ignore("tie_word_embeddings")
    vision, prompts, masks = parts
    hidden, out = vision.whole(hidden_size=768, output_channels=256)
    layers, heads = vision.whole(num_hidden_layers=12, num_attention_heads=12)
    patch, side = vision.repeated("patch_size", 16), vision.repeated("image_size", 1024)
    window, features = vision.whole(window_size=14, num_pos_feats=128)
    inner = vision.optional_integer("mlp_dim") or int(hidden * vision.number("mlp_ratio", 4.0))
    vision.ignore("mlp_ratio")
    side //= patch
    listed = vision.integers("global_attn_indexes", low=0)
    everywhere = sum(layer < layers for layer in {*([2, 5, 8, 11] if listed is None else listed)})
    bias, relative = vision.flag("qkv_bias", True), vision.flag("use_rel_pos", True)
    width = even_width(vision, hidden, heads)
    grid = side * side
    yield Weight("position_features", (2, features), "position", passes=1, positions=grid)
    yield from over(grid, biased("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision", 1))
    if vision.flag("use_abs_pos", True):
        yield Weight("places", (grid, hidden), "vision")
    for number, reach in ((everywhere, side), (layers - everywhere, window)):
        seen = up_to(max(reach, 1), side) ** 2  # padded to whole windows
        mixer = [*linear("attention.qkv", 3 * hidden, hidden, bias, "attention"), *linear("attention.o", hidden, hidden, True)]
        attending = Attention("self", heads, width, width, causal=False, queries=seen, keys=reach * reach)
        layer: list[TableRow] = [*over(seen, mixer), attending, *over(grid, plain_mlp(hidden, inner))]
        if relative:
            layer += [Weight("attention.relative", (2 * (2 * reach - 1), width), "position")]
            layer += [work("attention.relative", 2 * reach, hidden, kind="attention", positions=seen)]
        yield from times(number, [*layer, *norm("norm", hidden, True, 2)]) if number else ()
    yield from over(grid, biased("neck.1", (out, hidden, 1, 1), "vision", 1, False))
    yield from over(grid, biased("neck.2", (out, out, 3, 3), "vision", 1, False))
    yield from norm("neck.norm", out, True, 2)
    yield from _masks(masks, prompts, out, side, objects=False)


#: Defaults of lists with an entry for each stage of Hiera.
_STAGES = {
    "blocks_per_stage": [1, 2, 7, 2],
    "embed_dim_per_stage": [96, 192, 384, 768],
    "num_attention_heads_per_stage": [1, 2, 4, 8],
    "window_size_per_stage": [8, 4, 14, 7],
}


def _hiera(config: ModelConfig) -> tuple[list[int], int, list[TableRow]]:
    """Hiera: four stages, each with a quarter of the positions of the one before. Returns widths, first side and rows."""
    listed = [
        config.listed(key, default, high=MAX_BLOCKS if key == "blocks_per_stage" else MAX_NUMBER)
        for key, default in _STAGES.items()
    ]
    if len({len(items) for items in listed}) != 1:
        raise config.refuse("blocks_per_stage", listed[0], "as many stages as the other lists have")
    blocks, widths, heads, windows = listed
    config.only("num_attention_heads", heads[0])
    hidden, pooled = config.integer("hidden_size", 96), config.integer("num_query_pool_stages", 3, low=0)
    kernel, stride = config.repeated("patch_kernel_size", 7), config.repeated("patch_stride", 4)
    config.repeated("query_stride", 2)
    config.only("query_stride", [2, 2])
    config.ignore("patch_padding")
    ground = config.listed("window_positional_embedding_background_size", [7, 7], 2)
    everywhere = {*(config.listed("global_attention_blocks", [5, 7, 9], low=0))}
    side = first = config.repeated("image_size", 1024) // stride
    ratio = config.number("mlp_ratio", 4.0)
    rows: list[TableRow] = [
        *over(side * side, biased("patches", (hidden, config.integer("num_channels", 3), kernel, kernel), "vision", 1)),
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
            seen = up_to(max(reach, 1), side)
            keys = reach or side
            width = out // heads[stage]
            asked = (seen // halved) ** 2
            attending = Attention("self", heads[stage], width, width, causal=False, queries=asked, keys=keys * keys)
            rows += [*over(seen**2, linear("attention.qkv", 3 * out, into, True, "attention")), attending]
            rows += over(asked, linear("attention.o", out, out, True, "attention"))
            rows += [*norm("norm", into, True), *norm("norm", out, True)]
            if into != out:
                rows += over(side**2, linear("widen", out, into, True))
            side //= halved
            rows += over(side**2, plain_mlp(out, int(out * ratio)))
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
    out, kernel = vision.whole(fpn_hidden_size=256, fpn_kernel_size=1)
    channels = vision.listed("backbone_channel_list", [768, 384, 192, 96])
    if sorted(channels) != sorted(widths):
        raise vision.refuse("backbone_channel_list", channels, f"the widths of the stages, {widths[::-1]}")
    vision.ignore("backbone_feature_sizes", "fpn_top_down_levels", "fpn_stride", "fpn_padding", "num_feature_levels")
    yield Weight("no_memory", (out,), "vision")
    yield from rows
    for level, width in enumerate(widths):
        positions = (side >> level) ** 2
        yield from over(positions, biased("pyramid", (out, width, kernel, kernel), "vision", 1))
    yield from _masks(masks, prompts, out, side // 4, objects=True)
