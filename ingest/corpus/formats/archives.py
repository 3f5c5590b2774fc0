"""Archives, read sequentially: tar, such as WebDataset's, by `tarfile` without extraction; WARC, WET; for samples TFRecord."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Self

from ingest.corpus.files.names import MAGIC, content_suffix, is_aside, kind_by_magic, kind_of, printable, suffix_of
from ingest.corpus.files.source import BorrowedSource, Meter, Source, Stream, Unreadable, decompressed
from ingest.corpus.formats import HEAD_BYTES, SampleFormat, SizesAndCounts, doubt_members, stored_shares
from ingest.corpus.formats.rows import LIMIT_BYTES, TOO_LONG, BufferedReader, SkippedRows, is_one_text, not_text_reason
from ingest.corpus.types import Chunk, CorpusFile, Note, SkippedFile
from ingest.errors import brief

BLOCK = 512
#: larger headers are refused: they come only from broken or malicious archives
MOST_HEADER_BYTES = 2**20
_EXTENSIONS: tuple[Any, ...] = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
#: what `tarfile` raises at broken archives
_ERRORS = (tarfile.TarError, EOFError, ValueError, OverflowError)
_KINDS: dict[Any, str] = {
    **dict.fromkeys((tarfile.LNKTYPE, tarfile.SYMTYPE), "a link"),
    **dict.fromkeys((tarfile.CHRTYPE, tarfile.BLKTYPE), "a device"),
    tarfile.FIFOTYPE: "a pipe",
}
#: formats that need seeking, and archives in archives
_NOT_WITHIN = ("parquet", "arrow", "tar")
#: yields the documents of a member, held in memory, given its format and compression
DocumentsOf = Callable[[Source, str, str, Note], Iterable[Chunk]]


class _Header(tarfile.TarInfo):
    """A member's header; `tarfile` by itself ends silently at a broken header, and reads headers of any size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header that a block holds."""
        # a regular file without a prefix has the usual header, of which name and size are read in a third of the time
        if len(buf) == BLOCK and buf[156:157] == tarfile.REGTYPE and not buf[345]:
            name, size, checksum = (buf[start:stop].partition(b"\0")[0] for start, stop in ((0, 100), (124, 136), (148, 156)))
            if size.isdigit() and checksum.isdigit() and int(checksum, 8) == sum(buf) - sum(buf[148:156]) + 8 * 32:
                header = cls(name.decode(encoding, errors))
                header.size = int(size, 8)
                return header
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not buf.strip(b"\0"):
                raise  # the end of the archive
            raise tarfile.ReadError(str(error)) from None
        if header.size < 0 or (header.type in _EXTENSIONS and header.size > MOST_HEADER_BYTES):
            raise tarfile.ReadError(f"a tar header of {header.size} bytes")
        return header


class _Forward:
    """A forward-only file object over a stream, much faster than the stream mode of `tarfile`."""

    def __init__(self, stream: Stream) -> None:
        self._window = BufferedReader(stream)
        self._position = 0

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        if position < self._position:
            raise tarfile.StreamError("a member inside another member")
        if not self._window.skip(position - self._position):
            raise tarfile.ReadError("unexpected end of data")
        self._position = position

    def read(self, size: int) -> bytes:
        data = self._window.exactly(size)
        self._position += len(data)
        return data


class Archive:
    """A tar archive read sequentially from a stream, or from a seekable file object, in which unread members are skipped.

    Raises Unreadable: the archive is broken or truncated; raised by every method.
    """

    def __init__(self, path: str, file: Stream | BorrowedSource) -> None:
        self._path = path
        archive: Any = file if isinstance(file, BorrowedSource) else _Forward(file)
        self._file = archive
        try:
            self._tar: Any = tarfile.TarFile(fileobj=archive, tarinfo=_Header, encoding="utf-8", errors="surrogateescape")
        except _ERRORS as error:
            raise self._broken(error) from None

    def _broken(self, error: object) -> Unreadable:
        return Unreadable(self._path, f"broken or truncated tar: {str(error)[:200]}")

    def members(self) -> Iterator[tarfile.TarInfo]:
        """Yield the members that are not folders."""
        tar = self._tar
        while True:
            try:
                if isinstance(self._file, _Forward) and tar.firstmember is None:
                    self._file.seek(tar.offset)  # `tarfile` would stop one byte before, and read that
                member: tarfile.TarInfo | None = tar.next()
            except _ERRORS as error:
                raise self._broken(error) from None
            if member is None:
                while rest := self._file.read(HEAD_BYTES):
                    if rest.strip(b"\0"):
                        raise self._broken("data after its end, such as a second archive, which tar leaves out")
                return
            if member.size < 0:
                raise self._broken(f"a member of {member.size} bytes")
            tar.members = []  # a million headers are not kept
            if not member.isdir():
                yield member

    def read(self, size: int) -> bytes:
        """Return the next bytes of the current member, which must have as many."""
        data: bytes = self._file.read(size)
        if len(data) < size:
            raise Unreadable(self._path, "truncated: the archive ends within a member")
        return data


