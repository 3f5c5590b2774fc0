"""Overlap, the floor, what moves beside training, feasibility and capacity; expected values are worked out by hand."""

import numpy
import pytest
from conftest import exact, planned
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.engine.messages import rule_of
from ingest.engine.registry import solve
from ingest.errors import IngestError

SYNC = {"mode": "sync", "parameters": 1e9, "bytes": "1 TB", "interval": "1000 s", "waste": "5%", "keep": 1, "mtti": "1 year"}
SLOW = {"samples_per_second": 100, "sample_bytes": 1_000_000}


def site(node="dgx-h100", count=64, **jobs):
    return {
        "clusters": {"main": {"node": node, "count": count}},
        "jobs": {name: {"cluster": "main", "nodes": 8, **job} for name, job in jobs.items()},
    }


LLAMA = {"model": "llama3-70b", "nodes": 64, "checkpoint": {"mode": "async", "keep": 3}}


def signed(level="good"):
    return {"floor": {"level": level, "because": "the grant asks for it"}}


FLOORED = ("R-READ-02", "R-READ-03", "R-READ-04", "R-WRITE-01", "R-WRITE-02", "R-RESTART-01", "R-RESTART-02")


def test_a_signed_floor_sets_mandatory_reads_writes_and_restores():
    plan = planned(site(a=LLAMA) | signed())
    found = {name: exact(plan, name) for name in FLOORED}
    assert found == {
        "R-READ-02": 30e9, "R-READ-03": 30e9, "R-READ-04": 4e9, "R-WRITE-01": 14e9, "R-WRITE-02": 14e9, "R-RESTART-01": 30e9,
        "R-RESTART-02": 30e9,
    }  # fmt: skip
    for name in FLOORED:
        line = plan.requirement(name)
        assert line.priority == "mandatory"
        assert 'By guidance (DGX SuperPOD H100 "good"), not by this workload, which needs' in line.remark
        assert line.conditions.pattern == "sequential"


def test_an_unsigned_floor_is_a_target_beside_what_the_workload_needs():
    plan, bare = planned(site(a=LLAMA)), planned(site(a=LLAMA) | {"floor": "none"})
    assert {name: exact(plan, name) for name in FLOORED} == {name: exact(bare, name) for name in FLOORED}
    asked = {"R-GUIDE-01": 30e9, "R-GUIDE-02": 14e9, "R-GUIDE-03": 4e9}
    assert {name: (exact(plan, name), plan.requirement(name).priority) for name in asked} == {
        name: (rate, "target") for name, rate in asked.items()
    }
    assert not [one.id for one in bare.requirements if one.id.startswith("R-GUIDE")]


@pytest.mark.parametrize(
    ("level", "reads", "writes", "node"), [("better", 80e9, 40e9, 8e9), ("best", 250e9, 124e9, 40e9), ("none", 0, 0, 0)]
)
def test_another_level_is_one_line_of_the_file(level, reads, writes, node):
    plan = planned(site(a=LLAMA) | (signed(level) if level != "none" else {"floor": level}))
    bare = planned(site(a=LLAMA) | {"floor": "none"})
    for name, floor in (("R-READ-03", reads), ("R-WRITE-01", writes), ("R-READ-04", node)):
        assert exact(plan, name) == max(floor, exact(bare, name))
        assert ("By guidance" in plan.requirement(name).remark) is bool(floor)


@pytest.mark.parametrize(("count", "reads"), [(32, 15e9), (127, 127 * 15e9 / 32), (128, 60e9), (129, 60e9), (2048, 60e9)])
def test_the_guidance_ends_at_its_published_scale(count, reads):
    assert exact(planned(site(count=count, a={**LLAMA, "nodes": 8})), "R-GUIDE-01") == pytest.approx(reads, rel=1e-12)


