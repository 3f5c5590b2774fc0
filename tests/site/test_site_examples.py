"""The three example sites, recomputed in plain arithmetic from their YAML; no formula of `ingest` is called here.

Taken over as evidence are rates (samples/s per GPU) and what the catalogs say of nodes, models and optimizers.
"""

import math
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import ingest

EXAMPLES = Path(__file__).parents[2] / "examples"
YEAR, DAY, HOUR = 31_557_600, 86_400, 3_600
TB, PB, GB, MB, KIB = 1e12, 1e15, 1e9, 1e6, 1024
RSC_1 = 6.5 / 1000 / DAY  # failures per node and second
LLAMA_3 = 419 / (54 * DAY) / 2048


def planned(name):
    path = EXAMPLES / f"{name}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")), ingest.plan(path, samples=0)


def rate(plan, job):
    return next(row["samples_per_second_per_gpu"] for row in plan.tables["jobs"] if row["name"] == job)


def agree(plan, expected):
    found = {name: plan.results[name].value for name in expected}
    assert found == {name: pytest.approx(value, rel=1e-9) for name, value in expected.items()}


def synchronous(size, interval, waste, interrupt):
    """Write bandwidth of dumps at a fixed interval, the time of one, and bytes written in a day."""
    bandwidth = size / (interval * (waste - interval / (2 * interrupt)))
    dump = size / bandwidth
    return bandwidth, dump, size * DAY / (interval + dump)


def asynchronous(size, interval, copy):
    return size / interval, interval, size * DAY / (interval + copy)


def test_the_hpc_site():
    site, plan = planned("hpc-128-nodes")
    assert site["clusters"]["main"] == {"node": "dgx-a100", "count": 128}
    head = 1 + 0.20
    cosmology = rate(plan, "cosmology") * 2_828_486 * 64 * 8
    climate = rate(plan, "climate") * 768 * 1152 * 16 * 4 * 16 * 8
    first = synchronous(8.9e6 * 8, 1800, 0.05, 1 / (64 * RSC_1))
    second = synchronous(56.5e6 * 12, 1800, 0.05, 1 / (16 * RSC_1))
    kept = 5 * 8.9e6 * 8 + 4 * 5 * 56.5e6 * 12
    cosmos, cam5 = 2 * 524_288 * 2_828_486, 121_266 * 56_623_104
    usable = [cosmos * 1.2**year + cam5 * 1.2**year + (150 * TB if year <= 3 else 0) + kept for year in range(6)]
    files = [(2 * 524_288 + 121_266) * 1.2**year + (18_750 if year <= 3 else 0) + 5 * 513 + 4 * 5 * 129 for year in range(6)]
    protected, spare = 8 / 10, 20 / 19
    reads, writes = cosmology + 4 * climate, first[0] + 4 * second[0]
    agree(
        plan,
        {
            "R-READ-01": reads * head,
            "R-READ-02": max(cosmology, climate) * head,
            "R-READ-03": reads * head,
            "R-READ-04": max(cosmology / 64, climate / 16) * head,
            "R-WRITE-01": writes * head,
            "R-WRITE-02": max(first[0], second[0]) * head,
            "R-WRITE-03": (first[2] + 4 * second[2]) / DAY * head,
            "R-MIX-01": reads * head + max(first[0], second[0]) * head,
            "R-MIX-02": reads * head,
            "R-RESTART-01": 56.5e6 * 12 / 600 * head,
            "R-RESTART-02": (8.9e6 * 8 + 4 * 56.5e6 * 12) / 600 * head,
            "R-META-01": (rate(plan, "cosmology") * 512 + 4 * rate(plan, "climate") * 128) * head,
            "R-META-02": (513 / first[1] + 4 * 129 / second[1]) * head,
            "R-META-03": max(files),
            "R-CAP-01": max(usable),
            "R-CAP-02": max(usable) / (protected * 0.97 * 0.80) * spare,
            "R-END-01": (first[2] + 4 * second[2] + (cosmos + cam5 + 150 * TB) * DAY / YEAR) / protected,
        },
    )


