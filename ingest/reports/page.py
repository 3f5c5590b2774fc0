"""A page of results, its answer in one line, and its renderings: text for a terminal, Markdown, CSV. None computes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from ingest.configuration import configuration
from ingest.engine.registry import is_quantity, unit_of
from ingest.errors import UsageError, listed, nearest
from ingest.reports.labels import counted, is_share, joined_ends, plain
from ingest.text import grouped
from ingest.units import display, percent

if TYPE_CHECKING:
    from ingest.engine.question import Question
    from ingest.engine.result import Answer
    from ingest.engine.value import Quantity
    from ingest.observation.calibration import Calibration
    from ingest.site.plan import Plan
    from ingest.storage.fit_result import Fits

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
    """The page without its details, and a line that counts them."""
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
    reasons = grouped((why, own.get(name) or plain(name)) for name, why in unknown.items())
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
    """Render for a terminal of that width, with its answer as the first line; None cuts and wraps nothing."""
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
        fitting = _fitting(widths, width, shown)
        return [line for row in shown for line in _row_lines(row, fitting, paint)]
    kept = len(section.columns) - section.folded
    fitting = _fitting(widths[:kept], width, shown, folded=True)
    lines = [*_row_lines(section.columns[:kept], fitting, paint)]
    for row in section.rows:
        lines += _row_lines(row[:kept], fitting, paint)
        cells = zip(section.columns[kept:], row[kept:], strict=True)
        below = "; ".join(f"{head} {cell}".strip() for head, cell in cells if cell)
        lines += wrapped(below, " " * 6, width) if below else []
    return lines


def _fitting(widths: list[int], width: int | None, rows: Sequence[Sequence[str]], *, folded: bool = False) -> list[int]:
    """The widths that columns would have for a terminal of a width, none below eight.

    The words of the `rows` stay whole as far as possible. The widest column gives way first; beside folded columns, rows stay
    on one line.
    """
    fitting = list(widths)
    room = (width or sum(widths) + 2 * len(widths)) - 2 * len(widths)
    words = [max((len(word) for row in rows for word in row[column].split()), default=0) for column in range(len(widths))]

    def price(column: int) -> tuple[int, int]:
        return sum(len(row[column]) >= fitting[column] for row in rows if folded), -fitting[column]

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
        documents = "; `ingest report SITE.yaml` writes documents" if suffix in (".pdf", ".docx", ".html") else ""
        meant = f"; did you mean '--format {output}'?" if output in FORMATS else documents or nearest(suffix, known)
        raise UsageError(f"--output: '{output}' ends in '{suffix}', expected {', '.join(known)}{meant}")
    return SUFFIXES[suffix]


def render(page: Callable[[], Page], data: Callable[[], Mapping[str, Any]], form: str) -> str:
    """Return a result as text in one of the formats; only what the format needs is built."""
    if form == "json":
        import json

        return json.dumps(data(), indent=1, ensure_ascii=False, allow_nan=False)
    made = page()
    if form == "csv":
        return as_csv(made)
    return as_markdown(made) if form == "markdown" else as_text(made)


def terminal_width(stream: TextIO | None = None) -> int | None:
    """The width of the terminal that a stream is, standard output by default; None for a pipe, where nothing is cut."""
    shown = stream or sys.stdout
    if shown is None or not shown.isatty():
        return None
    import shutil

    return max(shutil.get_terminal_size().columns, 40)


#: What an answer names of a plan, by the operation of its lines; a load that is not the usual one is named with it.
PLANNED = {"read": "{} read", "write": "{} write", "hold": "{} usable"}
USUAL_LOADS = ("", "training reads", "checkpoint writes")
#: The part of a line below which the answer does not name its load.
SMALLEST_KIND = 0.01
#: What marks a rate that guidance sets, because the workload needs less, and its legend.
STAR, GUIDED = "*", "*guidance"
#: Parts of an answer at most and at least, and the letters beyond which the last part is left out: a terminal's line.
MOST, LEAST, LINE = 3, 2, 80
#: What the line leaves out where it is zero: nobody decodes, memory answers all queries.
UNSAID_AS_ZERO = ("decode_cores_per_node", "read_requests_per_second")
#: Evidence of a rate that depends on the precision of the arithmetic.
OF_ARITHMETIC = ("measured", "transferred", "efficiency", "peak")


def joined(verb: str, parts: Iterable[str], cautions: int = 0, unmet: str = "") -> str:
    """The line from its parts, with the number of cautions, and whether a stated requirement is not met."""
    all_parts = [*parts, *(["NOT MET"] if unmet else []), *([counted(cautions, "caution")] if cautions else [])]
    return f"{verb} {' · '.join(all_parts)}".strip()


class Said(NamedTuple):
    """A part of the answer in one line."""

    name: str
    around: str  # the words around its value
    value: str


def headline(question: Question, results: Mapping[str, Quantity]) -> tuple[str, list[Said]]:
    """The verb of the answer in one line and its parts, none where nothing that it names is known."""
    for verb, parts in question.headlines:
        if next(iter(parts)) in results:
            names = [name for name in parts if name in results and (results[name].value or name not in UNSAID_AS_ZERO)]
            known = [Said(name, parts[name], _value(name, results[name])) for name in names]
            # Of two quantities with the same words the first one counts; one node or GPU reads what its job reads.
            first = {one.around if one.around != "{}" else one.value: one.name for one in reversed(known)}
            main, *others = known
            told = [one for one in others if one.name in first.values()]
            return verb, [main, *(one for one in told if not (" per " in one.around and one.value == main.value))][:MOST]
    return "", []


def results_line(
    question: Question, results: Mapping[str, Quantity], cautions: int = 0, unmet: str = "", also: Sequence[str] = ()
) -> str:
    """The answer of a command from its results, and what `also` holds; empty where nothing that it names is known."""
    verb, parts = headline(question, results)
    if not parts:
        return joined("", [], cautions, unmet) if unmet else ""
    shown = [one.around.format(one.value) for one in parts]
    while len(line := joined(verb, [*shown, *also], cautions, unmet)) > LINE and len(shown) > LEAST:
        shown.pop()
    return line


def _value(name: str, quantity: Quantity) -> str:
    if is_share(name, quantity.unit):
        return f"{quantity.value * 100:,.3g} %"
    # Of a plain rate, the wording says what comes in a second.
    unit = "1" if quantity.unit == "1/s" else quantity.unit.removesuffix("/GPU").removesuffix("/node")
    return display(quantity.value, unit, binary=False)


def answer_line(answer: Answer) -> str:
    """The answer for one job, data set or model."""
    chosen, skipped = {name: one["value"] for name, one in answer.chosen.items()}, answer.results.get("files_skipped")
    depends = getattr(answer, "basis", chosen.get("basis")) in OF_ARITHMETIC
    also = [f"in {chosen['precision']}"] if "precision" in chosen and depends else []
    # Files that could not be counted, so that the counts are not taken for those of every file.
    also += [f"{counted(int(skipped.value), 'file')} skipped"] if skipped is not None and skipped.value else []
    return results_line(answer.question, answer.results, len(answer.warnings), answer.unmet, also)


def planned(plans: Sequence[Plan]) -> list[str]:
    """The largest rates and the capacity to buy of a site, from the least to the most of several; a star marks guidance."""
    parts = []
    for operation, around in PLANNED.items():
        found = [(one, one.headline[operation]) for one in plans if operation in one.headline]
        if found:
            # Without the kinds that make up less than a hundredth of a line.
            main = (
                [one.kind for one in line.loads if one.value >= line.value * SMALLEST_KIND] or [line.kind] for _, line in found
            )
            loads = dict.fromkeys(chain.from_iterable(main))
            star = STAR if any(line.id in one.guided for one, line in found) else ""
            shown = around.format(_between([line.value for _, line in found], found[0][1].unit))
            parts.append(shown + (f" ({listed(loads)})" if not loads.keys() <= {*USUAL_LOADS} else "") + star)
    return [*parts, GUIDED] if any(part.endswith(STAR) for part in parts) else parts


def _between(values: Sequence[float], unit: str) -> str:
    """One value, or the least and the most."""
    ends = dict.fromkeys(display(end, unit, binary=False) for end in (min(values), max(values)))
    return " – ".join(ends)


def scenarios_line(number: int, reads: Sequence[float], cautions: int) -> str:
    """The answer for several scenarios: from the least to the most that is mandatory for a job, where that is known."""
    shown = [f"{_between(reads, 'B/s')} read to require"] if reads else []
    return joined(counted(number, "scenario") + (":" if shown else ""), shown, cautions)


def fits_line(found: Fits, decided: str, counts: Mapping[str, int], first: str = "", offers: Sequence[str] = ()) -> str:
    """The answer of `fit`: the first system and how much of it the need takes, and how many have each verdict, the best first.

    Of a single system, what decides its verdict; of offers, what is said of them.
    """
    cautions = len(found.warnings)
    if offers:
        return joined("", offers, cautions)
    if found.nothing_missing:
        return joined("", [found.nothing_missing.rstrip(".")], cautions)
    # The reads of a job say nothing of its checkpoints.
    writes = found.need.requires("write_bandwidth_needed")
    alone = [] if not found.need.computed else ["without restores" if writes else "reads alone"]
    if len(found.systems) == 1:
        (one,) = found.systems
        return joined("", [f"{one.entry.id}: {one.verdict}", *([decided] if decided else []), *alone], cautions)
    shown = [of_several(verdict, count) for verdict, count in [*counts.items()][:1]]
    return joined(f"{first} first of {len(found.systems)}:" if counts else "no system", [*shown, *alone], cautions)


def of_several(verdict: str, count: int) -> str:
    """How many systems have a verdict.

    >>> of_several("does not fit", 7), of_several("barely fits", 2), of_several("not known", 9)
    ('7 do not fit', '2 barely fit', '9 not known')
    """
    return f"{count} {verdict.replace('does not', 'do not').replace('fits', 'fit')}"


def calibration_line(answer: Calibration) -> str:
    """The answer of `calibrate`: observed over estimated; of several observations, what they show together."""
    if answer.scaling is not None:
        together = [f"{plain(name)} {_value(name, one)}" for name, one in answer.scaling.results.items()]
        return joined("Together:", together, len(answer.warnings), answer.unmet)
    compared = [f"{plain(one.quantity)} {one.ratio:.3g}" for one in answer.rows if one.ratio is not None]
    outside = sum(one.inside is False for one in answer.rows)
    parts = [*compared[:MOST], *([f"{counted(outside, 'value')} outside the range"] if outside else [])]
    return joined("Observed ÷ estimated:", parts or ["nothing to compare"], len(answer.warnings), answer.unmet)
