"""Reading files that a user names, and writing files so that they are whole or not there."""

from __future__ import annotations

import contextlib
import csv
import errno
import gc
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

from ingest.errors import IngestError, UsageError, brief, cannot_be_read

#: Permissions of a new file, before the user's mask.
NEW = 0o666
#: Signals that would end the program without cleaning up.
SIGNALS = ("SIGTERM", "SIGHUP")
#: How the folders begin in which a call of `accept` builds.
BUILDING = ".ingest-accept-"
#: What its calls always write: the manifest of the tests, or the job that reads as an observed one.
MANIFESTS = {"tests.json", "observed.fio"}
#: A float holds no number of more digits.
MOST_DIGITS = 300
#: A larger file is none of those that are read whole.
MOST_BYTES = 2**30


#: Device and inode, which are the same under each name of a file.
Identity = tuple[int, int]
#: Files that the command which runs will replace: the name of each; and those of them that it has read.
_outputs: dict[Identity, str] = {}
_read: set[Identity] = set()


def identity_of(status: os.stat_result) -> Identity:
    """Device and inode of a file."""
    return status.st_dev, status.st_ino


def note_outputs(paths: Iterable[str | Path]) -> None:
    """Note the files that the command which runs will replace, so that it refuses those that it reads too.

    Raises IngestError: one of them cannot be written, or is given twice.
    """
    paths = [*paths]
    refuse_twice(paths)
    for path in paths:
        check_target(Path(path))
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                _outputs[identity_of(status)] = str(path)


def refuse_twice(paths: Iterable[str | Path]) -> None:
    """Refuse two names of one file, which would leave only the last content. Raises UsageError: the second of them."""
    meant: dict[Path, Path] = {}
    for path in map(Path, paths):
        first = meant.setdefault(path.resolve(), path)
        if first is not path:
            also = "" if str(first) == str(path) else f", as '{first}' too"
            raise UsageError(f"--output: '{path}' is given twice{also}, expected each file once")


def forget_outputs() -> None:
    """Forget them after the command: a session may read a file, and later replace it."""
    _outputs.clear()
    _read.clear()


def will_replace(path: str | Path) -> bool:
    """Whether the command that runs has this name for a file that was there before it ran."""
    return str(path) in _outputs.values()


def refuse_output(identity: Identity) -> None:
    """Refuse at once to read a file that the command would replace: for an input whose reading takes long.

    Raises UsageError: the command that runs would replace it.
    """
    if identity in _outputs:
        raise UsageError(f"-o: '{_outputs[identity]}' is also read; expected another file")


def refuse_named(words: Iterable[object]) -> None:
    """Refuse a file that the words of a command name beside its outputs, even one that it does not come to read.

    Raises UsageError: the command that runs would replace it.
    """
    for word in words:
        with contextlib.suppress(OSError, ValueError):
            if _outputs and isinstance(word, (str, Path)):
                refuse_output(identity_of(os.stat(word)))


#: Of a site file that is being read: its own folder, and what else may be read; None where the user names each file.
_confined: ContextVar[tuple[str, tuple[str, ...]] | None] = ContextVar("confined", default=None)


@contextlib.contextmanager
def confined(folder: str | Path, *others: str | Path) -> Iterator[None]:
    """Read nothing meanwhile but what lies in a folder, links resolved and nothing hidden, in one of the others, or here."""
    token = _confined.set((os.path.realpath(folder), tuple(map(os.path.realpath, (Path(__file__).parent, *others)))))
    try:
        yield
    finally:
        _confined.reset(token)


def refuse_outside(path: str | Path) -> None:
    """Refuse a file that a site file must not name. Raises OSError."""
    if (allowed := _confined.get()) is None:
        return
    (folder, others), real = allowed, os.path.realpath(path)
    below = os.path.relpath(real, folder).split(os.sep)
    if any(part.startswith(".") for part in below) and all(os.path.commonpath((real, one)) != one for one in others):
        raise OSError(errno.EACCES, f"outside of the folder of the site file or hidden ({OUTSIDE})", str(path))


