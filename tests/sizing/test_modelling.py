"""`ingest model`, as a command and as a function."""

import ingest
from ingest.sizing.model import OF_PREDICTION, QUESTION

CONTRACT = (
    "parameters", "parameters_active", "parameters_embedding", "weights_bytes", "flops_per_token",
    "flops_per_token_full_attention", "flops_per_token_6n", "kv_cache_bytes_per_token",
)  # fmt: skip


def test_the_command_gives_what_the_contract_names(run):
    done = run("model", "llama2-70b", "--sequence-length", "4096", "--format", "json")
    assert done.code == 0
    assert set(CONTRACT) <= set(done.data["results"])
    values = {name: item["value"] for name, item in done.data["results"].items()}
    assert values["parameters"] == 68_976_648_192
    assert values["weights_bytes"] == 137_953_296_384
    assert values["kv_cache_bytes_per_token"] == 327_680
    assert values["flops_per_token_6n"] == 6 * values["parameters_active"]
    assert sum(row["weight_parameters"] for row in done.data["tables"]["weights"]) == values["parameters"]


def test_bytes_and_operations_follow_the_configuration(run):
    wide, narrow = (
        run("model", "llama3-8b", "--precision", name, "--format", "json").data["results"] for name in ("fp32", "fp8")
    )
    assert wide["weights_bytes"]["value"] == 4 * narrow["weights_bytes"]["value"]
    assert wide["parameters"] == narrow["parameters"]
    short, long = (ingest.model("llama3-8b", sequence_length=n).results for n in (1024, 131_072))
    assert short["parameters"] == long["parameters"]
    for results in (short, long):
        assert results["flops_per_token"].value < results["flops_per_token_full_attention"].value
        assert results["flops_per_token"].value == 3 * results["forward_flops_per_token"].value
    assert long["flops_per_token"].value > 2 * short["flops_per_token"].value
    mistral, llama = (ingest.model(name, sequence_length=131_072).results for name in ("mistral-7b", "llama3-8b"))
    assert mistral["flops_per_token"].value < 0.4 * llama["flops_per_token"].value
    answer = ingest.model("llama3-8b", set={"parameters": 1e9})
    assert answer.results["weights_bytes"].value == 2e9
    answer = ingest.model("deepseek-v3")
    for name in {*QUESTION.names} - {*OF_PREDICTION}:
        assert answer.derivation(name).formula is not None


def test_defaults_of_the_class_are_told(run, config_file):
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
    assert run("model", config_file(sizes, model_type="phi")).code == 0
    assert "num_key_value_heads" in run("model", config_file(sizes, model_type="mistral")).err


def test_an_entry_says_what_its_release_has_beyond_it():
    """DeepSeek's paper counts 671 billion parameters, the config.json of the release the prediction module too."""
    assert any("prediction module" in warning for warning in ingest.model("deepseek-v3").warnings)
