"""Limits on stalls, slow clients and late answers that the service terms of a plan set, and degraded operation."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.acceptance.latencies import milliseconds
from ingest.acceptance.run_interval import FAIL, FEWEST_RUNS, NOT_TESTED, PASS, limit_decision_of
from ingest.acceptance.test_spec import DATA, AcceptanceTest, Load, Observed, Run
from ingest.engine.registry import solve
from ingest.errors import IngestError, brief
from ingest.text import checked_id, one_line

#: Terms that results of fio show, and terms that take tests of their own.
STALL, CLIENT, TAIL = "service.stall_floor", "service.slowest_client", "test.latency_tail"
JUDGED = (STALL, CLIENT, TAIL)
FAILED_SERVER, REBUILD = "service.degraded_rate", "service.rebuild_rate"
DEGRADED = {FAILED_SERVER: "one server or controller out of service", REBUILD: "one drive being rebuilt"}
#: How a verification names a test.
NAMED_TEST = re.compile(r"T-[A-Z]+-\d+")


class ServiceLimit(NamedTuple):
    """A service term with a number that tests show.

    Attributes:
        id: such as `S-LAT-03`.
        key: of the site file.
        name: a few words.
        quantity: a share, or times the mean latency.
        tests: ids that its verification names, such as `T-READ-03`; empty for all.
    """

    id: str
    key: str
    name: str
    quantity: float
    tests: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The number as people read it.

        >>> ServiceLimit("S-LAT-03", STALL, "", 0.5).shown, ServiceLimit("S-LAT-02", TAIL, "", 5).shown
        ('50 %', '5 times the mean')
        """
        return f"{self.quantity:g} times the mean" if self.key == TAIL else f"{self.quantity * 100:g} %"


class LimitFound(NamedTuple):
    """What tests show of a limit.

    Attributes:
        result: `pass`, `fail`, `undecided` or `not tested`.
        measured: the worst share, or times the mean; None where nothing is known.
        why: the reason.
    """

    result: str
    measured: float | None
    why: str


def limits_of(terms: object, where: str) -> tuple[ServiceLimit, ...]:
    """The limits that a plan sets.

    Args:
        terms: the service terms of a plan as JSON.
        where: the file, for errors.

    Raises:
        IngestError: no list of terms, or a term whose quantity is no number above 0.
    """
    known = (*JUDGED, *DEGRADED)
    return tuple(
        _limit(term, where) for term in _rows(terms, where) if term.get("key") in known and term.get("quantity") is not None
    )


