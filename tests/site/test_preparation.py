"""The preparation of a data set as a job of the site: reads, writes, scratch space, cores; expected values by hand."""

import json

import pytest
from conftest import exact, refused, table

import ingest
from ingest.errors import IngestError

WEEK = 604_800


def described(job, **more):
    return {
        "years": 1,
        "clusters": {"main": {"node": "dgx-h100", "count": 16}},
        "jobs": {"a": {"cluster": "main", "nodes": 8, "samples_per_second": 100, "sample_bytes": 1_000_000}},
        "storage": {"headroom": 0.5, "protection": {"replicas": 2}},
        "datasets": {
            "crawl": {"bytes": "200 TB"},
            "text": {"made_from": "crawl", "ratio": 0.05, "copies": 2, "preparation": job, **more},
        },
    }


def planned(job, **more):
    return ingest.plan(described(job, **more), samples=0)


def test_a_preparation_by_its_data_its_pipeline_and_what_is_stated():
    # A preparation reads in passes and writes its result and its scratch space.
    plan = planned({"passes": 2, "intermediate": 0.5, "documents": 1e9, "hashes": 100})
    scratch = 0.5 * 200e12 + 1e9 * 100 * 8
    assert exact(plan, "R-PREP-01") == pytest.approx(1.5 * (2 * 200e12 + scratch) / WEEK)
    assert exact(plan, "R-PREP-02") == pytest.approx(1.5 * (2 * 10e12 + scratch) / WEEK)
    assert exact(plan, "R-CAP-01") == pytest.approx(200e12 + 2 * 10e12 + scratch)
    assert plan.requirement("R-PREP-02").conditions.operation == "write"
    assert plan.requirement("R-PREP-02").statement.endswith("within 7 days.")
    # Without more a preparation reads once and writes its result.
    plan = planned({}, prepare_within="1 day")
    assert exact(plan, "R-PREP-01") == pytest.approx(1.5 * 200e12 / 86_400)
    assert exact(plan, "R-PREP-02") == pytest.approx(1.5 * 20e12 / 86_400)
    assert exact(plan, "R-CAP-01") == pytest.approx(220e12)
    # Scratch space may be stated.
    assert exact(planned({"scratch": "30 TB"}), "R-CAP-01") == pytest.approx(250e12)
    # A pipeline of the catalogs gives passes and hashes.
    assert exact(planned({"pipeline": "ccnet"}), "R-PREP-01") == pytest.approx(1.5 * 2 * 200e12 / WEEK)
    fineweb = planned({"pipeline": "fineweb", "documents": 50e9})
    assert exact(fineweb, "R-CAP-01") - 220e12 == pytest.approx(44.8e12)
    # Cores follow from the rate of one.
    (row,) = planned({"rate": "1 MB/s", "passes": 3}).tables["preparation"]
    assert row["preparation_cores"] == -(-3 * 200_000_000 // WEEK)
    assert row["preparation_core_hours"] == pytest.approx(3 * 200e6 / 3600)


def test_growth_of_the_origin_is_prepared_too():
    job = {"passes": 2, "intermediate": 1}
    growing = described(job)
    growing["datasets"]["crawl"]["growth"] = {"capacity": 3, "every": "1 year"}
    grown = ingest.plan(growing, samples=0)
    assert exact(grown, "R-PREP-01") == pytest.approx(3 * exact(planned(job), "R-PREP-01"))
    # The result grows as its own `growth` says; the scratch space follows the origin.
    assert exact(grown, "R-PREP-02") == pytest.approx(1.5 * (20e12 + 3 * 200e12) / WEEK)


def test_the_rate_is_that_which_a_measurement_had(tmp_path):
    file = tmp_path / "m.json"
    found = {"schema": "ingest/1", "command": "measure", "results": {}}
    file.write_text(json.dumps({**found, "speed": {"bytes": 3e9, "seconds": 10, "workers": 2}}))
    (row,) = planned({"measured": str(file)}).tables["preparation"]
    assert row["preparation_rate"] == 150e6
    for none in ({}, {"speed": {}}, {"speed": {"bytes": 1, "seconds": 1}}):
        file.write_text(json.dumps({**found, **none}))
        with pytest.raises(IngestError, match="no speed"):
            planned({"measured": str(file)})


@pytest.mark.parametrize(("job", "words"), table("site/refused.yaml")["a_contradicting_preparation_is_refused_with_its_key"])
def test_a_contradicting_preparation_is_refused_with_its_key(job, words):
    with refused("preparation", match=words):
        planned(job)


def test_only_a_data_set_with_an_origin_is_prepared():
    with pytest.raises(IngestError, match="made_from"):
        ingest.plan({**described({}), "datasets": {"crawl": {"bytes": "1 TB", "preparation": {}}}}, samples=0)


def test_the_media_endure_the_scratch_writes_of_each_preparation():
    """Scratch space of 100 TB + 80 GB, written once in the year of the first load, and with each new version."""
    job, scratch = {"intermediate": 0.5}, 0.5 * 200e12
    without, once = (exact(planned(one), "R-END-01") for one in ({}, job))
    # Two replicas write every byte twice.
    assert once - without == pytest.approx(2 * scratch / 365.25)
    without, renewed = (exact(planned(one, refresh="73.05 days"), "R-END-01") for one in ({}, job))
    assert renewed - without == pytest.approx(2 * scratch * 6 / 365.25)


def test_growth_of_the_origin_wears_the_media_by_its_difference_alone():
    growing = described({"intermediate": 1})
    growing["datasets"]["crawl"]["growth"] = {"capacity": 2, "every": "1 year"}
    rows = ingest.plan(growing, samples=0).tables["capacity"]
    growing["datasets"]["text"] |= {"preparation": {}}
    plain = ingest.plan(growing, samples=0).tables["capacity"]
    more = [
        one["year_bytes_written_per_day"] - other["year_bytes_written_per_day"] for one, other in zip(rows, plain, strict=True)
    ]
    assert more == pytest.approx([200e12 / 365.25, 200e12 / 365.25])
