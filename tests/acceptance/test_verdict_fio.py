"""fio really runs every job file on this machine, and its results are judged in both directions."""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest
from conftest import finished, table
from outputs import listed_anew, paced
from plans import line, plan, times

import ingest
from ingest.acceptance.tools import fio
from ingest.errors import IngestError

pytestmark = pytest.mark.usefixtures("short_rehearsal")
TESTS = [f"T-{name}-fio" for name in ("READ-01", "READ-02", "WRITE-01", "MIX-01", "META-01", "META-02")]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fio")
    target = folder / "storage"
    target.mkdir()
    (target / "mine").write_text("mine")
    # Thresholds that any machine reaches, so that the tests judge the judging and not the machine.
    made = ingest.accept(plan(folder, times(1e-3)), folder / "tests", tool="fio", scale="1node")
    for test in made.tests:
        script = next(name for name in test.files if name.endswith(".sh"))
        finished("sh", script, cwd=folder / "tests", TARGET=str(target))
    assert [path.name for path in target.iterdir()] == ["mine"]
    return folder / "tests"


@pytest.fixture
def copied(ran, tmp_path):
    """A copy of the run rehearsal, to be spoilt."""
    shutil.copytree(ran, tmp_path / "tests")
    return tmp_path / "tests"


@pytest.fixture
def runs(ran, tmp_path):
    """The results alone, without the hashes of the tests that they belong to."""
    shutil.copytree(ran / "results", tmp_path / "runs", ignore=shutil.ignore_patterns("*.sha256"))
    return tmp_path / "runs"


def spoil(folder, test, change):
    path = folder / "results" / f"{test}.run1.json"
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    return listed_anew(path)


def test_every_job_file_runs_and_passes_a_low_threshold(ran):
    answer = ingest.verdict(ran, ran / "results")
    assert {one.id: one.result for one in answer.tests} == dict.fromkeys(TESTS, "pass")
    assert answer.refused == {}
    assert answer.unmet == ""
    assert answer.results["R-CAP-01"].result == "not tested"
    for one in answer.tests:
        assert one.measured == pytest.approx(one.required * (1 + one.margin))
        assert one.margin > 0


def test_every_thread_of_a_test_runs_for_its_duration(ran):
    for path in sorted((ran / "results").glob("*.run1.json")):
        jobs = json.loads(path.read_text())["jobs"]
        if "META" not in path.name:
            assert [job["jobname"] for job in jobs if job["job_runtime"] < 900] == [], path.name


def test_the_same_results_fail_a_high_threshold(runs, tmp_path):
    ingest.accept(plan(tmp_path, times(1e9)), tmp_path / "high", tool="fio", scale="1node")
    answer = ingest.verdict(tmp_path / "high", runs)
    assert {one.id: one.result for one in answer.tests} == dict.fromkeys(TESTS, "fail")
    assert all(-1 < one.margin < 0 for one in answer.tests)
    assert answer.unmet == "verdict: NOT ACCEPTED: mandatory requirements failed: R-READ-01, R-WRITE-01, R-MIX-01"
    assert answer.word == "NOT ACCEPTED"


# Of 192 kB/s of 128 clients, one must read 750 B/s at random, and read and write 375 B/s in sequence; fio printed far more.
@pytest.mark.parametrize(
    ("part", "way", "rate", "expected"), table("acceptance/cases.yaml")["a_mixed_test_fails_where_one_part_starves"]
)
def test_a_mixed_test_fails_where_one_part_starves(copied, part, way, rate, expected):
    def starve(found):
        threads = [job for job in found["jobs"] if job["jobname"] == f"T-MIX-01-fio.{part}"]
        for job in threads:
            paced(job[way], rate / len(threads), 131072 if part == "read1" else 262144)

    spoil(copied, "T-MIX-01-fio", starve)
    found = ingest.verdict(copied, copied / "results").results["R-MIX-01"]
    assert found.result == expected
    # 192 kB/s ÷ 128: the requirement is that of all parts, and the part that fails is named.
    assert found.required == 1500
    assert found.measured > found.required
    assert (f"one run, {part} {rate} B/s, below its " in found.why) == (expected == "fail")


def test_each_part_of_a_mixed_test_has_its_latency_in_the_verdict(ran):
    why = ingest.verdict(ran, ran / "results").results["R-MIX-01"].why
    for part in ("read1", "read2", "write"):
        assert f"{part} latency " in why
    assert why.count("(10 ms stated)") == 3


