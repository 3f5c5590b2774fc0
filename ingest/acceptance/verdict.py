"""`ingest verdict`: results of acceptance tests against their thresholds."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.acceptance.manifest import Manifest, ManifestLine, manifest_of
from ingest.acceptance.run_validity import differences
from ingest.acceptance.test_spec import AcceptanceTest, Load, Observed, Run
from ingest.acceptance.tools import is_companion, runs_in
from ingest.engine.registry import solve
from ingest.engine.result import envelope
from ingest.errors import IngestError, cannot_be_read
from ingest.files import read_bytes, sha256
from ingest.requirement import least_accepted
from ingest.site.plan_file import read_object
from ingest.units import display

if TYPE_CHECKING:
    import pandas

PASS, FAIL, NOT_TESTED = "pass", "fail", "not tested"
WRITTEN = "a file of `ingest accept`"


@dataclass(frozen=True)
class TestVerdict:
    """The verdict on one test, or on one requirement.

    Attributes:
        id: of the test or the requirement.
        requirement: id of the requirement.
        priority: of the requirement.
        result: `pass`, `fail` or `not tested`.
        measured: median of the runs that count, of the load with the smallest margin.
        required: the threshold.
        unit: of both.
        margin: measured over required, less one.
        why: the reason of the result.
        tests: ids of the tests that ran.
        remark: a latency above the one that stands beside the rate; it fails nothing.
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
    def unmet(self) -> str:
        """The mandatory requirements that failed; empty without any."""
        failed = self._mandatory(FAIL)
        return f"verdict: mandatory requirements failed: {', '.join(failed)}" if failed else ""

    @property
    def unshown(self) -> tuple[str, ...]:
        """The mandatory requirements with a test and without a valid result."""
        testable = {ident for test in self.manifest.tests for ident in (test.requirement, *test.also)}
        return tuple(ident for ident in self._mandatory(NOT_TESTED) if ident in testable)

    def _mandatory(self, result: str) -> list[str]:
        return [one.id for one in self.requirements if one.result == result and one.priority == "mandatory"]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Rejected results, limits of the tests, and mandatory requirements that are not shown."""
        refused = tuple(f"{name} does not count: {why}" for name, why in self.refused.items())
        names = ", ".join(self.unshown)
        unshown = (f"NOT TESTED, though mandatory: {names}, which have no valid test result",) if names else ()
        remarks = tuple(f"{one.id}: {one.remark}" for one in self.tests if one.remark)
        rehearsal = ("these are rehearsals on one machine: they prove no requirement of the whole system",)
        return refused + remarks + self.manifest.warnings + (rehearsal if self.manifest.scale == "1node" else ()) + unshown

    def to_dict(self) -> dict[str, Any]:
        """The verdicts as JSON."""
        body = {
            "site": self.manifest.site,
            "scale": self.manifest.scale,
            "requirements": [one.to_dict() for one in self.requirements],
            "tests": [one.to_dict() for one in self.tests],
            "tests_sha256": self.manifest_hash,
            "refused": dict(self.refused),
            "not_shown": list(self.unshown),
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
    runs, refused = _gather(paths)
    counting: dict[str, list[Run]] = {test.id: [] for test in manifest.tests}
    by_id = {test.id: test for test in manifest.tests}
    for run in runs:
        why = _refusal(run, by_id, counting)
        if why:
            refused[run.file] = why
        else:
            counting[run.test].append(run)
    reasons = {run.test: refused[run.file] for run in reversed(runs) if run.file in refused}
    tests = {test.id: _judge(test, counting[test.id], reasons.get(test.id, "")) for test in manifest.tests}
    requirements = tuple(_requirement(line, _verdicts_on(line, manifest, counting, tests), manifest) for line in manifest.lines)
    return Verdict(manifest, requirements, tuple(tests.values()), refused, manifest_hash)


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
        for path in sorted(Path(folder, name) for folder, _, names in walked for name in names):
            if not is_companion(path.relative_to(given)):
                yield path, False


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
    return next((f"duplicate of {twin}: both runs have the same start time" for twin in twins), "")


def _judge(test: AcceptanceTest, runs: Sequence[Run], reason: str) -> TestVerdict:
    load, median, margin = test.loads[0], None, None
    if runs:
        rates = {
            load: [_rate(test, seen) for run in runs for seen in run.loads if seen.name == load.name] for load in test.loads
        }
        load = min(rates, key=lambda load: _margin(statistics.median(rates[load]), least_accepted(load.threshold, load.unit)))
        median = statistics.median(rates[load])
        margin = _margin(median, load.threshold)
        result, why = _result(test, runs, load, rates[load])
        why = "; ".join((why, *_latencies(test, runs)))
    else:
        result, why = NOT_TESTED, f"invalid result: {reason}" if reason else "no result"
    judged = (result, median, load.threshold, load.unit, margin, why)
    return TestVerdict(test.id, test.requirement, test.priority, *judged, remark=_remark(test, runs))


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


def _result(test: AcceptanceTest, runs: Sequence[Run], load: Load, rates: Sequence[float]) -> tuple[str, str]:
    """The result of a test and its reason; the least rate that passes is the threshold as printed."""
    least = least_accepted(load.threshold, load.unit)
    lowest = solve("worst_rate_allowed", {"required_rate": least, "allowed_deviation": test.allowed_deviation})
    failed = [run for run in runs if run.judged == "fail"]
    counted = "one run" if len(runs) == 1 else f"median of {len(runs)} runs"
    part = f" of {load.name.rpartition('.')[2]}" if len(test.loads) > 1 else ""
    if statistics.median(rates) < least:
        return FAIL, f"{counted}{part} below the requirement"
    if min(rates) < lowest:
        return FAIL, f"worst run{part} {display(min(rates), load.unit)}, more than {test.allowed_deviation:.0%} below"
    if failed:
        return FAIL, f"{test.tool} reports {len(failed)} of {len(runs)} runs as failed"
    if len(runs) < test.repeats:
        return NOT_TESTED, f"{len(runs)} of {test.repeats} runs"
    return PASS, counted


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
    """The verdict on a requirement, which fails if any of its tests fails, and passes if at least one passes."""
    if not tests:
        why = manifest.untested.get(line.id, "")
        return TestVerdict(line.id, line.id, line.priority, NOT_TESTED, None, line.value, line.unit, None, why)
    decisive = min(tests, key=_weight)
    ran = tuple(test.id for test in tests if test.measured is not None)
    why = f"{decisive.id}: {decisive.why}"
    return replace(decisive, id=line.id, requirement=line.id, priority=line.priority, why=why, tests=ran)


def _weight(test: TestVerdict) -> tuple[int, bool, float]:
    """Sorts failures first, then passes, then tests without a result, each by the smallest margin."""
    return (FAIL, PASS, NOT_TESTED).index(test.result), test.why == "no result", test.margin or 0
