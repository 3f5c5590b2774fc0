"""Conditions and sentences of requirement lines, and the warnings that go with them; expected values are written by hand."""

import copy

import pytest
from conftest import example_plan, planned, table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.engine.messages import rule_of
from ingest.errors import IngestError
from ingest.site.jobs import SAVED as SAVED_QUANTITIES
from ingest.site.load_conditions import LoadPart, mix_of


def site(**jobs):
    return {
        "floor": "none",
        "clusters": {"main": {"node": "dgx-h100", "count": 100}},
        "jobs": {name: {"cluster": "main", "nodes": 10, **job} for name, job in jobs.items()},
    }


SLOW = {"samples_per_second": 100, "sample_bytes": 1_000_000}
SAVED = {"parameters": 1e9, "bytes": "1 TB", "interval": "1000 s", "keep": 1, "mtti": "1 year"}
ASYNC = {**SAVED, "mode": "async", "drain_fraction": 1, "drain_time": "1 day"}
SYNC = {**SAVED, "mode": "sync", "waste": "5%"}


def test_asynchronous_checkpoints_overlap_whatever_the_file_says():
    data = site(a={**SLOW, "runs": 3, "checkpoint": ASYNC})
    data["overlap"] = {"checkpoints": False}
    plan = planned(data)
    one, average = plan.computed["R-WRITE-02"], plan.computed["R-WRITE-03"]
    assert one == 1e12 / 1000
    assert 2.99 * one < average < 3 * one
    assert plan.computed["R-WRITE-01"] == average
    assert plan.computed["R-MIX-01"] == 3 * 100 * 80 * 1e6 + average
    assert [line for line in plan.warnings if "drain while other runs write" in line]
    data["overlap"] = {}
    assert not [line for line in planned(data).warnings if "drain while other runs write" in line]


@pytest.mark.parametrize(("reads", "writes", "priority"), [
    (1.02, 100, "mandatory"), (1.00, 100, "information"), (100, 1.02, "mandatory"), (100, 1.00, "information")])  # fmt: skip
def test_a_mix_of_less_than_a_hundredth_of_reads_or_of_writes_is_no_requirement(reads, writes, priority):
    # Eight GPUs read 0.1 GB/s per unit, and a checkpoint of a GB per unit drains in ten seconds.
    saved = {**SAVED, "mode": "async", "bytes": f"{writes * 1e9:.0f} B", "drain_time": "10 s"}
    data = site(a={"samples_per_second": reads * 12.5, "sample_bytes": 1_000_000, "nodes": 1, "checkpoint": saved})
    plan = planned({**data, "floor": "none"})
    assert plan.known.value("mixed_write_share") == pytest.approx(writes / (reads + writes))
    assert plan.requirement("R-MIX-01").priority == priority


@pytest.mark.parametrize(("overlap", "writes"), [(None, 1), (True, 2), (False, 1)])
def test_the_mix_counts_the_writes_that_overlap(overlap, writes):
    # A dump of 1 TB in 50 s after 1000 s: two runs write together for (50 / 1050)^2 = 0.2 % of the time.
    data = site(a={**SLOW, "checkpoint": SYNC}, b={**SLOW, "checkpoint": SYNC})
    data["overlap"] = {} if overlap is None else {"checkpoints": overlap}
    plan = planned(data)
    one, reads = plan.computed["R-WRITE-02"], plan.computed["R-READ-03"]
    assert plan.computed["R-WRITE-01"] == pytest.approx(writes * one)
    # The runs that save do not read: half of the reads go on while one of two saves, none while both do.
    assert plan.computed["R-MIX-01"] == pytest.approx(writes * one + reads * (1 - writes / 2))
    # Where both runs save, nothing reads, and R-WRITE-01 requires it all.
    assert plan.requirement("R-MIX-01").priority == ("information" if writes == 2 else "mandatory")
    parts = plan.requirement("R-MIX-01").conditions.mix
    assert sum(part.share for part in parts) == pytest.approx(1)
    writing = sum(part.share for part in parts if part.operation == "write")
    assert writing == pytest.approx(writes * one / plan.computed["R-MIX-01"], abs=1e-3)
    assert not any("drain" in line for line in plan.warnings)


