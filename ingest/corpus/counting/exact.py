"""Exact counting: shards in, tallies out. Reading, counting and summing are a thread each, or take turns in one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import reduce
from typing import NamedTuple, Protocol, TypeVar

from ingest.corpus.counting.ledger import SHARD_GROUPS, Counted, Shard, Sums
from ingest.corpus.formats.documents import Meter, Reading, Unreadable, read_chunks, whole_text
from ingest.corpus.tokenizers.splitter import TEXT_BYTES, Cuts, Ready, ready
from ingest.corpus.types import CorpusFile, SkippedFile, Tally, extension_of, folder_of

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


#: Text handed to the engine at once: enough for all its threads, little beside its own memory.
BATCH_BYTES = 4 * 2**20
BATCHES_AHEAD = 2
#: Lines, rows and members of one file that are named; the rest is one line with their number.
NAMED_PARTS = 100
TOLD_REASONS = 3


class Counter(Protocol):
    """What an engine does."""

    def count(self, texts: list[bytes]) -> list[int]:
        """Tokens of each text."""


class Read(NamedTuple):
    """A file that was read to its end, or was not; its text and tokens are still to be summed."""

    found: CorpusFile
    tally: Tally
    skipped: SkippedFile | None
    parts: tuple[SkippedFile, ...]


class Portion(NamedTuple):
    """Texts of one file within a batch.

    Attributes:
        texts: how many.
        size: their bytes.
        read: the file, where these are its last texts.
    """

    texts: int
    size: int
    read: Read | None


class Batch(NamedTuple):
    """Texts for the engine, in file order, and whose they are; `ends` names the shard that they complete."""

    texts: list[bytes]
    portions: list[Portion]
    ends: Shard | None

    def open_bytes(self) -> int:
        """Text bytes of a file that goes on in the next batch."""
        return self.portions[-1].size if self.portions and self.portions[-1].read is None else 0


#: yields each batch without its texts, and the tokens of each text, in order
Counting = Callable[[Iterator[Batch]], Iterator[tuple[Batch, list[int]]]]


class Parts:
    """The lines, rows and members that a reader leaves out of one file: a bounded number is named."""

    def __init__(self) -> None:
        self.named: list[SkippedFile] = []
        self.more = 0

    def note(self, skipped: SkippedFile) -> None:
        """Take one."""
        if len(self.named) < NAMED_PARTS:
            self.named.append(skipped)
        else:
            self.more += skipped.number

    def nothing_counts(self) -> str:
        """Why a file counts in no part, from the first reasons."""
        return f"nothing in it counts: {'; '.join(part.reason for part in self.named[:TOLD_REASONS])}"

    def listed(self, path: str) -> tuple[SkippedFile, ...]:
        """All of them, the unnamed as one."""
        rest = [SkippedFile(path, f"{self.more:,} more like these", self.more)] if self.more else []
        return (*self.named, *rest)


class Filling:
    """The batch that is being filled.

    Attributes:
        held: text bytes in it.
        documents: of the file that is being read.
        refused: why a document of it does not count.
    """

    def __init__(self) -> None:
        self.documents, self.refused = 0, ""
        self._empty()

    def _empty(self) -> None:
        self.texts: list[bytes] = []
        self.portions: list[Portion] = []
        self.held = self.first = self.size = 0
        #: where the open document's texts begin; None where some are in an earlier batch
        self.document: int | None = None
        self.document_size = 0

    def add_file(self, found: CorpusFile, text: bytes, meter: Meter) -> None:
        """Take a file that is one document and needs no cut."""
        if text:
            self.texts.append(text)
        size = len(text)
        self.held += size
        tally = Tally(1, 1, meter.stored_bytes, 0, 0, meter.bytes_read)
        self.portions.append(Portion(len(self.texts) - self.first, size, Read(found, tally, None, ())))
        self.first = len(self.texts)

    def begin_file(self) -> None:
        """The next texts are of another file."""
        self.documents, self.refused = 0, ""
        self.document, self.document_size = len(self.texts), 0

    def add(self, part: Ready, path: str) -> None:
        """Take texts of the open file.

        Raises:
            Unreadable: a document has to be dropped of which texts are in an earlier batch.
        """
        if part.refused:
            self._drop_document(path, part.refused)
        self.texts += part.texts
        self.held += part.size
        self.size += part.size
        self.document_size += part.size
        if part.ends:
            self.documents += not part.refused
            self.document, self.document_size = len(self.texts), 0

    def _drop_document(self, path: str, refused: str) -> None:
        if self.document is None:
            raise Unreadable(path, refused)
        del self.texts[self.document :]
        self.held -= self.document_size
        self.size -= self.document_size
        self.refused = refused

    def close(self, read: Read | None) -> None:
        """What has come since the last portion is a portion."""
        self.portions.append(Portion(len(self.texts) - self.first, self.size, read))
        self.first, self.size = len(self.texts), 0

    def hand_over(self, ends: Shard | None) -> Batch:
        """The batch; an empty one takes its place."""
        batch = Batch(self.texts, self.portions, ends)
        self._empty()
        return batch


def batches(shards: Iterable[Shard], reading: Reading, cuts: Cuts | None) -> Iterator[Batch]:
    """Read shards into batches of about `BATCH_BYTES`; a batch never holds two shards."""
    filling = Filling()
    for shard in shards:
        for found in shard.found:
            meter, skipped = Meter(), None
            if (text := whole_text(found, meter, TEXT_BYTES)) is not None:
                filling.add_file(found, text, meter)
                if filling.held >= BATCH_BYTES:
                    yield filling.hand_over(None)
                continue
            parts = Parts()
            filling.begin_file()
            try:
                for part in ready(read_chunks(found, reading, parts.note, meter), cuts):
                    filling.add(part, found.path)
                    if part.refused:
                        parts.note(SkippedFile(found.path, f"a document after {filling.documents:,} others: {part.refused}"))
                    if filling.held >= BATCH_BYTES:
                        filling.close(None)
                        yield filling.hand_over(None)
                if parts.named and not filling.documents:
                    skipped = SkippedFile(found.path, filling.refused or parts.nothing_counts())
            except Unreadable as error:
                skipped = SkippedFile(error.path, error.reason)
            tally = Tally(1, filling.documents, meter.stored_bytes, bytes_read=meter.bytes_read)
            kept = Tally(bytes_read=meter.bytes_read) if skipped else tally
            filling.close(Read(found, kept, skipped, parts.listed(found.path)))
        yield filling.hand_over(shard)


class Open:
    """What has been counted of the shard that is under way."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.clear()

    def clear(self) -> None:
        """Begin a shard."""
        self.folders, self.extensions = Sums(SHARD_GROUPS), Sums(SHARD_GROUPS)
        self.skipped: list[SkippedFile] = []
        self.parts: list[SkippedFile] = []
        self.file_tokens = self.file_bytes = 0

    def add(self, batch: Batch, counts: list[int]) -> None:
        """Take the tokens of a batch."""
        start = 0
        for portion in batch.portions:
            end = start + portion.texts
            self.file_tokens += sum(counts[start:end])
            self.file_bytes += portion.size
            start = end
            if portion.read is not None:
                self.close_file(portion.read)

    def close_file(self, read: Read) -> None:
        """A file that was not read to its end gives nothing but its name and what reading it moved."""
        if read.skipped is None:
            tally = read.tally._replace(text_bytes=self.file_bytes, tokens=self.file_tokens)
            self.parts += read.parts
        else:
            tally = read.tally
            self.skipped.append(read.skipped)
        self.folders.add(folder_of(read.found.path, self.root), tally)
        self.extensions.add(extension_of(read.found.path), tally)
        self.file_tokens = self.file_bytes = 0

    def counted(self, number: int) -> Counted:
        """The shard so far."""
        folders, extensions = self.folders.tallies(), self.extensions.tallies()
        total = reduce(Tally.plus, folders.values(), Tally())
        return Counted(number, total, folders, extensions, tuple(self.skipped), tuple(self.parts))

    def unfinished(self) -> Counted:
        """The shard so far, with the text counted of a file that has not ended."""
        rest = Tally(text_bytes=self.file_bytes, tokens=self.file_tokens, bytes_read=self.file_bytes)
        done = self.counted(-1)
        return done._replace(total=done.total.plus(rest))


