"""The packages that count tokens, and the engine of a run: the fast one where its counts equal the reference's, else that.

The reference is the usual library of the vocabulary: `tokenizers.Tokenizer.encode(text, add_special_tokens=False)`, or
SentencePiece for its models. Added tokens of a `tokenizer.json` are found in the text, as there; rank files have none, so that
`<|endoftext|>` in a document is plain text, as in `tiktoken.Encoding.encode_ordinary`.

The reference also counts the texts on which engines may differ because their Unicode tables do. Engines split text into words
by character class (letter, number, space, …). The fast engine's table is a Unicode version ahead of the reference's: the
characters that Unicode 17 added are letters to the one and unassigned to the other. U+180E was a space until Unicode 6.3.
Normalization tables differ more, so a text that normalization would change is in doubt too.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from functools import cache, cached_property
from importlib import metadata, util
from typing import Any, Literal, Protocol, cast

from ingest.corpus.files.source import STANDARD_INPUT, Unreadable
from ingest.corpus.formats.documents import read
from ingest.corpus.native_calls import (
    NativeFailure,
    guarded,
    no_panic_message,
    one_line_failure,
    refusals,
    return_freed_memory,
    worker_pool,
)
from ingest.corpus.tokenizers.splitter import CHECK_BYTES, SplitRule, split, split_rule_of
from ingest.corpus.tokenizers.vocabulary import PUBLISHED, kind, load_reference, load_sentencepiece, members
from ingest.corpus.types import CorpusFile, Vocabulary
from ingest.text import grouped

#: text per call of an engine: a whole batch
PART_BYTES = 16 << 20
#: gigatoken uses a single thread for less text
LEAST_PARALLEL_BYTES = 3_000_000
#: text per call of the reference, whose tokens take a hundred bytes each
REFERENCE_PART_BYTES = 1 << 20
#: resident memory above which an engine restarts, and growth below which a restart would free little
MOST_RESIDENT, LEAST_GROWTH = 416 << 20, 128 << 20
#: text after which an engine restarts where the system does not report resident memory
TEXT_WITHOUT_MEASURE = 256 << 20


def resident_bytes() -> int | None:
    """Resident memory of this process; None where the system has no /proc."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def limit_growth(most: int) -> None:
    """Limit this worker process to its current resident memory plus `most` bytes."""
    global MOST_RESIDENT, LEAST_GROWTH
    MOST_RESIDENT, LEAST_GROWTH = (resident_bytes() or 0) + most, most


class Engine(Protocol):
    """What counts tokens, with the name and version of its package."""

    name: str
    version: str

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text, no special tokens added; texts are UTF-8."""


class PackageEngine:
    """An engine of a package, by its name."""

    name: str
    part_bytes = REFERENCE_PART_BYTES  # text per call; a longer text is alone

    def __init__(self, vocabulary: Vocabulary, threads: int) -> None:
        # unless the user has set how many threads the engines may start
        os.environ.setdefault("RAYON_NUM_THREADS", str(threads))
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if threads > 1 else "false")
        self.version = metadata.version(self.name)
        self._vocabulary, self._threads = vocabulary, threads
        self._load()

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text."""
        counts: list[int] = []
        part: list[bytes] = []
        size = 0
        for text in texts:
            if part and size + len(text) > self.part_bytes:
                counts += self._count_part(part)
                part, size = [], 0
            part.append(text)
            size += len(text)
        return counts + self._count_part(part) if part else counts

    def _load(self) -> None:
        raise NotImplementedError

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        raise NotImplementedError


class Tokenizers(PackageEngine):
    """`tokenizers`, the reference of every vocabulary but SentencePiece models."""

    name = "tokenizers"

    def _load(self) -> None:
        self._tokenizer = load_reference(self._vocabulary.tokenizer_json, self._vocabulary.source)

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        decoded = [text.decode() for text in texts]
        encodings = guarded(lambda: self._tokenizer.encode_batch_fast(decoded, add_special_tokens=False))
        return [len(encoding) for encoding in encodings]


