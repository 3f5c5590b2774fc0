"""Every family against the real class: parameters to the unit, cache bytes, counted FLOPs."""

import json
from pathlib import Path

import pytest
import yaml

from ingest.architecture import describe
from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.registry import draft, families

HERE = Path(__file__).parent
FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def cases(name):
    return yaml.load((HERE / name).read_text(encoding="utf-8"), Loader=FAST)["models"]  # noqa: S506  it is a safe one


PUBLISHED = cases("published.yaml")
COUNTED = cases("counted.yaml")
REMEMBERED = cases("remembered.yaml")


def kind(config):
    """The model type, or the class that a file of a draft model or of diffusers names."""
    return draft(ModelConfig(config, "")) or config.get("model_type") or config["_class_name"]


@pytest.fixture
def described(tmp_path):
    def make(config):
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return describe(tmp_path / "config.json")

    return make


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


def test_small_configs_are_exact(described):
    for number, case in enumerate(COUNTED):
        made, name = described(case["config"]), (kind(case["config"]), number)
        assert made.parameters == case["parameters"], name
        if case["flops"] is not None:
            tokens = case.get("tokens", 16)
            assert made.forward_flops_per_token(tokens, causal=False) * tokens == pytest.approx(case["flops"], rel=0.005), name
        assert case["cached"] is None or made.kv_cache_bytes_per_token(1) == case["cached"], name


def test_remembered_configs_are_exact(described):
    for case in REMEMBERED:
        assert described(case["config"]).parameters == case["parameters"], case["name"]


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
    assert set(families()) <= counted | inside | {"ministral3_text", "mimo"}


def test_each_family_says_where_it_comes_from():
    assert all(describing.__doc__ for describing in families().values())


@pytest.mark.parametrize(("kind", "headed"), [("qwen3_vl_text", False), ("qwen3", True)])
def test_a_text_part_alone_has_no_head_where_no_class_is_named(described, kind, headed):
    """transformers 5.23: AutoModel builds Qwen3VLTextModel, of 7,568,405,504 parameters; Qwen3-8B has 8,190,735,360."""
    sizes = {"hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
             "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936}  # fmt: skip
    made = described({"model_type": kind, "tie_word_embeddings": False, **sizes})
    assert made.parameters_trained == (8_190_735_360 if headed else 7_568_405_504)
