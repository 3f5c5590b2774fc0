"""fio: job files, start lines and results.

Job files name no directory: fio would resolve it on the driver, and all servers of a shared file system would use the
same files. Files are in the folder where fio, or its server on a client, was started. `servers.sh` starts the servers of a
test of reads in a folder of links to the files that other clients filled, named for each number of threads: any number of
clients and threads reads all of one data set.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.acceptance.loads import FILES_PER_THREAD, SHARED_FILES, SMALL_FILE, Task, file_bytes, folders_of
from ingest.acceptance.pack import repeated, script
from ingest.acceptance.service_limits import lowest_second
from ingest.acceptance.test_spec import DATA, METADATA, Load, Observed, Run
from ingest.acceptance.tools.parsing import named_test, number, parsed, rows, table
from ingest.engine.expression import total
from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.text import comment

VERSION = "3.27"
#: An open is a read of a one-page file, opened for it alone. fio's own lookups would tell of the cache of the client: it looks
#: up all files before its clock starts.
JOB_ENGINES = {"create": "filecreate", "open": "psync"}


def loads(task: Task) -> tuple[Load, ...]:
    """The loads as fio runs them: opens repeat until the time limit, creates end with their files."""
    if task.load.operation != "create":
        return task.loads
    return task.ended_by_files(task.files_per_thread(one_pass=True))


def job_files(task: Task) -> dict[str, str]:
    """The job file of a test, the one that fills its files, and the scripts that run both.

    Of user-supplied text, the files hold only ids and the statement, as a comment.
    """
    ident, load = task.ident, task.load
    files = {f"fio/{ident}.fio": f"{comment(f'{ident}: {task.requirement.statement}')}\n{_job(task)}"}
    name = task.data_name if task.reads and not task.rehearsal else ident
    fill, filling = _fill(task), _fill_line(name, task)
    if fill:
        files[f"fio/{name}.fill.fio"] = fill
    if fill and not task.rehearsal:
        files[f"fio/fill-{name}.sh"] = script(f"fill-{name}", task.data_clients, False, [filling])
    client = "" if task.rehearsal else '--client="$HOSTS" '
    run = f'fio {client}--output-format=json --output="$RESULTS/{ident}.run$run.json" "$here/{ident}.fio"'
    first = [filling] if fill and task.rehearsal else []
    logs = f'"$RESULTS/{ident}.run$run{LOGS}"'
    kept = [f"mkdir -p {logs}", f"mv {ident}*_bw.*.log* {logs}"] if task.setting.logs_seconds and load.operation in DATA else []
    drops = bool(fill) and not task.rehearsal
    lines = [*first, *repeated(task, ".json", [*_together(task, run), *kept], drops=drops)]
    files[f"fio/{ident}.sh"] = script(ident, load.clients, task.rehearsal, lines, drops=drops)
    return files


def _together(task: Task, run: str) -> list[str]:
    """The lines of a run, which does not count where clients ran one after another: fio starts them without waiting for all."""
    load = task.load
    if task.rehearsal or load.clients == 1 or any(one.operation not in ("read", "open") for one in task.loads):
        # The end of writes and of a count of files is open.
        return [run]
    given = {**task.given, "acceptance_seconds": load.seconds or 0}
    if load.operation == "open":
        # Opens have no ramp, and fio looks up their files before, one after another.
        given |= {"ramp_seconds": 0, "files_looked_up": task.files_per_thread(one_pass=False) * load.threads}
    most = int(solve("longest_run_seconds", given))
    result, told = f"$RESULTS/{task.ident}.run$run", f"{task.ident}: the clients took more than {most} s"
    return [
        "began=$(date +%s)",
        run,
        f"if [ $(($(date +%s) - began)) -gt {most} ]; then",
        f'  mv "{result}.json" "{result}.err"',
        f'  echo "{told}, so they did not run at the same time: this run does not count" >&2',
        "  exit 1",
        "fi",
    ]


def _job(task: Task) -> str:
    if task.load.operation in METADATA:
        return _section("global", _shared()) + _section(task.load.name, _metadata(task, timed=True))
    # fio ends a thread whose pass over its files ends with the ramp: rare, but for the short passes of a rehearsal.
    ramp = {} if task.rehearsal else {"ramp_time": f"{task.ramp(task.load) * 1000:.0f}ms"}
    common = {
        **_shared(),
        "time_based": 1,
        **ramp,
        "runtime": f"{task.load.seconds:.0f}",
        "norandommap": 1,
        # Latencies from submission on, percentiles too.
        "lat_percentiles": 1,
    }
    return _section("global", common) + "".join(_section(load.name, _data(load, task)) for load in task.loads)


def _shared() -> dict[str, object]:
    # fallocate would reserve files without writing them; threads of one process keep the memory of many jobs small.
    # New random contents for each write, so that no system reduces them: with fio's own seeds, all clients write the same.
    random = {"refill_buffers": 1, "buffer_compress_percentage": 0, "dedupe_percentage": 0, "randrepeat": 0}
    return {"direct": 1, "thread": 1, "fallocate": "none", "unique_filename": 0, **random}


#: Reads fail where the data are missing or short; fio would write them first, and read what it has just written.
NO_LAYOUT: dict[str, object] = {"allow_file_create": 0}


def _data(load: Load, task: Task) -> dict[str, object]:
    rw = {"random": f"rand{load.operation}", "sequential": load.operation}[load.pattern]
    engine = {"ioengine": "libaio", "iodepth": load.depth} if load.depth > 1 else {"ioengine": "psync"}
    options = {"rw": rw, "bs": load.io_bytes, **engine, "numjobs": load.threads, **_placed(load, task)}
    logs = {"write_bw_log": load.name, "log_avg_msec": 1000} if task.setting.logs_seconds else {}
    return options | ({"end_fsync": 1, "unlink": 1} if load.operation == "write" else NO_LAYOUT) | logs


def _placed(load: Load, task: Task) -> dict[str, object]:
    """Names and sizes of the files; without `size` the threads of shared files end with EINVAL."""
    own, data = task.given_of(load), task.setting.data
    if load.operation == "write":
        return _files(_own(load.name), load, 1, file_bytes(own, load.threads, task.bytes_per_client(load)))
    if load.files == "shared" or data is None:
        return _filled(load, task)
    count = int(folders_of(load, data)["files_of_thread"])
    each = file_bytes(own, data.files, task.bytes_per_client(load))
    # At random, fio reads from the files that it holds open and from no other: a limit would leave data unread.
    few = {"openfiles": FILES_PER_THREAD} if load.pattern == "sequential" and count > FILES_PER_THREAD else {}
    return _files(_own(f"{task.data_name}-{load.threads}"), load, count, each) | few


def _filled(load: Load, task: Task) -> dict[str, object]:
    """Names and sizes of the files as they are filled."""
    own, data = task.given_of(load), task.setting.data
    if load.files == "shared":
        whole = task.bytes_per_client(load) * task.data_clients
        name = load.name if task.rehearsal else task.data_name
        # By name: of a format without the number of the thread, fio gives all files to the first thread and ends the others.
        names = {"filename": ":".join(f"{name}.{number}" for number in range(SHARED_FILES))}
        return _files(names, load, SHARED_FILES, file_bytes(own, SHARED_FILES, whole))
    name, count = (load.name, FILES_PER_THREAD * load.threads) if data is None else (task.data_name, data.files)
    each = file_bytes(own, count, task.bytes_per_client(load))
    return _files(_own(name), load, FILES_PER_THREAD, each)


def _own(name: str) -> dict[str, object]:
    """Files of which each thread has its own."""
    return {"filename_format": f"{name}.$jobnum.$filenum"}


def _files(names: Mapping[str, object], load: Load, count: int, each: int) -> dict[str, object]:
    return {
        **names,
        "nrfiles": count,
        "filesize": each,
        "size": each * count,
        "file_service_type": "random" if load.pattern == "random" else "sequential",
    }


def _metadata(task: Task, *, timed: bool) -> dict[str, object]:
    load = task.load
    count = task.files_per_thread(one_pass=load.operation != "open")
    options: dict[str, object] = {"ioengine": JOB_ENGINES[load.operation], "numjobs": load.threads}
    options |= {**_own(load.name), "nrfiles": count, "filesize": SMALL_FILE}
    if load.operation != "open":
        # A file that an earlier run left would be opened and counted as created.
        return options | {"unlink": 1}
    options |= {"rw": "read", "bs": SMALL_FILE, "openfiles": 1, "size": SMALL_FILE * count}
    return options | ({"time_based": 1, "runtime": f"{load.seconds:.0f}", **NO_LAYOUT} if timed else {})


def path_job(name: str, total: int, seconds: float, io_bytes: int, threads: int, direct: bool) -> str:
    """The job file of a path measurement: `fill` the files, `write` over them, or `read` them.

    Args:
        name: `fill`, `write` or `read`.
        total: bytes of all files.
        seconds: of a measurement; filling ends with the files.
        io_bytes: of one request.
        threads: with one file each.
        direct: whether to bypass the page cache.
    """
    given = {"aligned_io_bytes": io_bytes, "fill_request_bytes": io_bytes, "smallest_fill_request": io_bytes}
    each = file_bytes(given, threads, total)
    how: dict[str, object] = {**_shared(), "direct": int(direct), "ioengine": "psync", "numjobs": threads}
    how |= {"filename_format": "file.$jobnum", "nrfiles": 1, "filesize": each, "size": each, "bs": io_bytes}
    how |= {"rw": "randread", "norandommap": 1, "invalidate": 1} if name == "read" else {"rw": "write"}
    how |= {"time_based": 1, "runtime": f"{seconds:g}"} if name != "fill" else {}
    return _section("global", how | ({"end_fsync": 1} if name != "read" else {})) + _section(name, {})


def _fill(task: Task) -> str:
    """The job that writes the files of a test of reads or opens; empty for other tests."""
    load, data = task.load, task.setting.data
    if load.operation == "open":
        how: dict[str, object] = {**_metadata(task, timed=False), "rw": "write"}
    elif task.reads:
        # In a rehearsal each load has its own files; otherwise all loads read those of one data set.
        common = {"ioengine": "psync", "rw": "write", "bs": task.fill_bytes, "file_service_type": "sequential"}
        jobs = [(one, one.threads if data is None else data.files // FILES_PER_THREAD) for one in task.reads]
        sections = [
            _section("fill", {**_filled(one, task), **common, "numjobs": 1 if one.files == "shared" else number})
            for one, number in (jobs if data is None else jobs[:1])
        ]
        return _section("global", _shared()) + "".join(sections)
    else:
        return ""
    return _section("global", _shared()) + _section("fill", {**how, "file_service_type": "sequential"})


def _section(name: str, options: Mapping[str, object]) -> str:
    return f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in options.items()) + "\n"


def _fill_line(name: str, task: Task) -> str:
    """The first client writes shared files; each client writes the files in its own folder."""
    once = bool(task.reads) and task.load.files == "shared"
    client = "" if task.rehearsal else ('--client="$(head -n 1 "$HOSTS")" ' if once else '--client="$HOSTS" ')
    return f'fio {client}--output=/dev/null "$here/{name}.fill.fio"'


#: Suffix of the folder next to a result that has the bandwidth logs of its run.
LOGS = ".bw"
#: The total that a driver appends to its clients; counting it would double every rate.
SUM = "All clients"
RESULT_ENGINES = {"filecreate": "create"}
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def read(text: str, path: str) -> list[Run] | None:
    """The run in a result file of fio; None for other files.

    Raises:
        IngestError: the file is cut off, or without a job.
    """
    # Clients print warnings before and after the object.
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
    loads = tuple(_load(name, group, shared, f"{path}: {name}", path) for name, group in groups.items())
    test = next(filter(None, (named_test(load.name, "fio") for load in loads)), "")
    version, began = str(found["fio version"]).removeprefix("fio-"), str(found.get("timestamp_ms", found.get("timestamp", "")))
    return [Run("fio", path, test, loads, version, began=began)]


def _load(name: str, jobs: Sequence[Mapping[str, Any]], shared: Mapping[str, Any], where: str, path: str) -> Observed:
    options = {**shared, **next((job["job options"] for job in jobs if isinstance(job.get("job options"), dict)), {})}
    engine = RESULT_ENGINES.get(str(options.get("ioengine")), "")
    parts = {way: [table(job.get(way), f"{where}: {way}") for job in jobs] for way in ("write", "read")}

    def values(way: str, key: str) -> list[float]:
        return [number(part.get(key, 0), f"{where}: {way}.{key}") for part in parts[way]]

    direction = "write" if sum(values("write", "total_ios")) else "read"
    requests, moved = sum(values(direction, "total_ios")), sum(values(direction, "io_bytes"))
    metadata = engine or ("open" if str(options.get("openfiles")) == "1" else "")
    # A thread that ended early would pass for a slow one; the threads of a pass over files end as they finish.
    ends = values(direction, "runtime")
    seconds = (max(ends) if metadata else min(ends)) / 1000
    depth = int(number(options.get("iodepth", 1), f"{where}: iodepth"))
    means = {"transferred_bytes": moved, "transferred_requests": requests}
    files = {"files_handled": requests, "measured_seconds": seconds or 1e-3}
    rate = solve("measured_file_rate", files) if metadata else total([_bandwidth(part, where) for part in parts[direction]])
    mixed = direction == "write" and sum(values("read", "total_ios")) > 0
    rw = str(options.get("rw", options.get("readwrite", "")))
    return Observed(
        name=name,
        operation="read and write" if mixed else metadata or direction,
        rate=float(rate),
        unit="file/s" if metadata else "B/s",
        pattern=None if metadata or not rw else ("random" if rw.startswith("rand") else "sequential"),
        # From its totals: a driver drops the options of all jobs but the first.
        io_bytes=float(solve("mean_request_bytes", means)) if requests and metadata in ("", "open") else None,
        clients=len(_clients(jobs)),
        threads=_threads(jobs, options, where),
        handled=requests if metadata else None,
        seconds=seconds,
        dataset_bytes=_dataset(jobs, options, where),
        direct=str(options.get("direct", "0")) == "1",
        errors=_errors(jobs, where),
        depth=depth if rw else None,
        latency_seconds=_latency(parts[direction], where),
        latency_99=_latency_99(parts[direction], where),
        lowest_second=_lowest_second(name, len(jobs), path, seconds),
        slowest_client=_slowest_client(jobs, direction, where),
    )


def _lowest_second(name: str, threads: int, path: str, seconds: float) -> float | None:
    """From the bandwidth logs next to a result, if there is one of each thread."""
    logs = sorted(Path(path).with_suffix(LOGS).glob(f"{name}_bw.*.log*"))
    return lowest_second(logs, seconds) if len(logs) == threads else None


def _slowest_client(jobs: Sequence[Mapping[str, Any]], direction: str, where: str) -> float | None:
    rates: dict[tuple[str, str], float] = {}
    for job in jobs:
        client = (str(job.get("hostname")), str(job.get("port")))
        rates[client] = rates.get(client, 0) + _bandwidth(table(job.get(direction), where), where)
    if len(rates) < 2 or not any(rates.values()):
        return None
    given = {"slowest_client_rate": min(rates.values()), "mean_client_rate": statistics.fmean(rates.values())}
    return float(solve("slowest_client_share", given))


def _bandwidth(part: Mapping[str, Any], where: str) -> float:
    """`bw_bytes`, or `bw` in KiB/s of older versions."""
    if "bw_bytes" in part:
        return number(part["bw_bytes"], f"{where}: bw_bytes")
    return float(solve("bandwidth_from_kibibytes", {"reported_kibibytes_per_second": number(part.get("bw"), f"{where}: bw")}))


def _threads(jobs: Sequence[Mapping[str, Any]], options: Mapping[str, Any], where: str) -> int:
    """Threads that ran: one entry each, unless group reporting sums them."""
    if "group_reporting" not in options:
        return len(jobs)
    return len(_clients(jobs)) * int(number(options.get("numjobs", 1), f"{where}: numjobs"))


def _dataset(jobs: Sequence[Mapping[str, Any]], options: Mapping[str, Any], where: str) -> float | None:
    size = re.fullmatch(r"(\d+)([kmgt]?)i?b?", str(options.get("size", "")).lower())
    if size is None:
        return None
    each = int(size[1]) * _SIZES[size[2]]
    shared = "filename" in options or "$jobnum" not in str(options.get("filename_format", "$jobnum"))
    return each if shared else each * _threads(jobs, options, where)


def _errors(jobs: Sequence[Mapping[str, Any]], where: str) -> str:
    kinds = sorted({str(job.get("error", 0)) for job in jobs} - {"0"})
    counted = sum(int(number(job.get("total_err", 0), f"{where}: total_err")) for job in jobs)
    found = [f"error {kind}" for kind in kinds] + ([f"{counted} errors"] if counted and not kinds else [])
    return ", ".join(found)


def _latencies(parts: Sequence[Mapping[str, Any]], where: str) -> Iterator[Mapping[str, Any]]:
    """Of each thread from submission on; older results have percentiles of the time after it alone."""
    for part in parts:
        whole, after = (table(part.get(key, {}), f"{where}: {key}") for key in ("lat_ns", "clat_ns"))
        # Of creates, fio times the request alone.
        yield {**after, **whole} if whole.get("mean") else after


def _latency(parts: Sequence[Mapping[str, Any]], where: str) -> float | None:
    means = [found.get("mean") for found in _latencies(parts, where)]
    known = [number(mean, f"{where}: lat_ns.mean") for mean in means if mean is not None]
    return sum(known) / len(known) / 1e9 if known else None


def _latency_99(parts: Sequence[Mapping[str, Any]], where: str) -> float | None:
    """Of the thread in which it is highest: 99 % of all requests are at least as fast."""
    spreads = [table(found.get("percentile") or {}, f"{where}: percentile") for found in _latencies(parts, where)]
    known = [number(found["99.000000"], f"{where}: percentile") for found in spreads if "99.000000" in found]
    return max(known) / 1e9 if known else None


def _clients(jobs: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    return {(str(job.get("hostname")), str(job.get("port"))) for job in jobs}
