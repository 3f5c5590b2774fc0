"""Ask a question in this process, in a folder that holds the files of all questions."""

import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from frozen.edits import make

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent / "files.tar.xz"
SITES = Path(__file__).parent / "sites"
#: no catalogs of the user's own, no network, no colour, a terminal of 80 columns, the age of runs on one day
SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "no_proxy": "*",
    "NO_COLOR": "1",
    "COLUMNS": "80",
    "LANG": "C.UTF-8",
    "SOURCE_DATE_EPOCH": "1795996800",
}
DROPPED = ("INGEST_CATALOGS", "FORCE_COLOR", "LINES", "APPDATA")
#: keys of an answer that differ from commit to commit or from hour to hour
CHANGING = ("version", "catalog_hash", "date", "speed")
#: parts of written files that hold the hour of their making
UNSTEADY = ("docProps/core.xml",)
#: hashes of catalogs, which any new entry changes, and hours
UNSTEADY_TEXT = re.compile(
    r"sha256:[0-9a-f]{8,64}|(?<=reference [0-9a-f]{8}-)[0-9a-f]{8}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"
)


@contextlib.contextmanager
def folder_of_questions() -> Iterator[Path]:
    """Work in a new folder with the files that questions name; environment and `__main__` are those of the console script."""
    with contextlib.ExitStack() as restored:
        folder = Path(
            restored.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        )
        with tarfile.open(FILES) as archive:
            archive.extractall(folder, filter="data")
        shutil.copytree(SITES, folder, dirs_exist_ok=True)
        before = dict(os.environ)
        restored.callback(os.environ.update, before)
        restored.callback(os.environ.clear)
        for name in DROPPED:
            os.environ.pop(name, None)
        nowhere = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HF_HOME"), f"{folder}.none")
        os.environ.update(SETTINGS, **nowhere)
        restored.enter_context(contextlib.chdir(folder))
        # click takes the program's name from the module that runs: a plain one has the name in sys.argv.
        restored.callback(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
        sys.modules["__main__"] = ModuleType("__main__")
        yield folder


def ask(words: Sequence[str], folder: Path, held: frozenset[Path]) -> dict[str, Any]:
    """Exit code, what was printed and what was written; JSON is read. What the question wrote is removed."""
    from ingest.cli.main import main

    drawn = [path for word in words if (path := make(word, folder)) is not None]
    before, code, touched = sys.argv, 0, folder.stat().st_mtime_ns
    sys.argv = ["ingest", *words]
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except Exception as error:
        code = f"{type(error).__name__}: {error}"
    finally:
        sys.argv = before
    out, err = (_read(stream.buffer.getvalue().decode(), folder) for stream in streams)  # type: ignore[attr-defined]
    answer = {"code": code, "out": out, "err": err}
    untouched = folder.stat().st_mtime_ns == touched
    for path in drawn:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    written = set() if untouched else {path for path in folder.rglob("*") if path.is_file()} - held
    if written:
        answer["files"] = {str(path.relative_to(folder)): _file(path, folder) for path in sorted(written)}
    for path in written:
        path.unlink()
        for parent in path.relative_to(folder).parents:
            with contextlib.suppress(OSError):
                (folder / parent).rmdir()
    return answer


def _read(text: str, folder: Path) -> Any:
    """A JSON object without what every commit changes, displays apart; or a text without the places of this machine."""
    text = UNSTEADY_TEXT.sub("…", text.replace(str(folder), "FOLDER").replace(str(ROOT), "ROOT"))
    if text.startswith("{"):
        with contextlib.suppress(ValueError):
            found = {key: value for key, value in json.loads(text).items() if key not in CHANGING}
            if isinstance(found.get("results"), dict):
                held = [one for one in found["results"].values() if isinstance(one, dict)]
                found["displays"] = [one.pop("display", None) for one in held]
            return found
    return text


def _file(path: Path, folder: Path) -> Any:
    content = path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as parts:
            held = [name.encode() + parts.read(name) for name in sorted(parts.namelist()) if name not in UNSTEADY]
        content = UNSTEADY_TEXT.sub("…", b"".join(held).decode("latin-1")).encode()
        return f"{hashlib.sha256(content).hexdigest()[:12]} of the parts of an archive"
    try:
        return _read(content.decode(), folder)
    except UnicodeDecodeError:
        return f"{hashlib.sha256(content).hexdigest()[:12]} of bytes"


def _serve(questions: Sequence[list[str]]) -> list[dict[str, Any]]:
    with folder_of_questions() as folder:
        held = frozenset(path for path in folder.rglob("*") if path.is_file())
        return [ask(words, folder, held) for words in questions]


Asking = Callable[[Sequence[list[str]]], Iterator[dict[str, Any]]]


@contextlib.contextmanager
def asking(jobs: int, batch: int = 120) -> Iterator[Asking]:
    """A function that gives the answers to questions, in their order, by so many processes."""
    with multiprocessing.get_context("spawn").Pool(jobs) if jobs > 1 else contextlib.nullcontext() as pool:

        def answers(questions: Sequence[list[str]]) -> Iterator[dict[str, Any]]:
            batches = [questions[start : start + batch] for start in range(0, len(questions), batch)]
            for one in pool.imap(_serve, batches) if pool else map(_serve, batches):
                yield from one

        yield answers
