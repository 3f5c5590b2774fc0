"""What decides between fits, barely fits and does not fit: just below each limit and just above it."""

import pytest
from conftest import CATALOG, table

import ingest
from ingest.catalog.commands import check
from ingest.catalog.records import Storage
from ingest.catalog.store import shipped_folder
from ingest.errors import CatalogError
from ingest.storage import data_path
from ingest.storage.data_path import NIC, READS, WRITES, LayerVerdict, bottleneck, verdict
from ingest.storage.fit import fit_need
from ingest.storage.need import Need, from_numbers


@pytest.mark.parametrize(
    ("rate", "expected"),
    [("94.9 GB/s", "fits"), ("95.1 GB/s", "barely fits"), ("99.9 GB/s", "barely fits"), ("100.1 GB/s", "does not fit")],
)
def test_less_than_five_percent_of_headroom_barely_fits(rate, expected):
    asked = {"read_bandwidth": rate, "storage": "ddn-ai400x2t", "units": 1, "no_spare": True}
    assert ingest.fit(**asked, set={"unit_read_bandwidth": "100 GB/s"}).systems[0].verdict == expected


def layer(of, headroom, at_least=False):
    return LayerVerdict(of, 100.0, 100.0 / (1 - headroom), headroom, at_least)


@pytest.mark.parametrize(("headroom", "tight"), [(0.0501, False), (0.0499, True), (-0.1, True)])
def test_what_has_only_been_shown_is_never_tight(headroom, tight):
    assert layer(READS, headroom).tight is tight
    assert layer(READS, headroom, at_least=True).tight is False


def test_what_has_only_been_shown_to_carry_less_is_no_bottleneck():
    shown, known = layer(READS, -0.5, at_least=True), layer(NIC, 0.2)
    assert bottleneck([shown, known]) == known
    assert bottleneck([shown]) is None
    assert bottleneck([layer(READS, 0.1, at_least=True), known]).layer is READS
    assert bottleneck([layer(WRITES, -0.1), known]).layer is WRITES
    sized = (data_path.UNITS, data_path.INSTALLED, data_path.DEGRADED, data_path.DEGRADED_REQUESTS)
    assert bottleneck([known, *(layer(one, 0.1) for one in sized)]) == known


@pytest.mark.parametrize(("headroom", "holds"), [(0.0, True), (-1e-9, False)])
def test_a_layer_holds_what_is_exactly_its_ceiling(headroom, holds):
    assert layer(READS, headroom).holds is holds
    assert verdict([layer(READS, headroom), layer(NIC, 0.5)]) is holds
    shown = None if headroom < 0 else True
    assert layer(READS, headroom, at_least=True).holds is shown
    assert verdict([layer(READS, headroom, at_least=True), layer(NIC, 0.5)]) is shown


def test_without_layers_nothing_is_known_to_hold():
    assert data_path.verdict([]) is None


@pytest.mark.parametrize("storage", ["ddn-ai400x2t", "fsx-lustre", "ceph", "nvme-gen4", "gpfs-client"])
def test_files_to_hold_are_never_left_out_of_a_fit(storage):
    asked = {"read_bandwidth": "5 GB/s", "capacity": "10 TB", "nodes": 4, "node": "dgx-h100", "storage": storage}
    (found,) = ingest.fit(**asked, files="10e9").systems
    assert found.fits is not True
    assert "files" in found.not_known
    (known,) = ingest.fit(**asked, files="10e9", set={"unit_files_max": "1e9", "units": 9}).systems
    assert next(one.holds for one in known.layers if one.layer.name == "files") is False
    assert "files" not in [one.layer.name for one in ingest.fit(**asked).systems[0].layers]


def test_metadata_servers_are_counted_for_the_files_that_one_of_them_holds():
    (found,) = ingest.fit(capacity="10 TB", files="10e9", storage="lustre").systems
    assert [one.holds for one in found.layers if one.layer.name == "metadata servers"] == [True]
    assert "files" not in [one.layer.name for one in found.layers]


