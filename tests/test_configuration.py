"""The configuration file of the user: option over environment over file, display only, and one line for a broken file."""

import json
import os
import pickle
import subprocess
import sys
import threading

import pytest
from conftest import EXAMPLES, clean_environment, table

import ingest
from ingest.catalog.store import Catalog
from ingest.configuration import MOST_LETTERS, decimal_units, forget_configuration
from ingest.units import display

JOB = ("bw", "--model", "cosmoflow", "--gpu", "h100", "--nodes", "128")
OWN_GPU = "name: {name}\nvendor: V\npeak_flops:\n  bf16: {{value: 1, unit: TFLOP/s, source: torchtitan, grade: published}}\n"


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """Write a configuration file; returns its path, and three folders `file`, `environment` and `option` next to it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "ingest"
    for name in ("file", "environment", "option"):
        (folder / name / "gpus").mkdir(parents=True)
        (folder / name / "gpus" / "mine.yaml").write_text(OWN_GPU.format(name=f"of the {name}"), encoding="utf-8")

    def write(content):
        (folder / "config.yaml").write_text(content, encoding="utf-8")
        forget_configuration()
        return folder / "config.yaml"

    return write


def in_home(path):
    return {"XDG_CONFIG_HOME": str(path.parent.parent)}


def test_an_option_wins_over_the_environment_and_the_environment_over_the_file(configured, run):
    path = configured("catalogs: file\nunits: binary\n")
    home, folder = in_home(path), path.parent
    option, environment = ["--catalogs", folder / "option"], {"INGEST_CATALOGS": str(folder / "environment")}
    show = ("catalog", "show", "mine", "--format", "json")
    assert run(*show, **home).data["name"] == "of the file"
    assert run(*show, **home, **environment).data["name"] == "of the environment"
    assert run(*show, *option, **home, **environment).data["name"] == "of the option"
    assert "(808.1 MB/s)" in run(*JOB, **home).out
    assert "(770.7 MiB/s)" in run(*JOB, **home, INGEST_UNITS="decimal").out


def test_an_answer_says_which_catalogs_it_used_and_whence(configured, run):
    path = configured("catalogs: [file]\n")
    home, folder = in_home(path), path.parent
    plain = run(*JOB, "--format", "json", XDG_CONFIG_HOME=str(folder / "nowhere")).data
    told = run(*JOB, "--format", "json", "--catalogs", folder / "option", **home, INGEST_CATALOGS=f"{folder}/environment").data
    assert "catalogs" not in plain
    assert told["catalogs"] == [
        {"folder": str(folder / "option"), "from": "user"},
        {"folder": str(folder / "environment"), "from": "environment"},
        {"folder": str(folder / "file"), "from": "configuration"},
    ]
    assert told["catalog_hash"] != plain["catalog_hash"]
    assert told["results"] == plain["results"]


def test_the_settings_in_force_are_listed(configured, run):
    path = configured("catalogs: [file]\nunits: binary\ncurrency: EUR\n")
    shown = run("catalog", "path", "-v", **in_home(path), INGEST_CURRENCY="CHF").out
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert rows[0] == f"Configuration file: {path}"
    assert {"units binary configuration", "currency CHF environment", f"{path.parent / 'file'} configuration"} <= set(rows)


def test_binary_units_change_what_is_displayed_and_no_value(configured):
    answer = ingest.bw("cosmoflow", "h100", nodes=128)
    before = answer.to_dict()
    assert answer["per job"].display == "827.5 GB/s (770.7 GiB/s)"
    configured("units: binary\n")
    again = ingest.bw("cosmoflow", "h100", nodes=128).to_dict()
    assert again["results"]["ingest_bandwidth_per_job"]["display"] == "770.7 GiB/s (827.5 GB/s)"
    assert display(1023, "B") == "1,023 B (1.023 kB)"
    assert display(5e9, "FLOP") == "5 GFLOP"
    for result in (before, again):
        for one in [result, *result["rungs"]]:
            for found in one["results"].values():
                del found["display"]
        del result["warnings"], result["assumptions"]
    assert again == before


def test_the_words_of_a_tender_are_the_same_for_everyone(configured):
    before = ingest.plan(EXAMPLES / "hpc-128-nodes.yaml").to_dict()
    configured("units: binary\n")
    assert ingest.plan(EXAMPLES / "hpc-128-nodes.yaml").to_dict()["requirements"] == before["requirements"]
    with decimal_units():
        assert display(1e9, "B") == "1 GB (953.7 MiB)"
    assert display(1e9, "B") == "953.7 MiB (1 GB)"


def test_a_tender_in_another_thread_changes_no_units(configured):
    configured("units: binary\n")
    begun, done = threading.Event(), threading.Event()

    def another():
        with decimal_units():
            begun.set()
            done.wait()

    (thread := threading.Thread(target=another, daemon=True)).start()
    begun.wait()
    assert display(1e9, "B") == "953.7 MiB (1 GB)"
    with decimal_units():
        done.set()
        thread.join()
    assert display(1e9, "B") == "953.7 MiB (1 GB)"


def test_a_currency_labels_what_prices_yield(configured, run):
    path = configured("currency: EUR\n")
    job = ("train", "--set", "gpu_hours=1000")
    priced = run(*job, "--price-gpu-hour", "2.5", **in_home(path))
    assert "2,500 EUR" in priced.out
    assert "EUR" not in run(*job, "--price-gpu-hour", "2.5", XDG_CONFIG_HOME=str(path.parent)).out
    told = run(*job, "--price-gpu-hour", "2.5", "--format", "json", **in_home(path), INGEST_CURRENCY="CHF").data
    assert told["inputs"]["currency"] == {"value": "CHF", "from": "environment"}
    assert told["results"]["training_cost"]["value"] == 2500
    assert "currency" not in run(*job, "--format", "json", **in_home(path)).data["inputs"]


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        *table("refused.yaml")["a_broken_file_is_refused_with_its_line"],
        (f"currency: {'E' * (MOST_LETTERS + 1)}", "expected text of at most 12 letters, such as EUR"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(configured, run, content, refusal):
    path = configured(content)
    done = run(*JOB, **in_home(path))
    assert (done.code, done.out) == (1, "")
    assert done.refusal.startswith(f"{path}:")
    assert done.refusal.endswith(refusal)
    assert len(done.refusal) <= 300


def test_a_pipe_and_a_device_are_no_configuration_and_are_not_waited_for(configured, run):
    path = configured("")
    path.unlink()
    for put in (os.mkfifo, lambda place: place.symlink_to("/dev/zero")):
        put(path)
        done = run(*JOB, **in_home(path))
        refusal = f"{path}: cannot be read: not a regular file, expected keys and values: catalogs, units, currency"
        assert (done.code, done.refusal) == (1, refusal)
        path.unlink()


def test_what_a_file_may_hold(configured, run):
    for content in ("", "# nothing\n", f"currency: {'E' * MOST_LETTERS}\n", "catalogs: []\n"):
        assert run(*JOB, **in_home(configured(content))).code == 0


def test_a_variable_that_cannot_be_is_bad_usage(run):
    done = run(*JOB, INGEST_UNITS="dezimal")
    assert done.code == 2
    assert done.refusal == "INGEST_UNITS: found 'dezimal', expected one of decimal, binary; did you mean 'decimal'?"


def test_a_pickled_result_keeps_its_overlays(configured):
    path = configured("catalogs: [file]\n")
    catalog = Catalog()
    code = "import pickle, sys, json; print(json.dumps(pickle.load(sys.stdin.buffer).overlays_listed()))"
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(catalog), env=clean_environment(), capture_output=True, check=True
    )
    assert json.loads(done.stdout) == [{"folder": str(path.parent / "file"), "from": "configuration"}]
