"""`ingest verdict`: results of acceptance tests against their thresholds."""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.acceptance.manifest import Manifest, ManifestLine, manifest_of
from ingest.acceptance.run_interval import (
    FAIL,
    FEWEST_RUNS,
    MOST_RUNS,
    NOT_TESTED,
    PASS,
    UNDECIDED,
    RunDecision,
    decision_of,
)
from ingest.acceptance.run_validity import differences
from ingest.acceptance.service_limits import JUDGED, TAIL, ServiceLimit, judged_limit, shows
from ingest.acceptance.test_spec import AcceptanceTest, Load, Observed, Run
from ingest.acceptance.tools import is_companion, runs_in
from ingest.engine.registry import solve
from ingest.engine.result import envelope
from ingest.errors import IngestError, cannot_be_read, listed
from ingest.files import read_bytes, read_text, sha256
from ingest.requirement import least_accepted
from ingest.site.plan_file import read_object
from ingest.units import display

if TYPE_CHECKING:
    import pandas

#: Units of service terms: of a rate, and of the mean latency.
SHARE, TIMES = "share", "times the mean"
#: The one word on a folder of tests.
ACCEPTED, NOT_ACCEPTED, INCOMPLETE = "ACCEPTED", "NOT ACCEPTED", "INCOMPLETE"
WRITTEN = "a file of `ingest accept`"
WRITTEN_BY_SCRIPTS = "a file of its scripts"
#: Files in which scripts write the hash of their list of tests, next to results.
MANIFEST_SUFFIX = ".tests.sha256"


