"""Data that instruments and links deliver: their writes, the room in which they wait, their drain, what the data set gains."""

import json

import pytest

from ingest import accept, plan
from ingest.errors import IngestError

YEAR, DAY = 31_557_600, 86_400


def planned(years=2, headroom="0%", **arrives):
    described = {"bytes": "1 TB", "file_bytes": "1 GB", "arrives": {"buffer": "1 day", **arrives}}
    site = {
        "start": 2026,
        "years": years,
        "clusters": {"main": {"node": "dgx-h100", "count": 16}},
        "jobs": {"sky": {"cluster": "main", "samples_per_second": 3, "sample_bytes": "1 MB", "nodes": 4, "data": "sky"}},
        "datasets": {"sky": described},
        "storage": {"protection": {"data": 8, "parity": 2}, "headroom": headroom},
    }
    return plan(site, samples=0)


def lines(made):
    return {one.id: one for one in made.requirements}


def test_an_instrument_lands_waits_and_drains_into_its_data_set():
    made = planned(rate="10 GB/s", duty="40%", drain_within="2 days", headroom="20%")
    found = lines(made)
    drain = 10e9 * 0.4 + 10e9 * DAY / (2 * DAY)
    assert found["R-LAND-01"].computed == pytest.approx(1.2 * (10e9 + drain))
    assert found["R-LAND-02"].computed == pytest.approx(10e9 * DAY)
    assert found["R-LAND-03"].computed == pytest.approx(1.2 * drain)
    assert [found[f"R-LAND-0{n}"].priority for n in (1, 2, 3)] == ["mandatory"] * 3
    years = made.tables["capacity"]
    for year, row in enumerate(years):
        assert row["year_usable_bytes"] == pytest.approx(1e12 + year * 10e9 * 0.4 * YEAR + 10e9 * DAY)
    # What arrives is written where it lands and once more where it stays.
    assert years[1]["year_bytes_written_per_day"] == pytest.approx(2 * 10e9 * 0.4 * DAY)


@pytest.mark.parametrize(
    ("over", "share"),
    [("tcp-1500", 1448 / 1538), ("tcp-9000", 8948 / 9038), ("rocev2-1024", 1024 / 1106), ("rocev2-4096", 4096 / 4178)],
)
def test_protocols_leave_less_than_the_line_rate(over, share):
    # 38 B of a frame of Ethernet; TCP 20, IPv4 20, timestamps 12; IPv4 20, UDP 8, BTH 12, ICRC 4.
    link = planned(link="100 Gb/s", over=over)
    assert lines(link)["R-LAND-02"].computed == pytest.approx(12.5e9 * share * DAY)
    rate = planned(rate=f"{12.5e9 * share!r} B/s", over=over).tables["landing"][0]
    assert rate["line_rate_needed"] == pytest.approx(12.5e9)
    usual = planned(link="100 Gbit/s")
    assert (lines(usual)["R-LAND-02"].computed == lines(link)["R-LAND-02"].computed) is (over == "tcp-1500")


def test_the_landing_is_tested_and_a_site_without_one_has_no_line(tmp_path):
    made = planned(rate="2 GB/s")
    (tmp_path / "plan.json").write_text(json.dumps(made.to_dict()))
    accept(tmp_path / "plan.json", tmp_path / "tests")
    tests = json.loads((tmp_path / "tests/tests.json").read_text())["tests"]
    assert {"R-LAND-01", "R-LAND-03"} <= {name for one in tests for name in str(one).split("'")}
    site = {**made.site.written, "datasets": {"sky": {"bytes": "1 TB", "file_bytes": "1 GB"}}}
    assert not any(name.startswith("R-LAND") for name in lines(plan(site, samples=0)))


@pytest.mark.parametrize(
    ("arrives", "why"),
    [
        ({}, "no rate"),
        ({"rate": "1 GB/s", "link": "100 Gbit/s"}, "rate and link"),
        ({"rate": "1 GB/s", "over": "ftp"}, "expected one of tcp-1500"),
        ({"rate": "1 GB/s", "duty": "140%"}, "duty"),
    ],
)
def test_contradictions_are_refused(arrives, why):
    with pytest.raises(IngestError, match=why):
        planned(**arrives)
