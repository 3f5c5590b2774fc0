"""Lines of vector indexes: queries read, copies load, rebuilds write, and all of it is held; at most what nodes draw."""

import io
import json
import shutil
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from conftest import finished
from hypothesis import given, settings
from hypothesis import strategies as some
from openpyxl import load_workbook

import ingest
from ingest.errors import IngestError
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.vendor_workbook import vendor_workbook
from ingest.storage.need import from_requirements

WIKI = {"cluster": "search", "nodes": 4, "vectors": 10**9, "dimensions": 768, "index": "diskann", "code_bytes": 96,
        "replicas": 2, "qps": 2000, "search_list": 100, "latency": 0.05}  # fmt: skip
SITE = {
    "clusters": {"search": {"node": "cpu", "count": 8, "nic": 25e9}},
    "indexes": {"wiki": WIKI},
    "storage": {"protection": {"data": 8, "parity": 2}},
}
REFUSED = yaml.safe_load((Path(__file__).parents[1] / "vectors/refused.yaml").read_text())["site"]
SECTOR, CODES = 4096, 96 * 10**9 + 256 * 768 * 4 + 768 * 4 + 97 * 4 + 4128


def planned(without=(), site=None, **keys):
    found = deepcopy({**SITE, **(site or {})})
    found["indexes"]["wiki"] = {key: one for key, one in (WIKI | keys).items() if key not in without}
    return ingest.plan(found, samples=0)


def lines(without=(), site=None, **keys):
    return {one.id: one for one in planned(without, site, **keys).requirements}


def test_each_line_by_hand():
    found = lines()
    # A node of 3,332 B has a sector of its own; a query reads as many as its search list is long.
    assert found["R-VEC-01"].computed == 2000 * 100 * SECTOR
    read = found["R-VEC-01"].conditions
    assert (read.operation, read.pattern, read.io_size, read.clients) == ("read", "random", SECTOR, 4)
    # 2,000 queries of 50 ms with 4 reads each are 400 outstanding: 25 rounds of 2 ms.
    assert read.queue_depth == 400
    assert read.implied_latency == pytest.approx(0.002, rel=0.002)
    depths = [lines(shards=2, **one)["R-VEC-01"].conditions.queue_depth for one in ({}, {"tier": "nodes", "top_k": 3})]
    assert depths == [800, 400]  # both shards are read at the same time, records after them
    assert "200,000 reads/s" in found["R-VEC-01"].statement
    assert found["R-VEC-01"].requests == "random 4 KiB read, 200,000 requests/s"
    assert found["R-VEC-02"].computed == 2 * CODES / 600
    copies, files = 2 * ((10**9 + 1) * SECTOR + CODES), 10**9 * 3332 + 32
    assert found["R-VEC-03"].computed == pytest.approx((copies + files) / 86400)
    held = copies + files + (10**9 + 1) * SECTOR + CODES + 10**9 * 3072
    assert found["R-VEC-04"].computed == found["R-CAP-01"].computed == held
    assert found["R-END-01"].computed == pytest.approx((copies + files) * 10 / 8)
    assert "rebuilt indexes" in found["R-END-01"].statement
    assert found["R-VEC-04"].theme == "capacity"
    assert "R-READ-03" not in found
    assert "io_per_second_needed" not in from_requirements(found.values()).given, "R-VEC-01 has the highest rate"


@pytest.mark.parametrize("keys", [{"index": "hnsw"}, {"index": "ivf-flat", "layout": "faiss"}, {"index": "flat", "qps": 10**6},
                                  {"cached_share": 1.0}, {"qps": 0.001, "cached_share": 1.0}])  # fmt: skip
def test_what_memory_answers_asks_for_no_reads(keys):
    found = lines(without=("code_bytes", *(("search_list",) if "index" in keys else ())), **keys)
    assert "R-VEC-01" not in found
    assert found["R-VEC-02"].value > 0


def test_no_line_asks_nodes_for_more_than_they_draw():
    found = lines(qps=10**7)["R-VEC-01"]
    assert found.value <= 4 * 25e9
    assert found.limited_by
    late = "each of its reads one after the other"
    assert late in str(planned(latency=0.0124).warnings)
    assert late not in str(planned(latency=0.0125).warnings)


def test_without_a_latency_none_is_required_and_the_client_sets_the_depth():
    read = lines(without=("latency",))["R-VEC-01"].conditions
    assert (read.implied_latency, read.latency_99) == (None, None)
    assert read.queue_depth == 4 * 26, "820 MB/s of 4 KiB reads, 0.5 ms each, in whole threads"


