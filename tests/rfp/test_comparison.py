"""Several offers: one column each, a score for the targets, every format; a term in words; a plan as what was sent."""

import json
import sys
from pathlib import Path

import docx
import openpyxl
import pytest
from offers import ONE_JOB, columns, edited, everything_met, filled, on_form, told, uncalculated

import ingest
from ingest.errors import IngestError, UsageError
from ingest.reports.workbook.vendor_workbook import vendor_workbook
from ingest.rfp.award import Award
from ingest.rfp.compliance import OfferLine, judge
from ingest.rfp.offer_verdict import Response, credit, weights_of
from ingest.rfp.requirement_lines import RequirementLine
from ingest.rfp.response_form import RESPONSE_SHEET, read_unit

sys.path.insert(0, str(Path(__file__).parents[1] / "workbook"))
from office import converted


@pytest.fixture(scope="module")
def plan():
    return ingest.plan(ONE_JOB, samples=0)


@pytest.fixture(scope="module")
def folder(plan, tmp_path_factory):
    """The workbook and the plan that were sent, and three offers: good, short of the target, with a slip and a blank."""
    folder, content, good = tmp_path_factory.mktemp("offers"), vendor_workbook(plan), everything_met(plan)
    (folder / "rfp.xlsx").write_bytes(content)
    (folder / "plan.json").write_text(json.dumps(plan.to_dict()), encoding="utf-8")
    filled(content, good, folder / "good.xlsx")
    target = next(one for one in plan.vendor_lines if one.priority == "target")
    filled(content, {**good, target.id: {"Comply": "yes", "As-is value": on_form(target, 0.6)}}, folder / "short.xlsx")
    reads = on_form(plan.requirement("R-READ-01"), 1100)
    blank = {**good, "R-READ-01": {"Comply": "yes", "As-is value": reads}, "R-CAP-01": {}}
    filled(content, blank, folder / "slip.xlsx")
    return folder


def compared(folder, *more: str, names: tuple[str, ...] = ("good", "short", "slip")):
    return told("response", *(folder / f"{name}.xlsx" for name in names), "--sent", folder / "rfp.xlsx", *more)


def test_offers_stand_next_to_each_other_with_a_score_for_the_targets(folder):
    done = compared(folder, "--format", "json")
    data = json.loads(done.out)
    assert done.code == 0
    assert data["complying"] == ["good", "short"]
    assert [one["verdict"] for one in data["offers"]] == ["COMPLIES", "COMPLIES", "INCOMPLETE"]
    assert [one["score"] for one in data["offers"]] == [1, pytest.approx(0.6), 1]
    shown = compared(folder).out
    assert shown.splitlines()[0] == "2 of 3 offers comply: good, short; values as delivered count"
    assert "R-READ-01  met  met     unit slip" in shown
    assert "C R-READ-01: unit slip?" in shown


def test_only_where_no_offer_complies_the_exit_code_is_three(folder, tmp_path):
    assert compared(folder, names=("good", "slip")).code == 0
    filled((folder / "rfp.xlsx").read_bytes(), {}, tmp_path / "blank.xlsx")
    done = told("response", folder / "slip.xlsx", tmp_path / "blank.xlsx", "--sent", folder / "rfp.xlsx")
    assert (done.code, done.refusal) == (3, "none of the 2 offers complies")


def test_every_format_has_a_column_for_each_offer(folder, tmp_path):
    for suffix in ("xlsx", "docx", "md", "html", "csv", "json", "txt"):
        path = tmp_path / f"offers.{suffix}"
        assert compared(folder, "-o", path).code == 0, suffix
        assert path.stat().st_size > 500
    book = openpyxl.load_workbook(tmp_path / "offers.xlsx")
    assert [cell.value for cell in book["Compliance"][1]][-3:] == ["good", "short", "slip"]
    assert [cell.value for cell in book["Compliance"][2]][-3:] == ["met", "met", "unit slip"]
    tables = docx.Document(str(tmp_path / "offers.docx")).tables
    assert any("unit slip" in cell.text for table in tables for row in table.rows for cell in row.cells)
    assert "<td" in (tmp_path / "offers.html").read_text(encoding="utf-8")


def test_changed_terms_and_thresholds_are_listed_and_prices_are_the_vendors(folder, tmp_path):
    def change(book) -> None:
        book["Terms"]["B3"] = "optional"
        book["Acceptance"]["I2"] = 1
        book["Prices"]["I2"] = 1e6
        book.remove(book["Read-me"])

    path = edited((folder / "good.xlsx").read_bytes(), change, tmp_path / "offer.xlsx")
    found = ingest.response(path, sent=folder / "good.xlsx")
    places = [one.partition(": ")[0] for one in found.changes]
    assert sorted(places) == ["Acceptance!I2", "Read-me", "Terms!B3"]
    assert found.verdict == "DOES NOT COMPLY"


def test_a_plan_serves_as_what_was_sent(folder, tmp_path):
    def change(book) -> None:
        sheet = book[RESPONSE_SHEET]
        sheet["A3"] = "R-READ-99"
        sheet["D4"] = 1

    path = edited((folder / "good.xlsx").read_bytes(), change, tmp_path / "offer.xlsx")
    assert ingest.response(folder / "good.xlsx", sent=folder / "plan.json").summary.startswith("COMPLIES: ")
    changes = ingest.response(path, sent=folder / "plan.json").changes
    assert "R-READ-02: the line of sheet 'Vendor response' was removed" in changes
    assert "R-READ-99: the line of sheet 'Vendor response' was added" in changes
    assert any(one.startswith("R-READ-03: 'Required' of sheet 'Vendor response' is 1 GB/s, was ") for one in changes)
    assert len(changes) == 3
    for text in ('{"requirements": [{"id": "R-A"}]}', '{"requirements": [1]}', "{}", '{"requirements": "no"}', "[]"):
        (tmp_path / "broken.json").write_text(text, encoding="utf-8")
        with pytest.raises(IngestError, match=r"broken\.json"):
            ingest.response(folder / "good.xlsx", sent=tmp_path / "broken.json")


