"""Every family against the real class: parameters to the unit, cache bytes, counted FLOPs."""

import pytest
from conftest import table

import ingest
from ingest.architecture import describe
from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.registry import draft, families
from ingest.architecture.weight_table import CHOSEN
from ingest.engine.value import Input
from ingest.sizing.offload_tiers import kept_by_attention

PUBLISHED, COUNTED, REMEMBERED = (
    table(f"architecture/{name}.yaml")["models"] for name in ("published", "counted", "remembered")
)


def kind(config):
    """The model type, or the class that a file of a draft model or of diffusers names."""
    return draft(ModelConfig(config, "")) or config.get("model_type") or config["_class_name"]


@pytest.fixture
def described(config_file):
    return lambda config: describe(config_file(config))


def test_published_configs_are_exact(described):
    for case in PUBLISHED:
        made, name = described(case["config"]), case["name"]
        counted = (made.parameters, made.parameters_active, made.parameters_embedding)
        assert counted == (case["parameters"], case["active"], case["embedding"]), name
        assert case["kv"] is None or made.kv_cache_bytes_per_token() == case["kv"], name


def test_counted_flops_are_met(described):
    for case in (one for one in PUBLISHED if one["flops"] is not None):
        config = dict(case["config"])
        if case["flops_layers"] < described(config).layers:
            depth = "n_layers" if "n_layers" in config else "num_hidden_layers"
            config[depth] = case["flops_layers"]
            config = {key: value[: case["flops_layers"]] if key == "layer_types" else value for key, value in config.items()}
        made = described(config)
        for tokens, counted in case["flops"].items():
            ours = made.forward_flops_per_token(int(tokens), causal=False) * int(tokens)
            assert ours == pytest.approx(counted, rel=0.005), (case["name"], tokens)


def test_small_and_remembered_configs_are_exact(described):
    for number, case in enumerate((*COUNTED, *REMEMBERED)):
        made, name = described(case["config"]), (kind(case["config"]), number)
        assert made.parameters == case["parameters"], name
        if case.get("flops") is not None:
            tokens = case.get("tokens", 16)
            assert made.forward_flops_per_token(tokens, causal=False) * tokens == pytest.approx(case["flops"], rel=0.005), name
        assert case.get("cached") is None or made.kv_cache_bytes_per_token(1) == case["cached"], name


#: Sizes of MiMo-7B-Base, whose index counts its module: 15,666,819,072 B in 16 bits.
MIMO = {
    "model_type": "mimo", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151680, "attention_bias": True, "tie_word_embeddings": False,
}  # fmt: skip
BY_KIND = [(case["config"].get("model_type"), case["config"]) for case in COUNTED]
EXAONE, COUNTED_M2 = (next(config for found, config in BY_KIND if found == name) for name in ("exaone_moe", "minimax_m2"))
NEMOTRON = next(config for found, config in BY_KIND if found == "nemotron_h" and config.get("n_routed_experts", 0) > 0)


def test_modules_that_predict_further_tokens_are_trained(described):
    assert described({**MIMO, "num_nextn_predict_layers": 1}).parameters_trained == 7_833_409_536
    assert described(MIMO).parameters_trained == described(MIMO).parameters == 7_622_619_136


def test_a_dense_module_follows_layers_of_experts(described):
    one, two = (described({**EXAONE, "num_nextn_predict_layers": number}) for number in (1, 2))
    assert not any(row.kind == "mtp" and "expert" in row.name for row in one.weights)
    own = two.parameters_trained - one.parameters_trained
    # The product and its norms stand once before all modules.
    hidden = EXAONE["hidden_size"]
    assert one.parameters_trained - one.parameters - own == 2 * hidden**2 + 3 * hidden


@pytest.mark.parametrize(("pattern", "experts"), [("*E", True), ("*", False)])
def test_a_module_runs_through_its_own_pattern(described, pattern, experts):
    made = described({**NEMOTRON, "num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": pattern})
    rows = [row for row in made.weights if row.kind == "mtp"]
    assert any("attention.q" in row.name for row in rows)
    assert any("expert" in row.name for row in rows) is experts
    assert made.parameters == described(NEMOTRON).parameters


