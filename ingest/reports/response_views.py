"""The page of a vendor's judged offer."""

from __future__ import annotations

from ingest.reports.page import Page, Section
from ingest.tender.compliance import MET, PARTLY, LineVerdict
from ingest.tender.response import Response
from ingest.units import display

#: Margins above this share are shown as "over".
MOST_MARGIN = 10


def response_page(answer: Response) -> Page:
    """Requirement, offered value, margin, verdict and notes of each line; then the requirements that differ."""
    heads = ("id", "priority", "required", "offered", "margin", "result", "note")
    sections = [Section("", heads, tuple(_row(line) for line in answer.lines))]
    if answer.changes:
        sections.append(Section("Differs from the requirements sent", lines=answer.changes))
    verdict = "does not comply" if answer.unmet else "complies"
    counted = "tuned values count" if answer.optimized else "values as delivered count"
    columns = ("id", "priority", "required", "unit", "offered", "margin", "result")
    flat = [(*(line.to_dict()[column] for column in columns), line.notes) for line in answer.lines]
    title = "; ".join(filter(None, (f"{answer.path} {verdict}", counted, answer.reservations)))
    return Page(title, tuple(sections), ((*columns, "note"), *flat))


def _row(line: LineVerdict) -> tuple[str, ...]:
    offered = "" if line.offered is None else display(line.offered, line.requirement.unit, binary=False)
    required = display(line.requirement.value, line.requirement.unit, binary=False)
    return (line.requirement.id, line.requirement.priority, required, offered, _margin(line), line.verdict, line.notes)


def _margin(line: LineVerdict) -> str:
    """`+10.0 %`; what meets a requirement as it is printed is never below it, what misses it never looks even."""
    if line.margin is None:
        return ""
    if line.margin > MOST_MARGIN:
        return f"over {MOST_MARGIN * 100:,} %"
    share = max(line.margin, 0.0) if line.verdict in (MET, PARTLY) else line.margin
    percent = f"{share * 100:+.1f}"
    if percent.strip("+-0.") == "":
        percent = "0.0" if share >= 0 else f"{share * 100:.1g}"
    return f"{percent} %"
