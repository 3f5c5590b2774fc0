"""A model that no family describes, written out by hand: its tables of weights and of attention, in YAML."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.config import MAX_NUMBER, Config
from ingest.architecture.table import KINDS, Attention, Row, Weight

#: What the message of a refusal says about this way.
HOW = (
    "describe it by hand in YAML: `model_type` and sizes of a family that is like it, or rows under `weights:` and `attention:`"
)


def by_hand(config: Config) -> Iterator[Row]:
    """Read rows such as `{name: mlp.up, shape: [4096, 1024], kind: mlp, count: 24}`.

    >>> rows = by_hand(Config({"weights": [{"name": "up", "shape": [8, 4], "kind": "mlp", "count": 2}]}, "m.yaml"))
    >>> next(rows).parameters
    64

    Raises:
        IngestError: a row without shape, or with a key or kind that nobody knows.
    """
    for row in config.tables("weights"):
        count = row.whole("count", 1)
        shape = row.wholes("shape")
        if not shape or any(not 0 < width <= MAX_NUMBER for width in shape):
            raise row.refuse("shape", shape, "a list of whole numbers above 0, (output, input) for a matrix")
        kind = row.text("kind", "other", choices=KINDS)
        looked_up = kind in ("embedding", "position", "norm") or len(shape) < 2
        active = row.whole("active", count, low=0, high=count)
        yield Weight(
            row.text("name", kind), tuple(shape), kind, count, active, row.whole("passes", 0 if looked_up else active, low=0)
        )
    for row in config.tables("attention"):
        heads, key = row.whole("heads"), row.whole("key|head_dim")
        value = row.whole("value", key, low=0)
        kv_heads = row.whole("kv_heads", heads)
        yield Attention(
            row.text("name", "self"),
            heads,
            key,
            value,
            row.whole("layers", 1),
            row.whole("cached", kv_heads * (key + value), low=0),
            row.whole("window", 0, low=0),
            row.flag("causal", True),
        )
    for part in config.parts:
        for name in part.data:
            if name not in part.asked:
                raise part.refuse(name, part.data[name], f"one of {', '.join(sorted(part.asked))}")
