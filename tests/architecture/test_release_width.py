"""Weights as released: `quantization_config` decides their bytes; and what `ingest bw` makes of a structure."""

import pytest
from conftest import table

import ingest
from ingest.architecture.release_width import bits_per_weight, stored_row_bytes
from ingest.architecture.weight_table import Weight
from ingest.errors import IngestError

GPT_OSS = {
    "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "attention_bias": True, "head_dim": 64,
    "hidden_size": 2880, "intermediate_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 201088,
    "num_experts_per_tok": 4, "sliding_window": 128, "tie_word_embeddings": False,
    "quantization_config": {
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"],
        "quant_method": "mxfp4",
    },
}  # fmt: skip


# The sums of the indexes of both releases.
@pytest.mark.parametrize(("layers", "experts", "stored"), [(36, 128, 65_248_815_744), (24, 32, 13_761_264_768)])
def test_the_bytes_of_gpt_oss_are_those_of_its_index(config_file, layers, experts, stored):
    path = config_file(GPT_OSS, num_hidden_layers=layers, num_local_experts=experts)
    assert ingest.model(path).results["weights_bytes"].value == stored
    wide = ingest.model(path, precision="bf16").results
    assert wide["weights_bytes"].value == 2 * wide["parameters"].value
    released = ingest.checkpoint(path, layout="safetensors").results["checkpoint_weights_bytes"].value
    assert released == pytest.approx(stored)
    trained = ingest.checkpoint(path, layout="megatron").results["checkpoint_weights_bytes"].value
    assert trained == 2 * wide["parameters"].value


@pytest.mark.parametrize("where", ["config", "table"])
def test_routed_experts_may_be_narrower_than_the_rest(where):
    """DeepSeek V4: experts in four bits with a byte of scale for 32, all else in eight; an unknown type is no answer."""
    rows = [Weight("expert.gate", (64, 32), "expert", 8, 2), Weight("shared_expert.gate", (64, 32), "expert", 1, 1)]

    def stored(kind):
        table = {"quant_method": "fp8"} | ({"expert_dtype": kind} if where == "table" else {})
        return stored_row_bytes(rows, {"quantization_config": table} | ({"expert_dtype": kind} if where == "config" else {}), 1)

    assert stored("fp4") == [8 * 2048 * 4.25 / 8, 2048]
    assert stored("fp8") == stored(None) == [8 * 2048, 2048]
    assert stored("int3") is stored(["fp4"]) is None


def test_the_bytes_of_a_release_for_mlx_are_those_of_its_index(config_file):
    """Qwen3-14B in four bits: the file of MLX narrows the tables of words too."""
    qwen = {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": False, "head_dim": 128,
        "hidden_size": 5120, "intermediate_size": 17408, "num_attention_heads": 40, "num_hidden_layers": 40,
        "num_key_value_heads": 8, "vocab_size": 151936, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
        "quantization": {"group_size": 64, "bits": 4},
    }  # fmt: skip
    assert ingest.model(config_file(qwen)).results["weights_bytes"].value == 8_307_783_680


@pytest.mark.parametrize(
    ("quantization", "bits"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 128**2),
        ({"quant_method": "fp8"}, 8),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 20 / 128),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 4, "group_size": 32}}}}, 4.5),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, None),
        ({"quant_method": "of 2027"}, None),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, None),
        ({"bits": 4, "group_size": 64}, 4.5),
        ({"bits": 4, "group_size": 32, "mode": "mxfp4"}, None),
        ({"bits": 4, "group_size": 64, "model.layers.0.mlp.gate": {"bits": 8, "group_size": 64}}, None),
        ({}, None),
    ],
)
def test_bits_of_a_weight_with_its_share_of_the_scales(quantization, bits):
    assert bits_per_weight(quantization) == bits


