"""A vocabulary trained on the corpus itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.corpus.described import outline_of
from ingest.corpus.vocabulary import Sample, Vocabulary
from ingest.errors import IngestError, UsageError, brief

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TRAIN = "train:"

#: every byte is a token, and more ids than this no published vocabulary has
SMALLEST_SIZE, LARGEST_SIZE = 257, 1_000_000

#: text that is handed to the trainer at once
PART_BYTES = 1 << 20


def trained_vocabulary(wanted: str, corpus_sample: Sample | None) -> Vocabulary:
    """Train a byte-level BPE on a sample of the corpus; the same sample gives the same vocabulary.

    Raises:
        UsageError: the size is no number in range.
        IngestError: there is nothing to train on.
    """
    size = size_asked(wanted)
    if corpus_sample is None:
        raise UsageError(f"--tokenizer: '{wanted}' needs a corpus to train on")
    content = trained(size, corpus_sample)
    digest = hashlib.sha256(content).hexdigest()
    outline = outline_of(json.loads(content))
    return Vocabulary(wanted, "trained", ids_in(content), digest, "trained on a sample of the corpus", "", content, outline)


def size_asked(wanted: str) -> int:
    """The number of ids in `train:SIZE`.

    >>> size_asked("train:32000")
    32000
    """
    word = wanted.removeprefix(TRAIN)
    if not word.isascii() or not word.isdigit() or not SMALLEST_SIZE <= int(word) <= LARGEST_SIZE:
        raise UsageError(
            f"--tokenizer: {brief(wanted)}: expected train: and a whole number from {SMALLEST_SIZE} to {LARGEST_SIZE},"
            " as in train:32000"
        )
    return int(word)


def trained(size: int, corpus_sample: Sample) -> bytes:
    """The text of the trained `tokenizer.json`."""
    from tokenizers import Tokenizer as Blank
    from tokenizers import decoders, pre_tokenizers, trainers
    from tokenizers.models import BPE

    tokenizer: Tokenizer = Blank(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=[]
    )
    parts = text_parts(corpus_sample)
    first = next(parts, None)
    if first is None:
        raise IngestError("--tokenizer: the corpus holds no text to train on")
    tokenizer.train_from_iterator(_with_first(first, parts), trainer=trainer)
    return tokenizer.to_str().encode()


def _with_first(first: str, parts: Iterator[str]) -> Iterator[str]:
    yield first
    yield from parts


def text_parts(corpus_sample: Sample) -> Iterator[str]:
    """The sample's texts, none longer than `PART_BYTES`."""
    for document in corpus_sample():
        for start in range(0, len(document), PART_BYTES):
            text = document[start : start + PART_BYTES].decode("utf-8", "ignore")
            if text:
                yield text


def ids_in(tokenizer_json: bytes) -> int:
    """Number of ids of a vocabulary."""
    from ingest.corpus.vocabulary_files import largest_id, load_reference

    return largest_id(load_reference(tokenizer_json, "trained")) + 1
