"""What the job files of all tools have in common, and their results."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from ingest.acceptance.loads import Setting, given_for
from ingest.acceptance.test_spec import DATA, Load
from ingest.engine.expression import Num
from ingest.engine.registry import solve
from ingest.errors import IngestError, brief
from ingest.requirement import Requirement


class Task:
    """A test that a tool writes job files for: the line under test, its concurrent loads, and the settings of all tests."""

    def __init__(self, ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> None:
        self.ident, self.requirement, self.loads, self.setting = ident, requirement, loads, setting
        self.load = loads[0]  # the only load, or the reads of a mixed test
        self.on_data = tuple(load for load in loads if load.on_data)  # those that need data before
        self.rehearsal = setting.rehearsal  # whether one machine runs the load of one client
        self.given: Mapping[str, Num] = given_for(requirement, setting)
        # The clients that fill the files of the test.
        self.data_clients = setting.data.clients if setting.data and self.on_data else self.load.clients
        # The data set that the test reads or writes over, which tests share; in a rehearsal each test has its own files.
        shared = "data-shared" if self.load.files == "shared" else "data"
        self.data_name = self.load.name if self.rehearsal else shared

    def file_bytes(self, load: Load, count: int, clients: int = 1) -> int:
        """Bytes of each of so many files that a load reads or writes on a number of clients, in whole fill requests."""
        given = self.given
        if load.io_bytes is not None and load.operation in DATA:
            # The parts of a mixed test have their own rates and I/O sizes.
            own: dict[str, Num] = {"required_bandwidth": load.threshold, "aligned_io_bytes": load.io_bytes}
            unlike = "" if load.on_data else "fill_request_bytes"
            given = {name: value for name, value in given.items() if name != unlike} | own
        held = "acceptance_dataset_bytes_per_client" if load.on_data else "written_bytes_per_client"
        return file_bytes(given, count, solve(held, given) * clients)

    def fill_bytes(self, *loads: Load) -> int:
        """Bytes of a request of the fill, which is a multiple of the largest request of loads: of all without any."""
        largest = max(one.io_bytes or 1 for one in loads or self.loads)
        return int(solve("fill_request_bytes", {**self.given, "aligned_io_bytes": largest}))

    def benchmark(self, accelerators: Num, batch: Num, record_bytes: Num) -> Mapping[str, Num]:
        """Inputs of a benchmark with emulated accelerators that reads one sample from each file."""
        return {
            **self.given,
            "required_bandwidth": self.load.threshold,
            "benchmark_host_memory": self.setting.client_memory,
            "benchmark_hosts": self.load.clients,
            "benchmark_accelerators": accelerators,
            "benchmark_batch": batch,
            "benchmark_record_bytes": record_bytes,
            "benchmark_samples_per_file": 1,
        }

    def reading(self, load: Load, folders: int) -> tuple[Load, ...]:
        """The load where the tool reads so many folders of the data set."""
        whole = solve("read_set_bytes", {**self.given, "folders_read": folders})
        return (replace(load, dataset_bytes=round(whole)),)

    def files_per_thread(self, *, one_pass: bool) -> int:
        """Files that each thread creates, opens or stats; one pass over them lasts for the required duration."""
        passes = {"metadata_pass_seconds": self.given["acceptance_seconds"]} if one_pass else {}
        return int(solve("metadata_files_per_thread", {**self.given, **passes, "threads_per_client": self.load.threads}))

    def opened(self) -> list[tuple[int, int]]:
        """The sizes of the files that a line opens, the smallest first, each with the files of a thread that have it."""
        sizes = sorted((one.io_size, one.share) for one in self.requirement.conditions.mix if one.operation == "open")
        count = self.files_per_thread(one_pass=False) if sizes else 0
        shares = [math.fsum(share for _, share in sizes[place:]) for place in range(len(sizes))]
        left = [min(math.ceil(share * count), count) for share in shares]
        found = zip(sizes, left, [*left[1:], 0], strict=False)
        return [(size, number - more) for (size, _), number, more in found if number > more]


def file_bytes(given: Mapping[str, Num], count: int, dataset: Num) -> int:
    """Bytes of each file of one client's data set, in whole fill requests."""
    sized = {"acceptance_files_per_client": count, "acceptance_dataset_bytes_per_client": dataset}
    return int(solve("acceptance_file_bytes", {**given, **sized}))


