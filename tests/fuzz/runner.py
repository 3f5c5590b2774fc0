"""A pool of workers that are restarted after a hang or a crash, and what they find."""

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from fuzz import kinds, seeds, worker
from fuzz.cases import Case, Finding, Outcome
from fuzz.judge import MOST_BYTES, judge, patience

from ingest.cli.main import COMMANDS, command_of

#: cases of one worker, so that what one case leaves behind does not add up
CASES_OF_A_WORKER = 1000
#: seconds between two looks at memory and time
LOOK = 0.2
FORK = multiprocessing.get_context("fork")


@dataclass
class Report:
    """What a run found: the first case of each finding, and how often each was met."""

    seed: int
    inputs: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    found: dict[str, tuple[int, Case, Finding]] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)
    unconfirmed: list[tuple[int, Finding]] = field(default_factory=list)
    slowest: list[tuple[float, int]] = field(default_factory=list)
    seconds: float = 0.0


class Worker:
    """A process that runs cases, and the case that it runs."""

    def __init__(self, held: seeds.Seeds, seed: int, only: tuple[str, ...]) -> None:
        self._of = (held, seed, only)
        self._scratch = tempfile.TemporaryDirectory(prefix="fuzz-", dir=seeds.temporary_folders(), ignore_cleanup_errors=True)
        self.index: int | None = None
        self._start()

    def _start(self) -> None:
        self.link, theirs = FORK.Pipe()
        self._process = FORK.Process(target=worker.serve, args=(*self._of, self._scratch.name, theirs), daemon=False)
        self._process.start()
        with contextlib.suppress(OSError):  # before the process does it itself, so that its group can be killed at once
            os.setpgid(self._process.pid or 0, self._process.pid or 0)
        theirs.close()
        self._left = CASES_OF_A_WORKER

    def give(self, wanted: int | Case) -> None:
        """Start a case."""
        if self._left == 0:
            self.renew()
        self._left -= 1
        self.index = wanted if isinstance(wanted, int) else None
        self.began = time.monotonic()
        self._stopped: tuple[float, int] | None = None
        self.link.send(wanted)

    def look(self, most_seconds: float) -> None:
        """Stop the case if it runs too long or takes too much memory; `outcome` tells it."""
        seconds = time.monotonic() - self.began
        memory = tree_memory(self._process.pid or 0)
        if self._stopped is None and (seconds > most_seconds or memory > MOST_BYTES):
            self._stopped = (seconds, memory)
            self._kill()

    def outcome(self) -> Outcome:
        """The outcome of the case; a worker that ended with it is replaced."""
        try:
            found = self.link.recv()
        except (EOFError, OSError):
            self._process.join()
            self._kill()
            seconds, memory = self._stopped or (time.monotonic() - self.began, 0)
            code = self._process.exitcode or 0
            out, err = (_tail(Path(self._scratch.name, name)) for name in ("stdout", "stderr"))
            over = self._stopped is not None
            code = min(code, -signal.SIGKILL) if over else code
            found = Outcome(code, out, err, seconds=seconds, memory=memory, stopped=over and memory <= MOST_BYTES)
            self.link.close()
            self._start()
        self.index = None
        assert isinstance(found, Outcome)
        return found

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid or 0, signal.SIGKILL)

    def renew(self) -> None:
        """Replace the process by one that has run nothing."""
        self._end()
        self._start()

    def _end(self) -> None:
        self.link.close()
        self._kill()
        self._process.join()

    def close(self) -> None:
        """End the process and remove its folder."""
        self._end()
        self._scratch.cleanup()


