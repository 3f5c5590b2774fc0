"""`ingest offload`: placement, traffic, step time and bandwidth, recomputed by plain arithmetic."""

import random

import pytest
from conftest import offloaded as results
from conftest import table

import ingest
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import UsageError
from ingest.sizing.offload import CLASSES, TIERS, placed

#: 128 layers of width 25,600 on a DGX-2 whose drives and CPUs have round numbers
TRILLION = {"layers": 128, "hidden_size": 25_600, "attention_heads": 256, "memory_utilization": 1, "tier_utilization": 1,
            "nvme_read_bandwidth_per_node": 20e9, "nvme_write_bandwidth_per_node": 10e9, "nvme_delivery": 1,
            "host_link_delivery": 1, "host_optimizer_rate_per_node": 4e9, "achieved_flops_per_gpu": 50e12}  # fmt: skip
ON_DRIVES = {"parameters": "nvme", "gradients": "nvme", "optimizer_states": "nvme", "activations": "cpu"}
PARAMETERS = 12 * 128 * 25_600**2


def test_a_trillion_parameters_on_the_drives_of_one_node():
    found = results(set=TRILLION, node="dgx-2", batch=2, **ON_DRIVES)
    compute = 8 * PARAMETERS * 2 * 16 * 1024 / (16 * 50e12)
    passes = 3 * 2 * PARAMETERS / 20e9 + 4 * PARAMETERS / 10e9
    update = (4 + 12) * PARAMETERS / 20e9 + (12 + 2) * PARAMETERS / 10e9
    assert found["step_compute_seconds"] == pytest.approx(compute)
    assert found["pass_transfer_seconds"] == pytest.approx(passes)
    assert found["update_seconds"] == pytest.approx(update)
    assert found["step_seconds"] == pytest.approx(max(compute, passes) + update)
    assert found["step_seconds_serial"] == pytest.approx(compute + passes + update)
    assert found["offload_efficiency"] == pytest.approx(compute / (max(compute, passes) + update))
    assert found["nvme_tier_bytes"] == pytest.approx(20 * PARAMETERS)
    assert found["offload_bytes_per_node"] == pytest.approx(20 * PARAMETERS + 2 * 32 * 1024 * 25_600 * 128)
    written = 18 * PARAMETERS / found["step_seconds"] * 86_400
    assert found["nvme_bytes_written_per_day"] == pytest.approx(written)
    assert found["nvme_writes_per_day"] == pytest.approx(written / 30.7e12)
    in_the_passes, in_the_update = 6 * PARAMETERS / compute, 16 * PARAMETERS / (compute / 0.9 - compute)
    assert found["drive_tier_read_bandwidth_per_node"] == pytest.approx(max(in_the_passes, in_the_update))


def test_measured_bandwidth_is_not_discounted_again():
    """A DGX-2 reads 25.6 GB/s of NVMe and copies 48 GB/s with all GPUs; four of its GPUs share nothing."""
    sizes = {"layers": 128, "hidden_size": 25_600, "attention_heads": 256}
    found = results(set=sizes, node="dgx-2", batch=2, **ON_DRIVES)
    drives = (6 * PARAMETERS / 25.6e9 + 4 * PARAMETERS / 12.8e9, 16 * PARAMETERS / 25.6e9 + 14 * PARAMETERS / 12.8e9)
    assert (found["pass_transfer_seconds"], found["update_seconds"]) == pytest.approx(drives)
    assert found["offload_flops_per_gpu"] == pytest.approx(
        8 * PARAMETERS * 2 * 16 * 1024 / 16 / found["step_seconds"], rel=1e-6
    )
    hosts = {"parameters": "cpu", "gradients": "gpu", "optimizer_states": "gpu", "activations": "gpu"}
    small = {"layers": 10, "hidden_size": 4096, "attention_heads": 32}
    for gpus, copied in ((16, 48e9), (4, 4 * 15.75e9 * 0.5)):
        moved = 3 * 2 * 12 * 10 * 4096**2
        assert results(set=small, node="dgx-2", gpus=gpus, **hosts)["pass_transfer_seconds"] == pytest.approx(moved / copied)


@pytest.mark.parametrize(("layers", "held"), [(65, True), (75, False)])
def test_thirteen_billion_parameters_train_on_one_v100(layers, held):
    """ZeRO-Offload: weights of 2 B on the GPU of 32 GB, all else on the host; 15 billion do not fit."""
    known = {"layers": layers, "hidden_size": 4096, "attention_heads": 32}
    answer = ingest.offload(set=known, node="dgx-2", gpus=1, recipe="zero-16", parameters="gpu", gradients="cpu",
                            optimizer_states="cpu", activations="gpu")  # fmt: skip
    assert bool(answer.unmet) is not held


