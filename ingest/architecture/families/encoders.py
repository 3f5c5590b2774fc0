"""Encoders of text: BERT and its successors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    attention,
    biased,
    embedding,
    encoder_attention,
    gated_mlp,
    head,
    head_width,
    linear,
    norm,
    plain_mlp,
    positions,
    sizes,
)
from ingest.architecture.registry import class_suffix, family, labels
from ingest.architecture.weight_table import Attention, TableRow, Weight, over, shared, times, without

#: Ends of the class names of classifiers.
CLASSIFIERS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")


class Encoder(NamedTuple):
    """Sizes of a BERT."""

    hidden: int
    inner: int
    layers: int
    heads: int
    width: int
    words: int
    places: int
    segments: int

    def layer(self) -> Iterator[TableRow]:
        """Attention and a plain network, biases everywhere, a LayerNorm each."""
        yield from encoder_attention(self.hidden, self.heads, self.width)
        yield from plain_mlp(self.hidden, self.inner)
        yield from norm("norm", self.hidden, True, 2)

    def tables(self, width: int | None = None, scaled: bool = True) -> Iterator[TableRow]:
        """Words, places and segments, and a norm over their sum."""
        wide = width or self.hidden
        yield embedding(self.words, wide)
        if self.places:
            yield positions(self.places, wide)
        if self.segments:
            yield positions(self.segments, wide, "segment_embedding")
        yield from norm("embedding_norm", wide, True, 1 if scaled else 0)


def encoder(
    config: ModelConfig,
    hidden: int,
    inner: int,
    layers: int,
    heads: int,
    words: int,
    places: int = 512,
    segments: int = 2,
) -> Encoder:
    """Read the sizes; the arguments are the family's defaults."""
    config.only("is_decoder", False)
    config.only("add_cross_attention", False)
    config.only("position_embedding_type", "absolute")
    config.only("feed_forward_type", "original")
    config.ignore("pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head")
    config.ignore("gap_size", "num_memory_blocks", "directionality", "pooler_type")
    wide = config.size("hidden_size|dim|d_model", hidden)
    count = config.size("num_attention_heads|n_heads", heads)
    return Encoder(
        wide,
        config.size("intermediate_size|hidden_dim", inner),
        config.size("num_hidden_layers|n_layers", layers, high=MAX_LAYERS),
        count,
        head_width(config, wide, count, name="-"),
        config.size("vocab_size", words),
        config.integer("max_position_embeddings", places),
        config.integer("type_vocab_size", segments, low=0),
    )


def tied(config: ModelConfig, words: int, width: int, bias: bool = True, twice: bool = True) -> Iterator[TableRow]:
    """Return the head over the words, tied by default; untied, many classes keep a second bias."""
    together = config.flag("tie_word_embeddings", True)
    yield from head(words, width, together, bias)
    if not together and twice:
        yield Weight("head.bias", (words,), "head")


def classifier(config: ModelConfig, width: int, end: str) -> Iterator[TableRow]:
    """Return the classifier of such a class: one product over the first token, behind the pooler for whole sequences."""
    if end == "ForSequenceClassification":
        yield from pooler(width)
    yield from biased("classifier", (labels(config), width), "head")


def pooler(width: int) -> Iterator[TableRow]:
    """A product over the first token."""
    return biased("pooler", (width, width), "head")


def transform(out: int, into: int) -> Iterator[TableRow]:
    """The product and norm before the head over the words."""
    yield from linear("head.transform", out, into, True, "head")
    yield from norm("head.norm", out, True)


@family("bert", "ernie")
def bert(config: ModelConfig) -> Iterator[TableRow]:
    """Devlin et al. 2018; the parts behind the layers depend on the class that `architectures` names."""
    e = encoder(config, 768, 3072, 12, 12, 30522)
    tasks = 0
    if config.data["model_type"] == "ernie" and config.flag("use_task_id", False):
        tasks = config.integer("task_type_vocab_size", 3)
    config.ignore("task_type_vocab_size")
    yield from e.tables()
    if tasks:
        yield positions(tasks, e.hidden, "task_embedding")
    yield from times(e.layers, e.layer())
    yield from _heads(config, e, ("ForMaskedLM", "LMHeadModel"), e.hidden, "next_sentence")


