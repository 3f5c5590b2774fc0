"""Bundles: numbers without places and people, whatever the observation held; `catalog add` takes them."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.errors import IngestError
from ingest.observation.observation import NUMBERS, Figure, Observation, SizeBin, Window, bundle_of

LOGS = Path(__file__).with_name("logs")
#: what nobody gives away, inside other letters
SECRETS = ("/home/alice", "gpu-node-017", "alice", "train.py --secret", "10.1.2.3")
private = st.builds("{}{}{}".format, st.text(max_size=8), st.sampled_from(SECRETS), st.text(max_size=8))
numbers = st.floats(0, 1e15)
anything = st.recursive(
    st.one_of(private, numbers, st.booleans(), st.none()),
    lambda inner: st.lists(inner) | st.dictionaries(private, inner),
    max_leaves=5,
)
windows = st.none() | st.builds(Window, numbers, numbers, numbers, private)
figures = st.builds(
    Figure, numbers, st.just("B"), private, windows, st.none() | st.floats(0, 1), st.just("measured"), note=private
)
facts = st.dictionaries(
    st.sampled_from(["files", "gpus", "pattern", "program", "common_read_sizes", "logs"]) | private, anything, max_size=5
)
observations = st.builds(
    Observation,
    private,
    st.dictionaries(private, anything, max_size=3),
    st.dictionaries(st.sampled_from(["bytes_read", "read_bandwidth", "window_seconds"]), figures),
    st.dictionaries(st.just("opens"), private),
    st.tuples(private),
    st.lists(st.builds(SizeBin, numbers, numbers, numbers), max_size=2).map(tuple),
    facts,
)


def check(seen):
    text = json.dumps(bundle_of(seen))
    assert not [secret for secret in SECRETS if secret in text]
    assert json.loads(text)["results"].keys() == seen.figures.keys()


@given(observations)
def test_a_bundle_holds_no_place_and_no_person(seen):
    check(seen)


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


def test_a_bundle_becomes_entries(tmp_path, run):
    ran = run("observe", LOGS / "megatron.log", "--synthetic", "228 sample/s", "--bundle", "-o", tmp_path / "b.json")
    assert ran.code == 0, ran.err
    text = (tmp_path / "b.json").read_text()
    assert "megatron.log" not in text
    words = ("--model", "llama2-7b", "--gpu", "h100", "--nodes", 2, "-o", tmp_path / "own")
    ran = run("catalog", "add", tmp_path / "b.json", *words)
    assert ran.code == 0, ran.err
    again = ingest.bw(model="llama2-7b", gpu="h100", nodes=2, protocol="own", catalogs=tmp_path / "own")
    seen = json.loads(text)["results"]["demanded_samples_per_second_per_gpu"]["value"]
    assert again.results["samples_per_second_per_gpu"].value == pytest.approx(seen)
    (tmp_path / "b.json").write_text(text.replace('"unit": "sample/s/GPU"', '"unit": "furlong"'))
    with pytest.raises(IngestError, match="found unit 'furlong'"):
        ingest.calibrate(tmp_path / "b.json", model="llama2-7b", gpu="h100")


def test_an_observation_is_shown_and_bundled_again(tmp_path, run):
    run("observe", LOGS / "metrics.csv", "--gpus", 4, "-o", tmp_path / "job.json")
    shown = run("observe", tmp_path / "job.json")
    assert "samples per second per GPU" in shown.out
    bundle = run("observe", tmp_path / "job.json", "--bundle")
    assert bundle.data["bundle"] is True
    assert run("observe", tmp_path / "job.json", "--bundle", "--format", "csv").code == 2
