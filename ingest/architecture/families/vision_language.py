"""Models that read images and text: a text model, a vision encoder, and the projection between them.

The vision encoders count as parameters; FLOPs per token are those of a text token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.architecture.families import OF_A_CONFIG
from ingest.architecture.families.vision_encoders import (
    SO400M,
    TOWER_NAMES,
    clip_tower,
    naflex_tower,
    pixtral_tower,
    qwen2_5_vl_tower,
    qwen2_vl_tower,
    qwen3_vl_tower,
    siglip_tower,
)
from ingest.architecture.hf_config import MAX_LAYERS, MAX_NUMBER, ModelConfig
from ingest.architecture.layers import (
    TOWER,
    attention,
    biased,
    encoder_attention,
    encoder_layer,
    even_width,
    gated_mlp,
    linear,
    norm,
    plain_mlp,
    products,
    tower_sizes,
)
from ingest.architecture.registry import class_suffix, families, family, register, resolved
from ingest.architecture.weight_table import TableRow, Weight, aside, by_hand, times, without
from ingest.files import table_beside

#: Model types of text parts that are registered under another name.
_ALIASES = {"exaone4_5_text": "exaone4", "ministral3": "ministral3_text", "qwen3_asr_text": "qwen3"}


def text_part(
    config: ModelConfig,  # the keys of the wrapper
    default: str,  # family of the text part where it names none
    tied: bool,  # whether the head is, where the wrapper does not say
    *,
    either: bool = False,  # the head is tied where the wrapper or the text part ties it
    sized: bool = False,  # the text part must state its width: versions of the class disagree on the default
    never_tied: bool = False,  # neither may tie the head
    classes: tuple[str, ...] = (),  # further ends of class names
) -> Generator[TableRow, None, ModelConfig]:
    """Return the rows of the text part by its own family, and at the end its keys.

    The wrapper decides whether the head is tied; where it does not, a text part with another value is refused.
    """
    class_suffix(config, "ForConditionalGeneration", *classes)
    text = config.table("text_config|llm_config") if sized else config.table_or_defaults("text_config|llm_config")
    if sized:
        text.integer("hidden_size")
    if never_tied:
        config.only("tie_word_embeddings", False)
        text.only("tie_word_embeddings", False)
    kind = text.text("model_type", default)
    kind = resolved(text) or _ALIASES.get(kind, kind)
    describing = families().get(kind)
    if describing is None:
        raise text.refuse("model_type", kind, "a described family")
    _, own = text.get("tie_word_embeddings")
    own = None if own is None else text.flag("tie_word_embeddings")
    together = config.flag("tie_word_embeddings", tied)
    if either:
        together = together or (own if own is not None else kind.startswith("gemma"))
    elif "tie_word_embeddings" not in config.data and own is not None and own != together:
        raise text.refuse("tie_word_embeddings", own, f"{together}, or the same key next to text_config, which decides")
    text.data = {**text.data, "model_type": kind, "tie_word_embeddings": together}
    text.ignore("num_image_tokens")
    # Places of images in the text.
    config.ignore("spatial_merge_size")
    yield from describing(text)
    return text


def text_width(text: ModelConfig) -> int:
    """Return the width that a text part has read: stated, or its family's default."""
    default = text.defaults.get(f"{text.prefix}hidden_size")
    return text.integer("hidden_size") if default is None else int(default)


#: Encoders that wrappers of `wrappers.yaml` name: each returns its width and its rows.
TOWERS: dict[str, Callable[[ModelConfig], tuple[int, list[TableRow]]]] = {
    "siglip": siglip_tower,
    "naflex": naflex_tower,
    "qwen2_5_vl": lambda part: (0, [*qwen2_5_vl_tower(part)]),
    "qwen3_vl": lambda part: (0, [*qwen3_vl_tower(part)]),
    "qwen3_5": lambda part: (0, [*qwen3_vl_tower(part, False)]),
}


def _tower_beside(config: ModelConfig, name: str) -> Iterator[TableRow]:
    """The rows of an encoder of wrappers, in a file of its own."""
    config.lenient = True
    return aside(TOWERS[name](config)[1])


_JOINTS: Mapping[str, Callable[..., Iterator[Weight]]] = {"linear": linear, "norm": norm}


