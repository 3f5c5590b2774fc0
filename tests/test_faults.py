"""Faults that are really made: processes killed in the middle, full file systems, foreign folders, two writers at once.

Whatever happens, a file is the old one or the new one and never half of it, and the call after it ends as if nothing had been.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rfp.offers import ONE_JOB, told

#: what Python reports before it changes a file system
CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
NOBODY = 65534


def started(*words):
    """A process of its own that runs a command and ends with its code."""
    child = os.fork()
    if child == 0:
        code = 99
        with contextlib.suppress(BaseException):
            code = told(*words).code or 0
        os._exit(code)
    return child


def killed(at, folder, *words, before=None):
    """Exit code (negative: a signal) and standard error of a command that is killed at the nth change in a folder."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 99
        with contextlib.suppress(BaseException):
            if before is not None:
                before()
            _die_at(at, str(folder))
            done = told(*words)
            code = done.code or 0
            os.write(writer, done.err.encode()[:60_000])
        os._exit(code)
    os.close(writer)
    with open(reader, "rb") as said:
        text = said.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def _die_at(at, folder):
    left = at

    def look(event, words):
        nonlocal left
        writes = event == "open" and isinstance(words[2], int) and words[2] & WRITES
        if (event in CHANGES or writes) and str(words[0]).startswith(folder):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(json.dumps(ONE_JOB))
    return path


