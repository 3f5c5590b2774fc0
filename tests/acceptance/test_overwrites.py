"""Blocks of shared files that are written over at random, as key-value caches are: job files, a real run, and the verdict."""

import json

import pytest
from conftest import finished
from plans import _line

import ingest

pytestmark = pytest.mark.usefixtures("short_rehearsal")
KV = {"io_size": 262144, "pattern": "random", "files": "shared", "duration": 600, "fill": 0.8}
LINES = [
    _line("R-KV-01", "mandatory", "The system shall serve the context of turns.", "site_kv_read_bandwidth", 64e3, "B/s", "read",
          clients=4, **KV),
    _line("R-KV-02", "mandatory", "The system shall take the context of turns.", "site_kv_write_bandwidth", 32e3, "B/s",
          "write", clients=4, **KV),
    _line("R-CAP-03", "mandatory", "The system shall hold the caches.", "site_capacity_to_buy", 1e12, "B", "hold"),
]  # fmt: skip


def made(folder, **options):
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"schema": "ingest/1", "command": "plan", "site": "chat", "requirements": LINES}))
    return ingest.accept(plan, folder / "tests", **options)


def test_each_tool_writes_over_blocks_that_were_there_before(tmp_path):
    answer = made(tmp_path, tool=["fio", "ior", "elbencho"])
    tests = {test.id: test for test in answer.tests}
    assert set(tests) == {f"T-KV-0{number}-{tool}" for number in (1, 2) for tool in ("fio", "ior", "elbencho")}
    reads, writes = (tests[f"T-KV-0{number}-fio"].loads[0] for number in (1, 2))
    assert writes.dataset_bytes == reads.dataset_bytes > 0
    job = tests["T-KV-02-fio"].files["fio/T-KV-02-fio.fio"]
    options = dict(line.split("=", 1) for line in job.splitlines() if "=" in line and not line.startswith("#"))
    names = ":".join(f"data-shared.{number}" for number in range(16))
    wanted = {"rw": "randwrite", "bs": "262144", "numjobs": "2", "filename": names, "allow_file_create": "0"}
    assert options.items() >= wanted.items()
    # What is written over is there before, and stays for the next run.
    assert "unlink" not in options
    assert options["refill_buffers"] == options["direct"] == "1"
    fill = tests["T-KV-02-fio"].files["fio/data-shared.fill.fio"]
    assert f"filename={names}\n" in fill
    assert fill == tests["T-KV-01-fio"].files["fio/data-shared.fill.fio"]
    # IOR refuses -C (other tasks' data) where random blocks are of a shared file.
    for number, how in ((1, "-r"), (2, "-w -E -e")):
        ior = tests[f"T-KV-0{number}-ior"].files[f"ior/T-KV-0{number}-ior.sh"]
        assert f' -k -o "$TARGET/data-shared" {how} -z -t 262144 -D 600 ' in ior
    elbencho = tests["T-KV-02-elbencho"].files["elbencho/T-KV-02-elbencho.sh"]
    assert " --direct -w -b 262144 --rand --infloop --timelimit 600 " in elbencho
    assert "-F" not in elbencho.split()
    readme = (tmp_path / "tests/README.md").read_text(encoding="utf-8")
    assert readme.count("servers on the clients: `sh fio/servers.sh shared`") == 2
    assert "| 31.04 kB/s |" in readme


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kv")
    (folder / "storage").mkdir()
    answer = made(folder, tool="fio", scale="1node")
    for test in answer.tests:
        finished("sh", f"fio/{test.id}.sh", cwd=folder / "tests", TARGET=str(folder / "storage"))
    return folder / "tests"


def test_fio_runs_both_tests_and_the_verdict_accepts_them(ran):
    answer = ingest.verdict(ran, ran / "results")
    assert {one.id: one.result for one in answer.tests} == {"T-KV-01-fio": "pass", "T-KV-02-fio": "pass"}
    (job, *_) = json.loads((ran / "results/T-KV-02-fio.run1.json").read_text())["jobs"]
    # The files were there before: fio wrote at random, and read nothing.
    assert job["write"]["total_ios"] > 0 == job["read"]["total_ios"]


def test_writes_in_sequence_are_no_overwrites_at_random(ran, tmp_path):
    found = json.loads((ran / "results/T-KV-02-fio.run1.json").read_text())
    for job in found["jobs"]:
        job["job options"]["rw"] = "write"
    (tmp_path / "T-KV-02-fio.run1.json").write_text(json.dumps(found))
    answer = ingest.verdict(ran, tmp_path)
    assert {one.id: one.result for one in answer.tests}["T-KV-02-fio"] == "not tested"
    assert "pattern" in " ".join(answer.refused.values())
