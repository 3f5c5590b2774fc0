"""A small workbook of one answer: inputs that can be changed, live formulas, results, assumptions, sources, checks."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ingest import __version__
from ingest.reports.workbook.calculation import Calculation, InputCell, meaning_of
from ingest.reports.workbook.grid import Entry, Formula, Grid, Item, listed
from ingest.reports.workbook.rules import number_check, range_check, validation
from ingest.reports.workbook.style import Styles, lay_out, open_book
from ingest.units import scale_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

    from ingest.answer import Answer
    from ingest.estimate import Estimate

SHEETS = ("Read-me", "Inputs", "Calculation", "Results", "Assumptions", "Sources", "Checks")
INPUT_HEADS = ("Name", "Meaning", "Value", "Unit", "Low", "High", "Allowed from", "to", "From", "Source", "Place and note")
CALC_HEADS = ("Name", "Meaning", "Value", "Low", "High", "Unit", "Formula in words", "Source")
RESULT_HEADS = ("Result", "Value", "Unit", "Decimal", "Unit", "Binary", "Unit", "Low", "High")


class AnswerBook:
    """Writes the sheets of one answer."""

    def __init__(self, answer: Estimate | Answer, title: str) -> None:
        self.answer, self.title = answer, title
        self.cells = Calculation()
        self.results = {name: self.cells.add(answer.derivation(name), answer.known_for(name)) for name in answer.results}
        self.places: dict[str, tuple[str, str, str]] = {}

    def content(self) -> bytes:
        """The workbook as bytes."""
        buffer = io.BytesIO()
        book, styles = open_book(buffer, self.title)
        sheets = {name: book.add_worksheet(name) for name in SHEETS}
        self._inputs(book, Grid(sheets["Inputs"], styles, INPUT_HEADS, (32, 46, 20, 14, 20, 20, 10, 10, 11, 24, 60)))
        self._calculation(book, Grid(sheets["Calculation"], styles, CALC_HEADS, (34, 50, 20, 20, 20, 15, 60, 40)))
        self._results(Grid(sheets["Results"], styles, RESULT_HEADS, (36, 22, 14, 12, 10, 12, 10, 20, 20)))
        assumed = [(item["name"], item["value"], item["unit"], item["why"]) for item in self.answer.assumptions]
        listed(Grid(sheets["Assumptions"], styles, ("Name", "Value", "Unit", "Why"), (34, 18, 16, 90)), assumed)
        cited = [(item["id"], item["title"], item["where"], item["url"]) for item in self.answer.sources]
        listed(Grid(sheets["Sources"], styles, ("Id", "Title", "Place", "Address"), (26, 60, 60, 50)), cited)
        checks = self._checks(Grid(sheets["Checks"], styles, ("Check", "What is expected", "Result"), (40, 60, 12)))
        self._read_me(sheets["Read-me"], styles, checks)
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
                grid.row(
                    *self._input(item, value, grid.next + 1) if place == 0 else ("", "", Entry(value, validation(item.limits)))
                )
        grid.close()

    def _input(self, item: InputCell, value: float, row: int) -> Iterator[Item]:
        """One line: low and high move along with the value that a reader puts in."""
        yield from (item.name, meaning_of(item.quantity), Entry(value, validation(item.limits)), item.unit)
        for end in self.cells.ends[item.name][1:]:
            ratio = end / value if value and not item.is_column else 1.0
            yield None if item.is_column else Formula(f"=C{row} * {ratio!r}", float(end))
        yield from (item.limits.low, item.limits.high if item.limits.high < float("inf") else None)
        given = item.given
        if given is not None:
            yield from (given.grade or given.origin, given.source, "; ".join(filter(None, (given.where, given.note))))

    def _calculation(self, book: Workbook, grid: Grid) -> None:
        for item in self.cells.formulas:
            value, low, high = (f"Calculation!${letter}${grid.next + 1}" for letter in "CDE")
            self.places[item.name] = (value, low, high)
            book.define_name(item.name, f"={value}")
            ends = self.cells.ends[item.name]
            live = [Formula(item.written(), float(ends[0]))]
            live += [Formula(item.written(self._at(side)), float(ends[side])) for side in (1, 2)]
            grid.row(item.name, meaning_of(item.quantity), *live, item.unit, item.words, item.cited)
        grid.close()

    def _at(self, side: int) -> Callable[[str], str]:
        """Where a quantity's low or high end stands."""
        return lambda name: self.places[name][side]

    def _results(self, grid: Grid) -> None:
        for name, quantity in self.answer.results.items():
            place, row = self.results[name], grid.next + 1
            ends = self.cells.ends[place]
            scaled: list[Item] = []
            for binary in (False, True):
                factor, unit = scale_of(quantity.value, quantity.unit, binary)
                scaled += [Formula(f"=B{row} / {factor}", quantity.value / factor, "scaled"), unit] if factor else ["", ""]
            spread: list[Item] = []
            if ends[1] != ends[2]:
                cells = ", ".join(self.places[place])
                spread = [Formula(f"=MIN({cells})", float(min(ends))), Formula(f"=MAX({cells})", float(max(ends)))]
            live = Formula(f"={place}", float(quantity.value), "strong")
            grid.row(name.replace("_", " "), live, quantity.unit, *scaled, *spread)
        grid.close()

    def _checks(self, grid: Grid) -> int:
        """One line per input and result: within its range, a number; returns how many there are."""
        checks = [
            (item.name, *range_check(item.name, item.limits, len(item.value) if item.is_column else 1))
            for item in self.cells.inputs
        ]
        checks += [(place, *number_check(place)) for place in dict.fromkeys(self.results.values())]
        for name, expected, formula in checks:
            grid.row(name, expected, Formula(formula, "ok", "good"))
        failing = {"type": "cell", "criteria": "!=", "value": '"ok"', "format": grid.styles["bad"]}
        grid.sheet.conditional_format(1, 2, len(checks), 2, failing)
        grid.close()
        return len(checks)

    def _read_me(self, sheet: Worksheet, styles: Styles, checks: int) -> None:
        sheet.write_string(0, 0, self.title, styles["title"])
        lines = [
            "Yellow cells on the sheet Inputs may be changed; every other number follows by the formulas on Calculation.",
            "Values are in base units (B, s, FLOP, and things counted); Results shows decimal and binary units beside them.",
            "Low and High are all inputs at their low and at their high end; they move along with a changed value.",
            f"Made by ingest {__version__}; catalogs {self.answer.catalog.content_hash()}.",
            *(f"Warning: {line}" for line in self.answer.warnings),
        ]
        for row, line in enumerate(lines, start=2):
            sheet.write_string(row, 0, line, styles["text"])
        row = len(lines) + 3
        area = f"Checks!$C$2:$C${checks + 1}"
        formula = f'=IF(COUNTIF({area}, "ok") = {checks}, "All {checks} checks pass.", "A check fails: see the sheet Checks.")'
        sheet.write_formula(row, 0, formula, styles["good"], f"All {checks} checks pass.")
        failing = {"type": "text", "criteria": "begins with", "value": "A check fails", "format": styles["bad"]}
        sheet.conditional_format(row, 0, row, 0, failing)
        lay_out(sheet, (110,), None, row + 1)
