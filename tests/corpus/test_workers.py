"""Worker processes count as one process does, and end with it, however one of them ends."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT, refused
from corpus.made import small_files

from ingest.corpus import native_calls
from ingest.corpus.counting import exact, runners
from ingest.corpus.counting.exact import DocumentCounter
from ingest.corpus.counting.ledger import Shards, Span
from ingest.corpus.counting.runners import LocalRunner, ShardPool, SharedState, TextPool, local_runner
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.native_calls import can_fork, worker_pool
from ingest.corpus.tokenizers.splitter import BEFORE_STOP
from ingest.errors import IngestError

#: By two workers, with a vocabulary that loads at once.
COUNTED = ("--threads", "2", "--tokenizer")


class Words:
    """An engine whose tokens are words."""

    def count(self, texts):
        return [len(text.split()) for text in texts]


class Dying(Words):
    """One that takes its process with it, as an engine does that aborts."""

    def count(self, _):
        os.kill(os.getpid(), signal.SIGKILL)


class Refusing(Words):
    """One that fails."""

    def count(self, _):
        raise IngestError("no more words")


@pytest.fixture(autouse=True)
def _as_without_threads(monkeypatch):
    """Other tests leave threads in this process, which are harmless to the workers here."""
    for module in (native_calls, runners):
        monkeypatch.setattr(module, "can_fork", lambda: True)
    monkeypatch.setattr(runners, "cores", lambda: 8)
    monkeypatch.setattr("ingest.corpus.counting.ledger.SHARD_FILES", 205)
    monkeypatch.setattr(runners, "BYTES_PER_PROCESS", 1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Ten shards, with files that are left out."""
    folder = small_files(tmp_path_factory.mktemp("corpus"), 2_000)
    for name in ("part000000/binary", "part001500/other"):
        (folder / name).write_bytes(b"\0\xff")
    return folder


def parts(corpus):
    listing = list_inputs([str(corpus)])
    return Shards(listing, listing.sizes)


def alone(shards, engine=None, rule=BEFORE_STOP):
    """A runner without workers."""
    return LocalRunner(DocumentCounter("", engine or Words(), rule), shards, "")


def workers(corpus, kind, engine=None, processes=2):
    """A runner, and the numbers of the shards that it is to count."""
    shards = parts(corpus)
    work = SharedState(alone(shards, engine))
    return kind(work, worker_pool(processes, runners._prepare, work, 64 << 20), processes), iter(range(len(shards)))


def counted(runner, numbers):
    """What each shard came to, and what was told meanwhile."""
    told = []
    return sorted(runner.run(numbers, told.append)), sum(told)


def ingest(*words, check=False, **how):
    """`ingest measure` as a process of its own, to its end."""
    command = [sys.executable, str(ROOT / "cli.py"), "measure", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=check, **{"cwd": ROOT, **how})


def children(process):
    """Processes that another has started."""
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def runs(process):
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_end(processes):
    """Whether processes end within twenty seconds."""
    end = time.monotonic() + 20
    while any(map(runs, processes)) and time.monotonic() < end:
        time.sleep(0.01)
    return not any(map(runs, processes))


KINDS = pytest.mark.parametrize("kind", [ShardPool, TextPool])


@KINDS
def test_workers_count_what_one_process_counts(corpus, kind, monkeypatch):
    monkeypatch.setattr(exact, "BATCH_BYTES", 20_000)
    shards = parts(corpus)
    expected = counted(alone(shards), iter(range(len(shards))))
    assert len(expected[0]) == 10
    assert sum(len(one.skipped) for one in expected[0]) == 2
    for processes in (1, 3):
        assert counted(*workers(corpus, kind, processes=processes)) == expected


@KINDS
@pytest.mark.parametrize(("engine", "reason"), [(Dying(), "a worker process was killed"), (Refusing(), "no more words")])
def test_a_worker_that_ends_is_one_line_and_the_others_end_too(corpus, kind, engine, reason):
    runner, numbers = workers(corpus, kind, engine)
    begun = list(runner.pool._processes)
    assert all(map(runs, begun))
    with refused(match=reason):
        counted(runner, numbers)
    assert not any(map(runs, begun))


class Endless(Words):
    """One that has always more to count."""

    def count(self, texts):
        time.sleep(0.05)
        return super().count(texts)


def test_an_interrupted_run_does_not_wait_for_a_large_shard(tmp_path, monkeypatch):
    monkeypatch.setattr(exact, "BATCH_BYTES", 1000)
    for name in "ab":
        (tmp_path / name).write_text("one two three\n" * 100_000)
    shards = parts(tmp_path)
    monkeypatch.setattr(shards, "_spans", [Span(range(0, 1)), Span(range(1, 2))])
    work = SharedState(alone(shards, Endless()))
    runner = ShardPool(work, worker_pool(2, runners._prepare, work, 64 << 20), 2)

    def interrupt(moved):
        if moved:
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(runner.run(iter(range(2)), interrupt))
    assert time.monotonic() - start < 20  # the two shards take 70 s


