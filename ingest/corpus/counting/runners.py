"""Exact counting of a listing, by runners: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import closing
from functools import lru_cache, partial
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from ingest.corpus.counting.exact import Batch, BatchCounter, DocumentCounter, ShardTally, count, count_batches
from ingest.corpus.counting.ledger import Ledger, Shard, ShardCount, Shards, Totals
from ingest.corpus.files.listing import FileListing
from ingest.corpus.native_calls import can_fork, one_line, one_line_failure, worker_pool
from ingest.corpus.tokenizers.engines import Engine, limit_growth, select_engine, split_rule_for
from ingest.corpus.types import Progress, Vocabulary
from ingest.errors import IngestError, UsageError
from ingest.units import display
from ingest.version import __version__

CONNECT_SECONDS = 5
#: shards in flight per thread of the cluster, so that none waits for the next
SHARDS_AHEAD = 3
#: stored bytes that pay for one more worker process
BYTES_PER_PROCESS = 2**20
#: shards per worker from which each reads its own; with fewer, one waits for another's large file
SHARDS_PER_PROCESS = 4
#: memory that the word caches of all engines may add, and the least for one of them
GROWTH, LEAST_GROWTH = 224 << 20, 64 << 20
#: tasks in flight per worker process, so that none waits for the next
TASKS_AHEAD = 2
#: seconds between two updates of the progress
UPDATE_SECONDS = 0.2
#: seconds after which the rate is known well enough
PROBE_SECONDS = 1.0


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Runner:
    """Counts shards."""

    processes = 1  # that count at the same time
    #: with the counts so far, where this process counts; elsewhere a worker reports when its shard is done
    open_shard: ShardTally | None = None

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[ShardCount]:
        """Yield the counts of these shards in any order; call `moved` with the stored bytes done since the last call."""
        raise NotImplementedError


class LocalRunner(Runner):
    """Reads in this process and counts there; the engine has threads of its own."""

    #: calls the engine; in threads by default
    counts: BatchCounter | None = None

    def __init__(self, counter: DocumentCounter, shards: Shards, root: str) -> None:
        self.counter, self.shards, self.root = counter, shards, root
        self.open_shard: ShardTally = ShardTally(root)

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[ShardCount]:
        return count(map(self.shards.__getitem__, numbers), self.counter, self.open_shard, moved, self.counts)


def in_any_order(
    start: Callable[[int], Future[ShardCount]], numbers: Iterator[int], most: int, waited: Callable[[], object]
) -> Iterator[ShardCount]:
    """Keep up to `most` shards in flight and yield their counts in the order in which they are done; call `waited` often."""
    running: set[Future[ShardCount]] = set()
    while True:
        running.update(map(start, islice(numbers, most - len(running))))
        if not running:
            return
        done, running = wait(running, UPDATE_SECONDS, FIRST_COMPLETED)
        waited()
        for future in done:
            yield future.result()


def local_runner(
    counter: DocumentCounter, shards: Shards, root: str, threads: int, with_standard_input: bool = False
) -> Runner:
    """The runner of this machine: worker processes, or the threads of this process where it cannot be forked.

    There are at most `threads` workers, no more than cores, and no more than the text pays for. With standard input, this
    process must read.
    """
    processes = min(threads, cores())
    if not with_standard_input:
        processes = min(processes, shards.total_bytes // BYTES_PER_PROCESS)
    local = LocalRunner(counter, shards, root)
    if processes < 2 or not can_fork():
        return local
    state = SharedState(local)
    pool = worker_pool(processes, _prepare, state, max(GROWTH // processes, LEAST_GROWTH))
    if pool is None:
        return local
    if with_standard_input or len(shards) < SHARDS_PER_PROCESS * processes:
        return TextPool(state, pool, processes)
    return ShardPool(state, pool, processes)


class Stopped(Exception):
    """The run has ended before this shard."""


class SharedState:
    """State shared with forked workers."""

    current: ClassVar[SharedState]  # in a worker, the state that it was forked with

    def __init__(self, local: LocalRunner) -> None:
        from multiprocessing import get_context

        context = get_context("fork")
        self.local = local  # counts in the worker
        self.moved = context.Value("q", 0)  # stored bytes done by all workers
        self.stop = context.Event()  # set when the run ends, so that no worker continues a large shard

    def add_moved(self, size: int) -> None:
        """Add stored bytes that are done. Raises Stopped: the run has ended."""
        if self.stop.is_set():
            raise Stopped
        with self.moved.get_lock():
            self.moved.value += size


def _prepare(state: SharedState, growth: int) -> None:
    SharedState.current = state
    limit_growth(growth)


def _count_shard(number: int) -> ShardCount:
    state = SharedState.current
    local, counts = state.local, partial(count_batches, state.local.counter.engine)
    return next(count([local.shards[number]], local.counter, ShardTally(local.root), state.add_moved, counts))


def _count_texts(texts: list[bytes]) -> list[int]:
    return SharedState.current.local.counter.engine.count(texts)


class ShardPool(Runner):
    """Each worker reads and counts one shard at a time."""

    def __init__(self, state: SharedState, pool: ProcessPoolExecutor, processes: int) -> None:
        self.state, self.pool, self.most_tasks, self.processes = state, pool, processes * TASKS_AHEAD, processes

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[ShardCount]:
        reported = 0

        def report() -> None:
            nonlocal reported
            now = self.state.moved.value
            moved(now - reported)
            reported = now

        try:
            with one_line_failure():
                yield from in_any_order(lambda number: self.pool.submit(_count_shard, number), numbers, self.most_tasks, report)
        finally:
            self.state.stop.set()
            self.pool.shutdown(cancel_futures=True)


class TextPool(LocalRunner):
    """This process reads, in order, and the workers count: for few large files and for standard input."""

    def __init__(self, state: SharedState, pool: ProcessPoolExecutor, processes: int) -> None:
        super().__init__(state.local.counter, state.local.shards, state.local.root)
        self.pool, self.most_tasks, self.counts, self.processes = pool, processes * TASKS_AHEAD, self._counts, processes

    def _counts(self, read: Iterator[Batch]) -> Iterator[tuple[Batch, list[int]]]:
        waiting: deque[tuple[Batch, Future[list[int]]]] = deque()
        try:
            with closing(read), one_line_failure():  # type: ignore[type-var]
                for batch in read:
                    waiting.append((batch._replace(texts=[]), self.pool.submit(_count_texts, batch.texts)))
                    if len(waiting) >= self.most_tasks:
                        done, counts = waiting.popleft()
                        yield done, counts.result()
                for done, counts in waiting:
                    yield done, counts.result()
        finally:
            self.pool.shutdown(cancel_futures=True)


class CountingTask(NamedTuple):
    """The input of a worker of a cluster, next to the shard."""

    vocabulary: Vocabulary
    text_field: str
    root: str
    proof: tuple[bytes, ...]
    version: str = __version__


class ClusterRunner(Runner):
    """Counts on the workers of the Dask cluster whose scheduler is at `address`; each loads its engine once.

    Raises UsageError: it is not an address; IngestError: `distributed` is not installed, or no scheduler answers there.
    """

    def __init__(self, task: CountingTask, shards: Shards, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise IngestError("--scheduler: needs the package distributed; pip install 'ingest-sizing[cluster]'") from None
        connect: Any = distributed.Client
        try:
            with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop in this one
                thread.submit(_greet, address).result()
            self.client = connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except OSError:  # among them TimeoutError
            raise IngestError(f"--scheduler: no scheduler answers at '{address}' within {CONNECT_SECONDS} s") from None
        except ValueError:
            raise UsageError(f"--scheduler: found '{address}', expected an address such as tcp://node1:8786") from None
        self.task, self.shards = task, shards

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[ShardCount]:
        try:
            # the scheduler computes a lost result again; scattered data are gone with the last worker that held them
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # a vocabulary of over 10 MiB is meant
                task = self.client.submit(CountingTask, *self.task, pure=False)
            most = max(sum(self.client.nthreads().values()), 1) * SHARDS_AHEAD

            def start(number: int) -> Future[ShardCount]:
                counted: Future[ShardCount] = Future()
                self.client.loop.add_callback(
                    _hand_over, self.client.submit(count_one, task, self.shards[number], pure=False), counted
                )
                return counted

            for counted in in_any_order(start, numbers, most, lambda: None):
                moved(self.shards.stored_bytes(counted.number))
                yield counted
        except IngestError:
            raise
        except Exception as error:  # a worker or the network may fail in any way; each is one line
            raise IngestError(f"--scheduler: {one_line(error)}") from None
        finally:
            self.client.close()


async def _hand_over(remote: Any, counted: Future[ShardCount]) -> None:
    """Settle a future by one of the cluster; its executor asks for the status after the result, which may be lost by then."""
    try:
        counted.set_result(await remote)
    except Exception as error:
        counted.set_exception(error)


def _greet(address: str) -> None:
    """Open a connection and close it: a client that finds no scheduler goes on trying while it is closed, and says so.

    Raises OSError: no scheduler answers; ValueError: it is not an address.
    """
    import asyncio

    from distributed import comm, security

    network: Any = comm
    ours: Any = security

    async def greet() -> None:
        opened = network.connect(address, timeout=CONNECT_SECONDS, **ours.Security().get_connection_args("client"))
        await (await asyncio.wait_for(opened, CONNECT_SECONDS)).close()

    asyncio.run(greet())


def count_one(task: CountingTask, shard: Shard) -> ShardCount:
    """Count one shard on a worker of a cluster. Raises IngestError: it has another version, or cannot load the vocabulary."""
    if task.version != __version__:
        raise IngestError(f"--scheduler: a worker has ingest {__version__}, expected {task.version} as here")
    with _LOADING:
        counter = _loaded(task)
    return next(count([shard], counter, ShardTally(task.root), lambda _: None))


_LOADING = threading.Lock()


@lru_cache(maxsize=1)
def _loaded(task: CountingTask) -> DocumentCounter:
    """What a worker of a cluster counts with, loaded with its first shard."""
    engine, _ = select_engine(task.vocabulary, task.proof, cores())
    return DocumentCounter(task.text_field, SharedEngine(engine), split_rule_for(task.vocabulary, engine, task.proof))


class SharedEngine:
    """An engine that the threads of a cluster's worker take turns to use; it has threads of its own."""

    def __init__(self, engine: Engine) -> None:
        self.name, self.version = engine.name, engine.version
        self.engine, self.lock = engine, threading.Lock()

    def count(self, texts: Sequence[bytes]) -> list[int]:
        with self.lock:
            return self.engine.count(texts)


