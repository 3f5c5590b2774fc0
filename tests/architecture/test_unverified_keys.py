"""Keys that a family has not looked at: answered with a warning, refused where the user is strict, never passed over."""

import json
import random
from pathlib import Path

import pytest
from conftest import table
from test_hostile_configs import CONFIGS

import ingest
from ingest.architecture import describe
from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.registry import draft, from_config
from ingest.errors import IngestError

#: The file of Qwen3-8B, as released.
QWEN3_8B = {
    "architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 151643,
    "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
    "intermediate_size": 12288, "max_position_embeddings": 40960, "max_window_layers": 36, "model_type": "qwen3",
    "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": None,
    "rope_theta": 1000000, "sliding_window": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    "transformers_version": "4.51.0", "use_cache": True, "use_sliding_window": False, "vocab_size": 151936,
}  # fmt: skip
STRUCTURE = {
    "use_mla": True, "attention_type": "mla", "use_cla": True, "cla_share_factor": 2, "hc_mult": 4, "index_topk": 2048,
    "use_dsa": True, "use_glu": False, "mlp_act": "relu2", "total_ut_steps": 4, "use_sinks": True, "add_cross_attention": True,
    "hyper_connections": 4, "engram": True, "bottleneck": 512, "num_loops": 2, "value_residual": True, "q_lora_rank": 1536,
    "kv_lora_rank": 512, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "n_shared_experts": 1,
    "num_nextn_predict_layers": 1, "mtp_depth": 1, "conv_kernel_size": 4, "mamba_d_state": 16, "ssm_state_size": 128,
    "qkv_bias": True, "mlp_bias": True, "lm_head_bias": True, "use_qk_norm": False, "gated_attention": True, "ffn_norm": False,
    "altup_num_inputs": 4, "laurel_rank": 64, "vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 256,
    "mlp_ratio": 0.5, "adapter_layers": [1, 2], "moe_every": 2,
}  # fmt: skip


@pytest.fixture
def file(config_file):
    return lambda **keys: config_file(QWEN3_8B, **keys)


def test_a_file_as_released_is_verified(file):
    answer = ingest.model(file(), strict=True)
    assert answer.unverified_keys == ()
    assert answer.results["parameters"].value == 8_190_735_360


@pytest.mark.parametrize("key", STRUCTURE)
def test_no_structure_is_passed_over(file, key):
    path = file(**{key: STRUCTURE[key]})
    answer = ingest.model(path)
    assert answer.unverified_keys == (key,)
    assert key in answer.warnings[0]
    assert answer.to_dict()["unverified_keys"] == [key]
    with pytest.raises(IngestError, match=key):
        ingest.model(path, strict=True)


@pytest.mark.parametrize(("key", "value"), table("architecture/cases.yaml")["what_changes_no_weight_is_passed_over"])
def test_what_changes_no_weight_is_passed_over(file, key, value):
    assert ingest.model(file(**{key: value}), strict=True).unverified_keys == ()


#: Sizes that decide weights, cached elements or work of a model of text, and where one decides nothing, by other keys.
SIZES = {
    "hidden_size": "", "kv_lora_rank": "", "q_lora_rank": "", "v_head_dim": "", "qk_nope_head_dim": "", "index_head_dim": "",
    "index_n_heads": "", "index_topk": "deepseek_v4", "vocab_size": "wav2vec2 hubert",
    "num_hidden_layers": "Eagle bart whisper",
    "mamba_d_state": "layer_types", "num_key_value_heads": "kv_lora_rank kv_n_heads gpt_bigcode", "head_dim": "kv_lora_rank",
    "moe_intermediate_size": "gemma4 nemotron_h", "num_experts": "gemma4", "n_routed_experts": "nemotron_h",
    "intermediate_size": "nemotron_h granitemoehybrid qwen3_5_moe", "num_attention_heads": "laguna jetmoe",
    "local_attention": "", "attention_bias": "nemotron_h", "mlp_bias": "hunyuan",
    "tie_word_embeddings": "Eagle llava exaone4_5 XLMModel FlaubertModel",
}  # fmt: skip


def test_a_size_that_is_changed_or_misspelt_is_seen():
    """Of 4,000 drawn variants of one key none leaves weights, cache, work and cautions as they were."""

    def seen(config):
        try:
            made = from_config("one", "config.json", config)
            rows = [(row.name, row.shape, row.count) for row in made.weights]
            return rows, made.attentions, made.flops_per_token(32_768), made.unverified_keys, made.notes
        except IngestError as refused:
            return str(refused)

    draw, tried, seen_before = random.Random(44), 0, {}
    while tried < 4000:
        number = draw.randrange(len(CONFIGS))
        config, key = CONFIGS[number], draw.choice([*SIZES])
        value, words = config.get(key), json.dumps(config)
        unlike = (type(value) is int and value > 1) or type(value) is bool
        if not unlike or any(word in words for word in f"text_config {SIZES[key]}".split()):
            tried += 1 / 100
            continue
        if number not in seen_before:
            seen_before[number] = seen(config)
        others = {name: item for name, item in config.items() if name != key}
        other = not value if type(value) is bool else 2 * value
        for variant in ({**config, key: other}, *([] if type(value) is bool else [{**others, key + "s": other}])):
            tried += 1
            assert isinstance(seen_before[number], str) or seen(variant) != seen_before[number], (key, config)


def test_a_repeated_size_must_be_a_size_of_the_model(file):
    assert ingest.model(file(kv_channels=64)).unverified_keys == ("kv_channels",)


