"""The tables to work with: tests with repeats and tools, the whole response form, steps of growth."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from conftest import EXAMPLES, example_plan, table

from ingest.acceptance.accept import KINDS_OF_TOOL, rows_of, shown_by
from ingest.reports.document.markup import Paragraph, Table
from ingest.reports.document.plan_documents import (
    Composition,
    acceptance_table,
    buyer_report,
    response_table,
    spread,
    tender_document,
)
from ingest.site.load_conditions import UNCACHED
from ingest.site.planner import plan
from ingest.site.requirement_wording import LINES

#: A site with states and caches below GPU memory.
TIERS = EXAMPLES / "offload-and-serving.yaml"


@pytest.fixture(scope="module", params=["hpc-128-nodes", "llm-16384-gpus"])
def planned(request):
    return example_plan(request.param, None)


def column(table, head):
    return [row[table.heads.index(head)] for row in table.rows]


def test_every_test_has_a_number_of_repeats_and_tools_that_can_run_it(planned):
    table = acceptance_table(planned.requirements)
    assert column(table, "Test") == [one.test for one in rows_of(planned.requirements)]
    assert all(int(runs.partition(" × ")[0]) >= 1 for runs in column(table, "Runs × duration"))
    several = Counter(zip(column(table, "Test"), column(table, "Requirement"), strict=True))
    heads = ("Test", "Requirement", "Operation", "Tools")
    for test, line, operation, tools in zip(*(column(table, head) for head in heads), strict=True):
        mixed = test.startswith("T-MIX") or several[test, line] > 1
        kind = "mixed" if mixed else operation.split()[-1]
        assert tools
        assert all(kind in KINDS_OF_TOOL[tool] for tool in tools.split(", ")), test


def binding(plan):
    return [one for one in plan.requirements if one.priority != "information"]


def test_the_response_form_has_each_line_that_binds_and_each_term_that_is_stated(planned):
    terms = [one for one in planned.service if one.status != "open"]
    table = response_table(binding(planned), terms)
    assert column(table, "Id") == [*(one.id for one in binding(planned)), *(one.id for one in terms)]
    assert terms


def test_steps_of_growth_are_the_years_of_the_plan(planned):
    years = planned.tables["capacity"]
    table = Composition("vendor", planned).growth()
    assert column(table, "Year") == [year["name"] for year in years]
    assert column(table, "Trigger")[0] == "delivery"
    grown = [year["year_usable_bytes"] for year in years]
    for step, trigger in enumerate(column(table, "Trigger")[1:], start=1):
        assert trigger.startswith("start of") == (grown[step] > max(grown[:step]))
    assert table.rows[0][4].endswith("B/s")
    # The peak year needs what R-CAP-01 and R-CAP-03 state.
    peak = max(range(len(years)), key=grown.__getitem__)
    for head, name in (("Data held by then", "R-CAP-01"), ("Usable capacity by then", "R-CAP-03")):
        assert column(table, head)[peak] == planned.requirement(name).display.partition(" (")[0]


def test_the_cover_names_a_reference_that_the_buyers_report_has_in_full(planned):
    document = tender_document(planned)
    reference = document.subtitle.partition("reference ")[2].split()[0]
    for part, full in zip(reference.split("-"), (planned.input_hash, planned.catalog.content_hash()), strict=True):
        assert full.rpartition(":")[2].startswith(part)
        assert full not in str(document.sections)
        assert full in str(buyer_report(planned, derivations=False).sections)


def test_the_cover_says_in_figures_what_is_bought_and_marks_what_the_buyer_has_not_given(planned):
    cover = tender_document(planned).cover
    assert cover.purchase == planned.document.purchase
    capacity = planned.requirement("R-CAP-03").display.partition(" (")[0]
    assert cover.figures[0] == (capacity, "usable capacity to deliver")
    assert capacity in cover.purchase
    assert [name for name, _ in cover.facts] == ["Buyer", "Reference", "Issued", "Offers due by", "Contact"]


def test_what_binds_is_verified_by_a_test_or_by_an_inspection_that_the_document_names(planned):
    document = tender_document(planned)
    section = next(one for one in document.sections if one.name == "acceptance")
    tests, inspected = (block for block in section.blocks if isinstance(block, Table))
    bound = {one.id for one in binding(planned)}
    alone = column(inspected, "Requirement")
    assert {*alone, *column(tests, "Requirement")} >= bound
    assert set(alone) == bound - set(shown_by(planned.requirements))
    assert {"R-META-03", "R-CAP-01"} <= set(alone)
    told = dict(zip(alone, column(inspected, "Verified by"), strict=True))
    assert "usable capacity" in told["R-CAP-01"]
    assert "number of files" in told["R-META-03"]
    assert "R-END-01" not in bound or "rated endurance" in told["R-END-01"]
    small = [block.text for one in document.sections for block in one.blocks if isinstance(block, Paragraph) and block.small]
    assert sum("Verified by inspection." in text for text in small) == len(alone)


def test_a_range_that_prints_as_one_value_is_left_out(planned):
    one = planned.requirement("R-READ-03")
    alike, apart = (replace(one, low=21.2181e9, high=high) for high in (21.2182e9, 30e9))
    assert (spread(alike), spread(apart)) == ("", "21.22 to 30 GB/s")


def test_capacity_is_told_in_the_same_terms_everywhere(planned):
    asked = planned.requirement("R-CAP-01")
    fill = f"{asked.conditions.fill * 100:g} %"
    assert f"of data, without data reduction, while no more than {fill} of its usable capacity is in use" in asked.statement
    bought = planned.requirement("R-CAP-03")
    reserved = planned.site.section("reserve")
    assert (bought.computed == pytest.approx(asked.computed / asked.conditions.fill)) == (not reserved)
    own = buyer_report(planned)
    results = next(one for one in own.sections if one.name == "results")
    glance = next(block for block in results.blocks if isinstance(block, Table))
    assert {row[2] for row in glance.rows if row[0] == "R-CAP-01"} == {"Data held"}
    capacity = next(one for one in own.sections if one.name == "capacity")
    held = next(block for block in capacity.blocks if isinstance(block, Table))
    assert held.heads[:2] == ("Year", "Data held")
    assert "Usable capacity" in held.heads


def test_endurance_names_its_period_and_one_client_reads_alone(planned):
    assert "on each day of a warranty of 5 years" in planned.requirement("R-END-01").statement
    assert "to any one client that reads alone, with" in planned.requirement("R-READ-04").statement


#: Every line at once.
WHOLE = table("document/whole.yaml")


@pytest.fixture(scope="module")
def whole():
    return plan(WHOLE, samples=200)


def test_each_line_stands_in_exactly_one_section(whole):
    # What the whole site leaves out: an archive, existing data, data that arrive, indexes, and models that grow.
    sets = {**WHOLE["datasets"], "tape": {"bytes": "5 PB", "tier": "archive"}, "made": {"made_from": "tape", "ratio": 0.1}}
    stated = {**WHOLE, "datasets": sets, "migrate": {"bytes": "1 PB", "within": "9 days"},
              "growth": {"parameters": {"factor": 2, "every": "1 year"}}}  # fmt: skip
    apart = {"rollout_cluster": "rollouts", "rollout_hosts": 2, "step_time": "60 s", "rollouts": 512, "tokens": 1000}
    learning = {"kind": "rl", "cluster": "main", "nodes": 1, "model": "qwen3-8b", "rl": apart}
    taught = {"clusters": {name: {"node": "dgx-h100", "count": 2} for name in ("main", "rollouts")}, "jobs": {"grpo": learning}}
    taught["datasets"] = {"sky": {"bytes": "1 TB", "file_bytes": "1 GB", "arrives": {"rate": "1 GB/s", "buffer": "1 day"}}}
    taught["indexes"] = {"pages": {"cluster": "main", "nodes": 1, "vectors": 10**8, "dimensions": 768, "index": "diskann",
                                   "qps": 500, "search_list": 100, "latency": "50 ms", "rebuilds_per_day": 1}}  # fmt: skip
    plans = (whole, plan(TIERS, samples=0), plan(stated, samples=0), plan(taught, samples=0))
    assert {one.id for made in plans for one in made.requirements} == {line.id for line in LINES}
    written = [(document, lines) for made in plans for document, lines in (
        (tender_document(made), binding(made)), (buyer_report(made), made.requirements),
    )]  # fmt: skip
    for document, lines in written:
        leads = Counter(block.lead for one in document.sections for block in one.blocks if isinstance(block, Paragraph))
        stated = {lead: count for lead, count in leads.items() if lead.startswith("R-")}
        assert stated == dict.fromkeys((f"{one.id} ({one.priority})." for one in lines), 1)


def test_the_section_on_guidance_shows_the_levels_apart_from_what_the_workload_needs(whole):
    own = {one.name: one for one in buyer_report(whole).sections}
    performance = own["guidance"]
    stated = [block.lead for block in performance.blocks if isinstance(block, Paragraph) and block.lead]
    assert stated
    assert all(lead.startswith("R-GUIDE-") for lead in stated)
    others = (*own["performance"].blocks, *own["checkpoints"].blocks)
    assert not [block for block in others if "R-GUIDE-" in getattr(block, "lead", "")]
    levels = next(block for block in performance.blocks if isinstance(block, Table))
    # 512 GPUs: two units of 256, at 15 and 7 GB/s each at the lowest level.
    assert levels.rows[0] == ('DGX SuperPOD H100 "good"', "main", "512 GPUs", "yes", "30 GB/s", "14 GB/s", "4 GB/s", "2 GB/s")
    assert "this workload" in [row[0] for row in levels.rows]


def test_the_section_on_checkpoints_says_who_reads_in_a_restore(whole):
    section = next(one for one in buyer_report(whole).sections if one.name == "checkpoints")
    told = [block.text for block in section.blocks if isinstance(block, Paragraph) and block.lead == "Restore."]
    assert len(told) == 2
    assert told[0].startswith("For images, every replica of the model reads the weights, as Megatron does by default")
    assert told[1].startswith("For language, each byte of a checkpoint is read once")


def test_steps_of_growth_hold_the_reserve(whole):
    table = Composition("vendor", whole).growth()
    held, bought = (whole.requirement(name).computed for name in ("R-CAP-01", "R-CAP-03"))
    assert bought == pytest.approx((held * 1.1 + 20e12) / 0.8)
    assert column(table, "Usable capacity by then")[0] == whole.requirement("R-CAP-03").display.partition(" (")[0]


def test_terms_define_what_the_statements_name(whole):
    scope = next(one for one in tender_document(whole).sections if one.name == "scope")
    terms = dict(next(block for block in scope.blocks if isinstance(block, Table)).rows)
    assert f"uncached: {terms['uncached'].rstrip('.')}" == UNCACHED
    for term in ("queue depth", "mix", "usable capacity", "data reduction", "data held", "value"):
        assert terms[term]


def test_a_part_of_a_mix_is_a_row_of_its_own_with_clients_threads_and_depth(whole):
    table = acceptance_table(whole.requirements)
    rows = dict(zip(column(table, "Test"), column(table, "Clients × threads × queue depth"), strict=True))
    assert all(re.fullmatch(r"[\d,]+ × [\d,]+ × [\d,]+", counts) for counts in rows.values())
