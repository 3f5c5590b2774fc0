"""Checkpoints as practised: failures, parallel sizes, intervals and drains, overheads, and what a site takes from them."""

import math

import pytest
import yaml
from conftest import CATALOG, table
from hypothesis import given, settings
from hypothesis import strategies as st
from test_checkpoint import value

import ingest
from ingest.catalog.records import Failures
from ingest.engine.messages import rule_of
from ingest.errors import IngestError, UsageError
from ingest.sizing.checkpoint_schedule import interval_course
from ingest.units import parse

#: Twelve jobs from one node to the largest published, dense and of experts.
JOBS = (
    ("llama3-8b", 8), ("llama3-8b", 64), ("llama3-8b", 1024), ("llama2-13b", 128), ("llama3-70b", 256), ("llama3-70b", 512),
    ("llama3-70b", 2048), ("mixtral-8x7b", 512), ("gpt3-175b", 4096), ("deepseek-v3", 2048), ("llama3-405b", 8192),
    ("llama3-405b", 16384),
)  # fmt: skip


def why(answer, name):
    return next(one["why"] for one in answer.to_dict()["assumptions"] if one["name"] == name)


def interrupted(gpus):
    return ingest.checkpoint(set={"parameters": 7e9}, gpus=gpus)


@pytest.mark.parametrize(
    ("gpus", "entries"), table("sizing/cases.yaml")["the_failure_rate_is_that_of_the_published_sizes_next_to_the_job"]
)
def test_the_failure_rate_is_that_of_the_published_sizes_next_to_the_job(gpus, entries):
    answer = interrupted(gpus)
    assert sorted(row["failures"] for row in answer.tables["failures"] if row["mark"]) == entries
    rows = {row["failures"]: row["job_mean_time_to_interrupt"] for row in answer.tables["failures"]}
    if len(entries) == 1:
        assert answer.results["job_mean_time_to_interrupt"].value == pytest.approx(rows[entries[0]])
        name = "observed_interrupts" if entries == ["llama3"] else "failures_per_node_second"
        assert CATALOG.get(Failures, entries[0]).name in why(answer, name)
    else:
        assert "a line of logarithmic axes" in why(answer, "failures_per_node_second")


def test_between_two_published_sizes_interrupts_grow_as_a_power_of_the_gpus():
    # 1 node: 0.02096 a day; 128 nodes: 0.02373 × 128 = 3.04; 2,048 nodes: 419 in 54 days.
    at = {gpus: 86400 / interrupted(gpus).results["job_mean_time_to_interrupt"].value for gpus in (8, 96, 1024, 4096, 16384)}
    assert at[1024] == pytest.approx(0.02373 * 128, rel=1e-3)
    assert at[96] == pytest.approx(0.02096 * 12 ** (math.log(at[1024] / at[8]) / math.log(128)), rel=1e-3)
    assert at[4096] == pytest.approx((at[1024] * at[16384]) ** 0.5)
    # ByteDance's 9,600 GPUs, 0.0042 to 0.0072 a node and day, lie in the range, whose ends are powers of the GPUs, too.
    known = interrupted(9600).known.given["failures_per_node_second"]
    assert (known.low * 86400, known.high * 86400) == pytest.approx((0.003865, 0.009566), rel=1e-3)


