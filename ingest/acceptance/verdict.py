"""`ingest verdict`: the requirements of a plan judged by the results of their acceptance tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

from ingest.acceptance.judgement import FAIL, NOT_TESTED, PASS, UNDECIDED, TestVerdict, judged_test
from ingest.acceptance.run_files import CountedRuns, Evidence, counted_runs
from ingest.acceptance.service_limits import (
    FAILED_SERVER,
    JUDGED,
    REBUILD,
    TAIL,
    MandatoryTerm,
    ServiceLimit,
    degraded_tests,
    judged_limit,
    limits_of,
    shows,
    terms_of,
)
from ingest.acceptance.test_spec import AcceptanceTest, Load
from ingest.engine.expression import total
from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import filled, option
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.errors import IngestError, UsageError, listed
from ingest.files import read_bytes, sha256, table_beside
from ingest.site.plan_file import check_object, lines_of, plan_data, read_object
from ingest.text import checked_id, one_line

#: Units of service terms: of a rate, and of the mean latency.
SHARE, TIMES = "share", "times the mean"
#: The one word on a folder of tests.
ACCEPTED, NOT_ACCEPTED, INCOMPLETE = "ACCEPTED", "NOT ACCEPTED", "INCOMPLETE"
#: Share by which sums of thresholds may differ.
SAME = 1e-9
#: What `valid` leaves open, said wherever validity is printed.
UNPROVEN: str = table_beside(__file__, "acceptance.yaml")["unproven"]
WRITTEN = "a file of `ingest accept`"
SCHEMA_FILE = Path(__file__).parent / "tests.schema.json"


@dataclass(frozen=True)
class ManifestLine:
    """A requirement line of the manifest; `value` is None where the plan leaves it open."""

    id: str
    priority: str
    value: float | None
    unit: str


@dataclass(frozen=True)
class Manifest:
    """The tests and requirement lines that `ingest accept` wrote."""

    site: str
    scale: str
    tests: tuple[AcceptanceTest, ...]
    lines: tuple[ManifestLine, ...]  # all requirement lines of the plan
    untested: Mapping[str, str]  # requirement id -> why it has no test
    warnings: tuple[str, ...]  # of `accept`, on limits of the tests
    service: tuple[ServiceLimit, ...] = ()  # limits that the service terms of the plan set
    terms: tuple[MandatoryTerm, ...] = ()  # all mandatory service terms of the plan; empty in manifests of earlier versions


def manifest_of(found: Mapping[str, Any], where: str) -> Manifest:
    """The manifest in a JSON object, which may have been edited since `ingest accept` wrote it.

    Raises IngestError: not a manifest of `ingest accept`; with the key.
    """
    check_object(found, SCHEMA_FILE, where)
    tests, names = [], [part.name for part in fields(Load)]
    for row in found["tests"]:
        place = f"{where}: {one_line(row['id'])}"
        for name in ("id", "requirement"):
            checked_id(row[name], f"{place}: {name}")
        if any(name.startswith("/") or ".." in name.split("/") for name in row["files"]):
            raise IngestError(f"{place}: files: found a path that leaves the folder, expected what `ingest accept` writes")
        loads = tuple(Load(**{name: load[name] for name in names if name in load}) for load in row["loads"])
        read = {part.name: row[part.name] for part in fields(AcceptanceTest)}
        tests.append(AcceptanceTest(**{**read, "loads": loads, "notes": tuple(map(one_line, row["notes"]))}))
    lines = []
    for row in found["requirements"]:
        ident, value = checked_id(row["id"], f"{where}: id"), row.get("value")
        lines.append(ManifestLine(ident, row["priority"], None if value is None else float(value), row["unit"]))
    return Manifest(
        one_line(found.get("site", "")),
        one_line(found.get("scale", "")),
        tuple(tests),
        tuple(lines),
        found.get("untested", {}),
        tuple(map(one_line, found.get("warnings", ()))),
        limits_of(found.get("service") or (), where),
        terms_of(found.get("terms") or (), where),
    )


@dataclass(frozen=True, repr=False, eq=False)
class Verdict(InteractiveResult):
    """The verdict on a folder of tests."""

    manifest: Manifest  # the tests and requirement lines
    requirements: tuple[TestVerdict, ...]  # one entry per requirement line, and per service term that tests judge
    tests: tuple[TestVerdict, ...]  # one entry per test
    refused: Mapping[str, str]  # file -> why it does not count
    manifest_hash: str  # sha256 of `tests.json`, to compare with the one that `accept` printed
    #: id of a term on degraded operation -> its tests; of the terms whose results were given
    degraded: Mapping[str, tuple[TestVerdict, ...]] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()  # each run of each result, valid or not
    notes: tuple[str, ...] = ()  # what the results leave open

    @property
    def span(self) -> str:
        """From when to when the valid runs are, and on which hosts, in words; empty without any."""
        valid = [one for one in self.evidence if not one.why]
        ordered = sorted((one for one in valid if one.clock is not None), key=lambda one: one.clock or 0)
        if not ordered:
            return ""
        hosts = listed(sorted({host for one in valid for host in one.hosts}), 8) or "unknown hosts"
        return f"{len(valid)} valid runs, {ordered[0].when} to {ordered[-1].when}, on {hosts}"

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
        """How many of the lines that a test can pass do pass, and how many must be inspected, in words."""
        tested = [one for one in self.requirements if one.id in self.testable]
        passed = [one.priority for one in tested if one.result == PASS]
        mandatory = sum(one.priority == "mandatory" for one in tested)
        return (
            f"{passed.count('mandatory')} of {mandatory} mandatory requirements with a test pass"
            f", {len(passed)} of {len(tested)} in all{self.remaining and f'; {self.remaining}'}"
        )

    @property
    def remaining(self) -> str:
        """How many mandatory requirements and terms no test shows, in words; empty for none."""
        numbers = {"requirement": len(self.inspected), "term": len(self.inspected_terms)}
        counts = [f"{number} {name}{'s' if number > 1 else ''}" for name, number in numbers.items() if number]
        if not counts:
            return ""
        return f"{' and '.join(counts)} {'remains' if sum(numbers.values()) == 1 else 'remain'} to be inspected"

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
        """The mandatory requirements that no performance test shows, with the reason and what to inspect."""
        lines = {line.id for line in self.manifest.lines}
        shown = [ident for ident in self._mandatory() if ident in lines and ident not in self.testable]
        return {ident: self.manifest.untested.get(ident, "") for ident in shown}

    @property
    def inspected_terms(self) -> tuple[MandatoryTerm, ...]:
        """The mandatory service terms that no test shows; empty where an earlier version wrote the tests."""
        return tuple(term for term in self.manifest.terms if term.id not in self.testable)

    @property
    def testable(self) -> set[str]:
        """The requirements and terms that a test can show."""
        limits = {limit.id for limit in self.manifest.service if shows(limit, self.manifest.tests)}
        return limits | {*self.degraded} | {ident for test in self.manifest.tests for ident in (test.requirement, *test.also)}

    def _mandatory(self, *results: str) -> list[str]:
        return [one.id for one in self.requirements if one.priority == "mandatory" and (not results or one.result in results)]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Rejected results, limits of the tests, and mandatory requirements that are not shown."""
        refused = tuple(f"{name} is not valid and does not count: {why}" for name, why in self.refused.items())
        unshown = (f"mandatory requirements without a result: {', '.join(self.unshown)}",) if self.unshown else ()
        remarks = tuple(f"{one.id}: {one.remark}" for one in self.tests if one.remark)
        rehearsal = ("these are rehearsals on one machine: they prove no requirement of the whole system",)
        return refused + remarks + self.notes + self.manifest.warnings + (rehearsal if self.rehearsal else ()) + unshown

    def to_dict(self) -> dict[str, Any]:
        """The verdicts as JSON."""
        body = {
            "site": self.manifest.site,
            "verdict": self.word,
            "counted": self.counted,
            "scale": self.manifest.scale,
            "requirements": [one.to_dict() for one in self.requirements],
            "tests": [one.to_dict() for one in self.tests],
            "degraded": {ident: [one.to_dict() for one in tests] for ident, tests in self.degraded.items()},
            "tests_sha256": self.manifest_hash,
            "refused": dict(self.refused),
            "span": self.span,
            "evidence": [{**one._asdict(), "hosts": [*one.hosts], "valid": not one.why} for one in self.evidence],
            "not_shown": list(self.unshown),
            "inspected": dict(self.inspected),
            "inspected_terms": [term._asdict() for term in self.inspected_terms],
        }
        return envelope("verdict", body, warnings=self.warnings)

    def to_frame(self) -> DataFrame:
        """One row per requirement."""
        return frame_of([one.to_dict() for one in self.requirements])