def test_reads_are_whole_blocks_at_any_rate():
    # 64 lists of 4 of 1M vectors each: 15,625 records of 516 B or so are no whole number of blocks.
    keys = {"index": "ivf-flat", "layout": "lance", "vectors": 10**6, "dimensions": 128, "lists": 64, "probes": 4, "qps": 0.01}
    found = lines(without=("code_bytes", "search_list", "latency"), **keys)["R-VEC-01"]
    assert found.priority == "mandatory"
    assert found.conditions.io_size % SECTOR == 0
    # Lance reads a list in two requests.
    assert found.computed == pytest.approx(0.01 * 4 * 2 * found.conditions.io_size)


@settings(max_examples=12)
@given(factor=some.floats(1, 3), key=some.sampled_from(["qps", "search_list", "vectors", "dimensions", "replicas", "nodes"]))
def test_more_of_anything_asks_for_no_less(factor, key):
    base, more = lines(), lines(**{key: round(WIKI[key] * factor) if key != "nodes" else min(8, round(4 * factor))})
    for name in base.keys() & more.keys():
        assert more[name].value >= base[name].value * (1 - 1e-9), name


def test_indexes_add_up_and_stand_beside_training():
    jobs = {"llm": {"cluster": "gpus", "nodes": 4, "model": "llama3-8b", "checkpoint": {"mode": "async"}}}
    site = {"clusters": {**SITE["clusters"], "gpus": {"node": "dgx-h100", "count": 4}}, "jobs": jobs}
    alone, both = lines(), lines(site=site)
    assert both["R-VEC-01"].computed == alone["R-VEC-01"].computed
    # What trains and what queries at the same time, and what both write, are sums.
    trains = {one.id: one.computed for one in ingest.plan({**site, "storage": SITE["storage"]}, samples=0).requirements}
    for name, own in (("R-READ-01", "R-VEC-01"), ("R-READ-03", "R-VEC-01"), ("R-WRITE-01", "R-VEC-03")):
        assert both[name].computed == pytest.approx(trains[name] + alone[own].computed), name
    assert both["R-MIX-01"].computed == pytest.approx(
        trains["R-MIX-01"] + alone["R-VEC-01"].computed + alone["R-VEC-03"].computed
    )
    assert "index queries" in both["R-READ-03"].statement
    assert both["R-CAP-01"].computed > alone["R-CAP-01"].computed
    found = ingest.plan({**SITE, "indexes": {"a": WIKI, "b": WIKI}}, samples=0)
    assert found.computed["R-VEC-01"] == 2 * alone["R-VEC-01"].computed
    assert found.requirement("R-VEC-01").conditions.clients == 8


@pytest.mark.parametrize(("keys", "words"), REFUSED, ids=lambda one: str(one)[:40])
def test_entries_that_cannot_be_are_refused_in_one_line_with_their_place(keys, words, tmp_path):
    own = {key: one for key, one in (WIKI | keys).items() if one is not None}
    own |= {"latency": "50 ms"} if "latency" not in keys else {}
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump({**SITE, "clusters": {"search": {"node": "cpu", "count": 8}}, "indexes": {"wiki": own}}))
    with pytest.raises(IngestError, match=words) as refused:
        ingest.plan(path)
    assert len(str(refused.value).splitlines()) == 1
    assert f"{path}:" in str(refused.value)
    assert "indexes.wiki" in str(refused.value)
    assert "--" not in str(refused.value)


def test_a_key_that_moves_nothing_is_named():
    idle = {"chunk": 100, "probes": 4}
    assert [line.count("changes nothing") for line in map(str, planned(**idle).warnings)][:2] == [1, 1]
    assert "changes nothing" not in str(planned(cached_nodes=5, beam=2, top_k=3, metadata_bytes=7).warnings)


