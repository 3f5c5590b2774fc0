"""mdtest: command lines for creates, opens and stats of files, and its results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from ingest.acceptance.test_spec import Load, Observed, Run
from ingest.acceptance.tools.job_files import Task, errors_in, group, launch, named_test, number, own_script, repeated
from ingest.engine.registry import solve
from ingest.errors import IngestError

VERSION = "4.0.0"
#: Every test needs the create phase before its own, and the remove phase after it.
PHASES = {"create": "-C -r", "stat": "-C -T -r", "open": "-C -E -r -w {io_bytes} -e {io_bytes}"}


def loads(task: Task) -> tuple[Load, ...]:
    """The loads as mdtest runs them: at the required rate, its passes over the files last for the duration of the line."""
    load, per_thread = task.load, task.files_per_thread(one_pass=False) * _passes(task)
    return (replace(load, seconds=None, handled=per_thread * load.threads * load.clients),)


def _passes(task: Task) -> int:
    return 1 if task.rehearsal else int(solve("metadata_passes", task.given))


def job_files(task: Task) -> dict[str, str]:
    """The script of a test."""
    ident, load = task.ident, task.load
    phases = PHASES[load.operation].format(io_bytes=load.io_bytes)
    # Each rank works on files of the next client, which are not in its own cache.
    stride = f"-N {load.threads} " if load.clients > 1 else ""
    folder = "" if load.files == "shared" else "-u "
    size = f"-n {task.files_per_thread(one_pass=False)} -i {_passes(task)}"
    run = f'$LAUNCH mdtest -F {phases} {size} {stride}{folder}-d "$TARGET/{ident}" > "$RESULTS/{ident}.run$run.txt" 2>&1'
    return own_script(task, "mdtest", [launch(load.clients, load.threads, task.rehearsal), *repeated(task, ".txt", [run])])


_LAUNCHED = re.compile(r"(?<!\S)mdtest-(\S+) was launched with (\d+) total task\(s\) on (\d+) node\(s\)")
_RATE = re.compile(r"^[ \t]*File (creation|stat|read)[ \t]*:?[ \t](.*)$", re.MULTILINE)
#: the last columns of a rate: max, min, mean and deviation of whole iterations
COLUMNS = 4
_ERROR = re.compile(r"^[ \t]*(ERROR|Abort\(|MPI_Abort)|\bERROR:", re.MULTILINE)
OPERATIONS = {"creation": "create", "stat": "stat", "read": "open"}
#: how mdtest writes its start and its end
CLOCK = "%m/%d/%Y %H:%M:%S"
#: option -> operation under test; every run creates files
PHASE_OPTIONS = (("-E", "open"), ("-T", "stat"), ("-C", "create"))


def read(text: str, path: str) -> list[Run] | None:
    """The run in a result file of mdtest; None for other files. Raises IngestError: the file is cut off before its summary."""
    launched = _LAUNCHED.search(text)
    if launched is None:
        return None
    rows = [(OPERATIONS[phase], cells.split()) for phase, cells in _RATE.findall(text)]
    rates = {operation: cells[-2] for operation, cells in rows if len(cells) >= COLUMNS}
    if "SUMMARY rate" not in text or not rates:
        raise IngestError(f"{path}: found mdtest's output without a summary of rates, expected all of it")
    command = group(r"^Command line used: (.*)$", text).replace("'", "")
    test = named_test(command, "mdtest")
    operation = next((phase for option, phase in PHASE_OPTIONS if f" {option} " in f"{command} "), "create")
    if operation not in rates:
        raise IngestError(f"{path}: found no rate of '{operation}', expected one, as its command line requests")
    size, each, passes = (group(rf" -{option} (\d+)\b", command) for option in "eni")
    files = {"files_of_a_task": int(each or 0), "tasks": int(launched[2]), "passes": int(passes or 1)}
    load = Observed(
        name=test,
        operation=operation,
        rate=number(rates[operation], f"{path}: rate"),
        unit="file/s",
        threads=int(launched[2]),
        clients=int(launched[3]),
        io_bytes=float(size) if operation == "open" and size else None,
        handled=float(solve("files_of_all_tasks", files)) if each else None,
        errors=errors_in(text, _ERROR),
    )
    began, ended = (group(rf"^-- {word} at (.*) --$", text) for word in ("started", "finished"))
    load = replace(load, contradictions=tuple(_contradictions(rows, load, passes, text, began, ended)))
    return [Run("mdtest", path, test, (load,), launched[1], began=began, command=command)]


#: Share by which the passes that mdtest times may exceed its whole time, beside the seconds that its clock cuts off.
ROUNDED, CUT_SECONDS = 0.05, 2


def _contradictions(
    rows: Sequence[tuple[str, list[str]]], load: Observed, passes: str, text: str, began: str, ended: str
) -> Iterator[str]:
    """Where rates do not agree with each other, with the passes, or with the time between start and end."""
    for operation, cells in rows:
        most, least, mean, _ = (number(cell, f"rate of {operation}") for cell in cells[-COLUMNS:])
        if not least * (1 - 1e-6) <= mean <= most * (1 + 1e-6):
            yield f"rate of {operation}: found a mean of {mean:,.0f} file/s, expected from {least:,.0f} to {most:,.0f} file/s"
    ran = group(r"^SUMMARY rate.*of (\d+) iterations", text)
    if ran and ran != (passes or "1"):
        yield f"passes: found {ran} in the summary, expected {passes or 1} of the command line"
    if load.handled and load.rate and began and ended:
        with suppress(ValueError):
            span = (datetime.strptime(ended, CLOCK) - datetime.strptime(began, CLOCK)).total_seconds()
            needed = load.handled / load.rate
            if needed > span * (1 + ROUNDED) + CUT_SECONDS:
                yield f"time: found {span:g} s between start and end, expected {needed:,.0f} s of its files and rate"
