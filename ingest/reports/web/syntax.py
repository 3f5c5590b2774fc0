"""The words of both languages, and what a piece of Python binds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

#: Words of JavaScript that are names in Python.
RESERVED = {
    "arguments", "await", "case", "catch", "const", "debugger", "default", "delete", "do", "enum", "eval", "export", "extends",
    "false", "function", "implements",
    "instanceof", "interface", "let", "new", "null", "package", "private", "protected",
    "public", "static", "super", "switch", "this", "throw", "true", "typeof", "var", "void", "undefined", "Object", "Map",
    "Set", "Array", "String", "Number", "Error",
}  # fmt: skip
#: Methods of the types of Python that JavaScript lacks, or has with another meaning.
METHODS = {
    "add", "append", "bit_length", "capitalize", "casefold", "clear", "copy", "count", "difference", "discard", "endswith",
    "extend", "find", "format", "fromkeys", "get", "index", "insert", "intersection", "is_integer", "isalpha", "isdecimal",
    "isdigit", "isdisjoint", "islower", "isspace", "issubset", "isupper", "items", "join", "keys", "ljust", "lower",
    "lstrip", "most_common", "partition", "pop", "remove", "removeprefix", "removesuffix", "replace", "reverse", "rjust",
    "rpartition", "rsplit", "rstrip", "setdefault", "sort", "split", "splitlines", "startswith", "strip", "title",
    "translate", "union", "update", "upper", "values", "zfill",
}  # fmt: skip
#: Names of Python without a definition.
BUILTINS = {
    "abs", "all", "any", "bool", "callable", "dict", "enumerate", "filter", "float", "frozenset", "getattr", "hasattr", "hash",
    "id", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "print", "range",
    "repr",
    "reversed", "round", "set", "setattr", "sorted", "str", "sum", "tuple", "type", "vars", "zip", "divmod", "ord", "chr",
    "slice", "NotImplemented", "super", "property",
}  # fmt: skip
#: Exceptions of Python.
ERRORS = {
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "Exception", "IndexError", "KeyError",
    "LookupError", "ModuleNotFoundError", "NotImplementedError", "OSError", "OverflowError", "RecursionError",
    "RuntimeError", "StopIteration",
    "TypeError", "UnicodeDecodeError", "ValueError", "ZeroDivisionError", "FileNotFoundError", "ImportError",
}  # fmt: skip


def name_of(name: str) -> str:
    """A name, as JavaScript takes it.

    >>> name_of("nodes"), name_of("default")
    ('nodes', 'default$')
    """
    return f"{name}$" if name in RESERVED else name


def decorator(node: ast.expr) -> str:
    target = node.func if isinstance(node, ast.Call) else node
    return target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")


def annotated(node: ast.AnnAssign) -> ast.expr | None:
    """What a key of a table of options is annotated with."""
    kind = node.annotation
    if isinstance(kind, ast.Subscript) and isinstance(kind.value, ast.Name) and kind.value.id == "Annotated":
        return kind.slice.elts[1] if isinstance(kind.slice, ast.Tuple) else None
    return None


def is_property(node: ast.FunctionDef) -> bool:
    """Whether a method is read as an attribute."""
    return any(decorator(one) in ("property", "cached_property") for one in node.decorator_list)


def parameters_of(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def loaded(node: ast.expr) -> ast.expr:
    """The target of an assignment as an expression that reads it."""
    return ast.parse(ast.unparse(node), mode="eval").body


def yields(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in within(node.body))


def within(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Every node below, without those of functions and classes that are defined inside."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        waiting += ast.iter_child_nodes(node)


def stored(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements bind: variables, functions, imports; those of a comprehension are its own."""
    found: set[str] = set()
    waiting: list[tuple[ast.AST, bool]] = [(node, False) for node in body]
    while waiting:
        node, inner = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
            waiting += [(one, inner) for one in node.decorator_list]
            continue
        if isinstance(node, ast.NamedExpr):
            found.add(node.target.id)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not inner:
            found.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        if isinstance(node, ast.Lambda):
            continue
        inside = inner or isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
        waiting += [(one, inside) for one in ast.iter_child_nodes(node)]
    return found
