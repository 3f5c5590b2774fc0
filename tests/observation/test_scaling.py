"""Several observations of one job: the exponent and the hand-over that they were made from, or a refusal."""

import pytest

import ingest
from ingest.errors import IngestError, UsageError
from ingest.observation.calibration import scaling_of
from ingest.observation.observation import Figure, Observation


def seen(gpus, rate, batch=None, stall=None):
    figures = {"demanded_samples_per_second_per_gpu": Figure(rate, "sample/s/GPU", "log")}
    if batch is not None:
        figures["samples_per_step"] = Figure(batch, "sample/GPU", "log")
    if stall is not None:
        figures["stall_fraction"] = Figure(stall, "1", "log")
    return f"{gpus}-{batch}.json", Observation("", {}, figures, {}, (), (), {"gpus": gpus})


def at_sizes(exponent, off=(0, 0.01, -0.01, 0)):
    """Observations on 8, 16, 32 and 64 GPUs whose rates lie off the line by these shares."""
    return [seen(gpus, 100 * gpus ** (exponent - 1) * (1 + one)) for gpus, one in zip((8, 16, 32, 64), off, strict=True)]


def at_batches(wait, stall_of_sample=0.0, off=(0, 0, 0)):
    """Observations at three batches of a job that waits so long for each step."""
    made = []
    for batch, one in zip((4, 8, 16), off, strict=True):
        step, waited = batch / 400, wait * (1 + one) + stall_of_sample * batch
        made.append(seen(8, 400, batch, waited / (step + waited)))
    return made


def test_the_exponent_and_its_interval():
    found = scaling_of(at_sizes(0.93)).results["scaling_exponent"]
    assert found.low < 0.93 < found.high
    assert found.value == pytest.approx(0.93, abs=0.01)
    assert found.high - found.low == pytest.approx(0.0527, abs=0.001)
    assert scaling_of(at_sizes(1.01)).results["scaling_exponent"].high == 1


def test_the_hand_over_and_its_interval():
    found = scaling_of(at_batches(3e-4, 5e-5, off=(0, 0.02, 0)))
    assert found.results["handover_seconds"].value == pytest.approx(3e-4, rel=0.03)
    assert found.results["handover_seconds"].low < 3e-4 < found.results["handover_seconds"].high
    assert "all have 8 GPUs" in found.unknown["scaling_exponent"]


@pytest.mark.parametrize(
    ("observations", "expected"),
    [
        (at_sizes(0.9)[:1] * 3, "all have 8 GPUs"),
        (at_sizes(0.9)[:2], "leave no interval"),
        ([seen(8, 100, 4), seen(16, 95, 8), seen(32, 90, 8)], "expected one batch"),
        (at_batches(3e-4, off=(0, -1.5, 0)), "within the spread of the observations, at most"),
        ([seen(8, 100)] * 2 + [("x.json", Observation("", {}, {}, {}, ()))], "x.json: no rate per GPU"),
        *[([*at_sizes(0.9), seen(gpus, 90)], f"{gpus}-None.json: .*no number of GPUs") for gpus in (0, True, "8", 8.0)],
    ],
)
def test_observations_that_determine_nothing(observations, expected):
    with pytest.raises(IngestError, match=expected):
        scaling_of(observations)


def test_one_of_another_job_and_rates_beyond_the_gpus():
    """Just within and just beyond: three on a line, and a fourth off it."""
    assert "scaling_exponent" in scaling_of(at_sizes(0.9, off=(0, 0, 0.14, 0))).results
    with pytest.raises(IngestError, match=r"32-None.json.* off the line of the others"):
        scaling_of(at_sizes(0.9, off=(0, 0, 0.16, 0)))
    scaling_of(at_sizes(1.049, off=(0, 0, 0, 0)))
    with pytest.raises(IngestError, match="faster than the GPUs"):
        scaling_of(at_sizes(1.051, off=(0, 0, 0, 0)))


def test_jobs_that_wait_for_reads_show_no_hand_over():
    for most, fine in ((0.1 - 1e-6, True), (0.1 + 1e-6, False)):
        wait = 0.004 * most / (1 - most)
        made = [seen(8, 1000, 4, most), *(seen(8, 1000, batch, wait / (batch / 1000 + wait)) for batch in (8, 16))]
        if fine:
            assert scaling_of(made).results["handover_seconds"].value == pytest.approx(wait)
        else:
            with pytest.raises(IngestError, match="stalls up to 10%"):
                scaling_of(made)


def test_calibrate_takes_several(tmp_path, run):
    places = []
    for gpus, rate in ((8, 800), (16, 1500), (32, 2850)):
        places.append(tmp_path / f"{gpus}.json")
        run("observe", "--real", f"{rate}", "--synthetic", f"{rate}", "--gpus", gpus, "-o", places[-1])
    ran = run("calibrate", *places, "--model", "unet3d", "--gpu", "h100", "-o", tmp_path / "own", "--format", "json")
    assert ran.code == 0, ran.err
    assert ran.data["results"]["scaling_exponent"]["value"] == pytest.approx(0.916, abs=0.001)
    assert "typed" in ran.err
    assert (tmp_path / "own" / "models" / "unet3d.csv").read_text().count(",own,") == 3
    page = run("calibrate", *places, "--model", "unet3d", "--gpu", "h100")
    assert "All observations together" in page.out
    with pytest.raises(UsageError, match="given twice"):
        ingest.calibrate(places[0], places[0], model="unet3d", gpu="h100")
    with pytest.raises(UsageError, match="--nodes"):
        ingest.calibrate(*places, model="unet3d", gpu="h100", nodes=1)