def test_what_stops_or_runs_alone_is_no_mixture():
    # Reads that stop for checkpoints are not mixed.
    data = site(a={**SLOW, "checkpoint": ASYNC}) | {"overlap": {"reads_and_checkpoints": False}}
    assert "R-MIX-01" not in planned(data).results
    assert "R-MIX-01" not in planned(site(a=SLOW)).results
    # A single asynchronous run overlaps with nothing.
    assert not any("drain" in line for line in planned(site(a={**SLOW, "checkpoint": ASYNC})).warnings)


def test_each_line_says_who_takes_part():
    data = site(
        reads={**SLOW, "nodes": 40},
        saves={**SLOW, "nodes": 20, "runs": 2, "checkpoint": SYNC},
        stages={**SLOW, "nodes": 8, "data": "d", "placement": {"mode": "stage", "within": "10 min"}},
    )
    data["datasets"] = {"d": {"bytes": "6 TB", "file_bytes": "1 GB"}}
    clients = {one.id: one.conditions.clients for one in planned(data).requirements}
    assert clients == {
        "R-READ-01": 80, "R-READ-02": 40, "R-READ-03": 80, "R-READ-04": 1,
        "R-WRITE-01": 40, "R-WRITE-02": 20, "R-WRITE-03": 40, "R-MIX-01": 80, "R-LOAD-01": 100,
        "R-RESTART-01": 20, "R-RESTART-02": 40, "R-STAGE-01": 8, "R-STAGE-02": None, "R-META-02": 20,
        "R-META-03": None, "R-CAP-01": None, "R-CAP-03": None,
    }  # fmt: skip


@pytest.mark.parametrize(("more", "size"), table("site/cases.yaml")["small_samples_of_large_files_are_read_together"])
def test_small_samples_of_large_files_are_read_together(more, size):
    one = planned(site(a={"samples_per_second": 100, "sample_bytes": 912, **more})).requirement("R-READ-03")
    assert one.conditions.io_size == size


def test_a_sum_carries_the_mix_of_its_jobs():
    plan = planned(site(small={**SLOW, "sample_bytes": 5_000}, large={**SLOW, "sample_bytes": 70_000}))
    for name in ("R-READ-01", "R-READ-03"):
        mix = plan.requirement(name).conditions.mix
        # 70 kB against 5 kB per sample, at equal rates
        assert [(part.share, part.io_size, part.pattern) for part in mix] == [
            (0.933, 70_000, "random"),
            (0.067, 5_000, "random"),
        ]
        assert (
            "reads (by bytes 93.3 % random 70 kB (68.36 KiB), 6.7 % random 5 kB (4.883 KiB)) from"
            in plan.requirement(name).statement
        )
    alone = planned(site(a=SLOW)).requirement("R-READ-03")
    assert alone.conditions.mix == ()
    assert "of uncached random 128 KiB reads from" in alone.statement


def test_what_is_doubted_and_what_is_no_line():
    # More reads than a node can ask for are doubted.
    data = site(a={"samples_per_second": 200_000, "sample_bytes": 912})
    assert [line for line in planned(data).warnings if "have to issue 1,600,000 reads of 912 B per second" in line]
    data["jobs"]["a"]["set"] = {"samples_per_file": 100}
    assert not any("each node would have to issue" in line for line in planned(data).warnings)
    # What is nothing is no line.
    plan = planned(site(a=SLOW) | {"storage": {"protection": {"replicas": 2}}})
    assert "R-END-01" not in plan.results
    assert plan.missing["R-END-01"] == "this site needs no media writes per day"
    # A rate near the peak is doubted.
    assert any("published training runs reach up to" in line for line in planned(site(a={**MODEL, "efficiency": 0.7})).warnings)
    assert not any("published training runs" in line for line in planned(site(a={**MODEL, "efficiency": 0.4})).warnings)
    # A write bandwidth that a checkpoint sets is the line.
    policy = {"interval": "30 min", "model": "llama-3.1-8b", "set": {"checkpoint_write_bandwidth": "5 GB/s"}}
    found = ingest.plan(site(a={"model": "resnet50", "checkpoint": policy}), samples=0)
    assert found.requirement("R-WRITE-01").value == 5e9
    assert not any(rule_of(line) == "W28" for line in found.warnings)
    chosen = policy | {"set": {"checkpoint_interval": "10 s"}}
    found = ingest.plan(site(a={"model": "resnet50", "checkpoint": chosen}), samples=0)
    assert not any(rule_of(line) == "W28" for line in found.warnings)


