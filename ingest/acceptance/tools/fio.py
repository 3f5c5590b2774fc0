"""fio: job files, start lines and results.

Job files name no directory: fio would resolve it on the driver, and all servers of a shared file system would use the
same files. Files are in the folder where fio, or its server on a client, was started. `servers.sh` starts the servers of a
test of reads in a folder of links to the files that other clients filled, named for each number of threads: any number of
clients and threads reads all of one data set.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ingest.acceptance.loads import FILES_PER_THREAD, SHARED_FILES, SMALL_FILE, folders_of
from ingest.acceptance.service_limits import lowest_second
from ingest.acceptance.test_spec import DATA, METADATA, Load, Observed, Run
from ingest.acceptance.tools.job_files import (
    WAITING,
    Task,
    file_bytes,
    named_test,
    number,
    parsed,
    repeated,
    rows,
    script,
    table,
)
from ingest.engine.expression import total
from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.text import comment, grouped

VERSION = "3.27"
#: An open is a read of a one-page file, opened for it alone. fio's own lookups would tell of the cache of the client: it looks
#: up all files before its clock starts.
JOB_ENGINES = {"create": "filecreate", "open": "psync"}
#: Options of all jobs. fallocate would reserve files without writing them; threads of one process keep the memory of many jobs
#: small. New random contents for each write, so that no system reduces them: with fio's own seeds, all clients write the same.
SHARED: Mapping[str, object] = {
    "direct": 1,
    "thread": 1,
    "fallocate": "none",
    "unique_filename": 0,
    "refill_buffers": 1,
    "buffer_compress_percentage": 0,
    "dedupe_percentage": 0,
    "randrepeat": 0,
}
#: Reads fail where the data are missing or short; fio would write them first, and read what it has just written.
NO_LAYOUT: Mapping[str, object] = {"allow_file_create": 0}


def loads(task: Task) -> tuple[Load, ...]:
    """The loads as fio runs them: opens repeat until the time limit, creates end with their files."""
    if opened := [size * number for size, number in task.opened()]:
        return (replace(task.load, dataset_bytes=sum(opened) * task.load.threads * task.load.clients),)
    if task.load.operation != "create":
        return task.loads
    load, per_thread = task.load, task.files_per_thread(one_pass=True)
    return (replace(load, seconds=None, handled=per_thread * load.threads * load.clients),)


def job_files(task: Task) -> dict[str, str]:
    """The job file of a test, the one that fills its files, and the scripts that run both.

    Of user-supplied text, the files hold only ids and the statement, as a comment.
    """
    ident, load = task.ident, task.load
    files = {f"fio/{ident}.fio": f"{comment(f'{ident}: {task.requirement.statement}')}\n{_job(task)}"}
    name = task.data_name if task.on_data and not task.rehearsal else ident
    # The first client writes shared files; each client writes the files in its own folder.
    writers = '"$(head -n 1 "$HOSTS")"' if task.on_data and load.files == "shared" else '"$HOSTS"'
    client, filler = ("", "") if task.rehearsal else ('--client="$HOSTS" ', f"--client={writers} ")
    filling = f'fio {filler}--output=/dev/null "$here/{name}.fill.fio"'
    fill = _fill(task)
    drops = bool(fill) and not task.rehearsal
    if fill:
        files[f"fio/{name}.fill.fio"] = fill
    if drops:
        files[f"fio/fill-{name}.sh"] = script(f"fill-{name}", task.data_clients, False, [filling])
    run = f'fio {client}--output-format=json --output="$RESULTS/{ident}.run$run.json" "$here/{ident}.fio"'
    logs = f'"$RESULTS/{ident}.run$run{LOGS}"'
    kept = [f"mkdir -p {logs}", f"mv {ident}*_bw.*.log* {logs}"] if task.setting.logs_seconds and load.operation in DATA else []
    # Servers run in folders of their clients; a rehearsal runs in that of the test.
    data = ("" if task.rehearsal else "fio/*/") + (task.data_name if task.on_data else load.name)
    lines = repeated(task, ".json", [*_together(task, run), *kept], drops=drops, data=data if load.operation in DATA else None)
    body = [filling, *lines] if fill and task.rehearsal else lines
    files[f"fio/{ident}.sh"] = script(ident, load.clients, task.rehearsal, body, drops=drops)
    return files


def _together(task: Task, run: str) -> list[str]:
    """The lines of a run, which does not count where clients ran one after another: fio starts them without waiting for all."""
    load = task.load
    if task.rehearsal or load.clients == 1 or any(one.operation not in ("read", "open") for one in task.loads):
        # The end of writes and of a count of files is open.
        return [run]
    given = task.given
    if load.operation == "open":
        # Opens have no ramp, and fio looks up their files before, one after another.
        given = {**given, "ramp_seconds": 0, "files_looked_up": task.files_per_thread(one_pass=False) * load.threads}
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
    load = task.load
    if load.operation in METADATA:
        timed = {"time_based": 1, "runtime": f"{load.seconds:.0f}", **NO_LAYOUT} if load.operation == "open" else {}
        return section("global", SHARED) + section(load.name, _metadata(task) | timed)
    common = {**SHARED, "time_based": 1}
    if not task.rehearsal:
        # fio ends a thread whose pass over its files ends with the ramp: rare, but for the short passes of a rehearsal.
        common["ramp_time"] = f"{float(solve('ramp_seconds', task.given)) * 1000:.0f}ms"
    # Latencies from submission on, percentiles too.
    common |= {"runtime": f"{load.seconds:.0f}", "norandommap": 1, "lat_percentiles": 1}
    return section("global", common) + "".join(section(one.name, _data(one, task)) for one in task.loads)


def _data(load: Load, task: Task) -> dict[str, object]:
    """Options of a load; without `size` the threads of shared files end with EINVAL."""
    rw = {"random": f"rand{load.operation}", "sequential": load.operation}[load.pattern]
    engine = {"ioengine": "libaio", "iodepth": load.depth} if load.depth > 1 else {"ioengine": "psync"}
    logs = {"write_bw_log": load.name, "log_avg_msec": 1000} if task.setting.logs_seconds else {}
    data, after = task.setting.data, NO_LAYOUT
    if load.operation == "write" and load.on_data:
        # Blocks of files that are there are written over, by all threads of all clients.
        placed, after = _filled(load, task), {**NO_LAYOUT, "end_fsync": 1}
    elif load.operation == "write":
        placed, after = _files(load.name, load, 1, task.file_bytes(load, load.threads)), {"end_fsync": 1, "unlink": 1}
    elif load.files == "shared" or data is None:
        placed = _filled(load, task)
    else:
        count = int(folders_of(load, data.clients, data.files)["files_of_thread"])
        placed = _files(f"{task.data_name}-{load.threads}", load, count, task.file_bytes(load, data.files))
        if load.pattern == "sequential" and count > FILES_PER_THREAD:
            # At random, fio reads from the files that it holds open and from no other: a limit would leave data unread.
            placed["openfiles"] = FILES_PER_THREAD
    return {"rw": rw, "bs": load.io_bytes, **engine, "numjobs": load.threads, **placed, **after, **logs}


def _filled(load: Load, task: Task) -> dict[str, object]:
    """Names and sizes of the files as they are filled."""
    data = task.setting.data
    # In a rehearsal each load has its own files.
    name = load.name if data is None else task.data_name
    if load.files != "shared":
        count = FILES_PER_THREAD * load.threads if data is None else data.files
        return _files(name, load, FILES_PER_THREAD, task.file_bytes(load, count))
    # By name: of a format without the number of the thread, fio gives all files to the first thread and ends the others.
    names = {"filename": ":".join(f"{name}.{number}" for number in range(SHARED_FILES))}
    placed = _files(name, load, SHARED_FILES, task.file_bytes(load, SHARED_FILES, task.data_clients))
    return names | {key: value for key, value in placed.items() if key != "filename_format"}


def _files(name: str, load: Load, count: int, each: int) -> dict[str, object]:
    """Files of which each thread has its own."""
    return {
        "filename_format": f"{name}.$jobnum.$filenum",
        "nrfiles": count,
        "filesize": each,
        "size": each * count,
        "file_service_type": "random" if load.pattern == "random" else "sequential",
    }


def _metadata(task: Task) -> dict[str, object]:
    load = task.load
    count = task.files_per_thread(one_pass=load.operation != "open")
    options: dict[str, object] = {"ioengine": JOB_ENGINES[load.operation], "numjobs": load.threads}
    options |= {"filename_format": f"{load.name}.$jobnum.$filenum", "nrfiles": count, "filesize": SMALL_FILE}
    if load.operation != "open":
        # A file that an earlier run left would be opened and counted as created.
        return options | {"unlink": 1}
    # Files of several sizes are in order of size: at random, each thread opens them as they are mixed.
    order = {"file_service_type": "random"} if task.requirement.conditions.mix else {}
    return options | {"rw": "read", "bs": SMALL_FILE, "openfiles": 1, "size": SMALL_FILE * count, **order}


def path_job(name: str, total: int, seconds: float, io_bytes: int, threads: int, direct: bool) -> str:
    """The job of a path measurement: `fill` a file of each thread, so many bytes in all, `write` over them, or `read` them."""
    given = {"aligned_io_bytes": io_bytes, "fill_request_bytes": io_bytes, "smallest_fill_request": io_bytes}
    each = file_bytes(given, threads, total)
    how: dict[str, object] = {**SHARED, "direct": int(direct), "ioengine": "psync", "numjobs": threads}
    how |= {"filename_format": "file.$jobnum", "nrfiles": 1, "filesize": each, "size": each, "bs": io_bytes}
    how |= {"rw": "randread", "norandommap": 1, "invalidate": 1} if name == "read" else {"rw": "write"}
    how |= {"time_based": 1, "runtime": f"{seconds * 1000:.0f}ms"} if name != "fill" else {}
    return section("global", how | ({"end_fsync": 1} if name != "read" else {})) + section(name, {})


def _fill(task: Task) -> str:
    """The job that writes the files of a test of reads, overwrites or opens; empty for other tests."""
    data = task.setting.data
    if not task.on_data and task.load.operation != "open":
        return ""
    if task.load.operation == "open":
        written = {**_metadata(task), "rw": "write", "file_service_type": "sequential"}
        # The first files of each thread are written over, and grow, until each size has its share.
        sizes, numbers = zip(*task.opened(), strict=True) if task.opened() else ((), ())
        left = [sum(numbers[place:]) for place in range(len(numbers))]
        sections = [
            {**written, "nrfiles": number, "filesize": size, "bs": size, "size": size * number, "stonewall": 1}
            for size, number in zip(sizes, left, strict=True)
        ] or [written]
    else:
        # Outside a rehearsal all loads read the files of one data set.
        # In a rehearsal the files of each load are whole requests of its own fill; fio would leave out the rest of others.
        common = {"ioengine": "psync", "rw": "write", "file_service_type": "sequential"}
        jobs = [(one, one.threads if data is None else data.files // FILES_PER_THREAD) for one in task.on_data]
        sections = [
            {
                **_filled(one, task),
                **common,
                "bs": task.fill_bytes(*(() if data else (one,))),
                "numjobs": 1 if one.files == "shared" else number,
            }
            for one, number in (jobs if data is None else jobs[:1])
        ]
    return section("global", SHARED) + "".join(section("fill", one) for one in sections)


def section(name: str, options: Mapping[str, object]) -> str:
    """A section of a job file."""
    return f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in options.items()) + "\n"


#: Suffix of the folder next to a result that has the bandwidth logs of its run.
LOGS = ".bw"
#: The total that a driver appends to its clients; counting it would double every rate.
SUM = "All clients"


def read(text: str, path: str) -> list[Run] | None:
    """The run in a result file of fio; None for other files. Raises IngestError: the file is cut off, or without a job."""
    # Clients print warnings before and after the object.
    start = re.search(r"^\{\s*\"fio version\"", text, re.MULTILINE)
    if start is None:
        return None
    found, _ = parsed(text, start.start(), path, "fio's JSON")
    jobs = rows(found.get("jobs", found.get("client_stats")), f"{path}: jobs")
    sums = [job for job in jobs if job.get("jobname") == SUM]
    jobs = [job for job in jobs if job.get("jobname") != SUM]
    if not jobs:
        raise IngestError(f"{path}: found no job in fio's JSON, expected at least one (did the clients refuse the job file?)")
    shared = table(found.get("global options", {}), f"{path}: global options")
    groups = grouped((str(job.get("jobname")), job) for job in jobs)
    loads = tuple(_load(name, group, shared, f"{path}: {name}", path) for name, group in groups.items())
    unlike: list[str] = []
    for whole, way, key in ((one, way, key) for one in sums for way in DATA for key in ("io_bytes", "total_ios")):
        parts = [number(table(job.get(way, {}), path).get(key, 0), f"{path}: {key}") for job in jobs]
        stated = number(table(whole.get(way, {}), path).get(key, 0), f"{path}: {key}")
        if stated != sum(parts):
            unlike.append(f"{way} {key}: found {sum(parts):,.0f} of all threads, expected {stated:,.0f}, the sum of the driver")
    test = next(filter(None, (named_test(load.name, "fio") for load in loads)), "")
    remarks = (*loads[0].remarks, *_undone(found, jobs, loads, path))
    loads = (replace(loads[0], contradictions=(*loads[0].contradictions, *unlike), remarks=remarks), *loads[1:])
    version, began = str(found["fio version"]).removeprefix("fio-"), str(found.get("timestamp_ms", found.get("timestamp", "")))
    hosts = tuple(sorted({str(job["hostname"]) for job in jobs if "hostname" in job}))
    clocks = (str(found.get("timestamp", "")), str(found.get("time", "")))
    return [Run("fio", path, test, loads, version, began=began, hosts=hosts, clocks=clocks)]


def sections(text: str) -> dict[str, dict[str, str]]:
    """The options of each job of a job file, those of its global section among them."""
    found: dict[str, dict[str, str]] = {}
    own: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            own = found.setdefault(line.strip("[]"), {})
        elif not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            own[key] = value
    shared = found.pop("global", {})
    return {name: {**shared, **options} for name, options in found.items()}


def _load(name: str, jobs: Sequence[Mapping[str, Any]], shared: Mapping[str, Any], where: str, path: str) -> Observed:
    """The load of one group: an entry for each thread, or one for all of a client where it reports them together."""
    options = {**shared, **next((job["job options"] for job in jobs if isinstance(job.get("job options"), dict)), {})}
    parts = {way: [table(job.get(way), f"{where}: {way}") for job in jobs] for way in ("write", "read")}

    def values(way: str, key: str) -> list[float]:
        return [number(part.get(key, 0), f"{where}: {way}.{key}") for part in parts[way]]

    direction = "write" if sum(values("write", "total_ios")) else "read"
    moving, requests, moved = parts[direction], sum(values(direction, "total_ios")), sum(values(direction, "io_bytes"))
    engine = "create" if options.get("ioengine") == "filecreate" else ""
    metadata = engine or ("open" if str(options.get("openfiles")) == "1" else "")
    # A thread that ended early would pass for a slow one; the threads of a pass over files end as they finish.
    ends = values(direction, "runtime")
    seconds = (max(ends) if metadata else min(ends)) / 1000
    depth = int(number(options.get("iodepth", 1), f"{where}: iodepth"))
    files = {"files_handled": requests, "measured_seconds": seconds or 1e-3}
    stated = [number(part.get("bw_bytes"), f"{where}: bw_bytes") for part in moving]
    # Milliseconds are whole numbers: beyond that the lower of two figures counts, and no less than the time of the job.
    least = str(options.get("runtime", "")) if options.get("time_based") else ""
    ends = [max(spent - 1, int(least) * 1000) if least.isdigit() else spent - 1 for spent in ends]
    timed = zip(stated, ends, values(direction, "io_bytes"), strict=True)
    rates = [min(rate, done / spent * 1000) if spent > 0 and done else rate for rate, spent, done in timed]
    names = [(str(job.get("hostname")), str(job.get("port"))) for job in jobs]
    clients = [sum(some) for some in grouped(zip(names, rates, strict=True)).values()]
    pace = {"slowest_client_rate": min(clients), "mean_client_rate": statistics.fmean(clients)}
    # One entry for each thread, unless group reporting sums them.
    summed = "group_reporting" in options
    threads = len(clients) * int(number(options.get("numjobs", 1), f"{where}: numjobs")) if summed else len(jobs)
    mixed = direction == "write" and sum(values("read", "total_ios")) > 0
    rw = str(options.get("rw", options.get("readwrite", "")))
    size = str(options.get("size", ""))
    of_all = "filename" in options or "$jobnum" not in str(options.get("filename_format", "$jobnum"))
    kinds = sorted({str(job.get("error", 0)) for job in jobs} - {"0"})
    counted = sum(int(number(job.get("total_err", 0), f"{where}: total_err")) for job in jobs)
    # Requests that returned fewer bytes than asked for, or none, are no requests of the stated size.
    cut = int(sum(sum(values(way, key)) for way in parts for key in ("short_ios", "drop_ios")))
    faults = [f"{count} {what}" for count, what in ((counted, "errors"), (cut, "requests cut short or dropped")) if count]
    latency, latency_99 = _latencies(moving, where)
    recorded: list[Mapping[str, str] | None] = []
    for job in jobs:
        own = job.get("job options")
        one = {str(key): str(value) for key, value in {**shared, **own}.items()} if isinstance(own, dict) else None
        if one not in recorded:
            recorded.append(one)
    each = [(entry, rate, threads / len(jobs), depth) for entry, rate in zip(moving, stated, strict=True)]
    told = [text for one in each for text in _contradictions(*one, "" if metadata else direction, where)]
    if not metadata and not mixed:
        told += [text for job, part in zip(jobs, moving, strict=True) for text in _binned(job, part, where)]
    if least.isdigit() and (
        early := [spent for spent in values(direction, "runtime") if spent < int(least) * 1000 * (1 - EARLY)]
    ):
        told.append(f"runtime: found {early[0]:,.0f} ms, expected at least the {least} s of the job")
    # One of a kind: each thread has its own figures.
    unlike = {text.partition(":")[0]: text for text in reversed(told)}
    spreads = Counter(json.dumps([part.get("total_ios"), part.get("lat_ns"), part.get("clat_ns")]) for part in moving)
    copied = len(moving) - len(spreads)
    remarks = [f"{copied} threads have the figures of another one to the last digit"] * (copied > 0)
    slept = total([number(job["ctx"], f"{where}: ctx") for job in jobs if "ctx" in job])
    if not metadata and not mixed and slept < requests / depth * SLEPT and all("ctx" in job for job in jobs):
        remarks.append(f"{slept:,.0f} context switches for {requests:,.0f} requests, as of a cache, memory or holes in files")
    drawn = total([number(job["usr_cpu"], where) * number(job["job_runtime"], where) / 1e5 for job in jobs if "usr_cpu" in job])
    if direction == "write" and not metadata and all("usr_cpu" in job for job in jobs) and drawn + TICKS < moved / DRAWN:
        remarks.append(f"{drawn:.3g} s of processors for {moved / 1e9:,.3g} GB of new contents, as of buffers that repeat")
    spread = [table(part.get(key, {}), f"{where}: {key}") for part in moving for key in ("lat_ns", "clat_ns")]
    figures = [number(one.get(key, 0), where) for one in spread for key in ("mean", "max", "stddev")]
    lacking = [key for key in ("ctx", "usr_cpu") if not metadata and any(key not in job for job in jobs)]
    remarks += [f"no {' and no '.join(lacking)} in the result, which fio writes"] * bool(lacking)
    bins = [_bins(job, where) for job in jobs]
    if not metadata and not all(bins):
        remarks.append("no histogram of latencies in the result")
    shares = [share for one in bins for share, *_ in one if LEAST_BIN < share < 1]
    # The name is that of a result: a pattern of it would match others.
    logs = sorted(one for one in Path(path).with_suffix(LOGS).glob("*_bw.*.log*") if one.name.startswith(f"{name}_bw."))
    return Observed(
        name=name,
        operation="read and write" if mixed else metadata or direction,
        rate=float(solve("measured_file_rate", files) if metadata else total(rates)),
        unit="file/s" if metadata else "B/s",
        pattern=None if metadata or not rw else ("random" if rw.startswith("rand") else "sequential"),
        # From its totals: a driver drops the options of all jobs but the first.
        io_bytes=float(solve("mean_request_bytes", {"transferred_bytes": moved, "transferred_requests": requests}))
        if requests and metadata in ("", "open")
        else None,
        clients=len(clients),
        threads=threads,
        handled=requests if metadata else None,
        seconds=seconds,
        dataset_bytes=int(size) * (1 if of_all else threads) if size.isdigit() else None,
        direct=str(options.get("direct", "0")) == "1",
        errors=", ".join([f"error {kind}" for kind in kinds] or faults),
        depth=depth if rw else None,
        latency_seconds=latency,
        latency_99=latency_99,
        # From the bandwidth logs next to a result, if there is one of each thread.
        lowest_second=lowest_second(logs, seconds) if len(logs) == len(jobs) else None,
        slowest_client=float(solve("slowest_client_share", pace)) if len(clients) > 1 and any(clients) else None,
        recorded=tuple(recorded),
        contradictions=tuple(unlike.values()),
        remarks=tuple(remarks),
        figures=(*figures, *shares),
    )


def _undone(found: Mapping[str, Any], jobs: Sequence[Mapping[str, Any]], loads: Sequence[Observed], path: str) -> Iterator[str]:
    """Where the disks below the files, which fio lists for local file systems, saw fewer requests than its jobs made."""
    data = {load.name: load.seconds or 0 for load in loads if load.operation in DATA}
    disks = rows(found.get("disk_util", []), f"{path}: disk_util")
    yield from (f"the disk is {disk['name']}, of memory or a file" for disk in disks if OF_MEMORY.match(str(disk.get("name"))))
    clients, listed = ({str(one.get("hostname")) for one in some} for some in (jobs, disks))
    for way in DATA if data and listed == clients else ():
        made = sum(
            number(table(job.get(way, {}), path).get("total_ios", 0), path) for job in jobs if job.get("jobname") in data
        )
        seen = sum(number(disk.get(f"{way}_{kind}", 0), f"{path}: disk_util") for disk in disks for kind in ("ios", "merges"))
        if seen < made * SEEN * (1 - LATE_DISKS / max(*data.values(), LATE_DISKS)):
            yield f"the disks saw {seen:,.0f} {way} requests of {made:,.0f}, as of a cache, memory or holes in files"


#: Share by which figures that fio rounds may differ, and by which requests at both ends of a run may exceed Little's law.
ROUNDED, LITTLE = 0.02, 0.05
#: Share by which a timed thread may end early: no thread of an honest run does, but for a millisecond.
EARLY = 0.01
#: Least share of requests, over the queue of a thread, for which it sleeps: a client in user space may poll, so that fewer
#: are a remark. Runs with fio 3.33 on a local disk have from 1.0.
SLEPT = 0.9
#: Least share of the requests that disks see; fio reads their counters four times a second, and not at the end (seconds).
SEEN, LATE_DISKS = 0.75, 0.5
#: Names of disks that are memory or a file.
OF_MEMORY = re.compile(r"z?ram\d|loop\d|nullb\d|pmem\d")
#: New random contents that one processor makes at most, B/s, beside the seconds that its clock cuts off: fio 3.33 makes 2 to 5
#: GB/s on one of 2023, and with buffers that are filled once writes 17 GB for each second of it.
DRAWN, TICKS = 15e9, 0.02
#: Share of the requests below which fio rounds a bin up.
LEAST_BIN = 1e-4
#: Half the width of the bins of percentiles, and requests by which a share of all may miss a whole number.
STEP, BESIDE_BIN = 1 / 128, 0.05
#: Factor by which the mean rate may exceed the highest rate of the samples, and the least samples of a thread that say so:
#: honest runs of 2 s with three of them exceeded it by 1.65.
SAMPLED, LEAST_SAMPLES = 1.5, 10


def _contradictions(part: Mapping[str, Any], rate: float, threads: float, depth: int, way: str, where: str) -> Iterator[str]:
    """Where the figures of an entry do not agree: bytes and requests over time, and latencies with its outstanding requests.

    Latencies of opens and creates leave out work of the thread, so that theirs have no lower bound (`way` is empty).
    """

    def value(key: str, of: Mapping[str, Any] = part) -> float:
        return number(of.get(key, 0), f"{where}: {key}")

    queue = threads * depth
    seconds, requests, moved = value("runtime") / 1000, value("total_ios"), value("io_bytes")
    if not seconds or not requests:
        return
    if abs(rate - moved / seconds) > ROUNDED * rate + 1024:
        yield f"rate: found {rate:,.0f} B/s, expected {moved / seconds:,.0f} B/s of its bytes and time"
    if "iops" in part and abs(value("iops") - requests / seconds) > ROUNDED * value("iops") + 1:
        yield f"iops: found {value('iops'):,.0f}, expected {requests / seconds:,.0f} of its requests and time"
    highest = SAMPLED * value("bw_max") * 1024
    if value("bw_samples") >= LEAST_SAMPLES * threads and rate > highest + 1024:
        yield f"rate: found {rate:,.0f} B/s, expected at most {highest:,.0f} B/s, {SAMPLED:g} times its highest sample"
    whole, after = (table(part.get(key, {}), f"{where}: {key}") for key in ("lat_ns", "clat_ns"))
    spread = whole if whole.get("mean") else after
    mean, most = value("mean", spread) / 1e9, value("max", spread) / 1e9
    if not mean:
        yield "latency: not in the result, expected that of its requests"
        return
    if value("N", spread) and abs(value("N", spread) - requests) > ROUNDED * requests + queue:
        yield f"requests: found {requests:,.0f}, expected {value('N', spread):,.0f}, the number of latencies"
    outstanding = requests * mean / seconds
    if (requests - queue) * mean / seconds > queue * (1 + LITTLE):
        yield f"latency: its mean and rate take {outstanding:,.3g} outstanding requests, expected at most {queue:g}"
    elif outstanding < threads * WAITING.get(way, 0):
        yield f"latency: its mean and rate take {outstanding:,.3g} outstanding requests, expected about {queue:g}"
    yield from _spread(spread, mean, most, where)


def _spread(spread: Mapping[str, Any], mean: float, most: float, where: str) -> Iterator[str]:
    """Where a mean latency does not lie between the bounds that its percentiles and its maximum set."""
    found = table(spread.get("percentile") or {}, f"{where}: percentile").items()
    steps = sorted((number(name, where) / 100, number(limit, where) / 1e9) for name, limit in found)
    if not most:
        return
    before = [(0.0, number(spread.get("min", 0), f"{where}: min") / 1e9), *steps]
    parts = [(share - least, start, end) for (least, start), (share, end) in zip(before, [*steps, (1.0, most)], strict=True)]
    # The middles of 64 bins for each power of two.
    widths = {number(limit, where): 1 << max(int(number(limit, where)).bit_length() - 7, 0) for _, limit in found}
    odd = [limit for limit, width in widths.items() if width > 1 and limit % width != width // 2]
    if odd:
        yield f"percentile: found {odd[0]:,.0f} ns, expected one of the bins in which fio counts latencies"
    if steps and steps[-1][1] > most * (1 + ROUNDED):
        yield f"latency: found a percentile of {steps[-1][1]:.3g} s above the maximum of {most:.3g} s"
    else:
        yield from _outside(mean, parts, "its percentiles and maximum")


def _bins(job: Mapping[str, Any], where: str) -> list[tuple[float, float, float]]:
    """The bins of a histogram that have requests: their share, and their least and largest latency, s.

    A share that fio rounds up may be of one request in millions, which adds nothing to the least mean.
    """
    parts, start = list[tuple[float, float, float]](), 0.0
    for key, unit in (("latency_ns", 1e-9), ("latency_us", 1e-6), ("latency_ms", 1e-3)):
        for edge, percent in table(job.get(key) or {}, f"{where}: {key}").items():
            end = float(edge) * unit if edge.isdigit() else math.inf
            if share := number(percent, f"{where}: {key}") / 100:
                parts.append((share, start * (share > LEAST_BIN), end))
            start = end
    return parts


def _binned(job: Mapping[str, Any], part: Mapping[str, Any], where: str) -> Iterator[str]:
    """Where the histogram of an entry does not hold its mean latency, its percentiles, or whole requests."""
    parts, after = _bins(job, where), table(part.get("clat_ns") or {}, f"{where}: clat_ns")
    mean, requests = number(after.get("mean", 0), f"{where}: clat_ns.mean") / 1e9, number(part.get("total_ios", 0), where)
    if not mean or abs(sum(share for share, *_ in parts) - 1) >= ROUNDED:
        return
    yield from _outside(mean, parts, "its histogram")
    # fio writes six digits after the point of a percentage.
    counts = [share * requests for share, *_ in parts if share > LEAST_BIN]
    odd = [count for count in counts if abs(count - round(count)) > 1e-8 * requests + BESIDE_BIN]
    if odd:
        yield f"histogram: found {odd[0]:,.2f} of {requests:,.0f} requests in a bin, expected a whole number"
    for name, limit in table(after.get("percentile") or {}, f"{where}: percentile").items():
        share, seconds = number(name, where) / 100, number(limit, where) / 1e9
        least = sum(part for part, _, end in parts if end <= seconds * (1 - STEP))
        most = sum(part for part, start, _ in parts if start < seconds * (1 + STEP))
        if not least - ROUNDED <= share <= most + ROUNDED:
            yield f"histogram: found {least:.2%} to {most:.2%} within {seconds:.3g} s, expected the {share:.2%} of a percentile"
            return


def _outside(mean: float, parts: Sequence[tuple[float, float, float]], of: str) -> Iterator[str]:
    """Where a mean latency does not lie within what parts of the requests allow: a share, and its least and largest latency."""
    low, high = (sum(part[0] * part[end] for part in parts) for end in (1, 2))
    if not low / (1 + ROUNDED) <= mean <= high * (1 + ROUNDED):
        yield f"latency: found a mean of {mean:.3g} s, expected one from {low:.3g} to {high:.3g} s of {of}"


def _latencies(parts: Sequence[Mapping[str, Any]], where: str) -> tuple[float | None, float | None]:
    """The mean of all requests, and the 99 % latency of the thread in which it is highest: 99 % of all are at least as fast.

    Threads count by their requests: a slow one makes few of them.
    """
    means, weights, slowest = [], [], []
    for part in parts:
        # From submission on; older results have percentiles of the time after it, and of creates fio times the request alone.
        whole, after = (table(part.get(key, {}), f"{where}: {key}") for key in ("lat_ns", "clat_ns"))
        found = {**after, **whole} if whole.get("mean") else after
        spread = table(found.get("percentile") or {}, f"{where}: percentile")
        if found.get("mean") is not None:
            means.append(number(found["mean"], f"{where}: lat_ns.mean"))
            weights.append(number(part.get("total_ios", 1), f"{where}: total_ios"))
        if "99.000000" in spread:
            slowest.append(number(spread["99.000000"], f"{where}: percentile"))
    mean = statistics.fmean(means, weights if any(weights) else None) / 1e9 if means else None
    return mean, max(slowest) / 1e9 if slowest else None
