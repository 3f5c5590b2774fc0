"""`ingest response`: vendors' offers against the requirements that were sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

from ingest.errors import UsageError, listed, nearest
from ingest.rfp.comparison import Comparison, weights_of
from ingest.rfp.compliance import judge, offer_lines
from ingest.rfp.differences import differences, sheet_differences
from ingest.rfp.offer_verdict import MOST_LISTED, Response
from ingest.rfp.requirement_lines import TARGET, RequirementLine, planned_lines, requirement_lines, terms_on
from ingest.rfp.response_form import REQUIREMENTS_SHEET, RESPONSE_SHEET
from ingest.rfp.workbook_reader import Rows, Sheet, other_sheets, read_sheets

#: Offers that one comparison takes: a page with more columns cannot be read.
MOST_OFFERS = 50


@dataclass(frozen=True)
class SentRequirements:
    """The requirements that offers are compared with.

    Attributes:
        path: the file; empty where it is a vendor's own.
        lines: the requirements.
        sheet: their sheet; None where they come from a plan.
        others: the other sheets of the workbook that was sent, such as the terms; empty where there is none.
    """

    path: str
    lines: tuple[RequirementLine, ...]
    sheet: Sheet | None
    others: Mapping[str, Rows]


@overload
def response(
    filled: str | Path,
    *,
    sent: str | Path | None = None,
    optimized: bool = False,
    confirmed: Collection[str] = (),
    weights: Mapping[str, Any] | None = None,
) -> Response: ...


@overload
def response(
    filled: list[str] | list[Path] | tuple[str | Path, ...],
    *,
    sent: str | Path | None = None,
    optimized: bool = False,
    confirmed: Collection[str] = (),
    weights: Mapping[str, Any] | None = None,
) -> Comparison: ...


def response(
    filled: str | Path | list[str] | list[Path] | tuple[str | Path, ...],
    *,
    sent: str | Path | None = None,
    optimized: bool = False,
    confirmed: Collection[str] = (),
    weights: Mapping[str, Any] | None = None,
) -> Response | Comparison:
    """Judge a vendor's filled workbook, or compare those of several vendors.

    Args:
        filled: a workbook that `ingest report` made, filled in on its sheet Vendor response; a list compares several.
        sent: the workbook or the plan (.json) as you sent it: the requirements are read from there. Without it they are read
            from the first of `filled`, with a warning.
        optimized: whether tuned values count besides those as delivered.
        confirmed: ids of lines whose value is right, although it looks like a slip of its unit.
        weights: of the targets by id, for several offers; 1 for each by default.

    Raises:
        IngestError: a workbook of another kind, cells that cannot be read, formulas without values.
        UsageError: an id or a weight that does not fit, no offer, or the same one twice.
    """
    paths = [Path(one) for one in ([filled] if isinstance(filled, (str, Path)) else filled)]
    _check(paths, None if sent is None else Path(sent))
    before = None if sent is None else _sent(Path(sent))
    offers = []
    for path in paths:
        returned = read_sheets(path)
        if before is None:
            before = _stated("", returned)
        offers.append(_judged(path, returned, before, optimized, confirmed))
    assert before is not None
    known = [one.id for one in before.lines]
    for ident in confirmed:
        if ident not in known:
            raise UsageError(
                f"--confirmed: found '{ident}', expected the id of a requirement: {listed(known, MOST_LISTED)}"
                f"{nearest(ident, known)}"
            )
    if isinstance(filled, (str, Path)):
        return offers[0]
    return Comparison(tuple(offers), weights_of([one.id for one in before.lines if one.priority == TARGET], weights))


def _check(paths: Sequence[Path], sent: Path | None) -> None:
    """Refuse what cannot be an offer before any is read."""
    for path in paths:
        if path.suffix.lower() != ".xlsx":
            raise UsageError(f"OFFER: found '{path}', expected a file that ends in .xlsx")
    if sent is not None and sent.suffix.lower() not in (".xlsx", ".json"):
        raise UsageError(f"--sent: found '{sent}', expected a file that ends in .xlsx or .json")
    twice = next((path for path in paths if [one.resolve() for one in paths].count(path.resolve()) > 1), None)
    if twice is not None:
        raise UsageError(f"OFFER: '{twice}' is given twice, expected each offer once")
    if not 1 <= len(paths) <= MOST_OFFERS:
        raise UsageError(f"OFFER: found {len(paths)} offers, expected 1 to {MOST_OFFERS}")


def _sent(path: Path) -> SentRequirements:
    """The requirements of a plan or of a workbook as it was sent."""
    if path.suffix.lower() == ".json":
        return SentRequirements(str(path), tuple(planned_lines(path)), None, {})
    return _stated(str(path), read_sheets(path), other_sheets(path))


def _stated(path: str, sheets: Mapping[str, Sheet], others: Mapping[str, Rows] = MappingProxyType({})) -> SentRequirements:
    """The requirements of a workbook: those on their sheet, and the terms that the form alone has."""
    lines = requirement_lines(sheets[REQUIREMENTS_SHEET])
    terms = terms_on(sheets[RESPONSE_SHEET], {one.id for one in lines})
    return SentRequirements(path, (*lines, *terms), sheets[REQUIREMENTS_SHEET], others)


def _judged(
    path: Path, returned: Mapping[str, Sheet], sent: SentRequirements, optimized: bool, confirmed: Collection[str]
) -> Response:
    """The verdict on one offer."""
    offers = {one.id: one for one in offer_lines(returned[RESPONSE_SHEET])}
    lines = tuple(judge(one, offers.get(one.id), optimized, one.id in confirmed) for one in sent.lines)
    changed = [*differences(sent.lines, returned, sent.sheet)]
    if sent.others:
        changed += sheet_differences(sent.others, other_sheets(path))
    return Response(str(path), lines, tuple(changed), optimized, sent.path)
