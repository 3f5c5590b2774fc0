"""Results that were made or edited to pass: each is not valid or has a word of caution, and honest runs pass without one."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from conftest import finished, first, in_place
from outputs import as_scripted, edited, elbencho_json, ior_text, listed_anew, mdtest, summary, summed, words_on
from plans import plan, times

import ingest
from ingest.acceptance import run_files
from ingest.acceptance.pack import steps_of_terms
from ingest.acceptance.run_files import differences
from ingest.acceptance.service_limits import DEGRADED, JUDGED
from ingest.acceptance.test_spec import TOOLS, Observed, Run
from ingest.acceptance.tools import elbencho, fio
from ingest.acceptance.tools import ior as ior_files
from ingest.acceptance.tools.job_files import unlike_span
from ingest.site.service_records import records

pytestmark = pytest.mark.usefixtures("short_rehearsal")
READ, WRITE = "T-READ-01-fio", "T-WRITE-01-fio"
DAY = 86_400


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Two runs each of a test of reads and one of writes, as their scripts leave them."""
    folder = tmp_path_factory.mktemp("honest")
    (folder / "storage").mkdir()
    ingest.accept(plan(folder, times(1e-3)), folder / "tests", scale="1node", repeats=2)
    for test in (READ, WRITE):
        finished("sh", f"fio/{test}.sh", cwd=folder / "tests", TARGET=str(folder / "storage"))
    return folder / "tests"


@pytest.fixture
def copied(ran, tmp_path):
    shutil.copytree(ran, tmp_path / "tests")
    return tmp_path / "tests"


def test_honest_runs_pass_without_a_word(ran):
    answer = ingest.verdict(ran, ran / "results")
    assert {one.test: one.why for one in answer.evidence} == {READ: "", WRITE: ""}
    assert [one.unchanged for one in answer.evidence] == [True] * 4
    for test in (READ, WRITE):
        result, words, _ = words_on(ran, test)
        assert (result, words) == ("pass", [])
    assert answer.span.startswith("4 valid runs, ")
    assert answer.span.endswith(os.uname().nodename)


JOBS, SCRIPTED, OTHERS = yaml.safe_load(Path(__file__).with_name("manipulations.yaml").read_text()).values()


@pytest.mark.parametrize("name", [*first(2, JOBS), *(name for name, job in JOBS.items() if "pasted" in job)])
def test_a_run_of_another_job_is_not_valid(copied, tmp_path, name):
    test, options, word, pasted = (JOBS[name].get(key) for key in ("test", "options", "word", "pasted"))
    text = (copied / f"fio/{test}.fio").read_text()
    for key, value in options.items():
        text, found = re.subn(rf"^{key}=.*$", f"{key}={value}", text, flags=re.MULTILINE)
        text = text if found else f"{text.rstrip()}\n{key}={value}\n"
    # Which options ran does not depend on how long.
    text = text.replace("runtime=1\n", "runtime=2\n" if pasted else "runtime=100ms\n").replace("allow_file_create=0\n", "")
    (tmp_path / "other.fio").write_text(text)
    path = copied / f"results/{test}.run1.json"
    before = json.loads(path.read_text())["timestamp_ms"]
    done = finished("fio", "--output-format=json", f"--output={path}", tmp_path / "other.fio", cwd=tmp_path, check=False)
    for left in ("/dev/shm" if "directory" in options else tmp_path,):
        for file in os.listdir(left):
            if file.startswith(f"{test}."):
                os.remove(os.path.join(left, file))
    if done.returncode or not path.read_text().startswith("{"):
        # This machine lacks the engine or the file system: the same result with these options in it.
        shutil.copy(copied / f"results/{test}.run2.json", path)
    found = json.loads(path.read_text())
    whole = json.loads((copied / f"results/{test}.run2.json").read_text())
    for job, own in zip(found["jobs"], whole["jobs"], strict=True):
        job["job options"] = own["job options"] | ({} if pasted else {key: str(value) for key, value in options.items()})
    found["global options"] = {key: one for key, one in whole["global options"].items() if pasted or key not in options}
    path.write_text(json.dumps({**found, "timestamp_ms": before}))
    listed_anew(path)
    result, words, why = words_on(copied, test)
    assert pasted or result == "not tested"
    assert re.search(word if pasted else re.escape(word), " ".join([why, *words]))


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_script_meters_what_a_result_does_not_tell(copied, tmp_path, name):
    test, options, word = (SCRIPTED[name][key] for key in ("test", "options", "word"))
    job, path = copied / f"fio/{test}.fio", copied / f"results/{test}.run3.json"
    own = json.loads((copied / f"results/{test}.run2.json").read_text())
    whole = job.read_text()
    job.write_text(re.sub(rf"^(?:{'|'.join(options)})=.*\n", "", whole, flags=re.MULTILINE)
                   + "".join(f"{key}={value}\n" for key, value in options.items()))  # fmt: skip
    finished("sh", f"fio/{test}.sh", cwd=copied, TARGET=str(tmp_path))
    job.write_text(whole)
    found = json.loads(path.read_text())
    for one, other in zip(found["jobs"], own["jobs"], strict=True):
        one["job options"] = other["job options"]
    path.write_text(json.dumps({**found, "global options": own["global options"]}))
    listed_anew(path)
    assert word in " ".join(words_on(copied, test)[1])


