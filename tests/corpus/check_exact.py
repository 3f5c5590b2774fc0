"""Totals of a whole corpus, against the libraries that users would call: `make bench-exact`.

Every file is read as text, so that all three count the same. `tokenizers` takes minutes.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from corpus.test_engines import tiktoken_encoding
from tokenizers import Tokenizer

from ingest.corpus.measure import measure
from ingest.corpus.tokenizers.vocabulary import vocabulary_of

BATCH_BYTES = 4 * 2**20
VOCABULARIES = {"r50k": "tiktoken", "cl100k": "tiktoken", "deepseek-v3": "tokenizers"}


def batches(folder: Path) -> Iterator[list[str]]:
    held: list[str] = []
    size = 0
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            held.append(path.read_bytes().decode("utf-8"))
            size += len(held[-1])
        if size >= BATCH_BYTES:
            yield held
            held, size = [], 0
    yield held


def counter_of(name: str, library: str) -> Callable[[list[str]], int]:
    """What counts a batch with the library itself."""
    if library == "tiktoken":
        encoding = tiktoken_encoding(name)
        return lambda texts: sum(map(len, encoding.encode_ordinary_batch(texts)))
    tokenizer = Tokenizer.from_str(vocabulary_of(name).tokenizer_json.decode())
    return lambda texts: sum(len(encoded.ids) for encoded in tokenizer.encode_batch_fast(texts, add_special_tokens=False))


def main() -> None:
    """Compare, and exit with 1 where a total differs."""
    folder = Path(sys.argv[1])
    wrong = 0
    for name, library in VOCABULARIES.items():
        start = time.perf_counter()
        answer = measure(folder, tokenizer=name, exact=True, input_format="text")
        ours, middle = int(answer.results["tokens"].value), time.perf_counter()
        count = counter_of(name, library)
        theirs = sum(count(texts) for texts in batches(folder))
        spent = f"{middle - start:.1f} s and {time.perf_counter() - middle:.1f} s"
        wrong += ours != theirs
        print(
            f"{name}: ingest {ours:,}, {library} {theirs:,}, {'equal' if ours == theirs else 'DIFFERENT'} ({spent})", flush=True
        )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
