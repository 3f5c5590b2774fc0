"""The families of models; those of `counted.yaml` are tables: the keys that each reads, and the rows that they make."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.architecture import layers
from ingest.architecture.hf_config import MAX_BLOCKS, MAX_LAYERS, ModelConfig
from ingest.architecture.registry import class_suffix, families, labels, register, without_flops
from ingest.architecture.weight_table import TableRow, Weight, aside, times, without
from ingest.errors import IngestError
from ingest.files import table_beside

_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv, ast.Pow: operator.pow, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.Gt: operator.gt, ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}  # fmt: skip
_parsed = lru_cache(maxsize=None)(partial(ast.parse, mode="eval"))


def value(text: str, known: Mapping[str, Any]) -> Any:
    """What an expression of a table says: numbers, names, arithmetic, comparisons, items of lists, calls by name.

    >>> value("2 * width // 4 if deep > 1 else widths[0]", {"width": 8, "deep": 2})
    4
    """
    return _value(_parsed(text).body, known)


def _value(node: ast.AST, known: Mapping[str, Any]) -> Any:
    of = partial(_value, known=known)
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return known[node.id]
        case ast.BinOp():
            return _OPERATORS[type(node.op)](of(node.left), of(node.right))
        case ast.Compare():
            return _OPERATORS[type(node.ops[0])](of(node.left), of(node.comparators[0]))
        case ast.UnaryOp():
            return not of(node.operand) if isinstance(node.op, ast.Not) else -of(node.operand)
        case ast.BoolOp():
            return (all if isinstance(node.op, ast.And) else any)(map(of, node.values))
        case ast.IfExp():
            return of(node.body if of(node.test) else node.orelse)
        case ast.Subscript():
            return of(node.value)[of(node.slice)]
        case ast.List() | ast.Tuple():
            return tuple(of(item) for item in node.elts)
        case ast.Call():
            return of(node.func)(*map(of, node.args), **{str(one.arg): of(one.value) for one in node.keywords})
    raise ValueError(f"no expression of a table: {ast.dump(node)}")


def _read(config: ModelConfig, keys: str, usual: Any, choices: Sequence[str] = ()) -> Any:
    """The value of a key, of the kind that its default has: null for a whole number that may be absent."""
    if isinstance(usual, bool):
        return config.flag(keys, usual)
    if isinstance(usual, int):
        deep = keys.endswith("layers") or keys == "depth"
        return config.integer(keys, usual, low=min(usual, 1), high=MAX_LAYERS if deep else 10**9)
    if isinstance(usual, list):
        return config.listed(keys, usual, high=MAX_BLOCKS if "depth" in keys or "blocks" in keys else 10**9)
    if isinstance(usual, str):
        return config.text(keys, usual, tuple(choices))
    return config.number(keys, usual) if isinstance(usual, float) else config.optional_integer(keys, 0)


class Counted(NamedTuple):
    """A family whose rows a table says: expressions over what it reads."""

    model_types: str  # the values of `model_type`, separated by spaces
    doc: str
    made: Sequence[Any]  # expressions; and tables of `rows` that repeat (`times`), hold (`where`), or are those of `each` item
    keys: Mapping[str, Sequence[Any]] = MappingProxyType({})  # names: key of the config, default or a name before, choices
    let: Mapping[str, str] = MappingProxyType({})  # names: expressions
    classes: str = "Model"  # ends of the names of classes, separated by spaces, the usual one first
    ignore: str = ""  # keys that change no weight, separated by spaces
    only: Mapping[str, Sequence[Any]] = MappingProxyType({})  # values of keys that leave the rows as they are, or names
    kind: str = "vision"  # of convolutions and of single tensors
    flops: bool = False  # whether a token passes the rows once; false where a sample has patches or frames of its own

    def rows(self, config: ModelConfig) -> Iterator[TableRow]:
        """Return the rows of one model of the family. Raises IngestError: sizes that do not fit together."""
        config.ignore("architectures", *self.ignore.split())
        known = dict(_FUNCTIONS) | {
            "weight": lambda name, *shape: [Weight(name, shape, self.kind)],
            "conv": partial(layers.biased, kind=self.kind),
            "layer": partial(layers.encoder_layer, config),
            "mix": partial(layers.encoder_attention, config),
            **{name: partial(function, config) for name, function in OF_A_CONFIG.items()},
            "kind": config.data["model_type"],
            "stated": lambda key: config.data.get(key) is not None,
            "expect": partial(expect, config),
            "size": partial(_size, config),
            "end": class_suffix(config, *self.classes.split()) if self.classes else "",
        }
        try:
            for name, (keys, usual, *choices) in self.keys.items():
                known[name] = _read(config, keys, known.get(usual, usual) if isinstance(usual, str) else usual, choices)
            for key, values in self.only.items():
                config.only(key, *(known.get(one, one) if isinstance(one, str) else one for one in values))
            for name, text in self.let.items():
                known[name] = value(text, known)
            rows = [*made(self.made, known)]
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise IngestError(f"{config.path}: {config.prefix}: sizes that do not fit together ({error})") from None
        if not any(row.name == "head" for row in rows):
            config.read_keys.discard("tie_word_embeddings")
        yield from rows


def made(items: Sequence[Any], known: Mapping[str, Any]) -> Iterator[TableRow]:
    """The rows of expressions, and of tables of them."""
    for item in items:
        if isinstance(item, str):
            found = value(item, known)
            yield from [found] if isinstance(found, Weight) else found
        elif "times" in item:
            yield from times(value(str(item["times"]), known), made(item["rows"], known))
        elif "where" in item:
            yield from made(item["rows"] if value(item["where"], known) else item.get("or", ()), known)
        else:
            (name,) = item.keys() - {"rows"}
            for one in value(item[name], known):
                yield from made(item["rows"], {**known, name: one})


def _size(config: ModelConfig, name: str, key: str, usual: Any) -> Any:
    """A size of a part that the part reads for itself."""
    found = config.data.get(name)
    return _read(ModelConfig(found if isinstance(found, dict) else {}, config.path, f"{name}.", lenient=True), key, usual)


def expect(config: ModelConfig, holds: bool, keys: str, expected: str) -> tuple[()]:
    """No rows: refuse a key whose value contradicts others."""
    if not holds:
        raise config.refuse(*config.get(keys), expected)
    return ()


def _part(config: ModelConfig, key: str, kind: str, aside_as: str = "vision", **always: object) -> Iterator[TableRow]:
    """The rows of a part in a table of its own, by the family `kind`, with these keys whatever it says."""
    part = config.table_or_defaults(key)
    part.data = {**part.data, **always, "model_type": kind, "architectures": None}
    part.ignore("model_type")
    yield from aside(families()[kind](part), aside_as)


#: Functions that tables call by name, of the config and what follows; modules of families add theirs.
OF_A_CONFIG: dict[str, Callable[..., Any]] = {"part": _part, "labels": labels}
_FUNCTIONS: Mapping[str, Any] = {
    **{one.__name__: one for one in (len, range, sum, max, min, round, int)},
    **{name: getattr(layers, name) for name in (
        "linear", "biased", "norm", "products", "positions", "embedding", "head", "attention", "plain_mlp", "gated_mlp",
    )},
    **{"without": without, "beside": aside},
}  # fmt: skip

_COUNTED = [Counted(names, **said) for names, said in table_beside(__file__, "counted.yaml").items()]
register(__name__, *_COUNTED)
without_flops.update(name for one in _COUNTED if not one.flops for name in one.model_types.split())