@pytest.mark.slow
def test_a_vendors_workbook_filled_in_a_spreadsheet_program_is_judged_in_every_unit(plan, tmp_path):
    """In GB/s, in TB/s by choice, MB/s typed as GB/s, GB/s typed as MB/s, blank, partial; the margins follow the unit."""
    reads = [plan.requirement(name) for name in ("R-READ-01", "R-READ-02", "R-READ-03", "R-READ-04", "R-READ-05")]
    good, tera, mega, giga, half = reads
    answers = everything_met(plan) | {
        tera.id: {"Comply": "yes", "As-is value": tera.value * 1.2e-12, "Unit of the values": "TB/s"},
        mega.id: {"Comply": "yes", "As-is value": mega.value * 1.1e-6},
        giga.id: {"Comply": "yes", "As-is value": on_form(giga, 1.1), "Unit of the values": "MB/s"},
        half.id: {"Comply": "partial", "As-is value": on_form(half, 1.1), "Remarks": "half"},
        "R-CAP-01": {},
    }
    content = vendor_workbook(plan)
    path = tmp_path / "offer.xlsx"
    uncalculated(filled(content, answers, path).read_bytes(), lambda _: None, path)
    path = converted(path, "xlsx", tmp_path / "office")
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_dict()), encoding="utf-8")
    (tmp_path / "rfp.xlsx").write_bytes(content)
    for sent in ("plan.json", "rfp.xlsx"):
        found = ingest.response(path, sent=tmp_path / sent)
        assert found.changes == (), sent
        verdicts = [found.results[one.id] for one in reads]
        assert verdicts == ["met", "met", "unit slip", "unit slip", "partly"], sent
        assert (found.results["R-CAP-01"], found.verdict) == ("no answer", "INCOMPLETE")
    sheet = openpyxl.load_workbook(path, data_only=True)[RESPONSE_SHEET]
    margin = next(place for head, place in columns(sheet).items() if "the as-is value" in head)
    shown = {sheet.cell(row, 1).value: sheet.cell(row, margin).value for row in range(2, sheet.max_row + 1)}
    assert [shown[one.id] for one in (good, tera, mega, giga)] == pytest.approx([0.1, 0.2, 1099, -0.9989])
    assert shown["R-CAP-01"] in (None, "")


def test_options_that_do_not_fit_are_one_line(folder, tmp_path):
    (tmp_path / "weights.yaml").write_text("R-READ-5: 2\n", encoding="utf-8")
    for words, message in (
        (("--weights", tmp_path / "weights.yaml"), "--weights: found 'R-READ-5', expected one of the targets: R-READ-05; did"),
        (("--confirmed", "R-READ-9"), "--confirmed: found 'R-READ-9', expected the id of a requirement: R-READ-01"),
    ):
        assert message in compared(folder, *words).refusal
    assert "that ends in .xlsx or .json" in told("response", folder / "good.xlsx", "--sent", folder / "rfp.docx").refusal
    assert "is given twice, expected each offer once" in compared(folder, names=("good", "good")).refusal


def valued(value: float, comply: str = "yes", ident: str = "R-A", priority: str = "target"):
    """The verdict on a value where 100 GB/s are required."""
    requirement = RequirementLine(ident, priority, 100e9, "B/s")
    return judge(requirement, OfferLine(ident, comply, value, None, {"Comply": comply}, read_unit("GB/s")), False)


def test_what_a_target_earns():
    earned = [
        credit(valued(*answer)) for answer in ((110e9,), (80e9,), (110e9, "partial"), (80e9, "no"), (110e9, "no"), (80e6,))
    ]
    assert earned == [1, pytest.approx(0.8), 0.5, pytest.approx(0.8), 0, 0]


def test_weights_are_complete_and_numbers_from_zero():
    for given in ({"R-A": 1}, {"R-A": -1, "R-B": 1}, {"R-A": 0, "R-B": 0}, {"R-A": True, "R-B": 1}, {"R-A": "x", "R-B": 1}):
        with pytest.raises(UsageError, match="--weights"):
            weights_of(["R-A", "R-B"], given)
    assert weights_of(["R-A", "R-B"], {"R-A": 0, "R-B": 2}) == {"R-A": 0, "R-B": 2}
    answer = Response("a.xlsx", (valued(80e9), valued(100e9, ident="R-B")), (), False)
    assert ingest.rfp.offer_verdict.Comparison((answer,), {"R-A": 3, "R-B": 1}, Award({"price": 100})).scores == (
        pytest.approx(0.85),
    )


@pytest.mark.parametrize(
    ("word", "verdict", "whole"),
    [("yes", "with reservations", "COMPLIES WITH RESERVATIONS"), ("partial", "partly", "DOES NOT COMPLY"),
     ("no", "missed", "DOES NOT COMPLY"), ("", "no answer", "INCOMPLETE")],
)  # fmt: skip
def test_a_term_in_words_is_judged_by_the_word(word, verdict, whole):
    term = RequirementLine("S-AVAIL-01", "mandatory", None, "", statement="The system shall be available.")
    found = judge(term, OfferLine("S-AVAIL-01", word, None, None, {"Comply": word, "As-is value": "99.9 %"}), False)
    assert (found.verdict, found.margin) == (verdict, None)
    assert "states 99.9 %" in found.reservations
    assert Response("a.xlsx", (found,), (), False).verdict == whole