def grown(year, factor):
    return 1e12 * factor**year


def test_what_is_loaded_and_what_grows_is_written():
    data = site(a=SLOW)
    data |= {"start": 2026, "years": 3, "storage": {"protection": {"data": 4, "parity": 1}}}
    data["datasets"] = {
        "grows": {"bytes": "1 TB", "copies": 2, "growth": {"capacity": 3, "every": "1 year"}},
        "comes": {"bytes": "7 TB", "from": 2028, "until": 2028},
        "renewed": {"bytes": "1 TB", "copies": 3, "refresh": "10 days", "growth": {"capacity": 3, "every": "1 year"}},
    }
    plan = planned(data)
    year = 365.25
    added = [2 * grown(0, 3), 2 * (grown(1, 3) - grown(0, 3)), 2 * (grown(2, 3) - grown(1, 3)) + 7e12, 2 * (27e12 - 9e12)]
    added[0] += 3e12  # the first version; later ones bring their growth with them
    daily = [new / year + 3 * grown(number, 3) / 10 for number, new in enumerate(added)]
    found = [row["year_bytes_written_per_day"] for row in plan.tables["capacity"]]
    assert found == [pytest.approx(value, rel=1e-12) for value in daily]
    assert plan.computed["R-END-01"] == pytest.approx(max(daily) * 5 / 4, rel=1e-12)


TINY = {"samples_per_second": 1, "sample_bytes": 1000, "set": {"samples_per_file": 1}}


def test_a_rate_that_one_drive_gives_is_for_information_and_says_so():
    plan = planned(site(a=TINY))
    reads, opens = plan.requirement("R-READ-02"), plan.requirement("R-META-01")
    assert plan.requirement("R-READ-03").priority == "mandatory"
    assert reads.value == 80 * 1000
    assert (reads.priority, opens.priority) == ("information", "information")
    assert reads.statement.startswith("For information: the system would sustain at least 80 kB/s")
    assert reads.statement.endswith(" Below the reporting threshold of 100 MB/s (95.37 MiB/s), therefore not a requirement.")
    assert opens.statement.endswith(" Below the reporting threshold of 100 files/s, therefore not a requirement.")
    assert "smallest_bandwidth_asked" in reads.assumptions
    assert "smallest_file_rate_asked" in opens.assumptions
    assert [one["grade"] for one in plan.assumptions if one["name"] == "smallest_bandwidth_asked"] == ["assumed"]
    large = planned(site(a=SLOW))
    assert large.requirement("R-READ-02").priority == "mandatory"
    assert not [one for one in large.assumptions if one["name"].startswith("smallest_bandwidth")]


@pytest.mark.parametrize(
    ("least", "priority"), [("79 kB/s", "mandatory"), ("80 kB/s", "mandatory"), ("81 kB/s", "information")]
)
def test_how_small_is_too_small_is_said_in_the_file(least, priority):
    plan = planned(site(a=TINY) | {"test": {"smallest_bandwidth": least}})
    assert plan.requirement("R-READ-02").priority == priority
    assert "smallest_bandwidth_asked" not in plan.requirement("R-READ-02").assumptions


def test_a_restart_and_a_staging_say_in_what_time():
    fast, slow = ({**SYNC, "restart_time": time} for time in ("5 min", "20 min"))
    one = planned(site(a={**SLOW, "checkpoint": fast}))
    assert "that a single run has read its checkpoint within 5 min." in one.requirement("R-RESTART-01").statement
    assert one.requirement("R-RESTART-02").statement.endswith("restoring concurrently, within 10 min after an outage.")
    later = planned(site(a={**SLOW, "checkpoint": fast}) | {"outage": {"restart_time": "20 min"}})
    assert later.requirement("R-RESTART-02").statement.endswith("restoring concurrently, within 20 min after an outage.")
    assert float(later.steps["R-RESTART-02"].value) == float(one.steps["R-RESTART-02"].value) / 2
    two = planned(site(a={**SLOW, "checkpoint": fast}, b={**SLOW, "checkpoint": slow}))
    assert two.requirement("R-RESTART-01").statement.endswith("within 5 min.")
    staged = site(a={**SLOW, "data": "d", "placement": {"mode": "stage", "within": "10 min"}})
    staged["datasets"] = {"d": {"bytes": "6 TB", "file_bytes": "1 GB"}}
    assert planned(staged).requirement("R-STAGE-01").statement.endswith("on their nodes within 10 min.")


