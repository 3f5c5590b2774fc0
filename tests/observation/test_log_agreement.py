"""Logs whose lines contradict each other: two jobs in one file, wrong units, counts that disagree, runs that stopped early."""

import json

import pytest
from conftest import refused, table

import ingest
from ingest.errors import IngestError, UsageError
from ingest.observation.sources.training_logs import BATCH_WITHIN, MEAN_WITHIN, SECONDS_BELOW, SECONDS_FROM
from ingest.observation.training_run import LogStep, clock_share, long_lines, one_line_per_step, refuse_interleaved

#: Speeds of one step agree within a tenth; a clock passes at least 0.8 s for each second of the steps, says more beyond 1.25 s
#: and is wrong beyond 10 s, by ten parts of the log.
SAME_STEP_WITHIN, LEAST_CLOCK_SHARE, MOST_CLOCK_SHARE, WRONG_UNIT, CLOCK_PARTS = 0.1, 0.8, 1.25, 10.0, 10
#: Long lines differ by ten deviations, the median of which is 0.6745 of the standard deviation; a mean is low by a quarter.
DEVIATIONS, MEDIAN_DEVIATION, MEAN_BELOW = 10.0, 0.6745, 0.25
EPSILON = 1e-6


def steps(*numbers, seconds=1.0):
    return [LogStep(place, number, seconds) for place, number in enumerate(numbers, 1)]


def timed(share):
    """100 steps of 10 s by a clock that passes so many seconds for each of them."""
    return [LogStep(at, at, 10.0, clock=10.0 * at * share) for at in range(1, 101)]


def test_lines_of_one_step_are_of_one_job():
    ranks = [LogStep(1, 1, 1.0), LogStep(2, 1, 1 - SAME_STEP_WITHIN + EPSILON), LogStep(3, 2, 1.0)]
    assert [one.line for one in one_line_per_step(ranks, "run.log")] == [1, 3]
    ranks[1] = LogStep(2, 1, 1 - SAME_STEP_WITHIN - EPSILON)
    with pytest.raises(IngestError, match=r"run.log:2: a step is printed twice, at speeds 10% apart: two jobs"):
        one_line_per_step(ranks, "run.log")


def test_a_restart_counts_on_and_two_jobs_leap():
    """Steps 1 to 9, from 5 again to 12; a restart whose lines 7 to 11 were lost; two jobs line by line."""
    refuse_interleaved(steps(*range(1, 10), *range(5, 13)), "run.log")
    refuse_interleaved(steps(*range(1, 10), 5, 6, 12, 13), "run.log")
    refuse_interleaved(steps(1, 88, 89, 2, 90), "run.log")
    with pytest.raises(IngestError, match=r"run.log:7: step 91 follows step 3 .* two jobs"):
        refuse_interleaved(steps(1, 88, 89, 2, 90, 3, 91), "run.log")
    with pytest.raises(IngestError, match="two jobs"):
        refuse_interleaved(steps(1, 2, 88, 89, 3, 4, 90, 91, 5, 6, 92, 93), "run.log")


@pytest.mark.parametrize("share", [LEAST_CLOCK_SHARE + EPSILON, 1.0, WRONG_UNIT - EPSILON])
def test_a_clock_that_agrees(share):
    assert clock_share(timed(share), [1] * 100, "run.log") == pytest.approx(share)
    assert clock_share(timed(share)[:CLOCK_PARTS], [1] * CLOCK_PARTS, "run.log") is None
    whole_seconds = [LogStep(at, at, 0.4, clock=0.0) for at in range(1, 101)]
    assert clock_share(whole_seconds, [1] * 100, "run.log") is None


@pytest.mark.parametrize("share", [LEAST_CLOCK_SHARE - EPSILON, WRONG_UNIT + EPSILON])
def test_a_clock_that_contradicts_the_times(share):
    with pytest.raises(IngestError, match="the unit of the times is wrong"):
        clock_share(timed(share), [1] * 100, "run.log")


def megatron(count=40, ms=5000.0, batch="64", each=64, clock=5.0, more=""):
    return "".join(
        f" [2026-03-05 12:{int(clock * at) // 60:02d}:{int(clock * at) % 60:02d}] iteration {at}/ 100 | "
        f"consumed samples: {each * at} | elapsed time per iteration (ms): {ms} | global batch size: {batch} |{more}\n"
        for at in range(1, count + 1)
    )


def observed(tmp_path, text, name="run.log", **options):
    path = tmp_path / name
    path.write_text(text)
    return ingest.observe(path, gpus=8, **options)


