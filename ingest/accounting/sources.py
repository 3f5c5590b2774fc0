"""Files of a history: opened, decompressed and handed line by line to the reader of their kind."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from ingest.accounting import kubernetes, pbs, slurm, tables, transfers
from ingest.accounting.json_stream import objects_in
from ingest.accounting.ledger import UNREADABLE, Ledger
from ingest.errors import IngestError, UsageError, cannot_be_read, listed
from ingest.files import open_regular


def _zstd(file: IO[bytes]) -> IO[bytes]:
    import pyarrow

    return io.BufferedReader(pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd"), 2**20)


STANDARD_INPUT = "-"
#: The first bytes of a compressed file.
MAGIC: Mapping[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _zstd,
}
#: What decompressors raise for a damaged file.
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)
#: What reading an object raises that has a field of another type than the scheduler's.
MISTYPED = (AttributeError, LookupError, TypeError, ValueError)
#: Lines in which a file shows its kind, and letters of one.
FIRST_LINES, LONGEST_LINE = 40, 2**24
#: What a history is, for refusals.
EXPECTED = (
    "the output of `sacct -P` or `sacct --json`, PBS accounting records, the JSON of `kubectl get` pods, jobs or workloads, "
    "or a table with --columns"
)


class Asked(NamedTuple):
    """How a history is read: columns of a table by what each is, and whether classes ask for accounts."""

    columns: Mapping[str, str] = {}
    accounts: bool = False


def files_of(sources: Sequence[str | Path]) -> list[Path]:
    """The files of a history: those named, and all in the folders named.

    Raises:
        IngestError: one is not there, or a folder is empty.
    """
    found: list[Path] = []
    for source in map(Path, sources):
        if str(source) == STANDARD_INPUT:
            found.append(source)
        elif source.is_dir():
            inside = sorted(one for one in source.rglob("*") if one.is_file() and "/." not in f"/{one.relative_to(source)}")
            if not inside:
                raise IngestError(f"{source}: an empty folder, expected {EXPECTED}")
            found += inside
        elif source.exists():
            found.append(source)
        else:
            raise IngestError(cannot_be_read(source, "No such file or directory", EXPECTED))
    twice = [str(one) for one in found if found.count(one) > 1] if len(found) < 1000 else []
    if twice:
        raise UsageError(f"--from: {listed(dict.fromkeys(twice))} is named twice, expected each file once")
    return found


def read_histories(sources: Sequence[str | Path], asked: Asked) -> Ledger:
    """Read the files of a history in one pass.

    Raises:
        IngestError: no allocation in any of them, or one that cannot be read or is of no known kind.
    """
    ledger = Ledger()
    for path in files_of(sources):
        if path.suffix == ".darshan":
            transfers.read_darshan(path, ledger)
            continue
        place = "standard input" if str(path) == STANDARD_INPUT else str(path)
        with _opened(path, place) as lines:
            try:
                _read(lines, place, ledger, asked)
            except DAMAGED as error:
                raise IngestError(f"{place}: damaged or cut short ({type(error).__name__}), expected a whole file") from None
    if not (ledger.columns["key"] or ledger.removed or ledger.waiting):
        raise IngestError(f"--from: no allocation in {sum(ledger.kinds.values()):,} files, expected {EXPECTED}")
    return ledger


@contextmanager
def _opened(path: Path, place: str) -> Iterator[Iterator[str]]:
    """The lines of a file, decompressed."""
    try:
        raw: IO[bytes] = sys.stdin.buffer if place == "standard input" else open_regular(path)
    except OSError as error:
        raise IngestError(cannot_be_read(place, error.strerror, EXPECTED)) from None
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]
    try:
        head = buffered.peek(8)
        unpack = next((unpack for magic, unpack in MAGIC.items() if head.startswith(magic)), None)
        yield _lines(buffered if unpack is None else unpack(buffered))
    finally:
        if raw is not sys.stdin.buffer:
            raw.close()


def _lines(file: IO[bytes]) -> Iterator[str]:
    """The lines of a text; what is not UTF-8 stands only in names."""
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline=None)
    try:
        yield from text
    finally:
        if not file.closed:  # a refusal leaves the lines unread, and closes the file before them
            text.detach()


def _read(lines: Iterator[str], place: str, ledger: Ledger, asked: Asked) -> None:
    """Hand the lines of a file to the reader of its kind.

    Raises:
        IngestError: it is of none.
    """
    first = [*islice(lines, FIRST_LINES)]
    if any("\0" in line or len(line) > LONGEST_LINE for line in first):
        raise IngestError(f"{place}: not a text, expected {EXPECTED}")
    line = next((line for line in first if line.strip()), "")
    whole = chain(first, lines)
    if asked.columns:
        ledger.kinds["table"] += 1
        tables.read_table(whole, place, ledger, asked.columns, asked.accounts)
    elif line.lstrip().startswith(("{", "[")):
        _read_json(whole, place, ledger, asked)
    elif slurm.delimiter_of(line):
        ledger.kinds["sacct"] += 1
        next(one for one in whole if one == line)
        slurm.read_rows(whole, line, place, ledger, asked.accounts)
    elif pbs.is_record(line):
        ledger.kinds["PBS accounting"] += 1
        pbs.read_records(whole, ledger, asked.accounts)
    elif tables.is_pod_list(line):
        ledger.kinds["pod list"] += 1
        tables.read_pod_list(whole, ledger)
    elif transfers.is_jobstats(line):
        ledger.kinds["jobstats"] += 1
        transfers.read_jobstats(whole, place, ledger)
    elif not line:
        raise IngestError(f"{place}: an empty file, expected {EXPECTED}")
    else:
        raise IngestError(f"{place}: none of the histories that are read, expected {EXPECTED}")


def _read_json(lines: Iterable[str], place: str, ledger: Ledger, asked: Asked) -> None:
    """Read the objects of a JSON document one by one.

    Raises:
        IngestError: it is cut short, or none of the objects is of a job.
    """
    counted = 0
    for one in objects_in(lines, place):
        counted += 1
        kind = ""
        try:
            kind = _kind_of(one)
            if not kind:
                raise IngestError(f"{place}: object {counted:,} is no job, pod or workload, expected {EXPECTED}")
            if kind == "sacct JSON":
                slurm.read_object(one, ledger, asked.accounts)
            else:
                kubernetes.read_object(one, ledger)
        except MISTYPED:
            ledger.leave_out(UNREADABLE)
        if counted == 1:
            ledger.kinds[kind or "JSON"] += 1
    if not counted:
        ledger.kinds["empty list"] += 1


def _kind_of(one: Mapping[str, Any]) -> str:
    """The kind of an object; empty for one of no kind that is read."""
    if "job_id" in one and isinstance(one.get("time"), Mapping):
        return "sacct JSON"
    return "Kubernetes" if kubernetes.is_object(one) else ""
