"""Text to base units and back."""

import math
import re
import time

import pytest
from conftest import table
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import UsageError
from ingest.units import BINARY, DECIMAL, as_printed, display, exact, parse, physical, stated, unit_factor

WRITTEN = table("cases.yaml")["sizes_and_rates_are_read_as_people_write_them"]

OTHER_KIND = [
    ("16MB", "FLOP/s/GPU"), ("16 MB", "FLOP/sample"), ("247 GFLOP", "B/sample"), ("247 GFLOP", "FLOP/s/GPU"),
    ("35 TFLOP/s", "FLOP/sample"), ("16 MB", "B/s/GPU"), ("16 MB/s", "B/sample"), ("30 min", "B"), ("70%", "B/sample"),
    ("15T tokens", "sample"), ("8 GPUs", "node"), ("300 files/s", "sample/s"), ("1 s", "1"), ("400 W", "J"),
]  # fmt: skip
NOT_A_NUMBER = [
    "", " ", "many", "nan", "NaN", "inf", "-inf", "MiB", "1..2", "--5", "0x10", "1 2", "½", "e5", "E5", "+e5", ".e5", ".",
    "1__000", "1_", "\u0661\u0662", "\uff15", "9" * 41, None, True, [1], {"value": 1},
]  # fmt: skip
#: words of a refusal -> what gets it, as it is written and the unit that is asked for
REFUSALS = {
    r"^--x: .*expected": OTHER_KIND,
    r"^--x: .*(for example|unknown unit)": [(written, "B/sample") for written in NOT_A_NUMBER],
    # one comma before a larger unit can be a decimal one
    r"^--x: .* can be read in two ways, expected -?[12][58][03]0 ?\w+ or -?[12]\.[58][03]0": [
        ("1,500 GB", "B"), ("2,830MB", "B/sample"), ("1,500 min", "s"), ("-1,500 k", "sample"),
    ],
    "finite": [(written, "B") for written in (math.nan, math.inf, -math.inf, "1e999", "1e308 TB")],
    r"did you mean '1G', 1,000,000,000 tokens\?$": [("1GB", "token")],
    "is in B, expected 1, for example 0.7$": [("1GB", "1"), ("200 TB", "1")],
    "unknown unit 'bn'; did you mean '1B'": [("1bn", "1"), ("1 bn", "token")],
    "unknown unit 'trillion'; did you mean '15T'": [("15 trillion", "token")],
    "unknown unit .*did you mean '16MiB'": [("16 MIB", "B")],
    "unknown unit .*did you mean 'TFLOP'": [("35 TFLOQ/s", "B")],
    "unknown unit .*did you mean 'sample'": [("3 samlpes/s", "B")],
    r"'80gbps' has an unknown unit 'gb'; did you mean '80GB/s' or '80Gb/s'\?$": [("80gbps", "B/s")],
    "^--x: found '1 500 GB/s', expected one number without blanks and one unit": [("1 500 GB/s", "B/s")],
    "^--x: found '30 min 5 s', expected one number; did you mean '30.0833333 min'": [("30 min 5 s", "s")],
    "^--x: found '1min30s', expected one number; did you mean '1.5 min'": [("1min30s", "s")],
    r"unknown unit .*, for example 30 min$": [
        (written, "s") for written in ("30M", "30 M", "15 T", "30 k", "1 month", "5 Gi", "30 ss")
    ],
    # a symbol has no plural
    "unknown unit": [(written, "B") for written in ("5 MiBs", "5 GBs", "5 kBs", "5 YB")],
}  # fmt: skip


@pytest.mark.parametrize(("written", "unit", "expected"), WRITTEN)
def test_sizes_and_rates_are_read_as_people_write_them(written, unit, expected):
    assert parse(written, unit, "--x") == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("written", "unit"), [("16MiB", "B"), ("2.83 MB", "B"), ("0.1 kB", "B"), ("1e3", "B")])
def test_whole_bytes_are_integers(written, unit):
    assert isinstance(parse(written, unit, "--x"), int)


@pytest.mark.parametrize(
    ("written", "unit", "words"), [(*asked, words) for words, several in REFUSALS.items() for asked in several]
)
def test_what_is_no_quantity_of_the_unit_is_refused(written, unit, words):
    with pytest.raises(UsageError, match=words) as caught:
        parse(written, unit, "--x")
    assert (written, unit) not in OTHER_KIND or written in str(caught.value)


def test_a_text_of_any_length_is_read_in_linear_time_and_refused_in_one_line():
    for written in ("5 x" + " " * 200_000 + "y", " " * 100_000 + "5 MB" + "s" * 100_000, "x" * 10_000, "5 " + "x" * 10_000):
        start = time.process_time()
        with pytest.raises(UsageError) as caught:
            parse(written, "B", "--x")
        assert time.process_time() - start < 0.1
        assert len(str(caught.value)) <= 300


