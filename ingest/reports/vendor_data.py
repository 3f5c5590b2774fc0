"""The requirement lines as data for vendors: what each demands, and nothing of how it was derived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingest.engine.result import SCHEMA
from ingest.reports.pages.plan import requirement_wording
from ingest.version import FORMAT

if TYPE_CHECKING:
    from ingest.site.plan import Plan

#: Parts of a requirement that are the buyer's own.
INTERNAL = ("computed", "low", "high", "derivation", "assumptions", "remark")


def vendor_data(plan: Plan) -> dict[str, Any]:
    """The requirements as a JSON object, each as its statement says it."""
    lines = [{name: part for name, part in one.to_dict().items() if name not in INTERNAL} for one in plan.vendor_lines]
    return {
        "schema": SCHEMA,
        "format": FORMAT,
        "command": "report",
        "for": "vendor",
        "site": plan.site.name,
        "requirements": lines,
    }


def vendor_wording(plan: Plan) -> tuple[tuple[object, ...], ...]:
    """One row per requirement in base units: its sentence, its value and the conditions of its test."""
    heads, *rows = requirement_wording(plan.vendor_lines)
    kept = [place for place, head in enumerate(heads) if head not in INTERNAL]
    return tuple(tuple(row[place] for place in kept) for row in (heads, *rows))
