"""Options that several commands share, and output of results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from ingest.engine.result import Answer
from ingest.errors import UsageError, expected_one_of
from ingest.files import write_whole
from ingest.reports.page import FORMATS, Page, format_of, render, suffixes, terminal_width, wrapped
from ingest.reports.pages.sizing import answer_page, explanation_page
from ingest.reports.workbook.small_workbooks import sizing_workbook
from ingest.sizing.explain import Explanation

Command = TypeVar("Command", bound=Callable[..., Any])


class OneOf(click.Choice[str]):
    """A choice whose error names the nearest value."""

    name = "choice"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(f"found '{value}', {expected_one_of(value, self.choices)}", param, ctx)
        return str(value)


def stacked(options: list[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Combine options into one decorator, listed in this order in the help."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def output_options(function: Command) -> Command:
    """Add `--format` and `--output`."""
    return stacked(
        [
            click.option("--format", "form", type=OneOf(FORMATS), help="table, json, csv or markdown. [default: table]"),
            click.option("-o", "--output", metavar="FILE", help="Write to a file; its suffix chooses the format."),
        ]
    )(function)


catalog_option = click.option(
    "--catalogs", multiple=True, metavar="DIR", help="Folder with entries of your own; repeatable, the last one overrides."
)
set_option = click.option("--set", multiple=True, metavar="NAME=VALUE", help="Set any quantity; repeatable.")
explain_option = click.option("--explain", metavar="NAME", help="Show the derivation of one quantity instead.")


def job_options(function: Command) -> Command:
    """Add the options of `bw`, which `explain`, `sweep` and `fit` take too."""
    return stacked(
        [
            click.option("--model", metavar="ID", help="Model, or a YAML file; or a list with commas."),
            click.option("--gpu", metavar="ID", help="GPU, or a YAML file; or a list with commas."),
            click.option("--nodes", metavar="N", help="Nodes: 128, or 1,8,128, or 1..1024*2. [default: 1]"),
            click.option("--gpus-per-node", metavar="N", help="GPUs in a node. [default: as in the GPU's usual node]"),
            click.option("--node", metavar="ID", help="Node type, or a YAML file; sets the GPU too."),
            click.option(
                "--basis",
                default="auto",
                show_default=True,
                metavar="LEVEL",
                help="Evidence level of the rate: auto, measured, transferred, efficiency or peak.",
            ),
            click.option("--protocol", metavar="ID", help="Measurement protocol: mlperf-training, mlperf-storage, …"),
            click.option("--encoding", metavar="ID", help="Encoding of the data set; stored, decoded or touched; ID/decoded."),
            click.option("--precision", metavar="P", help="bf16, fp16, tf32, fp32, fp8, fp4. [default: bf16]"),
            click.option("--efficiency", metavar="F", help="Model FLOPs utilization, a share of the dense peak."),
            click.option("--achieved", metavar="RATE", help="Achieved FLOP/s per GPU, such as '35 TFLOP/s'."),
            click.option("--utilization", metavar="F", help="Accelerator utilization to accept, such as 0.9."),
            click.option("--samples-per-second", metavar="N", help="Samples/s per GPU from your own measurement."),
            click.option(
                "--sample-bytes", metavar="SIZE", help="Bytes of one sample: '2.83 MB', or JSON of measure --samples."
            ),
            click.option(
                "--flops-per-sample",
                metavar="FLOP",
                help="FLOPs of one sample, forward and backward, such as '247 GFLOP'.",
            ),
            click.option(
                "--bytes-per-token",
                metavar="N|FILE",
                help="If text is read instead of token ids: bytes per token, or the JSON of `ingest measure`.",
            ),
            click.option("--cache-hit", metavar="F", help="Share of reads served by a cache on the node."),
            click.option(
                "--scaling",
                default="linear",
                show_default=True,
                metavar="HOW",
                help="Scaling of the rate with the size of the job: linear, weak or strong.",
            ),
            set_option,
            catalog_option,
        ]
    )(function)


def hand_over(
    page: Callable[[], Page],
    data: Callable[[], Mapping[str, Any]],
    form: str | None,
    output: str | None,
    book: Callable[[], bytes] | None = None,
    alternative: str = "",
) -> None:
    """Print a result or write it to a file.

    Args:
        page, data: build the result, as a page or as plain values.
        form, output: `--format` and `--output`.
        book: builds the workbook; None if the command has none.
        alternative: the command that writes a workbook instead.

    Raises:
        UsageError: a workbook is requested of a command that has none.
    """
    chosen = format_of(output, form, book is not None)
    if output is None:
        click.echo(render(page, data, chosen, terminal_width()))
    elif chosen != "xlsx":
        write_whole(output, render(page, data, chosen) + "\n")
    elif book is not None:
        write_whole(output, book())
    else:
        known = ", ".join(suffixes(book=False))
        other = alternative and f", or {alternative}"
        raise UsageError(f"--output: '{output}': this result has no workbook; expected {known}{other}")


def warn(lines: tuple[str, ...] | list[str]) -> None:
    """Print warnings, each once, on standard error."""
    width = terminal_width(sys.stderr)
    for line in lines:
        click.echo("\n".join(wrapped(f"ingest: warning: {line}", "", width)), err=True)


def show_answer(answer: Answer, explain: str | None, form: str | None, output: str | None) -> None:
    """Print an answer, or the derivation of its quantity `explain`; warnings go to standard error."""
    if explain is not None:
        explanation = Explanation.of(answer, explain)
        hand_over(lambda: explanation_page(explanation), explanation.to_dict, form, output)
    else:
        hand_over(lambda: answer_page(answer), answer.to_dict, form, output, lambda: sizing_workbook(answer, answer.title))
    warn(answer.warnings)
