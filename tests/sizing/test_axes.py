"""Lists and ranges as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import UsageError
from ingest.sizing.job import parse_axis
from ingest.units import parse


@pytest.mark.parametrize(
    ("written", "unit", "expected"),
    [
        ("128", "node", [128]),
        ("1,8,128", "node", [1, 8, 128]),
        ("1, 8", "node", [1, 8]),
        ("1..4", "node", [1, 2, 3, 4]),
        ("1..1024*4", "node", [1, 4, 16, 64, 256, 1024]),
        ("1..1000*10", "node", [1, 10, 100, 1000]),
        ("10..100+30", "node", [10, 40, 70, 100]),
        ("1..2,64..256*2", "node", [1, 2, 64, 128, 256]),
        ("1MB..3MB+1MB", "B/sample", [10**6, 2 * 10**6, 3 * 10**6]),
        ("1MiB..4MiB*2", "B/sample", [2**20, 2**21, 2**22]),
        ("0.1..0.4+0.1", "1", pytest.approx([0.1, 0.2, 0.3, 0.4])),
        ("5..5*2", "node", [5]),
    ],
)
def test_lists_and_ranges(written, unit, expected):
    assert parse_axis(written, unit, "--x") == expected


NO_RANGES = (
    "", "1,,2", "8..1", "8..1*2", "1..8*1", "1..8*0.5", "0..8*2", "1..8+0", "1..8+-1", "1..", "..8", "1..8*", "a..b", "1..2..3",
)  # fmt: skip


@pytest.mark.parametrize(("written", "said"), [*((one, "") for one in NO_RANGES), ("1..1e18", "fewer than")])
def test_what_is_no_range_is_refused_in_one_line_and_an_endless_one_before_it_is_made(written, said):
    with pytest.raises(UsageError, match=rf"\A--x: [^\n]*{said}[^\n]*\Z"):
        parse_axis(written, "node", "--x")


@pytest.mark.parametrize(("written", "meant"), [("1,024", "1024"), ("10,000", "10000"), ("1,000,000", "1000000")])
def test_thousands_are_no_list_of_values(written, meant):
    with pytest.raises(UsageError, match=f"expected a list such as 1,8,128, or {meant} without commas"):
        parse_axis(written, "node", "--x")
    assert parse(written, "node", "--x") == float(meant)
    assert parse_axis("1,0", "node", "--x") == [1, 0]
    assert parse_axis("1,0.5", "node", "--x") == [1, 0.5]


@pytest.mark.parametrize("written", ["1,500 MB", "1MB,500", "1..8MB*2", "1,500M", "10%,0.5"])
def test_numbers_of_a_list_have_a_unit_each_or_none(written):
    unit = "1" if "%" in written else "B/sample"
    with pytest.raises(UsageError, match="expected a unit at each number" + (", or 1500 ?M" if "1,500" in written else "")):
        parse_axis(written, unit, "--x")
    assert parse_axis("1 MB,500 MB", "B/sample", "--x") == [10**6, 5 * 10**8]
    assert parse_axis("1MB,2MB..4MB*2", "B/sample", "--x") == [10**6, 2 * 10**6, 4 * 10**6]


@given(st.integers(1, 50), st.integers(2, 7), st.integers(0, 12))
def test_a_geometric_range_reaches_its_end(first, factor, steps):
    points = parse_axis(f"{first}..{first * factor**steps}*{factor}", "node", "--x")
    assert points == [first * factor**step for step in range(steps + 1)]


@given(st.integers(1, 1000), st.integers(1, 50), st.integers(0, 200), st.integers(0, 49))
def test_a_linear_range_stays_within_its_ends(first, step, count, rest):
    last = first + step * count + min(rest, step - 1)
    assert parse_axis(f"{first}..{last}+{step}", "node", "--x") == [first + step * place for place in range(count + 1)]
