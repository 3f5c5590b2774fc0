"""Writing a folder of files whole, or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ingest.errors import IngestError, UsageError


def sha256(content: bytes) -> str:
    """The hash of a file's content, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


def write_folder(target: Path, files: Mapping[str, str], force: bool) -> None:
    """Write files into a new or empty folder: built beside their places under a temporary name, then moved.

    Args:
        target: the folder; it stays the same folder where there is one, with its mode, and may be a link to one.
        files: path inside it -> content; scripts (`.sh`) are made executable.
        force: replace what an earlier call wrote there; anything else in the folder stays.

    Raises:
        UsageError: the folder has something in it and `force` is not given, or was not written by `ingest accept`.
        IngestError: it cannot be written.
    """
    target = Path(os.path.abspath(target))
    present = _present(target)
    if present and not force:
        raise UsageError(
            f"-o: '{target.name}' holds {len(present)} entries, expected an empty or new folder; --force replaces them"
        )
    if present and not {"tests.json", "SHA256SUMS"} <= set(present):
        lacking = "tests.json" if "tests.json" not in present else "SHA256SUMS"
        raise UsageError(f"-o: '{target.name}' was not written by `ingest accept` (no {lacking}), expected another folder")
    building: Path | None = None
    try:
        above = target if target.is_dir() else target.parent
        if not above.is_dir():
            raise IngestError(f"-o: there is no folder '{above}' to make '{target.name}' in, expected one")
        building = Path(tempfile.mkdtemp(prefix=".ingest-accept-", dir=above))
        for name, content in files.items():
            path = building / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
        if above == target:
            _move_in(target, building, files, _listed(target) if present else set())
        else:
            building.chmod(0o755)
            os.replace(building, target)
    except OSError as error:
        raise IngestError(f"-o: '{target}' cannot be written: {error.strerror}") from None
    finally:
        if building is not None:
            shutil.rmtree(building, ignore_errors=True)


def _present(target: Path) -> list[str]:
    try:
        return sorted(os.listdir(target))
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise UsageError(f"-o: '{target}' is a file, expected a folder") from None
    except OSError as error:
        raise IngestError(f"-o: '{target}' cannot be read: {error.strerror}") from None


def _listed(target: Path) -> set[str]:
    """What the earlier call wrote, by its own sums: nothing else in the folder is replaced or removed."""
    lines = (target / "SHA256SUMS").read_text(encoding="utf-8", errors="replace").splitlines()
    names = {line.split("  ", 1)[-1] for line in lines}
    return {name for name in names if name and not name.startswith("/") and ".." not in name.split("/")} | {"SHA256SUMS"}


def _move_in(target: Path, building: Path, files: Mapping[str, str], old: set[str]) -> None:
    """New files take their places one by one, `SHA256SUMS` last: a call that was cut off shows in its sums."""
    foreign = [name for name in files if name not in old and os.path.lexists(target / name) and name != "hosts.txt"]
    if foreign:
        raise IngestError(f"-o: '{target / foreign[0]}' was not written by `ingest accept`, expected no file of that name")
    for name in sorted(files, key=lambda name: name == "SHA256SUMS"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(building / name, target / name)
    for name in old - set(files) - {"hosts.txt"}:
        (target / name).unlink(missing_ok=True)
        _remove_empty(target / name, target)


def _remove_empty(path: Path, target: Path) -> None:
    for folder in path.parents:
        if folder == target or any(folder.iterdir() if folder.is_dir() else ()):
            return
        if folder.is_dir():
            folder.rmdir()
