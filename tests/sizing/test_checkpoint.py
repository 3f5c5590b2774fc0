"""`ingest checkpoint`: the question in all its directions, and what it refuses."""

import pytest
from conftest import LLAMA
from hypothesis import assume, given
from hypothesis import strategies as st

import ingest
from ingest.engine.messages import rule_of
from ingest.engine.registry import solve

GIB = 2**30


def value(name, model="llama3-405b", gpus=16384, **options):
    return ingest.checkpoint(model, gpus=gpus, **options).results[name].value


@pytest.fixture
def config(config_file):
    return config_file(LLAMA)


def test_intervals_bandwidths_and_parameters_by_hand():
    # Asynchronous every quarter of an hour.
    answer = ingest.checkpoint("llama3-405b", gpus=16384, mode="async", interval="15min", restart_time="10 min")
    # A tenth of 900 s for 5.682 TB.
    assert answer.results["checkpoint_write_bandwidth"].value / 1e9 == pytest.approx(63.13, rel=1e-3)
    readers = {row["readers"]: row["restart_read_bandwidth"] / 1e9 for row in answer.tables["readers"]}
    assert readers == pytest.approx({"unique": 9.47, "replicated": 181.3, "all": 1212.1}, rel=1e-3)
    answer = ingest.checkpoint("llama3-405b", gpus=16384, mode="sync", write_bandwidth="500 GB/s")
    # Young's interval: √(2 × 11.364 s × 11,135 s).
    assert answer.results["checkpoint_interval"].value == pytest.approx(503.06, rel=1e-4)
    answer = ingest.checkpoint(set={"parameters": "405.85e9"})
    assert answer.results["checkpoint_bytes"].value == pytest.approx(5.682e12, rel=1e-4)
    assert "checkpoint_interval" in answer.unknown


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_an_allowed_waste_is_what_is_wasted(mode):
    answer = ingest.checkpoint("llama3-405b", gpus=16384, mode=mode, waste="5%")
    assert answer.results["checkpoint_overhead"].value == pytest.approx(0.05)
    # M = 11,135 s; restores leave W = 0.05 - 120/11,135 = 0.03922; the best interval is M·(√(1 + 2W) - 1) = 428.5 s, and the
    # dump may take its square over 2M, 8.245 s.
    if mode == "sync":
        assert answer.results["checkpoint_write_bandwidth"].value / 1e9 == pytest.approx(689.1, rel=1e-3)
    assert value("checkpoint_overhead", mode=mode, waste="8%", interval="10 min") == pytest.approx(0.08)


@pytest.mark.parametrize(
    ("mtti", "waste", "kept"),
    [("20 min", "1%", 0.1 + 0.01 / (2**0.5 - 1)), ("200 min", "1%", 1.5 * 0.01), ("20 min", "20%", 0.2)],
)
def test_an_overhead_out_of_reach_becomes_one_that_half_the_bandwidth_raises_by_a_point(mtti, waste, kept):
    # Restores take two minutes; at the best interval the time lost grows with the root of the time that a checkpoint takes.
    saves = {"mode": "sync", "parameters": "4T", "waste": waste, "mtti": mtti}
    job = {"cluster": "c", "nodes": 32, "samples_per_second": 1, "sample_bytes": "1 MB", "checkpoint": saves}
    plan = ingest.plan({"clusters": {"c": {"node": "dgx-b200", "count": 32}}, "jobs": {"a": job}}, samples=0)
    saved = plan.rows["jobs"][0].checkpoints
    assert saved.value("waste_allowed") == pytest.approx(kept)
    assert (saved.find("waste_goal") is None) is (waste == "20%")


@pytest.mark.parametrize(("rate", "interval"), [("100 GB/s", 1113.5), ("5 GB/s", 1136.4), ("4 GB/s", 1420.5)])
def test_storage_at_hand_may_stretch_the_interval_of_drains(rate, interval):
    # 5.682 TB take 56.8, 1,136.4 and 1,420.5 s; a tenth of the mean time to interrupt is 1,113.5 s.
    assert value("checkpoint_interval", mode="async", write_bandwidth=rate) == pytest.approx(interval, rel=1e-4)


