"""The verdict on each line of an offer, and what a cell of the response form may hold; on data, without a workbook."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import table
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import IngestError, UsageError
from ingest.files import table_beside
from ingest.rfp.compliance import PLAUSIBLE_FROM, PLAUSIBLE_TO, LineVerdict, OfferLine, contradictions, judge, offer_lines
from ingest.rfp.offer_verdict import Response
from ingest.rfp.requirement_lines import LARGEST, SMALLEST, RequirementLine, is_value, requirement_lines
from ingest.rfp.response_form import CLIENTS, HEADS, OFFERED_UNIT, REQUIREMENTS_SHEET, RESPONSE_SHEET
from ingest.rfp.workbook_reader import Sheet, SheetLine
from ingest.units import as_printed

#: Answers to questions, which state something or put it off.
ANSWERS = table_beside(__file__, "remarks.yaml")["questions"]
#: Printed as 265.2 GB/s, which is less, and as 984.5 GB/s, which is more.
PRINTED_LESS, PRINTED_MORE = 265_245_076_866.5, 984_496_892_142.8


def form(*rows: dict[str, object], name: str = RESPONSE_SHEET, merged: tuple[str, ...] = ()) -> Sheet:
    """A sheet of which each row is given by heading; cells hold what is written."""
    heads = (*HEADS[name], CLIENTS)
    lines = [
        SheetLine(number, dict.fromkeys(heads) | row, dict.fromkeys(heads) | row) for number, row in enumerate(rows, start=2)
    ]
    return Sheet(
        Path("offer.xlsx"), name, tuple(dict.fromkeys((*heads, *(head for row in rows for head in row)))), lines, merged
    )


def required(value: float, priority: str = "mandatory", unit: str = "B/s", clients: float | None = 64) -> RequirementLine:
    return RequirementLine("R-READ-01", priority, value, unit, clients)


def offer(**fields: object) -> OfferLine:
    """An answer by the names of its fields, with "_" for a space."""
    row = {"Id": "R-READ-01", "Unit": "B/s", **{name.replace("_", " "): value for name, value in fields.items()}}
    (line,) = offer_lines(form(row))
    return line


def verdict(requirement: RequirementLine, optimized: bool = False, **fields: object) -> LineVerdict:
    return judge(requirement, offer(**fields), optimized)


#: Priority, fields of the answer, whether tuned values count: verdict and note, where 100 B/s are required.
VERDICTS = table("rfp/cases.yaml")["a_line_is_judged_by_its_value"]


@pytest.mark.parametrize(("priority", "fields", "optimized", "expected", "note"), VERDICTS)
def test_a_line_is_judged_by_its_value(priority, fields, optimized, expected, note):
    found = verdict(required(100, priority), optimized, **fields)
    assert (found.verdict, found.note) == (expected, note)


def test_lost_lines_have_no_answer_and_margins_are_exact():
    # A line that the form lost has no answer.
    found = judge(required(100), None, optimized=True)
    assert (found.verdict, found.offered, found.margin, found.answered) == ("no answer", None, None, False)
    # A margin is relative to the exact value.
    assert verdict(required(100), **{"As-is_value": 110}).margin == pytest.approx(0.1)
    assert verdict(required(100), **{"As-is_value": 80}).margin == pytest.approx(-0.2)
    assert verdict(required(0), **{"As-is_value": 80}).margin is None


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("value", [PRINTED_LESS, PRINTED_MORE, 9_768.3691936, 302e9])
def test_the_lower_of_the_exact_and_the_printed_value_meets_a_line_within_what_a_spreadsheet_stores(value, rounded):
    """Just above and just below the tolerance of 1e-9; a rounded value is met by nothing below it."""
    least = value if rounded else min(value, as_printed(value, "B/s"))
    for share, expected in ((1, "met"), (1 - 0.9e-9, "met"), (1 - 1.1e-9, "missed"), (1 - 1e-6, "missed")):
        offered = {"As-is_value": least * share}
        assert verdict(replace(required(value), rounded=rounded), Comply="yes", **offered).verdict == expected, share


#: Offers over requirements that are no slip of a unit, and verdicts from the best to the worst.
SHARES, BETTER = st.floats(PLAUSIBLE_FROM * 1.001, PLAUSIBLE_TO), ("met", "with reservations", "partly", "missed")


@given(value=st.floats(1e6, 1e13), share=SHARES, more=st.floats(1, 30), word=st.sampled_from(["", "yes", "partial", "no"]))
def test_a_higher_value_is_never_judged_worse(value, share, more, word):
    found = [
        verdict(required(value), Comply=word, **{"As-is_value": value * one})
        for one in (share, min(share * more, PLAUSIBLE_TO))
    ]
    assert BETTER.index(found[0].verdict) >= BETTER.index(found[1].verdict)
    assert found[0].margin <= found[1].margin


@given(value=st.floats(1e6, 1e13), share=SHARES, unit=st.sampled_from(["MB/s", "GB/s", "TB/s"]))
def test_a_value_is_judged_alike_in_every_unit(value, share, unit):
    factor = {"MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}[unit]
    plain = verdict(required(value), Comply="yes", **{"As-is_value": value * share})
    other = verdict(
        required(value), Comply="yes", **{"As-is_value": value * share / factor, OFFERED_UNIT.replace(" ", "_"): unit}
    )
    assert (plain.verdict, plain.note) == (other.verdict, other.note)
    assert plain.margin == pytest.approx(other.margin, abs=1e-9)


def test_the_printed_value_is_lower_in_one_case_and_higher_in_the_other():
    assert as_printed(PRINTED_LESS, "B/s") < PRINTED_LESS
    assert as_printed(PRINTED_MORE, "B/s") > PRINTED_MORE


#: Fields of an answer that meets a line of 100 B/s from 64 clients, the verdict, and what is to be read next to it.
RESERVATIONS = [
    *table("rfp/cases.yaml")["what_does_more_than_confirm_is_left_to_a_person"],
    ({"Remarks": "x" * 4_000}, "with reservations", [f"remark: {'x' * 4_000}", "neither confirms nor denies"]),
]


@pytest.mark.parametrize(("fields", "verdict_", "expected"), RESERVATIONS)
def test_what_does_more_than_confirm_is_left_to_a_person(fields, verdict_, expected):
    found = verdict(required(100), **{"Comply": "yes", "As-is_value": 110, **fields})
    assert (found.verdict, [*found.reservations]) == (verdict_, expected)


def test_a_person_decides_on_reservations_and_on_nothing_else():
    reserved = offer(Comply="yes", **{"As-is_value": 110, "Remarks": "from cache"})
    accepted, rejected = (judge(required(100), reserved, False, decided=(word, "talked")) for word in ("accept", "reject"))
    assert (accepted.verdict, rejected.verdict) == ("met", "rejected")
    assert accepted.reservations[-1] == "accepted: talked"
    # A line that no rule flags may be rejected too.
    assert judge(required(100), offer(Comply="yes", **{"As-is_value": 110}), False, decided=("reject", "x")).outcome == "fails"
    with pytest.raises(UsageError, match="found a line without reservations"):
        judge(required(100), offer(Comply="yes", **{"As-is_value": 110}), False, decided=("accept", "talked"))


def test_values_of_an_offer_that_cannot_hold_together_are_reservations():
    lines = [
        RequirementLine("R-READ-03", "mandatory", 100e9, "B/s", 22, outstanding=512 * 2**20),
        RequirementLine("R-READ-04", "mandatory", 10e9, "B/s/node", 1),
        RequirementLine("R-WRITE-01", "mandatory", 10e9, "B/s", 8),
        RequirementLine("R-MIX-01", "mandatory", 110e9, "B/s", 22),
        RequirementLine("R-CAP-01", "mandatory", 50e12, "B", None, fill=0.85),
        RequirementLine("R-CAP-03", "mandatory", 100e12, "B", None),
    ]
    held = {"R-READ-03": 120e9, "R-READ-04": 120e9, "R-WRITE-01": 20e9, "R-MIX-01": 140e9, "R-CAP-01": 85e12, "R-CAP-03": 1e14}

    def found(latency="4 ms", **changed):
        offers = {ident: OfferLine(ident, "yes", value, None, {}) for ident, value in {**held, **changed}.items()}
        offers["S-LAT-01"] = OfferLine("S-LAT-01", "yes", None, None, {"As-is value": latency})
        return [*contradictions(lines, offers)]

    assert found() == []
    for ident in ("R-READ-04", "R-MIX-01", "R-CAP-01"):
        assert found(**{ident: held[ident] * 1.02}) == [ident]
    # 512 MiB outstanding at 4 ms are 134 GB/s, at 5 ms 107.
    assert found("5 ms") == ["R-READ-03"]


def test_reservations_only_where_they_mean_something():
    # No number of clients and no mandatory line take no reservation.
    assert verdict(required(100, clients=None), **{"Comply": "yes", "As-is_value": 110, "Client_nodes": 1}).reservations == ()
    assert verdict(required(100, "target"), **{"As-is_value": 110}).reservations == ()
    # A partial answer states its remark once.
    found = verdict(required(100), **{"Comply": "partial", "As-is_value": 80, "Remarks": "half"})
    assert (found.verdict, found.notes) == ("missed", "says 'partial': half")


@pytest.mark.parametrize(
    ("priority", "word", "unmet"),
    [("mandatory", "yes", ""), ("mandatory", "partial", "R-READ-01"), ("target", "no", ""), ("information", "partial", "")],
)
def test_only_a_mandatory_line_that_is_not_met_fails_an_offer(priority, word, unmet):
    answer = Response("offer.xlsx", (verdict(required(100, priority), **{"Comply": word, "As-is_value": 110}),), (), False)
    assert answer.unmet == (f"offer.xlsx: mandatory requirements are not met: {unmet}" if unmet else "")


#: What a vendor may type into a cell, and what is said of it.
BAD_CELLS = [
    *table("rfp/cases.yaml")["a_cell_that_cannot_be_read_is_named_with_its_place"],
    ("Remarks", "x" * 4_001, "found 4,001 characters, expected at most 4,000"),
]


@pytest.mark.parametrize(("head", "value", "message"), BAD_CELLS)
def test_a_cell_that_cannot_be_read_is_named_with_its_place(head, value, message):
    (line,) = offer_lines(form({"Id": "R-READ-01", "Unit": "B/s", head: value}))
    column = "ABCDEFGHIJKLMN"[HEADS[RESPONSE_SHEET].index(head)]
    (fault,) = (*line.faults, *line.noted)
    assert fault.startswith(f"{column}2 ('{head}'): {message}")
    # A cell that decides costs its line, another one is noted.
    found = judge(required(100), line, False)
    if head in ("Comply", "As-is value", "Remarks"):
        assert (found.verdict, found.outcome, found.note) == ("not readable", "unanswered", fault)
    else:
        assert f"not read: {fault}" in found.reservations


def test_a_cell_costs_its_line_alone():
    rows = [{"Id": f"R-{n}", "Unit": "B/s", "As-is value": "much", "Comply": "sure"} for n in range(3)]
    found = offer_lines(form(*rows, {"Id": "R-3", "Unit": "B/s", "As-is value": 1}, merged=("F2:H3",)))
    assert [len(line.faults) for line in found] == [3, 3, 2, 0]
    # A value with its own unit is read in it.
    line = offer(**{"Unit": "GB/s", "As-is_value": "984 MB/s"})
    assert line.as_is == 984e6


@pytest.mark.parametrize(
    ("bound", "value", "expected"), table("rfp/cases.yaml")["a_term_is_judged_by_the_value_that_is_offered_for_its_bound"]
)
def test_a_term_is_judged_by_the_value_that_is_offered_for_its_bound(bound, value, expected):
    term = RequirementLine("S-AVAIL-01", "mandatory", None, "", bound=bound)
    said = {"Comply": "yes", "As-is value": value}
    found = judge(term, OfferLine(term.id, "yes", None, None, said), False)
    assert found.verdict == expected
    if expected == "with reservations" and bound:
        assert f"without its unit, such as '{bound.split()[-1]}', where the requirement has {bound}" in found.notes


@pytest.mark.parametrize(("said", "expected"), [
    ({}, "no answer"), ({"Comply": "no"}, "answered"), ({"Comply": "no", "Remarks": "n/a"}, "answered"),
    ({"Remarks": "N/A", "As-is value": "-"}, "no answer"), ({"Comply": "yes", "Remarks": "N/A."}, "no answer"),
    ({"Comply": "yes", "As-is value": "-"}, "answered"),
    *(({head: one}, "answered") for one in ANSWERS["stated"] for head in ("Remarks", "As-is value")),
    *(({"Comply": word, head: one}, "with reservations")
      for one in ANSWERS["postponed"] for word, head in (("yes", "Remarks"), ("", "As-is value"))),
])  # fmt: skip
def test_where_the_vendor_is_to_state_a_value_any_answer_is_one(said, expected):
    found = judge(
        RequirementLine("S-FAC-02", "answer", None, ""), OfferLine("S-FAC-02", said.get("Comply", ""), None, None, said), False
    )
    assert found.verdict == expected
    answer = Response("a.xlsx", (found,), (), False)
    assert answer.verdict == "COMPLIES"
    assert f"{expected == 'answered':d} of 1 questions answered" in answer.summary


def test_words_are_read_however_they_are_spelled():
    line = offer(Comply=" Yes ", Measured_or_projected="MEASURED", Remarks="two\n words", Client_nodes=4.0)
    assert {name: text for name, text in line.stated.items() if text} == {
        "Comply": "yes", "Measured or projected": "measured", "Remarks": "two words", "Client nodes": "4"
    }  # fmt: skip
    assert [head for head in line.stated if head != OFFERED_UNIT] == [*HEADS[RESPONSE_SHEET][5:]]


def test_requirements_are_read_once_each_and_refused_without_a_value():
    row = {"Id": "R-READ-01", "Priority": "mandatory", "Value": 100, "Unit": "B/s", "Clients": 64}
    read = requirement_lines(form(row, {**row, "Value": 1}, name=REQUIREMENTS_SHEET))
    assert read == [replace(required(100), rounded=False)]
    with_required = form({**row, "Required": 110}, name=REQUIREMENTS_SHEET)
    assert requirement_lines(with_required) == [required(110)]
    for bad in ({"Value": None}, {"Value": "#REF!"}, {"Value": -1}, {"Value": True}, {"Priority": "optional"}):
        with pytest.raises(IngestError, match=r"sheet 'Requirements': R-READ-01: found .*, expected one of mandatory, target"):
            requirement_lines(form({**row, **bad}, name=REQUIREMENTS_SHEET))


@pytest.mark.parametrize("scale", [1, -1])
def test_numbers_that_no_requirement_has_are_no_values(scale):
    """Their ratio to another one would be no number, which no JSON holds."""
    limit = {1: LARGEST, -1: SMALLEST}[scale]
    assert is_value(limit)
    assert is_value(0)
    assert not is_value(limit * (1 + scale * 1e-9))


#: Verdict on a mandatory line -> the word on an offer whose other lines are met.
WORDS = table("rfp/cases.yaml")["an_offer_complies_where_every_mandatory_line_is_met_and_none_was_changed"]


@pytest.mark.parametrize("one", WORDS)
@pytest.mark.parametrize("other", WORDS)
@pytest.mark.parametrize("changed", [False, True])
def test_an_offer_complies_where_every_mandatory_line_is_met_and_none_was_changed(one, other, changed):
    lines = [LineVerdict(required(1, priority), found, None, None, {}) for priority, found in
             (("mandatory", one), ("mandatory", other), ("target", "missed"), ("answer", "no answer"))]  # fmt: skip
    found = Response("offer.xlsx", tuple(lines), (SimpleNamespace(id="R-READ-01"),) * changed, False).verdict
    words = [WORDS[one], WORDS[other], *(["DOES NOT COMPLY"] if changed else [])]
    assert found == min(words, key=["DOES NOT COMPLY", "INCOMPLETE", "COMPLIES WITH RESERVATIONS", "COMPLIES"].index)
