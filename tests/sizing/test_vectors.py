"""`ingest vectors`: files that libraries wrote and their reads, relations between answers, and refusals."""

import csv
import os
import statistics
from pathlib import Path

import pytest
from conftest import CATALOG, table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.catalog.records import STORES, Layout
from ingest.errors import IngestError, UsageError
from ingest.sizing.vectors import CASES

HERE = Path(__file__).parents[1] / "vectors"
#: `make index-files` judges files of its own.
RECORDED = Path(os.environ.get("INDEX_FILES") or HERE)
EXACT = ("flat", "ivf-flat", "ivf-pq", "diskann")
MEASURED = """{"schema": "ingest/1", "command": "measure", "results": {"documents": {"value": 3}, "tokens": {"value": 3000},
 "bytes_per_token": {"value": 4.4}, "corpus_bytes": {"value": 13200}}}"""
OPTIONS = ("vectors", "dimensions", "degree", "lists", "code_bytes", "search_list", "probes")


def recorded(name):
    with (RECORDED / name).open(newline="") as lines:
        return list(csv.DictReader(lines))


def asked(row):
    words = {name: row[name] for name in ("layout", "index", "dtype") if row.get(name)}
    return words | {name: float(row[name]) for name in OPTIONS if row.get(name)}


def value(name, **options):
    return ingest.vectors(**options).results[name].value


def held_against(rows):
    """The relative errors of the index by layout; to the byte where the layout has a fixed size."""
    errors = {}
    for row in rows:
        found, counted = value("index_bytes", **asked(row)), int(row["bytes"])
        if row["index"] in EXACT and row["layout"] not in ("lance", "pgvector"):
            assert found == counted, row
        errors.setdefault((row["layout"], row["index"], row["dtype"]), []).append(abs(found / counted - 1))
    return errors


def test_files_of_six_libraries_have_the_bytes_of_their_layout():
    errors = held_against(recorded("files.csv"))
    assert {layout for layout, *_ in errors} == {"faiss", "hnswlib", "usearch", "lance", "diskann", "pgvector"}
    assert {len(found) for found in errors.values()} == {12}
    assert max(max(found) for found in errors.values()) <= 0.01


def test_codes_that_diskann_holds_in_memory_have_the_bytes_of_their_files():
    rows = [row for row in recorded("files.csv") if row["layout"] == "diskann"]
    assert [value("navigation_bytes", **asked(row)) for row in rows] == [float(row["navigation_bytes"]) for row in rows]
    assert [value("memory_bytes", **asked(row)) for row in rows] == [float(row["navigation_bytes"]) for row in rows]


def test_layouts_name_the_versions_whose_files_were_counted():
    versions = {(row["layout"], row["index"]): row["version"] for row in recorded("files.csv")}
    for one in CATALOG.all(Layout):
        assert versions[one.layout, one.index] in one.held_against
        assert one.stores in STORES
    assert set(CASES) == set(STORES)


@pytest.mark.parametrize("library", ["faiss", "usearch"])
def test_files_written_now_have_the_bytes_of_their_layout(library, tmp_path, monkeypatch):
    pytest.importorskip(library)
    from vectors import record_files

    monkeypatch.setattr(record_files, "SHAPES", ((600, 32, 8, 8), (900, 48, 4, 8)))
    errors = held_against(list(getattr(record_files, library)(tmp_path)))
    assert max(max(found) for found in errors.values()) <= 0.01


def test_a_query_of_diskann_reads_its_search_list():
    rows = [row for row in recorded("reads.csv") if row["layout"] == "diskann" and not int(row["cached_nodes"])]
    errors = [abs(value("reads_per_query", **asked(row)) / float(row["reads"]) - 1) for row in rows]
    sizes = [abs(value("request_bytes", **asked(row)) * float(row["reads"]) / float(row["bytes"]) - 1) for row in rows]
    assert len(rows) >= 10
    assert statistics.median(errors) <= 0.1
    assert max(sizes) < 1e-5


def test_cached_nodes_answer_the_share_of_the_reads_that_is_stated():
    rows = recorded("reads.csv")
    shape = ("dimensions", "search_list", "beam")
    cold = {tuple(row[one] for one in shape): float(row["reads"]) for row in rows if row["cached_nodes"] == "0"}
    warm = [row for row in rows if row["cached_nodes"] not in ("", "0")]
    assert len(warm) >= 10
    errors = []
    for row in warm:
        share = 1 - float(row["reads"]) / cold[tuple(row[one] for one in shape)]
        # The nodes near the entry are read most: a quarter of the nodes answers more than a quarter of the reads.
        assert share > 0.25
        errors.append(abs(value("reads_per_query", cached_share=share, **asked(row)) / float(row["reads"]) - 1))
    assert statistics.median(errors) <= 0.1


