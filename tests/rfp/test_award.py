"""The award: what an offer costs over the years, points by criterion, ties, and how far points move before the order does."""

import json
from types import SimpleNamespace

import openpyxl
import pytest
from conftest import first, table
from hypothesis import given
from hypothesis import strategies as st
from offers import ONE_JOB, columns, edited, everything_met, filled, on_form, told

import ingest
from ingest.errors import IngestError, UsageError
from ingest.reports.workbook.vendor_workbook import vendor_workbook
from ingest.rfp.award import IN_STEPS, ONCE, OPTION, STATED, YEARLY, Award, flips, priced, ranking
from ingest.rfp.workbook_reader import _formatted

HEADS = ("Item", "Counts", "Quantity", "Price of one", "Price", "Remarks")
SHARES = st.floats(0, 1)


def sheet(*lines):
    """A sheet of prices; a line is an item with what it counts for, and what the vendor fills in."""
    return [HEADS, *((item, counts, *given, *[None] * (4 - len(given))) for item, counts, *given in lines)]


@pytest.mark.parametrize("row", [("years", "abc"), ("price", "forty"), ("years", float("inf")), ("electricity price", "x")])
def test_costs_are_those_of_the_planned_years(row):
    with pytest.raises(IngestError, match=f"sheet Award: {row[0]}: found"):
        Award.read([row])
    award = Award({"price": 1}, years=5, electricity_price=0.2)
    found = priced(sheet(
        ("System, all capacity at delivery", ONCE, None, None, "1.000.000,00 EUR"), ("Support per year", YEARLY, 2, 50_000),
        ("Read bandwidth", OPTION, None, None, 9e9), ("System in steps, step 0", IN_STEPS, None, None, 7e8), ("Training", ONCE),
        ("Currency", STATED, None, None, "EUR"), ("Power drawn, in W", STATED, None, None, "10,000 W"),
    ), award)  # fmt: skip
    # A million, five times twice 50,000, and 10 kW for five years of 8,760 hours at 0.2.
    assert found.parts == {"System, all capacity at delivery": 1e6, "Support per year": 5e5, "electricity": 87_600}
    assert (found.total, found.currency, found.notes) == (1_587_600, "EUR", ())


def test_a_system_that_is_priced_in_steps_alone_costs_its_steps():
    found = priced(sheet(("System in steps, step 0", IN_STEPS, None, None, 7e5), ("Support per year", YEARLY, None, None, 1e4),
                         ("System in steps, step 1", IN_STEPS, None, None, 2e5)), Award({"price": 1}))  # fmt: skip
    assert found.total == 950_000
    assert priced(sheet(("Support per year", YEARLY, None, None, 1e4)), Award({"price": 1})).total is None
    assert priced(None, Award({"price": 1})).total is None


@pytest.mark.parametrize(("line", "total", "note"), table("rfp/cases.yaml")["a_price_that_differs"])
def test_a_price_that_differs_or_cannot_be_read_is_shown(line, total, note):
    found = priced(sheet(line), Award({"price": 1}))
    assert (found.total, [*found.notes, *found.limits]) == (total, [note] if note else [])


@pytest.mark.parametrize("price", [-5, "-5", "from 900000", "900000 if ordered by March", "≥ 900000", "1,000,000 + optics"])
def test_an_amount_with_words_or_below_nothing_is_for_a_person_to_decide(price):
    found = priced(sheet(("System", ONCE, None, None, price)), Award({"price": 1}))
    assert found.limits
    assert found.total is None or found.total > 0


def test_lines_of_the_vendors_own_do_not_count():
    sent = sheet(("System", ONCE))
    found = priced(sheet(("System", ONCE, None, None, 400), ("Discount", "", None, None, 300)), Award({"price": 1}), sent)
    assert found.total == 400
    assert found.limits == ("a line of the vendor's own, which does not count: Discount | 300",)


