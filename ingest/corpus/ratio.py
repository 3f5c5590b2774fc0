"""`--bytes-per-token`: a number, or the JSON file that `ingest measure` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TypeGuard

from ingest.corpus.result import read_result
from ingest.engine.value import Input
from ingest.errors import UsageError
from ingest.units import parse

OPTION = "--bytes-per-token"
#: No token stands for more text than this.
MOST_RATIO = 1e6


def bytes_per_token_of(written: str | float | Path) -> Input:
    """The bytes of text that one token stands for, and how that is known.

    Args:
        written: a number, or the path of a JSON file that `ingest measure` wrote.

    >>> bytes_per_token_of("3.27").value
    3.27

    Raises:
        UsageError: neither a number above 0 nor a file.
        IngestError: a file that is not the result of `ingest measure`.
    """
    if is_file_name(written):
        found = read_result(Path(written), OPTION).needed("bytes_per_token")
    else:
        found = Input(float(parse(written, "B/token", OPTION)), origin="user")
    if not 0 < found.value < MOST_RATIO:
        raise UsageError(f"{OPTION}: found {found.value:g}, expected a number above 0 (B/token), such as 3.3, or a JSON file")
    return found


def is_file_name(written: str | float | Path) -> TypeGuard[str | Path]:
    """Whether a file is meant, not a number.

    >>> is_file_name("corpus.json"), is_file_name("3.3 B/token"), is_file_name(4)
    (True, False, False)
    """
    if isinstance(written, str):
        return written.endswith(".json") or "/" in written.replace("/token", "") or Path(written).is_file()
    return isinstance(written, Path)
