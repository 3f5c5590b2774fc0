"""Storage in place and the network between: need, have and missing of every line, and the fabric as a layer."""

import json
import re

import pytest
from conftest import CATALOG, EXAMPLES, refused, table
from test_fits import layer

import ingest
from ingest.errors import IngestError
from ingest.storage.fit import fit_need
from ingest.storage.need import Listed, Need, from_numbers

SITE = (EXAMPLES / "hpc-128-nodes.yaml").read_text(encoding="utf-8")
TABLES = table("storage/in_place.yaml")
MEASURED = TABLES["measured"]


@pytest.fixture
def site(tmp_path):
    """The HPC example with further lines under `storage:` and before it."""

    def write(storage="", above=""):
        path = tmp_path / "site.yaml"
        path.write_text(SITE.replace("storage:\n", f"{above}storage:\n{storage}", 1), encoding="utf-8")
        return path

    return write


def test_every_line_gets_need_have_and_missing(site):
    found = ingest.fit(site("  existing: [{system: ddn-ai400x2, units: 4}]\n"), storage="ddn-ai400x2t")
    plan = ingest.plan(site(), samples=0)
    lines = {one.id: one for one in found.lines}
    assert set(lines) == {line.id for line in plan.requirements if line.priority == "mandatory"}
    reads = lines["R-READ-03"]
    assert (reads.need, reads.have) == (plan.requirement("R-READ-03").value, 4 * 90e9)
    assert reads.missing == reads.need - reads.have
    assert lines["R-READ-02"].missing == 0
    assert lines["R-META-01"].have is None
    assert lines["R-META-01"].missing is None
    # All reads cross the network.
    assert [found.need.given[f"{one}_bandwidth_needed"].value for one in ("read", "fabric")] == [reads.missing, reads.need]
    assert found.to_dict()["existing"][0]["id"] == plan.requirements[0].id


def test_what_is_added_beside_what_is_there(site):
    # Fit proposes what to add and not the whole.
    whole = ingest.fit(site(), storage="ddn-ai400x2t").systems[0].results["units_required"].value
    added = ingest.fit(site("  existing: [{system: ddn-ai400x2, units: 4}]\n"), storage="ddn-ai400x2t").systems[0]
    assert 0 < added.results["units_required"].value < whole
    # Several systems add up and what is unknown leaves at least.
    found = ingest.fit(site("  existing: [{system: ddn-ai400x2, units: 4}, vast-ebox]\n"), storage="ddn-ai400x2t")
    reads = next(one for one in found.lines if one.id == "R-READ-03")
    assert (reads.have, reads.at_least) == (4 * 90e9, True)
    # A fabric is no part of the plan.
    with_fabric, plain = site(above="fabric: {gateways: 8}\n"), SITE
    assert plain
    assert ingest.plan(with_fabric, samples=0).requirements == ingest.plan(site(), samples=0).requirements
    # Storage added for bandwidth beside storage that holds the data is not known to fit.
    found = ingest.fit(
        site("  existing: [{system: ddn-ai400x2, units: 100}]\n"), storage="lustre", set={"read_bandwidth_needed": "12 TB/s"}
    )
    (lustre,) = found.systems
    assert next(one.missing for one in found.stock if one.name == "required_usable_bytes") == 0
    assert (lustre.fits, layer(lustre, "capacity").holds) == (None, None)
    assert "capacity" in found.unmet


def test_what_is_enough_says_so(site):
    found = ingest.fit(site("  existing: [{system: ddn-ai400x2, units: 40}]\n"), storage="ddn-ai400x2t")
    assert found.nothing_missing.startswith("Nothing is known to be missing. Not known of the storage in place:")
    assert "opens per second needed" in found.nothing_missing
    assert found.systems == ()
    assert found.to_dict()["nothing_missing"] == found.nothing_missing
    assert len(found.to_frame()) == 0
    assert found.unmet == found.nothing_missing
    assert all(one.missing in (0, None) for one in found.lines)


@pytest.mark.parametrize(("units", "proposed"), [(5, False), (4, True)])
def test_systems_are_proposed_only_where_something_is_missing(units, proposed):
    # An appliance reads 103.83 GB/s: 4 of them 415.3, 5 of them 519.2.
    in_place = Listed("storage.existing.0", {"system": "ddn-ai400x2t", "units": units})
    found = fit_need(Need("reads", from_numbers(read_bandwidth="500 GB/s"), existing=(in_place,)), ["ddn-ai400x2"], CATALOG)
    assert [one.entry.id for one in found.systems] == (["ddn-ai400x2"] if proposed else [])
    assert found.nothing_missing == ("" if proposed else "Nothing is missing: the storage in place meets every need.")
    assert found.unmet == ""
    assert found.needed["read_bandwidth_needed"].value == pytest.approx(500e9 - 4 * 103.83e9 if proposed else 500e9)


