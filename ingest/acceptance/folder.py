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
    """Write files into a new folder: built beside it under a temporary name, then renamed.

    Args:
        target: the folder.
        files: path inside it -> content; scripts (`.sh`) are made executable.
        force: replace what an earlier call wrote there; anything else in the folder stops it.

    Raises:
        UsageError: the folder has something in it and `force` is not given.
        IngestError: it cannot be written.
    """
    target = Path(os.path.abspath(target))
    present = _present(target)
    if present and not force:
        raise UsageError(
            f"-o: '{target.name}' holds {len(present)} entries, expected an empty or new folder; --force replaces them"
        )
    if present and "tests.json" not in present:
        raise UsageError(f"-o: '{target.name}' was not written by `ingest accept` (no tests.json), expected another folder")
    building: Path | None = None
    try:
        building = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        for name, content in files.items():
            path = building / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
        building.chmod(0o755)
        _replace(target, building, bool(present))
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


def _replace(target: Path, building: Path, occupied: bool) -> None:
    if not occupied:
        os.replace(building, target)
        return
    _keep_what_others_wrote(target, building)
    old = building.with_name(f"{building.name}.old")
    os.replace(target, old)
    try:
        os.replace(building, target)
    except OSError:
        os.replace(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _keep_what_others_wrote(target: Path, building: Path) -> None:
    """Results, hosts files and notes come along; only what the earlier call listed in its sums is replaced."""
    listed = {line.split("  ", 1)[-1] for line in (target / "SHA256SUMS").read_text(encoding="utf-8").splitlines()}
    for path in sorted(target.rglob("*")):
        name = path.relative_to(target)
        if path.is_dir() and not path.is_symlink():
            (building / name).mkdir(exist_ok=True)
        elif str(name) not in {*listed, "SHA256SUMS"} and not (building / name).exists():
            _link(path, building / name)


def _link(path: Path, other: Path) -> None:
    """A second name for a file, or a copy where the file system has no such thing: the first one stays until the end."""
    try:
        os.link(path, other, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, other, follow_symlinks=False)
