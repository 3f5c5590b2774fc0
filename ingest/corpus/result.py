"""What `ingest measure` wrote, read again: every number is checked, because the file may come from anywhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.engine.result import SCHEMA
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, brief

#: said of a count that was interrupted
PART = "a part of the corpus only"
#: A result of `measure` with a hundred thousand skipped files is smaller.
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Result:
    """A measured corpus.

    Attributes:
        path: the file.
        what: how the user named it, for messages.
        data: the JSON object.
    """

    path: Path
    what: str
    data: dict[str, Any]

    def quantity(self, name: str) -> Input | None:
        """A result with its interval; None where it was not measured.

        Raises:
            IngestError: no number above 0, or an interval that does not hold the value.
        """
        found = self.data["results"].get(name)
        if found is None:
            return None
        place = f"{self.what}: '{self.path}': results.{name}"
        if not isinstance(found, dict) or found.get("value") is None:
            raise IngestError(f"{place}: found {brief(found)}, expected a value")
        value, low, high = (_number(found.get(part), f"{place}.{part}") for part in ("value", "low", "high"))
        assert value is not None
        if not (low or value) <= value <= (high or value):
            raise IngestError(f"{place}: found {brief(found)}, expected low ≤ value ≤ high")
        return Input(value, low, high, "measured", grade="measured", note=self.note)

    def needed(self, name: str) -> Input:
        """A result that must be there.

        Raises:
            IngestError: it was not measured.
        """
        found = self.quantity(name)
        if found is None:
            raise IngestError(
                f"{self.what}: '{self.path}' has no results.{name}: nothing was found, or `--samples` was measured"
            )
        return found

    @property
    def note(self) -> str:
        """With what it was measured, when, how surely, and what was left out."""
        design, skipped = self.data.get("design"), self.data["results"].get("files_skipped")
        how = design.get("design") if isinstance(design, dict) else None
        count = skipped.get("value") if isinstance(skipped, dict) else None
        parts = [
            f"{self.path.name}: {how or 'measured'} with {self._tokenizer.get('name') or 'a tokenizer not said'}",
            str(self.data.get("date") or "no date"),
            *([PART] if self.data.get("partial") else []),
            *([f"{count:,.0f} of its files could not be read"] if isinstance(count, (int, float)) and count > 0 else []),
        ]
        return ", ".join(parts)

    @property
    def vocabulary(self) -> float | None:
        """Ids of the tokenizer."""
        return _number(self._tokenizer.get("size"), f"{self.what}: '{self.path}': tokenizer.size")

    @property
    def _tokenizer(self) -> dict[str, Any]:
        found = self.data.get("tokenizer")
        return found if isinstance(found, dict) else {}


def read_result(path: Path, what: str) -> Result:
    """Read what `ingest measure -o` wrote.

    Args:
        path: the JSON file.
        what: the option or key that named it, for messages.

    Raises:
        UsageError: there is no such file.
        IngestError: unreadable, too large, no JSON, or another result.
    """
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise IngestError(
                f"{what}: '{path}' is larger than {MOST_BYTES // 2**20} MiB, expected a result of `ingest measure`"
            )
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{what}: there is no file '{path}', expected a number or the JSON of `ingest measure`") from None
    except OSError as error:
        raise IngestError(f"{what}: '{path}' cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise IngestError(f"{what}: '{path}' is no JSON, expected what `ingest measure -o {path.name}` writes") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.get("command") != "measure":
        found = f"command {brief(data['command'])}" if isinstance(data, dict) and "command" in data else "another form"
        raise IngestError(f"{what}: '{path}' holds {found}, expected the JSON of `ingest measure`, schema {SCHEMA}")
    if not isinstance(data.get("results"), dict):
        raise IngestError(f"{what}: '{path}' has results {brief(data.get('results'))}, expected a table of quantities")
    return Result(path, what, data)


def _number(found: Any, place: str) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < float("inf"):
        raise IngestError(f"{place}: found {brief(found)}, expected a number above 0")
    return found
