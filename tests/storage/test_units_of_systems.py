"""Units on offer: drives of a published size, spares, installations that exist, file systems within their limits."""

import pytest
from conftest import CATALOG, table
from test_fits import one

import ingest
from ingest.catalog.records import Storage
from ingest.storage.fit import COMPARED
from ingest.storage.system_quantities import with_drives
from ingest.units import parse

DOWN = "reads, one failure domain down"


def layer(found, name):
    return next((judged for judged in found.layers if judged.layer.name == name), None)


def units(found):
    return found.results["units_required"].value


def entry_of(write_entry, text):
    rate = "read_bandwidth: {value: 100, unit: GB/s, source: recalled, grade: measured}\n"
    return write_entry("storage", "mine", f"name: mine\nfamily: system\nscaling_unit: box\n{rate}{text}")


@pytest.mark.parametrize(
    ("name", "choice", "usable"), table("storage/cases.yaml")["a_size_of_drive_holds_what_is_published_for_it"]
)
def test_a_size_of_drive_holds_what_is_published_for_it(name, choice, usable):
    sized = with_drives(CATALOG.get(Storage, name), choice)
    assert sized.usable_bytes.value == parse(usable, "B", "usable")
    few = one(capacity=sized.usable_bytes.value * 0.85, storage=name, set={"spare_units": 0})
    assert (few.label.split(" TB")[0].replace(".", "-"), units(few)) == (choice.removeprefix("tb-"), 1)


def test_files_capacities_and_failure_domains_of_the_market():
    # Files are those of the drives chosen.
    asked = {"read_bandwidth": "1 GB/s", "capacity": "10 TB", "storage": "netapp-beegfs-ef600"}
    assert one(**asked, files=1.9e9).results["metadata_servers_required"].value == 1
    assert one(**asked, files=2e9).results["metadata_servers_required"].value == 2
    # A size without published capacity takes that of the entry where it is its own, else the published share of its drives.
    assert with_drives(CATALOG.get(Storage, "wekapod-nitro"), "tb-15-36").usable_bytes.value == 121e12
    found = one(capacity="53 TB", storage="ibm-ess3500", no_spare=True)
    assert found.label == "3.84 TB drives"
    known = found.answer.known
    assert known.value("unit_raw_bytes") == 24 * 3.84e12
    assert known.value("unit_usable_bytes") == pytest.approx(24 * 3.84e12 * 0.678)
    # Every system on the market has its failure domains.
    entries = [entry for entry in CATALOG.all(Storage) if entry.family in ("system", "software")]
    assert [entry.id for entry in entries if entry.failure_domains is None or not entry.spare_unit] == []


@pytest.mark.parametrize(("name", "sizes"), [("vast-ceres", {15.36, 61.44}), ("ddn-ai400x2", {7.68, 15.36, 30.72})])
def test_no_drive_is_proposed_that_the_source_does_not_list(name, sizes):
    assert {item.value / 1e12 for item in CATALOG.get(Storage, name).drive_choices.values()} == sizes
    found = one(capacity="100 PB", storage=name)
    assert float(found.label.split()[0]) in sizes


def test_check_refuses_a_capacity_of_a_drive_that_is_not_on_offer(write_entry):
    size = "{{value: {}, unit: TB, source: recalled, grade: vendor}}"
    text = f"drive_choices:\n  small: {size.format(2)}\nusable_by_drive:\n  smal: {size.format(40)}\n"
    (problem,) = ingest.catalog.check(entry_of(write_entry, text)).problems
    assert "usable_by_drive: smal is no size of drive on offer" in problem
    assert "'small'" in problem


@pytest.mark.parametrize(("name", "rate"), [("oceanstor-a800", "700 GB/s"), ("yanrong-f9000x", "500 GB/s")])
def test_no_second_system_is_bought_as_a_spare(name, rate):
    spared, plain = one(read_bandwidth=rate, storage=name), one(read_bandwidth=rate, storage=name, no_spare=True)
    entry = CATALOG.get(Storage, name)
    assert entry.failure_domains is not None
    assert units(spared) - units(plain) <= 1
    assert units(spared) * entry.read_bandwidth.value < 2 * parse(rate, "B/s", "rate") + entry.read_bandwidth.value


def test_a_unit_of_unknown_failure_domains_is_a_question_and_no_spare(write_entry):
    folder = entry_of(write_entry, "")
    found = one(read_bandwidth="90 GB/s", storage="mine", catalogs=folder)
    assert (units(found), found.fits, layer(found, DOWN).holds) == (1, None, None)
    assert found.question.startswith("Controllers, servers or enclosures of one unit that can fail on their own")
    assert "set.failure_domains" in [way.path for way in layer(found, DOWN).why.supply]
    known = one(read_bandwidth="90 GB/s", storage="mine", catalogs=folder, set={"failure_domains": 2})
    assert (units(known), known.fits) == (2, True)
    assert one(read_bandwidth="90 GB/s", storage="mine", catalogs=folder, no_spare=True).fits is True


