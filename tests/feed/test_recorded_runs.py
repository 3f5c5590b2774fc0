"""The recurrence against recorded runs of real loaders over real files, fed their draws, and blind."""

import csv
import os
from pathlib import Path

import numpy
import pytest
from feed.loader import latencies, of_text

from ingest.loader.feed import DEFAULTS
from ingest.loader.stall import Loader, simulate, utilizations

#: `make feed-runs` judges runs of its own.
RUNS = Path(os.environ.get("FEED_RUNS") or Path(__file__).with_name("runs.csv"))
HANDOVER = DEFAULTS["handover_seconds"]
NUMBERS = {
    "seed": int, "workers": int, "prefetch": int, "batch": int, "steps": int, "step_seconds": float,
    "latency_seconds": float, "latency_cv": float, "decode_seconds": float, "utilization": float,
    "sample_bytes": float, "read_bandwidth": float,
}  # fmt: skip


@pytest.fixture(scope="module")
def runs():
    with RUNS.open(newline="") as lines:
        return [{**row, **{name: kind(row[name]) for name, kind in NUMBERS.items()}} for row in csv.DictReader(lines)]


@pytest.fixture(scope="module")
def blind(runs):
    """The median, P10 and P90 of each run, from its settings alone."""
    return [simulate(loader_of(run), steps=run["steps"], seed=number) for number, run in enumerate(runs)]


def loader_of(run):
    return Loader(
        run["workers"], run["prefetch"], run["batch"], run["step_seconds"], run["latency_seconds"], run["latency_cv"],
        decode_seconds=run["decode_seconds"], shared_seconds=shared(run), handover_seconds=(HANDOVER.low, HANDOVER.high),
    )  # fmt: skip


def shared(run):
    """Seconds that a batch takes a throttled disk."""
    return run["batch"] * run["sample_bytes"] / run["read_bandwidth"] if run["read_bandwidth"] else 0.0


def recurrence(run, drawn):
    timing = {"workers": run["workers"], "prefetch": run["prefetch"], "step_seconds": run["step_seconds"]}
    batches = drawn[:, None, None]
    return utilizations(batches, handover_seconds=HANDOVER.value, shared_seconds=shared(run), **timing)[0]


def errors(runs, predicted):
    """Absolute differences in points."""
    return 100 * numpy.abs(numpy.array(predicted) - [run["utilization"] for run in runs])


def test_the_set_is_what_the_bars_are_about(runs):
    assert len(runs) >= 60
    assert sum(run["loader"] == "torch" for run in runs) >= 10
    assert sum(run["latency_by"] == "throttle" for run in runs) >= 10
    spans = {name: {run[name] for run in runs} for name in ("workers", "prefetch", "batch", "latency_cv", "decode_seconds")}
    assert {1, 8} <= spans["workers"]
    assert {1, 8} <= spans["prefetch"]
    assert {1, 16} <= spans["batch"]
    assert min(spans["latency_cv"]) < 0.15
    assert max(spans["latency_cv"]) > 2.5
    assert max(spans["decode_seconds"]) > 0.03


def test_the_recorded_draws_are_those_of_the_seed(runs):
    for run in runs:
        drawn = latencies(run).sum(axis=1) + run["batch"] * run["decode_seconds"]
        assert numpy.abs(drawn - of_text(run["drawn"])).max() < 1e-5


def test_the_recurrence_follows_the_draws_of_each_run(runs):
    missed = errors(runs, [recurrence(run, of_text(run["drawn"])) for run in runs])
    assert numpy.median(missed) <= 1.5
    assert numpy.quantile(missed, 0.9) <= 4


def test_blind_predictions_hold_what_they_promise(runs, blind):
    inside = [found.low <= run["utilization"] <= found.high for run, found in zip(runs, blind, strict=True)]
    assert 0.7 <= numpy.mean(inside) <= 0.9
    assert numpy.median(errors(runs, [found.median for found in blind])) <= 2.5


def test_mean_rates_are_worse_than_the_recurrence(runs, blind):
    """The reason for a simulation: where batches are small and latencies vary, mean rates promise what no loader reaches."""
    hard = [number for number, run in enumerate(runs) if run["latency_cv"] > 1 and run["batch"] <= 4 and not shared(run)]
    chosen = [runs[number] for number in hard]
    fluid = [
        min(1, run["step_seconds"] * run["workers"] / run["batch"] / (run["latency_seconds"] + run["decode_seconds"]))
        for run in chosen
    ]
    assert len(hard) >= 10
    assert numpy.median(errors(chosen, fluid)) > 2 * numpy.median(errors(chosen, [blind[number].median for number in hard]))
