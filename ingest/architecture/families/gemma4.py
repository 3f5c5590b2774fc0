"""Gemma 4: wide heads in the layers with full attention, embeddings per layer, late layers that share keys, three encoders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.families import vision_encoders
from ingest.architecture.families.gemma3n import conformer
from ingest.architecture.families.vision_language import joined, text_width
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import DecoderSizes, biased, linear, norm, sizes, sliding, windowed
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Attention, TableRow, Weight, times, without


@family("gemma4_text", "gemma4_unified_text")
def gemma4_text(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4: wide heads in the layers with full attention, experts next to the dense network where switched on."""
    s = sizes(config, 2304, 9216, 30, 8, 262144, kv_heads=4, width=256)
    kinds = config.texts("layer_types", s.layers)
    short, window = sliding(config, s.layers, 512, every=6)
    if (kinds is not None and kinds[-1] != "full_attention") or (kinds is None and s.layers % 6):
        raise config.refuse("layer_types", kinds and kinds[-1], "full_attention in the last layer")
    reused = config.integer("num_kv_shared_layers", 0, low=0, high=s.layers - 1)
    double = 2 if config.flag("use_double_wide_mlp", False) else 1
    config.only("use_bidirectional_attention", "vision")
    bias, same = config.flag("attention_bias", False), config.flag("attention_k_eq_v", False)
    wide, groups = _global_heads(config, s, kinds, same)
    everywhere = s._replace(kv_heads=groups, width=wide)
    full = without(everywhere.attention(bias), *(("attention.v", "attention.v.bias") if same else ()))
    again = sum(kind == "sliding_attention" if kinds else (place + 1) % 6 > 0 for place, kind in _last(s.layers, reused, kinds))
    if (again and again == short) or (reused > again and reused - again == s.layers - short):
        raise config.refuse("num_kv_shared_layers", reused, "a layer of each type before those that reuse its keys and values")
    local, wider = [*s.attention(bias), *s.head_norms()], [*full, *everywhere.head_norms()]
    rows: list[TableRow] = [
        *windowed(times(short - again, local), short - again, window),
        *windowed(times(again, _reusing(local, s.width)), again, window),
        *times(s.layers - short - (reused - again), wider),
        *times(reused - again, _reusing(wider, wide)),
        *times(s.layers - reused, s.gated()),
        *times(reused, s.gated(double * s.inner)),
        *times(s.layers, s.norms(4)),
    ]
    if config.flag("enable_moe_block", False):
        number, chosen = config.integer("num_experts"), config.integer("top_k_experts")
        parts = [*s.experts(number, chosen, config.integer("moe_intermediate_size")), *s.norms(3)]
        scales = [Weight("router.scale", (s.hidden,), "router"), Weight("expert.scale", (number,), "router")]
        rows += times(s.layers, [*parts, *scales])
    config.ignore("num_experts", "top_k_experts", "moe_intermediate_size")
    narrow = config.integer("hidden_size_per_layer_input", 256, low=0)
    words = config.integer("vocab_size_per_layer_input", 262144)
    if narrow:
        side = [*linear("layer_input.gate", narrow, s.hidden), *linear("layer_input.out", s.hidden, narrow), *s.norms(1)]
        rows += times(s.layers, side)
        rows += [Weight("layer_embedding", (words, s.layers * narrow), "other")]
        rows += [*linear("layer_input.in", s.layers * narrow, s.hidden), *norm("layer_input.norm", narrow)]
    yield from s.frame(rows, tied=True)


def _last(layers: int, number: int, kinds: list[str] | None) -> Iterator[tuple[int, str]]:
    """So many last layers, with their types where the file lists them."""
    return ((place, kinds[place] if kinds else "") for place in range(layers - number, layers))


