"""Counting tokens: the fastest engine that is installed and that counts as `tokenizers` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ingest.corpus.engine_kinds import Fastokens, Gigatoken, Reference
from ingest.corpus.native_calls import NativeFailure, guarded, no_panic_message
from ingest.corpus.proof import difference, hard_texts
from ingest.corpus.vocabulary import Vocabulary
from ingest.corpus.young_characters import has_disputed


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
    """What makes an engine, or raises where it cannot load the vocabulary or is not installed."""

    name: str

    def __call__(self, vocabulary: Vocabulary, threads: int) -> Engine:
        """The engine, ready to count."""
        ...


class Guarded:
    """A fast engine, with the reference for the texts on which their tables of characters may disagree."""

    def __init__(self, fast: Engine, reference: Engine) -> None:
        self.name, self.version = fast.name, fast.version
        self._fast, self._reference = fast, reference

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text; texts on which the fast engine fails are counted by the reference."""
        try:
            return self.fast_count(texts)
        except NativeFailure:
            return self._reference.count(texts)

    def fast_count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text, or the failure of an engine."""
        disputed = [has_disputed(text) for text in texts]
        if not any(disputed):
            return self._fast.count(texts)
        sure = iter(self._fast.count([text for text, apart in zip(texts, disputed, strict=True) if not apart]))
        slow = iter(self._reference.count([text for text, apart in zip(texts, disputed, strict=True) if apart]))
        return [next(slow) if apart else next(sure) for apart in disputed]


#: from the fastest down; all but the reference have to prove themselves
CANDIDATES: tuple[Candidate, ...] = (Gigatoken, Fastokens)


def engine_for(
    vocabulary: Vocabulary,
    proof: Sequence[bytes],
    threads: int,
    candidates: Sequence[Candidate] = CANDIDATES,
) -> tuple[Engine, list[str]]:
    """The first engine that counts as the reference does on the beginning of the real input.

    Args:
        vocabulary: what to count with.
        proof: the first texts of the corpus, about 1 MB.
        threads: cores to use.
        candidates: engines to try, the fastest first.

    Returns:
        The engine, and a note per engine that was passed over.
    """
    reference = Reference(vocabulary, threads)
    texts = [*proof, *hard_texts(vocabulary)]
    expected = reference.count(texts)
    notes = []
    for candidate in candidates:
        engine, objection = proven(candidate, vocabulary, threads, reference, texts, expected)
        if engine:
            return engine, notes
        notes.append(f"{candidate.name} is not used: {objection}")
    notes.append("tokens are counted by tokenizers itself, about a hundred times slower")
    return reference, notes


def proven(
    candidate: Candidate, vocabulary: Vocabulary, threads: int, reference: Engine, texts: Sequence[bytes], expected: Sequence[int]
) -> tuple[Engine | None, str]:
    """The candidate's engine if it counts as expected; otherwise nothing and why not."""
    try:
        with no_panic_message():
            engine = Guarded(guarded(lambda: candidate(vocabulary, threads)), reference)
            found = engine.fast_count(texts)
    except NativeFailure as failure:
        return None, str(failure)
    return (engine, "") if found == expected else (None, difference(texts, found, expected))
