"""From a source (config.json, YAML, catalog id) to an `Architecture`: both tables, checked, with their totals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.registry import ended, families
from ingest.architecture.weight_table import HOW, Attention, TableRow, Weight, by_hand, joined
from ingest.catalog.store import Catalog
from ingest.catalog.yaml_reader import read_yaml
from ingest.engine.expression import Num
from ingest.engine.registry import solve
from ingest.errors import IngestError, UsageError, nearest
from ingest.files import read_json_object

#: No real config comes near this size.
MOST_BYTES = 2_000_000
#: Beyond this a number in the config is wrong.
MAX_PARAMETERS = 10**17


@dataclass(frozen=True)
class Architecture:
    """A model's structure.

    Attributes:
        id: file stem or catalog id.
        model_type: the family's name in the config.
        weights: the rows, see `Weight`.
        attentions: the attention layers, see `Attention`.
        layers, hidden, heads, kv_heads, head_dim, vocabulary: the usual sizes of a model; 0 where it has none.
        defaults: keys that the file leaves to the defaults of the model's class, and their values.
    """

    id: str
    model_type: str
    weights: tuple[Weight, ...]
    attentions: tuple[Attention, ...]
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns over which formulas sum, by quantity."""
        return {
            "weight_parameters": [row.parameters for row in self.weights],
            "active_weight_parameters": [row.parameters_active for row in self.weights],
            "embedding_weight_parameters": [row.parameters for row in self.weights if row.kind == "embedding"],
            "multiply_adds_per_token": [row.multiply_adds for row in self.weights],
            "multiply_adds_per_token_pair": [row.multiply_adds_per_pair for row in self.attentions],
            "cached_elements_per_token": [row.cached * row.layers for row in self.attentions],
        }

    def quantities(self, sequence_length: Num | None = None) -> dict[str, Any]:
        """Return the inputs of formulas for this model, with those for a sequence length where it is given."""
        known = dict(self.columns)
        if sequence_length is not None:
            known["sequence_length"] = sequence_length
            known["causal_attention_flops"] = [self._causal(row, sequence_length) for row in self.attentions]
        return known

    def _causal(self, row: Attention, sequence_length: Num) -> Num:
        given = {
            "sequence_length": sequence_length,
            "attention_window": row.window or sequence_length,
            "pair_multiply_adds": row.multiply_adds_per_pair,
        }
        if not row.causal:
            given["visible_tokens"] = sequence_length
        return solve("visible_attention_flops", given)

    def solve(self, name: str, sequence_length: Num | None = None, **given: Num) -> Num:
        """Compute a quantity of this model."""
        return solve(name, {**self.quantities(sequence_length), **given})

    @property
    def parameters(self) -> int:
        """All parameters, tied ones once."""
        return int(self.solve("parameters"))

    @property
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
        name = "forward_flops_per_token" if causal else "forward_flops_per_token_full_attention"
        return self.solve(name, sequence_length)


def describe(source: str | Path, catalog: Catalog | None = None) -> Architecture:
    """Describe a model.

    Args:
        source: a Hugging Face `config.json` or its folder, a YAML file of the same keys, or a catalog id.
        catalog: where ids are looked up; the shipped catalogs by default.

    >>> describe("llama2-70b").parameters
    68976648192

    Raises:
        IngestError: a file that cannot be read, or a family that is not described.
        UsageError: no such file or id.
    """
    path = Path(source)
    if path.suffix == ".json" or path.is_dir():
        path = path / "config.json" if path.is_dir() else path
        return _described(path.parent.name or path.stem if path.stem == "config" else path.stem, path, _config(path))
    if path.suffix in (".yaml", ".yml"):
        return _from_yaml(path)
    return _from_catalog(str(source), catalog or Catalog())


def _config(path: Path) -> Mapping[str, Any]:
    """The keys of a `config.json`; transformers writes limits of time steps as `Infinity`."""
    return read_json_object(path, "a model's config.json", most=MOST_BYTES, infinite=True)


def _from_catalog(name: str, catalog: Catalog) -> Architecture:
    wanted = name.lower()
    for candidate in (wanted, catalog.aliases.get("models", {}).get(wanted, "")):
        for folder in catalog.folders:
            path = folder / "architectures" / f"{candidate}.yaml"
            if candidate and path.is_file():
                return _from_yaml(path)
    ids = {item.stem for folder in catalog.folders for item in (folder / "architectures").glob("*.yaml")}
    if wanted in catalog.ids("models") or wanted in catalog.aliases.get("models", {}):
        raise IngestError(f"the structure of {name} is unknown; supply its config.json{nearest(wanted, ids)}")
    hint = nearest(wanted, ids) or f"; known: {', '.join(sorted(ids))}"
    raise UsageError(f"unknown architecture '{name}', expected an id, a config.json or a YAML file{hint}")


def _from_yaml(path: Path) -> Architecture:
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise IngestError(f"{path}: found no keys and values, expected a model's hyper-parameters")
    return _described(path.stem, path, data)


def _described(name: str, path: Path, data: Mapping[str, Any]) -> Architecture:
    config = ModelConfig({key: item for key, item in data.items() if key not in ("source", "where", "name")}, str(path))
    rows = [*joined(by_hand(config) if "weights" in data else _family(config))]
    weights = tuple(row for row in rows if isinstance(row, Weight))
    attentions = tuple(row for row in rows if isinstance(row, Attention))
    if sum(row.parameters for row in weights) > MAX_PARAMETERS:
        raise IngestError(f"{path}: more than {MAX_PARAMETERS:,} parameters, expected sizes that can be built")
    first = max(attentions, key=lambda row: row.cached, default=None)
    table = next((row for row in weights if row.kind == "embedding"), None)
    return Architecture(
        id=name,
        model_type=str(data.get("model_type", "by hand")),
        weights=weights,
        attentions=attentions,
        layers=_layers(config),
        hidden=table.shape[-1] if table else 0,
        heads=first.heads if first else 0,
        kv_heads=max(first.cached // (first.key + first.value), 1) if first and first.cached else 0,
        head_dim=first.key if first else 0,
        vocabulary=table.shape[0] if table else 0,
        defaults=config.all_defaults(),
    )


def _family(config: ModelConfig) -> Iterable[TableRow]:
    """The rows of the family that `model_type` names, with the end that `architectures` names."""
    config.ignore("model_type")
    found = config.data.get("model_type")
    if not isinstance(found, str):
        raise IngestError(f"{config.path}: model_type: found {found!r}, expected the name of a family, such as llama")
    describing = families().get(found)
    if describing is None:
        from difflib import get_close_matches

        near = get_close_matches(found, families(), n=3, cutoff=0.5)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise IngestError(f"{config.path}: model_type: the family '{found[:60]}' is not described{hint}; {HOW}")
    rows = [*describing(config)]
    if "architectures" not in config.read_keys:
        rows = [*ended(config, rows)]
    for owner, key in config.unread():
        raise owner.refuse(key, owner.data[key], f"a key of the family '{found}': this key may change the structure; {HOW}")
    return rows


def _layers(config: ModelConfig) -> int:
    for key in ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"):
        found = config.data.get(key)
        if isinstance(found, int):
            return found
    return next((found for part in config.parts if (found := _layers(part))), 0)
