"""Draws of like quantities: computed together as one by one."""

import pytest

import ingest
from ingest.engine import monte_carlo


def site(jobs):
    """Jobs of two models with checkpoints, no two alike."""
    saves = {"precision": "fp32", "waste": "5%", "failures": "rsc-1"}
    described = {
        f"job-{n}": {
            "cluster": "main",
            "model": ("cosmoflow", "deepcam")[n % 2],
            "nodes": 1 + n,
            "share": 0.1,
            "checkpoint": {**saves, "parameters": 10**9 + n, "interval": f"{1800 + n} s"},
        }
        for n in range(jobs)
    }
    return {"clusters": {"main": {"node": "dgx-a100", "count": 100}}, "jobs": described}


@pytest.mark.parametrize("jobs", [monte_carlo.FEWEST_TOGETHER - 1, 2 * monte_carlo.FEWEST_TOGETHER])
def test_like_steps_computed_together_are_those_computed_one_by_one(monkeypatch, jobs):
    together = {one.id: (one.low, one.high) for one in ingest.plan(site(jobs), samples=400).requirements}
    monkeypatch.setattr(monte_carlo, "FEWEST_TOGETHER", 10**9)
    alone = {one.id: (one.low, one.high) for one in ingest.plan(site(jobs), samples=400).requirements}
    assert together == alone
    assert sum(low is not None for low, _ in together.values()) > 5