#: how a user lets a site file name more
OUTSIDE = "`plan --root DIR` names a wider folder"


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading; never a device or a pipe, which may have no end or no writer.

    Raises OSError: no such file, no permission, not a regular file, or outside of what is `confined`.
    """
    refuse_outside(path)
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))  # noqa: SIM115
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if (identity := identity_of(status)) in _outputs:
        _read.add(identity)  # `write_all` does not replace it
    return file


def read_bytes(path: str | Path, expected: str, *, place: str = "", most: int = MOST_BYTES) -> bytes:
    """The content of a file.

    Args:
        expected: what it should be, for the refusal.
        place: the option that names it, and its path; the path by default.
        most: its largest size in bytes.

    Raises IngestError: no such file, no permission, not a regular file or a larger one.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            raw = file.read(most + 1) if size <= most else b""  # what is too large is not read, and it may grow meanwhile
    except OSError as error:
        raise IngestError(cannot_be_read(place or path, error.strerror, expected)) from None
    if max(size, len(raw)) > most:
        raise IngestError(cannot_be_read(place or path, f"larger than {most:,} bytes", expected))
    return raw


def read_text(path: str | Path, expected: str, *, place: str = "", most: int = MOST_BYTES) -> str:
    """The text of a file, with its lines ended by line feeds; the arguments are those of `read_bytes`.

    Raises IngestError: as `read_bytes`, or the file is not UTF-8; with the line.
    """
    raw = read_bytes(path, expected, place=place, most=most)
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise IngestError(cannot_be_read(f"{place or path}:{line}", f"byte {error.start} is not UTF-8", expected)) from None


#: A cell that is a number, as JSON writes it.
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def table_beside(module: str | Path, name: str | Path) -> Any:
    """A table of the package: the file of that name below the folder of a module, which gives its `__file__`.

    YAML as it is; of CSV the rows by `of` and `quantity`, without empty cells and with numbers where a cell is one.
    """
    import json

    text = (Path(module).parent / name).read_text(encoding="utf-8")
    if str(name).endswith(".csv"):
        head, *rows = csv.reader(text.splitlines())
        found: dict[str, dict[str, Any]] = {}
        for row in rows:
            cells = {key: cell for key, cell in zip(head, row, strict=False) if cell}
            name, part = cells.pop("quantity"), cells.pop("of")
            known = {key: json.loads(cell) if _NUMBER.fullmatch(cell) else cell for key, cell in cells.items()}
            found.setdefault(part, {})[name] = known
        return found
    import yaml

    return yaml.load(text, Loader=yaml.CSafeLoader)


def read_json_object(
    path: str | Path, expected: str, *, place: str = "", most: int = MOST_BYTES, infinite: bool = False
) -> dict[str, Any]:
    """The JSON object in a file; the arguments are those of `read_bytes`. Where `infinite`, `NaN` and `Infinity` are numbers.

    Raises IngestError: as `read_text`, or the file is no JSON object, or has a key twice; with the line.
    """
    import json

    text = read_text(path, expected, place=place, most=most)
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_int=_int, parse_constant=float if infinite else _no_number)
    except (ValueError, RecursionError) as error:
        reason = f"no whole JSON ({brief(str(error))})"
        raise IngestError(cannot_be_read(f"{place or path}:{getattr(error, 'lineno', 1)}", reason, expected)) from None
    if not isinstance(found, dict):
        raise IngestError(f"{place or path}: found {brief(found)}, expected {expected}")
    return found


def _int(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"duplicate key {brief(next(key for key in keys if keys.count(key) > 1))}")
    return found


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is never half-written.

    Raises IngestError: the folder does not exist or cannot be written.
    """
    write_all({Path(path): content})


def write_all(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files: all of them lie whole under temporary names before the first one gets its own.

    A link stays, and what it leads to is written; a file that is there keeps its permissions. A terminal, /dev/null or a
    pipe that a program reads, such as /dev/stdout, is written to as it is.

    Raises:
        UsageError: the command that runs has read a file that it would replace.
        IngestError: a folder does not exist or cannot be written; no file is left behind then.
    """
    for identity in _read:
        refuse_output(identity)
    for target in contents:
        check_target(target)
    waiting: dict[Path, Path] = {}
    target = Path()
    with _clearing_up_when_terminated():
        try:
            for target in filter(_is_file, contents):
                final = _followed(target)
                waiting[target] = _temporary(final)
                _write_new(waiting[target], as_bytes(contents[target]), final)
            with contextlib.ExitStack() as opened:
                streams = {}
                for target in contents.keys() - waiting.keys():
                    streams[target] = opened.enter_context(_open_stream(target))
                for target, temporary in waiting.items():
                    os.replace(temporary, _followed(target))
                for target, stream in streams.items():
                    stream.write(as_bytes(contents[target]))
                    stream.flush()
        except OSError as error:
            raise _unwritable(target, error.strerror) from None
        finally:
            for temporary in waiting.values():
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)


