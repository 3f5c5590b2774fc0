"""What qualifies an answer is shown beside its verdict in every form, and changes neither the verdict nor the exit code."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from offers import everything_met, filled, told

import ingest
from ingest.tender.reserved import MOST_REMARK

EXAMPLES = Path(__file__).parents[2] / "examples"
REMARK = "At 20% fill and cached reads only"


@pytest.fixture
def offer(hpc_plan, hpc_book, tmp_path):
    """Write an offer that meets everything, but for the lines named."""

    def write(lines) -> Path:
        answers = {name: {**fields, **lines.get(name, {})} for name, fields in everything_met(hpc_plan).items()}
        return filled(hpc_book, answers, tmp_path / "offer.xlsx")

    return write


def notes_in(form: str, path: Path) -> dict[str, str]:
    """What stands beside each line in a form."""
    done = told("response", path, "--format", form)
    assert done.code == 0
    if form == "csv":
        return {row["id"]: row["note"] for row in csv.DictReader(io.StringIO(done.out))}
    marks = "|" if form == "markdown" else "  "
    lines = [[part.strip() for part in line.strip("| ").split(marks) if part.strip()] for line in done.out.splitlines()]
    return {parts[0]: parts[-1] if parts[-1] != "met" else "" for parts in lines if parts and parts[0].startswith("R-")}


#: What is written into a line, and what is shown beside its verdict.
RESERVED = [
    ("R-READ-01", {"Remarks": REMARK}, f"remark: {REMARK}"),
    ("R-READ-01", {"Measured or projected": "projected"}, "projected"),
    ("R-READ-01", {"Client nodes": 4}, "tested with 4 of 128 clients"),
    ("R-READ-02", {"Client nodes": 63}, "tested with 63 of 64 clients"),
    ("R-READ-01", {"Comply": None}, "Comply is blank"),
    (
        "R-META-03",
        {"Comply": None, "Measured or projected": "projected", "Remarks": REMARK},
        f"Comply is blank; projected; remark: {REMARK}",
    ),
]


@pytest.mark.parametrize(("name", "fields", "shown"), RESERVED)
def test_a_reservation_stands_beside_its_verdict(offer, name, fields, shown):
    path = offer({name: fields})
    for form in ("table", "markdown", "csv"):
        assert {one: note for one, note in notes_in(form, path).items() if note} == {name: shown}, form
    answer = ingest.response(path)
    assert set(answer.results.values()) == {"met"}
    assert not answer.unmet


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("R-READ-01", {"Client nodes": 128}),
        ("R-READ-04", {"Client nodes": 4}),
        ("R-CAP-01", {"Client nodes": 4}),
        ("R-WRITE-01", {"Comply": None}),
        ("R-READ-01", {"Remarks": "  "}),
    ],
)
def test_what_takes_nothing_back_is_no_reservation(offer, name, fields):
    done = told("response", offer({name: fields}))
    assert done.code == 0
    assert "reservation" not in done.out + done.err


def test_the_summary_and_one_warning_count_them(offer, hpc_plan):
    lines = {one.id: {"Measured or projected": "projected", "Client nodes": 4, "Comply": None} for one in hpc_plan.requirements}
    path, count = offer(lines), len(hpc_plan.requirements)
    done = told("response", path)
    assert done.code == 0
    said = f"{count} of {count} answers carry reservations"
    assert done.out.splitlines()[0].endswith(f"complies; values as delivered count; {said}")
    (warning,) = (line for line in done.err.splitlines() if "reservations" in line)
    assert warning == (
        f"ingest: warning: {said} that move no verdict (R-READ-01, R-READ-02, R-READ-03, R-READ-04, R-WRITE-01, …):"
        " read their notes before you rely on them"
    )
    data = json.loads(told("response", path, "--format", "json").out)
    assert data["complies"] is True
    assert data["requirements"][0]["reservations"] == ["Comply is blank", "projected", "tested with 4 of 128 clients"]
    one = told("response", offer({"R-READ-01": {"Remarks": REMARK}}))
    assert f"1 of {count} answers carries reservations" in one.out


def test_a_remark_is_shown_in_part_and_as_text(offer):
    path = offer({"R-READ-01": {"Remarks": "x" * 1000}, "R-READ-02": {"Remarks": "\u202eeasy |\n done"}})
    long, odd = (line.notes for line in ingest.response(path).lines[:2])
    assert long == f"remark: {'x' * MOST_REMARK}…"
    assert "\u202e" not in odd
    assert r"\|" in told("response", path, "--format", "markdown").out


def test_a_missed_line_keeps_its_remark_and_says_it_once(offer, hpc_plan):
    value = hpc_plan.results["R-READ-01"].value / 2
    path = offer({"R-READ-01": {"As-is value": value, "Remarks": REMARK, "Comply": "partial"}})
    first = ingest.response(path).lines[0]
    assert first.verdict == "missed"
    assert first.notes == f"says 'partial': {REMARK}"
    assert told("response", path).code == 3
