"""The award: criteria with their points as the buyer states them, costs of an offer over the planned years, the ranking."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError, brief
from ingest.files import table_beside
from ingest.rfp.vendor_words import parsed, read_value
from ingest.rfp.workbook_reader import MOST_CENTS, Rows, number_in
from ingest.text import one_line

_WRITTEN = table_beside(__file__, "award.yaml")
#: Criteria of an award, in the order in which they are printed, with how each earns its points; and methods.
CRITERIA, METHODS = (dict[str, str](_WRITTEN[name]) for name in ("criteria", "methods"))
PRICE, TARGETS, TERMS = CRITERIA
BEST_VALUE, COST_PER_POINT = METHODS
MOST_POINTS = 10**6  # of a criterion; nor does a tender count more years
#: The sheet of a tender that states the award, and its headings; the first rows are criteria.
AWARD_SHEET = "Award"
#: What a price counts for, headings of the sheet of prices, and its lines that are no prices.
ONCE, YEARLY, IN_STEPS, OPTION, STATED = _WRITTEN["counts"]
ITEM, COUNTS, QUANTITY, UNIT_PRICE, PRICE_HEAD = _WRITTEN["headings"]
TOTAL, CURRENCY, TAXES, VALID_UNTIL, POWER = _WRITTEN["stated"]
UNIT_HEAD = "Unit"
#: An amount of money: digits, and the name or sign of a currency.
_MONEY = r"[\d.,'’\s]+|[€$£¥]|\b[A-Z]{3}\b"
#: The name of a currency, or its sign.
SIGNS: dict[str, str] = _WRITTEN["signs"]
#: Whether prices are with or without taxes, by words.
TAXED = {name: re.compile(words, re.IGNORECASE) for name, words in _WRITTEN["taxed"].items()}
#: How dates are written.
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%d %B %Y", "%B %d, %Y")
_CURRENCY = re.compile(r"[€$£¥()\s]*(?:[^\W\d_]+(?: [^\W\d_]+)?)?[€$£¥()\s]*")
#: How the lines of the system begin: all at once, and in steps.
SYSTEM = "System"
#: A total that differs by more than this share from what its lines add up to is shown.
ROUNDED = 0.005
#: Totals closer than this share are a tie.
TIE = 1e-9


@dataclass(frozen=True)
class Award:
    """What decides among offers."""

    points: Mapping[str, float]  # of each criterion
    method: str = BEST_VALUE
    years: int = 5  # over which costs count
    electricity_price: float | None = None  # of a kWh, in the currency of the prices
    stated: bool = True  # whether the buyer stated it; else costs alone rank

    @classmethod
    def of(cls, described: Mapping[str, Any], years: int) -> Award | None:
        """The section `award` of a site file; None where the buyer states none."""
        if not described:
            return None
        points = {name: float(described[name]) for name in CRITERIA if described.get(name)}
        return cls(points, described.get("method", BEST_VALUE), max(years, 1), described.get("electricity_price"))

    def rows(self) -> Iterator[tuple[str, Any, str]]:
        """The award as a table: name, number, and what it means; a response reads it back."""
        yield from ((name, points, f"Points times {CRITERIA[name]}.") for name, points in self.points.items())
        yield "method", self.method, f"{METHODS[self.method].capitalize()}."
        yield "years", self.years, "Years over which prices of a year, and electricity, count."
        if self.electricity_price is not None:
            what = "Price of 1 kWh in the currency of the prices, for the power that the offered system draws."
            yield "electricity price", self.electricity_price, what

    @classmethod
    def read(cls, rows: Rows | None, prices: Rows | None = None) -> Award:
        """The award that a tender states; by cost alone where it states none, over the years of its sheet of prices.

        Raises IngestError: a number of it was replaced by something else.
        """
        found = {str(row[0]): row[1] for row in rows or () if len(row) > 1 and row[0]}
        totals = [("years", row[1]) for row in prices or () if row[:1] == (TOTAL,) and row[2:3] == ("years",)]
        stated = {"years": cls.years, "electricity price": None, **dict(totals), **found}
        for name, value in stated.items():
            number = value is None or (isinstance(value, (int, float)) and 0 <= value < MOST_POINTS)
            if name in (*CRITERIA, "years", "electricity price") and not number:
                raise IngestError(f"sheet {AWARD_SHEET}: {name}: found {brief(value)}, expected the number that was sent")
        points = {name: float(found[name]) for name in CRITERIA if name in found}
        years, price = max(int(stated["years"]), 1), stated["electricity price"]
        if not points:
            return cls({PRICE: 100.0}, years=years, stated=False)
        return cls(points, str(found.get("method", BEST_VALUE)), years, price and float(price))


class Price(NamedTuple):
    """What an offer costs over the planned years."""

    total: float | None  # recomputed; None where no price of the system can be read
    currency: str
    parts: Mapping[str, float]  # what each line comes to
    notes: tuple[str, ...]  # what differs
    taxes: str = ""  # whether with or without them; empty where that is not told
    limits: tuple[str, ...] = ()  # what a person has to decide: words beside prices, lines of the vendor's own, no amounts
    years: int = Award.years


def priced(rows: Rows | None, award: Award, sent: Rows | None = None) -> Price:
    """The cost of an offer from its sheet of prices; a blank price is included in the others.

    A line that the sheet as it was `sent` lacks does not count.
    """
    heads = [str(head).strip() if head is not None else "" for head in rows[0]] if rows else []
    known = None if sent is None else {str(row[0]) for row in sent if row and row[0]}
    parts: dict[str, float] = {}
    steps: dict[str, float] = {}
    said: dict[str, str] = {}
    notes: list[str] = []
    limiting: list[str] = []
    for row in (rows or ())[1:]:
        line = dict(zip(heads, row, strict=False))
        beside = [value for head, value in zip_longest(heads, row, fillvalue="") if not head and value not in (None, "")]
        limiting += [f"beside the prices: {one_line(str(value))}" for value in beside]
        item, counts = one_line(str(line.get(ITEM) or "")), str(line.get(COUNTS) or "")
        texts = [
            one_line(str(value)) for head, value in line.items() if value not in (None, "") and head not in (UNIT_HEAD, COUNTS)
        ]
        if not item or (known is not None and item not in known):
            limiting += [f"a line of the vendor's own, which does not count: {' | '.join(texts)}"] if texts else []
            continue
        if counts == STATED:
            said[item] = one_line(str(line.get(PRICE_HEAD) if line.get(PRICE_HEAD) is not None else ""))
            continue
        price, note, limit = _price(line)
        notes += [f"{item}: {note}"] if note else []
        limiting += [f"{item}: {limit}"] if limit else []
        if price is not None and counts != OPTION:
            given = {"item_price": price, "item_count": award.years if counts == YEARLY else 1}
            (steps if counts == IN_STEPS else parts)[item] = float(solve("item_cost", given))
        if remark := one_line(str(line.get("Remarks") or "")):
            limiting.append(f"{item}: remark: {remark}")
    if steps and not any(item.startswith(SYSTEM) for item in parts):
        parts = {**steps, **parts}
    power = read_value(said.get(POWER, ""), lambda text: parsed(text, "W"), lambda value: value >= MOST_CENTS, float).value
    if power is not None and award.electricity_price is not None:
        energy = {"offered_power": power, "planned_years": award.years, "electricity_price_per_kwh": award.electricity_price}
        parts["electricity"] = float(solve("electricity_of_offer", energy))
    is_whole = any(item.startswith(SYSTEM) for item in parts)
    total = float(solve("offer_cost", {"item_costs": [*parts.values()]})) if is_whole else None
    stated = number_in(said.get(TOTAL, ""))
    if total is not None and stated and abs(stated / total - 1) > ROUNDED:
        notes.append(f"{TOTAL}: states {stated:,.2f}, its lines add up to {total:,.2f}")
    notes += [f"{item}: {said[item]}" for item in (TAXES, VALID_UNTIL) if said.get(item)]
    currency = SIGNS.get(said.get(CURRENCY, "").lower(), said.get(CURRENCY, ""))
    untaxed, taxed = (TAXED[name] for name in ("without", "with"))
    rest = untaxed.sub(" ", said.get(TAXES, ""))
    both = taxed.search(rest) is not None, rest != said.get(TAXES, "")
    taxes = {(True, False): "with", (False, True): "without"}.get(both, "")
    faults = {
        CURRENCY: "" if _CURRENCY.fullmatch(currency) else "no currency alone",
        TAXES: "" if taxes else "neither with taxes nor without them",
        VALID_UNTIL: _past(said.get(VALID_UNTIL, "")),
        POWER: "" if power is not None else "no watts, so its electricity is not counted",
    }
    asked = [one for one in faults if one in said and (one != POWER or award.electricity_price is not None)]
    for item in asked if parts else ():
        if not said[item]:
            limiting.append(f"{item}: blank, which the tender asks for")
        elif faults[item]:
            limiting.append(f"{item}: {said[item]}, which is {faults[item]}")
    return Price(total, currency, parts, tuple(notes), taxes, tuple(limiting), award.years)


def _past(said: str) -> str:
    """What is wrong with the day until which prices hold; empty for one to come."""
    for form in DATES:
        with suppress(ValueError):
            day = datetime.datetime.strptime(said.removesuffix(" 00:00:00"), form)
            return "past" if day.date() < datetime.date.today() else ""
    return "no day"


def _price(line: Mapping[str, Any]) -> tuple[float | None, str, str]:
    """The price of a line, what differs, and what a person has to decide: an amount below 0 is none, words beside one limit it.

    The product of quantity and price of one counts, where both are stated.
    """
    read: dict[str, float | None] = {}
    for head in (QUANTITY, UNIT_PRICE, PRICE_HEAD):
        written = line.get(head)
        read[head] = number_in(written)
        if written in (None, ""):
            continue
        shown = one_line(str(written))
        if read[head] is None or (read[head] or 0) < 0 or re.search(r"[-\u2212]\s*\d", shown):
            return None, "", f"'{head}' is {shown!r}, which is no amount"
        if isinstance(written, str) and re.sub(_MONEY, "", written).strip(" .,"):
            return read[PRICE_HEAD] if head == PRICE_HEAD else None, "", f"'{head}' says {shown!r}"
    one, many, price = read[UNIT_PRICE], read[QUANTITY], read[PRICE_HEAD]
    if many is not None and (many < 1 or many != int(many)):
        return price, "", f"'{QUANTITY}' is {many:g}, expected a whole number from 1"
    if one is None or many is None:
        return price, "", ""
    cost = float(solve("item_cost", {"item_price": one, "item_count": many}))
    if price is not None and abs(price - cost) > ROUNDED * cost:
        return cost, f"states {price:,.2f}, {QUANTITY.lower()} times {UNIT_PRICE.lower()} is {cost:,.2f}", ""
    return cost, "", ""


class Ranked(NamedTuple):
    """An offer in the ranking."""

    offer: str
    rank: int  # equal for a tie
    points: Mapping[str, float]  # by criterion
    total: float  # points; for the cost per point that cost
    cost: float | None


def ranking(award: Award, shares: Mapping[str, Mapping[str, float]], costs: Mapping[str, float | None]) -> list[Ranked]:
    """Offers in order; `shares` are by offer the share of each criterion that it earns, other than the price."""
    lowest = min((cost for cost in costs.values() if cost is not None), default=0.0)
    found = []
    for offer, earned in shares.items():
        cost = costs[offer]
        share = {**earned, PRICE: float(solve("price_share", {"lowest_cost": lowest, "offer_cost": cost})) if cost else 0.0}
        points = {name: float(solve("award_points", {"criterion_points": most, "share_earned": share.get(name, 0.0)}))
                  for name, most in award.points.items()}  # fmt: skip
        total = sum(points.values())
        if award.method == COST_PER_POINT:
            others = sum(value for name, value in points.items() if name != PRICE)
            each = {"offer_cost": cost, "other_points": others}
            total = float(solve("cost_per_point", each)) if cost and others else float("inf")
        found.append(Ranked(offer, 0, points, total, cost))
    found.sort(key=lambda one: one.total if award.method == COST_PER_POINT else -one.total)
    ranks = [1]
    for before, after in pairwise(found):
        alike = abs(before.total - after.total) <= TIE * max(abs(before.total), 1)
        ranks.append(ranks[-1] if alike else len(ranks) + 1)
    return [one._replace(rank=rank) for one, rank in zip(found, ranks, strict=False)]


def flips(award: Award, ranked: Sequence[Ranked]) -> dict[str, tuple[float | None, float | None]]:
    """By criterion the points, below and above its own, from which another offer is first; None where no points do that.

    >>> award = Award({"price": 40, "targets": 60})
    >>> found = ranking(award, {"a": {"targets": 1.0}, "b": {"targets": 0.5}}, {"a": 2e6, "b": 1e6})
    >>> flips(award, found)
    {'price': (None, 60.0), 'targets': (40.0, None)}
    """
    if award.method != BEST_VALUE or len(ranked) < 2 or ranked[1].rank == 1:
        return {}
    first, *others = ranked
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, most in award.points.items():
        limits = []
        for other in others:
            gain = (first.points[name] - other.points[name]) / most
            rest = first.total - other.total - gain * most
            if gain:
                limits.append(-rest / gain)
        below = [limit for limit in limits if TIE * most < limit <= most]
        above = [limit for limit in limits if limit > most]
        found[name] = (max(below, default=None), min(above, default=None))
    return found
