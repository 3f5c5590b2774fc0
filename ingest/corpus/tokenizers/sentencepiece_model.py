"""SentencePiece models, read and counted by the `sentencepiece` package."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ingest.corpus.native_calls import NativeFailure, guarded, no_panic_message
from ingest.corpus.types import Vocabulary
from ingest.errors import IngestError

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

#: how SentencePiece spells a space
SPACE = "▁"


def is_sentencepiece(content: bytes) -> bool:
    """Whether the file begins as a SentencePiece model."""
    return content[:1] == b"\n"


def from_sentencepiece(content: bytes, *, name: str, source: str) -> Vocabulary:
    """A vocabulary from a SentencePiece model.

    Raises:
        IngestError: the file is not a SentencePiece model, or the package is not installed.
    """
    size = loaded(content, source).get_piece_size()
    return Vocabulary(name, "sentencepiece", size, hashlib.sha256(content).hexdigest(), source, "", b"", sentencepiece=content)


def loaded(content: bytes, source: str) -> SentencePieceProcessor:
    """Load the model.

    Raises:
        IngestError: the file is not a SentencePiece model, or the package is not installed.
    """
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        needed = "is a SentencePiece model, which needs the package sentencepiece"
        raise IngestError(f"--tokenizer: '{source}' {needed}: pip install 'ingest-sizing[vocabularies]'") from None
    try:
        with no_panic_message():
            return guarded(lambda: SentencePieceProcessor(model_proto=content))
    except NativeFailure as failure:
        raise IngestError(f"--tokenizer: '{source}' is not a SentencePiece model: {failure}") from None
