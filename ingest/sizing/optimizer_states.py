"""The size of a model and the bytes that training keeps per parameter, for `checkpoint` and `memory`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import Weight
from ingest.catalog.records import Model, Optimizer
from ingest.catalog.store import Catalog
from ingest.catalog.yaml_reader import read_yaml
from ingest.engine.messages import Message, Option, Setting, option_error
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, expected_one_of
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import MOST_GPUS
from ingest.sizing.model_source import is_url, model_structure
from ingest.units import parse

#: bytes of a weight, by precision; weights at full precision need no master copy
WIDTHS = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5}
FULL_PRECISION = ("fp32", "tf32")
#: Larger than any system that can be built; beyond it a number is wrong.
MOST = {"parameters": 1e17, "trainable_parameters": 1e17, "gpus": MOST_GPUS}
#: Matrices that LoRA adapts by default: all linear layers but experts, embedding and head.
ADAPTED = ("attention", "mlp", "ssm")
#: Weights that Muon leaves to AdamW.
NO_HIDDEN_MATRIX = ("embedding", "position", "head", "norm")


class ModelSize(NamedTuple):
    """The size of a model.

    Attributes:
        name: the name to print.
        given: its parameters, as inputs.
        architecture: its table of weights; None if unknown.
        entry: its catalog entry; None if it has none.
    """

    name: str
    given: dict[str, Input]
    architecture: Architecture | None = None
    entry: Model | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of its table of weights."""
        return self.architecture.warnings if self.architecture is not None else ()


def size_of(source: str | None, catalog: Catalog, settings: Mapping[str, float]) -> ModelSize:
    """Return the size of a model.

    Args:
        source: catalog id, `config.json`, YAML file or folder; None if `--set parameters=N` is enough.
        catalog: where ids are looked up.
        settings: what the user set.

    Raises:
        UsageError: an unknown model, or no size.
        IngestError: a catalog entry without parameters.
    """
    for name, most in MOST.items():
        if settings.get(name, 0) > most:
            raise UsageError(Message(Setting(name), f": found {settings[name]:g}, expected at most {most:g}"))
    if source is None:
        if "parameters" not in settings and "trainable_parameters" not in settings:
            raise UsageError("the model is missing: expected a catalog id, a config.json, or --set parameters=N")
        return ModelSize("Your model", {})
    if is_url(source) or source.endswith((".json", "/")) or Path(source).is_dir() or _is_architecture(source, catalog):
        model = model_structure(source, catalog)
        where = f"counted over the weights of {source}"
        counted = Input(model.parameters_trained, source="arithmetic", where=where, grade="derived")
        name = catalog.aliases.get(Model.kind, {}).get(source.lower(), source.lower())
        known = catalog.get(Model, name) if name in catalog.ids(Model.kind) else None
        return ModelSize(known.name if known else model.id, {"parameters": counted}, model, known)
    entry = catalog.get(Model, source)
    if entry.parameters is None and "parameters" not in settings:
        why = f"the parameters of {entry.id} are not known: give its config.json"
        raise IngestError(Message(why, supply=(Option("set.parameters", "N"),)))
    return ModelSize(entry.name, from_fields({"parameters": entry.parameters}), None, entry)


def _is_architecture(source: str, catalog: Catalog) -> bool:
    """A YAML file of hyper-parameters or rows instead of a catalog entry, or an id or alias of the catalogs' architectures."""
    if source.endswith((".yaml", ".yml")) and Path(source).is_file():
        data = read_yaml(Path(source))
        return isinstance(data, dict) and "sample" not in data
    names = {source.lower(), catalog.aliases.get(Model.kind, {}).get(source.lower(), "")}
    return any((folder / "architectures" / f"{name}.yaml").is_file() for folder in catalog.folders for name in names if name)


def optimizer_of(name: str, catalog: Catalog) -> Optimizer:
    """Return an optimizer by id, alias or YAML file.

    Raises:
        UsageError: an unknown optimizer; names the nearest one.
    """
    written = name.lower()
    known = catalog.ids(Optimizer.kind)
    if written not in known and not name.endswith((".yaml", ".yml")) and written not in catalog.aliases.get("optimizers", {}):
        raise option_error("optimizer", f": found '{written}', {expected_one_of(written, known)}")
    return catalog.get(Optimizer, name if name.endswith((".yaml", ".yml")) else written)


def zero_stage_of(written: int | str) -> int:
    """Return the ZeRO stage.

    Raises:
        UsageError: no such stage.
    """
    stage = parse(written, "1", "--zero-stage")
    if stage not in (0, 1, 2, 3):
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
        where = f"counted over the weights of {model.id}"
        known["second_moment_share"] = Input(
            numbers / model.parameters_trained, source="arithmetic", where=where, grade="derived"
        )
    return known


def released_width(size: ModelSize, settings: Mapping[str, float]) -> dict[str, Input]:
    """Return the mean bytes of a weight in the model's own quantized release; nothing where it has none."""
    model = size.architecture
    if model is None or not model.released_row_bytes or "weight_bytes_per_parameter" in settings:
        return {}
    where = f"release of {model.id}"
    mean = sum(model.released_row_bytes) / model.parameters_trained
    return {"weight_bytes_per_parameter": Input(mean, source="arithmetic", where=where, grade="derived")}


def _second_moments(row: Weight, factored: str) -> float:
    """Numbers of second moment for one row of weights."""
    matrix = len(row.shape) >= 2
    if factored == "rest":
        return 0 if matrix and row.kind not in NO_HIDDEN_MATRIX else row.parameters
    if not matrix:
        return row.parameters
    *_, height, width = row.shape
    return row.parameters * (height + width) / (height * width)
