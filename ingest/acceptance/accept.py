"""`ingest accept`: runnable acceptance tests of requirement lines, and the table of the tests in documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Unpack

from ingest.acceptance.judgement import MOST_RUNS
from ingest.acceptance.loads import (
    USUAL_REQUEST,
    USUAL_SECONDS,
    USUAL_THREADS,
    NotTestable,
    Setting,
    confidence_of,
    given_for,
    implied_by,
    kind_of,
    loads_of,
    memory_of,
    network_of,
    server_cache_of,
    why_not,
    with_capacity,
    with_data,
)
from ingest.acceptance.pack import Acceptance, readme
from ingest.acceptance.service_limits import STALL, limits_of, terms_of
from ingest.acceptance.test_spec import DATA, METADATA, SCALES, TOOLS, AcceptanceTest, Load, within
from ingest.acceptance.tools import GENERATORS, dlio
from ingest.acceptance.tools.job_files import Task, filled, template
from ingest.catalog.store import CATALOGS
from ingest.configuration import decimal_units
from ingest.engine.expression import total
from ingest.engine.messages import each_once
from ingest.engine.question import filled as filled_options
from ingest.engine.question import option
from ingest.engine.registry import default_of, read_value, solve
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, listed, one_of
from ingest.files import read_text, sha256, table_beside, write_folder
from ingest.requirement import INFORMATION, LOADS, PRIORITIES, Requirement, kind_of_line
from ingest.site.plan import MOST_YEARS, RootOptions
from ingest.site.plan_file import SITE_SUFFIXES, Folders, lines_of, plan_data, plan_of_site, site_name
from ingest.sizing.job import Written
from ingest.text import checked_host
from ingest.units import display, parse_whole, physical

#: Beyond any planned system, and small enough that no size in a job file overflows.
MOST_RATE, MOST_AMOUNT = 1e18, 1e30
#: Shares of a mix that are rounded to three digits.
MOST_SHARES_OFF = 0.005
#: The most that a condition of a line may be, with its unit; tool -> kinds of requirement that it times.
MOST_CONDITION, KINDS_OF_TOOL = (table_beside(__file__, "acceptance.yaml")[name] for name in ("most", "kinds"))
#: Of one client: ten times the memory of the largest nodes. Of all servers: beyond any system.
MOST_MEMORY, MOST_CACHE = 64 * 2**40, 1e18
#: Growth of requests above which a note names it, and the rate of one client that any storage reaches, B/s.
GROWN, TRIVIAL = 1.05, 1e6
#: The read cache that is assumed of servers.
_CACHE = {name: default_of(name) or 0 for name in ("server_cache_seconds", "server_cache_share")}


def check_bounds(line: Requirement, where: str) -> None:
    """Reject a line whose test could not run. Raises IngestError: a value above its limit."""
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


class AcceptOptions(RootOptions, total=False):
    """The options of `accept`."""

    tool: Annotated[str | Sequence[str] | None, option("{choices}; repeatable. [default: fio]", "", many=True, choices=TOOLS)]
    scale: Annotated[
        str, option("full, or 1node: a rehearsal on one machine. [default: full]", "", default=SCALES[0], choices=SCALES)
    ]
    hosts: Annotated[str | Path | None, option("File with the clients, one per line; copied into the folder.", "FILE")]
    server_cache: Annotated[
        Written | None,
        option(
            "Read cache of all storage servers, two thirds of the data set; by default {default}.",
            "SIZE",
            usual=f"the larger of {_CACHE['server_cache_seconds']:g} s of the highest mandatory bandwidth and "
            f"{_CACHE['server_cache_share'] * 100:g} % of the capacity",
        ),
    ]
    client_memory: Annotated[
        Written | None,
        option(
            "Main memory of one client, which sizes the data sets of DLIO and MLPerf Storage; by default of the plan's "
            "largest node type, else {default}.",
            "SIZE",
            usual=f"{Setting.client_memory / 2**40:g} TiB",
        ),
    ]
    most_data: Annotated[
        Written | None,
        option(
            "Limit for the data set of a tool; by default what the planned capacity holds at the fill level of the tests.",
            "SIZE",
        ),
    ]
    repeats: Annotated[
        int | str | None,
        option("Runs of each test at first, up to ten; three by default, or one in a rehearsal. One or two give no interval."),
    ]
    years: Annotated[
        int | str | None, option("Years after the start that the tests are for; by default all years of the site file.")
    ]
    step: Annotated[
        int | str | None, option("Delivery step that the tests are for, as the tender numbers them: 0 is the first delivery.")
    ]
    allowed_deviation: Annotated[
        Written,
        option(
            "Share of the requirement by which the lower bound of the median of the runs may miss it.",
            "F",
            quantity="allowed_deviation",
            default=Setting.allowed_deviation,
        ),
    ]
    force: Annotated[bool, option("Replace the tests that an earlier call wrote into the folder; results stay.", default=False)]
    catalogs: Annotated[str | Path | Sequence[str | Path], CATALOGS]


@decimal_units()
def accept(plan: str | Path, folder: str | Path, **options: Unpack[AcceptOptions]) -> Acceptance:
    """Write acceptance tests for the requirement lines of a plan.

    Args:
        plan: a site file, or the JSON that `ingest plan SITE.yaml -o plan.json` writes.
        folder: new or empty.

    Raises:
        UsageError: an unknown tool or scale, a tool given twice, or a folder that is not empty.
        IngestError: an invalid plan, a missing hosts file, a folder that cannot be written.
    """
    asked: dict[str, Any] = {**filled_options(AcceptOptions, options, "accept")}
    tool, scale, catalogs = asked["tool"], asked["scale"], asked["catalogs"]
    one_of("--scale", scale, SCALES)
    tools = [*each_once("tool", ((name, None) for name in ([tool] if isinstance(tool, str) else tool or TOOLS[:1])))]
    for name in tools:
        one_of("--tool", name, TOOLS)
    data, step = _planned(plan, catalogs, asked["root"], asked["years"], asked["step"])
    lines = lines_of(Path(plan), data)
    for line in lines:
        check_bounds(line, str(plan))

    def given(option: str, written: Written, most: float) -> Input:
        return Input(float(within(option, written, "B", 1, most)), grade="given", note=option)

    memory, cache = asked["client_memory"], asked["server_cache"]
    memory = memory_of(data, catalogs) if memory is None else given("--client-memory", memory, MOST_MEMORY)
    deviation, repeats = "--allowed-deviation", asked["repeats"]
    setting = Setting(
        scale=scale,
        client_memory=memory.value,
        repeats=parse_whole(repeats, "--repeats", 1, MOST_RUNS) if repeats is not None else 1 if scale == "1node" else 3,
        allowed_deviation=read_value("allowed_deviation", asked["allowed_deviation"], deviation),
    )
    clauses = data.get("service") or ()
    service, terms = limits_of(clauses, str(plan)), terms_of(clauses, str(plan))
    logged = any(limit.key == STALL for limit in service)
    network = None if scale == "1node" else network_of(data, catalogs)
    setting = with_capacity(replace(setting, logs_seconds=logged, network=network), lines)
    cache = server_cache_of(setting, lines) if cache is None else given("--server-cache", cache, MOST_CACHE)
    at_most = None if asked["most_data"] is None else within("--most-data", asked["most_data"], "B", 2**30, 1e21)
    setting = with_data(replace(setting, server_cache=cache.value), lines, tools, at_most)
    tests, untested = _tests(lines, tools, setting)
    if not tests:
        told = "; ".join(f"{ident}: {why}" for ident, why in untested.items()) or "the plan has no requirement line"
        raise IngestError(f"{plan}: found no line that {listed(tools)} can test, expected at least one: {told}")
    made = Acceptance(
        site_name(plan, data) + step,
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
    files = _files(made, asked["hosts"])
    write_folder(folder, files, asked["force"])
    return replace(made, manifest_hash=sha256(files["tests.json"].encode()))


def _planned(
    path: str | Path, catalogs: Folders, root: str | Path | None, years: int | str | None, step: int | str | None
) -> tuple[Mapping[str, Any], str]:
    """The plan up to a year or a delivery step, and the words that name it."""
    if years is None and step is None:
        return plan_data(path, catalogs, root), ""
    name, written = ("--years", years) if step is None else ("--step", step)
    if years is not None and step is not None:
        raise UsageError("--years and --step: found both, expected one of them")
    if Path(path).suffix.lower() not in SITE_SUFFIXES:
        raise UsageError(f"{name}: found the plan {path}, expected a site file, which is planned for the years")
    found = parse_whole(written, name, 0, MOST_YEARS)
    whole = plan_of_site(path, catalogs, root=root)
    steps = [str(row["name"]) for row in whole.tables.get("capacity", ())]
    if step is not None and found >= len(steps):
        raise UsageError(f"--step: found {found}, expected one of 0 to {len(steps) - 1}, the steps of the tender")
    words = f", step {found} ({steps[found]})" if step is not None else f", {found} years after the start"
    return plan_of_site(path, catalogs, found, root).to_dict(), words


def _tests(lines: Sequence[Requirement], tools: Sequence[str], setting: Setting) -> tuple[list[AcceptanceTest], dict[str, str]]:
    tests: list[AcceptanceTest] = []
    untested: dict[str, str] = {}
    shown = also_shown(lines)
    for line in lines:
        if line.id in shown:
            continue
        kinds = {name: kind_of(unmixed(line) if name == "dlio" else line) for name in tools}
        able = [name for name in tools if kinds[name] in KINDS_OF_TOOL[name]]
        try:
            loads_of(line, line.id, setting)
            writers = [(name, writer) for name in able for writer in _writers(name, line, lines, setting)]
            also = {
                other.id: loads_of(other, other.id, setting)[0].threshold for other in lines if shown.get(other.id) == line.id
            }
            tests += [replace(_test(line, name, writer, setting), also=also) for name, writer in writers]
        except NotTestable as why:
            untested[line.id] = str(why)
        else:
            if not writers:
                reason = _why_not_dlio(line, setting) if tools == ["dlio"] else ""
                untested[line.id] = reason or f"{', '.join(tools)} cannot time it, but another tool can"
    return tests, untested


#: Reads that are not of samples, in the names of their metrics.
OTHER_READS = ("offload", "kv", "nvme")


def reads_samples(line: Requirement) -> bool:
    """Whether a line is about the reads of samples by training jobs, which DLIO is made for: no restore, no copy."""
    named = line.metric.endswith("read_bandwidth") or line.metric.startswith("ingest_bandwidth")
    return kind_of(unmixed(line)) == "read" and named and not any(word in line.metric for word in OTHER_READS)


def unmixed(line: Requirement) -> Requirement:
    """A line on reads of several sizes or patterns as one on their whole, which DLIO reads in its own requests."""
    only_reads = line.conditions.mix and all(part.operation == "read" for part in line.conditions.mix)
    return replace(line, conditions=replace(line.conditions, operation="read", mix=())) if only_reads else line


def _why_not_dlio(line: Requirement, setting: Setting) -> str:
    """Why DLIO does not test a line; empty where it does."""
    if not reads_samples(line):
        return "it is not about reads of samples, which dlio is made for"
    if setting.data is None or float(solve("required_bandwidth_per_client", given_for(line, setting))) >= TRIVIAL:
        return ""
    return f"each client reads less than {display(TRIVIAL, 'B/s', binary=False)}, which any storage reaches"


def _writers(tool: str, line: Requirement, lines: Sequence[Requirement], setting: Setting) -> tuple[str, ...]:
    """The load generators that write tests of a line with a tool.

    DLIO reads like a training job, not like a restore or a copy. MLPerf Storage needs at least half a terabyte for each
    accelerator, so it cannot be rehearsed, and tests the line with the highest rate only.
    """
    shared = [one for one in loads_of(line, line.id, setting) if one.files == "shared" and one.operation in DATA]
    if tool == "fio" and any(one.pattern != "random" for one in shared) and kind_of_line(line.id) != LOADS["SYNC"]:
        # All its threads would read or write the same bytes at a time, as hosts that pull new weights do.
        return ()
    if tool != "dlio":
        return (tool,)
    if _why_not_dlio(line, setting):
        return ()
    # MLPerf Storage reads through the page cache.
    data, given = setting.data, given_for(line, setting)
    fits = data is None or solve("memory_rule_bytes", {**given, "clients_under_test": data.clients}) <= data.room
    fastest = max((one for one in lines if reads_samples(one)), key=lambda one: one.value, default=line)
    return (tool, dlio.MLPERF) if line.id == fastest.id and fits and not setting.rehearsal else (tool,)


def _test(line: Requirement, tool: str, name: str, setting: Setting) -> AcceptanceTest:
    ident = f"{id_of_test(line.id)}-{name}"
    writer = GENERATORS[name]
    line = unmixed(line) if tool == "dlio" else line
    task = Task(ident, line, loads_of(line, ident, setting), setting)
    carried = setting.network or 0
    task = Task(ident, line, tuple(replace(one, network=carried * one.clients or None) for one in writer.loads(task)), setting)
    # Defaults for conditions that the line leaves open.
    usual = {"threads": USUAL_THREADS}
    if physical(line.unit) == "B/s":
        usual |= {"duration": USUAL_SECONDS} | ({} if line.conditions.mix or tool == "dlio" else {"io_size": USUAL_REQUEST})
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
        assumed={name: value for name, value in usual.items() if getattr(line.conditions, name) is None},
        parameters=writer.parameters(task),
        notes=_notes(line, task.loads),
        implied={
            name: value
            for load in task.loads
            for least in (line.conditions.implied_latency if line.conditions.io_size == load.io_bytes else None,)
            for name, value in {**implied_by(load, least), **confidence_of(task.requirement, load)}.items()
        },
        files=writer.job_files(task),
    )


def _notes(line: Requirement, loads: Sequence[Load]) -> tuple[str, ...]:
    """Limits of a test, in words."""
    sizes: list[int | None] = [part.io_size for part in line.conditions.mix] or [line.conditions.io_size]
    notes = []
    # A line on metadata has one load, whatever files it opens.
    for size, load in zip(sizes if loads[0].operation in DATA else [None], loads, strict=True):
        if size and load.io_bytes is not None and load.operation == "read":
            growth = solve("request_growth", {"aligned_io_bytes": load.io_bytes, "requested_io_bytes": size})
            if growth > GROWN:
                notes.append(
                    f"direct I/O takes no requests of {display(size, 'B', binary=False)}: the test uses"
                    f" {display(load.io_bytes, 'B')} and {growth:.3g} times fewer requests. It proves the bandwidth, not the"
                    " requests per second"
                )
        given = {"required_bandwidth": load.threshold, "clients_under_test": load.clients}
        each = float(solve("required_bandwidth_per_client", given))
        if load.unit == "B/s" and each < TRIVIAL:
            rate = display(each, "B/s", binary=False)
            notes.append(f"each client {load.operation}s at most {rate}: any storage reaches that")
    return tuple(notes)


def _files(made: Acceptance, hosts: str | Path | None) -> dict[str, str]:
    files = {name: content for test in made.tests for name, content in test.files.items()}
    if hosts is not None:
        place = f"--hosts: {hosts}"
        clients = read_text(hosts, "one client per line", place=place).split()
        if not clients:
            raise IngestError(f"{place}: found no client, expected one client per line")
        files["hosts.txt"] = "".join(checked_host(client, place) + "\n" for client in clients)
    if not made.setting.rehearsal:
        # The random reads of fio hold all files of a client open, those of each load in one test.
        loads = [[load for load in test.loads if load.operation == "read"] for test in made.tests if test.tool == "fio"]
        most = max((sum(load.pattern == "random" and load.files != "shared" for load in reads) for reads in loads), default=0)
        data, fill = made.setting.data, round(made.fill * 100)
        count, threads = (data.clients, " ".join(map(str, data.threads))) if data else (0, "")
        files["fio/servers.sh"] = filled(template("servers.sh"), clients=count, threads=threads, open=most)
        files |= {"ballast.sh": filled(template("ballast.sh"), percent=fill)} if made.fill else {}
    files["README.md"] = "\n".join(readme(made)) + "\n"
    files["tests.json"] = json.dumps(made.to_dict(), indent=1, ensure_ascii=False) + "\n"
    sums = "".join(f"{sha256(content.encode())}  {name}\n" for name, content in sorted(files.items()))
    return {**files, "SHA256SUMS": sums}


class LoadRow(NamedTuple):
    """One load of a test, whose id has no name of a tool, and the line that it shows."""

    test: str
    line: Requirement
    load: Load


def id_of_test(requirement_id: str) -> str:
    """The id of a requirement's test, to which job files append the name of their tool: `T-READ-01` of `R-READ-01`."""
    return f"T-{requirement_id.removeprefix('R-')}"