@settings(max_examples=8)
@given(index=some.sampled_from(["diskann", "hnsw", "ivf-pq", "flat"]), vectors=some.floats(1, 3), queries=some.floats(1, 1.5))
def test_an_index_grows_as_one_of_so_many_vectors_and_queries(index, vectors, queries):
    own = {"index": index, "latency": 0.05, "growth": {"capacity": vectors, "bandwidth": queries, "every": "5 years"}}
    without = ("search_list", "latency") if index != "diskann" else ()
    without += ("code_bytes",) if index in ("hnsw", "flat") else ()
    grown = planned(without, **own, **({"lists": 1024} if index == "ivf-pq" else {}))
    own |= {"vectors": round(10**9 * vectors), "qps": 2000 * queries, "growth": {"capacity": 1}}
    later = planned(without, **own, **({"lists": 1024} if index == "ivf-pq" else {})).computed
    for name in ("R-VEC-02", "R-VEC-03", "R-VEC-04", "R-CAP-01", "R-END-01"):
        assert grown.computed[name] == pytest.approx(later[name], rel=1e-3), name
    if index == "diskann":
        assert grown.computed["R-GROW-01"] == pytest.approx(later["R-VEC-01"])
    of_site = planned(without, site={"growth": {"add": "1 TB", "every": "1 year"}}, index=index)
    assert ["leaves growth by `add` out" in str(one.warnings) for one in (grown, of_site)] == [False, True]


@settings(max_examples=8)
@given(
    index=some.sampled_from(["diskann", "hnsw"]),
    replicas=some.integers(1, 8),
    nodes=some.integers(1, 8),
    top=some.integers(0, 9),
)
def test_an_index_on_drives_of_its_nodes_asks_storage_for_loads_rebuilds_and_what_is_fetched(index, replicas, nodes, top):
    keys = {"index": index, "replicas": replicas, "nodes": nodes, "top_k": top, "growth": {"capacity": 2, "every": "5 years"}}
    without = ("code_bytes", "search_list") if index == "hnsw" else ()
    stored, local = lines(without, tier="storage", **keys), lines(without, tier="nodes", **keys)
    copy = {"diskann": (10**9 + 1) * SECTOR + CODES, "hnsw": stored["R-VEC-03"].computed * 86400 / replicas / 2}[index]
    built = (10**9 * 3332 + 32) if index == "diskann" else 0
    assert ("R-VEC-01" in local) is bool(top)
    assert not top or local["R-VEC-01"].computed == 2000 * top * SECTOR
    assert local["R-VEC-02"].computed == pytest.approx(min(2 * copy * replicas / 600, nodes * 22.5e9))
    assert local["R-VEC-03"].computed == pytest.approx(2 * (copy + built) / 86400)
    assert stored["R-VEC-04"].computed - local["R-VEC-04"].computed == pytest.approx(2 * copy * (replicas - 1))
    # The drives of a node hold its share of the old copies and of the new ones, and answer the queries.
    assert local["R-STAGE-02"].computed == pytest.approx(2 * 2 * copy * replicas / nodes)
    assert local["R-OFFLOAD-05"].computed == pytest.approx(2 * copy * replicas / nodes)
    assert local["R-OFFLOAD-04"].computed == pytest.approx(local["R-VEC-02"].computed / nodes)
    reads = {one: found["R-OFFLOAD-03"].computed for one, found in (("l", local), ("s", stored)) if "R-OFFLOAD-03" in found}
    assert reads == ({"l": pytest.approx(2000 * 100 * SECTOR / nodes)} if index == "diskann" else {})
    assert "for vector indexes" in local["R-STAGE-02"].statement


def test_first_epochs_and_rates_in_dispute_hold_what_is_read_beside_them():
    jobs = {"images": {"cluster": "gpus", "nodes": 4, "model": "resnet50", "data": "pictures", "epochs": 9}}
    data = {"pictures": {"samples": 1_000_000, "sample_bytes": 100_000}}
    site = {"clusters": {**SITE["clusters"], "gpus": {"node": "dgx-h100", "count": 4}}, "jobs": jobs, "datasets": data}
    beside, trains = (
        lines(site=site),
        {one.id: one for one in ingest.plan({**site, "storage": SITE["storage"]}, samples=0).requirements},
    )
    for name in ("R-READ-05", "R-READ-06"):
        assert beside[name].computed == pytest.approx(trains[name].computed + 2000 * 100 * SECTOR), name
        assert "all jobs, index queries that can" in beside[name].statement
        assert "all jobs that can" in trains[name].statement


def test_a_job_of_the_same_name_is_refused():
    with pytest.raises(IngestError, match=r"indexes\.wiki: found a job of that name"):
        ingest.plan({**SITE, "jobs": {"wiki": {"cluster": "search", "nodes": 1, "model": "resnet50"}}})


