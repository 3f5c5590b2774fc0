"""`ingest dataset`: stages, copies, files and inodes, from every kind of input; and what it refuses."""

import csv
import io
import json

import pytest
from conftest import CATALOG, refused, table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.catalog.records import Corpus, Format, Pipeline
from ingest.corpus import estimators, measurement_file
from ingest.errors import IngestError, UsageError
from ingest.sizing.dataset import STAGES

CONTRACT = {"raw_bytes", "clean_bytes", "tokenized_bytes", "dataset_bytes", "dataset_files", "usable_bytes"}
TEXT_FORMATS = [form.id for form in CATALOG.all(Format) if "tokens" in form.holds or "text" in form.holds]
SAMPLE_FORMATS = [form.id for form in CATALOG.all(Format) if "samples" in form.holds]


def value(name, **options):
    return ingest.dataset(**options).results[name].value


@pytest.fixture
def measured(tmp_path):
    """What `ingest measure -o` writes, as far as it matters here; keys can be replaced or dropped."""

    def write(drop=(), **changed):
        results = {
            "bytes_per_token": {"value": 4.2, "low": 4.1, "high": 4.4, "unit": "B/token"},
            "tokens": {"value": 1_000_000, "unit": "token"},
            "documents": {"value": 2_000, "unit": "document"},
            "corpus_bytes": {"value": 4_200_000, "unit": "B"},
        }
        results = {name: item for name, item in {**results, **changed}.items() if name not in drop}
        path = tmp_path / "measure.json"
        data = {"schema": "ingest/1", "command": "measure", "results": results, "tokenizer": {"name": "gpt2", "size": 50257}}
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(("vocabulary", "width"), [(32_000, 2), (65_499, 2), (65_536, 2), (65_537, 4), (128_256, 4)])
def test_two_bytes_up_to_65536_ids_else_four(vocabulary, width):
    assert value("tokenized_bytes", tokens=1e12, vocabulary=vocabulary) == 1e12 * width


def test_formats_draw_their_own_lines():
    # Megatron stores 32-bit ids from 65,500 ids on.
    answer = ingest.dataset(tokens=1e12, vocabulary=65_536, format="megatron")
    assert answer.results["tokenized_bytes"].value == 2e12
    assert answer.results["dataset_bytes"].value > 4e12
    answer = ingest.dataset(tokens=1e12, documents=1e9, vocabulary=32_000, shard_size="1TB")
    index = 1e9 * 20 + 3 * 42
    assert answer.results["index_bytes"].value == index
    assert answer.results["dataset_bytes"].value == 2e12 + index


def test_the_whole_footprint_by_hand():
    """100 M tokens of 4 B, 100 k documents: two raw inputs, one text, three copies of Megatron files of 100 MB."""
    answer = ingest.dataset(
        tokens=100e6,
        bytes_per_token=4,
        documents=100e3,
        vocabulary=50_000,
        shard_size="100 MB",
        copies="raw=2,clean=1,tokenized=1,dataset=3",
        set={"bytes_kept": 0.01, "extracted_share": 0.15, "metadata_share": 0.02, "dedup_hashes": 100, "dedup_hash_bytes": 8,
             "documents_before_dedup": 2},
    )  # fmt: skip
    raw, scratch = 400e6 / 0.01, 100e3 * 2 * 100 * 8
    content = 200e6 + 100e3 * 20
    dataset = content + 3 * 42
    usable = (2 * raw + 400e6 + 200e6 + 3 * dataset + scratch) * 1.02
    got = {name: item.value for name, item in answer.results.items()}
    assert got["raw_bytes"] == raw
    assert got["extracted_bytes"] == pytest.approx(raw * 0.15)
    assert got["dataset_bytes"] == dataset
    assert got["dataset_files"] == 6
    assert got["file_creates"] == 18
    assert got["inodes"] == 19
    assert got["usable_bytes"] == pytest.approx(usable, rel=1e-12)
    rows = {row["stage"]: row for row in answer.tables["footprint"]}
    assert list(rows) == [*STAGES, "deduplication scratch", "metadata"]
    assert sum(row["kept_bytes"] for row in rows.values()) == pytest.approx(usable)


