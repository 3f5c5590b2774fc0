"""Gemma 3n and Gemma 4: embeddings per layer, late layers that share keys, encoders of images and of sound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.families.vision_encoders import TOWER_NAMES
from ingest.architecture.families.vision_language import text_part, text_width
from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    attention,
    biased,
    even_width,
    gated_mlp,
    linear,
    norm,
    sizes,
    sliding,
    tower_sizes,
    windowed,
)
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Attention, TableRow, Weight, aside, times, without, work

#: Parameters of MobileNet-V5 300M, whose sizes no config states: counted on the class of timm.
_MOBILENET = 294_126_912


def _reusing(rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """The rows of a layer that reads the keys and values of an earlier one: it makes and keeps none."""
    for row in without(rows, "attention.k", "attention.k.bias", "attention.v", "attention.v.bias", "k_norm"):
        yield row._replace(cached=0) if isinstance(row, Attention) else row


@family("gemma3n_text")
def gemma3n_text(config: ModelConfig) -> Iterator[TableRow]:
    """The text part: streams (AltUp), a low-rank bypass of attention (LAuReL), shared keys and values in the last layers."""
    s = sizes(config, 2048, None, 35, 8, 262400, kv_heads=2, width=256)
    _, stated = config.get("intermediate_size")
    listed = config.integers("intermediate_size", s.layers, low=1) if isinstance(stated, list) else None
    inner = listed or [config.integer("intermediate_size", 16384)] * s.layers
    kinds = config.texts("layer_types", s.layers, choices=("full_attention", "sliding_attention"))
    short, window = sliding(config, s.layers, 512, every=5)
    reused = config.integer("num_kv_shared_layers", 15, low=0)
    if reused >= s.layers:
        raise config.refuse("num_kv_shared_layers", reused, f"fewer than the {s.layers:,} layers")
    here = kinds or ["full_attention" if (layer + 1) % 5 == 0 else "sliding_attention" for layer in range(s.layers)]
    near = here[: s.layers - reused].count("sliding_attention")
    bias = config.flag("attention_bias", False)
    streams, rank = config.whole(altup_num_inputs=4, laurel_rank=64)
    config.integer("altup_active_idx", 0, low=0, high=streams - 1)
    config.flag("altup_correct_scale", True)
    config.ignore("altup_coef_clip", "altup_lr_multiplier")
    narrow, words = config.whole(hidden_size_per_layer_input=256, vocab_size_per_layer_input=262144)
    mixer = [*s.attention(bias), *norm("q_norm", s.width), *norm("k_norm", s.width)]
    rows = [*windowed(times(s.layers - reused, mixer), near, window)]
    if reused:
        rows += windowed(times(reused, _reusing(mixer)), short - near, window)
    rows += times(s.layers, [
        Weight("altup.scale", (s.hidden,), "other"),
        *linear("altup.correct", streams, streams),
        *linear("altup.predict", streams**2, streams),
        Weight("altup.router", (streams, s.hidden), "mlp", passes=2),
        work("altup.mix", streams, streams, s.hidden, kind="other"),
        *linear("laurel.down", rank, s.hidden),
        *linear("laurel.up", s.hidden, rank),
        *linear("layer_input.gate", narrow, s.hidden),
        *linear("layer_input.out", s.hidden, narrow),
        *s.norms(7),
    ])  # fmt: skip
    for wide in inner:
        rows += gated_mlp(s.hidden, wide)
    rows += [Weight("layer_embedding", (words, s.layers * narrow), "other")]
    rows += [*linear("layer_input.in", s.layers * narrow, s.hidden), *norm("layer_input.norm", narrow)]
    rows += times(2 * (streams - 1), linear("altup.stream", s.hidden, s.hidden))
    yield from s.frame(rows, tied=True)


def _embedder(part: ModelConfig, hidden: int, text: int) -> Iterator[TableRow]:
    """The way from an encoder into the text: a table of its special words, two norms and a product."""
    part.ignore("vocab_offset")
    yield Weight("words", (part.integer("vocab_size", 128), hidden), "vision")
    yield from norm("words.norm", hidden, number=2)
    yield from linear("projector", text, hidden)


def _conformer(
    config: ModelConfig, hidden: int, layers: int, heads: int, taps: int, bands: int, channels: list[int]
) -> Iterator[TableRow]:
    """The encoder of sound: two convolutions, then layers of network, attention, convolution and network.

    `taps` are those of the convolution in each layer, `bands` the frequencies of the spectrum, `channels` those of both
    convolutions at the beginning.
    """
    for _ in range(2):
        bands = (bands + 2 - 3) // 2 + 1
    network: list[TableRow] = [*linear("network.up", 4 * hidden, hidden), *linear("network.down", hidden, 4 * hidden)]
    layer: list[TableRow] = [
        *times(2, [*network, *norm("norm", hidden, number=2)]),
        *times(5, linear("attention.qkv and places, o", hidden, hidden)),
        Weight("attention.scale", (even_width(config, hidden, heads),), "other"),
        *norm("norm", hidden, number=2),
        *linear("convolution.in", 2 * hidden, hidden),
        Weight("convolution", (hidden, 1, taps), "conv"),
        *linear("convolution.out", hidden, hidden),
        *norm("norm", hidden, number=3),
    ]
    yield Weight("sound.1", (channels[0], 1, 3, 3), "conv")
    yield Weight("sound.2", (channels[1], channels[0], 3, 3), "conv")
    yield from norm("sound.norm.1", channels[0])
    yield from norm("sound.norm.2", channels[1])
    yield from linear("sound.in", hidden, channels[1] * bands)
    yield from times(layers, layer)


@family("gemma3n")
def gemma3n(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 3n with its encoders of images, MobileNet-V5, and of sound, a conformer."""
    config.ignore("audio_soft_tokens_per_image")
    text = yield from text_part(config, "gemma3n_text", True)
    vision, audio = config.table_or_defaults("vision_config"), config.table_or_defaults("audio_config")
    vision.fixed(architecture="mobilenetv5_300m_enc", hidden_size=2048)
    vision.only("model_args")
    vision.ignore("do_pooling", "num_classes", "label_names")
    wide = text_width(text)
    seen = [Weight("mobilenet", (_MOBILENET,), "vision"), *_embedder(vision, 2048, wide)]
    hidden, layers = audio.whole(hidden_size=1536, conf_num_hidden_layers=12)
    heads, taps = audio.whole(conf_num_attention_heads=8, conf_conv_kernel_size=5)
    channels = audio.listed("sscp_conv_channel_size", [128, 32], 2)
    audio.only("sscp_conv_kernel_size", [[3, 3], [3, 3]])
    audio.only("sscp_conv_stride_size", [[2, 2], [2, 2]])
    audio.ignore("conf_attention_chunk_size", "conf_attention_context_left", "conf_attention_context_right")
    audio.ignore("conf_attention_logit_cap", "conf_reduction_factor", "conf_residual_weight", "gradient_clipping")
    heard = _conformer(audio, hidden, layers, heads, taps, audio.integer("input_feat_size", 128), channels)
    yield from aside([*seen, *heard, *_embedder(audio, hidden, wide)])


