"""Sizes of samples, of real data sets of every form."""

import gzip
import io
import itertools
import json
import random
import struct
import tarfile
import zipfile
import zlib

import h5py
import numpy
import pyarrow
import pyarrow.parquet
import pytest
import tfrecord
import zstandard
from conftest import table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.formats import even_shares
from ingest.corpus.formats.archives import key_of, masked_checksum
from ingest.corpus.formats.arrays import Array, samples_along
from ingest.corpus.measurement import SizeCounts, sizes_of
from ingest.errors import IngestError


def seen(folder):
    listing = list_inputs([str(folder)])
    return sizes_of(listing, listing.skipped, lambda _: None)


def tfrecords(path, lengths):
    writer = tfrecord.TFRecordWriter(str(path))
    generator = random.Random(1)
    for length in lengths:
        writer.write({"image": (generator.randbytes(length), "byte")})
    writer.close()
    return path


def test_image_trees_are_known_from_the_listing(tmp_path):
    for number in range(100):
        path = tmp_path / f"class{number % 3}" / f"{number}.JPEG"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\xff" * (number + 1))
    found = ingest.measure(tmp_path, samples=True)
    values = {name: item.value for name, item in found.results.items()}
    assert values["samples"] == values["files"] == 100
    assert values["dataset_bytes"] == 5050
    assert values["sample_bytes"] == values["mean_file_bytes"] == 50.5
    assert values["samples_per_file"] == 1
    assert values["bytes_read"] == 0
    assert found.tables["extensions"] == [{"extension": ".jpeg", "files": 100, "samples": 100, "stored_bytes": 5050}]
    assert [row["bytes"] for row in found.tables["sample_sizes"]] == [1, 5, 25, 50, 75, 95, 99, 100]
    assert sum(row["count"] for row in found.tables["sample_histogram"]) == 100


def test_tfrecords_are_walked_without_their_contents(tmp_path):
    path = tfrecords(tmp_path / "train.tfrecord-00000-of-00001", [200_000] * 40)
    found = seen(tmp_path)
    assert (found.samples.count, found.samples.bytes) == (40, path.stat().st_size)
    assert found.bytes_read < 0.01 * path.stat().st_size


def test_webdataset_members_are_grouped_by_key(tmp_path):
    with tarfile.open(tmp_path / "shard-000000.tar", "w") as archive:
        for number in range(20):
            for suffix, size in (("jpg", 3000), ("cls", 2), ("seg.png", 512)):
                member = tarfile.TarInfo(f"train/{number:06}.{suffix}")
                member.size = size
                archive.addfile(member, io.BytesIO(bytes(size)))
    (tmp_path / "shard-000001.tar.gz").write_bytes(gzip.compress((tmp_path / "shard-000000.tar").read_bytes()))
    found = seen(tmp_path)
    assert (found.samples.count, found.samples.largest, found.forms) == (40, 3 * 512 + 3072 + 512 + 512, {"tar": 2})


def test_hdf5_counts_the_first_axis_of_the_largest_data_set(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["images"] = numpy.zeros((25, 8, 8, 3))
        file["classes"] = numpy.arange(10)
    found = ingest.measure(tmp_path, samples=True)
    assert found.results["samples"].value == 25
    assert "first axis" in found.warnings[0]


def test_rows_of_parquet_and_arrow(tmp_path):
    table = pyarrow.table({"image": [bytes(random.Random(step).randbytes(500)) for step in range(1000)]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=300)
    (tmp_path / "b.arrow").write_bytes(arrow(table, pyarrow.ipc.new_file))
    (tmp_path / "c.arrow").write_bytes(arrow(table))
    found = seen(tmp_path)
    assert found.samples.count == 3000
    assert found.samples.bytes == pytest.approx(found.files.bytes, rel=0.01)
    assert {name: row[1] for name, row in found.extensions.rows.items()} == {".arrow": 2000, ".parquet": 1000}


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=200))
def test_percentiles_are_those_of_the_sorted_list(values):
    sizes = SizeCounts()
    for value in values:
        sizes.add(value)
    expected = numpy.percentile(values, [1, 50, 99], method="inverted_cdf")
    assert list(sizes.percentiles((1, 50, 99)).values()) == expected.tolist()
    bins = sizes.bins()
    assert (sum(item["count"] for item in bins), sum(item["bytes"] for item in bins)) == (len(values), sum(values))
    for item in bins:
        assert item["count"] == sum(item["from"] <= value < item["below"] for value in values)


