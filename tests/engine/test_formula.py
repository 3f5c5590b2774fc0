"""Formulas by name: the registry and the solver."""

import subprocess
import sys

import pytest
from conftest import table

from ingest.engine import registry
from ingest.engine.expression import minimum, prose
from ingest.engine.registry import (
    FORMULAS,
    INPUTS,
    Formula,
    InputQuantity,
    check_value,
    computed_quantity,
    derive,
    formula,
    input_quantity,
    is_quantity,
    read_value,
    solve,
    steps_below,
    unit_of,
)
from ingest.errors import CyclicQuantity, IngestError, MissingQuantity, UsageError
from ingest.units import COUNTED


@pytest.fixture
def own_registry(monkeypatch):
    """An empty registry, so that a test can define quantities of its own."""
    registry.load_modules("ingest.formulas")
    declared = {}
    monkeypatch.setattr(registry, "_declared", declared)
    monkeypatch.setattr(registry, "_routes", {})
    return declared, declared


def test_a_given_value_wins_over_formula_and_default():
    # A given value wins over its formula.
    assert solve("gpus", {"nodes": 128, "gpus_per_node": 8, "gpus": 7}) == 7
    # A given value in the middle wins too.
    given_values = {"samples_per_second_per_gpu": 310, "sample_bytes": 100, "bytes_read_per_sample": 7}
    assert solve("ingest_bandwidth_per_gpu", given_values) == 2170
    # Defaults are neutral.
    base = {"unstalled_samples_per_second_per_gpu": 285.7, "sample_bytes": 2_828_486}
    assert solve("samples_per_second_per_gpu", base) == 285.7
    assert solve("bytes_read_per_sample", base) == 2_828_486


def test_what_is_missing_or_unknown_is_named_once():
    with pytest.raises(MissingQuantity) as caught:
        solve("ingest_bandwidth_per_job", {"samples_per_second_per_gpu": 1, "sample_bytes": 1, "nodes": 2})
    message = str(caught.value)
    assert caught.value.name == "gpus_per_node"
    assert "needed for ingest_bandwidth_per_job" in message
    assert "GPU/node" in message
    assert "--set gpus_per_node=VALUE" in message
    # A missing quantity that was asked for itself is not needed for another.
    with pytest.raises(MissingQuantity) as caught:
        solve("nodes", {})
    assert "needed for" not in str(caught.value)
    # An unknown name that resembles nothing suggests nothing.
    with pytest.raises(UsageError, match=r"no quantity is called 'zzz'$"):
        unit_of("zzz")


@pytest.mark.parametrize("call", [lambda name: solve(name, {}), unit_of, lambda name: check_value(name, 1)])
def test_an_unknown_name_suggests_the_nearest(call):
    with pytest.raises(UsageError, match=r"'ingest_bandwith_per_gpu'.*did you mean 'ingest_bandwidth_per_gpu'"):
        call("ingest_bandwith_per_gpu")


def test_a_cyclic_quantity_is_refused_with_its_circle(own_registry):
    formulas, _ = own_registry
    formulas["hen"] = Formula("hen", lambda egg: egg, ("egg",), "1", "definition", "")
    formulas["egg"] = Formula("egg", lambda hen: hen, ("hen",), "1", "definition", "")
    with pytest.raises(CyclicQuantity, match="hen needs egg needs hen; give one of them with --set"):
        solve("hen", {})
    assert solve("hen", {"egg": 3}) == 3
    formulas["ouroboros"] = Formula("ouroboros", lambda ouroboros: ouroboros, ("ouroboros",), "1", "definition", "")
    with pytest.raises(CyclicQuantity, match="ouroboros needs ouroboros"):
        solve("ouroboros", {})


def test_a_mean_of_what_comes_whole_is_marked():
    counted = {name: one for name, one in {**FORMULAS, **INPUTS}.items() if one.unit in COUNTED}
    assert [name for name, one in counted.items() if one.meaning.startswith("Mean ") and not one.mean] == []
    assert [read_value("rollout_tokens", written) for written in ("2.000k", "1.5")] == [2000, 1.5]


def test_no_shipped_quantity_is_cyclic():
    # Finite suffices: a difference such as the memory left may lie below zero. Sizes of two jobs are not the same.
    given = {name: 0.5 + 1e-6 * at for at, name in enumerate(INPUTS)}
    found = {name: solve(name, given) for name in FORMULAS}
    assert [name for name, value in found.items() if not abs(value) < float("inf")] == []
    # The way to a quantity is kept: it serves other values, and those of the first again.
    given["nodes"] = 3
    assert {name: solve(name, given) for name in FORMULAS} == {name: derive(name, given).value for name in FORMULAS}


def test_a_quantity_on_two_ways_is_computed_once(own_registry):
    calls = []

    def shared(root):
        calls.append(root)
        return root

    formulas, leaves = own_registry
    leaves["root"] = InputQuantity("root", "1", "")
    formulas["shared"] = Formula("shared", shared, ("root",), "1", "definition", "")
    formulas["left"] = Formula("left", lambda shared: shared, ("shared",), "1", "definition", "")
    formulas["both"] = Formula("both", lambda shared, left: shared + left, ("shared", "left"), "1", "definition", "")
    assert solve("both", {"root": 2}) == 4
    assert calls == [2]


