"""The shipped catalogs: every figure sourced, every reference there, every derived figure derivable."""

import math
import re
import statistics
from collections import defaultdict
from functools import cache
from itertools import combinations

import pytest
from conftest import CATALOG, table

from ingest import catalog as commands
from ingest.architecture.catalog_entries import model_of
from ingest.catalog.commands import CatalogEntry
from ingest.catalog.records import GRADES, KINDS, Family, Gpu, Model, Node, Protocol
from ingest.catalog.store import TABLE
from ingest.catalog.yaml_reader import read_yaml
from ingest.configuration import shipped_folder
from ingest.engine.registry import solve, unit_of
from ingest.errors import IngestError
from ingest.sizing import bandwidth, evidence_ladder
from ingest.sizing.evidence_choice import utilizations
from ingest.sizing.evidence_ladder import FAMILIES, generation_of
from ingest.sizing.model import model
from ingest.sizing.published_rates import PublishedRates, half_speeds, series_of, submissions
from ingest.sizing.train import train
from ingest.units import parse, physical
from ingest.validation import located

SIXTEEN_BIT = ("bf16", "fp16")


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_has_unit_source_and_grade(shipped, kind):
    for name in shipped.ids(kind):
        entry = shipped.get(KINDS[kind], name)
        assert entry.id == name
        for label, value in CatalogEntry(entry, shipped).results.items():
            assert value.unit, (name, label)
            assert value.source in shipped.sources, (name, label)
            assert value.grade in GRADES, (name, label)
            assert (value.low or value.value) <= value.value <= (value.high or value.value), (name, label)


def test_every_model_and_rate_holds_together(shipped):
    for entry in shipped.all(Model):
        assert shipped.get(Family, entry.family).name
        assert entry.sample_unit == entry.sample_unit.lower() != "", entry.id
        if entry.family == "llm":
            assert entry.sample_unit in ("token", "sequence"), entry.id
            assert (entry.tokens_per_sample.value == 1) == (entry.sample_unit == "token"), entry.id
            assert (entry.sequence_length or entry.tokens_per_sample).value >= 2048, entry.id
        for precision in (members[0] for members in FAMILIES):
            shares = utilizations(PublishedRates(entry, shipped), precision)
            assert all(share.value < 1 for share in shares), (entry.id, precision)
        for rate in shipped.rates(entry):
            assert shipped.get(Gpu, rate.gpu).id == rate.gpu
            assert shipped.get(Protocol, rate.protocol).id == rate.protocol
            assert rate.source in shipped.sources
            assert rate.gpus >= rate.nodes
            # The table of MaxText counts attention without the causal mask, and prints up to 72 % for TPUs at bf16.
            limit = 0.72 if rate.protocol == "maxtext" else 0.65
            if entry.family == "llm" and rate.precision in SIXTEEN_BIT:
                assert share_of_the_peak(shipped, entry, rate) <= limit, rate
            peaks = shipped.get(Gpu, rate.gpu).peak_flops
            if rate.precision == "bf16" and "fp16" in peaks:
                assert "bf16" in peaks, (entry.id, rate)


def test_names_and_files_lead_somewhere(shipped):
    for kind, names in shipped.aliases.items():
        for alias, name in names.items():
            assert name in shipped.ids(kind)
            assert alias == name or alias not in shipped.ids(kind)
    for node in shipped.all(Node):
        assert shipped.get(Gpu, node.gpu).id == node.gpu
    for gpu in shipped.all(Gpu):
        if gpu.usual_node:
            assert shipped.get(Node, gpu.usual_node).gpu == gpu.id
    report = commands.check()
    assert report.problems == ()
    assert report.files > 200
    folder = shipped.folders[-1]
    known = {*KINDS, "architectures", "published", "sources.yaml", "aliases.yaml", "names.yaml"}
    assert {path.relative_to(folder).parts[0] for path in folder.rglob("*.yaml")} <= known
    csvs = set(folder.rglob("*.csv"))
    assert all(path.with_suffix(".yaml").is_file() for path in csvs if path.name not in (TABLE, "releases.csv", "history.csv"))


@pytest.mark.parametrize(
    ("gpu", "dense"),
    [("h100-sxm", 989.4e12), ("a100-80-sxm", 312e12), ("a100-40-sxm", 312e12), ("v100-sxm2", 125e12), ("mi300x", 1307.4e12)],
)
def test_sixteen_bit_peaks_are_dense(shipped, gpu, dense):
    found = evidence_ladder.peak_of(shipped.get(Gpu, gpu), "bf16")
    assert found.value == pytest.approx(dense, rel=1e-3)