@given(st.integers(1, 200_000), st.integers(1, 4096))
@settings(max_examples=40)
def test_a_larger_job_is_interrupted_more_often(gpus, more):
    few, many = (interrupted(count).results["job_mean_time_to_interrupt"].value for count in (gpus, gpus + more))
    assert many < few or (many <= few * (1 + 1e-9) and -(-gpus // 8) == -(-(gpus + more) // 8))


def test_published_rates_are_listed_and_yield_to_a_given_time():
    rows = {row["failures"]: row for row in ingest.checkpoint("llama3-8b", gpus=1024).tables["failures"]}
    # 128 nodes: 1,000 days over 23.73 and 6.5 failures.
    assert rows["rsc-1-jobs-1024"]["failures_per_thousand_node_days"] == pytest.approx(23.73)
    assert rows["rsc-1-jobs-1024"]["job_mean_time_to_interrupt"] == pytest.approx(86400e3 / 23.73 / 128)
    assert rows["rsc-1"]["job_mean_time_to_interrupt"] == pytest.approx(86400e3 / 6.5 / 128)
    assert rows["llama3"]["failures_per_thousand_node_days"] == pytest.approx(419 / 54 / 2.048)
    assert value("job_mean_time_to_interrupt", "llama3-8b", 1024, failures="rsc-1") == pytest.approx(86400e3 / 6.5 / 128)
    assert value("job_mean_time_to_interrupt", "llama3-8b", 1024, mtti="5 h") == 18000


@pytest.mark.parametrize(
    ("model", "gpus", "sizes", "told"), table("sizing/cases.yaml")["parallel_sizes_are_published_or_the_smallest_that_fit"]
)
def test_parallel_sizes_are_published_or_the_smallest_that_fit(model, gpus, sizes, told):
    answer = ingest.checkpoint(model, gpus=gpus)
    given = answer.known.given
    found = [given["tensor_parallel"].value, given["pipeline_parallel"].value, answer.inputs["expert_parallel"]["value"]]
    assert found == sizes
    assert told in why(answer, "tensor_parallel")
    assert answer.results["data_parallel"].value == gpus / sizes[0] / sizes[1]


@pytest.mark.parametrize(("model", "gpus"), [("llama3-8b", 8), ("llama3-70b", 64), ("mixtral-8x7b", 64), ("llama2-13b", 16)])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_memory_says_that_chosen_sizes_fit_and_that_smaller_ones_do_not(model, gpus, stage):
    given = ingest.checkpoint(model, gpus=gpus, zero_stage=stage).known.given
    tensor, pipeline = (int(given[f"{part}_parallel"].value) for part in ("tensor", "pipeline"))

    def fits(tensor, pipeline):
        found = ingest.memory(model, gpus=gpus, tensor_parallel=tensor, pipeline_parallel=pipeline, zero_stage=stage)
        return not found.unmet

    assert fits(tensor, pipeline)
    assert (tensor, pipeline) == (1, 1) or not fits(*((tensor, pipeline - 1) if pipeline > 1 else (tensor // 2, 1)))


def test_published_sizes_are_taken_where_they_fit():
    options = {"gpus": 2048, "pipeline_parallel": 16, "zero_stage": 1, "optimizer": "adamw-bf16"}
    assert ingest.memory("deepseek-v3", **options).unmet
    shared = ingest.memory("deepseek-v3", **options, expert_parallel=64)
    assert not shared.unmet
    assert shared.results["gpus_to_hold"].value == 16 * 64
    with pytest.raises(UsageError, match="a divisor of the 128 replicas"):
        ingest.memory("deepseek-v3", **options, expert_parallel=256)
    # 405B over 128 GPUs: 12.7 GB of weights and gradients and 19 GB of optimizer states fit 76 GB, not the 14.4 GB of a T4.
    assert ingest.checkpoint("llama3-405b", gpus=256, expert_parallel=1).known.given["pipeline_parallel"].value == 16
    assert ingest.checkpoint("llama3-405b", gpus=256, gpu="t4").known.given["pipeline_parallel"].value > 16


@pytest.mark.parametrize(("parameters", "tensor"), [(19.1e9, 1), (19.12e9, 2)])
def test_the_smallest_size_turns_where_the_memory_is_full(parameters, tensor):
    # ZeRO-2 without gradients' copies: at many replicas 2 B + 14/d of each parameter; here 4 B at stage 1 fill 90 % of 84.9 GB.
    known = {"parameters": parameters, "master_bytes_per_parameter": 0, "momentum_bytes_per_parameter": 0}
    assert ingest.checkpoint(set=known, gpus=1024, optimizer="none").known.given["tensor_parallel"].value == tensor


def test_jobs_that_hold_no_model_are_told():
    found = ingest.checkpoint("llama3-405b", gpus=16)
    assert any("do not fit the memory of 16 × NVIDIA H100 SXM5" in line for line in found.warnings)
    assert not any("do not fit" in line for line in ingest.checkpoint("llama3-405b", gpus=128).warnings)


@pytest.mark.parametrize(("options", "interval"), table("sizing/cases.yaml")["the_interval_is_a_tenth"])
def test_the_interval_is_a_tenth_of_the_mean_time_to_interrupt_up_to_an_hour_unless_it_is_stated(options, interval):
    assert value("checkpoint_interval", "llama3-8b", **{"gpus": 8, **options}) == pytest.approx(interval)


@pytest.mark.parametrize(("options", "seconds"), table("sizing/cases.yaml")["a_checkpoint_drains_within"])
def test_a_checkpoint_drains_within_a_tenth_of_its_interval_and_two_minutes(options, seconds):
    answer = ingest.checkpoint("llama3-8b", gpus=64, mode="async", **options)
    assert answer.results["checkpoint_dump_seconds"].value == pytest.approx(seconds)
    assert answer.results["checkpoint_write_bandwidth"].value == pytest.approx(12 * 8_030_261_248 / seconds)


def test_the_overheads_of_a_drain_are_those_worked_out_by_hand():
    known = {"checkpoint_bytes": 1e12, "checkpoint_bytes_per_rank_max": 3.4e9}
    answer = ingest.checkpoint(set={"parameters": 7e9, **known}, gpus=512, mode="async", mtti="5 h", reschedule_time="5 min")
    found = {name: item.value for name, item in answer.results.items()}
    # M = 18,000 s: an interval of 1,800 s, a drain of 120 s, staging 0.5 + 3.4/1.7 = 2.5 s, restores 120 s, 300 s before them.
    assert found["checkpoint_interval"] == 1800
    assert found["checkpoint_write_bandwidth"] == pytest.approx(1e12 / 120)
    assert found["checkpoint_stall_seconds"] == pytest.approx(2.5)
    assert found["staging_overhead"] == pytest.approx(2.5 / 1800)
    assert found["writing_overhead"] == pytest.approx(0.5 * 120 / 1800)
    assert found["lost_work_overhead"] == pytest.approx((900 + 120) / 18000)
    assert found["restart_waste"] == pytest.approx(120 / 18000)
    storage = 2.5 / 1800 + 60 / 1800 + 1020 / 18000 + 120 / 18000
    assert found["checkpoint_overhead"] == pytest.approx(storage)
    assert found["total_overhead"] == pytest.approx(storage + 300 / 18000)
    assert found["drain_duty"] == pytest.approx(120 / 1802.5)
    assert found["checkpoint_bytes_written_per_day"] == pytest.approx(1e12 * 86400 / 1802.5)


@pytest.mark.parametrize(("option", "other", "name", "factor"), table("sizing/cases.yaml")["each_part_follows_its_option"])
def test_each_part_follows_its_option(option, other, name, factor):
    assert value(name, "llama3-8b", 64, **{option: other}) == pytest.approx(factor * value(name, "llama3-8b", 64))


@pytest.mark.parametrize("options", [{"mode": "sync"}, {"mode": "async"}, {"mode": "async", "waste": "10%"},
                                     {"mode": "async", "write_bandwidth": "20 GB/s"}], ids=str)  # fmt: skip
def test_a_row_of_the_table_is_the_answer_to_its_interval(options):
    names = ("checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_overhead", "total_overhead")
    whole = ingest.checkpoint("llama3-70b", gpus=512, **options)
    assert [row["mark"] for row in whole.tables["intervals"]].count("chosen") == 1
    for row in whole.tables["intervals"]:
        minutes = f"{row['checkpoint_interval']!r} s"
        answer = ingest.checkpoint("llama3-70b", gpus=512, **options, interval=minutes)
        (asked,) = [one for one in answer.tables["intervals"] if one["mark"] == "asked"]
        assert {name: asked[name] for name in names} == {name: answer.results[name].value for name in names}
        assert {name: asked[name] for name in names} == pytest.approx({name: row[name] for name in names}, rel=1e-12)


def test_published_and_chosen_values_meet_what_was_observed():
    chosen = ingest.checkpoint("llama3-405b", gpus=16384, mode="sync")
    interval, rate = (chosen.results[f"checkpoint_{name}"].value for name in ("interval", "write_bandwidth"))
    assert value("checkpoint_write_bandwidth", "llama3-405b", 16384, mode="sync", interval=interval) == pytest.approx(rate)
    # 405B on 16,384 GPUs: between 50 and 400 GB/s written; 44 GB/s read in a restore of 8,960 GPUs.
    assert 50e9 <= value("checkpoint_write_bandwidth", "llama3-405b", 16384) <= 400e9
    assert value("restart_read_bandwidth", "llama3-405b", 16384) == pytest.approx(44e9, rel=0.1)


@pytest.mark.parametrize(("model", "gpus"), JOBS)
@pytest.mark.parametrize("waste", [None, 0.06])
def test_at_equal_overhead_asynchronous_needs_less_and_at_least_a_quarter(model, gpus, waste):
    drained = ingest.checkpoint(model, gpus=gpus, mode="async", waste=waste).results
    lost = waste or drained["checkpoint_overhead"].value
    dumped = ingest.checkpoint(model, gpus=gpus, mode="sync", waste=lost).results
    assert drained["checkpoint_overhead"].value == pytest.approx(dumped["checkpoint_overhead"].value) == pytest.approx(lost)
    assert dumped["total_overhead"].value == pytest.approx(drained["total_overhead"].value)
    drains, dumps = (one["checkpoint_write_bandwidth"].value for one in (drained, dumped))
    assert drains <= dumps <= 4 * drains


def test_a_gpu_copies_no_more_than_its_memory():
    # What exceeds it lies in host memory already: of 405B, each of 8 GPUs would copy 709 GB.
    copied = [1.7e9 * (value("checkpoint_stall_seconds", one, 8, gpu="b300") - 0.5) for one in ("llama3-405b", "llama3-8b")]
    assert copied == pytest.approx([288e9, 12.05e9], rel=1e-3)


def test_targets_and_cures_of_overheads():
    answer = ingest.checkpoint("llama3-405b", gpus=16384, mode="async")
    (line,) = [one for one in answer.warnings if "above the target of 5 %" in one]
    met = ingest.checkpoint("llama3-405b", gpus=16384, mode="async", waste="5%").results
    assert met["checkpoint_write_bandwidth"].display.partition(" (")[0] in line
    assert met["checkpoint_interval"].display in line
    assert met["checkpoint_overhead"].value == pytest.approx(0.05)
    slow = {"gpus": 64, "mode": "async", "set": {"checkpoint_write_bandwidth": 2e7}}
    told = next(line for line in ingest.checkpoint("llama3-8b", **slow).warnings if rule_of(line) == "W24")
    rate = parse(told.partition("target of 5 %; ")[2].partition(" and an interval")[0], "B/s", "")
    assert rate > 2e7
    cured = ingest.checkpoint("llama3-8b", gpus=64, mode="async", interval="60 min", write_bandwidth=rate)
    assert cured.results["checkpoint_overhead"].value <= 0.05 * 1.005


@pytest.mark.parametrize(("waste", "interval", "told"), [
    ("2.8%", "15 min", "3.79 % needs"), ("3.78%", "15 min", "3.79 % needs"), ("2%", None, "2.93 % needs"),
    ("3.8%", "15 min", ""), ("3%", None, "")])  # fmt: skip
def test_an_overhead_that_failures_cost_already_names_one_that_is_worth_its_bandwidth(waste, interval, told):
    def answer(allowed):
        return ingest.checkpoint("llama3-405b", gpus=2048, waste=allowed, interval=interval)

    line = next((one for one in answer(waste).warnings if rule_of(one) == "W124"), "")
    assert told in line
    assert bool(told) is bool(line)
    if told:
        kept = answer(told.removesuffix(" needs")).results["checkpoint_write_bandwidth"]
        assert parse(line.partition("needs ")[2].partition(";")[0], "B/s", "") == pytest.approx(kept.value, rel=0.02)


@pytest.mark.parametrize(("hours", "told"), [(1.99, True), (2.01, False)])
def test_restarts_of_more_than_a_tenth_of_the_time_are_told(hours, told):
    # 720 s are a tenth of 2 h.
    warnings = ingest.checkpoint("llama3-8b", gpus=64, mtti=f"{hours} h").warnings
    assert any("restarts" in line for line in warnings) is told


@pytest.mark.parametrize(("share", "refused"), [(0.9999, False), (1.0001, True)])
def test_a_job_without_progress_is_refused(share, refused):
    # M = 10,000 s: practice loses about 12 % to storage, and restarts the rest.
    options = {"gpus": 64, "mode": "async", "mtti": 10_000}
    left = 1 - value("checkpoint_overhead", "llama3-8b", **options, reschedule_time=9000)
    assert ("no progress" in ingest.checkpoint("llama3-8b", **options, reschedule_time=share * left * 10_000).unmet) is refused


#: M = 1 h: restores 120/3,600 = 3.33 %; staging of 2.8 s and its lost work take √(2 × 2.8/3,600) = 3.94 % at best.
STAGED = {"set": {"staging_fixed_seconds": 2.8, "staging_bandwidth_per_gpu": 1e18}, "mode": "async", "mtti": "1 h"}
RESTORED = {"mode": "sync", "mtti": 10_000, "reschedule_time": 0}  # nine tenths of 5 % of it are 450 s


@pytest.mark.parametrize(
    ("options", "refused", "kept"),
    [
        ({**RESTORED, "restart_time": 449}, {"restart_time": 451}, 0.05),
        ({**STAGED, "waste": "7.4%"}, {"waste": "7.2%"}, 0.074),
    ],
)
def test_an_overhead_that_restores_or_staging_alone_take_is_refused(options, refused, kept):
    assert value("checkpoint_overhead", "llama3-8b", 64, **options) == pytest.approx(kept)
    with pytest.raises(
        UsageError, match=r"7\.517 min alone take 4\.51 %|found 7\.2 %, expected more than 7\.28 %.*at any interval"
    ):
        ingest.checkpoint("llama3-8b", gpus=64, **{**options, **refused})


@pytest.mark.parametrize(("optimizer", "precision", "each"), [("adamw-bf16", "bf16", 10), ("adamw-bf16", "fp8", 9),
                                                               ("adamw-fp32", None, 12), (None, None, 12),
                                                               (None, "bf16", 14)])  # fmt: skip
def test_recipes_save_what_their_sources_say(optimizer, precision, each):
    answer = ingest.checkpoint(set={"parameters": 1e9}, gpus=8, optimizer=optimizer, precision=precision)
    assert answer.results["checkpoint_bytes"].value == each * 1e9


def test_models_save_by_their_own_recipes():
    own = ingest.checkpoint("deepseek-v3", gpus=2048)
    assert own.inputs["optimizer"] == {"value": "adamw-bf16", "from": "default"}
    parameters = own.known.value("parameters")
    assert own.results["checkpoint_bytes"].value == 10 * parameters
    assert value("checkpoint_bytes", "deepseek-v3", 2048, optimizer="adamw") == 14 * parameters
    # 204,184,588 rows of 128 numbers, each with an accumulator, in 32 bits.
    answer = ingest.checkpoint("dlrm-dcnv2", gpus=128)
    assert answer.results["checkpoint_bytes"].value == 204_184_588 * 128 * 8
    assert answer.inputs["zero_stage"]["value"] == 3
    assert answer.known.given["tensor_parallel"].value == 1


SITE = """
clusters: {main: {node: dgx-h100, count: 64}}
jobs: {train: {cluster: main, model: llama3-70b, nodes: 64, checkpoint: {mode: async, keep: 3}}}
"""


def test_a_site_takes_over_checks_or_refuses_the_answer_of_its_job():
    plan = ingest.plan(yaml.safe_load(SITE), samples=0)
    (row,) = plan.rows["jobs"]
    known = ingest.checkpoint("llama3-70b", gpus=512, gpu="h100-sxm", mode="async").known
    for name in ("checkpoint_bytes", "checkpoint_files", "checkpoint_interval", "checkpoint_write_bandwidth",
                 "checkpoint_dump_seconds", "checkpoint_stall_seconds", "restart_read_bytes", "restart_read_bandwidth",
                 "restart_seconds", "drain_duty", "job_mean_time_to_interrupt"):  # fmt: skip
        assert row.step(name).value == pytest.approx(known.value(name)), name
    site = yaml.safe_load(SITE)
    found = {one.rule.id: one for one in ingest.plan(site, samples=0).findings}
    assert {"C12", "C13"} <= found.keys()
    assert (found["C12"].value.value, found["C12"].limit) == (512, 512)
    site["jobs"]["train"]["checkpoint"] |= {"failures": "llama3", "tensor_parallel": 8, "pipeline_parallel": 1}
    assert not {"C12", "C13"} & {one.rule.id for one in ingest.plan(site, samples=0).findings}
    site = yaml.safe_load(SITE)
    site["jobs"]["train"] |= {"model": "dlrm-dcnv2", "samples_per_second": 1e6}
    (row,) = ingest.plan(site, samples=0).rows["jobs"]
    assert row.step("checkpoint_bytes").value == 204_184_588 * 128 * 8
    site = yaml.safe_load(SITE)
    site["jobs"]["train"]["checkpoint"]["mtti"] = "10 min"
    with pytest.raises(IngestError, match=r"jobs\.train\.checkpoint: no progress"):
        ingest.plan(site, samples=0)


def test_the_factor_between_dump_and_drain_is_that_of_the_slow_down():
    # Where overheads are small, a drain may take 1/0.5 times as long as a dump.
    drained, dumped = (
        value("checkpoint_write_bandwidth", "llama3-70b", 512, mode=mode, waste="2%", set={"staging_fixed_seconds": 0,
              "staging_bandwidth_per_gpu": 1e15}) for mode in ("async", "sync")
    )  # fmt: skip
    assert math.isclose(dumped / drained, 2, rel_tol=0.03)


@pytest.mark.parametrize("options", [{"mode": "sync"}, {"mode": "async"}, {"mode": "async", "waste": "6%"},
                                     {"mode": "sync", "write_bandwidth": "20 GB/s"}], ids=str)  # fmt: skip
def test_the_chart_of_intervals_passes_through_the_answer(options):
    known = ingest.checkpoint("llama3-70b", gpus=512, **options).known
    chosen, points, _ = interval_course(known, options["mode"])
    assert chosen == pytest.approx(min(points, key=lambda one: abs(one[0] - chosen[0])), rel=1e-9)
    assert len(points) > 5
    if options["mode"] == "sync":
        assert min(point[1] for point in points) == pytest.approx(chosen[1], rel=1e-9)


def test_values_and_numbers_are_worded_as_written():
    with pytest.raises(UsageError, match="--mtti: found -5 min, expected a number above 0"):
        ingest.checkpoint("llama3-8b", gpus=64, mtti="-5 min")
    assert " on 1 GPU: " in ingest.checkpoint("llama3-8b", gpus=1).title
    assert "1 GPU does not hold the model states" in ingest.memory("llama3-8b", gpu="h100", gpus=1).unmet
