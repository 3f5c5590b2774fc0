"""The sizes that a config.json may name: just below each limit and just above it."""

import json

import pytest

import ingest
from ingest.errors import IngestError

CONFIG = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "vocab_size": 1000}  # fmt: skip


def model(folder, text="", **changes):
    path = folder / "config.json"
    path.write_text(text or json.dumps(CONFIG | changes), encoding="utf-8")
    return ingest.model(path)


@pytest.mark.parametrize(("name", "most"), [("vocab_size", 10**9), ("num_hidden_layers", 100_000)])
def test_a_size_at_its_limit_counts_and_one_more_is_refused(tmp_path, name, most):
    assert model(tmp_path, **{name: most}).results["parameters"].value > most
    with pytest.raises(IngestError, match=name):
        model(tmp_path, **{name: most + 1})


def test_more_parameters_than_can_be_built_are_refused(tmp_path):
    # Embedding and head 2 × 10^13, each layer 3 × 10^13.
    wide = {"vocab_size": 10**9, "hidden_size": 10_000, "intermediate_size": 10**9, "num_attention_heads": 1}
    wide["tie_word_embeddings"] = False
    assert model(tmp_path, num_hidden_layers=3332, **wide).results["parameters"].value < 10**17
    with pytest.raises(IngestError, match="more than 100,000,000,000,000,000 parameters"):
        model(tmp_path, num_hidden_layers=3333, **wide)


def test_a_file_of_more_than_sixteen_megabytes_is_no_config(tmp_path):
    text = json.dumps(CONFIG)
    assert model(tmp_path, text + " " * (16_000_000 - len(text))).results["parameters"].value > 0
    with pytest.raises(IngestError, match="larger than 16,000,000 bytes"):
        model(tmp_path, text + " " * (16_000_001 - len(text)))
