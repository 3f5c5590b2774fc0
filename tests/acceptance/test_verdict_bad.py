"""Files that are no results, or not whole, are one line each."""

import errno
import os

import pytest
from conftest import table
from plans import plan

import ingest
from ingest.acceptance.test_spec import TOOLS
from ingest.errors import IngestError

FIO = '{\n  "fio version" : "fio-3.33",\n'


@pytest.fixture(scope="module")
def tests(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    ingest.accept(plan(folder), folder / "tests", tool=TOOLS)
    return folder / "tests"


BROKEN = {
    "foreign.json": ('{"a": 1}', "found no result of fio, ior, mdtest, elbencho, dlio"),
    "empty.json": ("", "found no result"),
    "truncated.json": (FIO + '  "jobs" : [ {"jobname" : "T-READ', "fio's JSON cut off"),
    "no-jobs.json": (FIO + '"jobs": []}', "found no job in fio's JSON"),
    "clients-refused.json": (
        f'<node1> fio: failed parsing directory=\n{FIO}"client_stats": []}}',
        "did the clients refuse the job file",
    ),
    "list.json": (FIO + '"jobs": 3}', "found 3, expected a list"),
    "numbers.json": (
        FIO + '"jobs": [{"jobname": "x", "read": {"total_ios": "many"}, "write": {}}]}',
        "found 'many', expected a number",
    ),
    "infinite.json": (FIO + '"jobs": [{"jobname": "x", "read": {"total_ios": 1e999}, "write": {}}]}', "found inf"),
    "ior.txt": ("IOR-4.0.0: MPI Coordinated Test of Parallel I/O\n", "IOR's output without a result"),
    # Forms that no script asks its tool for.
    "ior.json": ('{"Command line": "ior -o /x", "tests": []}', "found no result of fio"),
    "mdtest.txt": ("mdtest-4.0.0 was launched with 4 total task(s) on 2 node(s)\n", "without a summary of rates"),
    "elbencho.json": ('{"phase_type": "READ", "config": {', "elbencho's JSON cut off"),
    "elbencho-sync.json": ('{"phase_type": "SYNC"}', "found no read or write phase"),
    "elbencho.csv": ("ISO date,label,operation,MiB/s [last]\n2026-01-01,x,READ\n", "found no result of fio"),
    "summary.json": ('{"num_accelerators": 4, "metric": {', "DLIO's summary cut off"),
    "generated.json": ('{"num_accelerators": 4, "metric": {}}', "found no training in DLIO's summary"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_named_file_that_is_no_result_is_one_line(tests, tmp_path, name):
    content, message = BROKEN[name]
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(IngestError) as refused:
        ingest.verdict(tests, path)
    assert message in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def test_what_else_lies_in_a_folder_is_named_and_does_not_stop(tests, tmp_path):
    for name, (content, _) in BROKEN.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "dlio.log").write_text("beside a result")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    answer = ingest.verdict(tests, tmp_path)
    assert {path.rpartition("/")[2] for path in answer.refused} == {*BROKEN, "binary"}
    assert {one.result for one in answer.requirements} == {"not tested"}


def test_a_pipe_in_a_folder_is_named_and_not_waited_for(tests, tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (reason,) = ingest.verdict(tests, tmp_path).refused.values()
    assert "not a regular file" in reason


def test_a_folder_that_cannot_be_read_is_refused_with_its_name(tests, tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    listed = os.scandir

    def closed(path):
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr("os.scandir", closed)
    for folder in (tmp_path, tmp_path / "closed"):
        with pytest.raises(IngestError, match=r"/closed: cannot be read: Permission denied, expected a folder of results$"):
            ingest.verdict(tests, folder)


def test_a_missing_result_is_one_line(tests, tmp_path):
    with pytest.raises(IngestError, match=r"nothing\.json: cannot be read: No such file"):
        ingest.verdict(tests, tmp_path / "nothing.json")


@pytest.mark.parametrize(("content", "message"), table("acceptance/cases.yaml")["a_folder_without_tests_is_one_line"])
def test_a_folder_without_tests_is_one_line(run, tmp_path, content, message):
    (tmp_path / "tests").mkdir()
    if content is not None:
        (tmp_path / "tests" / "tests.json").write_text(content)
    (tmp_path / "r.json").write_text("{}")
    ran = run("verdict", "tests", "r.json")
    assert ran.code == 1
    assert message in ran.refusal


def test_a_manifest_cannot_reach_out_of_its_folder(tests, tmp_path):
    import json
    import shutil

    shutil.copytree(tests, tmp_path / "tests")
    manifest = tmp_path / "tests" / "tests.json"
    found = json.loads(manifest.read_text())
    found["tests"][0]["files"]["../../secret"] = "0"
    manifest.write_text(json.dumps(found))
    with pytest.raises(IngestError, match="a path that leaves the folder"):
        ingest.verdict(tmp_path / "tests", tmp_path)


def test_results_must_be_named(run, tests):
    ran = run("verdict", tests)
    assert ran.code == 2
