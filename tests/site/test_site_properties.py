"""What must hold for every site: nothing lowers a requirement by being more, order does not matter, sums are sums."""

import copy
import math

import pytest
from conftest import example_plan
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.engine import monte_carlo
from ingest.engine.monte_carlo import ArrayTree, samples_for
from ingest.site.influence import SMALLEST, _others, influences

#: lines that are sums over jobs and data sets: they double where every job and data set stands twice
SUMS = ("R-READ-01", "R-READ-03", "R-READ-05", "R-WRITE-03", "R-RESTART-02", "R-META-01", "R-META-03", "R-CAP-01", "R-CAP-02",
        "R-CAP-03", "R-END-01", "R-LOAD-01", "R-PREP-01")  # fmt: skip
#: and those that are the largest of their kind
LARGEST = ("R-READ-02", "R-READ-04", "R-WRITE-02", "R-RESTART-01", "R-META-02")


@st.composite
def jobs(draw):
    rate, size = draw(st.floats(0.1, 1e4)), draw(st.integers(1_000, 10**9))
    job = {"cluster": "main", "samples_per_second": rate, "sample_bytes": size, "nodes": draw(st.integers(1, 40)), "data": "d"}
    job |= {
        "runs": draw(st.integers(1, 4)),
        "share": draw(st.floats(0.01, 1)),
        "set": {"samples_per_file": draw(st.integers(1, 99))},
    }
    job |= draw(st.sampled_from([{}, {"epochs": 3}, {"epochs": 3, "starts": 1}, {"epochs": 3, "warm_up": "1 min"}]))
    if "epochs" in job:
        job["set"]["dataset_samples"] = 1e6
    job["growth"] = {"bandwidth": draw(st.floats(1, 4)), "every": "1 year"}
    if draw(st.booleans()):
        # A schedule keeps this overhead on 1 to 200 nodes: at 10 min, staging, lost work and restores take less than 4 %.
        waste, parameters = draw(st.floats(0.05, 0.2)), draw(st.integers(10**6, 10**10))
        job["checkpoint"] = {"parameters": parameters, "waste": waste, "keep": draw(st.integers(1, 9)), "layout": "dcp"}
        job["checkpoint"] |= draw(st.sampled_from([{}, {"mode": "async", "interval": "10 min"}]))
    return job


@st.composite
def sites(draw):
    datasets = {
        "d": {"bytes": draw(st.floats(1e9, 1e16)), "file_bytes": draw(st.floats(1e5, 1e10)), "copies": draw(st.integers(1, 5))},
        "t": {"tokens": draw(st.floats(1e6, 1e15)), "bytes_per_token": 4, "files": 3},
        "e": {"made_from": "d", "ratio": draw(st.floats(0.01, 3)), "files": 7, "refresh": "30 days",
              "retention": draw(st.floats(0, 1e8)), "growth": {"capacity": draw(st.floats(1, 3)), "every": "1 year"}},
    }  # fmt: skip
    return {
        "floor": "none",
        "clusters": {"main": {"node": "dgx-h100", "count": 10_000}},
        "jobs": {name: draw(jobs()) for name in ("a", "b", "c")[: draw(st.integers(1, 3))]},
        "datasets": datasets,
        "storage": {"protection": {"data": draw(st.integers(1, 16)), "parity": draw(st.integers(0, 4))}, "headroom": 0.1},
        "years": 3,
    }


def values(site):
    return ingest.plan(site, samples=0).computed


def changed(site, path, factor):
    other = copy.deepcopy(site)
    *keys, last = path.split(".")
    node = other
    for key in keys:
        node = node[key]
    node[last] = node.get(last, 1) * factor
    return other


@given(sites(), st.sampled_from(["jobs.a.nodes", "jobs.a.runs", "jobs.a.samples_per_second", "datasets.d.bytes",
                                 "datasets.d.copies", "datasets.e.ratio", "datasets.e.growth.capacity", "storage.headroom",
                                 "datasets.t.tokens", "jobs.a.growth.bandwidth", "datasets.t.copies"]),
       st.integers(2, 5))  # fmt: skip
def test_more_never_lowers_a_requirement(site, path, factor):
    if path == "jobs.a.nodes":
        site = staged_in(site, 2)
    before, after = values(site), values(changed(site, path, factor))
    for name, value in before.items():
        assert after[name] >= value * (1 - 1e-12), name


