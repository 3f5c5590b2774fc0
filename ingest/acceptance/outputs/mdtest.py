"""mdtest's text: rates of each phase."""

from __future__ import annotations

import re

from ingest.acceptance.outputs.numbers import number
from ingest.acceptance.records import Observed, Run
from ingest.errors import IngestError
from ingest.formula import solve

_TEST = re.compile(r"T-[A-Za-z0-9_-]+-mdtest\b")
_LAUNCHED = re.compile(r"mdtest-(\S+) was launched with (\d+) total task\(s\) on (\d+) node\(s\)")
_COMMAND = re.compile(r"^Command line used: (.*)$", re.MULTILINE)
#: the last four columns are those of whole iterations: max, min, mean, deviation
_RATE = re.compile(r"^\s*File (creation|stat|read)\s*:?\s+.*?([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$", re.MULTILINE)
_ERROR = re.compile(r"^\s*(ERROR|Abort\(|MPI_Abort)|\bERROR:", re.MULTILINE)
OPERATIONS = {"creation": "create", "stat": "stat", "read": "open"}
#: the phase that a run was made for; creating is part of every run
ASKED = (("-E", "open"), ("-T", "stat"), ("-C", "create"))


def read(text: str, path: str) -> list[Run] | None:
    """The run in a result file; None where it is not mdtest's.

    Raises:
        IngestError: mdtest's, but cut off before its summary.
    """
    launched = _LAUNCHED.search(text)
    if launched is None:
        return None
    rates = {OPERATIONS[phase]: mean for phase, _, _, mean, _ in _RATE.findall(text)}
    if "SUMMARY rate" not in text or not rates:
        raise IngestError(f"{path}: found mdtest's output without a summary of rates, expected the whole of it")
    command = (_COMMAND.search(text) or [""])[0].replace("'", "")
    named = _TEST.findall(command)
    test = named[-1] if named else ""
    asked = next((operation for option, operation in ASKED if f" {option} " in f"{command} "), "create")
    if asked not in rates:
        raise IngestError(f"{path}: found no rate of '{asked}', which the command line asks for")
    began = re.search(r"^-- started at (.*) --$", text, re.MULTILINE)
    errors = len(_ERROR.findall(text))
    load = Observed(
        name=test,
        operation=asked,
        rate=number(rates[asked], f"{path}: rate"),
        unit="file/s",
        threads=int(launched[2]),
        clients=int(launched[3]),
        io_bytes=_size(command) if asked == "open" else None,
        handled=_handled(command, int(launched[2])),
        errors=f"{errors} errors" if errors else "",
    )
    return [Run("mdtest", path, test, (load,), launched[1], began=began[1] if began else "")]


def _size(command: str) -> float | None:
    size = re.search(r" -e (\d+)\b", command)
    return float(size[1]) if size else None


def _handled(command: str, tasks: int) -> float | None:
    """Files of all tasks and iterations, as the command line asks for them."""
    each, iterations = re.search(r" -n (\d+)\b", command), re.search(r" -i (\d+)\b", command)
    if each is None:
        return None
    passes = int(iterations[1]) if iterations else 1
    return float(solve("files_of_all_tasks", {"files_of_a_task": int(each[1]), "tasks": tasks, "passes": passes}))
