"""Limits on stalls, slow clients and late answers that the service terms of a plan set, and degraded operation."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.acceptance.judgement import FAIL, FEWEST_RUNS, NOT_TESTED, PASS, limit_decision_of, milliseconds
from ingest.acceptance.test_spec import DATA, AcceptanceTest, Load, Run
from ingest.engine.registry import solve
from ingest.errors import IngestError, brief
from ingest.text import checked_id, one_line

#: Terms that results of fio show, and terms that take tests of their own.
STALL, CLIENT, TAIL = "service.stall_floor", "service.slowest_client", "test.latency_tail"
JUDGED = (STALL, CLIENT, TAIL)
FAILED_SERVER, REBUILD = "service.degraded_rate", "service.rebuild_rate"
DEGRADED = {FAILED_SERVER: "one server or controller out of service", REBUILD: "one drive being rebuilt"}
#: How a verification names a test, or the line that it shows.
NAMED_TEST = re.compile(r"\b[RT]-[A-Z]+-\d+")


class ServiceLimit(NamedTuple):
    """A service term with a number that tests show."""

    id: str
    key: str  # of the site file
    name: str
    quantity: float  # a share, or times the mean latency
    tests: tuple[str, ...] = ()  # ids that its verification names, such as `T-READ-03`; empty for all

    @property
    def shown(self) -> str:
        """The number as people read it.

        >>> ServiceLimit("S-LAT-03", STALL, "", 0.5).shown, ServiceLimit("S-LAT-02", TAIL, "", 5).shown
        ('50 %', '5 times the mean')
        """
        return f"{self.quantity:g} times the mean" if self.key == TAIL else f"{self.quantity * 100:g} %"


class LimitFound(NamedTuple):
    """What tests show of a limit: result, worst share or times the mean (None where nothing is known), reason."""

    result: str
    measured: float | None
    why: str


def limits_of(terms: object, where: str) -> tuple[ServiceLimit, ...]:
    """The limits that a plan sets, from its service terms as JSON.

    Raises IngestError: no list of terms, or a term whose quantity is no number above 0; `where` names the file.
    """
    found = []
    for term in _rows(terms, where):
        if term.get("key") not in (*JUDGED, *DEGRADED) or term.get("quantity") is None:
            continue
        ident, quantity = checked_id(term.get("id", ""), f"{where}: service: id"), term["quantity"]
        if isinstance(quantity, bool) or not isinstance(quantity, (int, float)) or not 0 < quantity < 1e6:
            raise IngestError(f"{where}: service: {ident}: found {brief(quantity)}, expected a number above 0")
        named = term.get("tests") or NAMED_TEST.findall(str(term.get("verification", "")))
        if not isinstance(named, (list, tuple)) or not all(isinstance(one, str) for one in named):
            raise IngestError(f"{where}: service: {ident}: tests: found {brief(named)}, expected a list of ids")
        name, named = one_line(term.get("name", term["key"])), [f"T-{one[2:]}" for one in named]
        found.append(ServiceLimit(ident, str(term["key"]), name, float(quantity), tuple(dict.fromkeys(named))))
    return tuple(found)


def _rows(terms: object, where: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(terms, (list, tuple)) or not all(isinstance(term, Mapping) for term in terms):
        raise IngestError(f"{where}: service: found {brief(terms)}, expected the list of terms that `ingest plan` writes")
    return terms


class MandatoryTerm(NamedTuple):
    """A mandatory service term of a plan, with its value as people read it and the evidence at acceptance or in operation."""

    id: str
    name: str
    value: str
    verification: str


def terms_of(terms: object, where: str) -> tuple[MandatoryTerm, ...]:
    """The mandatory terms of a plan or a manifest, from JSON: those with a value that the Vendor does not choose.

    Raises IngestError: no list of terms, or an invalid id.
    """
    rows = [term for term in _rows(terms, where) if term.get("status", "set") == "set" and term.get("value")]
    ids = [checked_id(term.get("id", ""), f"{where}: terms: id") for term in rows]
    words = ([one_line(term.get(name, "")) for name in MandatoryTerm._fields[1:]] for term in rows)
    return tuple(MandatoryTerm(ident, *texts) for ident, texts in zip(ids, words, strict=True))


def degraded_tests(limit: ServiceLimit, tests: Sequence[AcceptanceTest]) -> tuple[AcceptanceTest, ...]:
    """The tests that a term on degraded operation names, with the share of their rates that it leaves."""
    named = [] if limit.tests else [(test, test.loads) for test in tests]
    for name in limit.tests:
        # The first tool that tests a line, or a higher one beside it, does.
        line = f"R-{name.removeprefix('T-')}"
        test = next((test for test in tests if line == test.requirement or line in test.also), None)
        if test is not None:
            own = test.loads if line == test.requirement else (replace(test.loads[0], threshold=test.also[line]),)
            named.append((test, own))
    found = []
    for test, loads in named:
        given = [{"required_rate": load.threshold, "degraded_term_share": limit.quantity} for load in loads]
        rates = [float(solve("degraded_rate_required", one)) for one in given]
        left = tuple(replace(load, threshold=float(f"{rate:.12g}")) for load, rate in zip(loads, rates, strict=True))
        found.append(replace(test, requirement=limit.id, priority="mandatory", loads=left, also={}))
    return tuple(found)


def judged_limit(limit: ServiceLimit, tests: Sequence[AcceptanceTest], runs: Mapping[str, Sequence[Run]]) -> LimitFound:
    """The result of a limit in all tests that can show it; one failure decides."""
    shown = [(test, load) for test in tests for load in test.loads if _applies(limit, test, load)]
    found = [(_found(limit, test, load, runs[test.id]), load) for test, load in shown]
    known = [one.measured for one, _ in found if one.measured is not None]
    measured = (max if limit.key == TAIL else min)(known, default=None)
    failed = [f"{load.name}: {one.why}" for one, load in found if one.result == FAIL]
    open_tests = [f"{load.name}: {one.why}" for one, load in found if one.result not in (PASS, FAIL)]
    open_tests += [] if found else ["no test shows it"]
    if failed:
        return LimitFound(FAIL, measured, "; ".join(failed))
    if open_tests:
        more = f" and {len(open_tests) - 1} more" if len(open_tests) > 1 else ""
        return LimitFound(NOT_TESTED, measured, f"{open_tests[0]}{more}")
    return LimitFound(PASS, measured, f"in all {len(found)} loads")


def shows(limit: ServiceLimit, tests: Iterable[AcceptanceTest]) -> bool:
    """Whether a test shows a limit."""
    return any(_applies(limit, test, load) for test in tests for load in test.loads)


def _applies(limit: ServiceLimit, test: AcceptanceTest, load: Load) -> bool:
    # A target may be missed, and so may a term in its test.
    if test.priority != "mandatory" or test.tool != "fio" or load.operation not in DATA or limit.key not in JUDGED:
        return False
    if limit.key == TAIL:
        return load.operation == "read" and load.latency_99 is not None
    return limit.key == STALL or load.clients > 1


def _found(limit: ServiceLimit, test: AcceptanceTest, load: Load, runs: Sequence[Run]) -> LimitFound:
    seen = [one for run in runs for one in run.loads if one.name == load.name]
    if not seen:
        return LimitFound(NOT_TESTED, None, "no result")
    if limit.key == TAIL:
        # 99 % latencies against the stated one, as an upper limit of their median.
        times, stated = [one.latency_99 for one in seen if one.latency_99], load.latency_99
        if not times or stated is None:
            return LimitFound(NOT_TESTED, None, "no percentiles in the result")
        median = statistics.median(times)
        measured = median / stated * limit.quantity
        if len(times) < test.repeats:
            return LimitFound(NOT_TESTED, measured, f"{len(times)} of {test.repeats} runs")
        why = f"99 % within {milliseconds(median)}, {milliseconds(stated)} stated"
        if len(times) < FEWEST_RUNS:
            return LimitFound(PASS if median <= stated else FAIL, measured, why)
        found = limit_decision_of(times, stated, test.allowed_deviation)
        return LimitFound(found.result, measured, why + (f": run {found.more} more" if found.more else ""))
    if limit.key == CLIENT:
        what, known = "slowest client at {:.4g} % of the mean rate", [one.slowest_client for one in seen]
    else:
        what, lowest = "slowest second at {:.4g} % of the required rate", [one.lowest_second for one in seen]
        given = [None if rate is None else {"lowest_second_rate": rate, "required_rate": load.threshold} for rate in lowest]
        known = [None if one is None else float(solve("lowest_second_share", one)) for one in given]
    shares = [share for share in known if share is not None]
    if len(shares) < len(seen):
        return LimitFound(NOT_TESTED, min(shares, default=None), "a run without the log of its seconds")
    least = min(shares)
    return LimitFound(PASS if least >= limit.quantity else FAIL, least, what.format(least * 100))


def lowest_second(logs: Sequence[Path], seconds: float) -> float | None:
    """The lowest rate of all threads together in one second, from fio's bandwidth logs, one for each thread.

    Each line of a log has a time in ms, and the KiB/s of the second before it; where a thread did nothing it has none.
    Threads write their lines at slightly different times, so each line counts for the seconds that it overlaps. The last
    second of the run does not count: threads end in it. None without a whole second.
    """
    count = int(seconds) - 1
    if count < 1:
        return None
    rates = [0.0] * count
    for log in logs:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            fields = line.split(",")
            try:
                end, rate = float(fields[0]) / 1000, float(fields[1])
            except (IndexError, ValueError):
                raise IngestError(f"{log}: found {brief(line)}, expected time, KiB/s and more, as fio writes them") from None
            begin = max(end - 1, 0)
            for second in range(int(begin), min(int(end) + 1, count)):
                overlap = min(end, second + 1) - max(begin, second)
                rates[second] += rate * max(overlap, 0)
    return float(solve("bandwidth_from_kibibytes", {"reported_kibibytes_per_second": min(rates), "bytes_per_kibibyte": 1024}))
