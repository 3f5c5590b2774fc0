"""The storage on the market: what one buys, rents or runs, how much of it is known, and the public runs behind it."""

import csv
from collections import defaultdict

import pytest

import ingest
from ingest.catalog.records import Storage, Value
from ingest.catalog.store import opened, shipped_folder

CATALOG = opened(())
ENTRIES = {entry.id: entry for entry in CATALOG.all(Storage)}
SERVICES = [entry for entry in ENTRIES.values() if entry.tiers]
with (shipped_folder() / "published/mlperf-storage-systems.csv").open(encoding="utf-8", newline="") as lines:
    ROWS = list(csv.DictReader(lines))


def of_class(*families):
    return [entry for entry in ENTRIES.values() if entry.family in families]


def values(entry):
    found = [item for item in vars(entry).values() if isinstance(item, Value)]
    for table in (entry.read_bandwidth_by_model, entry.client_read_bandwidth_by_model, entry.drive_choices):
        found += table.values()
    return found + [item for tier in entry.tiers.values() for item in vars(tier).values() if isinstance(item, Value)]


def test_rates_and_limits_of_the_market_are_as_published():
    # A site exists once and a system does not.
    assert all(entry.fixed == "yes" for entry in of_class("site"))
    assert not any(entry.fixed for entry in of_class("system", "software"))
    # The random rate of a disk is that of its heads.
    disk, flash = ENTRIES["hdd-7200"], ENTRIES["qlc-p5336-122"]
    assert disk.io_per_second.value * 1000 < flash.io_per_second.value
    assert ENTRIES["hdd-dual-actuator"].io_per_second.value > 1.5 * disk.io_per_second.value
    # The service limits are checked against the entries.
    (found,) = ingest.validate("service-limits").sets
    assert found.cases >= 50
    assert found.within_tolerance == found.cases
    assert len({case.source for case in found.results}) >= 12
    # The links of the nodes are no rate of the storage.
    asked = {"read_bandwidth": "1 TB/s", "node": "dgx-h100", "storage": "gcs-rapid"}
    nodes = ingest.fit(**asked, nodes=64).systems[0]
    assert "read_bandwidth_available" not in nodes.results
    assert "links of the nodes are narrower" in nodes.unknown["read_bandwidth_available"]
    many = ingest.fit(**asked, nodes=1024).systems[0]
    assert many.results["read_bandwidth_available"].value == 15e12


def test_a_tier_says_what_it_delivers_and_its_sizes_fit_each_other():
    for entry, name, tier in ((one, *item) for one in SERVICES for item in one.tiers.items()):
        place = f"{entry.id} {name}"
        assert any((tier.read_bandwidth_per_byte, tier.read_bandwidth_max, tier.io_per_second_max)), place
        low, step, high = (item and item.value for item in (tier.capacity_min, tier.capacity_step, tier.capacity_max))
        assert step is None or low is not None, place
        if high is not None and step is not None:
            assert low < high, place
            if entry.id not in ("alibaba-cpfs", "huawei-sfs-turbo"):  # their largest size is a round figure
                assert (high - low) / step == pytest.approx(round((high - low) / step), abs=1e-6), place
        if tier.write_bandwidth_per_byte is not None:
            assert tier.write_bandwidth_per_byte.value <= tier.read_bandwidth_per_byte.value, place


def test_a_dearer_tier_gives_more_for_each_byte():
    for service, order in {
        "fsx-lustre": ("hdd-12", "hdd-40", "persistent-2-125", "persistent-2-250", "persistent-2-500", "persistent-2-1000"),
        "google-managed-lustre": ("dynamic", "mbps-125", "mbps-250", "mbps-500", "mbps-1000"),
        "azure-managed-lustre": ("premium-20", "premium-40", "premium-125", "premium-250", "premium-500"),
        "anf-volume": ("standard", "premium", "ultra", "flexible"),
    }.items():
        rates = [ENTRIES[service].tiers[name].read_bandwidth_per_byte.value for name in order]
        assert rates == sorted(set(rates)), service


def test_lustre_that_is_rented_or_boxed_names_its_technology():
    of_lustre = {entry.id for entry in ENTRIES.values() if entry.technology == "lustre"}
    assert {"fsx-lustre", "google-managed-lustre", "azure-managed-lustre", "oci-lustre"} <= of_lustre
    assert {"clusterstor-e2000", "clusterstor-e1000-flash", "ddn-ai400x2", "ddn-ai400x2t", "exascaler-client"} <= of_lustre
    assert all(ENTRIES[entry.technology].family == "software" for entry in ENTRIES.values() if entry.technology)


