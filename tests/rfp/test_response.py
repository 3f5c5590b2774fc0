"""`ingest response` from file to verdict: what was sent decides, and a returned workbook that states something else fails."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import openpyxl
import pytest
from conftest import table
from offers import ONE_JOB, columns, edited, everything_met, filled, on_form, told, uncalculated
from openpyxl.comments import Comment
from openpyxl.packaging.custom import IntProperty
from openpyxl.styles import Font
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink

import ingest
from ingest.errors import IngestError, UsageError
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.vendor_workbook import vendor_workbook
from ingest.rfp.compliance import judge
from ingest.rfp.offer_verdict import Response
from ingest.rfp.requirement_lines import RequirementLine, differences, requirement_lines
from ingest.rfp.response_form import HEADS, PRICES_SHEET, REQUIREMENTS_SHEET, RESPONSE_SHEET
from ingest.rfp.workbook_reader import Sheet, SheetLine
from ingest.units import as_printed

sys.path.insert(0, str(Path(__file__).parents[1] / "workbook"))

#: A form that was issued before `Required` was a column of its requirements, filled in.
ISSUED = Path(__file__).parent / "issued-1.xlsx"
STATEMENT = "The system shall sustain at least 984.5 GB/s of reads."


@pytest.fixture(scope="module")
def plan():
    return ingest.plan(ONE_JOB, samples=0)


@pytest.fixture(scope="module")
def workbook(plan):
    return vendor_workbook(plan)


@pytest.fixture(scope="module")
def sent(workbook, tmp_path_factory):
    path = tmp_path_factory.mktemp("sent") / "rfp.xlsx"
    path.write_bytes(workbook)
    return path


@pytest.fixture
def offer(plan, workbook, tmp_path):
    """Write an offer that meets every requirement by a tenth, but for the lines named."""

    def write(**lines: object) -> Path:
        answers = {name: {**fields, **lines.get(name, {})} for name, fields in everything_met(plan).items()}
        return filled(workbook, answers, tmp_path / "offer.xlsx")

    return write


def test_an_offer_that_meets_everything_complies(plan, offer, sent):
    path = offer()
    answer = ingest.response(path, sent=sent)
    valued = answer.lines[: len(plan.vendor_lines)]
    assert answer.results == {one.id: "met" for one in (*plan.vendor_lines, *plan.vendor_terms)}
    assert [line.requirement.value for line in valued] == [one.value for one in plan.vendor_lines]
    assert (answer.changes, answer.unmet, answer.warnings) == ((), "", ())
    assert all(line.margin == pytest.approx(0.1) for line in valued)
    assert list(answer.to_frame()["result"]) == ["met"] * len(answer.lines)
    with pytest.raises(UsageError, match=r"expected a file that ends in \.xlsx"):
        ingest.response("offer.ods")


#: What stands beside the answers, or does not show.
BESIDE = {
    "a comment on a requirement": lambda book: setattr(book[REQUIREMENTS_SHEET]["C2"], "comment", Comment("a burst", "v")),
    "a number beside the form": lambda book: setattr(book[RESPONSE_SHEET]["AH3"], "value", 0.5),
    "a hidden row": lambda book: setattr(book[RESPONSE_SHEET].row_dimensions[2], "hidden", True),
    "a hidden column": lambda book: setattr(book[RESPONSE_SHEET].column_dimensions["P"], "hidden", True),
    "a row without height": lambda book: setattr(book[RESPONSE_SHEET].row_dimensions[2], "height", 0.5),
    "a hidden sheet": lambda book: setattr(book["Terms"], "sheet_state", "hidden"),
    "white text": lambda book: setattr(book[RESPONSE_SHEET]["H2"], "font", Font(color="FFFFFFFF")),
    "text in the colour of its cell": lambda book: setattr(book[RESPONSE_SHEET]["H2"], "font", Font(color="FFFFF2CC")),
    "text that is struck out": lambda book: setattr(book[RESPONSE_SHEET]["G2"], "font", Font(strike=True)),
    "tiny text": lambda book: setattr(book[RESPONSE_SHEET]["G2"], "font", Font(size=3)),
    "a character without width": lambda book: setattr(
        book[RESPONSE_SHEET]["G2"], "value", f"{book[RESPONSE_SHEET]['G2'].value}\u200b"
    ),
    "a prompt": lambda book: book[RESPONSE_SHEET].add_data_validation(DataValidation(prompt="a burst", sqref="H2")),
    "a hint of a link": lambda book: setattr(book[RESPONSE_SHEET]["H2"], "hyperlink", Hyperlink("H2", tooltip="a burst")),
    "a named text": lambda book: book.defined_names.add(DefinedName("Note", attr_text='"a burst"')),
    "a property": lambda book: setattr(book.properties, "description", "a burst"),
    "a footer": lambda book: setattr(book[RESPONSE_SHEET].oddFooter.center, "text", "a burst"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_stands_beside_the_answers_or_is_hidden_is_left_to_a_person(plan, workbook, sent, tmp_path, name):
    def change(book):
        sheet = book[RESPONSE_SHEET]
        for row in range(2, sheet.max_row + 1):
            for head, value in everything_met(plan).get(sheet.cell(row, 1).value, {}).items():
                sheet.cell(row, columns(sheet)[head]).value = value
        BESIDE[name](book)

    answer = ingest.response(edited(workbook, change, tmp_path / "offer.xlsx"), sent=sent)
    assert answer.verdict == "COMPLIES WITH RESERVATIONS"
    assert answer.changes == ()


def test_without_the_workbook_that_was_sent_a_warning_says_what_the_verdict_rests_on(plan, offer):
    done = told("response", offer(), "--format", "json")
    data = json.loads(done.out)
    assert (done.code, data["command"], data["complies"], data["changes"]) == (0, "response", True, [])
    assert [line["id"] for line in data["requirements"]] == [one.id for one in (*plan.vendor_lines, *plan.vendor_terms)]
    rests = "the requirements are read from the vendor's own file, which may have been changed: pass the workbook or the plan"
    assert data["warnings"][0].startswith(rests)
    assert done.err.startswith(f"ingest: warning: {rests}")
    assert len(done.err.splitlines()) == 1


def test_a_blank_form_answers_nothing(plan, sent):
    asked = {one.id for one in plan.vendor_lines if one.priority != "information"}
    asked |= {one.id for one in plan.vendor_terms if one.value is not None}
    done = told("response", sent, "--sent", sent, "--format", "json")
    results = {line["id"]: line["result"] for line in json.loads(done.out)["requirements"]}
    assert results == {
        one.id: "no answer" if one.id in asked else "for information" for one in (*plan.vendor_lines, *plan.vendor_terms)
    }
    assert done.code == 3


def test_a_missed_mandatory_requirement_ends_with_three(plan, offer, sent):
    path = offer(
        **{
            "R-READ-01": {"As-is value": on_form(plan.requirement("R-READ-01"), 0.8)},
            "R-CAP-03": {"As-is value": on_form(plan.requirement("R-CAP-03"), 20)},
        }
    )
    done = told("response", path, "--sent", sent, "--verbose")
    assert done.code == 3
    assert re.search(r"R-READ-01 .* -20\.0 % +missed", done.out)
    assert "R-READ-01: says 'yes', but its value misses the requirement" in done.out
    assert "over 1,000 %" in done.out
    assert max(len(line) for line in done.out.splitlines() if str(path) not in line) <= 100
    assert done.refusal == f"{path}: mandatory requirements are not met: R-READ-01"


def test_the_number_that_the_document_prints_meets_every_line(plan, offer, sent):
    assert all(as_printed(one.value, one.unit) == one.value for one in plan.vendor_lines)
    printed = {one.id: on_form(one) for one in plan.vendor_lines}
    assert all(f"{printed[one.id]:g} " in one.display.replace(",", "") for one in plan.vendor_lines)
    done = told("response", offer(**{name: {"As-is value": value} for name, value in printed.items()}), "--sent", sent, "-v")
    assert done.code == 0
    assert re.search(r"R-META-01 .* 0\.0 % +met", done.out)
    below = {name: {"As-is value": value * (1 - 2e-9)} for name, value in printed.items()}
    results = ingest.response(offer(**below), sent=sent).results
    assert {results[one.id] for one in plan.vendor_lines} == {"missed"}


def test_an_offer_on_a_form_of_format_1_is_judged_as_it_was():
    """The form has no column `Required`: 22,405,833,113.1 B/s, printed as 22.41 GB/s, and 7,921.49 files/s, printed as 7,921.

    The vendor offers those two numbers on R-READ-03 and R-META-01, which a value rounded to three digits would not accept
    (22.5 GB/s and 7,930 files/s), and 2e-9 less than the first on R-READ-01.
    """
    found = ingest.response(ISSUED)
    assert found.results == {**dict.fromkeys(found.results, "met"), "R-READ-01": "missed"}
    offered = {one.requirement.id: (one.requirement.value, one.offered) for one in found.lines}
    assert offered["R-READ-03"] == pytest.approx((22_405_833_113.108738, 22_405_833_113.108738), rel=1e-15)
    assert offered["R-META-01"] == (7_921.493376, 7_921)
    assert not found.differences
    assert ingest.response(ISSUED, sent=ISSUED).results == found.results


@pytest.mark.parametrize(("number", "refused"), [(None, False), (1, False), (2, False), (3, False), (4, True)])
def test_a_form_of_a_format_that_is_not_known_yet_is_refused(offer, tmp_path, number, refused):
    """A program that drops the property leaves the columns: the offer is judged by `Required` still."""
    content = offer().read_bytes()

    def change(book) -> None:
        book.custom_doc_props.props[:] = [] if number is None else [IntProperty(name="ingest_format", value=number)]

    path = edited(content, change, tmp_path / "changed.xlsx")
    if refused:
        with pytest.raises(IngestError, match=r"changed\.xlsx: found format 4, expected at most 3: a newer version of ingest"):
            ingest.response(path)
    else:
        assert all(one.requirement.rounded for one in ingest.response(path).lines)


def test_notes_are_shown_in_every_format_and_change_no_verdict(offer, sent):
    path = offer(**{"R-READ-01": {"Remarks": "measured | confirmed", "Measured or projected": "projected"}})
    note = "projected; remark: measured | confirmed"
    table, markdown, flat = (told("response", path, "--sent", sent, "--format", form) for form in ("table", "markdown", "csv"))
    assert [one.code for one in (table, markdown, flat)] == [0, 0, 0]
    assert re.fullmatch(r"COMPLIES: (\d+) of \1 mandatory requirements met, 1 of 1 targets met", table.out.splitlines()[0])
    assert "values as delivered count; sent: " in table.out
    assert re.search(r"1 of \d+ answers carries a note", table.out)
    assert note in table.out
    assert f"\n- R-READ-01: {note}\n" in markdown.out
    notes = {row["id"]: row["note"] for row in csv.DictReader(io.StringIO(flat.out))}
    assert {name: found for name, found in notes.items() if found} == {"R-READ-01": note}
    assert table.err == ""


def test_other_requirements_than_were_sent_are_one_warning_and_end_with_three(offer, sent, tmp_path):
    """What was sent decides each line; the vendor's file alone would hide the change of both sheets."""

    def lower(book) -> None:
        stated, shown = book[REQUIREMENTS_SHEET], book[RESPONSE_SHEET]
        stated.cell(2, columns(stated)["Required"]).value = 1
        shown.cell(2, columns(shown)["Required"]).value = 1
        shown.cell(3, columns(shown)["Unit"]).value = "MB/s"

    path = edited(offer().read_bytes(), lower, tmp_path / "offer.xlsx")
    done = told("response", path, "--sent", sent)
    assert done.code == 3
    said = f"{path}: requirements differ from {sent}: R-READ-01, R-READ-02"
    assert done.err.splitlines() == [f"ingest: warning: {said}", f"ingest: {said}"]
    assert "R-READ-01: 'Required' of sheet 'Requirements' is 1, was " in done.out
    assert re.search(r"R-READ-02: 'Required' of sheet 'Vendor response' is [\d.]+ MB/s, was \d{5} MB/s", done.out)
    assert ingest.response(path, sent=sent).lines[0].requirement.value > 1e10
    assert [one.id for one in ingest.response(path).differences] == ["R-READ-02"]