@given(st.floats(1e3, 1e9), st.floats(1.001, 100), SHARES, SHARES, st.floats(1, 99))
def test_of_equal_offers_the_cheaper_is_first_and_of_equal_prices_the_better(cost, dearer, share, more, points):
    award = Award({"price": points, "targets": 100 - points})
    found = ranking(award, {"a": {"targets": share}, "b": {"targets": share}}, {"a": cost * dearer, "b": cost})
    assert [one.offer for one in found] == ["b", "a"]
    better = ranking(award, {"a": {"targets": min(share, more)}, "b": {"targets": max(share, more)}}, {"a": cost, "b": cost})
    assert better[0].offer == "b" or better[0].rank == better[1].rank


def test_offers_tie_where_the_award_does_not_decide():
    found = ranking(Award({"terms": 50}), {name: {"terms": 0.5} for name in "abc"}, dict.fromkeys("abc", 1.0))
    assert [one.rank for one in found] == [1, 1, 1]
    assert flips(Award({"terms": 50}), found) == {}


@given(st.lists(st.tuples(SHARES, SHARES, st.floats(1e5, 1e7)), min_size=2, max_size=5), st.floats(5, 95))
def test_the_order_changes_where_it_is_said_to(offers, points):
    """Just inside the stated points the first offer stays, just outside another one is first."""
    award = Award({"price": points, "targets": 60, "terms": 20})
    shares = {str(place): {"targets": one, "terms": two} for place, (one, two, _) in enumerate(offers)}
    costs = {str(place): cost for place, (*_, cost) in enumerate(offers)}
    ranked = ranking(award, shares, costs)
    for name, ends in flips(award, ranked).items():
        for end, inward in zip(ends, (1.001, 0.999), strict=True):
            if end is None or end < 1e-6 or any(abs(end - award.points[name]) < 0.01 for _ in "x"):
                continue
            moved = [ranking(Award({**award.points, name: end * factor}), shares, costs) for factor in (inward, 2 - inward)]
            assert moved[0][0].offer == ranked[0].offer
            assert moved[1][0].offer != ranked[0].offer


def test_cost_per_point_ranks_by_the_lowest():
    award = Award({"price": 0, "targets": 100}, method="cost per point")
    found = ranking(award, {"a": {"targets": 1.0}, "b": {"targets": 0.5}}, {"a": 1.8e6, "b": 1e6})
    assert [(one.offer, one.total) for one in found] == [("a", 18_000), ("b", 20_000)]


