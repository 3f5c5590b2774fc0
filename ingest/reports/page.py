"""A page of results, and its renderings: text for a terminal, Markdown, CSV. Each takes results, none computes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from ingest.configuration import configuration
from ingest.engine.registry import is_quantity, unit_of
from ingest.errors import UsageError, nearest
from ingest.reports.labels import counted, is_share, joined_ends, plain
from ingest.units import display, percent

if TYPE_CHECKING:
    from ingest.engine.value import Quantity


#: Colours a line of a kind: `answer`, `note`, `miss` or `row`.
Paint = Callable[[str, str], str]
#: Cells that show a miss.
MISSES = frozenset(("NO", "fail", "missed", "not met", "does not comply"))


def unpainted(_kind: str, line: str) -> str:
    """A line without colour."""
    return line


class Section(NamedTuple):
    """A table with a title; without columns it is a list of lines."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    folded: int = 0  # how many of the last columns a narrow terminal shows on a line of their own below each row
    detail: str = ""  # what it holds, if only a page in full shows it: `assumption`, `source`, `table`, …
    main: tuple[int, ...] | None = None  # the rows that any page shows, by number; None for all


class Page(NamedTuple):
    """What a command shows."""

    title: str  # the first line
    sections: tuple[Section, ...]  # tables and lists
    table: tuple[tuple[object, ...], ...] = ()  # the same as flat rows in base units, for CSV: a header and its rows
    answer: str = ""  # the answer in one line; empty for a page without one


def page_of(title: str, sections: Iterable[Section], table: Iterable[tuple[object, ...]] = (), answer: str = "") -> Page:
    """A page without the sections that have neither rows nor lines."""
    return Page(title, tuple(section for section in sections if section.rows or section.lines), tuple(table), answer)


#: What rests below a result: a short page counts these, and what else it leaves out.
BELOW = ("assumption", "source")


def shortened(page: Page) -> Page:
    """The page without its details, and a line that counts them.

    >>> short = shortened(Page("", (Section("", lines=("1 GB/s",)), Section("Sources", lines=("a", "b"), detail="source"))))
    >>> short.sections[-1].lines
    ('Rests on 2 sources: -v',)
    """
    counts: Counter[str] = Counter()
    kept = []
    for section in page.sections:
        if section.detail:
            counts[section.detail] += 1 if section.detail == "table" else len(section.lines) or len(section.rows)
        elif section.main is not None and len(section.main) < len(section.rows):
            counts["row"] += len(section.rows) - len(section.main)
            kept.append(section._replace(rows=tuple(section.rows[place] for place in section.main)))
        else:
            kept.append(section)
    below = [counted(counts[what], what) for what in BELOW if counts[what]]
    further = [counted(number, what) for what, number in counts.items() if what not in BELOW]
    said = [f"Rests on {' and '.join(below)}" if below else "", f"{', '.join(further)} more" if further else ""]
    line = "; ".join(filter(None, said))
    return page._replace(sections=(*kept, *([Section("", lines=(f"{line}: -v",))] if line else [])))


def attributes(names: Sequence[str], things: Iterable[object]) -> list[tuple[Any, ...]]:
    """A row per thing: the values of its attributes of these names."""
    return [tuple(getattr(one, name) for name in names) for one in things]


#: Columns of a flat table of results and tables: one value per row.
FLAT_HEADER = ("table", "row", "name", "value", "unit", "low", "high")


def flat_cells(
    table: str, row: object, values: Mapping[str, Any], units: Mapping[str, str] = {}
) -> Iterator[tuple[object, ...]]:
    """The values of one row of a table, each as a row of a flat table; `units` are of columns that are no quantities."""
    for column, value in values.items():
        unit = units.get(column) or (unit_of(column) if is_quantity(column) else "")
        yield (table, row, column, value, unit, None, None)


#: Amounts in the currency of the prices that the user gives.
MONEY = frozenset(("gpu_cost", "electricity_cost", "training_cost", "stall_cost_per_year"))


def value_text(name: str, value: float, unit: str, binary: bool = True) -> str:
    """A value with its unit; a share in percent, or as a multiple where it is large."""
    if is_share(name, unit):
        if value >= 10:
            return f"{display(value, unit, digits=3)} times"
        return f"{percent(value)} %" if value >= 1e-4 or value <= 0 else "below 0.01 %"
    if name in MONEY and (currency := configuration().currency):
        return f"{display(value, unit, binary)} {currency}"
    # The label already says "per open", "of a sample", "per GPU".
    return display(value, {"s/sample": "s", "1/GPU": "1"}.get(unit, unit.removesuffix("/file")), binary)


