"""Mixtures of data sets by weight, and samples of several parts; expected values by hand."""

import pytest
from conftest import refused, table

import ingest

TEXT = {"samples": 1e8, "parts": {"text": {"tokens": 4096, "bytes_per_token": 4}}, "samples_per_file": 100_000}
PAIRS = {
    "samples": 1e9,
    "parts": {"text": {"tokens": 100, "bytes_per_token": 4}, "images": {"per_sample": 1, "bytes": "100 kB"}},
    "samples_per_file": 10_000,
}
INTERLEAVED = {
    "samples": 5e8,
    "parts": {"text": {"tokens": 1792, "bytes_per_token": 4}, "images": {"per_sample": 16, "bytes": "100 kB"}},
    "samples_per_file": 1000,
}
SPEECH = {"samples": 1e6, "parts": {"audio": {"seconds": 10, "bytes_per_second": "16 kB/s"}}}


def described(mixture, job=None, **more):
    return {
        "years": 1,
        "clusters": {"main": {"node": "dgx-h100", "count": 16}},
        "jobs": {"mm": {"cluster": "main", "nodes": 8, "samples_per_second": 2, "data": "mixture", **(job or {})}},
        "datasets": {"interleaved": INTERLEAVED, "pairs": PAIRS, "text": TEXT, "speech": SPEECH, "mixture": mixture, **more},
    }


def planned(mixture, job=None, **more):
    return ingest.plan(described(mixture, job, **more), samples=0)


def job_of(plan):
    (row,) = plan.tables["jobs"]
    return row


def test_a_mixture_reads_the_mean_of_its_data_sets_by_weight():
    """45 : 45 : 10 by samples, as MM1: 16 images beside 1,792 tokens, pairs, and text alone; 64 GPUs of 2 samples/s."""
    plan = planned({"mix": {"interleaved": 45, "pairs": 45, "text": 10}})
    mean = 0.45 * (1.6e6 + 7168) + 0.45 * 100_400 + 0.1 * 16_384
    assert job_of(plan)["sample_bytes"] == pytest.approx(mean)
    assert job_of(plan)["job_read_bandwidth"] == pytest.approx(128 * mean)
    (opens,) = plan.tables["metadata"]
    assert opens["job_file_opens"] == pytest.approx(128 * (0.45 / 1000 + 0.45 / 10_000 + 0.1 / 100_000))
    stored = 5e8 * 1_607_168 + 1e9 * 100_400 + 1e8 * 16_384 + 1e6 * 160_000
    assert float(plan.steps["R-CAP-01"].value) == pytest.approx(stored)
    assert "mixture" not in str(plan.warnings)
    keys = ("name", "mixture", "source_weight", "source_sample_bytes")
    assert [tuple(row[key] for key in keys) for row in plan.tables["mixtures"]] == [
        ("interleaved", "mixture", 45, 1_607_168),
        ("pairs", "mixture", 45, 100_400),
        ("text", "mixture", 10, 16_384),
    ]


def test_a_mixture_by_tokens_counts_the_bytes_of_a_token():
    """Three quarters of the tokens at 4 B, one quarter from 1M samples of 160 kB and 250 tokens: 640 B."""
    speech = {"bytes": "160 GB", "tokens": 2.5e8, "bytes_per_token": 640}
    del speech["bytes"]
    tokens = {"tokens": 1e12, "bytes_per_token": 4}
    plan = planned({"mix": {"words": 3, "sounds": 1}, "by": "tokens"}, {"tokens_per_sample": 4096}, words=tokens, sounds=speech)
    assert job_of(plan)["sample_bytes"] == pytest.approx(4096 * (0.75 * 4 + 0.25 * 640))
    trained = planned({"mix": {"words": 3, "sounds": 1}, "by": "tokens"}, {"model": "llama3-8b"}, words=tokens, sounds=speech)
    assert job_of(trained)["sample_bytes"] == pytest.approx(8192 * 163)


def test_a_job_may_state_its_own_bytes_and_a_data_set_may_give_them_by_its_totals():
    own = planned({"mix": {"pairs": 1}}, {"sample_bytes": "1 MB"})
    assert job_of(own)["sample_bytes"] == 1e6
    counted = {"samples": 1e6, "sample_bytes": "3 kB"}
    assert job_of(planned({"mix": {"pairs": 1, "counted": 1}}, counted=counted))["sample_bytes"] == pytest.approx(51_700)


def test_an_epoch_of_a_mixture_is_all_samples_of_its_data_sets():
    plan = planned({"mix": {"pairs": 1, "text": 1}}, {"epochs": 2})
    assert job_of(plan)["training_samples"] == pytest.approx(2 * 1.1e9)
    nested = planned({"mix": {"inner": 1, "text": 1}}, inner={"mix": {"pairs": 1, "text": 3}})
    assert job_of(nested)["sample_bytes"] == pytest.approx(((100_400 + 3 * 16_384) / 4 + 16_384) / 2)


@pytest.mark.parametrize(("mixture", "more", "words"), table("site/refused.yaml")["a_mixture_that_cannot_be_is_refused"])
def test_a_mixture_that_cannot_be_is_refused(mixture, more, words):
    with refused(match=words) as found:
        planned(mixture, **more)
    assert len(str(found.value)) < 300


def test_a_mixture_lacks_what_one_of_its_data_sets_lacks():
    late = {"start": 2026, **described({"mix": {"pairs": 1, "later": 1}}, later={**TEXT, "from": 2027})}
    assert any("later" in line or "2026" in line for line in ingest.plan(late, samples=0).warnings)
