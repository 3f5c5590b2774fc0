"""`ingest feed`: results, readers, decoding, caches, shuffling, refusals."""

import numpy
import pytest
from conftest import refused, table
from hypothesis import given, settings
from hypothesis import strategies as st

import ingest
from ingest.errors import UsageError
from ingest.loader.feed import feed
from ingest.reports.page import answer_line

SMALL = {"samples_per_second": 200, "sample_bytes": "100kB", "gpus_per_node": 8, "batch": 4, "steps": 200}
#: 1,000,000 samples of 100 kB on one node of 8 × 200 samples/s: an epoch of 625 s, and of 1,250 s at half its 160 MB/s.
STAGED = {
    **SMALL, "batch": 40, "steps": 1000, "workers": 8, "latency": "1ms", "latency_cv": 0, "cache": "staged",
    "read_bandwidth": "80MB/s", "set": {"dataset_samples": 1e6, "handover_seconds": 1e-9},
}  # fmt: skip
FEED = ("feed", "--samples-per-second", 200, "--sample-bytes", "100kB", "--gpus-per-node", 1)
CONTRACT = {
    "accelerator_utilization", "accelerator_utilization_fluid", "decode_cores_per_node", "cache_hit_fraction", "readers",
    "read_amplification", "epochs_read_bandwidth",
}  # fmt: skip


def values(**options):
    return {name: item.value for name, item in feed(**{**SMALL, **options}).results.items()}


def test_both_utilizations_stand_side_by_side(run):
    words = (*FEED, "--batch", 1, "--latency", "18ms", "--latency-cv", 3, "--format", "json")
    ran = run(*words)
    found = ran.data
    results = found["results"]
    assert found["schema"] == "ingest/1"
    assert results.keys() >= CONTRACT
    real, fluid = results["accelerator_utilization"], results["accelerator_utilization_fluid"]
    assert fluid["value"] == 1
    assert 0.3 < real["low"] < real["value"] < real["high"] < 0.95
    assert run(*words).out == ran.out
    assert run(*words, "--seed", "2").data["results"]["accelerator_utilization"]["value"] != real["value"]
    assert {"sample_read_variation", "loader_prefetch", "handover_seconds", "seed"} <= found["inputs"].keys()


def test_the_latency_that_suffices_and_the_reads_in_flight():
    """The 99th percentile of 100,000 drawn latencies is near the one that is printed."""
    found = values(latency="30ms", latency_cv=2, workers=4)
    variance = numpy.log(5)
    drawn = numpy.random.default_rng(1).lognormal(-variance / 2, variance**0.5, 100_000) * found["sufficient_latency"]
    assert found["sufficient_latency"] < 0.03
    assert found["sufficient_latency_p99"] == pytest.approx(numpy.quantile(drawn, 0.99), rel=0.03)
    assert found["reads_in_flight_per_node"] == pytest.approx(200 * 8 * 0.03)
    assert "sufficient_latency_p99" in feed(**SMALL, decode_time="1s").unknown


def test_a_given_utilization_that_is_missed_exits_with_3(run):
    words = (*FEED, "--batch", 4, "--steps", 100)
    missed = run(*words, "--latency", "100ms", "--utilization", "90%")
    assert missed.code == 3
    assert "expected 90.0%" in missed.err
    assert run(*words, "--latency", "1ms", "--utilization", "90%").code == 0
    assert run(*words, "--latency", "100ms").code == 0


def test_the_ranks_of_megatron_that_read():
    """Tensor 8, pipeline 16 on 16,384 GPUs: 128 replicas, first and last stage; 10.79 MB/s of token ids in bf16."""
    job = {"model": "llama3-405b", "gpu": "h100", "nodes": 2048, "steps": 50, "loader": "megatron"}
    found = feed(**job, tensor_parallel=8, pipeline_parallel=16).results
    assert (found["readers"].value, found["read_amplification"].value) == (256, 2)
    assert found["amplified_read_bandwidth"].value == pytest.approx(21.58e6, rel=0.002)
    # A node of a stage holds one tensor group, whose rank 0 reads.
    assert found["read_bandwidth_of_busiest_node"].value == pytest.approx(21.58e6 / 256, rel=0.002)
    assert found["samples_per_second_per_reader"].value == pytest.approx(21.58e6 / 256 / 32768, rel=0.002)
    context = feed(**job, tensor_parallel=8, pipeline_parallel=16, context_parallel=16).results
    assert (context["readers"].value, context["read_amplification"].value) == (256, 32)
    with pytest.raises(UsageError, match=r"16,384 GPUs, expected a multiple of tensor × pipeline × context = 48"):
        feed(**job, tensor_parallel=3, pipeline_parallel=16)


