"""Lines of reinforcement learning: what trainers publish and rollout hosts pull, at most what their nodes draw."""

import json
from copy import deepcopy
from pathlib import Path

import pytest
from conftest import table
from hypothesis import given, settings
from hypothesis import strategies as some

import ingest
from ingest.errors import IngestError

SITE = {
    "clusters": {"trainers": {"node": "dgx-h100", "count": 16}, "rollouts": {"node": "dgx-h100", "count": 48}},
    "jobs": {
        "grpo": {
            "kind": "rl", "cluster": "trainers", "nodes": 16, "model": "qwen3-8b", "checkpoint": {"mode": "async"},
            "rl": {"rollout_cluster": "rollouts", "rollout_hosts": 48, "step_time": "60 s", "pull_within": "10 s",
                   "rollouts": 1024, "tokens": 8000},
        }
    },
    "storage": {"headroom": 0, "protection": {"data": 8, "parity": 2}},
}  # fmt: skip
FULL = 16_381_470_720
SYNC = ("R-SYNC-01", "R-SYNC-02", "R-SYNC-03")


def lines(job=None, without=(), **rl):
    site = deepcopy(SITE)
    own = site["jobs"]["grpo"]
    own["rl"] = {key: one for key, one in (own["rl"] | rl).items() if key not in without}
    own.update(job or {})
    return {one.id: one for one in ingest.plan(site).requirements}


def test_trainers_write_a_version_and_all_rollout_hosts_read_it():
    found = lines()
    assert found["R-SYNC-01"].computed == FULL / 30
    assert found["R-SYNC-02"].computed == 48 * FULL / 10
    assert found["R-SYNC-03"].computed == 48 * FULL / 600
    assert [found[name].conditions.clients for name in SYNC] == [16, 48, 48]
    assert {one.cluster for one in found["R-SYNC-02"].conditions.client_groups} == {"rollouts"}
    read = found["R-SYNC-02"].conditions
    assert (read.operation, read.pattern, read.files) == ("read", "sequential", "shared")
    assert "new files" in read.cache
    assert "R-READ-03" not in found, "prompts are no load"
    assert found["R-WRITE-01"].value > 0, "checkpoints stay"


def test_no_line_asks_hosts_for_more_than_they_draw():
    found = lines(pull_within="100 ms")["R-SYNC-02"]
    assert found.value < 48 * FULL / 0.1
    assert found.limited_by


def test_anchors_decide_where_deltas_are_small():
    delta = {"publish": "delta", "changed_share": 0.02, "encoding": "index-value"}
    assert lines(**delta)["R-SYNC-02"].computed == 48 * FULL / 60
    assert lines(**delta, anchor_within="10 min")["R-SYNC-02"].computed == pytest.approx(48 * FULL * 0.06 / 10)
    assert lines(**delta, anchor_every=5)["R-SYNC-03"].computed == pytest.approx(48 * FULL * (1 + 4 * 0.06) / 600)


@pytest.mark.parametrize(
    ("rl", "without"),
    [({}, ("rollout_cluster", "rollout_hosts")), ({"rollout_hosts": 0}, ()), ({"every": 0}, ()), ({"algorithm": "dpo"}, ())],
)
def test_on_the_same_gpus_or_without_versions_nothing_travels(rl, without):
    found = lines(**rl, without=without)
    assert not {*SYNC} & {*found}


def test_what_is_kept_and_written_is_in_the_capacity_and_the_wear():
    def of(**rl):
        found = lines(**rl)
        return found["R-CAP-01"].computed, found["R-END-01"].computed

    held, worn = of()
    more = of(keep=4)
    assert more[0] - held == pytest.approx(2 * FULL, rel=1e-6)
    assert of(trace="none")[0] < held
    assert of(every=2)[1] < worn


@settings(max_examples=2)
@given(hosts=some.integers(1, 24), more=some.floats(1.0, 2.0), every=some.integers(1, 8), delta=some.booleans())
def test_more_hosts_bytes_and_versions_ask_for_no_less(hosts, more, every, delta):
    job = {"rollout_hosts": hosts, "every": 2 * every}
    job |= {"publish": "delta", "changed_share": 0.02} if delta else {}
    base = lines(**job, without=("pull_within",))
    changes = [{"rollout_hosts": round(hosts * more)}, {"every": every}, {"precision": "fp32", "encoding": "index-value"}]
    changes += [{"changed_share": 0.02 * more}] if delta else []
    for change in changes:
        found = lines(**{**job, **change}, without=("pull_within",))
        for name in SYNC:
            assert found[name].value >= base[name].value * (1 - 1e-9), (name, change)


def test_the_test_writes_new_files_once_and_all_clients_read_them(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(ingest.plan(SITE).to_dict()))
    ingest.accept(plan, tmp_path / "tests")
    script = Path(tmp_path, "tests", "fio", "fill-data-shared.sh").read_text()
    assert 'head -n 1 "$HOSTS"' in script, "one client writes"
    job = Path(tmp_path, "tests", "fio", "T-SYNC-02-fio.fio").read_text()
    assert "rw=read\n" in job
    assert "filename=data-shared.0:" in job
    assert 'client="$HOSTS"' in Path(tmp_path, "tests", "fio", "T-SYNC-02-fio.sh").read_text()


@pytest.mark.parametrize(("job", "rl", "without", "words"), table("site/refused.yaml")["what_contradicts_itself_is_refused"])
def test_what_contradicts_itself_is_refused(job, rl, without, words):
    with pytest.raises(IngestError, match=words):
        lines(job, without, **rl)
