"""The format `tokenizer.json`: checked, without what would change counts, and cached; loaders of the reference libraries."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.corpus.native_calls import guarded, refusals
from ingest.corpus.types import Vocabulary
from ingest.errors import IngestError, brief
from ingest.files import write_whole

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from tokenizers import Tokenizer


def outline_of(described: dict[str, Any]) -> bytes:
    """A `tokenizer.json` without its model, which can take a hundred megabytes once it is parsed.

    >>> outline_of({"normalizer": None, "model": {"type": "BPE"}})
    b'{"normalizer": null}'
    """
    return json.dumps({name: value for name, value in described.items() if name != "model"}).encode()


def members(step: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """The steps of a sequence; nested sequences are flattened.

    >>> members({"type": "Sequence", "normalizers": [{"type": "NFC"}]}, "normalizers")
    [{'type': 'NFC'}]
    """
    if not step:
        return []
    if kind(step) != "Sequence":
        return [step]
    return [inner for outer in step.get(name) or [] for inner in members(outer, name)]


def are_steps(step: Any, name: str) -> bool:
    """Whether `members` can read a step; the reference also loads lists in their place.

    >>> are_steps({"type": "NFC"}, "normalizers"), are_steps(["NFC"], "normalizers")
    (True, False)
    """
    if not step:
        return True
    inner = step.get(name) or [] if isinstance(step, dict) else None
    return isinstance(inner, list) and all(are_steps(one, name) for one in inner)


def kind(step: dict[str, Any]) -> str:
    """The type of a normalizer or pre-tokenizer."""
    return str(step.get("type"))


#: cache entries, those used last; each takes about 10 MB
MOST_ENTRIES = 16


class Converted(NamedTuple):
    """A vocabulary file in the form that engines load: number of ids, `tokenizer.json` without its model, and as a whole."""

    size: int
    outline: bytes
    tokenizer_json: bytes


def cached(key: str, convert: Callable[[], Converted]) -> Converted:
    """The result of `convert`, from the user's cache where an intact entry exists.

    An entry begins with the SHA-256 of the rest, so that a damaged one is made again. A folder that cannot be written costs
    time, not the answer.
    """
    path = cache_folder() / f"{key}.json"
    entry = read_entry(path)
    if entry is not None:
        head, _, tokenizer_json = entry.partition(b"\n")
        described = json.loads(head)
        return Converted(described["size"], described["outline"].encode(), tokenizer_json)
    made = convert()
    content = json.dumps({"size": made.size, "outline": made.outline.decode()}).encode() + b"\n" + made.tokenizer_json
    with suppress(OSError, IngestError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        forget_oldest(path.parent)
    return made


def read_entry(path: Path) -> bytes | None:
    """An entry of the cache; None where it is missing or damaged."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest().encode() != digest:
        return None
    with suppress(OSError):  # a read-only cache keeps no time of last use
        os.utime(path)
    return content


def forget_oldest(folder: Path) -> None:
    """Delete the least recently used entries of the cache."""
    entries = sorted(folder.glob("*.json"), key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
    for entry in entries[MOST_ENTRIES:]:
        entry.unlink(missing_ok=True)


def cache_folder() -> Path:
    """The folder of the cache: `ingest/vocabularies` in the user's cache folder."""
    if os.name == "nt":
        root = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "ingest" / "vocabularies"


#: version of the conversion: part of the cache key
CONVERSION = "1"

#: the most ids of a vocabulary; the largest published ones have 300,000
MOST_IDS = 1 << 24


def from_tokenizer_json(content: bytes, *, name: str, source: str, license: str = "") -> Vocabulary:
    """A vocabulary from the text of a `tokenizer.json`.

    Raises:
        IngestError: it is not valid JSON, or `tokenizers` cannot load it.
    """
    digest = hashlib.sha256(content).hexdigest()
    made = cached(f"{digest}-{CONVERSION}", lambda: convert(content, source))
    return Vocabulary(name, "tokenizer.json", made.size, digest, source, license, made.tokenizer_json, made.outline)


def convert(content: bytes, source: str) -> Converted:
    """Convert the text of a `tokenizer.json`.

    Raises:
        IngestError: it is not valid JSON, or `tokenizers` cannot load it.
    """
    try:
        described = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise IngestError(f"--tokenizer: '{source}' is not valid JSON: {error}") from None
    if not isinstance(described, dict) or not isinstance(described.get("model"), dict):
        raise IngestError(f"--tokenizer: '{source}' is not a tokenizer.json: expected an object with 'model'")
    for part, inner in (("normalizer", "normalizers"), ("pre_tokenizer", "pretokenizers")):
        if not are_steps(described.get(part), inner):
            expected = f"{part}: expected an object with 'type', or null"
            raise IngestError(f"--tokenizer: '{source}' is not a tokenizer.json: {expected}")
    check_merges(described["model"], source)
    # The reference renumbers added tokens, other engines keep their ids: check those first.
    checked_size(largest_added_id(described, source) + 1, source, least=0)
    plain = json.dumps(without_extras(described), ensure_ascii=False).encode("utf-8", "surrogatepass")
    size = checked_size(largest_id(load_reference(plain, source)) + 1, source)
    return Converted(size, outline_of(described), plain)


def check_merges(model: dict[str, Any], source: str) -> None:
    """Refuse merges that do not continue a word though the model marks what does: `tokenizers` would abort the process.

    >>> check_merges({"continuing_subword_prefix": "##", "merges": ["a ##b", ["ab", "##c"]]}, "t.json")

    Raises:
        IngestError: the second part of a merge lacks the mark, or the mark is not ASCII.
    """
    prefix, merges = model.get("continuing_subword_prefix"), model.get("merges")
    if not isinstance(prefix, str) or not prefix or not isinstance(merges, list):
        return
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in merges)
    seconds = (pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str))
    wrong = next((second for second in seconds if not second.startswith(prefix) or not prefix.isascii()), None)
    if wrong is not None:
        expected = f"expected one that begins with the ASCII prefix of continuing subwords, {brief(prefix)}"
        raise IngestError(f"--tokenizer: '{source}' has a merge with {brief(wrong)}, {expected}")


