"""Jobs that really ran under Darshan and DFTracer: logs against the jobs' own counts; damaged and foreign logs are refused."""

import gzip
import json
import os
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from conftest import table
from record_jobs import JOBS, LIBRARIES, run

import ingest
from ingest.errors import IngestError
from ingest.observation.darshan_records import BINS, _add
from ingest.observation.read_totals import GAP, LEAST_SECONDS, UNREAD_SHARE, ReadTotals, totals_reading
from ingest.observation.sources import dftracer
from ingest.observation.sources.darshan import _refuse_incomplete, _refuse_two_jobs
from ingest.observation.sources.dftracer import LONGEST_LINE, SURELY_LONG

HERE = Path(__file__).parent
NAMES = ["-".join(map(str, job)) for job in JOBS]
#: One of each manner of counting; the others are as slow as PyDarshan starts.
FEW = {"files-fork-2", "shuffled-spawn-1", "mapped-fork-0"}
DARSHAN = [pytest.param("darshan", name, marks=() if name in FEW else pytest.mark.slow) for name in NAMES]
DATA = "/tmp/job/data"


@pytest.fixture
def recorded(tmp_path):
    """The logs of a job, unpacked, and its own counts."""

    def unpack(tool, name):
        with zipfile.ZipFile(HERE / f"generated_jobs-{tool}.zip") as kept:
            for one in kept.namelist():
                if one.startswith(f"{name}/"):
                    kept.extract(one, tmp_path)
        counts = tmp_path / name / "counts.json"
        found = json.loads(counts.read_text())
        counts.unlink()
        return tmp_path / name, found

    return unpack


def check(folder, counts):
    """The counts of a job, exactly; mapped files are refused."""
    if "mapped" in folder.name:
        with pytest.raises(IngestError, match=r"opened and not read.*--pid"):
            ingest.observe(folder, path=DATA)
        return
    answer = ingest.observe(folder, path=DATA)
    assert [answer.results[name].value for name in ("bytes_read", "reads", "opens")] == counts
    assert answer.results["read_bytes_mean"].value == pytest.approx(counts[0] / counts[1])
    assert sum(one.requests for one in answer.sizes) == counts[1]
    workers = max(1, int(folder.name.rpartition("-")[2]))
    assert answer.facts["readers"] == workers


@pytest.mark.parametrize(("tool", "name"), [*(("dftracer", name) for name in NAMES), *DARSHAN])
def test_a_log_counts_as_the_job_does(tool, name, recorded):
    if tool == "darshan":
        pytest.importorskip("darshan")
    check(*recorded(tool, name))


@pytest.mark.slow
@pytest.mark.parametrize("tool", LIBRARIES)
def test_jobs_that_run_now(tool, tmp_path):
    library = os.environ.get(LIBRARIES[tool])
    if not library:
        pytest.skip(f"set {LIBRARIES[tool]} to the library of {tool}: the kept logs are compared instead")
    for job in JOBS[:6] + JOBS[-2:]:
        folder = tmp_path / "-".join(map(str, job))
        check(folder, run(tool, library, job, folder))


@pytest.mark.slow
def test_every_log_of_pydarshan_gets_an_answer_or_one_line(run_process):
    darshan = pytest.importorskip("darshan")
    logs = sorted(Path(darshan.__file__).parent.rglob("*.darshan"))
    assert len(logs) >= 18
    answered = 0
    for log in logs:
        ran = run_process("observe", log, "--format", "json")
        answered += ran.code == 0
        assert "Traceback" not in ran.err
        assert ran.code == 0 or (ran.code == 1 and len(ran.refusal) <= 300)
    assert answered >= 8


