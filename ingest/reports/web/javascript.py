"""The printer: the Python of a module as JavaScript with the same meaning.

It knows the part of the language in which the sizing is written: functions, records, dictionaries, comprehensions,
generators, exceptions. Everything that differs between the languages, such as division by zero, equality, truth or the
formats of numbers, is a function of `assets/runtime.js`, called `$`. What it does not know it refuses by line.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.errors import IngestError

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
#: Modules of the standard library that the runtime has.
LIBRARY = {
    "math", "re", "itertools", "functools", "operator", "dataclasses", "collections", "types", "importlib", "difflib", "typing",
    "collections.abc", "pathlib", "contextlib", "datetime", "textwrap", "json", "os", "sys", "csv", "fnmatch", "html", "shutil",
    "unicodedata",
}  # fmt: skip
BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.BitOr: "bitor", ast.BitAnd: "bitand", ast.BitXor: "bitxor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
#: Calls that give true or false.
BOOLEAN = {"isinstance", "any", "all", "callable", "hasattr", "bool", "issubclass"}
Function = ast.FunctionDef | ast.Lambda


class Unprintable(IngestError):
    """Python that the printer does not know."""


def name_of(name: str) -> str:
    """A name, as JavaScript takes it.

    >>> name_of("nodes"), name_of("default")
    ('nodes', 'default$')
    """
    return f"{name}$" if name in RESERVED else name


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
class Printer:
    """Prints the definitions of one module.

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

    # Statements

    def definition(self, node: ast.stmt) -> str:
        """A definition at the top of a module."""
        self.scopes = []
        if isinstance(node, ast.FunctionDef):
            return f"const {name_of(node.name)} = {self._decorated(node)};"
        if isinstance(node, ast.ClassDef):
            return self._class(node)
        names = sorted(stored([node]))
        return "".join(f"let {name_of(name)};\n" for name in names) + self._statement(node)

    def change(self, node: ast.stmt) -> str:
        """A statement at the top of a module that changes a definition."""
        self.scopes = []
        return self._statement(node)

    def _refuse(self, node: ast.AST, what: str) -> Unprintable:
        return Unprintable(
            f"{self.module}:{getattr(node, 'lineno', 0)}: {what} has no JavaScript; expected what the printer knows"
        )

    def _block(self, body: Sequence[ast.stmt]) -> str:
        return "".join(self._statement(one) + "\n" for one in body)

    def _statement(self, node: ast.stmt) -> str:
        method = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refuse(node, type(node).__name__)
        written: str = method(node)
        return written

    def _on_expr(self, node: ast.Expr) -> str:
        return "" if isinstance(node.value, ast.Constant) else f"{self.expression(node.value)};"

    def _on_pass(self, _: ast.Pass) -> str:
        return ""

    def _on_break(self, _: ast.Break) -> str:
        return "break;"

    def _on_continue(self, _: ast.Continue) -> str:
        return "continue;"

    def _on_assert(self, _: ast.Assert) -> str:
        return ""

    def _on_return(self, node: ast.Return) -> str:
        return f"return {self.expression(node.value)};" if node.value is not None else "return null;"

    def _on_raise(self, node: ast.Raise) -> str:
        return f"throw {self.expression(node.exc)};" if node.exc is not None else "throw $e;"

    def _on_assign(self, node: ast.Assign) -> str:
        value = self.expression(node.value)
        if len(node.targets) == 1:
            return self._bind(node.targets[0], value)
        self.fresh += 1
        temporary = f"$t{self.fresh}"
        return f"const {temporary} = {value};\n" + "\n".join(self._bind(one, temporary) for one in node.targets)

    def _on_annassign(self, node: ast.AnnAssign) -> str:
        return self._bind(node.target, self.expression(node.value)) if node.value is not None else ""

    def _on_augassign(self, node: ast.AugAssign) -> str:
        target = self.expression(_loaded(node.target))
        operation = BINARY[type(node.op)]
        return self._bind(node.target, f"$.i{operation}({target}, {self.expression(node.value)})")

    def _bind(self, target: ast.expr, value: str) -> str:
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            ends = (target.slice.lower, target.slice.upper)
            first, last = (self.expression(end) if end is not None else "null" for end in ends)
            return f"$.splice({self.expression(target.value)}, {first}, {last}, {value});"
        if isinstance(target, ast.Subscript):
            return f"$.put({self.expression(target.value)}, {self.expression(target.slice)}, {value});"
        if isinstance(target, ast.Attribute):
            return f"$.setattr({self.expression(target.value)}, {json.dumps(target.attr)}, {value});"
        if isinstance(target, (ast.Tuple, ast.List)):
            return f"({self._pattern(target)} = {_sequence(target, value)});"
        return f"{self._pattern(target)} = {value};"

    def _pattern(self, target: ast.expr) -> str:
        if isinstance(target, ast.Name):
            return name_of(target.id)
        if isinstance(target, ast.Attribute):
            return f"{self.expression(target.value)}.{target.attr}"
        if isinstance(target, ast.Starred):
            return self._pattern(target.value)
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(target.elts[-1], ast.Starred):
                return f"[{', '.join(map(self._pattern, target.elts[:-1]))}, ...{self._pattern(target.elts[-1])}]"
            return f"[{', '.join(map(self._pattern, target.elts))}]"
        raise self._refuse(target, "an assignment to parts of another value")

    def _on_delete(self, node: ast.Delete) -> str:
        parts = [one for one in node.targets if isinstance(one, ast.Subscript)]
        return "".join(f"$.del({self.expression(one.value)}, {self.expression(one.slice)});" for one in parts)

    def _on_if(self, node: ast.If) -> str:
        written = f"if ({self.condition(node.test)}) {{\n{self._block(node.body)}}}"
        return written + (f" else {{\n{self._block(node.orelse)}}}" if node.orelse else "")

    def _on_while(self, node: ast.While) -> str:
        return f"while ({self.condition(node.test)}) {{\n{self._block(node.body)}}}"

    def _on_for(self, node: ast.For) -> str:
        self.fresh += 1
        each = f"$v{self.fresh}"
        flag = f"$f{self.fresh}"
        body = self._block(node.body)
        if node.orelse:
            body = _breaking(body, flag)
        loop = f"for (const {each} of {self._iterable(node.iter)}) {{\n{self._bind(node.target, each)}\n{body}}}"
        if not node.orelse:
            return loop
        return f"let {flag} = true;\n{loop}\nif ({flag}) {{\n{self._block(node.orelse)}}}"

    def _on_with(self, node: ast.With) -> str:
        call = node.items[0].context_expr
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "suppress"):
            raise self._refuse(node, "with")
        errors = ", ".join(map(self.expression, call.args))
        return f"try {{\n{self._block(node.body)}}} catch ($e) {{ if (!$.caught($e, [{errors}])) throw $e; }}"

    def _on_try(self, node: ast.Try) -> str:
        body = self._block(node.body)
        if node.orelse:
            self.fresh += 1
            flag = f"$f{self.fresh}"
            body = f"let {flag} = false;\ntry {{\n{body}{flag} = true;\n}}"
        else:
            body = f"try {{\n{body}}}"
        handlers = []
        for one in node.handlers:
            errors = "[$.BaseException]"
            if isinstance(one.type, ast.Tuple):
                errors = f"[{', '.join(map(self.expression, one.type.elts))}]"
            elif one.type is not None:
                errors = f"[{self.expression(one.type)}]"
            named = f"{name_of(one.name)} = $e;\n" if one.name else ""
            handlers.append(f"if ($.caught($e, {errors})) {{\n{named}{self._block(one.body)}}}")
        if handlers:
            body += f" catch ($e) {{\n{' else '.join(handlers)} else throw $e;\n}}"
        if node.finalbody:
            body += f" finally {{\n{self._block(node.finalbody)}}}"
        if node.orelse:
            body += f"\nif ({flag}) {{\n{self._block(node.orelse)}}}"
        return body

    def _on_import(self, node: ast.Import) -> str:
        return "".join(
            f"{name_of(one.asname or one.name.partition('.')[0])} = $.library({json.dumps(one.name)});" for one in node.names
        )

    def _on_importfrom(self, node: ast.ImportFrom) -> str:
        place = f"$.library({json.dumps(node.module)})"
        return "".join(f"{name_of(one.asname or one.name)} = {place}.{one.name};" for one in node.names)

    def _on_functiondef(self, node: ast.FunctionDef) -> str:
        return f"{name_of(node.name)} = {self._decorated(node)};"

    # Functions and classes

    def _decorated(self, node: ast.FunctionDef) -> str:
        written = self._function(node)
        for one in reversed(node.decorator_list):
            written = f"$.call({self.expression(one)}, {written})"
        return written

    def _function(self, node: ast.FunctionDef, bound: str = "") -> str:
        """A function as an expression; `bound` is the first parameter of a method."""
        parameters, prologue, facts = self._parameters(node.args, bound)
        body = self._body(node, bound)
        star = "*" if _yields(node) else ""
        document = ast.get_docstring(node) if node.decorator_list and not bound else None
        told = f", {json.dumps(document.partition(chr(10))[0], ensure_ascii=False)}" if document else ""
        written = f"function{star} ({parameters}) {{\n{prologue}{body}}}"
        more = f", {facts}" if facts != "false" or told else ""
        return f"$.fn({written}, {json.dumps(node.name)}{more}{told})"

    def _body(self, node: ast.FunctionDef, bound: str = "") -> str:
        own = {one.arg for one in _arguments(node.args)}
        names = stored(node.body)
        functions = {one.name for one in ast.walk(node) if isinstance(one, ast.FunctionDef)} & names
        self.scopes.append(Scope(own | names, functions))
        method = self.in_method
        self.in_method = self.in_method or bool(bound)
        body = self._block(node.body)
        self.in_method = method
        self.scopes.pop()
        declared = ", ".join(sorted(map(name_of, names - own)))
        first = (
            f"const {name_of(bound)} = this;\n"
            if bound and any(isinstance(one, ast.Name) and one.id == bound for one in ast.walk(node))
            else ""
        )
        # A function without a return gives None.
        last = "" if _yields(node) or isinstance(node.body[-1], (ast.Return, ast.Raise)) else "return null;\n"
        return first + (f"let {declared};\n" if declared else "") + body + last

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
                prologue = f"const $k = $.keywords({rest});\n"
                for one, default in named:
                    usual = self.expression(default) if default is not None else "null"
                    prologue += f"let {name_of(one.arg)} = $.taken($k, {json.dumps(one.arg)}, () => {usual});\n"
                if extra:
                    prologue += f"let {name_of(extra)} = $.rest($k);\n"
            return ", ".join(written), prologue, "true"
        written = [self._parameter(*one) for one in [*pairs, *named]]
        if extra:
            written.append(f"{name_of(extra)} = new $.Dict()")
        return ", ".join(written), prologue, '"more"' if extra else "false"

    def _parameter(self, one: ast.arg, default: ast.expr | None) -> str:
        return name_of(one.arg) + (f" = {self.expression(default)}" if default is not None else "")

    def _class(self, node: ast.ClassDef) -> str:
        bases = [one.value if isinstance(one, ast.Subscript) else one for one in node.bases]
        words = [one.id if isinstance(one, ast.Name) else "" for one in bases]
        form = "tuple" if "NamedTuple" in words else "plain"
        if any(_decorator(one) == "dataclass" for one in node.decorator_list):
            form = "data"
        base = "$.Named" if form == "tuple" else "$.Plain"
        if bases and words[0] not in ("NamedTuple", "Protocol"):
            base = self.expression(bases[0])
        name = name_of(node.name)
        methods, fields, after, facts = [], [], [], {}
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                written, told = self._method(one)
                methods.append(written)
                facts[one.name] = told
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                if "ClassVar" in ast.dump(one.annotation) or form == "plain":
                    if one.value is not None:
                        after.append(f"$.setattr({name}, {json.dumps(one.target.id)}, {self.expression(one.value)});")
                else:
                    fields.append((one.target.id, one.value))
            elif isinstance(one, ast.Assign):
                after.append(self._class_values(name, one))
        if form == "tuple":
            inside = "".join(f"this.{one} = {name_of(one)}; " for one, _ in fields)
            parameters = ", ".join(
                name_of(one) + (f" = {self.expression(usual)}" if usual is not None else "") for one, usual in fields
            )
            methods.insert(0, f"constructor({parameters}) {{ super(); {inside}}}")
        listed = ", ".join(f"[{json.dumps(one)}, {self._usual(usual)}]" for one, usual in fields)
        told = ", ".join(f"{json.dumps(one)}: {text}" for one, text in facts.items() if text not in ("", "false"))
        head = f"class {name} extends {base} {{\n" + "\n".join(methods) + "\n}\n"
        return (
            head + f"$.made({name}, {json.dumps(node.name)}, {json.dumps(form)}, [{listed}], {{{told}}});\n" + "\n".join(after)
        )

    def _usual(self, default: ast.expr | None) -> str:
        if default is None:
            return "null"
        if isinstance(default, ast.Call) and isinstance(default.func, ast.Name) and default.func.id == "field":
            for word in default.keywords:
                if word.arg == "default_factory":
                    return f"() => $.call({self.expression(word.value)})"
                if word.arg == "default":
                    return f"() => {self.expression(word.value)}"
            return "null"
        return f"() => {self.expression(default)}"

    def _class_values(self, name: str, node: ast.Assign) -> str:
        value = self.expression(node.value)
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            parts = [one.id for one in target.elts if isinstance(one, ast.Name)]
            return f"$.setattrs({name}, {json.dumps(parts)}, {value});"
        chosen = [one.id for one in node.targets if isinstance(one, ast.Name)]
        return "\n".join(f"$.setattr({name}, {json.dumps(one)}, {value});" for one in chosen)

    def _method(self, node: ast.FunctionDef) -> tuple[str, str]:
        decorators = {_decorator(one) for one in node.decorator_list}
        bound = "" if "staticmethod" in decorators else node.args.args[0].arg if node.args.args else ""
        parameters, prologue, facts = self._parameters(node.args, bound)
        body = prologue + self._body(node, bound)
        star = "*" if _yields(node) else ""
        if "cached_property" in decorators:
            return f"get {node.name}() {{ return $.once(this, {json.dumps(node.name)}, () => {{\n{body}}}); }}", ""
        if "property" in decorators:
            return f"get {node.name}() {{\n{body}}}", ""
        static = "static " if decorators & {"staticmethod", "classmethod"} else ""
        return f"{static}{star}{node.name}({parameters}) {{\n{body}}}", facts

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
            sign = " && " if isinstance(node.op, ast.And) else " || "
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
        return f"({name_of(node.target.id)} = {self.expression(node.value)})"

    def _as_tuple(self, node: ast.Tuple) -> str:
        return f"[{', '.join(map(self.expression, node.elts))}]"

    _as_list = _as_tuple

    def _as_set(self, node: ast.Set) -> str:
        return f"new $.PySet([{', '.join(map(self.expression, node.elts))}])"

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
                written += f".put({self.expression(key)}, {self.expression(value)})"
        return written

    def _as_joinedstr(self, node: ast.JoinedStr) -> str:
        parts = [self.expression(one) for one in node.values]
        return f"$.text({', '.join(parts)})"

    def _as_formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.expression(node.value)
        if node.conversion == ord("r"):
            value = f"$.repr({value})"
        if node.format_spec is None:
            return f"$.str({value})"
        return f"$.format({value}, {self.expression(node.format_spec)})"

    def _as_binop(self, node: ast.BinOp) -> str:
        return f"$.{BINARY[type(node.op)]}({self.expression(node.left)}, {self.expression(node.right)})"

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
        return f"$.{name}({first}, {', '.join(f'() => {_arrow(one)}' for one in others)})"

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
                return f"(({', '.join(names)}) => {inner})({', '.join(written)})"
        written = [self.expression(one) for one in operands]
        pairs = zip(node.ops, written, written[1:], strict=False)
        return "(" + " && ".join(self._compared(op, one, other) for op, one, other in pairs) + ")"

    def _compared(self, op: ast.cmpop, left: str, right: str) -> str:
        if isinstance(op, ast.Is):
            return f"$.is({left}, {right})" if right != "null" else f"{left} === null"
        if isinstance(op, ast.IsNot):
            return f"!$.is({left}, {right})" if right != "null" else f"{left} !== null"
        if isinstance(op, ast.In):
            return f"$.in({left}, {right})"
        if isinstance(op, ast.NotIn):
            return f"!$.in({left}, {right})"
        return f"$.{COMPARE[type(op)]}({left}, {right})"

    def _as_ifexp(self, node: ast.IfExp) -> str:
        return f"({self.condition(node.test)} ? {self.expression(node.body)} : {self.expression(node.orelse)})"

    def _as_subscript(self, node: ast.Subscript) -> str:
        value = self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            return f"$.part({value}, {', '.join(self.expression(one) if one is not None else 'null' for one in parts)})"
        return f"$.get({value}, {self.expression(node.slice)})"

    def _as_attribute(self, node: ast.Attribute) -> str:
        if node.attr == "__class__":
            return f"$.type({self.expression(node.value)})"
        if isinstance(node.value, ast.Name) and not self._is_bound(node.value.id) and self.kind_of(node.value.id) == "module":
            return f"{name_of(node.value.id)}.{node.attr}"
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "super":
            return f"super.{node.attr}"
        if node.attr not in self.methods and not node.attr.startswith("__"):
            return f"{self._owner(node.value)}.{node.attr}"
        return f"$.attr({self.expression(node.value)}, {json.dumps(node.attr)})"

    def _owner(self, node: ast.expr) -> str:
        written = self.expression(node)
        return (
            f"({written})"
            if isinstance(node, (ast.Dict, ast.Constant, ast.GeneratorExp)) or written.startswith("new ")
            else written
        )

    def _as_lambda(self, node: ast.Lambda) -> str:
        parameters, prologue, _ = self._parameters(node.args)
        self.scopes.append(Scope({one.arg for one in _arguments(node.args)}))
        body = self.expression(node.body)
        self.scopes.pop()
        return f"(({parameters}) => {_arrow(body)})" if not prologue else f"(({parameters}) => {{ {prologue} return {body}; }})"

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
            lambda: f"$r.put({self.expression(node.key)}, {self.expression(node.value)});",
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
            value = each if isinstance(one.target, ast.Name) else _sequence(one.target, each)
            opened += f"for (const {each} of {iterable}) {{ const {self._pattern(one.target)} = {value}; "
            opened += "".join(f"if (!{self.condition(test)}) continue; " for test in one.ifs)
        body = f"{before} {opened}{inner()}{' }' * depth} {after}"
        del self.scopes[-depth:]
        return f"(function* () {{ {body} }})()" if lazy else f"(() => {{ {body} }})()"

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
            return f"{made}$.{callee.id}({', '.join(arguments)})"
        return self._called(name_of(callee.id), arguments, words, kind)

    def _keywords(self, keywords: Iterable[ast.keyword]) -> str:
        parts = [
            f"...$.spread({self.expression(one.value)})"
            if one.arg is None
            else f"{json.dumps(one.arg)}: {self.expression(one.value)}"
            for one in keywords
        ]
        return f"{{{', '.join(parts)}}}" if parts else ""

    def _called(self, callee: str, arguments: list[str], words: str, kind: str) -> str:
        listed = ", ".join(arguments)
        if words:
            return f"$.worded({callee}, [{listed}], {words})"
        if kind == "class":
            return f"new {callee}({listed})"
        if kind == "function":
            return f"{callee}({listed})"
        return f"$.call({', '.join([callee, *arguments])})"

    def _method_call(self, callee: ast.Attribute, arguments: list[str], words: str) -> str:
        owner, listed = callee.value, ", ".join(arguments)
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
            if words:
                return f"$.worded(super.{callee.attr}, [{listed}], {words}, this)"
            return f"super.{callee.attr}({listed})"
        if isinstance(owner, ast.Name) and not self._is_bound(owner.id):
            kind = self.kind_of(owner.id)
            if kind == "module":
                return self._called(f"{name_of(owner.id)}.{callee.attr}", arguments, words, self.kind_in(owner.id, callee.attr))
        what = self._owner(owner)
        if words:
            return f"$.sent({what}, {json.dumps(callee.attr)}, [{listed}], {words})"
        if callee.attr in METHODS:
            return f"$.m.{callee.attr}({', '.join([what, *arguments])})"
        return f"{what}.{callee.attr}({listed})"


