"""Which inputs of a site's workbook stand in one cell."""

import functools
import io
import re
import zipfile
from collections import Counter
from typing import Any

import openpyxl
import pytest
from xlsxwriter import Workbook

import ingest
from ingest.errors import UsageError
from ingest.reports.workbook.derivation_cells import MOST_ALONE
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.small_workbooks import sweep_workbook
from ingest.reports.workbook.workbook_writer import numbered_sheet

JOB = {"model": "cosmoflow", "cluster": "main", "nodes": 2, "utilization": 0.9}


@functools.cache
def inputs(jobs: int) -> list[dict[str, Any]]:
    """The rows of the sheet Inputs of a site with so many equal jobs."""
    clusters = {"main": {"node": "dgx-h100", "count": 2 * jobs}}
    plan = ingest.plan({"clusters": clusters, "jobs": {f"job-{place}": JOB for place in range(jobs)}}, samples=0)
    heads, *rows = openpyxl.load_workbook(io.BytesIO(model_workbook(plan)))["Inputs"].iter_rows(values_only=True)
    return [dict(zip(heads, row, strict=True)) for row in rows]


@pytest.mark.parametrize("jobs", [2, MOST_ALONE, MOST_ALONE + 1])
def test_a_fact_stands_once_and_what_a_user_said_at_each_key(jobs):
    rows = inputs(jobs)
    found = Counter(row["Quantity"] for row in rows)
    assert found["sample_bytes"] == found["gpus_per_node"] == 1
    assert next(row["Belongs to"] for row in rows if row["Quantity"] == "sample_bytes") == f"job-0 and {jobs - 1} more"
    said = [row["Key in the site file"] for row in rows if row["Quantity"] == "accelerator_utilization"]
    assert said == [f"jobs.job-{place}.utilization" for place in range(jobs)]


def test_what_nobody_said_stands_once_only_where_very_many_take_it():
    few, many = (Counter(row["Quantity"] for row in inputs(jobs)) for jobs in (MOST_ALONE, MOST_ALONE + 1))
    assert few["cache_hit_fraction"] == few["scaling_efficiency"] == MOST_ALONE
    assert many["cache_hit_fraction"] == many["scaling_efficiency"] == 1


# Cells of large workbooks are those that the library writes itself.

TEXTS = ("plain", "a < b & c > d", ' "quoted" ', "plain", "ü\u2028x", "")
NUMBERS = (0, 1.5, -2e-300, 12345678901234567, 0.1 + 0.2)
WRITTEN = (("A1 * 2", 0.1 + 0.2), ('IF(A1 <> 2, "<&>", 1)', "<&>"), ("A1 > 2", True), ("1 / 0", "#DIV/0!"), ("A1", 3))


def parts(kind, by_row):
    buffer = io.BytesIO()
    book = Workbook(buffer, {"constant_memory": by_row, "strings_to_numbers": False})
    sheet, look = book.add_worksheet("a", kind), book.add_format({"bold": True})
    for row, text in enumerate(TEXTS):
        for column, style in enumerate((look, look, None)):
            sheet.write_string(row, column, text, style)
    for row, number in enumerate(NUMBERS, len(TEXTS)):
        sheet.write_number(row, 26, number, look)
        sheet.write_blank(row, 27, None, look)
    for row, (written, value) in enumerate(WRITTEN, len(TEXTS) + len(NUMBERS)):
        sheet.write_formula(row, 0, f"={written}", look, value)
        sheet.write_formula(row, 1, written, None, value)
    book.close()
    with zipfile.ZipFile(buffer) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.startswith("docProps")}


@pytest.mark.parametrize("by_row", [False, True])
def test_cells_are_written_as_the_library_writes_them(by_row):
    library = parts(None, by_row)
    # The range of columns of a row is a hint that it may lack.
    library["xl/worksheets/sheet1.xml"] = re.sub(rb' spans="\d+:\d+"', b"", library["xl/worksheets/sheet1.xml"])
    assert parts(numbered_sheet(), by_row) == library


# A sweep as a workbook: what the frame holds, row by row.


def test_a_sweep_holds_every_scenario():
    swept = ingest.sweep(model="cosmoflow,resnet50", gpu="h100", axes={"nodes": "1..64*2"})
    whole = swept.to_frame()
    same = {name: value for name, value in swept.constants.items() if name not in swept.grids[0].axes}
    columns = [name for name in whole.columns if name not in same]
    assert all((whole[name] == value).all() for name, value in same.items())
    book = openpyxl.load_workbook(io.BytesIO(sweep_workbook(swept)), data_only=True)
    rows = list(book["Sweep"].iter_rows(values_only=True))
    about = [row[0] for row in book["Read-me"].iter_rows(values_only=True)]
    assert rows[0][0] == "Model"
    assert "GPU: h100-sxm" in about
    assert about[0] == "Sweep"
    assert not any(line.startswith(("model: ", "sample_bytes: ")) for line in about)
    assert "Read bandwidth per job (B/s)" in rows[0]
    assert len(rows) == len(whole) + 1
    for ours, theirs in zip(whole[[*columns]].itertuples(index=False, name=None), rows[1:], strict=True):
        assert list(theirs) == [item if isinstance(item, str) else pytest.approx(item, rel=1e-15) for item in ours]


def test_more_scenarios_than_rows_are_refused():
    swept = ingest.sweep(model="cosmoflow", gpu="h100", axes={"nodes": "1..1200", "sample_bytes": "1MB..900MB+1MB"})
    with pytest.raises(UsageError, match=r"1,080,000 scenarios, a sheet holds 1,048,575; expected \.parquet or \.csv"):
        sweep_workbook(swept)
