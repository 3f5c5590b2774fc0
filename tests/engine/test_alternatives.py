"""What a quantity follows where several formulas could yield it."""

import pytest

from ingest.engine import registry
from ingest.engine.registry import Alternative
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import CyclicQuantity, MissingQuantity

GIVEN = {"nodes": Input(3), "gpus_per_node": Input(8), "tensor_parallel": Input(2)}


def stated(monkeypatch, ways, given=GIVEN, *cases):
    for name, alternatives in ways.items():
        monkeypatch.setitem(registry._alternatives, name, alternatives)
        for one in alternatives:
            monkeypatch.setitem(registry._deciding, one.when, [*registry._deciding.get(one.when, ()), name])
    known = Quantities(given)
    known.state(*cases)
    return known


def test_an_alternative_holds_where_its_case_is_stated_and_nothing_is_given(monkeypatch):
    ways = {"gpus": [Alternative("tensor_parallel", "small")]}
    assert stated(monkeypatch, ways).value("gpus") == 24
    assert stated(monkeypatch, ways, GIVEN, "small").value("gpus") == 2
    assert stated(monkeypatch, ways, {**GIVEN, "gpus": Input(5)}, "small").value("gpus") == 5


def test_routes_of_one_case_do_not_serve_another(monkeypatch):
    ways = {"gpus": [Alternative("tensor_parallel", "small"), Alternative("nodes", "large")]}
    assert [stated(monkeypatch, ways, GIVEN, case).value("gpus") for case in ("small", "large", "small")] == [2, 3, 2]


def test_an_alternative_that_cannot_be_computed_is_the_refusal_unless_it_is_optional(monkeypatch):
    with pytest.raises(MissingQuantity, match="sample_bytes"):
        stated(monkeypatch, {"gpus": [Alternative("sample_bytes", "deep")]}, GIVEN, "deep").value("gpus")
    ways = [Alternative("sample_bytes", "two", True), Alternative("tensor_parallel", "two", True)]
    assert stated(monkeypatch, {"gpus": ways}, GIVEN, "two").value("gpus") == 2
    assert stated(monkeypatch, {"gpus": [Alternative("sample_bytes", "one", True)]}, GIVEN, "one").value("gpus") == 24


def test_an_alternative_that_needs_its_quantity_is_a_circle(monkeypatch):
    with pytest.raises(CyclicQuantity):
        stated(monkeypatch, {"nodes": [Alternative("gpus", "x")]}, {"gpus_per_node": Input(8)}, "x").value("gpus")


def test_a_case_that_comes_too_late_or_decides_nothing_is_refused(monkeypatch):
    known = stated(monkeypatch, {"gpus": [Alternative("tensor_parallel", "small")]})
    known.value("gpus")
    with pytest.raises(ValueError, match="after it has been computed"):
        known.state("small")
    with pytest.raises(ValueError, match="no quantity has an alternative"):
        known.state("unheard of")
