"""A history as columns, some seventy bytes for each allocation, whatever the scheduler that wrote it; and the rows of Slurm.

Names stay outside: an id becomes a number of 64 bits, and an account the beginning of its hash.
"""

from __future__ import annotations

import csv
import datetime
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b, sha256
from typing import Any, NamedTuple

import numpy

from ingest.errors import IngestError
from ingest.files import table_beside

#: Parts of a GPU in which allocations are counted: whole numbers for slices of sevenths and for thousandths.
PARTS = 7000
#: Larger numbers are none of a history, and later times: those of 2100.
LARGEST, LATEST = 2**62, 4_102_444_800
#: Times before this are those of a trace that begins at zero.
FIRST_YEAR = 631_152_000
#: A number that is not known: a whole one, and an amount.
UNKNOWN, NAN = -1, float("nan")
#: Words of schedulers; how an allocation ended is in `ends`.
WORDS = table_beside(__file__, "words.yaml")
ENDS: Mapping[str, Sequence[str]] = WORDS["ends"]
CODES = {name: code for code, name in enumerate(ENDS)}
CODE_OF = {word: CODES[name] for name, words in ENDS.items() for word in words}
#: Why a row is left out; each is counted.
NEVER_STARTED = "cancelled or pending before start"
REVOKED = "revoked: another cluster ran it"
UNREADABLE = "row that cannot be read"
NO_GPUS = "allocated GPUs not recorded"
NO_END = "end not recorded"
NO_START = "start not recorded"
SHARED = "share of a GPU not recorded"
OTHER_KIND = "accelerators under another name than gpu"
BACKWARDS = "end before start"
CONTRADICTS = "longer elapsed time than from start to end"
DUPLICATE = "recorded more than once"
ARRAY = "array, of which each task is recorded"
NO_PARENT = "step without its job"
#: A slice of a GPU as NVIDIA names it: the sevenths of its compute, or the quarters of an A30 and an RTX PRO 6000, whose slices
#: have 6 and 24 GB each (NVIDIA's MIG user guide); 1g.24gb is also a seventh of a GH200.
_SLICE = re.compile(r"(?:^|[^0-9a-z])([1-7])g\.(\d+)gb", re.IGNORECASE)
_QUARTERS = frozenset((("1", "6"), ("2", "12"), ("4", "24"), ("2", "48"), ("4", "96")))
#: Numbers of a GPU in the names of devices, which differ by site: a name of other letters could be anything.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,31}")


class Group(NamedTuple):
    """What allocations have in common."""

    cluster: str = ""  # the machine, as its scheduler calls it
    gpu: str = ""  # the kind of GPU, likewise
    partition: str = ""  # partition, queue or namespace
    account: str = ""  # the beginning of the hash of the account
    named_by: str = ""  # columns of Slurm that name its jobs
    server: str = ""  # of PBS: it numbers its jobs, and those of a peer run on the same nodes


#: The columns of a ledger and the type of each: an id, seconds since 1970 by the clock of the history, parts of a GPU, bytes.
COLUMNS = {"key": "Q", "start": "q", "end": "q", "elapsed": "q", "gpus": "q", "nodes": "q", "group": "i", "state": "b",
           "read": "d", "written": "d"}  # fmt: skip
#: Those of the steps of jobs.
STEPS = {"key": "Q", "name": "Q", "start": "q", "read": "d", "written": "d"}


