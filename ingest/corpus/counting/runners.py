"""Runners, which count the shards: this process, or the workers of a Dask cluster; `forked` has worker processes."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ingest.corpus.counting.exact import Batch, Counter, Counting, Open, count, counts_by, counts_in_threads
from ingest.corpus.counting.ledger import Counted, Shard, Shards
from ingest.corpus.counting.worker_process import let_grow, one_line_failure, worker_pool
from ingest.corpus.formats.documents import Reading
from ingest.corpus.tokenizers.engine_choice import select_engine
from ingest.corpus.tokenizers.splitter import Cuts, cuts_for
from ingest.errors import IngestError
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.corpus.tokenizers.splitter import Cuts
    from ingest.corpus.tokenizers.vocabulary import Vocabulary


CONNECT_SECONDS = 10
#: Shards handed out per worker thread: enough that none waits for the next.
SHARDS_AHEAD = 3


class Task(NamedTuple):
    """What a worker has to know beside the shard."""

    vocabulary: Vocabulary
    reading: Reading
    root: str
    proof: tuple[bytes, ...]
    version: str = __version__


class Runner(Protocol):
    """Counts shards."""

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[Counted]:
        """Yield what was counted of these shards, in any order; `moved` hears of stored bytes that have been dealt with."""

    def unfinished(self) -> Counted | None:
        """What is known of shards that were under way when the run was interrupted."""


class Local:
    """This process counts; the engine has threads of its own."""

    def __init__(self, task: Task, shards: Shards, engine: Counter, cuts: Cuts | None) -> None:
        self.task, self.shards, self.engine, self.cuts = task, shards, engine, cuts
        self.under_way = Open(task.root)

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[Counted]:
        """Yield what was counted, in order."""
        shards = map(self.shards.__getitem__, numbers)
        return count(shards, self.task.reading, self.cuts, self.counts(), self.under_way, moved)

    def counts(self) -> Counting:
        """How its batches are counted."""
        return counts_in_threads(self.engine)

    def unfinished(self) -> Counted | None:
        """What is known of the shard under way."""
        return self.under_way.unfinished()


class OnCluster:
    """The workers of a Dask cluster count, each with an engine that it loads once.

    Args:
        task: what the workers have to know.
        shards: what there is to count.
        address: of the scheduler.

    Raises:
        IngestError: `distributed` is not installed, or nobody answers at the address.
    """

    def __init__(self, task: Task, shards: Shards, address: str) -> None:
        self.client = _connected(address)
        self.task, self.shards = task, shards

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[Counted]:
        """Yield what was counted, in the order in which workers end; a bounded number of shards is under way."""
        try:
            yield from self._run(numbers, moved)
        except IngestError:
            raise
        except Exception as error:  # a worker or the network may fail in any way; each is one line
            raise IngestError(f"--scheduler: {_short(error)}") from None
        finally:
            self.client.close()

    def _run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[Counted]:
        task = self.client.scatter(self.task, broadcast=True, hash=False)
        ends = _distributed().as_completed(loop=self.client.loop)
        sizes: dict[Any, int] = {}

        def hand_out(most: int) -> None:
            for shard in map(self.shards.__getitem__, islice(numbers, most)):
                future = self.client.submit(count_one, task, shard, pure=False)
                sizes[future.key] = sum(found.stored_bytes for found in shard.found)
                ends.add(future)

        hand_out(max(sum(self.client.nthreads().values()), 1) * SHARDS_AHEAD)
        for future in ends:
            counted: Counted = future.result()
            moved(sizes.pop(future.key))
            hand_out(1)
            yield counted

    def unfinished(self) -> Counted | None:
        """Workers tell nothing before a shard is done."""
        return None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise IngestError("--scheduler: needs the package distributed; pip install 'ingest-sizing[cluster]'") from None
    return distributed


def _connected(address: str) -> Any:
    try:
        return _distributed().Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise IngestError(f"--scheduler: nobody answers at '{address}': {_short(error)}") from None


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def count_one(task: Task, shard: Shard) -> Counted:
    """Count one shard on a worker.

    Raises:
        IngestError: the worker has another version of ingest, or cannot load the vocabulary.
    """
    if task.version != __version__:
        raise IngestError(f"--scheduler: a worker has ingest {__version__}, expected {task.version} as here")
    loaded = _loaded(task)
    return next(count([shard], task.reading, loaded.cuts, counts_in_threads(loaded), Open(task.root), lambda _: None))


class Loaded:
    """An engine that the threads of a worker share, one after the other; it has threads of its own."""

    def __init__(self, task: Task) -> None:
        self.engine, _ = select_engine(task.vocabulary, task.proof, cores())
        self.cuts = cuts_for(task.vocabulary, self.engine, task.proof)
        self.free = threading.Lock()

    def count(self, texts: list[bytes]) -> list[int]:
        """Tokens of each text."""
        with self.free:
            return self.engine.count(texts)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_LOADING = threading.Lock()
_LOADED: dict[str, Loaded] = {}


def _loaded(task: Task) -> Loaded:
    """The engine of this worker process, loaded with its first shard."""
    with _LOADING:
        if task.vocabulary.sha256 not in _LOADED:
            _LOADED.clear()
            _LOADED[task.vocabulary.sha256] = Loaded(task)
        return _LOADED[task.vocabulary.sha256]


#: stored bytes that make one more process worth while
TEXT_EACH = 2**20
#: shards per process that make it worth while that each reads its own: with fewer, one waits for another's large file
SHARDS_EACH = 4
#: memory that all workers may add for the words that their engines have met, and the least for one of them
GROWTH, LEAST_GROWTH = 224 << 20, 64 << 20
#: tasks per worker that are handed out ahead, so that none waits for the next
TASKS_AHEAD = 2
#: seconds between two looks at what the workers have read
LOOK_SECONDS = 0.2


class Stopped(Exception):
    """The run has ended before this shard."""


def local_runner(
    task: Task, shards: Shards, engine: Counter, cuts: Cuts | None, threads: int, with_standard_input: bool = False
) -> Runner:
    """The runner of this machine: worker processes, or the threads of this process where it cannot be forked.

    Args:
        task: how documents are found in files.
        shards: what there is to count.
        engine: counts tokens.
        cuts: where the vocabulary's texts may be cut.
        threads: as asked for; there are no more workers than cores, and than there is text for.
        with_standard_input: this process has to read.
    """
    processes = min(threads, cores()) if with_standard_input else min(threads, cores(), shards.total_bytes // TEXT_EACH)
    alone = Local(task, shards, engine, cuts)
    if processes < 2:
        return alone
    state = Work(alone)
    pool = worker_pool(processes, _prepare, state, max(GROWTH // processes, LEAST_GROWTH))
    if pool is None:
        return alone
    kind = OfTexts if with_standard_input or len(shards) < SHARDS_EACH * processes else OfShards
    return kind(state, pool, processes)


class Work:
    """What the workers share with this process.

    Attributes:
        local: counts in the worker.
        moved: stored bytes that all workers have dealt with.
        stop: set when the run ends, so that no worker goes on with a large shard.
        mine: what this worker was given when it began.
    """

    mine: ClassVar[Work]

    def __init__(self, local: Local) -> None:
        from multiprocessing import get_context

        context = get_context("fork")
        self.local = local
        self.moved = context.Value("q", 0)
        self.stop = context.Event()

    def add_moved(self, size: int) -> None:
        """Add stored bytes that have been dealt with.

        Raises:
            Stopped: the run has ended.
        """
        if self.stop.is_set():
            raise Stopped
        with self.moved.get_lock():
            self.moved.value += size


def _prepare(work: Work, growth: int) -> None:
    Work.mine = work
    let_grow(growth)


def _count_shard(number: int) -> Counted:
    local = Work.mine.local
    counts = counts_by(local.engine)
    shards = [local.shards[number]]
    return next(count(shards, local.task.reading, local.cuts, counts, Open(local.task.root), Work.mine.add_moved))


def _count_texts(texts: list[bytes]) -> list[int]:
    return Work.mine.local.engine.count(texts)


class OfShards:
    """Each worker reads and counts one shard at a time.

    Args:
        work: what the workers share.
        pool: the workers.
        processes: how many they are.
    """

    def __init__(self, work: Work, pool: ProcessPoolExecutor, processes: int) -> None:
        self.work, self.pool, self.most = work, pool, processes * TASKS_AHEAD
        self.told = 0

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[Counted]:
        """Yield the counts of each shard, in the order in which they are done."""
        open_shards: set[Future[Counted]] = set()
        try:
            with one_line_failure():
                while True:
                    while len(open_shards) < self.most and (number := next(numbers, None)) is not None:
                        open_shards.add(self.pool.submit(_count_shard, number))
                    if not open_shards:
                        break
                    done, open_shards = wait(open_shards, LOOK_SECONDS, FIRST_COMPLETED)
                    self._tell(moved)
                    for future in done:
                        yield future.result()
        finally:
            self.work.stop.set()
            self.pool.shutdown(cancel_futures=True)

    def _tell(self, moved: Callable[[int], object]) -> None:
        now = self.work.moved.value
        moved(now - self.told)
        self.told = now

    def unfinished(self) -> Counted | None:
        """Nothing: a worker reports tokens when its shard is done."""
        return None


@dataclass
class OfTexts:
    """This process reads, in order, and the workers count: for few large files and for what cannot be read twice."""

    work: Work
    pool: ProcessPoolExecutor
    processes: int

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[Counted]:
        """Yield the counts of each shard, in order."""
        local = self.work.local
        shards = map(local.shards.__getitem__, numbers)
        return count(shards, local.task.reading, local.cuts, self._counts, local.under_way, moved)

    def _counts(self, read: Iterator[Batch]) -> Iterator[tuple[Batch, list[int]]]:
        waiting: deque[tuple[Batch, Future[list[int]]]] = deque()
        try:
            with closing(read), one_line_failure():  # type: ignore[type-var]
                for batch in read:
                    waiting.append((batch._replace(texts=[]), self.pool.submit(_count_texts, batch.texts)))
                    if len(waiting) >= self.processes * TASKS_AHEAD:
                        yield _first_of(waiting)
                while waiting:
                    yield _first_of(waiting)
        finally:
            self.pool.shutdown(cancel_futures=True)

    def unfinished(self) -> Counted | None:
        """The counts so far of the shard that is open."""
        return self.work.local.unfinished()


def _first_of(waiting: deque[tuple[Batch, Future[list[int]]]]) -> tuple[Batch, list[int]]:
    batch, future = waiting.popleft()
    return batch, future.result()
