"""What `ingest measure` wrote, read again: every number is checked, because the file may come from anywhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ingest.engine.result import SCHEMA
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, brief
from ingest.units import display, parse

#: said of a count that was interrupted
PARTIAL = "a part of the corpus only"
#: A result of `measure` with a hundred thousand skipped files is smaller.
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class MeasurementFile:
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
            *([PARTIAL] if self.data.get("partial") else []),
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


def read_measurement(path: Path, what: str) -> MeasurementFile:
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
    return MeasurementFile(path, what, data)


def _number(found: Any, place: str) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < float("inf"):
        raise IngestError(f"{place}: found {brief(found)}, expected a number above 0")
    return found


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
        found = read_measurement(Path(written), OPTION).needed("bytes_per_token")
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


SIZES_OPTION = "--sample-bytes"
#: A result of `measure --samples` with a hundred thousand skipped files is smaller.
MOST_SIZES_BYTES = 256 * 2**20
#: percentiles of single samples that the note tells: the mean is counted, so that they are not its range
NOTED_PERCENTILES = ("p5", "p95")


def sample_sizes_in(path: Path) -> dict[str, Input]:
    """Bytes of a sample, which is the mean, and samples in a file where that is known.

    Args:
        path: JSON file that `ingest measure --samples -o` wrote.

    Raises:
        UsageError: the file cannot be read.
        IngestError: it is not the result of `ingest measure --samples`.
    """
    try:
        if path.stat().st_size > MOST_SIZES_BYTES:
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
    told = [f"{name} {display(size, 'B', binary=False)}" for name in NOTED_PERCENTILES if _is_size(size := sizes.get(name))]
    return f"; of single samples {', '.join(told)}" if told else ""


def _is_size(found: Any) -> TypeGuard[float]:
    return isinstance(found, (int, float)) and not isinstance(found, bool) and 0 < found < float("inf")


def _found(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data