#: Offers for one tender: the share of its target, the price, the currency, what else differs from an offer that meets all.
OFFERS = {
    "cheap": (1.1, 1e6, "EUR", {}), "dear": (1.1, 3e6, "EUR", {}), "short": (0.5, 1e6, "EUR", {}),
    "better": (0.75, 1e6, "EUR", {}), "beyond": (1.65, 1e6, "EUR", {}), "foreign": (1.1, 1e6, "USD", {}),
    "silent": (1.1, 1e6, "EUR", {"S-COPY-02": {}}),
    "open": (1.1, 1e6, None, {}),
}  # fmt: skip
QUESTIONS = ("S-FAC-01", "S-FAC-02", "S-COPY-02")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tender with an award and three questions, and offers that differ from a good one in one thing."""
    asked = {"power": "stated", "network": "stated", "replication": "stated"}
    site = {**ONE_JOB, "service": asked, "award": {"price": 40, "targets": 30, "terms": 30}}
    plan, folder = ingest.plan(site, samples=0), tmp_path_factory.mktemp("award")
    content, met = vendor_workbook(plan), everything_met(plan)
    met |= {one: {"Remarks": "41 kW, 12 ports"} for one in QUESTIONS}
    (folder / "rfp.xlsx").write_bytes(content)
    (folder / "plan.json").write_text(json.dumps(plan.to_dict()), encoding="utf-8")
    target = next(one for one in plan.vendor_lines if one.priority == "target")
    for name, (share, price, currency, other) in OFFERS.items():

        def state(book, price=price, currency=currency) -> None:
            prices, until = book["Prices"], "9999-01-01"
            said = {"System, all capacity at delivery": price, "Currency": currency, "Taxes": "net", "Valid until": until}
            for row in range(2, prices.max_row + 1):
                prices.cell(row, columns(prices)["Price"]).value = said.get(prices.cell(row, 1).value)

        answers = {**met, target.id: {"Comply": "yes", "As-is value": on_form(target, share)}, **other}
        edited(filled(content, answers, folder / f"{name}.xlsx").read_bytes(), state, folder / f"{name}.xlsx")
    return folder


def compared(folder, *names, sent="rfp.xlsx"):
    done = told("response", *(folder / f"{name}.xlsx" for name in names), "--sent", folder / sent, "--format", "json")
    return json.loads(done.out)


@pytest.mark.parametrize(("said", "power"), [("see the offer", "no answer"), ("41 kW in the largest test", "answered")])
def test_a_question_about_a_figure_is_answered_by_one(tmp_path, said, power):
    plan = ingest.plan({**ONE_JOB, "service": {"power": "stated", "network": "stated", "replication": "stated"}}, samples=0)
    answers = {name: {"Remarks": said} for name in ("S-FAC-01", "S-FAC-02", "S-COPY-02")}
    answer = ingest.response(filled(vendor_workbook(plan), answers, tmp_path / "offer.xlsx"))
    assert [answer.results[name] for name in answers] == [power, power, "answered"]
    assert {one.bound for one in plan.vendor_terms if one.id in answers} == {"a figure", ""}


@pytest.mark.parametrize("sent", ["rfp.xlsx", "plan.json"])
def test_the_award_of_the_tender_ranks_the_offers(folder, sent):
    """By the formulas that the tender prints: lowest cost over cost, offered over required up to 1, answers over questions."""
    names = ("dear", "silent", "short", "better", "beyond", "open", "cheap")
    found = compared(folder, *names, sent=sent)
    ranked = {one["offer"]: (one["rank"], *one["points"].values()) for one in found["ranking"]}
    assert ranked == {
        "beyond": (1, 40, 30, 30), "open": (1, 40, 30, 30), "cheap": (1, 40, 30, 30),
        "better": (4, 40, 22.5, 30), "silent": (5, 40, 30, 20), "short": (6, 40, 15, 30),
        "dear": (7, pytest.approx(40 / 3), 30, 30),
    }  # fmt: skip
    assert found["offers"][0]["price"] == 3e6
    assert (
        "the reservations of open are to be decided before the award; without them beyond and cheap is first"
        in found["deciding"]
    )
    assert "cheap leads short by 15.0 points; targets tells most: +15.0" in compared(folder, "cheap", "short")["deciding"]


def test_costs_in_several_currencies_have_no_order(folder):
    found = compared(folder, "cheap", "foreign")
    assert found["ranking"] == []
    assert found["deciding"] == ["no ranking: prices are in EUR and USD"]


def test_the_tender_prints_the_award_and_files_the_ranking(folder, tmp_path):
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(folder / "rfp.xlsx")["Award"].iter_rows(min_row=2)]
    assert [row[:2] for row in rows[:4]] == [["price", 40], ["targets", 30], ["terms", 30], ["method", "best value"]]
    target = tmp_path / "offers.xlsx"
    told("response", folder / "dear.xlsx", folder / "cheap.xlsx", "--sent", folder / "rfp.xlsx", "-o", target)
    ranks = openpyxl.load_workbook(target)["Ranking"]
    assert [[cell.value for cell in row][:2] for row in ranks.iter_rows(min_row=2, max_row=3)] == [[1, "cheap"], [2, "dear"]]


@pytest.mark.parametrize(("sheet_", "cell", "text"), table("rfp/cases.yaml")["text_beside_the_lines_is_for_a_person_to_decide"])
def test_text_beside_the_lines_is_for_a_person_to_decide(folder, tmp_path, sheet_, cell, text):
    def say(book) -> None:
        sheet = book[sheet_ or "Vendor response"]
        if cell == "comment":
            sheet["B3"].comment = openpyxl.comments.Comment(text, "vendor")
        elif cell == "footer":
            sheet.oddFooter.center.text = text
        else:
            sheet[cell] = text

    path = edited((folder / "cheap.xlsx").read_bytes(), say, tmp_path / "offer.xlsx")
    found = ingest.response(path, sent=folder / "rfp.xlsx")
    assert found.verdict == "COMPLIES WITH RESERVATIONS" or any(text in one for one in found.changes)
    if not found.changes:
        assert any(text in one for one in found.beside)
        for word, verdict in (("accept", "COMPLIES"), ("reject", "DOES NOT COMPLY")):
            decided = ingest.response(path, sent=folder / "rfp.xlsx", decisions={"offer": {word: "talked"}})
            assert decided.verdict == verdict


@pytest.mark.parametrize("sheet_", first(1, ["Vendor response", "Prices"]))
@pytest.mark.parametrize(("number_format", "told_of"), table("rfp/cases.yaml")["words_in_the_number_format"])
def test_words_in_the_number_format_of_a_cell_are_part_of_it(folder, tmp_path, sheet_, number_format, told_of):
    """Whatever the format adds to a number, or hides of it: the offer is judged by what a reader of the cell sees."""

    def show(book) -> None:
        sheet = book[sheet_]
        (place,) = [columns(sheet)[head] for head in ("As-is value", "Price") if head in columns(sheet)]
        cells = [sheet.cell(row, place) for row in range(2, sheet.max_row + 1)]
        next(cell for cell in cells if isinstance(cell.value, float | int)).number_format = number_format

    path = edited((folder / "cheap.xlsx").read_bytes(), show, tmp_path / "offer.xlsx")
    found = ingest.response(path, sent=folder / "rfp.xlsx")
    assert (found.verdict == "COMPLIES") is not told_of


@pytest.mark.parametrize(
    ("number_format", "number", "seen"), table("rfp/cases.yaml")["a_number_is_read_as_its_format_shows_it"]
)
def test_a_number_is_read_as_its_format_shows_it(number_format, number, seen):
    assert _formatted(SimpleNamespace(value=number, number_format=number_format)) == seen


@pytest.mark.parametrize(("decisions", "words"), table("rfp/cases.yaml")["a_decision_names_an_offer_a_line_and_a_reason"])
def test_a_decision_names_an_offer_a_line_and_a_reason(folder, decisions, words):
    with pytest.raises(UsageError, match="--decisions: ") as refused:
        ingest.response([folder / "dear.xlsx", folder / "cheap.xlsx"], sent=folder / "rfp.xlsx", decisions=decisions)
    assert words in str(refused.value)


def test_points_that_no_offer_can_earn_are_a_caution():
    award = {"price": 40, "targets": 30, "terms": 30}
    said = [str(one) for one in ingest.plan({**ONE_JOB, "award": award}, samples=0).warnings]
    assert [one for one in said if "of the award" in one] == [
        "30 points of the award for terms, which no offer can earn: the tender asks no question"
    ]


@pytest.mark.parametrize(("item", "said", "limited"), table("rfp/cases.yaml")["what_a_price_lacks"])
def test_what_a_price_lacks_words_beside_it_and_no_whole_quantity_are_left_to_a_person(item, said, limited):
    system, one = "System, all capacity at delivery", item == "Quantity"
    heads = ("Item", "Counts", "Quantity", "Price of one") if one else ("Item", "Counts", "Price")
    rows = [heads, (system, "once", said, 1e6)] if one else [heads, (system, "once", 1e6), (item, "stated", said)]
    found = priced(rows, Award({"price": 100}, electricity_price=0.2))
    assert bool(found.limits) is limited
    assert found.parts.get("electricity") == (
        pytest.approx(9.5 * 0.2 * 8760 * 5) if item[:5] == "Power" and not limited else None
    )


def test_points_that_a_tie_at_none_of_them_takes_are_no_flip():
    award = Award({"price": 40, "targets": 30, "terms": 30})
    found = ranking(award, {"a": {"targets": 1.0, "terms": 1.0}, "b": {"targets": 0.66667, "terms": 1.0}}, {"a": 1e6, "b": 1e6})
    assert set(flips(award, found).values()) == {(None, None)}
