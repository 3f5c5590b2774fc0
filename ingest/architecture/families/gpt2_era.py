"""Decoders with learned or linear positions and LayerNorm: GPT-2 and its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ingest.architecture.families.decoders import Decoder, register
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
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
from ingest.architecture.weight_table import TableRow, times

#: Keys of the width, the depth and the heads, as most of these families name them.
NAMES = ("n_embd|hidden_size", "n_layer|num_hidden_layers", "n_head|num_attention_heads")


class GptFrame(NamedTuple):
    """Sizes of a decoder, and the parts that these families share."""

    config: ModelConfig
    hidden: int
    layers: int
    heads: int
    vocabulary: int

    def embedding(self) -> TableRow:
        """Return the token embedding."""
        return embedding(self.vocabulary, self.hidden)

    def layer(self, inner: int, kv_heads: int | None = None, bias: bool = True, norms: int = 2) -> Iterator[TableRow]:
        """Return attention and a feed-forward network without gate, with biases, and LayerNorms."""
        width = head_width(self.config, self.hidden, self.heads, name="-")
        groups = kv_heads or self.heads
        yield from attention(self.hidden, self.heads, groups, width, q_bias=bias, kv_bias=bias, o_bias=bias)
        yield from plain_mlp(self.hidden, inner, bias)
        yield from norm("norm", self.hidden, bias=True, number=norms)

    def end(self, norms: int = 1, tied: bool = True, norm_bias: bool = True, head_bias: bool = False) -> Iterator[TableRow]:
        """Return the norm after the last layer, and the head."""
        yield from norm("final_norm", self.hidden, norm_bias, norms)
        yield from head(self.vocabulary, self.hidden, self.config.flag("tie_word_embeddings", tied), head_bias)


def frame(
    config: ModelConfig, hidden: int, layers: int, heads: int, vocabulary: int, names: tuple[str, str, str] = NAMES
) -> GptFrame:
    """Read the sizes; the numbers are the family's defaults."""
    return GptFrame(
        config,
        config.size(names[0], hidden),
        config.size(names[1], layers, high=MAX_LAYERS),
        config.size(names[2], heads),
        config.size("vocab_size", vocabulary),
    )


def gpt(f: GptFrame, places: int, mqa: bool = False) -> Iterator[TableRow]:
    """Return the layers of GPT-2: learned positions, LayerNorm, biases on all matrices."""
    config = f.config
    config.only("add_cross_attention", False)
    config.ignore("n_special")
    config.only("attention_head_type", "multiquery" if mqa else "multihead")
    yield f.embedding()
    yield positions(config.integer("n_positions|max_position_embeddings", places), f.hidden)
    yield from times(f.layers, f.layer(config.integer("n_inner", 4 * f.hidden), 1 if mqa else None))


