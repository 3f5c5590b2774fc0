"""The packages that count tokens, each behind the same two names and one call."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import pairwise
from typing import Any

from ingest.corpus.native_calls import guarded
from ingest.corpus.resident import Growth, give_back
from ingest.corpus.vocabulary import Vocabulary

#: text that is handed to an engine at once, a whole batch: more would only hold more tokens in memory
PART_BYTES = 16 << 20

#: gigatoken uses one thread alone for less text
LEAST_PARALLEL_BYTES = 3_000_000

#: the same for the reference, whose tokens take a hundred bytes each
REFERENCE_PART_BYTES = 1 << 20


def use_threads(threads: int) -> None:
    """Say how many threads the engines may start; what the user has set stays."""
    os.environ.setdefault("RAYON_NUM_THREADS", str(threads))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if threads > 1 else "false")


def uses_one_thread() -> bool:
    """Whether engines count in the thread that calls them, as in every copy of a process."""
    return os.environ.get("RAYON_NUM_THREADS") == "1"


def parts_of(texts: Sequence[bytes], most: int) -> Iterator[Sequence[bytes]]:
    """The texts in order, in parts of about `most` bytes; a longer text is a part of its own.

    >>> list(parts_of([b"ab", b"c", b"defg"], most=3))
    [[b'ab', b'c'], [b'defg']]
    """
    part: list[bytes] = []
    held = 0
    for text in texts:
        if part and held + len(text) > most:
            yield part
            part, held = [], 0
        part.append(text)
        held += len(text)
    if part:
        yield part


class Tokenizers:
    """`tokenizers`, which every faster engine must equal."""

    name = "tokenizers"

    def __init__(self, vocabulary: Vocabulary, threads: int) -> None:
        from ingest.corpus.vocabulary_files import load_reference

        use_threads(threads)
        self.version = metadata.version("tokenizers")
        self._tokenizer = load_reference(vocabulary.tokenizer_json, vocabulary.source)

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text; little at once, because an encoding takes a hundred bytes per token."""
        return [tokens for part in parts_of(texts, REFERENCE_PART_BYTES) for tokens in self._count_part(part)]

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        decoded = [text.decode() for text in texts]
        encodings = guarded(lambda: self._tokenizer.encode_batch_fast(decoded, add_special_tokens=False))
        return [len(encoding) for encoding in encodings]


class Gigatoken:
    """`gigatoken`; its memory of words it has met grows without end, so it is begun anew where the process grows too large."""

    name = "gigatoken"

    def __init__(self, vocabulary: Vocabulary, threads: int) -> None:
        use_threads(threads)
        self.version = metadata.version("gigatoken")
        self._json = vocabulary.tokenizer_json
        self._begin_anew()

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text; of the tokens only the lengths are looked at."""
        counts: list[int] = []
        for part in parts_of(texts, PART_BYTES):
            if self._words.too_many():
                self._begin_anew()
            counts.extend(self._count_part(list(part)))
            self._words.fed(sum(map(len, part)))
        return counts

    def _count_part(self, texts: list[bytes]) -> list[int]:
        if uses_one_thread() or sum(map(len, texts)) < LEAST_PARALLEL_BYTES:
            encode = self._tokenizer.backend.encode
            return guarded(lambda: [len(encode(text)) for text in texts])
        encoded = guarded(lambda: self._tokenizer.encode_batch(texts, parallel=True))
        offsets = encoded.layout.offsets.data
        lengths: list[int] = (offsets[1:] - offsets[:-1]).tolist()
        return lengths

    def _begin_anew(self) -> None:
        from gigatoken import Tokenizer

        self._tokenizer: Any = None  # before the new one, so that the two are never held together
        give_back()
        self._tokenizer = guarded(lambda: Tokenizer.from_json(self._json))
        self._words = Growth()


class Fastokens:
    """`fastokens`."""

    name = "fastokens"

    def __init__(self, vocabulary: Vocabulary, threads: int) -> None:
        from fastokens import Tokenizer  # type: ignore[import-untyped]

        use_threads(threads)
        self.version = metadata.version("fastokens")
        self._tokenizer = guarded(lambda: Tokenizer.from_json_str(vocabulary.tokenizer_json.decode()))

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text."""
        return [tokens for part in parts_of(texts, PART_BYTES) for tokens in self._count_part(part)]

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        from array import array

        decoded = [text.decode() for text in texts]
        _, packed = guarded(lambda: self._tokenizer.encode_batch_flat(decoded))
        offsets = array("Q", packed)
        return [end - start for start, end in pairwise(offsets)]


class SentencePiece:
    """`sentencepiece` itself, which every other engine must equal on its models."""

    name = "sentencepiece"

    def __init__(self, vocabulary: Vocabulary, threads: int) -> None:
        from sentencepiece import SentencePieceProcessor

        self.version = metadata.version("sentencepiece")
        use_threads(threads)
        self._threads = threads
        self._model = guarded(lambda: SentencePieceProcessor(model_proto=vocabulary.sentencepiece))

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text."""
        return [tokens for part in parts_of(texts, REFERENCE_PART_BYTES) for tokens in self._count_part(part)]

    def _count_part(self, texts: Sequence[bytes]) -> list[int]:
        decoded = [text.decode() for text in texts]
        threads = 1 if uses_one_thread() else self._threads
        return [len(ids) for ids in guarded(lambda: self._model.encode(decoded, num_threads=threads))]
