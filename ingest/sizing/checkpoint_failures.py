"""Failure rates of a job: the published one of the nearest size, and the others beside it."""

from __future__ import annotations

import math
from typing import Any

from ingest.catalog.records import Failures
from ingest.catalog.store import Catalog
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.sizing.evidence_ladder import from_catalog, from_fields

#: What an entry counts that takes part in the choice by the size of a job.
INTERRUPTIONS = "interruptions of jobs"


def usual_failures(gpus: float | None, catalog: Catalog) -> str | None:
    """Return the id of the interruption rate of jobs of the nearest size; None without a number of GPUs."""
    if gpus is None:
        return None
    entries = (catalog.get(Failures, name) for name in catalog.ids(Failures.kind))
    sizes = {one.id: one.gpus.value for one in entries if one.gpus is not None and one.counts == INTERRUPTIONS}
    return min(sizes, key=lambda name: (abs(math.log(sizes[name] / gpus)), name))


def failure_rate(name: str, catalog: Catalog, *, by_size: bool = False) -> dict[str, Input]:
    """Return the failure rate of a node.

    Args:
        name: id of an entry.
        catalog: where it comes from.
        by_size: it was chosen by the size of the job.
    """
    entry = catalog.get(Failures, name)
    counted = {"observed_interrupts": entry.interrupts, "observed_seconds": entry.period, "observed_nodes": entry.nodes}
    fields = from_fields({"failures_per_node_second": entry.rate} if entry.rate is not None else counted)
    note = f"failure rate of {entry.name}"
    if by_size and entry.gpus is not None:
        note += f", published for {entry.gpus.value:,.0f} GPUs, the nearest to this job"
        fields["gpus_of_failures"] = from_catalog(entry.gpus)
    given = {each: item.by_default(note, "checkpoint.mtti", "checkpoint.failures") for each, item in fields.items()}
    # The failure rate is per node as its source counts nodes, so the job is counted in these nodes.
    return {**given, "gpus_per_node": from_catalog(entry.gpus_per_node)}


def failure_table(gpus: float | None, chosen: str | None, catalog: Catalog) -> dict[str, list[dict[str, Any]]]:
    """Return every published failure rate, with the mean time to interrupt that it gives this job."""
    if gpus is None:
        return {}
    rows = []
    for name in catalog.ids(Failures.kind):
        entry = catalog.get(Failures, name)
        known = Quantities({"gpus": Input(gpus), **failure_rate(name, catalog)})
        values = {each: known.value(each) for each in ("failures_per_thousand_node_days", "job_mean_time_to_interrupt")}
        observed = entry.gpus.value if entry.gpus is not None else ""
        mark = "chosen" if name == chosen else ""
        rows.append({"failures": name, "counts": entry.counts, "gpus_of_failures": observed, **values, "mark": mark})
    return {"failures": sorted(rows, key=lambda row: float(row["job_mean_time_to_interrupt"]))}
