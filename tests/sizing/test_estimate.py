"""From a question to an answer."""

import re

import pytest
from conftest import CATALOG, table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.catalog.store import Catalog
from ingest.errors import IngestError, UsageError
from ingest.sizing.bandwidth import NEEDED, estimate
from ingest.sizing.evidence_ladder import BASES
from ingest.sizing.job import job_of

MODELS, GPUS = CATALOG.ids("models"), CATALOG.ids("gpus")


def answered(shipped, **options):
    return estimate(job_of(**{"model": "cosmoflow", "gpu": "h100", **options}), shipped)


def value(answer, name):
    return answer.results[name].value


def assert_sound(answer):
    """What must hold for every answer whatever was asked."""
    for name, quantity in answer.results.items():
        assert quantity.value >= 0
        if quantity.low is not None:
            assert quantity.low <= quantity.value <= quantity.high, name
    assert answer.incomplete or all(name in answer.results for name in NEEDED)
    if answer.incomplete is None:
        per_gpu = value(answer, "ingest_bandwidth_per_gpu")
        per_node = answer.given["gpus_per_node"].value
        assert value(answer, "ingest_bandwidth_per_node") == pytest.approx(per_gpu * per_node)
        assert value(answer, "ingest_bandwidth_per_job") == pytest.approx(per_gpu * per_node * answer.given["nodes"].value)
        rate, size = value(answer, "samples_per_second_per_gpu"), answer.given["sample_bytes"].value
        assert per_gpu == pytest.approx(rate * size)


#: Every model with some GPUs and every GPU with some models for each push, all pairs before an issue is closed.
PAIRS = [(model, GPUS[number % 12 :: 12]) for number, model in enumerate(MODELS)]


@pytest.mark.parametrize(("model", "gpus"), [*PAIRS, *(pytest.param(one, GPUS, marks=pytest.mark.slow) for one in MODELS)])
def test_every_pair_of_model_and_gpu_answers_soundly_or_refuses(shipped, model, gpus):
    for gpu in gpus:
        try:
            answer = estimate(job_of(model=model, gpu=gpu), shipped)
        except IngestError as error:
            assert "\n" not in str(error)  # noqa: PT017  both outcomes are right; each is checked
            assert re.search("set --|is for inference", str(error))  # noqa: PT017
        else:
            assert_sound(answer)


@given(st.sampled_from(MODELS), st.sampled_from(GPUS), st.sampled_from(BASES), st.integers(1, 5000))
def test_every_basis_answers_as_asked_or_says_why_not(shipped, model, gpu, basis, nodes):
    try:
        answer = estimate(job_of(model=model, gpu=gpu, basis=basis, nodes=nodes), shipped)
    except IngestError as error:
        assert str(error).startswith(f"no {basis} estimate: ")  # noqa: PT017
    else:
        assert answer.basis == basis
        assert_sound(answer)


@given(
    st.sampled_from(["cosmoflow", "resnet50", "unet3d", "bert-large", "llama3-70b"]),
    st.sampled_from(["h100", "a100", "v100", "b200", "mi300x"]),
    st.integers(1, 4000),
    st.integers(1, 4000),
)
def test_more_nodes_never_lower_the_bandwidth_of_the_job(shipped, model, gpu, one, other):
    few, many = (answered(shipped, model=model, gpu=gpu, nodes=nodes) for nodes in sorted((one, other)))
    assert value(few, "ingest_bandwidth_per_job") <= value(many, "ingest_bandwidth_per_job") * (1 + 1e-9)
    linear = (answered(shipped, model=model, gpu=gpu, nodes=nodes, scaling="linear") for nodes in (one, other))
    assert len({round(value(answer, "ingest_bandwidth_per_gpu"), 6) for answer in linear}) == 1


@given(st.floats(0.01, 1), st.floats(0, 0.99))
def test_utilization_and_cache_scale_the_need(shipped, utilization, cache_hit):
    full = answered(shipped)
    less = answered(shipped, utilization=utilization, cache_hit=cache_hit)
    need = value(full, "ingest_bandwidth_per_gpu") * utilization * (1 - cache_hit)
    assert value(less, "ingest_bandwidth_per_gpu") == pytest.approx(need)