def test_runs_write_start_and_create_by_their_gpus():
    # A single run is held up by its own gpus.
    plan = planned(site(a={**LLAMA, "nodes": 32}, b={**SLOW, "nodes": 8}) | signed())
    assert (exact(plan, "R-READ-02"), exact(plan, "R-READ-03"), exact(plan, "R-RESTART-01")) == (15e9, 30e9, 15e9)
    assert plan.requirement("R-READ-02").conditions.clients == 32
    # Runs that always write are added.
    always = {**SYNC, "mode": "async", "drain_fraction": 1, "drain_time": "1 day"}
    del always["waste"]
    plan = planned(site(a={"runs": 3, "checkpoint": always}) | {"floor": "none"})
    assert exact(plan, "R-WRITE-01") == pytest.approx(3 * exact(plan, "R-WRITE-02"))
    # Jobs start and evaluate in time.
    plan = planned(site(a={**SLOW, "runs": 2, "start": {"bytes": "6 GB", "files": 30_000}}))
    assert exact(plan, "R-START-01") == 6e9 * 16 / 60
    assert exact(plan, "R-START-02") == 30_000 * 16 / 60
    plan = planned(site(a={**SLOW, "runs": 2, "evaluation": {"bytes": "120 GB", "within": "30 s"}}))
    assert exact(plan, "R-START-01") == 2 * 120e9 / 30
    assert "R-START-02" not in plan.results
    # All files of a checkpoint are created together.
    plan = planned(site(a={"checkpoint": SYNC}, b={"runs": 4, "checkpoint": SYNC}))
    files = plan.tables["checkpoints"][0]["checkpoint_files"]
    assert exact(plan, "R-META-02") == files / 10
    assert plan.requirement("R-META-02").conditions.clients == 8
    quick = planned(site(a={"checkpoint": SYNC}) | {"test": {"create_time": "5 s"}})
    assert exact(quick, "R-META-02") == files / 5
    # Checkpoints on the nodes take their nvme.
    job = {"checkpoint": {**SYNC, "tier": "nodes"}}
    assert exact(planned(site(a=job)), "R-STAGE-02") == 2 * 1e12 / 8
    staged = {**SLOW, "data": "d", "placement": {"mode": "stage", "within": "10 min"}}
    both = site(a={**job, **staged}) | {"datasets": {"d": {"bytes": "6 TB"}}}
    assert exact(planned(both), "R-STAGE-02") == 6e12 / 8 + 2 * 1e12 / 8
    del both["jobs"]["a"]["checkpoint"]["tier"]
    assert exact(planned(both), "R-STAGE-02") == 6e12 / 8


@pytest.mark.parametrize(("node", "level"), [("dgx-b200", "standard"), ("dgx-b300", "standard")])
def test_standard_holds_where_no_level_is_good(node, level):
    plan = planned(site(node, 64, a=SLOW))
    assert [row["level"] for row in plan.tables["guidance"] if row.get("floor") == "yes"] == [level]
    assert exact(plan, "R-GUIDE-01") == pytest.approx(80e9, rel=1e-12)
    assert exact(plan, "R-READ-04") == 8 * 100 * 1e6
    assert "R-GUIDE-03" not in plan.results  # no figure for a single node is published


@pytest.mark.parametrize("node", ["dgx-a100", "mi300x-8"])
def test_unconfirmed_guidance_never_binds(node):
    plan = planned(site(node, 64, a=SLOW))
    assert not [line for line in plan.requirements if "By guidance" in line.remark]
    assert [line for line in plan.warnings if "no storage guidance is confirmed" in line]
    assert not [row for row in plan.tables["guidance"] if row.get("floor") == "yes"]
    assert not any("guidance is confirmed" in line for line in planned(site(node, 64, a=SLOW) | {"floor": "none"}).warnings)


def test_floors_add_up_and_a_level_must_exist():
    # A level that no gpu has is refused.
    with pytest.raises(IngestError, match=r"floor: found best, expected one of none, standard, enhanced"):
        planned(site("dgx-b200", 64, a=SLOW) | {"floor": "best"})
    # The floors of clusters add up.
    data = site(a=LLAMA)
    data["clusters"]["other"] = {"node": "dgx-b200", "count": 32}
    assert exact(planned(data), "R-GUIDE-01") == 30e9 + 40e9
    assert exact(planned(data), "R-GUIDE-02") == 14e9 + 20e9
    # Per GPU, the nearest generation holds where none is published for its own: 256 GPUs at 40 GB/s for 256.
    trays = planned(site("gb200-nvl72-tray", 64, a=SLOW))
    assert exact(trays, "R-GUIDE-01") == pytest.approx(40e9, rel=1e-12)
    assert "DGX SuperPOD B200" in trays.requirement("R-GUIDE-01").remark


@pytest.mark.parametrize(("rate", "guided"), [(58_593, True), (58_594, False)])
def test_a_workload_above_the_guidance_decides(rate, guided):
    # 64 nodes of 8 GPUs at 1 kB per sample: 30 GB/s are 58,593.75 samples/s per GPU.
    data = site(a={"samples_per_second": rate, "sample_bytes": 1000, "nodes": 64})
    assert ("By guidance" in planned(data | signed()).requirement("R-READ-03").remark) is guided
    assert ("R-GUIDE-01" in planned(data).results) is guided