def test_samples_in_files_and_in_shards():
    answer = ingest.dataset(samples=1_281_167, sample_bytes=3000, sizes="equal", copies=2, epochs=90)
    assert answer.results["dataset_bytes"].value == 1_281_167 * 4096
    assert answer.results["usable_bytes"].value == 2 * 1_281_167 * 4096
    assert answer.results["file_opens_per_epoch"].value == 1_281_167
    assert answer.results["file_opens"].value == 1_281_167 * 90
    assert "tokenized_bytes" not in answer.results
    many = value("inodes", corpus="imagenet-1k")
    few = value("inodes", corpus="imagenet-1k", format="webdataset", shard_size="1 GB")
    assert many > 1_281_167
    assert few < 200
    answer = ingest.dataset(samples=10e9, sample_bytes=10_000)
    assert answer.results["mdts"].value == 3
    assert answer.results["mdt_bytes"].value == answer.results["inodes"].value * 2560


def test_a_measurement_gives_rate_interval_documents_and_vocabulary(measured):
    answer = ingest.dataset(tokens="1T", bytes_per_token=str(measured()))
    clean = answer.results["clean_bytes"]
    assert (clean.low, clean.value, clean.high) == pytest.approx((4.1e12, 4.2e12, 4.4e12))
    assert answer.results["documents"].value == 2e9
    assert answer.results["tokenized_bytes"].value == 2e12
    assert answer.inputs["bytes_per_token"]["from"] == "measured"


def test_a_measurement_alone_is_the_size_of_its_own_corpus(measured):
    answer = ingest.dataset(bytes_per_token=measured())
    assert answer.results["tokens"].value == 1_000_000
    assert answer.results["clean_bytes"].value == 4_200_000


@pytest.mark.parametrize(
    ("size", "low", "warned"),
    [(500, 0.1, True), (50e3, 2.427, True), (491_519, 3.41, True), (491_520, 3.41, False), (491.52e6, 3.98, False)],
)
def test_little_text_stands_for_more_with_a_range_and_for_itself_without(measured, size, low, warned):
    assert measurement_file.LITTLE_BYTES == estimators.FEWEST_DRAWS * estimators.BLOCK_BYTES
    counted = {"bytes_per_token": {"value": 4}, "tokens": {"value": size / 4}, "corpus_bytes": {"value": size}}
    found = ingest.dataset(tokens="2T", bytes_per_token=measured(**counted))
    assert found.results["clean_bytes"].low == pytest.approx(2e12 * low, rel=1e-3)
    job = ingest.bw("llama3-8b", "h100", bytes_per_token=measured(**counted))
    assert [("W04" in {line.rule for line in one.warnings}) for one in (found, job)] == [warned] * 2
    itself = ingest.dataset(bytes_per_token=measured(**counted))
    assert itself.results["clean_bytes"].low is None
    assert "W04" not in {line.rule for line in itself.warnings}


@pytest.mark.parametrize(
    ("asked", "wide", "told"), table("sizing/cases.yaml")["ids_of_a_corpus_are_as_wide_as_those_of_models_of_today"]
)
def test_ids_of_a_corpus_are_as_wide_as_those_of_models_of_today(measured, asked, wide, told):
    if asked.get("bytes_per_token"):
        asked = {**asked, "bytes_per_token": measured()}
    answer = ingest.dataset(**asked)
    assert answer.results["tokenized_bytes"].value == wide * answer.results["tokens"].value
    assert ("W129" in {line.rule for line in answer.warnings}) is told
    assert sum(row["kept_bytes"] for row in answer.tables["footprint"]) == pytest.approx(answer.results["usable_bytes"].value)


def test_files_that_a_measurement_skipped_are_told(measured):
    answer = ingest.dataset(bytes_per_token=measured(files_skipped={"value": 3}))
    assert "3 of its files could not be read" in answer.given["bytes_per_token"].note


