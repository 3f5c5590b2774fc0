"""Cutting changes no count, and where it might, nothing is cut."""

import base64
import json
import random
import re
from functools import cache

import pytest
from conftest import first, table
from corpus.texts import real_texts, sentencepiece_model, strings
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.corpus.tokenizers import splitter
from ingest.corpus.tokenizers.engines import SentencePiece, Tokenizers, adds_up, split_rule_for
from ingest.corpus.tokenizers.splitter import (
    BEFORE_SPACE,
    BEFORE_STOP,
    CannotSplit,
    DocumentSplitter,
    SplitRule,
    rule_within_words,
    split,
    split_rule_of,
)
from ingest.corpus.tokenizers.vocabulary import vocabulary_of
from ingest.corpus.types import Chunk

SPELLED = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
LETTERS = ["a", "b", "c", "d", "e", "o", "f", "t", "h", "s", "1", "2", ",", ".", "中", "的", "é", "Я", "▁"]
WORDS = [*LETTERS, "ab", "bc", "th", "the", "of", "12", "▁a", "▁the", "▁▁", "▁▁▁", "中的"]


def written(folder, name="tokenizer.json", **parts):
    """A small vocabulary of words and of every single character in them, spelled as SentencePiece would."""
    vocab = {word: place for place, word in enumerate(["<unk>", *WORDS])}
    merges = [
        [word[:at], word[at:]] for word in WORDS for at in range(1, len(word)) if word[:at] in vocab and word[at:] in vocab
    ]
    model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "vocab": vocab, "merges": merges}
    path = folder / name
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model, **parts}))
    return vocabulary_of(str(path))


@cache
def counter(name):
    vocabulary = vocabulary_of(name)
    return Tokenizers(vocabulary, threads=2), split_rule_of(vocabulary)


