"""Some of the recorded questions, and a comparison that finds what moved."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest
from frozen.__main__ import ANSWERS, moved, report
from frozen.answers import condensed, differences, read

TESTS = Path(__file__).parents[1]
ANSWER = {
    "code": 0,
    "err": "ingest: warning: W60 the rate is emulated\n",
    "out": {
        "command": "bw",
        "results": {"gpus": {"value": 8, "unit": "GPU"}, "ingest_bandwidth_per_job": {"value": 6465110856.8, "low": 3.6e9}},
        "displays": ["8 GPUs", "6.465 GB/s"],
        "rungs": [{"basis": "peak", "results": {"gpus": {"value": 8.0}}, "note": "an upper bound " * 30}],
        "warnings": ["the rate is emulated"],
    },
}


def changed(change):
    """The answer after a change."""
    answer = copy.deepcopy(ANSWER)
    change(answer)
    return answer


def kinds(now):
    """What differs from the recorded answer, without the values."""
    return [(path, kind) for path, kind, _, _ in differences(condensed(ANSWER), now)]


def test_answers_of_today_are_those_recorded():
    words = [sys.executable, "-m", "frozen", "compare", "--sample", "200", "--jobs", "1"]
    settings = {**os.environ, "PYTHONPATH": str(TESTS)}
    ran = subprocess.run(words, check=False, cwd=TESTS.parent, env=settings, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_questions_are_many():
    questions = [words for words, _ in read(ANSWERS["drawn"])]
    assert len(questions) >= 20_000
    assert {words[0] for words in questions} >= {"bw", "checkpoint", "plan", "verdict", "measure", "catalog"}


def test_an_equal_answer_differs_in_nothing():
    assert kinds(ANSWER) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda one: one.update(code=3), ("code", "number")),
        (lambda one: one.update(err=""), ("err", "words")),
        (lambda one: one["out"]["results"]["gpus"].update(value=9), ("out.results.gpus.value", "number")),
        (lambda one: one["out"]["results"]["gpus"].update(value=8.0), ("out.results.gpus.value", "kind of number")),
        (lambda one: one["out"]["results"]["gpus"].pop("unit"), ("out.results.gpus.unit", "key dropped")),
        (lambda one: one["out"]["results"]["gpus"].update(low=8), ("out.results.gpus.low", "key added")),
        (lambda one: one["out"]["results"].update(gpus=one["out"]["results"].pop("gpus")), ("out.results", "order of keys")),
        (
            lambda one: one["out"]["results"]["ingest_bandwidth_per_job"].update(value=6465110856.8 * (1 + 3e-12)),
            ("out.results.ingest_bandwidth_per_job.value", "number"),
        ),
        (lambda one: one["out"]["displays"].reverse(), ("out.displays", "words or keys")),
        (lambda one: one["out"]["rungs"][0]["results"]["gpus"].update(value=8 * (1 + 3e-12)), ("out.rungs", "numbers")),
        (lambda one: one["out"]["rungs"][0].pop("note"), ("out.rungs", "words or keys")),
        (lambda one: one["out"]["warnings"].append("more"), ("out.warnings", "length")),
        (lambda one: one["out"].update(warnings=["The rate is emulated"]), ("out.warnings[]", "words")),
        (lambda one: one["out"].pop("command"), ("out.command", "key dropped")),
    ],
)
def test_what_moves_is_named(change, expected):
    assert kinds(changed(change)) == [expected]


def test_rounding_moves_nothing():
    def round_off(one):
        one["out"]["results"]["ingest_bandwidth_per_job"]["value"] *= 1 + 3e-16
        one["out"]["rungs"][0]["results"]["gpus"]["value"] *= 1 - 3e-16

    assert kinds(changed(round_off)) == []


def test_the_report_counts_kinds_and_shows_old_and_new(capsys):
    recorded = [(["bw", name], condensed(ANSWER)) for name in ("a", "b", "c")]
    now = changed(lambda one: one["out"]["results"]["gpus"].update(value=16))
    found, questions = moved(recorded, lambda asked: iter([ANSWER] + [now] * (len(asked) - 1)))
    report(found, 10)
    said = capsys.readouterr().out
    assert questions == 2
    assert "2 bw: out.results.gpus.value: number" in said
    assert "ingest bw b" in said
    assert "was '8'" in said
    assert "is  '16'" in said