def test_peaks_are_dense_and_lower_precision_is_never_slower(shipped):
    sparse = {"h100": (1979, 3958), "h200": (1979, 3958), "gh200": (1979, 3958), "a100": (624,), "mi300x": (2614.9,)}
    for gpu in shipped.all(Gpu):
        headlines = next((figures for start, figures in sparse.items() if gpu.id.startswith(start)), ())
        for value in (gpu.peak_flops[one] for one in SIXTEEN_BIT if one in gpu.peak_flops):
            assert all(abs(value.value / 1e12 / figure - 1) > 0.01 for figure in headlines), gpu.id
        order = [gpu.peak_flops[one].value for one in ("fp32", "tf32", "bf16", "fp8", "fp4") if one in gpu.peak_flops]
        assert order == sorted(order), gpu.id


def share_of_the_peak(shipped, entry, rate):
    """Utilization that a rate implies, by the dense peak of its own precision; 0 if it cannot be computed."""
    peak = evidence_ladder.peak_of(shipped.get(Gpu, rate.gpu), rate.precision)
    work = entry.flops_per_sample.value if entry.flops_per_sample else 0
    reached = max(rate.achieved_flops_per_gpu or 0, (rate.samples_per_second_per_gpu or 0) * work)
    return reached / peak.value if peak else 0


@pytest.mark.parametrize(
    "name", ["gpt3-175b", "llama2-70b-lora", "llama3-405b", "llama3-8b", "flux-1", "dlrm-dcnv2", "rgat-igbh"]
)
def test_no_precision_of_a_large_submission_is_assumed(shipped, name):
    assert all("assumed" not in rate.note for rate in shipped.rates(shipped.get(Model, name)))


@pytest.mark.parametrize(("name", "length"), table("catalog/cases.yaml")["the_flops_of_a_sample_are_those_of_the_weight_table"])
def test_the_flops_of_a_sample_are_those_of_the_weight_table(shipped, name, length):
    entry = shipped.get(Model, name)
    per_token = model(name.removesuffix("-sft"), sequence_length=length).results["flops_per_token"].value
    tokens = 1 if "a token in sequences" in entry.flops_per_sample.where else length
    assert entry.flops_per_sample.value == pytest.approx(per_token * tokens, rel=1e-6)


def test_405b_on_h100_takes_the_days_that_the_published_rate_implies(shipped):
    rates = shipped.rates(shipped.get(Model, "llama3-405b"))
    (rate,) = (one for one in rates if one.gpu == "h100-sxm" and one.gpus == 16384)
    days = 15.6e12 / (rate.samples_per_second_per_gpu * 8192 * rate.gpus) / 86400
    assert (rate.grade, rate.precision, round(days)) == ("published", "bf16", 67)


def test_recommendation_slows_down_per_gpu_on_more_nodes(shipped):
    rates = shipped.rates(shipped.get(Model, "dlrm-dcnv2"))
    by_size = {one.gpus: one.samples_per_second_per_gpu for one in rates if (one.gpu, one.round) == ("h100-sxm", "v4.0")}
    assert sorted(by_size) == [4, 8, 64, 128]
    assert by_size[8] > 2 * by_size[64] > 2 * by_size[128]


@cache
def shares_of_runs():
    """By class: the share of the peak that each published pre-training run reached, losses to interruptions taken out."""
    path, found = shipped_folder() / "published/pretraining-runs.yaml", defaultdict(list)
    for case in read_yaml(path)["cases"]:
        answer = train(**located(path, case["train"]))
        ours, published = answer.results[case["quantity"]], parse(case["published"], unit_of(case["quantity"]), case["id"])
        faster = ours.value / published if case["quantity"] == "gpu_hours" else published / ours.value
        share = answer.results["implied_flops_utilization"].value * faster
        found[model_of(answer.chosen["model"]["value"], CATALOG).efficiency_class].append(share)
    return found


@pytest.mark.parametrize("name", CATALOG.ids("families"))
def test_the_efficiency_of_a_class_is_the_median_over_its_members(shipped, name):
    shared = shipped.get(Family, name).efficiency
    members = [entry for entry in shipped.all(Model) if name in (entry.family, entry.efficiency_class)]
    if shared is not None and shared.source == "ingest-runs":
        members = [entry for entry in members if entry.efficiency_class == name]
    shares = [share.value for entry in members for share in utilizations(PublishedRates(entry, shipped), "bf16")]
    if shared is None:
        assert len(shares) < 3
        assert "too few" in shipped.get(Family, name).missing["efficiency"]
        return
    assert not shares or f"over {len(shares)} pairs" in shared.where
    if shared.source == "ingest-runs":
        of_runs = shares_of_runs()[name]
        assert f" {len(of_runs)} published runs" in shared.where
        ends = sorted([*shares, *of_runs])
        assert (shared.value, shared.low, shared.high) == pytest.approx((statistics.median(ends), ends[0], ends[-1]), rel=5e-3)
        return
    tenths = statistics.quantiles(shares, n=10, method="inclusive")
    assert (shared.value, shared.low, shared.high) == pytest.approx((tenths[4], tenths[0], tenths[8]), rel=5e-3)