#: on every push the default vocabulary, the others before an issue is closed
NAMES = ["deepseek-v3", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cl100k", "o200k", "r50k"))]


@pytest.mark.parametrize("name", NAMES)
def test_every_known_vocabulary_can_be_cut_before_stops_and_within_words(name):
    rule = counter(name)[1]
    assert list(split(b"one,two2+three", rule, text_bytes=0)) == [b"one", b",two", b"2", b"+three"]


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_real_text_count_as_the_whole_however_small_they_are(name, monkeypatch):
    monkeypatch.setattr(splitter, "CHECK_BYTES", 0)
    engine, rule = counter(name)
    assert adds_up(rule, engine, real_texts(150_000))


#: texts in which little but narrow places lets a cut be made
narrow = st.text("aZé中ßЯ059_-=+/'<>|{}\n\r.,\"é\u0301①²", max_size=60)


@settings(max_examples=15 * settings.default.max_examples, deadline=None)
@given(text=st.one_of(strings, narrow, narrow.map(lambda text: "<|EOT|>" + text + "</think>9")))
@pytest.mark.parametrize("name", NAMES)
def test_parts_of_any_string_count_as_the_whole(name, text):
    engine, rule = counter(name)
    parts = list(split(text.encode(), rule, text_bytes=0))
    assert b"".join(parts) == text.encode()
    assert sum(engine.count(parts)) == engine.count([text.encode()])[0]


WITHIN = rule_within_words([])
SAFE, UNSAFE = (table("corpus/cases.yaml")[name] for name in ("safe", "unsafe"))


@pytest.mark.parametrize("case", SAFE)
@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(texts=st.lists(st.one_of(strings, st.text("abthe, .  \n12中的éЯ", max_size=60), narrow), min_size=1, max_size=4))
def test_known_ways_of_cutting_words(case, texts, tmp_path_factory):
    rule, parts = SAFE[case]
    expected = getattr(splitter, rule) if isinstance(rule, str) else rule_within_words(rule)
    vocabulary = written(tmp_path_factory.mktemp("safe"), **parts)
    assert split_rule_of(vocabulary) == expected
    engine = Tokenizers(vocabulary, threads=1)
    for text in (text.encode() for text in texts):
        assert sum(engine.count(list(split(text, expected, text_bytes=0)))) == engine.count([text])[0]


@pytest.mark.parametrize("case", UNSAFE)
def test_where_a_cut_may_change_a_count_nothing_is_cut(case, tmp_path):
    assert split_rule_of(written(tmp_path, **UNSAFE[case])) is None


def test_a_token_over_a_space_forbids_cuts_at_spaces(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "WORDS", [*WORDS, "a▁the"])
    assert split_rule_of(written(tmp_path, normalizer=SPELLED)) is None
    assert split_rule_of(written(tmp_path, pre_tokenizer=METASPACE)) is BEFORE_SPACE


def test_what_structure_allows_is_still_tried_on_the_input():
    engine, _ = counter("r50k")
    anywhere = SplitRule(re.compile(rb"a"))
    assert not adds_up(anywhere, engine, [b"a small banana " * 500])
    assert split_rule_for(vocabulary_of("r50k"), engine, real_texts()[:14]) == WITHIN

    class Moody:
        name, version = "moody", "1"

        def count(self, texts):
            return [len(text) % 7 for text in texts]

    assert split_rule_for(vocabulary_of("r50k"), Moody(), real_texts()) is None


@pytest.mark.parametrize(
    ("asked", "rule"),
    first(3, map(tuple, table("corpus/cases.yaml")["sentencepiece_models"])),
    ids=str,
)
def test_sentencepiece_models(asked, rule, tmp_path):
    path = tmp_path / "m.model"
    path.write_bytes(sentencepiece_model(**asked))
    vocabulary, expected = vocabulary_of(str(path)), rule and getattr(splitter, rule)
    assert split_rule_of(vocabulary) is expected
    if expected:
        engine = SentencePiece(vocabulary, threads=2)
        assert engine.count(real_texts()) == [sum(engine.count(list(split(text, expected, 0)))) for text in real_texts()]


def fed(documents, text, size):
    pieces = [text[at : at + size] for at in range(0, len(text), size)] or [b""]
    return [out for at, piece in enumerate(pieces) for out in documents.feed(Chunk(piece, ends=at == len(pieces) - 1))]


@settings(max_examples=5 * settings.default.max_examples, deadline=None)
@given(texts=st.lists(strings, min_size=1, max_size=4), size=st.integers(1, 50), most=st.integers(1, 30))
def test_pieces_of_documents_become_texts_that_count_as_the_documents(texts, size, most):
    engine, rule = counter("r50k")
    documents = DocumentSplitter(rule, text_bytes=most)
    for text in (text.encode() for text in texts):
        ready = fed(documents, text, size)
        assert b"".join(ready) == text
        assert sum(engine.count(ready)) == engine.count([text])[0]


def test_texts_are_cut_wherever_the_pieces_end():
    text = b"".join(real_texts())
    parts = list(split(text, BEFORE_STOP, 1000))
    assert all(
        fed(DocumentSplitter(BEFORE_STOP, text_bytes=1000), text, size) == parts for size in (1001, 4096, 10_000, len(text))
    )
    assert 1000 < max(map(len, parts)) < 5000


def test_a_document_longer_than_memory_passes_through_in_little_of_it():
    documents = DocumentSplitter(BEFORE_STOP)
    line = b"a line that never ends, " * 43_691
    longest = held = 0
    for _ in range(40):
        texts = documents.feed(Chunk(line, ends=False))
        longest, held = max(longest, *map(len, texts), 0), max(held, len(documents._waiting))
    assert longest < splitter.TEXT_BYTES + 100
    assert held <= 2 * splitter.TEXT_BYTES


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (BEFORE_STOP, "no word boundary at which"),
        (WITHIN, "no end of a word, number or line"),
        (None, "cannot be split for this vocabulary"),
    ],
)
def test_a_run_without_a_place_is_refused_and_forgotten(rule, why):
    documents = DocumentSplitter(rule, text_bytes=100, most_waiting_bytes=1 << 20)
    run = Chunk(b"-" * 300_000, ends=False)
    assert [documents.feed(run) for _ in range(3)] == [[], [], []]
    with pytest.raises(CannotSplit, match=why):
        documents.feed(run)
    assert documents.feed(Chunk(b"next", ends=True)) == [b"next"]


WITHOUT_BLANKS = {
    "base64": base64.b64encode(random.Random(1).randbytes(20_000)),
    "base64 in lines": base64.encodebytes(random.Random(2).randbytes(20_000)),
    "hexadecimal": random.Random(3).randbytes(10_000).hex().encode(),
    "minified": re.sub(rb"\s+", b"", b"".join(real_texts(20_000)[12:])),
    "a table of numbers": b"|".join(b"%d" % number for number in range(5000)),
    "lines of marks": b"+--+==+\n|<>|()|\n" * 2000,
}


@pytest.mark.parametrize("kind", WITHOUT_BLANKS)
@pytest.mark.parametrize("name", NAMES)
def test_documents_without_blanks_are_cut_and_count_as_the_whole(name, kind):
    engine, rule = counter(name)
    text = WITHOUT_BLANKS[kind]
    texts = fed(DocumentSplitter(rule, text_bytes=1 << 8, most_waiting_bytes=1 << 11), text, 1 << 10)
    assert len(texts) > len(text) >> 11
    assert sum(engine.count(texts)) == engine.count([text])[0]
