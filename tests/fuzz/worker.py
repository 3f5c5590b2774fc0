"""Run cases: in this process, as the console script does, or as processes of their own."""

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

from fuzz.cases import Case, Outcome
from fuzz.kinds import case_of
from fuzz.seeds import Seeds

COMMAND = str(Path(sys.executable).parent / "ingest")
#: no catalogs of the user's own, no network, no terminal
SETTINGS = {"PYTHONIOENCODING": "utf-8:backslashreplace", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "no_proxy": "*"}
DROPPED = ("INGEST_CATALOGS", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "APPDATA")
#: a file that grows beyond this ends with an error, not with a full disk
LARGEST_FILE = 2_000_000_000
MOST_TEXT = 4_000_000


def serve(seeds: Seeds, seed: int, only: tuple[str, ...], scratch: str, link: Connection) -> None:
    """Run the cases whose indices, or which themselves, come over a connection, until it is closed."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    for name in DROPPED:
        os.environ.pop(name, None)
    os.environ.update(
        SETTINGS, XDG_CONFIG_HOME=f"{scratch}/none", XDG_CACHE_HOME=f"{scratch}/cache", HF_HOME=f"{scratch}/hf", TMPDIR=scratch
    )
    tempfile.tempdir = scratch
    while True:
        try:
            wanted = link.recv()
        except EOFError:
            return
        case = wanted if isinstance(wanted, Case) else case_of(seeds, seed, wanted, only)
        link.send(run(case, scratch))


def run(case: Case, scratch: str) -> Outcome:
    """Run a case in a new folder, which is removed afterwards."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    try:
        case.write(folder)
        before = set(folder.rglob("*.json"))
        outcome = _run_apart(case, folder) if case.apart else _run_here(case, folder, Path(scratch))
        written = {str(path.relative_to(folder)): path for path in folder.rglob("*.json") if path not in before}
        small = {
            name: path.read_bytes() for name, path in written.items() if path.is_file() and path.stat().st_size < MOST_TEXT
        }
        return Outcome(**{**outcome.__dict__, "written": small, "changed": case.changed_in(folder)})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_apart(case: Case, folder: Path) -> Outcome:
    start = time.perf_counter()
    words = [os.fsencode(word) for word in case.words]
    with open(folder.with_suffix(".out"), "w+b") as out, open(folder.with_suffix(".err"), "w+b") as err:
        process = subprocess.Popen([COMMAND.encode(), *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        texts = [_content(stream) for stream in (out, err)]
    for suffix in (".out", ".err"):
        folder.with_suffix(suffix).unlink()
    return Outcome(code, *texts, seconds=time.perf_counter() - start, memory=used.ru_maxrss * 1024)


def _content(stream) -> str:  # type: ignore[no-untyped-def]
    stream.seek(0)
    return stream.read(MOST_TEXT).decode("utf-8", "replace")


def _run_here(case: Case, folder: Path, scratch: Path) -> Outcome:
    """Call `main` with arguments, working directory and streams of its own."""
    from ingest.cli.main import main

    start, code, raised = time.perf_counter(), 0, ""
    _forget_peak()
    with contextlib.ExitStack() as restored:
        restored.enter_context(contextlib.chdir(folder))
        restored.callback(setattr, sys, "argv", sys.argv)
        sys.argv = ["ingest", *case.words]
        # click takes the program's name from the module that runs: a plain one has the name in sys.argv.
        restored.callback(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
        sys.modules["__main__"] = ModuleType("__main__")
        out, err = (restored.enter_context(_captured(name, scratch / name)) for name in ("stdout", "stderr"))
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            code, raised = 1, traceback.format_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        texts = [Path(name).read_bytes()[:MOST_TEXT].decode("utf-8", "replace") for name in (out, err)]
    return Outcome(code, *texts, raised, seconds=time.perf_counter() - start, memory=_peak())


@contextlib.contextmanager
def _captured(name: str, path: Path) -> Iterator[Path]:
    """A standard stream whose descriptor is a file: what libraries write is captured too, and survives a crash."""
    before, number = getattr(sys, name), {"stdout": 1, "stderr": 2}[name]
    before.flush()
    saved = os.dup(number)
    with open(path, "wb") as file:
        os.dup2(file.fileno(), number)
    try:
        errors = {"stdout": "strict", "stderr": "backslashreplace"}[name]
        with open(number, "w", encoding="utf-8", errors=errors, closefd=False) as stream:
            setattr(sys, name, stream)
            yield path
    finally:
        setattr(sys, name, before)
        os.dup2(saved, number)
        os.close(saved)


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """The largest resident set since `_forget_peak`."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
