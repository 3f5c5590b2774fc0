"""WARC and WET: one document per text record of a web archive."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from ingest.corpus.files.decompress import Stream
from ingest.corpus.files.source import Unreadable
from ingest.corpus.formats.buffered import BufferedReader
from ingest.corpus.formats.plain_text import not_text_reason
from ingest.corpus.formats.rows import LIMIT_BYTES, TOO_LONG, SkippedRows
from ingest.errors import brief

MOST_HEADER_BYTES = 2**20
#: digits of the largest file size
MOST_DIGITS = 19
CUT_SHORT = "truncated: the file ends within a record"
_VERSION = b"WARC/"
#: records with documents; the others are requests and crawl metadata
_PLAIN_RECORDS = (b"conversion", b"resource")
_TEXTUAL = (b"text/", b"application/xhtml", b"application/xml", b"application/json", b"application/javascript")
_Headers = dict[bytes, bytes]


def warc_texts(stream: Stream, _: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the text of every record; other records with documents are skipped by number and reason.

    Raises:
        Unreadable: the file is not WARC, broken or truncated.
    """
    records = _Records(stream, left_out.path)
    number = 0
    while headers := records.headers():
        number += 1
        kind, size = headers.get(b"warc-type", b"").lower(), records.size(headers)
        is_http = kind == b"response" and headers.get(b"content-type", b"").lower().startswith(b"application/http")
        if not (is_http or kind in _PLAIN_RECORDS):
            records.skip(size)
        elif size > LIMIT_BYTES:
            records.skip(size)
            left_out.add(number, TOO_LONG)
        else:
            body = records.body(size)
            try:
                text = http_payload(body) if is_http else body
            except ValueError as error:
                left_out.add(number, str(error))
                continue
            if reason := not_text_reason(text):
                left_out.add(number, "binary" if reason.startswith("binary") else "not UTF-8")  # grouped without position
            else:
                yield text


def http_payload(message: bytes) -> bytes:
    r"""Return the body of an HTTP response without chunked encoding and compression.

    Raises:
        ValueError: the content type is not text, or the compression is not supported.

    >>> http_payload(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    b'abc'
    """
    head, blank, body = message.partition(b"\r\n\r\n")
    if not blank:
        head, _, body = message.partition(b"\n\n")
    headers = parsed(head)
    kind = headers.get(b"content-type", b"text/").lower()
    if not kind.startswith(_TEXTUAL):
        raise ValueError("its content type is not text")
    if b"chunked" in headers.get(b"transfer-encoding", b"").lower():
        body = unchunked(body)
    return decoded(body, headers.get(b"content-encoding", b"").strip().lower())


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


def decoded(body: bytes, encoding: bytes) -> bytes:
    """Return a decompressed body; archives often store it decompressed already, under the old header.

    Raises:
        ValueError: the compression is not supported, or the body is too long.
    """
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


def parsed(head: bytes) -> _Headers:
    r"""Return headers by lower-case name.

    >>> parsed(b"WARC/1.0\r\nWARC-Type: response\r\n")
    {b'warc-type': b'response'}
    """
    pairs = (line.partition(b":") for line in head.splitlines() if b":" in line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


class _Records:
    """A WARC stream, record by record."""

    def __init__(self, stream: Stream, path: str) -> None:
        self._window = BufferedReader(stream)
        self._path = path

    def headers(self) -> _Headers:
        """Return the headers of the next record; empty at the end."""
        if not self._window.skip_any(b"\r\n"):
            return {}
        head = self._window.until(b"\r\n\r\n", MOST_HEADER_BYTES)
        if not head:
            raise Unreadable(self._path, "not a WARC file, or a truncated one: a record's header has no end")
        if not head.startswith(_VERSION):
            raise Unreadable(self._path, "not a WARC file, or a broken one: a record should begin here")
        return parsed(head)

    def size(self, headers: _Headers) -> int:
        written = headers.get(b"content-length")
        if written is None:
            raise Unreadable(self._path, "broken WARC: a record without a Content-Length")
        if not written.isdigit() or len(written) > MOST_DIGITS:
            found = brief(written.decode("utf-8", "replace"))
            raise Unreadable(self._path, f"broken WARC: a record's Content-Length is {found}, expected a number of bytes")
        return int(written)

    def body(self, size: int) -> bytes:
        body = self._window.exactly(size)
        if len(body) < size:
            raise Unreadable(self._path, CUT_SHORT)
        return body

    def skip(self, size: int) -> None:
        if not self._window.skip(size):
            raise Unreadable(self._path, CUT_SHORT)
