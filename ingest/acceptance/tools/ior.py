"""IOR: command lines for reads and writes, and its results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ingest.acceptance.test_spec import Load, Observed, Run
from ingest.acceptance.tools.job_files import (
    ROUNDED,
    Task,
    data_scripts,
    elsewhere,
    errors_in,
    group,
    launch,
    named_test,
    number,
    own_script,
    repeated,
    unlike_span,
)
from ingest.engine.registry import solve
from ingest.errors import IngestError, listed

#: The first with minTimeDuration, which repeats a file for the whole duration.
VERSION = "4.0.0"


def loads(task: Task) -> tuple[Load, ...]:
    """The load as IOR runs it: it has no asynchronous requests, so each outstanding request takes a process."""
    load = replace(task.load, threads=task.load.threads * task.load.depth, depth=1)
    data = task.setting.data
    if not load.on_data or data is None:
        return (load,)
    # A shared file is read whole, other files by as many processes as filled them.
    return task.reading(load, data.clients if load.files == "shared" else load.clients)


def job_files(task: Task) -> dict[str, str]:
    """The scripts of a test; standard error goes to the results, because IOR prints a rate in spite of errors."""
    ident, load = task.ident, task.load
    # A shared file has one segment per task: sizes are those of one file per task.
    kept = "-F -g -b" if load.files != "shared" else "-g -b"
    common = f"-a POSIX {kept} {task.file_bytes(load, load.threads)} -s 1 --posix.odirect -l random"
    timed = f"-D {load.seconds:.0f} -O minTimeDuration={load.seconds:.0f}"
    output = f'>> "$RESULTS/{ident}.run$run.txt" 2>&1'
    label = f'echo "# {ident}" > "$RESULTS/{ident}.run$run.txt"'
    start = launch("ior", load.clients, load.threads, task.rehearsal)
    if not load.on_data:
        run = f'$LAUNCH ior {common} -o "$TARGET/{ident}" -w -e -t {load.io_bytes} {timed} {output}'
        return own_script(task, "ior", [start, *repeated(task, ".txt", [label, run], data="")])
    name = task.data_name if task.rehearsal or load.files == "shared" else f"data-{load.threads}"
    order = "-z " if load.pattern == "random" else ""
    fill = f'$LAUNCH ior {common} -k -o "$TARGET/{name}" -w -e -t {task.fill_bytes()}'
    # -E: over the blocks of the file that is there. IOR deals random blocks of a shared file out anew and refuses -C there.
    others = "-r" if load.files == "shared" and order else "-r -C"
    how = others if load.operation == "read" else "-w -E -e"
    run = f'$LAUNCH ior {common} -k -o "$TARGET/{name}" {how} {order}-t {load.io_bytes} {timed} {output}'
    runs = repeated(task, ".txt", [label, run], drops=True, data="")
    if task.rehearsal:
        return own_script(task, "ior", [start, fill, *runs])
    return data_scripts(task, "ior", name, [launch("ior", task.data_clients, load.threads, False), fill], [start, *runs])


#: figure of a run -> column of IOR's table
COLUMNS = {"access": "access", "bwMiB": "bw(MiB/s)", "iops": "IOPS", "blockKiB": "block(KiB)", "xferKiB": "xfer(KiB)",
           "wrRdTime": "wr/rd(s)", "totalTime": "total(s)"}  # fmt: skip
#: option of the command line -> how IOR prints it
ECHOED = {"a": "api", "o": "test filename", "D": "stonewallingTime", "s": "segments"}


def read(text: str, path: str) -> list[Run] | None:
    """The runs in a text of IOR, one per repetition; None for other files, its JSON among them: no script asks for it.

    Raises IngestError: the file is cut off.
    """
    if not re.search(r"^IOR-\S+: MPI Coordinated Test", text, re.MULTILINE):
        return None
    pairs = re.findall(r"^([A-Za-z ]{2,22}?)[ \t]*: (.*)$", text, re.MULTILINE)
    options, results = {name.strip(): value.strip() for name, value in pairs}, _rows(text, path)
    command, version = options.get("Command line", ""), group(r"^IOR-(\S+):", text)
    # The script names the test in front of the output: several tests read the same files.
    test = named_test(command, "ior") or named_test("\n".join(re.findall(r"^# T-\S+-ior$", text, re.MULTILINE)), "ior")
    began, errors = options.get("Began", ""), errors_in(text)
    loads = [_observed(result, options, command, test, errors, f"{path}: IOR") for result in results]
    told = [one for option, name in ECHOED.items() for one in elsewhere(command, option, options.get(name), name)]
    told += [f"{name}: not in the result" for name in ECHOED.values() if name not in options]
    told += unlike_span(began, options.get("Finished", ""), sum(load.seconds or 0 for load in loads))
    told += _summed(text, results, path)
    if re.search(r"Stat\(\) of aggregate file size\s+= 0$", text, re.MULTILINE):
        told.append("bytes: found none in the files, expected those that were moved")
    if (placed := options.get("clients per node", "")).isdigit() and int(placed) * (loads[0].clients or 0) != loads[0].threads:
        told.append(f"clients per node: found {placed}, expected {loads[0].threads} tasks on {loads[0].clients} nodes")
    loads = [replace(load, contradictions=(*load.contradictions, *told)) for load in loads]
    hosts = tuple(options.get("Machine", "").split()[1:2])
    run = Run("ior", path, test, (), version, began=began, command=command, hosts=hosts, clocks=(options.get("StartTime", ""),))
    return [replace(run, loads=(load,)) for load in loads]


def _summed(text: str, results: Sequence[Mapping[str, Any]], path: str) -> Iterator[str]:
    """Where the summary below IOR's table states another highest rate, or other bytes than the rate of one run moves (MiB)."""
    way, table = results[0]["access"], text.partition("Summary of all tests:")[2]
    names, row = (group(rf"^({word}\s.*)$", table).split() for word in ("Operation", way))
    cells = dict(zip(names, row, strict=False))
    if len(names) != len(row) or not {"#Tasks", "aggs(MiB)"} < cells.keys():
        yield "summary: not in the result"
        return
    rates = [number(one["bwMiB"], f"{path}: bandwidth") for one in results if one["access"] == way]
    block, size, whole = (number(results[0][name], f"{path}: {name}") for name in ("blockKiB", "xferKiB", "totalTime"))
    stated = [("rate", "MiB/s", max(rates), row[1]), ("lowest rate", "MiB/s", min(rates), row[2]),
              ("rate", "requests/s", max(rates) * 1024 / max(size, 1e-9), row[5])]  # fmt: skip
    if len(results) == 1:
        # IOR warns of the bytes where they are not those of the files.
        moved = group(r"actual aggregate bytes moved = (\d+)", text)
        if moved and size.is_integer() and int(moved) % (size * 1024):
            yield f"bytes: found {moved} B moved, expected whole requests of {size:g} KiB"
        held = float(moved) / 2**20 if moved else block * number(cells["#Tasks"], f"{path}: tasks") / 1024
        stated += [("bytes", "MiB", rates[0] * whole, cell) for cell in (cells["aggs(MiB)"], f"{held:.1f}")]
    for name, unit, found, cell in stated:
        if abs(found - number(cell, f"{path}: summary")) > ROUNDED * found + 1:
            yield f"{name}: found {found:,.2f} {unit}, expected the {cell} {unit} of its summary"


