"""The recorder: one function gives a number, an array and a tree, and all three agree."""

import ast
import math
import operator

import numpy
import pytest
from evaluation import FUNCTIONS, OPERATORS, evaluate
from hypothesis import given
from hypothesis import strategies as st

from ingest.engine.expression import (
    PROSE,
    Call,
    Notation,
    NotRecordable,
    Number,
    Operation,
    Symbol,
    ceil,
    maximum,
    minimum,
    prose,
    record,
    total,
    where,
    write,
)

REFUSED = [
    (lambda a, _: a if a else 0, "where"), (lambda a, b: a if a > b else b, "where"), (lambda a, b: a and b, "where"),
    (lambda a, b: a or b, "where"), (lambda a, _: not a, "where"), (max, "where"),
    (lambda a, b: a if a == b else 0, "where"), (lambda a, b: a if a != b else 0, "where"), (lambda a, b: a in [b], "where"),
    (lambda a, _: math.sqrt(a), r"\*\*"), (lambda a, _: math.ceil(a), "ceil"), (lambda a, _: math.floor(a), "ceil"),
    (lambda a, _: math.log2(a), r"\*\*"), (lambda a, _: float(a), "float"), (lambda a, _: int(a), "float"),
    (lambda a, _: round(a), "ceil"), (lambda a, _: abs(a), "maximum"), (lambda a, _: range(a), "total"),
    (lambda a, b: a // b, r"ceil\(a / b\)"), (lambda a, b: a % b, r"ceil\(a / b\)"), (lambda a, _: 7 // a, r"ceil\(a / b\)"),
    (lambda a, _: 7 % a, r"ceil\(a / b\)"), (divmod, r"ceil\(a / b\)"), (lambda a, _: divmod(7, a), r"ceil\(a / b\)"),
    (lambda a, _: numpy.sqrt(a), "minimum"), (numpy.maximum, "maximum"), (lambda a, _: numpy.array([1.0, 2.0]) * a, "total"),
    (lambda a, _: numpy.asarray(a), "total"), (lambda a, _: sum(a), "total"),
    (lambda a, _: [item * 2 for item in a], "total"),
]  # fmt: skip

leaves = st.one_of(st.integers(1, 50).map(Number), st.floats(0.1, 50).map(Number), st.sampled_from("abc").map(Symbol))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda sign, x, y: Operation(sign, (x, y)), st.sampled_from("+-*/"), inner, inner),
        st.builds(lambda x, power: Operation("**", (x, Number(power))), inner, st.sampled_from([0.5, 1, 2, 3])),
        st.builds(lambda name, x, y: Call(name, (x, y)), st.sampled_from(["minimum", "maximum"]), inner, inner),
    ),
    max_leaves=12,
)
values = st.fixed_dictionaries({name: st.floats(0.5, 40) for name in "abc"})


def evaluate_text(text, names):
    """A calculator for printed formulas: Python's own grammar decides what belongs together."""

    def walk(node):
        if isinstance(node, ast.BinOp):
            return OPERATORS[SIGNS[type(node.op)]](walk(node.left), walk(node.right))
        if isinstance(node, ast.Compare):
            return OPERATORS[SIGNS[type(node.ops[0])]](walk(node.left), walk(node.comparators[0]))
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](*map(walk, node.args))
        return names[node.id] if isinstance(node, ast.Name) else node.value

    return walk(ast.parse(text, mode="eval").body)


SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=",
}  # fmt: skip


def same(compute, other):
    """Both give one value, or both fail alike: random trees divide by zero and take roots of negative numbers."""
    results = []
    for call in (compute, other):
        try:
            results.append(call())
        except (ZeroDivisionError, OverflowError) as error:
            results.append(type(error))
        except TypeError:
            # A root of a negative number is complex, and complex numbers have no order.
            results.append(TypeError)
    one, two = results
    return one == two or (one != one and two != two)


@pytest.mark.parametrize(("function", "replacement"), REFUSED)
def test_the_recorder_refuses_and_names_the_replacement(function, replacement):
    with pytest.raises(NotRecordable, match=replacement):
        record(function, ["a", "b"])


