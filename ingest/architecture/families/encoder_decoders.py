"""Encoder-decoder models: T5, BART and successors. One token is one position in encoder and decoder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import attention, embedding, gated_mlp, head, head_width, norm, plain_mlp, positions
from ingest.architecture.registry import class_suffix, family
from ingest.architecture.weight_table import TableRow, Weight, relabelled, times


@family("t5", "mt5", "umt5")
def t5(config: ModelConfig) -> Iterator[TableRow]:
    """Raffel et al. 2019: RMSNorm, no biases, relative places in buckets (in the first layer; in each with umT5)."""
    kind = config.data["model_type"]
    hidden_default, inner_default, layers, heads, words = (
        (512, 2048, 6, 8, 32128) if kind == "t5" else (512, 1024, 8, 6, 250112)
    )
    hidden, inner = config.size("d_model|hidden_size", hidden_default), config.size("d_ff", inner_default)
    deep = config.size("num_layers|num_hidden_layers", layers, high=MAX_LAYERS)
    down = config.integer("num_decoder_layers", deep, high=MAX_LAYERS)
    count, width = config.size("num_heads|num_attention_heads", heads), config.integer("d_kv|head_dim", 64)
    vocabulary, buckets = config.size("vocab_size", words), config.integer("relative_attention_num_buckets", 32)
    act = config.text("feed_forward_proj", "relu" if kind == "t5" else "gated-gelu")
    config.only("is_gated_act", act.startswith("gated"))
    config.ignore("n_positions", "vocab_size_")
    end = class_suffix(config, "ForConditionalGeneration", "WithLMHeadModel", "EncoderModel", "Model")
    feed = [*(gated_mlp(hidden, inner) if act.startswith("gated") else plain_mlp(hidden, inner, False))]
    places = Weight("relative_places", (buckets, count), "position")

    def attend(name: str, causal: bool) -> Iterator[TableRow]:
        cached = causal and name == "self"
        yield from attention(hidden, count, count, width, name=name, prefix=f"{name}_attention", causal=causal, cached=cached)

    yield embedding(vocabulary, hidden)
    each = kind == "umt5"
    up = [*times(deep, [*attend("self", False), *feed, *norm("norm", hidden, number=2)]), *norm("final_norm", hidden)]
    yield from relabelled([*up, *times(deep if each else 1, [places])], "encoder")
    if end == "EncoderModel":
        return
    layer = [*attend("self", True), *attend("cross", False), *feed, *norm("norm", hidden, number=3)]
    yield from relabelled([*times(down, layer), *norm("final_norm", hidden), *times(down if each else 1, [places])], "decoder")
    if not config.flag("tie_word_embeddings", True):
        expected = "true: versions of the class disagree on the head of T5 1.1 (describe it as weights)"
        raise config.refuse("tie_word_embeddings", False, expected)
    if end != "Model":
        yield from head(vocabulary, hidden, tied=True)


class TranslatorSizes(NamedTuple):
    """Sizes of a BART."""

    hidden: int
    layers: tuple[int, int]
    heads: tuple[int, int]
    inner: tuple[int, int]

    def layer(self, side: int, k_bias: bool = True) -> Iterator[TableRow]:
        """Attention to its own side; in the decoder also to the encoder; a plain network; biases; a LayerNorm each."""
        for name in ("self", "cross")[: side + 1]:
            yield from self._attention(side, name, k_bias)
        yield from plain_mlp(self.hidden, self.inner[side])
        yield from norm("norm", self.hidden, True, 2 + side)

    def _attention(self, side: int, name: str, k_bias: bool) -> Iterator[TableRow]:
        heads = self.heads[side]
        own = side == 1 and name == "self"
        rows = attention(
            self.hidden,
            heads,
            heads,
            self.hidden // heads,
            q_bias=True,
            kv_bias=True,
            o_bias=True,
            name=name,
            prefix=f"{name}_attention",
            causal=own,
            cached=own,
        )
        for row in rows:
            if k_bias or getattr(row, "name", "") != f"{name}_attention.k.bias":
                yield row


def translator_sizes(
    config: ModelConfig, hidden: int, layers: tuple[int, int], heads: tuple[int, int], inner: tuple[int, int]
) -> TranslatorSizes:
    """Read the sizes of both sides; the arguments are the family's defaults."""
    wide = config.size("d_model|hidden_size", hidden)
    config.ignore("num_hidden_layers", "num_attention_heads", "extra_pos_embeddings", "add_bias_logits")
    config.only("is_decoder", False)
    counts = (config.integer("encoder_attention_heads", heads[0]), config.integer("decoder_attention_heads", heads[1]))
    for number in counts:
        head_width(ModelConfig({**config.data, "num_attention_heads": number}, config.path), wide, number, name="-")
    return TranslatorSizes(
        wide,
        (
            config.size("encoder_layers", layers[0], high=MAX_LAYERS),
            config.size("decoder_layers", layers[1], high=MAX_LAYERS),
        ),
        counts,
        (config.integer("encoder_ffn_dim", inner[0]), config.integer("decoder_ffn_dim", inner[1])),
    )


