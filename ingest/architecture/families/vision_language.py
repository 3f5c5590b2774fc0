"""Models that read images and text: a text model, a vision encoder, and the projection between them.

The vision encoders count as parameters; FLOPs per token are those of a text token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ingest.architecture.families import vision_encoders
from ingest.architecture.families.decoders import ATTENTION_BIAS, Decoder, Experts, register
from ingest.architecture.families.moe import CHOSEN, LOCAL, QWEN_WINDOW, WIDTH, qwen_dense
from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.layers import linear, norm
from ingest.architecture.registry import class_suffix, families, family, resolved
from ingest.architecture.weight_table import TableRow, Weight, relabelled

#: Keys of the wrapper that change no weight: places of images in the text.
_MARKS = ("image_seq_length", "image_token_index", "video_token_index", "spatial_merge_size", "image_grid_pinpoints")

#: Model types of text parts that are registered under another name.
_ALIASES = {"exaone4_5_text": "exaone4", "ministral3": "ministral3_text"}


def joined(
    config: ModelConfig,
    default: str,
    tied: bool,
    rows: Callable[[ModelConfig], Iterable[TableRow]],
    *,
    vision: bool = True,
    either: bool = False,
    sized: bool = False,
    never_tied: bool = False,
    classes: tuple[str, ...] = (),
) -> Iterator[TableRow]:
    """Return the rows of the text part by its own family, then those of the vision encoder.

    The wrapper decides whether the head is tied; where it does not, a text part with another value is refused.
    With `either`, the head is tied where the wrapper or the text part ties it; with `never_tied`, neither may.
    `classes` are further ends of class names.
    With `sized`, the text part must state its width: versions of the class disagree on the default.
    """
    class_suffix(config, "ForConditionalGeneration", *classes)
    text = config.table("text_config|llm_config") if sized else config.table_or_defaults("text_config|llm_config")
    if sized:
        text.integer("hidden_size")
    if never_tied:
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
    text.ignore("architectures", "model_type", "num_image_tokens")
    config.ignore(*_MARKS)
    yield from describing(text)
    vision_rows = [*rows(config)] if vision else []
    yield from relabelled(vision_rows, "vision", "vision", computed=False)


def text_width(config: ModelConfig) -> int:
    """The width that the text part has read: stated, or its family's default."""
    text = config.parts[0]
    default = text.defaults.get(f"{text.prefix}hidden_size")
    return text.integer("hidden_size") if default is None else int(default)


def _with_text(tower: Callable[[ModelConfig, int], list[TableRow]]) -> Callable[[ModelConfig], list[TableRow]]:
    """Return a vision encoder that ends in the width of the text."""
    return lambda wrapper: tower(wrapper.table_or_defaults("vision_config"), text_width(wrapper))


def two_products(config: ModelConfig, width: int, text: int, bias: bool) -> Iterator[TableRow]:
    """Return the projection of LLaVA: two matrices."""
    times_wide = config.length_of("vision_feature_layer")
    yield from linear("projector.1", text, width * times_wide, bias)
    yield from linear("projector.2", text, text, bias)


# fmt: off
register(
    __name__,
    Decoder("qwen2_vl_text qwen2_5_vl_text", "The text part of Qwen2-VL: Qwen2 with other defaults.",
            8192, 29568, 80, 64, 152064, kv_heads=8, bias=True, o_bias=False, ignore=QWEN_WINDOW),
    Decoder("qwen3_vl_text", "The text part of Qwen3-VL: Qwen3 with other defaults.",
            4096, 22016, 32, 32, 151936, kv_heads=32, head_width=128, bias=ATTENTION_BIAS, qk_norm="heads"),
    Decoder("qwen3_vl_moe_text", "The text part of Qwen3-VL MoE: Qwen3 MoE with other defaults.",
            2048, 5632, 24, 16, 151936, kv_heads=16, head_width=128, bias=ATTENTION_BIAS, qk_norm="heads",
            experts=Experts((LOCAL, 60), (CHOSEN, 4), (WIDTH, 1408), dense=qwen_dense)),
)
# fmt: on

_VISION_ENCODERS = {
    "pixtral": vision_encoders.pixtral,
    "clip_vision_model": vision_encoders.clip,
    "siglip_vision_model": vision_encoders.siglip,
}


#: What the classes build where a file has no `vision_config`.
_USUAL_TOWER = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
                "patch_size": 14}  # fmt: skip


def _vision_encoder(config: ModelConfig, default: str) -> tuple[int, list[TableRow]]:
    vision = config.table_or_defaults("vision_config")
    if config.get("vision_config")[1] is None:
        usual = {**_USUAL_TOWER, "image_size": 1540 if default == "pixtral" else 336}
        vision.data = usual
        vision.defaults.update({f"{vision.prefix}{key}": value for key, value in usual.items()})
    vision.ignore("vision_use_head")
    kind = vision.text("model_type", default)
    if kind not in _VISION_ENCODERS:
        raise vision.refuse("model_type", kind, f"one of {', '.join(_VISION_ENCODERS)}")
    return _VISION_ENCODERS[kind](vision)


