"""The page of each result, as its command prints it and as a session shows it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.reports.page import Page

#: class of a result -> the module here that makes its page, and the function; a class without one has that of its base
PAGES: Mapping[str, str] = {
    "Acceptance": "acceptance.acceptance_page",
    "Answer": "sizing.answer_page",
    "Calibration": "plan.calibration_page",
    "CatalogComparison": "storage.comparison_page",
    "CatalogEntry": "sizing.entry_page",
    "CatalogListing": "sizing.list_page",
    "Comparison": "response.comparison_page",
    "CorpusMeasurement": "sizing.corpus_page",
    "Estimate": "sizing.estimate_page",
    "Explanation": "sizing.explanation_page",
    "Fit": "storage.fit_page",
    "Fits": "storage.fits_page",
    "History": "sizing.history_page",
    "Observation": "plan.observation_page",
    "ObservedJob": "acceptance.observed_job_page",
    "PathBenchmark": "acceptance.measured_page",
    "Plan": "plan.plan_page",
    "PlanDiff": "plan.diff_page",
    "PlanScenarios": "plan.plans_page",
    "Report": "plan.report_page",
    "Response": "response.response_page",
    "RuleExplanation": "sizing.rule_page",
    "Scenarios": "sizing.scenarios_page",
    "Sweep": "sizing.sweep_page",
    "Usage": "plan.usage_page",
    "Validation": "sizing.validation_page",
    "Verdict": "acceptance.verdict_page",
}


def page_for(result: Any, *details: Any) -> Page:
    """The page of a result; `details` go to what makes it."""
    place = next(PAGES[one.__name__] for one in type(result).__mro__ if one.__name__ in PAGES)
    module, _, name = place.partition(".")
    made: Page = getattr(import_module(f"ingest.reports.pages.{module}"), name)(result, *details)
    return made