@pytest.mark.parametrize(("options", "readers", "amplification"), table("feed/cases.yaml")["who_reads_how_often"])
def test_who_reads_how_often(options, readers, amplification):
    found = values(**options, workers=4)
    assert (found["readers"], found["read_amplification"]) == (readers, amplification)
    assert found["amplified_read_bandwidth"] == pytest.approx(amplification * 8 * 200 * 100e3)


def test_repeated_reads_are_warned_of():
    assert "leave a remainder" in feed(**SMALL, loader="huggingface", set={"dataset_shards": 17}).warnings[0]
    assert feed(**SMALL, loader="huggingface", set={"dataset_shards": 16}).warnings == ()


def test_options_without_effect_are_warned_of():
    assert "changes nothing here" in feed(**SMALL, tensor_parallel=8).warnings[0]
    assert feed(**SMALL, cache_memory="1GB").warnings[0].startswith("--cache-memory changes nothing")
    given = {"workers": 4, "prefetch": 3, "latency": "5ms", "latency_cv": 0.5, "read_bandwidth": "1GB/s", "decode_time": "1ms"}
    assert feed(**SMALL, **given, cores=64, utilization=0.5).warnings == ()
    assert feed(**SMALL, epochs=3).warnings[0].startswith("--epochs changes nothing")
    half = values(cache_hit=0.5)
    assert values(cache_hit=0.5, epochs=3)["epochs_read_bandwidth"] == half["epochs_read_bandwidth"] == 8 * 200 * 1e5 / 2
    assert feed("resnet50", "h100").chosen["gpu"]["from"] == "user"


def test_ranks_beyond_those_simulated_are_warned_of(monkeypatch):
    monkeypatch.setattr("ingest.loader.feed.MOST_RANKS", 16)
    assert feed(**SMALL, nodes=2).warnings == ()
    assert feed(**SMALL, nodes=3).warnings == ("16 of 24 loaders are simulated: the utilization is an upper bound",)


def test_the_cores_that_decode_follow_from_a_loader_and_not_from_a_single_thread():
    """ResNet-50 on 8 H100: 0.43 of 643 images/s per core, medians over five CPUs of 16 vCPU."""
    answer = feed(model="resnet50", gpu="h100", batch=8, steps=20)
    rate = answer.known.value("unstalled_samples_per_second_per_gpu")
    assert answer.results["decode_cores_per_node"].value == pytest.approx(rate * 8 / (643 * 1504 / 8 / 440))
    assert values(decode_time="2.5ms")["decode_cores_per_node"] == pytest.approx(200 * 8 / 400)
    assert values()["decode_cores_per_node"] == 0


def test_too_few_cores_or_a_narrow_link_hold_all_workers_back():
    # 1,600 samples/s of 10 ms take 16 cores.
    few = values(decode_time="10ms", cores=8, workers=8, latency=0)
    assert few["accelerator_utilization_fluid"] == pytest.approx(0.5)
    assert few["accelerator_utilization"] == pytest.approx(0.5, abs=0.03)
    assert values(decode_time="10ms", cores=16, workers=8, latency=0)["accelerator_utilization_fluid"] == pytest.approx(1)
    link = {"decoded_sample_bytes": 1e6, "host_link_bandwidth_per_gpu": 1e8}
    assert values(set=link, workers=8)["accelerator_utilization_fluid"] == pytest.approx(0.5)


@pytest.mark.parametrize(("kind", "hit"), [("pinned", 0.5), ("lru", 0.1534), ("partitioned", 1)])
def test_a_cache_serves_later_epochs(kind, hit):
    """100 GB of data; two nodes of 50 GB each."""
    found = values(cache=kind, cache_memory="50GB", epochs=10, nodes=2, set={"dataset_samples": 1e6})
    assert found["cache_hit_fraction"] == pytest.approx(hit, abs=1e-4)
    assert found["read_bandwidth_of_busiest_node"] == pytest.approx(8 * 200 * 100e3)
    if kind == "partitioned":
        assert found["partitioned_cache_bandwidth_per_node"] == pytest.approx(8 * 200 * 100e3 / 2)
    share = (1 + 9 * (1 - hit)) / 10
    assert found["epochs_read_bandwidth"] == pytest.approx(share * found["amplified_read_bandwidth"], rel=1e-3)


