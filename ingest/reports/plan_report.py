"""`ingest report`: a plan as workbook, document, table or data; all files are made before any is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError, UsageError, nearest
from ingest.files import check_target, garbage_collection_paused, write_all
from ingest.reports.charts.bandwidth import Bar, Ceiling, Point, demand, ladder, scaling
from ingest.reports.charts.chart import Chart, lacking
from ingest.reports.charts.planning import Interval, Swing, YearBytes, capacity, intervals, tornado
from ingest.reports.document.html import as_html
from ingest.reports.document.markdown import as_markdown
from ingest.reports.document.rfp_document import RfpDocument
from ingest.reports.document.word import as_docx, template_warnings
from ingest.reports.labels import plain
from ingest.reports.page import Page, as_csv
from ingest.reports.pages.plan import requirement_wording
from ingest.reports.workbook.plan_workbook import plan_workbook
from ingest.site.plan import TORNADO, Plan, bandwidth_by_nodes, capacity_by_use, evidence_levels, largest_checkpoint_course
from ingest.site.planner import plan
from ingest.storage.read_ceilings import read_ceilings
from ingest.text import all_visible

if TYPE_CHECKING:
    import pandas

    from ingest.engine.derivation_graph import QuantityRow
    from ingest.engine.value import Quantity
    from ingest.reports.document.model import Document


#: Jobs whose growth with the machine is drawn; more lines cannot be told apart.
MOST_LINES = 4


def charts_of(plan: Plan, storage: Sequence[str] = ()) -> list[Chart]:
    """The charts that a plan has the numbers for.

    Args:
        plan: of a site.
        storage: ids of systems whose ceilings are drawn over the read bandwidth of the jobs.

    Raises:
        UsageError: an unknown id.
        IngestError: ceilings are requested, and no job reads.
    """
    return list(_charts(plan, storage))


def _charts(plan: Plan, storage: Sequence[str]) -> Iterator[Chart]:
    jobs = [(row, step.value) for row in plan.rows["jobs"] if (step := row.step("job_read_bandwidth")) is not None]
    jobs.sort(key=lambda job: -job[1])
    total = plan.results.get("R-READ-03")
    if jobs and total is not None:
        needed = plan.known.value("workload_read_bandwidth")
        why = "by guidance" if needed < plan.computed["R-READ-03"] else "headroom included"
        yield demand([Bar(row.name, value) for row, value in jobs], Bar(f"R-READ-03, {why}", total.value))
        yield _scaling(plan, [row for row, _ in jobs[:MOST_LINES]], storage)
        yield from _evidence(plan, jobs[0][0].name)
    elif storage:
        raise IngestError("--storage: no job of the site reads data, so there is no chart that could show the ceilings")
    yield capacity([YearBytes(row.name, *part) for row in plan.rows["years"] for part in capacity_by_use(row)])
    course = largest_checkpoint_course(plan)
    if course is not None:
        job, chosen, points, condition = course
        yield intervals([Interval(*one) for one in points], Interval(*chosen), job, condition)
    yield from _tornado(plan)


def _scaling(plan: Plan, rows: Sequence[QuantityRow], storage: Sequence[str]) -> Chart:
    points = [Point(row.name, *point) for row in rows for point in bandwidth_by_nodes(row)]
    if not storage:
        return scaling(points)
    found = read_ceilings(plan, storage, sorted({point.nodes for point in points}))
    sources = "; ".join(one.source for one in found)
    ceilings = [Ceiling(one.label, one.rate, one.points) for one in found]
    return scaling(points, ceilings, note=f"dashed: ceilings of storage: {sources}")


def _evidence(plan: Plan, job: str) -> Iterator[Chart]:
    levels = evidence_levels(plan, job)
    if len(levels) > 1:
        bars = [Bar(basis, one.value, one.low, one.high) for basis, one in levels]
        yield ladder(bars, levels[0][1].unit, f"read bandwidth per GPU of {job}")


def _tornado(plan: Plan) -> Iterator[Chart]:
    """The requirement that most inputs affect, a binding one if there is any; reads before capacity where they tie."""
    moved = {name: plan.sensitivity(name) for name in TORNADO if name in plan.results}
    binding = {name for name in moved if moved[name] and plan.requirement(name).priority != "information"}
    name = max(binding or moved, key=lambda one: (len(moved[one]), -TORNADO.index(one)), default="")
    if name and moved[name]:
        labels = [" of ".join(filter(None, (plain(one.name), ", ".join(one.rows)))) for one in moved[name]]
        swings = [Swing(label, one.at_low, one.at_high) for label, one in zip(labels, moved[name], strict=True)]
        yield tornado(swings, plan.computed[name], plan.requirement(name).unit, name)


#: Formats that hold charts drawn here; the workbook draws its own.
DOCUMENTS = {".docx", ".md", ".html"}


#: Note on a document that is written without the extra `charts`.
NO_CHARTS = "the document has no charts, {why}"


@dataclass(frozen=True)
class Report:
    """What was written, and from what.

    Attributes:
        plan: the plan.
        files: path and size of each file.
        notes: what a template leaves out or repeats.
    """

    plan: Plan
    files: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the plan, and what a template leaves out or repeats."""
        return (*self.notes, *self.plan.warnings)

    @property
    def results(self) -> Mapping[str, Quantity]:
        """The requirements' values by id."""
        return self.plan.results

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON, and the files."""
        return {**self.plan.to_dict(), "command": "report", "files": dict(self.files)}

    def to_frame(self) -> pandas.DataFrame:
        """One row per requirement."""
        return self.plan.to_frame()


def report(
    site: str | Path | Mapping[str, Any],
    *,
    output: str | Path | Sequence[str | Path],
    template: str | Path | None = None,
    storage: str | Sequence[str] = (),
    years: str | int | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    seed: str | int = 0,
    catalogs: str | Path | Sequence[str | Path] = (),
) -> Report:
    """Write the documents of an RFP.

    Args:
        site: a site file, as `plan` takes it.
        output: files to write; their suffixes choose the formats: .xlsx, .docx, .md, .html, .csv, .json.
        template: a .docx of the buyer's, for the .docx only. Its fields are `{{all}}` for the whole document; `{{scope}}`,
            `{{workloads}}`, `{{performance}}`, `{{capacity}}`, `{{checkpoints}}`, `{{metadata}}`, `{{resilience}}`,
            `{{protocols}}`, `{{growth}}`, `{{acceptance}}`, `{{response}}`, `{{assumptions}}`, `{{derivations}}` and
            `{{information}}` for a section; `{{title}}`, `{{site}}`, `{{version}}`, `{{catalogs}}` and `{{input}}` for a
            word; and the id of each requirement, such as `{{R-READ-01}}`, for its value.
        storage: ids of the storage catalog, as `fit` takes them: systems whose ceilings the chart of bandwidth against
            nodes shows; for .docx, .md and .html.
        years: years to plan for after the start, 0 to 30. [default: of the file, else 5]
        set: values of the site file by path.
        seed: seed of the Monte Carlo draws.
        catalogs: folders with entries of your own.

    Raises:
        UsageError: an unknown suffix, two files of one name, a template without a .docx.
        IngestError: a site that cannot be, a library that is not installed, a file that cannot be written.
    """
    systems = [storage] if isinstance(storage, str) else list(storage)
    paths = _checked([output] if isinstance(output, (str, Path)) else list(output), template, systems)
    with garbage_collection_paused():
        planned = plan(site, years=years, set=set, seed=seed, catalogs=catalogs)
        if not isinstance(planned, Plan):
            raise UsageError("--set: found several scenarios, expected one for a report")
        writer = ReportWriter(planned, template, systems)
        made = {path: writer.content(path.suffix.lower()) for path in paths}
    write_all(made)
    return Report(
        planned,
        {str(path): len(content) for path, content in made.items()},
        writer.notes(path.suffix.lower() for path in paths),
    )


def _checked(outputs: Sequence[str | Path], template: str | Path | None, storage: Sequence[str]) -> list[Path]:
    paths = [Path(output) for output in outputs]
    known = tuple(FORMATS)
    if not paths:
        raise UsageError(f"--output is missing, expected a file that ends in {', '.join(known)}")
    for path in paths:
        suffix = path.suffix.lower()
        if suffix not in known:
            raise UsageError(f"--output: '{path}' ends in '{suffix}', expected {', '.join(known)}{nearest(suffix, known)}")
    _refuse_twice(paths)
    if template is not None and all(path.suffix.lower() != ".docx" for path in paths):
        raise UsageError("--template fills a .docx, expected --output with one")
    if storage and not DOCUMENTS & {path.suffix.lower() for path in paths}:
        raise UsageError(
            f"--storage is for the charts of a document, expected --output with one of {', '.join(sorted(DOCUMENTS))}"
        )
    for path in paths:
        check_target(path)
    return paths


def _refuse_twice(paths: Sequence[Path]) -> None:
    """Two names of one file would leave only the last content."""
    meant: dict[Path, Path] = {}
    for path in paths:
        first = meant.setdefault(path.resolve(), path)
        if first is not path:
            also = "" if str(first) == str(path) else f", as '{first}' too"
            raise UsageError(f"--output: '{path}' is given twice{also}, expected each file once")


class ReportWriter:
    """Makes each format of one plan; the document is composed once for all its renderings."""

    def __init__(self, planned: Plan, template: str | Path | None, storage: Sequence[str]) -> None:
        self.plan, self.template, self.storage = planned, template, storage

    def content(self, suffix: str) -> bytes:
        """The content of a file with that suffix."""
        return FORMATS[suffix](self)

    def notes(self, suffixes: Iterable[str]) -> tuple[str, ...]:
        """What the template omits or repeats, and that charts are missing."""
        charts = () if DOCUMENTS.isdisjoint(suffixes) or not lacking() else (NO_CHARTS.format(why=lacking()),)
        omitted = () if self.template is None else template_warnings(self.document, self.template)
        return (*omitted, *charts)

    def json(self) -> bytes:
        """The plan as JSON."""
        return json.dumps(all_visible(self.plan.to_dict()), indent=1, ensure_ascii=False, allow_nan=False).encode()

    def csv(self) -> bytes:
        """The requirement lines as CSV."""
        return (as_csv(all_visible(Page("", (), requirement_wording(self.plan)))) + "\n").encode()

    @cached_property
    def document(self) -> Document:
        """The document of the plan, charts included."""
        return RfpDocument(self.plan, () if lacking() else charts_of(self.plan, self.storage)).document()


#: suffix -> how the file is made
FORMATS: Mapping[str, Callable[[ReportWriter], bytes]] = {
    ".xlsx": lambda writer: plan_workbook(writer.plan),
    ".docx": lambda writer: as_docx(writer.document, writer.template),
    ".md": lambda writer: as_markdown(writer.document).encode(),
    ".html": lambda writer: as_html(writer.document).encode(),
    ".csv": ReportWriter.csv,
    ".json": ReportWriter.json,
}
