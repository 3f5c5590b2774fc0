"""The recurrence of the loader: cases that can be solved by hand, and directions that must hold."""

from dataclasses import replace

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.loader import stall
from ingest.loader.feed import feed
from ingest.loader.stall import Loader, Remedies, Utilization, longest_latency, remedies, simulate, utilizations

LOADERS = st.builds(
    Loader,
    workers=st.integers(1, 6),
    prefetch=st.integers(1, 4),
    batch=st.sampled_from([1, 2, 8]),
    step_seconds=st.just(0.02),
    latency_seconds=st.floats(0.001, 0.1),
    latency_variation=st.floats(0, 3),
    hit_fraction=st.sampled_from([0.0, 0.5]),
    decode_seconds=st.sampled_from([0.0, 0.005]),
    shared_seconds=st.sampled_from([0.0, 0.01, 0.03]),
    ranks=st.sampled_from([1, 8]),
)


def median(loader):
    """From the request of the first batch on: what helps the first batch costs nothing later."""
    return simulate(loader, steps=150, seed=3, most_batches=30_000, from_request=True).median


def from_first_step(loader):
    return simulate(loader, steps=500, seed=3, most_batches=30_000).median


def by_events(seconds, workers, prefetch, step):
    """The loader written again, as a list of times: worker k mod W, in order, W·P batches outstanding."""
    asked, done, starts = [0.0] * (workers * prefetch), [], []
    for number, taken in enumerate(seconds):
        free = done[number - workers] if number >= workers else 0.0
        done.append(max(asked[number], free) + taken)
        starts.append(max(starts[-1] + step if starts else 0.0, done[number]))
        asked.append(starts[-1])
    return len(starts) * step / (starts[-1] + step - starts[0])


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 1000))
def test_the_recurrence_is_that_of_the_loader(workers, prefetch, seed):
    seconds = numpy.random.default_rng(seed).lognormal(-3, 1, 60)
    found = utilizations(seconds[:, None, None], workers=workers, prefetch=prefetch, step_seconds=0.02)
    assert found[0] == pytest.approx(min(1, by_events(seconds, workers, prefetch, 0.02)))


@given(LOADERS)
def test_what_helps_never_lowers_the_utilization(loader):
    """Draw for draw: each of these delays no batch, whatever the latencies are."""
    before = median(loader) - 1e-12
    assert median(replace(loader, prefetch=loader.prefetch + 1)) >= before
    assert median(replace(loader, workers=2 * loader.workers)) >= before
    assert median(replace(loader, latency_seconds=0.7 * loader.latency_seconds)) >= before
    assert median(replace(loader, shared_seconds=0.7 * loader.shared_seconds)) >= before
    assert median(replace(loader, decode_seconds=0)) >= before
    assert median(replace(loader, handover_seconds=(1e-3, 2e-3))) <= before + 2e-12


@given(LOADERS)
def test_one_worker_more_does_not_lower_the_utilization_in_expectation(loader):
    """The batches change their workers, so single runs may lose; the mean of many runs gains, within the error of the mean."""
    loader = replace(loader, latency_variation=min(1, loader.latency_variation))
    less, more = (simulate(replace(loader, workers=count), steps=300, seed=9) for count in (loader.workers, loader.workers + 1))
    assert more.median >= less.median - 0.02


@given(LOADERS)
def test_faster_gpus_never_raise_the_utilization_and_a_cache_never_lowers_it(loader):
    assert median(replace(loader, step_seconds=0.8 * loader.step_seconds)) <= median(loader) + 1e-12
    none, some, most = (median(replace(loader, hit_fraction=share)) for share in (0.0, 0.3, 0.9))
    assert most >= some - 1e-12
    assert some >= none - 1e-12


def test_more_ranks_wait_longer_for_the_slowest():
    loader = Loader(4, 2, 2, 0.02, 0.03, 1.5)
    assert median(loader) > median(replace(loader, ranks=8)) > median(replace(loader, ranks=64))


def test_one_worker_and_constant_times_give_the_rate_of_the_slower():
    assert from_first_step(Loader(1, 2, 1, 0.02, 0.04)) == pytest.approx(0.5, abs=0.002)
    assert from_first_step(Loader(1, 2, 1, 0.02, 0.001, shared_seconds=0.08)) == pytest.approx(0.25, abs=0.002)
    assert from_first_step(Loader(3, 2, 1, 0.02, 0.04)) == pytest.approx(1)
    assert median(Loader(3, 2, 1, 0.02, 0.04)) == pytest.approx(150 * 0.02 / (0.04 + 150 * 0.02))


def test_the_hand_over_delays_each_step():
    loader = Loader(8, 2, 1, 0.02, 0.001, handover_seconds=(0.005, 0.005))
    assert simulate(loader, steps=500, seed=1).median == pytest.approx(0.8, abs=0.001)


