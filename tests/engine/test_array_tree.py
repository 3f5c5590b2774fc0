"""Walks over arrays find what walks from step to step find."""

import numpy
import pytest
from conftest import SITES, example_plan

from ingest.engine.monte_carlo import MOST_RESULTS, ArrayTree, Uses
from ingest.engine.registry import Formula, Step


@pytest.fixture(scope="module", params=SITES, ids=lambda path: path.stem)
def tree(request):
    return example_plan(request.param.stem).tree


def below(step, found=None):
    """The step and all that it rests on, one after the other."""
    found = set() if found is None else found
    if step not in found:
        found.add(step)
        for part in step.inputs:
            below(part, found)
    return found


def test_marks_levels_and_uses_are_those_of_a_walk_by_steps(tree):
    # Marks name the results that rest on each step.
    expected = [below(step) for step in tree.steps.values()]
    for step, mark in zip(tree.order, tree.marks.tolist(), strict=True):
        assert [mark >> place & 1 for place in range(len(expected))] == [step in one for one in expected], step.name
    # A level is the longest way down.
    levels = {}
    for step in tree.order:
        levels[step] = max((levels[part] + 1 for part in step.inputs), default=0)
    assert tree.levels.tolist() == list(levels.values())
    # The uses of a step are the pairs whose input it is.
    pairs = numpy.arange(len(tree.parts))[::2]
    positions = numpy.arange(len(tree.order))[::-1]
    which, found = Uses(tree, pairs).of(positions)
    assert (tree.parts[found] == positions[which]).all()
    assert sorted(found.tolist()) == pairs.tolist()


def test_what_rests_on_inputs_is_computed_from_them(tree):
    inputs = [step for steps in tree.uncertain.values() for step in steps]
    found = tree.resting_on(tree.placed(inputs))
    above = {*inputs, *tree.above(inputs)}
    assert [step in above for step in tree.order] == found.tolist()
    assert {tree.order[place] for place in tree.moving.tolist()} == above - {*inputs}
    assert len(tree.moving) > 20


def test_a_simulated_result_is_not_computed_again_from_its_inputs():
    given = Step("nodes", 2.0, None)
    simulated = Step("stall_fraction", 0.1, None, (given,))
    half = Step(
        "gpus", 0.05, Formula("gpus", lambda value: value / 2, ("stall_fraction",), "GPU", "definition", ""), (simulated,)
    )
    tree = ArrayTree({"R-1": half})
    assert tree.marks.tolist() == [1, 1, 1]
    assert tree.resting_on([0]).tolist() == [True, False, False]
    assert tree.resting_on([1]).tolist() == [False, True, True]


def test_a_bit_for_each_result():
    def results(count):
        return ArrayTree({f"R-{place}": Step("nodes", float(place), None) for place in range(count)})

    assert results(MOST_RESULTS).marks.tolist() == [1 << place for place in range(MOST_RESULTS)]
    with pytest.raises(ValueError, match="64 results"):
        _ = results(MOST_RESULTS + 1).marks


def test_a_tree_without_steps():
    tree = ArrayTree({})
    assert len(tree.marks) == len(tree.levels) == len(tree.moving) == 0
