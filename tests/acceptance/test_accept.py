"""The tests that `ingest accept` writes: what they ask for, what they refuse, and that nothing from outside gets into them."""

import hashlib
import json
import os
import re
from pathlib import Path

import pytest
from conftest import EXAMPLES, finished, table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import GOOD, line, plan, times

import ingest
from ingest.acceptance.loads import Setting, loads_of
from ingest.acceptance.test_spec import TOOLS
from ingest.acceptance.tools.fio import path_job
from ingest.errors import IngestError, UsageError
from ingest.requirement import Conditions, Requirement


def written(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def read_load(clients, rate, scale, threads=8):
    conditions = Conditions(operation="read", clients=clients, threads=threads, io_size=131072)
    asked = Requirement("R-READ-01", "mandatory", "s", "m", rate, "B/s", conditions)
    return loads_of(asked, "T", Setting(scale=scale))[0]


def test_every_requirement_is_tested_or_says_why_not(tmp_path):
    made = ingest.accept(plan(tmp_path), tmp_path / "tests", tool=TOOLS)
    tested = {test.requirement for test in made.tests}
    assert tested | set(made.untested) == {one["id"] for one in GOOD["requirements"]}
    assert set(made.untested) == {"R-CAP-01"}
    assert made.untested["R-CAP-01"].endswith("times the fill limit")
    assert made.warnings[-1] == f"R-CAP-01: no performance test: {made.untested['R-CAP-01']}"
    assert {test.tool for test in made.tests if test.requirement == "R-READ-01"} == {"fio", "ior", "elbencho", "dlio"}
    assert {test.tool for test in made.tests if test.requirement == "R-META-01"} == {"fio", "mdtest"}
    assert [test.tool for test in made.tests if test.requirement == "R-MIX-01"] == ["fio"]


def test_a_tool_is_named_once(tmp_path):
    with pytest.raises(UsageError, match=r"^--tool: fio is given more than once"):
        ingest.accept(plan(tmp_path), tmp_path / "tests", tool=["fio", "ior", "fio"])


def test_sums_and_hashes_are_those_of_the_files(tmp_path):
    ingest.accept(plan(tmp_path), tmp_path / "tests")
    done = finished("sha256sum", "--strict", "-c", "SHA256SUMS", cwd=tmp_path / "tests")
    assert done.stdout.count(": OK") == len(written(tmp_path / "tests")) - 1
    manifest = json.loads((tmp_path / "tests" / "tests.json").read_text())
    for test in manifest["tests"]:
        for name, expected in test["files"].items():
            assert hashlib.sha256((tmp_path / "tests" / name).read_bytes()).hexdigest() == expected


def test_a_request_that_direct_io_refuses_is_rounded_up(tmp_path):
    made = ingest.accept(plan(tmp_path), tmp_path / "tests", tool="fio")
    assert made.results["T-READ-02-fio"].loads[0].io_bytes == 102400
    assert "bs=102400\n" in (tmp_path / "tests/fio/T-READ-02-fio.fio").read_text()


@given(clients=st.integers(1, 5000), rate=st.floats(1e6, 1e14), threads=st.integers(1, 64))
def test_one_machine_must_reach_its_share(clients, rate, threads):
    full, one = read_load(clients, rate, "full", threads), read_load(clients, rate, "1node", threads)
    assert one.threshold * clients == pytest.approx(full.threshold)
    assert one.clients == 1
    assert one.threads <= threads
    assert one.seconds < 5
    assert one.dataset_bytes <= 2**26


@given(size=st.integers(1, 2**27), threads=st.integers(1, 64), files=st.sampled_from(["shared", "file per process"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_of_a_job_hold_whole_requests_and_all_of_the_data(tmp_path_factory, size, threads, files):
    folder = tmp_path_factory.mktemp("plan")

    def change(found):
        line(found, "R-READ-01")["conditions"] |= {"io_size": size, "threads": threads, "files": files}

    made = ingest.accept(plan(folder, change), folder / "tests", tool="fio", scale="full")
    test = made.results["T-READ-01-fio"]
    job = dict(pair.split("=", 1) for pair in test.files["fio/T-READ-01-fio.fio"].splitlines() if "=" in pair)
    io, each, total = int(job["bs"]), int(job["filesize"]), int(job["size"])
    assert io % 4096 == 0
    assert size <= io < size + 4096
    filled = test.files["fio/data-shared.fill.fio" if files == "shared" else "fio/data.fill.fio"]
    assert each % int(re.search(r"^bs=(\d+)$", filled, re.MULTILINE)[1]) == 0
    assert total == each * int(job["nrfiles"])
    assert total * (1 if files == "shared" else int(job["numjobs"]) * 128) >= test.loads[0].dataset_bytes
    # 1.5 times the 25 s of 128 MB/s that the servers are assumed to hold.
    assert test.loads[0].dataset_bytes >= 4.8e9 * (1 - 1e-9)


def test_a_mixed_test_has_the_shares_of_its_parts(tmp_path):
    made = ingest.accept(plan(tmp_path), tmp_path / "tests")
    loads = made.results["T-MIX-01-fio"].loads
    assert [load.name.removeprefix("T-MIX-01-fio") for load in loads] == [".read1", ".read2", ".write"]
    # Half of 192 MB/s, and a quarter twice.
    assert [load.threshold for load in loads] == [96e6, 48e6, 48e6]
    assert [f"{load.pattern} {load.operation}" for load in loads] == ["random read", "sequential read", "sequential write"]
    # Requests per second are as 0.5 / 128 KiB : 0.25 / 256 KiB : 0.25 / 256 KiB = 4 : 1 : 1; 1,536 / 128 clients = 12.
    assert [(load.threads, load.depth) for load in loads] == [(8, 1), (2, 1), (2, 1)]
    assert {load.clients for load in loads} == {128}
    implied = made.results["T-MIX-01-fio"].implied
    # 1,024 requests outstanding at 96 MB/s in 128 KiB: the latency of all parts.
    assert implied["mean_latency_allowed.read1"] == pytest.approx(1024 / (96e6 / 131072))
    assert implied["mean_latency_allowed.write"] == pytest.approx(implied["mean_latency_allowed.read1"])


@pytest.mark.parametrize(
    ("ident", "change", "why"),
    [
        ("R-MIX-01", lambda mixed: mixed["conditions"].pop("mix"), "make the plan again with this version"),
        ("R-READ-01", lambda reads: reads.update(conditions={"operation": "read"}), "its conditions name no clients"),
        ("R-READ-01", lambda reads: reads.update(value=None), "it has no value yet"),
    ],
)
def test_a_line_that_lacks_what_a_test_needs_has_none(tmp_path, ident, change, why):
    made = ingest.accept(plan(tmp_path, lambda found: change(line(found, ident))), tmp_path / "tests")
    assert made.untested[ident].endswith(why)


def test_reads_of_several_patterns_are_a_mixed_test_too(tmp_path):
    parts = [(0.9, 1048576, "sequential"), (0.08, 114688, "sequential"), (0.02, 4096, "random")]
    mix = [{"share": share, "operation": "read", "io_size": size, "pattern": pattern} for share, size, pattern in parts]
    path = plan(tmp_path, lambda found: line(found, "R-READ-01")["conditions"].update(mix=mix))
    loads = ingest.accept(path, tmp_path / "tests").results["T-READ-01-fio"].loads
    assert [(load.operation, load.threshold) for load in loads] == [("read", pytest.approx(128e6 * one[0])) for one in parts]
    # The fill of a rehearsal writes each file to its end: fio leaves out what is no whole request, and the test lacks it.
    ingest.accept(path, tmp_path / "one", scale="1node")
    fill = (tmp_path / "one/fio/T-READ-01-fio.fill.fio").read_text()
    sizes, requests = (map(int, re.findall(rf"^{key}=(\d+)$", fill, re.MULTILINE)) for key in ("filesize", "bs"))
    assert [size % request for size, request in zip(sizes, requests, strict=True)] == [0, 0, 0]


def test_dlio_gets_only_keys_that_it_reads_and_a_rate_that_passes_at_its_utilization(tmp_path):
    import yaml

    known = yaml.safe_load(Path(__file__).with_name("dlio_keys.yaml").read_text())["keys"]
    ingest.accept(plan(tmp_path), tmp_path / "tests", tool="dlio")
    text = (tmp_path / "tests/dlio/workload/T-READ-01-dlio.yaml").read_text()
    workload = yaml.safe_load(text)
    keys = {f"{part}.{key}" for part, values in workload.items() if isinstance(values, dict) for key in values}
    assert keys <= set(known)
    assert len(keys) > 10
    reader, train, data = workload["reader"], workload["train"], workload["dataset"]
    needed = 128 * reader["batch_size"] * data["record_length_bytes"] / train["computation_time"]
    assert needed * workload["metric"]["au"] == pytest.approx(128e6)
    assert data["num_files_train"] * data["record_length_bytes"] >= 5 * 128 * 2 * 2**40
    assert data["num_files_train"] >= 500 * 128 * reader["batch_size"]
    # In the order in which people write such files.
    assert [*workload] == ["model", "framework", "workflow", "dataset", "reader", "train", "metric"]
    filling = yaml.safe_load((tmp_path / "tests/dlio/workload/data.yaml").read_text())
    assert [*filling] == ["model", "framework", "workflow", "dataset"]
    # A rehearsal makes its own data.
    ingest.accept(plan(tmp_path), tmp_path / "one", tool="dlio", scale="1node")
    assert {one.suffix for one in tmp_path.glob("one/dlio/**/T-READ-01-*")} == {".sh", ".yaml"}


def test_dlio_does_not_test_what_no_training_reads(tmp_path):
    restored = plan(tmp_path, lambda found: line(found, "R-READ-01").update(metric="site_restart_bandwidth"))
    made = ingest.accept(restored, tmp_path / "tests", tool=TOOLS)
    assert {test.tool for test in made.tests if test.requirement == "R-READ-01"} == {"fio", "ior", "elbencho"}


# 36 emulated H100 on 18 hosts of 192 GiB: the published case of 126,563 files, 126,564 where rounded up.
@pytest.mark.parametrize(
    ("rate", "gpus", "words"), table("acceptance/cases.yaml")["mlpstorage_is_asked_with_its_own_arithmetic"]
)
def test_mlpstorage_is_asked_with_its_own_arithmetic(tmp_path, rate, gpus, words):
    def change(found):
        line(found, "R-READ-01").update(value=rate)
        line(found, "R-READ-01")["conditions"].update(clients=18)

    made = ingest.accept(plan(tmp_path, change), tmp_path / "tests", tool="dlio", client_memory="192 GiB")
    script = (tmp_path / "tests/mlperf/T-READ-01-mlperf.sh").read_text()
    assert made.results["T-READ-01-mlperf"].parameters["num_accelerators"] == gpus
    # Release 3.0 refuses any command of a benchmark without the name of the system.
    assert script.count("mlpstorage whatif") == script.count("--systemname") == 2
    assert [word for word in words if word not in script] == []


HOSTILE = table("acceptance/cases.yaml")["hostile_words_stay_words"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_stay_words(tmp_path, text):
    def change(found):
        found["site"]["name"] = text
        for one in found["requirements"]:
            one["statement"] = text
            if one["id"] != "R-CAP-01":
                one["metric"] = text
            if "cache" in one["conditions"]:
                one["conditions"]["cache"] = text

    ingest.accept(plan(tmp_path, change), tmp_path / "tests")
    harmless = written_plain(tmp_path)
    for name, content in written(tmp_path / "tests").items():
        plain = harmless[name]
        if name.endswith((".fio", ".sh", ".yaml")):
            assert without_comments(content) == without_comments(plain)
        if name == "README.md":
            assert outline(content) == outline(plain)
            assert re.search(r"(?<!\\)<script|\x1b|\x00|(?<!\\)\]\(", content) is None


def written_plain(tmp_path):
    folder = tmp_path / "plain"
    if not folder.exists():
        ingest.accept(plan(tmp_path, name="plain.json"), folder)
    return written(folder)


def without_comments(content):
    return [one for one in content.splitlines() if not one.startswith("#")]


def outline(content):
    """Everything that structures Markdown: headings but their words, fences, tables' widths."""
    lines = content.splitlines()
    return [re.match(r"#* ?", one)[0] or ("```" if one.startswith("```") else "") for one in lines], [
        len(re.findall(r"(?<!\\)\|", one)) for one in lines
    ]


NO_WORDS = ["../R-READ-01", "R READ", "R-READ-01\n", "$(x)", "", "R/1", 7, None, "R" * 65]
TWICE = {"r-read-02": "found the id 'R-READ-02' twice", "WRITE-01": "found the id 'R-WRITE-01' twice"}


@pytest.mark.parametrize(("ident", "message"), [*((one, "requirement 1: id: found") for one in NO_WORDS), *TWICE.items()])
def test_an_id_that_is_no_word_or_one_word_twice_is_refused(tmp_path, ident, message):
    with pytest.raises(IngestError, match=message) as refused:
        ingest.accept(plan(tmp_path, lambda found: found["requirements"][0].update(id=ident)), tmp_path / "tests")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "tests").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "mine.txt").write_text("mine")
    for force in (False, True):
        with pytest.raises(UsageError, match=r"-o: '.*/tests'"):
            ingest.accept(plan(tmp_path), tmp_path / "tests", force=force)
    assert written(tmp_path / "tests") == {"mine.txt": "mine"}


def test_force_replaces_tests_and_keeps_everything_else(tmp_path):
    ingest.accept(plan(tmp_path), tmp_path / "tests")
    (tmp_path / "tests" / "results").mkdir()
    (tmp_path / "tests" / "results" / "r.json").write_text("{}")
    (tmp_path / "tests" / "hosts.txt").write_text("n1\n")
    with pytest.raises(UsageError, match="--force"):
        ingest.accept(plan(tmp_path), tmp_path / "tests")
    ingest.accept(plan(tmp_path), tmp_path / "tests", tool="ior", force=True)
    left = written(tmp_path / "tests")
    assert left["results/r.json"] == "{}"
    assert left["hosts.txt"] == "n1\n"
    assert "ior/T-READ-01-ior.sh" in left
    assert "fio/T-READ-01-fio.fio" not in left


def test_nothing_is_left_where_writing_fails(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file, expected a folder"):
        ingest.accept(plan(tmp_path), tmp_path / "file")
    with pytest.raises(IngestError, match=r"folder .*nowhere' not found, expected one that can hold 'tests'"):
        ingest.accept(plan(tmp_path), tmp_path / "nowhere" / "tests")
    assert sorted(os.listdir(tmp_path)) == ["file", "plan.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_one_line(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o555)
    with pytest.raises(IngestError, match="Permission denied"):
        ingest.accept(plan(tmp_path), tmp_path / "closed" / "tests")


def test_what_conditions_leave_open_is_assumed_and_listed(tmp_path):
    def change(found):
        line(found, "R-WRITE-01")["conditions"] = {"operation": "write", "clients": 128}
        line(found, "R-META-02")["conditions"] = {"operation": "create", "clients": 128}

    made = ingest.accept(plan(tmp_path, change), tmp_path / "tests", tool="fio")
    load = made.results["T-WRITE-01-fio"].loads[0]
    assert (load.threads, load.io_bytes, load.seconds) == (8, 2**20, 1800)
    assumed = {one["name"]: one["value"] for one in made.to_dict()["assumptions"]}
    assert assumed["R-WRITE-01: io_size"] == 2**20
    assert assumed["R-META-02: threads"] == 8
    assert "R-READ-01: threads" not in assumed
    assert "threads: 8, not set by the requirement" in (tmp_path / "tests/README.md").read_text()


def test_a_rate_of_every_client_is_one_of_all(tmp_path):
    made = ingest.accept(plan(tmp_path, lambda found: line(found, "R-READ-01").update(unit="B/s/node")), tmp_path / "tests")
    assert made.results["T-READ-01-fio"].loads[0].threshold == 128 * 128e6


def test_hosts_are_checked_and_copied(tmp_path):
    (tmp_path / "hosts").write_text("node1\nnode2,8765\n")
    ingest.accept(plan(tmp_path), tmp_path / "tests", hosts=tmp_path / "hosts")
    assert (tmp_path / "tests" / "hosts.txt").read_text() == "node1\nnode2,8765\n"
    with pytest.raises(IngestError, match=r"--hosts: .*cannot be read: No such file"):
        ingest.accept(plan(tmp_path), tmp_path / "other", hosts=tmp_path / "nothing")
    (tmp_path / "hosts").write_text("node1;reboot\n")
    with pytest.raises(IngestError, match="expected a host name"):
        ingest.accept(plan(tmp_path), tmp_path / "other", hosts=tmp_path / "hosts")


@pytest.mark.parametrize("hosts", [None, "", "one\n"])
def test_a_script_without_its_clients_stops_at_once(tmp_path, hosts):
    ingest.accept(plan(tmp_path), tmp_path / "tests", tool="fio")
    if hosts is not None:
        (tmp_path / "tests" / "hosts.txt").write_text(hosts)
    done = finished("sh", tmp_path / "tests/fio/T-READ-01-fio.sh", check=False, TARGET=str(tmp_path))
    assert done.returncode == 2
    assert "hosts file" in done.stderr
    assert "expected 128" in done.stderr


def test_a_test_on_fewer_clients_takes_the_first_of_the_list(tmp_path):
    def change(found):
        line(found, "R-READ-01")["conditions"].update(clients=2)

    ingest.accept(plan(tmp_path, change), tmp_path / "tests", tool="ior")
    (tmp_path / "tests" / "hosts.txt").write_text("one\n\ntwo\nthree\n")
    finished("sh", tmp_path / "tests/ior/T-READ-01-ior.sh", TARGET=str(tmp_path), LAUNCH="true", DROP_CACHES="true")
    assert (tmp_path / "tests/results/T-READ-01-ior.hosts").read_text() == "one\ntwo\n"
    answer = ingest.verdict(tmp_path / "tests", tmp_path / "tests/results")
    assert {os.path.basename(name) for name in answer.refused} == {f"T-READ-01-ior.run{run}.txt" for run in (1, 2, 3)}


def test_a_rehearsal_never_uses_a_folder_that_is_there(tmp_path):
    ingest.accept(plan(tmp_path), tmp_path / "tests", tool="fio", scale="1node")
    mine = tmp_path / "T-READ-01-fio"
    mine.mkdir()
    (mine / "mine").write_text("mine")
    done = finished("sh", tmp_path / "tests/fio/T-READ-01-fio.sh", check=False, TARGET=str(tmp_path))
    assert done.returncode != 0
    assert (mine / "mine").read_text() == "mine"


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_the_command_prints_what_it_wrote(run, tmp_path, form):
    ran = run("accept", plan(tmp_path), "-o", "tests", "--format", form, "-v")
    assert ran.code == 0
    assert "T-READ-01-fio" in ran.out
    assert "each tool fills" not in ran.err + ran.out
    assert "R-CAP-01: no performance test" in " ".join(ran.err.split())
    if form == "json":
        assert ran.data == json.loads((tmp_path / "tests/tests.json").read_text())


@pytest.mark.parametrize(("words", "code", "message"), table("acceptance/refused.yaml")["bad_options_are_one_line"])
def test_bad_options_are_one_line(run, tmp_path, words, code, message):
    ran = run("accept", plan(tmp_path), "-o", "tests", *words)
    assert ran.code == code
    assert message in ran.refusal
    assert not (tmp_path / "tests").exists()


def test_a_higher_requirement_changes_thresholds_and_nothing_that_runs_on_one_machine(tmp_path):
    low = ingest.accept(plan(tmp_path), tmp_path / "low", tool="fio", scale="1node")
    high = ingest.accept(plan(tmp_path, times(1e6)), tmp_path / "high", tool="fio", scale="1node")
    for one, other in zip(low.tests, high.tests, strict=True):
        assert one.files == other.files
        assert [load.threshold * 1e6 for load in one.loads] == pytest.approx([load.threshold for load in other.loads])


def test_a_trial_overwrites_what_it_filled():
    fill, write, read = (path_job(name, 2**26, 1.5, 131072, 4, True) for name in ("fill", "write", "read"))
    assert "time_based" not in fill
    for job in (fill, write, read):
        assert "size=16777216\n" in job
        assert "numjobs=4\n" in job
    assert "runtime=1500ms\n" in read  # fio takes 1.5 as one second
    assert "rw=randread\n" in read


def test_a_pack_is_for_a_year_or_a_delivery_step_of_the_tender(tmp_path):
    site = EXAMPLES / "enterprise-64-nodes.yaml"
    whole = ingest.accept(site, tmp_path / "whole")
    first = ingest.accept(site, tmp_path / "first", step=0)
    same = ingest.accept(site, tmp_path / "same", years="0")
    assert [test.loads for test in first.tests] == [test.loads for test in same.tests]
    assert first.site.startswith(f"{whole.site}, step 0 (")
    grown = {line.id: line.value for line in whole.requirements}
    held = {line.id: line.value for line in first.requirements}
    assert held["R-CAP-01"] < grown["R-CAP-01"]
    for options, why in (
        ({"step": 30}, "--step: found 30, expected one of 0 to"),
        ({"step": 0, "years": 1}, "found both, expected one of them"),
    ):
        with pytest.raises(UsageError, match=why):
            ingest.accept(site, tmp_path / "none", **options)
    with pytest.raises(UsageError, match="expected a site file, which is planned for the years"):
        ingest.accept(plan(tmp_path), tmp_path / "none", step=0)


def test_a_pack_without_a_test_is_refused(tmp_path):
    def only_creates(found):
        found["requirements"] = [line(found, "R-META-02")]

    with pytest.raises(IngestError, match="found no line that dlio can test, expected at least one: R-META-02"):
        ingest.accept(plan(tmp_path, only_creates), tmp_path / "tests", tool="dlio")
    assert not (tmp_path / "tests").exists()
