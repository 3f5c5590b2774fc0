"""The three example sites, recomputed in plain arithmetic from their YAML; no formula of `ingest` is called here.

Taken over as evidence are rates (samples/s per GPU) and what the catalogs say of nodes, models, optimizers and failures.
"""

import math
from itertools import pairwise

import pytest
import yaml
from conftest import EXAMPLES, SITES, example_plan

YEAR, DAY, HOUR, MINUTE = 31_557_600, 86_400, 3_600, 60
TB, PB, GB, MB, KIB = 1e12, 1e15, 1e9, 1e6, 1024
#: interruptions of jobs per node and second: RSC-1 at 8 and at 1,024 GPUs, Llama 3 at 16,384
SMALL, MIDDLE = 0.02096 / DAY, 0.02373 / DAY
LLAMA_3 = 419 / (54 * DAY) / 2048
#: half of the 2,048 GB of host memory of a node caches data
CACHE = 1.024 * TB
#: DGX SuperPOD H100, level "good": reads and writes of 256 GPUs, up to 1,024; reads of one node
GOOD_READ, GOOD_WRITE, GOOD_NODE = 15 * GB / 256, 7 * GB / 256, 4 * GB
LLAMA_8B, LLAMA_405B = 8_030_261_248, 405_853_388_800


def planned(name):
    path = EXAMPLES / f"{name}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")), example_plan(name)


def rate(plan, job):
    return next(row["samples_per_second_per_gpu"] for row in plan.tables["jobs"] if row["name"] == job)


def agree(plan, expected):
    found = {name: plan.computed[name] for name in expected}
    assert found == {name: pytest.approx(value, rel=1e-9) for name, value in expected.items()}
    assert expected.keys() == {one.id for one in plan.requirements}


def cached(cold, data, nodes):
    """Reads of a run that reads its data again: while caches fill within 10 min, and after that."""
    share = min(1, CACHE / data)
    miss = (1 - share) * (1 - (math.log(1 - share) if share < 1 else 0))
    return min(cold, max(cold * miss, share * data * nodes / 600)), cold * miss


def between(nodes):
    """Failures of a node of a job between 1 and 128 nodes: its interrupts grow as a power from those of one to those of 128."""
    growth = math.log(0.02373 * 128 / 0.02096) / math.log(128)
    return 0.02096 * nodes**growth / nodes / DAY


class Saves:
    """Checkpoints of the runs of one job: write rate, time of one write, time from one to the next, duty, bytes per day."""

    def __init__(self, size, rate, period, share=1.0, runs=1):
        self.size, self.rate, self.runs = size, rate, runs
        self.per_day = size * DAY / period * share * runs
        self.duty = self.per_day / DAY / (rate * runs)


def asynchronous(size, nodes, failures, stage=1.0, interval=None, drain=120.0, share=1.0, runs=1):
    """Every tenth of the mean time to interrupt, at most an hour; drained within a tenth of that, at most 2 min."""
    interval = interval or min(HOUR, 0.1 / (nodes * failures))
    stall = 0.5 + size / (nodes * 8) * stage / 1.7e9
    return Saves(size, size / min(0.1 * interval, drain), interval + stall, share, runs)


def synchronous(size, nodes, failures):
    """Budget of 5 %: a restore of 120 s at each interrupt, half an interval and a dump lost with it, and the dumps."""
    mtti = 1 / (nodes * failures)
    left = 0.05 - 120 / mtti
    interval = min(HOUR, mtti * (math.sqrt(1 + 2 * left) - 1))
    dump = (left - interval / (2 * mtti)) / (1 / interval + 1 / mtti)
    return Saves(size, size / dump, interval + dump)


