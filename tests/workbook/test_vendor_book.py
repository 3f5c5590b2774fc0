"""The workbook for vendors: what it says, in the units in which people read it, and that nothing of the buyer's is in it."""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest
import yaml
from conftest import SITES, example_plan, table

import ingest
from ingest.acceptance.accept import rows_of, shown_by
from ingest.engine.messages import in_site_words
from ingest.reports.labels import texts
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.vendor_workbook import vendor_workbook
from ingest.requirement import theme_title
from ingest.units import parse

SHEETS = ["Read-me", "Requirements", "Vendor response", "Acceptance", "Terms", "Prices"]
#: Words of the buyer's own work: sheets, ranges, evidence, and what the site file says about margins.
WORDS = ("Inputs", "Calculation", "Sensitivity", "Assumption", "(P10)", "(P90)", "As delivered", "headroom", ".yaml", "sha256:",
         "inputs_changed", "set checkpoint.", "set storage.", str(Path.home()))  # fmt: skip
#: Characters of the shortest text that is looked for, and digits of the shortest number.
SHORTEST, DIGITS = 12, 5


@pytest.fixture(scope="module", params=SITES, ids=[path.stem for path in SITES])
def plan(request: pytest.FixtureRequest) -> ingest.Plan:
    return example_plan(request.param.stem, None)


@pytest.fixture(scope="module")
def content(plan) -> bytes:
    return vendor_workbook(plan)


