"""How jobs read: pattern and size by the data, caches and warm-up, outstanding reads and latency, how long a load lasts."""

import copy
import math
import random

import pytest
from conftest import example_plan, planned, table

import ingest
from ingest.engine.registry import solve
from ingest.errors import IngestError

MiB = 1_048_576
SLOW = {"samples_per_second": 100, "sample_bytes": 1_000_000}


def site(datasets=None, storage=None, test=None, node="dgx-h100", **jobs):
    parts = {"datasets": datasets, "storage": storage, "test": test}
    return {
        "floor": "none",
        "clusters": {"main": {"node": node, "count": 100}},
        "jobs": {name: {"cluster": "main", "nodes": 10, **job} for name, job in jobs.items()},
        **{name: part for name, part in parts.items() if part},
    }


def conditions(data, line="R-READ-03"):
    return planned(data).requirement(line).conditions


@pytest.mark.parametrize(
    ("model", "more", "pattern", "size"),
    [
        ("unet3d", {}, "sequential", MiB),  # a file of 146.6 MB
        ("deepcam", {}, "sequential", MiB),  # a file of 56.6 MB
        ("resnet50", {}, "sequential", 262_144),  # TFRecord: the buffer of tf.data
        ("resnet50", {"encoding": "jpeg"}, "sequential", 114_660),  # a file of one image
        ("cosmoflow", {}, "sequential", 262_144),
        ("clip-vit-b32", {}, "sequential", MiB),  # WebDataset
        ("mpt-7b", {}, "sequential", MiB),  # MDS
        ("llama3-405b", {}, "random", 32_768),  # 8,192 tokens × 4 B
        ("llama3-70b", {}, "random", 32_768),  # a sample is one token of a sequence of 8,192
        ("llama3-8b", {"io_size": "64 KiB"}, "random", 65_536),
        ("llama3-8b", {"pattern": "sequential"}, "sequential", 32_768),
        ("dlrm-dcnv2", {}, "sequential", 512_000),
        ("dlrm-dcnv2", {"io_size": "4 MiB"}, "sequential", 4 * MiB),
    ],
)
def test_the_data_give_pattern_and_size(model, more, pattern, size):
    found = conditions(site(a={"model": model, **more}))
    assert (found.pattern, found.io_size) == (pattern, size)


def test_queue_depth_and_readers_are_of_the_job():
    # The format of the data set wins over that of the model.
    data = {"d": {"samples": 1e6, "sample_bytes": "100 kB", "format": "webdataset"}}
    found = conditions(site(data, a={"model": "resnet50", "encoding": "jpeg", "data": "d"}))
    assert (found.pattern, found.io_size) == ("sequential", MiB)
    # The loaders of a job are its queue depth: 4 workers for each of 8 GPUs, each 2 batches ahead.
    found = conditions(site(a=SLOW))
    assert (found.threads, found.queue_depth) == (64, 640)
    assert found.implied_latency == pytest.approx(640 * 131_072 / 8e9)
    assert found.latency_99 == pytest.approx(5 * 640 * 131_072 / 8e9)
    # Readers per gpu are of the job and not beside threads.
    assert conditions(site(a={**SLOW, "readers": 16})).threads == 2 * 128
    with pytest.raises(IngestError, match="already given by `threads`"):
        planned(site(a={**SLOW, "readers": 16, "threads": 4}))
    # A sum allows no job more latency than its own readers.
    # a: 640 reads × 131,072 B ÷ 8 GB/s = 10.5 ms; b with one worker per GPU: 160 × 131,072 B ÷ 8 GB/s = 2.62 ms
    found = conditions(site(a=SLOW, b={**SLOW, "readers": 1}))
    assert found.implied_latency == pytest.approx(160 * 131_072 / 8e9)
    assert found.queue_depth == 320
    # Jobs that alternate share the readers of their nodes.
    data = site(a={**SLOW, "nodes": 80, "share": 0.5}, b={**SLOW, "nodes": 80, "share": 0.5, "io_size": 4096})
    found = conditions(data)
    assert found.clients == 100
    assert found.implied_latency >= 0.0003


