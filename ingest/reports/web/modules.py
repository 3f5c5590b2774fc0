"""What of the package a page needs: the definitions that its questions reach, module by module, printed as JavaScript."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ingest.engine.expression import FUNCTIONS
from ingest.engine.registry import InputQuantity, computed_in, given_in
from ingest.files import table_beside
from ingest.reports.web.expressions import BUILTINS, ERRORS, METHODS, annotated, is_property, name_of, stored
from ingest.reports.web.javascript import Printer

PACKAGE = Path(__file__).parents[2]
#: A text that may name quantities, or a rule.
_NAMES = re.compile(r"[a-z][a-z0-9_]*([, ]+[a-z][a-z0-9_]*)*|[A-Z][0-9]+")
#: Definitions that nothing of a page calls.
LEFT_OUT = {"TYPE_CHECKING", "annotations"}


@dataclass
class Source:
    """A module of the package."""

    name: str
    tree: ast.Module
    definitions: dict[str, ast.stmt] = field(default_factory=dict)  # statement of each name
    #: name -> module and the name there, empty for the module itself
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    further: dict[str, list[ast.stmt]] = field(default_factory=dict)  # statements that change a name
    effects: list[ast.stmt] = field(default_factory=list)  # statements without a name, such as the declaration of a quantity

    def __post_init__(self) -> None:
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_call(node, "table_beside"):
                name = ast.literal_eval(node.value.args[1])
                node.value = ast.parse(repr(table_beside(str(_path(self.name)), name)), mode="eval").body
        tables = [node for node in self.tree.body if _is_call(node, "input_quantities")]
        given = [call for _ in tables for row in given_in(str(_path(self.name))) for call in _given(*row)]
        self.imported |= {name: ("ingest.engine.registry", name) for name in ("input_quantity", "alternative") if tables}
        self.tree.body = [*given, *chain.from_iterable(_unrolled(node) for node in self.tree.body if node not in tables)]
        expressed = [node for node in self.tree.body if _is_call(node, "computed_quantities")]
        for at in [self.tree.body.index(node) for node in expressed]:
            self.tree.body[at : at + 1] = [_computed(**row) for row in computed_in(str(_path(self.name)))]
        computed = [_as_function(node) for node in self.tree.body]
        if any(computed):
            self.imported |= {name: ("ingest.engine.expression", name) for name in FUNCTIONS}
            self.imported["formula"] = ("ingest.engine.registry", "formula")
            self.tree.body = [made or node for made, node in zip(computed, self.tree.body, strict=True)]
        # A package that imports its names on demand lists them where types are checked.
        on_demand = any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in self.tree.body)
        for node in chain.from_iterable(one.body if on_demand and isinstance(one, ast.If) else [one] for one in self.tree.body):
            if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
                for one in node.names:
                    inner = f"{node.module}.{one.name}"
                    whole = node.module.startswith("ingest") and _path(inner) is not None
                    self.imported[one.asname or one.name] = (inner, "") if whole else (node.module, one.name)
            elif isinstance(node, ast.Import):
                for one in node.names:
                    self.imported[(one.asname or one.name).partition(".")[0]] = (one.name, "")
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.definitions[node.name] = node
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and (names := stored([node])):
                if isinstance(node, ast.AugAssign):
                    self.further.setdefault(min(names), []).append(node)
                else:
                    self.definitions |= dict.fromkeys(names, node)
            elif isinstance(node, ast.Assign) or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)):
                self.effects.append(node)


class _Worded(ast.NodeTransformer):
    """Names and the texts that hold them as the words that they stand for."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self.words = words

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(self.words[node.id]), node) if node.id in self.words else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        parts = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
        words = [str(one.value) for one in parts if isinstance(one, ast.Constant)]
        return ast.copy_location(ast.Constant("".join(words)), node) if len(words) == len(parts) else node


