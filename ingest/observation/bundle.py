"""Observations without paths, host names, users and command lines, to give away, and such a bundle as catalog entries."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.catalog.folders import user_folder
from ingest.engine.result import envelope
from ingest.errors import IngestError
from ingest.observation.calibration import Calibration, calibrate, write_entries
from ingest.observation.observation import SCHEMA, Figure, Observation
from ingest.sizing.catalog_commands import check

#: the words that a bundle may hold: all others could name a place or a person
SOURCES = ("processes", "training log", "Darshan log", "DFTracer trace", "DLIO output", "nfs mount", "nfs4 mount",
           "lustre mount", "TraceML summary", "user")  # fmt: skip
WORDS = {
    "pattern": ("sequential", "random"),
    "program": ("Megatron", "MLPerf", "torchtitan", "Hugging Face Trainer", "Lightning", "Composer", "DLIO", "TraceML"),
}
NUMBERS = ("files", "logs", "traces", "readers", "events", "steps", "checkpoints", "restarts", "gpus", "processes_most",
           "io_pressure_full")  # fmt: skip


def bundle_of(seen: Observation) -> dict[str, Any]:
    """The numbers of an observation, and none of its texts: what is not known to be harmless is left out.

    Args:
        seen: the observation.
    """
    body = {
        "bundle": True,
        "results": {name: _figure(one) for name, one in seen.figures.items()},
        "unknown": {},
        "read_sizes": [one._asdict() for one in seen.sizes],
        "facts": _facts(seen.facts),
    }
    return {**envelope("observe", body, inputs={}, warnings=[]), "schema": SCHEMA}


def _figure(one: Figure) -> dict[str, Any]:
    window = {**one.window.to_dict(), "note": ""} if one.window else None
    return {**one.to_dict(), "source": one.source if one.source in SOURCES else "", "window": window, "note": ""}


def _facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {name: facts[name] for name in NUMBERS if _is_number(facts.get(name))}
    words = {name: facts[name] for name, known in WORDS.items() if facts.get(name) in known}
    sizes = facts.get("common_read_sizes")
    listed = sizes.items() if isinstance(sizes, Mapping) else ()
    common = {size: count for size, count in listed if str(size).isascii() and str(size).isdigit() and _is_number(count)}
    return {**numbers, **words, **({"common_read_sizes": common} if common else {})}


def _is_number(found: object) -> bool:
    return isinstance(found, (int, float)) and not isinstance(found, bool) and abs(found) < 1e18


def add_bundle(
    bundle: str | Path,
    *,
    model: str,
    gpu: str,
    nodes: int | str | None = None,
    precision: str | None = None,
    output: str | Path | None = None,
    catalogs: Sequence[str | Path] = (),
) -> Calibration:
    """Take a bundle into the catalogs, after its entries have been checked.

    Args:
        bundle: the JSON of `ingest observe --bundle`.
        model: id, alias or YAML file of the model that was trained.
        gpu: id, alias or YAML file of the GPU that it ran on.
        nodes: nodes of the job, one by default.
        precision: `bf16`, `fp16`, `tf32`, `fp32`, `fp8` or `fp4`; that of the best evidence on the GPU by default.
        output: folder of the entries; your own catalogs by default.
        catalogs: folders with entries of your own.

    Raises:
        UsageError: an unknown model or GPU.
        IngestError: the file is no bundle, or its entries do not pass `catalog check`.
    """
    folder = Path(output) if output is not None else user_folder()
    with tempfile.TemporaryDirectory() as trial:
        made = calibrate(bundle, model=model, gpu=gpu, nodes=nodes, precision=precision, output=trial, catalogs=catalogs)
        problems = check(trial, catalogs=catalogs).problems
    if problems:
        raise IngestError(f"{bundle}: its entries do not pass the check of catalogs: {problems[0].removeprefix(f'{trial}/')}")
    write_entries(folder, made.files)
    return made
