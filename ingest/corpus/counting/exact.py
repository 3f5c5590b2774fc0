"""Exact counting: shards in, counts out; reading, counting and adding up run in a thread each, or alternately in one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import reduce
from itertools import islice
from typing import NamedTuple, TypeVar

from ingest.corpus.counting.ledger import NAMED_REASONS, SHARD_GROUPS, GroupTallies, Shard, ShardCount
from ingest.corpus.files.source import Meter, Unreadable
from ingest.corpus.formats.documents import read_chunks, read_piece, whole_text
from ingest.corpus.tokenizers.engines import Engine
from ingest.corpus.tokenizers.splitter import TEXT_BYTES, SplitRule, SplitText, split_texts
from ingest.corpus.types import CorpusFile, LeftOut, SkippedFile, Tally, extension_of, folder_of

Item = TypeVar("Item")
#: text of a batch for the engine: enough for all its threads, little next to its own memory
BATCH_BYTES = 4 * 2**20
BATCHES_AHEAD = 2
#: lines, rows and members of one file that are named
NAMED_PARTS = 100


class _End(NamedTuple):
    """The end of an iterator, with its error."""

    error: BaseException | None


def read_ahead(items: Iterator[Item], depth: int) -> Iterator[Item]:
    """The items of an iterator, produced up to `depth` items ahead in a thread.

    The thread ends with the last item, with the first error, which is raised here, or soon after this generator is closed. It
    closes the iterator itself, because no other thread may while it runs. It is a daemon: a read that never returns does not
    keep the process from ending.
    """
    waiting: queue.Queue[Item | _End] = queue.Queue(depth)
    closed = threading.Event()

    def hand_over(item: Item | _End) -> bool:
        while not closed.is_set():
            with suppress(queue.Full):
                waiting.put(item, timeout=0.1)
                return True
        return False

    def work() -> None:
        error = None
        try:
            for item in items:
                if not hand_over(item):
                    return
        except BaseException as raised:  # every error is raised in the consumer
            error = raised
        finally:
            getattr(items, "close", lambda: None)()
        hand_over(_End(error))

    threading.Thread(target=work, name="ingest-reader", daemon=True).start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        closed.set()


class DocumentCounter(NamedTuple):
    """Counts documents: the field of their text, the engine, and where long ones may be split."""

    text_field: str
    engine: Engine
    rule: SplitRule | None


class FileRead(NamedTuple):
    """A file after its last text; `tally` still lacks text bytes and tokens. `skipped` says why it does not count."""

    found: CorpusFile
    tally: Tally
    skipped: SkippedFile | None = None
    parts: tuple[SkippedFile, ...] = ()


class FileTexts(NamedTuple):
    """Number and bytes of the texts of one file within a batch; `read` is the file, where these are its last texts."""

    texts: int
    size: int
    read: FileRead | None


class Batch(NamedTuple):
    """Texts for the engine in file order, and the files that they belong to; `ends` is the shard that they complete."""

    texts: list[bytes]
    portions: list[FileTexts]
    ends: Shard | None


#: yields each batch without its texts, and the tokens of each text, in order
BatchCounter = Callable[[Iterator[Batch]], Iterator[tuple[Batch, list[int]]]]


class BatchBuilder:
    """Fills batches."""

    def __init__(self) -> None:
        self.documents, self.refused = 0, ""  # of the file that is being read; why a document of it does not count
        self._clear()

    def _clear(self) -> None:
        self._texts: list[bytes] = []
        self._portions: list[FileTexts] = []
        self.size = 0  # text bytes in the batch
        #: of the open portion: its first text and its text bytes
        self._first = self._portion_size = 0
        #: of the open document: its first text, None where that is in an earlier batch, and its text bytes
        self._document: int | None = None
        self._document_size = 0

    def begin_file(self) -> None:
        """The next texts belong to another file."""
        self.documents, self.refused = 0, ""
        self._document, self._document_size = len(self._texts), 0

    def add(self, part: SplitText, path: str) -> None:
        """Add texts of the open file. Raises Unreadable: a document is refused whose first texts are in an earlier batch."""
        if part.refused:
            if self._document is None:
                raise Unreadable(path, part.refused)
            del self._texts[self._document :]
            self.size -= self._document_size
            self._portion_size -= self._document_size
            self.refused = part.refused
        self._texts += part.texts
        self.size += part.size
        self._portion_size += part.size
        self._document_size += part.size
        if part.ends:
            self.documents += not part.refused
            self._document, self._document_size = len(self._texts), 0

    def close_portion(self, read: FileRead | None) -> None:
        """End the texts of a file within this batch."""
        self._portions.append(FileTexts(len(self._texts) - self._first, self._portion_size, read))
        self._first, self._portion_size = len(self._texts), 0

    def take(self, ends: Shard | None) -> Batch:
        """Return the batch and begin an empty one."""
        batch = Batch(self._texts, self._portions, ends)
        self._clear()
        return batch


def batches(shards: Iterable[Shard], counter: DocumentCounter) -> Iterator[Batch]:
    """Read shards into batches of about `BATCH_BYTES`; a batch holds texts of one shard."""
    builder = BatchBuilder()
    for shard in shards:
        piece = shard.piece
        for found in shard.found:
            meter, skipped = Meter(), None
            builder.begin_file()
            if piece is None and (text := whole_text(found, meter, TEXT_BYTES)) is not None:
                builder.add(SplitText([text] if text else [], len(text), ends=True), found.path)
                builder.close_portion(FileRead(found, Tally(1, 1, meter.stored_bytes, bytes_read=meter.bytes_read)))
                if builder.size >= BATCH_BYTES:
                    yield builder.take(None)
                continue
            left_out, listed, files, continued, damage = LeftOut(NAMED_PARTS), found, 1, False, None
            try:
                if piece is None:
                    chunks = read_chunks(found, counter.text_field, left_out.note, meter, shard.parts)
                else:
                    files, listed = int(piece.number == 0), found._replace(stored_bytes=piece.stop - piece.start)
                    places = counter.rule.pattern if counter.rule else None
                    piece, damage, chunks = read_piece(found, piece, counter.text_field, places, left_out.note, meter)
                    continued = damage is not None and piece.start > 0
                for part in split_texts(chunks, counter.rule, continued):
                    builder.add(part, found.path)
                    if part.refused:
                        left_out.note(SkippedFile(found.path, f"a document after {builder.documents:,} others: {part.refused}"))
                    if builder.size >= BATCH_BYTES:
                        builder.close_portion(None)
                        yield builder.take(None)
                if piece and damage:
                    piece = piece._replace(places=damage.places, damaged_bytes=damage.bytes)
                if damage and builder.refused:
                    skipped = SkippedFile(found.path, builder.refused)
                elif left_out.named and not builder.documents and shard.parts is None and piece is None:
                    reasons = "; ".join(part.reason for part in left_out.named[:NAMED_REASONS])
                    skipped = SkippedFile(found.path, builder.refused or f"no usable record: {reasons}")
            except Unreadable as error:
                skipped = SkippedFile(error.path, error.reason)
            stored = meter.stored_bytes if piece is None else listed.stored_bytes
            documents = builder.documents - (continued and builder.documents > 0)
            tally = Tally(files, documents, stored, bytes_read=meter.bytes_read)
            counted = Tally(bytes_read=meter.bytes_read) if skipped else tally
            skipped = skipped and skipped._replace(stored_bytes=found.stored_bytes)
            more = left_out.documents - sum(part.number for part in left_out.named)
            rest = [SkippedFile(found.path, f"{more:,} more like these", more)] if more else []
            builder.close_portion(FileRead(listed, counted, skipped, (*left_out.named, *rest)))
        yield builder.take(shard._replace(piece=piece))


class ShardTally:
    """The counts so far of the open shard."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.clear()

    def clear(self) -> None:
        self.folders, self.extensions = GroupTallies(SHARD_GROUPS), GroupTallies(SHARD_GROUPS)
        self.skipped: list[SkippedFile] = []
        self.parts: list[SkippedFile] = []
        self.file_tokens = self.file_bytes = 0

    def add(self, batch: Batch, counts: list[int]) -> None:
        left = iter(counts)
        for texts, size, read in batch.portions:
            self.file_tokens += sum(islice(left, texts))
            self.file_bytes += size
            if read is None:
                continue
            tally = read.tally
            if read.skipped is None:
                tally = tally._replace(text_bytes=self.file_bytes, tokens=self.file_tokens)
                self.parts += read.parts
            else:  # it adds its bytes read and no text
                self.skipped.append(read.skipped)
            self.folders.add(folder_of(read.found.path, self.root), tally)
            self.extensions.add(extension_of(read.found.path), tally)
            self.file_tokens = self.file_bytes = 0

    def counted(self, number: int) -> ShardCount:
        folders, extensions = self.folders.tallies(), self.extensions.tallies()
        total = reduce(Tally.plus, folders.values(), Tally())
        return ShardCount(number, total, folders, extensions, tuple(self.skipped), tuple(self.parts))

    def unfinished(self) -> ShardCount:
        """The counts so far, including the open file."""
        rest = Tally(text_bytes=self.file_bytes, tokens=self.file_tokens, bytes_read=self.file_bytes)
        done = self.counted(-1)
        return done._replace(total=done.total.plus(rest))