@pytest.mark.parametrize("contents", ["", "0,0,0", "0,65536,1"])
def test_a_sample_that_the_script_could_not_take_is_a_caution(copied, contents):
    summed(copied / f"results/{READ}.sha256", lambda text: re.sub("contents=.*", f"contents={contents}", text))
    result, (word,), _ = words_on(copied, READ)
    assert (result, word.partition(" next")[0]) == ("pass", "counters or samples are missing")


@pytest.mark.parametrize(("tool", "text", "code", "said"), [
    *((tool, "exit 127", 1, f"found no {tool}") for tool in ("gzip", "paste", "split", "xargs", "timeout")),
    ("split", 'case $* in *--filter*) exit 1; esac', 1, "--filter"),
    *(("fio", f'until [ -s "${{0%fio}}sleep.ran" ]; do :; done; {end}', code, "")
      for end, code in (("exit 3", 3), ("kill -TERM $PPID", 130))),
])  # fmt: skip
def test_a_script_that_ends_early_leaves_no_sample_behind(tmp_path, tool, text, code, said):
    """Before anything runs where it lacks a command; else neither a process nor a file of the sample remains."""
    ingest.accept(plan(tmp_path), tmp_path / "tests", scale="1node", tool="fio")
    path = in_place(tmp_path, **{"sleep": 'echo $$ > "$0.ran"; exec tail -f /dev/null', tool: text})
    done = finished("sh", tmp_path / f"tests/fio/{WRITE}.sh", check=False, PATH=path, TARGET=str(tmp_path))
    assert (done.returncode, said in done.stderr, done.stderr.count("\n")) == (code, True, bool(said))
    assert (tmp_path / "tests/results").exists() != bool(said)
    assert [*tmp_path.glob("tests/results/.*")] == []
    assert said or not Path("/proc", (tmp_path / "sleep.ran").read_text().strip(), "exe").exists()


@pytest.mark.parametrize(("launch", "lacks"), [("nowhere -N1", "nowhere"), ("false", "mdtest on each client")])
def test_a_script_names_the_tool_that_is_not_there(tmp_path, launch, lacks):
    ingest.accept(plan(tmp_path), tmp_path / "tests", scale="1node", tool="mdtest")
    script = tmp_path / "tests/mdtest/T-META-01-mdtest.sh"
    done = finished("sh", script, check=False, TARGET=str(tmp_path), LAUNCH=launch)
    assert (done.returncode, done.stderr.count("\n"), f"found no {lacks}" in done.stderr) == (127, 1, True)


def test_a_rate_that_is_raised_by_what_its_tool_rounds_gains_nothing(copied):
    before = ingest.verdict(copied, copied / "results").results["R-READ-01"].measured
    for run in (1, 2):
        path = copied / f"results/{READ}.run{run}.json"
        found = json.loads(path.read_text())
        for job in found["jobs"]:
            job["read"]["bw_bytes"] *= 1.019
        path.write_text(json.dumps(found))
        listed_anew(path)
    answer = ingest.verdict(copied, copied / "results")
    assert (answer.refused, answer.results["R-READ-01"].measured) == ({}, pytest.approx(before, rel=2e-3))


def renumber(results, numbers):
    for old, new in numbers.items():
        (results / f"{READ}.run{old}.json").rename(results / f"{READ}.run{new}.json")


def unlisted(results):
    (results / f"{READ}.sha256").unlink()


def exchanged(results):
    unlisted(results)
    for old, new in ((1, 3), (2, 1), (3, 2)):
        renumber(results, {old: new})


def chosen(results):
    unlisted(results)
    renumber(results, {1: 41, 2: 57})


