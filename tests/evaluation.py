"""An evaluator for recorded trees that shares nothing with the recorder."""

import math
import operator
from decimal import Decimal

from ingest.engine.expression import Call, Number, Operation, Symbol

OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
FUNCTIONS = {
    "minimum": min,
    "maximum": max,
    "ceil": math.ceil,
    "floor": math.floor,
    "log10": math.log10,
    "round_up": lambda a, places: float(
        Decimal(a).scaleb(math.trunc(places)).to_integral_value("ROUND_CEILING").scaleb(-math.trunc(places))
    ),
    "log": math.log,
    "where": lambda condition, yes, no: yes if condition else no,
    "largest": lambda column: max(column, default=0) if hasattr(column, "__iter__") else column,
    "total": lambda column: sum(column) if hasattr(column, "__iter__") else column,
}


def evaluate(tree, values):
    """The value of a tree where the symbols have these values."""
    if isinstance(tree, Number):
        return tree.value
    if isinstance(tree, Symbol):
        return values[tree.name]
    if isinstance(tree, Operation):
        return OPERATORS[tree.operator](*(evaluate(part, values) for part in tree.operands))
    assert isinstance(tree, Call), tree
    return FUNCTIONS[tree.function](*(evaluate(part, values) for part in tree.arguments))
