"""The latency that a stated loader takes: in the lines of a plan, in the test that measures it, in the verdict."""

import json
import math
import random
import statistics
import sys
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from conftest import table

import ingest
from ingest.acceptance.loads import Setting, confidence_of, loads_of
from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.loader.stall import Loader, simulate
from ingest.reports.charts.planning import charts_of

sys.path.insert(0, str(Path(__file__).parents[1] / "acceptance"))
from outputs import fio_results


def site(loader, **job):
    """Two nodes of eight GPUs; a GPU takes 500 samples of 1 MiB per second, so that its batch of 10 takes 20 ms."""
    rate = {"samples_per_second": 500, "sample_bytes": 2**20, "io_size": 2**20}
    reading = {"cluster": "main", "nodes": 2, "data": "set", **rate, **({"loader": loader} if loader else {}), **job}
    return {
        "years": 0,
        "clusters": {"main": {"node": "dgx-h100", "count": 2}},
        "datasets": {"set": {"bytes": "500 TB"}},
        "jobs": {"train": reading},
        "test": {"latency_tail": 5},
    }


def planned(loader, **job):
    return ingest.plan(site(loader, **job), samples=0)


LOADER = {"workers": 8, "batch": 10, "decode_time": "8ms"}


def test_the_latency_keeps_the_utilization_and_a_longer_one_does_not():
    known = planned(LOADER).rows["jobs"][0].known
    longest, reads = known.value("loader_latency"), int(known.value("reads_of_batch"))
    assert reads == 10
    own = Loader(8, 2, 10, 0.02, longest, 1.0211, decode_seconds=0.008, ranks=16, handover_seconds=(1.5e-4, 1.5e-4))
    assert simulate(own, steps=1000, seed=7).median == pytest.approx(0.95, abs=0.01)
    assert simulate(replace(own, latency_seconds=1.1 * longest), steps=1000, seed=7).median < 0.945


def test_reads_of_the_job_state_the_latency_of_its_loader_and_fewer_outstanding_reads():
    plain, stated = planned(None, readers=8), planned(LOADER)
    known = stated.rows["jobs"][0].known
    for name in ("R-READ-02", "R-READ-03"):
        before, after = plain.requirement(name).conditions, stated.requirement(name).conditions
        assert after.latency_99 <= 5 * known.value("loader_latency") * 1.0001
        assert after.latency_99 < before.latency_99
        assert after.queue_depth < before.queue_depth
    assert stated.tables["loaders"][0]["latency_99"] == pytest.approx(5 * known.value("loader_latency"))


def test_an_easy_loader_leaves_the_latency_to_the_rate():
    """1,000 workers could wait for seconds: what the outstanding reads imply at the rate is shorter."""
    easy = planned({"workers": 256, "batch": 10, "prefetch": 8})
    conditions = easy.requirement("R-READ-02").conditions
    assert conditions.latency_99 <= 5 * conditions.implied_latency * 1.0001


@pytest.mark.parametrize(("decode", "warned"), [("15.1ms", False), ("17.5ms", True)])
def test_a_loader_that_decodes_too_slowly_has_no_latency(decode, warned):
    """Eight workers decode a batch of 10 in 10 · t ÷ 8: at 16.8 ms that is 20 ms ÷ 0.95."""
    found = planned({**LOADER, "decode_time": decode})
    assert any("without any latency" in line for line in found.warnings) == warned
    assert (found.rows["jobs"][0].step("loader_latency") is None) == warned


@pytest.mark.parametrize("key", ["threads", "readers"])
def test_the_reads_of_a_node_are_given_once(key):
    with pytest.raises(IngestError, match=f"{key}: the reads of a node are already given by `loader`"):
        planned(LOADER, **{key: 4})


@pytest.mark.parametrize(("loader", "why"), table("feed/refused.yaml")["hostile_loaders_are_refused_with_their_key"])
def test_hostile_loaders_are_refused_with_their_key(loader, why):
    with pytest.raises(IngestError, match=why) as refused:
        planned(loader)
    assert len(str(refused.value)) <= 300


