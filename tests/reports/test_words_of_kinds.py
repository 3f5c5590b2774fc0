"""No document of a site names a kind of load that the site lacks, and its decisions are the buyer's alone."""

import importlib.util
import io
import json
import re
from itertools import product
from pathlib import Path

import docx
import openpyxl
import pytest
from conftest import first, table

import ingest
from ingest.reports.charts.planning import charts_of, vendor_charts
from ingest.reports.document.markup import as_markdown
from ingest.reports.document.plan_documents import buyer_report, tender_document
from ingest.reports.document.word import as_docx
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.vendor_workbook import vendor_workbook

#: words of each kind, as a reader would search for them
WORDS = table("reports/cases.yaml")["words_of_kinds"]
#: what is no word about a load: ids of lines, keys of the site file, titles of publications, entries of the catalogs
NO_WORDS = re.compile(r"service\.training|Trainium|MLPerf Training|mlperf-training|LLM training|Training \(|R-OFFLOAD-0[345]")
#: sheets of the buyer's workbook that say what a site is: those behind them hold formulas, with what each formula is for
TOLD = ("Decisions", "Results", "Requirements", "Workloads", "Capacity by year", "Checkpoints", "Serving")


def demand_law():
    """The test that draws sites."""
    place = Path(__file__).parents[1] / "site/test_demand_law.py"
    spec = importlib.util.spec_from_file_location("demand_law", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAW = demand_law()


def lacking(site):
    """The kinds that a site lacks, by what its file says."""
    jobs = site.get("jobs", {}).values()
    there = {
        "training": bool(jobs),
        "checkpoints": any("checkpoint" in job for job in jobs),
        "serving": "serving" in site,
        "staging": any("placement" in job for job in jobs),
        "job starts": any("start" in job or "evaluation" in job for job in jobs),
        "growth": any("growth" in data for data in site.get("datasets", {}).values()),
    }
    return [kind for kind in WORDS if not there.get(kind)]


def said(kind, text):
    """What a text says of a kind, with the words around."""
    found = re.finditer(WORDS[kind], NO_WORDS.sub("", text), re.IGNORECASE)
    return [NO_WORDS.sub("", text)[max(one.start() - 60, 0) : one.end() + 40] for one in found]


def text_of_docx(content):
    word = docx.Document(io.BytesIO(content))
    cells = [cell.text for table in word.tables for row in table.rows for cell in row.cells]
    # The texts of pictures for readers who do not see them.
    pictures = re.findall(r' descr="([^"]*)"', word.element.xml)
    return "\n".join([*(one.text for one in word.paragraphs), *cells, *pictures])


def text_of_xlsx(content, sheets=None):
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    shown = [sheet for sheet in book if sheets is None or sheet.title in sheets]
    rows = [row for sheet in shown for row in sheet.iter_rows(values_only=True)]
    return "\n".join([sheet.title for sheet in book] + [str(cell) for row in rows for cell in row if isinstance(cell, str)])


def told(document):
    """A document without the derivations and the publications behind them, whose formulas name all that a site could have."""
    kept = tuple(one for one in document.sections if one.name not in ("derivations", "sources"))
    return document._replace(sections=kept)


@pytest.mark.parametrize(("seed", "terms"), first(4, product(range(60), [{}, {"service": "suggested"}])))
def test_no_document_names_a_kind_that_the_site_lacks(seed, terms):
    _, plan = LAW.planned(seed)
    site = LAW.drawn(seed) | terms
    plan = ingest.plan(site, samples=0) if terms else plan
    tender, report = tender_document(plan, vendor_charts(plan)), told(buyer_report(plan, charts_of(plan)))
    charts = json.dumps([chart.spec for chart in (*vendor_charts(plan), *charts_of(plan))])
    texts = {
        "charts": charts,
        "tender.docx": text_of_docx(as_docx(tender)),
        "tender.md": re.sub(r"\(data:[^)]*\)", "", as_markdown(tender)),
        "report.md": re.sub(r"\(data:[^)]*\)", "", as_markdown(report)),
        "tender.xlsx": text_of_xlsx(vendor_workbook(plan)),
        "report.xlsx": text_of_xlsx(model_workbook(plan), TOLD),
    }
    assert {(name, kind): said(kind, text) for name, text in texts.items() for kind in lacking(site) if said(kind, text)} == {}
    # No term or test names a requirement that is not there.
    ids = {one.id for one in plan.requirements} | {one.id for one in plan.vendor_terms}
    tests = {f"T-{name.partition('-')[2]}" for name in ids}
    named = set(re.findall(r"\b[RST]-[A-Z]+-\d+\b", texts["tender.docx"] + texts["tender.xlsx"]))
    assert named <= ids | tests
    assert "by guidance" not in texts["tender.md"].lower() or any(one.kind == "guidance" for one in plan.requirements)


def test_words_of_each_kind_are_found_where_the_site_has_it():
    """The search would find each kind in the documents of a site that has it."""
    site = LAW.one_job(model="llama3-8b", checkpoint={"mode": "sync"}, placement={"mode": "stage", "within": "1 h"})
    site["jobs"]["one"] |= {"nodes": 4, "start": {"bytes": "10 GB", "within": "1 min"}}
    site["datasets"]["data"] |= {"growth": {"capacity": 2, "every": "1 year"}, "load_within": "7 days"}
    site["serving"] = {"chat": {"cluster": "main", "nodes": 2, "model": "llama3-8b", "users": 100, "turns": 4}}
    text = as_markdown(tender_document(ingest.plan(site, samples=0)))
    for kind in ("training", "checkpoints", "serving", "staging", "job starts", "growth"):
        assert said(kind, text), kind


def test_decisions_come_first_for_the_buyer_and_never_for_vendors():
    job = LAW.one_job("dgx-b200", model="unet3d")
    plan = ingest.plan(job, samples=0)
    first, *others = [one.id for one in plan.decisions]
    settled = ingest.plan(job | {"decisions": {first: {"accept": "measured on our own code"}}}, samples=0)
    report = as_markdown(buyer_report(settled))
    assert report.index("## 1 Decisions") < report.index("measured on our own code") < report.index("## 2 Results")
    book = openpyxl.load_workbook(io.BytesIO(model_workbook(settled)))
    rows = list(book.worksheets[0].iter_rows(values_only=True))
    assert book.worksheets[0].title == "Decisions"
    assert [row[:2] for row in rows[1:]] == [(one.id, "settled" if one.reason else "open") for one in settled.decided]
    assert [row[4] for row in rows[1:]] == [one.reason or one.settle for one in settled.decided]
    for text in (as_markdown(tender_document(settled)), text_of_xlsx(vendor_workbook(settled))):
        assert "measured on our own code" not in text
        assert not [name for name in (first, *others) if name in text]
