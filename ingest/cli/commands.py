"""The commands that ask a function and print its answer: a table. What no table can say has a module of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import cache, partial
from io import StringIO
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

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
from ingest.cli.output import DOCUMENTS, QUIET, VERBOSE, chosen_option, hand_over, tell_written, warn
from ingest.engine.messages import option_error
from ingest.engine.question import arguments_of
from ingest.engine.result import envelope
from ingest.errors import IngestError, RequirementNotMet, UsageError, in_one_line
from ingest.files import refuse_named, write_whole
from ingest.reports.page import FORMATS, SUFFIXES
from ingest.reports.pages import page_for
from ingest.sizing.dataset import USUAL_FORMATS
from ingest.sizing.explain import Explanation
from ingest.text import one_line
from ingest.version import __version__

Function = Callable[..., Any]

progress_on = later("ingest.corpus.types", "Progress")
show_bandwidth = later("ingest.cli.plain", "show_bandwidth")
observed_job = later("ingest.acceptance.observed_job", "observed_job")
as_docx = later("ingest.reports.document.word", "as_docx")
verdict_document, response_document, usage_document = (
    later("ingest.reports.document.plan_documents", f"{name}_document") for name in ("verdict", "response", "usage")
)
kind_of_file, read_yaml = (later("ingest.catalog.yaml_reader", name) for name in ("Kind", "read_yaml"))
part_of_history = later("ingest.accounting.usage", "part")
schema_text, starter = (later("ingest.site.schema", name) for name in ("schema_text", "starter"))
new_site, with_decisions = later("ingest.site.site_file", "new_site"), later("ingest.site.planner", "with_decisions")
lines_page = later("ingest.reports.pages.plan", "lines_page")
sizing_workbook, sweep_workbook, fit_workbook = (
    later("ingest.reports.workbook.small_workbooks", f"{name}_workbook") for name in ("sizing", "sweep", "fit")
)
verdict_workbook, response_workbook, usage_workbook = (
    later("ingest.reports.workbook.judged_workbooks", f"{name}_workbook") for name in ("verdict", "response", "usage")
)
model_workbook = later("ingest.reports.workbook.model_workbook", "model_workbook")
sweep_page = later("ingest.reports.pages.sizing", "sweep_page")


#: What a file of `site` may end in: a site file, a part.
SITE_FILES, PART = (".yaml", ".yml"), ".npz"


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
    """A word in front of the options; several where the name by which help calls it has `…`."""
    return click.argument(name, metavar=called, required=required, nargs=-1 if "…" in (called or "") else 1)


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
        hand_over(Explanation(explain, answer, answer.derivation(explain)), form, output, warnings=answer.warnings)
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


def _fit(
    function: Function, form: str | None, output: Sequence[str], explain: str | None, require: bool, **options: Any
) -> None:
    found = function(**options)
    if explain is not None:
        if len(found.systems) != 1:
            raise UsageError(f"--explain: found {len(found.systems)} systems, expected --storage with one")
        answer, name = found.systems[0].answer, found.systems[0].quantity(explain)
        explanation = Explanation(name, answer, answer.derivation(name))
        hand_over(explanation, form, output, warnings=found.warnings)
    else:
        hand_over(found, form, output, fit_workbook, page=partial(page_for, found, chosen_option(VERBOSE)))
    if require and found.unmet:
        raise RequirementNotMet(found.unmet)


def _plan(function: Function, site: str | None, form: str | None, output: Sequence[str], **options: Any) -> None:
    check, explain, new, schema = (options.pop(name) for name in ("check", "explain", "new", "schema"))
    # What a site file without examples of other sites is made from.
    named = {name: options.pop(name) for name in [*options] if name not in arguments_of(function)}
    if new and schema:
        raise UsageError("--new and --schema are given, expected one of them")
    if schema or new:
        expected = (".json",) if schema else (".yaml", ".yml")
        path = next(iter(output), None)
        if len(output) > 1:
            raise UsageError(f"--output: found '{path}' and '{output[1]}', expected one of them with --new or --schema")
        if path is not None and Path(path).suffix.lower() not in expected:
            raise UsageError(f"--output: '{path}' ends in '{Path(path).suffix}', expected {' or '.join(expected)}")
        given = [name for name, value in named.items() if value is not None]
        for name in ("check", "explain", *(options.keys() - {"catalogs"})):
            if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise option_error(name, ": found with --new or --schema, expected with the site file that --new writes")
        if schema:
            text = schema_text()
        elif not given:
            text = starter()
        elif len(given) < len(named):
            raise UsageError("--new: expected --nodes, --gpu and --models together, or none of them")
        else:
            text = with_decisions(new_site(**named, catalogs=options["catalogs"]), options["catalogs"])
        if site is not None:
            raise UsageError(f"SITE.yaml: found '{site}', expected none with --new or --schema; -o FILE names the new file")
        if path is None:
            click.echo(text, nl=False)
        elif Path(path).exists():
            raise UsageError(f"--output: '{path}' exists already, expected a new file")
        else:
            write_whole(path, text)
            tell_written(path)
        return
    for option, value in named.items():
        if value is not None:
            raise UsageError(f"--{option}: found '{value}' without --new, expected it with --new; a site file has its own")
    if site is None:
        raise UsageError("SITE.yaml is missing, expected a file (`ingest plan --new` writes one)")
    answer = function(site, **options)
    if hasattr(answer, "plans"):
        if explain is not None:
            raise UsageError("--explain: found several scenarios, expected one")
        hand_over(answer, form, output)
    elif explain is not None:
        lines = answer.explain(explain)
        body = {**answer.requirement(explain).to_dict(), "derivation": lines}
        data = envelope(answer.command, body, catalog=answer.catalog)
        hand_over(answer, form, output, page=partial(lines_page, f"Derivation of {explain}", lines), data=lambda: data)
    else:
        hand_over(answer, form, output, model_workbook, page=partial(page_for, answer, chosen_option(VERBOSE)))
    if check and answer.unmet:
        raise RequirementNotMet(answer.unmet)


def _response(
    function: Function, offers: tuple[str, ...], sent: str | None, form: str | None, output: Sequence[str], **options: Any
) -> None:
    for name, holds in (
        ("weights", "weights of targets, such as `R-READ-05: 2`"),
        ("decisions", "decisions on reservations, such as `R-CAP-03: {accept: why}`"),
    ):
        if options[name]:
            options[name] = read_yaml(path := Path(options[name]), kind_of_file(holds, "ingest response --help"))
            if not isinstance(options[name], dict):
                raise IngestError(f"{path}: expected {holds}")
    with redirect_stdout(StringIO()):  # on which openpyxl reports a style that is not there
        compared = function(offers, sent=sent, **options)
    answer = compared.offers[0] if len(offers) == 1 else compared
    # A file is filed: it holds every line.
    page = partial(page_for, answer, chosen_option(VERBOSE) or bool(output))
    against = one_line(Path(sent).name) if sent else "the first offer"
    subtitle = f"Offers against the requirements of {against}. Made by ingest {__version__}."
    documents = {suffix: lambda made=made: made(response_document(page(), subtitle)) for suffix, made in DOCUMENTS.items()}
    hand_over(answer, form, output, lambda _: response_workbook(compared), page=page, documents=documents)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)


def _site(
    function: Function,
    histories: Sequence[str],
    further: Sequence[str],
    form: str | None,
    output: Sequence[str],
    **options: Any,
) -> None:
    sources = (*histories, *further)
    suffixes = {path: Path(path).suffix.lower() for path in output}
    if options["part"]:
        if [*suffixes.values()] != [PART]:
            raise UsageError(f"--part: expected -o with one file, which ends in {PART}")
        write_whole(output[0], part_of_history(*sources, **options))
        tell_written(output[0])
        return
    known = (*SITE_FILES, *DOCUMENTS, *SUFFIXES)
    for path, suffix in suffixes.items():
        if suffix not in known:
            raise UsageError(f"--output: '{path}' ends in '{suffix}', expected {', '.join(known)}")
    answer = function(*sources, **options)
    documents = {each: lambda made=made: made(usage_document(answer)) for each, made in DOCUMENTS.items()}
    files = documents | dict.fromkeys(SITE_FILES, lambda: answer.site)
    sites = [path for path in output if form and suffixes[path] in SITE_FILES]
    hand_over(answer, form, [path for path in output if path not in sites], usage_workbook, documents=files)
    for path in sites:
        write_whole(path, answer.site)
        tell_written(path)


def _function(name: str) -> Function:
    """The public function that a command asks; its module is imported now."""
    called = {"site": "usage"}.get(name, name.replace("-", "_"))
    function: Function = getattr(loaded(ingest._PLACES[called]), called)
    return function


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
                f"or of the output: {', '.join(FORMATS)}. Once for each.",
            ),
            explain_option,
            output_option,
            detail_options,
        ),
        without=("format",),
        run=_dataset,
    ),
    "fit": Asked(
        parts=(
            _word("plan", "[SITE.yaml|plan.json|MODEL]", required=False),
            word_argument("gpu"),
            options_of,
            click.option("--require", is_flag=True, help="Exit with 3 unless every requested system fits."),
            click.option("--explain", metavar="NAME", help="Show the derivation of one quantity of a single system instead."),
            output_options,
        ),
        without=(),
        run=_fit,
    ),
    "plan": Asked(
        parts=(
            _word("site", "SITE.yaml", required=False),
            options_of,
            click.option("--check", is_flag=True, help="Exit with 3 if an `expect` of the file is not met."),
            click.option("--explain", metavar="ID", help="Show the derivation of one requirement instead, such as R-READ-01."),
            click.option("--new", is_flag=True, help="Write a commented site file to start from instead."),
            click.option("--nodes", metavar="N", help="With --new: nodes of the site, for a file without examples."),
            click.option("--gpu", metavar="ID", help="With --new and --nodes: the GPU; its usual node is the node type."),
            click.option("--models", metavar="ID,…", help="With --new and --nodes: the models, a job each."),
            click.option("--schema", is_flag=True, help="Write the JSON Schema of site files, for editors, instead."),
            output_options,
        ),
        run=_plan,
    ),
    "response": Asked(parts=(_word("offers", "OFFER.xlsx…"), options_of, output_options), run=_response),
    "site": Asked(
        parts=(
            click.option("--from", "histories", multiple=True, metavar="HISTORY", help="A history, or -. Repeatable."),
            _word("further", "[HISTORY…]", required=False),
            options_of,
            output_options,
        ),
        run=_site,
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
    asked = COMMANDS[name]
    declaring = _function(name)

    def run(**options: Any) -> None:
        function = _function(name)
        named = [value if isinstance(value, (list, tuple)) else [value] for one, value in options.items() if one != "output"]
        refuse_named(chain.from_iterable(named))
        if asked.run is not None:
            asked.run(function, **options)
        else:
            shown = {one: options.pop(one) for one in ("form", "output", "explain") if one in options}
            _told(asked, function(**options), **shown)

    if name in ingest.OF_A_JOB:
        run = job_file(name, declaring)(run)
    for part in reversed(asked.parts):
        run = (options_of(declaring, *asked.without) if part is options_of else part)(run)
    return click.command(name, cls=BriefCommand)(run)