def test_the_llm_site():
    site, plan = planned("llm-16384-gpus")
    assert site["clusters"]["pretraining"]["count"] * 8 == 16_384
    head, big, small = 1.25, 405_853_388_800 * 14, 8_030_261_248 * 14
    # 400 TFLOP/s at 6 FLOP per parameter and token, as the paper counts them
    assert rate(plan, "pretraining") == pytest.approx(400e12 / (6 * 405e9 * 8192), rel=1e-5)
    pretraining = rate(plan, "pretraining") * 8192 * 4 * 16_384
    ablation, tuning = (rate(plan, job) * 8192 * 4 * gpus for job, gpus in (("ablations", 64), ("tuning", 32)))
    # 1.5 intervals are lost at each interrupt: half an interval and its drain
    interrupt = 1 / (2048 * LLAMA_3)
    copy = next(row for row in plan.rows["jobs"] if row.name == "pretraining").checkpoints.value("device_copy_seconds")
    slope = 1.5 / interrupt
    interval = (0.05 + math.sqrt(0.05**2 - 4 * slope * copy)) / (2 * slope)
    first = asynchronous(big, interval, copy)
    copied = next(row for row in plan.rows["jobs"] if row.name == "ablations").checkpoints.value("device_copy_seconds")
    second = asynchronous(small, 1800, copied)
    third = synchronous(small, 3600, 0.10, 1 / (4 * RSC_1))
    written = math.ceil(67 * DAY / interval)
    held = 3 + math.ceil(written / 100) + 1
    grown = [2 ** (year / 2) for year in range(4)]
    crawl, text, tokens, instructions = 3 * PB, 0.02 * 3 * PB, 15.6e12 * 4, 10e6 * 32 * KIB
    versions = 1 + math.ceil(YEAR / (180 * DAY))
    kept = held * big + 6 * 2 * small + 4 * 3 * small
    usable = [crawl * versions * g + 2 * text * g + 2 * tokens + instructions + kept for g in grown]
    # the crawl is written anew each 180 days, growth included; all else once, and what it grows by
    loaded = [crawl * versions + 2 * text + 2 * tokens + instructions]
    loaded += [2 * text * (now - before) for before, now in pairwise(grown)]
    saved = first[2] + 6 * 0.8 * second[2] + 4 * third[2]
    daily = [saved + crawl * g / 180 + new * DAY / YEAR for g, new in zip(grown, loaded, strict=True)]
    protected = 8 / 11
    at_once = pretraining + 6 * ablation + 4 * tuning
    fastest = max(first[0], second[0], third[0])
    agree(
        plan,
        {
            "R-READ-01": (pretraining + 6 * 0.8 * ablation + 4 * tuning) * head,
            "R-READ-02": pretraining * head,
            "R-READ-03": at_once * head,
            "R-READ-04": max(pretraining / 2048, ablation / 8, tuning / 4) * head,
            "R-WRITE-01": (first[0] + 6 * second[0] + 4 * third[0]) * head,
            "R-WRITE-02": fastest * head,
            "R-WRITE-03": (first[2] + 6 * 0.8 * second[2] + 4 * third[2]) / DAY * head,
            "R-MIX-01": (at_once + first[0] + 6 * second[0] + 4 * third[0]) * head,
            "R-RESTART-01": big / 300 * head,
            "R-RESTART-02": (big / 300 + 6 * small / 600 + 4 * small / 600) * head,
            "R-META-01": (
                (pretraining + 6 * ablation) / (2 * GB) + 4 * rate(plan, "tuning") * 32 / 10_000
            ) * head,
            "R-META-02": (32_771 / interval + 6 * 65 / 1800 + 4 * 33 / third[1]) * head,
            "R-META-03": 3e6 * versions * grown[-1] + 2 * math.ceil(text / (256 * MB)) * grown[-1] + 2 * 31_200 + 1_000
            + held * 32_771 + 6 * 2 * 65 + 4 * 3 * 33,
            "R-CAP-01": max(usable),
            "R-CAP-02": max(usable) / (protected * 0.85),
            "R-END-01": max(daily) / protected,
        },
    )  # fmt: skip


