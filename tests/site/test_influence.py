"""Inputs turned at once move the requirements as each one turned alone."""

import pytest
from conftest import example_plan

from ingest.site.influence import SMALLEST, _others, influences


def alone(plan, step):
    """The relative changes of the requirements, computed on the whole tree for one value after the other."""
    found = {}
    for value in _others(step):
        values = plan.tree.again({step: value}, plan.tree.above([step]))
        for one in plan.requirements:
            line = plan.steps[one.id]
            if one.priority != "information" and line in values and float(line.value) > 0:
                change = abs(float(values[line]) - float(line.value)) / float(line.value)
                found[one.id] = max(change, found.get(one.id, 0.0))
    return {name: change for name, change in found.items() if change > SMALLEST}


def test_inputs_turned_at_once_move_what_each_moves_alone():
    plan = example_plan("hpc-128-nodes")
    inputs = [step for step in plan.tree.order if step.source is not None and isinstance(step.value, (int, float))]
    found = {one.steps[0]: dict(one.moved) for one in influences(plan, [[step] for step in inputs])}
    expected = {step: moved for step in inputs if (moved := alone(plan, step))}
    assert found.keys() == expected.keys()
    assert len(found) > 50
    # An input without a range moves by a tenth, a whole number by at least one.
    by_name = {step.name: step for step in inputs}
    assert _others(by_name["create_seconds"]) == pytest.approx([9, 11])
    assert _others(by_name["cluster_nodes"]) == [128 - 13, 128 + 13]
    for step, moved in found.items():
        assert moved == pytest.approx(expected[step], rel=1e-9), step.name
