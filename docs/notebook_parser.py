"""Notebooks as pages: each is run by a kernel of its own when the handbook is built, and shown with what it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser

ROOT = Path(__file__).resolve().parent.parent
#: Seconds that one cell may take.
LONGEST = 60


class NotebookParser(MystParser):  # type: ignore[misc]  # myst-parser has no type hints
    """Reads `.ipynb`; a cell that fails ends the build."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Run the notebook in the root of the checkout and read it as Markdown."""
        super().parse("\n\n".join(_blocks(run(inputstring))), document)


def run(text: str) -> dict[str, Any]:
    """The notebook after its run.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
        ValueError: an output names a folder of this machine.
    """
    import nbclient
    import nbformat
    from traitlets.config import Config

    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    # The kernel is reached by a socket of the file system, which nobody else can read.
    config = Config({"KernelManager": {"transport": "ipc"}})
    place = {"metadata": {"path": str(ROOT)}}
    nbclient.NotebookClient(notebook, timeout=LONGEST, kernel_name="python3", resources=place, config=config).execute()
    done: dict[str, Any] = json.loads(nbformat.writes(notebook))
    if str(ROOT) in json.dumps([cell.get("outputs", []) for cell in done["cells"]]):
        raise ValueError(f"an output names the folder {ROOT}")
    return done


def _blocks(notebook: dict[str, Any]) -> Iterator[str]:
    """The cells as blocks of Markdown."""
    for cell in notebook["cells"]:
        source = _text(cell["source"])
        yield source if cell["cell_type"] == "markdown" else _fenced("python", source)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                html = re.sub(r"\n\s*\n", "\n", _text(data["text/html"]))
                yield _fenced("{raw} html", f'<div class="notebook-output">{html}</div>')
            elif "text/plain" in data:
                yield _fenced("text", _text(data["text/plain"]))
            elif "text" in output:
                yield _fenced("text", _text(output["text"]).rstrip())


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _fenced(kind: str, text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{kind}\n{text}\n{fence}"
