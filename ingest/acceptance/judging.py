"""`ingest verdict`: results against the tests that asked for them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ingest.formulas.acceptance  # noqa: F401  registers the formulas
from ingest.acceptance.folder import sha256
from ingest.acceptance.manifest import tests_in
from ingest.acceptance.matching import differences
from ingest.acceptance.outputs.any import is_companion, runs_in
from ingest.acceptance.records import AcceptanceTest, Load, Observed, Run
from ingest.errors import IngestError
from ingest.formula import solve
from ingest.planned import read_object
from ingest.units import display

if TYPE_CHECKING:
    import pandas

PASS, FAIL, NOT_TESTED = "pass", "fail", "not tested"


@dataclass(frozen=True)
class Judged:
    """One test, or one requirement, and what its runs say.

    Attributes:
        id: of the test or the requirement.
        requirement: id of the requirement.
        priority: of the requirement.
        result: `pass`, `fail` or `not tested`.
        measured: median of the runs that count; of the load with the smallest margin where there are several.
        required: the threshold it is held against.
        unit: of both.
        margin: share by which it is above.
        why: what decided, or what is missing.
        tests: which tests decided a requirement.
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

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of CONTRACT."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Verdict:
    """The verdict on a folder of tests.

    Attributes:
        site: name of the site.
        scale: `full` or `1node`.
        requirements: one entry per requirement line.
        tests: one entry per test.
        refused: file -> why it does not count.
    """

    site: str
    scale: str
    requirements: tuple[Judged, ...]
    tests: tuple[Judged, ...]
    refused: Mapping[str, str]

    @property
    def results(self) -> Mapping[str, Judged]:
        """The requirements by id."""
        return {one.id: one for one in self.requirements}

    @property
    def unmet(self) -> str:
        """The mandatory requirements that failed; empty where none did."""
        failed = [one.id for one in self.requirements if one.result == FAIL and one.priority == "mandatory"]
        return f"verdict: mandatory requirements failed: {', '.join(failed)}" if failed else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Results that do not count, and what a rehearsal does not prove."""
        refused = tuple(f"{name} does not count: {why}" for name, why in self.refused.items())
        rehearsal = ("these are rehearsals on one machine: they prove no requirement of the whole system",)
        return refused + (rehearsal if self.scale == "1node" else ())

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of CONTRACT."""
        from ingest import __version__

        return {
            "schema": "ingest/1",
            "command": "verdict",
            "version": __version__,
            "site": self.site,
            "scale": self.scale,
            "requirements": [one.to_dict() for one in self.requirements],
            "tests": [one.to_dict() for one in self.tests],
            "refused": dict(self.refused),
            "warnings": list(self.warnings),
        }

    def to_frame(self) -> pandas.DataFrame:
        """One row per requirement."""
        import pandas

        return pandas.DataFrame([one.to_dict() for one in self.requirements])


def verdict(folder: str | Path, results: str | Path | Sequence[str | Path]) -> Verdict:
    """Judge results of acceptance tests.

    Args:
        folder: what `ingest accept` wrote.
        results: result files, or folders of them.

    Raises:
        IngestError: a folder without tests, job files that were changed, a file that is no result of a known tool,
            or is cut off.
    """
    folder = Path(folder)
    manifest = read_object(_manifest(folder))
    tests = tests_in(manifest, str(folder / "tests.json"))
    _unchanged(folder, tests)
    paths = [results] if isinstance(results, (str, Path)) else list(results)
    runs, refused = _gather(paths)
    counting: dict[str, list[Run]] = {test.id: [] for test in tests}
    for run in runs:
        why = _refusal(run, tests)
        if why:
            refused[run.file] = why
        else:
            counting[run.test].append(run)
    judged = tuple(_judge(test, counting[test.id], _reasons(test, runs, refused)) for test in tests)
    lines = manifest.get("requirements", [])
    requirements = tuple(_requirement(line, judged, manifest.get("untested", {})) for line in lines)
    return Verdict(str(manifest.get("site", "")), str(manifest.get("scale", "")), requirements, judged, refused)


def _manifest(folder: Path) -> Path:
    path = folder / "tests.json"
    if not path.is_file():
        raise IngestError(f"{folder}: found no tests.json, expected a folder that `ingest accept` wrote")
    return path


def _unchanged(folder: Path, tests: Sequence[AcceptanceTest]) -> None:
    for test in tests:
        for name, expected in test.files.items():
            try:
                found = sha256((folder / name).read_bytes())
            except OSError as error:
                raise IngestError(f"{folder / name}: cannot be read: {error.strerror}, expected a file of {test.id}") from None
            if found != expected:
                raise IngestError(
                    f"{folder / name}: was changed after `ingest accept` wrote it, expected sha256 {expected[:12]}…"
                )


