"""Expressions of Python as JavaScript: operators, calls, comprehensions; the words of both languages, and what binds names."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.errors import IngestError

#: Words of JavaScript that are names in Python.
RESERVED = {
    "arguments", "await", "case", "catch", "const", "debugger", "default", "delete", "do", "enum", "eval", "export", "extends",
    "false", "function", "implements", "instanceof", "interface", "let", "new", "null", "package", "private", "protected",
    "public", "static", "super", "switch", "this", "throw", "true", "typeof", "var", "void", "undefined", "Object", "Map",
    "Set", "Array", "String", "Number", "Error",
}  # fmt: skip
#: Methods of the types of Python that JavaScript lacks, or has with another meaning.
METHODS = {
    "add", "append", "bit_length", "capitalize", "casefold", "clear", "copy", "count", "difference", "discard", "endswith",
    "extend", "find", "format", "fromkeys", "get", "index", "insert", "intersection", "is_integer", "isalpha", "isdecimal",
    "isdigit", "isdisjoint", "islower", "isprintable", "isspace", "issubset", "issuperset", "isupper", "items", "join", "keys",
    "ljust", "lower", "lstrip", "most_common", "partition", "pop", "remove", "removeprefix", "removesuffix", "replace",
    "reverse", "rjust", "rpartition", "rsplit", "rstrip", "setdefault", "sort", "split", "splitlines", "startswith", "strip",
    "title", "translate", "union", "update", "upper", "values", "zfill",
}  # fmt: skip
#: Names of Python without a definition.
BUILTINS = {
    "abs", "all", "any", "bool", "callable", "dict", "enumerate", "filter", "float", "frozenset", "getattr", "hasattr", "hash",
    "id", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "print", "range",
    "repr", "reversed", "round", "set", "setattr", "sorted", "str", "sum", "tuple", "type", "vars", "zip", "divmod", "ord",
    "chr", "slice", "NotImplemented", "super", "property",
}  # fmt: skip
#: Exceptions of Python.
ERRORS = {
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "Exception", "IndexError", "KeyError",
    "LookupError", "ModuleNotFoundError", "NotImplementedError", "OSError", "OverflowError", "RecursionError",
    "RuntimeError", "StopIteration", "TypeError", "UnicodeDecodeError", "ValueError", "ZeroDivisionError",
    "FileNotFoundError", "ImportError",
}  # fmt: skip
BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.BitOr: "bitor", ast.BitAnd: "bitand", ast.BitXor: "bitxor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
#: What a comprehension begins with, what adds to it, and the parts of the node that it adds.
COMPREHENSIONS: Mapping[type[ast.expr], tuple[str, str, tuple[str, ...]]] = {
    ast.ListComp: ("[]", "$r.push({});", ("elt",)),
    ast.SetComp: ("new $.PySet()", "$r.add({});", ("elt",)),
    ast.DictComp: ("new $.Dict()", "$r.put({});", ("key", "value")),
    ast.GeneratorExp: ("", "yield {};", ("elt",)),
}
#: Calls that give true or false.
BOOLEAN = {"isinstance", "any", "all", "callable", "hasattr", "bool", "issubclass"}


class Unprintable(IngestError):
    """Python that the printer does not know."""


@dataclass
class Scope:
    """The names that a function, a comprehension or a module binds."""

    names: set[str]  # bound here
    #: those bound to a function that is defined here, which needs no look at what is called
    functions: set[str] = field(default_factory=set)


#: Says what a name of the module is: "class", "function", "module", "value", or empty where it is not one of its names.
Kinds = Callable[[str], str]


@dataclass
class ExpressionPrinter:
    """Prints the expressions of one module."""

    module: str  # for messages
    kind_of: Kinds  # what a name of the module is
    kind_in: Callable[[str, str], str]  # what a name of another module is, which the first name stands for
    methods: set[str]  # names of methods: an attribute of such a name may have to be bound to its owner
    scopes: list[Scope] = field(default_factory=list)
    fresh: int = 0

    def _refuse(self, node: ast.AST, what: str) -> Unprintable:
        return Unprintable(
            f"{self.module}:{getattr(node, 'lineno', 0)}: {what} has no JavaScript; expected what the printer knows"
        )

    def _pattern(self, target: ast.expr) -> str:
        if isinstance(target, ast.Name):
            return name_of(target.id)
        if isinstance(target, ast.Attribute):
            return f"{self.expression(target.value)}.{target.attr}"
        if isinstance(target, ast.Starred):
            return self._pattern(target.value)
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(target.elts[-1], ast.Starred):
                return f"[{','.join(map(self._pattern, target.elts[:-1]))},...{self._pattern(target.elts[-1])}]"
            return f"[{','.join(map(self._pattern, target.elts))}]"
        raise self._refuse(target, "an assignment to parts of another value")

    def _parameters(self, arguments: ast.arguments, bound: str = "") -> tuple[str, str, str]:
        """The parameters of JavaScript, what unpacks them, and what `$.fn` is told of them."""
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
        pairs = list(zip(positional, defaults, strict=True))[1 if bound else 0 :]
        named = list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
        extra = arguments.kwarg.arg if arguments.kwarg is not None else ""
        rest = name_of(arguments.vararg.arg) if arguments.vararg is not None else ""
        written = [
            name_of(one.arg) + ("" if default is None else f"={self.expression(default)}")
            for one, default in (pairs if rest else [*pairs, *named])
        ]
        if not rest:
            written += [f"{name_of(extra)}=new $.Dict()"] if extra else []
            return ",".join(written), "", '"more"' if extra else "false"
        prologue = f"const $k=$.keywords({rest});\n" if named or extra else ""
        for one, default in named:
            usual = self.expression(default) if default is not None else "null"
            prologue += f"let {name_of(one.arg)}=$.taken($k,{json.dumps(one.arg)},()=>{usual});\n"
        if extra:
            prologue += f"let {name_of(extra)}=$.rest($k);\n"
        return ",".join([*written, f"...{rest}"]), prologue, "true"

    # Expressions

    def expression(self, node: ast.expr) -> str:
        """An expression."""
        match node:
            case ast.NamedExpr():
                return f"({name_of(node.target.id)}={self.expression(node.value)})"
            case ast.Tuple() | ast.List():
                return f"[{','.join(map(self.expression, node.elts))}]"
            case ast.Set():
                return f"new $.PySet([{','.join(map(self.expression, node.elts))}])"
            case ast.Starred():
                return f"...{self._iterable(node.value)}"
            case ast.Dict():
                pairs = [(None if key is None else self.expression(key), self.expression(value))
                         for key, value in zip(node.keys, node.values, strict=True)]  # fmt: skip
                return "new $.Dict()" + "".join(
                    f".merge({value})" if key is None else f".put({key},{value})" for key, value in pairs
                )
            case ast.JoinedStr():
                return f"$.text({','.join(map(self.expression, node.values))})"
            case ast.FormattedValue():
                value = self.expression(node.value)
                value = f"$.repr({value})" if node.conversion == ord("r") else value
                return (
                    f"$.str({value})" if node.format_spec is None else f"$.format({value},{self.expression(node.format_spec)})"
                )
            case ast.BinOp():
                return f"$.{BINARY[type(node.op)]}({self.expression(node.left)},{self.expression(node.right)})"
            case ast.UnaryOp(op=ast.Not()):
                return f"!{self.condition(node.operand)}"
            case ast.UnaryOp(op=ast.USub()):
                return f"$.neg({self.expression(node.operand)})"
            case ast.UnaryOp(op=ast.UAdd()):
                return self.expression(node.operand)
            case ast.UnaryOp():
                raise self._refuse(node, "~")
            case ast.BoolOp():
                first, *others = map(self.expression, node.values)
                name = "and" if isinstance(node.op, ast.And) else "or"
                return f"$.{name}({first},{','.join(f'()=>{_arrow(one)}' for one in others)})"
            case ast.IfExp():
                return f"({self.condition(node.test)}?{self.expression(node.body)}:{self.expression(node.orelse)})"
            case ast.Subscript(slice=ast.Slice(lower, upper, step)):
                ends = (self.expression(one) if one is not None else "null" for one in (lower, upper, step))
                return f"$.part({self.expression(node.value)},{','.join(ends)})"
            case ast.Subscript():
                return f"$.get({self.expression(node.value)},{self.expression(node.slice)})"
            case ast.Lambda():
                parameters, prologue, _ = self._parameters(node.args)
                self.scopes.append(Scope({one.arg for one in parameters_of(node.args)}))
                body = self.expression(node.body)
                self.scopes.pop()
                return f"(({parameters})=>{{{prologue} return {body};}})" if prologue else f"(({parameters})=>{_arrow(body)})"
            case ast.Yield():
                return f"(yield {self.expression(node.value)})" if node.value is not None else "(yield null)"
            case ast.YieldFrom():
                return f"(yield* {self._iterable(node.value)})"
        # What takes more than a line has a method of its own.
        method = getattr(self, f"_as_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refuse(node, type(node).__name__)
        written: str = method(node)
        return written

    def condition(self, node: ast.expr) -> str:
        """An expression whose truth alone counts."""
        match node:
            case ast.BoolOp():
                sign = "&&" if isinstance(node.op, ast.And) else "||"
                return "(" + sign.join(map(self.condition, node.values)) + ")"
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return self.expression(node)
            case ast.Call(func=ast.Name(id=name)) if name in BOOLEAN and not self._is_bound(name):
                return self.expression(node)
        return f"$.t({self.expression(node)})"

    def _is_bound(self, name: str) -> bool:
        return any(name in scope.names for scope in self.scopes)

    def _as_constant(self, node: ast.Constant) -> str:
        if node.value is None or node.value is ...:
            return "null"
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        if isinstance(node.value, str):
            return json.dumps(node.value, ensure_ascii=False)
        if isinstance(node.value, int):
            return str(node.value) if abs(node.value) < 2**53 else repr(float(node.value))
        if isinstance(node.value, float):
            return repr(node.value)
        raise self._refuse(node, repr(node.value))

    def _as_name(self, node: ast.Name) -> str:
        if self._is_bound(node.id) or self.kind_of(node.id):
            return name_of(node.id)
        if node.id in BUILTINS | ERRORS:
            return f"$.{node.id}"
        raise self._refuse(node, f"the name {node.id}")

    def _iterable(self, node: ast.expr) -> str:
        if isinstance(node, (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)):
            return self.expression(node)
        return f"$.iter({self.expression(node)})"

    def _as_compare(self, node: ast.Compare) -> str:
        operands = [node.left, *node.comparators]
        written = [self.expression(one) for one in operands]
        # An operand in the middle that is more than a name is computed once.
        simple = all(isinstance(one, (ast.Name, ast.Constant)) for one in operands[1:-1])
        names = written if simple else [f"$c{place}" for place in range(len(written))]
        pairs = zip(node.ops, names, names[1:], strict=False)
        inner = " && ".join(self._compared(op, one, other) for op, one, other in pairs)
        return f"({inner})" if simple else f"(({','.join(names)})=>{inner})({','.join(written)})"

    def _compared(self, op: ast.cmpop, left: str, right: str) -> str:
        if isinstance(op, ast.Is):
            return f"$.is({left},{right})" if right != "null" else f"{left}===null"
        if isinstance(op, ast.IsNot):
            return f"!$.is({left},{right})" if right != "null" else f"{left} !== null"
        if isinstance(op, ast.In):
            return f"$.in({left},{right})"
        if isinstance(op, ast.NotIn):
            return f"!$.in({left},{right})"
        return f"$.{COMPARE[type(op)]}({left},{right})"

    def _as_attribute(self, node: ast.Attribute) -> str:
        if node.attr == "__class__":
            return f"$.type({self.expression(node.value)})"
        if isinstance(node.value, ast.Name) and not self._is_bound(node.value.id) and self.kind_of(node.value.id) == "module":
            return f"{name_of(node.value.id)}.{node.attr}"
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "super":
            return f"super.{node.attr}"
        if node.attr not in self.methods and not node.attr.startswith("__"):
            return f"{self._owner(node.value)}.{node.attr}"
        return f"$.attr({self.expression(node.value)},{json.dumps(node.attr)})"

    def _owner(self, node: ast.expr) -> str:
        written = self.expression(node)
        apart = isinstance(node, (ast.Dict, ast.Constant, ast.GeneratorExp)) or written.startswith("new ")
        return f"({written})" if apart else written

    # Comprehensions

    def _as_listcomp(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> str:
        """A comprehension of any kind, as a function that is called where it stands; a generator is one too."""
        empty, add, keys = COMPREHENSIONS[type(node)]
        opened, depth, lazy = "", 0, isinstance(node, ast.GeneratorExp)
        for one in node.generators:
            iterable = self._iterable(one.iter)
            self.fresh += 1
            each = f"$v{self.fresh}"
            self.scopes.append(Scope({name.id for name in ast.walk(one.target) if isinstance(name, ast.Name)}))
            depth += 1
            value = each if isinstance(one.target, ast.Name) else sequence(one.target, each)
            opened += f"for(const {each} of {iterable}){{const {self._pattern(one.target)}={value}; "
            opened += "".join(f"if(!{self.condition(test)}) continue; " for test in one.ifs)
        inner = add.format(",".join(self.expression(getattr(node, key)) for key in keys))
        before, after = ("", "") if lazy else (f"const $r = {empty};", "return $r;")
        body = f"{before} {opened}{inner}{' }' * depth} {after}"
        del self.scopes[-depth:]
        return f"(function* (){{{body}}})()" if lazy else f"(()=>{{{body}}})()"

    _as_setcomp = _as_dictcomp = _as_generatorexp = _as_listcomp

    # Calls

    def _as_call(self, node: ast.Call) -> str:
        callee = node.func
        if isinstance(callee, ast.Name) and callee.id == "cast" and not self._is_bound("cast"):
            return self.expression(node.args[1])
        arguments = [self.expression(one) for one in node.args]
        parts = []
        for one in node.keywords:
            value = self.expression(one.value)
            parts.append(f"...$.spread({value})" if one.arg is None else f"{json.dumps(one.arg)}:{value}")
        words = f"{{{','.join(parts)}}}" if parts else ""
        if isinstance(callee, ast.Attribute):
            return self._method_call(callee, arguments, words)
        if not isinstance(callee, ast.Name):
            return self._called(self.expression(callee), arguments, words, "value")
        if self._is_bound(callee.id):
            known = any(callee.id in scope.functions for scope in self.scopes)
            return self._called(name_of(callee.id), arguments, words, "function" if known else "value")
        kind = self.kind_of(callee.id)
        if not kind:
            if callee.id not in BUILTINS | ERRORS:
                raise self._refuse(node, f"a call of {callee.id}")
            if words:
                arguments.append(f"new $.Keywords({words})")
            made = "new " if callee.id in ERRORS else ""
            return f"{made}$.{callee.id}({','.join(arguments)})"
        return self._called(name_of(callee.id), arguments, words, kind)

    def _called(self, callee: str, arguments: list[str], words: str, kind: str) -> str:
        listed = ",".join(arguments)
        if words:
            return f"$.worded({callee},[{listed}],{words})"
        if kind == "class":
            return f"new {callee}({listed})"
        if kind == "function":
            return f"{callee}({listed})"
        return f"$.call({','.join([callee, *arguments])})"

    def _method_call(self, callee: ast.Attribute, arguments: list[str], words: str) -> str:
        owner, listed = callee.value, ",".join(arguments)
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
            if words:
                return f"$.worded(super.{callee.attr},[{listed}],{words},this)"
            return f"super.{callee.attr}({listed})"
        if isinstance(owner, ast.Name) and not self._is_bound(owner.id):
            kind = self.kind_of(owner.id)
            if kind == "module":
                return self._called(f"{name_of(owner.id)}.{callee.attr}", arguments, words, self.kind_in(owner.id, callee.attr))
        what = self._owner(owner)
        if words:
            return f"$.sent({what},{json.dumps(callee.attr)},[{listed}],{words})"
        if callee.attr in METHODS:
            return f"$.m.{callee.attr}({','.join([what, *arguments])})"
        if any(hasattr(kind, callee.attr) for kind in (str, float, list, dict, set)):
            raise self._refuse(callee, f"the method {callee.attr}")
        return f"{what}.{callee.attr}({listed})"


def sequence(target: ast.expr, value: str) -> str:
    """What a pattern takes apart; a starred name before its end stands for a list."""
    parts = getattr(target, "elts", [])
    places = [place for place, one in enumerate(parts[:-1]) if isinstance(one, ast.Starred)]
    return f"$.gathered({value},{places[0]},{len(parts)})" if places else f"$.seq({value})"


def _arrow(body: str) -> str:
    return f"({body})" if body.startswith("{") else body


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
    """What a key of a table of options is annotated with, without its help: the form of the page has that."""
    kind = node.annotation
    if not (isinstance(kind, ast.Subscript) and isinstance(kind.value, ast.Name) and kind.value.id == "Annotated"):
        return None
    told = kind.slice.elts[1] if isinstance(kind.slice, ast.Tuple) else None
    if not (isinstance(told, ast.Call) and isinstance(told.func, ast.Name) and told.func.id == "option"):
        return told
    return ast.Call(told.func, [ast.Constant("")], [one for one in told.keywords if one.arg in ("quantity", "default")])


def is_property(node: ast.FunctionDef) -> bool:
    """Whether a method is read as an attribute."""
    return any(decorator(one) in ("property", "cached_property") for one in node.decorator_list)


def parameters_of(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from filter(None, (arguments.vararg, arguments.kwarg))


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
