"""Decoders with rotary positions, LLaMA and successors, one record per family; GPT-2 and its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.architecture.families import expect, made, value
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    attention,
    embedding,
    even_width,
    gated_mlp,
    head,
    kv_group_count,
    linear,
    multi_head_sizes,
    norm,
    positions,
    prediction,
    sizes,
    sliding,
    up_to,
    windowed,
)
from ingest.architecture.registry import class_suffix, family, register
from ingest.architecture.weight_table import TableRow, Weight, times
from ingest.files import table_beside

#: A constant, or the key that decides and the family's default.
Switch = bool | Sequence[Any]
#: A key, the family's default where it has one, and the smallest value where it is not 1.
Number = Sequence[Any]


def switched(config: ModelConfig, switch: Switch) -> bool:
    """Return the value of a switch."""
    return switch if isinstance(switch, bool) else config.flag(*switch)


def listed_dense(config: ModelConfig, layers: int, default: int) -> int:
    """Return how many layers the list of types names as dense, or the default where there is no list."""
    kinds = config.texts("mlp_layer_types", layers, choices=("dense", "sparse"))
    return default if kinds is None else kinds.count("dense")


def dense_first(config: ModelConfig, layers: int, default: int) -> int:
    """Return how many layers are dense: from the list of types, or the first k."""
    return listed_dense(config, layers, min(config.integer("first_k_dense_replace", default, low=0), layers))


class Experts(NamedTuple):
    """A mixture of experts in place of the feed-forward network."""

    #: number, chosen: experts of a layer, and those that one token visits
    number: Number
    chosen: Number
    width: Number | None = None  # inner width of an expert; that of the feed-forward network where None
    shared: Number | None = None  # experts that every token visits, each as wide as the others
    shared_width: Number | None = None  # inner width of one shared expert, where the config states it
    dense: str = ""  # the number of layers with a feed-forward network instead, an expression
    dense_width: str = ""  # inner width of that network; that of the feed-forward network where None or absent
    #: router_bias, bias, shared_bias: biases of the router, of the experts, and of the shared ones
    router_bias: bool = False
    bias: bool = False
    shared_bias: Switch = False
    gate: bool = False  # a gate before the shared expert
    corrected: int = 0  # axes of the stored correction of each expert; 0 where there is none

    def rows(self, s: DecoderSizes) -> Iterator[TableRow]:
        """Return the rows of one layer: router, experts, shared experts."""
        number, chosen = s.config.integer(*self.number), s.config.integer(*self.chosen)
        inner = s.config.integer(*self.width) if self.width else s.inner
        shared = inner * s.config.integer(*self.shared) if self.shared else 0
        shared = s.config.integer(*self.shared_width) if self.shared_width else shared
        biases = {"bias": self.bias, "router_bias": self.router_bias, "shared_bias": switched(s.config, self.shared_bias)}
        yield from s.experts(number, chosen, inner, shared=shared, **biases)
        if self.gate:
            yield from linear("shared_expert_gate", 1, s.hidden, kind="router")
        if self.corrected:
            yield Weight("expert_bias", (*[1] * (self.corrected - 1), number), "router")


class Decoder(NamedTuple):
    """A family of decoders whose layers are alike."""

    model_types: str  # the values of `model_type`, separated by spaces
    doc: str  # the paper or model, and what differs from the other families
    #: sizes, kv_heads, head_width: the family's default sizes, see `sizes`
    sizes: Sequence[Any]
    kv_heads: int | None = None
    head_width: int | None = None
    bias: Switch = False  # biases of Q, K and V; of O too where `o_bias` is None
    o_bias: Switch | None = None
    qk_norm: str = ""  # norms over Q and K: `heads` for one over each head, `flat` for one over all heads
    #: gated, mlp_bias: a gate in the feed-forward network, and its biases
    gated: bool = True
    mlp_bias: Switch = False
    experts: Experts | None = None  # the mixture of experts, where the family has one
    #: norms, norm_bias, final_norm: norms of a layer, their biases, and the norm after the last layer
    norms: int = 2
    norm_bias: bool = False
    final_norm: bool = True
    window: str = ""  # how many layers have a sliding window, and its width, an expression
    #: tied, head_bias: default of `tie_word_embeddings`, and the bias of the head
    tied: bool = False
    head_bias: Switch = False
    only: Mapping[str, object] = MappingProxyType({})  # keys that must have this value
    ignore: str = ""  # keys that change no weight, separated by spaces
    sinks: bool = False  # a learned attention sink for each head
    #: after_attention, extra: further rows of a layer, after attention and at its end: expressions, see `made`
    after_attention: Sequence[Any] = ()
    extra: Sequence[Any] = ()
    mtp: str = ""  # the key of how many modules predict further tokens, each with a layer like the last ones
    mtp_dense: bool = False  # the layers of these modules are dense, behind one product and norms for all of them
    mtp_plain: bool = False  # the layers of these modules are dense, each behind a product and two norms; no norm after them

    def rows(self, config: ModelConfig) -> Iterator[TableRow]:
        """Return the rows of one model of the family."""
        config.ignore(*self.ignore.split())
        config.fixed(**self.only)
        s = sizes(config, *self.sizes, kv_heads=self.kv_heads, width=self.head_width)
        known = s._asdict() | {one.__name__: partial(one, config, s.layers) for one in _OF_LAYERS}
        known |= {
            one.__name__: one for one in (config.flag, config.integer, s.norms, s.head_norms, s.flat_norms, linear, norm, min)
        }
        known["expect"] = partial(expect, config)
        short, window = value(self.window, known) if self.window else (0, 0)
        bias, mlp_bias = switched(config, self.bias), switched(config, self.mlp_bias)
        mixer = [*s.attention(bias, bias if self.o_bias is None else switched(config, self.o_bias))]
        mixer += made(self.after_attention, known)
        mixer += [Weight("attention.sinks", (s.heads,), "attention")] if self.sinks else []
        if self.qk_norm:
            mixer += s.head_norms() if self.qk_norm == "heads" else s.flat_norms()
        ends = [*s.norms(self.norms, self.norm_bias), *made(self.extra, known)]
        feed: list[TableRow]
        if self.experts:
            rows, dense = [*times(s.layers, [*mixer, *ends])], 0
            if self.experts.dense:
                dense = value(self.experts.dense, known)
                inner = config.optional_integer(self.experts.dense_width) if self.experts.dense_width else None
                rows += times(dense, s.gated(inner, mlp_bias))
            experts: list[TableRow] = [*self.experts.rows(s)]
            rows += times(s.layers - dense, experts)
            feed = [*s.gated(bias=mlp_bias)] if self.mtp_dense or self.mtp_plain else experts
        else:
            feed = [*(s.gated if self.gated else s.plain)(bias=mlp_bias)]
            rows = [*times(s.layers, [*mixer, *feed, *ends])]
        ending = {"final_norm": self.final_norm, "head_bias": switched(config, self.head_bias)}
        yield from s.frame(windowed(rows, short, window), tied=self.tied, norm_bias=self.norm_bias, **ending)
        further = config.optional_integer(self.mtp, 0, high=MAX_LAYERS) if self.mtp else None
        if further:
            joints, norms = 1 if self.mtp_dense else None, 2 if self.mtp_plain else 3
            bias = self.mtp_plain and mlp_bias
            yield from prediction(s.hidden, further, [*mixer, *ends, *feed], joints, norms=norms, bias=bias)


def qwen_window(config: ModelConfig, layers: int) -> tuple[int, int]:
    """The window holds only where it is switched on, and from `max_window_layers` on."""
    on = config.flag("use_sliding_window", False)
    first = config.integer("max_window_layers", 28, low=0)
    short, window = sliding(config, layers, 4096, every=1)
    if not on:
        return 0, 0
    return (short if "layer_types" in config.data else max(layers - first, 0)), window


def qwen_dense(config: ModelConfig, layers: int) -> int:
    """Return the layers of a Qwen model without experts: those listed, and all but every `decoder_sparse_step`-th."""
    step = config.integer("decoder_sparse_step", 1)
    listed = set(config.integers("mlp_only_layers") or ())
    return sum((layer + 1) % step > 0 or layer in listed for layer in range(layers))


def ernie_dense(config: ModelConfig, layers: int) -> int:
    """Return how many layers of ERNIE are dense: those without experts, which every n-th has between two layer numbers."""
    start, last = config.integer("moe_layer_start_index", 1, low=0), config.optional_integer("moe_layer_end_index", -1, low=0)
    if last is None:
        last = layers - 1 if config.lenient or "moe_layer_end_index" in config.data else 27
    step = config.integer("moe_layer_interval", 1)
    return layers - sum((layer + 1) % step == 0 and start <= layer <= last for layer in range(layers))


def cohere_window(config: ModelConfig, layers: int) -> tuple[int, int]:
    """Layers of a window where no list names them: patterns of their own for the first, dense layers and for the others."""
    dense, first = min(config.integer("first_k_dense_replace", 0, low=0), layers), "prefix_dense_sliding_window_pattern"
    short, window = sliding(config, layers, 4096, 1)
    every, each = config.integer("sliding_window_pattern", 4), config.integer(first, 1)
    rest = layers - dense
    return (short if "layer_types" in config.data else layers - dense // each - rest // every), window


#: Functions of the number of layers that expressions name.
_OF_LAYERS = (sliding, qwen_window, cohere_window, listed_dense, dense_first, qwen_dense, ernie_dense)


def _decoder(model_types: str, experts: Mapping[str, Any] | None = None, **said: Any) -> Decoder:
    return Decoder(model_types, **said, experts=Experts(**experts) if experts else None)


register(__name__, *(_decoder(names, **said) for names, said in table_beside(__file__, "decoders.yaml").items()))

#: Keys of the width, the depth and the heads, as most of these families name them.
NAMES = ("n_embd|hidden_size", "n_layer|num_hidden_layers", "n_head|num_attention_heads")


def _layer(s: DecoderSizes, inner: int, bias: bool = True, norms: int = 2) -> list[TableRow]:
    """Attention and a feed-forward network without gate, with biases, and LayerNorms."""
    return [*s.attention(bias), *s.plain(inner, bias), *s.norms(norms, bias=True)]


@family("gpt2", "gpt_bigcode", "openai-gpt")
def gpt(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2018 (GPT: norms after each part, none at the end) and 2019 (GPT-2): learned positions, LayerNorm, biases.

    SantaCoder and StarCoder are GPT-2 with multi-query attention.
    """
    first = config.data["model_type"] == "openai-gpt"
    s = multi_head_sizes(config, 768, 12, 12, 40478 if first else 50257, NAMES)
    if config.data["model_type"] == "gpt_bigcode":
        config.ignore("num_key_value_heads")
        s = s._replace(kv_heads=1) if config.flag("multi_query", True) else s
    config.only("add_cross_attention", False)
    config.ignore("n_special")
    config.only("attention_head_type", "multihead" if s.kv_heads == s.heads else "multiquery")
    places = positions(config.integer("n_positions|max_position_embeddings", 512 if first else 1024), s.hidden)
    layer = _layer(s, config.integer("n_inner", 4 * s.hidden))
    yield from s.frame([places, *times(s.layers, layer)], tied=True, norm_bias=True, final_norm=not first)


