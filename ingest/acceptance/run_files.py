"""Result files of acceptance tests: which runs they hold, and which of them count.

A result is not valid where it does not show a setting, where one differs from the job file of the test, where its figures do
not agree with each other, and where its file does not agree with what the script recorded of the run: the hash, the clock, the
host. A test whose runs are not all there has no valid result: a choice of runs shows what its chooser wants.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

from ingest.acceptance.judgement import MOST_RUNS
from ingest.acceptance.test_spec import DATA, AcceptanceTest, Load, Observed, Run
from ingest.acceptance.tools import COMPANIONS, runs_in
from ingest.acceptance.tools.dlio import flat
from ingest.acceptance.tools.fio import sections
from ingest.acceptance.tools.job_files import clock_of
from ingest.errors import IngestError, cannot_be_read, listed
from ingest.files import now, read_bytes, read_text, sha256
from ingest.text import grouped
from ingest.units import display

#: Files in which scripts write the hash of their list of tests, next to results.
MANIFEST_SUFFIX = ".tests.sha256"
WRITTEN_BY_SCRIPTS = "a file of its scripts"
#: Share of the duration that a clock, ramp or stonewall may cut off.
SHORT = 0.05
#: Share by which the mean size of queued requests may differ: they count as they start, and their bytes as they end.
QUEUED = 0.01
#: Share of the data that whole requests in whole files may leave out.
ROUNDING = 0.001
#: settings that results of the tools in REPORTING show for reads and writes
STATED = ("clients", "threads", "io_bytes", "seconds", "direct")
REPORTING = ("fio", "ior", "elbencho")
#: Share by which a rate may exceed the storage NICs of the clients: rates are rounded.
NETWORK = 0.01
#: Name of a result of a script: id of the test and number of the run. `….why` explains a run that is not there.
NUMBERED = re.compile(r"(T-[A-Za-z0-9_-]+)\.run(\d{1,9})(?=[./]|$)")
RECORD_SUFFIX, EXPLAINED = ".sha256", ".why"
#: Seconds that clocks of one site differ, and that a clock without its zone can.
SKEW, ZONES = 60, 14 * 3600
#: Age and span of runs from which a caution names them, seconds.
OLD, LONG = 90 * 86_400, 30 * 86_400
#: Least share of the figures of two runs that have one ratio where one was made of the other.
ALIKE = 0.5
#: Seconds that the clock of a script cuts off.
WHOLE_SECONDS = 2
#: Seconds that a script works between two runs on a busy machine: it counts, packs and hashes files.
BETWEEN = 10
#: The line of a script that lists the files of its test.
LISTS_ITSELF = 'sha256sum < "$file"'
#: How a script ends what it lists of a run: the hash of all lines above.
SUM = "# sum "
#: How a script lists a fio that is a script.
FAKED = re.compile(r"script:.*/fio$").match
#: Share by which a run with its ramp may take longer than its clocks say, beside SKEW.
LONGER = 0.1
#: Bytes that it reads and writes then, most of them of samples.
OWN_BYTES = 2**28
#: What a script meters: start of its machine, seconds since then, four counts of its tools, and that of the clients. Share by
#: which a count may differ, and least share of it that was counted at all.
METERS, METERED = 7, 0.02
#: Counts of a sample, and the line of a script that takes one.
SAMPLED, SAMPLES = 3, re.compile(r"^  sample \d", re.MULTILINE)
#: Bytes of a sampled piece, and share by which random contents may pack, or pieces be equal; share of a run to the next one.
PIECE, PACKED, IDLE = 65_536, 0.1, 0.5
#: File systems, as `stat -f` names them, whose requests pass the kernel's count of those of storage, and those in memory.
ON_DISKS, IN_MEMORY = ("ext2/ext3", "xfs"), ("tmpfs", "ramfs")
#: Usual folders in memory.
MEMORY_FOLDERS = re.compile(r"(?:^|[\s=\"'])(?:/dev/(?:shm|ram\d*|zero|null)|/run)(?:[/\s\"']|$)")


class CountedRuns(NamedTuple):
    """The runs that count by test id, in the order of their start; why a file, and a test's first invalid run, do not."""

    runs: Mapping[str, list[Run]]
    refused: Mapping[str, str]
    reasons: Mapping[str, str]
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()  # what a result leaves open that its script would have recorded


