"""One observation of a real loader predicts other batches, workers and storage: held against real runs."""

import json
import os
import zipfile
from pathlib import Path
from statistics import median

import pytest

import ingest
from ingest.errors import IngestError, UsageError

HERE = Path(__file__).parent
#: `make observe-loop` judges pairs of its own.
PAIRS = Path(os.environ.get("LOOP_PAIRS") or HERE / "loop.zip")
#: The error that the median of the blind predictions may have.
BAR = 0.04


@pytest.fixture
def recorded(tmp_path):
    with zipfile.ZipFile(PAIRS) as kept:
        kept.extractall(tmp_path)
    return tmp_path, json.loads((tmp_path / "pairs.json").read_text())


def observe(folder, number, pair):
    """The observation of a pair's first run, from its logs and what its user knows: workers and prefetch."""
    known = {name: pair["observed"][name] for name in ("workers", "prefetch")}
    seen = ingest.observe(folder / f"{number}/train.log", synthetic=folder / f"{number}/synthetic.log", **known)
    place = folder / f"{number}.json"
    place.write_text(json.dumps(seen.to_dict()))
    return place


def predict(place, pair):
    """The prediction of a pair's second run: its workers, its batch, and the factor of its storage."""
    decode = pair["observed"]["decode_seconds"]
    blind = {"workers": pair["blind"]["workers"], "batch": pair["blind"]["batch"], "latency_factor": pair["factor"]}
    return ingest.feed(from_observation=place, decode_time=f"{decode}s" if decode else None, **blind)


def test_one_pair(recorded):
    folder, pairs = recorded
    place = observe(folder, 9, pairs[9])
    answer = predict(place, pairs[9])
    rate = answer.results["fed_samples_per_second_per_gpu"]
    assert rate.value == pytest.approx(pairs[9]["samples_per_second"], rel=BAR)
    assert rate.low < rate.value < rate.high
    real = pairs[9]["observed"]
    assert answer.known.value("observed_read_seconds") == pytest.approx(real["latency_seconds"], rel=BAR)
    assert answer.known.value("sample_read_variation") == pytest.approx(real["latency_cv"], rel=0.3)
    assert answer.known.value("sample_read_seconds") == pytest.approx(
        pairs[9]["factor"] * answer.known.value("observed_read_seconds")
    )


@pytest.mark.slow
def test_blind_predictions(recorded):
    folder, pairs = recorded
    assert len(pairs) >= 12
    errors = []
    for number, pair in enumerate(pairs):
        assert pair["blind"]["workers"] != pair["observed"]["workers"]
        assert pair["blind"]["batch"] != pair["observed"]["batch"]
        assert pair["factor"] != 1
        rate = predict(observe(folder, number, pair), pair).results["fed_samples_per_second_per_gpu"].value
        errors.append(abs(rate / pair["samples_per_second"] - 1))
    print("errors:", ", ".join(f"{one:.1%}" for one in errors), f"median {median(errors):.1%}")
    assert median(errors) <= BAR


@pytest.fixture
def observed(tmp_path, run):
    """An observation with the given stall and other figures, of workers with batches of 8."""

    def make(stall, *words, gpus=1, **figures):
        log = "world size: 1\n" + "".join(
            f" iteration {n}/ 99 | consumed samples: {8 * n} | elapsed time per iteration (ms): 100 | global batch size: 8 |\n"
            for n in range(1, 40)
        )
        (tmp_path / "train.log").write_text(log)
        ran = run("observe", tmp_path / "train.log", "--synthetic", f"{80 / (1 - stall)}", *words, "-o", tmp_path / "job.json")
        assert ran.code == 0, ran.err
        kept = json.loads((tmp_path / "job.json").read_text())
        kept["facts"]["gpus"] = gpus
        for name, (value, unit) in figures.items():
            kept["results"][name] = {**kept["results"].get(name, {"unit": unit, "basis": "measured"}), "value": value}
        kept["results"] = {name: figure for name, figure in kept["results"].items() if figure["value"] is not None}
        (tmp_path / "job.json").write_text(json.dumps(kept))
        return tmp_path / "job.json"

    return make


