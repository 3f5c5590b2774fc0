"""Expressions of Python as JavaScript: operators, calls, comprehensions, and the parameters and patterns that bind names."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ingest.errors import IngestError
from ingest.reports.web.syntax import BUILTINS, ERRORS, METHODS, name_of, parameters_of

BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.BitOr: "bitor", ast.BitAnd: "bitand", ast.BitXor: "bitxor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
#: Calls that give true or false.
BOOLEAN = {"isinstance", "any", "all", "callable", "hasattr", "bool", "issubclass"}


class Unprintable(IngestError):
    """Python that the printer does not know."""


@dataclass
class Scope:
    """The names that a function, a comprehension or a module binds.

    Attributes:
        names: bound here.
        functions: those bound to a function that is defined here, which needs no look at what is called.
    """

    names: set[str]
    functions: set[str] = field(default_factory=set)


#: Says what a name of the module is: "class", "function", "module", "value", or empty where it is not one of its names.
Kinds = Callable[[str], str]


@dataclass
class ExpressionPrinter:
    """Prints the expressions of one module.

    Attributes:
        module: for messages.
        kind_of: what a name of the module is.
        kind_in: what a name of another module is, which the first name stands for.
        methods: names of methods: an attribute of such a name may have to be bound to its owner.
    """

    module: str
    kind_of: Kinds
    kind_in: Callable[[str, str], str]
    methods: set[str]
    scopes: list[Scope] = field(default_factory=list)
    fresh: int = 0
    in_method: bool = False

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
        pairs = list(zip(positional, defaults, strict=True))
        if bound:
            pairs = pairs[1:]
        named = list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
        extra = arguments.kwarg.arg if arguments.kwarg is not None else ""
        prologue = ""
        if arguments.vararg is not None:
            written = [self._parameter(*one) for one in pairs]
            rest = name_of(arguments.vararg.arg)
            written.append(f"...{rest}")
            if named or extra:
                prologue = f"const $k=$.keywords({rest});\n"
                for one, default in named:
                    usual = self.expression(default) if default is not None else "null"
                    prologue += f"let {name_of(one.arg)}=$.taken($k,{json.dumps(one.arg)},()=>{usual});\n"
                if extra:
                    prologue += f"let {name_of(extra)}=$.rest($k);\n"
            return ",".join(written), prologue, "true"
        written = [self._parameter(*one) for one in [*pairs, *named]]
        if extra:
            written.append(f"{name_of(extra)}=new $.Dict()")
        return ",".join(written), prologue, '"more"' if extra else "false"

    def _parameter(self, one: ast.arg, default: ast.expr | None) -> str:
        return name_of(one.arg) + (f"={self.expression(default)}" if default is not None else "")

    # Expressions

    def expression(self, node: ast.expr) -> str:
        """An expression."""
        method = getattr(self, f"_as_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refuse(node, type(node).__name__)
        written: str = method(node)
        return written

    def condition(self, node: ast.expr) -> str:
        """An expression whose truth alone counts."""
        if isinstance(node, ast.BoolOp):
            sign = "&&" if isinstance(node.op, ast.And) else "||"
            return "(" + sign.join(map(self.condition, node.values)) + ")"
        if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            return self.expression(node)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in BOOLEAN
            and not self._is_bound(node.func.id)
        ):
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

    def _as_namedexpr(self, node: ast.NamedExpr) -> str:
        return f"({name_of(node.target.id)}={self.expression(node.value)})"

    def _as_tuple(self, node: ast.Tuple) -> str:
        return f"[{','.join(map(self.expression, node.elts))}]"

    _as_list = _as_tuple

    def _as_set(self, node: ast.Set) -> str:
        return f"new $.PySet([{','.join(map(self.expression, node.elts))}])"

    def _as_starred(self, node: ast.Starred) -> str:
        return f"...{self._iterable(node.value)}"

    def _iterable(self, node: ast.expr) -> str:
        if isinstance(node, (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)):
            return self.expression(node)
        return f"$.iter({self.expression(node)})"

    def _as_dict(self, node: ast.Dict) -> str:
        written = "new $.Dict()"
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                written += f".merge({self.expression(value)})"
            else:
                written += f".put({self.expression(key)},{self.expression(value)})"
        return written

    def _as_joinedstr(self, node: ast.JoinedStr) -> str:
        parts = [self.expression(one) for one in node.values]
        return f"$.text({','.join(parts)})"

    def _as_formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.expression(node.value)
        if node.conversion == ord("r"):
            value = f"$.repr({value})"
        if node.format_spec is None:
            return f"$.str({value})"
        return f"$.format({value},{self.expression(node.format_spec)})"

    def _as_binop(self, node: ast.BinOp) -> str:
        return f"$.{BINARY[type(node.op)]}({self.expression(node.left)},{self.expression(node.right)})"

    def _as_unaryop(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"!{self.condition(node.operand)}"
        if isinstance(node.op, ast.USub):
            return f"$.neg({self.expression(node.operand)})"
        if isinstance(node.op, ast.UAdd):
            return self.expression(node.operand)
        raise self._refuse(node, "~")

    def _as_boolop(self, node: ast.BoolOp) -> str:
        first, *others = map(self.expression, node.values)
        name = "and" if isinstance(node.op, ast.And) else "or"
        return f"$.{name}({first},{','.join(f'()=>{_arrow(one)}' for one in others)})"

    def _as_compare(self, node: ast.Compare) -> str:
        operands = [node.left, *node.comparators]
        if len(node.ops) > 1:
            simple = all(isinstance(one, (ast.Name, ast.Constant)) for one in operands[1:-1])
            if not simple:
                written = [self.expression(one) for one in operands]
                names = [f"$c{place}" for place in range(len(written))]
                inner = " && ".join(
                    self._compared(op, one, other) for op, one, other in zip(node.ops, names, names[1:], strict=False)
                )
                return f"(({','.join(names)})=>{inner})({','.join(written)})"
        written = [self.expression(one) for one in operands]
        pairs = zip(node.ops, written, written[1:], strict=False)
        return "(" + " && ".join(self._compared(op, one, other) for op, one, other in pairs) + ")"

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

    def _as_ifexp(self, node: ast.IfExp) -> str:
        return f"({self.condition(node.test)}?{self.expression(node.body)}:{self.expression(node.orelse)})"

    def _as_subscript(self, node: ast.Subscript) -> str:
        value = self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            return f"$.part({value},{','.join(self.expression(one) if one is not None else 'null' for one in parts)})"
        return f"$.get({value},{self.expression(node.slice)})"

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
        return (
            f"({written})"
            if isinstance(node, (ast.Dict, ast.Constant, ast.GeneratorExp)) or written.startswith("new ")
            else written
        )

    def _as_lambda(self, node: ast.Lambda) -> str:
        parameters, prologue, _ = self._parameters(node.args)
        self.scopes.append(Scope({one.arg for one in parameters_of(node.args)}))
        body = self.expression(node.body)
        self.scopes.pop()
        return f"(({parameters})=>{_arrow(body)})" if not prologue else f"(({parameters})=>{{{prologue} return {body};}})"

    def _as_yield(self, node: ast.Yield) -> str:
        return f"(yield {self.expression(node.value)})" if node.value is not None else "(yield null)"

    def _as_yieldfrom(self, node: ast.YieldFrom) -> str:
        return f"(yield* {self._iterable(node.value)})"

    # Comprehensions

    def _as_listcomp(self, node: ast.ListComp) -> str:
        return self._loops(node.generators, lambda: f"$r.push({self.expression(node.elt)});", "const $r = [];", "return $r;")

    def _as_setcomp(self, node: ast.SetComp) -> str:
        return self._loops(
            node.generators, lambda: f"$r.add({self.expression(node.elt)});", "const $r = new $.PySet();", "return $r;"
        )

    def _as_dictcomp(self, node: ast.DictComp) -> str:
        return self._loops(
            node.generators,
            lambda: f"$r.put({self.expression(node.key)},{self.expression(node.value)});",
            "const $r = new $.Dict();",
            "return $r;",
        )

    def _as_generatorexp(self, node: ast.GeneratorExp) -> str:
        return self._loops(node.generators, lambda: f"yield {self.expression(node.elt)};", "", "", lazy=True)

    def _loops(
        self, generators: Sequence[ast.comprehension], inner: Callable[[], str], before: str, after: str, lazy: bool = False
    ) -> str:
        opened, depth = "", 0
        for one in generators:
            iterable = self._iterable(one.iter)
            self.fresh += 1
            each = f"$v{self.fresh}"
            self.scopes.append(Scope({name.id for name in ast.walk(one.target) if isinstance(name, ast.Name)}))
            depth += 1
            value = each if isinstance(one.target, ast.Name) else sequence(one.target, each)
            opened += f"for(const {each} of {iterable}){{const {self._pattern(one.target)}={value}; "
            opened += "".join(f"if(!{self.condition(test)}) continue; " for test in one.ifs)
        body = f"{before} {opened}{inner()}{' }' * depth} {after}"
        del self.scopes[-depth:]
        return f"(function* (){{{body}}})()" if lazy else f"(()=>{{{body}}})()"

    # Calls

    def _as_call(self, node: ast.Call) -> str:
        callee = node.func
        if isinstance(callee, ast.Name) and callee.id == "cast" and not self._is_bound("cast"):
            return self.expression(node.args[1])
        arguments = [self.expression(one) for one in node.args]
        words = self._keywords(node.keywords)
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

    def _keywords(self, keywords: Iterable[ast.keyword]) -> str:
        parts = [
            f"...$.spread({self.expression(one.value)})"
            if one.arg is None
            else f"{json.dumps(one.arg)}: {self.expression(one.value)}"
            for one in keywords
        ]
        return f"{{{','.join(parts)}}}" if parts else ""

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
        return f"{what}.{callee.attr}({listed})"


def sequence(target: ast.expr, value: str) -> str:
    """What a pattern takes apart; a starred name before its end stands for a list."""
    parts = getattr(target, "elts", [])
    places = [place for place, one in enumerate(parts[:-1]) if isinstance(one, ast.Starred)]
    return f"$.gathered({value},{places[0]},{len(parts)})" if places else f"$.seq({value})"


def _arrow(body: str) -> str:
    return f"({body})" if body.startswith("{") else body