def _heads(
    config: ModelConfig,
    e: Encoder,
    language: tuple[str, ...],
    narrow: int,
    sentence: str = "",
    *,
    pooled: bool = True,
    twice: bool = True,
) -> Iterator[TableRow]:
    """The head of the class: words at the width of the embedding, a pair of sentences where the family has it, or classes."""
    end = class_suffix(config, *language, *(("ForPreTraining",) if sentence else ()), "Model", *CLASSIFIERS)
    if pooled and end in ("ForPreTraining", "Model"):
        yield from pooler(e.hidden)
    if end in (*language, "ForPreTraining"):
        yield from transform(narrow, e.hidden)
        yield from tied(config, e.words, narrow, twice=twice)
    if end == "ForPreTraining":
        yield from linear(sentence, 2, e.hidden, True, "head")
    if end in CLASSIFIERS:
        yield from classifier(config, e.hidden, end)


@family("megatron-bert")
def megatron_bert(config: ModelConfig) -> Iterator[TableRow]:
    """Megatron BERT: norms before each part, so one at the end and none over the embedding."""
    e = encoder(config, 1024, 4096, 24, 16, 29056)
    yield from e.tables(scaled=False)
    yield from times(e.layers, e.layer())
    yield from norm("final_norm", e.hidden, True)
    yield from _heads(config, e, ("ForMaskedLM", "LMHeadModel"), e.hidden, "next_sentence")


@family("roberta", "xlm-roberta", "camembert")
def roberta(config: ModelConfig) -> Iterator[TableRow]:
    """Liu et al. 2019: BERT without the sentence task."""
    e = encoder(config, 768, 3072, 12, 12, 50265 if config.data["model_type"] == "roberta" else 30522)
    yield from e.tables()
    yield from times(e.layers, e.layer())
    yield from _heads(config, e, ("ForMaskedLM", "ForCausalLM"), e.hidden)


@family("distilbert")
def distilbert(config: ModelConfig) -> Iterator[TableRow]:
    """Sanh et al. 2019: half the layers of BERT, no segments."""
    config.ignore("sinusoidal_pos_embds", "tie_weights_", "type_vocab_size")
    e = encoder(config, 768, 3072, 6, 12, 30522, segments=0)
    yield from e._replace(segments=0).tables()
    yield from times(e.layers, e.layer())
    yield from _heads(config, e, ("ForMaskedLM",), e.hidden, pooled=False, twice=False)