def test_growth_has_the_conditions_of_the_reads_that_grow():
    data = site(a={**SLOW, "growth": {"bandwidth": 2, "every": "1 year"}}, b={**SLOW, "sample_bytes": 1_500_000})
    data |= {"years": 3}
    line = planned(data).requirement("R-GROW-01")
    assert line.computed == pytest.approx(10 * 8 * 100 * (8 * 1e6 + 1.5e6))
    assert (line.conditions.clients, line.conditions.io_size, line.conditions.pattern) == (20, 131_072, "random")
    # a: 10 nodes × 8 GPUs × 4 readers × 2 ahead × 131,072 B ÷ 64 GB/s = 1.31 ms, at which 76 GB/s keep 760 reads outstanding
    assert (line.conditions.queue_depth, line.conditions.implied_latency) == (760, pytest.approx(640 * 131_072 / 64e9))
    assert line.statement == (
        "The system should be expandable to 76 GB/s (70.79 GiB/s) of uncached random 128 KiB reads from 20 clients "
        "with at most 760 outstanding reads in all (38 per client), mean latency at most 1.31 ms, 99 % within 6.55 ms, "
        "for 30 min at 85 % fill (aggregate of all jobs that can run concurrently, in the last year of the plan)."
    )
    assert not any("row:" in part for part in line.derivation)


def test_the_scheme_of_the_catalogs_is_the_scheme_of_the_file():
    data = site(a=SLOW) | {"datasets": {"d": {"bytes": "8 PB"}}}
    found = [
        planned({**data, "storage": {"protection": scheme}}).computed["R-CAP-02"]
        for scheme in ("prot-ec-8-3", {"data": 8, "parity": 3}, "prot-rep3", {"replicas": 3}, "prot-vast-150-4")
    ]
    assert found[0] == found[1] == pytest.approx(8e15 * 11 / 8 / 0.85, rel=1e-15)
    assert found[2] == found[3] == pytest.approx(8e15 * 3 / 0.85, rel=1e-15)
    assert found[4] == pytest.approx(8e15 * 154 / 150 / 0.85, rel=1e-15)


MODEL = {"model": "llama3-405b", "nodes": 100, "tokens": "1T", "tokens_per_sample": 8192}


@pytest.mark.parametrize(("days", "doubted"), [(100, True), (880, False)])
def test_a_duration_that_contradicts_the_rate_is_doubted(days, doubted):
    # 1e12 tokens / 8192 × 1.990656e16 FLOP ÷ (800 GPUs × 40 % of 989.4 TFLOP/s) = 88.8 days
    data = site(a={**MODEL, "tokens": "10T", "efficiency": 0.4, "checkpoint": {**ASYNC, "duration": f"{days} days"}})
    assert any("expected both to agree" in line for line in planned(data).warnings) is doubted


def test_a_job_on_data_that_are_not_there():
    data = site(a={**SLOW, "data": "d"}) | {"start": 2026, "years": 3, "datasets": {"d": {"bytes": "1 TB", "from": 2028}}}
    assert any("jobs.a.data: d is not on storage in 2026, 2027; the job" in line for line in planned(data).warnings)
    later = copy.deepcopy(data)
    later["datasets"]["d"]["from"] = 2040
    with pytest.raises(IngestError, match=r"jobs\.a\.data: d is not on storage in 2026, 2027, 2028, 2029, expected years"):
        planned(later)
    data["datasets"]["d"]["from"] = 2026
    assert not any("not on storage" in line for line in planned(data).warnings)


def test_advice_is_in_the_words_of_a_site_file():
    data = site(a={**MODEL, "checkpoint": {"mode": "async", "interval": "1 h"}}) | {"datasets": {"d": {"bytes": "1 TB"}}}
    plan = planned(data)
    assert (
        plan.missing["R-CAP-02"]
        == plan.missing["R-END-01"]
        == ("the protection scheme of the storage is not known; set storage.protection")
    )
    why = {one["name"]: one["why"] for one in plan.assumptions}
    assert why["persistent_every"].endswith("set checkpoint.persistent_every")
    assert why["drain_fraction"].endswith("set checkpoint.drain_fraction")
    assert why["restart_seconds"].endswith("set checkpoint.restart_time")
    assert "scaling: strong" in why["scaling_efficiency"]
    assert all(why.values())
    assert not any("--" in line for line in [*why.values(), *plan.warnings, *plan.explain("R-WRITE-02")])
    data["jobs"]["a"] |= {"scaling": "strong", "nodes": 64}
    for path in ("persistent_every", "drain_fraction", "restart_time"):
        data["jobs"]["a"]["checkpoint"][path] = {"persistent_every": 2, "drain_fraction": 0.5, "restart_time": "1 min"}[path]
    assert not {"persistent_every", "drain_fraction", "restart_seconds"} & {one["name"] for one in planned(data).assumptions}


