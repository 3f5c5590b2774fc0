"""Files of a history: opened, decompressed and handed line by line, or object by object, to the reader of their kind."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import BadZipFile

import numpy

from ingest.accounting import readers
from ingest.accounting.ledger import UNREADABLE, WORDS, Group, Ledger, delimiter_of, read_object, read_rows
from ingest.corpus.formats.rows import BrokenJson, JsonReader
from ingest.errors import IngestError, UsageError, cannot_be_read, listed
from ingest.files import open_regular, read_bytes

#: The lists whose entries are objects of a history.
LISTS = ("jobs", "items")
#: What stands between values: commas are not looked for.
BETWEEN = " \t\r\n,"
#: Letters that one object may have.
LONGEST_OBJECT = 2**25
#: Letters that are read between two attempts to take objects.
LONGEST_CHUNK = 2**18


def objects_in(lines: Iterable[str], place: str) -> Iterator[Mapping[str, Any]]:
    """The objects of documents that follow each other: entries of a list, of `jobs` or `items` of an object, or objects.

    Raises IngestError: one is cut short or no JSON.
    """

    def entries() -> Iterator[Mapping[str, Any]]:
        text.position += 1
        while text.skip(BETWEEN) != "]":
            if not isinstance(one := text.value(), Mapping):
                raise IngestError(f"{place}: an entry of the list is no object, expected jobs, pods or workloads")
            yield one
        text.position += 1

    chunks = _chunks(lines)
    text = JsonReader(lambda _: next(filter(None, chunks), ""), LONGEST_OBJECT, json.JSONDecoder())
    try:
        while (first := text.skip(BETWEEN)) not in ("", "]"):
            if first == "[":
                yield from entries()
            elif first != "{":
                raise IngestError(f"{place}: JSON of another kind, expected an object or a list of objects")
            else:
                own, listed = dict[str, Any](), False
                text.position += 1
                while text.skip(BETWEEN) != "}":
                    name = text.value()
                    if text.skip(BETWEEN) != ":":
                        raise BrokenJson(name)
                    text.position += 1
                    if name in LISTS and text.skip(BETWEEN) == "[":
                        listed = True
                        yield from entries()
                    else:
                        own[name] = text.value(BETWEEN)
                text.position += 1
                if not listed:
                    yield own
    except BrokenJson:
        raise IngestError(f"{place}: no whole JSON, expected an object or a list of objects") from None


def _chunks(lines: Iterable[str]) -> Iterator[str]:
    """Lines joined to longer texts."""
    parts: list[str] = []
    size = 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size > LONGEST_CHUNK:
            yield "".join(parts)
            parts, size = [], 0
    yield "".join(parts)


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
#: What decompressors raise for a damaged file, and tables whose quotation marks do not end.
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, csv.Error)
#: What reading an object raises that has a field of another type than the scheduler's.
MISTYPED = (AttributeError, LookupError, TypeError, ValueError)
#: Lines in which a file shows its kind, and letters of one.
FIRST_LINES, LONGEST_LINE = 40, 2**24
#: What a history is, for refusals.
EXPECTED = (
    "the output of `sacct -P` or `sacct --json`, PBS accounting records, the JSON of `kubectl get` pods, jobs or workloads, "
    "or a table with --columns"
)


#: What looks like a history and is none that is read, by how its first line begins.
UNREAD: Mapping[str, str] = WORDS["unread"]


class Asked(NamedTuple):
    """How a history is read: columns of a table by what each is, and whether classes ask for accounts."""

    columns: Mapping[str, str] = {}
    accounts: bool = False


def files_of(sources: Sequence[str | Path]) -> list[Path]:
    """The files of a history: those named, and all in the folders named.

    Raises IngestError: one is not there, or a folder is empty.
    """
    if not sources:
        raise UsageError("--from: no history, expected files or folders of the scheduler's records")
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

    Raises IngestError: no allocation in any of them, or one that cannot be read or is of no known kind.
    """
    ledger = Ledger()
    for path in files_of(sources):
        if path.suffix == ".darshan":
            readers.read_darshan(path, ledger)
            continue
        place = "standard input" if str(path) == STANDARD_INPUT else str(path)
        first = len(ledger.columns["key"])
        with _opened(path, place) as lines:
            try:
                _read(lines, place, ledger, asked)
            except DAMAGED as error:
                raise IngestError(f"{place}: damaged or cut short ({type(error).__name__}), expected a whole file") from None
        ledger.close(first)
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
        yield from iter(partial(text.readline, LONGEST_LINE), "")
    finally:
        if not file.closed:  # a refusal leaves the lines unread, and closes the file before them
            text.detach()


