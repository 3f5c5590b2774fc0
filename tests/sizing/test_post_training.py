"""Reinforcement learning: relations of what is published, pulled and kept; real versions of weights."""

import multiprocessing

import pytest
from conftest import table
from hypothesis import given, settings
from hypothesis import strategies as some
from sizing.weight_versions import RATES, SHAPES, Shape, ThrottledPath, encoded, pull, share_of, versions

import ingest
from ingest.engine.messages import rule_of
from ingest.errors import IngestError, UsageError
from ingest.reports.page import answer_line
from ingest.sizing.post_training import ENCODINGS, OF_SYNCS, OF_TRACES

JOB = {"model": "qwen3-8b", "rollout_hosts": 48, "step_time": "60 s", "pull_within": "10 s"}
FULL = 16_381_470_720


def value(name, **options):
    return ingest.rl(**{**JOB, **options}).results[name].value


def rules(**options):
    return {rule_of(line) for line in ingest.rl(**{**JOB, **options}).warnings}


def test_all_hosts_pull_each_version_once_within_their_time():
    assert value("publish_bytes") == FULL
    assert value("pull_read_bandwidth") == 48 * FULL / 10
    assert value("publish_write_bandwidth") == FULL / 30, "half of the time between versions"
    assert value("pull_read_bandwidth", pull_within=None, pause="4 s") == 48 * FULL / 4
    assert value("pull_read_bandwidth", rollout_hosts=None, rollout_replicas=24, set={"replica_nodes": 2}) == 48 * FULL / 10
    step = {"step_time": None, "rollouts": 1000, "tokens": 6000, "tokens_per_second": 2500}
    assert value("publish_write_bandwidth", **step) == FULL / (1000 * 6000 / (48 * 2500) / 2)


def test_the_answer_is_the_largest_of_version_anchor_and_join_and_all_that_is_held():
    for options, largest in (({}, 48 * FULL / 10), ({"publish": "delta"}, 48 * FULL / 60),
                             ({"pull_within": "30 min", "join_within": "1 min"}, 48 * FULL / 60)):  # fmt: skip
        found = ingest.rl(**{**JOB, **options})
        assert found["version_read_bandwidth"].value == largest
        held = found["rl_retained_bytes"].display.split(" (")[0]
        assert answer_line(found).startswith(f"Needs {found['version_read_bandwidth'].display.split(' (')[0]} version reads")
        assert f" · {held} held" in answer_line(found)
    assert value("version_write_bandwidth", publish="delta") == FULL / 60
    # The larger writes are those of checkpoints, or of versions that follow each other fast.
    for step, named in (("60s", "819.1 MB/s checkpoint writes"), ("10s", "3.276 GB/s version writes")):
        assert named in answer_line(ingest.rl(**{**JOB, "step_time": step}, trainer_gpus=128))


def test_what_is_missing_is_asked_for_by_its_option_once(run):
    found = ingest.rl(**JOB, rollouts=100)
    (why,) = {why for name, why in found.unknown.items() if name not in OF_SYNCS}
    assert (len(found.unknown), str(why)[-12:]) == (5 + len(OF_SYNCS), "set --tokens")
    assert "W13" not in rules(rollouts=100), "it counts as soon as the tokens are known"
    assert "h200" in run("rl", "qwen3-8b", "h200").refusal, "no GPU decides what travels"


def test_a_synchronization_takes_what_the_storage_or_the_question_states():
    found = ingest.rl(**JOB)
    assert not {*OF_SYNCS} & {*found.results}, "half of the time between versions is an allowance"
    assert all("--write-bandwidth" in str(found.unknown[name]) for name in OF_SYNCS)
    assert ingest.rl(**JOB, publish_within="5 s")["sync_seconds"].value == 15
    assert value("sync_share", write_bandwidth=FULL, read_bandwidth=48 * FULL / 5) == 0.1
    untimed = ingest.rl("qwen3-8b", algorithm="dpo")
    assert not untimed.unknown, "nothing is published, however long a step takes"
    assert "no rollouts" in untimed.title
    assert set(ingest.rl("qwen3-8b", rollout_hosts=0, rollouts=9, tokens=9).unknown) <= {*OF_TRACES, "rl_retained_bytes"}


