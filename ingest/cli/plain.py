"""Lines of `ingest bw` spelled in full, read without click, whose import takes as long as the answer of a short command.

Any other line (help, `--option=value`, several short options in one, a slip) is left to click, which alone refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

from ingest.cli.main import later
from ingest.cli.output import QUIET, VERBOSE, choose, forget_choices, hand_over
from ingest.configuration import forget_configuration
from ingest.engine.question import arguments_of
from ingest.errors import IngestError, UsageError
from ingest.files import note_outputs
from ingest.reports.page import FORMATS
from ingest.sizing.bandwidth import Scenarios, bw

sizing_workbook = later("ingest.reports.workbook.small_workbooks", "sizing_workbook")

#: Options of any command that prints a result: how much it prints, its format, its file.
DETAIL = {"-v": VERBOSE, "--verbose": VERBOSE, "-q": QUIET, "--quiet": QUIET}
#: Options that the words in front stand for.
WORDS = ("model", "gpu")


def plain_options(words: Sequence[str], function: Callable[..., Any]) -> dict[str, Any] | None:
    """The options of a command that prints the result of a public function; None for a line that click has to read.

    The line is that behind the name of the command; its first words may be the model and the GPU.
    """
    arguments = arguments_of(function)
    repeatable = ["output", *(name for name, one in arguments.items() if one.declared is not None and one.declared.many)]
    given = {name: one.default for name, one in arguments.items()} | dict.fromkeys(repeatable, ())
    given |= {"form": None, "output": ()}
    names = {f"--{name.replace('_', '-')}": name for name in given} | {"--format": "form", "-o": "output"}
    del names["--form"]
    left, seen, detail = list(words), set[str](), []
    front = [*takewhile(lambda word: word[:1] not in ("", "-"), left)]
    if len(front) > len(WORDS):
        return None
    left[: len(front)] = [part for name, word in zip(WORDS, front, strict=False) for part in (f"--{name}", word)]
    while left:
        word = left.pop(0)
        if word in DETAIL:
            detail.append(DETAIL[word])
            continue
        name = names.get(word)
        if name is None or given[name] is False or not left or left[0][:1] in ("", "-"):
            return None
        if name in repeatable:
            given[name] = (*given[name], left.pop(0))
        elif name in seen:
            return None
        else:
            given[name] = left.pop(0)
            seen.add(name)
    precisions = getattr(arguments["precision"].declared, "choices", ())
    if given["form"] not in (None, *FORMATS) or given["precision"] not in (None, *precisions):
        return None
    for one in detail:
        choose(one)
    note_outputs(given["output"])
    return given


def show_bandwidth(form: str | None, output: Sequence[str], **options: Any) -> None:
    """Print the read bandwidth of one job or of several."""
    answer = bw(**options)
    if answer.incomplete:
        raise IngestError(answer.incomplete)
    if isinstance(answer, Scenarios):
        several = len({one.nodes for one in answer.scenarios}) > 1
        sweep = "ingest sweep with the same options, which writes a table of all scenarios" if several else ""
        hand_over(answer, form, output, alternative=sweep)
    else:
        hand_over(answer, form, output, sizing_workbook)


def plain(words: Sequence[str]) -> bool:
    """Answer a line of options spelled in full; False for one that click has to read."""
    forget_configuration()
    try:
        options = plain_options(words, bw)
        if options is not None:
            show_bandwidth(**options)
    except UsageError:  # click refuses, in its words
        return False
    finally:
        forget_choices()
    return options is not None