class SentencePiece(PackageEngine):
    """`sentencepiece`, the reference of its models."""

    name = "sentencepiece"

    def _load(self) -> None:
        self._model = load_sentencepiece(self._vocabulary.sentencepiece, self._vocabulary.source)

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        decoded = [text.decode() for text in texts]
        threads = 1 if os.environ.get("RAYON_NUM_THREADS") == "1" else self._threads  # as in every worker process
        return [len(ids) for ids in guarded(lambda: self._model.encode(decoded, num_threads=threads))]


class Gigatoken(PackageEngine):
    """`gigatoken`; its cache of words grows without limit, so it restarts at the memory limit of the process."""

    name = "gigatoken"
    part_bytes = PART_BYTES

    def _load(self) -> None:
        from gigatoken import Tokenizer

        self._tokenizer: Any = None  # first, so that the two are never in memory together
        return_freed_memory()
        self._tokenizer = guarded(lambda: Tokenizer.from_json(self._vocabulary.tokenizer_json))
        self._loaded_resident = resident_bytes()
        self._text_since = 0

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        now = resident_bytes()
        if now is None or self._loaded_resident is None:
            over_limit = self._text_since > TEXT_WITHOUT_MEASURE
        else:
            over_limit = now > MOST_RESIDENT and now - self._loaded_resident > LEAST_GROWTH
        if over_limit:
            self._load()
        size = sum(map(len, texts))
        self._text_since += size
        if os.environ.get("RAYON_NUM_THREADS") == "1" or size < LEAST_PARALLEL_BYTES:
            encode = self._tokenizer.backend.encode
            return guarded(lambda: [len(encode(text)) for text in texts])
        encoded = guarded(lambda: self._tokenizer.encode_batch(list(texts), parallel=True))
        offsets = encoded.layout.offsets.data
        lengths: list[int] = (offsets[1:] - offsets[:-1]).tolist()
        return lengths


#: first and last code point of each range whose class differs between engines
DISPUTED = PUBLISHED["disputed"]

#: normalizers without a Unicode table
_WITHOUT_TABLE = frozenset(("Prepend", "Replace", "Strip", "ByteLevel"))
#: pre-tokenizers that use an older Unicode table, for punctuation or scripts
_OLD_TABLE = frozenset(("Punctuation", "BertPreTokenizer", "UnicodeScripts"))
Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS = frozenset(("NFC", "NFD", "NFKC", "NFKD"))


def doubt_about(vocabulary: Vocabulary) -> Callable[[bytes], bool]:
    """A test of whether engines may differ on a text with this vocabulary."""
    described = json.loads(vocabulary.outline)
    normalizers = {kind(step) for step in members(described.get("normalizer"), "normalizers")}
    steps = {kind(step) for step in members(described.get("pre_tokenizer"), "pretokenizers")}
    if steps & _OLD_TABLE or normalizers - _FORMS - _WITHOUT_TABLE:
        return lambda text: not text.isascii()
    forms = [cast(Form, form) for form in sorted(normalizers & _FORMS)]
    return lambda text: (
        has_disputed(text) or (not text.isascii() and any(not unicodedata.is_normalized(form, text.decode()) for form in forms))
    )


def has_disputed(text: bytes) -> bool:
    """Whether a text holds a character whose class differs between engines."""
    return not text.isascii() and any(lead in text and pattern.search(text) for lead, pattern in patterns_by_lead())


@cache
def patterns_by_lead() -> list[tuple[bytes, re.Pattern[bytes]]]:
    """A pattern over UTF-8 for each first byte: a text without that byte needs no pattern."""
    last_bytes: dict[bytes, bytearray] = {}
    for first, last in DISPUTED:
        for point in range(first, last + 1):
            spelled = chr(point).encode()
            last_bytes.setdefault(spelled[:-1], bytearray()).append(spelled[-1])
    classes = ((one[:1], re.escape(one[1:]) + b"[" + re.escape(bytes(lasts)) + b"]") for one, lasts in last_bytes.items())
    by_lead = grouped(classes).items()
    return [(lead, re.compile(re.escape(lead) + b"(?:" + b"|".join(ends) + b")")) for lead, ends in by_lead]