@pytest.mark.parametrize(("gpus", "of_a_node"), [(1, 1), (7, 7), (8, 8), (9, None), (12, None), (16, 8), (24, 8)])
def test_an_observed_job_runs_on_one_node_or_on_nodes_of_eight(gpus, of_a_node, observed):
    path = observed(0.2, "--workers", 4, "--samples-per-step", 8, gpus=gpus)
    if of_a_node is None:
        with pytest.raises(UsageError, match="expected a multiple of 8"):
            ingest.feed(from_observation=path, latency="5 ms")
    else:
        assert ingest.feed(from_observation=path, latency="5 ms").known.given["gpus_per_node"].value == of_a_node


def test_a_loader_that_kept_up_tells_no_latency(observed):
    """A stall below 3 % is within the spread of two runs; one of 3 % counts."""
    answer = ingest.feed(from_observation=observed(0.03, "--workers", 4, stall_fraction=(0.03, "1")))
    assert answer.known.value("observed_read_seconds") > 0
    with pytest.raises(IngestError, match=r"kept up.*fewer workers"):
        ingest.feed(from_observation=observed(0.0299, "--workers", 4))


def test_what_an_observation_lacks(observed, run):
    with pytest.raises(IngestError, match=r"loader workers of the observed job are not known.*--workers"):
        ingest.feed(from_observation=observed(0.3))
    with pytest.raises(IngestError, match="no read bandwidth"):
        ingest.feed(from_observation=observed(0.3), stalled_by="bandwidth")
    with pytest.raises(IngestError, match="decoding alone stalls the job"):
        ingest.feed(from_observation=observed(0.3, "--workers", 4), decode_time="1s")
    with pytest.raises(UsageError, match="no observed job"):
        ingest.feed(samples_per_second=100, latency_factor=2)
    ran = run("feed", "--from-observation", observed(0.3, "--workers", 4, stall_fraction=(None, "1")))
    assert (ran.code, "has no stall fraction" in ran.refusal, len(ran.refusal) <= 300) == (1, True, True)


def test_bandwidth_that_stalls_is_what_storage_gave(observed):
    """Twice the samples at the same bandwidth: GPUs compute for the share that the bandwidth feeds."""
    seen = {"read_bandwidth": (8e6, "B/s"), "bytes_read_per_sample": (1e5, "B/sample")}
    place = observed(0.4, "--workers", 4, **seen)
    answer = ingest.feed(from_observation=place, stalled_by="bandwidth", workers=8, batch=16)
    assert answer.results["fed_samples_per_second_per_gpu"].value == pytest.approx(80, rel=0.03)
    faster = ingest.feed(from_observation=place, stalled_by="bandwidth", read_bandwidth="20MB/s")
    assert faster.results["fed_samples_per_second_per_gpu"].value == pytest.approx(80 / 0.6, rel=0.03)


@pytest.mark.parametrize(("name", "value"), [("loader_workers", 1e29), ("loader_workers", 2.5), ("samples_per_step", 0)])
def test_figures_beyond_what_a_loader_has(name, value, observed):
    with pytest.raises(IngestError, match=f"results.{name}: found"):
        ingest.feed(from_observation=observed(0.3, "--workers", 4, **{name: (value, "")}))


def test_the_loader_of_an_observation_that_was_written_before(observed, run, tmp_path):
    ran = run("observe", observed(0.3), "--workers", 4, "--prefetch", 3, "-o", tmp_path / "again.json")
    assert ran.code == 0, ran.err
    known = ingest.feed(from_observation=tmp_path / "again.json").known
    assert (known.value("loader_workers"), known.value("loader_prefetch")) == (4, 3)


def test_the_observed_job_itself_is_given_back(tmp_path):
    """Eight ranks that wait for each other for half of their time: the same loader on the same storage waits for half of it."""
    seen = ingest.observe(real=800, synthetic=1600, gpus=8, samples_per_step=256, workers=4, prefetch=2)
    assert seen.results["samples_per_step"].value == 32
    (tmp_path / "job.json").write_text(json.dumps(seen.to_dict()))
    answer = ingest.feed(from_observation=tmp_path / "job.json")
    assert answer.results["accelerator_utilization"].value == pytest.approx(0.5, rel=0.003)