def read_members(stream: Stream, path: str, note: Note, documents_of: DocumentsOf) -> Iterator[Chunk]:
    """Yield the documents of text members, each read by the format of its name; other members are skipped.

    Of skipped members with equal suffix and reason, the first is named, the others are counted.

    Raises Unreadable: the archive is broken or truncated.
    """
    first: dict[tuple[str, str], str] = {}
    skipped = Counter[tuple[str, str]]()
    archive = Archive(path, stream)
    for member in archive.members():
        name = printable(member.name)
        found = _documents(archive, member, name, note, documents_of)
        if isinstance(found, str):
            key = (suffix_of(name), found)
            first.setdefault(key, name)
            skipped[key] += 1
        else:
            yield from found
    for (suffix, reason), times in skipped.items():
        more = f" and {times - 1} more {suffix or 'without a suffix'}" if times > 1 else ""
        note(SkippedFile(path, f"member {first[suffix, reason]}{more}: {reason}", times))


def _documents(
    archive: Archive, member: tarfile.TarInfo, name: str, note: Note, documents_of: DocumentsOf
) -> list[Chunk] | str:
    """Return the documents of a member, which counts completely or not at all; then the reason."""
    form, compression = kind_of(name)
    if member.issparse():
        return "a sparse file"
    if not member.isreg():
        return _KINDS.get(member.type, "of an unknown kind")
    if form in _NOT_WITHIN:
        return f"{form} within tar is not read"
    if member.size > LIMIT_BYTES:
        return TOO_LONG
    head = archive.read(min(member.size, HEAD_BYTES))
    if form == "text" and not compression and b"\0" in head:
        return "binary"
    data = head if len(head) == member.size else head + archive.read(member.size - len(head))
    if form == "text" and not compression and is_one_text(data):
        return [Chunk(data, True)]
    held, kept, size = io.BytesIO(data), [], 0
    try:
        for piece in documents_of(Source(name, member.size, Meter(), held), form, compression, note):
            kept.append(piece)
            size += len(piece.text)
            if size > LIMIT_BYTES:
                return f"unfolded {TOO_LONG}"
    except Unreadable as error:
        return error.reason.partition(" at byte ")[0]
    return kept


#: digits of the largest file size
MOST_DIGITS = 19
CUT_SHORT = "truncated: the file ends within a record"
#: records with documents; the others are requests and crawl metadata
_PLAIN_RECORDS = (b"conversion", b"resource")
_TEXTUAL = (b"text/", b"application/xhtml", b"application/xml", b"application/json", b"application/javascript")


