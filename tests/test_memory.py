"""`ingest memory`: the founding papers' tables, offload, and what it refuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.engine.registry import solve

CONTRACT = {"model_state_bytes", "model_state_bytes_per_gpu", "gpus_to_hold", "nodes_to_hold"}


def results(**options):
    return ingest.memory(**options).results


def test_the_contract_is_answered_in_full(run):
    ran = run("memory", "llama3-405b", "--gpu", "h100", "--format", "json")
    assert ran.code == 0, ran.err
    assert set(ran.data["results"]) >= CONTRACT
    assert {item["name"] for item in ran.data["assumptions"]} >= {"memory_utilization", "residual_bytes_per_gpu"}


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_the_table_of_the_zero_paper(stage, gigabytes):
    found = results(set={"parameters": 7.5e9}, gpus=64, zero_stage=stage)["model_state_bytes_per_gpu"].value
    assert found / 1e9 == pytest.approx(gigabytes, rel=3e-3)


def test_17_billion_parameters_take_272_gigabytes_and_four_gpus():
    found = results(set={"parameters": 17e9}, gpu="a100-80-sxm")
    assert found["model_state_bytes"].value == 272e9
    assert found["gpus_to_hold"].value == 4


@pytest.mark.parametrize("recipe", [2, 12, 14, 16, 18, 20])
def test_recipes_are_named_by_their_bytes(recipe):
    assert results(set={"parameters": 1e9}, recipe=str(recipe))["model_state_bytes"].value == recipe * 1e9


def test_offload_leaves_the_weights_on_the_gpu_or_nothing():
    on_host = results(set={"parameters": 13e9}, zero_stage=2, offload="cpu", gpus=8)
    assert on_host["model_state_bytes_per_gpu"].value == 2 * 13e9
    assert on_host["offloaded_bytes"].value == 16 * 13e9
    on_drives = results(set={"parameters": 13e9}, offload="nvme", gpus=8)
    assert on_drives["model_state_bytes_per_gpu"].value == 0
    assert on_drives["offloaded_bytes"].value == 18 * 13e9


def test_adapters_alone_have_gradients_and_states(tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    adapters = 32 * 16 * ((4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 14336) * 3)
    found = results(model=str(path), optimizer="lora")["model_state_bytes"].value
    assert found == pytest.approx(2 * 8_030_261_248 + 16 * adapters)
    given = results(set={"parameters": 70e9, "trainable_parameters": 1e8}, optimizer="lora")["model_state_bytes"].value
    assert given == pytest.approx(2 * 70e9 + 16 * 1e8)


def test_a_host_that_is_too_small_is_named():
    answer = ingest.memory(set={"parameters": 1e12}, offload="cpu", gpus=8, gpu="h100")
    assert any("host memory of DGX H100" in line for line in answer.warnings)


def test_model_parallelism_makes_room_for_what_is_replicated(run):
    ran = run("memory", "--set", "parameters=70e9", "--zero-stage", 0)
    assert ran.code == 1
    assert "for any number of GPUs" in ran.refusal
    found = results(set={"parameters": 70e9}, zero_stage=0, tensor_parallel=8, pipeline_parallel=4)
    assert found["gpus_to_hold"].value == 32


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("llama3-8b --recipe 17", "expected one of"),
        ("llama3-8b --recipe zero16", "did you mean 'zero-16'"),
        ("llama3-8b --optimizer adamx", "did you mean 'adamw'"),
        ("llama3-8b --offload disk", "expected one of none, cpu, nvme"),
        ("llama3-8b --offload nvme --zero-stage 1", "found nvme at ZeRO stage 1, expected ZeRO stage 3"),
        ("llama3-8b --gpus 0", "--gpus"),
        ("llama3-8b --gpus 10 --tensor-parallel 4", "multiple of tensor × pipeline = 4"),
        ("llama3-8b --utilization 1.5", "--utilization"),
        ("llama3-8b --zero-stage 5", "expected 0, 1, 2 or 3"),
        ("llama3-8b --gpu h1000", "did you mean"),
        ("llama3-8b --node dgx-h100 --gpu a100-80-sxm", "has h100-sxm"),
        ("", "the model is missing"),
    ],
)
def test_bad_input_is_one_line(run, words, told):
    ran = run("memory", *words.split())
    assert ran.code == 2, ran.err
    assert told in ran.refusal
    assert ran.out == ""


@given(st.floats(1e8, 1e13), st.sampled_from([1, 2, 3]), st.integers(0, 12))
def test_a_higher_stage_or_more_gpus_never_hold_more_each(parameters, stage, doublings):
    known = {"set": {"parameters": parameters}, "zero_stage": stage}
    here = results(**known, gpus=2**doublings)["model_state_bytes_per_gpu"].value
    assert results(**known, gpus=2 ** (doublings + 1))["model_state_bytes_per_gpu"].value <= here
    below = results(set={"parameters": parameters}, zero_stage=stage - 1, gpus=2**doublings)
    assert here <= below["model_state_bytes_per_gpu"].value


@given(st.floats(1e9, 1e13), st.floats(16e9, 300e9))
def test_the_gpus_that_hold_a_model_hold_it_and_one_fewer_does_not(parameters, memory):
    known = {
        "parameters": parameters,
        "partitioned_bytes_per_parameter": 16,
        "replicated_bytes_per_parameter": 0,
        "memory_bytes_per_gpu": memory,
        "memory_utilization": 0.9,
    }
    count = solve("gpus_to_hold", known)
    assert parameters * 16 / count <= memory * 0.9 * (1 + 1e-12)
    assert count == 1 or parameters * 16 / (count - 1) > memory * 0.9 * (1 - 1e-12)


@pytest.mark.parametrize(("stage", "told"), [(3, "at least 91 GPUs are needed"), (0, "for any number of GPUs")])
def test_too_few_gpus_are_a_warning(stage, told):
    (line,) = ingest.memory("llama3-405b", gpus=8, zero_stage=stage).warnings
    assert told in line
    assert not ingest.memory("llama3-405b", gpus=96).warnings