def count_batches(engine: Engine, read: Iterator[Batch]) -> Iterator[tuple[Batch, list[int]]]:
    """Count batch by batch in the calling thread."""
    with closing(read):  # type: ignore[type-var]
        for batch in read:
            yield batch._replace(texts=[]), engine.count(batch.texts) if batch.texts else []


def count(
    shards: Iterable[Shard],
    counter: DocumentCounter,
    open_shard: ShardTally,
    moved: Callable[[int], object],
    counts: BatchCounter | None = None,
) -> Iterator[ShardCount]:
    """Count shards one after the other; `open_shard` receives the counts of the one that is not done.

    `moved` is called with the stored bytes done since the last call. `counts` calls the engine; by default one thread reads
    ahead and another calls it.
    """
    read = batches(shards, counter)
    pairs = (
        counts(read) if counts else read_ahead(count_batches(counter.engine, read_ahead(read, BATCHES_AHEAD)), BATCHES_AHEAD)
    )
    with closing(pairs) as counted:  # type: ignore[type-var]
        reported = 0
        for batch, tokens in counted:
            open_shard.add(batch, tokens)
            ended = [portion.read.found.stored_bytes for portion in batch.portions if portion.read]
            # a file may continue in the next batch
            still_open = sum(last.size for last in batch.portions[-1:] if not last.read) + (0 if ended else reported)
            moved(sum(ended) + still_open - reported)
            reported = still_open
            if batch.ends is not None:
                shard = open_shard.counted(batch.ends.number)._replace(piece=batch.ends.piece)
                open_shard.clear()
                yield shard