class VerdictOptions(TypedDict, total=False):
    """The options of `verdict`."""

    degraded: Annotated[str | Path | None, option("Results with one server or controller out of service (S-AVAIL-04).", "DIR")]
    rebuild: Annotated[str | Path | None, option("Results while one drive is rebuilt (S-AVAIL-05).", "DIR")]
    plan: Annotated[str | Path | None, option("Plan or site file of the tender: the tests must have its values.", "FILE")]


def verdict(folder: str | Path, results: str | Path | Sequence[str | Path], **options: Unpack[VerdictOptions]) -> Verdict:
    """Judge results of acceptance tests.

    Args:
        folder: that `ingest accept` wrote.
        results: result files, or folders of them.

    Raises:
        IngestError: a folder without tests, changed job files or a changed list of tests, a threshold that is not that of
            its requirement or of the plan, a named file that is cut off or not a result of a known tool.
        UsageError: results for a term that the plan does not set.
    """
    folder, asked = Path(folder), filled(VerdictOptions, options, "verdict")
    path = folder / "tests.json"
    if not path.is_file():
        raise IngestError(f"{folder}: found no tests.json, expected a folder that `ingest accept` wrote")
    manifest = manifest_of(read_object(path, "the manifest of `ingest accept`"), str(path))
    # The list of tests and the job files are compared with their recorded hashes.
    recorded = read_bytes(folder / "SHA256SUMS", WRITTEN).decode(errors="replace").splitlines()
    sums = {name: found for found, _, name in (line.partition("  ") for line in recorded)}
    manifest_hash = sums.get("tests.json", "none")
    texts: dict[str, str] = {}
    for name, expected in (("tests.json", manifest_hash), *(item for test in manifest.tests for item in test.files.items())):
        content = read_bytes(folder / name, WRITTEN)
        if sha256(content) != expected:
            raise IngestError(f"{folder / name}: was changed after `ingest accept` wrote it, expected sha256 {expected[:12]}…")
        texts[name] = content.decode(errors="replace")
    written = tuple(replace(test, files={name: texts[name] for name in test.files}) for test in manifest.tests)
    manifest = replace(manifest, tests=written)
    _check_thresholds(manifest, asked["plan"])
    read: dict[str, Path] = {}
    paths = [results] if isinstance(results, (str, Path)) else list(results)
    counted = counted_runs(paths, manifest.tests, manifest_hash, read)
    tests = _judged(manifest.tests, counted)
    requirements = [_requirement(line, manifest, counted, tests) for line in manifest.lines]
    for limit in manifest.service:
        if limit.key in JUDGED:
            # A service term, a mandatory clause.
            found = judged_limit(limit, manifest.tests, counted.runs)
            unit, why = TIMES if limit.key == TAIL else SHARE, f"{limit.name}: {found.why}"
            shown = TestVerdict(limit.id, limit.id, "mandatory", found.result, found.measured, limit.quantity, unit, None, why)
            requirements.append(shown)
    refused, again = dict(counted.refused), {}
    evidence, notes = [*counted.evidence], [*counted.notes]
    for word, key, given in (("degraded", FAILED_SERVER, asked["degraded"]), ("rebuild", REBUILD, asked["rebuild"])):
        if given is not None:
            named = [one for one in manifest.service if one.key == key]
            if not named:
                raise UsageError(f"--{word}: the plan of these tests has no term {key}, expected one that sets it")
            limit = named[0]
            counted = counted_runs([given], manifest.tests, manifest_hash, read)
            again[limit.id] = tuple(_judged(degraded_tests(limit, manifest.tests), counted).values())
            requirements.append(_degraded_verdict(limit, again[limit.id]))
            refused |= counted.refused
            evidence += counted.evidence
            notes += [f"--{word}: {note}" for note in counted.notes]
    judged = (tuple(requirements), tuple(tests.values()))
    return Verdict(manifest, *judged, refused, manifest_hash, again, tuple(evidence), tuple(notes))