class Evidence(NamedTuple):
    """A run in a result file: when and where it ran, and why it is not valid."""

    file: str
    test: str
    number: int | None  # of the run, in the name of its file
    clock: float | None  # seconds since 1970 at its start or end, whichever its tool writes
    hosts: tuple[str, ...]  # that the result or the record of the script names
    sha256: str
    unchanged: bool | None  # whether the script recorded this hash; None without a record
    why: str  # it is not valid; empty where it is

    @property
    def when(self) -> str:
        """The clock in words; empty without one."""
        return "" if self.clock is None else f"{datetime.fromtimestamp(self.clock, UTC):%Y-%m-%d %H:%M:%S} UTC"


class Record(NamedTuple):
    """What the script of a test recorded of one run."""

    began: float
    ended: float
    host: str
    file_system: str
    hashes: Mapping[str, str]  # path below the folder of results -> sha256
    #: `turn` of how many of one start, the process of this `script`, METERS `before` and `after`, and `contents`: bytes of a
    #: sample when packed, its bytes, and how many of its pieces differ
    metered: Mapping[str, tuple[float, ...]]

    @property
    def sample(self) -> tuple[float, ...]:
        """The three counts of `contents`; empty where the script found nothing to sample, or had no tool to pack it."""
        found = self.metered.get("contents", ())
        return found if len(found) == SAMPLED and all(found) else ()


@cache
def _records(path: Path) -> Mapping[str, Record]:
    """The runs that a script recorded, by the name of their file or folder; `summed` where the hash of its lines is there."""
    found: dict[str, Record] = {}
    lines = read_text(path, WRITTEN_BY_SCRIPTS).splitlines(keepends=True)
    for place, line in enumerate(lines):
        words = line.split()
        if line.startswith(SUM) and words[-1] == sha256("".join(lines[:place]).encode()):
            for record in found.values():
                record.metered.setdefault("summed", ())  # type: ignore[attr-defined]
        elif line.startswith("# ") and len(words) >= 6 and words[1].isdigit() and words[2].isdigit():
            pairs = (word.partition("=") for word in words[6:])
            metered = {name: tuple(map(float, re.findall(r"\d+(?:\.\d+)?", value))) for name, _, value in pairs}
            found[words[5]] = Record(float(words[1]), float(words[2]), words[3], words[4], {}, metered)
        elif found and len(words) == 2:
            list(found.values())[-1].hashes[words[1]] = words[0]  # type: ignore[index]
    return found