@family("gptj", "codegen")
def gptj(config: ModelConfig) -> Iterator[TableRow]:
    """GPT-J: rotary positions, one norm before attention and a parallel feed-forward network, a head with bias."""
    s = multi_head_sizes(config, 4096, 28, 16, 50400, NAMES)
    config.ignore("n_positions")
    config.only("rotary", True)
    rows = [*s.attention(), *s.plain(config.integer("n_inner", 4 * s.hidden)), *s.norms(1, bias=True)]
    yield from s.frame(times(s.layers, rows), norm_bias=True, head_bias=True)


@family("gpt_neo")
def gpt_neo(config: ModelConfig) -> Iterator[TableRow]:
    """GPT-Neo: learned positions, no biases on Q, K, V, every other layer within a window."""
    names = ("hidden_size", "num_layers|num_hidden_layers", "num_heads|num_attention_heads")
    s = multi_head_sizes(config, 2048, 24, 16, 50257, names)
    kinds = config.texts("attention_layers", s.layers)
    short = kinds.count("local") if kinds else s.layers // 2
    window = config.integer("window_size", 256)
    places = positions(config.integer("max_position_embeddings", 2048), s.hidden)
    inner = config.integer("intermediate_size", 4 * s.hidden)
    rows = times(s.layers, [*s.attention(o_bias=True), *s.plain(inner), *s.norms(2, bias=True)])
    yield from s.frame([places, *windowed(rows, short, window)], tied=True, norm_bias=True)


