"""Architectures as catalog entries: the hyper-parameters of a model, and its counted parameters."""

from __future__ import annotations

from collections.abc import Collection
from math import isqrt
from pathlib import Path

from ingest import architecture
from ingest.architecture.structure import Architecture, is_numbers
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

    Raises UsageError: no such architecture, with the nearest one; IngestError: a file that cannot be read, or a family that is
    not described.
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
        parameters_active=None if _class_of(made) == "diffusion" else counted._replace(value=made.parameters_active),
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
    if source.endswith((".json", ".yaml", ".yml")):
        return _of_structure(source, catalog, sequence_length)
    return catalog.once(("model", source, sequence_length), lambda: _of_structure(source, catalog, sequence_length))


def _of_structure(source: str, catalog: Catalog, sequence_length: float | None) -> Model:
    made, length = architecture.describe(source, catalog), sequence_length or USUAL_SEQUENCE
    if made.model_type in _SEEN:
        return _seen_or_heard(made, Path(source), sequence_length)
    if (entry := entry_of(made, source, catalog)) is not None:
        # Its samples, their FLOPs and bytes, its rates; a data set is that of a run, and not of a structure.
        lost = {"dataset_samples": None, "missing": {**entry.missing, **_NO_DATASET}}
        return Model(**{**vars(entry), "name": made.id, **lost})
    rows, note = f"rows of {made.id}", _NOTE.format(length=length)
    text, family = bool(made.vocabulary) or made.basis != "family", _class_of(made)
    why = made.missing.get("multiply_adds_per_token") or ("" if text else _UNSEEN)
    towers = sorted({row.kind for row in made.weights} & {"vision", "audio"})
    seen = "one utterance" if towers == ["audio"] else "one image or clip"
    sample = seen if family == "diffusion" or (towers and not text) else "one token" if text else "one sample"
    flops = None if why else Value(made.flops_per_token(length), "FLOP/sample", "arithmetic", "derived", rows, note=note)
    encodings = {}
    if made.vocabulary and not towers:
        width = solve("token_id_bytes", {"vocabulary": made.vocabulary})
        where = f"a vocabulary of {made.vocabulary:,} ids"
        grade = "assumed" if is_numbers(source) and "vocabulary=" not in source else "derived"
        encodings["tokens"] = Encoding(stored=Value(width, "B/sample", "megatron-lm", grade, where), format="megatron")
    bytes_of = f"it has a tower for {' and '.join(towers)}, so its bytes are those of images, video or sound"
    return Model(
        id=made.id,
        path=Path(source),
        name=made.id,
        sample=sample,
        sample_unit=sample.split()[-1],
        tokens_per_sample=Value(1, "token/sample", "definition", "derived") if sample == "one token" else None,
        sequence_length=Value(length, "token", "arithmetic", "derived", "FLOPs of attention") if flops else None,
        family=family,
        flops_per_sample=flops,
        parameters=Value(made.parameters, "parameter", "arithmetic", "derived", rows),
        parameters_active=None if why else Value(made.parameters_active, "parameter", "arithmetic", "derived", rows),
        recurrent_layers=Value(made.recurrent_layers, "1", "arithmetic", "derived", rows) if made.recurrent_layers else None,
        structure=made.id,
        encodings=encodings,
        missing={
            "sample_bytes": bytes_of if towers else f"its structure states no bytes of {sample}",
            **_NO_DATASET,
            **({"flops_per_sample": why} if why else {}),
        },
    )


def entry_of(made: Architecture, source: str, catalog: Catalog) -> Model | None:
    """The entry of a model with the weights of a file or a name of the hub, and that attends alike; None where none has."""

    if is_numbers(source):
        return None  # numbers leave open what a release settles

    named = (catalog.get(Model, name) for name in catalog.ids(Model.kind) if name in catalog.ids(Structure.kind))
    near = (one for one in named if one.parameters is None or abs(one.parameters.value / made.parameters - 1) < 0.1)
    own = ((one, architecture.describe(one.id, catalog)) for one in near)  # made where nothing is remembered
    alike = (one for one, rows in own if (rows.weights, rows.attentions) == (made.weights, made.attentions))
    return catalog.once(("entry", made.parameters, made.weights, made.attentions), lambda: next(alike, None))


