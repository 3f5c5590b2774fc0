"""A buyer's own .docx: every field is filled where it stands, or refused with its place."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import pytest
from click.testing import CliRunner
from conftest import ROOT, refused
from docx.enum.section import WD_ORIENT
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Cm, RGBColor
from hypothesis import given, settings
from hypothesis import strategies as st

import ingest
from ingest.cli.group import command
from ingest.errors import IngestError, UsageError
from ingest.reports.charts.chart import Bar, demand
from ingest.reports.document.markup import Bullets, DerivationListing, Document, DocumentSection, Figure, Paragraph, Table
from ingest.reports.document.word import SECTIONS, VALUES, WHOLE, as_docx
from ingest.reports.plan_report import report

BLOCKS = (
    Paragraph("Words of the scope.", "Note."),
    Bullets(("first", "second")),
    Table("Values", ("Id", "Value"), (("R-READ-01", "4 GB/s"),), (1, 3)),
    Figure(demand([Bar("a", 3e9), Bar("b", 1e9)], Bar("all", 4e9))),
    DerivationListing("How it came about", ("a = 1", "  = b × c")),
)
DOCUMENT = Document(
    "Storage for <AI>",
    "made by a tool",
    (DocumentSection("scope", "Scope", BLOCKS), DocumentSection("end", "End", (Paragraph("Words of the end."),))),
    (("total", "4 GB/s"), ("site", "{{total}} & <b>")),
)
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def filled(tmp_path: Path, made: Any) -> Any:
    path = tmp_path / "template.docx"
    made.save(path)
    return docx.Document(io.BytesIO(as_docx(DOCUMENT, path)))


def with_lines(*lines: str) -> Any:
    made = docx.Document()
    for line in lines:
        made.add_paragraph(line)
    return made


def repacked(tmp_path: Path, change: Callable[[str, bytes], bytes], **more: str) -> Path:
    """A template whose parts are changed, with more parts under `word/`."""
    plain, other = tmp_path / "plain.docx", tmp_path / "other.docx"
    with_lines("Text").save(plain)
    with zipfile.ZipFile(plain) as before, zipfile.ZipFile(other, "w") as after:
        for name in before.namelist():
            after.writestr(name, change(name, before.read(name)))
        for name, text in more.items():
            after.writestr(f"word/{name}.xml", text)
    return other


def lines_of(word: Any) -> list[str]:
    return [paragraph.text for paragraph in word.paragraphs]


def everything(root: Any) -> str:
    return "".join(text.text or "" for text in root.iter(f"{WORD}t"))


def test_sections_and_values_are_filled_where_they_stand(tmp_path):
    found = lines_of(filled(tmp_path, with_lines("Own words", "{{scope}}", "The total is {{ total }}.", "Last words")))
    assert found[:2] == ["Own words", "1 Scope"]
    assert found[-2:] == ["The total is 4 GB/s.", "Last words"]
    assert "2 End" not in found


def test_text_around_a_section_stays_and_several_fit_in_one_paragraph(tmp_path):
    found = lines_of(filled(tmp_path, with_lines("Before {{scope}} between {{total}} {{end}} behind", "{{end}}{{scope}}")))
    places = [found.index(line) for line in ("Before ", "1 Scope", " between 4 GB/s ", "2 End", " behind")]
    assert places == sorted(places)
    assert found[places[-1] + 1 : places[-1] + 4] == ["2 End", "Words of the end.", "1 Scope"]
    assert not [line for line in found if "{{" in line]


def test_a_template_without_fields_gets_everything_at_its_end(tmp_path):
    found = lines_of(filled(tmp_path, with_lines("First")))
    assert found[:2] == ["First", "Storage for <AI>"]
    assert "2 End" in found


def test_a_value_that_looks_like_a_field_stays_text(tmp_path):
    assert lines_of(filled(tmp_path, with_lines("{{site}} {{total}}"))) == ["{{total}} & <b> 4 GB/s"]


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_field_may_be_dealt_out_over_runs(data, tmp_path_factory):
    text = "From {{total}} to {{site}} and {{ total}}{{total }}."
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=12)))
    word = docx.Document()
    paragraph = word.add_paragraph()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        paragraph.add_run(text[start:end])
    found = filled(tmp_path_factory.mktemp("runs"), word)
    assert lines_of(found) == ["From 4 GB/s to {{total}} & <b> and 4 GB/s4 GB/s."]


def test_a_field_over_several_runs_keeps_the_look_of_the_first(tmp_path):
    made = docx.Document()
    paragraph = made.add_paragraph("At least ")
    red = paragraph.add_run("{{to")
    red.bold, red.font.color.rgb = True, RGBColor(255, 0, 0)
    paragraph.add_run("tal").italic = True
    paragraph.add_run("}} of reads")
    runs = filled(tmp_path, made).paragraphs[0].runs
    assert [(run.text, run.bold, run.italic) for run in runs if run.text] == [
        ("At least ", None, None),
        ("4 GB/s", True, None),
        (" of reads", None, None),
    ]
    assert runs[1].font.color.rgb == RGBColor(255, 0, 0)


def test_a_section_in_runs_of_its_own_look_cuts_between_them(tmp_path):
    made = docx.Document()
    paragraph = made.add_paragraph(style="List Bullet")
    paragraph.add_run("Before ").bold = True
    paragraph.add_run("{{en")
    paragraph.add_run("d}}")
    paragraph.add_run(" behind").italic = True
    first, *_, last = filled(tmp_path, made).paragraphs
    assert (first.text, first.runs[0].bold, first.style.name) == ("Before ", True, "List Bullet")
    assert (last.text, last.style.name) == (" behind", "List Bullet")
    assert [run.italic for run in last.runs if run.text] == [True]


def test_merged_and_nested_cells_are_filled_once(tmp_path):
    made = docx.Document()
    table = made.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(0, 2)).text = "{{total}}"
    table.cell(1, 0).merge(table.cell(1, 1)).text = "see {{scope}}"
    table.cell(1, 2).add_table(1, 1).cell(0, 0).text = "inner {{total}}"
    found = filled(tmp_path, made).tables[0]
    assert found.cell(0, 0).text == "4 GB/s"
    assert found.cell(1, 0).text.startswith("see \n1 Scope")
    assert found.cell(1, 2).tables[0].cell(0, 0).text == "inner 4 GB/s"


def test_a_section_in_a_narrow_cell_is_as_wide_as_the_cell(tmp_path):
    made = docx.Document()
    table = made.add_table(1, 2)
    table.cell(0, 1).width = Cm(7)
    table.cell(0, 1).text = "{{scope}}"
    inner = filled(tmp_path, made).tables[0].cell(0, 1)
    assert sum(column.width.cm for column in inner.tables[0].columns) == pytest.approx(6.6, abs=0.05)
    assert int(inner._tc.xpath(".//wp:extent/@cx")[0]) / 360000 == pytest.approx(6.6, abs=0.05)


def test_a_section_is_as_wide_as_its_page(tmp_path):
    made = docx.Document()
    made.sections[0].page_width, made.sections[0].left_margin, made.sections[0].right_margin = Cm(14), Cm(2), Cm(2)
    made.add_paragraph("{{scope}}")
    wide = made.add_section()
    wide.orientation, wide.page_width, wide.page_height = WD_ORIENT.LANDSCAPE, Cm(29.7), Cm(21)
    made.add_paragraph("{{scope}}")
    tables = filled(tmp_path, made).tables
    widths = [sum(column.width.cm for column in table.columns) for table in tables]
    assert widths == [pytest.approx(10, abs=0.05), pytest.approx(25.7, abs=0.05)]


def test_a_field_in_a_link_is_filled(tmp_path):
    made = docx.Document()
    link = OxmlElement("w:hyperlink")
    link.append(made.add_paragraph().add_run("{{total}}")._r)
    made.add_paragraph("See ")._p.append(link)
    assert lines_of(filled(tmp_path, made))[-1] == "See 4 GB/s"


def test_headers_and_footers_of_all_kinds_are_filled(tmp_path):
    made = with_lines("Text")
    page = made.sections[0]
    page.different_first_page_header_footer = True
    page.header.paragraphs[0].text = "{{total}} top"
    page.footer.add_table(1, 1, Cm(5)).cell(0, 0).text = "{{total}} foot"
    page.first_page_header.paragraphs[0].text = "{{total}} first"
    found = filled(tmp_path, made)
    page = found.sections[0]
    parts = (page.header, page.footer, page.first_page_header)
    assert [everything(part._element) for part in parts] == ["4 GB/s top", "4 GB/s foot", "4 GB/s first"]
    assert "1 Scope" not in lines_of(found)  # the template has fields, so nothing is added at its end


def text_box(text: str) -> Any:
    return parse_xml(
        f'<w:r {nsdecls("w")} xmlns:v="urn:schemas-microsoft-com:vml"><w:pict><v:shape><v:textbox><w:txbxContent><w:p><w:r>'
        f"<w:t>{text}</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r>"
    )


def test_text_boxes_are_filled_and_stay_when_their_paragraph_is_cut(tmp_path):
    made = with_lines("{{end}}")
    made.paragraphs[0]._p.append(text_box("box {{total}}"))
    found = filled(tmp_path, made)
    assert lines_of(found) == ["2 End", "Words of the end.", ""]
    assert everything(found.element.body).endswith("box 4 GB/s")


def test_a_page_layout_that_ends_with_the_field_stays(tmp_path):
    made = with_lines("{{end}}")
    made.add_section()
    made.add_paragraph("Second layout")
    found = filled(tmp_path, made)
    assert len(found.sections) == 2
    assert found.element.body.xpath("./w:p[w:pPr/w:sectPr]/preceding-sibling::w:p//w:t/text()")[-1] == "Words of the end."


def test_styles_that_a_template_lacks_are_made(tmp_path):
    made = with_lines("{{all}}")
    for style in list(made.styles):
        if style.name in ("Title", "Heading 1", "List Bullet", "Table Grid", "Caption"):
            style.delete()
    found = filled(tmp_path, made)
    by_text = {paragraph.text: paragraph.style.name for paragraph in found.paragraphs}
    assert by_text["Storage for <AI>"] == "Title"
    assert by_text["1 Scope"] == "Heading 1"
    assert by_text["•\tfirst"] == "List Bullet"
    assert by_text["Values"] == "Caption"
    assert found.tables[0].style.name == "Table Grid"
    assert found.styles["Heading 1"].element.xpath("./w:pPr/w:outlineLvl")


def test_a_style_of_another_kind_under_the_name_is_left_alone(tmp_path):
    made = with_lines("{{scope}}")
    made.styles["Heading 1"].delete()
    made.styles.add_style("Heading 1", docx.enum.style.WD_STYLE_TYPE.CHARACTER)
    assert filled(tmp_path, made).paragraphs[0].style.name == "Heading 1 (RFP)"


def test_pictures_have_numbers_of_their_own(tmp_path):
    drawn = filled(tmp_path, with_lines("{{scope}}", "{{scope}}", "{{all}}")).element.body.xpath(".//wp:docPr/@id")
    assert len(drawn) == len(set(drawn)) == 3


def in_header(word: Any) -> None:
    word.sections[0].header.paragraphs[0].text = "see {{scope}}"


def in_word_field(word: Any) -> None:
    paragraph = word.add_paragraph()
    for kind, text in (("begin", ""), ("separate", "{{scope}}"), ("end", "")):
        run = paragraph.add_run()
        mark = OxmlElement("w:fldChar")
        mark.set(f"{WORD}fldCharType", kind)
        run._r.append(mark)
        paragraph.add_run(text)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "misspelt": (
        lambda word: word.add_paragraph("see {{skope}}"),
        r"unknown field '\{\{skope\}\}' in the text, 'see \{\{skope\}\}', expected one of \{\{all\}\}, \{\{scope\}\}, .*"
        r"did you mean 'scope'\?",
    ),
    "odd": (lambda word: word.add_paragraph("{{a/b!}}"), r"unknown field '\{\{a/b!\}\}' in the text"),
    "in a table": (
        lambda word: setattr(word.add_table(1, 1).cell(0, 0), "text", "{{requirements}}"),
        r"unknown field '\{\{requirements\}\}' in a table of the text",
    ),
    "not closed": (lambda word: word.add_paragraph("{{total} and"), r"a field is not closed in the text, '\{\{total\} and'"),
    "header": (in_header, r"'\{\{scope\}\}' is a section in a header, 'see .*', expected it in the text"),
    "text box": (
        lambda word: word.add_paragraph()._p.append(text_box("box {{scope}}")),
        r"'\{\{scope\}\}' is a section in a text box",
    ),
    "word field": (in_word_field, r"is a section inside one of Word's own fields in the text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_filled_is_refused_with_its_place(tmp_path, case):
    made, message = docx.Document(), REFUSED[case][1]
    REFUSED[case][0](made)
    with refused(error=UsageError, match=message):
        filled(tmp_path, made)


def test_a_field_in_a_footnote_is_refused(tmp_path):
    note = f"<w:footnotes {nsdecls('w')}><w:footnote><w:p><w:r><w:t>see {{{{</w:t></w:r><w:r><w:t>total}}}}</w:t></w:r></w:p>"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    typed = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    added = {
        "[Content_Types].xml": ("Types", f'<Override PartName="/word/footnotes.xml" ContentType="{typed}"/>'),
        "word/_rels/document.xml.rels": ("Relationships", f'<Relationship Id="rId99" Type="{kind}" Target="footnotes.xml"/>'),
    }

    def change(name: str, text: bytes) -> bytes:
        tag, new = added.get(name, ("", ""))
        return text.replace(f"</{tag}>".encode(), f"{new}</{tag}>".encode()) if tag else text

    noted = repacked(tmp_path, change, footnotes=f"{note}</w:footnote></w:footnotes>")
    with pytest.raises(UsageError, match=r"a field in word/footnotes\.xml, 'see \{\{total\}\}', cannot be filled"):
        as_docx(DOCUMENT, noted)


def test_a_part_that_is_no_xml_is_refused(tmp_path):
    broken = repacked(tmp_path, lambda name, text: b"<a><b></a>" if name == "customXml/item1.xml" else text)
    with pytest.raises(IngestError, match=r"--template: customXml/item1\.xml is damaged, expected XML"):
        as_docx(DOCUMENT, broken)


MAIN = b"vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
CHUNK = f"<Relationship Id='rId99' Type='{docx.opc.constants.RELATIONSHIP_TYPE.A_F_CHUNK}' Target='a.html'/></Relationships>"


@pytest.mark.parametrize(
    ("part", "old", "new", "refusal"),
    [
        ("[Content_Types].xml", MAIN, b"vnd.ms-word.document.macroEnabled.main+xml", "holds macros, expected a .docx without"),
        (
            "[Content_Types].xml",
            MAIN,
            MAIN.replace(b"document.main", b"template.main"),
            "is not readable as .docx: content type",
        ),
        ("word/_rels/document.xml.rels", b"</Relationships>", CHUNK.encode(), "is not readable as .docx: .*word/a.html"),
    ],
)
def test_a_template_that_the_library_refuses_is_refused_with_the_reason(tmp_path, part, old, new, refusal):
    other = repacked(tmp_path, lambda name, text: text.replace(old, new) if name == part else text)
    with pytest.raises(IngestError, match=f"^--template: '{other}' {refusal}"):
        as_docx(DOCUMENT, other)


def test_a_broken_template_is_refused(tmp_path):
    broken = tmp_path / "broken.docx"
    broken.write_bytes(b"PK\x03\x04 not really")
    for path, what in ((broken, "is not readable as"), (tmp_path / "absent.docx", "does not exist")):
        with pytest.raises(IngestError, match=f"--template: '{path}' {what}"):
            as_docx(DOCUMENT, path)


@pytest.mark.parametrize("kind", SECTIONS)
def test_every_field_that_is_told_of_exists_and_every_one_that_exists_is_told_of(kind, tmp_path):
    told = re.compile(r"\{\{([\w-]+)\}\}")
    expected = {WHOLE, *SECTIONS[kind], *VALUES, "R-READ-01"}
    every = expected.union(*SECTIONS.values())
    helped = CliRunner().invoke(command, ["report", "--help"]).output
    howto = (ROOT / "docs/howto/write-an-rfp.md").read_text(encoding="utf-8")
    assert {WHOLE, "R-READ-01"} <= set(told.findall(helped)) == set(told.findall(ingest.report.__doc__ or "")) <= every
    assert set(told.findall(howto)) == every
    template = tmp_path / "template.docx"
    with_lines(*(f"{{{{{name}}}}}" for name in sorted(expected - {WHOLE}))).save(template)
    site, target = ROOT / "examples/hpc-128-nodes.yaml", tmp_path / "rfp.docx"
    report(site, output=target, template=template, for_vendor=kind == "vendor")
    found = docx.Document(str(target))
    assert not [line for line in lines_of(found) if "{{" in line]
    for name, title in SECTIONS[kind].items():
        assert name in ("decisions", "guidance") or [line for line in lines_of(found) if line.endswith(title)], title


def test_a_section_of_the_other_document_is_refused_with_the_reason(tmp_path):
    template = tmp_path / "template.docx"
    site = ROOT / "examples/hpc-128-nodes.yaml"
    for name, for_vendor, why in (
        ("assumptions", True, r"is a section of the buyer's report, which vendors do not receive"),
        ("response", False, r"is a section of the vendors' document, which --for-vendor writes"),
    ):
        with_lines(f"{{{{{name}}}}}").save(template)
        with pytest.raises(UsageError, match=rf"'\{{\{{{name}\}}\}}' in .* {why}"):
            report(site, output=tmp_path / "rfp.docx", template=template, for_vendor=for_vendor)


REMOTE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def with_field(word: Any, *pieces: str, simple: bool = False, nested: str = "") -> None:
    paragraph = word.add_paragraph()
    if simple:
        paragraph._p.append(parse_xml(f'<w:fldSimple {nsdecls("w")} w:instr="{pieces[0]}"/>'))
        return
    marks = [("fldChar", "begin"), *(("instrText", piece) for piece in pieces), ("fldChar", "separate"), ("fldChar", "end")]
    if nested:
        marks[1:1] = [("fldChar", "begin"), ("instrText", nested), ("fldChar", "end")]
    for tag, value in marks:
        element = OxmlElement(f"w:{tag}")
        if tag == "fldChar":
            element.set(f"{WORD}fldCharType", value)
        else:
            element.text = value
        paragraph.add_run()._r.append(element)


def linked(word: Any, kind: str, target: str) -> None:
    word.part.relate_to(target, REMOTE + kind, is_external=True)


ACTIVE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "DDE": (lambda word: with_field(word, r'DDEAUTO c:\\windows\\cmd.exe "/k calc"'), "has the field 'DDEAUTO"),
    "DDE in two runs": (lambda word: with_field(word, " DD", "E excel x"), "has the field 'DDE excel x' in word/document.xml"),
    "DDE made by a field": (lambda word: with_field(word, "AUTO x", nested="QUOTE 68 68 69"), "has the field ''"),
    "DDE as a simple field": (lambda word: with_field(word, "dde excel x", simple=True), "has the field 'dde excel x'"),
    "remote text": (lambda word: with_field(word, 'INCLUDETEXT "http://example.org/x"'), "has the field 'INCLUDETEXT"),
    "remote picture": (
        lambda word: linked(word, "image", "http://example.org/x.png"),
        "loads image 'http://example.org/x.png'",
    ),
    "remote object": (lambda word: linked(word, "oleObject", "file:///x"), "loads oleObject 'file:///x' when it is opened"),
}


@pytest.mark.parametrize("case", ACTIVE)
def test_a_template_that_loads_something_on_the_machine_of_a_reader_is_refused(tmp_path, case):
    made, message = with_lines("{{all}}"), ACTIVE[case][1]
    ACTIVE[case][0](made)
    with pytest.raises(IngestError, match=re.escape(message)) as refusal:
        filled(tmp_path, made)
    assert len(str(refusal.value)) < 300


def test_a_template_is_detached_from_its_own_and_harmless_fields_and_links_stay(tmp_path):
    made = with_lines("{{all}}")
    with_field(made, " PAGE ")
    with_field(made, r' TOC \\o "1-3" ')
    linked(made, "hyperlink", "https://example.org/")
    settings = made.part._settings_part
    rid = settings.relate_to("http://example.org/evil.dotm", REMOTE + "attachedTemplate", is_external=True)
    attached = OxmlElement("w:attachedTemplate")
    attached.set("{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id", rid)
    settings.element.append(attached)
    word = filled(tmp_path, made)
    word.save(tmp_path / "again.docx")
    with zipfile.ZipFile(tmp_path / "again.docx") as package:
        found = b"".join(package.read(name) for name in package.namelist())
    assert b"evil.dotm" not in found
    assert b"attachedTemplate" not in found
    assert b"https://example.org/" in found
    assert {" PAGE ", r' TOC \\o "1-3" '} <= {one.text for one in word.element.body.iter(f"{WORD}instrText")}
