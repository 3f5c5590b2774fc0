"""Huge lines, bombs, and files that change under the reader: bounded memory, no wrong count."""

import gzip
import json
import os
import subprocess
import sys
import tarfile
from random import Random

import numpy
import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from conftest import first
from memory import MOST_HELD

from ingest.corpus.files.listing import list_inputs
from ingest.corpus.formats.columnar import check_places, texts_of
from ingest.corpus.formats.documents import Meter, Unreadable, read
from ingest.corpus.formats.rows import CHUNK_BYTES, LIMIT_BYTES

#: what a reader may take beside the interpreter and the libraries it loads
MOST_BYTES = 250e6

#: Read files, each to its end or to what is wrong with it, and print the memory that it took.
READ = f"""{MOST_HELD}
import sys
import pyarrow.json, pyarrow.parquet
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.formats.documents import Unreadable, parts_of, read
before = most_held()
for found in list_inputs(sys.argv[1:]):
    notes, texts, size = [], 0, 0
    try:
        parts_of(found)
        for piece in read(found, "", notes.append):
            texts += piece.ends
            size += len(piece.text)
        print(texts, size, *[note.reason for note in notes])
    except Unreadable as error:
        print(error.reason)
print(most_held() - before)
"""


def read_apart(path, most=MOST_BYTES):
    """Read a file in another process; return what it printed, and check the memory it took."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    said, memory = done.stdout.splitlines()
    assert int(memory) < most
    return said


#: at their fastest: what is compressed repeats one byte
COMPRESS = {".gz": lambda data: gzip.compress(data, 1), ".zst": lambda data: zstandard.ZstdCompressor(1).compress(data)}


def test_one_huge_line_of_text_streams(tmp_path):
    size = 120_000_000
    with open(tmp_path / "a.txt", "wb") as file:
        for _ in range(120):
            file.write("é".encode() * 500_000)
    assert read_apart(tmp_path / "a.txt", most=100e6) == f"1 {size}"


def test_one_huge_line_of_json_is_named_and_not_held(tmp_path):
    with open(tmp_path / "a.jsonl", "wb") as file:
        file.write(b'{"text": "first"}\n{"text": "')
        for _ in range(30):
            file.write(b"x" * 10_000_000)
        file.write(b'"}\n{"text": "last"}\n')
    assert read_apart(tmp_path / "a.jsonl") == "2 9 line 2: longer than 32 MiB"


def test_a_line_of_json_below_the_limit_counts(tmp_path):
    size = LIMIT_BYTES - 100
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "x" * size}) + "\n")
    assert read_apart(tmp_path / "a.jsonl") == f"1 {size}"


def test_a_huge_member_of_a_tar_is_named_and_not_held(tmp_path):
    with open(tmp_path / "big.txt", "wb") as file:
        file.truncate(LIMIT_BYTES * 4)
    (tmp_path / "small.txt").write_text("small")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "big.txt", "big.txt")
        archive.add(tmp_path / "small.txt", "small.txt")
    assert read_apart(tmp_path / "a.tar", most=100e6) == "1 5 member big.txt: longer than 32 MiB"


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(("letter", "said"), [(b"\0", "binary: a NUL at byte 0"), (b"a", f"1 {2**27}")])
def test_what_unfolds_a_thousandfold_is_read_to_its_end_or_to_its_first_zero(suffix, letter, said, tmp_path):
    (tmp_path / f"a.txt{suffix}").write_bytes(COMPRESS[suffix](letter * 2**27))
    assert os.path.getsize(tmp_path / f"a.txt{suffix}") < 2**20
    assert read_apart(tmp_path / f"a.txt{suffix}", most=100e6) == said


def test_a_parquet_file_that_repeats_a_long_text_very_often(tmp_path):
    often = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 200, pyarrow.int32()), pyarrow.array(["x" * 5_000_000]))
    pyarrow.parquet.write_table(pyarrow.table({"text": often}), tmp_path / "a.parquet", dictionary_pagesize_limit=2**30)
    assert os.path.getsize(tmp_path / "a.parquet") < 2**20
    assert read_apart(tmp_path / "a.parquet") == "200 1000000000"


def test_a_tar_in_a_bomb_in_a_tar(tmp_path):
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress((b'{"text": "' + b"x" * 1000 + b'"}\n') * 40_000))
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "rows.jsonl.gz", "rows.jsonl.gz")
    assert read_apart(tmp_path / "a.tar") == "0 0 member rows.jsonl.gz: unfolded longer than 32 MiB"


def test_an_endless_csv_field_is_refused(tmp_path):
    with open(tmp_path / "a.csv", "wb") as file:
        file.write(b'text\n"')
        for _ in range(4):
            file.write(b"some text\n" * 1_000_000)
    assert read_apart(tmp_path / "a.csv", most=300e6).startswith("line 3355")


def test_a_header_of_a_tar_that_claims_very_much_is_refused(tmp_path):
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 2**40
    (tmp_path / "a.tar").write_bytes(member.tobuf(tarfile.GNU_FORMAT) + b"0" * 1000)
    assert read_apart(tmp_path / "a.tar", most=100e6) == f"broken or truncated tar: a tar header of {2**40} bytes"


def found_in(path):
    return list_inputs([str(path)])[0]


def consume(found, meter=None):
    return sum(len(piece.text) for piece in read(found, "", print, meter))


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz", "a.parquet"])
def test_a_file_that_vanished(name, tmp_path):
    (tmp_path / name).write_bytes(b"text")
    found = found_in(tmp_path / name)
    (tmp_path / name).unlink()
    with pytest.raises(Unreadable, match=f"'{name}': vanished since it was listed"):
        consume(found)


def test_a_file_that_became_something_else(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"text")
    found = found_in(tmp_path / "a.txt")
    for become in (os.mkfifo, os.mkdir):
        (tmp_path / "a.txt").unlink()
        become(tmp_path / "a.txt")
        with pytest.raises(Unreadable, match="no longer a regular file"):
            consume(found)


@pytest.mark.parametrize("size", [0, 3, 100])
def test_a_file_that_changed_before_it_was_read_counts_as_it_is(size, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"text")
    found, meter = found_in(tmp_path / "a.txt"), Meter()
    (tmp_path / "a.txt").write_bytes(b"x" * size)
    assert consume(found, meter) == size
    assert meter.stored_bytes == size
    assert meter.bytes_read >= size


@pytest.mark.parametrize("change", ["grow", "shrink", "rewrite"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv"])
def test_a_file_that_changes_while_it_is_read_does_not_count(name, change, tmp_path):
    line = b"x" * 1000 + b"\n" if name == "a.csv" else b'{"text": "' + b"x" * 1000 + b'"}\n'
    (tmp_path / name).write_bytes(b"text\n" * (name == "a.csv") + line * 20_000)
    pieces = read(found_in(tmp_path / name), "", print)
    next(pieces)
    with open(tmp_path / name, "r+b") as file:
        if change == "grow":
            file.seek(0, os.SEEK_END)
            file.write(line)
        elif change == "shrink":
            file.truncate(CHUNK_BYTES + 5)
        else:
            file.write(line)
    os.utime(tmp_path / name, ns=(1, 1))
    with pytest.raises(Unreadable, match="changed while it was read"):
        list(pieces)


def test_a_stopped_reader_leaves_no_file_open(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"x" * CHUNK_BYTES * 3)
    before = len(os.listdir("/proc/self/fd"))
    pieces = read(found_in(tmp_path / "a.txt"), "", print)
    next(pieces)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    pieces.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_starting_is_light():
    heavy = {"pyarrow", "fsspec", "numpy"}
    code = f"import sys, ingest.corpus.formats.documents, ingest.corpus.files.listing; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


COLUMNS = {
    "string": pyarrow.array,
    "large": lambda texts: pyarrow.array(texts, pyarrow.large_string()),
    "view": lambda texts: pyarrow.array(texts, pyarrow.string_view()),
    "bytes": lambda texts: pyarrow.array([text and text.encode() for text in texts], pyarrow.binary()),
    "dictionary": lambda texts: pyarrow.array(texts).dictionary_encode(),
}


@pytest.mark.parametrize("form", [pyarrow.ipc.new_file, pyarrow.ipc.new_stream])
@pytest.mark.parametrize("column", first(2, COLUMNS))
def test_damaged_arrow_files_are_skipped_and_crash_nothing(tmp_path, column, form):
    texts = [f"text {number}" * (number % 7) if number % 5 else None for number in range(200)]
    table = pyarrow.table({"text": COLUMNS[column](texts)})
    sink = pyarrow.BufferOutputStream()
    with form(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=64)
    whole = sink.getvalue().to_pybytes()
    random = Random(1)
    flips = [(random.randrange(len(whole)), random.randrange(8)) for _ in range(30)]
    assert "broken or truncated Arrow" in read_flipped(tmp_path, "arrow", whole, flips)


@pytest.mark.parametrize("kind", [pyarrow.string_view(), pyarrow.binary_view()])
def test_damage_to_the_view_of_a_null_row_is_refused(kind):
    whole = pyarrow.array(["a", None, "c"]).cast(kind)
    valid, views = whole.buffers()
    damaged = bytearray(views.to_pybytes())
    damaged[16 + 3] ^= 1 << 7  # the length of the second row
    check_places(whole)
    with pytest.raises(pyarrow.ArrowInvalid):
        check_places(pyarrow.Array.from_buffers(kind, 3, [valid, pyarrow.py_buffer(damaged)]))


def test_damaged_parquet_metadata_are_refused_and_crash_nothing(tmp_path):
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["one", None, "two"]}), sink)
    whole = sink.getvalue().to_pybytes()
    place = whole.index(b"\x15\x0c\x25\x02\x18\x04text")  # the column is a byte array, optional, and has this name
    said = read_flipped(tmp_path, "parquet", whole, [(place + byte, bit) for byte in range(4) for bit in range(8)])
    assert "broken or truncated Parquet: Definition level histogram size mismatch" in said


def read_flipped(folder, form, whole, flips):
    """Read copies of a file with one flipped bit each, and a whole text, in another process; return what it printed."""
    for number, (place, bit) in enumerate(flips):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        (folder / f"{number}.{form}").write_bytes(damaged)
    (folder / "whole.txt").write_text("read to its end")
    done = subprocess.run([sys.executable, "-c", READ, folder], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    *said, last, _ = done.stdout.splitlines()
    assert (len(said), last) == (len(flips), "1 15")
    assert max(map(len, said)) < 500
    return done.stdout


def test_bytes_after_the_offsets_of_a_damaged_array_are_left_out():
    offsets, texts = numpy.array([0, 3, 6], "int32").tobytes() + b"\0", b"onetwo"
    assert list(texts_of(pyarrow.StringArray.from_buffers(2, *map(pyarrow.py_buffer, (offsets, texts))))) == [b"one", b"two"]
