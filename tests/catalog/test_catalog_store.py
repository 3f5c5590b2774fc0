"""Finding entries: overlays, aliases, files; and only what is asked for is read."""

import os
import subprocess
import sys

import pytest
from conftest import clean_environment

from ingest.catalog import store
from ingest.catalog.records import KINDS, Gpu, Model, Node
from ingest.catalog.store import Catalog
from ingest.errors import CatalogError, UsageError
from ingest.sizing.bandwidth import estimate
from ingest.sizing.job import job_of

OWN_GPU = (
    "name: {name}\nvendor: NVIDIA\n"
    "peak_flops:\n  bf16: {{value: {peak}, unit: TFLOP/s, source: torchtitan, grade: published}}\n"
)


@pytest.fixture
def files_read(monkeypatch):
    """The names of the YAML files that the store reads, in order."""
    seen = []
    original = store.read_yaml

    def traced(path):
        seen.append(f"{path.parent.name}/{path.name}")
        return original(path)

    monkeypatch.setattr(store, "read_yaml", traced)
    return seen


def test_one_entry_is_one_file_read(files_read):
    Catalog().get(Gpu, "b200")
    assert [name for name in files_read if name.split("/")[0] in KINDS] == ["gpus/b200.yaml"]
    assert len(files_read) <= 3


def test_an_entry_is_read_once(files_read):
    catalog = Catalog()
    assert catalog.get(Gpu, "b200") is catalog.get(Gpu, "b200")
    assert files_read.count("gpus/b200.yaml") == 1


def test_listing_ids_reads_no_entry(files_read):
    assert "h100-sxm" in Catalog().ids("gpus")
    assert files_read == []


def test_the_main_job_reads_no_other_model(files_read):
    estimate(job_of(model="cosmoflow", gpu="h100", nodes=128), Catalog())
    assert [name for name in files_read if name.startswith("models/")] == ["models/cosmoflow.yaml"]


def test_a_later_overlay_wins_over_an_earlier_one_and_over_the_shipped(write_entry):
    first = write_entry("gpus", "h100-sxm", OWN_GPU.format(name="First", peak=1), "first")
    second = write_entry("gpus", "h100-sxm", OWN_GPU.format(name="Second", peak=2), "second")
    assert Catalog([first]).get(Gpu, "h100").name == "First"
    assert Catalog([first, second]).get(Gpu, "h100").name == "Second"
    assert Catalog([second, first]).get(Gpu, "h100").name == "First"


def test_an_overlay_lies_above_the_environment_and_that_above_the_users_folder(write_entry, monkeypatch, tmp_path):
    overlay = write_entry("gpus", "mine", OWN_GPU.format(name="Overlay", peak=1), "overlay")
    early = write_entry("gpus", "mine", OWN_GPU.format(name="Early", peak=1), "early")
    late = write_entry("gpus", "mine", OWN_GPU.format(name="Late", peak=1), "late")
    write_entry("gpus", "mine", OWN_GPU.format(name="User", peak=1), "config/ingest/catalogs")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert Catalog().get(Gpu, "mine").name == "User"
    monkeypatch.setenv("INGEST_CATALOGS", f"{early}{os.pathsep}{late}")
    assert Catalog().get(Gpu, "mine").name == "Late"
    assert Catalog([overlay]).get(Gpu, "mine").name == "Overlay"


def test_the_current_folder_is_no_catalog(write_entry, monkeypatch):
    folder = write_entry("gpus", "mine", OWN_GPU.format(name="Mine", peak=1))
    monkeypatch.chdir(folder)
    with pytest.raises(UsageError, match="unknown gpu 'mine'"):
        Catalog().get(Gpu, "mine")


