"""Every format under every compression yields the same documents; what is broken is named and never counted."""

import bz2
import csv
import gzip
import io
import json
import lzma
import random
import re
import tarfile
from operator import add

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from conftest import refused, table

from ingest.corpus.files import source
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.formats.archives import _Header
from ingest.corpus.formats.documents import Meter, Unreadable, can_seek, parts_of, read, read_block
from ingest.corpus.formats.rows import CHUNK_BYTES, LIMIT_BYTES

DOCUMENTS = ["one line", 'schöne Grüße 🙂\nand a "second" line, with a comma\tand a tab', "", "数据" * 700, "x\u2028y\x85z"]
COMPRESSIONS = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}


def as_jsonl(texts, field="text"):
    return "".join(json.dumps({"id": n, field: text}, ensure_ascii=n % 2 == 0) + "\n" for n, text in enumerate(texts)).encode()


def as_csv(texts, delimiter=","):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([["id", "text"], *enumerate(texts)])
    return file.getvalue().encode()


def as_table(texts):
    return pyarrow.table({"id": range(len(texts)), "text": texts})


def as_parquet(texts, **how):
    """A table, or one of texts, in row groups of two."""
    file = io.BytesIO()
    pyarrow.parquet.write_table(as_table(texts) if isinstance(texts, list) else texts, file, row_group_size=2, **how)
    return file.getvalue()


def as_arrow(texts, new=pyarrow.ipc.new_file):
    table, file = as_table(texts) if isinstance(texts, list) else texts, io.BytesIO()
    with new(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return file.getvalue()


def as_tar(members, **how):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", **how) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def as_warc(texts, kind="conversion", content_type="text/plain"):
    records = [b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 4\r\n\r\ninfo\r\n\r\n"]
    for text in texts:
        body = text if isinstance(text, bytes) else text.encode()
        head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        records.append(head.encode() + body + b"\r\n\r\n")
    return b"".join(records)


FORMATS = {
    "a.jsonl": as_jsonl,
    "semicolons.csv": lambda texts: as_csv(texts, ";"),
    "a.json": as_jsonl,
    "array.json": lambda texts: json.dumps([{"text": text} for text in texts], indent=1).encode(),
    "a.csv": as_csv,
    "a.tsv": lambda texts: as_csv(texts, "\t"),
    "a.parquet": as_parquet,
    "plain.parquet": lambda texts: as_parquet(texts, use_dictionary=False, compression="zstd"),
    "file.arrow": as_arrow,
    "stream.arrow": lambda texts: as_arrow(texts, pyarrow.ipc.new_stream),
    "a.tar": lambda texts: as_tar([(f"{n:03}.txt", text.encode()) for n, text in enumerate(texts)]),
    "a.warc": as_warc,
}


@pytest.fixture
def documents(tmp_path):
    """Write files, then return all their documents, what was noted, and the meter."""

    def call(name, content, meter=None, parts=None, text_field=""):
        (tmp_path / name).write_bytes(content)
        return read_all(list_inputs([str(tmp_path / name)])[0], meter, parts, text_field)

    return call


def read_all(found, meter=None, parts=None, text_field=""):
    texts, notes, current = [], [], []
    for text, ends in read(found, text_field, notes.append, meter, parts):
        assert len(text) <= CHUNK_BYTES
        text.decode("utf-8")
        current.append(text)
        if ends:
            texts.append(b"".join(current).decode())
            current = []
    assert not current
    return texts, [note.reason for note in notes]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_under_every_compression(name, suffix, documents):
    content = COMPRESSIONS[suffix](FORMATS[name](DOCUMENTS))
    meter = Meter()
    assert documents(name + suffix, content, meter) == (DOCUMENTS, [])
    assert meter.stored_bytes == len(content)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", ["a.txt", "a.html", "README", "a.c"])
@pytest.mark.parametrize("whole", ["\n".join(DOCUMENTS), "BZh and PAR1 are magic words"], ids=["text", "magic words"])
def test_a_text_file_is_one_document(name, suffix, whole, documents):
    content = COMPRESSIONS[suffix](whole.encode())
    meter = Meter()
    assert documents(name + suffix, content, meter) == ([whole], [])
    assert meter.stored_bytes == meter.bytes_read == len(content)


COMPRESSED = pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESSIONS if suffix])


