"""Logs that print the wait for data: the stall is the waits over the steps, as those who wrote the lines counted them."""

import random

import pytest
from conftest import table
from frozen.edits import forms

import ingest
from ingest.errors import IngestError

#: programs whose lines, as the recorded questions have them, state a step, an epoch, and the mean of a step and of its wait
PROGRAMS = ("PyTorch", "timm", "torchvision", "mmengine", "YOLOX", "Detectron2")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(3))
def test_the_stall_is_the_waits_over_the_steps(program, seed, tmp_path):
    chance = random.Random(seed)
    lines, waited, took = [], 0.0, 0.0
    for epoch in (0, 1) if program != "Detectron2" else (0,):
        whole, waits, first = 0.0, 0.0, 10 if program in ("mmengine", "YOLOX") else 0
        for place in range(1, 13):
            step = 10 * (place - 1) + first
            covered = 10 if step or first else 1
            time = chance.uniform(0.2, 2)
            wait = time * chance.uniform(0, 0.9)
            whole, waits = whole + covered * time, waits + covered * wait
            count = step + (0 if first else 1)
            numbers = {"one": time, "wait_one": wait, "time": whole / count, "wait": waits / count, "now": 256 / time}
            numbers |= {"step": step, "inner": step, "epoch": epoch, "epoch1": epoch, "epoch_steps": 5005, "stamp": ""}
            lines.append(forms()[program.lower()]["line"].format(rate=256 * count / whole, **numbers))
        waited, took = waited + waits, took + whole
    path = tmp_path / "train.log"
    path.write_text("\n".join(["world of 8", *lines, ""]), encoding="utf-8")
    seen = ingest.observe(path, gpus=8, samples_per_step=None if program == "timm" else 256)
    assert seen.facts["program"] == program
    assert seen.results["stall_fraction"].value == pytest.approx(waited / took, abs=0.02)
    rate = 256 * seen.facts["steps"] / took
    if program in ("PyTorch", "timm"):
        assert seen.facts["steps"] == 2 * 111
        assert seen.results["real_samples_per_second"].value == pytest.approx(rate, rel=0.02)
    # What the job would take without waits is what it computes.
    demand = seen.results["demanded_samples_per_second_per_gpu"].value
    real = seen.results["real_samples_per_second"].value
    assert demand == pytest.approx(real / 8 / (1 - seen.results["stall_fraction"].value), rel=1e-6)


def test_a_wait_longer_than_its_step_is_refused(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("epoch: 1/300, iter: 10/3696, iter_time: 0.1s, data_time: 0.2s\n", encoding="utf-8")
    with pytest.raises(IngestError, match=r":1: found a wait for data of 0.2 s in a step of 0.1 s"):
        ingest.observe(path)


def test_lines_that_an_excerpt_leaves_out_are_no_time(tmp_path):
    """Six iterations of 10 s, and six of 100 s after 170 that are not there."""
    line = (
        " iteration {:8d}/ 250000 | consumed samples: {} | elapsed time per iteration (ms): {:.1f} | global batch size: 1024 |"
    )
    numbers = [(step, 10_000.0) for step in range(2, 8)] + [(step, 100_000.0) for step in range(182, 188)]
    path = tmp_path / "megatron.log"
    path.write_text("\n".join(line.format(step, 1024 * step, time) for step, time in numbers) + "\n", encoding="utf-8")
    seen = ingest.observe(path, gpus=8)
    assert seen.results["window_seconds"].value in (60, 600)
    assert any("the lines between step 7 and step 182 are left out" in line for line in seen.warnings)


DLIO = table("observation/cases.yaml")["dlio"]


def test_what_dlio_prints_has_a_rate_and_a_stall(tmp_path):
    path = tmp_path / "dlio.log"
    ends = "[METRIC] Number of Simulated Accelerators: 4 \n[METRIC] Training Accelerator Utilization [AU] (%): 92.5 (0.1)\n"
    path.write_text(f"{DLIO.format(used=50, rate=10)}{ends}[METRIC] Training Throughput (samples/second): 75.5 (0.1)\n")
    seen = ingest.observe(path)
    assert (seen.results["real_samples_per_second"].value, seen.facts["gpus"]) == (75.5, 4)
    assert seen.results["stall_fraction"].value == pytest.approx(0.075)
    path.write_text(DLIO.format(used=0, rate=0))
    with pytest.raises(IngestError, match="DLIO's log has a rate or a utilization that is 0"):
        ingest.observe(path)
    path = tmp_path / "summary.json"
    path.write_text('{"num_accelerators": 1, "metric": {"train_throughput_mean_samples_per_second": 0.0}}')
    with pytest.raises(IngestError, match="DLIO's summary has a rate of 0 samples/s"):
        ingest.observe(path)


def test_the_table_of_lightning_gives_the_stall(tmp_path):
    rows = (("run_training_batch", 0.04, 1000, 40.0), ("[_TrainingEpochLoop].train_dataloader_next", 0.01, 1000, 10.0))
    path = tmp_path / "profile.txt"
    path.write_text("".join(f"|  {name}  |  {mean}  |  {calls}  |  {total}  |  10  |\n" for name, mean, calls, total in rows))
    seen = ingest.observe(path, gpus=2, samples_per_step=64)
    assert seen.results["stall_fraction"].value == pytest.approx(0.2)
    assert seen.results["real_samples_per_second"].value == pytest.approx(64 * 1000 / 50)
