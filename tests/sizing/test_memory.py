"""`ingest memory`: the founding papers' tables, offload, and what it refuses."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import CATALOG, LLAMA, table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.architecture import describe
from ingest.architecture.weight_table import Weight
from ingest.engine.messages import rule_of
from ingest.engine.registry import solve
from ingest.sizing.memory_inputs import PLACES, kept_elements

#: What a program can allocate on an H100: 80 GB on the label.
H100 = 79.11 * 2**30


def results(**options):
    return ingest.memory(**options).results


def test_sizes_of_the_founding_papers():
    # Korthikanti et al., table 2: s·b·h·(34 + 5·a·s/h)/t, 34 of it with selective, 2 with full recomputation.
    unit = 2048 * 12_288 / 8 * 96
    options = {"model": "gpt3-175b", **GPT3, "set": {"framework_bytes_per_gpu": 0}}
    answers = {way: ingest.memory(**options, recompute=way) for way in ("none", "selective", "full")}
    kept = {way: answer.known.value("kept_activation_bytes") / unit for way, answer in answers.items()}
    assert kept == pytest.approx({"none": 34 + 80, "selective": 34, "full": 2 * 98 / 96}, rel=3e-3)
    assert answers["none"].known.value("selective_saving") == pytest.approx(0.70, abs=0.005)
    found = ingest.memory("gpt3-175b", **GPT3, recompute="selective", no_sequence_parallel=True)
    unit = 2048 * 12_288 * 96
    assert found.known.value("kept_activation_bytes") / unit == pytest.approx(10 + 24 / 8, rel=5e-3)


RECIPES = [*((str(held), held) for held in (2, 12, 14, 16, 18, 20)), ("bf16-only", 8), ("deepseek-fp8", 13), ("fp8", 18)]


@pytest.mark.parametrize(("recipe", "held"), RECIPES)
def test_recipes_keep_their_bytes(recipe, held):
    assert results(set={"parameters": 1e9}, recipe=recipe)["model_state_bytes"].value == held * 1e9


def test_offload_leaves_the_weights_on_the_gpu_or_nothing():
    on_host = results(set={"parameters": 13e9}, zero_stage=2, offload="cpu", gpus=8)
    assert on_host["model_state_bytes_per_gpu"].value == 2 * 13e9
    assert on_host["offloaded_bytes"].value == 16 * 13e9
    on_drives = results(set={"parameters": 13e9}, offload="nvme", gpus=8)
    assert on_drives["model_state_bytes_per_gpu"].value == 0
    assert on_drives["offloaded_bytes"].value == 18 * 13e9


def test_adapters_alone_have_gradients_and_states(config_file):
    adapters = 32 * 16 * ((4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 14336) * 3)
    found = results(model=config_file(LLAMA), optimizer="lora")["model_state_bytes"].value
    assert found == pytest.approx(2 * 8_030_261_248 + 16 * adapters)
    given = results(set={"parameters": 70e9, "trainable_parameters": 1e8}, optimizer="lora")["model_state_bytes"].value
    assert given == pytest.approx(2 * 70e9 + 16 * 1e8)


def test_hosts_and_layouts_that_do_not_fit(run):
    answer = ingest.memory(set={"parameters": 1e12}, offload="cpu", gpus=8, gpu="h100")
    assert any("host memory of DGX H100" in line for line in answer.warnings)
    # Model parallelism makes room for what is replicated.
    ran = run("memory", "--set", "parameters=70e9", "--zero-stage", 0)
    assert ran.code == 1
    assert "for any number of GPUs" in ran.refusal
    found = results(set={"parameters": 70e9}, zero_stage=0, tensor_parallel=8, pipeline_parallel=4)
    assert found["gpus_to_hold"].value == 32


@pytest.mark.parametrize(
    "asked", [{"zero_stage": 1}, {"sequence_length": 8192}, {"sequence_length": 131072}, {"zero_stage": 2}]
)
def test_advice_for_a_layout_that_does_not_fit_is_not_done_yet_and_helps(asked):
    asked = {"model": "llama3-70b", "gpu": "h100", "gpus": 64, **asked}
    told = ingest.memory(**asked).unmet.partition(": set ")[2].partition(";")[0].split(" or ")
    assert len(told) > (asked.get("sequence_length") == 8192)
    for name, value in (words.removeprefix("--").split() for words in told):
        assert "gpus_to_hold" in results(**{**asked, name.replace("-", "_"): value if value.isalpha() else int(value)})


@given(st.floats(1e8, 1e13), st.sampled_from([1, 2, 3]), st.integers(0, 12))
def test_a_higher_stage_or_more_gpus_never_hold_more_each(parameters, stage, doublings):
    known = {"set": {"parameters": parameters}, "zero_stage": stage}
    here = results(**known, gpus=2**doublings)["model_state_bytes_per_gpu"].value
    assert results(**known, gpus=2 ** (doublings + 1))["model_state_bytes_per_gpu"].value <= here
    below = results(set={"parameters": parameters}, zero_stage=stage - 1, gpus=2**doublings)
    assert here <= below["model_state_bytes_per_gpu"].value


@given(st.floats(1e9, 1e13), st.floats(16e9, 300e9))
def test_the_gpus_that_hold_a_model_hold_it_and_one_fewer_does_not(parameters, memory):
    known = {"parameters": parameters, "partitioned_bytes_per_parameter": 16, "replicated_bytes_per_parameter": 0,
             "memory_bytes_per_gpu": memory, "memory_utilization": 0.9}  # fmt: skip
    count = solve("gpus_to_hold", known)
    assert parameters * 16 / count <= memory * 0.9 * (1 + 1e-12)
    assert count == 1 or parameters * 16 / (count - 1) > memory * 0.9 * (1 - 1e-12)


@pytest.mark.parametrize(("stage", "told"), [(3, "at least 85 GPUs are needed"), (0, "for any number of GPUs")])
def test_too_few_gpus_do_not_meet_the_need(run, stage, told):
    assert told in ingest.memory("llama3-405b", gpus=8, zero_stage=stage).unmet
    assert not ingest.memory("llama3-405b", gpus=96).unmet
    ran = run("memory", "llama3-405b", "--gpus", "84", "--format", "json")
    assert ran.code == 3
    assert "at least 85 GPUs" in ran.refusal
    assert run("memory", "llama3-405b", "--gpus", "85").code == 0


def step(model, **options):
    return {name: item.value for name, item in results(model=model, **options).items()}


GPT3 = {"gpu": "a100", "gpus": 64, "tensor_parallel": 8, "pipeline_parallel": 8, "sequence_length": 2048, "recipe": "18",
        "attention": "scores", "dropout": True, "zero_stage": 0}  # fmt: skip


ACTIVATIONS = (Path(__file__).parents[1] / "activations.csv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    "row", [*csv.DictReader(ACTIVATIONS)], ids=lambda row: f"{row['model']}-{row['recompute']}-{row['attention']}"
)
def test_activations_are_those_that_torch_saves(row, tmp_path):
    """Measured on small models by `measure_activations.py`; plain kernels keep the activated gate too."""
    hidden, width = int(row["hidden"]), int(row["hidden"]) // int(row["heads"])
    layers, inner, keys = int(row["layers"]), int(row["inner"]), int(row["kv_heads"]) * width
    experts, chosen = int(row["experts"]), int(row["chosen"])
    kind, number, active = ("expert", experts, chosen) if experts else ("mlp", 1, 1)
    rows = [("attention.q", hidden, hidden), ("attention.k", keys, hidden), ("attention.v", keys, hidden)]
    rows = [(*one, "attention", 1, 1) for one in [*rows, ("attention.o", hidden, hidden)]]
    names = ("gate", "up") if row["gated"] == "1" else ("up",)
    rows += [(f"{kind}.{name}", inner, hidden, kind, number, active) for name in names]
    rows += [(f"{kind}.down", hidden, inner, kind, number, active)]
    rows += [("router", experts, hidden, "router", 1, 1)] if experts else []
    weights = [
        {"name": name, "shape": [out, into], "kind": kind, "count": layers * count, "active": layers * taken}
        for name, out, into, kind, count, taken in rows
    ]
    weights += [{"name": "norm", "shape": [hidden], "kind": "norm", "count": 2 * layers + 1}]
    words = int(row["vocabulary"])
    weights += [{"name": name, "shape": [words, hidden], "kind": name} for name in ("embedding", "head")]
    heads = {"heads": int(row["heads"]), "kv_heads": int(row["kv_heads"]), "key": width, "layers": layers}
    path = tmp_path / "model.yaml"
    sizes = {"num_hidden_layers": layers, "hidden_size": hidden, "vocab_size": words}
    path.write_text(json.dumps({**sizes, "weights": weights, "attention": [heads]}), encoding="utf-8")
    answer = ingest.memory(
        str(path), gpus=1, sequence_length=row["length"], micro_batch=row["batch"], recompute=row["recompute"],
        attention=row["attention"], zero_stage=0, set={"unfused_share": 1},
    )  # fmt: skip
    assert answer.known.value("kept_activation_bytes") == pytest.approx(int(row["saved_bytes"]), rel=0.03)


@pytest.mark.parametrize(("virtual", "factor"), [(1, 1), (3, 1 + 7 / 24)])
def test_interleaving_keeps_more_micro_batches_in_flight(virtual, factor):
    found = step("gpt3-175b", **GPT3, recompute="selective", virtual_stages=virtual)
    assert found["activation_bytes_per_gpu"] == pytest.approx(34 * 2048 * 12_288 / 8 * 96 * factor, rel=3e-3)


def test_stages_and_offload_leave_what_is_at_work():
    # The last stage holds logits and the first more activations.
    alone = step("llama3-8b", gpus=8, sequence_length=8192)
    assert alone["logit_bytes_per_gpu"] == 6 * 8192 * 128_256
    assert step("llama3-8b", gpus=8, pipeline_parallel=2, sequence_length=8192)["logit_bytes_per_gpu"] == 0
    # A vocabulary that outweighs the layers in flight makes the last stage the fullest one.
    assert step("llama3-8b", gpus=8, pipeline_parallel=2, sequence_length=8192, recompute="full")["logit_bytes_per_gpu"] > 0
    # Weights off the gpu leave the layer at work on it.
    found = step("llama3-405b", offload="nvme")
    assert found["total_bytes_per_gpu"] > found["gather_bytes_per_gpu"] > 4 * 405.85e9 / 126
    answer = ingest.memory(set={"parameters": 24.17e12}, recipe="2", offload="nvme")
    assert answer.results["offloaded_bytes"].value == answer.results["model_state_bytes"].value == 48.34e12
    assert "total_bytes_per_gpu" in answer.unknown


@given(
    st.sampled_from(["llama3-8b", "mixtral-8x7b", "deepseek-v3"]), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2, 8]), st.sampled_from(["none", "full", "norm,expert"]), st.sampled_from([0, 1, 2, 3]),
    st.sampled_from(["none", "cpu", "nvme"]), st.sampled_from(["2", "14", "16", "20"]),
)  # fmt: skip
def test_the_parts_add_up(model, tensor, pipeline, context, recompute, stage, offload, recipe):
    """On a GPU, and over GPUs and host together: no byte is lost, and none is counted twice."""
    if (stage, offload) not in PLACES:
        return
    options = {"tensor_parallel": tensor, "pipeline_parallel": pipeline, "context_parallel": context, "zero_stage": stage}
    answer = ingest.memory(
        model, gpus=256, **options, recompute=recompute, offload=offload, recipe=recipe, sequence_length=4096
    )
    *parts, whole = (row["bytes_per_gpu"] for row in answer.tables["parts"])
    assert sum(parts) == pytest.approx(whole)
    pairs = ingest.memory(
        model, gpus=256, **options, recompute=recompute, offload=offload, recipe=recipe, sequence_length=4096, algorithm="dpo"
    )
    beside = {row["part"]: row["bytes_per_gpu"] for row in pairs.tables["parts"]}
    assert sum(beside.values()) == pytest.approx(2 * beside["total"])
    assert beside.get("reference weights", 0) == pytest.approx(beside["weights"])
    double = ("activation_bytes_per_gpu", "gathered_token_bytes_per_gpu")
    assert [pairs.results[one].value for one in double] == pytest.approx([2 * answer.results[one].value for one in double])
    assert recipe != "2" or [row["bytes_per_gpu"] for row in answer.tables["parts"][1:3]] == [0, 0]  # inference
    assert whole == pytest.approx(answer.results["total_bytes_per_gpu"].value)
    if stage == 3 and pipeline == 1:
        off = answer.results["offloaded_bytes"].value if offload != "none" else 0
        held = answer.results["model_state_bytes_per_gpu"].value * 256
        assert held + off == pytest.approx(answer.results["model_state_bytes"].value)


def test_matrices_keep_narrower_inputs_in_fp8():
    """B per token and layer: outputs of norms and the gated product lose a byte, that of attention gains one."""
    options = {"gpus": 8, "sequence_length": 8192}
    wide, narrow = (
        ingest.memory("llama3-8b", **options, fp8_inputs=fp8).known.value("layer_activation_bytes") / 8192 / 32
        for fp8 in (False, True)
    )
    assert wide - narrow == 2 * 4096 + 14_336 - 4096
    again = ingest.memory("llama3-8b", **options, fp8_inputs=True, recompute="norm,activation")
    assert again.known.value("narrowed_common_elements") == 0
    assert again.known.value("narrowed_split_elements") == -4096 * 32
    # A router reads what its norm yields unchanged; experts read a copy of two tokens.
    experts = ingest.memory("mixtral-8x7b", **options, fp8_inputs=True).known
    assert experts.value("narrowed_common_elements") == 4096 * 32
    assert experts.value("narrowed_split_elements") == 32 * (2 * 4096 + 2 * 14_336 - 4096)


@pytest.mark.parametrize(("layers", "share"), [(0.5, None), (8, 0.5), (16, 1), (20, 1)])
def test_some_layers_of_each_rank_are_computed_again(layers, share):
    options = {"gpus": 8, "pipeline_parallel": 2, "sequence_length": 8192}
    if share is None:
        with pytest.raises(ingest.errors.UsageError, match="recompute-layers"):
            ingest.memory("llama3-8b", **options, recompute="full", recompute_layers=layers)
        return
    none, full = (ingest.memory("llama3-8b", **options, recompute=way).known for way in ("none", "full"))
    kept = ingest.memory("llama3-8b", **options, recompute="full", recompute_layers=layers).known
    wanted = full.value("kept_activation_bytes") * share + none.value("kept_activation_bytes") * (1 - share)
    assert kept.value("kept_activation_bytes") == pytest.approx(wanted)
    assert (kept.value("recomputed_layer_bytes") > 0) is (share == 1)


def test_stages_of_pytorch_keep_what_they_sent():
    """Llama 3.1 405B of torchtitan: 8 micro-batches of 4 sequences, whose 128 MiB on each rank add up to a GiB."""
    options = {"gpus": 512, "tensor_parallel": 8, "pipeline_parallel": 8, "sequence_length": 8192, "micro_batch": 4}
    options |= {"micro_batches": 8, "recompute": "full", "zero_stage": 1}
    freed = ingest.memory("llama3-405b", **options).results["activation_bytes_per_gpu"]
    kept = ingest.memory("llama3-405b", **options, set={"kept_stage_outputs": 1}).results["activation_bytes_per_gpu"]
    assert kept.value - freed.value == pytest.approx(2**30)
    assert freed.high >= kept.value
    alone = {**options, "pipeline_parallel": 1, "set": {"kept_stage_outputs": 1}}
    assert ingest.memory("llama3-405b", **alone).known.value("kept_output_bytes") == 0


def test_experts_may_be_shared_by_other_ranks_than_the_layers():
    """With one tensor rank for each expert, the ranks of a stage hold 64 experts each as whole ones."""
    options = {"gpus": 1024, "tensor_parallel": 8, "pipeline_parallel": 16, "expert_parallel": 64, "sequence_length": 4096}
    with pytest.raises(ingest.errors.UsageError, match="a divisor of the 8 replicas, or --expert-tensor-parallel 1"):
        ingest.memory("deepseek-v3", **options)
    with pytest.raises(ingest.errors.UsageError, match="expert-tensor-parallel: found 3, expected a divisor of 8 tensor"):
        ingest.memory("deepseek-v3", **options, expert_tensor_parallel=3)
    answer = ingest.memory("deepseek-v3", **options, expert_tensor_parallel=1)
    share = answer.known.value("expert_share")
    held = answer.known.value("resident_parameters_per_gpu") / answer.known.value("parameters_per_gpu")
    assert share > 0.95
    assert held == pytest.approx(1 - share + share * 8 / 64)
    options["expert_parallel"] = 8
    together = ingest.memory("deepseek-v3", **options)
    assert together.known.value("resident_parameters_per_gpu") == pytest.approx(
        ingest.memory("deepseek-v3", **options, expert_tensor_parallel=8).known.value("resident_parameters_per_gpu")
    )


@pytest.mark.parametrize(("group", "fits"), [(20, True), (19, False)])
def test_groups_of_hybrid_sharding_hold_the_model_or_do_not(group, fits):
    options = {"sequence_length": 8192, "recompute": "full", "gpus": group * 4, "hybrid_shard": group}
    answer = ingest.memory("llama3-70b", **options)
    assert (not answer.unmet) is fits
    assert answer.known.value("partition_ranks") == group


@pytest.mark.parametrize(
    ("options", "told"), table("sizing/refused.yaml")["a_step_that_cannot_be_meant_or_contradicts_its_recipe_is_refused"]
)
def test_a_step_that_cannot_be_meant_or_contradicts_its_recipe_is_refused(options, told):
    with pytest.raises(ingest.errors.IngestError, match=told):
        ingest.memory(**{"model": "llama3-8b", "sequence_length": 4096, **options})


@pytest.mark.parametrize(
    ("model", "length", "gpus"),
    [("llama3-70b", 8192, 16), ("llama3-70b", 131_072, 32), ("mixtral-8x7b", 4096, 16), ("deepseek-v3", 4096, 120)],
)
def test_the_fewest_gpus_hold_a_model_and_fewer_do_not(model, length, gpus):
    options = {"gpu": "h100", "sequence_length": length}
    answer = ingest.memory(model, **options, search=True)
    first, *_ = answer.tables["layouts"]
    assert first["gpus"] == gpus == min(row["gpus"] for row in answer.tables["layouts"])
    sizes = {f"{kind}_parallel": first[f"{kind}_parallel"] for kind in ("tensor", "pipeline", "context", "expert")}
    way = {"zero_stage": first["zero_stage"], "recompute": first["recompute"]}
    alone = ingest.memory(model, **options, **sizes, **way, gpus=gpus)
    assert not alone.unmet
    assert alone.results["total_bytes_per_gpu"].value == pytest.approx(first["bytes_per_gpu"])
    group = (
        sizes["tensor_parallel"] * sizes["pipeline_parallel"] * math.lcm(first["context_parallel"], first["expert_parallel"])
    )
    fewer = int(answer.results["gpus_to_hold"].value) - group
    assert fewer < gpus
    if fewer > 0:
        assert ingest.memory(model, **options, **sizes, **way, gpus=fewer).unmet


def test_each_rejected_layout_has_a_reason_that_holds():
    answer = ingest.memory("llama3-70b", gpu="h100", sequence_length=8192, gpus=16, search=True)
    rejected = answer.tables["rejected"]
    assert all(row["bytes_per_gpu"] > H100 and "exceed 84.9 GB" in row["reason"] for row in rejected)
    for row in (rejected[0], rejected[-1]):
        sizes = {name: row[name] for name in row if name.endswith("_parallel")}
        way = {"zero_stage": row["zero_stage"], "recompute": row["recompute"]}
        assert ingest.memory("llama3-70b", gpu="h100", sequence_length=8192, gpus=16, **sizes, **way).unmet
    assert all(row["gpus"] == 16 for row in answer.tables["layouts"])


def test_no_layout_on_the_gpus_given_is_a_need_that_is_not_met(run):
    ran = run("memory", "llama3-70b", "--gpu", "h100", "--sequence-length", "8192", "--gpus", "8", "--search")
    assert ran.code == 3
    assert "no layout holds the model" in ran.refusal
    assert run("memory", "llama3-70b", "--search").code == 2


#: Measured peaks in GiB of plain PyTorch: torchtitan, benchmarks/llama3_h100_202412_torchtitan.md; the last is of pytorch
#: pull request 129721.
MEASURED = [
    ("llama3-8b", 8, 83.9, {"sequence_length": 32_768, "recompute": "full"}),
    ("llama3-8b", 8, 84.5, {"sequence_length": 262_144, "context_parallel": 8, "recompute": "full"}),
    ("llama3-70b", 256, 71.9, {"sequence_length": 8192, "micro_batch": 16, "tensor_parallel": 8, "recompute": "full"}),
    ("llama3-8b", 8, 71.99, {"sequence_length": 8192}),
]


@pytest.mark.parametrize(("model", "gpus", "peak", "options"), MEASURED)
def test_measured_peaks_lie_within_the_range(model, gpus, peak, options):
    answer = ingest.memory(model, gpu="h200", gpus=gpus, **options)
    total = answer.results["total_bytes_per_gpu"]
    assert total.low < peak * 2**30 < total.high * 1.02
    # On a GPU of 80 GB the same step does not fit, or the answer warns that it may not.
    tight = ingest.memory(model, gpu="h100", gpus=gpus, **options)
    assert tight.unmet or (total.high > H100) == any("kernels and loss are not fused" in line for line in tight.warnings)


@pytest.mark.parametrize(("length", "warned"), [(22_528, False), (32_768, True)])
def test_a_length_that_ran_and_one_that_ran_out_of_memory(config_file, length, warned):
    """open-r1, OlympicCoder-32B on 128 H100: 22,528 tokens run, 32k run out of memory."""
    config = {
        "model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 27_648, "num_hidden_layers": 64,
        "num_attention_heads": 40, "num_key_value_heads": 8, "vocab_size": 152_064, "tie_word_embeddings": False,
    }  # fmt: skip
    asked = {"model": config_file(config), "gpu": "h100", "gpus": 128, "sequence_length": length, "recompute": "full"}
    answer = ingest.memory(**asked)
    assert not answer.unmet
    assert any("kernels and loss are not fused" in line for line in answer.warnings) is warned
    assert bool(ingest.memory(**asked, set={"logit_width": 12, "unfused_share": 1}).unmet) is warned


ROUTED = 58 * 8 * 2048


@pytest.mark.parametrize(
    ("again", "dropped"),
    [
        ("latent", 61 * (24_576 + 128 * (192 + 128))),
        ("norm", 61 * (1536 + 512)),
        ("activation", 3 * 18_432 + 58 * 2048 + ROUTED),
        ("mlp", 3 * 3 * 18_432),
        ("latent,expert", 61 * (24_576 + 128 * (192 + 128)) + 58 * 8 * 7168 + 3 * ROUTED),
    ],
)
def test_parts_of_a_layer_are_computed_again(again, dropped):
    """DeepSeek-V3, numbers of a token by hand: 61 layers, 3 of them dense, 128 heads, 8 of 256 experts of width 2,048."""
    options = {"gpus": 1024, "pipeline_parallel": 8, "expert_parallel": 64, "zero_stage": 1, "sequence_length": 4096}
    kept = ingest.memory("deepseek-v3", **options).known.value("split_elements")
    known = ingest.memory("deepseek-v3", recompute=again, **options).known
    assert kept - known.value("split_elements") == dropped
    normed = 7168 * (2 * 61 + 1) if again == "norm" else 0
    assert known.value("recomputed_layer_bytes") == pytest.approx(4096 * 2 * (dropped + normed) / 61)


def test_adapters_keep_a_wide_model_in_16_bits():
    found = results(set={"parameters": 65e9, "trainable_parameters": 1e9}, recipe="qlora")
    assert found["model_state_bytes"].value == pytest.approx(65e9 * 0.515875 + 1e9 * (2 + 2 + 12))
    # Of 70B parameters two H100 hold the frozen weights (141 GB) and what stands beside them; one does not hold half.
    found = results(set={"parameters": 70e9, "trainable_parameters": 1e8}, recipe="lora")
    assert found["model_state_bytes"].value == pytest.approx(70e9 * 2 + 1e8 * (2 + 2 + 12))
    options = {"gpu": "h100", "sequence_length": 2048, "recompute": "full", "recipe": "lora"}
    assert [bool(ingest.memory("llama3-70b", gpus=gpus, **options).unmet) for gpus in (1, 2)] == [True, False]


def test_the_search_stays_within_practised_sizes():
    """The largest size of each kind is tried, the next is not; ZeRO-3 has no pipeline unless the user asks for it."""
    answer = ingest.memory("deepseek-v3", gpu="h100", sequence_length=16_384, search=True)
    rows = [*answer.tables["layouts"], *answer.tables["rejected"]]
    largest = {kind: max(row[f"{kind}_parallel"] for row in rows) for kind in ("tensor", "pipeline", "context", "expert")}
    assert largest == {"tensor": 8, "pipeline": 32, "context": 4, "expert": 64}  # 61 layers; 4,096 tokens each
    assert {(row["zero_stage"], row["pipeline_parallel"] > 1) for row in rows} == {("1", False), ("1", True), ("3", False)}
    asked = ingest.memory("deepseek-v3", gpu="h100", sequence_length=16_384, search=True, zero_stage=3, pipeline_parallel=4)
    assert {row["pipeline_parallel"] for row in asked.tables["layouts"]} == {4}
    long = ingest.memory("llama3-405b", gpu="h100", sequence_length=1_048_576, search=True)
    rows = [*long.tables["layouts"], *long.tables["rejected"]]
    assert max(row["pipeline_parallel"] for row in rows) == max(row["context_parallel"] for row in rows) == 64


def test_adapters_compute_layers_again_and_a_search_lists_what_practice_runs():
    """Four A100 of 80 GB hold adapters of Qwen3-32B by full recomputation, which trainers do unless they are told not to."""
    asked = {"model": "qwen3-32b", "gpu": "a100", "gpus": 4, "recipe": "lora", "sequence_length": 8192}
    plain, usual = ingest.memory(**asked, recompute="none"), ingest.memory(**asked)
    assert (usual.chosen["recompute"]["value"], usual.unmet) == ("full", "")
    assert plain.unmet.endswith("; with --recompute full: 37.1 GB on each, which fits")
    # Libraries differ: the range of what nobody says reaches both, and only what is said is said to fit.
    total = usual.results["total_bytes_per_gpu"]
    assert total.high > plain.results["total_bytes_per_gpu"].high * 0.99
    assert "W72" in map(rule_of, usual.warnings)
    full, none = (one.results["total_bytes_per_gpu"] for one in (ingest.memory(**asked, recompute="full"), plain))
    assert full.high < none.low
    found = ingest.memory(**asked, search=True)
    rows = {(*(row[f"{kind}_parallel"] for kind in ("tensor", "pipeline", "context")), row["zero_stage"], row["recompute"]):
            row["bytes_per_gpu"] for row in found.tables["layouts"]}  # fmt: skip
    assert rows[1, 1, 1, "3", "full"] == pytest.approx(usual.results["total_bytes_per_gpu"].value, rel=1e-12)
    # The first one fits where all ranges end high, and a row of the table says what the answer does.
    assert next(iter(rows.values())) == pytest.approx(found.results["total_bytes_per_gpu"].value, rel=1e-12)
    assert "W72" not in map(rule_of, found.warnings)


def test_of_equal_layouts_the_roomier_ones_come_first():
    """A tight layout that computes less again neither comes before a roomier one of as many GPUs nor displaces it."""
    rows = ingest.memory("llama3-70b", gpu="h100", sequence_length=8192, search=True).tables["layouts"]
    equal = [(row["bytes_per_gpu"] > 0.95 * H100, row["recompute"]) for row in rows if row["gpus"] == 16]
    assert equal == sorted(equal, key=lambda one: one[0])
    assert equal[0] == (False, "norm,mlp")
    assert (True, "norm,activation") in equal
    alike = [row for row in rows if (row["gpus"], row["recompute"]) == (32, "none")]
    ranks = [row["tensor_parallel"] * row["pipeline_parallel"] for row in alike]
    assert ranks == sorted(ranks), "then those that divide the model least"


def test_the_search_computes_parts_of_layers_again():
    """Parts cost less than whole layers, and save GPUs where nothing computed again takes more."""
    options = {"gpu": "h100", "sequence_length": 4096, "search": True}
    rows = ingest.memory("deepseek-v3", **options).tables["layouts"]
    fewest = {}
    for row in rows:
        fewest.setdefault(row["recompute"], row["gpus"])
    assert fewest["norm,latent,activation"] < fewest["none"]
    alone = ingest.memory("deepseek-v3", **options, recompute="none").tables["layouts"]
    assert {row["recompute"] for row in alone} == {"none"}


def test_a_vector_of_weights_keeps_nothing_as_no_matrix_reads_it():
    model, scales = describe("llama3-8b", CATALOG), Weight("layers.scales", (4096,), "other", passes=32)
    assert kept_elements(replace(model, weights=(*model.weights, scales))) == kept_elements(model)


def test_layers_may_be_wider_than_the_embedding(config_file):
    sizes = {"model_type": "opt", "hidden_size": 1024, "word_embed_proj_dim": 512, "num_hidden_layers": 24, "ffn_dim": 4096}
    rest = {"num_attention_heads": 16, "vocab_size": 50_272, "max_position_embeddings": 2048, "do_layer_norm_before": False}
    answer = ingest.memory(config_file(sizes | rest), sequence_length=1024, gpus=8)
    assert answer.known.value("layer_activation_bytes") / (1024 * 1024 * 24) == pytest.approx(32, rel=0.02)


@pytest.mark.parametrize(("option", "value"), [("recompute", "full"), ("dropout", True), ("fp8_inputs", True)])
def test_an_option_of_activations_is_told_where_no_step_is_counted(option, value):
    for step, told in (({}, True), ({"micro_batch": 1, "sequence_length": 4096}, False)):
        found = ingest.memory("llama3-8b", gpu="h100", gpus=64, **step, **{option: value})
        assert any(f"{option.replace('_', '-')} changes nothing" in line for line in found.warnings) is told


#: Adapters of rank 16 at all linear layers of Llama 3 8B, and its parameters.
ADAPTERS, WEIGHTS = 41_943_040, 8_030_261_248


@pytest.mark.parametrize(("options", "weights", "adapters", "more"), table("sizing/cases.yaml")["bytes_kept_of_each"])
def test_an_optimizer_keeps_what_its_recipe_fixes(options, weights, adapters, more):
    held = weights * WEIGHTS + adapters * ADAPTERS + more
    assert results(model="llama3-8b", **options)["model_state_bytes"].value == pytest.approx(held)


@pytest.mark.parametrize(
    ("model", "recipe", "optimizer", "share"), table("sizing/cases.yaml")["a_published_run_keeps_what_its_entry_says"]
)
def test_a_published_run_keeps_what_its_entry_says(model, recipe, optimizer, share):
    answer = ingest.memory(model)
    assert [answer.chosen[name]["value"] for name in ("recipe", "optimizer")] == [recipe, optimizer]
    assert answer.results["model_state_bytes_per_parameter"].value == pytest.approx(share, rel=0.005)
    if recipe == "lora":
        eight = ingest.memory(model, optimizer="adam8bit").results["model_state_bytes"].value
        assert 2 * 68e9 < eight < answer.results["model_state_bytes"].value
        # What its checkpoint saves: adapters, their master copy and moments.
        adapters = answer.known.value("parameters") * (share - 2) / 16
        assert ingest.checkpoint(model).results["checkpoint_bytes"].value < 20 * adapters


def test_one_gpu_gathers_nothing_and_partitions_nothing():
    options = {"recipe": "lora", "sequence_length": 2048, "gpu": "rtx-a6000"}
    alone = ingest.memory("llama3-8b", gpus=1, **options)
    assert (alone.chosen["zero_stage"]["value"], alone.results["gather_bytes_per_gpu"].value) == (0, 0)
    asked = ingest.memory("llama3-8b", gpus=1, zero_stage=3, **options)
    assert asked.results["gather_bytes_per_gpu"].value == 0
    assert ingest.memory("llama3-8b", gpus=2, **options).results["gather_bytes_per_gpu"].value > 0


def test_zero_2_steps_on_32_bit_gradients_and_passes_buckets():
    """LLaMA-Factory issue 4133: Qwen1.5-7B by ZeRO-2 ran out of the memory of 8 A100 of 40 GB."""
    options = {"gpus": 8, "sequence_length": 4096, "recompute": "full"}
    two = ingest.memory("llama3-8b", zero_stage=2, **options)
    assert two.known.value("gradient_bytes_per_parameter") == 4
    assert (two.results["bucket_bytes_per_gpu"].value, two.results["bucket_bytes_per_gpu"].high) == (2e9, 6e9)
    assert ingest.memory("llama3-8b", zero_stage=1, **options).results["bucket_bytes_per_gpu"].value == 0
    adapters = ingest.memory("llama3-8b", zero_stage=2, recipe="lora", **options)
    assert adapters.results["bucket_bytes_per_gpu"].value == pytest.approx(4 * ADAPTERS)


def test_an_optimizer_step_in_backward_frees_gradients():
    options = {"gpu": "rtx-a6000", "gpus": 1, "recipe": "bf16-only", "sequence_length": 2048, "recompute": "full"}
    held, freed = (
        ingest.memory("llama3-8b", step_in_backward=one, **options).results["total_bytes_per_gpu"].value
        for one in (False, True)
    )
    assert held - freed == pytest.approx(2 * (WEIGHTS - 128_256 * 4096))


@pytest.mark.parametrize(("loss", "width"), [("fused", 0.5), ("chunked", 5), ("plain", 12)])
def test_a_loss_keeps_as_its_kernel_does(loss, width):
    logits = results(model="llama3-8b", gpus=8, sequence_length=8192, loss=loss)["logit_bytes_per_gpu"]
    assert logits.value == width * 8192 * 128_256
    assert logits.low < logits.value < logits.high


@pytest.mark.parametrize(
    ("gpu", "gpus", "line"),
    [("h200", 8, "Fills"), ("a100", 8, "May not fit:"), ("a100", 2, "Does not fit:"), ("a100-40gb", 8, "Fills")],
)
def test_a_line_does_not_say_that_a_step_fits_whose_upper_end_does_not(run, gpu, gpus, line):
    ran = run("memory", "llama2-7b", "--gpu", gpu, "--gpus", gpus, "--zero-stage", 2, "--sequence-length", 8192)
    assert ran.out.startswith(line)
    assert (ran.code == 3) is (gpu == "a100-40gb" or gpus < 8)
    assert ("may not fit" in ran.err) is (gpu == "a100")


def test_needs_are_at_least_those_of_states_where_a_step_is_not_counted(run):
    assert run("memory", "resnet50").out.startswith("Needs at least 1 GPU")
    assert run("memory", "llama3-8b", "--sequence-length", 4096).out.startswith("Needs 3 GPUs")


@given(stages=st.sampled_from([2, 4, 8]), ranks=st.sampled_from([1, 2, 4, 8]), replicas=st.sampled_from([2, 8]))
def test_a_pipeline_stage_of_zero_3_gathers_all_its_weights_and_holds_their_gradients(stages, ranks, replicas):
    layout = {"gpus": stages * ranks * replicas, "tensor_parallel": ranks, "pipeline_parallel": stages, "sequence_length": 4096}
    gathered = results(model="llama3-70b", **layout)["gather_bytes_per_gpu"]
    stage = describe("llama3-70b", CATALOG).parameters / stages / ranks
    assert (gathered.low, gathered.value) == pytest.approx((stage * (2 + 2), stage * (2 + 4)))
    frozen = results(model="llama3-70b", recipe="lora", **layout)["gather_bytes_per_gpu"].value
    assert stage * 2 < frozen < stage * 2.1


@pytest.mark.parametrize("model", ["llama3-8b", "llama2-70b", "qwen-14b"])
def test_what_qlora_leaves_wide_takes_32_bits_at_the_high_end(model):
    made = describe(model, CATALOG)
    wide = sum(row.parameters for row in made.weights if row.kind in ("embedding", "head", "norm")) / made.parameters
    width = ingest.memory(model, gpus=1, recipe="qlora", sequence_length=512).given["weight_bytes_per_parameter"]
    assert (width.low, width.high - width.value) == pytest.approx((width.value, 2 * wide), rel=0.01)