def own_format(tmp_path, **lines):
    (tmp_path / "formats").mkdir()
    words = {"name": "Ours", "holds": "[samples]", "record": "sample", **lines}
    (tmp_path / "formats" / "ours.yaml").write_text(
        "".join(f"{key}: {word}\n" for key, word in words.items()), encoding="utf-8"
    )
    data = {"d": {"samples": 1e6, "sample_bytes": "100 kB", "format": "ours"}}
    return ingest.plan(site(data, a={**SLOW, "data": "d"}), samples=0, catalogs=tmp_path)


@pytest.mark.parametrize(("said", "pattern"), [({"read_pattern": "shards"}, "sequential"), ({}, "random")])
def test_a_format_of_the_user_is_read_as_it_says_or_not_known(tmp_path, said, pattern):
    found = own_format(tmp_path, **said).requirement("R-READ-03").conditions
    assert (found.pattern, found.io_size, found.threads) == (pattern, 131_072, 64)


def test_a_read_pattern_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(IngestError, match=r"ours\.yaml: read_pattern: found 'shard', .*did you mean 'shards'"):
        own_format(tmp_path, read_pattern="shard")


@pytest.mark.parametrize(("size", "pattern"), [(MiB - 1, "random"), (MiB, "sequential")])
def test_chunks_from_1_mib_on_are_sequential(size, pattern):
    data = {"d": {"samples": 1e6, "sample_bytes": size, "format": "hdf5-chunked"}}
    job = {"samples_per_second": 100, "sample_bytes": size, "data": "d"}
    plan = planned(site(data, a=job))
    assert plan.requirement("R-READ-03").conditions.pattern == pattern
    assert [one.true for one in plan.findings if one.rule.id == "C16"] == [pattern == "sequential"]


@pytest.mark.parametrize(("packed", "pattern", "size"), [(1, "sequential", 1_000_000), (2, "random", 1_000_000)])
def test_without_a_format_the_samples_in_a_file_decide(packed, pattern, size):
    plan = planned(site(a={**SLOW, "set": {"samples_per_file": packed}, "io_size": "1 MB"}))
    found = plan.requirement("R-READ-03").conditions
    assert (found.pattern, found.io_size) == (pattern, size)
    assert [one.true for one in plan.findings if one.rule.id == "C01"] == [packed == 1]


def test_what_is_not_known_of_the_reads_is_an_assumption_with_its_key():
    plan = planned(site(a={**SLOW, "set": {"samples_per_file": 7}}))
    why = {one["name"]: one["why"] for one in plan.assumptions}
    assert "io_size" in why["request_bytes"]
    assert why["readers_per_gpu"].endswith("set readers")
    assert why["client_latency"].endswith("set storage.latency or storage.client")
    assert why["latency_tail"].endswith("set test.latency_tail")
    assert {"request_bytes", "readers_per_gpu", "client_latency", "latency_tail"} <= {
        *plan.requirement("R-READ-03").assumptions
    }


# Outstanding reads: the loaders of 10 DGX H100 with 8 GPUs × 4 workers × 2 batches ahead have 640, whatever their rate.
@pytest.mark.parametrize("rate", [100, 1048.6, 2000])
def test_the_loaders_of_a_job_are_its_queue_depth_at_any_rate(rate):
    found = conditions(site(a={**SLOW, "samples_per_second": rate}))
    assert (found.threads, found.queue_depth) == (64, 640)
    assert found.implied_latency == pytest.approx(640 * 131_072 / (80e6 * rate), rel=0.01)


