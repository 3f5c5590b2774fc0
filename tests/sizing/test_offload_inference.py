"""`ingest offload --inference`: tiers, rates and bandwidth, recomputed by plain arithmetic."""

import random

import pytest
from conftest import offloaded as results

import ingest
from ingest.engine.messages import rule_of

#: Llama-3-70B: 70,553,706,496 parameters, 80 layers, 8 key-value heads of 128
WEIGHTS, PER_TOKEN = 70_553_706_496, 2 * 80 * 8 * 128 * 2
#: one H200 with drives, link and GPU of round numbers
ROUND = {"nvme_read_bandwidth_per_node": 40e9, "nvme_write_bandwidth_per_node": 20e9, "nvme_delivery": 1,
         "streaming_efficiency": 0.8, "host_link_bandwidth_per_gpu": 80e9, "host_uplink_bandwidth_per_node": 512e9,
         "host_link_delivery": 0.5, "achieved_flops_per_gpu": 400e12, "memory_bandwidth_per_gpu": 4e12}  # fmt: skip
LLAMA = {"model": "llama3-70b", "inference": True, "gpu": "h200", "gpus": 1, "batch": 96}


def test_seventy_billion_weights_from_drives():
    found = results(**LLAMA, parameters="nvme", kv="gpu", set=ROUND)
    cache = PER_TOKEN * 544 * 96
    decode = max(2 * WEIGHTS / (40e9 * 0.8), 2 * WEIGHTS / 40e9)
    prefill = max(2 * WEIGHTS * 512 * 96 / 400e12, decode)
    assert found["kv_cache_bytes"] == cache
    assert found["decode_step_seconds"] == pytest.approx(decode)
    assert found["prefill_seconds"] == pytest.approx(prefill)
    assert found["tokens_per_second"] == pytest.approx(96 * 32 / (prefill + 31 * decode))
    assert found["tokens_per_second_bound"] == pytest.approx(96 / (2 * WEIGHTS / 40e9))
    assert found["offload_read_bandwidth_per_node"] == pytest.approx(40e9)


def test_caches_and_links_by_hand():
    # A cache on drives is written once and read in each step.
    found = results(**LLAMA, parameters="nvme", kv="nvme", set=ROUND)
    cache = PER_TOKEN * 544 * 96
    assert found["decode_step_seconds"] == pytest.approx((2 * WEIGHTS + cache) / 32e9)
    prompts = 2 * WEIGHTS * 512 * 96 / 400e12
    assert found["prefill_seconds"] == pytest.approx(max((2 * WEIGHTS / 40e9 + cache / 20e9) / 0.8, prompts))
    assert found["offload_write_bandwidth_per_node"] == pytest.approx(cache / prompts)
    # Amdahl: PCIe 3 to 4 doubles the link; 1.4 times the rate means that it took 57 % of the time.
    slow, fast = (results(**LLAMA, parameters="cpu", kv="gpu", set={**ROUND, "host_link_bandwidth_per_gpu": link})
                  for link in (16e9, 32e9))  # fmt: skip
    other = 3 / 4 * slow["decode_step_seconds"]
    assert (slow["decode_step_seconds"] + other) / (fast["decode_step_seconds"] + other) == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("asked", "waiting"), [({"batch": 500}, True), ({"batch": 41}, False), ({"batch": 500, "kv": "nvme"}, False)]
)
def test_weights_stay_where_the_cache_leaves_the_gpu_and_sequences_may_wait(asked, waiting):
    """Eight H200 of 141 GB, nine tenths filled: 874 GB hold the weights and the caches of 69 sequences of 10.5 GB."""
    answer = ingest.offload("llama3-70b", gpu="h200", gpus=8, inference=True, prompt=32_000, **asked)
    assert ("W128" in map(rule_of, answer.warnings)) == waiting
    rows = {row["class"]: row for row in answer.tables["placement"]}
    assert rows["weights"]["on_gpu"] == 2 * WEIGHTS
    if waiting:
        count = answer.known.value("resident_sequences")
        room, each = answer.known.value("gpu_room_bytes") - 2 * WEIGHTS, 32_032 * PER_TOKEN
        assert count * each <= room < (count + 1) * each
        batch = results(model="llama3-70b", gpu="h200", gpus=8, inference=True, prompt=32_000, batch=count)
        assert f"gives {batch['tokens_per_second']:.4g} tokens/s" in str(answer.warnings)


