"""A filled workbook is judged line by line; what a vendor may not change is named; a hostile file ends in one line."""

from __future__ import annotations

import datetime
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest
from memory import MOST_HELD
from offers import columns, edited, everything_met, filled, key_text, put_key, stored_values, told, uncalculated, with_values

import ingest
from ingest.errors import IngestError, UsageError
from ingest.reports.books import site_book
from ingest.tender.asked import seal
from ingest.units import as_printed, parse

sys.path.insert(0, str(Path(__file__).parents[1] / "workbook"))
from office import converted

EXAMPLES = Path(__file__).parents[2] / "examples"
RESPONSE = "Vendor response"


@pytest.fixture
def offer(hpc_plan, hpc_book, tmp_path):
    """Write an offer: every requirement met by a tenth, but for the lines named; then further changes to the book."""

    base = everything_met(hpc_plan)

    def write(lines=(), change=None) -> Path:
        answers = {name: {**fields, **dict(lines).get(name, {})} for name, fields in base.items()}
        path = filled(hpc_book, answers, tmp_path / "offer.xlsx")
        return path if change is None else edited(path.read_bytes(), change, path)

    return write


def cell(book, name: str, head: str):
    sheet = book[RESPONSE]
    row = next(row for row in range(2, sheet.max_row + 1) if sheet.cell(row, 1).value == name)
    return sheet.cell(row, columns(sheet)[head])


def put(name: str, head: str, value: object):
    """A change of one cell of the response sheet."""
    return lambda book: setattr(cell(book, name, head), "value", value)


def test_an_offer_that_meets_everything_complies(hpc_plan, offer):
    answer = ingest.response(offer())
    assert set(answer.results.values()) == {"met"}
    assert answer.results.keys() == hpc_plan.results.keys()
    assert not answer.changes
    assert not answer.unmet
    assert all(line.margin == pytest.approx(0.1) for line in answer.lines)
    assert told("response", offer()).code == 0


def test_a_blank_form_answers_nothing(hpc_plan, hpc_book, tmp_path):
    path = tmp_path / "blank.xlsx"
    path.write_bytes(hpc_book)
    answer = ingest.response(path)
    asked = {one.id for one in hpc_plan.requirements if one.priority != "information"}
    assert {name for name, verdict in answer.results.items() if verdict == "no answer"} == asked
    assert {verdict for name, verdict in answer.results.items() if name not in asked} == {"for information"}
    assert not answer.changes
    assert told("response", path).code == 3


def test_a_missed_mandatory_requirement_ends_with_three(hpc_plan, offer):
    required = hpc_plan.results["R-READ-01"].value
    path = offer({"R-READ-01": {"As-is value": required * 0.8}})
    answer = ingest.response(path)
    assert answer.results["R-READ-01"] == "missed"
    assert [name for name, verdict in answer.results.items() if verdict != "met"] == ["R-READ-01"]
    assert "says 'yes', but its value misses the requirement" in "".join(answer.warnings)
    done = told("response", path)
    assert done.code == 3
    assert "-20.0 %" in done.out
    assert "mandatory requirements are not met: R-READ-01" in done.refusal


def test_a_missed_target_still_complies(tmp_path):
    plan = ingest.plan(EXAMPLES / "enterprise-64-nodes.yaml", samples=0)
    target = next(one for one in plan.requirements if one.priority == "target")
    missed = {"As-is value": target.value * 0.5, "Comply": "no"}
    path = filled(site_book(plan), {**everything_met(plan), target.id: missed}, tmp_path / "offer.xlsx")
    assert ingest.response(path).results[target.id] == "missed"
    assert told("response", path).code == 0


def test_exactly_the_required_value_meets_it_and_a_millionth_less_does_not(hpc_plan, offer):
    """Where it is printed as more than it is; where it is printed as less, that decides."""
    required = hpc_plan.results["R-READ-01"].value
    assert as_printed(required, "B/s") > required
    assert ingest.response(offer({"R-READ-01": {"As-is value": required}})).results["R-READ-01"] == "met"
    assert ingest.response(offer({"R-READ-01": {"As-is value": required * (1 - 1e-6)}})).results["R-READ-01"] == "missed"


