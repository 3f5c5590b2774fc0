"""File formats against files that the libraries themselves have written: within 2 %.

Megatron and MDS are written here from their published layouts, because their own writers need torch.
"""

import gzip
import io
import json
import pydoc_data.topics
import random
import struct
import tarfile
from pathlib import Path

import numpy
import pytest
from conftest import CATALOG

from ingest.catalog.records import READ_PATTERNS, Format, Model
from ingest.engine.value import Input
from ingest.sizing.dataset import footprint

TOLERANCE = 0.02


def prose():
    """English text that every Python carries, cut into documents of uneven length."""
    whole = "\n".join(pydoc_data.topics.topics.values())
    rng, found, start = random.Random(1), [], 0
    while start < len(whole):
        length = int(rng.lognormvariate(7.5, 0.8)) + 1
        found.append(whole[start : start + length])
        start += length
    return found


DOCUMENTS = prose()
TEXT_BYTES = sum(len(one.encode()) for one in DOCUMENTS)
RNG = random.Random(2)
IMAGES = [RNG.randbytes(RNG.randrange(20_000, 200_000)) for _ in range(300)]
IMAGE_BYTES = sum(map(len, IMAGES))


def zipf_ids(vocabulary, count, seed=0):
    """Token ids as in text: few of them frequent."""
    return (numpy.random.default_rng(seed).zipf(1.1, count) - 1) % vocabulary


def predicted(form, holds, sizes="varied", **given):
    entry = CATALOG.get(Format, form)
    values = {name: Input(number) for name, number in given.items()}
    return footprint(values, entry, holds, sizes)[0]


def text(form, **further):
    return predicted(form, "text", tokens=1, bytes_per_token=TEXT_BYTES, documents=len(DOCUMENTS), **further)


def images(form, **further):
    return predicted(form, "samples", dataset_samples=len(IMAGES), sample_bytes=IMAGE_BYTES / len(IMAGES), **further)


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def meets(made, written, files=None):
    assert made.value("dataset_bytes") == pytest.approx(written, rel=TOLERANCE)
    if files is not None:
        assert made.value("dataset_files") == files


def jsonl():
    return "".join(json.dumps({"text": one}, ensure_ascii=False) + "\n" for one in DOCUMENTS).encode()


def test_json_lines():
    meets(text("jsonl"), len(jsonl()), files=1)


@pytest.mark.parametrize("form", ["jsonl-gzip", "jsonl-zstd", "tfrecord-gzip", "parquet-snappy", "parquet-zstd"])
def test_what_compresses_is_a_range_and_real_text_lies_within(form, tmp_path):
    made = text(form).results(["dataset_bytes"], ranged=True)[0]["dataset_bytes"]
    assert made.low < made.value < made.high
    assert made.low <= compressed(form, tmp_path) <= made.high


def compressed(form, folder):
    if form == "jsonl-gzip":
        return len(gzip.compress(jsonl()))
    if form == "jsonl-zstd":
        import zstandard

        return len(zstandard.ZstdCompressor(3).compress(jsonl()))
    if form == "tfrecord-gzip":
        return len(gzip.compress(tfrecord(folder / "one.tfrecord", DOCUMENTS, "text").read_bytes()))
    return parquet(folder / "one.parquet", DOCUMENTS, form.partition("-")[2])


def parquet(path, column, compression=None):
    import pyarrow
    import pyarrow.parquet

    kind = pyarrow.string() if isinstance(column[0], str) else pyarrow.binary() if isinstance(column[0], bytes) else None
    pyarrow.parquet.write_table(pyarrow.table({"one": pyarrow.array(column, kind)}), path, compression=compression)
    return path.stat().st_size


