"""Gemma 3n: several residual streams of which each layer updates one, embeddings per layer, late layers that share keys."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.vision_language import joined, text_width
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import gated_mlp, head_width, linear, norm, sizes, sliding, windowed
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Attention, TableRow, Weight, times, without

#: Parameters of MobileNet-V5 300M, whose sizes no config states: counted on the class of timm.
_MOBILENET = 294_126_912


@family("gemma3n_text")
def gemma3n_text(config: ModelConfig) -> Iterator[TableRow]:
    """The text part: streams (AltUp), a low-rank bypass of attention (LAuReL), shared keys and values in the last layers."""
    s = sizes(config, 2048, None, 35, 8, 262400, kv_heads=2, width=256)
    _, stated = config.get("intermediate_size")
    listed = config.integers("intermediate_size", s.layers, low=1) if isinstance(stated, list) else None
    inner = listed or [config.integer("intermediate_size", 16384)] * s.layers
    kinds = config.texts("layer_types", s.layers, choices=("full_attention", "sliding_attention"))
    short, window = sliding(config, s.layers, 512, every=5)
    reusing = config.integer("num_kv_shared_layers", 15, low=0)
    if reusing >= s.layers:
        raise config.refuse("num_kv_shared_layers", reusing, f"fewer than the {s.layers:,} layers")
    here = kinds or ["full_attention" if (layer + 1) % 5 == 0 else "sliding_attention" for layer in range(s.layers)]
    own = here[: s.layers - reusing].count("sliding_attention")
    bias = config.flag("attention_bias", False)
    streams, rank = config.integer("altup_num_inputs", 4), config.integer("laurel_rank", 64)
    config.integer("altup_active_idx", 0, low=0, high=streams - 1)
    config.flag("altup_correct_scale", True)
    config.ignore("altup_coef_clip", "altup_lr_multiplier")
    narrow, words = config.integer("hidden_size_per_layer_input", 256), config.integer("vocab_size_per_layer_input", 262144)

    def mixer(layers: int, windows: int, shared: bool) -> Iterator[TableRow]:
        rows = [*s.attention(bias), *norm("q_norm", s.width), *([] if shared else norm("k_norm", s.width))]
        if shared:
            rows = [*without(rows, "attention.k", "attention.v", "attention.k.bias", "attention.v.bias")]
            rows = [row._replace(cached=0) if isinstance(row, Attention) else row for row in rows]
        return windowed(times(layers, rows), windows, window) if layers else iter(())

    layer: list[TableRow] = [
        Weight("altup.scale", (s.hidden,), "other"),
        *linear("altup.correct", streams, streams),
        *linear("altup.predict", streams**2, streams),
        *[row._replace(passes=2) for row in linear("altup.router", streams, s.hidden) if isinstance(row, Weight)],
        Weight("altup.mix (work, no weights)", (streams, streams, s.hidden), "other", 0, 0, 1),
        *linear("laurel.down", rank, s.hidden),
        *linear("laurel.up", s.hidden, rank),
        *linear("layer_input.gate", narrow, s.hidden),
        *linear("layer_input.out", s.hidden, narrow),
        *s.norms(7),
    ]
    rows: list[TableRow] = [*mixer(s.layers - reusing, own, False), *mixer(reusing, short - own, True), *times(s.layers, layer)]
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


def conformer(
    config: ModelConfig, hidden: int, layers: int, heads: int, taps: int, bands: int, channels: list[int]
) -> Iterator[TableRow]:
    """The encoder of sound: two convolutions, then layers of network, attention, convolution and network.

    Args:
        config: the keys, for messages.
        hidden, layers, heads: width, depth, heads.
        taps: of the convolution in each layer.
        bands: frequencies of the spectrum.
        channels: of both convolutions at the beginning.
    """
    for _ in range(2):
        bands = (bands + 2 - 3) // 2 + 1
    network: list[TableRow] = [*linear("network.up", 4 * hidden, hidden), *linear("network.down", hidden, 4 * hidden)]
    layer: list[TableRow] = [
        *times(2, [*network, *norm("norm", hidden, number=2)]),
        *times(5, linear("attention.qkv and places, o", hidden, hidden)),
        Weight("attention.scale", (head_width(config, hidden, heads, name="-"),), "other"),
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


def _sound(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """The conformer of Gemma 3n, and its width."""
    hidden, layers = config.integer("hidden_size", 1536), config.integer("conf_num_hidden_layers", 12, high=MAX_LAYERS)
    heads, taps = config.integer("conf_num_attention_heads", 8), config.integer("conf_conv_kernel_size", 5)
    channels = config.integers("sscp_conv_channel_size", 2, low=1) or [128, 32]
    config.only("sscp_conv_kernel_size", [[3, 3], [3, 3]])
    config.only("sscp_conv_stride_size", [[2, 2], [2, 2]])
    config.ignore("conf_attention_chunk_size", "conf_attention_context_left", "conf_attention_context_right")
    config.ignore("conf_attention_logit_cap", "conf_reduction_factor", "conf_residual_weight", "gradient_clipping")
    config.ignore("sscp_conv_group_norm_eps", "sscp_conv_eps")
    return hidden, [*conformer(config, hidden, layers, heads, taps, config.integer("input_feat_size", 128), channels)]


@family("gemma3n")
def gemma3n(config: ModelConfig) -> Iterator[TableRow]:
    """Gemma 3n with its encoders of images, MobileNet-V5, and of sound, a conformer."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision, audio = wrapper.table_or_defaults("vision_config"), wrapper.table_or_defaults("audio_config")
        for part in (vision, audio):
            part.ignore("model_type", "architectures")
        vision.only("architecture", "mobilenetv5_300m_enc")
        vision.only("hidden_size", 2048)
        vision.only("model_args")
        vision.ignore("do_pooling", "num_classes", "label_names")
        text = text_width(wrapper)
        yield Weight("mobilenet", (_MOBILENET,), "vision")
        yield from _embedder(vision, 2048, text)
        hidden, tower = _sound(audio)
        yield from tower
        yield from _embedder(audio, hidden, text)

    config.ignore("audio_soft_tokens_per_image", "vision_soft_tokens_per_image")
    yield from joined(config, "gemma3n_text", True, rows)
