"""A tender speaks to vendors, the report to the buyer: no options of the tool, no names of variables, no formulas as places."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from conftest import ROOT, example_plan

from ingest.engine.registry import FORMULAS
from ingest.reports.document.derivations import place_of
from ingest.reports.document.markup import Bullets, DerivationListing, Document, Paragraph, Table
from ingest.reports.document.plan_documents import buyer_report, tender_document
from ingest.reports.document.word import SECTIONS, VALUES

SITES = ("hpc-128-nodes", "llm-16384-gpus", "enterprise-64-nodes")


@pytest.fixture(scope="module", params=SITES)
def tender(request):
    plan = example_plan(request.param, None)
    return plan, tender_document(plan)


@pytest.fixture(scope="module")
def own(tender):
    """The buyer's report of the same plan."""
    return buyer_report(tender[0])


def texts(document: Document, *left_out: str) -> Iterator[str]:
    for section in document.sections:
        for block in section.blocks if section.name not in left_out else ():
            if isinstance(block, Paragraph):
                yield from (block.lead, block.text)
            elif isinstance(block, Table):
                if not block.caption.endswith(": Sources"):
                    yield from (block.caption, *block.heads, *(cell for row in block.rows for cell in row))
            elif isinstance(block, (Bullets, DerivationListing)):
                yield from block.lines


def tables(document: Document) -> dict[str, Table]:
    found = [block for section in document.sections for block in section.blocks if isinstance(block, Table)]
    return {table.caption.partition(": ")[2]: table for table in found}


def test_nothing_is_said_to_who_sits_at_the_keyboard(tender):
    for text in texts(tender[1]):
        assert not re.search(
            r"--[a-z]|\bsay [a-z]|\bsupply `|\bset [a-z]+[._][a-z]|\bsite file\b|\bhandbook\b|\bgraded\b", text
        ), text


def test_no_variable_and_no_bare_power_of_ten_outside_the_places_in_sources(tender, own):
    keyed = ("decisions", "questions", "cautions", "protocols")  # these name keys of the site file
    for text in (*texts(tender[1]), *texts(own, *keyed)):
        told = re.sub(r"sha256:\w+|\(fio: [^)]*\)", "", text.partition("[")[0])
        assert not re.search(r"\b[a-z]+_[a-z_]+\b", told), text
        assert not re.search(r"\d[eE][+-]?\d", told), text


def test_places_in_sources_are_no_formulas(tender, own):
    plan = tender[0]
    rows = tables(own)["Sources"].rows
    assert [row[0] for row in rows] == [one["id"] for one in plan.sources]
    for name, _, place in rows:
        assert not re.search(r"[=÷·√^τλη]", place), name


def test_a_table_of_quantities_does_not_repeat_what_describes_its_rows(own):
    found = tables(own)
    for caption in ("Checkpoints", "Metadata operations"):
        table = found[caption]
        words = {*table.heads, *(row[0] for row in table.rows)}
        assert not words & {"Cluster", "Model", "GPU", "Evidence level"}, caption
    capacity = found["Capacity by year"]
    assert capacity.heads[:2] == ("Year", "Data held")
    assert all(re.fullmatch(r"20\d\d", row[0]) for row in capacity.rows)


def test_no_table_is_without_quantities(tender, own):
    for caption, table in (*tables(tender[1]).items(), *tables(own).items()):
        assert len(table.heads) > 1, caption
        assert any(any(row[1:]) for row in table.rows), caption


def test_shares_are_in_per_cent(own):
    shares = [row for row in tables(own)["Assumptions"].rows if row[0] in ("Scaling efficiency", "Accelerator utilization")]
    assert shares
    assert {row[1] for row in shares} == {"100 %"}


def test_sections_and_values_are_the_ones_that_a_template_may_ask_for(tender, own):
    plan, document = tender
    for kind, found in (("vendor", document), ("buyer", own)):
        assert {section.name: section.title for section in found.sections}.items() <= SECTIONS[kind].items()
        absent = [name for name in SECTIONS[kind] if name not in {section.name for section in found.sections}]
        # A section that a site is without is a field that is filled with nothing.
        assert [name for name, _ in found.facts] == [*VALUES, *(one.id for one in plan.requirements), *absent]
        assert {value for name, value in found.facts if name in absent} <= {""}


#: Where places in sources are nothing but arithmetic.
ARITHMETIC = re.compile(r"[=÷·√^τληδ×]|[A-Z]/\(")


def places(node: Any) -> Iterator[str]:
    """Every `where` of a catalog file."""
    if isinstance(node, dict):
        for name, inner in node.items():
            if name == "where" and isinstance(inner, str):
                yield inner
            else:
                yield from places(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from places(inner)


def test_formulas_alone_are_cut_from_places():
    files = sorted((ROOT / "catalogs").rglob("*.yaml"))
    found = {place for path in files for place in places(yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))}
    found |= {formula.where for formula in FORMULAS.values()}
    assert len(found) > 700
    for place in found:
        rest = place_of(place)
        for part in re.split(r"; |[,:] (?![^()]*\))", place):
            assert part in rest or ARITHMETIC.search(part), place


@pytest.mark.parametrize(
    "place", ["table 3, throughput and/(or) latency", "table 3, 8 × H100", "I/O, sec. 3", "table 2, batch = 32, bf16"]
)
def test_places_stay_whatever_signs_they_hold(place):
    assert place_of(place) == place