def test_a_query_of_lance_reads_each_list_twice():
    rows = [row for row in recorded("reads.csv") if row["layout"] == "lance"]
    errors, sizes = [], []
    for row in rows:
        # Probes are counted in lists that were loaded, a mean over queries.
        per_list = value("reads_per_query", **{**asked(row), "probes": 1})
        size = value("request_bytes", **{**asked(row), "probes": 1})
        errors.append(abs(per_list * float(row["probes"]) / float(row["reads"]) - 1))
        if int(row["lists"]) > 16:  # of few lists, the long ones are read most
            sizes.append(abs(size * per_list * float(row["probes"]) / float(row["bytes"]) - 1))
    assert (len(rows), len(sizes)) == (16, 8)
    assert statistics.median(errors) <= 0.1
    assert max(sizes) <= 0.1


KINDS = st.sampled_from([
    {"index": "flat"}, {"index": "hnsw", "degree": 24}, {"index": "hnsw", "layout": "usearch", "dtype": "int8"},
    {"index": "ivf-pq", "code_bytes": 16, "lists": 100}, {"index": "diskann", "degree": 40},
    {"index": "ivf-flat", "layout": "lance", "lists": 100}, {"index": "hnsw", "layout": "pgvector", "degree": 16},
    {"index": "hnsw", "layout": "pgvector", "dtype": "float16"}, {"index": "ivf-flat", "layout": "pgvector"},
])  # fmt: skip
COUNTS = st.integers(1_000, 10**9)
#: as many as a vector of pgvector has
DIMENSIONS = st.integers(1, 125).map(lambda number: 16 * number)
GROWING = ("index_bytes", "memory_bytes", "build_scratch_bytes", "source_bytes", "usable_bytes", "rebuild_write_bandwidth")


@given(kind=KINDS, vectors=COUNTS, more=st.integers(0, 10**8), dimensions=DIMENSIONS, wider=st.integers(0, 100))
def test_more_or_wider_vectors_need_no_less(kind, vectors, more, dimensions, wider):
    few, *many = (
        ingest.vectors(vectors=count, dimensions=size, **kind).results
        for count, size in ((vectors, dimensions), (vectors + more, dimensions), (vectors, min(dimensions + 16 * wider, 2000)))
    )
    for name in GROWING:
        assert few[name].value <= min(one[name].value for one in many), name


@given(kind=KINDS, vectors=st.integers(1_000, 10**7), dimensions=DIMENSIONS, shards=st.integers(1, 8))
def test_shards_add_up_to_the_index(kind, vectors, dimensions, shards):
    whole = ingest.vectors(vectors=vectors * shards, dimensions=dimensions, shards=shards, **kind).results
    part = ingest.vectors(vectors=vectors, dimensions=dimensions, **kind).results
    for name in ("index_bytes", "source_bytes"):
        room = 1e-9 if kind.get("layout") != "lance" else 0.02  # row ids of Lance widen with the table
        assert whole[name].value == pytest.approx(part[name].value * shards, rel=room), name


def test_shards_never_multiply_the_data_and_all_are_searched():
    one, ten = (value("index_bytes", vectors=10**7, dimensions=1536, index="diskann", shards=shards) for shards in (1, 10))
    assert (one, ten) == (81_920_004_096, 81_920_040_960)
    options = {"vectors": 10**6, "dimensions": 768, "index": "diskann", "qps": 100, "search_list": 50, "latency": "10 ms"}
    one, four = (ingest.vectors(shards=shards, **options).results for shards in (1, 4))
    assert (one["reads_per_query"].value, four["reads_per_query"].value) == (50, 200)
    assert four["read_bandwidth"].value == 100 * 200 * 4096
    assert one["latency_budget"].value == four["latency_budget"].value == pytest.approx(0.01 / 13)  # all at the same time


