"""What is refused: never a wrong number, always one line with file and key; and what looks alike and counts."""

import json
import time

import pytest
from conftest import refused, table

import ingest
from ingest.architecture import describe
from ingest.architecture.registry import families, stems
from ingest.errors import IngestError

LLAMA = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
         "vocab_size": 100}  # fmt: skip
GPT2 = {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100}
BERT = {**LLAMA, "model_type": "bert"}
DEBERTA = {**LLAMA, "model_type": "deberta", "relative_attention": True, "pos_att_type": "c2p|p2c"}
DEBERTA2 = {**DEBERTA, "model_type": "deberta-v2", "pos_att_type": ["c2p", "p2c"]}
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT = {**LLAMA, "model_type": "mistral", "num_key_value_heads": 2, "head_dim": 16}
MISTRAL3 = {"model_type": "mistral3", "text_config": TEXT, "vision_config": {"model_type": "pixtral", **SMALL}}
LLAMA4 = {
    "model_type": "llama4",
    "text_config": {**LLAMA, "model_type": "llama4_text", "num_key_value_heads": 2},
    "vision_config": {"model_type": "llama4_vision_model", **SMALL},
}
HYBRID = {**LLAMA, "model_type": "nemotron_h", "num_hidden_layers": 3, "hybrid_override_pattern": "M*E"}
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 32, "mamba_d_state": 8}
BAMBA = {**LLAMA, "model_type": "bamba", "num_key_value_heads": 2, **MAMBA}
FALCON_H1 = {**LLAMA, "model_type": "falcon_h1", "num_key_value_heads": 2, "mamba_d_ssm": 128, **MAMBA}
ERNIE = {**LLAMA, "model_type": "ernie4_5_moe", "num_key_value_heads": 4}
HUNYUAN = {**LLAMA, "model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": 2}
LAGUNA = {**LLAMA, "model_type": "laguna", "num_key_value_heads": 2, "num_experts": 4, "num_experts_per_tok": 2}


@pytest.fixture
def made(tmp_path):
    def make(config):
        text = config if isinstance(config, str | bytes) else json.dumps(config)
        path = tmp_path / "config.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return describe(path)

    return make


@pytest.fixture
def refusal(made, tmp_path):
    def refuse(config):
        with refused() as found:
            made(config)
        message = str(found.value)
        assert message.startswith(str(tmp_path / "config.json"))
        assert len(message) < 500 + len(str(tmp_path))
        assert found.value.exit_code == 1
        return message

    return refuse


BASES = [GPT2, BERT, DEBERTA, DEBERTA2, MISTRAL3, LLAMA4, HYBRID, BAMBA, FALCON_H1, ERNIE, HUNYUAN, LAGUNA]


@pytest.mark.parametrize("config", BASES, ids=[case["model_type"] for case in BASES])
def test_what_the_refusals_start_from_is_described(made, config):
    assert made(config).parameters > 0


def test_heads_that_share_keys_are_refused_in_gpt2(made, refusal):
    assert "attention_head_type" in refusal({**GPT2, "attention_head_type": "multiquery"})
    assert made({**GPT2, "attention_head_type": "multihead"}).parameters == made(GPT2).parameters
    shared = {**GPT2, "model_type": "gpt_bigcode", "multi_query": True}
    assert made({**shared, "attention_head_type": "multiquery"}).parameters == made(shared).parameters
    assert "attention_head_type" in refusal({**shared, "attention_head_type": "multihead"})


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (LLAMA, "LlamaForRewardModel"),
        (LLAMA, "LlamaRewardModel"),
        (LLAMA, "LlamaModelForCausalLM"),
        (LLAMA, "MixtralForCausalLM"),
        (LLAMA, "MyLlamaForCausalLM"),
        (LLAMA, "ForCausalLM"),
        (LLAMA, "LlamaForTokenClassification"),
        ({**LLAMA, "model_type": "qwen2"}, "Qwen2ForTokenClassification"),
        ({**LLAMA, "model_type": "qwen2"}, "Qwen2MoeForCausalLM"),
        (GPT2, "GPT2DoubleHeadsModel"),
        (GPT2, "GPT2LMHeadCustomModel"),
        (BERT, "RobertaForMaskedLM"),
        (BERT, "JinaBertForMaskedLM"),
        (MISTRAL3, "Mistral3ForCausalLM"),
        (LLAMA4, "Llama4ForCausalLM"),
    ],
)
def test_a_class_of_another_model_is_refused(refusal, config, name):
    message = refusal({**config, "architectures": [name]})
    assert name in message
    assert "by hand" in message


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (LLAMA, "LLaMAForCausalLM"),
        ({**LLAMA, "model_type": "internlm3"}, "InternLM3ForCausalLM"),
        ({**LLAMA, "model_type": "ernie4_5"}, "Ernie4_5_ForCausalLM"),
        ({**GPT2, "model_type": "gpt_bigcode"}, "GPTBigCodeLMHeadModel"),
        (HUNYUAN, "HunYuanMoEV1ForCausalLM"),
        ({**LLAMA, "model_type": "gemma3_text"}, "Gemma3ForCausalLM"),
        ({**LLAMA, "model_type": "gemma3_text"}, "Gemma3TextModel"),
        ({**LLAMA, "model_type": "xlm-roberta"}, "XLMRobertaModel"),
    ],
)
def test_a_class_by_its_other_spelling_is_taken(made, config, name):
    assert made({**config, "architectures": [name]}).parameters > 0