@family("gpt2")
def gpt2(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2019."""
    f = frame(config, 768, 12, 12, 50257)
    yield from gpt(f, 1024)
    yield from f.end()


@family("gpt_bigcode")
def gpt_bigcode(config: ModelConfig) -> Iterator[TableRow]:
    """SantaCoder and StarCoder: GPT-2 with multi-query attention."""
    f = frame(config, 768, 12, 12, 50257)
    yield from gpt(f, 1024, config.flag("multi_query", True))
    config.ignore("num_key_value_heads")
    yield from f.end()


@family("openai-gpt")
def openai_gpt(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2018: norms after each part, so none at the end."""
    f = frame(config, 768, 12, 12, 40478)
    yield from gpt(f, 512)
    yield from f.end(norms=0)


@family("gptj", "codegen")
def gptj(config: ModelConfig) -> Iterator[TableRow]:
    """GPT-J: rotary positions, one norm before attention and a parallel feed-forward network, a head with bias."""
    f = frame(config, 4096, 28, 16, 50400)
    config.ignore("n_positions")
    width = head_width(config, f.hidden, f.heads, name="-")
    inner = config.integer("n_inner", 4 * f.hidden)
    yield f.embedding()
    layer = [*attention(f.hidden, f.heads, f.heads, width), *plain_mlp(f.hidden, inner), *norm("norm", f.hidden, bias=True)]
    yield from times(f.layers, layer)
    yield from f.end(tied=False, head_bias=True)


@family("gpt_neo")
def gpt_neo(config: ModelConfig) -> Iterator[TableRow]:
    """GPT-Neo: learned positions, no biases on Q, K, V, every other layer within a window."""
    f = frame(config, 2048, 24, 16, 50257, ("hidden_size", "num_layers|num_hidden_layers", "num_heads|num_attention_heads"))
    width = head_width(config, f.hidden, f.heads, name="-")
    kinds = config.texts("attention_layers", f.layers)
    short = kinds.count("local") if kinds else f.layers // 2
    window = config.integer("window_size", 256)
    yield f.embedding()
    yield positions(config.integer("max_position_embeddings", 2048), f.hidden)
    layer = [
        *attention(f.hidden, f.heads, f.heads, width, o_bias=True),
        *plain_mlp(f.hidden, config.integer("intermediate_size", 4 * f.hidden)),
        *norm("norm", f.hidden, bias=True, number=2),
    ]
    yield from windowed(times(f.layers, layer), short, window)
    yield from f.end()


@family("opt")
def opt(config: ModelConfig) -> Iterator[TableRow]:
    """Zhang et al. 2022: learned positions with an offset of two; the 350M model with a narrower embedding."""
    f = frame(config, 768, 12, 12, 50272, ("hidden_size", "num_hidden_layers", "num_attention_heads"))
    narrow = config.integer("word_embed_proj_dim", f.hidden)
    bias, scaled = config.flag("enable_bias", True), config.flag("layer_norm_elementwise_affine", True)
    yield embedding(f.vocabulary, narrow)
    yield positions(config.integer("max_position_embeddings", 2048) + 2, f.hidden)
    yield from times(f.layers, f.layer(config.size("ffn_dim", 3072), bias=bias, norms=2 if scaled else 0))
    if narrow != f.hidden:
        yield from linear("embedding.in", f.hidden, narrow, kind="other")
        yield from linear("embedding.out", narrow, f.hidden, kind="other")
    last = config.flag("do_layer_norm_before", True) and scaled and not config.flag("_remove_final_layer_norm", False)
    yield from norm("final_norm", f.hidden, bias=True, number=int(last))
    yield from head(f.vocabulary, narrow, config.flag("tie_word_embeddings", True))


@family("xglm")
def xglm(config: ModelConfig) -> Iterator[TableRow]:
    """XGLM: sinusoidal positions, LayerNorm, biases."""
    names = ("d_model|hidden_size", "num_layers|num_hidden_layers", "attention_heads|num_attention_heads")
    f = frame(config, 1024, 24, 16, 256008, names)
    config.only("add_cross_attention", False)
    yield f.embedding()
    yield from times(f.layers, f.layer(config.size("ffn_dim", 4096)))
    yield from f.end()


@family("bloom")
def bloom(config: ModelConfig) -> Iterator[TableRow]:
    """Workshop et al. 2022: ALiBi, a norm right after the embedding, biases."""
    f = frame(config, 64, 2, 8, 250880, ("hidden_size|n_embed|n_embd", *NAMES[1:]))
    config.ignore("skip_bias_add", "skip_bias_add_qkv")
    config.ignore("apply_residual_connection_post_layernorm")
    config.ignore("n_inner", "num_key_value_heads")
    yield f.embedding()
    yield from norm("embedding_norm", f.hidden, bias=True)
    yield from times(f.layers, f.layer(4 * f.hidden))
    yield from f.end()


@family("falcon")
def falcon(config: ModelConfig) -> Iterator[TableRow]:
    """Almazrouei et al. 2023, in its three shapes: RW (multi-head, ALiBi), 7B (multi-query), 40B and 180B (grouped)."""
    names = ("hidden_size|n_embed", "num_hidden_layers|n_layer", "num_attention_heads|n_head")
    f = frame(config, 4544, 32, 71, 65024, names)
    bias, parallel = config.flag("bias", False), config.flag("parallel_attn", True)
    grouped, mqa = config.flag("new_decoder_architecture", False), config.flag("multi_query", True)
    config.ignore("apply_residual_connection_post_layernorm", "n_inner", "num_key_value_heads")
    stated = kv_group_count(config, f.heads, None, "num_kv_heads|n_head_kv")
    kv_heads = stated if grouped else 1 if mqa else f.heads
    parallel_norms = config.integer("num_ln_in_parallel_attn", 2 if grouped else 1)
    norms = 2 if not parallel or parallel_norms == 2 else 1
    yield f.embedding()
    yield from times(f.layers, f.layer(config.integer("ffn_hidden_size", 4 * f.hidden), kv_heads, bias, norms))
    yield from f.end()


@family("mpt")
def mpt(config: ModelConfig) -> Iterator[TableRow]:
    """MosaicML 2023: ALiBi, norms and matrices without biases."""
    names = ("d_model|hidden_size", "n_layers|num_hidden_layers", "n_heads|num_attention_heads")
    f = frame(config, 2048, 24, 16, 50368, names)
    config.only("expansion_ratio", 4)
    inside = config.part("attn_config", required=False)
    if inside is not None:
        inside.ignore("alibi_bias_max")
        inside.only("qk_ln", False)
        inside.only("qk_gn", False)
        inside.only("kv_n_heads", f.heads)
        inside.only("attn_type", "multihead_attention")
    config.ignore("learned_pos_emb", "embedding_fraction", "norm_type")
    config.only("no_bias", True)
    config.part("ffn_config", required=False)
    width = head_width(config, f.hidden, f.heads, name="-")
    yield f.embedding()
    layer = [*attention(f.hidden, f.heads, f.heads, width), *plain_mlp(f.hidden, 4 * f.hidden, False)]
    yield from times(f.layers, [*layer, *norm("norm", f.hidden, number=2)])
    yield from f.end(norm_bias=False)


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