def rows_of(lines: Sequence[Requirement]) -> list[LoadRow]:
    """One row per requirement and load, in the order of the lines; none where no performance test applies."""
    rows: list[LoadRow] = []
    shown = also_shown(lines)
    for line in lines:
        # The test of a higher line covers the lower ones under the same conditions.
        test = id_of_test(shown.get(line.id, line.id))
        with suppress(NotTestable):
            rows += [LoadRow(test, line, load) for load in loads_of(line, test, Setting())]
    return rows


def shown_by(lines: Sequence[Requirement]) -> dict[str, str]:
    """Requirement id -> id of its test, for requirements with a performance test."""
    return {row.line.id: row.test for row in rows_of(lines)}


def also_shown(lines: Sequence[Requirement]) -> Mapping[str, str]:
    """Requirement id -> id of the line with the highest value under the same conditions, whose test covers both."""
    shown: dict[str, str] = {}
    # Lines with the same have the same tests: the rate of one node is that of a test of one client.
    tested = [
        (line.unit.removesuffix("/node") if line.conditions.clients == 1 else line.unit, kind_of(line), line.conditions)
        for line in lines
    ]
    for line, own in zip(lines, tested, strict=True):
        if kind_of(line) not in (*DATA, *METADATA) or why_not(line):
            continue
        same = [other for other, test in zip(lines, tested, strict=True) if test == own]
        # A buyer may omit the test of a target: it must not be the only test of a mandatory line.
        rank = PRIORITIES.index(line.priority)
        most = max((one for one in same if PRIORITIES.index(one.priority) <= rank), key=lambda one: one.value)
        if most.id != line.id:
            shown[line.id] = most.id
    return shown


def repeated(line: Requirement, lines: Sequence[Requirement]) -> str:
    """Why a line is stated beside one before it with its value and requests; empty where none has both."""
    shown, parts = also_shown(lines), ("operation", "io_size", "pattern", "mix")
    tested = {one.id: (one.value, physical(one.unit), *(getattr(one.conditions, part) for part in parts)) for one in lines}
    asked = [one for one in lines[: [one.id for one in lines].index(line.id)] if one.priority != INFORMATION]
    for other in asked if line.priority != INFORMATION else ():
        if tested[line.id] != tested[other.id]:
            continue
        if shown.get(line.id, line.id) == shown.get(other.id, other.id):
            return f" Value and conditions are those of {other.id}: one test shows both."
        if line.conditions.clients != other.conditions.clients:
            clients = (f"{one.conditions.clients:,}" for one in (line, other))
            return " The value is that of {}, from {} clients instead of {}.".format(other.id, *clients)
    return ""