@pytest.mark.parametrize("name", ["enterprise-64-nodes", "hpc-128-nodes", "llm-16384-gpus"])
def test_every_assumption_of_an_example_says_why(name):
    assert all(one["why"] for one in example_plan(name).assumptions)


def test_jobs_with_equal_checkpoints_own_their_entries():
    checkpoint = {"parameters": 1e9, "interval": "30 min", "waste": "5%"}
    job = {"cluster": "main", "samples_per_second": 10, "sample_bytes": 1000, "nodes": 2, "checkpoint": checkpoint}
    site = {"clusters": {"main": {"node": "dgx-h100", "count": 4}}, "jobs": {"first": job, "second": job}}
    plan = ingest.plan(site, samples=0)
    owners = [entry.owner for entry in plan.known.step("run_write_bandwidth_of_jobs").inputs]
    assert owners == ["first", "second"]
    assert {step.owner for step in plan.used if step.name == "concurrent_runs"} <= {"first", "second"}
    assert all(
        step.source is plan.rows["jobs"][0].known.given["nodes"]
        for step in plan.used
        if step.owner == "first" and step.name == "nodes"
    )


@pytest.mark.parametrize(("share", "parts"), [(0.0101, [0.989, 0.011]), (0.0099, [1]), (0.0304, [0.969, 0.031])])
def test_a_part_of_a_mix_is_at_least_a_hundredth_and_writes_are_rounded_up_to_a_thousandth(share, parts):
    mix = mix_of([LoadPart("a", 1 - share, 2**20, "sequential"), LoadPart("b", share, 2**20, "random", operation="write")])
    assert [part.share for part in mix] == parts


@given(st.floats(1, 1e4), st.floats(1, 1e4), st.floats(0, 1e3))
def test_a_mix_asks_for_no_fewer_writes_than_were_computed(reads, writes, small):
    parts = [LoadPart("a", reads, 2**20, "sequential"), LoadPart("b", small, 4096, "random")]
    parts += [LoadPart("", writes, 2**20, "sequential", operation="write")]
    parts += [LoadPart("", small, 2**26, "sequential", operation="write")]
    mix = mix_of(parts)
    assert sum(part.share for part in mix) == pytest.approx(1)
    asked = sum(part.share for part in mix if part.operation == "write")
    share = (writes + small) / (reads + writes + 2 * small)
    assert asked >= share * (1 - 1e-9) or share < 0.01
    assert asked <= share + 0.003 or share > 0.99


@pytest.mark.parametrize("name", SAVED_QUANTITIES)
def test_a_checkpoint_may_set_each_of_its_results(name):
    """What a policy sets is an entry of its job: the lines that rest on it name the job, and no plan ends in a traceback."""
    for value in (0.5, 1e9):
        policy = {"interval": "30 min", "model": "llama-3.1-8b", "set": {name: value}}
        try:
            found = ingest.plan(site(a={"model": "resnet50", "checkpoint": policy}), samples=0)
        except IngestError:
            continue
        assert found.requirements


def test_of_jobs_that_read_alike_the_longer_one_sets_the_time_of_a_test():
    data = {"held": {"bytes": "5.6 TB"}}
    short = {"cluster": "main", "nodes": 6, "model": "retinanet", "data": "held"}
    long = {**short, "placement": {"mode": "cache", "hit": "50%"}}

    def seconds(**jobs):
        plan = planned({"clusters": {"main": {"node": "dgx-h100", "count": 64}}, "datasets": data, "jobs": jobs})
        return plan.requirement("R-READ-02").conditions.duration

    assert seconds(a=short) < seconds(a=long) == seconds(a=short, b=long) == seconds(a=long, b=short)