def test_a_module_of_ernie_is_a_dense_layer_behind_a_product_and_two_norms(described):
    """The class of ERNIEKit: mtp_emb_norm, mtp_hidden_norm, mtp_linear_proj and a layer, here of ERNIE-4.5-21B-A3B."""
    ernie = {"model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 28,
             "num_attention_heads": 20, "num_key_value_heads": 4, "vocab_size": 103424, "moe_num_experts": 64, "moe_k": 6,
             "moe_intermediate_size": 1536, "moe_num_shared_experts": 2, "use_bias": False}  # fmt: skip
    one = described({**ernie, "num_nextn_predict_layers": 1})
    attention, network = 2 * 2560 * 2560 + 2 * 2560 * 512, 3 * 2560 * 12288
    assert one.parameters_trained - one.parameters == attention + network + 2 * 2560 * 2560 + 4 * 2560
    assert one.notes == ()
    assert one.parameters == described(ernie).parameters == 21_825_437_888


def test_modules_that_a_family_does_not_count_are_named(described):
    stated = described({**COUNTED_M2, "num_mtp_modules": 3})
    assert stated.parameters_trained == stated.parameters
    assert [note for note in stated.notes if "(3) are not counted" in note]
    assert described({**MIMO, "num_nextn_predict_layers": 1}).notes == ()


def kinds_inside(config):
    """The model types of the parts of a config, at any depth."""
    parts = [part for part in config.values() if isinstance(part, dict)]
    return {part["model_type"] for part in parts if "model_type" in part}.union(*map(kinds_inside, parts))


def test_each_family_is_counted_somewhere():
    counted = {kind(case["config"]) for case in (*PUBLISHED, *COUNTED, *REMEMBERED)}
    inside = set().union(*(kinds_inside(case["config"]) for case in (*PUBLISHED, *COUNTED)))
    assert set(families()) <= counted | inside | {"ministral3_text", "mimo", "composite"}


def test_each_family_says_where_it_comes_from():
    assert all(describing.__doc__ for describing in families().values())


@pytest.mark.parametrize(("kind", "headed"), [("qwen3_vl_text", False), ("qwen3", True)])
def test_a_text_part_alone_has_no_head_where_no_class_is_named(described, kind, headed):
    """transformers 5.23: AutoModel builds Qwen3VLTextModel, of 7,568,405,504 parameters; Qwen3-8B has 8,190,735,360."""
    sizes = {"hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
             "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936}  # fmt: skip
    made = described({"model_type": kind, "tie_word_embeddings": False, **sizes})
    assert made.parameters_trained == (8_190_735_360 if headed else 7_568_405_504)


#: Chunks of Llama 4: vLLM PR 18170 bounds its cache by them, 36 of 48 layers; top-k of DeepSeek-V4: a token that no query
#: chose today may be chosen tomorrow.
SCOUT = {
    "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
    "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 202048,
}  # fmt: skip
TINY_V4 = {
    "model_type": "deepseek_v4", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "head_dim": 16,
    "vocab_size": 100, "q_lora_rank": 16, "o_lora_rank": 16, "o_groups": 2, "sliding_window": 8, "hc_mult": 2,
    "index_n_heads": 2, "index_head_dim": 8, "index_topk": 4, "moe_intermediate_size": 16, "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "layer_types": ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention",
                    "compressed_sparse_attention"],
}  # fmt: skip


def held(made, tokens):
    return sum(kept_by_attention(made, {"prompt_tokens": Input(tokens), "generated_tokens": Input(0)}))


@pytest.mark.parametrize(
    ("keys", "full"),
    [
        ({}, 12),
        ({"layer_types": ["chunked_attention", "full_attention"] * 24}, 24),
        ({"no_rope_layers": [1] * 47 + [0]}, 1),
        ({"no_rope_layers": []}, 12),
        ({"no_rope_layer_interval": 6}, 8),
        ({"attention_chunk_size": None}, 48),
    ],
)
def test_chunks_bound_what_is_kept_and_seen(described, keys, full):
    made = described({**SCOUT, **keys})
    assert held(made, 100_000) == 2048 * (full * 100_000 + (48 - full) * 8192)
    assert held(made, 8192) == 2048 * 48 * 8192
    pairs = made.forward_flops_per_token(100_000) - made.forward_flops_per_token(0.5)
    assert pairs == pytest.approx(2 * 40 * 256 * (full * 50_000 + (48 - full) * 4096), rel=1e-4)


