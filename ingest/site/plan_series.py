"""Series behind the charts of a plan: bandwidth by nodes, evidence levels, capacity by use, checkpoint intervals."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.engine.derivation_graph import QuantityRow, is_column, steps_below
from ingest.engine.registry import solve
from ingest.engine.value import Quantity
from ingest.errors import MissingQuantity
from ingest.site.plan import Plan
from ingest.sizing.bandwidth import estimate
from ingest.sizing.checkpoint_interval import Point, interval_course

READS = "ingest_bandwidth_per_gpu"


def bandwidth_by_nodes(job: QuantityRow) -> list[tuple[float, float]]:
    """Nodes and read bandwidth in B/s of one run on 1, 2, 4 … nodes, up to its own size."""
    given = {name: job.known.value(name) for name in (READS, "gpus_per_node")}
    sizes, size, most = [], 1.0, job.known.value("nodes")
    while size < most:
        sizes.append(size)
        size *= 2
    sizes.append(most)
    return [(size, float(solve("ingest_bandwidth_per_job", {**given, "nodes": size}))) for size in sizes]


def evidence_levels(plan: Plan, job: str) -> list[tuple[str, Quantity]]:
    """Read bandwidth per GPU of a job at each evidence level that has one, the level in use first."""
    asked = plan.questions.get(job)
    levels = estimate(asked, plan.catalog).levels if asked is not None else ()
    return [(level.basis, results[READS]) for level, results in levels if READS in results]


def capacity_by_use(year: QuantityRow) -> Iterator[tuple[str, float]]:
    """What the data held in a year consists of, in bytes."""
    for part in steps_below(year.known.step("year_usable_bytes")):
        if is_column(part):
            yield "checkpoints" if "checkpoint" in part.name else "data sets", float(sum(one.value for one in part.inputs))


def largest_checkpoint_course(plan: Plan) -> tuple[str, Point, list[Point], str] | None:
    """The job with the largest checkpoint, its chosen interval, those around it, and the condition along them.

    None where no job saves checkpoints, or the intervals of that job cannot be compared.
    """
    saved = [(row, float(step.value)) for row in plan.rows["jobs"] if (step := row.step("checkpoint_bytes")) is not None]
    if not saved:
        return None
    job = max(saved, key=lambda one: one[1])[0]
    if job.checkpoints is None:
        return None
    try:
        return job.name, *interval_course(job.checkpoints, str(job.words.get("mode", "sync")))
    except MissingQuantity:
        return None
