"""Broken site files: one line that names file, line, key and expectation."""

import datetime
from pathlib import Path

import jsonschema
import pytest
from conftest import SITES

import ingest
from ingest.catalog.yaml_reader import read_yaml
from ingest.errors import IngestError, UsageError
from ingest.site.schema import inlined, keeps
from ingest.site.site_file import SITE_FILE

BROKEN = Path(__file__).parents[1] / "broken" / "site"

#: file -> line, and what the message must say
FILES = {
    "unknown-key": (1, "unknown key 'clutsers'", "did you mean 'clusters'?"),
    "unknown-key-of-a-job": (8, "jobs.vision.epoch", "unknown key 'epoch'", "did you mean 'epochs'?"),
    "unknown-key-of-a-policy": (9, "jobs.vision.checkpoint.intervall", "did you mean 'interval'?"),
    "retention-that-is-no-number": (8, "jobs.vision.checkpoint: keep: found 'x', expected a finite number"),
    "missing-cluster": (4, "jobs.vision: 'cluster' is missing", "A name under `clusters`"),
    "no-jobs": (1, "'jobs' is missing"),
    "unknown-cluster": (5, "jobs.vision.cluster", "unknown name 'mian' under clusters", "did you mean 'main'?"),
    "unknown-node-type": (2, "clusters.main.node", "dgx-h1000", "did you mean 'dgx-h100'?"),
    "unknown-model": (6, "jobs.vision.model", "unknown model 'resnet5'", "nearest resnet50;"),
    "missing-data-set": (8, "jobs.vision.data", "unknown name 'imagenet' under datasets", "expected one of images"),
    "more-nodes-than-exist": (7, "jobs.vision.nodes", "found 64, expected at most the 32 nodes of main"),
    "overlapping-allocations": (8, "vision, more together take 150 % of main", "expected at most 100 %"),
    "cyclic-data-sets": (6, "datasets.b.made_from: cyclic: b is made from a is made from b"),
    "negative-retention": (8, "datasets.images.retention", "retention: found -1 day", "from 0"),
    "retention-without-refresh": (8, "expected `refresh` with it"),
    "dates-reversed": (9, "datasets.images.until", "found 2027-01-01, before `from` (2029-01-01)"),
    "dates-without-start": (8, "expected `start`"),
    "no-date": (8, "datasets.images.from", "found 'soon', expected a year or a date"),
    "two-sizes": (7, "found bytes and model, expected one of bytes, samples"),
    "no-size": (7, "found no size, expected one of bytes, samples"),
    "half-a-size": (8, "datasets.images.samples", "expected `sample_bytes` with it"),
    "bytes-where-time-belongs": (8, "jobs.vision.checkpoint.interval", "'5 GB' is in B, expected s"),
    "range-reversed": (8, "datasets.images.bytes", "found low 3e+12, typical 2e+12", "expected them in this order"),
    "range-without-typical": (8, "'typical' is missing"),
    "half-a-node": (7, "jobs.vision.nodes", "found 1.5, expected a whole number"),
    "share-above-one": (8, "jobs.vision.share", "found 1.2", "up to 1"),
    "text-where-a-table-belongs": (4, "jobs.vision: found 'resnet50', expected keys and values"),
    "misspelt-mode": (9, "jobs.vision.checkpoint.mode: found 'asynk'", "did you mean 'async'?"),
    "stage-without-time": (8, "mode stage needs a time, expected `within`"),
    "hit-of-a-stream": (8, "applies to mode cache only, found mode stream"),
    "tokens-without-length": (8, "found with resnet50, whose samples have no tokens"),
    "published-growth-of-vision": (2, "published factors apply to recommenders", "expected factors of your own"),
    "unknown-protection": (8, "storage.protection", "unknown storage 'prot-ec-8-33'", "did you mean"),
    "no-protection": (8, "is not a protection scheme"),
    "half-a-scheme": (8, "found data, expected `replicas`, or `data` and `parity`"),
    "all-units-failed": (8, "storage.failed", "found 4, expected fewer than `units`"),
    "no-assertion": (8, "expect.0", "found 'fast enough', expected NAME <= VALUE"),
    "unknown-quantity": (8, "unknown quantity 'read_bandwith'", "did you mean 'read_bandwidth'?"),
    "assertion-in-bytes": (8, "'2 TB' is in B, expected B/s"),
    "interval-too-wasteful": (8, "jobs.vision.checkpoint", "no progress: checkpoints and restarts would take"),
    "duplicate-key": (6, "duplicate key 'cluster'"),
    "a-list": (1, "expected keys and values"),
    "anchors": (1, "anchors and aliases are not allowed"),
    "tag": (3, "expected plain values"),
    "bad-name": (4, "found '../etc', expected a name of at most 63 ASCII letters (a to z, A to Z), digits, - and _"),
    "overlap-without-checkpoints": (8, "overlap.checkpoints", "no job has checkpoints"),
    "measure-missing": (8, "cannot be read: No such file"),
    "tokens-and-epochs": (9, "the length is already given by `tokens`"),
    "nothing-to-read": (4, "the read rate is missing"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_is_refused_in_one_line(name, monkeypatch):
    monkeypatch.chdir(BROKEN)
    path = f"{name}.yaml"
    line, *words = FILES[name]
    with pytest.raises(IngestError) as refusal:
        ingest.plan(path, samples=0)
    message = str(refusal.value)
    assert "\n" not in message
    if line is not None:
        assert message.startswith(f"{path}:{line}: "), message
    for word in words:
        assert word in message, message


def test_broken_files_are_all_named():
    # Every broken file is named.
    assert {path.stem for path in BROKEN.glob("*.yaml")} == set(FILES)
    # A file that is not there.
    with pytest.raises(IngestError, match=r"nowhere\.yaml: cannot be read: No such file .*expected a site file"):
        ingest.plan("nowhere.yaml")


JOB = {"cluster": "main", "model": "resnet50", "nodes": 2}
SITE = {"clusters": {"main": {"node": "dgx-h100", "count": 8}}, "jobs": {"a": JOB}}


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("clusters.main.cuont=9", "--set clusters.main.cuont: unknown key 'cuont' under clusters.main"),
        ("clusters.main.count.more=9", "unknown key 'more'"),
        ("clusters", "expected PATH=VALUE"),
        ("jobs.a.nodes=64", "--set jobs.a.nodes: found 64, expected at most the 8 nodes"),
        ("jobs.a.nodes=two", "--set jobs.a.nodes: found 'two'"),
        ("jobs.b.nodes=1", "--set jobs.b.nodes: unknown name 'b' under jobs, expected one of a"),
        ("clusters.mian.count=9", "unknown name 'mian' under clusters, expected one of main; did you mean 'main'?"),
        ("jobs.a.share={low: 1", "--set jobs.a.share: found '{low: 1', expected a range"),
        ("jobs.a.share={low: 20%, high: 30%}", "--set jobs.a.share: 'typical' is missing"),
        ("jobs.a.growth.bandwidth=1e300", "--set jobs.a.growth.bandwidth: found 1e300, expected"),
        ("name=a\x00b", "--set name: found 'a\\x00b', expected text without control characters"),
        ("years=99", "--set years: found 99, expected a number up to 30"),
        ("jobs.a.nodes=1..1000000", "scenarios, expected at most 1,000"),
    ],
)
def test_a_setting_that_cannot_be(setting, words):
    with pytest.raises(IngestError) as refusal:
        ingest.plan(SITE, set=[setting], samples=0)
    assert words in str(refusal.value)