def test_the_enterprise_site():
    site, plan = planned("enterprise-64-nodes")
    assert site["growth"] == "published"
    head = 1.15
    images = rate(plan, "images") * 114_660.07 * 4 * 8
    tuning = rate(plan, "tuning") * 8192 * 4 * 4 * 8
    clicks = rate(plan, "recommender") * 912 * 32 * 8
    first = synchronous(25.6e6 * 10, 3600, 0.05, 1 / (4 * RSC_1))
    second = synchronous(19e6 * 12, 1800, 0.05, 1 / (8 * RSC_1))
    third = synchronous(8_030_261_248 * 14, 3600, 0.05, 1 / (4 * RSC_1))
    scans, imagenet, text, log = 42_000 * 146.6 * MB, 1_281_024 * 114_660.07, 20e9 * 4, 4_195_197_692 * 912
    kept = 2 * 3 * 25.6e6 * 10 + 3 * 19e6 * 12 + 4 * 2 * 8_030_261_248 * 14
    fixed = imagenet + 2 * scans + text + kept
    usable = [fixed + log * (1 + 3) * 2 ** (year / 2) for year in range(5)]
    saved = 2 * first[2] + 0.5 * second[2] + 4 * third[2]
    daily = [saved + log * 2 ** (year / 2) / 30 for year in range(5)]
    daily[0] += (imagenet + 2 * scans + text + 4 * log) * DAY / YEAR
    at_once = 2 * images + 4 * tuning + clicks
    agree(
        plan,
        {
            "R-READ-01": (2 * images + 4 * tuning + 0.5 * clicks) * head,
            "R-READ-02": clicks * head,
            "R-READ-03": at_once * head,
            "R-READ-04": max(clicks / 32, images / 4) * head,
            "R-WRITE-01": (2 * first[0] + second[0] + 4 * third[0]) * head,
            "R-WRITE-02": third[0] * head,
            "R-WRITE-03": (2 * first[2] + 0.5 * second[2] + 4 * third[2]) / DAY * head,
            "R-MIX-01": (at_once + third[0]) * head,
            "R-STAGE-01": scans / 900 * head,
            "R-STAGE-02": max(scans / 8, log / 32 * 0.5),
            "R-META-01": (
                2 * rate(plan, "images") * 32 / 1251
                + 4 * tuning / (500 * MB)
                + rate(plan, "recommender") * 256 / 4e6
            ) * head,
            "R-CAP-01": max(usable),
            "R-CAP-02": max(usable) * 2 / 0.80,
            "R-END-01": max(daily) * 2,
            "R-GROW-01": (2 * images + 4 * tuning + clicks * 4 ** (4 / 2)) * head,
        },
    )  # fmt: skip


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_meets_what_it_expects_and_explains_itself(path):
    plan = ingest.plan(path)
    assert not plan.unmet
    assert len(plan.expectations) == len(yaml.safe_load(path.read_text(encoding="utf-8"))["expect"])
    for one in plan.requirements:
        lines = plan.explain(one.id)
        assert lines[0].startswith(one.metric)
        assert one.derivation[0] == lines[0]
        assert one.low is None or one.low < one.high
    assert plan.sources
    assert plan.assumptions
    assert {name for one in plan.requirements for name in one.assumptions} <= {one["name"] for one in plan.assumptions}


def test_published_growth_is_applied_to_the_recommender_alone_and_says_so():
    plan = ingest.plan(EXAMPLES / "enterprise-64-nodes.yaml", samples=0)
    assert [line for line in plan.warnings if line.startswith("growth: ")] == [
        "growth: the published factors apply to recommenders only; jobs without growth: images, scans, tuning"
    ]
