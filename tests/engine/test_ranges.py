"""The range of a result, against every combination of the ends of its inputs."""

import itertools
import json

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ingest
from ingest.engine import monte_carlo
from ingest.engine.expression import ceil, maximum, minimum
from ingest.engine.ranges import Tree
from ingest.engine.registry import Formula, Step
from ingest.reports.workbook.small_workbooks import sizing_workbook
from ingest.sizing.evidence_ladder import Input

RESNET50 = {"model": "resnet50", "gpu": "h100", "basis": "efficiency"}


def result_of(function, **inputs):
    """A result of a formula on inputs given as (low, typical, high), and its range."""
    known = {name: Input(typical, low, high) for name, (low, typical, high) in inputs.items()}
    leaves = {name: Step(name, item.value, None, (), item) for name, item in known.items()}
    values = [step.value for step in leaves.values()]
    made = Formula("result", function, tuple(leaves), "1", "definition", "")
    step = Step("result", function(*values), made, tuple(leaves.values()))
    return step.value, Tree({"result": step}).range_of("result")


def test_ends_are_those_of_the_worst_combination():
    # A quotient of two uncertain inputs takes opposite ends.
    assert result_of(lambda a, b: a / b, a=(8, 10, 20), b=(2, 5, 10)) == (2, (0.8, 10))
    # Three uncertain inputs.
    assert result_of(lambda a, b, c: a * b / c, a=(1, 2, 4), b=(3, 6, 9), c=(2, 3, 5)) == (4, (3 / 5, 36 / 2))
    # An input that cancels leaves no range.
    assert result_of(lambda a, b: a * b / a, a=(1, 3, 7), b=(2, 2, 2))[1] is None
    assert result_of(lambda a, b: a * b / a, a=(1, 3, 7), b=(1, 2, 5))[1] == pytest.approx((1, 5))
    # Typical, low and high of b are all below the typical a: only a low a lets b count.
    assert result_of(maximum, a=(5, 20, 30), b=(2, 8, 9))[1] == (5, 30)
    assert result_of(maximum, a=(5, 20, 30), b=(7, 8, 9))[1] == (7, 30)
    assert result_of(minimum, a=(5, 20, 30), b=(31, 32, 40))[1] == (5, 30)
    assert result_of(minimum, a=(5, 20, 50), b=(31, 32, 40))[1] == (5, 40)
    # One file whatever the overhead, until files are small.
    assert result_of(lambda size, extra, file: ceil((size + extra) / file), size=(100, 100, 100), extra=(0, 1, 4),
                     file=(1, 200, 300)) == (1, (1, 104))  # fmt: skip


def test_an_end_that_is_missing_or_within_the_value():
    # A typical value beyond both ends is within the range.
    assert result_of(lambda share: share * (1 - share), share=(0.1, 0.5, 0.8)) == (0.25, (0.1 * 0.9, 0.25))
    # An end that is not given is the value.
    assert result_of(lambda a: 2 * a, a=(None, 5, 7))[1] == (10, 14)
    assert result_of(lambda a: 2 * a, a=(3, 5, None))[1] == (6, 10)
    assert result_of(lambda a: 2 * a, a=(None, 5, None))[1] is None
    # No range where no number holds an end.
    assert result_of(lambda a, b: a / b, a=(1, 2, 3), b=(0, 1, 2))[1] is None


FORMULAS = {
    "product": lambda a, b, c, d: a * b * c * d,
    "quotient": lambda a, b, c, d: a * b / (c * d),
    "sum": lambda a, b, c, d: a / b + c / d,
    "twice": lambda a, b, c, d: a * b / (a + c) * d,
    "smallest": lambda a, b, c, d: minimum(a / b, c / d),
    "largest": lambda a, b, c, d: maximum(a, b) * maximum(c, d),
}
POSITIVE = st.floats(1e-3, 1e6)
RANGES = st.tuples(POSITIVE, POSITIVE, POSITIVE).map(sorted)


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=60)
@given(inputs=st.tuples(RANGES, RANGES, RANGES, RANGES))
def test_the_range_is_that_of_all_corners_and_holds_the_value(name, inputs):
    value, found = result_of(FORMULAS[name], **dict(zip("abcd", inputs, strict=True)))
    low, high = found or (value, value)
    assert low <= value <= high
    found = [FORMULAS[name](*corner) for corner in itertools.product(*((least, most) for least, _, most in inputs))]
    assert (low, high) == pytest.approx((min(found), max(found)), rel=1e-9)