def counted_runs(
    paths: Sequence[str | Path], tests: Sequence[AcceptanceTest], manifest_hash: str, read: dict[str, Path]
) -> CountedRuns:
    """The runs of all tests of one folder, whose list has a sha256, in result files, or folders of them.

    `read` has the sha256 of each file that was read, with its path; this call adds to it, so that no file counts twice.

    Raises IngestError: a folder of results of another list of tests or without a result, a named file that is no result.
    """
    for given in filter(Path.is_dir, map(Path, paths)):
        for path in sorted(given.rglob(f"*{MANIFEST_SUFFIX}")):
            hashes = read_text(path, WRITTEN_BY_SCRIPTS).split()[:1]
            if hashes != [manifest_hash]:
                raise IngestError(
                    f"{given}: {path.name}: results of another plan (tests.json {''.join(hashes)[:12] or 'none'}…)"
                    f", expected {manifest_hash[:12]}…"
                )
    _records.cache_clear()
    seen: set[str] = set()
    recorded_runs: set[str] = set()
    found, refused = _gathered(paths, read, seen)
    runs: dict[str, list[Run]] = {test.id: [] for test in tests}
    by_id = {test.id: test for test in tests}
    reasons: dict[str, str] = {}
    evidence: list[Evidence] = []
    metered: list[tuple[str, Record, bool]] = []
    beyond: list[str] = []
    contents = {path: content for content, path in read.items()}
    parts = re.compile(r"(\d{1,9})")
    # Run 2 before run 10.
    for run in sorted(found, key=lambda one: [(int(part) if part.isdigit() else -1, part) for part in parts.split(one.file)]):
        record, number = _record_of(run, recorded_runs)
        content = contents.get(Path(run.file), "")
        recorded = None if record is None else content in record.hashes.values()
        why = "; ".join(filter(None, (_refusal(run, by_id, runs), *_unlike_record(run, record, recorded, by_id.get(run.test)))))
        hosts = run.hosts or ((record.host,) if record else ())
        evidence.append(Evidence(run.file, run.test, number, clock_of(run.began), hosts, content, recorded, why))
        if why:
            refused[run.file] = why
            reasons.setdefault(run.test, why)
        else:
            runs[run.test].append(run)
        if record and (test := by_id.get(run.test)):
            before, after = (record.metered.get(name, ()) for name in ("before", "after"))
            own = bool(record.sample) and (test.scale == "1node" or after[-1:] > before[-1:])
            whole = (
                len(before) == len(after) == METERS
                and {"turn", "script"} <= record.metered.keys()
                and (own or not any(map(SAMPLES.search, test.files.values())))
            )
            metered.append((run.test, record, whole))
            beyond += [f"{run.test}: {run.file}: {said}" for said in _beyond(run, record, test)]
    for ident, missing in _gaps(seen, recorded_runs).items():
        why = f"runs left out: {missing}, expected each number from 1, or {ident}.runN{EXPLAINED} that explains run N"
        for run in runs.pop(ident, []):
            refused[run.file] = why
        runs[ident], reasons[ident] = [], why
        evidence = [one._replace(why=one.why or why) if one.test == ident else one for one in evidence]
    return CountedRuns(
        runs, refused, reasons, tuple(evidence), (*_notes(evidence), *_copies(runs), *_unmetered(metered), *beyond)
    )


def _record_of(run: Run, listed_runs: set[str]) -> tuple[Record | None, int | None]:
    """The record of the script, next to the results of a run, and the number of the run; None without them."""
    named = list(NUMBERED.finditer(run.file))
    if not named:
        return None, None
    last = named[-1]
    log = Path(run.file[: last.start()] or ".") / f"{last[1]}{RECORD_SUFFIX}"
    records = _records(log) if log.is_file() else {}
    listed_runs.update(records)
    # The name of the file, or of the folder that DLIO writes.
    name = Path(run.file).relative_to(log.parent).parts[0]
    return records.get(name), int(last[2])


def _unlike_record(run: Run, record: Record | None, recorded: bool | None, test: AcceptanceTest | None) -> Iterator[str]:
    """Where a result does not agree with the record of its script, its list of clients, or the calendar."""
    named, clock = NUMBERED.findall(run.file), clock_of(run.began)
    if named and named[-1][0] != run.test:
        yield f"file: named {named[-1][0]}, holds a result of {run.test or 'no test'}"
    if clock is not None and clock > now() + 86_400:
        yield "clock: found a run in the future"
    for other in run.clocks:
        at = clock_of(other)
        if clock is not None and at is not None and abs(at - clock) > ZONES:
            yield f"clock: found {other} too, expected one time in a result"
    if record is None:
        return
    if not recorded:
        yield "sha256: found another one than the script recorded: the file was changed after the run"
    files = test.files if test and any(LISTS_ITSELF in text for text in test.files.values()) else {}
    for name in (f"{run.tool}/{run.test}.{suffix}" for suffix in ("sh", "fio")):
        if name in files and record.hashes.get(name) != sha256(files[name].encode()):
            yield f"sha256: another {name} ran than that of the test"
    if any(SUM in text for text in files.values()) and "summed" not in record.metered:
        yield "record: the lines of the script, or the hash below them, were changed after the run"
    base = Path(run.file[: list(NUMBERED.finditer(run.file))[-1].start()] or ".")
    for name, content in record.hashes.items():
        # Logs and settings next to the result, which are read with it.
        if (path := base / name) != Path(run.file) and path.is_file() and sha256(read_bytes(path, "a result")) != content:
            yield f"sha256: {name} was changed after the run"
    zoned = run.began.strip().isdigit() or run.began.endswith("+0000")
    slack = SKEW if zoned else ZONES
    if clock is not None and not record.began - slack <= clock <= record.ended + slack:
        yield "clock: found another time than the script recorded"
    took, least = record.ended - record.began, _seconds(run) * (1 - SHORT) + _ramp(test)
    if took + WHOLE_SECONDS < least:
        yield f"time: the script took {took:,.0f} s, expected at least {least:,.0f} s of ramp and run"
    clients, names = base / f"{run.test}.hosts", [record.host]
    if clients.is_file():
        names = [re.sub(r"^ip[46]?:|,.*$", "", line) for line in read_text(clients, WRITTEN_BY_SCRIPTS).split()]
    elif test and test.scale == "full":
        yield f"hosts: no list of clients of its script ({clients.name}) next to the result"
    # Other tools than fio write what a machine calls itself, without the domain or network of its name, or for an address.
    short = tuple(re.split("[.-]", name)[0] for name in names if not re.match(r"[\d.]+$|.*:", name))
    alike = short if run.tool != "fio" and len(short) == len(names) else ("",) * (run.tool != "fio")
    if odd := [one for one in run.hosts if one not in names and not one.startswith(alike)]:
        yield f"hosts: found {listed(odd)}, expected those of its script: {listed(names, 8)}"
    if record.file_system in IN_MEMORY:
        yield f"file system: found {record.file_system}, which is in memory"
    yield from _unlike_meters(run, record, test)


