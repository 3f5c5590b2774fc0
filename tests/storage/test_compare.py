"""`ingest catalog compare`: systems side by side with sources, and small reads by latency."""

import pytest
from conftest import table

from ingest import catalog
from ingest.errors import UsageError

SURVEYED = ["lustre", "ceph", "hdfs", "cockroachdb"]


def test_surveyed_systems_answer_or_are_said_to_be_unknown():
    # The surveyed systems answer every question of behaviour.
    found = catalog.compare(SURVEYED)
    for attribute in ("consistency", "failures survived", "recovery", "metadata", "protection"):
        assert all(found.results[name].get(attribute) for name in SURVEYED), attribute
    assert "append only" in found.results["hdfs"]["consistency"][0]
    assert "database" in found.results["cockroachdb"]["verdict"][0]
    assert any("33.3 % of raw capacity usable" in text for text in found.results["ceph"]["protection"])
    # Every fact has a source or says that it is unknown.
    for fact in catalog.compare(SURVEYED).facts:
        assert (fact.source and fact.grade) or fact.text == "unknown" or fact.text.startswith("unknown: ")
    # What is unknown has a row of its own.
    found = catalog.compare(SURVEYED)
    for name in ("hdfs", "cockroachdb"):
        assert found.results[name]["writes"] == ("unknown",)
    attributes = dict.fromkeys(fact.attribute for fact in found.facts if fact.attribute != "verdict")
    assert all(set(found.results[name]) >= set(attributes) for name in SURVEYED)
    assert [(one.id, one.latency, one.of_threads) for one in found.budgets if one.id != "lustre"] == [
        (name, None, None) for name in SURVEYED[1:]
    ]


def test_a_system_is_compared_once(write_entry):
    assert [one.id for one in catalog.compare(["ceph", "lustre", "ceph"]).entries] == ["ceph", "lustre"]
    folder = write_entry("storage", "ceph", "name: mine\nfamily: software\nscaling_unit: node\n")
    other = next(folder.rglob("ceph.yaml"))
    with pytest.raises(UsageError, match="its id ceph is that of"):
        catalog.compare(["ceph", str(other)])


def test_latencies_are_those_of_thread_drive_and_software():
    # A latency budget gives the reads of one thread and of all.
    found = catalog.compare(["lustre"], latency="driver=9us,block=6us,device=13us")
    own = found.budgets[0]
    assert own.latency == pytest.approx(28e-6)
    assert round(own.per_thread) == 35_714
    assert own.of_threads == pytest.approx(9.14e6, rel=1e-3)
    assert own.shares["driver"] + own.shares["block"] == pytest.approx(0.536, abs=1e-3)
    remote = next(one for one in found.budgets if one.id == "lustre")
    assert remote.of_threads == pytest.approx(256 / 0.5e-3)
    # A drive is not faster than its own random reads.
    (found,) = catalog.compare(["hdd-7200"]).budgets
    assert found.of_threads <= 200
    # An appliance shares the latency of its software.
    lustre, appliance = catalog.compare(["lustre", "ddn-ai400x2"]).budgets
    assert lustre.latency == appliance.latency


@pytest.mark.parametrize(
    ("names", "options", "message"), table("storage/refused.yaml")["a_comparison_that_cannot_be_made_is_refused"]
)
def test_a_comparison_that_cannot_be_made_is_refused(names, options, message):
    with pytest.raises(UsageError, match=message):
        catalog.compare(names, **options)