def test_rates_beside_the_workload():
    # A site without checkpoints still writes, by guidance alone.
    for extra, priority in (({}, "target"), (signed(), "mandatory")):
        plan = planned(site(a=SLOW) | extra)
        line = plan.requirement("R-GUIDE-02")
        assert (exact(plan, "R-GUIDE-02"), line.priority, line.conditions.clients) == (14e9, priority, 8)
        assert ("checkpoint" in line.statement, "this workload needs none)" in line.statement) == (False, True)
    assert not {"R-WRITE-01", "R-RESTART-01", "R-RESTART-02", "R-WRITE-02", "R-MIX-01"} & {one.id for one in plan.requirements}
    # Practice and every level are beside the workload.
    rows = planned(site(a=LLAMA)).tables["guidance"]
    assert [row.get("level") for row in rows] == ["good", "better", "best", None, None, None]
    assert [row["compared_writes"] for row in rows[-2:]] == [512 * 5e6, 512 * 160e6]


def percentile(runs):
    """The 99th percentile of the sum of independent on-off loads, by exact convolution."""
    chances = numpy.ones(1)
    for count, duty, rate in runs:
        for _ in range(count):
            wider = numpy.zeros(len(chances) + rate)
            wider[: len(chances)] += chances * (1 - duty)
            wider[rate:] += chances * duty
            chances = wider
    return int(numpy.searchsorted(numpy.cumsum(chances), 0.99 - 1e-12))


def overlapping(runs):
    given_ = {
        "run_write_bandwidth_of_jobs": [rate for _, _, rate in runs],
        "job_write_bandwidth_of_jobs": [count * rate for count, _, rate in runs],
        "job_sustained_write_bandwidth_of_jobs": [count * duty * rate for count, duty, rate in runs],
        "runs_writing_of_jobs": [count * duty for count, duty, _ in runs],
        "write_variance_of_jobs": [count * duty * (1 - duty) * rate**2 for count, duty, rate in runs],
        "write_third_moment_of_jobs": [count * duty * (1 - duty) * (1 - 2 * duty) * rate**3 for count, duty, rate in runs],
        "least_bandwidth": 1,
        "performance_headroom": 0,
    }
    return solve("overlapping_write_bandwidth", given_)


# Without the floor of the variance, taking the second job away raises the rate by 19 %.
@example([(2, 0.001, 82), (6, 0.18, 5), (2, 0.79, 3)])
@given(st.lists(st.tuples(st.integers(1, 20), st.floats(0.001, 0.999), st.integers(3, 200)), min_size=1, max_size=8))
def test_simultaneous_writes_are_close_to_the_exact_percentile_and_rise_with_each_job(runs):
    found, wanted = overlapping(runs), max(percentile(runs), *(rate for _, _, rate in runs))
    assert all(overlapping(runs[:at] + runs[at + 1 :]) <= found * (1 + 1e-9) for at in range(len(runs)) if len(runs) > 1)
    assert found >= 0.93 * wanted
    assert found <= min(sum(count * rate for count, _, rate in runs), 2.5 * wanted)


def test_runs_that_rarely_write_together_need_the_bandwidth_of_one():
    # λ²/2 = 1 % at λ = 0.1414 runs that write at a moment.
    below, above = (
        {"run_write_bandwidth_of_jobs": [10e9], "job_write_bandwidth_of_jobs": [20e9], "runs_writing_of_jobs": [writing],
         "job_sustained_write_bandwidth_of_jobs": [writing * 10e9], "write_variance_of_jobs": [writing * 1e20],
         "write_third_moment_of_jobs": [writing * 1e30], "least_bandwidth": 1, "performance_headroom": 0}
        for writing in (0.1414, 0.1415)
    )  # fmt: skip
    assert solve("overlapping_write_bandwidth", below) == 10e9
    assert solve("overlapping_write_bandwidth", above) > 15e9