def parts(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        return {name: html.unescape(package.read(name).decode("utf-8")) for name in package.namelist()}


def internal(plan: ingest.Plan) -> Iterator[str]:
    """Texts and numbers that are the buyer's: warnings, notes, assumptions, comments of the file, ranges, unrounded values."""
    yield from WORDS
    yield from plan.warnings
    yield from plan.missing.values()
    for one in plan.assumptions:
        yield from (str(one["why"]), *digits(one["value"]))
    for step in plan.used:
        if step.source is not None:
            yield from (in_site_words(step.source.note), step.source.where if "." in step.source.where else "")
            yield from (text for end in (step.source.low, step.source.high) for text in digits(end))
    for term in plan.service:
        yield from (term.key, term.reason, term.question, *([] if term.value else [term.suggested]))
    for question in plan.open_questions:
        yield from (question.key, question.question, question.reason)
    for one in plan.requirements:
        yield from (text for value in (one.low, one.high) for text in digits(value))
        yield from digits(one.computed if one.computed != one.value else None)
    written = next(path for path in SITES if plan.site.name in path.read_text(encoding="utf-8"))
    yield written.name
    yield from re.findall(r"# (.+)", written.read_text(encoding="utf-8"))


def digits(value: object) -> list[str]:
    """A number as a cell would hold it, where it has enough digits to be recognized."""
    text = repr(float(value)) if isinstance(value, (int, float)) else ""
    return [text] if len(text.strip("0.")) >= DIGITS else []


def leaks(plan: ingest.Plan, content: bytes) -> set[tuple[str, str]]:
    """What is the buyer's in each part of a workbook."""
    sought = {text for text in internal(plan) if text in WORDS or len(text) >= SHORTEST}
    stated = " ".join(one.statement for one in plan.requirements)
    return {(name, text) for name, part in parts(content).items() for text in sought if text in part and text not in stated}


def test_nothing_of_the_buyers_is_in_any_part(plan, content):
    assert not leaks(plan, content)
    assert len(leaks(plan, model_workbook(plan))) > 50


def test_no_sheet_is_hidden_no_name_is_defined_no_note_is_attached_and_every_formula_stays_on_its_sheet(content):
    book, found = openpyxl.load_workbook(io.BytesIO(content)), parts(content)
    assert [(sheet.title, sheet.sheet_state) for sheet in book] == [(name, "visible") for name in SHEETS]
    assert not list(book.defined_names)
    assert not [name for name in found if re.search("comment|external|drawing|vba|chart", name, re.IGNORECASE)]
    written = [formula for name, part in found.items() if "worksheets" in name for formula in re.findall("<f>(.*?)</f>", part)]
    assert not [formula for formula in written if "!" in formula]
    assert book.active.title == "Read-me"


def lines(content: bytes, sheet: str) -> list[dict[str, object]]:
    heads, *rows = openpyxl.load_workbook(io.BytesIO(content), data_only=True)[sheet].iter_rows(values_only=True)
    return [dict(zip(heads, row, strict=True)) for row in rows]


def test_each_requirement_is_stated_in_a_unit_that_people_read_with_theme_and_verification(plan, content):
    rows, tests = lines(content, "Requirements"), shown_by(plan.requirements)
    for row, one in zip(rows, plan.vendor_lines, strict=True):
        assert (row["Id"], row["Priority"], row["Statement"]) == (one.id, one.priority, one.statement)
        assert parse(f"{row['Required']} {row['Unit']}".removesuffix("/node"), one.unit.removesuffix("/node"), one.id) == (
            pytest.approx(one.value, rel=1e-12)
        )
        assert row["Required"] < 1000 or one.unit.split("/")[0] == "file", one.id
        assert row["Theme"] == theme_title(one.theme, plan.kinds)
        binding = one.priority != "information"
        verified = f"test {tests[one.id]}" if one.id in tests else "inspection: " if binding else "not verified"
        assert str(row["Verified by"]).startswith(verified)


def test_each_test_has_its_load_and_threshold(plan, content):
    rows, tests = lines(content, "Acceptance"), rows_of(plan.requirements)
    assert [(row["Test"], row["Clients"], row["Threads"]) for row in rows] == [
        (one.test, one.load.clients, one.load.threads) for one in tests
    ]
    for row, one in zip(rows, tests, strict=True):
        shown = parse(f"{row['Required']} {row['Unit']}", one.load.unit, one.test)
        assert shown == pytest.approx(one.load.threshold, rel=1e-12)


COVER = table("workbook/cases.yaml")["cover"]


@pytest.mark.parametrize(("words", "lines_"), [(1, 1), (12, 3)])
def test_a_title_is_seen_whole_on_the_first_sheet(words, lines_):
    """73 characters of 18 points fit beside each other; the mark of a draft takes 27 of them."""
    site = yaml.safe_load(SITES[0].read_text(encoding="utf-8")) | {
        "document": COVER | {"title": " ".join(["of training"] * words)}
    }
    sheet = openpyxl.load_workbook(io.BytesIO(vendor_workbook(ingest.plan(site, samples=0))))["Read-me"]
    assert sheet["A1"].alignment.wrap_text
    assert sheet.row_dimensions[1].height == 36 * lines_


def test_the_cover_says_who_buys_by_when_and_what_and_service_clauses_are_whole():
    site = yaml.safe_load(SITES[0].read_text(encoding="utf-8"))
    given = ingest.plan({**site, "document": COVER, "service": "suggested"}, samples=0)
    book = openpyxl.load_workbook(io.BytesIO(content := vendor_workbook(given)))
    assert re.fullmatch(rf"Draft, \d+ open questions: {COVER['title']}", book["Terms"].oddHeader.center.text)
    cells = [list(row[:2]) for row in book["Read-me"].values]
    assert cells[:7] == [
        [given.tender_title, None], ["Buyer", COVER["buyer"]], ["Reference", COVER["reference"]], ["Issued", COVER["issued"]],
        ["Offers by", COVER["answers_by"]], ["Contact", COVER["contact"]], ["What is bought", given.document.purchase],
    ]  # fmt: skip
    shown = {str(row["Term"]).partition(" ")[0]: (row["Meaning"], row["Verified by"]) for row in lines(content, "Terms")}
    expected = {one.id: (one.text, one.verification or None) for one in given.service}
    assert len(expected) > 20
    assert {name: found for name, found in shown.items() if name.startswith("S-")} == expected


def test_key_words_and_definitions_are_those_of_the_document(content):
    rows = {row["Term"]: row["Meaning"] for row in lines(content, "Terms")}
    defined = {term: meaning for term, meaning in texts("document")["clauses"]["terms"].items() if term != "range"}
    assert {"shall", "should", "for information", "Passed", "Test data"} <= rows.keys()
    assert rows.items() >= defined.items()


def test_the_thresholds_of_the_parts_of_a_mix_add_up_to_what_is_required(content, plan):
    shown = Counter()
    for row in lines(content, "Acceptance"):
        shown[row["Requirement"]] += (
            parse(f"{row['Required']} {row['Unit']}", "B/s", "threshold") if "B/s" in row["Unit"] else 0
        )
    mixed = [one for one in plan.requirements if len(one.conditions.mix) > 1]
    assert {one.id: shown[one.id] for one in mixed} == {one.id: pytest.approx(one.value, rel=1e-9) for one in mixed}