def test_bytes_and_rates_of_drives_add_up():
    for entry in (one for one in of_class("system", "site") if one.raw_bytes and one.drives):
        if entry.drive_bytes is not None:
            assert entry.raw_bytes.value == pytest.approx(entry.drives.value * entry.drive_bytes.value, rel=0.01), entry.id
        if entry.usable_bytes is not None and entry.usable_fraction is not None and entry.fixed != "yes":
            usable = entry.raw_bytes.value * entry.usable_fraction.value
            assert entry.usable_bytes.value == pytest.approx(usable, rel=0.01), entry.id
    for one in (one for one in of_class("drive") if not one.id.startswith(("nvme-", "micron-9", "deepnvme-"))):
        known = (one.read_bandwidth, one.write_bandwidth, one.io_per_second, one.write_io_per_second, one.raw_bytes)
        assert all(known), one.id


def test_sources_and_evidence_are_named():
    # Statements name their sources.
    for entry in ENTRIES.values():
        for name in ("consistency", "failure_tolerance", "failover", "metadata", "verdict"):
            words = getattr(entry, name)
            assert words is None or not words.source or words.source in CATALOG.sources, (entry.id, name)
    # Most of what the market entries say is not assumed.
    found = [item for entry in of_class("system", "software", "service", "drive") for item in values(entry)]
    assert sum(item.grade == "assumed" for item in found) / len(found) < 0.15


def test_measured_rows_are_of_known_rounds():
    # The evidence is in bytes and of a known round.
    assert len(ROWS) >= 255
    assert {row["round"] for row in ROWS} == {"v0.5", "v1.0", "v2.0", "v3.0"}
    assert all(row["source"] in CATALOG.sources and row["where"] for row in ROWS)
    assert all(row["read_bandwidth"] or row["write_bandwidth"] for row in ROWS)
    assert {row["storage"] for row in ROWS} - {""} <= set(ENTRIES)
    # Rows that were withdrawn are not there.
    last = [row for row in ROWS if row["round"] == "v3.0"]
    assert not {"ANL", "Nutanix"} & {row["submitter"] for row in last}
    gone = {("TTA", "checkpoint llama3-8b"), ("OpenLake", "vector_database"), ("Everpure", "retinanet")}
    assert not gone & {(row["submitter"], row["workload"]) for row in last}
    kept = {row["system"] for row in last if row["submitter"].startswith("Suzhou") and "llama3-8b" in row["workload"]}
    assert kept == {"GalaxSphere, 1 Tier-0 node"}
    # One node that writes a slice of a large model is no checkpoint of it.
    of_slices = [row for row in last if row["submitter"] in ("Nebius", "NewFW", "SAMSUNG")]
    large = [row for row in of_slices if row["workload"].startswith("checkpoint") and not row["workload"].endswith("8b")]
    assert {row["accelerators"] for row in large} == {"64"}


def test_an_entry_that_cites_a_run_agrees_with_its_row():
    shares, agree = defaultdict(list), defaultdict(set)
    for row in ROWS:
        if row["storage"] and row["read_bandwidth_per_unit"]:
            shares[row["storage"], row["source"]].append(float(row["read_bandwidth_per_unit"]))
        if row["storage"] and row["write_bandwidth_per_unit"]:
            shares[row["storage"], row["source"]].append(float(row["write_bandwidth_per_unit"]))
    for entry in of_class("system", "software", "client", "drive", "service"):
        for rate in (entry.read_bandwidth, entry.write_bandwidth, entry.client_read_bandwidth):
            if rate is not None and rate.source.startswith("mlperf-storage") and (entry.id, rate.source) in shares:
                near = min(abs(rate.value / one - 1) for one in shares[entry.id, rate.source])
                agree[near < 0.005].add(entry.id)
    assert not agree[False]
    assert len(agree[True]) >= 19


def test_a_wrong_limit_of_a_tier_is_found(tmp_path):
    (tmp_path / "storage").mkdir()
    text = (shipped_folder() / "storage/filestore.yaml").read_text(encoding="utf-8")
    assert "value: 260," in text
    (tmp_path / "storage/filestore.yaml").write_text(text.replace("value: 260,", "value: 280,"), encoding="utf-8")
    (found,) = ingest.validate("service-limits", catalogs=[tmp_path]).sets
    assert [case.id for case in found.results if not case.within] == ["filestore-read"]
