"""One label per quantity, the same on every page."""

from __future__ import annotations

from conftest import EXAMPLES

import ingest
from ingest.engine.registry import FORMULAS, INPUTS
from ingest.reports.labels import COLUMNS, label, plain
from ingest.reports.page import as_text
from ingest.reports.pages.plan import plan_page

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