def test_cosmoflow_on_h100(shipped):
    answer = answered(shipped, nodes=128)
    assert answer.basis == "emulated"
    assert value(answer, "samples_per_second_per_gpu") == pytest.approx(285.7, rel=1e-3)
    assert value(answer, "gpus") == 1024
    assert value(answer, "ingest_bandwidth_per_job") == pytest.approx(827.5e9, rel=1e-3)
    assert value(answer, "epoch_seconds") == pytest.approx(524_288 / (285.714 * 1024), rel=1e-3)
    assert value(answer, "file_opens_per_second_per_job") == pytest.approx(285.714 * 1024, rel=1e-3)
    assert value(answer, "storage_nic_share") == pytest.approx(6.465 / 80, rel=1e-3)
    assert value(answer, "nfs_tcp_client_share") == pytest.approx(6.465 / 3, rel=1e-3)
    assert value(answer, "nfs_nconnect_client_share") == pytest.approx(6.465 / 10, rel=1e-3)


@pytest.mark.parametrize(("encoding", "expected"), [(None, 11.33e9), ("stored", 11.33e9), ("decoded", 67.2e9)])
def test_the_peak_rung_of_cosmoflow(shipped, encoding, expected):
    answer = answered(shipped, basis="peak", encoding=encoding)
    assert answer.given["peak_flops_per_gpu"].value == 989.4e12
    assert value(answer, "ingest_bandwidth_per_gpu") == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("encoding", "size"),
    [
        (None, 2_828_486),
        ("stored", 2_828_486),
        ("decoded", 16_777_216),
        ("tfrecord-gzip", 2_828_486),
        ("tfrecord-gzip/decoded", 16_777_216),
        ("tfrecord", 5.1e12 / 327_680),
        ("tfrecord/stored", 5.1e12 / 327_680),
    ],
)
def test_an_encoding_chooses_the_bytes(shipped, encoding, size):
    assert answered(shipped, encoding=encoding).given["sample_bytes"].value == pytest.approx(size, rel=1e-6)


@pytest.mark.parametrize(("achieved", "expected"), [(35e12, 2.267e9), (50e12, 3.239e9)])
def test_ibrahims_v100(shipped, achieved, expected):
    answer = answered(shipped, gpu="v100-sxm2", achieved=achieved, sample_bytes=16e6)
    assert value(answer, "ingest_bandwidth_per_gpu") == pytest.approx(expected, rel=1e-3)
    assert value(answer, "ingest_bandwidth_per_node") == pytest.approx(8 * expected, rel=1e-3)


def test_resnet_says_its_range_and_why(shipped):
    answer = answered(shipped, model="resnet50")
    rate = answer.results["samples_per_second_per_gpu"]
    assert 3500 <= rate.value <= 5000
    assert rate.low == pytest.approx(400 / 0.224)
    assert rate.high >= 7000
    # The sleep of a benchmark is no measurement of a GPU: it counts for the range alone.
    assert set(answer.levels[0][0].protocols) == {"lambda-v1", "lambda-v2", "mlperf-training"}
    assert any("protocols disagree" in line for line in answer.warnings)


def test_a_setting_wins_over_everything(shipped):
    answer = answered(shipped, nodes=128, set={"samples_per_second_per_gpu": 310.0})
    assert value(answer, "samples_per_second_per_gpu") == 310
    assert answer.results["samples_per_second_per_gpu"].low is None
    assert value(answer, "ingest_bandwidth_per_gpu") == 310 * 2_828_486
    assert answer.inputs["samples_per_second_per_gpu"]["from"] == "user"


@pytest.mark.parametrize(
    ("option", "number", "rate"),
    [("samples_per_second", 310, 310), ("achieved", 24.7e12, 100), ("efficiency", 0.0247, 0.0247 * 989.4e12 / 247e9)],
)
def test_a_rate_of_the_users_own_needs_no_catalog_rate(shipped, option, number, rate):
    answer = answered(shipped, **{option: number})
    assert value(answer, "samples_per_second_per_gpu") == pytest.approx(rate)
    # The user's own utilization stands in for the catalog's: one rung per basis.
    others = {"emulated", "transferred", "efficiency", "peak"} - {answer.basis}
    assert {found.basis for found, _ in answer.levels[1:]} == others


