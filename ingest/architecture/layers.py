"""Layers of model families: linear layers, norms, attention, feed-forward networks, experts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.weight_table import Attention, TableRow, Weight, relabelled, routed, times


def biased(name: str, shape: tuple[int, ...], kind: str, passes: int = 0, bias: bool = True) -> Iterator[Weight]:
    """Return a tensor, and its bias: one number per output."""
    yield Weight(name, shape, kind, passes=passes)
    if bias:
        yield Weight(f"{name}.bias", shape[:1], kind)


def linear(name: str, out: int, into: int, bias: bool = False, kind: str = "mlp") -> Iterator[Weight]:
    """Return a matrix with which every token is multiplied, and its bias."""
    return biased(name, (out, into), kind, 1, bias)


def products(name: str, *widths: int, bias: bool = True) -> Iterator[Weight]:
    """Return matrices one after the other, from the first width to the last, numbered from 1.

    >>> [(row.name, row.shape) for row in products("merger", 8, 4, 2, bias=False)]
    [('merger.1', (4, 8)), ('merger.2', (2, 4))]
    """
    for number, (into, out) in enumerate(pairwise(widths), start=1):
        yield from linear(f"{name}.{number}", out, into, bias)


def norm(name: str, width: int, bias: bool = False, number: int = 1) -> Iterator[Weight]:
    """Scale (RMSNorm), or scale and shift (LayerNorm with bias)."""
    if number:
        for tensor in (name, f"{name}.bias")[: 1 + bias]:
            yield Weight(tensor, (width,), "norm", number, number)


def embedding(vocabulary: int, width: int) -> Weight:
    """Return the token embedding table."""
    return Weight("token_embedding", (vocabulary, width), "embedding")


def positions(number: int, width: int, name: str = "position_embedding") -> Weight:
    """Return a learned table of positions, or of segments."""
    return Weight(name, (number, width), "position")


def head(vocabulary: int, width: int, tied: bool, bias: bool = False) -> Iterator[Weight]:
    """Return the output matrix, with a score for every token id; tied: the embedding table, stored once."""
    stored = 0 if tied else 1
    yield Weight("head", (vocabulary, width), "head", count=stored, active=stored, passes=1)
    if bias:
        yield Weight("head.bias", (vocabulary,), "head")


def attention(
    # hidden, heads, kv_heads, width: width of the stream, query heads, key and value heads, width of one head
    hidden: int,
    heads: int,
    kv_heads: int,
    width: int,
    *,
    value: int | None = None,  # width of a value in one head, where it is another one
    into: int | None = None,  # width that Q, K and V read, where it is another one than O writes
    # bias, o_bias: of Q, K and V, and of O; None for the same
    bias: bool = False,
    o_bias: bool | None = None,
    causal: bool = True,  # a query attends to earlier tokens only
    # name, prefix: of the attention, and of its matrices
    name: str = "self",
    prefix: str = "attention",
) -> Iterator[TableRow]:
    """Multi-head, grouped-query or multi-query attention: Q, K, V, O and the attention itself, cached where it is causal."""
    read, own = into or hidden, value or width
    for part, out in (("q", heads * width), ("k", kv_heads * width), ("v", kv_heads * own)):
        yield from linear(f"{prefix}.{part}", out, read, bias, "attention")
    yield from linear(f"{prefix}.o", hidden, heads * own, bias if o_bias is None else o_bias, "attention")
    yield Attention(name, heads, width, own, 1, kv_heads * (width + own) if causal else 0, causal=causal)


def encoder_attention(
    config: ModelConfig, hidden: int, heads: int, bias: bool = True, o_bias: bool | None = None
) -> Iterator[TableRow]:
    """Multi-head attention of an encoder: every token attends to every token, without a cache.

    Raises IngestError: the heads do not divide the width.
    """
    return attention(hidden, heads, heads, even_width(config, hidden, heads), bias=bias, o_bias=o_bias, causal=False)


def encoder_layer(config: ModelConfig, hidden: int, inner: int, heads: int, bias: bool = True) -> list[TableRow]:
    """Return a layer of an encoder: attention, a plain network, two LayerNorms; `bias` on Q, K and V."""
    return [*encoder_attention(config, hidden, heads, bias, True), *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)]


#: Keys of width, inner width, depth and heads of an encoder.
TOWER = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")


def tower_sizes(
    config: ModelConfig, hidden: int, inner: int, layers: int, heads: int, names: Sequence[str] = TOWER
) -> tuple[int, int, int, int]:
    """Read width, inner width, depth and heads of an encoder; the numbers are the family's defaults."""
    wide, network = config.size(names[0], hidden), config.integer(names[1], inner)
    return wide, network, config.integer(names[2], layers, high=MAX_LAYERS), config.integer(names[3], heads)


