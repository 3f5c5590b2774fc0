"""A filled workbook is judged line by line; what a vendor may not change is named; a hostile file ends in one line."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest
from offers import columns, edited, everything_met, filled, told

import ingest
from ingest.errors import IngestError, UsageError
from ingest.reports.books import site_book
from ingest.tender.filled import seal

sys.path.insert(0, str(Path(__file__).parents[1] / "workbook"))
from office import converted

EXAMPLES = Path(__file__).parents[2] / "examples"
RESPONSE = "Vendor response"


@pytest.fixture(scope="module")
def plan() -> ingest.Plan:
    return ingest.plan(EXAMPLES / "hpc-128-nodes.yaml", samples=0)


@pytest.fixture(scope="module")
def content(plan) -> bytes:
    return site_book(plan)


@pytest.fixture
def offer(plan, content, tmp_path):
    """Write an offer: every requirement met by a tenth, but for the lines named; then further changes to the book."""

    base = everything_met(plan)

    def write(lines=(), change=None) -> Path:
        answers = {name: {**fields, **dict(lines).get(name, {})} for name, fields in base.items()}
        path = filled(content, answers, tmp_path / "offer.xlsx")
        return path if change is None else edited(path.read_bytes(), change, path)

    return write


def cell(book, name: str, head: str):
    sheet = book[RESPONSE]
    row = next(row for row in range(2, sheet.max_row + 1) if sheet.cell(row, 1).value == name)
    return sheet.cell(row, columns(sheet)[head])


def put(name: str, head: str, value: object):
    """A change of one cell of the response sheet."""
    return lambda book: setattr(cell(book, name, head), "value", value)


def test_an_offer_that_meets_everything_complies(plan, offer):
    answer = ingest.response(offer())
    assert set(answer.results.values()) == {"met"}
    assert answer.results.keys() == plan.results.keys()
    assert not answer.changes
    assert not answer.unmet
    assert all(line.margin == pytest.approx(0.1) for line in answer.lines)
    assert told("response", offer()).code == 0


def test_a_blank_form_answers_nothing(content, tmp_path):
    path = tmp_path / "blank.xlsx"
    path.write_bytes(content)
    answer = ingest.response(path)
    assert set(answer.results.values()) == {"no answer"}
    assert not answer.changes
    assert told("response", path).code == 3


def test_a_missed_mandatory_requirement_ends_with_three(plan, offer):
    required = plan.results["R-READ-01"].value
    path = offer({"R-READ-01": {"As-is value": required * 0.8}})
    answer = ingest.response(path)
    assert answer.results["R-READ-01"] == "missed"
    assert [name for name, verdict in answer.results.items() if verdict != "met"] == ["R-READ-01"]
    assert "says 'yes', but its value misses the requirement" in "".join(answer.warnings)
    done = told("response", path)
    assert done.code == 3
    assert "-20.0 %" in done.out
    assert "mandatory requirements are not met: R-READ-01" in done.refusal


def test_a_missed_target_still_complies(plan, offer):
    target = next(one for one in plan.requirements if one.priority == "target")
    path = offer({target.id: {"As-is value": target.value * 0.5, "Comply": "no"}})
    assert ingest.response(path).results[target.id] == "missed"
    assert told("response", path).code == 0


def test_exactly_the_required_value_meets_it_and_a_millionth_less_does_not(plan, offer):
    required = plan.results["R-CAP-01"].value
    assert ingest.response(offer({"R-CAP-01": {"As-is value": required}})).results["R-CAP-01"] == "met"
    assert ingest.response(offer({"R-CAP-01": {"As-is value": required * (1 - 1e-6)}})).results["R-CAP-01"] == "missed"


def test_a_no_with_a_sufficient_value_is_missed_and_said(offer):
    answer = ingest.response(offer({"R-CAP-01": {"Comply": "no"}}))
    assert answer.results["R-CAP-01"] == "missed"
    assert "says 'no', but its value meets" in "".join(answer.warnings)


def test_a_yes_without_a_value_is_no_proof(offer):
    answer = ingest.response(offer({"R-CAP-01": {"As-is value": None}}))
    assert answer.results["R-CAP-01"] == "yes without a value"
    assert "R-CAP-01" in answer.unmet


def test_a_tuned_value_counts_only_when_asked_for(plan, offer):
    required = plan.results["R-READ-01"].value
    path = offer({"R-READ-01": {"As-is value": None, "Optimized value": required * 2}})
    assert ingest.response(path).results["R-READ-01"] == "yes without a value"
    assert ingest.response(path, optimized=True).results["R-READ-01"] == "met"


def test_an_offer_saved_by_libreoffice_is_read_the_same(plan, offer, tmp_path):
    required = plan.results["R-READ-02"].value
    path = offer({"R-READ-02": {"As-is value": required * 0.9}})
    again = converted(path, "xlsx", tmp_path / "office")
    ours, theirs = ingest.response(path), ingest.response(again)
    assert theirs.results == ours.results
    assert theirs.changes == ()
    assert [line.margin for line in theirs.lines] == pytest.approx([line.margin for line in ours.lines])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("R-READ-01", "Required", 1e9), "R-READ-01: the required value is 1000000000, was"),
        (put("R-READ-01", "Required", 1e9), "the required value is no formula any more"),
        (put("R-READ-01", "Requirement", "easy"), "the wording is no formula any more"),
        (put("R-CAP-01", "Unit", "TB"), "R-CAP-01: the unit is 'TB', was 'B'"),
        (put("R-CAP-01", "Priority", "target"), "the priority is 'target', was 'mandatory'"),
        (lambda book: book[RESPONSE].delete_rows(2), "R-READ-01: the line was removed"),
        (put("R-READ-02", "Id", "R-READ-01"), "R-READ-01: the line stands 2 times"),
        (lambda book: book[RESPONSE].append(["R-EASY-01"]), "R-EASY-01: the line was added"),
        (put("R-READ-01", "As-is value", "=D2"), "'As-is value' is a formula"),
    ],
)  # fmt: skip
def test_what_may_not_be_changed_is_named(offer, change, message):
    path = offer(change=change)
    assert message in "; ".join(ingest.response(path).changes)
    done = told("response", path)
    assert done.code == 3
    assert message in done.out


def test_inputs_changed_by_the_vendor_show_in_the_required_values(offer, tmp_path):
    def halve(book) -> None:
        sheet, place = next(iter(book.defined_names["in_jobs_climate_nodes"].destinations))
        book[sheet][place].value = 1

    path = converted(offer(change=halve), "xlsx", tmp_path / "office")
    assert any(change.startswith("R-READ-01: the required value is") for change in ingest.response(path).changes)


def test_an_edited_key_is_refused(offer):
    def lower(book) -> None:
        found = json.loads(book["Key"]["A1"].value)
        found["requirements"][0][2] = 1.0
        book["Key"]["A1"].value = json.dumps(found)

    with pytest.raises(IngestError, match="sheet 'Key' was changed: its seal does not fit the requirements"):
        ingest.response(offer(change=lower))


def test_a_forged_key_is_noticed_beside_the_workbook_that_was_sent(content, offer, tmp_path):
    def forge(book) -> None:
        found = json.loads(book["Key"]["A1"].value)
        found["requirements"][0][2] = 1.0
        book["Key"]["A1"].value = json.dumps({**found, "seal": seal(found["requirements"])})

    sent = tmp_path / "sent.xlsx"
    sent.write_bytes(content)
    answer = ingest.response(offer(change=forge), sent=sent)
    assert "R-READ-01: not as it was sent out" in answer.changes
    assert answer.lines[0].asked.value > 1
    assert told("response", tmp_path / "offer.xlsx", "--sent", sent).code == 3
    assert not ingest.response(offer(), sent=sent).unmet


def damaged(text: object):
    return lambda book: setattr(book["Key"]["A1"], "value", text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda book: book.remove(book["Key"]), "there is no sheet 'Key', expected a workbook that `ingest report` made"),
        (lambda book: book.remove(book[RESPONSE]), "there is no sheet 'Vendor response'"),
        (damaged("nonsense"), "sheet 'Key' is damaged"),
        (damaged('{"requirements": 3}'), "sheet 'Key' is damaged"),
        (damaged("[" * 5000), "sheet 'Key' is damaged"),
        (lambda book: book[RESPONSE].delete_cols(5), "has lost the heading 'Unit', expected Id, Priority, Requirement"),
        (put("R-READ-01", "As-is value", "984 GB/s"), "R-READ-01: 'As-is value' is '984 GB/s', expected a number"),
        (put("R-READ-01", "As-is value", -1), "'As-is value' is '-1', expected a number from 0"),
        (put("R-READ-01", "As-is value", True), "'As-is value' is 'True', expected a number"),
        (lambda book: setattr(book[RESPONSE]["XFD1048576"], "value", 1), "has A1:XFD1048576, expected at most"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_in_one_line(offer, change, message):
    path = offer(change=change)
    done = told("response", path)
    assert done.code == 1
    assert message in done.refusal


def archive(path: Path, **parts: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return path


def test_foreign_and_broken_files(content, tmp_path):
    foreign = openpyxl.Workbook()
    foreign.save(tmp_path / "foreign.xlsx")
    (tmp_path / "short.xlsx").write_bytes(content[: len(content) // 2])
    (tmp_path / "text.xlsx").write_text("Id,Comply\n", encoding="utf-8")
    (tmp_path / "empty.xlsx").write_bytes(b"")
    archive(tmp_path / "zip.xlsx", readme=b"no workbook")
    for name, message in {
        "foreign": "there is no sheet 'Key'",
        "short": "not readable as .xlsx (BadZipFile)",
        "text": "not readable as .xlsx (BadZipFile)",
        "empty": "not readable as .xlsx (BadZipFile)",
        "zip": "not readable as .xlsx (KeyError)",
        "absent": "there is no such file",
    }.items():
        done = told("response", tmp_path / f"{name}.xlsx")
        assert done.code == 1, name
        assert message in done.refusal, name
    with pytest.raises(UsageError, match=r"expected a file that ends in \.xlsx"):
        ingest.response(tmp_path / "offer.ods")


def test_a_bomb_is_not_unpacked(content, tmp_path):
    bomb = tmp_path / "bomb.xlsx"
    bomb.write_bytes(content)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/media/zeros.bin", bytes(200_000_000))
    assert bomb.stat().st_size < 1_000_000
    done = told("response", bomb)
    assert done.code == 1
    assert "unpacks to 20" in done.refusal
    assert "expected a workbook below 100,000,000 B" in done.refusal


def test_entities_are_not_expanded(content, tmp_path):
    """The classic of nine levels of ten: three gigabytes, were they expanded."""
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))
    target = tmp_path / "laughs.xlsx"
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(target, "w") as made:
        for name in source.namelist():
            data = source.read(name)
            if name == "xl/sharedStrings.xml":
                head, _, rest = data.partition(b"?>")
                data = head + b"?><!DOCTYPE sst [" + levels.encode() + b"]>" + rest.replace(b"<t>Id</t>", b"<t>&l9;</t>", 1)
            made.writestr(name, data)
    done = told("response", target)
    assert done.code == 1
    assert "laughs.xlsx" in done.refusal


def test_json_and_frame_hold_every_line(plan, offer):
    done = told("response", offer(), "--format", "json")
    data = json.loads(done.out)
    assert data["command"] == "response"
    assert data["complies"] is True
    assert [line["id"] for line in data["requirements"]] == [one.id for one in plan.requirements]
    frame = ingest.response(offer()).to_frame()
    assert list(frame["result"]) == ["met"] * len(plan.requirements)
