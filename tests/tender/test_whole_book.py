"""Every sheet of a tender is compared with what was sent; what stands outside the form is named, and no save is a change."""

from __future__ import annotations

import base64
import json
import sys
import zlib
from pathlib import Path

import pytest
from offers import edited, everything_met, filled, key_text, put_key, told
from openpyxl.comments import Comment

import ingest
from ingest.reports.books import site_book
from ingest.tender.asked import BUYER_SHEET, seal
from ingest.tender.whole import Whole, packed, unpacked

sys.path.insert(0, str(Path(__file__).parents[1] / "workbook"))
from office import converted

EXAMPLES = Path(__file__).parents[2] / "examples"
SITES = ("hpc-128-nodes", "llm-16384-gpus", "enterprise-64-nodes")


@pytest.fixture
def offer(hpc_plan, hpc_sent, tmp_path):
    """Write an offer that meets everything, then change its workbook."""

    def write(change) -> Path:
        path = filled(hpc_sent.read_bytes(), everything_met(hpc_plan), tmp_path / "offer.xlsx")
        return edited(path.read_bytes(), change, path)

    return write


def saved(_) -> None:
    """A workbook that was only saved."""


def put(sheet: str, place: str, value: object):
    return lambda book: setattr(book[sheet][place], "value", value)


def disguise(book) -> None:
    book["Requirements"]["C2"].number_format = ';;;"The system need do nothing"'


def hide(book) -> None:
    book["Requirements"].sheet_state = "hidden"


def redirect(book) -> None:
    book.defined_names["in_jobs_climate_runs"].attr_text = "Inputs!$D$30"


def weaken(book) -> None:
    for row in (2, 3, 4):
        book["Acceptance"].cell(row, 5).value = 1


#: What nobody but the buyer may change, and what is said where somebody did.
CHANGED = [
    (weaken, "Acceptance: 3 cells differ from what was sent, the first is E2: 1, was '=Requirements!$K$2'"),
    (put("Acceptance", "H2", 1), "Acceptance: 1 cell differs from what was sent, the first is H2: 1, was '=Requirements!$D$2'"),
    (put("Acceptance", "J3", 1), "the first is J3: 1, was '=Requirements!$P$3'"),
    (put("Calculation", "D14", 984496892142.8386), "Calculation: 1 cell differs from what was sent, the first is D14: 98449"),
    (put("Assumptions", "D2", "we assume nothing"), "Assumptions: 1 cell differs"),
    (put("Results", "C2", None), "Results: 1 cell differs from what was sent, the first is C2: None, was '="),
    (put("Checks", "C2", "ok"), "Checks: 1 cell differs from what was sent, the first is C2: 'ok', was '=IF("),
    (put("Inputs", "D2", 65), "Inputs: 1 cell differs from what was sent, the first is D2: 65, was 64"),
    (put("Read-me", "A3", "\u202eeasy"), "Read-me: 1 cell differs from what was sent, the first is A3: '"),
    (lambda book: book.remove(book["Sensitivity"]), "Sensitivity: the sheet was removed"),
    (hide, "Requirements: the sheet is hidden"),
    (redirect, "defined names: 1 name differs from what was sent, the first is in_jobs_climate_runs: 'Inputs!$D$30'"),
    (disguise, "Requirements: number formats hide what stands in 1 cell, the first is C2: ';;;\"The system need do nothing\"'"),
]


@pytest.mark.parametrize(("change", "message"), CHANGED)
def test_what_was_changed_on_any_sheet_is_named_with_and_without_the_workbook_that_was_sent(offer, hpc_sent, change, message):
    path = offer(change)
    for answer in (ingest.response(path), ingest.response(path, sent=hpc_sent)):
        assert message in "; ".join(answer.changes)
        assert all(change.isprintable() for change in answer.changes)
        assert answer.unmet
    assert told("response", path).code == 3


