"""The same work on a Dask cluster: the same totals to the unit, also where a worker dies on the way."""

import os
import signal
import threading
import time

import pytest
from conftest import first
from corpus.made import figures, small_files

from ingest.corpus.measure import measure
from ingest.errors import IngestError


@pytest.fixture(scope="module")
def distributed():
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(distributed):
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as made:
        with distributed.Client(made) as client:
            client.wait_for_workers(2)
        yield made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return small_files(tmp_path_factory.mktemp("corpus"), 3_000)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr("ingest.corpus.counting.ledger.SHARD_FILES", 250)


@pytest.fixture(scope="module")
def alone(corpus, small):
    """What one process counts."""
    return figures(measure(corpus, tokenizer=small, exact=True))


def test_a_cluster_counts_the_same(cluster, corpus, alone, small):
    spread = measure(corpus, tokenizer=small, scheduler=cluster.scheduler_address, exact=True)
    assert figures(spread) == alone


@pytest.mark.parametrize("lost", first(1, (2, 1)))
def test_workers_that_are_killed_lose_nothing(distributed, cluster, corpus, alone, small, tmp_path, lost):
    ledger = tmp_path / "ledger"
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)  # the nannies of an earlier test may still start theirs
    victims = [worker.pid for worker in cluster.workers.values()][:lost]
    killed = threading.Event()

    def kill_midway():
        while not (ledger.exists() and b'{"shard"' in ledger.read_bytes()):
            time.sleep(0.01)
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        killed.set()

    killer = threading.Thread(target=kill_midway)
    killer.start()
    spread = measure(corpus, tokenizer=small, scheduler=cluster.scheduler_address, resume=ledger)
    killer.join()
    assert killed.is_set()
    assert figures(spread) == alone


def test_a_result_that_is_lost_once_it_is_here_counts(distributed, cluster, corpus, alone, small, monkeypatch):
    whole = distributed.Client._gather

    async def gathered(client, futures, **how):
        found = await whole(client, futures, **how)
        for one in futures:
            one._state.lose()  # as where its worker dies at that moment
        return found

    monkeypatch.setattr(distributed.Client, "_gather", gathered)
    assert figures(measure(corpus, tokenizer=small, scheduler=cluster.scheduler_address, exact=True)) == alone


def test_nobody_at_the_address_is_one_line(corpus, small, monkeypatch):
    monkeypatch.setattr("ingest.corpus.counting.runners.CONNECT_SECONDS", 1)
    with pytest.raises(IngestError, match=r"^--scheduler: no scheduler answers at 'tcp://127\.0\.0\.1:9' within 1 s$"):
        measure(corpus, tokenizer=small, scheduler="tcp://127.0.0.1:9")


def test_what_is_no_address_is_one_line(run, tmp_path):
    (tmp_path / "a.txt").write_text("a text")
    done = run("measure", "a.txt", "--scheduler", "nope")
    assert (done.code, done.out) == (2, "")
    assert done.err == "ingest: --scheduler: found 'nope', expected an address such as tcp://node1:8786\n"
