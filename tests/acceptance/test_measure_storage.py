"""`ingest measure-storage`: what it prints, and that it leaves nothing behind and touches nothing."""

import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from functools import wraps

import pytest
from conftest import COMMAND, clean_environment, default_signals, table

import ingest
from ingest.acceptance import path_benchmark
from ingest.acceptance.path_benchmark import (
    SIGNALS,
    FioRun,
    PathBenchmark,
    Point,
    _own_folder,
    _takes_direct,
    knee_of,
    supported_gpus,
)
from ingest.acceptance.test_spec import Observed
from ingest.errors import IngestError, UsageError
from ingest.reports.page import as_text
from ingest.reports.pages.acceptance import measured_page
from ingest.storage.existing import measured_entry

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
SHORT = {"size": "8 MiB", "runtime": "1 s", "threads": 2}


@pytest.fixture
def storage(tmp_path):
    """A folder with something of the user's in it."""
    folder = tmp_path / "storage"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    (folder / ".ingest-measure-storage-mine").write_text("mine too")
    return folder


def untouched(folder):
    return {path.name: path.read_text() for path in folder.iterdir()} == {
        "mine": "mine",
        ".ingest-measure-storage-mine": "mine too",
    }


@pytest.fixture(scope="module", autouse=True)
def hasty():
    """Each run of fio takes a quarter of the time asked for: what is said of it is the same."""
    plain = path_benchmark._fio
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(path_benchmark, "_fio", lambda *words: plain(*words[:3], replace(words[3], seconds=0.25), words[4]))
        yield


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """One measurement for all tests of what is said of it."""
    return ingest.measure_storage(tmp_path_factory.mktemp("measured"), **SHORT, gpu="h100,a100-80-sxm")


@needs_fio
def test_rates_requests_and_latencies_agree(measured):
    rates = measured.results
    assert rates["read_bandwidth"].value > 0
    assert rates["write_bandwidth"].value > 0
    assert rates["read_requests_per_second"].value == pytest.approx(rates["read_bandwidth"].value / 131072)
    # Two threads that wait for each request: what is in flight is rate times latency, and never more than two.
    assert rates["read_requests_per_second"].value * rates["read_latency"].value <= 2.1
    assert measured.chosen.read.pattern == "random"
    assert measured.chosen.write.pattern == "sequential"


@needs_fio
def test_what_it_feeds_follows_from_the_rate(measured):
    for one in measured.supported:
        assert one.gpus * one.bandwidth_per_gpu <= measured.chosen.read.rate < (one.gpus + 1) * one.bandwidth_per_gpu
    assert {one.gpu for one in measured.supported} == {"h100-sxm", "a100-80-sxm"}


def test_five_gigabytes_a_second_feed_six_h100_of_cosmoflow():
    fed = {one.model: one.gpus for one in supported_gpus(5e9, ["h100-sxm"])}
    assert fed["cosmoflow"] == 6
    assert fed["unet3d"] == 0  # 70.7 volumes/s of 146.6 MB each


def test_more_bandwidth_never_feeds_fewer():
    low, high = (supported_gpus(rate, ["h100-sxm"]) for rate in (1e9, 1.7e9))
    assert all(one.gpus <= other.gpus for one, other in zip(low, high, strict=True))
    assert len(low) > 10


@needs_fio
def test_the_command_measures_and_leaves_the_folder_as_it_was(run, storage):
    ran = run("measure-storage", storage, "--size", "8MiB", "--runtime", "1s", "--threads", "2", "--format", "json")
    assert ran.code == 0
    assert untouched(storage)
    assert ran.data["results"]["read_bandwidth"]["unit"] == "B/s"
    assert ran.data["feeds"][0]["gpus"] >= 0
    assert ran.data["inputs"]["threads"]["value"] == 2


