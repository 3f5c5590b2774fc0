"""Estimate beside observation: the entries written give the observation back; bad files are refused."""

import json
from pathlib import Path

import pytest
from conftest import EXAMPLES, table

import ingest
from ingest.errors import IngestError, UsageError
from ingest.observation.calibration import AGREES_WITHIN

LOGS = Path(__file__).with_name("logs")


def trace(path, size=2_000_000, period=0.02, reads=400):
    """A trace of a job that reads so many bytes each period, a file each."""
    lines = [{"name": "FH", "ph": 4, "args": {"name": "/data/a", "value": "f1"}}]
    for number in range(1, reads + 1):
        at, args = round(number * period * 1e6), {"fhash": "f1"}
        lines.append({"name": "open64", "ts": at - 90, "dur": 9, "ph": 1, "args": args})
        lines.append({"name": "read", "ts": at, "dur": 9, "ph": 1, "args": {"ret": size, **args}})
    lines.append({"name": "end", "cat": "dftracer", "ts": round((reads + 1) * period * 1e6), "dur": 0, "ph": 1, "args": {}})
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


@pytest.fixture
def observed(tmp_path, run):
    """A log of 204.8 samples/s on 16 GPUs, a run on synthetic data 10 % faster, and a trace of 2 MB for each read."""
    words = ("--path", "/data", "--synthetic", "228 sample/s", "-o", tmp_path / "job.json")
    ran = run("observe", LOGS / "megatron.log", trace(tmp_path / "t.pfw"), *words)
    assert ran.code == 0, ran.err
    return tmp_path / "job.json"


def test_the_entries_give_the_observation_back(observed, tmp_path):
    seen = {name: one["value"] for name, one in json.loads(observed.read_text())["results"].items()}
    answer = ingest.calibrate(observed, model="unet3d", gpu="h100", nodes=2, output=tmp_path / "own")
    again = ingest.bw(model="unet3d", gpu="h100", nodes=2, protocol="own", catalogs=tmp_path / "own")
    demanded = seen["demanded_samples_per_second_per_gpu"]
    assert seen["stall_fraction"] == pytest.approx(0.1, abs=0.005)
    assert again.results["samples_per_second_per_gpu"].value == pytest.approx(demanded, rel=1e-12)
    each = seen["bytes_read_per_sample"] * demanded
    assert again.results["ingest_bandwidth_per_gpu"].value == pytest.approx(each, rel=1e-12)
    assert again.basis == "measured"
    assert not answer.warnings
    rows = {one.quantity: one for one in answer.rows}
    rate = rows["samples_per_second_per_gpu"]
    assert rate.inside is False
    assert rate.ratio == pytest.approx(demanded / rate.estimated.value)
    assert "fewer bytes than one stored sample" in rows["bytes_read_per_sample"].why
    assert ingest.catalog.check(tmp_path / "own").problems == ()


def test_a_second_observation_joins_the_first(observed, tmp_path):
    own = tmp_path / "own"
    ingest.calibrate(observed, model="unet3d", gpu="h100", nodes=2, output=own)
    other = tmp_path / "other.json"
    other.write_text(observed.read_text().replace('"gpus": 16', '"gpus": 32'))
    for _ in range(2):
        ingest.calibrate(other, model="unet3d", gpu="h100", nodes=4, output=own)
    assert (own / "models" / "unet3d.csv").read_text().count(",own,") == 2
    assert (own / "sources.yaml").read_text().count("title:") == 2


def test_a_lower_bound_stays_one_where_its_entries_are_used(observed, tmp_path, run):
    """A job that may have waited for data is not sold as the demand: each answer that rests on it says so."""
    ran = run("observe", LOGS / "megatron.log", "-o", tmp_path / "bound.json")
    assert ran.code == 0, ran.err
    for place, found in ((tmp_path / "bound.json", ["W68"]), (observed, [])):
        own = tmp_path / place.stem
        ingest.calibrate(place, model="unet3d", gpu="h100", nodes=2, output=own)
        answer = ingest.bw(model="unet3d", gpu="h100", nodes=2, protocol="own", catalogs=own)
        assert [line.rule for line in answer.warnings if line.rule == "W68"] == found
        assert not found or "the rate of own is a lower bound" in answer.warnings[0]