def staged_in(site, seconds):
    """The site with a fixed time to stage a checkpoint, which otherwise falls with the nodes: each GPU copies less."""
    other = copy.deepcopy(site)
    for job in other["jobs"].values():
        if "checkpoint" in job:
            job["checkpoint"]["set"] = {**job["checkpoint"].get("set", {}), "checkpoint_staging_seconds": seconds}
    return other


def asynchronous(nodes, **checkpoint):
    """A job that saves 14 B × 9e10 every 10 min, with an interrupt in 4e6 s of a node."""
    job = {"cluster": "main", "nodes": nodes, "samples_per_second": 1, "sample_bytes": 1e6}
    job["checkpoint"] = {
        "parameters": 9e10,
        "waste": 0.053,
        "interval": "10 min",
        "mode": "async",
        "layout": "dcp",
        **checkpoint,
    }
    job["checkpoint"]["set"] = {"failures_per_node_second": 2.5e-7, "restart_seconds": 100}
    return {"floor": "none", "clusters": {"main": {"node": "dgx-h100", "count": 100}}, "jobs": {"a": job}}


def by_hand(nodes, staging, stopped):
    """What is left of 5.3 % of the time after staging, lost work and restarts is left for the dump."""
    interrupts = nodes * 2.5e-7
    left = 0.053 - staging / 600 - 300 * interrupts - 100 * interrupts
    return 12 * 9e10 / (left / (stopped / 600 + interrupts))


def test_the_exception_more_nodes_stage_an_asynchronous_checkpoint_sooner_and_may_write_slower():
    staging = {nodes: 0.5 + 12 * 9e10 / (8 * nodes) / 1.7e9 for nodes in (18, 36)}
    few, many = (values(asynchronous(nodes))["R-WRITE-01"] for nodes in (18, 36))
    assert (few, many) == tuple(pytest.approx(by_hand(nodes, staging[nodes], 0.5), rel=1e-9) for nodes in (18, 36))
    assert many < 0.97 * few
    few, many = (values(staged_in(asynchronous(nodes), 5))["R-WRITE-01"] for nodes in (18, 36))
    assert (few, many) == tuple(pytest.approx(by_hand(nodes, 5, 0.5), rel=1e-9) for nodes in (18, 36))
    assert many > few
    few, many = (values(asynchronous(nodes, mode="sync"))["R-WRITE-01"] for nodes in (18, 36))
    assert (few, many) == tuple(pytest.approx(by_hand(nodes, 0, 1), rel=1e-9) for nodes in (18, 36))
    assert many > few


@given(sites())
def test_everything_twice_doubles_the_sums_and_leaves_the_largest(site):
    twice = copy.deepcopy(site)
    for name, job in site["jobs"].items():
        twice["jobs"][f"{name}2"] = {**copy.deepcopy(job), "data": "d2"}
    twice["datasets"]["d2"] = copy.deepcopy(site["datasets"]["d"])
    twice["datasets"]["t2"] = copy.deepcopy(site["datasets"]["t"])
    twice["datasets"]["e2"] = {**copy.deepcopy(site["datasets"]["e"]), "made_from": "d2"}
    before, after = values(site), values(twice)
    assert before.keys() == after.keys()
    for name in before.keys() & set(SUMS):
        assert after[name] == pytest.approx(2 * before[name], rel=1e-12), name
    for name in before.keys() & set(LARGEST):
        assert after[name] == before[name], name
    if "R-WRITE-01" in before:
        at_once = values({**site, "overlap": {"checkpoints": True}})["R-WRITE-01"]
        assert before["R-WRITE-01"] * (1 - 1e-12) <= after["R-WRITE-01"] <= 2 * before["R-WRITE-03"] + 2 * at_once


@given(sites(), st.sampled_from([{}, {"checkpoints": True}, {"checkpoints": False}]))
def test_what_is_mandatory_to_write_is_never_below_the_average(site, overlap):
    saving = any("checkpoint" in job for job in site["jobs"].values())
    plan = ingest.plan({**site, "overlap": overlap if saving else {}}, samples=0)
    if "R-WRITE-03" in plan.results:
        writes, reads, mixed = (plan.computed[name] for name in ("R-WRITE-01", "R-READ-03", "R-MIX-01"))
        assert plan.requirement("R-WRITE-01").priority == "mandatory"
        assert writes >= plan.computed["R-WRITE-03"] * (1 - 1e-12)
        assert max(reads, writes) * (1 - 1e-12) <= mixed <= (reads + writes) * (1 + 1e-12)