def test_stored_activations_cost_memory_and_save_a_forward_pass():
    found = {kept: results(set=TRILLION, node="dgx-2", **ON_DRIVES, no_recompute=kept) for kept in (False, True)}
    tokens = 16 * 1024
    kept = 2 * tokens * 128 * (16 * 25_600 + 2 * 256 * 1024)
    assert found[True]["offload_total_bytes"] == pytest.approx(20 * PARAMETERS + kept)
    assert found[False]["offload_total_bytes"] == pytest.approx(20 * PARAMETERS + 2 * tokens * 25_600 * 128)
    assert found[True]["step_compute_seconds"] == pytest.approx(0.75 * found[False]["step_compute_seconds"])
    assert found[True]["pass_transfer_seconds"] == pytest.approx(2 * 2 * PARAMETERS / 20e9 + 4 * PARAMETERS / 10e9)
    assert found[True]["offload_working_bytes_per_gpu"] == 16 * 25_600**2 + 2 * 1024 * (16 * 25_600 + 2 * 256 * 1024)


@pytest.mark.parametrize("no_overlap", [False, True])
def test_the_bandwidth_found_reaches_the_efficiency_wanted(no_overlap):
    """With the optimizer alone on drives whose reads and writes do not share, the inverse is exact."""
    where = {"parameters": "gpu", "gradients": "cpu", "optimizer_states": "nvme", "activations": "gpu"}
    known = {**TRILLION, "host_optimizer_rate_per_node": 1e15, "host_link_bandwidth_per_gpu": 1e15,
             "host_uplink_bandwidth_per_node": 1e16, "nvme_write_bandwidth_per_node": 1e18}  # fmt: skip
    need = results(set=known, node="dgx-2", **where, no_overlap=no_overlap)["drive_tier_read_bandwidth_per_node"]
    known["nvme_read_bandwidth_per_node"] = need
    assert results(set=known, node="dgx-2", **where, no_overlap=no_overlap)["offload_efficiency"] == pytest.approx(
        0.9, rel=1e-5
    )


def test_ten_thousand_placements_conserve_bytes():
    draw = random.Random(20)
    for _ in range(10_000):
        size = {name: draw.choice([0.1, 1, 10]) * draw.random() for name in CLASSES}
        room = {tier: draw.choice([0.0, 1, 10]) * draw.random() for tier in TIERS[:-1]}
        asked = {name: draw.choice(["fill", "fill", *TIERS]) for name in CLASSES}
        given = {f"held_{name}_bytes": Input(size[name]) for name in CLASSES}
        parts = placed(Quantities({**given, **{f"{tier}_room_bytes": Input(room[tier]) for tier in room}}), asked)
        for name, part in parts.items():
            assert sum(part.shares.values()) == pytest.approx(1)
            assert asked[name] == "fill" or part.shares == {asked[name]: 1}
        for tier in room:
            held = sum(size[name] * part.shares.get(tier, 0) for name, part in parts.items() if asked[name] == "fill")
            fixed = sum(size[name] for name in CLASSES if asked[name] == tier)
            assert held <= max(room[tier] - fixed, 0) + 1e-12


def test_tiers_add_up_and_drives_are_named():
    for options in ({}, {"parameters": "cpu"}, {"optimizer_states": "nvme"}, {"gradients": "storage", "gpus": 16}):
        found = results(model="llama3-70b", gpu="h100", **options)
        assert sum(found[f"{tier}_tier_bytes"] for tier in TIERS) == pytest.approx(found["offload_total_bytes"], rel=1e-12)
    found = ingest.offload("llama3-70b", inference=True, node="dgx-h200", parameters="nvme").to_dict()
    assert [one["why"] for one in found["assumptions"] if one["name"] == "nvme_read_bandwidth_per_node"] == [
        "the 8 NVMe drives of a DGX H200; set --storage or --units"
    ]


@pytest.mark.parametrize(("writes", "told"), [(2.99, False), (3.01, True)])
def test_wear_is_warned_of_above_three_writes_per_day(writes, told):
    known = {**TRILLION, "nvme_writes_per_day": writes}
    lines = ingest.offload(set=known, node="dgx-2", **ON_DRIVES).warnings
    assert any("times per day" in line for line in lines) is told


def test_a_tier_without_room_or_rate(run):
    ran = run("offload", "llama3-405b", "--gpus", 8, "--optimizer-states", "cpu", "--gradients", "nvme")
    assert ran.code == 3
    assert "host memory must hold" in ran.err
    ran = run("offload", "llama3-70b", "--batch", 64, "--sequence-length", 8192)
    assert ran.code == 3
    assert "working memory takes" in ran.err
    ran = run("offload", "llama3-70b", "--parameters", "storage", "--format", "json")
    assert ran.code == 0
    assert set(ran.data["unknown"]) == {"step_seconds", "offload_efficiency", "offload_flops_per_gpu"}
    assert "bandwidth is not known" in ran.err