@pytest.mark.parametrize("name", ["difference", "hump"])
@settings(max_examples=60)
@given(inputs=st.tuples(RANGES, RANGES))
def test_the_value_is_within_the_range_of_a_formula_that_is_not_monotone(name, inputs):
    function = {"difference": lambda a, b: (a - b) * (b - a), "hump": lambda a, b: a * (b - a)}[name]
    value, found = result_of(function, a=inputs[0], b=inputs[1])
    low, high = found or (value, value)
    assert low <= value <= high


def test_utilizations_have_their_ranges():
    # Resnet50 by efficiency takes low utilization and many operations.
    rate = ingest.bw(**RESNET50).results["samples_per_second_per_gpu"]
    assert (round(rate.low, 1), round(rate.value, 1), round(rate.high, 1)) == (1345.2, 6678.8, 17734.1)
    # The utilization that follows from a utilization has its range.
    answer = ingest.bw(**RESNET50)
    known, found = answer.given["model_flops_utilization"], answer.results["implied_flops_utilization"]
    assert (found.low, found.value, found.high) == pytest.approx((known.low, known.value, known.high))


def test_bw_plan_and_workbook_agree_on_resnet50(tmp_path):
    answer = ingest.bw(**RESNET50, nodes=2)
    reads = answer.results["ingest_bandwidth_per_job"]
    job = {"cluster": "main", "nodes": 2, "model": "resnet50", "basis": "efficiency"}
    plan = ingest.plan({"clusters": {"main": {"node": "dgx-h100", "count": 4}}, "jobs": {"a": job}}, samples=20_000)
    step = next(step for step in plan.tree.order if step.name == "ingest_bandwidth_per_job")
    assert step.value == reads.value
    assert Tree({"reads": step}).range_of("reads") == (reads.low, reads.high)
    drawn = {one.name: (one.low, one.high) for one in plan.tree.uncertain}
    for name in ("model_flops_utilization", "flops_per_sample"):
        known = answer.given[name]
        assert drawn[name] == (known.low or known.value, known.high or known.value)
    percentiles = plan.results["R-READ-01"]
    low, high = plan.tree.range_of("R-READ-01")
    assert low < percentiles.low < percentiles.value < percentiles.high < high

    path = tmp_path / "answer.xlsx"
    path.write_bytes(sizing_workbook(answer, "A title"))
    sheet = openpyxl.load_workbook(path, data_only=True)["Calculation"]
    cells = {row[0]: row[2:5] for row in sheet.iter_rows(min_row=2, values_only=True)}
    assert cells["ingest_bandwidth_per_job"] == (reads.value, reads.low, reads.high)
    assert len(cells) > 10
    for name, (value, low, high) in cells.items():
        assert low <= value <= high, name


def test_a_measured_corpus_carries_its_interval_to_the_data_set(tmp_path):
    path = tmp_path / "measured.json"
    ratio, tokens = {"value": 4.2, "low": 4.1, "high": 4.4, "unit": "B/token"}, {"value": 1e12, "low": 9e11, "high": 1.2e12}
    path.write_text(
        json.dumps({"schema": "ingest/1", "command": "measure", "results": {"bytes_per_token": ratio, "tokens": tokens}})
    )
    clean = ingest.dataset(bytes_per_token=path).results["clean_bytes"]
    assert (clean.low, clean.value, clean.high) == pytest.approx((9e11 * 4.1, 4.2e12, 1.2e12 * 4.4))


# Draws of like quantities: computed together as one by one.


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