def test_a_form_without_calculated_values_is_refused(tmp_path):
    path = tmp_path / "script.xlsx"
    uncalculated(ISSUED.read_bytes(), lambda _: None, path)
    done = told("response", path)
    assert done.code == 1
    assert re.search(r"script\.xlsx: found formulas without values \(Requirements![A-Z]2 and \d+ more\)", done.refusal)
    assert "expected a file that a spreadsheet program has calculated: open it in one, save it, and" in done.refusal


def test_the_buyers_model_is_not_what_was_sent(plan, offer, tmp_path):
    path = tmp_path / "model.xlsx"
    path.write_bytes(model_workbook(plan))
    done = told("response", offer(), "--sent", path)
    assert done.code == 1
    assert "there is no sheet 'Vendor response', expected a workbook that `ingest report --for-vendor` made" in done.refusal


def test_only_what_is_meant_for_editing_is_open(workbook):
    """The answers of the vendor; every sheet is locked otherwise."""
    opened = {}
    for sheet in openpyxl.load_workbook(io.BytesIO(workbook)):
        assert sheet.protection.sheet, sheet.title
        assert sheet.sheet_state == "visible", sheet.title
        free = {cell.column_letter for row in sheet.iter_rows(min_row=2) for cell in row if not cell.protection.locked}
        opened |= {sheet.title: free} if free else {}
    assert opened == {RESPONSE_SHEET: set("GHIJKLMNOP"), PRICES_SHEET: set("BCDEGHIJ")}


