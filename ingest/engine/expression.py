"""The recorder: run a formula on symbols and get a tree instead of a number.

A formula is written once, with `+ - * / **`, comparisons and the functions below. On numbers it gives a number, on
NumPy arrays an array, on symbols an `Expression`. A printer turns the tree into text: `Notation` holds what differs
between prose, a spreadsheet cell and a script, so that each further rendering is one more `Notation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

#: A number, a NumPy array of numbers, or an `Expression`: whatever a formula can be run on.
Num = Any


class NotRecordable(TypeError):
    """A formula used something that cannot be recorded; the message names the replacement."""


def _infix(operator: str, reflected: bool = False) -> Callable[[Any, Num], Expression]:
    """The method of an infix operator; reflected, where the other operand stands first."""

    def operate(self: Expression, other: Num) -> Expression:
        return Operation(operator, (_node(other), self) if reflected else (self, _node(other)))

    return operate


def _refused(instead: str) -> Callable[..., NoReturn]:
    """The method of what cannot be recorded."""

    def refuse(*_: object) -> NoReturn:
        raise NotRecordable(f"a formula cannot use {instead}")

    return refuse


class Expression:
    """A node of the tree; the operators build larger trees."""

    __add__, __radd__ = _infix("+"), _infix("+", reflected=True)
    __sub__, __rsub__ = _infix("-"), _infix("-", reflected=True)
    __mul__, __rmul__ = _infix("*"), _infix("*", reflected=True)
    __truediv__, __rtruediv__ = _infix("/"), _infix("/", reflected=True)
    __pow__, __rpow__ = _infix("**"), _infix("**", reflected=True)
    __lt__, __le__, __gt__, __ge__ = map(_infix, ("<", "<=", ">", ">="))

    def __neg__(self) -> Expression:
        return Operation("-", (Number(0), self))

    __eq__ = _refused("==: write where(a >= b, …) or a formula of its own")
    __ne__ = _refused("!=: write where(a >= b, …) or a formula of its own")
    __hash__ = object.__hash__
    __bool__ = _refused("if, and, or, not: write where(condition, a, b)")
    __float__ = _refused("math.* or float(): write minimum, maximum, ceil, log, where, total or **")
    __int__ = __index__ = __floor__ = __ceil__ = __trunc__ = __round__ = __abs__ = __float__
    __floordiv__ = __mod__ = __rmod__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _refused("// or %: write ceil(a / b)")
    __array__ = _refused("numpy.*: write minimum, maximum, ceil, log, where or total")

    def __iter__(self) -> NoReturn:
        raise NotRecordable("a formula cannot loop over a quantity: write total(column)")


class Number(Expression):
    """A number written in the formula itself."""

    def __init__(self, value: float) -> None:
        self.value = value


class Symbol(Expression):
    """A quantity, by name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Operation(Expression):
    """An infix operator on two trees."""

    def __init__(self, operator: str, operands: tuple[Expression, Expression]) -> None:
        self.operator, self.operands = operator, operands


class Call(Expression):
    """One of the recorder's functions on trees."""

    def __init__(self, function: str, arguments: tuple[Expression, ...]) -> None:
        self.function, self.arguments = function, arguments


def _node(value: Num) -> Expression:
    return value if isinstance(value, Expression) else Number(value)


def _function(name: str, on_numbers: Callable[..., Num]) -> Callable[..., Num]:
    """A function of the recorder: on numbers Python's, on arrays NumPy's of the same name, on trees a node."""

    def apply(*arguments: Num) -> Num:
        for argument in arguments:
            if argument.__class__ is not float and argument.__class__ is not int:
                break
        else:
            return on_numbers(*arguments)
        if any(isinstance(argument, Expression) for argument in arguments):
            return Call(name, tuple(_node(argument) for argument in arguments))
        if any(hasattr(argument, "__array_function__") for argument in arguments):
            import numpy

            return getattr(numpy, name)(*arguments)
        return on_numbers(*arguments)

    return apply


#: the smaller and the larger of two
minimum, maximum = _function("minimum", min), _function("maximum", max)
#: rounded up and down to a whole number
ceil, floor = _function("ceil", math.ceil), _function("floor", math.floor)
#: the logarithm to base 10, and the natural one
log10, log = _function("log10", math.log10), _function("log", math.log)
#: the second where the condition, the first, holds; else the third
where = _function("where", lambda condition, a, b: a if condition else b)


def round_up(a: Num, places: Num) -> Num:
    """A number from 0, rounded up to so many decimal places; those below 0 count to the left of the decimal point.

    >>> round_up(302.1, 0), round_up(30_210, -2), round_up(0.03021, 4)
    (303.0, 30300.0, 0.0303)
    """
    if any(isinstance(argument, Expression) for argument in (a, places)):
        return Call("round_up", (_node(a), _node(places)))
    # One of the two powers is 1, and a power of ten that is not a fraction is exact.
    left, right = 10.0 ** maximum(floor(0 - places), 0), 10.0 ** maximum(floor(places), 0)
    return ceil(a / left * right) / right * left


