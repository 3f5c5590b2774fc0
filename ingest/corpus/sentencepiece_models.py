"""SentencePiece models: read without any package, and spelled as a `tokenizer.json` where that counts the same.

Where its package is installed, SentencePiece itself is what every engine has to equal.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ingest.corpus.vocabulary import Vocabulary
from ingest.errors import IngestError

#: how SentencePiece spells a space
SPACE = "▁"

#: the numbers of the fields in SentencePiece's published description of the file
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_TEXT, _SCORE, _TYPE = 1, 2, 3
_MODEL_TYPE, _SPACE_AS_SUFFIX, _BYTE_FALLBACK = 3, 24, 35
_CHARSMAP, _DUMMY_PREFIX, _NO_EXTRA_SPACES, _ESCAPE_SPACES = 2, 3, 4, 5
UNIGRAM, BPE = 1, 2
NORMAL, UNKNOWN, USER_DEFINED = 1, 2, 4

Field = int | bytes


@dataclass(frozen=True)
class Token:
    """A piece with its score and type."""

    text: str
    score: float
    type: int


@dataclass(frozen=True)
class Model:
    """What is needed of a model.

    Attributes:
        tokens: pieces by id.
        type: 1 is unigram, 2 is BPE.
        byte_fallback: whether unknown characters become bytes.
        charsmap: how characters are normalized, as SentencePiece compiled it.
        dummy_prefix: whether a space is put before every text.
        no_extra_spaces: whether runs of spaces become one, and those at the ends nothing.
        plain: whether spaces are spelled in the usual way, before words.
    """

    tokens: tuple[Token, ...]
    type: int
    byte_fallback: bool
    charsmap: bytes
    dummy_prefix: bool
    no_extra_spaces: bool
    plain: bool


def is_sentencepiece(content: bytes) -> bool:
    """Whether the file begins with a piece, as SentencePiece models do."""
    return content[:1] == b"\n"


def from_sentencepiece(content: bytes, *, name: str, source: str) -> Vocabulary:
    """A vocabulary from a SentencePiece model.

    Raises:
        IngestError: the file is no such model.
    """
    from ingest.corpus.vocabulary_files import from_tokenizer_json

    model = read_model(content, source)
    digest = hashlib.sha256(content).hexdigest()
    made = Vocabulary(name, "sentencepiece", len(model.tokens), digest, source, "", b"", sentencepiece=content)
    spelled = tokenizer_json(model)
    if spelled is None:
        return made
    loaded = from_tokenizer_json(spelled, name=name, source=source)
    return replace(made, tokenizer_json=loaded.tokenizer_json, outline=loaded.outline)


def read_model(content: bytes, source: str) -> Model:
    """The parts of a model that decide how text is cut.

    Raises:
        IngestError: the file is no such model.
    """
    try:
        top = list(fields(content))
        tokens = tuple(token_of(value) for number, value in top if number == _PIECES and isinstance(value, bytes))
        trainer, normalizer = (dict(fields(part(top, number))) for number in (_TRAINER, _NORMALIZER))
    except (ValueError, IndexError, struct.error) as error:
        raise IngestError(f"--tokenizer: '{source}' is no SentencePiece model: {error}") from None
    if not tokens:
        raise IngestError(f"--tokenizer: '{source}' is no SentencePiece model: it holds no pieces")
    return Model(
        tokens,
        type=int(trainer.get(_MODEL_TYPE, UNIGRAM)),
        byte_fallback=bool(trainer.get(_BYTE_FALLBACK, 0)),
        charsmap=bytes_of(normalizer.get(_CHARSMAP, b"")),
        dummy_prefix=bool(normalizer.get(_DUMMY_PREFIX, 1)),
        no_extra_spaces=bool(normalizer.get(_NO_EXTRA_SPACES, 1)),
        plain=bool(normalizer.get(_ESCAPE_SPACES, 1)) and not trainer.get(_SPACE_AS_SUFFIX, 0),
    )


def token_of(content: bytes) -> Token:
    """A piece."""
    read = dict(fields(content))
    (score,) = struct.unpack("<f", bytes_of(read.get(_SCORE, bytes(4))))
    return Token(bytes_of(read.get(_TEXT, b"")).decode("utf-8"), score, int(read.get(_TYPE, NORMAL)))


def part(top: list[tuple[int, Field]], number: int) -> bytes:
    """The last message with this number, empty where there is none."""
    return next((bytes_of(value) for found, value in reversed(top) if found == number), b"")


def bytes_of(value: Field) -> bytes:
    """The value, which has to be bytes.

    Raises:
        ValueError: it is a number.
    """
    if isinstance(value, bytes):
        return value
    raise ValueError("a number where bytes were expected")


def fields(content: bytes) -> Iterator[tuple[int, Field]]:
    r"""Number and value of each field of a message; floats stay bytes.

    >>> list(fields(b"\x08\x96\x01\x12\x02hi"))
    [(1, 150), (2, b'hi')]
    """
    place = 0
    while place < len(content):
        key, place = varint(content, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = varint(content, place)
            yield number, value
            continue
        if wire not in (1, 2, 5):
            raise ValueError(f"a field of the unknown kind {wire}")
        size, place = varint(content, place) if wire == 2 else ({1: 8, 5: 4}[wire], place)
        if place + size > len(content):
            raise ValueError("it ends within a field")
        yield number, content[place : place + size]
        place += size


def varint(content: bytes, place: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number of more than ten bytes")


def tokenizer_json(model: Model) -> bytes | None:
    """The model as a `tokenizer.json`, or nothing where that would not always count the same.

    `tokenizers` normalizes by a charsmap cluster by cluster, strips other blanks than spaces, puts a space before the text
    after each user-defined token, and takes `<0x41>` in a text for that byte in a unigram model; SentencePiece does none of it.
    """
    has_user_tokens = any(token.type == USER_DEFINED for token in model.tokens)
    if not model.plain or model.charsmap or model.no_extra_spaces or has_user_tokens:
        return None
    if model.type != BPE and (model.type != UNIGRAM or model.byte_fallback):
        return None
    described: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers(model)},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": bpe(model) if model.type == BPE else unigram(model),
    }
    return json.dumps(described, ensure_ascii=False).encode()


def normalizers(model: Model) -> list[dict[str, Any]]:
    """What SentencePiece does to a text first."""
    prefix = [{"type": "Prepend", "prepend": SPACE}] if model.dummy_prefix else []
    return [*prefix, {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]


def bpe(model: Model) -> dict[str, Any]:
    """A BPE model: every way to join two pieces into a third, the third with the best score first."""
    usable = {token.text: token.score for token in model.tokens if token.type == NORMAL}
    ways = (
        (text[:cut], text[cut:])
        for text in sorted(usable, key=lambda text: -usable[text])
        for cut in range(1, len(text))
        if text[:cut] in usable and text[cut:] in usable
    )
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown(model),
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": model.byte_fallback,
        "ignore_merges": False,
        "vocab": {token.text: place for place, token in enumerate(model.tokens)},
        "merges": [list(way) for way in ways],
    }


def unigram(model: Model) -> dict[str, Any]:
    """A unigram model, without the tokens that SentencePiece never finds in a text; ids do not matter to a count."""
    found = [[token.text, token.score] for token in model.tokens if token.type == NORMAL]
    return {"type": "Unigram", "unk_id": 0, "vocab": [[unknown(model), 0.0], *found], "byte_fallback": False}


def unknown(model: Model) -> str:
    """The token for what has no token."""
    return next((token.text for token in model.tokens if token.type == UNKNOWN), "<unk>")