def test_time_between_the_steps_is_said(tmp_path):
    near = observed(tmp_path, megatron(ms=5000 / MOST_CLOCK_SHARE))
    assert not any("the clock passes" in one for one in near.warnings)
    far = observed(tmp_path, megatron(ms=5000 / MOST_CLOCK_SHARE - 50))
    assert any("the clock passes 1.27 s for each second" in one for one in far.warnings)
    assert far.figures["real_samples_per_second"].value == pytest.approx(64 / 3.95)


def stepped(*steps):
    """Lines without a clock: numbers of steps and their milliseconds."""
    line = " iteration {0}/ 900 | consumed samples: {1} | elapsed time per iteration (ms): {2} | global batch size: 64 |\n"
    return "".join(line.format(number, 64 * number, ms) for number, ms in steps)


#: Steps of one job and, line by line, those of another that began 500 steps before.
TWO_JOBS = stepped(*((at + ahead, 5000) for at in range(1, 30) for ahead in (0, 500)))
CONTRADICTIONS = {
    **table("observation/refused.yaml")["a_log_that_contradicts_itself"],
    "two jobs line by line": (TWO_JOBS, ":6: step 503 follows step 3 after a fall back: two jobs"),
    "a batch of another count": (megatron(batch=str(64 * (1 + BATCH_WITHIN + 1e-6))), "its global batch size is 1.05 times"),
    "a rate of another count": (megatron(more=" samples per second: 3.2 |"), "its samples per second is 0.25 times"),
    "two units": (megatron(4) + megatron(8).replace("(ms)", "(s)"), ":5: found times in s after ms"),
    "a time that is no number": (megatron(ms="nan"), ":1: found 'nan'"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_log_that_contradicts_itself_is_refused(name, tmp_path):
    text, expected = CONTRADICTIONS[name]
    with refused(expected):
        observed(tmp_path, text)


def test_counts_that_agree_are_read(tmp_path):
    """A batch with a thousands separator, one within the rounding, a rate as printed; a finished run of the Trainer."""
    assert observed(tmp_path, megatron(batch="1,024", each=1024)).figures["real_samples_per_second"].value == 204.8
    near = observed(tmp_path, megatron(batch=str(64 * (1 + BATCH_WITHIN - 1e-6)), more=" samples per second: 13.44 |"))
    assert near.figures["real_samples_per_second"].value == pytest.approx(13.44)
    state = {"log_history": [{"train_samples_per_second": 64.0}], "global_step": 100, "max_steps": 100}
    assert observed(tmp_path, json.dumps(state)).figures["real_samples_per_second"].value == 64


def test_the_batch_is_that_of_the_steady_part(tmp_path):
    """Batches of 16 at first, of 64 in the steady part, and as many lines of each."""
    text = megatron(40, 2500.0, "16", 16, 2.5) + "".join(megatron(80).splitlines(True)[40:]).replace(
        "[2026-03-05 12", "[2026-03-05 13"
    )
    assert observed(tmp_path, text).figures["samples_per_step"].value == 8


def test_a_slow_step_of_lightning_counts_by_its_time(tmp_path):
    """Rates of 1,000 and of 100 samples/s in turn: equal batches take 1 and 10 s, so that 2,000 samples pass in 11 s."""
    lines = "".join(f"{at},{5.5 * at},{1000 if at % 2 else 100}\n" for at in range(1, 61))
    answer = observed(tmp_path, "step,train/time,train/samples_per_sec\n" + lines, "metrics.csv")
    assert answer.figures["real_samples_per_second"].value == pytest.approx(2000 / 11)
    assert answer.figures["window_seconds"].value == pytest.approx(5.5 * 59)


def mlperf(blocks, counts):
    """Blocks of 10 s that state one count at both edges, each followed by an evaluation that counts all samples."""
    lines, done = [("run_start", 0, {})], 0
    for at, (samples, stated) in enumerate(zip(blocks, counts, strict=True)):
        done += samples
        lines += [("block_start", 12 * at, {"samples_count": stated}), ("block_stop", 12 * at + 10, {"samples_count": stated}),
                  ("eval_accuracy", 12 * at + 12, {"samples_count": done})]  # fmt: skip
    return "".join(
        ":::MLLOG " + json.dumps({"time_ms": 1000 * seconds, "key": key, "metadata": metadata}) + "\n"
        for key, seconds, metadata in lines
    )


@pytest.mark.parametrize("counts", [[100] * 8, list(range(0, 800, 100))])
def test_blocks_that_state_one_count_at_both_edges(counts, tmp_path):
    """The count is that of the block in logs of MLPerf 5.1, that before it in some of 5.0; evaluations may be lost."""
    text = mlperf([100] * 8, counts)
    lost = "".join(line for line in text.splitlines(True) if "eval_accuracy" not in line or '": 400' not in line)
    for log in (text, lost):
        assert observed(tmp_path, log).figures["real_samples_per_second"].value == pytest.approx(10)


def without_evaluations(counts):
    return "".join(line for line in mlperf([100] * 8, counts).splitlines(True) if "eval_accuracy" not in line)


def test_blocks_state_samples_that_their_evaluations_and_each_other_agree_with(tmp_path):
    assert observed(tmp_path, without_evaluations([100] * 8)).figures["real_samples_per_second"].value == pytest.approx(10)
    alone = [without_evaluations(counts) for counts in (list(range(100, 900, 100)), [0] + [100] * 7)]
    for log in (*alone, mlperf([100] * 8, [50] * 8), mlperf([100] * 8, list(range(0, 400, 50)))):
        with pytest.raises(IngestError, match="contradict each other"):
            observed(tmp_path, log)


def test_options_that_contradict_the_log_are_refused(tmp_path):
    """A log of 200 GPUs and batches of 64; two printed rates tell the GPUs to 1 %."""
    text = "using world size: 200\n" + megatron()
    path = tmp_path / "run.log"
    path.write_text(text)
    near = ingest.observe(path, gpus=202, samples_per_step=64)
    assert near.figures["samples_per_second_per_gpu"].value == pytest.approx(12.8 / 202)
    with pytest.raises(UsageError, match=r"--gpus: found 203, expected the 200 that .*run.log states"):
        ingest.observe(path, gpus=203)
    with pytest.raises(UsageError, match=r"--samples-per-step: found 65, expected the 64 that .*run.log states"):
        ingest.observe(path, samples_per_step=65)


def test_long_lines_are_few_and_far_beyond_the_spread():
    """19 lines of one time: a line of 1.5 times is not long yet; two of 20 are a tenth, and three the job's own rhythm."""
    even, spread, beyond = [1.0] * 17, [0.9, 1.1] * 10, 1 + DEVIATIONS * 0.1 / MEDIAN_DEVIATION
    for times, expected in (
        ([*even, 1.0, 1.0, 1.5], set()),
        ([*even, 1.0, 1.0, 1.5001], {19}),
        ([*even, 1.0, 2.0, 2.0], {18, 19}),
        ([*even, 2.0, 2.0, 2.0], set()),
        ([*spread, 1.0, 1.0, beyond - 0.001], set()),
        ([*spread, 1.0, 1.0, beyond + 0.001], {22}),
    ):
        assert long_lines(times, [64.0] * len(times)) == expected, times


def test_pauses_of_checkpoints_are_left_out_and_others_are_said(tmp_path):
    """Steps of 1 s with a pause of 9 s, told by a line of its checkpoint or by nothing."""
    steps = stepped(*((at, 10_000 if at in (25, 35, 45) else 1000) for at in range(1, 101))).splitlines(True)
    saved = ["successfully saved checkpoint\n"]
    told = observed(tmp_path, "".join([*steps[:24], *saved, *steps[24:34], *saved, *steps[34:44], *saved, *steps[44:]]))
    assert told.figures["real_samples_per_second"].value == pytest.approx(64)
    assert told.figures["window_seconds"].value == pytest.approx(97)
    assert not any("lines take" in one for one in told.warnings)
    silent = observed(tmp_path, stepped(*((at, 1000 if at % 10 else 10_000) for at in range(1, 101))))
    assert silent.figures["real_samples_per_second"].value < 40
    assert any("lines take 1.5 times" in one and "other lines is 64 sample/s" in one for one in silent.warnings)


@pytest.mark.parametrize(("batch", "each"), [(8, 1), (16, 2), (4, None), (12, None)])
def test_the_batch_of_a_gpu_is_a_whole_number_from_one_on(tmp_path, batch, each):
    figures = observed(tmp_path, megatron(batch=str(batch), each=batch)).figures
    assert (figures["samples_per_step"].value if "samples_per_step" in figures else None) == each


@pytest.mark.parametrize(("steps", "told"), [(40, True), (39, False)])
def test_twenty_rounds_of_all_workers_tell_their_spread(tmp_path, steps, told):
    assert ("step_round_variation" in observed(tmp_path, megatron(count=steps), workers=2).figures) is told


@pytest.mark.parametrize(("gap", "told"), [(16, True), (15, False)])
def test_a_checkpoint_pauses_a_run_where_its_lines_are_three_times_as_far_apart(tmp_path, gap, told):
    lines = [f" [2026-03-05 12:{at // 60:02d}:{at % 60:02d}] iteration {number}/ 100 | consumed samples: {64 * number} | "
             f"elapsed time per iteration (ms): 5000.0 | global batch size: 64 |\n"
             for number, at in enumerate([*range(0, 100, 5), *range(95 + gap, 195 + gap, 5)], 1)]  # fmt: skip
    figures = observed(tmp_path, "".join([*lines[:20], "successfully saved checkpoint\n", *lines[20:]])).figures
    assert ("checkpoint_stall_seconds" in figures) is told
    assert not told or figures["checkpoint_stall_seconds"].value == pytest.approx(gap - 5)


def test_a_slow_phase_is_not_the_rate_of_a_run(tmp_path):
    """30 steps of 1 s, then 20 of 9 s, which take six times as long: the job does its work in the fast part."""

    def log(slow):
        return stepped(*((at, 1000 if at <= 30 else slow) for at in range(1, 51)))

    answer = observed(tmp_path, log(9000))
    assert answer.figures["real_samples_per_second"].value == pytest.approx(64)
    assert answer.figures["window_seconds"].window.cut_after == pytest.approx(180)
    assert any("the whole run makes 15.24 sample/s" in one for one in answer.warnings)
    for slow, said in ((1833, False), (1834, True)):
        answer = observed(tmp_path, log(slow))
        assert any("the whole run makes" in one for one in answer.warnings) is said


def test_attempts_of_other_speeds_are_named(tmp_path):
    """40 steps of 5 s; from step 31 on again, 45 steps of another time."""

    def log(ms):
        again = megatron(75, ms=ms, clock=ms / 1000).splitlines(True)[30:]
        return megatron().replace("[2026-03-05 12", "[2026-03-05 01") + "".join(again)

    for ms, said in ((5000 * (1 - MEAN_BELOW) + 1, False), (5000 * (1 - MEAN_BELOW) - 1, True)):
        answer = observed(tmp_path, log(ms))
        assert answer.figures["real_samples_per_second"].value == pytest.approx(64_000 / ms)
        assert any("times as fast between two restarts, from step 1 on" in one for one in answer.warnings) is said


def test_seconds_for_milliseconds_are_refused(tmp_path):
    event = ':::MLLOG {"time_ms": %d, "key": "init_start", "metadata": {}}\n'
    for time in (SECONDS_FROM - 1, SECONDS_BELOW):
        observed(tmp_path, event % time + mlperf([100] * 8, [100] * 8))
    for time in (SECONDS_FROM, SECONDS_BELOW - 1):
        with pytest.raises(IngestError, match=r"run.log:1: found time_ms .*; these are seconds"):
            observed(tmp_path, event % time + mlperf([100] * 8, [100] * 8))


def test_the_world_of_one_direction_is_not_the_job(tmp_path):
    path = tmp_path / "run.log"
    path.write_text("--->Data parallel world size: 8\n" + megatron())
    assert "samples_per_second_per_gpu" not in ingest.observe(path).figures
    path.write_text("using world size: 64, data-parallel size: 8\n>> tensor-parallel world size: 8\n" + megatron())
    assert ingest.observe(path).figures["samples_per_second_per_gpu"].value == 0.2


def test_epochs_of_composer_are_no_restarts(tmp_path):
    text = "".join(
        f"[epoch={epoch}][batch={batch}/20]:\n  Train throughput/samples_per_sec: 800.0\n"
        "  Train throughput/device/samples_per_sec: 100.0\n"
        for epoch in (1, 2, 3)
        for batch in range(1, 21)
    )
    answer = observed(tmp_path, text)
    assert answer.facts["restarts"] == 0
    assert answer.figures["real_samples_per_second"].value == pytest.approx(800)


def dlio(rates, utilizations=(90.0,), mean=60.0):
    metric = {
        "train_throughput_mean_samples_per_second": mean,
        "train_throughput_samples_per_second": rates,
        "train_au_mean_percentage": 90.0,
        "train_au_percentage": utilizations,
    }
    return json.dumps({"num_accelerators": 8, "metric": metric})


def test_epochs_of_dlio_give_the_range_and_their_difference_is_said(tmp_path):
    for slow, said in ((60 * (1 - MEAN_BELOW) + 0.1, False), (60 * (1 - MEAN_BELOW) - 0.1, True)):
        answer = observed(tmp_path, dlio([slow, 60.0]))
        rate = answer.figures["real_samples_per_second"]
        assert (rate.low, rate.value, rate.high) == (slow, 60, 60)
        assert any("a cache may serve the fast ones" in one for one in answer.warnings) is said
    observed(tmp_path, dlio([59.0, 60 / (1 + MEAN_WITHIN)]))
    for text in (dlio([59.0, 60 / (1 + MEAN_WITHIN) - 0.01]), dlio([60.0], [10.0, 20.0])):
        with pytest.raises(IngestError, match="expected the summary of one run"):
            observed(tmp_path, text)
