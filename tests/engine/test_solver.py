"""Quantities: built from inputs, then frozen."""

import pytest

from ingest.engine.registry import Step
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import MissingQuantity, UsageError

NODES = {"nodes": Input(2), "gpus_per_node": Input(8)}


def test_an_input_given_after_it_was_computed_is_refused():
    known = Quantities(NODES)
    assert known.value("gpus") == 16
    for change in (known.give, lambda given: known.give_default("gpus", given["gpus"]), known.with_inputs):
        with pytest.raises(ValueError, match="gpus is given after it has been computed"):
            change({"gpus": Input(3)})
    with pytest.raises(ValueError, match="gpus is given after"):
        known.adopt({"gpus": Step("gpus", 3, None)})
    assert known.value("gpus") == 16


def test_what_is_given_before_further_or_by_a_route():
    # What is given before wins.
    known = Quantities(NODES)
    known.give({"nodes": Input(3)})
    assert known.give_default("nodes", Input(9)).value == 3
    assert known.value("gpus") == 24
    # Further inputs make quantities of their own.
    known = Quantities({"nodes": Input(2)})
    known.freeze()
    other = known.with_inputs({"gpus_per_node": Input(4)})
    assert other.value("gpus") == 8
    assert "gpus_per_node" not in known.given


def test_frozen_quantities_are_read_and_not_changed():
    known = Quantities(NODES)
    known.freeze()
    assert known.value("gpus") == 16
    for change in (
        lambda: known.give({"sample_bytes": Input(1)}),
        lambda: known.adopt({"sample_bytes": Step("sample_bytes", 1, None)}),
        lambda: known.link("sample_bytes", known.step("gpus")),
        lambda: known.state("closed_by_size"),
    ):
        with pytest.raises(ValueError, match="frozen"):
            change()
    for view in (known.given, known.steps):
        with pytest.raises(TypeError, match="does not support item assignment"):
            view["sample_bytes"] = Input(1)


def test_a_route_serves_other_values_and_no_other_names():
    assert [Quantities({"nodes": Input(count), "gpus_per_node": Input(8)}).value("gpus") for count in (2, 3)] == [16, 24]
    given = Quantities({"nodes": Input(2), "gpus_per_node": Input(8)})
    given.give({"gpus": Input(7)})
    assert given.value("gpus") == 7
    assert Quantities({"gpus_per_node": Input(8)}).find("gpus") is None


def test_a_refusal_leaves_nothing_known_and_holds_until_more_is_given():
    for count in (2, 3):
        known = Quantities({"nodes": Input(count)})
        assert known.find("gpus") is None
        with pytest.raises(MissingQuantity, match=r"gpus_per_node is not known \(needed for gpus\)"):
            known.step("gpus")
        assert not known.steps
        known.give({"gpus_per_node": Input(4)})
        assert known.value("gpus") == 4 * count


def test_what_cannot_be_divided_is_refused_on_a_route_as_on_the_first_way():
    def known(rate):
        return Quantities({"checkpoint_bytes": Input(10), "checkpoint_write_bandwidth": Input(rate)})

    for rate, seconds in ((0, None), (5, 2), (0, None), (2, 5)):
        asked = known(rate)
        if seconds is None:
            with pytest.raises(UsageError, match="checkpoint_dump_seconds exceeds the range"):
                asked.step("checkpoint_dump_seconds")
            assert not asked.steps
        else:
            assert asked.value("checkpoint_dump_seconds") == seconds


def test_several_quantities_at_once_are_what_each_is_alone():
    names = ("checkpoint_dump_seconds", "checkpoint_files", "gpus")
    for rate, nodes in ((5, 2), (0, 2), (2, 3), (5, 2)):
        given = {**NODES, "nodes": Input(nodes), "checkpoint_bytes": Input(10), "checkpoint_write_bandwidth": Input(rate)}
        together, alone = Quantities(given), Quantities(given)
        if not rate:
            with pytest.raises(UsageError, match="checkpoint_dump_seconds exceeds the range"):
                together.find_all(names)
            assert not together.steps
            continue
        found = {name: step.value for name, step in together.find_all(names).items()}
        assert found == {"checkpoint_dump_seconds": 10 / rate, "gpus": 8 * nodes}
        assert [alone.find(name) is None for name in names] == [False, True, False]
        assert list(together.steps) == list(alone.steps)


def test_a_value_beyond_floating_point_is_refused_among_several_too():
    for count in (2, 10**400, 3):
        known = Quantities({"nodes": Input(count), "gpus_per_node": Input(8)})
        if count == 10**400:
            with pytest.raises(UsageError, match="gpus exceeds the range"):
                known.find_all(("gpus",))
        else:
            assert known.find_all(("gpus",))["gpus"].value == 8 * count


def test_names_below_are_those_of_what_was_computed_alone():
    known = Quantities({**NODES, "sample_bytes": Input(1)})
    known.step("gpus")
    known.step("sample_bytes")
    assert known.names_below(["gpus"]) == {"gpus", "nodes", "gpus_per_node"}
