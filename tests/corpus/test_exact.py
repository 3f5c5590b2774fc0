"""Exact counting of real text: the totals of `tokenizers` and `tiktoken`, whatever the batches, shards and threads."""

import gzip
import itertools
import json
import threading
from functools import partial

import pytest
from corpus.made import figures, python_sources, small_files
from corpus.test_engines import tiktoken_encoding
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from ingest.corpus.counting import exact, ledger
from ingest.corpus.counting.exact import read_ahead
from ingest.corpus.counting.ledger import GroupTallies, ShardCount, Totals, shard_spans
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.measure import Interrupted
from ingest.corpus.measure import measure as of_corpus
from ingest.corpus.tokenizers.vocabulary import vocabulary_of
from ingest.corpus.types import Progress, SkippedFile, Tally
from ingest.errors import IngestError, UsageError

#: By default a slow machine draws a sample.
measure = partial(of_corpus, exact=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Real sources, a document longer than a batch of the tests, and an empty file."""
    folder = python_sources(tmp_path_factory.mktemp("corpus"))
    (folder / "empty.txt").write_text("", encoding="utf-8")
    sources = sorted(folder.rglob("*.py"))
    (folder / "long.txt").write_text("".join(path.read_text(encoding="utf-8") for path in sources[:40]), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def texts(corpus):
    found = {path.relative_to(corpus).as_posix(): path.read_bytes() for path in sorted(corpus.rglob("*")) if path.is_file()}
    return {name: content.decode("utf-8") for name, content in found.items()}


def test_the_totals_and_the_breakdown_are_those_of_tokenizers(corpus, texts):
    reference = Tokenizer.from_str(vocabulary_of("deepseek-v3").tokenizer_json.decode())
    counts = {name: len(reference.encode(text, add_special_tokens=False).ids) for name, text in texts.items()}
    answer = measure(corpus)
    expected = sum(counts.values())
    assert answer.results["tokens"].value == expected
    size = sum(len(text.encode()) for text in texts.values())
    assert answer.results["corpus_bytes"].value == answer.results["stored_bytes"].value == size
    assert answer.results["bytes_per_token"].value == size / expected
    assert answer.results["tokenized_bytes"].value == 4 * expected
    assert answer.results["files"].value == answer.results["documents"].value == len(texts)
    for table in ("folders", "extensions"):
        for name in ("tokens", "files", "documents", "stored_bytes", "corpus_bytes"):
            assert sum(row[name] for row in answer.tables[table]) == answer.results[name].value, (table, name)
    (row,) = [row for row in answer.tables["folders"] if row["folder"] == "json"]
    inside = [count for name, count in counts.items() if name.startswith("json/")]
    assert (row["tokens"], row["files"]) == (sum(inside), len(inside))
    assert inside


@pytest.mark.parametrize(("name", "width"), [pytest.param("cl100k", 4, marks=pytest.mark.slow), ("r50k", 2)])
def test_the_totals_are_those_of_tiktoken(corpus, texts, name, width):
    reference = tiktoken_encoding(name)
    expected = sum(len(reference.encode_ordinary(text)) for text in texts.values())
    answer = measure(corpus, tokenizer=name)
    assert answer.results["tokens"].value == expected
    assert answer.results["tokenized_bytes"].value == width * expected


#: Each length of a batch with each length of a shard is slow; each of both once is not.
@pytest.mark.parametrize(
    ("batch", "files"),
    [
        pytest.param(batch, files, marks=() if (batch, files) in ((1, 7), (1000, 1), (100_000, 10_000)) else pytest.mark.slow)
        for batch in (1, 1000, 100_000)
        for files in (1, 7, 10_000)
    ],
)
def test_batches_and_shards_change_nothing(corpus, small, monkeypatch, batch, files):
    expected = measure(corpus, tokenizer=small)
    monkeypatch.setattr(exact, "BATCH_BYTES", batch)
    monkeypatch.setattr(ledger, "SHARD_FILES", files)
    assert figures(measure(corpus, tokenizer=small)) == figures(expected)


def test_a_file_that_fails_midway_gives_nothing(tmp_path, small, monkeypatch):
    (tmp_path / "a.txt").write_text("good " * 1000, encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"good " * 5000)[:-9])
    (tmp_path / "c.txt").write_text("fine " * 1000, encoding="utf-8")
    monkeypatch.setattr(exact, "BATCH_BYTES", 100)
    answer = measure(tmp_path, tokenizer=small)
    alone = [measure(tmp_path / name, tokenizer=small).results["tokens"].value for name in ("a.txt", "c.txt")]
    assert answer.results["tokens"].value == sum(alone)
    assert answer.results["files"].value == 2
    assert answer.results["files_skipped"].value == 1
    assert [row["path"] for row in answer.tables["files_skipped"]] == ["b.txt.gz"]
    assert answer.results["bytes_read"].value > answer.results["stored_bytes"].value


def test_a_document_that_cannot_be_cut_is_dropped_and_named(tmp_path, small):
    lines = [json.dumps({"text": text}) for text in ("one two three", "x" * (20 << 20), "four five six")]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text("\n".join([lines[0], lines[2]]), encoding="utf-8")
    with_long, without = (measure(tmp_path / f"{name}.jsonl", tokenizer=small) for name in "ab")
    for name in ("tokens", "corpus_bytes", "documents", "files"):
        assert with_long.results[name].value == without.results[name].value, name
    assert len(with_long.tables["parts_skipped"]) == 1


def test_nothing_to_count_is_refused(tmp_path, small):
    with pytest.raises(IngestError, match="found no file"):
        measure(tmp_path, tokenizer=small)
    (tmp_path / "a.bin").write_bytes(bytes(1000))
    with pytest.raises(IngestError, match=r"nothing could be counted: 1 skipped, the first is a\.bin"):
        measure(tmp_path, tokenizer=small)
    (tmp_path / "a.jsonl").write_bytes(b"{}\n")
    with pytest.raises(IngestError, match="no usable record: line 1: no field 'text'"):
        measure(tmp_path / "a.jsonl", tokenizer=small)


def test_an_empty_corpus_is_refused(tmp_path, small):
    (tmp_path / "a.txt").write_text("", encoding="utf-8")
    with pytest.raises(IngestError, match="1 file holds no text, expected some"):
        measure(tmp_path, tokenizer=small)


def test_an_interrupted_count_tells_what_it_knows(tmp_path, small, monkeypatch):
    monkeypatch.setattr(ledger, "SHARD_FILES", 100)
    corpus = small_files(tmp_path / "corpus", 1_500)

    class Stopping(Progress):
        def moved(self, size):
            super().moved(size)
            if self.moved_bytes > 30_000:
                raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        measure(corpus, tokenizer=small, resume=tmp_path / "ledger", progress=Stopping(None))
    known = stopped.value.known
    assert "interrupted after" in known.partial
    assert 0 < known.results["files"].value < 1_500
    whole = measure(corpus, tokenizer=small)
    assert known.results["bytes_per_token"].value == pytest.approx(whole.results["bytes_per_token"].value, rel=0.1)
    assert figures(measure(corpus, tokenizer=small, resume=tmp_path / "ledger"))[0] == figures(whole)[0]


@pytest.mark.parametrize("threads", ["0", "-1", "1.5", "many"])
def test_threads_are_a_whole_number(corpus, threads):
    with pytest.raises(UsageError, match="--threads"):
        measure(corpus, threads=threads)


@given(st.lists(st.integers(0, 10 * ledger.SHARD_BYTES), max_size=200), st.integers(1, 5))
def test_shards_hold_every_file_once(sizes, every):
    found = shard_spans(sizes, lambda place: place % every == 0)
    assert list(itertools.chain.from_iterable(span.files for span in found if not span.piece)) == list(range(len(sizes)))
    for span in found:
        assert len(span.files) == 1 or sum(sizes[place] for place in span.files) <= ledger.SHARD_BYTES
        assert 0 < len(span.files) <= ledger.SHARD_FILES
        cut = span.files[0] % every == 0 and sizes[span.files[0]] >= 2 * ledger.SHARD_BYTES
        assert span.pieces == (sizes[span.files[0]] // ledger.SHARD_BYTES if cut else 1)


@given(st.permutations(range(6)))
def test_totals_do_not_depend_on_the_order_in_which_shards_come(order):
    def counted(number):
        tally = Tally(1, 1, number, number, number, number)
        return ShardCount(number, tally, {f"f{number}": tally}, {".txt": tally}, (SkippedFile(f"{number}", "why"),))

    straight, mixed = Totals(), Totals()
    for number in range(6):
        straight.add(counted(number))
    for number in order:
        mixed.add(counted(number))
    assert (mixed.total, mixed.folders.tallies(), mixed.skipped.named) == (
        straight.total,
        straight.folders.tallies(),
        straight.skipped.named,
    )


def test_groups_beyond_the_bound_are_summed():
    sums = GroupTallies(2)
    for name in ("a", "b", "c", "d", "a"):
        sums.add(name, Tally(1))
    assert sums.tallies() == {"a": Tally(2), "b": Tally(1), "(other)": Tally(2)}


def test_reading_ahead_raises_where_it_is_used():
    def failing():
        yield 1
        raise OSError("gone")

    ahead = read_ahead(failing(), 2)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="gone"):
        next(ahead)


def test_reading_ahead_stops_when_nobody_wants_more_and_closes_what_it_reads_in_its_own_thread():
    made, closed = [], threading.Event()

    def endless():
        try:
            for number in itertools.count():
                made.append(number)
                yield number
        finally:
            closed.set()

    ahead = read_ahead(endless(), 2)
    assert next(ahead) == 0
    ahead.close()
    assert closed.wait(5)
    assert len(made) < 10


def test_a_batch_holds_the_texts_of_one_shard(corpus, monkeypatch):
    monkeypatch.setattr(exact, "BATCH_BYTES", 50_000)
    listing = list_inputs([str(corpus)])
    found = list(exact.batches(ledger.Shards(listing, listing.sizes), exact.DocumentCounter("", None, None)))
    assert all(sum(map(len, batch.texts)) == sum(portion.size for portion in batch.portions) for batch in found)
    assert sum(batch.ends is not None for batch in found) == 1
    assert len(found) > 3


def lines_of(texts, field="text"):
    """JSON lines of which every third lacks the field."""
    return b"".join(json.dumps({field if place % 3 else "body": text}).encode() + b"\n" for place, text in enumerate(texts))


def test_a_file_in_which_nothing_counts_is_skipped_and_its_bytes_are_not_stored_text(tmp_path, small):
    texts = [f"line {number} of the text" for number in range(9)]
    (tmp_path / "good.jsonl").write_bytes(lines_of(texts))
    (tmp_path / "other.jsonl").write_bytes(lines_of(texts, "content"))
    (tmp_path / "broken.jsonl").write_bytes(b"{\n[\n" * 200)
    answer = measure(tmp_path, tokenizer=small)
    assert answer.results["stored_bytes"].value == (tmp_path / "good.jsonl").stat().st_size
    assert answer.results["files"].value == 1
    assert answer.tables["files_skipped"] == [
        {"path": "broken.jsonl", "reason": "no usable record: lines 1, 2 and 398 more: not JSON"},
        {"path": "other.jsonl", "reason": "no usable record: lines 1, 2 and 7 more: no field 'text'"},
    ]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_left_out_of_files_that_count_is_counted(tmp_path, small, threads):
    texts = [f"line {number} of the text" for number in range(90)]
    (tmp_path / "a.jsonl").write_bytes(lines_of(texts))
    (tmp_path / "b.jsonl").write_bytes(lines_of(texts) + b"not JSON\n")
    answer = measure(tmp_path, tokenizer=small, threads=threads)
    assert answer.results["documents_skipped"].value == 30 + 31
    assert answer.results["documents"].value == 60 + 60
    assert answer.results["documents_skipped"].unit == "document"


def test_a_sample_that_read_everything_is_an_exact_count(corpus, small):
    sampled, counted = measure(corpus, tokenizer=small, exact=False), measure(corpus, tokenizer=small)
    assert figures(sampled) == figures(counted)
    assert sampled.design == {"design": "exact"}
    assert "counted exactly" in sampled.title
    assert all(item.low is None for item in sampled.results.values())
    assert "seed" not in sampled.title


def test_a_title_names_the_first_of_many_paths(corpus, small):
    paths = sorted(corpus.rglob("*.py"))[:7]
    assert measure(*paths, tokenizer=small).title.startswith(f"{paths[0]} and 6 more: counted")
