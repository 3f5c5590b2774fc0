"""Opened files, wherever they are stored: local files, standard input, and objects behind URLs, listed and read by fsspec.

They are decompressed (gzip, bz2, xz, zstd) in bounded memory; a truncated file is an error.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Protocol

from ingest.corpus.files.names import KNOWN, MAGIC, WILDCARD, first_line, fixed_part, glob_filter, printable
from ingest.corpus.types import CorpusFile, SkippedFile
from ingest.errors import IngestError, UsageError

CHANGED = "changed while it was read"
VANISHED = "vanished since it was listed"
#: standard input has no name
STANDARD_INPUT = "-"
#: read from storage at a time
INPUT_BYTES = 2**20
#: output of a decompressor per read, which bounds the memory of a decompression bomb
OUTPUT_BYTES = 2**22
#: a zstd file may begin with skippable frames, which carry one of sixteen magic numbers
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
#: the largest window that decoders of zstd take unless they are told (ZSTD_WINDOWLOG_LIMIT_DEFAULT of zstd.h)
ZSTD_WINDOW = "128 MiB"
#: share of the free temporary disk space that one file may use
MOST_OF_ROOM = 0.5


#: What git stores in place of a file of git-lfs (docs/spec.md of git-lfs), and the sizes of such files.
POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:[0-9a-f]{64}\nsize (\d{1,19})\n?\Z")


def may_be_pointer(size: int) -> bool:
    """Whether a file of this size may be a pointer of git-lfs."""
    return 125 <= size <= 145


class Unreadable(IngestError):
    """A file cannot be counted; what was counted of it must be dropped."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"'{path}': {reason}")
        self.path = path  # as shown to the user
        self.reason = reason  # in a few words

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str, str]]:
        return Unreadable, (self.path, self.reason)


@dataclass(slots=True)
class Meter:
    """The bytes moved to read a file."""

    stored_bytes: int = 0  # size of the file when it was opened; for standard input, bytes received
    bytes_read: int = 0  # bytes read from storage, also of a file that then failed
    notes: tuple[str, ...] = ()  # cautions of the reader about what it found
    parts: int = 0  # images or volumes that the header of a file counts, which is one sample nonetheless; 0 where it is one