def _tail(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_bytes()[-4000:].decode("utf-8", "replace")
    return ""


def tree_memory(pid: int) -> int:
    """Resident bytes of a process and its descendants; shared pages count once for each."""
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        total = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            total += tree_memory(int(child))
    return total


def load_commands() -> None:
    """Import what the commands import, once, so that a worker starts in milliseconds."""
    for name in COMMANDS:
        command_of(name)
    for name in ("pandas", "openpyxl", "xlsxwriter", "jsonschema", "pyarrow.parquet", "tokenizers", "gigatoken", "docx"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def make_seeds() -> seeds.Seeds:
    """The seeds, made in a process that ends: its threads and caches do not reach the workers."""
    ours, theirs = FORK.Pipe()
    process = FORK.Process(target=lambda: theirs.send(seeds.make()))
    process.start()
    theirs.close()
    try:
        made: seeds.Seeds = ours.recv()
    except EOFError:
        raise SystemExit("fuzz: the seeds could not be made") from None
    process.join()
    load_commands()
    return made


def run(
    held: seeds.Seeds,
    seed: int,
    count: int,
    seconds: float,
    workers: int,
    only: tuple[str, ...] = (),
    show: Callable[[Report], None] | None = None,
) -> Report:
    """Run cases 0 … count - 1 of a seed, for at most so many seconds."""
    report, began = Report(seed), time.monotonic()
    pool = [Worker(held, seed, only) for _ in range(workers)]
    indices = iter(range(count))
    suspects: list[tuple[int, Finding]] = []
    try:
        _start_next(pool, indices)
        while busy := [one for one in pool if one.index is not None]:
            ready = wait([one.link for one in busy], timeout=LOOK)
            for one in busy:
                if one.link not in ready:
                    one.look(patience())
                    continue
                index = one.index
                assert index is not None
                outcome, case = one.outcome(), kinds.case_of(held, seed, index, only)
                report.inputs[case.kind] += 1
                report.codes[outcome.code] += 1
                report.slowest = sorted([*report.slowest, (outcome.seconds, index)], reverse=True)[:5]
                finding = judge(case, outcome)
                if finding is not None:
                    report.times[finding.name] += 1
                    if report.times[finding.name] == 1:
                        suspects.append((index, finding))
                if time.monotonic() - began < seconds:
                    _start_next([one], indices)
            if show is not None:
                show(report)
        report.seconds = time.monotonic() - began
        # Run what looked bad again in a fresh worker: a busy machine makes no hang, and other cases no traceback.
        for index, finding in suspects:
            case = kinds.case_of(held, seed, index, only)
            again = again_alone(pool[0], case)
            if again is None:
                report.unconfirmed.append((index, finding))
            else:
                report.found.setdefault(again.name, (index, case, again))
    finally:
        for one in pool:
            one.close()
    return report


def _start_next(pool: list[Worker], indices: Iterator[int]) -> None:
    for one in pool:
        index = next(indices, None)
        if index is not None:
            one.give(index)


def again_alone(one: Worker, case: Case) -> Finding | None:
    """The finding of a case in a worker that has run nothing else."""
    one.renew()
    return again_warm(one, case)


def smaller(one: Worker, case: Case, finding: Finding, trials: int) -> Case:
    """The smallest case with the same finding that so many trials reach: fewer words, fewer and shorter files."""
    improved = True
    while improved and trials > 0:
        improved = False
        for candidate in _reductions(case):
            if trials <= 0:
                break
            trials -= 1
            found = again_warm(one, candidate)
            if found is not None and found.name == finding.name:
                case, improved = candidate, True
                break
    return case


def again_warm(one: Worker, case: Case) -> Finding | None:
    """The finding of a case in a worker that may have run others."""
    one.give(case)
    while not wait([one.link], timeout=LOOK):
        one.look(patience())
    return judge(case, one.outcome())


def _reductions(case: Case) -> Iterator[Case]:
    def changed(**values: Any) -> Case:
        return Case(**{**case.__dict__, **values})

    for first in range(1, len(case.words)):
        for length in (2, 1):
            if case.words[first : first + length]:
                yield changed(words=case.words[:first] + case.words[first + length :])
    for name in case.files:
        yield changed(files={other: content for other, content in case.files.items() if other != name})
    for name, content in case.files.items():
        text = b"\n" in content[:2000] and not name.endswith((".xlsx", ".docx", ".arrow", ".parquet"))
        parts = content.splitlines(keepends=True) if text else [content[n : n + 1] for n in range(len(content))]
        share = 2
        while share <= min(len(parts), 64):
            length = -(-len(parts) // share)
            for first in range(0, len(parts), length):
                yield changed(files={**case.files, name: b"".join(parts[:first] + parts[first + length :])})
            share *= 2


def to_standard_error(report: Report) -> None:
    """One line of progress where there is a terminal."""
    done = sum(report.inputs.values())
    if sys.stderr.isatty() and done % 50 == 0:
        print(f"\r{done:,} inputs, {len(report.times)} findings", end="", file=sys.stderr)
