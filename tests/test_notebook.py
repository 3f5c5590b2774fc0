"""The example notebook: it runs, and holds nothing that a run wrote."""

import ast
import inspect
import json
import re

import pytest
from conftest import ROOT

import ingest
from ingest.cli.main import COMMANDS
from ingest.errors import IngestError

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


def test_the_package_lists_its_commands_and_their_help_says_what_to_pass():
    listed = {name for name in dir(ingest) if not name.startswith("_")}
    # `usage` is the function behind the package `site`; `mcp` and `completion` are of the shell alone.
    assert listed == {name.replace("-", "_") for name in COMMANDS} - {"mcp", "completion"} | {"IngestError", "usage"}
    for name in listed - {"IngestError", "catalog", "site"}:
        function = getattr(ingest, name)
        signature = inspect.signature(function)
        assert "Annotated" not in str(signature)
        assert [one for one in signature.parameters if not re.search(rf"\b{one}(: |`)", inspect.getdoc(function))] == [], name


DRAWN = {
    "rates": lambda: ingest.bw("llama3-8b", "h100", nodes=4),
    "intervals": lambda: ingest.checkpoint("llama3-8b", gpus=64),
    "goodput": lambda: ingest.goodput("llama3-8b", gpus=1024, runs=2),
    "capacity": lambda: ingest.plan(str(ROOT / "examples" / "hpc-128-nodes.yaml")),
}


@pytest.mark.parametrize("name", DRAWN)
def test_results_plot_themselves(name):
    chart = DRAWN[name]().plot(name)
    assert (chart.name, chart._repr_svg_()[:4], repr(chart)) == (name, "<svg", f"{name}: {chart.title}")


def test_what_cannot_be_drawn_is_refused_in_one_line(monkeypatch):
    nothing, drawn = ingest.memory("llama3-8b", gpu="h100"), ingest.checkpoint("llama3-8b", gpus=64)
    for result, name, said in ((nothing, "", "memory has nothing to draw"), (drawn, "interval", "did you mean 'intervals'")):
        with pytest.raises(IngestError, match=said):
            result.plot(name)
    monkeypatch.setattr("ingest.reports.charts.chart.find_spec", lambda _: None)
    with pytest.raises(IngestError, match=r"pip install 'ingest-sizing\[charts\]'"):
        drawn.plot()