def test_every_family_has_names_for_its_classes():
    assert all(stem.isalnum() for name in families() for stem in stems(name))


@pytest.mark.parametrize("named", table("architecture/refused.yaml")["code_of_another_model_is_refused"])
def test_code_of_another_model_is_refused(refusal, named):
    assert "auto_map" in refusal({**LLAMA, "auto_map": named})
    assert "auto_map" in refusal({**BERT, "auto_map": named})


def test_code_of_the_same_model_is_taken(made):
    named = {
        "AutoConfig": "configuration_llama.LlamaConfig",
        "AutoModel": "me/mine--modeling_llama.LlamaModel",
        "AutoModelForCausalLM": "modeling_llama.LlamaForCausalLM",
        "AutoTokenizer": ["tokenization_odd.OddTokenizer", None],
    }
    assert made({**LLAMA, "auto_map": named}).parameters == made(LLAMA).parameters


def test_pixtral_shares_its_width_among_its_heads(made, refusal):
    stated = {**MISTRAL3, "vision_config": {**MISTRAL3["vision_config"], "head_dim": 8}}
    assert made(stated).parameters == made(MISTRAL3).parameters
    stated["vision_config"]["head_dim"] = 16
    assert "vision_config.head_dim" in refusal(stated)


def test_paligemma_projects_to_the_width_of_its_text(made, refusal):
    text = {key: value for key, value in LLAMA.items() if key not in ("hidden_size", "num_attention_heads")}
    vision = {"model_type": "siglip_vision_model", **SMALL}
    config = {"model_type": "paligemma", "text_config": {**text, "model_type": "gemma"}, "vision_config": vision}
    assert "projection_dim" in refusal(config)
    described = made({**config, "projection_dim": 3072})
    assert next(row for row in described.weights if row.name == "vision.projector.bias").shape == (3072,)


