"""What is refused: never a wrong number, always one line with file and key."""

import json
import time

import pytest

from ingest.architecture import describe
from ingest.errors import IngestError

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
}


@pytest.fixture
def refusal(tmp_path):
    def refuse(text):
        path = tmp_path / "config.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(IngestError) as caught:
            describe(path)
        message = str(caught.value)
        assert "\n" not in message
        assert str(path) in message
        assert caught.value.exit_code == 1
        return message

    return refuse


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_attention_heads", 5),
        ("num_attention_heads", 0),
        ("num_attention_heads", "4"),
        ("num_attention_heads", True),
        ("num_attention_heads", [4]),
        ("num_key_value_heads", 3),
        ("hidden_size", -64),
        ("hidden_size", 64.5),
        ("hidden_size", 10**30),
        ("hidden_size", None),
        ("hidden_size", {}),
        ("num_hidden_layers", 10**8),
        ("num_hidden_layers", float("nan")),
        ("num_hidden_layers", float("inf")),
        ("vocab_size", ""),
        ("tie_word_embeddings", "yes"),
        ("attention_bias", 2),
        ("architectures", ["LlamaForCausalLMEagle2"]),
        ("architectures", "LlamaForCausalLM"),
        ("model_type", 7),
    ],
)
def test_a_key_that_cannot_be_is_named(refusal, key, value):
    assert key in refusal(json.dumps({**LLAMA, key: value}))


# Without `architectures` the class with a head over the vocabulary is meant, without `model_type` that of `architectures`.
@pytest.mark.parametrize("key", [key for key in LLAMA if key not in ("architectures", "model_type")])
def test_a_missing_key_is_named(refusal, key):
    assert key in refusal(json.dumps({name: value for name, value in LLAMA.items() if name != key}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        json.dumps(LLAMA)[:-20],
        "[]",
        "7",
        "null",
        '{"model_type": "llama", "model_type": "qwen2"}',
        "{" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        b"\xff\xfe\x00\x01",
        b'{"model_type": "\x80"}',
        '{"model_type": "llama", "hidden_size": ' + "9" * 5000 + "}",
        json.dumps({**LLAMA, "junk": "x" * 16_100_000}),
    ],
    ids=range(13),
)
def test_a_file_that_is_no_config_is_one_line(refusal, text):
    started = time.monotonic()
    refusal(text)
    assert time.monotonic() - started < 2


def test_an_unknown_family_names_near_ones_and_the_way_out(refusal):
    message = refusal(json.dumps({**LLAMA, "model_type": "qwen3_mo"}))
    assert "qwen3_moe" in message
    assert "weights:" in message


@pytest.mark.parametrize(
    "config",
    [
        {**LLAMA, "model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3},
        {**LLAMA, "model_type": "nemotron_h", "hybrid_override_pattern": "M-X"},
        {**LLAMA, "model_type": "gemma4", "text_config": LLAMA, "audio_config": {"hidden_size": 8}},
        {"model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100, "num_heads": 3},
    ],
)  # fmt: skip
def test_what_a_family_does_not_describe_is_refused(refusal, config):
    assert "expected" in refusal(json.dumps(config))


@pytest.mark.parametrize("model_type", ["telechat", "molmo", "xgenmm", "yi", "zamba", "xlstm", "blip"])
def test_a_family_that_nobody_described_is_refused(refusal, model_type):
    assert "is not described" in refusal(json.dumps({**LLAMA, "model_type": model_type}))


def test_quantization_and_training_keys_do_not_matter(tmp_path):
    plain, full = tmp_path / "plain.json", tmp_path / "full.json"
    plain.write_text(json.dumps(LLAMA))
    more = {
        "quantization_config": {"bits": 4, "group_size": 128},
        "attention_dropout": 0.1,
        "rope_theta": 1e4,
        "use_cache": True,
    }
    full.write_text(json.dumps({**LLAMA, **more}))
    assert (
        describe(plain).parameters == describe(full).parameters == 64 * 100 * 2 + 2 * (4 * 64**2 + 3 * 64 * 128 + 2 * 64) + 64
    )


def test_a_class_without_head_and_one_with_a_classifier(tmp_path):
    path = tmp_path / "config.json"
    found = {}
    for name in ("LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification"):
        path.write_text(json.dumps({**LLAMA, "architectures": [name], "id2label": {"0": "a", "1": "b", "2": "c"}}))
        found[name] = describe(path).parameters
    assert found["LlamaForCausalLM"] - found["LlamaModel"] == 64 * 100
    assert found["LlamaForSequenceClassification"] - found["LlamaModel"] == 3 * 64


def test_weights_by_hand(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "weights:\n"
        "- {name: words, shape: [100, 64], kind: embedding}\n"
        "- {name: up, shape: [128, 64], kind: expert, count: 8, active: 2}\n"
        "attention:\n"
        "- {heads: 4, kv_heads: 2, key: 16, layers: 2}\n"
    )
    made = describe(path)
    assert (made.parameters, made.parameters_active) == (6400 + 8 * 8192, 6400 + 2 * 8192)
    assert made.kv_cache_bytes_per_token() == 2 * 2 * 2 * (16 + 16)
    path.write_text("weights:\n- {name: words, shape: [100, 0]}\n")
    with pytest.raises(IngestError, match=r"weights\.1\.shape"):
        describe(path)
    path.write_text("weights:\n- {name: words, shape: [100, 64], colour: 3}\n")
    with pytest.raises(IngestError, match="colour"):
        describe(path)
