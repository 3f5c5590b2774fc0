"""The statements of the founding notes: each is answered by its command, shown to be wrong, or out of scope."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "docs"))
import founding_notes
from common import DOCS

ROWS = founding_notes.rows()


def test_every_statement_has_one_answer():
    assert len(ROWS) == 82
    assert all(row.keys() <= founding_notes.KEYS for _, row in ROWS)
    assert all(len({"ask", "case", "scope"} & row.keys()) == 1 for _, row in ROWS)
    assert len({row["says"] for _, row in ROWS}) == len(ROWS)
    errors = " ".join((DOCS / "published-errors.md").read_text(encoding="utf-8").split())
    scope = errors.partition("## What stays unanswered")[2]
    left = [row["scope"] for _, row in ROWS if "scope" in row]
    assert len(left) <= 4
    assert all(f"| {words}" in scope for words in left)
    assert scope.count(" | `") == len(left)
    assert [row["error"] for _, row in ROWS if "error" in row and row["error"] not in errors] == []


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=lambda row: row["says"][:40])
def test_a_statement_agrees_with_its_command(row):
    assert "scope" in row or founding_notes.agrees(row), founding_notes.answered(row)


@pytest.mark.parametrize(
    ("changed", "agrees"),
    [({}, True), ({"printed": "273 GB"}, True), ({"printed": "280 GB"}, False), ({"printed": "280 GB", "error": "x"}, True),
     ({"error": "x"}, False), ({"printed": "200 GB to 300 GB"}, True), ({"within": "range", "printed": "273 GB"}, False)],
)  # fmt: skip
def test_a_figure_that_differs_is_seen(changed, agrees):
    row = {"says": "x", "ask": "memory --set parameters=17e9 --gpu h100", "result": "model_state_bytes", "printed": "272 GB"}
    assert founding_notes.agrees(row | changed) is agrees
