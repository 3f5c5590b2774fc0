"""Counting tokens: the fastest engine that is installed and that counts as the reference does.

The reference is what the vocabulary's user would call: `tokenizers.Tokenizer.encode(text, add_special_tokens=False)`, or
SentencePiece for its models. Added tokens that a `tokenizer.json` names are found in the text, as there; rank files name none,
so that `<|endoftext|>` in a document is plain text, as in `tiktoken.Encoding.encode_ordinary`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib import metadata, util
from itertools import chain, islice
from typing import Protocol

from ingest.corpus.apart import Beside
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
        self._engine: Engine | None = None
        self._source = vocabulary.source
        self.name = kind.name
        self.version = metadata.version(kind.name) if util.find_spec(kind.name) else ""

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text.

        Raises:
            IngestError: the vocabulary cannot be loaded.
            NativeFailure: there is a text that nothing can count.
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
        """Hold no memory until the next text."""
        self._engine = None
        give_back()


#: from the fastest down; each has to prove itself
CANDIDATES: tuple[Candidate, ...] = (Gigatoken, Fastokens)


class Trial:
    """The search for the first engine that counts as the reference does on the beginning of the real input.

    The reference and the first engine are loaded at once, in two processes, before the input is known.

    Args:
        vocabulary: what to count with.
        threads: cores to use.
        candidates: engines to try, the fastest first.

    Raises:
        IngestError: only SentencePiece can count with the model, and it is not installed.
    """

    def __init__(self, vocabulary: Vocabulary, threads: int, candidates: Sequence[Candidate] = CANDIDATES) -> None:
        self._vocabulary, self._threads = vocabulary, threads
        self._reference, self._notes = reference_for(vocabulary, threads)
        self._expected: Beside[list[bytes], list[int]] = Beside(self._counts_of_reference, self._reference.load)
        self._loaded = self._each_loaded(candidates)
        self._first = list(islice(self._loaded, 1))

    def _counts_of_reference(self, texts: list[bytes]) -> list[int]:
        return expected_counts(self._reference, texts, self._vocabulary)

    def _each_loaded(self, candidates: Sequence[Candidate]) -> Iterator[Guarded]:
        doubt = doubt_about(self._vocabulary)
        for candidate in candidates if self._vocabulary.tokenizer_json else ():
            try:
                yield Guarded(made(candidate, self._vocabulary, self._threads), self._reference, doubt)
            except NativeFailure as failure:
                self._notes.append(f"{candidate.name} is not used: {failure}")

    def engine(self, proof: Sequence[bytes]) -> tuple[Engine, list[str]]:
        """The engine, and a note per engine that was passed over and why.

        Args:
            proof: the first texts of the corpus, about 1 MB.

        Raises:
            IngestError: the reference cannot count with this vocabulary.
        """
        texts = [*proof, *hard_texts(self._vocabulary)]
        self._expected.ask(texts)
        for engine in chain(self._first, self._loaded):
            reason = self._why_not(engine, texts)
            if not reason:
                self._reference.rest()
                return engine, self._notes
            self._notes.append(f"{engine.name} is not used: {reason}")
        self._expected.result()  # a vocabulary that the reference cannot count with is refused here
        self._notes.append(f"tokens are counted by {self._reference.name} itself, slower than by an engine made for speed")
        return self._reference, self._notes

    def close(self) -> None:
        """Nothing is tried any more."""
        self._expected.close()

    def _why_not(self, engine: Guarded, texts: Sequence[bytes]) -> str:
        """Where an engine differs from the reference; nothing if nowhere."""
        try:
            found = engine.fast_count(texts)
        except NativeFailure as failure:
            return str(failure)
        expected = self._expected.result()
        return "" if found == expected else difference(texts, found, expected, self._reference.name)


def engine_for(
    vocabulary: Vocabulary, proof: Sequence[bytes], threads: int, candidates: Sequence[Candidate] = CANDIDATES
) -> tuple[Engine, list[str]]:
    """The engine that `Trial` finds, where the beginning of the input is known.

    Raises:
        IngestError: as `Trial` and its `engine`.
    """
    with closing(Trial(vocabulary, threads, candidates)) as trial:
        return trial.engine(proof)


def reference_for(vocabulary: Vocabulary, threads: int) -> tuple[Reference, list[str]]:
    """What every engine has to equal, and a note where it is not the vocabulary's own package.

    Raises:
        IngestError: only SentencePiece can count with the model, and it is not installed.
    """
    if not vocabulary.sentencepiece:
        return Reference(Tokenizers, vocabulary, threads), []
    if util.find_spec("sentencepiece"):
        return Reference(SentencePiece, vocabulary, threads), []
    install = "pip install 'ingest-sizing[vocabularies]'"
    if not vocabulary.tokenizer_json:
        raise IngestError(f"--tokenizer: '{vocabulary.source}' can only be counted by sentencepiece: {install}")
    return Reference(Tokenizers, vocabulary, threads), [
        f"the model was converted, and not compared with sentencepiece: {install}"
    ]


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
