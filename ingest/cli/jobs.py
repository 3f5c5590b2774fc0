"""`--job FILE` and `--save-job FILE`: a job asked from a file, and what was asked kept in one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ingest.cli.main import later, tell
from ingest.cli.options import note_output
from ingest.engine.question import arguments_of
from ingest.errors import RequirementNotMet
from ingest.files import write_whole

options_of_job = later("ingest.site.job_file", "options_of_job")
job_of_options = later("ingest.site.job_file", "job_of_options")
#: The commands that ask about a job; `ingest.site.job_file` knows the part of an entry that each reads.
OF_A_JOB = ("bw", "memory", "checkpoint", "goodput", "train", "feed", "offload", "fit", "rl")

#: What is typed -> what a file says in other words, which gives way
RIVALS = {"gpus": ("nodes", "gpus_per_node"), "nodes": ("gpus",), "gpu": ("node",), "node": ("gpu",), "samples": ("tokens",),
          "tokens": ("samples",)}  # fmt: skip


def job_file(command: str, function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a command take its options from a job file; those of the command line override them."""
    arguments = arguments_of(function)

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--job", metavar="FILE", help="A job: an entry of `jobs:` of a site file, or SITE.yaml#jobs.NAME.")
        @click.option("--save-job", metavar="FILE", callback=note_output, help="Write what is asked as such an entry.")
        @wraps(run)
        def asked(job: str | None, save_job: str | None, **options: Any) -> Any:
            source = click.get_current_context().get_parameter_source
            # A word before the options stands for one.
            typed = {
                name: one
                for name, one in options.items()
                if (known := arguments.get(name))
                and (source(name) is ParameterSource.COMMANDLINE or one not in (known.default, ()))
            }
            read = options_of_job(job, command, arguments) if job is not None else {}
            given = {**read, **typed}
            if read.get("set") and typed.get("set"):
                named = {one.partition("=")[0] for one in typed["set"]}
                given["set"] = (*(one for one in read["set"] if one.partition("=")[0] not in named), *typed["set"])
            given = _without_rivals(given, typed)
            unmet = None
            try:
                run(**{**options, **dict.fromkeys(read.keys() - given.keys()), **given})
            except RequirementNotMet as error:  # an answer, too
                unmet = error
            if save_job is not None:
                import yaml

                entry = job_of_options(command, arguments, given)
                write_whole(Path(save_job), yaml.safe_dump(entry, sort_keys=False, allow_unicode=True))
                tell(f"wrote {save_job}")
            if unmet is not None:
                raise unmet

        return asked

    return decorate


def _without_rivals(given: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    """The options without those that say in other words what was typed."""
    gone = {other for name in typed for other in RIVALS.get(name, ()) if other not in typed}
    return {name: one for name, one in given.items() if name not in gone}