def range_text(name: str, quantity: Quantity) -> str:
    """Low and high end with one unit where both have the same one; empty where they are unknown."""
    if quantity.low is None or quantity.high is None:
        return ""
    low, high = (value_text(name, end, quantity.unit, binary=False) for end in (quantity.low, quantity.high))
    return low if low == high else joined_ends(low, high, " – ")


def unknown_section(unknown: Mapping[str, str], own: Mapping[str, str] = MappingProxyType({})) -> Section:
    """Quantities that are not known, by reason; `own` has the labels of the question."""
    reasons: dict[str, list[str]] = {}
    for name, why in unknown.items():
        reasons.setdefault(why, []).append(own.get(name) or plain(name))
    return Section("Not known", lines=tuple(f"{', '.join(names)}: {why}" for why, names in reasons.items()))


def assumptions_section(assumptions: Sequence[Mapping[str, Any]]) -> Section:
    """Values that are assumed, with the reason for each; an assumption may have no value."""
    lines = []
    for one in assumptions:
        value = display(one["value"], one["unit"], binary=False) if one["unit"] else one["value"]
        lines.append(f"{one['name']}{' = ' if value else ''}{value}: {one['why'] or 'recalled, not verified'}")
    return Section(f"Assumptions ({len(lines)})", lines=tuple(lines), detail="assumption")


def sources_section(sources: Sequence[Mapping[str, str]], places: bool = False) -> Section:
    """One line per source, with the places in it where requested."""
    where = (f", {one['where']}" if places and one["where"] else "" for one in sources)
    lines = tuple(f"{one['id']}: {one['title']}{place}" for one, place in zip(sources, where, strict=True))
    return Section("Sources", lines=lines, detail="source")


def more_rows(rows: int, most: int, all_in: str = "") -> tuple[str, ...]:
    """A line that counts the rows that a table leaves out."""
    return (f"… and {rows - most:,} more{all_in}",) if rows > most else ()


def as_text(page: Page, width: int | None = None, paint: Paint = unpainted) -> str:
    """Render for a terminal of that width, with its answer as the first line; None cuts and wraps nothing.

    >>> print(as_text(Page("Title", (Section("Rates", ("what", "value"), (("a", "1"), ("bb", "22"))),))))
    Title
    <BLANKLINE>
    Rates
      what  value
      a     1
      bb    22
    """
    lines = [paint("answer", line) for line in wrapped(page.answer, "", width) if line]
    lines += wrapped(page.title, "", width) if not page.answer.startswith(page.title) else []
    for section in page.sections:
        lines += ["", section.title] if section.title else [""]
        lines += _table(section, width, paint)
        for line in section.lines:
            lines += [paint("note", part) for part in wrapped(line, "  ", width)]
    return "\n".join(lines)


def _table(section: Section, width: int | None, paint: Paint) -> list[str]:
    """The rows; a terminal that is too narrow has the folded columns below each row, each after its heading."""
    if not section.rows:
        return []
    shown = [section.columns, *section.rows] if any(section.columns) else list(section.rows)
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    if not section.folded or width is None or sum(widths) + 2 * len(widths) <= width:
        fitting = _fitting(widths, width)
        return [line for row in shown for line in _row_lines(row, fitting, paint)]
    kept = len(section.columns) - section.folded
    fitting = _fitting(widths[:kept], width, shown)
    lines = [*_row_lines(section.columns[:kept], fitting, paint)]
    for row in section.rows:
        lines += _row_lines(row[:kept], fitting, paint)
        cells = zip(section.columns[kept:], row[kept:], strict=True)
        below = "; ".join(f"{head} {cell}".strip() for head, cell in cells if cell)
        lines += wrapped(below, " " * 6, width) if below else []
    return lines


def _fitting(widths: list[int], width: int | None, rows: Sequence[Sequence[str]] = ()) -> list[int]:
    """The widths that columns would have for a terminal of a width, none below eight.

    The `rows` stay on one line as far as possible, and their words whole; without them the widest column gives way first.
    """
    fitting = list(widths)
    room = (width or sum(widths) + 2 * len(widths)) - 2 * len(widths)
    words = [max((len(word) for row in rows for word in row[column].split()), default=0) for column in range(len(widths))]

    def price(column: int) -> tuple[int, int]:
        return sum(len(row[column]) >= fitting[column] for row in rows), -fitting[column]

    for floors in ([max(8, one) for one in words], [8] * len(widths)):
        while sum(fitting) > room and (giving := [at for at, size in enumerate(fitting) if size > floors[at]]):
            fitting[min(giving, key=price)] -= 1
    return fitting


