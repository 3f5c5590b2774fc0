"""The size of a model and the bytes that training keeps per parameter, for `checkpoint` and `memory`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypedDict

from ingest.architecture.weight_table import Weight
from ingest.catalog.records import Model, Optimizer, Recipe, changed
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import option
from ingest.engine.value import Input, derived
from ingest.errors import expected_one_of, one_of
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Amount
from ingest.sizing.resolve import ModelSize
from ingest.units import parse, parse_whole

#: bytes of a weight, by precision; weights at full precision need no master copy
WIDTHS = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5}
#: of ZeRO: what data parallel ranks share
STAGES = (0, 1, 2, 3)
FULL_PRECISION = ("fp32", "tf32")
#: Matrices that LoRA adapts by default: all linear layers but experts, embedding and head.
ADAPTED = ("attention", "mlp", "ssm")
#: Weights that Muon leaves to AdamW.
NO_HIDDEN_MATRIX = ("embedding", "position", "head", "norm")
#: algorithm -> models that training changes, models that are only read
ALGORITHMS = {"grpo": (1, 1), "ppo": (2, 2), "dpo": (1, 1)}
#: Algorithms that generate no rollouts: nobody pulls weights, and no traces are written.
OFFLINE = ("dpo",)
#: What one sample is of models whose preferences are pairs of text, and their classes.
SAMPLES_OF_TEXT, READERS_OF_TEXT = ("sequence", "token", "conversation"), ("llm", "vision-language", "bert-translation")


class TrainedOptions(TypedDict, total=False):
    """What of a model is trained."""

    lora_rank: Annotated[
        Amount, option("Rank of the adapters that LoRA trains; that of the run or of the optimizer by default.", "N")
    ]
    lora_targets: Annotated[
        str | None,
        option(
            "Matrices that have adapters, separated by commas: kinds such as attention, mlp, expert, or names such as q, v, "
            "down; all linear layers but experts by default.",
            "NAMES",
        ),
    ]
    frozen: Annotated[
        str | None,
        option("Parts that are not trained, separated by commas: embedding, vision, …, as `model` lists weights.", "PARTS"),
    ]


class PreferenceOptions(TrainedOptions, total=False):
    """What of a model is trained, and beside what other models."""

    algorithm: Annotated[str | None, option(
        "dpo: a reference model is read beside the trained one, and a sample is a pair of sequences, both of which count as "
        "tokens; without it, one model is trained.", "NAME", choices=OFFLINE)]  # fmt: skip


def preference_inputs(
    algorithm: str | None, adapters: bool, model: Model | None, settings: Mapping[str, float]
) -> dict[str, Input]:
    """Return the models that are only read, and the sequences of an example; nothing without an algorithm.

    Raises UsageError: an unknown algorithm, one with rollouts, or a model that reads no text.
    """
    if algorithm is None:
        return {}
    if algorithm == "sft":
        raise option_error("algorithm", ": found sft, which trains one model, as is answered without the option")
    if algorithm not in ALGORITHMS:
        one_of("--algorithm", algorithm, OFFLINE)
    if model is not None and (model.sample_unit not in SAMPLES_OF_TEXT or model.family not in READERS_OF_TEXT):
        why = f": found {algorithm}, whose pairs are of text, but a sample of {model.id} is '{model.sample}'"
        raise option_error("algorithm", f"{why}, expected a model that reads text")
    if algorithm not in OFFLINE:
        why = f": found {algorithm}, whose rollouts take weights and key-value caches that are not counted here, expected "
        raise option_error("algorithm", f"{why}{', '.join(OFFLINE)}; `ingest rl --algorithm {algorithm}` counts its states")
    reference = Input(ALGORITHMS[algorithm][1], source="trl", where="dpo_trainer.py: ref_model", grade="published")
    why = "a reference model of the same width; none where its log-probabilities are computed before"
    if adapters:
        reference, why = reference._replace(value=0), "the frozen model without its adapters is the reference"
    pairs = Input(2, source="trl", where="dpo_trainer.py: concatenated_forward", grade="published")
    both = "chosen and rejected answer of a pair pass together, so that samples and micro-batches count pairs"
    found = {
        "frozen_models": reference.by_default(why, "set.frozen_models"),
        "sequences_per_example": pairs.by_default(both, "set.sequences_per_example"),
    }
    return {name: Input(settings[name], origin="user") if name in settings else one for name, one in found.items()}


class Trained(NamedTuple):
    """The part of a model that is trained."""

    rank: Input | None = None  # of the adapters; that of the optimizer where None
    targets: tuple[str, ...] = ()  # matrices that have adapters; all linear layers where empty
    frozen: tuple[str, ...] = ()  # parts that are not trained

    @classmethod
    def of(cls, asked: Mapping[str, Any], size: ModelSize, optimizer: Optimizer) -> Trained:
        """As asked, or as the catalog says of the run.

        Raises UsageError: a rank that is no whole number, or adapters of an optimizer that trains the whole model.
        """
        rank, targets, frozen = (asked.get(name) for name in ("lora_rank", "lora_targets", "frozen"))
        for name, value in (("lora_rank", rank), ("lora_targets", targets)):
            if value is not None and not optimizer.adapters:
                why = f": found {value} with {optimizer.id}, which trains the whole model, expected an optimizer or recipe lora"
                raise option_error(name, why)
        if frozen is not None and optimizer.adapters:
            raise option_error("frozen", f": found {frozen} with {optimizer.id}, whose model is frozen already")
        width = None if rank is None else parse_whole(rank, "--lora-rank", 1)
        entry = size.entry
        published = from_fields({"rank": entry.adapter_rank if entry is not None else None}).get("rank")
        named = targets if targets is not None else entry.adapter_targets if entry is not None and optimizer.adapters else ""
        given = published if width is None else Input(width, origin="user")
        return cls(given if optimizer.adapters else None, _names(named), _names(frozen or ""))


#: All of the model, or the usual adapters.
WHOLE = Trained()


def _names(written: str) -> tuple[str, ...]:
    return tuple(name.strip().lower().removesuffix("_proj") for name in written.split(",") if name.strip())


def composed(own: Optimizer, given: Optimizer | None, recipe: Recipe | None = None) -> Optimizer:
    """The optimizer of a run: its own, or a given one with what the run fixes: adapters, and the width of states.

    Raises UsageError: an optimizer that contradicts the recipe.
    """
    if given is None:
        found = own
    elif own.adapters and not given.adapters:
        name = f"{given.name}, on adapters alone"
        found = changed(given, name=name, adapters=own.adapters, rank=own.rank)
    else:
        found = given
    if recipe is None:
        return found
    named = f"recipe {recipe.id}"
    if own.id == "none" and found.id != "none":
        raise option_error("optimizer", f": found {found.id} with {named}, which trains nothing, expected none")
    if recipe.states is None:
        return found
    if found.weights is not None and found.weights.value != recipe.weights.value:
        width = f"{recipe.weights.value:g} B"
        raise option_error("optimizer", f": found {found.id} with {named}, whose weights take {width}, expected another recipe")
    kept = f"{named}: the weights are their own master copy"
    momentum, variance = (
        recipe.states if state.value > recipe.states.value else state for state in (found.momentum, found.variance)
    )
    master = found.master._replace(value=0.0, grade="derived", note=kept)
    return changed(found, master=master, momentum=momentum, variance=variance)


def zero_stage_of(written: int | str) -> int:
    """Return the ZeRO stage. Raises UsageError: no such stage."""
    stage = parse(written, "1", "--zero-stage", whole=True)
    if stage not in STAGES:
        raise option_error("zero_stage", f": found {written}, expected 0, 1, 2 or 3")
    return int(stage)


def width_of(precision: str) -> float:
    """Return the bytes of one weight. Raises UsageError: an unknown precision; names the nearest one."""
    if precision not in WIDTHS:
        raise option_error("precision", f": found '{precision}', {expected_one_of(precision, WIDTHS)}")
    return WIDTHS[precision]


def kept_by(
    optimizer: Optimizer, precision: str, size: ModelSize, settings: Mapping[str, float], trained: Trained = WHOLE
) -> dict[str, Input]:
    """Return the bytes per parameter of weights and optimizer states; exact if the weights of the model are known.

    Raises UsageError: adapters or frozen parts of a model whose weights are unknown, or names of no part.
    """
    model = size.architecture
    states = {f"{name}_bytes_per_parameter": getattr(optimizer, name) for name in ("master", "momentum", "variance")}
    known = from_fields({**states, "second_moment_share": optimizer.second_moment_share})
    saved = {"weight_bytes_per_parameter": Input(width_of(precision), note=f"a weight at {precision}")}
    known |= saved | from_fields({"weight_bytes_per_parameter": optimizer.weights})
    if precision in FULL_PRECISION:
        known["master_bytes_per_parameter"] = Input(0, note=f"at {precision} the weights are their own master copy")
    if optimizer.adapters and "trainable_parameters" not in settings and "trainable_share" not in settings:
        width = trained.rank or (None if optimizer.rank is None else from_fields({"rank": optimizer.rank})["rank"])
        if model is None or width is None:
            why = f": {optimizer.id} trains adapters of unknown size, expected a config.json to count them, "
            raise option_error("optimizer", f"{why}or --set trainable_parameters=N")
        rank = width.value
        linear = [row for row in model.weights if len(row.shape) == 2]
        rows = [row for row in linear if row.kind in ADAPTED]
        if trained.targets and trained.targets != ("all",):
            rows = _named(linear, trained.targets, "lora_targets")
        counted = f"rank {rank:g} adapters of {sum(row.count for row in rows):,} linear layers"
        numbers = sum(rank * sum(row.shape) * row.count for row in rows)
        note = Message(counted, supply=(Option("checkpoint.lora_rank", "N"),))
        trainable = Input(numbers, source=width.source, where=width.where, grade=width.grade or "derived", note=note)
        known["trainable_parameters"] = trainable
    elif trained.frozen:
        if model is None:
            raise option_error("frozen", f": the weights of {size.name} are not known, expected a config.json to count them")
        still = sum(row.parameters for row in _named(model.weights, trained.frozen, "frozen"))
        counted = f"all weights of {model.id} but those of {', '.join(trained.frozen)}"
        known["trainable_parameters"] = derived(model.parameters_trained - still, counted)
    if optimizer.factored and model is not None:
        numbers = sum(_second_moments(row, optimizer.factored) for row in model.weights)
        known["second_moment_share"] = derived(numbers / model.parameters_trained, f"counted over the weights of {model.id}")
    return known


def _named(rows: Sequence[Weight], names: tuple[str, ...], of: str) -> list[Weight]:
    """The rows of these kinds, or with these words in their names. Raises UsageError: a name that no row has."""
    words = {
        row.name: {row.kind, row.name.partition(".")[0], row.name.rpartition(".")[2], *row.name.split(".")} for row in rows
    }
    for name in names:
        if not any(name in found for found in words.values()):
            known = dict.fromkeys(word for row in rows for word in (row.kind, row.name.rpartition(".")[2]))
            raise option_error(of, f": found '{name}', {expected_one_of(name, known)}")
    return [row for row in rows if words[row.name] & {*names}]


def released_width(size: ModelSize, settings: Mapping[str, float]) -> dict[str, Input]:
    """Return the mean bytes of a weight in the model's own quantized release; nothing where it has none."""
    model = size.architecture
    if model is None or not model.released_row_bytes or "weight_bytes_per_parameter" in settings:
        return {}
    mean = sum(model.released_row_bytes) / model.parameters_trained
    return {"weight_bytes_per_parameter": derived(mean, f"release of {model.id}")}


def _second_moments(row: Weight, factored: str) -> float:
    """Numbers of second moment for one row of weights."""
    matrix = len(row.shape) >= 2
    if factored == "rest":
        return 0 if matrix and row.kind not in NO_HIDDEN_MATRIX else row.parameters
    if not matrix:
        return row.parameters
    *_, height, width = row.shape
    return row.parameters * (height + width) / (height * width)
