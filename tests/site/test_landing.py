"""Data that instruments and links deliver: their writes, the room in which they wait, their drain, what the data set gains."""

import json
import random

import pytest
from conftest import seeds, table

from ingest import accept, plan
from ingest.errors import IngestError, RequirementNotMet
from ingest.units import display

YEAR, DAY = 31_557_600, 86_400


def planned(years=2, headroom="0%", site=(), copies=1, data=(), **arrives):
    described = {
        "bytes": "1 TB",
        "file_bytes": "1 GB",
        "copies": copies,
        "arrives": {"buffer": "1 day", **arrives},
        **dict(data),
    }
    site = {
        **dict(site),
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


@pytest.mark.parametrize(("arrives", "why"), table("site/refused.yaml")["landing_contradictions_are_refused"])
def test_contradictions_are_refused(arrives, why):
    with pytest.raises(IngestError, match=why):
        planned(**arrives)


@pytest.mark.parametrize("seed", seeds(3, 30))
def test_what_arrives_is_written_to_each_copy_and_held_whatever_the_site_grows_by(seed):
    draw = random.Random(seed)
    rate, duty, copies = draw.uniform(1e8, 5e9), draw.uniform(0.1, 1), draw.randint(1, 3)
    growth = draw.choice(({"capacity": 1.2}, {"add": "3 TB"}, {"bandwidth": 2}, {"parameters": 2}))
    made = planned(site={"growth": {**growth, "every": "1 year"}}, copies=copies, rate=f"{rate} B/s", duty=duty)
    found, drain = lines(made), rate * duty + rate
    assert found["R-LAND-01"].computed == pytest.approx(rate + drain * copies)
    assert found["R-LAND-03"].computed == pytest.approx(drain)
    held = (1e12 + 2 * rate * duty * YEAR) * copies + rate * DAY
    assert made.tables["capacity"][2]["year_usable_bytes"] == pytest.approx(held)


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_a_drain_takes_the_time_that_arriving_data_leave_or_is_refused(seed):
    draw = random.Random(seed)
    rate, within, most = draw.uniform(0.05, 0.6) * 1.152e12, 10 ** draw.uniform(1, 6), 1.152e12
    keys = {"rate": f"{rate} B/s", "drain_within": f"{within} s"}
    if 2 * rate >= most:
        with pytest.raises(RequirementNotMet, match="what does not land is lost"):
            planned(**keys)
        return
    late = {one.of: one.why for one in planned(**keys).decisions if one.id == "W52"}
    for name, going_on in (("R-LAND-01", 2 * rate), ("R-LAND-03", rate)):
        takes = rate * DAY / (most - going_on)
        assert (name in late) is (takes > within)
        assert name not in late or f"takes {display(takes, 's')} instead" in late[name]


@pytest.mark.parametrize("seed", seeds(5, 60))
def test_growth_below_what_arrives_is_named(seed):
    draw = random.Random(seed)
    year, years = draw.uniform(0.1, 3) * 1e12, draw.randint(1, 4)
    by_factor, lasting = draw.random() < 0.5, draw.choice(({}, {"lifetime": "2 years"}))
    amount = year * draw.choice((0.3, 0.98, 0.995, 1, 1.4))
    growth = {"capacity": 1 + amount / 1e12} if by_factor else {"add": f"{amount!r} B"}
    made = planned(years=years, rate=f"{year / YEAR!r} B/s", data={"growth": {**growth, "every": "1 year"}, **lasting})
    grown = [((1 + amount / 1e12) ** n - 1) * 1e12 if by_factor else n * amount for n in range(1, years + 1)]
    left = max(1 - total / (n * year) for n, total in enumerate(grown, start=1))
    assert any("of what has arrived until" in line for line in made.warnings) is (left > 0.01)