def _row_lines(row: Sequence[str], widths: Sequence[int], paint: Paint) -> Iterator[str]:
    """One row as lines; a cell too wide for its column goes on below."""
    kind = "miss" if not MISSES.isdisjoint(row) else "row"
    cells = [[cell] if len(cell) <= width else _broken(cell, width) for cell, width in zip(row, widths, strict=True)]
    for line in zip_longest(*cells, fillvalue=""):
        yield paint(kind, "  " + "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip())


def wrapped(line: str, indent: str, width: int | None) -> list[str]:
    """One line as several where the terminal is narrower; None wraps nothing."""
    own = len(line) - len(line.lstrip(" "))
    if width is None or len(indent + line) <= width:
        return [indent + line]
    deeper = indent + " " * (own + 2)
    return _broken(line.strip(), width, indent + " " * own, deeper)


def _broken(text: str, width: int, first: str = "", deeper: str = "") -> list[str]:
    """A text as lines of at most a width, broken between words; few outputs need it, and its import takes time."""
    import textwrap

    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=deeper, break_on_hyphens=False)


def as_markdown(page: Page) -> str:
    """Render as Markdown; pipes in cells are escaped."""
    lines = [f"# {page.title}"]
    if page.answer and not page.answer.startswith(page.title):
        lines += ["", page.answer]
    for section in page.sections:
        lines += ["", f"## {section.title}", ""] if section.title else [""]
        if section.rows:
            head, *rows = [section.columns, *section.rows] if any(section.columns) else section.rows
            lines += [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
        if section.lines:
            lines += [*([""] if section.rows else []), *(f"- {line.strip()}" for line in section.lines)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def as_csv(page: Page) -> str:
    """Render the flat table as CSV in base units; text that a spreadsheet would run as a formula is quoted."""
    import csv
    import io

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in page.table:
        writer.writerow(
            [f"'{cell}" if isinstance(cell, str) and cell[:1] in RUN else "" if cell is None else cell for cell in row]
        )
    return buffer.getvalue().rstrip("\n")


#: What begins a formula of a spreadsheet.
RUN = frozenset("=+-@\t\r")
FORMATS = ("table", "json", "csv", "markdown")
SUFFIXES = {".json": "json", ".csv": "csv", ".md": "markdown", ".txt": "table", ".xlsx": "xlsx"}


def suffixes(book: bool = True) -> list[str]:
    """What a file may end in; `book` tells whether the answer has a workbook."""
    return [suffix for suffix in SUFFIXES if book or SUFFIXES[suffix] != "xlsx"]


def format_of(output: str | None, requested: str | None, book: bool = True) -> str:
    """Return the format: the requested one, or by the file's suffix. Raises UsageError: an unknown suffix."""
    if output is None:
        return requested or "table"
    suffix = Path(output).suffix.lower()
    if requested is not None:
        if SUFFIXES.get(suffix, requested) != requested:
            raise UsageError(f"--format {requested} and --output '{output}' disagree, expected only one of them")
        return requested
    if suffix not in SUFFIXES:
        known = suffixes(book)
        raise UsageError(f"--output: '{output}' ends in '{suffix}', expected {', '.join(known)}{nearest(suffix, known)}")
    return SUFFIXES[suffix]


def render(page: Callable[[], Page], data: Callable[[], Mapping[str, Any]], form: str, width: int | None = None) -> str:
    """Return a result as text in one of the formats; only what the format needs is built."""
    if form == "json":
        import json

        return json.dumps(data(), indent=1, ensure_ascii=False, allow_nan=False)
    made = page()
    if form == "csv":
        return as_csv(made)
    return as_markdown(made) if form == "markdown" else as_text(made, width)


def terminal_width(stream: TextIO | None = None) -> int | None:
    """The width of the terminal that a stream is, standard output by default; None for a pipe, where nothing is cut."""
    shown = stream or sys.stdout
    if shown is None or not shown.isatty():
        return None
    import shutil

    return max(shutil.get_terminal_size().columns, 40)