def test_the_number_that_the_document_prints_meets_every_line(hpc_plan, offer):
    """Rounded up or down: who offers what the statement says complies, who offers a thousandth less does not."""
    printed = {one.id: parse(one.to_dict()["display"].partition(" (")[0], one.unit, one.id) for one in hpc_plan.requirements}
    below = {one.id for one in hpc_plan.requirements if printed[one.id] < one.value * (1 - 1e-8)}
    assert {"R-READ-02", "R-META-03"} <= below
    path = offer({name: {"As-is value": value} for name, value in printed.items()})
    answer, done = ingest.response(path), told("response", path)
    assert set(answer.results.values()) == {"met"}
    assert done.code == 0
    assert "-" not in done.out.partition("R-READ-02")[2].partition("met")[0].partition("GB/s")[2]
    assert re.search(r"R-READ-02 .* 0\.0 % +met", done.out)
    margins = {line.asked.id: line.margin for line in answer.lines}
    assert margins["R-READ-02"] == pytest.approx(265.2e9 / hpc_plan.results["R-READ-02"].value - 1)
    less = ingest.response(offer({name: {"As-is value": printed[name] * 0.999} for name in below})).results
    assert {name for name, verdict in less.items() if verdict == "missed"} == below


def test_a_little_less_than_printed_is_missed_and_does_not_look_even(offer):
    path = offer({"R-READ-02": {"As-is value": 265.19e9}})
    assert ingest.response(path).results["R-READ-02"] == "missed"
    assert re.search(r"R-READ-02 .* -0\.02 % +missed", told("response", path).out)


def test_a_margin_beyond_reason_is_not_told_in_digits(offer):
    path = offer({"R-READ-01": {"As-is value": 1e300}})
    for form in ("table", "markdown"):
        assert "over 1,000 %" in told("response", path, "--format", form).out
    assert max(map(len, told("response", path).out.splitlines())) < 120
    assert ingest.response(path).lines[0].margin > 1e280


def test_a_no_with_a_sufficient_value_is_missed_and_said(offer):
    answer = ingest.response(offer({"R-CAP-01": {"Comply": "no"}}))
    assert answer.results["R-CAP-01"] == "missed"
    assert "says 'no', but its value meets" in "".join(answer.warnings)


def test_a_yes_without_a_value_is_no_proof(offer):
    answer = ingest.response(offer({"R-CAP-01": {"As-is value": None}}))
    assert answer.results["R-CAP-01"] == "yes without a value"
    assert "R-CAP-01" in answer.unmet


def test_a_tuned_value_counts_only_when_asked_for(hpc_plan, offer):
    required = hpc_plan.results["R-READ-01"].value
    path = offer({"R-READ-01": {"As-is value": None, "Optimized value": required * 2}})
    assert ingest.response(path).results["R-READ-01"] == "yes without a value"
    assert ingest.response(path, optimized=True).results["R-READ-01"] == "met"


def test_an_offer_saved_by_libreoffice_is_read_the_same(hpc_plan, offer, tmp_path):
    required = hpc_plan.results["R-READ-02"].value
    path = offer({"R-READ-02": {"As-is value": required * 0.9}})
    again = converted(path, "xlsx", tmp_path / "office")
    ours, theirs = ingest.response(path), ingest.response(again)
    assert theirs.results == ours.results
    assert theirs.changes == ()
    assert [line.margin for line in theirs.lines] == pytest.approx([line.margin for line in ours.lines])


def nothing(_) -> None:
    """A file that was only saved."""


def restate(head: str, value: object, name: str = "R-READ-01"):
    """A change of one cell of the sheet Requirements."""

    def change(book) -> None:
        sheet = book["Requirements"]
        row = next(row for row in range(2, sheet.max_row + 1) if sheet.cell(row, 1).value == name)
        sheet.cell(row, columns(sheet)[head]).value = value

    return change


def halve_an_input(book) -> None:
    sheet, place = next(iter(book.defined_names["in_jobs_climate_nodes"].destinations))
    book[sheet][place].value = 1


def margin_head(book) -> str:
    return next(head for head in columns(book[RESPONSE]) if head.startswith("Margin of the as-is"))


def gild(book) -> None:
    """A margin that the vendor wrote."""
    cell(book, "R-READ-01", margin_head(book)).value = 0.5


