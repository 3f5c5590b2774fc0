"""`--bytes-per-token`: a number, or the JSON file that `ingest measure` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ingest.errors import IngestError, UsageError, brief
from ingest.ladder import Given
from ingest.units import parse

OPTION = "--bytes-per-token"
#: No token stands for more text than this.
MOST_RATIO = 1e6
#: A result of `measure` with a hundred thousand skipped files is smaller.
MOST_BYTES = 256 * 2**20


def bytes_per_token_of(written: str | float | Path) -> Given:
    """The bytes of text that one token stands for, and how that is known.

    Args:
        written: a number, or the path of a JSON file that `ingest measure` wrote.

    >>> bytes_per_token_of("3.27").value
    3.27

    Raises:
        UsageError: neither a number above 0 nor a file.
        IngestError: a file that is not the result of `ingest measure`.
    """
    if isinstance(written, Path) or (isinstance(written, str) and _is_path(written)):
        return _from_file(Path(written))
    found = parse(written, "B/token", OPTION)
    if not 0 < found < MOST_RATIO:
        raise UsageError(f"{OPTION}: found {written}, expected a number above 0 (B/token), such as 3.3, or a JSON file")
    return Given(float(found), origin="user")


def _is_path(written: str) -> bool:
    return written.endswith(".json") or "/" in written.replace("/token", "") or Path(written).is_file()


def _from_file(path: Path) -> Given:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise IngestError(
                f"{OPTION}: '{path}' is larger than {MOST_BYTES // 2**20} MiB, expected a result of ingest measure"
            )
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{OPTION}: '{path}' cannot be read: {error.strerror}; expected a number or a JSON file") from None
    except (ValueError, RecursionError):
        raise IngestError(f"{OPTION}: '{path}' is no JSON, expected what `ingest measure -o {path.name}` writes") from None
    return _from_result(data, path)


def _from_result(data: Any, path: Path) -> Given:
    if not isinstance(data, dict) or data.get("schema") != "ingest/1" or data.get("command") != "measure":
        found = f"command {brief(data['command'])}" if isinstance(data, dict) and "command" in data else "another form"
        raise IngestError(f"{OPTION}: '{path}' holds {found}, expected the JSON of `ingest measure`, schema ingest/1")
    result = data.get("results", {}).get("bytes_per_token") if isinstance(data.get("results"), dict) else None
    if not isinstance(result, dict):
        raise IngestError(
            f"{OPTION}: '{path}' has no results.bytes_per_token: found no token, or it was measured with --samples"
        )
    value, low, high = (_number(result.get(key), key, path) for key in ("value", "low", "high"))
    if value is None or not (low or value) <= value <= (high or value):
        raise IngestError(f"{OPTION}: '{path}' has results.bytes_per_token {brief(result)}, expected low ≤ value ≤ high")
    return Given(value, low, high, "user", note=_note(data, path))


def _number(found: Any, key: str, path: Path) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < MOST_RATIO:
        where = f"results.bytes_per_token.{key}"
        raise IngestError(f"{OPTION}: '{path}' has {where} {brief(found)}, expected a number above 0 (B/token)")
    return float(found)


def _note(data: dict[str, Any], path: Path) -> str:
    """With what it was measured, when, and how surely."""
    used = data.get("tokenizer")
    name = used.get("name") if isinstance(used, dict) else None
    design = data.get("design")
    how = design.get("design") if isinstance(design, dict) else None
    partial = ", a part of the corpus only" if data.get("partial") else ""
    return f"{path.name}: {how or 'measured'} with {name or 'a tokenizer not said'}, {data.get('date') or 'no date'}{partial}"
