"""Output of results: a page, data or a file, with warnings on standard error; nothing here parses options."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

from ingest.cli.main import later, tell
from ingest.engine.messages import rule_of
from ingest.engine.value import EMPTY
from ingest.errors import UsageError, in_one_line
from ingest.files import forget_outputs, will_replace, write_all
from ingest.reports.labels import counted
from ingest.reports.page import Page, Paint, as_text, format_of, render, shortened, suffixes, terminal_width, unpainted, wrapped
from ingest.reports.pages import page_for
from ingest.sizing.rules import ranked
from ingest.units import display

#: How much the command that runs prints: everything, or the answer alone.
VERBOSE, QUIET = "verbose", "quiet"
#: What writes a document, by the suffix of its file.
DOCUMENTS = {
    ".docx": later("ingest.reports.document.word", "as_docx"),
    ".html": later("ingest.reports.document.markup", "as_html"),
}
_chosen: set[str] = set()


def choose(name: str) -> None:
    """Set `VERBOSE` or `QUIET` for the command that runs, so that no command has to pass it on."""
    _chosen.add(name)


def forget_choices() -> None:
    """Print as usual again and forget the files of `-o`, at the end of a command: a session may go on."""
    _chosen.clear()
    forget_outputs()


def chosen_option(name: str) -> bool:
    """Whether `VERBOSE` or `QUIET` is set for the command that runs."""
    return name in _chosen


def echo(text: str) -> None:
    """Print on standard output at once; UTF-8 where a locale without one says ASCII, else `?` for what cannot be encoded."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        stream = sys.stdout
        plain = codecs.lookup(stream.encoding).name == "ascii"
        stream.buffer.write(f"{text}\n".encode("utf-8" if plain else stream.encoding, errors="replace"))
        stream.flush()


def hand_over(
    answer: Any,
    form: str | None,
    output: Sequence[str],
    book: Callable[[Any], bytes] | None = None,
    *,
    page: Callable[[], Page] | None = None,
    data: Callable[[], Mapping[str, Any]] | None = None,
    warnings: Sequence[str] | None = None,
    alternative: str = "",
    documents: Mapping[str, Callable[[], str | bytes]] = EMPTY,
) -> None:
    """Print a result or write it to files, and its warnings on standard error.

    A table begins and ends with the answer, and leaves details out unless `-v` is given; `-q` prints the answer alone. Files
    and other formats hold everything; of a file, standard error says the answer and what was written.

    Args:
        book: builds the workbook of the result; None if the command has none.
        page, data: build the result as a page or as plain values; as a session shows it by default, and its `to_dict`.
        warnings: those of the result by default.
        alternative: the command that writes a workbook instead.
        documents: build its further files, by their suffix.

    Raises UsageError: a workbook is requested of a command that has none.
    """
    page = cache(page or partial(page_for, answer))
    data, warnings = data or answer.to_dict, getattr(answer, "warnings", ()) if warnings is None else warnings
    if not output:
        _print(page, data, format_of(None, form), warnings)
        return
    forms: dict[str, str] = {}
    for path in output:
        document = form is None and Path(path).suffix.lower() in documents
        forms[path] = "" if document else format_of(path, form, book is not None)
        if forms[path] == "xlsx" and book is None:
            known = ", ".join(suffixes(book=False))
            other = alternative and f", or {alternative}"
            raise UsageError(f"--output: '{path}': this result has no workbook; expected {known}{other}")
    contents: dict[Path, str | bytes] = {}
    for path, chosen in forms.items():
        workbook = partial(book, answer) if chosen == "xlsx" and book else None
        make = workbook if chosen else documents[Path(path).suffix.lower()]
        contents[Path(path)] = make() if make else render(page, data, chosen) + "\n"
    write_all(contents)
    warn(warnings)
    if (answered := page().answer) and not chosen_option(QUIET):
        tell(in_one_line(answered))
    tell_written(*output)


def _print(page: Callable[[], Page], data: Callable[[], Mapping[str, Any]], form: str, warnings: Sequence[str]) -> None:
    """Print a result, its warnings, and the answer again."""
    if form != "table":
        echo(render(page, data, form))
        warn(warnings)
        return
    made, width, paint = page(), terminal_width(), painter(sys.stdout)
    answer = "\n".join(paint("answer", line) for line in wrapped(made.answer or made.title, "", width))
    if chosen_option(QUIET):
        echo(answer)
        return
    echo(as_text(made if chosen_option(VERBOSE) else shortened(made), width, paint))
    warn(warnings)
    if made.answer:
        sys.stdout.flush()
        echo(answer)


def tell_written(*paths: str | Path) -> None:
    """Say which files were written or replaced, and how large they are, unless `-q` is given."""
    for path in paths:
        if not chosen_option(QUIET):
            facts = ", ".join(_facts_of(Path(path)))
            done = "replaced" if will_replace(path) else "wrote"
            tell(in_one_line(f"{done} {path}" + (f" ({facts})" if facts else "")))


def _facts_of(path: Path) -> Iterator[str]:
    """The sheets of a workbook, and the size of a file; nothing of a device or of a folder."""
    if path.is_file():
        if path.suffix.lower() == ".xlsx":
            from zipfile import ZipFile

            with ZipFile(path) as book:
                yield counted(sum(name.startswith("xl/worksheets/sheet") for name in book.namelist()), "sheet")
        yield display(path.stat().st_size, "B", binary=False, digits=3)


#: How a line of each kind looks where colours are shown: bold, dim, yellow, red.
STYLES: Mapping[str, str] = {"answer": "1", "note": "2", "caution": "33", "miss": "31"}


def painter(stream: TextIO | None) -> Paint:
    """Colours for a terminal; none where `NO_COLOR` is set, for a dumb terminal, a file or a pipe."""
    if stream is None or not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return unpainted
    return lambda kind, line: f"\x1b[{STYLES[kind]}m{line}\x1b[0m" if kind in STYLES else line


#: Cautions that are shown unless `-v` is given.
MOST_CAUTIONS = 3


def warn(lines: Sequence[str]) -> None:
    """Print warnings on standard error, the most severe first, each with the id of its rule; `-q` prints none."""
    if chosen_option(QUIET):
        return
    most = None if chosen_option(VERBOSE) else MOST_CAUTIONS
    width, paint = terminal_width(sys.stderr), painter(sys.stderr)
    for line in ranked(lines)[:most]:
        said = " ".join(filter(None, ("ingest: warning:" if width is None else "warning:", rule_of(line), line)))
        tell("\n".join(paint("caution", part) for part in wrapped(in_one_line(said), "", width)))
    if most is not None and len(lines) > most:
        tell(f"{'ingest: warning: ' if width is None else ''}{len(lines) - most} more: -v")
