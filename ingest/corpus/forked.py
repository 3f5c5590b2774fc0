"""All cores of one machine: copies of this process count, with an engine that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ingest.corpus.apart import Copy, can_fork
from ingest.corpus.exact import Batch, Counter, Counting, Open, count, counts_by
from ingest.corpus.resident import Growth, let_grow
from ingest.corpus.shards import Counted, Shards
from ingest.corpus.spread import Local, Runner, Task, cores

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from ingest.corpus.cutting import Cuts

#: stored bytes that make one more process worth while
TEXT_EACH = 2**20
#: shards per process that make it worth while that each reads its own: with fewer, one waits for another's large file
SHARDS_EACH = 4
#: what all copies may add to the memory of the machine, for the words that their engines have met; and the least of use
GROWTH, LEAST_GROWTH = 224 << 20, 16 << 20

#: told of what is done before the whole is
Tell = Callable[[Any], None]


def local_runner(
    task: Task, shards: Shards, engine: Counter, cuts: Cuts | None, threads: int, with_standard_input: bool = False
) -> Runner:
    """Who counts on this machine: copies of this process, or the threads of this one where it cannot be copied.

    Args:
        task: how documents are found in files.
        shards: what there is to count.
        engine: counts tokens.
        cuts: where the vocabulary's texts may be cut.
        threads: as asked for; there are no more copies than cores, and than there is text for.
        with_standard_input: this process has to read.
    """
    processes = min(threads, cores()) if with_standard_input else min(threads, cores(), shards.total_bytes // TEXT_EACH)
    if processes < 2 or not can_fork():
        return Local(task, shards, engine, cuts)
    kind = OfTexts if with_standard_input or len(shards) < SHARDS_EACH * processes else OfShards
    try:
        return kind(task, shards, engine, cuts, processes)
    except OSError:  # the system allows no further process, or has no memory for one
        return Local(task, shards, engine, cuts)


class Done(NamedTuple):
    """What a copy has done, and whether it has grown too large to go on."""

    result: Any
    grown: bool


class Copies:
    """Copies of this process that do the same work again and again; fewer where the system allows no more.

    They begin before this process reads anything: each keeps all that it held by then.

    Args:
        most: how many there are at a time.
        work: what a copy does with whatever it is sent.

    Raises:
        OSError: the system does not allow even one.
    """

    def __init__(self, most: int, work: Callable[[Any, Tell], Any]) -> None:
        self._work = work
        self._growth = max(GROWTH // most, LEAST_GROWTH)
        self.all: dict[Connection, Copy] = {}
        self._begin()
        with suppress(OSError):
            while len(self.all) < most:
                self._begin()

    def _begin(self) -> Copy:
        copy = Copy(self._serve, list(self.all))
        self.all[copy.pipe] = copy
        return copy

    def _serve(self, pipe: Connection) -> None:
        let_grow(2 * self._growth)
        growth = Growth()
        while True:
            pipe.send(Done(self._work(pipe.recv(), pipe.send), growth.more_than(self._growth)))

    def going_on(self, copy: Copy, done: Done) -> Copy:
        """The copy, or a new one in its place if it has grown: that costs less than an engine that begins anew."""
        if done.grown:
            with suppress(OSError):
                new = self._begin()
                self.end(copy)
                return new
        return copy

    def received(self) -> Iterator[tuple[Copy, Any]]:
        """Wait until copies have sent something, and yield it."""
        from multiprocessing.connection import wait

        for pipe in wait(list(self.all)):
            copy = self.all[cast("Connection", pipe)]
            yield copy, copy.receive()

    def end(self, copy: Copy) -> None:
        """One less."""
        del self.all[copy.pipe]
        copy.end()

    def close(self) -> None:
        """No more."""
        for copy in list(self.all.values()):
            self.end(copy)


class Forked(Local, ABC):
    """Copies of this process count.

    Args:
        task: how documents are found in files.
        shards: what there is to count.
        engine: counts tokens.
        cuts: where the vocabulary's texts may be cut.
        processes: how many count at a time.
    """

    def __init__(self, task: Task, shards: Shards, engine: Counter, cuts: Cuts | None, processes: int) -> None:
        super().__init__(task, shards, engine, cuts)
        self.copies = Copies(processes, self.work)

    @abstractmethod
    def work(self, asked: Any, tell: Tell) -> Any:
        """What a copy does with what it is sent."""


class OfShards(Forked):
    """Each copy reads and counts a shard at a time."""

    def work(self, asked: int, tell: Tell) -> Counted:
        """Count the shard of this number."""
        shards = [self.shards[asked]]
        return next(count(shards, self.task.reading, self.cuts, counts_by(self.engine), Open(self.task.root), tell))

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[Counted]:
        """Yield what was counted, in the order in which copies are done."""
        with closing(self.copies):
            for copy in list(self.copies.all.values()):
                self._next(copy, numbers)
            while self.copies.all:
                for copy, received in self.copies.received():
                    if not isinstance(received, Done):
                        moved(received)
                        continue
                    self._next(self.copies.going_on(copy, received), numbers)
                    yield received.result

    def _next(self, copy: Copy, numbers: Iterator[int]) -> None:
        """Have a copy count the next shard; without one it is done."""
        number = next(numbers, None)
        if number is None:
            self.copies.end(copy)
        else:
            copy.send(number)

    def unfinished(self) -> Counted | None:
        """Copies tell no tokens before a shard is done."""
        return None


class OfTexts(Forked):
    """This process reads, in order, and copies count the texts: for few large files, and what cannot be read twice."""

    def work(self, asked: list[bytes], _: Tell) -> list[int]:
        """Count these texts."""
        return self.engine.count(asked)

    def counts(self) -> Counting:
        """Each copy counts a batch at a time; their answers are taken in the order of the batches."""
        return self._counts

    def _counts(self, read: Iterator[Batch]) -> Iterator[tuple[Batch, list[int]]]:
        busy: deque[tuple[Batch, Copy]] = deque()
        idle = list(self.copies.all.values())

        def first_done() -> tuple[Batch, list[int]]:
            batch, copy = busy.popleft()
            done = copy.receive()
            idle.append(self.copies.going_on(copy, done))
            return batch, done.result

        with closing(read), closing(self.copies):  # type: ignore[type-var]
            for batch in read:
                if not idle:
                    yield first_done()
                copy = idle.pop()
                copy.send(batch.texts)
                busy.append((batch._replace(texts=[]), copy))
            while busy:
                yield first_done()
