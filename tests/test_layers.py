"""The walls of the house: what import-linter cannot see, or sees only in part."""

import ast
from functools import cache
from pathlib import Path

import budgets

import ingest

PACKAGE = Path(ingest.__file__).parent
#: The only modules that import other modules of the product while they run: public names, architectures, commands, formulas,
#: `measure`, whose help would import the readers of all formats; models, few of which are releases; pages, of which a
#: command prints one; and charts, which a session draws when it is asked.
LOADERS = {
    "__init__.py", "architecture/__init__.py", "architecture/model_description.py", "catalog/__init__.py", "cli/main.py",
    "corpus/measure.py", "engine/registry.py", "reports/pages/__init__.py", "reports/session.py",
    "sizing/resolve.py",
}  # fmt: skip
MOST_MODULES, MOST_AT_THE_TOP, MOST_LINES = 300, 11, 600


@cache
def modules():
    """Each module's path below the package, and its syntax tree."""
    return [(str(path.relative_to(PACKAGE)), nodes[0]) for path, (_, nodes) in budgets.modules().items()]


def late_imports(tree):
    """Imports of the product inside functions, by name or through importlib."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            named = _imported(node)
            if any(name is None or name.split(".")[0] == "ingest" for name in named):
                yield node.lineno


def _imported(node):
    """The modules that a node imports; None for a name that is computed."""
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    if isinstance(node, ast.Call) and "import_module" in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
        return [node.args[0].value if isinstance(node.args[0], ast.Constant) else None]
    return []


def test_only_the_loaders_import_the_product_while_they_run():
    late = [f"{name}:{line}" for name, tree in modules() if name not in LOADERS for line in late_imports(tree)]
    assert not late


def test_no_function_passes_its_local_variables_as_options():
    calls = [
        f"{name}:{node.lineno}"
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "locals"
    ]
    assert not calls


def test_the_house_has_no_more_rooms_than_a_newcomer_can_walk():
    names = [name for name, _ in modules()]
    long = [path.name for path in PACKAGE.rglob("*.py") if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES]
    assert len(names) <= MOST_MODULES
    assert len([name for name in names if "/" not in name]) <= MOST_AT_THE_TOP
    assert not long


def test_the_house_keeps_its_budgets():
    figures = budgets.figures()
    over = {name: (figure, budgets.BUDGETS[name]) for name, figure in figures.items() if figure > budgets.BUDGETS[name]}
    assert over == {}