def test_from_a_folder_of_text_to_a_line_in_two_commands(tmp_path):
    (tmp_path / "text").mkdir()
    for number in range(4):
        (tmp_path / "text" / f"{number}.txt").write_text("a text of words. " * 400)
    (tmp_path / "measure.json").write_text(json.dumps(ingest.measure(tmp_path / "text").to_dict()))
    own = {key: one for key, one in WIKI.items() if key not in ("vectors", "code_bytes")}
    own |= {"measured": "measure.json", "index": "hnsw", "latency": "50 ms"}
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump({**SITE, "clusters": {"search": {"node": "cpu", "count": 8}}, "indexes": {"wiki": own}}))
    plan = ingest.plan(path, samples=0)
    (row,) = plan.rows["jobs"]
    assert 4 <= row.known.value("vectors") <= 100
    assert plan.computed["R-VEC-04"] > 0


def test_an_offer_is_judged_on_the_lines_of_indexes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "rfp")
    from offers import everything_met, filled, on_form

    plan = planned()
    answers = everything_met(plan)
    answers["R-VEC-01"]["As-is value"] = on_form(plan.requirement("R-VEC-01"), 0.9)
    assert "Vector indexes" in load_workbook(io.BytesIO(model_workbook(plan))).sheetnames
    book = vendor_workbook(plan)
    (tmp_path / "rfp.xlsx").write_bytes(book)
    answer = ingest.response(filled(book, answers, tmp_path / "offer.xlsx"), sent=tmp_path / "rfp.xlsx")
    assert {name: word for name, word in answer.results.items() if word != "met"} == {"R-VEC-01": "missed"}
    assert {"R-VEC-02", "R-VEC-03", "R-VEC-04"} <= answer.results.keys()


@pytest.mark.parametrize(
    ("system", "verdict"), [("ceph", True), ("s3-express", False), ("vast-ebox", None), ("tlc-ps1030", None)]
)
def test_systems_are_judged_by_the_random_reads_of_queries(system, verdict, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(planned(load_time=60).to_dict()))
    (fit,) = ingest.fit(tmp_path / "plan.json", storage=system).systems
    (layer,) = (one for one in fit.layers if one.layer.need == "io_per_second_needed" and "down" not in one.layer.name)
    # As many reads as the value of R-VEC-01 has blocks: 820 MB/s of 4 KiB, while loads have the highest rate.
    assert (layer.need, layer.holds) == (820e6 / SECTOR, verdict)
    assert fit.fits is not True


@pytest.mark.usefixtures("short_rehearsal")
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_reads_in_the_sizes_and_depth_of_the_queries_and_the_verdict_finds_it(tmp_path):
    site = {**SITE, "test": {"duration": 10, "shortest": 5}, "indexes": {"wiki": WIKI | {"qps": 2}}}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(ingest.plan(site, samples=0).to_dict()))
    full = Path(ingest.accept(plan, tmp_path / "full").folder)
    job = (full / "fio/T-VEC-01-fio.fio").read_text()
    assert "rw=randread\n" in job
    assert "bs=4096\n" in job
    folder = Path(ingest.accept(plan, tmp_path / "tests", scale="1node").folder)
    (tmp_path / "storage").mkdir()
    finished("sh", "fio/T-VEC-01-fio.sh", cwd=folder, TARGET=str(tmp_path / "storage"))
    answer = ingest.verdict(folder, folder / "results")
    found = answer.results["R-VEC-01"]
    assert found.result == "pass"
    assert found.measured >= 2 * 100 * SECTOR / 4


@given(some.floats(0.01, 1e6), some.floats(1e-3, 1), some.integers(1, 8), some.sampled_from((1, 2, 4)), some.integers(1, 9))
@settings(max_examples=12)
def test_no_line_allows_a_read_more_time_than_a_query_has(qps, latency, nodes, beam, shards):
    made = planned(qps=qps, latency=latency, nodes=nodes, beam=beam, shards=shards)
    line = {one.id: one for one in made.requirements}["R-VEC-01"]
    outstanding, need = line.conditions.queue_depth, qps * 100 * shards * SECTOR
    least = min(latency / (100 / beam), outstanding * SECTOR / line.value)
    assert line.conditions.implied_latency == pytest.approx(least, rel=1e-6)
    told = [line for line in made.warnings if line.startswith("R-VEC-01: wiki would have to move")]
    assert bool(told) == (need > nodes * 22.5e9 * (1 + 1e-6))


def test_the_test_of_few_queries_allows_the_time_that_the_line_states(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(planned(qps=10).to_dict()))
    ingest.accept(tmp_path / "plan.json", tmp_path / "tests")
    tests = json.loads((tmp_path / "tests/tests.json").read_text())["tests"]
    (test,) = (one for one in tests if one["requirement"] == "R-VEC-01")
    assert test["implied"]["mean_latency_allowed.read"] == pytest.approx(0.002)
