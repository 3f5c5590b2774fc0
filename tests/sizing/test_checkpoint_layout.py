"""The files of a checkpoint, layout by layout."""

import pytest
from conftest import CATALOG, LLAMA

import ingest
from ingest.architecture import describe
from ingest.errors import UsageError
from ingest.sizing.checkpoint_files import LAYOUTS, CheckpointContent, RankLayout, largest_stage_factor

SIZES = {"hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126, "num_attention_heads": 128}


@pytest.fixture
def big(config_file):
    return describe(config_file(LLAMA, **SIZES))


def files(layout, job, model=None):
    return LAYOUTS[layout].files(job, CheckpointContent(2e12, 12e12, 0), 400, model)


@pytest.mark.parametrize(
    ("layout", "job", "count"),
    [
        ("safetensors", RankLayout(), 400 + 2),
        ("dcp", RankLayout(1, 1, 64), 64 + 1),
        ("megatron", RankLayout(8, 16, 128), 2 * 16384 + 3),
        ("deepspeed", RankLayout(8, 1, 8, zero_stage=0), 8 + 2),
        ("deepspeed", RankLayout(8, 1, 8, zero_stage=1), 8 + 64 + 2),
        ("deepspeed", RankLayout(1, 1, 64, zero_stage=3), 64 + 64 + 2),
    ],
)
def test_counts(layout, job, count):
    assert sum(row.count for row in files(layout, job)) == count


@pytest.mark.parametrize("layout", ["dcp", "megatron", "deepspeed"])
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(1, 1, 64), (8, 1, 8), (8, 4, 2)])
def test_files_hold_every_byte_once(layout, stage, shape, big):
    rows = files(layout, RankLayout(*shape, zero_stage=stage), big)
    assert sum(row.count * row.bytes_each for row in rows) == pytest.approx(14e12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_rule_has_a_source(layout):
    known = CATALOG.sources
    assert all(row.source in known and row.where for row in files(layout, RankLayout(2, 2, 2)))


def test_pipeline_layers_have_files_of_their_own(big):
    rows = files("deepspeed", RankLayout(8, 32, 2), big)
    assert next(row.count for row in rows if row.pattern.startswith("layer_")) == (126 + 2) * 8
    assert next(row.bytes_each for row in rows if row.pattern == "mp_rank_M_model_states.pt") == 0


def test_experts_have_files_of_their_own():
    from ingest.architecture import Architecture, Weight

    rows = (
        Weight("router", (64, 2048), "router", 24),
        Weight("expert.up", (8192, 2048), "expert", 24 * 64 * 2),
        Weight("attention", (2048, 2048), "attention", 24 * 4),
    )
    moe = Architecture("moe", "moe", rows, (), 24, 2048, 16, 16, 128, 50_000)
    job = RankLayout(1, 1, 64, expert=8, zero_stage=1)
    laid_out = files("deepspeed", job, moe)
    counts = {row.pattern.split("_")[0]: row.count for row in laid_out}
    assert counts["layer"] == 24 * 64
    assert counts["expp"] == 8
    assert sum(row.count * row.bytes_each for row in laid_out) == pytest.approx(14e12)
    with pytest.raises(UsageError, match="to count them"):
        files("deepspeed", job)


def test_the_largest_stage_is_that_of_the_benchmark(big):
    # MLPerf Storage: the first replica's ranks write 11.09 to 12.32 GiB, 8.86 GiB of it optimizer states.
    mean = 2 * big.parameters / (8 * 32) / 2**30
    assert mean * largest_stage_factor(big, 32) + 8.86 == pytest.approx(12.32, abs=0.01)


def test_files_follow_ranks_stages_and_contents():
    known = {"parameters": 405_853_388_800}
    answer = ingest.checkpoint(set=known, gpus=512, tensor_parallel=8, pipeline_parallel=32, layout="deepspeed")
    assert answer.results["checkpoint_files"].value == 256 + 512 + 2
    assert answer.results["checkpoint_bytes_per_rank_max"].value / 2**30 == pytest.approx(11.81, abs=0.01)
    answer = ingest.checkpoint("llama3-8b", gpus=64, zero_stage=3, layout="deepspeed")
    assert answer.results["checkpoint_bytes"].value == 12 * 8_030_261_248
    assert any("stage3_gather_16bit" in line for line in answer.warnings)
    full = ingest.checkpoint("llama3-8b", gpus=64, zero_stage=3, layout="deepspeed", precision="fp32")
    assert full.results["checkpoint_bytes"].value == 12 * 8_030_261_248
    answer = ingest.checkpoint("llama2-70b", layout="safetensors", set={"parameters": 68_976_648_192})
    assert answer.results["checkpoint_bytes"].value == 137_953_296_384
    assert answer.results["checkpoint_optimizer_bytes"].value == 0
    assert answer.results["checkpoint_files"].value == 28 + 2
    assert any("resumed" in line for line in answer.warnings)


@pytest.mark.parametrize(
    ("options", "each", "layout"),
    [
        ({"gpus": 4}, 12, "dcp"),  # torchtitan, issue 336: 90 GiB of Llama 3 8B
        ({"layout": "dcp"}, 12, "dcp"),
        ({"layout": "dcp", "precision": "bf16"}, 14, "dcp"),
        ({"layout": "dcp", "optimizer": "adamw-bf16-only"}, 6, "dcp"),
        ({"layout": "dcp", "optimizer": "adam8bit"}, 4 + 2 * 1.015625, "dcp"),
        ({"layout": "megatron", "gpus": 4}, 14, "megatron"),
        ({}, 14, "megatron"),
    ],
)
def test_fsdp_saves_no_16_bit_weights_beside_32_bit_ones(options, each, layout):
    answer = ingest.checkpoint("llama3-8b", **options)
    assert answer.results["checkpoint_bytes"].value == pytest.approx(each * 8_030_261_248)
    assert answer.inputs["layout"]["value"] == layout


@pytest.mark.parametrize(
    ("model", "options", "each", "adapters"),
    [
        # Rank 16 at all linear layers: q, k, v, o and three of the MLP, of 80 layers.
        ("llama3-70b-lora", {}, 14, 80 * 16 * (8192 * 4 + (8192 + 1024) * 2 + (8192 + 28_672) * 3)),
        # MLPerf: rank 16 at the matrices of attention.
        ("llama2-70b-lora", {}, 14, 80 * 16 * (8192 * 4 + (8192 + 1024) * 2)),
        ("llama2-70b-lora", {"lora_rank": 8}, 14, 80 * 8 * (8192 * 4 + (8192 + 1024) * 2)),
        ("llama2-70b-lora", {"optimizer": "adam8bit"}, 6 + 2 * 1.015625, 80 * 16 * (8192 * 4 + (8192 + 1024) * 2)),
        ("llama3-8b", {"optimizer": "lora", "lora_targets": "q,v"}, 14, 32 * 16 * (4096 * 2 + 4096 + 1024)),
    ],
)
def test_a_run_that_trains_adapters_saves_them_alone(model, options, each, adapters):
    assert ingest.checkpoint(model, **options).results["checkpoint_bytes"].value == each * adapters


def test_a_v100_trains_in_fp16():
    precisions = {gpu: ingest.checkpoint("llama3-8b", gpu=gpu, gpus=8).inputs["precision"]["value"] for gpu in ("v100", "a100")}
    assert precisions == {"v100": "fp16", "a100": "bf16"}
