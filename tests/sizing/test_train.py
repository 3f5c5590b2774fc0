"""`ingest train`: the arithmetic of published runs, what a run loses, and what it refuses."""

import statistics

import pytest
from conftest import table
from hypothesis import example, given
from hypothesis import strategies as st

import ingest
from ingest.catalog.yaml_reader import read_yaml
from ingest.configuration import shipped_folder
from ingest.engine.registry import solve
from ingest.reports.page import answer_line
from ingest.sizing.job import BATCH_ENDS
from ingest.units import parse

CONTRACT = {"training_seconds", "gpu_hours", "training_energy", "goodput"}
GIVEN = {"training_carbon", "training_water", "training_cost", "gpu_cost", "electricity_cost", "stall_cost_per_year"}
RUN = {"model": "llama3-405b", "tokens": "15.6T", "gpu": "h100", "gpus": 16384, "achieved": "400 TFLOP/s"}


def results(**options):
    return {name: item.value for name, item in ingest.train(**{**RUN, **options}).results.items()}


def test_the_contract_is_answered_and_money_and_carbon_have_no_default(run):
    ran = run("train", "llama3-8b", "--tokens", "1T", "--gpu", "h100", "--gpus", "64", "--format", "json")
    assert ran.code == 0, ran.err
    assert set(ran.data["results"]) >= CONTRACT
    assert not GIVEN & ({*ran.data["results"]} | {*ran.data["unknown"]})
    assert ran.data["results"]["training_energy"]["unit"] == "J"


def test_every_price_and_intensity_adds_its_own_result():
    found = results(price_gpu_hour=2, electricity_price="0.1/kWh", carbon="385 g/kWh", wue="0.55 L/kWh", stall="5%", pue=1.2)
    assert set(found) >= GIVEN
    kilowatt_hours = found["training_energy"] / 3.6e6
    assert found["training_carbon"] == pytest.approx(0.385 * kilowatt_hours)
    assert found["training_water"] == pytest.approx(0.55 * kilowatt_hours / 1.2)
    assert found["training_cost"] == pytest.approx(2 * found["gpu_hours"] + 0.1 * kilowatt_hours)
    assert found["stall_cost_per_year"] == pytest.approx(16384 * 8760 * 2 * 0.05)


def test_durations_losses_and_energy_agree():
    found = results(stall="3%")
    simulated = ingest.goodput("llama3-405b", gpus=16384, gpu="h100", runs=2).results["goodput_closed_form"].value
    assert found["goodput"] == pytest.approx(simulated * 0.97)
    assert found["training_seconds"] == pytest.approx(15.6e12 / found["tokens_per_second_per_gpu"] / 16384 / found["goodput"])
    assert found["gpu_hours"] == pytest.approx(16384 * found["training_seconds"] / 3600)
    assert found["training_energy"] == pytest.approx(found["gpu_hours"] * 3600 * found["power_drawn_per_gpu"] * 1.1)
    plan = ingest.checkpoint("llama3-405b", gpus=16384, gpu="h100", mtti="2 h", interval="10 min").results
    found = results(mtti="2 h", interval="10 min")
    for name in ("checkpoint_overhead", "lost_work_overhead", "job_mean_time_to_interrupt"):
        assert found[name] == plan[name].value
    found = ingest.train("resnet50", samples="115M", gpu="a100", gpus=64, set={"goodput": 0.9}).results
    assert found["gpu_hours"].value == pytest.approx(115e6 / found["samples_per_second_per_gpu"].value / 0.9 / 3600)
    assert solve("stall_cost_per_year", {"gpus": 1024, "gpu_hour_price": 2, "stall_fraction": 0.05}) == pytest.approx(897024)


def test_hosts_caps_and_storage_draw_power():
    # The host draws what the node takes beyond its gpus.
    assert results(node="dgx-h100", gpu=None)["power_drawn_per_gpu"] == 10_200 / 8
    assert results(node="dgx-h100", gpu=None, host_power=0)["power_drawn_per_gpu"] == 700
    assert results(power="500 W", host_power="100 W", set={"power_load": 0.8})["power_drawn_per_gpu"] == 480
    # A cap on the gpus saves energy and leaves the host as it is.
    found = [results(node="dgx-h100", gpu=None, power=power) for power in (1, 400, 700, 5000)]
    assert [one["power_drawn_per_gpu"] - 575 for one in found] == [1, 400, 700, 5000]
    energy = [one["training_energy"] for one in found]
    assert energy == sorted(set(energy))
    alone, with_storage = results(host_power=0), results(host_power=0, storage_power="1 MW")
    assert with_storage["storage_power_share"] == pytest.approx(1e6 / (1e6 + 16384 * 700))
    assert with_storage["training_energy"] - alone["training_energy"] == pytest.approx(1e6 * alone["training_seconds"] * 1.1)


