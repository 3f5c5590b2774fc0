"""The vocabulary behind `--tokenizer`: from an installed package, from a file, or trained on the corpus.

Rank files (`.tiktoken`) are converted to a `tokenizer.json`, which every engine loads, and the conversions are cached; models
of SentencePiece are counted by their own package. What would change counts is taken out of a `tokenizer.json`. A rank file has
a token in base64 and its rank per line; it lacks the pattern that splits text into words.
Nothing is downloaded, and no code that comes with a vocabulary is run. IngestError says why a vocabulary cannot be used.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.corpus.native_calls import guarded, refusals
from ingest.corpus.types import Vocabulary
from ingest.errors import IngestError, UsageError, brief, nearest, one_of
from ingest.files import kept, read_bytes, table_beside

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from tokenizers import Tokenizer

#: cache entries, those used last; each takes about 10 MB
MOST_ENTRIES = 16
#: versions of the conversions: part of the cache key
JSON_CONVERSION, RANK_CONVERSION = "1", "2"
#: the most ids of a vocabulary; the largest published ones have 300,000
MOST_IDS = 1 << 24


class Converted(NamedTuple):
    """A vocabulary file in the form that engines load: number of ids, `tokenizer.json` without its model, and as a whole."""

    size: int
    outline: bytes
    tokenizer_json: bytes


def cached(key: str, convert: Callable[[], Converted]) -> Converted:
    """The result of `convert`, from the user's cache where an intact entry exists."""

    def packed() -> bytes:
        made = convert()
        return json.dumps({"size": made.size, "outline": made.outline.decode()}).encode() + b"\n" + made.tokenizer_json

    head, _, tokenizer_json = kept(f"vocabularies/{key}.json", packed, MOST_ENTRIES).partition(b"\n")
    described = json.loads(head)
    return Converted(described["size"], described["outline"].encode(), tokenizer_json)


def outline_of(described: dict[str, Any]) -> bytes:
    """A `tokenizer.json` without its model, which can take a hundred megabytes once it is parsed."""
    return json.dumps({name: value for name, value in described.items() if name != "model"}).encode()


def kind(step: dict[str, Any]) -> str:
    """The type of a normalizer or pre-tokenizer."""
    return str(step.get("type"))


def members(step: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """The steps of a sequence; nested sequences are flattened."""
    if not step:
        return []
    if kind(step) != "Sequence":
        return [step]
    return [inner for outer in step.get(name) or [] for inner in members(outer, name)]


def are_steps(step: Any, name: str) -> bool:
    """Whether `members` can read a step; the reference also loads lists in their place."""
    if not step:
        return True
    inner = step.get(name) or [] if isinstance(step, dict) else None
    return isinstance(inner, list) and all(are_steps(one, name) for one in inner)


def from_tokenizer_json(content: bytes, *, name: str, source: str, license: str = "") -> Vocabulary:
    """A vocabulary from the text of a `tokenizer.json`."""
    digest = hashlib.sha256(content).hexdigest()
    made = cached(f"{digest}-{JSON_CONVERSION}", lambda: convert(content, source))
    return Vocabulary(name, "tokenizer.json", made.size, digest, source, license, made.tokenizer_json, made.outline)


def convert(content: bytes, source: str) -> Converted:
    """Convert the text of a `tokenizer.json`: without dropout, truncation, padding and the adding of special tokens.

    Raises IngestError: it is not valid JSON, or `tokenizers` cannot load it.
    """
    try:
        described = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise IngestError(f"--tokenizer: '{source}' is not valid JSON: {error}") from None
    if not isinstance(described, dict) or not isinstance(model := described.get("model"), dict):
        raise IngestError(f"--tokenizer: '{source}' is not a tokenizer.json: expected an object with 'model'")
    for part, inner in (("normalizer", "normalizers"), ("pre_tokenizer", "pretokenizers")):
        if not are_steps(described.get(part), inner):
            expected = f"{part}: expected an object with 'type', or null"
            raise IngestError(f"--tokenizer: '{source}' is not a tokenizer.json: {expected}")
    # `tokenizers` would abort the process at merges that do not continue a word though the model marks what does.
    prefix, merges = model.get("continuing_subword_prefix"), model.get("merges")
    if isinstance(prefix, str) and prefix and isinstance(merges, list):
        pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in merges)
        seconds = (pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str))
        unmarked = next((second for second in seconds if not second.startswith(prefix) or not prefix.isascii()), None)
        if unmarked is not None:
            expected = f"expected one that begins with the ASCII prefix of continuing subwords, {brief(prefix)}"
            raise IngestError(f"--tokenizer: '{source}' has a merge with {brief(unmarked)}, {expected}")
    # The reference renumbers added tokens, other engines keep their ids: check those first.
    added = described.get("added_tokens") or []
    ids: list[Any] = [one.get("id") if isinstance(one, dict) else None for one in added] if isinstance(added, list) else [None]
    wrong = [one for one in ids if isinstance(one, bool) or not isinstance(one, int) or one < 0]
    if wrong:
        found = f"an added token with the id {brief(wrong[0])}"
        raise IngestError(f"--tokenizer: '{source}' has {found}, expected an integer from 0")
    checked_size(int(max(ids, default=-1)) + 1, source, least=0)
    model = {**model, "dropout": None} if "dropout" in model else model
    plain = json.dumps(
        {**described, "model": model, "truncation": None, "padding": None, "post_processor": None}, ensure_ascii=False
    ).encode("utf-8", "surrogatepass")
    return Converted(checked_size(number_of_ids(plain, source), source), outline_of(described), plain)


