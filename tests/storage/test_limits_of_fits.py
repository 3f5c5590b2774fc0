"""What decides between fits, barely fits and does not fit: just below each limit and just above it."""

import pytest

import ingest
from ingest.catalog.commands import check
from ingest.catalog.store import shipped_folder
from ingest.errors import CatalogError
from ingest.storage import data_path
from ingest.storage.data_path import NIC, READS, WRITES, LayerVerdict, bottleneck, verdict


def verdict_at(rate):
    """The verdict on a system of 100 GB/s."""
    asked = {"read_bandwidth": rate, "storage": "ddn-ai400x2t", "units": 1, "no_spare": True}
    asked["set"] = {"unit_read_bandwidth": "100 GB/s"}
    return ingest.fit(**asked).systems[0].verdict


@pytest.mark.parametrize(
    ("rate", "expected"),
    [("94.9 GB/s", "fits"), ("95.1 GB/s", "barely fits"), ("99.9 GB/s", "barely fits"), ("100.1 GB/s", "does not fit")],
)
def test_less_than_five_percent_of_headroom_barely_fits(rate, expected):
    assert verdict_at(rate) == expected


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
    ("without", "key", "amount", "expected"),
    [
        ("", "usable_bytes", 368.64, ""),
        ("", "usable_bytes", 368.65, "usable_bytes: found 368.65 TB, expected at most the raw capacity, 368.64 TB"),
        ("raw_bytes", "usable_bytes", 368.64, ""),
        ("raw_bytes", "usable_bytes", 368.65, "usable_bytes: found 368.65 TB, expected at most the raw capacity, 368.64 TB"),
        ("", "  tb-7-68", 184.33, "usable_by_drive.tb-7-68: found 184.33 TB, expected at most the raw capacity, 184.32 TB"),
    ],
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
