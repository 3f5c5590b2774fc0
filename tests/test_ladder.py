"""The ladder of evidence: each rung recomputed by hand from entries of our own."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.catalog.store import Catalog
from ingest.errors import UsageError
from ingest.sizing import evidence_ladder
from ingest.sizing.bandwidth import estimate
from ingest.sizing.evidence_ladder import RATE
from ingest.sizing.job import Job

HEADER = "gpu,precision,samples_per_second_per_gpu,achieved_flops_per_gpu,gpus,nodes,protocol,round,source,where,grade,note\n"
MODEL = (
    "name: Toy\nsample: one image\nfamily: vision\n"
    "flops_per_sample: {value: 1, unit: TFLOP/sample, source: recalled, grade: assumed}\n"
    "encodings:\n  raw:\n    stored: {value: 1, unit: MB/sample, source: recalled, grade: assumed}\n"
)


def gpu_text(vendor, peak, bandwidth):
    return (
        f"name: Toy GPU\nvendor: {vendor}\n"
        f"peak_flops:\n  bf16: {{value: {peak}, unit: TFLOP/s, source: recalled, grade: assumed}}\n"
        f"memory_bandwidth: {{value: {bandwidth}, unit: TB/s, source: recalled, grade: assumed}}\n"
        "gpus_per_node: {value: 8, unit: GPU/node, source: recalled, grade: assumed}\n"
    )


@pytest.fixture
def toy(write_entry, tmp_path):
    """Catalogs with one model, four GPUs and the rates that a test gives: (gpu, rate, gpus, nodes, protocol)."""

    def build(*rows, model=MODEL, precision="bf16"):
        for name, vendor, peak, bandwidth in (
            ("small", "NVIDIA", 100, 1),
            ("large", "NVIDIA", 400, 4),
            ("huge", "NVIDIA", 6400, 16),
            ("other", "AMD", 100, 1),
        ):
            write_entry("gpus", f"toy-{name}", gpu_text(vendor, peak, bandwidth))
        folder = write_entry("models", "toy", model)
        lines = [
            f"toy-{gpu},{precision},{rate},,{gpus},{nodes},{protocol},,recalled,log,measured,\n"
            for gpu, rate, gpus, nodes, protocol in rows
        ]
        (tmp_path / "mine" / "models" / "toy.csv").write_text(HEADER + "".join(lines), encoding="utf-8")
        return Catalog([folder])

    return build


def rung(catalog, gpu, basis, **options):
    answer = estimate(Job(model="toy", gpu=f"toy-{gpu}", basis=basis, **options), catalog)
    assert answer.levels[0][0].basis == basis
    return answer.levels[0][0]


def test_measured_is_the_median_over_protocols(toy):
    catalog = toy(
        ("small", 100, 1, 1, "paper"),
        ("small", 110, 1, 1, "paper"),
        ("small", 120, 1, 1, "paper"),
        ("small", 300, 8, 1, "mlperf-training"),
        ("small", 200, 8, 1, "dlio"),
    )
    found = rung(catalog, "small", "measured")
    assert found.protocols == {"paper": 110, "dlio": 200, "mlperf-training": 300}
    rate = found.given[RATE]
    assert (rate.low, rate.value, rate.high) == (110, 200, 300)
    assert "median of 3 protocols" in found.note


def test_one_protocol_can_be_asked_for(toy):
    catalog = toy(("small", 100, 1, 1, "paper"), ("small", 300, 8, 1, "mlperf-training"))
    assert rung(catalog, "small", "measured", protocol="paper").given[RATE].value == 100


def test_runs_on_one_or_two_nodes_count_where_there_are_any(toy):
    catalog = toy(("small", 100, 8, 1, "paper"), ("small", 90, 16, 2, "paper"), ("small", 20, 1024, 128, "paper"))
    assert rung(catalog, "small", "measured").given[RATE].value == 95


def test_the_smallest_runs_count_where_all_are_large_and_that_is_said(toy):
    catalog = toy(("small", 60, 64, 8, "paper"), ("small", 20, 1024, 128, "paper"))
    found = rung(catalog, "small", "measured")
    assert found.given[RATE].value == 60
    assert any("the smallest has 64 GPUs" in line for line in found.warnings)


def test_the_scaling_loss_goes_into_the_lower_end_only(toy):
    catalog = toy(("small", 100, 8, 1, "paper"))
    one, many = (rung(catalog, "small", "measured", nodes=nodes).given[RATE] for nodes in (1, 128))
    assert (one.low, one.value, one.high) == (100, 100, 100)
    assert (many.low, many.value, many.high) == (pytest.approx(38), 100, 100)


def test_protocols_that_disagree_are_named_with_advice(toy):
    catalog = toy(("small", 100, 1, 1, "lambda-v1"), ("small", 300, 8, 1, "mlperf-training"))
    (warning,) = rung(catalog, "small", "measured").warnings
    assert "protocols disagree 3.0×" in warning
    assert "mlperf-training 300; lambda-v1 100" in warning
    assert "Demand" in warning


def test_protocols_that_nearly_agree_are_not_worth_a_warning(toy):
    catalog = toy(("small", 100, 1, 1, "lambda-v1"), ("small", 150, 8, 1, "mlperf-training"))
    assert rung(catalog, "small", "measured").warnings == ()


def test_a_lone_emulated_rate_is_named_as_what_it_is(toy):
    catalog = toy(("small", 100, 1, 1, "mlperf-storage"))
    (warning,) = rung(catalog, "small", "measured").warnings
    assert "emulated" in warning


def test_transferred_is_the_geometric_mean_of_peak_and_bandwidth_ratio(toy):
    catalog = toy(("small", 100, 1, 1, "paper"))
    found = rung(catalog, "large", "transferred")
    rate = found.given[RATE]
    assert rate.value == pytest.approx(400)
    assert (rate.low, rate.high) == pytest.approx((400 * 0.65, 400 * 1.5))
    assert found.warnings == ()


def test_transferred_beyond_a_ratio_of_four_is_wide_and_said(toy):
    catalog = toy(("small", 100, 1, 1, "paper"))
    found = rung(catalog, "huge", "transferred")
    ratio = math.sqrt(64 * 16)
    assert found.given[RATE].value == pytest.approx(100 * ratio)
    assert found.given[RATE].high == pytest.approx(100 * ratio * 2)
    assert any("more than 4×" in line for line in found.warnings)


def test_transferred_across_vendors_is_wide_and_said(toy):
    catalog = toy(("small", 100, 1, 1, "paper"))
    found = rung(catalog, "other", "transferred")
    assert (found.given[RATE].low, found.given[RATE].high) == pytest.approx((50, 200))
    assert any("across vendors" in line for line in found.warnings)


def test_a_vendors_own_parts_are_preferred_to_those_of_another(toy):
    catalog = toy(("small", 100, 1, 1, "paper"), ("other", 900, 1, 1, "paper"))
    assert rung(catalog, "large", "transferred").given[RATE].value == pytest.approx(400)


def test_the_own_rate_of_a_gpu_is_left_out_of_its_transfer(toy):
    catalog = toy(("small", 100, 1, 1, "paper"), ("large", 7, 1, 1, "paper"))
    assert rung(catalog, "large", "transferred").given[RATE].value == pytest.approx(400)


def test_emulated_rates_are_not_transferred(toy):
    catalog = toy(("small", 100, 1, 1, "mlperf-storage"), ("large", 500, 1, 1, "paper"))
    answer = estimate(Job(model="toy", gpu="toy-huge"), catalog)
    assert "toy-small" not in answer.levels[0][0].note


def test_near_relatives_weigh_more(toy):
    # From large the ratio to huge is 8, from small it is 32: the answer must lie nearer to what large says.
    catalog = toy(("small", 100, 1, 1, "paper"), ("large", 800, 1, 1, "paper"))
    value = rung(catalog, "huge", "transferred").given[RATE].value
    assert math.sqrt(3200 * 6400) < value < 6400


def test_efficiency_is_the_models_own_where_it_is_known(toy):
    own = "efficiencies:\n" + "".join(
        f"  toy-{gpu}: {{value: {share}, unit: '1', source: recalled, grade: assumed}}\n"
        for gpu, share in (("small", 0.2), ("large", 0.3), ("other", 0.7))
    )
    share = rung(toy(model=MODEL + own), "small", "efficiency").given["model_flops_utilization"]
    assert (share.low, share.value, share.high) == (0.2, 0.3, 0.7)


def test_efficiency_of_the_class_says_that_it_is_not_the_models(toy):
    found = rung(toy(), "small", "efficiency")
    assert "not of this model" in found.note


def test_peak_is_peak_over_flops_and_an_upper_bound(toy):
    answer = estimate(Job(model="toy", gpu="toy-small", basis="peak"), toy())
    assert answer.results["samples_per_second_per_gpu"].value == 100
    assert any("upper bound" in line for line in answer.warnings)


def test_auto_takes_the_highest_rung_and_shows_the_others(toy):
    catalog = toy(("small", 80, 1, 1, "paper"), ("large", 300, 1, 1, "paper"))
    answer = estimate(Job(model="toy", gpu="toy-small"), catalog)
    assert answer.basis == "measured"
    assert [found.basis for found, _ in answer.levels] == ["measured", "transferred", "efficiency", "peak"]


def test_without_a_rate_of_its_own_auto_steps_down(toy):
    catalog = toy(("large", 300, 1, 1, "paper"))
    assert estimate(Job(model="toy", gpu="toy-small"), catalog).basis == "transferred"
    assert estimate(Job(model="toy", gpu="toy-small"), toy()).basis == "efficiency"


def test_a_rate_in_another_precision_does_not_count_as_measured(toy):
    catalog = toy(("small", 80, 1, 1, "paper"), precision="tf32")
    assert estimate(Job(model="toy", gpu="toy-small", precision="bf16"), catalog).basis == "efficiency"
    assert estimate(Job(model="toy", gpu="toy-small"), catalog).precision == "tf32"


def test_a_sibling_precision_counts(toy):
    catalog = toy(("small", 80, 1, 1, "paper"), precision="fp16")
    assert estimate(Job(model="toy", gpu="toy-small", precision="bf16"), catalog).basis == "measured"


@pytest.mark.parametrize(("gpus", "left"), [(1, 1), (16, 1), (1024, 0.38)])
def test_strong_scaling_keeps_what_was_published(shipped, gpus, left):
    assert evidence_ladder.scaling_loss(shipped, gpus, measured_on=8) == left


@given(st.integers(1, 100_000), st.integers(1, 100_000), st.integers(1, 1024))
def test_a_larger_job_never_keeps_more_of_the_rate(shipped, one, other, base):
    small, large = sorted((one, other))
    assert 0 < evidence_ladder.scaling_loss(shipped, large, base) <= evidence_ladder.scaling_loss(shipped, small, base) <= 1


@given(st.lists(st.floats(0.1, 1e6), min_size=1))
def test_the_median_is_that_of_statistics(numbers):
    import statistics

    assert evidence_ladder.median(numbers) == pytest.approx(statistics.median(numbers))


def test_an_unknown_precision_is_refused():
    with pytest.raises(UsageError, match="found 'bf61', expected one of"):
        evidence_ladder.family_of("bf61")


def test_a_class_that_no_ratio_predicts_has_the_wide_band(toy):
    catalog = toy(("small", 100, 1, 1, "paper"), model=MODEL.replace("family: vision", "family: graph-science"))
    rate = rung(catalog, "large", "transferred").given[RATE]
    assert (rate.low, rate.high) == pytest.approx((200, 800))


def test_every_transfer_lies_between_its_sources(shipped):
    answer = estimate(Job(model="resnet50", gpu="b200", basis="transferred"), shipped)
    rate = answer.given[RATE]
    carried = [part.value for part in rate.parts]
    assert min(carried) <= rate.value <= max(carried)