TIED = {**LLAMA4, "text_config": {**LLAMA4["text_config"], "tie_word_embeddings": True}}
NARROW = {**MISTRAL3, "text_config": {key: value for key, value in TEXT.items() if key != "hidden_size"}}
LFM2 = {**LLAMA, "model_type": "lfm2", "num_key_value_heads": 2, "block_ffn_dim_multiplier": 10**90}
ZERO_PATCH = {**MISTRAL3, "vision_config": {**SMALL, "model_type": "pixtral", "patch_size": [0, 0]}}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({**LLAMA, "architectures": ["LlamaForCausalLM", "LlamaModel"]}, "one class"),
        (NARROW, "text_config.hidden_size"),
        ({**TEXT, "model_type": "mistral3"}, "text_config"),
        (TIED, "text_config.tie_word_embeddings"),
        ({**TIED, "tie_word_embeddings": False}, "text_config.tie_word_embeddings"),
        (ZERO_PATCH, "patch_size"),
        ({**HUNYUAN, "num_experts": [-4, -4]}, "num_experts"),
        ({**BAMBA, "attn_layer_indices": [-1]}, "attn_layer_indices"),
        (LFM2, "block_ffn_dim_multiplier"),
        ({**LLAMA, "model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3}, "expected"),
        ({**LLAMA, "model_type": "nemotron_h", "hybrid_override_pattern": "M-X"}, "expected"),
        ({"model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100, "num_heads": 3}, "expected"),
        *(
            ({**base, "pos_att_type": value}, "pos_att_type")
            for base in (DEBERTA, DEBERTA2)
            for value in (8, -8, True, [8], ["c2p", 8])
        ),
    ],
)
def test_what_a_family_cannot_have_is_named(refusal, config, said):
    """Two classes, a text part without width, words that are never tied, numbers below one or beyond a fraction."""
    assert said in refusal(config)


@pytest.mark.parametrize(
    ("config", "key", "value"),
    [
        (base, key, value)
        for base, keys in (
            (DEBERTA, ("pos_att_type", "max_relative_positions")),
            (DEBERTA2, ("pos_att_type", "max_relative_positions", "position_buckets", "conv_kernel_size", "norm_rel_ebd")),
            (ERNIE, ("moe_layer_end_index",)),
            (HUNYUAN, ("num_shared_expert", "moe_intermediate_size", "num_experts", "moe_topk")),
            (LAGUNA, ("gating", "num_attention_heads_per_layer")),
            (BAMBA, ("mamba_d_head", "attn_layer_indices")),
            (FALCON_H1, ("mamba_d_head", "mamba_d_ssm")),
            (HYBRID, ("hybrid_override_pattern", "moe_latent_size")),
            (MISTRAL3, ("vision_feature_layer",)),
            ({**LLAMA, "model_type": "mamba"}, ("time_step_rank",)),
            ({**LLAMA, "architectures": ["LlamaForSequenceClassification"]}, ("id2label",)),
        )
        for key in keys
        for value in (8.5, [[1]], [True], {"a": 1}, "\x00")
        if (key, value) != ("id2label", {"a": 1})
    ],
)
def test_a_value_of_another_type_is_refused(refusal, config, key, value):
    assert key in refusal({**config, key: value})


@pytest.mark.parametrize("key", ["text_config", "vision_config", "audio_config", "memory_config"])
def test_a_part_that_nobody_reads_is_refused(made, refusal, key):
    assert key in refusal({**LLAMA, key: {"hidden_size": 8}})
    assert key in refusal({**BERT, key: {"depth": 8}})
    assert made({**LLAMA, key: None}).parameters == made(LLAMA).parameters


@pytest.mark.parametrize("value", ["geglu", "reglu", 7])
def test_another_network_in_bert_is_refused(made, refusal, value):
    assert "feed_forward_type" in refusal({**BERT, "feed_forward_type": value})
    assert made({**LLAMA, "feed_forward_type": value}).unverified_keys == ("feed_forward_type",)
    assert made({**BERT, "feed_forward_type": "original"}).parameters == made(BERT).parameters


def test_a_number_without_end_is_one_clean_line(refusal):
    message = refusal('{"model_type": "llama", "hidden_size": ' + "9" * 5000 + "}")
    assert "a number of 5,000 digits" in message
    assert "sys." not in message


@pytest.mark.parametrize(("text", "called"), [("null", "None"), ("true", "True"), ("7", "7"), ("[]", "[]"), ('"a"', "'a'")])
def test_what_is_no_table_is_named(refusal, text, called):
    assert f"found {called}, expected" in refusal(text)


@pytest.mark.parametrize("part", ["vision_config", "text_config"])
@pytest.mark.parametrize("value", [None, "absent"])
def test_a_part_that_the_file_leaves_out_has_the_sizes_of_its_class(made, part, value):
    config = {"model_type": "qwen3_vl", "text_config": {}, "vision_config": {}, part: value}
    config = {key: item for key, item in config.items() if item != "absent"}
    described = made(config)
    assert described.parameters == 12_616_410_352  # of the class, on the meta device
    assert f"{part}.hidden_size" in described.defaults


KIMI = {"AutoConfig": "configuration_deepseek.DeepseekV3Config", "AutoModel": "modeling_deepseek.DeepseekV3Model"}
LATENT = {"q_lora_rank": 32, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}
DEEPSEEK = {**LLAMA, **LATENT, "model_type": "deepseek_v3", "n_routed_experts": 4, "num_experts_per_tok": 2}


def test_classes_decide_where_the_model_type_is_new(made, refusal):
    new = {**DEEPSEEK, "model_type": "kimi_k9", "architectures": ["DeepseekV3ForCausalLM"], "auto_map": KIMI}
    described = made(new)
    assert described.parameters == made(DEEPSEEK).parameters
    assert (described.model_type, "kimi_k9" in described.notes[0]) == ("deepseek_v3", True)
    assert "kimi_k9" in refusal({**new, "auto_map": None})
    assert "kimi_k9" in refusal({**new, "architectures": ["DeepseekV2ForCausalLM"]})
    assert "kimi_k9" in refusal({**new, "auto_map": {**KIMI, "AutoModel": "modeling.OtherModel"}})


def test_a_known_type_of_another_class_needs_no_map(made, refusal):
    new = {**DEEPSEEK, "model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"]}
    assert made(new).parameters == made(DEEPSEEK).parameters
    assert "OtherModel" in refusal({**new, "auto_map": {**KIMI, "AutoModel": "modeling.OtherModel"}})
    assert "kimi_k2" in refusal({**new, "architectures": ["KimiK2ForCausalLM"]})


def test_a_head_that_versions_of_a_class_tie_or_not_is_a_range(config_file):
    """T5 1.1 XXL stores 11,135,332,352 parameters; transformers 5.23 builds 11,003,736,064 from the same file."""
    sizes = {"d_model": 4096, "d_ff": 10240, "d_kv": 64, "num_heads": 64, "num_layers": 24, "num_decoder_layers": 24}
    keys = {"model_type": "t5", "vocab_size": 32128, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    path = config_file(keys | sizes)
    answer = ingest.model(path)
    found = answer.results["parameters"]
    assert (found.low, found.value, found.high) == (11_003_736_064, 11_135_332_352, 11_135_332_352)
    assert answer.unverified_keys == ("tie_word_embeddings",)
    assert "versions of the class disagree" in answer.warnings[0]
    with pytest.raises(IngestError, match="tie_word_embeddings"):
        ingest.model(path, strict=True)


def test_a_draft_model_goes_down_to_what_its_release_stores(made):
    """SpecForge, meta device: 1,021,853,696 with the embedding of Qwen3-8B, 151,936 × 4,096, which releases leave out."""
    keys = {
        "hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 151936, "draft_vocab_size": 32000, "tie_word_embeddings": False, "model_type": "llama",
        "num_hidden_layers": 1, "architectures": ["LlamaForCausalLMEagle3"],
    }  # fmt: skip
    found = made(keys)
    assert found.estimated == (399_523_840, 1_021_853_696, 1_021_853_696)
    assert "draft model" in found.notes[0]


def test_a_file_without_a_model_type_is_known_by_its_class(made, refusal):
    """Some copies of Qwen3-VL leave the type out. A class of two families, or none, decides nothing."""
    keys = {key: value for key, value in LLAMA.items() if key != "model_type"}
    found = made({**keys, "architectures": ["LlamaForCausalLM"]})
    assert (found.parameters, found.model_type) == (made(LLAMA).parameters, "llama")
    assert "no model type" in found.notes[0]
    assert made({"weights": [{"name": "up", "shape": [8, 4], "kind": "mlp"}]}).notes == ()
    assert "model_type" in refusal({**keys, "architectures": ["OtherForCausalLM"]})
    assert "model_type" in refusal({key: value for key, value in keys.items() if key != "architectures"})


def test_a_part_without_a_type_is_what_its_wrapper_takes_it_for(made):
    """LLaVA's class builds LLaMA for a text part without a type, whatever class the part names: no biases on Q, K, V."""
    vision = {"model_type": "clip_vision_model", **SMALL, "image_size": 28, "patch_size": 14}
    text = {key: value for key, value in LLAMA.items() if key != "model_type"}
    counts = [
        made({"model_type": "llava", "text_config": {**text, **more}, "vision_config": vision}).parameters
        for more in ({}, {"architectures": ["Qwen2ForCausalLM"]})
    ]
    assert counts[0] == counts[1]


def test_empty_experts_have_no_weights_and_no_work(made):
    """LongCat-Flash: 12 of 768 experts are chosen, of which 256 compute nothing: eight of 512 in the mean."""
    sizes = {
        "vocab_size": 131072, "hidden_size": 6144, "ffn_hidden_size": 12288, "expert_ffn_hidden_size": 2048, "num_layers": 28,
        "num_attention_heads": 64, "n_routed_experts": 512, "zero_expert_num": 256, "moe_topk": 12,
    }  # fmt: skip
    found = made({"model_type": "longcat_flash", **sizes})
    assert found.parameters == pytest.approx(560e9, rel=0.005)
    assert found.parameters_active == pytest.approx(27e9 + 131072 * 6144, rel=0.01)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_attention_heads", 5), ("num_attention_heads", 0), ("num_attention_heads", "4"), ("num_attention_heads", True),
        ("num_attention_heads", [4]), ("num_key_value_heads", 3), ("hidden_size", -64), ("hidden_size", 64.5),
        ("hidden_size", 10**30), ("hidden_size", None), ("hidden_size", {}), ("num_hidden_layers", 10**8),
        ("num_hidden_layers", float("nan")), ("num_hidden_layers", float("inf")), ("vocab_size", ""),
        ("tie_word_embeddings", "yes"), ("attention_bias", 2), ("architectures", ["LlamaForCausalLMEagle2"]),
        ("architectures", "LlamaForCausalLM"), ("model_type", 7),
    ],
)  # fmt: skip
def test_a_key_that_cannot_be_is_named(refusal, key, value):
    assert key in refusal({**LLAMA, key: value})


