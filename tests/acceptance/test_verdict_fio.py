"""fio really runs every job file on this machine, and its results are judged in both directions."""

import json
import os
import shutil
import subprocess

import pytest
from plans import line, plan, times

import ingest
from ingest.acceptance import loads
from ingest.acceptance.tools import fio
from ingest.errors import IngestError

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
TESTS = [f"T-{name}-fio" for name in ("READ-01", "READ-02", "WRITE-01", "MIX-01", "META-01", "META-02", "META-03")]


@pytest.fixture(scope="module", autouse=True)
def short_rehearsal():
    """A second on little data, without a ramp: what fio prints is the same."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"REHEARSAL_SECONDS": 1, "REHEARSAL_BYTES": 8 * 2**20, "REHEARSAL_FILES": 200}.items():
            patched.setattr(loads, name, value)
        patched.setattr(fio, "RAMP", {**fio.RAMP, "1node": 0})
        yield


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A rehearsal, run: its folder."""
    folder = tmp_path_factory.mktemp("fio")
    target = folder / "storage"
    target.mkdir()
    (target / "mine").write_text("mine")
    # Thresholds that any machine reaches, so that the tests judge the judging and not the machine.
    made = ingest.accept(plan(folder, times(1e-3)), folder / "tests", tool="fio", scale="1node")
    for test in made.tests:
        script = next(name for name in test.files if name.endswith(".sh"))
        environment = {**os.environ, "TARGET": str(target)}
        done = subprocess.run(
            ["sh", script], cwd=folder / "tests", env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in target.iterdir()] == ["mine"]
    return folder / "tests"


@pytest.fixture
def copied(ran, tmp_path):
    """A copy of the run rehearsal, to be spoilt."""
    shutil.copytree(ran, tmp_path / "tests")
    return tmp_path / "tests"


def resum(folder):
    """`SHA256SUMS` as it is for the changed list of tests."""
    import hashlib

    found = hashlib.sha256((folder / "tests.json").read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{found}  tests.json\n")


def spoil(folder, test, change):
    path = folder / "results" / f"{test}.run1.json"
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    return path


def test_every_job_file_runs_and_passes_a_low_threshold(ran):
    answer = ingest.verdict(ran, ran / "results")
    assert {one.id: one.result for one in answer.tests} == dict.fromkeys(TESTS, "pass")
    assert answer.refused == {}
    assert answer.unmet == ""
    assert answer.results["R-CAP-01"].result == "not tested"
    for one in answer.tests:
        assert one.measured == pytest.approx(one.required * (1 + one.margin))
        assert one.margin > 0


def test_the_same_results_fail_a_high_threshold(ran, tmp_path):
    ingest.accept(plan(tmp_path, times(1e9)), tmp_path / "high", tool="fio", scale="1node")
    answer = ingest.verdict(tmp_path / "high", ran / "results")
    assert {one.id: one.result for one in answer.tests} == dict.fromkeys(TESTS, "fail")
    assert all(-1 < one.margin < 0 for one in answer.tests)
    assert answer.unmet == "verdict: mandatory requirements failed: R-READ-01, R-WRITE-01, R-MIX-01"


def test_a_mixed_test_fails_with_either_part(ran, tmp_path):
    def change(found):
        times(1e-3)(found)
        line(found, "R-WRITE-01")["value"] = 1e17
        line(found, "R-MIX-01")["value"] = 1e17 + line(found, "R-READ-01")["value"]

    ingest.accept(plan(tmp_path, change), tmp_path / "one", tool="fio", scale="1node")
    answer = ingest.verdict(tmp_path / "one", ran / "results")
    assert answer.results["R-MIX-01"].result == "fail"
    assert answer.results["R-READ-01"].result == "pass"


def test_a_run_with_errors_does_not_count(copied):
    spoil(copied, "T-READ-01-fio", lambda found: found["jobs"][1].update(error=22))
    answer = ingest.verdict(copied, copied / "results")
    assert answer.results["R-READ-01"].result == "not tested"
    assert "error 22, expected none" in answer.results["R-READ-01"].why
    assert len(answer.refused) == 1


def test_an_old_fio_prints_kibibytes_alone(copied):
    path = spoil(copied, "T-READ-01-fio", lambda found: found)
    new = fio.read(path.read_text(), "x")[0].loads[0].rate
    path = spoil(copied, "T-READ-01-fio", lambda found: [job["read"].pop("bw_bytes") for job in found["jobs"]])
    assert fio.read(path.read_text(), "x")[0].loads[0].rate == pytest.approx(new, rel=1e-4)


def test_another_block_size_does_not_count(copied):
    """What ran is told by what was moved, whatever the options say."""

    def halve(found):
        for job in found["jobs"]:
            job["read"]["total_ios"] *= 2

    spoil(copied, "T-READ-01-fio", halve)
    assert "block size: found 65.54 kB" in ingest.verdict(copied, copied / "results").results["R-READ-01"].why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda found: [job["read"].update(runtime=500) for job in found["jobs"]],
            "duration: found 0.5 s, expected at least 1",
        ),
        (lambda found: found["global options"].update(direct="0"), "buffered I/O"),
        (lambda found: [job["job options"].update(size="1m") for job in found["jobs"]], "which exceeds caches"),
        (lambda found: [job["job options"].update(rw="read") for job in found["jobs"]], "pattern: found sequential"),
        (lambda found: found["jobs"].append({**found["jobs"][0]}), "threads in all: found 3, expected 2"),
        (lambda found: found["jobs"][0].update(hostname="other"), "clients: found 2, expected 1"),
        (lambda found: found["jobs"][0].update(jobname="more"), "more ran too"),
        (lambda found: [job.update(write=job["read"]) for job in found["jobs"]], "operation: found read and write"),
    ],
)
def test_a_run_that_is_not_the_job_does_not_count(copied, change, why):
    spoil(copied, "T-READ-01-fio", change)
    answer = ingest.verdict(copied, copied / "results")
    assert answer.results["R-READ-01"].result == "not tested"
    assert why in " ".join(answer.refused.values())


