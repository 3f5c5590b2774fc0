"""The evidence levels of jobs: which one answers, at which size and length, and what a buyer is told."""

import pytest
from conftest import table

import ingest
from ingest.catalog.store import Catalog
from ingest.errors import IngestError, UsageError, nearest
from ingest.sizing.bandwidth import estimate
from ingest.sizing.job import job_of

ROW = "gpu,precision,samples_per_second_per_gpu,achieved_flops_per_gpu,gpus,nodes,protocol,round,source,where,grade,note\n"


def told(answer, words):
    return any(words in line for line in answer.warnings)


def test_a_lone_slow_benchmark_answers_with_the_median_of_what_others_suggest():
    answer = ingest.bw(model="resnet50", gpu="b200")
    rates = {level.basis: results["samples_per_second_per_gpu"] for level, results in answer.levels}
    assert answer.basis == "transferred"
    mixed, own = rates["transferred"], rates["measured"]
    assert own.high < mixed.value
    assert mixed.low <= own.low <= mixed.value <= mixed.high
    assert ingest.bw(model="resnet50", gpu="b200", basis="measured").basis == "measured"
    assert ingest.bw(model="resnet50", gpu="h100").basis == "measured"


@pytest.mark.parametrize("nodes", [1, 8, 64, 512])
def test_the_level_of_unet3d_does_not_change_with_the_size(nodes):
    answer = ingest.bw(model="unet3d", gpu="b200", nodes=nodes)
    assert answer.basis == "transferred"
    assert told(answer, "below the range on a few nodes: the estimate takes the training runs")


def test_a_longer_sequence_takes_more_operations_per_token_and_only_the_utilization_carries_over():
    short, long = (ingest.bw(model="llama3-8b", gpu="h100", sequence_length=length) for length in (8192, 131_072))
    assert (short.basis, long.basis) == ("measured", "efficiency")
    per_token = [one.given["flops_per_sample"].value / one.given["tokens_per_sample"].value for one in (short, long)]
    expected = ingest.model("llama3-8b", sequence_length=131_072).results["flops_per_token"].value
    assert per_token[1] == pytest.approx(expected)
    assert per_token[1] > 2 * per_token[0]
    assert long.given["sample_bytes"].value == 16 * short.given["sample_bytes"].value
    assert long.given["dataset_samples"].value == short.given["dataset_samples"].value / 16
    assert ingest.bw(model="llama3-8b", gpu="h100", set={"sequence_length": 131_072}).results == long.results


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"model": "resnet50", "sequence_length": 4096}, UsageError, "not text"),
        ({"model": "bert-large", "sequence_length": 128}, IngestError, "only for sequences of 512 tokens"),
        ({"model": "nemotron-340b", "sequence_length": 8192}, IngestError, "--flops-per-sample"),
        ({"model": "llama3-8b", "set": {"tokens_per_sample": 4096}}, UsageError, "8,192 tokens"),
        ({"model": "cosmoflow", "nodes": 12_500_001}, UsageError, "found 1e\\+08, expected a whole number from 1 up to 1e"),
    ],
)
def test_what_contradicts_the_model_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        ingest.bw(gpu="h100", **options)
    assert ingest.bw(model="cosmoflow", gpu="h100", nodes=12_500_000).results["gpus"].value == 1e8


@pytest.mark.parametrize("given", [{"flops_per_sample": 1e16}, {"set": {"flops_per_sample": 1e16}}])
def test_operations_that_the_user_gives_hold_at_any_length(given):
    found = ingest.bw(model="bert-large", gpu="h100", sequence_length=128, efficiency=0.4, **given)
    assert found.given["flops_per_sample"].value == 1e16
    assert found.given["tokens_per_sample"].value == 128


@pytest.mark.parametrize(
    ("words", "options", "samples", "said"),
    table("sizing/cases.yaml")["data_sets_that_are_too_small_or_fit_in_memory_are_said"],
)
def test_data_sets_that_are_too_small_or_fit_in_memory_are_said(words, options, samples, said):
    answer = ingest.bw(model="cosmoflow", gpu="h100", **options, set={"dataset_samples": samples})
    assert told(answer, words) == said


@pytest.mark.parametrize(("size", "said"), [("4.88 MB", False), ("4.89 MB", True)])
def test_reads_above_the_vendors_highest_level_are_said(size, said):
    # SuperPOD H100 "best": 125 GB/s for 256 GPUs, 488.28 MB/s each.
    answer = ingest.bw(gpu="h100", samples_per_second=100, sample_bytes=size)
    assert told(answer, "the highest level of") == said
    assert answer.results["guidance_share"].value == pytest.approx(float(size.split()[0]) / 4.8828125, rel=1e-6)


def test_three_warnings_are_printed_and_all_on_request(run):
    words = ("bw", "--model", "unet3d", "--gpu", "h100", "--nodes", "32")
    few, every = run(*words).err.splitlines(), run(*words, "--verbose").err.splitlines()
    assert len(few) == 4
    assert few[:3] == every[:3]
    assert few[3] == f"ingest: warning: {len(every) - 3} more: -v"


@pytest.mark.parametrize(("rate", "is_possible"), [(989.3, True), (989.5, False)])
def test_an_impossible_rate_of_ones_own_is_refused_each_time(write_entry, rate, is_possible):
    text = (
        "name: Toy\nsample: one image\nsample_unit: image\nfamily: vision\n"
        "flops_per_sample: {value: 1, unit: TFLOP/sample, source: recalled, grade: assumed}\n"
        "encodings:\n  raw:\n    stored: {value: 1, unit: MB/sample, source: recalled, grade: assumed}\n"
    )
    folder = write_entry("models", "toy", text)
    (folder / "models" / "toy.csv").write_text(
        f"{ROW}h100-sxm,bf16,{rate},,8,1,paper,,recalled,log,measured,\n", encoding="utf-8"
    )
    catalog = Catalog([folder])
    for source in ("toy", str(folder / "models" / "toy.yaml")) * 2:
        if is_possible:
            assert estimate(job_of(model=source, gpu="h100"), catalog).basis == "measured"
        else:
            with pytest.raises(IngestError, match=r"toy\.csv:2: found"):
                estimate(job_of(model=source, gpu="h100"), catalog)


@pytest.mark.parametrize(
    ("found", "word", "figures", "offered"), table("sizing/refused.yaml")["no_other_generation_is_offered"]
)
def test_no_other_generation_is_offered(found, word, figures, offered):
    assert bool(nearest(found, [word], figures)) == offered