@pytest.mark.parametrize(("rate", "told"), [(3_400, False), (3_600, True)])
def test_a_rate_that_the_loaders_cannot_reach_is_a_decision(rate, told):
    # 64 reads of 131,072 B at 0.3 ms are 27.96 GB/s per node: 3,495 samples of 1 MB for each of 8 GPUs.
    plan = planned(site(a={**SLOW, "samples_per_second": rate}))
    assert ("W40" in [one.id for one in plan.decisions]) is told


def test_the_latency_of_a_known_client_counts():
    # 3,600 × 8 × 1 MB = 28.8 GB/s per node from 64 reads of 131,072 B: 0.291 ms each
    for latency, told in (("0.29 ms", False), ("0.3 ms", True)):
        plan = planned(site(storage={"latency": latency}, a={**SLOW, "samples_per_second": 3600}))
        assert ("W40" in [one.id for one in plan.decisions]) is told
    with pytest.raises(IngestError, match="neither latency nor bandwidth of a client is known of prot-rep3"):
        planned(site(storage={"client": "prot-rep3"}, a=SLOW))
    with pytest.raises(IngestError, match="already given by `latency`"):
        planned(site(storage={"client": "lustre", "latency": "1 ms"}, a=SLOW))


@pytest.mark.parametrize(
    ("threads", "latency", "doubted"),
    # 8 GB/s from 10 nodes: 131,072 B × threads ÷ 0.8 GB/s = 0.164 ms for one thread, 0.328 ms for two
    [(1, None, True), (2, None, False), (1, "0.16 ms", False), (1, "0.17 ms", True)],
)
def test_threads_that_imply_too_small_a_latency_are_doubted(threads, latency, doubted):
    data = site(storage={"latency": latency} if latency else None, a={**SLOW, "threads": threads})
    plan = planned(data)
    told = [line for line in plan.warnings if "imply a mean latency" in line]
    assert bool(told) is doubted
    assert plan.requirement("R-READ-03").conditions.threads == threads
    if doubted:
        assert told == [told[0]]
        assert "jobs.a.threads: R-READ-0" in told[0]
        assert "threads or storage.latency" in told[0]


@pytest.mark.parametrize(("rate", "parts"), [(0.9, 1), (1.1, 2)])
def test_a_part_below_one_percent_is_counted_with_the_largest(rate, parts):
    other = {"samples_per_second": rate, "sample_bytes": 1_000_000, "io_size": 4096}
    found = conditions(site(a=SLOW, b=other))
    assert len(found.mix or [0]) == parts
    assert sum(part.share for part in found.mix) == (1 if parts == 2 else 0)


# Caches. A DGX H100 has 2.048 TB of host memory, half of which is 1.024 TB.
READ = {"samples_per_second": 1000, "sample_bytes": 1_000_000, "data": "d", "epochs": 3}  # 80 GB/s on 10 nodes


def held(size):
    return {"d": {"samples": size / 1e6, "sample_bytes": 1_000_000}}


def test_hits_of_an_lru_cache_under_fresh_permutations():
    random.seed(1)
    for cached in (0.2, 0.5, 0.8):
        count, hits, epochs = 2000, 0, 30
        cache: dict[int, None] = {}
        for epoch in range(epochs):
            for item in random.sample(range(count), count):
                hits += epoch > 1 and item in cache
                cache.pop(item, None)
                cache[item] = None
                if len(cache) > cached * count:
                    cache.pop(next(iter(cache)))
        found = hits / (count * (epochs - 2))
        assert 1 - solve("lru_miss_share", {"cached_share": cached}) == pytest.approx(found, abs=0.01)


@pytest.mark.parametrize(("terabytes", "fits"), [(1.023, True), (1.024, True), (1.025, False)])
def test_what_fits_half_of_the_memory_of_a_node_is_read_once(terabytes, fits):
    plan = planned(site(held(terabytes * 1e12), a=READ))
    assert bool([line for line in plan.warnings if "fits the cache of one node" in line]) is fits
    assert ("R-READ-01" not in plan.results) is fits
    assert plan.results["R-READ-05"].value == 80e9
    # No cliff: 1.024 TB × 10 nodes ÷ 600 s = 17.07 GB/s, with or without the last byte
    assert plan.computed["R-READ-03"] == pytest.approx(min(terabytes, 1.024) * 1e12 * 10 / 600)
    assert plan.requirement("R-READ-03").conditions.duration == 600


