"""The bandwidth that `bw` requires for a job is the one that `plan` makes mandatory for a site of that job alone."""

import random

import pytest
from conftest import CATALOG, seeds

import ingest
from ingest.catalog.records import Model
from ingest.errors import IngestError
from ingest.reports.page import answer_line

NODES = sorted(CATALOG.ids("nodes"))
MODELS = sorted(model.id for model in CATALOG.all(Model))
#: Options that `bw` and a job of a site have in common, and values of each.
OPTIONS = {
    "sample_bytes": ("10 kB", "150 kB", "3 MB", "600 MB"),
    "protocol": ("mlperf-training", "mlperf-storage", "mlperf-hpc"),
    "basis": ("measured", "emulated", "transferred", "efficiency"),
    "cache_hit": (0.3, 0.9),
    "efficiency": (0.2, 0.4),
    "samples_per_second": (3, 1000),
    "utilization": (0.7, 0.9),
    "scaling": ("linear", "weak", "strong"),
    "precision": ("bf16", "fp8"),
}


def drawn(seed):
    """A job as `bw` takes it, and its data set in a site file: its own, the one that its model is known for, or none."""
    one = random.Random(seed)
    model, job = one.choice(MODELS), {"nodes": one.choice((1, 2, 8, 64, 512))}
    node, options = one.choice(NODES), {key: one.choice(values) for key, values in OPTIONS.items() if one.random() < 0.15}
    entry, data, more = CATALOG.get(Model, model), {"model": model}, {}
    sizes = [encoding.stored for encoding in entry.encodings.values()][:1]
    if entry.dataset_samples is not None and sizes[:1] in ([], [None]) and "sample_bytes" in options:
        data = {"samples": entry.dataset_samples.value, "sample_bytes": options["sample_bytes"]}
    elif entry.dataset_samples is None or not sizes or sizes[0] is None:
        data = None
    elif "sample_bytes" in options and one.random() < 0.5:
        samples = one.choice((1_000, 1_000_000, 1_000_000_000))
        data, more = {"samples": samples, "sample_bytes": options["sample_bytes"]}, {"set": {"dataset_samples": samples}}
    return model, node, job | options, more, data


def both(seed):
    """The two answers; None for a job that one command refuses, as the other does."""
    model, node, job, more, data = drawn(seed)
    site = {"format": 2, "clusters": {"c": {"node": node, "count": job["nodes"]}}, "storage": {"headroom": "0%"}}
    site |= {"jobs": {"one": {"cluster": "c", "model": model, **job, **({"data": "d"} if data else {})}}}
    site |= {"datasets": {"d": data}} if data else {}
    try:
        answer = ingest.bw(model, node=node, **job, **more)
        refused = answer.incomplete
    except IngestError as error:
        refused = str(error)
    if refused:
        with pytest.raises(IngestError):
            ingest.plan(site, samples=0)
        pytest.skip("no evidence for such a job")
    return answer, ingest.plan(site, samples=0)


@pytest.mark.parametrize("seed", seeds(8, 600))
def test_one_job_is_required_alike_by_both_commands(seed):
    answer, plan = both(seed)
    required = answer.results["mandatory_read_bandwidth"].value
    assert plan.rows["jobs"][0].known.value("run_read_bandwidth") == pytest.approx(required, rel=1e-9)
    line = plan.requirement("R-READ-03")
    assert line.computed == pytest.approx(required, rel=1e-9)
    # A line that its clients limit is not rounded up beyond what they draw.
    assert line.value == plan.rounded(required) or (line.limited_by and line.computed <= line.value < plan.rounded(required))


#: The jobs of 128 DGX H100 that the README and the tutorial name, and the answer in one line.
HEADLINES = {
    "cosmoflow": "Needs 218.5 GB/s read · 827.5 GB/s emulated, cold caches",
    "resnet50": "Needs 31.33 GB/s read · 332.7 GB/s median rate, cold caches",
    "unet3d": "Needs 5.254 GB/s read · 1.466 TB/s cold caches",
    "llama3-8b": "Needs 15.35 MB/s read · 120 kB/s per node",
    "dlrm-dcnv2": "Needs 87.49 GB/s read · 683.5 MB/s per node",
}


@pytest.mark.parametrize("model", HEADLINES)
def test_the_answer_names_the_number_to_require_and_what_holds_for_the_other(model):
    answer = ingest.bw(model, node="dgx-h100", nodes=128)
    assert answer_line(answer).startswith(f"{HEADLINES[model]} · ")
    assert not [line for line in answer.warnings if "size" in line.lower().split() and "fastest" in line]


def test_reads_beyond_the_nics_are_not_required():
    answer = ingest.bw(samples_per_second=1000, sample_bytes="100 MB", node="dgx-h100", nodes=2)
    assert answer.results["mandatory_read_bandwidth"].value == 2 * 0.9 * 80e9
    assert answer_line(answer).startswith("Needs 144 GB/s read · 1.6 TB/s beyond the NICs")
    # Nobody knows the NICs of a node that is not named.
    unknown = ingest.bw(samples_per_second=1000, sample_bytes="100 MB", gpus_per_node=8, nodes=2)
    assert unknown.results["mandatory_read_bandwidth"] == unknown.results["ingest_bandwidth_per_job"]
    wider = ingest.bw(samples_per_second=1000, sample_bytes="100 MB", node="dgx-h100", nodes=2, set={"nic_delivery": 1})
    assert wider.results["mandatory_read_bandwidth"].value == 160e9


def test_samples_of_another_size_are_a_question_until_it_is_set_what_a_step_reads():
    job = {"model": "dinov2-vitg14", "node": "dgx-h100", "nodes": 8}
    (usual, asked, near) = (ingest.bw(**job, **more) for more in ({}, {"sample_bytes": "1.5 GB"}, {"sample_bytes": "200 kB"}))
    required = [one.results["mandatory_read_bandwidth"].value for one in (usual, asked, near)]
    assert required[1] == pytest.approx(4 * required[0])
    assert required[2] == near.results["ingest_bandwidth_per_job"].value
    assert "samples read whole, beyond the NICs" in answer_line(asked)
    assert [one.startswith("does a step read whole") for one in asked.warnings].count(True) == 1
    answered = ingest.bw(**job, set={"sample_bytes": "20 MB"})
    assert "W69" not in [one.rule for one in answered.warnings]
    reads = [answered.results[name].value for name in ("mandatory_read_bandwidth", "ingest_bandwidth_per_job")]
    # A small part of the data set is cached.
    assert reads[0] == pytest.approx(reads[1], rel=0.01)
    own = ingest.bw(**job, sample_bytes="1.5 GB", samples_per_second=2)
    assert "W69" not in [one.rule for one in own.warnings]


def test_caches_are_those_of_the_data_set_that_the_user_states():
    job = {"model": "resnet50", "node": "dgx-h100", "nodes": 4}
    few, many = (ingest.bw(**job, set={"dataset_samples": samples}) for samples in (1_000_000, 1_000_000_000))
    assert few.results["mandatory_read_bandwidth"].value == pytest.approx(4 * 1e6 * 114_660.07 / 600)
    assert many.results["mandatory_read_bandwidth"].value > 5 * few.results["mandatory_read_bandwidth"].value
    assert ["W15" in [one.rule for one in answer.warnings] for answer in (few, many)] == [True, False]
    less = ingest.bw(**job, set={"dataset_samples": 1_000_000_000, "cache_memory_share": 0.01})
    assert less.results["mandatory_read_bandwidth"].value >= many.results["mandatory_read_bandwidth"].value * (1 - 1e-6)
