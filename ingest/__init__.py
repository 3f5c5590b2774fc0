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
    from ingest import catalog
    from ingest.acceptance.generation import accept
    from ingest.acceptance.judging import verdict
    from ingest.acceptance.measuring import measure_storage
    from ingest.api import bw, explain, sweep, validate
    from ingest.checkpointing import checkpoint
    from ingest.corpus.measuring import measure
    from ingest.footprinting import dataset
    from ingest.holding import memory
    from ingest.modelling import model
    from ingest.site.difference import diff
    from ingest.site.planning import plan
    from ingest.storage.fitting import fit
    from ingest.tender.reporting import report
    from ingest.tender.response import response

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
#: functions that live outside `ingest.api`, so that each command imports only what it needs
_PLACES = {
    "accept": "ingest.acceptance.generation",
    "checkpoint": "ingest.checkpointing",
    "fit": "ingest.storage.fitting",
    "measure": "ingest.corpus.measuring",
    "measure_storage": "ingest.acceptance.measuring",
    "memory": "ingest.holding",
    "model": "ingest.modelling",
    "verdict": "ingest.acceptance.judging",
    "dataset": "ingest.footprinting",
    "diff": "ingest.site.difference",
    "plan": "ingest.site.planning",
    "report": "ingest.tender.reporting",
    "response": "ingest.tender.response",
}


def __getattr__(name: str) -> Any:
    if name == "catalog":
        return import_module("ingest.catalog")
    if name in __all__:
        return getattr(import_module(_PLACES.get(name, "ingest.api")), name)
    raise AttributeError(f"module 'ingest' has no attribute '{name}'")