def test_ratios_hold_in_both_directions():
    answer = ingest.dataset(raw_bytes="10 PB", pipeline="gpt3-commoncrawl")
    assert answer.results["clean_bytes"].value == pytest.approx(10e15 * 570e9 / 45e12)
    assert answer.results["tokens"].value == pytest.approx(answer.results["clean_bytes"].value / 4)
    raw = value("raw_bytes", tokens=1e12, pipeline="slimpajama")
    assert value("tokens", raw_bytes=raw, pipeline="slimpajama") == pytest.approx(1e12)
    answer = ingest.dataset(corpus="slimpajama", documents=100e6, set={"documents_kept": 0.4})
    kept_bytes = answer.results["clean_bytes"].value / answer.results["raw_bytes"].value
    kept_tokens = answer.results["tokens"].value / answer.results["raw_tokens"].value
    assert kept_bytes == pytest.approx(0.504)
    assert kept_tokens == pytest.approx(627 / 1210)
    assert answer.results["raw_documents"].value == 250e6
    whole, half = ingest.dataset(corpus="opt"), ingest.dataset(corpus="opt", tokens=90e9)
    assert whole.results["clean_bytes"].value == pytest.approx(800e9)
    assert half.results["clean_bytes"].value == pytest.approx(400e9)


@pytest.mark.parametrize("name", CATALOG.ids("corpora"))
def test_every_corpus_is_answered_or_says_what_is_missing(shipped, name):
    corpus = shipped.get(Corpus, name)
    amount = "samples" if corpus.holds == "samples" else "tokens"
    refers = "sample_bytes" if corpus.holds == "samples" else "object_bytes"
    if corpus.refers_to and getattr(corpus, refers) is None:
        with pytest.raises(IngestError, match=f"its entries refer to {corpus.refers_to}, whose bytes are not known"):
            ingest.dataset(corpus=name)
    elif getattr(corpus, amount) is None and corpus.clean_bytes is None:
        with refused(f"--corpus {name}: {amount} are not known", corpus.missing[amount].partition("; say")[0]):
            ingest.dataset(corpus=name)
    else:
        assert ingest.dataset(corpus=name).results["usable_bytes"].value > 0


@pytest.mark.parametrize("name", CATALOG.ids("pipelines"))
def test_every_pipeline_is_answered(shipped, name):
    answer = ingest.dataset(tokens="1T", pipeline=name)
    pipeline = shipped.get(Pipeline, name)
    in_and_out = pipeline.input_bytes is not None and pipeline.output_bytes is not None
    known = pipeline.bytes_kept is not None or in_and_out
    assert ("raw_bytes" in answer.results) == known
    assert known or "bytes_kept" in pipeline.missing


BY_REFERENCE = [one.id for one in CATALOG.all(Corpus) if one.refers_to]


@pytest.mark.parametrize("name", BY_REFERENCE)
def test_a_corpus_of_references_is_never_sized_without_a_word(shipped, name):
    corpus = shipped.get(Corpus, name)
    each = corpus.object_bytes if corpus.holds == "tokens" else corpus.sample_bytes
    if each is None:
        pytest.skip("refused: its entries refer to what has no published size")
    answer = ingest.dataset(corpus=name)
    assert any(corpus.refers_to in line and "holds none of them" in line for line in answer.warnings)
    objects = corpus.samples.value if corpus.samples else corpus.documents.value * corpus.objects_per_document.value
    held = answer.results["usable_bytes"]
    assert objects * each.value <= answer.results["dataset_bytes"].value <= held.value
    assert each.low is None or held.high > objects * each.high


def test_part_of_a_corpus_of_references_leads_to_that_part():
    whole, part = (ingest.dataset(corpus="obelics", **given).results for given in ({}, {"tokens": "11.5B"}))
    assert part["referred_bytes"].value == pytest.approx(whole["referred_bytes"].value / 10, rel=1e-6)
    other = ingest.dataset(corpus="obelics", set={"object_bytes": 120e3}).results
    assert other["referred_bytes"].value == pytest.approx(2 * whole["referred_bytes"].value)


