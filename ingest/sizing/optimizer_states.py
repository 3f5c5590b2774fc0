"""The size of a model and the bytes that training keeps per parameter, for `checkpoint` and `memory`."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.architecture.weight_table import Weight
from ingest.catalog.records import Optimizer
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.value import Input, derived
from ingest.errors import expected_one_of
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.resolve import ModelSize
from ingest.units import parse

#: bytes of a weight, by precision; weights at full precision need no master copy
WIDTHS = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5}
#: of ZeRO: what data parallel ranks share
STAGES = (0, 1, 2, 3)
FULL_PRECISION = ("fp32", "tf32")
#: Matrices that LoRA adapts by default: all linear layers but experts, embedding and head.
ADAPTED = ("attention", "mlp", "ssm")
#: Weights that Muon leaves to AdamW.
NO_HIDDEN_MATRIX = ("embedding", "position", "head", "norm")


def zero_stage_of(written: int | str) -> int:
    """Return the ZeRO stage.

    Raises:
        UsageError: no such stage.
    """
    stage = parse(written, "1", "--zero-stage")
    if stage not in STAGES:
        raise option_error("zero_stage", f": found {written}, expected 0, 1, 2 or 3")
    return int(stage)


def width_of(precision: str) -> float:
    """Return the bytes of one weight.

    Raises:
        UsageError: an unknown precision; names the nearest one.
    """
    if precision not in WIDTHS:
        raise option_error("precision", f": found '{precision}', {expected_one_of(precision, WIDTHS)}")
    return WIDTHS[precision]


def kept_by(optimizer: Optimizer, precision: str, size: ModelSize, settings: Mapping[str, float]) -> dict[str, Input]:
    """Return the bytes per parameter of weights and optimizer states; exact if the weights of the model are known.

    Raises:
        UsageError: adapters of a model whose weights are unknown.
    """
    model = size.architecture
    states = {f"{name}_bytes_per_parameter": getattr(optimizer, name) for name in ("master", "momentum", "variance")}
    known = from_fields({**states, "second_moment_share": optimizer.second_moment_share})
    saved = {"weight_bytes_per_parameter": Input(width_of(precision), note=f"a weight at {precision}")}
    known |= saved | from_fields({"weight_bytes_per_parameter": optimizer.weights})
    if precision in FULL_PRECISION:
        known["master_bytes_per_parameter"] = Input(0, note=f"at {precision} the weights are their own master copy")
    if optimizer.adapters and "trainable_parameters" not in settings and "trainable_share" not in settings:
        if model is None or optimizer.rank is None:
            why = f": {optimizer.id} trains adapters of unknown size, expected a config.json to count them, "
            raise option_error("optimizer", f"{why}or --set trainable_parameters=N")
        rank = optimizer.rank.value
        rows = [row for row in model.weights if row.kind in ADAPTED and len(row.shape) == 2]
        counted = f"rank {rank:g} adapters of {sum(row.count for row in rows):,} linear layers"
        known["trainable_parameters"] = Input(
            sum(rank * sum(row.shape) * row.count for row in rows),
            source=optimizer.rank.source,
            where=optimizer.rank.where,
            grade="assumed",
            note=Message(counted, supply=(Option("checkpoint.set.trainable_parameters", "N"),)),
        )
    if optimizer.factored and model is not None:
        numbers = sum(_second_moments(row, optimizer.factored) for row in model.weights)
        known["second_moment_share"] = derived(numbers / model.parameters_trained, f"counted over the weights of {model.id}")
    return known


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
