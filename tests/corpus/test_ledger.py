"""A count that is killed at any moment is taken up where it was: nothing is lost, nothing finished is read again."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT, refused, table
from corpus.made import figures, small_files

from ingest.corpus.counting.ledger import Ledger, ShardCount
from ingest.corpus.measure import measure
from ingest.corpus.types import SkippedFile, Tally
from ingest.errors import IngestError

KILLS = 2
IDENTITY = {"manifest": "sha256:a", "vocabulary": "b", "options": "c", "version": "0"}
SHARD = ShardCount(
    3,
    Tally(2, 2, 10, 10, 4, 10),
    {"web": Tally(2, 2, 10, 10, 4, 10)},
    {".txt": Tally(2, 2, 10, 10, 4, 10)},
    (SkippedFile("web/\udce9.txt", "not UTF-8"),),
    (SkippedFile("web/b.jsonl", "line 3: not JSON"),),
)


#: The command with shards of so few files: to write many takes longer than to count them.
FILES = 200
SMALL_SHARDS = f"""
from ingest.cli.main import main
from ingest.corpus.counting import ledger
ledger.SHARD_FILES = {FILES}
main()
"""


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr("ingest.corpus.counting.ledger.SHARD_FILES", FILES)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return small_files(tmp_path_factory.mktemp("corpus"), 4_800)


def entries(ledger):
    return [json.loads(line) for line in ledger.read_bytes().split(b"\n")[:-1]]


def lines(ledger):
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def kept(path, *shards):
    """Write a ledger of these shards, or go on with it; returns what it holds."""
    ledger = Ledger(path, IDENTITY)
    for shard in shards:
        ledger.finished(shard)
    ledger.close()
    return ledger.done


def read_again(ledger):
    """Shards that were counted again after they had been finished."""
    finished = [entry["shard"] for entry in entries(ledger) if "shard" in entry]
    return sorted(shard for shard in set(finished) if finished.count(shard) > 1)


def counting(corpus, ledger, small):
    words = [sys.executable, "-c", SMALL_SHARDS, "measure", str(corpus), "--resume", str(ledger), "--tokenizer", small]
    return subprocess.Popen([*words, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)


def test_killed_at_some_moments_the_totals_are_the_same(corpus, small, tmp_path):
    chance = random.Random(4)
    killed = progressed = 0
    for attempt in range(KILLS):
        ledger = tmp_path / f"ledger{attempt % 2}"
        before = lines(ledger)
        process = counting(corpus, ledger, small)
        while process.poll() is None and lines(ledger) <= before + 1:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.05))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
        progressed += lines(ledger) > before
        assert read_again(ledger) == []
    assert killed >= KILLS / 2
    assert progressed >= KILLS / 2
    expected = figures(measure(corpus, tokenizer=small, exact=True))
    for ledger in sorted(tmp_path.glob("ledger*")):
        assert figures(measure(corpus, tokenizer=small, resume=ledger)) == expected
        assert read_again(ledger) == []
        assert sorted(entry["shard"] for entry in entries(ledger) if "shard" in entry) == list(range(24))


def test_a_finished_ledger_reads_nothing(corpus, small, tmp_path):
    first = measure(corpus, tokenizer=small, resume=tmp_path / "ledger")
    written = (tmp_path / "ledger").read_bytes()
    assert figures(measure(corpus, tokenizer=small, resume=tmp_path / "ledger")) == figures(first)
    assert (tmp_path / "ledger").read_bytes() == written
    assert sum("shard" in entry for entry in entries(tmp_path / "ledger")) == 24


@pytest.mark.parametrize("torn", range(1, 200, 7))
def test_a_line_torn_off_by_a_crash_is_cut_away(tmp_path, torn):
    path = tmp_path / "ledger"
    kept(path, SHARD, SHARD._replace(number=4))
    whole = path.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    path.write_bytes(whole[: -min(torn, last)])
    assert kept(path) == {3: SHARD}
    assert all(isinstance(entry, dict) for entry in entries(path))


@pytest.mark.parametrize(
    ("name", "reason"),
    table("corpus/refused.yaml")["a_ledger_of_something_else"],
)  # fmt: skip
def test_a_ledger_of_something_else_is_refused(tmp_path, name, reason):
    kept(tmp_path / "ledger")
    with refused(match=f"belongs to {reason}"):
        Ledger(tmp_path / "ledger", {**IDENTITY, name: "other"})


@pytest.mark.parametrize(
    ("content", "refusal"),
    table("corpus/refused.yaml")["what_is_no_ledger"],
)
def test_what_is_no_ledger_is_refused_and_kept(tmp_path, content, refusal):
    path = tmp_path / "ledger"
    path.write_text(content)
    with pytest.raises(IngestError, match=refusal):
        Ledger(path, IDENTITY)
    assert path.read_text() == content


@pytest.mark.parametrize("total", [[1, 2], [1, 1, 1, 1, 1, -1], [1, 1, 1, 1, 1, 1.5], "text", None])
def test_a_damaged_shard_is_refused(tmp_path, total):
    path = tmp_path / "ledger"
    kept(path, SHARD)
    lines = path.read_bytes().splitlines()
    lines[-1] = json.dumps({**json.loads(lines[-1]), "total": total}).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(IngestError, match=f"line {len(lines)} is damaged"):
        Ledger(path, IDENTITY)


def test_a_changed_digit_anywhere_is_refused(small, tmp_path):
    corpus, path = small_files(tmp_path / "corpus", 10), tmp_path / "ledger"
    measure(corpus, tokenizer=small, resume=path)
    written = path.read_bytes()
    digits = [place for place, mark in enumerate(written) if chr(mark).isdigit()]
    for place in digits[:: len(digits) // 12]:
        other = b"%d" % ((written[place] - ord("0") + 3) % 10)
        path.write_bytes(written[:place] + other + written[place + 1 :])
        with pytest.raises(IngestError, match=r"damaged|has the format"):
            measure(corpus, tokenizer=small, resume=path)


def test_a_total_that_is_not_the_sum_of_its_parts_is_refused(tmp_path):
    for changed in (SHARD._replace(total=SHARD.total._replace(tokens=2900)), SHARD._replace(extensions={})):
        path = tmp_path / f"{changed.total.tokens}-{len(changed.extensions)}"
        kept(path, changed)
        with pytest.raises(IngestError, match="line 2 is damaged"):
            Ledger(path, IDENTITY)


def test_two_runs_do_not_share_a_ledger(tmp_path):
    first = Ledger(tmp_path / "ledger", IDENTITY)
    with pytest.raises(IngestError, match="in use by another run"):
        Ledger(tmp_path / "ledger", IDENTITY)
    first.close()
    kept(tmp_path / "ledger")


def test_a_changed_file_makes_another_corpus(small, tmp_path):
    corpus = small_files(tmp_path / "corpus", 10)
    measure(corpus, tokenizer=small, resume=tmp_path / "ledger")
    changed = next(corpus.rglob("*.txt"))
    os.utime(changed, ns=(1, 1))
    with pytest.raises(IngestError, match="another corpus, or its files have changed"):
        measure(corpus, tokenizer=small, resume=tmp_path / "ledger")


def test_a_header_cut_off_by_a_kill_is_written_anew(tmp_path):
    path = tmp_path / "ledger"
    kept(path)
    whole = path.read_bytes()
    for end in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        kept(path)
        assert path.read_bytes() == whole


def test_a_ledger_in_the_corpus_is_no_file_of_it(tmp_path, small, run):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.txt").write_text("a text")
    (corpus / "b.txt").write_text("and another")
    words = ["measure", "corpus", "--tokenizer", small, "--format", "json", "--resume"]
    first, again = (run(*words, "corpus/ledger").data for _ in range(2))
    assert first["results"] == again["results"]
    assert first["results"]["files"]["value"] == 2
    eaten = run(*words, "corpus/b.txt")
    assert (eaten.code, (corpus / "b.txt").read_text()) == (1, "and another")
    assert "line 1 is damaged, expected the header of a ledger" in eaten.refusal
    replaced = run(*words, "corpus/ledger", "-o", "corpus/ledger")
    assert (replaced.code, replaced.refusal) == (2, "-o: 'corpus/ledger' is also read; expected another file")