def test_the_published_shares_of_ccnet_size_its_output():
    found = ingest.dataset(raw_bytes="3 PB", pipeline="ccnet").results["clean_bytes"]
    assert found.value == pytest.approx(3e15 * 3.2 / 24 / 0.39)
    assert found.low < found.value < found.high


def test_what_a_pipeline_does_not_publish_is_said_not_guessed(run):
    ran = run("dataset", "--tokens", "1T", "--pipeline", "refinedweb", "--format", "json")
    assert "raw_bytes" not in ran.data["results"]
    assert "--pipeline" in ran.data["unknown"]["raw_bytes"]


def test_an_entry_of_the_users_own(tmp_path, run):
    for kind in ("corpus", "pipeline", "format"):
        assert run("catalog", "new", kind, f"my-{kind}", "-o", tmp_path / f"my-{kind}.yaml").code == 0
    words = [word for kind in ("corpus", "pipeline") for word in (f"--{kind}", str(tmp_path / f"my-{kind}.yaml"))]
    ran = run("dataset", *words, "--format", str(tmp_path / "my-format.yaml"), "--format", "json")
    assert ran.code == 0, ran.err
    assert set(ran.data["results"]) >= CONTRACT


def test_ranges_follow_the_ends_of_the_inputs():
    raw = ingest.dataset(tokens=1e12, bytes_per_token=4, pipeline="fineweb").results["raw_bytes"]
    tib = 2**40
    assert raw.low == pytest.approx(4e12 * 0.55 / 44e12 * 19200 * tib)
    assert raw.high == pytest.approx(4e12 * 0.75 / 44e12 * 38400 * tib)
    # Documents fall as they get longer: the low end of their length is the high end of their number.
    documents = ingest.dataset(tokens=6e11).results["documents"]
    assert (documents.low, documents.value, documents.high) == (6e11 / 1000, 1e9, 6e11 / 400)
    assert ingest.dataset(tokens=1e12, bytes_per_token=4).results["tokenized_bytes"].low is None


COUNTS = st.integers(1_000, 10**14)
GROWING = ("clean_bytes", "tokenized_bytes", "dataset_bytes", "dataset_files", "usable_bytes", "inodes", "file_creates")


@pytest.mark.parametrize("form", TEXT_FORMATS)
@given(tokens=COUNTS, factor=st.floats(1, 1000))
def test_more_tokens_never_lower_anything(form, tokens, factor):
    small, large = (ingest.dataset(tokens=number, format=form).results for number in (tokens, round(tokens * factor)))
    for name in GROWING:
        assert large[name].value >= small[name].value * (1 - 1e-12), name


@pytest.mark.parametrize(("option", "value"), [("tokens", 1.5), ("samples", "1.5")])
def test_parts_of_a_token_or_a_sample_are_refused(option, value):
    rest = {"samples": {"sample_bytes": "1 MB"}, "tokens": {}}[option]
    with pytest.raises(UsageError, match=f"--{option}: found 1.5, expected a whole number"):
        ingest.dataset(**{option: value}, **rest)


@pytest.mark.parametrize("form", SAMPLE_FORMATS)
@given(samples=st.integers(1, 10**10), factor=st.integers(1, 100), size=st.integers(1, 10**9))
def test_more_samples_never_lower_anything(form, samples, factor, size):
    options = {"format": form, "sample_bytes": size}
    small, large = (ingest.dataset(samples=number, **options).results for number in (samples, samples * factor))
    for name in ("dataset_bytes", "dataset_files", "usable_bytes", "inodes"):
        assert large[name].value >= small[name].value * (1 - 1e-12), name


@given(samples=st.integers(1, 10**9), size=st.integers(1, 10**8))
def test_a_format_that_does_not_compress_never_takes_less_than_it_holds(samples, size):
    for form in ("webdataset", "tar", "tfrecord", "mds", "arrow", "parquet", "hdf5", "file-per-sample", "npz"):
        answer = ingest.dataset(samples=samples, sample_bytes=size, format=form, sizes="equal")
        assert answer.results["dataset_bytes"].value >= samples * size