def counts_by(engine: Counter) -> Counting:
    """Counts batch by batch, in the thread that asks for them."""

    def counts(read: Iterator[Batch]) -> Iterator[tuple[Batch, list[int]]]:
        with closing(read):  # type: ignore[type-var]
            for batch in read:
                yield batch._replace(texts=[]), engine.count(batch.texts) if batch.texts else []

    return counts


def counts_in_threads(engine: Counter) -> Counting:
    """Counts batch by batch; reading ahead is a thread, and having the engine count is another."""

    def counts(read: Iterator[Batch]) -> Iterator[tuple[Batch, list[int]]]:
        return read_ahead(counts_by(engine)(read_ahead(read, BATCHES_AHEAD)), BATCHES_AHEAD)

    return counts


def count(
    shards: Iterable[Shard],
    reading: Reading,
    cuts: Cuts | None,
    counts: Counting,
    under_way: Open,
    moved: Callable[[int], object],
) -> Iterator[Counted]:
    """Count shards, one after the other.

    Args:
        shards: what to count.
        reading: how documents are found in files.
        cuts: where the vocabulary's texts may be cut.
        counts: yields each batch without its texts, and the tokens of each text, in order.
        under_way: holds what is known of the shard that is not done.
        moved: called with the stored bytes that have been dealt with since the last call.
    """
    with closing(counts(batches(shards, reading, cuts))) as counted:  # type: ignore[type-var]
        told = 0
        for batch, tokens in counted:
            under_way.add(batch, tokens)
            ended = [portion.read.found.stored_bytes for portion in batch.portions if portion.read]
            still_open = batch.open_bytes() + (0 if ended else told)
            moved(sum(ended) + still_open - told)
            told = still_open
            if batch.ends is not None:
                shard = under_way.counted(batch.ends.number)
                under_way.clear()
                yield shard