def test_damaged_darshan_logs_are_refused(recorded, tmp_path):
    pytest.importorskip("darshan")
    folder, _ = recorded("darshan", "files-fork-0")
    (log,) = folder.iterdir()
    whole = log.read_bytes()
    for name, kept in (("half", len(whole) // 2), ("tail", len(whole) - 2)):
        cut = tmp_path / f"{name}.darshan"
        cut.write_bytes(whole[:kept])
        with pytest.raises(IngestError, match="cut off or damaged"):
            ingest.observe(cut)
    with pytest.raises(IngestError, match=r"ran out of records \(POSIX\).*MAX_RECORDS"):
        ingest.observe(HERE / "logs" / "partial.darshan")


def test_without_the_extra_a_darshan_log_is_one_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "darshan", None)
    ran = run("observe", HERE / "logs" / "partial.darshan")
    assert (ran.code, ran.refusal) == (1, "this needs the package darshan: pip install 'ingest-sizing[observe]'")


LOG = table("observation/cases.yaml")["darshan_log"]


def test_logs_just_within_the_limits_of_the_refusals_below():
    _refuse_incomplete(LOG | {"last": 10 + GAP, "ended": 99.1})
    _refuse_two_jobs([LOG, LOG | {"began": 110 + GAP, "ended": 130.0, "jobid": 8, "exe": "python -c multiprocessing.spawn"}])
    _refuse_two_jobs([LOG, LOG | {"jobid": 8}])


@pytest.mark.parametrize(
    ("refused", "change", "expected"),
    [
        (_refuse_incomplete, {"negative": "POSIX: /data/a"}, "negative counter"),
        (_refuse_incomplete, {"ended": 98.9}, "ends before it begins"),
        (_refuse_incomplete, {"seconds": -1.0}, "ends before it begins"),
        (_refuse_incomplete, {"last": 10 + GAP + 0.1}, "expected one clock"),
        (_refuse_incomplete, {"first": -GAP - 0.1}, "expected one clock"),
        (_refuse_two_jobs, {"began": 110 + GAP + 0.1, "ended": 130.0}, "lie between them"),
        (_refuse_two_jobs, {"uid": 2}, "two users"),
        (_refuse_two_jobs, {"jobid": 8, "nprocs": 2}, "job ids 7 and 8"),
        (_refuse_two_jobs, {"exe": "python other.py"}, "two command lines"),
        (_refuse_two_jobs, {}, "are one log"),
    ],
)
def test_counters_and_clocks_that_cannot_be_and_logs_of_two_jobs(refused, change, expected):
    other = LOG | {"path": "b.darshan"} | change
    with pytest.raises(IngestError, match=expected):
        refused(other if refused is _refuse_incomplete else [LOG, other])


def read_event(start, size=4096, length=5):
    args = {"hhash": "aa", "ret": size, "count": size, "fhash": "f1"}
    return {"id": 1, "name": "read", "cat": "POSIX", "pid": 1, "tid": 1, "ts": start, "dur": length, "ph": 1, "args": args}


NAME = {"name": "FH", "cat": "dftracer", "ph": 4, "args": {"hhash": "aa", "name": "/data/a", "value": "f1"}}
END = {"id": 2, "name": "end", "cat": "dftracer", "pid": 1, "tid": 1, "ts": 20_000_000, "dur": 0, "ph": 1, "args": {}}


def lines(*events):
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in events).encode()


STEADY = [read_event(100_000 * number) for number in range(1, 60)]
POISON = {
    **table("observation/refused.yaml")["a_poisoned_trace"],
    "cut off": (lines(NAME, *STEADY)[:-9], "cut off"),
    "a line without an end": (b" " * (LONGEST_LINE + 1), "no trace unpacks to such lines"),
}


@pytest.mark.parametrize("name", POISON)
def test_a_poisoned_trace_is_refused_in_one_line(name, tmp_path, run):
    content, expected = POISON[name]
    (tmp_path / "t.pfw").write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = run("observe", tmp_path / "t.pfw")
    assert (ran.code, expected in ran.refusal) == (1, True)
    assert len(ran.refusal) <= 300