def test_format_is_of_the_data_set_and_of_the_output(run):
    ran = run("dataset", "--tokens", "1T", "--format", "parquet", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert {row["name"] for row in rows if row["table"] == "results"} >= CONTRACT - {"raw_bytes"}
    assert [row["value"] for row in rows if row["name"] == "stage"] == ["clean", "tokenized", "dataset"]


def test_the_table_of_the_notes_and_the_pipelines_are_reproduced(run):
    for name in ("notes-datasets", "pipelines"):
        assert run("validate", name).code == 0
    marked = next(case for case in ingest.validate("notes-datasets").results["notes-datasets"].results if case.id == "roots")
    assert marked.published == 4
    assert marked.ours == pytest.approx(4.692, rel=1e-3)
    assert "contradicts itself" in marked.remark


@pytest.mark.parametrize(("options", "message"), table("sizing/refused.yaml")["what_is_refused"])
def test_what_is_refused(options, message):
    with refused(message):
        ingest.dataset(**options)


OWN = 'sources: {my-source: {title: "Mine"}}\nname: mine\n'


@pytest.mark.parametrize(("kind", "content", "message"), table("sizing/refused.yaml")["a_broken_entry_of_the_users_own"])
def test_a_broken_entry_of_the_users_own(write_entry, kind, content, message):
    folder = write_entry(kind, "mine", OWN + content)
    option = {"formats": "format", "corpora": "corpus", "pipelines": "pipeline"}[kind]
    own = {"tokens": 1e12} if kind != "corpora" else {}
    with refused(message):
        ingest.dataset(**own, **{option: "mine"}, catalogs=(folder,))


MEASURED = '{"schema": "ingest/1", "command": "measure", "results": %s}'
RATE = MEASURED % '{"bytes_per_token": %s}'
BROKEN = [
    ("", "no whole JSON"),
    ("[1]", "found [1], expected the JSON of `ingest measure`"),
    ("{}", "holds another form"),
    ('{"schema": "ingest/1", "command": "bw", "results": {}}', "holds command 'bw'"),
    (MEASURED % "[]", "expected a table of quantities"),
    (MEASURED % "{}", "has no results.bytes_per_token"),
    (RATE % "{}", "results.bytes_per_token: found {}, expected a value"),
    (RATE % '{"value": "four"}', "results.bytes_per_token.value: found 'four'"),
    (RATE % '{"value": -4}', "results.bytes_per_token.value: found -4"),
    (RATE % '{"value": NaN}', "no whole JSON ('NaN is not a number')"),
    (RATE % '{"value": 4, "low": 5, "high": 6}', "expected low ≤ value ≤ high"),
    ("{" * 5000, "no whole JSON"),
    ("[" * 200_000, "no whole JSON"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_a_broken_measurement(tmp_path, content, message):
    path = tmp_path / "measure.json"
    path.write_text(content, encoding="utf-8")
    with refused(message, str(path)):
        ingest.dataset(tokens=1e12, bytes_per_token=path)


def test_a_measurement_that_is_no_text_or_a_folder(tmp_path):
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    for path, message in ((tmp_path / "binary.json", "byte 0 is not UTF-8"), (tmp_path, "cannot be read")):
        with pytest.raises(IngestError, match=message):
            ingest.dataset(tokens=1e12, bytes_per_token=path)


def test_zero_documents_in_a_measurement(measured):
    with pytest.raises(IngestError, match=r"results\.documents\.value: found 0"):
        ingest.dataset(tokens=1e12, bytes_per_token=measured(documents={"value": 0}))


def test_a_measurement_of_an_earlier_version_counts_documents_as_samples(measured):
    earlier = measured(documents={"value": 2_000, "unit": "sample"})
    assert value("documents", bytes_per_token=earlier) == 2000