class Ledger:
    """The allocations of a history as they are read, the steps that tell their bytes, and what was left out."""

    def __init__(self) -> None:
        self.columns: dict[str, array[Any]] = {name: array(code) for name, code in COLUMNS.items()}
        self.groups: dict[Group, int] = {}
        self.removed: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()  # what was read in another way than recorded, by how often
        self.kinds: Counter[str] = Counter()  # files by kind
        self.local = False  # whether times are those of a local clock, without a zone
        self.steps: dict[str, array[Any]] = {name: array(code) for name, code in STEPS.items()}
        self.waiting = array("Q")  # jobs that had not started, or never did
        self.known = array("Q")  # jobs of rows that were left out: their steps have a job
        self.transfers: dict[tuple[int, int], list[float]] = {}  # bytes read and written by job and source
        self._appends = [column.append for column in self.columns.values()]
        self._steps = [column.append for column in self.steps.values()]

    def add(
        self, key: int, start: int, end: int, elapsed: int, gpus: int, nodes: int, group: int, state: int,
        read: float = NAN, written: float = NAN,
    ) -> None:  # fmt: skip
        """An allocation: the values of `COLUMNS` in their order."""
        if max(start, end) > LATEST or max(map(abs, (start, end, elapsed, gpus, nodes))) > LARGEST:
            self.leave_out(UNREADABLE, key)
            return
        one, two, three, four, five, six, seven, eight, nine, ten = self._appends
        one(key)
        two(start)
        three(end)
        four(elapsed)
        five(gpus)
        six(nodes)
        seven(group)
        eight(state)
        nine(read)
        ten(written)

    def close(self, first: int) -> None:
        """Give the allocations of a file, from a row on, that still ran the time until the latest one of that file."""
        start, end, elapsed = (numpy.frombuffer(self.columns[name], "q")[first:] for name in ("start", "end", "elapsed"))
        still = (end == UNKNOWN) & (elapsed < 0)
        if still.any():
            elapsed[still] = max(int(start.max()), int(end.max()), int((start + elapsed).max())) - start[still]

    def group(self, group: Group) -> int:
        """The number of a group."""
        return self.groups.setdefault(group, len(self.groups))

    def leave_out(self, reason: str, key: int | None = None) -> None:
        """Count a row that is left out; of a job, whose steps may follow."""
        if reason == NEVER_STARTED and key is not None:
            self.waiting.append(key)  # counted once the whole history is known
            return
        self.removed[reason] += 1
        if key is not None:
            self.known.append(key)

    def step(self, key: int, name: int, start: int, read: float = NAN, written: float = NAN) -> None:
        """A step of a job, by the number of its name, with the bytes that it moved."""
        keys, names, starts, reads, writes = self._steps
        keys(key)
        names(name)
        starts(start)
        reads(read)
        writes(written)

    def moved(self, key: int, source: int, read: float, written: float) -> None:
        """Bytes of a job that another source than the scheduler counted; of several counts of one source the largest holds."""
        found = self.transfers.setdefault((key, source), [0.0, 0.0])
        found[:] = max(found[0], read), max(found[1], written)


MASK = 2**64 - 1


def key_of(ident: str, cluster: str = "") -> int:
    """The number of a job: that of its id where it is one, by cluster."""
    own = int(ident) if ident.isascii() and ident.isdigit() and len(ident) < 19 else digest(ident)
    return (own + digest(cluster)) & MASK if cluster else own


