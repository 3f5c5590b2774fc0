"""`ingest response`: the verdict on offers with its counts, and several next to each other with a score for the targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack, overload

from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import filled as filled_options
from ingest.engine.question import option
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.errors import UsageError, brief, expected_one_of, listed, nearest
from ingest.requirement import ANSWER
from ingest.rfp import compliance, requirement_lines
from ingest.rfp.award import AWARD_SHEET, BEST_VALUE, TARGETS, TERMS, Award, Price, Ranked, flips, priced, ranking
from ingest.rfp.compliance import LineVerdict
from ingest.rfp.requirement_lines import MANDATORY, TARGET, RequirementDifference, RequirementLine, is_value
from ingest.rfp.response_form import PRICES_SHEET, REQUIREMENTS_SHEET, RESPONSE_SHEET
from ingest.rfp.workbook_reader import OF_THE_PAGE, PROPERTY, Rows, other_sheets, page_texts, read_sheets

#: What a verdict without `--sent` rests on.
ALONE = (
    "the requirements are read from the vendor's own file, which may have been changed:"
    " pass the workbook or the plan that you sent as --sent FILE"
)
#: Ids that one warning lists.
MOST_LISTED = 5
#: The verdict on an offer.
COMPLIES, DEVIATES, INCOMPLETE, TO_DECIDE = "COMPLIES", "DOES NOT COMPLY", "INCOMPLETE", "COMPLIES WITH RESERVATIONS"
#: Why a mandatory requirement is not met, with the words of a count: the vendor deviates, or has yet to answer.
DEVIATING = {compliance.MISSED: "missed", compliance.PARTLY: "partly met", compliance.REJECTED: "rejected"}
#: The name under which a person decides on what stands beside the lines.
OFFER = "offer"
PENDING = {
    compliance.UNANSWERED: "not answered", compliance.UNREADABLE: "not readable",
    compliance.UNPROVEN: "answered yes without a value", compliance.SLIP: "with a unit slip to confirm",
}  # fmt: skip
#: What a person has to decide, with the words of a count.
RESERVING = {compliance.RESERVED: "with reservations to decide"}
#: What a target earns that the vendor meets in part.
PARTIAL_CREDIT = 0.5


@dataclass(frozen=True, repr=False, eq=False)
class Response(InteractiveResult):
    """The verdict on a vendor's offer."""

    path: str  # the file
    lines: tuple[LineVerdict, ...]  # one per requirement
    #: requirements of the returned workbook that differ from those that were sent; an offer with any does not comply
    differences: tuple[RequirementDifference, ...]
    optimized: bool  # whether tuned values count
    sent: str = ""  # the workbook or the plan that was sent; empty where the requirements come from the returned workbook
    price: Price = Price(None, "", {}, ())  # over the planned years
    beside: tuple[str, ...] = ()  # what the workbook says where no line is read, and prices that are limited
    decided: tuple[str, str] | None = None  # what a person has decided of that, and why

    @property
    def results(self) -> dict[str, str]:
        """The verdict by id."""
        return {line.requirement.id: line.verdict for line in self.lines}

    @property
    def changes(self) -> tuple[str, ...]:
        """The differences as text."""
        return tuple(map(str, self.differences))

    def of(self, priority: str) -> list[LineVerdict]:
        """The lines of a priority."""
        return [line for line in self.lines if line.requirement.priority == priority]

    @property
    def verdict(self) -> str:
        """`COMPLIES`, `DOES NOT COMPLY`, `INCOMPLETE` where answers are outstanding and nothing deviates, or `COMPLIES WITH
        RESERVATIONS` where a person has to decide on remarks alone."""
        found = {line.verdict for line in self.of(MANDATORY)}
        word = self.decided[0] if self.decided is not None else ""
        if self.differences or found & DEVIATING.keys() or word == compliance.REJECT:
            return DEVIATES
        if found - {compliance.MET, compliance.UNASKED, compliance.RESERVED}:
            return INCOMPLETE
        return TO_DECIDE if compliance.RESERVED in found or (self.beside and not word) else COMPLIES

    @property
    def summary(self) -> str:
        """The verdict; how many mandatory requirements are met, and why others are not; targets; changed requirements."""
        lines, targets = self.of(MANDATORY), self.of(TARGET)
        counted = Counter(line.verdict for line in lines)
        parts = [f"{counted[compliance.MET]} of {len(lines)} mandatory requirements met"]
        parts += [
            f"{counted[verdict]} {words}" for verdict, words in (DEVIATING | PENDING | RESERVING).items() if counted[verdict]
        ]
        if asked := self.of(ANSWER):
            parts.append(f"{sum(line.verdict == compliance.ANSWERED for line in asked)} of {len(asked)} questions answered")
        if targets:
            parts.append(f"{sum(line.verdict == compliance.MET for line in targets)} of {len(targets)} targets met")
        if self.differences:
            ids = {one.id for one in self.differences}
            parts.append(f"{len(ids)} line{'' if len(ids) == 1 else 's'} changed from what was sent")
        return f"{self.verdict}: {', '.join(parts)}"

    @property
    def _differing(self) -> str:
        """That requirements differ, and which; empty where none does."""
        ids = list(dict.fromkeys(one.id for one in self.differences))
        sent = self.sent or f"its sheet '{REQUIREMENTS_SHEET}'"
        return f"requirements differ from {sent}: {listed(ids, MOST_LISTED)}" if ids else ""

    @property
    def unmet(self) -> str:
        """Why the offer does not comply; empty where it does."""
        lines = self.of(MANDATORY)
        missed = [line.requirement.id for line in lines if line.verdict not in (compliance.MET, compliance.RESERVED)]
        reserved = [line.requirement.id for line in lines if line.verdict == compliance.RESERVED]
        why = f"mandatory requirements are not met: {listed(missed, MOST_LISTED)}" if missed else ""
        if self.beside and self.decided is None:
            reserved.append(f"what stands beside the lines ({OFFER})")
        decide = f"reservations to decide (--decisions): {listed(reserved, MOST_LISTED)}" if reserved else ""
        rejected = f"rejected: {self.decided[1]}" if self.decided is not None and self.decided[0] == compliance.REJECT else ""
        reasons = "; ".join(filter(None, (self._differing, why, decide, rejected)))
        return f"{self.path}: {reasons}" if reasons else ""

    @property
    def reservations(self) -> str:
        """How many answers carry a note; empty where none does."""
        reserved, answered = sum(bool(line.reservations) for line in self.lines), sum(line.answered for line in self.lines)
        return f"{reserved} of {answered} answers carr{'y' if reserved > 1 else 'ies'} a note" if reserved else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the verdict rests on, and that requirements differ; each note stands on the page, next to its line."""
        differing = f"{self.path}: {self._differing}" if self.differences else ""
        return tuple(filter(None, ("" if self.sent else ALONE, differing)))

    def to_dict(self) -> dict[str, Any]:
        """The verdicts as JSON."""
        return envelope("response", self.body(), warnings=self.warnings)

    def body(self) -> dict[str, Any]:
        """The verdicts as values."""
        price = self.price
        return {
            "file": self.path,
            "optimized": self.optimized,
            "verdict": self.verdict,
            "complies": self.verdict == COMPLIES,
            "lines": [line.in_short() for line in self.lines],
            "price": price.total,
            "beside": list(self.beside),
            "prices": {"currency": price.currency, "parts": dict(price.parts), "notes": [*price.notes, *price.limits]},
            "requirements": [line.to_dict() for line in self.lines],
            "changes": list(self.changes),
        }

    def to_frame(self) -> DataFrame:
        """One row per requirement."""
        return frame_of(self.rows())

    def rows(self, **named: str) -> list[dict[str, Any]]:
        """One row per requirement, after what `named` holds."""
        return [{**named, **{key: item for key, item in line.to_dict().items() if key != "said"}} for line in self.lines]


def credit(line: LineVerdict) -> float:
    """The share of a target that an offer earns, from 0 to 1.

    1 where it is met, one half where the vendor complies in part, offered over required where the value misses, whether the
    vendor says so or not, and 0 for no value, for a "no" beside a value that meets it and for a unit that is to be confirmed.
    """
    if line.verdict == compliance.MET:
        return 1
    if line.verdict == compliance.PARTLY:
        return PARTIAL_CREDIT
    if line.verdict == compliance.MISSED and line.margin is not None and line.margin < 0:
        return 1 + line.margin
    return 0


def weights_of(targets: Sequence[str], given: Mapping[str, Any] | None) -> dict[str, float]:
    """The weight of each target: the given ones, or 1 for each.

    Raises UsageError: a weight of no target, a target without one, no number from 0, or all of them 0.
    """
    if given is None:
        return dict.fromkeys(targets, 1)
    for name, weight in given.items():
        if name not in targets:
            known = f"one of the targets: {listed(targets, MOST_LISTED)}" if targets else "no weight: there are no targets"
            raise UsageError(f"--weights: found {brief(name)}, expected {known}{nearest(str(name), targets)}")
        if not is_value(weight):
            raise UsageError(f"--weights: {name}: found {brief(weight)}, expected a number from 0")
    lacking = [name for name in targets if name not in given]
    if lacking:
        raise UsageError(
            f"--weights: found no {listed(lacking, MOST_LISTED)}, expected a weight for each target; 0 ignores one"
        )
    if targets and not any(given.values()):
        raise UsageError("--weights: found 0 for every target, expected one above 0")
    return {name: given[name] for name in targets}


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(InteractiveResult):
    """Several offers against one set of requirements."""

    offers: tuple[Response, ...]  # the verdict on each, in the order in which they were given
    weights: Mapping[str, float]  # of the targets, by id
    award: Award  # what decides

    @property
    def requirements(self) -> tuple[RequirementLine, ...]:
        """The requirements, which all offers share."""
        return tuple(line.requirement for line in self.offers[0].lines)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A short name of each offer: that of its file, or its path where two are alike."""
        stems = [Path(one.path).stem for one in self.offers]
        return tuple(stem if stems.count(stem) == 1 else one.path for stem, one in zip(stems, self.offers, strict=True))

    @cached_property
    def scores(self) -> tuple[float | None, ...]:
        """The weighted share of the targets that each offer earns, from 0 to 1; None without targets."""
        total = sum(self.weights.values())
        if not total:
            return (None,) * len(self.offers)
        return tuple(
            sum(self.weights[line.requirement.id] * credit(line) for line in one.of(TARGET)) / total for one in self.offers
        )

    @cached_property
    def ranking(self) -> tuple[Ranked, ...]:
        """The offers that comply, or whose reservations are to be decided, in the order of the award."""
        return self._ranked(COMPLIES, TO_DECIDE)

    def _ranked(self, *verdicts: str) -> tuple[Ranked, ...]:
        """The offers of these verdicts in the order of the award."""
        if self._unlike:
            return ()
        asked = [one.requirement.id for one in self.offers[0].of(ANSWER)]
        shares, costs = {}, {}
        for name, one, score in zip(self.names, self.offers, self.scores, strict=True):
            if one.verdict in verdicts:
                answered = sum(line.verdict == compliance.ANSWERED for line in one.of(ANSWER))
                shares[name] = {TARGETS: score or 0.0, TERMS: answered / len(asked) if asked else 0.0}
                costs[name] = one.price.total
        return tuple(ranking(self.award, shares, costs))

    @property
    def _unlike(self) -> str:
        """Why costs have no order: in several currencies, or with taxes and without; who tells none has those of the others."""
        priced = [one.price for one in self.offers if one.price.total is not None]
        named = sorted({one.currency for one in priced if one.currency})
        taxes = {one.taxes for one in priced if one.taxes}
        return (
            f"in {' and '.join(named)}"
            if len(named) > 1
            else "with taxes in some offers and without in others" * (len(taxes) > 1)
        )

    @property
    def deciding(self) -> tuple[str, ...]:
        """What the ranking rests on: the award, a tie, what separates the first two, and how far points may move."""
        ranked, award = self.ranking, self.award
        lines = ["" if award.stated else "the tender states no award: offers are ranked by their cost alone"]
        if not ranked:
            why = f"prices are {self._unlike}" if self._unlike else "no offer complies"
            return (*filter(None, lines), f"no ranking: {why}")
        lines += [
            f"{one.offer}: no price of the system, so it earns no points for the price" for one in ranked if one.cost is None
        ]
        reserved = [name for name, one in zip(self.names, self.offers, strict=True) if one.verdict == TO_DECIDE]
        if reserved:
            sure = [one.offer for one in self._ranked(COMPLIES) if one.rank == 1]
            without = f"; without them {' and '.join(sure)} is first" if sure else ""
            lines.append(f"the reservations of {listed(reserved)} are to be decided before the award{without}")
        tied = [one.offer for one in ranked if one.rank == 1]
        if len(tied) > 1:
            lines.append(f"{' and '.join(tied)} tie: the award does not decide between them")
        elif len(ranked) > 1 and award.method == BEST_VALUE:
            first, second = ranked[:2]
            gains = {name: first.points[name] - second.points[name] for name in award.points}
            most = max(gains, key=lambda name: abs(gains[name]))
            ahead = first.total - second.total
            lines.append(f"{first.offer} leads {second.offer} by {ahead:.1f} points; {most} tells most: {gains[most]:+.1f}")
        if award.points.get(TERMS) and self.offers[0].of(ANSWER):
            lines.append(
                f"{TERMS}: any answer to a question counts until a person rejects it (--decisions, ID: {{reject: why}})"
            )
        for name, share in award.points.items():
            if len(ranked) > 1 and not any(one.points[name] for one in ranked):
                lines.append(f"{name} ({share:g} points): no offer earns any")
        moved = flips(award, ranked)
        for name, (below, above) in moved.items():
            ends = [f"below {below:.3g}" if below is not None else "", f"above {above:.3g}" if above is not None else ""]
            if said := " or ".join(filter(None, ends)):
                lines.append(f"{name} ({award.points[name]:g} points): another offer is first {said}")
        if moved and not any(end for ends in moved.values() for end in ends):
            lines.append("no change of the points of one criterion puts another offer first")
        return tuple(filter(None, lines))

    def row(self, place: int) -> tuple[LineVerdict, ...]:
        """The verdicts of all offers on the requirement at that place."""
        return tuple(one.lines[place] for one in self.offers)

    @property
    def complying(self) -> tuple[str, ...]:
        """The offers that comply."""
        return tuple(name for name, one in zip(self.names, self.offers, strict=True) if one.verdict == COMPLIES)

    @property
    def unmet(self) -> str:
        """Why the comparison fails: no offer complies; empty where one does."""
        return "" if self.complying else f"none of the {len(self.offers)} offers complies"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the verdicts rest on, and which offers change requirements."""
        alone = () if self.offers[0].sent else (f"{ALONE}; the other offers are compared with the first one",)
        return (*alone, *(text for one in self.offers for text in one.warnings if text != ALONE))

    def to_dict(self) -> dict[str, Any]:
        """The offers as JSON."""
        offers = [
            {"name": name, **one.body(), "score": score}
            for name, one, score in zip(self.names, self.offers, self.scores, strict=True)
        ]
        body = {
            "complying": list(self.complying),
            "weights": dict(self.weights),
            "award": {**self.award.points, "method": self.award.method, "years": self.award.years},
            "ranking": [one._asdict() for one in self.ranking],
            "deciding": list(self.deciding),
            "offers": offers,
        }
        return envelope("response", body, warnings=self.warnings)

    def to_frame(self) -> DataFrame:
        """One row per requirement and offer."""
        return frame_of([row for name, one in zip(self.names, self.offers, strict=True) for row in one.rows(offer=name)])


#: Offers that one comparison takes: a page with more columns cannot be read.
MOST_OFFERS = 50


class ResponseOptions(TypedDict, total=False):
    """The options of `response`."""

    sent: Annotated[
        str | Path | None, option("The workbook (.xlsx) or plan (.json) as you sent it: it states the requirements.", "FILE")
    ]
    optimized: Annotated[bool, option("Count tuned values too, not only those as delivered.", default=False)]
    confirmed: Annotated[
        Collection[str], option("Accept a value that looks like a unit slip; repeatable.", "ID", many=True, default=())
    ]
    decisions: Annotated[
        Mapping[str, Any] | None,
        option(
            "What a person decided of reservations, as `ID: {accept: why}` or `ID: {reject: why}`; of several offers below the "
            "name of each.",
            "FILE.yaml",
        ),
    ]
    weights: Annotated[
        Mapping[str, Any] | None, option("Weight of each target, as `ID: NUMBER`. [default: 1 each]", "FILE.yaml")
    ]


@overload
def response(filled: str | Path, **options: Unpack[ResponseOptions]) -> Response: ...


@overload
def response(filled: list[str] | list[Path] | tuple[str | Path, ...], **options: Unpack[ResponseOptions]) -> Comparison: ...


def response(
    filled: str | Path | list[str] | list[Path] | tuple[str | Path, ...], **options: Unpack[ResponseOptions]
) -> Response | Comparison:
    """Judge a vendor's filled workbook, or compare those of several vendors.

    Args:
        filled: a workbook that `ingest report` made, filled in on its sheet Vendor response; a list compares several. Without
            `sent` the requirements are read from the first one, with a warning.

    Raises:
        IngestError: a workbook of another kind, cells that cannot be read, formulas without values.
        UsageError: an id or a weight that does not fit, no offer, or the same one twice.
    """
    asked = filled_options(ResponseOptions, options, "response")
    sent, optimized, confirmed = asked["sent"], asked["optimized"], asked["confirmed"]
    paths = [Path(one) for one in ([filled] if isinstance(filled, (str, Path)) else filled)]
    place = None if sent is None else Path(sent)
    for path in paths:
        if path.suffix.lower() != ".xlsx":
            raise UsageError(f"OFFER: found '{path}', expected a file that ends in .xlsx")
    if place is not None and place.suffix.lower() not in (".xlsx", ".json"):
        raise UsageError(f"--sent: found '{place}', expected a file that ends in .xlsx or .json")
    twice = next((path for path in paths if [one.resolve() for one in paths].count(path.resolve()) > 1), None)
    if twice is not None:
        raise UsageError(f"OFFER: '{twice}' is given twice, expected each offer once")
    if not 1 <= len(paths) <= MOST_OFFERS:
        raise UsageError(f"OFFER: found {len(paths)} offers, expected 1 to {MOST_OFFERS}")
    read = cache(lambda path: (read_sheets(path), other_sheets(path)))
    sheet, others, page_of, own = None, dict[str, Rows](), dict[str, list[str]](), set[str]()
    if place is not None and place.suffix.lower() == ".json":
        lines, awarding = requirement_lines.planned_lines(place)
        award = Award.read(awarding)
    else:
        sheets, stating = read(place or paths[0])
        lines, sheet = requirement_lines.stated_lines(sheets), sheets[REQUIREMENTS_SHEET]
        award = Award.read(stating.get(AWARD_SHEET), stating.get(PRICES_SHEET))
        if place is not None:
            others, page_of, own = stating, page_texts(place), {text for one in sheets.values() for text in one.loose}
    offers = []
    for path in paths:
        returned, beside = read(path)
        filled_in = {one.id: one for one in compliance.offer_lines(returned[RESPONSE_SHEET])}
        against = compliance.contradictions(lines, filled_in)
        decided = decisions_on(asked["decisions"], path.stem, [one.stem for one in paths], [*(one.id for one in lines), OFFER])
        verdicts = tuple(
            compliance.judge(
                one, filled_in.get(one.id), optimized, one.id in confirmed, against.get(one.id, ()), decided.get(one.id)
            )
            for one in lines
        )
        changed = [*requirement_lines.differences(lines, returned, sheet)]
        if others:
            changed += requirement_lines.sheet_differences(others, beside)
        cost = priced(beside.get(PRICES_SHEET), award, others.get(PRICES_SHEET))
        loose = [text for one in returned.values() for text in one.loose if text not in own]
        for name, texts in page_texts(path).items():
            # Without the workbook that was sent, nothing tells whose headers and properties are.
            told = [text for text in texts if page_of or not text.startswith((OF_THE_PAGE, PROPERTY))]
            loose += [f"{name or 'workbook'}: {text}" for text in told if text not in page_of.get(name, ())]
        loose += [f"{PRICES_SHEET}: {note}" for note in cost.limits]
        whole = decided.get(OFFER)
        offers.append(Response(str(path), verdicts, tuple(changed), optimized, str(place or ""), cost, tuple(loose), whole))
    known = [one.id for one in lines]
    for ident in confirmed:
        if ident not in known:
            raise UsageError(
                f"--confirmed: found '{ident}', expected the id of a requirement: {listed(known, MOST_LISTED)}"
                f"{nearest(ident, known)}"
            )
    if isinstance(filled, (str, Path)):
        return offers[0]
    weights = weights_of([one.id for one in lines if one.priority == TARGET], asked["weights"])
    return Comparison(tuple(offers), weights, award)


def decisions_on(
    given: Mapping[str, Any] | None, name: str, names: Sequence[str], known: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """What a person decided of the reservations of one offer: by requirement the word and the reason.

    Raises UsageError: an unknown offer, an unknown requirement, or no decision with its reason.
    """
    if given is None:
        return {}
    if len(names) > 1:
        for offer in given:
            if offer not in names:
                raise UsageError(f"--decisions: found {brief(offer)}, {expected_one_of(str(offer), names)}")
        given = given.get(name) or {}
    found = {}
    for ident, decision in given.items() if isinstance(given, Mapping) else [(name, given)]:
        if ident not in known:
            raise UsageError(f"--decisions: found {brief(ident)}, expected the id of a requirement{nearest(str(ident), known)}")
        word, why = next(iter(decision.items())) if isinstance(decision, Mapping) and len(decision) == 1 else ("", "")
        if word not in (compliance.ACCEPT, compliance.REJECT) or not isinstance(why, str) or not why.strip():
            raise UsageError(f"--decisions: {ident}: found {brief(decision)}, expected {{accept: why}} or {{reject: why}}")
        found[ident] = (word, why)
    return found