def _read(lines: Iterator[str], place: str, ledger: Ledger, asked: Asked) -> None:
    """Hand the lines of a file to the reader of its kind. Raises IngestError: it is of none."""
    first = [*islice(lines, FIRST_LINES)]
    line = next((line for line in first if line.strip()), "")
    objects = not asked.columns and line.lstrip().startswith(("{", "["))
    if any("\0" in line or (len(line) == LONGEST_LINE and not objects) for line in first):
        raise IngestError(f"{place}: not a text, expected {EXPECTED}")
    whole = chain(first, lines)
    if asked.columns:
        ledger.kinds["table"] += 1
        readers.read_table(whole, place, ledger, asked.columns, asked.accounts)
    elif objects:
        _read_json(whole, place, ledger, asked)
    elif delimiter_of(line):
        ledger.kinds["sacct"] += 1
        next(one for one in whole if one == line)
        read_rows(whole, line, place, ledger, asked.accounts)
    elif readers.RECORD.match(line):
        ledger.kinds["PBS accounting"] += 1
        readers.read_records(whole, ledger, asked.accounts)
    elif {*readers.POD_LIST} <= {*line.strip().split(",")}:
        ledger.kinds["pod list"] += 1
        readers.read_pod_list(whole, ledger)
    elif line.strip().startswith("job_stats:") or ".job_stats=" in line:
        ledger.kinds["jobstats"] += 1
        readers.read_jobstats(whole, place, ledger)
    elif not line:
        raise IngestError(f"{place}: an empty file, expected {EXPECTED}")
    else:
        kind = next((said for begin, said in UNREAD.items() if re.match(begin, line)), "none of the histories that are read")
        raise IngestError(f"{place}: {kind}, expected {EXPECTED}")


def _read_json(lines: Iterable[str], place: str, ledger: Ledger, asked: Asked) -> None:
    """Read the objects of a JSON document one by one.

    Raises IngestError: it is cut short, or none of the objects is of a job.
    """
    kinds = set[str]()
    for number, one in enumerate(objects_in(lines, place), 1):
        try:
            if "job_id" in one and isinstance(one.get("time"), Mapping):
                kinds.add("sacct JSON")
                read_object(one, ledger, asked.accounts)
            elif one.get("kind") in readers.KINDS or ("containers" in (one.get("spec") or readers.NO_DATA) and "status" in one):
                kinds.add(f"Kubernetes {one.get('kind') or 'Pod'}")
                readers.read_manifest(one, ledger)
            else:
                raise IngestError(f"{place}: object {number:,} is no job, pod or workload, expected {EXPECTED}")
        except MISTYPED:
            ledger.leave_out(UNREADABLE)
    ledger.kinds.update(kinds or {"empty list"})


FORMAT = 3
A_PART = "a part that `ingest site --part i/n -o FILE.npz` wrote"
_PART = re.compile(r"(\d{1,4})/(\d{1,4})")


def part_of(histories: Sequence[str | Path], part: str) -> tuple[list[Path], str]:
    """The files of one part, every n-th from the i-th on; and the hash of all names and sizes, by which parts belong together.

    Raises UsageError: no such part, or fewer files than parts.
    """
    found = _PART.fullmatch(part)
    number, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise UsageError(f"--part: found '{part}', expected such as 2/8")
    files = files_of(histories)
    if len(files) < count:
        raise UsageError(f"--part: found {len(files)} files, expected at least one for each of {count} parts")
    listing = [(one.name, one.stat().st_size if one.is_file() else 0) for one in files]
    return files[number - 1 :: count], sha256(json.dumps(listing).encode()).hexdigest()


