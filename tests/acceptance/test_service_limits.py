"""Service terms that tests show: a floor on stalls, the slowest client, late answers, degraded operation."""

import json
import shutil
from dataclasses import replace

import pytest
from conftest import finished
from plans import plan, times

import ingest
from ingest.acceptance.judgement import FAIL, NOT_TESTED, PASS
from ingest.acceptance.service_limits import CLIENT, STALL, TAIL, ServiceLimit, judged_limit, lowest_second
from ingest.acceptance.test_spec import AcceptanceTest, Load, Observed, Run
from ingest.errors import IngestError

KIB = 1024
LOAD = Load("T-READ-01-fio", "read", "random", 131072, 2, 1, 10, None, None, "", 100.0, "B/s", latency_99=0.01)
TEST = AcceptanceTest("T-READ-01-fio", "R-READ-01", "mandatory", "s", "fio", "3.27", "full", (LOAD,), 3, 0.03)


def result(key, quantity, *seen):
    runs = [Run("fio", f"{number}.json", TEST.id, (one,)) for number, one in enumerate(seen)]
    return judged_limit(ServiceLimit("S-LAT-03", key, "limit", quantity), [TEST], {TEST.id: runs}).result


def seen(**values):
    return Observed(LOAD.name, "read", 100.0, "B/s", **values)


@pytest.mark.parametrize(("lowest", "expected"), [(50, PASS), (49.99, FAIL), (None, NOT_TESTED)])
def test_each_second_of_each_run_keeps_the_floor_of_the_required_rate(lowest, expected):
    assert result(STALL, 0.5, seen(lowest_second=90.0), seen(lowest_second=lowest)) == expected


@pytest.mark.parametrize(("share", "expected"), [(0.8, PASS), (0.7999, FAIL), (None, NOT_TESTED)])
def test_no_client_falls_behind_the_mean_of_all(share, expected):
    assert result(CLIENT, 0.8, seen(slowest_client=0.95), seen(slowest_client=share)) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(0.0103, PASS), (0.0104, FAIL)])
def test_late_answers_have_an_upper_limit_with_the_same_deviation(seconds, expected):
    """10 ms ÷ 0.97 are 10.31 ms."""
    assert result(TAIL, 5, *[seen(latency_99=seconds)] * 3) == expected
    assert result(TAIL, 5, *[seen(latency_99=seconds)] * 2) == NOT_TESTED


@pytest.mark.parametrize(("seconds", "expected"), [(0.01, PASS), (0.01001, FAIL)])
def test_one_run_without_an_interval_answers_within_the_stated_latency(seconds, expected):
    test, run = replace(TEST, repeats=1), Run("fio", "1.json", TEST.id, (seen(latency_99=seconds),))
    assert judged_limit(ServiceLimit("S-LAT-02", TAIL, "limit", 5), [test], {TEST.id: [run]}).result == expected


def test_a_mandatory_term_is_not_judged_by_the_test_of_a_target():
    limit, target = ServiceLimit("S-LAT-03", STALL, "limit", 0.5), replace(TEST, priority="target")
    runs = {TEST.id: [Run("fio", "a.json", TEST.id, (seen(lowest_second=1.0),))]}
    assert judged_limit(limit, [TEST], runs).result == FAIL
    assert judged_limit(limit, [target], runs).result == NOT_TESTED


def logs_of(folder, *threads):
    """Bandwidth logs as fio writes them: ms, KiB/s, direction, size, offset."""
    for number, rows in enumerate(threads, start=1):
        text = "".join(f"{end}, {rate}, 0, 0, 0\n" for end, rate in rows)
        (folder / f"T_bw.{number}.log").write_text(text)
    return sorted(folder.iterdir())


def test_the_lowest_second_is_of_all_threads_together(tmp_path):
    """Two threads that alternate stall nobody; a second without a line is a stall."""
    logs = logs_of(tmp_path, [(1000, 90), (2000, 10), (3000, 50)], [(1000, 10), (2000, 90), (3000, 50), (4000, 1)])
    assert lowest_second(logs, 4.01) == pytest.approx(100 * KIB)
    assert lowest_second(logs, 5.01) == pytest.approx(1 * KIB)
    assert lowest_second(logs, 6.01) == 0


