"""Corpora that tests make: real text of the Python installation, and many small files; and everything that was counted."""

import random
import sysconfig
from itertools import islice
from pathlib import Path

from ingest.corpus.tokenizers.vocabulary import vocabulary_of

STANDARD_LIBRARY = Path(sysconfig.get_paths()["stdlib"])


def python_sources(folder, most=150):
    """Sources of the standard library, in the folders that they lie in."""
    found = (path for path in sorted(STANDARD_LIBRARY.rglob("*.py")) if "site-packages" not in path.parts)
    for path in islice(found, 0, None, 7):
        if most <= 0:
            break
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        place = folder / path.relative_to(STANDARD_LIBRARY)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        most -= 1
    return folder


def written_sources(number=1200):
    """Files of source code, always the same: their lengths and their words vary as in a real library.

    Sizes are lognormal (median 4 kB), and each file has a vocabulary and a line length of its own.
    """
    chance = random.Random(11)
    words = ["".join(chance.choices("etaoinshrdlucmfwypvbgk_", k=chance.randint(2, 12))) for _ in range(4000)]
    texts = []
    for _ in range(number):
        size = min(int(chance.lognormvariate(8.3, 1.2)) + 40, 120_000)
        known = chance.sample(words, chance.randint(15, 200))
        indents, width = ["", "    ", "        "], chance.randint(3, 14)
        lines, held = [], 0
        while held < size:
            lines.append(chance.choice(indents) + " ".join(chance.choices(known, k=width)) + chance.choice(":,.)\n"))
            held += len(lines[-1]) + 1
        texts.append("\n".join(lines).encode())
    return texts


def small_files(folder, number, lines=3):
    """Files enough for several shards, no two of them alike."""
    for block in range(0, number, 500):
        below = folder / f"part{block:06}"
        below.mkdir(parents=True)
        for index in range(block, min(block + 500, number)):
            (below / f"{index:06}.txt").write_text(
                f"file {index} says {index * 7919 % 1000}\n" * (1 + index % lines), encoding="utf-8"
            )
    return folder


def small_vocabulary(folder):
    """A vocabulary that loads in milliseconds, for tests in which it does not matter which one counts."""
    texts = [path.read_bytes() for path in sorted(python_sources(folder / "sources", most=30).rglob("*.py"))]
    path = folder / "small.json"
    path.write_bytes(vocabulary_of("train:1000", lambda: iter(texts)).tokenizer_json)
    return str(path)


def figures(answer):
    return {name: item.value for name, item in answer.results.items()}, answer.tables
