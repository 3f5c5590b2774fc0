"""Encoders of text, BERT and its successors; encoders with decoders, T5, BART and theirs.

With a decoder, one token is one position in encoder and decoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    attention,
    biased,
    embedding,
    encoder_attention,
    encoder_layer,
    even_width,
    gated_mlp,
    head,
    linear,
    norm,
    plain_mlp,
    positions,
    windowed,
)
from ingest.architecture.registry import class_suffix, family, labels, register
from ingest.architecture.weight_table import Attention, TableRow, Weight, over, relabelled, times, without, work
from ingest.files import table_beside

#: Ends of the class names of classifiers.
CLASSIFIERS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")


class Encoder(NamedTuple):
    """Sizes of a BERT."""

    config: ModelConfig
    hidden: int
    inner: int
    layers: int
    heads: int
    words: int
    places: int
    segments: int

    def layer(self) -> list[TableRow]:
        """Attention and a plain network, biases everywhere, a LayerNorm each."""
        return encoder_layer(self.config, self.hidden, self.inner, self.heads)

    def tables(self, width: int | None = None, scaled: bool = True) -> Iterator[TableRow]:
        """Words, places and segments, and a norm over their sum."""
        wide = width or self.hidden
        yield embedding(self.words, wide)
        if self.places:
            yield positions(self.places, wide)
        if self.segments:
            yield positions(self.segments, wide, "segment_embedding")
        yield from norm("embedding_norm", wide, True, 1 if scaled else 0)

    def heads_of(
        self, language: Sequence[str], narrow: int = 0, sentence: str = "", *, pooled: bool = True, twice: bool = True
    ) -> Iterator[TableRow]:
        """The head of the class: words at the width of the embedding, a pair of sentences where the family has it, or classes.

        Classes of these ends (`language`) have a head over the words, of the width `narrow` where the embedding is not as wide
        as the layers. `pooled`: a product over the first token, where the class has no other head; `twice`: a head that is not
        tied keeps a second bias.
        """
        pairs = ("ForPreTraining",) if sentence else ()
        end = class_suffix(self.config, *language, *pairs, "Model", *CLASSIFIERS)
        if pooled and end in ("ForPreTraining", "Model"):
            yield from biased("pooler", (self.hidden, self.hidden), "head")
        if end in (*language, "ForPreTraining"):
            yield from self.words_head(narrow or self.hidden, twice)
        if end == "ForPreTraining":
            yield from linear(sentence, 2, self.hidden, True, "head")
        if end in CLASSIFIERS:
            yield from self.classifier(end)

    def words_head(self, narrow: int, twice: bool = False) -> Iterator[TableRow]:
        """The head over the words behind a product and a norm, tied by default; untied, many classes keep a second bias."""
        yield from linear("head.transform", narrow, self.hidden, True, "head")
        yield from norm("head.norm", narrow, True)
        together = self.config.flag("tie_word_embeddings", True)
        yield from head(self.words, narrow, together, True)
        if not together and twice:
            yield Weight("head.bias", (self.words,), "head")

    def classifier(self, end: str) -> Iterator[TableRow]:
        """The classifier of such a class: one product over the first token, behind the pooler for whole sequences."""
        if end == "ForSequenceClassification":
            yield from biased("pooler", (self.hidden, self.hidden), "head")
        yield from biased("classifier", (labels(self.config), self.hidden), "head")


def encoder(
    config: ModelConfig, hidden: int, inner: int, layers: int, heads: int, words: int, places: int = 512, segments: int = 2,
    placed: str = "absolute",
) -> Encoder:  # fmt: skip
    """Read the sizes; the arguments are the family's defaults, `placed` its only kind of positions."""
    config.fixed(is_decoder=False, add_cross_attention=False, position_embedding_type=placed, feed_forward_type="original")
    config.ignore("pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "gap_size")
    config.ignore("num_memory_blocks", "directionality", "pooler_type")
    wide = config.size("hidden_size|dim|d_model", hidden)
    count = config.size("num_attention_heads|n_heads", heads)
    network = config.size("intermediate_size|hidden_dim", inner)
    depth = config.size("num_hidden_layers|n_layers", layers, high=MAX_LAYERS)
    even_width(config, wide, count)
    vocabulary, reach = config.size("vocab_size", words), config.integer("max_position_embeddings", places)
    return Encoder(config, wide, network, depth, count, vocabulary, reach, config.integer("type_vocab_size", segments, low=0))


class Bert(NamedTuple):
    """A family that differs from BERT in its sizes and its heads."""

    #: model_types, doc: see `Decoder`
    model_types: str
    doc: str
    #: hidden, inner, layers, heads, words: the family's default sizes
    hidden: int
    inner: int
    layers: int
    heads: int
    words: int
    language: str  # ends of the classes with a head over the words, separated by spaces
    sentence: str = ""  # name of the head over two sentences, where there is one
    early: bool = False  # norms before each part, so one at the end and none over the embedding
    halved: bool = False  # half of BERT, without segments, pooler and second bias

    def rows(self, config: ModelConfig) -> Iterator[TableRow]:
        """Return the rows of one model of the family."""
        if self.halved:
            config.ignore("sinusoidal_pos_embds", "type_vocab_size")
        e = encoder(config, *self[2:7], segments=0 if self.halved else 2)
        e = e._replace(segments=0) if self.halved else e
        tasks = config.data["model_type"] == "ernie" and config.flag("use_task_id", False)
        tables = [*e.tables(scaled=not self.early)]
        if tasks:
            tables.append(positions(config.integer("task_type_vocab_size", 3), e.hidden, "task_embedding"))
        if self.sentence and not self.early:
            config.ignore("task_type_vocab_size")
        yield from [*tables, *times(e.layers, e.layer()), *norm("final_norm", e.hidden, True, int(self.early))]
        yield from e.heads_of(self.language.split(), sentence=self.sentence, pooled=not self.halved, twice=not self.halved)


register(__name__, *(Bert(names, **said) for names, said in table_beside(__file__, "bert.yaml").items()))


@family("albert")
def albert(config: ModelConfig) -> Iterator[TableRow]:
    """Lan et al. 2019: one layer for all, a narrow embedding."""
    e = encoder(config, 4096, 16384, 12, 64, 30000)
    narrow, groups, deep = config.whole(embedding_size=128, num_hidden_groups=1, inner_group_num=1)
    if e.layers % groups:
        raise config.refuse("num_hidden_groups", groups, f"a divisor of the {e.layers:,} layers")
    yield from e.tables(narrow)
    yield from linear("embedding.in", e.hidden, narrow, True, "other")
    yield from times(groups * deep, times(e.layers // groups, e.layer(), stored=False))
    yield from e.heads_of(("ForMaskedLM",), narrow, "sentence_order")


def _places(config: ModelConfig, e: Encoder) -> tuple[bool, list[str], int]:
    """Relative places of both versions of DeBERTa: are there any, the kinds of attention to them, how far they reach."""
    config.ignore("pooler_hidden_size")
    config.only("embedding_size", e.hidden)
    relative = config.flag("relative_attention", False)
    kinds = config.names("pos_att_type")
    if not all(kind in ("c2p", "p2c") for kind in kinds):
        raise config.refuse("pos_att_type", kinds, "c2p, p2c or both")
    return relative, kinds, config.optional_integer("max_relative_positions", -1, 0) or e.places


def _deberta(config: ModelConfig, e: Encoder, layer: Iterable[TableRow], *relative: TableRow) -> Iterator[TableRow]:
    """Tables, layers, what belongs to relative places, and the head of the class."""
    absolute = config.flag("position_biased_input", True)
    yield from e._replace(places=e.places if absolute else 0).tables()
    yield from times(e.layers, layer)
    yield from relative
    if class_suffix(config, "ForMaskedLM", "Model", *CLASSIFIERS) == "ForMaskedLM":
        config.only("legacy", True)
    yield from e.heads_of(("ForMaskedLM",), pooled=False)


@family("deberta-v2")
def deberta_v2(config: ModelConfig) -> Iterator[TableRow]:
    """He et al. 2021: attention to contents and to relative places; their projections shared with those of the contents.

    Each sequence counts the projections of all places; a batch shares them.
    """
    e = encoder(config, 1536, 6144, 24, 24, 128100, segments=0)
    width = e.hidden // e.heads
    config.only("attention_head_size", width)
    relative, kinds, reach = _places(config, e)
    span = config.optional_integer("position_buckets", -1, 0) or reach
    layer = e.layer()
    if relative:
        square, shared_keys = (e.hidden, e.hidden), config.flag("share_att_key", False)
        again = work("attention.place", *square, kind="attention")
        for _ in kinds:
            layer += over(2 * span, [again] if shared_keys else biased("attention.place", square, "attention", 1))
    if relative and kinds:
        layer.append(Attention("places", e.heads, width * len(kinds), 0, causal=False, keys=2 * span))
    rows = [positions(2 * span, e.hidden, "relative_embedding")] if relative else []
    scaled = [word.lower() for word in config.names("norm_rel_ebd")]
    if not {*scaled} <= {"none", "layer_norm"}:
        raise config.refuse("norm_rel_ebd", "|".join(scaled), "none or layer_norm")
    if "layer_norm" in scaled:
        rows += norm("relative_norm", e.hidden, True)
    taps = config.optional_integer("conv_kernel_size", 0)
    if taps is not None:
        groups = config.integer("conv_groups", 1)
        rows += biased("conv", (e.hidden, e.hidden // groups, taps), "conv", 1)
        rows += norm("conv.norm", e.hidden, True)
    config.ignore("conv_groups")
    yield from _deberta(config, e, layer, *rows)


@family("deberta")
def deberta(config: ModelConfig) -> Iterator[TableRow]:
    """He et al. 2020: one matrix for Q, K, V with biases on Q and V, and projections of relative places.

    A token has two places: so far before it, and so far behind it, as the sequence reaches.
    """
    e = encoder(config, 768, 3072, 12, 12, 50265, segments=0)
    config.only("talking_head", False)
    relative, kinds, reach = _places(config, e)
    layer = [*without(e.layer(), "attention.k.bias")]
    if relative and "c2p" in kinds:
        layer.append(Weight("attention.place_key", (e.hidden, e.hidden), "attention", passes=2))
    if relative and "p2c" in kinds:
        layer += biased("attention.place_query", (e.hidden, e.hidden), "attention", 2)
    if relative and kinds:
        layer.append(Attention("places", e.heads, 2 * (e.hidden // e.heads) * len(kinds), 0, causal=False))
    rows = [positions(2 * reach, e.hidden, "relative_embedding")] if relative else []
    yield from _deberta(config, e, layer, *rows)


@family("modernbert")
def modernbert(config: ModelConfig) -> Iterator[TableRow]:
    """Warner et al. 2024: rotary positions, gated networks, two layers of three within a window."""
    e = encoder(config, 768, 1152, 22, 12, 50368, places=8192, segments=0)
    norms, bias = config.flag("norm_bias", False), config.flag("attention_bias", False)
    mlp_bias, last = config.flag("mlp_bias", False), config.flag("decoder_bias", True)
    config.ignore("type_vocab_size", "classifier_bias")
    kinds = config.texts("layer_types", e.layers, choices=("full_attention", "sliding_attention"))
    every, width = config.integer("global_attn_every_n_layers", 3, low=1), config.integer("local_attention", 128, low=1)
    short = e.layers - -(-e.layers // every) if kinds is None else kinds.count("sliding_attention")
    yield embedding(e.words, e.hidden)
    yield from norm("embedding_norm", e.hidden, norms)
    layer = [*encoder_attention(config, e.hidden, e.heads, bias), *gated_mlp(e.hidden, e.inner, mlp_bias)]
    yield from windowed(times(e.layers, layer), short, width)
    yield from norm("norm", e.hidden, norms, 2 * e.layers - 1)
    yield from norm("final_norm", e.hidden, norms)
    end = class_suffix(config, "ForMaskedLM", "Model")
    if end == "ForMaskedLM":
        yield from linear("head.transform", e.hidden, e.hidden, config.flag("classifier_bias", False), "head")
        yield from norm("head.norm", e.hidden, norms)
        yield from head(e.words, e.hidden, config.flag("tie_word_embeddings", True), last)


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

    own, decoding, cross = (
        [*attention(hidden, count, count, width, name=name, prefix=f"{name}_attention", causal=causal)]
        for name, causal in (("self", False), ("self", True), ("cross", False))
    )
    yield embedding(vocabulary, hidden)
    each = kind == "umt5"
    up = [*times(deep, [*own, *feed, *norm("norm", hidden, number=2)]), *norm("final_norm", hidden)]
    yield from relabelled([*up, *times(deep if each else 1, [places])], "encoder")
    if end == "EncoderModel":
        return
    layer = [*decoding, *cross, *feed, *norm("norm", hidden, number=3)]
    yield from relabelled([*times(down, layer), *norm("final_norm", hidden), *times(down if each else 1, [places])], "decoder")
    tied = config.flag("tie_word_embeddings", True)
    if end != "Model":
        if not tied:
            # Releases of T5 1.1 store a head of their own; transformers 5 ties it whatever the file says.
            config.doubtful.add("tie_word_embeddings")
        yield from head(vocabulary, hidden, tied)


class Translator(NamedTuple):
    """A family of BART's kind, one word table for both sides and the head; sizes are defaults, of encoder and decoder."""

    #: model_types, doc: see `Decoder`
    model_types: str
    doc: str
    hidden: int = 1024  # width
    #: layers, heads, inner: of encoder and decoder
    layers: Sequence[int] = (12, 12)
    heads: Sequence[int] = (16, 16)
    inner: Sequence[int] = (4096, 4096)
    #: words, places: default vocabulary and learned places
    words: int = 50265
    places: int = 1024
    offset: int = 0  # places before the first one
    #: first_norm, last_norm: a norm over the embedding of each side, and one at its end
    first_norm: bool = False
    last_norm: bool = False
    stored_places: bool = True  # whether the table of places is stored
    only: Mapping[str, object] = MappingProxyType({})  # keys that must have this value

    def read(self, config: ModelConfig) -> Translator:
        """Return the sizes of a model."""
        wide = config.size("d_model|hidden_size", self.hidden)
        config.ignore("num_hidden_layers", "num_attention_heads", "extra_pos_embeddings", "add_bias_logits")
        config.only("is_decoder", False)
        sides = ("encoder", "decoder")
        first, second = (
            config.integer(f"{side}_attention_heads", count) for side, count in zip(sides, self.heads, strict=True)
        )
        for number in (first, second):
            even_width(ModelConfig({**config.data, "num_attention_heads": number}, config.path), wide, number)
        up, down = (config.size(f"{side}_layers", deep, high=MAX_LAYERS) for side, deep in zip(sides, self.layers, strict=True))
        inner, other = (config.integer(f"{side}_ffn_dim", width) for side, width in zip(sides, self.inner, strict=True))
        return self._replace(hidden=wide, layers=(up, down), heads=(first, second), inner=(inner, other))

    def layer(self, side: int) -> Iterator[TableRow]:
        """Attention to its own side; in the decoder also to the encoder; a plain network; biases; a LayerNorm each."""
        heads = self.heads[side]
        for name in ("self", "cross")[: side + 1]:
            own = side == 1 and name == "self"
            width, prefix = self.hidden // heads, f"{name}_attention"
            yield from attention(self.hidden, heads, heads, width, bias=True, causal=own, name=name, prefix=prefix)
        yield from plain_mlp(self.hidden, self.inner[side])
        yield from norm("norm", self.hidden, True, 2 + side)

    def rows(self, config: ModelConfig) -> Iterator[TableRow]:
        """Return the rows of one model of the family."""
        config.fixed(**self.only)
        if self.model_types == "marian":
            config.only("decoder_vocab_size", config.size("vocab_size", self.words))
        p = self.read(config)
        vocabulary = config.size("vocab_size", self.words)
        number = config.integer("max_position_embeddings", self.places) + self.offset
        config.only("tie_word_embeddings", True)
        end = class_suffix(config, "ForConditionalGeneration", "MTModel", "Model")
        config.ignore("normalize_embedding", "static_position_embeddings", "add_final_layer_norm", "normalize_before")
        config.ignore("do_blenderbot_90_layernorm")
        yield embedding(vocabulary, p.hidden)
        for side, name in enumerate(("encoder", "decoder")):
            rows: list[TableRow] = [*times(p.layers[side], p.layer(side))]
            rows += [positions(number, p.hidden)] if self.stored_places else []
            rows += norm("embedding_norm", p.hidden, True, int(self.first_norm))
            rows += norm("final_norm", p.hidden, True, int(self.last_norm))
            yield from relabelled(rows, name)
        if end != "Model":
            yield from head(vocabulary, p.hidden, config.flag("tie_word_embeddings", True))


register(__name__, *(Translator(names, **said) for names, said in table_beside(__file__, "translators.yaml").items()))


@family("whisper")
def whisper(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2022: two convolutions over the spectrum, halving it; K without bias; the encoder reads all its frames."""
    p = Translator("", "", 384, (4, 4), (6, 6), (1536, 1536)).read(config)
    config.ignore("use_weighted_layer_sum", "classifier_proj_size", "median_filter_width")
    config.ignore(*(key for key in config.data if key.startswith("mask_")), "alignment_heads")
    vocabulary = config.size("vocab_size", 51865)
    bins, audio_places, text_places = config.whole(num_mel_bins=80, max_source_positions=1500, max_target_positions=448)
    end = class_suffix(config, "ForConditionalGeneration", "Model")
    yield embedding(vocabulary, p.hidden)
    for side, name, places in ((0, "encoder", audio_places), (1, "decoder", text_places)):
        layer = without(p.layer(side), "self_attention.k.bias", "cross_attention.k.bias")
        rows = [positions(places, p.hidden), *times(p.layers[side], layer), *norm("final_norm", p.hidden, True)]
        if side == 0:
            front = [*biased("conv1", (p.hidden, bins, 3), "audio", 2), *biased("conv2", (p.hidden, p.hidden, 3), "audio", 1)]
            rows = [*over(places, [*front, *rows])]
        # The decoder looks at the positions of the encoder, each of which has one key and one value.
        heard: dict[str, Any] = {f"decoder.cross_attention.{part}": {"positions": audio_places} for part in "kv"}
        heard["decoder.cross"] = {"keys": audio_places, "cached": 2 * p.hidden}
        for row in relabelled(rows, name):
            yield row._replace(**heard.get(row.name, {}))
    if end != "Model":
        yield from head(vocabulary, p.hidden, config.flag("tie_word_embeddings", True))
