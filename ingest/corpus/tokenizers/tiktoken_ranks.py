"""Rank files (`.tiktoken`): a token in base64 and its rank per line. The file lacks the pattern that splits text into words."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from ingest.corpus.tokenizers.tokenizer_json import Converted, cached, checked_size, outline_of
from ingest.corpus.types import Vocabulary
from ingest.errors import IngestError, UsageError, one_of

Ranks = dict[bytes, int]

_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_O200K = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)

#: patterns that split text into words, by vocabulary
PATTERNS = {"r50k": _GPT2, "gpt2": _GPT2, "p50k": _GPT2, "cl100k": _CL100K, "llama3": _CL100K, "o200k": _O200K}

#: patterns of published rank files, by SHA-256
KNOWN_FILES = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": "r50k",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": "p50k",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": "cl100k",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": "o200k",
}

#: version of the conversion: part of the cache key
CONVERSION = "2"

_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")


def is_rank_file(content: bytes) -> bool:
    r"""Whether the file begins with a line of a rank file.

    >>> is_rank_file(b"IQ== 0\nIg== 1\n")
    True
    >>> is_rank_file(b"{}")
    False
    """
    return _LINE.match(content) is not None


def from_rank_file(content: bytes, pattern: str, *, name: str, source: str, license: str = "") -> Vocabulary:
    """A vocabulary from a rank file.

    Raises:
        UsageError: the pattern is missing or unknown.
        IngestError: a line is broken, or a byte has no token.
    """
    digest = hashlib.sha256(content).hexdigest()
    chosen = pattern or KNOWN_FILES.get(digest, "")
    if not chosen:
        raise UsageError(
            f"--tokenizer: '{source}' is an unknown rank file, which lacks the pattern that splits text into words: write"
            f" --tokenizer {source}:PATTERN, as in ranks.tiktoken:cl100k ({', '.join(PATTERNS)})"
        )
    one_of(f"--tokenizer: pattern of '{source}'", chosen, PATTERNS)
    made = cached(f"{digest}-{chosen}-{CONVERSION}", lambda: convert(content, PATTERNS[chosen], source))
    return Vocabulary(name, "rank file", made.size, digest, source, license, made.tokenizer_json, made.outline)


def convert(content: bytes, pattern: str, source: str) -> Converted:
    """Convert a rank file.

    Raises:
        IngestError: a line is broken, or a byte has no token.
    """
    ranks = read_ranks(content, source)
    size = checked_size(max(ranks.values()) + 1, source)
    return Converted(size, outline_of({"pre_tokenizer": byte_level(pattern)}), tokenizer_json(ranks, pattern))


def read_ranks(content: bytes, source: str) -> Ranks:
    r"""Tokens and their ranks.

    Raises:
        IngestError: a line is not a token and a number, two tokens share a rank, or a byte has no token.

    >>> read_ranks(b"IQ==\n", "ranks.tiktoken")
    Traceback (most recent call last):
    ingest.errors.IngestError: --tokenizer: 'ranks.tiktoken' line 1: expected base64 and a rank, found b'IQ=='
    """
    ranks: Ranks = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise IngestError(
                f"--tokenizer: '{source}' line {number}: expected base64 and a rank, found {line[:40]!r}"
            ) from None
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise IngestError(f"--tokenizer: '{source}' has no token for the byte 0x{missing[0]:02x}, expected all 256 bytes")
    if len(set(ranks.values())) != len(ranks):
        raise IngestError(f"--tokenizer: '{source}' gives two tokens the same rank")
    return ranks


def tokenizer_json(ranks: Ranks, pattern: str) -> bytes:
    """Convert ranks to a `tokenizer.json` with equal tokens."""
    letters = byte_letters()
    spelled = {token: "".join(letters[byte] for byte in token) for token in ranks}
    described: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": byte_level(pattern),
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {spelled[token]: rank for token, rank in ranks.items()},
            "merges": [[spelled[left], spelled[right]] for left, right in merges_of(ranks)],
        },
    }
    return json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode()


def merges_of(ranks: Ranks) -> Iterator[tuple[bytes, bytes]]:
    """Every way to join two tokens into a third, by the third's rank.

    A rank file allows each of them; one way per token, as training writes it, would change some tokens.
    """
    for token in sorted(ranks, key=ranks.__getitem__):
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in ranks and right in ranks:
                yield left, right


def byte_level(pattern: str) -> dict[str, Any]:
    """The pre-tokenizer: split by the pattern, then spell bytes as letters."""
    return {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ],
    }


def byte_order() -> list[int]:
    """Bytes in GPT-2's order: printable ones first."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [*printing, *(byte for byte in range(256) if byte not in printing)]


def byte_letters() -> dict[int, str]:
    """The letter that a byte-level vocabulary writes for each byte.

    >>> byte_letters()[0x20], byte_letters()[0x41]
    ('Ġ', 'A')
    """
    order = byte_order()
    printing = 188
    return {byte: chr(byte) if place < printing else chr(256 + place - printing) for place, byte in enumerate(order)}


def ranks_of_merges(content: bytes) -> bytes:
    """GPT-2's list of merges as a rank file: the 256 bytes, then one token per merge.

    Raises:
        ValueError: a line is not a merge of two tokens.
    """
    byte_of = {letter: byte for byte, letter in byte_letters().items()}
    tokens = [bytes([byte]) for byte in byte_order()]
    for line in content.decode("utf-8").splitlines():
        if line and not line.startswith("#version"):
            left, right = line.split(" ")
            tokens.append(bytes(byte_of[letter] for letter in left + right))
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
