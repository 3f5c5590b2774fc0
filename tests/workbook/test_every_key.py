"""Every key of a site that is an input of its workbook: after a change it shows a fresh plan, or a check says to plan again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import table
from office import Values, heading, recalculated, values

import ingest
from ingest.engine.ranges import Tree
from ingest.engine.registry import INPUTS, Step
from ingest.errors import IngestError
from ingest.reports.workbook.model_workbook import ModelWorkbook, model_workbook

SITE = table("workbook/every_key.yaml")
#: Other values of the keys that came with lines that can be signed, in base units.
OTHERS = table("workbook/cases.yaml")["others"]
#: Whole numbers that are changed by one.
COUNTS = table("workbook/cases.yaml")["counts"]


@pytest.fixture(scope="module")
def plan() -> ingest.Plan:
    return ingest.plan(SITE, samples=0)


@pytest.fixture(scope="module")
def tree(plan) -> Tree:
    """All that the workbook computes of the requirements, and all that its checks compare."""
    behind = ModelWorkbook(plan).behind
    return Tree({**plan.steps, **{f"behind {place}": step for place, step in enumerate(behind)}})


@pytest.fixture(scope="module")
def keyed(plan, tree) -> dict[str, list[Step]]:
    """The inputs that stand for a key of the site file."""
    cells, found = ModelWorkbook(plan).cells, dict[str, list[Step]]()
    for step in tree.order:
        if step.formula is None and cells.key(step):
            found.setdefault(cells.key(step), []).append(step)
    return found


def outcome(plan: ingest.Plan, tree: Tree, steps: list[Step], value: float) -> tuple[dict[str, float], list[str]]:
    """The live values of the requirements, and the checks that say to plan again, with another value of an input."""
    live = tree.again(dict.fromkeys(steps, value), tree.above(steps))

    def of(side: Any) -> Any:
        return live.get(side, side.value) if isinstance(side, Step) else side

    checked = [one for one in plan.findings if one.is_checked]
    turned = [one.what for one in checked if one.rule.compares(of(one.value), float(of(one.limit))) != one.true]
    return {name: float(of(step)) for name, step in plan.steps.items()}, turned


def misleading(plan: ingest.Plan, tree: Tree, steps: list[Step], key: str, value: float) -> dict[str, object]:
    """What the workbook shows and a fresh plan does not, where no check says to plan again."""
    live, turned = outcome(plan, tree, steps, value)
    if turned:
        return {}
    try:
        fresh = ingest.plan(SITE, samples=0, set={key: value})
    except IngestError as error:
        return {"refused": str(error)}
    planned = fresh.computed
    wrong = {
        name: (live.get(name), planned.get(name))
        for name in {*live, *planned}
        if name not in live or name not in planned or not math.isclose(live[name], planned[name], rel_tol=1e-9)
    }
    priorities = {one.id: one.priority for one in fresh.requirements}
    return wrong | {one.id: one.priority for one in plan.requirements if one.priority != priorities[one.id]}


@pytest.mark.parametrize("key", OTHERS)
def test_a_key_changed_alone_leads_to_a_fresh_plan_or_a_check_says_so(plan, tree, keyed, key):
    assert key in keyed
    assert keyed[key][0].value != OTHERS[key]
    assert not misleading(plan, tree, keyed[key], key, OTHERS[key])


def others(keyed: dict[str, list[Step]]) -> Iterator[tuple[str, float]]:
    """Another value for every further key: a count larger by one, else a quarter less, unless the input takes no less."""
    for key, steps in keyed.items():
        value, word = float(steps[0].value), key.rpartition(".")[2]
        least = INPUTS[steps[0].name].low if steps[0].name in INPUTS else 0
        if key not in OTHERS:
            yield key, value + 1 if word in COUNTS else max(value * 0.75, least)


@pytest.mark.slow
def test_every_other_key_changed_alone_leads_to_a_fresh_plan_or_a_check_says_so(plan, tree, keyed):
    changed = dict(others(keyed))
    assert len(changed) > 40
    found = {key: misleading(plan, tree, keyed[key], key, value) for key, value in changed.items()}
    assert not {key: wrong for key, wrong in found.items() if wrong}


def test_a_spreadsheet_program_follows_all_new_keys_changed_together(plan, tmp_path: Path):
    path = tmp_path / "site.xlsx"
    path.write_bytes(model_workbook(plan))
    inputs = {f"in_{key.replace('.', '_')}": value for key, value in OTHERS.items()}
    cells = recalculated({"others": (path, inputs)}, tmp_path)["others"]["Requirements"]
    fresh = ingest.plan(SITE, samples=0, set=OTHERS)
    found = {cells[f"A{row}"]: (cells[f"D{row}"], cells[f"F{row}"]) for row in range(2, len(fresh.requirements) + 2)}
    assert found == {one.id: pytest.approx((one.computed, one.value), rel=1e-9) for one in fresh.requirements}
    assert sum(one.value != plan.requirement(one.id).value for one in fresh.requirements) > 10


@pytest.fixture(scope="module")
def stored(plan, tmp_path_factory: pytest.TempPathFactory) -> Values:
    path = tmp_path_factory.mktemp("stored") / "site.xlsx"
    path.write_bytes(model_workbook(plan))
    return values(path)


CONDITIONS = table("workbook/cases.yaml")["conditions"]


def test_requirements_show_queue_depth_latencies_mix_and_the_word_for_the_cache_rule(plan, stored):
    cells = stored["Requirements"]
    for row, one in enumerate(plan.requirements, start=2):
        for head, name in CONDITIONS.items():
            shown, known = cells.get(f"{heading(cells, head)}{row}"), getattr(one.conditions, name)
            assert shown == (None if known is None else pytest.approx(known, rel=1e-12)), (one.id, head)
        assert cells.get(f"{heading(cells, 'Mix')}{row}", "") == one.conditions.mix_in_words, one.id
        assert cells.get(f"{heading(cells, 'Cache rule')}{row}", "") == ("uncached" if one.conditions.cache else ""), one.id
    assert sum(bool(one.conditions.mix) for one in plan.requirements) > 1


def test_the_sheet_guidance_compares_the_workload_with_levels_and_practice(plan, stored):
    cells, rows = stored["Guidance"], plan.tables["guidance"]
    assert [cells[f"A{row}"] for row in range(2, len(rows) + 2)] == [row["name"] for row in rows]
    reads = heading(cells, "Reads (B/s)")
    assert [cells.get(f"{reads}{row}") for row in range(2, len(rows) + 2)] == [row.get("compared_reads") for row in rows]


def test_defaults_of_the_storage_are_one_input_for_all_years():
    site = {**SITE, "reserve": {}, "storage": {"protection": {"data": 8, "parity": 2}}}
    placed = [ModelWorkbook(ingest.plan(site, samples=0)).cells]
    names = [step.name for cells in placed for step in cells.inputs]
    for name in ("snapshot_share", "home_bytes", "filesystem_efficiency", "failed_servers"):
        assert names.count(name) == 1, name