def _unrolled(node: ast.stmt) -> list[ast.stmt]:
    """The declarations of a loop over literal words, once for each of them; any other statement as it is."""
    if not isinstance(node, ast.For) or not all(isinstance(one, ast.Expr) for one in node.body):
        return [node]
    table = node.iter.func.value if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Attribute) else node.iter
    rows = ast.literal_eval(table)
    names = [one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)]
    words = [
        dict(zip(names, row if len(names) > 1 else [row], strict=True))
        for row in (rows.items() if isinstance(rows, dict) else rows)
    ]
    return [_Worded(one).visit(deepcopy(statement)) for one in words for statement in node.body]


def _is_call(node: ast.stmt, function: str) -> bool:
    call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == function


def _made(function: str, row: Any) -> ast.Expr:
    """The call that makes a row of a table: what has no default by its place, the rest by name where it differs."""
    told = {name: value for name, value in row._asdict().items() if value != row._field_defaults.get(name, ...)}
    words = (f"{name}={value!r}" if name in row._field_defaults else repr(value) for name, value in told.items())
    (made,) = ast.parse(f"{function}({', '.join(words)})".replace("=-inf", "=-float('inf')")).body
    assert isinstance(made, ast.Expr)
    return made


def _given(one: InputQuantity, instead: Iterable[tuple[str, list[str], bool]]) -> list[ast.stmt]:
    """The calls that declare a given quantity and its alternatives."""
    calls = [
        f"alternative({', '.join(map(repr, (one.name, *formulas)))}, when={case!r}, optional={optional})"
        for case, formulas, optional in instead
    ]
    return [_made("input_quantity", one), *ast.parse("\n".join(calls)).body]


def _computed(name: str, expression: str, unit: str, meaning: str, **declared: Any) -> ast.stmt:
    """The call that declares a computed quantity of a table."""
    source = [declared.pop("source")] if "source" in declared else []
    words = [*map(repr, (name, expression, unit, meaning, *source)), *(f"{key}={value!r}" for key, value in declared.items())]
    return ast.parse(f"computed_quantity({', '.join(words)})".replace("=-inf", "=-float('inf')")).body[0]


def _as_function(node: ast.stmt) -> ast.FunctionDef | None:
    """The declaration of a computed quantity as the decorated function that it stands for; None for any other statement."""
    call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "computed_quantity"):
        return None
    name, expression, unit, meaning, *source = call.args
    told = {one.arg: one.value for one in call.keywords if one.arg in ("needs", "example")}
    (body,) = ast.parse(f"def {ast.literal_eval(name)}(): return {ast.literal_eval(expression)}").body
    assert isinstance(body, ast.FunctionDef)
    names = [one for one in ast.walk(body) if isinstance(one, ast.Name) and one.id not in FUNCTIONS]
    listed = ast.literal_eval(told["needs"]).split() if "needs" in told else ()
    needs = dict.fromkeys((*listed, *(one.id for one in sorted(names, key=lambda one: one.col_offset))))
    body.args.args = [ast.arg(one) for one in needs]
    body.body = [ast.Expr(meaning), *body.body]
    body.decorator_list = [
        ast.Call(ast.Name("formula"), [unit, *source], [one for one in call.keywords if one.arg not in told])
    ]
    return body


def _path(module: str) -> Path | None:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    for one in (path.with_suffix(".py"), path / "__init__.py"):
        if one.is_file():
            return one
    return None


def _imports(names: Mapping[str, tuple[str, str]]) -> list[str]:
    """The lines that take names from other modules, one for each module."""
    lines, taken = [], dict[str, list[str]]()
    for name, (place, there) in names.items():
        owner = f"$M[{json.dumps(place)}]" if place.startswith("ingest") else f"$.library({json.dumps(place)})"
        if there:
            taken.setdefault(owner, []).append(_renamed(there, name_of(name)))
        else:
            lines.append(f"const {name_of(name)}={owner};")
    return [*lines, *(f"const {{{','.join(parts)}}}={owner};" for owner, parts in taken.items())]


