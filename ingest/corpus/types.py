"""The things that pass between listing, reading, counting and sampling, and the progress that they report."""

from __future__ import annotations

import os.path
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TextIO


class CorpusFile(NamedTuple):
    """A file of the corpus."""

    path: str  # as it is shown, and by which it is sorted: below the argument's root, with `/`; or a URL
    location: str  # what is opened: a local path, an fsspec URL, or `-` for standard input
    stored_bytes: int  # what storage holds, when it was listed
    stamp: str  # modification time in nanoseconds, or an object's version: a file that changed has another one
    format: str  # `text`, `jsonl`, `csv`, `tsv`, `parquet`, `arrow`, `tar`, `warc`
    compression: str  # `gzip`, `zstd`, `xz`, `bz2`, or nothing


class Piece(NamedTuple):
    """One of the pieces of a file, and its range of bytes, which a reader moves to where documents or words begin.

    Once it is read, of a text also its damaged places and their bytes: only those of all pieces tell whether it is text.
    """

    number: int
    pieces: int
    start: int
    stop: int
    places: int = 0
    damaged_bytes: int = 0


class SkippedFile(NamedTuple):
    """What was not counted, why (of lines, rows, records and members within the file also which ones), and how many."""

    path: str
    reason: str
    number: int = 1
    stored_bytes: int | None = None  # of a file; None where it is not known, or for a part of one


#: called with whatever a reader leaves out although the rest of the file counts
Note = Callable[[SkippedFile], None]


class Chunk(NamedTuple):
    """A part of a document: valid UTF-8, cut between characters; `ends` where the document does."""

    text: bytes
    ends: bool


class LeftOut:
    """Files, or lines, rows and members of files, that do not count."""

    def __init__(self, most: int = 100_000) -> None:
        self.named: list[SkippedFile] = []  # the first
        self.count = self.documents = self.stored_bytes = 0  # listed, the documents that they are, and what storage holds
        self._most = most

    def note(self, *skipped: SkippedFile) -> None:
        self.named += skipped[: self._most - len(self.named)]
        self.count += len(skipped)
        self.documents += sum(one.number for one in skipped)
        self.stored_bytes += sum(one.stored_bytes or 0 for one in skipped)


#: What is left out of a corpus is told with its share, if that is more than this.
SMALL_SHARE = 0.01


def share_left_out(left: float, counted: float) -> float:
    """The share that was left out, or 0 if it is small.

    >>> share_left_out(1, 3), share_left_out(1, 300), share_left_out(0, 0)
    (0.25, 0.0, 0.0)
    """
    share = left / (left + counted) if left else 0.0
    return share if share > SMALL_SHARE else 0.0


class Tally(NamedTuple):
    """What has been counted."""

    files: int = 0  # files read whole
    documents: int = 0  # lines, rows, members or files, by format
    stored_bytes: int = 0  # what storage holds of them
    text_bytes: int = 0  # UTF-8 bytes of their text
    tokens: int = 0  # tokens of the text
    bytes_read: int = 0  # what was moved from storage for it

    def plus(self, other: Tally) -> Tally:
        return Tally(*(one + two for one, two in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer's vocabulary, in the form that the engines load."""

    name: str  # its id, or the file as given
    kind: str  # `tokenizer.json`, `rank file`, `sentencepiece` or `trained`
    size: int  # number of ids: the largest id plus one, which decides the bytes per id of the tokenized copy
    sha256: str  # of the file that holds it; of the new `tokenizer.json` for a trained one
    source: str  # the package with its version, or the path
    license: str  # as stated by the package; empty for the user's own files
    tokenizer_json: bytes = field(repr=False)  # without truncation, padding and dropout; empty for SentencePiece models
    outline: bytes = field(repr=False, default=b"{}")  # JSON of normalizers, pre-tokenizers and added tokens: no model
    sentencepiece: bytes = field(repr=False, default=b"")  # the SentencePiece model, which its own package counts


COMPRESSED = ("gz", "gzip", "zst", "zstd", "xz", "bz2", "bzip2")
#: What is longer is no extension but the end of a name with a dot in it.
LONGEST = 12


def root_of(first: str, last: str) -> str:
    """The folder that all paths share, from the first and the last in order.

    >>> root_of("s3://bucket/web/a.txt", "s3://bucket/web/b/c.txt"), root_of("a.txt", "b/c.txt")
    ('s3://bucket/web/', '')
    """
    shared = os.path.commonprefix((first, last))  # noqa: RUF071  cut at a slash below, for URLs too
    return shared[: shared.rfind("/") + 1]


def folder_of(path: str, root: str) -> str:
    """The folder below the shared one; `.` for a file that lies right in it.

    >>> folder_of("data/web/x/y.txt", "data/"), folder_of("data/y.txt", "data/")
    ('web', '.')
    """
    start = len(root) if path.startswith(root) else 0
    end = path.find("/", start)
    return path[start:end] if end > 0 else "."


def extension_of(path: str) -> str:
    """The extension, with that of its compression.

    >>> extension_of("a/b.jsonl.gz"), extension_of("a/README"), extension_of("a/.profile"), extension_of("b.TXT")
    ('.jsonl.gz', '(none)', '(none)', '.txt')
    """
    name = path[path.rfind("/") + 1 :].lower().lstrip(".")
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix) > LONGEST:
        return "(none)"
    inner = stem.rpartition(".")[2] if suffix in COMPRESSED and "." in stem else ""
    return f".{inner}.{suffix}" if 0 < len(inner) <= LONGEST else f".{suffix}"


REDRAW_SECONDS = 0.2


class Progress:
    """The progress of reading a corpus, on a clock of monotonic seconds.

    The stream receives bar and lines; None for none. Only a terminal gets the bar.
    """

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.clock = stream, clock
        self._bar: Any = None
        self.begin(0, 0)

    def begin(self, total: int, taken_up: int) -> None:
        """Start the clock on `total` stored bytes, of which `taken_up` were counted by an earlier run."""
        self.total, self.moved_bytes, self.taken_up = total, taken_up, taken_up
        self.started = self.clock()

    def moved(self, size: int) -> None:
        """Add `size` stored bytes as read."""
        if self._bar is None and self.stream is not None and self.stream.isatty():
            from threading import RLock

            from tqdm import tqdm

            class Bar(tqdm):  # type: ignore[misc]  # it has no types
                # neither a thread nor a lock between processes: the process forks while the bar is shown
                monitor_interval = 0

            Bar.set_lock(RLock())
            self._bar = Bar(
                total=self.total or None, initial=self.moved_bytes, file=self.stream, unit="B", unit_scale=True, leave=False,
                dynamic_ncols=True, mininterval=REDRAW_SECONDS,
            )  # fmt: skip
        self.moved_bytes += size
        if self._bar is not None:
            self._bar.update(size)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.started

    @property
    def seconds_left(self) -> float:
        """Seconds that the remaining bytes take at the rate so far."""
        rate = (self.moved_bytes - self.taken_up) / max(self.seconds, 1e-6)
        return (self.total - self.moved_bytes) / max(rate, 1e-6)

    def say(self, line: str) -> None:
        if self.stream is not None:
            if self._bar is not None:
                self._bar.clear()
            self.stream.write(f"ingest: {line}\n")
            self.stream.flush()

    def clear(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