def test_caches_leave_what_they_miss():
    # Reads that miss the caches go on.
    plan = planned(site(held(10.24e12), a=READ))
    missed = 0.9 * (1 - math.log(0.9))
    assert plan.computed["R-READ-01"] == plan.computed["R-READ-03"] == pytest.approx(80e9 * missed)
    assert plan.requirement("R-READ-03").conditions.duration == 1800
    assert "reads of a that miss the caches" in plan.requirement("R-READ-03").statement
    # Data that nobody names are not known to fit.
    plan = planned(site(a={"model": "unet3d"}))
    assert "R-READ-05" not in plan.results
    # Hits that the file states win.
    job = {**SLOW, "data": "d", "placement": {"mode": "cache", "hit": "50%"}}
    plan = planned(site(held(1e12), a=job))
    assert plan.results["R-READ-01"].value == 8e9 / 2
    assert plan.results["R-READ-05"].value == 8e9
    # Files and opens count with one number of samples in a file.
    data = {"scans": {"samples": 42_000, "sample_bytes": "146.6 MB"}}
    plan = planned(site(data, a={"model": "unet3d", "data": "scans"}))
    assert plan.tables["datasets"][0]["data_files"] == 42_000
    assert not any("the number of files is not known" in line for line in plan.warnings)


@pytest.mark.parametrize(("more", "again"), table("site/cases.yaml")["a_run_of_one_epoch_has_no_discount"])
def test_a_run_of_one_epoch_has_no_discount(more, again):
    job = {"data": "d", **({} if "model" in more else {name: SLOW[name] for name in SLOW}), **more}
    plan = planned(site(held(100e9), a=job))
    assert ("R-READ-05" in plan.results) is again
    if not again:
        assert plan.missing["R-READ-05"] == "no job caches its data set: R-READ-03 is its cold rate"


@pytest.mark.parametrize(("tokens", "again"), [(20e9, False), (21e9, True)])
def test_more_tokens_than_the_data_set_has_are_read_again(tokens, again):
    data = {"d": {"tokens": 20e9, "bytes_per_token": 4, "file_bytes": "1 GB"}}
    plan = planned(site(data, a={"model": "llama3-8b", "tokens": tokens, "data": "d"}))
    assert ("R-READ-05" in plan.results) is again
    assert [one.true for one in plan.findings if one.rule.id == "C15"] == [again]


@pytest.mark.parametrize("hit", [0.5, 1])
@pytest.mark.parametrize("key", ["cache_hit", "set"])
def test_hits_of_the_job_itself_are_not_counted_twice(key, hit):
    plan = planned(site(held(0.6e12), a={**READ, key: {"cache_hit_fraction": hit} if key == "set" else hit}))
    assert [plan.results[name].value for name in ("R-READ-03",) if name in plan.results] == [80e9 * (1 - hit)] * (hit < 1)
    assert any("the first epoch (cold cache) reads all" in one for one in plan.warnings) is (hit == 1)
    assert "R-READ-05" not in plan.results


def test_the_memory_share_and_the_warm_up_are_keys():
    base = site(held(0.6e12), a=READ)
    half = copy.deepcopy(base)
    half["jobs"]["a"] |= {"warm_up": "5 min"}
    assert planned(half).results["R-READ-03"].value == pytest.approx(2 * planned(base).results["R-READ-03"].value)
    half["jobs"]["a"] |= {"memory_share": "10%"}
    assert planned(half).results["R-READ-01"].value > 0
    why = {one["name"]: one["why"] for one in planned(base).assumptions}
    assert why["cache_memory_share"].endswith("set memory_share")
    assert why["warm_up_seconds"].endswith("set warm_up")