@family("gemma4_text")
def gemma4_text(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4: wide heads in the layers with full attention, experts and inputs per layer where the file has them."""
    yield from _gemma4(config, 512, 256)


@family("gemma4_unified_text")
def gemma4_unified_text(config: ModelConfig) -> Iterator[TableRow]:
    """The text part of a Gemma 4 without encoders: its class has no inputs per layer."""
    config.only("hidden_size_per_layer_input", 0)
    yield from _gemma4(config, 1024, 0)


def _gemma4(config: ModelConfig, near_tokens: int, side_width: int) -> Iterator[TableRow]:
    s = sizes(config, 2304, 9216, 30, 8, 262144, kv_heads=4, width=256)
    kinds = config.texts("layer_types", s.layers)
    short, window = sliding(config, s.layers, near_tokens, every=6)
    if (kinds is not None and kinds[-1] != "full_attention") or (kinds is None and s.layers % 6):
        raise config.refuse("layer_types", kinds and kinds[-1], "full_attention in the last layer")
    near = [kind == "sliding_attention" for kind in kinds] if kinds else [(layer + 1) % 6 > 0 for layer in range(s.layers)]
    reused = config.integer("num_kv_shared_layers", 0, low=0, high=s.layers - 1)
    double = 2 if config.flag("use_double_wide_mlp", False) else 1
    config.only("use_bidirectional_attention", "vision")
    bias, same = config.flag("attention_bias", False), config.flag("attention_k_eq_v", False)
    wide, groups = _global_heads(config, s, kinds, same)
    everywhere = s._replace(kv_heads=groups, width=wide)
    full = without(everywhere.attention(bias), *(("attention.v", "attention.v.bias") if same else ()))
    again = sum(near[s.layers - reused :])
    if (again and again == short) or (reused > again and reused - again == s.layers - short):
        raise config.refuse("num_kv_shared_layers", reused, "a layer of each type before those that reuse its keys and values")
    local, wider = [*s.attention(bias), *s.head_norms()], [*full, *everywhere.head_norms()]
    # A layer without keys of its own has the norm of Q alone.
    late, later = (
        [*without(_reusing(rows), "qk_norm"), *norm("qk_norm", one.width)] for one, rows in ((s, local), (everywhere, wider))
    )
    rows: list[TableRow] = [
        *windowed(times(short - again, local), short - again, window),
        *windowed(times(again, late), again, window),
        *times(s.layers - short - (reused - again), wider),
        *times(reused - again, later),
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
    config.ignore("vocab_size_per_layer_input")
    if narrow := side_width and config.integer("hidden_size_per_layer_input", side_width, low=0):
        words = config.integer("vocab_size_per_layer_input", 262144)
        side = [*linear("layer_input.gate", narrow, s.hidden), *linear("layer_input.out", s.hidden, narrow), *s.norms(1)]
        rows += times(s.layers, side)
        rows += [Weight("layer_embedding", (words, s.layers * narrow), "other")]
        rows += [*linear("layer_input.in", s.layers * narrow, s.hidden), *norm("layer_input.norm", narrow)]
    yield from s.frame(rows, tied=True)


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


@family("gemma4")
def gemma4(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4 with the encoders that the file has: of images, of sound, both or none.

    That of images has norms around each part and on the heads, two tables of places, and one product into the text; that of
    sound is the conformer of Gemma 3n at other sizes, a product with a bias, and one into the text.
    """
    text = text_width((yield from text_part(config, "gemma4_text", True)))
    if vision := config.part("vision_config"):
        hidden, inner, layers, heads = tower_sizes(vision, 768, 3072, 16, 12, TOWER_NAMES)
        groups, width = vision.whole(num_key_value_heads=heads, head_dim=64)
        patch, places = vision.whole(patch_size=16, position_embedding_size=10240)
        # Limits of clipped products are buffers.
        vision.ignore("global_head_dim", "pooling_kernel_size", "num_channels", "use_clipped_linears")
        vision.only("attention_bias", False)
        mixer = [*attention(hidden, heads, groups, width, causal=False), *norm("qk_norm", width, number=2)]
        tables = [Weight("patches", (hidden, 3 * patch**2), "vision"), Weight("places", (2, places, hidden), "vision")]
        layer = times(layers, [*mixer, *gated_mlp(hidden, inner), *norm("norm", hidden, number=4)])
        yield from aside([*tables, *layer, *linear("projector", text, hidden)])
    if audio := config.part("audio_config"):
        hidden, layers = audio.whole(hidden_size=1024, num_hidden_layers=12)
        heads, taps = audio.whole(num_attention_heads=8, conv_kernel_size=5)
        channels = audio.listed("subsampling_conv_channels", [128, 32], 2)
        out = audio.integer("output_proj_dims", 1536)
        audio.ignore("attention_chunk_size", "attention_context_left", "attention_context_right")
        audio.ignore("attention_invalid_logits_value", "attention_logit_cap", "gradient_clipping", "residual_weight")
        audio.ignore("use_clipped_linears")
        heard = _conformer(audio, hidden, layers, heads, taps, 128, channels)
        yield from aside([*heard, *biased("sound.out", (out, hidden), "audio", 1), *linear("sound.projector", text, out)])


@family("gemma4_unified")
def gemma4_unified(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 4 without encoders: patches of pixels and frames of sound go into the text by a product each."""
    text = text_width((yield from text_part(config, "gemma4_unified_text", True)))
    rows: list[TableRow] = []
    if vision := config.part("vision_config"):
        wide, places = vision.whole(mm_embed_dim=3840, mm_posemb_size=1120)
        side = vision.integer("patch_size", 16) * vision.integer("pooling_kernel_size", 3)
        vision.fixed(model_patch_size=side, output_proj_dims=wide)
        vision.ignore("num_soft_tokens")
        rows += [Weight("places", (places, 2, wide), "vision"), *biased("patches", (wide, 3 * side**2), "vision", 1)]
        rows += [*norm("patches.norm", 3 * side**2, True), *norm("norm", wide, True, 2), *linear("projector", text, wide)]
    if audio := config.part("audio_config"):
        wide = audio.integer("audio_embed_dim", 640)
        audio.fixed(output_proj_dims=wide, hidden_size=wide)
        rows += linear("sound.projector", text, wide)
    yield from aside(rows)