def test_memory_answers_reads_and_a_fetch_adds_some():
    options = {"vectors": 10**6, "dimensions": 768, "index": "diskann", "qps": 100, "search_list": 50, "latency": "10 ms"}
    # Cached nodes answer at least their share of the reads, unless another one is measured.
    assert value("reads_per_query", cached_nodes=250_000, **options) == 37.5
    assert value("reads_per_query", cached_nodes=250_000, cached_share=0.5, **options) == 25
    found = ingest.vectors(cached_share=0.2, top_k=10, **options).results
    assert found["reads_per_query"].value == 50
    assert found["latency_budget"].value == pytest.approx(0.01 / 13)
    assert value("read_requests_per_second", vectors=10**6, dimensions=768, index="hnsw", qps=100) == 0
    # Where memory answers all reads there is neither a size nor a time of one, and the rate needs no queries.
    assert not {"request_bytes", "latency_budget"} & {*ingest.vectors(cached_share=1, **options).results}
    assert ingest.vectors(vectors="1B", dimensions=768, index="hnsw").unknown == {}


def test_a_page_has_the_words_of_an_index_and_the_rate_of_its_load(run):
    page = run("vectors", "--vectors", "100M", "--dimensions", "768", "--index", "hnsw", "--qps", "9").out
    assert "Needs 950.5 GB held · 321.6 GB of memory · 536 MB/s to load" in page
    assert all(words in page for words in ("  data held  ", "  time to load all copies  "))
    index = ("--index", "diskann", "--search-list", 50, "--qps", 9)
    page = run("vectors", "--vectors", "1M", "--dimensions", 768, *index).out
    assert all(words in page for words in ("Needs 450 random reads/s", "  mean size of a read  "))


def test_an_index_in_memory_is_read_once_by_each_replica():
    options = {"vectors": 10**6, "dimensions": 768, "index": "flat", "replicas": 3}
    found = ingest.vectors(load_time="2 min", **options).results
    assert found["memory_bytes"].value == 3 * found["index_bytes"].value
    assert found["index_load_bandwidth"].value == found["memory_bytes"].value / 120
    rate = found["index_load_bandwidth"].value
    assert value("load_seconds", load_bandwidth=rate, **options) == pytest.approx(120)
    assert value("rebuild_write_bandwidth", **options) == found["memory_bytes"].value / 86_400
    assert value("load_seconds", **options) == 600


