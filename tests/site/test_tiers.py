"""Model states and key-value caches of a site below GPU memory: lines, sums, capacity, endurance."""

import json
import math

import pytest
from conftest import EXAMPLES, exact, example_plan, table

import ingest
from ingest.engine.registry import solve
from ingest.errors import IngestError

EXAMPLE = EXAMPLES / "offload-and-serving.yaml"

STATES = {"parameters": "cpu", "gradients": "cpu", "optimizer_states": "storage", "activations": "gpu"}
CHAT = {"cluster": "main", "nodes": 8, "model": "llama3-70b", "users": 1000, "turns": 8, "turn_time": 60, "prompt": 1000,
        "generate": 500, "hit": 0.8}  # fmt: skip


#: two versions of the weights of a served llama3-70b
WEIGHTS = 2 * 2 * 70_553_706_496


def described(offload=None, serving=None, **site):
    job = {
        "cluster": "main",
        "nodes": 8,
        "runs": 1,
        "model": "llama3-70b",
        "samples_per_second": 1,
        "set": {"bytes_per_token": 16_000},
    }
    return {
        "years": 1,
        "clusters": {"main": {"node": "dgx-h100", "count": 16}},
        "jobs": {"big": job | ({"offload": offload} if offload else {})},
        **({"serving": {"chat": serving}} if serving else {}),
        "storage": {"protection": {"replicas": 2}},
        "floor": "none",
        **site,
    }


def planned(offload=None, serving=None, **site):
    return ingest.plan(described(offload, serving, **site), samples=0)


def results(**options):
    return {
        name: item.value for name, item in ingest.offload("llama3-70b", node="dgx-h100", gpus=64, **options).results.items()
    }


def test_states_on_shared_storage_are_what_offload_answers():
    plan = planned({**STATES, "batch": 4, "sequence_length": 4096, "target": 0.8})
    answer = results(**STATES, batch=4, sequence_length=4096, target=0.8)
    assert exact(plan, "R-OFFLOAD-01") == pytest.approx(answer["drive_tier_read_bandwidth_per_node"])
    assert exact(plan, "R-OFFLOAD-02") == pytest.approx(answer["drive_tier_write_bandwidth_per_node"])
    assert exact(plan, "R-CAP-01") == pytest.approx(answer["storage_tier_bytes"])
    # By hand: 12 B of states per parameter are read and written in the fifth of a step that is not compute.
    moved, step = 12 * 70_553_706_496, answer["step_compute_seconds"] / 0.8
    assert exact(plan, "R-OFFLOAD-01") == pytest.approx(moved / 8 / (0.2 * step))
    assert exact(plan, "R-END-01") == pytest.approx(2 * moved / step * 86_400)
    read = plan.requirement("R-OFFLOAD-01")
    assert (read.conditions.clients, read.conditions.pattern, read.conditions.operation) == (8, "sequential", "read")


def test_caches_are_what_offload_answers():
    plan = planned(serving=CHAT)
    answer = results(inference=True, **{key: item for key, item in CHAT.items() if key not in ("cluster", "nodes", "model")})
    assert exact(plan, "R-KV-01") == pytest.approx(answer["kv_peak_read_bandwidth"])
    assert exact(plan, "R-KV-02") == pytest.approx(answer["kv_write_bandwidth"])
    assert exact(plan, "R-KV-03") == pytest.approx(answer["kv_tier_bytes"])
    # Storage keeps two versions of the weights, 2 B a parameter each.
    assert exact(plan, "R-CAP-01") == pytest.approx(answer["kv_tier_bytes"] + WEIGHTS)
    assert exact(plan, "R-END-01") == pytest.approx(2 * answer["kv_bytes_written_per_day"])
    read = plan.requirement("R-KV-01").conditions
    assert read.io_size == answer["kv_block_bytes"]
    # With one block of each turn outstanding, the latency is the time in which a block must arrive.
    assert read.queue_depth == answer["kv_peak_turns"] == 16
    block_time = 0.5 * read.io_size / (0.8 * answer["kv_reused_bytes"])
    equal = answer["kv_turn_bandwidth"] * answer["kv_peak_turns"]
    assert read.implied_latency == pytest.approx(block_time * equal / answer["kv_peak_read_bandwidth"], rel=0.01)
    kept = planned(serving={**CHAT, "retention": 7200})
    assert exact(kept, "R-KV-03") == pytest.approx((1 + 7200 / 480) * exact(plan, "R-KV-03"))


