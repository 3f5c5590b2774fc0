"""Storage sizing for AI training: what must storage do so that these GPUs never wait?

Each command is a function of the same name; a model and a GPU may come first, options are keyword arguments.

>>> import ingest
>>> answer = ingest.bw("cosmoflow", "h100", nodes=128, protocol="mlperf-storage")
>>> answer["per GPU"].display
'808.1 MB/s (770.7 MiB/s)'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ingest.catalog import checked_by
from ingest.engine import declared_by, met_by, shown_by
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.acceptance.accept import accept as accept
    from ingest.acceptance.path_benchmark import measure_storage as measure_storage
    from ingest.acceptance.verdict import verdict as verdict
    from ingest.accounting.usage import usage as usage
    from ingest.corpus.measure import measure as measure
    from ingest.errors import IngestError as IngestError
    from ingest.loader.feed import feed as feed
    from ingest.observation.calibration import calibrate as calibrate
    from ingest.observation.observe import observe as observe
    from ingest.reports.plan_report import report as report
    from ingest.reports.web.page import page as page
    from ingest.rfp.offer_verdict import response as response
    from ingest.site.plan_file import diff as diff
    from ingest.site.planner import plan as plan
    from ingest.sizing.bandwidth import bw as bw
    from ingest.sizing.checkpoint import checkpoint as checkpoint
    from ingest.sizing.dataset import dataset as dataset
    from ingest.sizing.explain import explain as explain
    from ingest.sizing.goodput import goodput as goodput
    from ingest.sizing.memory import memory as memory
    from ingest.sizing.model import model as model
    from ingest.sizing.offload import offload as offload
    from ingest.sizing.post_training import rl as rl
    from ingest.sizing.sweep import sweep as sweep
    from ingest.sizing.train import train as train
    from ingest.sizing.vectors import vectors as vectors
    from ingest.storage.fit import fit as fit
    from ingest.validation import validate as validate

#: The module of each public function: a command imports only what it needs.
_PLACES = {
    "accept": "ingest.acceptance.accept",
    "bw": "ingest.sizing.bandwidth",
    "calibrate": "ingest.observation.calibration",
    "checkpoint": "ingest.sizing.checkpoint",
    "dataset": "ingest.sizing.dataset",
    "diff": "ingest.site.plan_file",
    "explain": "ingest.sizing.explain",
    "feed": "ingest.loader.feed",
    "fit": "ingest.storage.fit",
    "goodput": "ingest.sizing.goodput",
    "measure": "ingest.corpus.measure",
    "measure_storage": "ingest.acceptance.path_benchmark",
    "memory": "ingest.sizing.memory",
    "model": "ingest.sizing.model",
    "offload": "ingest.sizing.offload",
    "observe": "ingest.observation.observe",
    "page": "ingest.reports.web.page",
    "plan": "ingest.site.planner",
    "report": "ingest.reports.plan_report",
    "response": "ingest.rfp.offer_verdict",
    "rl": "ingest.sizing.post_training",
    "sweep": "ingest.sizing.sweep",
    "train": "ingest.sizing.train",
    "usage": "ingest.accounting.usage",
    "validate": "ingest.validation",
    "vectors": "ingest.sizing.vectors",
    "verdict": "ingest.acceptance.verdict",
}
#: The commands that ask about a job, which a file may hold; `ingest.site.job_file` knows the part of it that each reads.
OF_A_JOB = ("bw", "explain", "memory", "checkpoint", "goodput", "train", "feed", "offload", "fit", "rl")
#: Their option for it.
JOB = "A job: an entry of `jobs:` of a site file, or SITE.yaml#jobs.NAME."
# What lower layers declare, show and check by stands above them: the package hands it down.
declared_by[:] = [
    # The fields of `bw`, which starts often: a name of theirs costs no import of the others.
    lambda: [import_module(f"ingest.formulas.{field}") for field in ("inputs", "bandwidth")],
    lambda: import_module("ingest.engine.registry").load_modules("ingest.formulas"),
]
shown_by[:] = [lambda: import_module("ingest.reports.session")]
met_by[:] = [lambda: import_module("ingest.storage.fit")]
checked_by["structure"] = lambda: import_module("ingest.architecture.catalog_entries")
checked_by["check_rates"] = lambda: import_module("ingest.sizing.evidence_ladder")
__all__ = ["IngestError", "__version__", "catalog", "site", *_PLACES]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        from ingest.arguments import checked
        from ingest.engine.question import arguments_of, in_words_of_command

        function = getattr(import_module(_PLACES[name]), name)
        own = arguments_of(function)
        kinds = {argument: one.kind for argument, one in own.items()}
        table = {argument: (one.default, one.declared.text) for argument, one in own.items() if one.declared}
        if name not in OF_A_JOB:
            return globals().setdefault(name, checked(name, function, kinds, table, in_words_of_command))
        from pathlib import Path

        kinds, table = {**kinds, "job": str | Path | None}, {**table, "job": (None, JOB)}
        call = checked(
            name,
            function,
            kinds,
            table,
            in_words_of_command,
            lambda job, given: import_module("ingest.site.job_file").asked_from(job, name, own, given),
        )
        return globals().setdefault(name, call)
    if name == "IngestError":  # what every refusal is
        return import_module("ingest.errors").IngestError
    if name == "site":  # the package, which is called as the command of this name
        return import_module("ingest.site")
    from difflib import get_close_matches

    near = get_close_matches(name, __all__, n=1)
    raise AttributeError(f"module 'ingest' has no attribute '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))


def __dir__() -> list[str]:
    """The commands, which a shell completes; what this module imports for itself is left out."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
