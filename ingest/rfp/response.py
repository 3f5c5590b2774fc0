"""`ingest response`: vendors' offers against the requirements that were sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack, overload

from ingest.engine.question import filled as filled_options
from ingest.engine.question import option
from ingest.errors import UsageError, brief, expected_one_of, listed, nearest
from ingest.rfp.award import AWARD_SHEET, Award, priced
from ingest.rfp.compliance import ACCEPT, REJECT, contradictions, judge, offer_lines
from ingest.rfp.offer_verdict import MOST_LISTED, OFFER, Comparison, Response, weights_of
from ingest.rfp.requirement_lines import (
    TARGET,
    RequirementLine,
    differences,
    planned_award,
    planned_lines,
    sheet_differences,
    stated_lines,
)
from ingest.rfp.response_form import PRICES_SHEET, REQUIREMENTS_SHEET, RESPONSE_SHEET
from ingest.rfp.workbook_reader import OF_THE_PAGE, PROPERTY, Rows, other_sheets, page_texts, read_sheets

#: Offers that one comparison takes: a page with more columns cannot be read.
MOST_OFFERS = 50


class ResponseOptions(TypedDict, total=False):
    """The options of `response`."""

    sent: Annotated[
        str | Path | None,
        option("The workbook (.xlsx) or plan (.json) as you sent it: it states the requirements.", "FILE"),
    ]
    optimized: Annotated[bool, option("Count tuned values too, not only those as delivered.", default=False)]
    confirmed: Annotated[
        Collection[str],
        option("Accept a value that looks like a unit slip; repeatable.", "ID", many=True, default=()),
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
    lines: list[RequirementLine] = []
    sheet, others, award, page_of = None, dict[str, Rows](), Award.read(None), dict[str, list[str]]()
    own = set[str]()
    if place is not None and place.suffix.lower() == ".json":
        lines, award = planned_lines(place), Award.read(planned_award(place))
    elif place is not None:
        sheets, others, page_of = read_sheets(place), other_sheets(place), page_texts(place)
        lines, sheet, award = stated_lines(sheets), sheets[REQUIREMENTS_SHEET], Award.read(others.get(AWARD_SHEET))
        own = {text for one in sheets.values() for text in one.loose}
    offers = []
    for path in paths:
        returned, beside = read_sheets(path), other_sheets(path)
        if place is None and sheet is None:
            lines, sheet, award = stated_lines(returned), returned[REQUIREMENTS_SHEET], Award.read(beside.get(AWARD_SHEET))
        filled_in = {one.id: one for one in offer_lines(returned[RESPONSE_SHEET])}
        against = contradictions(lines, filled_in)
        decided = decisions_on(asked["decisions"], path.stem, [one.stem for one in paths], [*(one.id for one in lines), OFFER])
        verdicts = tuple(
            judge(one, filled_in.get(one.id), optimized, one.id in confirmed, against.get(one.id, ()), decided.get(one.id))
            for one in lines
        )
        changed = [*differences(lines, returned, sheet)]
        if others:
            changed += sheet_differences(others, beside)
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
        words = [*decision.items()] if isinstance(decision, Mapping) else []
        if (
            len(words) != 1
            or words[0][0] not in (ACCEPT, REJECT)
            or not isinstance(words[0][1], str)
            or not words[0][1].strip()
        ):
            raise UsageError(f"--decisions: {ident}: found {brief(decision)}, expected {{{ACCEPT}: why}} or {{{REJECT}: why}}")
        found[ident] = words[0]
    return found
