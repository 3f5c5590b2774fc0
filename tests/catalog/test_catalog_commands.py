"""`ingest catalog`: list, show, check, path, new."""

import os

import pytest
from conftest import table

from ingest import bw, catalog
from ingest.catalog.commands import CatalogEntry, _entry
from ingest.catalog.records import KINDS, Structure
from ingest.catalog.store import Catalog, shipped_folder
from ingest.errors import UsageError


@pytest.mark.parametrize(
    "word", ["gpu", "gpus", "GPU", "models", "family", "families", "storage", "corpus", "failure", "architecture"]
)
def test_singular_and_plural_are_the_same_kind(word):
    assert catalog.list(word).entries


def test_kinds_are_listed_and_named_by_the_help(run):
    assert {entry.kind for entry in catalog.list().entries} == {*KINDS, "architectures"}
    for words in (("catalog",), ("catalog", "list")):
        told = " ".join(run(*words, "--help").out.split())
        assert [kind for kind in (*KINDS, "architectures") if kind not in told] == []


def test_architectures_are_listed_and_shown(run):
    assert "mixtral-8x22b" in catalog.list("architecture").results
    shown = run("catalog", "show", "architectures", "mixtral-8x7b", "--format", "json").data
    assert shown["model_type"] == "mixtral"
    assert "num_local_experts 8" in shown["hyper_parameters"]
    assert shown["values"]["parameters"]["value"] > shown["values"]["parameters_active"]["value"] > 1e9
    only = set(catalog.list("architectures").results) - set(catalog.list("models").results)
    assert catalog.show(min(only)).entry.kind == "architectures"


def test_a_misspelt_word_gets_the_nearest():
    with pytest.raises(UsageError, match=r"nearest mixtral-8x7b.*; or "):
        catalog.show("mixtrl-8x7", kind="architectures")
    with pytest.raises(UsageError, match=r"unknown kind 'gpuz'.*did you mean 'gpus'"):
        catalog.list("gpuz")


def test_a_listing_says_what_is_missing(run):
    listed = run("catalog", "list", "models", "--format", "json").data["entries"]
    assert len(listed) == len(catalog.list("models").entries)
    assert any(entry["missing"] for entry in listed)


def test_an_entry_shows_value_unit_source_and_grade(run):
    shown = run("catalog", "show", "cosmoflow", "--format", "json").data
    assert shown["values"]["encodings.tfrecord-gzip.stored"] == {
        "value": 2828486,
        "unit": "B/sample",
        "source": "mlperf-storage-v2",
        "grade": "published",
        "where": "configs/dlio/workload/cosmoflow_h100.yaml, record_length_bytes",
        "low": None,
        "high": None,
        "note": shown["values"]["encodings.tfrecord-gzip.stored"]["note"],
    }
    assert {"gpu": "h100-sxm", "protocol": "mlperf-storage"}.items() <= next(
        rate for rate in shown["rates"] if rate["gpu"] == "h100-sxm"
    ).items()


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
@pytest.mark.parametrize("words", [("list",), ("show", "h100"), ("show", "gpus", "h100"), ("show", "resnet50")])
def test_list_and_show_have_all_formats(run, words, form):
    ran = run("catalog", *words, "--format", form)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) > 5


def test_an_unknown_entry_names_the_nearest(run):
    ran = run("catalog", "show", "cosmflow")
    assert ran.code == 2
    assert "did you mean 'cosmoflow'?" in ran.refusal


def test_path_prints_the_nearest_folder_first(run, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    assert run("catalog", "path", "--catalogs", mine).out.splitlines() == [str(mine), str(shipped_folder())]


def test_check_of_the_shipped_catalogs_is_quiet(run):
    ran = run("catalog", "check")
    assert (ran.code, ran.err) == (0, "")
    assert "files, no problem\n" in ran.out
    assert ran.out.splitlines()[-1].split()[0] == "all"


@pytest.mark.parametrize(("kind", "question"), table("catalog/cases.yaml")["a_template_loads_as_it_stands_and_answers"])
def test_a_template_loads_as_it_stands_and_answers(run, tmp_path, monkeypatch, kind, question):
    ran = run("catalog", "new", kind, "mine")
    assert (ran.code, ran.out) == (0, "")
    assert "mine.yaml" in ran.err
    monkeypatch.chdir(tmp_path)
    answer = bw(nodes=2, **question)
    assert answer.incomplete is None
    assert answer.results["ingest_bandwidth_per_job"].value > 0


@pytest.mark.parametrize("kind", ["models", "gpus", "nodes"])
def test_a_folder_of_templates_passes_the_check(run, tmp_path, kind):
    (tmp_path / "own" / kind).mkdir(parents=True)
    assert run("catalog", "new", kind, "mine", "-o", tmp_path / "own" / kind / "mine.yaml").code == 0
    ran = run("catalog", "check", tmp_path / "own")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "1 files, no problem")


def test_a_template_explains_every_value_it_asks_for(run, tmp_path):
    run("catalog", "new", "model", "mine")
    text = (tmp_path / "mine.yaml").read_text(encoding="utf-8")
    assert "No source, no load" in text
    assert "ingest bw --model mine.yaml" in text


def test_new_never_overwrites(run, tmp_path):
    (tmp_path / "mine.yaml").write_text("precious", encoding="utf-8")
    ran = run("catalog", "new", "gpu", "mine")
    assert ran.code == 2
    assert "exists already" in ran.refusal
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("name", ["My-GPU", "my_gpu", "../mine", "-mine", "mine-"])
def test_new_refuses_a_name_that_is_no_id(run, tmp_path, name):
    ran = run("catalog", "new", "gpu", "--", name)
    assert ran.code == 2
    assert "expected lower-case letters" in ran.refusal
    assert list(tmp_path.iterdir()) == []


def test_new_refuses_a_kind_without_template(run):
    assert "expected one of models, gpus, nodes" in run("catalog", "new", "storage", "mine").refusal


def test_check_leaves_out_a_folder_that_vanishes_while_it_is_listed(tmp_path, monkeypatch):
    for name in ("gone", "gpus"):
        (tmp_path / name).mkdir()
    (tmp_path / "gpus/No.yaml").write_text("name: x", encoding="utf-8")
    listed = os.scandir

    def vanishing(folder):
        if os.fspath(folder).endswith("gone"):
            os.rmdir(folder)
        return listed(folder)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert catalog.check(tmp_path).files == 1


def test_every_structure_shows_its_entry():
    """One of each family: a diffusion model has no parameters that a token uses."""
    known = Catalog()
    for name in {row.model_type: name for name, row in known.releases.rows.items()}.values():
        assert name in repr(CatalogEntry(_entry(known, Structure, name), known))
