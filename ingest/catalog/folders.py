"""The folders of the catalogs in force: options, environment, configuration file, the user's own folder, then shipped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.configuration import ENVIRONMENT, FILE, configuration, configuration_folder
from ingest.errors import IngestError, UsageError

_PACKAGE = Path(__file__).parent.parent
#: Where an overlay comes from, besides the environment and the configuration file: an option, or its place.
OPTION, FOLDER = "user", "user folder"
EXPECTED = "expected one laid out like `ingest catalog path`"


class Overlay(NamedTuple):
    """A folder of the user's own entries, and where it comes from."""

    folder: Path
    origin: str


def shipped_folder() -> Path:
    """Return the catalogs inside the package (a wheel) or next to it (a checkout)."""
    inside = _PACKAGE / "catalogs"
    return inside if inside.is_dir() else _PACKAGE.parent / "catalogs"


def user_folder() -> Path:
    """Return the folder of the user's own catalogs, below the configuration folder; it need not exist."""
    return configuration_folder() / "catalogs"


def overlays_in_force(options: str | Path | Sequence[str | Path] = ()) -> tuple[Overlay, ...]:
    """Return the folders above the shipped one, the nearest first.

    Args:
        options: folders of `--catalogs`; a later one overrides an earlier one.

    Raises:
        UsageError: an option or INGEST_CATALOGS names no folder.
        IngestError: the configuration file is broken, or names no folder.
    """
    given = [options] if isinstance(options, (str, Path)) or not isinstance(options, Sequence) else options
    environment = [part for part in os.environ.get("INGEST_CATALOGS", "").split(os.pathsep) if part]
    for option, folders in (("--catalogs", given), ("INGEST_CATALOGS", environment)):
        for folder in folders:
            if not isinstance(folder, (str, Path)) or not Path(folder).is_dir():
                raise UsageError(f"{option}: '{folder}' is not a folder, {EXPECTED}")
    configured = configuration().catalogs
    for path, place in configured:
        if not path.is_dir():
            raise IngestError(f"{place}: '{path}' is not a folder, {EXPECTED}")
    own = [user_folder()] if user_folder().is_dir() else []
    named = (
        *((OPTION, Path(folder)) for folder in reversed(given)),
        *((ENVIRONMENT, Path(folder)) for folder in reversed(environment)),
        *((FILE, path) for path, _ in reversed(configured)),
        *((FOLDER, path) for path in own),
    )
    return tuple(Overlay(folder, origin) for origin, folder in named)
