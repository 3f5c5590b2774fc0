"""Objects behind URLs, on a real server of the S3 protocol and in memory."""

import gzip
import io
import subprocess
import sys
import threading
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError

import boto3
import fsspec
import pyarrow
import pyarrow.parquet
import pytest
import s3fs
from conftest import refused, table
from corpus.made import figures

from ingest.corpus.files.listing import list_inputs
from ingest.corpus.formats.documents import Meter, Unreadable, parts_of, read, read_block
from ingest.corpus.formats.rows import CHUNK_BYTES
from ingest.corpus.measure import measure
from ingest.errors import UsageError


@pytest.fixture(scope="module")
def server():
    """An S3 server of this machine."""
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    yield "http://{}:{}".format(*running.get_host_and_port())
    running.stop()


@pytest.fixture
def bucket(server, monkeypatch):
    """A new bucket, and the environment that leads to it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    s3fs.S3FileSystem.clear_instance_cache()
    client = boto3.client("s3", endpoint_url=server)
    for known in client.list_buckets()["Buckets"]:
        for item in client.list_objects_v2(Bucket=known["Name"]).get("Contents", []):
            client.delete_object(Bucket=known["Name"], Key=item["Key"])
        client.delete_bucket(Bucket=known["Name"])
    client.create_bucket(Bucket="corpus")
    yield lambda key, body: client.put_object(Bucket="corpus", Key=key, Body=body)
    s3fs.S3FileSystem.clear_instance_cache()


def texts(found, meter=None, **how):
    return b"".join(piece.text for piece in read(found, "", print, meter, **how))


def test_a_tree_a_glob_and_an_object_on_s3(bucket):
    for key in ("set/b.txt", "set/a/x.txt", "set/a.txt", "set/a/y.txt.gz", "other/z.txt", "set/schön 🙂.txt", "set/folder/"):
        content = f"text of {key}".encode() if not key.endswith("/") else b""
        bucket(key, gzip.compress(content) if key.endswith(".gz") else content)
    listing = list_inputs(["s3://corpus/set", "s3://corpus/set/b.txt"])
    keys = ["set/a.txt", "set/a/x.txt", "set/a/y.txt.gz", "set/b.txt", "set/schön 🙂.txt"]
    assert [found.path for found in listing] == [found.location for found in listing] == [f"s3://corpus/{key}" for key in keys]
    assert [texts(found).decode() for found in listing] == [f"text of {key}" for key in keys]
    assert listing.repeated == 1
    assert listing.skipped == []
    below = [f"s3://corpus/{key}" for key in ("other/z.txt", "set/a.txt", "set/b.txt", "set/schön 🙂.txt")]
    assert [found.location for found in list_inputs(["s3://corpus/*/*.txt"])] == below
    assert len(list_inputs(["s3://corpus/"], include=["*.gz"])) == 1
    assert len(list_inputs(["s3://corpus"], exclude=["a"])) == 4


def test_a_version_that_changes_changes_the_manifest(bucket):
    bucket("a.txt", b"one")
    first = list_inputs(["s3://corpus/"])
    bucket("a.txt", b"two")
    second = list_inputs(["s3://corpus/"])
    assert first[0].stamp != second[0].stamp
    assert first.manifest_hash() != second.manifest_hash()


def test_ranges_are_all_that_is_moved(bucket):
    rows = pyarrow.table({"text": ["short"] * 1000, "image": [bytes([n % 251]) * 5000 for n in range(1000)]})
    file = io.BytesIO()
    pyarrow.parquet.write_table(rows, file, row_group_size=500, compression="none", use_dictionary=False)
    bucket("a.parquet", file.getvalue())
    bucket("b.txt", bytes(range(32, 127)) * 100_000)
    parquet, plain = list_inputs(["s3://corpus/"])
    meter = Meter()
    assert texts(parquet, meter) == b"short" * 1000
    assert meter.stored_bytes == parquet.stored_bytes > 5_000_000
    assert meter.bytes_read < 200_000
    assert len(parts_of(parquet)) == 2
    assert texts(parquet, parts=[1]) == b"short" * 500
    meter = Meter()
    assert read_block(plain, 95 * 77_777, 5, meter) == b' !"#$'
    assert meter.bytes_read == 5


def test_a_small_object_costs_one_request(bucket, monkeypatch):
    bucket("a.txt", b"small")
    (found,) = list_inputs(["s3://corpus/"])
    asked = []
    call = s3fs.S3FileSystem._call_s3

    async def counted(self, method, *words, **how):
        asked.append(method)
        return await call(self, method, *words, **how)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", counted)
    meter = Meter()
    assert texts(found, meter) == b"small"
    assert asked == ["get_object"]
    assert (meter.stored_bytes, meter.bytes_read) == (5, 5)


@pytest.mark.parametrize("now", [b"", b"sma", b"grown since it was listed"])
def test_a_small_object_that_changed_before_it_was_read_counts_as_it_is(now, bucket):
    bucket("a.txt", b"small")
    (found,) = list_inputs(["s3://corpus/"])
    bucket("a.txt", now)
    meter = Meter()
    assert texts(found, meter) == now
    assert meter.stored_bytes == len(now)


def test_a_large_object_comes_in_pieces(bucket):
    content = "é".encode() * CHUNK_BYTES
    bucket("a.txt", content)
    (found,) = list_inputs(["s3://corpus/a.txt"])
    pieces = [piece.text for piece in read(found, "", print)]
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= CHUNK_BYTES


def test_objects_that_vanish_or_change(bucket, server):
    bucket("a.txt", b"x" * CHUNK_BYTES + b"\nsome more")
    bucket("b.txt", b"gone")
    changing, gone = list_inputs(["s3://corpus/"])
    boto3.client("s3", endpoint_url=server).delete_object(Bucket="corpus", Key="b.txt")
    with pytest.raises(Unreadable, match=r"s3://corpus/b.txt': vanished since it was listed"):
        texts(gone)
    pieces = read(changing, "", print)
    next(pieces)
    bucket("a.txt", b"y" * CHUNK_BYTES + b"\nsome more")
    with pytest.raises(Unreadable, match="changed while it was read"):
        list(pieces)


def test_what_is_not_there_is_refused_in_one_line(bucket):
    bucket("a.txt", b"x")
    for url in ("s3://corpus/nothing", "s3://no-such-bucket/", "s3://corpus/*.md", "s3://corpus/a.txt/b"):
        with pytest.raises(UsageError) as found:
            list_inputs([url])
        assert str(found.value) == f"'{url}': nothing is there"


@pytest.mark.usefixtures("bucket")
def test_a_server_that_does_not_answer_is_one_line(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    with refused(match=r"cannot be listed: .*127\.0\.0\.1:9") as found:
        list_inputs(["s3://corpus/"])
    assert found.value.exit_code == 1


def test_other_file_systems_work_alike(tmp_path):
    memory = fsspec.filesystem("memory")
    memory.pipe({"/there/a.txt": b"one", "/there/deep/b.jsonl": b'{"text": "two"}\n'})
    try:
        listing = list_inputs(["memory://there"])
        assert [found.location for found in listing] == ["memory://there/a.txt", "memory://there/deep/b.jsonl"]
        assert [texts(found) for found in listing] == [b"one", b"two"]
        assert [found.location for found in list_inputs(["memory://there/*.txt"])] == ["memory://there/a.txt"]
    finally:
        memory.rm("/there", recursive=True)
    (tmp_path / "c.txt").write_bytes(b"three")
    assert [texts(found) for found in list_inputs([f"file://{tmp_path}"])] == [b"three"]


@pytest.mark.parametrize(("url", "message"), table("corpus/cases.yaml")["a_package_that_is_missing_is_named"])
def test_a_package_that_is_missing_is_named(url, message):
    code = "import sys; sys.modules['s3fs'] = sys.modules['gcsfs'] = None\n"
    code += "from ingest.corpus.files.listing import list_inputs\nfrom ingest.errors import IngestError\n"
    code += f"try: list_inputs([{url!r}])\nexcept IngestError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == message


@pytest.fixture
def faulty(server, monkeypatch):
    """A server in front of the other one, that treats some objects badly: key -> how many answers still fail, and how."""
    faults = {}

    class Between(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            left, how = faults.get(self.path.rpartition("/")[2].partition("?")[0], (0, ""))
            if left:
                faults[self.path.rpartition("/")[2].partition("?")[0]] = (left - 1, how)
            if left and how == "503":
                return self._answer(503, {}, b"<Error><Code>SlowDown</Code></Error>")
            asked = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "accept-encoding")}
            try:
                with urllib.request.urlopen(urllib.request.Request(f"{server}{self.path}", headers=asked)) as found:
                    code, head, body = found.status, dict(found.headers), found.read()
            except HTTPError as none:
                code, head, body = none.code, dict(none.headers), none.read()
            return self._answer(code, head, body, len(body) // 2 if left and how == "cut" else None)

        do_HEAD = do_GET  # noqa: N815  the name that the library calls

        def _answer(self, code, head, body, sent=None):
            self.send_response(code)
            for name, value in head.items():
                if name.lower() not in ("connection", "content-length", "date", "server", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                with suppress(OSError):
                    self.wfile.write(body[:sent])
            self.close_connection = sent is not None

        def log_message(self, *_):
            pass

    between = ThreadingHTTPServer(("127.0.0.1", 0), Between)
    threading.Thread(target=between.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{between.server_port}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 2)
    s3fs.S3FileSystem.clear_instance_cache()
    yield faults
    between.shutdown()
    between.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["503", "cut"])
@pytest.mark.parametrize("size", [40, 3_000_000])
def test_a_server_that_fails_for_a_while_costs_nothing(how, size, bucket, faulty, small):
    text = b"a line of text that is counted\n"
    for key in ("a.txt", "b.txt"):
        bucket(key, text * (size // len(text)))
    straight = measure("s3://corpus/", tokenizer=small, exact=True)
    faulty["a.txt"] = (1, how)
    again = measure("s3://corpus/", tokenizer=small, exact=True)
    assert not faulty["a.txt"][0]
    assert figures(again)[0] == figures(straight)[0]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["503", "cut"])
@pytest.mark.parametrize("size", [40, 3_000_000])
def test_a_server_that_keeps_failing_loses_the_object_by_name_and_counts_no_part_of_it(how, size, bucket, faulty, small):
    text = b"a line of text that is counted\n"
    bucket("bad/a.txt", text * (size // len(text)))
    bucket("good/b.txt", text)
    alone = measure("s3://corpus/good", tokenizer=small, exact=True)
    faulty["a.txt"] = (1000, how)
    found = measure("s3://corpus/", tokenizer=small, exact=True)
    for name in ("tokens", "corpus_bytes", "files", "documents"):
        assert found.results[name].value == alone.results[name].value, name
    assert found.results["files_skipped"].value == 1
    (skipped,) = found.tables["files_skipped"]
    assert skipped["path"] == "s3://corpus/bad/a.txt"
    assert "the storage answers: " in skipped["reason"]
