"""Architectures as catalog entries: the hyper-parameters of a model, and its counted parameters."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ingest.architecture.describe import describe
from ingest.catalog.records import TEXT, Encoding, Entry, Model, Value, value
from ingest.catalog.store import MAX_NAME, Catalog
from ingest.catalog.yaml_reader import read_yaml
from ingest.engine.registry import solve

_HEAD = ("name", "source", "where", "model_type")


class Structure(Entry):
    """A model described by the keys of its own `config.json`.

    Attributes:
        hyper_parameters: the keys and their values, as the file has them.
    """

    kind: ClassVar[str] = "architectures"
    model_type: str = TEXT
    hyper_parameters: str = TEXT
    parameters: Value | None = value("parameter")
    parameters_active: Value | None = value("parameter")


def structure(name: str, catalog: Catalog) -> Structure:
    """One architecture by id, everyday name of its model, or YAML file.

    >>> structure("llama3-8b", Catalog()).parameters.value
    8030261248

    Raises:
        UsageError: no such architecture, with the nearest one.
        IngestError: a file that cannot be read, or a family that is not described.
    """
    made = describe(name, catalog)
    places = (Path(name), *(folder / Structure.kind / f"{made.id}.yaml" for folder in catalog.folders))
    path = next(place for place in places if place.is_file())
    data = read_yaml(path)
    shown = {key: item for key, item in data.items() if key not in _HEAD and not isinstance(item, (dict, list))}
    source, where = str(data.get("source", "arithmetic")), str(data.get("where", ""))

    def counted(number: float) -> Value:
        return Value(number, "parameter", source, "derived", f"{where}: counted over the weights".removeprefix(": "))

    return Structure(
        made.id,
        path,
        name=str(data.get("name", made.id)),
        model_type=made.model_type,
        hyper_parameters=", ".join(f"{key} {item}" for key, item in shown.items()),
        parameters=counted(made.parameters),
        parameters_active=counted(made.parameters_active),
    )


#: Sequence length at which FLOPs are counted; attention is a small part of them at such lengths.
USUAL_SEQUENCE = 4096


def model_of(source: str, catalog: Catalog) -> Model:
    """Return the model that `--model` names: a catalog entry, or one made from a config.json or hyper-parameters.

    >>> model_of("llama3-8b", Catalog()).sample
    'one 8192-token sequence'

    Raises:
        UsageError: no such entry or file.
        IngestError: a family that is not described.
    """
    return _made(source, catalog) if _describes_structure(source, catalog) else catalog.get(Model, source)


def _describes_structure(source: str, catalog: Catalog) -> bool:
    if not isinstance(source, str) or len(source) > MAX_NAME:
        return False
    if source.endswith(".json"):
        return True
    if source.endswith((".yaml", ".yml")) and Path(source).is_file():
        data = read_yaml(Path(source))
        return isinstance(data, dict) and ("model_type" in data or "weights" in data)
    known = source.lower() in catalog.ids(Model.kind) or source.lower() in catalog.aliases.get(Model.kind, {})
    return not known and any((folder / "architectures" / f"{source.lower()}.yaml").is_file() for folder in catalog.folders)


def _made(source: str, catalog: Catalog) -> Model:
    made = describe(source, catalog)
    flops = made.flops_per_token(USUAL_SEQUENCE)
    note = f"causal, forward and backward, sequences of {USUAL_SEQUENCE:,} tokens; counted from the weights"
    encodings = {}
    if made.vocabulary:
        width = solve("token_id_bytes", {"vocabulary": made.vocabulary})
        where = f"a vocabulary of {made.vocabulary:,} ids"
        encodings["tokens"] = Encoding(stored=Value(width, "B/sample", "megatron-lm", "derived", where))
    return Model(
        id=made.id,
        path=Path(source),
        name=made.id,
        sample="one token",
        family="llm",
        flops_per_sample=Value(flops, "FLOP/sample", "arithmetic", "derived", f"rows of {made.id}", note=note),
        parameters=Value(made.parameters, "parameter", "arithmetic", "derived", f"rows of {made.id}"),
        encodings=encodings,
        missing={
            "sample_bytes": "bytes per token are unknown",
            "dataset_samples": "tokens of the data set are unknown",
        },
    )
