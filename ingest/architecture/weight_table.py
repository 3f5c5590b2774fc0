"""The structure of a model as two tables: its weights, and its attention layers.

Totals over the rows are formulas (`ingest.formulas.transformer`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ingest.architecture.hf_config import MAX_NUMBER, REQUIRED, ModelConfig

KINDS = (
    "embedding", "position", "attention", "mlp", "expert", "router", "norm", "head", "ssm", "conv", "recurrent", "vision",
    "audio", "mtp", "scale", "buffer", "other",
)  # fmt: skip
UNTRAINED = ("scale", "buffer")  # Kinds with bytes but without parameters


class Weight(NamedTuple):
    """Weights of one shape and one function."""

    name: str  # name in the paper, such as `attention.q` or `expert.down`
    shape: tuple[int, ...]  # of one tensor, `(output, input)` for a matrix
    kind: str  # one of `KINDS`
    #: how many such tensors are stored
    count: int = 1  # type: ignore[assignment]  # a tuple's own count() is of no use here
    active: int = 1  # how many of these one token passes through
    #: matrix products with such a tensor per token; 0 for what is looked up, added or scaled, more than `count` where layers
    #: share a tensor
    passes: int = 0
    #: positions of one sequence that pass through it, where they are not its tokens, such as the frames of audio that an
    #: encoder reads; 0 for the tokens
    positions: int = 0

    @property
    def parameters(self) -> int:
        """Parameters of this row."""
        return math.prod(self.shape) * self.count

    @property
    def parameters_active(self) -> int:
        """Parameters of this row that one token passes through."""
        return math.prod(self.shape) * self.active

    @property
    def multiply_adds(self) -> int:
        """Multiplications with this row's weights per position that passes, each with its addition."""
        return math.prod(self.shape) * self.passes


CHUNK = "chunk"  # A window that starts anew at each multiple of its width
CHOSEN = "chosen"  # A window of tokens that a query chooses among all


class Attention(NamedTuple):
    """Attention layers of one kind."""

    name: str  # `self`, `cross`, or the name in the paper
    heads: int  # query heads
    key: float  # width of a query and of a key in one head; of an entry for several tokens, the share of one
    value: float  # width of a value in one head, likewise
    layers: int = 1  # how many such layers a token passes through
    cached: float = 0  # elements that one layer keeps per token, or per key, while generating; 0 for an encoder
    window: int = 0  # tokens that a query attends to at most; 0 for all tokens
    causal: bool = True  # a query attends to earlier tokens only
    #: queries, keys: positions of one sequence that ask and that are looked at, where they are not its tokens; 0 for the tokens
    queries: int = 0
    keys: int = 0
    state: int = 0  # elements that one layer keeps of a sequence whatever its length; 0 but for linear and recurrent layers
    #: the tokens of the window: empty for the last tokens, `CHUNK` for those since a multiple of its width, `CHOSEN` for any
    #: that a query chooses, so that all are kept
    reach: str = ""
    #: tokens that a compressor makes one entry of, 0 where it does not; elements that it keeps of each token until then; the
    #: share of these that it keeps of the last whole block, which the next one overlaps
    block: int = 0
    raw: float = 0
    overlap: float = 0

    @property
    def multiply_adds_per_pair(self) -> float:
        """Multiply-adds for one query and one key token: scores and weighted values."""
        return self.heads * (self.key + self.value) * self.layers


TableRow = Weight | Attention


def recurrent(state: int, window: int) -> Attention:
    """A linear or recurrent layer, by what it keeps of a sequence, whatever its length: so many elements of the state that the
    scan hands from token to token, and of the last inputs of its short convolution.
    """
    return Attention("recurrent", 0, 0, 0, state=state + window)


def work(name: str, *shape: int, kind: str = "ssm", positions: int = 0) -> Weight:
    """Multiplications of a token, or of so many positions, without weights: those of a scan with its state."""
    return Weight(f"{name} (work, no weights)", shape, kind, 0, 0, 1, positions)


def times(layers: int, rows: Iterable[TableRow], stored: bool = True) -> Iterator[TableRow]:
    """Repeat rows: the same layer so many times, each with weights of its own; not `stored`, all with the same ones."""
    for row in rows:
        if isinstance(row, Weight):
            own = layers if stored else 1
            yield row._replace(count=row.count * own, active=row.active * own, passes=row.passes * layers)
        else:
            yield row._replace(layers=row.layers * layers)