def test_a_trace_that_is_cut_off_within_its_compression_or_unpacks_to_more_than_a_trace_does(tmp_path, monkeypatch):
    path = tmp_path / "t.pfw.gz"
    path.write_bytes(gzip.compress(lines(NAME, *STEADY, END))[:-20])
    with pytest.raises(IngestError, match="cut off or damaged"):
        ingest.observe(path)
    path.write_bytes(gzip.compress(b"[\n" * 500_000))
    for limit, expected in ((10**6, "no event of a file"), (10**6 - 1, "no trace unpacks")):
        monkeypatch.setattr(dftracer, "SMALL", limit)
        with pytest.raises(IngestError, match=expected):
            ingest.observe(path)
    assert dftracer.MOST_UNPACKED * path.stat().st_size < 10**6


def test_the_fast_form_and_the_plain_form_of_an_event_are_one(tmp_path):
    """DFTracer's own order of keys is read by a pattern, any other as JSON; its first versions quote numbers."""
    found = []

    def quoted(one):
        return {**one, "ts": str(one["ts"]), "dur": str(one["dur"]), "args": {**one["args"], "ret": str(one["args"]["ret"])}}

    for number, form in enumerate((dict, lambda one: dict(reversed(one.items())), quoted)):
        path = tmp_path / f"{number}.pfw"
        path.write_bytes(lines(NAME, *map(form, STEADY), END))
        found.append({name: one.value for name, one in ingest.observe(path, path="/data").results.items()})
    assert found[0] == found[1] == found[2]
    assert found[0]["read_bandwidth"] == pytest.approx(40_960)


def test_traces_that_are_empty_make_a_lower_bound_and_two_jobs_are_refused(tmp_path):
    (tmp_path / "a.pfw").write_bytes(lines(NAME, *STEADY, END))
    (tmp_path / "b.pfw").write_bytes(b"")
    answer = ingest.observe(tmp_path)
    assert answer.figures["bytes_read"].lower_bound
    assert not answer.figures["read_bytes_mean"].lower_bound
    late = [read_event(20_000_000 + round(1e6 * GAP) + 10)]
    (tmp_path / "c.pfw").write_bytes(lines(NAME, *late))
    with pytest.raises(IngestError, match="of two jobs"):
        ingest.observe(tmp_path)


def test_common_sizes_are_those_of_files_that_were_not_written():
    """Darshan counts the sizes of reads and writes together: those of a file that is written too are not of its reads."""
    counters = {f"POSIX_{name}": 0 for name in ("DUPS", "FILENOS", "SEQ_READS", *(f"SIZE_READ_{one}" for one in BINS))}
    counters |= {f"POSIX_ACCESS{place}_{what}": 0 for place in range(1, 5) for what in ("ACCESS", "COUNT")}
    counters |= {"POSIX_BYTES_READ": 4096, "POSIX_READS": 1, "POSIX_OPENS": 1}
    counters |= {"POSIX_ACCESS1_ACCESS": 1048576, "POSIX_ACCESS1_COUNT": 9}
    times = {f"POSIX_F_READ_{name}": 0.0 for name in ("TIME", "START_TIMESTAMP", "END_TIMESTAMP")}
    for writes, expected in ((0, {1048576: 9}), (9, {})):
        found = dict.fromkeys(("all_bytes", "bytes", "reads", "opens", "read_seconds", "sequential"), 0)
        found |= {"first": None, "last": None, "files": []}
        common = Counter()
        record = {"id": 1, "counters": {**counters, "POSIX_WRITES": writes}, "fcounters": times}
        _add(found, record, "POSIX", "/data/a", "", [0] * len(BINS), common)
        assert {size: count for size, count in common.items() if count} == expected