@needs_fio
@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_a_measurement_is_printed_in_every_format(run, monkeypatch, measured, form):
    monkeypatch.setattr(path_benchmark, "measure_storage", wraps(path_benchmark.measure_storage)(lambda *_, **__: measured))
    ran = run("measure-storage", ".", "--format", form)
    assert ran.code == 0
    assert "cosmoflow" in ran.out
    assert "one machine, 1 s" in ran.err


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep over two sizes of request and two numbers of threads."""
    folder = tmp_path_factory.mktemp("swept")
    return ingest.measure_storage(folder, size="8 MiB", runtime="1 s", threads="1,2", io_size="4KiB,1MiB")


@needs_fio
def test_a_sweep_measures_every_size_with_every_number_of_threads(swept):
    points = [(row["io_size"], row["threads"]) for row in swept.rows]
    assert points == [(size, threads) for size in (4096, 2**20) for threads in (1, 2)]
    assert [row["knee"] for row in swept.rows].count(True) == sum(swept.bent.values())
    for size, knee in swept.knees.items():
        best = max(row["read_bandwidth"] for row in swept.rows if row["io_size"] == size)
        assert knee.read.rate >= 0.9 * best
        fewer = [row for row in swept.rows if row["io_size"] == size and row["threads"] < knee.run.threads]
        assert all(row["read_bandwidth"] < 0.9 * best for row in fewer)
    assert swept.results["read_bandwidth"].value == swept.knees[2**20].read.rate
    small = next(row for row in swept.rows if (row["io_size"], row["threads"]) == (4096, 1))
    assert swept.results["small_read_latency"].value == small["read_latency"]


@needs_fio
def test_a_sweep_is_a_picture_and_its_result_an_entry(run, monkeypatch, swept, tmp_path):
    monkeypatch.setattr(path_benchmark, "measure_storage", wraps(path_benchmark.measure_storage)(lambda *_, **__: swept))
    out = run("measure-storage", ".").out
    assert out.count("no knee up to 2 threads: measure with more") == list(swept.bent.values()).count(False)
    bars = [line.split()[1] for line in out.splitlines() if "█" in line]
    assert len(bars) == 4
    assert max(len(bar) for bar in bars) == 24
    written = tmp_path / "result.json"
    assert run("measure-storage", ".", "-o", written).code == 0
    found = ingest.fit(read_bandwidth=swept.chosen.read.rate / 2, nodes=1, storage=str(written)).systems[0]
    client = next(one for one in found.layers if one.layer.name == "protocol client")
    assert client.ceiling == pytest.approx(swept.chosen.read.rate)
    assert client.holds is True


@needs_fio
@pytest.mark.parametrize(("requests", "measured"), [(4095, 2**20), (4096, 4096), (2**20 - 1, 4096), (2**20, 2**20)])
def test_small_requests_are_judged_by_the_points_of_at_most_their_size(run, monkeypatch, swept, tmp_path, requests, measured):
    monkeypatch.setattr(path_benchmark, "measure_storage", wraps(path_benchmark.measure_storage)(lambda *_, **__: swept))
    written = tmp_path / "result.json"
    assert run("measure-storage", ".", "-o", written).code == 0
    entry = measured_entry(written, requests)
    assert entry.reference_io_bytes.value == measured
    fastest = max(row["read_bandwidth"] for row in swept.rows if row["io_size"] == measured)
    assert entry.read_bandwidth.value <= fastest * (1 + 1e-9)


def points(**rates):
    def load(operation, rate):
        return Observed(operation, operation, rate, "B/s", io_bytes=4096)

    runs = {FioRun(2**20, 1, 4096, int(name[1:])): rate for name, rate in rates.items()}
    return tuple(Point(run, load("read", rate), load("write", rate)) for run, rate in runs.items())


def test_one_point_is_its_own_knee_and_the_fewest_threads_win():
    assert knee_of(points(t4=10.0)).run.threads == 4
    assert knee_of(points(t1=5.0, t2=9.1, t4=10.0, t8=9.9)).run.threads == 2


@pytest.mark.parametrize(("rates", "knee"), table("acceptance/cases.yaml")["a_curve_that_has_not_bent_has_no_knee"])
def test_a_curve_that_has_not_bent_has_no_knee(rates, knee):
    measured = PathBenchmark("/mnt", points(**rates), True, 10**12, (), None)
    assert [row["threads"] for row in measured.rows if row["knee"]] == ([] if knee is None else [knee])
    page = as_text(measured_page(measured))
    assert ("no knee up to 4 threads: measure with more" in page) is (knee is None and len(rates) > 1)
    assert measured.chosen.run.threads == (knee or 4)


def _measuring(storage):
    """A process that writes for a minute, in a process group of its own."""
    words = [COMMAND, "measure-storage", str(storage), "--size", "16MiB", "--runtime", "60s"]
    return subprocess.Popen(
        words,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
        preexec_fn=default_signals,  # noqa: PLW1509  no thread runs here that could hold a lock
    )


#: A session that ends sends several; none of them may end the cleaning up.
SEVERAL = (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@needs_fio
@pytest.mark.parametrize(
    ("numbers", "pause"),
    [
        *(((number,), 0) for number in sorted({*SEVERAL})),
        *(pytest.param(SEVERAL, pause, marks=[pytest.mark.slow] * (pause != 0.003)) for pause in (0, 0.003, 0.05)),
    ],
)
def test_signals_in_the_middle_leave_nothing_behind(storage, numbers, pause):
    process = _measuring(storage)
    try:
        folder = _until(lambda: next((one for one in storage.glob(".ingest-*") if (one / "write.fio").exists()), None))
        # Sixty seconds of writing have begun: fio is there to be stopped.
        _until(lambda: _fio_in(folder, b"write.fio"))
        for number in numbers:
            if process.poll() is None:
                process.send_signal(number)
            time.sleep(pause)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    if len(numbers) == 1:
        assert (process.returncode, err.strip(), out) == (130, "ingest: interrupted", "")
    assert untouched(storage)
    assert _until(lambda: not _fio_in(folder))


def _fio_in(folder, job=b""):
    """Whether a fio works in the folder, on this job."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            if not os.readlink(f"/proc/{number}/cwd").startswith(str(folder)):
                continue
            with open(f"/proc/{number}/cmdline", "rb") as words:
                if job in words.read():
                    return True
        except OSError:
            continue
    return False


