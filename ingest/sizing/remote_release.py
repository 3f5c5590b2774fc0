"""The files of a release behind a URL such as `s3://bucket/model`."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.corpus.files.source import file_system, list_remote, storage_reason
from ingest.corpus.types import SkippedFile
from ingest.errors import IngestError

#: Files of a release at most; a URL that names a whole bucket is a mistake.
MOST_FILES = 10_000


class RemoteFiles:
    """The files of a release behind a URL; a header is read with two requests for a range.

    Raises:
        UsageError: nothing is there.
        IngestError: the storage refuses, its package is not installed, or there are too many files for a release.
    """

    def __init__(self, url: str) -> None:
        self.place = url.rstrip("/")
        self._system, self._path = file_system(self.place)
        skipped: list[SkippedFile] = []
        sizes: dict[str, int] = {}
        for found, size, _ in list_remote(f"{self.place}/", skipped):
            sizes[found.removeprefix(self.place).lstrip("/")] = size
            if len(sizes) > MOST_FILES:
                raise IngestError(f"{self.place}: found more than {MOST_FILES:,} files, expected the folder of a model")
        self.sizes: Mapping[str, int] = sizes

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return bytes of a file."""
        try:
            return bytes(self._system.cat_file(f"{self._path.rstrip('/')}/{name}", start=offset, end=offset + size))
        except Exception as error:
            # file systems raise any exception, and none may end in a traceback
            raise IngestError(f"{self.place}/{name}: cannot be read: {storage_reason(error)}") from None
