"""Which inputs of a site's workbook stand in one cell."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import openpyxl
import pytest

import ingest
from ingest.reports.workbook.derivation_cells import MOST_ALONE
from ingest.reports.workbook.model_workbook import model_workbook

JOB = {"model": "cosmoflow", "cluster": "main", "nodes": 2, "utilization": 0.9}


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
