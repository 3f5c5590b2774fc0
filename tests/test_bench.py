"""The bench measures what exists: what it calls runs, so that a renamed quantity is not found on the day of a release."""

import bench
import pytest


@pytest.mark.parametrize("call", [bench.checkpoints, bench.runs_of_goodput, bench.swept, bench.by_hand])
def test_what_the_bench_times_runs(call):
    assert call() is not None