def test_settings_and_names_that_are_wrong():
    # A range may be set.
    settings = ["jobs.a.share={low: 20%, typical: 50%, high: 70%}", "jobs.a.runs=1"]
    found = ingest.plan(SITE, set=settings, samples=2000).requirement("R-READ-01")
    whole = ingest.plan(SITE, samples=0).computed["R-READ-01"]
    assert found.computed == whole / 2
    assert found.low < whole / 2 < found.high
    # A path twice.
    with pytest.raises(UsageError, match="given more than once"):
        ingest.plan(SITE, set=["jobs.a.nodes=1", "jobs.a.nodes=2"])
    # An unknown requirement names the nearest.
    with pytest.raises(UsageError, match="did you mean 'R-READ-01'"):
        ingest.plan(SITE, samples=0).explain("R-REED-01")


HOSTILE = (None, True, False, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", "0", "-3", "30 s", "30 min", "nfs",
           "\x00", "a" * 3000, [], ["a"], {}, {"typical": 1}, {"low": 2, "typical": 1}, {1: 2}, {"unheard": 1},
           datetime.date(2027, 1, 1))  # fmt: skip


def _places(node, keys=()):
    yield keys
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from _places(inner, (*keys, key))


def _with(node, keys, value):
    return value if not keys else {**node, keys[0]: _with(node[keys[0]], keys[1:], value)}


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_what_the_quick_check_of_a_site_takes_the_schema_takes(path):
    written = read_yaml(path, kind=SITE_FILE)
    judge = jsonschema.Draft202012Validator(inlined())
    assert keeps(written, inlined())
    assert judge.is_valid(written)
    taken = 0
    for number, keys in enumerate(_places(written)):
        for value in (HOSTILE[number % len(HOSTILE)], HOSTILE[(7 * number + 3) % len(HOSTILE)]):
            changed = _with(written, keys, value)
            if keeps(changed, inlined()):
                taken += 1
                assert judge.is_valid(changed), (keys, value)
    assert taken