def _ramp(test: AcceptanceTest | None) -> float:
    """Seconds of a test of fio before its clock starts."""
    options = sections(test.files.get(f"fio/{test.id}.fio", "")) if test else {}
    return max([int(one.get("ramp_time", "0").removesuffix("ms")) / 1000 for one in options.values()], default=0)


def _beyond(run: Run, record: Record, test: AcceptanceTest) -> Iterator[str]:
    """What a script recorded beyond its run of reads or writes: more time, more bytes, or the file system of one machine."""
    if any(load.unit != "B/s" for load in run.loads):
        return
    yield from (
        f"fio is a script ({name.removeprefix('script:')}), which may edit results" for name in record.hashes if FAKED(name)
    )
    if run.tool == "fio" and record.file_system in ON_DISKS and '"disk_util"' not in read_text(Path(run.file), "a result"):
        yield f"no disk_util in the result, which fio writes on {record.file_system}"
    took, needed = record.ended - record.began, _seconds(run) + _ramp(test)
    if took > needed * (1 + LONGER) + SKEW:
        yield f"the script took {took:,.0f} s for {needed:,.0f} s of ramp and run: runs thrown away, or a slow clock?"
    before, after = (record.metered.get(name, ()) for name in ("before", "after"))
    if test.scale == "full":
        if record.file_system in ON_DISKS and any(load.clients > 1 for load in test.loads):
            yield f"the file system is {record.file_system}, of one machine, where {test.loads[0].clients} clients share one"
    elif run.tool in ("fio", "elbencho") and len(before) == len(after) == METERS:
        moved = sum(load.rate * (load.seconds or 0) for load in run.loads)
        asked = after[2] + after[3] - before[2] - before[3]
        if asked > moved * (1 + IDLE) + OWN_BYTES:
            yield f"the kernel counted {display(asked, 'B')}, the result {display(moved, 'B')}: runs thrown away?"


