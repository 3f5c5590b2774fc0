"""A history as columns, some seventy bytes for each allocation, whatever the scheduler that wrote it.

Names stay outside: an id becomes a number of 64 bits, and an account the beginning of its hash.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256
from typing import Any, NamedTuple

import numpy

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