def _check_thresholds(manifest: Manifest, plan: str | Path | None) -> None:
    """Raises IngestError: a test with another threshold than its line of the plan, or of the manifest without one."""
    values = {line.id: line.value for line in manifest.lines}
    required = values if plan is None else {line.id: line.value for line in lines_of(plan, plan_data(plan))}
    tested = {test.requirement: float(total([load.threshold for load in test.loads])) for test in manifest.tests}
    tested |= {ident: value for test in manifest.tests for ident, value in test.also.items()}
    for ident, threshold in tested.items():
        # A rehearsal tests the share of one client.
        value = threshold if manifest.scale == "full" else values.get(ident) or threshold
        if abs(value - (required.get(ident) or 0)) > SAME * value:
            told = f"{required[ident]:.12g}" if required.get(ident) else "no such line"
            raise IngestError(f"{plan or 'tests.json'}: {ident}: found a threshold of {value:.12g}, expected {told}")


def _judged(tests: Sequence[AcceptanceTest], counted: CountedRuns) -> dict[str, TestVerdict]:
    return {test.id: judged_test(test, counted.runs[test.id], counted.reasons.get(test.id, "")) for test in tests}


def _degraded_verdict(limit: ServiceLimit, tests: Sequence[TestVerdict]) -> TestVerdict:
    """The verdict on a term on degraded operation: its lowest share of a required rate."""
    if not tests:
        return TestVerdict(limit.id, limit.id, "mandatory", NOT_TESTED, None, limit.quantity, SHARE, None, "no test shows it")
    # A test without a result leaves the term open, unless another one fails.
    decisive = min(tests, key=lambda one: ((FAIL, UNDECIDED, NOT_TESTED, PASS).index(one.result), one.margin or 0))
    shares = [one.measured / one.required * limit.quantity for one in tests if one.measured is not None and one.required]
    return replace(
        decisive,
        id=limit.id,
        measured=min(shares, default=None),
        required=limit.quantity,
        unit=SHARE,
        margin=None,
        low=None,
        high=None,
        why=f"{limit.name}: {decisive.id}: {decisive.why}",
        tests=tuple(one.id for one in tests if one.measured is not None),
    )


