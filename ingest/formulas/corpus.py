"""A corpus of text: its bytes, its tokens, and what they take once tokenized."""

from ingest.expression import Num
from ingest.formula import formula, leaf

leaf("corpus_bytes", "B", "Bytes of the text, as UTF-8 without compression.")
leaf("tokens", "token", "Tokens of the corpus, each counted once.")
leaf("documents", "sample", "Documents of the corpus.", above=False, whole=True)


@formula(unit="B/token", source="definition")
def bytes_per_token(corpus_bytes: Num, tokens: Num) -> Num:
    """Bytes of text that one token stands for.

    >>> round(bytes_per_token(1.6e12, 341e9), 2)
    4.69
    """
    return corpus_bytes / tokens


@formula(unit="B", source="definition")
def tokenized_bytes(tokens: Num, token_id_bytes: Num) -> Num:
    """Bytes of the token ids alone, without any index.

    >>> tokenized_bytes(15_000_000_000_000, 4)
    60000000000000
    """
    return tokens * token_id_bytes


@formula(unit="token/sample", source="definition")
def tokens_per_document(tokens: Num, documents: Num) -> Num:
    """Mean length of a document.

    >>> tokens_per_document(600_000_000_000, 968_000_000)
    619.8...
    """
    return tokens / documents
