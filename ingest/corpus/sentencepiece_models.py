"""SentencePiece models."""

from __future__ import annotations

from ingest.corpus.vocabulary import Vocabulary
from ingest.errors import IngestError


def is_sentencepiece(content: bytes) -> bool:
    """Whether the file begins with a piece, as SentencePiece models do."""
    return content[:1] == b"\n"


def from_sentencepiece(content: bytes, *, name: str, source: str) -> Vocabulary:
    """A vocabulary from a SentencePiece model."""
    raise IngestError(f"--tokenizer: '{source}' is a SentencePiece model ({len(content)} bytes), which is not read yet; '{name}'")