def _gather(paths: Iterable[str | Path]) -> tuple[list[Run], dict[str, str]]:
    """All runs in files and folders; what a folder holds beside results is named, a named file must be one."""
    runs: list[Run] = []
    refused: dict[str, str] = {}
    for given in map(Path, paths):
        if not given.is_dir():
            runs += runs_in(given)
            continue
        for path in sorted(item for item in given.rglob("*") if item.is_file()):
            if is_companion(path.relative_to(given)):
                continue
            try:
                runs += runs_in(path)
            except IngestError as error:
                refused[str(path)] = str(error).removeprefix(f"{path}: ")
    return runs, refused


def _refusal(run: Run, tests: Sequence[AcceptanceTest]) -> str:
    """Why a run counts for no test of this folder."""
    by_id = {test.id: test for test in tests}
    if run.test not in by_id:
        named = f"of {run.test}" if run.test else "that names no test"
        return f"it is a result {named}, expected one of {', '.join(by_id) or 'none: the folder has no tests'}"
    return "; ".join(differences(by_id[run.test], run))


def _reasons(test: AcceptanceTest, runs: Sequence[Run], refused: Mapping[str, str]) -> list[str]:
    return [refused[run.file] for run in runs if run.test == test.id and run.file in refused]


def _judge(test: AcceptanceTest, runs: Sequence[Run], refused: Sequence[str]) -> Judged:
    if not runs:
        why = f"its result does not count: {refused[0]}" if refused else "no result"
        return _judged(test, NOT_TESTED, None, None, why)
    loads = [(load, *_measured(test, load, runs)) for load in test.loads]
    load, median, worst = min(loads, key=lambda item: _margin(item[1], item[0].threshold))
    lowest = solve("worst_rate_allowed", {"required_rate": load.threshold, "allowed_deviation": test.allowed_deviation})
    scored = [run.judged for run in runs if run.judged]
    if median < load.threshold:
        return _judged(test, FAIL, load, median, f"{_runs(len(runs))} below the requirement")
    if worst < lowest:
        return _judged(
            test, FAIL, load, median, f"worst run {display(worst, load.unit)}, more than {test.allowed_deviation:.0%} below"
        )
    if "fail" in scored:
        return _judged(test, FAIL, load, median, f"the tool itself calls {scored.count('fail')} of {len(runs)} runs failed")
    if len(runs) < test.repeats:
        return _judged(test, NOT_TESTED, load, median, f"{len(runs)} of {test.repeats} runs")
    return _judged(test, PASS, load, median, _runs(len(runs)))


def _runs(count: int) -> str:
    return "one run" if count == 1 else f"median of {count} runs"


def _measured(test: AcceptanceTest, load: Load, runs: Sequence[Run]) -> tuple[float, float]:
    rates = [_rate(test, seen) for run in runs for seen in run.loads if seen.name == load.name]
    return statistics.median(rates), min(rates)


def _rate(test: AcceptanceTest, seen: Observed) -> float:
    """A rate in the unit of the requirement; DLIO counts samples."""
    if seen.unit != "sample/s":
        return seen.rate
    given = {"measured_samples_per_second": seen.rate, "benchmark_record_bytes": test.parameters["record_length_bytes"]}
    return float(solve("bandwidth_of_samples", given))


def _margin(measured: float, required: float) -> float:
    return float(solve("acceptance_margin", {"measured_rate": measured, "required_rate": required}))


def _judged(test: AcceptanceTest, result: str, load: Load | None, measured: float | None, why: str) -> Judged:
    shown = load or test.loads[0]
    margin = None if measured is None else _margin(measured, shown.threshold)
    return Judged(test.id, test.requirement, test.priority, result, measured, shown.threshold, shown.unit, margin, why)


def _requirement(line: Mapping[str, Any], tests: Sequence[Judged], untested: Mapping[str, str]) -> Judged:
    """A requirement fails with any of its tests, and passes with one where no other fails."""
    ident, priority = str(line.get("id")), str(line.get("priority"))
    own = [test for test in tests if test.requirement == ident]
    ran = [test for test in own if test.result != NOT_TESTED] or [test for test in own if test.measured is not None]
    if not own:
        return Judged(
            ident, ident, priority, NOT_TESTED, None, line.get("value"), str(line.get("unit")), None, untested.get(ident, "")
        )
    decisive = min(ran, key=lambda test: test.margin or 0) if ran else next((t for t in own if t.why != "no result"), own[0])
    failed = any(test.result == FAIL for test in ran)
    result = FAIL if failed else (PASS if any(test.result == PASS for test in ran) else NOT_TESTED)
    decisive = next((test for test in ran if test.result == FAIL), decisive)
    why = f"{decisive.id}: {decisive.why}"
    tested = tuple(test.id for test in ran)
    return Judged(
        ident, ident, priority, result, decisive.measured, decisive.required, decisive.unit, decisive.margin, why, tested
    )
