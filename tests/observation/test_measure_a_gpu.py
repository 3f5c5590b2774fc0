"""The script that measures a GPU: its data, its arithmetic, and what its observations may say; PyTorch itself is not needed."""

import importlib.util
import itertools
import json
from collections import Counter

import numpy as np
import pytest
from conftest import EXAMPLES

import ingest

PLACE = EXAMPLES / "measure-a-gpu"
spec = importlib.util.spec_from_file_location("measure_a_gpu", PLACE / "measure_a_gpu.py")
assert spec is not None
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


@pytest.mark.parametrize(
    ("make", "samples", "count", "side", "shape", "dtype"),
    [
        (lambda folder, count: script.make_pictures(folder, count, 2), script.Pictures, 3, 224, (3, 224, 224), np.uint8),
        (lambda folder, count: script.make_tokens(folder, count, 2), script.Tokens, 3, 2048, (2048,), np.int64),
        (lambda folder, count: script.make_volumes(folder, count, 40), script.Volumes, 2, 32, (1, 32, 32, 32), np.float32),
    ],
)
def test_generated_data_are_read_as_a_loader_reads_them(make, samples, count, side, shape, dtype, tmp_path):
    make(tmp_path, count)
    found = samples(tmp_path, side)
    assert len(found) == count
    items = [found[index][0] for index in range(count)]
    assert {(item.shape, item.dtype.type) for item in items} == {(shape, dtype)}
    stored = sum(path.stat().st_size for path in tmp_path.iterdir())
    # Archives have a head of 512 B for each picture, and blocks of 512 B.
    assert found.read * count == pytest.approx(stored, abs=20480 * 2 if samples is script.Pictures else 0)


def test_rates_are_of_steady_blocks():
    """The clock is read only where the device is idle, and steps before the first block do not count."""
    calls, clock = Counter(), itertools.count(step=2.0)
    rates = script.block_rates(lambda: calls.update(steps=1) or 16, lambda: calls.update(waits=1), 7, 3, 5, lambda: next(clock))
    assert rates == [40.0] * 3
    assert calls == {"steps": 7 + 3 * 5, "waits": 6}


FACTS = {"gpus": 1, "steps": 60, "device": "cpu", "data": "generated", "precision": "fp32", "accelerator": "NVIDIA H200"}


def observed(path, real=(97.0, 100, 103), still=(122.0, 125, 128), **facts):
    path.write_text(json.dumps(script.observation(real, still, 107686.875, 4, {**FACTS, **facts})))
    return path


def test_the_stall_is_the_difference_of_both_runs(tmp_path):
    found = json.loads(observed(tmp_path / "o.json").read_text())
    results = {name: one["value"] for name, one in found["results"].items()}
    assert (results["samples_per_second_per_gpu"], results["demanded_samples_per_second_per_gpu"]) == (100, 125)
    assert results["stall_fraction"] == pytest.approx(0.2)
    assert not found["warnings"]
    # A loader that is faster than one batch in memory is chance: no stall, and the faster rate.
    fast = script.observation((126.0, 128), (125.0, 125), 1, 4, FACTS)
    assert fast["results"]["stall_fraction"]["value"] == 0
    assert fast["results"]["demanded_samples_per_second_per_gpu"]["value"] == 127
    assert "halves" in script.observation((100.0, 80), (125.0, 125), 1, 4, FACTS)["warnings"][0]


def test_a_run_on_a_cpu_is_evidence_of_a_cpu_alone(tmp_path, run, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    seen, bundle, own = observed(tmp_path / "o.json"), tmp_path / "b.json", tmp_path / "own"
    words = ("calibrate", seen, "--model", "resnet50")
    refused = run(*words, "--gpu", "h100", "-o", own)
    assert (refused.code, own.exists()) == (2, False)
    assert "expected an entry of form CPU" in refused.err
    on_gpu = observed(tmp_path / "g.json", device="cuda")
    assert run("calibrate", on_gpu, "--model", "resnet50", "--gpu", "cpu", "--catalogs", PLACE).code == 1
    made = run(*words, "--gpu", "cpu", "--catalogs", PLACE, "--bundle", bundle, "--licence", "CC0-1.0", "--source", "a trial")
    assert made.code == 0, made.err
    assert "H200" not in bundle.read_text()
    assert json.loads(bundle.read_text())["facts"]["device"] == "cpu"
    assert run("catalog", "add", bundle, "--catalogs", PLACE, "-o", own).code == 0
    answer = ingest.bw(model="resnet50", gpu="cpu", catalogs=[PLACE, own])
    assert answer.results["samples_per_second_per_gpu"].value == pytest.approx(125)
    assert answer.basis == "measured"
    assert "CPU of a host, no GPU" in answer.title
    # Nor do generated data say how large the samples of a data set are.
    ingest.calibrate(seen, model="mixtral-8x7b", gpu="cpu", catalogs=[PLACE], output=own)
    for model, gpu in itertools.product(("resnet50", "mixtral-8x7b"), ("h100", "mi300x", "t4")):
        plain, beside = (ingest.bw(model=model, gpu=gpu, catalogs=found) for found in ([], [PLACE, own]))
        assert (beside.results, beside.precision, beside.basis) == (plain.results, plain.precision, plain.basis)
        assert [line.rule for line in beside.warnings] == [line.rule for line in plain.warnings]


def test_the_estimate_is_at_the_precision_and_the_size_that_were_observed(tmp_path, run):
    seen = observed(tmp_path / "o.json", real=(2900.0, 3000, 3100), still=(3000.0, 3010, 3020), device="cuda", precision="bf16")
    answer = ingest.calibrate(seen, model="resnet50", gpu="h200")
    assert (answer.answer.precision, answer.answer.known.value("gpus")) == ("bf16", 1)
    assert not answer.warnings
    assert "expected the bf16" in run("calibrate", seen, "--model", "resnet50", "--gpu", "h200", "--precision", "fp8").err
