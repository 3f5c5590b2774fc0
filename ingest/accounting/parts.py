"""Parts of a history that is read by several processes or machines, and what puts them together."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile

import numpy

from ingest.accounting.ledger import Group, Ledger
from ingest.accounting.sources import files_of
from ingest.errors import IngestError, UsageError
from ingest.files import read_bytes

FORMAT = 2
EXPECTED = "a part that `ingest site --part i/n -o FILE.npz` wrote"
_PART = re.compile(r"(\d{1,4})/(\d{1,4})")


def part_of(histories: Sequence[str | Path], part: str) -> tuple[list[Path], str]:
    """The files of one part, every n-th from the i-th on; and the hash of all names and sizes, by which parts belong together.

    Raises:
        UsageError: no such part, or fewer files than parts.
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


def part_bytes(ledger: Ledger, part: str, listing: str, accounts: bool) -> bytes:
    """The file of a part: what was read, before anything that needs the whole history."""
    about = {
        "format": FORMAT, "part": part, "listing": listing, "accounts": accounts, "local": ledger.local,
        "groups": [*ledger.groups], "removed": ledger.removed, "notes": ledger.notes, "kinds": ledger.kinds,
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


def read_parts(paths: Sequence[str | Path], accounts: bool) -> Ledger:
    """Put parts together.

    Raises:
        IngestError: one cannot be read, or is missing.
        UsageError: one is there twice, is of another history, or was read without the accounts that classes ask for.
    """
    whole, seen, listing = Ledger(), dict[str, str](), ""
    for path in files_of(paths):
        place = str(path)
        try:
            with numpy.load(io.BytesIO(read_bytes(path, EXPECTED)), allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
            about = json.loads(found["about"].tobytes())
            groups = [Group(*group) for group in about["groups"]]
            if about["format"] != FORMAT:
                raise ValueError
            listing = listing or about["listing"]
        except (ValueError, KeyError, OSError, EOFError, BadZipFile, TypeError):
            raise IngestError(f"{place}: no part of a history, expected {EXPECTED}") from None
        if about["part"] in seen:
            raise UsageError(f"--merge: part {about['part']} is there twice, expected each part once")
        if about["listing"] != listing:
            raise UsageError(f"--merge: {place} is a part of another history, or its files have changed since the other parts")
        if accounts and not about["accounts"]:
            raise UsageError(f"--merge: part {about['part']} was read without accounts, expected --classes with --part too")
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