def test_many_different_sizes_need_no_more_memory():
    sizes = SizeCounts()
    sizes._most = 1000
    for value in range(100_000):
        sizes.add(value)
    assert sizes.rounded
    assert len(sizes.times) < 10_000
    assert sizes.percentiles((50,))[50] == pytest.approx(50_000, rel=1e-3)
    assert (sizes.count, sizes.bytes, sizes.largest) == (100_000, sum(range(100_000)), 99_999)


@given(st.text(alphabet="ab./", max_size=12))
def test_a_key_is_the_beginning_of_the_name(name):
    key = key_of(name)
    assert key is None or name.removeprefix("./").startswith(f"{key}.")
    assert key is None or "." not in key.rpartition("/")[2]


@pytest.fixture
def measured(tmp_path, run):
    """What `measure --samples` wrote of a hundred images of 1 to 100 kB."""
    (tmp_path / "images").mkdir()
    for number in range(1, 101):
        (tmp_path / "images" / f"{number}.png").write_bytes(bytes(number * 1000))
    done = run("measure", tmp_path / "images", "--samples", "-o", tmp_path / "m.json", "--quiet")
    assert done.code == 0, done.err
    return tmp_path / "m.json"


def test_bw_takes_the_mean_and_opens_files_as_measured(measured):
    of_model = ingest.bw(model="resnet50", gpu="h100", sample_bytes=str(measured)).results
    rate = of_model["samples_per_second_per_gpu"].value
    assert of_model["ingest_bandwidth_per_gpu"].value == pytest.approx(50_500 * rate)
    answer = ingest.bw(gpu="h100", samples_per_second=2000, sample_bytes=str(measured))
    found = answer.results["ingest_bandwidth_per_gpu"]
    assert (found.low, found.value, found.high) == (None, pytest.approx(2000 * 50_500), None)
    assert answer.given["sample_bytes"].note == "mean of m.json; of single samples p5 5 kB, p95 95 kB"
    assert answer.given["samples_per_file"].value == 1
    gpus = answer.results["gpus"].value
    assert answer.results["file_opens_per_second_per_job"].value == 2000 * gpus
    wide = ingest.bw(gpu="h100", samples_per_second=2000, sample_bytes=str(measured), set={"samples_per_file": 10})
    assert wide.results["file_opens_per_second_per_job"].value == 200 * gpus


def test_a_site_takes_samples_and_files_from_the_measurement(measured):
    site = measured.with_name("site.yaml")
    site.write_text(
        "clusters: {a: {node: dgx-h100, count: 2}}\njobs: {x: {cluster: a, model: resnet50, nodes: 1, data: d}}\n"
        "datasets: {d: {measured: m.json}}\n"
    )
    plan = ingest.plan(site, samples=0)
    assert plan.results["R-CAP-01"].value == 5_050_000
    assert plan.results["R-META-03"].value == 100
    # Files are opened in each epoch, also those whose bytes are cached.
    assert plan.computed["R-META-01"] == pytest.approx(plan.computed["R-READ-05"] / 50_500)