def test_a_packing_that_is_not_described_leaves_the_bytes_open(config_file):
    path = config_file(GPT_OSS, num_hidden_layers=2, num_local_experts=4, quantization_config={"quant_method": "of 2027"})
    answer = ingest.model(path)
    assert "of 2027" in answer.unknown["weights_bytes"]
    assert ingest.model(path, precision="fp8").results["weights_bytes"].value == answer.results["parameters"].value


ROWS = [Weight("attention.q", (64, 32), "attention", 4), Weight("mlp.up", (64, 32), "mlp", 4), Weight("head", (9, 32), "head")]


@pytest.mark.parametrize(
    ("entry", "attention", "network"), table("architecture/cases.yaml")["modules_that_are_excepted_stay_wide"]
)
def test_modules_that_are_excepted_stay_wide(entry, attention, network):
    config = {"torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8", "modules_to_not_convert": [entry]}}
    assert stored_row_bytes(ROWS, config, 4) == [2048 * (4 + attention), 2048 * (4 + network), 2 * 288]


@pytest.mark.parametrize("entry", ["re:(", "re:.*s.*elf.*attn.*", "re:(.*)*x", "re:x{99999999999}", "x" * 301, 7])
def test_an_exception_that_cannot_be_read_leaves_the_bytes_open(entry):
    """Passed over, it would count wide weights as narrow; matched, some would take hours."""
    config = {"torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8", "modules_to_not_convert": [entry]}}
    assert stored_row_bytes(ROWS, config, 4) is None


def test_modules_for_further_tokens_are_stored_with_copies_of_embedding_and_head(config_file):
    latent = {"q_lora_rank": 32, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}
    config = {
        "model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4, "vocab_size": 1000,
        "num_attention_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, **latent,
    }  # fmt: skip
    quantized = {"quantization_config": {"quant_method": "fp8"}}
    plain = ingest.model(config_file(config, **quantized)).results
    more = ingest.model(config_file(config, num_nextn_predict_layers=1, **quantized)).results
    further = more["parameters_mtp"].value
    layer = 64 * 32 + 32 + 32 * 64 + 64 * 24 + 16 + 16 * 64 + 32 * 64 + 4 * 64 + 5 * 3 * 32 * 64 + 2 * 64
    assert further == layer + 2 * 64 * 64 + 3 * 64
    assert more["parameters"].value == plain["parameters"].value
    wide = (32 + 16 + 2 * 64 + 3 * 64) + 4 * 64  # norms and router
    assert more["weights_bytes"].value - plain["weights_bytes"].value == further + wide + 2 * 2 * 64_000
    states = ingest.memory(model=config_file(config, num_nextn_predict_layers=1)).results["model_state_bytes"].value
    assert states == 16 * more["parameters_trained"].value


SMALL = {
    "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8, "num_attention_heads": 8,
    "vocab_size": 32000, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.mark.parametrize(("vocabulary", "width"), [(32000, 2), (65536, 2), (65537, 4), (128256, 4)])
def test_a_token_takes_two_bytes_while_every_id_fits(config_file, vocabulary, width):
    answer = ingest.bw(model=config_file(SMALL, vocab_size=vocabulary), gpu="h100", nodes=4)
    assert answer.given["sample_bytes"].value == width


def test_flops_are_those_of_the_model_and_reading_tokens_is_said_to_be_negligible(config_file):
    answer = ingest.bw(model=config_file(SMALL), gpu="h100", nodes=4)
    counted = ingest.model(config_file(SMALL), sequence_length=4096).results["flops_per_token"].value
    assert answer.given["flops_per_sample"].value == counted
    peak = next(results for rung, results in answer.levels if rung.basis == "peak")
    assert peak["samples_per_second_per_gpu"].value == pytest.approx(989.4e12 / counted)
    assert any("negligible" in line for line in answer.warnings)


def test_an_unknown_family_is_refused(config_file):
    with pytest.raises(IngestError, match="llamma"):
        ingest.bw(model=config_file(SMALL, model_type="llamma"), gpu="h100", nodes=4)