def test_a_second_hop_reads_ahead_and_an_object_store_answers_late():
    paused = {"pull_within": None, "pause": "2 s"}
    assert value("read_ahead_bandwidth", **paused) == 48 * FULL / 30
    assert value("host_version_read_bandwidth", **paused) == FULL / 2
    late = {row["storage"]: row["version_latency_share"] for row in ingest.rl(**{**JOB, **paused}).tables["paths"]}
    assert late["s3-prefix"] == pytest.approx(62 * 0.15 / 2), "1,953 parts of 8 MiB, 32 at a time"


@given(publish=some.sampled_from(["full", "delta"]), encoding=some.sampled_from([*ENCODINGS]), share=some.floats(1e-4, 1),
       optimizer=some.sampled_from([None, "lora"]), spacing=some.integers(1, 300),
       given=some.sampled_from([{}, {"change_bytes": 3.3}, {"codec_factor": 0.9}, {"parameters": 1e9}]))  # fmt: skip
def test_the_row_of_the_way_that_is_chosen_is_the_answer(publish, encoding, optimizer, share, spacing, given):
    found = ingest.rl(**JOB, publish=publish, encoding=encoding, optimizer=optimizer, changed_share=share,
                      anchor_every=spacing, set=given)  # fmt: skip
    chosen = {"publishing": ("publish", encoding if publish == "delta" else "full"), "anchors": ("anchor_every", spacing)}
    for one, (column, own) in chosen.items():
        rows = [row for row in found.tables.get(one, ()) if row[column] == own]
        assert len(rows) == (one == "publishing" or publish == "delta")
        for name, number in (item for row in rows for item in row.items() if item[0] != column):
            assert number == pytest.approx(found[name].value, rel=1e-12), (one, name)


def test_a_host_that_joins_reads_the_anchor_and_the_whole_chain():
    delta = {"publish": "delta", "changed_share": 0.02, "encoding": "index-value"}
    one = value("publish_bytes", **delta)
    assert one == FULL / 2 * 0.02 * 6
    assert value("join_read_bytes", **delta, anchor_every=25) == FULL + 24 * one
    assert value("join_read_bytes") == value("join_read_bytes", **delta, anchor_every=1) == FULL
    assert value("weights_retained_bytes", keep=3) == 3 * FULL
    # The oldest of three may lie just before an anchor: 3 + 24 versions, two of them anchors.
    assert value("weights_retained_bytes", **delta, anchor_every=25, keep=3) == 2 * FULL + 25 * one
    assert value("weights_written_per_day", **delta, anchor_every=25) == pytest.approx(1440 * (FULL + 24 * one) / 25)


@pytest.mark.parametrize("options", [{"rollout_hosts": 0}, {"every": 0}, {"algorithm": "dpo", "rollout_hosts": None}])
def test_no_host_or_no_version_asks_nothing_of_storage(options):
    found = ingest.rl(**{**JOB, **options}).results
    kinds = ("publish_b", "publish_w", "pull_", "join_", "weights_", "weight_", "sync")
    assert [found[name].value for name in found if name.startswith(kinds)] == [0] * 11
    assert found["checkpoint_bytes"].value > FULL


