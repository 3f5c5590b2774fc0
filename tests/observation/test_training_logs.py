"""Logs of training runs: rates against the counts that wrote them, pauses, restarts, stalls; poisoned logs are refused."""

import json
from pathlib import Path

import pytest

import ingest
from ingest.errors import IngestError, UsageError
from ingest.observation.training_logs import MOST_PERCENT

LOGS = Path(__file__).with_name("logs")


def value(answer, name):
    return answer.results[name].value


def test_megatron_gives_rate_spread_pauses_and_restarts():
    """256 samples each 1,250 ms ± 12 on 16 GPUs; a restart after 47 iterations; checkpoints of 12 s."""
    answer = ingest.observe(LOGS / "megatron.log")
    rate = answer.results["samples_per_second_per_gpu"]
    assert rate.value == pytest.approx(256 / 1.25 / 16, rel=0.005)
    assert 12.5 < rate.low < rate.value < rate.high < 13.1
    assert value(answer, "checkpoint_stall_seconds") == 12.0
    assert answer.figures["samples_per_second_per_gpu"].window.cut_before == pytest.approx(10.25, abs=0.1)
    assert answer.facts["restarts"] == 1
    assert value(answer, "job_mean_time_to_interrupt") == pytest.approx(489, abs=2)
    assert answer.figures["demanded_samples_per_second_per_gpu"].lower_bound


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("mlperf.log", {"gpus": 512}, 524_288 / 12 / 512),
        ("torchtitan.log", {"gpus": 8, "tokens_per_sample": 8192}, 6200 / 8192),
        ("trainer_state.json", {"gpus": 4}, 20 / 4),
        ("metrics.csv", {"gpus": 4}, 250),
    ],
)
def test_rates_of_other_programs(name, options, expected):
    assert value(ingest.observe(LOGS / name, **options), "samples_per_second_per_gpu") == pytest.approx(expected, rel=0.005)


def test_two_rates_give_the_stall_and_the_demand():
    answer = ingest.observe(real="900 sample/s", synthetic="1000 sample/s", gpus=8)
    assert value(answer, "stall_fraction") == pytest.approx(0.1)
    assert value(answer, "demanded_samples_per_second_per_gpu") == pytest.approx(125)
    assert not answer.figures["demanded_samples_per_second_per_gpu"].lower_bound
    assert answer.figures["stall_fraction"].basis == "given"
    assert value(ingest.observe(real=1049, synthetic=1000, gpus=8), "stall_fraction") == 0
    with pytest.raises(IngestError, match="expected at least"):
        ingest.observe(real=1051, synthetic=1000, gpus=8)
    assert value(ingest.observe(real=10.01, synthetic=1000, gpus=8), "stall_fraction") == pytest.approx(0.98999)
    with pytest.raises(UsageError, match=r"found 0\.9901, expected a number from 0 up to 0\.99"):
        ingest.observe(real=9.9, synthetic=1000, gpus=8)


def summary(**metric):
    return json.dumps({"num_accelerators": 4, "metric": {"train_throughput_mean_samples_per_second": 60.0, **metric}})


def test_dlio_states_its_stall(tmp_path):
    path = tmp_path / "summary.json"
    path.write_text(summary(train_au_mean_percentage=75.0))
    answer = ingest.observe(path)
    assert value(answer, "stall_fraction") == 0.25
    assert value(answer, "demanded_samples_per_second_per_gpu") == pytest.approx(20)
    path.write_text(summary())
    assert ingest.observe(path).figures["demanded_samples_per_second_per_gpu"].lower_bound
    path.write_text(summary(train_au_mean_percentage=MOST_PERCENT))
    assert value(ingest.observe(path), "stall_fraction") == 0


def test_a_log_of_synthetic_data_is_read_too(tmp_path):
    faster = tmp_path / "synthetic.log"
    faster.write_text((LOGS / "megatron.log").read_text().replace("(ms): 12", "(ms): 11"))
    stall = value(ingest.observe(LOGS / "megatron.log", synthetic=str(faster)), "stall_fraction")
    assert stall == pytest.approx(0.08, abs=0.02)


def megatron(*lines):
    return "".join(
        f" [2026-03-05 12:00:{second:02d}] iteration {number}/ 100 | consumed samples: {256 * number} | "
        f"elapsed time per iteration (ms): {ms} | global batch size: 256 |\n"
        for second, number, ms in lines
    )