def test_data_sets_are_loaded_and_prepared_in_time():
    data = site(a=SLOW) | {"storage": {"headroom": 0.5}}
    data["datasets"] = {
        "crawl": {"bytes": "604.8 TB", "copies": 2},
        "text": {"made_from": "crawl", "ratio": 0.1, "refresh": "30 days"},
    }
    plan = planned(data)
    # What is made on the site is written by its preparation, not loaded.
    assert exact(plan, "R-LOAD-01") == pytest.approx(1.5 * 2 * 604.8e12 / 604_800)
    assert exact(plan, "R-PREP-01") == pytest.approx(1.5 * 604.8e12 / 604_800)
    assert exact(plan, "R-PREP-02") == pytest.approx(1.5 * 60.48e12 / 604_800)
    assert plan.requirement("R-LOAD-01").conditions.operation == "write"
    assert plan.requirement("R-PREP-01").statement.endswith("within 7 days.")
    data["datasets"]["crawl"]["load_within"], data["datasets"]["text"]["prepare_within"] = "14 days", "1 day"
    plan = planned(data)
    assert exact(plan, "R-LOAD-01") == pytest.approx(1.5 * 604.8e12 / 604_800)
    assert exact(plan, "R-PREP-01") == pytest.approx(1.5 * 604.8e12 / 86_400)
    assert exact(plan, "R-PREP-02") == pytest.approx(1.5 * 60.48e12 / 86_400)
    # A version is made before the next one is due.
    data["datasets"]["text"] |= {"refresh": "12 h"}
    assert exact(planned(data), "R-PREP-02") == pytest.approx(1.5 * 60.48e12 / 43_200)


def test_a_job_removed_makes_no_data_set_larger():
    """The samples of the model are held, or the larger ones that a job states."""
    data = site(a={"model": "resnet50", "data": "d"}, b=SLOW | {"sample_bytes": 2_764_000, "data": "d"})
    data["datasets"] = {"d": {"model": "cosmoflow"}}
    held = exact(planned(data), "R-LOAD-01")
    alone = {**data, "jobs": {"b": data["jobs"].pop("b")}}
    assert held == exact(planned(data), "R-LOAD-01") == exact(planned(alone), "R-LOAD-01")
    # What it says of its samples is not what another job reads: a larger data set is cached less, no job reads less.
    data["jobs"] = {"a": {**data["jobs"]["a"], "model": "deepcam"}}
    most = exact(planned(data), "R-READ-02")
    data["jobs"]["b"] = alone["jobs"]["b"] | {"sample_bytes": 4_205_000}
    assert exact(planned(data), "R-READ-02") >= most


def test_exports_add_to_refreshes():
    data = site(a={**SLOW, "runs": 2, "export": {"bytes": "600 GB"}})
    data["datasets"] = {"d": {"bytes": "60.48 TB", "refresh": "30 days", "growth": {"capacity": 2, "every": "1 year"}}}
    assert exact(planned(data), "R-LOAD-01") == pytest.approx(2 * 600e9 / 600 + 32 * 60.48e12 / 604_800)
    del data["jobs"]["a"]["export"]
    assert exact(planned(data), "R-LOAD-01") == pytest.approx(32 * 60.48e12 / 604_800)  # five years later


def test_a_data_set_is_loaded_in_the_year_in_which_it_comes():
    data = site(a=SLOW) | {"start": 2026, "years": 4}
    data["datasets"] = {
        "crawl": {"bytes": "60.48 TB", "from": 2028, "growth": {"capacity": 2, "every": "1 year"}, "refresh": "60 days"},
        "text": {"made_from": "crawl", "ratio": 0.1, "from": 2028},
    }
    plan = planned(data)
    # 2028 is year 2: four times the bytes; the last version, in year 4, has 16 times.
    assert exact(plan, "R-LOAD-01") == pytest.approx(max(4 * 60.48e12, 16 * 60.48e12) / 604_800)
    assert exact(plan, "R-PREP-02") == pytest.approx(6.048e12 / 604_800)
    assert exact(plan, "R-PREP-01") == pytest.approx(16 * 60.48e12 / 604_800)


def test_capacity_in_three_lines():
    data = site(a=SLOW) | {"datasets": {"d": {"bytes": "100 TB"}}, "storage": {"protection": {"data": 4, "parity": 1}}}
    data["reserve"] = {
        "snapshots": "10%",
        "rebuild": "5%",
        "replica": "25%",
        "homes": "5 TB",
        "containers": "3 TB",
        "logs": "2 TB",
    }
    plan = planned(data)
    assert exact(plan, "R-CAP-01") == 100e12
    assert exact(plan, "R-CAP-03") == pytest.approx(150e12 / 0.85)
    assert exact(plan, "R-CAP-02") == pytest.approx(150e12 / 0.85 * 5 / 4)
    for name in ("R-CAP-01", "R-CAP-02", "R-CAP-03"):
        assert "without data reduction" in plan.requirement(name).statement
    assert not any("reserve" in line for line in plan.warnings)
    del data["reserve"]
    assert exact(planned(data), "R-CAP-03") == pytest.approx(100e12 / 0.85)
    assert any("10 to 20 % for snapshots" in line for line in planned(data).warnings)