def gated_mlp(hidden: int, inner: int, bias: bool = False, prefix: str = "mlp") -> Iterator[Weight]:
    """Gated feed-forward network (SwiGLU, GeGLU): gate, up, down."""
    yield from linear(f"{prefix}.gate", inner, hidden, bias)
    yield from plain_mlp(hidden, inner, bias, prefix)


def plain_mlp(hidden: int, inner: int, bias: bool = True, prefix: str = "mlp") -> Iterator[Weight]:
    """Feed-forward network without gate: up, activation, down."""
    yield from linear(f"{prefix}.up", inner, hidden, bias)
    yield from linear(f"{prefix}.down", hidden, inner, bias)


def prediction(
    hidden: int, modules: int, layer: Iterable[TableRow], joints: int | None = None, norms: int = 3, bias: bool = False
) -> Iterator[TableRow]:
    """Modules that predict tokens further on: a norm of the states and one of the next token, a product, a layer, a norm.

    They share embedding and head with the model, are trained with it, and are left out when it runs. Before the layers stand
    `joints`, one per layer by default, of `norms` and a product; without the third norm, that of the model serves.
    """
    number = modules if joints is None else joints
    rows = [
        *times(modules, layer),
        *times(number, [*linear("join", hidden, 2 * hidden, bias), *norm("norm", hidden, number=norms)]),
    ]
    yield from relabelled(rows if modules else (), "mtp", "mtp", computed=False)


class DecoderSizes(NamedTuple):
    """Width, depth and heads of a decoder, and the parts that follow from them."""

    config: ModelConfig
    hidden: int  # width of the residual stream
    inner: int  # width within the feed-forward network; 0 where the family reads its own
    layers: int  # depth
    #: heads, kv_heads, width: query heads, key and value heads, width of one head
    heads: int
    kv_heads: int
    width: int
    vocabulary: int  # token ids

    def attention(self, bias: bool = False, o_bias: bool | None = None, gate: bool = False) -> Iterator[TableRow]:
        """Q, K, V and O; `bias` on all four unless `o_bias` is given; `gate` adds a matrix as large as Q."""
        yield from attention(self.hidden, self.heads, self.kv_heads, self.width, bias=bias, o_bias=o_bias)
        if gate:
            yield from linear("attention.gate", self.heads * self.width, self.hidden, bias, "attention")

    def head_norms(self, bias: bool = False) -> Iterator[Weight]:
        """A norm over each head of Q and of K, one scale for all heads."""
        yield from norm("qk_norm", self.width, bias, 2)

    def flat_norms(self) -> Iterator[Weight]:
        """A norm over all heads of Q together, and of K."""
        yield from norm("q_norm", self.heads * self.width)
        yield from norm("k_norm", self.kv_heads * self.width)

    def gated(self, inner: int | None = None, bias: bool = False) -> Iterator[Weight]:
        """A gated feed-forward network."""
        return gated_mlp(self.hidden, inner or self.inner, bias)

    def plain(self, inner: int | None = None, bias: bool = True) -> Iterator[Weight]:
        """A feed-forward network without gate."""
        return plain_mlp(self.hidden, inner or self.inner, bias)

    def norms(self, number: int, bias: bool = False) -> Iterator[Weight]:
        """Norms over the residual stream."""
        return norm("norm", self.hidden, bias, number)

    def experts(
        self,
        number: int,
        chosen: int,
        inner: int,
        *,
        shared: int = 0,
        latent: int = 0,
        router_bias: bool = False,
        bias: bool = False,
        shared_bias: bool = False,
    ) -> Iterator[TableRow]:
        """Routed experts with their router, and one shared network of width `shared` that every token visits.

        With `latent`, a product takes each token down to that width before the routed experts, and another up behind them.
        """
        if chosen > number:
            raise self.config.refuse("num_experts_per_tok", chosen, f"at most the number of experts, {number:,}")
        rows = gated_mlp(latent or self.hidden, inner, bias, prefix="expert")
        yield from linear("router", number, self.hidden, router_bias, "router")
        yield from routed(number, chosen, rows)
        if latent:
            yield from products("latent", self.hidden, latent, self.hidden, bias=bias)
        if shared:
            yield from gated_mlp(self.hidden, shared, shared_bias, prefix="shared_expert")

    def frame(
        self,
        rows: Iterable[TableRow],
        *,
        tied: bool = False,
        norm_bias: bool = False,
        final_norm: bool = True,
        head_bias: bool = False,
    ) -> Iterator[TableRow]:
        """Embedding, layers, last norm and head; `tied` is the family's default."""
        yield embedding(self.vocabulary, self.hidden)
        yield from rows
        yield from norm("final_norm", self.hidden, norm_bias, 1 if final_norm else 0)
        yield from head(self.vocabulary, self.hidden, self.config.flag("tie_word_embeddings", tied), head_bias)


