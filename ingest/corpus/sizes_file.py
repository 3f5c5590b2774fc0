"""`--sample-bytes FILE.json`: the mean sample that `ingest measure --samples` found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ingest.errors import IngestError, UsageError, brief

OPTION = "--sample-bytes"
#: A result of `measure --samples` with a hundred thousand skipped files is smaller.
MOST_BYTES = 256 * 2**20


def sample_bytes_in(path: Path) -> float:
    """Mean stored bytes of a sample.

    Args:
        path: JSON file that `ingest measure --samples -o` wrote.

    Raises:
        UsageError: the file cannot be read.
        IngestError: it is not the result of `ingest measure --samples`.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise IngestError(f"{OPTION}: '{path}' is larger than {MOST_BYTES >> 20} MiB, expected a result of ingest measure")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{OPTION}: '{path}' cannot be read: {error.strerror}; expected a size or a JSON file") from None
    except (ValueError, RecursionError):
        wanted = f"expected what `ingest measure --samples -o {path.name}` writes"
        raise IngestError(f"{OPTION}: '{path}' is no JSON, {wanted}") from None
    found = _found(data)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < float("inf"):
        what = "no results.sample_bytes" if found is None else f"results.sample_bytes {brief(found)}"
        raise IngestError(f"{OPTION}: '{path}' has {what}, expected the number above 0 that `measure --samples` writes")
    return float(found)


def _found(data: Any) -> Any:
    for key in ("results", "sample_bytes", "value"):
        data = data.get(key) if isinstance(data, dict) else None
    return data
