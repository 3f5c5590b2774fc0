"""Runners, which count the shards: this process, or the workers of a Dask cluster; `forked` has worker processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ingest.corpus.cutting import Cuts, cuts_for
from ingest.corpus.engines import select_engine
from ingest.corpus.exact import Counter, Counting, Open, count, counts_in_threads
from ingest.corpus.reading import Reading
from ingest.corpus.shards import Counted, Shard, Shards
from ingest.errors import IngestError
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.corpus.vocabulary import Vocabulary

CONNECT_SECONDS = 10
#: Shards handed out per worker thread: enough that none waits for the next.
AHEAD = 3


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

        hand_out(max(sum(self.client.nthreads().values()), 1) * AHEAD)
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