def test_a_requirement_that_is_not_met_exits_with_3(run):
    for words, need in (
        # Dumps of 56.8 s: √(2 × 56.8/11,135) = 10.1 %, 0.5 % and restores of 1.1 %.
        ("100GB/s --waste 5% --mode sync", "11.7 %"),
        ("5GB/s --mode async --interval 15min", "6.313 GB/s"),
        ("50GB/s --mode async --interval 15min --drain-fraction 0.1", "63.13 GB/s"),
    ):
        ran = run("checkpoint", "llama3-405b", "--gpus", 16384, "--write-bandwidth", *words.split())
        assert (ran.code, need in ran.refusal) == (3, True), ran.err


def test_an_option_that_changes_nothing_is_told(run):
    ran = run("checkpoint", "llama3-405b", "--gpus", 16384, "--mode", "sync", "--drain-fraction", 0.5, "--slow-down", 0.3)
    assert "--drain-fraction changes nothing here" in ran.err
    assert "--slow-down changes nothing here" in ran.err


def test_a_config_is_counted_to_the_parameter(config):
    answer = ingest.checkpoint(str(config), gpus=8, zero_stage=3, layout="megatron")
    assert answer.results["checkpoint_weights_bytes"].value == 2 * 8_030_261_248
    assert answer.results["checkpoint_bytes"].value / GIB == pytest.approx(104.70, abs=0.01)


@pytest.mark.parametrize(
    ("optimizer", "per_parameter"),
    [("adamw", 12), ("adam8bit", 6.03125), ("sgd", 8), ("adafactor", 4), ("muon", 8), ("none", 0)],
)
def test_optimizers_keep_what_their_papers_say(config, optimizer, per_parameter):
    answer = ingest.checkpoint(str(config), optimizer=optimizer)
    kept = answer.results["checkpoint_optimizer_bytes"].value / 8_030_261_248
    # Muon leaves embedding and head (13 % of 8B) to AdamW; Adafactor's rows and columns are a thousandth.
    assert kept == pytest.approx(per_parameter + (4 * 0.1309 if optimizer == "muon" else 0), rel=2e-3)


def test_lora_saves_its_adapters_alone(config):
    answer = ingest.checkpoint(str(config), optimizer="lora")
    per_layer = 16 * ((4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 14336) * 3)
    assert answer.results["checkpoint_bytes"].value == 14 * 32 * per_layer


def test_adapters_say_what_a_stack_adds_that_saves_the_frozen_base(config):
    base = ingest.model(config).results["weights_bytes"].display.split(" (")[0]
    told = {one: [*filter(lambda line: rule_of(line) == "W120", ingest.checkpoint(config, gpus=8, optimizer=one).warnings)]
            for one in ("lora", "adamw")}  # fmt: skip
    assert [base in line for line in told["lora"]] == [True]
    assert not told["adamw"]


def test_precision_and_retention_set_what_is_kept():
    assert value("checkpoint_bytes", precision="fp32") == 12 * 405_853_388_800
    size = value("checkpoint_bytes")
    assert value("checkpoint_retained_bytes", keep=5) == 5 * size
    kept = value("checkpoints_retained", mode="async", interval="1 h", keep="last=3,every=10,final=1", duration="10 day")
    assert kept == 3 + 24 + 1


def test_a_derivation_goes_down_to_the_catalog(run):
    ran = run("checkpoint", "llama3-8b", "--gpus", 64, "--waste", 0.05, "--explain", "checkpoint_interval")
    assert "interval_for_waste" in ran.out
    assert "8,030,261,248" in ran.out