def best(results):
    """Two of four runs of two starts of the script: the second of one, the first of the other."""
    folder = results.parent
    finished("sh", f"fio/{READ}.sh", cwd=folder, TARGET=str(folder.parent))

    def change(text):
        lines = re.sub(r"\.run([1-4])\.", lambda at: f".run{'0120'[int(at[1]) - 1]}.", text).splitlines(keepends=True)
        return "".join(line for line in lines if ".run0." not in line)

    summed(results / f"{READ}.sha256", change)
    for old, new in ((1, 0), (2, 1), (3, 2), (4, 0)):
        renumber(results, {old: new})
    (results / f"{READ}.run0.json").unlink()


def all_moved(results):
    """Dates of results and records half a day earlier."""
    for path in results.glob(f"{READ}.run*.json"):
        found = json.loads(path.read_text())
        earlier = {"timestamp": found["timestamp"] - 43_200, "timestamp_ms": found["timestamp_ms"] - 43_200_000}
        path.write_text("{\n" + json.dumps({**found, **earlier})[1:])
        listed_anew(path)
    earlier = lambda text: re.sub(r"(# |(?<=# \d{10}) )(\d{10})\b", lambda at: f"{at[1]}{int(at[2]) - 43_200}", text)  # noqa: E731
    summed(results / f"{READ}.sha256", earlier)


def without_numbers(results):
    unlisted(results)
    for at in (1, 2):
        (results / f"{READ}.run{at}.json").rename(results / f"{at}.json")


def relisted(pattern, new):
    """The record of a test with other words in it."""
    return lambda results: summed(results / f"{READ}.sha256", lambda text: re.sub(pattern, new, text))


def without(*keys, **others):
    """Results whose jobs lack keys, and others that have values."""

    def change(results):
        for path in results.glob(f"{READ}.run*.json"):
            found = {key: one for key, one in (json.loads(path.read_text()) | others).items() if one is not ...}
            found["jobs"] = [{key: one for key, one in job.items() if key not in keys} for job in found["jobs"]]
            path.write_text("{\n" + json.dumps(found)[1:])
            listed_anew(path)

    return change


