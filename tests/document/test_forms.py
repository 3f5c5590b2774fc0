"""The tables to work with: tests with repeats and tools, the whole response form, steps of growth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.acceptance.accept import KINDS_OF_TOOL
from ingest.acceptance.test_table import rows_of, shown_by
from ingest.reports.document.model import Paragraph, Table
from ingest.reports.document.rfp_document import RfpDocument, requirement
from ingest.reports.document.tables import acceptance_table, growth_table, response_tables
from ingest.rfp.response_form import FIELDS
from ingest.site.planner import plan

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module", params=["hpc-128-nodes", "llm-16384-gpus"])
def planned(request):
    return plan(EXAMPLES / f"{request.param}.yaml")


def column(table, head):
    return [row[table.heads.index(head)] for row in table.rows]


def test_every_test_has_a_number_of_repeats_and_tools_that_can_run_it(planned):
    table = acceptance_table(planned.requirements)
    assert column(table, "Test") == [one.test for one in rows_of(planned.requirements)]
    assert all(int(runs.partition(" × ")[0]) >= 1 for runs in column(table, "Runs × duration"))
    for test, operation, tools in zip(*(column(table, head) for head in ("Test", "Operation", "Tools")), strict=True):
        kind = "mixed" if test.startswith("T-MIX") else operation.split()[-1]
        assert tools
        assert all(kind in KINDS_OF_TOOL[tool] for tool in tools.split(", ")), test


def test_the_response_form_has_every_field_of_the_sheet_and_the_priorities(planned):
    answers, evidence = response_tables(planned.requirements)
    assert {*answers.heads, *evidence.heads} == {"Id", "Priority", "Required", *(field.head for field in FIELDS)}
    assert column(answers, "Priority") == [one.priority for one in planned.requirements]
    assert column(evidence, "Id") == column(answers, "Id") == [one.id for one in planned.requirements]


def test_steps_of_growth_are_the_years_of_the_plan(planned):
    years = planned.tables["capacity"]
    table = growth_table(years, {one.id: one for one in planned.requirements})
    assert column(table, "Year") == [year["name"] for year in years]
    assert column(table, "Trigger")[0] == "delivery"
    grown = [year["year_usable_bytes"] for year in years]
    for step, trigger in enumerate(column(table, "Trigger")[1:], start=1):
        assert trigger.startswith("start of") == (grown[step] > max(grown[:step]))
    assert table.rows[0][3].endswith("B/s")


def test_the_title_names_a_reference_that_the_last_section_has_in_full(planned):
    document = RfpDocument(planned).document()
    reference = document.subtitle.partition("reference ")[2].split()[0]
    for part, full in zip(reference.split("-"), (planned.input_hash, planned.catalog.content_hash()), strict=True):
        assert full.rpartition(":")[2].startswith(part)
    assert planned.input_hash in str(document.sections[11])
    assert "…" not in document.subtitle


def test_what_binds_is_verified_by_a_test_or_by_an_inspection_that_section_10_names(planned):
    document = RfpDocument(planned).document()
    section = next(one for one in document.sections if one.name == "acceptance")
    tests, inspected = (block for block in section.blocks if isinstance(block, Table))
    binding = {one.id for one in planned.requirements if one.priority != "information"}
    alone = column(inspected, "Requirement")
    assert {*alone, *column(tests, "Requirement")} >= binding
    assert set(alone) == binding - set(shown_by(planned.requirements))
    assert {"R-META-03", "R-CAP-01", "R-END-01"} <= set(alone)
    told = dict(zip(alone, column(inspected, "Verified by"), strict=True))
    assert "usable capacity" in told["R-CAP-01"]
    assert "number of files" in told["R-META-03"]
    assert "rated endurance" in told["R-END-01"]
    small = [block.text for one in document.sections for block in one.blocks if isinstance(block, Paragraph) and block.small]
    assert sum("Verified by inspection (section 10)." in text for text in small) == len(alone)


def test_a_range_that_prints_as_one_value_is_left_out(planned):
    one = planned.requirement("R-READ-03")
    alike, apart = (replace(one, low=21.2181e9, high=high) for high in (21.2182e9, 30e9))
    assert not any("Range" in str(block) for block in requirement(alike, "T"))
    assert "Range (P10 to P90): 21.22 GB/s to 30 GB/s." in str(requirement(apart, "T"))


def test_capacity_is_told_in_the_same_terms_everywhere(planned):
    document = RfpDocument(planned).document()
    scope, capacity = document.sections[0], document.sections[3]
    terms = dict(next(block for block in scope.blocks if isinstance(block, Table) and "Terms" in block.caption).rows)
    assert "usable capacity" in terms["fill"]
    assert "fill" not in terms["usable capacity"]
    assert "usable capacity" not in next(block.text for block in scope.blocks if getattr(block, "lead", "") == "Units.")
    asked = planned.requirement("R-CAP-01")
    assert f"of data while no more than {asked.conditions.fill * 100:g} % of its usable capacity is in use" in asked.statement
    glance = next(block for block in scope.blocks if isinstance(block, Table) and "glance" in block.caption)
    assert {row[2] for row in glance.rows if row[0] == "R-CAP-01"} == {"Data held"}
    held = next(block for block in capacity.blocks if isinstance(block, Table))
    assert held.heads[:2] == ("Year", "Data held")
    raw = planned.results["R-CAP-02"].value
    known = planned.requirement("R-CAP-02").derivation
    assert raw > asked.value / asked.conditions.fill * 0.999
    assert any("usable share" in line or "usable_share" in line for line in known)


def test_endurance_names_its_period_and_one_client_reads_alone(planned):
    assert "on each day of the warranty" in planned.requirement("R-END-01").statement
    assert "to any one client that reads alone, with" in planned.requirement("R-READ-04").statement