def taken_for(source: str, entry: Model) -> str:
    """The line that says what an answer about a file or a name takes from the entry of a model with its structure."""
    name = Path(source).name if source.endswith((".json", ".yaml", ".yml")) else source
    return f"{name} has the structure of {entry.id}: its published rates, optimizer and layout apply"


_NO_DATASET = {"dataset_samples": "its structure states no data set"}
#: Why no FLOPs are counted for a sample of weights that take neither tokens nor images of a known size.
_UNSEEN = "its weights do not say how many patches or frames a sample has"


def _class_of(made: Architecture) -> str:
    """The class of models that share efficiency, of one that reads text, or noise alone."""
    if "active_weight_parameters" in made.missing:
        return "diffusion"
    # In an encoder of text, alone or before a decoder, tokens attend to later ones. Before a decoder, a tower of images or
    # sound adds no FLOPs to a token, so the efficiency is that of a language model.
    return "bert-translation" if any(not row.causal for row in made.attentions) else "llm"


#: What one sample is called, and the class of models that share efficiency, of the families that do not read text alone.
_SEEN = {
    **dict.fromkeys(("vit", "deit", "dinov2", "dinov2_with_registers", "dinov3_vit", "pixtral"), ("image", "vision")),
    **dict.fromkeys(("clip_vision_model", "siglip_vision_model", "siglip2_vision_model"), ("image", "vision")),
    **dict.fromkeys(("clip", "siglip", "siglip2", "sam", "sam2"), ("image", "vision")),
    **dict.fromkeys(("wav2vec2", "hubert"), ("utterance", "speech")),
    "audio-spectrogram-transformer": ("clip", "speech"),
    "whisper": ("window", "speech"),
}


def _seen_or_heard(made: Architecture, path: Path, sequence_length: float | None) -> Model:
    """The entry of a model that sees or hears: a sample has all patches or frames of its config, and the text beside them."""
    unit, family = _SEEN[made.model_type]
    tokens, sample = _sample(made, unit, sequence_length)
    rows, note = f"rows of {made.id}", f"forward and backward pass of {sample}; counted from the weights"
    return Model(
        id=made.id,
        path=path,
        name=made.id,
        sample=sample,
        sample_unit=unit,
        sequence_length=Value(tokens, "token", "arithmetic", "derived", "as requested") if unit == "utterance" else None,
        family=family,
        flops_per_sample=Value(made.flops_per_token(tokens) * tokens, "FLOP/sample", "arithmetic", "derived", rows, note=note),
        parameters=Value(made.parameters, "parameter", "arithmetic", "derived", rows),
        structure=made.id,
        missing={
            "sample_bytes": f"its structure states no bytes of one {unit}",
            **_NO_DATASET,
        },
    )


