"""elbencho: command lines for reads and writes, and its results; its services run on the clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ingest.acceptance.loads import SHARED_FILES, USUAL_THREADS
from ingest.acceptance.test_spec import Load, Observed, Run
from ingest.acceptance.tools.job_files import ROUNDED, WAITING, Task, data_scripts, number, own_script, parsed, repeated, table
from ingest.errors import IngestError

#: The first whose JSON lists the settings of a run.
VERSION = "3.0.37"
#: Each client reads the data that the next one wrote.
ROTATED = """{ tail -n +2 "$HOSTS"; head -n 1 "$HOSTS"; } > "$HOSTS.rotated"
HOSTS=$HOSTS.rotated"""
#: New random contents for each write, so that no system reduces them.
RANDOM = " --blockvarpct 100"


def loads(task: Task) -> tuple[Load, ...]:
    """The load as elbencho runs it: all clients read the whole data set."""
    data = task.setting.data
    return task.loads if data is None or not task.load.on_data else task.reading(task.load, data.clients)


def job_files(task: Task) -> dict[str, str]:
    """The scripts of a test; threads share the files, as elbencho does with files given by name."""
    load, each = task.load, task.file_bytes(task.load, SHARED_FILES, task.data_clients)
    paths = f'"$TARGET/file[0-{SHARED_FILES - 1}]"'
    hosts = "" if task.rehearsal else '--hostsfile "$HOSTS" '
    common = f"elbencho {hosts}-t {load.threads} -s {each} --direct" + (f" --iodepth {load.depth}" if load.depth > 1 else "")
    # Threads repeat their files until the time limit.
    order = "--rand --infloop " if load.pattern == "random" else "--infloop "
    result = f'--label {task.ident} --lat --jsonfile "$RESULTS/{task.ident}.run$run.json"'
    letter = {"read": "-r", "write": "-w"}[load.operation]
    run = f"{common} {letter} -b {load.io_bytes} {order}--timelimit {load.seconds:.0f} {result} {paths}"
    run += RANDOM if load.operation == "write" else ""
    if not load.on_data:
        removing = f"elbencho {hosts}-t 1 -F {paths}"
        return own_script(task, "elbencho", [*repeated(task, ".json", [run], data=""), removing])
    fill = f"elbencho {hosts}-t {USUAL_THREADS} -s {each} --direct -w -b {task.fill_bytes()} --label fill.fill{RANDOM} {paths}"
    runs = repeated(task, ".json", [run], drops=True, data="")
    if task.rehearsal:
        return own_script(task, "elbencho", [fill, *runs])
    return data_scripts(task, "elbencho", "data", [fill], [ROTATED, *runs])


DATA = {"READ": "read", "WRITE": "write"}
_SWITCH = {"true": True, "1": True, "false": False, "0": False}


def read(text: str, path: str) -> list[Run] | None:
    """The runs in a JSON of elbencho, one per read or write phase; None for other files.

    It writes CSV and text with options that no script has, so that such a result counts for no test.

    Raises IngestError: the file is cut off, or without a read or write phase.
    """
    if not text.lstrip().startswith("{") or '"phase_type"' not in text:
        return None
    runs: list[Run] = []
    # Concatenated objects: elbencho appends one for each phase.
    while text := text.strip():
        phase, end = parsed(text, 0, path, "elbencho's JSON")
        phase, text = table(phase, path), text[end:]
        if str(phase.get("phase_type")) in DATA:
            config, last = (table(phase.get(name), f"{path}: {name}") for name in ("config", "last_done"))
            latencies = table(table(last.get("latency", {}), f"{path}: latency").get("IO", {}), f"{path}: latency.IO")
            runs.append(_run({**phase, **config, **last, **latencies}, path))
    if not (runs := [run for run in runs if not run.test.endswith(".fill")]):
        raise IngestError(f"{path}: found no read or write phase in elbencho's results, expected at least one")
    return runs


def _run(facts: Mapping[str, Any], path: str) -> Run:
    """The run of a phase by the names of its JSON, those of its settings, last thread and latencies among them."""

    def count(name: str) -> int | None:
        written = facts.get(name)
        return None if written in (None, "") else int(number(written, f"{path}: {name}"))

    clients, threads = count("hosts"), count("threads")
    each, paths = count("file_size"), count("paths")
    elapsed, latency = (
        None if facts.get(name) is None else number(facts[name], f"{path}: {name}") / scale
        for name, scale in (("elapsed_time_ms", 1e3), ("avg_us", 1e6))
    )
    load = Observed(
        name=str(facts.get("label", "")),
        operation=DATA[str(facts["phase_type"])],
        rate=number(facts.get("bytes/s"), f"{path}: bytes/s"),
        unit="B/s",
        pattern="random" if _SWITCH.get(str(facts.get("random_offsets")).lower()) else "sequential",
        io_bytes=count("block_size"),
        clients=clients,
        threads=threads * clients if threads and clients else None,
        seconds=elapsed,
        dataset_bytes=each * paths if each and paths else None,
        direct=_SWITCH.get(str(facts.get("direct_io")).lower()),
        latency_seconds=latency,
        depth=count("io_depth"),
        figures=tuple(number(facts[name], f"{path}: {name}") for name in ("min_us", "max_us") if name in facts),
    )
    # Milliseconds and requests per second are whole numbers: beyond that the lower of several figures counts.
    by_bytes = (count("bytes") or 0) / (load.seconds - 1e-3) if load.seconds and load.seconds > 1e-3 else 0
    by_requests = ((count("iops") or -1) + 1) * (load.io_bytes or 0)
    least = min(filter(None, (load.rate, by_bytes, by_requests)), default=load.rate)
    load = replace(load, rate=least, contradictions=tuple(_contradictions(load, facts, path)))
    version, began, command = (str(facts.get(name, "")) for name in ("version", "iso_start_date", "command"))
    return Run("elbencho", path, load.name, (load,), version, began=began, command=command)


def _contradictions(load: Observed, facts: Mapping[str, Any], path: str) -> Iterator[str]:
    """Where the figures of a phase do not agree: bytes over time, requests times their size, latency and queue."""
    if f'"-s" "{facts.get("file_size")}"' not in str(facts.get("command")):
        yield f"size of a file: found {facts.get('file_size')} B, expected that of the command line"
    moved, requests = (number(facts.get(name), f"{path}: {name}") for name in ("bytes", "iops"))
    if load.io_bytes and moved % load.io_bytes:
        yield f"bytes: found {moved:,.0f}, expected whole blocks of {load.io_bytes:,} B"
    if load.seconds and abs(load.rate - moved / load.seconds) > ROUNDED * load.rate:
        yield f"rate: found {load.rate:,.0f} B/s, expected {moved / load.seconds:,.0f} B/s of its bytes and time"
    first = table(facts.get("first_done", {}), f"{path}: first_done")
    most = number(first.get("bytes/s", load.rate), f"{path}: bytes/s") * (load.seconds or 0)
    if moved > most * (1 + ROUNDED) + (load.io_bytes or 0) * (load.threads or 0):
        yield f"bytes: found {moved:,.0f}, expected at most {most:,.0f} at the rate until the first thread was done"
    if load.latency_seconds is None and "--lat" in str(facts.get("command")):
        yield "latency: not in the result, expected that of its requests"
    spread = [number(facts[name], f"{path}: {name}") for name in ("min_us", "avg_us", "max_us") if name in facts]
    if spread != sorted(spread):
        yield f"latency: found a mean of {spread[1]:,g} us, expected from {spread[0]:,g} to {spread[-1]:,g} us"
    if load.io_bytes and abs(load.rate - requests * load.io_bytes) > ROUNDED * load.rate + load.io_bytes:
        yield f"rate: found {load.rate:,.0f} B/s, expected {requests * load.io_bytes:,.0f} B/s of its requests and their size"
    if load.latency_seconds is not None and load.threads:
        outstanding, queue = requests * load.latency_seconds, load.threads * max(load.depth or 1, 1)
        if outstanding > queue * (1 + ROUNDED):
            yield f"latency: its mean and rate take {outstanding:,.3g} outstanding requests, expected at most {queue:g}"
        elif outstanding < load.threads * WAITING[load.operation]:
            yield f"latency: its mean and rate take {outstanding:,.3g} outstanding requests, expected about {queue:g}"