@pytest.mark.parametrize("name", CATALOG.ids("families"))
def test_generations_differ_where_the_others_of_a_model_say_so(shipped, name):
    """The share of a generation is stated where it predicts models left out better, by a tenth, than the class as a whole."""
    pairs, protocols = [], defaultdict(set)
    for entry in (one for one in shipped.all(Model) if one.efficiency_class == name):
        rates = PublishedRates(entry, shipped)
        for share in utilizations(rates, "bf16"):
            generation = generation_of(rates.gpu(share.what))
            pairs.append((entry.id, generation, share.value))
            runs = series_of(entry, rates.of_runs(), "bf16")
            protocols[generation] |= {rate.protocol for rate in runs if rate.gpu == share.what}

    def middle(left_out, generation=None):
        return statistics.median([one for of, on, one in pairs if of != left_out and generation in (None, on)] or [math.inf])

    stated = shipped.get(Family, name).efficiency_by_generation
    sizes = {on: sum(one[1] == on for one in pairs) for _, on, _ in pairs}
    told = {on for on, count in sizes.items() if count >= 5 and len(protocols[on]) >= 2}
    whole, split = (
        statistics.median([abs(middle(of, on if on in by else None) / share - 1) for of, on, share in pairs] or [0])
        for by in ((), told)
    )
    assert {*stated} == (told if split <= 0.9 * whole and len(told) > 1 else set())
    for generation, shared in stated.items():
        tenths = statistics.quantiles([one for *_, one in pairs], n=10, method="inclusive")
        value = middle("", generation)
        ends = [value * end / tenths[4] for end in (tenths[0], tenths[8])]
        assert f"over {sizes[generation]} pairs" in shared.where
        assert (shared.value, shared.low, shared.high) == pytest.approx((value, *ends), rel=5e-3)


def test_the_floor_of_a_step_is_the_median_over_pairs_of_runs(shipped):
    shares = defaultdict(list)
    for entry in shipped.all(Model):
        found = half_speeds(submissions(entry, PublishedRates(entry, shipped).of_runs()))
        shares[entry.family] += [half / samples for half, samples in found]
    everything = [share for found in shares.values() for share in found]
    for family in (shipped.get(Family, name) for name in {entry.family for entry in shipped.all(Model)}):
        own = shares[family.id] if len(shares[family.id]) >= 3 else everything
        tenths = statistics.quantiles(own, n=10, method="inclusive")
        floor = family.step_floor
        assert f"over {len(own)} pairs of runs of {'all classes' if own is everything else 'this class'}" in floor.where
        assert (floor.value, floor.low, floor.high) == pytest.approx((tenths[4], tenths[0], tenths[8]), rel=5e-3)


def test_what_fewer_bits_gain_is_the_median_over_runs_of_one_stack(shipped):
    runs = defaultdict(lambda: defaultdict(list))
    for entry in (one for one in shipped.all(Model) if one.family == "llm"):
        for row in PublishedRates(entry, shipped).of_runs():
            if row.samples_per_second_per_gpu is not None:
                release = "".join(re.findall(r"release [\d.]+", row.where))
                key = (entry.id, row.gpu, row.gpus, row.protocol, row.round, release)
                runs[key][row.precision].append(row.samples_per_second_per_gpu)
    for case in read_yaml(shipped_folder() / "published/pretraining-runs.yaml")["cases"]:
        if case["source"] == "torchtitan" and case["train"].get("precision"):
            runs[case["id"].rpartition("-")[0]][case["train"]["precision"]].append(case["published"])

    def gains(few, many, most):
        pairs = [statistics.median(at[few]) / statistics.median(at[many]) for at in runs.values() if {few, many} <= {*at}]
        return sorted(one for one in pairs if one <= most)

    stated, eight = shipped.get(Family, "llm").gain_by_precision, gains("fp8", "bf16", 2)
    four = sorted(gains("fp4", "bf16", 4) + [one * statistics.median(eight) for one in gains("fp4", "fp8", 2)])
    for name, found in (("fp8", eight), ("fp4", four)):
        gain = stated[name]
        assert f"over {len(found)} pairs" in gain.where
        assert (gain.value, gain.low, gain.high) == pytest.approx((statistics.median(found), found[0], found[-1]), rel=5e-3), (
            found
        )


def test_runs_with_as_many_samples_per_gpu_lose_little_with_their_size(shipped):
    losses = []
    for entry in shipped.all(Model):
        for runs in submissions(entry, PublishedRates(entry, shipped).of_runs()).values():
            for small, large in combinations(runs, 2):
                if small.batch and large.batch and small.step_samples == pytest.approx(large.step_samples, rel=0.05):
                    losses.append(math.log(small.rate / large.rate) / math.log(large.gpus / small.gpus))
    assert len(losses) > 80
    assert statistics.median(losses) == pytest.approx(solve("size_loss", {}), abs=2e-3)