@family("albert")
def albert(config: ModelConfig) -> Iterator[TableRow]:
    """Lan et al. 2019: one layer for all, a narrow embedding."""
    e = encoder(config, 4096, 16384, 12, 64, 30000)
    narrow = config.integer("embedding_size", 128)
    groups, deep = config.integer("num_hidden_groups", 1), config.integer("inner_group_num", 1)
    if e.layers % groups:
        raise config.refuse("num_hidden_groups", groups, f"a divisor of the {e.layers:,} layers")
    yield from e.tables(narrow)
    yield from linear("embedding.in", e.hidden, narrow, True, "other")
    yield from times(groups * deep, shared(e.layers // groups, e.layer()))
    yield from _heads(config, e, ("ForMaskedLM",), narrow, "sentence_order")


@family("electra")
def electra(config: ModelConfig) -> Iterator[TableRow]:
    """Clark et al. 2020: a discriminator over replaced tokens, or the generator that replaces them."""
    e = encoder(config, 256, 1024, 12, 4, 30522)
    narrow = config.integer("embedding_size", 128)
    yield from e.tables(narrow)
    if narrow != e.hidden:
        yield from linear("embedding.in", e.hidden, narrow, True, "other")
    yield from times(e.layers, e.layer())
    end = class_suffix(config, "ForMaskedLM", "Model", "ForPreTraining", *CLASSIFIERS)
    if end == "ForMaskedLM":
        yield from transform(narrow, e.hidden)
        yield from tied(config, e.words, narrow, twice=False)
    elif end == "ForPreTraining":
        yield from linear("discriminator", e.hidden, e.hidden, True, "head")
        yield from linear("discriminator.out", 1, e.hidden, True, "head")
    elif end != "Model":
        yield from classifier(config, e.hidden, end)


class Places(NamedTuple):
    """Relative places of DeBERTa: whether there are any, the kinds of attention to them, and how far they reach."""

    relative: bool
    kinds: list[str]
    reach: int


def _places(config: ModelConfig, e: Encoder) -> Places:
    """Read the keys that both versions of DeBERTa have."""
    config.ignore("pooler_hidden_size")
    config.only("embedding_size", e.hidden)
    relative = config.flag("relative_attention", False)
    kinds = config.names("pos_att_type")
    if not all(kind in ("c2p", "p2c") for kind in kinds):
        raise config.refuse("pos_att_type", kinds, "c2p, p2c or both")
    return Places(relative, kinds, config.optional_integer("max_relative_positions", -1, 0) or e.places)


def _deberta(config: ModelConfig, e: Encoder, layer: Iterable[TableRow], *relative: TableRow) -> Iterator[TableRow]:
    """Tables, layers, what belongs to relative places, and the head of the class."""
    absolute = config.flag("position_biased_input", True)
    yield from e._replace(places=e.places if absolute else 0).tables()
    yield from times(e.layers, layer)
    yield from relative
    if class_suffix(config, "ForMaskedLM", "Model", *CLASSIFIERS) == "ForMaskedLM":
        config.only("legacy", True)
    yield from _heads(config, e, ("ForMaskedLM",), e.hidden, pooled=False)


@family("deberta-v2")
def deberta_v2(config: ModelConfig) -> Iterator[TableRow]:
    """He et al. 2021: attention to contents and to relative places; their projections shared with those of the contents.

    Each sequence counts the projections of all places; a batch shares them.
    """
    e = encoder(config, 1536, 6144, 24, 24, 128100, segments=0)
    config.only("attention_head_size", e.width)
    places = _places(config, e)
    span = config.optional_integer("position_buckets", -1, 0) or places.reach
    layer = [*e.layer()]
    if places.relative:
        square, shared_keys = (e.hidden, e.hidden), config.flag("share_att_key", False)
        again = Weight("attention.place (work, no weights)", square, "attention", 0, 0, 1)
        for _ in places.kinds:
            layer += over(2 * span, [again] if shared_keys else biased("attention.place", square, "attention", 1))
    if places.relative and places.kinds:
        layer.append(Attention("places", e.heads, e.width * len(places.kinds), 0, causal=False, keys=2 * span))
    rows = [positions(2 * span, e.hidden, "relative_embedding")] if places.relative else []
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
    places = _places(config, e)
    layer = [*without(e.layer(), "attention.k.bias")]
    if places.relative and "c2p" in places.kinds:
        layer.append(Weight("attention.place_key", (e.hidden, e.hidden), "attention", passes=2))
    if places.relative and "p2c" in places.kinds:
        layer += biased("attention.place_query", (e.hidden, e.hidden), "attention", 2)
    if places.relative and places.kinds:
        layer.append(Attention("places", e.heads, 2 * e.width * len(places.kinds), 0, causal=False))
    rows = [positions(2 * places.reach, e.hidden, "relative_embedding")] if places.relative else []
    yield from _deberta(config, e, layer, *rows)


@family("modernbert")
def modernbert(config: ModelConfig) -> Iterator[TableRow]:
    """Warner et al. 2024: rotary positions, gated networks, two layers of three within a window."""
    e = encoder(config, 768, 1152, 22, 12, 50368, places=8192, segments=0)
    norms, bias = config.flag("norm_bias", False), config.flag("attention_bias", False)
    mlp_bias, last = config.flag("mlp_bias", False), config.flag("decoder_bias", True)
    config.ignore("type_vocab_size", "classifier_bias", "layer_types", "global_attn_every_n_layers")
    yield embedding(e.words, e.hidden)
    yield from norm("embedding_norm", e.hidden, norms)
    mixer = encoder_attention(e.hidden, e.heads, e.width, bias)
    yield from times(e.layers, [*mixer, *gated_mlp(e.hidden, e.inner, mlp_bias)])
    yield from norm("norm", e.hidden, norms, 2 * e.layers - 1)
    yield from norm("final_norm", e.hidden, norms)
    end = class_suffix(config, "ForMaskedLM", "Model")
    if end == "ForMaskedLM":
        yield from linear("head.transform", e.hidden, e.hidden, config.flag("classifier_bias", False), "head")
        yield from norm("head.norm", e.hidden, norms)
        yield from tied(config, e.words, e.hidden, last, twice=False)


@family("eurobert")
def eurobert(config: ModelConfig) -> Iterator[TableRow]:
    """Boizard et al. 2025: LLaMA whose tokens attend to all others."""
    s = sizes(config, 768, 3072, 12, 12, 128256)
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    config.ignore("clf_pooling")
    end = class_suffix(config, "ForMaskedLM", "Model")
    mixer = attention(s.hidden, s.heads, s.kv_heads, s.width, bias=bias, causal=False)
    yield embedding(s.vocabulary, s.hidden)
    yield from times(s.layers, [*mixer, *s.gated(bias=mlp_bias), *s.norms(2)])
    yield from norm("final_norm", s.hidden)
    if end == "ForMaskedLM":
        yield from head(s.vocabulary, s.hidden, config.flag("tie_word_embeddings", False), mlp_bias)