class Wrapper(NamedTuple):
    """A text model beside an encoder, both described elsewhere."""

    model_types: str  # the values of `model_type`, separated by spaces
    doc: str
    text: Mapping[str, Any]  # the arguments of `text_part`
    tower: str  # of `TOWERS`
    joint: Sequence[Sequence[Any]]  # the rows between both: function, name, sizes and switches
    part: str = "vision_config"  # the keys of the encoder
    kind: str = "vision"  # of the rows beside the text
    within: str = ""  # the table in which some files keep all parts
    ignore: str = ""  # keys that change no weight, separated by spaces
    ignore_in_part: str = ""
    usual_text: Mapping[str, object] = MappingProxyType({})  # keys of the text where a file has none
    #: usual_part, absent, always: keys of the encoder where a file has none, where it has no table, and whatever it has
    usual_part: Mapping[str, object] = MappingProxyType({})
    absent: Mapping[str, object] = MappingProxyType({})
    always: Mapping[str, object] = MappingProxyType({})
    without: str = ""  # the row of the encoder that is left out
    #: sizes and switches of the joint, those of the encoder with a name that begins with `part`: their keys and default
    numbers: Mapping[str, Sequence[Any]] = MappingProxyType({})

    def rows(self, config: ModelConfig) -> Iterator[TableRow]:
        """Return the rows of one model of the family."""
        config.ignore(*self.ignore.split())
        class_suffix(config, "ForConditionalGeneration", *self.text.get("classes", ()))
        inside = config.table(self.within) if self.within in config.data else config
        inside.data = {**inside.data, "model_type": config.data["model_type"]}
        inside.complete("text_config|llm_config", self.usual_text)
        text = yield from text_part(inside, **self.text)
        part = inside.table_or_defaults(self.part)
        part.data = {**self.usual_part, **(part.data or self.absent), **self.always}
        part.ignore("model_type", *self.ignore_in_part.split())
        width, tower = TOWERS[self.tower](part)
        known: dict[str, int] = {"width": width, "text": text_width(text), "True": True, "False": False}
        for name, (key, usual) in self.numbers.items():
            of = part if name.startswith("part") else inside
            known[name] = of.flag(key, usual) if isinstance(usual, bool) else of.integer(key, known.get(usual, usual))
        sized = ((how, name, [_product(size, known) for size in sizes]) for how, name, *sizes in self.joint)
        joint = (row for how, name, sizes in sized for row in _JOINTS[how](name, *sizes))
        yield from aside([*without(tower, self.without), *joint], self.kind)


def _product(size: object, known: Mapping[str, int]) -> int:
    """A size as `wrappers.yaml` writes it.

    >>> _product("2 * width / 4", {"width": 8})
    4
    """
    factors, _, part = str(size).partition(" / ")
    return math.prod(known[word] if word in known else int(word) for word in factors.split(" * ")) // int(part or 1)


def _two_products(config: ModelConfig, width: int, text: int, bias: bool, layers: int = 1) -> Iterator[Weight]:
    """The projection of LLaVA, over the states of one layer of the encoder, or of several side by side."""
    stated = config.get("vision_feature_layer")[1]
    if isinstance(stated, list):
        layers = len(config.integers("vision_feature_layer") or ())
    elif stated is not None:
        config.integer("vision_feature_layer", low=-MAX_NUMBER)
    return products("projector", width * layers, text, text, bias=bias)


register(__name__, *(Wrapper(names, **said) for names, said in table_beside(__file__, "wrappers.yaml").items()))

_TOWERS = {"pixtral": pixtral_tower, "clip_vision_model": clip_tower, "siglip_vision_model": siglip_tower}
#: What the classes build where a file has no `vision_config`, and what differs of it.
_USUAL_TOWER = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
                "patch_size": 14}  # fmt: skip
_OWN_TOWERS = {
    "llava_onevision": {**SO400M, "num_hidden_layers": 26, "image_size": 384, "vision_use_head": False},
    "video_llava": {"image_size": 224},
}


