"""An observed job as a test of storage: what fio then does is what was observed."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ingest.acceptance.observed_job import LISTED_SHARE, observed_job, request_shares
from ingest.errors import IngestError, UsageError
from ingest.observation.observation import MOST_NUMBER, Figure, Observation, SizeBin

HERE = Path(__file__).parent


def trace(path, sizes, per_second, seconds=6, readers=2):
    """A trace of readers that read files with requests of these sizes in turn."""
    period = 1e6 * readers / per_second
    lines = [{"name": "FH", "ph": 4, "args": {"name": f"/data/{one}", "value": f"f{one}"}} for one in range(readers)]
    for number in range(int(seconds * per_second)):
        args = {"fhash": f"f{number % readers}", "offset": number % 7 * 4096}
        event = {"name": "pread64", "ts": round(1e6 + number // readers * period), "dur": 50, "ph": 1}
        lines.append(event | {"args": args | {"ret": sizes[number // readers % len(sizes)]}})
    lines.append({"name": "end", "cat": "dftracer", "ts": round(1e6 * (seconds + 2)), "dur": 0, "ph": 1, "args": {}})
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


SIZES = [65_536] * 6 + [16_384] * 3 + [131_072]


@pytest.fixture
def observed(tmp_path, run):
    made = trace(tmp_path / "t.pfw", SIZES, per_second=100)
    words = ("--path", "/data", "--real", "20 sample/s", "--synthetic", "20 sample/s", "--gpus", 2)
    ran = run("observe", made, *words, "-o", tmp_path / "job.json")
    assert ran.code == 0, ran.err
    return tmp_path / "job.json"


def test_the_files_carry_sizes_pattern_readers_and_rate(observed, tmp_path, run):
    ran = run("accept", "--from-observation", observed, "--times", 3, "-o", tmp_path / "tests", "--format", "json")
    assert ran.code == 0, ran.err
    rate = 100 * sum(SIZES) / len(SIZES)
    assert ran.data["results"]["demanded_read_bandwidth"]["value"] == pytest.approx(3 * rate, rel=0.01)
    text = (tmp_path / "tests" / "observed.fio").read_text()
    assert "bssplit=16384/30:65536/60:131072/10" in text
    assert ("rw=randread" in text, "numjobs=3" in text) == (True, True)
    assert (tmp_path / "tests" / "dlio" / "workload" / "observed.yaml").is_file()
    assert run("accept", "-o", tmp_path / "x").code == 2


@pytest.mark.slow
def test_fio_reads_as_the_job_did(observed, tmp_path):
    """Rate within 5 %, and the histogram of sizes within 5 % of the requests."""
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    observed_job(observed, tmp_path / "tests")
    text = (tmp_path / "tests" / "observed.fio").read_text()
    text = text.replace("runtime=60", "runtime=4").replace("ramp_time=5\n", "write_iolog=reads\n")
    (tmp_path / "short.fio").write_text(text)
    (tmp_path / "target").mkdir()
    words = ["fio", "short.fio", "--output-format=json", "--output=out.json"]
    subprocess.run(
        words, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "TARGET": str(tmp_path / "target")}, check=True, timeout=60
    )
    rate = json.loads((tmp_path / "out.json").read_text())["jobs"][0]["read"]["bw_bytes"]
    wanted_rate = 100 * sum(SIZES) / len(SIZES)
    assert rate == pytest.approx(wanted_rate, rel=0.05)
    fields = [line.split() for log in tmp_path.rglob("reads*") for line in log.read_text().splitlines()]
    done = Counter(int(one[-1]) for one in fields if "read" in one)
    wanted = Counter(SIZES)
    distance = sum(abs(done[size] / done.total() - wanted[size] / wanted.total()) for size in {*done, *wanted}) / 2
    print(f"rate {rate / wanted_rate - 1:+.2%}, distance of the histograms {distance:.2%}")
    assert distance <= 0.05


@pytest.mark.parametrize(("pattern", "files", "each"), [("random", 16, 3), ("sequential", 48, 1)])
def test_a_reader_at_random_holds_all_its_files_open(observed, tmp_path, pattern, files, each):
    """With a limit, fio would read a few files alone: fewer files have as many bytes."""
    data = json.loads(observed.read_text())
    data["facts"] |= {"pattern": pattern, "files": 48 * 64, "gpus": "eight"}
    (tmp_path / "many.json").write_text(json.dumps(data))
    observed_job(tmp_path / "many.json", tmp_path / "tests")
    text = (tmp_path / "tests" / "observed.fio").read_text()
    assert f"nrfiles={files}\nfilesize={each * 64 * 131072}\n" in text
    assert ("openfiles=1\n" in text) == (pattern == "sequential")
    assert any("mpirun -n 1 dlio" in one.read_text() for one in (tmp_path / "tests").rglob("*") if one.is_file())


def seen(common, sizes=()):
    return Observation("", {}, {"reads": Figure(100, "1", "x")}, {}, (), sizes, {"common_read_sizes": common})


def test_sizes_that_are_listed_stand_for_all_from_a_share_on():
    bins = (SizeBin(4096, 16_384, 50), SizeBin(65_536, 262_144, 50))
    for missing, expected in ((0, {4096: 100}), (1, {8192: 50, 131_072: 50})):
        listed = {"4096": round(100 * LISTED_SHARE) - missing}
        assert request_shares(seen(listed, bins)) == expected


def test_percents_sum_to_a_hundred():
    shares = request_shares(seen({str(4096 * size): 100 / 7 for size in range(1, 8)}))
    assert sum(shares.values()) == 100
    assert {*shares.values()} == {14, 15}


def test_an_observation_without_reads_is_refused(tmp_path, run):
    run("observe", HERE / "logs" / "megatron.log", "-o", tmp_path / "job.json")
    with pytest.raises(IngestError, match="no read bandwidth"):
        observed_job(tmp_path / "job.json", tmp_path / "tests")


def test_force_replaces_what_an_earlier_call_wrote(observed, tmp_path):
    observed_job(observed, tmp_path / "tests")
    with pytest.raises(UsageError, match="--force"):
        observed_job(observed, tmp_path / "tests")
    observed_job(observed, tmp_path / "tests", times=2, force=True)
    assert "2 times the observed job" in (tmp_path / "tests" / "README.md").read_text()
    (tmp_path / "tests" / "SHA256SUMS").unlink()
    with pytest.raises(UsageError, match="no SHA256SUMS"):
        observed_job(observed, tmp_path / "tests", force=True)


def test_a_number_that_no_job_has_is_refused(observed, tmp_path):
    data = json.loads(observed.read_text())
    for name, factor in (("much", 0.999), ("more", 1)):
        data["results"]["opens"] |= {"value": MOST_NUMBER * factor, "low": None, "high": None}
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    observed_job(tmp_path / "much.json", tmp_path / "much")
    with pytest.raises(IngestError, match=r"expected a number from 0 to 1e\+30"):
        observed_job(tmp_path / "more.json", tmp_path / "more")