def test_a_worse_repeat_than_allowed_fails(copied, tmp_path):
    def change(found):
        times(1e-3)(found)

    ingest.accept(plan(tmp_path, change), tmp_path / "three", tool="fio", scale="1node", repeats=3)
    source = (copied / "results" / "T-READ-01-fio.run1.json").read_text()
    results = tmp_path / "results"
    results.mkdir()
    for run in (1, 2):
        (results / f"run{run}.json").write_text(json.dumps({**json.loads(source), "timestamp_ms": run}))
    assert ingest.verdict(tmp_path / "three", results).results["R-READ-01"].why.endswith("2 of 3 runs")
    assert ingest.verdict(tmp_path / "three", results).results["R-READ-01"].result == "not tested"
    slow = json.loads(source)
    for job in slow["jobs"]:
        job["read"]["bw_bytes"] = 1
    (results / "run3.json").write_text(json.dumps({**slow, "timestamp_ms": 3}))
    judged = ingest.verdict(tmp_path / "three", results).results["R-READ-01"]
    assert judged.result == "fail"
    assert "worst run" in judged.why


def test_a_job_file_that_was_changed_is_named(copied):
    job = copied / "fio" / "T-READ-01-fio.fio"
    job.write_text(job.read_text().replace("bs=131072", "bs=1048576"))
    with pytest.raises(IngestError, match=r"T-READ-01-fio\.fio: was changed after"):
        ingest.verdict(copied, copied / "results")


def test_results_of_another_plan_are_named(ran, tmp_path):
    def only_writes(found):
        found["requirements"] = [line(found, "R-WRITE-01")]

    ingest.accept(plan(tmp_path, only_writes), tmp_path / "one", tool="fio", scale="1node")
    answer = ingest.verdict(tmp_path / "one", ran / "results" / "T-READ-01-fio.run1.json")
    assert "a result of T-READ-01-fio, expected one of T-WRITE-01-fio" in next(iter(answer.refused.values()))


