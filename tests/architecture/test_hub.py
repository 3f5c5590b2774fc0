"""Models of the hub: read from a stub of it on loopback, kept by its library, answered offline again; bad hubs are refused."""

import functools
import json
import os
import sys

import pytest
from conftest import finished
from hub import hub

pytest.importorskip("huggingface_hub")

CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
    "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
}  # fmt: skip
GOOD = {"config.json": json.dumps(CONFIG).encode()}
#: name -> what the hub has there, and what is said of it
BAD = {
    "gated": ("gated", "cannot be listed"),
    "missing": (None, "cannot be listed"),
    "broken": ("broken", "cannot be listed"),
    "empty": ({}, "nothing is there"),
    "deep": ({"config.json": b"[" * 100_000}, "config.json: no whole JSON"),
    "list": ({"config.json": b"[1]"}, "config.json: found [1], expected"),
    "huge": (GOOD, "config.json: larger than 16,000,000 bytes"),
    "binary": ({"config.json": b"\xff\xfe\x00\x1b[31m"}, "config.json: no whole JSON"),
    "negative": ({"config.json": json.dumps({**CONFIG, "hidden_size": -1}).encode()}, "hidden_size"),
    "letters": (GOOD, "cannot be listed"),
    "colours": ({"config.json": json.dumps({"model_type": "\x1b[31mred"}).encode()}, "red' is not described"),
}
REPOSITORIES = {
    "lab/good": GOOD, "lab/moved": "moved lab/good", "lab/climbs": GOOD,
    "lab/swells": {"config.json": GOOD["config.json"] + b" " * 17_000_000},
    **{f"lab/{name}": there for name, (there, _) in BAD.items()},
}  # fmt: skip
SIZES = {
    ("lab/huge", "config.json"): 5_000_000_000, ("lab/letters", "config.json"): "many", ("lab/swells", "config.json"): 500,
    ("lab/climbs", "ETag"): '"../../../../outside"',
}  # fmt: skip
ASK = """
import json, sys
import ingest
from ingest.errors import IngestError
answers = {}
for name in sys.argv[1:]:
    try:
        answers[name] = ingest.model(name).results["parameters"].value
    except IngestError as error:
        answers[name] = str(error)
print(json.dumps(answers))
"""


def answers(folder, address, *names):
    """Sizes of models by their names, asked in another process whose home and cache are folders of the test."""
    environment = {
        "HF_ENDPOINT": address, "HF_HOME": str(folder / "cache"), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1",
        "HOME": str(folder / "home"), "HF_HUB_DOWNLOAD_TIMEOUT": "5",
    }  # fmt: skip
    (folder / "work").mkdir(exist_ok=True)
    return json.loads(finished(sys.executable, "-c", ASK, *names, cwd=folder / "work", **environment).stdout)


@pytest.fixture
def ask(tmp_path):
    return functools.partial(answers, tmp_path)


def test_a_model_of_the_hub_is_read_kept_and_answered_offline(ask, tmp_path):
    with hub(REPOSITORIES, SIZES) as (address, requests):
        found = ask(address, "hf://lab/good", "hf://lab/moved")
        assert found["hf://lab/good"] == found["hf://lab/moved"] > 0
        assert all(one.split()[0] in ("GET", "HEAD", "POST") for one in requests)
        kept = {*tmp_path.rglob("*")}
        # Names of the hub's choice that climb out of the cache, and a file larger than it was listed, are read and not kept.
        assert {*ask(address, "hf://lab/climbs", "hf://lab/swells").values()} == {found["hf://lab/good"]}
        assert {*tmp_path.rglob("*")} == kept
    # The hub is gone; what its library kept answers.
    assert ask(address, "hf://lab/good") == {"hf://lab/good": found["hf://lab/good"]}
    refused = ask(address, "hf://lab/other")["hf://lab/other"]
    assert "'hf://lab/other/' cannot be listed" in refused
    assert refused.endswith("give its config.json")
    # Nothing is written outside the cache of the library.
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {"cache"}
    assert os.listdir(tmp_path / "work") == []


@pytest.mark.parametrize(("name", "why"), [(name, why) for name, (_, why) in BAD.items()])
def test_a_hub_that_misbehaves_is_refused_in_one_line(refusals, name, why):
    refused = refusals[f"hf://lab/{name}"]
    assert isinstance(refused, str)
    assert why in refused
    assert refused.isprintable()
    assert len(refused) <= 300


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """What is said of every repository, asked in one process."""
    with hub(REPOSITORIES, SIZES) as (address, _):
        return answers(tmp_path_factory.mktemp("hub"), address, *(f"hf://{name}" for name in REPOSITORIES))


def test_no_network_is_touched_unless_a_name_of_the_hub_is_given(ask):
    with hub(REPOSITORIES) as (address, requests):
        ask(address, "llama2-7b", "no-such-model", "lab/good.json", "hf")
        assert requests == []