@dataclass(frozen=True)
class TestVerdict:
    """The verdict on one test, or on one requirement.

    Attributes:
        id: of the test or the requirement.
        requirement: id of the requirement.
        priority: of the requirement.
        result: `pass`, `fail`, `undecided` or `not tested`.
        measured: median of the runs that count, of the load with the smallest margin.
        required: the threshold.
        unit: of both.
        margin: measured over required, less one.
        why: the reason of the result.
        tests: ids of the tests that ran.
        remark: a latency above the one that the line states beside its rate; it fails nothing.
        runs: that count.
        low, high: interval of the median of the runs; None for fewer than three.
        more: runs that may suffice for a decision; 0 where there is one.
    """

    id: str
    requirement: str
    priority: str
    result: str
    measured: float | None
    required: float | None
    unit: str
    margin: float | None
    why: str
    tests: tuple[str, ...] = ()
    remark: str = ""
    runs: int = 0
    low: float | None = None
    high: float | None = None
    more: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Verdict:
    """The verdict on a folder of tests.

    Attributes:
        manifest: the tests and requirement lines.
        requirements: one entry per requirement line.
        tests: one entry per test.
        refused: file -> why it does not count.
        manifest_hash: sha256 of `tests.json`, to compare with the one that `accept` printed.
    """

    manifest: Manifest
    requirements: tuple[TestVerdict, ...]
    tests: tuple[TestVerdict, ...]
    refused: Mapping[str, str]
    manifest_hash: str

    @property
    def results(self) -> Mapping[str, TestVerdict]:
        """The requirements by id."""
        return {one.id: one for one in self.requirements}

    @property
    def word(self) -> str:
        """`ACCEPTED`, `NOT ACCEPTED` or `INCOMPLETE`; a rehearsal proves nothing and accepts nothing."""
        if self._mandatory(FAIL):
            return NOT_ACCEPTED
        proven = any(one.result == PASS for one in self.requirements) and not self.rehearsal
        return ACCEPTED if proven and not self.unshown else INCOMPLETE

    @property
    def counted(self) -> str:
        """How many of the lines that a test can pass do pass, in words."""
        tested = [one for one in self.requirements if one.id in self.testable]
        passed = [one.priority for one in tested if one.result == PASS]
        mandatory = sum(one.priority == "mandatory" for one in tested)
        return (
            f"{passed.count('mandatory')} of {mandatory} mandatory requirements with a test pass"
            f", {len(passed)} of {len(tested)} in all"
        )

    @property
    def rehearsal(self) -> bool:
        """Whether the tests ran the load of one client on one machine."""
        return self.manifest.scale == "1node"

    @property
    def unmet(self) -> str:
        """The mandatory requirements that failed; empty without any."""
        failed = self._mandatory(FAIL)
        return f"verdict: {NOT_ACCEPTED}: mandatory requirements failed: {listed(failed)}" if failed else ""

    @property
    def unshown(self) -> tuple[str, ...]:
        """The mandatory requirements with a test that neither passed nor failed."""
        return tuple(one for one in self._mandatory(NOT_TESTED, UNDECIDED) if one in self.testable)

    @property
    def incomplete(self) -> str:
        """The mandatory requirements without a decision; empty where all have one."""
        return f"verdict: {INCOMPLETE}: mandatory requirements without a result: {listed(self.unshown)}" if self.unshown else ""

    @property
    def inspected(self) -> Mapping[str, str]:
        """The mandatory requirements that no performance test shows, with the reason."""
        return {ident: self.manifest.untested.get(ident, "") for ident in self._mandatory() if ident not in self.testable}

    @property
    def testable(self) -> set[str]:
        """The requirements that a test can show."""
        limits = {limit.id for limit in self.manifest.service if shows(limit, self.manifest.tests)}
        return limits | {ident for test in self.manifest.tests for ident in (test.requirement, *test.also)}

    def _mandatory(self, *results: str) -> list[str]:
        return [one.id for one in self.requirements if one.priority == "mandatory" and (not results or one.result in results)]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Rejected results, limits of the tests, and mandatory requirements that are not shown."""
        refused = tuple(f"{name} does not count: {why}" for name, why in self.refused.items())
        unshown = (f"mandatory requirements without a result: {', '.join(self.unshown)}",) if self.unshown else ()
        remarks = tuple(f"{one.id}: {one.remark}" for one in self.tests if one.remark)
        rehearsal = ("these are rehearsals on one machine: they prove no requirement of the whole system",)
        return refused + remarks + self.manifest.warnings + (rehearsal if self.rehearsal else ()) + unshown

    def to_dict(self) -> dict[str, Any]:
        """The verdicts as JSON."""
        body = {
            "site": self.manifest.site,
            "verdict": self.word,
            "counted": self.counted,
            "scale": self.manifest.scale,
            "requirements": [one.to_dict() for one in self.requirements],
            "tests": [one.to_dict() for one in self.tests],
            "tests_sha256": self.manifest_hash,
            "refused": dict(self.refused),
            "not_shown": list(self.unshown),
            "inspected": dict(self.inspected),
        }
        return envelope("verdict", body, warnings=self.warnings)

    def to_frame(self) -> pandas.DataFrame:
        """One row per requirement."""
        import pandas

        return pandas.DataFrame([one.to_dict() for one in self.requirements])


def verdict(folder: str | Path, results: str | Path | Sequence[str | Path]) -> Verdict:
    """Judge results of acceptance tests.

    Args:
        folder: that `ingest accept` wrote.
        results: result files, or folders of them.

    Raises:
        IngestError: a folder without tests, changed job files or a changed list of tests, a named file that is cut
            off or not a result of a known tool.
    """
    folder = Path(folder)
    path = folder / "tests.json"
    if not path.is_file():
        raise IngestError(f"{folder}: found no tests.json, expected a folder that `ingest accept` wrote")
    manifest = manifest_of(read_object(path), str(path))
    manifest_hash = _unchanged(folder, manifest.tests)
    paths = [results] if isinstance(results, (str, Path)) else list(results)
    _refuse_foreign(paths, manifest_hash)
    runs, refused = _gather(paths)
    counting: dict[str, list[Run]] = {test.id: [] for test in manifest.tests}
    by_id = {test.id: test for test in manifest.tests}
    for run in sorted(runs, key=_start):
        why = _refusal(run, by_id, counting)
        if why:
            refused[run.file] = why
        else:
            counting[run.test].append(run)
    reasons = {run.test: refused[run.file] for run in reversed(runs) if run.file in refused}
    tests = {test.id: _judge(test, counting[test.id], reasons.get(test.id, "")) for test in manifest.tests}
    requirements = tuple(_requirement(line, _verdicts_on(line, manifest, counting, tests), manifest) for line in manifest.lines)
    requirements += tuple(_limit_verdict(limit, manifest, counting) for limit in manifest.service if limit.key in JUDGED)
    return Verdict(manifest, requirements, tuple(tests.values()), refused, manifest_hash)


def _limit_verdict(limit: ServiceLimit, manifest: Manifest, counting: Mapping[str, list[Run]]) -> TestVerdict:
    """The verdict on a service term, a mandatory clause."""
    found = judged_limit(limit, manifest.tests, counting)
    why = f"{limit.name}: {found.why}"
    unit = TIMES if limit.key == TAIL else SHARE
    return TestVerdict(limit.id, limit.id, "mandatory", found.result, found.measured, limit.quantity, unit, None, why)


def _start(run: Run) -> tuple[float, tuple[tuple[int, str], ...]]:
    """Sorts runs by their start where the tool writes it as a number, then by file: run 2 before run 10."""
    parts = re.split(r"(\d{1,9})", run.file)
    return float(run.began) if run.began.isdigit() else 0, tuple((int(part) if part.isdigit() else -1, part) for part in parts)


def _refuse_foreign(paths: Sequence[str | Path], manifest_hash: str) -> None:
    """Reject folders of results whose scripts belong to another list of tests.

    Raises:
        IngestError: the folder, with both hashes.
    """
    for given in filter(Path.is_dir, map(Path, paths)):
        for path in sorted(given.rglob(f"*{MANIFEST_SUFFIX}")):
            found = read_text(path, WRITTEN_BY_SCRIPTS).split()[:1]
            if found != [manifest_hash]:
                raise IngestError(
                    f"{given}: {path.name}: results of another plan (tests.json {''.join(found)[:12] or 'none'}…)"
                    f", expected {manifest_hash[:12]}…"
                )


def _unchanged(folder: Path, tests: Sequence[AcceptanceTest]) -> str:
    """The hash of the list of tests, after it and the job files are compared with their recorded hashes."""
    lines = (line.partition("  ") for line in read_bytes(folder / "SHA256SUMS", WRITTEN).decode(errors="replace").splitlines())
    manifest_hash = {name: found for found, _, name in lines}.get("tests.json", "none")
    for name, expected in (("tests.json", manifest_hash), *(item for test in tests for item in test.files.items())):
        if sha256(read_bytes(folder / name, WRITTEN)) != expected:
            raise IngestError(f"{folder / name}: was changed after `ingest accept` wrote it, expected sha256 {expected[:12]}…")
    return manifest_hash


def _gather(paths: Iterable[str | Path]) -> tuple[list[Run], dict[str, str]]:
    """The runs in files and folders, and the files of folders that are not results; a named file must be a result."""
    runs: list[Run] = []
    refused: dict[str, str] = {}
    read: dict[str, Path] = {}
    for path, named in _result_files(paths):
        try:
            found, content = runs_in(path), sha256(read_bytes(path, "a result"))
        except IngestError as error:
            if named:
                raise
            refused[str(path)] = str(error).removeprefix(f"{path}: ")
            continue
        if content in read:
            refused[f"{path} (again)" if path == read[content] else str(path)] = f"duplicate of {read[content]}"
            continue
        read[content] = path
        runs += found
    return runs, refused


def _result_files(paths: Iterable[str | Path]) -> Iterable[tuple[Path, bool]]:
    """Every file, and whether the user named it."""
    for given in map(Path, paths):
        if not given.is_dir():
            yield given, True
            continue
        walked = os.walk(given, onerror=_refuse_folder)
        found = sorted(Path(folder, name) for folder, _, names in walked for name in names)
        results = [path for path in found if not is_companion(path.relative_to(given))]
        if not results:
            raise IngestError(f"{given}: found no result, expected a folder that the test scripts wrote (RESULTS)")
        yield from ((path, False) for path in results)


def _refuse_folder(error: OSError) -> None:
    raise IngestError(cannot_be_read(error.filename, error.strerror, "a folder of results"))


def _refusal(run: Run, tests: Mapping[str, AcceptanceTest], counting: Mapping[str, list[Run]]) -> str:
    """Why a run does not count for any test of this folder; runs of one test have different start times."""
    if run.test not in tests:
        named = f"of {run.test}" if run.test else "without the id of a test"
        return f"a result {named}, expected one of {', '.join(tests) or 'none: the folder has no tests'}"
    if reasons := differences(tests[run.test], run):
        return "; ".join(reasons)
    twins = (one.file for one in counting[run.test] if run.began and one.began == run.began and one.file != run.file)
    twin = next(twins, "")
    if twin:
        return f"duplicate of {twin}: both runs have the same start time"
    return f"{MOST_RUNS} runs came before it, which decide" if len(counting[run.test]) >= MOST_RUNS else ""


def _judge(test: AcceptanceTest, runs: Sequence[Run], reason: str) -> TestVerdict:
    if not runs:
        load, why = test.loads[0], f"invalid result: {reason}" if reason else "no result"
        return TestVerdict(test.id, test.requirement, test.priority, NOT_TESTED, None, load.threshold, load.unit, None, why)
    judged = [_judge_load(test, load, runs) for load in test.loads]
    worst = min(judged, key=lambda one: (_ORDER.index(one.result), one.margin))
    return replace(worst, why="; ".join((worst.why, *_latencies(test, runs))), remark=_remark(test, runs))


#: Results of loads, the one first that decides about their test.
_ORDER = (FAIL, UNDECIDED, NOT_TESTED, PASS)


def _judge_load(test: AcceptanceTest, load: Load, runs: Sequence[Run]) -> TestVerdict:
    """The verdict on one load; the least rate that counts as required is the threshold as printed."""
    rates = [_rate(test, seen) for run in runs for seen in run.loads if seen.name == load.name]
    median, least = statistics.median(rates), least_accepted(load.threshold, load.unit)
    found = decision_of(rates, least, test.allowed_deviation) if len(rates) >= FEWEST_RUNS else None
    counted = "one run" if len(runs) == 1 else f"median of {len(runs)} runs"
    part = f" of {load.name.rpartition('.')[2]}" if len(test.loads) > 1 else ""
    failed = sum(run.judged == "fail" for run in runs)
    more = 0
    if len(runs) < test.repeats:
        result, why, more = NOT_TESTED, f"{len(runs)} of {test.repeats} runs", test.repeats - len(runs)
    elif failed:
        result, why = FAIL, f"{test.tool} reports {failed} of {len(runs)} runs as failed"
    elif found is not None:
        result, more = found.result, found.more
        why = f"{counted}{part}, {_words(found, least, load, test)}"
    elif median < least:
        result, why = FAIL, f"{counted}{part} below the requirement"
    else:
        result, why = PASS, counted
    low, high = found.interval if found else (None, None)
    judged = (result, median, load.threshold, load.unit, _margin(median, load.threshold), why)
    return TestVerdict(test.id, test.requirement, test.priority, *judged, runs=len(runs), low=low, high=high, more=more)


def _words(found: RunDecision, least: float, load: Load, test: AcceptanceTest) -> str:
    """The interval of a median, and what follows from it."""
    low, high = (display(end, load.unit, binary=False) for end in found.interval)
    share = f"{(1 - test.allowed_deviation) * 100:g} %"
    if found.result == UNDECIDED:
        return f"{low} to {high}: undecided, run {found.more} more"
    if found.result == PASS:
        return f"at least {low}, which reaches {share} of the requirement"
    if found.interval.high < least:
        return f"at most {high}, below the requirement"
    return f"at least {low} only: {MOST_RUNS} runs do not show {share} of the requirement"


def _latencies(test: AcceptanceTest, runs: Sequence[Run]) -> Iterator[str]:
    """The latencies of each load beside those that its rate implies and its line states."""
    for load in test.loads:
        mean, slow = (_median_of(runs, load, name) for name in ("latency_seconds", "latency_99"))
        if load.unit != "B/s" or mean is None:
            continue
        part = load.name.rpartition(".")[2] if len(test.loads) > 1 else load.operation
        allowed = test.implied.get(f"mean_latency_allowed.{part}")
        of_mean = f" ({_milliseconds(allowed)} at the required rate)" if allowed else ""
        stated = f" ({_milliseconds(load.latency_99)} stated)" if load.latency_99 else ""
        of_slow = f", 99 % within {_milliseconds(slow)}{stated}" if slow is not None else ""
        yield f"{part} latency {_milliseconds(mean)}{of_mean}{of_slow}"


def _milliseconds(seconds: float) -> str:
    """A latency, so that all of a line compare at a glance.

    >>> _milliseconds(0.000512), _milliseconds(1.5)
    ('0.512 ms', '1,500 ms')
    """
    return f"{seconds * 1e3:,.6g} ms"


def _remark(test: AcceptanceTest, runs: Sequence[Run]) -> str:
    """The loads whose 99 % latency exceeds the stated one, which judges no line."""
    found = [(load, _median_of(runs, load, "latency_99")) for load in test.loads]
    above = [
        f"99 % of the {load.operation} requests within {_milliseconds(slow)}, beside a stated {_milliseconds(load.latency_99)}"
        for load, slow in found
        if slow is not None and load.latency_99 is not None and slow > load.latency_99
    ]
    return "; ".join(above)


def _median_of(runs: Sequence[Run], load: Load, name: str) -> float | None:
    known = [getattr(seen, name) for run in runs for seen in run.loads if seen.name == load.name]
    known = [value for value in known if value is not None]
    return statistics.median(known) if known else None


def _rate(test: AcceptanceTest, seen: Observed) -> float:
    """A rate in the unit of the requirement; DLIO counts samples."""
    if seen.unit != "sample/s":
        return seen.rate
    given = {"measured_samples_per_second": seen.rate, "benchmark_record_bytes": test.parameters["record_length_bytes"]}
    return float(solve("bandwidth_of_samples", given))


def _margin(measured: float, required: float) -> float:
    return float(solve("acceptance_margin", {"measured_rate": measured, "required_rate": required}))


def _verdicts_on(
    line: ManifestLine, manifest: Manifest, runs: Mapping[str, list[Run]], tests: Mapping[str, TestVerdict]
) -> list[TestVerdict]:
    """The verdicts of a line's tests, and of tests of higher lines against its own threshold."""
    own = [tests[test.id] for test in manifest.tests if test.requirement == line.id]
    for test in manifest.tests:
        if line.id in test.also:
            load = replace(test.loads[0], threshold=test.also[line.id])
            own.append(_judge(replace(test, loads=(load,)), runs[test.id], ""))
    return own


def _requirement(line: ManifestLine, tests: Sequence[TestVerdict], manifest: Manifest) -> TestVerdict:
    """The verdict on a requirement: a failed test decides, then an undecided one, then one that passed."""
    if not tests:
        why = manifest.untested.get(line.id, "")
        return TestVerdict(line.id, line.id, line.priority, NOT_TESTED, None, line.value, line.unit, None, why)
    decisive = min(tests, key=_weight)
    ran = tuple(test.id for test in tests if test.measured is not None)
    why = f"{decisive.id}: {decisive.why}"
    return replace(decisive, id=line.id, requirement=line.id, priority=line.priority, why=why, tests=ran)


def _weight(test: TestVerdict) -> tuple[int, bool, float]:
    """Sorts failures first, then open tests, passes, tests without a result, each by the smallest margin."""
    return (FAIL, UNDECIDED, PASS, NOT_TESTED).index(test.result), test.why == "no result", test.margin or 0
