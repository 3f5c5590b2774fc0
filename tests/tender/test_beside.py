"""What stands beside the cells of an offer is a note: a condition in a text box, a header or a message is seen by people."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import openpyxl
import pytest
from offers import edited, everything_met, filled, told
from openpyxl.formatting.rule import Rule
from openpyxl.styles import numbers
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.worksheet.datavalidation import DataValidation

import ingest

EXAMPLES = Path(__file__).parents[2] / "examples"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
TEXT_BOX = (
    f'<xdr:wsDr xmlns:xdr="{DRAWING}/spreadsheetDrawing" xmlns:a="{DRAWING}/main"><xdr:twoCellAnchor><xdr:sp><xdr:txBody>'
    "<a:p><a:r><a:t>Prices hold</a:t></a:r><a:r><a:t>for a week.</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    "</xdr:twoCellAnchor></xdr:wsDr>"
)
BOMB = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(12))


@pytest.fixture
def offer(hpc_plan, hpc_sent, tmp_path) -> Path:
    return filled(hpc_sent.read_bytes(), everything_met(hpc_plan), tmp_path / "offer.xlsx")


def part_of(path: Path, sheet: str) -> str:
    """The part of a sheet, as openpyxl numbers them."""
    return f"xl/worksheets/sheet{openpyxl.load_workbook(path, read_only=True).sheetnames.index(sheet) + 1}.xml"


def with_parts(path: Path, parts: Mapping[str, str]) -> Path:
    """Put parts into a package, in the place of those of the same name."""
    with zipfile.ZipFile(path) as source:
        kept = {name: source.read(name) for name in source.namelist() if name not in parts}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in {**kept, **parts}.items():
            made.writestr(name, data)
    return path


def linked(path: Path, sheet: str, kind: str, target: str, mode: str = "") -> dict[str, str]:
    """The part by which a sheet names another one."""
    folder, _, name = part_of(path, sheet).rpartition("/")
    outside = f' TargetMode="{mode}"' if mode else ""
    link = f'<Relationship Id="rId1" Type="{OFFICE}/{kind}" Target="{target}"{outside}/>'
    return {f"{folder}/_rels/{name}.rels": f'<Relationships xmlns="{RELATIONS}">{link}</Relationships>'}


def drawn(path: Path, drawing: str) -> Path:
    """An offer with a drawing on the sheet that is filled in."""
    links = linked(path, "Vendor response", "drawing", "../drawings/drawing9.xml")
    return with_parts(path, {**links, "xl/drawings/drawing9.xml": drawing})


def header(book) -> None:
    book["Requirements"].oddHeader.center.text = "Subject to our terms && prices"


def message(book) -> None:
    rule = DataValidation(type="whole", promptTitle="Terms", prompt="no warranty", showInputMessage=True)
    rule.add("H3")
    book["Vendor response"].add_data_validation(rule)


def repainted(book) -> None:
    style = DifferentialStyle(numFmt=numbers.NumberFormat(numFmtId=200, formatCode='"as asked"'))
    book["Vendor response"].conditional_formatting.add("G2:G9", Rule(type="expression", dxf=style, formula=["TRUE"]))


def linking(book) -> None:
    book["Vendor response"]["A3"].hyperlink = "https://offeror.example/terms"


def hidden_column(book) -> None:
    book["Vendor response"]["S2"].value = "without support"
    book["Vendor response"].column_dimensions["S"].hidden = True


def flat_row(book) -> None:
    book["Vendor response"].row_dimensions[3].height = 0.5


def hidden_sheet(book) -> None:
    book.create_sheet("Terms").sheet_state = "veryHidden"


NOTES = [
    (header, {"outside the form, Requirements: header or footer: Subject to our terms & prices"}),
    (message, {"outside the form, Vendor response: input message: Terms no warranty"}),
    (repainted, {'a conditional format shows "as asked"'}),
    (linking, {"outside the form, Vendor response: link to https://offeror.example/terms"}),
    (
        hidden_column,
        {"note outside the form, Vendor response!S2: without support", "Vendor response: rows or columns are hidden"},
    ),
    (flat_row, {"Vendor response: rows or columns are hidden"}),
    (hidden_sheet, {"Terms: a sheet that was not sent"}),
]


@pytest.mark.parametrize(("change", "notes"), NOTES)
def test_what_is_put_beside_the_cells_is_noted_with_and_without_the_workbook_that_was_sent(offer, hpc_sent, change, notes):
    path = edited(offer.read_bytes(), change, offer)
    for answer in (ingest.response(path), ingest.response(path, sent=hpc_sent)):
        assert not answer.changes
        assert set(answer.notes) == notes


def test_a_text_box_is_read_and_a_picture_named(offer, hpc_sent):
    path = drawn(offer, TEXT_BOX)
    for answer in (ingest.response(path), ingest.response(path, sent=hpc_sent)):
        assert answer.notes == ("outside the form, Vendor response: text box: Prices hold for a week.",)
    assert "text box: Prices hold for a week." in told("response", path).err
    picture = drawn(path, TEXT_BOX.replace("xdr:sp>", "xdr:pic>").replace("Prices hold", "").replace("for a week.", ""))
    assert ingest.response(picture).notes == ("outside the form, Vendor response: picture",)


@pytest.mark.parametrize(
    ("kind", "target", "mode", "note"),
    [
        ("image", "../media/seal.png", "", "picture"),
        ("oleObject", "../embeddings/offer.bin", "", "a part that was not sent: oleObject"),
        ("externalLinkPath", "file:///prices.xlsx", "External", "link to file:///prices.xlsx"),
    ],
)
def test_parts_below_a_sheet_that_no_report_has_are_noted(offer, kind, target, mode, note):
    path = with_parts(offer, linked(offer, "Acceptance", kind, target, mode))
    assert ingest.response(path).notes == (f"outside the form, Acceptance: {note}",)


def test_a_part_of_the_workbook_that_no_report_has_is_noted(offer):
    with zipfile.ZipFile(offer) as parts:
        links = parts.read("xl/_rels/workbook.xml.rels").decode()
    extra = f'<Relationship Id="rId900" Type="{OFFICE}/externalLink" Target="externalLinks/externalLink1.xml"/></Relationships>'
    path = with_parts(offer, {"xl/_rels/workbook.xml.rels": links.replace("</Relationships>", extra)})
    assert ingest.response(path).notes == ("the workbook carries a part that was not sent: externalLink",)


def test_a_button_and_a_box_of_the_old_kind_are_noted_and_the_frame_of_a_comment_is_not(offer):
    frame = (
        '<xml xmlns:v="v" xmlns:x="x"><v:shape><v:textbox><div>{}</div></v:textbox><x:ClientData ObjectType="{}"/></v:shape>'
    )
    links = linked(offer, "Acceptance", "vmlDrawing", "../drawings/vml9.vml")
    quiet = with_parts(offer, {**links, "xl/drawings/vml9.vml": frame.format("", "Note")})
    assert ingest.response(quiet).notes == ()
    loud = with_parts(offer, {**links, "xl/drawings/vml9.vml": frame.format("no<br>tests", "Button")})
    assert ingest.response(loud).notes == (
        "outside the form, Acceptance: form control: Button",
        "outside the form, Acceptance: text box: no tests",
    )


def test_what_the_buyer_drew_before_sending_is_no_note(offer, hpc_sent):
    both = drawn(edited(offer.read_bytes(), header, offer), TEXT_BOX)
    assert len(ingest.response(both, sent=hpc_sent).notes) == 2
    assert ingest.response(both, sent=both).notes == ()


def loop(path: Path) -> Path:
    """Two drawings that name each other."""
    link = f'<Relationship Id="rId1" Type="{OFFICE}/drawing" Target="drawing9.xml"/>'
    links = {"xl/drawings/_rels/drawing9.xml.rels": f'<Relationships xmlns="{RELATIONS}">{link}</Relationships>'}
    return with_parts(drawn(path, TEXT_BOX), links)


def test_drawings_that_name_each_other_end(offer):
    assert len(ingest.response(loop(offer)).notes) == 1


@pytest.mark.parametrize(
    "drawing", ["", "<a", "no drawing", f"<!DOCTYPE a [{BOMB}]><a>&l11;</a>"], ids=["empty", "cut", "text", "entities"]
)
def test_a_broken_or_swelling_drawing_is_refused_in_one_line(offer, drawing):
    done = told("response", drawn(offer, drawing))
    assert done.code == 1
    assert "not readable as .xlsx" in done.refusal


def test_a_drawing_that_unpacks_to_too_much_is_refused(offer):
    done = told("response", drawn(offer, TEXT_BOX + " " * 6_000_000))
    assert done.code == 1
    assert "'xl/drawings/drawing9.xml' unpacks to 6," in done.refusal
