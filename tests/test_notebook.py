"""The example notebook: it runs, and holds nothing that a run wrote."""

import ast
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def _code(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in _code(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_shows_something(path):
    names = {}
    shown = []
    for cell in _code(path):
        *before, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(before, []), path.name, "exec"), names)  # noqa: S102  the cells are ours
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), path.name, "eval"), names))  # noqa: S307
        else:
            exec(compile(ast.Module([last], []), path.name, "exec"), names)  # noqa: S102
    html = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    assert len(html) >= 5
    assert sum("<svg" in one for one in html) >= 3


def test_there_is_a_notebook():
    assert NOTEBOOKS
