"""Models wherever they are: a catalog id, a file, a folder, or a folder behind a URL such as `s3://bucket/model`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.architecture.model_description import describe
from ingest.architecture.structure import Architecture
from ingest.catalog.store import Catalog
from ingest.errors import IngestError

if TYPE_CHECKING:
    from ingest.corpus.types import SkippedFile

#: Files of a release at most; a URL that names a whole bucket is a mistake.
MOST_FILES = 10_000


def is_url(source: object) -> bool:
    """Whether a model is named by a URL."""
    return isinstance(source, str) and "://" in source


def model_structure(source: str | Path, catalog: Catalog, *, strict: bool = False) -> Architecture:
    """Return the structure of a model.

    Args:
        source: what `describe` takes, or the URL of the folder of a release.
        catalog: where ids are looked up.
        strict: refuse a config with a key that its family has not looked at and that may change a weight.

    Raises:
        UsageError: no such file, folder or id.
        IngestError: an unreadable file, or a family that is not described.
    """
    if not is_url(source):
        return describe(source, catalog, strict=strict)
    # Most models are files and ids: what reads releases and remote storage is imported for them only.
    from ingest.architecture.release_description import from_release

    url = str(source).rstrip("/")
    return from_release(url.rpartition("/")[2], RemoteFiles(url), strict=strict)


class RemoteFiles:
    """The files of a release behind a URL; a header is read with two requests for a range.

    Raises:
        UsageError: nothing is there.
        IngestError: the storage refuses, its package is not installed, or there are too many files for a release.
    """

    def __init__(self, url: str) -> None:
        from ingest.corpus.files import source

        self.place, self._reason = url, source.storage_reason
        self._system, self._path = source.file_system(url)
        skipped: list[SkippedFile] = []
        sizes: dict[str, int] = {}
        for found, size, _ in source.list_remote(f"{url}/", skipped):
            sizes[found.removeprefix(url).lstrip("/")] = size
            if len(sizes) > MOST_FILES:
                raise IngestError(f"{url}: found more than {MOST_FILES:,} files, expected the folder of a model")
        self.sizes: Mapping[str, int] = sizes

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return bytes of a file."""
        try:
            return bytes(self._system.cat_file(f"{self._path.rstrip('/')}/{name}", start=offset, end=offset + size))
        except Exception as error:
            # file systems raise any exception, and none may end in a traceback
            raise IngestError(f"{self.place}/{name}: cannot be read: {self._reason(error)}") from None
