"""Which vocabulary the tokens are counted with: found, proven by its hash, and in the one form that every engine loads.

That form is the text of a `tokenizer.json`. Rank files are turned into it; SentencePiece models stay as they are, because their
own package counts them. Nothing is downloaded and no code that comes with a vocabulary is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.files import write_whole

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
    from ingest.corpus.packaged import PACKAGED, from_package
    from ingest.corpus.training import TRAIN, trained_vocabulary
    from ingest.corpus.vocabulary_files import from_file

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
    from ingest.corpus.packaged import PACKAGED

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
    from ingest.corpus.rank_files import PATTERNS

    name, colon, pattern = wanted.rpartition(":")
    if colon and name and not Path(wanted).exists() and (pattern in PATTERNS or Path(name).is_file()):
        return Path(name), pattern
    return Path(wanted), ""
