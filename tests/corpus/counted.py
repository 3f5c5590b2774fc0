"""Real text, counted once block by block and file by file, so that samples of it can be drawn thousands of times."""

import io
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet

from ingest.corpus.estimators import BLOCK_BYTES, whole_characters
from ingest.corpus.sample import DrawnUnit, Stratum, Survey

BATCH = 8 * 2**20


@dataclass
class Precounted(Stratum):
    """A group whose blocks or files have been counted before.

    `table` holds for each unit the index of its first block, `tokens` and `texts` what each block or file holds.
    """

    first: numpy.ndarray = None
    tokens: numpy.ndarray = None
    texts: numpy.ndarray = None

    def fetch(self, keys, reader):  # noqa: ARG002
        for unit, start in keys:
            size = min(BLOCK_BYTES, self.frame.sizes[unit] - start) if self.blocks else self.frame.sizes[unit]
            place = self.first[unit] + start // BLOCK_BYTES if self.blocks else unit
            yield (unit, start), DrawnUnit(size, int(self.tokens[place]), int(self.texts[place]))


class NoReader:
    """Nothing is read: all has been counted."""

    def __init__(self):
        self.skipped = {}


class Redrawn(Survey):
    """A sample of what has been counted; where it would have read everything it only says so."""

    def count_stratum(self, group):
        self.drawn = [other for other in self.drawn if other is not group]
        self.complete.append(group)


def redraw(groups, seed, tolerance, confidence=0.95):
    """One whole adaptive sample of fresh groups."""
    survey = Redrawn(NoReader(), str(seed), tolerance, confidence)
    survey.run(groups)
    return survey


def texts_of(paths):
    """The files that are UTF-8 text and not empty."""
    for path in paths:
        data = Path(path).read_bytes()
        if data and b"\0" not in data:
            try:
                data.decode()
            except UnicodeDecodeError:
                continue
            yield data


def joined(texts, size):
    """The texts in portions of at least so many bytes."""
    shard, held = [], 0
    for text in texts:
        shard.append(text)
        held += len(text)
        if held >= size:
            yield shard
            shard, held = [], 0
    if shard:
        yield shard


def count_all(engine, texts):
    """Tokens of each text, in batches."""
    return numpy.array([tokens for batch in joined(texts, BATCH) for tokens in engine.count(batch)])


def blocks_of(data):
    for start in range(0, len(data), BLOCK_BYTES):
        size = min(BLOCK_BYTES, len(data) - start)
        yield whole_characters(data[start : start + size + 3], size, start == 0)


def blocks_group(texts, engine, name="plain text"):
    """A maker of the group of plain files, and their tokens counted file by file."""
    sizes = numpy.array([len(text) for text in texts])
    counts = count_all(engine, (block for text in texts for block in blocks_of(text)))
    number = -(-sizes // BLOCK_BYTES)
    first = numpy.cumsum(number) - number
    spans = numpy.concatenate(
        [[min(BLOCK_BYTES, len(text) - start) for start in range(0, len(text), BLOCK_BYTES)] for text in texts]
    )
    return maker(name, True, sizes, first, counts, spans), int(count_all(engine, texts).sum())


def shards_group(texts, engine, shard_bytes, pack, name):
    """A maker of the group of shards that hold so many bytes of text each, and their tokens."""
    shards = list(joined(texts, shard_bytes))
    counts = count_all(engine, texts)
    ends = numpy.cumsum([len(shard) for shard in shards])
    tokens = numpy.array([part.sum() for part in numpy.split(counts, ends[:-1])])
    lengths = numpy.array([sum(map(len, shard)) for shard in shards])
    stored = numpy.array([pack(shard) for shard in shards])
    return maker(name, False, stored, numpy.zeros(len(stored)), tokens, lengths), int(tokens.sum())


def maker(name, blocks, sizes, first, tokens, texts):
    def make():
        group = Precounted(name, blocks, first=first, tokens=tokens, texts=texts)
        for member, size in enumerate(sizes.tolist()):
            group.add(member, size)
        return group

    return make


def gzipped(shard):
    return len(zlib.compress(b"".join(shard), 1))


def as_row_group(shard):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": [text.decode() for text in shard]}), sink, compression="snappy")
    return pyarrow.parquet.ParquetFile(sink).metadata.row_group(0).column(0).total_compressed_size
