"""Workbooks on demand: XlsxWriter is imported when one is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.garbage import nothing_collected

if TYPE_CHECKING:
    from ingest.answer import Answer
    from ingest.estimate import Estimate
    from ingest.site.plans import Plan
    from ingest.storage.outcome import Fits
    from ingest.sweeping import Sweep


def answer_book(answer: Estimate | Answer, title: str) -> bytes:
    """The small workbook of one answer."""
    from ingest.reports.workbook.answer_book import AnswerBook

    return AnswerBook(answer, title).content()


def fit_book(found: Fits) -> bytes:
    """The workbook of a comparison of storage systems."""
    from ingest.reports.workbook.fit_book import FitBook

    return FitBook(found).content()


def sweep_book(sweep: Sweep) -> bytes:
    """The table of a sweep as a workbook.

    Raises:
        UsageError: more scenarios than a sheet has rows.
    """
    from ingest.reports.workbook.sweep_book import content

    return content(sweep)


def site_book(plan: Plan) -> bytes:
    """The workbook of a site."""
    from ingest.reports.workbook.site_book import SiteBook

    with nothing_collected():
        return SiteBook(plan).content()