def test_the_first_epoch_is_cold_and_the_later_ones_gain():
    half = {"cache": "pinned", "cache_memory": "50GB", "set": {"dataset_samples": 1e6}}
    first, later = feed(**SMALL, **half, workers=4, latency="30ms").tables["epochs"]
    assert first["cache_hit_fraction"] == 0
    assert later["amplified_read_bandwidth"] == pytest.approx(first["amplified_read_bandwidth"] / 2)
    assert later["accelerator_utilization"] > first["accelerator_utilization"] + 0.1


def test_the_curve_holds_the_loader_itself():
    answer = feed(**SMALL, workers=12, latency="30ms")
    rows = {row["loader_workers"]: row for row in answer.tables["utilization"]}
    assert rows.keys() == {1, 2, 4, 8, 12, 13, 16} >= {answer.results["sufficient_workers"].value}
    assert rows[12]["accelerator_utilization"] == pytest.approx(answer.results["accelerator_utilization"].value, abs=0.02)
    assert rows[12]["accelerator_utilization_fluid"] == answer.results["accelerator_utilization_fluid"].value
    assert rows[1]["accelerator_utilization"] < rows[16]["accelerator_utilization"]
    wide, exact = (feed(**SMALL, set=one).results["accelerator_utilization"] for one in ({}, {"handover_seconds": 0.15e-3}))
    assert wide.low < exact.low <= exact.high < wide.high


def test_the_latency_follows_from_the_files_unless_it_is_given():
    """UNet3D: 146.6 MB in a file of its own; ResNet-50: 1,251 images of 115 kB in a file; a sequence of token ids: 5 ms."""
    for options, seconds in (
        ({"model": "unet3d", "batch": 4}, pytest.approx(0.005 + 0.1466, rel=0.01)),
        ({"model": "resnet50", "batch": 4}, pytest.approx(0.005 / 1251 + 0.1147e-3, rel=0.01)),
        ({"model": "llama3-405b", "nodes": 16}, 0.005),
        ({"model": "llama3-70b", "nodes": 16}, 0.005 / 8192),
        ({"model": "llama3-70b", "latency": "1ms"}, 0.001 / 8192),
        ({"model": "unet3d", "latency": "1ms"}, 0.001),
    ):
        assert feed(gpu="h100", steps=20, **options).known.value("sample_read_seconds") == seconds


def test_the_bytes_of_a_sample_need_not_be_known():
    """Whether GPUs wait follows from latencies; what is read remains unknown."""
    answer = feed(samples_per_second=200, gpus_per_node=1, batch=4, steps=50)
    assert answer.results["accelerator_utilization"].value > 0.5
    assert len(answer.tables["utilization"]) == 5
    assert "amplified_read_bandwidth" in answer.unknown


def test_a_sample_of_several_parts():
    """16 images of 100 kB beside the 1,792 tokens of text that they leave of 4,096: 223 times the text alone."""
    parts = {"images_per_sample": 16, "image_tokens": 144, "image_bytes": 1e5, "bytes_per_token": 4, "tokens_per_sample": 4096}
    mixed = feed(samples_per_second=1, gpus_per_node=8, batch=1, steps=20, set=parts).results["amplified_read_bandwidth"]
    assert mixed.value == pytest.approx(8 * (1.6e6 + 7168))
    assert values(set=parts)["amplified_read_bandwidth"] == pytest.approx(8 * 200 * 1e5)


def test_what_a_shuffle_asks_of_host_and_storage():
    whole = {"samples_per_file": 2000}
    buffer = values(shuffle="buffer=1000", set=whole, workers=4)
    assert (buffer["shuffle_bytes_per_node"], buffer["mixing_score"]) == (1000 * 1e5 * 4 * 8, 0.5)
    assert values(shuffle="block=4000", set=whole)["shuffle_block_bytes"] == 4e8
    assert values(shuffle="global")["samples_per_second_per_job"] == 1600


@pytest.mark.parametrize(("options", "message"), table("feed/refused.yaml")["refusals_name_what_is_wrong"])
def test_refusals_name_what_is_wrong(options, message):
    with refused(message, error=UsageError) as found:
        feed(**options if {"model", "samples_per_second"} & options.keys() else {**SMALL, **options})
    assert len(str(found.value)) < 300


