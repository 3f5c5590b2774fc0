"""Constants that decide what is warned of, what fits, and what is assumed: just below each and just above it."""

from pathlib import Path

import pytest

import ingest
from ingest.errors import IngestError
from ingest.loader import feed
from ingest.sizing import checkpoint_schedule, goodput, memory_inputs, offload, offload_serving, offload_tiers, train
from ingest.sizing.checkpoint_schedule import interval_course
from ingest.units import parse


def warned(words, **options):
    return any(words in line for line in ingest.bw(gpu="h100", node="dgx-h100", **options).warnings)


@pytest.mark.parametrize(("share", "negligible"), [(0.0099, True), (0.0101, False), (0.3, False)])
def test_reading_tokens_is_negligible_below_a_hundredth_of_the_nic(share, negligible):
    assert warned("reading tokens is negligible", model="llama3-70b", set={"storage_nic_share": share}) is negligible


@pytest.mark.parametrize(("rate", "beyond"), [("2.99 GB/s", False), ("3.01 GB/s", True)])
def test_reads_beyond_one_mount_are_warned_of(rate, beyond):
    """An NFS client over one TCP connection carries 3 GB/s."""
    given = {"ingest_bandwidth_per_node": rate}
    assert warned("one NFS/TCP mount per node", model="cosmoflow", set=given) is beyond


@pytest.mark.parametrize(("rate", "above"), [(0.99, False), (1.01, True)])
def test_a_rate_above_the_dense_peak_is_warned_of(rate, above):
    peak = ingest.bw(model="resnet50", gpu="h100", basis="peak").results["samples_per_second_per_gpu"].value
    found = ingest.bw(model="resnet50", gpu="h100", samples_per_second=rate * peak)
    assert any("exceeds the dense peak" in line for line in found.warnings) is above
    with pytest.raises(IngestError, match="sets the rate already"):
        ingest.bw(model="resnet50", gpu="h100", samples_per_second=rate * peak, basis="efficiency")


def test_strong_scaling_loses_nothing_up_to_16_gpus():
    job = {"model": "cosmoflow", "gpu": "h100", "gpus_per_node": 8, "scaling": "strong"}
    two, three = (ingest.bw(**job, nodes=nodes).given["scaling_efficiency"].value for nodes in (2, 3))
    assert (two, three < 1) == (1, True)


def spread(**options):
    rate = ingest.bw(basis="transferred", **options).results["samples_per_second_per_gpu"]
    return rate.low / rate.value, rate.high / rate.value


def test_a_transfer_across_vendors_has_the_wide_band():
    assert spread(model="cosmoflow", gpu="tpu-v4") == pytest.approx((0.4, 2.5))


def test_embedding_tables_without_nvlink_may_be_65_times_slower():
    low, _ = spread(model="dlrm-dcnv2", gpu="h100-pcie")
    assert low == pytest.approx(1 / 65)


def test_numbers_of_40_digits_are_read_and_longer_ones_are_slips():
    assert parse("1" * 40, "1", "x") == pytest.approx(1.1111e39, rel=1e-3)
    with pytest.raises(IngestError, match="x: found"):
        parse("1" * 41, "1", "x")


H100 = {"model": "llama3-70b", "gpu": "h100"}
#: Nodes whose host memory has no known bandwidth, with all states in that memory.
HOSTS = {"node": "grand-teton", "parameters": "cpu", "gradients": "cpu", "optimizer_states": "cpu"}


def test_cpus_of_an_unknown_host_update_as_fast_as_measured():
    """Deep Optimizer States (2024): the CPUs of one node of 4 GPUs update 12.58 billion parameters in 3.77 s."""
    answer = ingest.offload("llama3-8b", set={"parameters": 12.58e9}, **HOSTS)
    found = answer.results["update_seconds"]
    assert found.value == pytest.approx(3.77, rel=0.002)
    assert (found.value / found.low, found.value / found.high) == pytest.approx((4.6 / 3.34, 2 / 3.34))


@pytest.mark.parametrize(("share", "fits"), [(0.899, True), (0.901, False), (0.99, False)])
def test_working_memory_fills_at_most_nine_tenths_of_a_gpu(share, fits):
    offloaded = {**H100, "nodes": 4, "parameters": "cpu", "gradients": "cpu", "optimizer_states": "cpu", "activations": "cpu"}
    known = ingest.offload(**offloaded).known
    rest = share * known.value("memory_bytes_per_gpu") - known.value("offload_working_bytes_per_gpu")
    unmet = ingest.offload(set={"residual_bytes_per_gpu": rest}, **offloaded).unmet
    assert ("working memory takes" in unmet) is not fits
    assert bool(unmet) is not fits


def test_two_of_80_layers_are_on_the_gpu_while_weights_stream():
    known = ingest.offload(**H100, inference=True, parameters="nvme").known
    assert known.value("offload_working_bytes_per_gpu") == pytest.approx(known.value("held_weights_bytes") * 2 / 80, rel=1e-6)


