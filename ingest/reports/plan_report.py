"""`ingest report`: a plan as workbook, document, table or data; all files are made before any is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from ingest.configuration import decimal_units
from ingest.corpus.native_calls import NativeFailure
from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import filled, option
from ingest.engine.result import SCHEMA, DataFrame
from ingest.errors import UsageError, nearest
from ingest.files import check_target, garbage_collection_paused, refuse_twice, write_all
from ingest.reports.charts.chart import FAILED, lacking
from ingest.reports.charts.planning import charts_of, vendor_charts
from ingest.reports.document.derivations import derivation_document
from ingest.reports.document.markup import as_html, as_markdown
from ingest.reports.document.plan_documents import buyer_report, tender_document
from ingest.reports.document.word import as_docx, as_pdf, template_warnings
from ingest.reports.page import Page, as_csv
from ingest.reports.pages.plan import requirement_wording
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.vendor_workbook import vendor_workbook
from ingest.site.plan import Plan
from ingest.site.planner import SiteOptions, YearsOptions, plan
from ingest.site.service import refuse_undecided
from ingest.storage.fit import fit_plan
from ingest.text import all_visible
from ingest.version import FORMAT

if TYPE_CHECKING:
    from ingest.engine.value import Quantity
    from ingest.reports.document.markup import Document
    from ingest.storage.fit_result import Fits


#: Formats of a document, and of all files of a report.
DOCUMENTS = (".docx", ".md", ".html", ".pdf")
FORMATS = (".xlsx", *DOCUMENTS, ".csv", ".json")
#: Those that a template of the buyer's fills.
FILLED = (".docx", ".pdf")
#: Note on a document whose charts cannot be rendered.
NO_CHARTS = "the document has no charts, {why}"
#: Parts of a requirement that are the buyer's own, and that vendors do not receive.
INTERNAL = ("computed", "low", "high", "derivation", "assumptions", "remark", "limited_by")


@dataclass(frozen=True, repr=False, eq=False)
class Report(InteractiveResult):
    """What was written, and from what."""

    plan: Plan  # the plan
    files: Mapping[str, int]  # path and size of each file
    notes: tuple[str, ...] = ()  # what a template leaves out or repeats

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

    def to_frame(self) -> DataFrame:
        """One row per requirement."""
        return self.plan.to_frame()


class PaperOptions(TypedDict, total=False):
    """Whom the files are for, and what is in them."""

    for_vendor: Annotated[
        bool, option("Write what vendors receive, without assumptions, ranges, notes and derivations.", default=False)
    ]
    derivations: Annotated[
        str | Path | None,
        option("File for the derivation of each value, .docx, .md, .html or .pdf; the report then omits them.", "FILE"),
    ]
    template: Annotated[
        str | Path | None,
        option(
            "A .docx of the buyer's, for the .docx and the .pdf. Its fields are {{all}} for the whole document, the name of a "
            "section such as {{capacity}}, a single value such as {{title}}, and the id of each requirement, such as "
            "{{R-READ-01}}, for its value.",
            "FILE.docx",
        ),
    ]
    storage: Annotated[
        str | Sequence[str],
        option(
            "Ids of the storage catalog, as fit takes them: systems whose ceilings the chart of bandwidth against nodes shows, "
            "and whose flips a table; for the buyer's .docx, .md, .html, .pdf and .xlsx.",
            "ID…",
            many=True,
            default=(),
        ),
    ]
    offers: Annotated[
        str | Path | None,
        option("Offers whose flips a table shows instead of those of systems: the JSON that ingest response wrote.", "FILE"),
    ]


class ReportOptions(PaperOptions, YearsOptions, SiteOptions, total=False):
    """The options of `report`."""


@decimal_units()
def report(
    site: str | Path | Mapping[str, Any],
    *,
    output: Annotated[str | Path | Sequence[str | Path], option("File to write or replace; repeatable.", "FILE", many=True)],
    **options: Unpack[ReportOptions],
) -> Report:
    """Write the buyer's own report of a plan, or the documents of an RFP.

    Args:
        site: a site file, as `plan` takes it.
        output: files to write; their suffixes choose the formats: .xlsx, .docx, .md, .html, .pdf, .csv, .json.

    Raises:
        UsageError: an unknown suffix, two files of one name, a template without a .docx.
        RequirementNotMet: decisions of the buyer are open, and vendors would receive the files.
        IngestError: a site that cannot be, a library or a program that is not installed, a file that cannot be written.
    """
    asked = filled(ReportOptions, options, "report")
    for_vendor, template, storage = asked["for_vendor"], asked["template"], asked["storage"]
    systems = [storage] if isinstance(storage, str) else list(storage)
    paths = [Path(one) for one in ([output] if isinstance(output, (str, Path)) else output)]
    apart = None if asked["derivations"] is None else Path(asked["derivations"])
    _check(paths, apart, for_vendor, template, {"--storage": bool(systems), "--offers": asked["offers"] is not None})
    with garbage_collection_paused():
        planned = plan(
            site, years=asked["years"], seed=asked["seed"], root=asked["root"], catalogs=asked["catalogs"], set=asked["set"]
        )
        if not isinstance(planned, Plan):
            raise UsageError("--set: found several scenarios, expected one for a report")
        if for_vendor:
            refuse_undecided(planned.decided)
        writer = ReportWriter(planned, for_vendor, apart, template, systems, asked["offers"], lacking())
        try:
            made = writer.contents(paths)
        except NativeFailure as failure:
            why = FAILED.format(why=str(failure).rstrip(":"))
            writer = replace(writer, no_charts=why)
            made = writer.contents(paths)
    write_all(made)
    notes = () if template is None else template_warnings(writer.document, template)
    if for_vendor and (left := len(planned.open_questions)):
        notes = (*notes, f"a draft: {left} questions to the buyer are open; `ingest plan --verbose` lists them")
    if writer.no_charts and any(path.suffix.lower() in DOCUMENTS for path in paths):
        notes = (*notes, NO_CHARTS.format(why=writer.no_charts))
    return Report(planned, {str(path): len(content) for path, content in made.items()}, notes)


def _check(
    outputs: Sequence[Path], derivations: Path | None, for_vendor: bool, template: str | Path | None, named: Mapping[str, bool]
) -> None:
    """Refuse files and options that do not go together, before anything is computed."""
    if not outputs:
        raise UsageError(f"--output is missing, expected a file that ends in {', '.join(FORMATS)}")
    every: list[tuple[str, Path, Sequence[str]]] = [("--output", path, FORMATS) for path in outputs]
    every += [("--derivations", derivations, DOCUMENTS)] if derivations is not None else []
    for asked, path, known in every:
        suffix = path.suffix.lower()
        if suffix not in known:
            raise UsageError(f"{asked}: '{path}' ends in '{suffix}', expected {', '.join(known)}{nearest(suffix, known)}")
    refuse_twice(path for _, path, _ in every)
    suffixes = {path.suffix.lower() for path in outputs}
    if template is not None and suffixes.isdisjoint(FILLED):
        raise UsageError("--template fills a .docx, expected --output with one")
    for option_given in (name for name, given in named.items() if given):
        if for_vendor:
            raise UsageError(f"{option_given}: systems are not named to vendors, expected without --for-vendor")
        if suffixes.isdisjoint((".xlsx", *DOCUMENTS)):
            expected = ", ".join(sorted((".xlsx", *DOCUMENTS)))
            raise UsageError(f"{option_given} is for a document or a workbook, expected --output with one of {expected}")
    for _, path, _ in every:
        check_target(path)


@dataclass
class ReportWriter:
    """Makes each format of one plan; each document is composed once for all its renderings."""

    plan: Plan  # the plan
    for_vendor: bool  # whether vendors receive the files
    derivations: Path | None  # the file of the derivations, where they have one of their own
    template: str | Path | None  # of the buyer's, for the Word document
    storage: Sequence[str]  # systems whose ceilings a chart shows
    offers: str | Path | None  # JSON of the offers that are turned
    no_charts: str  # why there are no charts; empty where they can be rendered

    def contents(self, paths: Sequence[Path]) -> dict[Path, bytes]:
        """The content of each file. Raises NativeFailure: a chart cannot be rendered."""
        made = {path: self._content(path.suffix.lower()) for path in paths}
        if self.derivations is not None:
            made[self.derivations] = rendered(derivation_document(self.plan), self.derivations.suffix.lower())
        return made

    def _content(self, suffix: str) -> bytes:
        """The file of a suffix; vendors receive requirement lines as their statements say them, and a workbook to fill in."""
        if suffix == ".xlsx":
            return vendor_workbook(self.plan) if self.for_vendor else model_workbook(self.plan, self.found)
        if suffix == ".json":
            data = self.plan.to_dict()
            if self.for_vendor:
                lines = [one.to_dict() for one in self.plan.vendor_lines]
                stated = [{name: part for name, part in line.items() if name not in INTERNAL} for line in lines]
                head = {"schema": SCHEMA, "format": FORMAT, "command": "report", "for": "vendor", "site": self.plan.site.name}
                deciding = {name: data[name] for name in ("years", "award") if data.get(name)}
                data = {**head, "title": self.plan.tender_title, **deciding, "requirements": stated}
            return json.dumps(all_visible(data), indent=1, ensure_ascii=False, allow_nan=False).encode()
        if suffix == ".csv":
            rows = requirement_wording(self.plan.vendor_lines if self.for_vendor else self.plan.requirements)
            if self.for_vendor:
                kept = [place for place, head in enumerate(rows[0]) if head not in INTERNAL]
                titles = ("title", *[self.plan.tender_title] * (len(rows) - 1))
                rows = tuple((*(row[place] for place in kept), title) for row, title in zip(rows, titles, strict=True))
            return (as_csv(all_visible(Page("", (), rows))) + "\n").encode()
        return rendered(self.document, suffix, self.template)

    @cached_property
    def document(self) -> Document:
        """The document of the plan, charts included."""
        if self.for_vendor:
            return tender_document(self.plan, () if self.no_charts else vendor_charts(self.plan))
        charts = () if self.no_charts else charts_of(self.plan, self.storage)
        return buyer_report(self.plan, charts, self.derivations is None, self.found)

    @cached_property
    def found(self) -> Fits | None:
        """The systems named, with what would change the verdict on each; None where none is named."""
        return fit_plan(self.plan, self.storage, self.offers) if self.storage or self.offers else None


def rendered(document: Document, suffix: str, template: str | Path | None = None) -> bytes:
    """A document in one of the formats of `DOCUMENTS`; Word and PDF may fill a template."""
    if suffix == ".md":
        return as_markdown(document).encode()
    if suffix == ".html":
        return as_html(document).encode()
    return as_pdf(as_docx(document, template, printed=True)) if suffix == ".pdf" else as_docx(document, template)