def _named_tower(config: ModelConfig, default: str) -> tuple[int, list[TableRow]]:
    """The encoder that `vision_config` names."""
    vision = config.table_or_defaults("vision_config")
    if config.get("vision_config")[1] is None:
        own = _OWN_TOWERS.get(str(config.data["model_type"]), {})
        usual = {**_USUAL_TOWER, "image_size": 1540 if default == "pixtral" else 336, **own}
        vision.data = usual
        vision.defaults.update({f"{vision.prefix}{key}": value for key, value in usual.items()})
    vision.ignore("vision_use_head")
    kind = vision.text("model_type", default)
    if kind not in _TOWERS:
        raise vision.refuse("model_type", kind, f"one of {', '.join(_TOWERS)}")
    return _TOWERS[kind](vision)


@family("mistral3", "ministral3", "mistral_large4", "lighton_ocr")
def mistral3(config: ModelConfig) -> Iterator[TableRow]:
    """Mistral Small 3.1 to Large 4, LightOnOCR: Pixtral; a projection of a norm, a merger of patches and two matrices."""
    kind = str(config.data["model_type"])
    if "text_config" not in config.data and kind == "ministral3":
        yield from families()["ministral3_text"](config)
        return
    usual = {"mistral_large4": "mistral_large4_text", "lighton_ocr": "qwen3"}.get(kind, "mistral")
    text = yield from text_part(config, usual, kind != "mistral_large4", sized=True)
    width, tower = _named_tower(config, "pixtral")
    tower += norm("projector.norm", width)
    tower += linear("projector.merge", width, width * config.integer("spatial_merge_size", 2) ** 2)
    bias = config.flag("multimodal_projector_bias", False)
    yield from aside([*tower, *_two_products(config, width, text_width(text), bias)])


@family("llava", "llava_next", "llava_next_video", "llava_onevision", "video_llava", "vipllava")
def llava(config: ModelConfig) -> Iterator[TableRow]:
    """Liu et al. 2023: CLIP, projected by two matrices; a learned end of line from LLaVA-NeXT on.

    OneVision: SigLIP without its last layer and pooling; Video-LLaVA: a second encoder for clips; ViP-LLaVA: a norm over the
    states of five layers.
    """
    config.ignore("vocab_size", "video_seq_length", "vision_aspect_ratio")
    kind = str(config.data["model_type"])
    seen, vip = kind == "llava_onevision", kind == "vipllava"
    text = yield from text_part(config, "qwen2" if seen else "llama", False, either=kind == "llava")
    width, tower = _named_tower(config, "siglip_vision_model" if seen else "clip_vision_model")
    wide, bias = text_width(text), config.flag("multimodal_projector_bias", True)
    joint = [*_two_products(config, width, wide, bias, 5 if vip else 1)]
    joint += norm("projector.norm", joint[0].shape[-1], True, vip)
    newline = [Weight("newline", (wide,), "vision")] if kind.startswith("llava_") else []
    yield from aside([*times(1 + (kind == "video_llava"), tower), *joint, *newline])


@family("composite")
def composite(config: ModelConfig) -> Iterator[TableRow]:
    """Any text model beside an encoder, whose tensors and those of the projection lie as rows in the table `beside`."""
    yield from text_part(config, "llama", False, either=True)
    tower = _named_tower(config, "clip_vision_model")[1] if "vision_config" in config.data else []
    yield from aside([*tower, *by_hand(config.table("beside"))])


@family("paligemma")
def paligemma(config: ModelConfig) -> Iterator[TableRow]:
    """PaliGemma: SigLIP, projected by one matrix."""
    config.ignore("num_image_tokens", "vocab_size", "hidden_size", "_vocab_size")
    wide = text_width((yield from text_part(config, "gemma", True)))
    vision = config.table("vision_config")
    width, tower = siglip_tower(vision)
    vision.ignore("projection_dim")
    if (out := config.integer("projection_dim", 2048)) != wide:
        raise config.refuse("projection_dim", out, f"the width of the text, {wide:,} (2,048 by default)")
    yield from aside([*tower, *linear("projector", wide, width, True)])


