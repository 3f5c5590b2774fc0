"""How `model`, `checkpoint` and `memory` hand over: the answer, or the derivation of one of its quantities."""

from __future__ import annotations

from ingest.answer import Answer
from ingest.cli.options import hand_over, warn
from ingest.explanation import Explanation
from ingest.reports.answers import answer_page
from ingest.reports.books import answer_book
from ingest.reports.views import explanation_page


def show_answer(answer: Answer, explain: str | None, form: str | None, output: str | None) -> None:
    """Print an answer, or how the quantity `explain` of it came about; warnings go to standard error."""
    if explain is not None:
        told = Explanation.of(answer, explain)
        hand_over(lambda: explanation_page(told), told.to_dict, form, output)
    else:
        hand_over(lambda: answer_page(answer), answer.to_dict, form, output, lambda: answer_book(answer, answer.title))
    warn(answer.warnings)