def coinciding(jobs):
    """99th percentile of simultaneous writes of runs that save independently, by a third-order expansion."""
    largest, everything = max(one.rate for one in jobs), sum(one.rate * one.runs for one in jobs)
    if sum(one.runs * one.duty for one in jobs) ** 2 / 2 <= 0.01:
        return largest
    mean = sum(one.runs * one.duty * one.rate for one in jobs)
    variance = sum(one.runs * one.duty * (1 - one.duty) * one.rate**2 for one in jobs)
    third = sum(one.runs * one.duty * (1 - one.duty) * (1 - 2 * one.duty) * one.rate**3 for one in jobs)
    skew = (2.3263**2 - 1) / 6 * max(third, 0)
    # Below the least of the expansion a further writer would lower it.
    spread = max(variance, (2 * skew / 2.3263) ** (2 / 3))
    steps = 2.3263 * math.sqrt(spread) + skew / spread
    return min(everything, max(largest, mean + steps + largest / 2))


def exactly(jobs):
    """The least write rate that the runs stay at or below for 99 % of the time: every number of writers of each job."""
    rates = {0.0: 1.0}
    for one in [job for job in jobs for _ in range(job.runs)]:
        further = {}
        for at, chance in rates.items():
            further[at] = further.get(at, 0) + chance * (1 - one.duty)
            further[at + one.rate] = further.get(at + one.rate, 0) + chance * one.duty
        rates = further
    below = 0.0
    for at in sorted(rates):
        below += rates[at]
        if below >= 0.99:
            return at
    raise AssertionError("chances add up to 1")


def test_coinciding_writes_are_not_below_the_exact_percentile():
    small, big = LLAMA_8B * 14, LLAMA_405B * 14
    sites = (
        [asynchronous(big, 2048, LLAMA_3, drain=60), asynchronous(small, 8, SMALL, interval=1800, share=0.8, runs=6)],
        [asynchronous(small, 4, SMALL, runs=4), asynchronous(26_135_627_264 * 8, 32, MIDDLE)],
        [asynchronous(small, 8, SMALL, interval=1800, runs=16)],
    )
    for jobs in sites:
        assert 0.95 * exactly(jobs) <= coinciding(jobs) <= 1.65 * exactly(jobs)


def test_the_hpc_site():
    site, plan = planned("hpc-128-nodes")
    assert site["clusters"]["main"] == {"node": "dgx-a100", "count": 128}
    head = 1.20
    cosmos, cam5, outputs = 524_288 * 2_828_486, 121_266 * 56_623_104, 150 * TB
    cosmology_cold = rate(plan, "cosmology") * 2_828_486 * 64 * 8
    climate_cold = rate(plan, "climate") * 768 * 1152 * 16 * 4 * 16 * 8
    cosmology, cosmology_later = cached(cosmology_cold, cosmos, 64)
    climate, climate_later = cached(climate_cold, cam5, 16)
    saves = [
        asynchronous(8.9e6 * 8, 64, between(64)),
        asynchronous(56.5e6 * 12, 16, between(16), runs=2),
        synchronous(1.25e12 * 4, 32, between(32)),
    ]
    first, second, third = saves
    kept = 5 * first.size + 2 * 5 * second.size + 3 * third.size
    environments = 2 * 6 * GB
    held = [(2 * cosmos + cam5) * 1.2**year + (outputs if year <= 3 else 0) + kept + environments for year in range(6)]
    planned_bytes = [one * 1.15 + 27 * TB for one in held]
    files = [(2 * 524_288 + 121_266) * 1.2**year + (18_750 if year <= 3 else 0) for year in range(6)]
    saved_files = 5 * 513 + 2 * 5 * 129 + 3 * 257
    reads, writes = cosmology + 2 * climate, coinciding(saves)
    agree(
        plan,
        {
            "R-READ-01": (cosmology_later + 2 * climate_later) * head,
            "R-READ-02": max(cosmology, climate) * head,
            "R-READ-03": reads * head,
            "R-READ-04": max(cosmology / 64, climate / 16) * head,
            "R-READ-05": (cosmology_cold + 2 * climate_cold) * head,
            "R-WRITE-01": writes * head,
            "R-WRITE-02": third.rate * head,
            "R-WRITE-03": sum(one.per_day for one in saves) / DAY * head,
            "R-MIX-01": (reads + writes) * head,  # the simulation, which stops while it saves, reads nothing
            "R-RESTART-01": third.size / 120 * head,
            "R-RESTART-02": (first.size + 2 * second.size + third.size) / 600 * head,
            "R-LOAD-01": ((2 * cosmos + cam5) / (7 * DAY) + outputs / DAY) * head,
            "R-START-01": 64 * 6 * GB / 60 * head,
            "R-START-02": 64 * 30_000 / 60 * head,
            "R-META-01": (rate(plan, "cosmology") * 512 + 2 * rate(plan, "climate") * 128) * head,
            "R-META-02": 513 / 10 * head,
            "R-META-03": max(files) + saved_files,
            "R-CAP-01": max(held),
            "R-CAP-02": max(planned_bytes) / (8 / 10 * 0.97 * 0.80 * 19 / 20),
            "R-CAP-03": max(planned_bytes) / 0.80,
            "R-END-01": (sum(one.per_day for one in saves) + (2 * cosmos + cam5 + outputs) * DAY / YEAR) / (8 / 10),
        },
    )