MEASURED = '{"schema": "ingest/1", "command": "measure", "results": {%s}}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (MEASURED % "", "no results.sample_bytes"),
        (MEASURED % '"sample_bytes": {"value": -1}', "--sample-bytes: .*: results.sample_bytes.value: found -1"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "samples.json"
    path.write_text(content)
    with pytest.raises(IngestError, match=message):
        ingest.bw(model="resnet50", gpu="h100", sample_bytes=str(path))


def packed(number, prefix=b""):
    """A shard of MDS, or without a prefix of LitData: places of the samples, then samples of 1 to 9 bytes."""
    sizes = [1 + place % 9 for place in range(number)]
    ends = list(itertools.accumulate(sizes, initial=4 + 4 * (number + 1) + len(prefix)))
    return struct.pack(f"<{number + 2}I", number, *ends) + prefix + bytes(sum(sizes))


def recordio(number):
    """Records, every third one stored in two parts."""
    parts = [(flag, b"x" * place) for place in range(number) for flag in ((1, 3) if place % 3 == 2 else (0,))]
    return b"".join(
        struct.pack("<II", 0xCED7230A, flag << 29 | len(data)) + data + bytes(-len(data) % 4) for flag, data in parts
    )


def zipped(number):
    with zipfile.ZipFile(held := io.BytesIO(), "w") as archive:
        for place in range(number):
            archive.writestr(f"a/{place}.jpg", bytes(place))
        archive.writestr("__MACOSX/a/._0.jpg", b"")
    return held.getvalue()


def arrays(write, *arguments, **named):
    write(held := io.BytesIO(), *arguments, **named)
    return held.getvalue()


def lmdb(number):
    """The meta pages of LMDB on Linux; the second transaction holds."""
    meta = struct.Struct("<QHHIIIQQ" + 2 * "IHHQQQQQ" + "QQ")
    databases = [(4096, 8, 1, 0, 1, 0, 0, 2), (0, 0, 2, 0, 1, 0, number, 3)]
    pages = [
        meta.pack(page, 0, 8, 0, 0xBEEFC0DE, 1, 0, 2**20, *databases[0], *databases[1][:6], number * page, 3, 3, page)
        for page in (0, 1)
    ]
    return b"".join(page.ljust(4096, b"\0") for page in pages) + bytes(8192)


def rows(number):
    return [{"a": place, "text": "x\u2028y"} for place in range(number)]


def tar(number):
    return members(*(f"./a.b/{name}" for at in range(number) for name in (f"{at}.jpg", f"{at}.seg.png", f"._{at}.jpg")))


def members(*names):
    with tarfile.open(fileobj=(held := io.BytesIO()), mode="w") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    return held.getvalue()


def arrow(table, new=pyarrow.ipc.new_stream):
    with new(held := io.BytesIO(), table.schema) as writer:
        writer.write_table(table)
    return held.getvalue()


def framed(number):
    heads = [(place + 1).to_bytes(8, "little") for place in range(number)]
    return b"".join(head + masked_checksum(head).to_bytes(4, "little") + bytes(place + 5) for place, head in enumerate(heads))


def lines(number, separator):
    return "\n".join([f"id{separator}text", *(f'{place}{separator}"a\nb"' for place in range(number))]).encode()


def encoded(value, **how):
    return json.dumps(value, **how).encode()


HOLDING = {
    "train-00000-of-01024": framed,
    "a.tfrec": framed,
    "train.zz": lambda number: zlib.compress(framed(number)),
    "part": lambda number: gzip.compress(framed(number)),
    "a.rec": recordio,
    "records": recordio,
    "shard.00000.mds": lambda number: packed(number, b"{}"),
    "shard.00001.mds.zst": lambda number: zstandard.compress(packed(number, b"{}")),
    "chunk-0-0.bin": packed,
    "chunk-0-1.zstd.bin": lambda number: zstandard.compress(packed(number)),
    "data.mdb": lmdb,
    "a.tar": tar,
    "b.tgz": lambda number: gzip.compress(tar(number)),
    "0a1b2c": tar,
    "a.zip": zipped,
    "a.npy": lambda number: arrays(numpy.save, numpy.zeros((number, 2, 2))),
    "records.npy": lambda number: arrays(numpy.save, numpy.zeros(number, [("a", "f4"), ("b", "i2", 3)])),
    "a.arrows": lambda number: arrow(pyarrow.table({"a": [1] * number})),
    "stream": lambda number: arrow(pyarrow.table({"a": [1] * number})),
    "a.npz": lambda number: arrays(numpy.savez, x=numpy.zeros((number, 3)), y=numpy.arange(number)),
    "dlio.npz": lambda number: arrays(numpy.savez, x=numpy.zeros((9, 9, number)), y=[0] * number),
    "a.jsonl": lambda number: b"\n".join(encoded(row, ensure_ascii=False) for row in rows(number)),
    "a.jsonl.gzip": lambda number: gzip.compress(b"".join(encoded(row) + b"\n\n" for row in rows(number))),
    "lines": lambda number: b"\r\n".join(map(encoded, rows(number))),
    "array.json": lambda number: encoded(rows(number)),
    "split.json": lambda number: encoded({"columns": ["a", "b"], "data": [[1, "x"]] * number}),
    "wrapped.json": lambda number: encoded({"version": 1, "data": rows(number)}, indent=1),
    "columns.json": lambda number: encoded({"a": [*range(number)], "b": ["x"] * number}),
    "a.csv": lambda number: lines(number, ","),
    "semicolons.csv": lambda number: lines(number, ";"),
    "a.tsv": lambda number: lines(number, "\t"),
    "numbers.csv": lambda number: b"1,2.5\n" * number,
    "a.csv.gz": lambda number: gzip.compress(lines(number, ",")),
}


PARTS = (("train", 7), ("test", 3))
IN_ARRAYS = [  # arrays by name, and the samples that they hold
    ({"x": Array((60, 28, 28), 47040), "y": Array((60,), 60)}, 60),
    ({"x": Array((99,), 99)}, 1),
    ({"": Array((40,), 640, "V")}, 40),
    ({"x": Array((224, 224, 8), 401408), "y": Array((8,), 64)}, 8),  # as DLIO writes them
    ({f"{part}_{one}": Array((number, 9), 9 * number) for part, number in PARTS for one in "xy"}, 10),
    ({f"data/demo_{one}/cam{two}": Array((90 + one % 2, 7), 99) for one in range(4) for two in "123"}, 4),
    ({f"demo_{one}/{name}": Array((50, 7), 99) for one in range(4) for name in "ab"}, 4),
    ({f"x{one}": Array((50, 7), 99) for one in range(4)}, 50),
]


@pytest.mark.parametrize(("held", "number"), IN_ARRAYS)
def test_samples_in_arrays(held, number):
    assert samples_along(held) == number


def test_shares_are_even_to_the_byte():
    assert list(even_shares(10, 4)) == [(2, 2), (3, 2)]


@pytest.mark.parametrize("name", HOLDING)
@pytest.mark.parametrize("number", [2, 3, 40])
def test_a_container_holds_as_many_samples_as_were_written(tmp_path, name, number):
    (tmp_path / name).write_bytes(HOLDING[name](number))
    for aside in ("README.md", ".DS_Store", "._a.tar", "index.json", "a.idx", "_SUCCESS", "a.tar.md5", ".git/HEAD"):
        (tmp_path / aside).parent.mkdir(exist_ok=True)
        (tmp_path / aside).write_bytes(b"x" * 50)
    found = seen(tmp_path)
    assert (found.skipped.named, found.samples.count, found.files.count) == ([], number, 1)
    assert 0.1 * found.files.bytes <= found.samples.bytes <= found.files.bytes
    assert found.forms["sidecar"] == 8


def test_megatron_counts_the_documents_of_its_index(tmp_path):
    lengths = [5, 7, 11]
    for name, documents in (("whole", [0, 1, 2, 3]), ("joined", [0, 1, 3])):
        (tmp_path / f"{name}.bin").write_bytes(bytes(2 * sum(lengths)))
        head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(documents))
        index = head + struct.pack("<3i3q", *lengths, 0, 10, 24) + struct.pack(f"<{len(documents)}q", *documents)
        (tmp_path / f"{name}.idx").write_bytes(index)
    found = seen(tmp_path)
    assert (found.samples.count, found.samples.largest, found.samples.bytes) == (5, 23, 92)
    (tmp_path / "whole.bin").write_bytes(bytes(40))
    assert [item.reason for item in seen(tmp_path).skipped.named] == ["its index describes another number of tokens"]