class Source:
    """An open file, readable at any position up to the size it had when it was opened; `file` is one in memory or on disk."""

    def __init__(self, path: str, size: int, meter: Meter, file: IO[bytes] | None = None) -> None:
        self.path, self.size, self.closed = path, size, False
        self._meter, self._position, self._file = meter, 0, file
        meter.stored_bytes = size

    version = ""  # of the file when it was opened, as in the stamp of a listed one; empty if unknown
    step = sys.maxsize  # the most bytes of a read of a stream

    def caution(self, text: str) -> None:
        """Note what a user should know of this file; a reader of samples says so once."""
        self._meter.notes = (*self._meter.notes, text)

    def beside(self, file: CorpusFile, name: str) -> Source:
        """Open another file in the folder of this one. Raises Unreadable: it is not there."""
        path, location = (place.rpartition("/")[0] + "/" * ("/" in place) + name for place in (file.path, file.location))
        return open_file(file._replace(path=path, location=location), self._meter)

    def fetch(self, offset: int, size: int) -> bytes:
        """Return exactly these bytes, or fewer if the file has shrunk."""
        assert self._file is not None
        self._file.seek(offset)
        return self._file.read(size)

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes, fewer only at the end; all remaining bytes for -1."""
        left = self.size - self._position
        wanted = left if size < 0 or size > left else size
        if wanted <= 0:
            return b""
        data = self.fetch(self._position, wanted)
        self._meter.bytes_read += len(data)
        if len(data) != wanted:
            raise Unreadable(self.path, CHANGED)
        self._position += wanted
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def finish(self) -> None:
        """Check, after the last read, that the file did not change; `Unreadable` if it did. Memory and pipes cannot."""

    def close(self) -> None:
        self.closed = True


class LocalSource(Source):
    def __init__(self, file: CorpusFile, meter: Meter) -> None:
        try:
            # the reader must not wait for a pipe that replaced the file
            self._descriptor = os.open(file.location, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise Unreadable(file.path, system_reason(error)) from None
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._descriptor)
            raise Unreadable(file.path, "no longer a regular file")
        self._opened = (status.st_size, status.st_mtime_ns)
        self.version, self.step = str(status.st_mtime_ns), 2**20  # a read of a disk costs less than a request of a store
        super().__init__(file.path, status.st_size, meter)

    def fetch(self, offset: int, size: int) -> bytes:
        try:
            data = os.pread(self._descriptor, size, offset)
            while len(data) < size and (more := os.pread(self._descriptor, size - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise Unreadable(self.path, system_reason(error)) from None
        return data

    def finish(self) -> None:
        status = os.fstat(self._descriptor)
        if (status.st_size, status.st_mtime_ns) != self._opened:
            raise Unreadable(self.path, CHANGED)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            os.close(self._descriptor)


class StandardInput(Source):
    """Standard input: of unknown size, and read once except for its first bytes."""

    #: first bytes that are kept, because detecting the format may need them twice
    KEPT_BYTES = 2**24

    def __init__(self, path: str, meter: Meter) -> None:
        super().__init__(path, sys.maxsize, meter)
        meter.stored_bytes = 0
        self._kept = b""

    def read(self, size: int = -1) -> bytes:
        data = self._kept[self._position :][: size if size >= 0 else None]
        if not data:
            if sys.stdin is None:
                raise Unreadable(self.path, "standard input is closed")
            try:
                data = sys.stdin.buffer.read(size)
            except OSError as error:
                raise Unreadable(self.path, system_reason(error)) from None
            keeps = self._position == len(self._kept) and self._position + len(data) <= self.KEPT_BYTES
            self._kept = self._kept + data if keeps else b""
            self._meter.bytes_read += len(data)
            self._meter.stored_bytes += len(data)
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET or not offset <= self._position <= len(self._kept):
            raise Unreadable(self.path, "standard input does not allow the seeks that this format needs")
        self._position = offset
        return offset


class RemoteSource(Source):
    """An object behind a URL; every read is a request for a range, without a cache."""

    def __init__(self, file: CorpusFile, meter: Meter) -> None:
        self._system, self._at = file_system(file.location)
        self.path = file.path
        self.version, size = self._state()
        super().__init__(file.path, size, meter)

    def _state(self) -> tuple[str, int]:
        with _answers(self.path):
            info = self._system.info(self._at)
        return version_of(info), int(info.get("size") or 0)

    def fetch(self, offset: int, size: int) -> bytes:
        with _answers(self.path):
            data = bytes(self._system.cat_file(self._at, start=offset, end=offset + size))
        if len(data) > size:
            raise Unreadable(self.path, "the storage does not serve ranges")
        return data

    def finish(self) -> None:
        if self._state() != (self.version, self.size):
            raise Unreadable(self.path, CHANGED)


class BorrowedSource:
    """A source passed to a library that would close it; `head` are bytes already read from it."""

    closed = False

    def __init__(self, source: Source, head: bytes = b"") -> None:
        self._source, self._head = source, head
        self.seek, self.tell = source.seek, source.tell

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        return head or self._source.read(size)

    def seekable(self) -> bool:
        """As zip archives ask."""
        return True

    def close(self) -> None:
        """Leave the source open."""


def open_file(file: CorpusFile, meter: Meter) -> Source:
    """Open a listed file. Raises Unreadable: the file vanished, may not be read, or is not a regular file any more."""
    if file.location == STANDARD_INPUT:
        return StandardInput(file.path, meter)
    source = RemoteSource(file, meter) if is_remote(file.location) else LocalSource(file, meter)
    if may_be_pointer(source.size) and (stands := POINTER.match(source.fetch(0, source.size))):
        source.close()
        raise Unreadable(file.path, f"a git-lfs pointer to {int(stands[1]):,} B that are not here; `git lfs pull` gets them")
    return source


def read_small(file: CorpusFile, meter: Meter) -> bytes | None:
    """Return the bytes of a small file with one request; None if that fails or its size has changed."""
    remote = is_remote(file.location)
    # storage of an unknown size lists 0 B
    if file.location == STANDARD_INPUT or (remote and not file.stored_bytes) or may_be_pointer(file.stored_bytes):
        return None
    try:
        if remote:
            system, at = file_system(file.location)
            with _answers(file.path):
                data = bytes(system.cat_file(at, start=0, end=file.stored_bytes + 1))
        else:
            descriptor = os.open(file.location, os.O_RDONLY | os.O_NONBLOCK)
            try:
                data = os.read(descriptor, file.stored_bytes + 1)
            finally:
                os.close(descriptor)
    except (OSError, Unreadable):
        return None
    if len(data) != file.stored_bytes:
        return None
    meter.stored_bytes = len(data)
    meter.bytes_read += len(data)
    return data


class Stream(Protocol):
    """A sequential reader of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return between 1 and `size` bytes; none at the end."""


class SourceRange:
    """A range of a source as a stream."""

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self._source, self._stop = source, stop
        source.seek(start)

    def read(self, size: int, /) -> bytes:
        return self._source.read(min(size, self._source.step, self._stop - self._source.tell()))


class _Input:
    """A buffered source: the decompressors of the standard library read in small steps."""

    def __init__(self, source: Source, head: bytes) -> None:
        self._source = source
        self._held = io.BytesIO(head)
        self.at_end = False

    def read(self, size: int) -> bytes:
        data = self._held.read(size)
        while len(data) < size and (more := self._source.read(max(size, INPUT_BYTES))):
            self._held = io.BytesIO(more)
            data += self._held.read(size - len(data))
        self.at_end = not data
        return data


_FILES: dict[str, Callable[[Any], Stream]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    "xz": lambda file: lzma.LZMAFile(file, format=lzma.FORMAT_XZ),  # noqa: SIM115
    "bz2": bz2.BZ2File,
}


class Decompressed:
    """The contents of a compressed file with any number of members or frames."""

    def __init__(self, source: Source, compression: str) -> None:
        self._path, self._compression = source.path, compression
        head = source.read(len(MAGIC[compression]))
        if head and not (head == MAGIC[compression] or (compression == "zstd" and head[1:] == ZSTD_SKIPPABLE)):
            raise Unreadable(source.path, f"other bytes instead of its {compression} data")
        self._input = _Input(source, head)
        self._file: Any = None
        if head and compression == "zstd":
            import pyarrow

            # Arrow closes what it reads; `zstandard` does not notice that a file is truncated
            self._file = pyarrow.CompressedInputStream(pyarrow.PythonFile(BorrowedSource(source, head), mode="r"), "zstd")
        elif head:
            self._file = _FILES[compression](self._input)

    def read(self, size: int, /) -> bytes:
        if self._file is None:
            return b""
        try:
            data: bytes = self._file.read(size)
        except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, EOFError) or "Truncated" in str(error):
                raise Unreadable(self._path, f"truncated: its {self._compression} data has no end") from None
            if "too much memory" in str(error):
                reason = f"needs a zstd window of more than {ZSTD_WINDOW}: compress it again without --long or --ultra"
                raise Unreadable(self._path, reason) from None
            raise Unreadable(self._path, f"broken {self._compression} data: {error}") from None
        # bz2 and lzma stop silently at data of another format
        if not data and self._compression in ("bz2", "xz") and not self._input.at_end:
            raise Unreadable(self._path, f"other bytes after the end of its {self._compression} data")
        return data


def decompressed(source: Source, compression: str) -> Stream:
    """Return the decompressed contents of a source, or the source itself if it is not compressed.

    Raises Unreadable, now or during a read: the data is broken, truncated or of another format.
    """
    return Decompressed(source, compression) if compression else source


@contextmanager
def decompressed_to_disk(source: Source, compression: str) -> Iterator[Source]:
    """Decompress a file whose format needs seeking into a temporary file, deleted at the end of the block.

    Raises Unreadable: the file is broken, or needs more than half of the free temporary disk space.
    """
    with tempfile.TemporaryFile() as file:
        room = int(shutil.disk_usage(tempfile.gettempdir()).free * MOST_OF_ROOM)
        stream = decompressed(source, compression)
        try:
            while data := stream.read(OUTPUT_BYTES):
                file.write(data)
                if file.tell() > room:
                    raise Unreadable(source.path, f"decompresses to more than {room} B, half of the room for temporary files")
        except OSError as error:
            raise Unreadable(source.path, f"cannot be decompressed into a temporary file: {error.strerror}") from None
        yield Source(source.path, file.tell(), Meter(), file)


def system_reason(error: OSError) -> str:
    """Return an operating-system error as a reason."""
    if isinstance(error, FileNotFoundError):
        return VANISHED
    return printable((error.strerror or str(error) or type(error).__name__).lower())


def is_remote(location: str) -> bool:
    """Whether a location is a URL."""
    return "://" in location


#: package of each protocol's file system
PACKAGES = {protocol: package for package, protocols in KNOWN["packages"].items() for protocol in protocols}
#: names of an object's version among file systems, most reliable first
_VERSIONS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "last_modified", "created")


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system behind a URL, and the path in it. Raises IngestError: protocol unknown, or without its package."""
    import fsspec

    protocol = url.partition("://")[0]
    try:
        system, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError:
        raise IngestError(f"'{protocol}://' needs a package: pip install '{PACKAGES.get(protocol, protocol)}'") from None
    except ValueError as error:
        raise IngestError(f"'{printable(url)}': {first_line(error)}") from None
    return system, path