@given(share=some.floats(1e-5, 1), more=some.floats(1, 3), hosts=some.integers(1, 500), every=some.integers(1, 20),
       encoding=some.sampled_from([*ENCODINGS]))  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_more_changes_hosts_and_versions_ask_for_more(share, more, hosts, every, encoding):
    job = {"publish": "delta", "changed_share": share, "rollout_hosts": hosts, "every": every, "encoding": encoding}
    job["pull_within"] = None
    found = ingest.rl(**{**JOB, **job}).results
    for change, names in (
        ({"changed_share": min(share * more, 1)}, ("publish_bytes", "pull_read_bandwidth", "join_read_bytes")),
        ({"rollout_hosts": round(hosts * more)}, ("pull_read_bandwidth", "join_read_bandwidth", "weights_read_per_day")),
        ({"every": -(-every // 2)}, ("publish_write_bandwidth", "pull_read_bandwidth", "weights_written_per_day")),
        ({"precision": "fp32", "encoding": "index-value"}, ("published_weights_bytes",)),
    ):
        other = ingest.rl(**{**JOB, **job, **change}).results
        assert all(other[name].value >= found[name].value * (1 - 1e-12) for name in names), (change, job)
    assert 0 <= found["publish_bytes"].value <= FULL


def test_traces_sandboxes_and_states_follow_from_what_is_kept():
    job = {"rollouts": 1024, "tokens": 8000, "trace_format": "binary"}
    assert value("trace_token_bytes", **job, trace="ids,logprobs") == 8
    assert value("trace_token_bytes", **job, trace="ids,logprobs,top=5") == 8 + 5 * 8
    assert value("trace_bytes_per_day", **job, trace="ids") == pytest.approx(1440 * 1024 * (8000 * 4 + 2000))
    assert "trace_bytes_per_day" not in ingest.rl(**JOB, **job, trace="none").results
    with pytest.raises(UsageError, match="experts of qwen3-8b are not known"):
        ingest.rl(**JOB, **job, trace="routing")
    assert value("sandbox_read_bytes", sandbox_image="2 GB") == 96e9
    assert value("sandbox_read_bytes", sandbox_image="2 GB", sandbox_hosts=10) == 20e9
    grpo, ppo = (value("algorithm_checkpoint_bytes", algorithm=name) for name in ("grpo", "ppo"))
    assert ppo == 2 * grpo
    # Policy and critic stand on frozen models of their own, and the reward model beside them.
    grpo, ppo = (value("algorithm_state_bytes", optimizer="lora", algorithm=name) for name in ("grpo", "ppo"))
    assert ppo - 2 * (grpo - 2 * 8_190_735_360) == 3 * 2 * 8_190_735_360
    assert value("algorithm_state_bytes", trainer_gpus=64) == 14 * 8_190_735_360  # 4 + 8 B as FSDP trains, 2 of the reference
    for options in ({}, {"optimizer": "lora"}):
        held = ingest.memory("qwen3-8b", algorithm="dpo", **options)
        gradients = held.derivation("parameters").value * held.derivation("gradient_bytes_per_parameter").value
        states = value("algorithm_state_bytes", precision="fp8", **options)
        assert states == pytest.approx(held["model_state_bytes"].value - gradients)


def test_of_adapters_only_they_travel():
    adapters = ingest.checkpoint("qwen3-8b", optimizer="lora").results["checkpoint_weights_bytes"].value
    assert value("publish_bytes", optimizer="lora") == adapters < FULL / 50


def test_cautions_say_what_decides():
    assert "W107" in rules(publish="delta")
    assert "W107" in rules(publish="delta", changed_share="1%..3%")  # the default, typed
    assert "W107" not in rules(publish="delta", changed_share="1%..2%")
    assert "W108" in rules(pull_within="40 s")
    assert "W108" not in rules(pull_within="30 s")
    assert "W110" in rules(publish="delta", changed_share=0.34, encoding="index-value")
    assert "W110" not in rules(publish="delta", changed_share=0.33, encoding="index-value")
    assert "W111" in rules(publish="delta", changed_share=0.02)
    assert "W111" not in rules(publish="delta", changed_share=0.02, anchor_within="10 min")
    assert "W119" not in rules(pull_within="0.33 s"), "49.6 GB/s on each host"
    assert "W119" in rules(pull_within="0.325 s"), "50.4 GB/s"
    needed = {"write_bandwidth": FULL / 30, "read_bandwidth": 48 * FULL / 10}
    assert "W122" not in rules(**needed)
    (short,) = (line for line in ingest.rl(**JOB, **needed | {"read_bandwidth": 5e9}).warnings if rule_of(line) == "W122")
    assert "78.63 GB/s of reads, the storage delivers 5 GB/s" in str(short)
    assert all("W122" in rules(**needed | {way: 0.99 * rate}) for way, rate in needed.items())
    assert "W13" in rules(changed_share=0.02), "of a full version nothing depends on what changed"


@pytest.mark.parametrize(("options", "words"), table("sizing/refused.yaml")["what_contradicts_itself_is_refused"])
def test_what_contradicts_itself_is_refused(options, words):
    with pytest.raises(IngestError, match=words):
        ingest.rl(**{**JOB, **options})


def test_spacing_of_least_bytes_is_the_least_of_the_table():
    rows = {}
    for spacing in (10, 49, 250):
        found = ingest.rl(**JOB, publish="delta", changed_share=0.02, anchor_every=spacing).results
        rows[spacing] = found["weights_written_per_day"].value + 48 * (FULL + found["join_read_bytes"].value) / 2
    assert round(found["least_anchor_spacing"].value) == 49
    assert min(rows, key=rows.get) == 49


def check_versions(shape, optimizer, rate, steps, capsys):
    """Each encoding within 10 % of its formula, given the share that was measured; shares and the largest error are printed."""
    shares, errors, old = [], [], None
    for new in versions(shape, optimizer, rate, steps):
        for encoding in ("full", *ENCODINGS) if old is not None else ():
            parameters, size = sum(one.size for one in new.values()), len(encoded(old, new, encoding))
            delta = {"publish": "delta", "changed_share": share_of(old, new), "encoding": encoding}
            ours = ingest.rl(**(delta if encoding != "full" else {}), set={"parameters": parameters})["publish_bytes"].value
            shares.append(delta["changed_share"])
            errors.append(ours / size - 1)
            assert errors[-1] == pytest.approx(0, abs=0.1), (shape, optimizer, rate, shares[-1], encoding)
        old = new
    with capsys.disabled():
        spread = f"{min(shares):.3%} to {max(shares):.3%} change, bytes {min(errors):+.1%} to {max(errors):+.1%}"
        print(f"\n{parameters / 1e6:.0f}M {optimizer} at {rate:g}: {spread}", end="", flush=True)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_versions_of_a_small_model_are_as_large_as_predicted(optimizer, capsys):
    check_versions(Shape(2_000, 256, 512, 3), optimizer, 1e-6, 1, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("shape", SHAPES, ids=["10M", "42M", "125M"])
def test_versions_of_larger_models_are_as_large_as_predicted(shape, optimizer, rate, capsys):
    check_versions(shape, optimizer, rate, 3 if shape is not SHAPES[2] else 2, capsys)


@pytest.mark.parametrize("publish", ["full", "delta"])
def test_eight_processes_pull_a_version_in_the_predicted_time(publish, tmp_path):
    shape = Shape(8_000, 256, 1024, 4)
    *_, old, new = versions(shape, "adamw", 1e-6, 2)
    file = tmp_path / "version.safetensors"
    size = file.write_bytes(encoded(old, new, "full" if publish == "full" else "index-value"))
    rate = size * 8 / 1.5
    job = {"publish": publish, "rollout_hosts": 8, "step_time": "60 s", "read_bandwidth": rate, "publish_within": "1 s"}
    delta = {"changed_share": share_of(old, new), "encoding": "index-value"} if publish == "delta" else {}
    sized = ingest.rl(**job, **delta, set={"parameters": sum(one.size for one in new.values())})
    predicted = sized["sync_seconds"].value - 1
    context, path = multiprocessing.get_context("forkserver"), ThrottledPath(file, rate)
    context.set_forkserver_preload([pull.__module__])  # imported once for all hosts
    ready, ended = context.Barrier(8), context.Queue()
    hosts = [context.Process(target=pull, args=(path.port, ready, ended)) for _ in range(8)]
    for host in hosts:
        host.start()
    found = [ended.get(timeout=60) for _ in hosts]
    for host in hosts:
        host.join()
    path.close()
    assert {read for read, *_ in found} == {size}
    took = max(end for *_, end in found) - min(start for _, start, _ in found)
    assert predicted == pytest.approx(took, rel=0.15)


def test_what_nobody_states_is_as_published_or_assumed():
    found = ingest.rl("qwen3-8b", rollout_hosts=4, step_time=60, publish="delta", rollouts=10, tokens=100, sandbox_image=1e9)
    usual = {name: item["value"] for name, item in found.inputs.items() if item["from"] == "default"}
    kept = {"anchor_every": 25, "weight_versions_kept": 2, "join_seconds": 600, "host_joins_per_day": 1, "publish_every": 1,
            "changed_share": 0.02, "codec_factor": 1, "broadcast_bandwidth": 5e9, "rollout_record_bytes": 2000,
            "trace_retention_seconds": 30 * 86_400, "sandbox_seconds": 60, "sandbox_images": 1}  # fmt: skip
    assert {name: usual[name] for name in kept} == kept
    bytes_of = ingest.rl("qwen3-8b", publish="delta", changed_share=0.02).results["publish_bytes"]
    assert (bytes_of.low / bytes_of.value, bytes_of.high / bytes_of.value) == pytest.approx((0.8, 1.1))
    share = found.given["changed_share"]
    assert (share.low, share.high) == (0.01, 0.03)
    assert found.results["trace_token_bytes"].value == 7.5 + 21 + 4.5
    exact = ingest.rl("qwen3-8b", publish="delta", changed_share=0.02, encoding="index-value").results["publish_bytes"]
    assert exact.low is None, "positions and values need no codec"