EVENT = ':::MLLOG {"namespace": "", "time_ms": %d, "event_type": "INTERVAL_START", "key": "%s", "value": 512, "metadata": {}}\n'
POISON = {
    "a clock that runs backwards": (megatron((9, 1, 1000), (3, 2, 1000)), ":2: the clock runs backwards by 6 s"),
    "a negative time": (megatron((1, 1, 1000), (2, 2, -1000)), ":2: found seconds -1 in a step"),
    "too few lines": (megatron(*((step, step, 1000) for step in range(1, 5))), "no steady part among 4 lines"),
    "rates that never settle": (
        megatron(*((step, step, 500 * 1.3**step) for step in range(1, 13))),
        "no steady part",
    ),
    "no batch size": ("iteration 1/ 9 | elapsed time per iteration (ms): 5 |\n" * 9, "--samples-per-step"),
    "two runs in a log": (EVENT % (1, "run_start") + EVENT % (2, "run_start"), ":2: a second run_start"),
    "an MLLOG that is cut off": (EVENT % (1, "run_start") + EVENT[:60], ":2: found no whole JSON"),
    "an epoch that stops too early": (EVENT % (5, "epoch_start") + EVENT % (1, "epoch_stop"), ":2: epoch_stop is before"),
    "a trainer state without a rate": (json.dumps({"log_history": [{"step": 1}]}), "train_samples_per_second"),
    "a CSV without rates": ("epoch,step,train_loss\n0,1,2.5\n", "ThroughputMonitor"),
    "tokens without their number": ((LOGS / "torchtitan.log").read_text(), "--tokens-per-sample"),
    "a utilization above 100 %": (summary(train_au_mean_percentage=MOST_PERCENT + 0.1), "expected up to 100 %"),
    "a summary without training": ('{"num_accelerators": 4, "metric": {}}', "found no training"),
    "a Kineto trace": ('{"schemaVersion": 1, "traceEvents": []}', "DataLoader spans are 0 ms"),
    "another file": ("Dear diary,\n", "no source that is known"),
    "an empty file": ("", "no source that is known"),
}


@pytest.mark.parametrize("name", POISON)
def test_a_poisoned_log_is_refused_in_one_line(name, tmp_path, run):
    text, expected = POISON[name]
    path = tmp_path / "run.log"
    path.write_text(text)
    ran = run("observe", path)
    assert ran.code == 1
    assert expected in ran.refusal
    assert len(ran.refusal) <= 300


def test_one_job_at_a_time():
    with pytest.raises(UsageError, match="two runs"):
        ingest.observe(LOGS / "megatron.log", LOGS / "mlperf.log")
    with pytest.raises(UsageError, match="two jobs"):
        ingest.observe(pid=1, command=["true"])
    with pytest.raises(UsageError, match="nothing to observe"):
        ingest.observe()


def test_the_command_prints_json_and_a_page(run):
    ran = run("observe", LOGS / "megatron.log", "--format", "json")
    assert ran.data["schema"] == "ingest/observation/1"
    assert ran.data["results"]["samples_per_second_per_gpu"]["basis"] == "measured"
    assert ran.data["results"]["samples_per_second_per_gpu"]["window"]["cut_before"] > 10
    page = run("observe", LOGS / "megatron.log").out
    assert "cut 10.26 s before" in page
    ran = run("observe", "--command", "'unclosed")
    assert (ran.code, "closed quotation marks" in ran.refusal) == (2, True)


def megatron(times, batch=8, world="world size: 8\n"):
    line = " iteration {}/ 99 | elapsed time per iteration (ms): {} | global batch size: {} |\n"
    return world + "".join(line.format(number, time, batch) for number, time in enumerate(times, 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (megatron([100] * 9) + megatron([50] * 9, world="world size: 64\n"), "the world size is 64 after 8: two jobs"),
        (megatron([100] * 9) + megatron([50] * 9, batch=16, world=""), "step 1 follows step 9 with another batch: two jobs"),
        (megatron(["1e-300"] * 9), "found seconds 1e-303 in a step, expected 1e-06 to"),
        (megatron(["1e308"] * 9), "found seconds 1e[+]305 in a step, expected 1e-06 to"),
        (megatron([0] * 9), "found seconds 0 in a step, expected a number above 0"),
    ],
)
def test_two_jobs_in_one_log_and_times_that_no_step_takes(text, expected, tmp_path):
    (tmp_path / "train.log").write_text(text)
    with pytest.raises(IngestError, match=expected):
        ingest.observe(tmp_path / "train.log")


def test_a_restart_keeps_its_batch_and_its_size(tmp_path):
    (tmp_path / "train.log").write_text(megatron([100] * 30) + megatron([100] * 30))
    assert ingest.observe(tmp_path / "train.log").facts["restarts"] == 1
