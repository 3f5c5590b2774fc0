"""fio's JSON: of one machine (`jobs`), or of a driver and its clients (`client_stats`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ingest.acceptance.outputs.numbers import number, parsed, rows, table
from ingest.acceptance.records import Observed, Run
from ingest.errors import IngestError
from ingest.expression import total
from ingest.formula import solve

#: The sum that a driver adds behind its clients; counting it would double every rate.
SUM = "All clients"
ENGINES = {"filecreate": "create", "filestat": "stat"}
_TEST = re.compile(r"T-[A-Za-z0-9_-]+-fio")
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def read(text: str, path: str) -> list[Run] | None:
    """The run in a result file; None where it is not fio's.

    Raises:
        IngestError: fio's, but cut off or without a job.
    """
    # Warnings of the clients stand before the object, and behind it.
    start = re.search(r"^\{\s*\"fio version\"", text, re.MULTILINE)
    if start is None:
        return None
    found, _ = parsed(text, start.start(), path, "fio's JSON")
    jobs = rows(found.get("jobs", found.get("client_stats")), f"{path}: jobs")
    jobs = [job for job in jobs if job.get("jobname") != SUM]
    if not jobs:
        raise IngestError(f"{path}: found no job in fio's JSON, expected at least one (did the clients refuse the job file?)")
    shared = table(found.get("global options", {}), f"{path}: global options")
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for job in jobs:
        groups.setdefault(str(job.get("jobname")), []).append(job)
    loads = tuple(_load(name, group, shared, f"{path}: {name}") for name, group in groups.items())
    named = [match[0] for load in loads if (match := _TEST.match(load.name))]
    version, began = str(found["fio version"]).removeprefix("fio-"), str(found.get("timestamp_ms", ""))
    return [Run("fio", path, named[0] if named else "", loads, version, began=began)]


def _load(name: str, jobs: Sequence[Mapping[str, Any]], shared: Mapping[str, Any], where: str) -> Observed:
    options = {**shared, **next((job["job options"] for job in jobs if isinstance(job.get("job options"), dict)), {})}
    engine = ENGINES.get(str(options.get("ioengine")), "")
    direction = "write" if _sum(jobs, "write", "total_ios", where) else "read"
    requests, moved = _sum(jobs, direction, "total_ios", where), _sum(jobs, direction, "io_bytes", where)
    seconds = max((_of(job, direction, "runtime", where) for job in jobs), default=0) / 1000
    metadata = engine or ("open" if str(options.get("openfiles")) == "1" else "")
    files = {"files_handled": requests, "measured_seconds": seconds or 1e-3}
    rate = solve("measured_file_rate", files) if metadata else total([_bandwidth(job, direction, where) for job in jobs])
    mixed = direction == "write" and _sum(jobs, "read", "total_ios", where) > 0
    rw = str(options.get("rw", options.get("readwrite", "")))
    return Observed(
        name=name,
        operation="read and write" if mixed else metadata or direction,
        rate=float(rate),
        unit="file/s" if metadata else "B/s",
        pattern=None if metadata or not rw else ("random" if rw.startswith("rand") else "sequential"),
        io_bytes=_request_bytes(moved, requests) if metadata in ("", "open") else None,
        clients=len(_clients(jobs)),
        threads=_threads(jobs, options, where),
        handled=requests if metadata else None,
        seconds=seconds,
        dataset_bytes=_dataset(jobs, options, where),
        direct=str(options.get("direct", "0")) == "1",
        errors=_errors(jobs, where),
        latency_seconds=_latency(jobs, direction, where),
    )


def _bandwidth(job: Mapping[str, Any], direction: str, where: str) -> float:
    """`bw_bytes` where there is one; older versions have `bw` alone, in KiB/s."""
    part = table(job.get(direction), f"{where}: {direction}")
    if "bw_bytes" in part:
        return number(part["bw_bytes"], f"{where}: bw_bytes")
    return float(solve("bandwidth_from_kibibytes", {"reported_kibibytes_per_second": number(part.get("bw"), f"{where}: bw")}))


def _of(job: Mapping[str, Any], direction: str, key: str, where: str) -> float:
    return number(table(job.get(direction), f"{where}: {direction}").get(key, 0), f"{where}: {direction}.{key}")


def _sum(jobs: Sequence[Mapping[str, Any]], direction: str, key: str, where: str) -> float:
    return sum(_of(job, direction, key, where) for job in jobs)


def _request_bytes(moved: float, requests: float) -> float | None:
    """What a request really moved: a driver drops the options of all jobs but the first."""
    return (
        float(solve("mean_request_bytes", {"transferred_bytes": moved, "transferred_requests": requests})) if requests else None
    )


def _threads(jobs: Sequence[Mapping[str, Any]], options: Mapping[str, Any], where: str) -> int:
    """One entry per thread, unless group reporting has summed them up: what the options say did not run therefore."""
    if "group_reporting" not in options:
        return len(jobs)
    return len(_clients(jobs)) * int(number(options.get("numjobs", 1), f"{where}: numjobs"))


def _dataset(jobs: Sequence[Mapping[str, Any]], options: Mapping[str, Any], where: str) -> float | None:
    size = re.fullmatch(r"(\d+)([kmgt]?)i?b?", str(options.get("size", "")).lower())
    if size is None:
        return None
    each = int(size[1]) * _SIZES[size[2]]
    shared = "$jobnum" not in str(options.get("filename_format", "$jobnum"))
    return each if shared else each * _threads(jobs, options, where)


def _errors(jobs: Sequence[Mapping[str, Any]], where: str) -> str:
    kinds = sorted({str(job.get("error", 0)) for job in jobs} - {"0"})
    counted = sum(int(number(job.get("total_err", 0), f"{where}: total_err")) for job in jobs)
    found = [f"error {kind}" for kind in kinds] + ([f"{counted} errors"] if counted and not kinds else [])
    return ", ".join(found)


def _latency(jobs: Sequence[Mapping[str, Any]], direction: str, where: str) -> float | None:
    parts = [table(job.get(direction), f"{where}: {direction}") for job in jobs]
    means = [table(part.get("clat_ns", {}), f"{where}: clat_ns").get("mean") for part in parts]
    known = [number(mean, f"{where}: clat_ns.mean") for mean in means if mean is not None]
    return sum(known) / len(known) / 1e9 if known else None


def _clients(jobs: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    return {(str(job.get("hostname")), str(job.get("port"))) for job in jobs}
