"""Workbooks on demand: the libraries that write them are imported here, when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.errors import IngestError
from ingest.garbage import nothing_collected

if TYPE_CHECKING:
    from ingest.answer import Answer
    from ingest.estimate import Estimate
    from ingest.site.plans import Plan
    from ingest.storage.outcome import Fits
    from ingest.sweeping import Sweep


def answer_book(answer: Estimate | Answer, title: str) -> bytes:
    """The small workbook of one answer.

    Raises:
        IngestError: the library that writes workbooks is not installed.
    """
    check_writer()
    from ingest.reports.workbook.answer_book import AnswerBook

    return AnswerBook(answer, title).content()


def fit_book(found: Fits) -> bytes:
    """The workbook of a comparison of storage systems.

    Raises:
        IngestError: the library that writes workbooks is not installed.
    """
    check_writer()
    from ingest.reports.workbook.fit_book import FitBook

    return FitBook(found).content()


def sweep_book(sweep: Sweep) -> bytes:
    """The table of a sweep as a workbook.

    Raises:
        UsageError: more scenarios than a sheet has rows.
        IngestError: the library that writes workbooks is not installed.
    """
    check_writer()
    from ingest.reports.workbook.sweep_book import content

    return content(sweep)


def site_book(plan: Plan) -> bytes:
    """The workbook of a site.

    Raises:
        IngestError: the library that writes workbooks is not installed.
    """
    check_writer()
    from ingest.reports.workbook.site_book import SiteBook

    with nothing_collected():
        return SiteBook(plan).content()


def check_writer() -> None:
    """Refuse in words where workbooks cannot be written."""
    from importlib.util import find_spec

    if find_spec("xlsxwriter") is None:
        raise IngestError("a workbook needs XlsxWriter, expected it installed: pip install 'ingest-sizing[report]'")