@pytest.mark.parametrize("version", [2, 3])
def test_a_store_of_zarr_is_one_data_set(tmp_path, version):
    for name, shape in (("images", [30, 8, 8]), ("labels", [30])):
        (folder := tmp_path / "a.zarr" / name).mkdir(parents=True)
        described = {"zarr_format": version, "node_type": "array", "shape": shape}
        (folder / ("zarr.json" if version == 3 else ".zarray")).write_text(json.dumps(described))
        (folder / "0.0").write_bytes(bytes(900))
    (tmp_path / "a.zarr" / ("zarr.json" if version == 3 else ".zgroup")).write_text("{}")
    found = seen(tmp_path)
    assert (found.samples.count, found.forms) == (30, {"zarr": 5})
    assert found.samples.bytes == found.files.bytes


def test_lerobot_counts_episodes_and_names_frames(tmp_path):
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text('{"codebase_version": "v2.1", "total_episodes": 4, "total_frames": 90}')
    (tmp_path / "episode_000000.parquet").write_bytes(b"PAR1")
    (tmp_path / "episode_000000.mp4").write_bytes(bytes(100))
    found = ingest.measure(tmp_path, samples=True)
    assert found.results["samples"].value == 4
    assert any("total_frames" in line for line in found.warnings)


def test_what_is_not_read_is_counted_in_a_caution(tmp_path):
    for name in ("a.beton", "b.beton", "c.avro", "tokens.bin", "a.png"):
        (tmp_path / name).write_bytes(b"\x07" * 99)
    found = ingest.measure(tmp_path, samples=True)
    (line,) = found.warnings
    assert line.rule == "W54"
    assert line.startswith("4 of 5 files are of a format that is not read and count as one sample each: .beton 2,")
    (tmp_path / "m.json").write_text(json.dumps(found.to_dict()))
    told = ingest.bw(model="resnet50", gpu="h100", sample_bytes=str(tmp_path / "m.json")).warnings
    assert [line for line in told if getattr(line, "rule", "") == "W54"]
    site = tmp_path / "site.yaml"
    site.write_text("clusters: {c: {node: dgx-h100, count: 8}}\ndatasets: {d: {measured: m.json}}\n"
                    "jobs: {a: {cluster: c, nodes: 8, model: resnet50, data: d}}\n")  # fmt: skip
    for lines in (ingest.plan(site, samples=0).warnings, ingest.fit(site, storage="vast-ceres").warnings):
        assert any("datasets.d.measured: sample_bytes is a mean that may count many" in line for line in lines)