@pytest.mark.parametrize(("starts", "doubted"), [(1, False), (3, False), (4, True)])
def test_runs_that_start_together_fill_their_caches_together(starts, doubted):
    plan = planned(site(held(0.6e12), a={**READ, "runs": 3, "starts": starts}))
    assert plan.computed["R-READ-03"] == pytest.approx(min(starts, 3) * 0.6e12 * 10 / 600)
    assert plan.results["R-READ-05"].value == 3 * 80e9
    assert bool([line for line in plan.warnings if "runs that start together, expected at most the 3 runs" in line]) is doubted


def test_a_cache_on_drives_is_that_of_one_node_unless_partitioned():
    data = site(held(120e12), a={**READ, "placement": {"mode": "cache"}})  # NVMe of a node: 30.72 TB
    one = planned(data).computed
    data["jobs"]["a"]["placement"]["partitioned"] = True
    all_nodes = planned(data).computed
    assert one["R-STAGE-02"] == pytest.approx(30.72e12)
    assert all_nodes["R-STAGE-02"] == pytest.approx(12e12)
    assert "R-READ-01" not in all_nodes
    assert one["R-READ-01"] == pytest.approx(80e9 * 0.744 * (1 - math.log(0.744)))
    data["jobs"]["a"]["placement"] = {"mode": "stream", "partitioned": True}
    with pytest.raises(IngestError, match="applies to mode cache only"):
        planned(data)


@pytest.mark.parametrize(
    ("warm_up", "seconds"), [("1 min", 300), ("299 s", 300), ("301 s", 360), ("29 min", 1740), ("31 min", 1800)]
)
def test_a_test_lasts_as_long_as_its_load_within_limits(warm_up, seconds):
    data = held(10e9)
    assert conditions(site(data, a={**READ, "warm_up": warm_up})).duration == seconds
    assert conditions(site(data, test={"duration": "4 min"}, a={**READ, "warm_up": warm_up})).duration == 240
    shortest = conditions(site(data, test={"shortest": "10 s"}, a={**READ, "warm_up": "1 min"}))
    assert shortest.duration == 60


def test_a_cold_load_lasts_until_the_caches_are_full():
    # 1 TB on each of 10 nodes at 80 GB/s: 125 s, in a test of 300 s; the warm-up takes 600 s
    plan = planned(site(held(1e12), a=READ))
    assert plan.requirement("R-READ-05").conditions.duration == 300
    # caches that would fill within 1 min fill at the cold rate instead
    fast = planned(site(held(1e12), test={"shortest": "10 s"}, a={**READ, "warm_up": "1 min"}))
    assert fast.results["R-READ-03"].value == 80e9
    assert fast.requirement("R-READ-03").conditions.duration == 180
    assert "first epoch of a, cold caches" in fast.requirement("R-READ-03").statement


def test_restores_and_staging_have_a_queue_depth_and_their_own_duration():
    saved = {"parameters": 1e9, "bytes": "1 TB", "interval": "1000 s", "waste": "5%", "keep": 1, "mtti": "1 year"}
    staged = {**SLOW, "data": "d", "placement": {"mode": "stage", "within": "20 min"}}
    plan = planned(site(held(6e12), a={**SLOW, "checkpoint": {**saved, "restart_time": "2 min"}}, b=staged))
    restore, staging = (plan.requirement(name) for name in ("R-RESTART-01", "R-STAGE-01"))
    # one reader per GPU, and as many as the clients offer: no latency is asked of what is copied
    assert (restore.conditions.io_size, restore.conditions.queue_depth, restore.conditions.duration) == (MiB, 80, 300)
    assert restore.conditions.implied_latency is None
    assert (staging.conditions.queue_depth, staging.conditions.duration) == (640, 1200)
    (row,) = [row for row in plan.tables["placement"] if row["name"] == "b"]
    assert row["staging_seconds"] == pytest.approx(1200)


