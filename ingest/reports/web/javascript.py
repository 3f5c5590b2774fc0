"""The printer: the Python of a module as JavaScript with the same meaning.

It knows the part of the language in which the sizing is written: functions, records, dictionaries, comprehensions,
generators, exceptions. Everything that differs between the languages, such as division by zero, equality, truth or the
formats of numbers, is a function of `assets/runtime.js`, called `$`. What it does not know it refuses by line.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence

from ingest.reports.web.expressions import (
    BINARY,
    ExpressionPrinter,
    Scope,
    annotated,
    decorator,
    name_of,
    parameters_of,
    sequence,
    stored,
    yields,
)


class Printer(ExpressionPrinter):
    """Prints the definitions of one module."""

    # Statements

    def definition(self, node: ast.stmt) -> str:
        """A definition at the top of a module."""
        self.scopes = []
        if isinstance(node, ast.FunctionDef):
            return f"const {name_of(node.name)}={self._decorated(node)};"
        if isinstance(node, ast.ClassDef):
            return self._class(node)
        return _declared(sorted(map(name_of, stored([node]))), self._statement(node))

    def change(self, node: ast.stmt) -> str:
        """A statement at the top of a module that changes a definition."""
        self.scopes = []
        return self._statement(node)

    def _block(self, body: Sequence[ast.stmt]) -> str:
        return "".join(written + "\n" for one in body if (written := self._statement(one)))

    def _statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Pass() | ast.Assert():
                return ""
            case ast.Break() | ast.Continue():
                return f"{type(node).__name__.lower()};"
            case ast.Return():
                return f"return {self.expression(node.value)};" if node.value is not None else "return null;"
            case ast.Raise():
                return f"throw {self.expression(node.exc)};" if node.exc is not None else "throw $e;"
            case ast.Expr():
                return "" if isinstance(node.value, ast.Constant) else f"{self.expression(node.value)};"
            case ast.AnnAssign():
                return self._bind(node.target, self.expression(node.value)) if node.value is not None else ""
            case ast.AugAssign():
                # The target as an expression that reads it.
                target = self.expression(ast.parse(ast.unparse(node.target), mode="eval").body)
                return self._bind(node.target, f"$.i{BINARY[type(node.op)]}({target},{self.expression(node.value)})")
            case ast.Delete():
                parts = [one for one in node.targets if isinstance(one, ast.Subscript)]
                return "".join(f"$.del({self.expression(one.value)},{self.expression(one.slice)});" for one in parts)
            case ast.If():
                written = f"if({self.condition(node.test)}){{\n{self._block(node.body)}}}"
                return written + (f" else{{\n{self._block(node.orelse)}}}" if node.orelse else "")
            case ast.While() if not node.orelse:
                return f"while({self.condition(node.test)}){{\n{self._block(node.body)}}}"
            case ast.Import():
                names = ((one.asname or one.name.partition(".")[0], one.name) for one in node.names)
                return "".join(f"{name_of(local)}=$.library({json.dumps(name)});" for local, name in names)
            case ast.ImportFrom():
                place = f"$.library({json.dumps(node.module)})"
                return "".join(f"{name_of(one.asname or one.name)}={place}.{one.name};" for one in node.names)
            case ast.FunctionDef():
                return f"{name_of(node.name)}={self._decorated(node)};"
        # What takes more than a line has a method of its own.
        method = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refuse(node, "else of while" if isinstance(node, ast.While) else type(node).__name__)
        written = method(node)
        return str(written)

    def _on_assign(self, node: ast.Assign) -> str:
        value = self.expression(node.value)
        if len(node.targets) == 1:
            return self._bind(node.targets[0], value)
        self.fresh += 1
        temporary = f"$t{self.fresh}"
        return f"const {temporary}={value};\n" + "\n".join(self._bind(one, temporary) for one in node.targets)

    def _bind(self, target: ast.expr, value: str) -> str:
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            ends = (target.slice.lower, target.slice.upper)
            first, last = (self.expression(end) if end is not None else "null" for end in ends)
            return f"$.splice({self.expression(target.value)},{first},{last},{value});"
        if isinstance(target, ast.Subscript):
            return f"$.put({self.expression(target.value)},{self.expression(target.slice)},{value});"
        if isinstance(target, ast.Attribute):
            return f"$.setattr({self.expression(target.value)},{json.dumps(target.attr)},{value});"
        if isinstance(target, (ast.Tuple, ast.List)):
            return f"({self._pattern(target)}={sequence(target, value)});"
        return f"{self._pattern(target)}={value};"

    def _on_for(self, node: ast.For) -> str:
        self.fresh += 1
        each = f"$v{self.fresh}"
        flag = f"$f{self.fresh}"
        body = self._block(node.body)
        if node.orelse:
            # A loop that has an `else` tells where it is left.
            body = body.replace("break;", f"{{{flag}=false; break;}}")
        loop = f"for(const {each} of {self._iterable(node.iter)}){{\n{self._bind(node.target, each)}\n{body}}}"
        if not node.orelse:
            return loop
        return f"let {flag}=true;\n{loop}\nif({flag}){{\n{self._block(node.orelse)}}}"

    def _on_with(self, node: ast.With) -> str:
        call = node.items[0].context_expr
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "suppress"):
            raise self._refuse(node, "with")
        errors = ",".join(map(self.expression, call.args))
        return f"try{{\n{self._block(node.body)}}} catch ($e){{if(!$.caught($e,[{errors}])) throw $e;}}"

    def _on_try(self, node: ast.Try) -> str:
        body = self._block(node.body)
        if node.orelse:
            self.fresh += 1
            flag = f"$f{self.fresh}"
            body = f"let {flag}=false;\ntry{{\n{body}{flag}=true;\n}}"
        else:
            body = f"try{{\n{body}}}"
        handlers = []
        for one in node.handlers:
            errors = "[$.BaseException]"
            if isinstance(one.type, ast.Tuple):
                errors = f"[{','.join(map(self.expression, one.type.elts))}]"
            elif one.type is not None:
                errors = f"[{self.expression(one.type)}]"
            named = f"{name_of(one.name)}=$e;\n" if one.name else ""
            handlers.append(f"if($.caught($e,{errors})){{\n{named}{self._block(one.body)}}}")
        if handlers:
            body += f" catch ($e){{\n{' else '.join(handlers)} else throw $e;\n}}"
        if node.finalbody:
            body += f" finally{{\n{self._block(node.finalbody)}}}"
        if node.orelse:
            body += f"\nif({flag}){{\n{self._block(node.orelse)}}}"
        return body

    # Functions and classes

    def _decorated(self, node: ast.FunctionDef) -> str:
        written = self._function(node)
        for one in reversed(node.decorator_list):
            written = f"$.call({self.expression(one)},{written})"
        return written

    def _function(self, node: ast.FunctionDef, bound: str = "") -> str:
        """A function as an expression; `bound` is the first parameter of a method."""
        parameters, prologue, facts = self._parameters(node.args, bound)
        body = self._body(node, bound)
        star = "*" if yields(node) else ""
        document = ast.get_docstring(node) if node.decorator_list and not bound else None
        told = f",{json.dumps(document.partition(chr(10))[0], ensure_ascii=False)}" if document else ""
        written = f"function{star} ({parameters}){{\n{prologue}{body}}}"
        more = f",{facts}" if facts != "false" or told else ""
        return f"$.fn({written},{json.dumps(node.name)}{more}{told})"

    def _body(self, node: ast.FunctionDef, bound: str = "") -> str:
        own = {one.arg for one in parameters_of(node.args)}
        names = stored(node.body)
        functions = {one.name for one in ast.walk(node) if isinstance(one, ast.FunctionDef)} & names
        self.scopes.append(Scope(own | names, functions))
        body = self._block(node.body)
        self.scopes.pop()
        uses = bound and any(isinstance(one, ast.Name) and one.id == bound for one in ast.walk(node))
        first = f"const {name_of(bound)}=this;\n" if uses else ""
        # A function without a return gives None.
        last = "" if yields(node) or isinstance(node.body[-1], (ast.Return, ast.Raise)) else "return null;\n"
        return first + _declared(sorted(map(name_of, names - own)), body) + last

    def _class(self, node: ast.ClassDef) -> str:
        bases = [one.value if isinstance(one, ast.Subscript) else one for one in node.bases]
        words = [one.id if isinstance(one, ast.Name) else "" for one in bases]
        form = "tuple" if "NamedTuple" in words else "plain"
        if "Frozen" in words or any(decorator(one) == "dataclass" for one in node.decorator_list):
            form = "data"
        base = "$.Named" if form == "tuple" else "$.Plain"
        if bases and words[0] not in ("NamedTuple", "Protocol"):
            base = self.expression(bases[0])
        name = name_of(node.name)
        if "TypedDict" in words or (words and all(word.endswith("Options") for word in words)):
            return self._table(name, node, [one for one in words if one != "TypedDict"])
        methods, fields, after, facts = [], [], [], {}
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                written, told = self._method(one)
                methods.append(written)
                facts[one.name] = told
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                if "ClassVar" in ast.dump(one.annotation) or form == "plain":
                    if one.value is not None:
                        after.append(f"$.setattr({name},{json.dumps(one.target.id)},{self.expression(one.value)});")
                else:
                    fields.append((one.target.id, one.value))
            elif isinstance(one, ast.Assign):
                after.append(self._class_values(name, one))
        if form == "tuple":
            inside = "".join(f"this.{one}={name_of(one)}; " for one, _ in fields)
            parameters = ",".join(
                name_of(one) + (f"={self.expression(usual)}" if usual is not None else "") for one, usual in fields
            )
            methods.insert(0, f"constructor({parameters}){{super(); {inside}}}")
        listed = ",".join(f"[{json.dumps(one)},{self._usual(usual)}]" for one, usual in fields)
        told = ",".join(f"{json.dumps(one)}: {text}" for one, text in facts.items() if text not in ("", "false"))
        head = f"class {name} extends {base}{{\n" + "\n".join(methods) + "\n}\n"
        return head + f"$.made({name},{json.dumps(node.name)},{json.dumps(form)},[{listed}],{{{told}}});\n" + "\n".join(after)

    def _table(self, name: str, node: ast.ClassDef, groups: list[str]) -> str:
        """A table of options: what its keys are annotated with, by key."""
        entries = [f"...{one}.entries()" for one in map(name_of, groups)]
        for one in node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and (told := annotated(one)) is not None:
                entries.append(f"[{json.dumps(one.target.id)},{self.expression(told)}]")
        return f"const {name}=new $.Dict([{','.join(entries)}]);"

    def _usual(self, default: ast.expr | None) -> str:
        if default is None:
            return "null"
        if isinstance(default, ast.Call) and isinstance(default.func, ast.Name) and default.func.id == "field":
            for word in default.keywords:
                if word.arg == "default_factory":
                    return f"()=>$.call({self.expression(word.value)})"
                if word.arg == "default":
                    return f"()=>{self.expression(word.value)}"
            return "null"
        return f"()=>{self.expression(default)}"

    def _class_values(self, name: str, node: ast.Assign) -> str:
        value = self.expression(node.value)
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            parts = [one.id for one in target.elts if isinstance(one, ast.Name)]
            return f"$.setattrs({name},{json.dumps(parts)},{value});"
        chosen = [one.id for one in node.targets if isinstance(one, ast.Name)]
        return "\n".join(f"$.setattr({name},{json.dumps(one)},{value});" for one in chosen)

    def _method(self, node: ast.FunctionDef) -> tuple[str, str]:
        decorators = {decorator(one) for one in node.decorator_list}
        bound = "" if "staticmethod" in decorators else node.args.args[0].arg if node.args.args else ""
        parameters, prologue, facts = self._parameters(node.args, bound)
        body = prologue + self._body(node, bound)
        star = "*" if yields(node) else ""
        if "cached_property" in decorators:
            return f"get {node.name}(){{return $.once(this,{json.dumps(node.name)},()=>{{\n{body}}});}}", ""
        if "property" in decorators:
            return f"get {node.name}(){{\n{body}}}", ""
        static = "static " if decorators & {"staticmethod", "classmethod"} else ""
        return f"{static}{star}{node.name}({parameters}){{\n{body}}}", facts


def _declared(names: list[str], body: str) -> str:
    """Statements after the declaration of their names, which the first of them makes where it sets the only one.

    >>> _declared(["one"], "one=1;\\n"), _declared(["one", "two"], "one=1;\\n")
    ('let one=1;\\n', 'let one,two;\\none=1;\\n')
    """
    if len(names) == 1 and body.startswith(f"{names[0]}="):
        return f"let {body}"
    return f"let {','.join(names)};\n{body}" if names else body
