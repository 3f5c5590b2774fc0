"""Models wherever they are: a catalog id, a file, a folder, or a folder behind a URL such as `s3://bucket/model`."""

from __future__ import annotations

from pathlib import Path

from ingest.architecture.model_description import describe
from ingest.architecture.structure import Architecture
from ingest.catalog.store import Catalog


def is_url(source: object) -> bool:
    """Whether a model is named by a URL.

    >>> is_url("s3://bucket/model"), is_url("model/config.json")
    (True, False)
    """
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
    from ingest.sizing.remote_release import RemoteFiles

    url = str(source).rstrip("/")
    return from_release(url.rpartition("/")[2], RemoteFiles(url), strict=strict)
