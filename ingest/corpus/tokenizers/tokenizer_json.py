"""A vocabulary in a file of the user's: which kind it is, and whether it can be trusted to load."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.corpus.tokenizers.native_calls import NativeFailure, guarded, no_panic_message
from ingest.corpus.tokenizers.vocabulary import Vocabulary
from ingest.errors import IngestError, brief
from ingest.files import write_whole

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def outline_of(described: dict[str, Any]) -> bytes:
    """All but the model, which alone can take a hundred megabytes once it is parsed.

    >>> outline_of({"normalizer": None, "model": {"type": "BPE"}})
    b'{"normalizer": null}'
    """
    return json.dumps({name: value for name, value in described.items() if name != "model"}).encode()


def members(step: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """The steps of a sequence, sequences within it included.

    >>> members({"type": "Sequence", "normalizers": [{"type": "NFC"}]}, "normalizers")
    [{'type': 'NFC'}]
    """
    if not step:
        return []
    if kind(step) != "Sequence":
        return [step]
    return [inner for outer in step.get(name) or [] for inner in members(outer, name)]


def kind(step: dict[str, Any]) -> str:
    """What a step is called."""
    return str(step.get("type"))


#: entries that are kept, those that were used last; each takes about 10 MB
MOST_ENTRIES = 16


class Converted(NamedTuple):
    """What is derived from the file of a vocabulary.

    Attributes:
        size: number of ids.
        outline: the `tokenizer.json` without its model.
        tokenizer_json: what every engine loads.
    """

    size: int
    outline: bytes
    tokenizer_json: bytes

    def packed(self) -> bytes:
        """As it is kept: a line that describes it, then the `tokenizer.json`."""
        head = json.dumps({"size": self.size, "outline": self.outline.decode()})
        return head.encode() + b"\n" + self.tokenizer_json

    @classmethod
    def unpacked(cls, content: bytes) -> Converted:
        """From what was kept."""
        head, _, tokenizer_json = content.partition(b"\n")
        described = json.loads(head)
        return cls(described["size"], described["outline"].encode(), tokenizer_json)


def converted(key: str, convert: Callable[[], Converted]) -> Converted:
    """What `convert` returns, from the cache where it is there whole."""
    return Converted.unpacked(cached(key, lambda: convert().packed()))


def cached(key: str, convert: Callable[[], bytes]) -> bytes:
    """What `convert` returns, from the cache where it is there whole.

    An entry begins with the SHA-256 of the rest, so that a damaged one is noticed and made again. A folder that cannot be
    written costs time, not the answer.
    """
    path = cache_folder() / f"{key}.json"
    kept = read_entry(path)
    if kept is not None:
        return kept
    content = convert()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        forget_oldest(path.parent)
    except (OSError, IngestError):
        return content
    return content


def read_entry(path: Path) -> bytes | None:
    """An entry of the cache, or nothing where it is missing or damaged."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest().encode() != digest:
        return None
    with suppress(OSError):  # the time of its last use, which a cache that cannot be written does not keep
        os.utime(path)
    return content


