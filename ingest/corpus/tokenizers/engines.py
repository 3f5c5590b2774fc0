"""The packages that count tokens, behind one interface."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

from ingest.corpus.native_calls import guarded
from ingest.corpus.tokenizers.tokenizer_json import load_reference, load_sentencepiece
from ingest.corpus.types import Vocabulary
from ingest.corpus.worker_process import MemoryGrowth, return_freed_memory

#: text per call of an engine: a whole batch
PART_BYTES = 16 << 20

#: gigatoken uses a single thread for less text
LEAST_PARALLEL_BYTES = 3_000_000

#: text per call of the reference, whose tokens take a hundred bytes each
REFERENCE_PART_BYTES = 1 << 20


def use_threads(threads: int) -> None:
    """Set how many threads the engines may start, unless the user has set it."""
    os.environ.setdefault("RAYON_NUM_THREADS", str(threads))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if threads > 1 else "false")


def uses_one_thread() -> bool:
    """Whether engines count in the thread that calls them, as in every worker process."""
    return os.environ.get("RAYON_NUM_THREADS") == "1"


def calls_of(texts: Sequence[bytes], most: int) -> Iterator[Sequence[bytes]]:
    """The texts in order, in lists of about `most` bytes; a longer text is alone.

    >>> list(calls_of([b"ab", b"c", b"defg"], most=3))
    [[b'ab', b'c'], [b'defg']]
    """
    part: list[bytes] = []
    size = 0
    for text in texts:
        if part and size + len(text) > most:
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part


class _Engine:
    """An engine of a package, by its name.

    Attributes:
        part_bytes: text per call; encodings of the reference take a hundred bytes per token.
    """

    name: str
    part_bytes = REFERENCE_PART_BYTES

    def __init__(self, vocabulary: Vocabulary, threads: int) -> None:
        use_threads(threads)
        self.version = metadata.version(self.name)
        self._vocabulary, self._threads = vocabulary, threads
        self._load()

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text."""
        return [tokens for part in calls_of(texts, self.part_bytes) for tokens in self._count_part(part)]

    def _load(self) -> None:
        raise NotImplementedError

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        raise NotImplementedError


class Tokenizers(_Engine):
    """`tokenizers`, the reference of every vocabulary but SentencePiece models."""

    name = "tokenizers"

    def _load(self) -> None:
        self._tokenizer = load_reference(self._vocabulary.tokenizer_json, self._vocabulary.source)

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        decoded = [text.decode() for text in texts]
        encodings = guarded(lambda: self._tokenizer.encode_batch_fast(decoded, add_special_tokens=False))
        return [len(encoding) for encoding in encodings]


class Gigatoken(_Engine):
    """`gigatoken`; its cache of words grows without limit, so it restarts at the memory limit of the process."""

    name = "gigatoken"
    part_bytes = PART_BYTES

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        if self._growth.over_limit():
            self._load()
        size = sum(map(len, texts))
        self._growth.add_text(size)
        if uses_one_thread() or size < LEAST_PARALLEL_BYTES:
            encode = self._tokenizer.backend.encode
            return guarded(lambda: [len(encode(text)) for text in texts])
        encoded = guarded(lambda: self._tokenizer.encode_batch(list(texts), parallel=True))
        offsets = encoded.layout.offsets.data
        lengths: list[int] = (offsets[1:] - offsets[:-1]).tolist()
        return lengths

    def _load(self) -> None:
        from gigatoken import Tokenizer

        self._tokenizer: Any = None  # first, so that the two are never in memory together
        return_freed_memory()
        self._tokenizer = guarded(lambda: Tokenizer.from_json(self._vocabulary.tokenizer_json))
        self._growth = MemoryGrowth()


class SentencePiece(_Engine):
    """`sentencepiece`, the reference of its models."""

    name = "sentencepiece"

    def _load(self) -> None:
        self._model = load_sentencepiece(self._vocabulary.sentencepiece, self._vocabulary.source)

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        decoded = [text.decode() for text in texts]
        threads = 1 if uses_one_thread() else self._threads
        return [len(ids) for ids in guarded(lambda: self._model.encode(decoded, num_threads=threads))]
