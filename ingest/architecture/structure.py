"""A model as two tables, with the totals over their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.architecture.weight_table import CHUNK, UNTRAINED, Attention, Weight
from ingest.engine.expression import Num, minimum
from ingest.engine.registry import solve
from ingest.errors import IngestError, listed
from ingest.text import visible

if TYPE_CHECKING:
    from ingest.architecture.stored_weights import StoredRow

BASES = ("headers", "family", "index", "by-hand")  # Where a structure comes from, the surest first
MOST_KEYS = 6  # Keys that a warning names; JSON has them all
#: Columns that say what a token costs.
TOKEN_COLUMNS = ("multiply_adds_per_token", "multiply_adds_per_token_pair", "cached_elements_per_token")


@dataclass(frozen=True)
class Architecture:
    """A model's structure."""

    id: str  # file stem or catalog id
    model_type: str  # the family's name in the config
    weights: tuple[Weight, ...]  # the rows, see `Weight`
    attentions: tuple[Attention, ...]  # the attention layers, see `Attention`
    #: layers, hidden, heads, kv_heads, head_dim, vocabulary: the usual sizes of a model; 0 where it has none
    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    vocabulary: int = 0
    #: keys that the file leaves to the defaults of the model's class, and their values
    defaults: Mapping[str, Any] = field(default_factory=dict)
    basis: str = "family"  # one of `BASES`
    stored: tuple[StoredRow, ...] = ()  # the tensors of a release, from its headers
    stored_bytes: int | None = None  # bytes of all tensors of a release, from its headers or its index; None if unknown
    #: bytes of each row as its quantized release stores it; None where it is not quantized
    row_bytes: tuple[float, ...] | None = None
    #: parameters as (low, typical, high), where only an index of bytes is there, or versions of a class disagree
    estimated: tuple[int, int, int] | None = None
    longest: int = 0  # tokens of a sequence that its positions reach; 0 where the file does not say
    state_bytes: int | None = None  # bytes of one number of a recurrent state; None where the file does not say
    missing: Mapping[str, str] = field(default_factory=dict)  # what cannot be known of this model, by quantity, and why
    unverified_keys: tuple[str, ...] = ()  # keys of its config that the family has not looked at and that may change a weight
    notes: tuple[str, ...] = ()  # one line each

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of any count has to know: keys that the family has not looked at, and the notes."""
        doubtful = ("tie_word_embeddings",) if self.basis == "family" and self.estimated else ()
        unread = [key for key in self.unverified_keys if key not in doubtful]
        if not unread:
            return self.notes
        keys = listed(map(visible, unread), MOST_KEYS)
        why = f"unverified: the family '{self.model_type}' has not looked at {keys}, which may change the structure"
        return (why, *self.notes)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns over which formulas sum, by quantity; without those that are not known."""
        own = [row for row in self.weights if row.kind not in ("mtp", *UNTRAINED)]
        further = [row.parameters for row in self.weights if row.kind == "mtp"]
        found = {
            "weight_parameters": [row.parameters for row in own],
            "active_weight_parameters": [row.parameters_active for row in own],
            "embedding_weight_parameters": [row.parameters for row in own if row.kind == "embedding"],
            "multiply_adds_per_token": [row.multiply_adds for row in own],
            "multiply_adds_per_token_pair": [row.multiply_adds_per_pair for row in self.attentions],
            "cached_elements_per_token": [0 if row.keys else row.cached * row.layers for row in self.attentions],
            **({"mtp_weight_parameters": further} if further else {}),
        }
        return {name: column for name, column in found.items() if name not in self.missing}

    def quantities(self, sequence_length: Num | None = None) -> dict[str, Any]:
        """Return the inputs of formulas for this model, with those for a sequence length where it is given.

        An encoder that reads so many positions of each sequence costs a token its share of them.
        """
        known = dict(self.columns)
        if sequence_length is None:
            return known
        known["sequence_length"] = sequence_length
        if "multiply_adds_per_token" in known and any(row.positions for row in self.weights):
            own = [row for row in self.weights if row.kind not in ("mtp", *UNTRAINED)]
            shares = (row.positions / sequence_length if row.positions else 1 for row in own)
            known["multiply_adds_per_token"] = [row.multiply_adds * share for row, share in zip(own, shares, strict=True)]
        if "multiply_adds_per_token_pair" in known:
            known["multiply_adds_per_token_pair"] = [
                row.multiply_adds_per_pair * _share(row, sequence_length) * (row.keys / sequence_length if row.keys else 1)
                for row in self.attentions
            ]
            known["causal_attention_flops"] = [self._causal(row, sequence_length) for row in self.attentions]
        return known

    def _causal(self, row: Attention, sequence_length: Num) -> Num:
        # Within a chunk, a query attends to half of it, as in a sequence of that length.
        longest = minimum(row.window, sequence_length) if row.reach == CHUNK else sequence_length
        given = {
            "sequence_length": longest,
            "attention_window": row.window or longest,
            "pair_multiply_adds": row.multiply_adds_per_pair * _share(row, sequence_length),
        }
        if not row.causal:
            given["visible_tokens"] = row.keys or minimum(row.window or sequence_length, sequence_length)
        return solve("visible_attention_flops", given)

    def solve(self, name: str, sequence_length: Num | None = None, **given: Num) -> Num:
        """Compute a quantity of this model."""
        return solve(name, {**self.quantities(sequence_length), **given})

    @property
    def recurrent_layers(self) -> int:
        """State-space, linear and short convolutional layers: those that keep a state of a sequence, whatever its length."""
        return sum(row.layers for row in self.attentions if row.state)

    @property
    def cache_window(self) -> int:
        """Tokens of a sequence that the cache holds at most; 0 where some layer keeps all of them, or none keeps any."""
        reaches = [0 if row.reach else row.window for row in self.attentions if row.cached]
        return max(reaches, default=0) if all(reaches) else 0

    @property
    def released_row_bytes(self) -> list[float]:
        """Bytes of the release by row, from its headers or its quantization; empty where neither is there."""
        return [float(row.bytes) for row in self.stored] or list(self.row_bytes or ())

    @cached_property
    def parameters(self) -> int:
        """All parameters, tied ones once, without those that predict tokens further on.

        Raises IngestError: they are not known.
        """
        if self.estimated:
            return self.estimated[1]
        if "weight_parameters" in self.missing:
            raise IngestError(f"the parameters of {self.id} are not known: {self.missing['weight_parameters']}")
        return int(self.solve("parameters"))

    @cached_property
    def parameters_trained(self) -> int:
        """All parameters, with those of modules that predict tokens further on: what training holds and checkpoints save."""
        return int(self.solve("parameters_trained", parameters=self.parameters))

    @cached_property
    def parameters_active(self) -> int:
        """Parameters that one token uses: all but the experts that it does not visit."""
        return int(self.solve("parameters_active"))

    @property
    def parameters_embedding(self) -> int:
        """Parameters of the token embedding table."""
        return int(self.solve("parameters_embedding"))

    def kv_cache_bytes_per_token(self, bytes_per_cached_element: float = 2) -> float:
        """Key-value cache per token, before a sliding window limits it."""
        return float(self.solve("kv_cache_bytes_per_token", bytes_per_cached_element=bytes_per_cached_element))

    def flops_per_token(self, sequence_length: Num, causal: bool = True) -> Num:
        """FLOPs of the forward and backward pass, per token."""
        return self.solve("flops_per_token" if causal else "flops_per_token_full_attention", sequence_length)

    def forward_flops_per_token(self, sequence_length: Num, causal: bool = True) -> Num:
        """FLOPs of the forward pass, per token."""
        return self.solve("forward_flops_per_token" if causal else "forward_flops_per_token_full_attention", sequence_length)


