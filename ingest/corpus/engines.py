"""Counting tokens: the fastest engine that is installed and that counts as the reference does.

The reference is what the vocabulary's user would call: `tokenizers.Tokenizer.encode(text, add_special_tokens=False)`, or
SentencePiece for its models. Added tokens that a `tokenizer.json` names are found in the text, as there; rank files name none,
so that `<|endoftext|>` in a document is plain text, as in `tiktoken.Encoding.encode_ordinary`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import util
from typing import Protocol

from ingest.corpus.disputed_texts import doubt_about
from ingest.corpus.engine_kinds import Fastokens, Gigatoken, SentencePiece, Tokenizers
from ingest.corpus.native_calls import NativeFailure, guarded, no_panic_message
from ingest.corpus.proof import difference, hard_texts
from ingest.corpus.resident import give_back
from ingest.corpus.vocabulary import Vocabulary
from ingest.errors import IngestError


class Engine(Protocol):
    """What counts tokens.

    Attributes:
        name: the package.
        version: its version.
    """

    name: str
    version: str

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text, no special tokens added; texts are UTF-8."""
        ...


class Candidate(Protocol):
    """What makes an engine, or raises where it is not installed or cannot load the vocabulary."""

    name: str

    def __call__(self, vocabulary: Vocabulary, threads: int) -> Engine:
        """The engine, ready to count."""
        ...


class Guarded:
    """A fast engine, with the reference for the texts on which their tables of characters may disagree."""

    def __init__(self, fast: Engine, reference: Engine, in_doubt: Callable[[bytes], bool]) -> None:
        self.name, self.version = fast.name, fast.version
        self._fast, self._reference, self._in_doubt = fast, reference, in_doubt

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text; texts on which the fast engine fails are counted by the reference."""
        try:
            return self.fast_count(texts)
        except NativeFailure:
            return self._reference.count(texts)

    def fast_count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text, or the failure of an engine."""
        doubts = [self._in_doubt(text) for text in texts]
        if not any(doubts):
            return self._fast.count(texts)
        sure = iter(self._fast.count([text for text, doubt in zip(texts, doubts, strict=True) if not doubt]))
        slow = iter(self._reference.count([text for text, doubt in zip(texts, doubts, strict=True) if doubt]))
        return [next(slow) if doubt else next(sure) for doubt in doubts]


class Reference:
    """What every engine has to equal; made when it is needed, because some take 200 MB that most corpora never need again."""

    def __init__(self, kind: Candidate, vocabulary: Vocabulary, threads: int) -> None:
        self._make: Callable[[], Engine] = lambda: kind(vocabulary, threads)
        self._engine: Engine | None = self._make()
        self.name, self.version = self._engine.name, self._engine.version

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text.

        Raises:
            NativeFailure: there is a text that nothing can count.
        """
        if self._engine is None:
            self._engine = self._make()
        try:
            return self._engine.count(texts)
        except NativeFailure as failure:
            raise NativeFailure(f"{self.name}: {failure}") from None

    def rest(self) -> None:
        """Hold no memory until the next text."""
        self._engine = None
        give_back()


#: from the fastest down; each has to prove itself
CANDIDATES: tuple[Candidate, ...] = (Gigatoken, Fastokens)


def engine_for(
    vocabulary: Vocabulary, proof: Sequence[bytes], threads: int, candidates: Sequence[Candidate] = CANDIDATES
) -> tuple[Engine, list[str]]:
    """The first engine that counts as the reference does on the beginning of the real input.

    Args:
        vocabulary: what to count with.
        proof: the first texts of the corpus, about 1 MB.
        threads: cores to use.
        candidates: engines to try, the fastest first.

    Returns:
        The engine, and a note per engine that was passed over and why.

    Raises:
        IngestError: the reference cannot count with this vocabulary.
    """
    reference, notes = reference_for(vocabulary, threads)
    texts = [*proof, *hard_texts(vocabulary)]
    expected = expected_counts(reference, texts, vocabulary)
    doubt = doubt_about(vocabulary)
    for candidate in candidates if vocabulary.tokenizer_json else ():
        try:
            engine = Guarded(made(candidate, vocabulary, threads), reference, doubt)
            found = engine.fast_count(texts)
        except NativeFailure as failure:
            notes.append(f"{candidate.name} is not used: {failure}")
            continue
        if found == expected:
            reference.rest()
            return engine, notes
        notes.append(f"{candidate.name} is not used: {difference(texts, found, expected, reference.name)}")
    notes.append(f"tokens are counted by {reference.name} itself, slower than by an engine made for speed")
    return reference, notes


def reference_for(vocabulary: Vocabulary, threads: int) -> tuple[Reference, list[str]]:
    """What every engine has to equal, and a note where it is not the vocabulary's own package.

    Raises:
        IngestError: only SentencePiece can count with the model, and it is not installed.
    """
    if not vocabulary.sentencepiece:
        return Reference(Tokenizers, vocabulary, threads), []
    if util.find_spec("sentencepiece"):
        return native_reference(vocabulary, threads), []
    install = "pip install 'ingest-sizing[vocabularies]'"
    if not vocabulary.tokenizer_json:
        raise IngestError(f"--tokenizer: '{vocabulary.source}' can only be counted by sentencepiece: {install}")
    return Reference(Tokenizers, vocabulary, threads), [
        f"the model was converted, and not compared with sentencepiece: {install}"
    ]


def native_reference(vocabulary: Vocabulary, threads: int) -> Reference:
    """SentencePiece with its own model.

    Raises:
        IngestError: it refuses the model.
    """
    try:
        with no_panic_message():
            return guarded(lambda: Reference(SentencePiece, vocabulary, threads))
    except NativeFailure as failure:
        raise IngestError(f"--tokenizer: '{vocabulary.source}' cannot be loaded by sentencepiece: {failure}") from None


def made(candidate: Candidate, vocabulary: Vocabulary, threads: int) -> Engine:
    """The candidate's engine.

    Raises:
        NativeFailure: it is not installed, or refuses the vocabulary.
    """
    with no_panic_message():
        return guarded(lambda: candidate(vocabulary, threads))


def expected_counts(reference: Engine, texts: Sequence[bytes], vocabulary: Vocabulary) -> list[int]:
    """What the reference counts.

    Raises:
        IngestError: it cannot count with this vocabulary.
    """
    try:
        with no_panic_message():
            return reference.count(texts)
    except NativeFailure as failure:
        raise IngestError(f"--tokenizer: '{vocabulary.source}' cannot be counted with: {failure}") from None