@pytest.mark.parametrize(("factor", "expected"), [(1.02, "pass"), (1.04, "fail")])
def test_the_verdict_turns_at_the_latency_of_the_loader(tmp_path, factor, expected):
    """The rate is met either way: 99 % of the reads may take up to the stated latency ÷ 0.97."""
    (tmp_path / "plan.json").write_text(json.dumps(planned(LOADER).to_dict()))
    made = ingest.accept(tmp_path / "plan.json", tmp_path / "tests")
    folder = fio_results(made.tests, tmp_path / "tests/results", 1.05)
    for test in made.tests:
        for path in folder.glob(f"{test.id}.run*.json"):
            found = json.loads(path.read_text())
            for job in found["client_stats"]:
                load = next(one for one in test.loads if one.name == job["jobname"])
                late = (load.latency_99 or 0) * 1e9 * factor
                job["read"]["clat_ns"] = {"mean": late / 6, "percentile": {"99.000000": late}}
            path.write_text(json.dumps(found))
    answer = ingest.verdict(tmp_path / "tests", folder)
    assert answer.results["R-READ-02"].result == "pass"
    assert answer.results["S-LAT-02"].result == expected


def test_a_test_says_how_long_it_takes_to_know_its_latency():
    line = next(one for one in planned(LOADER).requirements if one.id == "R-READ-02")
    (load,) = loads_of(line, "T-READ-02-fio", Setting())
    found = confidence_of(line, load)
    reads = found["confident_seconds.read"] * load.threshold / load.io_bytes
    sigma = float(solve("latency_sigma", {"latency_tail": line.conditions.latency_99 / line.conditions.implied_latency}))
    assert reads == pytest.approx((1.96 * 0.0994987 / 0.0266521 * sigma / 0.05) ** 2, rel=1e-3)
    assert found["precision_of_test.read"] < 0.05


def test_the_reads_that_know_a_latency_are_those_of_drawn_samples():
    """Of 200 samples of so many lognormal latencies, 95 % have their 99th percentile within 10 % of the true one."""
    chance, sigma = random.Random(1), 0.845
    count = int(solve("reads_for_latency_99", {"latency_sigma": sigma, "confident_share": 0.1}))
    true, hits = math.exp(2.3263 * sigma), 0
    for _ in range(200):
        drawn = sorted(chance.lognormvariate(0, sigma) for _ in range(count))
        hits += abs(drawn[math.ceil(0.99 * count) - 1] / true - 1) <= 0.1
    assert 0.90 <= hits / 200 <= 0.99
    assert statistics.NormalDist().inv_cdf(0.99) == pytest.approx(2.32634787)


@pytest.fixture
def workbook(tmp_path, run):
    """The workbook of a plan."""

    def make(loader):
        (tmp_path / "site.json").write_text(json.dumps(site(loader)))
        assert run("plan", tmp_path / "site.json", "-o", tmp_path / "plan.xlsx").code == 0
        return openpyxl.load_workbook(tmp_path / "plan.xlsx")

    return make


def test_a_workbook_has_the_latency_as_cells_and_the_simulated_one_as_an_input(workbook):
    heads, row = workbook(LOADER)["Loaders"].iter_rows(values_only=True)
    cells = dict(zip(heads, row, strict=True))
    assert cells["99 % latency (s)"].startswith("=Calculation!")
    assert cells["Mean latency that its loader takes"].startswith("=Inputs!")


def test_the_curve_of_a_loader_falls_through_its_own_point(workbook):
    """The document, the chart and the cells show the same: 95 % at the stated latency, less beyond it."""
    plan = planned(LOADER)
    (chart,) = (one for one in charts_of(plan) if one.name == "utilization")
    rows, (own,) = chart.spec["data"]["values"], chart.spec["layer"][2]["data"]["values"]
    assert own["latency"] == pytest.approx(5000 * plan.rows["jobs"][0].known.value("loader_latency"))
    assert own["utilization"] == pytest.approx(0.95, abs=0.005)
    medians = [row["utilization"] for row in rows]
    assert medians == sorted(medians, reverse=True)
    assert medians[-1] < 0.5 < 0.95 < medians[0]
    assert all(row["low"] <= row["utilization"] <= row["high"] for row in rows)
    chosen, *lines = workbook(LOADER)["Utilization"].iter_rows(min_row=2, values_only=True)
    assert [str(cell)[0] for cell in chosen[1:3]] == ["=", "="]
    assert [line[1:] for line in lines[: len(rows)]] == [
        tuple(pytest.approx(row[name]) for name in ("latency", "utilization", "low", "high")) for row in rows
    ]


def test_jobs_without_a_loader_have_no_curve_and_no_sheet(workbook):
    assert "utilization" not in [one.name for one in charts_of(planned(None))]
    assert "Utilization" not in workbook(None).sheetnames
