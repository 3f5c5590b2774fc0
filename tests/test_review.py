"""What a sceptical reader found: each case once slipped through."""

import os
from pathlib import Path

import pytest

import ingest
from ingest.catalog.store import Catalog, shipped_folder
from ingest.errors import CatalogError, IngestError, UsageError
from ingest.sizing.bandwidth import Estimate
from ingest.units import parse


def answered(**options) -> Estimate:
    answer = ingest.bw(**options)
    assert isinstance(answer, Estimate)
    return answer


def rate(**options) -> float:
    return answered(**options).results["samples_per_second_per_gpu"].value


def overlay(folder: Path, name: str, text: str) -> Path:
    (folder / "models").mkdir(parents=True, exist_ok=True)
    (folder / "models" / name).write_text(text, encoding="utf-8")
    return folder


HEADER = (shipped_folder() / "models" / "resnet50.csv").read_text(encoding="utf-8").splitlines()[0]


def test_an_overlaid_model_keeps_the_measured_rates(tmp_path):
    text = (shipped_folder() / "models" / "cosmoflow.yaml").read_text(encoding="utf-8")
    mine = overlay(tmp_path, "cosmoflow.yaml", text)
    assert answered(model="cosmoflow", gpu="h100", catalogs=[mine]).basis == "emulated"


def test_a_rate_of_ones_own_joins_the_shipped_ones(tmp_path):
    row = "h100,bf16,9999,,8,1,paper,,recalled,own log,measured,,"
    mine = overlay(tmp_path, "resnet50.csv", f"{HEADER}\n{row}\n")
    found = answered(model="resnet50", gpu="h100", catalogs=[mine])
    assert found.levels[0][0].protocols["paper"] == 9999
    assert found.levels[0][0].protocols["mlperf-training"] > 6000


def test_a_broken_csv_without_a_yaml_is_found_by_check(tmp_path):
    mine = overlay(tmp_path, "resnet50.csv", f"{HEADER}\nh100,bf16,1_0,,8,1,paper,,recalled,log,measured,,\n")
    assert any("resnet50.csv:2" in line for line in ingest.catalog.check(mine).problems)


def test_evidence_is_called_what_it_is():
    # Recalled rates give way to published ones.
    protocols = answered(model="llama3-8b", gpu="h100").levels[0][0].protocols
    assert protocols
    assert "paper" not in protocols
    # A newer gpu is not estimated below the older one.
    assert rate(model="bert-large", gpu="b200") > rate(model="bert-large", gpu="h200")


@pytest.mark.parametrize("precision", ["fp8", "fp64"])
def test_sixteen_bit_utilizations_are_not_put_on_another_peak(precision):
    with pytest.raises(IngestError, match=f"no utilization of resnet50 at {precision} is known"):
        answered(model="resnet50", gpu="h100", precision=precision)


def test_what_is_set_does_not_outlive_its_basis():
    # Utilizations do not outlive the flops they came from.
    bases = [rung.basis for rung, _ in answered(model="cosmoflow", gpu="h100", flops_per_sample="494 GFLOP").levels]
    assert "efficiency" not in bases
    # A bandwidth of ones own is not called measured.
    found = answered(model="cosmoflow", gpu="h100", set={"ingest_bandwidth_per_gpu": "5 GB/s"})
    assert found.basis == "given"
    others = {rung.basis: results["ingest_bandwidth_per_gpu"].value for rung, results in found.levels[1:]}
    assert 5e9 not in others.values()


@pytest.mark.parametrize("written", ["2,83 MB", "1,5", "1,0245"])
def test_a_decimal_comma_is_no_number(written):
    with pytest.raises(UsageError, match="points before decimals alone"):
        parse(written, "B/sample", "--sample-bytes")


def test_numbers_and_bits_are_read_as_written():
    # Thousands are grouped by commas.
    assert parse("1,281,024", "sample", "x") == 1281024
    # A size in bits is a slip.
    with pytest.raises(UsageError, match="bits"):
        parse("16Mb", "B/sample", "--sample-bytes")


@pytest.mark.parametrize("text", ["a: " + "[" * 100_000, "- " * 100_000, "? " * 100_000, "a: " + "9" * 5000])
def test_deep_or_endless_yaml_is_one_line(run_process, tmp_path, text):
    path = tmp_path / "bomb.yaml"
    path.write_text(text, encoding="utf-8")
    ran = run_process("bw", "--model", path, "--gpu", "h100")
    assert ran.code == 1
    assert "omb.yaml:1" in ran.refusal


def test_a_missing_folder_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("INGEST_CATALOGS", os.path.join("no", "such", "folder"))
    with pytest.raises(UsageError, match="INGEST_CATALOGS"):
        Catalog()


@pytest.mark.parametrize(
    ("axes", "options"),
    [(["nodes=1..3", "nodes=5,6"], {}), (["nodes=1..3"], {"nodes": 9}), (["nodes=1..3"], {"set": ["nodes=9"]})],
)
def test_a_sweep_does_not_choose_between_two_answers(axes, options):
    with pytest.raises(UsageError, match="nodes"):
        ingest.sweep(model="cosmoflow", gpu="h100", axes=axes, **options)


def test_a_file_that_is_no_entry_is_not_printed_whole(tmp_path):
    path = tmp_path / "notes.yaml"
    path.write_text("lorem ipsum " * 200, encoding="utf-8")
    with pytest.raises(CatalogError) as caught:
        ingest.bw(model=str(path), gpu="h100")
    assert len(str(caught.value)) < 250


def test_format_and_suffix_may_not_disagree(run, tmp_path):
    ran = run("bw", "--model", "cosmoflow", "--gpu", "h100", "--format", "json", "-o", tmp_path / "x.csv")
    assert ran.code == 2
    assert "disagree" in ran.refusal
    assert not (tmp_path / "x.csv").exists()