#: strings on which tokenizers are known to differ, and long runs of one word
HARD = (*PUBLISHED["hard"], "=" * 300 + " " * 300 + "a" * 300 + "\n" * 300 + "ab" * 300 + "é" * 300)


def difference(texts: Sequence[bytes], found: Sequence[int], expected: Sequence[int], reference: str) -> str:
    """The first difference of two counts; empty where they are equal."""
    if found == expected:
        return ""
    if len(found) != len(expected):
        return f"it counted {len(found)} texts of {len(expected)}"
    place = next(at for at, (one, other) in enumerate(zip(found, expected, strict=True)) if one != other)
    counts = f"it counts {found[place]} tokens where {reference} counts {expected[place]}"
    return f"{counts}, in the text that begins {texts[place][:24]!r}"


class CheckedEngine:
    """A fast engine; the reference counts the texts on which their character tables may differ."""

    def __init__(self, fast: Engine, reference: Engine, in_doubt: Callable[[bytes], bool]) -> None:
        self.name, self.version = fast.name, fast.version
        self._fast, self._reference, self._in_doubt = fast, reference, in_doubt
        self.rule: SplitRule | None = None  # where texts in doubt may be split

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text; the reference counts texts on which the fast engine fails."""
        try:
            return self.fast_count(texts)
        except NativeFailure:
            return self._reference.count(texts)

    def fast_count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text. Raises NativeFailure: an engine fails."""
        doubts = [self._in_doubt(text) for text in texts]
        if not any(doubts):
            return self._fast.count(texts)
        # of a text in doubt, the reference counts the parts that are
        by_doubt: dict[bool, list[bytes]] = {False: [], True: []}
        asked: list[list[bool]] = []
        for text, doubt in zip(texts, doubts, strict=True):
            parts = split(text, self.rule, CHECK_BYTES) if doubt and self.rule else [text]
            asked.append([doubt and (len(parts) == 1 or self._in_doubt(part)) for part in parts])
            for part, in_doubt in zip(parts, asked[-1], strict=True):
                by_doubt[in_doubt].append(part)
        engines = (self._fast, self._reference)
        counts = {doubt: iter(engines[doubt].count(held)) for doubt, held in by_doubt.items() if held}
        return [sum(next(counts[in_doubt]) for in_doubt in found) for found in asked]


