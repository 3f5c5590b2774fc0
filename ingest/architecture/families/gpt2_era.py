"""Decoders with learned or linear positions and LayerNorm: GPT-2 and its time."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.decoders import Decoder, register
from ingest.architecture.hf_config import MAX_LAYERS, Config
from ingest.architecture.layers import (
    attention,
    embedding,
    head,
    head_width,
    kv_group_count,
    linear,
    norm,
    plain_mlp,
    positions,
    windowed,
)
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Row, times


def gpt(
    config: Config, *, hidden: int, layers: int, heads: int, vocabulary: int, places: int, mqa: bool = False
) -> Iterator[Row]:
    """The frame of GPT-2: learned positions, LayerNorm, biases everywhere."""
    wide = config.size("n_embd|hidden_size", hidden)
    deep = config.size("n_layer|num_hidden_layers", layers, high=MAX_LAYERS)
    count = config.size("n_head|num_attention_heads", heads)
    words = config.size("vocab_size", vocabulary)
    config.only("add_cross_attention", False)
    config.ignore("n_ctx", "n_special", "predict_special_tokens")
    config.only("attention_head_type", "multiquery" if mqa else "multihead")
    width = head_width(config, wide, count, name="-")
    kv_heads = 1 if mqa else count
    yield embedding(words, wide)
    yield positions(config.whole("n_positions|max_position_embeddings", places), wide)
    layer = [
        *attention(wide, count, kv_heads, width, q_bias=True, kv_bias=True, o_bias=True),
        *plain_mlp(wide, config.whole("n_inner", 4 * wide)),
        *norm("norm", wide, bias=True, number=2),
    ]
    yield from times(deep, layer)


@family("gpt2")
def gpt2(config: Config) -> Iterator[Row]:
    """Radford et al. 2019."""
    yield from gpt(config, hidden=768, layers=12, heads=12, vocabulary=50257, places=1024)
    yield from _end(config)


@family("gpt_bigcode")
def gpt_bigcode(config: Config) -> Iterator[Row]:
    """SantaCoder and StarCoder: GPT-2 with multi-query attention."""
    mqa = config.flag("multi_query", True)
    yield from gpt(config, hidden=768, layers=12, heads=12, vocabulary=50257, places=1024, mqa=mqa)
    config.ignore("num_key_value_heads", "inference_runner", "max_batch_size", "pad_key_length", "validate_runner_input")
    yield from _end(config)


def _end(config: Config) -> Iterator[Row]:
    wide = config.size("n_embd|hidden_size", 768)
    yield from norm("final_norm", wide, bias=True)
    yield from head(config.size("vocab_size", 50257), wide, config.flag("tie_word_embeddings", True))


@family("openai-gpt")
def openai_gpt(config: Config) -> Iterator[Row]:
    """Radford et al. 2018: norms after each part, so none at the end."""
    yield from gpt(config, hidden=768, layers=12, heads=12, vocabulary=40478, places=512)
    wide = config.size("n_embd|hidden_size", 768)
    yield from head(config.size("vocab_size", 40478), wide, config.flag("tie_word_embeddings", True))


@family("gptj", "codegen")
def gptj(config: Config) -> Iterator[Row]:
    """GPT-J: rotary positions, one norm for attention and feed-forward side by side, a head with bias."""
    hidden = config.size("n_embd|hidden_size", 4096)
    layers = config.size("n_layer|num_hidden_layers", 28, high=MAX_LAYERS)
    heads = config.size("n_head|num_attention_heads", 16)
    words = config.size("vocab_size", 50400)
    config.ignore("n_positions", "n_ctx", "rotary_dim", "rotary")
    width = head_width(config, hidden, heads, name="-")
    yield embedding(words, hidden)
    inner = config.whole("n_inner", 4 * hidden)
    layer = [*attention(hidden, heads, heads, width), *plain_mlp(hidden, inner), *norm("norm", hidden, bias=True)]
    yield from times(layers, layer)
    yield from norm("final_norm", hidden, bias=True)
    yield from head(words, hidden, config.flag("tie_word_embeddings", False), bias=True)


@family("gpt_neo")
def gpt_neo(config: Config) -> Iterator[Row]:
    """GPT-Neo: learned positions, no biases on Q, K, V, every other layer within a window."""
    hidden = config.size("hidden_size", 2048)
    layers = config.size("num_layers|num_hidden_layers", 24, high=MAX_LAYERS)
    heads = config.size("num_heads|num_attention_heads", 16)
    words = config.size("vocab_size", 50257)
    width = head_width(config, hidden, heads, name="-")
    config.ignore("attention_types")
    kinds = config.words("attention_layers", layers)
    short = kinds.count("local") if kinds else layers // 2
    window = config.whole("window_size", 256)
    yield embedding(words, hidden)
    yield positions(config.whole("max_position_embeddings", 2048), hidden)
    inner = config.whole("intermediate_size", 4 * hidden)
    layer = [
        *attention(hidden, heads, heads, width, o_bias=True),
        *plain_mlp(hidden, inner),
        *norm("norm", hidden, bias=True, number=2),
    ]
    yield from windowed(times(layers, layer), short, window)
    yield from norm("final_norm", hidden, bias=True)
    yield from head(words, hidden, config.flag("tie_word_embeddings", True))


@family("opt")
def opt(config: Config) -> Iterator[Row]:
    """Zhang et al. 2022: learned positions with an offset of two; the 350M model with a narrower embedding."""
    hidden = config.size("hidden_size", 768)
    layers = config.size("num_hidden_layers", 12, high=MAX_LAYERS)
    heads = config.size("num_attention_heads", 12)
    words = config.size("vocab_size", 50272)
    narrow = config.whole("word_embed_proj_dim", hidden)
    bias, scaled = config.flag("enable_bias", True), config.flag("layer_norm_elementwise_affine", True)
    before = config.flag("do_layer_norm_before", True)
    width = head_width(config, hidden, heads, name="-")
    yield embedding(words, narrow)
    yield positions(config.whole("max_position_embeddings", 2048) + 2, hidden)
    layer = [
        *attention(hidden, heads, heads, width, q_bias=bias, kv_bias=bias, o_bias=bias),
        *plain_mlp(hidden, config.size("ffn_dim", 3072), bias),
        *norm("norm", hidden, bias=True, number=2 if scaled else 0),
    ]
    yield from times(layers, layer)
    if narrow != hidden:
        yield from linear("embedding.in", hidden, narrow, kind="other")
        yield from linear("embedding.out", narrow, hidden, kind="other")
    last = before and scaled and not config.flag("_remove_final_layer_norm", False)
    yield from norm("final_norm", hidden, bias=True, number=1 if last else 0)
    yield from head(words, narrow, config.flag("tie_word_embeddings", True))


@family("xglm")
def xglm(config: Config) -> Iterator[Row]:
    """XGLM: sinusoidal positions, LayerNorm, biases."""
    hidden = config.size("d_model|hidden_size", 1024)
    layers = config.size("num_layers|num_hidden_layers", 24, high=MAX_LAYERS)
    heads = config.size("attention_heads|num_attention_heads", 16)
    words = config.size("vocab_size", 256008)
    config.only("add_cross_attention", False)
    width = head_width(config, hidden, heads, name="-")
    yield embedding(words, hidden)
    layer = [
        *attention(hidden, heads, heads, width, q_bias=True, kv_bias=True, o_bias=True),
        *plain_mlp(hidden, config.size("ffn_dim", 4096)),
        *norm("norm", hidden, bias=True, number=2),
    ]
    yield from times(layers, layer)
    yield from norm("final_norm", hidden, bias=True)
    yield from head(words, hidden, config.flag("tie_word_embeddings", True))


@family("bloom")
def bloom(config: Config) -> Iterator[Row]:
    """Workshop et al. 2022: ALiBi, a norm right after the embedding, biases."""
    hidden = config.size("hidden_size|n_embed|n_embd", 64)
    layers = config.size("n_layer|num_hidden_layers", 2, high=MAX_LAYERS)
    heads = config.size("n_head|num_attention_heads", 8)
    words = config.size("vocab_size", 250880)
    config.ignore("skip_bias_add", "skip_bias_add_qkv", "attention_softmax_in_fp32", "bias_dropout_fusion", "seq_length")
    config.ignore("apply_residual_connection_post_layernorm", "masked_softmax_fusion", "offset_alibi", "slow_but_exact")
    config.ignore("n_inner", "num_key_value_heads")
    width = head_width(config, hidden, heads, name="-")
    yield embedding(words, hidden)
    yield from norm("embedding_norm", hidden, bias=True)
    layer = [
        *attention(hidden, heads, heads, width, q_bias=True, kv_bias=True, o_bias=True),
        *plain_mlp(hidden, 4 * hidden),
        *norm("norm", hidden, bias=True, number=2),
    ]
    yield from times(layers, layer)
    yield from norm("final_norm", hidden, bias=True)
    yield from head(words, hidden, config.flag("tie_word_embeddings", True))


@family("falcon")
def falcon(config: Config) -> Iterator[Row]:
    """Almazrouei et al. 2023, in its three shapes: RW (multi-head, ALiBi), 7B (multi-query), 40B and 180B (grouped)."""
    hidden = config.size("hidden_size|n_embed", 4544)
    layers = config.size("num_hidden_layers|n_layer", 32, high=MAX_LAYERS)
    heads = config.size("num_attention_heads|n_head", 71)
    words = config.size("vocab_size", 65024)
    bias, parallel = config.flag("bias", False), config.flag("parallel_attn", True)
    grouped, mqa = config.flag("new_decoder_architecture", False), config.flag("multi_query", True)
    config.ignore("alibi", "apply_residual_connection_post_layernorm", "n_inner", "num_key_value_heads", "rotary_dim")
    stated = kv_group_count(config, heads, None, "num_kv_heads|n_head_kv")
    kv_heads = stated if grouped else 1 if mqa else heads
    width = head_width(config, hidden, heads, name="-")
    side_by_side = config.whole("num_ln_in_parallel_attn", 2 if grouped else 1)
    number = 2 if not parallel or side_by_side == 2 else 1
    yield embedding(words, hidden)
    layer = [
        *attention(hidden, heads, kv_heads, width, q_bias=bias, kv_bias=bias, o_bias=bias),
        *plain_mlp(hidden, config.whole("ffn_hidden_size", 4 * hidden), bias),
        *norm("norm", hidden, bias=True, number=number),
    ]
    yield from times(layers, layer)
    yield from norm("final_norm", hidden, bias=True)
    yield from head(words, hidden, config.flag("tie_word_embeddings", True))


@family("mpt")
def mpt(config: Config) -> Iterator[Row]:
    """MosaicML 2023: ALiBi, norms and matrices without biases."""
    hidden = config.size("d_model|hidden_size", 2048)
    layers = config.size("n_layers|num_hidden_layers", 24, high=MAX_LAYERS)
    heads = config.size("n_heads|num_attention_heads", 16)
    words = config.size("vocab_size", 50368)
    config.only("expansion_ratio", 4)
    inside = config.part("attn_config", required=False)
    if inside is not None:
        inside.ignore("attn_type", "attn_impl", "clip_qkv", "softmax_scale", "prefix_lm", "alibi", "alibi_bias_max")
        inside.ignore("attn_uses_sequence_id", "attn_pdrop", "rope", "rope_impl", "rope_theta", "rope_hf_config")
        inside.only("qk_ln", False)
        inside.only("qk_gn", False)
        inside.only("kv_n_heads", heads)
        inside.only("attn_type", "multihead_attention")
    config.ignore("learned_pos_emb", "embedding_fraction", "norm_type", "init_config", "max_seq_len", "logit_scale")
    config.only("no_bias", True)
    config.part("ffn_config", required=False)
    width = head_width(config, hidden, heads, name="-")
    yield embedding(words, hidden)
    layer = [*attention(hidden, heads, heads, width), *plain_mlp(hidden, 4 * hidden, False)]
    yield from times(layers, [*layer, *norm("norm", hidden, number=2)])
    yield from norm("final_norm", hidden)
    yield from head(words, hidden, config.flag("tie_word_embeddings", True))


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