def _rows(terms: object, where: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(terms, (list, tuple)) or not all(isinstance(term, Mapping) for term in terms):
        raise IngestError(f"{where}: service: found {brief(terms)}, expected the list of terms that `ingest plan` writes")
    return terms


def _limit(term: Mapping[str, Any], where: str) -> ServiceLimit:
    ident, quantity = checked_id(term.get("id", ""), f"{where}: service: id"), term["quantity"]
    if isinstance(quantity, bool) or not isinstance(quantity, (int, float)) or not 0 < quantity < 1e6:
        raise IngestError(f"{where}: service: {ident}: found {brief(quantity)}, expected a number above 0")
    named = term.get("tests") or NAMED_TEST.findall(str(term.get("verification", "")))
    if not isinstance(named, (list, tuple)) or not all(isinstance(one, str) for one in named):
        raise IngestError(f"{where}: service: {ident}: tests: found {brief(named)}, expected a list of ids")
    name = one_line(term.get("name", term["key"]))
    return ServiceLimit(ident, str(term["key"]), name, float(quantity), tuple(dict.fromkeys(named)))


class MandatoryTerm(NamedTuple):
    """A mandatory service term of a plan.

    Attributes:
        id: such as `S-AVAIL-01`.
        name: a few words.
        value: as people read it.
        verification: the evidence at acceptance or in operation.
    """

    id: str
    name: str
    value: str
    verification: str


def terms_of(terms: object, where: str) -> tuple[MandatoryTerm, ...]:
    """The mandatory terms of a plan: those with a value that the Vendor does not choose.

    Args:
        terms: the service terms of a plan, or the mandatory ones of a manifest, as JSON.
        where: the file, for errors.

    Raises:
        IngestError: no list of terms, or an invalid id.
    """
    rows = [term for term in _rows(terms, where) if term.get("status", "set") == "set" and term.get("value")]
    return tuple(_term(term, where) for term in rows)


def _term(term: Mapping[str, Any], where: str) -> MandatoryTerm:
    ident = checked_id(term.get("id", ""), f"{where}: terms: id")
    return MandatoryTerm(ident, *(one_line(term.get(name, "")) for name in MandatoryTerm._fields[1:]))


def degraded_tests(limit: ServiceLimit, tests: Sequence[AcceptanceTest]) -> tuple[AcceptanceTest, ...]:
    """The tests that a term on degraded operation names, with the share of their rates that it leaves."""
    return tuple(
        replace(test, requirement=limit.id, priority="mandatory", loads=loads, also={}) for test, loads in _named(limit, tests)
    )


def _named(limit: ServiceLimit, tests: Sequence[AcceptanceTest]) -> Iterator[tuple[AcceptanceTest, tuple[Load, ...]]]:
    """Tests with the loads of the named line; the first tool that tests a line, or a higher one beside it, does."""
    if not limit.tests:
        yield from ((test, _left(test.loads, limit)) for test in tests)
    for name in limit.tests:
        line = f"R-{name.removeprefix('T-')}"
        for test in tests:
            if line == test.requirement:
                yield test, _left(test.loads, limit)
                break
            if line in test.also:
                yield test, _left((replace(test.loads[0], threshold=test.also[line]),), limit)
                break


def _left(loads: Sequence[Load], limit: ServiceLimit) -> tuple[Load, ...]:
    """Loads with the share of their thresholds that a term leaves."""
    given = [{"required_rate": load.threshold, "degraded_term_share": limit.quantity} for load in loads]
    rates = [float(solve("degraded_rate_required", one)) for one in given]
    return tuple(replace(load, threshold=float(f"{rate:.12g}")) for load, rate in zip(loads, rates, strict=True))


def logs_seconds(limits: Iterable[ServiceLimit]) -> bool:
    """Whether the jobs log the rate of each second."""
    return any(limit.key == STALL for limit in limits)


def judged_limit(limit: ServiceLimit, tests: Sequence[AcceptanceTest], runs: Mapping[str, Sequence[Run]]) -> LimitFound:
    """The result of a limit in all tests that can show it; one failure decides."""
    shown = [(test, load) for test in tests for load in test.loads if _applies(limit, test, load)]
    found = [(_found(limit, test, load, runs[test.id]), load) for test, load in shown]
    known = [(one, load) for one, load in found if one.measured is not None]
    worst = max if limit.key == TAIL else min
    measured = worst((one.measured for one, _ in known if one.measured is not None), default=None)
    open_tests = [f"{load.name}: {one.why}" for one, load in found if one.result not in (PASS, FAIL)]
    failed = [f"{load.name}: {one.why}" for one, load in known if one.result == FAIL]
    if failed:
        return LimitFound(FAIL, measured, "; ".join(failed))
    if open_tests or not found:
        more = f" and {len(open_tests) - 1} more" if len(open_tests) > 1 else ""
        return LimitFound(NOT_TESTED, measured, f"{open_tests[0]}{more}" if open_tests else "no test shows it")
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
        return _tail(limit, test, load, seen)
    shares = [_share(limit, load, one) for one in seen]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return LimitFound(NOT_TESTED, min(known, default=None), "a run without the log of its seconds")
    what, rate = ("slowest second", "required rate") if limit.key == STALL else ("slowest client", "mean rate")
    least = min(known)
    return LimitFound(PASS if least >= limit.quantity else FAIL, least, f"{what} at {least * 100:.4g} % of the {rate}")


def _share(limit: ServiceLimit, load: Load, seen: Observed) -> float | None:
    if limit.key == CLIENT:
        return seen.slowest_client
    if seen.lowest_second is None:
        return None
    return float(solve("lowest_second_share", {"lowest_second_rate": seen.lowest_second, "required_rate": load.threshold}))


def _tail(limit: ServiceLimit, test: AcceptanceTest, load: Load, seen: Sequence[Observed]) -> LimitFound:
    """99 % latencies against the stated one, as an upper limit of their median."""
    times, stated = [one.latency_99 for one in seen if one.latency_99], load.latency_99
    if not times or stated is None:
        return LimitFound(NOT_TESTED, None, "no percentiles in the result")
    measured = statistics.median(times) / stated * limit.quantity
    if len(times) < test.repeats:
        return LimitFound(NOT_TESTED, measured, f"{len(times)} of {test.repeats} runs")
    why = f"99 % within {milliseconds(statistics.median(times))}, {milliseconds(stated)} stated"
    if len(times) < FEWEST_RUNS:
        return LimitFound(PASS if statistics.median(times) <= stated else FAIL, measured, why)
    found = limit_decision_of(times, stated, test.allowed_deviation)
    return LimitFound(found.result, measured, why + (f": run {found.more} more" if found.more else ""))


def lowest_second(logs: Sequence[Path], seconds: float) -> float | None:
    """The lowest rate of all threads together in one second, from fio's bandwidth logs; None without a whole second.

    Each line of a log has a time in ms, and the KiB/s of the second before it; where a thread did nothing it has none.
    Threads write their lines at slightly different times, so each line counts for the seconds that it overlaps. The last
    second does not count: threads end in it.

    Args:
        logs: one for each thread.
        seconds: of the run.
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