@family("opt")
def opt(config: ModelConfig) -> Iterator[TableRow]:
    """Zhang et al. 2022: learned positions with an offset of two; the 350M model with a narrower embedding."""
    s = multi_head_sizes(config, 768, 12, 12, 50272)
    narrow = config.integer("word_embed_proj_dim", s.hidden)
    bias, scaled = config.flag("enable_bias", True), config.flag("layer_norm_elementwise_affine", True)
    yield embedding(s.vocabulary, narrow)
    yield positions(config.integer("max_position_embeddings", 2048) + 2, s.hidden)
    yield from times(s.layers, _layer(s, config.size("ffn_dim", 3072), bias, 2 if scaled else 0))
    if narrow != s.hidden:
        yield from linear("embedding.in", s.hidden, narrow, kind="other")
        yield from linear("embedding.out", narrow, s.hidden, kind="other")
    last = config.flag("do_layer_norm_before", True) and scaled and not config.flag("_remove_final_layer_norm", False)
    yield from norm("final_norm", s.hidden, bias=True, number=int(last))
    yield from head(s.vocabulary, narrow, config.flag("tie_word_embeddings", True))


@family("xglm")
def xglm(config: ModelConfig) -> Iterator[TableRow]:
    """XGLM: sinusoidal positions, LayerNorm, biases."""
    names = ("d_model|hidden_size", "num_layers|num_hidden_layers", "attention_heads|num_attention_heads")
    s = multi_head_sizes(config, 1024, 24, 16, 256008, names)
    config.only("add_cross_attention", False)
    yield from s.frame(times(s.layers, _layer(s, config.size("ffn_dim", 4096))), tied=True, norm_bias=True)


