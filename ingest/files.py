"""Writing files so that they are whole or not there."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from pathlib import Path

from ingest.errors import IngestError


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is never half-written.

    Raises:
        IngestError: the folder does not exist or cannot be written.
    """
    write_all({Path(path): content})


def write_all(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files: all of them lie whole under temporary names before the first one gets its own.

    Raises:
        IngestError: a folder does not exist or cannot be written; no file is left behind then.
    """
    for target in contents:
        check_target(target)
    waiting: dict[Path, Path] = {}
    target = Path()
    try:
        for target, content in contents.items():
            waiting[target] = target.with_name(f".{target.name}.{os.getpid()}.part")
            waiting[target].write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        for target, temporary in waiting.items():
            os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(target, error.strerror) from None
    finally:
        for temporary in waiting.values():
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def check_target(target: Path) -> None:
    """Refuse a file that cannot be written, before any work is done for it.

    Raises:
        IngestError: its folder does not exist or cannot be written, or a folder has its name.
    """
    if not target.parent.is_dir():
        raise _unwritable(target, os.strerror(errno.ENOTDIR if target.parent.exists() else errno.ENOENT))
    if target.is_dir():
        raise _unwritable(target, os.strerror(errno.EISDIR))
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise _unwritable(target, os.strerror(errno.EACCES))


def _unwritable(target: Path, why: str | None) -> IngestError:
    return IngestError(f"--output: '{target}' cannot be written: {why}")
