"""What a hostile or a hurried hand does to tests and results: each is noticed."""

import json
import shutil
from dataclasses import fields

import pytest
from conftest import EXAMPLES, finished, table
from outputs import elbencho_json, paced
from plans import line, plan

import ingest
from ingest.acceptance.test_spec import DATA, METADATA, SCALES, TOOLS, AcceptanceTest, Load
from ingest.acceptance.tools.fio import sections
from ingest.acceptance.verdict import SCHEMA_FILE
from ingest.errors import IngestError, UsageError
from ingest.requirement import PRIORITIES

FIO_RUN = table("acceptance/cases.yaml")["fio_run"]


@pytest.fixture
def tests(tmp_path):
    """A rehearsal of 1 MB/s a client, with which the run above agrees but for its data."""
    ingest.accept(plan(tmp_path), tmp_path / "tests", scale="1node")
    return tmp_path / "tests"


def fio_run(folder, change=dict, name="run.json"):
    found = json.loads(json.dumps(FIO_RUN))
    job_file = next(path for place in (folder, folder.parent) for path in place.glob("t*/fio/T-READ-01-fio.fio"))
    for job in found["jobs"]:
        job["job options"] = sections(job_file.read_text())["T-READ-01-fio"]
        paced(job["read"], job["read"]["bw_bytes"], 131072)
    change(found)
    path = folder / name
    path.write_text(json.dumps(found, indent=1))
    return path


def test_the_plain_run_passes(tests, tmp_path):
    assert ingest.verdict(tests, fio_run(tmp_path)).results["R-READ-01"].result == "pass"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda found: found.update({"fio version": "fio-2.0"}), "version: found 2.0, expected 3.27 or newer"),
        (lambda found: [job["job options"].pop("size") for job in found["jobs"]], "dataset bytes: not in the result"),
        (lambda found: [job["job options"].pop("rw") for job in found["jobs"]], "pattern: not in the result"),
        (lambda found: found["jobs"].pop(), "threads in all: found 1, expected 2"),
        (lambda found: [job["job options"].update(size=str(2**23)) for job in found["jobs"]], "which exceeds caches"),
    ],
)
def test_what_a_result_does_not_say_did_not_happen(tests, tmp_path, change, why):
    answer = ingest.verdict(tests, fio_run(tmp_path, change))
    assert answer.results["R-READ-01"].result == "not tested"
    assert why in " ".join(answer.refused.values())