# Of 600,000 different ids, no dictionary holds all: they are stored as they are.
@pytest.mark.parametrize(
    ("compression", "vocabulary", "documents"),
    [(None, 32_000, 20_000), ("snappy", 32_000, 20_000), ("zstd", 32_000, 20_000), (None, 600_000, 40_000)],
)
def test_parquet_packs_token_ids(tmp_path, compression, vocabulary, documents):
    import pyarrow
    import pyarrow.parquet

    length = 400
    ids = numpy.random.default_rng(0).integers(0, vocabulary, documents * length, dtype=numpy.int32)
    lists = pyarrow.ListArray.from_arrays(numpy.arange(documents + 1, dtype=numpy.int32) * length, ids)
    pyarrow.parquet.write_table(pyarrow.table({"input_ids": lists}), tmp_path / "one.parquet", compression=compression)
    form = "parquet" + (f"-{compression}" if compression else "")
    made = predicted(form, "tokens", tokens=documents * length, bytes_per_token=4, documents=documents, vocabulary=vocabulary)
    meets(made, (tmp_path / "one.parquet").stat().st_size)


def test_arrow_of_text_as_datasets_saves_it(tmp_path):
    import datasets

    datasets.disable_progress_bars()
    datasets.Dataset.from_dict({"text": DOCUMENTS}).save_to_disk(tmp_path / "saved")
    meets(text("arrow"), size(tmp_path / "saved"))


def test_arrow_of_token_ids_as_datasets_saves_it(tmp_path):
    import datasets

    datasets.disable_progress_bars()
    documents, length = 5_000, 100
    rows = zipf_ids(32_000, documents * length).reshape(documents, length).tolist()
    features = datasets.Features({"input_ids": datasets.Sequence(datasets.Value("int32"))})
    datasets.Dataset.from_dict({"input_ids": rows}, features=features).save_to_disk(tmp_path / "saved")
    meets(
        predicted("arrow", "tokens", tokens=documents * length, bytes_per_token=4, documents=documents, vocabulary=32_000),
        size(tmp_path / "saved"),
    )


def tfrecord(path, column, name):
    from tfrecord.writer import TFRecordWriter

    writer = TFRecordWriter(str(path))
    for one in column:
        writer.write({name: (one if isinstance(one, bytes) else one.encode(), "byte")})
    writer.close()
    return path


@pytest.mark.parametrize(("made", "column"), [(text, DOCUMENTS), (images, IMAGES)], ids=["text", "images"])
def test_parquet_and_tfrecord(tmp_path, made, column):
    meets(made("parquet"), parquet(tmp_path / "one.parquet", column))
    meets(made("tfrecord"), tfrecord(tmp_path / "one.tfrecord", column, "image").stat().st_size)


def webdataset(folder, records, shard_bytes=1e12):
    from webdataset import ShardWriter

    pattern = str(folder / "shard-%06d.tar")
    with ShardWriter(pattern, maxsize=shard_bytes, maxcount=10**9, verbose=0) as writer:
        for number, record in enumerate(records):
            writer.write({"__key__": f"{number:09d}", **record})
    return folder


def test_webdataset_of_text(tmp_path):
    meets(text("webdataset"), size(webdataset(tmp_path, ({"txt": one} for one in DOCUMENTS))))


def test_webdataset_of_short_records(tmp_path):
    """Where headers and padding outweigh the payload."""
    records = [RNG.randbytes(RNG.randrange(1, 1024)) for _ in range(2000)]
    mean = sum(map(len, records)) / len(records)
    written = size(webdataset(tmp_path, ({"bin": one} for one in records)))
    meets(predicted("webdataset", "samples", dataset_samples=len(records), sample_bytes=mean), written)


def test_webdataset_of_equal_records(tmp_path):
    """CIFAR: 3,073 B each, padded to 3,584 B, where half a block on average would be wrong."""
    records = [RNG.randbytes(3073) for _ in range(500)]
    written = size(webdataset(tmp_path, ({"bin": one} for one in records)))
    given = {"dataset_samples": 500, "sample_bytes": 3073}
    meets(predicted("webdataset", "samples", "equal", **given), written)
    varied = predicted("webdataset", "samples", "varied", **given).value("dataset_bytes")
    assert abs(varied / written - 1) > TOLERANCE


