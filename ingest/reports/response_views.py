"""The page of a vendor's judged offer."""

from __future__ import annotations

from ingest.reports.page import Page, Section
from ingest.tender.responding import Judged, Response
from ingest.units import display


def response_page(answer: Response) -> Page:
    """Requirement, what was offered, margin, verdict; then what was changed."""
    heads = ("id", "priority", "required", "offered", "margin", "result")
    sections = [Section("", heads, tuple(_row(line) for line in answer.lines))]
    if answer.changes:
        sections.append(Section("Changed by the vendor", lines=answer.changes))
    verdict = "does not comply" if answer.unmet else "complies"
    counted = "tuned values count" if answer.optimized else "values as delivered count"
    columns = ("id", "priority", "required", "unit", "offered", "margin", "result", "note")
    flat = [tuple(line.to_dict()[column] for column in columns) for line in answer.lines]
    return Page(f"{answer.path} {verdict}; {counted}", tuple(sections), (columns, *flat))


def _row(line: Judged) -> tuple[str, ...]:
    offered = "" if line.offered is None else display(line.offered, line.asked.unit, binary=False)
    margin = "" if line.margin is None else f"{line.margin * 100:+.1f} %"
    required = display(line.asked.value, line.asked.unit, binary=False)
    return (line.asked.id, line.asked.priority, required, offered, margin, line.verdict)
