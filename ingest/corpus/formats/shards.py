"""Samples in the shards of loaders: RecordIO, MDS, LitData, Megatron's token files, LMDB; data sets of LeRobot."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from contextlib import closing, suppress

from ingest.corpus.files.names import MAGIC
from ingest.corpus.files.source import Source, Unreadable, decompressed_to_disk
from ingest.corpus.formats import FolderFormat, SampleFormat, SizesAndCounts, even_shares, stored_shares
from ingest.corpus.types import CorpusFile

#: bytes of an index read at a time
STEP = 2**20

# RecordIO of MXNet: magic, length whose upper three bits say which part of a record follows, padding to four bytes
RECORD = (0xCED7230A).to_bytes(4, "little")
_PART_BITS, _FIRST_PARTS, _HEAD = 29, (0, 1), 8


def recordio_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Records with their heads; one that holds the magic is stored in several parts."""
    size = 0
    while head := source.read(_HEAD):
        word = int.from_bytes(head[4:], "little")
        length = word & (1 << _PART_BITS) - 1
        end = source.tell() + length + -length % 4
        if len(head) < _HEAD or head[:4] != RECORD or end > source.size:
            raise Unreadable(file.path, "broken or truncated RecordIO")
        if word >> _PART_BITS in _FIRST_PARTS and size:
            yield size, 1
            size = 0
        size += end - source.tell() + _HEAD
        source.seek(end)
    if size:
        yield size, 1


# MDS and LitData: number of samples, the place of each and of the end, 32 bits each; then columns of MDS, then samples


def count_of(source: Source) -> int | None:
    """The number of samples that a shard begins with; None where their places do not fit the file."""
    source.seek(0)
    count = int.from_bytes(source.read(4), "little")
    table = 4 + 4 * (count + 1)
    if not count or table > source.size:
        return None
    first = int.from_bytes(source.read(4), "little")
    source.seek(table - 4)
    return count if table <= first <= int.from_bytes(source.read(4), "little") == source.size else None


