"""The limits that SECURITY.md states are those of the code, and what is written is inert."""

import csv
import io
import json
import subprocess
import sys

import pytest
from conftest import ROOT

from ingest import files
from ingest.catalog import yaml_reader
from ingest.corpus import measurement_file
from ingest.corpus.formats import archives, rows
from ingest.reports.document import word
from ingest.reports.page import Page, as_csv
from ingest.rfp import workbook_reader

STATED = {
    "YAML": (yaml_reader.MAX_BYTES, yaml_reader.MAX_DEPTH, yaml_reader.MAX_BRACKETS),
    "JSON": (files.MOST_DIGITS, measurement_file.MOST_BYTES),
    "Returned workbook": (
        workbook_reader.MOST_FILE_BYTES,
        workbook_reader.MOST_PARTS,
        workbook_reader.MOST_SHEET_BYTES,
        workbook_reader.MOST_ROWS,
        workbook_reader.MOST_COLUMNS,
    ),
    "Template (.docx)": (word.MOST_BYTES,),
    "Archive of a corpus": (archives.MOST_HEADER_BYTES, rows.LIMIT_BYTES),
}


@pytest.mark.parametrize("name", STATED)
def test_a_stated_limit_is_that_of_the_code(name):
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
    words = line.replace(";", " ").replace(", ", " ").split()
    assert [word for word in words if word[0].isdigit()] == [f"{limit:,}" for limit in STATED[name]]


@pytest.mark.parametrize("start", "=+-@\t\r")
def test_a_text_in_csv_is_no_formula(start):
    table = [["name"], [f'{start}cmd|"/k calc"!A1'], [f"plain {start}"], [-5]]
    written = [row[0] for row in csv.reader(io.StringIO(as_csv(Page("t", (), table=table))))]
    assert not written[1].startswith(start)
    assert written[3] == "-5"


SKIPPED = {"name": "a", "skip_reason": "not found"}
SOUND, HOLED = ({"name": "b", "version": "1", "vulns": holes} for holes in ([], [{"id": "X-1", "fix_versions": ["2"]}]))
LOST = "audit: the lists of vulnerabilities cannot be reached: "
AUDITS = {
    "raise SystemExit('no route to the service')": (2, LOST + "no route to the service\n"),
    f"print({json.dumps(json.dumps({'dependencies': [SKIPPED]}))})": (2, LOST + "they know none of the packages\n"),
    f"print({json.dumps(json.dumps({'dependencies': [SKIPPED, SOUND]}))})": (
        0,
        "1 packages, 0 known vulnerabilities\nnot in the lists: a\n",
    ),
    f"print({json.dumps(json.dumps({'dependencies': [HOLED]}))})": (
        1,
        "b 1: X-1, corrected in 2\n1 packages, 1 known vulnerabilities\n",
    ),
}


@pytest.mark.parametrize("service", AUDITS)
def test_an_audit_says_what_it_could_not_ask(service, tmp_path):
    (tmp_path / "pip_audit.py").write_text(service)
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); import audit; sys.exit(audit.main())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(tmp_path)}
    )
    assert (done.returncode, done.stdout + done.stderr) == AUDITS[service]
