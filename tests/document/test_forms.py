"""The tables to work with: tests with repeats and tools, the whole response form, steps of growth."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.acceptance.generation import ABLE
from ingest.acceptance.table import rows_of
from ingest.reports.document.forms import acceptance_table, growth_table, response_tables
from ingest.reports.document.rfp import Tender
from ingest.site.planning import plan
from ingest.tender.fields import FIELDS

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
        assert all(kind in ABLE[tool] for tool in tools.split(", ")), test


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
    document = Tender(planned).document()
    reference = document.subtitle.partition("reference ")[2].split()[0]
    for part, full in zip(reference.split("-"), (planned.input_hash, planned.catalog.content_hash()), strict=True):
        assert full.rpartition(":")[2].startswith(part)
    assert planned.input_hash in str(document.sections[11])
    assert "…" not in document.subtitle
