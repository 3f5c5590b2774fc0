"""`ingest bw` takes a described architecture: one sample is one token."""

from __future__ import annotations

import json

import pytest

import ingest
from ingest.errors import IngestError

CONFIG = {
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "vocab_size": 32000,
    "tie_word_embeddings": False,
}


def answered(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(CONFIG | changes), encoding="utf-8")
    return path, ingest.bw(model=str(path), gpu="h100", nodes=4)


@pytest.mark.parametrize(("vocabulary", "width"), [(32000, 2), (65536, 2), (65537, 4), (128256, 4)])
def test_a_token_takes_two_bytes_while_every_id_fits(tmp_path, vocabulary, width):
    _, answer = answered(tmp_path, vocab_size=vocabulary)
    assert answer.given["sample_bytes"].value == width


def test_flops_are_those_of_the_model(tmp_path):
    path, answer = answered(tmp_path)
    counted = ingest.model(path, sequence_length=4096).results["flops_per_token"].value
    assert answer.given["flops_per_sample"].value == counted
    peak = next(results for rung, results in answer.levels if rung.basis == "peak")
    assert peak["samples_per_second_per_gpu"].value == pytest.approx(989.4e12 / counted)


def test_reading_tokens_is_said_to_be_negligible(tmp_path):
    _, answer = answered(tmp_path)
    assert any("negligible" in line for line in answer.warnings)


def test_an_unknown_family_is_refused(tmp_path):
    with pytest.raises(IngestError, match="llamma"):
        answered(tmp_path, model_type="llamma")