#: What only the buyer may change, and what is said where somebody else did.
TAMPERED = [
    (put("R-READ-01", "Required", 1e9), "R-READ-01: the required value is 1000000000, was"),
    (put("R-READ-01", "Required", 1e9), "R-READ-01: 'Required' of sheet 'Vendor response' is 1000000000, was '=Req"),
    (put("R-READ-01", "Requirement", "easy"), "'Requirement' of sheet 'Vendor response' is 'easy', was '=Req"),
    (put("R-CAP-01", "Unit", "TB"), "R-CAP-01: 'Unit' of sheet 'Vendor response' is 'TB', was 'B'"),
    (put("R-CAP-01", "Priority", "target"), "'Priority' of sheet 'Vendor response' is 'target', was 'mandatory'"),
    (lambda book: book[RESPONSE].delete_rows(2), "R-READ-01: the line was removed"),
    (put("R-READ-02", "Id", "R-READ-01"), "R-READ-01: the line stands 2 times"),
    (lambda book: book[RESPONSE].append(["R-EASY-01"]), "R-EASY-01: the line was added"),
    (gild, "of sheet 'Vendor response' is 0.5, was '=IF(AND("),
    (restate("Value", 1e9), "R-READ-01: the required value is 1000000000, was"),
    (restate("Statement", "The system may read."), "'Statement' of sheet 'Requirements' is 'The system may read.', was '="),
    (restate("Clients", 1), "R-READ-01: 'Clients' of sheet 'Requirements' is 1, was '=INT("),
    (restate("I/O size (B)", 2**24), "'I/O size (B)' of sheet 'Requirements' is 16777216, was '=INT("),
    (restate("Cache rule", "cached"), "'Cache rule' of sheet 'Requirements' is 'cached', was 'uncached"),
    (restate("Priority", "information"), "'Priority' of sheet 'Requirements' is 'information', was 'mandatory'"),
    (lambda book: book["Requirements"].delete_rows(2), "R-READ-01: the line of sheet 'Requirements' was removed"),
]


@pytest.mark.parametrize(("change", "message"), TAMPERED)
def test_what_may_not_be_changed_is_named(offer, change, message):
    path = offer(change=change)
    assert message in "; ".join(ingest.response(path).changes)
    done = told("response", path)
    assert done.code == 3
    assert message.partition(",")[0] in done.out


#: The same by a program that calculates, with an input whose change shows in the values alone.
OFFICE = [
    *(TAMPERED[place] for place in (0, 8, 9, 10, 11)),
    (restate("Value", "=Calculation!$D$2"), "'Value' of sheet 'Requirements' is '=Calculation!$D$2', was '=Calculation!$D$"),
    (halve_an_input, "R-READ-01: the required value is"),
]


@pytest.mark.parametrize(("change", "message"), OFFICE)
def test_what_was_changed_in_a_spreadsheet_program_is_named(hpc_plan, hpc_book, change, message, tmp_path):
    first = filled(hpc_book, everything_met(hpc_plan), tmp_path / "offer.xlsx")
    path = converted(uncalculated(first.read_bytes(), change, first), "xlsx", tmp_path / "office")
    assert message in "; ".join(ingest.response(path).changes)
    assert told("response", path).code == 3


@pytest.mark.parametrize("change", [change for change, _ in OFFICE] + [nothing])
def test_a_workbook_without_calculated_values_is_refused(hpc_book, change, tmp_path):
    """As openpyxl saves it: whether an input was changed cannot be seen."""
    path = uncalculated(hpc_book, change, tmp_path / "offer.xlsx")
    done = told("response", path)
    assert done.code == 1
    assert "found formulas without values (Requirements!" in done.refusal
    assert "expected a file that a spreadsheet program has calculated: open it in one, save it, and judge" in done.refusal


def test_rewritten_spaces_of_a_formula_are_no_change(hpc_plan, offer):
    def respace(book) -> None:
        at = book["Requirements"]["C2"]
        at.value = at.value.replace(" & Wording", "&Wording")

    path = offer(change=respace)
    formula = openpyxl.load_workbook(path)["Requirements"]["C2"].value
    assert "&Wording" in formula
    with_values(path, {("Requirements", formula): hpc_plan.requirements[0].statement})
    assert not ingest.response(path).changes


