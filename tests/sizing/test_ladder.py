"""The ladder of evidence: each rung recomputed by hand from entries of our own."""

import math
import random

import pytest
from conftest import table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.catalog.records import Family, Model, Rate, Scaling
from ingest.catalog.store import TABLE, Catalog
from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.site.site_file import new_site
from ingest.sizing.bandwidth import estimate
from ingest.sizing.evidence_ladder import RATE, scaling_factor
from ingest.sizing.job import job_of
from ingest.sizing.published_rates import Run, Steps, Submission, beyond, half_speeds, of_gpus

HEADER = ",".join(Rate._fields[:-1]) + "\n"
SIZE_LOSS = solve("size_loss", {})
MODEL = (
    "name: Toy\nsample: one image\nfamily: vision\n"
    "flops_per_sample: {value: 0.1, unit: TFLOP/sample, source: recalled, grade: assumed}\n"
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
    """Catalogs with one model, four GPUs and the rates of a test: (gpu, rate, gpus, nodes, protocol), precision, batch."""

    def build(*rows, model=MODEL, precision="bf16", more=()):
        for name, peak, bandwidth in (("small", 100, 1), ("large", 400, 4), ("huge", 6400, 16), ("other", 100, 1)):
            write_entry("gpus", f"toy-{name}", gpu_text("AMD" if name == "other" else "NVIDIA", peak, bandwidth))
        folder = write_entry("models", "toy", model)
        lines = [
            f"toy-{gpu},{own or precision},{rate},,{gpus},{nodes},{protocol},,recalled,log,measured,,{batch}\n"
            for gpu, rate, gpus, nodes, protocol, own, batch in ((*row, "", "")[:7] for row in rows)
        ]
        (tmp_path / "mine" / "models" / "toy.csv").write_text(HEADER + "".join([*lines, *more]), encoding="utf-8")
        return Catalog([folder])

    return build


def rung(catalog, gpu, basis, **options):
    answer = estimate(job_of(model="toy", gpu=f"toy-{gpu}", basis=basis, **options), catalog)
    assert answer.levels[0][0].basis == basis
    return answer.levels[0][0]


def test_measured_is_the_median_over_protocols(toy):
    others = ("small", 300, 8, 1, "mlperf-training"), ("small", 200, 8, 1, "habana")
    catalog = toy(*(("small", rate, 8, 1, "paper") for rate in (100, 110, 120)), *others)
    found = rung(catalog, "small", "measured", scaling="linear")
    assert found.protocols == {"paper": 110, "habana": 200, "mlperf-training": 300}
    rate = found.given[RATE]
    assert (rate.low, rate.value, rate.high) == (110, 200, 300)
    assert "median of 3 protocols" in found.note


def test_protocols_are_counted_once_and_told_where_they_disagree(toy):
    # The editions of one benchmark count once.
    catalog = toy(("small", 100, 8, 1, "lambda-v1"), ("small", 120, 8, 1, "lambda-v2"), ("small", 300, 8, 1, "paper"))
    found = rung(catalog, "small", "measured")
    assert found.given[RATE].value == (110 + 300) / 2
    assert found.note.startswith("median of 2 benchmarks, each the median of its protocols: 3 in all")
    catalog = toy(("small", 100, 8, 1, "paper"), ("small", 300, 8, 1, "mlperf-training"))
    assert rung(catalog, "small", "measured", protocol="paper").given[RATE].value == 100


def test_runs_on_one_or_two_nodes_count_where_there_are_any(toy):
    catalog = toy(("small", 100, 8, 1, "paper"), ("small", 90, 16, 2, "paper"), ("small", 20, 24, 3, "paper"))
    assert rung(catalog, "small", "measured", scaling="linear").given[RATE].value == 95


@pytest.mark.parametrize(("nodes", "total"), [(1, 800), (8, 3200), (16, 4800), (32, 4800 * 2**0.585), (64, 4800 * 4**0.585)])
def test_a_rate_is_used_at_its_size_and_scaled_between_and_beyond(toy, nodes, total):
    # 8, 64 and 128 GPUs: 800, 3,200 and 4,800 samples/s; the slope of a line through three points is not that of the last two.
    catalog = toy(("small", 100, 8, 1, "paper"), ("small", 50, 64, 8, "paper"), ("small", 37.5, 128, 16, "paper"))
    rate = rung(catalog, "small", "measured", nodes=nodes).given[RATE]
    exponent = math.log(rate.value * nodes * 8 / 4800) / math.log(nodes / 16) if nodes > 16 else 0
    assert nodes > 16 or rate.value * nodes * 8 == pytest.approx(total)
    assert nodes <= 16 or 0.6 < exponent < 0.7
    assert rate.low <= rate.value <= rate.high


@pytest.mark.parametrize(("size", "last", "exponent"), [(16, 200, 1), (16, 45, 0), (32, 50, 0.5)])
def test_the_scaling_exponent_stays_between_0_and_1(toy, size, last, exponent):
    catalog = toy(("small", 100, 8, 1, "paper"), ("small", last, size, size // 8, "paper"))
    base, last = max(100 * 8, last * size), size
    rate = rung(catalog, "small", "measured", nodes=last).given[RATE].value
    assert rate * last * 8 == pytest.approx(base * 8**exponent)


def test_larger_jobs_read_no_less_and_small_runs_count_first(toy):
    catalog = toy(*(("small", rate, 8 * nodes, nodes, "paper") for rate, nodes in ((100, 1), (45, 2), (60, 4))))
    rates = [(nodes, rung(catalog, "small", "measured", nodes=nodes).given[RATE].value) for nodes in (1, 2, 3, 4, 8)]
    assert [rate for _, rate in rates] == pytest.approx(sorted((rate for _, rate in rates), reverse=True))
    assert [nodes * rate for nodes, rate in rates] == pytest.approx(sorted(nodes * rate for nodes, rate in rates))
    catalog = toy(("small", 60, 64, 8, "paper"), ("small", 20, 1024, 128, "paper"))
    found = rung(catalog, "small", "measured")
    assert found.given[RATE].value == 60
    assert any("the smallest published run used 64 GPUs" in line for line in found.warnings)


@pytest.mark.parametrize(("flops", "samples"), [(MODEL.splitlines()[3], 100), ("", 30)])
def test_a_step_without_a_batch_takes_10_tflop_or_a_tenth_of_a_second_at_the_median_published_rate(toy, flops, samples):
    rows = [("small", 100, 8, 1, "paper"), ("large", 300, 8, 1, "paper"), ("huge", 301, 8, 1, "paper")]
    model = MODEL.replace(MODEL.splitlines()[3], flops)
    found = ingest.feed("toy", gpu="toy-small", nodes=1, catalogs=toy(*rows, model=model))
    assert found.known.value("samples_per_step") == samples


@pytest.mark.parametrize(("nodes", "said"), [(4, False), (5, True)])
def test_beyond_four_times_the_largest_run_the_extrapolation_is_said(toy, nodes, said):
    catalog = toy(("small", 100, 8, 1, "paper"))
    found = rung(catalog, "small", "measured", nodes=nodes)
    assert found.given[RATE].value == pytest.approx(100 / nodes**SIZE_LOSS)
    assert any("extrapolated" in line for line in found.warnings) == said


def test_the_range_opens_downwards_beyond_the_largest_run(toy, shipped):
    catalog = toy(("small", 100, 8, 1, "paper"))
    one, many = (rung(catalog, "small", "measured", nodes=nodes).given[RATE] for nodes in (1, 128))
    # A single run may be a third off; with the batch of 16 such GPUs each has 64 times fewer samples.
    assert (one.low, one.value, one.high) == pytest.approx((75, 100, 400 / 3))
    floor = shipped.get(Family, "vision").step_floor.value
    kept = (1 + floor) / (1 + 64 * floor) / 128**SIZE_LOSS
    assert (many.low, many.value) == pytest.approx((100 * kept, 100 / 128**SIZE_LOSS))
    assert many.high == pytest.approx(many.value * 1.4)


def test_steps_with_few_samples_per_gpu_slow_a_job_down(toy):
    # A step takes 0.2 s and 0.1 s per sample; no published batch is above 256.
    rate = {size: (batch / size) / (0.2 + 0.1 * batch / size) for size, batch in ((8, 64), (64, 256))}
    runs = [("small", each, size, size // 8, "mlperf-training", "", batch) for size, batch, each in
            ((8, 64, rate[8]), (64, 256, rate[64]))]  # fmt: skip
    for nodes, samples in ((8, 4), (16, 2), (128, 0.25)):
        found = rung(toy(*runs), "small", "measured", nodes=nodes)
        expected = samples / (0.2 + 0.1 * samples) / (nodes / 8) ** SIZE_LOSS
        assert found.given[RATE].value == pytest.approx(expected)
        (part,) = found.given[RATE].parts
        assert nodes == 8 or f"{samples:g} samples per GPU and step instead of 4" in part.what
    # Of a GPU with a run of one size, the steps are those that the other GPU shows.
    found = rung(toy(*runs, ("large", 30, 8, 1, "mlperf-training", "", 64)), "large", "measured", nodes=64)
    assert found.given[RATE].value == pytest.approx(30 * (0.5 / 2.5) / (8 / 10) / 64**SIZE_LOSS)


@pytest.mark.parametrize(("share", "pairs"), [(1.19, 0), (1.21, 1)])
def test_runs_tell_the_fixed_part_of_a_step_where_their_samples_differ_by_a_fifth(share, pairs):
    runs = [Run(8, 10, 64 * share), Run(64, 9.9, 512)]
    assert len([*half_speeds({Submission("g", "bf16", "p", "1", "s"): runs})]) == pairs


@given(
    st.lists(st.tuples(st.integers(1, 4096), st.floats(1e-3, 1e6), st.none() | st.integers(1, 10**6)), min_size=1, max_size=6),
    st.lists(st.floats(0, 1e4), max_size=3),
    st.floats(1e-3, 100) | st.just(math.inf),
    st.none() | st.floats(0, 1),
)
def test_a_job_never_reads_less_on_more_gpus(runs, half_speeds, floor, exponent):
    steps = Steps(tuple((size, batch) for size, _, batch in runs if batch), tuple(half_speeds), floor)
    for size, rate, batch in runs:
        last, each = rate * size, rate
        for gpus in sorted({size, size + 1, 3 * size, 10 * size, 10**8, *(one for one, *_ in runs if one > size)}):
            value, low, _ = beyond(Run(size, rate, batch), gpus, steps, exponent)
            assert low <= value <= each * (1 + 1e-9)
            assert value * gpus >= last * (1 - 1e-9)
            last, each = value * gpus, value


@pytest.mark.parametrize(
    ("rounds", "submitters", "nodes", "factor"),
    [(("v6.0", "v6.0"), "AB", 1, 1.25), (("v5.1", "v5.1"), "AB", 1, 1.25), (("v6.0", "v6.0"), "AA", 1, 4 / 3),
     (("v5.0", "v5.0"), "AB", 1, 4 / 3), (("v5.1", "v6.0"), "AB", 1, 4 / 3), (("v6.0", "v6.0"), "AB", 2, 1.4)],
)  # fmt: skip
def test_a_measured_range_is_no_narrower_than_the_next_round(toy, rounds, submitters, nodes, factor):
    rows = [
        f"toy-small,bf16,100,,8,1,mlperf-training,{of},recalled,{by}/results/x,measured,,\n"
        for of, by in zip(rounds, submitters, strict=True)
    ]
    rate = rung(toy(more=rows), "small", "measured", nodes=nodes).given[RATE]
    assert rate.high / rate.value == pytest.approx(factor)
    assert rate.low <= rate.value / factor * (1 + 1e-9)


def test_the_newest_round_at_a_size_counts(toy):
    rows = [
        f"toy-small,bf16,{rate},,{gpus},1,{under},{of},recalled,A/results/x,measured,,\n"
        for rate, gpus, under, of in ((100, 8, "mlperf-training", "v5.1"), (130, 8, "mlperf-training", "v6.0"),
                                      (90, 16, "mlperf-training", "v5.0"), (50, 8, "paper", ""))
    ]  # fmt: skip
    for nodes, expected in ((1, 130), (2, 90)):
        assert rung(toy(more=rows), "small", "measured", nodes=nodes).protocols["mlperf-training"] == expected


def test_disagreement_is_told_where_it_matters(toy):
    catalog = toy(("small", 100, 8, 1, "lambda-v1"), ("small", 300, 8, 1, "mlperf-training"))
    found = rung(catalog, "small", "measured")
    (warning,) = found.warnings
    assert "protocols disagree 3.0×" in warning
    assert "mlperf-training 300; lambda-v1 100" in warning
    assert "Demand" in found.given[RATE].parts[1].advice
    catalog = toy(("small", 100, 8, 1, "mlperf-storage"))
    (warning,) = rung(catalog, "small", "emulated").warnings
    assert "no GPU computes" in warning
    with pytest.raises(IngestError, match="no measured estimate"):
        rung(catalog, "small", "measured")


@pytest.mark.parametrize(("asleep", "basis"), [(159, "transferred"), (161, "emulated")])
def test_training_runs_wholly_above_an_emulation_answer_in_its_place(toy, asleep, basis):
    # 100 on the small GPU is 400 on the large one, and the large one is in no protocol: 400 ÷ 2.5 = 160 at the least.
    catalog = toy(("small", 100, 8, 1, "lambda-v1"), ("large", asleep, 8, 1, "mlperf-storage"))
    assert estimate(job_of(model="toy", gpu="toy-large"), catalog).basis == basis


def test_recalled_rates_are_a_utilization_never_a_measurement(toy):
    row = "toy-small,bf16,40,,8,1,paper,,recalled,from memory,assumed,,\n"
    answer = estimate(job_of(model="toy", gpu="toy-small"), toy(more=[row]))
    assert (answer.basis, answer.results["samples_per_second_per_gpu"].value) == ("efficiency", pytest.approx(40))
    assert any("not been checked" in line for line in answer.warnings)


def test_auto_never_answers_with_the_peak(toy):
    catalog = toy(model=MODEL.replace("family: vision", "family: graph-science"))
    with pytest.raises(IngestError, match="set --efficiency or --samples-per-second"):
        estimate(job_of(model="toy", gpu="toy-small"), catalog)


def with_seen(catalog, **rates):
    """The catalog with a table of rates of our own: GPU -> {(model, precision): rate}, all under one protocol."""
    catalog.once(TABLE, lambda: {("paper", f"toy-{gpu}"): cells for gpu, cells in rates.items()})
    return catalog


def test_a_transfer_is_a_mean_of_ratios_without_the_asked_model(toy):
    # Transferred is the geometric mean of peak and bandwidth ratio.
    found = rung(toy(("small", 100, 8, 1, "paper")), "large", "transferred")
    assert found.given[RATE].value == pytest.approx(400)
    one, other = {("a", "bf16"): 10, ("b", "bf16"): 10}, {("a", "bf16"): 20, ("b", "bf16"): 30}
    found = rung(with_seen(toy(("small", 100, 8, 1, "paper")), small=one, large=other), "large", "transferred")
    rate = found.given[RATE]
    assert rate.value == pytest.approx(100 * (4 * 2 * 3) ** (1 / 3))
    assert "a 2; b 3" in rate.parts[0].what
    # The asked model itself is never among the seen.
    catalog = with_seen(toy(("small", 100, 8, 1, "paper")), small={("toy", "bf16"): 1}, large={("toy", "bf16"): 9})
    assert rung(catalog, "large", "transferred").given[RATE].value == pytest.approx(400)


def test_a_ratio_seen_at_another_precision_is_scaled_by_the_peaks(toy, write_entry):
    catalog = toy(("small", 100, 8, 1, "paper"))
    for name, peak, narrow, bandwidth in (("large", 400, 1600, 4), ("small", 100, 100, 1)):
        fp8 = f"  fp8: {{value: {narrow}, unit: TFLOP/s, source: recalled, grade: assumed}}\n  bf16"
        write_entry("gpus", f"toy-{name}", gpu_text("NVIDIA", peak, bandwidth).replace("  bf16", fp8))
    found = rung(with_seen(catalog, small={("a", "fp8"): 10}, large={("a", "fp8"): 40}), "large", "transferred")
    # At fp8 the data sheets give √(16 × 4) = 8 and the model showed 4; at bf16 they give 4, so it shows 2.
    assert found.given[RATE].value == pytest.approx(100 * math.sqrt(4 * 2))


TWINS = {"large": {("a", "bf16"): 4}, "small": {("a", "bf16"): 1}, "twin": {("a", "bf16"): 1}}


@pytest.mark.parametrize(
    ("rates", "seen", "factor"),
    [([10], {}, 2.5), ([10], {"large": {("z", "bf16"): 1}}, 1.8), ([10], TWINS, 1.5), ([10, 10], TWINS, 1.25),
     ([10, 12.2], TWINS, 1.25), ([10, 12.3], TWINS, 1.35), ([10, 16.4], TWINS, 1.35), ([10, 16.6], TWINS, 1.5)],
)  # fmt: skip
def test_the_range_says_how_much_was_seen_and_how_far_sources_agree(toy, write_entry, rates, seen, factor):
    catalog = toy(*((gpu, rate, 1, 1, "paper") for gpu, rate in zip(("small", "twin"), rates, strict=False)))
    write_entry("gpus", "toy-twin", gpu_text("NVIDIA", 100, 1))
    rate = rung(with_seen(catalog, **seen), "large", "transferred").given[RATE]
    assert (rate.value / rate.low, rate.high / rate.value) == pytest.approx((factor, factor))


@pytest.mark.parametrize(("peak", "is_far"), [(1590, False), (1610, True)])
def test_beyond_a_ratio_of_four_the_range_is_far_and_that_is_said(toy, write_entry, peak, is_far):
    catalog = toy(("small", 100, 8, 1, "paper"))
    write_entry("gpus", "toy-huge", gpu_text("NVIDIA", peak, 1))
    found = rung(with_seen(catalog, huge={("z", "bf16"): 1}), "huge", "transferred")
    assert found.given[RATE].high / found.given[RATE].value == pytest.approx(2.5 if is_far else 1.8)
    assert any("more than 4×" in line for line in found.warnings) == is_far


def test_transfers_prefer_the_nearest_hardware(toy):
    catalog = with_seen(toy(("small", 900, 8, 1, "paper")), other={("z", "bf16"): 1})
    found = rung(catalog, "other", "transferred")
    assert found.given[RATE].low == pytest.approx(360)
    assert found.given[RATE].high == pytest.approx(810), "0.81 of the dense peak ends it"
    assert any("across vendors" in line for line in found.warnings)
    # A vendors own parts are preferred to those of another.
    catalog = toy(("small", 100, 8, 1, "paper"), ("other", 900, 8, 1, "paper"))
    assert rung(catalog, "large", "transferred").given[RATE].value == pytest.approx(400)
    # The own rate of a gpu is left out of its transfer.
    catalog = toy(("small", 100, 8, 1, "paper"), ("large", 7, 8, 1, "paper"))
    assert rung(catalog, "large", "transferred").given[RATE].value == pytest.approx(400)
    # Emulated rates are not transferred.
    catalog = toy(("small", 100, 8, 1, "mlperf-storage"), ("large", 500, 8, 1, "paper"))
    answer = estimate(job_of(model="toy", gpu="toy-huge"), catalog)
    assert "toy-small" not in answer.levels[0][0].note


def test_near_relatives_weigh_more(toy):
    # From large the ratio to huge is 8, from small it is 32: the weights are the inverse squares of 0.2 and its logarithm.
    catalog = toy(("small", 100, 8, 1, "paper"), ("large", 800, 8, 1, "paper"))
    value = rung(catalog, "huge", "transferred").given[RATE].value
    near, far = (1 / (0.2 + math.log(ratio)) ** 2 for ratio in (8, 32))
    assert value == pytest.approx(math.exp((near * math.log(6400) + far * math.log(3200)) / (near + far)))


def test_efficiency_and_peak_say_what_they_are(toy):
    catalog = toy(("small", 200, 8, 1, "paper"), ("large", 1200, 8, 1, "paper"), ("other", 700, 8, 1, "paper"))
    share = rung(catalog, "small", "efficiency").given["model_flops_utilization"]
    assert (share.low, share.value, share.high) == pytest.approx((0.2, 0.3, 0.7))
    found = rung(toy(), "small", "efficiency")
    assert "not of this model" in found.note
    answer = estimate(job_of(model="toy", gpu="toy-small", basis="peak"), toy())
    assert answer.results["samples_per_second_per_gpu"].value == 1000
    assert any("upper bound" in line for line in answer.warnings)


def test_auto_takes_the_highest_rung_there_is(toy):
    catalog = toy(("small", 80, 8, 1, "paper"), ("large", 300, 8, 1, "paper"))
    answer = estimate(job_of(model="toy", gpu="toy-small"), catalog)
    assert answer.basis == "measured"
    assert [found.basis for found, _ in answer.levels] == ["measured", "transferred", "efficiency", "peak"]
    catalog = toy(("large", 300, 8, 1, "paper"))
    assert estimate(job_of(model="toy", gpu="toy-small"), catalog).basis == "transferred"
    assert estimate(job_of(model="toy", gpu="toy-small"), toy()).basis == "efficiency"
    # A rate in another precision does not count as measured.
    catalog = toy(("small", 80, 8, 1, "paper"), precision="tf32")
    assert estimate(job_of(model="toy", gpu="toy-small", precision="bf16"), catalog).basis == "efficiency"
    assert estimate(job_of(model="toy", gpu="toy-small"), catalog).precision == "tf32"
    catalog = toy(("small", 90, 8, 1, "paper"), ("small", 80, 8, 1, "paper", "fp8"))
    (said,) = [one for one in estimate(job_of(model="toy", gpu="toy-small"), catalog).warnings if "is higher" in one]
    assert "the measured rate at bf16 is higher, 90 samples/s per GPU" in said
    catalog = toy(("small", 80, 8, 1, "paper"), precision="fp16")
    assert estimate(job_of(model="toy", gpu="toy-small", precision="bf16"), catalog).basis == "measured"


@given(st.integers(1, 100_000), st.integers(1, 100_000))
def test_a_larger_job_never_keeps_more_of_the_rate(shipped, one, other):
    small, large = sorted((one, other))
    strong = shipped.get(Scaling, "strong")
    assert 0 < scaling_factor(strong, large).value <= scaling_factor(strong, small).value <= 1


def test_every_transfer_lies_between_its_sources(shipped):
    answer = estimate(job_of(model="resnet50", gpu="b200", basis="transferred"), shipped)
    rate = answer.given[RATE]
    carried = [part.value for part in rate.parts]
    assert min(carried) <= rate.value <= max(carried)


@pytest.mark.parametrize(("nodes", "words", "told"), [
    (2, "smallest published run", False), (3, "smallest published run used 24 GPUs", True),
])  # fmt: skip
def test_the_smallest_run_is_told_where_none_is_on_one_or_two_nodes(toy, nodes, words, told):
    found = rung(toy(("small", 100, 8 * nodes, nodes, "paper")), "small", "measured", scaling="linear")
    assert any(words in line for line in found.warnings) is told
    assert f" {8 * nodes} GPUs" in found.note
    assert " to " not in found.note


@pytest.mark.parametrize(("rate", "told"), [(150, False), (150.3, True)])
def test_protocols_disagree_beyond_one_and_a_half(toy, rate, told):
    found = rung(toy(("small", 100, 8, 1, "lambda-v1"), ("small", rate, 8, 1, "mlperf-training")), "small", "measured")
    assert ["protocols disagree" in line for line in found.warnings] == [True] * told


@pytest.mark.parametrize(
    ("model", "gpu", "precision"), table("sizing/cases.yaml")["the_precision_is_the_fastest_that_runs_of_the_generation_use"]
)
def test_the_precision_is_the_fastest_that_runs_of_the_generation_use(model, gpu, precision):
    assert ingest.bw(model=model, gpu=gpu).precision == precision
    length = {"tokens": "1e12"} if model.startswith(("llama", "deepseek")) else {"samples": 1e9}
    trained = ingest.train(model, gpu, gpus=64, set={"goodput": 0.9}, **length)
    assert trained.inputs["precision"] == {"value": precision, "from": "default"}
    # Checkpoints and memory keep their weights in 16 bits and name the precision of the products.
    words = f"; computed in {precision}"
    for answer in (ingest.checkpoint(model, gpu=gpu, gpus=64), ingest.memory(model, gpu=gpu, gpus=64)):
        assert answer.title.endswith(words) == (precision != "bf16")
    # A tender written from the model sizes for the precision of `bw`.
    assert "precision" not in new_site(nodes=8, gpu="b200", models=model)


def test_a_precision_that_changes_with_the_size_is_named():
    told = "computed in bf16, as published runs of this size are: those in fp8 have up to 8,192 GPUs"
    for nodes, precision in ((1024, "fp8"), (2048, "bf16")):
        for command, options in ((ingest.train, {"tokens": "1e12"}), (ingest.bw, {})):
            answer = command("llama3-405b", "h100", nodes=nodes, **options)
            assert f", {precision}: measured" in answer.title
            assert any(line.startswith(told) for line in answer.warnings) == (precision == "bf16")


@pytest.mark.parametrize(("bandwidth", "precision"), [(2.01, "tf32"), (2, "fp8"), (0.5, "fp8"), (0.49, "tf32")])
def test_gpus_of_a_generation_have_memory_of_a_speed(toy, write_entry, bandwidth, precision):
    catalog = toy(("small", 100, 8, 1, "paper", "tf32"), ("like", 100, 8, 1, "paper", "fp8"))
    fp8 = "peak_flops:\n  fp8: {value: 200, unit: TFLOP/s, source: recalled, grade: assumed}\n"
    for name, speed in (("small", 1), ("like", bandwidth)):
        write_entry("gpus", f"toy-{name}", gpu_text("NVIDIA", 100, speed).replace("peak_flops:\n", fp8))
    assert estimate(job_of(model="toy", gpu="toy-small"), catalog).precision == precision


@pytest.mark.parametrize("seed", range(20))
def test_a_faster_precision_is_taken_where_a_run_of_the_size_is_published(toy, seed):
    chance = random.Random(seed)
    largest = {one: chance.choice((8, 64, 512, 1024)) for one in chance.sample(("fp8", "bf16", "tf32"), 2)}
    rows = [("small", chance.uniform(50, 300), most, most // 8, "paper", one) for one, most in largest.items()]
    catalog, totals = toy(*rows), []
    reach = {one: 1.1 * largest[one] for one in ("fp8", "bf16", "tf32") if one in largest}
    for gpus in sorted({8, *(round(most * share) for most in largest.values() for share in (1, 1.09, 1.11, 2, 5))}):
        answer = estimate(job_of(model="toy", gpu="toy-small", nodes=gpus, gpus_per_node=1), catalog)
        own = [one for one, most in reach.items() if most >= gpus]
        assert answer.precision == (own[0] if own else max(reach, key=reach.get))
        totals.append(answer.results["ingest_bandwidth_per_job"].value)
    assert totals == pytest.approx(sorted(totals))


def test_a_job_larger_than_any_run_at_a_faster_precision_reaches_up_to_its_rate(toy):
    catalog = toy(("small", 100, 512, 64, "paper"), ("small", 1000, 64, 8, "paper", "fp8"))
    rate, fp8 = (rung(catalog, "small", "measured", nodes=20, precision=one).given[RATE] for one in (None, "fp8"))
    # A job of 1.1 times 64 GPUs at fp8 sets the total of 160 GPUs.
    at_most = rung(catalog, "small", "measured", nodes=70, gpus_per_node=1, precision="fp8").given[RATE].value
    assert rate.value == pytest.approx(at_most * 70.4 / 160, rel=0.01)
    assert rate.high == pytest.approx(fp8.value)
    assert fp8.value > rate.value > rate.low
    # Only runs of the protocol count.
    assert rung(catalog, "small", "measured", nodes=12, protocol="paper").note.endswith("no run is as large")


def test_the_published_run_of_405b_on_16384_gpus_is_answered_in_its_precision():
    answer = ingest.train("llama3-405b", "h100", gpus=16384, tokens="15.6T")
    assert answer.inputs["precision"]["value"] == "bf16"
    assert answer.results["gpu_hours"].value == pytest.approx(30.84e6, rel=0.05)


@pytest.mark.parametrize(("gpus", "rate", "counts"), [(32, 40, False), (32, 40.4, True), (31, 40, True), (64, 20, False)])
def test_a_run_slower_in_total_than_one_on_half_as_many_gpus_waits(toy, gpus, rate, counts):
    catalog = toy(("small", 100, 16, 2, "paper"), ("small", rate, gpus, 4, "paper"))
    model = catalog.get(Model, "toy")
    assert {row.gpus for row in of_gpus(model, catalog.rates(model))} == ({16, gpus} if counts else {16})
    both = rung(catalog, "small", "measured", nodes=gpus, gpus_per_node=1).given[RATE].value
    alone = rung(toy(("small", 100, 16, 2, "paper")), "small", "measured", nodes=gpus, gpus_per_node=1).given[RATE].value
    assert (alone == both) is not counts


@pytest.mark.parametrize("bound", [16, 32, 64])
def test_a_run_whose_log_shows_that_it_waited_makes_no_rate_where_another_does(toy, bound):
    row = f"toy-small,bf16,90,,{bound},{bound // 8},paper,,recalled,a log,measured,lower bound: waits,\n"
    catalog = toy(("small", 100, 32, 4, "paper"), more=[row])
    rows = catalog.rates(model := catalog.get(Model, "toy"))
    assert [(one.gpus, one.note) for one in of_gpus(model, rows)] == [(32, "")]
    assert [one.gpus for one in of_gpus(model, [one for one in rows if one.note])] == [bound]


@pytest.mark.parametrize(("protocol", "rate"), [("paper", 90), ("gpu-hours", 100)])
def test_the_mean_of_a_whole_run_is_below_the_rate_at_which_it_computes(toy, protocol, rate):
    assert rung(toy(("small", 90, 8, 1, protocol)), "small", "measured").given[RATE].value == pytest.approx(rate)


@pytest.mark.parametrize(("model", "hours"), [("llama2-13b", 368640), ("llama2-70b", 1720320)])
def test_the_losses_of_a_whole_run_count_once(model, hours):
    found = ingest.train(model, "a100", gpus=2048, tokens="2T").results["gpu_hours"]
    assert found.value == pytest.approx(hours, rel=0.01)
    assert found.low < hours < found.high


def test_the_range_of_the_usual_precision_reaches_down_to_slower_ones(toy):
    catalog = toy(("small", 100, 8, 1, "paper"), ("small", 240, 8, 1, "paper", "fp8"), ("small", 10, 8, 1, "paper", "tf32"))
    rate = rung(catalog, "small", "measured").given[RATE]
    assert (rate.low, rate.value) == (100, 240)
    assert "down to that of runs at bf16" in rate.note
    assert rung(catalog, "small", "measured", precision="fp8").given[RATE].low == pytest.approx(180)


@pytest.mark.parametrize(("gpus", "told"), [(16, False), (17, True)])
def test_a_run_of_one_gpu_says_nothing_of_more_than_16(toy, gpus, told):
    found = rung(toy(("small", 100, 1, 1, "paper")), "small", "measured", nodes=gpus, gpus_per_node=1)
    assert any("have up to 1 GPU" in line for line in found.warnings) is told


@pytest.mark.parametrize("seed", range(6))
def test_fewer_bits_than_any_run_gain_what_others_gained(seed, shipped):
    """The rate of a language model without runs in so few bits is that at 16 bits times a gain; others are refused."""
    draw = random.Random(seed)
    model = draw.choice(["qwen3-8b", "gemma-3-27b", "llama-4-scout", "glm-4.5", "smollm2-360m"])
    gpu, precision = draw.choice([("h100-sxm", "fp8"), ("b200", "fp8"), ("b200", "fp4"), ("mi300x", "fp8")])
    gain = shipped.get(Family, "llm").gain_by_precision[precision]

    def rate(at):
        return ingest.bw(model, gpu=gpu, precision=at).results["tokens_per_second_per_gpu"]

    wide, low = rate("bf16"), rate(precision)
    assert low.value == pytest.approx(wide.value * gain.value)
    assert low.low == pytest.approx(wide.low * gain.low)
    assert low.high <= wide.high * gain.high * (1 + 1e-9)
    with pytest.raises(IngestError, match="no estimate"):
        ingest.bw("vit-h14", gpu=gpu, precision=precision)
    with pytest.raises(IngestError, match="no dense fp8 peak"):
        ingest.bw(model, gpu="a100", precision="fp8")