def test_a_part_that_did_not_run_does_not_count(copied):
    def drop(found):
        found["jobs"] = [job for job in found["jobs"] if not job["jobname"].endswith(".read2")]

    spoil(copied, "T-MIX-01-fio", drop)
    found = ingest.verdict(copied, copied / "results").results["R-MIX-01"]
    assert found.result == "not tested"
    assert "job 'T-MIX-01-fio.read2' did not run" in found.why


@pytest.mark.parametrize(("milliseconds", "above"), [(9.895936, False), (10.027008, True)])
def test_a_99_percent_latency_above_the_stated_one_is_a_remark_and_no_failure(copied, milliseconds, above):
    def slow(found):
        for job in found["jobs"]:
            way, size = ("write" if "write" in job["jobname"] else "read"), int(job["job options"]["bs"])
            job[way]["runtime"] = 1000  # of a busy machine, no two threads end alike
            paced(job[way], size / 0.5e-3, size)
            job[way]["lat_ns"] |= {"percentile": {"99.000000": 1_003_520}, "max": 20_000_000}
        job = next(job for job in found["jobs"] if job["jobname"].endswith(".read2"))
        job["read"]["lat_ns"]["percentile"]["99.000000"] = milliseconds * 1e6

    spoil(copied, "T-MIX-01-fio", slow).with_name("T-MIX-01-fio.sha256").unlink()
    answer = ingest.verdict(copied, copied / "results")
    assert answer.results["R-MIX-01"].result == "pass"
    remarks = [text for text in answer.warnings if text.startswith("T-MIX-01-fio: 99 %")]
    assert len(remarks) == above
    assert all("beside a stated 10 ms" in text for text in remarks)
    assert any(" threads have" in text and "to the last digit" in text for text in answer.warnings)


@pytest.mark.parametrize(("share", "same"), [(1.0099, True), (1.0101, False), (0.9901, True), (0.9899, False)])
def test_requests_in_queues_may_start_in_the_ramp_and_end_after_it(share, same):
    from ingest.acceptance.run_files import _differences
    from ingest.acceptance.test_spec import Load, Observed

    load = Load("T", "read", "random", 131072, 1, 1, 1, None, None, "", 1.0, "B/s", depth=2)
    reasons = list(_differences(load, Observed("T", "read", 1.0, "B/s", io_bytes=131072 * share, direct=True)))
    assert ([text for text in reasons if text.startswith("block size")] == []) == same


def smaller(found):
    """What ran is told by what was moved, whatever the options say."""
    for job in found["jobs"]:
        job["read"]["total_ios"] *= 2


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (smaller, "block size: found 65,536 B, expected 131,072 B"),
        (lambda found: [job["job options"].update(iodepth="2") for job in found["jobs"]], "thread: found 2, expected 1"),
        (lambda found: found["jobs"][1].update(error=22), "error 22, expected none"),
        (
            lambda found: [job["read"].update(runtime=500) for job in found["jobs"]],
            "duration: found 0.5 s, expected at least 1",
        ),
        (lambda found: found["jobs"][1]["read"].update(runtime=500), "duration: found 0.5 s, expected at least 1"),
        (lambda found: found["global options"].update(direct="0"), "buffered I/O"),
        (lambda found: [job["job options"].update(size="1048576") for job in found["jobs"]], "which exceeds caches"),
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
    assert len(answer.refused) == 1
    assert why in answer.results["R-READ-01"].why


def test_a_slow_run_of_three_leaves_the_verdict_open(copied, tmp_path):
    ingest.accept(plan(tmp_path, times(1e-3)), tmp_path / "three", tool="fio", scale="1node", repeats=3)
    source = re.sub(r'"time(stamp)?" :', '"" :', (copied / "results" / "T-READ-01-fio.run1.json").read_text())
    results = tmp_path / "results"
    results.mkdir()
    for run in (1, 2):
        (results / f"run{run}.json").write_text(json.dumps({**json.loads(source), "timestamp_ms": run * 10_000}))
    judged = ingest.verdict(tmp_path / "three", results).results["R-READ-01"]
    assert (judged.result, judged.why[: len("T-READ-01-fio: 2 of 3 runs")]) == ("not tested", "T-READ-01-fio: 2 of 3 runs")
    slow = json.loads(source)
    for job in slow["jobs"]:
        paced(job["read"], 1, 131072)
    (results / "run3.json").write_text(json.dumps({**slow, "timestamp_ms": 30_000}))
    judged = ingest.verdict(tmp_path / "three", results).results["R-READ-01"]
    assert judged.result == "undecided"
    assert judged.low < judged.required < judged.high


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


