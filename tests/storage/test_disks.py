"""Hard disks: what random reads leave of their rates."""

import pytest

import ingest
from ingest.catalog.records import Storage
from ingest.catalog.store import Catalog
from ingest.storage.fit import fit_need
from ingest.storage.need import Need, from_numbers

CATALOG = Catalog()
DISK = CATALOG.get(Storage, "hdd-7200")


def asked_of(name, pattern, **written):
    return fit_need(Need("reads", from_numbers(**written), pattern=pattern), [name], CATALOG).systems[0]


@pytest.mark.parametrize("name", ["dell-beegfs-me4084", "frontier-orion-hdd"])
@pytest.mark.parametrize("size", [4096, 16_384, 131_072, 2**20, 2**23])
def test_random_reads_of_disks_are_bound_by_their_heads_and_their_bytes(name, size):
    found = asked_of(name, "random", read_bandwidth="1 GB/s", io_size=size)
    known = found.answer.known
    rate = known.value("unit_io_per_second") / CATALOG.get(Storage, name).drives.value
    assert rate == pytest.approx(min(DISK.io_per_second.value, DISK.random_read_bandwidth.value / size))
    assert rate * size <= DISK.random_read_bandwidth.value * (1 + 1e-12) <= DISK.read_bandwidth.value
    assert found.fits is None


def test_a_bound_lowers_the_rate_and_the_headroom_shown():
    found = asked_of("frontier-orion-hdd", "random", read_bandwidth="100 GB/s", io_size="1 MiB")
    most = 47_700 * 60e6
    assert found.results["read_bandwidth_available"].value == pytest.approx(most)
    assert found.headroom == pytest.approx(1 - 100e9 / most)
    assert found.bottleneck == "requests"
    too_much = asked_of("frontier-orion-hdd", "random", read_bandwidth="3 TB/s", io_size="1 MiB")
    assert too_much.fits is False


@pytest.mark.parametrize(("size", "per_disk"), [(10**6, 60e6), (2**20, 60e6), (2**20 + 1, None)])
def test_reads_up_to_one_mebibyte_of_unknown_order_are_taken_as_random(size, per_disk):
    found = ingest.fit(read_bandwidth="1 GB/s", io_size=size, storage="dell-beegfs-me4084").systems[0]
    assert found.fits is (None if per_disk else True)
    known = found.answer.known.find("unit_io_per_second")
    assert (known is None) is (per_disk is None)
    assert known is None or known.value * size == pytest.approx(84 * per_disk)


def test_reads_in_sequence_are_those_published():
    found = asked_of("frontier-orion-hdd", "sequential", read_bandwidth="3 TB/s", io_size="1 MiB")
    assert found.fits is True
    assert found.results["read_bandwidth_available"].value == 5.5e12


@pytest.mark.parametrize(
    ("pattern", "size", "holds"),
    [
        ("random", "2 MiB", None),
        ("", "16 KiB", None),
        ("", "1 MiB", None),
        ("", 2**20 + 1, True),
        ("sequential", "1 MiB", True),
    ],
)
def test_a_tier_of_disks_is_not_taken_for_random_reads(pattern, size, holds):
    asked = {"read_bandwidth": "1 GB/s", "capacity": "1 PB", "io_size": size}
    found = asked_of("fsx-lustre", pattern, **asked)
    assert found.label == ("hdd-12" if holds else "persistent-1-50")
    assert next(one.holds for one in found.layers if one.layer.name == "system reads") is True
    assert ingest.fit(read_bandwidth="1 GB/s", capacity="1 PB", storage="fsx-lustre").systems[0].label == "hdd-12"
