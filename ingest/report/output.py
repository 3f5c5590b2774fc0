"""Where results go: standard output or a file, in the format asked for; a file is whole or not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from ingest.errors import IngestError, UsageError, nearest
from ingest.report.page import Page, as_csv, as_markdown, as_text

FORMATS = ("table", "json", "csv", "markdown")
SUFFIXES = {".json": "json", ".csv": "csv", ".md": "markdown", ".txt": "table"}


def format_of(output: str | None, asked: str | None) -> str:
    """Return the format: the one asked for, or by the file's suffix.

    Raises:
        UsageError: a suffix that stands for no format.
    """
    if output is None or asked is not None:
        return asked or "table"
    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"--output: '{output}' ends in '{suffix}', expected {', '.join(SUFFIXES)}{nearest(suffix, SUFFIXES)}")
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
    if not (stream or sys.stdout).isatty():
        return None
    import shutil

    return max(shutil.get_terminal_size().columns, 40)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is never half-written.

    Raises:
        IngestError: the folder does not exist or cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise IngestError(f"--output: '{target}' cannot be written: {error.strerror}") from None
