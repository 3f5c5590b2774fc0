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

if TYPE_CHECKING:
    from ingest import catalog
    from ingest.api import bw, explain, sweep, validate
    from ingest.checkpointing import checkpoint
    from ingest.footprinting import dataset
    from ingest.holding import memory
    from ingest.modelling import model
    from ingest.site.difference import diff
    from ingest.site.planning import plan
    from ingest.tender.reporting import report
    from ingest.tender.responding import response

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "bw",
    "catalog",
    "checkpoint",
    "dataset",
    "diff",
    "explain",
    "memory",
    "model",
    "plan",
    "report",
    "response",
    "sweep",
    "validate",
]
#: functions that live outside `ingest.api`, so that each command imports only what it needs
_PLACES = {
    "checkpoint": "ingest.checkpointing",
    "dataset": "ingest.footprinting",
    "diff": "ingest.site.difference",
    "memory": "ingest.holding",
    "model": "ingest.modelling",
    "plan": "ingest.site.planning",
    "report": "ingest.tender.reporting",
    "response": "ingest.tender.responding",
}


def __getattr__(name: str) -> Any:
    if name == "catalog":
        return import_module("ingest.catalog")
    if name in __all__:
        return getattr(import_module(_PLACES.get(name, "ingest.api")), name)
    raise AttributeError(f"module 'ingest' has no attribute '{name}'")