def test_strict_exits_with_one_line(file, run):
    path = file(use_mla=True)
    refused, answered = run("model", path, "--strict"), run("model", path)
    assert (refused.code, "use_mla" in refused.refusal) == (1, True)
    assert (answered.code, "unverified" in answered.err) == (0, True)


@pytest.mark.parametrize(("tokens", "warned"), [(40960, False), (40961, True)])
def test_more_tokens_than_the_positions_reach_are_named(file, tokens, warned):
    answer = ingest.model(file(), sequence_length=tokens)
    assert any("40,960" in line for line in answer.warnings) is warned


@pytest.mark.parametrize(("longest", "usual"), [(512, 512), (4096, 4096), (8192, 4096)])
def test_the_usual_length_is_one_that_the_model_reaches(file, longest, usual):
    assert ingest.model(file(max_position_embeddings=longest)).given["sequence_length"].value == usual
    assert ingest.model("bert-base").given["sequence_length"].value == 512  # by the default of its class


def test_every_command_that_counts_on_the_structure_says_that_it_is_unverified(file):
    path = file(kv_lora_rank=512)
    for answer in (ingest.memory(path), ingest.checkpoint(path, gpus=8), ingest.offload(path, gpus=8)):
        assert any("has not looked at kv_lora_rank" in line for line in answer.warnings), answer.title


@pytest.fixture
def unverified(config_file):
    return lambda config: describe(config_file(config)).unverified_keys


@pytest.mark.parametrize(("repeated", "told"), [(4096, ()), (4097, ("hidden_size",))])
def test_a_wrapper_may_repeat_what_its_text_part_says(unverified, repeated, told):
    """Releases of 2025 repeat the sizes of `text_config` beside it; another value there is told."""
    text = {"model_type": "qwen2_5_vl_text", **{key: QWEN3_8B[key] for key in ("hidden_size", "vocab_size")}}
    assert unverified({"model_type": "qwen2_5_vl", "text_config": text, "hidden_size": repeated}) == told
    merger = {"text_config": {"hidden_size": 4096}, "vision_config": {"text_hidden_size": 4096, "out_hidden_size": repeated}}
    assert len(unverified({"model_type": "hunyuan_vl", **merger})) == len(told)


def test_two_names_of_one_size_that_disagree_are_told(file):
    """The library goes by the one, this family by the other: Mixtral with both would have 723 billion parameters there."""
    experts = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "head_dim": None}
    assert ingest.model(file(**experts, num_local_experts=8, num_experts=8)).unverified_keys == ()
    assert "num_experts" in ingest.model(file(**experts, num_local_experts=8, num_experts=9)).unverified_keys


@pytest.mark.parametrize(("place", "told"), [("text_config", True), ("vision_config", False)])
def test_biases_of_the_vision_encoder_are_not_those_of_the_text(unverified, place, told):
    parts = {"text_config": {"model_type": "qwen3_vl_text"}, "vision_config": {"model_type": "qwen3_vl"}}
    parts[place] |= {"mlp_bias": True}
    assert unverified({"model_type": "qwen3_vl", **parts}) == ((f"{place}.mlp_bias",) if told else ())


#: What is the same in other words, or what such a model has: no other structure.
AGREE = {
    "sam": {"use_glu", "mlp_bias", "use_qk_norm"}, "step3p7": {"gated_attention", "qkv_bias", "mlp_bias"},
    "sam2": {"use_glu", "mlp_bias", "use_qk_norm"}, "zamba2": {"mlp_bias", "use_qk_norm"},
    "gemma3n": {"qkv_bias", "altup_num_inputs"}, "minimax_m3_vl": set(), "dspark_qwen3": set(), "gla": {"use_qk_norm"},
    "rwkv7": {"use_glu", "use_qk_norm"}, "DeepseekOCR": {"use_qk_norm"}, "chatglm": {"qkv_bias", "use_qk_norm"},
    "minicpmv4_6": {"gated_attention"}, "fuyu": {"mlp_bias", "qkv_bias", "use_glu"}, "baichuan": {"use_qk_norm"},
    "eagle3": {"use_qk_norm"}, "eagle3_mla": {"use_mla"}, "p_eagle": {"use_qk_norm"},
}  # fmt: skip


@pytest.mark.parametrize("kind", AGREE)
def test_no_structure_is_passed_over_in_a_late_family(config_file, kind):
    lines = (Path(__file__).parent / "counted.yaml").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line.removeprefix("- "))["config"] for line in lines if line.startswith("- {")]
    config = next(config for config in cases if kind in (draft(ModelConfig(config, "")) or config.get("model_type"),))
    before, silent = describe(config_file(config)).parameters_trained, set()
    for key in STRUCTURE.keys() - config.keys():
        try:
            found = describe(config_file(config, **{key: STRUCTURE[key]}))
        except IngestError:
            continue
        if found.parameters_trained == before and key not in found.unverified_keys:
            silent.add(key)
    assert silent <= AGREE[kind]


@pytest.mark.parametrize("tied", [True, False])
def test_words_are_tied_only_to_a_head_that_writes_words(unverified, tied):
    """The library's fifth version writes the key into the file of every classifier."""
    sizes = {"dim": 64, "hidden_dim": 96, "n_layers": 2, "n_heads": 4, "vocab_size": 300, "max_position_embeddings": 64}
    classes = {"model_type": "distilbert", "architectures": ["DistilBertForSequenceClassification"]}
    assert unverified({**classes, **sizes, "tie_word_embeddings": tied}) == ()