@pytest.mark.parametrize(("mtti", "code"), [("13.9 min", 0), ("13.7 min", 3)])
def test_a_run_that_makes_no_progress_has_no_duration(run, mtti, code):
    ran = run("train", "llama3-8b", "--tokens", "1T", "--gpu", "h100", "--gpus", "64", "--mtti", mtti, "--format", "json")
    assert ran.code == code, ran.err
    assert ("gpu_hours" in ran.data["results"]) is (code == 0)


@pytest.mark.parametrize(("options", "words"), table("sizing/refused.yaml")["what_cannot_be_meant_is_refused"])
def test_what_cannot_be_meant_is_refused(options, words):
    with pytest.raises(ingest.errors.IngestError, match=words.replace("(", r"\(")):
        ingest.train(**{**RUN, **options})


def test_the_batch_of_a_run_is_the_median_of_published_ones_over_the_root_of_their_tokens():
    path = shipped_folder() / "published/run-batches.yaml"
    runs = [(case["published"], case["given"]["training_tokens"]) for case in read_yaml(path)["cases"]]
    batches = [parse(batch, "token", "") / (parse(tokens, "token", "") / 1e12) ** 0.5 for batch, tokens in runs]
    tenths = statistics.quantiles(batches, n=10, method="inclusive")
    assert solve("batch_of_trillion", {}) == pytest.approx(tenths[4], rel=0.01)
    assert pytest.approx([tenths[0] / tenths[4], tenths[8] / tenths[4]], rel=0.02) == [*BATCH_ENDS]


@given(
    st.sampled_from(["llama3-8b", "llama3-70b", "deepseek-v3", "gpt3-175b", "qwen3-30b-a3b", "gpt-oss-20b", "mixtral-8x22b"]),
    st.sampled_from(["h100", "b200", "a100", "h800-pcie", "mi300x"]),
    st.integers(1, 2048),
    st.sampled_from([1024, 2048, 4096, 8192]),
)
@example("deepseek-v4-flash", "h100", 128, 4096)  # published rates of interrupts fall from 1,024 to 3,135 GPUs
@example("deepseek-v3", "h200", 1, 4096)  # copies of large states from few GPUs
@example("deepseek-v3", "b200", 455, 4096)  # a benchmark beside runs on other GPUs
@example("deepseek-v3", "a100", 32, 2048)  # lengths beside that of the runs
def test_hours_memory_and_reads_never_fall_as_a_run_grows(model, gpu, nodes, length):
    """With its nodes, tokens, sequence, batch or bytes; twice the tokens take twice the hours, a larger batch never more."""

    def hours(batch=4e6, name="gpu_hours", **more):
        run = {"gpus": 8 * nodes, "tokens": 1e12, "sequence_length": length, **more}
        run["set"] = {**({"run_batch_tokens": batch} if batch else {}), **more.get("set", {})}
        return ingest.train(model, gpu, **run).results[name].value

    def held(**more):
        asked = {"gpus": 8 * nodes, "sequence_length": length, "micro_batch": 1, **more}
        return ingest.memory(model, gpu=gpu, **asked).results["total_bytes_per_gpu"].value

    assert hours(tokens=2e12) == pytest.approx(2 * hours(), rel=1e-9)
    copied, repeated = (hours(name=name) for name in ("checkpoint_stall_fraction", "lost_work_overhead"))
    left = 1 - copied / 2 if copied > repeated else 1  # of few nodes, each GPU copies much of the states each hour
    assert left * hours() <= min(hours(gpus=16 * nodes), hours(gpus=8 * nodes + 8)) * (1 + 1e-9)
    sizes = [ingest.train(model, gpu, gpus=times * 8 * nodes, tokens=1e12, mode="sync").results for times in (1, 2)]
    mean, mean_of_more = (size["job_mean_time_to_interrupt"] for size in sizes)
    assert min(mean.low - mean_of_more.low, mean.high - mean_of_more.high) >= 0
    assert sizes[1]["goodput"].low > 0
    assert sizes[1]["goodput"].low > 0
    assert hours() <= hours(sequence_length=2 * length) * (1 + 1e-9)
    assert hours(None) <= hours(None, tokens=2e12) <= 2 * hours(None) * (1 + 1e-9)
    assert hours(4e9) <= hours() * (1 + 1e-9)
    one, two = (hours(gpus=times * 8 * nodes, set={"goodput": 0.9}) for times in (1, 2))
    assert one <= two <= 2 * one * (1 + 1e-9)
    assert held() <= min(held(sequence_length=2 * length), held(micro_batch=2))
    reads = [ingest.bw(model=model, gpu=gpu, nodes=nodes, bytes_per_token=size) for size in (2, 4.5)]
    assert reads[0].results["ingest_bandwidth_per_job"].value <= reads[1].results["ingest_bandwidth_per_job"].value


def test_hours_at_thousands_of_gpus_are_those_of_a_run_and_not_of_a_benchmark():
    # 1.3M GPU-hours are published; the batch of the benchmark, 128 sequences in 8,192 pieces, takes 8M.
    run = {"gpu": "h100", "gpus": 8192, "tokens": "15T"}
    usual, own = (ingest.train("llama3-8b", **run, set=given) for given in ({}, {"run_batch_tokens": "1M"}))
    assert 0.65e6 < usual.results["gpu_hours"].value < 2.6e6 < 4e6 < own.results["gpu_hours"].value
    assert ["(run_batch_tokens)" in " ".join(one.warnings) for one in (usual, own)] == [True, False]