def test_samples_of_several_kinds_are_told(tmp_path):
    (tmp_path / "labels.csv").write_text("file,class\n" + "a.png,3\n" * 5)
    for number in range(5):
        (tmp_path / f"{number}.png").write_bytes(bytes(99))
    (line,) = ingest.measure(tmp_path, samples=True).warnings
    assert line.startswith("samples of several kinds add up: 5 of file (.png 5); 5 of csv (.csv 5); --exclude files that only")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123456\n"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        *(
            (name, content.encode("latin-1"), reason)
            for name, content, reason in table("corpus/refused.yaml")["what_cannot_be_counted"]
        ),
        ("a.jpg", POINTER, "git-lfs pointer to 123,456 B"),
        ("b.tfrecord", framed(10)[:-3], "truncated in record 10"),
        ("b.tar", tar(2) + tar(3), "data after its end"),
        ("a.arrow", 2 * arrow(pyarrow.table({"a": [1, 2]})), "another stream"),
        ("a.rec", recordio(3)[:-1], "broken or truncated RecordIO"),
        ("a.mds", packed(3)[:-1], "broken, truncated, or no shard"),
        ("a.npy", arrays(numpy.save, numpy.zeros((9, 9)))[:-9], "truncated"),
        ("a.zip", zipped(3)[:-9], "broken or truncated zip"),
    ],
)
def test_what_cannot_be_counted_is_named_and_leaves_no_trace(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.png").write_bytes(bytes(10))
    found = seen(tmp_path)
    assert [(item.path, reason in item.reason) for item in found.skipped.named] == [(name, True)]
    assert (found.samples.count, found.files.count, found.files.bytes) == (1, 1, 10)


def pages(number, order="<", big=False, copies=()):
    """A TIFF of so many pages, of which some are smaller copies or masks."""
    head, link = (16, "Q") if big else (8, "I")
    rows = [struct.pack(order + ("HHQI4x" if big else "HHII"), 254, 4, 1, one in copies) for one in range(number)]
    size = len(rows[0]) + struct.calcsize(f"{order}{'Q' if big else 'H'}{link}")
    ends = [*(head + size * place for place in range(number)), 0]
    made = struct.pack(f"{order}2sH", b"II" if order == "<" else b"MM", 43 if big else 42)
    made += struct.pack(f"{order}HHQ" if big else f"{order}I", *((8, 0, ends[0]) if big else ends[:1]))
    for row, end in zip(rows, ends[1:], strict=True):
        made += struct.pack(order + ("Q" if big else "H"), 1) + row + struct.pack(order + link, end)
    return made


def nifti(*axes, order="<", form=1):
    head, place, kind = (348, 40, "8h") if form == 1 else (540, 16, "8q")
    made = bytearray(head + 9)
    struct.pack_into(f"{order}i", made, 0, head)
    struct.pack_into(order + kind, made, place, *axes, *[1] * (8 - len(axes)))
    return bytes(made)


DOUBTED = {  # content of a file whose samples a reader of it may count otherwise, and what is doubted
    "train.txt": (b"a\nb\n", "1 texts count as one sample each"),
    "imagenet.tar": (members("n01.tar", "n02.tar"), "members of tar files that may hold or describe several samples"),
    "cifar.tar.gz": (gzip.compress(members("x/data_batch_1", "x/readme.html")), "have no extension"),
    "pairs.tar": (members("images/1.jpg", "labels/1.txt"), "count as one each: .txt 1"),
    "stack.tif": (pages(3), "hold several images or volumes count as one sample each: .tif 3 in all"),
    "scan.tif.gz": (gzip.compress(pages(3, order=">")), ".tif.gz 3 in all"),
    "slide.tiff": (pages(5, big=True, copies=(1, 4)), ".tiff 3 in all"),
    "run.nii": (nifti(4, 9, 9, 9, 20), ".nii 20 in all"),
    "run.nii.gz": (gzip.compress(nifti(5, 9, 9, 9, 20, 3, order=">", form=2)), ".nii.gz 60 in all"),
    "comment.csv": (b"# by x\na,b\n1,2\n3,4\n", "with other than as many columns as its first row"),
}


@pytest.mark.parametrize("name", DOUBTED)
def test_what_may_count_otherwise_is_doubted(tmp_path, name):
    content, doubt = DOUBTED[name]
    (tmp_path / name).write_bytes(content)
    assert any(doubt in line for line in ingest.measure(tmp_path, samples=True).warnings)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.tif", pages(1)), ("b.tif", b"II*\0" + bytes(20)), ("c.tif", pages(2, copies=(1,))), ("d.tif", pages(2)[:-40]),
     ("loop.tif", b"II*\0\x08\0\0\0"), ("a.nii", nifti(3, 9, 9, 9)), ("b.nii", bytes(400)), ("c.nii", nifti(4, 9, 9, 9, 1))],
)  # fmt: skip
def test_single_images_are_not_doubted(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    found = ingest.measure(tmp_path, samples=True)
    assert (found.results["samples"].value, found.warnings) == (1, ())


def test_keyed_members_and_excel_are_not_doubted(tmp_path):
    (tmp_path / "a.tar").write_bytes(members("1.npy", "1.cls", "2.npy", "2.cls"))
    assert ingest.measure(tmp_path / "a.tar", samples=True).warnings == ()
    (tmp_path / "a.csv").write_bytes(b"sep=;\r\na;b\r\n1;2\r\n")
    found = ingest.measure(tmp_path / "a.csv", samples=True)
    assert (found.results["samples"].value, found.warnings) == (1, ())


def test_files_of_older_versions_of_a_table_are_named(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    for how in ({"samples": True}, {"exact": True}):
        assert "older versions" in ingest.measure(tmp_path, **how).tables["files_skipped"][0]["reason"]


@pytest.mark.parametrize("name", HOLDING)
def test_a_damaged_container_is_counted_or_named_and_ends_nothing(tmp_path, name):
    generator, whole = random.Random(name), HOLDING[name](9)
    for number in range(20):
        content = bytearray(whole[: generator.randrange(len(whole))] if number % 2 else whole)
        for _ in range(number % 4 if content else 0):
            content[generator.randrange(len(content))] = generator.randrange(256)
        (tmp_path / name).write_bytes(content)
        found = seen(tmp_path)
        assert found.files.count + len(found.skipped.named) == 1