def test_the_rate_gets_the_cautions_that_bw_gives_it(run):
    told = run("feed", "cosmoflow", "--gpu", "h100", "--nodes", "8", "--steps", "20", "-v").err
    assert all(rule in told for rule in ("W60", "W67", "W16", "W97"))
    for words in (["resnet50"], ["unet3d", "--decode-time", "1ms"], ["llama3-8b"]):
        assert "W97" not in run("feed", *words, "--gpu", "h100", "--steps", "20", "-v").err


def test_a_sequence_of_tokens_is_one_read():
    """Two models that differ in what one sample is, a token or a sequence, load alike; fewer than 4 tokens/ms leave no wait."""
    asked = {"gpu": "h100", "nodes": 16, "steps": 50}
    for options in ({}, {"latency": "2s", "batch": 2}):
        by_token = feed("llama3-70b", **asked, **options).results["accelerator_utilization"].value
        by_sequence = feed("llama2-70b-lora", **asked, **options).results["accelerator_utilization"].value
        assert by_token == pytest.approx(by_sequence, abs=0.02)
    with pytest.raises(UsageError, match="a sample of gnmt-tok is one token"):
        feed("gnmt-tok", **asked)


def test_a_load_that_nobody_limits_is_not_shown():
    assert not {"storage_load", "cores_load", "gpus_of_bandwidth"} & values().keys()
    found = values(read_bandwidth="1 GB/s")
    assert (found["storage_load"], found["gpus_of_bandwidth"]) == (pytest.approx(0.16), 50)
    assert "gpus_of_bandwidth" not in values(read_bandwidth="1 GB/s", cache_hit=1)


@pytest.mark.parametrize(("options", "line"), table("feed/cases.yaml")["the_headline_names_the_limit"])
def test_the_headline_names_the_limit(options, line):
    assert answer_line(feed(**{**SMALL, **options})).startswith(f"Reaches {line}")


def test_the_workers_are_named_where_they_keep_gpus_waiting_and_storage_does_not():
    """200 samples/s for 4 workers that take 40 ms, or 8 ms: 2 s of work per second and worker, or 0.4."""
    told = {wait: [one for one in feed(**SMALL, latency=wait).warnings if one.rule == "W130"] for wait in ("40ms", "8ms")}
    assert not told["8ms"]
    assert "4 workers per GPU take 2 s to load" in told["40ms"][0]
    assert "allow 100 % utilization" in told["40ms"][0]
    assert values(decode_time="1ms", cores=16)["cores_load"] == pytest.approx(0.1)


MODELS = ("resnet50", "unet3d", "llama3-8b", "dlrm", "alphafold-3", None)


