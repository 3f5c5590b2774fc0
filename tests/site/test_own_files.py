"""A site file names files of its own folder: what it names elsewhere, by whatever path, is neither read nor shown."""

import os
import random

import pytest
import yaml
from conftest import seeds

import ingest
from ingest.configuration import shipped_folder
from ingest.errors import IngestError

SECRET = "TOPSECRET"
#: keys of a site file that take the name of a file, by their path
NAMED = (
    "clusters.c.node", "jobs.j.model", "jobs.j.gpu", "jobs.j.protocol", "jobs.j.checkpoint.failures", "jobs.j.checkpoint.model",
    "jobs.j.checkpoint.optimizer", "datasets.d.measured", "datasets.d.corpus", "datasets.d.format", "datasets.d.model",
    "datasets.d.preparation.measured", "datasets.d.preparation.pipeline", "serving.s.model", "serving.s.hit", "storage.client",
    "storage.protection", "jobs.j.offload.recipe", "jobs.j.offload.model",
)  # fmt: skip
CONTENTS = (
    *(SECRET, f"{SECRET}: x\n", f"name: [{SECRET}]\n", f"- {SECRET}\n"),
    *(f'{{"model_type": "{SECRET}"}}', f'{{"schema": "{SECRET}"}}'),
)
WAYS = ("absolute", "relative", "link", "linked folder", "hidden", "rates", "proc", "fifo", "folder", "home")
SUFFIXES = ("", ".yaml", ".json", ".jsonl", ".csv")


def site_with(path, value):
    site = {
        "format": 2, "name": "x", "clusters": {"c": {"node": "dgx-h100", "count": 4}},
        "jobs": {"j": {"cluster": "c", "nodes": 1, "data": "d", "model": "resnet50"}}, "datasets": {"d": {"bytes": "1 TB"}},
    }  # fmt: skip
    *above, last = path.split(".")
    if above[0] == "serving":
        site["serving"] = {"s": {"cluster": "c", "nodes": 1, "model": "llama3-8b", "users": 10}}
    if last in ("measured", "corpus"):
        site["datasets"]["d"].pop("bytes")
    table = site
    for key in above:
        table = table.setdefault(key, {})
    table[last] = value
    return site


@pytest.fixture
def house(tmp_path):
    """A folder for site files, and one beside it that holds what they must not show."""
    (tmp_path / "own" / ".git").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"{SECRET}.safetensors").write_bytes(b"\xff" * 16)
    return tmp_path


def hostile(house, generator):
    """A path out of the folder of the site file, and the content behind it."""
    own, out = house / "own", house / "out"
    suffix, number = generator.choice(SUFFIXES), generator.randrange(10**9)
    foreign = out / f"{number}{suffix}"
    foreign.write_text(generator.choice(CONTENTS), encoding="utf-8")
    link, hidden = own / f"{number}{suffix}", own / ".git" / f"{number}{suffix}"
    way = generator.choice(WAYS)
    if way == "absolute":
        return str(foreign)
    if way == "relative":
        return f"{generator.choice(('', './', 'x/../'))}../{out.name}/{foreign.name}"
    if way == "link":
        link.symlink_to(foreign)
        return generator.choice(("", "./")) + link.name
    if way == "linked folder":
        (own / f"up{number}").symlink_to(out)
        return f"up{number}/{foreign.name}"
    if way == "hidden":
        hidden.write_bytes(foreign.read_bytes())
        return f".git/{hidden.name}"
    if way == "rates":  # a model of its own whose rates lie elsewhere
        (own / f"m{number}.yaml").write_text("name: m\nsample: one image\nfamily: vision\n", encoding="utf-8")
        (own / f"m{number}.csv").symlink_to(foreign)
        return f"./m{number}.yaml"
    if way == "fifo":
        os.mkfifo(link)
        return f"./{link.name}"
    if way == "folder":
        return f"../{out.name}"
    return {"proc": generator.choice(("/proc/self/environ", "/proc/self/cmdline", "/dev/zero")), "home": "~/.ssh/id_rsa"}[way]


@pytest.mark.parametrize("seed", seeds(1, 10))
def test_nothing_foreign_is_read_or_shown(house, monkeypatch, seed):
    monkeypatch.setenv("TOKEN", SECRET)
    generator = random.Random(seed)
    (house / "own" / "up").symlink_to(house / "out")
    names = [("jobs.j.offload.model", folder) for folder in ("../out", "./up")]  # whose file's name is a secret
    for number, (path, value) in enumerate(names + [(generator.choice(NAMED), hostile(house, generator)) for _ in range(20)]):
        file = house / "own" / f"site{number}.yaml"
        file.write_text(yaml.safe_dump(site_with(path, value)), encoding="utf-8")
        try:
            shown = str(ingest.plan(file, samples=0).to_dict())
        except IngestError as error:
            shown = str(error)
        assert SECRET not in shown, (path, value, shown)


@pytest.fixture
def shared(house):
    """A node of the site's own, beside the folder of the site file, which names it."""
    node = (shipped_folder() / "nodes" / "dgx-h100.yaml").read_text(encoding="utf-8")
    (house / "own-node.yaml").write_text(node, encoding="utf-8")
    file = house / "own" / "site.yaml"
    file.write_text(yaml.safe_dump(site_with("clusters.c.node", "../own-node.yaml")), encoding="utf-8")
    return file


def test_a_wider_root_lets_a_site_name_more(shared, house):
    with pytest.raises(IngestError, match=r"outside of the folder of the site file .*--root"):
        ingest.plan(shared, samples=0)
    assert ingest.plan(shared, samples=0, root=house).requirements
    assert ingest.fit(shared, storage="vast-ceres", root=house).systems
    with pytest.raises(IngestError, match=r"outside of the folder of the site file .*--root"):
        ingest.accept(shared, house / "tests")
    assert ingest.accept(shared, house / "tests", root=house).tests
    (house / "own" / "node.yaml").write_bytes((house / "own-node.yaml").read_bytes())
    shared.write_text(yaml.safe_dump(site_with("clusters.c.node", "./node.yaml")), encoding="utf-8")
    assert ingest.plan(shared, samples=0).requirements  # wherever the command runs
    with pytest.raises(IngestError, match="--root: found 'nowhere', expected a folder"):
        ingest.plan(shared, samples=0, root="nowhere")
