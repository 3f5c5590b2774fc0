"""Reading ahead: a thread makes the next items of an iterator while the last one is used."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")


class _End:
    """The iterator is done, or failed."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def read_ahead(items: Iterator[Item], depth: int) -> Iterator[Item]:
    """The items of an iterator, made up to `depth` items ahead.

    The thread ends with the last item, with the first error, which is raised here, or soon after this generator is closed. It
    closes the iterator itself, because no other thread may while it runs. It is a daemon: a read that never returns does not
    keep the process from ending.

    >>> list(read_ahead(iter("abc"), 2))
    ['a', 'b', 'c']
    """
    waiting: queue.Queue[Item | _End] = queue.Queue(depth)
    closed = threading.Event()

    def hand_over(item: Item | _End) -> bool:
        while not closed.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        error = None
        try:
            for item in items:
                if not hand_over(item):
                    return
        except BaseException as raised:  # whatever it is belongs to who asked for the items
            error = raised
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()
        hand_over(_End(error))

    thread = threading.Thread(target=work, name="ingest-reader", daemon=True)
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        closed.set()
