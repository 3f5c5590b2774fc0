"""Renderings of a page: each takes results, none computes."""

import csv
import io
import json
import re
import zipfile

import pytest
from conftest import EXAMPLES, table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.engine.registry import FORMULAS, INPUTS
from ingest.errors import IngestError, UsageError
from ingest.files import write_whole
from ingest.reports.labels import COLUMNS, label, plain
from ingest.reports.page import Page, Section, as_csv, as_markdown, as_text, format_of, render
from ingest.reports.pages.plan import plan_page

PAGE = Page(
    "Read bandwidth",
    (
        Section("Rates", ("what", "value", "remark"), (("per GPU", "808.1 MB/s", "a | b"), ("per job", "827.5 GB/s", ""))),
        Section("Notes", lines=("first", "second")),
    ),
    (("name", "value"), ("per_gpu", 808.1e6), ("per_job", None)),
)
words = st.text("abcdefgh XYZ-", min_size=1, max_size=30).map(str.strip).filter(bool)


def test_columns_of_a_page_stand_and_wrap_below_each_other():
    # Columns stand below each other.
    lines = as_text(PAGE).splitlines()
    place = lines[3].index("value")
    assert [line[place:].split("  ")[0] for line in lines[4:6]] == ["808.1 MB/s", "827.5 GB/s"]
    # The last column wraps below itself.
    page = Page("T", (Section("", ("name", "value"), (("a", "word " * 30),)),))
    lines = as_text(page, 60).splitlines()
    assert len(lines) > 4
    assert all(len(line) <= 60 for line in lines)
    assert all(line.startswith("        word") for line in lines[4:])


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5), st.lists(words, max_size=5))
def test_without_a_width_nothing_is_cut_or_wrapped(rows, notes):
    text = as_text(Page("Title", (Section("", ("a", "b", "c"), tuple(rows)), Section("", lines=tuple(notes)))))
    assert all(cell in text for row in rows for cell in row)
    assert len(text.split("\n")) == 3 + len(rows) + 1 + len(notes)


@given(st.lists(words, min_size=1, max_size=40), st.integers(40, 120))
def test_long_lines_are_wrapped_to_the_width_and_lose_no_word(notes, width):
    line = " ".join(notes)
    text = as_text(Page(line, (Section("", lines=(line,)),)), width)
    assert all(len(part) <= width for part in text.splitlines())
    assert " ".join(text.split()) == " ".join(f"{line} {line}".split())


def test_markdown_tables_survive_pipes():
    lines = as_markdown(PAGE).splitlines()
    assert lines[0] == "# Read bandwidth"
    assert "| what | value | remark |" in lines
    assert "| --- | --- | --- |" in lines
    assert "| per GPU | 808.1 MB/s | a \\| b |" in lines
    assert "- first" in lines


def test_csv_is_the_flat_table_in_base_units():
    assert list(csv.reader(io.StringIO(as_csv(PAGE)))) == [["name", "value"], ["per_gpu", "808100000.0"], ["per_job", ""]]


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-x", "@SUM(A1)", "\tx"])
def test_csv_runs_no_formula_in_a_spreadsheet(cell):
    (row,) = csv.reader(io.StringIO(as_csv(Page("T", (), ((cell, -1.5),)))))
    assert row == ["'" + cell, "-1.5"]


def test_json_and_files_take_no_nonsense():
    # Json refuses what is no number.
    with pytest.raises((IngestError, ValueError)):
        render(lambda: PAGE, lambda: {"value": float("inf")}, "json")

    # Only what the format needs is built.
    def never():
        raise AssertionError("built although nobody asked")

    assert json.loads(render(never, lambda: {"a": 1}, "json")) == {"a": 1}
    assert render(lambda: PAGE, never, "csv").startswith("name,value")
    # An unknown suffix names those that exist.
    with pytest.raises(UsageError, match=r"'x.docz' ends in '.docz', expected .json, .csv, .md, .txt"):
        format_of("x.docz", None)


@pytest.mark.parametrize(("output", "asked", "form"), table("reports/cases.yaml")["the_suffix_chooses_the_format"])
def test_the_suffix_chooses_the_format(output, asked, form):
    assert format_of(output, asked) == form


def test_a_file_is_whole_or_untouched(tmp_path, monkeypatch):
    target = tmp_path / "answer.json"
    target.write_text("before", encoding="utf-8")

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(IngestError, match="cannot be written: No space left on device"):
        write_whole(target, "after")
    assert [path.name for path in tmp_path.iterdir()] == ["answer.json"]
    assert target.read_text(encoding="utf-8") == "before"


def test_a_written_file_replaces_the_old_one(tmp_path):
    target = tmp_path / "answer.txt"
    target.write_text("before", encoding="utf-8")
    write_whole(target, "größer\n")
    assert target.read_bytes() == "größer\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["answer.txt"]


# One label per quantity, the same on every page.

LABELS = {name: one.label for table in (FORMULAS, INPUTS) for name, one in table.items() if one.label}


def test_labels_are_unique_and_read_inside_sentences():
    # No column hides the label of a quantity.
    assert [name for name in COLUMNS if name in LABELS] == []
    # A quantity of one year and the largest of all years are one thing to a reader.
    found: dict[str, list[str]] = {}
    for name, words in LABELS.items():
        found.setdefault(words, []).append(name.replace("year_", "site_"))
    assert {words: names for words, names in found.items() if len({*names}) > 1} == {}
    # Labels have no comma nor bracket so that they read inside formulas.
    assert [words for words in LABELS.values() if set(words) & set(",()=×÷")] == []
    # Labels start small unless they start with an abbreviation.
    assert [
        words
        for words in LABELS.values()
        if words[0].isupper() and not words.startswith(("NVMe", "FLOP", "GPU", "IOPS", "P50", "P95", "P99"))
    ] == []


def test_terminal_and_document_call_a_quantity_by_one_name(tmp_path):
    site = EXAMPLES / "hpc-128-nodes.yaml"
    page = as_text(plan_page(ingest.plan(site)))
    document = tmp_path / "rfp.md"
    ingest.report(site, output=document)
    text = document.read_text(encoding="utf-8")
    for name in ("site_read_bandwidth", "site_usable_bytes", "job_read_bandwidth", "data_bytes", "checkpoint_bytes"):
        assert plain(name) in page
        assert label(name) in text


def test_a_document_is_the_same_bytes_whenever_it_is_written(tmp_path, monkeypatch):
    """Word files hold no time; a workbook that of SOURCE_DATE_EPOCH."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name, created in (("tender.docx", "2013-12-23"), ("model.xlsx", "2023-11-14")):
        ingest.report(next(EXAMPLES.glob("*.yaml")), output=tmp_path / name)
        with zipfile.ZipFile(tmp_path / name) as package:
            assert {one.date_time[0] for one in package.infolist()} == {1980}
            properties = package.read("docProps/core.xml").decode()
        assert re.findall(r"created[^>]*>(\d{4}-\d\d-\d\d)", properties) == [created]
