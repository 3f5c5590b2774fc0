"""Copies of a process count as it does, and end with it, however one of them ends."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from corpus.made import small_files

from ingest.corpus import apart, exact, forked
from ingest.corpus.apart import Copy, can_fork
from ingest.corpus.cutting import BEFORE_STOP
from ingest.corpus.forked import Copies, OfShards, OfTexts, local_runner
from ingest.corpus.listing import list_inputs
from ingest.corpus.reading import Reading
from ingest.corpus.shards import Shards
from ingest.corpus.spread import Local, Task
from ingest.corpus.vocabulary import vocabulary_of
from ingest.errors import IngestError

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process is copied on Linux alone")


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
    """Other tests leave threads in this process, which do no harm to what is copied here."""
    monkeypatch.setattr(apart, "can_fork", lambda: True)
    monkeypatch.setattr(forked, "can_fork", lambda: True)
    monkeypatch.setattr(forked, "cores", lambda: 8)
    monkeypatch.setattr(forked, "TEXT_EACH", 1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Ten shards, with files that are left out."""
    folder = small_files(tmp_path_factory.mktemp("corpus"), 10_000)
    for name in ("part000000/binary", "part009500/other"):
        (folder / name).write_bytes(b"\0\xff")
    return folder


def parts(corpus):
    listing = list_inputs([str(corpus)])
    return Task(vocabulary_of(None), Reading(), "", ()), Shards(listing, listing.sizes)


def copies(corpus, kind, engine=None, processes=2):
    """A runner, and the numbers of the shards that it is to count."""
    task, shards = parts(corpus)
    return kind(task, shards, engine or Words(), BEFORE_STOP, processes), iter(range(len(shards)))


def counted(runner, numbers):
    """What each shard came to, and what was told meanwhile."""
    told = []
    return sorted(runner.run(numbers, told.append)), sum(told)


def children(process):
    """Processes that another has started."""
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def runs(process):
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


KINDS = pytest.mark.parametrize("kind", [OfShards, OfTexts])


@KINDS
def test_copies_count_what_one_process_counts(corpus, kind, monkeypatch):
    monkeypatch.setattr(exact, "BATCH_BYTES", 20_000)
    task, shards = parts(corpus)
    alone = counted(Local(task, shards, Words(), BEFORE_STOP), iter(range(len(shards))))
    assert len(alone[0]) == 10
    assert sum(len(one.skipped) for one in alone[0]) == 2
    for processes in (1, 2, 5, 20):
        assert counted(*copies(corpus, kind, processes=processes)) == alone


@KINDS
def test_a_copy_that_has_grown_is_replaced(corpus, kind, monkeypatch):
    begun = []
    begin = Copies._begin
    monkeypatch.setattr(Copies, "_begin", lambda self: (begun.append(1), begin(self))[1])
    expected = counted(*copies(corpus, kind))
    assert len(begun) == 2
    for limit in ("GROWTH", "LEAST_GROWTH"):
        monkeypatch.setattr(forked, limit, -1)
    assert counted(*copies(corpus, kind)) == expected
    assert len(begun) >= 2 + 10


@KINDS
@pytest.mark.parametrize(("engine", "reason"), [(Dying(), "was killed by SIGKILL"), (Refusing(), "no more words")])
def test_a_copy_that_ends_is_one_line_and_the_others_end_too(corpus, kind, engine, reason):
    runner, numbers = copies(corpus, kind, engine)
    begun = [copy._process.pid for copy in runner.copies.all.values()]
    assert all(map(runs, begun))
    with pytest.raises(IngestError, match=reason):
        counted(runner, numbers)
    assert not runner.copies.all
    assert not any(map(runs, begun))


def test_as_many_copies_as_the_system_allows(corpus, monkeypatch):
    task, shards = parts(corpus)
    made = []

    def limited(work, pipes=()):
        if len(made) == 1:
            raise BlockingIOError("no more processes")
        made.append(Copy(work, pipes))
        return made[-1]

    expected = counted(*copies(corpus, OfShards))
    monkeypatch.setattr(forked, "Copy", limited)
    monkeypatch.setattr(forked, "GROWTH", -1)
    monkeypatch.setattr(forked, "LEAST_GROWTH", -1)
    assert counted(*copies(corpus, OfShards)) == expected
    assert type(local_runner(task, shards, Words(), None, 2)) is Local