OTHERS = {
    "vision": site({"d": {"model": "resnet50", "encoding": "jpeg"}},
                   a={"model": "resnet50", "encoding": "jpeg", "data": "d", "epochs": 90, "runs": 4}),
    "segmentation": site({"d": {"samples": 42_000, "sample_bytes": "146.6 MB"}},
                         a={"model": "unet3d", "data": "d", "epochs": 200, "nodes": 8}),
    "language": site(a={"model": "llama3-70b", "nodes": 64, "checkpoint": {"mode": "async", "keep": 3}}),
    "recommender": site(a={"model": "dlrm-dcnv2", "nodes": 16}),
    "climate and images": site(a={"model": "deepcam", "nodes": 40}, b={"model": "clip-vit-l14", "nodes": 40}, node="dgx-a100"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["enterprise-64-nodes", "hpc-128-nodes", "llm-16384-gpus", *OTHERS])
def test_every_read_line_can_be_met_by_a_client_that_exists(name):
    plan = planned(OTHERS[name]) if name in OTHERS else example_plan(name)
    read = [one for one in plan.requirements if one.conditions.operation == "read" and one.value]
    assert read
    decided = [one.id for one in plan.decided]
    for one in read:
        found = one.conditions
        assert found.queue_depth == found.clients * found.threads
        assert found.threads >= 1
        # Samples and the context of a turn have a latency; what is copied takes as many reads as the clients offer.
        if one.id.startswith(("R-READ", "R-KV", "R-GROW")):
            assert found.implied_latency >= 0.0003 or "W40" in decided, one.id
            assert found.latency_99 == pytest.approx(5 * found.implied_latency)
            assert f"at most {found.queue_depth:,} outstanding reads" in one.statement
        else:
            assert found.implied_latency is None, one.id
            assert f"as many outstanding reads as the clients offer, {found.queue_depth:,}" in one.statement
        assert 300 <= found.duration <= 1800
        assert not found.mix or math.fsum(part.share for part in found.mix) == 1
        assert bool(found.mix) is not bool(found.io_size and found.pattern)


def test_the_enterprise_site_reads_what_its_data_and_caches_need():
    plan = example_plan("enterprise-64-nodes")
    assert 30e9 <= plan.results["R-READ-03"].value <= 200e9
    for name in ("R-READ-02", "R-READ-03"):
        found = plan.requirement(name).conditions
        assert {part.pattern for part in found.mix} | {found.pattern} <= {"sequential", ""}


@pytest.mark.parametrize("seed", range(8))
def test_a_run_has_one_rate_in_every_command(seed):
    """The same run reads at the rate at which it is trained: its length states its batch, or it states it itself."""
    draw = random.Random(seed)
    model = draw.choice(["llama3-8b", "llama2-7b", "gpt-oss-20b"])
    nodes, tokens = draw.choice([64, 256, 512]), draw.choice([3e11, 2e12, 15e12])
    own = draw.choice([{}, {"run_batch_tokens": draw.choice([1e6, 64e6])}])
    trained = ingest.train(model, node="dgx-h100", nodes=nodes, tokens=tokens, precision="bf16", set={"goodput": 0.9, **own})
    rate = trained.results["samples_per_second_per_gpu"].value
    asked = ingest.bw(model, node="dgx-h100", nodes=nodes, precision="bf16", set=own or {"training_tokens": tokens})
    assert asked.results["samples_per_second_per_gpu"].value == pytest.approx(rate)
    assert ("changes nothing" in " ".join(map(str, asked.warnings))) is not asked.levels[0][0].is_sized
    job = {"model": model, "data": "text", "nodes": nodes, "tokens": tokens, "precision": "bf16", "set": own}
    data = site({"text": {"tokens": tokens, "bytes_per_token": 4}}, job=job)
    data["clusters"]["main"]["count"] = nodes
    (row,) = planned(data).rows["jobs"]
    assert row.known.value("samples_per_second_per_gpu") == pytest.approx(rate)