@pytest.mark.parametrize(
    ("model", "gpu", "told"),
    [("llama3-8b", "h100", True), ("llama3-70b", "b200", True), ("llama3-8b", "a100", False), ("resnet50", "h100", False)],
)
def test_a_budget_covers_bf16_where_nobody_states_fewer_bits(model, gpu, told):
    length = {"samples": "100M"} if model == "resnet50" else {"tokens": "1T"}
    usual, wide = (ingest.train(model, gpu=gpu, gpus=256, **length, precision=one) for one in (None, "bf16"))
    for name in ("gpu_hours", "training_seconds"):
        assert usual.results[name].low <= wide.results[name].value <= usual.results[name].high
    said = [line for line in usual.warnings if line.rule == "W05"]
    assert bool(said) is told
    assert not told or f"{wide.results['gpu_hours'].value:,.0f} GPU-hours" in said[0]
    assert (f" {wide.results['training_seconds'].display} in bf16" in answer_line(usual)) is told
    assert "W05" not in [line.rule for line in wide.warnings]


@pytest.mark.parametrize(("gpu", "seconds"), [("gb300", 304), ("b200", 447), ("gb200", 459), ("b300", 403), ("mi355x", 425)])
def test_a_run_in_two_phases_takes_the_mean_of_its_steps_and_reads_at_the_rate_of_the_fast_ones(gpu, seconds):
    # The steps of the logs, whose last 44 of 384 compute in FP8: 192 × 0.743 s, 144 × 0.746 s, 48 × 1.119 s on GB300 in v5.1.
    run = ingest.train("llama2-70b-lora", gpu, gpus=8, samples=3072, set={"goodput": 1})
    fast = ingest.bw(model="llama2-70b-lora", gpu=gpu, nodes=8, gpus_per_node=1).results["samples_per_second_per_gpu"].value
    assert run.results["training_seconds"].value == pytest.approx(seconds, rel=0.04)
    assert 0.85 < run.results["samples_per_second_per_gpu"].value / fast < 0.97
    assert [line.rule for line in run.warnings].count("W123") == 1
    given = ingest.train("llama2-70b-lora", gpu, gpus=8, samples=3072, samples_per_second=fast)
    assert given.results["samples_per_second_per_gpu"].value == fast
    assert "W123" not in [line.rule for line in given.warnings]


def test_a_run_that_trains_adapters_computes_two_thirds():
    run = {"gpu": "h100", "gpus": 8, "tokens": "1B", "precision": "bf16", "set": {"goodput": 0.9}}

    def rate(model, **options):
        found = ingest.train(model, **{**run, **options}).results
        return found["tokens_per_second_per_gpu"].value, found["implied_flops_utilization"].value

    for model in ("llama3-8b", "llama3-70b", "qwen2.5-7b"):
        whole, share = rate(model)
        adapted, alike = rate(model, optimizer="lora")
        assert adapted / whole == pytest.approx(1.5, rel=0.01)
        assert alike == pytest.approx(share)
        # A reference model passes forward, another third of the work of training all.
        assert whole / rate(model, algorithm="dpo")[0] == pytest.approx(4 / 3, rel=0.01)
        assert adapted / rate(model, algorithm="dpo", optimizer="lora")[0] == pytest.approx(3 / 2, rel=0.01)
    # A sample is then a pair of sequences; tokens are those of both.
    for name, length in (("llama3-8b", 8192), ("qwen3-8b", 2048)):
        asked = {**run, "tokens": None, "algorithm": "dpo", "sequence_length": length}
        pairs, both = (ingest.train(name, **asked | one) for one in ({"samples": 6e4}, {"tokens": 12e4 * length}))
        assert pairs.results["gpu_hours"].value == pytest.approx(both.results["gpu_hours"].value)
    assert "DPO" in pairs.title
    assert {"sequences_per_example", "frozen_models"} <= {one["name"] for one in pairs.assumptions}
    # The work of a model that is such a run is its own, and so is a rate that is given.
    assert rate("llama3-70b-lora") == pytest.approx(rate("llama3-70b-lora", optimizer="lora"))
    assert rate("llama3-8b", optimizer="lora", samples_per_second=2)[0] == 2 * 8192
    # Libraries compute adapters in bf16, which is the default where no such run in fewer bits is published.
    assert rate("llama3-8b", optimizer="lora", precision=None) == rate("llama3-8b", optimizer="lora")
    assert rate("llama3-70b-lora", precision=None) > rate("llama3-70b-lora")
    titles = [ingest.memory("llama3-8b", gpu="h100", recipe=one).title for one in ("qlora", "zero-16")]
    assert ["computed in fp8" in title for title in titles] == [False, True]