def test_an_overlay_may_bring_sources_and_aliases(tmp_path):
    (tmp_path / "gpus").mkdir()
    (tmp_path / "sources.yaml").write_text("lab: {title: Our laboratory}\n", encoding="utf-8")
    (tmp_path / "aliases.yaml").write_text("gpus:\n  Ours: our-gpu\n", encoding="utf-8")
    text = OWN_GPU.format(name="Ours", peak=1).replace("torchtitan", "lab")
    (tmp_path / "gpus" / "our-gpu.yaml").write_text(text, encoding="utf-8")
    catalog = Catalog([tmp_path])
    assert catalog.get(Gpu, "ours").peak_flops["bf16"].source == "lab"
    assert catalog.source("lab").title == "Our laboratory"
    assert catalog.get(Gpu, "h100").id == "h100-sxm"


def test_an_overlay_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"--catalogs: .*nowhere.* is not a folder"):
        Catalog([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("kind", "alias", "found"),
    [
        (Gpu, "h100", "h100-sxm"), (Gpu, "H100", "h100-sxm"), (Gpu, "a100", "a100-80-sxm"), (Gpu, "v100", "v100-sxm2"),
        (Gpu, "b200", "b200"), (Gpu, "mi300x", "mi300x"), (Node, "dgx-h100", "dgx-h100"), (Model, "ResNet-50", "resnet50"),
    ],
)  # fmt: skip
def test_everyday_names_are_found(shipped, kind, alias, found):
    assert shipped.get(kind, alias).id == found


@pytest.mark.parametrize(("kind", "name", "said"), [
    (Gpu, "h100-smx", "'h100-sxm'"), (Model, "cosmflow", "'cosmoflow'"), (Node, "dgx-h10", "'dgx-h100'"),
    (Model, "opt-30", "nearest opt-30b,"), (Gpu, "zzzzzz", "; `ingest catalog list gpus` lists them"),
])  # fmt: skip
def test_an_unknown_id_names_the_nearest_or_where_to_look(shipped, kind, name, said):
    with pytest.raises(UsageError, match=f"'{name}'.*{said}"):
        shipped.get(kind, name)


def test_the_hash_follows_the_content(write_entry, tmp_path):
    folder = write_entry("gpus", "mine", OWN_GPU.format(name="Mine", peak=1))
    before = Catalog([folder]).content_hash()
    assert before == Catalog([folder]).content_hash()
    assert before.startswith("sha256:")
    assert len(before) == len("sha256:") + 64
    write_entry("gpus", "mine", OWN_GPU.format(name="Mine", peak=2))
    assert Catalog([folder]).content_hash() != before
    assert before != Catalog().content_hash()
    (tmp_path / "mine" / "gpus" / "notes.txt").write_text("no catalog file", encoding="utf-8")
    write_entry("gpus", "mine", OWN_GPU.format(name="Mine", peak=1))
    assert Catalog([folder]).content_hash() == before


def test_the_hash_does_not_depend_on_what_has_been_imported():
    code = """
import pkgutil, importlib, ingest
from ingest.catalog.store import Catalog
before = Catalog().content_hash()
for module in pkgutil.walk_packages(ingest.__path__, "ingest."):
    if module.name != "ingest.__main__":
        importlib.import_module(module.name)
print(before == Catalog().content_hash())
"""
    done = subprocess.run([sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_file_that_is_no_regular_one_is_named_and_not_waited_for(tmp_path):
    (tmp_path / "gpus").mkdir()
    os.mkfifo(tmp_path / "gpus/pipe.yaml")
    (tmp_path / "gpus/zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "gpus/gone.yaml").symlink_to(tmp_path / "nowhere")
    catalog = Catalog(tmp_path)
    for name, why in (("pipe", "not a regular file"), ("zero", "not a regular file"), ("gone", "No such file or directory")):
        with pytest.raises(CatalogError, match=f"gpus/{name}.yaml: cannot be read: {why}, expected a catalog entry"):
            catalog.get(Gpu, name)
    with pytest.raises(UsageError, match=r"^gpus: '.*/pipe.yaml' is not a regular file, expected an id or a YAML file$"):
        catalog.get(Gpu, str(tmp_path / "gpus/pipe.yaml"))
    assert catalog.content_hash() == Catalog().content_hash()
    os.mkfifo(tmp_path / "sources.yaml")
    with pytest.raises(CatalogError, match=r"sources.yaml: cannot be read: not a regular file"):
        Catalog(tmp_path).source("torchtitan")