def test_a_seed_gives_the_same_numbers_and_another_seed_others():
    loader = Loader(4, 2, 1, 0.02, 0.06, 2.0)
    first, again, other = (simulate(loader, steps=300, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert abs(first.median - other.median) < 0.03


def test_batches_drawn_again_from_a_pool_give_nearly_the_same():
    """Beyond the pool, and beyond the sum of single draws."""
    loader = Loader(8, 2, 9_000, 0.1, 1e-4, 2.0)
    pooled = replace(loader, batch=11_000, latency_seconds=9e-4 / 11)
    summed, drawn_again = (simulate(one, steps=100, seed=1).median for one in (loader, pooled))
    assert summed == pytest.approx(drawn_again, abs=0.02)
    # A normal distribution has the mean and the spread of the sum that it stands for.
    one, other = (stall._latencies_of_batches(2.0, 0.5, stall.MOST_DRAWN_BATCH + more, 1000, 1) for more in (0, 1))
    assert (one.mean(), one.std()) == (pytest.approx(other.mean(), rel=0.01), pytest.approx(other.std(), rel=0.1))


def test_remedies_are_the_least_that_suffices():
    loader = Loader(4, 2, 1, 0.02, 0.06, 1.0)
    found = remedies(loader, 0.95, steps=300, seed=1)
    assert found.workers > 4
    for name, better, worse in (
        ("workers", found.workers, found.workers - 1),
        ("prefetch", found.prefetch, found.prefetch - 1),
        ("latency_seconds", found.latency_seconds, 1.02 * found.latency_seconds),
    ):
        assert simulate(replace(loader, **{name: better}), steps=300, seed=1).median >= 0.95
        assert simulate(replace(loader, **{name: worse}), steps=300, seed=1).median < 0.95


def test_many_ranks_that_wait_for_the_slowest_get_workers_that_suffice_in_whole_runs():
    """Trials of a fifth of the run said that no number of workers suffices."""
    loader = Loader(4, 2, 3, 0.114, 0.15, 1.0, ranks=256)
    found = remedies(loader, 0.95, steps=600, seed=1)
    assert found.workers is not None
    assert simulate(replace(loader, workers=found.workers), steps=600, seed=1).median >= 0.95
    assert simulate(replace(loader, workers=found.workers * 3 // 4), steps=600, seed=1).median < 0.95


def test_no_remedy_helps_where_the_bandwidth_or_the_decoding_is_the_limit():
    assert remedies(Loader(4, 2, 1, 0.02, 0.01, shared_seconds=0.04), 0.95, steps=100, seed=1) == Remedies(None, None, None)
    decoding = Loader(1, 2, 1, 0.02, 0.01, decode_seconds=0.04)
    assert remedies(decoding, 0.95, steps=100, seed=1) == Remedies(3, None, None)


def test_waits_beyond_all_numbers_leave_no_utilization():
    assert simulate(Loader(1, 1, 1, 0.02, 1e308), steps=20, seed=1).median == 0
    assert simulate(Loader(4, 2, 1, 0.02, 1e200), steps=2, seed=1).median == 0
    assert simulate(Loader(1, 1, 1, 0.02, 0.01, shared_seconds=1e307), steps=100, seed=1).median == 0


def test_remedies_are_searched_when_one_is_read(monkeypatch):
    def searched(*_, **__):
        raise AssertionError

    monkeypatch.setattr("ingest.loader.feed.remedies", searched)
    answer = feed(samples_per_second=200, sample_bytes="100kB", gpus_per_node=1, batch=4, steps=50, set={"job_epochs": 2})
    assert 0 < answer.results["accelerator_utilization"].value <= 1
    for read in (lambda: answer.results["sufficient_workers"], lambda: answer.unknown["sufficient_workers"], answer.to_dict):
        with pytest.raises(AssertionError):
            read()


def test_what_a_whole_simulation_refutes_grows_by_a_twentieth(monkeypatch):
    """A trial finds 40 workers, 60 batches each or 1 s; whole simulations want a little more."""

    def median(workers, prefetch, latency):
        def run(loader, **_):
            enough = loader.workers >= workers or loader.prefetch >= prefetch or loader.latency_seconds <= latency
            return Utilization(0.96 if enough else 0.94, 0.9, 1.0, 1)

        return run

    monkeypatch.setattr("ingest.loader.stall.tried", median(40, 60, 1.0))
    monkeypatch.setattr("ingest.loader.stall.simulate", median(1, 1, 3.0))
    tried = longest_latency(Loader(4, 2, 1, 0.02, 3.0), 0.95, steps=77, seed=76)
    monkeypatch.setattr("ingest.loader.stall.simulate", median(41, 61, 0.91 * tried))
    found = remedies(Loader(4, 2, 1, 0.02, 3.0), 0.95, steps=77, seed=77)
    assert (found.workers, found.prefetch) == (42, 63)
    assert found.latency_seconds == pytest.approx(0.95**2 * tried)
