"""Decoders with learned or linear positions and LayerNorm: GPT-2 and its time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ingest.architecture.families.decoders import Decoder
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
    windowed,
)
from ingest.architecture.registry import class_suffix, family, register
from ingest.architecture.weight_table import TableRow, times

#: Keys of the width, the depth and the heads, as most of these families name them.
NAMES = ("n_embd|hidden_size", "n_layer|num_hidden_layers", "n_head|num_attention_heads")


def layer(s: DecoderSizes, inner: int, bias: bool = True, norms: int = 2) -> Iterator[TableRow]:
    """Return attention and a feed-forward network without gate, with biases, and LayerNorms."""
    return chain(s.attention(bias), s.plain(inner, bias), s.norms(norms, bias=True))


def gpt(s: DecoderSizes, places: int) -> Iterator[TableRow]:
    """Return the layers of GPT-2: learned positions, LayerNorm, biases on all matrices."""
    s.config.only("add_cross_attention", False)
    s.config.ignore("n_special")
    s.config.only("attention_head_type", "multihead" if s.kv_heads == s.heads else "multiquery")
    yield positions(s.config.integer("n_positions|max_position_embeddings", places), s.hidden)
    yield from times(s.layers, layer(s, s.config.integer("n_inner", 4 * s.hidden)))


@family("gpt2")
def gpt2(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2019."""
    s = multi_head_sizes(config, 768, 12, 12, 50257, NAMES)
    yield from s.frame(gpt(s, 1024), tied=True, norm_bias=True)


@family("gpt_bigcode")
def gpt_bigcode(config: ModelConfig) -> Iterator[TableRow]:
    """SantaCoder and StarCoder: GPT-2 with multi-query attention."""
    s = multi_head_sizes(config, 768, 12, 12, 50257, NAMES)
    config.ignore("num_key_value_heads")
    s = s._replace(kv_heads=1) if config.flag("multi_query", True) else s
    yield from s.frame(gpt(s, 1024), tied=True, norm_bias=True)


@family("openai-gpt")
def openai_gpt(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2018: norms after each part, so none at the end."""
    s = multi_head_sizes(config, 768, 12, 12, 40478, NAMES)
    yield from s.frame(gpt(s, 512), tied=True, final_norm=False)


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
    yield from times(s.layers, layer(s, config.size("ffn_dim", 3072), bias, 2 if scaled else 0))
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
    yield from s.frame(times(s.layers, layer(s, config.size("ffn_dim", 4096))), tied=True, norm_bias=True)


@family("bloom")
def bloom(config: ModelConfig) -> Iterator[TableRow]:
    """Workshop et al. 2022: ALiBi, a norm right after the embedding, biases."""
    s = multi_head_sizes(config, 64, 2, 8, 250880, ("hidden_size|n_embed|n_embd", *NAMES[1:]))
    config.ignore("skip_bias_add", "skip_bias_add_qkv", "apply_residual_connection_post_layernorm")
    config.ignore("n_inner", "num_key_value_heads")
    rows = [*norm("embedding_norm", s.hidden, bias=True), *times(s.layers, layer(s, 4 * s.hidden))]
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
    rows = times(s.layers, layer(s, config.integer("ffn_hidden_size", 4 * s.hidden), bias, norms))
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
    config.ignore("hidden_act", "vocab_size")
    hidden, heads = config.size("hidden_size", 4096), config.size("num_attention_heads", 32)
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
    config.only("expansion_ratio", 4)
    inside = config.part("attn_config")
    if inside is not None:
        inside.ignore("alibi_bias_max", "alibi")
        inside.only("qk_ln", False)
        inside.only("qk_gn", False)
        inside.only("kv_n_heads", s.heads)
        inside.only("attn_type", "multihead_attention")
    config.ignore("learned_pos_emb", "embedding_fraction", "norm_type")
    config.only("no_bias", True)
    config.part("ffn_config")
    rows = [*s.attention(), *s.plain(4 * s.hidden, bias=False), *s.norms(2)]
    yield from s.frame(times(s.layers, rows), tied=True)


register(
    __name__,
    Decoder(
        "gpt_neox",
        "GPT-NeoX and Pythia: rotary positions, LayerNorm, biases.",
        *(6144, 24576, 44, 64, 50432),
        bias=("attention_bias", True),
        gated=False,
        mlp_bias=True,
        norm_bias=True,
        ignore=("use_parallel_residual", "num_key_value_heads", "head_dim"),
    ),
)


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
    config.ignore("apply_residual_connection_post_layernorm", "bias_dropout_fusion", "rotary_pct", "n_positions", "pos_emb")
    s = multi_head_sizes(config, 4096, 32, 32, 151936)
    inner = config.size("intermediate_size", 22016) // 2
    config.only("no_bias", True)
    config.only("kv_channels", s.width)
    config.ignore(
        "tokenizer_type",
        "use_cache_kernel",
        "use_cache_quantization",
        "use_dynamic_ntk",
        "use_logn_attn",
        "softmax_in_fp32",
        "onnx_safe",
        "bf16",
        "fp16",
        "fp32",
    )
    yield from s.frame(times(s.layers, [*s.attention(True, False), *s.gated(inner), *s.norms(2)]))


@family("transformer")
def transformer(config: ModelConfig) -> Iterator[TableRow]:
    """Transformer++ of flash-linear-attention: LLaMA with keys of its own; two thirds of a wide network in steps of 256."""
    hidden, heads = config.size("hidden_size", 2048), config.size("num_heads", 32)
    config.ignore("fuse_norm", "fuse_swiglu", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp")
    config.only("attention_bias", False)
    s = DecoderSizes(
        config=config,
        hidden=hidden,
        inner=config.optional_integer("intermediate_size")
        or -(-int(hidden * config.integer("hidden_ratio", 4) * 2 / 3) // 256) * 256,
        layers=config.size("num_hidden_layers", 24, high=MAX_LAYERS),
        heads=heads,
        kv_heads=kv_group_count(config, heads, None, "num_kv_heads"),
        width=even_width(config, hidden, heads),
        vocabulary=config.size("vocab_size", 32000),
    )
    config.only("window_size", None)
    layer = [*s.attention(config.flag("qkv_bias", False), False), *s.gated(), *s.norms(2)]
    yield from s.frame(times(s.layers, [*layer, *(s.head_norms() if config.flag("qk_norm", False) else ())]))
