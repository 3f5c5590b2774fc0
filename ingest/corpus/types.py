"""The things that pass between listing, reading, counting and sampling."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class CorpusFile(NamedTuple):
    """A file of the corpus."""

    path: str  # as it is shown, and by which it is sorted: below the argument's root, with `/`; or a URL
    location: str  # what is opened: a local path, an fsspec URL, or `-` for standard input
    stored_bytes: int  # what storage holds, when it was listed
    stamp: str  # modification time in nanoseconds, or an object's version: a file that changed has another one
    format: str  # `text`, `jsonl`, `csv`, `tsv`, `parquet`, `arrow`, `tar`, `warc`
    compression: str  # `gzip`, `zstd`, `xz`, `bz2`, or nothing


class SkippedFile(NamedTuple):
    """What was not counted, and why."""

    path: str  # of the file
    reason: str  # why; of lines, rows, records and members within the file also which ones
    number: int = 1  # how many


class Chunk(NamedTuple):
    """A part of a document: valid UTF-8, cut between characters; `ends` where the document does."""

    text: bytes
    ends: bool


class LeftOut:
    """Files, or lines, rows and members of files, that do not count: the first are named, all are counted.

    Attributes:
        named: the first.
        count: how many are listed.
        documents: how many documents they are.
    """

    def __init__(self, most: int = 100_000) -> None:
        self.named: list[SkippedFile] = []
        self.count = self.documents = 0
        self._most = most

    def note(self, *skipped: SkippedFile) -> None:
        self.named += skipped[: self._most - len(self.named)]
        self.count += len(skipped)
        self.documents += sum(one.number for one in skipped)


#: called with whatever a reader leaves out although the rest of the file counts
Note = Callable[[SkippedFile], None]


class Tally(NamedTuple):
    """What has been counted."""

    files: int = 0  # files read whole
    documents: int = 0  # lines, rows, members or files, by format
    stored_bytes: int = 0  # what storage holds of them
    text_bytes: int = 0  # UTF-8 bytes of their text
    tokens: int = 0  # tokens of the text
    bytes_read: int = 0  # what was moved from storage for it

    def plus(self, other: Tally) -> Tally:
        """Both together.

        >>> Tally(1, 10).plus(Tally(2, 5))[:2]
        (3, 15)
        """
        return Tally(*(one + two for one, two in zip(self, other, strict=True)))


COMPRESSED = ("gz", "gzip", "zst", "zstd", "xz", "bz2")
NONE = "(none)"
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
        return NONE
    if suffix in COMPRESSED:
        inner = stem.rpartition(".")[2] if "." in stem else ""
        return f".{inner}.{suffix}" if 0 < len(inner) <= LONGEST else f".{suffix}"
    return f".{suffix}"


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer's vocabulary, in the form that the engines load.

    Attributes:
        name: its id, or the file as given.
        kind: `tokenizer.json`, `rank file`, `sentencepiece` or `trained`.
        size: number of ids: the largest id plus one, which decides the bytes per id of the tokenized copy.
        sha256: of the file that holds it; of the new `tokenizer.json` for a trained one.
        source: the package with its version, or the path.
        license: as stated by the package; empty for the user's own files.
        tokenizer_json: the `tokenizer.json` without truncation, padding and dropout; empty for SentencePiece models.
        outline: the `tokenizer.json` without its model, as JSON: normalizers, pre-tokenizers and added tokens.
        sentencepiece: the SentencePiece model, which its own package counts.
    """

    name: str
    kind: str
    size: int
    sha256: str
    source: str
    license: str
    tokenizer_json: bytes = field(repr=False)
    outline: bytes = field(repr=False, default=b"{}")
    sentencepiece: bytes = field(repr=False, default=b"")