# Without `architectures` the class with a head over the vocabulary is meant, without `model_type` that of `architectures`.
@pytest.mark.parametrize("key", [key for key in LLAMA if key != "model_type"])
def test_a_missing_key_is_named(refusal, key):
    assert key in refusal({name: value for name, value in LLAMA.items() if name != key})


@pytest.mark.parametrize(
    "text",
    [
        "", "{", json.dumps(LLAMA)[:-20], "[]", "7", "null", '{"model_type": "llama", "model_type": "qwen2"}', "{" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000, b"\xff\xfe\x00\x01", b'{"model_type": "\x80"}',
        '{"model_type": "llama", "hidden_size": ' + "9" * 5000 + "}", json.dumps({**LLAMA, "junk": "x" * 16_100_000}),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_file_that_is_no_config_is_one_line(refusal, text):
    started = time.monotonic()
    refusal(text)
    assert time.monotonic() - started < 2


def test_an_unknown_family_names_near_ones_and_the_way_out(refusal):
    message = refusal({**LLAMA, "model_type": "qwen3_mo"})
    assert "qwen3_moe" in message
    assert "weights:" in message


@pytest.mark.parametrize("model_type", ["telechat", "molmo", "xgenmm", "yi", "zamba", "xlstm", "flava"])
def test_a_family_that_nobody_described_is_refused(refusal, model_type):
    assert "is not described" in refusal({**LLAMA, "model_type": model_type})


def test_quantization_and_training_keys_do_not_matter(made):
    more = {"quantization_config": {"bits": 4, "group_size": 128}, "attention_dropout": 0.1, "rope_theta": 1e4}
    expected = 64 * 100 * 2 + 2 * (4 * 64**2 + 3 * 64 * 128 + 2 * 64) + 64
    assert made(LLAMA).parameters == made({**LLAMA, **more, "use_cache": True}).parameters == expected


def test_a_class_without_head_and_one_with_a_classifier(made):
    names, labels = ("LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification"), {"0": "a", "1": "b", "2": "c"}
    whole, bare, classes = (made({**LLAMA, "architectures": [name], "id2label": labels}).parameters for name in names)
    assert (whole - bare, classes - bare) == (64 * 100, 3 * 64)


def test_weights_by_hand(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "weights:\n"
        "- {name: words, shape: [100, 64], kind: embedding}\n"
        "- {name: up, shape: [128, 64], kind: expert, count: 8, active: 2}\n"
        "- {name: scan, shape: [64, 3], kind: ssm, count: 0, passes: 5}\n"
        "attention:\n"
        "- {heads: 4, kv_heads: 2, key: 16, layers: 2}\n"
        "- {name: recurrent, state: 96, layers: 5}\n"
    )
    made = describe(path)
    assert (made.recurrent_layers, [row.multiply_adds for row in made.weights if not row.count]) == (5, [64 * 3 * 5])
    assert (made.parameters, made.parameters_active) == (6400 + 8 * 8192, 6400 + 2 * 8192)
    assert made.kv_cache_bytes_per_token() == 2 * 2 * 2 * (16 + 16)
    path.write_text("weights:\n- {name: words, shape: [100, 0]}\n")
    with pytest.raises(IngestError, match=r"weights\.1\.shape"):
        describe(path)
    path.write_text("weights:\n- {name: words, shape: [100, 64], colour: 3}\n")
    with pytest.raises(IngestError, match="colour"):
        describe(path)


@pytest.mark.parametrize(("name", "most"), [("vocab_size", 10**9), ("num_hidden_layers", 100_000)])
def test_a_size_at_its_limit_counts_and_one_more_is_refused(made, refusal, name, most):
    assert made({**LLAMA, name: most}).parameters > most
    assert name in refusal({**LLAMA, name: most + 1})


def test_more_parameters_than_can_be_built_are_refused(made, refusal):
    # Embedding and head 2 × 10^13, each layer 3 × 10^13.
    wide = {**LLAMA, "vocab_size": 10**9, "hidden_size": 10_000, "intermediate_size": 10**9, "num_attention_heads": 1}
    wide["tie_word_embeddings"] = False
    assert made({**wide, "num_hidden_layers": 3332}).parameters < 10**17
    assert "more than 100,000,000,000,000,000 parameters" in refusal({**wide, "num_hidden_layers": 3333})


def test_a_file_of_more_than_sixteen_megabytes_is_no_config(made, refusal):
    text = json.dumps(LLAMA)
    assert made(text + " " * (16_000_000 - len(text))).parameters > 0
    assert "larger than 16,000,000 bytes" in refusal(text + " " * (16_000_001 - len(text)))
