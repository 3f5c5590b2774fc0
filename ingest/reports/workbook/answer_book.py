"""A small workbook of one answer: inputs that can be changed, live formulas, results, assumptions, sources, checks."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ingest.reports.labels import plain, unit_word
from ingest.reports.workbook.calculation import Calculation, FormulaCell, InputCell, meaning_of
from ingest.reports.workbook.grid import Entry, Formula, Grid, Item, listed
from ingest.reports.workbook.read_me import WIDTH, Sections, read_me
from ingest.reports.workbook.readable import Readable, assumed_rows, readable, style_of
from ingest.reports.workbook.rules import number_check, range_check, range_short, validation
from ingest.reports.workbook.style import open_book
from ingest.version import __version__

if TYPE_CHECKING:
    from xlsxwriter import Workbook

    from ingest.answer import Answer
    from ingest.estimate import Estimate

SHEETS = ("Read-me", "Inputs", "Calculation", "Results", "Assumptions", "Sources", "Checks")
INPUT_HEADS = ("Name", "Meaning", "Value", "Unit", "Low", "High", "Allowed", "From", "Source", "Place and note")
INPUT_WIDTHS = (40, 44, 21, 15, 20, 20, 18, 13, 22, 60)
CALC_HEADS = ("Name", "Meaning", "Value", "Low", "High", "Unit", "Formula in words", "Source")
CALC_WIDTHS = (40, 50, 21, 21, 21, 15, 72, 45)
RESULT_HEADS = ("Result", "Value", "Unit", "Low", "High", "Binary", "Unit", "Base value", "Base unit")
RESULT_WIDTHS = (33, 18, 15, 18, 18, 12, 10, 24, 15)
#: Where the base value of a result stands.
BASE_VALUE = "H"


class AnswerBook:
    """Writes the sheets of one answer.

    Attributes:
        title: of the workbook.
        results: the cell of each result, by name.
        places: where value, low and high end of each cell stand.
        owners: whose cells those are that belong to one of several things compared.
        signed: cells of results that may be below zero.
    """

    result_heads: Sequence[str] = RESULT_HEADS
    result_widths: Sequence[float] = RESULT_WIDTHS

    def __init__(self, answer: Estimate | Answer, title: str) -> None:
        self.answer, self.title, self.catalog, self.warnings = answer, title, answer.catalog, answer.warnings
        self.cells = Calculation()
        self.results = {name: self.cells.add(answer.derivation(name), answer.known_for(name)) for name in answer.results}
        self.places: dict[str, tuple[str, str, str]] = {}
        self.owners: dict[str, str] = {}
        self.signed: frozenset[str] = frozenset()

    @property
    def assumptions(self) -> list[dict[str, Any]]:
        """What nobody measured."""
        return self.answer.assumptions

    @property
    def sources(self) -> list[dict[str, str]]:
        """What is cited."""
        return self.answer.sources

    def content(self) -> bytes:
        """The workbook as bytes."""
        buffer = io.BytesIO()
        book, styles = open_book(buffer, self.title)
        sheets = {name: book.add_worksheet(name) for name in SHEETS}
        self._inputs(book, Grid(sheets["Inputs"], styles, INPUT_HEADS, INPUT_WIDTHS))
        self._calculation(book, Grid(sheets["Calculation"], styles, CALC_HEADS, CALC_WIDTHS))
        self._results(Grid(sheets["Results"], styles, self.result_heads, self.result_widths))
        assumed = assumed_rows(self.assumptions)
        listed(Grid(sheets["Assumptions"], styles, ("Name", "Value", "Unit", "Why"), (34, 21, 16, 90)), assumed)
        cited = [(item["id"], item["title"], item["where"], item["url"]) for item in self.sources]
        listed(Grid(sheets["Sources"], styles, ("Id", "Title", "Place", "Address"), (22, 47, 50, 48)), cited)
        checks = self._checks(Grid(sheets["Checks"], styles, ("Check", "What is expected", "Result"), (40, 60, 12)))
        read_me(Grid(sheets["Read-me"], styles, (self.title,), (WIDTH,)), self._about(), checks)
        book.close()
        return buffer.getvalue()

    def _inputs(self, book: Workbook, grid: Grid) -> None:
        for item in self.cells.inputs:
            values = list(item.value) if item.is_column else [item.value]
            first, last = grid.next + 1, grid.next + len(values)
            area = f"Inputs!$C${first}" + (f":$C${last}" if item.is_column else "")
            ends = (area, area) if item.is_column else (f"Inputs!$E${first}", f"Inputs!$F${first}")
            self.places[item.name] = (area, *ends)
            book.define_name(item.name, f"={area}")
            for place, value in enumerate(values):
                grid.row(*(self._input(item, value, grid.next + 1) if place == 0 else ("", "", self._entry(item, value))))
        grid.close()

    def _input(self, item: InputCell, value: float, row: int) -> Iterator[Item]:
        """One line: low and high move along with the value that a reader puts in."""
        yield from (item.name, self._meaning(item), self._entry(item, value), unit_word(item.quantity, item.unit))
        style = style_of(item.quantity, item.unit)
        for end in self.cells.ends[item.name][1:]:
            ratio = end / value if value and not item.is_column else 1.0
            yield None if item.is_column else Formula(f"=C{row} * {ratio!r}", float(end), style)
        yield range_short(item.limits)
        given = item.given
        if given is not None:
            yield from (given.grade or given.origin, given.source, "; ".join(filter(None, (given.where, given.note))))

    def _meaning(self, item: InputCell | FormulaCell) -> str:
        owner = self.owners.get(item.name)
        return meaning_of(item.quantity) if owner is None else f"{owner}: {meaning_of(item.quantity)}"

    @staticmethod
    def _entry(item: InputCell, value: float) -> Entry:
        return Entry(value, validation(item.limits), style_of(item.quantity, item.unit, "input"))

    def _calculation(self, book: Workbook, grid: Grid) -> None:
        for item in self.cells.formulas:
            value, low, high = (f"Calculation!${letter}${grid.next + 1}" for letter in "CDE")
            self.places[item.name] = (value, low, high)
            book.define_name(item.name, f"={value}")
            ends = self.cells.ends[item.name]
            style, unit = style_of(item.quantity, item.unit), unit_word(item.quantity, item.unit)
            live = [Formula(item.written(), float(ends[0]), style)]
            live += [Formula(self.cells.end_written(item, side, self._at), float(ends[side]), style) for side in (1, 2)]
            grid.row(item.name, self._meaning(item), *live, unit, item.words, item.cited)
        grid.close()

    def _at(self, name: str, side: int) -> str:
        """Where the value (0), the low end (1) or the high end (2) of a quantity is."""
        return self.places[name][side] if side else name

    def _results(self, grid: Grid) -> None:
        for name, quantity in self.answer.results.items():
            place, base = self.results[name], f"{BASE_VALUE}{grid.next + 1}"
            shown, binary = (readable(name, quantity.value, quantity.unit, binary) for binary in (False, True))
            assert shown is not None
            doubled = ("", "") if binary is None else (binary.cell(base, quantity.value), binary.unit)
            live = (shown.cell(base, quantity.value, strong=True), shown.unit, *self._spread(place, shown))
            grid.row(plain(name), *live, *doubled, Formula(f"={place}", float(quantity.value), "base"), quantity.unit)
        grid.close()

    def _spread(self, place: str, shown: Readable) -> tuple[Item, Item]:
        """Low and high end of a result; nothing where they are the same."""
        ends, cells = self.cells.ends[place], ", ".join(self.places[place])
        if ends[1] == ends[2]:
            return None, None
        return shown.cell(f"MIN({cells})", min(ends)), shown.cell(f"MAX({cells})", max(ends))

    def _checks(self, grid: Grid) -> int:
        """One line per input and result: within its range, a number; returns how many there are."""
        checks = [
            (item.name, *range_check(item.name, item.limits, len(item.value) if item.is_column else 1))
            for item in self.cells.inputs
        ]
        checks += [(place, *number_check(place, place in self.signed)) for place in dict.fromkeys(self.results.values())]
        for name, expected, formula in checks:
            grid.row(name, expected, Formula(formula, "ok", "good"))
        failing = {"type": "cell", "criteria": "!=", "value": '"ok"', "format": grid.styles["bad"]}
        grid.sheet.conditional_format(1, 2, len(checks), 2, failing)
        grid.close()
        return len(checks)

    def _about(self) -> Sections:
        return {
            "How the workbook is built": (
                "Yellow cells on the sheet Inputs may be changed; every other number follows by the formulas on Calculation.",
                "Inputs and Calculation are in base units (B, s, FLOP, and things counted), shares in percent; Results shows"
                " the units that people read, with the base value beside them.",
                "Low and High are all inputs at their low and at their high end; they move along with a changed value.",
            ),
            "Warnings": self.warnings,
            "How it was made": (f"Made by ingest {__version__}; catalogs {self.catalog.content_hash()}.",),
        }