def test_results_of_a_rehearsal_do_not_prove_the_whole(runs, tmp_path):
    ingest.accept(plan(tmp_path, times(1e-3)), tmp_path / "full", tool="fio")
    answer = ingest.verdict(tmp_path / "full", runs)
    assert {one.result for one in answer.tests} == {"not tested"}
    assert "clients: found 1, expected 128" in answer.results["R-READ-01"].why
    assert answer.word == "INCOMPLETE"


def test_a_folder_of_results_of_another_plan_is_an_error(ran, run, tmp_path):
    """The scripts write the hash of their list of tests next to the results."""
    ingest.accept(plan(tmp_path, times(1e-4)), tmp_path / "other", tool="fio", scale="1node")
    found = run("verdict", tmp_path / "other", ran / "results")
    assert found.code == 1
    own = ingest.verdict(ran, ran / "results").manifest_hash[:12]
    assert found.refusal.startswith(
        f"{ran / 'results'}: T-META-01-fio.tests.sha256: results of another plan (tests.json {own}…)"
    )


def test_creates_have_the_latency_of_a_create(ran):
    (load,) = fio.read((ran / "results/T-META-02-fio.run1.json").read_text(), "x")[0].loads
    assert load.latency_seconds > 0


def test_one_run_of_servers_counts_once(copied):
    """Drivers write seconds in place of milliseconds: the start tells a copy from another run."""
    path = copied / "results" / "T-READ-01-fio.run1.json"
    found = json.loads(path.read_text())
    found["timestamp"] = found.pop("timestamp_ms") // 1000
    (path.parent / "T-READ-01-fio.sha256").unlink()
    for number in (1, 2):
        (path.parent / f"T-READ-01-fio.run{number}.json").write_text(json.dumps(found) + "\n" * number)
    answer = ingest.verdict(copied, copied / "results")
    assert len(answer.refused) == 1
    assert "T-READ-01-fio.run" in next(iter(answer.refused))


def test_creates_of_every_run_are_new(copied, tmp_path):
    for _ in range(2):
        subprocess.run(["fio", "--output=out", copied / "fio/T-META-02-fio.fio"], cwd=tmp_path, check=True, timeout=60)
        assert {path.name for path in tmp_path.iterdir()} == {"tests", "out"}


@pytest.mark.parametrize("test", ["T-READ-01-fio", "T-META-01-fio"])
def test_reads_of_files_that_are_not_there_fail(copied, tmp_path, test):
    done = subprocess.run(["fio", "--output=out", copied / f"fio/{test}.fio"], cwd=tmp_path, check=False, timeout=60)
    assert done.returncode != 0
    assert {path.name for path in tmp_path.iterdir()} == {"tests", "out"}


HOSTS = ("localhost", "127.0.0.1")


@pytest.fixture
def served(tmp_path):
    """Run scripts on two servers of this machine, started by `servers.sh` as on two clients."""

    def call(folder, how, *scripts, only=HOSTS):
        environment = {**os.environ, "TARGET": str(tmp_path / "storage"), "DROP_CACHES": "true"}
        ports = {host: _free_port() for host in HOSTS}
        (folder / "hosts.txt").write_text("".join(f"{host},{port}\n" for host, port in ports.items()))
        servers = []
        try:
            for host, port in ports.items():
                own = environment | {"CLIENT": host, "LISTEN": f"127.0.0.1,{port}"}
                words = ["sh", "fio/servers.sh", *how]
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                servers.append(subprocess.Popen(words, cwd=folder, env=own, **quiet))
                if host in only:
                    _wait_for(port, time.monotonic() + 20)
            for script in scripts:
                subprocess.run(["sh", script], cwd=folder, env=environment, check=True, timeout=60)
        finally:
            for server in servers:
                server.kill()
                server.wait()

    (tmp_path / "storage").mkdir()
    return call


