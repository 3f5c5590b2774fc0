"""What vendors write: numbers with units in any notation, and remarks that confirm or limit."""

import datetime
from functools import partial

import pytest
from conftest import table
from hypothesis import given
from hypothesis import strategies as st

from ingest.files import table_beside
from ingest.rfp.compliance import unasked
from ingest.rfp.requirement_lines import RequirementLine
from ingest.rfp.vendor_words import limits, parsed, read_value
from ingest.rfp.workbook_reader import number_in, number_of

#: Remarks of offers: what takes back, conditions or postpones, and what confirms; those in lists were written before the rules.
REMARKS = table_beside(__file__, "remarks.yaml")
LIMITING, PLAIN = REMARKS["known_limiting"], REMARKS["known_plain"]
#: The lines next to which numbers are written.
LINES = {name: RequirementLine(name, "mandatory", **given) for name, given in REMARKS["asked"].items()}


def found(remark, line=LINES["RATE"]):
    return limits(remark, partial(unasked, line), f"{line.statement} {line.bound} {line.conditions}")


@pytest.mark.parametrize(("remark", "limiting"), [*((one, True) for one in LIMITING), *((one, False) for one in PLAIN)])
def test_what_limits_is_left_to_a_person_and_what_confirms_is_not(remark, limiting):
    assert bool(found(remark)) == limiting


@pytest.mark.parametrize("answer", ["Yes, {}.", "The requirement is met {}.", "We confirm that the system meets this line {}."])
def test_what_narrows_an_answer_is_left_to_a_person(answer):
    line = RequirementLine("O-READ", "mandatory", **REMARKS["lines"]["O-READ"])
    assert [phrase for phrase in REMARKS["narrowing"] if not found(answer.format(phrase), line)] == []


@given(st.sampled_from(PLAIN), st.text("bcdfghjkqvwxyzäöéß", min_size=4, max_size=12))
def test_a_word_that_no_confirmation_has_is_left_to_a_person(plain, word):
    assert found(f"{plain} {word}") or found(f"{plain} with {word}")


@given(st.sampled_from(PLAIN), st.sampled_from(LIMITING), st.booleans())
def test_a_confirmation_hides_no_limit(plain, limiting, before):
    assert found(f"{plain}. {limiting}" if before else f"{limiting}. {plain}")


@pytest.mark.parametrize(("remark", "line", "why"), REMARKS["numbers"])
def test_numbers_of_a_remark_are_held_against_what_is_asked(remark, line, why):
    assert found(remark, LINES[line]) == why


@given(
    st.dates(datetime.date(2020, 1, 1), datetime.date(2040, 1, 1)),
    st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%B %Y"]),
)
def test_a_date_to_come_postpones(date, written):
    today = datetime.date.today()
    to_come = (date.year, date.month) > (today.year, today.month)
    assert bool(found(f"Delivered and tested on {date.strftime(written)}")) == to_come


def test_a_comma_before_three_digits_groups_an_amount_of_a_thousand():
    assert (number_in("EUR 1,000"), number_in("EUR 0,999")) == (1000, None)


def read(written, base="B/s", factor=1e9, required=433e9):
    return read_value(
        written,
        lambda text: parsed(text, base),
        lambda value: required / 3 <= value <= required * 10,
        lambda number: number * factor,
    )


@pytest.mark.parametrize(("written", "value", "beside"), table("rfp/cases.yaml")["a_value_is_read_in_any_notation"])
def test_a_value_is_read_in_any_notation(written, value, beside):
    answer = read(written)
    if written == "450.000 MB/s":  # a point groups or separates: 450 MB/s as written, a slip that the line shows
        value, beside = 450e6, ""
    assert (answer.value, answer.beside) == (value if value is None else pytest.approx(value), beside)
    assert bool(answer.why) == (value is None)


@pytest.mark.parametrize(("written", "value"), [
    ("4 billion", 4e9), ("1.5 million", 1.5e6), ("3 mio", 3e6), ("2 bn files", 2e9), ("2 Milliarden", 2e9), ("4 thousand", 4e3),
    ("4 Billionen", None), ("1 Billion Dateien", None),  # a billion of other languages is a thousand times one
])  # fmt: skip
def test_a_count_is_read_in_words_and_a_rate_is_not(written, value):
    assert (read(written, "file", 1, 1e6).value, read(written).value) == (value, None)


@given(st.integers(1, 10**9), st.sampled_from([",", ".", " ", "'"]))
def test_grouped_digits_are_one_number(number, mark):
    written = f"{number:,}".replace(",", mark)
    if written.count(mark) == 1 and mark in ",.":
        return  # which may be a decimal one
    assert number_of(written) == number


@pytest.mark.parametrize(("lists", "kind", "least", "most"), [
    (REMARKS, "limiting", 0.99, 1.0), (REMARKS, "plain", 0.0, 0.07), (REMARKS["drawn"], "limiting", 0.98, 1.0),
    (REMARKS["offers"], "limiting", 0.99, 1), (REMARKS["offers"], "plain", 0, 0.04), (REMARKS["tender"], "plain", 0, 0.2),
    (REMARKS["drawn"], "usual", 0, 0.02), (REMARKS["drawn"], "free", 0, 0.25), (REMARKS["tender"], "limiting", 0.98, 1),
    (REMARKS["figures"], "limiting", 0.97, 1), (REMARKS["figures"], "plain", 0, 0.1),
    (REMARKS["answers"], "limiting", 0.98, 1), (REMARKS["answers"], "plain", 0, 0.16),
    (REMARKS["terse"], "limiting", 0.76, 1), (REMARKS["terse"], "plain", 0, 0.2),
    (REMARKS["terms"], "limiting", 0.87, 1), (REMARKS["vendors"], "limiting", 0.97, 1), (REMARKS["vendors"], "plain", 0, 0.12),
])  # fmt: skip
def test_remarks_written_before_the_rules_are_told_apart(lists, kind, least, most):
    lines = {ident: RequirementLine(ident, "mandatory", **given) for ident, given in (REMARKS | lists)["lines"].items()}
    told = [bool(found(remark, lines[ident])) for ident, written in lists[kind].items() for remark in written]
    assert least <= sum(told) / len(told) <= most