_WINDOW, _SPARSE, _HEAVY = TINY_V4["layer_types"][:3]
#: Elements of the compressors after so many tokens in the cache of the class of transformers 5.24: entries, values and weights
#: of tokens in none yet, and those that the next entry overlaps. Its windows hold a token less, twice where nothing compresses.
HELD_TOKENS = (3, 127, 128, 129, 512, 1000, 1024, 8192)
HELD_BY_CLASS = [
    ({}, (672, 6512, 1936, 2160, 6592, 15824, 12800, 99712)),
    (
        {
            "compress_rates": {_SPARSE: 8, _HEAVY: 32}, "head_dim": 32, "index_head_dim": 16, "sliding_window": 24,
            "num_hidden_layers": 5, "layer_types": [_HEAVY, _SPARSE, _WINDOW, _HEAVY, _SPARSE],
        },
        (1536, 9824, 3328, 3840, 8704, 16544, 15872, 116224),
    ),
    (
        {"layer_types": None, "num_hidden_layers": 6, "sliding_window": 128},
        (960, 18704, 1984, 2304, 6784, 26144, 13184, 102784),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "compressors"), HELD_BY_CLASS)
def test_top_k_attention_keeps_all_that_it_may_choose(described, keys, compressors):
    config = {key: value for key, value in {**TINY_V4, **keys}.items() if value is not None}
    made, (window, layers, width) = described(config), (config[k] for k in ("sliding_window", "num_hidden_layers", "head_dim"))
    windows = [layers * width * min(window, tokens) for tokens in HELD_TOKENS]
    held_now = [held(made, tokens) for tokens in HELD_TOKENS]
    assert held_now == pytest.approx([sum(both) for both in zip(windows, compressors, strict=True)])


def test_the_cache_of_a_release_is_that_of_its_card():
    # In fp8, as on the card: 7 % of DeepSeek-V3.2's.
    assert held(describe("deepseek-v4-flash"), 1_000_000) == pytest.approx(3.4e9, rel=0.05)


def test_caches_grow_with_the_tokens_in_all_layers_without_a_true_window(described):
    for number, case in enumerate(COUNTED):
        made, name = described(case["config"]), (kind(case["config"]), number)
        # Compressors end a block at each of both lengths.
        short, long = held(made, 1024), held(made, 2048)
        grows = sum(row.cached * row.layers for row in made.attentions if not (row.keys or row.window) or row.reach == CHOSEN)
        assert 1024 * grows <= long - short <= short, name


def test_caches_are_those_of_the_class_after_three_lengths(described):
    """Between two tokens, a class keeps one token fewer of a full window: the next one takes its place."""
    for case in COUNTED:
        for tokens, counted in zip((128, 1024, 8192), case.get("held", ()), strict=False):
            made = described(case["config"])
            full = (row for row in made.attentions if 0 < row.window <= tokens and row.reach != CHOSEN)
            kept = held(made, tokens) - sum(row.cached * row.layers for row in full)
            assert kept == pytest.approx(counted), (kind(case["config"]), tokens)


@pytest.mark.parametrize(
    ("tokens", "growth", "total"),
    [(8000, 48 * 4096, 48 * 4096 * 8000), (100_000, 12 * 4096, 4096 * (12 * 100_000 + 36 * 8192))],
)
def test_the_cache_is_that_of_the_length_asked_for(described, tmp_path, tokens, growth, total):
    described(SCOUT)
    made = ingest.model(tmp_path / "config.json", sequence_length=tokens).results
    assert made["kv_cache_growth_per_token"].value == growth
    assert made["kv_cache_bytes_per_sequence"].value == total