def test_endurance_has_its_period_and_drive_writes():
    data = site(a=SLOW) | {
        "datasets": {"d": {"bytes": "100 TB", "refresh": "10 days"}},
        "storage": {"protection": {"replicas": 2}},
    }
    written = planned(data).requirement("R-END-01").statement
    # 2 × (10 TB + 100 TB ÷ 365.25 in the first year) each day, over 2 × 100 TB ÷ 0.85
    assert "on each day of a warranty of 5 years" in written
    assert "(0.087 drive writes per day" in written
    data["storage"]["warranty"] = "3 years"
    assert "on each day of a warranty of 3 years" in planned(data).requirement("R-END-01").statement


def warned(data, text):
    return any(text in line for line in planned(data).warnings)


@pytest.mark.parametrize(("rate", "told"), [(8_999, False), (9_500, True)])
def test_a_node_reads_no_more_than_its_nics(rate, told):
    # 8 GPUs × 9,000 samples/s × 1 MB = 72 GB/s: 90 % of the storage NICs of a DGX H100
    data = site(a={"samples_per_second": rate, "sample_bytes": 1_000_000})
    plan = planned(data)
    assert ("W46" in [one.id for one in plan.decisions]) is told
    assert exact(plan, "R-READ-04") == min(8e6 * rate, 72e9)
    assert exact(plan, "R-READ-03") == 8 * exact(plan, "R-READ-04")
    assert bool(plan.requirement("R-READ-03").limited_by) is told


@pytest.mark.parametrize(("factor", "nodes"), [(89, 0), (91, 8.09)])
def test_growth_stays_within_the_nics_of_the_nodes(factor, nodes):
    # 8 nodes at 0.8 GB/s grow by the factor in a year: 71.2 and 72.8 GB/s per node, of 90 % of 80 GB/s
    data = site(count=8, a={**SLOW, "growth": {"bandwidth": factor, "every": "1 year"}}) | {"years": 1, "floor": "none"}
    plan = planned(data)
    assert exact(plan, "R-GROW-01") == pytest.approx(8 * min(0.8e9 * factor, 72e9))
    assert ("the growth needs 9 nodes" in plan.requirement("R-GROW-01").statement) is bool(nodes)
    assert warned(data, "9 nodes of the present type would take that") is bool(nodes)
    (choice,) = [one for line in plan.lines for one in line.findings if one.rule.id == "C18"]
    assert choice.true is bool(nodes)


@pytest.mark.parametrize(("days", "told"), [("6.9 days", False), ("7.1 days", True)])
def test_a_storage_is_filled_within_a_week(days, told):
    data = site(a=SLOW) | {"floor": "none", "datasets": {"d": {"bytes": "100 TB", "load_within": days}}}
    assert warned(data, "writing all that the storage holds takes") is told


@pytest.mark.parametrize(("rate", "warned"), [(11, False), (12, True)])
def test_a_line_beyond_the_known_client_is_named(rate, warned):
    # One client over NFS with nconnect reads 10 GB/s: 8 GPUs × rate × 108 MB is 9.5 and 10.4 GB/s.
    job = {"samples_per_second": rate, "sample_bytes": "108 MB"}
    plan = planned(site(a=job) | {"storage": {"client": "nfs-nconnect"}})
    assert ("W46" in [one.id for one in plan.decisions]) is warned
    assert exact(plan, "R-READ-04") == min(8 * rate * 108e6, 10e9)


@pytest.mark.parametrize("parts", [2, 12, 365.25 / 7])
def test_growth_over_any_period_is_that_of_its_annual_equivalent(parts):
    def grown(factor, every):
        growth = {"capacity": factor, "bandwidth": factor, "every": every}
        data = site(a={**SLOW, "data": "d"}) | {"growth": growth, "years": 5, "storage": {"protection": {"replicas": 2}}}
        return planned(data | {"datasets": {"d": {"bytes": "100 TB", "files": 1e6, "load_within": "1 day"}}}).computed

    year, short = grown(1.68, "1 year"), grown(1.68 ** (1 / parts), f"{365.25 / parts} days")
    assert {"R-META-03", "R-CAP-03", "R-GROW-01", "R-END-01", "R-LOAD-01"} <= year.keys()
    assert short == {name: pytest.approx(value, rel=1e-9) for name, value in year.items()}
    assert year["R-META-03"] == pytest.approx(1e6 * 1.68**5)