#: A new folder, so that no existing file is touched; else the folder that a fill script of the tool made.
OWN_FOLDER = 'TARGET=$(cd "$TARGET" && pwd)/@ident@\nmkdir "$TARGET"\n'
DATA_FOLDER = 'TARGET=$(cd "$TARGET" && pwd)/@folder@\n'
#: The commands of a script that its own machine must have: tools, and what starts the others on the clients.
STARTED = re.compile(r"(?:^ *|&& )(fio|elbencho|mlpstorage|\$LAUNCH) ")


@cache
def template(name: str) -> str:
    """A template of the folder of tests."""
    return (files("ingest.acceptance") / "templates" / name).read_text(encoding="utf-8")


def filled(text: str, **values: object) -> str:
    """A template with its values between `@`: shell scripts use `$` and braces themselves."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def script(ident: str, clients: int, rehearsal: bool, body: Iterable[str], *, folder: str = "", drops: bool = False) -> str:
    """A script that runs a test, or fills a data set, of an id: its lines, and the least number of clients in the hosts file.

    A rehearsal runs on this machine alone, in a folder that is removed at the end. The folder is below TARGET; a new one where
    it has the name of the test, and empty for fio, whose servers have their own. `drops` drops caches between runs.
    """
    body, parts = [*body], [template("script.sh")]
    started = dict.fromkeys(one for line in body for one in STARTED.findall(line))
    tools = " ".join('"${LAUNCH:-mpirun}"' if one == "$LAUNCH" else one for one in started)
    if rehearsal:
        parts += [OWN_FOLDER, template("cleaned.sh")]
    else:
        parts += [template("script_hosts.sh"), template("drops.sh") if drops else ""]
        parts += [OWN_FOLDER if folder == ident else DATA_FOLDER] if folder else []
    return filled("".join(parts) + "\n".join(body) + "\n", ident=ident, clients=clients, folder=folder, tools=tools)


def own_script(task: Task, tool: str, body: Iterable[str]) -> dict[str, str]:
    """The script of a test that makes its own files."""
    return {f"{tool}/{task.ident}.sh": script(task.ident, task.load.clients, task.rehearsal, body, folder=task.ident)}


def data_scripts(task: Task, tool: str, data: str, filling: Iterable[str], running: Iterable[str]) -> dict[str, str]:
    """The script that fills a data set, and that of a test which reads it."""
    folder = f"{tool}-{data}"
    return {
        f"{tool}/fill-{data}.sh": script(folder, task.data_clients, False, filling, folder=folder),
        f"{tool}/{task.ident}.sh": script(task.ident, task.load.clients, False, running, folder=folder, drops=True),
    }


def repeated(
    task: Task, ending: str, commands: Iterable[str], *, drops: bool = False, data: str | None = None
) -> Iterator[str]:
    """Lines that repeat commands, with free file names for their results, and cold caches unless it is a rehearsal.

    Of files whose paths below TARGET begin with `data`, a folder and the start of names, contents are sampled during the run.
    """
    yield f"for turn in $(seq {task.setting.repeats}); do"
    yield f'  free "{ending}"'
    if drops and not task.rehearsal:
        yield '  sh -c "$DROP_CACHES"'
    if data is not None:
        folder, _, start = data.rpartition("/")
        yield f"  sample {(task.load.seconds or 0) / 4:g} '{folder or '.'}' '{start}' > /dev/null 2>&1 & sampling=$!"
    yield from (f"  {command}" for command in commands)
    yield f'  list "{ending}" {task.setting.repeats}'
    yield "done"


def launch(tool: str, clients: int, threads: int, rehearsal: bool) -> str:
    """The lines that set how MPI starts one rank of a tool for each thread; LAUNCH replaces it for srun or another MPI."""
    placed = "" if rehearsal else f" -N {threads} --hostfile $HOSTS"
    return (
        f"LAUNCH=${{LAUNCH:-mpirun -np {clients * threads}{placed}}}\n{filled(template('on_clients.sh').rstrip(), tool=tool)}"
    )


#: Least share of the time that threads wait for their requests: the rest is their own work, such as new contents for writes.
WAITING = {"read": 0.25, "write": 0.05}


def named_test(text: str, suffix: str) -> str:
    """The last test id with one of these suffixes in a text; empty where there is none."""
    ids = re.findall(rf"(?<![\w-])T-[A-Za-z0-9_-]+-(?:{suffix})\b", text)
    return ids[-1] if ids else ""


def number(found: object, where: str) -> float:
    """A finite number from 0; an IngestError for anything else."""
    try:
        value = float(found) if isinstance(found, (int, float, str)) and not isinstance(found, bool) else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise IngestError(f"{where}: found {brief(found)}, expected a number from 0")
    return value


def errors_in(text: str) -> str:
    """The number of errors among the output of IOR or mdtest, in words; empty without any: both still print a rate."""
    count = len(re.findall(r"^[ \t]*(?:ERROR|ior ERROR|Abort\(|MPI_Abort|WARNING: DUMMY)|\bERROR:", text, re.MULTILINE))
    return f"{count} errors" if count else ""


def elsewhere(command: str, option: str, found: object, what: str) -> Iterator[str]:
    """Where a tool printed another value of an option, which may be None, than its command line gives."""
    given = group(rf"(?<!\S)-{option} (\S+)", command)
    # A path may have blanks.
    if given and found is not None and f" -{option} {found} " not in f"{command} ":
        yield f"{what}: found {found}, expected {given} of the command line"


#: How IOR and mdtest write a time.
CLOCKS = ("%a %b %d %H:%M:%S %Y", "%m/%d/%Y %H:%M:%S")


def clock_of(written: str) -> float | None:
    """A time as a tool writes it, in seconds since 1970; without its zone, as of UTC.

    >>> [clock_of(one) for one in ("1767607200000", "Mon Jan  5 10:00:00 2026", "")]
    [1767607200.0, 1767607200.0, None]
    """
    written = written.strip()
    if written.isdigit():
        number = float(written)
        return number / 1000 if number >= 1e11 else number
    with suppress(ValueError):
        found = datetime.fromisoformat(written)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    for form in CLOCKS:
        with suppress(ValueError):
            return datetime.strptime(written, form).replace(tzinfo=UTC).timestamp()
    return None


#: Share by which figures that a tool rounds may differ, as phases may exceed its whole time, beside the seconds that its clock
#: cuts off; and the share of it, beside so many seconds, that phases must fill: mean rates that vary understate their time.
ROUNDED, CUT_SECONDS, FILLED, BESIDE_SECONDS = 0.05, 2, 0.75, 60


def unlike_span(began: str, ended: str, phases: float, *, all_timed: bool = False) -> Iterator[str]:
    """Where the time between start and end does not hold the seconds of the phases, or is not filled by `all_timed` ones."""
    first, last = clock_of(began), clock_of(ended)
    if first is None or last is None:
        yield "time: no start and end in the result"
        return
    span = last - first
    if phases > span * (1 + ROUNDED) + CUT_SECONDS or (all_timed and phases < (span - BESIDE_SECONDS) * FILLED):
        yield f"time: found {span:,g} s between start and end, expected {phases:,.0f} s of what it did"


def group(pattern: str, text: str) -> str:
    """The first group of a pattern where it first matches a line of a text; empty where it does not."""
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


def parsed(text: str, start: int, path: str, whose: str) -> tuple[Any, int]:
    """The JSON value at a position of a text, and the position after it; an IngestError where it is cut off or too deep."""
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        raise IngestError(f"{path}: found {whose} cut off, expected all of it") from None


def table(found: object, where: str) -> Mapping[str, Any]:
    """A JSON object; an IngestError for anything else."""
    if not isinstance(found, dict):
        raise IngestError(f"{where}: found {brief(found)}, expected a JSON object")
    return found


def rows(found: object, where: str) -> list[Mapping[str, Any]]:
    """A JSON list of objects; an IngestError for anything else."""
    if not isinstance(found, list):
        raise IngestError(f"{where}: found {brief(found)}, expected a list")
    return [table(item, f"{where}[{position}]") for position, item in enumerate(found)]
