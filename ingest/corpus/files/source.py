"""Opened files, wherever they are stored: local files, standard input, and objects behind URLs, listed and read by fsspec."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from ingest.corpus.files.names import first_line, fixed_part, glob_filter, has_wildcard, printable
from ingest.corpus.types import CorpusFile, SkippedFile
from ingest.errors import IngestError, UsageError

CHANGED = "changed while it was read"
VANISHED = "vanished since it was listed"
#: standard input has no name
STANDARD_INPUT = "-"


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


class Source:
    """An open file, readable at any position up to the size it had when it was opened; `file` is one in memory or on disk."""

    def __init__(self, path: str, size: int, meter: Meter, file: IO[bytes] | None = None) -> None:
        self.path = path
        self.size = size
        self.closed = False
        self._meter = meter
        self._position = 0
        self._file = file
        meter.stored_bytes = size

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
        self._version, size = self._state()
        super().__init__(file.path, size, meter)

    def _state(self) -> tuple[str, int]:
        try:
            info = self._system.info(self._at)
        except Exception as error:
            raise Unreadable(self.path, storage_reason(error)) from None
        return version_of(info), int(info.get("size") or 0)

    def fetch(self, offset: int, size: int) -> bytes:
        data = _range(self._system, self._at, offset, size, self.path)
        if len(data) > size:
            raise Unreadable(self.path, "the storage does not serve ranges")
        return data

    def finish(self) -> None:
        if self._state() != (self._version, self.size):
            raise Unreadable(self.path, CHANGED)


class BorrowedSource:
    """A source passed to a library that would close it; `head` are bytes already read from it."""

    closed = False

    def __init__(self, source: Source, head: bytes = b"") -> None:
        self._source = source
        self._head = head
        self.seek = source.seek
        self.tell = source.tell

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        return head or self._source.read(size)

    def close(self) -> None:
        """Leave the source open."""


def open_file(file: CorpusFile, meter: Meter) -> Source:
    """Open a listed file. Raises Unreadable: the file vanished, may not be read, or is not a regular file any more."""
    if file.location == STANDARD_INPUT:
        return StandardInput(file.path, meter)
    return RemoteSource(file, meter) if is_remote(file.location) else LocalSource(file, meter)


def read_small(file: CorpusFile, meter: Meter) -> bytes | None:
    """Return the bytes of a small file with one request; None if that fails or its size has changed."""
    remote = is_remote(file.location)
    # storage of an unknown size lists 0 B
    if file.location == STANDARD_INPUT or (remote and not file.stored_bytes):
        return None
    try:
        if remote:
            data = _range(*file_system(file.location), 0, file.stored_bytes + 1, file.path)
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


def system_reason(error: OSError) -> str:
    """Return an operating-system error as a reason."""
    if isinstance(error, FileNotFoundError):
        return VANISHED
    return printable((error.strerror or str(error) or type(error).__name__).lower())


def is_remote(location: str) -> bool:
    """Whether a location is a URL."""
    return "://" in location


#: package of each protocol's file system
PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "ingest-sizing[s3]"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "adlfs"),
    **dict.fromkeys(("http", "https"), "aiohttp"),
    **dict.fromkeys(("sftp", "ssh"), "paramiko"),
    "hdfs": "pyarrow",
}
#: names of an object's version among file systems, most reliable first
_VERSIONS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "last_modified", "created")


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system behind a URL and the path in it.

    Raises IngestError: the protocol is unknown, or its package is not installed.
    """
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
    root, glob = fixed_part(url) if has_wildcard(url.partition("://")[2]) else (url, "")
    wanted = glob_filter(glob) if glob else None
    system, path = file_system(root)
    before = root.rstrip("/").removesuffix(path.strip("/"))
    complaints: list[Exception] = []
    any_found = False
    for info in _infos(system, path, root, complaints):
        if wanted is None or wanted(info["name"][len(path) :].lstrip("/")):
            any_found = True
            yield before + info["name"].lstrip("/"), int(info.get("size") or 0), version_of(info)
    if not any_found:
        refusals = [error for error in complaints if not isinstance(error, FileNotFoundError)]
        if refusals:
            raise IngestError(f"'{printable(url)}' cannot be listed: {first_line(refusals[0])}")
        raise UsageError(f"'{printable(url)}': nothing is there")
    skipped += [SkippedFile(printable(root), f"not listed whole: {storage_reason(error)}") for error in complaints]


def _infos(system: Any, path: str, root: str, complaints: list[Exception]) -> Iterator[dict[str, Any]]:
    """The objects at a path; placeholders of folders are none."""
    try:
        if not root.endswith("/") and system.isfile(path):
            yield system.info(path)
            return
        for _, folders, files in system.walk(path, detail=True, on_error=complaints.append):
            for name in sorted(files):
                info = files[name]
                if info.get("type") != "directory" and (info.get("size") or not info["name"].endswith("/")):
                    yield info
            for name in sorted(folders):
                folders[name] = folders.pop(name)  # the walk goes on in this order
    except Exception as error:
        # file systems raise any exception, and none may end in a traceback
        raise IngestError(f"'{printable(root)}' cannot be listed: {first_line(error)}") from None


def _range(system: Any, at: str, offset: int, size: int, path: str) -> bytes:
    try:
        return bytes(system.cat_file(at, start=offset, end=offset + size))
    except Exception as error:
        # file systems raise any exception, and none may end in a traceback
        raise Unreadable(path, storage_reason(error)) from None


def storage_reason(error: Exception) -> str:
    """Return an error of any file system as a reason."""
    return VANISHED if isinstance(error, FileNotFoundError) else f"the storage answers: {first_line(error)}"
