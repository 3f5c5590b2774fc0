"""The format of a result, and the width it has to fit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from ingest.errors import UsageError, nearest
from ingest.reports.page import Page, as_csv, as_markdown, as_text

FORMATS = ("table", "json", "csv", "markdown")
SUFFIXES = {".json": "json", ".csv": "csv", ".md": "markdown", ".txt": "table", ".xlsx": "xlsx"}


def suffixes(book: bool = True) -> list[str]:
    """What a file may end in; `book` tells whether the answer has a workbook."""
    return [suffix for suffix in SUFFIXES if book or SUFFIXES[suffix] != "xlsx"]


def format_of(output: str | None, asked: str | None, book: bool = True) -> str:
    """Return the format: the one asked for, or by the file's suffix.

    Raises:
        UsageError: a suffix that stands for no format.
    """
    if output is None:
        return asked or "table"
    suffix = Path(output).suffix.lower()
    if asked is not None:
        if SUFFIXES.get(suffix, asked) != asked:
            raise UsageError(f"--format {asked} and --output '{output}' disagree, expected one of them to go")
        return asked
    if suffix not in SUFFIXES:
        known = suffixes(book)
        raise UsageError(f"--output: '{output}' ends in '{suffix}', expected {', '.join(known)}{nearest(suffix, known)}")
    return SUFFIXES[suffix]


def render(page: Callable[[], Page], data: Callable[[], Mapping[str, Any]], form: str, width: int | None = None) -> str:
    """Return a result as text in one of the formats; only what the format needs is built."""
    if form == "json":
        import json

        return json.dumps(data(), indent=1, ensure_ascii=False, allow_nan=False)
    made = page()
    if form == "csv":
        return as_csv(made)
    return as_markdown(made) if form == "markdown" else as_text(made, width)


def terminal_width(stream: TextIO | None = None) -> int | None:
    """The width of the terminal that a stream is, standard output by default; None for a pipe, where nothing is cut."""
    shown = stream or sys.stdout
    if shown is None or not shown.isatty():
        return None
    import shutil

    return max(shutil.get_terminal_size().columns, 40)