def _reusing(rows: Iterable[TableRow], width: int) -> Iterator[TableRow]:
    """The rows of a layer that reads the keys and values of an earlier one: it makes and keeps none."""
    for row in without(rows, "attention.k", "attention.k.bias", "attention.v", "attention.v.bias"):
        if isinstance(row, Attention):
            yield row._replace(cached=0)
        elif row.name == "qk_norm":
            yield from norm("qk_norm", width)
        else:
            yield row


def _global_heads(config: ModelConfig, s: DecoderSizes, kinds: list[str] | None, same: bool) -> tuple[int, int]:
    """Width and key-value heads of the layers with full attention: by keys of their own, or layer by layer."""
    wide = config.integer("global_head_dim", 512)
    groups = config.integer("num_global_key_value_heads", s.kv_heads) if same else s.kv_heads
    config.ignore("num_global_key_value_heads")
    listed = config.part("per_layer_config")
    if listed is None:
        return wide, groups
    full = {number for number in range(s.layers) if (kinds[number] == "full_attention" if kinds else (number + 1) % 6 == 0)}
    inside = [listed.table(key) for key in listed.data]
    found = {(part.integer("head_dim", s.width), part.integer("num_key_value_heads", s.kv_heads)) for part in inside}
    if {int(key) if key.isdecimal() and len(key) < 9 else -1 for key in listed.data} != full or len(found) != 1:
        raise config.refuse("per_layer_config", listed.data, "the same entry for each layer with full attention, and no other")
    return found.pop()


def _sound(config: ModelConfig, text: int) -> Iterator[TableRow]:
    """The conformer of Gemma 3n at other sizes, a product with a bias, and one into the text."""
    hidden, layers = config.integer("hidden_size", 1024), config.integer("num_hidden_layers", 12, high=MAX_LAYERS)
    heads, taps = config.integer("num_attention_heads", 8), config.integer("conv_kernel_size", 5)
    channels = config.integers("subsampling_conv_channels", 2, low=1) or [128, 32]
    out = config.integer("output_proj_dims", 1536)
    config.ignore("model_type", "attention_chunk_size", "attention_context_left", "attention_context_right")
    config.ignore("attention_invalid_logits_value", "attention_logit_cap", "gradient_clipping", "residual_weight")
    config.ignore("use_clipped_linears")
    yield from conformer(config, hidden, layers, heads, taps, 128, channels)
    yield from biased("sound.out", (out, hidden), "audio", 1)
    yield from linear("sound.projector", text, out)


@family("gemma4")
def gemma4(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4 with the encoders that the file has: of images, of sound, both or none."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        text = text_width(wrapper)
        if vision := wrapper.part("vision_config"):
            yield from vision_encoders.gemma4(vision, text)
        if audio := wrapper.part("audio_config"):
            yield from _sound(audio, text)

    yield from joined(config, "gemma4_text", True, rows)


@family("gemma4_unified")
def gemma4_unified(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4 without encoders: patches of pixels and frames of sound go into the text by a product each."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        text = text_width(wrapper)
        if vision := wrapper.part("vision_config"):
            wide, places = vision.integer("mm_embed_dim", 3840), vision.integer("mm_posemb_size", 1120)
            side = vision.integer("patch_size", 16) * vision.integer("pooling_kernel_size", 3)
            vision.only("model_patch_size", side)
            vision.only("output_proj_dims", wide)
            vision.ignore("model_type", "num_soft_tokens")
            yield Weight("places", (places, 2, wide), "vision")
            yield from biased("patches", (wide, 3 * side**2), "vision", 1)
            yield from norm("patches.norm", 3 * side**2, True)
            yield from norm("norm", wide, True, 2)
            yield from linear("projector", text, wide)
        if audio := wrapper.part("audio_config"):
            wide = audio.integer("audio_embed_dim", 640)
            audio.only("output_proj_dims", wide)
            audio.only("hidden_size", wide)
            audio.ignore("model_type", "audio_samples_per_token")
            yield from linear("sound.projector", text, wide)

    yield from joined(config, "gemma4_unified_text", True, rows)
