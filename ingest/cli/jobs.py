"""`--job FILE` and `--save-job FILE`: a job asked from a file, and what was asked kept in one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ingest import JOB
from ingest.cli.main import later, tell
from ingest.cli.options import note_output
from ingest.engine.question import arguments_of
from ingest.errors import RequirementNotMet
from ingest.files import write_whole

asked_from = later("ingest.site.job_file", "asked_from")
job_of_options = later("ingest.site.job_file", "job_of_options")


def job_file(command: str, function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a command take its options from a job file; those of the command line override them."""
    arguments = arguments_of(function)

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--job", metavar="FILE", help=JOB)
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
            given = asked_from(job, command, arguments, typed) if job is not None else typed
            unmet = None
            try:
                run(**{**options, **given})
            except RequirementNotMet as error:  # an answer, too
                unmet = error
            if save_job is not None:
                import yaml

                entry = job_of_options(command, arguments, {name: one for name, one in given.items() if one is not None})
                write_whole(Path(save_job), yaml.safe_dump(entry, sort_keys=False, allow_unicode=True))
                tell(f"wrote {save_job}")
            if unmet is not None:
                raise unmet

        return asked

    return decorate
