"""DLIO's and MLPerf Storage's `summary.json`.

Its "MB/s" is MiB/s, and computed, not measured: samples per second times the record length, which some versions set to
1. So only samples per second and AU are taken from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ingest.acceptance.outputs.numbers import number, parsed, table
from ingest.acceptance.records import Observed, Run
from ingest.errors import IngestError
from ingest.formula import solve

_TEST = re.compile(r"T-[A-Za-z0-9_-]+-(?:dlio|mlperf)\b")
SHOWN = ("num_accelerators", "num_files_train", "num_samples_per_file", "epochs")
RATE = "train_throughput_mean_samples_per_second"


def read(text: str, path: str) -> list[Run] | None:
    """The run in a summary; None where it is not DLIO's.

    Raises:
        IngestError: DLIO's, but cut off or without a training.
    """
    if '"train_au_percentage"' not in text and '"num_accelerators"' not in text:
        return None
    found = table(parsed(text.lstrip(), 0, path, "DLIO's summary")[0], path)
    metric = table(found.get("metric", {}), f"{path}: metric")
    if RATE not in metric:
        raise IngestError(f"{path}: found no training in DLIO's summary, expected '{RATE}'")
    named = _TEST.findall(path)
    test = named[-1] if named else ""
    memory = found.get("host_memory_GB")
    load = Observed(
        name=test,
        operation="read",
        rate=number(metric[RATE], f"{path}: {RATE}"),
        unit="sample/s",
        clients=int(number(found.get("num_hosts", 1), f"{path}: num_hosts")),
        latency_seconds=None,
        memory_bytes=_memory(memory, path) if isinstance(memory, list) else None,
    )
    shown = {name: int(number(found[name], f"{path}: {name}")) for name in SHOWN if name in found}
    shown |= _record(metric, path)
    judged = str(metric.get("train_au_meet_expectation", ""))
    return [Run("dlio", path, test, (load,), shown=shown, judged=judged, began=str(found.get("start", "")))]


def _record(metric: Mapping[str, Any], path: str) -> dict[str, int]:
    """The record length behind the printed rate; nothing where the version is one that sets it to 1."""
    printed = number(metric.get("train_io_mean_MB_per_second", 0), f"{path}: train_io_mean_MB_per_second")
    samples = number(metric[RATE], f"{path}: {RATE}")
    if not printed or not samples:
        return {}
    found = solve("record_bytes_reported", {"reported_mebibytes_per_second": printed, "measured_samples_per_second": samples})
    return {"record_length_bytes": round(found)} if found > 2 else {}


def _memory(listed: list[Any], path: str) -> float:
    """Memory of all hosts; what it calls GB is GiB."""
    gibibytes = sum(number(part, f"{path}: host_memory_GB") for part in listed)
    return float(solve("bytes_from_gibibytes", {"reported_gibibytes": gibibytes}))