def test_a_process_with_threads_is_not_copied():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert not can_fork()
    done.set()
    thread.join()


def test_copies_are_made_where_they_are_of_use(corpus, monkeypatch):
    task, shards = parts(corpus)
    assert isinstance(local_runner(task, shards, Words(), None, 2), OfShards)
    assert isinstance(local_runner(task, shards, Words(), None, 3), OfTexts)
    assert type(local_runner(task, shards, Words(), None, 1)) is Local
    assert isinstance(local_runner(task, shards, Words(), None, 2, with_standard_input=True), OfTexts)
    assert len(local_runner(task, shards, Words(), None, 1000).copies.all) == 8
    monkeypatch.setattr(forked, "TEXT_EACH", shards.total_bytes)
    assert type(local_runner(task, shards, Words(), None, 2)) is Local


def test_a_copy_does_not_take_ctrl_c():
    copy = Copy(lambda pipe: pipe.send(pipe.recv()))
    os.kill(copy._process.pid, signal.SIGINT)
    copy.send("still here")
    assert copy.receive() == "still here"
    copy.end()


def test_standard_input_beside_many_shards_is_read_by_the_process_that_has_it(corpus):
    text = "one two three\n" * 300_000
    words = [sys.executable, str(ROOT / "cli.py"), "measure", str(corpus), "-", "--threads", "2", "--format", "json"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True, cwd=ROOT)
    found = json.loads(done.stdout)
    assert found["results"]["files"]["value"] == 10_001
    assert found["tables"]["extensions"][0]["corpus_bytes"] == len(text)


def test_standard_input_in_a_list_is_no_matter_for_a_sample(corpus, tmp_path):
    (tmp_path / "list.txt").write_text(f"-\n{corpus}\n")
    words = [sys.executable, str(ROOT / "cli.py"), "measure", f"@{tmp_path / 'list.txt'}", "--sample"]
    done = subprocess.run(words, input="text", capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert "found it with standard input" in done.stderr


def test_closed_streams_are_no_traceback(corpus, tmp_path):
    ingest = f"'{sys.executable}' '{ROOT / 'cli.py'}'"
    for words, code in ((f"measure '{corpus / 'part000000'}' -o '{tmp_path / 'x.json'}' >&-", 0), ("measure @- <&-", 2)):
        done = subprocess.run(["sh", "-c", f"{ingest} {words}"], capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
    assert json.loads((tmp_path / "x.json").read_text())["command"] == "measure"


def test_copies_end_when_their_process_is_killed(tmp_path):
    corpus = small_files(tmp_path / "corpus", 10_000, lines=40)
    ledger = tmp_path / "ledger"
    words = ["measure", str(corpus), "--resume", str(ledger), "--quiet", "--threads", "2"]
    started = subprocess.Popen([sys.executable, str(ROOT / "cli.py"), *words], stdout=subprocess.DEVNULL, cwd=ROOT)
    below = []
    while not (ledger.exists() and b'"started"' in ledger.read_bytes() and below):
        assert started.poll() is None
        below = children(started.pid)
    started.kill()
    started.wait()
    end = time.monotonic() + 20
    while any(map(runs, below)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(runs, below))
    words = ["measure", str(corpus), "--resume", str(ledger), "--format", "json"]
    again = subprocess.run([sys.executable, str(ROOT / "cli.py"), *words], capture_output=True, check=True, cwd=ROOT)
    assert json.loads(again.stdout)["results"]["files"]["value"] == 10_000


ORPHAN = """
import time
from ingest.corpus.apart import Copy
print(Copy(lambda pipe: time.sleep(600))._process.pid, flush=True)
time.sleep(600)
"""


def test_a_copy_that_is_busy_ends_with_its_process():
    started = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    with started.stdout:
        copy = int(started.stdout.readline())
    assert runs(copy)
    started.kill()
    started.wait()
    end = time.monotonic() + 20
    while runs(copy) and time.monotonic() < end:
        time.sleep(0.01)
    assert not runs(copy)
