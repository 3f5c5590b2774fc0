"""With one failure domain down the requests are judged as well as the bandwidth."""

import pytest

import ingest

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