def test_late_lines_of_a_log_make_no_stall(tmp_path):
    """Each line is 4 ms late: after 250 lines a second ends without one, and none is short of rate."""
    logs = logs_of(tmp_path, [(round(1004 * number), 100) for number in range(1, 300)])
    assert lowest_second(logs, 290) == pytest.approx(100 * KIB, rel=0.01)
    assert lowest_second(logs, 1.99) is None


def test_a_log_that_is_none_is_one_line(tmp_path):
    (tmp_path / "T_bw.1.log").write_text("no log\n")
    with pytest.raises(IngestError, match=r"T_bw\.1\.log: found 'no log', expected time"):
        lowest_second([tmp_path / "T_bw.1.log"], 5)


TERMS = [
    {"id": "S-LAT-03", "key": STALL, "name": "Floor on stalls", "quantity": 0.001, "unit": "1"},
    {"id": "S-LAT-04", "key": CLIENT, "name": "Slowest client", "quantity": 0.8, "unit": "1"},
    {"id": "S-AVAIL-04", "key": "service.degraded_rate", "name": "Rate with a failed server", "quantity": 0.7, "unit": "1"},
    {"id": "S-DUR-01", "key": "service.durability", "name": "Durability", "quantity": None, "unit": ""},
]


def with_terms(terms=TERMS):
    def change(found):
        times(1e-3)(found)
        found["service"] = terms
        found["requirements"] = [one for one in found["requirements"] if one["id"] in ("R-READ-01", "R-MIX-01")]

    return change


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("no list", "service: found 'no list', expected the list of terms"),
        ([TERMS[0] | {"quantity": "half"}], "service: S-LAT-03: found 'half', expected a number above 0"),
        ([TERMS[0] | {"quantity": 0}], "service: S-LAT-03: found 0, expected a number above 0"),
    ],
)
def test_terms_that_are_none_are_one_line(tmp_path, terms, message):
    with pytest.raises(IngestError, match=message):
        ingest.accept(plan(tmp_path, with_terms(terms)), tmp_path / "tests")


def test_degraded_operation_has_its_own_table_of_rates(tmp_path):
    ingest.accept(plan(tmp_path, with_terms()), tmp_path / "tests")
    readme = (tmp_path / "tests/README.md").read_text()
    assert "## Rate with a failed server (S-AVAIL-04)" in readme
    # 70 % of 128 kB/s.
    assert "| T-READ-01-fio | T-READ-01-fio | 89.6 kB/s" in readme
    assert "RESULTS=$PWD/results-degraded sh fio/T-READ-01-fio.sh" in readme


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_logs_each_second_and_the_verdict_finds_the_lowest(tmp_path, monkeypatch):
    """The rehearsal of a read and a mixed test: every load has a lowest second, and no stall."""
    from ingest.acceptance import loads

    monkeypatch.setattr(loads, "REHEARSAL_BYTES", 8 * 2**20)
    folder = ingest.accept(plan(tmp_path, with_terms()), tmp_path / "tests", scale="1node").folder
    (tmp_path / "storage").mkdir()
    for script in ("T-READ-01-fio", "T-MIX-01-fio"):
        finished("sh", f"fio/{script}.sh", cwd=folder, TARGET=str(tmp_path / "storage"))
    answer = ingest.verdict(folder, tmp_path / "tests/results")
    stall = answer.results["S-LAT-03"]
    assert (stall.result, answer.results["S-LAT-04"].result) == ("pass", "not tested")
    assert stall.measured > 0.001
    assert "S-LAT-03" in answer.testable
    assert "S-LAT-04" not in answer.testable
    log = next((tmp_path / "tests/results/T-READ-01-fio.run1.bw").iterdir())
    log.unlink()
    assert ingest.verdict(folder, tmp_path / "tests/results").unshown == ("S-LAT-03",)


def test_fio_names_the_slowest_of_several_clients(tmp_path):
    from ingest.acceptance.tools import fio

    jobs = [
        {"jobname": "T-READ-01-fio", "hostname": host, "read": {"bw_bytes": rate, "total_ios": 1, "runtime": 1}, "write": {}}
        for host, rate in (("a", 30), ("a", 30), ("b", 20), ("b", 0), ("c", 40))
    ]
    text = "{\n" + json.dumps({"fio version": "fio-3.33", "client_stats": jobs})[1:]
    # 60, 20 and 40: the slowest has half of the mean.
    (run,) = fio.read(text, str(tmp_path / "r.json"))
    assert run.loads[0].slowest_client == pytest.approx(0.5)
    assert run.loads[0].lowest_second is None
