"""Differences between a run and its test; settings that a result does not show make it invalid."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.acceptance.test_spec import DATA, AcceptanceTest, Load, Observed, Run
from ingest.units import display

#: Share of the duration that a clock, ramp or stonewall may cut off.
SHORT = 0.05
#: Share by which the mean size of queued requests may differ: they count as they start, and their bytes as they end.
QUEUED = 0.01
#: Share of the data that whole requests in whole files may leave out.
ROUNDING = 0.001
#: settings that results of the tools in REPORTING show for reads and writes
STATED = ("clients", "threads", "io_bytes", "seconds", "direct")
REPORTING = ("fio", "ior", "elbencho")
#: Parameters that results may omit: some versions of DLIO set the record length to 1.
OPTIONAL = {"dlio": ("record_length_bytes",)}


def differences(test: AcceptanceTest, run: Run) -> list[str]:
    """Why a run does not count for a test: found and expected values; empty where it counts."""
    if run.tool != test.tool:
        return [f"ran {run.tool}, expected {test.tool}"]
    found = {load.name: load for load in run.loads}
    reasons = list(_version(test, run))
    for load in test.loads:
        if load.name not in found:
            reasons.append(f"job '{load.name}' did not run")
            continue
        reasons += _unstated(test, load, found[load.name], first=load is test.loads[0])
        reasons += _differences(load, found[load.name])
        if test.scale == "full":
            reasons += _memory(load, found[load.name])
    names = [load.name for load in test.loads]
    reasons += [f"{job} ran too, expected only {', '.join(names)}" for job in sorted({*found} - {*names})]
    return [*reasons, *_parameters(test, run)]


def _version(test: AcceptanceTest, run: Run) -> Iterator[str]:
    if test.tool == "dlio":
        return
    if not run.version:
        yield f"version: found none, expected {test.version} or newer"
    elif _numbers(run.version) < _numbers(test.version):
        yield f"version: found {run.version}, expected {test.version} or newer"


def _numbers(version: str) -> list[int]:
    """`4.1.0+dev` as [4, 1, 0]."""
    return [int(part) for part in re.findall(r"\d{1,9}", version.partition("+")[0])]


def _parameters(test: AcceptanceTest, run: Run) -> Iterator[str]:
    for name, expected in test.parameters.items():
        if name in run.shown and run.shown[name] != expected:
            yield f"{name}: found {run.shown[name]}, expected {expected}"
        elif name not in run.shown and name not in OPTIONAL.get(test.tool, ()):
            yield f"{name}: not in the result, expected {expected}"


def _unstated(test: AcceptanceTest, load: Load, seen: Observed, *, first: bool) -> Iterator[str]:
    if load.handled and seen.handled is None:
        yield "files: not in the result, expected their number"
    if test.tool not in REPORTING or load.operation not in DATA:
        return
    # Some drivers of fio drop the options of all jobs but the first.
    reads = ("pattern", "dataset_bytes") if load.operation == "read" and first else ()
    for name in (*STATED, *reads):
        if getattr(seen, name) is None:
            yield f"{name.replace('_', ' ')}: not in the result, expected a value"


def _differences(load: Load, seen: Observed) -> Iterator[str]:
    if seen.errors:
        yield f"{seen.errors}, expected none"
    yield from _unlike("operation", seen.operation, load.operation)
    yield from _unlike("pattern", seen.pattern or load.pattern, load.pattern)
    if seen.io_bytes is not None and load.io_bytes is not None and not _same_size(seen.io_bytes, load):
        yield f"block size: found {seen.io_bytes:,.0f} B, expected {load.io_bytes:,} B"
    yield from _unlike("clients", seen.clients, load.clients)
    yield from _unlike("threads in all", seen.threads, load.clients * load.threads)
    yield from _unlike("queue depth of a thread", seen.depth, load.depth)
    if seen.seconds is not None and load.seconds is not None and seen.seconds < load.seconds * (1 - SHORT):
        yield f"duration: found {display(seen.seconds, 's')}, expected at least {display(load.seconds, 's')}"
    if seen.handled is not None and load.handled is not None and seen.handled < load.handled:
        yield f"files: found {seen.handled:,.0f}, expected at least {load.handled:,}"
    yield from _caches(load, seen)


def _same_size(found: float, load: Load) -> bool:
    if load.depth == 1:
        return round(found) == load.io_bytes
    return load.io_bytes is not None and abs(found / load.io_bytes - 1) <= QUEUED


def _caches(load: Load, seen: Observed) -> Iterator[str]:
    if load.operation not in DATA:
        return
    if load.dataset_bytes and seen.dataset_bytes is not None and seen.dataset_bytes < load.dataset_bytes * (1 - ROUNDING):
        found, expected = display(seen.dataset_bytes, "B"), display(load.dataset_bytes, "B")
        yield f"caches: found {found} of data, expected at least {expected}, which exceeds caches"
    if seen.direct is False and not seen.cold:
        yield "caches: found buffered I/O (direct=0), expected direct I/O"


def _memory(load: Load, seen: Observed) -> Iterator[str]:
    if load.dataset_bytes and seen.memory_bytes and load.dataset_bytes < seen.memory_bytes:
        memory, data = display(seen.memory_bytes, "B"), display(load.dataset_bytes, "B")
        yield f"caches: the clients have {memory} of memory, expected less than the {data} of data"


def _unlike(what: str, found: object, expected: object) -> Iterator[str]:
    if found is not None and expected and found != expected:
        yield f"{what}: found {found}, expected {expected}"