def _share(row: Attention, sequence_length: Num) -> Num:
    """Queries of an attention layer per token of the sequence."""
    return row.queries / sequence_length if row.queries else 1


class Numbers(NamedTuple):
    """A decoder by its numbers, 0 where one is not given; parameters alone are a model whose attention is unknown."""

    parameters: int = 0
    layers: int = 0
    hidden_size: int = 0
    attention_heads: int = 0
    key_value_heads: int = 0
    vocabulary: int = 0
    experts: int = 0
    experts_per_token: int = 0


def is_numbers(source: object) -> bool:
    """Whether a source of a model is its numbers, as `numbers_in` writes them."""
    return isinstance(source, str) and source.partition("=")[0] in Numbers._fields


def numbers_in(settings: Mapping[str, float], alone: bool = False) -> str:
    """The numbers of a model among settings, as a source; empty without layers and width, or `alone` parameters.

    >>> numbers_in({"layers": 118, "hidden_size": 18432, "nodes": 4})
    'layers=118 hidden_size=18432'
    """
    found = {name: settings[name] for name in Numbers._fields if name in settings}
    total, *shape = Numbers._fields[:3]
    if not found.keys() >= {*shape} and not (alone and total in found and not found.keys() & {*shape}):
        return ""
    return " ".join(f"{name}={value:.17g}" for name, value in found.items())