def test_a_step_of_a_published_run_takes_a_time_that_a_step_can_take(shipped):
    for entry in shipped.all(Model):
        for rate in shipped.rates(entry):
            if rate.batch:
                assert 1e-4 < rate.batch / rate.gpus / rate.samples_per_second_per_gpu < 120, (entry.id, rate)


@pytest.mark.parametrize("basis", ["auto", "efficiency"])
def test_larger_llamas_take_longer(basis):
    names = ("llama3-8b", "llama3-70b", "llama3-405b")
    jobs = [bandwidth.bw(model=name, gpu="h100", gpus_per_node=8, nodes=16, basis=basis, precision="bf16") for name in names]
    rates = [job.results["tokens_per_second_per_gpu"].value for job in jobs]
    days = [1e12 / (rate * 128) / 86400 for rate in rates]
    # 6·N·D at 25 to 60 % of the dense peak
    for size, taken in zip((8e9, 70e9, 405e9), days, strict=True):
        assert 6 * size * 1e12 / (0.6 * 989e12 * 128 * 86400) < taken < 6 * size * 1e12 / (0.2 * 989e12 * 128 * 86400)
    assert days == sorted(days)


def test_every_model_answers_on_an_h100_or_says_what_to_supply():
    for name in CATALOG.ids("models"):
        try:
            estimate = bandwidth.bw(model=name, gpu="h100")
        except IngestError as refused:
            refusal = str(refused)
        else:
            assert estimate.basis != "peak", name
            read = estimate.results.get("ingest_bandwidth_per_gpu")
            refusal = "" if read else estimate.incomplete
            assert read is None or (read.low or read.value) <= read.value <= (read.high or read.value), name
        assert not refusal or "; set --" in refusal, name
        assert "\n" not in refusal


def test_whisper_reads_a_few_megabytes_per_second():
    estimate = bandwidth.bw(model="whisper-large", gpu="h100")
    read = estimate.results["ingest_bandwidth_per_gpu"]
    assert estimate.basis == "efficiency"
    assert 2e6 < read.value < 6e6
    assert read.low < 4e6 < read.high


#: What remains assumed of corpora are mean bytes that nobody publishes and figures whose source was not found again.
MOST_ASSUMED = {"models": 0.08, "corpora": 0.05, "gpus": 0.08, "nodes": 0.08}


@pytest.mark.parametrize("kind", MOST_ASSUMED)
def test_few_values_are_assumed(shipped, kind):
    # What a corpus of references leads to is published by nobody: it is downloaded at some resolution.
    grades = [
        value.grade
        for entry in shipped.all(KINDS[kind])
        for quantity, value in CatalogEntry(entry, shipped).results.items()
        if not (getattr(entry, "refers_to", "") and quantity in ("sample_bytes", "object_bytes"))
    ]
    assert grades.count("assumed") < MOST_ASSUMED[kind] * len(grades)


def test_everyday_names_lead_to_their_gpu_and_node(shipped):
    gpus = {"vr200": "rubin", "mi450": "mi455x", "ironwood": "tpu-v7x", "trainium3": "trn3", "gb300-nvl72": "gb300"}
    assert {alias: shipped.get(Gpu, alias).id for alias in gpus} == gpus
    nodes = {"p5en": ("aws-p5en", "h200-sxm"), "a3-mega": ("gcp-a3-mega", "h100-sxm"), "vr-nvl144": ("vr-nvl72-tray", "rubin")}
    found = {alias: shipped.get(Node, alias) for alias in nodes}
    assert {alias: (one.id, one.gpu) for alias, one in found.items()} == nodes


def test_values_are_loaded_as_their_sources_mean_them(shipped):
    # The storage path of a cloud node is not its fabric.
    for name in ("aws-p4d", "aws-p5", "aws-p6-b200", "azure-nd-h100-v5", "gcp-a4", "oci-h100-8"):
        node = shipped.get(Node, name)
        assert node.storage_nic_bandwidth.value < node.compute_nic_bandwidth.value / 2
    value = shipped.get(Gpu, "h100").memory_bandwidth
    assert (value.value, value.unit, physical(value.unit)) == (3_350_000_000_000, "B/s/GPU", "B/s")
    # Three sizes of a cosmoflow sample stay apart.
    encoding = shipped.get(Model, "cosmoflow").encodings["tfrecord-gzip"]
    assert (encoding.stored.value, encoding.decoded.value) == (2_828_486, 16 * 2**20)
    told = [note for kind in KINDS.values() for entry in shipped.all(kind) for note in entry.missing.values()]
    assert told
    assert all(len(note) > 10 for note in told)
