"""Options that several commands share, and how a command hands over its result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from ingest.engine.result import Answer
from ingest.errors import UsageError, nearest
from ingest.files import write_whole
from ingest.reports.page import FORMATS, Page, format_of, render, suffixes, terminal_width, wrapped
from ingest.reports.pages.sizing import answer_page, explanation_page
from ingest.reports.workbook.small_workbooks import sizing_workbook
from ingest.sizing.explain import Explanation

Command = TypeVar("Command", bound=Callable[..., Any])


class OneOf(click.Choice[str]):
    """A choice whose refusal names the nearest value."""

    name = "choice"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            known = ", ".join(self.choices)
            self.fail(f"found '{value}', expected one of {known}{nearest(str(value), self.choices)}", param, ctx)
        return str(value)


def stacked(options: list[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Several options as one decorator, shown in this order."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def output_options(function: Command) -> Command:
    """`--format` and `--output`."""
    return stacked(
        [
            click.option("--format", "form", type=OneOf(FORMATS), help="table, json, csv or markdown. [default: table]"),
            click.option("-o", "--output", metavar="FILE", help="Write to a file; its suffix chooses the format."),
        ]
    )(function)


def catalog_option(function: Command) -> Command:
    """`--catalogs`."""
    return click.option(
        "--catalogs", multiple=True, metavar="DIR", help="Folder with entries of your own; repeatable, the last one wins."
    )(function)


def question_options(function: Command) -> Command:
    """The options of `bw`, which `explain` and `sweep` take too."""
    return stacked(
        [
            click.option("--model", metavar="ID", help="Model, or a YAML file; a list with commas asks for several."),
            click.option("--gpu", metavar="ID", help="GPU, or a YAML file; a list with commas asks for several."),
            click.option("--nodes", metavar="N", help="Nodes: 128, or 1,8,128, or 1..1024*2. [default: 1]"),
            click.option("--gpus-per-node", metavar="N", help="GPUs in a node. [default: as in the GPU's usual node]"),
            click.option("--node", metavar="ID", help="Node type, or a YAML file; names the GPU too."),
            click.option(
                "--basis",
                default="auto",
                show_default=True,
                metavar="RUNG",
                help="auto, measured, transferred, efficiency or peak.",
            ),
            click.option("--protocol", metavar="ID", help="Whose measurement: mlperf-training, mlperf-storage, …"),
            click.option("--encoding", metavar="ID", help="Encoding of the data set; stored, decoded or touched; ID/decoded."),
            click.option("--precision", metavar="P", help="bf16, fp16, tf32, fp32, fp8, fp4. [default: bf16]"),
            click.option("--efficiency", metavar="F", help="Model FLOPs utilization, a share of the dense peak."),
            click.option("--achieved", metavar="RATE", help="Achieved FLOP/s per GPU, such as '35 TFLOP/s'."),
            click.option("--utilization", metavar="F", help="Accelerator utilization that you accept, such as 0.9."),
            click.option("--samples-per-second", metavar="N", help="Samples/s per GPU, as you measured it."),
            click.option(
                "--sample-bytes", metavar="SIZE", help="Bytes of one sample: '2.83 MB', or JSON of measure --samples."
            ),
            click.option("--flops-per-sample", metavar="FLOP", help="Forward and backward pass, such as '247 GFLOP'."),
            click.option(
                "--bytes-per-token",
                metavar="N|FILE",
                help="Text is read, not ids: bytes that a token stands for, or the JSON of `ingest measure`.",
            ),
            click.option("--cache-hit", metavar="F", help="Share of reads that a cache on the node serves."),
            click.option(
                "--scaling",
                default="linear",
                show_default=True,
                metavar="HOW",
                help="linear, weak or strong: what larger jobs keep of the rate.",
            ),
            click.option("--set", multiple=True, metavar="NAME=VALUE", help="Give any quantity a value; repeatable."),
            catalog_option,
        ]
    )(function)


def hand_over(
    page: Callable[[], Page],
    data: Callable[[], Mapping[str, Any]],
    form: str | None,
    output: str | None,
    book: Callable[[], bytes] | None = None,
    elsewhere: str = "",
) -> None:
    """Print a result or write it to a file.

    Args:
        page, data: make the result, as a page or as plain values.
        form, output: `--format` and `--output`.
        book: makes the workbook where the command has one.
        elsewhere: what writes a workbook in its place, where it has none.
    """
    chosen = format_of(output, form, book is not None)
    if output is not None and chosen == "xlsx":
        if book is None:
            raise UsageError(
                f"--output: '{output}' asks for a workbook, which this answer has not; "
                f"expected {', '.join(suffixes(book=False))}{elsewhere and f', or {elsewhere}'}"
            )
        write_whole(output, book())
        return
    if output is not None:
        write_whole(output, render(page, data, chosen) + "\n")
        return
    click.echo(render(page, data, chosen, terminal_width()))


def warn(lines: tuple[str, ...] | list[str]) -> None:
    """Print warnings, each once, on standard error."""
    width = terminal_width(sys.stderr)
    for line in lines:
        click.echo("\n".join(wrapped(f"ingest: warning: {line}", "", width)), err=True)


def show_answer(answer: Answer, explain: str | None, form: str | None, output: str | None) -> None:
    """Print an answer, or how the quantity `explain` of it came about; warnings go to standard error."""
    if explain is not None:
        told = Explanation.of(answer, explain)
        hand_over(lambda: explanation_page(told), told.to_dict, form, output)
    else:
        hand_over(lambda: answer_page(answer), answer.to_dict, form, output, lambda: sizing_workbook(answer, answer.title))
    warn(answer.warnings)