def sheets(**changes: object) -> tuple[list[RequirementLine], dict[str, Sheet], Sheet]:
    """The requirements that were sent, both sheets as they came back, and the sheet that was sent; changes by heading."""
    stated = {"Priority": "mandatory", "Statement": STATEMENT, "Value": 984.5e9, "Unit": "B/s", "Clients": 64}
    shown = {"Priority": "mandatory", "Requirement": STATEMENT, "Required": 984.5e9, "Unit": "B/s"}
    ids = changes.pop("ids", ("R-A", "R-B"))
    heads = {REQUIREMENTS_SHEET: ("Id", *stated, ""), RESPONSE_SHEET: HEADS[RESPONSE_SHEET]}

    def sheet(name: str, row: dict[str, object], ids: tuple[str, ...], changes: dict[str, object]) -> Sheet:
        rows = [{"Id": one, **row, **(changes if one == "R-A" else {})} for one in ids]
        return Sheet(Path("x.xlsx"), name, heads[name], [SheetLine(n, one, one) for n, one in enumerate(rows, start=2)])

    of_stated = {head: value for head, value in changes.items() if head in (*stated, "Cache rule")}
    of_shown = {head: value for head, value in changes.items() if head in ("Required", "Requirement")}
    sent = sheet(REQUIREMENTS_SHEET, stated, ("R-A", "R-B"), {})
    returned = {
        REQUIREMENTS_SHEET: sheet(REQUIREMENTS_SHEET, stated, ("R-A", "R-B"), of_stated),
        RESPONSE_SHEET: sheet(RESPONSE_SHEET, shown, ids, of_shown),
    }
    return requirement_lines(sent), returned, sent


