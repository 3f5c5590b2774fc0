"""The commands that ask a function and print its answer: a table. What no table can say has a module of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import click

import ingest
from ingest.cli.main import later, loaded, tell
from ingest.cli.options import (
    BriefCommand,
    detail_options,
    explain_option,
    format_option,
    job_file,
    model_alone,
    model_argument,
    one_file,
    options_of,
    output_option,
    output_options,
    word_argument,
)
from ingest.cli.output import QUIET, chosen_option, hand_over, tell_written, warn
from ingest.errors import IngestError, RequirementNotMet, UsageError, in_one_line
from ingest.reports.page import FORMATS
from ingest.sizing.dataset import USUAL_FORMATS
from ingest.sizing.explain import Explanation

Function = Callable[..., Any]

progress_on = later("ingest.corpus.types", "Progress")
show_bandwidth = later("ingest.cli.plain", "show_bandwidth")
observed_job = later("ingest.acceptance.observed_job", "observed_job")
as_docx = later("ingest.reports.document.word", "as_docx")
verdict_document = later("ingest.reports.document.page_document", "verdict_document")
sizing_workbook = later("ingest.reports.workbook.small_workbooks", "sizing_workbook")
sweep_page = later("ingest.reports.pages.sizing", "sweep_page")
sweep_workbook = later("ingest.reports.workbook.small_workbooks", "sweep_workbook")
verdict_workbook = later("ingest.reports.workbook.judged_workbooks", "verdict_workbook")


class Asked(NamedTuple):
    """A command, and the function of the same name that it asks."""

    #: its words and options in the order of its help; `options_of` stands for those that the function declares
    parts: tuple[Callable[..., Any], ...] = (model_argument, options_of, explain_option, output_options)
    without: tuple[str, ...] = ("model",)  # those of them that another part declares
    book: Callable[..., bytes] | None = sizing_workbook  # makes the workbook, if it has one
    #: the warnings of its answer, where they are no attribute of that name
    cautions: Callable[[Any], Sequence[str]] | None = None
    needs: tuple[str, str] = ("", "")  # a result without which there is no answer, and the one whose absence says why
    #: asks the function and prints the answer, for a command that does it in a way of its own
    run: Callable[..., None] | None = None


def _word(name: str, called: str | None = None, required: bool = True) -> Callable[[Any], Any]:
    """A word in front of the options; several where the name by which help calls it ends in `…`."""
    return click.argument(name, metavar=called, required=required, nargs=-1 if (called or "").endswith("…") else 1)


def _told(asked: Asked, answer: Any, form: str | None, output: Sequence[str] = (), explain: str | None = None) -> None:
    """Print an answer, or the derivation of its quantity `explain`.

    Raises:
        IngestError: the result is unknown that the command is asked for.
        RequirementNotMet: a requirement is not met.
    """
    unmet, (needed, why) = getattr(answer, "unmet", ""), asked.needs
    if needed and needed in answer.unknown and not unmet:
        raise IngestError(answer.unknown[why])
    if explain is not None:
        hand_over(Explanation.of(answer, explain), form, output, warnings=answer.warnings)
    else:
        hand_over(answer, form, output, asked.book, warnings=asked.cautions and asked.cautions(answer))
    if unmet:
        raise RequirementNotMet(unmet)


def _sweep(function: Function, form: str | None, output: Sequence[str], **options: Any) -> None:
    answer = function(**options)
    if answer.incomplete:
        raise IngestError(answer.incomplete)
    if not output and form == "csv":
        click.echo(answer.to_csv(), nl=False)
        warn(answer.warnings)
        return
    page = partial(sweep_page, answer, most=10**9) if output else None
    files = {".csv": answer.to_csv, ".parquet": answer.to_parquet}
    hand_over(answer, form, output, sweep_workbook, page=page, documents=files)


def _measure(function: Function, paths: tuple[str, ...], form: str | None, output: Sequence[str], **options: Any) -> None:
    part = options["part"]
    if part is not None and (len(output) != 1 or form is not None):
        raise UsageError("--part: " + ("found --format, expected none" if form else "expected the file of the part, -o FILE"))
    try:
        answer = function(*paths, **options, progress=None if chosen_option(QUIET) else progress_on(sys.stderr))
    except KeyboardInterrupt as interrupted:
        if known := getattr(interrupted, "known", None):
            hand_over(known, form, output, warnings=())
        raise
    if part is not None:
        answer.write(output[0])
        if not chosen_option(QUIET):
            tell(in_one_line(answer.title))
        tell_written(*output)
        return
    hand_over(answer, form, output)
    if answer.unmet:
        raise IngestError(answer.unmet)


def _dataset(function: Function, words: tuple[str, ...], **options: Any) -> None:
    """Part the format of the data set from that of the output: both options are `--format`."""
    kinds = {"data set": [one for one in words if one not in FORMATS], "output": [one for one in words if one in FORMATS]}
    for kind, found in kinds.items():
        if len(found) > 1:
            raise UsageError(f"--format: found {' and '.join(found)}, expected one format of the {kind}")
    container, form = (next(iter(found), None) for found in kinds.values())
    output, explain = options.pop("output"), options.pop("explain")
    _told(COMMANDS["dataset"], function(format=container, **options), form, output, explain)


def _report(function: Function, **options: Any) -> None:
    answer = function(**options)
    warn(answer.warnings)
    tell_written(*answer.files)


def _accept(function: Function, form: str | None, **options: Any) -> None:
    plan, observed, times = (options.pop(name) for name in ("plan", "from_observation", "times"))
    if (plan is None) is (observed is None):
        raise click.UsageError("expected SITE.yaml, plan.json or --from-observation FILE, one of them")
    own = {one: options[one] for one in ("folder", "force")}
    hand_over(function(plan, **options) if observed is None else observed_job(observed, times=times, **own), form, ())


def _verdict(function: Function, form: str | None, output: Sequence[str], partial: bool, **options: Any) -> None:
    answer = function(**options)
    hand_over(answer, form, output, verdict_workbook, documents={".docx": lambda: as_docx(verdict_document(answer))})
    if answer.unmet or (answer.incomplete and not partial):
        raise RequirementNotMet(answer.unmet or answer.incomplete)


def _calibrate(function: Function, observations: tuple[str, ...], form: str | None, **options: Any) -> None:
    _told(COMMANDS["calibrate"], function(*observations, **options), form)
    if options["bundle"] is not None:
        tell_written(options["bundle"])


#: command -> what it asks
COMMANDS: dict[str, Asked] = {
    **dict.fromkeys(("checkpoint", "goodput", "train", "feed", "offload"), Asked()),
    "bw": Asked(parts=(model_argument, options_of, output_options), run=lambda _, **options: show_bandwidth(**options)),
    "model": Asked(
        parts=(_word("source", "ID|config.json|FOLDER", required=False), options_of, output_options), without=("source",)
    ),
    "memory": Asked(needs=("model_state_bytes_per_gpu", "gpus_to_hold")),
    "rl": Asked(parts=(model_alone, options_of, explain_option, output_options)),
    "sweep": Asked(parts=(_word("axes", "NAME=RANGE…", required=False), options_of, output_options), without=(), run=_sweep),
    "explain": Asked(parts=(_word("name"), model_argument, options_of, output_options), book=None),
    "measure": Asked(
        parts=(
            _word("paths", "PATH…"),
            click.option(
                "--exact/--sample", default=None, help="Count everything, or a sample. [default: everything up to 30 s]"
            ),
            options_of,
            output_options,
        ),
        without=("exact", "progress"),
        run=_measure,
    ),
    "dataset": Asked(
        parts=(
            word_argument("corpus"),
            options_of,
            click.option(
                "--format",
                "words",
                multiple=True,
                metavar="ID",
                help="Format of the data set: megatron, mds, parquet, … "
                f"[default: {USUAL_FORMATS['tokens']}, {USUAL_FORMATS['samples']}]; "
                f"or of the output: {', '.join(FORMATS)}. Repeatable.",
            ),
            explain_option,
            output_option,
            detail_options,
        ),
        without=("format",),
        run=_dataset,
    ),
    "vectors": Asked(parts=(options_of, explain_option, output_options), without=()),
    "diff": Asked(
        parts=(_word("before", "BEFORE.json"), _word("after", "AFTER.json"), output_options),
        book=None,
        cautions=attrgetter("notes"),
    ),
    "report": Asked(parts=(_word("site", "SITE.yaml"), options_of, detail_options), run=_report),
    "accept": Asked(
        parts=(
            _word("plan", "SITE.yaml|plan.json", required=False),
            click.option(
                "--from-observation",
                metavar="FILE",
                help="Write the jobs of an observed job instead: the JSON of `ingest observe`.",
            ),
            click.option("--times", default="1", show_default=True, metavar="N", help="Copies of the observed job."),
            one_file("-o", "--output", "folder", required=True, metavar="DIR", help="New or empty folder for the tests."),
            options_of,
            format_option,
            detail_options,
        ),
        run=_accept,
    ),
    "verdict": Asked(
        parts=(
            _word("folder", "DIR"),
            _word("results", "RESULTS…"),
            click.option("--partial", is_flag=True, help="Exit with 0 although mandatory requirements have no result yet."),
            options_of,
            output_options,
        ),
        run=_verdict,
    ),
    "validate": Asked(parts=(_word("name", "[SET]", required=False), options_of, output_options), book=None),
    "measure-storage": Asked(parts=(_word("path", "PATH"), options_of, output_options), book=None),
    "calibrate": Asked(
        parts=(_word("observations", "OBSERVATION…"), options_of, format_option, detail_options), without=(), run=_calibrate
    ),
    "page": Asked(parts=(options_of, detail_options), run=lambda function, **options: tell_written(function(**options).path)),
}


@cache
def command(name: str) -> click.Command:
    """A command of the table; the module of its function is imported now."""
    asked, called = COMMANDS[name], name.replace("-", "_")
    module = loaded(ingest._PLACES[called])

    def run(**options: Any) -> None:
        function = getattr(module, called)
        if asked.run is not None:
            asked.run(function, **options)
        else:
            shown = {one: options.pop(one) for one in ("form", "output", "explain") if one in options}
            _told(asked, function(**options), **shown)

    if name in ingest.OF_A_JOB:
        run = job_file(name, getattr(module, called))(run)
    for part in reversed(asked.parts):
        run = (options_of(getattr(module, called), *asked.without) if part is options_of else part)(run)
    return click.command(name, cls=BriefCommand)(run)