def _sample(made: Architecture, unit: str, sequence_length: float | None) -> tuple[float, str]:
    """Return the tokens of one sample, and the sample in words: an image, a clip, a window or an utterance.

    Raises IngestError: an utterance of unknown length, or an image without a patch.
    """
    at = {row.name: row for row in made.weights}
    if unit == "utterance":
        if sequence_length is None:
            why = f"one sample of {made.id} is one utterance, of any length: its frames are missing, 50 for a second at 16 kHz"
            raise IngestError(Message(why, supply=("sequence_length",)))
        return sequence_length, f"one utterance of {sequence_length:,.0f} frames"
    # Of a pair, the tokens are those of the text, and the patches stand beside them.
    text = next((at[name].shape[0] for name in ("position_embedding", "decoder.position_embedding") if name in at), 0)
    beside = f", with {text:,} tokens of text" if text else ""
    if unit == "window":
        return text, f"one window of {at['encoder.position_embedding'].positions:,} frames{beside}"
    patches = next(at[name] for name in ("patches", "vision.patches") if name in at)
    number, side = patches.positions, isqrt(patches.positions) * patches.shape[-1]
    if not number:
        raise IngestError(f"{made.id}: its image is smaller than one patch")
    # Patches of Hiera overlap, and those of native ratios are rows of pixels.
    square = unit == "image" and len(patches.shape) == 4 and made.model_type != "sam2"
    words = f"one {unit} of {f'{side:,} × {side:,} pixels, ' if square else ''}{number:,} patches{beside}"
    before = sum(at[name].parameters // at[name].shape[-1] for name in ("class", "registers") if name in at)
    return text or number + before, words


def at_length(model: Model, sequence_length: float | None, catalog: Catalog, given: Collection[str] = ()) -> Model:
    """Return a model at a sequence length: its FLOPs unless they or a rate are given, the tokens and bytes of one sequence.

    Raises UsageError: it is not trained on text; IngestError: its FLOPs at another length cannot be counted.
    """
    if sequence_length is None:
        return model
    own = model.sequence_length or model.tokens_per_sample
    if own is not None and own.value == sequence_length:
        return model
    if own is None or model.tokens_per_sample is None:
        raise option_error("sequence_length", f": found with {model.id}, whose samples are not text: one is {model.sample}")
    grown = sequence_length / own.value if own is model.tokens_per_sample else 1
    tokens = model.tokens_per_sample.value * grown
    encodings = {
        name: Encoding(**{**vars(one), **{size: _times(getattr(one, size), grown) for size in SIZES}})
        for name, one in model.encodings.items()
    }
    length = f"{own.value:.0f}", f"{sequence_length:.0f}"
    changed = {
        "sample": model.sample.replace(*length).replace(f"{own.value:,.0f}", f"{sequence_length:,.0f}"),
        "flops_per_sample": None
        if {"flops_per_sample", "samples_per_second"}.intersection(given)
        else _flops_at(model, own.value, sequence_length, tokens, catalog),
        "tokens_per_sample": _times(model.tokens_per_sample, grown),
        "sequence_length": Value(sequence_length, "token", "arithmetic", "derived", "as requested"),
        "dataset_samples": _times(model.dataset_samples, 1 / grown),
        "encodings": encodings,
    }
    return Model(**{**vars(model), **changed})


def _flops_at(model: Model, own: float, length: float, tokens: float, catalog: Catalog) -> Value:
    """The FLOPs of a sample of so many tokens in sequences of a length.

    Raises IngestError: those of the catalog do not follow from the weights.
    """
    made = architecture.describe(model.id, catalog) if model.id in catalog.ids(Structure.kind) else None
    both = model.flops_per_sample, model.tokens_per_sample
    stored = both[0].value / both[1].value if both[0] is not None and both[1] is not None else 0.0
    if made is None or abs(stored / made.flops_per_token(own) - 1) > SAME_FLOPS:
        # Padding, adapters or a structure that is not described.
        why = f": the FLOPs of {model.id} are known only for sequences of {own:,.0f} tokens"
        raise IngestError(Message(Option("sequence_length"), why, supply=("flops_per_sample", "samples_per_second")))
    flops = made.flops_per_token(length) * tokens
    return Value(flops, "FLOP/sample", "arithmetic", "derived", f"rows of {model.id}", note=_NOTE.format(length=length))


def _times(value: Value | None, factor: float) -> Value | None:
    return value and value._replace(value=value.value * factor, low=None, high=None)


def _describes_structure(source: str, catalog: Catalog) -> bool:
    if not isinstance(source, str) or len(source) > MAX_NAME:
        return False
    if source.endswith(".json") or is_numbers(source):
        return True
    if source.endswith((".yaml", ".yml")) and Path(source).is_file():
        data = read_yaml(Path(source))
        return isinstance(data, dict) and ("model_type" in data or "weights" in data)
    known = source.lower() in catalog.ids(Model.kind) or source.lower() in catalog.aliases.get(Model.kind, {})
    return not known and (source.lower() in catalog.ids(Structure.kind) or source in catalog.releases.rows)
