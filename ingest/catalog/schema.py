"""Validation of catalog files: refuses unknown keys, missing sources and wrong units with file and line."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.catalog.records import GRADES, PRECISIONS, Encoding, Entry, Rate, Record, Shape, Statement, Storage, Tier, Value
from ingest.catalog.yaml_reader import line_of, read_text
from ingest.engine.messages import Message, Option
from ingest.engine.value import Source
from ingest.errors import CatalogError, UsageError, brief, expected_one_of, listed, nearest
from ingest.units import display, parse

Keys = tuple[str, ...]
#: keys of an entry that a message names
MOST_KEYS = 4
#: form of a field -> the record of each of its parts
PARTS: dict[str, type[Record]] = {"encodings": Encoding, "tiers": Tier}


class Reader:
    """Reads the data of one file into records; cites the sources given by id."""

    def __init__(self, path: Path, sources: Mapping[str, Source]):
        self.path, self.sources = path, sources
        self.faults: list[CatalogError] = []  # of the entry that is being read

    def fail(self, keys: Keys, message: str) -> CatalogError:
        """Return the error about a key, with its line."""
        named = ".".join(keys)
        return CatalogError(f"{self.path}:{line_of(self.path, keys)}: {named + ': ' if named else ''}{message}")

    def entry(self, record: type[Entry], data: Any) -> Entry:
        """Return the entry; its id is the stem of the file."""
        if not isinstance(data, dict) or not data.keys() & record.shapes.keys():
            # a file that a site names may be anything: nothing of it is shown
            raise self.fail((), f"expected keys and values, such as {', '.join([*record.shapes][:MOST_KEYS])}")
        content = dict(data)
        content.pop("sources", None)
        fields = self.fields(record, content, ())
        self.refuse()
        made = record(id=self.path.stem, path=self.path, **fields)
        self.tables(made)
        self.refuse()
        if not isinstance(made, Storage):
            return made
        # Usable capacity is at most the raw capacity of the unit, or of its drives, by their sizes.
        raw = made.raw_bytes.value if made.raw_bytes else _of_drives(made, made.drive_bytes)
        found: list[tuple[Keys, Value | None, float | None]] = [(("usable_bytes",), made.usable_bytes, raw)]
        for name, size in made.usable_by_drive.items():
            found.append((("usable_by_drive", name), size, _of_drives(made, made.drive_choices.get(name))))
        for keys, usable, most in found:
            if usable is not None and most is not None and usable.value > most:
                held, expected = (display(one, "B", binary=False, digits=6) for one in (usable.value, most))
                raise self.fail(keys, f"found {held}, expected at most the raw capacity, {expected}")
        return made

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep a fault, so that the others of the entry are found too."""
        try:
            yield
        except CatalogError as error:
            self.faults.append(error)

    def refuse(self) -> None:
        """Refuse the entry because of all its faults, a line each; nothing where there are none."""
        if self.faults:
            raise CatalogError("\n".join(dict.fromkeys(map(str, self.faults))))

    def tables(self, made: Entry) -> None:
        """Check the keys of the tables of an entry, among each other too."""
        if made.either and not any(getattr(made, name) for name in made.either):
            raise self.fail((), f"'{made.either[0]}' is missing, expected it or '{made.either[-1]}'")
        for name, shape in made.shapes.items():
            forms = "|".join(shape.names).replace("N", r"[1-9]\d{0,9}")
            for key in getattr(made, name) if forms else ():
                if not re.fullmatch(forms, str(key)):
                    self.faults.append(self.fail((name, str(key)), f"unknown key {brief(key)}, expected {listed(shape.names)}"))
            if shape.needs and shape.needs not in getattr(made, name):
                self.faults.append(self.fail((name,), f"'{shape.needs}' is missing, expected its value"))
            own, other = (set(getattr(made, table)) if shape.alike else set() for table in (name, shape.alike))
            for key in sorted(map(str, own ^ other)):
                has, lacks = (name, shape.alike) if key in own else (shape.alike, name)
                self.faults.append(self.fail((lacks,), f"'{key}' is missing, which '{has}' has"))

    def fields(self, record: type[Record], data: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
        """Return the values of a record's fields."""
        shapes, found = record.shapes, {}
        for name in data:
            with self.collecting():
                self.mapping({name: None}, keys, shapes)
        for name, shape in shapes.items():
            if shape.required and data.get(name) is None:
                wanted = "text" if shape.form == "text" else f"a value in {shape.unit} with source and grade"
                self.faults.append(self.fail(keys, f"'{name}' is missing, expected {wanted}"))
            elif name in data:
                with self.collecting():
                    found[name] = self.field(shape, data[name], (*keys, name))
        return found

    def field(self, shape: Shape, item: Any, keys: Keys) -> Any:
        """Return the value of one field, by its shape."""
        if shape.form == "text":
            if not isinstance(item, str):
                raise self.fail(keys, f"found {brief(item)}, expected text")
            return item
        if shape.form == "texts":
            if not isinstance(item, list) or not all(isinstance(line, str) for line in item):
                raise self.fail(keys, f"found {brief(item)}, expected a list of text")
            return tuple(item)
        if shape.form == "notes":
            return {name: str(note) for name, note in self.mapping(item, keys).items()}
        if shape.form == "value":
            return self.value(item, shape, keys)
        if shape.form == "statement":
            return self.statement(item, keys)
        if shape.form in PARTS:
            record = PARTS[shape.form]
            return {
                name: record(**self.fields(record, self.mapping(part, (*keys, name)), (*keys, name)))
                for name, part in self.mapping(item, keys).items()
            }
        table = {}
        for name, part in self.mapping(item, keys, shape.keys).items():
            with self.collecting():
                table[name] = self.value(part, shape, (*keys, name))
        return table

    def statement(self, item: Any, keys: Keys) -> Statement:
        """Return a property in words: the words alone, or words with source and grade."""
        if isinstance(item, str):
            return Statement(item)
        parts = {name: str(part) for name, part in self.mapping(item, keys, Statement._fields).items()}
        for key in ("text", "source", "grade"):
            if not parts.get(key):
                raise self.fail(keys, f"'{key}' is missing: expected text with its source and grade")
        self.grade(parts["grade"], keys)
        self.source(parts["source"], (*keys, "source"))
        return Statement(**parts)

    def grade(self, found: Any, keys: Keys) -> None:
        """Check that a grade exists."""
        if found not in GRADES:
            raise self.fail((*keys, "grade"), f"found '{found}', {expected_one_of(found, GRADES)}")

    def mapping(self, item: Any, keys: Keys, known: Collection[str] = ()) -> dict[str, Any]:
        """Return the item as a mapping; raises if it is not one, or where keys are known and it has another one."""
        if not isinstance(item, dict):
            raise self.fail(keys, f"found {brief(item)}, expected keys and values")
        for key in item if known else ():
            if key not in known:
                raise self.fail((*keys, key), f"unknown key '{key}', {expected_one_of(key, known)}")
        return item

    def value(self, item: Any, shape: Shape, keys: Keys) -> Value:
        """Return a sourced value in base units."""
        unit = shape.unit
        parts = self.mapping(item, keys, (*Value._fields, "supply"))
        for key in ("value", "unit", "source", "grade"):
            if parts.get(key) in (None, ""):
                reason = "no source, no load" if key == "source" else f"expected one of {', '.join(GRADES)}"
                reason = reason if key in ("source", "grade") else f"expected a number in {unit}"
                raise self.fail(keys, f"'{key}' is missing: {reason}")
        self.grade(parts["grade"], keys)
        self.source(parts["source"], (*keys, "source"))
        written = parts["unit"]
        numbers = {
            name: self.number(parts[name], written, shape, (*keys, name))
            for name in ("value", "low", "high")
            if parts.get(name) is not None
        }
        low, high = numbers.get("low", numbers["value"]), numbers.get("high", numbers["value"])
        if not low <= numbers["value"] <= high:
            raise self.fail(keys, f"low {low:g}, value {numbers['value']:g}, high {high:g}: expected them in this order")
        where, note = (str(parts.get(name) or "") for name in ("where", "note"))
        ways = parts.get("supply") or ()
        supply = tuple(Option.of(str(way)) for way in (ways if isinstance(ways, (list, tuple)) else [ways]))
        note = Message(note, supply=supply) if supply else note
        return Value(**numbers, unit=unit, source=parts["source"], grade=parts["grade"], where=where, note=note)

    def number(self, item: Any, written: Any, shape: Shape, keys: Keys) -> float:
        """Return a finite number in base units, above 0; zero only if the shape allows it."""
        unit = shape.unit
        if isinstance(item, bool) or not isinstance(item, (int, float)):
            raise self.fail(keys, f"found {brief(item)}, expected a number (its unit belongs in 'unit')")
        try:
            number = parse(f"{item!r} {'' if str(written) == '1' else written}", unit, "value")
        except UsageError as error:
            raise self.fail(keys, str(error).removeprefix("value: ")) from None
        if number < 0 or (number == 0 and not shape.zero):
            raise self.fail(keys, f"found {item:g}, expected a number {'from' if shape.zero else 'above'} 0 ({unit})")
        return number

    def source(self, found: Any, keys: Keys) -> None:
        """Check that a cited source exists."""
        if not isinstance(found, str) or found not in self.sources:
            hint = nearest(str(found), self.sources)
            raise self.fail(keys, f"unknown source '{found}', expected an id from sources.yaml{hint}")


def read_sources(path: Path, data: Any) -> dict[str, Source]:
    """Return the sources of a file, by id. Raises CatalogError: a source without a title or with an unknown key."""
    reader = Reader(path, {})
    found = {}
    for name, item in reader.mapping(data, ()).items():
        parts = reader.mapping(item, (name,), Source._fields[1:])
        if not parts.get("title"):
            raise reader.fail((name,), "'title' is missing, expected the title of the source")
        found[name] = Source(id=name, **{key: str(part) for key, part in parts.items() if part is not None})
    return found


def read_rates(path: Path, reader: Reader) -> tuple[tuple[int, Rate], ...]:
    """Return the measured rates of a model from the CSV next to its YAML file, each with its line number.

    Raises CatalogError: a wrong header, a rate that is not a positive number, an unknown precision, source or grade.
    """
    columns = list(Rate._fields)
    rows = csv.reader(read_text(path).splitlines())
    try:
        header = next(rows, [])
        if header not in (columns, columns[:-1], columns[:-2]):  # the mean, and the batch, may be left out
            raise CatalogError(f"{path}:1: found the columns {','.join(header)}, expected {','.join(columns)}")
        return tuple((rows.line_num, _rate(path, rows.line_num, row, len(header), reader)) for row in rows)
    except csv.Error as error:
        raise CatalogError(f"{path}:{rows.line_num}: not readable as CSV: {error}") from None


def _rate(path: Path, line: int, row: list[str], columns: int, reader: Reader) -> Rate:
    def fail(message: str) -> CatalogError:
        return CatalogError(f"{path}:{line}: {message}")

    if len(row) != columns:
        raise fail(f"found {len(row)} columns, expected {columns}")
    gpu, precision, rate, achieved, gpus, nodes, protocol, round_, source, where, grade, note, *rest = row
    batch, run_mean = (*rest, "", "")[:2]
    if precision not in PRECISIONS:
        raise fail(f"precision '{precision}', {expected_one_of(precision, PRECISIONS)}")
    if grade not in GRADES:
        raise fail(f"grade '{grade}', {expected_one_of(grade, GRADES)}")
    if source not in reader.sources:
        raise fail(f"unknown source '{source}'{nearest(source, reader.sources)}")
    try:
        if "_" in rate + achieved + batch + run_mean:  # Python reads it between digits, other programs do not
            raise ValueError
        numbers = [float(item) if item else None for item in (rate, achieved, batch, run_mean)]
        sizes = int(gpus), int(nodes)
    except (ValueError, OverflowError):
        found = ", ".join(brief(item) for item in (rate, achieved, gpus, nodes, batch, run_mean) if item)
        expected = "a number for the rate, FLOP/s, batch and mean, whole numbers for GPUs and nodes"
        raise fail(f"found {found}, expected {expected}") from None
    given = [number for number in (*numbers, *sizes) if number is not None]
    if numbers[:2] == [None, None] or not all(0 < number < float("inf") for number in given):
        raise fail("expected a rate or FLOP/s above 0, and at least one GPU and one node")
    return Rate(gpu, precision, numbers[0], numbers[1], *sizes, protocol, round_, source, where, grade, note, *numbers[2:])


def _of_drives(made: Storage, size: Value | None) -> float | None:
    """Raw capacity of the drives of a unit; None where their number or their size is not known."""
    return None if made.drives is None or size is None else made.drives.value * size.value