def warc_texts(stream: Stream, _: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the text of every record; other records with documents are skipped by number and reason."""
    window, path = BufferedReader(stream), left_out.path
    number = 0
    while window.skip_any(b"\r\n"):
        head = window.until(b"\r\n\r\n", MOST_HEADER_BYTES)
        if not head:
            raise Unreadable(path, "not a WARC file, or a truncated one: a record's header has no end")
        if not head.startswith(b"WARC/"):
            raise Unreadable(path, "not a WARC file, or a broken one: a record should begin here")
        if not (headers := parsed(head)):
            return
        number += 1
        written = headers.get(b"content-length")
        if written is None:
            raise Unreadable(path, "broken WARC: a record without a Content-Length")
        if not written.isdigit() or len(written) > MOST_DIGITS:
            found = brief(written.decode("utf-8", "replace"))
            raise Unreadable(path, f"broken WARC: a record's Content-Length is {found}, expected a number of bytes")
        kind, size = headers.get(b"warc-type", b"").lower(), int(written)
        is_http = kind == b"response" and headers.get(b"content-type", b"").lower().startswith(b"application/http")
        has_document = is_http or kind in _PLAIN_RECORDS
        if not has_document or size > LIMIT_BYTES:
            if not window.skip(size):
                raise Unreadable(path, CUT_SHORT)
            if has_document:
                left_out.add(number, TOO_LONG)
            continue
        body = window.exactly(size)
        if len(body) < size:
            raise Unreadable(path, CUT_SHORT)
        try:
            text = http_payload(body) if is_http else body
        except ValueError as error:
            left_out.add(number, str(error))
            continue
        if reason := not_text_reason(text):
            left_out.add(number, "binary" if reason.startswith("binary") else "not UTF-8")  # grouped without position
        else:
            yield text


def parsed(head: bytes) -> dict[bytes, bytes]:
    """Return headers by lower-case name."""
    pairs = (line.partition(b":") for line in head.splitlines() if b":" in line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def http_payload(message: bytes) -> bytes:
    r"""Return the body of an HTTP response without chunked encoding and compression.

    Archives often store it decompressed already, under the old header.

    Raises ValueError: the content type is not text, the compression is not supported, or the body is too long.
    """
    head, blank, body = message.partition(b"\r\n\r\n")
    if not blank:
        head, _, body = message.partition(b"\n\n")
    headers = parsed(head)
    if not headers.get(b"content-type", b"text/").lower().startswith(_TEXTUAL):
        raise ValueError("its content type is not text")
    if b"chunked" in headers.get(b"transfer-encoding", b"").lower():
        body = unchunked(body)
    encoding = headers.get(b"content-encoding", b"").strip().lower()
    if encoding in (b"", b"identity") or not not_text_reason(body):
        return body
    if encoding not in (b"gzip", b"x-gzip", b"deflate"):
        raise ValueError(f"packed as '{encoding.decode('ascii', 'replace')[:20]}', which is not read")
    inner = zlib.decompressobj(wbits=47)  # gzip or zlib
    try:
        text = inner.decompress(body, LIMIT_BYTES)
    except zlib.error:
        raise ValueError("broken compression") from None
    if inner.unconsumed_tail:
        raise ValueError(TOO_LONG)
    return text


def unchunked(body: bytes) -> bytes:
    """Return a chunked body as a whole; archives often store it whole already, under the old header."""
    parts, rest = [], body
    while rest:
        line, end, rest = rest.partition(b"\r\n")
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            return body
        if not end or size < 0 or size > len(rest):
            return body
        if size == 0:
            break
        parts.append(rest[:size])
        rest = rest[size + 2 :]
    return b"".join(parts)


#: length, checksum of the length; after the content a checksum of it
RECORD_HEAD, RECORD_TAIL = 12, 4
#: CRC-32C, as TFRecord writes it: by byte for the reversed polynomial, then rotated and shifted by this
_MASK = 0xA282EAD8
_CRC_OF_BYTE = list(range(256))
for _ in range(8):
    _CRC_OF_BYTE = [value >> 1 ^ 0x82F63B78 * (value & 1) for value in _CRC_OF_BYTE]


#: the first two bytes of zlib data, by level of compression (RFC 1950)
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


class _Unzlibbed:
    """The contents of a zlib stream, as TFRecord compresses with ZLIB."""

    def __init__(self, source: Source) -> None:
        self._source, self._inner = source, zlib.decompressobj()

    def read(self, size: int, /) -> bytes:
        while not self._inner.eof and (data := self._inner.unconsumed_tail or self._source.read(size)):
            try:
                if found := self._inner.decompress(data, size):
                    return found
            except zlib.error as error:
                raise Unreadable(self._source.path, f"broken zlib data: {error}") from None
        return b""


def begins_tfrecord(head: bytes, *_: object) -> bool:
    """Whether first bytes are the head of a record: a length and its checksum; maybe compressed by zlib."""
    if head[:2] in _ZLIB:
        try:
            head = zlib.decompressobj().decompress(head, RECORD_HEAD)
        except zlib.error:
            return False
    return is_record_head(head[:RECORD_HEAD])


def is_record_head(head: bytes) -> bool:
    """Whether these are a length and its checksum."""
    return len(head) == RECORD_HEAD and masked_checksum(head[:8]) == int.from_bytes(head[8:], "little")


def walk_tfrecord(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Records with their framing; TensorFlow compresses without a suffix in the name."""
    head = source.read(RECORD_HEAD)
    source.seek(0)
    packed = file.compression or ("gzip" if head.startswith(MAGIC["gzip"]) else "")
    if packed or (head[:2] in _ZLIB and not is_record_head(head)):
        reader = BufferedReader(decompressed(source, packed) if packed else _Unzlibbed(source))
        yield from stored_shares(records(reader.exactly, reader.skip, file.path), file.stored_bytes)
        return

    def skip(size: int) -> bool:
        end = source.tell() + size
        source.seek(min(end, source.size))
        return end <= source.size

    yield from records(source.read, skip, file.path)


def records(read: Callable[[int], bytes], skip: Callable[[int], bool], path: str) -> SizesAndCounts:
    """Yield the size of each record of a TFRecord stream; `skip` tells whether there were as many bytes."""
    number = 0
    while head := read(RECORD_HEAD):
        number += 1
        length = int.from_bytes(head[:8], "little")
        if not is_record_head(head):
            what = "not a TFRecord" if number == 1 else f"broken at record {number}"
            raise Unreadable(path, f"{what}: the checksum of a length is wrong")
        if not skip(length + RECORD_TAIL):
            raise Unreadable(path, f"truncated in record {number}")
        yield RECORD_HEAD + length + RECORD_TAIL, 1


def masked_checksum(data: bytes) -> int:
    """CRC-32C as TFRecord stores it."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _CRC_OF_BYTE[(value ^ byte) & 0xFF]
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + _MASK) & 0xFFFFFFFF


def walk_tar(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Samples as WebDataset groups them: consecutive members whose names agree up to the first dot.

    The stored bytes of a member include its header and padding. Members without a key belong to no sample.
    """
    archive = Archive(file.path, decompressed(source, file.compression) if file.compression else BorrowedSource(source))
    sizes = _keyed(source, archive)
    return stored_shares(sizes, file.stored_bytes) if file.compression else sizes


def _keyed(source: Source, archive: Archive) -> SizesAndCounts:
    met, again, without = set[int](), 0, 0
    alone = Counter[str]()  # samples of one member, by its suffix
    for key, group in groupby((one for one in archive.members() if one.isfile()), lambda member: key_of(member.name)):
        members = [*group]
        if key is None:
            without += sum(not is_aside(one.name) for one in members)
            continue
        again += hash(key) in met
        met.add(hash(key))
        alone.update(content_suffix(one.name) for one in members if len(members) == 1)
        yield sum(one.offset_data - one.offset + -(-one.size // BLOCK) * BLOCK for one in members), 1
    if without and not met:
        raise Unreadable(source.path, "no member's name has an extension, so that WebDataset reads no sample")
    if without:
        source.caution("members of a tar whose names have no extension belong to no sample, as WebDataset reads them")
    doubt_members(source, "tar", alone)
    if again:
        source.caution("members of a sample are apart in a tar: WebDataset splits such a sample, each part counts")


def key_of(name: str) -> str | None:
    """Return the part of a name that the members of one sample share; None where WebDataset reads none, or it is hidden.

    >>> key_of("train/0001.seg.png"), key_of("train/._0001.png"), key_of("train/0001"), key_of("__meta__/a.json")
    ('train/0001', None, None, None)
    """
    folder, slash, file = name.removeprefix("./").rpartition("/")
    stem, dot, _ = file.partition(".")
    hidden = any(part.startswith(".") or (part.startswith("__") and part.endswith("__")) for part in folder.split("/"))
    return folder + slash + stem if stem and dot and not hidden else None


SAMPLES = (
    SampleFormat(
        "TFRecord", walk_tfrecord, (".tfrec", ".tfr"), names=lambda name: ".tfrecord" in name.lower(),
        tells=begins_tfrecord, packed=True,
    ),
    SampleFormat("tar", walk_tar, (".tar",), tells=lambda head, *_: kind_by_magic(head) == ("tar", ""), packed=True),
)  # fmt: skip
