"""`ingest report`: a plan as workbook, document, table or data; all files are made before any is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.configuration import decimal_units
from ingest.corpus.native_calls import NativeFailure
from ingest.engine.interactive import InteractiveResult
from ingest.errors import UsageError, nearest
from ingest.files import check_target, garbage_collection_paused, write_all
from ingest.reports.charts.chart import FAILED, lacking
from ingest.reports.document.buyer_report import buyer_report
from ingest.reports.document.derivations import derivation_document
from ingest.reports.document.html import as_html
from ingest.reports.document.markdown import as_markdown
from ingest.reports.document.pdf import as_pdf
from ingest.reports.document.tender_document import tender_document
from ingest.reports.document.word import as_docx, template_warnings
from ingest.reports.page import Page, as_csv
from ingest.reports.pages.plan import requirement_wording
from ingest.reports.plan_charts import charts_of
from ingest.reports.vendor_charts import vendor_charts
from ingest.reports.vendor_data import vendor_data, vendor_wording
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.vendor_workbook import vendor_workbook
from ingest.site.plan import Plan
from ingest.site.planner import plan
from ingest.text import all_visible

if TYPE_CHECKING:
    import pandas

    from ingest.engine.value import Quantity
    from ingest.reports.document.model import Document


#: Formats of a document.
DOCUMENTS = (".docx", ".md", ".html", ".pdf")
#: Those that a template of the buyer's fills.
FILLED = (".docx", ".pdf")


#: Note on a document whose charts cannot be rendered.
NO_CHARTS = "the document has no charts, {why}"


@dataclass(frozen=True, repr=False, eq=False)
class Report(InteractiveResult):
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


@decimal_units()
def report(
    site: str | Path | Mapping[str, Any],
    *,
    output: str | Path | Sequence[str | Path],
    for_vendor: bool = False,
    derivations: str | Path | None = None,
    template: str | Path | None = None,
    storage: str | Sequence[str] = (),
    years: str | int | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    seed: str | int = 0,
    catalogs: str | Path | Sequence[str | Path] = (),
) -> Report:
    """Write the buyer's own report of a plan, or the documents of an RFP.

    Args:
        site: a site file, as `plan` takes it.
        output: files to write; their suffixes choose the formats: .xlsx, .docx, .md, .html, .pdf, .csv, .json.
        for_vendor: write what vendors receive, without assumptions, ranges, notes and derivations.
        derivations: file for the derivation of each value, .docx, .md, .html or .pdf; the report then omits them.
        template: a .docx of the buyer's, for the .docx and the .pdf. Its fields are `{{all}}` for the whole document, the
            name of a section such as `{{capacity}}`, a single value such as `{{title}}`, and
            the id of each requirement, such as `{{R-READ-01}}`, for its value.
        storage: ids of the storage catalog, as `fit` takes them: systems whose ceilings the chart of bandwidth against
            nodes shows; for the buyer's .docx, .md, .html and .pdf.
        years: years to plan for after the start, 0 to 30. [default: of the file, else 5]
        set: values of the site file by path.
        seed: seed of the Monte Carlo draws.
        catalogs: folders with entries of your own.

    Raises:
        UsageError: an unknown suffix, two files of one name, a template without a .docx.
        IngestError: a site that cannot be, a library or a program that is not installed, a file that cannot be written.
    """
    systems = [storage] if isinstance(storage, str) else list(storage)
    paths = _checked([output] if isinstance(output, (str, Path)) else list(output), derivations, for_vendor, template, systems)
    with garbage_collection_paused():
        planned = plan(site, years=years, set=set, seed=seed, catalogs=catalogs)
        if not isinstance(planned, Plan):
            raise UsageError("--set: found several scenarios, expected one for a report")
        writer = ReportWriter(planned, for_vendor, derivations is not None, template, systems)
        try:
            made = writer.contents(paths)
        except NativeFailure as failure:
            writer = writer.without_charts(FAILED.format(why=str(failure).rstrip(":")))
            made = writer.contents(paths)
    write_all(made)
    return Report(
        planned,
        {str(path): len(content) for path, content in made.items()},
        writer.notes(path.suffix.lower() for path in paths.report),
    )


class Targets(NamedTuple):
    """The files to write."""

    report: list[Path]
    derivations: Path | None


def _checked(
    outputs: Sequence[str | Path],
    derivations: str | Path | None,
    for_vendor: bool,
    template: str | Path | None,
    storage: Sequence[str],
) -> Targets:
    paths = Targets(list(map(Path, outputs)), None if derivations is None else Path(derivations))
    if not paths.report:
        raise UsageError(f"--output is missing, expected a file that ends in {', '.join(FORMATS)}")
    for path in paths.report:
        _check_suffix("--output", path, tuple(FORMATS))
    every = paths.report
    if paths.derivations is not None:
        _check_suffix("--derivations", paths.derivations, DOCUMENTS)
        every = [*every, paths.derivations]
    _refuse_twice(every)
    suffixes = {path.suffix.lower() for path in paths.report}
    if template is not None and suffixes.isdisjoint(FILLED):
        raise UsageError("--template fills a .docx, expected --output with one")
    if storage and for_vendor:
        raise UsageError("--storage: systems are not named to vendors, expected without --for-vendor")
    if storage and suffixes.isdisjoint(DOCUMENTS):
        raise UsageError(
            f"--storage is for the charts of a document, expected --output with one of {', '.join(sorted(DOCUMENTS))}"
        )
    for path in every:
        check_target(path)
    return paths


def _check_suffix(option: str, path: Path, known: Sequence[str]) -> None:
    suffix = path.suffix.lower()
    if suffix not in known:
        raise UsageError(f"{option}: '{path}' ends in '{suffix}', expected {', '.join(known)}{nearest(suffix, known)}")


def _refuse_twice(paths: Sequence[Path]) -> None:
    """Two names of one file would leave only the last content."""
    meant: dict[Path, Path] = {}
    for path in paths:
        first = meant.setdefault(path.resolve(), path)
        if first is not path:
            also = "" if str(first) == str(path) else f", as '{first}' too"
            raise UsageError(f"--output: '{path}' is given twice{also}, expected each file once")


class ReportWriter:
    """Makes each format of one plan; each document is composed once for all its renderings.

    Args:
        planned: the plan.
        for_vendor: whether vendors receive the files.
        apart: whether the derivations are a file of their own.
        template: of the buyer's, for the Word document.
        storage: systems whose ceilings a chart shows.
        no_charts: why there are no charts; empty where they can be rendered.
    """

    def __init__(
        self,
        planned: Plan,
        for_vendor: bool,
        apart: bool,
        template: str | Path | None,
        storage: Sequence[str],
        no_charts: str = "",
    ) -> None:
        self.plan, self.for_vendor, self.apart = planned, for_vendor, apart
        self.template, self.storage = template, storage
        self.no_charts = no_charts or lacking()

    def without_charts(self, why: str) -> ReportWriter:
        """One that leaves the charts out."""
        return ReportWriter(self.plan, self.for_vendor, self.apart, self.template, self.storage, why)

    def contents(self, paths: Targets) -> dict[Path, bytes]:
        """The content of each file.

        Raises:
            NativeFailure: a chart cannot be rendered.
        """
        made = {path: FORMATS[path.suffix.lower()](self) for path in paths.report}
        if paths.derivations is not None:
            made[paths.derivations] = rendered(derivation_document(self.plan), paths.derivations.suffix.lower())
        return made

    def notes(self, suffixes: Iterable[str]) -> tuple[str, ...]:
        """What the template omits or repeats, and that charts are missing."""
        charts = () if set(DOCUMENTS).isdisjoint(suffixes) or not self.no_charts else (NO_CHARTS.format(why=self.no_charts),)
        omitted = () if self.template is None else template_warnings(self.document, self.template)
        return (*omitted, *charts)

    def workbook(self) -> bytes:
        """The workbook: the buyer's, which calculates, or that of vendors, who fill it in."""
        return (vendor_workbook if self.for_vendor else model_workbook)(self.plan)

    def json(self) -> bytes:
        """The plan as JSON; for vendors the requirement lines only."""
        data = vendor_data(self.plan) if self.for_vendor else self.plan.to_dict()
        return json.dumps(all_visible(data), indent=1, ensure_ascii=False, allow_nan=False).encode()

    def csv(self) -> bytes:
        """The requirement lines as CSV."""
        rows = vendor_wording(self.plan) if self.for_vendor else requirement_wording(self.plan.requirements)
        return (as_csv(all_visible(Page("", (), rows))) + "\n").encode()

    @cached_property
    def document(self) -> Document:
        """The document of the plan, charts included."""
        if self.for_vendor:
            return tender_document(self.plan, () if self.no_charts else vendor_charts(self.plan))
        charts = () if self.no_charts else charts_of(self.plan, self.storage)
        return buyer_report(self.plan, charts, derivations=not self.apart)


def rendered(document: Document, suffix: str) -> bytes:
    """A document in one of the formats of `DOCUMENTS`."""
    if suffix == ".md":
        return as_markdown(document).encode()
    if suffix == ".html":
        return as_html(document).encode()
    return as_pdf(as_docx(document, printed=True)) if suffix == ".pdf" else as_docx(document)


#: suffix -> how the file is made
FORMATS: Mapping[str, Callable[[ReportWriter], bytes]] = {
    ".xlsx": ReportWriter.workbook,
    ".docx": lambda writer: as_docx(writer.document, writer.template),
    ".md": lambda writer: rendered(writer.document, ".md"),
    ".html": lambda writer: rendered(writer.document, ".html"),
    ".pdf": lambda writer: as_pdf(as_docx(writer.document, writer.template, printed=True)),
    ".csv": ReportWriter.csv,
    ".json": ReportWriter.json,
}
