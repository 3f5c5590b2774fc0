"""`--sample-bytes FILE.json`: the samples that `ingest measure --samples` found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeGuard

from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, brief
from ingest.units import display

OPTION = "--sample-bytes"
#: A result of `measure --samples` with a hundred thousand skipped files is smaller.
MOST_BYTES = 256 * 2**20
#: percentiles of single samples that the note tells: the mean is counted, so that they are not its range
TOLD = ("p5", "p95")


def sample_sizes_in(path: Path) -> dict[str, Input]:
    """Bytes of a sample, which is the mean, and samples in a file where that is known.

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
    found = _found(data, "results", "sample_bytes", "value")
    if not _is_size(found):
        what = "no results.sample_bytes" if found is None else f"results.sample_bytes {brief(found)}"
        raise IngestError(f"{OPTION}: '{path}' has {what}, expected the number above 0 that `measure --samples` writes")
    in_file = _found(data, "results", "samples_per_file", "value")
    mean = Input(float(found), origin="user", note=f"mean of {path.name}{_spread(data)}")
    return {"sample_bytes": mean} | (
        {"samples_per_file": Input(in_file, origin="user", note=f"mean of {path.name}")} if _is_size(in_file) else {}
    )


def _spread(data: Any) -> str:
    """How single samples lie about the mean, in words; nothing where the file does not say."""
    rows = _found(data, "tables", "sample_sizes")
    sizes = {row.get("size"): row.get("bytes") for row in rows if isinstance(row, dict)} if isinstance(rows, list) else {}
    told = [f"{name} {display(size, 'B', binary=False)}" for name in TOLD if _is_size(size := sizes.get(name))]
    return f"; of single samples {', '.join(told)}" if told else ""


def _is_size(found: Any) -> TypeGuard[float]:
    return isinstance(found, (int, float)) and not isinstance(found, bool) and 0 < found < float("inf")


def _found(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data