@family("qwen2_vl", "qwen2_5_vl")
def qwen2_vl(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2-VL and Qwen2.5-VL; older files keep the keys of the text next to `vision_config`."""
    kind = str(config.data["model_type"])
    if "text_config" in config.data:
        yield from text_part(config, f"{kind}_text", False, either=True)
        vision = config.table_or_defaults("vision_config")
    else:
        class_suffix(config, "ForConditionalGeneration")
        yield from families()["qwen2_vl_text"](config)
        vision = config.table("vision_config")
    yield from aside((qwen2_vl_tower if kind == "qwen2_vl" else qwen2_5_vl_tower)(vision))


@family("llama4")
def llama4(config: ModelConfig) -> Iterator[TableRow]:
    """Llama 4: a class token, patches unfolded, pixel shuffle and two products; the class never ties the head."""
    text = yield from text_part(config, "llama4_text", False, never_tied=True)
    vision, wide = config.table_or_defaults("vision_config"), text_width(text)
    hidden, inner, layers, heads = tower_sizes(vision, 768, 5632, 34, 16, TOWER_NAMES)
    patch, image, channels = vision.whole(patch_size=14, image_size=448, num_channels=3)
    out, into, joint = vision.whole(vision_output_dim=7680, projector_input_dim=4096, projector_output_dim=4096)
    vision.ignore("pixel_shuffle_ratio", "vision_feature_layer", "num_key_value_heads")
    vision.fixed(multi_modal_projector_bias=False, vision_output_dim=out)
    yield from aside([
        *linear("patches", hidden, channels * patch**2),
        Weight("class", (hidden,), "vision"),
        Weight("places", ((image // patch) ** 2 + 1, hidden), "vision"),
        *norm("outer_norm", hidden, True, 2),
        *times(layers, encoder_layer(vision, hidden, inner, heads)),
        *linear("adapter.1", into, inner),
        *linear("adapter.2", joint, joint),
        *linear("projector", wide, out),
    ])  # fmt: skip


@family("kimi_k25", "kimi_vl", "kimi_k3")
def kimi(config: ModelConfig) -> Iterator[TableRow]:
    """Kimi-VL and K2.5: DeepSeek-V3's structure, a grid of learned places, two products; K3: Kimi Linear's, without biases."""
    kind = str(config.data["model_type"])
    bias = kind != "kimi_k3"
    text = yield from text_part(config, "deepseek_v3" if bias else "kimi_linear", kind == "kimi_k25")
    vision, wide = config.table_or_defaults("vision_config"), text_width(text)
    defaults, names = ((1152, 4304, 27, 16), TOWER_NAMES) if bias else ((1024, 4096, 27, 12), [f"vt_{name}" for name in TOWER])
    hidden, inner, layers, heads = tower_sizes(vision, *defaults, names)
    joint = {"kimi_vl": hidden, "kimi_k3": wide}.get(kind) or config.integer("projection_hidden_size", 1152)
    patch, within = vision.whole(patch_size=14, qkv_hidden_size=hidden if bias else 1536)
    vision.ignore("pos_emb_time", "pos_emb_type")
    vision.fixed(**{f"vt_{key}": size for key, size in zip(TOWER, (hidden, inner, layers, heads), strict=True)})
    vision.fixed(attn_bias=bias, linear_bias=bias, patch_embed_proj_bias=bias, mm_hidden_size=hidden, text_hidden_size=wide)
    vision.fixed(norm_type="layernorm" if bias else "rmsnorm", mlp_type="mlp2")
    merge = vision.listed("merge_kernel_size", [2, 2])
    high, long = (vision.integer(f"pos_emb_{side}|init_pos_emb_{side}", 64) for side in ("height", "width"))
    merged = hidden * merge[0] * merge[-1]
    width = even_width(vision, within, heads)
    layer = [*attention(hidden, heads, heads, width, bias=bias, causal=False), *plain_mlp(hidden, inner, bias)]
    yield from aside([
        *biased("patches", (hidden, 3, patch, patch), "vision", bias=bias),
        Weight("places", (high, long, hidden), "vision"),
        *times(layers, [*layer, *norm("norm", hidden, bias, 2)]),
        *norm("final_norm", hidden, bias),
        *norm("projector.norm", joint, bias),
        *linear("projector.in", merged, merged, bias),
        *linear("projector.out", wide, merged, bias),
    ])  # fmt: skip


@family("internvl", "internvl_chat")
def internvl(config: ModelConfig) -> Iterator[TableRow]:
    """InternVL 2 to 3.5: InternViT, a pixel shuffle, a norm and two matrices; `internvl_chat` is the form of the release.

    InternViT has a class token, learned places and a learned scale after each part.
    """
    released = config.data["model_type"] == "internvl_chat"
    config.ignore("template", "dynamic_image_size", "use_thumbnail", "min_dynamic_patch", "max_dynamic_patch")
    config.ignore("use_backbone_lora", "use_llm_lora", "force_image_size", "image_fold", "system_message")
    config.only("vision_feature_layer", -1)
    text = yield from text_part(config, "qwen2", not released, either=released, classes=("Model",) if released else ())
    vision = config.table_or_defaults("vision_config")
    if released:
        # The code of the release has biases unless the file says otherwise, and no table of pooling.
        vision.data = {"attention_bias": vision.flag("qkv_bias", True), **vision.data}
        vision.ignore("drop_path_rate")
        config.only("select_layer", -1)
    hidden, inner, layers, heads = tower_sizes(vision, 1024, 4096, 24, 16)
    patch, image = vision.repeated("patch_size", 14), vision.repeated("image_size", 448)
    with_bias = vision.text("norm_type", "layer_norm", choices=("layer_norm", "rms_norm")) == "layer_norm"
    bias, normed = vision.flag("attention_bias|qkv_bias", False), vision.flag("use_qk_norm|qk_normalization", False)
    vision.ignore("layer_scale_init_value")
    layer = [*encoder_attention(vision, hidden, heads, bias, True), *plain_mlp(hidden, inner)]
    layer += [
        *norm("norm", hidden, with_bias, 2),
        *norm("qk_norm", hidden, number=2 * normed),
        *norm("scale", hidden, number=2),
    ]
    rows: list[TableRow] = [
        Weight("class", (hidden,), "vision"),
        *([Weight("mask", (hidden,), "vision")] if vision.flag("use_mask_token", False) else []),
        *biased("patches", (hidden, vision.integer("num_channels", 3), patch, patch), "vision"),
        *times(layers, layer),
    ]
    if vision.flag("use_absolute_position_embeddings", True):
        rows.append(Weight("places", ((image // patch) ** 2 + 1, hidden), "vision"))
    if not vision.flag("use_mean_pooling", True):
        rows += norm("final_norm", hidden, True)
    joint, wide = hidden * int(1 / config.number("downsample_ratio", 0.5)) ** 2, text_width(text)
    yield from aside([*rows, *norm("projector.norm", joint, True), *products("projector", joint, wide, wide)])


@family("glm4v", "glm4v_moe", "glm46v", "glm_ocr")
def glm4v(config: ModelConfig) -> Iterator[TableRow]:
    """GLM-4.1V to 4.6V: gated networks, a convolution and a gated merger; GLM-OCR: biases, head norms, no learned places."""
    kind = str(config.data["model_type"])
    ocr = kind == "glm_ocr"
    yield from text_part(config, f"{kind}_text" if kind in ("glm4v_moe", "glm_ocr") else "glm4v_text", False)
    vision = config.table_or_defaults("vision_config")
    usual = (1024, 4096, 24, 16) if ocr else (1536, 13696, 24, 12)
    hidden, inner, layers, heads = tower_sizes(vision, *usual, ("hidden_size", "intermediate_size", "depth", "num_heads"))
    out, merge = vision.whole(out_hidden_size=1536 if ocr else 4096, spatial_merge_size=2)
    image, bias = vision.repeated("image_size", 336), vision.flag("attention_bias", ocr)
    patch, time, channels = vision.whole(patch_size=14, temporal_patch_size=2, in_channels=3)
    mixer = encoder_attention(vision, hidden, heads, bias, ocr and bias)
    network = gated_mlp(hidden, inner if ocr else out, ocr and bias)
    rows = [*mixer, *network, *norm("norm", hidden, number=2), *norm("qk_norm", hidden // heads, number=2 * ocr)]
    yield from aside([
        *biased("patches", (hidden, channels, time, patch, patch), "vision"),
        *([] if ocr else [Weight("places", ((image // patch) ** 2, hidden), "vision")]),
        *times(layers, rows),
        *norm("outer_norm", hidden, number=1 if ocr else 2),
        *biased("downsample", (out, hidden, merge, merge), "vision"),
        *linear("merger.in", out, out),
        *norm("merger.norm", out, True),
        *gated_mlp(out, out * channels if ocr else inner, prefix="merger"),
    ])  # fmt: skip


@family("exaone4_5")
def exaone4_5(config: ModelConfig) -> Iterator[TableRow]:
    """EXAONE 4.5: the encoder of Qwen2.5-VL with grouped heads."""
    config.ignore("num_nextn_predict_layers")
    yield from text_part(config, "exaone4", False, either=True)
    vision = config.table_or_defaults("vision_config")
    hidden, heads = vision.whole(hidden_size=3584, num_heads=16)
    groups, width = vision.integer("num_key_value_heads", 8), even_width(vision, hidden, heads)
    mixer = [*attention(hidden, heads, groups, width, bias=True, causal=False)]
    layers, named = vision.integer("depth", 32, high=MAX_LAYERS), {row.name for row in mixer}
    tower = qwen2_5_vl_tower(vision)
    yield from aside([*times(layers, mixer), *(row for row in tower if row.name not in named)])


#: The text family of each version whose code is described.
_MINICPMV_TEXTS = {2.5: "llama", 2.6: "qwen2", 4.0: "llama", 4.5: "qwen3"}


@family("minicpmv")
def minicpmv(config: ModelConfig) -> Iterator[TableRow]:
    """MiniCPM-V 2.6 and 4.0: SigLIP without pooling, and learned queries that read its patches; the version tells the text."""
    class_suffix(config, "")
    version = config.number("version")
    if version not in _MINICPMV_TEXTS:
        raise config.refuse("version", version, f"one of {', '.join(map(str, _MINICPMV_TEXTS))}; no other code is described")
    config.ignore("image_size", "patch_size", "slice_config", "slice_mode", "use_image_id", "vision_batch_size")
    config.ignore("batch_vision_input", "version")
    vision = config.table_or_defaults("vision_config")
    vision.data = {**SO400M, "image_size": 980, "patch_size": 14, **vision.data, "vision_use_head": False}
    vision.data["num_hidden_layers"] = vision.integer("num_hidden_layers") - config.flag("drop_vision_last_layer", True)
    width, tower = siglip_tower(vision)
    hidden, queries = config.integer("hidden_size"), config.integer("query_num", 64)
    yield from families()[_MINICPMV_TEXTS[version]](config)
    yield from aside([
        *tower,
        Weight("queries", (queries, hidden), "vision"),
        *(linear("reader.kv", hidden, width) if width != hidden else ()),
        *times(4, linear("reader.qkv and o", hidden, hidden, True)),
        *norm("reader.norm", hidden, True, 3),
        *linear("projector", hidden, hidden),
    ])  # fmt: skip


@family("minicpmv4_6")
def minicpmv4_6(config: ModelConfig) -> Iterator[TableRow]:
    """MiniCPM-V 4.6: SigLIP with a merger of windows on the way, Qwen3.5 for the text, and mergers at the end."""
    config.only("drop_vision_last_layer", False)
    config.ignore("insert_layer_id", "downsample_mode", "image_size", "patch_size")
    text = yield from text_part(config, "qwen3_5_text", False)
    vision = config.table_or_defaults("vision_config")
    vision.data = {**vision.data, "vision_use_head": False}
    hidden, tower = siglip_tower(vision)
    heads, inner = vision.whole(num_attention_heads=12, intermediate_size=3072)
    patches = vision.listed("window_kernel_size", [2, 2], 2)
    times_wide = patches[0] * patches[1]
    merged = config.listed("merge_kernel_size", [2, 2], 2)
    wide, rounds = merged[0] * merged[1] * hidden, config.integer("merger_times", 1)
    vision.ignore("insert_layer_id")
    yield from aside([
        *tower,
        *encoder_attention(vision, hidden, heads),
        *norm("merger.norm", hidden, True),
        *norm("merger.window_norm", times_wide * hidden, True),
        *products("merger", times_wide * hidden, times_wide * inner, hidden),
        *norm("projector.norm", wide, True, rounds),
        *times(rounds, linear("projector.1", wide, wide, True)),
        *times(rounds - 1, linear("projector.again", hidden, wide, True)),
        *linear("projector.2", text_width(text), wide, True),
    ])  # fmt: skip


OF_A_CONFIG.update(text=text_part, tower=_tower_beside)