@family("mistral3", "ministral3")
def mistral3(config: ModelConfig) -> Iterator[TableRow]:
    """Mistral Small 3.1 and Ministral 3: Pixtral; a projection of a norm, a merger of patches and two matrices."""
    if "text_config" not in config.data and config.data["model_type"] == "ministral3":
        yield from families()["ministral3_text"](config)
        return

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        width, tower = _vision_encoder(wrapper, "pixtral")
        yield from tower
        yield from norm("projector.norm", width)
        yield from linear("projector.merge", width, width * wrapper.integer("spatial_merge_size", 2) ** 2)
        bias = wrapper.flag("multimodal_projector_bias", False)
        yield from two_products(wrapper, width, text_width(wrapper), bias)

    yield from joined(config, "mistral", True, rows, sized=True)


@family("llava", "llava_next")
def llava(config: ModelConfig) -> Iterator[TableRow]:
    """Liu et al. 2023: CLIP, projected by two matrices; a learned end of line in LLaVA-NeXT."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        width, tower = _vision_encoder(wrapper, "clip_vision_model")
        yield from tower
        text = text_width(wrapper)
        yield from two_products(wrapper, width, text, wrapper.flag("multimodal_projector_bias", True))
        if wrapper.data["model_type"] == "llava_next":
            yield Weight("newline", (text,), "vision")

    config.ignore("vocab_size")
    yield from joined(config, "llama", False, rows, either=config.data["model_type"] == "llava")


@family("gemma3")
def gemma3(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 3: SigLIP, projected by a norm and one matrix."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        width, tower = vision_encoders.siglip(wrapper.table_or_defaults("vision_config"))
        yield from tower
        yield from norm("projector.norm", width)
        yield Weight("projector", (width, text_width(wrapper)), "vision")

    yield from joined(config, "gemma3_text", True, rows)


@family("paligemma")
def paligemma(config: ModelConfig) -> Iterator[TableRow]:
    """PaliGemma: SigLIP, projected by one matrix."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        width, tower = vision_encoders.siglip(wrapper.table("vision_config"))
        yield from tower
        out = wrapper.parts[-1].get("projection_dim")[1] or wrapper.get("projection_dim")[1]
        text = text_width(wrapper)
        wrapper.only("projection_dim", text)
        if (2048 if out is None else out) != text:
            raise wrapper.refuse("projection_dim", out, f"the width of the text, {text:,} (2,048 by default)")
        yield from linear("projector", text, width, True)

    config.ignore("num_image_tokens", "vocab_size", "hidden_size", "_vocab_size")
    yield from joined(config, "gemma", True, rows)


@family("qwen2_vl", "qwen2_5_vl")
def qwen2_vl(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2-VL and Qwen2.5-VL; older files keep the keys of the text next to `vision_config`."""
    kind = str(config.data["model_type"])
    tower = vision_encoders.qwen2_vl if kind == "qwen2_vl" else vision_encoders.qwen2_5_vl
    if "text_config" not in config.data:
        class_suffix(config, "ForConditionalGeneration")
        yield from families()["qwen2_vl_text"](config)
        vision = config.table("vision_config")
        yield from relabelled(tower(vision), "vision", "vision", computed=False)
        return
    yield from joined(
        config, f"{kind}_text", False, lambda wrapper: tower(wrapper.table_or_defaults("vision_config")), either=True
    )


@family("qwen3_vl", "qwen3_vl_moe")
def qwen3_vl(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3-VL: mergers on the way and at the end."""
    text = f"{config.data['model_type']}_text"
    yield from joined(config, text, False, lambda wrapper: vision_encoders.qwen3_vl(wrapper.table_or_defaults("vision_config")))


@family("qwen3_5", "qwen3_5_moe")
def qwen3_5(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3.5: Qwen3-VL's tower without the mergers on the way."""
    text = f"{config.data['model_type']}_text"
    yield from joined(
        config,
        text,
        False,
        lambda wrapper: vision_encoders.qwen3_vl(wrapper.table_or_defaults("vision_config"), deepstack=False),
    )


@family("llama4")
def llama4(config: ModelConfig) -> Iterator[TableRow]:
    """Llama 4; its class never ties the head."""
    config.only("tie_word_embeddings", False)
    yield from joined(config, "llama4_text", False, _with_text(vision_encoders.llama4), never_tied=True)


@family("kimi_k25")
def kimi_k25(config: ModelConfig) -> Iterator[TableRow]:
    """Kimi K2.5: DeepSeek-V3's structure for the text."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        joint = wrapper.integer("projection_hidden_size", 1152)
        yield from vision_encoders.moonvit(wrapper.table_or_defaults("vision_config"), text_width(wrapper), joint)

    yield from joined(config, "deepseek_v3", True, rows)


@family("kimi_vl")
def kimi_vl(config: ModelConfig) -> Iterator[TableRow]:
    """Kimi-VL: Moonlight, in DeepSeek-V3's structure, and Kimi's encoder of images with one frame."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision = wrapper.table_or_defaults("vision_config")
        yield from vision_encoders.moonvit(vision, text_width(wrapper), vision.integer("hidden_size", 1152))

    yield from joined(config, "deepseek_v3", False, rows)
