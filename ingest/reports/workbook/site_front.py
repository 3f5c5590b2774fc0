"""What a site's workbook tells its readers: offerors on the first sheet, the buyer on one that is taken out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ingest.reports.workbook.changed_inputs import banner, strike_rows
from ingest.reports.workbook.grid import Grid
from ingest.reports.workbook.read_me import WIDTH, Sections, read_me, write_sections
from ingest.tender.response_form import BUYER_SHEET
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.site.plans import Plan

TO_SETTLE = "To be settled before publication"


def front(plan: Plan, title: str, grid: Callable[..., Grid], checks: int) -> None:
    """Write the first sheet.

    Args:
        plan: what the workbook shows.
        title: of the workbook.
        grid: makes a sheet.
        checks: how many there are.
    """
    sections: Sections = {
        "For the offeror": (
            "Fill in the yellow cells of the sheet Vendor response, each value as a plain number in the unit of its line, and"
            " return the whole workbook, saved by a spreadsheet program.",
            "All other cells are locked; the requirements are compared with what was sent. Write every answer, and every"
            " condition, into the yellow cells: nothing else is read.",
            "The as-is value is what counts; the optimized value counts only where the buyer has said so.",
        ),
        "How the workbook is built": (
            "The yellow cells on the sheet Inputs may be changed; every other number follows by formulas that can be read."
            " What the site file says stands on top, with its key.",
            "The sheets from Workloads to Placement show cells of Calculation; Columns gathers what is added up.",
            "Requirements, Vendor response and Acceptance carry the same ids as the document; acceptance job files carry the"
            " id of their test, with the name of the tool behind it.",
            "Values are in base units (B, s, and things counted), shares in percent; Results shows the units that people"
            " read, with the base value beside them.",
            "Numbers follow the inputs. Statements, priorities, conditions, titles of charts, low and high ends and the sheet"
            " Sensitivity are those of the plan: a change of Inputs strikes them out, and a banner counts it.",
            "All sheets are protected without a password, so that nothing is changed by mistake: only yellow cells are open.",
        ),
        "How it was made": (
            f"Made by ingest {__version__}; catalogs {plan.catalog.content_hash()}; site file {plan.input_hash}.",
            f"{len(plan.assumptions)} values are assumed: see the sheet Assumptions.",
        ),
    }
    read_me(grid("Read-me", (title,), (WIDTH,)), sections, checks, banner())


def for_buyer(plan: Plan, grid: Callable[..., Grid]) -> None:
    """Write the sheet that is the buyer's alone."""
    sheet = grid(BUYER_SHEET, ("For the buyer: delete this sheet before the workbook goes out",), (WIDTH,))
    rows = write_sections(
        sheet,
        {
            "Change, send, judge": (
                "After a change of Inputs, change the site file alike and run ingest report again: statements and conditions"
                " follow the site file only. Keep a copy of the workbook that you send, and judge each answer against it:"
                " ingest response FILLED.xlsx --sent SENT.xlsx.",
                "Without --sent, the requirements are read from the returned workbook, with a warning; with --optimized, tuned"
                " values count too.",
            ),
            TO_SETTLE: plan.warnings,
            "What is not asked for": [f"{name}: {why}" for name, why in plan.missing.items()],
        },
    )
    if TO_SETTLE in rows:
        strike_rows(sheet, *rows[TO_SETTLE])
    sheet.close()