bytes_, hours, shares = st.floats(1e9, 1e15), st.floats(600, 1e7), st.floats(0.001, 0.9)
#: What every interval of a synchronous job shares.
SYNC = {"stopped_share": 1, "checkpoint_staging_seconds": 0, "persistent_every": 1, "restart_seconds": 0,
        "longest_interval": 1e9}  # fmt: skip


def asked(size, mtti, waste, **more):
    known = {**SYNC, "checkpoint_bytes": size, "job_mean_time_to_interrupt": mtti, "waste_allowed": waste, **more}
    known["checkpoint_interval"] = solve("interval_for_waste", known)
    known["dump_seconds_allowed"] = solve("dump_seconds_for_waste", known)
    return {**known, "checkpoint_write_bandwidth": solve("bandwidth_for_dump", known)}


@given(bytes_, hours, shares, shares)
def test_more_waste_allowed_never_needs_more_bandwidth(size, mtti, one, other):
    less, more = (asked(size, mtti, waste) for waste in sorted((one, other)))
    assert less["checkpoint_write_bandwidth"] >= more["checkpoint_write_bandwidth"] * (1 - 1e-9)
    assert less["checkpoint_interval"] <= more["checkpoint_interval"]


@given(bytes_, hours, st.floats(1e8, 1e13), st.floats(0.2, 5))
def test_no_interval_wastes_less_than_the_best_one(size, mtti, rate, factor):
    known = {**SYNC, "checkpoint_bytes": size, "job_mean_time_to_interrupt": mtti, "checkpoint_write_bandwidth": rate}
    best = solve("young_interval", known)
    at_best, elsewhere = (
        solve("checkpoint_overhead", {**known, "checkpoint_interval": interval}) for interval in (best, best * factor)
    )
    assert at_best <= elsewhere * (1 + 1e-12)


@given(bytes_, hours, st.floats(0.005, 0.5), st.floats(0.1, 1), st.floats(0, 30), st.integers(1, 4))
def test_the_bandwidth_for_a_waste_wastes_just_that(size, mtti, waste, stopped, staging, every):
    more = {"stopped_share": stopped, "checkpoint_staging_seconds": staging, "persistent_every": every}
    known = asked(size, mtti, waste, **more)
    assume(solve("waste_left_for_dumps", known) > 1e-9)
    assert solve("checkpoint_overhead", known) == pytest.approx(waste)


@given(bytes_, hours, st.floats(0.005, 0.5), st.floats(0.1, 1), st.floats(0, 10), st.floats(0.2, 5))
def test_no_interval_keeps_a_waste_with_less_bandwidth(size, mtti, waste, stopped, staging, factor):
    best = asked(size, mtti, waste, stopped_share=stopped, checkpoint_staging_seconds=staging)
    other = {**best, "checkpoint_interval": best["checkpoint_interval"] * factor}
    del other["dump_seconds_allowed"]
    assume(solve("waste_left_for_dumps", best) > 1e-9)
    assert solve("dump_seconds_for_waste", other) <= best["dump_seconds_allowed"] * (1 + 1e-9) + 1e-9


@given(st.floats(1e9, 1e15), st.floats(60, 7200), st.sampled_from(("sync", "async")))
def test_a_share_of_more_than_all_the_time_is_no_result(parameters, interval, mode):
    """Whatever model is saved however often: the job loses less than all its time, or the answer has no such share."""
    options = {"write_bandwidth": 1e12, "interval": interval} if mode == "sync" else {"interval": interval}
    answer = ingest.checkpoint(gpus=64, mode=mode, set={"parameters": parameters}, **options)
    shares = [float(row["total_overhead"]) for row in answer.tables.get("intervals", ())]
    shares += [float(item.value) for name, item in answer.results.items() if name.endswith("_overhead")]
    assert all(share <= 1 for share in shares)
    lost = answer.known.value("total_overhead")
    assert ("total_overhead" in answer.results) is (lost <= 1)
    assert lost <= 1 or ("more than" in answer.unknown["total_overhead"] and "no progress" in answer.unmet)