def _rows(text: str, path: str) -> Sequence[Mapping[str, Any]]:
    """The lines of IOR's table, by their figures."""
    header = re.search(r"^access\s+bw\(MiB/s\).*$", text, re.MULTILINE)
    lines = re.findall(r"^(?:read|write)\s+[\d.].*$", text[header.start() :], re.MULTILINE) if header else []
    if header is None or not lines:
        raise IngestError(f"{path}: found IOR's output without a result, expected all of it")
    columns = header[0].split()
    if absent := [column for column in COLUMNS.values() if column not in columns]:
        raise IngestError(f"{path}: found IOR's table without the column {listed(absent)}")
    cells = [dict(zip(columns, line.split(), strict=False)) for line in lines if len(line.split()) == len(columns)]
    if not cells:
        raise IngestError(f"{path}: found IOR's table cut off, expected {len(columns)} columns")
    return [{key: cell.get(column) for key, column in COLUMNS.items()} for cell in cells]


def _observed(
    result: Mapping[str, Any], options: Mapping[str, Any], command: str, test: str, errors: str, where: str
) -> Observed:
    nodes = int(number(options.get("nodes", 1), f"{where}: nodes"))
    tasks = int(number(options.get("tasks"), f"{where}: tasks"))
    segments = number(options.get("segments", 1), f"{where}: segments")
    sizes = {name: number(result.get(name), f"{where}: {name}") for name in ("blockKiB", "xferKiB")}
    dataset = {"block_kibibytes": sizes["blockKiB"], "segments_of_a_task": segments, "tasks": tasks}
    mebibytes = number(result.get("bwMiB"), f"{where}: bandwidth")
    requests, moving, whole = (number(result[name], f"{where}: {name}") for name in ("iops", "wrRdTime", "totalTime"))
    told = _contradictions(mebibytes, sizes["xferKiB"], requests, moving, whole)
    # Beyond what IOR rounds the lower of several figures counts.
    by_requests = (requests + 0.01) * (moving + 0.01) * sizes["xferKiB"] / max(whole - 0.01, 0.01) / 1024
    mebibytes = min(mebibytes, by_requests)
    return Observed(
        name=test,
        operation=str(result["access"]),
        rate=float(solve("bandwidth_from_mebibytes", {"reported_mebibytes_per_second": mebibytes})),
        unit="B/s",
        pattern="random" if options.get("ordering in a file") == "random" else "sequential",
        io_bytes=float(solve("bytes_from_kibibytes", {"reported_kibibytes": sizes["xferKiB"]})),
        clients=nodes,
        threads=tasks,
        seconds=moving,
        dataset_bytes=float(solve("bytes_of_all_tasks", dataset)),
        direct="--posix.odirect" in command or "useO_DIRECT=1" in command,
        # Another node reads the data, which exceed the memory of each node.
        cold=nodes > 1 and bool(re.search(r"(^| )-[A-Za-z]*[CZ]", command)),
        errors=errors,
        contradictions=tuple(told),
    )


def _contradictions(mebibytes: float, kibibytes: float, requests: float, moving: float, whole: float) -> Iterator[str]:
    """Where the rate of all phases and the requests of the transfer phase move unlike numbers of bytes.

    The latency that IOR prints is none of its requests: in runs of a least duration it is that of one pass over the blocks.
    """
    by_rate, by_requests = mebibytes * whole * 1024, requests * moving * kibibytes
    if abs(by_rate - by_requests) > ROUNDED * by_requests:
        yield f"bytes: found {by_rate:,.0f} KiB by rate and time, expected {by_requests:,.0f} KiB by requests and their size"
    if moving > whole * (1 + ROUNDED):
        yield f"time: found {moving:g} s of transfers, expected at most the {whole:g} s of all phases"