def routed(experts: int, chosen: int, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """Repeat rows for a number of experts, of which a token visits the chosen ones."""
    for row in rows:
        assert isinstance(row, Weight)
        yield row._replace(count=row.count * experts, active=row.active * chosen, passes=row.passes * chosen, kind="expert")


def over(positions: int, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """Let an encoder read so many positions of each sequence, whatever the number of its tokens."""
    for row in rows:
        yield row._replace(positions=positions) if isinstance(row, Weight) else row._replace(queries=positions, keys=positions)


def without(rows: Iterable[TableRow], *names: str) -> Iterator[TableRow]:
    """Leave out the rows of these names."""
    return (row for row in rows if row.name not in names)


def relabelled(rows: Iterable[TableRow], prefix: str, kind: str | None = None, computed: bool = True) -> Iterator[TableRow]:
    """Rename rows, and change their kind; `computed=False` for an encoder that text tokens do not pass."""
    for row in rows:
        if isinstance(row, Weight):
            passes = row.passes if computed else 0
            yield row._replace(name=f"{prefix}.{row.name}", kind=kind or row.kind, passes=passes)
        elif computed:
            yield row._replace(name=f"{prefix}.{row.name}")


def aside(rows: Iterable[TableRow], kind: str = "vision") -> Iterator[TableRow]:
    """An encoder, of images where nothing else is said: text tokens do not pass it, so it counts as parameters alone."""
    return relabelled(rows, kind, kind, computed=False)


def joined(rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """Add up rows that differ in their number alone."""
    weights: dict[tuple[object, ...], Weight] = {}
    attentions: dict[Attention, Attention] = {}
    for row in rows:
        if isinstance(row, Weight):
            key = (row.name, row.shape, row.kind, row.positions)
            seen = weights.get(key, row._replace(count=0, active=0, passes=0))
            weights[key] = seen._replace(
                count=seen.count + row.count, active=seen.active + row.active, passes=seen.passes + row.passes
            )
        else:
            alike = row._replace(layers=0)
            attentions[alike] = row._replace(layers=row.layers + (attentions[alike].layers if alike in attentions else 0))
    yield from weights.values()
    yield from attentions.values()


#: Advice in the message of a refusal.
HOW = (
    "describe it by hand in YAML: `model_type` and sizes of a family that is like it, or rows under `weights:` and `attention:`"
)


def usual_passes(kind: str, shape: Sequence[int], active: int) -> int:
    """Products per token with tensors of a kind: none with what is looked up, added or scaled."""
    return 0 if kind in ("embedding", "position", "norm") or len(shape) < 2 else active


def by_hand(config: ModelConfig) -> Iterator[TableRow]:
    """Read rows such as `{name: mlp.up, shape: [4096, 1024], kind: mlp, count: 24}`.

    Raises IngestError: a row without shape, or with an unknown key or kind.
    """
    for row in config.tables("weights"):
        count = row.integer("count", 1, low=0)
        shape = row.integers("shape")
        if not shape or any(not 0 < width <= MAX_NUMBER for width in shape):
            raise row.refuse("shape", shape, "a list of whole numbers above 0, (output, input) for a matrix")
        kind = row.text("kind", "other", choices=KINDS)
        active = row.integer("active", count, low=0, high=count)
        passes = row.integer("passes", usual_passes(kind, shape, active), low=0)
        yield Weight(row.text("name", kind), tuple(shape), kind, count, active, passes)
    for row in config.tables("attention"):
        state = row.integer("state", 0, low=0)
        # A linear or recurrent layer has no heads that look at other tokens.
        default, low = (0, 0) if state else (REQUIRED, 1)
        heads, key = (row.integer(names, default, low=low) for names in ("heads", "key|head_dim"))
        value = row.integer("value", key, low=0)
        kv_heads = row.integer("kv_heads", heads)
        yield Attention(
            row.text("name", "self"),
            heads,
            key,
            value,
            row.integer("layers", 1),
            row.integer("cached", kv_heads * (key + value), low=0),
            row.integer("window", 0, low=0),
            row.flag("causal", True),
            state=state,
            reach=row.text("reach", "", choices=("", CHUNK, CHOSEN)),
        )
    for part in config.parts:
        for name in part.data:
            if name not in part.read_keys:
                raise part.refuse(name, part.data[name], f"one of {', '.join(sorted(part.read_keys))}")
