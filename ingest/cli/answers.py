"""Answers of one question on standard output, in a file, or as the derivation of one quantity."""

from __future__ import annotations

from functools import partial

from ingest.cli.main import later
from ingest.cli.options import hand_over
from ingest.engine.result import Answer
from ingest.reports.pages.sizing import answer_page, explanation_page
from ingest.sizing.explain import Explanation

#: the workbook of an answer
sizing_workbook = later("ingest.reports.workbook.small_workbooks", "sizing_workbook")


def show_answer(answer: Answer, explain: str | None, form: str | None, output: str | None) -> None:
    """Print an answer, or the derivation of its quantity `explain`; warnings go to standard error."""
    if explain is not None:
        explanation = Explanation.of(answer, explain)
        hand_over(lambda: explanation_page(explanation), explanation.to_dict, form, output, warnings=answer.warnings)
    else:
        book = partial(sizing_workbook, answer, answer.title)
        hand_over(lambda: answer_page(answer), answer.to_dict, form, output, book, warnings=answer.warnings)