def test_results_of_a_rehearsal_do_not_prove_the_whole(ran, tmp_path):
    ingest.accept(plan(tmp_path, times(1e-3)), tmp_path / "full", tool="fio")
    answer = ingest.verdict(tmp_path / "full", ran / "results")
    assert {one.result for one in answer.tests} == {"not tested"}
    assert "clients: found 1, expected 128" in answer.results["R-READ-01"].why


def test_servers_and_their_driver_count_each_client_once(tmp_path):
    """Two servers on this machine, each in a folder of its own; warnings stand before the object."""
    import socket
    import time

    def two(found):
        times(1e-3)(found)
        found["requirements"] = [line(found, "R-READ-01")]
        found["requirements"][0]["conditions"].update(clients=2, duration=2)

    ingest.accept(plan(tmp_path, two), tmp_path / "tests", tool="fio", repeats=1, client_memory="4 MiB")
    job = tmp_path / "tests/fio/T-READ-01-fio.fio"
    # The ramp of a minute is for storage, not for this test.
    text = job.read_text().replace("ramp_time=60", "ramp_time=0")
    job.write_text(text)
    manifest = tmp_path / "tests/tests.json"
    import hashlib

    sums = json.loads(manifest.read_text())
    sums["tests"][0]["files"]["fio/T-READ-01-fio.fio"] = hashlib.sha256(text.encode()).hexdigest()
    manifest.write_text(json.dumps(sums))
    resum(tmp_path / "tests")
    servers, hosts = [], []
    try:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            words = ["fio", f"--server=127.0.0.1,{port}"]
            servers.append(subprocess.Popen(words, cwd=tmp_path / name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            hosts.append(f"127.0.0.1,{port}\n")
            _wait_for(port, time.monotonic() + 20)
        (tmp_path / "tests/hosts.txt").write_text("".join(hosts))
        environment = {**os.environ, "TARGET": str(tmp_path), "DROP_CACHES": "true"}
        for script in ("fio/fill-data-2.sh", "fio/T-READ-01-fio.sh"):
            subprocess.run(["sh", script], cwd=tmp_path / "tests", env=environment, check=True, timeout=60)
    finally:
        for server in servers:
            server.kill()
            server.wait()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == sorted(
        path.name for path in (tmp_path / "two").iterdir()
    )
    assert any((tmp_path / "one").iterdir())
    answer = ingest.verdict(tmp_path / "tests", tmp_path / "tests/results")
    assert answer.refused == {}
    assert answer.results["R-READ-01"].result == "pass"
    found = fio.read((tmp_path / "tests/results/T-READ-01-fio.run1.json").read_text(), "x")[0].loads[0]
    assert (found.clients, found.threads) == (2, 4)


def _wait_for(port, until):
    import socket
    import time

    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def test_the_command_exits_with_3_only_where_a_mandatory_one_failed(ran, run, tmp_path):
    assert run("verdict", ran, ran / "results").code == 0
    ingest.accept(plan(tmp_path, times(1e9)), tmp_path / "high", tool="fio", scale="1node")
    failed = run("verdict", tmp_path / "high", ran / "results")
    assert failed.code == 3
    assert failed.refusal == "verdict: mandatory requirements failed: R-READ-01, R-WRITE-01, R-MIX-01"

    def target_only(found):
        times(1e-3)(found)
        line(found, "R-META-01")["value"] = 1e15

    ingest.accept(plan(tmp_path, target_only), tmp_path / "soft", tool="fio", scale="1node")
    soft = run("verdict", tmp_path / "soft", ran / "results", "--format", "json")
    assert soft.code == 0
    results = {one["id"]: one["result"] for one in soft.data["requirements"]}
    assert results["R-META-01"] == "fail"
    assert {one["id"] for one in soft.data["requirements"]} >= {"R-READ-01", "R-CAP-01"}
    assert {"id", "result", "measured", "required", "margin"} <= set(soft.data["requirements"][0])


@pytest.mark.parametrize("form", ["table", "csv", "markdown"])
def test_the_verdict_is_printed(ran, run, form):
    printed = run("verdict", ran, ran / "results", "--format", form).out
    for word in ("R-READ-01", "T-READ-01-fio", "pass", "not tested"):
        assert word in printed
