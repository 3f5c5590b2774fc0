"""Relations between answers, held against a few drawn scenarios; `make fuzz` takes thousands."""

import random

import pytest
from fuzz import relations
from fuzz.relations import lines, of_command, of_site, run

import ingest


def test_a_few_scenarios_break_no_relation():
    times, first = run(seed=45, count=8, seconds=60)
    assert first == {}
    assert times == {"scenarios": 8}


def test_a_relation_that_is_broken_is_found(monkeypatch):
    """An answer that depends on what was drawn, and a line that depends on the name of a job."""
    draw = random.Random(3)
    numbers_of = relations.numbers_of
    monkeypatch.setattr(relations, "numbers_of", lambda answer: numbers_of(answer) | {"drawn": (draw.random(),)})
    assert any(of_command(random.Random(seed)) for seed in range(3))
    assert {what for seed in range(3) for what, _ in of_command(random.Random(seed))} >= {"explicit"}
    monkeypatch.setattr(relations, "lines", lambda *_: {"R-READ-01": (draw.random(),)})
    assert "names" in {what for what, _ in of_site(random.Random(1))}


JOB = {"cluster": "c", "data": "d", "samples_per_second": 1000, "sample_bytes": "1 MB"}


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_equal_rates_the_harder_test_decides(names):
    """Two jobs of one rate: on two clients each of them reads more."""
    few, many = names
    jobs = {few: {**JOB, "nodes": 2, "samples_per_second": 1600}, many: {**JOB, "nodes": 16, "samples_per_second": 200}}
    site = {"name": "x", "floor": "none", "years": 0, "clusters": {"c": {"node": "dgx-h100", "count": 32}}, "jobs": jobs,
            "datasets": {"d": {"bytes": "100 TB", "file_bytes": "1 GB"}}}  # fmt: skip
    assert lines(site)["R-READ-02"][1][2] == 2


def test_readers_that_disagree_are_named_and_the_stricter_counts():
    jobs = {name: {"cluster": "c", "nodes": 4, "data": "d", "model": name} for name in ("resnet50", "retinanet")}
    site = {"name": "x", "floor": "none", "years": 0, "clusters": {"c": {"node": "dgx-h100", "count": 64}}, "jobs": jobs,
            "datasets": {"d": {"samples": 10**8, "sample_bytes": "200 kB"}}}  # fmt: skip
    for order in (jobs, dict(reversed(jobs.items()))):
        plan = ingest.plan({**site, "jobs": order}, samples=0)
        assert plan.computed["R-META-03"] == 10**8
        (told,) = [line for line in plan.warnings if "readers disagree" in line]
        assert "1 sample/file by retinanet, 1,251 samples/file by resnet50" in told
    agreed = {**site, "datasets": {"d": {**site["datasets"]["d"], "samples_per_file": 100}}}
    assert not [line for line in ingest.plan(agreed, samples=0).warnings if "readers disagree" in line]