def check_target(target: Path) -> None:
    """Refuse a file that cannot be written, before any work is done for it.

    Raises IngestError: its folder does not exist or cannot be written, or a folder, a block device or a socket has its name.
    """
    final = _followed(target)
    try:
        os.lstat(_temporary(final))
    except FileNotFoundError:
        pass
    except OSError as error:  # such as a name that is too long, or a folder that is a file
        raise _unwritable(target, error.strerror) from None
    if final.is_symlink():
        raise _unwritable(target, os.strerror(errno.ELOOP))
    if target.is_dir():
        raise _unwritable(target, os.strerror(errno.EISDIR))
    if not _is_file(target):
        mode = target.stat().st_mode
        if not (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
            raise _unwritable(target, "not a regular file")
        return
    if not final.parent.is_dir():
        raise _unwritable(target, os.strerror(errno.ENOENT))
    if not os.access(final.parent, os.W_OK | os.X_OK):
        raise _unwritable(target, os.strerror(errno.EACCES))


def _followed(target: Path) -> Path:
    """The target of a link; a link in a circle stays a link."""
    return Path(os.path.realpath(target))


def _temporary(final: Path) -> Path:
    """The name under which a file is written."""
    return final.with_name(f".{final.name}.{os.getpid()}.part")


def _is_file(target: Path) -> bool:
    """Whether there is a file, or none yet, rather than a terminal, a pipe or a device."""
    return target.is_file() or not target.exists()


def _open_stream(target: Path) -> BinaryIO:
    """A terminal, a device or a pipe, open for writing; a pipe without a reader would wait for ever.

    Raises OSError: nothing reads the pipe.
    """
    try:
        descriptor = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise OSError(error.errno, "no program reads this pipe") if error.errno == errno.ENXIO else error from None
    os.set_blocking(descriptor, True)
    return open(descriptor, "wb")


def as_bytes(content: str | bytes) -> bytes:
    """Content as a file holds it; `?` for half a surrogate pair, which no encoding has.

    >>> as_bytes("a\\ud800")
    b'a?'
    """
    return content.encode("utf-8", "replace") if isinstance(content, str) else content


def _write_new(temporary: Path, content: bytes, like: Path) -> None:
    """Write a file with the permissions of the one that it replaces."""
    mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else None
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, NEW if mode is None else mode & NEW), "wb") as file:
        file.write(content)
    if mode is not None:
        temporary.chmod(mode)


@contextlib.contextmanager
def _clearing_up_when_terminated() -> Iterator[None]:
    """A request to end goes the way of an exception; handlers that somebody has set stay."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may set handlers.
        yield
        return
    known = (getattr(signal, name) for name in SIGNALS if hasattr(signal, name))
    free = [number for number in known if signal.getsignal(number) == signal.SIG_DFL]
    for number in free:
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        yield
    finally:
        for number in free:
            signal.signal(number, signal.SIG_DFL)


def _unwritable(target: Path, why: str | None) -> IngestError:
    return IngestError(f"--output: '{target}' cannot be written: {why}")


def now() -> float:
    """The time in seconds; that of SOURCE_DATE_EPOCH where a file is to be the same byte for byte."""
    return float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())


def sha256(content: bytes) -> str:
    """The hash of a file's content, as `sha256sum` prints it."""
    import hashlib

    return hashlib.sha256(content).hexdigest()


