"""`ingest model`: parameters, FLOPs and key-value cache of a model, from its structure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import CHOSEN, CHUNK, UNTRAINED
from ingest.catalog.device_names import released_in
from ingest.catalog.records import Model
from ingest.catalog.store import opened
from ingest.engine.question import Question, chosen_words, filled, option, shown
from ingest.engine.registry import read_value
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, derived
from ingest.errors import UsageError
from ingest.sizing.job import Amount, CommonOptions, by_user, model_by_numbers, settings_of
from ingest.sizing.offload_tiers import beyond_reach, kept_elements, recurrent_state
from ingest.sizing.optimizer_states import WIDTHS, width_of
from ingest.sizing.resolve import model_structure
from ingest.sizing.rules import contradictions, messages, told

USUAL_SEQUENCE, USUAL_PRECISION = 4096, "bf16"
#: Results of a model with modules that predict tokens further on.
OF_PREDICTION = ("parameters_mtp", "parameters_trained")
#: What `model` answers.
QUESTION = Question(
    "model",
    shown(
        "parameters", *OF_PREDICTION, "parameters_active", "parameters_embedding", "weights_bytes",
        "kv_cache_bytes_per_token", "kv_cache_growth_per_token", "kv_cache_bytes_per_sequence", "flops_per_token",
        "flops_per_token_full_attention", "flops_per_token_6n", "forward_flops_per_token",
        "forward_flops_per_token_full_attention",
    ),
    (("Has", {"parameters": "{}", "weights_bytes": "{} of weights", "flops_per_token": "{}"}),),
)  # fmt: skip
#: result -> the column without which it is not known; FLOPs need others
COLUMNS = {
    "weights_bytes": "weights_bytes",
    "parameters": "weight_parameters",
    "parameters_active": "active_weight_parameters",
    "parameters_embedding": "embedding_weight_parameters",
    "flops_per_token_6n": "active_weight_parameters",
    "kv_cache_bytes_per_token": "cached_elements_per_token",
    "kv_cache_growth_per_token": "cached_elements_per_token",
    "kv_cache_bytes_per_sequence": "cached_elements_per_token",
}


class RunOptions(TypedDict, total=False):
    """How a model is run, and read."""

    sequence_length: Annotated[
        Amount,
        option(
            "Tokens of one sequence, for the FLOPs of attention; {default} by default.",
            quantity="sequence_length",
            usual={"sequence_length": USUAL_SEQUENCE},
        ),
    ]
    precision: Annotated[
        str | None,
        option(
            "Precision of the weights and of the cache: bf16, fp16, fp32, fp8 or fp4; by default as stored for a release, "
            "else {default}.",
            "P",
            usual=USUAL_PRECISION,
            choices=WIDTHS.keys(),
        ),
    ]
    strict: Annotated[
        bool,
        option("Refuse a config with a key that its family has not looked at and that may change a weight.", default=False),
    ]


class ModelOptions(RunOptions, CommonOptions, total=False):
    """The options of `model`."""


class ModelAnswer(Answer):
    """The results of `model`."""

    basis: str = "family"  # where the structure comes from: `headers`, `family`, `index` or `by-hand`
    unverified_keys: tuple[str, ...] = ()  # keys that the family has not looked at and that may change a weight

    def _body(self) -> dict[str, Any]:
        return {"basis": self.basis, "unverified_keys": list(self.unverified_keys), **super()._body()}


def model(
    source: Annotated[
        str | Path | None,
        option(
            "Folder of a release or its URL, catalog id, config.json, or YAML file of the same keys or of rows of weights; "
            'left out with `set={"layers": N, "hidden_size": N}`.'
        ),
    ] = None,
    **options: Unpack[ModelOptions],
) -> ModelAnswer:
    """Parameters, weight bytes, FLOPs per token and key-value cache of a model.

    >>> answer = model("llama2-70b", sequence_length=4096)
    >>> answer.results["weights_bytes"].display, answer.results["parameters"].value
    ('138 GB (128.5 GiB)', 68976648192)

    Raises UsageError: an unknown model, precision or quantity; IngestError: an unreadable file, or an unknown family of
    architectures.
    """
    asked = filled(ModelOptions, options, "model")
    catalog, precision, written = opened(asked["catalogs"]), asked["precision"], asked["sequence_length"]
    width = width_of(precision or USUAL_PRECISION)
    named, settings = model_by_numbers(None if source is None else str(source), settings_of(asked["set"]), alone=True)
    if named is None:
        raise UsageError("the model is missing: expected a catalog id, a config.json, or --set layers=N --set hidden_size=N")
    source = source or named
    made = model_structure(source, catalog, strict=asked["strict"])
    if written is not None:
        length = read_value("sequence_length", written, "--sequence-length")
        tokens = Input(length, origin="user")
    else:
        usual = min(USUAL_SEQUENCE, made.longest or USUAL_SEQUENCE)
        why = f"sequences of {usual:,} tokens" + (", the longest of this model" if usual < USUAL_SEQUENCE else "")
        tokens = Input(usual).by_default(why, "sequence_length")
        if "sequence_length" in settings:
            tokens = Input(settings["sequence_length"], origin="user")
    given = {name: derived(column, f"rows of {made.id}") for name, column in made.quantities(tokens.value).items()}
    if "cached_elements_per_token" in given:
        # A full window drops a token for each that comes.
        full = [0 < row.window <= tokens.value and row.reach != CHOSEN for row in made.attentions]
        grows = [0 if done or row.keys else row.cached * row.layers for row, done in zip(made.attentions, full, strict=True)]
        given["growing_elements_per_token"] = derived(grows, f"rows of {made.id}")
        given["cached_elements"] = derived(kept_elements(made, tokens.value), f"rows of {made.id}")
        given |= recurrent_state(made)
    if made.released_row_bytes:
        where = f"headers of {made.id}" if made.stored else f"quantization_config of {made.id}"
        given["released_row_bytes"] = derived(made.released_row_bytes, where)
    if made.estimated:
        low, typical, high = made.estimated
        where = f"bytes in the index of {made.id}" if made.basis == "index" else f"two readings of {made.id}"
        given["parameters"] = Input(typical, low, high, source="arithmetic", where=where)
    stored_width = Input(width, note="width of the requested precision")
    given |= {"bytes_per_parameter": stored_width, "bytes_per_cached_element": stored_width, "sequence_length": tokens}
    given |= by_user(settings)
    own = precision is None and "bytes_per_parameter" not in settings
    if own and not made.stored and made.stored_bytes is not None:
        given["weights_bytes"] = derived(made.stored_bytes, f"index of {made.id}")
    elif own and "weights_bytes" in made.missing:
        del given["bytes_per_parameter"]
    known = Quantities(given)
    if own and made.released_row_bytes:
        known.state("as_released")
    narrow = released_in(str(source), catalog.patterns["released"]) if own and not made.released_row_bytes else ""
    narrower = [told("W131", form=narrow, instead="give its folder")] if narrow else []
    left_out = () if "mtp_weight_parameters" in given else OF_PREDICTION
    names = [name for name in QUESTION.names if name not in left_out]
    results, unknown = known.results(names, ranged=made.estimated is not None)
    reasons = {name: made.missing[column] for name, column in COLUMNS.items() if column in made.missing}
    if no_flops := made.missing.get("multiply_adds_per_token") or made.missing.get("multiply_adds_per_token_pair"):
        reasons |= {name: no_flops for name in names if "flops" in name and name not in COLUMNS}
    unknown |= {name: why for name, why in reasons.items() if name in unknown}
    title = f"{catalog.get(Model, made.id).name if made.id in catalog.ids(Model.kind) else made.id}: {_structure(made)}"
    chosen = chosen_words({"model": (str(source), True), "precision": (precision or USUAL_PRECISION, bool(precision))})
    tables = {"weights": _weights(made), "attention": _attention(made), "stored": _stored(made)}
    tables = {name: rows for name, rows in tables.items() if rows}
    return ModelAnswer(
        QUESTION, title, chosen, known, results, unknown, tables,
        (*_warnings(made, tokens.value), *narrower, *contradictions(known, settings)), catalog,
        basis=made.basis, unverified_keys=made.unverified_keys,
    )  # fmt: skip


def _structure(made: Architecture) -> str:
    heads = f", {made.heads:,} heads ({made.kv_heads:,} for keys and values)" if made.heads and made.kv_heads else ""
    depth = f", {made.layers:,} layers" if made.layers else ""
    table = f", {made.hidden:,} wide{heads}, vocabulary of {made.vocabulary:,}" if made.hidden else ""
    return f"{made.model_type}{depth}{table}: {made.basis}"


def _weights(made: Architecture) -> list[dict[str, Any]]:
    return [
        {
            "weight": row.name,
            "shape": " × ".join(f"{width:,}" for width in row.shape),
            "kind": row.kind,
            "number": row.count,
            "share_active": row.active / row.count if row.count else 0.0,
            "weight_parameters": row.parameters,
        }
        for row in made.weights
        if row.count
    ]


def _stored(made: Architecture) -> list[dict[str, Any]]:
    """Bytes of a release by kind of weight and type."""
    sums: dict[tuple[str, str], list[int]] = {}
    for row in made.stored:
        found = sums.setdefault((row.weight.kind, row.dtype), [0, 0])
        found[0] += row.weight.parameters if row.weight.kind not in UNTRAINED else 0
        found[1] += row.bytes
    return [
        {"kind": kind, "type": dtype, "weight_parameters": count, "stored_bytes": size}
        for (kind, dtype), (count, size) in sums.items()
        if size
    ]


#: What a window of attention is, where it is not that of the last tokens.
_REACH = {CHUNK: "in chunks", CHOSEN: "chosen of all"}


def _attention(made: Architecture) -> list[dict[str, Any]]:
    return [
        {
            "attention": row.name,
            "layers": row.layers,
            "heads": row.heads,
            "key_width": row.key,
            "value_width": row.value,
            "cached_per_layer": row.cached,
            "state_per_layer": row.state,
            "window": f"{row.window} {_REACH[row.reach]}" if row.reach else row.window or "all",
            "sees": "earlier tokens" if row.causal else "all tokens",
        }
        for row in made.attentions
    ]


def _warnings(made: Architecture, tokens: float) -> tuple[str, ...]:
    found = [*map(str, messages(beyond_reach(made, tokens))), *made.warnings]
    sizes = {key: value for key, value in made.defaults.items() if not isinstance(value, bool) and value}
    if sizes:
        defaults = ", ".join(f"{key} = {value}" for key, value in sizes.items())
        found.append(f"not in the file, so the defaults of its class apply: {defaults}")
    return tuple(found)