FILES = {
    "another boot": (relisted(r"(run2.json .*before=)\d", r"\g<1>9"), "another time than that of the kernel"),
    "another machine": (relisted(r"(run2.json .*before=\d+,[\d.]+),(\d+)", r"\1,1"), "counted anew within one start"),
    "a run between two": (relisted(r"(run2.json .*before=\d+,[\d.]+),(\d+)", r"\1,\g<2>0000"), "between two runs: one may"),
    "more than a run": (relisted(r"(run1.json .*after=\d+,[\d.]+),(\d+)", r"\1,\g<2>0000"), "runs thrown away?"),
    "turns left out": (relisted(r" turn=\d/\d", ""), "counters or samples are missing"),
    "another job file": (relisted(rf".+(  fio/{READ}.fio)", r"0\1"), f"another fio/{READ}.fio ran"),
    "a fio that edits": (relisted(r"  (/.*/fio)", r"  script:\1"), "fio is a script"),
    "a record edited alone": (
        lambda results: (log := results / f"{READ}.sha256").write_text(
            re.sub(r"contents=\d+", "contents=9999", log.read_text())
        ),
        "record: the lines of the script",
    ),
    "no disks": (without(disk_util=...), "no disk_util in the result"),
    "no context switches": (without("ctx"), "no ctx in the result"),
    "a disk in memory": (without(disk_util=[{"name": "zram0"}]), "the disk is zram0"),
    "a figure": (
        lambda results: (path := results / f"{READ}.run1.json").write_text(path.read_text().replace('"usr_cpu"', '"x"')),
        "the file was changed after the run",
    ),
    "runs left out": (chosen, "runs left out: 1, 2, 3, 4, 5 and 50 more"),
    "a run left out": (lambda results: (results / f"{READ}.run1.json").unlink(), "runs left out: 1"),
    "the last run left out": (lambda results: (results / f"{READ}.run2.json").unlink(), "runs left out: 2"),
    "runs exchanged": (exchanged, "clock: it began before"),
    "a result of another test": (
        lambda results: (results / f"{WRITE}.run1.json").replace(results / f"{READ}.run1.json"),
        f"file: named {READ}, holds a result of {WRITE}",
    ),
    "a copy": (lambda results: shutil.copy(results / f"{READ}.run1.json", results / f"{READ}.run2.json"), "duplicate of"),
    "no record of the script": (unlisted, "no hash of the script next to the results"),
    "no list of tests": (lambda results: (results / f"{READ}.tests.sha256").unlink(), "no record of the list of tests next to"),
    "the best of two starts": (best, "turns 1 of one start of its script left no run"),
    "dates of results and records": (all_moved, "another time than that of the kernel"),
    "no counters": (relisted(r" before=.*", ""), "counters or samples are missing next to the results"),
    "names without numbers": (without_numbers, "no hash of the script next to the results"),
    "storage in memory": (relisted(r"(# \d+ \d+ \S+) \S+", r"\1 tmpfs"), "file system: found tmpfs"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_were_chosen_moved_or_copied_have_a_word(copied, name):
    change, word = FILES[name]
    change(copied / "results")
    _, words, why = words_on(copied, READ)
    assert word in " ".join([why, *words])


def test_a_run_that_is_explained_is_not_missing(copied):
    results = copied / "results"
    shutil.copy(results / f"{READ}.run2.json", results / "kept")
    unlisted(results)
    renumber(results, {2: 3})
    assert words_on(copied, READ)[0] == "not tested"
    (results / f"{READ}.run2.why").write_text("a client lost its link during the run")
    assert words_on(copied, READ)[0] == "pass"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    return ingest.accept(plan(folder), folder / "tests", tool=TOOLS, repeats=1)


def ior(made):
    block = made.results["T-READ-01-ior"].loads[0].dataset_bytes // 256
    return as_scripted(ior_text("T-READ-01-ior", 128, 256, block, 130.0), made.tests)


def opens(made):
    return as_scripted(mdtest("T-META-01-mdtest", 128, 256, "-C -E -r -w 4096 -e 4096"), made.tests)


def phase(made):
    return as_scripted(elbencho_json("T-READ-01-elbencho", 128, 2, 130_000_000), made.tests)


def epochs(made):
    test = made.results["T-READ-01-dlio"]
    samples, files = 1.02 * 128e6 / 2**27, test.parameters["num_files_train"]
    return summary(128, 128, files, samples, 2**27, epochs=test.parameters["epochs"])


NAMED = {"DLIO": "T-READ-01-dlio.run1/summary.json"}


@pytest.mark.parametrize("name", OTHERS)
def test_an_edited_result_of_another_tool_is_not_valid(made, tmp_path, name):
    change = OTHERS[name]
    path = tmp_path / NAMED.get(name.partition(",")[0], "result.txt")
    path.parent.mkdir(exist_ok=True)
    text = globals()[change["of"]](made)
    path.write_text(text)
    assert ingest.verdict(made.folder, path).refused == {}
    assert edited(text, text, change) != text
    path.write_text(edited(text, text, change))
    answer = ingest.verdict(made.folder, path)
    assert change["word"] in " ".join(answer.refused.values())
    assert {one.result for one in answer.tests} == {"not tested"}
    assert answer.word == "INCOMPLETE"


@pytest.mark.parametrize(("share", "valid"), [(1.0, True), (1.009, True), (1.011, False)])
def test_no_client_moves_more_than_its_network_carries(made, share, valid):
    test = made.results["T-READ-01-elbencho"]
    (load,) = test.loads
    test = replace(test, loads=(replace(load, network=load.clients * 1e6),))
    seen = Observed(load.name, "read", share * load.clients * 1e6, "B/s")
    why = differences(test, Run("elbencho", "", test.id, (seen,)))
    assert any("of the storage NICs of all clients" in text for text in why) is not valid


def test_a_log_of_seconds_that_was_edited_is_not_valid(copied):
    log = copied / f"results/{READ}.run1.bw/{READ}_bw.1.log"
    log.parent.mkdir()
    log.write_text("1000, 1, 0, 131072, 0\n")
    listed = f"{'0' * 64}  {READ}.run1.bw/{READ}_bw.1.log\n"
    summed(copied / f"results/{READ}.sha256", lambda text: re.sub(r"(?<=\n)", listed, text, count=1))
    result, words, why = words_on(copied, READ)
    assert result == "not tested"
    assert f"{READ}.run1.bw/{READ}_bw.1.log was changed after the run" in " ".join([why, *words])


def test_every_term_that_a_test_shows_has_its_test():
    shown = {one.id for one in records() if one.path in (*JUDGED, *DEGRADED)}
    tested = {one.id for one in records() if one.verification.startswith("test: ")}
    assert tested <= shown | {*steps_of_terms()}
    assert {"S-SEC-02", "S-CLI-03"} <= {*steps_of_terms()}


def of_fio(rate=1e9, **changed):
    """What does not agree in an entry of fio: a second, a thousand requests of 1 MB, one outstanding."""
    spread = {"mean": changed.pop("mean", 1e6), "min": 0, "max": 1e9, "N": 1000}
    part = {"runtime": 1000, "total_ios": 1000, "io_bytes": 10**9, "lat_ns": spread, **changed}
    return [*fio._contradictions(part, rate, 1, 1, "read", "")]


def of_run(ctx=1000, usr=1.0, disk=1000, other=None):
    """The remarks on a run of fio that writes 15 MB a thousand times in 100 s, one of the requests very late; in an `other` job
    too, which has these keys."""
    spread = {"mean": 1e8, "min": 5e7, "max": 4e9, "N": 1000, "percentile": {"99.000000": 100139008}}
    part = {"runtime": 100_000, "total_ios": 1000, "io_bytes": 15 * 10**9, "bw_bytes": 15 * 10**7, "clat_ns": spread}
    job = {"jobname": "T-WRITE-01-fio", "job options": {"rw": "write"}, "write": part, "read": {}, "ctx": ctx, "usr_cpu": usr}
    job |= {"job_runtime": 100_000, "latency_ms": {"100": 49.9, "250": 50.1, ">=2000": 0.01}}
    second = {**job, "write": {**part, "clat_ns": {**spread, "mean": 1.0001e8}}}
    jobs = [job] if other is None else [job, {key: one for key, one in second.items() if key != "usr_cpu"} | other]
    found = {"fio version": "fio-3.33", "jobs": jobs, "disk_util": [{"write_ios": disk - 1, "write_merges": 1}]}
    (run,) = fio.read("{\n" + json.dumps(found)[1:], "x.json")
    assert run.loads[0].contradictions == ()
    return [*run.loads[0].remarks]


def of_meters(moved=1e9, packed=65_536, distinct=1, clock=0.0):
    """What does not agree with the meters of a minute in which 1 GB was asked for: bytes, a sample of one piece, the clock."""
    before, after = ((0, clock + at, asked, 0, 0, 0, 0) for at, asked in ((0, 0), (60, 10**9)))
    record = run_files.Record(0, 60, "n", "nfs", {}, {"before": before, "after": after, "contents": (packed, 65_536, distinct)})
    run = Run("fio", "", "", (Observed("", "read", moved, "B/s", seconds=1),))
    return [*run_files._unlike_meters(run, record, SimpleNamespace(scale="1node", loads=()))]


def of_ior(**changed):
    figures = {"requests": 1024, "moving": 100.0, "whole": 100.0, **changed}
    return [*ior_files._contradictions(1000, 1000, **figures)]


def of_elbencho(rate):
    return [
        *elbencho._contradictions(
            Observed("x", "read", rate, "B/s", seconds=1), {"bytes": 1e9, "iops": 1, "command": '"-s" "None"'}, ""
        )
    ]


def of_span(seconds, **how):
    return [*unlike_span("01/05/2026 10:00:00", "01/05/2026 10:01:40", seconds, **how)]


def of_clocks(days, span=0.0):
    first = run_files.now() - days * DAY
    runs = (run_files.Evidence("", "", 1, first + after * DAY, (), "", True, "") for after in (0, span))
    return [one for one in run_files._notes([*runs]) if "next to the results" not in one]


@pytest.mark.parametrize(("said", "agreeing", "apart"), [
    (lambda ctx: of_run(ctx=ctx), 901, 899), (lambda usr: of_run(usr=usr), 0.981, 0.979),
    (lambda other: of_run(disk=2000, other=other), {"usr_cpu": 0.98}, {"usr_cpu": 0.5}),
    (lambda other: of_run(disk=2000, other=other), {"usr_cpu": 0.98}, {}),  # a client that does not say what its processor did
    (lambda disk: of_run(disk=disk), 747, 746), (lambda most: of_fio(bw_samples=10, bw_max=1e9 / 1024 / most), 1.495, 1.505),
    (lambda few: of_fio(bw_samples=few, bw_max=1e9 / 2048), 9, 10),
    (of_meters, 1.0199e9, 1.0201e9), (lambda packed: of_meters(packed=packed), 58_983, 58_982), (of_fio, 1.0200e9, 1.0209e9),
    (lambda distinct: of_meters(distinct=distinct), 0.901, 0.899), (lambda clock: of_meters(clock=clock), 60, 60.1),
    (lambda mean: of_fio(mean=mean), 1.0505e6, 1.0519e6),
    (lambda time: of_ior(moving=100 / time), 1.0495, 1.0505), (lambda time: of_ior(whole=time), 95.3, 95.1),
    (of_elbencho, 1.0520e9, 1.0530e9), (of_span, 106.9, 107.1),
    (lambda time: of_span(time, all_timed=True), 30.1, 29.9), (of_clocks, 89.9, 90.1),
    (lambda span: of_clocks(40, span), 29.9, 30.1),
])  # fmt: skip
def test_figures_differ_by_no_more_than_their_tool_rounds(said, agreeing, apart):
    assert (said(agreeing), len(said(apart))) == ([], 1)
