"""Entries of users with drawn faults: a line for each fault, the same by `check` and by commands, and never a traceback."""

import copy
import random

import pytest
import yaml

import ingest
from ingest import catalog
from ingest.configuration import shipped_folder
from ingest.errors import IngestError

JUNK = (None, "x", "", -1, 0, True, [], {}, [1], {"a": 1}, "5 GB", "../../x", "nan")
UNITS = ("GB", "s", "1", "", None, "furlong", "B/s", "W")
#: what reads an entry of a kind
READERS = {
    "models": lambda name, own: ingest.bw(name, "h100", catalogs=own),
    "gpus": lambda name, own: ingest.bw("resnet50", name, catalogs=own),
    "nodes": lambda name, own: ingest.bw("resnet50", "h100", node=name, catalogs=own),
    "storage": lambda name, own: ingest.fit(storage=name, read_bandwidth="1 GB/s", catalogs=own),
    "scaling": lambda name, own: ingest.bw("resnet50", "h100", nodes=512, scaling=name, catalogs=own),
    "optimizers": lambda name, own: ingest.checkpoint("llama3-8b", gpus=8, optimizer=name, catalogs=own),
    "failures": lambda name, own: ingest.checkpoint("llama3-8b", gpus=8, failures=name, catalogs=own),
    "corpora": lambda name, own: ingest.dataset(corpus=name, catalogs=own),
    "formats": lambda name, own: ingest.dataset(tokens="1e9", bytes_per_token=4, format=name, catalogs=own),
    "decoders": lambda name, own: ingest.feed("resnet50", "h100", decoder=name, catalogs=own),
}


def places(data, above=()):
    for key, value in data.items() if isinstance(data, dict) else ():
        yield (*above, key)
        yield from places(value, (*above, key))


def faulty(entry, generator):
    """An entry with a key dropped, added or renamed, or with another value or unit."""
    entry = copy.deepcopy(entry)
    *above, last = generator.choice([place for place in places(entry) if len(place) <= generator.choice((1, 2, 3))])
    table = entry
    for key in above:
        table = table[key]
    fault = generator.choice(("drop", "drop", "junk", "add", "rename", "unit"))
    if fault == "junk":
        table[last] = generator.choice(JUNK)
    elif fault == "add":
        table["zzz"] = generator.choice(JUNK)
    elif fault == "unit" and isinstance(table[last], dict):
        table[last]["unit"] = generator.choice(UNITS)
    else:
        value = table.pop(last)
        if fault == "rename":
            table[generator.choice(("up-to-x", "h100", "a b"))] = value
    return entry


@pytest.mark.parametrize("kind", READERS)
def test_a_faulty_entry_is_refused_in_lines_and_ends_no_command(kind, tmp_path):
    generator, shipped = random.Random(kind), sorted((shipped_folder() / kind).glob("*.yaml"))
    for number in range(50 if kind in ("decoders", "scaling") else 5):
        source = generator.choice(shipped)
        (folder := tmp_path / str(number) / kind).mkdir(parents=True)
        entry = faulty(yaml.safe_load(source.read_text(encoding="utf-8")), generator)
        (folder / source.name).write_text(yaml.safe_dump(entry), encoding="utf-8")
        problems = catalog.check(folder.parent).problems
        told = refusal_of(kind, source.stem, folder.parent)
        own = [line for line in told if line.startswith(str(folder))]
        assert [place_of(line) for line in own] == [place_of(line) for line in problems if own and line.startswith(str(folder))]
        assert problems or not own


def refusal_of(kind, name, folder):
    """The lines in which a command refuses an entry; none where it answers."""
    try:
        READERS[kind](name, [folder])
    except IngestError as error:
        return str(error).split("\n")
    return []


def place_of(line):
    """File and line: a command shortens a long list of keys."""
    return ":".join(line.split(":")[:2])


def test_all_faults_of_an_entry_are_named_at_once(tmp_path):
    (tmp_path / "decoders").mkdir()
    entry = yaml.safe_load((shipped_folder() / "decoders" / "pillow.yaml").read_text(encoding="utf-8"))
    del entry["loader_workers"]["neoverse-n1"], entry["thread_rates"]["neoverse-v2"]
    (tmp_path / "decoders" / "pillow.yaml").write_text(yaml.safe_dump(entry), encoding="utf-8")
    lines = [line.partition(": ")[2] for line in catalog.check(tmp_path).problems]
    assert lines == [
        "thread_rates: 'neoverse-v2' is missing, which 'loader_rates' has",
        "loader_workers: 'neoverse-n1' is missing, which 'thread_rates' has",
        "thread_rates: 'neoverse-v2' is missing, which 'loader_workers' has",
    ]
