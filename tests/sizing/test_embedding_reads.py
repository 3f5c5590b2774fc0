"""Embedding rows that recommenders read from a tier below memory, by tables, by counted reuse and by Zipf's law."""

import math
import random
from collections import Counter

import pytest
from conftest import CATALOG, table

from ingest import bw
from ingest.catalog.records import Model
from ingest.engine.messages import rule_of
from ingest.errors import IngestError

ROW = 128 * 4


def reads(model, **options):
    return bw(model, "h100", samples_per_second=1000, **options).results


def by_hand(model, rows):
    """Lookups that memory serves, filled table by table from the one whose rows are read most."""
    entry = CATALOG.get(Model, model)
    classes = [(item.value, entry.embedding_lookups[name].value) for name, item in entry.embedding_rows.items()]
    served = 0.0
    for count, lookups in sorted(classes, key=lambda one: one[1] / one[0], reverse=True):
        taken = min(rows, count)
        served, rows = served + lookups * taken / count, rows - taken
    return served, sum(lookups for _, lookups in classes)


@pytest.mark.parametrize(("model", "settings"), [("dlrm-dcnv2", {}), ("meta-ads-2021", {"embedding_dimension": 128})])
def test_reads_are_what_the_hottest_rows_leave(model, settings):
    draw = random.Random(6)
    for size in (0, *(draw.uniform(1e8, 1.2e11) for _ in range(8))):
        served, lookups = by_hand(model, size / ROW)
        found = reads(model, hot_embeddings=size, sample_bytes=912, set=settings)
        assert found["embedding_reads_per_sample"].value == pytest.approx(lookups - served, rel=1e-9, abs=1e-9)
        assert found["embedding_read_bandwidth"].value == pytest.approx(8000 * (lookups - served) * 4096, rel=1e-9, abs=1)


def test_the_published_shapes():
    mlperf = reads("dlrm-dcnv2", hot_embeddings="20GB")
    assert mlperf["embedding_table_bytes"].value == 204_184_588 * ROW
    assert reads("dlrm-dcnv2", hot_embeddings=0)["embedding_reads_per_sample"].value == 214
    # 2 % of the rows are read more than 32 times in a batch: 49.4 % of 887,017,990 reads of 65,536 samples.
    meta = reads("meta-ads-2021", sample_bytes=1e4, hot_embeddings=0.02 * 128_435_723 * ROW, set={"embedding_dimension": 128})
    assert meta["embedding_hot_share"].value == pytest.approx(0.494, abs=0.02)
    assert meta["embedding_reads_per_sample"].value == pytest.approx(887_017_990 / 65_536 * 0.506, rel=0.04)


@pytest.mark.parametrize("exponent", [0.5, 0.9, 1.0, 1.1, 1.3])
def test_zipf_as_summed_row_by_row(exponent):
    hot, rows = 3000, 200_000
    sums = [math.fsum(rank**-exponent for rank in range(1, last + 1)) for last in (hot, rows)]
    model = {"embedding_rows": rows, "embedding_lookups": 26, "embedding_dimension": 128}
    found = bw(
        samples_per_second=1000, gpu="h100", sample_bytes=160, hot_embeddings=hot * ROW, zipf=exponent, set=model
    ).results
    assert found["embedding_hot_share"].value == pytest.approx(sums[0] / sums[1], rel=5e-4)
    assert reads("dlrm-dcnv2", hot_embeddings="20GB", zipf=exponent)["embedding_hot_share"].value < 1


def test_tables_without_memory_for_hot_rows_answer_as_before():
    assert "embedding_reads_per_sample" not in bw("dlrm-dcnv2", "h100").results
    with pytest.raises(IngestError, match="hot-embeddings"):
        reads("dlrm-dcnv2", hot_embeddings="20 s")


@pytest.mark.parametrize("other", [{"embedding_rows": 1e10}, {"embedding_lookups": 100}])
def test_other_rows_than_the_models_are_hot_by_zipfs_law_alone(other):
    assert "embedding_hot_share" not in reads("dlrm-dcnv2", hot_embeddings=1e10, set=other)
    assert 0 < reads("dlrm-dcnv2", hot_embeddings=1e10, zipf=1, set=other)["embedding_hot_share"].value < 1


