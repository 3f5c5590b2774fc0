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


BROKEN = table("acceptance/refused.yaml")["a_named_file_that_is_no_result_is_one_line"]


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
