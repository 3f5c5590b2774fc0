"""What a history does not tell: questions to the buyer by place in the site file, and cautions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.sizing.rules import told

if TYPE_CHECKING:
    from ingest.accounting.result import Usage

#: Classes with a smaller share of the GPU-hours are no question of their own.
LEAST_SHARE = 0.01
RATES = frozenset(("model", "samples_per_second", "checkpoint"))


def questions_of(answer: Usage) -> dict[str, str]:
    """Questions by the key of the site file that an answer changes."""
    found: dict[str, str] = {}
    for cluster in answer.clusters:
        if not cluster.machine.known:
            kind = f"GPUs of kind {cluster.machine.gpu}" if cluster.machine.gpu else "the kind of GPU"
            found[f"clusters.{cluster.name}.node"] = (
                f"which node type is this? The history does not tell {kind}: {cluster.machine.node} stands in"
            )
    for one in answer.classes:
        if not one.job.keys() & RATES and one.read is None:
            found[f"jobs.{one.name}"] = (
                f"which models do these runs train ({one.share:.1%} of the GPU-hours)? No line has their reads and "
                "checkpoints; set `model`, or `samples_per_second` and `sample_bytes`, and `checkpoint`"
            )
        elif not one.job.keys() & RATES:
            found[f"jobs.{one.name}"] = (
                f"which data and checkpoints have these runs ({one.share:.1%} of the GPU-hours)? The history tells bytes "
                "alone; set `data`, `io_size` and `checkpoint`"
            )
    found["datasets"] = "how much data is kept, and for how long? Records of jobs do not tell; list `datasets` and `reserve`"
    return found


def warnings_of(answer: Usage) -> Iterator[str]:
    """What a reader of the numbers has to know."""
    lost = 1 - answer.coverage["allocations"]
    if lost > 0:
        yield told("W116", percent=f"{lost * 100:.2g}")
    if answer.coverage["gpu"] < 1:
        yield told("W117", percent=f"{(1 - answer.coverage['gpu']) * 100:.3g}")
