"""Logs of training runs: rates against the counts that wrote them, pauses, restarts, stalls; poisoned logs are refused."""

import json
from pathlib import Path

import pytest
from conftest import table

import ingest
from ingest.errors import IngestError, UsageError
from ingest.observation.sources.training_logs import MOST_PERCENT

LOGS = Path(__file__).with_name("logs")


def value(answer, name):
    return answer.results[name].value


def test_megatron_gives_rate_spread_pauses_and_restarts():
    """256 samples each 1,250 ms ± 12 on 16 GPUs; a restart after 47 iterations; checkpoints of 12 s."""
    answer = ingest.observe(LOGS / "megatron.log")
    rate = answer.results["samples_per_second_per_gpu"]
    assert rate.value == pytest.approx(256 / 1.25 / 16, rel=0.005)
    assert (rate.low, rate.high) == pytest.approx((12.5994, 13.0389), abs=1e-4), "the outer tenths of its lines"
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


def job(times, batch=8, world="world size: 8\n"):
    line = " iteration {}/ 99 | elapsed time per iteration (ms): {} | global batch size: {} |\n"
    return world + "".join(line.format(number, time, batch) for number, time in enumerate(times, 1))


POISON = {
    **table("observation/refused.yaml")["a_poisoned_log"],
    "a step of 5,000 digits": (megatron((1, "9" * 5000, 1000)), ":1: found '999"),
    "a field without end": ("step,train/samples_per_sec\n1," + "9" * 140_000, "found no table of comma-separated values"),
    "another rate than that of half a second": (
        megatron(*((step // 2, step, 500) for step in range(1, 60))).replace("256 |\n", "256 | samples per second: 1024 |\n"),
        "its samples per second is 2 times",
    ),
    "two worlds": (job([100] * 9) + job([50] * 9, world="world size: 64\n"), "the world size is 64 after 8: two jobs"),
    "two batches": (job([100] * 9) + job([50] * 9, batch=16, world=""), "step 1 follows step 9 with another batch: two jobs"),
    "a time next to nothing": (job(["1e-300"] * 9), "found seconds 1e-303 in a step, expected 1e-06 to"),
    "a time without end": (job(["1e308"] * 9), "found seconds 1e+305 in a step, expected 1e-06 to"),
    "no time": (job([0] * 9), "found seconds 0 in a step, expected a number above 0"),
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


@pytest.mark.parametrize(
    ("logs", "options", "expected"),
    [(("megatron.log", "mlperf.log"), {}, "two runs"), ((), {"pid": 1, "command": ["true"]}, "two jobs"),
     ((), {}, "nothing to observe")],
)  # fmt: skip
def test_one_job_at_a_time(logs, options, expected):
    with pytest.raises(UsageError, match=expected):
        ingest.observe(*(LOGS / name for name in logs), **options)


def test_the_command_prints_json_and_a_page(run):
    ran = run("observe", LOGS / "megatron.log", "--format", "json")
    assert ran.data["schema"] == "ingest/observation/1"
    assert ran.data["results"]["samples_per_second_per_gpu"]["basis"] == "measured"
    assert ran.data["results"]["samples_per_second_per_gpu"]["window"]["cut_before"] > 10
    page = run("observe", LOGS / "megatron.log").out
    assert "cut 10.26 s before" in page
    ran = run("observe", "--command", "'unclosed")
    assert (ran.code, "closed quotation marks" in ran.refusal) == (2, True)


def test_a_restart_keeps_its_batch_and_its_size(tmp_path):
    (tmp_path / "train.log").write_text(job([100] * 30) + job([100] * 30))
    assert ingest.observe(tmp_path / "train.log").facts["restarts"] == 1


def events(*rows, benchmark="resnet", batch=100, train=1000):
    """Lines of `:::MLLOG`: seconds, key, metadata, value."""
    told = [(0, "submission_benchmark", {}, benchmark), (0, "global_batch_size", {}, batch), (0, "train_samples", {}, train),
            (0, "max_sequence_length", {}, 50), (0, "run_start", {}, None), *rows]  # fmt: skip
    return "\n".join(
        ":::MLLOG " + json.dumps({"time_ms": 1000 * when, "key": key, "value": value, "metadata": metadata})
        for when, key, metadata, value in told
    )


def blocks(count, metadata, seconds=10):
    """Blocks of so many seconds, each with its own metadata at both ends."""
    return [
        (seconds * (place + at) + 1, key, metadata(place, at), None)
        for place in range(count)
        for at, key in enumerate(("block_start", "block_stop"))
    ]


#: Six blocks of 10 s that each train one epoch.
EPOCHS = blocks(6, lambda place, _: {"first_epoch_num": place + 1})


def epochs_of(rows, tmp_path, **values):
    path = tmp_path / "run.txt"
    path.write_text(events(*rows, **values))
    return ingest.observe(path, gpus=10).figures


@pytest.mark.parametrize(
    ("rows", "values", "rate"),
    [
        # Epochs of the data set.
        (blocks(6, lambda place, _: {"first_epoch_num": place + 1, "epoch_count": 1}), {}, 100),
        # Epoch numbers of UNet3D submissions count samples: none trains more than 10,000 epochs.
        (blocks(6, lambda place, _: {"first_epoch_num": 2000 * place, "epoch_count": 2000}), {"train": 1000}, 2000 * 1000 / 10),
        (blocks(6, lambda place, _: {"first_epoch_num": 2001 * place, "epoch_count": 2001}), {"train": 1000}, 2001 / 10),
        # GPT-3 counts tokens, of which a sample has 50 here.
        (blocks(6, lambda place, _: {"first_epoch_num": 50_000 * place, "epoch_count": 50_000}), {"benchmark": "gpt3"}, 100),
        # RetinaNet states the batches of an epoch as its samples.
        (EPOCHS, {"benchmark": "ssd", "train": 4572, "batch": 256}, 117_043.2),
        (blocks(6, lambda place, at: {"samples_count": 400 * (place + at)}), {}, 40),
    ],
)
def test_epochs_of_mlperf_are_counted_as_they_are_meant(rows, values, rate, tmp_path):
    found = epochs_of(rows, tmp_path, **values)
    assert found["real_samples_per_second"].value == pytest.approx(rate)
    assert "samples_per_step" not in found or found["samples_per_step"].value == values.get("batch", 100) / 10


def test_blocks_of_mlperf_between_evaluations_that_count_samples(tmp_path):
    """BERT submissions number blocks by steps and evaluations by samples."""
    rows = blocks(6, lambda place, _: {"first_epoch_num": place + 1, "epoch_count": 1})
    asked = [(10 * place + 11, "eval_accuracy", {"epoch_num": 5000 * (place + 1)}, 0.5) for place in range(6)]
    mixed = sorted([*rows, *asked], key=lambda one: (one[0], one[1] == "block_start"))
    assert epochs_of(mixed, tmp_path, benchmark="bert")["real_samples_per_second"].value == pytest.approx(500)
    with pytest.raises(IngestError, match="4 evaluations are numbered by samples, 6 blocks are not"):
        epochs_of([one for one in mixed if one not in asked[:2]], tmp_path, benchmark="bert")


def test_few_epochs_of_mlperf_leave_the_rate_to_its_own_statistics(tmp_path):
    rows = [(0, "block_start", {}, None), *((10 * place, "tracked_stats", {}, {"throughput": 70}) for place in range(1, 6))]
    assert epochs_of(rows, tmp_path)["real_samples_per_second"].value == pytest.approx(70)
    with pytest.raises(IngestError, match="no step with a time"):
        epochs_of(rows[:5], tmp_path)


@pytest.mark.parametrize(
    ("rows", "values", "message"),
    [
        (blocks(6, lambda place, _: {"first_epoch_num": 1 + place / 20}), {}, "parts of an epoch"),
        ([], {"benchmark": "minigo"}, "reads no data set"),
    ],
)
def test_events_of_mlperf_that_mislead_are_refused(rows, values, message, tmp_path):
    with pytest.raises(IngestError, match=message):
        epochs_of(rows, tmp_path, **values)


@pytest.mark.parametrize(("stated", "passes"), [(149, True), (151, False), (67, True), (66, False)])
def test_epochs_of_mlperf_are_held_against_its_own_throughput(stated, passes, tmp_path):
    rows = [*EPOCHS[:10], *((10 * place, "tracked_stats", {}, {"throughput": stated}) for place in range(1, 7))]
    rows.sort(key=lambda one: (one[0], one[1] != "block_stop"))
    if passes:
        assert epochs_of(rows, tmp_path)["real_samples_per_second"].value == pytest.approx(100)
    else:
        with pytest.raises(IngestError, match=f"epochs of 100 sample/s, tracked_stats of {stated} sample/s"):
            epochs_of(rows, tmp_path)


@pytest.mark.parametrize(("ended", "passes"), [(119, True), (121, False)])
def test_blocks_of_mlperf_that_take_a_small_share_of_the_run_are_refused(ended, passes, tmp_path):
    """Asynchronous programs log a block as stopped when it was dispatched."""
    rows = [*EPOCHS, (ended, "run_stop", {}, None)]
    if passes:
        assert epochs_of(rows, tmp_path)
    else:
        with pytest.raises(IngestError, match="take 50% of the run: work goes on"):
            epochs_of(rows, tmp_path)


def test_broken_characters_and_epochs_of_nemo(tmp_path):
    """The iteration of NeMo starts anew with each epoch: no restart."""
    path = tmp_path / "nemo.log"
    line = "\xe2\x96 Training epoch {}, iteration {}/9 | global_batch_size: 8 | global_step: {} | train_step_timing in s: 2.0"
    path.write_bytes("\n".join(line.format(at // 10, at % 10, at) for at in range(30)).encode("latin-1"))
    answer = ingest.observe(path, gpus=2)
    assert answer.figures["real_samples_per_second"].value == pytest.approx(4)
    assert (answer.facts["restarts"], "job_mean_time_to_interrupt" in answer.figures) == (0, False)


def test_evaluations_within_a_block_of_mlperf_are_left_out(tmp_path):
    """The block stops after its evaluation of 6 s; one that began before the block runs beside it."""
    for first, last, rate in ((5, 11, 250), (0, 4, 100)):
        edges = ((first, "start"), (last, "stop"))
        asked = [(10 * place + at, f"eval_{edge}", {}, None) for place in range(6) for at, edge in edges]
        ordered = sorted([*EPOCHS, *asked], key=lambda one: (one[0], "block" in one[1], "start" in one[1]))
        assert epochs_of(ordered, tmp_path)["real_samples_per_second"].value == pytest.approx(rate)


BAR = "Epoch 0: {0}%|█| {0}/100 [10:48<00:00, global_step={0}.00, consumed_samples={1}.0, train_step_timing in s=3.200]"
LOGGER = 'DLLL {{"type": "LOG", "data": {{"global_step": {0}.0, "consumed_samples": {1}.0, "train_step_timing in s": 3.2}}}}'


@pytest.mark.parametrize(("form", "ended"), [(BAR, "\r"), (LOGGER, "\n")])
def test_nemo_in_a_progress_bar_and_in_the_log_of_dllogger(form, ended, tmp_path):
    """Their batch is the growth of the consumed samples; a bar prints a step again."""
    path = tmp_path / "run.log"
    path.write_text("".join(form.format(at, 256 * (at + 1)) + ended for at in (0, *range(20), 19)), encoding="utf-8")
    found = ingest.observe(path, gpus=8).figures
    assert found["real_samples_per_second"].value == pytest.approx(80)
    assert found["samples_per_step"].value == 32
