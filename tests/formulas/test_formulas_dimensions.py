"""Every formula on quantities that carry units: the result must have the dimension that the formula declares."""

import doctest
import math
from random import Random

import numpy
import pint
import pytest
from _pytest.doctest import _get_checker, _get_number_flag
from evaluation import evaluate
from hypothesis import given
from hypothesis import strategies as st

from ingest.engine import expression
from ingest.engine.expression import Number, Operation, Symbol
from ingest.engine.registry import FORMULAS, INPUTS, unit_of
from ingest.units import COUNTED

BASE = ("B", "FLOP", "J", "s", "kg", "L", *(name for name in COUNTED if name != "GPU-hour"))


@pytest.fixture(scope="module")
def units():
    """Base dimensions of our own: to pint a byte is 8 bit and a bit is dimensionless, to storage it is not."""
    own = pint.UnitRegistry(None)
    for name in BASE:
        own.define(f"{name} = [{name}]")
    own.define("W = J / s")
    own.define("GPU_hour = GPU")  # GPUs times a number of hours
    return own


def written(units, unit):
    return units.dimensionless if unit == "1" else units.parse_units(unit.replace("GPU-hour", "GPU_hour"))


def right_dimension(units, formula):
    """Whether the formula's result has the declared dimension; adding unlike things is an error of its own."""
    try:
        values = ((2.0 + at, written(units, unit_of(need))) for at, need in enumerate(formula.needs))
        result = formula.function(*(units.Quantity(*value) for value in values))
    except pint.DimensionalityError:
        return False
    return units.Quantity(1.0, written(units, formula.unit)).check(getattr(result, "dimensionality", units.dimensionless))


def test_every_formula_yields_the_unit_it_declares(units):
    assert [name for name, made in FORMULAS.items() if not right_dimension(units, made)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda samples_per_second_per_gpu, bytes_read_per_sample: samples_per_second_per_gpu / bytes_read_per_sample,
        lambda samples_per_second_per_gpu, bytes_read_per_sample: samples_per_second_per_gpu + bytes_read_per_sample,
        lambda samples_per_second_per_gpu, bytes_read_per_sample: samples_per_second_per_gpu * bytes_read_per_sample**2,
        lambda samples_per_second_per_gpu, _: samples_per_second_per_gpu,
        lambda _, __: 3.0,
    ],
)
def test_a_wrong_formula_does_not_pass(units, wrong):
    right = FORMULAS["ingest_bandwidth_per_gpu"]
    assert not right_dimension(units, type(right)(right.name, wrong, right.needs, right.unit, right.source, right.where))


def ends(name):
    """The values to try between; what remains of a whole share is nothing, and nothing divides by that."""
    low, high = (INPUTS[name].low, INPUTS[name].high) if name in INPUTS else (0, math.inf)
    return max(low, 1e-2), 0.99 if high <= 1 else min(high, 1e12)


@given(seed=st.integers(0, 2**32))
def test_number_array_and_recorder_agree(seed):
    """Each formula on values of its own, spread over the orders of magnitude."""
    random = Random(seed)
    for name, made in FORMULAS.items():
        values = {need: math.exp(random.uniform(*map(math.log, ends(need)))) for need in made.needs}
        try:
            number = made.function(*values.values())
        except OverflowError:
            with pytest.raises(OverflowError):
                evaluate(made.tree(), values)
            continue
        array = made.function(*(numpy.array([item]) for item in values.values()))
        assert evaluate(made.tree(), values) == number, (name, values)
        assert numpy.atleast_1d(array).tolist() == pytest.approx([number], rel=1e-14), (name, values)


def multiplies(tree):
    """Whether an expression only multiplies and divides quantities, which dimension and direction guard."""
    return isinstance(tree, Symbol) or (
        isinstance(tree, Operation) and tree.operator in "*/" and all(map(multiplies, tree.operands))
    )


def is_plain(tree):
    """Whether an expression is one quantity, one operator, or products and quotients of quantities."""
    parts = getattr(tree, "operands", getattr(tree, "arguments", (tree,)))
    return multiplies(tree) or all(isinstance(part, (Symbol, Number)) for part in parts)


def test_every_formula_that_does_more_than_multiply_has_a_worked_example():
    examples = {
        name: made.function.__doc__.partition(">>> ")[2] for name, made in FORMULAS.items() if not is_plain(made.tree())
    }
    assert [name for name, example in examples.items() if f"{name}(" not in example] == []
    assert len(examples) > 300


def test_the_worked_examples_of_expressions_hold():
    """Those of functions are doctests of their modules; numbers count as there, to the digits shown."""
    names = {name: made.function for name, made in FORMULAS.items()}
    told = [(name, one) for name, one in names.items() if one.__globals__ is vars(expression)]
    tests = [doctest.DocTestParser().get_doctest(one.__doc__, names, name, "", 0) for name, one in told]
    runner = doctest.DocTestRunner(_get_checker(), verbose=False, optionflags=doctest.ELLIPSIS | _get_number_flag())
    assert [one.name for one in tests if runner.run(one).failed] == []
    assert runner.tries > 250
