"""One document in three forms: the same words in each, and nothing of them is markup."""

import io
import re
from html.parser import HTMLParser

import docx
from hypothesis import given
from hypothesis import strategies as st

from ingest.reports.charts.chart import Bar, demand
from ingest.reports.document.markup import (
    Bullets,
    DerivationListing,
    Document,
    DocumentSection,
    Figure,
    Paragraph,
    Table,
    as_html,
    as_markdown,
    plain,
)
from ingest.reports.document.word import as_docx

HOSTILE = "=1+1 <script>alert(1)</script> | `x` **b** [a](javascript:1) ‮مرحبا 🚀 \x07"
CHART = demand([Bar("a", 3e9), Bar("b", 1e9)], Bar("all", 4e9))


def document(text: str = "Scope & terms") -> Document:
    blocks = (
        Paragraph(text, "Note."),
        Bullets((text, "second")),
        Table(text, ("Id", "Value"), ((text, "4 GB/s"), ("R-READ-01", text)), (1, 3)),
        Figure(CHART),
        DerivationListing("How it came about", (f"a = {text}", "  = b × c")),
    )
    return Document(
        "Storage for <AI>",
        "made by a tool",
        (DocumentSection("scope", "Scope", blocks), DocumentSection("end", "End", ())),
        (("total", "4 GB/s"),),
    )


class Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data):
        self.text.append(data)


def words_of_docx(content: bytes) -> str:
    found = docx.Document(io.BytesIO(content))
    cells = [cell.text for table in found.tables for row in table.rows for cell in row.cells]
    return "\n".join([*(paragraph.text for paragraph in found.paragraphs), *cells])


def test_html_holds_every_word_and_no_foreign_element():
    reader = Words()
    reader.feed(as_html(document(HOSTILE)))
    assert "script" not in reader.tags
    assert "a" in reader.tags  # the table of contents
    assert "".join(reader.text).count("alert(1)") == 6
    assert "http" not in re.sub(r"http://www\.w3\.org/\d+/\w+", "", as_html(document()))


def test_markdown_escapes_what_would_be_markup():
    text = as_markdown(document(HOSTILE))
    outside = re.sub(r"(?s)```.*?```", "", text)
    assert "<script" not in outside.replace("\\<", "")
    assert "](javascript" not in outside.replace("\\]", "")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "4 GB/s" in line]
    assert len(re.findall(r"(?<!\\)\|", rows[0])) == 3


@given(st.text(max_size=80))
def test_markdown_text_stays_on_one_line(text):
    assert "\n" not in plain(text)


@given(st.text(max_size=60))
def test_docx_takes_any_text(text):
    assert "second" in words_of_docx(as_docx(document(text)))


def test_docx_holds_tables_picture_and_alternative_text():
    content = as_docx(document(HOSTILE))
    found = docx.Document(io.BytesIO(content))
    assert len(found.inline_shapes) == 1
    assert found.inline_shapes[0]._inline.docPr.get("descr") == CHART.alt
    assert found.tables[0].rows[2].cells[0].text == "R-READ-01"
    assert words_of_docx(content).count("alert(1)") == 6