def test_a_site_that_only_serves_asks_for_its_caches(tmp_path, run):
    """No job is needed: reads, writes and the mix are those of the caches, in blocks, up to the tests and the tender."""
    site = {name: item for name, item in described(serving=CHAT).items() if name != "jobs"}
    plan = ingest.plan(site, samples=0)
    assert not [one.id for one in plan.requirements if one.id.startswith(("R-READ", "R-WRITE", "R-MIX", "R-RESTART"))]
    assert plan.headline["read"].id == "R-KV-01"
    assert plan.headline["write"].id == "R-KV-02"
    caches = plan.requirement("R-KV-02").conditions
    assert caches.io_size > 2**20
    assert (caches.pattern, caches.files) == ("random", "shared")
    guided = ingest.plan({name: item for name, item in site.items() if name != "floor"}, samples=0)
    assert exact(guided, "R-KV-01") == exact(plan, "R-KV-01")
    both = planned(serving=CHAT)
    for name in ("R-KV-01", "R-KV-02", "R-KV-03", "R-END-01"):
        assert exact(plan, name) == pytest.approx(exact(both, name))
    assert plan.missing["R-READ-03"] == "no job reads data"
    assert "R-KV-01" not in guided.guided
    mixed = planned({**STATES, "batch": 4, "sequence_length": 4096, "target": 0.8}, CHAT)
    written = mixed.requirement("R-WRITE-01")
    assert {(part.pattern, part.io_size) for part in written.conditions.mix} == {
        ("sequential", 2**20),
        ("random", caches.io_size),
    }
    assert [part.kind for part in written.loads] == ["model states", "key-value caches"]
    assert "checkpoint" not in written.statement + written.rationale
    settled = {one.id: {"accept": "the caches are small"} for one in plan.decisions}
    timed = {**site, "serving": {"chat": {**CHAT, "turn_time": "60 s"}}, "decisions": settled}
    (tmp_path / "serve.yaml").write_text(json.dumps(timed))
    assert run("accept", tmp_path / "serve.yaml", "-o", tmp_path / "tests").code == 0
    assert run("report", tmp_path / "serve.yaml", "-o", tmp_path / "tender.md").code == 0
    with pytest.raises(IngestError, match="'jobs' is missing: training jobs by name, or `serving`"):
        ingest.plan({name: item for name, item in site.items() if name != "serving"})


def test_totals_hold_all_that_coincides():
    plan, alone = planned({**STATES, "batch": 4, "sequence_length": 4096}, CHAT), planned()
    reads = exact(alone, "R-READ-03") + 8 * exact(plan, "R-OFFLOAD-01") + exact(plan, "R-KV-01")
    writes = 8 * exact(plan, "R-OFFLOAD-02") + exact(plan, "R-KV-02")
    assert exact(plan, "R-READ-03") == pytest.approx(reads)
    assert exact(plan, "R-WRITE-01") == pytest.approx(writes)
    assert exact(plan, "R-MIX-01") == pytest.approx(reads + writes)
    mix = plan.requirement("R-MIX-01").conditions.mix
    assert sum(part.share for part in mix if part.operation == "write") == pytest.approx(writes / (reads + writes), abs=0.002)
    # The average over a step of 90 % compute is far below the peak while the optimizer runs.
    mean = 0.1 * 8 * exact(plan, "R-OFFLOAD-01") + results(inference=True, users=1000, turns=8, turn_time=60, prompt=1000,
                                                         generate=500, hit=0.8)["kv_read_bandwidth"]  # fmt: skip
    assert exact(plan, "R-READ-01") == pytest.approx(mean + exact(alone, "R-READ-01"))


def test_drives_in_the_nodes_are_not_the_vendors():
    local = {name: "nvme" if tier == "storage" else tier for name, tier in STATES.items()}
    plan, answer = planned({**local, "batch": 4}), results(**local, batch=4)
    assert exact(plan, "R-OFFLOAD-03") == pytest.approx(answer["drive_tier_read_bandwidth_per_node"])
    assert exact(plan, "R-OFFLOAD-04") == pytest.approx(answer["drive_tier_write_bandwidth_per_node"])
    assert "R-OFFLOAD-01" in plan.missing
    assert "R-MIX-01" in plan.missing
    assert not any(one.id.startswith("R-OFFLOAD") for one in plan.vendor_lines)