@family("bloom")
def bloom(config: ModelConfig) -> Iterator[TableRow]:
    """Workshop et al. 2022: ALiBi, a norm right after the embedding, biases."""
    s = multi_head_sizes(config, 64, 2, 8, 250880, ("hidden_size|n_embed|n_embd", *NAMES[1:]))
    config.ignore("skip_bias_add", "skip_bias_add_qkv", "apply_residual_connection_post_layernorm", "n_inner")
    config.ignore("num_key_value_heads")
    rows = [*norm("embedding_norm", s.hidden, bias=True), *times(s.layers, _layer(s, 4 * s.hidden))]
    yield from s.frame(rows, tied=True, norm_bias=True)


@family("falcon")
def falcon(config: ModelConfig) -> Iterator[TableRow]:
    """Almazrouei et al. 2023, in its three shapes: RW (multi-head, ALiBi), 7B (multi-query), 40B and 180B (grouped)."""
    names = ("hidden_size|n_embed", "num_hidden_layers|n_layer", "num_attention_heads|n_head")
    s = multi_head_sizes(config, 4544, 32, 71, 65024, names)
    bias, parallel = config.flag("bias", False), config.flag("parallel_attn", True)
    grouped, mqa = config.flag("new_decoder_architecture", False), config.flag("multi_query", True)
    config.ignore("apply_residual_connection_post_layernorm", "n_inner", "num_key_value_heads")
    stated = kv_group_count(config, s.heads, None, "num_kv_heads|n_head_kv")
    s = s._replace(kv_heads=stated if grouped else 1 if mqa else s.heads)
    parallel_norms = config.integer("num_ln_in_parallel_attn", 2 if grouped else 1)
    norms = 2 if not parallel or parallel_norms == 2 else 1
    rows = times(s.layers, _layer(s, config.integer("ffn_hidden_size", 4 * s.hidden), bias, norms))
    yield from s.frame(rows, tied=True, norm_bias=True)


