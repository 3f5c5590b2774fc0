"""`ingest offload --inference --users`: the key-value tier by plain arithmetic, and hits of traces by plain simulation."""

import json
import math
import random
from collections import OrderedDict

import pytest
from conftest import offloaded as results
from conftest import table

import ingest
from ingest.engine.messages import rule_of
from ingest.errors import IngestError
from ingest.reports.page import answer_line
from ingest.sizing.offload_serving import block_tokens, hits, stack_distances
from ingest.units import display

#: bytes per token of Llama-3-70B: 80 layers, keys and values, 8 heads of 128, 2 B
PER_TOKEN = 80 * 2 * 8 * 128 * 2
SESSIONS = {"model": "llama3-70b", "inference": True, "users": 1000, "turns": 8, "prompt": 1000, "generate": 500,
            "turn_time": 30, "gpu": "h100", "gpus": 32}  # fmt: skip


def test_users_turns_and_context_give_capacity_and_rates():
    found = results(**SESSIONS, hit=0.75, first_token_time=0.25)
    session, new, reused = 12_000 * PER_TOKEN, 1500 * PER_TOKEN, sum(range(8)) / 8 * 1500 * PER_TOKEN
    assert found["kv_tier_bytes"] == pytest.approx(1000 * session)
    assert found["kv_reused_bytes"] == pytest.approx(reused)
    assert found["kv_read_bandwidth"] == pytest.approx(1000 / 30 * 0.75 * reused)
    assert found["kv_write_bandwidth"] == pytest.approx(1000 / 30 * (new + 0.25 * reused))
    assert found["kv_read_bandwidth_per_node"] == pytest.approx(found["kv_read_bandwidth"] / 4)
    assert found["kv_burst_bandwidth"] == pytest.approx(1000 * 0.75 * reused / 0.25)
    blocks = -(-0.75 * reused // (256 * PER_TOKEN))
    assert found["kv_block_seconds"] == pytest.approx(0.25 / blocks)
    assert found["kv_writes_per_day"] == pytest.approx(found["kv_write_bandwidth"] * 86_400 / (1000 * session))


#: Options of SESSIONS, and the rules that they meet: 32 H100 compute 77,857 tokens/s, one PCIe 4 drive reads 3.01 GB/s.
SERVED = [
    ({"turns": 1}, {"W89", "W125"}),
    ({"turn_time": 10}, {"W125", "W126"}),
    ({"storage": "nvme-gen4", "units": 40}, {"W125"}),
    ({"storage": "nvme-gen4", "units": 40, "set": {"nvme_bytes_per_node": 300e12}}, set()),
    ({"storage": "nvme-gen4", "units": 1}, {"W125", "W127"}),
    ({"set": {"rated_writes_per_day": 361}}, set()),
    ({"storage": "qlc-p5336-122", "units": 16}, set()),
    ({"storage": "qlc-p5336-122", "units": 16, "set": {"rated_writes_per_day": 0.1}}, {"W125"}),
]


@pytest.mark.parametrize(("options", "rules"), SERVED)
def test_storage_gpus_and_reuse_are_held_against_the_load(options, rules):
    answer = ingest.offload(**{**SESSIONS, **options})
    assert {*map(rule_of, answer.warnings)} == rules
    found, per_day = {name: one.value for name, one in answer.results.items()}, 86_400 * 1000 / (options.get("turn_time") or 30)
    rate = 32 * answer.known.value("achieved_flops_per_gpu") / (2 * answer.known.value("parameters_active"))
    assert found["computed_tokens_per_second"] == pytest.approx(per_day / 86_400 * 1000)
    assert found["prefill_tokens_per_second"] == pytest.approx(rate)
    if options.get("turns") != 1:
        assert found["kv_gpus_spared"] == pytest.approx(per_day / 86_400 * 1500 * 3.5 / rate * 32)
    assert bool(answer.unmet) == (options.get("units") == 1)
    capacity = "kv_endurance_bytes" if "W125" in rules else "kv_tier_bytes"
    assert answer.unmet or display(found[capacity], "B", binary=False) in answer_line(answer)
    # The GPUs of the job compute 77,857 of the 100,000 tokens/s that the turns bring.
    assert (f"read on {math.ceil(32e5 / rate)} GPUs" in answer_line(answer)) == ("W126" in rules)
    if answer.unmet:
        drives = math.ceil(found["kv_peak_read_bandwidth"] / (4 * 7e9 * 0.43))
        assert f"at least {drives} drives in each node" in answer.unmet
        assert "reading is not faster than computing again on 32 × " in answer.title


def test_reuse_is_bounded_by_turns_and_window():
    for share in (0, 0.3, 1):
        found = results(**SESSIONS, hit=share)
        recomputed = found["kv_write_bandwidth"] - found["turn_rate"] * found["kv_new_bytes"]
        assert found["kv_read_bandwidth"] + recomputed == pytest.approx(found["turn_rate"] * found["kv_reused_bytes"])
    found = results(**{**SESSIONS, "turns": 1})
    assert found["kv_read_bandwidth"] == 0
    assert "kv_block_seconds" not in found
    # Mistral 7B, first edition: 131,072 B per token within a window of 4,096.
    found = results(model="mistral-7b", inference=True, users=1, turns=4, prompt=1500, generate=500, gpu="h100")
    assert found["kv_session_bytes"] == 131_072 * 4096
    assert found["kv_reused_bytes"] == 131_072 * (0 + 2000 + 4000 + 4096) / 4


def test_a_session_of_a_hybrid_model_keeps_the_state_of_its_recurrent_layers(config_file):
    """Nemotron-H: 2 of 6 layers attend, with 8 heads of 128; 2 keep 256 × 64 × 256 numbers and three inputs."""
    config = {"model_type": "nemotron_h", "hidden_size": 8192, "num_hidden_layers": 6, "hybrid_override_pattern": "M-M*-*",
              "num_attention_heads": 64, "num_key_value_heads": 8, "attention_head_dim": 128, "vocab_size": 131072,
              "intermediate_size": 32768, "mamba_num_heads": 256, "mamba_head_dim": 64, "ssm_state_size": 256, "n_groups": 8,
              "conv_kernel": 4}  # fmt: skip
    options = {"inference": True, "users": 10, "turns": 4, "prompt": 4000, "generate": 96, "gpu": "h100"}
    model = config_file(config)
    answer = ingest.offload(model, **options)
    state = 2 * (256 * 64 * 256 + 3 * (256 * 64 + 2 * 8 * 256)) * 4
    turn = 4096 * 2 * 2 * 8 * 128 * 2
    found = {name: one.value for name, one in answer.results.items()}
    assert found["kv_session_bytes"] == 4 * turn + state
    assert found["kv_new_bytes"] == turn + state
    assert found["kv_reused_bytes"] == turn * (0 + 1 + 2 + 3) / 4 + state * 3 / 4
    assert found["kv_block_bytes"] == turn / 4096 * 256
    low = {"set": {"bytes_per_recurrent_element": 2}}
    assert ingest.offload(model, **options, **low).results["kv_new_bytes"].value == turn + state / 2
    assert any("keeps a state for each of them" in str(line) for line in answer.warnings)
    assert "W99" not in map(rule_of, ingest.offload("mistral-7b-v0.3", **options).warnings)
    batch = ingest.offload(model, inference=True, batch=3, prompt=4000, generate=96, gpu="h100")
    assert batch.results["kv_cache_bytes"].value == 3 * (turn + state)


#: Config, and the numbers that its recurrent layers keep of a sequence: the shapes of the caches that transformers makes, whose
#: convolutions hold one input more than the next token needs.
STATES = {
    "mamba": (
        {"hidden_size": 64, "num_hidden_layers": 3, "state_size": 16, "conv_kernel": 4, "expand": 2},
        3 * (128 * 16 + 128 * 3),
    ),
    "mamba2": (
        {"hidden_size": 64, "num_hidden_layers": 3, "num_heads": 8, "head_dim": 16, "expand": 2, "state_size": 32,
         "n_groups": 2},
        3 * (8 * 16 * 32 + (128 + 2 * 2 * 32) * 3),
    ),
    "qwen3_next": (
        {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
         "linear_num_key_heads": 2, "linear_num_value_heads": 4,
         "linear_key_head_dim": 8, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4},
        3 * (4 * 8 * 16 + (2 * 2 * 8 + 4 * 16) * 3),
    ),
    "minimax": (
        {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16},
        2 * 4 * 16 * 16,
    ),
    "lfm2": (
        {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "conv_L_cache": 3,
         "layer_types": ["conv", "full_attention", "conv"]},
        2 * 64 * 2,
    ),
    "recurrent_gemma": (
        {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "lru_width": 80, "conv1d_width": 4},
        2 * (80 + 80 * 3),
    ),
    "rwkv": ({"hidden_size": 64, "num_hidden_layers": 3, "attention_hidden_size": 96}, 3 * (3 * 96 + 2 * 64)),
}  # fmt: skip


@pytest.mark.parametrize("family", STATES)
def test_a_recurrent_layer_keeps_what_its_class_allocates(family, config_file):
    config, kept = STATES[family]
    file = config_file({"model_type": family, "vocab_size": 100, "intermediate_size": 128}, **config)
    answer = ingest.offload(file, inference=True, users=1, gpu="h100")
    tokens = answer.known.value("kv_token_bytes")
    assert answer.results["kv_session_bytes"].value - tokens == kept * 4


def lru_hits(blocks, held):
    cache, found = OrderedDict(), 0
    for block in blocks:
        found += block in cache
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > held:
            cache.popitem(last=False)
    return found / len(blocks)


def test_stack_distances_count_the_hits_of_an_lru_cache():
    draw = random.Random(4)
    for _ in range(20):
        blocks = [int(draw.paretovariate(0.8)) for _ in range(300)]
        distances = stack_distances(blocks)
        for held in (1, 2, 7, 40):
            assert hits(distances, held) == lru_hits(blocks, held)


def test_a_trace_gives_the_hits_at_the_capacity(tmp_path, run):
    draw = random.Random(5)
    requests = [[draw.randrange(60) for _ in range(10)] for _ in range(50)]
    path = traced(tmp_path / "trace.jsonl", ({"timestamp": 0, "hash_ids": one} for one in requests))
    block = 256 * PER_TOKEN
    ran = run("offload", "llama3-70b", "--inference", "--users", 10, "--turns", 4, "--hit", path, "--format", "json",
              "--set", f"kv_tier_capacity={20.5 * block}")  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.data["results"]["kv_hit_share"]["value"] == lru_hits(
        [one for line in requests for one in dict.fromkeys(line)], 20
    )
    # 1, 2, 5, 10, 20, 50 and 100 % of 60 blocks, at least one.
    assert [row["kv_tier_capacity"] / block for row in ran.data["tables"]["hits"]] == [1, 1, 3, 6, 12, 30, 60]
    shares = [row["kv_hit_share"] for row in ran.data["tables"]["hits"]]
    assert shares == sorted(shares)


def test_a_block_listed_twice_in_a_request_is_read_once(tmp_path):
    path = traced(tmp_path / "trace.jsonl", [{"hash_ids": [1, 1, 1]}, {"hash_ids": [1, 2, 2]}])
    assert results(model="llama3-70b", inference=True, users=10, turns=4, hit=str(path))["kv_hit_share"] == 1 / 3


def traced(path, requests):
    path.write_text("\n".join(json.dumps(one) for one in requests), encoding="utf-8")
    return path


def test_a_block_of_a_trace_holds_the_tokens_that_its_lengths_state(tmp_path, run):
    """Blocks of 512 tokens, as in the traces of Mooncake: a tier of 20 of them holds 40 blocks of its own."""
    draw = random.Random(6)
    requests = [{"input_length": 512 * 9 + draw.randint(1, 512), "hash_ids": draw.sample(range(60), 10)} for _ in range(50)]
    path, blocks = tmp_path / "trace.jsonl", [block for one in requests for block in one["hash_ids"]]
    traced(path, requests)
    for held, setting in ((20, []), (19, []), (40, ["--set", "kv_trace_block_tokens=256"])):
        capacity = (20 if held != 19 else 19.99) * 512 * PER_TOKEN
        ran = run("offload", "llama3-70b", "--inference", "--users", 10, "--turns", 4, "--hit", path, "--format", "json",
                  "--set", f"kv_tier_capacity={capacity} B", *setting)  # fmt: skip
        assert ran.data["results"]["kv_hit_share"]["value"] == lru_hits(blocks, held)
        assert not [one for one in ran.data["warnings"] if one.startswith("W13")]


def test_requests_of_a_trace_look_for_their_prompts_too(tmp_path):
    """Hits of a trace are of all blocks that requests list, prompts included: one turn reads too."""
    trace = traced(tmp_path / "trace.jsonl", [{"hash_ids": [1, 2, 3, 4]}, {"hash_ids": [1, 2, 5, 6]}])
    for turns in (1, 4):
        found = results(**{**SESSIONS, "turns": turns, "hit": str(trace)})
        asked = (sum(range(turns)) / turns * 1500 + 1000) * PER_TOKEN
        assert found["kv_hit_share"] == 0.25
        assert found["kv_read_bandwidth"] == pytest.approx(1000 / 30 * 0.25 * asked)
        assert found["kv_write_bandwidth"] == pytest.approx(1000 / 30 * (0.75 * asked + 500 * PER_TOKEN))


@pytest.mark.parametrize(("sizes", "tokens"), table("sizing/cases.yaml")["tokens_of_a_block_agree_with_every_request"])
def test_tokens_of_a_block_agree_with_every_request(sizes, tokens):
    assert block_tokens(sizes) == tokens


@pytest.mark.parametrize(("length", "message"), [
    (-1, "line 1: input_length: found '-1', expected a number of tokens"),
    ("many", "line 1: input_length: found 'many', expected a number of tokens"),
    (5, "no number of tokens per block agrees"),
])  # fmt: skip
def test_lengths_that_contradict_the_blocks_are_refused(tmp_path, length, message):
    path = traced(
        tmp_path / "trace.jsonl", [{"input_length": length, "hash_ids": [1]}, {"input_length": 4, "hash_ids": [1, 2, 3, 4, 5]}]
    )
    with pytest.raises(IngestError, match=message):
        results(**{**SESSIONS, "hit": str(path)})


def percentile(turns, sizes):
    """The 99th percentile of what a Poisson number of turns of these sizes reads, by Panjer's recursion."""
    share = {size: sizes.count(size) / len(sizes) for size in {*sizes} - {0}}
    chance = [math.exp(-turns * sum(share.values()))]
    while sum(chance) < 0.99:
        rest = len(chance)
        chance.append(turns / rest * sum(size * p * chance[rest - size] for size, p in share.items() if size <= rest))
    return len(chance) - 1


@pytest.mark.parametrize("turns", [2, 8, 30])
@pytest.mark.parametrize("mean", [0.05, 1, 8, 100])
def test_turns_that_coincide_differ_in_what_they_read(turns, mean):
    """The k-th turn reuses k − 1 times the tokens of a turn: not as many mean turns, but the percentile of their sum."""
    known = {**SESSIONS, "turns": turns, "users": 10_000, "turn_time": 10_000 * 0.5 / mean}
    found = results(**known)["kv_peak_read_bandwidth"] * 0.5 / (1500 * PER_TOKEN)
    exact = max(percentile(mean, [*range(turns)]), turns - 1)
    assert exact * 0.94 <= found <= max(exact * 1.08, exact + 1)


def test_sessions_bound_what_is_read_and_kept():
    # A few users read no more than all their sessions hold.
    found = results(**{**SESSIONS, "users": 1})
    assert found["kv_peak_read_bandwidth"] == pytest.approx(7 * 1500 * PER_TOKEN / 0.5)
    # Little: 1,000 users of eight turns of 30 s end 1,000 ÷ 240 sessions in a second.
    plain, kept = results(**SESSIONS), results(**SESSIONS, retention="1 hour")
    session = 12_000 * PER_TOKEN
    assert plain["kv_tier_bytes"] == pytest.approx(1000 * session)
    assert kept["kv_tier_bytes"] == pytest.approx((1000 + 1000 / 240 * 3600) * session)
    assert kept["kv_peak_read_bandwidth"] == plain["kv_peak_read_bandwidth"]


NESTED = '{"hash_ids":' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"hash_ids": 3}', '{"hash_ids": [[1]]}', "no json", NESTED], ids=lambda text: text[:20]
)
def test_a_trace_of_another_form_is_refused(tmp_path, run, text):
    path = tmp_path / "trace.jsonl"
    path.write_text(text, encoding="utf-8")
    ran = run("offload", "llama3-8b", "--inference", "--users", 2, "--hit", path)
    assert ran.code == 1, ran.err
    assert "trace.jsonl" in ran.refusal
    assert text != NESTED or "line 1: expected an object" in ran.refusal


def test_what_is_counted_by_kind_is_explained(run):
    """A column that an answer counted by itself has no rows to list: its numbers are written in the line."""
    ran = run("offload", "llama3-70b", "--inference", "--users", 1000, "--turns", 4, "--explain", "kv_session_bytes")
    assert ran.code == 0
    assert "session_elements = (356,515,840)" in ran.out
    assert run("offload", "llama3-70b", "--inference", "--batch", 8, "--explain", "tokens_per_second").code == 0