def version_of(info: dict[str, Any]) -> str:
    """Return an object's version as one word; empty if unknown."""
    return next((str(info[name]).strip('"') for name in _VERSIONS if info.get(name)), "")


def list_remote(url: str, skipped: list[SkippedFile]) -> Iterator[tuple[str, int, str]]:
    """Yield URL, size and version of an object, of the objects below a prefix, or of those that match a glob, in path order.

    Raises UsageError: no object matches; IngestError: the storage refuses the listing.
    """
    root, glob = fixed_part(url) if WILDCARD.search(url.partition("://")[2]) else (url, "")
    wanted = glob_filter(glob) if glob else None
    system, path = file_system(root)
    before = root.rstrip("/").removesuffix(path.strip("/"))
    complaints: list[Exception] = []
    any_found = False
    for info in _infos(system, path, root, complaints):
        if wanted is None or wanted(info["name"][len(path) :].lstrip("/")):
            any_found = True
            yield before + info["name"].lstrip("/"), info["size"], version_of(info)
    if not any_found:
        refusals = [error for error in complaints if not isinstance(error, FileNotFoundError)]
        if refusals:
            raise IngestError(f"'{printable(url)}' cannot be listed: {first_line(refusals[0])}")
        raise UsageError(f"'{printable(url)}': nothing is there")
    skipped += [SkippedFile(printable(root), f"not listed whole: {storage_reason(error)}") for error in complaints]


def _infos(system: Any, path: str, root: str, complaints: list[Exception]) -> Iterator[dict[str, Any]]:
    """The objects at a path, with sizes that are numbers; placeholders of folders are none."""
    try:
        if not root.endswith("/") and system.isfile(path):
            yield (info := system.info(path)) | {"size": int(info.get("size") or 0)}
            return
        for _, folders, files in system.walk(path, detail=True, on_error=complaints.append):
            for name in sorted(files):
                info = files[name]
                if info.get("type") != "directory" and (info.get("size") or not info["name"].endswith("/")):
                    yield info | {"size": int(info.get("size") or 0)}
            for name in sorted(folders):
                folders[name] = folders.pop(name)  # the walk goes on in this order
    except Exception as error:
        # file systems raise any exception, and none may end in a traceback
        raise IngestError(f"'{printable(root)}' cannot be listed: {first_line(error)}") from None


@contextmanager
def _answers(path: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # file systems raise any exception, and none may end in a traceback
        raise Unreadable(path, storage_reason(error)) from None


def storage_reason(error: Exception) -> str:
    """Return an error of any file system as a reason."""
    return VANISHED if isinstance(error, FileNotFoundError) else f"the storage answers: {first_line(error)}"
