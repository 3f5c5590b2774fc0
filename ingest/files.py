"""Writing files so that they are whole or not there."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ingest.errors import IngestError

#: What a new file may be, before the user's mask.
NEW = 0o666
#: What asks a program to end, and would end it without clearing up.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is never half-written.

    Raises:
        IngestError: the folder does not exist or cannot be written.
    """
    write_all({Path(path): content})


def write_all(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files: all of them lie whole under temporary names before the first one gets its own.

    A link stays, and what it leads to is written; a file that is there keeps its permissions. What is no file, such
    as /dev/stdout, is written to as it is.

    Raises:
        IngestError: a folder does not exist or cannot be written; no file is left behind then.
    """
    for target in contents:
        check_target(target)
    waiting: dict[Path, Path] = {}
    target = Path()
    with _clearing_up_when_terminated():
        try:
            for target in filter(_is_file, contents):
                final = _followed(target)
                waiting[target] = final.with_name(f".{final.name}.{os.getpid()}.part")
                _write_new(waiting[target], _as_bytes(contents[target]), final)
            for target, temporary in waiting.items():
                os.replace(temporary, _followed(target))
            for target in contents.keys() - waiting.keys():
                target.write_bytes(_as_bytes(contents[target]))
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
    final = _followed(target)
    if final.is_symlink():
        raise _unwritable(target, os.strerror(errno.ELOOP))
    if target.is_dir():
        raise _unwritable(target, os.strerror(errno.EISDIR))
    if not _is_file(target):
        return
    if not final.parent.is_dir():
        raise _unwritable(target, os.strerror(errno.ENOTDIR if final.parent.exists() else errno.ENOENT))
    if not os.access(final.parent, os.W_OK | os.X_OK):
        raise _unwritable(target, os.strerror(errno.EACCES))


def _followed(target: Path) -> Path:
    """What a name leads to; a link that leads round in a circle stays a link."""
    return Path(os.path.realpath(target))


def _is_file(target: Path) -> bool:
    """Whether there is a file, or none yet, rather than a terminal, a pipe or a device."""
    return target.is_file() or not target.exists()


def _as_bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


def _write_new(temporary: Path, content: bytes, like: Path) -> None:
    """Write a file that nobody may read who may not read the one whose place it takes."""
    mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else None
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, NEW if mode is None else mode & NEW), "wb") as file:
        file.write(content)
    if mode is not None:
        temporary.chmod(mode)


@contextlib.contextmanager
def _clearing_up_when_terminated() -> Iterator[None]:
    """A request to end goes the way of an exception; handlers that somebody has set stay."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may set handlers.
        yield
        return
    free = [number for number in SIGNALS if signal.getsignal(number) == signal.SIG_DFL]
    for number in free:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in free:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


def _unwritable(target: Path, why: str | None) -> IngestError:
    return IngestError(f"--output: '{target}' cannot be written: {why}")