@given(trees, values)
def test_printing_keeps_what_belongs_together(tree, names):
    text = write(tree, str, Notation())
    assert same(lambda: evaluate_text(text, names), lambda: evaluate(tree, names))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda a, b, c: a - (b - c), "a - (b - c)"),
        (lambda a, b, c: a - b - c, "a - b - c"),
        (lambda a, b, c: a / (b * c), "a / (b * c)"),
        (lambda a, b, c: a / b * c, "a / b * c"),
        (lambda a, b, c: (a**b) ** c, "(a ** b) ** c"),
        (lambda a, b, c: a ** (b**c), "a ** (b ** c)"),
        (lambda a, b, c: (a + b) ** c, "(a + b) ** c"),
        (lambda a, b, c: where(a >= b, c, 2 * c), "where(a >= b, c, 2 * c)"),
        (lambda a, b, c: where(a < b, 1, 2) * c, "where(a < b, 1, 2) * c"),
        (lambda a, b, c: minimum(a, maximum(b, ceil(c))), "minimum(a, maximum(b, ceil(c)))"),
        (lambda a, b, c: 1 - a + 2 / b - 3**c, "1 - a + 2 / b - 3 ** c"),
        (lambda a, b, c: total(a) * b * c, "total(a) * b * c"),
        (lambda a, b, c: a * (-b) * c, "a * (0 - b) * c"),
    ],
)
def test_a_formula_is_printed_as_it_is_written(function, text):
    assert write(record(function, "abc"), str, Notation()) == text


def test_notations_are_tables_of_signs():
    # Prose has the signs of a textbook.
    tree = record(lambda a, b, c: where(a <= b, minimum(a, 65536) * b / c**2, total(c) - ceil(a)), "abc")
    assert prose(tree) == "if(a ≤ b, min(a, 65,536) × b ÷ c ^ 2, sum of(c) − round up(a))"
    # Prose takes numbers for names.
    assert prose(record(lambda a, b: a * (1 - b), "ab"), {"a": "285.7", "b": "0.5"}.get) == "285.7 × (1 − 0.5)"
    # A further rendering is one more notation.
    cell = Notation(operators={"**": "^"}, functions={"minimum": "MIN", "where": "IF"})
    tree = record(lambda a, b: where(a > b, minimum(a, b) ** 2, b), "ab")
    assert write(tree, {"a": "C12", "b": "C15"}.get, cell) == "IF(C12 > C15, MIN(C12, C15) ^ 2, C15)"
    # Every operator that prose renames exists.
    assert set(PROSE.operators) <= set(OPERATORS)


@pytest.mark.parametrize("sign", sorted(OPERATORS))
@given(pair=st.tuples(st.floats(0.5, 40), st.floats(0.5, 5)))
def test_operators_agree_on_numbers_arrays_and_symbols(sign, pair):
    function = OPERATORS[sign]
    number = function(*pair)
    array = function(*(numpy.array([item, item]) for item in pair))
    assert evaluate(record(function, "ab"), dict(zip("ab", pair, strict=True))) == number
    assert array.tolist() == pytest.approx([number, number], rel=1e-14)


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_functions_agree_on_numbers_arrays_and_symbols(a, b):
    def function(x, y):
        return where(x > y, minimum(x, y) + ceil(x), maximum(x, y) - ceil(y))

    number = function(a, b)
    assert function(numpy.array([a]), numpy.array([b])).tolist() == [number]
    assert evaluate(record(function, "ab"), {"a": a, "b": b}) == number


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_total_agrees_on_lists_arrays_and_symbols(column):
    assert total(numpy.array(column)) == pytest.approx(total(column), rel=1e-12, abs=1e-12)
    assert evaluate(record(total, ["column"]), {"column": column}) == total(column)


def test_a_constant_formula_is_a_tree_too():
    assert evaluate(record(lambda: 6, []), {}) == 6


@pytest.mark.parametrize("sign", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
def test_a_number_may_stand_on_either_side(sign):
    assert evaluate(record(lambda a: sign(7, a), "a"), {"a": 2}) == sign(7, 2)
    assert evaluate(record(lambda a: sign(a, 7), "a"), {"a": 2}) == sign(2, 7)
