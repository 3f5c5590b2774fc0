"""The answer of `accept`: the tests of one folder, with its README for the operator and its helper scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import Any

from ingest.acceptance.judgement import FEWEST_RUNS, MOST_RUNS, milliseconds
from ingest.acceptance.loads import Effort, Setting, effort_of, saved_time, usual_inputs
from ingest.acceptance.service_limits import (
    DEGRADED,
    FAILED_SERVER,
    JUDGED,
    NAMED_TEST,
    MandatoryTerm,
    ServiceLimit,
    degraded_tests,
    shows,
)
from ingest.acceptance.test_spec import AcceptanceTest, Load
from ingest.acceptance.tools.job_files import filled, template
from ingest.engine.interactive import InteractiveResult
from ingest.engine.registry import solve
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.engine.value import Input
from ingest.files import sha256, table_beside
from ingest.requirement import Requirement
from ingest.sizing.rules import applying, finding
from ingest.text import markdown
from ingest.units import display, parse, stated

ACCEPTANCE_PERIOD = "S-COM-03"
_WRITTEN = table_beside(__file__, "acceptance.yaml")
FILLED_LONG, FULL, ONCE, DEGRADED_RUNS = (_WRITTEN[name] for name in ("filled_long", "full", "once", "degraded_runs"))
IMPLIED: Mapping[str, str] = _WRITTEN["implied"]


@dataclass(frozen=True, repr=False, eq=False)
class Acceptance(InteractiveResult):
    """The tests of one folder."""

    site: str
    folder: str  # where they were written
    setting: Setting
    tests: tuple[AcceptanceTest, ...]  # in the order of the requirements
    untested: Mapping[str, str]  # requirement id -> why no performance test shows it
    requirements: tuple[Requirement, ...]  # lines of the plan
    #: memory, cache: of one client, and of all storage servers
    memory: Input
    cache: Input
    manifest_hash: str = ""  # sha256 of `tests.json`, which `verdict` prints too
    service: tuple[ServiceLimit, ...] = ()  # limits that the service terms of the plan set
    terms: tuple[MandatoryTerm, ...] = ()  # all mandatory service terms of the plan

    @property
    def warnings(self) -> tuple[str, ...]:
        """Limits of the tests, and mandatory requirements without a performance test."""
        mandatory = {line.id for line in self.requirements if line.priority == "mandatory"}
        notes = tuple(dict.fromkeys(f"{test.requirement}: {note}" for test in self.tests for note in test.notes))
        none = tuple(f"{ident}: no performance test: {why}" for ident, why in self.untested.items() if ident in mandatory)
        return self.data_cautions + notes + none

    @property
    def data_cautions(self) -> tuple[str, ...]:
        """Cache effects that the data sets cannot exclude, and a fill longer than the acceptance period of the plan."""
        data, fill = self.setting.data, self.effort.fill_seconds
        if data is None:
            return ()
        short = finding("W55", {"all_dataset_bytes": data.needed, "dataset_room": data.room})
        period = next((one.value for one in self.terms if one.id == ACCEPTANCE_PERIOD), "")
        is_long = fill and period and fill > parse(period, "s", ACCEPTANCE_PERIOD)
        long = (FILLED_LONG.format(display(fill, "s"), period),) if fill and is_long else ()
        return (*(one.message() for one in applying([short])), *long)

    @property
    def effort(self) -> Effort:
        """Hours and bytes of the acceptance."""
        again = [test for tests in self.degraded.values() for test in tests]
        return effort_of(self.tests, self.requirements, self.setting, self.fill, again)

    @property
    def degraded(self) -> Mapping[ServiceLimit, tuple[AcceptanceTest, ...]]:
        """The tests to repeat in degraded operation, with their rates then; none in a rehearsal."""
        limits = () if self.setting.rehearsal else self.service
        return {limit: degraded_tests(limit, self.tests) for limit in limits if limit.key in DEGRADED}

    @property
    def inspected(self) -> tuple[MandatoryTerm, ...]:
        """The mandatory terms that no test of the folder shows."""
        shown = {limit.id for limit in self.service if shows(limit, self.tests)} | {limit.id for limit in self.degraded}
        return tuple(term for term in self.terms if term.id not in shown)

    @property
    def fill(self) -> float:
        """The highest share of the capacity in use under which a line holds; 0 without any."""
        return max((line.conditions.fill or 0 for line in self.requirements), default=0)

    @property
    def results(self) -> Mapping[str, AcceptanceTest]:
        """The tests by id."""
        return {test.id: test for test in self.tests}

    def to_dict(self) -> dict[str, Any]:
        """The tests as JSON, and the manifest `tests.json`."""
        tests = []
        for test in self.tests:
            listed = {name: value for name, value in vars(test).items() if name not in ("loads", "files")}
            hashes = {name: sha256(content.encode()) for name, content in test.files.items()}
            tests.append({**listed, "loads": [asdict(load) for load in test.loads], "files": hashes})
        body = {
            "site": self.site,
            "scale": self.setting.scale,
            "tests": tests,
            "untested": dict(self.untested),
            "requirements": [line.to_dict() for line in self.requirements],
            "effort": self.effort._asdict(),
            "service": [limit._asdict() for limit in self.service],
            "terms": [term._asdict() for term in self.terms],
            "data": None if self.setting.data is None else asdict(self.setting.data),
        }
        # The caches that size data sets, and conditions that lines leave open.
        rows: dict[str, tuple[object, ...]] = {}
        why = "sets the size of the data set"
        if self.setting.data:
            rows["server_cache_bytes"] = (self.cache.value, "B", self.cache.grade, f"{why}: {self.cache.note}")
        if any(test.tool == "dlio" for test in self.tests):
            memory = self.memory
            rows["client_memory_bytes"] = (memory.value, "B/node", memory.grade, f"{why} of DLIO: {memory.note}")
        units = {"threads": "1/node", "io_size": "B", "duration": "s"}
        for test in self.tests:
            for name, value in test.assumed.items():
                why = f"not among the conditions of {test.requirement}"
                rows[f"{test.requirement}: {name}"] = (value, units[name], "assumed", why)
        columns = ("value", "unit", "grade", "why")
        assumptions = [{"name": name} | dict(zip(columns, row, strict=True)) for name, row in rows.items()]
        return envelope("accept", body, assumptions=assumptions, warnings=self.warnings)

    def to_frame(self) -> DataFrame:
        """One row per test and load."""
        rows = [{"test": test.id, "tool": test.tool, **asdict(load)} for test in self.tests for load in test.loads]
        return frame_of(rows)


def readme(made: Acceptance) -> Iterator[str]:
    """The lines of the README as Markdown; user-supplied texts are escaped."""
    setting, requirements = made.setting, {line.id: line for line in made.requirements}
    title = "Rehearsal of the acceptance tests" if setting.rehearsal else "Acceptance tests"
    purpose = template("readme_rehearsal.md").rstrip() if setting.rehearsal else FULL
    effort = [f"- {line}" for line in (made.effort.filled, made.effort.most) if line]
    yield from (
        f"# {title}: {markdown(made.site)}",
        "",
        f"{made.effort.words}.",
        "",
        *effort,
        *([""] if effort else []),
        purpose,
    )
    yield from ("", template("readme_steps.md").rstrip())
    if not setting.rehearsal:
        yield from ("", template("readme_clients.md").rstrip())
        yield from _data(made)
    yield from ("", "## Tests", "", _rule(setting), "")
    passes = setting.repeats >= FEWEST_RUNS
    columns = ["test", "requirement", "priority", "tool", "must reach", *(["passes from"] if passes else []), "runs", "time"]
    yield from (f"| {' | '.join(columns)} |", "|---" * len(columns) + "|")
    for test in made.tests:
        ways = [f"{load.operation} " if len(test.loads) > 1 else "" for load in test.loads]
        parts = [*zip(ways, test.loads, strict=True)]
        must = ", ".join(f"{way}{required_rate(load, rehearsal=setting.rehearsal)}" for way, load in parts)
        given = [{"required_rate": load.threshold, "allowed_deviation": test.allowed_deviation} for load in test.loads]
        least = [
            f"{way}{display(float(solve('accepted_rate', one)), load.unit, binary=False)}"
            for (way, load), one in zip(parts, given, strict=True)
        ]
        cells = [test.id, ", ".join((test.requirement, *test.also)), test.priority, f"{test.tool} ≥ {test.version}", must]
        cells += [", ".join(least)] if passes else []
        yield f"| {' | '.join([*cells, str(test.repeats), saved_time(test)])} |"
    for test in made.tests:
        yield from ("", f"### {test.id}", "", markdown(test.statement), "")
        yield from (f"- {line}" for line in _conditions(test, requirements[test.requirement], setting.rehearsal))
        yield from ("", "```", f"sh {_script(test)}", "```")
    yield from _terms(made)
    if made.untested:
        yield from ("", "## Requirements without a performance test", "")
        yield from (
            f"- {ident}: {markdown(requirements[ident].statement)} {markdown(why)}." for ident, why in made.untested.items()
        )


def required_rate(load: Load, *, rehearsal: bool) -> str:
    """The rate that a load must reach, in the digits of the tender; a share of one client has none there."""
    return display(load.threshold, load.unit) if rehearsal else stated(load.threshold, load.unit)


def _rule(setting: Setting) -> str:
    """When a test passes; the same for all tests of a folder."""
    saved = "`time` is what dropping a test saves; without the last test of a tool, its fill is saved too."
    if setting.repeats < FEWEST_RUNS:
        what = "the rate of its run" if setting.repeats == 1 else "the median of its two runs"
        return f"A test passes where {what} reaches the required one. {saved}"
    share = f"{(1 - setting.allowed_deviation) * 100:g} %"
    return (
        f"A test passes where the one-sided 95 % lower bound of the median of its runs reaches {share} of the required rate,"
        " and fails where the upper bound is below that, too; else the verdict tells how many more to run,"
        f" {MOST_RUNS} in all. {saved}"
    )


def _script(test: AcceptanceTest) -> str:
    return next(name for name in test.files if PurePath(name).name == f"{test.id}.sh")


def _data(made: Acceptance) -> Iterator[str]:
    """What is filled before the tests, and why so much: the rule about caches, and the size that follows from it."""
    data, cached, usable = made.setting.data, made.cache, made.setting.usable
    scripts = sorted({name for test in made.tests for name in test.files if PurePath(name).name.startswith("fill-")})
    told = [*made.data_cautions]
    if data is not None:
        size = display(data.all_bytes, "B", binary=False)
        hours = f", {display(data.fill_seconds, 's')} at the required write rate" if data.fill_seconds else ""
        share = f", {data.all_bytes / usable:.2%} of the capacity" if usable else ""
        times = f"{usual_inputs()['server_cache_multiple']:g} times the read cache of the servers"
        cache_size = f"{display(cached.value, 'B', binary=False)}, {cached.grade}: {cached.note}"
        warm = solve("share_from_cache", {"server_cache_bytes": cached.value, "read_set_bytes": data.uncached})
        told += [
            f"each tool fills {size} once, for all of its tests{hours}{share}",
            f"each test reads at least {times} ({cache_size}), {display(data.uncached, 'B', binary=False)}, where the planned"
            " system holds that much; requests bypass the caches of clients, no client reads what it wrote, and caches are"
            " dropped before each run",
            f"a server cache that has filled again can still serve {warm:.0%} of random reads of so much data: --server-cache",
        ]
    if scripts:
        yield from ("", "## Data", "", *(f"- **{markdown(line)}**" for line in told), "")
        yield from (ONCE, "", "```", *(f"sh {name}" for name in scripts), "```")
    if made.fill:
        yield from ("", filled(template("readme_fill_level.md"), percent=f"{made.fill * 100:g}").rstrip())


def _conditions(test: AcceptanceTest, requirement: Requirement, rehearsal: bool) -> Iterator[str]:
    for load in test.loads:
        size = f" of {display(load.io_bytes, 'B')}" if load.io_bytes else ""
        depth = f" × {load.depth} outstanding requests" if load.depth > 1 else ""
        yield f"{load.pattern} {load.operation}{size}, {load.clients:,} × {load.threads} threads{depth}, {load.files}".strip()
        if len(requirement.conditions.client_groups) > 1 and not rehearsal:
            yield f"clients: {markdown(requirement.conditions.groups_in_words)}; hosts.txt lists them first"
        if load.seconds:
            yield f"measured over {display(load.seconds, 's')}" + ("" if rehearsal else ", after the ramp")
        if load.handled:
            yield f"ends after {load.handled:,} files, which take the duration of the line at the required rate"
        if load.dataset_bytes:
            yield f"from at least {display(load.dataset_bytes, 'B')} of data"
        if load.latency_99:
            yield f"beside the rate: 99 % of the requests within {milliseconds(load.latency_99)}; a longer time is a remark"
    if test.tool == "fio" and test.scale == "full":
        reads = next((load for load in test.loads if load.on_data), None)
        written = f"next {test.loads[0].clients}" if test.loads[0].operation == "open" else "fill"
        files = written if reads is None else "shared" if reads.files == "shared" else f"read {reads.clients}"
        yield f"servers on the clients: `sh fio/servers.sh {files}`"
    for name, value in test.assumed.items():
        yield f"{name.replace('_', ' ')}: {value:,}, not set by the requirement"
    if test.parameters:
        yield "with " + ", ".join(f"{name} = {value:,}" for name, value in test.parameters.items())
    if requirement.conditions.fill:
        yield f"with {requirement.conditions.fill * 100:g} % of the capacity in use"
    if requirement.conditions.cache:
        yield f"caches: {markdown(requirement.conditions.cache)}"
    for ident, threshold in test.also.items():
        required = required_rate(replace(test.loads[0], threshold=threshold), rehearsal=rehearsal)
        yield f"covers {ident}, which requires {required} under the same conditions"
    for note in test.notes:
        yield f"**{markdown(note)}**"
    for name, value in test.implied.items():
        kind = name.rpartition(".")[0]
        yield IMPLIED[kind].format(milliseconds(value) if "latency" in kind else value)


@cache
def steps_of_terms() -> Mapping[str, str]:
    """Id of a term -> the steps of its test, with `@value@`."""
    parts = re.split(r"^# (S-\S+)\n", template("terms.md"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def _named(made: Acceptance, term: MandatoryTerm) -> AcceptanceTest | None:
    """The test of the line that a term's verification names, else the first test of the folder."""
    lines = [f"R-{name[2:]}" for name in NAMED_TEST.findall(term.verification)]
    shows = (test for line in lines for test in made.tests if line in (test.requirement, *test.also))
    return next(shows, made.tests[0] if made.tests else None)