def recalculated_with(content: bytes, tmp_path, name: str, value: float) -> Path:
    """The workbook with another input, as the buyer saves it."""

    def change(book) -> None:
        sheet, place = next(iter(book.defined_names[name].destinations))
        book[sheet][place].value = value

    first = uncalculated(content, change, tmp_path / "sent.xlsx")
    return converted(first, "xlsx", tmp_path / "office")


def test_inputs_that_the_buyer_changed_before_sending_are_what_is_asked(hpc_book, tmp_path):
    """All values, and the wording, come from the workbook as it was sent; the same answers miss what it asks now."""
    name, site = "in_jobs_climate_nodes", EXAMPLES / "hpc-128-nodes.yaml"
    sent = recalculated_with(hpc_book, tmp_path, name, 8)
    other = ingest.plan(site, samples=0, set={"jobs.climate.nodes": 8})
    offered = filled(sent.read_bytes(), everything_met(other), tmp_path / "offer.xlsx")
    answer = ingest.response(offered, sent=sent)
    assert answer.changes == ()
    assert not answer.unmet
    for line in answer.lines:
        assert line.asked.value == pytest.approx(other.results[line.asked.id].value, rel=1e-9)
    alone = ingest.response(offered)
    assert any(": the required value is" in change for change in alone.changes)
    assert "where the buyer changed Inputs before sending, judge with --sent SENT.xlsx" in alone.unmet
    assert told("response", offered, "--sent", sent).code == 0


def test_a_change_by_the_vendor_shows_beside_what_the_buyer_changed(hpc_book, tmp_path):
    sent = recalculated_with(hpc_book, tmp_path, "in_jobs_climate_nodes", 8)
    path = edited(sent.read_bytes(), restate("Clients", 1), tmp_path / "offer.xlsx")
    (change,) = ingest.response(path, sent=sent).changes
    assert change.startswith("R-READ-01: 'Clients' of sheet 'Requirements' is 1, was '=INT(")


def with_text(content: bytes, path: Path, change) -> Path:
    """Change the sentence that a formula shows, and keep the formula."""
    shown = stored_values(content)
    place = next(place for place, said in shown.items() if place[0] == "Requirements" and "265.2 GB/s" in str(said))
    return with_values(uncalculated(content, nothing, path), {**shown, place: change(shown[place])})


def test_a_sentence_that_its_formula_does_not_give_is_noticed(hpc_plan, hpc_book, tmp_path):
    sent, offered = tmp_path / "sent.xlsx", filled(hpc_book, everything_met(hpc_plan), tmp_path / "offer.xlsx")
    sent.write_bytes(hpc_book)
    path = with_text(offered.read_bytes(), tmp_path / "forged.xlsx", lambda said: said.replace("265.2", "26.52"))
    (change,) = ingest.response(path, sent=sent).changes
    assert change.startswith("R-READ-02: 'Statement' of sheet 'Requirements' shows '… sustain at least 26.52 GB/s (247 ")
    assert "265.2 GB/s" in change.partition(", its formula gave ")[2]
    assert told("response", path, "--sent", sent).code == 3


def test_how_a_country_writes_numbers_is_no_change(hpc_plan, hpc_book, tmp_path):
    sent, offered = tmp_path / "sent.xlsx", filled(hpc_book, everything_met(hpc_plan), tmp_path / "offer.xlsx")
    sent.write_bytes(hpc_book)
    path = with_text(offered.read_bytes(), tmp_path / "german.xlsx", lambda said: said.replace("265.2", "265,2"))
    assert not ingest.response(path, sent=sent).unmet


FAILING = "sent.xlsx: the workbook's own checks fail: main: share that all jobs take (nodes × runs × share): plan again; "


def test_the_failing_checks_of_the_workbook_that_was_sent_are_told(hpc_book, tmp_path):
    """The buyer made the cluster too small, recalculated, and sent what planning would refuse."""
    sent = recalculated_with(hpc_book, tmp_path, "in_clusters_main_count", 63)
    path = filled(sent.read_bytes(), {}, tmp_path / "offer.xlsx")
    for words in ((path, "--sent", sent), (sent,)):
        (warning,) = (line for line in told("response", *words).err.splitlines() if "own checks fail" in line)
        assert warning.startswith(f"ingest: warning: {sent.parent}/{FAILING}")
        assert warning.endswith("; plan again before you judge")
        assert "cosmology: nodes of a run, of those of main: plan again" in warning
    assert FAILING in ingest.response(path, sent=sent).to_dict()["warnings"][0]


