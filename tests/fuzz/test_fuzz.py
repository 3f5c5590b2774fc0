"""A few inputs of every kind of the fuzzer, every input that it has ever found, and a judge that sees what it must see."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.cases import Case, Finding, Outcome, from_json, to_json
from fuzz.judge import MOST_BYTES, MOST_LETTERS, MOST_SECONDS, WARNING, judge
from fuzz.kinds import KINDS, case_of
from fuzz.seeds import Seeds

TESTS = Path(__file__).parents[1]
FOUND = sorted((TESTS / "fuzz/found").glob("*.json"))
BW = "bw --format json"
GOOD = Outcome(0, out='{"schema": "ingest/1", "low": 1}')


def result(key, value, low, high, **more):
    """The JSON of one result."""
    found = {"value": value, "low": low, "high": high, **more}
    return Outcome(0, out=json.dumps({"schema": "ingest/1", "results": {key: found}}))


def python(*words):
    """Run Python where the tests are importable."""
    how = {"env": {**os.environ, "PYTHONPATH": str(TESTS)}, "capture_output": True, "encoding": "utf-8", "timeout": 300}
    return subprocess.run([sys.executable, *map(str, words)], check=False, **how)


def fuzz(*words):
    """Run the fuzzer as `make fuzz` does."""
    return python("-m", "fuzz", *words)


def test_a_hundred_inputs_find_nothing_new(fuzzed):
    """Always the same ones: `make fuzz` draws the many."""
    done, _ = fuzzed
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_was_found_stays_mended():
    assert len(FOUND) > 10
    done = fuzz(*FOUND)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"{path}: fine" for path in FOUND]


@pytest.mark.parametrize(
    ("words", "outcome", "what"),
    [
        (BW, GOOD, None),
        (BW, Outcome(3, out=GOOD.out), None),
        (BW, Outcome(2, err="ingest: --nodes: found 0\n"), None),
        (BW, Outcome(2, err="ingest: warning: x\n"), "message"),
        (BW, Outcome(1), "message"),
        (BW, Outcome(1, err="ingest: " + "x" * (MOST_LETTERS - len("ingest: "))), None),
        (BW, Outcome(1, err="ingest: " + "x" * (MOST_LETTERS + 1 - len("ingest: "))), "message"),
        (BW, Outcome(0, out=GOOD.out, err=f"{WARNING}{'x' * (MOST_LETTERS - len(WARNING))}"), None),
        (BW, Outcome(0, out=GOOD.out, err=f"{WARNING}{'x' * (MOST_LETTERS + 1 - len(WARNING))}"), "message"),
        (BW, Outcome(1, raised="Traceback (most recent call last):\nValueError: x"), "traceback"),
        (BW, Outcome(1, err="Traceback (most recent call last):\nValueError: x"), "traceback"),
        (BW, Outcome(-6), "crash"),
        (BW, Outcome(-9, stopped=True), "hang"),
        (BW, Outcome(0, out=GOOD.out, seconds=MOST_SECONDS - 0.1), None),
        (BW, Outcome(0, out=GOOD.out, seconds=MOST_SECONDS + 0.1), "hang"),
        (BW, Outcome(0, out=GOOD.out, memory=MOST_BYTES), None),
        (BW, Outcome(0, out=GOOD.out, memory=MOST_BYTES + 1), "memory"),
        (BW, Outcome(1, out="Needs 5 GB/s", err="ingest: x"), "json"),
        (BW, Outcome(1, out=GOOD.out, err="ingest: x"), None),
        (BW, Outcome(2, out=GOOD.out, err="ingest: x"), "payload"),
        (BW, Outcome(3, out=GOOD.out, err="a.py:1: UserWarning: x\ningest: x"), "message"),
        (BW, Outcome(0, out=GOOD.out, err="wrote x.json (1 kB)\nreplaced y\ningest: warning: x"), None),
        (BW, Outcome(4, err="ingest: x"), "code"),
        (BW, Outcome(139, err="ingest: x"), "code"),
        (BW, Outcome(0, out=GOOD.out.replace("1}", "NaN}")), "json"),
        (BW, Outcome(0, out=GOOD.out.replace("1}", "-Infinity}")), "json"),
        (BW, Outcome(0, out=GOOD.out[:-1]), "json"),
        (BW, Outcome(0, out="{}"), "json"),
        (BW, Outcome(0, out=""), "json"),
        (BW, Outcome(0, out=GOOD.out, written={"out.json": b"{"}), "json"),
        (BW, result("gpus", 8, 8, 8), None),
        (BW, result("gpus", 8, 8.1, 9), "silent"),
        (BW, result("gpus", 8, 7, 7.9), "silent"),
        (BW, result("accelerator_utilization", 1, 1, 1), None),
        (BW, result("accelerator_utilization", 1.1, 1, 2), "silent"),
        (BW, result("accelerator_utilization", 0.9, 0.8, 1.1), "silent"),
        (BW, result("results", 1.1, 1.1, 1.1, name="accelerator_utilization"), "silent"),
        (BW, result("gpus", 8, 8, 9, computed=7.9), "silent"),
        ("bw", Outcome(1, out="Needs 5 GB/s", err="ingest: x"), "payload"),
        ("bw", Outcome(1, out="Needs 5 GB/s\nNot known\n  x", err="ingest: x"), None),
        ("bw -q", Outcome(1, out="Needs 5 GB/s", err="ingest: x"), None),
        ("train", Outcome(1, out="Needs 5 GB/s", err="ingest: x"), "payload"),
        ("catalog check mine", Outcome(1, out="mine: x", err="ingest: x"), None),
        ("train -o x.csv", Outcome(0, err="Needs 5 days\nwrote x.csv"), None),
        ("train -o x.csv", Outcome(0, err="Needs 5 days\nsays: something else\nwrote x.csv"), "message"),
        ("plan site.yaml -o site.yaml", Outcome(0, changed=("site.yaml",)), "input"),
        ("plan site.yaml", Outcome(0, changed=("site.yaml",)), "input"),
        ("bw -o site.yaml", Outcome(0, changed=("site.yaml",)), None),
        ("measure c --resume t.ledger", Outcome(0, changed=("t.ledger",)), None),
        ("measure c --resume t.ledger", Outcome(0, changed=("c/a.txt",)), "input"),
        ("accept plan.json -o tests", Outcome(0, changed=("tests/tests.json",)), None),
        ("accept tests/tests.json -o tests", Outcome(0, changed=("tests/tests.json",)), "input"),
    ],
)
def test_the_judge_sees_each_breach_and_knows_the_output_of_a_command_line(words, outcome, what, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    finding = judge(Case("options", tuple(words.split())), outcome)
    assert (finding and finding.what) == what


def test_a_case_tells_which_of_its_files_are_changed(tmp_path):
    case = Case("options", (), {"a": b"1", "b/c": b"2", "d": b"3", "pipe.json": b""})
    case.write(tmp_path)
    assert case.changed_in(tmp_path) == ()
    (tmp_path / "b/c").write_bytes(b"4")
    (tmp_path / "d").unlink()
    assert case.changed_in(tmp_path) == ("b/c", "d")


def test_a_traceback_is_named_by_its_place_and_not_by_its_line():
    raised = 'File "/x/ingest/units.py", line {}, in parse\n  float(x)\nValueError: could not convert {}\n'
    names = {judge(Case("options", ("bw",)), Outcome(1, raised=raised.format(line, line))).name for line in (1, 2)}
    assert names == {"traceback: ValueError in ingest.units.parse"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_makes_the_same_cases(kind, held):
    first, second = ([case_of(held, seed, index, [kind]) for index in range(8)] for seed in (1, 1))
    assert first == second
    assert {case.kind for case in first} == {kind}
    assert len({(case.words, tuple(case.files.items())) for case in first}) > 4
    assert first != [case_of(held, 2, index, [kind]) for index in range(8)]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    """A run of the fuzzer, and the file of its seeds."""
    folder = tmp_path_factory.mktemp("fuzz")
    options = ("--workers", 1, "--trials", 30, "--found", folder / "found", "--seeds", folder / "seeds")
    return fuzz("--count", 100, *options), folder / "seeds"


@pytest.fixture(scope="module")
def held(fuzzed):
    made = pickle.loads(fuzzed[1].read_bytes())  # noqa: S301  our own process wrote it
    assert isinstance(made, Seeds)
    return made


def test_a_fixture_holds_the_whole_case():
    case = Case("corpus", ("measure", "c"), {"c/a.txt": "é".encode(), "c/b": b"\xff\x00"})
    text = to_json(case, Finding("crash", "SIGABRT"))
    assert from_json(text) == case
    assert json.loads(text)["found"] == "crash: SIGABRT"
    assert json.loads(text)["files"]["c/a.txt"] == "é"


STUBBED = """
import os, sys, time
from fuzz import judge, kinds, runner, worker
import ingest.cli.main as entry

def main():
    word = sys.argv[1]
    if word == "crash": os.abort()
    if word == "hang": time.sleep(60)
    if word == "eat": held = bytearray(os.urandom(1)) * 1_000_000_000; time.sleep(60)
    if word == "raise": raise ValueError(word)
    print("fine")

entry.main = main
judge.MOST_SECONDS = 1.5
runner.MOST_BYTES = judge.MOST_BYTES = 600_000_000
words = ["fine", "crash", "fine", "hang", "raise", "eat", "fine"] * 2
kinds.case_of = worker.case_of = lambda held, seed, index, only=(): kinds.Case("options", (words[index],))
report = runner.run(None, 0, len(words), 60, 2)
print(sum(report.inputs.values()), sorted(report.found), set(report.times.values()))
"""


@pytest.mark.slow  # counts hangs by the clock, which a loaded machine shifts
def test_workers_that_crash_hang_or_eat_are_replaced():
    done = python("-c", STUBBED)
    found = ["crash: SIGABRT in crash (options)", "hang: hang", "memory: eat", "traceback: ValueError in a library"]
    assert done.stdout.strip() == f"14 {found} {{2}}"
