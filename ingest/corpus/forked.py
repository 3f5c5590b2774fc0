"""All cores of one machine: worker processes count, and share the engine that this process has loaded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ingest.corpus.apart import one_line_failure, worker_pool
from ingest.corpus.exact import Batch, Counter, Open, count, counts_by
from ingest.corpus.resident import let_grow
from ingest.corpus.shards import Counted, Shards
from ingest.corpus.spread import Local, Runner, Task, cores

if TYPE_CHECKING:
    from ingest.corpus.cutting import Cuts

#: stored bytes that make one more process worth while
TEXT_EACH = 2**20
#: shards per process that make it worth while that each reads its own: with fewer, one waits for another's large file
SHARDS_EACH = 4
#: memory that all workers may add for the words that their engines have met, and the least for one of them
GROWTH, LEAST_GROWTH = 224 << 20, 64 << 20
#: tasks per worker that are handed out ahead, so that none waits for the next
AHEAD = 2
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
        self.work, self.pool, self.most = work, pool, processes * AHEAD
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
                    if len(waiting) >= self.processes * AHEAD:
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