def test_a_report_killed_at_any_change_leaves_old_or_new_files(site, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    names = ("rfp.csv", "rfp.json", "rfp2.csv")

    def words(folder):
        return ["report", site, *(word for name in names for word in ("-o", folder / name))]

    assert told(*words(whole)).code == 0
    expected, at, codes = content(whole), 0, set()
    while 0 not in codes:
        at += 1
        folder = tmp_path / f"killed{at}"
        folder.mkdir()
        for name in names:
            (folder / name).write_text("old")
        codes.add(killed(at, folder, *words(folder))[0])
        for name in names:
            assert (folder / name).read_bytes() in (b"old", expected[name]), (at, name)
        assert {path.suffix for path in folder.iterdir() if path.name not in names} <= {".part"}
        assert all(path.name.startswith(".rfp") for path in folder.iterdir() if path.name not in names)
        if at % 4 == 1:
            assert told(*words(folder)).code == 0
            assert {name: (folder / name).read_bytes() for name in names} == expected
    assert codes == {-signal.SIGKILL, 0}
    assert at > 5


LOG = Path(__file__).with_name("observation") / "logs" / "megatron.log"


def test_an_observation_killed_at_any_change_leaves_the_old_or_the_new_file(tmp_path):
    path, at, codes = tmp_path / "job.json", 0, set()
    words = ["observe", LOG, "--gpus", "16", "-o", path]
    assert told(*words).code == 0
    expected = path.read_bytes()
    while 0 not in codes:
        at += 1
        path.write_bytes(b"old")
        codes.add(killed(at, tmp_path, *words)[0])
        assert path.read_bytes() in (b"old", expected), at
        assert {one.suffix for one in tmp_path.iterdir() if one != path} <= {".part"}
    assert codes == {-signal.SIGKILL, 0}
    assert at > 2
    assert path.read_bytes() == expected


#: Reads its file until its standard input ends, then says how many letters.
READER = """
import select, sys
read = 0
while not select.select([sys.stdin], [], [], 0.01)[0]:
    read += len(open(sys.argv[1]).read())
print(read)
"""


def test_a_job_outlives_observations_that_are_killed(tmp_path):
    data, chance = tmp_path / "data", random.Random(18)
    data.write_text("a line\n" * 1000)
    job = subprocess.Popen([sys.executable, "-c", READER, data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for moment in sorted(chance.uniform(0.0, 0.6) for _ in range(5)):
        child = started("observe", "--pid", job.pid, "--window", "60 s", "--path", tmp_path, "-o", tmp_path / "job.json")
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert job.poll() is None
    assert int(job.communicate("")[0]) > 10 * len(data.read_text())
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


PLACES = ("nothing", "an empty folder", "the tests of another site")


@pytest.mark.parametrize(
    ("there", "most"), [(PLACES[1], 1), *(pytest.param(there, 5, marks=pytest.mark.slow) for there in PLACES)]
)
def test_accept_killed_at_some_moments_is_taken_up(there, most, site, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(json.dumps({**ONE_JOB, "name": "Another site"}))
    assert told("accept", site, "-o", tmp_path / "whole").code == 0
    expected = content(tmp_path / "whole")
    more = ["--force"] if there.startswith("the tests") else []

    def fresh(name):
        folder = tmp_path / name
        folder.mkdir()
        if more:
            assert told("accept", other, "-o", folder / "tests").code == 0
        elif there == "an empty folder":
            (folder / "tests").mkdir()
        return folder

    last = 1
    while killed(2 * last, folder := fresh(f"try{last}"), "accept", site, "-o", folder / "tests", *more)[0] != 0:
        last *= 2
    chance = random.Random(there)
    for at in chance.sample(range(1, 2 * last), most):
        folder = fresh(f"killed{at}")
        code, _ = killed(at, folder, "accept", site, "-o", folder / "tests", *more)
        found = content(folder / "tests") if (folder / "tests").is_dir() else {}
        visible = {name: text for name, text in found.items() if not name.startswith(".ingest-accept-")}
        if code == 0 or ("SHA256SUMS" in visible and visible["SHA256SUMS"] == expected["SHA256SUMS"]):
            assert visible.items() >= expected.items(), at
        elif visible:  # half of the tests is no list of tests, unless it is still the whole old one
            (folder / "results").mkdir()
            judged = told("verdict", folder / "tests", folder / "results")
            assert judged.code == 1 or visible["tests.json"] != expected["tests.json"], at
        again = told("accept", site, "-o", folder / "tests", *(more or (["--force"] if "SHA256SUMS" in found else [])))
        assert again.code == 0, (at, again.err)
        assert content(folder / "tests") == expected, at


def test_a_running_accept_is_not_taken_for_a_killed_one(site, tmp_path):
    building = tmp_path / "tests" / ".ingest-accept-other"
    building.mkdir(parents=True)
    import fcntl

    held = os.open(building, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert "holds 1 entries" in told("accept", site, "-o", tmp_path / "tests").refusal
    finally:
        os.close(held)
    assert told("accept", site, "-o", tmp_path / "tests").code == 0
    assert not building.exists()


@pytest.fixture
def full(tmp_path):
    """A file system of 256 kB in which 4 kB are left."""
    place = tmp_path / "full"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no file system may be mounted here; RLIMIT_FSIZE in tests/rfp/test_rfp_report.py does for it")
    try:
        (place / "ballast").write_bytes(bytes(252 << 10))
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


WRITERS = {
    "report": ("rfp.xlsx", ["report", "SITE", "-o", "FOLDER/rfp.xlsx"]),
    "plan": ("plan.json", ["plan", "SITE", "--samples", "0", "--format", "json", "-o", "FOLDER/plan.json"]),
    "bw": ("bw.json", ["bw", "--model", "resnet50", "--gpu", "h100", "-o", "FOLDER/bw.json"]),
    "accept": ("tests", ["accept", "SITE", "-o", "FOLDER/tests"]),
}


def filled_in(words, site, folder):
    return [word.replace("SITE", str(site)).replace("FOLDER", str(folder)) for word in words]


@pytest.mark.parametrize("command", WRITERS)
def test_a_full_file_system_is_one_line_and_leaves_the_old_file(command, site, full):
    name, words = WRITERS[command]
    if command != "accept":
        (full / name).write_text("old")
    before = content(full)
    done = told(*filled_in(words, site, full))
    assert done.code == 1
    assert "cannot be written: No space left on device" in done.refusal
    assert content(full) == before
    (full / "ballast").unlink()
    assert told(*filled_in(words, site, full)).code == 0


def corpus_of(folder, files):
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}.txt").write_text(f"line {number} of a text that is counted\n" * (number % 7))
    return folder


def test_a_count_on_a_full_file_system_goes_on_when_there_is_room(full, tmp_path, small, monkeypatch):
    monkeypatch.setattr("ingest.corpus.counting.ledger.SHARD_FILES", 10)
    corpus = corpus_of(tmp_path / "corpus", 1000)
    words = ["measure", corpus, "--quiet", "--exact", "--tokenizer", small, "--threads", "1", "--format", "json"]
    failed = told(*words, "--resume", full / "ledger")
    assert failed.code == 1
    assert "No space left on device" in failed.refusal
    assert (full / "ledger").stat().st_size > 2000
    (full / "ballast").unlink()
    resumed, straight = told(*words, "--resume", full / "ledger"), told(*words)
    assert resumed.code == 0
    assert json.loads(resumed.out)["results"] == json.loads(straight.out)["results"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("command", WRITERS)
def test_a_read_only_folder_of_somebody_else_is_left_alone(command, monkeypatch):
    _, words = WRITERS[command]
    folder = Path("/tmp") / f"ingest-faults-{os.getpid()}-{command}"
    folder.mkdir(mode=0o755)
    try:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
        site = folder / "site.yaml"
        site.write_text(json.dumps(ONE_JOB))
        site.chmod(0o644)
        before = content(folder)
        code, said = killed(0, folder, *filled_in(words, site, folder), before=lambda: os.setuid(NOBODY))
        (line,) = [line for line in said.splitlines() if not line.startswith("ingest: warning: ")]
        assert code == 1, said
        assert str(folder) in line
        assert "Permission denied" in line
        assert content(folder) == before
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def both(*calls):
    children = [started(*words) for words in calls]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_two_writers_of_one_file_leave_one_whole_file(site, tmp_path):
    words = ["plan", site, "--samples", "0", "-o", tmp_path / "plan.json"]
    assert both(words, words, words) == [0, 0, 0]
    assert json.loads((tmp_path / "plan.json").read_text())["command"] == "plan"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json", "site.yaml"]


@pytest.mark.parametrize("there", [True, False])
def test_two_accepts_into_one_folder_leave_the_tests_of_one(there, site, tmp_path):
    if there:
        (tmp_path / "tests").mkdir()
    other = tmp_path / "other.yaml"
    other.write_text(json.dumps({**ONE_JOB, "name": "Another site"}))
    codes = both(*(["accept", name, "-o", tmp_path / "tests"] for name in (site, other)))
    assert 0 in codes
    assert set(codes) <= {0, 1, 2}
    found = content(tmp_path / "tests")
    wholes = []
    for name in (site, other):
        assert told("accept", name, "-o", tmp_path / f"whole-{name.stem}").code == 0
        wholes.append(content(tmp_path / f"whole-{name.stem}"))
    assert found in wholes
    assert not list(tmp_path.glob(".ingest-accept-*"))


def until_done(chance, *words, seconds):
    """How often a command was killed at random moments, the first one early, until it ended by itself, and its exit code."""
    for kills in range(100):
        child = started(*words)
        end = time.monotonic() + chance.uniform(0, seconds if kills else seconds / 10) + 0.05 * kills
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(0.005)
        if not ended[0]:
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
        if (code := os.waitstatus_to_exitcode(ended[1])) != -signal.SIGKILL:
            return kills, code
    raise AssertionError("killed a hundred times")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_chain_of_plan_accept_and_verdict_killed_at_random_ends_as_if_nothing_had_been(seed, site, tmp_path):
    def chain(folder):
        (folder / "results").mkdir(parents=True)
        (folder / "tests").mkdir()
        (folder / "results" / "T-READ-02-ior.run1.txt").write_text("no result of IOR")
        return (
            ("plan", site, "--samples", "0", "-o", folder / "plan.json"),
            ("accept", folder / "plan.json", "-o", folder / "tests"),
            ("verdict", folder / "tests", folder / "results", "-o", folder / "verdict.json"),
        )

    chance, killed_times, straight, found = random.Random(seed), 0, tmp_path / "straight", tmp_path / "killed"
    for words, again in zip(chain(straight), chain(found), strict=True):
        began = time.monotonic()
        expected = told(*words).code
        kills, code = until_done(chance, *again, seconds=time.monotonic() - began)
        if again[0] == "accept" and code == 2:  # killed after its last change: the tests are whole
            code = told(*again, "--force").code
        assert code == expected, again
        killed_times += kills
    assert content(found / "tests") == content(straight / "tests")
    for name in ("plan.json", "verdict.json"):
        one, other = (json.loads((folder / name).read_text().replace(str(folder), "")) for folder in (straight, found))
        assert one == other, name
    assert killed_times > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_measurement_killed_at_random_gives_bw_the_same_bytes(seed, tmp_path, small, monkeypatch):
    monkeypatch.setattr("ingest.corpus.counting.ledger.SHARD_FILES", 10)
    corpus = corpus_of(tmp_path / "corpus", 2000)
    words = ["measure", corpus, "--quiet", "--exact", "--tokenizer", small, "--threads", "1"]
    began = time.monotonic()
    assert told(*words, "-o", tmp_path / "straight.json").code == 0
    usual = time.monotonic() - began
    resumed = [*words, "--resume", tmp_path / "ledger", "-o", tmp_path / "killed.json"]
    kills, code = until_done(random.Random(seed), *resumed, seconds=usual)
    assert code == 0
    assert kills > 0
    shards = [json.loads(line).get("shard") for line in (tmp_path / "ledger").read_text().splitlines()]
    done = [shard for shard in shards if shard is not None]
    assert sorted(done) == list(range(200))
    sizes = [told("bw", "--model", "llama3-8b", "--gpu", "h100", "--bytes-per-token", tmp_path / name, "--format", "json").out
             for name in ("straight.json", "killed.json")]  # fmt: skip
    first, second = (json.loads(text) for text in sizes)
    assert first["results"] == second["results"]