def checked_size(size: int, source: str, least: int = 1) -> int:
    """Check the number of ids: engines hold a table by id. Raises IngestError: fewer than `least`, or more than `MOST_IDS`."""
    if least <= size <= MOST_IDS:
        return size
    raise IngestError(f"--tokenizer: '{source}' has ids up to {size - 1}; expected at least one, and at most {MOST_IDS - 1}")


def load_reference(tokenizer_json: bytes, source: str) -> Tokenizer:
    """Load the reference tokenizer. Raises IngestError: `tokenizers` refuses the file."""
    from tokenizers import Tokenizer

    with refusals(f"--tokenizer: '{source}' cannot be loaded by tokenizers"):
        return guarded(lambda: Tokenizer.from_buffer(tokenizer_json))


def number_of_ids(tokenizer_json: bytes, source: str) -> int:
    """The largest id that the reference tokenizer gives, and one; 0 for an empty vocabulary."""
    return max(load_reference(tokenizer_json, source).get_vocab(with_added_tokens=True).values(), default=-1) + 1


def load_sentencepiece(content: bytes, source: str) -> SentencePieceProcessor:
    """Load a SentencePiece model. Raises IngestError: the file is not one, or the package is not installed."""
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        needed = "is a SentencePiece model, which needs the package sentencepiece"
        raise IngestError(f"--tokenizer: '{source}' {needed}: pip install 'ingest-sizing[vocabularies]'") from None
    with refusals(f"--tokenizer: '{source}' is not a SentencePiece model"):
        return guarded(lambda: SentencePieceProcessor(model_proto=content))


#: What is known of published vocabularies.
PUBLISHED: Mapping[str, Any] = table_beside(__file__, "vocabularies.yaml")
#: patterns that split text into words, by vocabulary
PATTERNS = {name: "|".join(PUBLISHED["patterns"][one]) for name, one in PUBLISHED["split_by"].items()}
#: SHA-256 of published rank files, by the name of their pattern
RANK_FILES: Mapping[str, str] = PUBLISHED["rank_files"]
#: how bytes are spelled as letters
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")


def from_rank_file(content: bytes, pattern: str, *, name: str, source: str, license: str = "") -> Vocabulary:
    """A vocabulary from a rank file. Raises UsageError: the pattern is missing or unknown; IngestError: a line is broken."""
    digest = hashlib.sha256(content).hexdigest()
    chosen = pattern or next((name for name, known in RANK_FILES.items() if known == digest), "")
    if not chosen:
        raise UsageError(
            f"--tokenizer: '{source}' is an unknown rank file, which lacks the pattern that splits text into words: write"
            f" --tokenizer {source}:PATTERN, as in ranks.tiktoken:cl100k ({', '.join(PATTERNS)})"
        )
    one_of(f"--tokenizer: pattern of '{source}'", chosen, PATTERNS)

    def converted() -> Converted:
        ranks = read_ranks(content, source)
        size = checked_size(max(ranks.values()) + 1, source)
        outline = outline_of({"pre_tokenizer": byte_level(PATTERNS[chosen])})
        return Converted(size, outline, tokenizer_json_of(ranks, PATTERNS[chosen]))

    made = cached(f"{digest}-{chosen}-{RANK_CONVERSION}", converted)
    return Vocabulary(name, "rank file", made.size, digest, source, license, made.tokenizer_json, made.outline)


def read_ranks(content: bytes, source: str) -> dict[bytes, int]:
    """Tokens and their ranks; refuses lines that are not a token and a number, a shared rank, and a byte without a token."""
    ranks: dict[bytes, int] = {}
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