def test_one_check_that_fails_is_told_and_moves_no_verdict(hpc_book, hpc_plan, tmp_path):
    """Of the workbook that was sent, where it is given; else of the offer."""
    spoilt = stored_values(hpc_book)
    formula = next(text for (sheet, text), said in spoilt.items() if sheet == "Checks" and said == "ok")
    spoilt["Checks", formula] = "fails"
    sent, good = tmp_path / "sent.xlsx", tmp_path / "good.xlsx"
    with_values(uncalculated(hpc_book, nothing, sent), spoilt)
    good.write_bytes(hpc_book)
    path = filled(hpc_book, everything_met(hpc_plan), tmp_path / "offer.xlsx")
    done = told("response", path, "--sent", sent)
    assert done.code == 0
    assert "own checks fail: cosmology: nodes: fails; plan again before you judge" in done.err
    assert "own checks fail" not in told("response", path, "--sent", good).err
    assert "own checks fail" not in told("response", path).err
    assert "own checks fail: cosmology: nodes: fails" in told("response", sent).err


def test_the_number_printed_in_the_workbook_that_was_sent_meets_it(hpc_book, tmp_path):
    """The inputs that the buyer changed give another number, in the statement too: that one decides."""
    sent = recalculated_with(hpc_book, tmp_path, "in_jobs_climate_nodes", 9)
    other = ingest.plan(EXAMPLES / "hpc-128-nodes.yaml", samples=0, set={"jobs.climate.nodes": 9})
    printed = {one.id: as_printed(one.value, one.unit) for one in other.requirements}
    assert sum(printed[one.id] < one.value * (1 - 1e-8) for one in other.requirements) > 3
    answers = {one: {**fields, "As-is value": printed[one]} for one, fields in everything_met(other).items()}
    answer = ingest.response(filled(sent.read_bytes(), answers, tmp_path / "offer.xlsx"), sent=sent)
    assert set(answer.results.values()) == {"met"}
    assert {line.asked.id: as_printed(line.asked.value, line.asked.unit) for line in answer.lines} == printed


def test_a_sent_workbook_without_values_is_refused(hpc_book, offer, tmp_path):
    sent = uncalculated(hpc_book, nothing, tmp_path / "sent.xlsx")
    done = told("response", offer(), "--sent", sent)
    assert done.code == 1
    assert "sent.xlsx: found formulas without values (Requirements!C2 and 33 more)" in done.refusal


def test_an_edited_key_is_refused(offer):
    def lower(book) -> None:
        found = json.loads(key_text(book))
        found["requirements"][0][2] = 1.0
        put_key(book, json.dumps(found))

    with pytest.raises(IngestError, match="sheet 'Key' was changed: its seal does not fit the requirements"):
        ingest.response(offer(change=lower))


def reseal(change):
    """A key that was forged as a whole."""

    def forge(book) -> None:
        found = json.loads(key_text(book))
        change(found)
        kept = {name: item for name, item in found.items() if name != "seal"}
        put_key(book, json.dumps({"seal": seal(kept), **kept}))

    return forge


def test_a_forged_key_is_noticed_beside_the_workbook_that_was_sent(hpc_book, offer, tmp_path):
    sent = tmp_path / "sent.xlsx"
    sent.write_bytes(hpc_book)
    answer = ingest.response(offer(change=reseal(lambda key: key["requirements"][0].__setitem__(2, 1.0))), sent=sent)
    assert "R-READ-01: its key is not as it was sent out" in answer.changes
    assert answer.lines[0].asked.value > 1
    assert told("response", tmp_path / "offer.xlsx", "--sent", sent).code == 3
    cells = reseal(lambda key: key["cells"]["Requirements"]["R-READ-01"].update({"Clients": 1}))
    assert "sheet 'Key': not as it was sent out" in ingest.response(offer(change=cells), sent=sent).changes
    assert not ingest.response(offer(), sent=sent).unmet


def damaged(text: object):
    return lambda book: put_key(book, text)


def rename(book) -> None:
    book[RESPONSE].title = "Vendor answers"


