"""Answers off by thousands are slips of the unit, and GiB for GB is a remark; each limit just below and just above."""

import pytest

from ingest.files import table_beside
from ingest.rfp.compliance import OfferLine, judge, meant_instead, ratio_note
from ingest.rfp.requirement_lines import RequirementLine
from ingest.rfp.response_form import read_unit

REQUIRED = 491e9
GB = read_unit("GB/s")
TABLES = table_beside(__file__, "unit_slips.yaml")


def judged(offered: float, unit: str = "GB/s", comply: str = "yes", confirmed: bool = False):
    """The verdict on a value in base units where 491 GB/s are required."""
    line = OfferLine("R-A", comply, offered, None, {"Comply": comply}, read_unit(unit))
    return judge(RequirementLine("R-A", "mandatory", REQUIRED, "B/s"), line, False, confirmed)


@pytest.mark.parametrize("power", [3, 6, 9])
def test_a_value_off_by_a_power_of_ten_either_way_is_a_slip(power):
    for offered in (540e9 / 10.0**power, 540e9 * 10.0**power):
        found = judged(offered)
        assert found.verdict == "unit slip"
        assert found.note.startswith("unit slip? ")
        assert found.note.endswith("confirm whether 540 GB/s is meant")


@pytest.mark.parametrize(
    ("ratio", "slip"),
    [
        (1 / 3 * 1.001, False), (1 / 3 * 0.999, False),
        (10 * 0.999, False), (10 * 1.001, False),
        (1000 * 1 / 3 * 1.001, True), (1000 * 1 / 3 * 0.999, False),
        (1000 * 10 * 0.999, True), (1000 * 10 * 1.001, False),
        (10 / 1000 * 0.999, True), (10 / 1000 * 1.001, False),
        (1 / 3000 * 1.001, True), (1 / 3000 * 0.999, False),
    ],
)  # fmt: skip
def test_the_limits_of_what_is_plausible_decide(ratio, slip):
    assert (meant_instead(ratio * REQUIRED, REQUIRED, GB) is not None) == slip
    met = "with reservations" if ratio >= 100 else "met"
    assert judged(ratio * REQUIRED).verdict == ("unit slip" if slip else met if ratio >= 1 else "missed")


@pytest.mark.parametrize(("ratio", "verdict", "told"), TABLES["many times"])
def test_many_times_what_is_required_is_named_and_from_a_hundred_times_on_decided(ratio, verdict, told):
    found = judged(ratio * REQUIRED)
    assert (found.verdict, found.notes) == (verdict, told)
    assert ratio_note(ratio * 2e6, 2e6, read_unit("files")) == ""


@pytest.mark.parametrize(("bound", "offered", "verdict"), TABLES["bounds"])
def test_a_bound_that_is_kept_by_far_is_asked_for_its_unit(bound, offered, verdict):
    line = OfferLine("S-A", "yes", None, None, {"Comply": "yes", "As-is value": offered})
    found = judge(RequirementLine("S-A", "mandatory", None, "", bound=bound), line, False)
    assert (found.verdict, "confirm the unit" in found.notes) == (verdict, verdict == "with reservations")


def test_a_value_is_too_high_by_no_more_than_the_prefix_of_its_unit():
    """A file system may hold a thousand times the files that are required; who picks millions of files may have slipped."""
    assert meant_instead(2e9, 2e6, read_unit("files")) is None
    assert meant_instead(2e9, 2e6, read_unit("thousand files")) == 2e6
    assert meant_instead(2, 2e6, read_unit("files")) == 2e6
    found = [meant_instead(ratio * REQUIRED, REQUIRED, GB) is not None for ratio in (3.3e5, 3.4e5, 1.5e7, 1.4e13)]
    assert found == [False, True, True, True]
    assert (meant_instead(1e18, 1.31e6, read_unit("files")), meant_instead(2e8, 2e5, read_unit("files/s"))) == (1e6, 2e5)


def test_a_slip_is_settled_by_no_or_by_a_confirmation():
    assert judged(540e6, comply="no").verdict == "missed"
    high = judged(540e12, confirmed=True)
    assert (high.verdict, high.reservations) == ("met", ("confirmed as written",))
    assert judged(540e6, confirmed=True).verdict == "missed"


@pytest.mark.parametrize(
    ("unit", "power", "sign"), [("GB/s", 3, -1), ("TB/s", 4, -1), ("MB/s", 2, -1), ("GiB/s", 3, 1), ("TiB/s", 4, 1)]
)
def test_the_ratio_of_gib_to_gb_is_a_remark_that_changes_no_verdict(unit, power, sign):
    ratio = 1.024 ** (power * sign)
    inside, outside = 1 + 0.005 * 0.99, 1 + 0.005 * 1.01
    for part, noted in ((1, True), (inside, True), (2 - inside, True), (outside, False), (2 - outside, False)):
        assert bool(ratio_note(ratio * part * REQUIRED, REQUIRED, read_unit(unit))) == noted
    found = judged(ratio * REQUIRED, unit)
    assert found.verdict == ("met" if sign > 0 else "missed")
    assert "confirm the unit" in found.notes


def test_ten_per_cent_more_in_tb_is_no_remark_although_a_tib_is_as_much_more_than_a_tb():
    assert ratio_note(1.1 * 296e12, 296e12, read_unit("TB")) == ""
    assert ratio_note(0.93 * 3e6, 3e6, read_unit("files")) == ""