def _until(found, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not happen")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@needs_fio
def test_a_small_disk_is_refused_before_anything_is_written(small_disk):
    with pytest.raises(IngestError, match=r"found 8\.389 MB \(8 MiB\) free, expected 16\.78 MB"):
        ingest.measure_storage(small_disk, size="16 MiB", runtime="1 s")
    assert list(small_disk.iterdir()) == []


@needs_fio
def test_a_disk_that_fills_up_meanwhile_is_one_line(small_disk, run):
    """The files fit when it starts; fio's own state and the job files then make it a little too much."""
    ran = run("measure-storage", small_disk, "--size", "8MiB", "--runtime", "1s", "--threads", "2")
    assert ran.code == 1
    assert any(words in ran.refusal for words in ("No space left", "error 28", "cut short"))
    assert list(small_disk.iterdir()) == []


@needs_fio
def test_a_file_system_in_memory_is_named(small_disk):
    answer = ingest.measure_storage(small_disk, size="2 MiB", runtime="1 s", threads=1)
    assert "is tmpfs: this measures main memory" in answer.warnings[0]
    assert list(small_disk.iterdir()) == []


def test_without_fio_it_says_so(run, storage):
    ran = run("measure-storage", storage, PATH="/nonexistent")
    assert ran.code == 1
    assert ran.refusal.startswith("fio: not found, expected version")
    assert untouched(storage)


@pytest.mark.parametrize(
    ("path", "message"), [("nothing", "found nothing, expected a folder"), ("storage/mine", "found a file, expected a folder")]
)
@needs_fio
def test_a_path_that_is_no_folder_is_refused(tmp_path, storage, path, message):
    assert storage.exists()
    with pytest.raises(IngestError, match=message):
        ingest.measure_storage(tmp_path / path)


@pytest.mark.parametrize(("options", "message"), table("acceptance/refused.yaml")["options_that_cannot_be_are_refused"])
def test_options_that_cannot_be_are_refused(storage, options, message):
    with pytest.raises((UsageError, IngestError)) as refused:
        ingest.measure_storage(storage, **options)
    assert message in str(refused.value)
    assert untouched(storage)


def test_a_file_system_without_direct_io_is_seen():
    """/proc takes no files at all, let alone direct ones."""
    from pathlib import Path

    assert _takes_direct(Path("/proc")) is False


def test_the_first_signal_silences_all_others_until_the_folder_is_gone(storage):
    before = [signal.getsignal(number) for number in SIGNALS]
    heard = []

    def interrupted(folder):
        (folder / "file").write_text("x")
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        finally:
            heard.extend(signal.getsignal(number) for number in SIGNALS)
            for number in SIGNALS:
                os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt), _own_folder(storage) as folder:
        interrupted(folder)
    assert heard == [signal.SIG_IGN] * len(SIGNALS)
    assert untouched(storage)
    assert [signal.getsignal(number) for number in SIGNALS] == before
