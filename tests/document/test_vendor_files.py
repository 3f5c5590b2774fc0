"""What vendors receive holds nothing of the buyer's own; PDF is made by LibreOffice, or refused with what to install."""

import csv
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import docx
import pytest
from conftest import ROOT, in_place
from docx.oxml.ns import qn

from ingest.engine.messages import fact_of
from ingest.errors import IngestError, UsageError
from ingest.reports.document import word
from ingest.reports.plan_report import report
from ingest.units import display

SITES = ("hpc-128-nodes", *(pytest.param(name, marks=pytest.mark.slow) for name in ("llm-16384-gpus", "enterprise-64-nodes")))
SUFFIXES = ("docx", "html", "md", "csv", "json")
#: Pages that a tender of an example may have.
MOST_PAGES = 20
#: Words of the buyer's argument, and keys of a site file.
INTERNAL = re.compile(
    r"headroom|\bassum\w+|sensitivit|\bP10\b|\bP90\b|\bmargins?\b|sha256|not by this workload"
    r"|\b(?:storage|service|checkpoint|document|jobs|reserve|test|datasets|clusters)\.[a-z]+_?[a-z_]*\b(?!\.)"
)


class Text(HTMLParser):
    """The words of a page, without its style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(re.sub(r"(?s)<style>.*?</style>", "", page))

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def text_of(path: Path) -> str:
    """The words of a file on one line."""
    if path.suffix == ".docx":
        found = " ".join(one.text or "" for one in docx.Document(str(path)).element.body.iter(qn("w:t")))
    elif path.suffix == ".html":
        found = " ".join(Text(path.read_text(encoding="utf-8")).found)
    elif path.suffix == ".md":
        without_pictures = re.sub(r"\(data:[^)]*\)", "", path.read_text(encoding="utf-8"))
        found = re.sub(r"\\(.)", r"\1", without_pictures)
    else:
        found = path.read_text(encoding="utf-8")
    return " ".join(found.split())


@pytest.fixture(scope="module", params=SITES)
def sent(request, tmp_path_factory):
    """The plan of a site and the words of each file for vendors."""
    folder = tmp_path_factory.mktemp(request.param)
    paths = {suffix: folder / f"rfp.{suffix}" for suffix in SUFFIXES}
    made = report(ROOT / "examples" / f"{request.param}.yaml", output=list(paths.values()), for_vendor=True)
    return made.plan, {suffix: text_of(path) for suffix, path in paths.items()}, paths


def test_no_file_for_vendors_holds_notes_assumptions_ranges_margins_or_keys(sent):
    plan, texts, _ = sent
    facts = [fact_of(line) for line in (*plan.warnings, *(one["why"] for one in plan.assumed))]
    remarks = [one.remark for one in plan.requirements if one.remark]
    questions = [one.question for one in plan.open_questions]
    shown = {display(one.value, one.unit, binary=False) for one in plan.requirements}
    ends = {display(end, one.unit, binary=False) for one in plan.requirements for end in (one.low, one.high) if end is not None}
    assert facts
    assert ends - shown
    for name, text in texts.items():
        assert not [line for line in (*facts, *remarks, *questions) if line in text], name
        assert not [end for end in ends - shown if re.search(rf"(?<![\d.,]){re.escape(end)}(?!\w)", text)], name
        assert not INTERNAL.findall(text), name


def test_data_for_vendors_have_the_lines_and_nothing_of_how_they_were_derived(sent):
    plan, _, paths = sent
    data = json.loads(paths["json"].read_text(encoding="utf-8"))
    lines = data["requirements"]
    assert [one["id"] for one in lines] == [one.id for one in plan.vendor_lines]
    assert not {"computed", "low", "high", "derivation", "assumptions", "remark", "inputs"} & set().union(*lines)
    assert not {"inputs", "assumptions", "warnings", "written", "service"} & set(data)
    heads, *rows = csv.reader(io.StringIO(paths["csv"].read_text(encoding="utf-8")))
    assert not {"computed", "low", "high", "assumptions"} & set(heads)
    assert {row[heads.index("title")] for row in rows} == {data["title"]} == {plan.tender_title}


def test_information_that_no_binding_line_names_is_in_no_file_for_vendors(sent):
    plan, texts, _ = sent
    kept = {one.id for one in plan.vendor_lines}
    own = [one for one in plan.requirements if one.id not in kept]
    binding = " ".join(one.statement for one in plan.requirements if one.priority != "information")
    assert own
    assert all(one.priority == "information" and one.id not in binding for one in own)
    assert not [(name, one.id) for name, text in texts.items() for one in own if one.id in text]


def test_derivations_are_a_file_of_their_own_and_the_report_then_has_none(tmp_path):
    site = ROOT / "examples/hpc-128-nodes.yaml"
    report(site, output=tmp_path / "own.md", derivations=tmp_path / "derivations.md")
    own, apart = ((tmp_path / f"{name}.md").read_text(encoding="utf-8") for name in ("own", "derivations"))
    assert "```text" in apart
    assert "```text" not in own
    assert "The derivations are in a file of their own." in own
    with pytest.raises(UsageError, match=r"--derivations: 'd.xlsx' ends in '.xlsx', expected .docx, .md, .html, .pdf"):
        report(site, output=tmp_path / "own.md", derivations="d.xlsx")
    with pytest.raises(UsageError, match=r"is given twice"):
        report(site, output=tmp_path / "own.md", derivations=tmp_path / "own.md")


def test_without_libreoffice_a_pdf_is_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(word, "_program", lambda: None)
    with pytest.raises(IngestError, match=r"LibreOffice is not installed: install it, or write \.docx or \.html"):
        report(ROOT / "examples/hpc-128-nodes.yaml", output=tmp_path / "rfp.pdf", for_vendor=True)
    assert not list(tmp_path.iterdir())


def test_a_conversion_that_hangs_is_ended_and_one_that_makes_nothing_is_refused(tmp_path, monkeypatch):
    for script, why in (("sleep 60", r"took longer than 0\.5 s"), ("exit 1", "LibreOffice made none")):
        in_place(tmp_path, soffice=script)
        monkeypatch.setattr(word, "_program", (tmp_path / "soffice").__str__)
        with pytest.raises(IngestError, match=why):
            word.as_pdf(b"", seconds=0.5 if "sleep" in script else 30)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hpc-128-nodes", "llm-16384-gpus", "enterprise-64-nodes"])
def test_a_tender_has_few_pages_and_its_first_one_says_what_is_bought(name, tmp_path, monkeypatch):
    if word.lacking_pdf() or shutil.which("pdftotext") is None:
        pytest.skip("needs LibreOffice and poppler's tools")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    plan = report(ROOT / "examples" / f"{name}.yaml", output=tmp_path / "rfp.pdf", for_vendor=True).plan
    made = (tmp_path / "rfp.pdf").read_bytes()
    assert b"/CreationDate(D:20231114221320" in made
    assert word._settled(made) == made
    pages = subprocess.run(["pdftotext", "-layout", tmp_path / "rfp.pdf", "-"], capture_output=True, text=True, check=True)
    first, *others = pages.stdout.split("\f")
    assert len(others) <= MOST_PAGES
    assert plan.document.purchase in " ".join(first.split())
    # The list of contents has the numbers of pages, which LibreOffice has counted.
    assert re.search(r"1[23] Response form[ .]+1\d\b", first)
    assert not INTERNAL.findall(" ".join(pages.stdout.split()))