def translator(
    config: ModelConfig,
    p: TranslatorSizes,
    words: int,
    places: int,
    *,
    offset: int = 0,
    first_norm: bool = False,
    last_norm: bool = False,
    stored_places: bool = True,
) -> Iterator[TableRow]:
    """The frame of BART: one word table for both sides and the head."""
    vocabulary = config.size("vocab_size", words)
    number = config.integer("max_position_embeddings", places) + offset
    config.only("tie_word_embeddings", True)
    end = class_suffix(config, "ForConditionalGeneration", "MTModel", "Model")
    config.ignore("normalize_embedding", "static_position_embeddings", "add_final_layer_norm")
    yield embedding(vocabulary, p.hidden)
    for side, name in enumerate(("encoder", "decoder")):
        rows: list[TableRow] = [*times(p.layers[side], p.layer(side))]
        if stored_places:
            rows.append(positions(number, p.hidden))
        rows += norm("embedding_norm", p.hidden, True, 1 if first_norm else 0)
        rows += norm("final_norm", p.hidden, True, 1 if last_norm else 0)
        yield from relabelled(rows, name)
    if end != "Model":
        yield from head(vocabulary, p.hidden, config.flag("tie_word_embeddings", True))


@family("bart")
def bart(config: ModelConfig) -> Iterator[TableRow]:
    """Lewis et al. 2019: learned places with an offset of two, norms after each part and over the embedding."""
    p = translator_sizes(config, 1024, (12, 12), (16, 16), (4096, 4096))
    config.only("normalize_before", False)
    config.only("add_final_layer_norm", False)
    yield from translator(config, p, 50265, 1024, offset=2, first_norm=True)


@family("mbart")
def mbart(config: ModelConfig) -> Iterator[TableRow]:
    """Liu et al. 2020: BART with norms before each part, so one at the end of each side."""
    p = translator_sizes(config, 1024, (12, 12), (16, 16), (4096, 4096))
    yield from translator(config, p, 50265, 1024, offset=2, first_norm=True, last_norm=True)


@family("pegasus", "blenderbot")
def pegasus(config: ModelConfig) -> Iterator[TableRow]:
    """Zhang et al. 2019 (sinusoidal places, stored) and Roller et al. 2020 (learned): norms before each part."""
    if config.data["model_type"] == "pegasus":
        p = translator_sizes(config, 1024, (12, 12), (16, 16), (4096, 4096))
        yield from translator(config, p, 50265, 1024, last_norm=True)
    else:
        p = translator_sizes(config, 2560, (2, 24), (32, 32), (10240, 10240))
        yield from translator(config, p, 8008, 128, last_norm=True)


@family("marian")
def marian(config: ModelConfig) -> Iterator[TableRow]:
    """Junczys-Dowmunt et al. 2018: sinusoidal places, stored; one word table for both languages."""
    p = translator_sizes(config, 1024, (12, 12), (16, 16), (4096, 4096))
    config.only("share_encoder_decoder_embeddings", True)
    config.only("decoder_vocab_size", config.size("vocab_size", 58101))
    config.only("tie_word_embeddings", True)
    yield from translator(config, p, 58101, 1024)


@family("m2m_100")
def m2m_100(config: ModelConfig) -> Iterator[TableRow]:
    """Fan et al. 2020, and NLLB: sinusoidal places, not stored; norms before each part."""
    p = translator_sizes(config, 1024, (12, 12), (16, 16), (4096, 4096))
    yield from translator(config, p, 128112, 1024, last_norm=True, stored_places=False)


@family("whisper")
def whisper(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2022: two convolutions over the spectrum, halving it; K without bias; FLOPs as of one text token."""
    p = translator_sizes(config, 384, (4, 4), (6, 6), (1536, 1536))
    config.ignore("use_weighted_layer_sum", "classifier_proj_size", "median_filter_width")
    config.ignore(*(key for key in config.data if key.startswith("mask_")), "alignment_heads")
    vocabulary, bins = config.size("vocab_size", 51865), config.integer("num_mel_bins", 80)
    audio_places, text_places = config.integer("max_source_positions", 1500), config.integer("max_target_positions", 448)
    end = class_suffix(config, "ForConditionalGeneration", "Model")
    yield embedding(vocabulary, p.hidden)
    front: list[TableRow] = [
        Weight("conv1", (p.hidden, bins, 3), "audio", passes=2),
        Weight("conv1.bias", (p.hidden,), "audio"),
        Weight("conv2", (p.hidden, p.hidden, 3), "audio", passes=1),
        Weight("conv2.bias", (p.hidden,), "audio"),
        positions(audio_places, p.hidden),
    ]
    up = [*front, *times(p.layers[0], p.layer(0, k_bias=False)), *norm("final_norm", p.hidden, True)]
    yield from relabelled(up, "encoder")
    down = [
        positions(text_places, p.hidden),
        *times(p.layers[1], p.layer(1, k_bias=False)),
        *norm("final_norm", p.hidden, True),
    ]
    yield from relabelled(down, "decoder")
    if end != "Model":
        yield from head(vocabulary, p.hidden, config.flag("tie_word_embeddings", True))
