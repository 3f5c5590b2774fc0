"""Objects behind URLs, listed and read in ranges through fsspec, without a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.corpus.files.file_kind import first_line, printable
from ingest.corpus.files.globs import fixed_part, glob_filter, has_magic
from ingest.corpus.files.source import CHANGED, VANISHED, Meter, Positioned, Unreadable
from ingest.corpus.types import CorpusFile, SkippedFile
from ingest.errors import IngestError, UsageError

#: package of each protocol's file system
PACKAGES = {
    "s3": "ingest-sizing[s3]",
    "s3a": "ingest-sizing[s3]",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "hdfs": "pyarrow",
    "http": "aiohttp",
    "https": "aiohttp",
    "sftp": "paramiko",
    "ssh": "paramiko",
}
#: names of an object's version among file systems, most reliable first
_VERSIONS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "last_modified", "created")


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system behind a URL and the path in it.

    Raises:
        IngestError: the protocol is unknown, or its package is not installed.
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
    """Return an object's version as one word; empty if unknown.

    >>> version_of({"ETag": '"9a0364b9"', "size": 3})
    '9a0364b9'
    """
    return next((str(info[name]).strip('"') for name in _VERSIONS if info.get(name)), "")


def list_remote(url: str, skipped: list[SkippedFile]) -> Iterator[tuple[str, int, str]]:
    """Yield URL, size and version of an object, of the objects below a prefix, or of those that match a glob, in path order.

    Raises:
        UsageError: no object matches.
        IngestError: the storage refuses the listing.
    """
    root, glob = fixed_part(url) if has_magic(url.partition("://")[2]) else (url, "")
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
    try:
        if not root.endswith("/") and system.isfile(path):
            yield system.info(path)
            return
        for _, folders, files in system.walk(path, detail=True, on_error=complaints.append):
            yield from (files[name] for name in sorted(files) if not _is_placeholder(files[name]))
            for name in sorted(folders):
                folders[name] = folders.pop(name)  # the walk goes on in this order
    except Exception as error:
        # file systems raise any exception, and none may end in a traceback
        raise IngestError(f"'{printable(root)}' cannot be listed: {first_line(error)}") from None


def _is_placeholder(info: dict[str, Any]) -> bool:
    """Whether an object is the placeholder of a folder."""
    return info.get("type") == "directory" or (info["name"].endswith("/") and not info.get("size"))


class RemoteSource(Positioned):
    """An object behind a URL; every read is a request for a range."""

    def __init__(self, file: CorpusFile, meter: Meter) -> None:
        self._system, self._at = file_system(file.location)
        self._file = file
        self._version, size = self._state()
        super().__init__(file.path, size, meter)

    def _state(self) -> tuple[str, int]:
        try:
            info = self._system.info(self._at)
        except Exception as error:
            raise Unreadable(self._file.path, storage_reason(error)) from None
        return version_of(info), int(info.get("size") or 0)

    def fetch(self, offset: int, size: int) -> bytes:
        data = _range(self._system, self._at, offset, size, self.path)
        if len(data) > size:
            raise Unreadable(self.path, "the storage does not serve ranges")
        return data

    def finish(self) -> None:
        if self._state() != (self._version, self.size):
            raise Unreadable(self.path, CHANGED)


def read_small_object(file: CorpusFile) -> bytes:
    """Return a small object, or one byte more than its listed size, with one request."""
    system, at = file_system(file.location)
    return _range(system, at, 0, file.stored_bytes + 1, file.path)


def _range(system: Any, at: str, offset: int, size: int, path: str) -> bytes:
    try:
        return bytes(system.cat_file(at, start=offset, end=offset + size))
    except Exception as error:
        # file systems raise any exception, and none may end in a traceback
        raise Unreadable(path, storage_reason(error)) from None


def storage_reason(error: Exception) -> str:
    """Return an error of any file system as a reason.

    >>> storage_reason(FileNotFoundError("bucket/key")), storage_reason(OSError("Slow down"))
    ('vanished since it was listed', 'the storage answers: Slow down')
    """
    return VANISHED if isinstance(error, FileNotFoundError) else f"the storage answers: {first_line(error)}"
