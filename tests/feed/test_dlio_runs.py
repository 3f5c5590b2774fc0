"""The recurrence against recorded runs of the DLIO benchmark on a throttled disk, from their settings alone."""

import csv
import os
from pathlib import Path

import numpy
import pytest
from feed.dlio import SETTINGS
from feed.loader import THROTTLED

from ingest.loader.stall import Loader, simulate

#: `make dlio-runs` judges runs of its own.
RUNS = Path(os.environ.get("DLIO_RUNS") or Path(__file__).with_name("dlio.csv"))
THREE_POINTS = 0.03
WORDS = {"id", "slept", "waits"}


def runs():
    with RUNS.open(newline="") as lines:
        return [{name: text if name in WORDS else float(text) for name, text in row.items()} for row in csv.DictReader(lines)]


def predicted(run):
    """The utilization of a run: its disk gives the throttled rate; what a sample sleeps is latency where it varies."""
    varies = run["slept_seconds"] if run["slept_cv"] else 0.0
    latency = varies + run["read_seconds"] + run["late_seconds"]
    loader = Loader(
        int(run["workers"]), int(run["prefetch"]), int(run["batch"]), run["step_seconds"], latency,
        run["slept_cv"] * varies / latency, decode_seconds=run["slept_seconds"] - varies,
        shared_seconds=run["ranks"] * run["batch"] * run["sample_bytes"] / THROTTLED, ranks=int(run["ranks"]),
        handover_seconds=(run["handover_seconds"], run["handover_seconds"]),
    )  # fmt: skip
    return simulate(loader, steps=int(run["steps"]), seed=1)


def test_the_runs_have_the_settings_of_the_bench():
    for run in runs():
        assert tuple(run.values())[1:10] == SETTINGS[run["id"]]
    assert len(runs()) >= 6


def test_the_simulation_is_within_three_points_where_luck_moves_a_run_by_no_more():
    found = [(run, predicted(run)) for run in runs()]
    steady = [(run, one) for run, one in found if one.high - one.low < 2 * THREE_POINTS]
    assert len(steady) >= 6
    for run, one in steady:
        assert abs(one.median - run["utilization"]) <= THREE_POINTS, run["id"]
    varied = [one.low <= run["utilization"] <= one.high for run, one in found if one.low < one.high]
    assert numpy.mean(varied) >= 0.7


def test_the_waits_of_the_steps_are_those_of_the_utilization():
    """DLIO counts neither the first step nor its wait: a second route to its figure."""
    for run in runs():
        ranks, steps = int(run["ranks"]), int(run["steps"])
        waits = numpy.array(run["waits"].split(), float).reshape(ranks, steps)[:, 1:] / 1e3
        computing = (steps - 1) * run["step_seconds"]
        if ranks == 1:
            assert computing / (computing + waits.sum()) == pytest.approx(run["utilization"], abs=0.03)