def without_extras(described: dict[str, Any]) -> dict[str, Any]:
    """Remove what changes counts: dropout, truncation, padding and the post-processor, which adds special tokens.

    >>> without_extras({"model": {"dropout": 0.1}, "truncation": {"max_length": 512}})
    {'model': {'dropout': None}, 'truncation': None, 'padding': None, 'post_processor': None}
    """
    model = described["model"]
    if "dropout" in model:
        model = {**model, "dropout": None}
    return {**described, "model": model, "truncation": None, "padding": None, "post_processor": None}


def load_reference(tokenizer_json: bytes, source: str) -> Tokenizer:
    """Load the reference tokenizer.

    Raises:
        IngestError: `tokenizers` refuses the file.
    """
    from tokenizers import Tokenizer

    with refusals(f"--tokenizer: '{source}' cannot be loaded by tokenizers"):
        return guarded(lambda: Tokenizer.from_buffer(tokenizer_json))


def load_sentencepiece(content: bytes, source: str) -> SentencePieceProcessor:
    """Load a SentencePiece model.

    Raises:
        IngestError: the file is not a SentencePiece model, or the package is not installed.
    """
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        needed = "is a SentencePiece model, which needs the package sentencepiece"
        raise IngestError(f"--tokenizer: '{source}' {needed}: pip install 'ingest-sizing[vocabularies]'") from None
    with refusals(f"--tokenizer: '{source}' is not a SentencePiece model"):
        return guarded(lambda: SentencePieceProcessor(model_proto=content))


def checked_size(size: int, source: str, least: int = 1) -> int:
    """Check the number of ids: engines hold a table by id.

    Raises:
        IngestError: fewer than `least`, or more than `MOST_IDS`.

    >>> checked_size(4_000_000_001, "t.json")
    Traceback (most recent call last):
    ingest.errors.IngestError: --tokenizer: 't.json' has ids up to 4000000000; expected at least one, and at most 16777215
    """
    if least <= size <= MOST_IDS:
        return size
    raise IngestError(f"--tokenizer: '{source}' has ids up to {size - 1}; expected at least one, and at most {MOST_IDS - 1}")


def largest_added_id(described: dict[str, Any], source: str) -> int:
    """The largest id of an added token; -1 without added tokens.

    Raises:
        IngestError: an id is not an integer >= 0.
    """
    added = described.get("added_tokens") or []
    ids: list[Any] = [one.get("id") if isinstance(one, dict) else None for one in added] if isinstance(added, list) else [None]
    wrong = [one for one in ids if isinstance(one, bool) or not isinstance(one, int) or one < 0]
    if wrong:
        raise IngestError(
            f"--tokenizer: '{source}' has an added token with the id {brief(wrong[0])}, expected an integer from 0"
        )
    return int(max(ids, default=-1))


def largest_id(tokenizer: Tokenizer) -> int:
    """The largest id of the vocabulary; -1 for an empty one."""
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