def _renamed(name: str, local: str) -> str:
    """A name between braces, and what it is called here."""
    return name if name == local else f"{name}:{local}"


class Way(NamedTuple):
    """An alternative of a quantity, and the statement that declares it."""

    quantity: str
    when: str
    formulas: tuple[str, ...]
    module: str
    node: ast.stmt


def _is_alternative(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "alternative"


@dataclass
class Program:
    """The part of the package that some roots reach."""

    roots: Mapping[str, Iterable[str]]  # module -> names that a page calls
    #: `module:name` -> JavaScript that stands for a definition, and the names of its module that it uses
    written: Mapping[str, str]
    beside: Collection[str] = ()  # fields of formulas that no question is about: theirs are only what other formulas need
    tables: Collection[str] = ()  # `module:name` of tables of which a page has the rows whose id, the first argument, it names
    sources: dict[str, Source] = field(default_factory=dict)
    reached: dict[str, set[str]] = field(default_factory=dict)
    needed: dict[str, set[str]] = field(default_factory=dict)
    shared: set[tuple[str, str]] = field(default_factory=set)  # module and name of what others take: the rest it keeps
    words: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    needs: set[str] = field(default_factory=set)

    def source(self, module: str) -> Source:
        """A module, parsed."""
        if module not in self.sources:
            path = _path(module)
            assert path is not None, module
            self.sources[module] = Source(module, ast.parse(path.read_text(encoding="utf-8")))
        return self.sources[module]

    def collect(self) -> None:
        """Follow names from the roots, and the names of quantities to their formulas."""
        waiting = [(module, name) for module, names in self.roots.items() for name in names]
        self.shared |= {*waiting}
        quantities = self.quantities
        while waiting:
            while waiting:
                waiting += self._reach(*waiting.pop())
            found = [one for one in quantities if one not in self._taken and self._is_named(one)]
            for one in found:
                self._taken.add(one)
                module, node = quantities[one]
                if isinstance(node, ast.FunctionDef):
                    self.needs |= {each.arg for each in node.args.args}
                    waiting.append((module, one))
                else:
                    self.reached.setdefault(module, set())
                    waiting += [*self._used(module, node)]
            for way in self.alternatives:
                stated = way.when in self.words or any(re.fullmatch(one, way.when) for one in self.patterns)
                if stated and way not in self._stated and way.quantity in self._taken:
                    self._stated.append(way)
                    self.needs |= {*way.formulas}
                    waiting += self._used(way.module, way.node) if isinstance(way.node, ast.Expr) else ()
            named = [one for one in self._rows if one in self.words]
            waiting += [used for one in named for used in self._used(*self._rows.pop(one))]
        for module, name in (one.split(":") for one in self.tables):
            left_out = {id(row) for _, row in self._rows.values()}
            rows = self._elements(module, name)
            rows[:] = [row for row in rows if id(row) not in left_out]

    def _elements(self, module: str, name: str) -> list[ast.expr]:
        """The rows of a table."""
        node = self.source(module).definitions[name]
        assert isinstance(node, ast.Assign), name
        if not isinstance(node.value, ast.Tuple):  # read from a file
            rows = getattr(sys.modules[module], name)
            node.value = ast.Tuple([_made(type(row).__name__, row).value for row in rows])
        return node.value.elts

    @cached_property
    def _rows(self) -> dict[str, tuple[str, ast.Call]]:
        """The rows of tables that no text has named so far, by id."""
        tables = (one.split(":") for one in self.tables)
        calls = [(module, row) for module, name in tables for row in self._elements(module, name) if isinstance(row, ast.Call)]
        return {str(row.args[0].value): (module, row) for module, row in calls if isinstance(row.args[0], ast.Constant)}

    _stated: list[Way] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)

    def _is_named(self, quantity: str) -> bool:
        if quantity in self.needs:
            return True
        # A field beside the page may declare what follows otherwise in a case of the page.
        if self._is_beside(self.quantities[quantity][0]) and not any(
            way.quantity == quantity and way.when in self.words and not self._is_beside(way.module) for way in self.alternatives
        ):
            return False
        return quantity in self.words or any(re.fullmatch(one, quantity) for one in self.patterns)

    def _is_beside(self, module: str) -> bool:
        return module.removeprefix("ingest.formulas.") in self.beside

    @cached_property
    def quantities(self) -> dict[str, tuple[str, ast.stmt]]:
        """The declaration of each quantity, with its module."""
        found: dict[str, tuple[str, ast.stmt]] = {}
        for path in sorted((PACKAGE / "formulas").glob("*.py")):
            source = self.source(f"ingest.formulas.{path.stem}".removesuffix(".__init__"))
            for name, node in source.definitions.items():
                if isinstance(node, ast.FunctionDef) and node.decorator_list:
                    found[name] = (source.name, node)
            for node in source.effects:
                match node:
                    case ast.Expr(ast.Call(args=[ast.Constant(quantity), *_]) as call) if not _is_alternative(call):
                        found[str(quantity)] = (source.name, node)
        return found

    @cached_property
    def alternatives(self) -> list[Way]:
        """What quantities follow in a case, as they declare it."""
        found = []
        for module, declared in self.quantities.values():
            if not isinstance(declared, ast.FunctionDef):
                continue
            calls = [one for one in declared.decorator_list if isinstance(one, ast.Call)]
            words = {one.arg: one.value.value for call in calls for one in call.keywords if isinstance(one.value, ast.Constant)}
            if "of" in words:
                found.append(Way(str(words["of"]), str(words["when"]), (declared.name,), module, declared))
        for source in [one for name, one in self.sources.items() if name.startswith("ingest.formulas.")]:
            for node in source.effects:
                call = node.value if isinstance(node, ast.Expr) else None
                if isinstance(call, ast.Call) and _is_alternative(call):
                    quantity, *formulas = [str(one.value) for one in call.args if isinstance(one, ast.Constant)]
                    words = {one.arg: one.value.value for one in call.keywords if isinstance(one.value, ast.Constant)}
                    found.append(Way(quantity, str(words["when"]), tuple(formulas), source.name, node))
        return found

    def _reach(self, module: str, name: str) -> list[tuple[str, str]]:
        own = self.reached.setdefault(module, set())
        if name in own or name in LEFT_OUT:
            return []
        source = self.source(module)
        if name in source.definitions:
            own.add(name)
            if f"{module}:{name}" in self.written:
                # The names of the module that JavaScript names.
                words = set(re.findall(r"[A-Za-z_]\w*", self.written[f"{module}:{name}"]))
                names = words & (source.definitions.keys() | source.imported.keys())
                return [(module, one) for one in names if f"{module}:{one}" not in self.written]
            if f"{module}:{name}" in self.tables:
                return []
            return [
                one for node in (source.definitions[name], *source.further.get(name, ())) for one in self._used(module, node)
            ]
        if name in source.imported:
            own.add(name)
            place, there = source.imported[name]
            if not place.startswith("ingest"):
                return []
            self.needed.setdefault(module, set()).add(place)
            self.shared |= {(place, there)}
            return [(place, there)] if there else []
        raise KeyError(f"{module}:{name}")

    def _used(self, module: str, node: ast.AST) -> Iterator[tuple[str, str]]:
        source = self.source(module)
        for one in _evaluated(node):
            if isinstance(one, ast.Name) and (one.id in source.definitions or one.id in source.imported):
                yield module, one.id
            elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id in source.imported:
                place, there = source.imported[one.value.id]
                if not there and place.startswith("ingest"):
                    self.needed.setdefault(module, set()).add(place)
                    self.shared |= {(place, one.attr)}
                    yield place, one.attr
            elif isinstance(one, ast.Constant) and isinstance(one.value, str):
                self.words.update(one.value.replace(",", " ").split() if _NAMES.fullmatch(one.value) else ())
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                self.words.add(one.target.id)
            elif isinstance(one, (ast.arg, ast.keyword)):
                self.words |= {one.arg or ""}
            elif isinstance(one, ast.JoinedStr):
                parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+" for part in one.values]
                pattern = "".join(parts)
                if re.fullmatch(r"[\w\\+]+", pattern) and re.search(r"[a-z_]{6}", pattern):
                    self.patterns.add(pattern)

    def kind(self, module: str, name: str) -> str:
        """What a name of a module is: class, function, module, value; empty where it is unknown."""
        source = self.source(module)
        if name in source.definitions:
            node = source.definitions[name]
            if isinstance(node, ast.ClassDef):
                return "class"
            bare = isinstance(node, ast.FunctionDef) and (not node.decorator_list or f"{module}:{name}" in self.written)
            return "function" if bare else "value"
        if name in source.imported:
            place, there = source.imported[name]
            if not there:
                return "module"
            return self.kind(place, there) if place.startswith("ingest") else "value"
        return ""

    @cached_property
    def methods(self) -> set[str]:
        """The names of methods, which are bound where they are not called."""
        found = set(METHODS)
        for module, names in self.reached.items():
            for name in names & self.source(module).definitions.keys():
                node = self.source(module).definitions[name]
                for one in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(one, ast.FunctionDef) and not is_property(one):
                        found.add(one.name)
        return found

    def printed(self) -> str:
        """The modules in JavaScript, each after those that it imports."""
        done: list[str] = []

        def visit(module: str) -> None:
            if module in done:
                return
            for one in sorted(self.needed.get(module, ())):
                visit(one)
            done.append(module)

        for module in sorted(self.reached):
            visit(module)
        return "\n".join(self._module(one) for one in done if one in self.reached)

    def _module(self, module: str) -> str:
        source, reached = self.source(module), self.reached[module]
        printer = Printer(
            module,
            lambda name: self.kind(module, name) if name in reached or name in source.imported else "",
            lambda name, attribute: (
                self.kind(place, attribute)
                if (place := source.imported[name][0]).startswith("ingest")
                else "function"
                if attribute.islower()
                else "value"
            ),
            self.methods,
        )
        lines, printed = _imports({name: source.imported[name] for name in sorted(reached & source.imported.keys())}), set()
        for node in source.tree.body:
            names = [name for name, one in source.definitions.items() if one is node and name in reached]
            if names and not any(name in printed for name in names):
                printed |= set(names)
                text = self.written.get(f"{module}:{names[0]}")
                lines.append(printer.definition(node) if text is None else f"const {name_of(names[0])}={text};")
            elif any(node in source.further.get(name, ()) for name in reached):
                lines.append(printer.change(node))
            elif node in source.effects and self._has_effect(module, node):
                lines.append(printer.definition(node))
        exported = ",".join(_renamed(name, name_of(name)) for name in sorted(reached) if (module, name) in self.shared)
        body = "\n".join(lines)
        return f"$M[{json.dumps(module)}]=(()=>{{\n{body}\nreturn {{{exported}}};\n}})();"

    def _has_effect(self, module: str, node: ast.stmt) -> bool:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
            if _is_alternative(node.value):
                return any(one.node is node for one in self._stated)
            first = node.value.args[0]
            if isinstance(first, ast.Constant) and (module, node) == self.quantities.get(str(first.value)):
                return str(first.value) in self._taken
        names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
        source = self.source(module)
        return all(
            one in self.reached[module] or one in BUILTINS | ERRORS
            for one in names
            if one in source.definitions or one in source.imported or one in BUILTINS
        )


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run; annotations do not."""
    yield node
    told = annotated(node) if isinstance(node, ast.AnnAssign) else None
    if told is not None:
        yield from _evaluated(told)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment"):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast" and name == "args":
            parts = value[1:]
        else:
            parts = value if isinstance(value, list) else [value]
        for one in parts:
            if isinstance(one, ast.AST):
                yield from _evaluated(one)