def test_what_does_not_rank_and_what_ranks_below():
    # An enclosure of drives is not ranked and says why.
    assert "enclosure" not in COMPARED
    assert "wd-openflex-data24" not in {one.entry.id for one in ingest.fit(read_bandwidth="50 GB/s").systems}
    found = one(read_bandwidth="50 GB/s", storage="wd-openflex-data24")
    assert found.fits is False
    assert "needs servers and a file system" in found.ruled_out
    # Sizes beyond any installation rank below those within.
    systems = ingest.fit(read_bandwidth="500 GB/s", capacity="20 PB").systems
    for verdict in {found.verdict for found in systems}:
        alike = [found.units_beyond > 0 for found in systems if found.verdict == verdict and found.fits is not False]
        assert alike == sorted(alike)
    assert sum(found.units_beyond > 0 for found in systems) >= 3
    # A client that is too slow is not helped by more file systems.
    found = one(read_bandwidth="60 GB/s", capacity="1 PB", nodes=1, node="dgx-h100", storage="fsx-lustre",
                set={"client_bandwidth_per_node": "1 GB/s"})  # fmt: skip
    assert (found.fits, found.file_systems) == (False, 1)


@pytest.mark.parametrize("what", ["opens", "creates"])
def test_metadata_of_an_unknown_rate_is_unknown_and_not_none(what):
    asked = {"read_bandwidth": "1 GB/s", "files": 1e9, "storage": "netapp-beegfs-ef600"}
    found = one(**asked, **{what: 10_000})
    assert (found.fits, layer(found, f"metadata, {what}").holds) == (None, None)
    assert any(what in line for line in found.answer.warnings if line.startswith("the number of units required leaves out"))
    rate = {f"{what}_per_metadata_server": 20_000}
    known = one(**asked, **{what: 10_000}, set=rate)
    assert (known.fits, layer(known, f"metadata, {what}")) == (None, None)
    assert known.results["metadata_servers_required"].value == 1
    assert one(**asked, **{what: 50_000}, set=rate).results["metadata_servers_required"].value == 3


@pytest.mark.parametrize(("rate", "count", "beyond"), [("1999 GB/s", 100, 0), ("2001 GB/s", 101, 101)])
def test_more_units_than_any_installation_has_are_no_fit(write_entry, rate, count, beyond):
    text = "failure_domains: {value: 1, unit: '1', source: recalled, grade: measured}\n"
    folder = entry_of(write_entry, text)
    found = one(read_bandwidth=rate, storage="mine", catalogs=folder, no_spare=True, set={"unit_read_bandwidth": "20 GB/s"})
    assert (units(found), found.units_beyond, found.fits) == (count, beyond, None if beyond else True)
    assert found.beyond_installed == (f"beyond any published installation: {beyond} × box" if beyond else "")


@pytest.mark.parametrize(("rate", "beyond"), [("30.9 TB/s", 0), ("32 TB/s", 1058)])
def test_a_published_installation_allows_as_many_units_as_it_has(rate, beyond):
    assert one(read_bandwidth=rate, storage="daos").units_beyond == beyond


@pytest.mark.parametrize(
    ("tier", "most"),
    [("premium-20", 25_632), ("premium-40", 12_768), ("premium-125", 4096), ("premium-250", 2048), ("premium-500", 1024)],
)
def test_no_file_system_exceeds_the_limit_of_its_own_tier(tier, most):
    limits = CATALOG.get(Storage, "azure-managed-lustre").tiers[tier]
    assert limits.capacity_max.value == most * 2**40
    rate = limits.read_bandwidth_per_byte.value * limits.capacity_max.value
    asked = {"capacity": "1 TB", "storage": "azure-managed-lustre"}
    held = {row["tier"]: row["capacity"] for row in one(**asked, read_bandwidth=rate * 0.999).tiers}
    assert held[tier] <= most * 2**40
    above = one(**asked, read_bandwidth=rate * 1.001)
    assert tier not in {row["tier"] for row in above.tiers}


@pytest.mark.parametrize(("capacity", "count"), [(84, 1), (86, 2), (169, 2), (171, 3)])
def test_more_than_one_file_system_is_said_and_is_no_fit(capacity, count):
    found = one(capacity=capacity * 2**40, storage="filestore")
    assert found.file_systems == count
    assert (found.fits is False) is (count > 1)
    assert found.split == (
        "" if count == 1 else f"more than one instance of zonal-large holds or delivers: {count} of them share the need"
    )
