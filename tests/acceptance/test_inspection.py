"""What the word of a verdict covers: tests, degraded operation, and what remains to be inspected."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import table
from outputs import fio_results
from plans import plan

import ingest
from ingest.acceptance.judgement import milliseconds
from ingest.errors import IngestError, UsageError
from ingest.files import sha256
from ingest.reports.pages.acceptance import verdict_title

TERMS = table("acceptance/cases.yaml")["terms"]
KEPT = ("R-READ-01", "R-WRITE-01", "R-MIX-01", "R-CAP-01")
COVERED = "3 of 3 mandatory requirements with a test pass, 3 of 3 in all; 1 requirement and 3 terms remain to be inspected"


def few_clients(found):
    found["service"] = TERMS
    found["requirements"] = [one for one in found["requirements"] if one["id"] in KEPT]
    for one in found["requirements"]:
        if "clients" in one["conditions"]:
            one["conditions"].update(clients=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return ingest.accept(plan(folder, few_clients), folder / "tests")


@pytest.fixture(scope="module")
def results(made, tmp_path_factory):
    return fio_results(made.tests, tmp_path_factory.mktemp("results"), 1.02)


def test_the_first_line_says_what_the_word_covers(made, results):
    answer = ingest.verdict(made.folder, results)
    assert answer.word == "ACCEPTED"
    assert verdict_title(answer) == f"ACCEPTED by tests: plan: {COVERED}"
    assert [term.id for term in answer.inspected_terms] == ["S-AVAIL-01", "S-AVAIL-04", "S-DUR-05"]


@pytest.mark.parametrize("site", sorted(Path(__file__).parent.glob("sites/*.yaml")), ids=lambda site: site.stem)
def test_honest_results_of_every_test_of_a_tender_pass(tmp_path, site):
    """Opens and creates among them; without the logs of each second, which a floor on stalls takes."""
    made = ingest.accept(site, tmp_path / "tests", repeats=1)
    answer = ingest.verdict(made.folder, fio_results(made.tests, tmp_path / "results", 1.02, runs=1))
    assert answer.refused == {}
    assert {one.result for one in answer.tests} == {"pass"}
    assert {*answer.unshown} <= {"S-LAT-03"}
    assert answer.word == ("INCOMPLETE" if answer.unshown else "ACCEPTED")


@pytest.mark.parametrize("name", ["v.txt", "v.md", "v.csv", "v.json", "v.xlsx", "v.docx"])
def test_every_format_lists_what_remains_to_be_inspected(run, made, results, tmp_path, name):
    assert run("verdict", made.folder, results, "-o", name).code == 0
    written = text_of(tmp_path / name)
    for part in ("ACCEPTED", COVERED, "R-CAP-01", "the usable capacity", "S-AVAIL-01", "99.9 %", "log of the monitoring"):
        assert part in written


def text_of(path):
    if path.suffix == ".xlsx":
        import openpyxl

        return "\n".join(str(cell) for sheet in openpyxl.load_workbook(path) for row in sheet.values for cell in row)
    if path.suffix == ".docx":
        import docx

        return "\n".join(paragraph.text for paragraph in docx.Document(path).paragraphs)
    return path.read_text()


def test_tests_of_an_earlier_version_have_no_terms(made, results, tmp_path):
    import hashlib

    shutil.copytree(made.folder, tmp_path / "old")
    path = tmp_path / "old" / "tests.json"
    found = json.loads(path.read_text())
    del found["terms"]
    for limit in found["service"]:
        del limit["tests"]
    path.write_text(json.dumps(found))
    (tmp_path / "old" / "SHA256SUMS").write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  tests.json\n")
    answer = ingest.verdict(tmp_path / "old", results)
    assert answer.remaining == "1 requirement remains to be inspected"
    assert answer.word == "ACCEPTED"


def test_the_effort_and_the_readme_hold_the_runs_that_the_term_names(made):
    # 3 runs of (600 + 60) s each of T-MIX-01 and T-WRITE-01; nothing repeats T-READ-01.
    assert (made.effort.degraded_runs, made.effort.degraded_seconds) == (6, 3960)
    assert "9 runs 2.65 h, 6 in degraded operation 1.1 h" in made.effort.words
    assert made.effort.total_seconds == pytest.approx(made.effort.fill_seconds + made.effort.run_seconds + 3960)
    readme = (Path(made.folder) / "README.md").read_text()
    # 70 % of 64 MB/s.
    assert "| T-WRITE-01-fio | T-WRITE-01-fio | 44.8 MB/s" in readme
    assert "RESULTS=$PWD/results-degraded sh fio/T-READ-01" not in readme
    assert "### S-DUR-05: Read after write" in readme
    assert "- S-AVAIL-01, Availability, 99.9 %: operation: log of the monitoring" in readme


# 97 % of 70 % of the rate, from runs 0.1 % apart, whose lower bound is 0.6 % below their median.
@pytest.mark.parametrize(("factor", "result", "word"), [(0.684, "pass", "ACCEPTED"), (0.67, "fail", "NOT ACCEPTED")])
def test_degraded_runs_are_judged_by_the_share_of_the_term(made, results, tmp_path, factor, result, word):
    degraded = fio_results(made.tests, tmp_path / "degraded", factor, ("R-MIX-01", "R-WRITE-01"))
    answer = ingest.verdict(made.folder, results, degraded=degraded)
    found = answer.results["S-AVAIL-04"]
    assert (found.result, answer.word) == (result, word)
    assert found.measured == pytest.approx(factor, rel=1e-6)
    assert answer.results["R-WRITE-01"].result == "pass"
    assert [one.id for one in answer.degraded["S-AVAIL-04"]] == ["T-MIX-01-fio", "T-WRITE-01-fio"]
    assert "S-AVAIL-04" not in [term.id for term in answer.inspected_terms]


def test_a_degraded_test_without_a_result_leaves_the_verdict_incomplete(made, results, tmp_path):
    degraded = fio_results(made.tests, tmp_path / "degraded", 0.8, ("R-WRITE-01",))
    answer = ingest.verdict(made.folder, results, degraded=degraded)
    assert (answer.word, answer.unshown) == ("INCOMPLETE", ("S-AVAIL-04",))


def test_results_count_once_and_for_terms_of_the_plan(made, results, tmp_path):
    with pytest.raises(UsageError, match=r"--rebuild: the plan of these tests has no term service\.rebuild_rate"):
        ingest.verdict(made.folder, results, rebuild=results)
    (tmp_path / "empty").mkdir()
    with pytest.raises(IngestError, match="found no result"):
        ingest.verdict(made.folder, results, degraded=tmp_path / "empty")
    answer = ingest.verdict(made.folder, results, degraded=results)
    assert answer.results["S-AVAIL-04"].result == "not tested"
    assert all("duplicate of" in why for why in answer.refused.values())


@pytest.mark.parametrize(("share", "result"), [(0.9, "fail"), (1.02, "pass")])
def test_the_requirement_is_that_of_the_line_and_the_failing_part_is_named(made, tmp_path, share, result):
    parts = {"T-MIX-01-fio.write": share}
    answer = ingest.verdict(made.folder, fio_results(made.tests, tmp_path / "r", 1.1, parts=parts))
    found = answer.results["R-MIX-01"]
    assert (found.result, found.required) == (result, 192e6)
    assert found.measured == pytest.approx(192e6 * (0.75 * 1.1 + 0.25 * share))
    # 0.9 of 48 MB/s; the upper bound is 0.6 % above it.
    assert ("write at most 43.45 MB/s, below 97 % of its 48 MB/s" in found.why) == (result == "fail")


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_takes_the_commands_of_the_terms(tmp_path):
    """A second, or one file, in place of a minute."""
    from ingest.acceptance.pack import steps_of_terms

    (tmp_path / "file").write_bytes(bytes(2**20))
    environment = {**os.environ, "TARGET": str(tmp_path), "FILE": str(tmp_path / "file")}
    for term, shown in (("S-CKPT-01", "WRITE: bw="), ("S-LAT-01", " 50th=[")):
        command = steps_of_terms()[term].split("```")[1].replace("--runtime=60", "--runtime=1")
        command = command.replace("--size=1t", "--size=16m --number_ios=16")
        subprocess.run(["sh", "-ec", command], cwd=tmp_path, env=environment, check=True, capture_output=True)
        assert shown in (tmp_path / f"{term}.txt").read_text()


def test_latencies_are_numbers_of_people():
    assert [milliseconds(seconds) for seconds in (0.00535631, 1.75, 0.0005)] == ["5.356 ms", "1,750 ms", "0.5 ms"]


def test_a_block_size_that_prints_alike_is_told_in_bytes(made):
    from ingest.acceptance.run_files import _differences
    from ingest.acceptance.test_spec import Observed

    load = replace(made.results["T-WRITE-01-fio"].loads[0], io_bytes=512_000, depth=1)
    (why,) = _differences(load, Observed(load.name, "write", 1.0, "B/s", io_bytes=512_001, direct=True))
    assert why == "block size: found 512,001 B, expected 512,000 B"


# The verdict on the lines of a site that serves models: reads and writes of caches, and weights at a start.

SERVING = {
    "clusters": {"main": {"node": "dgx-h100", "count": 8}},
    "serving": {"chat": {"cluster": "main", "nodes": 8, "model": "llama3-70b", "users": 1000, "turns": 8, "prompt": 1000,
                         "generate": 500, "load_time": "30 s"}},
}  # fmt: skip


@pytest.mark.parametrize(("factor", "result"), [(0.9, "fail"), (1.02, "pass")])
def test_lines_of_serving_are_judged(tmp_path, factor, result):
    site = tmp_path / "site.yaml"
    site.write_text(json.dumps(SERVING), encoding="utf-8")
    made = ingest.accept(site, tmp_path / "tests")
    asked = ("R-KV-02", "R-SERVE-01")
    slow = {load.name: factor for test in made.tests if test.requirement in asked for load in test.loads}
    verdict = ingest.verdict(made.folder, fio_results(made.tests, tmp_path / "results", 1.02, parts=slow))
    judged = {line["id"]: line["result"] for line in verdict.to_dict()["requirements"]}
    assert {name: judged[name] for name in ("R-KV-01", *asked)} == {"R-KV-01": "pass", "R-KV-02": result, "R-SERVE-01": result}


def test_a_threshold_that_was_edited_with_all_hashes_is_refused(made, results, tmp_path):
    folder = shutil.copytree(made.folder, tmp_path / "tests")
    edited, known = json.loads((folder / "tests.json").read_text()), (folder / "SHA256SUMS").read_text()
    written = plan(tmp_path, few_clients)
    assert ingest.verdict(folder, results, plan=written).word == "ACCEPTED"
    edited["tests"][0]["loads"][0]["threshold"] /= 2
    for wrong, options in (("tests.json: R-READ-01: found a threshold of 64000000,", {}), (str(written), {"plan": written})):
        (folder / "tests.json").write_text(json.dumps(edited))
        (folder / "SHA256SUMS").write_text(known.replace(made.manifest_hash, sha256((folder / "tests.json").read_bytes())))
        with pytest.raises(IngestError, match=re.escape(wrong)):
            ingest.verdict(folder, results, **options)
        next(one for one in edited["requirements"] if one["id"] == "R-READ-01")["value"] /= 2