def part_bytes(ledger: Ledger, part: str, listing: str, asked: Mapping[str, bool]) -> bytes:
    """The file of a part: what was read, before anything that needs the whole history."""
    groups = [one if asked["partitions"] else one._replace(partition="") for one in ledger.groups]
    about = {
        "format": FORMAT, "part": part, "listing": listing, **asked, "local": ledger.local, "groups": groups,
        "removed": ledger.removed, "notes": ledger.notes, "kinds": ledger.kinds,
    }  # fmt: skip
    arrays = {
        **{f"run_{name}": numpy.frombuffer(column, column.typecode) for name, column in ledger.columns.items()},
        **{f"step_{name}": numpy.frombuffer(column, column.typecode) for name, column in ledger.steps.items()},
        "known": numpy.frombuffer(ledger.known, "Q"),
        "waiting": numpy.frombuffer(ledger.waiting, "Q"),
        "moved_keys": numpy.array([*ledger.transfers], "Q").reshape(-1, 2),
        "moved_bytes": numpy.array([*ledger.transfers.values()]).reshape(-1, 2),
    }
    buffer = io.BytesIO()
    numpy.savez_compressed(buffer, allow_pickle=False, about=numpy.frombuffer(json.dumps(about).encode(), "u1"), **arrays)
    return buffer.getvalue()


def read_parts(paths: Sequence[str | Path], asked: Mapping[str, bool]) -> Ledger:
    """Put parts together.

    Raises:
        IngestError: one cannot be read, or is missing.
        UsageError: one is there twice, is of another history, or was read without the names that classes ask for.
    """
    whole, seen, listing = Ledger(), dict[str, str](), ""
    for path in files_of(paths):
        place = str(path)
        try:
            with numpy.load(io.BytesIO(read_bytes(path, A_PART)), allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
            about = json.loads(found["about"].tobytes())
            groups = [Group(*group) for group in about["groups"]]
            if about["format"] != FORMAT:
                raise ValueError
            listing = listing or about["listing"]
        except (ValueError, KeyError, OSError, EOFError, BadZipFile, TypeError):
            raise IngestError(f"{place}: no part of a history, expected {A_PART}") from None
        if about["part"] in seen:
            raise UsageError(f"--merge: part {about['part']} is there twice, expected each part once")
        if about["listing"] != listing:
            raise UsageError(f"--merge: {place} is a part of another history, or its files have changed since the other parts")
        for names in (name for name, needed in asked.items() if needed and not about[name]):
            raise UsageError(f"--merge: part {about['part']} was read without {names}, expected --classes with --part too")
        seen[about["part"]] = place
        _append(whole, found, groups)
        whole.local |= bool(about["local"])
        for name in ("removed", "notes", "kinds"):
            getattr(whole, name).update(Counter(about[name]))
    counts = {part.partition("/")[2] for part in seen}
    if len(counts) != 1:
        raise UsageError("--merge: found parts of different divisions, expected those of one")
    missing = [
        f"{number}/{count}" for count in counts for number in range(1, int(count) + 1) if f"{number}/{count}" not in seen
    ]
    if missing:
        raise IngestError(f"--merge: part {missing[0]} is missing, expected all {len(seen) + len(missing)} parts")
    return whole


def _append(whole: Ledger, found: dict[str, numpy.ndarray], groups: Sequence[Group]) -> None:
    numbers = numpy.array([whole.group(group) for group in groups] or [0], "i")
    found["run_group"] = numbers[found["run_group"]]
    for kind, columns in (("run", whole.columns), ("step", whole.steps)):
        for name, column in columns.items():
            column.frombytes(found[f"{kind}_{name}"].astype(column.typecode).tobytes())
    for name in ("known", "waiting"):
        getattr(whole, name).frombytes(found[name].tobytes())
    for key, moved in zip(found["moved_keys"].tolist(), found["moved_bytes"].tolist(), strict=True):
        whole.moved(key[0], key[1], *moved)
