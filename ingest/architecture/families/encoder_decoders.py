"""Encoder-decoder models: T5, BART and successors. One token is one position in encoder and decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import attention, biased, embedding, gated_mlp, head, head_width, norm, plain_mlp, positions
from ingest.architecture.registry import class_suffix, family
from ingest.architecture.weight_table import TableRow, Weight, over, relabelled, times, without


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
        return attention(hidden, count, count, width, name=name, prefix=f"{name}_attention", causal=causal)

    yield embedding(vocabulary, hidden)
    each = kind == "umt5"
    up = [*times(deep, [*attend("self", False), *feed, *norm("norm", hidden, number=2)]), *norm("final_norm", hidden)]
    yield from relabelled([*up, *times(deep if each else 1, [places])], "encoder")
    if end == "EncoderModel":
        return
    layer = [*attend("self", True), *attend("cross", False), *feed, *norm("norm", hidden, number=3)]
    yield from relabelled([*times(down, layer), *norm("final_norm", hidden), *times(down if each else 1, [places])], "decoder")
    tied = config.flag("tie_word_embeddings", True)
    if end != "Model":
        if not tied:
            # Releases of T5 1.1 store a head of their own; transformers 5 ties it whatever the file says.
            config.doubt("tie_word_embeddings")
        yield from head(vocabulary, hidden, tied)


class Translator(NamedTuple):
    """Sizes of a BART, of encoder and decoder where there are two; the defaults are those of most families.

    Attributes:
        hidden: width.
        layers, heads, inner: of encoder and decoder.
    """

    hidden: int = 1024
    layers: tuple[int, int] = (12, 12)
    heads: tuple[int, int] = (16, 16)
    inner: tuple[int, int] = (4096, 4096)

    def read(self, config: ModelConfig) -> Translator:
        """Return the sizes of a model; those of this object are the defaults."""
        wide = config.size("d_model|hidden_size", self.hidden)
        config.ignore("num_hidden_layers", "num_attention_heads", "extra_pos_embeddings", "add_bias_logits")
        config.only("is_decoder", False)

        def both(read: Callable[..., int], key: str, sides: tuple[int, int], **limits: int) -> tuple[int, int]:
            return read(f"encoder_{key}", sides[0], **limits), read(f"decoder_{key}", sides[1], **limits)

        heads = both(config.integer, "attention_heads", self.heads)
        for number in heads:
            head_width(ModelConfig({**config.data, "num_attention_heads": number}, config.path), wide, number, name="-")
        layers = both(config.size, "layers", self.layers, high=MAX_LAYERS)
        return Translator(wide, layers, heads, both(config.integer, "ffn_dim", self.inner))

    def layer(self, side: int) -> Iterator[TableRow]:
        """Attention to its own side; in the decoder also to the encoder; a plain network; biases; a LayerNorm each."""
        heads = self.heads[side]
        for name in ("self", "cross")[: side + 1]:
            own = side == 1 and name == "self"
            width, prefix = self.hidden // heads, f"{name}_attention"
            yield from attention(self.hidden, heads, heads, width, bias=True, causal=own, name=name, prefix=prefix)
        yield from plain_mlp(self.hidden, self.inner[side])
        yield from norm("norm", self.hidden, True, 2 + side)

    def rows(
        self,
        config: ModelConfig,
        words: int,
        places: int,
        *,
        offset: int = 0,
        first_norm: bool = False,
        last_norm: bool = False,
        stored_places: bool = True,
    ) -> Iterator[TableRow]:
        """The frame of BART: one word table for both sides and the head."""
        p = self.read(config)
        vocabulary = config.size("vocab_size", words)
        number = config.integer("max_position_embeddings", places) + offset
        config.only("tie_word_embeddings", True)
        end = class_suffix(config, "ForConditionalGeneration", "MTModel", "Model")
        config.ignore("normalize_embedding", "static_position_embeddings", "add_final_layer_norm", "normalize_before")
        config.ignore("do_blenderbot_90_layernorm")
        yield embedding(vocabulary, p.hidden)
        for side, name in enumerate(("encoder", "decoder")):
            rows: list[TableRow] = [*times(p.layers[side], p.layer(side))]
            if stored_places:
                rows.append(positions(number, p.hidden))
            rows += norm("embedding_norm", p.hidden, True, int(first_norm))
            rows += norm("final_norm", p.hidden, True, int(last_norm))
            yield from relabelled(rows, name)
        if end != "Model":
            yield from head(vocabulary, p.hidden, config.flag("tie_word_embeddings", True))


@family("bart")
def bart(config: ModelConfig) -> Iterator[TableRow]:
    """Lewis et al. 2019: learned places with an offset of two, norms after each part and over the embedding."""
    config.only("normalize_before", False)
    config.only("add_final_layer_norm", False)
    return Translator().rows(config, 50265, 1024, offset=2, first_norm=True)


@family("mbart")
def mbart(config: ModelConfig) -> Iterator[TableRow]:
    """Liu et al. 2020: BART with norms before each part, so one at the end of each side."""
    return Translator().rows(config, 50265, 1024, offset=2, first_norm=True, last_norm=True)


@family("pegasus", "blenderbot")
def pegasus(config: ModelConfig) -> Iterator[TableRow]:
    """Zhang et al. 2019 (sinusoidal places, stored) and Roller et al. 2020 (learned): norms before each part."""
    if config.data["model_type"] == "pegasus":
        return Translator().rows(config, 50265, 1024, last_norm=True)
    return Translator(2560, (2, 24), (32, 32), (10240, 10240)).rows(config, 8008, 128, last_norm=True)


@family("marian")
def marian(config: ModelConfig) -> Iterator[TableRow]:
    """Junczys-Dowmunt et al. 2018: sinusoidal places, stored; one word table for both languages."""
    config.only("share_encoder_decoder_embeddings", True)
    config.only("decoder_vocab_size", config.size("vocab_size", 58101))
    return Translator().rows(config, 58101, 1024)


@family("m2m_100")
def m2m_100(config: ModelConfig) -> Iterator[TableRow]:
    """Fan et al. 2020, and NLLB: sinusoidal places, not stored; norms before each part."""
    return Translator().rows(config, 128112, 1024, last_norm=True, stored_places=False)


def _looking_at(positions: int, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """A decoder whose cross attention looks at so many positions of an encoder, each of which has one key and one value."""
    for row in rows:
        if isinstance(row, Weight):
            yield row._replace(positions=positions) if row.name in ("cross_attention.k", "cross_attention.v") else row
        else:
            yield row._replace(keys=positions) if row.name == "cross" else row


@family("whisper")
def whisper(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2022: two convolutions over the spectrum, halving it; K without bias; the encoder reads all its frames."""
    p = Translator(384, (4, 4), (6, 6), (1536, 1536)).read(config)
    config.ignore("use_weighted_layer_sum", "classifier_proj_size", "median_filter_width")
    config.ignore(*(key for key in config.data if key.startswith("mask_")), "alignment_heads")
    vocabulary, bins = config.size("vocab_size", 51865), config.integer("num_mel_bins", 80)
    audio_places, text_places = config.integer("max_source_positions", 1500), config.integer("max_target_positions", 448)
    end = class_suffix(config, "ForConditionalGeneration", "Model")
    yield embedding(vocabulary, p.hidden)
    front = [
        *biased("conv1", (p.hidden, bins, 3), "audio", 2),
        *biased("conv2", (p.hidden, p.hidden, 3), "audio", 1),
    ]
    for side, name, first, places in ((0, "encoder", front, audio_places), (1, "decoder", [], text_places)):
        layer = without(p.layer(side), "self_attention.k.bias", "cross_attention.k.bias")
        rows = [*first, positions(places, p.hidden), *times(p.layers[side], layer), *norm("final_norm", p.hidden, True)]
        yield from relabelled(over(places, rows) if side == 0 else _looking_at(audio_places, rows), name)
    if end != "Model":
        yield from head(vocabulary, p.hidden, config.flag("tie_word_embeddings", True))
