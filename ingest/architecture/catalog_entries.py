"""Architectures as catalog entries: the hyper-parameters of a model, and its counted parameters."""

from __future__ import annotations

from pathlib import Path

from ingest import architecture
from ingest.catalog.records import SIZES, Encoding, Model, Structure, Value
from ingest.catalog.store import MAX_NAME, Catalog
from ingest.catalog.yaml_reader import read_yaml
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.registry import solve
from ingest.errors import IngestError

_HEAD = ("name", "source", "where", "note", "model_type")


def structure(name: str, catalog: Catalog) -> Structure:
    """One architecture by id, everyday name of its model, or YAML file.

    >>> structure("llama3-8b", Catalog()).parameters.value
    8030261248

    Raises:
        UsageError: no such architecture, with the nearest one.
        IngestError: a file that cannot be read, or a family that is not described.
    """
    made = architecture.describe(name, catalog)
    row = catalog.releases.rows.get(made.id)
    if row is not None and row.model_type:
        path, title, source, where = row.path, row.hub or made.id, row.source, row.where
        keys = [item.replace("=", " ") for item in row.config.split(" ")]
    else:
        places = (Path(name), *(folder / Structure.kind / f"{made.id}.yaml" for folder in catalog.folders))
        path = next(place for place in places if place.is_file())
        data = read_yaml(path)
        title, source, where = (str(data.get(*one)) for one in (("name", made.id), ("source", "arithmetic"), ("where", "")))
        keys = [f"{key} {item}" for key, item in data.items() if key not in _HEAD and not isinstance(item, (dict, list))]
    counted = Value(0, "parameter", source, "derived", f"{where}: counted over the weights".removeprefix(": "))
    return Structure(
        made.id,
        path,
        name=title,
        model_type=made.model_type,
        hyper_parameters=", ".join(keys),
        parameters=counted._replace(value=made.parameters),
        parameters_active=counted._replace(value=made.parameters_active),
    )


SAME_FLOPS = 0.02  # FLOPs of a catalog entry that differ more from those of its weights were counted in another way
USUAL_SEQUENCE = 4096  # Sequence length at which FLOPs are counted; attention is a small part of them at such lengths
_NOTE = "causal attention, forward and backward pass, sequences of {length:,.0f} tokens; counted from the weights"


def model_of(source: str, catalog: Catalog, sequence_length: float | None = None) -> Model:
    """Return the model that `--model` names: a catalog entry, or one made from a config.json or hyper-parameters.

    Attention looks over so many tokens in a model that is made; 4,096 by default.

    >>> model_of("llama3-8b", Catalog()).sample
    'one 8192-token sequence'

    Raises UsageError: no such entry or file; IngestError: a family that is not described.
    """
    source = catalog.model_id(source)
    if not _describes_structure(source, catalog):
        return catalog.get(Model, source)
    made, length = architecture.describe(source, catalog), sequence_length or USUAL_SEQUENCE
    rows, note = f"rows of {made.id}", _NOTE.format(length=length)
    towers = sorted({row.kind for row in made.weights} & {"vision", "audio"})
    encodings = {}
    if made.vocabulary and not towers:
        width = solve("token_id_bytes", {"vocabulary": made.vocabulary})
        where = f"a vocabulary of {made.vocabulary:,} ids"
        encodings["tokens"] = Encoding(stored=Value(width, "B/sample", "megatron-lm", "derived", where), format="megatron")
    seen = f"it has a tower for {' and '.join(towers)}, so its bytes are those of images, video or sound"
    missing = {
        "sample_bytes": seen if towers else "bytes per token are unknown",
        "dataset_samples": "tokens of the data set are unknown",
    }
    text = bool(made.vocabulary) or made.basis != "family"
    if not text:
        unknown = "its weights do not say how many patches or frames a sample has"
        missing.update(flops_per_sample=next(iter(made.missing.values()), unknown))
    return Model(
        id=made.id,
        path=Path(source),
        name=made.id,
        sample="one token" if text else "one sample",
        sample_unit="token" if text else "sample",
        tokens_per_sample=Value(1, "token/sample", "definition", "derived") if text else None,
        sequence_length=Value(length, "token", "arithmetic", "derived", "FLOPs of attention") if text else None,
        family="llm" if text else "speech" if "audio" in towers else "vision" if towers else "diffusion",
        flops_per_sample=Value(made.flops_per_token(length), "FLOP/sample", "arithmetic", "derived", rows, note=note)
        if text
        else None,
        parameters=Value(made.parameters, "parameter", "arithmetic", "derived", rows),
        encodings=encodings,
        missing=missing,
    )


def at_length(model: Model, sequence_length: float | None, catalog: Catalog) -> Model:
    """Return a model at a sequence length: its FLOPs, and the tokens and bytes of a sample that is one sequence.

    Raises UsageError: it is not trained on text; IngestError: its FLOPs at another length cannot be counted.
    """
    if sequence_length is None:
        return model
    if model.tokens_per_sample is None:
        raise option_error("sequence_length", f": found with {model.id}, whose samples are not text: one is {model.sample}")
    own = model.sequence_length or model.tokens_per_sample
    if own.value == sequence_length:
        return model
    made = architecture.describe(model.id, catalog) if model.id in catalog.ids(Structure.kind) else None
    stored = model.flops_per_sample.value / model.tokens_per_sample.value if model.flops_per_sample is not None else 0.0
    if made is None or abs(stored / made.flops_per_token(own.value) - 1) > SAME_FLOPS:
        # Padding, adapters or a structure that is not described: the catalog's FLOPs do not follow from the weights.
        why = f": the FLOPs of {model.id} are known only for sequences of {own.value:,.0f} tokens"
        raise IngestError(Message(Option("sequence_length"), why, supply=("flops_per_sample",)))
    grown = sequence_length / own.value if own is model.tokens_per_sample else 1
    tokens = model.tokens_per_sample.value * grown
    note = _NOTE.format(length=sequence_length)
    flops = made.flops_per_token(sequence_length) * tokens
    encodings = {
        name: Encoding(**{**vars(one), **{size: _times(getattr(one, size), grown) for size in SIZES}})
        for name, one in model.encodings.items()
    }
    changed = {
        "flops_per_sample": Value(flops, "FLOP/sample", "arithmetic", "derived", f"rows of {model.id}", note=note),
        "tokens_per_sample": _times(model.tokens_per_sample, grown),
        "sequence_length": Value(sequence_length, "token", "arithmetic", "derived", "as requested"),
        "dataset_samples": _times(model.dataset_samples, 1 / grown),
        "encodings": encodings,
    }
    return Model(**{**vars(model), **changed})


def _times(value: Value | None, factor: float) -> Value | None:
    return value and value._replace(value=value.value * factor, low=None, high=None)


def _describes_structure(source: str, catalog: Catalog) -> bool:
    if not isinstance(source, str) or len(source) > MAX_NAME:
        return False
    if source.endswith(".json"):
        return True
    if source.endswith((".yaml", ".yml")) and Path(source).is_file():
        data = read_yaml(Path(source))
        return isinstance(data, dict) and ("model_type" in data or "weights" in data)
    known = source.lower() in catalog.ids(Model.kind) or source.lower() in catalog.aliases.get(Model.kind, {})
    return not known and (source.lower() in catalog.ids(Structure.kind) or source in catalog.releases.rows)
