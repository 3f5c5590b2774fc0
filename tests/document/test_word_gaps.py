"""A template that leaves requirements out, or holds them twice, says so."""

import docx
import pytest
from click.testing import CliRunner
from conftest import EXAMPLES, example_plan

from ingest.cli.group import command
from ingest.reports.document.plan_documents import tender_document
from ingest.reports.document.word import SECTIONS as OF_KINDS
from ingest.reports.document.word import template_warnings

#: The site meets what guidance asks for, so that its document has no section about it.
SECTIONS = {name: title for name, title in OF_KINDS["vendor"].items() if name != "guidance"}
SITE = EXAMPLES / "enterprise-64-nodes.yaml"


@pytest.fixture(scope="module")
def enterprise_document():
    """The document of the enterprise example, without charts."""
    return tender_document(example_plan(SITE.stem))


@pytest.fixture
def warned(enterprise_document, tmp_path):
    """The warnings on a template of these lines, without its path."""
    path = tmp_path / "house.docx"

    def warnings(*lines: str) -> list[str]:
        made = docx.Document()
        for line in lines:
            made.add_paragraph(line)
        made.save(path)
        found = template_warnings(enterprise_document, path)
        assert all("\n" not in line for line in found)
        return [line.removeprefix(f"--template: '{path}' ") for line in found]

    return warnings


def test_what_a_template_leaves_out_is_named_with_the_fields_that_bring_it(warned):
    found = warned("{{title}}", "{{scope}}", "At least {{R-READ-01}}")
    mandatory = {one.id for one in example_plan(SITE.stem).requirements if one.priority == "mandatory"}
    assert len(found) == 1
    missed, _, fields = found[0].partition(": add ")
    assert {one.partition(" ")[0] for one in missed.removeprefix("leaves out ").split(", ")} >= mandatory - {"R-READ-01"}
    assert "R-READ-01" not in missed
    assert fields == f"{', '.join('{{' + name + '}}' for name in SECTIONS if name != 'scope')} or {{{{all}}}}"


def test_sections_without_requirements_are_named_by_their_titles(warned):
    names = [name for name in SECTIONS if name not in ("protocols", "response")]
    assert warned(*(f"{{{{{name}}}}}" for name in names)) == [
        "leaves out the sections Interfaces, security, operation; Response form: add {{protocols}}, {{response}} or {{all}}"
    ]


@pytest.mark.parametrize("lines", [("{{all}}",), ("no field",), tuple(f"{{{{{name}}}}}" for name in SECTIONS)])
def test_a_template_with_everything_is_silent(warned, lines):
    assert warned(*lines) == []


@pytest.mark.parametrize("lines", [("{{all}}", "{{growth}}"), ("{{all}}{{growth}} {{ growth }}",)])
def test_what_stands_twice_is_named(warned, lines):
    assert warned(*lines) == ["holds more than once: Growth"]


def test_the_whole_document_twice_names_every_section(warned):
    assert warned("{{all}}", "{{all}}") == [f"holds more than once: {'; '.join(SECTIONS.values())}"]


def test_the_command_warns_on_standard_error(tmp_path):
    made = docx.Document()
    made.add_paragraph("{{title}} {{scope}}")
    made.save(tmp_path / "house.docx")
    options = [str(SITE), "--for-vendor", "-o", str(tmp_path / "rfp.docx"), "--template", str(tmp_path / "house.docx")]
    done = CliRunner().invoke(command, ["report", *options])
    assert done.exit_code == 0
    assert "leaves out R-READ-01 (mandatory), " in done.stderr
    assert "leaves out" not in done.stdout