def test_the_tolerance_decides(tmp_path, run):
    """And a rate that was typed is not measured."""
    rate = ingest.bw(model="cosmoflow", gpu="h100").results["samples_per_second_per_gpu"]
    for factor, code in ((1 + AGREES_WITHIN - 1e-6, 0), (1 + AGREES_WITHIN + 1e-6, 3)):
        total = rate.value * 8 * factor
        run("observe", "--real", f"{total}", "--synthetic", f"{total}", "--gpus", 8, "-o", tmp_path / "o.json")
        answer = ingest.calibrate(tmp_path / "o.json", model="cosmoflow", gpu="h100", output=tmp_path / "own")
        assert ",assumed," in answer.files["models/cosmoflow.csv"]
        ran = run("calibrate", tmp_path / "o.json", "--model", "cosmoflow", "--gpu", "h100", "--tolerance", "5%")
        assert ran.code == code, ran.err


@pytest.mark.parametrize("tolerance", ["50", "-1", "0", "100%"])
def test_a_tolerance_is_a_share(tolerance, observed):
    with pytest.raises(UsageError, match=r"^--tolerance: found .*, expected a share above 0 and below 1, such as 0.5%"):
        ingest.calibrate(observed, model="unet3d", gpu="h100", tolerance=tolerance)


@pytest.mark.slow
def test_a_plan_takes_the_observed_rate(observed, tmp_path):
    """Requirement lines change with the catalogs of one's own, and rest on the observed rate as `bw` scales it to the job."""
    ingest.calibrate(observed, model="cosmoflow", gpu="a100", nodes=2, output=tmp_path / "own")
    site = EXAMPLES / "hpc-128-nodes.yaml"
    words = [f"jobs.cosmology.protocol={name}" for name in ("own", "mlperf-hpc")]
    plans = [ingest.plan(site, catalogs=[tmp_path / "own"], set=[word]) for word in words]
    lines = [{one.id: one.value for one in plan.requirements} for plan in plans]
    assert lines[0] != lines[1]
    alone = ingest.bw(model="cosmoflow", gpu="a100", nodes=64, protocol="own", catalogs=tmp_path / "own")
    rates = [plan.to_dict()["inputs"]["cosmology: unstalled_samples_per_second_per_gpu"]["value"] for plan in plans]
    assert rates[0] == alone.results["samples_per_second_per_gpu"].value != rates[1]


BAD = table("observation/refused.yaml")["a_file_that_is_no_observation"]


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_observation(name, observed):
    change, expected = BAD[name]
    data = json.loads(observed.read_text())
    inner = data["results"]["samples_per_second_per_gpu"]
    (data if {"schema", "results"} & change.keys() else inner).update(change)
    observed.write_text(json.dumps(data))
    with pytest.raises(IngestError, match=expected):
        ingest.calibrate(observed, model="unet3d", gpu="h100")


def test_a_rate_beyond_the_peak_of_the_gpu_is_said_as_it_is_written(tmp_path):
    """205 samples/s of 8,192 tokens on 16 H100, four times their peak: no command takes the entry."""
    options = {"model": "llama3-8b", "gpu": "h100", "nodes": 2}
    job, bound = tmp_path / "job.json", tmp_path / "bound.json"
    for path, known in ((job, {"synthetic": "228 sample/s"}), (bound, {})):
        path.write_text(json.dumps(ingest.observe(LOGS / "megatron.log", **known).to_dict()))
    written = ingest.calibrate(job, **options, output=tmp_path / "own")
    (warning,) = written.warnings
    assert "no command takes them" in warning
    assert "expected at most 1.979 PFLOP/s" in warning
    assert "the stalls of the job are taken out" in written.rows[0].why
    assert not ingest.calibrate(job, **options).warnings
    assert "taken out" not in ingest.calibrate(bound, **options).rows[0].why