@pytest.mark.parametrize(("bits", "width"), [(16, 2), (8, 1.0625), (4, 0.5625)])
def test_quantized_weights_carry_scales(bits, width):
    assert results(**LLAMA, weight_bits=bits)["held_weights_bytes"] == pytest.approx(width * WEIGHTS)


@pytest.mark.parametrize(
    ("model", "weights"),
    [("deepseek-v3", 671.0e9), ("gpt-oss-120b", 65.25e9), ("kimi-k2-thinking", 594e9), ("llama3-8b", 16.06e9)],
)
def test_a_server_holds_a_release_at_its_own_width(model, weights):
    """Bytes of the files of the releases, whose embeddings keep 16 bits."""
    found, full = (ingest.offload(model, gpu="h200", inference=True, **more) for more in ({}, {"weight_bits": 16}))
    assert found.results["held_weights_bytes"].value == pytest.approx(weights, rel=0.03)
    assert full.results["held_weights_bytes"].value >= found.results["held_weights_bytes"].value
    assert not {"W92", "W131"} & {*map(rule_of, found.warnings)}


def test_windows_tiers_and_drives():
    # Mistral 7B: 32 layers, 8 key-value heads of 128; 131,072 B per token, no window in its second edition.
    known = {"model": "mistral-7b", "inference": True, "gpu": "h100", "gpus": 1, "generate": 88}
    window = 4096
    assert results(**known, prompt=1000)["kv_cache_bytes"] == 131_072 * 1088
    assert results(**known, prompt=8000)["kv_cache_bytes"] == 131_072 * min(8088, window)
    draw = random.Random(7)
    for _ in range(40):
        job = {"model": draw.choice(["llama3-70b", "bloom-176b", "opt-30b"]), "gpus": draw.choice([1, 8, 16])}
        where = {"parameters": draw.choice([None, "gpu", "cpu", "nvme", "storage"]), "kv": draw.choice([None, "cpu", "nvme"])}
        found = results(**job, **where, inference=True, node="dgx-a100-40", batch=draw.choice([1, 64, 2048]))
        tiers = sum(found[f"{tier}_tier_bytes"] for tier in ("gpu", "cpu", "nvme", "storage"))
        assert tiers == pytest.approx(found["held_weights_bytes"] + found["kv_cache_bytes"], rel=1e-12)
    rates = [results(**LLAMA, parameters="nvme", set={**ROUND, "nvme_read_bandwidth_per_node": speed})["tokens_per_second"]
             for speed in (5e9, 10e9, 20e9, 40e9, 80e9)]  # fmt: skip
    assert rates == sorted(rates)
    assert rates[0] < rates[-1]


#: Qwen3-30B-A3B: 48 layers of 128 experts of 3 matrices of 2,048 × 768, of which a token visits 8
EXPERTS, OF_QWEN = 48 * 128 * 3 * 2048 * 768, 30_532_122_624


@pytest.mark.parametrize(("tokens", "told"), [(4096, 0), (4097, 1)])
def test_a_cache_that_ends_at_a_window_says_so(tokens, told):
    """Mistral 7B had a window of 4,096 tokens in its first version alone."""
    asked = {"inference": True, "gpu": "h200", "gpus": 1, "batch": 1, "generate": 1}
    first, later = (ingest.offload(name, prompt=tokens - 1, **asked) for name in ("mistral-7b", "mistral-7b-v0.3"))
    assert [rule_of(line) for line in first.warnings].count("W121") == told
    assert "W121" not in [rule_of(line) for line in later.warnings]
    assert later.results["kv_cache_bytes"].value == tokens * 131_072


