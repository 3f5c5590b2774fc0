"""Tables: any CSV whose columns the user names once, and the public pod list of Alibaba."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, islice

from ingest.accounting import ledger as records
from ingest.accounting.ledger import (
    CODE_OF,
    CODES,
    DAY,
    NAN,
    NO_TIME,
    PARTS,
    TRES,
    UNKNOWN,
    Group,
    Ledger,
    account_of,
    digest,
    elapsed_of,
    key_of,
    read_rows,
    seconds_of,
)
from ingest.errors import IngestError, UsageError, expected_one_of

#: What a column of a table may be.
ROLES = ("id", "start", "end", "duration", "gpus", "nodes", "gpu", "partition", "account", "cluster", "state", "read",
         "written")  # fmt: skip
#: Codes of states as tables write them.
STATES = {word.lower(): code for word, code in CODE_OF.items()}
#: Words in the name of a column that say something else than what is read as it: seconds since 1970, seconds, GPUs, bytes.
_FRACTIONS, _SIZES = "ms msec millis milliseconds us micros ns nanos", "kb kib mb mib gb gib tb tib pb gbit rate bandwidth ops"
ELSEWISE = {
    "start": _FRACTIONS, "end": _FRACTIONS, "duration": f"{_FRACTIONS} min mins minute minutes m h hr hrs hour hours day days",
    "gpus": "milli percent pct util utilization node task hours seconds mem memory", "read": _SIZES, "written": _SIZES,
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: Days since 1900, as spreadsheets count them, from 1990 to 2099.
SPREADSHEET = (32_874, 73_050)
_ZONE = re.compile(r"\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)")
#: Thousandths of a GPU.
THOUSAND = 1000
#: Rows in which a column of GPUs shows whether it holds numbers or what Slurm allocates, such as `gres/gpu=8,node=1`.
LOOKED_AT = 40
#: What `sacct` calls a column; it calls the others as they are called here.
SACCT = {"id": "jobidraw", "duration": "elapsed", "gpus": "alloctres", "nodes": "nnodes", "read": "tresusageintot",
         "written": "tresusageouttot"}  # fmt: skip


def columns_of(text: str | Mapping[str, str] | None) -> dict[str, str]:
    """The columns of a table by what each is, from `start=began,end=ended,gpus=devices`.

    Raises UsageError: another role, one twice, or too few of them.
    """
    if not text:
        return {}
    pairs = [*text.items()] if isinstance(text, Mapping) else [part.partition("=")[::2] for part in text.split(",")]
    found: dict[str, str] = {}
    for role, name in pairs:
        if role.strip() not in ROLES or not name.strip():
            raise UsageError(
                f"--columns: found '{role.strip()}={name.strip()}', {expected_one_of(role.strip(), ROLES)} with a column"
            )
        if role.strip() in found:
            raise UsageError(f"--columns: found {role.strip()} twice, expected each once")
        found[role.strip()] = name.strip()
    for needed in (("start",), ("end", "duration"), ("gpus", "nodes")):
        if not found.keys() & {*needed}:
            raise UsageError(f"--columns: no {' or '.join(needed)}, expected such as start=began,end=ended,gpus=devices")
    return found


def read_table(lines: Iterable[str], place: str, ledger: Ledger, columns: Mapping[str, str], accounts: bool) -> None:
    """Read a table with a header; names of columns, or their numbers from 1 on where it has none, as `sacct -n` writes it.

    Raises IngestError: a column is missing.
    """
    lines = iter(lines)
    first = next((line for line in lines if line.strip()), "")
    mark = max("|\t;,", key=first.count)
    header = next(csv.reader([first], delimiter=mark), [])
    # `|` parts columns of texts that are written as they are.
    cells = partial(csv.reader, delimiter=mark, quoting=csv.QUOTE_NONE if mark == "|" else csv.QUOTE_MINIMAL, strict=True)
    names = [name.strip() for name in header]
    numbered = all(name.isdigit() for name in columns.values())
    at: dict[str, int] = {}
    for role, name in columns.items():
        if numbered and 0 < int(name) <= len(names):
            at[role] = int(name) - 1
        elif name in names:
            at[role] = names.index(name)
        else:
            raise IngestError(f"{place}: no column '{name}' for {role}, expected one of its {len(names)} columns")
        words = {*map(str.lower, _WORDS.findall(name)), *_WORDS.findall(name.lower())}
        if word := min(words & {*ELSEWISE.get(role, "").split()}, default=""):
            raise IngestError(f"{place}: column '{name}' has '{word}' in its name, expected seconds, GPUs of a run, or bytes")
    rows = chain([first] if numbered else [], lines)
    ahead = [*islice(rows, LOOKED_AT)]
    rows = chain(ahead, rows)
    shown = {
        role: [row[at[role]].strip() for row in csv.reader(ahead, delimiter=mark) if role in at and len(row) > at[role]]
        for role in ("start", "gpus")
    }
    if shown["start"] and all(map(DAY.fullmatch, shown["start"])):
        raise IngestError(f"{place}: start has days alone, expected times of day or seconds")
    numbers = [float(one) for one in shown["start"] if one.replace(".", "", 1).isdigit()]
    if any(one % 1 for one in numbers) and all(SPREADSHEET[0] <= one <= SPREADSHEET[1] for one in numbers):
        raise IngestError(f"{place}: start has days as a spreadsheet counts them, expected times of day or seconds")
    if any(map(TRES.search, shown["gpus"])):
        written = {place: SACCT.get(role, role) for role, place in at.items()}
        read_rows(rows, mark.join(written.get(place, "-") for place in range(len(names))), place, ledger, accounts)
        return
    ledger.local |= not all(map(_zoned, shown["start"]))
    days: dict[str, int] = {}
    width = len(names)
    for row in cells(rows):
        if row and (len(row) < width or any(row[width:]) or not _add_row(row, at, ledger, accounts, days)):
            ledger.leave_out(records.UNREADABLE)


def _add_row(row: Sequence[str], at: Mapping[str, int], ledger: Ledger, accounts: bool, days: dict[str, int]) -> bool:
    """Add a row; returns whether it could be read."""
    cell = {role: row[place].strip() for role, place in at.items()}
    try:
        start, end = (_time(cell.get(name, ""), days) for name in ("start", "end"))
        if (
            UNKNOWN not in (start, end)
            and len(cell["start"]) != len(cell["end"])
            and _zoned(cell["start"]) != _zoned(cell["end"])
        ):
            return False
        duration = elapsed_of(cell["duration"].partition(".")[0]) if cell.get("duration") else UNKNOWN
        if cell.get("duration") and duration == UNKNOWN:
            return False
        amounts = [round(float(cell[name]) * PARTS) if cell.get(name) else UNKNOWN for name in ("gpus", "nodes")]
        moved = [float(cell[name]) if cell.get(name) else NAN for name in ("read", "written")]
    except (ValueError, OverflowError):
        return False
    gpus, nodes = amounts[0], (amounts[1] // PARTS if amounts[1] != UNKNOWN else UNKNOWN)
    cluster = cell.get("cluster", "")
    key = key_of(cell["id"], cluster) if "id" in cell else digest("\0".join(row))
    usual = "Running" if end == duration == UNKNOWN else "Succeeded"
    state = STATES.get(cell.get("state", usual).partition(" ")[0].lower(), CODES["other"])
    if start == UNKNOWN:
        ledger.leave_out(records.NEVER_STARTED, key)
    elif ("gpus" in cell and gpus == UNKNOWN) or min(amounts) < UNKNOWN:
        ledger.leave_out(records.NO_GPUS, key)
    elif end == duration == UNKNOWN and "state" in cell and state != CODES["running"]:
        ledger.leave_out(records.NO_END, key)
    else:
        account = account_of(cell["account"]) if accounts and "account" in cell else ""
        group = Group(cluster, cell.get("gpu", ""), cell.get("partition", ""), account)
        ledger.add(key, start, end, duration, max(gpus, 0), nodes, ledger.group(group), state, *moved)
    return True


def _zoned(text: str) -> bool:
    """Whether a time is of a zone, as seconds since 1970 are."""
    return text.replace(".", "", 1).isdigit() or _ZONE.search(text) is not None


def _time(text: str, days: dict[str, int]) -> int:
    """A time, or seconds with a fraction."""
    if text in NO_TIME:
        return UNKNOWN
    try:
        return int(float(text))
    except ValueError:
        return seconds_of(text.replace(" ", "T"), days)


#: The header of Alibaba's pod list (cluster-trace-gpu-v2023) has these names.
POD_LIST = ("name", "num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time")


def read_pod_list(lines: Iterable[str], ledger: Ledger) -> None:
    """Read Alibaba's pod list: seconds since its beginning; a pod of one GPU may ask for thousandths of it."""
    for row in csv.DictReader(lines, strict=True):
        try:
            count, milli = int(row["num_gpu"]), int(row["gpu_milli"])
            start = int(row["scheduled_time"]) if row["scheduled_time"] else UNKNOWN
            end = int(row["deletion_time"]) if row["deletion_time"] else UNKNOWN
        except (TypeError, ValueError):
            ledger.leave_out(records.UNREADABLE)
            continue
        key = key_of(row["name"])
        if start == UNKNOWN:
            ledger.leave_out(records.NEVER_STARTED, key)
            continue
        kind = row.get("gpu_spec") or ""
        gpus = count * milli * PARTS // THOUSAND
        # `Running` is the phase at the last record: a pod that was deleted had ended by then.
        state = CODE_OF.get(row.get("pod_phase") or "", CODES["other"])
        ended = CODES["other"] if state == CODES["running"] and end != UNKNOWN else state
        ledger.add(key, start, end, UNKNOWN, gpus, 1, ledger.group(Group("", kind if "|" not in kind else "")), ended)