@family("chatglm")
def chatglm(config: ModelConfig) -> Iterator[TableRow]:
    """ChatGLM2, ChatGLM3 and the first files of GLM-4: few groups of keys, Q, K, V in one matrix, gate and up in another."""
    class_suffix(config, "ForConditionalGeneration", "Model")
    config.only("inner_hidden_size")
    config.only("pre_seq_len")
    config.only("tie_word_embeddings", False)
    config.ignore("prefix_projection", "apply_residual_connection_post_layernorm", "apply_query_key_layer_scaling")
    config.ignore("bias_dropout_fusion", "fp32_residual_connection", "original_rope", "interleaved_qkv", "quantization_bit")
    config.ignore("vocab_size")
    hidden, heads = config.stated(hidden_size=4096, num_attention_heads=32)
    deep = config.size("num_layers|num_hidden_layers", 28, high=MAX_LAYERS)
    width, words = config.integer("kv_channels", 128), config.size("padded_vocab_size", 65024)
    groups = heads
    if config.flag("multi_query_attention", False):
        groups = kv_group_count(config, heads, 1, "multi_query_group_num")
    else:
        config.ignore("multi_query_group_num")
    bias, shifted = config.flag("add_bias_linear", False), not config.flag("rmsnorm", True)
    q_bias = config.flag("add_qkv_bias", False) or bias
    layer = [
        *attention(hidden, heads, groups, width, bias=q_bias, o_bias=bias),
        *gated_mlp(hidden, config.size("ffn_hidden_size", 13696), bias),
        *norm("norm", hidden, shifted, 2),
    ]
    yield embedding(words, hidden)
    yield from times(deep, layer)
    yield from norm("final_norm", hidden, shifted, 1 if config.flag("post_layer_norm", True) else 0)
    yield from head(words, hidden, tied=False)


@family("mpt")
def mpt(config: ModelConfig) -> Iterator[TableRow]:
    """MosaicML 2023: ALiBi, norms and matrices without biases."""
    names = ("d_model|hidden_size", "n_layers|num_hidden_layers", "n_heads|num_attention_heads")
    s = multi_head_sizes(config, 2048, 24, 16, 50368, names)
    config.fixed(expansion_ratio=4, no_bias=True)
    inside = config.part("attn_config")
    if inside is not None:
        inside.ignore("alibi_bias_max", "alibi")
        inside.fixed(qk_ln=False, qk_gn=False, kv_n_heads=s.heads, attn_type="multihead_attention")
    config.ignore("learned_pos_emb", "embedding_fraction", "norm_type")
    config.part("ffn_config")
    rows = [*s.attention(), *s.plain(4 * s.hidden, bias=False), *s.norms(2)]
    yield from s.frame(times(s.layers, rows), tied=True)


#: Keys of the first files of Qwen, and those that replaced them.
_EARLY_QWEN = (
    ("n_embd", "hidden_size"), ("n_head", "num_attention_heads"), ("n_layer", "num_hidden_layers"),
    ("ffn_hidden_size", "intermediate_size"), ("padded_vocab_size", "vocab_size"),
)  # fmt: skip


@family("qwen")
def qwen(config: ModelConfig) -> Iterator[TableRow]:
    """Bai et al. 2023 (the first Qwen): RMSNorm, biases on Q, K, V; `intermediate_size` counts gate and up together."""
    for early, name in _EARLY_QWEN:
        if early in config.data and name not in config.data:
            config.data = {**config.data, name: config.data[early]}
    config.ignore(*(early for early, name in _EARLY_QWEN if config.data.get(early) == config.data.get(name)))
    config.ignore("apply_residual_connection_post_layernorm", "bias_dropout_fusion", "n_positions", "pos_emb")
    s = multi_head_sizes(config, 4096, 32, 32, 151936)
    inner = config.size("intermediate_size", 22016) // 2
    config.fixed(no_bias=True, kv_channels=s.width)
    config.ignore("use_cache_kernel", "onnx_safe", "bf16", "fp16", "fp32")
    yield from s.frame(times(s.layers, [*s.attention(True, False), *s.gated(inner), *s.norms(2)]))


@family("transformer")
def transformer(config: ModelConfig) -> Iterator[TableRow]:
    """Transformer++ of flash-linear-attention: LLaMA with keys of its own; two thirds of a wide network in steps of 256."""
    hidden, heads = config.stated(hidden_size=2048, num_heads=32)
    config.ignore("fuse_swiglu", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp")
    config.only("attention_bias", False)
    inner = config.optional_integer("intermediate_size")
    inner = inner or up_to(256, int(hidden * config.integer("hidden_ratio", 4) * 2 / 3))
    deep = config.size("num_hidden_layers", 24, high=MAX_LAYERS)
    groups = kv_group_count(config, heads, None, "num_kv_heads")
    width = even_width(config, hidden, heads)
    s = DecoderSizes(config, hidden, inner, deep, heads, groups, width, config.size("vocab_size", 32000))
    config.only("window_size", None)
    layer = [*s.attention(config.flag("qkv_bias", False), False), *s.gated(), *s.norms(2)]
    yield from s.frame(times(s.layers, [*layer, *(s.head_norms() if config.flag("qk_norm", False) else ())]))