@pytest.mark.parametrize("batch", [1, 4, 64])
def test_a_decode_step_reads_the_experts_that_its_tokens_visit(batch):
    known = {"model": "qwen3-30b-a3b", "inference": True, "gpu": "h200", "gpus": 1, "batch": batch, "parameters": "nvme",
             "kv": "gpu"}  # fmt: skip
    found = ingest.offload(**known, set=ROUND).results
    visited = 1 - (1 - 8 / 128) ** batch
    read = 2 * (OF_QWEN - EXPERTS * (1 - visited))
    assert found["decode_step_seconds"].value == pytest.approx(max(read / 32e9, read / 40e9))
    assert found["decode_step_seconds"].high == pytest.approx(2 * OF_QWEN / 32e9)
    alone = results(**known, set={**ROUND, "expert_read_excess": 1})
    assert alone["decode_step_seconds"] == pytest.approx(2 * OF_QWEN / 32e9)
    assert alone["prefill_seconds"] == pytest.approx(max(2 * OF_QWEN / 32e9, found["prefill_seconds"].value))


@pytest.mark.parametrize(("share", "told"), [(0.9901, False), (0.9899, True)])
def test_an_estimate_of_the_routing_is_told(share, told):
    known = {"model": "qwen3-30b-a3b", "inference": True, "gpu": "h200", "gpus": 1, "batch": 8}
    lines = ingest.offload(**known, set={"decode_weights_share": share}).warnings
    assert any("reads 99 % of the weights" in line for line in lines) is told
    assert not any("of the weights" in line for line in ingest.offload(**known, set={"expert_read_excess": 0.5}).warnings)


def test_what_slows_or_endangers_is_told():
    def told(**options):
        return [line for line in ingest.offload("llama3-70b", inference=True, **options).warnings if "exchanges" in line]

    (line,) = told(gpu="h200", gpus=2, kv="gpu", parameters="gpu")
    assert "the 160 exchanges" in line
    assert not told(gpu="h200", gpus=1, kv="gpu", parameters="gpu")
    assert not told(node="dgx-h200", gpus=2, kv="gpu", parameters="cpu")

    def told(memory):
        known = {**ROUND, "host_memory_per_node": memory}
        lines = ingest.offload(**LLAMA, parameters="cpu", kv="gpu", weight_bits=4, set=known).warnings
        return any("staged on the host" in line for line in lines)

    assert told(2 * WEIGHTS * 0.999)
    assert not told(2 * WEIGHTS * 1.001)


@pytest.mark.parametrize(
    ("stated", "width"),
    [({}, 4), ({"mamba_ssm_cache_dtype": "float32"}, 4), ({"mamba_ssm_dtype": "bfloat16"}, 2),
     ({"mamba_ssm_cache_dtype": "torch.float16"}, 2), ({"mamba_ssm_cache_dtype": "auto"}, 4)],
)  # fmt: skip
def test_a_recurrent_state_has_the_width_that_its_config_states(stated, width, config_file):
    made = {"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*", "hidden_size": 4096, "vocab_size": 131_072,
            "num_attention_heads": 32, "num_hidden_layers": 4, **stated}  # fmt: skip
    found = ingest.offload(config_file(made), inference=True, node="dgx-h200", kv="gpu", parameters="gpu")
    state = 2 * (128 * 64 * 128 + 3 * (128 * 64 + 2 * 8 * 128))
    assert found.results["kv_cache_bytes"].value == 2 * 544 * 2 * 8 * 128 + state * width
    assert (found.results["kv_cache_bytes"].low is None) == bool(stated and "auto" not in stated.values())


def test_what_is_not_known_is_named(run):
    ran = run("offload", "bloom-176b", "--inference", "--gpu", "a6000", "--gpus", 1)
    assert ran.code == 1
    assert "host memory of a node is not known; set --node or --set host_memory_per_node" in ran.refusal
    ran = run("offload", "llama3-70b", "--inference", "--parameters", "storage", "--format", "json")
    assert ran.code == 0
    assert "shared storage is not known" in ran.data["unknown"]["tokens_per_second"]