def test_webdataset_with_labels(tmp_path):
    records = ({"jpg": one, "cls": number % 10} for number, one in enumerate(IMAGES))
    meets(images("webdataset-labelled"), size(webdataset(tmp_path, records)))


def test_shards_are_closed_at_a_size(tmp_path):
    limit = 4_000_000
    webdataset(tmp_path, ({"jpg": one} for one in IMAGES), shard_bytes=limit)
    made = images("webdataset", shard_bytes=limit)
    assert made.value("dataset_files") == pytest.approx(len(list(tmp_path.iterdir())), rel=0.03)


def test_tar_as_tar_writes_it(tmp_path):
    with tarfile.open(tmp_path / "one.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        for number, one in enumerate(DOCUMENTS):
            member = tarfile.TarInfo(f"{number:09d}.txt")
            member.size = len(one.encode())
            archive.addfile(member, io.BytesIO(one.encode()))
    meets(text("tar"), (tmp_path / "one.tar").stat().st_size)


@pytest.mark.parametrize("shape", [(16, 16, 3), (64, 64, 3)])
def test_hdf5(tmp_path, shape):
    import h5py

    array = numpy.zeros((1000, *shape), dtype=numpy.uint8)
    for form, chunks in (("hdf5", None), ("hdf5-chunked", (1, *shape))):
        with h5py.File(tmp_path / form, "w") as file:
            file.create_dataset("x", data=array, chunks=chunks)
        made = predicted(form, "samples", "equal", dataset_samples=1000, sample_bytes=int(array[0].nbytes))
        meets(made, (tmp_path / form).stat().st_size)


@pytest.mark.parametrize("form", ["npz", "file-per-sample"])
def test_a_file_per_sample_takes_whole_blocks(tmp_path, form):
    for number, one in enumerate(IMAGES):
        if form == "npz":
            numpy.savez(tmp_path / f"{number}.npz", x=numpy.frombuffer(one, dtype=numpy.uint8))
        else:
            (tmp_path / f"{number}.jpg").write_bytes(one)
    blocks = sum(-(-path.stat().st_size // 4096) * 4096 for path in tmp_path.iterdir())
    meets(images(form), blocks, files=len(IMAGES))


def megatron(folder, documents, width):
    """The layout of megatron/core/datasets/indexed_dataset.py."""
    lengths = numpy.array([len(one) for one in documents], dtype=numpy.int32)
    pointers = numpy.concatenate([[0], numpy.cumsum(lengths[:-1], dtype=numpy.int64) * width])
    code = {2: 8, 4: 4}[width]
    with open(folder / "one.bin", "wb") as file:
        for one in documents:
            file.write(one.astype(f"<u{width}").tobytes())
    with open(folder / "one.idx", "wb") as file:
        file.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(documents), len(documents) + 1))
        file.write(lengths.tobytes() + pointers.astype("<i8").tobytes())
        file.write(numpy.arange(len(documents) + 1, dtype="<i8").tobytes())


@pytest.mark.parametrize(("vocabulary", "width"), [(50_257, 2), (65_499, 2), (65_500, 4), (128_256, 4)])
def test_megatron_to_the_byte(tmp_path, vocabulary, width):
    documents = [zipf_ids(vocabulary, length, length) for length in range(1, 400)]
    megatron(tmp_path, documents, width)
    given = {"tokens": sum(map(len, documents)), "documents": len(documents), "vocabulary": vocabulary, "bytes_per_token": 4}
    made = predicted("megatron", "tokens", **given)
    assert made.value("dataset_bytes") == size(tmp_path)
    assert made.value("index_bytes") == (tmp_path / "one.idx").stat().st_size
    assert made.value("dataset_files") == 2


def mds(folder, samples, column, limit):
    """The layout of streaming/base/format/mds/writer.py, with one column of varying size."""
    columns = {"column_encodings": ["bytes"], "column_names": [column], "column_sizes": [None]}
    config = {**columns, "compression": None, "format": "mds", "hashes": [], "size_limit": limit}
    head = json.dumps(config, sort_keys=True).encode()
    shards, cached, used = [], [], 8 + len(head)

    def close():
        bodies = [struct.pack("<I", len(one)) + one for one in cached]
        start = 4 + 4 * (len(bodies) + 1) + len(head)
        offsets = numpy.cumsum([start, *map(len, bodies)]).astype("<u4")
        name = f"shard.{len(shards):05d}.mds"
        (folder / name).write_bytes(struct.pack("<I", len(bodies)) + offsets.tobytes() + head + b"".join(bodies))
        raw = {"basename": name, "bytes": (folder / name).stat().st_size, "hashes": {}}
        shards.append({**config, "raw_data": raw, "samples": len(bodies), "version": 2, "zip_data": None})

    for one in samples:
        if used + len(one) + 8 > limit:
            close()
            cached, used = [], 8 + len(head)
        cached.append(one)
        used += len(one) + 8
    close()
    (folder / "index.json").write_text(json.dumps({"shards": shards, "version": 2}, sort_keys=True))
    return len(shards)


def test_mds_of_images(tmp_path):
    limit = 2_000_000
    shards = mds(tmp_path, IMAGES, "image", limit)
    made = images("mds", shard_bytes=limit)
    meets(made, size(tmp_path))
    assert made.value("dataset_files") == pytest.approx(shards, rel=0.05)


def test_mds_of_packed_sequences(tmp_path):
    sequences, length = 2000, 256
    mds(tmp_path, [zipf_ids(32_000, length, seed).astype("<i4").tobytes() for seed in range(sequences)], "tokens", 1 << 26)
    given = {"tokens": sequences * length, "bytes_per_token": 4, "sequence_length": length, "vocabulary": 32_000}
    meets(predicted("mds", "tokens", **given), size(tmp_path))
    assert predicted("mds", "tokens", **given).value("tokenized_bytes") == sequences * length * 2


def test_every_format_is_tested():
    """A format joins the catalog with a test of its own."""
    here = Path(__file__).read_text(encoding="utf-8")
    untested = [name for name in CATALOG.ids("formats") if f'"{name}"' not in here]
    assert untested == []


def test_a_flat_file_holds_ids_alone(tmp_path):
    ids = zipf_ids(50_257, 10_000).astype("<u2")
    ids.tofile(tmp_path / "one.bin")
    made = predicted("bin", "tokens", tokens=10_000, bytes_per_token=4, documents=10, vocabulary=50_257)
    assert made.value("dataset_bytes") == size(tmp_path)


def test_binary_rows_hold_rows_alone(tmp_path):
    numpy.zeros((10_000, 228), dtype="<i4").tofile(tmp_path / "one.bin")
    made = predicted("binary-rows", "samples", sizes="equal", dataset_samples=10_000, sample_bytes=912)
    assert made.value("dataset_bytes") == size(tmp_path)


def test_a_file_of_one_sample_in_hdf5(tmp_path):
    import h5py

    for number in range(20):
        with h5py.File(tmp_path / f"{number}.h5", "w") as file:
            file["climate"] = numpy.zeros((96, 96, 16), dtype="<f4")
    made = predicted("hdf5-file-per-sample", "samples", sizes="equal", dataset_samples=20, sample_bytes=96 * 96 * 16 * 4)
    meets(made, sum(-(-one.stat().st_size // 4096) * 4096 for one in tmp_path.iterdir()))
    assert made.value("dataset_files") == 20


def test_entries_say_how_they_are_read():
    # Every format says how it is read.
    for name in CATALOG.ids("formats"):
        form = CATALOG.get(Format, name)
        assert form.read_pattern in READ_PATTERNS, name
        assert form.request_bytes is not None, name
        assert form.readers_per_gpu is not None, name
    # Every encoding names a format or none.
    models = [CATALOG.get(Model, name) for name in CATALOG.ids("models")]
    named = [one.format for model in models for one in model.encodings.values()]
    assert {name for name in named if name} <= set(CATALOG.ids("formats"))
    assert sum(bool(name) for name in named) >= 140
