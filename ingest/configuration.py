"""The configuration file of the user, the environment variables that override it, and the folders of the catalogs in force."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ingest.errors import IngestError, UsageError, brief, expected_one_of
from ingest.files import open_regular

#: How sizes and rates in bytes are displayed: the number in powers of 1000 first, or the one in powers of 1024.
DECIMAL, BINARY = "decimal", "binary"
UNITS = (DECIMAL, BINARY)
#: keys of the file -> the environment variable that overrides each
VARIABLES = {"catalogs": "INGEST_CATALOGS", "units": "INGEST_UNITS", "currency": "INGEST_CURRENCY"}
#: Letters of a currency, such as EUR or US$.
MOST_LETTERS = 12
#: Where a setting comes from.
ENVIRONMENT, FILE = "environment", "configuration"
#: Where a folder of catalogs comes from besides: an option, or its place.
OPTION, FOLDER = "user", "user folder"
#: What a folder of catalogs should be.
EXPECTED = "expected one laid out like `ingest catalog path`"
_PACKAGE = Path(__file__).parent
#: Paths that each call looks at.
_path = lru_cache(maxsize=64)(Path)


class Configuration(NamedTuple):
    """What holds unless an option says otherwise."""

    #: folders of entries, the last one overrides; with the place that names each, for messages
    catalogs: tuple[tuple[Path, str], ...] = ()
    units: str = DECIMAL  # `decimal` or `binary`
    currency: str = ""  # of prices that the user gives; empty where it is unknown
    origins: Mapping[str, str] = {}  # where each setting comes from, by its key


def configuration_folder(*below: str) -> Path:
    """Return the folder of the user's configuration and catalogs, or one below it; it need not exist."""
    base = os.environ.get("APPDATA") or os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return _path(base, "ingest", *below)


def configuration_file() -> Path:
    """Return the path of the configuration file; it need not exist."""
    return configuration_folder() / "config.yaml"


_read: Configuration | None = None
_decimal = ContextVar("decimal units whatever the user prefers", default=False)


def configuration() -> Configuration:
    """The configuration in force; the file is read once.

    Raises:
        IngestError: the file is broken; names its line.
        UsageError: a variable of the environment has a value that it cannot have.
    """
    global _read  # noqa: PLW0603  one file and one environment per process
    if _read is None:
        _read = read_configuration(configuration_file())
    return _read


def forget_configuration() -> None:
    """Read the file and the environment again when a setting is next needed."""
    global _read  # noqa: PLW0603
    _read = None


def binary_first() -> bool:
    """Whether sizes and rates in bytes are displayed in powers of 1024 first."""
    return not _decimal.get() and (_read or configuration()).units == BINARY


@contextmanager
def decimal_units() -> Iterator[None]:
    """Display decimal units whatever the user prefers: the words of a tender are the same for everyone."""
    before = _decimal.set(True)
    try:
        yield
    finally:
        _decimal.reset(before)


def read_configuration(path: Path) -> Configuration:
    """Return the settings of a file and of the environment, which overrides it; without a file, those of the environment.

    Raises:
        IngestError: the file is broken; names its line.
        UsageError: a variable of the environment has a value that it cannot have.
    """
    found: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, (value, place) in _settings(path).items():
        found[key], origins[key] = _checked(key, value, place, path.parent, IngestError), FILE
    for key in ("units", "currency"):
        if written := os.environ.get(VARIABLES[key]):
            found[key] = _checked(key, written, VARIABLES[key], Path(), UsageError)
            origins[key] = ENVIRONMENT
    return Configuration(**found, origins=origins)


def _settings(path: Path) -> dict[str, tuple[Any, str]]:
    """The keys of the file: value and place of each."""
    try:
        with open_regular(path) as file:
            text = file.read().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no UTF-8"
        raise IngestError(f"{path}: cannot be read: {why}, expected keys and values: {', '.join(VARIABLES)}") from None
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
        value = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise IngestError(f"{path}:{line}: {getattr(error, 'problem', None) or 'no YAML'}, expected keys and values") from None
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode) or not isinstance(value, dict):
        raise IngestError(f"{path}:1: found {brief(value)}, expected keys and values: {', '.join(VARIABLES)}")
    places: dict[str, str] = {}
    for key, _ in root.value:
        place = f"{path}:{key.start_mark.line + 1}"
        if key.value not in VARIABLES:
            raise IngestError(f"{place}: unknown key '{key.value}', {expected_one_of(key.value, VARIABLES)}")
        if key.value in places:
            raise IngestError(f"{place}: {key.value}: found a second time, expected once")
        places[key.value] = f"{place}: {key.value}"
    return {key: (value[key], place) for key, place in places.items()}


def _checked(key: str, value: Any, place: str, folder: Path, error: type[IngestError]) -> Any:
    """A setting as it is used."""
    if key == "catalogs":
        folders = [value] if isinstance(value, str) else value
        if not isinstance(folders, list) or not all(isinstance(one, str) and one for one in folders):
            raise error(f"{place}: found {brief(value)}, expected a folder or a list of folders")
        return tuple((folder / Path(one).expanduser(), place) for one in folders)
    if key == "units" and value not in UNITS:
        raise error(f"{place}: found {brief(value)}, {expected_one_of(value, UNITS)}")
    if key == "currency" and not (isinstance(value, str) and value.isprintable() and 0 < len(value.strip()) <= MOST_LETTERS):
        raise error(f"{place}: found {brief(value)}, expected text of at most {MOST_LETTERS} letters, such as EUR")
    return value.strip()


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
    return configuration_folder("catalogs")


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
            if not isinstance(folder, (str, Path)) or not os.path.isdir(folder):
                raise UsageError(f"{option}: '{folder}' is not a folder, {EXPECTED}")
    configured = configuration().catalogs
    for path, place in configured:
        if not os.path.isdir(path):
            raise IngestError(f"{place}: '{path}' is not a folder, {EXPECTED}")
    own = [folder] if os.path.isdir(folder := user_folder()) else []
    named = (
        *((OPTION, Path(folder)) for folder in reversed(given)),
        *((ENVIRONMENT, Path(folder)) for folder in reversed(environment)),
        *((FILE, path) for path, _ in reversed(configured)),
        *((FOLDER, path) for path in own),
    )
    return tuple(Overlay(folder, origin) for origin, folder in named)