@COMPRESSED
def test_compressed_data_may_have_several_members(suffix, documents, monkeypatch):
    """Also where they end within a step of reading."""
    compress = COMPRESSIONS[suffix]
    assert documents("a.txt" + suffix, compress(b"one ") + compress(b"") + compress(b"two"))[0] == ["one two"]
    texts = [f"text {number}" * number for number in range(20)]
    monkeypatch.setattr(source, "INPUT_BYTES", 5)
    assert documents("a.txt" + suffix, b"".join(compress(text.encode()) for text in texts))[0] == ["".join(texts)]


def test_zeros_after_compressed_data_are_padding_of_gzip_and_refused_elsewhere(documents):
    assert documents("a.txt.gz", gzip.compress(b"one ") + bytes(1000) + gzip.compress(b"two"))[0] == ["one two"]
    for suffix in (".bz2", ".xz"):
        compress = COMPRESSIONS[suffix]
        for rest in (bytes(4), bytes(4) + compress(b"two")):
            with pytest.raises(Unreadable, match=r"other bytes after the end of its|truncated"):
                documents("a.txt" + suffix, compress(b"one ") + rest)


@COMPRESSED
def test_compressed_data_that_is_cut_short_or_other_bytes_is_unreadable(suffix, documents):
    whole = COMPRESSIONS[suffix](as_jsonl(DOCUMENTS))
    for content, said in (
        *((whole[:cut], r"truncated|broken") for cut in (len(whole) - 1, len(whole) // 2, 7)),
        (b"plain text, whatever the name says", "other bytes instead of its"),
        (COMPRESSIONS[suffix](b"text") + b"rubbish that follows", r"other bytes after|broken"),
    ):
        with pytest.raises(Unreadable, match=said):
            documents("a.jsonl" + suffix, content)


@COMPRESSED
def test_a_compressed_file_is_known_without_its_suffix(suffix, documents):
    assert documents("noname", COMPRESSIONS[suffix]("schön".encode()))[0] == ["schön"]


@pytest.mark.parametrize("name", ["a.parquet", "file.arrow", "a.tar"])
def test_a_binary_format_is_known_without_its_suffix(name, documents):
    assert documents("noname", FORMATS[name](DOCUMENTS))[0] == DOCUMENTS


@pytest.mark.parametrize("name", [*FORMATS, "a.txt"])
@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_an_empty_file_has_no_text(name, suffix, documents):
    assert documents(name + suffix, b"") == ([""] if name == "a.txt" else [], [])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"abc\0def", "binary: a NUL at byte 3"),
        (b"caf\xe9!", "not UTF-8 at byte 3"),
        (b"caf\xc3", "not UTF-8 at byte 3"),
        ("text".encode("utf-16"), "not UTF-8: it begins like UTF-16"),
        (b"a" * 1996 + b"\0a\xff", "binary: a NUL at byte 1996"),
        (b"a" * 1000 + b"\0" * 112, "binary: a NUL at byte 1000"),
        (b"a" * CHUNK_BYTES + b"a\xff" * CHUNK_BYTES, f"not UTF-8 at byte {CHUNK_BYTES + 1}"),
        (b"\xed\xa0\x80", "not UTF-8 at byte 0"),
    ],
)
def test_a_file_that_is_no_text_says_where(content, reason, documents):
    with pytest.raises(Unreadable) as found:
        documents("a.txt", content)
    assert found.value.reason == reason


@pytest.mark.parametrize(
    ("content", "kept", "said"),
    [
        (b"a" * 1997 + b"\0a\xff", "a" * 1998, "2 B that are no text: NUL at byte 1,997, not UTF-8 at byte 1,999"),
        (b"a" * 1000 + b"\0" * 111, "a" * 1000, "111 B that are no text: NUL at byte 1,000"),
        (b"a caf\xe9 au lait", "a caf au lait", "1 B that are no text: not UTF-8 at byte 5"),
        (b"a" * CHUNK_BYTES + b"\xff", "a" * CHUNK_BYTES, f"1 B that are no text: not UTF-8 at byte {CHUNK_BYTES:,}"),
        ("é".encode() * CHUNK_BYTES + b"\0", "é" * CHUNK_BYTES, f"1 B that are no text: NUL at byte {2 * CHUNK_BYTES:,}"),
        (b"a" * (2**16 - 1) + b"\xc3a", "a" * 2**16, "1 B that are no text: not UTF-8 at byte 65,535"),
        (b"a" * (2**16 - 2) + b"\xe6\x96a", "a" * (2**16 - 1), "2 B that are no text: not UTF-8 at byte 65,534"),
    ],
)
def test_damage_costs_itself_and_is_placed(content, kept, said, documents):
    assert documents("a.txt", content) == ([kept], [said])