@pytest.mark.parametrize(("factor", "every", "refused"), [(2, "29.9 days", True), (2, "30.1 days", False), (1, "1 s", False),
    ({"typical": 1.1, "low": 1, "high": 3}, "30 days", True), (1000, "1 s", True)])  # fmt: skip
def test_growth_that_doubles_within_a_month_is_refused(factor, every, refused):
    data = site(a=SLOW) | {"datasets": {"d": {"bytes": "1 TB", "growth": {"capacity": factor, "every": every}}}}
    if not refused:
        assert planned(data)
        return
    with pytest.raises(IngestError, match=r"^datasets\.d\.growth\.capacity: found .*, expected growth that doubles in 30 days"):
        planned(data)


@pytest.mark.parametrize("key", ["reserve.snapshots", "reserve.rebuild", "reserve.replica", "storage.headroom"])
def test_a_share_of_more_than_all_lacks_its_sign(key):
    section, word = key.split(".")
    data = site(a=SLOW) | {"datasets": {"d": {"bytes": "1 TB"}}}
    assert planned(data | {section: {word: 1}})
    for value, hint in ((1.001, ""), ("100.1%", ""), (10, "; did you mean '10 %'?")):
        with pytest.raises(IngestError) as refused:
            planned(data | {section: {word: value}})
        assert str(refused.value) == f"{key}: found {value}, expected a number from 0 up to 1{hint}"


@pytest.mark.parametrize(("start", "told"), [(2029, False), (2030, True)])
def test_a_data_set_that_no_year_of_the_plan_has_is_named(start, told):
    data = site(a=SLOW) | {"start": start, "datasets": {"d": {"bytes": "1 TB", "until": 2029}}}
    said = [line for line in planned(data).warnings if rule_of(line) == "W39"]
    never = "datasets.d: on storage in none of the planned years, 2030 to 2035: no line counts it; set from or until or start"
    assert said == ([never] if told else [])


@pytest.mark.parametrize(("size", "told"), [(0, False), (20, True), (999_999, True), (1_000_000, False), ("20 TB", False)])
def test_a_capacity_without_a_unit_is_named(size, told):
    data = site(a=SLOW) | {"datasets": {"d": {"bytes": "1 TB"}}, "reserve": {"homes": size}}
    said = [line for line in planned(data).warnings if rule_of(line) == "W42"]
    assert bool(said) is told
    data |= {"datasets": {"d": {"bytes": 20}}, "reserve": {}}
    data["clusters"]["main"]["nvme"] = 30
    told_of = [line for line in planned(data).warnings if rule_of(line) == "W42"]
    assert told_of == [f"{key} B, expected at least 1 MB: a number without a unit is in bytes" for key in (
        "datasets.d.bytes: found 20", "clusters.main.nvme: found 30")]  # fmt: skip


def test_warnings_name_the_jobs_that_they_are_about():
    lossy = {"mode": "async", "parameters": 1e12, "mtti": "1 h", "restart_time": "10 min"}
    plan = planned(site(a={**SLOW, "checkpoint": lossy}, b={**SLOW, "checkpoint": lossy}, c=SLOW))
    assert [line.partition(": ")[0] for line in plan.warnings if rule_of(line) == "W24"] == ["a, b"]


@pytest.mark.parametrize(("changes", "words"), [
    ({"efficiency": 0.4, "model": "resnet50"}, "jobs.a: samples_per_second, efficiency: sets the rate already"),
    ({"checkpoint": {"parameters": 1e20}}, "jobs.a.checkpoint.parameters: found 1e+20, expected a number above 0 up to 1e+17"),
    ({"set": {"cache_hit_fraction": 2}}, "jobs.a: set cache_hit_fraction: found 2, expected a number from 0 up to 1"),
])  # fmt: skip
def test_a_site_is_refused_in_its_own_keys(changes, words):
    with pytest.raises(IngestError) as refused:
        planned(site(a={**SLOW, **changes}))
    assert str(refused.value).startswith(words)
