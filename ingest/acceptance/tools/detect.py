"""The runs in a result file, whichever tool wrote it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from ingest.acceptance.test_spec import Run
from ingest.errors import IngestError

#: a driver of thousands of clients writes some kilobytes for every thread
MOST_BYTES = 2**30
READERS = ("fio", "ior", "mdtest", "elbencho", "dlio")


#: what tools write beside their results
COMPANIONS = re.compile(
    r"(dlio\.log|\d+_output\.json|\d+_per_epoch_stats\.json|iostat\.json|.*metadata\.json)|.*\.(log|err|hosts)"
)


def is_companion(path: Path) -> bool:
    """Whether a file in a results folder is one that a tool writes beside its results, or hidden."""
    return bool(COMPANIONS.fullmatch(path.name)) or any(part.startswith(".") for part in path.parts)


def runs_in(path: Path) -> list[Run]:
    """The runs in a file.

    Raises:
        IngestError: it cannot be read, is cut off, or is no result of a known tool.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise IngestError(f"{path}: found {path.stat().st_size:,} bytes, expected at most {MOST_BYTES:,}")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise IngestError(f"{path}: found no text, expected a result of {', '.join(READERS)}") from None
    for tool in READERS:
        found: list[Run] | None = import_module(f"ingest.acceptance.tools.{tool}").read(text, str(path))
        if found is not None:
            return found
    raise IngestError(f"{path}: found no result of {', '.join(READERS)}, expected one (is it whole?)")