BROKEN = [
    (lambda found: found["jobs"][0]["read"].update(clat_ns=[1]), r"clat_ns: found \[1\], expected a JSON object"),
    (lambda found: found["jobs"][0].update(total_err="x"), "total_err: found 'x', expected a number"),
    (lambda found: found["jobs"][0].update(read=3), "read: found 3, expected a JSON object"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_a_broken_fio_result_is_one_line(tests, tmp_path, change, message):
    with pytest.raises(IngestError, match=message):
        ingest.verdict(tests, fio_run(tmp_path, change))


def test_a_host_that_is_no_name_counts_as_another(tests, tmp_path):
    run = fio_run(tmp_path, lambda found: found["jobs"][0].update(hostname=["x"]))
    assert "clients: found 2" in " ".join(ingest.verdict(tests, run).refused.values())


@pytest.mark.parametrize("latency", [[1], {"IO": 5}, {"IO": {"avg_us": "x"}}])
def test_a_broken_elbencho_result_is_one_line(tests, tmp_path, latency):
    found = json.loads(elbencho_json("T-READ-01-elbencho", 1, 2, 10**9))
    found["last_done"]["latency"] = latency
    (tmp_path / "r.json").write_text(json.dumps(found))
    with pytest.raises(IngestError, match=r"latency|avg_us"):
        ingest.verdict(tests, tmp_path / "r.json")


def test_nesting_without_end_is_one_line(tests, tmp_path):
    (tmp_path / "r.json").write_text('{"fio version": ' + "[" * 100_000)
    with pytest.raises(IngestError, match="fio's JSON cut off"):
        ingest.verdict(tests, tmp_path / "r.json")


def rewritten(tests, change):
    """A list of tests that somebody changed, sums and all."""
    import hashlib

    path = tests / "tests.json"
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    (tests / "SHA256SUMS").write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  tests.json\n")


WRONG = [
    (lambda found: found.update(requirements="none"), "requirements: found 'none', expected a list"),
    (lambda found: found.update(untested=5), "untested: found 5"),
    (lambda found: found["tests"][0].update(parameters=[]), r"parameters: found \[\]"),
    (lambda found: found["tests"][0].update(priority=5), "priority: found 5, expected one of mandatory"),
    (lambda found: found["tests"][0].update(repeats="1"), "repeats: found '1'"),
    (lambda found: found["tests"][0]["loads"][0].update(unit=7), "unit: found 7"),
    (lambda found: found["tests"][0]["loads"][0].update(clients=None), "clients: found None"),
    (lambda found: found["tests"][0]["loads"][0].update(threads="2"), "threads: found '2'"),
    (lambda found: found["requirements"][0].update(priority=[1]), r"priority: found \[1\]"),
    (lambda found: found["requirements"][0].update(value="x"), "value: found 'x'"),
    (lambda found: found["tests"][0].update(tool="dd"), "tool: found 'dd', expected one of fio"),
    (lambda found: found["tests"][0].update(notes=3), "notes: found 3"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_list_of_tests_with_wrong_types_is_one_line(tests, tmp_path, change, message):
    rewritten(tests, change)
    with pytest.raises(IngestError, match=message):
        ingest.verdict(tests, fio_run(tmp_path))


def test_the_schema_names_what_the_records_hold():
    schema = json.loads(SCHEMA_FILE.read_text())
    test = schema["properties"]["tests"]["items"]
    load = test["properties"]["loads"]["items"]
    for node, record in ((test, AcceptanceTest), (load, Load)):
        assert {*node["properties"]} == {part.name for part in fields(record)}
        # Tests that an earlier version wrote name no queue depth and no latency.
        assert {*node["properties"]} - set(node["required"]) <= {"depth", "latency_99", "network"}
    words = {name: part.get("enum") for node in (test, load) for name, part in node["properties"].items()}
    assert words["tool"] == list(TOOLS)
    assert words["scale"] == list(SCALES)
    assert words["operation"] == [*DATA, *METADATA]
    assert schema["$defs"]["priority"]["enum"] == list(PRIORITIES)


def test_a_changed_threshold_is_noticed(tests, tmp_path):
    path = tests / "tests.json"
    found = json.loads(path.read_text())
    found["tests"][0]["loads"][0]["threshold"] = 1.0
    path.write_text(json.dumps(found))
    with pytest.raises(IngestError, match=r"tests\.json: was changed after"):
        ingest.verdict(tests, fio_run(tmp_path))
    (tests / "SHA256SUMS").unlink()
    with pytest.raises(IngestError, match="SHA256SUMS: cannot be read"):
        ingest.verdict(tests, fio_run(tmp_path))


def test_accept_and_verdict_print_the_same_hash(run, tmp_path):
    made = run("accept", plan(tmp_path), "-o", "tests", "--scale", "1node")
    judged = run("verdict", "tests", fio_run(tmp_path), "--format", "json")
    assert judged.data["tests_sha256"] in made.out


def three(tmp_path):
    return ingest.accept(plan(tmp_path), tmp_path / "three", tool="fio", scale="1node", repeats=3).folder


@pytest.mark.parametrize("change", [dict, lambda found: found.update(note="another content")])
def test_one_run_is_not_three(tmp_path, change):
    folder = three(tmp_path)
    runs = [fio_run(tmp_path), fio_run(tmp_path, change, "b.json"), fio_run(tmp_path, change, "c.json")]
    answer = ingest.verdict(folder, runs)
    assert answer.results["R-READ-01"].why.startswith("T-READ-01-fio: 1 of 3 runs;")
    assert len(answer.refused) == 2
    again = ingest.verdict(tmp_path / "three", [runs[0]] * 3)
    assert again.results["R-READ-01"].why.startswith("T-READ-01-fio: 1 of 3 runs;")


def test_the_best_run_does_not_decide(tmp_path):
    def rate(number, value):
        def change(found):
            found["timestamp_ms"] = 10_000 * number
            for job in found["jobs"]:
                paced(job["read"], value, 131072)

        return fio_run(tmp_path, change, f"{number}.json")

    # 128 MB/s of 128 clients are 1 MB/s of one, in two threads.
    folder = three(tmp_path)
    answer = ingest.verdict(folder, [rate(1, 499_000), rate(2, 499_500), rate(3, 10**9)])
    found = answer.results["R-READ-01"]
    assert (found.result, found.measured, found.runs, found.more) == ("undecided", 999_000, 3, 7)
    assert "undecided, run 7 more" in found.why


def test_an_empty_folder_of_results_is_an_error(run, tests, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "T-READ-01-fio.hosts").write_text("node1")
    ran = run("verdict", tests, "empty")
    assert ran.code == 1
    assert ran.refusal.startswith("empty: found no result, expected a folder that the test scripts wrote")


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_missing_results_of_mandatory_requirements_are_incomplete(run, tests, tmp_path, form):
    path = fio_run(tmp_path)
    ran = run("verdict", tests, path, "--format", form)
    assert ran.code == 3
    assert ran.refusal == "verdict: INCOMPLETE: mandatory requirements without a result: R-WRITE-01, R-MIX-01"
    # A table ends with its answer.
    assert ran.out.count("INCOMPLETE") == (2 if form == "table" else 1)
    assert run("verdict", tests, path, "--partial", "--format", form).code == 0


def test_the_word_is_in_the_document_and_opens_the_workbook(run, tests, tmp_path):
    import docx
    import openpyxl

    path = fio_run(tmp_path)
    for name in ("v.docx", "v.xlsx", "v.md"):
        assert run("verdict", tests, path, "-o", name).code == 3
    assert docx.Document(tmp_path / "v.docx").core_properties.title == "INCOMPLETE: acceptance of plan"
    book = openpyxl.load_workbook(tmp_path / "v.xlsx")
    assert book.active.title == "Verdict"
    assert book.active["A1"].value.startswith("INCOMPLETE: plan: rehearsal on one machine")
    row = next(row for row in book["Requirements"].values if row[0] == "R-READ-01")
    # 131.072 MB/s of 1 MB/s.
    assert (row[1:4], row[6:8]) == (("mandatory", "pass", pytest.approx(131.072)), (1, "MB/s"))
    assert (tmp_path / "v.md").read_text().startswith("# INCOMPLETE: plan")


def test_each_part_of_a_mixed_test_has_the_size_of_its_own_rate(tmp_path):
    def change(found):
        line(found, "R-MIX-01")["conditions"].update(duration=1800)

    job = ingest.accept(plan(tmp_path, change), tmp_path / "tests").results["T-MIX-01-fio"]
    write = job.files["fio/T-MIX-01-fio.fio"].partition(".write]")[2]
    options = dict(pair.split("=", 1) for pair in write.split() if "=" in pair)
    # 48 MB/s for half an hour, of 256 threads; with the reads it would be four times as much.
    assert int(options["size"]) == pytest.approx(48e6 * 1800 / 256, rel=0.003)


@pytest.mark.parametrize("name", ["hpc-128-nodes", "enterprise-64-nodes", "llm-16384-gpus"])
def test_the_data_of_every_example_fit_the_system_that_is_bought(tmp_path, name):
    made = ingest.accept(EXAMPLES / f"{name}.yaml", tmp_path / "tests")
    capacity = next(one for one in made.requirements if one.id == "R-CAP-01")
    assert made.setting.data.all_bytes < capacity.value / 2
    fills = {name for test in made.tests for name in test.files if name.startswith("fio/fill-data")}
    assert fills == {"fio/fill-data.sh"}
    assert made.effort.tools == ("fio",)
    assert "Data\n" in (tmp_path / "tests" / "README.md").read_text()
    assert any("25 s of the highest mandatory bandwidth" in one["why"] for one in made.to_dict()["assumptions"])


def test_the_user_may_allow_less_data(tmp_path):
    made = ingest.accept(plan(tmp_path), tmp_path / "tests", tool=TOOLS, most_data="4 GiB")
    assert made.setting.data.all_bytes == pytest.approx(4 * 2**30)
    assert [test.id for test in made.tests if test.tool == "dlio"] == ["T-READ-01-dlio", "T-READ-02-dlio"]


def test_a_line_that_asks_for_less_is_judged_by_the_same_runs(tmp_path):
    def change(found):
        lower = json.loads(json.dumps(line(found, "R-READ-01")))
        found["requirements"].append({**lower, "id": "R-READ-09", "value": 1.28e6})

    made = ingest.accept(plan(tmp_path, change), tmp_path / "tests", tool="fio", scale="1node")
    assert made.results["T-READ-01-fio"].also == {"R-READ-09": 1e4}
    assert "T-READ-09-fio" not in made.results

    def slow(found):
        for job in found["jobs"]:
            paced(job["read"], 100_000, 131072)

    answer = ingest.verdict(tmp_path / "tests", fio_run(tmp_path, slow))
    assert answer.results["R-READ-01"].result == "fail"
    assert answer.results["R-READ-09"].result == "pass"
    assert answer.results["R-READ-09"].margin == pytest.approx(19)


def test_an_earlier_result_is_never_overwritten(tests, tmp_path):
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    results = tests / "results"
    results.mkdir()
    (results / "T-META-02-fio.run1.json").write_text("mine")
    finished("sh", tests / "fio/T-META-02-fio.sh", TARGET=str(tmp_path))
    assert (results / "T-META-02-fio.run1.json").read_text() == "mine"
    assert (results / "T-META-02-fio.run2.json").exists()


def test_caches_are_dropped_before_every_run_or_nothing_runs(tmp_path):
    ingest.accept(plan(tmp_path), tmp_path / "tests", tool="ior", hosts=None)
    (tmp_path / "tests/hosts.txt").write_text("".join(f"n{number}\n" for number in range(128)))
    words, given = ["sh", tmp_path / "tests/ior/T-READ-01-ior.sh"], {"TARGET": str(tmp_path), "LAUNCH": "true"}
    assert "DROP_CACHES" in finished(*words, check=False, **given).stderr
    finished(*words, **given, DROP_CACHES=f"echo dropped >> {tmp_path}/drops")
    assert (tmp_path / "drops").read_text() == "dropped\n" * 3


def test_an_empty_folder_stays_the_same_folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o700)
    before = folder.stat()
    ingest.accept(plan(tmp_path), folder)
    assert (folder.stat().st_ino, folder.stat().st_mode) == (before.st_ino, before.st_mode)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("other")
    ingest.accept(plan(tmp_path), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "other/tests.json").exists()


def test_force_wants_the_sums_of_an_earlier_call(tmp_path):
    ingest.accept(plan(tmp_path), tmp_path / "tests")
    (tmp_path / "tests/SHA256SUMS").unlink()
    with pytest.raises(UsageError, match="no SHA256SUMS"):
        ingest.accept(plan(tmp_path), tmp_path / "tests", force=True)