def tokenizer_json_of(ranks: dict[bytes, int], pattern: str) -> bytes:
    """Convert ranks to a `tokenizer.json` with equal tokens."""
    letters = byte_letters()
    spelled = {token: "".join(letters[byte] for byte in token) for token in ranks}
    # a rank file allows every way to join two tokens into a third; one way per token, as training writes it, would change some
    merges = [
        [spelled[token[:cut]], spelled[token[cut:]]]
        for token in sorted(ranks, key=ranks.__getitem__)
        for cut in range(1, len(token))
        if token[:cut] in ranks and token[cut:] in ranks
    ]
    missing = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    described: dict[str, Any] = {
        **{"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None},
        **{"pre_tokenizer": byte_level(pattern), "post_processor": None, "decoder": BYTE_LEVEL},
        "model": {
            **{"type": "BPE", **dict.fromkeys(missing), "fuse_unk": False, "byte_fallback": False, "ignore_merges": True},
            **{"vocab": {spelled[token]: rank for token, rank in ranks.items()}, "merges": merges},
        },
    }
    return json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode()


def byte_level(pattern: str) -> dict[str, Any]:
    """The pre-tokenizer: split by the pattern, then spell bytes as letters."""
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL]}


def byte_letters() -> dict[int, str]:
    """The letter that a byte-level vocabulary writes for each byte, in GPT-2's order: printable ones first."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printing]
    return {byte: chr(byte) for byte in printing} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def ranks_of_merges(content: bytes) -> bytes:
    """GPT-2's list of merges as a rank file: the 256 bytes, then one token per merge.

    Raises ValueError: a line is not a merge of two tokens.
    """
    letters = byte_letters()
    byte_of = {letter: byte for byte, letter in letters.items()}
    tokens = [bytes([byte]) for byte in letters]
    for line in content.decode("utf-8").splitlines():
        if line and not line.startswith("#version"):
            left, right = line.split(" ")
            tokens.append(bytes(byte_of[letter] for letter in left + right))
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


#: the vocabulary without `--tokenizer`: recent, and its package is a dependency of this one
DEFAULT = "deepseek-v3"
#: the largest vocabulary file that is read; the largest published ones stay below 40 MB
LARGEST_FILE = 128 << 20
TRAIN = "train:"
#: the 256 bytes and one merge; more ids than any published vocabulary has
SMALLEST_SIZE, LARGEST_SIZE = 257, 1_000_000
#: the longest text for the trainer
PART_BYTES = 1 << 20
#: documents of the corpus, always in the same order
Sample = Callable[[], Iterable[bytes]]


@dataclass(frozen=True)
class Packaged:
    """A vocabulary file in an installed package."""

    package: str  # its name on the package index
    path: str  # the file, from the folder that packages are installed into
    sha256: str  # of the unpacked file
    unpack: Callable[[bytes], bytes] = bytes  # turns the file into a `tokenizer.json` or a rank file
    install: str = "ingest-sizing[vocabularies]"  # the argument of `pip install`


#: vocabulary -> how the names of the models begin that read it, by `tiktoken/model.py`
MODELS = {name: tuple(beginnings) for name, beginnings in PUBLISHED["models"].items()}
UNPACK: Mapping[str, Callable[[bytes], bytes]] = {"as it is": bytes, "gzip": gzip.decompress, "merges": ranks_of_merges}
PACKAGED = {name: Packaged(**{**row, "unpack": UNPACK[row["unpack"]]}) for name, row in PUBLISHED["packaged"].items()}


def vocabulary_of(requested: str | None, corpus_sample: Sample | None = None) -> Vocabulary:
    """The vocabulary of a `--tokenizer` value: an id in `PACKAGED`, a file, `FILE:PATTERN` for a rank file, or `train:SIZE`.

    None is the default. `corpus_sample` yields documents of the corpus, for `train:SIZE` only.

    Raises:
        UsageError: no id and no file of that name.
        IngestError: the file or package cannot be used, or its content is not that of this id.
    """
    name = requested or DEFAULT
    if name in PACKAGED:
        return from_package(name)
    if name.startswith(TRAIN):
        return trained_vocabulary(name, corpus_sample)
    path, pattern = Path(name), ""
    file, colon, suffix = name.rpartition(":")
    # an existing file with a colon in its name is that file
    if colon and file and not path.exists() and (suffix in PATTERNS or Path(file).is_file()):
        path, pattern = Path(file), suffix
    if path.exists():
        return from_file(path, pattern, name)
    near = nearest(next((ours for ours, theirs in MODELS.items() if name.lower().startswith(theirs)), name), PACKAGED)
    known = f"a file, such as a tokenizer.json, or one of {', '.join(PACKAGED)}, train:SIZE"
    fetch = "; the tokenizer.json of any other model, such as Llama, is fetched from its publisher and given by its path"
    raise UsageError(f"--tokenizer: found {brief(name)}, expected {known}{near}{'' if near else fetch}")


def from_file(path: Path, pattern: str, name: str) -> Vocabulary:
    """The vocabulary in a file, or in `tokenizer.json` of a folder; its content decides the format, not its name.

    Raises IngestError: the file cannot be read, is larger than `LARGEST_FILE`, or has an unknown format.
    """
    read = path / "tokenizer.json" if path.is_dir() else path
    content = read_bytes(read, "a tokenizer", place=f"--tokenizer: {read}", most=LARGEST_FILE)
    if _LINE.match(content):
        return from_rank_file(content, pattern, name=name, source=str(path))
    if pattern:
        raise IngestError(f"--tokenizer: '{path}' is not a rank file (lines of base64 and a number): remove ':{pattern}'")
    if content.lstrip()[:1] == b"{":
        return from_tokenizer_json(content, name=name, source=str(path))
    if content.startswith(b"\n"):
        size = load_sentencepiece(content, str(path)).get_piece_size()
        digest = hashlib.sha256(content).hexdigest()
        return Vocabulary(name, "sentencepiece", size, digest, str(path), "", b"", sentencepiece=content)
    raise IngestError(f"--tokenizer: '{path}': expected a tokenizer.json, a rank file (.tiktoken) or a SentencePiece model")


def from_package(name: str) -> Vocabulary:
    """The vocabulary of an id in `PACKAGED`; the file is read, the package is not imported."""
    package = PACKAGED[name].package
    content = unpacked(PACKAGED[name], name)
    source = f"{package} {metadata.version(package)}"
    described = metadata.metadata(package)
    stated = next((described[field] for field in ("License-Expression", "License") if field in described), "")
    license = f"{stated.splitlines()[0][:80]} (as {package} states)" if stated else f"not stated by {package}"
    if _LINE.match(content):
        return from_rank_file(content, "", name=name, source=source, license=license)
    return from_tokenizer_json(content, name=name, source=source, license=license)


def unpacked(packaged: Packaged, name: str) -> bytes:
    """The unpacked file of a package. Raises IngestError: package or file is missing, or the file has another SHA-256."""
    package, install = packaged.package, f"pip install '{packaged.install}'"
    try:
        path = Path(str(metadata.distribution(package).locate_file(packaged.path)))
        content = packaged.unpack(path.read_bytes())
    except metadata.PackageNotFoundError:
        raise IngestError(f"--tokenizer: '{name}' needs {package}: {install}") from None
    except (OSError, ValueError, EOFError) as error:
        raise IngestError(f"--tokenizer: '{name}': {package} holds no usable '{packaged.path}': {error}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != packaged.sha256:
        raise IngestError(
            f"--tokenizer: '{name}': '{packaged.path}' of {package} {metadata.version(package)} has SHA-256 {found[:12]}…,"
            f" expected {packaged.sha256[:12]}…: give the file itself, or {install}"
        )
    return content


def trained_vocabulary(requested: str, corpus_sample: Sample | None) -> Vocabulary:
    """Train a byte-level BPE on a sample of the corpus; equal samples give equal vocabularies."""
    word = requested.removeprefix(TRAIN)
    if not word.isascii() or not word.isdigit() or not SMALLEST_SIZE <= int(word) <= LARGEST_SIZE:
        raise UsageError(
            f"--tokenizer: found {brief(requested)}, expected train: and an integer from {SMALLEST_SIZE} to {LARGEST_SIZE},"
            " as in train:32000"
        )
    if corpus_sample is None:
        raise UsageError(f"--tokenizer: '{requested}' needs a corpus to train on")
    content = trained(int(word), corpus_sample)
    ids = number_of_ids(content, "trained")
    digest = hashlib.sha256(content).hexdigest()
    outline = outline_of(json.loads(content))
    return Vocabulary(requested, "trained", ids, digest, "trained on a sample of the corpus", "", content, outline)


def trained(size: int, corpus_sample: Sample) -> bytes:
    """The text of the trained `tokenizer.json`. Raises IngestError: the sample has no text."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
    from tokenizers.models import BPE

    def texts() -> Iterator[str]:
        for document in corpus_sample():
            for start in range(0, len(document), PART_BYTES):
                if text := document[start : start + PART_BYTES].decode("utf-8", "ignore"):
                    yield text

    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=[]
    )
    sample = texts()
    first = next(sample, None)
    if first is None:
        raise IngestError("--tokenizer: the corpus holds no text to train on")
    tokenizer.train_from_iterator(chain([first], sample), trainer=trainer)
    return str(tokenizer.to_str()).encode()