def _terms(made: Acceptance) -> Iterator[str]:
    """Service terms: those that the tests show, degraded operation, and what remains to be inspected."""
    shown = [limit for limit in made.service if limit.key in JUDGED]
    if shown:
        yield from ("", "## Service terms that the tests show", "")
        yield from (f"- {limit.id}, {markdown(limit.name)}: {limit.shown}" for limit in shown)
    if made.setting.logs_seconds:
        yield from ("", "fio logs the rate of each second; the scripts keep the logs next to the results.")
    for limit, tests in made.degraded.items():
        option, folder = ("--degraded", "results-degraded") if limit.key == FAILED_SERVER else ("--rebuild", "results-rebuild")
        yield from ("", f"## {markdown(limit.name)} ({limit.id})", "")
        if not tests:
            named = ", ".join(limit.tests)
            yield f"No test of this folder is among those of the term ({named}): agree on another with the vendor."
            continue
        yield DEGRADED_RUNS.format(share=limit.shown, state=DEGRADED[limit.key], option=option, folder=folder)
        yield from ("", "| test | load | must reach |", "|---|---|---|")
        loads = ((test, load) for test in tests for load in test.loads)
        yield from (f"| {test.id} | {load.name} | {stated(load.threshold, load.unit)} |" for test, load in loads)
        yield from ("", "```", *(f"RESULTS=$PWD/{folder} sh {_script(test)}" for test in tests), "```")
    if made.inspected and not made.setting.rehearsal:
        yield from ("", "## Mandatory terms to be inspected", "", "`ingest verdict` lists them, and does not judge them.", "")
        yield from (f"- {term.id}, {markdown(f'{term.name}, {term.value}: {term.verification}')}" for term in made.inspected)
        # Steps of terms run the test of fio with the highest rate of reads again.
        alone = [test for test in made.tests if test.tool == "fio" and [load.operation for load in test.loads] == ["read"]]
        reads = max(alone, key=lambda test: test.loads[0].threshold, default=None)
        for term in made.inspected:
            steps = steps_of_terms().get(term.id, "")
            again_run = _named(made, term)
            if steps and (reads is not None or "@reads@" not in steps) and (again_run is not None or "@script@" not in steps):
                again = {} if reads is None else {"reads": reads.id, "line": reads.requirement}
                again |= {} if again_run is None else {"script": _script(again_run), "test": again_run.id}
                yield from ("", f"### {term.id}: {markdown(term.name)}", "")
                yield filled(steps, value=markdown(term.value), **again)
