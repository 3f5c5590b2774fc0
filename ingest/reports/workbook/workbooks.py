"""Workbooks on demand: XlsxWriter is imported when one is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.files import garbage_collection_paused

if TYPE_CHECKING:
    from ingest.engine.result import Answer
    from ingest.site.plan import Plan
    from ingest.sizing.bandwidth import Estimate
    from ingest.sizing.sweep import Sweep
    from ingest.storage.fit_result import Fits


def answer_book(answer: Estimate | Answer, title: str) -> bytes:
    """The small workbook of one answer."""
    from ingest.reports.workbook.small_workbooks import AnswerBook

    return AnswerBook(answer, title).content()


def fit_book(found: Fits) -> bytes:
    """The workbook of a comparison of storage systems."""
    from ingest.reports.workbook.small_workbooks import FitBook

    return FitBook(found).content()


def sweep_book(sweep: Sweep) -> bytes:
    """The table of a sweep as a workbook.

    Raises:
        UsageError: more scenarios than a sheet has rows.
    """
    from ingest.reports.workbook.small_workbooks import content

    return content(sweep)


def site_book(plan: Plan) -> bytes:
    """The workbook of a site."""
    from ingest.reports.workbook.plan_workbook import SiteBook

    with garbage_collection_paused():
        return SiteBook(plan).content()