def overlay(folder, name, *changes):
    """A folder with an entry of the catalog, changed line by line: (start of the line, what replaces it)."""
    lines = (shipped_folder() / f"storage/{name}.yaml").read_text(encoding="utf-8").splitlines()
    for start, text in changes:
        assert any(line.startswith(start) for line in lines), start
        lines = [text if line.startswith(start) else line for line in lines]
    (folder / "storage").mkdir(exist_ok=True)
    (folder / f"storage/{name}.yaml").write_text("\n".join(filter(None, lines)) + "\n", encoding="utf-8")
    return [folder]


def in_tb(key, amount):
    return f"{key}: {{value: {amount}, unit: TB, source: ddn-config, grade: vendor}}"


@pytest.mark.parametrize(
    ("without", "key", "amount", "expected"), table("storage/cases.yaml")["no_unit_holds_more_than_its_drives"]
)
def test_no_unit_holds_more_than_its_drives(tmp_path, without, key, amount, expected):
    changes = [(key, in_tb(key, amount))]
    if key.startswith(" "):
        sizes = [
            ("drive_choices", f"drive_choices:\n{in_tb(key, 7.68)}"),
            ("usable_by_drive", "usable_by_drive:\n" + changes[0][1]),
        ]
        changes = [("  tb-", ""), *sizes]
    folders = overlay(tmp_path, "ddn-ai400x2", *changes, *([(without, "")] if without else []))
    asked = {"storage": "ddn-ai400x2", "capacity": "10 PB", "catalogs": folders}
    if not expected:
        assert ingest.fit(**asked).systems[0].results["units_raw_bytes"].value > 10e15
        return
    with pytest.raises(CatalogError, match=expected):
        ingest.fit(**asked)
    assert [expected in problem for problem in check(tmp_path).problems] == [True]


# Hard disks: what random reads leave of their rates.

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


# With one failure domain down the requests are judged as well as the bandwidth.

ASKED = {"read_bandwidth": "40 GB/s", "io_size": "4 KiB", "storage": "ddn-ai400x2t"}
RATES = {"unit_read_bandwidth": "100 GB/s", "unit_io_per_second": "3e6", "failure_domains": 1}


def layers(**more):
    found = ingest.fit(**ASKED, set={**RATES, **more.pop("set", {})}, **more).systems[0]
    return found, {one.layer.name: one for one in found.layers}


@pytest.mark.parametrize(("units", "holds"), [(4, False), (5, True)])
def test_requests_must_hold_with_one_failure_domain_down(units, holds):
    found, judged = layers(units=units)
    needed = 0.7 * 40e9 / 4096
    left = judged["requests, one failure domain down"]
    assert left.need == pytest.approx(needed)
    assert left.ceiling == pytest.approx(3e6 * (units - 1) * 0.7)
    assert left.holds is holds
    assert found.fits is holds
    assert judged["reads, one failure domain down"].holds


def test_units_are_counted_for_degraded_requests():
    found, judged = layers(degraded=True)
    assert found.results["units_required"].value == 6
    assert judged["requests, one failure domain down"].need == pytest.approx(40e9 / 4096)
    assert found.decided == "requests with one failure domain down decide"
    assert found.one_down is True


def test_one_down_is_no_where_the_requests_do_not_hold():
    assert layers(units=5)[0].one_down is False


@pytest.mark.parametrize(("share", "holds"), [(1, True), (1 + 1e-9, False)])
def test_all_requests_hold_up_to_those_of_the_units_that_are_left(share, holds):
    """Of five units four are left, at 70 % of their 3 million requests per second."""
    found = ingest.fit(**{**ASKED, "read_bandwidth": share * 4096 * 0.7 * 4 * 3e6}, units=5, set=RATES).systems[0]
    assert found.one_down is holds