def forget_oldest(folder: Path) -> None:
    """Keep the cache bounded: entries that have not been used for the longest time go."""
    entries = sorted(folder.glob("*.json"), key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
    for entry in entries[MOST_ENTRIES:]:
        entry.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Where conversions are kept: `ingest/vocabularies` in the user's cache folder."""
    if os.name == "nt":
        root = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "ingest" / "vocabularies"


#: changes when the conversion does, so that what was converted before is not used again
CONVERSION = "1"

#: the largest vocabulary file that is read; the largest published ones stay below 40 MB
LARGEST_FILE = 128 << 20

#: the most ids that a vocabulary may have; the largest published ones have 300,000
MOST_IDS = 1 << 24


def from_file(path: Path, pattern: str, wanted: str) -> Vocabulary:
    """The vocabulary in a file, by what the file holds rather than by what it is called.

    Raises:
        IngestError: it cannot be read, is too large, or is none of the known kinds.
    """
    from ingest.corpus.tokenizers.sentencepiece_model import from_sentencepiece, is_sentencepiece
    from ingest.corpus.tokenizers.tiktoken_ranks import from_rank_file, is_rank_file

    content = read_limited(path)
    if is_rank_file(content):
        return from_rank_file(content, pattern, name=wanted, source=str(path))
    if pattern:
        raise IngestError(f"--tokenizer: '{path}' is no rank file (lines of base64 and a number), so it takes no ':{pattern}'")
    if content.lstrip()[:1] == b"{":
        return from_tokenizer_json(content, name=wanted, source=str(path))
    if is_sentencepiece(content):
        return from_sentencepiece(content, name=wanted, source=str(path))
    raise IngestError(f"--tokenizer: '{path}' is no tokenizer.json, no rank file (.tiktoken) and no SentencePiece model")


def read_limited(path: Path) -> bytes:
    """The content of a vocabulary file.

    Raises:
        IngestError: it cannot be read, or is larger than any vocabulary is.
    """
    if path.is_dir():
        path = path / "tokenizer.json"
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise IngestError(f"--tokenizer: '{path}' cannot be read: {error.strerror}") from None
    if len(content) > LARGEST_FILE:
        raise IngestError(f"--tokenizer: '{path}' is larger than {LARGEST_FILE >> 20} MiB, which no vocabulary is")
    return content


def from_tokenizer_json(content: bytes, *, name: str, source: str, license: str = "") -> Vocabulary:
    """A vocabulary from the text of a `tokenizer.json`.

    Raises:
        IngestError: it is no JSON, or `tokenizers` cannot load it.
    """

    digest = hashlib.sha256(content).hexdigest()
    made = converted(f"{digest}-{CONVERSION}", lambda: convert(content, source))
    return Vocabulary(name, "tokenizer.json", made.size, digest, source, license, made.tokenizer_json, made.outline)


def convert(content: bytes, source: str) -> Converted:
    """What engines load, from the text of a `tokenizer.json`.

    Raises:
        IngestError: it is no JSON, or `tokenizers` cannot load it.
    """

    try:
        described = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise IngestError(f"--tokenizer: '{source}' is no JSON: {error}") from None
    if not isinstance(described, dict) or not isinstance(described.get("model"), dict):
        raise IngestError(f"--tokenizer: '{source}' is no tokenizer.json: expected an object with 'model'")
    # The reference numbers added tokens anew, other engines take the ids as they stand: these are looked at first.
    checked_size(largest_added_id(described, source) + 1, source, least=0)
    plain = json.dumps(without_extras(described), ensure_ascii=False).encode("utf-8", "surrogatepass")
    size = checked_size(largest_id(load_reference(plain, source)) + 1, source)
    return Converted(size, outline_of(described), plain)


def without_extras(described: dict[str, Any]) -> dict[str, Any]:
    """Without what would change a count at random or cut it short: dropout, truncation, padding; no special tokens are added.

    >>> without_extras({"model": {"dropout": 0.1}, "truncation": {"max_length": 512}})
    {'model': {'dropout': None}, 'truncation': None, 'padding': None, 'post_processor': None}
    """
    model = described["model"]
    if "dropout" in model:
        model = {**model, "dropout": None}
    return {**described, "model": model, "truncation": None, "padding": None, "post_processor": None}


def load_reference(tokenizer_json: bytes, source: str) -> Tokenizer:
    """The reference that every engine is checked against.

    Raises:
        IngestError: `tokenizers` refuses the file.
    """
    from tokenizers import Tokenizer

    try:
        with no_panic_message():
            return guarded(lambda: Tokenizer.from_buffer(tokenizer_json))
    except NativeFailure as failure:
        raise IngestError(f"--tokenizer: '{source}' cannot be loaded by tokenizers: {failure}") from None


def checked_size(size: int, source: str, least: int = 1) -> int:
    """The number of ids, if a vocabulary may have so many: engines hold a table by id.

    Raises:
        IngestError: there are none, or far more than any vocabulary has.

    >>> checked_size(4_000_000_001, "t.json")
    Traceback (most recent call last):
    ingest.errors.IngestError: --tokenizer: 't.json' has ids up to 4000000000; expected at least one, and at most 16777215
    """
    if least <= size <= MOST_IDS:
        return size
    raise IngestError(f"--tokenizer: '{source}' has ids up to {size - 1}; expected at least one, and at most {MOST_IDS - 1}")


def largest_added_id(described: dict[str, Any], source: str) -> int:
    """The largest id that the file gives an added token; -1 where it adds none.

    Raises:
        IngestError: an id that is no number from 0.
    """
    added = described.get("added_tokens") or []
    ids: list[Any] = [one.get("id") if isinstance(one, dict) else None for one in added] if isinstance(added, list) else [None]
    wrong = [one for one in ids if isinstance(one, bool) or not isinstance(one, int) or one < 0]
    if wrong:
        raise IngestError(f"--tokenizer: '{source}' has an added token with the id {brief(wrong[0])}, expected a number from 0")
    return int(max(ids, default=-1))


def largest_id(tokenizer: Tokenizer) -> int:
    """The largest id that the vocabulary can yield."""
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