@given(
    st.sampled_from(MODELS), st.floats(0.05, 1e5), st.floats(1.01, 100), st.integers(1, 16), st.integers(1, 4),
    st.floats(0, 0.05), st.floats(0, 2),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_faster_gpus_never_raise_the_utilization_although_no_batch_is_given(
    model, rate, factor, workers, prefetch, latency, variation
):
    asked = {"model": model, "gpus_per_node": 1, "workers": workers, "prefetch": prefetch, "latency": latency,
             "latency_cv": variation, "steps": 50}  # fmt: skip
    slower, faster = (feed(**asked, samples_per_second=one).results for one in (rate, factor * rate))
    for name in ("accelerator_utilization", "accelerator_utilization_fluid"):
        assert faster[name].value <= slower[name].value + 1e-12


@pytest.mark.parametrize(
    ("model", "batch"),
    [("resnet50", 323), ("unet3d", 4), ("llama3-405b", 1), ("llama3-70b", 8192), ("alphafold-3", 1), (None, 32)],
)
def test_the_assumed_batch_follows_the_model(model, batch):
    """10 TFLOP over 31 GFLOP of ResNet-50 and 2.86 TFLOP of UNet3D; the rates of AlphaFold 3 are below 1 per second."""
    asked = {"samples_per_second": 7} if model is None else {"gpu": "v100" if model == "resnet50" else "h100"}
    assert feed(model=model, gpus_per_node=8, steps=20, **asked).known.value("samples_per_step") == batch


def test_a_step_that_its_hand_over_decides_is_warned_of():
    """20 hand-overs of 0.15 ms take 3 ms: 32 samples at 10,667 samples/s."""
    asked = {"sample_bytes": "100B", "gpus_per_node": 1, "steps": 20, "latency": 0}
    assert "W80" in feed(**asked, samples_per_second=10_700).warnings[0].rule
    assert feed(**asked, samples_per_second=10_600).warnings == ()
    assert feed(**asked, samples_per_second=20_000, batch=32).warnings == ()


def test_batches_beyond_the_memory_of_the_host_are_warned_of():
    """4 workers × 2 batches × 8 GPUs of 150,528 B fill the 2.048 TB of a DGX H100 with 212,585 samples each."""
    asked = {"model": "resnet50", "gpu": "h100", "steps": 20}
    told = {batch: [one.rule for one in feed(**asked, batch=batch).warnings] for batch in (212_000, 213_000)}
    assert "W81" not in told[212_000]
    assert "W81" in told[213_000]
    found = feed(**asked, batch=100).results["prefetched_bytes_per_node"].value
    assert found == 150_528 * 100 * 4 * 2 * 8


def test_one_rule_counts_the_cores_of_feed_and_of_fit():
    asked = {"model": "resnet50", "gpu": "h100", "samples_per_second": 1340}
    (system,) = ingest.fit(**asked, storage="weka").systems
    fed = feed(**asked, steps=20).results["decode_cores_per_node"].value
    assert system.results["decode_cores_per_node"].value == pytest.approx(fed) == pytest.approx(39.02, abs=0.01)
    own = {"set": {"decode_samples_per_second_per_core": 670}}
    assert feed(**asked, steps=20, **own).results["decode_cores_per_node"].value == 16


def test_a_gpu_that_decodes_takes_the_place_of_the_cores():
    """A GPU of 200 images/s that decodes 160: 80 % at best; its link carries stored bytes."""
    asked = {**SMALL, "workers": 8, "latency": 0}
    found = feed(**asked, set={"gpu_decode_rate": 160, "decoded_sample_bytes": 1e9, "host_link_bandwidth_per_gpu": 4e7})
    assert found.results["accelerator_utilization_fluid"].value == pytest.approx(0.8)
    assert found.results["accelerator_utilization"].value == pytest.approx(0.8, abs=0.02)
    assert found.results["gpu_decode_load"].value == pytest.approx(1.25)
    assert found.results["decode_cores_per_node"].value == 0
    assert found.known.value("host_link_load") == pytest.approx(200 * 1e5 / 4e7)
    assert found.known.value("prefetched_sample_bytes") == 1e5
    jpeg = feed(model="resnet50", gpu="a100", decoder="nvjpeg", steps=20)
    assert jpeg.known.value("gpu_decode_rate") == pytest.approx(1000 / 0.1276548, rel=1e-3)
    assert not any(one.rule == "W97" for one in jpeg.warnings)
    assert jpeg.to_dict()["inputs"]["decoder"]["value"] == "nvjpeg"
    idle = feed(**SMALL, decoder="torchvision", decode_time="1ms")
    assert [str(one) for one in idle.warnings] == ["--decoder changes nothing here: the results do not depend on it"]


def test_staging_pays_after_the_epochs_that_its_copy_takes():
    """The copy takes 100 GB ÷ 80 MB/s = 1,250 s, and each epoch on local drives saves 625 s: two epochs."""
    found = values(**STAGED, epochs=10)
    assert found["stage_seconds"] == pytest.approx(1250)
    assert found["fed_epoch_seconds"] == pytest.approx(1250, rel=0.01)
    assert found["staged_epoch_seconds"] == pytest.approx(625, rel=0.01)
    assert found["staging_break_even_epochs"] == pytest.approx(2, rel=0.02)
    assert found["epochs_read_bandwidth"] == pytest.approx(100e9 / (1250 + 10 * 625), rel=0.01)
    told = {epochs: [one.rule for one in feed(**STAGED, epochs=epochs).warnings] for epochs in (1.9, 2.1)}
    assert told == {1.9: ["W82"], 2.1: []}


def test_staging_on_more_nodes_copies_more_and_never_pays_where_gpus_do_not_wait():
    four = values(**{**STAGED, "read_bandwidth": "320MB/s"}, nodes=4)
    assert four["stage_seconds"] == pytest.approx(4 * 100e9 / 320e6)
    assert four["staging_break_even_epochs"] == pytest.approx(8, rel=0.03)
    fast = feed(**{**STAGED, "read_bandwidth": "1GB/s", "latency": 0})
    assert "staging does not pay" in fast.unknown["staging_break_even_epochs"]
    assert fast.results["stage_seconds"].value == pytest.approx(100)
    slow = {**STAGED, "set": {**STAGED["set"], "nvme_read_bandwidth_per_node": 40e6}}
    assert values(**slow)["staged_utilization"] == pytest.approx(0.25, rel=0.01)
    assert values(**STAGED, cache_memory="101GB")["stage_seconds"] == 1250