@pytest.mark.parametrize(("rate", "named"), [(11_000, False), (12_000, True)])
def test_row_reads_that_no_nic_carries_are_named(rate, named):
    found = bw("dlrm-dcnv2", node="dgx-h100", nodes=2, samples_per_second=rate, hot_embeddings=0)
    assert found.results["embedding_nic_share"].value == pytest.approx(8 * rate * 214 * 4096 / 80e9)
    assert ("W103" in map(rule_of, found.warnings)) is named


def by_trace(path, **options):
    tables = {"embedding_rows": 1000, "embedding_lookups": 26, "embedding_dimension": 128}
    given = {"hot_embeddings": 100 * ROW, "sample_bytes": 160, "set": tables, **options}
    return bw(samples_per_second=1000, gpu="h100", row_reads=path, **given).results


def expected_share(counts, tables, hot):
    """The share of the next reads that the rows which a trace calls hottest take, as Good (1953) expects it."""
    reads, of = sum(counts), Counter(counts)
    of[0] = tables - len(counts)
    rare = 1 if of[0] else 0
    while rare and of[rare + 1] >= 100:
        rare += 1
    left = sum(count * rows for count, rows in of.items() if count > rare) / reads
    frequent = sum(count * rows for count, rows in of.items() if count >= rare)
    shares = {count: (count + 1) * of[count + 1] / reads if count < rare else left * count * rows / frequent
              for count, rows in [*of.items()] if rows}  # fmt: skip
    served = 0.0
    for count in sorted(shares, key=lambda one: shares[one] / of[one], reverse=True):
        taken = min(hot, of[count])
        served, hot = served + shares[count] * taken / of[count], hot - taken
    return served


@pytest.mark.parametrize("seed", range(6))
def test_a_trace_or_its_histogram_tells_the_hot_share(seed, tmp_path):
    draw = random.Random(seed)
    ids = draw.choices(range(400), [1 / (rank + 1) for rank in range(400)], k=3000)
    counts = [*Counter(ids).values()]
    (tmp_path / "ids").write_text("\n".join(f"user:{one}" for one in ids))
    spread = "".join(f"{reads},{rows}\n" for reads, rows in Counter(counts).items())
    (tmp_path / "counts").write_text("reads,rows\n" + spread)
    hot = draw.randint(1, 900)
    for name, tables in (("ids", 1000), ("counts", 1000), ("counts", len(counts))):
        given = {"embedding_rows": tables, "embedding_lookups": 26, "embedding_dimension": 128}
        found = by_trace(tmp_path / name, hot_embeddings=hot * ROW, set=given)
        # Rows that were read more than 63 times share a class with others within a thirty-second.
        assert found["embedding_hot_share"].value == pytest.approx(expected_share(counts, tables, hot), rel=0.005)
        assert found["embedding_reads_per_sample"].value == pytest.approx(26 * (1 - found["embedding_hot_share"].value))


@pytest.mark.parametrize(("exponent", "reads"), [(1.0, 20_000), (0.8, 20_000), (0.8, 100_000), (1.2, 100_000)])
def test_what_a_short_trace_calls_hot_serves_as_much_of_the_next_reads(exponent, reads, tmp_path):
    rows, hot, draw = 100_000, 2_000, random.Random(1)
    rates = [rank**-exponent for rank in range(1, rows + 1)]
    counts = Counter(draw.choices(range(rows), rates, k=reads))
    (tmp_path / "ids").write_text("\n".join(str(one) for one, many in counts.items() for _ in range(many)))
    first = sorted(counts, key=lambda one: (-counts[one], draw.random()))[:hot]
    served = sum(rates[one] for one in first) / math.fsum(rates)
    tables = {"embedding_rows": rows, "embedding_lookups": 26, "embedding_dimension": 128}
    found = by_trace(tmp_path / "ids", hot_embeddings=hot * ROW, set=tables)
    assert found["embedding_hot_share"].value == pytest.approx(served, rel=0.03)


@pytest.mark.parametrize(("text", "given", "why"), table("sizing/refused.yaml")["other_traces_are_refused"])
def test_other_traces_are_refused(tmp_path, text, given, why):
    (tmp_path / "trace").write_text(text)
    with pytest.raises(IngestError, match=why):
        by_trace(tmp_path / "trace", **given)
