"""The load of a training day: bytes and peaks are those of the requirements, and the restart is where it belongs."""

import pytest
import yaml
from conftest import EXAMPLES, example_plan

import ingest
from ingest.site.planner import bandwidth_by_year
from ingest.site.training_day import STEP, STEPS, Run, request_shares, training_day

DAY = STEP * STEPS
NOON = 12 * 3600


def site(**checkpoint):
    job = {"cluster": "main", "model": "llama3-8b", "nodes": 4, "data": "text", "tokens": 1e12}
    job["checkpoint"] = {"interval": 3600, "mtti": 1e6, "bytes": 6e12, "drain_time": 120, "restart_time": 300,
                         "reschedule_time": 600, "keep": 1, **checkpoint}  # fmt: skip
    return {
        "clusters": {"main": {"node": "dgx-h100", "count": 4}},
        "jobs": {"train": job},
        "datasets": {"text": {"tokens": 1e12, "bytes_per_token": 4}},
        "floor": "none",
    }


@pytest.mark.parametrize("name", ["hpc-128-nodes", "enterprise-64-nodes", "llm-16384-gpus"])
def test_no_load_exceeds_its_requirement(name):
    plan = example_plan(name)
    day = training_day(plan)
    staging = plan.known.find("site_staging_bandwidth")
    copied = plan.known.value("workload_largest_restart_bandwidth") + (0 if staging is None else float(staging.value))
    guided = {one.id: one.value for one in plan.requirements if one.remark.startswith("By guidance")}
    reads = guided.get("R-READ-03", plan.rounded(plan.known.value("workload_read_bandwidth")))
    writes = plan.rounded(plan.known.value("simultaneous_write_bandwidth"))
    assert max(day.reads) == pytest.approx(reads, rel=0.01)
    assert max(day.copies) <= max(plan.rounded(copied), guided.get("R-RESTART-02", 0))
    assert max(day.writes) <= max(writes, guided.get("R-WRITE-01", 0))


def test_where_the_guidance_decides_the_day_does_not_show_what_the_workload_needs():
    """Vendors would read the margin of the requirement from the chart."""
    described = yaml.safe_load((EXAMPLES / "llm-16384-gpus.yaml").read_text(encoding="utf-8"))
    plan = ingest.plan(described | {"floor": {"level": "good", "because": "the buyer asks for it"}}, samples=0)
    day = training_day(plan)
    assert plan.known.value("workload_read_bandwidth") < 1e8
    assert max(day.reads) == plan.requirement("R-READ-03").value == 90e9
    assert max(day.copies) == plan.requirement("R-RESTART-02").value


def test_a_day_shows_intervals_stops_and_conditions():
    # A day writes one checkpoint in each interval.
    plan = ingest.plan(site(), samples=0)
    day = training_day(plan)
    written = sum(day.writes) * STEP
    assert next(Run(plan.rows["jobs"][0], DAY, 0.5).saves()) == (5400, 5400 + 120), "half an interval late"
    # The first is due after an hour; the interrupt costs the one that would end in the pause and shifts the later ones.
    assert written == pytest.approx(22 * 6e12, rel=0.01)
    assert max(day.writes) == pytest.approx(6e12 / 120, rel=0.005)
    # A synchronous checkpoint stops the reads of its run.
    stopped, going = (training_day(ingest.plan(site(mode=mode), samples=0)) for mode in ("sync", "async"))
    assert any(writes and not reads for writes, reads in zip(stopped.writes, stopped.reads, strict=True))
    assert all(going.reads[: int(NOON / STEP)])
    # Requests are those of the conditions.
    plan = example_plan("enterprise-64-nodes")
    by_load = {}
    for one in request_shares(plan.requirements):
        by_load[one.load] = by_load.get(one.load, 0) + one.part.share
    assert by_load == {load: pytest.approx(1) for load in by_load}
    stated = plan.requirement("R-MIX-01").conditions.mix
    assert tuple(one.part for one in request_shares(plan.requirements) if one.load == "reads and writes") == stated
    # Bandwidth by year begins and ends at the requirements.
    plan = example_plan("enterprise-64-nodes")
    years = bandwidth_by_year(plan)
    assert [one.year for one in years] == ["2026", "2027", "2028", "2029", "2030"]
    assert years[0].reads == plan.results["R-READ-03"].value
    assert years[-1].reads == plan.results["R-GROW-01"].value
    assert {one.writes for one in years} == {plan.results["R-WRITE-01"].value}


def test_a_run_that_fails_reads_its_checkpoint_and_nothing_else():
    day = training_day(ingest.plan(site(), samples=0))
    first, again = (int((NOON + seconds) / STEP) for seconds in (0, 900))
    two = site()
    two["clusters"]["main"]["count"] = 8
    two["jobs"]["tune"] = two["jobs"]["train"] | {"checkpoint": site(bytes=1e12)["jobs"]["train"]["checkpoint"]}
    assert training_day(ingest.plan(two, samples=0)).restored == day.restored == "train"
    assert DAY == 2 * NOON
    assert not any(day.reads[first:again])
    assert day.reads[first - 1]
    assert day.reads[again]
    assert sum(day.copies) * STEP == pytest.approx(6e12, rel=0.01)
    assert [place for place, load in enumerate(day.copies) if load] == list(range(int((NOON + 600) / STEP), again))


def test_many_runs_load_as_much_as_their_number(monkeypatch):
    monkeypatch.setattr("ingest.site.training_day.MOST_RUNS", 8)
    few, many = (site(bytes=6e10) for _ in range(2))
    few["clusters"]["main"]["count"] = many["clusters"]["main"]["count"] = 160
    few["jobs"]["train"]["runs"], many["jobs"]["train"]["runs"] = 8, 40
    days = [training_day(ingest.plan(one, samples=0)) for one in (few, many)]
    for place, what in enumerate(("reads", "copies", "writes")):
        loads = [sum(day[place]) for day in days]
        assert loads[1] == pytest.approx(loads[0] * (1 if what == "copies" else 5), rel=0.01), what


@pytest.mark.parametrize(("interval", "hours"), [(60, 0), (59.9, 12)])
def test_checkpoints_less_than_a_minute_apart_are_one_load(interval, hours):
    """One each minute is drawn by itself and leaves gaps; more frequent ones are a load without any."""
    day = training_day(ingest.plan(site(interval=interval, drain_time=10, bytes=1e11), samples=0))
    assert sum(load > 0 for load in day.writes[: int(NOON / STEP)]) == (NOON / STEP if hours else NOON / STEP / 4 - 1)