#: What the returned sheets state, and the differences from what was sent.
DIFFERENCES = table("rfp/cases.yaml")["each_difference_from_what_was_sent_is_named"]


@pytest.mark.parametrize(("changes", "expected"), DIFFERENCES)
def test_each_difference_from_what_was_sent_is_named(changes, expected):
    found = [*map(str, differences(*sheets(**changes)))]
    assert found == expected
    assert all(one.isprintable() for one in found)


def test_one_warning_lists_five_ids_and_counts_the_others():
    lines = tuple(judge(RequirementLine(f"R-{n}", "target", 1, "B/s"), None, optimized=False) for n in range(8))
    differing = tuple(differences(*sheets(ids=tuple(f"R-{n}" for n in range(5)))))
    answer = Response("offer.xlsx", lines, differing, optimized=False, sent="rfp.xlsx")
    assert answer.warnings == ("offer.xlsx: requirements differ from rfp.xlsx: R-A, R-B, R-0, R-1, R-2 and 2 more",)
    assert answer.unmet == answer.warnings[0]
    assert answer.to_dict()["complies"] is False


def test_lines_of_serving_are_offered_and_judged(tmp_path):
    """A site without training jobs; the offer meets all but the weights at a start."""
    plan = ingest.plan(
        {
            "clusters": {"main": {"node": "dgx-h100", "count": 8}},
            "serving": {
                "chat": {"cluster": "main", "nodes": 8, "model": "llama3-70b", "users": 1000, "turns": 8, "load_time": 30}
            },
        },
        samples=0,
    )
    answers = everything_met(plan)
    answers["R-SERVE-01"]["As-is value"] = on_form(plan.requirement("R-SERVE-01"), 0.9)
    book = vendor_workbook(plan)
    (tmp_path / "rfp.xlsx").write_bytes(book)
    answer = ingest.response(filled(book, answers, tmp_path / "offer.xlsx"), sent=tmp_path / "rfp.xlsx")
    assert {name: word for name, word in answer.results.items() if word != "met"} == {"R-SERVE-01": "missed"}
    assert {"R-KV-01", "R-KV-02", "R-KV-03"} <= answer.results.keys()
