"""Storage sizing for AI training: what must storage do so that these GPUs never wait?

Each command is a function of the same name with keyword arguments.

>>> import ingest
>>> answer = ingest.bw(model="cosmoflow", gpu="h100", nodes=128, protocol="mlperf-storage")
>>> answer.results["ingest_bandwidth_per_gpu"].display
'808.1 MB/s (770.7 MiB/s)'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.acceptance.accept import accept
    from ingest.acceptance.path_benchmark import measure_storage
    from ingest.acceptance.verdict import verdict
    from ingest.corpus.measure import measure
    from ingest.reports.plan_report import report
    from ingest.rfp.response import response
    from ingest.site.plan_diff import diff
    from ingest.site.planner import plan
    from ingest.sizing.bandwidth import bw
    from ingest.sizing.checkpoint import checkpoint
    from ingest.sizing.dataset import dataset
    from ingest.sizing.explain import explain
    from ingest.sizing.memory import memory
    from ingest.sizing.model import model
    from ingest.sizing.published_results import validate
    from ingest.sizing.sweep import sweep
    from ingest.storage.fit import fit

__all__ = [
    "__version__",
    "accept",
    "bw",
    "catalog",
    "checkpoint",
    "dataset",
    "diff",
    "explain",
    "fit",
    "measure",
    "measure_storage",
    "memory",
    "model",
    "plan",
    "report",
    "response",
    "sweep",
    "validate",
    "verdict",
]
#: The module of each public function: a command imports only what it needs.
_PLACES = {
    "accept": "ingest.acceptance.accept",
    "checkpoint": "ingest.sizing.checkpoint",
    "fit": "ingest.storage.fit",
    "measure": "ingest.corpus.measure",
    "measure_storage": "ingest.acceptance.path_benchmark",
    "memory": "ingest.sizing.memory",
    "model": "ingest.sizing.model",
    "verdict": "ingest.acceptance.verdict",
    "bw": "ingest.sizing.bandwidth",
    "explain": "ingest.sizing.explain",
    "sweep": "ingest.sizing.sweep",
    "validate": "ingest.sizing.published_results",
    "dataset": "ingest.sizing.dataset",
    "diff": "ingest.site.plan_diff",
    "plan": "ingest.site.planner",
    "report": "ingest.reports.plan_report",
    "response": "ingest.rfp.response",
}


def __getattr__(name: str) -> Any:
    if name == "catalog":
        return import_module("ingest.catalog")
    if name in __all__:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'ingest' has no attribute '{name}'")