def test_the_llm_site():
    site, plan = planned("llm-16384-gpus")
    assert site["clusters"]["pretraining"]["count"] * 8 == 16_384
    assert "waste" not in site["jobs"]["pretraining"]["checkpoint"]
    # a run without model parallelism shards by FSDP, which keeps weights and moments in fp32
    head, big, small = 1.25, LLAMA_405B * 14, LLAMA_8B * 12
    # 400 TFLOP/s at 6 FLOP per parameter and token, as the paper counts them
    assert rate(plan, "pretraining") == pytest.approx(400e12 / (6 * 405e9 * 8192), rel=1e-5)
    pretraining = rate(plan, "pretraining") * 8192 * 4 * 16_384
    ablation, tuning = (rate(plan, job) * 8192 * 4 * gpus for job, gpus in (("ablations", 64), ("tuning", 32)))
    # 126 blocks over 16 stages: the first stage holds 8 of them and the embedding
    embedding = 128_256 * 16_384
    block = (LLAMA_405B - 2 * embedding) / 126
    stage = (8 * block + embedding) / (LLAMA_405B / 16)
    saves = [
        asynchronous(big, 2048, LLAMA_3, stage=stage, drain=60),
        asynchronous(small, 8, SMALL, interval=1800, share=0.8, runs=6),
        asynchronous(small, 4, SMALL, runs=4),
    ]
    first = saves[0]
    written = math.ceil(67 * DAY / (0.1 / (2048 * LLAMA_3)))
    held = 20 + math.ceil(written / 100) + 1
    grown = [2 ** (year / 2) for year in range(4)]
    crawl, text, tokens, instructions = 3 * PB, 0.02 * 3 * PB, 15.6e12 * 4, 1e6 * 32 * KIB
    versions = 1 + math.ceil(YEAR / (183 * DAY))
    kept = held * big + 6 * 2 * small + 4 * 3 * small
    besides = (8 + 8 + 24 + 900 + 110 + 812 + 4 * 16) * GB  # environments, evaluations, the newest export of each run
    usable = [crawl * versions * g + 2 * text * g + 2 * tokens + instructions + kept + besides for g in grown]
    planned_bytes = [one * 1.20 + 520 * TB for one in usable]
    # the crawl is written anew each 183 days, growth included; all else once, and what it grows by
    loaded = [crawl * versions + 2 * text + 2 * tokens + instructions]
    loaded += [2 * text * (now - before) for before, now in pairwise(grown)]
    saved = sum(one.per_day for one in saves)
    daily = [saved + crawl * g / 183 + new * DAY / YEAR for g, new in zip(grown, loaded, strict=True)]
    protected = 8 / 11
    # all data sets but those that are made from the crawl at first; later a crawl while models are exported
    loads = ((crawl + 2 * tokens + instructions) / (7 * DAY), crawl * grown[-1] / (7 * DAY) + (812 * GB + 4 * 16 * GB) / 600)
    reads, writes = pretraining + 6 * ablation + 4 * tuning, coinciding(saves)
    read_floor, write_floor = (1024 + 512) * GOOD_READ, (1024 + 512) * GOOD_WRITE
    opens = (pretraining + 6 * ablation) / (2 * GB) + 4 * rate(plan, "tuning") * 32 / 10_000
    files = 3e6 * versions * grown[-1] + 2 * math.ceil(text / (256 * MB)) * grown[-1] + 2 * 31_200 + 100
    agree(
        plan,
        {
            # the instructions fit the memory of a node
            "R-READ-01": (pretraining + 6 * 0.8 * ablation) * head,
            "R-READ-02": pretraining * head,
            "R-READ-03": reads * head,
            "R-READ-04": max(ablation / 8, tuning / 4) * head,
            "R-READ-05": reads * head,
            "R-WRITE-01": writes * head,
            "R-WRITE-02": first.rate * head,
            "R-WRITE-03": saved / DAY * head,
            "R-MIX-01": (reads + writes) * head,
            "R-RESTART-01": big / 120 * head,
            "R-RESTART-02": (big + 6 * small + 4 * small) / 600 * head,
            "R-LOAD-01": max(loads) * head,
            "R-PREP-01": crawl * grown[-1] / (3 * DAY) * head,
            "R-PREP-02": 2 * text * grown[-1] / (3 * DAY) * head,
            "R-START-01": 2048 * 8 * GB / 180 * head,
            "R-START-02": 2048 * 200 / 180 * head,
            "R-META-01": opens * head,
            "R-META-02": 32_771 / 10 * head,
            "R-META-03": files + held * 32_771 + 6 * 2 * 65 + 4 * 3 * 33,
            "R-CAP-01": max(usable),
            "R-CAP-02": max(planned_bytes) / (protected * 0.85),
            "R-CAP-03": max(planned_bytes) / 0.85,
            "R-END-01": max(daily) / protected,
            # what the guidance asks for, unsigned, beside a need that is smaller; its writes are smaller than the need
            "R-GUIDE-01": read_floor,
            "R-GUIDE-03": GOOD_NODE,
        },
    )
    assert writes * head > write_floor