class Reference:
    """The engine that every other must equal; loaded on first use, because most corpora never need its 200 MB."""

    def __init__(self, kind: type[PackageEngine], vocabulary: Vocabulary, threads: int) -> None:
        self._kind, self._vocabulary, self._threads = kind, vocabulary, threads
        self.name = kind.name
        self.version = metadata.version(kind.name) if util.find_spec(kind.name) else ""

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text.

        Raises IngestError: the vocabulary cannot be loaded; NativeFailure: the engine fails on one of the texts.
        """
        engine = self._engine
        try:
            return engine.count(texts)
        except NativeFailure as failure:
            raise NativeFailure(f"{self.name}: {failure}") from None

    @cached_property
    def _engine(self) -> PackageEngine:
        with refusals(f"--tokenizer: '{self._vocabulary.source}' cannot be loaded by {self.name}"):
            return self._kind(self._vocabulary, self._threads)


#: added tokens of the vocabulary in the hard texts: so many of the first and of the last
ADDED_TESTED = 64


def select_engine(
    vocabulary: Vocabulary, first_texts: Sequence[bytes], threads: int, fast: type[PackageEngine] = Gigatoken
) -> tuple[Engine, list[str]]:
    """The fast engine if it counts the first texts of the corpus and hard texts as the reference does, else the reference.

    With notes on why it is not the fast one. Raises IngestError: the reference is not installed, or cannot count with this
    vocabulary.
    """
    reference = Reference(SentencePiece if vocabulary.sentencepiece else Tokenizers, vocabulary, threads)
    added = [str(token["content"]) for token in json.loads(vocabulary.outline).get("added_tokens") or []]
    tokens = [*added[:ADDED_TESTED], *added[-ADDED_TESTED:]]
    within = [f"a {token} b{token}c\n{token}{token} {token}" for token in tokens]
    texts = [*first_texts, *(text.encode() for text in (*HARD, *within))]
    slower = f"{reference.name} counts the tokens, which takes longer than with a fast engine"
    if not vocabulary.tokenizer_json:
        expected_counts(reference, texts, vocabulary.source)
        return reference, [slower]
    engine: CheckedEngine | None = None
    found: Sequence[int] = ()
    reason = ""
    pool = worker_pool(1)
    with pool or nullcontext(), one_line_failure():
        # another reference loads and counts in a worker while this process does the same with the fast engine
        other = Reference(Tokenizers, vocabulary, threads)
        waiting = pool and pool.submit(expected_counts, other, texts, vocabulary.source)
        try:
            with no_panic_message():
                engine = CheckedEngine(guarded(lambda: fast(vocabulary, threads)), reference, doubt_about(vocabulary))
                found = engine.fast_count(texts)
        except NativeFailure as failure:
            reason = str(failure)
        counts = waiting.result() if waiting else expected_counts(reference, texts, vocabulary.source)
    reason = reason or difference(texts, found, counts, reference.name)
    vars(reference).pop("_engine", None)  # until it has a text to count
    return_freed_memory()
    if engine is not None and not reason:
        return engine, []
    return reference, [f"{fast.name} is not used: {reason}", slower]


def expected_counts(reference: Engine, texts: Sequence[bytes], source: str) -> list[int]:
    """The counts of the reference. Raises IngestError: the reference cannot count with this vocabulary."""
    with refusals(f"--tokenizer: '{source}' cannot be counted with"):
        return reference.count(texts)


def split_rule_for(vocabulary: Vocabulary, engine: Engine, proof: Sequence[bytes]) -> SplitRule | None:
    """Where texts may be split, checked on the first part of the real input.

    None where no safe place is known, or where splitting changed a count: then documents are counted whole. By the rule the
    engine splits texts in doubt, too.
    """
    rule = split_rule_of(vocabulary)
    if rule is None or not adds_up(rule, engine, proof):
        return None
    if isinstance(engine, CheckedEngine):
        engine.rule = rule
    return rule


def adds_up(rule: SplitRule, engine: Engine, texts: Sequence[bytes]) -> bool:
    """Whether the counts of the parts of each text add up to that of the text."""
    parts = [split(text, rule, CHECK_BYTES) for text in texts]
    counts = iter(engine.count([part for text in parts for part in text]))
    return engine.count(texts) == [sum(next(counts) for _ in text) for text in parts]


#: text from the beginning of each file
BEGINNING_BYTES = 64 * 1024
#: an engine is checked on about 1 MB of text, a vocabulary is trained on about 64 MB
CHECKED_FILES, TRAINING_FILES = 16, 1024


def beginnings(listing: Sequence[CorpusFile], text_field: str, most: int) -> Iterator[bytes]:
    """The beginnings of files at equal distances in the listing; not of standard input, which cannot be read twice."""
    number = min(most, len(listing))
    for place in range(number):
        found = listing[place * len(listing) // number]
        if found.location == STANDARD_INPUT:
            continue
        texts: list[bytes] = []
        try:
            with closing(read(found, text_field, lambda _: None)) as pieces:  # type: ignore[type-var]
                for piece in pieces:
                    texts.append(piece.text)
                    if sum(map(len, texts)) >= BEGINNING_BYTES:
                        break
        except Unreadable:  # counting will report it
            continue
        if text := b" ".join(texts)[:BEGINNING_BYTES].decode("utf-8", "ignore").encode("utf-8"):
            yield text
