"""All cores of one machine: copies of this process count, each a shard at a time, with an engine that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, cast

from ingest.corpus.apart import Copy, can_copy
from ingest.corpus.exact import Counter, Open, count, in_turn
from ingest.corpus.resident import Growth, let_grow
from ingest.corpus.shards import Counted, Shards
from ingest.corpus.spread import Local, Runner, Task

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from ingest.corpus.cutting import Cuts

#: shards that make it worth while, per process: with fewer, one process waits for another's large file
SHARDS_EACH = 4
#: what all copies may add to the memory of the machine, and the least that one needs: the words that its engine has met
GROWTH_OF_ALL, GROWTH_OF_ONE = 192 << 20, 48 << 20


def local_runner(task: Task, shards: Shards, engine: Counter, cuts: Cuts | None, processes: int) -> Runner:
    """Who counts on this machine: copies of this process, or the threads of this one where shards are few."""
    if processes > 1 and len(shards) >= SHARDS_EACH * processes and can_copy():
        return Forked(task, shards, engine, cuts, processes)
    return Local(task, shards, engine, cuts)


class Forked:
    """Copies of this process count.

    A copy that has grown is replaced by a new one: that costs less than an engine that begins anew.

    Args:
        task: how documents are found in files.
        shards: what there is to count.
        engine: counts tokens; each copy has it as it is now.
        cuts: where the vocabulary's texts may be cut.
        processes: how many count at a time.
    """

    def __init__(self, task: Task, shards: Shards, engine: Counter, cuts: Cuts | None, processes: int) -> None:
        self.task, self.shards, self.engine, self.cuts = task, shards, engine, cuts
        self.processes = processes
        self.growth = max(GROWTH_OF_ALL // processes, GROWTH_OF_ONE)
        self.copies: dict[Connection, Copy] = {}

    def run(self, numbers: Iterator[int], moved: Callable[[int], object]) -> Iterator[Counted]:
        """Yield what was counted, in the order in which copies are done."""
        try:
            for first in islice(numbers, self.processes):
                self._begin().send(first)
            while self.copies:
                for done, counted, grown in self._counted(moved):
                    number = next(numbers, None)
                    if grown or number is None:
                        self._end(done)
                    if number is not None:
                        (self._begin() if grown else done).send(number)
                    yield counted
        finally:
            for copy in list(self.copies.values()):
                self._end(copy)

    def _counted(self, moved: Callable[[int], object]) -> Iterator[tuple[Copy, Counted, bool]]:
        """Wait for copies; yield who has done a shard, what was counted, and whether it has grown too much."""
        from multiprocessing.connection import wait

        for pipe in wait(list(self.copies)):
            copy = self.copies[cast("Connection", pipe)]
            received = copy.receive()
            if isinstance(received, int):
                moved(received)
            else:
                yield copy, *received

    def _begin(self) -> Copy:
        copy = Copy(self._work, list(self.copies))
        self.copies[copy.pipe] = copy
        return copy

    def _end(self, copy: Copy) -> None:
        del self.copies[copy.pipe]
        copy.end()

    def _work(self, pipe: Connection) -> None:
        """What a copy does: it receives numbers of shards, and sends bytes dealt with, and what was counted."""
        let_grow(2 * self.growth)
        grown, under_way = Growth(), Open(self.task.root)
        while True:
            shard = self.shards[pipe.recv()]
            counted = next(count([shard], self.task.reading, self.cuts, self.engine, under_way, pipe.send, in_turn))
            pipe.send((counted, grown.more_than(self.growth)))

    def unfinished(self) -> Counted | None:
        """Copies tell nothing before a shard is done."""
        return None