def _unlike_meters(run: Run, record: Record, test: AcceptanceTest | None) -> Iterator[str]:
    """Where a result does not agree with what its script metered: the kernel's clock and counters, and contents of files."""
    before, after = (record.metered.get(name, ()) for name in ("before", "after"))
    if (contents := record.sample) and min(contents[0], contents[2] * PIECE) < contents[1] * (1 - PACKED):
        pieces = f"{contents[2]:,.0f} distinct pieces of {contents[1] / PIECE:,.0f}"
        yield f"contents: found files that pack to {contents[0] / contents[1]:.0%} and have {pieces}, expected random contents"
    if not len(before) == len(after) == METERS:
        return
    took, *gained = (last - first for first, last in zip(before[1:], after[1:], strict=True))
    if abs(took - (record.ended - record.began)) > SKEW or abs(before[0] + before[1] - record.began) > SKEW:
        yield "clock: found another time than that of the kernel of its machine, which the script recorded too"
    asked, stored, carried = gained[0] + gained[1], gained[2] + gained[3], gained[4]
    moved = sum(load.rate * (load.seconds or 0) for load in run.loads if load.unit == "B/s")
    seen, whose = carried or math.inf, "the NICs of the clients"
    if test is not None and test.scale != "full":
        # File systems on local disks count what storage moves; asynchronous requests are not among those asked for.
        own = max(asked, stored) if all(load.depth == 1 for load in test.loads) else math.inf
        seen, whose = stored if record.file_system in ON_DISKS else own, "the kernel"
        # Processes that another one than the script starts, such as a scheduler's, are not counted.
        seen = math.inf if run.tool not in ("fio", "elbencho") and seen <= moved * METERED else seen
    if moved > seen * (1 + METERED):
        yield f"bytes: found {display(moved, 'B')}, expected at most the {display(seen, 'B')} that {whose} counted"


def _unmetered(records: Sequence[tuple[str, Record, bool]]) -> Iterator[str]:
    """What scripts did not meter, and where they made more runs than those that are there.

    Of each run its test, its record, and whether this has all that the script meters.
    """
    if bare := sorted({test for test, _, whole in records if not whole}):
        yield f"counters or samples are missing next to the results, which may be of another job: {listed(bare)}"
    starts = grouped(((test, one.host, one.metered.get("script")), one) for test, one, _ in records if one.metered.get("turn"))
    for (test, *_), some in starts.items():
        turns = [one.metered["turn"] for one in some]
        if lacking := {*range(1, int(min(turns[0][-1], MOST_RUNS)) + 1)} - {turn[0] for turn in turns}:
            yield f"{test}: turns {listed(map(str, sorted(lacking)))} of one start of its script left no run: left out?"
        idle = max((two.began - one.ended - (one.ended - one.began) * IDLE for one, two in pairwise(some)), default=0)
        if idle > BETWEEN:
            yield f"{test}: nothing ran for {idle:,.0f} s longer than usual between two runs: one may have been left out"
        yield from (
            f"{test}: {said}" for said in dict.fromkeys(said for one, two in pairwise(some) for said in _passed(one, two))
        )


def _passed(one: Record, two: Record) -> Iterator[str]:
    """What two runs of one start of a script met between them that is not its own work: another machine, or another run."""
    before, ended, began = (record.metered.get(name, ()) for record, name in ((one, "before"), (one, "after"), (two, "before")))
    if not len(before) == len(ended) == len(began) == METERS:
        return
    if abs(began[0] - ended[0]) > SKEW or any(later < last for last, later in zip(ended[1:-1], began[1:-1], strict=True)):
        yield "the kernel counted anew within one start of its script: runs of other machines, or of other starts?"
        return
    moved = zip(before[2:], ended[2:], began[2:], strict=True)
    if most := max(
        (later - last for first, last, later in moved if later - last > OWN_BYTES + (last - first) * IDLE), default=0
    ):
        yield f"the kernel counted {display(most, 'B')} between two runs: one may have been left out"


def _gaps(seen: Iterable[str], recorded: Iterable[str]) -> dict[str, str]:
    """The numbers of runs that are neither there nor explained, by test, in words."""
    there, ran = (
        grouped((ident, int(number)) for name in names for ident, number in NUMBERED.findall(name)[-1:])
        for names in (seen, recorded)
    )
    missing = {ident: sorted({*range(1, max(some) + 1), *ran.get(ident, ())} - {*some}) for ident, some in there.items()}
    return {ident: listed(map(str, some)) for ident, some in missing.items() if some}


