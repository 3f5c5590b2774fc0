"""Calls in one process answer as a fresh process does, whatever was asked before, in any thread, and after a file changed."""

import json
import os
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from catalog.test_catalog_store import OWN_GPU

import ingest
from ingest.catalog import store, yaml_reader
from ingest.catalog.store import Catalog, opened
from ingest.errors import UsageError

MODELS = ("cosmoflow", "resnet50", "unet3d", "llama3-8b", "bert")
GPUS = ("h100", "a100", "v100-sxm2", "H200", "mi300x")
CONFIG = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 36,
          "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000}  # fmt: skip


def drawn(chance):
    """A call of one of the commands, as its name and its options."""
    machine = {"gpu": chance.choice(GPUS), "nodes": chance.choice((1, 4, 64))}
    return chance.choice(
        [
            ("bw", {"model": chance.choice(MODELS), **machine}),
            ("checkpoint", {"model": chance.choice(("llama3-8b", "llama3-70b")), **machine}),
            ("train", {"model": chance.choice(("llama3-8b", "llama3-70b")), "tokens": "1T", **machine}),
            ("offload", {"model": chance.choice(("llama3-8b", "llama3-70b")), **machine}),
        ]
    )


def answer(name, options):
    try:
        return getattr(ingest, name)(**options).to_dict()
    except ingest.IngestError as error:
        return str(error)


def test_drawn_calls_in_threads_equal_those_with_a_catalog_of_their_own():
    calls = [drawn(random.Random(number)) for number in range(20)]
    expected = [answer(name, {**options, "catalogs": Catalog()}) for name, options in calls]
    assert sum(isinstance(one, dict) for one in expected) > 12
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda call: answer(*call), calls * 2)) == expected * 2


def peak(folder, gpu="own"):
    return opened([folder]).get(store.KINDS["gpus"], gpu).name


def test_a_file_that_changed_between_two_calls_is_seen(write_entry):
    folder = write_entry("gpus", "own", OWN_GPU.format(name="First", peak=1))
    assert peak(folder) == peak(folder) == "First"
    hashes = set()
    for name in ("Other", "Third", "Other"):  # of one length, in one step of the clock
        write_entry("gpus", "own", OWN_GPU.format(name=name, peak=1))
        assert peak(folder) == name
        # the hash in JSON follows the same edit
        hashes.add(Catalog([folder]).content_hash())
    assert len(hashes) == 2
    write_entry("gpus", "h100-sxm", OWN_GPU.format(name="Nearer", peak=1))
    assert peak(folder, "h100") == "Nearer"
    (folder / "gpus" / "h100-sxm.yaml").unlink()
    assert peak(folder, "h100") != "Nearer"
    (folder / "aliases.yaml").write_text("gpus: {mine: own}\n", encoding="utf-8")
    assert peak(folder, "mine") == "Other"
    (folder / "gpus" / "own.yaml").unlink()
    with pytest.raises(UsageError):
        peak(folder)


def test_calls_between_drawn_edits_answer_as_a_new_catalog(tmp_path, monkeypatch):
    monkeypatch.setattr(yaml_reader, "STEP_NS", 0)
    chance, shipped = random.Random(5), Catalog().folders[-1]
    # What each answer rests on beside the entries that it names: rates, and the GPUs that they were measured on.
    calls = [("bw", {"model": model, "gpu": "mi300x", "nodes": 4}) for model in ("llama3-70b", "unet3d", "resnet50")]
    calls += [("offload", {"model": "llama3-8b", "gpu": "h100"}), ("checkpoint", {"model": "llama3-8b", "gpu": "h100"})]
    places = [f"models/{model}.{end}" for model in ("llama3-70b", "unet3d", "resnet50") for end in ("yaml", "csv")]
    places += [f"gpus/{name}.yaml" for name in ("h100-sxm", "a100-80-sxm", "v100-sxm2", "h200-sxm", "b200", "gaudi2", "mi325x")]
    places += ["families/llm.yaml", "architectures/llama3-8b.yaml", "storage/nfs-tcp.yaml"]
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    calls.append(("checkpoint", {"model": str(tmp_path / "config.json")}))
    for place in places:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes((shipped / place).read_bytes())

    def results(name, options):
        try:
            return getattr(ingest, name)(**options).results
        except ingest.IngestError as error:
            return str(error)

    def answers(catalogs):
        own = opened(catalogs)
        return [own.content_hash(), *(results(name, {**options, "catalogs": catalogs}) for name, options in calls)]

    def edit(path, text):
        was = path.stat()
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))  # as `cp -p` keeps it; the size stays too
        time.sleep(0.02)  # longer than the step of the clock

    known, changed = answers([tmp_path]), 0
    digits = r"(?<=value: )[1-9]|(?<=bf16,)[1-9]|(?<=fp8,)[1-9]|(?<=layers: )[1-9]|(?<=layers\": )[1-9]"
    for place in chance.sample([*places, "config.json"], len(places) + 1):
        text = (tmp_path / place).read_text(encoding="utf-8")
        digit = chance.choice([*re.finditer(digits, text)])
        edit(tmp_path / place, f"{text[: digit.start()]}{(int(digit[0]) + 4) % 9 + 1}{text[digit.end() :]}")
        found = answers([tmp_path])
        assert found == answers(Catalog([tmp_path])), place
        assert (found[0] == known[0]) == (place == "config.json")
        changed += found[1:] != known[1:]
        edit(tmp_path / place, text)
    assert changed > 5


def test_a_file_of_one_call_is_not_that_of_the_next(tmp_path, monkeypatch):
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        text = f"sources: {{lab: {{title: Laboratory {place}}}}}\n{OWN_GPU.format(name=place, peak=1)}"
        (tmp_path / place / "own.yaml").write_text(text, encoding="utf-8")
    for place in "aba":
        monkeypatch.chdir(tmp_path / place)
        catalog = opened(())
        assert catalog.get(store.KINDS["gpus"], "own.yaml").name == place
        assert catalog.source("lab").title == f"Laboratory {place}"
        with pytest.raises(KeyError):
            opened(()).source("lab")


def test_the_sources_of_an_entry_of_ones_own_are_known_to_each_call(write_entry):
    folder = write_entry("gpus", "own", "sources: {lab: {title: Laboratory}}\n" + OWN_GPU.format(name="Own", peak=1))
    for _ in range(3):
        catalog = opened([folder])
        assert (catalog.get(store.KINDS["gpus"], "own").name, catalog.source("lab").title) == ("Own", "Laboratory")


def test_nothing_is_read_twice(monkeypatch):
    ingest.bw("unet3d", "h100", nodes=2)
    read = []
    monkeypatch.setattr(store, "read_yaml", read.append)
    monkeypatch.setattr(store, "read_rates", lambda path, _: read.append(path))
    assert ingest.bw("unet3d", "h100", nodes=2).results
    assert read == []