def listed(source: Source, file: CorpusFile) -> int:
    """The number of samples of a shard by the index.json beside it. Raises Unreadable: that does not list it."""
    name = file.location.rpartition("/")[2]
    with suppress(Unreadable, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        with closing(source.beside(file, "index.json")) as index:
            found = json.loads(index.read())
        for chunk in found["chunks"]:
            if chunk["filename"] == name and chunk["chunk_bytes"] == source.size:
                return int(chunk["chunk_size"])
    raise Unreadable(file.path, "broken, truncated, or no shard of MDS or LitData: the places of its samples do not fit it")


def shard_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Samples by the places that the shard begins with; LitData compresses without a suffix in the name."""
    source.seek(0)
    if source.read(4) == MAGIC["zstd"]:
        source.seek(0)
        with decompressed_to_disk(source, "zstd") as whole:
            yield from stored_shares(shard_samples(whole, file), file.stored_bytes)
        return
    if (count := count_of(source)) is None:  # LitData may compress within, or append rows of Arrow
        yield from even_shares(file.stored_bytes, listed(source, file))
        return
    source.seek(4)
    left, last = count + 1, None
    while left:
        places = struct.unpack(f"<{min(left, STEP)}I", source.read(4 * min(left, STEP)))
        left -= len(places)
        for place in places:
            if last is not None:
                if place < last:
                    raise Unreadable(file.path, "broken: the places of its samples do not rise")
                yield place - last, 1
            last = place


# Megatron: an index of the lengths of sequences in tokens, and which of them begin documents, beside a file of token ids
INDEX, LEGACY = b"MMIDIDX\0\0", b"TNTIDX\0\0"
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 8, 7: 4, 8: 2}


def is_megatron(_: bytes, source: Source, file: CorpusFile) -> bool:
    """Whether an index of Megatron lies beside a file of token ids."""
    if not file.path.endswith(".bin"):
        return False
    with suppress(Unreadable), closing(index_of(source, file)) as index:
        return index.read(len(INDEX)).startswith((INDEX, LEGACY))
    return False


def index_of(source: Source, file: CorpusFile) -> Source:
    """The index beside a file of token ids. Raises Unreadable: it is not there."""
    return source.beside(file, file.location.rpartition("/")[2].removesuffix(".bin") + ".idx")


def megatron_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Documents, by the index beside the file."""
    with closing(index_of(source, file)) as index:
        head = index.read(len(INDEX))
        if head == INDEX:
            _, code, sequences, entries = struct.unpack("<QBQQ", _exactly(index, 25))
            if entries == sequences + 1 and code in _WIDTHS:  # each sequence is a document
                tokens = 0
                while sequences:
                    lengths = struct.unpack(f"<{min(sequences, STEP)}i", _exactly(index, 4 * min(sequences, STEP)))
                    sequences -= len(lengths)
                    tokens += sum(lengths)
                    yield from ((length * _WIDTHS[code], 1) for length in lengths)
                if tokens * _WIDTHS[code] != source.size:
                    raise Unreadable(file.path, "its index describes another number of tokens")
                return
        else:
            index.seek(len(LEGACY))
            *_, entries = struct.unpack("<6Q", _exactly(index, 48))
    yield from even_shares(file.stored_bytes, max(entries - 1, 0))


def _exactly(source: Source, size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise Unreadable(source.path, "truncated index")
    return data


# LMDB: two meta pages, of which the one with the larger transaction holds; the second tree of a page has the entries (mdb.c)
_META_AT, _META = 16, struct.Struct("<IIQQ" + 2 * "IHHQQQQQ" + "QQ")
_MAGIC, _PAGE_AT, _DEPTH_AT, _ENTRIES_AT, _ROOT_AT, _TRANSACTION_AT = 0xBEEFC0DE, 4, 14, 18, 19, 21
_LEAF_HEAD, _SUBTREE = struct.Struct("<QHHHH"), 0x02


def lmdb_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Entries of the main database; where each of these is a database, their entries."""
    page = _META.unpack(_exactly_at(source, _META_AT, _META.size))[_PAGE_AT]
    metas = [_META.unpack(_exactly_at(source, _META_AT + start, _META.size)) for start in (0, page)]
    if any(meta[0] != _MAGIC for meta in metas):
        raise Unreadable(file.path, "broken LMDB")
    meta = max(metas, key=lambda one: one[_TRANSACTION_AT])
    entries = meta[_ENTRIES_AT]
    if entries and meta[_DEPTH_AT] == 1:
        leaf = _exactly_at(source, meta[_ROOT_AT] * page, page)
        *_, lower, _ = _LEAF_HEAD.unpack_from(leaf)
        inner = 0
        for (at,) in struct.iter_unpack("<H", leaf[_META_AT:lower]):
            _, _, flags, key = struct.unpack_from("<HHHH", leaf, at)
            if not flags & _SUBTREE:
                break
            inner += struct.unpack_from("<IHHQQQQQ", leaf, at + _HEAD + key)[6]
        else:
            entries = inner
    yield from even_shares(file.stored_bytes, entries)


def _exactly_at(source: Source, place: int, size: int) -> bytes:
    source.seek(place)
    return _exactly(source, size)


def lerobot_samples(contents: Mapping[str, bytes]) -> int | None:
    """Episodes of a data set of LeRobot."""
    with suppress(ValueError, RecursionError, LookupError, TypeError):
        found = json.loads(next(iter(contents.values())))
        if "codebase_version" in found and isinstance(found["total_episodes"], int):
            return found["total_episodes"]
    return None


SAMPLES = (
    SampleFormat("RecordIO", recordio_samples, (".rec", ".recordio"), magic=RECORD),
    SampleFormat("MDS", shard_samples, (".mds",)),
    SampleFormat("Megatron", megatron_samples, tells=is_megatron),
    SampleFormat(
        "LitData", shard_samples, names=lambda name: re.fullmatch(r"chunk-\d+-\d+(\.\w+)?\.bin", name) is not None,
        tells=lambda _, source, __: count_of(source) is not None,
        note="each item of LitData counts as a sample; TokensLoader cuts several samples, of a block of tokens, out of one",
    ),
    SampleFormat(
        "LMDB", lmdb_samples, (".mdb", ".lmdb"),
        tells=lambda head, *_: head[_META_AT : _META_AT + 4] == _MAGIC.to_bytes(4, "little"),  # a meta page
        note="each entry of LMDB counts as a sample, also keys such as num-samples and entries that hold a part of a sample",
    ),
)  # fmt: skip
FOLDERS = (
    FolderFormat(
        "LeRobot", lerobot_samples, ("meta/info.json",),
        note="each episode of LeRobot counts as a sample; training draws its frames: total_frames of meta/info.json",
    ),
)  # fmt: skip
