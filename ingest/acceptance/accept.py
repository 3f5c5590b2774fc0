"""`ingest accept`: runnable acceptance tests of requirement lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ingest.acceptance.acceptance_result import Acceptance
from ingest.acceptance.datasets import memory_of, server_cache_of, with_capacity, with_data
from ingest.acceptance.loads import NotTestable, Setting, Task, assumed_for, confidence_of, implied_by, kind_of, loads_of
from ingest.acceptance.pack import helpers, readme
from ingest.acceptance.run_interval import MOST_RUNS
from ingest.acceptance.service_limits import limits_of, logs_seconds, terms_of
from ingest.acceptance.test_spec import DATA, METADATA, SCALES, TOOLS, AcceptanceTest, within
from ingest.acceptance.test_table import also_shown, id_of_test, notes_of, too_large
from ingest.acceptance.tools import GENERATORS, mlpstorage
from ingest.configuration import decimal_units
from ingest.engine.expression import total
from ingest.engine.messages import each_once
from ingest.engine.registry import check_value
from ingest.engine.value import Input
from ingest.errors import IngestError, one_of
from ingest.files import read_text, sha256, write_folder
from ingest.requirement import Requirement
from ingest.site.plan_file import lines_of, plan_data, site_name
from ingest.text import checked_host
from ingest.units import display, parse, parse_whole, physical

#: Beyond any planned system, and small enough that no size in a job file overflows.
MOST_RATE, MOST_AMOUNT = 1e18, 1e30
#: Shares of a mix that are rounded to three digits.
MOST_SHARES_OFF = 0.005
MOST_CONDITION = {
    "clients": (1e6, "node"),
    "threads": (4096, "1/node"),
    "queue_depth": (1e9, "1"),
    "io_size": (2**30, "B"),
    "duration": (30 * 86_400, "s"),
}


def check_bounds(line: Requirement, where: str) -> None:
    """Reject a line whose test could not run.

    Raises:
        IngestError: a value above its limit.
    """
    most_value = MOST_AMOUNT if physical(line.unit) == "B" else MOST_RATE
    if line.value > most_value:
        raise IngestError(f"{where}: {line.id}: value: found {line.value:g}, expected at most {most_value:g}")
    for name, (most, unit) in MOST_CONDITION.items():
        found = getattr(line.conditions, name)
        if found is not None and found > most:
            raise IngestError(f"{where}: {line.id}: {name}: found {found:g}, expected at most {display(most, unit)}")
    for part in line.conditions.mix:
        if part.io_size > MOST_CONDITION["io_size"][0]:
            raise IngestError(f"{where}: {line.id}: mix: io_size: found {part.io_size}, expected at most {display(2**30, 'B')}")
    shares = float(total([part.share for part in line.conditions.mix] or 1))
    if abs(shares - 1) > MOST_SHARES_OFF:
        raise IngestError(f"{where}: {line.id}: mix: found shares of {shares:.4g} in all, expected 1")
    fill = line.conditions.fill
    if fill is not None and fill > 1:
        raise IngestError(f"{where}: {line.id}: fill: found {fill:g}, expected a share up to 1")


#: tool -> kinds of requirement that it times
KINDS_OF_TOOL = {
    "fio": (*DATA, "mixed", "create", "open"),
    "ior": DATA,
    "mdtest": METADATA,
    "elbencho": DATA,
    "dlio": ("read",),
}

#: Of one client: ten times the memory of the largest nodes. Of all servers: beyond any system.
MOST_MEMORY, MOST_CACHE = 64 * 2**40, 1e18


@decimal_units()
def accept(
    plan: str | Path,
    folder: str | Path,
    *,
    tool: str | Sequence[str] | None = None,
    scale: str = "full",
    hosts: str | Path | None = None,
    server_cache: str | float | None = None,
    client_memory: str | float | None = None,
    most_data: str | float | None = None,
    repeats: int | str | None = None,
    allowed_deviation: str | float = 0.03,
    force: bool = False,
    catalogs: str | Path | Sequence[str | Path] = (),
) -> Acceptance:
    """Write acceptance tests for the requirement lines of a plan.

    Args:
        plan: a site file, or the JSON that `ingest plan SITE.yaml -o plan.json` writes.
        folder: new or empty.
        tool: one or several of `fio`, `ior`, `mdtest`, `elbencho`, `dlio`; fio by default, which runs every test.
        scale: `full`, or `1node` for a rehearsal on one machine.
        hosts: file with the clients, one per line; copied into the folder.
        server_cache: read cache of all storage servers, two thirds of the data set; by default the larger of 25 s of the
            highest mandatory bandwidth and 0.1 % of the capacity.
        client_memory: main memory of one client, which sizes the data sets of DLIO and MLPerf Storage; by default of the
            plan's largest node type, else 2 TiB.
        most_data: limit for the data set of a tool; by default what the planned capacity holds at the fill level of the tests.
        repeats: runs of each test at first, up to ten; three by default, or one in a rehearsal. One or two give no interval.
        allowed_deviation: share of the requirement by which the lower bound of the median of the runs may miss it.
        force: replace the tests that an earlier call wrote into the folder; results stay.
        catalogs: folders with entries of your own, for a site file.

    Raises:
        UsageError: an unknown tool or scale, a tool given twice, or a folder that is not empty.
        IngestError: an invalid plan, a missing hosts file, a folder that cannot be written.
    """
    one_of("--scale", scale, SCALES)
    tools = [*each_once("tool", ((name, None) for name in ([tool] if isinstance(tool, str) else tool or TOOLS[:1])))]
    for name in tools:
        one_of("--tool", name, TOOLS)
    data = plan_data(plan, catalogs)
    lines = lines_of(Path(plan), data)
    for line in lines:
        check_bounds(line, str(plan))
    if client_memory is None:
        memory = memory_of(data, catalogs)
    else:
        found = float(within("--client-memory", client_memory, "B", 1, MOST_MEMORY))
        memory = Input(found, grade="given", note="--client-memory")
    deviation = "--allowed-deviation"
    setting = Setting(
        scale=scale,
        client_memory=memory.value,
        repeats=parse_whole(repeats, "--repeats", 1, MOST_RUNS) if repeats is not None else 1 if scale == "1node" else 3,
        allowed_deviation=check_value("allowed_deviation", parse(allowed_deviation, "1", deviation), deviation),
    )
    clauses = data.get("service") or ()
    service, terms = limits_of(clauses, str(plan)), terms_of(clauses, str(plan))
    setting = with_capacity(replace(setting, logs_seconds=logs_seconds(service)), lines)
    if server_cache is None:
        cache = server_cache_of(setting, lines)
    else:
        cache = Input(float(within("--server-cache", server_cache, "B", 1, MOST_CACHE)), grade="given", note="--server-cache")
    at_most = None if most_data is None else within("--most-data", most_data, "B", 2**30, 1e21)
    setting = with_data(replace(setting, server_cache=cache.value), lines, tools, at_most)
    tests, untested = _tests(lines, tools, setting)
    made = Acceptance(
        site_name(plan, data),
        str(folder),
        setting,
        tuple(tests),
        untested,
        tuple(lines),
        memory,
        cache,
        service=service,
        terms=terms,
    )
    files = _files(made, _hosts(hosts))
    write_folder(folder, files, force)
    return replace(made, manifest_hash=sha256(files["tests.json"].encode()))


def _tests(lines: Sequence[Requirement], tools: Sequence[str], setting: Setting) -> tuple[list[AcceptanceTest], dict[str, str]]:
    tests: list[AcceptanceTest] = []
    untested: dict[str, str] = {}
    shown = also_shown(lines)
    for line in lines:
        if line.id in shown:
            continue
        able = [name for name in tools if kind_of(line) in KINDS_OF_TOOL[name]]
        try:
            loads_of(line, line.id, setting)
            writers = [(name, writer) for name in able for writer in _writers(name, line, lines, setting)]
            lower = [other for other in lines if shown.get(other.id) == line.id]
            also = {other.id: loads_of(other, other.id, setting)[0].threshold for other in lower}
            tests += [replace(_test(line, name, writer, setting), also=also) for name, writer in writers]
        except NotTestable as why:
            untested[line.id] = str(why)
        else:
            if not writers:
                untested[line.id] = f"{', '.join(tools)} cannot time it, but another tool can"
    return tests, untested


def _writers(tool: str, line: Requirement, lines: Sequence[Requirement], setting: Setting) -> tuple[str, ...]:
    """The load generators that write tests of a line with a tool.

    DLIO reads like a training job, not like a restore or a copy. MLPerf Storage needs at least half a terabyte for each
    accelerator, so it cannot be rehearsed, and tests the line with the highest rate only.
    """
    shared = [one for one in loads_of(line, line.id, setting) if one.files == "shared" and one.operation in DATA]
    if tool == "fio" and any((one.operation, one.pattern) != ("read", "random") for one in shared):
        # All its threads would read the same bytes at a time, and write files of their own.
        return ()
    if tool != "dlio":
        return (tool,)
    if "sequential" in line.conditions.pattern or too_large(line, setting):
        return ()
    fastest = max((one for one in lines if kind_of(one) == "read"), key=lambda one: one.value, default=line)
    return (tool, mlpstorage.SUFFIX) if line.id == fastest.id and not setting.rehearsal else (tool,)


def _test(line: Requirement, tool: str, name: str, setting: Setting) -> AcceptanceTest:
    ident = f"{id_of_test(line.id)}-{name}"
    writer = GENERATORS[name]
    task = Task(ident, line, loads_of(line, ident, setting), setting)
    task = replace(task, loads=writer.loads(task))
    return AcceptanceTest(
        id=ident,
        requirement=line.id,
        priority=line.priority,
        statement=line.statement,
        tool=tool,
        version=writer.version,
        scale=setting.scale,
        loads=task.loads,
        repeats=setting.repeats,
        allowed_deviation=setting.allowed_deviation,
        assumed=assumed_for(line),
        parameters=writer.parameters(task),
        notes=notes_of(line, task.loads),
        implied={
            name: value
            for load in task.loads
            for name, value in {**implied_by(load), **confidence_of(task.requirement, load)}.items()
        },
        files=writer.job_files(task),
    )


def _hosts(path: str | Path | None) -> str | None:
    if path is None:
        return None
    lines = read_text(path, "one client per line", place=f"--hosts: {path}").split()
    if not lines:
        raise IngestError(f"--hosts: {path}: found no client, expected one client per line")
    return "".join(checked_host(line, f"--hosts: {path}") + "\n" for line in lines)


def _files(made: Acceptance, hosts: str | None) -> dict[str, str]:
    files = {name: content for test in made.tests for name, content in test.files.items()}
    if hosts is not None:
        files["hosts.txt"] = hosts
    if not made.setting.rehearsal:
        files |= helpers(made.fill, made.setting.data, made.tests)
    files["README.md"] = "\n".join(readme(made)) + "\n"
    files["tests.json"] = json.dumps(made.to_dict(), indent=1, ensure_ascii=False) + "\n"
    sums = "".join(f"{sha256(content.encode())}  {name}\n" for name, content in sorted(files.items()))
    return {**files, "SHA256SUMS": sums}
