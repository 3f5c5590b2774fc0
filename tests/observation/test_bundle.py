"""Bundles: numbers without places and people, whatever the observation held; `catalog add` takes them."""

import json
import random
from pathlib import Path

import pytest
from conftest import table

import ingest
from ingest.observation.observation import NUMBERS, Figure, Observation, Window, bundle_of

LOGS = Path(__file__).with_name("logs")
SIZE = Figure(4096.0, "B/sample", "processes").to_dict()
#: what nobody gives away, inside other letters
SECRETS = ("/home/alice", "gpu-node-017", "alice", "train.py --secret", "10.1.2.3")


def check(seen):
    text = json.dumps(bundle_of(seen))
    assert not [secret for secret in SECRETS if secret in text]
    assert json.loads(text)["results"].keys() == seen.figures.keys()


def drawn(draw):
    """An observation whose every text, key and list may hold a secret."""

    def word():
        return draw.choice(("", "a", "\u202e")) + draw.choice(SECRETS) + draw.choice(("", "/x", "\n"))

    def thing(depth=2):
        kind = draw.randrange(5 if depth else 3)
        simple = (draw.random() * 1e9, word(), draw.choice(("random", "Megatron", True, None, -1)))
        return (*simple, [thing(0)] if kind == 3 else None, {word(): thing(0), "262144": thing(0)} if kind == 4 else None)[kind]

    names = draw.sample(["bytes_read", "read_bandwidth", "window_seconds", "coverage"], 2)
    keys = draw.sample(
        [*NUMBERS, "files", "logs", "traces", "pattern", "program", "common_read_sizes", word(), "path", "exe"], 6
    )
    found = {name: Figure(draw.random(), "B", word(), Window(1, 2, 3, word()), 0.5, note=word()) for name in names}
    return Observation(word(), {word(): word()}, found, {"opens": word()}, (word(),), (), {key: thing() for key in keys})


def test_ten_thousand_bundles_hold_no_place_and_no_person():
    draw = random.Random(22)
    for _ in range(10_000):
        check(drawn(draw))


def test_the_property_can_fail():
    seen = Observation("t", {}, {"bytes_read": Figure(1, "B", "alice")}, {}, ())
    assert "alice" in json.dumps(seen.to_dict())


@pytest.fixture
def job(tmp_path, run):
    path = tmp_path / "job.json"
    run("observe", LOGS / "megatron.log", "--synthetic", "228 sample/s", "-o", path)
    data = json.loads(path.read_text())
    data["results"]["bytes_read_per_sample"] = SIZE
    path.write_text(json.dumps(data))
    return path


def bundled(run, job, name="b.json", licence="CC0-1.0", source="lab cluster, 2026"):
    words = ("--model", "llama2-7b", "--gpu", "h100", "--nodes", 2)
    return run("calibrate", job, *words, "--bundle", job.with_name(name), "--licence", licence, "--source", source)


def test_a_bundle_joins_the_catalogs_and_is_taken_out_again(job, run, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    asked = {"model": "llama2-7b", "gpu": "h100", "nodes": 2}
    before, bundle = ingest.bw(**asked).to_dict(), job.with_name("b.json")
    assert bundled(run, job).code == 0
    text = bundle.read_text()
    assert "megatron.log" not in text
    assert run("catalog", "add", bundle).code == 0
    seen = json.loads(text)["results"]["demanded_samples_per_second_per_gpu"]["value"]
    assert ingest.bw(**asked, protocol="own").results["samples_per_second_per_gpu"].value == pytest.approx(seen)
    assert "own" in json.dumps(ingest.bw(**asked).to_dict()["rungs"][0])
    assert "  own-" in (tmp_path / "settings/ingest/catalogs/models/llama2-7b.yaml").read_text()
    # Another one stays when this one goes; the folder is then as it was before.
    other = job.with_name("c.json")
    bundled(run, job, "c.json", source="another lab")
    mine = {path: path.read_bytes() for path in (tmp_path / "settings").rglob("*.*")}
    assert run("catalog", "add", other).code == run("catalog", "remove", other).code == 0
    assert {path: path.read_bytes() for path in (tmp_path / "settings").rglob("*.*")} == mine
    assert run("catalog", "remove", bundle).code == 0
    assert [*(tmp_path / "settings").rglob("*.*")] == []
    assert ingest.bw(**asked).to_dict() == before
    assert run("catalog", "remove", bundle).code == 1


@pytest.mark.parametrize(("place", "change", "words"), table("observation/hostile_bundles.yaml"))
def test_a_hostile_bundle_is_refused_in_one_line(place, change, words, job, run, tmp_path):
    bundled(run, job)
    data = json.loads(job.with_name("b.json").read_text())
    (data[place] if place else data).update(change)
    job.with_name("b.json").write_text(json.dumps(data))
    ran = run("catalog", "add", job.with_name("b.json"), "-o", tmp_path / "own")
    assert ran.code in (1, 2)
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize(
    "words", [(), ("--licence", "CC0-1.0"), ("--licence", "CC0-1.0", "--source", "run of alice at 10.1.2.3")]
)
def test_no_bundle_is_written_without_licence_and_source(words, job, run):
    ran = run("calibrate", job, "--model", "llama2-7b", "--gpu", "h100", "--bundle", job.with_name("b.json"), *words)
    assert (ran.code, job.with_name("b.json").exists()) == (2, False)


def test_an_observation_is_shown_and_bundled_again(tmp_path, run):
    run("observe", LOGS / "metrics.csv", "--gpus", 4, "-o", tmp_path / "job.json")
    shown = run("observe", tmp_path / "job.json")
    assert "samples per second per GPU" in shown.out
    bundle = run("observe", tmp_path / "job.json", "--bundle")
    assert bundle.data["bundle"] is True
    assert run("observe", tmp_path / "job.json", "--bundle", "--format", "csv").code == 2