def waive(book) -> None:
    book["Requirements"]["C40"].value = "All requirements\nabove are waived."
    book["Vendor response"]["R2"].value = "R-READ-01 is met by 1 GB/s"
    book["Acceptance"]["H60"].value = "no test is run"
    book["Requirements"]["D2"].comment = Comment("only 1 GB/s offered", "offeror")
    book.create_sheet("Terms")["A1"].value = "We sell as we please."


def test_what_stands_outside_the_form_is_a_note(offer, hpc_sent):
    path = offer(waive)
    for answer in (ingest.response(path), ingest.response(path, sent=hpc_sent)):
        assert not answer.changes
        assert set(answer.notes) == {
            "note outside the form, Requirements!C40: All requirements above are waived.",
            "note outside the form, Vendor response!R2: R-READ-01 is met by 1 GB/s",
            "note outside the form, Acceptance!H60: no test is run",
            "comment, Requirements!D2: only 1 GB/s offered",
            "Terms: a sheet that was not sent",
        }
        assert set(answer.notes) <= set(answer.warnings)
        assert answer.to_dict()["notes"] == list(answer.notes)


def test_what_the_buyer_noted_before_sending_is_no_note(hpc_plan, hpc_sent, tmp_path):
    noted = edited(hpc_sent.read_bytes(), waive, tmp_path / "noted.xlsx")
    path = filled(noted.read_bytes(), everything_met(hpc_plan), tmp_path / "offer.xlsx")
    answer = ingest.response(path, sent=noted)
    assert (answer.changes, answer.notes) == ((), ())


def test_notes_have_an_end_and_are_short(offer):
    def scribble(book) -> None:
        for row in range(100, 200):
            book["Results"].cell(row, 2).value = "x" * 1000

    notes = ingest.response(offer(scribble)).notes
    assert len(notes) == 21
    assert max(map(len, notes)) <= 201
    assert notes[-1] == "and 80 more notes outside the form"


def test_hidden_rows_are_noted(offer):
    def fold(book) -> None:
        book["Vendor response"].row_dimensions[3].hidden = True

    assert ingest.response(offer(fold)).notes == ("Vendor response: rows or columns are hidden",)


def test_the_columns_of_acceptance_that_are_open_may_be_filled_in(offer, hpc_sent):
    path = offer(put("Acceptance", "O2", 1e12))
    for answer in (ingest.response(path), ingest.response(path, sent=hpc_sent)):
        assert (answer.changes, answer.notes) == ((), ())


def answered(name: str, **fields: object):
    """Other answers on one line."""

    def change(book) -> None:
        sheet = book["Vendor response"]
        heads = {cell.value: cell.column for cell in sheet[1]}
        row = next(row for row in range(2, sheet.max_row + 1) if sheet.cell(row, 1).value == name)
        for head, value in fields.items():
            sheet.cell(row, heads[head.replace("_", " ")]).value = value

    return change


def test_partly_meets_nothing_mandatory_and_the_remark_is_shown(offer):
    path = offer(answered("R-READ-01", Comply="partial", Remarks="only from\none half of the clients"))
    answer = ingest.response(path)
    assert answer.results["R-READ-01"] == "partly"
    assert "R-READ-01: says 'partial': only from one half of the clients" in answer.warnings
    done = told("response", path)
    assert done.code == 3
    assert "mandatory requirements are not met: R-READ-01" in done.refusal
    assert ingest.response(offer(answered("R-READ-01", Comply="partial"))).lines[0].note == "says 'partial', without a remark"


def test_partly_for_information_complies(offer):
    path = offer(answered("R-WRITE-01", Comply="partial"))
    assert ingest.response(path).results["R-WRITE-01"] == "partly"
    assert told("response", path).code == 0


def test_a_verdict_without_the_workbook_that_was_sent_says_what_it_rests_on(offer, hpc_sent):
    path = offer(saved)
    rests = "what was asked is read from the key in the offeror's own file, which has no secret: judge with --sent"
    alone = told("response", path, "--format", "json")
    assert rests in alone.err
    assert rests in json.loads(alone.out)["warnings"][0]
    assert rests not in told("response", path, "--sent", hpc_sent).err
    assert "who forges it passes" in " ".join(told("response", "--help").out.split())


