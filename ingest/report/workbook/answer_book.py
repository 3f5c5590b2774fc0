"""A small workbook of one answer: inputs that can be changed, live formulas, results, assumptions, sources, checks."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest import __version__
from ingest.formula import Leaf
from ingest.report.workbook.calculation import Calculation, InputCell, meaning_of
from ingest.report.workbook.style import Styles, lay_out, open_book
from ingest.units import scale_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

    from ingest.answer import Answer
    from ingest.estimate import Estimate

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
        sheets = {name: book.add_worksheet(name) for name in ("Read-me", "Inputs", "Calculation", "Results")}
        sheets |= {name: book.add_worksheet(name) for name in ("Assumptions", "Sources", "Checks")}
        self._inputs(book, sheets["Inputs"], styles)
        self._calculation(book, sheets["Calculation"], styles)
        self._results(sheets["Results"], styles)
        listed(sheets["Assumptions"], styles, ("Name", "Value", "Unit", "Why"), self._assumptions(), (34, 16, 16, 90))
        sources = [(item["id"], item["title"], item["where"], item["url"]) for item in self.answer.sources]
        listed(sheets["Sources"], styles, ("Id", "Title", "Place", "Address"), sources, (26, 60, 60, 50))
        checks = self._checks(sheets["Checks"], styles)
        self._read_me(sheets["Read-me"], styles, checks)
        book.close()
        return buffer.getvalue()

    def _inputs(self, book: Workbook, sheet: Worksheet, styles: Styles) -> None:
        heading(sheet, styles, INPUT_HEADS)
        row = 1
        for item in self.cells.inputs:
            self._input(book, sheet, styles, row, item)
            row += len(item.value) if item.is_column else 1
        lay_out(sheet, (32, 44, 18, 14, 16, 16, 12, 12, 10, 24, 60), 0, row)

    def _input(self, book: Workbook, sheet: Worksheet, styles: Styles, row: int, item: InputCell) -> None:
        values = list(item.value) if item.is_column else [item.value]
        last = row + len(values) - 1
        area = f"Inputs!$C${row + 1}" + (f":$C${last + 1}" if item.is_column else "")
        ends = (area, area) if item.is_column else (f"Inputs!$E${row + 1}", f"Inputs!$F${row + 1}")
        self.places[item.name] = (area, *ends)
        book.define_name(item.name, f"={area}")
        words(sheet, styles, row, {0: item.name, 1: meaning_of(item.quantity), 3: item.unit})
        for place, value in enumerate(values):
            sheet.write_number(row + place, 2, float(value), styles["input"])
        limits = item.limits
        sheet.data_validation(row, 2, last, 2, validation(limits))
        sheet.write_number(row, 6, limits.low, styles["number"])
        if limits.high < float("inf"):
            sheet.write_number(row, 7, limits.high, styles["number"])
        given = item.given
        if not item.is_column:
            self._spread(sheet, styles, row, item)
        if given is not None:
            note = "; ".join(filter(None, (given.where, given.note)))
            words(sheet, styles, row, {8: given.grade or given.origin, 9: given.source, 10: note})

    def _spread(self, sheet: Worksheet, styles: Styles, row: int, item: InputCell) -> None:
        """Low and high move along with the value that a reader puts in."""
        for column, end in ((4, item.given.low if item.given else None), (5, item.given.high if item.given else None)):
            found = item.value if end is None else end
            ratio = 1.0 if end is None or not item.value else end / item.value
            sheet.write_formula(row, column, f"=C{row + 1} * {ratio!r}", styles["number"], float(found))

    def _calculation(self, book: Workbook, sheet: Worksheet, styles: Styles) -> None:
        heading(sheet, styles, CALC_HEADS)
        for row, item in enumerate(self.cells.formulas, start=1):
            value, low, high = (f"Calculation!${letter}${row + 1}" for letter in "CDE")
            self.places[item.name] = (value, low, high)
            book.define_name(item.name, f"={value}")
            formula = item.step.formula
            assert formula is not None
            cited = "" if formula.source == "definition" else f"{formula.source}, {formula.where}".removesuffix(", ")
            words(sheet, styles, row, {0: item.name, 1: meaning_of(item.quantity), 5: item.unit, 6: item.words, 7: cited})
            ends = self.cells.ends[item.name]
            sheet.write_formula(row, 2, item.written(), styles["number"], float(ends[0]))
            for side in (1, 2):
                at_end = item.written(lambda name, side=side: self.places[name][side])  # type: ignore[misc]
                sheet.write_formula(row, 2 + side, at_end, styles["number"], float(ends[side]))
        lay_out(sheet, (34, 50, 18, 18, 18, 14, 60, 40), 0, len(self.cells.formulas) + 1)

    def _results(self, sheet: Worksheet, styles: Styles) -> None:
        heading(sheet, styles, RESULT_HEADS)
        for row, (name, quantity) in enumerate(self.answer.results.items(), start=1):
            place = self.results[name]
            ends = self.cells.ends[place]
            words(sheet, styles, row, {0: name.replace("_", " "), 2: quantity.unit})
            sheet.write_formula(row, 1, f"={place}", styles["strong"], float(quantity.value))
            for column, binary in ((3, False), (5, True)):
                factor, unit = scale_of(quantity.value, quantity.unit, binary)
                if factor:
                    sheet.write_formula(row, column, f"=B{row + 1} / {factor}", styles["number"], quantity.value / factor)
                    words(sheet, styles, row, {column + 1: unit})
            if ends[1] != ends[2]:
                cells = ", ".join(self.places[place])
                sheet.write_formula(row, 7, f"=MIN({cells})", styles["number"], float(min(ends)))
                sheet.write_formula(row, 8, f"=MAX({cells})", styles["number"], float(max(ends)))
        lay_out(sheet, (36, 22, 14, 12, 10, 12, 10, 18, 18), 0, len(self.answer.results) + 1)

    def _assumptions(self) -> list[tuple[Any, ...]]:
        return [(item["name"], item["value"], item["unit"], item["why"]) for item in self.answer.assumptions]

    def _checks(self, sheet: Worksheet, styles: Styles) -> int:
        """One line per input and result: within its range, a number; returns how many there are."""
        heading(sheet, styles, ("Check", "What is expected", "Result"))
        checks = [(item.name, *range_check(item)) for item in self.cells.inputs]
        checks += [
            (place, "a number, not below zero", f'=IF(ISNUMBER({place}), IF({place} >= 0, "ok", "fails"), "fails")')
            for place in dict.fromkeys(self.results.values())
        ]
        for row, (name, expected, formula) in enumerate(checks, start=1):
            words(sheet, styles, row, {0: name, 1: expected})
            sheet.write_formula(row, 2, formula, styles["good"], "ok")
        area = (1, 2, len(checks), 2)
        sheet.conditional_format(*area, {"type": "cell", "criteria": "!=", "value": '"ok"', "format": styles["bad"]})
        lay_out(sheet, (40, 60, 12), 0, len(checks) + 1)
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


def heading(sheet: Worksheet, styles: Styles, heads: Sequence[str]) -> None:
    """The first row."""
    for column, head in enumerate(heads):
        sheet.write_string(0, column, head, styles["heading"])


def words(sheet: Worksheet, styles: Styles, row: int, cells: Mapping[int, str]) -> None:
    """Text in some columns of a row; text stays text, whatever it begins with."""
    for column, text in cells.items():
        sheet.write_string(row, column, text, styles["text"])


def listed(
    sheet: Worksheet, styles: Styles, heads: Sequence[str], rows: Sequence[Sequence[Any]], widths: Sequence[float]
) -> None:
    """A plain table."""
    heading(sheet, styles, heads)
    for row, cells in enumerate(rows, start=1):
        for column, item in enumerate(cells):
            if isinstance(item, (int, float)):
                sheet.write_number(row, column, item, styles["number"])
            else:
                sheet.write_string(row, column, str(item), styles["text"])
    lay_out(sheet, widths, 0, len(rows) + 1)


def validation(limits: Leaf) -> dict[str, Any]:
    """What a cell accepts; a message names the range."""
    kind = "integer" if limits.whole else "decimal"
    top = min(limits.high, 2**31 - 1 if limits.whole else 1e300)
    message = {"error_title": limits.name[:32], "error_message": range_words(limits)[:255]}
    if limits.above and not limits.whole:
        # A spreadsheet's own test knows no open end: the smallest number of a double stands for "above".
        return {"validate": kind, "criteria": "between", "minimum": limits.low or 1e-300, "maximum": top, **message}
    low = limits.low + (1 if limits.above else 0)
    return {"validate": kind, "criteria": "between", "minimum": low, "maximum": top, **message}


def range_words(limits: Leaf) -> str:
    """The allowed range in words."""
    kind = "a whole number" if limits.whole else "a number"
    end = f" up to {limits.high:g}" if limits.high < float("inf") else ""
    return f"{kind} {'above' if limits.above else 'from'} {limits.low:g}{end}"


def range_check(item: InputCell) -> tuple[str, str]:
    """What is expected of an input, and the formula that tests every cell of it."""
    limits = item.limits
    low = f'COUNTIF({item.name}, "{">" if limits.above else ">="}{limits.low!r}")'
    enough = f"{low} = {len(item.value) if item.is_column else 1}"
    bounded = f', COUNTIF({item.name}, ">{limits.high!r}") = 0' if limits.high < float("inf") else ""
    return range_words(limits), f'=IF(AND({enough}{bounded}), "ok", "fails")'