def total(column: Num) -> Num:
    """The sum of a column; a single number is its own sum.

    >>> total([1, 2, 3]), total(7)
    (6, 7)
    """
    if isinstance(column, Expression):
        return Call("total", (column,))
    if getattr(column, "ndim", 0):
        return column.sum()
    try:
        return sum(column)
    except TypeError:
        return column


def largest(column: Num) -> Num:
    """The largest entry of a column, 0 for an empty one; a single number is its own largest.

    >>> largest([1, 3, 2]), largest([]), largest(7)
    (3, 0, 7)
    """
    if isinstance(column, Expression):
        return Call("largest", (column,))
    if getattr(column, "ndim", 0):
        return column.max()
    try:
        entries = list(column)
    except TypeError:
        return column
    if all(isinstance(entry, (int, float)) for entry in entries):
        return max(entries, default=0)
    if any(isinstance(entry, Expression) for entry in entries):
        return reduce(maximum, entries, 0)
    import numpy

    return reduce(numpy.maximum, entries, 0)


def record(function: Callable[..., Num], names: Iterable[str]) -> Expression:
    """Run a formula on symbols and return its tree.

    Raises NotRecordable: the formula used something other than the recorder's operators and functions.
    """
    return _node(function(*(Symbol(name) for name in names)))


class Notation(NamedTuple):
    """What differs between renderings of one tree."""

    operators: Mapping[str, str] = MappingProxyType({})  # how each is written; one that is absent as in Python
    functions: Mapping[str, str] = MappingProxyType({})  # how each is called; one that is absent keeps its name
    number: Callable[[float], str] = repr  # how a number in the formula is written
    extra: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # further arguments that a function takes


#: function -> how prose calls it, and how a spreadsheet cell: by a name that every office suite since Excel 2010 knows
FUNCTIONS = {
    "minimum": ("min", "MIN"),
    "maximum": ("max", "MAX"),
    "ceil": ("round up", "ROUNDUP"),
    "round_up": ("round up", "ROUNDUP"),
    "floor": ("round down", "INT"),
    "log10": ("log10", "LOG10"),
    "log": ("ln", "LN"),
    "where": ("if", "IF"),
    "total": ("sum of", "SUM"),
    "largest": ("largest of", "MAX"),
}
PROSE = Notation(
    operators={"*": "×", "/": "÷", "**": "^", "-": "−", "<=": "≤", ">=": "≥"},
    functions={name: words for name, (words, _) in FUNCTIONS.items()},
    number=lambda value: f"{value:,}",
)
CELL = Notation(
    operators={"**": "^"},
    functions={name: cell for name, (_, cell) in FUNCTIONS.items()},
    number=lambda value: f"{value:g}" if value == float(f"{value:g}") else repr(value),
    extra={"ceil": ("0",)},
)

_STRENGTH = {"<": 0, "<=": 0, ">": 0, ">=": 0, "+": 1, "-": 1, "*": 2, "/": 2, "**": 3}
_ATOM = 9


def write(tree: Expression, name: Callable[[str], str], notation: Notation) -> str:
    """Print a tree that `record` returned; `name` writes a quantity: as its name, its value, its cell."""
    return _write(tree, name, notation)[0]


def _write(tree: Expression, name: Callable[[str], str], notation: Notation) -> tuple[str, int]:
    if isinstance(tree, Symbol):
        return name(tree.name), _ATOM
    if isinstance(tree, Number):
        return notation.number(tree.value), _ATOM
    if isinstance(tree, Call):
        arguments = [_write(argument, name, notation)[0] for argument in tree.arguments]
        written = ", ".join([*arguments, *notation.extra.get(tree.function, ())])
        return f"{notation.functions.get(tree.function, tree.function)}({written})", _ATOM
    assert isinstance(tree, Operation)
    strength = _STRENGTH[tree.operator]
    left, right = (_write(operand, name, notation) for operand in tree.operands)
    # A right operand of equal strength keeps its parentheses: a − (b − c), a ÷ (b × c).
    first = f"({left[0]})" if left[1] < strength or (left[1] == strength == 3) else left[0]
    second = f"({right[0]})" if right[1] <= strength else right[0]
    return f"{first} {notation.operators.get(tree.operator, tree.operator)} {second}", strength


def prose(tree: Expression, name: Callable[[str], str] = str) -> str:
    """Print a tree for people, with names or, where `name` maps them, with numbers."""
    return write(tree, name, PROSE)


def cell(tree: Expression, name: Callable[[str], str] = str) -> str:
    """Print a tree as the formula of a spreadsheet cell; `name` maps quantities to cells."""
    return f"={write(tree, name, CELL)}"