def test_files_that_were_opened_and_not_read_and_bursts():
    """A few opens are looks at a header; more are mapped files. A burst is no rate."""
    few, more = (
        ReadTotals(all_bytes=95, bytes=95, reads=95, files=95, unread=unread, began=0, ended=LEAST_SECONDS) for unread in (5, 6)
    )
    assert 5 / 100 <= UNREAD_SHARE < 6 / 101
    assert totals_reading(few, "log", "/data", "x").figures["read_bandwidth"].value == 95
    with pytest.raises(IngestError, match=r"6 of 101 files"):
        totals_reading(more, "log", "/data", "x")

    burst = ReadTotals(all_bytes=9, bytes=9, reads=1, files=1, began=0, ended=LEAST_SECONDS * 0.99)
    assert "too short for a rate" in totals_reading(burst, "log", None, "x").unknown["read_bandwidth"]


def test_a_folder_with_nothing_to_read(tmp_path):
    with pytest.raises(IngestError, match="holds no"):
        ingest.observe(tmp_path)


def test_a_rate_without_steady_part_leaves_the_imports_out_and_is_a_lower_bound():
    """Bursts of no period after a long import: the mean begins with the first burst."""
    bins = {0: 10, **{70 + place: 1_000 * (place % 7 > 3) for place in range(14)}, 120: 40_000, 121: 1}
    moved = sum(bins.values())
    totals = ReadTotals(all_bytes=moved, bytes=moved, reads=9, opens=1, files=1, began=0, ended=122, width=1)
    totals.bins.update(bins)
    figure = totals_reading(totals, "Darshan log", None, "a").figures["read_bandwidth"]
    assert figure.value == pytest.approx((moved - 11) / (121 - 74))
    assert (figure.lower_bound, figure.window.cut_before, figure.window.cut_after) == (True, 74, 1)
    assert figure.window.note.startswith("mean from the first to the last read, pauses included")


def trace_of(path, starts):
    """A trace of reads of one thread, at these microseconds."""
    path.write_bytes(lines(*map(read_event, starts)))
    return path


def test_a_trace_whose_clock_runs_backwards_slowly_is_refused(tmp_path):
    back = int(GAP * 1_000_000)
    ingest.observe(trace_of(tmp_path / "a.pfw", [9_000_000, 9_000_000 - back // 2, 9_000_000 - back]))
    with pytest.raises(IngestError, match=r"a\.pfw:3: a read begins 2 s before an earlier one of its thread"):
        ingest.observe(trace_of(tmp_path / "a.pfw", [9_000_000, 9_000_000 - back // 2, 9_000_000 - back - 1]))


def test_a_trace_that_holds_each_event_twice_is_refused(tmp_path):
    """A thread that reads for 5 µs cannot begin another read in the same microsecond; one that reads for 4 may, by rounding."""
    short, long = (lines(NAME, *(read_event(9, length=length) for _ in range(2))) for length in (4, 5))
    assert SURELY_LONG == 5e-6
    (tmp_path / "a.pfw").write_bytes(short)
    assert ingest.observe(tmp_path / "a.pfw").figures["reads"].value == 2
    (tmp_path / "a.pfw").write_bytes(long)
    with pytest.raises(IngestError, match=r"a\.pfw:3: a thread makes one read twice"):
        ingest.observe(tmp_path / "a.pfw")


def test_reads_over_more_than_a_year_are_refused(tmp_path):
    year = 366 * 86_400 * 1_000_000
    ingest.observe(trace_of(tmp_path / "a.pfw", [1_000_000, year]))
    with pytest.raises(IngestError, match="the reads span 1 years"):
        ingest.observe(trace_of(tmp_path / "a.pfw", [1_000_000, year + 1_000_000]))


def test_one_trace_given_twice_is_refused(recorded):
    folder, _ = recorded("dftracer", "files-fork-0")
    (trace,) = [one for one in folder.iterdir() if one.name.endswith(".pfw.gz")]
    (folder / "copy.pfw").write_bytes(gzip.decompress(trace.read_bytes()))
    with pytest.raises(IngestError, match=r"are one trace.*leave the copy out"):
        ingest.observe(folder)
