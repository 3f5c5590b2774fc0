"""The answer of `accept`: the tests of one folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ingest.acceptance.datasets import data_warnings
from ingest.acceptance.effort import Effort, effort_of
from ingest.acceptance.loads import Setting
from ingest.acceptance.service_limits import DEGRADED, MandatoryTerm, ServiceLimit, degraded_tests, shows
from ingest.acceptance.test_spec import AcceptanceTest
from ingest.engine.interactive import InteractiveResult
from ingest.engine.result import envelope, frame_of
from ingest.engine.value import Input
from ingest.files import sha256
from ingest.requirement import Requirement

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False, eq=False)
class Acceptance(InteractiveResult):
    """The tests of one folder.

    Attributes:
        site: name of the site.
        folder: where they were written.
        setting: common to all tests.
        tests: in the order of the requirements.
        untested: requirement id -> why no performance test shows it.
        requirements: lines of the plan.
        memory: of one client.
        cache: of all storage servers.
        service: limits that the service terms of the plan set.
        terms: all mandatory service terms of the plan.
        manifest_hash: sha256 of `tests.json`, which `verdict` prints too.
    """

    site: str
    folder: str
    setting: Setting
    tests: tuple[AcceptanceTest, ...]
    untested: Mapping[str, str]
    requirements: tuple[Requirement, ...]
    memory: Input
    cache: Input
    manifest_hash: str = ""
    service: tuple[ServiceLimit, ...] = ()
    terms: tuple[MandatoryTerm, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Limits of the tests, and mandatory requirements without a performance test."""
        mandatory = {line.id for line in self.requirements if line.priority == "mandatory"}
        notes = tuple(dict.fromkeys(f"{test.requirement}: {note}" for test in self.tests for note in test.notes))
        none = tuple(f"{ident}: no performance test: {why}" for ident, why in self.untested.items() if ident in mandatory)
        return self.data_cautions + notes + none

    @property
    def data_cautions(self) -> tuple[str, ...]:
        """Cache effects that the data sets cannot exclude."""
        return data_warnings(self.setting)

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
        body = {
            "site": self.site,
            "scale": self.setting.scale,
            "tests": [_listed(test) for test in self.tests],
            "untested": dict(self.untested),
            "requirements": [line.to_dict() for line in self.requirements],
            "effort": self.effort._asdict(),
            "service": [limit._asdict() for limit in self.service],
            "terms": [term._asdict() for term in self.terms],
            "data": None if self.setting.data is None else asdict(self.setting.data),
        }
        return envelope("accept", body, assumptions=self._assumptions, warnings=self.warnings)

    @property
    def _assumptions(self) -> list[dict[str, Any]]:
        """The caches that size data sets, and conditions that lines leave open."""
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
        return [{"name": name} | dict(zip(("value", "unit", "grade", "why"), row, strict=True)) for name, row in rows.items()]

    def to_frame(self) -> pandas.DataFrame:
        """One row per test and load."""
        rows = [{"test": test.id, "tool": test.tool, **asdict(load)} for test in self.tests for load in test.loads]
        return frame_of(rows)


def _listed(test: AcceptanceTest) -> dict[str, Any]:
    listed = {name: value for name, value in vars(test).items() if name not in ("loads", "files")}
    hashes = {name: sha256(content.encode()) for name, content in test.files.items()}
    return {**listed, "loads": [asdict(load) for load in test.loads], "files": hashes}
