"""A sweep as a workbook: what the frame holds, row by row."""

from __future__ import annotations

import io

import openpyxl
import pytest

import ingest
from ingest.errors import UsageError
from ingest.reports.workbook.small_workbooks import parted, sweep_workbook


def test_holds_every_scenario():
    swept = ingest.sweep(model="cosmoflow,resnet50", gpu="h100", axes={"nodes": "1..64*2"})
    columns, same = parted(swept)
    whole = swept.to_frame()
    assert sorted([*columns, *same]) == sorted(whole.columns)
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
