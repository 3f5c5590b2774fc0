"""`ingest catalog`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from ingest.catalog import commands
from ingest.cli.group import COMPARING, of_catalog
from ingest.cli.main import tell
from ingest.cli.options import HELP, kind_held, kind_named, meant_by, one_file, options_of, output_options
from ingest.cli.output import hand_over, tell_written, warn
from ingest.errors import IngestError, expected_one_of, in_one_line, listed, nearest
from ingest.observation.calibration import add_bundle, remove_bundle
from ingest.reports.page import as_text, terminal_width
from ingest.reports.pages.sizing import check_page, settings_page


class CatalogGroup(click.Group):
    """A group whose kinds and entries people type in place of what to do with them."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word in self.commands or word.startswith("-"):
            return super().resolve_command(ctx, args)
        choices = expected_one_of(word, self.commands)
        called = [f"list {kind}" for kind in [kind_named(word)] if kind] or [
            shlex.join([one.split()[1], *args[1:]]) for one in meant_by("commands", word) if one.startswith("catalog ")
        ]
        if called:
            meant = of_catalog("compare", "compare", args[1:]) if word in COMPARING else f"catalog {called[0]}"
            choices = choices.partition(";")[0] + f"; did you mean 'ingest {meant}'?"
        elif "did you mean" not in choices:
            choices += f"; `ingest catalog show {word}` shows an entry"
        raise click.UsageError(f"no such command 'catalog {word}', {choices}", ctx)


@click.group("catalog", cls=CatalogGroup, context_settings={"help_option_names": ["-h", "--help"]}, help=HELP["catalog"])
def command() -> None:
    pass


@command.command("list")
@click.argument("kind", required=False)
@click.argument("matching", metavar="[WORD]", required=False, default="")
@options_of(commands.list)
@output_options
def list_(kind: str | None, matching: str, form: str | None, output: Sequence[str], catalogs: tuple[str, ...]) -> None:
    """List the entries of a kind, or of all of them.

    KIND is models, gpus, nodes, storage, protocols, families, scaling, optimizers, recipes, failures, corpora, pipelines,
    formats, decoders, layouts or architectures. WORD keeps entries whose names have it: `ingest catalog list models qwen`, or
    of all kinds `ingest catalog list qwen`.
    """
    word = kind if kind and not matching and not kind_named(kind) and not nearest(kind, commands.LISTED) else None
    hand_over(commands.list(None if word else kind, word or matching, catalogs=catalogs), form, output)


@command.command("show")
@click.argument("words", nargs=-1, required=True, metavar="[KIND] ID")
@options_of(commands.show)
@output_options
def show(words: tuple[str, ...], form: str | None, output: Sequence[str], catalogs: tuple[str, ...]) -> None:
    """Show an entry: each value with unit, source and grade, and what is missing."""
    if len(words) == 2 and not kind_named(words[0]) and kind_held(" ".join(words)):
        words = (" ".join(words),)
    if len(words) > 2 or (len(words) == 2 and not kind_named(words[0]) and kind_held(words[0])):
        raise click.UsageError(f"found {len(words)} words, expected ID or KIND ID, such as `ingest catalog show {words[-1]}`")
    found = commands.show(words[-1], kind=words[0] if len(words) == 2 else None, catalogs=catalogs)
    hand_over(found, form, output)


@command.command("compare")
@click.argument("names", nargs=-1, required=True, metavar="ID…")
@options_of(commands.compare)
@output_options
def compare(names: tuple[str, ...], form: str | None, output: Sequence[str], **options: Any) -> None:
    """Compare storage systems: consistency, failures, recovery, metadata, protection and rates, with sources.

    \b
    ingest catalog compare lustre ceph hdfs cockroachdb
    ingest catalog compare nvme-gen5 lustre --latency driver=9us,block=6us,device=13us --threads 256
    """
    hand_over(commands.compare([one for one in names if not meant_by("filling", one.lower())], **options), form, output)


@command.command("check")
@click.argument("folder", required=False)
@options_of(commands.check)
def check(folder: str | None, catalogs: tuple[str, ...]) -> None:
    """Check every file of a folder of your own, or of all catalogs in use."""
    report = commands.check(folder, catalogs=catalogs)
    for line in report.problems:
        click.echo(line)
    if report.problems:
        count = len(report.problems)
        raise IngestError(f"catalog check: {count} problem{'s' if count > 1 else ''} in {report.files} files")
    click.echo(as_text(check_page(report), terminal_width()))


@command.command("path")
@options_of(commands.path)
@click.option("-v", "--verbose", is_flag=True, help="Print where each folder comes from, and the other settings in force.")
def path(catalogs: tuple[str, ...], verbose: bool) -> None:
    """Print the folders in use, the nearest overlay first."""
    if verbose:
        click.echo(as_text(settings_page(commands.settings(catalogs=catalogs)), terminal_width()))
    else:
        click.echo("\n".join(map(str, commands.path(catalogs=catalogs))))


@command.command("new")
@click.argument("kind")
@click.argument("name")
@one_file("-o", "--output", metavar="FILE", help="Where to write it. [default: NAME.yaml here]")
def new(kind: str, name: str, output: str | None) -> None:
    """Write a commented template for a model, GPU, node, corpus, pipeline or format of your own."""
    tell_written(commands.new(kind, name, output))


@command.command("add")
@click.argument("bundle", metavar="BUNDLE")
@options_of(add_bundle)
def add(bundle: str, **options: Any) -> None:
    """Take a bundle, an observed job of others, into your catalogs, after its entries have passed the check.

    \b
    ingest catalog add bundle.json
    """
    made = add_bundle(bundle, **options)
    warn(made.warnings)
    tell(in_one_line(f"added {len(made.files)} files: {listed(made.files)}; take them out: ingest catalog remove {bundle}"))


@command.command("remove")
@click.argument("bundle", metavar="BUNDLE|ID")
@options_of(remove_bundle)
def remove(bundle: str, **options: Any) -> None:
    """Take the entries of a bundle out of your catalogs: by its file, or by the id of its source.

    \b
    ingest catalog remove bundle.json
    ingest catalog remove own-0123456789ab
    """
    tell(in_one_line(f"taken out of {listed(map(str, remove_bundle(bundle, **options)))}"))