def _notes(evidence: Sequence[Evidence]) -> Iterator[str]:
    """What nobody recorded, and runs that are old or far apart."""
    valid = [one for one in evidence if not one.why]
    loose = sorted({one.test for one in valid if one.unchanged is None})
    if loose:
        yield f"no hash of the script next to the results, so that they may have been changed, or left out: {listed(loose)}"
    at = {one.test: Path(one.file).parents for one in valid if one.unchanged is not None}
    if unlisted := sorted(test for test in at if not any((one / f"{test}{MANIFEST_SUFFIX}").exists() for one in at[test])):
        yield f"no record of the list of tests next to the results, which may be those of another one: {listed(unlisted)}"
    if timeless := sorted({one.test for one in valid if one.clock is None}):
        yield f"results without a clock: {listed(timeless)}"
    clocks = [one.clock for one in valid if one.clock is not None]
    if clocks and now() - min(clocks) > OLD:
        yield f"the oldest run is {(now() - min(clocks)) / 86_400:,.0f} days old"
    if clocks and max(clocks) - min(clocks) > LONG:
        yield f"the runs span {(max(clocks) - min(clocks)) / 86_400:,.0f} days"


def _copies(runs: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    """The remarks on each run, and the runs of a test of which one was made of another."""
    for some in runs.values():
        for run in some:
            yield from (f"{run.test}: {run.file}: {remark}" for load in run.loads for remark in load.remarks)
        copied = [run.file for run in some if any(_copied(run, other) for other in some if other is not run)]
        if copied:
            yield f"runs with the same figures to the last digit, or one ratio between them: {listed(copied)}"


def _copied(run: Run, other: Run) -> bool:
    """Whether two runs have the same rates and latencies, or figures of which many have one ratio: nobody measures that."""
    seen, same = ([[one.rate, one.seconds, one.latency_seconds, one.handled] for one in each.loads] for each in (run, other))
    figures = ([number for load in each.loads for number in load.figures] for each in (run, other))
    ratios = [f"{one / another:.5f}" for one, another in zip(*figures, strict=False) if one and another]
    return seen == same or max(Counter(ratios).values(), default=0) >= max(ALIKE * len(ratios), 2)


def _gathered(paths: Iterable[str | Path], read: dict[str, Path], seen: set[str]) -> tuple[list[Run], dict[str, str]]:
    """The runs in files and folders, and the files of folders that are not results; a named file must be a result.

    `seen` takes the paths of all results, and of what stands in for one.
    """

    def refuse(error: OSError) -> None:
        raise IngestError(cannot_be_read(error.filename, error.strerror, "a folder of results"))

    runs: list[Run] = []
    refused: dict[str, str] = {}
    for given in map(Path, paths):
        files, named = [given], not given.is_dir()
        if not named:
            walked = sorted(Path(folder, name) for folder, _, names in os.walk(given, onerror=refuse) for name in names)
            # Neither hidden files nor those that tools write next to their results.
            shown = [path for path in walked if not any(part.startswith(".") for part in path.relative_to(given).parts)]
            files = [path for path in shown if not COMPANIONS.fullmatch(path.name)]
            seen.update(str(path) for path in shown)
        if not files:
            raise IngestError(f"{given}: found no result, expected a folder that the test scripts wrote (RESULTS)")
        for path in files:
            seen.add(str(path))
            try:
                found, content = runs_in(path), sha256(read_bytes(path, "a result"))
            except IngestError as error:
                if named:
                    raise
                refused[str(path)] = str(error).removeprefix(f"{path}: ")
                continue
            if content in read:
                refused[f"{path} (again)" if path == read[content] else str(path)] = f"duplicate of {read[content]}"
                continue
            read[content] = path
            runs += found
    return runs, refused


def _refusal(run: Run, tests: Mapping[str, AcceptanceTest], counting: Mapping[str, list[Run]]) -> str:
    """Why a run does not count for any test of this folder; runs of one test have different start times."""
    if run.test not in tests:
        named = f"of {run.test}" if run.test else "without the id of a test"
        return f"a result {named}, expected one of {', '.join(tests) or 'none: the folder has no tests'}"
    if reasons := differences(tests[run.test], run):
        return "; ".join(reasons)
    others = [one for one in counting[run.test] if one.file != run.file]
    twin = next((one.file for one in others if run.began and one.began == run.began), "")
    if twin:
        return f"duplicate of {twin}: both runs have the same start time"
    if others:
        before, clocks = others[-1], (clock_of(others[-1].began), clock_of(run.began))
        apart = min(_seconds(one) for one in (before, run)) * (1 - SHORT) - 2
        if None not in clocks and clocks[1] - clocks[0] < apart:  # type: ignore[operator]
            return f"clock: it began before {before.file} had ended"
        if before.hosts != run.hosts:
            return f"hosts: found {listed(run.hosts) or 'none'}, expected {listed(before.hosts) or 'none'} as in {before.file}"
    return f"{MOST_RUNS} runs came before it, which decide" if len(counting[run.test]) >= MOST_RUNS else ""


def _seconds(run: Run) -> float:
    """The time that a run took at least."""
    files = [one.handled / one.rate for one in run.loads if one.handled and one.rate]
    return max([one.seconds or 0 for one in run.loads] + files, default=0)


def _unlike_settings(test: AcceptanceTest, run: Run) -> Iterator[str]:
    """Where a run has other options than the job file of its test, or its tool another command line than the script."""
    import yaml

    path = f"{test.tool}/{test.id}.{'fio' if test.tool == 'fio' else 'sh'}"
    text = test.files.get(path, "")
    if test.tool == "fio":
        jobs = sections(text)
        for place, seen in enumerate(run.loads):
            expected = jobs.get(seen.name, {})
            for found in seen.recorded or (None,):
                if found is None:
                    # Some drivers of fio drop the options of all jobs but the first.
                    if place == 0 or len(seen.recorded) > 1:
                        yield f"options of '{seen.name}': not in the result, expected those of the job file"
                    continue
                for key in sorted({*found, *expected}):
                    if found.get(key) != expected.get(key):
                        yield f"{key}: found {found.get(key, 'none')}, expected {expected.get(key, 'none')}"
    elif test.tool == "dlio":
        wanted = flat(yaml.safe_load(test.files.get(f"dlio/workload/{test.id}.yaml", "")) or {})
        found = next((one for seen in run.loads for one in seen.recorded if one), {})
        if not found and "reader.odirect" in wanted:
            yield "reader.odirect: not in the result (.hydra/config.yaml), expected True"
        for key, value in wanted.items() if found else ():
            # The start line switches training on.
            if found.get(key) != value and key != "workflow.train":
                yield f"{key}: found {found.get(key, 'none')}, expected {value}"
    else:
        # The words of the lines of the script that run the tool, as patterns: a variable stands for anything.
        lines = re.findall(rf"^.*?(?<!\S){test.tool} (.*run\$run.*)$", text, re.MULTILINE)
        asked = [word for line in lines for word in takewhile(re.compile("(?!2?>)").match, _words(f"{test.tool} {line}"))]
        patterns = [".*".join(map(re.escape, re.split(r"\$[A-Za-z_]+", word))) for word in asked]
        words = _words(run.command)
        if not words:
            yield "command line: not in the result, expected that of the script"
        elif len(words) != len(patterns) or not all(map(re.fullmatch, patterns, words)):
            fixed = [one for one in patterns if one != ".*"]
            odd = [word for word in words if not any(re.fullmatch(one, word) for one in fixed)]
            lacking = [
                re.sub(r"\\(.)", r"\1", one.replace(".*", "…"))
                for one in patterns
                if not any(re.fullmatch(one, word) for word in words)
            ]
            told = [f"found {' '.join(odd)}" if odd else "", f"expected {' '.join(lacking)}" if lacking else ""]
            yield f"command line: {', '.join(filter(None, told)) or 'found other values or another order of its options'}"
        if MEMORY_FOLDERS.search(run.command):
            yield "folder: found one in memory"


def _words(commands: str) -> list[str]:
    """The words of command lines after the tool's name."""
    with suppress(ValueError):
        return [word for command in commands.splitlines() for word in shlex.split(command)[1:]]
    return []


def differences(test: AcceptanceTest, run: Run) -> list[str]:
    """Why a run does not count for a test: found and expected values; empty where it counts."""
    if run.tool != test.tool:
        return [f"ran {run.tool}, expected {test.tool}"]
    found = {load.name: load for load in run.loads}
    # `4.1.0+dev` counts as [4, 1, 0].
    numbers = [re.findall(r"\d{1,9}", version.partition("+")[0]) for version in (run.version, test.version)]
    old = not run.version or [int(part) for part in numbers[0]] < [int(part) for part in numbers[1]]
    reasons = (
        [f"version: found {run.version or 'none'}, expected {test.version} or newer"] if old and test.tool != "dlio" else []
    )
    for load in test.loads:
        if load.name not in found:
            reasons.append(f"job '{load.name}' did not run")
            continue
        seen = found[load.name]
        if load.handled and seen.handled is None:
            reasons.append("files: not in the result, expected their number")
        if test.tool in REPORTING and load.operation in DATA:
            # Some drivers of fio drop the options of all jobs but the first.
            reads = ("pattern", "dataset_bytes") if load.on_data and load is test.loads[0] else ()
            absent = (name.replace("_", " ") for name in (*STATED, *reads) if getattr(seen, name) is None)
            reasons += [f"{name}: not in the result, expected a value" for name in absent]
        reasons += _differences(load, seen)
        memory = seen.memory_bytes
        if test.scale == "full" and load.dataset_bytes and memory and load.dataset_bytes < memory:
            held, data = display(memory, "B"), display(load.dataset_bytes, "B")
            reasons.append(f"caches: the clients have {held} of memory, expected less than the {data} of data")
        reasons += seen.contradictions
        if load.network and seen.unit == "B/s" and seen.rate > load.network * (1 + NETWORK):
            carried, rate = display(load.network, "B/s"), display(seen.rate, "B/s")
            reasons.append(f"rate: found {rate}, expected at most the {carried} of the storage NICs of all clients")
    reasons += _unlike_settings(test, run)
    names = [load.name for load in test.loads]
    reasons += [f"{job} ran too, expected only {', '.join(names)}" for job in sorted({*found} - {*names})]
    for name, expected in test.parameters.items():
        if name in run.shown and run.shown[name] != expected:
            reasons.append(f"{name}: found {run.shown[name]}, expected {expected}")
        elif name not in run.shown and (test.tool, name) != ("dlio", "record_length_bytes"):  # which some versions set to 1
            reasons.append(f"{name}: not in the result, expected {expected}")
    return reasons


def _differences(load: Load, seen: Observed) -> Iterator[str]:
    if seen.errors:
        yield f"{seen.errors}, expected none"
    for what, found, expected in (
        ("operation", seen.operation, load.operation),
        ("pattern", seen.pattern or load.pattern, load.pattern),
        ("clients", seen.clients, load.clients),
        ("threads in all", seen.threads, load.clients * load.threads),
        ("queue depth of a thread", seen.depth, load.depth),
    ):
        if found is not None and expected and found != expected:
            yield f"{what}: found {found}, expected {expected}"
    if seen.io_bytes is not None and load.io_bytes is not None:
        alike = round(seen.io_bytes) == load.io_bytes if load.depth == 1 else abs(seen.io_bytes / load.io_bytes - 1) <= QUEUED
        if not alike:
            yield f"block size: found {seen.io_bytes:,.0f} B, expected {load.io_bytes:,} B"
    if seen.seconds is not None and load.seconds is not None and seen.seconds < load.seconds * (1 - SHORT):
        yield f"duration: found {display(seen.seconds, 's')}, expected at least {display(load.seconds, 's')}"
    if seen.handled is not None and load.handled is not None and seen.handled < load.handled:
        yield f"files: found {seen.handled:,.0f}, expected at least {load.handled:,}"
    if load.operation not in DATA:
        return
    if load.dataset_bytes and seen.dataset_bytes is not None and seen.dataset_bytes < load.dataset_bytes * (1 - ROUNDING):
        held, least = display(seen.dataset_bytes, "B"), display(load.dataset_bytes, "B")
        yield f"caches: found {held} of data, expected at least {least}, which exceeds caches"
    if seen.direct is False and not seen.cold:
        yield "caches: found buffered I/O (direct=0), expected direct I/O"
