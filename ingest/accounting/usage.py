"""`ingest site`: what a cluster did, counted from the history of its scheduler, and the site file that follows from it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

import numpy

from ingest.accounting import ledger as records
from ingest.accounting.ledger import CODES, PARTS, shown_name
from ingest.accounting.readers import columns_of
from ingest.accounting.result import (
    BY_PARTITION,
    BY_SIZE,
    Classes,
    ClassUse,
    ClusterUse,
    Usage,
    class_of_each,
    distinct,
    machine_of,
    read_classes,
    site_text,
)
from ingest.accounting.runs import Array, Profile, Runs, profile, settled, starts_per_minute, weighted_quantiles, window_of
from ingest.accounting.sources import Asked, part_bytes, part_of, read_histories, read_parts
from ingest.catalog.records import Node
from ingest.catalog.store import Catalog, opened
from ingest.engine.question import filled, option
from ingest.engine.registry import unit_of
from ingest.engine.value import Quantity
from ingest.errors import IngestError, UsageError
from ingest.sizing.rules import told

HOUR = 3600
#: Names of the shares of time that levels are given for.
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
#: Reasons for which allocations are lost that ran: what is left out of their number is not covered.
LOST = (
    records.NO_GPUS, records.SHARED, records.OTHER_KIND, records.NO_START, records.NO_END, records.BACKWARDS,
    records.CONTRADICTS, records.UNREADABLE,
)  # fmt: skip
#: Ends that a checkpoint survives: the first ones by the system alone, the others by whatever ended the run early.
BY_SYSTEM, EARLY = ("interrupted",), ("interrupted", "failed")
#: Fewer interrupts give no rate.
LEAST_INTERRUPTS = 5


class UsageOptions(TypedDict, total=False):
    """The options of `ingest site`."""

    columns: Annotated[
        str | Mapping[str, str] | None,
        option("Columns of a table by what each is: id, start, end or duration, gpus, nodes, gpu, partition, state, read, …",
               "ROLE=COLUMN,…"),
    ]  # fmt: skip
    classes: Annotated[
        str | Path | None,
        option(f"Classes of runs: {BY_SIZE}, {BY_PARTITION}, or a YAML file that maps partitions, accounts and sizes to "
               "models. [default: size]", "WORD|FILE"),
    ]  # fmt: skip
    node: Annotated[str | None, option("Node type, where the history does not tell the kind of GPU.", "ID")]
    part: Annotated[str | None, option("Read every n-th file, from the i-th on; the output is a part for --merge.", "i/n")]
    merge: Annotated[bool, option("The sources are parts that --part wrote: put them together.", "", default=False)]
    catalogs: Annotated[
        Sequence[str | Path], option("Folder with entries of your own. Repeatable.", "DIR", default=(), many=True)
    ]


def usage(*histories: str | Path, **options: Unpack[UsageOptions]) -> Usage:
    """Count what a cluster did, from the history of its scheduler.

    Args:
        histories: files or folders: `sacct -P` or `--json`, PBS accounting, JSON of Kubernetes, tables, Darshan logs; `-` for
            standard input.

    Raises:
        IngestError: a history that cannot be read, or without a run.
        UsageError: options that contradict each other.
    """
    given = filled(UsageOptions, options, "site")
    if given["part"]:
        raise UsageError("--part: expected -o FILE.npz with it; `ingest.accounting.usage.part` returns its bytes")
    classes, catalog = read_classes(given["classes"]), opened(given["catalogs"])
    if not given["merge"]:
        ledger = read_histories(histories, Asked(columns_of(given["columns"]), classes.asked["accounts"]))
    elif given["columns"]:
        raise UsageError("--merge: found --columns with it, expected parts alone")
    else:
        ledger = read_parts(histories, classes.asked)
    return usage_of(settled(ledger), classes, catalog, given["node"])


def part(*histories: str | Path, **options: Unpack[UsageOptions]) -> bytes:
    """Read one part of a history; the bytes of its file, which `merge` puts together with those of the others."""
    given = filled(UsageOptions, options, "site")
    if given["merge"] or not given["part"]:
        raise UsageError("--part: found --merge with it, expected one of them")
    classes = read_classes(given["classes"])
    asked = Asked(columns_of(given["columns"]), classes.asked["accounts"])
    files, listing = part_of(histories, given["part"])
    return part_bytes(read_histories(files, asked), given["part"], listing, classes.asked)


def usage_of(runs: Runs, classes: Classes, catalog: Catalog, node: str | None = None) -> Usage:
    """What the runs of a history say."""
    if not len(runs.key):
        said = "; ".join(f"{count:,} {reason}" for reason, count in runs.removed.items())
        raise IngestError(
            f"--from: no allocation that ran ({said or 'an empty history'}), expected the records of at least one"
        )
    if not (runs.gpus > 0).any():
        if node is None:
            raise IngestError(
                "--from: no run has GPUs, expected some; where the scheduler counts whole nodes alone, --node names their type"
            )
        each = catalog.get(Node, node).gpus_per_node.value
        runs.notes["GPUs not recorded, counted as those of the nodes"] = len(runs.key)
        runs = runs._replace(gpus=(numpy.maximum(runs.nodes, 0) * each * PARTS).astype("q"))
    window = window_of(runs.start, runs.end)
    # GPUs without a kind are of the only one that their cluster has.
    known: dict[str, set[str]] = {}
    for group in runs.groups:
        known.setdefault(group.cluster, set()).update(filter(None, (group.gpu,)))
    only = {cluster: next(iter(known[cluster])) for cluster in known if len(known[cluster]) == 1}
    untold = numpy.array([not group.gpu and group.cluster in only for group in runs.groups] or [False])
    if (unkind := int((untold[runs.group] & (runs.gpus > 0)).sum()) if len(runs.group) else 0) > 0:
        runs.notes["kind of GPU not recorded, taken as the only kind of the cluster"] = unkind
    meant = [(group.cluster, group.gpu or only.get(group.cluster, "")) for group in runs.groups]
    kinds = sorted({*meant})
    of_group = numpy.array([kinds.index(kind) for kind in meant] or [0])
    of_run = of_group[runs.group] if len(runs.group) else numpy.zeros(0, int)
    machines = [machine_of(runs.only(of_run == place), kind, catalog, node) for place, kind in enumerate(kinds)]
    per_node = numpy.array([one.gpus_per_node for one in machines] or [1])[of_run] if len(of_run) else numpy.zeros(0)
    names, class_place = class_of_each(runs, classes, per_node)
    hours = runs.gpus.astype(float) * runs.seconds / PARTS / HOUR
    all_hours = float(hours.sum())
    # A name for each cluster: of the machine where it is plain, and of its kind of GPU where several have one.
    parts = []
    for number, ((cluster, gpu), machine) in enumerate(zip(kinds, machines, strict=True), 1):
        host = shown_name(cluster) or (f"cluster-{number}" if cluster else "")
        card = machine.gpu or (f"gpu-{number}" if gpu else "")
        parts.append([re.sub(r"[^A-Za-z0-9_-]+", "-", one).strip("-") for one in (host, card)])
    hosts = len({host for host, _ in parts}) > 1
    labels = distinct("-".join(filter(None, (host if hosts else "", card))) or host or "main" for host, card in parts)
    clusters, found = [], []
    for place in range(len(kinds)):
        mine = of_run == place
        if not (runs.gpus[mine] > 0).any():
            continue
        here = runs.only(mine)
        level = profile(here.start, here.end, here.gpus, window)
        nodes = profile(here.start, here.end, numpy.maximum(here.nodes, 0).astype("q"), window)
        count = math.ceil(level.peak / PARTS / machines[place].gpus_per_node)
        clusters.append(ClusterUse(labels[place], machines[place], level, nodes, count, float(hours[mine].sum())))
        for at, name in enumerate(names):
            chosen = mine & (class_place == at) & (runs.gpus > 0)
            if chosen.any():
                job = classes.rules[at].job if at < len(classes.rules) else {}
                own = runs.only(chosen)
                found.append(_class_use(name, clusters[-1], own, hours[chosen], all_hours, window, job))
    several = {one.cluster for one in found}
    titles = distinct(f"{one.cluster}-{one.name}" if len(several) > 1 else one.name for one in found)
    named = [one._replace(name=title) for one, title in zip(found, titles, strict=True)]
    results = {name: Quantity(value, unit_of(name)) for name, value in _results(runs, window, all_hours).items()}
    coverage = _coverage(runs, hours, clusters, named)
    results["coverage"] = Quantity(coverage["allocations"], "1")
    answer = Usage(runs, tuple(clusters), tuple(named), results, runs.removed, coverage, {})
    asked = replace(answer, questions=questions_of(answer), warnings=tuple(warnings_of(answer)))
    return replace(asked, site=site_text(asked))


def _results(runs: Runs, window: tuple[int, int], gpu_hours: float) -> dict[str, float]:
    """The quantities of the whole history, by name."""
    gpus = profile(runs.start, runs.end, runs.gpus, window)
    nodes = profile(runs.start, runs.end, numpy.maximum(runs.nodes, 0).astype("q"), window)
    starts = starts_per_minute(runs.start, window)
    found = {
        "gpu_hours": gpu_hours,
        "jobs": float(len(runs.key)),
        "jobs_skipped": float(sum(count for reason, count in runs.removed.items() if reason != records.NO_PARENT)),
        "history_seconds": float(window[1] - window[0]),
        **{f"concurrent_gpus_{name}": level / PARTS for name, level in levels_of(gpus).items()},
        "concurrent_gpus_max": gpus.peak / PARTS,
        "concurrent_gpus_mean": gpus.mean / PARTS,
        **{f"concurrent_nodes_{name}": level for name, level in levels_of(nodes).items()},
        "concurrent_nodes_max": nodes.peak,
        "starts_per_minute_p99": starts[0],
        "starts_per_minute_max": starts[1],
    }
    for way in ("read", "written"):
        moved = getattr(runs, way)
        known = numpy.isfinite(moved) & (runs.end > runs.start)
        if known.any():
            one = runs.only(known)
            rates = profile(one.start, one.end, moved[known] / (one.end - one.start), window)
            found[f"bytes_{way}"] = float(moved[known].sum())
            found[f"bytes_{way}_per_run_p99"] = weighted_quantiles(moved[known], numpy.ones(int(known.sum())), 0.99)[0]
            found[f"concurrent_{way}_bandwidth_p99"] = max(rates.quantile(0.99), 0.0)
            found[f"concurrent_{way}_bandwidth_max"] = rates.peak
    if (growth := growth_per_quarter(gpus)) is not None:
        found["quarterly_growth"] = growth
    return found


def levels_of(level: Profile) -> dict[str, float]:
    """The levels of `SHARES`, by name."""
    return dict(zip(SHARES, level.quantiles(*SHARES.values()), strict=True))


def growth_per_quarter(gpus: Profile) -> float | None:
    """Growth of the GPUs in use from quarter to quarter, fitted to all whole quarters; None for fewer than three."""
    quarters = numpy.arange("1969-01", "2101-01", 3, dtype="datetime64[M]").astype("datetime64[s]").astype("q")
    edges = quarters[(quarters >= gpus.times[0]) & (quarters <= gpus.times[-1])]
    means = gpus.means(edges) if len(edges) > 3 else numpy.zeros(0)
    if len(means) < 3 or (means <= 0).any():
        return None
    slope = numpy.polyfit(numpy.arange(len(means)), numpy.log(means), 1)[0]
    return float(math.exp(slope) - 1)


def _span(values: Array, weights: Array) -> tuple[float, float, float]:
    """The mean by weight, and the span of 90 % of the weight."""
    total = float(weights.sum())
    mean = float((values * weights).sum() / total) if total else float(values.mean())
    low, high = weighted_quantiles(values, weights, 0.05, 0.95) if total else (mean, mean)
    return mean, min(low, mean), max(high, mean)


def _class_use(
    name: str, cluster: ClusterUse, runs: Runs, hours: Array, all_hours: float, window: tuple[int, int], job: Mapping[str, Any]
) -> ClassUse:
    level = profile(runs.start, runs.end, runs.gpus, window)
    sizes = runs.gpus / PARTS
    concurrent = {**{name: one / PARTS for name, one in levels_of(level).items()}, "max": level.peak / PARTS}
    states = numpy.bincount(runs.state, minlength=len(CODES))
    ends = {word: int(states[code]) for word, code in CODES.items() if states[code]}
    lengths = [one / HOUR for one in weighted_quantiles(runs.seconds, numpy.ones(len(runs.key)), 0.5, 0.95)]
    run_seconds = float(runs.seconds.sum())
    interrupts = [sum(ends.get(word, 0) for word in words) for words in (BY_SYSTEM, EARLY)]
    mtti = tuple(run_seconds / count if count >= LEAST_INTERRUPTS else None for count in interrupts)
    gpu_seconds = sizes * (runs.end - runs.start)
    rates: list[tuple[float, float, float] | None] = []
    for moved in (runs.read, runs.written):
        known = numpy.isfinite(moved) & (gpu_seconds > 0)
        rates.append(_span(moved[known] / gpu_seconds[known], hours[known]) if known.any() and hours[known].sum() else None)
    known_hours = float(hours[numpy.isfinite(runs.read) | numpy.isfinite(runs.written)].sum())
    total = float(hours.sum())
    nodes = numpy.maximum(sizes / cluster.machine.gpus_per_node, numpy.maximum(runs.nodes, 1))
    return ClassUse(
        name, cluster.name, len(runs.key), total, total / all_hours if all_hours else 0.0, _span(nodes, hours),
        _span(sizes, hours), {**concurrent, "mean": level.mean / PARTS}, (lengths[0], lengths[1]), ends, (mtti[0], mtti[1]),
        starts_per_minute(runs.start, window), rates[0], rates[1], known_hours / total if total else 0.0, job,
    )  # fmt: skip


def _coverage(runs: Runs, hours: Array, clusters: Sequence[ClusterUse], classes: Sequence[ClassUse]) -> dict[str, float]:
    """Shares of what is known."""
    total, jobs = float(hours.sum()), len(runs.key)
    lost = sum(runs.removed.get(reason, 0) for reason in LOST)

    def share(part: float) -> float:
        return part / total if total else 0.0

    return {
        "allocations": jobs / (jobs + lost) if jobs + lost else 0.0,
        "gpu": share(sum(one.gpu_hours for one in clusters if one.machine.known)),
        "bytes": share(sum(one.gpu_hours * one.known_bytes for one in classes)),
        "model": share(sum(one.gpu_hours for one in classes if one.job.keys() & {"model", "samples_per_second"})),
    }


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