def _requirement(
    line: ManifestLine, manifest: Manifest, counted: CountedRuns, judged: Mapping[str, TestVerdict]
) -> TestVerdict:
    """The verdict on a requirement: a failed test decides, then an undecided one, then one that passed."""
    tests = [judged[test.id] for test in manifest.tests if test.requirement == line.id]
    for test in manifest.tests:
        if line.id in test.also:
            # The test of a higher line, against the line's own threshold.
            load = replace(test.loads[0], threshold=test.also[line.id])
            own = replace(test, loads=(load,))
            tests.append(judged_test(own, counted.runs[test.id], counted.reasons.get(test.id, "")))
    if not tests:
        why = manifest.untested.get(line.id, "")
        return TestVerdict(line.id, line.id, line.priority, NOT_TESTED, None, line.value, line.unit, None, why)
    # Failures first, then open tests, passes, tests without a result, each by the smallest margin.
    order = (FAIL, UNDECIDED, PASS, NOT_TESTED)
    decisive = min(tests, key=lambda one: (order.index(one.result), one.why == "no result", one.margin or 0))
    ran = tuple(test.id for test in tests if test.measured is not None)
    why = f"{decisive.id}: {decisive.why}"
    return replace(decisive, id=line.id, requirement=line.id, priority=line.priority, why=why, tests=ran)