@given(st.lists(st.floats(1, 1e4), min_size=3, max_size=3), st.sampled_from("abc"), st.floats(1, 5), st.integers(1, 10))
def test_more_never_lowers_what_jobs_in_turn_can_read(rates, which, factor, more):
    site = {
        "floor": "none",
        "clusters": {"main": {"node": "dgx-h100", "count": 50}},
        "jobs": {
            name: {"cluster": "main", "nodes": 40, "share": 0.3, "samples_per_second": rate, "sample_bytes": 1_000_000}
            for name, rate in zip("abc", rates, strict=True)
        },
    }
    before = values(site)
    # A node draws 72 GB/s: 9,000 samples of 1 MB a second for each of 8 GPUs.
    drawn = [min(rate, 9000) for rate in rates]
    assert before["R-READ-03"] == pytest.approx(min(40 * sum(drawn), 50 * max(drawn)) * 8e6)
    faster, wider = changed(site, f"jobs.{which}.samples_per_second", factor), copy.deepcopy(site)
    wider["jobs"][which]["nodes"] += more
    for after in (values(faster), values(wider)):
        assert all(after[name] >= value * (1 - 1e-12) for name, value in before.items())


def missed(cached):
    return (1 - cached) * (1 - math.log(1 - cached))


def test_the_exception_more_nodes_of_a_partitioned_cache_read_less():
    job = {"cluster": "main", "nodes": 10, "samples_per_second": 100, "sample_bytes": 1e6, "data": "d"}
    job["placement"] = {"mode": "cache", "partitioned": True}
    site = {"floor": "none", "clusters": {"main": {"node": "dgx-h100", "count": 40, "nvme": "1 TB"}}, "jobs": {"a": job},
            "datasets": {"d": {"bytes": "40 TB"}}}  # fmt: skip
    few, many = values(site), values(changed(site, "jobs.a.nodes", 3))
    assert few["R-READ-01"] == pytest.approx(10 * 8e8 * missed(10 / 40))
    assert many["R-READ-01"] == pytest.approx(30 * 8e8 * missed(30 / 40))
    assert many["R-READ-05"] == 3 * few["R-READ-05"]
    job["placement"]["partitioned"] = False
    few, many = values(site), values(changed(site, "jobs.a.nodes", 3))
    assert few["R-READ-01"] == pytest.approx(10 * 8e8 * missed(1 / 40))
    assert many["R-READ-01"] == 3 * few["R-READ-01"]


@given(sites(), st.randoms(use_true_random=False))
def test_order_changes_nothing(site, random):
    shuffled = copy.deepcopy(site)
    for table in ("jobs", "datasets"):
        items = list(shuffled[table].items())
        random.shuffle(items)
        shuffled[table] = dict(items)
    before, after = values(site), values(shuffled)
    assert after == {name: pytest.approx(value, rel=1e-12) for name, value in before.items()}


@given(sites())
def test_raw_is_never_below_usable_and_the_peak_never_above_the_sum(site):
    found = values(site)
    assert found["R-CAP-02"] >= found["R-CAP-03"] >= found["R-CAP-01"]
    assert found["R-READ-02"] <= found["R-READ-03"] * (1 + 1e-12)
    assert found.get("R-READ-01", 0) <= found["R-READ-03"] * (1 + 1e-12)


def ranged(low, typical, high):
    return {
        "clusters": {"main": {"node": "dgx-h100", "count": 100}},
        "jobs": {
            name: {"cluster": "main", "nodes": 10, "sample_bytes": "1 MB",
                   "samples_per_second": {"low": low, "typical": typical, "high": high}} for name in ("a", "b")
        },
    }  # fmt: skip


def test_one_uncertain_quantity_comes_through_with_its_own_ends():
    site = ranged(50, 100, 300)
    del site["jobs"]["b"]
    found = ingest.plan(site, seed=3, samples=200_000).results["R-READ-01"]
    assert (found.low / found.value, found.high / found.value) == (pytest.approx(0.5, rel=0.02), pytest.approx(3, rel=0.02))