class TooLong(Exception):
    """Counting everything would take longer than the limit."""


class ExactCount:
    """An exact count of these shards, by number, or of all, in at most `limit` seconds; None for no limit."""

    def __init__(
        self,
        listing: FileListing,
        shards: Shards,
        progress: Progress,
        limit: float | None,
        numbers: Sequence[int] | None = None,
        totals: Totals | None = None,
    ) -> None:
        self.listing, self.shards, self.progress, self.limit = listing, shards, progress, limit
        self.numbers = range(len(shards)) if numbers is None else numbers
        self.totals = totals or Totals()
        self.totals.skipped.note(*listing.skipped)
        self.probed = False

    def run(self, runner: Runner, ledger: Ledger | None) -> str:
        """Count every shard that is not in the ledger; after an interruption the open shards count as far as they are.

        Returns the files counted, where the run was interrupted. Raises TooLong: the first second predicts more than the limit.
        """
        totals, progress = self.totals, self.progress
        done = {number: ledger.done[number] for number in self.numbers if number in ledger.done} if ledger is not None else {}
        known = sum(one.total.stored_bytes for one in done.values())
        for counted in done.values():
            totals.add(counted)
        if ledger is not None and done:
            progress.say(f"resuming '{ledger.path}': {len(done):,} shards with {display(known, 'B')} are done")
        progress.begin(sum(map(self.shards.stored_bytes, self.numbers)), known)
        try:
            numbers = (number for number in self.numbers if number not in done)
            with closing(runner.run(numbers, self.moved)) as results:  # type: ignore[type-var]
                for counted in results:
                    totals.add(counted)  # first, so that Ctrl-C while the ledger is written does not forget it
                    if ledger is not None:
                        ledger.finished(counted)
        except KeyboardInterrupt:
            totals.merge_waiting()
            if runner.open_shard is not None:
                totals.merge(runner.open_shard.unfinished())
            files = f"{totals.total.files:,} of {len(self.listing):,} files"
            return f"interrupted after {files}: all results are of these files only"
        finally:
            progress.clear()
            if ledger is not None:
                ledger.close()
        return ""

    def moved(self, size: int) -> None:
        """Add stored bytes that are done; once the rate is known, report the duration of the run."""
        self.progress.moved(size)
        if self.probed or self.progress.seconds < PROBE_SECONDS or not self.progress.total:
            return
        self.probed = True
        duration = self.progress.seconds + self.progress.seconds_left
        estimate = f"an exact count of {display(self.progress.total, 'B', binary=False)} takes about {display(duration, 's')}"
        if self.limit is not None and duration > self.limit:
            self.progress.say(f"{estimate}: measuring a sample instead; set --exact to count everything")
            raise TooLong
        self.progress.say(estimate)