def test_servers_read_what_others_wrote_with_any_number_of_threads_and_clients(served, tmp_path):
    """Both clients read each other's folder; one client alone reads that of the other; a mixed test has a queue of two."""

    def two(found):
        times(1e-3)(found)
        reads, mixed = line(found, "R-READ-01"), line(found, "R-MIX-01")
        reads["conditions"].update(clients=2, duration=1)
        single = json.loads(json.dumps(reads)) | {"id": "R-READ-04"}
        single["conditions"].update(clients=1, threads=3, pattern="sequential")
        mixed["conditions"].update(clients=2, duration=1, threads=6, queue_depth=24)
        found["requirements"] = [reads, single, mixed]

    folder = tmp_path / "tests"
    # A second reads less than one pass over the data: fio may end a thread with its pass.
    made = ingest.accept(plan(tmp_path, two), folder, repeats=1, server_cache="480 MiB")
    # Half of 12 requests of a client, in at most 6 threads: queues of two.
    assert [(load.threads, load.depth) for load in made.results["T-MIX-01-fio"].loads] == [(4, 2), (1, 2), (1, 2)]
    served(folder, ["fill"], "fio/fill-data.sh")
    filled = {path: path.stat().st_size for path in (tmp_path / "storage/fio").glob("[12]/data.*")}
    # A system without equal data twice holds all of them: each client has seeds of its own.
    assert len({hashlib.sha256(path.read_bytes()).digest() for path in filled}) == len(filled)
    data = made.setting.data
    assert sum(filled.values()) >= data.all_bytes >= 36 * 2**20
    assert len(filled) == 2 * data.files == 2 * 16
    served(folder, ["read", "2"], "fio/T-READ-01-fio.sh", "fio/T-MIX-01-fio.sh")
    served(folder, ["read", "1"], "fio/T-READ-04-fio.sh", only=HOSTS[:1])
    for view, other in (("read-2-1", "2"), ("read-2-2", "1"), ("read-1-1", "2")):
        links = [path for path in (tmp_path / "storage/fio" / view).iterdir() if path.is_symlink()]
        assert {path.resolve().parent.name for path in links} == {other}
        for threads in (1, 2, 3, 4):
            read = [path.resolve() for path in links if path.name.startswith(f"data-{threads}.")]
            assert len(read) == len(set(read)) == 16
    answer = ingest.verdict(folder, folder / "results")
    assert answer.refused == {}
    assert {ident: one.result for ident, one in answer.results.items()} == dict.fromkeys(
        ("R-READ-01", "R-READ-04", "R-MIX-01"), "pass"
    )
    run = fio.read((folder / "results/T-MIX-01-fio.run1.json").read_text(), "x")[0]
    assert run.began
    found = {load.name: load for load in run.loads}
    load = found["T-MIX-01-fio.read1"]
    assert (load.clients, load.threads, load.depth) == (2, 8, 2)
    assert load.latency_99 >= load.latency_seconds > 0
    # Nothing but the data and the links is left: written files are removed.
    assert {path.name for path in (tmp_path / "storage/fio/read-2-1").iterdir() if not path.is_symlink()} == set()


def test_clients_open_what_the_next_one_wrote(served, tmp_path):
    def opens(found):
        times(1e-3)(found)
        found["requirements"] = [line(found, "R-META-01")]
        found["requirements"][0]["conditions"].update(clients=2, duration=1)

    folder = tmp_path / "tests"
    ingest.accept(plan(tmp_path, opens), folder, repeats=1)
    served(folder, ["fill"], "fio/fill-T-META-01-fio.sh")
    first = sorted((tmp_path / "storage/fio/1").iterdir())
    for path in first:
        path.unlink()
    # The first client opens the files of the second, which are there; the second has none.
    with pytest.raises(subprocess.CalledProcessError):
        served(folder, ["next", "2"], "fio/T-META-01-fio.sh")
    assert not (folder / "results/T-META-01-fio.sha256").exists()
    served(folder, ["fill"], "fio/fill-T-META-01-fio.sh")
    served(folder, ["next", "2"], "fio/T-META-01-fio.sh")
    answer = ingest.verdict(folder, folder / "results")
    assert [one.result for one in answer.tests] == ["pass"], answer.refused


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _wait_for(port, until):
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def test_the_command_exits_with_3_only_where_a_mandatory_one_failed(ran, runs, run, tmp_path):
    assert run("verdict", ran, ran / "results").code == 0
    ingest.accept(plan(tmp_path, times(1e9)), tmp_path / "high", tool="fio", scale="1node")
    failed = run("verdict", tmp_path / "high", runs)
    assert failed.code == 3
    assert failed.refusal == "verdict: NOT ACCEPTED: mandatory requirements failed: R-READ-01, R-WRITE-01, R-MIX-01"

    def target_only(found):
        times(1e-3)(found)
        line(found, "R-META-01")["value"] = 1e15

    ingest.accept(plan(tmp_path, target_only), tmp_path / "soft", tool="fio", scale="1node")
    soft = run("verdict", tmp_path / "soft", runs, "--format", "json")
    assert soft.code == 0
    results = {one["id"]: one["result"] for one in soft.data["requirements"]}
    assert results["R-META-01"] == "fail"
    assert {one["id"] for one in soft.data["requirements"]} >= {"R-READ-01", "R-CAP-01"}
    assert {"id", "result", "measured", "required", "margin"} <= set(soft.data["requirements"][0])
