"""One label per quantity, the same on every page."""

from __future__ import annotations

from conftest import EXAMPLES

import ingest
from ingest.engine.registry import FORMULAS, INPUTS
from ingest.reports.labels import COLUMNS, label, plain
from ingest.reports.page import as_text
from ingest.reports.pages.plan import plan_page

LABELS = {name: one.label for table in (FORMULAS, INPUTS) for name, one in table.items() if one.label}


def test_no_column_hides_the_label_of_a_quantity():
    assert [name for name in COLUMNS if name in LABELS] == []


def test_no_two_quantities_share_a_label():
    """A quantity of one year and the largest of all years are one thing to a reader."""
    found: dict[str, list[str]] = {}
    for name, words in LABELS.items():
        found.setdefault(words, []).append(name.replace("year_", "site_"))
    assert {words: names for words, names in found.items() if len({*names}) > 1} == {}


def test_labels_have_no_comma_nor_bracket_so_that_they_read_inside_formulas():
    assert [words for words in LABELS.values() if set(words) & set(",()=×÷")] == []


def test_labels_start_small_unless_they_start_with_an_abbreviation():
    assert [
        words for words in LABELS.values() if words[0].isupper() and not words.startswith(("NVMe", "FLOP", "GPU", "IOPS"))
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