def test_a_measured_path_is_storage_in_place_and_a_system(site, tmp_path):
    result = tmp_path / "result.json"
    result.write_text(json.dumps(MEASURED))
    found = ingest.fit(site(f"  existing: [{{measured: {result}}}]\n"), storage="ddn-ai400x2t")
    assert ingest.fit(site("  existing: [{measured: result.json}]\n"), storage="ddn-ai400x2t").stock == found.stock
    lines = {one.id: one for one in found.lines}
    assert (lines["R-READ-03"].have, lines["R-READ-03"].at_least) == (12e9, True)
    assert lines["R-CAP-01"].missing == 0
    path = ingest.fit(read_bandwidth="20 GB/s", nodes=2, node="dgx-h100", capacity="500 TB", storage=str(result)).systems[0]
    assert layer(path, "protocol client").ceiling == 24e9
    assert layer(path, "system reads").at_least
    assert path.fits is None
    assert ingest.fit(read_bandwidth="30 GB/s", nodes=2, storage=str(result)).systems[0].fits is False


@pytest.mark.parametrize(("existing", "message"), TABLES["refused"])
def test_storage_in_place_that_cannot_be_read_is_refused(site, existing, message):
    with pytest.raises(IngestError, match=message):
        ingest.fit(site(f"  existing: {existing}\n"), storage="lustre")


@pytest.mark.parametrize(("asked", "fits"), TABLES["measured from one machine"])
def test_a_measured_path_answers_for_the_one_machine_it_was_measured_from(tmp_path, asked, fits):
    result = tmp_path / "result.json"
    result.write_text(json.dumps(MEASURED))
    found = ingest.fit(**asked, storage=str(result))
    (path,) = found.systems
    assert path.fits is fits
    assert any("measured from one machine" in line for line in found.warnings)
    if fits is None:
        assert re.search(r"one machine measured (12|5) GB/s; measure from .* machines at once", path.question)


def test_a_tier_in_place_delivers_what_its_capacity_buys(site):
    tier = "{system: fsx-lustre, tier: persistent-2-250, capacity: 480 TiB}"
    found = ingest.fit(site(f"  existing: [{tier}]\n"), storage="ddn-ai400x2t")
    lines = {one.id: one for one in found.lines}
    # 480 TiB × 250 MB/s of each TiB.
    assert lines["R-READ-03"].have == pytest.approx(480 * 250e6)
    assert lines["R-READ-03"].missing == pytest.approx(lines["R-READ-03"].need - 120e9)
    assert lines["R-CAP-03"].have == 480 * 2**40
    assert found.needed["read_bandwidth_needed"].value == pytest.approx(lines["R-READ-03"].missing)


def test_another_json_is_no_measured_path(tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**MEASURED, "command": "bw"}))
    with pytest.raises(IngestError, match="found the result of 'bw', expected measure-storage"):
        ingest.fit(read_bandwidth="1 GB/s", storage=str(other))


@pytest.mark.parametrize(
    ("fabric", "name", "ceiling"),
    [
        ("oversubscription: 4", "fabric, uplinks of the switches", 96 * 50e9 / 4),
        ("gateways: 8, gateway_bandwidth: 50 GB/s", "fabric, gateways", 400e9),
        ("islands: 2, island_bandwidth: 200 GB/s", "fabric, links of the islands", 400e9),
        ("ports: 16, port_bandwidth: 25 GB/s", "fabric, storage ports", 400e9),
        ("oversubscription: 1", "fabric, uplinks of the switches", 96 * 50e9),
        ("oversubscription: 13.1", "fabric, uplinks of the switches", 96 * 50e9 / 13.1),
        ("gateways: 20, gateway_bandwidth: 24.6 GB/s", "fabric, gateways", 492e9),
        ("gateways: 20, gateway_bandwidth: 24.5 GB/s", "fabric, gateways", 490e9),
    ],
)
def test_the_network_between_is_a_layer_of_its_own(site, fabric, name, ceiling):
    (found,) = ingest.fit(site(above=f"fabric: {{{fabric}}}\n"), storage="ddn-ai400x2t").systems
    judged = layer(found, name)
    assert judged.ceiling == ceiling
    assert judged.holds is (ceiling >= judged.need)
    if ceiling < judged.need:
        assert (found.fits, found.bottleneck) == (False, name)


@pytest.mark.parametrize(("fabric", "missing"), TABLES["networks in part"])
def test_a_network_of_which_a_part_is_unknown_is_asked_for(site, fabric, missing):
    found = ingest.fit(site(above=f"fabric: {{{fabric}}}\n"), storage="ddn-ai400x2t")
    judged = next(one for one in found.systems[0].layers if one.layer.name.startswith("fabric, "))
    assert judged.holds is None
    assert f"`fabric.{missing}` of the site file is not known" in judged.why
    assert any(judged.why in line for line in found.warnings)


@pytest.mark.parametrize(("path", "refusal"), [("oversubscription: 0.99", "expected a number from 1"), ("ports: 0", "found 0")])
def test_a_network_that_cannot_be_is_refused(site, path, refusal):
    with pytest.raises(IngestError, match=refusal):
        ingest.fit(site(above=f"fabric: {{{path}}}\n"), storage="ddn-ai400x2t")


@pytest.mark.parametrize(("change", "message"), TABLES["changed results"])
def test_a_result_that_was_changed_is_refused_in_one_line(run, tmp_path, change, message):
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**MEASURED, **change}))
    with refused(match=message):
        ingest.fit(read_bandwidth="1 GB/s", storage=str(path))
    assert run("fit", "--read-bandwidth", "1 GB/s", "--storage", path).code != 0
