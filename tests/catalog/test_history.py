"""The history of errors: what each row rests on, today's part computed anew, and a commit run again."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.append(str(Path(__file__).parents[2] / "docs"))

import accuracy_history as history

import ingest
from ingest.sizing.evidence_ladder import ALL, KINDS, blind_error, past_errors

ROWS = past_errors()


ASKED = ["git", "cat-file", "-e", f"{history.THROUGH}^{{commit}}"]
WHOLE = shutil.which("git") is not None and subprocess.run(ASKED, check=False, cwd=ROOT, capture_output=True).returncode == 0
from_commits = pytest.mark.skipif(not WHOLE, reason="the commits of the repository are not here")


def test_a_row_says_how_it_came_about():
    before, after = ({(one.set, one.round, one.level, one.commit): one.cases for one in ROWS if one.kind == kind}
                     for kind in ("before", "after"))  # fmt: skip
    assert before == after
    for one in ROWS:
        assert one.kind in KINDS
        assert bool(one.commit) == (one.kind != "left out" and not one.is_pooled)
        assert (one.median_error is None) == (one.answered == 0)
        assert one.answered <= one.cases
        assert one.inside is None or one.inside <= one.answered


@pytest.mark.parametrize("level", ["measured", "transferred", "efficiency"])
def test_all_rates_of_a_level_are_those_of_the_commits(level):
    found = [one for one in ROWS if (one.level, one.kind) == (level, "before") and one.set in ("rates", "rounds")]
    blind = blind_error(level)
    assert (blind.set, blind.cases) == (ALL, sum(one.cases for one in found))
    assert (blind.answered, blind.inside) == (sum(one.answered for one in found), sum(one.inside or 0 for one in found))


def test_the_table_is_that_of_today():
    assert history.TABLE.read_text(encoding="utf-8") == history.content(history.kept())
    assert history.stale(write_anew=False) == []


def rows_of(commit):
    return [one for one in history.kept() if one["commit"] == commit and one["kind"] != "recorded"]


@from_commits
def test_a_commit_run_again_gives_its_rows():
    assert [one.row for one in history.of_commit("83d63cf4")] == rows_of("83d63cf4") != []
    assert [*history.recorded()] == [one for one in history.kept() if one["kind"] == "recorded"]


@from_commits
@pytest.mark.slow
def test_the_whole_history_run_again():
    assert [*history.from_commits()] == history.kept()


def test_the_command_prints_it(run):
    ran = run("validate", "--history")
    assert ran.code == 0
    assert ran.out.startswith("Median error on unseen rates: measured ")
    assert "rounds v6.0" in ran.out
    assert json.loads(run("validate", "kurth", "--history", "--format", "json").out)["history"][0]["kind"] == "recorded"
    assert ingest.validate("kurth", history=True).to_frame()["set"].unique().tolist() == ["kurth"]