def test_an_expression_declares_what_a_function_would(own_registry):
    @formula("B/s", "little1961", "page 1", label="rate", high=9)
    def written_out(waiting, share, seconds):
        """Bytes per second."""
        return minimum(1e9, waiting * (1 - share) / seconds)

    told = {"source": "little1961", "where": "page 1", "label": "rate", "high": 9}
    computed_quantity("in_short", "minimum(1e9, waiting * (1 - share) / seconds)", "B/s", "Bytes per second.", **told)
    # Formulas of one shape share their code, not their names; `needs` states another order.
    words = {"needs": "time bytes part", "example": "other(2, 4, 0) -> 2.0"}
    computed_quantity("other", "minimum(1e9, bytes * (1 - part) / time)", "B/s", "Bytes per second.", **words)
    long, short, other = own_registry[0].values()
    assert (long.function, long.needs) == (written_out, ("waiting", "share", "seconds"))
    assert short == long._replace(name="in_short", function=short.function)
    assert (short.meaning, prose(short.tree())) == (long.meaning, prose(long.tree()))
    assert short.function(3, 0.1, 7.0) == long.function(3, 0.1, 7.0) == other.function(7.0, 3, 0.1)
    assert other.needs == ("time", "bytes", "part")
    assert other.function.__doc__ == "Bytes per second.\n\n>>> other(2, 4, 0)\n2.0\n"


@pytest.mark.parametrize("expression", ["", "nodes gpus", "nodes *", "(nodes", "nodes = gpus", "1e"])
def test_what_is_no_expression_is_refused_where_it_is_declared(own_registry, expression):
    with pytest.raises(ValueError, match="the quantity 'broken' has no expression: "):
        computed_quantity("broken", expression, "1", "Nothing.")
    assert own_registry[0] == {}


@pytest.mark.usefixtures("own_registry")
def test_two_definitions_of_one_quantity_are_refused():
    formula("1", "definition")(twice)
    again = (input_quantity, "twice", "1", ""), (formula("1"), twice), (computed_quantity, "twice", "2 * once", "1", "")
    for declare, *words in again:
        with pytest.raises(ValueError, match="two definitions of the quantity 'twice'"):
            declare(*words)


def twice():
    """A formula that needs nothing."""
    return 2


def test_a_derivation_keeps_every_step():
    step = derive("ingest_bandwidth_per_node", {"ingest_bandwidth_per_gpu": 808e6, "gpus_per_node": 8})
    assert (step.name, step.value, step.formula) == ("ingest_bandwidth_per_node", 6464e6, FORMULAS[step.name])
    leaves = [one for one in steps_below([step]) if one.formula is None]
    assert [(leaf.name, leaf.value) for leaf in leaves] == [("ingest_bandwidth_per_gpu", 808e6), ("gpus_per_node", 8)]


@pytest.mark.parametrize(("name", "value", "expected"), table("engine/refused.yaml")["values_out_of_range_name_the_range"])
def test_values_out_of_range_name_the_range(name, value, expected):
    with pytest.raises(UsageError, match=f"^--x: found .*, expected .*{expected}") as caught:
        check_value(name, value, "--x")
    assert unit_of(name) == "1" or f"({unit_of(name)})" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("nodes", 1), ("nodes", 128.0), ("cache_hit_fraction", 0), ("cache_hit_fraction", 1), ("accelerator_utilization", 1)],
)
def test_values_at_the_edge_are_allowed(name, value):
    assert check_value(name, value) == value


@pytest.mark.parametrize("bad", [[1.0, 2.5], [1.0, 0.0], [1.0, -3.0], [1.0, float("nan")]])
def test_one_bad_value_spoils_an_array(bad):
    import numpy

    with pytest.raises(UsageError, match="nodes: found"):
        check_value("nodes", numpy.array(bad))


def test_declarations_are_whole(shipped):
    # Every formula has a meaning and a source that exists.
    sources = {"definition", *shipped.sources}
    assert {made.source for made in FORMULAS.values()} - sources == set()
    assert [name for name, made in FORMULAS.items() if not made.meaning.endswith(".")] == []
    # Defaults lie within their own range.
    for declared in INPUTS.values():
        if declared.default is not None:
            assert check_value(declared.name, declared.default) == declared.default
    # Refusals are one kind of error.
    assert all(issubclass(kind, IngestError) for kind in (UsageError, MissingQuantity, CyclicQuantity))


@pytest.mark.parametrize("declared", [FORMULAS, INPUTS])
def test_every_meaning_stands_alone(declared):
    """No definition leans on the one before it ("The same for …") or begins as a question."""
    leaning = [f"{name}: {one.meaning}" for name, one in declared.items() if one.meaning.startswith(("The same", "What "))]
    assert leaning == []


@pytest.mark.parametrize("name", ["checkpoint_bytes", "nodes", "keep_last", "note"])
def test_the_registry_does_not_depend_on_what_was_imported(name):
    """A process that has imported no field answers like one that has imported all."""
    asked = f"is_quantity({name!r}), {name!r} in FORMULAS, len(INPUTS)"
    words = f"from ingest.engine.registry import FORMULAS, INPUTS, is_quantity; print({asked})"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, encoding="utf-8", check=True, timeout=60)
    assert done.stdout.split() == [str(is_quantity(name)), str(name in FORMULAS), str(len(INPUTS))]