def test_names_of_models_lead_to_their_structure(run):
    for alias, name in (("Llama-3-70B", "llama3-70b"), ("bloom", "bloom-176b")):
        for command, options in (("offload", {"inference": True, "gpu": "h100"}), ("checkpoint", {"gpus": 64}), ("memory", {})):
            answer, same = (getattr(ingest, command)(one, **options) for one in (alias, name))
            assert {key: item.value for key, item in answer.results.items()} == {
                k: item.value for k, item in same.results.items()
            }
    ran = run("offload", "--set", "parameters=1e12")
    assert ran.code == 1
    assert "layers" in ran.refusal


#: 13B on four A100 of one node, as in the logs of Deep Optimizer States
THIRTEEN = {
    "set": {"layers": 40, "hidden_size": 5120, "attention_heads": 40}, "node": "polaris", "sequence_length": 2048,
    "recipe": "zero-16", "parameters": "gpu", "gradients": "cpu", "optimizer_states": "cpu", "activations": "gpu",
}  # fmt: skip
#: measured: seconds of the optimizer step by k
MEASURED = {2: 2.595, 3: 2.673, 4: 2.818, 6: 2.903, 8: 2.912, 10: 2.990}


def test_interleaving_orders_and_conserves():
    steps = {every: results(**THIRTEEN, optimizer_on_gpu=f"every={every}")["update_seconds"] for every in MEASURED}
    assert sorted(steps, key=steps.__getitem__) == sorted(MEASURED, key=MEASURED.__getitem__)
    assert results(**THIRTEEN, optimizer_on_gpu="auto")["interleave_every"] == 2
    parameters = 12 * 40 * 5120**2
    assert steps[4] == pytest.approx(parameters / 4 * 3 / (204.8e9 * 0.49 / 30))
    assert results(**THIRTEEN)["update_seconds"] == pytest.approx(parameters / (204.8e9 * 0.49 / 30))
    # Flush and interleaving together are faster than neither.
    plain = results(**THIRTEEN, no_overlap=True)["step_seconds"]
    found = results(**THIRTEEN, optimizer_on_gpu="auto")
    assert found["interleaving_speedup"] == pytest.approx(plain / found["step_seconds"])
    found = results(**THIRTEEN, optimizer_on_gpu="every=4")
    assert found["interleaved_up_bytes"] == pytest.approx(parameters * (12 + 3 * 2) / 4)
    assert found["interleaved_down_bytes"] == pytest.approx(parameters * 12 / 4)


def test_the_slowest_part_of_a_step_is_named_as_soon_as_it_exceeds_what_the_target_leaves():
    """60 TB of updates a step over 4e9 parameters a second: 252 s; the compute of a step leaves (1/t - 1) of itself."""
    found = ingest.offload(set=TRILLION, node="dgx-2", batch=2, optimizer_states="cpu", parameters="cpu",
                           gradients="cpu", activations="gpu", target=0.9)  # fmt: skip
    compute, update = (found.results[name].value for name in ("step_compute_seconds", "update_seconds"))
    assert found.results["step_seconds"].value == compute + update
    assert [row["off_gpu"] for row in found.tables["traffic"]] == [1, 1, 1, 0]
    for target, told in ((compute / (compute + update) * 1.001, True), (compute / (compute + update) * 0.999, False)):
        lines = ingest.offload(set=TRILLION, node="dgx-2", batch=2, optimizer_states="cpu", parameters="cpu",
                               gradients="cpu", activations="gpu", target=target).warnings  # fmt: skip
        assert any("of it the optimizer on the CPUs" in line for line in lines) == told


def test_reads_beyond_the_storage_nics_are_told_with_the_step_that_follows():
    options = {"node": "dgx-h100", "optimizer_states": "storage", "sequence_length": 4096, "batch": 4}
    answer = ingest.offload("llama3-70b", **options)
    needed = answer.results["drive_tier_read_bandwidth_per_node"].value
    assert needed > 80e9
    (line,) = [one for one in answer.warnings if "storage NICs" in one]
    # The gradients lie elsewhere: 12 B of states per parameter come over the NICs.
    least = answer.results["step_compute_seconds"].value + 12 * 70_553_706_496 / 80e9
    assert f"at least {least:.4g} s" in line
    for nics, told in ((needed * 0.999, True), (needed * 1.001, False)):
        lines = ingest.offload("llama3-70b", **options, set={"storage_nic_bandwidth_per_node": nics}).warnings
        assert any("storage NICs" in one for one in lines) == told


@pytest.mark.parametrize(("options", "said"), table("sizing/refused.yaml")["what_nothing_is_released_in_is_refused"])
def test_what_nothing_is_released_in_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        ingest.offload("llama3-70b", **options)