def spread_out(book) -> None:
    for row in range(2, 1_500):
        book[RESPONSE].cell(row, 20).value = "x"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda book: book.remove(book["Key"]), "there is no sheet 'Key', expected a workbook that `ingest report` made"),
        (lambda book: book.remove(book[RESPONSE]), "there is no sheet 'Vendor response'"),
        (lambda book: book.remove(book["Requirements"]), "there is no sheet 'Requirements'"),
        (rename, "there is no sheet 'Vendor response', expected a workbook that `ingest report` made; did you mean 'Vendor"),
        (damaged("nonsense"), "sheet 'Key' is damaged"),
        (damaged('{"requirements": 3}'), "sheet 'Key' is damaged"),
        (damaged("[" * 5000), "sheet 'Key' is damaged"),
        (reseal(lambda key: key["requirements"][0].__setitem__(2, float("nan"))), "sheet 'Key' was changed"),
        (lambda book: book[RESPONSE].delete_cols(5), "has lost the heading 'Unit', expected Id, Priority, Requirement"),
        (lambda book: book[RESPONSE].delete_cols(7), "has lost the heading 'As-is value'"),
        (lambda book: setattr(book[RESPONSE]["H1"], "value", "As-is value"), "has the heading 'As-is value' twice"),
        (spread_out, "sheet 'Vendor response' has more than 1,000 rows"),
        (lambda book: book[RESPONSE].merge_cells("F2:H4"), "F2:H4 is one merged cell, expected a cell for each answer"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_in_one_line(offer, change, message):
    path = offer(change=change)
    done = told("response", path)
    assert done.code == 1
    assert message in done.refusal


#: What a vendor may type into an open cell, and what is said of it.
BAD_CELLS = [
    ("As-is value", "984 GB/s", "found '984 GB/s', expected a number from 0 in B/s, such as 984000000000"),
    ("As-is value", "12 GiB", "found '12 GiB', expected a number from 0 in B/s"),
    ("As-is value", "plenty", "found 'plenty', expected a number from 0 in B/s"),
    ("As-is value", -1, "found -1, expected a number from 0"),
    ("As-is value", True, "found True, expected a number"),
    ("Optimized value", datetime.datetime(2026, 5, 1), "found '2026-05-01T00:00:00', expected a number"),
    ("Optimized value", "#DIV/0!", "found '#DIV/0!', expected a number"),
    ("Optimized value", "=D2", "found the formula '=D2', expected a number"),
    ("Optimized value", "=[1]Sheet1!A1", "found the formula '=[1]Sheet1!A1', expected a number"),
    ("Log file", "='file:///etc/[passwd]x'!A1", "found the formula"),
    ("Comply", "yse", "found 'yse', expected one of yes, no, partial; did you mean 'yes'?"),
    ("Comply", 1, "found 1, expected one of yes, no, partial"),
    ("Measured or projected", "guessed", "found 'guessed', expected one of measured, projected"),
    ("Client nodes", 0, "found 0, expected a whole number from 1"),
    ("Client nodes", 1.5, "found 1.5, expected a whole number from 1"),
    ("Remarks", "x" * 5000, "found 5,000 characters, expected at most 4,000"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "value", "message"), BAD_CELLS)
def test_a_cell_that_cannot_be_read_is_named_with_its_place(offer, head, value, message):
    done = told("response", offer(change=put("R-READ-01", head, value)))
    assert done.code == 1
    assert f"(R-READ-01, '{head}'): {message}" in done.refusal


@pytest.mark.parametrize("written", ["NaN", "INF", "1e999", "-1e999", "1e", "0x10", "1" * 5000])
def test_numbers_that_are_none_end_in_one_line(offer, written):
    """What no spreadsheet program writes, but a file can hold."""
    path = offer({"R-READ-01": {"As-is value": 123456789}})
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    assert sum(data.count(b"<v>123456789</v>") for data in parts.values()) == 1
    archive(path, **{name: data.replace(b"<v>123456789</v>", b"<v>%s</v>" % written.encode()) for name, data in parts.items()})
    done = told("response", path)
    assert done.code == 1
    assert "offer.xlsx" in done.refusal


def test_all_bad_cells_stand_in_one_refusal_that_has_an_end(hpc_plan, offer):
    lines = {one.id: {"As-is value": "much", "Comply": "sure"} for one in hpc_plan.requirements}
    done = told("response", offer(lines))
    assert done.code == 1
    assert done.refusal.count("found 'much'") == 10
    assert done.refusal.count("found 'sure'") == 10
    assert done.refusal.endswith(f"and {2 * len(lines) - 20} more cells")
    few = told("response", offer({"R-READ-01": {"As-is value": "much"}, "R-CAP-01": {"Comply": "sure"}}))
    assert "'As-is value'): found 'much'" in few.refusal
    assert "'Comply'): found 'sure'" in few.refusal


def test_words_are_taken_however_they_are_spelled(offer):
    answer = ingest.response(offer({"R-READ-01": {"Comply": " Yes ", "Measured or projected": "MEASURED"}}))
    assert not answer.unmet
    assert answer.lines[0].said["Comply"] == "yes"


def test_each_value_has_a_margin_of_its_own_and_the_sheet_says_which_counts(hpc_plan, offer, tmp_path):
    required = hpc_plan.results["R-READ-01"].value
    path = offer({"R-READ-01": {"As-is value": required * 0.9, "Optimized value": required * 1.5}})
    sheet = openpyxl.load_workbook(converted(path, "xlsx", tmp_path / "office"), data_only=True)[RESPONSE]
    heads = [cell.value for cell in sheet[1]]
    as_is, tuned = (next(n for n, head in enumerate(heads, 1) if head.startswith(f"Margin of the {word}"))
                    for word in ("as-is", "optimized"))  # fmt: skip
    assert "(counts)" in heads[as_is - 1]
    assert sheet.cell(2, as_is).value == pytest.approx(-0.1)
    assert sheet.cell(2, tuned).value == pytest.approx(0.5)
    assert sheet.cell(3, tuned).value in (None, "")
    assert ingest.response(path).lines[0].margin == pytest.approx(sheet.cell(2, as_is).value)
    assert ingest.response(path, optimized=True).lines[0].margin == pytest.approx(sheet.cell(2, tuned).value)


def test_only_what_is_meant_for_editing_is_open(hpc_book):
    """Inputs for the buyer, answers for the vendor, results of the tests; every sheet is locked beside them."""
    book = openpyxl.load_workbook(io.BytesIO(hpc_book))
    opened = {}
    for sheet in book:
        if sheet.title == "Key":
            assert sheet.sheet_state == "veryHidden"
            continue
        assert sheet.protection.sheet, sheet.title
        free = {cell.column_letter for row in sheet.iter_rows(min_row=2) for cell in row if not cell.protection.locked}
        opened |= {sheet.title: free} if free else {}
    assert opened == {"Inputs": {"D"}, RESPONSE: set("FGHIJKLMN"), "Acceptance": set("OP")}


def archive(path: Path, **parts: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return path


def test_foreign_and_broken_files(hpc_book, tmp_path):
    foreign = openpyxl.Workbook()
    foreign.save(tmp_path / "foreign.xlsx")
    (tmp_path / "short.xlsx").write_bytes(hpc_book[: len(hpc_book) // 2])
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


def test_a_bomb_is_not_unpacked(hpc_book, tmp_path):
    bomb = tmp_path / "bomb.xlsx"
    bomb.write_bytes(hpc_book)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/media/zeros.bin", bytes(200_000_000))
    assert bomb.stat().st_size < 1_000_000
    done = told("response", bomb)
    assert done.code == 1
    assert "'xl/media/zeros.bin' unpacks to 200,000,000 B, expected at most 20,000,000 B" in done.refusal


def replaced(content: bytes, path: Path, part: str, before: bytes, after: bytes) -> Path:
    """Change the text of one part."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    assert before in parts[part]
    return archive(path, **{**parts, part: parts[part].replace(before, after)})


@pytest.mark.parametrize(
    ("part", "before", "more"),
    [
        ("xl/styles.xml", b"</cellXfs>", b"<xf/>" * 300_000),
        ("xl/sharedStrings.xml", b"</sst>", b"<si/>" * 1_100_000),
        ("xl/workbook.xml", b"</definedNames>", b'<definedName name="x">1</definedName>' * 200_000),
    ],
)
def test_parts_that_take_long_to_read_are_not_read(hpc_book, tmp_path, part, before, more):
    path = replaced(hpc_book, tmp_path / "slow.xlsx", part, before, more + before)
    done, peak = bounded(path)
    assert f"'{part}' unpacks to" in done
    assert peak < 300_000_000


def test_a_size_that_lies_is_noticed(tmp_path):
    """The list of contents says that a part is small: no more than that is unpacked."""
    path = tmp_path / "lies.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("xl/workbook.xml", bytes(30_000_000))
    data = path.read_bytes()
    assert data.count((30_000_000).to_bytes(4, "little")) == 2
    path.write_bytes(data.replace((30_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little")))
    done, peak = bounded(path)
    assert "lies.xlsx" in done
    assert peak < 300_000_000


def test_many_parts_are_refused(hpc_book, tmp_path):
    path = tmp_path / "many.xlsx"
    path.write_bytes(hpc_book)
    with zipfile.ZipFile(path, "a") as parts:
        for number in range(2_100):
            parts.writestr(f"xl/media/{number}", b"")
    assert "parts, expected at most 2,000" in told("response", path).refusal


def rewritten(content: bytes, path: Path, title: str, rows) -> Path:
    """Replace the rows of a sheet by others, as the text of its part."""
    number = openpyxl.load_workbook(io.BytesIO(content), read_only=True).sheetnames.index(title) + 1
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in source.namelist():
            if name != f"xl/worksheets/sheet{number}.xml":
                made.writestr(name, source.read(name))
                continue
            head, _, tail = source.read(name).partition(b"<sheetData>")
            with made.open(name, "w") as part:
                part.write(head + b"<sheetData>")
                for row in rows:
                    part.write(row)
                part.write(tail[tail.index(b"</sheetData>") :])
    return path


def test_three_million_rows_are_not_read(hpc_book, tmp_path):
    row = b'<row r="%d"><c r="A%d"><v>1</v></c></row>'
    rows = (b"".join(row % (n, n) for n in range(start, start + 10_000)) for start in range(1, 3_000_000, 10_000))
    path = rewritten(hpc_book, tmp_path / "long.xlsx", RESPONSE, rows)
    assert path.stat().st_size < 50_000_000
    done, peak = bounded(path)
    assert "sheet 'Vendor response' unpacks to" in done
    assert "expected at most 5,000,000 B" in done
    assert peak < 300_000_000


def test_rows_far_apart_and_wide_are_not_filled_up(hpc_book, tmp_path):
    rows = (b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (n, n) for n in range(1, 1_048_576, 20))
    done, peak = bounded(rewritten(hpc_book, tmp_path / "wide.xlsx", RESPONSE, rows))
    assert "has lost the heading 'Id'" in done
    assert peak < 300_000_000


def bounded(path: Path) -> tuple[str, int]:
    """What the command says, and the most memory that its process took, in bytes."""
    code = f"""{MOST_HELD}
import sys
from ingest.cli.main import main
sys.argv[0] = "ingest"
try:
    main()
except SystemExit as done:
    print(done.code, most_held())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "response", path],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=EXAMPLES.parent,
        timeout=60,
    )
    code, peak = done.stdout.split()
    assert code == "1", done
    assert len(done.stderr.splitlines()) == 1
    return done.stderr, int(peak)


def test_entities_are_not_expanded(hpc_book, tmp_path):
    """The classic of nine levels of ten: three gigabytes, were they expanded."""
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))
    target = tmp_path / "laughs.xlsx"
    with zipfile.ZipFile(io.BytesIO(hpc_book)) as source, zipfile.ZipFile(target, "w") as made:
        for name in source.namelist():
            data = source.read(name)
            if name == "xl/sharedStrings.xml":
                head, _, rest = data.partition(b"?>")
                data = head + b"?><!DOCTYPE sst [" + levels.encode() + b"]>" + rest.replace(b"<t>Id</t>", b"<t>&l9;</t>", 1)
            made.writestr(name, data)
    done = told("response", target)
    assert done.code == 1
    assert "laughs.xlsx" in done.refusal


def test_json_and_frame_hold_every_line(hpc_plan, offer):
    done = told("response", offer(), "--format", "json")
    data = json.loads(done.out)
    assert data["command"] == "response"
    assert data["complies"] is True
    assert [line["id"] for line in data["requirements"]] == [one.id for one in hpc_plan.requirements]
    frame = ingest.response(offer()).to_frame()
    assert list(frame["result"]) == ["met"] * len(hpc_plan.requirements)
