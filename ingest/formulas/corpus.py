"""A corpus of text: its size on storage, as text and as tokens."""

from __future__ import annotations

from ingest.engine.expression import Num
from ingest.engine.registry import alternative, formula, input_quantity

input_quantity("corpus_bytes", "B", "Text of the corpus, as UTF-8.", above=False, whole=True)
input_quantity(
    "stored_bytes",
    "B",
    "Bytes on storage of the files that were counted, parts left out included; compressed where the files are.",
    above=False,
    whole=True,
)
input_quantity("bytes_read", "B", "Bytes moved from storage for the measurement.", above=False, whole=True)
input_quantity("tokens", "token", "Tokens of the text.", above=False)
alternative("tokens", "tokens_of_text", when="bytes_stated")
input_quantity("files", "file", "Files that were counted.", above=False, whole=True)
alternative("files", "sample_files", when="samples_measured")
input_quantity("files_skipped", "file", "Files that were left out, each named with the reason.", above=False, whole=True)
input_quantity("documents_skipped", "document", "Lines, rows, records and members that were left out of files that count.",
    above=False, whole=True)  # fmt: skip
input_quantity("unreadable_bytes", "B", "Stored bytes that hold no readable text, as a sample shows them.", above=False)
input_quantity("documents", "document", "Documents: lines, rows, members or files, by format.", above=False, whole=True)
alternative("documents", "documents_by_length", when="length_of_documents_known")


@formula(unit="B/token", source="definition", low=0.1, high=1e6, above=False)
def bytes_per_token(corpus_bytes: Num, tokens: Num) -> Num:
    """Text bytes that one token stands for: totals over totals, never a mean of ratios."""
    return corpus_bytes / tokens


@formula(unit="B", source="definition")
def tokenized_bytes(tokens: Num, token_id_bytes: Num) -> Num:
    """Bytes of the corpus as token ids in an array, as training reads it."""
    return tokens * token_id_bytes


@formula(unit="1", source="definition")
def stored_share(stored_bytes: Num, corpus_bytes: Num) -> Num:
    """Stored bytes for each byte of text: below one where files are compressed."""
    return stored_bytes / corpus_bytes


@formula(unit="1", source="definition")
def tokenized_share(tokenized_bytes: Num, stored_bytes: Num) -> Num:
    """Bytes of ids for each stored byte: what the tokenized copy adds."""
    return tokenized_bytes / stored_bytes


@formula(unit="token/document", source="definition")
def tokens_per_document(tokens: Num, documents: Num) -> Num:
    """Mean length of a document in tokens."""
    return tokens / documents


@formula(unit="B/document", source="definition")
def bytes_per_document(corpus_bytes: Num, documents: Num) -> Num:
    """Mean length of a document as text."""
    return corpus_bytes / documents


@formula(unit="B/file", source="definition")
def stored_bytes_per_file(stored_bytes: Num, files: Num) -> Num:
    """Mean size of a file on storage."""
    return stored_bytes / files


@formula(unit="B/sample", source="definition")
def text_sample_bytes(bytes_per_token: Num, tokens_per_sample: Num) -> Num:
    """Bytes of one training sample where text, not ids, is read."""
    return bytes_per_token * tokens_per_sample


input_quantity("samples", "sample", "Samples that were counted: images, records, rows, or files.", above=False, whole=True)
input_quantity("sample_files", "file", "Files that hold these samples.", above=False, whole=True)
input_quantity("sample_files_bytes", "B", "Stored bytes of the files of samples, framing included.", above=False, whole=True)


@formula(unit="B/sample", source="definition")
def mean_sample_bytes(sample_files_bytes: Num, samples: Num) -> Num:
    """Mean stored bytes of one sample with its share of the framing: bytes that one epoch reads, over the samples."""
    return sample_files_bytes / samples


@formula(unit="sample/file", source="definition")
def mean_samples_per_file(samples: Num, sample_files: Num) -> Num:
    """Mean samples that one file holds."""
    return samples / sample_files


@formula(unit="B/file", source="definition")
def mean_file_bytes(sample_files_bytes: Num, sample_files: Num) -> Num:
    """Mean size of a file."""
    return sample_files_bytes / sample_files