def test_drawn_damage_leaves_the_rest_as_it_is(documents):
    chance = random.Random(4)
    for _ in range(20):
        pieces = ["".join(chance.choices("aé文\U0001fae8 \n", k=chance.randint(2000, 150_000))).encode() for _ in range(5)]
        damage = [chance.choice((b"\0", b"\0\0\0", b"\xff", b"\xe6\x96 ", b"\xed\xa0\x80", b"\xc3")) for _ in pieces]
        content = b"".join(map(add, pieces, damage))
        texts, notes = documents("a.txt", content)
        assert texts == [content.decode("utf-8", "ignore").replace("\0", "")]
        lost = len(content) - len(texts[0].encode())
        places = [len(b"".join(map(add, pieces[:number], damage))) + len(pieces[number]) for number in (0, 1)]
        assert notes[0].startswith(f"{lost} B that are no text: ")
        assert f"at byte {places[0]:,}" in notes[0]


def test_a_long_text_comes_in_pieces_that_end_between_characters(documents):
    text = "a" + "🙂" * (CHUNK_BYTES // 4)
    for name, content in (("a.txt", text.encode()), ("a.jsonl", as_jsonl([text])), ("a.parquet", as_parquet([text]))):
        assert documents(name, content) == ([text], [])


LINES = table("corpus/cases.yaml")["lines"].encode("latin-1")


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_lines_that_do_not_count_are_named_by_number(suffix, documents):
    texts, notes = documents("a.jsonl" + suffix, COMPRESSIONS[suffix](LINES))
    assert texts == ["one", "two", "four"]
    assert notes == table("corpus/cases.yaml")["lines_that_do_not_count"]


def test_lines_are_read_alike_whether_others_are_broken_or_not(documents):
    odd = [b'{"text": "a", "b": "\xff"}', b'{"text": "\\u0041\\/"}', b'\xef\xbb\xbf{"te\\u0078t": "b"}', b'{"text": "c"}\r']
    for line in odd:
        alone = documents("alone.jsonl", line + b"\n")
        assert documents("with.jsonl", line + b"\n{}\n")[0] == alone[0]


@pytest.mark.parametrize("name", ["a.jsonl", "array.json"])
def test_a_field_is_a_dotted_path_or_a_key_with_dots(name, documents):
    rows = [{"a": {"b": [{"c": "x"}]}}, {"a.b.0.c": "y"}, {"a": 1}]
    content = json.dumps(rows) if name == "array.json" else "\n".join(map(json.dumps, rows))
    texts, notes = documents(name, content.encode(), text_field="a.b.0.c")
    assert texts == ["x", "y"]
    assert notes == [f"{'row' if name == 'array.json' else 'line'} 3: no field 'a.b.0.c'"]


@pytest.mark.parametrize("name", ["package.json", "package", "a.txt", "package.gz"])
def test_json_without_the_field_is_no_text_under_any_name(name, documents):
    package = b'{\n "name": "x",\n "version": 1\n}\n'
    for content in (package, package.replace(b"\n", b"")):
        texts, notes = documents(name, gzip.compress(content) if name.endswith("gz") else content)
        assert (texts, [note.partition(" ")[2] for note in notes]) == ([], ["1: no field 'text'"])


@pytest.mark.parametrize(
    "content",
    table("corpus/cases.yaml")["rows_of_json_are_found_in_every_shape"],
    ids=["wrapped", "splits", "columns", "columns by row", "array"],
)
@pytest.mark.parametrize("name", ["a.json", "0f3e9"])
def test_rows_of_json_are_found_in_every_shape(name, content, documents):
    assert documents(name, json.dumps(content, indent=1).encode()) == (["a", "b"], [])


def test_a_json_row_longer_than_the_first_read_is_whole(documents):
    rows = [{"text": "é" * 300_000}, {"text": "short"}, {"text": "🙂" * 200_000}]
    assert documents("a.json", json.dumps(rows, indent=2).encode())[0] == [row["text"] for row in rows]


def test_separated_values(documents):
    assert documents("one.csv", '\ufeffbody\nx\n"a\nb"\n'.encode()) == (["x", "a\nb"], [])
    assert documents("a.csv", b"text,n\na,1\nb\n\nc,2,3\n") == (["a"], ["rows 3 and 5: other than the 2 columns of the header"])
    assert documents("a.tsv", b"n\tbody\r\n1\tx\r\n", text_field="body") == (["x"], [])


COLUMNS = [
    pyarrow.array(["x", None, "y"], pyarrow.large_string()),
    pyarrow.array([b"x", None, b"y"], pyarrow.binary()),
    pyarrow.array(["x", None, "y"]).dictionary_encode(),
    pyarrow.array(["x", None, "y"], pyarrow.string_view()),
    pyarrow.array([{"b": "x"}, {"b": None}, {"b": "y"}]),
    pyarrow.array([{"b": "x"}, None, {"b": "y"}]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
@pytest.mark.parametrize("name", ["a.parquet", "file.arrow"])
def test_columns_of_every_text_type(name, column, documents):
    table = pyarrow.table({"a": column, "other": [1, 2, 3]})
    field = "a.b" if pyarrow.types.is_struct(column.type) else "a"
    assert documents(name, FORMATS[name](table), text_field=field) == (["x", "y"], ["row 2: null"])


@pytest.mark.parametrize("name", ["a.parquet", "stream.arrow"])
def test_rows_that_are_not_utf8_are_named(name, documents):
    table = pyarrow.table({"text": pyarrow.array([b"x", b"\xff", b"y", b"\xfe"])})
    assert documents(name, FORMATS[name](table)) == (["x", "y"], ["rows 2 and 4: not UTF-8"])


@pytest.mark.parametrize("name", ["a.parquet", "file.arrow"])
def test_tables_without_the_column_or_of_another_type(name, documents):
    with pytest.raises(Unreadable, match=r"no column 'txt', it has id, text; did you mean 'text'\?"):
        documents(name, FORMATS[name](DOCUMENTS), text_field="txt")
    with pytest.raises(Unreadable, match="column 'id' holds int64, expected text"):
        documents(name, FORMATS[name](DOCUMENTS), text_field="id")


@pytest.mark.parametrize("name", ["a.parquet", "file.arrow", "stream.arrow"])
def test_tables_that_are_cut_short_or_garbled_are_unreadable(name, documents):
    whole = FORMATS[name](["some text " * 50] * 40)
    for content in (whole[: len(whole) - 20], whole[: len(whole) // 2], whole[:9], b"garbage" * 100):
        with refused(error=Unreadable):
            documents(name, content)


def test_parts_are_row_groups_and_record_batches(tmp_path):
    for name, make in (("a.parquet", as_parquet), ("a.arrow", as_arrow)):
        (tmp_path / name).write_bytes(make(DOCUMENTS))
        found = list_inputs([str(tmp_path / name)])[0]
        parts = parts_of(found)
        assert len(parts) == 3
        assert 0 < sum(parts) <= found.stored_bytes
        by_part = [read_all(found, parts=[part])[0] for part in range(3)]
        assert by_part == [DOCUMENTS[:2], DOCUMENTS[2:4], DOCUMENTS[4:]]
    (tmp_path / "a.jsonl").write_bytes(as_jsonl(DOCUMENTS))
    found = list_inputs([str(tmp_path / "a.jsonl")])[0]
    assert parts_of(found) == [found.stored_bytes]


def test_of_parquet_only_the_column_is_moved(tmp_path):
    table = pyarrow.table({"text": ["short"] * 1000, "image": [bytes([n % 251]) * 5000 for n in range(1000)]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", compression="none", use_dictionary=False)
    found = list_inputs([str(tmp_path / "a.parquet")])[0]
    meter = Meter()
    assert len(read_all(found, meter)[0]) == 1000
    assert meter.stored_bytes > 5_000_000 > 100_000 > meter.bytes_read


def test_blocks_are_read_anywhere(tmp_path):
    (tmp_path / "a.txt").write_bytes(bytes(range(32, 127)) * 10)
    (tmp_path / "a.jsonl").write_bytes(b"")
    found, other = list_inputs([str(tmp_path / "a.txt"), str(tmp_path / "a.jsonl")])[::-1]
    meter = Meter()
    assert can_seek(found)
    assert not can_seek(other)
    assert read_block(found, 95, 5, meter) == b' !"#$'
    assert read_block(found, 945, 100, meter) == bytes(range(122, 127))[-5:] == b"z{|}~"
    assert meter.bytes_read == 10


def test_tar_members_are_read_as_files_of_their_name(documents):
    members = [
        ("/etc/absolute.txt", b"absolute"),
        ("../../up.txt", b"up"),
        ("a" * 300 + ".txt", b"long name"),
        ("b/rows.jsonl", b'{"text": "row 1"}\n{"text": "row 2"}\n'),
        ("c.txt.gz", gzip.compress(b"packed")),
        ("one.jpg", b"\xff\xd8\0"),
        ("two.jpg", b"\xff\xd8\0"),
        ("bad\n\x1b[31m.txt", b"\xff"),
        ("t.parquet", as_parquet(["x"])),
        ("empty.txt", b""),
    ]
    for how in ({"format": tarfile.GNU_FORMAT}, {"format": tarfile.PAX_FORMAT}):
        texts, notes = documents("a.tar", as_tar(members, **how))
        assert texts == ["absolute", "up", "long name", "row 1", "row 2", "packed", ""]
        assert notes == [
            "member one.jpg and 1 more .jpg: binary",
            "member bad\\n\\x1b[31m.txt: not UTF-8",
            "member t.parquet: parquet within tar is not read",
        ]


def test_a_tar_member_that_fails_half_way_does_not_count(documents):
    broken = gzip.compress(b'{"text": "row"}\n' * 10000)[:-9]
    texts, notes = documents("a.tar", as_tar([("a.jsonl.gz", broken), ("b.txt", b"b")]))
    assert texts == ["b"]
    assert notes == ["member a.jsonl.gz: truncated: its gzip data has no end"]


def test_links_in_a_tar_are_noted_and_folders_are_not(tmp_path, documents):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, kind in (("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE), ("pipe", tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    assert documents("a.tar", file.getvalue()) == ([], ["member link: a link", "member pipe: a pipe"])
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar"]


def test_a_tar_that_breaks_within_is_not_taken_for_one_that_ends(documents):
    """Of its own accord `tarfile` stops in silence at a broken header behind the first."""
    first, second = as_tar([("a.txt", b"a" * 2000)])[:2560], as_tar([("b.txt", b"b")])
    assert documents("a.tar", first) == (["a" * 2000], [])
    assert documents("a.tar", first + second) == (["a" * 2000, "b"], [])
    for rest in (second[:100], b"\1" * 512, second[:148] + b"0000000\0" + second[156:]):
        with pytest.raises(Unreadable, match="broken or truncated tar"):
            documents("a.tar", first + rest)


def test_tar_headers_are_what_tarfile_reads():
    """The usual header is parsed here, because `tarfile` takes three times as long; all others are left to it."""
    members = [tarfile.TarInfo(name) for name in ("a.txt", "ä" * 40, "x" * 90 + "/" + "y" * 90, "a" * 100, "folder/")]
    members[3].size, members[0].size = 9 * 2**30, 0o7777
    members[4].type = tarfile.DIRTYPE
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        for member in members:
            if form != tarfile.USTAR_FORMAT or member.size < 8**11:
                block = member.tobuf(form)[:512]
                ours, theirs = (kind.frombuf(block, "utf-8", "surrogateescape") for kind in (_Header, tarfile.TarInfo))
                assert (ours.name, ours.size, ours.type) == (theirs.name, theirs.size, theirs.type)
                with pytest.raises(tarfile.ReadError, match="bad checksum"):
                    _Header.frombuf(b"?" + block[1:], "utf-8", "surrogateescape")


def test_a_tar_of_negative_sizes_is_refused(documents):
    def negative(member):
        member.size = -1024
        return member.tobuf(tarfile.GNU_FORMAT)

    extended = tarfile.TarInfo("a.txt")
    extended.pax_headers = {"size": "-1024"}
    for header in (negative(tarfile.TarInfo("a.txt")), extended.tobuf(tarfile.PAX_FORMAT)):
        with pytest.raises(Unreadable, match="broken or truncated tar"):
            documents("a.tar", header + bytes(5120))


HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def test_http_responses_are_unpacked(documents):
    bodies = [
        HTTP + b"\r\n<p>plain</p>",
        HTTP + b"Transfer-Encoding: chunked\r\n\r\n3\r\n<p>\r\n5;x=y\r\nparts\r\n0\r\n\r\n",
        HTTP + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"<p>packed</p>"),
        HTTP + b"Content-Encoding: gzip\r\n\r\n<p>unpacked by the crawler</p>",
        HTTP + b"Content-Encoding: br\r\n\r\n\xff\xfe",
        b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG",
        HTTP + b"\r\ncaf\xe9",
        HTTP + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(LIMIT_BYTES + 1)),
    ]
    texts, notes = documents("a.warc", as_warc(bodies, "response", "application/http; msgtype=response"))
    assert texts == ["<p>plain</p>", "<p>parts", "<p>packed</p>", "<p>unpacked by the crawler</p>"]
    assert notes == [
        "record 6: packed as 'br', which is not read",
        "record 7: its content type is not text",
        "record 8: not UTF-8",
        "record 9: longer than 32 MiB",
    ]


def test_a_warc_of_one_gzip_member_per_record(documents):
    content = b"".join(gzip.compress(as_warc([text])) for text in DOCUMENTS)
    assert documents("CC-MAIN.warc.wet.gz", content) == (DOCUMENTS, [])


@pytest.mark.parametrize(
    ("written", "said"),
    table("corpus/refused.yaml")["a_length_that_no_record_has"],
)
def test_a_length_that_no_record_has_is_quoted(written, said, documents):
    content = as_warc(["fine"]) + f"WARC/1.0\r\nWARC-Type: conversion\r\n{written}\r\nabc\r\n\r\n".encode()
    with pytest.raises(Unreadable, match=re.escape(f"broken WARC: {said}")):
        documents("a.warc", content)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_numbers_of_any_length_are_json(name, documents):
    digits = "7" * 10_000
    lines = [f'{{"n": {digits}, "text": "one"}}', f'{{"text": "two", "n": [-{digits}]}}', f'{{"text": {digits}}}', "{}"]
    texts, notes = documents(name, "\n".join(lines).encode(), text_field="text")
    assert texts == ["one", "two"]
    assert [note.partition(": ")[2] for note in notes] == ["not text but a number", "no field 'text'"]


def test_the_turns_of_a_chat_are_one_text_in_parquet_arrow_and_jsonl(documents):
    chats = table("corpus/cases.yaml")["chats"]
    rows = pyarrow.table({"messages": chats})
    lines = "".join(json.dumps({"messages": chat}) + "\n" for chat in chats).encode()
    for name, content in (("a.parquet", as_parquet(rows)), ("a.arrow", as_arrow(rows)), ("a.jsonl", lines)):
        texts, notes = documents(name, content, text_field="messages.content")
        assert texts == ["hi you", "é"]
        assert sum(note.count(" and ") + 1 for note in notes) == 2


def test_rows_are_found_where_no_name_tells(documents):
    assert documents("a.jsonl.gzip", gzip.compress(as_jsonl(DOCUMENTS)))[0] == DOCUMENTS
    assert documents("0f3e9a", as_jsonl(DOCUMENTS))[0] == DOCUMENTS
    assert documents("0f3e9b", gzip.compress(as_jsonl(DOCUMENTS)))[0] == DOCUMENTS


def test_a_pointer_of_git_lfs_is_no_text_and_no_broken_file(documents):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a1" * 32 + b"\nsize 98765\n"
    for name in ("a.txt", "a.jsonl", "a.parquet", "a.tar", "noname"):
        with pytest.raises(Unreadable, match="a git-lfs pointer to 98,765 B that are not here"):
            documents(name, pointer)
    assert documents("a.txt", pointer.replace(b"lfs", b"xxx"))[0]


TAR, WARC = as_tar([("a.txt", b"a" * 2000), ("b.txt", b"b" * 2000)]), as_warc(["text " * 100])


@pytest.mark.parametrize(
    ("name", "contents", "said"),
    [
        ("a.json", [b'[{"text": "a"}, {"text": "b"', b'[{"text": "a"},', b'[{"text": "a"} rubbish]'], "JSON"),
        ("a.csv", [b"id,txt\n1,a\n"], r"no column 'text', it has id, txt; did you mean 'txt'\?"),
        ("a.csv", [b'text,n\n"open,1\nb,2\n'], "is not valid CSV: unexpected end of data"),
        ("a.csv", [b"text,n\n\xff,1\n"], "not UTF-8"),
        ("a.tar", [TAR[:600], TAR[:2900], TAR[:3100]], "truncated"),
        ("a.tar", [b"rubbish " * 200], "broken or truncated tar: invalid header"),
        ("a.warc", [WARC[:-50], WARC[:80], b"rubbish\r\n\r\n" * 10], r"WARC|truncated"),
        # a window of 2 GiB, and one empty last block
        ("a.jsonl.zst", [bytes.fromhex("28b52ffd00a8010000")], "needs a zstd window of more than 128 MiB"),
    ],
)
def test_what_is_cut_short_or_none_is_unreadable(name, contents, said, documents):
    for content in contents:
        with pytest.raises(Unreadable, match=said):
            documents(name, content)