def test_an_impossible_placement_is_refused_at_its_line():
    with pytest.raises(IngestError, match=r"jobs\.big\.offload: working memory takes"):
        planned({**STATES, "batch": 64, "sequence_length": 4096})
    with pytest.raises(IngestError, match=r"jobs\.big\.offload\.parameters: found 'nvm', .*did you mean 'nvme'"):
        planned({"parameters": "nvm"})
    with pytest.raises(IngestError, match=r"serving\.chat: 'users' is missing"):
        planned(serving={name: item for name, item in CHAT.items() if name != "users"})


@pytest.mark.parametrize(("keys", "said"), table("site/refused.yaml")["a_refusal_names_the_keys_of_the_site_and_no_option"])
def test_a_refusal_names_the_keys_of_the_site_and_no_option(keys, said):
    served = {"serving": {**CHAT, **keys}} if said.startswith(r"\.") else {"offload": {**STATES, **keys}}
    with pytest.raises(IngestError, match=rf"^{'serving.chat' if 'serving' in served else 'jobs.big.offload: '}{said}"):
        planned(**served)


def test_states_without_room_exit_as_they_do_in_offload(tmp_path, run):
    """A file that can be read asks for more than there is: 3, as `ingest offload` and `ingest memory` answer."""
    for more in ({"batch": 64, "sequence_length": 4096}, {"optimizer_states": "gpu", "gradients": "gpu"}):
        offload = {**STATES, **more}
        site = described(offload)
        site["jobs"]["big"] |= {"model": "llama3-405b", "nodes": 1}
        (tmp_path / "site.yaml").write_text(json.dumps(site))
        ran = run("plan", tmp_path / "site.yaml")
        assert ran.code == 3, ran.err
        assert "site.yaml:1: jobs.big.offload: " in ran.refusal
        assert (
            run(
                "offload",
                "llama3-405b",
                "--node",
                "dgx-h100",
                *(word for key, item in offload.items() for word in (f"--{key.replace('_', '-')}", str(item))),
            ).code
            == 3
        )


def test_the_example_reaches_tests_fit_and_offers(tmp_path, run):
    site = str(EXAMPLE)
    ran = run("accept", site, "-o", str(tmp_path / "tests"))
    assert ran.code == 0, ran.err
    tests = json.loads((tmp_path / "tests" / "tests.json").read_text(encoding="utf-8"))["tests"]
    one = {test["requirement"]: test for test in tests if test["requirement"].startswith(("R-KV", "R-OFFLOAD"))}
    assert {"R-KV-01", "R-OFFLOAD-01", "R-OFFLOAD-02"} <= one.keys()
    job = (tmp_path / "tests" / "fio" / "T-KV-01-fio.fio").read_text(encoding="utf-8")
    # 256 tokens of 327,680 B each, at random; states go in sequence.
    assert "rw=randread" in job
    assert f"bs={256 * 327_680}\n" in job
    assert "rw=read\n" in (tmp_path / "tests" / "fio" / "T-OFFLOAD-01-fio.fio").read_text(encoding="utf-8")
    plan = example_plan("offload-and-serving")
    # The test of a rate per node runs on all nodes of the job together.
    assert one["R-OFFLOAD-01"]["loads"][0]["threshold"] == pytest.approx(plan.results["R-OFFLOAD-01"].value * 8)
    assert {name: line.priority for name in ("R-OFFLOAD-01", "R-OFFLOAD-03") for line in [plan.requirement(name)]} == {
        "R-OFFLOAD-01": "mandatory",
        "R-OFFLOAD-03": "information",
    }


@pytest.mark.parametrize(("turns", "most"), [(0.1, 1), (0.1414, 1), (0.1415, 2), (1, 4), (100, 124), (400, 447)])
def test_turns_that_coincide_are_the_percentile_of_a_poisson_number(turns, most):
    found = int(solve("kv_peak_turns", {"kv_mean_turns": turns, "serving_users": 1e6}))
    assert found == most
    term = total = math.exp(-turns)
    for number in range(1, found + 1):
        term *= turns / number
        total += term
    assert total >= 0.99
    assert total - term < 0.995 or found <= 2


@pytest.mark.parametrize(("mode", "together"), [("async", sum), ("sync", max)])
def test_jobs_that_wait_while_they_save_move_no_states_meanwhile(mode, together):
    site = described({**STATES, "batch": 4, "sequence_length": 4096})
    site["jobs"]["big"]["checkpoint"] = {"interval": 1800, "mode": mode}
    plan = ingest.plan(site, samples=0)
    reads, saves, states = (exact(plan, name) for name in ("R-READ-03", "R-WRITE-02", "R-OFFLOAD-02"))
    assert exact(plan, "R-MIX-01") == pytest.approx(8 * states + together((reads, saves)))