def test_unknowns_are_asked_for_and_defaults_are_listed(shipped):
    question = job_of(samples_per_second=100, sample_bytes=1e6, gpus_per_node=8, nodes=2)
    assert value(estimate(question, shipped), "ingest_bandwidth_per_job") == 1.6e9
    answer = answered(shipped, model="rgat-igbh")
    assert "samples_per_second_per_gpu" in answer.results
    assert "ingest_bandwidth_per_gpu" not in answer.results
    assert "--sample-bytes" in answer.incomplete
    assert answered(shipped, model="rgat-igbh", sample_bytes=1e6).incomplete is None
    with pytest.raises(IngestError, match=r"FLOPs per sample of openfold are not known.*--flops-per-sample"):
        answered(shipped, model="openfold", basis="peak")
    assert answered(shipped, model="openfold", basis="peak", flops_per_sample=1e12).basis == "peak"
    linear, strong = (answered(shipped, nodes=128, scaling=scaling) for scaling in ("linear", "strong"))
    assert value(strong, "samples_per_second_per_gpu") == pytest.approx(0.38 * value(linear, "samples_per_second_per_gpu"))
    answer = estimate(job_of(model="cosmoflow", node="dgx-h100"), shipped)
    assert (answer.gpu.id, answer.given["gpus_per_node"].value) == ("h100-sxm", 8)
    assert answer.inputs["gpus_per_node"]["from"] == "catalog"
    assert value(answered(shipped, gpus_per_node=4, nodes=3), "gpus") == 12
    names = {item["name"] for item in answered(shipped).assumptions}
    cache = {"cache_memory_share", "warm_up_seconds"}
    assert names == {"accelerator_utilization", "scaling_efficiency", "gpus_per_node", "nodes", *cache}
    given_names = {item["name"] for item in answered(shipped, utilization=0.7, gpus_per_node=8, nodes=1).assumptions}
    assert given_names == {"scaling_efficiency", *cache}


def test_a_recalled_value_is_listed_as_assumed(write_entry):
    folder = write_entry(
        "gpus",
        "vague",
        "name: Vague\nvendor: NVIDIA\n"
        "peak_flops:\n  bf16: {value: 100, unit: TFLOP/s, source: recalled, grade: assumed}\n"
        "gpus_per_node: {value: 8, unit: GPU/node, source: recalled, grade: assumed}\n",
    )
    answer = estimate(job_of(model="cosmoflow", gpu="vague", basis="peak"), Catalog([folder]))
    assert {"peak_flops_per_gpu", "gpus_per_node"} <= {item["name"] for item in answer.assumptions}


def test_every_source_cited_exists_and_is_named_once(shipped):
    cited = [item["id"] for item in answered(shipped, model="resnet50", gpu="b200").sources]
    assert len(cited) == len(set(cited))
    assert set(cited) <= set(shipped.sources)


@pytest.mark.parametrize(("options", "words"), table("sizing/cases.yaml")["plain_words_where_a_number_alone_misleads"])
def test_plain_words_where_a_number_alone_misleads(shipped, options, words):
    assert any(words in line for line in answered(shipped, **options).warnings)


def test_a_plain_question_has_no_idle_warning(shipped):
    warnings = answered(shipped, model="unet3d", protocol="mlperf-storage", samples_per_second=None, utilization=0.9).warnings
    assert not any("changes nothing" in line or "upper bound" in line for line in warnings)


@pytest.mark.parametrize("found", [0, 1.5, 1e30])
def test_gpus_are_named_as_they_were_given(found):
    with pytest.raises(UsageError, match=r"^--gpus: found .*, expected a (whole )?number.* \(GPU\)$"):
        ingest.bw("cosmoflow", "h100", gpus=found)


def test_a_rate_that_is_missing_is_named(shipped):
    needed = "the bandwidth that is given does not state the samples/s of a GPU; set --samples-per-second"
    assert ingest.bw("cosmoflow", "h100", set=["ingest_bandwidth_per_gpu=1 B/s"]).unmet == needed
    with pytest.raises(IngestError, match=r"no rate of cosmoflow on h100-sxm under 'paper'.*mlperf-storage"):
        answered(shipped, protocol="paper", basis="measured")
