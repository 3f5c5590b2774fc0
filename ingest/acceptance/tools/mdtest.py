"""mdtest: command lines for creates, opens and stats of files, and its results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ingest.acceptance.test_spec import Load, Observed, Run
from ingest.acceptance.tools.job_files import (
    Task,
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
from ingest.errors import IngestError

VERSION = "4.0.0"
#: Every test needs the create phase before its own, and the remove phase after it.
PHASES = {"create": "-C -r", "stat": "-C -T -r", "open": "-C -E -r -w {size} -e {io_bytes}"}


def loads(task: Task) -> tuple[Load, ...]:
    """The loads as mdtest runs them: at the required rate, its passes over the files last for the duration of the line."""
    load, per_thread = task.load, sum(number for _, number in _sizes(task)) * _passes(task)
    return (replace(load, seconds=None, handled=per_thread * load.threads * load.clients),)


def _sizes(task: Task) -> list[tuple[int | None, int]]:
    """The bytes of the files, and how many of them a thread has: all files of one mdtest are of one size."""
    own: list[tuple[int | None, int]] = [*task.opened()]
    return own or [(task.load.io_bytes, task.files_per_thread(one_pass=False))]


def _passes(task: Task) -> int:
    return 1 if task.rehearsal else int(solve("metadata_passes", task.given))


def job_files(task: Task) -> dict[str, str]:
    """The script of a test, which runs mdtest once for each size of file."""
    ident, load = task.ident, task.load
    # Each rank works on files of the next client, which are not in its own cache.
    stride = f"-N {load.threads} " if load.clients > 1 else ""
    folder = "" if load.files == "shared" else "-u "
    place, out = f'{stride}{folder}-d "$TARGET/{ident}"', f'"$RESULTS/{ident}.run$run.txt" 2>&1'
    runs: list[str] = []
    for size, each in _sizes(task):
        phases = PHASES[load.operation].format(size=size, io_bytes=load.io_bytes)
        runs.append(f"$LAUNCH mdtest -F {phases} -n {each} -i {_passes(task)} {place} {'>>' if runs else '>'} {out}")
    return own_script(
        task, "mdtest", [launch("mdtest", load.clients, load.threads, task.rehearsal), *repeated(task, ".txt", runs)]
    )


_LAUNCHED = re.compile(r"(?<!\S)mdtest-(\S+) was launched with (\d+) total task\(s\) on (\d+) node\(s\)")
_AT = r"^-- {} at (.*) --$"
_BEGAN = re.compile(r"^-- started at ", re.MULTILINE)
_RATE = re.compile(r"^[ \t]*File (creation|stat|read|removal)[ \t]*:?[ \t](.*)$", re.MULTILINE)
#: the last columns of a rate: max, min, mean and deviation of whole iterations
COLUMNS = 4
OPERATIONS = {"creation": "create", "stat": "stat", "read": "open", "removal": "remove"}
#: option -> operation under test; every run creates files
PHASE_OPTIONS = (("-E", "open"), ("-T", "stat"), ("-C", "create"))


def read(text: str, path: str) -> list[Run] | None:
    """The run in a result file of mdtest; None for other files. Raises IngestError: the file is cut off before its summary."""
    began, launched = ([one.start() for one in found.finditer(text)] for found in (_BEGAN, _LAUNCHED))
    if not launched:
        return None
    starts = began if len(began) == len(launched) else launched
    found = [_read(text[start:end], path) for start, end in pairwise([0, *starts[1:], len(text)])]
    if len(found) < 2:
        return found
    # One for each size of file, each after the other: the rate of all is their files over their time.
    loads, kinds = [one.loads[0] for one in found], {(one.loads[0].operation, one.loads[0].threads) for one in found}
    taken = [one.handled / one.rate for one in loads if one.handled and one.rate]
    handled = sum(one.handled or 0 for one in loads)
    rate = handled / sum(taken) if len(taken) == len(loads) else 0.0
    unlike = (f"runs: found {len(kinds)} kinds in one file, expected one",) * (len(kinds) > 1)
    errors = "; ".join(filter(None, (one.errors for one in loads)))
    told = (*unlike, *(said for one in loads for said in one.contradictions))
    whole = replace(loads[0], rate=rate, handled=handled, errors=errors, contradictions=told)
    return [replace(found[0], loads=(whole,), command="\n".join(one.command for one in found))]


def _read(text: str, path: str) -> Run:
    """One mdtest of a result file."""
    launched = _LAUNCHED.search(text)
    assert launched is not None
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
        errors=errors_in(text),
        figures=tuple(map(float, re.findall(r"^[ \t]*(?:File|Tree) \w+.*?([\d.]+)[ \t]+[\d.]+[ \t]*$", text, re.MULTILINE))),
    )
    load = replace(load, contradictions=tuple(_contradictions(rows, load, text, command)))
    return Run("mdtest", path, test, (load,), launched[1], began=group(_AT.format("started"), text), command=command)


def _contradictions(rows: Sequence[tuple[str, list[str]]], load: Observed, text: str, command: str) -> Iterator[str]:
    """Where rates do not agree with each other, with the passes, or with the time between start and end."""
    for operation, cells in rows:
        most, least, mean, _ = (number(cell, f"rate of {operation}") for cell in cells[-COLUMNS:])
        if not least * (1 - 1e-6) <= mean <= most * (1 + 1e-6):
            yield f"rate of {operation}: found a mean of {mean:,.0f} file/s, expected from {least:,.0f} to {most:,.0f} file/s"
    ran, passes = group(r"^SUMMARY rate.*of (\d+) iterations", text), int(group(r" -i (\d+)\b", command) or 1)
    if ran and int(ran) != passes:
        yield f"passes: found {ran} in the summary, expected {passes} of the command line"
    rates = [float(cells[-2]) for _, cells in rows]
    phases = sum(load.handled / rate for rate in rates if rate) if load.handled else 0.0
    began, ended = (group(_AT.format(word), text) for word in ("started", "finished"))
    yield from unlike_span(began, ended, phases, all_timed=phases > 0)
    ranks, counted = (group(rf"^{line} files", text) or "0" for line in (r"(\d+) tasks, \d+", r"\d+ tasks, (\d+)"))
    if load.handled and (int(ranks) != load.threads or int(counted) * passes != load.handled):
        expected = f"{load.handled / passes:,.0f} of {load.threads}"
        yield f"files: found {int(counted):,} of {ranks} tasks, expected {expected} of its command line"
    beside = group(r"^Nodemap: ([01]+)$", text).count("1")
    if beside and beside * (load.clients or 0) != load.threads:
        yield f"clients: found {beside} of {load.threads} tasks on the first one, expected as many on each of {load.clients}"
    yield from elsewhere(command, "d", group(r"^Path[ \t]*: (.*)$", text), "folder")
