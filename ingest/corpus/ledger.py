"""The ledger of `--resume`: a line per finished shard, so that a run that dies is taken up where it was.

Lines are JSON, only ever appended, and on disk before the shard counts as done. What a crash tore off at the end is cut
away. A header says which corpus, vocabulary and options the lines belong to; a ledger of others is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ingest.corpus.shards import Counted
from ingest.corpus.terms import Skipped, Tally
from ingest.errors import IngestError, UsageError

FORM = "ingest-ledger/2"
#: what the header holds -> what it is to people
IDENTITY = {
    "manifest": "another corpus, or its files have changed",
    "vocabulary": "another tokenizer",
    "options": "other options",
    "version": "another version of ingest",
}


class Ledger:
    """An open ledger; no other run can have it open at the same time.

    Args:
        path: the file; it is made where it is not there.
        identity: `manifest`, `vocabulary`, `options` and `version` of this run.

    Raises:
        IngestError: it cannot be opened, is in use, is no ledger, or belongs to something else.
    """

    def __init__(self, path: str | Path, identity: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.done: dict[int, Counted] = {}
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"--resume: '{self.path}' is no regular file, expected one, or a name that is free")
        try:
            self.file: BinaryIO = open(self.path, "a+b")  # noqa: SIM115  it stays open as long as the run
        except OSError as error:
            raise UsageError(f"--resume: '{self.path}' cannot be opened: {error.strerror}") from None
        try:
            _lock(self.file, self.path)
            self._take_up(dict(identity))
        except BaseException:
            self.file.close()
            raise

    def _take_up(self, identity: dict[str, Any]) -> None:
        """Read what is there, cut off what a crash left half-written, and write a header where there is none."""
        self.file.seek(0)
        whole = 0
        for number, line in enumerate(self.file, start=1):
            if not line.endswith(b"\n"):
                break
            self._read_line(number, line, identity)
            whole += len(line)
        self.file.truncate(whole)
        if whole == 0:
            self._append({"ledger": FORM, **identity})
        self._append({"run": os.getpid(), "taken_up": len(self.done)})

    def _read_line(self, number: int, line: bytes, identity: dict[str, Any]) -> None:
        try:
            entry = json.loads(line)
            if number == 1:
                self._check(entry, identity)
            elif "shard" in entry:
                counted = _counted(entry)
                self.done[counted.number] = counted
        except (ValueError, KeyError, TypeError, AttributeError):
            expected = "the header of a ledger" if number == 1 else "a shard"
            raise IngestError(
                f"--resume: '{self.path}' line {number} is damaged, expected {expected}; take a new file"
            ) from None

    def _check(self, entry: dict[str, Any], identity: dict[str, Any]) -> None:
        if entry.get("ledger") != FORM:
            raise IngestError(
                f"--resume: '{self.path}' is no ledger of ingest measure, expected one, or a file that is not there"
            )
        for name, reason in IDENTITY.items():
            if entry.get(name) != identity[name]:
                found = f"(found {entry.get(name)}, expected {identity[name]})"
                raise IngestError(
                    f"--resume: '{self.path}' belongs to {reason} {found}; take a new file, or what it was made for"
                )

    def started(self, number: int) -> None:
        """Say that a shard is about to be read; this line may be lost."""
        self._write({"started": number})

    def finished(self, counted: Counted) -> None:
        """Keep a shard; when this returns it is on disk."""
        self.done[counted.number] = counted
        self._append(_entry(counted))

    def _write(self, entry: Mapping[str, Any]) -> None:
        try:
            self.file.write(json.dumps(entry, separators=(",", ":")).encode("ascii") + b"\n")
            self.file.flush()
        except OSError as error:
            raise IngestError(f"--resume: '{self.path}' cannot be written: {error.strerror}") from None

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._write(entry)
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """Close it; another run may open it."""
        self.file.close()


def _entry(counted: Counted) -> dict[str, Any]:
    return {
        "shard": counted.number,
        "total": counted.total,
        "folders": counted.folders,
        "extensions": counted.extensions,
        "skipped": counted.skipped,
        "parts": counted.parts,
    }


def _counted(entry: dict[str, Any]) -> Counted:
    folders, extensions = ({name: _tally(row) for name, row in entry[key].items()} for key in ("folders", "extensions"))
    skipped, parts = (tuple(map(_left_out, entry[key])) for key in ("skipped", "parts"))
    return Counted(int(entry["shard"]), _tally(entry["total"]), folders, extensions, skipped, parts)


def _left_out(row: list[Any]) -> Skipped:
    path, reason, number = row
    return Skipped(str(path), str(reason), int(number))


def _tally(row: list[Any]) -> Tally:
    if len(row) != len(Tally._fields) or not all(type(value) is int and value >= 0 for value in row):
        raise ValueError(row)
    return Tally(*row)


def _lock(file: BinaryIO, path: Path) -> None:
    """Take the file for this run; the lock goes with the process, however that ends."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise IngestError(f"--resume: '{path}' is in use by another run, expected a ledger of its own for each") from None