def test_lower_case_b_is_a_bit_and_upper_case_a_byte():
    assert parse("8 Gb/s", "B/s", "--x") == parse("1 GB/s", "B/s", "--x")


@given(st.integers(1, 10**9), st.sampled_from(sorted({**BINARY, **DECIMAL}.items())))
def test_sizes_are_exact(count, prefix):
    assert parse(f"{count} {prefix[0]}B", "B", "--x") == count * prefix[1]


@given(st.floats(1e-12, 1e30, allow_nan=False), st.sampled_from(["B/s", "s", "FLOP/s/GPU", "s/sample", "kg/J", "1/J"]))
def test_a_unit_is_guessed_for_no_number_in_text(number, unit):
    # Python's numbers are in base units: whoever computes them knows.
    assert parse(number, unit, "--x") == pytest.approx(number, rel=1e-12)
    with pytest.raises(
        UsageError, match=r"^--x: found '.*' without a unit, expected one, such as '(.*)' or '(.*)'$"
    ) as refused:
        parse(repr(number), unit, "--x")
    # What the refusal proposes is read, and as two different amounts; of a large number, as its base units.
    first, second = re.search(r"'([^']*)' or '([^']*)'$", str(refused.value)).groups()
    apart = parse(first, unit, "--x") != parse(second, unit, "--x")
    assert apart or number >= 1e6


@given(st.one_of(st.integers(1, 10**15), st.floats(1e-6, 1e9)), st.sampled_from(["B", "B/sample", "B/file", "FLOP/sample"]))
def test_bytes_without_a_unit_are_whole_and_many(number, unit):
    if number % 1 or number < 1000:
        with pytest.raises(UsageError, match="without a unit"):
            parse(repr(number), unit, "--x")
    else:
        assert parse(repr(number), unit, "--x") == number
    small = unit.split("/")[0] + "/token"
    assert parse(repr(number), small, "--x") == pytest.approx(number, rel=1e-12)


@given(st.floats(1e-3, 1e17), st.sampled_from(["B/s/GPU", "FLOP/s/GPU", "FLOP/sample", "s", "W/GPU"]))
def test_what_is_displayed_reads_back_within_four_digits(number, unit):
    shown = display(number, unit, binary=False)
    assert parse(shown, unit, "--x") == pytest.approx(number, rel=6e-4)


@given(
    st.floats(1e-6, 1e24),
    st.sampled_from(
        ["B", "B/s", "B/s/node", "B/sample", "FLOP/s/GPU", "FLOP", "s", "W/GPU", "file", "file/s", "GPU", "%", "1"]
    ),
)
def test_what_is_printed_is_what_people_read(number, unit):
    shown = display(number, unit, binary=False)
    assert as_printed(number, unit) == pytest.approx(parse(shown, "1" if unit == "%" else unit, "--x"), rel=1e-14)
    assert display(number, unit).startswith(shown)


@given(st.integers(0, 10**15))
def test_parameters_are_printed_in_full(count):
    assert as_printed(count, "parameter") == parse(display(count, "parameter"), "parameter", "--x") == count


@given(st.floats(1024, 1e17))
def test_decimal_and_binary_beside_it_are_the_same_size(number):
    decimal, _, binary = display(number, "B").removesuffix(")").partition(" (")
    assert parse(decimal, "B", "--x") == pytest.approx(parse(binary, "B", "--x"), rel=1.1e-3)


@pytest.mark.parametrize(("number", "unit", "shown"), table("cases.yaml")["display_is_decimal_first_with_four_digits"])
def test_display_is_decimal_first_with_four_digits(number, unit, shown):
    assert display(number, unit) == shown


@pytest.mark.parametrize(
    ("number", "unit", "digits", "shown"),
    table("cases.yaml")["a_required_value_is_stated_in_full_and_its_binary_number_in_a_digit_more"],
)
def test_a_required_value_is_stated_in_full_and_its_binary_number_in_a_digit_more(number, unit, digits, shown):
    assert stated(number, unit, digits) == shown


@given(st.integers(100, 999), st.integers(1, 18))
def test_the_binary_number_of_a_required_value_meets_it_and_asks_for_hardly_more(leading, power):
    value = leading * 10**power
    decimal, binary = stated(value, "B/s").rstrip(")").split(" (")
    assert parse(decimal, "B/s", "") == value
    assert value <= parse(binary, "B/s", "") <= value * 1.001


@given(st.floats(1e-30, 1e30))
def test_exact_keeps_ten_digits(number):
    assert float(exact(number).replace(",", "")) == pytest.approx(number, rel=1e-9)


@pytest.mark.parametrize("short", ["Gbps", "GBps", "TFLOPS"])
def test_shorthand_is_a_rate(short):
    assert unit_factor(short)[1].endswith("/s")


def test_things_counted_are_no_physical_unit():
    assert physical("FLOP/parameter/token") == "FLOP"