def test_the_enterprise_site():
    site, plan = planned("enterprise-64-nodes")
    assert site["growth"] == "published"
    head = 1.15
    scans, imagenet, text, log = 42_000 * 146.6 * MB, 1_281_024 * 114_660.07, 20e9 * 4, 4_195_197_692 * 912
    images_cold = rate(plan, "images") * 114_660.07 * 4 * 8
    images, _ = cached(images_cold, imagenet, 4)
    tuning = rate(plan, "tuning") * 8192 * 4 * 4 * 8
    clicks = rate(plan, "recommender") * 912 * 32 * 8
    saves = [
        asynchronous(25.6e6 * 8, 4, SMALL, runs=2),
        asynchronous(19e6 * 12, 8, SMALL, share=0.5),
        asynchronous(LLAMA_8B * 12, 4, SMALL, runs=4),
        asynchronous(26_135_627_264 * 8, 32, MIDDLE),
    ]
    kept = 2 * 3 * 25.6e6 * 8 + 3 * 19e6 * 12 + 4 * 2 * LLAMA_8B * 12 + 3 * 26_135_627_264 * 8
    fixed = imagenet + 2 * scans + text + kept
    besides = (3 * 8 + 24 + 4 * 16 + 105) * GB  # environments, the newest export of each run
    usable = [fixed + besides + log * (1 + 3) * 2 ** (year / 2) for year in range(5)]
    planned_bytes = [one * 1.25 + 40 * TB for one in usable]
    saved = sum(one.per_day for one in saves)
    daily = [saved + log * 2 ** (year / 2) / 30 for year in range(5)]
    daily[0] += (imagenet + 2 * scans + text + 4 * log) * DAY / YEAR
    reads, cold = 2 * images + 4 * tuning + clicks, 2 * images_cold + 4 * tuning + clicks
    exports = (4 * 16 * GB + 105 * GB) / 600
    suggested = plan.rows["jobs"][0].known.value("suggested_rate") / rate(plan, "images")
    loads = (imagenet + 2 * scans + text) / (7 * DAY) + log / DAY, log * 2**2 / DAY + exports
    files = 1024 + 2 * 42_000 + 160 + math.ceil(4_195_197_692 / 4e6) * 4 * 2**2
    saved_files = 2 * 3 * 33 + 3 * 65 + 4 * 2 * 33 + 3 * 257
    agree(
        plan,
        {
            "R-READ-01": (4 * tuning + clicks) * head,
            "R-READ-02": clicks * head,
            "R-READ-03": reads * head,
            "R-READ-04": max(clicks / 32 * head, GOOD_NODE),
            "R-READ-05": cold * head,
            # two sources of the rate of images, each filling the caches as fast as it can
            "R-READ-06": (2 * images * suggested + 4 * tuning + clicks) * head,
            "R-WRITE-01": max(coinciding(saves) * head, 512 * GOOD_WRITE),
            "R-WRITE-02": max(saves[3].rate * head, 256 * GOOD_WRITE),
            "R-WRITE-03": saved / DAY * head,
            "R-MIX-01": (reads + coinciding(saves)) * head,
            "R-RESTART-01": max(saves[3].size / 120 * head, 256 * GOOD_READ),
            "R-RESTART-02": max(sum(one.size * one.runs for one in saves) / 600 * head, 512 * GOOD_READ),
            "R-LOAD-01": max(loads) * head,
            "R-START-01": max(4 * 4 * 24 * GB, 32 * 8 * GB) / 60 * head,
            "R-START-02": 32 * 30_000 / 60 * head,
            "R-STAGE-01": scans / 900 * head,
            "R-STAGE-02": scans / 8,
            "R-META-01": (
                2 * rate(plan, "images") * 32 / 1251
                + 4 * tuning / (500 * MB)
                + rate(plan, "recommender") * 256 / 4e6
            ) * head,
            "R-META-02": 257 / 10 * head,
            "R-META-03": files + saved_files,
            "R-CAP-01": max(usable),
            "R-CAP-02": max(planned_bytes) * 2 / 0.80,
            "R-CAP-03": max(planned_bytes) / 0.80,
            "R-END-01": max(daily) * 2,
            # four years: 4 every two years; 64 nodes draw 90 % of 80 GB/s each
            "R-GROW-01": min((2 * images + 4 * tuning + clicks * 4 ** (4 / 2)) * head, 64 * 72 * GB),
        },
    )  # fmt: skip


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_every_example_meets_what_it_expects_and_explains_itself(path):
    site, plan = yaml.safe_load(path.read_text(encoding="utf-8")), example_plan(path.stem, None)
    assert site["format"] == 2
    assert not plan.unmet
    assert len(plan.expectations) == len(site["expect"])
    for name in ("read_bandwidth", "write_bandwidth"):
        assert {sign for sign in ("<=", ">=") for line in site["expect"] if line.startswith(f"{name} {sign}")} == {"<=", ">="}
    for one in plan.requirements:
        lines = plan.explain(one.id)
        assert lines[0].startswith(one.metric)
        assert one.derivation[0] == lines[0]
        assert one.low is None or one.low < one.high
    assert plan.sources
    assert plan.assumptions
    assert {name for one in plan.requirements for name in one.assumptions} <= {one["name"] for one in plan.assumptions}


def test_published_growth_is_applied_to_the_recommender_alone_and_says_so():
    plan = example_plan("enterprise-64-nodes")
    assert [line for line in plan.warnings if line.startswith("growth: ")] == [
        "growth: the published factors apply to recommenders only; jobs without growth: images, scans, tuning"
    ]
