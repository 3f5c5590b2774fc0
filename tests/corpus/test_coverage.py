"""The interval holds the true value about as often as it says: real text, whole adaptive samples, many times."""

import sysconfig
from itertools import pairwise
from pathlib import Path

import numpy
import pytest
from counted import as_row_group, blocks_group, gzipped, shards_group, texts_of
from interval_study import redrawn

from ingest.corpus import sample
from ingest.corpus.tokenizers.engines import select_engine
from ingest.corpus.tokenizers.vocabulary import vocabulary_of

KIBI = 2**10
DRAWS = 400
TEXT_BYTES = 24 * 2**20
KINDS = {
    "plain files": (0.03, blocks_group),
    "few big shards": (0.03, lambda texts, engine: blocks_group(shared_out(texts, 8), engine)),
    "gzip shards": (0.06, lambda texts, engine: shards_group(texts, engine, 16 * KIBI, gzipped, "gzip")),
    "Parquet row groups": (0.06, lambda texts, engine: shards_group(texts, engine, 16 * KIBI, as_row_group, "parquet")),
}


def shared_out(texts, shards):
    ends = numpy.linspace(0, len(texts), shards + 1).astype(int)
    return [b"".join(texts[start:end]) for start, end in pairwise(ends)]


@pytest.fixture(scope="module")
def engine():
    return select_engine(vocabulary_of(None), [b"def f(): pass"], 2)[0]


@pytest.fixture(scope="module")
def texts():
    """The sources of Python's own library, in path order."""
    found, held = [], 0
    for text in texts_of(sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))):
        found.append(text)
        held += len(text)
        if held > TEXT_BYTES:
            break
    return found


@pytest.fixture
def small_first_look(monkeypatch):
    """The corpus is small; a first look of the usual size would read most of it."""
    monkeypatch.setattr(sample, "FIRST_BLOCKS", 100)
    monkeypatch.setattr(sample, "FIRST_FILES", (30, 100))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small_first_look")
def test_the_interval_holds_the_truth_as_often_as_it_says(kind, texts, engine):
    tolerance, group = KINDS[kind]
    make, tokens = group(texts, engine)
    found = numpy.array(list(redrawn(make, tokens, tolerance, DRAWS)), dtype=float)
    assert len(found) > 0.95 * DRAWS
    tokens_held, tokens_off, _, ratio_held, ratio_off, _, _, met = found.mean(axis=0)
    assert 0.91 <= tokens_held <= 0.99
    assert 0.91 <= ratio_held <= 0.99
    assert met == 1
    # four standard errors of the mean beyond the tenth of a percent that is allowed
    for off, column in ((tokens_off, 1), (ratio_off, 4)):
        assert abs(off) < 0.001 + 4 * found[:, column].std() / len(found) ** 0.5