def _sequence(target: ast.expr, value: str) -> str:
    """What a pattern takes apart; a starred name before its end stands for a list."""
    parts = getattr(target, "elts", [])
    places = [place for place, one in enumerate(parts[:-1]) if isinstance(one, ast.Starred)]
    return f"$.gathered({value}, {places[0]}, {len(parts)})" if places else f"$.seq({value})"


def _arrow(body: str) -> str:
    return f"({body})" if body.startswith("{") else body


def _decorator(node: ast.expr) -> str:
    target = node.func if isinstance(node, ast.Call) else node
    return target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")


def is_property(node: ast.FunctionDef) -> bool:
    """Whether a method is read as an attribute."""
    return any(_decorator(one) in ("property", "cached_property") for one in node.decorator_list)


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def _loaded(node: ast.expr) -> ast.expr:
    fields = {name: getattr(node, name) for name in node._fields if name != "ctx"}
    return type(node)(**fields, ctx=ast.Load(), lineno=node.lineno, col_offset=node.col_offset)


def _yields(node: ast.FunctionDef) -> bool:
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


def _breaking(body: str, flag: str) -> str:
    """The body of a loop that has an `else`: it tells where it is left."""
    return body.replace("break;", f"{{ {flag} = false; break; }}")


def signatures(nodes: Iterable[ast.AST]) -> Mapping[str, Sequence[str]]:
    """The parameters of functions by name."""
    return {one.name: [each.arg for each in _arguments(one.args)] for one in nodes if isinstance(one, ast.FunctionDef)}
