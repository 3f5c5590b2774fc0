"""A broken or hostile workbook is refused in one line, within limits of time and memory."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import openpyxl
import pytest
from conftest import ROOT, table
from memory import MOST_HELD
from offers import told

from ingest.rfp.response_form import HEADS, REQUIREMENTS_SHEET, RESPONSE_SHEET, VALUE

VALUES = {"Id": "R-READ-01", "Priority": "mandatory", "Value": 100, "Required": 100, "Unit": "B/s", "As-is value": 123}
#: Memory of a process that reads a hostile workbook, in bytes.
MOST_MEMORY = 300_000_000


def small(path: Path, change: Callable[[openpyxl.Workbook], object] = bool) -> Path:
    """A workbook with one requirement and its answer, changed."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, required in HEADS.items():
        sheet = book.create_sheet(name)
        heads = (*required, VALUE) if name == REQUIREMENTS_SHEET else required
        sheet.append(heads)
        sheet.append([VALUES.get(head) for head in heads])
    change(book)
    book.save(path)
    return path


def archive(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return path


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as source:
        return {name: source.read(name) for name in source.namelist()}


def replaced(path: Path, part: str, before: bytes, after: bytes) -> Path:
    """Change the text of one part of the small workbook."""
    parts = parts_of(small(path))
    assert before in parts[part]
    return archive(path, {**parts, part: parts[part].replace(before, after, 1)})


def refusal(path: Path) -> str:
    done = told("response", path)
    assert done.code == 1
    return done.refusal


def costs(path: Path) -> str:
    """What is said of a line whose cell cannot be read, of an offer that is judged all the same."""
    done = told("response", path)
    assert done.code == 3
    assert "1 not readable" in done.out
    return done.out


def test_a_workbook_of_as_many_rows_as_may_be_is_read(tmp_path):
    path = small(tmp_path / "offer.xlsx", lambda book: setattr(book[RESPONSE_SHEET].cell(1_000, 20), "value", "x"))
    assert "1 with reservations to decide" in told("response", path).out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda book: book.remove(book["Requirements"]), "there is no sheet 'Requirements', expected a workbook that `ingest"),
        (lambda book: setattr(book[RESPONSE_SHEET], "title", "Vendor responses"), "did you mean 'Vendor responses'?"),
        (lambda book: book[RESPONSE_SHEET].delete_cols(5), "lacks the heading 'Unit', expected Id, Priority, Requirement"),
        (lambda book: book[RESPONSE_SHEET].delete_rows(1, 9), "lacks the heading 'Id'"),
        (lambda book: setattr(book[RESPONSE_SHEET]["H1"], "value", "As-is value"), "has the heading 'As-is value' twice"),
        (lambda book: setattr(book[RESPONSE_SHEET].cell(1_001, 20), "value", "x"), "'Vendor response' has more than 1,000"),
        (lambda book: setattr(book["Requirements"]["E2"], "value", "much"), "R-READ-01: found mandatory much, expected one of"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(tmp_path, change, message):
    assert message in refusal(small(tmp_path / "offer.xlsx", change))


def test_an_area_that_is_one_cell_costs_its_lines(tmp_path):
    path = small(tmp_path / "offer.xlsx", lambda book: book[RESPONSE_SHEET].merge_cells("F2:H4"))
    assert "F2:H4 is one merged cell, expected a cell for each answer" in costs(path)


@pytest.mark.parametrize("written", ["NaN", "INF", "1e999", "-1e999", "1e", "0x10", "1" * 5000])
def test_what_is_not_a_number_costs_its_line_or_the_workbook(tmp_path, written):
    """What no spreadsheet program writes, but a file can hold."""
    part = "xl/worksheets/sheet2.xml"
    path = replaced(tmp_path / "offer.xlsx", part, b"<v>123</v>", b"<v>%s</v>" % written.encode())
    done = told("response", path)
    assert (done.code, "1 not readable" in done.out) in {(3, True), (1, False)}


def test_foreign_and_broken_files(tmp_path):
    openpyxl.Workbook().save(tmp_path / "foreign.xlsx")
    whole = small(tmp_path / "whole.xlsx").read_bytes()
    (tmp_path / "short.xlsx").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.xlsx").write_text("Id,Comply\n", encoding="utf-8")
    (tmp_path / "empty.xlsx").write_bytes(b"")
    archive(tmp_path / "zip.xlsx", {"readme": b"no workbook"})
    for name, message in {
        "foreign": "there is no sheet 'Requirements'",
        "short": "not readable as .xlsx: a part is missing or damaged ('File is not a zip file')",
        "text": "not readable as .xlsx: a part is missing or damaged ('File is not a zip file')",
        "empty": "not readable as .xlsx: a part is missing or damaged ('File is not a zip file')",
        "zip": "not readable as .xlsx: a part is missing or damaged",
        "absent": "cannot be read: No such file or directory, expected a workbook",
    }.items():
        assert message in refusal(tmp_path / f"{name}.xlsx"), name


@pytest.mark.parametrize(("part", "size", "message"), table("rfp/cases.yaml")["a_part_that_unpacks_to_too_much_is_not_read"])
def test_a_part_that_unpacks_to_too_much_is_not_read(tmp_path, part, size, message):
    parts = parts_of(small(tmp_path / "whole.xlsx"))
    path = archive(tmp_path / "bomb.xlsx", {**parts, part: parts.get(part, b"").ljust(size)})
    assert message in refusal(path)


def test_many_parts_are_refused(tmp_path):
    path = archive(tmp_path / "many.xlsx", {f"xl/media/{number}": b"" for number in range(2_001)})
    assert "has 2,001 parts, expected at most 2,000" in refusal(path)
    path = archive(tmp_path / "fewer.xlsx", {f"xl/media/{number}": b"" for number in range(2_000)})
    assert "not readable as .xlsx" in refusal(path)


def test_a_size_that_lies_is_noticed(tmp_path):
    """The table of contents gives a small size: no more than that is unpacked."""
    path = archive(tmp_path / "lies.xlsx", {"xl/workbook.xml": bytes(30_000_000)})
    data = path.read_bytes()
    assert data.count((30_000_000).to_bytes(4, "little")) == 2
    path.write_bytes(data.replace((30_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little")))
    done, peak = bounded(path)
    assert "lies.xlsx" in done
    assert peak < MOST_MEMORY


def with_rows(path: Path, rows: Iterable[bytes]) -> Path:
    """The small workbook with other rows on the response form."""
    part = "xl/worksheets/sheet2.xml"
    parts = parts_of(small(path))
    head, _, tail = parts[part].partition(b"<sheetData>")
    parts[part] = head + b"<sheetData>" + b"".join(rows) + tail[tail.index(b"</sheetData>") :]
    return archive(path, parts)


def test_rows_far_apart_and_wide_are_not_filled_up(tmp_path):
    rows = (b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (n, n) for n in range(1, 1_048_576, 20))
    done, peak = bounded(with_rows(tmp_path / "wide.xlsx", rows))
    assert "lacks the heading 'Id'" in done
    assert peak < MOST_MEMORY


def test_a_link_to_another_file_is_not_followed(tmp_path):
    """Its formula is refused in an answer, and the link itself is not read."""
    path = small(tmp_path / "offer.xlsx", lambda book: setattr(book[RESPONSE_SHEET]["G2"], "value", "=[1]Prices!A1"))
    links = "xl/_rels/workbook.xml.rels"
    kind = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLink"
    extra = b'<Relationship Id="rId900" Type="%s" Target="externalLinks/absent.xml"/></Relationships>' % kind
    parts = parts_of(path)
    archive(path, {**parts, links: parts[links].replace(b"</Relationships>", extra)})
    assert "('As-is value'): found the formula '=[1]Prices!A1'" in costs(path)


def test_entities_are_not_expanded(tmp_path):
    """The classic of nine levels of ten: three gigabytes, were they expanded."""
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))
    part, path = "xl/worksheets/sheet1.xml", tmp_path / "laughs.xlsx"
    data = parts_of(small(path))[part]
    assert data.count(b"<worksheet") == data.count(b">R-READ-01<") == 1
    data = data.replace(b"<worksheet", f"<!DOCTYPE worksheet [{levels}]><worksheet".encode())
    archive(path, {**parts_of(path), part: data.replace(b">R-READ-01<", b">&l9;<")})
    assert "not readable as .xlsx" in refusal(path)


def bounded(path: Path) -> tuple[str, int]:
    """What the command says, and the most memory that its process took, in bytes."""
    code = f"""{MOST_HELD}
import sys
from ingest.cli.main import main
sys.argv[0] = "ingest"
try:
    main()
except SystemExit as done:
    print(done.code, most_held())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "response", path], capture_output=True, encoding="utf-8", check=True, cwd=ROOT, timeout=60
    )
    code, peak = done.stdout.split()
    assert code == "1", done
    assert len(done.stderr.splitlines()) == 1
    return done.stderr, int(peak)


def test_a_number_of_any_length_is_one_line_in_every_cell(tmp_path):
    sent = small(tmp_path / "sent.xlsx")
    parts = parts_of(sent)
    cells = [
        (part, cell)
        for part in parts
        if part.startswith("xl/worksheets/")
        for cell in re.finditer(rb"<v>([0-9.]+)</v>", parts[part])
    ]
    assert cells
    for part, cell in cells:
        for number in (b"9" * 400, b"-" + b"9" * 400, b"9" * 30):
            text = parts[part]
            path = archive(tmp_path / "offer.xlsx", {**parts, part: text[: cell.start(1)] + number + text[cell.end(1) :]})
            for more in ((), ("--sent", sent)):
                done = told("response", path, *more)
                assert done.code in (0, 1, 3)
