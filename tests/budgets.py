"""The budgets of the house, measured: `python tests/budgets.py` prints them, a test holds them. They only fall."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ingest.engine.registry import FORMULAS, INPUTS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ingest"
#: A body of so many lines, the docstring not counted, is small.
SMALL = 5
#: Calls that choose among formulas; outside the engine a quantity's own module declares its alternatives.
CHOICES = ("choose", "choose_first", "withdraw")
#: budget -> the most that is allowed
BUDGETS = {
    "lines of the package": 76_046,
    "modules": 276,
    "functions with at most five lines, %": 49.2,
    "choices outside the engine": 0,
    "literals of quantity names outside the formulas": 5_169,
    "lines of the tests": 49_615,
    "pages of documentation": 107,
    "arrows up, by import or by name": 0,
}


@cache
def modules() -> dict[Path, tuple[str, list[ast.AST]]]:
    """The text and the nodes of each module of the package."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    return {path: (text, [*ast.walk(ast.parse(text))]) for path, text in texts.items()}


def functions() -> Iterator[int]:
    """The lines of each function's body, its docstring not counted."""
    for _, nodes in modules().values():
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
                yield (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def arrows_up() -> Iterator[str]:
    """Where a module names one of a higher layer, in an import or in a text that is imported later."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    height = {room: place for place, layer in enumerate(reversed(layers)) for room in layer.split(" | ")}
    for path, (_, nodes) in modules().items():
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for node in nodes:
            named = node.module if isinstance(node, ast.ImportFrom) else getattr(node, "value", None)
            target = re.match(r"ingest\.(\w+)[.\w]*$", named) if isinstance(named, str) else None
            if target and height.get(target[1], -1) > height.get(room, len(layers)):
                yield f"{path.relative_to(PACKAGE)}: {named}"


def figures() -> dict[str, float]:
    lengths = [*functions()]
    names = {*FORMULAS, *INPUTS}
    choices = literals = 0
    for path, (_, nodes) in modules().items():
        room = path.relative_to(PACKAGE).parts[0]
        for node in nodes:
            if room != "engine" and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                choices += node.func.attr in CHOICES
            if room != "formulas" and isinstance(node, ast.Constant) and isinstance(node.value, str):
                literals += node.value in names
    pages = [
        path
        for path in ROOT.rglob("*.md")
        if not any(part.startswith(".") or part in ("build", "_build") for part in path.relative_to(ROOT).parts)
    ]
    tests = sum(path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "tests").rglob("*.py"))
    measured = (
        sum(text.count("\n") for text, _ in modules().values()),
        len(modules()),
        100 * sum(length <= SMALL for length in lengths) / len(lengths),
        choices,
        literals,
        tests,
        len(pages),
        len([*arrows_up()]),
    )
    return dict(zip(BUDGETS, measured, strict=True))


if __name__ == "__main__":
    for name, figure in figures().items():
        print(f"{name:50} {figure:10,.1f} {BUDGETS[name]:10,.1f}")
