"""Many scenarios at once agree with asking one by one."""

import csv
import json

import numpy
import pytest
from conftest import table

import ingest
from ingest.errors import UsageError

JOB = {"model": "cosmoflow", "gpu": "h100"}


def test_a_sweep_agrees_with_asking_one_by_one():
    frame = ingest.sweep(axes={"nodes": "1..64*4", "sample_bytes": "1MB,16MiB"}, **JOB).to_frame()
    assert len(frame) == 8
    for row in frame.to_dict("records"):
        one = ingest.bw(**JOB, nodes=int(row["nodes"]), sample_bytes=row["sample_bytes"])
        for name in ("samples_per_second_per_gpu", "ingest_bandwidth_per_job", "epoch_seconds", "gpus"):
            assert row[name] == pytest.approx(one.results[name].value)


@pytest.mark.parametrize("scaling", ["weak", "strong"])
def test_scaling_is_that_of_each_size(scaling):
    frame = ingest.sweep(axes={"nodes": [1, 8, 128, 1024]}, scaling=scaling, **JOB).to_frame()
    single = [
        ingest.bw(**JOB, nodes=nodes, scaling=scaling).results["samples_per_second_per_gpu"].value
        for nodes in (1, 8, 128, 1024)
    ]
    assert frame["samples_per_second_per_gpu"].tolist() == pytest.approx(single)


def test_axes_are_options_results_and_arrays():
    frame = ingest.sweep(axes=["nodes=1,2"], model="cosmoflow,unet3d", gpu=["h100", "a100"]).to_frame()
    assert list(zip(frame["model"], frame["gpu"], frame["nodes"], strict=True)) == [
        (model, gpu, nodes) for model in ("cosmoflow", "unet3d") for gpu in ("h100-sxm", "a100-80-sxm") for nodes in (1, 2)
    ]
    frame = ingest.sweep(axes={"nodes": [1, 2], "sample_bytes": [10, 20]}, **JOB).to_frame()
    assert list(zip(frame["nodes"], frame["sample_bytes"], strict=True)) == [(1, 10), (1, 20), (2, 10), (2, 20)]
    frame = ingest.sweep(axes={"samples_per_second_per_gpu": [100, 200]}, **JOB).to_frame()
    assert frame["ingest_bandwidth_per_gpu"].tolist() == [100 * 2_828_486, 200 * 2_828_486]
    frame = ingest.sweep(axes=["nodes=1,2"], utilization=0.5, set={"cache_hit_fraction": 0.5}, **JOB).to_frame()
    one = ingest.bw(**JOB, utilization=0.5, cache_hit=0.5)
    assert set(frame["ingest_bandwidth_per_gpu"]) == {one.results["ingest_bandwidth_per_gpu"].value}
    sizes = numpy.linspace(1e6, 2e6, 1000)
    frame = ingest.sweep(axes={"sample_bytes": sizes, "nodes": numpy.arange(1, 101)}, **JOB).to_frame()
    assert len(frame) == 100_000
    expected = 285.7142857 * sizes.sum() * 8 * numpy.arange(1, 101).sum()
    assert frame["ingest_bandwidth_per_job"].sum() == pytest.approx(expected, rel=1e-9)
    frame = ingest.sweep(axes=["nodes=1,2"], model="rgat-igbh", gpu="h100").to_frame()
    assert "samples_per_second_per_gpu" in frame
    assert "ingest_bandwidth_per_job" not in frame


@pytest.mark.parametrize(("axes", "message"), table("sizing/refused.yaml")["a_bad_axis_is_refused"])
def test_a_bad_axis_is_refused(axes, message):
    with pytest.raises(UsageError, match=message):
        ingest.sweep(axes=axes, **JOB)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_hold_what_the_frame_holds(run, tmp_path, suffix):
    import pandas

    ran = run("sweep", "nodes=1,2", "--model", "cosmoflow", "--gpu", "h100", "-o", f"sweep.{suffix}")
    assert (ran.code, ran.out) == (0, "")
    path = tmp_path / f"sweep.{suffix}"
    frame = pandas.read_csv(path) if suffix == "csv" else pandas.read_parquet(path)
    expected = ingest.sweep(axes=["nodes=1,2"], **JOB).to_frame()
    assert frame["ingest_bandwidth_per_job"].tolist() == expected["ingest_bandwidth_per_job"].tolist()
    assert frame["gpu"].tolist() == ["h100-sxm", "h100-sxm"]


@pytest.mark.parametrize("model", ["dlrm-dcnv2", "cosmoflow", pytest.param("resnet50", marks=pytest.mark.slow)])
def test_a_sweep_over_nodes_takes_the_rate_at_each_size(model):
    sizes = [1, 8, 16, 32]
    few, many = (ingest.sweep(model=model, gpu="h100", axes={"nodes": nodes}).to_frame() for nodes in (sizes, "1..1000"))
    alone = [ingest.bw(model=model, gpu="h100", nodes=nodes).results for nodes in sizes]
    for name in ("ingest_bandwidth_per_job", "mandatory_read_bandwidth"):
        asked = [results[name].value for results in alone]
        assert few[name].tolist() == pytest.approx(asked)
        assert [many.set_index("nodes")[name][nodes] for nodes in sizes] == pytest.approx(asked, rel=1e-3)


def test_a_range_of_gpus_fills_nodes():
    sizes = [4, 8, 64, 1024]
    frame = ingest.sweep(model="resnet50", gpu="h100", axes={"gpus": sizes}).to_frame()
    alone = [ingest.bw(model="resnet50", gpu="h100", gpus=gpus).results for gpus in sizes]
    for name in ("ingest_bandwidth_per_node", "ingest_bandwidth_per_job", "mandatory_read_bandwidth"):
        assert frame[name].tolist() == pytest.approx([results[name].value for results in alone])


def test_a_result_that_one_model_lacks_is_an_empty_cell(run, tmp_path):
    """A token rate of CosmoFlow does not exist: null in JSON, empty in CSV and on the sheet."""
    words = ["sweep", "nodes=1,2", "--model", "cosmoflow,llama3-70b", "--gpu", "h100"]
    columns = json.loads(run(*words, "--format", "json").out)["columns"]
    name = "tokens_per_second_per_gpu"
    assert columns[name][:2] == [None, None]
    assert columns[name][2:] == columns["samples_per_second_per_gpu"][2:]
    rows = list(csv.DictReader(run(*words, "--format", "csv").out.splitlines()))
    assert [float(row[name]) if row[name] else None for row in rows] == columns[name]
    assert run(*words, "-o", str(tmp_path / "a.xlsx")).code == 0


def test_a_sweep_without_a_read_bandwidth_fails_as_bw_does(run):
    asked = ["--samples-per-second", "300"]
    one, many = run("bw", "--nodes", "1", *asked), run("sweep", "nodes=1,2", *asked)
    assert one.code == many.code == 1
    assert one.err.splitlines()[-1] == many.err.splitlines()[-1]
    assert ingest.sweep(["nodes=1,2"], samples_per_second=300, sample_bytes="1 MB", gpus_per_node=8).incomplete is None