def digest(text: str) -> int:
    """A number of 64 bits that stands for a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def account_of(name: str) -> str:
    """The beginning of the hash of an account, by which classes name it: `printf NAME | sha256sum | cut -c1-12`."""
    return sha256(name.encode("utf-8", "replace")).hexdigest()[:12]


def shown_name(name: str) -> str:
    """The name of a cluster, partition or kind of GPU as an output may have it; empty for one that may be anything."""
    return name if _PLAIN.fullmatch(name) else ""


def parts_of_type(kind: str) -> int:
    """The parts that one GPU of a type has: all, or those that the name of a slice tells."""
    found = _SLICE.search(kind)
    if found is None:
        return PARTS
    quarters = found.groups() in _QUARTERS or (found[2] == "24" and "rtx" in kind.lower())
    return PARTS * int(found[1]) // (4 if quarters else 7)


#: The columns that are read, and what each is; of two names for one thing the first that a header has.
READ: Mapping[str, Sequence[str]] = WORDS["columns"]
NEEDED = ("start", "end", "gpus")
#: Columns of free text, which may hold the delimiter.
FREE = frozenset(WORDS["free_text"])
#: The command whose output is read.
COMMAND = "sacct -a -P --format=JobIDRaw,Cluster,Partition,State,Start,End,ElapsedRaw,AllocNodes,AllocTRES,TRESUsageInTot"
EXPECTED = f"the output of `{COMMAND} -S DATE`"
#: Times that are none.
NO_TIME = frozenset(("", "Unknown", "None", "N/A", "NONE", "UNKNOWN"))
#: More digits are no number of seconds.
MOST_DIGITS = 13
#: Texts of TRES that one reading remembers.
MOST_KEPT = 100_000
_DISK = re.compile(r"(?:^|,)fs/disk=([0-9.]+)([KMGTPE]?)(?=,[a-z]|$)")
#: What a text of resources has: numbers that the database has for them, and words for none, tell nothing.
TRES = re.compile(r"(?:^|,)(?:cpu|mem|node|billing|gres/[^=]+)=")
#: A day without a time of day: a run from one to the next has no length that is known.
DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{4}-?W\d\d(-?\d)?|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
#: Resources of which a GPU has as many as the site says.
SHARES = ("shard", "mps")
#: Names that sites give to accelerators, which no record tells to be GPUs.
OTHERS = ("npu", "dcu", "mlu", "gcu", "tpu", "hpu", "xpu", "ipu", "vpu", "neuron", "neuroncore", "gaudi", "accelerator")
_UNTOLD = re.compile(rf"(?:^|[,/])(?:({'|'.join(SHARES)})|({'|'.join(OTHERS)}))(?:[:=](?!0(?:,|$))|$)")
#: What of a text of resources is counted.
COUNTED = re.compile(rf"(?:^|(?<=,))(?:gres/(?:gpu|{'|'.join((*SHARES, *OTHERS))})|node)[=:][^,]*").findall
NOTHING = "gres/gpu=0"
#: Slurm before 20.11 writes the number of its module for the word `gpu`.
_GRES = re.compile(r"(?:gres[/:])?(?:gpu|7696487)(?::([^:=,(]+))?[:=](\d+)(?![\w.])")
UNITS = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}


class Allocated(NamedTuple):
    """GPUs in parts, their kind, and nodes; `UNKNOWN` for a number that is not recorded."""

    gpus: int
    gpu: str
    nodes: int


def tres_of(text: str) -> Allocated:
    """What a text of trackable resources allocates: the total of GPUs counts once beside those of each type."""
    total = nodes = UNKNOWN
    untold = False
    types: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name == "node":
            nodes = count_of(value)
        elif _UNTOLD.search(part):
            untold = True
        elif name == "gres/gpu" or name.startswith("gres/gpu:"):
            if not value.isdigit():  # such as `1.5K`
                return Allocated(UNKNOWN, "", nodes)
            if name == "gres/gpu":
                total = int(value)
            else:
                types[name[9:]] = int(value)
    return Allocated(UNKNOWN, "", nodes) if untold and total <= 0 and not types else _allocated(total, types, nodes)


def _allocated(total: int, types: Mapping[str, int], nodes: int) -> Allocated:
    """GPUs by type and in total: slices count as the sevenths that they are, what has no type as whole GPUs."""
    typed = sum(types.values())
    parts = sum(count * parts_of_type(kind) for kind, count in types.items()) + max(total - typed, 0) * PARTS
    whole = {kind: count for kind, count in types.items() if parts_of_type(kind) == PARTS}
    return Allocated(parts, max(whole, key=lambda kind: whole[kind], default=""), nodes)


def gres_of(text: str, nodes: int) -> Allocated:
    """What a text of generic resources, such as `gpu:a100:2`, allocates on one node; of several nodes it does not tell."""
    found = _GRES.findall(text)
    if not found:
        return Allocated(UNKNOWN if "gpu" in text or _UNTOLD.search(text) else 0, "", nodes)
    types: dict[str, int] = {}
    for kind, count in found:
        types[kind] = types.get(kind, 0) + int(count)
    plain = types.pop("", 0)
    made = _allocated(plain + sum(types.values()), types, nodes)
    return made if nodes == 1 else made._replace(gpus=UNKNOWN)


def seconds_of(text: str, days: dict[str, int]) -> int:
    """A time without a zone in seconds, or `UNKNOWN`; `days` remembers days and times of day."""
    if len(text) == 19:
        day = days.get(text[:10])
        if day is None:
            day = days[text[:10]] = (datetime.date.fromisoformat(text[:10]).toordinal() - EPOCH) * 86_400
        clock = days.get(text[10:])
        if clock is None:
            clock = days[text[10:]] = int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:])
        return day + clock
    if text in NO_TIME:
        return UNKNOWN
    if DAY.fullmatch(text):
        raise ValueError(text)
    if text.isdigit() and len(text) < MOST_DIGITS:
        return int(text)
    found = datetime.datetime.fromisoformat(text)
    # Without a zone it is of the clock of the history, never of the machine that reads it.
    return int((found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp())


OTHER, RUNNING = CODES["other"], CODES["running"]
#: What is said of histories that record no allocation.
REQUESTED = "requested GPUs, as those allocated are not recorded"
EPOCH = datetime.date(1970, 1, 1).toordinal()


def count_of(text: str) -> int:
    """A number of nodes, or `UNKNOWN`; `sacct` rounds large ones to `1K`."""
    return int(text) if text.isdigit() else UNKNOWN


def elapsed_of(text: str) -> int:
    """A duration in seconds as it is, or as `1-02:03:04`."""
    if text.isdigit():
        return int(text)
    if text.startswith("-"):
        return UNKNOWN
    days, _, clock = text.rpartition("-")
    if not clock:
        return UNKNOWN
    found = 0
    for part in clock.partition(".")[0].split(":"):
        found = found * 60 + int(part)
    return found + int(days or 0) * 86_400


def delimiter_of(header: str) -> str:
    """What parts the columns of a header of `sacct`; empty for a line that is none."""
    for mark in ("|", "\t", ";", ","):
        names = {name.strip().strip('"').lower() for name in header.split(mark)}
        if len(names) > 2 and (not names.isdisjoint(READ["id"]) or {"start", "end"} < names):
            return mark
    return ""


def read_rows(lines: Iterable[str], header: str, place: str, ledger: Ledger, accounts: bool = False) -> None:
    """Read the rows of `sacct -P` that follow a header, and those of further headers, with accounts where classes ask for them.

    Raises IngestError: a column is missing.
    """
    numbered = enumerate(lines)
    while header:
        header = _read_below(numbered, header, place, ledger, accounts)


def _read_below(lines: Iterator[tuple[int, str]], header: str, place: str, ledger: Ledger, accounts: bool) -> str:
    """Read the rows below a header; the next header."""
    mark = delimiter_of(header)
    names = [name.strip().strip('"').lower().partition("%")[0] for name in header.rstrip("\r\n").split(mark)]
    at = {what: names.index(name) for what, choices in READ.items() for name in choices[::-1] if name in names}
    for what in NEEDED:
        if what not in at:
            raise IngestError(f"{place}: no column {' or '.join(READ[what])}, expected {EXPECTED}")
    free = [place for place, name in enumerate(names) if name in FREE]
    reader = _Rows(names, at, ledger, accounts)
    width, ident_at = len(names), at.get("id", -1)
    usage_at = [at[what] for what in ("read", "written") if what in at]
    last = ""
    unnamed = digest(place)
    partition_at = at.get("partition", -1)
    if ident_at < 0:
        if usage_at and partition_at < 0:  # bytes are those of steps, which would count as jobs
            raise IngestError(f"{place}: no column {' or '.join(READ['id'])}, which tells steps from jobs, expected {EXPECTED}")
        ledger.notes["file without job ids, in which a row that is repeated counts again"] += 1
    for number, line in lines:
        # Tables of other programs have quotation marks, and commas part resources too.
        row = line.rstrip("\n").split(mark) if mark in "|\t" else next(csv.reader([line], delimiter=mark), [])
        if len(row) != width:
            if len(row) < width or len(free) != 1 or mark == ",":
                if delimiter_of(line):
                    return line
                if line.strip():
                    ledger.leave_out(UNREADABLE)
                continue
            # The one column of free text holds the delimiter: the columns around it tell where it begins and ends.
            row[free[0] : free[0] + len(row) - width + 1] = [""]
        if ident_at < 0 <= partition_at and not row[partition_at]:  # a step: its job alone has a partition
            continue
        ident = row[ident_at] if ident_at >= 0 else f"{number} of {unnamed}"
        if "." in ident:
            if not ident.startswith(last) or ident[len(last)] != "." or any("fs/disk=" in row[place] for place in usage_at):
                reader.step(ident, row)
        elif reader.row(ident, row):
            last = ident
        elif delimiter_of(line):
            return line
        else:
            ledger.leave_out(UNREADABLE)
    return ""


class _Rows:
    """Reads rows of one header."""

    def __init__(self, names: Sequence[str], at: Mapping[str, int], ledger: Ledger, accounts: bool) -> None:
        self.ledger = ledger
        self.is_gres = names[at["gpus"]].endswith("gres")
        self.requested = names[at["gpus"]].startswith("req")
        self.start, self.end, self.gpus = (at[what] for what in NEEDED)
        others = ("state", "elapsed", "nodes", "partition", "cluster", "read", "written")
        self.state, self.elapsed, self.nodes, self.partition, self.cluster, *self.moved = (at.get(one, -1) for one in others)
        self.account = at.get("account", -1) if accounts else -1
        self.named_by = "+".join([names[at[one]] for one in ("id", "cluster") if one in at]) or "none"
        self.days: dict[str, int] = {}
        self.allocated: dict[tuple[str, int], Allocated] = {}
        self.grouped: dict[tuple[str, ...], int] = {}
        self.named: dict[str, int] = {}

    def key(self, ident: str, row: Sequence[str]) -> int:
        """The number of a job."""
        return key_of(ident, row[self.cluster] if self.cluster >= 0 else "")

    def row(self, ident: str, row: Sequence[str]) -> bool:
        """Read a row of a job; returns whether it could be read."""
        ledger = self.ledger
        key = self.key(ident, row)
        state = row[self.state].partition(" ")[0].rstrip("+") if self.state >= 0 else "COMPLETED"
        try:
            start = seconds_of(row[self.start], self.days)
            end = seconds_of(row[self.end], self.days)
            elapsed = elapsed_of(row[self.elapsed]) if self.elapsed >= 0 else UNKNOWN
            nodes = count_of(row[self.nodes]) if self.nodes >= 0 else UNKNOWN
        except ValueError:
            return False
        ledger.local |= len(row[self.start]) == 19
        text = row[self.gpus]
        code = CODE_OF.get(state, OTHER)
        if reason := _never_ran(state, start, end, elapsed, text):
            ledger.leave_out(reason, key)
            return True
        # What else a text allocates differs from run to run.
        told = text if self.is_gres else ",".join(COUNTED(text)) or (NOTHING if TRES.search(text) else "")
        found = self.allocated.get((told, nodes)) or self.allocates(told, nodes)
        if found.gpus == UNKNOWN:
            ledger.leave_out(_untold(text), key)
            return True
        named = (
            row[self.cluster] if self.cluster >= 0 else "",
            found.gpu,
            row[self.partition] if self.partition >= 0 else "",
            row[self.account] if self.account >= 0 else "",
        )
        group = self.grouped.get(named)
        if group is None:
            account = account_of(named[3]) if self.account >= 0 else ""
            group = self.grouped[named] = ledger.group(Group(*named[:3], account, self.named_by))
        ledger.add(key, start, end, elapsed, found.gpus, found.nodes, group, code)
        if self.requested:
            ledger.notes[REQUESTED] += 1
        return True

    def allocates(self, text: str, nodes: int) -> Allocated:
        """What a text allocates, on so many nodes where the text does not tell."""
        none = Allocated(UNKNOWN, "", nodes)
        found = gres_of(text, nodes) if self.is_gres else tres_of(text) if text else none
        found = found if found.nodes != UNKNOWN else found._replace(nodes=nodes)
        if len(self.allocated) >= MOST_KEPT:
            self.allocated.clear()
        self.allocated[text, nodes] = found
        return found

    def step(self, ident: str, row: Sequence[str]) -> None:
        """Read a row of a step."""
        try:
            start = seconds_of(row[self.start], self.days)
        except ValueError:
            self.ledger.leave_out(UNREADABLE)
            return
        moved = (_DISK.search(row[place]) if place >= 0 and "fs/disk=" in row[place] else None for place in self.moved)
        read, written = (float(one[1]) * UNITS[one[2]] if one else NAN for one in moved)
        parent, _, name = ident.partition(".")
        number = self.named.get(name)
        if number is None:
            number = self.named[name] = digest(name)
        self.ledger.step(self.key(parent, row), number, start, read, written)


def _never_ran(state: str, start: int, end: int, elapsed: int, text: str) -> str:
    """Why a job has no time on GPUs that is known, whatever it was allocated; empty for one that has."""
    running = CODE_OF.get(state) == RUNNING
    if state in ("REVOKED", "RV"):
        return REVOKED
    if start == UNKNOWN or state in ("PENDING", "PD") or (not text and elapsed == 0 and not running):
        return NEVER_STARTED
    return NO_END if end == UNKNOWN and not running and elapsed <= 0 else ""


def _untold(text: str) -> str:
    """Why the GPUs of a text of resources are unknown."""
    found = _UNTOLD.search(text)
    return NO_GPUS if found is None else SHARED if found[1] else OTHER_KIND


def read_object(job: Mapping[str, Any], ledger: Ledger, accounts: bool = False) -> None:
    """Read one object of the list `jobs` of `sacct --json`; its times are seconds since 1970."""
    cluster = str(job.get("cluster") or "")
    key = key_of(str(job.get("job_id")), cluster)
    time = job.get("time") or {}
    start, end, elapsed = (_number(time.get(name)) for name in ("start", "end", "elapsed"))
    start, end = (one if one > 0 else UNKNOWN for one in (start, end))
    state = job.get("state")
    state = state.get("current") if isinstance(state, Mapping) else state
    word = str(next(iter(state), "") if isinstance(state, list) else state or "").partition(" ")[0]
    allocated = (job.get("tres") or {}).get("allocated") or []
    # The resources as `AllocTRES` writes them.
    names = ["/".join(filter(None, (one.get("type"), one.get("name")))) for one in allocated]
    counts = [_number(one.get("count")) for one in allocated]
    text = ",".join(f"{name}={count}" for name, count in zip(names, counts, strict=True))
    found = tres_of(text)
    reason = _never_ran(word, start, end, elapsed, text) or (_untold(text) if found.gpus == UNKNOWN or not text else "")
    if reason:
        ledger.leave_out(reason, key)
        return
    nodes = found.nodes if found.nodes != UNKNOWN else _number(job.get("allocation_nodes"))
    account = account_of(str(job.get("account") or "")) if accounts else ""
    group = ledger.group(Group(cluster, found.gpu, str(job.get("partition") or ""), account))
    ledger.add(key, start, end, elapsed, found.gpus, nodes, group, CODE_OF.get(word, OTHER), *_moved(job.get("steps") or []))


def _moved(steps: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """Bytes of `fs/disk` that the steps of a job read and wrote; unknown where none counts them."""
    found = []
    for way in ("consumed", "requested"):
        # Slurm calls what a step read `requested` or `consumed` by version: inputs are `requested.total` of data_parser.
        totals = [
            _number(one.get("count"))
            for step in steps
            for one in (((step.get("tres") or {}).get(way) or {}).get("total") or [])
            if one.get("type") == "fs" and one.get("name") == "disk"
        ]
        found.append(float(sum(totals)) if totals else float("nan"))
    return found[1], found[0]


def _number(found: Any) -> int:
    """A number as it is, or in the object that newer versions write; `UNKNOWN` for one that is not set."""
    if isinstance(found, Mapping):
        found = found.get("number") if found.get("set") and not found.get("infinite") else None
    return int(found) if isinstance(found, (int, float)) else UNKNOWN