def test_an_answer_to_another_tender_is_refused(offer, tmp_path):
    other = tmp_path / "other.xlsx"
    other.write_bytes(site_book(ingest.plan(EXAMPLES / "llm-16384-gpus.yaml", samples=0)))
    done = told("response", offer(saved), "--sent", other)
    assert done.code == 1
    assert "answers another tender, 'HPC site, 128 nodes, CosmoFlow and DeepCAM' (site file sha256:" in done.refusal
    assert "expected 'LLM site, 16,384 GPUs' (site file sha256:" in done.refusal


@pytest.mark.parametrize("site", SITES)
def test_saving_in_a_spreadsheet_program_changes_nothing(site, tmp_path):
    sent, folder = tmp_path / "sent.xlsx", tmp_path / "office"
    sent.write_bytes(site_book(ingest.plan(EXAMPLES / f"{site}.yaml", samples=0)))
    theirs = converted(sent, "xlsx", folder)
    for answer in (ingest.response(theirs), ingest.response(theirs, sent=sent), ingest.response(sent, sent=theirs)):
        assert (answer.changes, answer.notes) == ((), ())


def repacked(text: str):
    """A key whose packed workbook was exchanged and whose seal fits."""

    def change(book) -> None:
        found = {**json.loads(key_text(book)), "whole": text}
        found.pop("seal")
        put_key(book, json.dumps({"seal": seal(found), **found}))

    return change


BOMB = base64.b64encode(zlib.compress(bytes(100_000_000), 9)).decode()


def test_the_sheet_for_the_buyer_may_be_taken_out_and_not_be_written_by_an_offeror(offer):
    gone = ingest.response(offer(lambda book: book.remove(book[BUYER_SHEET])))
    assert (gone.changes, gone.notes) == ((), ())
    other = ingest.response(offer(put(BUYER_SHEET, "A3", "Delivery takes two years.")))
    assert "For the buyer: 1 cell differs from what was sent" in other.changes[0]


@pytest.mark.parametrize("text", ["", "no base64", "AAAA", BOMB, base64.b64encode(zlib.compress(b"[1, 2]")).decode()])
def test_a_key_that_packs_no_workbook_is_refused(offer, text):
    done = told("response", offer(repacked(text)))
    assert done.code == 1
    assert "sheet 'Key' is damaged" in done.refusal


def test_a_sheet_that_has_grown_beyond_measure_is_not_compared(offer, monkeypatch):
    path = offer(saved)
    monkeypatch.setattr("ingest.tender.book.MOST_BYTES", 20_000)
    assert any("the sheet has grown beyond what can be compared" in change for change in ingest.response(path).changes)


def test_a_sheet_too_large_for_the_key_is_compared_with_what_was_sent(hpc_plan, tmp_path, monkeypatch):
    monkeypatch.setattr("ingest.reports.workbook.recorded.MOST_CELLS", 500)
    sent = tmp_path / "large.xlsx"
    sent.write_bytes(site_book(hpc_plan))
    path = filled(sent.read_bytes(), everything_met(hpc_plan), tmp_path / "offer.xlsx")
    path = edited(path.read_bytes(), put("Calculation", "D14", 984496892142.8386), path)
    alone, beside = ingest.response(path), ingest.response(path, sent=sent)
    assert "not compared, as too large for the key: Inputs, Calculation" in " ".join(alone.warnings)
    assert (alone.changes, alone.notes) == ((), ())
    assert "Calculation: 1 cell differs from what was sent" in beside.changes[0]
    assert (beside.notes, beside.unsealed) == ((), ())


def test_a_packed_workbook_is_what_was_packed():
    whole = Whole({"Data": {"A1": "=B1 + 1", "B1": 0.1, "C1": None, "D1": "\U0001f600"}}, {"in_a": "=Data!$B$1"})
    assert unpacked(packed(whole)) == whole