def sizes(
    config: ModelConfig,
    # hidden, inner, layers, heads, vocabulary: defaults; `inner` None leaves the feed-forward width unread
    hidden: int,
    inner: int | None,
    layers: int,
    heads: int,
    vocabulary: int,
    *,
    kv_heads: int | None = None,  # default; None for as many as query heads
    width: int | None = None,  # default width of a head; None for hidden size over heads
) -> DecoderSizes:
    """Read the sizes; the arguments are the family's own defaults.

    Raises IngestError: key and value heads do not divide the query heads, or the heads the hidden size.
    """
    wide, count = config.stated(hidden_size=hidden, num_attention_heads=heads)
    groups = kv_group_count(config, count, kv_heads)
    return DecoderSizes(
        config=config,
        hidden=wide,
        inner=config.size("intermediate_size", inner) if inner is not None else 0,
        layers=config.size("num_hidden_layers|num_layers", layers, high=MAX_LAYERS),
        heads=count,
        kv_heads=groups,
        width=head_width(config, wide, count, width),
        vocabulary=config.size("vocab_size", vocabulary),
    )


def multi_head_sizes(
    config: ModelConfig,
    # hidden, layers, heads, vocabulary: defaults; `heads` None for a model without attention
    hidden: int,
    layers: int,
    heads: int | None,
    vocabulary: int,
    names: tuple[str, ...] = ("hidden_size", "num_hidden_layers", "num_attention_heads"),  # the keys of width, depth and heads
) -> DecoderSizes:
    """Read the sizes of a model in which every query head has a key and value head; the numbers are the family's defaults."""
    wide, deep = config.size(names[0], hidden), config.size(names[1], layers, high=MAX_LAYERS)
    count = 0 if heads is None else config.size(names[2], heads)
    words = config.size("vocab_size", vocabulary)
    return DecoderSizes(config, wide, 0, deep, count, count, even_width(config, wide, count) if count else 0, words)


def kv_group_count(config: ModelConfig, heads: int, default: int | None, names: str = "num_key_value_heads") -> int:
    """Return the key and value heads: as stated; `null` means as many as query heads."""
    key, stated = config.get(names)
    if stated is None:
        unset = default is not None and not any(name in config.data for name in names.split("|"))
        return config.integer(names, default if unset and default is not None else heads)
    groups = config.integer(names)
    if heads % groups:
        raise config.refuse(key, groups, f"a divisor of the {heads:,} query heads")
    return groups


def head_width(config: ModelConfig, hidden: int, heads: int, default: int | None = None) -> int:
    """Return the width of a head: as stated, or the hidden size over the heads.

    Raises IngestError: the heads do not divide the hidden size.
    """
    stated = config.get("head_dim")[1] is not None
    if stated or (default is not None and "head_dim" not in config.data):
        return config.integer("head_dim", default or 0)
    return even_width(config, hidden, heads)


def even_width(config: ModelConfig, hidden: int, heads: int) -> int:
    """Return the hidden size over the heads. Raises IngestError: the heads do not divide it."""
    if hidden % heads:
        raise config.refuse("num_attention_heads", heads, f"a divisor of the hidden size {hidden:,}")
    return hidden // heads


def up_to(multiple: int, width: int) -> int:
    """Return the next multiple of a number, as kernels want a width."""
    return -(-width // multiple) * multiple


def windowed(rows: Iterable[TableRow], short: int, window: int, reach: str = "") -> Iterator[TableRow]:
    """Give a number of layers a window, which slides by default; the others have full attention."""
    for row in rows:
        if isinstance(row, Attention) and short and window:
            yield row._replace(layers=short, window=window, reach=reach)
            if row.layers > short:
                yield row._replace(layers=row.layers - short)
        else:
            yield row


def sliding(config: ModelConfig, layers: int, default_window: int = 0, every: int = 0, first: bool = False) -> tuple[int, int]:
    """Return how many layers have a sliding window, and its width.

    Where the file lists no types, every n-th layer has full attention, or the `first` of n; 0 for no window, 1 for all layers.
    """
    kinds = config.texts("layer_types", layers, choices=("full_attention", "sliding_attention", "chunked_attention"))
    stated = "sliding_window" in config.data
    window = config.integer("sliding_window", 0 if stated else default_window, low=0)
    if kinds is not None:
        return sum(kind != "full_attention" for kind in kinds), window
    if every == 0:
        return 0, 0
    return layers if every == 1 else layers - (layers + (every - 1) * first) // every, window