def test_a_failed_node_is_repaired_within_a_day():
    def goodput(**options):
        return ingest.goodput("llama3-405b", gpu="h100", gpus=16384, runs=2, spares=4, **options).results["goodput"].value

    assert goodput() == goodput(repair_time="24 h") > goodput(repair_time="25 h")
    assert goodput() < goodput(repair_time="23 h")


@pytest.mark.parametrize(("gpus", "nodes"), [(8, 1), (16, 2), (17, 3), (20, 3), (24, 3)])
def test_a_run_takes_whole_nodes(gpus, nodes):
    assert ingest.train("llama3-8b", gpu="h100", tokens="1T", gpus=gpus).given["nodes"].value == nodes


def test_machines_draw_down_to_76_percent_of_the_power_that_their_makers_state():
    """Newkirk et al. (2025): training on nodes of 8 H100 draws 76 % to 82 % of it."""
    options = {"model": "llama3-8b", "node": "dgx-h100", "tokens": "1T", "gpus": 16}
    drawn = ingest.train(**options).results["power_drawn_per_gpu"]
    assert (drawn.value, drawn.low, drawn.high) == pytest.approx((10_200 / 8, 0.76 * 10_200 / 8, 10_200 / 8))
    known = ingest.train(**options, storage_power="20 kW").results["storage_power_share"].value
    assert known == pytest.approx(20_000 / (20_000 + 2 * 10_200))


@pytest.mark.parametrize("name", ["checkpoints", "sites", "choices", "runs", "numbers"])
def test_defaults_in_force_are_those_of_the_handbook(name, monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(str(docs))
    from default_tables import TABLES

    title = f"<!-- table: defaults-{name} -->"
    (page,) = [text for text in (path.read_text(encoding="utf-8") for path in docs.glob("*.md")) if title in text]
    printed = page.partition(title)[2].partition("<!-- end -->")[0]
    assert TABLES[f"defaults-{name}"]().strip() == printed.strip()


JOB = {"model": "llama3-8b", "gpu": "h100", "gpus": 8}
#: Command and options -> the defaults of its module, and what is assumed besides.
ASSUMED = [
    (ingest.feed, {"samples_per_second": 9, "sample_bytes": 1e5, "gpus_per_node": 8}, feed.DEFAULTS, {"samples_per_step": 32}),
    (ingest.goodput, {**JOB, "spares": 1}, goodput.DEFAULTS | checkpoint_schedule.DEFAULTS, {}),
    (ingest.offload, {**H100, "nodes": 2}, offload.DEFAULTS, {"flops_per_parameter_and_token": 8}),
    (ingest.offload, {**H100, "inference": True}, offload_tiers.DEFAULTS, {"weight_bits": 16}),
    (ingest.offload, {**H100, "inference": True, "users": 100}, offload_serving.DEFAULTS, {}),
    (ingest.memory, JOB, memory_inputs.DEFAULTS, {}),
    (ingest.train, {**JOB, "tokens": "1T"}, train.DEFAULTS, {}),
]


@pytest.mark.parametrize(("command", "options", "defaults", "others"), ASSUMED)
def test_what_nobody_gives_is_assumed(command, options, defaults, others):
    given = command(**options).known.given
    assert {name: given[name].value for name in others} == others
    assert {name: given[name][:3] for name in defaults} == {name: item[:3] for name, item in defaults.items()}


@pytest.mark.parametrize(
    ("stage", "offload", "held"),
    [(0, "none", 16), (1, "none", 4 + 12 / 8), (2, "none", 2 + 14 / 8), (3, "none", 16 / 8), (1, "cpu", 4), (2, "cpu", 2),
     (3, "cpu", 2 / 8), (3, "nvme", 0)],
)  # fmt: skip
def test_zero_stages_leave_weights_gradients_and_optimizer_states_on_a_gpu(stage, offload, held):
    """2 bytes of weights, 2 of gradients and 12 of optimizer states per parameter, over 8 GPUs (ZeRO, figure 1)."""
    found = ingest.memory("llama3-8b", gpu="h100", gpus=8, zero_stage=stage, offload=offload)
    assert found.results["model_state_bytes_per_gpu"].value == pytest.approx(held * found.known.value("parameters"))


def test_gpus_of_unknown_nodes_come_in_eights():
    known = ingest.checkpoint(set={"parameters": 405e9}, gpus=4096).known
    assert (known.value("tensor_parallel"), known.value("pipeline_parallel") > 1) == (8, True)


def test_the_course_of_an_interval_rises_from_an_eighth_to_eight_times_the_chosen_one():
    (chosen, *_), points, _ = interval_course(ingest.checkpoint("llama3-8b", gpus=64, gpu="h100").known, "async")
    intervals = [interval for interval, *_ in points]
    assert intervals == sorted(intervals)
    assert (intervals[0], intervals[-1], len(intervals)) == pytest.approx((chosen / 8, chosen * 8, 25))
