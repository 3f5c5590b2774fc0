"""Counting tokens: with a fast engine where it counts as the reference does, otherwise with the reference.

The reference is what the vocabulary's user would call: `tokenizers.Tokenizer.encode(text, add_special_tokens=False)`, or
SentencePiece for its models. Added tokens that a `tokenizer.json` names are found in the text, as there; rank files name none,
so that `<|endoftext|>` in a document is plain text, as in `tiktoken.Encoding.encode_ordinary`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata, util
from typing import NamedTuple, Protocol

from ingest.corpus.apart import one_line_failure, worker_pool
from ingest.corpus.disputed_texts import doubt_about
from ingest.corpus.engine_kinds import Gigatoken, SentencePiece, Tokenizers
from ingest.corpus.native_calls import NativeFailure, guarded, no_panic_message
from ingest.corpus.proof import difference, hard_texts
from ingest.corpus.resident import give_back
from ingest.corpus.vocabulary import Vocabulary
from ingest.errors import IngestError


class Engine(Protocol):
    """A package that counts tokens.

    Attributes:
        name: the package.
        version: its version.
    """

    name: str
    version: str

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text, no special tokens added; texts are UTF-8."""
        ...


class EngineKind(Protocol):
    """Loads an engine; raises where its package is not installed or refuses the vocabulary."""

    name: str

    def __call__(self, vocabulary: Vocabulary, threads: int) -> Engine:
        """The engine, ready to count."""
        ...


class CheckedEngine:
    """A fast engine; the reference counts the texts on which their tables of characters may disagree."""

    def __init__(self, fast: Engine, reference: Engine, in_doubt: Callable[[bytes], bool]) -> None:
        self.name, self.version = fast.name, fast.version
        self._fast, self._reference, self._in_doubt = fast, reference, in_doubt

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text; the reference counts texts on which the fast engine fails."""
        try:
            return self.fast_count(texts)
        except NativeFailure:
            return self._reference.count(texts)

    def fast_count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text.

        Raises:
            NativeFailure: an engine fails.
        """
        doubts = [self._in_doubt(text) for text in texts]
        if not any(doubts):
            return self._fast.count(texts)
        sure = iter(self._fast.count([text for text, doubt in zip(texts, doubts, strict=True) if not doubt]))
        slow = iter(self._reference.count([text for text, doubt in zip(texts, doubts, strict=True) if doubt]))
        return [next(slow) if doubt else next(sure) for doubt in doubts]


class Reference:
    """The engine that every other must equal; loaded when it is needed, because most corpora never need its 200 MB."""

    def __init__(self, kind: EngineKind, vocabulary: Vocabulary, threads: int) -> None:
        self._make: Callable[[], Engine] = lambda: kind(vocabulary, threads)
        self._engine: Engine | None = None
        self._source = vocabulary.source
        self.name = kind.name
        self.version = metadata.version(kind.name) if util.find_spec(kind.name) else ""

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text.

        Raises:
            IngestError: the vocabulary cannot be loaded.
            NativeFailure: nothing can count one of the texts.
        """
        engine = self.load()
        try:
            return engine.count(texts)
        except NativeFailure as failure:
            raise NativeFailure(f"{self.name}: {failure}") from None

    def load(self) -> Engine:
        """The engine itself.

        Raises:
            IngestError: the vocabulary cannot be loaded.
        """
        if self._engine is None:
            try:
                with no_panic_message():
                    self._engine = self._make()
            except NativeFailure as failure:
                raise IngestError(f"--tokenizer: '{self._source}' cannot be loaded by {self.name}: {failure}") from None
        return self._engine

    def rest(self) -> None:
        """Free the memory until the next text."""
        self._engine = None
        give_back()


class EngineSelection(NamedTuple):
    """The engine of a run.

    Attributes:
        engine: counts the tokens.
        notes: why the fast engine is not used, where it is not.
    """

    engine: Engine
    notes: list[str]


def select_engine(
    vocabulary: Vocabulary, first_texts: Sequence[bytes], threads: int, fast: EngineKind = Gigatoken
) -> EngineSelection:
    """The fast engine, if it counts the first part of the real input and hard texts as the reference does; else the reference.

    Args:
        vocabulary: what to count with.
        first_texts: the first texts of the corpus, about 1 MB.
        threads: cores to use.
        fast: the engine to check.

    Raises:
        IngestError: the reference is not installed, or cannot count with this vocabulary.
    """
    reference = Reference(SentencePiece if vocabulary.sentencepiece else Tokenizers, vocabulary, threads)
    texts = [*first_texts, *hard_texts(vocabulary)]
    slower = f"tokens are counted by {reference.name} itself, slower than by an engine made for speed"
    if not vocabulary.tokenizer_json:
        expected_counts(reference, texts, vocabulary)
        return EngineSelection(reference, [slower])
    pool = worker_pool(1)
    if pool is None:
        counts = expected_counts(reference, texts, vocabulary)
        engine, found = _counted(fast, reference, vocabulary, texts, threads)
    else:
        with pool, one_line_failure():  # the reference loads and counts while this process does the same with the fast engine
            expected = pool.submit(_expected_in_worker, vocabulary, texts, threads)
            engine, found = _counted(fast, reference, vocabulary, texts, threads)
            counts = expected.result()
    reason = found if isinstance(found, str) else difference(texts, found, counts, reference.name)
    reference.rest()
    if engine is not None and not reason:
        return EngineSelection(engine, [])
    return EngineSelection(reference, [f"{fast.name} is not used: {reason}", slower])


def _counted(
    fast: EngineKind, reference: Reference, vocabulary: Vocabulary, texts: Sequence[bytes], threads: int
) -> tuple[CheckedEngine | None, list[int] | str]:
    """The fast engine and its counts, or why there are none."""
    try:
        with no_panic_message():
            engine = CheckedEngine(guarded(lambda: fast(vocabulary, threads)), reference, doubt_about(vocabulary))
            return engine, engine.fast_count(texts)
    except NativeFailure as failure:
        return None, str(failure)


def _expected_in_worker(vocabulary: Vocabulary, texts: Sequence[bytes], threads: int) -> list[int]:
    return expected_counts(Reference(Tokenizers, vocabulary, threads), texts, vocabulary)


def expected_counts(reference: Engine, texts: Sequence[bytes], vocabulary: Vocabulary) -> list[int]:
    """The counts of the reference.

    Raises:
        IngestError: it cannot count with this vocabulary.
    """
    try:
        with no_panic_message():
            return reference.count(texts)
    except NativeFailure as failure:
        raise IngestError(f"--tokenizer: '{vocabulary.source}' cannot be counted with: {failure}") from None