def kept(key: str, make: Callable[[], bytes], most: int) -> bytes:
    """What `make` makes, from the user's cache where an intact entry exists; `most` are kept beside it, those used last.

    `key` tells all that it is made of, below the folder of its kind. An entry begins with the SHA-256 of the rest, so that a
    damaged one is made again. A folder that cannot be written costs time, not the answer.
    """
    variable, usual = ("LOCALAPPDATA", "~/AppData/Local") if os.name == "nt" else ("XDG_CACHE_HOME", "~/.cache")
    path = Path(os.environ.get(variable) or os.path.expanduser(usual)) / "ingest" / key
    with contextlib.suppress(OSError):
        digest, _, content = path.read_bytes().partition(b"\n")
        if sha256(content).encode() == digest:
            with contextlib.suppress(OSError):  # a read-only cache keeps no time of last use
                os.utime(path)
            return content
    made = make()
    with contextlib.suppress(OSError, IngestError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, sha256(made).encode() + b"\n" + made)
        entries = sorted(path.parent.glob(f"*{path.suffix}"), key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
        for entry in entries[most:]:
            entry.unlink(missing_ok=True)
    return made


def write_folder(target: str | Path, files: Mapping[str, str], force: bool) -> None:
    """Write files into a new or empty folder: built beside their places under a temporary name, then moved.

    What a call that was killed left in the folder is taken over.

    Args:
        target: the folder; it stays the same folder where there is one, with its mode, and may be a link to one.
        files: path inside it -> content; scripts (`.sh`) are made executable.
        force: replace what an earlier call wrote there; anything else in the folder stays.

    Raises:
        UsageError: the folder has something in it and `force` is not given, or was not written by `ingest accept`.
        IngestError: it cannot be written.
    """
    import shutil
    import tempfile

    target = Path(os.path.abspath(target))
    cut_off = []  # folders in which calls that no longer run have built
    for folder in sorted(target.glob(f"{BUILDING}*")):
        if (left := _locked(folder)) is not None:
            os.close(left)
            cut_off.append(folder)
    ours = {Path(name).parts[0] for folder in cut_off for name in (folder.name, *_listed(folder))}
    present = _present(target)
    if not _of_accept(present):
        present = [name for name in present if name not in ours]
    if present and not force:
        expected = "expected an empty or new folder; --force replaces tests that `ingest accept` wrote"
        raise UsageError(f"-o: '{target}' holds {len(present)} entries, {expected}")
    if present and not _of_accept(present):
        lacking = "SHA256SUMS" if {*present} & MANIFESTS else "tests.json"
        raise UsageError(f"-o: '{target}' was not written by `ingest accept` (no {lacking}), expected another folder")
    building: Path | None = None
    lock: int | None = None
    try:
        above = target if target.is_dir() else target.parent
        if not above.is_dir():
            raise IngestError(f"-o: folder '{above}' not found, expected one that can hold '{target.name}'")
        building = Path(tempfile.mkdtemp(prefix=BUILDING, dir=above))
        lock = _locked(building)
        for name, content in files.items():
            path = building / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
        if above == target:
            _move_in(target, building, files, set().union(*map(_listed, [target, *cut_off])))
            for folder in cut_off:
                shutil.rmtree(folder, ignore_errors=True)
        else:
            building.chmod(0o755)
            os.replace(building, target)
    except OSError as error:
        raise IngestError(f"-o: '{target}' cannot be written: {error.strerror}") from None
    finally:
        if building is not None:
            shutil.rmtree(building, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _of_accept(present: Sequence[str]) -> bool:
    """Whether a folder of these names was written by `ingest accept`."""
    return "SHA256SUMS" in present and bool({*present} & MANIFESTS)


def _locked(folder: Path) -> int | None:
    """The descriptor that holds the lock of a folder; None where another call holds it, or the file system has none."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


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
    """The files that an earlier call wrote, by its own sums: nothing else is replaced or removed."""
    if not (target / "SHA256SUMS").is_file():
        return set()
    lines = (target / "SHA256SUMS").read_text(encoding="utf-8", errors="replace").splitlines()
    names = {line.split("  ", 1)[-1] for line in lines}
    return {name for name in names if name and not name.startswith("/") and ".." not in name.split("/")} | {"SHA256SUMS"}


def _move_in(target: Path, building: Path, files: Mapping[str, str], old: set[str]) -> None:
    """New files take their places one by one, `SHA256SUMS` last: a call that was cut off shows in its sums."""
    foreign = [name for name in files if name not in old and os.path.lexists(target / name) and name != "hosts.txt"]
    if foreign:
        raise IngestError(f"-o: '{target / foreign[0]}' was not written by `ingest accept`, expected no file of that name")
    for name in sorted(files.keys() - {"SHA256SUMS"}):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(building / name, target / name)
    for name in old - set(files) - {"hosts.txt"}:
        (target / name).unlink(missing_ok=True)
        for folder in (target / name).parents:
            if folder == target or any(folder.iterdir() if folder.is_dir() else ()):
                break
            if folder.is_dir():
                folder.rmdir()
    if "SHA256SUMS" in files:
        os.replace(building / "SHA256SUMS", target / "SHA256SUMS")


@contextlib.contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause Python's garbage collection.

    A plan of 1,000 jobs creates hundreds of thousands of objects that all live to its end. Collection would take a fifth of
    the time of the plan and more than a quarter of that of its workbook. What is created meanwhile counts as old afterwards, so
    that the first collection does not walk it.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if collecting:
            gc.enable()
