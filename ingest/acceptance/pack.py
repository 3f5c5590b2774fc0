"""A folder of tests: its README for the operator, helper scripts, and the frame of test scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING

from ingest.acceptance.datasets import data_cost
from ingest.acceptance.latencies import milliseconds
from ingest.acceptance.loads import Task, TestData
from ingest.acceptance.run_interval import FEWEST_RUNS, MOST_RUNS
from ingest.acceptance.term_steps import readme_terms
from ingest.acceptance.test_spec import AcceptanceTest, Load
from ingest.engine.registry import INPUTS, solve
from ingest.requirement import Requirement
from ingest.text import markdown
from ingest.units import display

if TYPE_CHECKING:
    from ingest.acceptance.acceptance_result import Acceptance

FULL = "Each test proves one requirement line. Run the scripts on the driver, a machine that reaches every client."
ONCE = "Once, before the tests of each tool; remove its data before the next tool fills its own:"
IMPLIED = {
    "required_requests_per_second": "implied: {:,.0f} requests per second",
    "requests_in_flight": "implied: a queue depth of {:,.0f} requests",
    "mean_latency_allowed": "implied: a mean latency of at most {}",
    "confident_seconds": "mean and 99 % latency are known within 5 %, at 95 % confidence, after {:,.3g} s of independent reads",
    "precision_of_test": "over the whole test they are known within {:.2%}; the spread between runs is judged by the runs",
}


@cache
def _template(name: str) -> str:
    return (files("ingest.acceptance") / "templates" / name).read_text(encoding="utf-8")


def _filled(template: str, **values: object) -> str:
    """A template with its values between `@`: shell scripts use `$` and braces themselves."""
    for name, value in values.items():
        template = template.replace(f"@{name}@", str(value))
    return template


def readme(made: Acceptance) -> Iterator[str]:
    """The lines of the README as Markdown; user-supplied texts are escaped."""
    setting, requirements = made.setting, {line.id: line for line in made.requirements}
    title = "Rehearsal of the acceptance tests" if setting.rehearsal else "Acceptance tests"
    purpose = _template("readme_rehearsal.md").rstrip() if setting.rehearsal else FULL
    yield from (f"# {title}: {markdown(made.site)}", "", f"{made.effort.words}.", "", *_effort(made), purpose, "")
    yield _template("readme_steps.md").rstrip()
    if not setting.rehearsal:
        yield from ("", _template("readme_clients.md").rstrip())
        yield from _data(made)
    yield from ("", "## Tests", "", "| test | requirement | priority | tool | must reach | runs |", "|---|---|---|---|---|---|")
    for test in made.tests:
        must = ", ".join(_must(load, test) for load in test.loads)
        tool = f"{test.tool} ≥ {test.version}"
        lines = ", ".join((test.requirement, *test.also))
        yield f"| {test.id} | {lines} | {test.priority} | {tool} | {must} | {test.repeats} |"
    for test in made.tests:
        yield from ("", f"### {test.id}", "", markdown(test.statement), "")
        yield from (f"- {line}" for line in _conditions(test, requirements[test.requirement], setting.rehearsal))
        yield from ("", "```", f"sh {_script(test)}", "```")
    yield from readme_terms(made)
    if made.untested:
        yield from ("", "## Requirements without a performance test", "")
        yield from (
            f"- {ident}: {markdown(requirements[ident].statement)} {markdown(why)}." for ident, why in made.untested.items()
        )


def _effort(made: Acceptance) -> Iterator[str]:
    lines = [f"- {line}" for line in (made.effort.filled, made.effort.most) if line]
    yield from (*lines, *([""] if lines else []))


def _data(made: Acceptance) -> Iterator[str]:
    scripts = sorted({name for test in made.tests for name in test.files if PurePath(name).name.startswith("fill-")})
    if scripts:
        yield from (
            "",
            "## Data",
            "",
            *(f"- **{markdown(line)}**" for line in (*made.data_cautions, data_cost(made.setting), *_rule(made))),
            "",
        )
        yield from (ONCE, "", "```", *(f"sh {name}" for name in scripts), "```")
    if made.fill:
        yield from ("", _filled(_template("readme_fill_level.md"), percent=f"{made.fill * 100:g}").rstrip())


def _rule(made: Acceptance) -> Iterator[str]:
    """The rule about caches, and the size that follows from it."""
    data, cache = made.setting.data, made.cache
    if data is None:
        return
    given = {name: found.default for name, found in INPUTS.items() if found.default is not None}
    times = f"{given['server_cache_multiple']:g} times the read cache of the servers"
    read = f"each test reads at least {times} ({display(cache.value, 'B', binary=False)}, {cache.grade}: {cache.note})"
    yield (
        f"{read}, {display(data.uncached, 'B', binary=False)}, where the planned system holds that much; requests bypass the"
        " caches of clients, no client reads what it wrote, and caches are dropped before each run"
    )
    share = solve("share_from_cache", {"server_cache_bytes": made.cache.value, "read_set_bytes": data.uncached})
    yield f"a server cache that has filled again can still serve {share:.0%} of random reads of so much data: --server-cache"


def _script(test: AcceptanceTest) -> str:
    return next(name for name in test.files if PurePath(name).name == f"{test.id}.sh")


def _must(load: Load, test: AcceptanceTest) -> str:
    return (f"{load.operation} " if len(test.loads) > 1 else "") + display(load.threshold, load.unit)


def _conditions(test: AcceptanceTest, requirement: Requirement, rehearsal: bool) -> Iterator[str]:
    for load in test.loads:
        size = f" of {display(load.io_bytes, 'B')}" if load.io_bytes else ""
        depth = f" × {load.depth} outstanding requests" if load.depth > 1 else ""
        yield f"{load.pattern} {load.operation}{size}, {load.clients:,} × {load.threads} threads{depth}, {load.files}".strip()
        if load.seconds:
            yield f"measured over {display(load.seconds, 's')}" + ("" if rehearsal else ", after the ramp")
        if load.handled:
            yield f"ends after {load.handled:,} files, which take the duration of the line at the required rate"
        if load.dataset_bytes:
            yield f"from at least {display(load.dataset_bytes, 'B')} of data"
        if load.latency_99:
            yield f"beside the rate: 99 % of the requests within {milliseconds(load.latency_99)}; a longer time is a remark"
    if test.tool == "fio" and test.scale == "full":
        yield f"servers on the clients: `sh fio/servers.sh {_servers(test)}`"
    yield _rule_of_runs(test)
    for name, value in test.assumed.items():
        yield f"{name.replace('_', ' ')}: {value:,}, not set by the requirement"
    if test.parameters:
        yield "with " + ", ".join(f"{name} = {value:,}" for name, value in test.parameters.items())
    if requirement.conditions.fill:
        yield f"with {requirement.conditions.fill * 100:g} % of the capacity in use"
    if requirement.conditions.cache:
        yield f"caches: {markdown(requirement.conditions.cache)}"
    for ident, threshold in test.also.items():
        yield f"covers {ident}, which requires {display(threshold, test.loads[0].unit)} under the same conditions"
    for note in test.notes:
        yield f"**{markdown(note)}**"
    for name, value in test.implied.items():
        kind = name.rpartition(".")[0]
        yield IMPLIED[kind].format(milliseconds(value) if "latency" in kind else value)


def _rule_of_runs(test: AcceptanceTest) -> str:
    share = f"{(1 - test.allowed_deviation) * 100:g} %"
    if test.repeats < FEWEST_RUNS:
        return "the rate of one run reaches it" if test.repeats == 1 else "the median of two runs reaches it"
    return (
        f"at first {test.repeats} runs: passed where the one-sided 95 % lower bound of their median reaches {share} of the"
        " rate, failed where its upper bound is below that, too; else the verdict tells how many more to run, "
        f"{MOST_RUNS} in all"
    )


def _servers(test: AcceptanceTest) -> str:
    reads = next((load for load in test.loads if load.operation == "read"), None)
    if reads is None:
        return "fill"
    return "shared" if reads.files == "shared" else f"read {reads.clients}"


def helpers(fill: float, data: TestData | None, tests: Iterable[AcceptanceTest]) -> dict[str, str]:
    """Helper scripts: path -> content; without a fill level no ballast."""
    # The random reads of fio hold all files of a client open, those of each load in one test.
    loads = ([load for load in test.loads if load.operation == "read"] for test in tests if test.tool == "fio")
    random = (sum(load.pattern == "random" and load.files != "shared" for load in reads) for reads in loads)
    ballast = {"ballast.sh": _filled(_template("ballast.sh"), percent=round(fill * 100))} if fill else {}
    threads = " ".join(map(str, data.threads)) if data else ""
    servers = _filled(
        _template("servers.sh"), clients=data.clients if data else 0, threads=threads, open=max(random, default=0)
    )
    return {"fio/servers.sh": servers, **ballast}


#: A new folder, so that no existing file is touched.
OWN_FOLDER = 'TARGET=$(cd "$TARGET" && pwd)/@ident@\nmkdir "$TARGET"\n'

#: The folder that a fill script of the tool made.
DATA_FOLDER = 'TARGET=$(cd "$TARGET" && pwd)/@folder@\n'

CLEANED = """trap 'cd / && rm -rf -- "$TARGET"' EXIT
trap 'exit 130' INT TERM HUP
cd "$TARGET"
"""

#: The operator sets how to drop caches, which depends on servers and privileges.
DROPS = """: "${DROP_CACHES:?set DROP_CACHES to a command that drops the caches of clients and servers, or to true for none}"
"""


def script(ident: str, clients: int, rehearsal: bool, body: Iterable[str], *, folder: str = "", drops: bool = False) -> str:
    """A script that runs a test or fills a data set.

    Args:
        ident: of the test, or of the data set.
        clients: least number in the hosts file.
        rehearsal: on this machine alone, in a folder that is removed at the end.
        body: its lines.
        folder: below TARGET; a new one where it has the name of the test. Empty for fio, whose servers have their own.
        drops: whether to drop caches between runs.
    """
    parts = [_template("script.sh")]
    if rehearsal:
        parts += [OWN_FOLDER, CLEANED]
    else:
        parts += [_template("script_hosts.sh"), DROPS if drops else ""]
        parts += [OWN_FOLDER if folder == ident else DATA_FOLDER] if folder else []
    return _filled("".join(parts), ident=ident, clients=clients, folder=folder) + "\n".join(body) + "\n"


def repeated(task: Task, ending: str, commands: Iterable[str], *, drops: bool = False) -> Iterator[str]:
    """Lines that repeat commands, with free file names for their results, and cold caches unless it is a rehearsal."""
    yield f"for turn in $(seq {task.setting.repeats}); do"
    yield f'  free "{ending}"'
    if drops and not task.rehearsal:
        yield '  sh -c "$DROP_CACHES"'
    yield from (f"  {command}" for command in commands)
    yield "done"


def launch(clients: int, threads: int, rehearsal: bool) -> str:
    """The line that sets how MPI starts one rank for each thread; LAUNCH replaces it for srun or another MPI."""
    placed = "" if rehearsal else f" -N {threads} --hostfile $HOSTS"
    return f"LAUNCH=${{LAUNCH:-mpirun -np {clients * threads}{placed}}}"