def test_where_the_system_allows_no_process_threads_count(corpus, monkeypatch):
    shards = parts(corpus)

    def refused(_):
        raise BlockingIOError("no more processes")

    monkeypatch.setattr("multiprocessing.context.ForkProcess.start", refused)
    assert type(local_runner(DocumentCounter("", Words(), None), shards, "", 2)) is LocalRunner


def test_a_process_with_threads_is_not_forked():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert not can_fork()
    done.set()
    thread.join()


def test_under_a_limit_of_file_sizes_this_process_counts_and_a_ledger_is_named(tmp_path, small):
    for name in "ab":
        (tmp_path / name).write_text("one two three\n" * 100_000)
    words = [*"ab", "--exact", "--threads", 2, "-q", "--tokenizer", small]
    limited = {"cwd": tmp_path, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))}
    assert ingest(*words, **limited).stdout.startswith("Found")
    done = ingest(*words, "--resume", "a.ledger", **limited)
    assert (done.returncode, done.stderr) == (1, "ingest: --resume: 'a.ledger' cannot be written: File too large\n")


def test_workers_are_forked_where_they_are_of_use(corpus, monkeypatch):
    shards = parts(corpus)
    made = []

    def kind_of(*given, **options):
        runner = local_runner(DocumentCounter("", Words(), None), shards, "", *given, **options)
        if isinstance(runner, ShardPool | TextPool):
            made.append(len(runner.pool._processes))
            runner.pool.shutdown()
        return type(runner)

    assert kind_of(2) is ShardPool
    assert kind_of(3) is TextPool
    assert kind_of(1) is LocalRunner
    assert kind_of(2, with_standard_input=True) is TextPool
    assert kind_of(1000) is TextPool
    assert made == [2, 3, 2, 8]
    monkeypatch.setattr(runners, "BYTES_PER_PROCESS", shards.total_bytes)
    assert kind_of(2) is LocalRunner


def test_a_worker_does_not_take_ctrl_c():
    with worker_pool(1) as pool:
        worker = pool.submit(os.getpid).result()
        os.kill(worker, signal.SIGINT)
        assert pool.submit(os.getpid).result() == worker


def test_standard_input_with_many_shards_is_read_by_the_main_process(corpus, small):
    text = "one two three\n" * 300_000
    found = json.loads(ingest(corpus, "-", *COUNTED, small, "--format", "json", input=text, check=True).stdout)
    assert found["results"]["files"]["value"] == 2_001
    assert found["tables"]["extensions"][0]["corpus_bytes"] == len(text)


def test_standard_input_in_a_list_is_no_matter_for_a_sample(corpus, tmp_path, small):
    (tmp_path / "list.txt").write_text(f"-\n{corpus}\n")
    done = ingest(f"@{tmp_path / 'list.txt'}", "--sample", "--tokenizer", small, input="text")
    assert done.returncode == 2
    assert "found with standard input" in done.stderr


def test_closed_streams_are_no_traceback(corpus, tmp_path, small):
    measure = f"'{sys.executable}' '{ROOT / 'cli.py'}' measure --tokenizer '{small}'"
    for words, code in ((f"'{corpus / 'part000000'}' -o '{tmp_path / 'x.json'}' >&-", 0), ("@- <&-", 1)):
        done = subprocess.run(["sh", "-c", f"{measure} {words}"], capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
    assert json.loads((tmp_path / "x.json").read_text())["command"] == "measure"


def test_workers_end_when_their_process_is_killed(tmp_path, small):
    corpus = small_files(tmp_path / "corpus", 3_000, lines=130)
    ledger = tmp_path / "ledger"
    words = ["measure", str(corpus), "--resume", str(ledger), "--quiet", *COUNTED, small]
    started = subprocess.Popen([sys.executable, str(ROOT / "cli.py"), *words], stdout=subprocess.DEVNULL, cwd=ROOT)
    below = []
    while not (ledger.exists() and ledger.read_bytes() and below):
        assert started.poll() is None
        below = children(started.pid)
    started.kill()
    started.wait()
    assert all_end(below)
    again = ingest(corpus, "--resume", ledger, "--format", "json", "--tokenizer", small, check=True)
    assert json.loads(again.stdout)["results"]["files"]["value"] == 3_000


ORPHAN = """
import time
from ingest.corpus.native_calls import worker_pool
pool = worker_pool(2)
print(*pool._processes, flush=True)
for _ in range(2):
    pool.submit(time.sleep, 600)
time.sleep(600)
"""


def test_workers_that_are_busy_end_with_their_process():
    started = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    with started.stdout:
        busy = [int(word) for word in started.stdout.readline().split()]
    assert len(busy) == 2
    assert all(map(runs, busy))
    started.kill()
    started.wait()
    assert all_end(busy)
