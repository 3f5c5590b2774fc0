"""Sizes of samples, of real data sets of every form."""

import gzip
import io
import random
import tarfile

import h5py
import numpy
import pyarrow
import pyarrow.parquet
import pytest
import tfrecord
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.formats.archives import key_of, masked_checksum
from ingest.corpus.sample_sizes import SizeCounts, sizes_of
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


# Files that are samples


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


# Files that hold many


def test_tfrecords_are_walked_without_their_contents(tmp_path):
    path = tfrecords(tmp_path / "train.tfrecord-00000-of-00001", [200_000] * 40)
    found = seen(tmp_path)
    assert found.samples.count == 40
    assert found.samples.bytes == path.stat().st_size
    assert found.bytes_read < 0.01 * path.stat().st_size


def test_a_compressed_tfrecord_counts_what_is_stored(tmp_path):
    path = tfrecords(tmp_path / "a", [1000 + step for step in range(300)])
    for name in ("b.tfrecord", "c.tfrecord.gz"):
        (tmp_path / name).write_bytes(gzip.compress(path.read_bytes(), 1))
    path.unlink()
    found = seen(tmp_path)
    assert found.samples.count == 600
    assert found.samples.bytes == pytest.approx(found.files.bytes, rel=0.01)


def test_webdataset_members_are_grouped_by_key(tmp_path):
    with tarfile.open(tmp_path / "shard-000000.tar", "w") as archive:
        for number in range(20):
            for suffix, size in (("jpg", 3000), ("cls", 2), ("seg.png", 512)):
                member = tarfile.TarInfo(f"train/{number:06}.{suffix}")
                member.size = size
                archive.addfile(member, io.BytesIO(bytes(size)))
    (tmp_path / "shard-000001.tar.gz").write_bytes(gzip.compress((tmp_path / "shard-000000.tar").read_bytes()))
    found = seen(tmp_path)
    assert found.samples.count == 40
    assert found.samples.largest == 3 * 512 + 3072 + 512 + 512
    assert found.forms == {"tar": 2}


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
    with pyarrow.OSFile(str(tmp_path / "b.arrow"), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pyarrow.OSFile(str(tmp_path / "c.arrow"), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found = seen(tmp_path)
    assert found.samples.count == 3000
    assert found.samples.bytes == pytest.approx(found.files.bytes, rel=0.01)
    assert {name: row[1] for name, row in found.extensions.rows.items()} == {".arrow": 2000, ".parquet": 1000}


# Files that are broken


BROKEN = {
    "a.tfrecord": (b"this is not a record at all", "not a TFRecord"),
    "b.tar": (b"x" * 2000, "broken or truncated tar"),
    "c.h5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "broken or truncated HDF5"),
    "d.parquet": (b"PAR1" + bytes(100), "broken or truncated Parquet"),
    "e.arrow": (b"ARROW1\0\0" + bytes(100), "broken or truncated Arrow"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_named_and_leave_no_trace(tmp_path, name):
    content, reason = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.png").write_bytes(bytes(10))
    found = seen(tmp_path)
    assert [(item.path, reason in item.reason) for item in found.skipped.named] == [(name, True)]
    assert (found.samples.count, found.files.count, found.files.bytes) == (1, 1, 10)


def test_a_truncated_tfrecord_counts_nothing_of_it(tmp_path):
    path = tfrecords(tmp_path / "a.tfrecord", [1000] * 10)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(IngestError, match=r"found no sample.*truncated in record 10"):
        ingest.measure(tmp_path, samples=True)


# The statistics


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
    assert len(sizes._times) < 10_000
    assert sizes.percentiles((50,))[50] == pytest.approx(50_000, rel=1e-3)
    assert (sizes.count, sizes.bytes, sizes.largest) == (100_000, sum(range(100_000)), 99_999)


def test_checksums_are_those_of_tensorflow():
    # CRC-32C of "123456789" is e3069283 (RFC 3720, appendix B.4 gives the polynomial)
    assert masked_checksum(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


@given(st.text(alphabet="ab./", max_size=12))
def test_a_key_is_the_beginning_of_the_name(name):
    key = key_of(name)
    assert key is None or name.removeprefix("./").startswith(f"{key}.")
    assert key is None or "." not in key.rpartition("/")[2]


# bw takes it


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
