"""What families are built from: linear layers, norms, attention, feed-forward networks, experts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.table import Attention, Row, Weight, routed, times


def linear(name: str, out: int, into: int, bias: bool = False, kind: str = "mlp") -> Iterator[Weight]:
    """A matrix that every token is multiplied with, and its bias.

    >>> [row.parameters for row in linear("q", 4, 3, bias=True)]
    [12, 4]
    """
    yield Weight(name, (out, into), kind, passes=1)
    if bias:
        yield Weight(f"{name}.bias", (out,), kind)


def norm(name: str, width: int, bias: bool = False, number: int = 1) -> Iterator[Weight]:
    """Scale (RMSNorm), or scale and shift (LayerNorm with bias)."""
    if number:
        yield from (row for row in times(number, [Weight(name, (width,), "norm")]) if isinstance(row, Weight))
    if bias and number:
        yield from (row for row in times(number, [Weight(f"{name}.bias", (width,), "norm")]) if isinstance(row, Weight))


def embedding(vocabulary: int, width: int) -> Weight:
    """The table that is looked up by token id."""
    return Weight("token_embedding", (vocabulary, width), "embedding")


def positions(number: int, width: int, name: str = "position_embedding") -> Weight:
    """A learned table that is looked up by position, or by segment."""
    return Weight(name, (number, width), "position")


def head(vocabulary: int, width: int, tied: bool, bias: bool = False) -> Iterator[Weight]:
    """The product that yields a score for every word; tied: with the embedding table, stored once.

    >>> [(row.parameters, row.multiply_adds) for row in head(10, 4, tied=True)]
    [(0, 40)]
    """
    stored = 0 if tied else 1
    yield Weight("head", (vocabulary, width), "head", count=stored, active=stored, passes=1)
    if bias:
        yield Weight("head.bias", (vocabulary,), "head")


def attention(
    hidden: int,
    heads: int,
    kv_heads: int,
    key: int,
    value: int | None = None,
    *,
    q_bias: bool = False,
    kv_bias: bool = False,
    o_bias: bool = False,
    window: int = 0,
    causal: bool = True,
    cached: bool = True,
    name: str = "self",
    prefix: str = "attention",
    into: int | None = None,
    out: int | None = None,
) -> Iterator[Row]:
    """Multi-head, grouped-query or multi-query attention: Q, K, V, O and the look at other tokens.

    >>> sum(row.parameters for row in attention(8, 4, 2, 2) if isinstance(row, Weight))
    192
    """
    wide = key if value is None else value
    source = into or hidden
    yield from linear(f"{prefix}.q", heads * key, hidden, q_bias, "attention")
    yield from linear(f"{prefix}.k", kv_heads * key, source, kv_bias, "attention")
    yield from linear(f"{prefix}.v", kv_heads * wide, source, kv_bias, "attention")
    yield from linear(f"{prefix}.o", out or hidden, heads * wide, o_bias, "attention")
    yield Attention(name, heads, key, wide, 1, kv_heads * (key + wide) if cached else 0, window, causal)


def gated_mlp(hidden: int, inner: int, bias: bool = False, kind: str = "mlp", prefix: str = "mlp") -> Iterator[Weight]:
    """SwiGLU, GeGLU: gate and up side by side, then down.

    >>> sum(row.parameters for row in gated_mlp(4, 8))
    96
    """
    yield from linear(f"{prefix}.gate", inner, hidden, bias, kind)
    yield from linear(f"{prefix}.up", inner, hidden, bias, kind)
    yield from linear(f"{prefix}.down", hidden, inner, bias, kind)


def plain_mlp(hidden: int, inner: int, bias: bool = True, kind: str = "mlp", prefix: str = "mlp") -> Iterator[Weight]:
    """Up, an activation, down.

    >>> sum(row.parameters for row in plain_mlp(4, 8))
    76
    """
    yield from linear(f"{prefix}.up", inner, hidden, bias, kind)
    yield from linear(f"{prefix}.down", hidden, inner, bias, kind)


def experts(
    hidden: int, number: int, chosen: int, rows: Iterable[Row], *, router_bias: bool = False, router: str = "router"
) -> Iterator[Row]:
    """A router and the experts behind it."""
    yield from linear(router, number, hidden, router_bias, "router")
    yield from routed(number, chosen, rows)