@given(documents=st.integers(1, 1000), tokens=st.integers(1, 10**6), chunk=st.integers(2, 2000), share=st.floats(0, 0.9))
def test_a_document_makes_a_vector_for_each_chunk(documents, tokens, chunk, share):
    overlap = int(chunk * share)
    chunks = max(-(-(tokens - overlap) // (chunk - overlap)), 1)
    text = {"documents": documents, "tokens": documents * tokens, "chunk": chunk, "overlap": overlap}
    found = ingest.vectors(dimensions=8, index="flat", **text)
    assert found.results["vectors"].value == documents * chunks
    assert bool([line for line in found.warnings if "mean length" in line]) == (documents > 1)
    kept = documents * (tokens + (chunks - 1) * overlap) * found.given["bytes_per_token"].value
    assert found.results["source_bytes"].value == pytest.approx(kept + documents * chunks * 32)


def test_a_measurement_gives_documents_tokens_and_bytes_and_ratios_where_the_tokens_are_stated(tmp_path):
    (tmp_path / "m.json").write_text(MEASURED)
    asked = {"documents": str(tmp_path / "m.json"), "chunk": 256, "overlap": 32, "dimensions": 64, "index": "flat"}
    found = ingest.vectors(**asked).results
    assert found["vectors"].value == 3 * 5
    assert found["source_bytes"].value == pytest.approx((3000 + 12 * 32) * 4.4 + 15 * 256)
    assert value("vectors", **asked, tokens=10**6) == 1000 * 5


def test_lists_are_usual_for_the_vectors_and_never_more_than_these():
    assert ingest.vectors(vectors=10**6, dimensions=8, index="ivf-flat").given["index_lists"].value == 4000
    assert ingest.vectors(vectors=10, dimensions=8, index="ivf-flat").given["index_lists"].value == 10
    for vectors, lists in ((10**6, 1000), (10**8, 10_000)):
        found = ingest.vectors(vectors=vectors, dimensions=8, index="ivf-flat", layout="pgvector").given["index_lists"]
        assert (found.value, found.source) == (lists, "pgvector")


def test_an_embedding_model_gives_dimensions_and_a_rate():
    found = ingest.vectors(documents=1000, tokens=10**6, embedding="bert-large", index="flat", gpus=2, efficiency=0.4)
    assert found.given["vector_dimensions"].value == 1024
    flops = found.given["embedding_flops_per_token"].value
    assert 2 * 302e6 < flops < 2 * 400e6
    peak = found.given["peak_flops_per_gpu"].value
    assert found.results["ingest_vectors_per_second"].value == pytest.approx(2 * peak * 0.4 / (flops * 512))


def test_recall_is_printed_as_it_was_given_and_moves_nothing():
    options = {"vectors": 10**6, "dimensions": 64, "index": "diskann", "search_list": 100, "qps": 10}
    without, stated = ingest.vectors(**options), ingest.vectors(recall=0.95, **options)
    assert stated.results == without.results
    assert stated.inputs["recall"] == {"value": 0.95, "from": "user"}
    assert not [name for name in {**without.results, **without.unknown, **without.inputs} if "recall" in name]


@pytest.mark.parametrize(("options", "words"), table("vectors/refused.yaml")["command"])
def test_what_no_index_has_is_refused(options, words):
    with pytest.raises(UsageError, match=words):
        ingest.vectors(**{"vectors": 10**6, "dimensions": 64} | options)


def test_sizes_at_the_end_of_what_was_counted_are_answered():
    for one in ({"degree": 16}, {"degree": 100}, {"dimensions": 2000}, {"index": "ivf-flat", "lists": 8620}):
        assert value("index_bytes", **{"vectors": 10**6, "dimensions": 64, "index": "hnsw", "layout": "pgvector"} | one)


def test_one_list_has_whole_pages_however_few_they_are():
    for vectors in (1, 29, 30, 500, 1000):
        found = ingest.vectors(vectors=vectors, dimensions=64, index="ivf-flat", layout="pgvector")
        assert found.given["index_lists"].value == 1
        assert found.results["index_bytes"].value == (2 + -(-vectors // 29)) * 8192


def test_nothing_to_index_and_an_overlap_of_a_whole_chunk_are_refused():
    for text, words in (({}, "the text behind the vectors"), ({"tokens": 10**6, "overlap": 512}, "less than the 512 tokens"),
                        ({"tokens": 9, "documents": 10}, "found 10, expected at most the 9 tokens of the text")):  # fmt: skip
        with pytest.raises(UsageError, match=words):
            ingest.vectors(dimensions=64, index="flat", **text)


def test_a_code_that_is_not_stated_is_asked_for_by_its_option():
    for index in ("flat", "hnsw", "diskann"):
        with pytest.raises(IngestError, match="--dimensions"):
            ingest.vectors(vectors=10**6, index=index)
    with pytest.raises(IngestError, match="--code-bytes"):
        ingest.vectors(vectors=10**6, dimensions=64, index="ivf-pq")
    found = ingest.vectors(vectors=10**6, dimensions=64, index="diskann")
    assert "search_list" in found.unknown["reads_per_query"]


def test_an_option_that_moves_nothing_is_named_and_none_that_waits_for_another():
    for options, idle in (
        ({"index": "flat", "degree": 10}, 1),
        ({"index": "diskann", "qps": 100}, 0),
        ({"index": "hnsw", "lists": 9}, 1),
        ({"index": "hnsw", "gpu": "h100", "gpus": 2}, 2),
    ):
        found = ingest.vectors(vectors=10**6, dimensions=64, **options)
        without = {name: one for name, one in options.items() if name == "index"}
        assert found.results["index_bytes"].value == value("index_bytes", vectors=10**6, dimensions=64, **without)
        assert len([line for line in found.warnings if "changes nothing" in line]) == idle


def test_published_queries_and_the_size_helper():
    found = ingest.validate("vector-indexes")
    assert [one for one in found.sets[0].results if not one.within] == []
    assert len(found.sets[0].results) == 18


def test_usual_degrees_are_those_of_the_libraries():
    graph, node = (ingest.vectors(vectors=10**6, dimensions=1000, index=index).given for index in ("hnsw", "diskann"))
    assert (graph["index_degree"].value, node["index_degree"].value) == (16, 64)
    # A code has an eighth of the bytes of its vector, and of long vectors the 512 parts that DiskANN keeps.
    usual = {size: ingest.vectors(vectors=10**6, dimensions=size, index="diskann").given["code_parts"].value
             for size in (1, 96, 768, 1000, 1536)}  # fmt: skip
    assert usual == {1: 1, 96: 48, 768: 384, 1000: 500, 1536: 512}
    assert node["code_parts"].source == "milvus-knowhere"
    assert ingest.vectors(vectors=10**6, dimensions=64, index="diskann", code_bytes=64).given["code_parts"].value == 64
