"""Service terms in the README of the tests: those that tests show, degraded operation, and what remains to be inspected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ingest.acceptance.service_limits import DEGRADED, FAILED_SERVER, JUDGED, MandatoryTerm, ServiceLimit
from ingest.acceptance.test_spec import AcceptanceTest
from ingest.text import markdown
from ingest.units import display

if TYPE_CHECKING:
    from ingest.acceptance.acceptance_result import Acceptance

DEGRADED_RUNS = (
    "At least {share} of the required rates must remain with {state}. Bring the system into this state, keep it there, and"
    " run the scripts below with a results folder of their own. `ingest verdict . results {option} {folder}` judges them."
)


@cache
def steps_of_terms() -> Mapping[str, str]:
    """Id of a term -> the steps of its test, with `@value@`."""
    text = (files("ingest.acceptance") / "templates" / "terms.md").read_text(encoding="utf-8")
    parts = re.split(r"^# (S-\S+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def readme_terms(made: Acceptance) -> Iterator[str]:
    """The lines of the README on service terms."""
    shown = [limit for limit in made.service if limit.key in JUDGED]
    if shown:
        yield from ("", "## Service terms that the tests show", "")
        yield from (f"- {limit.id}, {markdown(limit.name)}: {limit.shown}" for limit in shown)
    if made.setting.logs_seconds:
        yield from ("", "fio logs the rate of each second; the scripts keep the logs next to the results.")
    for limit, tests in made.degraded.items():
        yield from _degraded(limit, tests)
    if made.inspected and not made.setting.rehearsal:
        yield from ("", "## Mandatory terms to be inspected", "", "`ingest verdict` lists them, and does not judge them.", "")
        yield from (f"- {term.id}, {markdown(f'{term.name}, {term.value}: {term.verification}')}" for term in made.inspected)
        for term in made.inspected:
            yield from _stepwise(term)


def _degraded(limit: ServiceLimit, tests: tuple[AcceptanceTest, ...]) -> Iterator[str]:
    option, folder = ("--degraded", "results-degraded") if limit.key == FAILED_SERVER else ("--rebuild", "results-rebuild")
    words = DEGRADED_RUNS.format(share=limit.shown, state=DEGRADED[limit.key], option=option, folder=folder)
    yield from ("", f"## {markdown(limit.name)} ({limit.id})", "")
    if not tests:
        yield f"No test of this folder is among those of the term ({', '.join(limit.tests)}): agree on another with the vendor."
        return
    yield from (words, "", "| test | load | must reach |", "|---|---|---|")
    yield from (f"| {test.id} | {load.name} | {display(load.threshold, load.unit)} |" for test in tests for load in test.loads)
    scripts = (name for test in tests for name in test.files if name.endswith(f"/{test.id}.sh"))
    yield from ("", "```", *(f"RESULTS=$PWD/{folder} sh {name}" for name in scripts), "```")


def _stepwise(term: MandatoryTerm) -> Iterator[str]:
    steps = steps_of_terms().get(term.id)
    if steps:
        yield from ("", f"### {term.id}: {markdown(term.name)}", "", steps.replace("@value@", markdown(term.value)))