def test_two_uncertain_jobs_are_drawn_independently_and_one_catalog_value_once():
    independent = ingest.plan(ranged(50, 100, 300)).results["R-READ-01"]
    assert independent.low > 0.52 * independent.value
    catalog = {"clusters": {"main": {"node": "dgx-a100", "count": 100}}, "jobs": {
        name: {"cluster": "main", "nodes": 10, "model": "cosmoflow"} for name in ("a", "b")}}  # fmt: skip
    together = ingest.plan(catalog)
    assert len(together.tree.uncertain) == 1
    alone = ingest.plan({**catalog, "jobs": {"a": catalog["jobs"]["a"]}})
    assert together.results["R-READ-01"].low == pytest.approx(2 * alone.results["R-READ-01"].low)


def test_the_same_seed_gives_the_same_ends_in_any_order_and_another_seed_others():
    site = ranged(50, 100, 300)
    turned = {**site, "jobs": dict(reversed(site["jobs"].items()))}
    first, second, third = (
        ingest.plan(one, seed=seed).results["R-READ-01"] for one, seed in ((site, 7), (turned, 7), (site, 8))
    )
    assert (first.low, first.high) == (pytest.approx(second.low), pytest.approx(second.high))
    assert first.low != third.low


def test_no_samples_no_ends():
    assert ingest.plan(ranged(50, 100, 300), samples=0).results["R-READ-01"].low is None


def test_a_tornado_is_sorted_and_each_bar_is_a_plan_at_that_end():
    site = ranged(50, 100, 300)
    site["jobs"]["b"]["samples_per_second"] = {"low": 90, "typical": 100, "high": 110}
    bars = ingest.plan(site).sensitivity("R-READ-01")
    assert [bar.rows for bar in bars] == [("a",), ("b",)]
    for end, found in (("low", bars[0].at_low), ("high", bars[0].at_high)):
        other = copy.deepcopy(site)
        other["jobs"]["a"]["samples_per_second"] = site["jobs"]["a"]["samples_per_second"][end]
        assert found == pytest.approx(ingest.plan(other, samples=0).computed["R-READ-01"])


def test_a_site_of_very_many_jobs_is_drawn_less_often(monkeypatch):
    """A fifteenth of 1,500 jobs, and of the numbers that a second draws."""
    site = ranged(50, 100, 300)
    site["clusters"]["main"]["count"] = 1000
    site["jobs"] = {f"job{number}": site["jobs"]["a"] for number in range(100)}
    plan = ingest.plan(site, samples=0)
    monkeypatch.setattr(monte_carlo, "MOST_NUMBERS", monte_carlo.MOST_NUMBERS // 15)
    assert samples_for(plan.tree, None) < samples_for(ArrayTree({}), None)
    assert samples_for(plan.tree, 123) == 123


# Inputs turned at once move the requirements as each one turned alone.


def alone(plan, step):
    """The relative changes of the requirements, computed on the whole tree for one value after the other."""
    found = {}
    for value in _others(step):
        values = plan.tree.again({step: value}, plan.tree.above([step]))
        for one in plan.requirements:
            line = plan.steps[one.id]
            if one.priority != "information" and line in values and float(line.value) > 0:
                change = abs(float(values[line]) - float(line.value)) / float(line.value)
                found[one.id] = max(change, found.get(one.id, 0.0))
    return {name: change for name, change in found.items() if change > SMALLEST}


def test_inputs_turned_at_once_move_what_each_moves_alone():
    plan = example_plan("hpc-128-nodes")
    inputs = [step for step in plan.tree.order if step.source is not None and isinstance(step.value, (int, float))]
    found = {one.steps[0]: dict(one.moved) for one in influences(plan, [[step] for step in inputs])}
    expected = {step: moved for step in inputs if (moved := alone(plan, step))}
    assert found.keys() == expected.keys()
    assert len(found) > 50
    # An input without a range moves by a tenth, a whole number by at least one.
    by_name = {step.name: step for step in inputs}
    assert _others(by_name["create_seconds"]) == pytest.approx([9, 11])
    assert _others(by_name["cluster_nodes"]) == [128 - 13, 128 + 13]
    for step, moved in found.items():
        assert moved == pytest.approx(expected[step], rel=1e-9), step.name