@pytest.mark.parametrize(("keys", "replicas", "width"), [({}, 8, 2), ({"replicas": 3, "weight_bits": 8}, 9, 1)])
def test_replicas_read_their_weights_in_time(keys, replicas, width):
    plan = planned(serving={**CHAT, "load_time": 30, **keys})
    # Each node of a replica reads all weights: eight replicas of a node, or three of 21 GPUs in three nodes each.
    assert exact(plan, "R-SERVE-01") == pytest.approx(replicas * 70_553_706_496 * width / 30)
    read = plan.requirement("R-SERVE-01").conditions
    assert (read.clients, read.pattern, read.io_size) == (8, "sequential", 2**20)
    with pytest.raises(IngestError, match=r"serving\.chat\.replicas: found without 'load_time'"):
        planned(serving={**CHAT, "replicas": 3})


def test_caches_are_written_in_blocks_beside_all_else():
    """1 MiB from checkpoints, 80 MiB from caches; both are the writes of the line."""
    plan = planned({**STATES, "batch": 4, "sequence_length": 4096}, CHAT)
    writes = {part.io_size: part.share for part in plan.requirement("R-MIX-01").conditions.mix if part.operation == "write"}
    whole = exact(plan, "R-MIX-01")
    assert writes[256 * 327_680] * whole == pytest.approx(exact(plan, "R-KV-02"), rel=0.05)
    assert writes[2**20] * whole == pytest.approx(8 * exact(plan, "R-OFFLOAD-02"), rel=0.01)
    said = next(line for line in plan.warnings if "model states on shared storage" in line)
    assert "ask a shared system for it only where nodes have none" in said
    assert not any("model states on shared" in line for line in planned({**STATES, "optimizer_states": "cpu"}).warnings)


def rules_of(plan):
    return {one.rule.id for one in plan.findings if one.true}


def test_drives_of_nodes_that_cannot_reach_the_efficiency_are_told():
    local = {name: "nvme" if tier == "storage" else tier for name, tier in STATES.items()}
    ample = {"host_optimizer_rate_per_node": 1e15, "host_link_bandwidth_per_gpu": 1e15, "host_uplink_bandwidth_per_node": 1e16}
    drives = ("nvme_read_bandwidth_per_node", "nvme_write_bandwidth_per_node")
    slow, fast = (planned({**local, "batch": 4, "set": {**ample, **dict.fromkeys(drives, rate)}}) for rate in (20e9, 2000e9))
    assert "W94" in rules_of(slow)
    assert "W94" not in rules_of(fast)


def test_media_that_no_drive_endures_are_told():
    """1,000 sessions are written anew each minute: hundreds of drive writes per day on the capacity that they need."""
    plan = planned(serving=CHAT)
    assert exact(plan, "R-END-01") / plan.known.value("site_raw_bytes") > 100
    assert "W96" in rules_of(plan)
    assert "key-value caches" in str(plan.requirement("R-END-01").statement)
    assert "W96" not in rules_of(planned())
    states = planned({**STATES, "batch": 4, "sequence_length": 4096}).requirement("R-END-01").statement
    assert "model states off the GPUs" in str(states)
    assert "checkpoints" not in str(states)


def test_a_cache_that_no_turn_reads_is_told():
    assert "W89" in rules_of(planned(serving={**CHAT, "turns": 1}))
    assert "W89" in rules_of(planned(serving={**CHAT, "hit": 0}))
    assert "W89" not in rules_of(planned(serving={**CHAT, "turns": 2}))


@pytest.mark.parametrize(("size", "pattern"), [("1 MiB", "sequential"), ("1048575 B", "random")])
def test_row_groups_are_read_in_order_by_requests_of_a_mebibyte(size, pattern):
    job = {"model": "llama3-8b", "cluster": "main", "nodes": 4, "io_size": size, "data": "text", "tokens": 1e12}
    data = {"text": {"tokens": 1e12, "bytes_per_token": 4, "format": "parquet"}}
    found = ingest.plan(
        {"clusters": {"main": {"node": "dgx-h100", "count": 4}}, "datasets": data, "jobs": {"job": job}}, samples=0
    )
    assert found.requirement("R-READ-01").conditions.pattern == pattern
    files = ingest.dataset(tokens=1e12, bytes_per_token=4, format="parquet").results["dataset_files"].value
    assert found.rows["datasets"][0].known.value("data_files") == files
